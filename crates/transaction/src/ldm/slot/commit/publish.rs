//! Publishing: a known outcome is carried out, row by row and in slices, at the primary and at backups.
//!
//! Invariant: a row is published, or what was prepared of it undone, in `publish_row` and nowhere else.

use super::Reply;
use crate::ldm::Context;
use crate::ldm::Work;
use crate::ldm::slot::Slot;
use crate::ldm::slot::markers::Marker;
use crate::ldm::slot::transaction::{HeldOperations, HeldStage, Operation, Rows};
use crate::locks::LockKey;
use crate::mutants::{self, Mutant};
use protocol::program::Refusal;
use protocol::signal::Outcome;
use protocol::{Address, Budget, Signal};
#[cfg(debug_assertions)]
use storage::Fragment;
use storage::RowHandle;
use types::{Epoch, Sequence, TableId, TransactionId, ViewNumber};

/// The rest of a publication; worked off from the end.
#[derive(Debug)]
pub(in crate::ldm) enum Rest {
    /// The operations of a transaction held here.
    Operations(HeldOperations),
    /// The rows of a transaction that its primary has replicated here.
    Rows(Rows),
}

impl Rest {
    fn len(&self) -> usize {
        match self {
            Self::Operations(operations) => operations.len(),
            Self::Rows(rows) => rows.len(),
        }
    }
}

/// Rows whose outcome is known and is being carried out.
#[derive(Debug)]
pub(in crate::ldm) struct Publish {
    pub(in crate::ldm) transaction: TransactionId,
    pub(in crate::ldm) rest: Rest,
    pub(in crate::ldm) outcome: Option<Epoch>,
    /// The epoch it was counted in.
    pub(in crate::ldm) stamp: Option<Epoch>,
    pub(in crate::ldm) then: After,
}

/// The step behind a publication.
#[derive(Debug)]
pub(in crate::ldm) enum After {
    /// Tell the client, and the backups: they know it by its place in this view's stream.
    Answer { reply: Reply, sequence: Option<(ViewNumber, Sequence)>, refusal: Option<Refusal> },
    /// Tell the coordinator.
    Record(Address),
    /// A backup's part of a one-primary commit, or of what it refused.
    Nothing,
    /// A backup has undone what was shipped ahead: take what was shipped again.
    TakeHeldBack,
}

impl Slot {
    /// The coordinator has decided: here as primary or as backup.
    pub(in crate::ldm) fn on_outcome(&mut self, from: Address, outcome: Outcome, context: &mut Context<'_>) {
        let transaction = outcome.transaction;
        if let Some(marker) = self.outcomes.get(transaction) {
            if context.progress.is_joining && marker.outcome.is_none() && outcome.committed.is_some() {
                // All the others had it prepared before this member joined, and it refused it.
                return context.end_joining("it cannot take what is committed");
            }
            if marker.outcome != outcome.committed {
                let what = format!("{transaction} has another outcome here");
                return context.outputs.distrust(from, what);
            }
            return self.record_outcome(from, transaction, context);
        }
        if context.progress.is_joining && self.is_early_commit(from, &outcome) {
            return;
        }
        let stage = self.held.get(&transaction).map(|held| held.stage);
        if stage == Some(HeldStage::Publishing) {
            let what = format!("{transaction} was decided by this primary alone");
            return context.outputs.distrust(from, what);
        }
        self.outcomes.insert(transaction, Marker::of(outcome.committed));
        let was_shipped_again = self.stop_shipping(transaction, context);
        match self.held.get(&transaction).map(|held| held.stage) {
            None => self.on_outcome_at_backup(from, transaction, outcome.committed, context),
            Some(HeldStage::Open | HeldStage::Undoing { .. }) => {
                // Never prepared here: an abort because another participant refused.
                self.undo(transaction, context);
                self.record_outcome(from, transaction, context);
            }
            Some(HeldStage::Ending) => {
                self.finish(transaction, outcome.committed, After::Record(from), context);
            }
            Some(HeldStage::Publishing) => {}
        }
        if was_shipped_again {
            // It is being published now: who joins gets its rows as copies when they are.
            self.replicate_rest(context);
        }
    }

    pub(in crate::ldm) fn record_outcome(
        &self,
        coordinator: Address,
        transaction: TransactionId,
        context: &mut Context<'_>,
    ) {
        context.send(coordinator, Signal::OutcomeRecorded { transaction, slot: self.id });
    }

    /// Carries out a known outcome of a transaction held here: publishes or undoes its rows, gives its locks back.
    pub(in crate::ldm) fn finish(
        &mut self,
        transaction: TransactionId,
        outcome: Option<Epoch>,
        then: After,
        context: &mut Context<'_>,
    ) {
        let Some(held) = self.held.get_mut(&transaction) else { return };
        // A transaction that has only locked here is recovered without an epoch.
        #[cfg(debug_assertions)]
        stdx::require!(
            held.rows == 0 || outcome.is_none_or(|epoch| epoch >= held.epoch),
            "{transaction} is committed in epoch {outcome:?}, below its stamp {:?}",
            held.epoch
        );
        held.stage = HeldStage::Publishing;
        let stamp = (held.epoch > Epoch(0)).then_some(held.epoch);
        let mut operations = std::mem::take(&mut held.operations);
        if mutants::is(Mutant::PublishSkipsLast) && held.rows > 1 {
            operations.pop();
            context.release_operation();
        }
        let rest = if held.is_taken_over {
            // They were never charged here.
            Rest::Rows(operations.iter().filter_map(Operation::first_row).collect())
        } else {
            Rest::Operations(operations)
        };
        self.publish_at_once(Publish { transaction, rest, outcome, stamp, then }, context);
    }

    /// Begins to publish at once.
    pub(in crate::ldm) fn publish_at_once(&mut self, publish: Publish, context: &mut Context<'_>) {
        self.publish(publish, &mut context.at_once(), context);
    }

    /// Publishes or undoes the next slice of rows.
    pub(in crate::ldm) fn publish(
        &mut self,
        mut publish: Publish,
        budget: &mut Budget,
        context: &mut Context<'_>,
    ) {
        let (transaction, outcome) = (publish.transaction, publish.outcome);
        while publish.rest.len() > 0 {
            if !budget.spend(1) {
                return self.later(Work::Publish(Box::new(publish)), context);
            }
            match &mut publish.rest {
                Rest::Rows(rows) => {
                    if let Some((table, row)) = rows.pop() {
                        self.publish_row(transaction, table, row, outcome, context);
                    }
                }
                Rest::Operations(operations) => {
                    context.release_operation();
                    match operations.pop() {
                        Some(Operation::Staged { table, row, is_first: true, .. }) => {
                            self.publish_row(transaction, table, row, outcome, context);
                        }
                        Some(Operation::Locked(key)) => {
                            if context.locks.release(&key, transaction) {
                                context.waits.to_serve.push_back(key);
                            }
                        }
                        Some(Operation::Staged { is_first: false, .. }) | None => {}
                    }
                }
            }
        }
        self.conclude(publish, context);
    }

    #[inline]
    fn publish_row(
        &mut self,
        transaction: TransactionId,
        table: TableId,
        row: RowHandle,
        outcome: Option<Epoch>,
        context: &mut Context<'_>,
    ) {
        if context.progress.is_joining && outcome.is_some() {
            self.note_deletion(transaction, table, row, context);
        }
        let Some(fragment) = context.fragments.get_mut(&(table, self.id)) else { return };
        context.reclaim.note((table, self.id));
        if !context.locks.is_empty() {
            context.waits.serve_row(LockKey { slot: self.id, table, key: fragment.key_of(row).into() });
        }
        match outcome {
            Some(epoch) => {
                #[cfg(debug_assertions)]
                check_epoch(fragment, row, transaction, epoch);
                if let Some(log) = context.redo.log()
                    && let Some(decided) = fragment.decided(row, transaction)
                {
                    log.publish((table, self.id), &decided, transaction, epoch);
                }
                fragment.commit(row, transaction, epoch);
            }
            None => {
                if let Some(log) = context.redo.log() {
                    log.undo((table, self.id), fragment.key_of(row), transaction);
                }
                fragment.abort(row, transaction);
            }
        }
    }

    /// All rows are published or undone: counts go, everyone hears.
    fn conclude(&mut self, publish: Publish, context: &mut Context<'_>) {
        let (transaction, outcome) = (publish.transaction, publish.outcome);
        let held = self.held.remove(&transaction);
        self.serve_tables(context);
        let is_confirmed = held.as_ref().is_some_and(|held| held.is_confirmed);
        if let Some(results) = held.and_then(|held| held.marker)
            && outcome.is_some()
        {
            self.outcomes.insert(transaction, Marker { outcome, results });
        }
        if let Some(stamp) = publish.stamp {
            context.count_decided(stamp);
        }
        context.resume_backfills();
        self.wake_reads(transaction, context);
        match publish.then {
            After::Nothing => {}
            After::TakeHeldBack => self.take_held_back(transaction, context),
            After::Record(coordinator) => self.record_outcome(coordinator, transaction, context),
            After::Answer { reply, sequence, refusal } => {
                self.tell_decided(sequence, context);
                let outcome = match (outcome, refusal) {
                    (Some(epoch), None) => Ok(epoch),
                    (_, refusal) => Err(refusal.unwrap_or(Refusal::NotHeld)),
                };
                reply.tell(outcome, context);
            }
        }
        if is_confirmed {
            // Behind the decision.
            self.on_forget(vec![transaction], context);
            if self.is_elsewhere() {
                self.pass_on_forget(transaction, context);
            }
        }
        if context.progress.is_joining {
            self.retry_copied(context);
        }
        self.after_decided(transaction, outcome, context);
    }

    /// Backups hear that a place of this view's stream is decided.
    fn tell_decided(&self, place: Option<(ViewNumber, Sequence)>, context: &mut Context<'_>) {
        let Some((mut stream, sequence)) = place else { return };
        if mutants::is(Mutant::OldStreamNamed) {
            stream = context.map.view.number;
        }
        if stream == context.map.view.number {
            self.send_to_backups(Signal::Decided { slot: self.id, sequence }, context);
        }
    }

    /// The outcome of a transaction is carried out here: what waited for it goes on.
    pub(super) fn after_decided(
        &mut self,
        transaction: TransactionId,
        outcome: Option<Epoch>,
        context: &mut Context<'_>,
    ) {
        if context.progress.takeover_count > 0 {
            self.after_inherited(transaction, context);
        }
        if !self.owed.is_empty() {
            self.answer_owed(transaction, outcome, context);
        }
        self.after_slices(context);
        if !self.askers.is_empty() {
            self.answer_askers(transaction, outcome, context);
        }
    }

    /// The session of a commit that was sealed here before this member stepped down hears of its end.
    fn answer_owed(&mut self, transaction: TransactionId, outcome: Option<Epoch>, context: &mut Context<'_>) {
        let Some(reply) = self.owed.remove(&transaction) else { return };
        if mutants::is(Mutant::OwedRepliesForgotten) {
            return;
        }
        match outcome {
            Some(epoch) => reply.tell(Ok(epoch), context),
            // Only the primary knows when all have recorded the abort (I8).
            None => self.ask_primary(transaction, &reply, context),
        }
    }
}

impl Operation {
    /// The row, if the operation was the first on it.
    fn first_row(&self) -> Option<(TableId, RowHandle)> {
        match self {
            Self::Staged { table, row, is_first: true, .. } => Some((*table, *row)),
            Self::Staged { .. } | Self::Locked(_) => None,
        }
    }
}

/// Nothing has a lower epoch than what it overwrote. At a backup, a later transaction on the row may have been
/// decided first: it is above this one.
#[cfg(debug_assertions)]
fn check_epoch(fragment: &Fragment, row: RowHandle, transaction: TransactionId, epoch: Epoch) {
    let before = fragment.decided(row, transaction).and_then(|decided| decided.overwritten());
    stdx::require!(
        before.is_none_or(|before| before <= epoch),
        "{transaction} is committed in epoch {epoch}, above a row of {before:?}"
    );
}
