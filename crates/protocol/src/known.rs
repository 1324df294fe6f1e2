//! Outcomes that whoever asked for a commit knows: primaries, and by them backups, are told to forget them by the
//! dozen, not one by one.
//!
//! Invariant: notes are told when a slot has [`AT_ONCE`] of them, or [`AFTER`] the first that was not told. A marker is
//! kept a little longer than somebody needs it, never shorter.
//!
//! Deliberately not here: what is lost with a signal or with this module is not told again. Its markers go with time.

use stdx::{Duration, Instant, Now};
use types::{SlotId, TransactionId};

/// How many of a slot one signal tells of.
const AT_ONCE: usize = 32;
/// How long the first of them waits for others.
const AFTER: Duration = Duration::from_millis(100);

/// Known outcomes that nobody was told of yet.
#[derive(Debug)]
pub struct KnownOutcomes {
    /// In order of slots.
    known: Vec<(SlotId, Vec<TransactionId>)>,
    /// How many, of all slots.
    count: usize,
    at_once: usize,
    due: Option<Instant>,
}

impl Default for KnownOutcomes {
    fn default() -> Self {
        Self::by(AT_ONCE)
    }
}

impl KnownOutcomes {
    /// Tells of so many at once.
    #[must_use]
    pub const fn by(at_once: usize) -> Self {
        Self { known: Vec::new(), count: 0, at_once, due: None }
    }

    /// The outcome of a transaction in a slot is known. Returns what is to be told of that slot now.
    #[must_use]
    pub fn note(&mut self, slot: SlotId, transaction: TransactionId) -> Option<Vec<TransactionId>> {
        let index = match self.known.binary_search_by_key(&slot, |(of, _)| *of) {
            Ok(index) => index,
            Err(index) => {
                self.known.insert(index, (slot, Vec::new()));
                index
            }
        };
        let known = &mut self.known[index].1;
        known.push(transaction);
        self.count += 1;
        if known.len() < self.at_once {
            return None;
        }
        let told = std::mem::replace(known, Vec::with_capacity(self.at_once));
        self.count -= told.len();
        if self.count == 0 {
            self.due = None;
        }
        Some(told)
    }

    /// Something may have been noted: it will be told.
    #[inline]
    pub fn watch(&mut self, now: Now) {
        if self.due.is_none() && self.count > 0 {
            self.due = Some(now.monotonic + AFTER);
        }
    }

    /// When the rest is to be told.
    #[must_use]
    #[inline]
    pub const fn deadline(&self) -> Option<Instant> {
        self.due
    }

    /// The rest, if it is due.
    pub fn take_due(&mut self, now: Now) -> Vec<(SlotId, Vec<TransactionId>)> {
        if self.due.take_if(|due| *due <= now.monotonic).is_none() {
            return Vec::new();
        }
        self.count = 0;
        let mut rest = std::mem::take(&mut self.known);
        rest.retain(|(_, known)| !known.is_empty());
        rest
    }
}

#[cfg(test)]
mod tests;
