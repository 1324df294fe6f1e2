//! Stepping down: what a member does on installing the view in which another one is primary, and with requests that come to it afterwards.

use super::Room;
use crate::ldm::slot::backup::Applied;
use crate::ldm::slot::commit::{Ending, Mark, Reply, Ship};
use crate::ldm::slot::lock_wait::Run;
use crate::ldm::slot::transaction::{Held, HeldStage, OPERATION_COST, Operation};
use crate::ldm::{Ldm, Place};
use crate::locks::WaitId;
use protocol::program::{LockWait, Refusal};
use protocol::signal::{CommitOneRequest, Participant, ReturnedRequest};
use protocol::{Address, ModuleKind, Outputs, Signal};
use query::Shared;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use stdx::Now;
use types::{Epoch, NodeId, SlotId};

impl Ldm {
    /// Whether this member has a replica of the slot and another one is its primary.
    pub(in crate::ldm) fn is_elsewhere(&self, slot: SlotId) -> bool {
        self.slot(slot).is_some_and(|state| !state.is_primary)
    }

    /// A request that was sent in an older view: its session's module sends it on. What nobody answers is passed on.
    pub(in crate::ldm) fn send_back(&mut self, from: Address, signal: Signal, outputs: &mut Outputs<Shared>) {
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "the others are answered, or asked again in the newer view"
        )]
        match signal {
            Signal::Abort { transaction, slot } => {
                // What is open is here until it is taken. (Whoever gets it next is in a newer view than this one was, or is primary.)
                self.on_abort((transaction, slot), outputs);
                if let Some(primary) = self.map.primary(slot) {
                    outputs.send(self.address, primary, signal);
                }
            }
            Signal::Forget { slot, .. } => {
                if let Some(primary) = self.map.primary(slot).filter(|_| from.kind != ModuleKind::Ldm) {
                    outputs.send(self.address, primary, signal);
                }
            }
            // Its commit is decided, or sealed: the answer comes from here.
            Signal::RollbackTo { request, transaction, slot, .. }
                if self.owed.contains_key(&(transaction, slot)) =>
            {
                outputs.send(self.address, from, Signal::RollbackDone { request, held: false });
            }
            signal => {
                if from.kind == ModuleKind::Sql {
                    self.told.insert(from);
                }
                if let Some(request) = returned(signal) {
                    outputs.send(self.address, from, Signal::Returned(Box::new(request)));
                }
            }
        }
    }

    /// The session of what is decided here, or handed over, will not ask: the new primary need not keep it.
    pub(in crate::ldm) fn pass_on_forget(&self, (transaction, slot): Place, outputs: &mut Outputs<Shared>) {
        if let Some(primary) = self.map.primary(slot) {
            outputs.send(self.address, primary, Signal::Forget { slot, transactions: vec![transaction] });
        }
    }

    /// The session of a commit whose outcome is owed here hears from the primary what became of it.
    pub(in crate::ldm) fn ask_primary(&mut self, place: Place, reply: &Reply, outputs: &mut Outputs<Shared>) {
        let (transaction, slot) = place;
        let (to, request, is_write) = match reply {
            Reply::Write { to, request, .. } => (*to, *request, true),
            Reply::Commit { to, request } => (*to, *request, false),
            Reply::Nobody => return,
        };
        let ask = Signal::OutcomeAsk { request, transaction, slot, is_write };
        self.send_back(to, ask, outputs);
    }

    /// This member was primary, and another one is now: nobody is served here any more.
    pub(in crate::ldm) fn step_down(&mut self, now: Now, slot: SlotId, outputs: &mut Outputs<Shared>) {
        let waits = self.take_waits(now, slot);
        self.unship(slot, outputs);
        for place in self.sealed_of(slot) {
            let is_prepared = |held: &Held| held.is_marked || !held.has_writes(slot);
            if self.held.get(&place).is_some_and(is_prepared) {
                self.become_backup(place, outputs);
            } else {
                self.mark_at_once(Mark { place, next: 0, then: None }, outputs);
            }
        }
        let asked: Vec<Place> = self.askers.keys().copied().filter(|(_, of)| *of == slot).collect();
        for place in asked {
            for asker in self.askers.remove(&place).unwrap_or_default() {
                let (transaction, slot) = place;
                let ask = Signal::OutcomeAsk {
                    request: asker.request,
                    transaction,
                    slot,
                    is_write: asker.is_write,
                };
                self.send_back(asker.from, ask, outputs);
            }
        }
        let Some(state) = self.slots.get_mut(&slot) else { return };
        // It may have stepped down before, and not have gone on since.
        let hand_out = state.hand_out.get_or_insert_default();
        hand_out.is_sent = false;
        hand_out.waits.extend(waits);
        let waiting: Vec<Address> = hand_out.waits.iter().map(Run::from).collect();
        let (resumed, held_back) = state.takeover.step_down();
        for (transaction, pending) in resumed {
            if !matches!(pending.reply, Reply::Nobody) {
                self.owed.insert((transaction, slot), pending.reply);
            }
        }
        for (from, signal) in held_back {
            self.send_back(from, signal, outputs);
        }
        let (here, others): (Vec<_>, Vec<_>) = std::mem::take(&mut self.released)
            .into_iter()
            .partition(|(_, signal)| super::slot_of(signal) == Some(slot));
        self.released = others.into();
        for (from, signal) in here {
            self.send_back(from, signal, outputs);
        }
        // Their next requests may be on the way here, and are sent back.
        let open = self.open_of(slot).into_iter();
        let open: Vec<Address> = open.filter_map(|place| Some(self.held.get(&place)?.session)).collect();
        let sessions = waiting.into_iter().chain(open);
        self.told.extend(sessions.filter(|module| module.kind == ModuleKind::Sql));
        self.give_up_large(slot, outputs);
    }

    /// What is too much to travel inside a view change is lost, and undone in slices.
    fn give_up_large(&mut self, slot: SlotId, outputs: &mut Outputs<Shared>) {
        let mut room = Room::default();
        let mut large: Vec<(NodeId, Place)> = Vec::new();
        for place in self.open_of(slot) {
            let Some(held) = self.held.get(&place) else { continue };
            let operations = held.operations.len();
            // (No more is measured than may travel.)
            let bytes = if operations <= room.operations { self.open_size(place, held) } else { 0 };
            if !room.take(operations, bytes) {
                large.push((held.session.node, place));
            }
        }
        let hand_out = self.slot(slot).and_then(|state| state.hand_out.as_ref());
        for run in hand_out.into_iter().flat_map(|hand_out| &hand_out.waits) {
            let is_lost = large.iter().any(|(_, place)| *place == run.place());
            if !is_lost && !room.take(0, run.handed_size()) {
                large.push((run.from().node, run.place()));
            }
        }
        if let Some(hand_out) = self.slots.get_mut(&slot).and_then(|state| state.hand_out.as_mut()) {
            hand_out.room = room;
        }
        for (session, place) in large {
            self.lose_handed_waits(|run| run.place() == place, outputs);
            self.void.entry(session).or_default().insert(place);
            self.undo(place, outputs);
        }
    }

    /// Bytes of an open transaction's operations as they travel: each has the version that it staged.
    fn open_size(&self, (transaction, slot): Place, held: &Held) -> usize {
        let size = |operation: &Operation| match operation {
            Operation::Locked(key) => key.key.len(),
            Operation::Staged { table, row, is_first: true, .. } => {
                let Some(fragment) = self.fragments.get(&(*table, slot)) else { return 0 };
                let versions = fragment.staged_versions(*row, transaction);
                versions.map(|bytes| fragment.key_of(*row).len() + bytes.map_or(0, <[u8]>::len)).sum()
            }
            // Counted with the first.
            Operation::Staged { is_first: false, .. } => 0,
        };
        held.operations.iter().map(size).sum()
    }

    /// Requests that are on their way to another primary are lost: nobody answers them.
    pub(in crate::ldm) fn lose_handed_waits(
        &mut self,
        is_lost: impl Fn(&Run) -> bool,
        outputs: &mut Outputs<Shared>,
    ) {
        for hand_out in self.slots.values_mut().filter_map(|state| state.hand_out.as_mut()) {
            let waits = std::mem::take(&mut hand_out.waits);
            let (lost, kept): (Vec<Run>, Vec<Run>) = waits.into_iter().partition(&is_lost);
            hand_out.waits = kept;
            for run in lost {
                let moved = Signal::WaitMoved { request: run.request(), to: Address::NOBODY };
                outputs.send(self.address, run.from(), moved);
            }
        }
    }

    /// A replica is given up: no view that lets these go on is awaited.
    pub(in crate::ldm) fn refuse_handed_of_lost(&mut self, outputs: &mut Outputs<Shared>) {
        let slots = self.slots.iter().filter(|(_, state)| state.is_replica_lost);
        let lost: BTreeSet<SlotId> = slots.map(|(slot, _)| *slot).collect();
        let is_lost = |run: &Run| lost.contains(&run.slot());
        self.lose_handed_waits(is_lost, outputs);
        let (refused, kept): (VecDeque<Run>, VecDeque<Run>) =
            std::mem::take(&mut self.resuming).into_iter().partition(is_lost);
        self.resuming = kept;
        for run in refused {
            self.refuse_run(run, Refusal::ReplicaLost, outputs);
        }
    }

    /// All requests that wait in a slot, in the order in which they began to, with the time that is left to them.
    pub(in crate::ldm) fn take_waits(&mut self, now: Now, slot: SlotId) -> Vec<Run> {
        let of = self.waits.iter().filter(|(_, waiting)| waiting.key.slot == slot);
        let mut waits: Vec<WaitId> = of.map(|(wait, _)| *wait).collect();
        waits.sort_unstable();
        let (here, others): (Vec<Run>, Vec<Run>) =
            std::mem::take(&mut self.resuming).into_iter().partition(|run| run.slot() == slot);
        self.resuming = others.into();
        let mut runs = here;
        for wait in waits {
            let Some(mut waiting) = self.stop_waiting(wait) else { continue };
            let left = waiting.deadline().since(now.monotonic).as_millis();
            let left = LockWait::Wait { timeout_ms: u32::try_from(left).unwrap_or(u32::MAX) };
            match &mut waiting.run {
                Run::Write(run) => run.request.wait = left,
                Run::Read(run) => run.request.lock = run.request.lock.map(|(mode, _)| (mode, left)),
            }
            runs.push(waiting.run);
        }
        runs.extend(self.take_memory_waits_of(slot).into_iter().map(Run::Write));
        runs
    }

    /// Large transactions that are not sealed are open again: whoever decides asks the new primary.
    fn unship(&mut self, slot: SlotId, outputs: &mut Outputs<Shared>) {
        let mut places: Vec<Place> = self.shipping.keys().copied().filter(|(_, of)| *of == slot).collect();
        places.sort_unstable();
        for place in places {
            let Some(ship) = self.shipping.remove(&place) else { continue };
            match ship.ending {
                Ending::One(Reply::Commit { to, request }) => {
                    self.reopen(place, ship.bytes);
                    let operations = self.operation_count(place);
                    let (transaction, epoch_seen) = (place.0, ship.epoch_seen);
                    // Its session began in this line, or the commit would have been refused.
                    let view = self.map.view.number;
                    let participant = Participant { slot, operations, view, has_writes: true };
                    let commit = CommitOneRequest { request, transaction, participant, epoch_seen };
                    self.send_back(to, Signal::CommitOne(Box::new(commit)), outputs);
                }
                Ending::Two { .. } => self.reopen(place, ship.bytes),
                // It is sealed: the new primary replicates it again.
                Ending::Again(_) => self.forget_shipped(ship.bytes),
                // The statement is all there is: it runs again.
                Ending::One(Reply::Write { .. } | Reply::Nobody) => {
                    self.refuse_ship(Ship { place, ..ship }, Refusal::WrongView, outputs);
                }
            }
        }
    }

    fn reopen(&mut self, place: Place, shipped: u64) {
        self.forget_shipped(shipped);
        if let Some(held) = self.held.get_mut(&place) {
            held.stage = HeldStage::Open;
        }
    }

    /// What was sealed here is held as if another primary had replicated it. (What only locked is open again: its coordinator asks the new primary.)
    pub(in crate::ldm) fn become_backup(&mut self, place: Place, outputs: &mut Outputs<Shared>) {
        let Some(held) = self.held.get_mut(&place) else { return };
        if !held.has_writes(place.1) {
            let epoch = std::mem::replace(&mut held.epoch, Epoch(0));
            (held.stage, held.coordinator, held.participants) = (HeldStage::Open, None, Arc::default());
            return self.count_decided(epoch, outputs);
        }
        let Some(held) = self.held.remove(&place) else { return };
        let mut rows = Vec::with_capacity(held.operations.len());
        for operation in held.operations {
            if !held.is_taken_over {
                self.transaction_memory.release(OPERATION_COST);
            }
            match operation {
                Operation::Staged { table, row, is_first: true, .. } => {
                    if !held.is_marked
                        && let Some(fragment) = self.fragments.get_mut(&(table, place.1))
                    {
                        fragment.prepare(row, place.0);
                    }
                    rows.push((table, row));
                }
                Operation::Staged { is_first: false, .. } => {}
                Operation::Locked(key) => self.locks.release(&key, place.0),
            }
        }
        let applied = Applied {
            rows,
            epoch: held.epoch,
            stream: held.sealed,
            sequence: held.sequence,
            order: held.order,
            coordinator: held.coordinator,
            participants: held.participants,
            marker: held.marker,
        };
        self.applied.insert(place, applied);
        if held.is_confirmed {
            self.pass_on_forget(place, outputs);
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
