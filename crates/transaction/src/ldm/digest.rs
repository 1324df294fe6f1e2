//! What decides how an ldm goes on, as a number: a checker that tries every order of events (`simulator::exhaustive`) knows by it that it was here
//! before.
//!
//! Invariant: two ldms with the same digest, given the same inputs, say the same, up to what is only a name: numbers of jobs and waits that are in
//! no message. (Waiting for locks and memory is told by its number only, as are large reads, new indexes and the freeing of memory: worlds that are
//! enumerated have none of them.)

use crate::ldm::slot::transaction::{HeldStage, Operation};
use crate::ldm::{Job, Ldm};
use memory::Guard;
use std::fmt::Write;
use std::ops::Bound;
use stdx::hash64;
use storage::{Direction, KeyBounds, ScanItem, Visibility};
use types::{IndexId, TransactionId};

impl Ldm {
    /// The digest.
    #[must_use]
    pub fn digest(&self) -> u64 {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = self.write_state(&mut text);
        let _ = self.write_transactions(&mut text);
        let _ = self.write_rows(&mut text);
        hash64(text.as_bytes())
    }

    fn write_state(&self, text: &mut String) -> std::fmt::Result {
        let epochs = (self.epoch, self.epoch_wanted, &self.undecided, self.draining);
        let view = (self.map.view.number, self.settled, self.unsettled_count, self.is_joining);
        write!(text, "{epochs:?} {view:?} {:?} {:?}", self.released, self.locks)?;
        write!(text, "{:?} {:?} {:?}", self.slots, self.waits_by_transaction, self.void)?;
        let pending = self.slots.values().flat_map(|state| state.pending.values());
        let refused = pending.map(|pending| (pending.transaction, &pending.refused));
        write!(text, "{:?}", refused.collect::<Vec<_>>())?;
        let mut jobs: Vec<(u64, String)> =
            self.jobs.iter().map(|(job, work)| (*job, text_of(work))).collect();
        jobs.sort_unstable();
        write!(text, "{jobs:?} {:?}", self.copying)
    }

    fn write_transactions(&self, text: &mut String) -> std::fmt::Result {
        let mut held: Vec<_> = self.held.iter().collect();
        held.sort_unstable_by_key(|(place, _)| **place);
        let mut applied: Vec<_> = self.applied.iter().collect();
        applied.sort_unstable_by_key(|(place, _)| **place);
        let mut outcomes: Vec<_> = self.outcomes.iter().collect();
        outcomes.sort_unstable_by_key(|(place, _)| **place);
        let mut askers: Vec<_> = self.askers.iter().collect();
        askers.sort_unstable_by_key(|(place, _)| **place);
        let mut ahead: Vec<_> = self.ahead.iter().collect();
        ahead.sort_unstable_by_key(|(place, _)| **place);
        write!(text, "{held:?} {applied:?} {outcomes:?} {askers:?} {ahead:?}")?;
        let mut shipping: Vec<_> = self.shipping.iter().collect();
        shipping.sort_unstable_by_key(|(place, _)| **place);
        write!(text, "{:?}", self.ship_window)?;
        let mut readers: Vec<TransactionId> = self.outcome_waits.keys().copied().collect();
        readers.sort_unstable();
        write!(text, "{shipping:?} {readers:?}")?;
        for (place, held) in held.into_iter().filter(|(_, held)| held.stage != HeldStage::Publishing) {
            for operation in &held.operations {
                if let Operation::Staged { table, row, .. } = operation
                    && let Some(fragment) = self.fragments.get(&(*table, place.1))
                {
                    write!(text, "{:?}", fragment.staged_row(*row, place.0))?;
                }
            }
        }
        for (place, applied) in applied {
            for (table, row) in &applied.rows {
                let fragment = self.fragments.get(&(*table, place.1));
                write!(text, "{:?}", fragment.map(|fragment| fragment.staged_row(*row, place.0)))?;
            }
        }
        Ok(())
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

fn text_of(job: &Job) -> String {
    match job {
        Job::Read(_) => "read".to_owned(),
        Job::Publish(publish) => format!("{publish:?}"),
        Job::Mark(mark) => format!("{mark:?}"),
        Job::Undo(undo) => format!("{undo:?}"),
        Job::Backfill(_) => "backfill".to_owned(),
        Job::Copy(copy) => format!("{copy:?}"),
        Job::Clear(_) => "clear".to_owned(),
        Job::Visit(_) => "visit".to_owned(),
        Job::Sweep(_) => "sweep".to_owned(),
        Job::Look(_) => "look".to_owned(),
    }
}
