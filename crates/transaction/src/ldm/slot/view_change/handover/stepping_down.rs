//! Stepping down: what a member does on installing the view in which another one is primary, and with requests that
//! come to it afterwards.

use super::{Room, void_waits};
use crate::ldm::Context;
use crate::ldm::slot::Slot;
use crate::ldm::slot::backup::Applied;
use crate::ldm::slot::commit::seal::Mark;
use crate::ldm::slot::commit::{Ending, Reply};
use crate::ldm::slot::lock_wait::Run;
use crate::ldm::slot::transaction::{Held, HeldStage, Operation, Rows};
use protocol::program::{LockWait, Refusal};
use protocol::signal::{CommitOneRequest, Decider, Participant, Participants, ReturnedRequest};
use protocol::{Address, ModuleKind, Signal};
use std::collections::VecDeque;
use types::{Epoch, NodeId, TransactionId};

impl Slot {
    /// A request that was sent in an older view: its session's module sends it on. A signal that nobody answers is
    /// passed on.
    pub(in crate::ldm) fn send_back(&mut self, from: Address, signal: Signal, context: &mut Context<'_>) {
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "the others are answered, or asked again in the newer view"
        )]
        match signal {
            Signal::Abort { transaction, .. } => {
                // An open transaction is here until it is taken. The next one to get this is in a newer view than
                // this one was, or is primary.
                self.on_abort(transaction, context);
                self.pass_on(signal, context);
            }
            Signal::Forget { .. } => {
                if from.kind != ModuleKind::Ldm {
                    self.pass_on(signal, context);
                }
            }
            // Its commit is decided, or sealed: the answer comes from here.
            Signal::RollbackTo { request, transaction, .. } if self.owed.contains_key(&transaction) => {
                context.send(from, Signal::RollbackDone { request, held: false });
            }
            signal => {
                if from.kind == ModuleKind::Sql {
                    context.progress.standing_down.told.insert(from);
                }
                if let Some(request) = returned(signal) {
                    context.send(from, Signal::Returned(Box::new(request)));
                }
            }
        }
    }

    fn pass_on(&self, signal: Signal, context: &mut Context<'_>) {
        if let Some(primary) = context.map.primary(self.id) {
            context.send(primary, signal);
        }
    }

    /// The session of what is decided here, or handed over, will not ask: the new primary need not keep it.
    pub(in crate::ldm) fn pass_on_forget(&self, transaction: TransactionId, context: &mut Context<'_>) {
        self.pass_on(Signal::Forget { slot: self.id, transactions: vec![transaction] }, context);
    }

    /// The session of a commit whose outcome is owed here hears from the primary what became of it.
    pub(in crate::ldm) fn ask_primary(
        &mut self,
        transaction: TransactionId,
        reply: &Reply,
        context: &mut Context<'_>,
    ) {
        let (to, request, is_write) = match reply {
            Reply::Write { to, request, .. } => (*to, *request, true),
            Reply::Commit { to, request } => (*to, *request, false),
            Reply::Nobody => return,
        };
        let ask = Signal::OutcomeAsk { request, transaction, slot: self.id, is_write };
        self.send_back(to, ask, context);
    }

    /// This member was primary, and another one is now: nobody is served here any more.
    pub(in crate::ldm) fn step_down(&mut self, context: &mut Context<'_>) {
        let waits = self.take_waits(context);
        self.unship(context);
        for transaction in self.sealed() {
            let is_prepared = |held: &Held| held.is_marked || !held.has_writes(self.id);
            if self.held.get(&transaction).is_some_and(is_prepared) {
                self.become_backup(transaction, context);
            } else {
                self.mark_at_once(Mark { transaction, next: 0, then: None }, context);
            }
        }
        for (transaction, asker) in self.take_askers() {
            let (request, is_write) = (asker.request, asker.is_write);
            let ask = Signal::OutcomeAsk { request, transaction, slot: self.id, is_write };
            self.send_back(asker.from, ask, context);
        }
        let mut waiting: Vec<Address> = Vec::new();
        if let Some(hand_out) = self.role.hand_out_mut() {
            // It may have stepped down before, and not have gone on since.
            hand_out.is_sent = false;
            hand_out.waits.extend(waits);
            waiting.extend(hand_out.waits.iter().map(Run::from));
        }
        let (resumed, held_back) = self.takeover.step_down();
        for (transaction, pending) in resumed {
            if !matches!(pending.reply, Reply::Nobody) {
                self.owed.insert(transaction, pending.reply);
            }
        }
        for (from, signal) in held_back {
            self.send_back(from, signal, context);
        }
        self.send_back_released(context);
        // Their next requests may be on the way here, and are sent back.
        let open = self.open().into_iter();
        let open = open.filter_map(|transaction| self.held.get(&transaction)?.session);
        let sessions = waiting.into_iter().chain(open);
        context.progress.standing_down.told.extend(sessions.filter(|module| module.kind == ModuleKind::Sql));
        self.void_large(context);
    }

    /// Requests that were to go on here.
    fn send_back_released(&mut self, context: &mut Context<'_>) {
        let released = std::mem::take(&mut context.postponed.released).into_iter();
        let (here, others): (VecDeque<_>, VecDeque<_>) =
            released.partition(|(_, signal)| signal.slot() == Some(self.id));
        context.postponed.released = others;
        for (from, signal) in here {
            self.send_back(from, signal, context);
        }
    }

    /// Transactions that are too large to travel inside a view change are void, and undone in slices.
    fn void_large(&mut self, context: &mut Context<'_>) {
        let mut room = Room::default();
        let mut large: Vec<(NodeId, TransactionId)> = Vec::new();
        for transaction in self.open() {
            let Some(held) = self.held.get(&transaction) else { continue };
            let Some(session) = held.session else { continue };
            let operations = held.operations.len();
            // No more is measured than may travel.
            let is_measured = operations <= room.operations;
            let bytes = if is_measured { self.open_size(transaction, held, context) } else { 0 };
            if !room.take(operations, bytes) {
                large.push((session.node, transaction));
            }
        }
        if let Some(hand_out) = self.role.hand_out_mut() {
            for run in &hand_out.waits {
                let is_void = large.iter().any(|(_, transaction)| *transaction == run.transaction());
                if !is_void && !room.take(0, run.handed_size()) {
                    large.push((run.from().node, run.transaction()));
                }
            }
            hand_out.room = room;
        }
        for (session, transaction) in large {
            self.void_handed_waits(|run| run.transaction() == transaction, context);
            self.void.entry(session).or_default().insert(transaction);
            self.undo(transaction, context);
        }
    }

    /// Bytes of an open transaction's operations as they travel: each has the version that it staged.
    fn open_size(&self, transaction: TransactionId, held: &Held, context: &Context<'_>) -> usize {
        let size = |operation: &Operation| match operation {
            Operation::Locked(key) => key.key.len(),
            Operation::Staged { table, row, is_first: true, .. } => {
                let Some(fragment) = context.fragments.get(&(*table, self.id)) else { return 0 };
                let versions = fragment.staged_versions(*row, transaction);
                versions.map(|bytes| fragment.key_of(*row).len() + bytes.map_or(0, <[u8]>::len)).sum()
            }
            // Counted with the first.
            Operation::Staged { is_first: false, .. } => 0,
        };
        held.operations.iter().map(size).sum()
    }

    /// Requests that are on their way to another primary are void: nobody answers them.
    pub(in crate::ldm) fn void_handed_waits(
        &mut self,
        is_void: impl Fn(&Run) -> bool,
        context: &mut Context<'_>,
    ) {
        let Some(hand_out) = self.role.hand_out_mut() else { return };
        let waits = std::mem::take(&mut hand_out.waits);
        let (void, kept): (Vec<Run>, Vec<Run>) = waits.into_iter().partition(is_void);
        hand_out.waits = kept;
        void_waits(void, context);
    }

    /// A replica is given up: no view that lets these go on is awaited.
    pub(in crate::ldm) fn refuse_handed_if_given_up(&mut self, context: &mut Context<'_>) {
        self.void_handed_waits(|_| true, context);
        for run in self.take_resuming(context) {
            self.refuse_run(run, Refusal::ReplicaLost, context);
        }
    }

    /// The requests of this slot that were about to go on.
    fn take_resuming(&self, context: &mut Context<'_>) -> Vec<Run> {
        let resuming = std::mem::take(&mut context.postponed.resuming).into_iter();
        let (here, others): (VecDeque<Run>, VecDeque<Run>) = resuming.partition(|run| run.slot() == self.id);
        context.postponed.resuming = others;
        here.into()
    }

    /// All requests that wait here, in the order in which they began to, with the time that is left to them.
    pub(super) fn take_waits(&self, context: &mut Context<'_>) -> Vec<Run> {
        let mut runs = self.take_resuming(context);
        for wait in context.waits.in_slot(self.id) {
            let Some(mut waiting) = context.stop_waiting(wait) else { continue };
            let left = waiting.deadline.since(context.now.monotonic).as_millis();
            let left = LockWait::Wait { timeout_ms: u32::try_from(left).unwrap_or(u32::MAX) };
            match &mut waiting.run {
                Run::Write(run) => run.request.wait = left,
                Run::Read(run) => run.request.lock = run.request.lock.map(|(mode, _)| (mode, left)),
            }
            runs.push(waiting.run);
        }
        runs.extend(context.reclaim.take_waits_of(self.id).into_iter().map(Run::Write));
        runs
    }

    /// Large transactions that are not sealed are open again: whoever decides asks the new primary.
    fn unship(&mut self, context: &mut Context<'_>) {
        for ship in self.take_ships() {
            let transaction = ship.transaction;
            match ship.ending {
                Ending::One(Reply::Commit { to, request }) => {
                    self.reopen(transaction, ship.bytes, context);
                    let operations = self.operation_count(transaction);
                    // Its session began in this line, or the commit would have been refused.
                    let view = context.map.view.number;
                    let participant = Participant { slot: self.id, operations, view, has_writes: true };
                    let epoch_seen = ship.epoch_seen;
                    let commit = CommitOneRequest { request, transaction, participant, epoch_seen };
                    self.send_back(to, Signal::CommitOne(Box::new(commit)), context);
                }
                Ending::Two { .. } => self.reopen(transaction, ship.bytes, context),
                // It is sealed: the new primary replicates it again.
                Ending::Again(_) => context.ship_window.bytes -= ship.bytes,
                // The statement is all there is: it runs again.
                Ending::One(Reply::Write { .. } | Reply::Nobody) => {
                    self.refuse_ship(ship, Refusal::WrongView, context);
                }
            }
        }
    }

    fn reopen(&mut self, transaction: TransactionId, shipped: u64, context: &mut Context<'_>) {
        context.ship_window.bytes -= shipped;
        if let Some(held) = self.held.get_mut(&transaction) {
            held.stage = HeldStage::Open;
        }
    }

    /// A sealed transaction is held as if another primary had replicated it. One that has only locked is open again:
    /// its coordinator asks the new primary.
    pub(in crate::ldm) fn become_backup(&mut self, transaction: TransactionId, context: &mut Context<'_>) {
        let Some(held) = self.held.get_mut(&transaction) else { return };
        if !held.has_writes(self.id) {
            let epoch = std::mem::replace(&mut held.epoch, Epoch(0));
            (held.stage, held.decider) = (HeldStage::Open, Decider::Primary);
            held.participants = Participants::new();
            return context.count_decided(epoch);
        }
        let Some(held) = self.held.remove(&transaction) else { return };
        let mut rows = Rows::with_capacity(held.operations.len());
        for operation in held.operations {
            if !held.is_taken_over {
                context.release_operation();
            }
            match operation {
                Operation::Staged { table, row, is_first: true, .. } => {
                    if !held.is_marked
                        && let Some(fragment) = context.fragments.get_mut(&(table, self.id))
                    {
                        fragment.prepare(row, transaction);
                    }
                    rows.push((table, row));
                }
                Operation::Staged { is_first: false, .. } => {}
                Operation::Locked(key) => {
                    context.locks.release(&key, transaction);
                }
            }
        }
        let applied = Applied {
            rows,
            epoch: held.epoch,
            stream: held.sealed,
            sequence: held.sequence,
            order: held.order,
            decider: held.decider,
            participants: held.participants,
            marker: held.marker,
        };
        self.applied.insert(transaction, applied);
        if held.is_confirmed {
            self.pass_on_forget(transaction, context);
        }
    }
}

/// A request at a member that is not the primary any more.
fn returned(signal: Signal) -> Option<ReturnedRequest> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "nobody waits for an answer to the others")]
    Some(match signal {
        Signal::Read(read) => ReturnedRequest::Read(read),
        Signal::Write(write) => ReturnedRequest::Write(write),
        Signal::CommitOne(commit) => ReturnedRequest::CommitOne(commit),
        Signal::RollbackTo { request, transaction, slot, operations } => {
            ReturnedRequest::RollbackTo { request, transaction, slot, operations }
        }
        Signal::OutcomeAsk { request, transaction, slot, is_write } => {
            ReturnedRequest::OutcomeAsk { request, transaction, slot, is_write }
        }
        _ => return None,
    })
}
