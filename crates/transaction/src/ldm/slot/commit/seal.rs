//! Sealing: a transaction gets its epoch and its place in the stream, and its backups get its rows.
//!
//! Preparing is cut into slices: the coordinator is answered after the last one.
//!
//! Invariant: a transaction is sealed here and nowhere else; a takeover only gives what is sealed another place.

use super::publish::After;
use super::{Ending, Reply};
use crate::ldm::Context;
use crate::ldm::Work;
use crate::ldm::slot::transaction::{Held, HeldStage, Operation};
use crate::ldm::slot::{Slot, Stream};
use crate::mutants::{self, Mutant};
use protocol::program::{Refusal, Results, TableRef};
use protocol::signal::{Decider, Outcome, Participants, Replicate, ReplicatedWrite, Sealed, Writes};
use protocol::{Address, Budget, Signal};
use stdx::smallvec;
use types::{Epoch, NodeId, NodeSet, Sequence, SlotId, TransactionId};

/// A one-primary commit that waits for its backups.
pub(in crate::ldm) struct PendingCommit {
    pub(in crate::ldm) transaction: TransactionId,
    /// Its stamp.
    pub(in crate::ldm) epoch: Epoch,
    pub(in crate::ldm) missing: NodeSet,
    pub(in crate::ldm) reply: Reply,
    /// A backup refused it: the abort is being recorded by these nodes.
    pub(in crate::ldm) refused: Option<Refusal>,
}

impl std::fmt::Debug for PendingCommit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "PendingCommit({} waits for {:?})", self.transaction, self.missing)
    }
}

/// Rows on their way from staged to prepared.
#[derive(Debug)]
pub(in crate::ldm) struct Mark {
    pub(in crate::ldm) transaction: TransactionId,
    /// Into the transaction's operations.
    pub(in crate::ldm) next: usize,
    /// The module that is told when it is done.
    pub(in crate::ldm) then: Option<(Address, Signal)>,
}

/// The pieces that went ahead of a transaction's place.
#[derive(Clone, Copy)]
pub(in crate::ldm) struct Shipped {
    pub(in crate::ldm) pieces: u32,
    /// The first operation that is in none of them.
    pub(in crate::ldm) operations: usize,
}

impl Shipped {
    pub(in crate::ldm) const NOTHING: Self = Self { pieces: 0, operations: 0 };
}

/// The decider of a transaction, and what its replicas keep of it.
struct Terms {
    decider: Decider,
    participants: Participants,
    marker: Option<Results>,
}

/// A transaction as it was sealed, and its place in the stream.
struct Place {
    sealed: Sealed,
    sequence: Option<Sequence>,
}

impl Stream {
    /// The next place.
    pub(in crate::ldm) fn give(&mut self) -> Sequence {
        if mutants::is(Mutant::SequenceReused) && self.given.0 % 7 == 6 {
            return self.given;
        }
        self.given = Sequence(self.given.0 + 1);
        self.given
    }
}

impl Slot {
    /// Takes epoch and sequence, sends what was not shipped ahead, and lets the backups answer.
    pub(super) fn seal(
        &mut self,
        transaction: TransactionId,
        ending: Ending,
        epoch_seen: Epoch,
        shipped: Shipped,
        context: &mut Context<'_>,
    ) {
        match ending {
            Ending::One(reply) => self.seal_one(transaction, reply, epoch_seen, shipped, context),
            Ending::Two { coordinator, participants } => {
                let terms = Terms { decider: Decider::Coordinator(coordinator), participants, marker: None };
                let place = self.take_place(transaction, terms, epoch_seen, shipped, context);
                let Some(Place { sealed, .. }) = place else { return };
                let then = Some((coordinator, self.prepared(transaction, Ok(sealed))));
                self.mark_at_once(Mark { transaction, next: 0, then }, context);
            }
            // It has its epoch, and goes on where the takeover does.
            Ending::Again(_) => self.go_on_again(transaction, shipped.pieces, context),
        }
    }

    fn seal_one(
        &mut self,
        transaction: TransactionId,
        reply: Reply,
        epoch_seen: Epoch,
        shipped: Shipped,
        context: &mut Context<'_>,
    ) {
        let terms = Terms {
            decider: Decider::Primary,
            participants: smallvec![self.id],
            marker: reply.marker(context.address.node),
        };
        let place = self.take_place(transaction, terms, epoch_seen, shipped, context);
        let Some(Place { sealed: Sealed { epoch, .. }, sequence }) = place else { return };
        if mutants::is(Mutant::AckBeforeBackup) {
            let sequence = sequence.map(|sequence| (context.map.view.number, sequence));
            return self.finish(
                transaction,
                Some(epoch),
                After::Answer { reply, sequence, refusal: None },
                context,
            );
        }
        match sequence {
            Some(sequence) => {
                let missing = self.awaited(context);
                let pending = PendingCommit { transaction, epoch, missing, reply, refused: None };
                self.stream.pending.insert(sequence, pending);
            }
            None => {
                if mutants::is(Mutant::SpaceAfterStamp) && !context.redo.has_room() {
                    return;
                }
                let after = After::Answer { reply, sequence: None, refusal: None };
                self.finish(transaction, Some(epoch), after, context);
            }
        }
    }

    /// The backups whose answers a commit waits for.
    fn awaited(&self, context: &Context<'_>) -> NodeSet {
        let mut nodes = self.members.backup_nodes();
        if mutants::is(Mutant::JoiningNotNeeded) {
            for node in context.map.view.joining(self.id) {
                nodes.remove(*node);
            }
        }
        nodes
    }

    /// Stamps a transaction that is held; if it has writes and there are backups, it gets a place, and they get its
    /// rows.
    fn take_place(
        &mut self,
        transaction: TransactionId,
        terms: Terms,
        epoch_seen: Epoch,
        shipped: Shipped,
        context: &mut Context<'_>,
    ) -> Option<Place> {
        let order = self.new_order();
        let held = self.held.get_mut(&transaction);
        stdx::require!(held.is_some(), "{transaction} is sealed, and is not held");
        let held = held?;
        let epoch = context.stamp(epoch_seen);
        let Terms { decider, participants, marker } = terms;
        // A participant that recovery counts must be known to its backups, even if its writes changed nothing.
        let is_counted = decider.coordinator().is_some() && participants.contains(&self.id);
        let has_writes = held.rows > 0 || is_counted;
        let is_replicated = has_writes && !self.members.backups.is_empty();
        let sequence = is_replicated.then(|| self.stream.give());
        held.order = order;
        held.epoch = epoch;
        held.sealed = context.map.view.number;
        held.sequence = sequence.unwrap_or(held.sequence);
        held.decider = decider;
        held.participants.clone_from(&participants);
        held.marker.clone_from(&marker);
        if let Some(sequence) = sequence {
            let writes = writes_of(transaction, held, self.id, shipped.operations, Share::ALL, context).0;
            let (slot, pieces_ahead) = (self.id, Some(shipped.pieces));
            let replicate = Replicate {
                slot,
                sequence,
                transaction,
                epoch,
                decider,
                participants,
                marker,
                pieces_ahead,
                writes,
            };
            self.send_to_backups(Signal::Replicate(Box::new(replicate)), context);
        }
        Some(Place { sealed: Sealed { epoch, has_writes }, sequence })
    }

    /// The transaction's changes from an operation on, up to a number of rows and bytes; also the operation behind
    /// the last.
    pub(in crate::ldm) fn replicated_writes(
        &self,
        transaction: TransactionId,
        from_operation: usize,
        share: Share,
        context: &Context<'_>,
    ) -> (Writes, usize) {
        match self.held.get(&transaction) {
            Some(held) => writes_of(transaction, held, self.id, from_operation, share, context),
            None => (Writes::new(), from_operation),
        }
    }

    // ---- preparing -----------------------------------------------------------------------------------------------

    /// Begins to mark at once.
    pub(in crate::ldm) fn mark_at_once(&mut self, mark: Mark, context: &mut Context<'_>) {
        self.mark_prepared(mark, &mut context.at_once(), context);
    }

    /// Staged becomes prepared: readers here wait for the outcome from now on. When all are, somebody is told.
    pub(in crate::ldm) fn mark_prepared(
        &mut self,
        mut mark: Mark,
        budget: &mut Budget,
        context: &mut Context<'_>,
    ) {
        let transaction = mark.transaction;
        // If its outcome is known in the meantime, nobody waits for it but a hand-over.
        let is_ending = |held: &&mut Held| held.stage == HeldStage::Ending;
        let Some(held) = self.held.get_mut(&transaction).filter(is_ending) else {
            tell_session(mark.then, context);
            return self.after_slices(context);
        };
        while let Some(operation) = held.operations.get(mark.next) {
            if !budget.spend(1) {
                return self.later(Work::Mark(Box::new(mark)), context);
            }
            mark.next += 1;
            let Operation::Staged { table, row, is_first: true, .. } = operation else { continue };
            if mutants::is(Mutant::PreparedStaysStaged) {
                continue;
            }
            if let Some(fragment) = context.fragments.get_mut(&(*table, self.id)) {
                fragment.prepare(*row, transaction);
            }
        }
        held.is_marked = true;
        if self.is_elsewhere() {
            // It stepped down: whoever decides hears from the new primary.
            self.become_backup(transaction, context);
            tell_session(mark.then, context);
            return self.after_slices(context);
        }
        if let Some((to, signal)) = mark.then {
            context.send(to, signal);
        }
        self.report_if_prepared(transaction, context);
    }

    // ---- answers of backups --------------------------------------------------------------------------------------

    pub(in crate::ldm) fn on_applied(
        &mut self,
        node: NodeId,
        sequence: Sequence,
        mut refusal: Option<Refusal>,
        context: &mut Context<'_>,
    ) {
        let Some(pending) = self.stream.pending.get_mut(&sequence) else {
            return self.on_orphan_applied(node, sequence, refusal.is_some(), context);
        };
        if mutants::is(Mutant::RefusalCounted) {
            refusal = None;
        }
        if let Some(refusal) = refusal {
            return self.on_backup_refused(sequence, refusal, context);
        }
        if pending.refused.is_some() {
            return;
        }
        pending.missing.remove(node);
        if mutants::is(Mutant::FirstBackupSuffices) {
            pending.missing = NodeSet::EMPTY;
        }
        if pending.missing.is_empty()
            && let Some(pending) = self.stream.pending.remove(&sequence)
        {
            let sequence = Some((context.map.view.number, sequence));
            let after = After::Answer { reply: pending.reply, sequence, refusal: None };
            self.finish(pending.transaction, Some(pending.epoch), after, context);
        }
    }

    /// A one-primary commit aborts, once all backups have recorded that.
    fn on_backup_refused(&mut self, sequence: Sequence, refusal: Refusal, context: &mut Context<'_>) {
        let Some(pending) = self.stream.pending.get_mut(&sequence) else { return };
        if pending.refused.is_some() {
            // Another one refused before, and some may have recorded the abort since.
            return;
        }
        pending.refused = Some(refusal);
        pending.missing = self.members.backup_nodes();
        let outcome = Outcome { transaction: pending.transaction, slot: self.id, committed: None };
        self.send_to_backups(Signal::Outcome(outcome), context);
    }

    /// A backup has recorded the abort of a one-primary commit that another backup refused.
    pub(in crate::ldm) fn on_abort_recorded(
        &mut self,
        node: NodeId,
        transaction: TransactionId,
        context: &mut Context<'_>,
    ) {
        if self.on_dropped_recorded(node, transaction, context) {
            return;
        }
        let is_it = |pending: &PendingCommit| pending.transaction == transaction && pending.refused.is_some();
        let found = self.stream.pending.iter_mut().find(|(_, pending)| is_it(pending));
        let Some((sequence, pending)) = found else { return };
        pending.missing.remove(node);
        if !pending.missing.is_empty() {
            return;
        }
        let sequence = *sequence;
        let Some(pending) = self.stream.pending.remove(&sequence) else { return };
        let after = After::Answer { reply: pending.reply, sequence: None, refusal: pending.refused };
        let forget = Signal::Forget { slot: self.id, transactions: vec![transaction] };
        self.send_to_backups(forget, context);
        self.finish(transaction, None, after, context);
    }
}

/// The changes of a transaction from an operation on, as [`Slot::replicated_writes`] gives them.
fn writes_of(
    transaction: TransactionId,
    held: &Held,
    slot: SlotId,
    from_operation: usize,
    share: Share,
    context: &Context<'_>,
) -> (Writes, usize) {
    let (mut writes, mut size) = (Writes::new(), 0);
    for (index, operation) in held.operations.iter().enumerate().skip(from_operation) {
        if writes.len() >= share.rows || size >= share.bytes {
            return (writes, index);
        }
        let Operation::Staged { table, version, row, is_first: true } = operation else { continue };
        let Some(fragment) = context.fragments.get(&(*table, slot)) else { continue };
        let Some(staged) = fragment.staged_row(*row, transaction) else { continue };
        let key = fragment.key_of(*row);
        size += key.len() + staged.map_or(0, <[u8]>::len);
        let table = TableRef { id: *table, version: *version };
        writes.push(ReplicatedWrite::new(table, key, staged));
    }
    (writes, held.operations.len())
}

/// How much of a transaction is sent at once.
#[derive(Clone, Copy)]
pub(in crate::ldm) struct Share {
    pub(in crate::ldm) rows: usize,
    pub(in crate::ldm) bytes: usize,
}

impl Share {
    pub(in crate::ldm) const ALL: Self = Self { rows: usize::MAX, bytes: usize::MAX };
}

/// Only this replica tells the session that its commit was abandoned. A coordinator asks the new primary.
fn tell_session(then: Option<(Address, Signal)>, context: &mut Context<'_>) {
    if let Some((to, signal)) = then.filter(|(_, signal)| matches!(signal, Signal::CommitDone(_))) {
        context.send(to, signal);
    }
}
