//! The backup's side of commits: what primaries replicate is applied at once, as *prepared*, and published when its
//! outcome is known.
//!
//! Invariants: places of a slot's stream are consumed in order, each once; a repeated place is only acknowledged again.
//! A place is applied completely or refused completely. An abort that arrives before its place leaves a marker, so that
//! the late place cannot revive it. A refusal aborts the transaction. A member that joins refuses only what it knows to
//! be aborted: what is replicated to it again may have been acknowledged. If it cannot take that, it ends, and the
//! primary goes on in a view without it.

use super::Slot;
use super::commit::publish::{After, Publish, Rest};
use super::markers::Marker;
use super::transaction::Rows;
use crate::ldm::{Context, region_full};
use crate::mutants::{self, Mutant};
use protocol::program::{Refusal, Results};
use protocol::signal::{Decider, Participants, Replicate, ReplicateAhead, ReplicatedWrite, Sealed};
use protocol::{Address, Signal};
use types::{Epoch, Sequence, TransactionId, ViewNumber};

/// A transaction that a primary has replicated here.
#[derive(Debug)]
pub(in crate::ldm) struct Applied {
    pub(in crate::ldm) rows: Rows,
    pub(in crate::ldm) epoch: Epoch,
    /// Where it came in the stream of which view.
    pub(in crate::ldm) stream: ViewNumber,
    pub(in crate::ldm) sequence: Sequence,
    /// When it first came here, as a number: versions lie above each other in this order, whatever their places were
    /// since.
    pub(in crate::ldm) order: u64,
    pub(in crate::ldm) decider: Decider,
    pub(in crate::ldm) participants: Participants,
    pub(in crate::ldm) marker: Option<Results>,
}

/// Pieces of a large transaction that went ahead of their place in the stream.
#[derive(Debug, Default)]
pub(in crate::ldm) struct Ahead {
    rows: Rows,
    pieces: u32,
    refused: Option<Refusal>,
    /// While the rows of an earlier attempt are being undone: the pieces of the next one. Undoing would take their
    /// versions, too.
    held_back: Option<Vec<(Address, ReplicateAhead)>>,
}

impl Slot {
    pub(in crate::ldm) fn on_replicate_ahead(
        &mut self,
        from: Address,
        piece: ReplicateAhead,
        context: &mut Context<'_>,
    ) {
        let transaction = piece.transaction;
        self.on_replicated(context);
        let mut ahead = self.ahead.remove(&transaction).unwrap_or_default();
        if let Some(held_back) = &mut ahead.held_back {
            held_back.push((from, piece));
            self.ahead.insert(transaction, ahead);
            return;
        }
        if piece.piece == ahead.pieces && ahead.refused.is_none() {
            ahead.pieces += 1;
            ahead.refused = self.apply(transaction, &piece.writes, &mut ahead.rows, context).err();
        }
        self.ahead.insert(transaction, ahead);
        context.send(from, Signal::AheadApplied { slot: self.id, transaction });
    }

    pub(in crate::ldm) fn drop_ahead(&mut self, transaction: TransactionId, context: &mut Context<'_>) {
        let Some(ahead) = self.ahead.get_mut(&transaction) else { return };
        let is_undoing = ahead.held_back.replace(Vec::new()).is_some();
        let rows = std::mem::take(&mut ahead.rows);
        if !is_undoing {
            self.undo_applied(transaction, rows, After::TakeHeldBack, context);
        }
    }

    /// The dropped pieces are undone: those that came meanwhile have their turn.
    pub(in crate::ldm) fn take_held_back(&mut self, transaction: TransactionId, context: &mut Context<'_>) {
        let ahead = self.ahead.remove(&transaction);
        for (from, piece) in ahead.and_then(|ahead| ahead.held_back).into_iter().flatten() {
            self.on_replicate_ahead(from, piece, context);
        }
    }

    pub(in crate::ldm) fn on_replicate(
        &mut self,
        from: Address,
        replicate: Replicate,
        context: &mut Context<'_>,
    ) {
        if self.is_primary() {
            return;
        }
        if replicate.sequence <= self.stream.consumed {
            return self.acknowledge_again(from, &replicate, context);
        }
        if replicate.sequence.0 > self.stream.consumed.0 + 1 {
            self.stream.early.insert(replicate.sequence, (from, replicate));
            return;
        }
        self.on_replicated(context);
        let mut next = Some((from, replicate));
        while let Some((from, replicate)) = next {
            self.stream.consumed = replicate.sequence;
            next = self.stream.early.remove(&Sequence(replicate.sequence.0 + 1));
            self.consume(from, replicate, context);
            next = next.filter(|_| !context.progress.is_ending);
        }
    }

    /// A primary that replicates has taken: its word was lost with a connection, perhaps, but not what followed.
    #[inline]
    fn on_replicated(&mut self, context: &mut Context<'_>) {
        if self.role.hand_out().is_some() {
            self.on_taken(context);
        }
    }

    /// Applies the next place of the stream and answers the one who decides.
    fn consume(&mut self, from: Address, replicate: Replicate, context: &mut Context<'_>) {
        let transaction = replicate.transaction;
        context.stamps.adopt(replicate.epoch);
        let mut stamp = replicate.epoch;
        if mutants::is(Mutant::BackupStampsItself) {
            stamp = context.stamps.current;
        }
        // A transaction that came in an earlier view is here; it only has another place now.
        let before = self.applied.remove(&transaction);
        let order = before.as_ref().map_or_else(|| self.new_order(), |before| before.order);
        let result = match before {
            Some(before) => Ok(Some(before.rows)),
            None => self.apply_new(&replicate, stamp, context),
        };
        let refusal = match result {
            Err(refusal) if self.must_not_refuse(&refusal) => {
                return context.end_joining(&why_given_up(&refusal));
            }
            Err(refusal) => {
                // Whatever the others do, it cannot be committed: nobody may think later that it was decided here.
                self.outcomes.keep(transaction, Marker::of(None));
                Some(refusal)
            }
            Ok(None) => None,
            Ok(Some(rows)) => {
                let applied = Applied {
                    rows,
                    epoch: stamp,
                    stream: context.map.view.number,
                    sequence: replicate.sequence,
                    order,
                    decider: replicate.decider,
                    participants: replicate.participants.clone(),
                    marker: replicate.marker.clone(),
                };
                self.applied.insert(transaction, applied);
                if replicate.decider == Decider::Primary {
                    self.stream.undecided.insert(replicate.sequence, transaction);
                }
                None
            }
        };
        self.acknowledge(from, &replicate, refusal, context);
        if context.progress.is_joining {
            self.take_early_commit(transaction, context);
        }
    }

    /// Applies a transaction that is not here: its rows, or nothing if it is committed already.
    fn apply_new(
        &mut self,
        replicate: &Replicate,
        stamp: Epoch,
        context: &mut Context<'_>,
    ) -> Result<Option<Rows>, Refusal> {
        let transaction = replicate.transaction;
        if let Some(epoch) = self.outcomes.get(transaction).and_then(|marker| marker.outcome) {
            // A commit's epoch is never below the stamps of its places. A marker of a lower one belongs to another
            // transaction that had this id, 1 024 lives ago; its epoch was closed before this one began.
            if epoch >= replicate.epoch {
                // A primary that had not heard of the outcome may have shipped its rows again.
                self.drop_ahead(transaction, context);
                return Ok(None);
            }
            self.outcomes.remove(transaction);
        }
        let rows = self.apply_place(replicate, context)?;
        context.count_undecided(stamp);
        Ok(Some(rows))
    }

    /// Tells the one who decides: the coordinator, or the primary.
    fn acknowledge(
        &self,
        from: Address,
        replicate: &Replicate,
        refusal: Option<Refusal>,
        context: &mut Context<'_>,
    ) {
        match replicate.decider {
            Decider::Coordinator(coordinator) => {
                let sealed = Sealed { epoch: replicate.epoch, has_writes: true };
                let result = refusal.map_or(Ok(sealed), Err);
                context.send(coordinator, self.prepared(replicate.transaction, result));
            }
            Decider::Primary | Decider::Recoverer => {
                context.send(from, Signal::Applied { slot: self.id, sequence: replicate.sequence, refusal });
            }
        }
    }

    /// A place that was consumed before: the answer may have been lost with its link.
    fn acknowledge_again(&self, from: Address, replicate: &Replicate, context: &mut Context<'_>) {
        if replicate.decider.coordinator().is_none() || self.applied.contains_key(&replicate.transaction) {
            self.acknowledge(from, replicate, None, context);
        }
    }

    /// Whether this member is being copied to, and a refusal would be news to the others.
    fn must_not_refuse(&self, refusal: &Refusal) -> bool {
        if mutants::is(Mutant::JoinerRefuses) {
            return false;
        }
        self.copy_in.is_some() && *refusal != Refusal::AlreadyEnding
    }

    fn apply_place(&mut self, replicate: &Replicate, context: &mut Context<'_>) -> Result<Rows, Refusal> {
        let transaction = replicate.transaction;
        let is_known = self.outcomes.get(transaction).is_some();
        if self.ahead.get(&transaction).is_some_and(|ahead| ahead.held_back.is_some()) {
            // The rows that went ahead are being undone. If that is because of an abort, the refusal is no news.
            return Err(if is_known { Refusal::AlreadyEnding } else { Refusal::NotHeld });
        }
        let ahead = self.ahead.remove(&transaction).unwrap_or_default();
        let mut rows = ahead.rows;
        let checked = match (is_known, ahead.refused) {
            (true, _) => Err(Refusal::AlreadyEnding),
            (false, Some(refusal)) => Err(refusal),
            (false, None) if Some(ahead.pieces) != replicate.pieces_ahead => Err(Refusal::NotHeld),
            (false, None) => Ok(()),
        };
        match checked.and_then(|()| self.apply(transaction, &replicate.writes, &mut rows, context)) {
            Ok(()) => Ok(rows),
            Err(refusal) => {
                self.undo_applied(transaction, rows, After::Nothing, context);
                Err(refusal)
            }
        }
    }

    /// Applies writes as prepared; what was applied before a failure is in `rows` too.
    pub(in crate::ldm) fn apply(
        &self,
        transaction: TransactionId,
        writes: &[ReplicatedWrite],
        rows: &mut Rows,
        context: &mut Context<'_>,
    ) -> Result<(), Refusal> {
        for write in writes {
            let (table, key, row) = (write.table.id, write.key(), write.row());
            context.check_row(table, key, row)?;
            let fragment = context.fragments.get_mut(&(table, self.id)).ok_or(Refusal::WrongSchema)?;
            context.reclaim.note((table, self.id));
            if mutants::is(Mutant::BackupFallsBack) {
                let staged = fragment.stage(key, transaction, row);
                rows.push((table, staged.map_err(|full| region_full(&full))?));
                continue;
            }
            let applied = fragment.apply_prepared(key, transaction, row);
            rows.push((table, applied.map_err(|full| region_full(&full))?));
        }
        Ok(())
    }

    /// In slices: other transactions may apply on top of these rows meanwhile, each finds its own versions.
    pub(in crate::ldm) fn undo_applied(
        &mut self,
        transaction: TransactionId,
        rows: Rows,
        then: After,
        context: &mut Context<'_>,
    ) {
        let rest = Rest::Rows(rows);
        self.publish_at_once(Publish { transaction, rest, outcome: None, stamp: None, then }, context);
    }

    /// A one-primary commit that its primary has published.
    pub(in crate::ldm) fn on_decided(&mut self, sequence: Sequence, context: &mut Context<'_>) {
        let Some(transaction) = self.stream.undecided.remove(&sequence) else { return };
        let Some(mut applied) = self.applied.remove(&transaction) else { return };
        if mutants::is(Mutant::MarkerForgotten) {
            applied.marker = None;
        }
        let outcome = Some(applied.epoch);
        if let Some(results) = applied.marker.take() {
            self.outcomes.insert(transaction, Marker { outcome, results });
        }
        self.publish_applied(transaction, applied, outcome, After::Nothing, context);
    }

    pub(in crate::ldm) fn on_outcome_at_backup(
        &mut self,
        from: Address,
        transaction: TransactionId,
        outcome: Option<Epoch>,
        context: &mut Context<'_>,
    ) {
        self.drop_ahead(transaction, context);
        if mutants::is(Mutant::BackupDropsOutcome) {
            return self.record_outcome(from, transaction, context);
        }
        let Some(mut applied) = self.applied.remove(&transaction) else {
            return self.record_outcome(from, transaction, context);
        };
        if let (Some(results), Some(marker)) = (applied.marker.take(), self.outcomes.get_mut(transaction)) {
            marker.results = results;
        }
        self.stream.undecided.retain(|_, undecided| *undecided != transaction);
        self.publish_applied(transaction, applied, outcome, After::Record(from), context);
    }

    /// Carries out the outcome of what was replicated here.
    pub(in crate::ldm) fn publish_applied(
        &mut self,
        transaction: TransactionId,
        applied: Applied,
        outcome: Option<Epoch>,
        then: After,
        context: &mut Context<'_>,
    ) {
        let (rest, stamp) = (Rest::Rows(applied.rows), Some(applied.epoch));
        self.publish_at_once(Publish { transaction, rest, outcome, stamp, then }, context);
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
