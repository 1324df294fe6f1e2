//! Taking: what comes in pieces is placed, staged, locked and waited for here.

use crate::ldm::slot::Slot;
use crate::ldm::slot::backup::Applied;
use crate::ldm::slot::commit::publish::After;
use crate::ldm::slot::lock_wait::{Run, implicit_owner};
use crate::ldm::slot::read::LockedRead;
use crate::ldm::slot::stage::WriteRun;
use crate::ldm::slot::transaction::{HeldStage, Operation, Rows};
use crate::ldm::{Context, region_full};
use crate::locks::LockKey;
use crate::mutants::{self, Mutant};
use protocol::program::{LockMode, Refusal};
use protocol::signal::{
    Decider, HandOver, HandedOperation, HandedTransaction, HandedWait, Replicate, ReplicatedWrite, RequestId,
};
use protocol::{Address, Signal};
use std::collections::{BTreeMap, BTreeSet};
use storage::RowHandle;
use types::{NodeId, TransactionId, ViewNumber};

impl Slot {
    /// Places that this new primary lacks become prepared here, as if they had come in time.
    pub(in crate::ldm) fn take_places(
        &mut self,
        places: Vec<(ViewNumber, Replicate)>,
        context: &mut Context<'_>,
    ) {
        if mutants::is(Mutant::HandedPlacesLost) {
            return;
        }
        let id = self.id;
        for (stream, replicate) in places.into_iter().filter(|(_, replicate)| replicate.slot == id) {
            let transaction = replicate.transaction;
            let is_known =
                self.applied.contains_key(&transaction) || self.outcomes.get(transaction).is_some();
            if is_known || self.takeover.streams.has_consumed(stream, replicate.sequence) {
                continue;
            }
            context.stamps.adopt(replicate.epoch);
            let mut rows = Rows::new();
            if self.apply(transaction, &replicate.writes, &mut rows, context).is_err() {
                // It is lacked, then, and aborts: it was never acknowledged.
                self.undo_applied(transaction, rows, After::Nothing, context);
                continue;
            }
            context.count_undecided(replicate.epoch);
            let (epoch, sequence) = (replicate.epoch, replicate.sequence);
            let (participants, marker) = (replicate.participants, replicate.marker);
            let coordinator = replicate.decider.coordinator();
            let is_gone = coordinator.is_some_and(|coordinator| context.map.is_out(coordinator.node));
            let decider = if is_gone { Decider::Recoverer } else { replicate.decider };
            let order = self.new_order();
            let applied = Applied { rows, epoch, stream, sequence, order, decider, participants, marker };
            self.applied.insert(transaction, applied);
        }
    }

    /// Requests that waited here when this member led before, and that the claimant has no more. It has refused or
    /// answered them. Its word may have gone with the connection that kept this member from hearing that they are
    /// there.
    pub(in crate::ldm) fn void_own_waits(
        &mut self,
        pieces: &[(NodeId, HandOver)],
        context: &mut Context<'_>,
    ) {
        let waits = pieces.iter().flat_map(|(_, piece)| &piece.waits);
        let handed: BTreeSet<(Address, RequestId)> = waits.map(asked_by).collect();
        self.void_handed_waits(|run| !handed.contains(&(run.from(), run.request())), context);
    }

    /// Requests that were on their way here from a member that is gone: they wait nowhere any more. Their sessions may
    /// believe that they wait here: this member let go of its own when it saw theirs.
    pub(in crate::ldm) fn void_unread(&mut self, reborn: &[NodeId], context: &mut Context<'_>) {
        let members = context.map.view.in_sync(self.id);
        let stays = |node: NodeId| members.contains(&node) && !reborn.contains(&node);
        let unread = std::mem::take(&mut self.takeover.unread);
        let void = unread.into_iter().filter(|(from, _)| !stays(*from));
        for wait in void.flat_map(|(_, piece)| piece.waits) {
            let (session, request) = asked_by(&wait);
            context.send(session, Signal::WaitMoved { request, to: None });
        }
    }

    /// Open transactions and waits go on here.
    pub(in crate::ldm) fn take_open(&mut self, pieces: Vec<HandOver>, context: &mut Context<'_>) {
        let mut void: BTreeSet<TransactionId> = BTreeSet::new();
        let mut waits = Vec::new();
        for piece in pieces {
            for (node, transaction) in piece.void {
                self.void.entry(node).or_default().insert(transaction);
            }
            for handed in piece.transactions {
                self.take_transaction(handed, &mut void, context);
            }
            waits.extend(piece.waits);
        }
        if mutants::is(Mutant::HandedWaitsForgotten) {
            waits.clear();
        }
        let id = self.id;
        for run in waits.into_iter().map(Run::taken).filter(|run| run.slot() == id) {
            self.take_wait(run, context);
        }
        self.tell_sessions(context);
    }

    /// An open transaction, or a part of it, goes on here; if it cannot, it is one of the `void` ones.
    fn take_transaction(
        &mut self,
        handed: HandedTransaction,
        void: &mut BTreeSet<TransactionId>,
        context: &mut Context<'_>,
    ) {
        let HandedTransaction { transaction, session, operations } = handed;
        let is_sealed = self.outcomes.get(transaction).is_some()
            || self.applied.contains_key(&transaction)
            || self.held.get(&transaction).is_some_and(|held| held.stage != HeldStage::Open);
        let is_void = is_sealed || void.contains(&transaction) || context.is_out(session.node);
        if !is_void && let Some(known) = self.void.get_mut(&session.node) {
            // It was void here before, but not there.
            known.remove(&transaction);
        }
        if is_void || self.stage_handed(transaction, session, operations, context).is_err() {
            // For want of memory, most often. A session that asks for more of it, or waits, is refused.
            if !is_sealed {
                self.drop_open(transaction, context);
            }
            void.insert(transaction);
            self.void.entry(session.node).or_default().insert(transaction);
        }
    }

    /// A request that waited elsewhere goes on here.
    fn take_wait(&mut self, run: Run, context: &mut Context<'_>) {
        if run.from().node == context.address.node {
            // The old primary's word may come after it has left the view; between these two no request is void.
            let moved = Signal::WaitMoved { request: run.request(), to: Some(context.address) };
            context.send(run.from(), moved);
        }
        // Its rows come from another node.
        let checked = match &run {
            Run::Write(run) => context.check_rows(&run.request),
            Run::Read(_) => Ok(()),
        };
        match checked {
            Ok(()) => context.postponed.resuming.push_back(run),
            Err(refusal) => self.refuse_run(run, refusal, context),
        }
    }

    /// Sessions hear of what is open here now, and abort what is over.
    pub(super) fn tell_sessions(&self, context: &mut Context<'_>) {
        if mutants::is(Mutant::SessionsNotTold) {
            return;
        }
        let open = self.open().into_iter();
        let open = open.filter_map(|transaction| Some((transaction, self.held.get(&transaction)?.session?)));
        let resuming = context.postponed.resuming.iter().filter(|run| run.slot() == self.id);
        let told: BTreeMap<TransactionId, Address> =
            open.chain(resuming.map(|run| (run.transaction(), run.from()))).collect();
        for (transaction, session) in told {
            context.send(session, Signal::TransactionMoved { transaction, slot: self.id });
        }
    }

    fn stage_handed(
        &mut self,
        transaction: TransactionId,
        session: Address,
        operations: Vec<HandedOperation>,
        context: &mut Context<'_>,
    ) -> Result<(), Refusal> {
        for operation in operations {
            context.charge_operation()?;
            let done = match operation {
                HandedOperation::Locked { table, key, mode } => {
                    let key = LockKey { slot: self.id, table, key };
                    hold_handed(&key, transaction, mode, context);
                    Operation::Locked(key)
                }
                HandedOperation::Staged(write) => match self.stage_write(transaction, &write, context) {
                    Ok((row, is_first)) => {
                        let bytes = write.row().map_or(0, <[u8]>::len);
                        self.held_mut(transaction, session).note_change(write.table, is_first, bytes);
                        let (table, version) = (write.table.id, write.table.version);
                        Operation::Staged { table, version, row, is_first }
                    }
                    Err(refusal) => {
                        context.release_operation();
                        return Err(refusal);
                    }
                },
            };
            self.held_mut(transaction, session).operations.push(done);
        }
        Ok(())
    }

    fn stage_write(
        &self,
        transaction: TransactionId,
        write: &ReplicatedWrite,
        context: &mut Context<'_>,
    ) -> Result<(RowHandle, bool), Refusal> {
        let table = write.table.id;
        context.check_row(table, write.key(), write.row())?;
        let key = LockKey { slot: self.id, table, key: write.key().into() };
        let owner = implicit_owner(context.fragments, &key);
        if owner.is_some_and(|owner| owner != transaction) {
            // A broken peer's: two transactions on one row.
            return Err(Refusal::NotHeld);
        }
        let fragment = context.fragments.get_mut(&(table, self.id)).ok_or(Refusal::WrongSchema)?;
        let row = fragment.stage(write.key(), transaction, write.row());
        Ok((row.map_err(|full| region_full(&full))?, owner.is_none()))
    }
}

/// A lock that came with its transaction.
fn hold_handed(key: &LockKey, transaction: TransactionId, mode: LockMode, context: &mut Context<'_>) {
    if mutants::is(Mutant::HandedLocksForgotten) {
        return;
    }
    context.locks.hold(key, transaction, mode);
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
