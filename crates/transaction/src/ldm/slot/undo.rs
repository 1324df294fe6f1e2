//! Undoing what a transaction has staged and locked at a primary: all of it, or what came after a savepoint or the statement before.
//!
//! Undoing is cut into slices. Meanwhile the transaction is `Undoing`: it takes no operations, and an abort that comes in between makes the
//! undoing that is on its way go down to nothing. Whoever asked is answered after the last slice: then the rows are free and their memory is
//! on its way back.
//!
//! Invariant: operations are undone in the reverse order of their doing, so each finds its row as it left it.

use crate::ldm::slot::transaction::{HeldStage, OPERATION_COST, Operation};
use crate::ldm::{Job, Ldm, Place};
use crate::locks::LockKey;
use crate::mutants::{self, Mutant};
use protocol::signal::RequestId;
use protocol::{Address, Budget, Outputs, Signal};
use query::Shared;
use types::SlotId;

/// Undoing on its way.
#[derive(Debug)]
pub(in crate::ldm) struct Undo {
    place: Place,
    /// Taken from the transaction; what stays goes back to it.
    operations: Vec<Operation>,
    /// Who is told when it is done.
    then: Option<(Address, Signal)>,
}

impl Undo {
    pub(in crate::ldm) fn slot(&self) -> SlotId {
        self.place.1
    }
}

impl Ldm {
    /// Undoes a transaction's operations above `operations`, and answers.
    pub(in crate::ldm) fn on_rollback_to(
        &mut self,
        from: Address,
        request: RequestId,
        place: Place,
        operations: u32,
        outputs: &mut Outputs<Shared>,
    ) {
        // What the session does not wait for any more (KILL QUERY) is not begun after it was undone.
        self.drop_waits(place);
        let stage = self.held.get(&place).map(|held| held.stage);
        let is_held = match stage {
            None => operations == 0,
            Some(stage) => stage == HeldStage::Open && operations <= self.operation_count(place),
        };
        let done = Signal::RollbackDone { request, held: is_held };
        if is_held {
            self.undo_to(place, operations, Some((from, done)), outputs);
        } else {
            outputs.send(self.address, from, done);
        }
    }

    /// Undoes everything of a transaction that is open here.
    pub(in crate::ldm) fn undo(&mut self, place: Place, outputs: &mut Outputs<Shared>) {
        self.undo_then(place, None, outputs);
    }

    /// The same; `then` is sent when it is done.
    pub(in crate::ldm) fn undo_then(
        &mut self,
        place: Place,
        then: Option<(Address, Signal)>,
        outputs: &mut Outputs<Shared>,
    ) {
        self.drop_waits(place);
        if let Some(held) = self.held.get_mut(&place) {
            match held.stage {
                HeldStage::Open => return self.undo_to(place, 0, then, outputs),
                HeldStage::Undoing { .. } => held.stage = HeldStage::Undoing { kept: 0 },
                HeldStage::Ending | HeldStage::Publishing => {}
            }
        }
        if let Some((to, signal)) = then {
            outputs.send(self.address, to, signal);
        }
    }

    /// Begins to undo the operations above `kept` of a transaction that is open.
    fn undo_to(
        &mut self,
        place: Place,
        kept: u32,
        then: Option<(Address, Signal)>,
        outputs: &mut Outputs<Shared>,
    ) {
        let mut operations = Vec::new();
        if let Some(held) = self.held.get_mut(&place) {
            let kept = kept + u32::from(mutants::is(Mutant::SavepointKeepsLast) && kept > 0);
            held.stage = HeldStage::Undoing { kept };
            operations = std::mem::take(&mut held.operations);
        }
        self.step_undo(Undo { place, operations, then }, &mut Budget { rows: self.sizes.at_once }, outputs);
    }

    /// Undoes what the budget allows; the rest in the next slice.
    pub(in crate::ldm) fn step_undo(
        &mut self,
        mut undo: Undo,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
    ) {
        let place = undo.place;
        let kept = match self.held.get(&place).map(|held| held.stage) {
            Some(HeldStage::Undoing { kept }) => kept as usize,
            None | Some(HeldStage::Open | HeldStage::Ending | HeldStage::Publishing) => 0,
        };
        while undo.operations.len() > kept {
            if !budget.spend(1) {
                return self.later(Job::Undo(Box::new(undo)), outputs);
            }
            let Some(operation) = undo.operations.pop() else { break };
            self.undo_operation(place, operation);
        }
        if undo.operations.is_empty() {
            self.held.remove(&place);
        } else if let Some(held) = self.held.get_mut(&place) {
            held.operations = undo.operations;
            held.stage = HeldStage::Open;
        }
        self.serve_tables(place.1);
        if !self.waiting_backfills.is_empty() {
            self.resume_backfills(outputs);
        }
        if let Some((to, signal)) = undo.then {
            outputs.send(self.address, to, signal);
        }
        self.after_slices(place.1, outputs);
    }

    /// Ends undoing without slices: nothing of the transaction stays.
    pub(in crate::ldm) fn end_undo(&mut self, undo: Undo, outputs: &mut Outputs<Shared>) {
        for operation in undo.operations {
            self.drop_operation(undo.place, operation);
        }
        self.held.remove(&undo.place);
        if let Some((to, signal)) = undo.then {
            outputs.send(self.address, to, signal);
        }
    }

    fn undo_operation(&mut self, place: Place, operation: Operation) {
        self.transaction_memory.release(OPERATION_COST);
        match operation {
            Operation::Staged { table, version, row, is_first } => {
                if let Some(held) = self.held.get_mut(&place) {
                    held.forget_change(table, version, is_first);
                }
                let Some(fragment) = self.fragments.get_mut(&(table, place.1)) else { return };
                self.reclaim.note((table, place.1));
                if !self.locks.is_empty() {
                    let key = fragment.key_of(row).into();
                    self.to_serve.push_back(LockKey { slot: place.1, table, key });
                }
                fragment.unstage(row, place.0);
            }
            Operation::Locked(key) => {
                self.locks.release(&key, place.0);
                self.to_serve.push_back(key);
            }
        }
    }
}
