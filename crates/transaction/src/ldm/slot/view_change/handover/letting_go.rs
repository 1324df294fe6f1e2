//! Letting go: the open transactions of a line have another owner, or none, or are this member's again.

use crate::ldm::slot::transaction::{Held, HeldStage, OPERATION_COST, Operation};
use crate::ldm::{Job, Ldm, Place};
use crate::mutants::{self, Mutant};
use protocol::{Outputs, Signal};
use query::Shared;
use stdx::Now;
use types::SlotId;

impl Ldm {
    /// Who replicates has taken: its word was lost with a connection, perhaps, but not what followed.
    pub(in crate::ldm) fn on_replicated(&mut self, slot: SlotId, outputs: &mut Outputs<Shared>) {
        if self.slot(slot).is_some_and(|state| state.hand_out.is_some()) {
            self.on_taken(slot, outputs);
        }
    }

    /// The new primary has everything. What it replicates comes behind this, so it is done at once.
    pub(in crate::ldm) fn on_taken(&mut self, slot: SlotId, outputs: &mut Outputs<Shared>) {
        if !self.is_elsewhere(slot) || mutants::is(Mutant::OpenKeptAfterHandOver) {
            return;
        }
        let hand_out = self.slot(slot).and_then(|state| state.hand_out.as_ref());
        let is_report_due = hand_out.is_some_and(|hand_out| !hand_out.is_sent);
        if let (Some(hand_out), Some(primary)) = (hand_out, self.map.primary(slot)) {
            for run in &hand_out.waits {
                let moved = Signal::WaitMoved { request: run.request(), to: primary };
                outputs.send(self.address, run.from(), moved);
            }
        }
        self.let_go(slot, outputs);
        if is_report_due {
            self.report(slot, outputs);
        }
    }

    /// Drops what is open: another member has it, or nobody goes on with it. At once: another member's places on the same rows may come next.
    pub(in crate::ldm) fn let_go(&mut self, slot: SlotId, outputs: &mut Outputs<Shared>) {
        let Some(state) = self.slots.get_mut(&slot) else { return };
        state.hand_out = None;
        state.takeover.lose_claim();
        if self.is_elsewhere(slot) {
            // Slices that prepare these are not waited for: the report that comes next names them.
            for place in self.sealed_of(slot) {
                self.become_backup(place, outputs);
            }
        }
        let is_undo = |job: &Job| matches!(job, Job::Undo(undo) if undo.slot() == slot);
        let mut undos: Vec<u64> =
            self.jobs.iter().filter(|(_, job)| is_undo(job)).map(|(id, _)| *id).collect();
        undos.sort_unstable();
        for job in undos {
            if let Some(Job::Undo(undo)) = self.jobs.remove(&job) {
                self.end_undo(*undo, outputs);
            }
        }
        for place in self.open_of(slot) {
            self.drop_open(place);
        }
        self.count_unsettled(outputs);
        if !self.waiting_backfills.is_empty() {
            self.resume_backfills(outputs);
        }
    }

    /// Undoes an open transaction without slices. (Who asks for more of it is refused.)
    pub(in crate::ldm) fn drop_open(&mut self, place: Place) {
        let Some(held) = self.held.remove(&place) else { return };
        for operation in held.operations {
            self.drop_operation(place, operation);
        }
    }

    pub(in crate::ldm) fn drop_operation(&mut self, place: Place, operation: Operation) {
        self.transaction_memory.release(OPERATION_COST);
        match operation {
            Operation::Staged { table, row, is_first: true, .. } => {
                if let Some(fragment) = self.fragments.get_mut(&(table, place.1)) {
                    fragment.abort(row, place.0);
                    self.reclaim.note((table, place.1));
                }
            }
            Operation::Staged { is_first: false, .. } => {}
            Operation::Locked(key) => self.locks.release(&key, place.0),
        }
    }

    pub(in crate::ldm) fn open_of(&self, slot: SlotId) -> Vec<Place> {
        let is_open = |held: &Held| held.stage == HeldStage::Open;
        let of = self.held.iter().filter(|((_, of), held)| *of == slot && is_open(held));
        let mut places: Vec<Place> = of.map(|(place, _)| *place).collect();
        places.sort_unstable();
        places
    }

    /// The view has begun another line, or nobody knows how far this one went elsewhere: what is open here is lost, and requests that wait are.
    pub(in crate::ldm) fn give_up_line(&mut self, now: Now, slot: SlotId, outputs: &mut Outputs<Shared>) {
        let waits = self.take_waits(now, slot);
        let Some(state) = self.slots.get_mut(&slot) else { return };
        state.hand_out.get_or_insert_default().waits.extend(waits);
        state.takeover.begin_again(state.is_primary, self.map.view.number);
        self.lose_handed_waits(|run| run.slot() == slot, outputs);
        self.let_go(slot, outputs);
    }

    /// Primary again before anybody took what was to be handed over: requests that waited go on.
    pub(in crate::ldm) fn take_back(&mut self, slot: SlotId, outputs: &mut Outputs<Shared>) {
        let Some(state) = self.slots.get_mut(&slot) else { return };
        if let Some(hand_out) = state.hand_out.take() {
            self.resuming.extend(hand_out.waits);
            self.tell_sessions(slot, outputs);
        }
    }
}
