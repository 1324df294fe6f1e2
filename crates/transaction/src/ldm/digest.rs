//! The state that decides how an ldm goes on, as a number: a checker that tries every order of events
//! (`simulator::exhaustive`) knows by it that it was here before.
//!
//! Invariant: two ldms with the same digest, given the same inputs, say the same. Only names may differ: numbers of
//! jobs and waits that are in no message. Waiting for locks and memory is told by its number only, as are large reads,
//! new indexes and the freeing of memory: worlds that are enumerated have none of them.

use super::Fragments;
use super::Ldm;
use super::slot::Slot;
use super::slot::transaction::{HeldStage, Operation};
use super::{Job, Work};
use memory::Guard;
use std::fmt::{Debug, Write};
use std::ops::Bound;
use stdx::{FixedMap, hash64};
use storage::{Direction, KeyBounds, ScanItem, Visibility};
use types::{IndexId, TransactionId};

impl Ldm {
    /// The digest.
    #[must_use]
    pub fn digest(&self) -> u64 {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = self.write_state(&mut text);
        for slot in self.slots.iter() {
            let _ = slot.write_state(&mut text);
            let _ = slot.write_transactions(&self.fragments, &mut text);
        }
        let _ = self.write_rows(&mut text);
        hash64(text.as_bytes())
    }

    fn write_state(&self, text: &mut String) -> std::fmt::Result {
        let (stamps, progress) = (&self.stamps, &self.progress);
        let view = (self.map.view.number, progress.settled, progress.takeover_count, progress.is_joining);
        write!(text, "{stamps:?} {view:?} {:?} {:?}", self.postponed.released, self.locks)?;
        write!(text, "{:?} {:?}", self.waits.by_transaction(), self.ship_window)?;
        let mut jobs: Vec<(u64, String)> = self.jobs.iter().map(|(job, work)| (job, text_of(work))).collect();
        jobs.sort_unstable();
        write!(text, "{jobs:?} {:?}", self.copying)
    }

    fn write_rows(&self, text: &mut String) -> std::fmt::Result {
        let mut places: Vec<_> = self.fragments.keys().filter(|(_, slot)| slot.0 > 0).collect();
        places.sort_unstable();
        for place in places {
            let Some(fragment) = self.fragments.get(place) else { continue };
            let (reader, guard) = (fragment.reader(), Guard::enter());
            let bounds = KeyBounds { lower: Bound::Unbounded, upper: Bound::Unbounded };
            let scan = reader.scan(&guard, IndexId(0), bounds, Direction::Forward, Visibility::Committed);
            let Ok(cursor) = scan else { continue };
            write!(text, "{place:?}")?;
            for item in cursor {
                let (ScanItem::Row { key, .. } | ScanItem::Undecided { key, .. }) = item;
                let newest = fragment.newest(key);
                write!(text, "{key:?} {:?} {:?} {:?}", newest.state, newest.row, fragment.committed(key))?;
            }
        }
        Ok(())
    }
}

impl Slot {
    fn write_state(&self, text: &mut String) -> std::fmt::Result {
        write!(text, "{} {:?} {:?} {:?}", self.id, self.role, self.members, self.stream)?;
        let pending = self.stream.pending.values();
        let refused = pending.map(|pending| (pending.transaction, &pending.refused));
        write!(text, "{:?}", refused.collect::<Vec<_>>())?;
        write!(text, "{:?} {:?} {:?}", self.takeover, self.copy_in, self.void)
    }

    fn write_transactions(&self, fragments: &Fragments, text: &mut String) -> std::fmt::Result {
        let (held, applied) = (sorted(&self.held), sorted(&self.applied));
        write!(text, "{held:?} {applied:?} {:?}", self.outcomes.sorted())?;
        write!(text, "{:?} {:?} {:?}", sorted(&self.askers), sorted(&self.ahead), sorted(&self.shipping))?;
        let mut readers: Vec<TransactionId> = self.outcome_waits.keys().copied().collect();
        readers.sort_unstable();
        write!(text, "{readers:?}")?;
        for (transaction, held) in held.into_iter().filter(|(_, held)| held.stage != HeldStage::Publishing) {
            for operation in &held.operations {
                if let Operation::Staged { table, row, .. } = operation
                    && let Some(fragment) = fragments.get(&(*table, self.id))
                {
                    write!(text, "{:?}", fragment.staged_row(*row, transaction))?;
                }
            }
        }
        for (transaction, applied) in applied {
            for (table, row) in &applied.rows {
                let fragment = fragments.get(&(*table, self.id));
                write!(text, "{:?}", fragment.map(|fragment| fragment.staged_row(*row, transaction)))?;
            }
        }
        Ok(())
    }
}

/// In the order of the transactions.
fn sorted<T: Debug>(map: &FixedMap<TransactionId, T>) -> Vec<(TransactionId, &T)> {
    let mut all: Vec<(TransactionId, &T)> = map.iter().map(|(transaction, of)| (*transaction, of)).collect();
    all.sort_unstable_by_key(|(transaction, _)| *transaction);
    all
}

fn text_of(job: &Job) -> String {
    match job {
        Job::Slot(slot, Work::Read(_)) => format!("{slot} read"),
        Job::Slot(slot, Work::Publish(publish)) => format!("{slot} {publish:?}"),
        Job::Slot(slot, Work::Mark(mark)) => format!("{slot} {mark:?}"),
        Job::Slot(slot, Work::Undo(undo)) => format!("{slot} {undo:?}"),
        Job::Slot(slot, Work::Sweep(_)) => format!("{slot} sweep"),
        Job::Backfill(_) => "backfill".to_owned(),
        Job::CopyTurn => "copy turn".to_owned(),
        Job::Clear(_) => "clear".to_owned(),
        Job::Visit(_) => "visit".to_owned(),
        Job::Look(_) => "look".to_owned(),
    }
}
