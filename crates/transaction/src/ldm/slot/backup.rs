//! The backup's side of commits: what primaries replicate is applied at once, as *prepared*, and published when its outcome is known.
//!
//! Invariants: places of a slot's stream are consumed in order, each once; a repeated place is only acknowledged again. A place is
//! applied completely or refused completely. An abort that arrives before its place leaves a marker, so that the late place cannot revive it.
//! A refusal aborts the transaction, so a member that joins never says one: what is replicated to it again may have been acknowledged. It gives up
//! joining instead, and the primary goes on in a view without it. (It does refuse what it knows to be aborted.)

use crate::ldm::slot::commit::{After, Publish, Rest};
use crate::ldm::slot::markers::Marker;
use crate::ldm::{Ldm, Place, region_full};
use crate::mutants::{self, Mutant};
use protocol::program::{OperationResult, Refusal};
use protocol::signal::{Replicate, ReplicateAhead, ReplicatedWrite};
use protocol::{Address, Outputs, Signal};
use query::Shared;
use std::sync::Arc;
use storage::RowHandle;
use types::{Epoch, Sequence, SlotId, TableId, ViewNumber};

/// A transaction that a primary has replicated here.
#[derive(Debug)]
pub(in crate::ldm) struct Applied {
    pub(in crate::ldm) rows: Vec<(TableId, RowHandle)>,
    pub(in crate::ldm) epoch: Epoch,
    /// Where it came in the stream of which view.
    pub(in crate::ldm) stream: ViewNumber,
    pub(in crate::ldm) sequence: Sequence,
    /// When it first came here, as a number: versions lie above each other in this order, whatever their places were since.
    pub(in crate::ldm) order: u64,
    pub(in crate::ldm) coordinator: Option<Address>,
    pub(in crate::ldm) participants: Arc<Vec<SlotId>>,
    pub(in crate::ldm) marker: Option<Vec<OperationResult>>,
}

/// Instead of a number of pieces that went ahead: the receiver has said that it holds this transaction.
pub(in crate::ldm) const HELD_ALREADY: u32 = u32::MAX;

/// Pieces of a large transaction that went ahead of their place in the stream.
#[derive(Debug, Default)]
pub(in crate::ldm) struct Ahead {
    rows: Vec<(TableId, RowHandle)>,
    pieces: u32,
    refused: Option<Refusal>,
    /// While the rows of an earlier attempt are being undone: the pieces of the next one. Undoing would take their versions, too.
    held_back: Option<Vec<(Address, ReplicateAhead)>>,
}

impl Ldm {
    pub(in crate::ldm) fn on_replicate_ahead(
        &mut self,
        from: Address,
        piece: ReplicateAhead,
        outputs: &mut Outputs<Shared>,
    ) {
        let place = (piece.transaction, piece.slot);
        self.on_replicated(place.1, outputs);
        let mut ahead = self.ahead.remove(&place).unwrap_or_default();
        if let Some(held_back) = &mut ahead.held_back {
            held_back.push((from, piece));
            self.ahead.insert(place, ahead);
            return;
        }
        if piece.piece == ahead.pieces && ahead.refused.is_none() {
            ahead.pieces += 1;
            ahead.refused = self.apply(place, &piece.writes, &mut ahead.rows).err();
        }
        self.ahead.insert(place, ahead);
        let applied = Signal::AheadApplied { slot: piece.slot, transaction: piece.transaction };
        outputs.send(self.address, from, applied);
    }

    pub(in crate::ldm) fn drop_ahead(&mut self, place: Place, outputs: &mut Outputs<Shared>) {
        let Some(ahead) = self.ahead.get_mut(&place) else { return };
        let is_undoing = ahead.held_back.replace(Vec::new()).is_some();
        let rows = std::mem::take(&mut ahead.rows);
        if !is_undoing {
            self.undo_applied(place, rows, After::TakeHeldBack, outputs);
        }
    }

    /// What was dropped is undone: what came meanwhile has its turn.
    pub(in crate::ldm) fn take_held_back(&mut self, place: Place, outputs: &mut Outputs<Shared>) {
        let ahead = self.ahead.remove(&place);
        for (from, piece) in ahead.and_then(|ahead| ahead.held_back).into_iter().flatten() {
            self.on_replicate_ahead(from, piece, outputs);
        }
    }

    pub(in crate::ldm) fn on_replicate(
        &mut self,
        from: Address,
        replicate: Replicate,
        outputs: &mut Outputs<Shared>,
    ) {
        let slot = replicate.slot;
        let Some(state) = self.slots.get_mut(&slot) else { return };
        if state.is_primary {
            return;
        }
        if replicate.sequence <= state.applied {
            return self.acknowledge_again(from, &replicate, outputs);
        }
        if replicate.sequence.0 > state.applied.0 + 1 {
            state.early.insert(replicate.sequence, (from, replicate));
            return;
        }
        self.on_replicated(slot, outputs);
        let mut next = Some((from, replicate));
        while let Some((from, replicate)) = next {
            let Some(state) = self.slots.get_mut(&slot) else { return };
            state.applied = replicate.sequence;
            next = state.early.remove(&Sequence(state.applied.0 + 1));
            self.consume(from, replicate, outputs);
            next = next.filter(|_| !self.has_given_up);
        }
    }

    /// Applies the next place of the stream and answers whoever decides.
    fn consume(&mut self, from: Address, replicate: Replicate, outputs: &mut Outputs<Shared>) {
        let slot = replicate.slot;
        let place = (replicate.transaction, slot);
        self.adopt(replicate.epoch);
        let stamp = if mutants::is(Mutant::BackupStampsItself) { self.epoch } else { replicate.epoch };
        // What came in an earlier view is here; it only has another place now.
        let before = self.applied.remove(&place);
        let order = before.as_ref().map_or_else(|| self.new_order(), |before| before.order);
        let committed = self.outcomes.get(&place).and_then(|marker| marker.outcome);
        let result = match (before, committed) {
            (Some(before), _) => Ok(Some(before.rows)),
            // A commit's epoch is never below the stamps of its places. A marker of a lower one belongs to another transaction that had this id, 1 024
            // lives ago; its epoch was closed before this one began.
            (None, Some(epoch)) if epoch >= replicate.epoch => {
                // (A primary that had not heard of the outcome may have shipped its rows again.)
                self.drop_ahead(place, outputs);
                Ok(None)
            }
            (None, committed) => {
                if committed.is_some() {
                    self.outcomes.remove(&place);
                }
                self.apply_place(place, &replicate, outputs).map(|rows| {
                    self.count_undecided(stamp, outputs);
                    Some(rows)
                })
            }
        };
        let refusal = match result {
            Err(refusal) if self.must_not_refuse(slot, &refusal) => {
                return self.give_up_joining(&why_given_up(&refusal), outputs);
            }
            Err(refusal) => {
                // Whatever the others do, it cannot be committed: nobody may think later that it was decided here.
                self.outcomes.keep(place, Marker::of(None));
                Some(refusal)
            }
            Ok(None) => None,
            Ok(Some(rows)) => {
                let applied = Applied {
                    rows,
                    epoch: stamp,
                    stream: self.map.view.number,
                    sequence: replicate.sequence,
                    order,
                    coordinator: replicate.coordinator,
                    participants: Arc::clone(&replicate.participants),
                    marker: replicate.marker.clone(),
                };
                self.applied.insert(place, applied);
                if replicate.coordinator.is_none()
                    && let Some(state) = self.slots.get_mut(&replicate.slot)
                {
                    state.undecided.insert(replicate.sequence, replicate.transaction);
                }
                None
            }
        };
        match replicate.coordinator {
            Some(coordinator) if coordinator != Address::NOBODY => {
                self.send_prepared(coordinator, place, replicate.epoch, true, refusal, outputs)
            }
            _ => {
                let applied = Signal::Applied { slot: replicate.slot, sequence: replicate.sequence, refusal };
                outputs.send(self.address, from, applied);
            }
        }
        if self.is_joining {
            self.take_early_commit(place, outputs);
        }
    }

    /// Whether this member is being copied to, and a refusal would be news to the others.
    fn must_not_refuse(&self, slot: SlotId, refusal: &Refusal) -> bool {
        let is_joining = self.slot(slot).is_some_and(|state| state.copy_in.is_some());
        is_joining && *refusal != Refusal::AlreadyEnding && !mutants::is(Mutant::JoinerRefuses)
    }

    fn apply_place(
        &mut self,
        place: Place,
        replicate: &Replicate,
        outputs: &mut Outputs<Shared>,
    ) -> Result<Vec<(TableId, RowHandle)>, Refusal> {
        if self.ahead.get(&place).is_some_and(|ahead| ahead.held_back.is_some()) {
            // The rows that went ahead are being undone. If that is because of an abort, the refusal is no news.
            let is_aborted = self.outcomes.get(&place).is_some();
            return Err(if is_aborted { Refusal::AlreadyEnding } else { Refusal::NotHeld });
        }
        let ahead = self.ahead.remove(&place).unwrap_or_default();
        let mut rows = ahead.rows;
        let checked = match (self.outcomes.get(&place), ahead.refused) {
            (Some(_), _) => Err(Refusal::AlreadyEnding),
            (None, Some(refusal)) => Err(refusal),
            (None, None) if ahead.pieces != replicate.pieces_ahead => Err(Refusal::NotHeld),
            (None, None) => Ok(()),
        };
        match checked.and_then(|()| self.apply(place, &replicate.writes, &mut rows)) {
            Ok(()) => Ok(rows),
            Err(refusal) => {
                self.undo_applied(place, rows, After::Nothing, outputs);
                Err(refusal)
            }
        }
    }

    /// Applies writes as prepared; what was applied before a failure is in `rows` too.
    pub(in crate::ldm) fn apply(
        &mut self,
        place: Place,
        writes: &[ReplicatedWrite],
        rows: &mut Vec<(TableId, RowHandle)>,
    ) -> Result<(), Refusal> {
        for write in writes {
            self.check_row(write.table.id, &write.key, write.row.as_deref())?;
            let fragment = self.fragments.get_mut(&(write.table.id, place.1)).ok_or(Refusal::WrongSchema)?;
            let applied = if mutants::is(Mutant::BackupFallsBack) {
                fragment.stage(&write.key, place.0, write.row.as_deref())
            } else {
                fragment.apply_prepared(&write.key, place.0, write.row.as_deref())
            };
            rows.push((write.table.id, applied.map_err(|full| region_full(&full))?));
            self.reclaim.note((write.table.id, place.1));
        }
        Ok(())
    }

    /// In slices: other transactions may apply on top of these rows meanwhile, each finds its own versions.
    pub(in crate::ldm) fn undo_applied(
        &mut self,
        place: Place,
        rows: Vec<(TableId, RowHandle)>,
        then: After,
        outputs: &mut Outputs<Shared>,
    ) {
        let rest = Rest::Rows(rows);
        self.publish_rows(Publish { place, rest, outcome: None, stamp: None, then }, outputs);
    }

    /// A place that was consumed before: the answer may have been lost with its link.
    fn acknowledge_again(&self, from: Address, replicate: &Replicate, outputs: &mut Outputs<Shared>) {
        let place = (replicate.transaction, replicate.slot);
        match replicate.coordinator {
            Some(coordinator) if coordinator != Address::NOBODY && self.applied.contains_key(&place) => {
                self.send_prepared(coordinator, place, replicate.epoch, true, None, outputs);
            }
            Some(coordinator) if coordinator != Address::NOBODY => {}
            _ => {
                let applied =
                    Signal::Applied { slot: replicate.slot, sequence: replicate.sequence, refusal: None };
                outputs.send(self.address, from, applied);
            }
        }
    }

    /// A one-primary commit that its primary has published.
    pub(in crate::ldm) fn on_decided(
        &mut self,
        slot: SlotId,
        sequence: Sequence,
        outputs: &mut Outputs<Shared>,
    ) {
        let Some(state) = self.slots.get_mut(&slot) else { return };
        let Some(transaction) = state.undecided.remove(&sequence) else { return };
        let place = (transaction, slot);
        if let Some(mut applied) = self.applied.remove(&place) {
            if let Some(results) = applied.marker.take()
                && !mutants::is(Mutant::MarkerForgotten)
            {
                self.outcomes.insert(place, Marker { outcome: Some(applied.epoch), results });
            }
            self.publish_applied(place, applied, None, After::Nothing, outputs);
        }
    }

    pub(in crate::ldm) fn on_outcome_at_backup(
        &mut self,
        from: Address,
        place: Place,
        outcome: Option<Epoch>,
        outputs: &mut Outputs<Shared>,
    ) {
        self.drop_ahead(place, outputs);
        match self.applied.remove(&place) {
            None => self.record_outcome(from, place, outputs),
            Some(applied) if mutants::is(Mutant::BackupDropsOutcome) => {
                self.applied.insert(place, applied);
                self.record_outcome(from, place, outputs);
            }
            Some(mut applied) => {
                if let (Some(results), Some(marker)) = (applied.marker.take(), self.outcomes.get_mut(&place))
                {
                    marker.results = results;
                }
                if let Some(state) = self.slots.get_mut(&place.1) {
                    state.undecided.retain(|_, transaction| *transaction != place.0);
                }
                self.publish_applied(place, applied, Some(outcome), After::Record(from), outputs);
            }
        }
    }

    /// Publishes at the coordinator's epoch, or at the primary's stamp for a one-primary commit (`outcome` None).
    pub(in crate::ldm) fn publish_applied(
        &mut self,
        place: Place,
        applied: Applied,
        outcome: Option<Option<Epoch>>,
        then: After,
        outputs: &mut Outputs<Shared>,
    ) {
        let outcome = outcome.unwrap_or(Some(applied.epoch));
        let (rest, stamp) = (Rest::Rows(applied.rows), Some(applied.epoch));
        self.publish_rows(Publish { place, rest, outcome, stamp, then }, outputs);
    }
}

/// The end of "node N cannot join: ".
fn why_given_up(refusal: &Refusal) -> String {
    if let Refusal::RegionFull { region } = refusal {
        format!("its {region} is full")
    } else {
        format!("it cannot take what is replicated to it ({refusal:?})")
    }
}
