//! A slot: what has one stream of writes and one primary, and whatever a transaction has there.
//!
//! A slot handles the signals that name it. Its methods see the slot and what it shares with the other slots of its
//! module (`Context`).
//!
//! - `transaction` is what a transaction has at its primary. `stage` takes writes while statements run, `undo` takes
//!   them back, `read` reads, `lock_wait` and `table_locks` let requests wait.
//! - `commit` is the primary's side of both commits, `backup` the other side.
//! - `view_change` carries into the next view what one leaves undecided or open.
//! - `copy` brings rows to members that join.
//! - `markers` and `question` tell sessions what became of their commits; `inspect` answers checkers.
//!
//! Invariants:
//! - I1: a one-primary commit is published and answered only when every in-sync backup has said `Applied`.
//! - Backups apply the numbered stream of a slot in order, each place once; a place refused is consumed too.
//! - A version is *prepared* exactly while its outcome cannot be known here; it is published or undone only by its
//!   coordinator's or its primary's word, never by guess.

pub(super) mod backup;
pub(super) mod commit;
pub(super) mod copy;
pub(super) mod deadlock;
pub(super) mod inspect;
pub(super) mod lock_wait;
pub(super) mod markers;
pub(super) mod question;
pub(super) mod read;
pub(super) mod stage;
pub(super) mod table_locks;
pub(super) mod transaction;
pub(super) mod undo;
pub(super) mod view_change;

use super::Context;
use super::{Job, Work};
use backup::{Ahead, Applied};
use commit::Reply;
use commit::seal::PendingCommit;
use commit::ship::Ship;
use copy::{CopyIn, CopyOut};
use markers::Markers;
use protocol::program::Refusal;
use protocol::signal::Replicate;
use protocol::{Address, Budget, ModuleKind, Signal};
use question::Asker;
use read::PendingRead;
use std::collections::{BTreeMap, BTreeSet};
use stdx::{FixedMap, SortedQueue};
use transaction::Held;
use types::{NodeId, NodeSet, Sequence, SlotId, TransactionId};
use view_change::Takeover;
use view_change::handover::HandOut;

/// A slot that this module has a replica of.
#[derive(Default)]
pub(super) struct Slot {
    pub(super) id: SlotId,
    pub(super) role: Role,
    pub(super) members: Members,
    pub(super) stream: Stream,
    /// Primary: what open and ending transactions have here.
    pub(super) held: FixedMap<TransactionId, Held>,
    /// Backup: what the primary has replicated and nobody has decided.
    pub(super) applied: FixedMap<TransactionId, Applied>,
    /// Backup: pieces of large transactions that went ahead of their place.
    pub(super) ahead: FixedMap<TransactionId, Ahead>,
    /// Primary: large transactions that wait for their backups' acknowledgements.
    pub(super) shipping: FixedMap<TransactionId, Ship>,
    pub(super) outcomes: Markers,
    /// Sessions that wait for an outcome.
    pub(super) askers: FixedMap<TransactionId, Vec<Asker>>,
    /// How the end of commits is told that were sealed here by a primary that stepped down.
    pub(super) owed: FixedMap<TransactionId, Reply>,
    /// Reads that wait for the outcome of a prepared transaction.
    pub(super) outcome_waits: FixedMap<TransactionId, Vec<PendingRead>>,
    /// Transactions of nodes without slots that were open here when their node was lost the last time.
    pub(super) void: BTreeMap<NodeId, BTreeSet<TransactionId>>,
    /// Orders what is undecided as its versions lie above each other.
    next_order: u64,
    pub(super) takeover: Takeover,
    /// It is one of those that `Progress::takeover_count` counts.
    pub(super) is_counted: bool,
    /// This replica is joining.
    pub(super) copy_in: Option<CopyIn>,
}

/// The part of this member in its slot.
#[derive(Debug, Default)]
pub(super) enum Role {
    Primary,
    #[default]
    Backup,
    /// It was primary, and keeps what is open until it hears that it may let go.
    SteppingDown(HandOut),
    /// It is primary again, before anybody has taken what is open.
    Returning(HandOut),
}

impl Role {
    #[inline]
    fn is_primary(&self) -> bool {
        matches!(self, Self::Primary | Self::Returning(_))
    }

    /// In a newer view this member leads, or does not. A primary that leads no more keeps what is open.
    pub(super) fn lead(&mut self, is_primary: bool) {
        *self = match (std::mem::take(self), is_primary) {
            (Self::SteppingDown(hand_out) | Self::Returning(hand_out), true) => Self::Returning(hand_out),
            (Self::SteppingDown(hand_out) | Self::Returning(hand_out), false) => Self::SteppingDown(hand_out),
            (Self::Primary, false) => Self::SteppingDown(HandOut::default()),
            (Self::Primary | Self::Backup, true) => Self::Primary,
            (Self::Backup, false) => Self::Backup,
        };
    }

    /// Nothing is kept for another primary any more.
    pub(super) fn let_go(&mut self) -> Option<HandOut> {
        let is_primary = self.is_primary();
        let rest = if is_primary { Self::Primary } else { Self::Backup };
        match std::mem::replace(self, rest) {
            Self::SteppingDown(hand_out) | Self::Returning(hand_out) => Some(hand_out),
            Self::Primary | Self::Backup => None,
        }
    }

    /// The open transactions that it keeps for another primary.
    pub(super) fn hand_out(&self) -> Option<&HandOut> {
        match self {
            Self::SteppingDown(hand_out) | Self::Returning(hand_out) => Some(hand_out),
            Self::Primary | Self::Backup => None,
        }
    }

    /// The same, to be changed.
    pub(super) fn hand_out_mut(&mut self) -> Option<&mut HandOut> {
        match self {
            Self::SteppingDown(hand_out) | Self::Returning(hand_out) => Some(hand_out),
            Self::Primary | Self::Backup => None,
        }
    }
}

/// The other replicas of a slot.
#[derive(Debug, Default)]
pub(super) struct Members {
    /// The ldms that get every write: those in sync and those joining.
    pub(super) backups: Vec<Address>,
    /// A replica is given up: no view without it is awaited.
    pub(super) is_replica_given_up: bool,
    /// Primary: the members that it is copied to.
    pub(super) copies: BTreeMap<NodeId, CopyOut>,
}

impl Members {
    /// The nodes that get every write.
    pub(super) fn backup_nodes(&self) -> NodeSet {
        self.backups.iter().map(|backup| backup.node).collect()
    }
}

/// The numbered writes of a slot in the installed view.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// Primary: the last place given out.
    pub(super) given: Sequence,
    /// Primary: one-primary commits that wait for backups.
    pub(super) pending: SortedQueue<Sequence, PendingCommit>,
    /// Backup: the last place consumed.
    pub(super) consumed: Sequence,
    /// Backup: places that came too early.
    pub(super) early: BTreeMap<Sequence, (Address, Replicate)>,
    /// Backup: one-primary transactions by place.
    pub(super) undecided: SortedQueue<Sequence, TransactionId>,
}

/// The slots of a module, found by their number.
#[derive(Default)]
pub(super) struct Slots {
    /// In the order of their numbers.
    slots: Vec<Slot>,
    /// The position of each slot of the cluster, or none of them.
    positions: Vec<u32>,
}

/// The position of a slot that is not here.
const ABSENT: u32 = u32::MAX;

impl Slots {
    /// These slots, which come in the order of their numbers.
    pub(super) fn new(slots: Vec<Slot>) -> Self {
        let count = slots.last().map_or(0, |slot| slot.id.0 as usize + 1);
        let mut positions = vec![ABSENT; count];
        for (position, slot) in (0..).zip(&slots) {
            positions[slot.id.0 as usize] = position;
        }
        Self { slots, positions }
    }

    #[inline]
    fn position(&self, slot: SlotId) -> usize {
        self.positions.get(slot.0 as usize).copied().unwrap_or(ABSENT) as usize
    }

    #[inline]
    pub(super) fn get(&self, slot: SlotId) -> Option<&Slot> {
        self.slots.get(self.position(slot))
    }

    #[inline]
    pub(super) fn get_mut(&mut self, slot: SlotId) -> Option<&mut Slot> {
        let position = self.position(slot);
        self.slots.get_mut(position)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Slot> {
        self.slots.iter_mut()
    }

    pub(super) fn into_slots(self) -> Vec<Slot> {
        self.slots
    }
}

impl Slot {
    /// A slot that knows nothing yet.
    pub(super) fn new(id: SlotId) -> Self {
        Self { id, ..Self::default() }
    }

    /// Handles a signal that names this slot.
    pub(super) fn on_signal(
        &mut self,
        from: Address,
        signal: Signal,
        budget: &mut Budget,
        context: &mut Context<'_>,
    ) {
        if context.progress.takeover_count > 0 && self.is_held_back(&signal) {
            return self.hold_back(from, signal);
        }
        match signal {
            // The wrapper refuses these, or the module handles them.
            protocol::not_for!(ldm, slots) => {}
            Signal::Read(request) => self.on_read(from, request, budget, context),
            Signal::Write(request) => self.on_write(from, request, context),
            Signal::RollbackTo { .. }
            | Signal::OutcomeAsk { .. }
            | Signal::Abort { .. }
            | Signal::CommitOne(_)
                if self.is_elsewhere() =>
            {
                self.send_back(from, signal, context);
            }
            Signal::RollbackTo { request, transaction, operations, .. } => {
                self.on_rollback_to(from, request, transaction, operations, context);
            }
            Signal::Abort { transaction, .. } => self.on_abort(transaction, context),
            Signal::CommitOne(request) => self.on_commit_one(from, &request, context),
            Signal::OutcomeAsk { request, transaction, is_write, .. } => {
                self.on_outcome_ask(transaction, Asker { from, request, is_write }, context);
            }
            Signal::Prepare { transaction, participant, epoch_seen, participants } => {
                self.on_prepare(from, transaction, participant, epoch_seen, participants, context);
            }
            Signal::Outcome(outcome) => self.on_outcome(from, outcome, context),
            Signal::ReplicateAhead(piece) => self.on_replicate_ahead(from, *piece, context),
            Signal::AheadApplied { transaction, .. } => self.on_ahead_applied(transaction, context),
            Signal::DropAhead { transaction, .. } => self.drop_ahead(transaction, context),
            Signal::Replicate(replicate) => self.on_replicate(from, *replicate, context),
            Signal::Applied { sequence, refusal, .. } => {
                self.on_applied(from.node, sequence, refusal, context);
            }
            Signal::OutcomeRecorded { transaction, .. } => {
                self.on_abort_recorded(from.node, transaction, context);
            }
            Signal::Decided { sequence, .. } => self.on_decided(sequence, context),
            Signal::Forget { .. } if from.kind != ModuleKind::Ldm && self.is_elsewhere() => {
                self.send_back(from, signal, context);
            }
            Signal::Forget { transactions, .. } => self.on_forget(transactions, context),
            Signal::HandOver(piece) => self.takeover.keep_piece(from.node, *piece),
            Signal::Taken { .. } if context.map.primary(self.id) != Some(from) => {}
            Signal::Taken { .. } => self.on_taken(context),
            Signal::Gather(report) => self.on_gather(from.node, *report, context),
            Signal::RecoveryAsk { transaction, participants, .. } => {
                self.on_recovery_ask(from, transaction, participants, context);
            }
            Signal::CopyPiece(piece) => self.on_copy_piece(from, *piece, context),
            Signal::CopyApplied { differing, .. } => self.on_copy_applied(from.node, differing, context),
        }
    }

    /// Goes on with a job.
    pub(super) fn go_on(&mut self, work: Work, budget: &mut Budget, context: &mut Context<'_>) {
        match work {
            Work::Read(read) => self.step_read(*read, budget, context),
            Work::Publish(publish) => self.publish(*publish, budget, context),
            Work::Mark(mark) => self.mark_prepared(*mark, budget, context),
            Work::Undo(undo) => self.step_undo(*undo, budget, context),
            Work::Sweep(sweep) => self.sweep(sweep, budget, context),
        }
    }

    /// Goes on with a job after everything that waits in the module's queue.
    pub(super) fn later(&self, work: Work, context: &mut Context<'_>) {
        context.later(Job::Slot(self.id, work));
    }

    /// Whether this member is its primary.
    #[inline]
    pub(super) fn is_primary(&self) -> bool {
        self.role.is_primary()
    }

    /// Whether another member is its primary.
    #[inline]
    pub(super) fn is_elsewhere(&self) -> bool {
        !self.is_primary()
    }

    /// Whether this member may take writes and locks.
    pub(super) fn check_primary(&self) -> Result<(), Refusal> {
        match (self.is_primary(), self.members.is_replica_given_up) {
            (true, true) => Err(Refusal::ReplicaLost),
            (true, false) => Ok(()),
            (false, _) => Err(Refusal::WrongView),
        }
    }

    /// The transaction at this primary, made when it does its first operation.
    pub(super) fn held_mut(&mut self, transaction: TransactionId, session: Address) -> &mut Held {
        self.held.entry(transaction).or_insert_with(|| Held::new(Some(session)))
    }

    pub(super) fn operation_count(&self, transaction: TransactionId) -> u32 {
        let held = self.held.get(&transaction);
        held.map_or(0, |held| u32::try_from(held.operations.len()).unwrap_or(u32::MAX))
    }

    /// A number above all that were given.
    pub(super) fn new_order(&mut self) -> u64 {
        self.next_order += 1;
        self.next_order
    }

    /// Sends to all other replicas.
    pub(super) fn send_to_backups(&self, signal: Signal, context: &mut Context<'_>) {
        context.send_to_all(&self.members.backups, signal);
    }

    /// Markers go. The primary passes the word on behind everything it has replicated, so that no late place of an
    /// aborted transaction finds its marker gone. While a transaction is not decided here the primary only remembers: a
    /// backup's refusal is a marker, too.
    pub(super) fn on_forget(&mut self, mut transactions: Vec<TransactionId>, context: &mut Context<'_>) {
        transactions.retain(|transaction| match self.held.get_mut(transaction) {
            Some(held) => {
                held.is_confirmed = true;
                false
            }
            None => {
                self.outcomes.remove(*transaction);
                true
            }
        });
        if self.is_primary() && !transactions.is_empty() {
            self.send_to_backups(Signal::Forget { slot: self.id, transactions }, context);
        }
    }

    /// Nothing is held, waited for or undecided.
    pub(super) fn is_idle(&self) -> bool {
        self.held.is_empty()
            && self.applied.is_empty()
            && self.ahead.is_empty()
            && self.shipping.is_empty()
            && self.outcome_waits.is_empty()
            && self.askers.is_empty()
            && self.owed.is_empty()
            && self.role.hand_out().is_none()
    }
}

#[cfg(test)]
mod tests;
