//! The primary's side of commits: one-primary commits end here, two-phase commits are prepared here.
//!
//! ```text
//! Open --CommitOne / Write{commit}--> Ending --all backups Applied--> Publishing --> gone     (published, then answered)
//!   |                                    +--- a backup refused --> abort recorded by all backups --> undone, then answered (I8)
//!   +--Prepare--> Ending (prepared) --Outcome--> Publishing --> gone                          (marker stays until Forget)
//!   +--CommitOne, only locks--> gone
//! ```
//! `ship` sends the rows of large transactions ahead, `seal` gives a transaction its epoch and its place in the stream,
//! and `publish` carries out its outcome. The coordinator is answered after the last row is prepared, the client of a
//! one-primary commit after the last one is published. So a read that follows the answer sees it.

pub(in crate::ldm) mod publish;
pub(in crate::ldm) mod seal;
pub(in crate::ldm) mod ship;

use super::Slot;
use super::transaction::{Held, HeldStage, Operation};
use crate::ldm::Context;
use crate::mutants::{self, Mutant};
use protocol::program::{Refusal, Results};
use protocol::signal::{
    CommitDone, CommitOneRequest, CommitOutcome, Decider, Participant, Participants, Prepared, RequestId,
    Sealed, Spent, WriteDone, WriteFailure, WriteSummary,
};
use protocol::{Address, ModuleKind, Signal};
use query::Raised;
use seal::Mark;
use types::{Epoch, NodeId, SlotId, TransactionId};

/// The results of the statement that carries its commit, and the warnings it raised.
type StatementDone = (Results, Option<Box<Raised>>);

/// How the end of a one-primary commit is told.
#[derive(Debug)]
pub(in crate::ldm) enum Reply {
    /// To a statement that carried its commit.
    Write {
        to: Address,
        request: RequestId,
        done: StatementDone,
        operations: u32,
        was_handed: bool,
        spent: Spent,
    },
    /// To a COMMIT.
    Commit { to: Address, request: RequestId },
    /// The session asked a primary that is lost; it will ask again.
    Nobody,
}

impl Reply {
    /// The part of the answer that is remembered if a session on another node waits for it. A session that draws
    /// AUTO_INCREMENT values asks nobody: it draws anew.
    fn marker(&self, own: NodeId) -> Option<Results> {
        let is_remote = |to: &Address| to.kind == ModuleKind::Sql && to.node != own;
        match self {
            Self::Write { to, done: (results, _), was_handed, .. } => {
                (is_remote(to) || *was_handed).then(|| results.clone())
            }
            Self::Commit { to, .. } => is_remote(to).then(Results::new),
            Self::Nobody => None,
        }
    }

    /// The answer to the session.
    fn answer(self, outcome: Result<Epoch, Refusal>) -> Option<(Address, Signal)> {
        Some(match self {
            Self::Nobody => return None,
            Self::Commit { to, request } => {
                let outcome = match outcome {
                    Ok(epoch) => CommitOutcome::Committed(epoch),
                    Err(refusal) => CommitOutcome::Aborted(refusal),
                };
                (to, Signal::CommitDone(CommitDone { request, outcome }))
            }
            Self::Write { to, request, done: (results, raised), operations, spent, .. } => {
                let result = match outcome {
                    Ok(epoch) => Ok(WriteSummary { results, operations, committed: Some(epoch), raised }),
                    Err(refusal) => Err(WriteFailure { operation: 0, refusal }),
                };
                (to, Signal::WriteDone(Box::new(WriteDone { request, result, spent })))
            }
        })
    }

    /// The answer to the session when nobody may ever know.
    fn unknown(&self) -> Option<(Address, Signal)> {
        let (Self::Commit { to, request } | Self::Write { to, request, .. }) = self else { return None };
        let done = CommitDone { request: *request, outcome: CommitOutcome::Unknown };
        Some((*to, Signal::CommitDone(done)))
    }

    /// Tells the session.
    pub(in crate::ldm) fn tell(self, outcome: Result<Epoch, Refusal>, context: &mut Context<'_>) {
        if let Some((to, signal)) = self.answer(outcome) {
            context.send(to, signal);
        }
    }
}

/// How a commit goes on once everything is shipped.
#[derive(Debug)]
pub(in crate::ldm) enum Ending {
    One(Reply),
    Two {
        coordinator: Address,
        participants: Participants,
    },
    /// It was sealed in an earlier view: to these members, who lack it.
    Again(Vec<Address>),
}

impl Slot {
    pub(in crate::ldm) fn on_commit_one(
        &mut self,
        from: Address,
        request: &CommitOneRequest,
        context: &mut Context<'_>,
    ) {
        let reply = Reply::Commit { to: from, request: request.request };
        match self.check_held(request.transaction, &request.participant, context) {
            Ok(()) if self.has_few_locks(request.transaction, &reply, context) => {
                self.end_locks(request.transaction, reply, request.epoch_seen, context);
            }
            Ok(()) => self.begin(request.transaction, Ending::One(reply), request.epoch_seen, context),
            Err(refusal) => self.undo_then(request.transaction, reply.answer(Err(refusal)), context),
        }
    }

    /// Whether a transaction has only locks here, which are given back at once, and a session that gets the answer.
    fn has_few_locks(&self, transaction: TransactionId, reply: &Reply, context: &Context<'_>) -> bool {
        let is_marked = || reply.marker(context.address.node).is_some();
        self.held.get(&transaction).is_some_and(|held| {
            let is_charged = !held.is_taken_over && !held.is_confirmed;
            let at_once = context.sizes.at_once as usize;
            held.rows == 0 && is_charged && held.operations.len() <= at_once && !is_marked()
        })
    }

    /// Ends a transaction that has only locks: nothing is replicated or published, and nobody asks for its outcome.
    fn end_locks(
        &mut self,
        transaction: TransactionId,
        reply: Reply,
        epoch_seen: Epoch,
        context: &mut Context<'_>,
    ) {
        let epoch = context.stamp_of_locks(epoch_seen);
        let Some(held) = self.held.remove(&transaction) else { return };
        for operation in held.operations.into_iter().rev() {
            context.release_operation();
            if let Operation::Locked(key) = operation
                && context.locks.release(&key, transaction)
            {
                context.waits.to_serve.push_back(key);
            }
        }
        self.serve_tables(context);
        context.resume_backfills();
        reply.tell(Ok(epoch), context);
        self.after_decided(transaction, Some(epoch), context);
    }

    /// An autocommit statement that carried its commit was staged: this is its only participant.
    pub(in crate::ldm) fn commit_with_write(
        &mut self,
        transaction: TransactionId,
        reply: Reply,
        epoch_seen: Epoch,
        context: &mut Context<'_>,
    ) {
        if self.held.contains_key(&transaction) {
            self.begin(transaction, Ending::One(reply), epoch_seen, context);
        } else {
            // Nothing matched or changed: there is nothing to commit.
            let epoch = context.stamps.current.max(epoch_seen);
            reply.tell(Ok(epoch), context);
        }
    }

    pub(in crate::ldm) fn on_prepare(
        &mut self,
        from: Address,
        transaction: TransactionId,
        participant: Participant,
        epoch_seen: Epoch,
        participants: Participants,
        context: &mut Context<'_>,
    ) {
        if self.is_prepared_for(transaction, from) {
            return self.answer_prepare_again(transaction, from, context);
        }
        match self.check_held(transaction, &participant, context) {
            Ok(()) => {
                let ending = Ending::Two { coordinator: from, participants };
                self.begin(transaction, ending, epoch_seen, context);
            }
            Err(refusal) => {
                self.undo(transaction, context);
                context.send(from, self.prepared(transaction, Err(refusal)));
            }
        }
    }

    /// Whether a transaction is prepared, or about to be, for this coordinator, who asks again.
    fn is_prepared_for(&self, transaction: TransactionId, coordinator: Address) -> bool {
        let decider = Decider::Coordinator(coordinator);
        let is_its = |held: &Held| held.stage == HeldStage::Ending && held.decider == decider;
        let is_held = self.held.get(&transaction).is_some_and(is_its);
        let is_shipped = |ending: &Ending| match ending {
            Ending::Two { coordinator: of, .. } => *of == coordinator,
            Ending::One(_) | Ending::Again(_) => false,
        };
        is_held || self.shipping.get(&transaction).is_some_and(|ship| is_shipped(&ship.ending))
    }

    /// Says so (again) when all its rows are prepared.
    pub(in crate::ldm) fn answer_prepare_again(
        &mut self,
        transaction: TransactionId,
        coordinator: Address,
        context: &mut Context<'_>,
    ) {
        let Some(held) = self.held.get(&transaction).filter(|held| held.epoch > Epoch(0)) else { return };
        let sealed = Sealed { epoch: held.epoch, has_writes: held.has_writes(self.id) };
        let answer = self.prepared(transaction, Ok(sealed));
        self.mark_at_once(Mark { transaction, next: 0, then: Some((coordinator, answer)) }, context);
    }

    /// The answer to a coordinator.
    pub(in crate::ldm) fn prepared(
        &self,
        transaction: TransactionId,
        result: Result<Sealed, Refusal>,
    ) -> Signal {
        prepared(transaction, self.id, result)
    }

    /// Whether this primary holds exactly what the commit names, bound to tables that are still as they were.
    fn check_held(
        &self,
        transaction: TransactionId,
        participant: &Participant,
        context: &Context<'_>,
    ) -> Result<(), Refusal> {
        self.check_primary()?;
        let held = self.held.get(&transaction).ok_or(Refusal::NotHeld)?;
        if held.stage != HeldStage::Open {
            return Err(Refusal::AlreadyEnding);
        }
        if self.is_staged_elsewhere(participant) {
            return Err(Refusal::NotHeld);
        }
        if is_miscounted(held, participant) {
            return Err(Refusal::NotHeld);
        }
        if mutants::is(Mutant::OldBindingCommits) {
            return Ok(());
        }
        held.tables.iter().try_for_each(|(table, _)| context.check_schema(*table, self.id))
    }

    /// Rows that were staged at the primary of an earlier view are void, whatever came later.
    fn is_staged_elsewhere(&self, participant: &Participant) -> bool {
        if mutants::is(Mutant::StagedElsewhereAccepted) {
            return false;
        }
        if mutants::is(Mutant::LocksOnlySurvive) && !participant.has_writes {
            return false;
        }
        participant.view < self.takeover.line.since
    }

    /// Starts the end of a transaction: at once, or by shipping its rows ahead.
    fn begin(
        &mut self,
        transaction: TransactionId,
        ending: Ending,
        epoch_seen: Epoch,
        context: &mut Context<'_>,
    ) {
        let Some(held) = self.held.get_mut(&transaction) else { return };
        held.stage = HeldStage::Ending;
        if held.is_large(context.sizes) && !self.members.backups.is_empty() {
            return self.ship(ship::Ship::new(transaction, ending, epoch_seen), context);
        }
        self.seal(transaction, ending, epoch_seen, seal::Shipped::NOTHING, context);
    }

    // ---- a replica is given up -----------------------------------------------------------------------------------

    /// Commits that wait for a backup that is given up: their outcome is not known any more. The session hears
    /// "unknown"; the rows stay prepared, so that nobody reads around them.
    pub(in crate::ldm) fn abandon_commits(&mut self, context: &mut Context<'_>) {
        let mut abandoned = self.abandon_takeover(context);
        self.refuse_askers_if_given_up(context);
        let is_given_up = |node: NodeId| context.map.given_up.contains(&node);
        let pending = self.stream.pending.take_if(|_, pending| pending.missing.iter().any(is_given_up));
        abandoned.extend(pending.into_iter().map(|(_, pending)| (pending.transaction, pending.reply)));
        self.refuse_ships_if_given_up(context);
        for (transaction, reply) in abandoned {
            if let Some(then) = reply.unknown() {
                self.mark_at_once(Mark { transaction, next: 0, then: Some(then) }, context);
            }
        }
        self.abandon_owed(context);
    }

    /// The primary that decides may never hear of it, and this member neither.
    fn abandon_owed(&mut self, context: &mut Context<'_>) {
        if !self.members.is_replica_given_up {
            return;
        }
        let mut owed: Vec<(TransactionId, Reply)> = self.owed.drain().collect();
        owed.sort_unstable_by_key(|(transaction, _)| *transaction);
        for (to, signal) in owed.iter().filter_map(|(_, reply)| reply.unknown()) {
            context.send(to, signal);
        }
    }
}

/// Whether a transaction has done more here than its session knows, or less.
fn is_miscounted(held: &Held, participant: &Participant) -> bool {
    if mutants::is(Mutant::OperationsUncounted) {
        return false;
    }
    held.operations.len() != participant.operations as usize
}

/// The answer of a slot to a coordinator.
pub(in crate::ldm) fn prepared(
    transaction: TransactionId,
    slot: SlotId,
    result: Result<Sealed, Refusal>,
) -> Signal {
    Signal::Prepared(Box::new(Prepared { transaction, slot, result }))
}
