//! Transactions without coordinator: the primary reports them to the recoverer once all members hold them as prepared
//! in the installed view.

use crate::ldm::Context;
use crate::ldm::slot::Slot;
use crate::ldm::slot::commit::seal::Mark;
use crate::ldm::slot::markers::Marker;
use crate::ldm::slot::transaction::{Held, HeldStage};
use crate::mutants::{self, Mutant};
use protocol::signal::{Decider, Participants, RecoveredState, RecoveryReport};
use protocol::{Address, Signal};
use std::collections::{BTreeMap, BTreeSet};
use types::{Epoch, NodeId, NodeSet, Sequence, TransactionId};

/// Transactions without coordinator that were replicated again.
#[derive(Debug, Default)]
pub(in crate::ldm) struct Orphans {
    /// The members that have not confirmed them, by place.
    confirming: BTreeMap<Sequence, (TransactionId, NodeSet)>,
    /// The transactions in it.
    unconfirmed: BTreeSet<TransactionId>,
}

impl Orphans {
    /// These members have to confirm it.
    pub(super) fn await_members(&mut self, sequence: Sequence, transaction: TransactionId, missing: NodeSet) {
        if mutants::is(Mutant::OrphanUnconfirmed) {
            return;
        }
        self.confirming.insert(sequence, (transaction, missing));
        self.unconfirmed.insert(transaction);
    }
}

impl Slot {
    /// A backup has (or has not) confirmed a transaction without coordinator.
    pub(in crate::ldm) fn on_orphan_applied(
        &mut self,
        node: NodeId,
        sequence: Sequence,
        is_refused: bool,
        context: &mut Context<'_>,
    ) {
        let orphans = &mut self.takeover.orphans;
        let Some((transaction, missing)) = orphans.confirming.get_mut(&sequence) else { return };
        let transaction = *transaction;
        missing.remove(node);
        if !is_refused && !missing.is_empty() {
            return;
        }
        orphans.confirming.remove(&sequence);
        orphans.unconfirmed.remove(&transaction);
        let is_ending = |held: &Held| held.stage == HeldStage::Ending;
        if is_refused && self.held.get(&transaction).is_some_and(is_ending) {
            return self.report_orphan(transaction, RecoveredState::Nothing, context);
        }
        self.report_if_prepared(transaction, context);
    }

    /// Readers here wait for the outcome from now on, whichever module decides.
    pub(super) fn mark_orphan(&mut self, transaction: TransactionId, context: &mut Context<'_>) {
        if self.held.get(&transaction).is_some_and(|held| held.is_marked) {
            self.report_if_prepared(transaction, context);
        } else {
            self.mark_at_once(Mark { transaction, next: 0, then: None }, context);
        }
    }

    /// Whether all members, this one included, hold a transaction without coordinator as prepared in this view.
    fn is_prepared_orphan(&self, transaction: TransactionId, context: &Context<'_>) -> Option<Epoch> {
        let held = self.held.get(&transaction)?;
        let is_prepared = held.decider == Decider::Recoverer
            && held.stage == HeldStage::Ending
            && held.is_marked
            && held.sealed == context.map.view.number;
        let is_unconfirmed = || self.takeover.orphans.unconfirmed.contains(&transaction);
        (is_prepared && !is_unconfirmed()).then_some(held.epoch)
    }

    /// Reports a transaction without coordinator, once all members hold it as prepared.
    #[inline]
    pub(in crate::ldm) fn report_if_prepared(&self, transaction: TransactionId, context: &mut Context<'_>) {
        if let Some(epoch) = self.is_prepared_orphan(transaction, context) {
            self.report_orphan(transaction, RecoveredState::Prepared(epoch), context);
        }
    }

    fn report_orphan(&self, transaction: TransactionId, state: RecoveredState, context: &mut Context<'_>) {
        let participants = self.held.get(&transaction).map(|held| held.participants.clone());
        if let (Some(participants), Some(recoverer)) = (participants, context.map.view.recoverer(transaction))
        {
            self.send_recovery_report(recoverer, transaction, participants, state, context);
        }
    }

    fn send_recovery_report(
        &self,
        to: Address,
        transaction: TransactionId,
        participants: Participants,
        state: RecoveredState,
        context: &mut Context<'_>,
    ) {
        let report = RecoveryReport { transaction, slot: self.id, participants, state };
        context.send(to, Signal::RecoveryReport(Box::new(report)));
    }

    /// The recoverer wants to know; what is still being confirmed is reported when it is.
    pub(in crate::ldm) fn on_recovery_ask(
        &mut self,
        from: Address,
        transaction: TransactionId,
        participants: Participants,
        context: &mut Context<'_>,
    ) {
        if !self.is_primary() {
            return;
        }
        let known = match (self.outcomes.get(transaction), self.held.get(&transaction)) {
            (Some(Marker { outcome: Some(epoch), .. }), _) => RecoveredState::Committed(*epoch),
            (Some(Marker { outcome: None, .. }), _) => RecoveredState::Aborted,
            (None, Some(held)) if held.stage == HeldStage::Ending => {
                let Some(epoch) = self.is_prepared_orphan(transaction, context) else { return };
                RecoveredState::Prepared(epoch)
            }
            (None, _) => RecoveredState::Nothing,
        };
        self.send_recovery_report(from, transaction, participants, known, context);
    }

    /// Transactions whose coordinator is gone are decided by their recoverer from now on.
    pub(in crate::ldm) fn forget_coordinators(&mut self, is_gone: impl Fn(NodeId) -> bool) {
        if mutants::is(Mutant::LostCoordinatorKept) {
            return;
        }
        let held = self.held.values_mut().map(|held| &mut held.decider);
        for decider in held.chain(self.applied.values_mut().map(|applied| &mut applied.decider)) {
            if decider.coordinator().is_some_and(|coordinator| is_gone(coordinator.node)) {
                *decider = Decider::Recoverer;
            }
        }
    }
}
