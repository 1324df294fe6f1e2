//! Opening: when a new primary grants locks, and requests that wait for that.

use super::Stage;
use crate::ldm::Context;
use crate::ldm::RELEASE;
use crate::ldm::slot::Slot;
use crate::ldm::slot::commit::Reply;
use crate::mutants::{self, Mutant};
use protocol::{Address, Severity, Signal};
use std::collections::BTreeSet;
use types::TransactionId;

/// A new primary that grants no locks yet.
#[derive(Debug, Default)]
pub(in crate::ldm) struct Opening {
    /// Undecided transactions of earlier views.
    pub(super) inherited: BTreeSet<TransactionId>,
    /// The open transactions of the line are here.
    pub(super) has_taken: bool,
}

impl Slot {
    /// Grants locks, if nothing stands against it.
    pub(in crate::ldm) fn open_if_ready(&mut self, context: &mut Context<'_>) {
        let view = context.map.view.number;
        if let Stage::Opening(opening) = &self.takeover.stage {
            // All locks of a line that was handed over are here, but those of sealed transactions.
            let is_safe = context.progress.settled >= view || opening.has_taken;
            if is_safe && opening.inherited.is_empty() {
                self.takeover.stage = Stage::Open;
                self.takeover.line.acquired.get_or_insert(view);
                self.release(context);
            }
        }
        self.count_takeover(context);
    }

    /// An inherited transaction is decided here.
    pub(in crate::ldm) fn after_inherited(&mut self, transaction: TransactionId, context: &mut Context<'_>) {
        let opening = self.takeover.opening_mut();
        if opening.is_some_and(|opening| opening.inherited.remove(&transaction)) {
            self.open_if_ready(context);
        }
    }

    /// Whether its takeover is not over.
    pub(in crate::ldm) fn is_in_takeover(&self) -> bool {
        !self.takeover.is_over() || self.role.hand_out().is_some()
    }

    /// The module counts the slots whose takeover is not over.
    pub(in crate::ldm) fn count_takeover(&mut self, context: &mut Context<'_>) {
        let is_in_takeover = self.is_in_takeover();
        if std::mem::replace(&mut self.is_counted, is_in_takeover) == is_in_takeover {
            return;
        }
        if is_in_takeover {
            context.progress.takeover_count += 1;
            return;
        }
        context.progress.takeover_count -= 1;
        if context.progress.takeover_count == 0 {
            context.report_all_open();
        }
    }

    /// Whether a request must wait until the slot's takeover is over.
    pub(in crate::ldm) fn is_held_back(&self, signal: &Signal) -> bool {
        // While a member is given up nobody knows how long it takes: what can be refused is refused.
        let is_given_up = self.members.is_replica_given_up;
        let is_opening = self.takeover.is_opening() && !is_given_up;
        let is_gathering = self.takeover.is_gathering();
        #[expect(clippy::wildcard_enum_match_arm, reason = "everything else goes on during a takeover")]
        match signal {
            Signal::Write(_) => is_opening,
            Signal::Read(request) => (request.lock.is_some() || request.transaction.is_some()) && is_opening,
            Signal::CommitOne(_) | Signal::Prepare { .. } => is_opening && is_gathering,
            // An answer to a question comes before that to a request to undo what it asks about.
            Signal::OutcomeAsk { .. } | Signal::RollbackTo { .. } => is_gathering && !is_given_up,
            // Reports may still name as undecided what all have recorded since: the marker tells the answer.
            // A transaction that is handed over is not here yet, and is undone all the same.
            Signal::Forget { .. } | Signal::Abort { .. } | Signal::RecoveryAsk { .. } => is_gathering,
            _ => false,
        }
    }

    /// Keeps a request for later.
    pub(in crate::ldm) fn hold_back(&mut self, from: Address, signal: Signal) {
        self.takeover.waiting.push((from, signal));
    }

    /// A transaction is undone: what it asked for before and was held back is not done any more.
    pub(in crate::ldm) fn drop_held_back(&mut self, transaction: TransactionId, context: &mut Context<'_>) {
        if mutants::is(Mutant::HeldBackRedone) {
            return;
        }
        let is_other = |(_, signal): &(Address, Signal)| stages_for(signal) != Some(transaction);
        self.takeover.waiting.retain(is_other);
        let id = self.id;
        let postponed = &mut *context.postponed;
        postponed.released.retain(|held_back| is_other(held_back) || held_back.1.slot() != Some(id));
        // Also requests that waited at an earlier primary.
        postponed.resuming.retain(|run| run.transaction() != transaction || run.slot() != id);
        if let Some(hand_out) = self.role.hand_out_mut() {
            hand_out.drop_waits(transaction);
        }
    }

    /// Requests that would stage or lock as soon as they go on: who asked, and for which transaction.
    pub(in crate::ldm) fn postponed(&self, context: &Context<'_>) -> Vec<(Address, TransactionId)> {
        let released = context.postponed.released.iter().filter(|(_, signal)| signal.slot() == Some(self.id));
        let held_back = self.takeover.waiting.iter().chain(released);
        let held_back = held_back.filter_map(|(from, signal)| Some((*from, stages_for(signal)?)));
        let memory = context.reclaim.waiting().iter().filter(|run| run.request.slot == self.id);
        let memory = memory.map(|run| (run.from, run.request.transaction));
        let resuming = context.postponed.resuming.iter().filter(|run| run.slot() == self.id);
        let resuming = resuming.map(|run| (run.from(), run.transaction()));
        held_back.chain(memory).chain(resuming).collect()
    }

    /// From a member that is given up no report comes: what waits for it is looked at again, to be refused. Returns
    /// the commits that were to be replicated again: nobody knows what becomes of them.
    pub(in crate::ldm) fn abandon_takeover(
        &mut self,
        context: &mut Context<'_>,
    ) -> Vec<(TransactionId, Reply)> {
        if !self.members.is_replica_given_up {
            return Vec::new();
        }
        self.release(context);
        let resumed = std::mem::take(&mut self.takeover.resumed).into_values();
        resumed.map(|pending| (pending.transaction, pending.reply)).collect()
    }

    /// Requests that were held back are looked at again, after this handler's other work.
    pub(super) fn release(&mut self, context: &mut Context<'_>) {
        let waiting = &mut self.takeover.waiting;
        if !waiting.is_empty() {
            context.postponed.released.extend(waiting.drain(..));
            context.send(context.address, Signal::Continue(RELEASE));
        }
    }
}

impl Context<'_> {
    /// Operators want to know how long a failover took; so does `latsdb bench failover`.
    pub(in crate::ldm) fn report_all_open(&mut self) {
        let text = format!("view {}: all slots of {} take writes", self.map.view.number, self.address);
        self.outputs.event(Severity::Info, text);
    }
}

/// The transaction for which a request stages or locks.
fn stages_for(signal: &Signal) -> Option<TransactionId> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "only these stage and lock")]
    match signal {
        Signal::Write(request) => Some(request.transaction),
        Signal::Read(request) => request.transaction,
        _ => None,
    }
}
