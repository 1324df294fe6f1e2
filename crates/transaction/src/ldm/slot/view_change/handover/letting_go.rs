//! Letting go: the open transactions of a line have another owner, or none, or are this member's again.

use super::void_waits;
use crate::ldm::Context;
use crate::ldm::slot::Slot;
use crate::ldm::slot::transaction::HeldStage;
use crate::ldm::{Job, Work};
use crate::mutants::{self, Mutant};
use protocol::Signal;
use types::TransactionId;

impl Slot {
    /// The new primary has everything. Its replicated places come behind this, so it is done at once.
    pub(in crate::ldm) fn on_taken(&mut self, context: &mut Context<'_>) {
        if mutants::is(Mutant::OpenKeptAfterHandOver) {
            return;
        }
        if self.is_primary() {
            return;
        }
        let is_report_due = self.role.hand_out().is_some_and(|hand_out| !hand_out.is_sent);
        if let (Some(hand_out), Some(primary)) = (self.role.hand_out(), context.map.primary(self.id)) {
            for run in &hand_out.waits {
                let moved = Signal::WaitMoved { request: run.request(), to: Some(primary) };
                context.send(run.from(), moved);
            }
        }
        self.let_go(context);
        if is_report_due {
            self.report(context);
        }
    }

    /// Drops what is open: another member has it, or nobody goes on with it. At once: another member's places on the
    /// same rows may come next.
    pub(in crate::ldm) fn let_go(&mut self, context: &mut Context<'_>) {
        self.role.let_go();
        self.takeover.void_claim();
        if self.is_elsewhere() {
            // Slices that prepare these are not waited for: the report that comes next names them.
            for transaction in self.sealed() {
                self.become_backup(transaction, context);
            }
        }
        let is_undo = |(_, work): &(u64, &Work)| matches!(work, Work::Undo(_));
        let mut undos: Vec<u64> =
            context.jobs.of(self.id).filter(is_undo).map(|(number, _)| number).collect();
        undos.sort_unstable();
        for number in undos {
            if let Some(Job::Slot(_, Work::Undo(undo))) = context.jobs.remove(number) {
                self.end_undo(*undo, context);
            }
        }
        for transaction in self.open() {
            self.drop_open(transaction, context);
        }
        self.count_takeover(context);
        context.resume_backfills();
    }

    /// The open transactions, in order.
    pub(in crate::ldm) fn open(&self) -> Vec<TransactionId> {
        let open = self.held.iter().filter(|(_, held)| held.stage == HeldStage::Open);
        let mut open: Vec<TransactionId> = open.map(|(transaction, _)| *transaction).collect();
        open.sort_unstable();
        open
    }

    /// A view is installed: what was open in a line that it has ended is void.
    pub(in crate::ldm) fn continue_line(&mut self, context: &mut Context<'_>) {
        let view = &context.map.view;
        let hand_out = self.role.hand_out_mut();
        let is_known = hand_out.is_none_or(|hand_out| hand_out.begin_view(view, self.id));
        let has_claim = self.takeover.line.claim().is_some();
        if has_claim && (!is_known || self.claim(context).is_none()) {
            self.end_line(context);
        }
    }

    /// The view has begun another line, or nobody knows how far this one went elsewhere: what is open here is void,
    /// and so are requests that wait.
    fn end_line(&mut self, context: &mut Context<'_>) {
        let waits = self.take_waits(context);
        self.takeover.begin_again(context.map.view.number);
        self.void_handed_waits(|_| true, context);
        void_waits(waits, context);
        self.let_go(context);
    }

    /// Primary again before anybody took what was to be handed over: requests that waited go on.
    pub(in crate::ldm) fn take_back(&mut self, context: &mut Context<'_>) {
        if let Some(hand_out) = self.role.let_go() {
            context.postponed.resuming.extend(hand_out.waits);
            self.tell_sessions(context);
        }
    }
}
