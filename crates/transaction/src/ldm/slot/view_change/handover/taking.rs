//! Taking: what comes in pieces is placed, staged, locked and waited for here.

use crate::ldm::slot::backup::Applied;
use crate::ldm::slot::commit::After;
use crate::ldm::slot::lock_wait::Run;
use crate::ldm::slot::read::LockedRead;
use crate::ldm::slot::stage::WriteRun;
use crate::ldm::slot::transaction::{HeldStage, OPERATION_COST, Operation};
use crate::ldm::{Ldm, Place, region_full};
use crate::locks::LockKey;
use crate::mutants::{self, Mutant};
use protocol::program::Refusal;
use protocol::signal::{HandOver, HandedOperation, HandedWait, Replicate, ReplicatedWrite, RequestId};
use protocol::{Address, Outputs, Signal};
use query::Shared;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use stdx::Now;
use storage::RowHandle;
use types::{NodeId, SlotId, TransactionId, ViewNumber};

impl Ldm {
    pub(in crate::ldm) fn on_hand_over(&mut self, from: NodeId, piece: HandOver) {
        if let Some(state) = self.slots.get_mut(&piece.slot) {
            state.takeover.keep_piece(from, piece);
        }
    }

    /// Places that this new primary lacks become prepared here, as if they had come in time.
    pub(in crate::ldm) fn take_places(
        &mut self,
        slot: SlotId,
        places: Vec<(ViewNumber, Replicate)>,
        outputs: &mut Outputs<Shared>,
    ) {
        let places = places.into_iter().filter(|(_, replicate)| replicate.slot == slot);
        for (stream, replicate) in places.filter(|_| !mutants::is(Mutant::HandedPlacesLost)) {
            let place = (replicate.transaction, replicate.slot);
            let is_known = self.applied.contains_key(&place) || self.outcomes.get(&place).is_some();
            let is_consumed = self
                .slot(place.1)
                .is_none_or(|state| state.takeover.has_consumed(stream, replicate.sequence));
            if is_known || is_consumed {
                continue;
            }
            self.adopt(replicate.epoch);
            let mut rows = Vec::new();
            if self.apply(place, &replicate.writes, &mut rows).is_err() {
                // It is lacked, then, and aborts: it was never acknowledged.
                self.undo_applied(place, rows, After::Nothing, outputs);
                continue;
            }
            self.count_undecided(replicate.epoch, outputs);
            let (epoch, sequence) = (replicate.epoch, replicate.sequence);
            let (coordinator, participants) = (replicate.coordinator, replicate.participants);
            let coordinator = coordinator.map(|coordinator| {
                if self.map.is_out(coordinator.node) { Address::NOBODY } else { coordinator }
            });
            let (order, marker) = (self.new_order(), replicate.marker);
            let applied = Applied { rows, epoch, stream, sequence, order, coordinator, participants, marker };
            self.applied.insert(place, applied);
        }
    }

    /// Requests that waited here when this member led before, and that the claimant has no more: it has given them up, or answered, and its word may be
    /// lost with the connection that kept this member from hearing that they are there.
    pub(in crate::ldm) fn lose_own_waits(
        &mut self,
        slot: SlotId,
        pieces: &[(NodeId, HandOver)],
        outputs: &mut Outputs<Shared>,
    ) {
        let waits = pieces.iter().flat_map(|(_, piece)| &piece.waits);
        let handed: BTreeSet<(Address, RequestId)> = waits.map(asked_by).collect();
        let is_lost = |run: &Run| run.slot() == slot && !handed.contains(&(run.from(), run.request()));
        self.lose_handed_waits(is_lost, outputs);
    }

    /// Requests that were on their way here from a member that is gone: they wait nowhere any more. (Their sessions may believe that they wait here: this
    /// member let go of its own when it saw theirs.)
    pub(in crate::ldm) fn lose_unread(&mut self, reborn: &[NodeId], outputs: &mut Outputs<Shared>) {
        for (slot, state) in &mut self.slots {
            let stays =
                |node: NodeId| self.map.view.in_sync(*slot).contains(&node) && !reborn.contains(&node);
            let unread = std::mem::take(&mut state.takeover.unread);
            let lost = unread.into_iter().filter(|(from, _)| !stays(*from));
            for wait in lost.flat_map(|(_, piece)| piece.waits) {
                let (session, request) = asked_by(&wait);
                outputs.send(self.address, session, Signal::WaitMoved { request, to: Address::NOBODY });
            }
        }
    }

    /// Open transactions and waits go on here.
    pub(in crate::ldm) fn take_open(
        &mut self,
        slot: SlotId,
        pieces: Vec<HandOver>,
        outputs: &mut Outputs<Shared>,
    ) {
        let mut void: BTreeSet<TransactionId> = BTreeSet::new();
        let mut waits = Vec::new();
        for piece in pieces {
            for (node, transaction) in piece.void {
                self.void.entry(node).or_default().insert((transaction, slot));
            }
            for handed in piece.transactions {
                let place = (handed.transaction, slot);
                let is_sealed = self.outcomes.get(&place).is_some()
                    || self.applied.contains_key(&place)
                    || self.held.get(&place).is_some_and(|held| held.stage != HeldStage::Open);
                let is_void = is_sealed || void.contains(&place.0) || self.is_lost(handed.session.node);
                if !is_void && let Some(void) = self.void.get_mut(&handed.session.node) {
                    // What was lost here before is not, there.
                    void.remove(&place);
                }
                if is_void || self.stage_handed(place, handed.session, handed.operations).is_err() {
                    // For want of memory, most often. Who asks for more of it, or waits, is refused.
                    if !is_sealed {
                        self.drop_open(place);
                    }
                    void.insert(place.0);
                    self.void.entry(handed.session.node).or_default().insert(place);
                }
            }
            if !mutants::is(Mutant::HandedWaitsForgotten) {
                waits.extend(piece.waits);
            }
        }
        for run in waits.into_iter().map(Run::taken).filter(|run| run.slot() == slot) {
            if run.from().node == self.address.node {
                // The old primary's word may come after it has left the view; between these two nothing is lost.
                let moved = Signal::WaitMoved { request: run.request(), to: self.address };
                outputs.send(self.address, run.from(), moved);
            }
            // (Its rows come from another node.)
            let checked = match &run {
                Run::Write(run) => self.check_rows(&run.request),
                Run::Read(_) => Ok(()),
            };
            match checked {
                Ok(()) => self.resuming.push_back(run),
                Err(refusal) => self.refuse_run(run, refusal, outputs),
            }
        }
        self.tell_sessions(slot, outputs);
    }

    /// Sessions hear of what is open here now, and abort what is over.
    pub(in crate::ldm) fn tell_sessions(&self, slot: SlotId, outputs: &mut Outputs<Shared>) {
        if mutants::is(Mutant::SessionsNotTold) {
            return;
        }
        let open = self.open_of(slot).into_iter();
        let open = open.filter_map(|place| Some((place.0, self.held.get(&place)?.session)));
        let resuming = self.resuming.iter().filter(|run| run.slot() == slot);
        let told: BTreeMap<TransactionId, Address> =
            open.chain(resuming.map(|run| (run.place().0, run.from()))).collect();
        for (transaction, session) in told {
            outputs.send(self.address, session, Signal::TransactionMoved { transaction, slot });
        }
    }

    fn stage_handed(
        &mut self,
        place: Place,
        session: Address,
        operations: Vec<HandedOperation>,
    ) -> Result<(), Refusal> {
        let (transaction, slot) = place;
        for operation in operations {
            self.charge_operation()?;
            let done = match operation {
                HandedOperation::Locked { table, key, mode } => {
                    let key = LockKey { slot, table, key };
                    if !mutants::is(Mutant::HandedLocksForgotten) {
                        self.locks.hold(&key, transaction, mode);
                    }
                    Operation::Locked(key)
                }
                HandedOperation::Staged(write) => match self.stage_write(place, &write) {
                    Ok((row, is_first)) => {
                        let bytes = write.row.as_ref().map_or(0, |row| row.len());
                        self.held_mut(place, session).note_change(write.table, is_first, bytes);
                        let (table, version) = (write.table.id, write.table.version);
                        Operation::Staged { table, version, row, is_first }
                    }
                    Err(refusal) => {
                        self.transaction_memory.release(OPERATION_COST);
                        return Err(refusal);
                    }
                },
            };
            self.held_mut(place, session).operations.push(done);
        }
        Ok(())
    }

    fn stage_write(&mut self, place: Place, write: &ReplicatedWrite) -> Result<(RowHandle, bool), Refusal> {
        let (transaction, slot) = place;
        self.check_row(write.table.id, &write.key, write.row.as_deref())?;
        let key = LockKey { slot, table: write.table.id, key: write.key.clone() };
        let owner = self.implicit_owner(&key);
        if owner.is_some_and(|owner| owner != transaction) {
            // A broken peer's: two transactions on one row.
            return Err(Refusal::NotHeld);
        }
        let fragment = self.fragments.get_mut(&(write.table.id, slot)).ok_or(Refusal::WrongSchema)?;
        let row = fragment.stage(&write.key, transaction, write.row.as_deref());
        Ok((row.map_err(|full| region_full(&full))?, owner.is_none()))
    }

    /// Requests that waited elsewhere, or before this member stepped down, look for their locks again, in their order.
    pub(in crate::ldm) fn resume_waits(&mut self, now: Now, outputs: &mut Outputs<Shared>) {
        if self.resuming.is_empty() {
            return;
        }
        if !self.is_leased(now) {
            return self.await_lease(now);
        }
        let resuming = std::mem::take(&mut self.resuming);
        let is_early = |run: &Run| self.slot(run.slot()).is_some_and(|state| !state.takeover.is_settled());
        let (early, due): (VecDeque<Run>, VecDeque<Run>) = resuming.into_iter().partition(is_early);
        self.resuming = early;
        for run in due {
            match run {
                Run::Write(run) => self.run_write(now, run, outputs),
                Run::Read(run) => self.run_locked_read(now, run, outputs),
            }
        }
    }
}

fn asked_by(wait: &HandedWait) -> (Address, RequestId) {
    match wait {
        HandedWait::Write { from, request, .. } => (*from, request.request),
        HandedWait::Read { from, request, .. } => (*from, request.request),
    }
}

impl Run {
    fn taken(wait: HandedWait) -> Self {
        match wait {
            HandedWait::Write { from, request, results, raised } => {
                Self::Write(WriteRun::taken(from, request, results, raised))
            }
            HandedWait::Read { from, request, next, rows, raised } => {
                Self::Read(LockedRead::taken(from, request, next, rows, raised))
            }
        }
    }
}
