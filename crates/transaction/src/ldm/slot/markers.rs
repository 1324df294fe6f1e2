//! Commit-ack markers: what became of transactions, kept for whoever may have to ask.
//!
//! ```text
//! a transaction is decided (or refused) here --> young --turn--> old --turn--> swept, in slices
//!                                                  |               |
//!                                                  +---------------+--Forget: the session knows, and all participants do --> gone  (told by the dozen: `KnownOutcomes`)
//! ```
//! A turn comes each `marker_time` (10 minutes). A marker that nobody takes away is kept for one whole interval at
//! least, and for two at most. Its session may have ended, its Forget may have gone with a node, or its transaction was
//! recovered. Sessions ask within half of one after they began to commit.
//!
//! Invariants: there is one marker of a transaction in a slot, young or old. No turn while a replica of the view is out
//! of reach or a takeover is not over: members report refusals by their markers. An undecided transaction keeps its
//! marker whatever its age.

use super::Slot;
use crate::ldm::Context;
use crate::ldm::Work;
use protocol::Budget;
use protocol::program::Results;
use stdx::{Duration, FixedMap, Instant, Now};
use types::{Epoch, TransactionId};

/// The outcome of a transaction, kept until nobody can need it.
#[derive(Debug)]
pub(in crate::ldm) struct Marker {
    pub(in crate::ldm) outcome: Option<Epoch>,
    /// The results of a write that carried its commit.
    pub(in crate::ldm) results: Results,
}

impl Marker {
    pub(in crate::ldm) fn of(outcome: Option<Epoch>) -> Self {
        Self { outcome, results: Results::new() }
    }
}

/// The rest of a generation that is being swept.
pub(in crate::ldm) type Sweep = std::collections::hash_map::IntoIter<TransactionId, Marker>;

/// The markers of a slot.
#[derive(Debug, Default)]
pub(in crate::ldm) struct Markers {
    young: FixedMap<TransactionId, Marker>,
    old: FixedMap<TransactionId, Marker>,
}

impl Markers {
    pub(in crate::ldm) fn get(&self, transaction: TransactionId) -> Option<&Marker> {
        self.young.get(&transaction).or_else(|| self.old.get(&transaction))
    }

    pub(in crate::ldm) fn get_mut(&mut self, transaction: TransactionId) -> Option<&mut Marker> {
        self.young.get_mut(&transaction).or_else(|| self.old.get_mut(&transaction))
    }

    /// Puts a marker in the place of any other.
    pub(in crate::ldm) fn insert(&mut self, transaction: TransactionId, marker: Marker) {
        if !self.old.is_empty() {
            self.old.remove(&transaction);
        }
        self.young.insert(transaction, marker);
    }

    /// Puts a marker where none is.
    pub(in crate::ldm) fn keep(&mut self, transaction: TransactionId, marker: Marker) {
        if self.get(transaction).is_none() {
            self.young.insert(transaction, marker);
        }
    }

    pub(in crate::ldm) fn remove(&mut self, transaction: TransactionId) {
        if self.young.remove(&transaction).is_none() {
            self.old.remove(&transaction);
        }
    }

    /// All of them, in the order of their transactions.
    pub(in crate::ldm) fn sorted(&self) -> Vec<(TransactionId, &Marker)> {
        let all = self.young.iter().chain(&self.old);
        let mut all: Vec<_> = all.map(|(transaction, marker)| (*transaction, marker)).collect();
        all.sort_unstable_by_key(|(transaction, _)| *transaction);
        all
    }

    pub(in crate::ldm) fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    /// The old ones are given back, the young ones are old.
    fn turn(&mut self) -> FixedMap<TransactionId, Marker> {
        std::mem::replace(&mut self.old, std::mem::take(&mut self.young))
    }
}

/// When the markers of a module turn.
#[derive(Debug)]
pub(in crate::ldm) struct MarkerTurns {
    interval: Duration,
    at: Option<Instant>,
}

impl MarkerTurns {
    pub(in crate::ldm) fn new(interval: Duration) -> Self {
        Self { interval, at: None }
    }

    pub(in crate::ldm) fn deadline(&self) -> Option<Instant> {
        self.at
    }

    /// If there are markers, a turn will come.
    #[inline]
    pub(in crate::ldm) fn watch(&mut self, now: Now, markers: &Markers) {
        if self.at.is_none() && markers.len() > 0 {
            self.at = Some(now.monotonic + self.interval);
        }
    }

    /// Whether a turn is due; the next one is not planned yet.
    pub(in crate::ldm) fn is_due(&mut self, now: Now) -> bool {
        self.at.take_if(|at| *at <= now.monotonic).is_some()
    }
}

impl Slot {
    /// After each signal and job: markers that are kept here turn some time.
    #[inline]
    pub(in crate::ldm) fn watch_markers(&self, context: &mut Context<'_>) {
        context.marker_turns.watch(context.now, &self.outcomes);
    }

    /// Markers that nobody asks for any more begin to go.
    pub(in crate::ldm) fn turn_markers(&mut self, context: &mut Context<'_>) {
        let old = self.outcomes.turn();
        if !old.is_empty() {
            self.later(Work::Sweep(old.into_iter()), context);
        }
    }

    /// The next slice goes, but for what is undecided.
    pub(super) fn sweep(&mut self, mut sweep: Sweep, budget: &mut Budget, context: &mut Context<'_>) {
        while budget.spend(1) {
            let Some((transaction, marker)) = sweep.next() else { return };
            if self.held.contains_key(&transaction) || self.applied.contains_key(&transaction) {
                self.outcomes.keep(transaction, marker);
            }
        }
        self.later(Work::Sweep(sweep), context);
    }
}
