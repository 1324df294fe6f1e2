//! Work that goes on in slices, each of which is one `Continue`.

use super::context::Context;
use super::reclaim::Visits;
use super::schema::Backfill;
use super::slot::commit::publish::Publish;
use super::slot::commit::seal::Mark;
use super::slot::copy::Copy;
use super::slot::markers::Sweep;
use super::slot::read::PendingRead;
use super::slot::undo::Undo;
use protocol::Signal;
use stdx::{FixedMap, Instant};
use storage::Fragment;
use types::SlotId;

/// Work of a module.
pub(super) enum Job {
    /// A slot's work.
    Slot(SlotId, Work),
    Backfill(Box<Backfill>),
    Copy(Copy),
    /// Remove the rows of dropped tables.
    Clear(Vec<Fragment>),
    /// Free what readers have let go.
    Visit(Visits),
    /// Look at what other replicas owe; it was due at this moment.
    Look(Instant),
}

/// Work of a slot.
pub(super) enum Work {
    Read(Box<PendingRead>),
    Publish(Box<Publish>),
    Mark(Box<Mark>),
    Undo(Box<Undo>),
    /// Drop what became of old transactions.
    Sweep(Sweep),
}

/// The jobs of a module, by number.
#[derive(Default)]
pub(super) struct Jobs {
    by_number: FixedMap<u64, Job>,
    next: u64,
}

impl Jobs {
    pub(super) fn remove(&mut self, number: u64) -> Option<Job> {
        self.by_number.remove(&number)
    }

    pub(super) fn retain(&mut self, mut keep: impl FnMut(&Job) -> bool) {
        self.by_number.retain(|_, job| keep(job));
    }

    pub(super) fn len(&self) -> usize {
        self.by_number.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &Job)> {
        self.by_number.iter().map(|(number, job)| (*number, job))
    }

    /// The work that is under way in a slot, in no particular order.
    pub(super) fn of(&self, slot: SlotId) -> impl Iterator<Item = (u64, &Work)> {
        self.by_number.iter().filter_map(move |(number, job)| match job {
            Job::Slot(of, work) if *of == slot => Some((*number, work)),
            Job::Slot(..)
            | Job::Backfill(_)
            | Job::Copy(_)
            | Job::Clear(_)
            | Job::Visit(_)
            | Job::Look(_) => None,
        })
    }
}

impl Context<'_> {
    /// Goes on with a job after everything that waits in the module's queue.
    pub(super) fn later(&mut self, job: Job) {
        let number = self.jobs.next;
        self.jobs.next += 1;
        self.jobs.by_number.insert(number, job);
        self.send(self.address, Signal::Continue(number));
    }
}
