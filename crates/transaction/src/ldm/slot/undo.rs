//! Undoing what a transaction has staged and locked at a primary: all of it, or what came after a savepoint or the
//! statement before.
//!
//! Undoing is cut into slices. Meanwhile the transaction is `Undoing`: it takes no operations, and an abort that comes
//! in between makes the undoing that is on its way go down to nothing. The module that asked is answered after the last
//! slice: then the rows are free and their memory is on its way back.
//!
//! Invariant: operations are undone in the reverse order of their doing, so each finds its row as it left it.

use super::Slot;
use super::transaction::{HeldOperations, HeldStage, Operation};
use crate::ldm::Context;
use crate::ldm::Work;
use crate::locks::LockKey;
use crate::mutants::{self, Mutant};
use protocol::signal::RequestId;
use protocol::{Address, Budget, Signal};
use types::TransactionId;

/// Undoing on its way.
#[derive(Debug)]
pub(in crate::ldm) struct Undo {
    transaction: TransactionId,
    /// Taken from the transaction; what stays goes back to it.
    operations: HeldOperations,
    /// The module that is told when it is done.
    then: Option<(Address, Signal)>,
}

impl Slot {
    /// Undoes a transaction's operations above `operations`, and answers.
    pub(super) fn on_rollback_to(
        &mut self,
        from: Address,
        request: RequestId,
        transaction: TransactionId,
        operations: u32,
        context: &mut Context<'_>,
    ) {
        // A request that the session does not wait for any more (KILL QUERY) is not begun after it was undone.
        self.drop_waits(transaction, context);
        let is_held = match self.held.get(&transaction).map(|held| held.stage) {
            None => operations == 0,
            Some(stage) => stage == HeldStage::Open && operations <= self.operation_count(transaction),
        };
        let done = Signal::RollbackDone { request, held: is_held };
        if is_held {
            self.undo_to(transaction, operations, Some((from, done)), context);
        } else {
            context.send(from, done);
        }
    }

    /// The session gives the transaction up.
    pub(in crate::ldm) fn on_abort(&mut self, transaction: TransactionId, context: &mut Context<'_>) {
        self.undo(transaction, context);
        // A commit that a coordinator has asked for is ended by its word only.
        if self.shipping.get(&transaction).is_some_and(|ship| ship.is_one_primary()) {
            self.stop_shipping(transaction, context);
        }
    }

    /// Undoes everything of a transaction that is open here.
    pub(in crate::ldm) fn undo(&mut self, transaction: TransactionId, context: &mut Context<'_>) {
        self.undo_then(transaction, None, context);
    }

    /// The same; `then` is sent when it is done.
    pub(in crate::ldm) fn undo_then(
        &mut self,
        transaction: TransactionId,
        then: Option<(Address, Signal)>,
        context: &mut Context<'_>,
    ) {
        self.drop_waits(transaction, context);
        if let Some(held) = self.held.get_mut(&transaction) {
            match held.stage {
                HeldStage::Open => return self.undo_to(transaction, 0, then, context),
                HeldStage::Undoing { .. } => held.stage = HeldStage::Undoing { kept: 0 },
                HeldStage::Ending | HeldStage::Publishing => {}
            }
        }
        if let Some((to, signal)) = then {
            context.send(to, signal);
        }
    }

    /// Begins to undo the operations above `kept` of a transaction that is open.
    fn undo_to(
        &mut self,
        transaction: TransactionId,
        mut kept: u32,
        then: Option<(Address, Signal)>,
        context: &mut Context<'_>,
    ) {
        if mutants::is(Mutant::SavepointKeepsLast) && kept > 0 {
            kept += 1;
        }
        let mut operations = HeldOperations::new();
        if let Some(held) = self.held.get_mut(&transaction) {
            held.stage = HeldStage::Undoing { kept };
            operations = std::mem::take(&mut held.operations);
        }
        self.step_undo(Undo { transaction, operations, then }, &mut context.at_once(), context);
    }

    /// Undoes what the budget allows; the rest in the next slice.
    pub(in crate::ldm) fn step_undo(
        &mut self,
        mut undo: Undo,
        budget: &mut Budget,
        context: &mut Context<'_>,
    ) {
        let transaction = undo.transaction;
        let kept = match self.held.get(&transaction).map(|held| held.stage) {
            Some(HeldStage::Undoing { kept }) => kept as usize,
            None | Some(HeldStage::Open | HeldStage::Ending | HeldStage::Publishing) => 0,
        };
        while undo.operations.len() > kept {
            if !budget.spend(1) {
                return self.later(Work::Undo(Box::new(undo)), context);
            }
            let Some(operation) = undo.operations.pop() else { break };
            self.undo_operation(transaction, operation, context);
        }
        if undo.operations.is_empty() {
            self.held.remove(&transaction);
        } else if let Some(held) = self.held.get_mut(&transaction) {
            held.operations = undo.operations;
            held.stage = HeldStage::Open;
        }
        self.serve_tables(context);
        context.resume_backfills();
        if let Some((to, signal)) = undo.then {
            context.send(to, signal);
        }
        self.after_slices(context);
    }

    fn undo_operation(
        &mut self,
        transaction: TransactionId,
        operation: Operation,
        context: &mut Context<'_>,
    ) {
        context.release_operation();
        match operation {
            Operation::Staged { table, version, row, is_first } => {
                if let Some(held) = self.held.get_mut(&transaction) {
                    held.forget_change(table, version, is_first);
                }
                let Some(fragment) = context.fragments.get_mut(&(table, self.id)) else { return };
                context.reclaim.note((table, self.id));
                if !context.locks.is_empty() {
                    let key = fragment.key_of(row).into();
                    context.waits.to_serve.push_back(LockKey { slot: self.id, table, key });
                }
                fragment.unstage(row, transaction);
            }
            Operation::Locked(key) => {
                if context.locks.release(&key, transaction) {
                    context.waits.to_serve.push_back(key);
                }
            }
        }
    }

    // ---- without slices ------------------------------------------------------------------------------------------

    /// Ends undoing without slices: nothing of the transaction stays.
    pub(in crate::ldm) fn end_undo(&mut self, undo: Undo, context: &mut Context<'_>) {
        for operation in undo.operations {
            self.drop_operation(undo.transaction, operation, context);
        }
        self.held.remove(&undo.transaction);
        if let Some((to, signal)) = undo.then {
            context.send(to, signal);
        }
    }

    /// Undoes an open transaction without slices. Requests for more of it are refused.
    pub(in crate::ldm) fn drop_open(&mut self, transaction: TransactionId, context: &mut Context<'_>) {
        let Some(held) = self.held.remove(&transaction) else { return };
        for operation in held.operations {
            self.drop_operation(transaction, operation, context);
        }
    }

    fn drop_operation(&self, transaction: TransactionId, operation: Operation, context: &mut Context<'_>) {
        context.release_operation();
        match operation {
            Operation::Staged { table, row, is_first: true, .. } => {
                if let Some(fragment) = context.fragments.get_mut(&(table, self.id)) {
                    fragment.abort(row, transaction);
                    context.reclaim.note((table, self.id));
                }
            }
            Operation::Staged { is_first: false, .. } => {}
            Operation::Locked(key) => {
                context.locks.release(&key, transaction);
            }
        }
    }
}
