//! Commit-ack markers: what became of transactions, kept for whoever may have to ask.
//!
//! ```text
//! a transaction is decided (or refused) here --> young --turn--> old --turn--> swept, in slices
//!                                                  |               |
//!                                                  +---------------+--Forget: the session knows, and all participants do --> gone  (told by the dozen: `KnownOutcomes`)
//! ```
//! A turn comes each `marker_time` (10 minutes): a marker that nobody takes away (its session ended, its Forget was lost with a node, its transaction was recovered)
//! is kept for one whole interval at least, and for two at most. Sessions ask within half of one after they began to commit.
//!
//! Invariants: there is one marker of a place, young or old. No turn while a replica of the view is out of reach or a takeover is not over: members report
//! refusals by their markers. What is undecided here keeps its marker whatever its age.

use crate::ldm::{Job, Ldm, Place};
use protocol::program::OperationResult;
use protocol::{Budget, Outputs};
use query::Shared;
use stdx::{Duration, FixedMap, Instant, Now};
use types::{Epoch, SlotId, TransactionId};

/// What is kept of a decided transaction until nobody can need it.
#[derive(Debug)]
pub(in crate::ldm) struct Marker {
    pub(in crate::ldm) outcome: Option<Epoch>,
    /// Of a write that carried its commit.
    pub(in crate::ldm) results: Vec<OperationResult>,
}

impl Marker {
    pub(in crate::ldm) fn of(outcome: Option<Epoch>) -> Self {
        Self { outcome, results: Vec::new() }
    }
}

/// What is left of a generation that is being swept.
pub(in crate::ldm) type Sweep = std::collections::hash_map::IntoIter<Place, Marker>;

/// The markers of an ldm.
#[derive(Debug)]
pub(in crate::ldm) struct Markers {
    young: FixedMap<Place, Marker>,
    old: FixedMap<Place, Marker>,
    interval: Duration,
    turn_at: Option<Instant>,
}

impl Markers {
    pub(in crate::ldm) fn new(interval: Duration) -> Self {
        Self { young: FixedMap::default(), old: FixedMap::default(), interval, turn_at: None }
    }

    pub(in crate::ldm) fn get(&self, place: &Place) -> Option<&Marker> {
        self.young.get(place).or_else(|| self.old.get(place))
    }

    pub(in crate::ldm) fn get_mut(&mut self, place: &Place) -> Option<&mut Marker> {
        self.young.get_mut(place).or_else(|| self.old.get_mut(place))
    }

    /// Puts a marker in the place of any other.
    pub(in crate::ldm) fn insert(&mut self, place: Place, marker: Marker) {
        if !self.old.is_empty() {
            self.old.remove(&place);
        }
        self.young.insert(place, marker);
    }

    /// Puts a marker where none is.
    pub(in crate::ldm) fn keep(&mut self, place: Place, marker: Marker) {
        if self.get(&place).is_none() {
            self.young.insert(place, marker);
        }
    }

    pub(in crate::ldm) fn remove(&mut self, place: &Place) {
        if self.young.remove(place).is_none() {
            self.old.remove(place);
        }
    }

    pub(in crate::ldm) fn iter(&self) -> impl Iterator<Item = (&Place, &Marker)> {
        self.young.iter().chain(self.old.iter())
    }

    /// Of which transactions of a slot there is one.
    pub(in crate::ldm) fn transactions_of(&self, slot: SlotId) -> Vec<TransactionId> {
        let of = self.iter().filter(|((_, of), _)| *of == slot);
        let mut transactions: Vec<TransactionId> = of.map(|((transaction, _), _)| *transaction).collect();
        transactions.sort_unstable();
        transactions
    }

    pub(in crate::ldm) fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    pub(in crate::ldm) fn deadline(&self) -> Option<Instant> {
        self.turn_at
    }

    /// There are markers: a turn will come.
    #[inline]
    pub(in crate::ldm) fn watch(&mut self, now: Now) {
        if self.turn_at.is_none() && self.len() > 0 {
            self.turn_at = Some(now.monotonic + self.interval);
        }
    }

    /// What was old is given back, what was young is old.
    fn turn(&mut self) -> FixedMap<Place, Marker> {
        std::mem::replace(&mut self.old, std::mem::take(&mut self.young))
    }
}

impl Ldm {
    /// Markers that nobody asks for any more begin to go.
    pub(in crate::ldm) fn turn_markers(&mut self, now: Now, outputs: &mut Outputs<Shared>) {
        if self.outcomes.turn_at.is_none_or(|at| at > now.monotonic) {
            return;
        }
        self.outcomes.turn_at = None;
        let view = &self.map.view;
        let is_lost = |slot| view.written(slot).any(|node| self.map.lost.contains(&node));
        if self.unsettled_count == 0 && !self.slots.keys().any(|slot| is_lost(*slot)) {
            let old = self.outcomes.turn();
            if !old.is_empty() {
                self.later(Job::Sweep(old.into_iter()), outputs);
            }
        }
        self.outcomes.watch(now);
    }

    /// The next slice goes, but for what is undecided.
    pub(in crate::ldm) fn sweep(
        &mut self,
        mut sweep: Sweep,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
    ) {
        while budget.spend(1) {
            let Some((place, marker)) = sweep.next() else { return };
            if self.held.contains_key(&place) || self.applied.contains_key(&place) {
                self.outcomes.keep(place, marker);
            }
        }
        self.later(Job::Sweep(sweep), outputs);
    }
}
