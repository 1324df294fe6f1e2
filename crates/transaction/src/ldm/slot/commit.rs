//! The primary's side of commits: one-primary commits end here, two-phase commits are prepared here.
//!
//! ```text
//! Open --CommitOne / Write{commit}--> Ending --all backups Applied--> Publishing --> gone     (published, then answered)
//!   |                                    +--- a backup refused --> abort recorded by all backups --> undone, then answered (I8)
//!   +--Prepare--> Ending (prepared) --Outcome--> Publishing --> gone                          (marker stays until Forget)
//! ```
//! Large transactions ship their rows ahead, in pieces that wait for each other's acknowledgement; only the last, small piece takes an epoch and
//! a sequence. Preparing and publishing are cut into slices too; the coordinator is answered after the last slice of the one, the client of a
//! one-primary commit after the last of the other, so that a read that follows the answer sees it.

use crate::ldm::slot::markers::Marker;
use crate::ldm::slot::transaction::{Held, HeldStage, OPERATION_COST, Operation};
use crate::ldm::{Job, Ldm, Place};
use crate::locks::LockKey;
use crate::mutants::{self, Mutant};
use protocol::program::{OperationResult, Refusal, TableRef};
use protocol::signal::{
    CommitDone, CommitOneRequest, CommitOutcome, Outcome, Participant, Prepared, Replicate, ReplicateAhead,
    ReplicatedWrite, RequestId, WriteDone, WriteFailure, WriteSummary,
};
use protocol::{Address, Budget, ModuleKind, Outputs, Signal};
use query::Raised;
use query::Shared;
use std::collections::VecDeque;
use std::sync::Arc;
use storage::RowHandle;
#[cfg(debug_assertions)]
use storage::{Fragment, VersionState};
use types::{Epoch, NodeId, Sequence, SlotId, TableId, TransactionId, ViewNumber};

/// Bytes above which a transaction is shipped ahead of its prepare, as it is above so many rows (`Sizes`).
pub(in crate::ldm) const AHEAD_BYTES: u64 = 1 << 20;
/// Rows in a piece: as many as a backup applies in a slice.
const PIECE_ROWS: usize = 100;
/// Bytes after which a piece ends.
const PIECE_BYTES: usize = 128 * 1024;
/// Pieces on their way to a backup at a time.
const PIECES_IN_FLIGHT: u32 = 8;
/// Bytes of all pieces of all transactions that are on their way to backups at a time; one piece more than that is sent if it is larger.
const SHIPPED_BYTES_MAX: u64 = 16 << 20;

/// What the statement that carries its commit did, and the warnings it raised.
type StatementDone = (Vec<OperationResult>, Option<Box<Raised>>);

/// How the end of a one-primary commit is told.
#[derive(Debug)]
pub(in crate::ldm) enum Reply {
    /// To a statement that carried its commit.
    Write { to: Address, request: RequestId, done: StatementDone, operations: u32, was_handed: bool },
    /// To a COMMIT.
    Commit { to: Address, request: RequestId },
    /// The session asked a primary that is lost; it will ask again.
    Nobody,
}

impl Reply {
    /// What must be remembered of the answer if a session on another node waits for it. (Who draws AUTO_INCREMENT values asks nobody: it draws anew.)
    fn marker(&self, own: NodeId) -> Option<Vec<OperationResult>> {
        let is_remote = |to: &Address| to.kind == ModuleKind::Sql && to.node != own;
        match self {
            Self::Write { to, done: (results, _), was_handed, .. } => {
                (is_remote(to) || *was_handed).then(|| results.clone())
            }
            Self::Commit { to, .. } => is_remote(to).then(Vec::new),
            Self::Nobody => None,
        }
    }
}

/// A one-primary commit that waits for its backups.
pub(in crate::ldm) struct PendingCommit {
    pub(in crate::ldm) transaction: TransactionId,
    pub(in crate::ldm) missing: Vec<NodeId>,
    pub(in crate::ldm) reply: Reply,
    /// A backup refused it: the abort is being recorded by these nodes.
    pub(in crate::ldm) refused: Option<Refusal>,
}

impl std::fmt::Debug for PendingCommit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "PendingCommit({} waits for {:?})", self.transaction, self.missing)
    }
}

/// How a commit goes on once everything is shipped.
#[derive(Debug)]
pub(in crate::ldm) enum Ending {
    One(Reply),
    Two {
        coordinator: Address,
        participants: Arc<Vec<SlotId>>,
    },
    /// It was sealed in an earlier view: to these members, who lack it.
    Again(Vec<Address>),
}

/// A large transaction on its way to the backups.
#[derive(Debug)]
pub(in crate::ldm) struct Ship {
    pub(in crate::ldm) place: Place,
    pub(in crate::ldm) ending: Ending,
    pub(in crate::ldm) epoch_seen: Epoch,
    /// Into the transaction's operations.
    pub(in crate::ldm) next: usize,
    pub(in crate::ldm) pieces: u32,
    /// Acknowledgements missing for pieces sent.
    pub(in crate::ldm) unacknowledged: u32,
    /// Bytes of the pieces since none was on its way.
    pub(in crate::ldm) bytes: u64,
}

/// What all large transactions of an ldm have on their way to backups.
#[derive(Debug, Default)]
pub(in crate::ldm) struct ShipWindow {
    bytes: u64,
    /// Transactions that wait until there is room, none of them with a piece on its way.
    waiting: VecDeque<Place>,
}

/// Rows on their way from staged to prepared.
#[derive(Debug)]
pub(in crate::ldm) struct Mark {
    pub(in crate::ldm) place: Place,
    /// Into the transaction's operations.
    pub(in crate::ldm) next: usize,
    /// Who is told when it is done.
    pub(in crate::ldm) then: Option<(Address, Signal)>,
}

/// What is left to be carried out; worked off from the end.
#[derive(Debug)]
pub(in crate::ldm) enum Rest {
    /// Of a transaction held here.
    Operations(Vec<Operation>),
    /// Of one that its primary has replicated here.
    Rows(Vec<(TableId, RowHandle)>),
}

impl Rest {
    fn len(&self) -> usize {
        match self {
            Self::Operations(operations) => operations.len(),
            Self::Rows(rows) => rows.len(),
        }
    }
}

/// Rows whose outcome is known and is being carried out.
#[derive(Debug)]
pub(in crate::ldm) struct Publish {
    pub(in crate::ldm) place: Place,
    pub(in crate::ldm) rest: Rest,
    pub(in crate::ldm) outcome: Option<Epoch>,
    /// The epoch it was counted in.
    pub(in crate::ldm) stamp: Option<Epoch>,
    pub(in crate::ldm) then: After,
}

/// What follows a publication.
#[derive(Debug)]
pub(in crate::ldm) enum After {
    /// Tell the client, and the backups: they know it by its place in this view's stream.
    Answer { reply: Reply, sequence: Option<(ViewNumber, Sequence)>, refusal: Option<Refusal> },
    /// Tell the coordinator.
    Record(Address),
    /// A backup's part of a one-primary commit, or of what it refused.
    Nothing,
    /// A backup has undone what was shipped ahead: take what was shipped again.
    TakeHeldBack,
}

impl Ldm {
    pub(in crate::ldm) fn on_commit_one(
        &mut self,
        from: Address,
        request: &CommitOneRequest,
        outputs: &mut Outputs<Shared>,
    ) {
        let place = (request.transaction, request.participant.slot);
        if self.is_elsewhere(place.1) {
            return self.send_back(from, Signal::CommitOne(Box::new(request.clone())), outputs);
        }
        let reply = Reply::Commit { to: from, request: request.request };
        match self.check_held(place, &request.participant) {
            Ok(()) => self.begin(place, Ending::One(reply), request.epoch_seen, outputs),
            Err(refusal) => {
                self.undo_then(place, answer_of(reply, Err(refusal)), outputs);
            }
        }
    }

    /// An autocommit statement that carried its commit was staged: this is its only participant.
    pub(in crate::ldm) fn commit_with_write(
        &mut self,
        place: Place,
        reply: Reply,
        epoch_seen: Epoch,
        outputs: &mut Outputs<Shared>,
    ) {
        if self.held.contains_key(&place) {
            self.begin(place, Ending::One(reply), epoch_seen, outputs);
        } else {
            // Nothing matched or changed: there is nothing to commit.
            let epoch = self.epoch.max(epoch_seen);
            self.answer(reply, Ok(epoch), outputs);
        }
    }

    pub(in crate::ldm) fn answer(
        &self,
        reply: Reply,
        outcome: Result<Epoch, Refusal>,
        outputs: &mut Outputs<Shared>,
    ) {
        if let Some((to, signal)) = answer_of(reply, outcome) {
            outputs.send(self.address, to, signal);
        }
    }

    pub(in crate::ldm) fn on_prepare(
        &mut self,
        from: Address,
        transaction: TransactionId,
        participant: Participant,
        epoch_seen: Epoch,
        participants: Arc<Vec<SlotId>>,
        outputs: &mut Outputs<Shared>,
    ) {
        let place = (transaction, participant.slot);
        if self.is_prepared_for(place, from) {
            return self.answer_prepare_again(place, from, outputs);
        }
        match self.check_held(place, &participant) {
            Ok(()) => self.begin(place, Ending::Two { coordinator: from, participants }, epoch_seen, outputs),
            Err(refusal) => {
                self.undo(place, outputs);
                self.send_prepared(from, place, Epoch(0), true, Some(refusal), outputs);
            }
        }
    }

    /// Whether this primary holds exactly what the commit names, bound to tables that are still as they were.
    fn check_held(&self, place: Place, participant: &Participant) -> Result<(), Refusal> {
        self.check_primary(place.1)?;
        let held = self.held.get(&place).ok_or(Refusal::NotHeld)?;
        if held.stage != HeldStage::Open {
            return Err(Refusal::AlreadyEnding);
        }
        let operations = u32::try_from(held.operations.len()).unwrap_or(u32::MAX);
        // What was staged at the primary of an earlier view is lost, whatever came later.
        let since = self.slot(place.1).map_or(ViewNumber(0), |state| state.takeover.since);
        let is_lost = participant.view < since
            && !mutants::is(Mutant::StagedElsewhereAccepted)
            && (participant.has_writes || !mutants::is(Mutant::LocksOnlySurvive));
        let is_other = operations != participant.operations && !mutants::is(Mutant::OperationsUncounted);
        if is_other || is_lost {
            return Err(Refusal::NotHeld);
        }
        for (table, _) in held.tables.iter().filter(|_| !mutants::is(Mutant::OldBindingCommits)) {
            self.check_schema(*table, place.1)?;
        }
        Ok(())
    }

    /// Starts the end of a transaction: at once, or by shipping its rows ahead.
    fn begin(&mut self, place: Place, ending: Ending, epoch_seen: Epoch, outputs: &mut Outputs<Shared>) {
        let Some(held) = self.held.get_mut(&place) else { return };
        held.stage = HeldStage::Ending;
        let is_large = held.rows > self.sizes.ahead_rows || held.bytes > AHEAD_BYTES;
        let has_backups = self.slot(place.1).is_some_and(|state| !state.backups.is_empty());
        if is_large && has_backups {
            let ship = Ship { place, ending, epoch_seen, next: 0, pieces: 0, unacknowledged: 0, bytes: 0 };
            return self.ship(ship, outputs);
        }
        self.seal(place, ending, epoch_seen, 0, 0, outputs);
    }

    /// Takes epoch and sequence, sends what was not shipped ahead, and lets the backups answer.
    fn seal(
        &mut self,
        place: Place,
        ending: Ending,
        epoch_seen: Epoch,
        pieces_ahead: u32,
        from_operation: usize,
        outputs: &mut Outputs<Shared>,
    ) {
        let (transaction, slot) = place;
        // A participant that recovery counts must be known to its backups, even if its writes changed nothing.
        let has_writes = self.held.get(&place).is_some_and(|held| held.rows > 0)
            || matches!(&ending, Ending::Two { participants, .. } if participants.contains(&slot));
        let marker = match &ending {
            Ending::One(reply) => reply.marker(self.address.node),
            Ending::Two { .. } => None,
            // It has its epoch, and goes on where the takeover does.
            Ending::Again(_) => return self.go_on_again(place, pieces_ahead, outputs),
        };
        let (coordinator, participants) = match &ending {
            Ending::Two { coordinator, participants } => (Some(*coordinator), Arc::clone(participants)),
            Ending::One(_) | Ending::Again(_) => {
                let Some(state) = self.slot(slot) else { return };
                (None, Arc::clone(&state.alone))
            }
        };
        let epoch = self.stamp(epoch_seen, outputs);
        let (view, order) = (self.map.view.number, self.new_order());
        if let Some(held) = self.held.get_mut(&place) {
            held.order = order;
            held.epoch = epoch;
            held.sealed = view;
            held.marker.clone_from(&marker);
            held.participants = Arc::clone(&participants);
        }
        let is_replicated = has_writes && self.slot(slot).is_some_and(|state| !state.backups.is_empty());
        let writes = if is_replicated {
            self.replicated_writes(place, from_operation, usize::MAX, usize::MAX).0
        } else {
            Vec::new()
        };
        let Some(state) = self.slots.get_mut(&slot) else { return };
        let mut sequence = None;
        if is_replicated {
            let reused = mutants::is(Mutant::SequenceReused) && state.sequence.0 % 7 == 6;
            state.sequence = Sequence(state.sequence.0 + u64::from(!reused));
            sequence = Some(state.sequence);
            if let Some(held) = self.held.get_mut(&place) {
                held.sequence = state.sequence;
            }
            let replicate = Replicate {
                slot,
                sequence: state.sequence,
                transaction,
                epoch,
                coordinator,
                participants,
                marker,
                pieces_ahead,
                writes,
            };
            send_to_all(self.address, &state.backups, Signal::Replicate(Box::new(replicate)), outputs);
        }
        match ending {
            Ending::One(reply) => match sequence {
                _ if mutants::is(Mutant::AckBeforeBackup) => {
                    self.finish(
                        place,
                        Some(epoch),
                        After::Answer {
                            reply,
                            sequence: sequence.map(|sequence| (view, sequence)),
                            refusal: None,
                        },
                        outputs,
                    );
                }
                None => self.finish(
                    place,
                    Some(epoch),
                    After::Answer { reply, sequence: None, refusal: None },
                    outputs,
                ),
                Some(sequence) => {
                    let joining = self.map.view.joining(slot);
                    let is_needed =
                        |node: &NodeId| !mutants::is(Mutant::JoiningNotNeeded) || !joining.contains(node);
                    let missing = state.backups.iter().map(|backup| backup.node).filter(is_needed).collect();
                    let pending = PendingCommit { transaction, missing, reply, refused: None };
                    state.pending.insert(sequence, pending);
                }
            },
            Ending::Two { coordinator, .. } => {
                if let Some(held) = self.held.get_mut(&place) {
                    held.coordinator = Some(coordinator);
                }
                let then = Some((coordinator, prepared(place, epoch, has_writes, None)));
                self.mark_at_once(Mark { place, next: 0, then }, outputs);
            }
            Ending::Again(_) => {}
        }
    }

    /// Begins to mark at once.
    pub(in crate::ldm) fn mark_at_once(&mut self, mark: Mark, outputs: &mut Outputs<Shared>) {
        self.mark_prepared(mark, &mut Budget { rows: self.sizes.at_once }, outputs);
    }

    /// Staged becomes prepared: readers here wait for the outcome from now on. When all are, somebody is told.
    pub(in crate::ldm) fn mark_prepared(
        &mut self,
        mut mark: Mark,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
    ) {
        // If its outcome is known in the meantime, nobody waits for it but a hand-over.
        let Some(held) = self.held.get(&mark.place).filter(|held| held.stage == HeldStage::Ending) else {
            self.tell_session(mark.then, outputs);
            return self.after_slices(mark.place.1, outputs);
        };
        let (transaction, slot) = mark.place;
        while let Some(operation) = held.operations.get(mark.next) {
            if !budget.spend(1) {
                return self.later(Job::Mark(Box::new(mark)), outputs);
            }
            mark.next += 1;
            if let Operation::Staged { table, row, is_first: true, .. } = operation
                && !mutants::is(Mutant::PreparedStaysStaged)
                && let Some(fragment) = self.fragments.get_mut(&(*table, slot))
            {
                fragment.prepare(*row, transaction);
            }
        }
        if let Some(held) = self.held.get_mut(&mark.place) {
            held.is_marked = true;
        }
        if self.is_elsewhere(slot) {
            // It stepped down: whoever decides hears from the new primary.
            self.become_backup(mark.place, outputs);
            self.tell_session(mark.then, outputs);
            return self.after_slices(slot, outputs);
        }
        if let Some((to, signal)) = mark.then {
            outputs.send(self.address, to, signal);
        }
        self.report_if_prepared(mark.place, outputs);
    }

    /// That its commit was given up, a session hears from nobody else. (Whoever decides asks the primary.)
    fn tell_session(&self, then: Option<(Address, Signal)>, outputs: &mut Outputs<Shared>) {
        if let Some((to, signal)) = then.filter(|(_, signal)| matches!(signal, Signal::CommitDone(_))) {
            outputs.send(self.address, to, signal);
        }
    }

    pub(in crate::ldm) fn send_prepared(
        &self,
        coordinator: Address,
        place: Place,
        epoch: Epoch,
        has_writes: bool,
        refusal: Option<Refusal>,
        outputs: &mut Outputs<Shared>,
    ) {
        outputs.send(self.address, coordinator, prepared(place, epoch, has_writes, refusal));
    }

    /// The transaction's changes from an operation on, up to a number of rows and bytes; also the operation behind the last.
    pub(in crate::ldm) fn replicated_writes(
        &self,
        place: Place,
        from_operation: usize,
        rows: usize,
        bytes: usize,
    ) -> (Vec<ReplicatedWrite>, usize) {
        let (mut writes, mut size) = (Vec::new(), 0);
        let Some(held) = self.held.get(&place) else { return (writes, from_operation) };
        for (index, operation) in held.operations.iter().enumerate().skip(from_operation) {
            if writes.len() >= rows || size >= bytes {
                return (writes, index);
            }
            let Operation::Staged { table, version, row, is_first: true } = operation else { continue };
            let Some(fragment) = self.fragments.get(&(*table, place.1)) else { continue };
            let Some(staged) = fragment.staged_row(*row, place.0) else { continue };
            let key: Box<[u8]> = fragment.key_of(*row).into();
            size += key.len() + staged.map_or(0, <[u8]>::len);
            let table = TableRef { id: *table, version: *version };
            writes.push(ReplicatedWrite { table, key, row: staged.map(Arc::from) });
        }
        (writes, held.operations.len())
    }

    // ---- large transactions -------------------------------------------------------------------------------------------------------

    /// Sends pieces as long as the backups keep up; the last is sealed.
    pub(in crate::ldm) fn ship(&mut self, mut ship: Ship, outputs: &mut Outputs<Shared>) {
        if self.held.get(&ship.place).is_none_or(|held| held.stage != HeldStage::Ending) {
            self.ship_window.bytes -= ship.bytes;
            return;
        }
        let (transaction, slot) = ship.place;
        let backups = match (&ship.ending, self.check_primary(slot)) {
            (Ending::Again(lacking), _) => lacking.clone(),
            (_, Err(refusal)) => return self.refuse_ship(ship, refusal, outputs),
            (_, Ok(())) => self.slot(slot).map_or_else(Vec::new, |state| state.backups.clone()),
        };
        if backups.is_empty() {
            return self.seal(ship.place, ship.ending, ship.epoch_seen, 0, 0, outputs);
        }
        let in_flight_max = PIECES_IN_FLIGHT * u32::try_from(backups.len()).unwrap_or(1);
        let total = self.held.get(&ship.place).map_or(0, |held| held.operations.len());
        while ship.next < total && ship.unacknowledged < in_flight_max {
            if self.ship_window.bytes >= SHIPPED_BYTES_MAX {
                if ship.unacknowledged == 0 {
                    self.ship_window.waiting.push_back(ship.place);
                }
                break;
            }
            let (writes, next) = self.replicated_writes(ship.place, ship.next, PIECE_ROWS, PIECE_BYTES);
            ship.next = next;
            let size =
                |write: &ReplicatedWrite| write.key.len() + write.row.as_ref().map_or(0, |row| row.len());
            let bytes = writes.iter().map(size).sum::<usize>() as u64;
            ship.bytes += bytes;
            self.ship_window.bytes += bytes;
            let piece = ReplicateAhead { slot, transaction, piece: ship.pieces, writes };
            ship.pieces += 1;
            ship.unacknowledged += u32::try_from(backups.len()).unwrap_or(1);
            send_to_all(self.address, &backups, Signal::ReplicateAhead(Box::new(piece)), outputs);
        }
        if ship.next >= total && ship.unacknowledged == 0 {
            return self.seal(ship.place, ship.ending, ship.epoch_seen, ship.pieces, total, outputs);
        }
        self.shipping.insert(ship.place, ship);
    }

    /// Goes on with those that wait, as long as there is room.
    fn ship_waiting(&mut self, outputs: &mut Outputs<Shared>) {
        while self.ship_window.bytes < SHIPPED_BYTES_MAX
            && let Some(place) = self.ship_window.waiting.pop_front()
        {
            if let Some(ship) = self.shipping.remove(&place) {
                self.ship(ship, outputs);
            }
        }
    }

    /// Ends a large transaction before anything was sealed: no replica can ever commit it.
    pub(in crate::ldm) fn refuse_ship(
        &mut self,
        ship: Ship,
        refusal: Refusal,
        outputs: &mut Outputs<Shared>,
    ) {
        self.ship_window.bytes -= ship.bytes;
        let answer = match ship.ending {
            Ending::One(reply) => answer_of(reply, Err(refusal)),
            Ending::Two { coordinator, .. } => {
                Some((coordinator, prepared(ship.place, Epoch(0), true, Some(refusal))))
            }
            // What is sealed may be committed: nobody refuses it any more.
            Ending::Again(_) => return,
        };
        self.undo_shipped(ship.place, answer, outputs);
    }

    /// Pieces of a transaction are not waited for any more.
    pub(in crate::ldm) fn forget_shipped(&mut self, bytes: u64) {
        self.ship_window.bytes -= bytes;
    }

    fn undo_shipped(&mut self, place: Place, then: Option<(Address, Signal)>, outputs: &mut Outputs<Shared>) {
        if let Some(held) = self.held.get_mut(&place) {
            held.stage = HeldStage::Open;
        }
        self.undo_then(place, then, outputs);
        let backups = self.slot(place.1).map_or_else(Vec::new, |state| state.backups.clone());
        let drop = Signal::DropAhead { slot: place.1, transaction: place.0 };
        send_to_all(self.address, &backups, drop, outputs);
    }

    pub(in crate::ldm) fn on_ahead_applied(&mut self, place: Place, outputs: &mut Outputs<Shared>) {
        if let Some(mut ship) = self.shipping.remove(&place) {
            ship.unacknowledged = ship.unacknowledged.saturating_sub(1);
            if ship.unacknowledged == 0 {
                self.ship_window.bytes -= std::mem::take(&mut ship.bytes);
            }
            self.ship(ship, outputs);
            self.ship_waiting(outputs);
        }
    }

    /// The session gave up before the prepare was sent, or the outcome is known. True if members that lacked it got it again: what is behind it goes on
    /// when its rows are being published.
    pub(in crate::ldm) fn stop_shipping(&mut self, place: Place, outputs: &mut Outputs<Shared>) -> bool {
        let Some(ship) = self.shipping.remove(&place) else { return false };
        self.ship_window.bytes -= ship.bytes;
        let was_shipped_again = match ship.ending {
            Ending::Again(lacking) => {
                let drop = Signal::DropAhead { slot: place.1, transaction: place.0 };
                send_to_all(self.address, &lacking, drop, outputs);
                true
            }
            Ending::One(_) | Ending::Two { .. } => {
                self.undo_shipped(place, None, outputs);
                false
            }
        };
        self.ship_waiting(outputs);
        was_shipped_again
    }

    // ---- answers of backups, outcomes ---------------------------------------------------------------------------------------------

    pub(in crate::ldm) fn on_applied(
        &mut self,
        node: NodeId,
        slot: SlotId,
        sequence: Sequence,
        refusal: Option<Refusal>,
        outputs: &mut Outputs<Shared>,
    ) {
        let view = self.map.view.number;
        let Some(state) = self.slots.get_mut(&slot) else { return };
        let Some(pending) = state.pending.get_mut(&sequence) else {
            return self.on_orphan_applied(node, slot, sequence, refusal.is_some(), outputs);
        };
        if let Some(refusal) = refusal.filter(|_| !mutants::is(Mutant::RefusalCounted)) {
            let is_first = pending.refused.is_none();
            pending.refused.get_or_insert(refusal);
            pending.missing = state.backups.iter().map(|backup| backup.node).collect();
            let outcome = Outcome { transaction: pending.transaction, slot, committed: None };
            if is_first {
                let backups = state.backups.clone();
                send_to_all(self.address, &backups, Signal::Outcome(outcome), outputs);
            }
            return;
        }
        if pending.refused.is_some() {
            return;
        }
        pending.missing.retain(|missing| *missing != node && !mutants::is(Mutant::FirstBackupSuffices));
        if pending.missing.is_empty()
            && let Some(pending) = state.pending.remove(&sequence)
        {
            let place = (pending.transaction, slot);
            let epoch = self.held.get(&place).map(|held| held.epoch);
            let sequence = Some((view, sequence));
            let after = After::Answer { reply: pending.reply, sequence, refusal: None };
            self.finish(place, epoch, after, outputs);
        }
    }

    /// A backup has recorded the abort of a one-primary commit that another backup refused.
    pub(in crate::ldm) fn on_abort_recorded(
        &mut self,
        node: NodeId,
        place: Place,
        outputs: &mut Outputs<Shared>,
    ) {
        if self.on_dropped_recorded(node, place, outputs) {
            return;
        }
        let Some(state) = self.slots.get_mut(&place.1) else { return };
        let found = state
            .pending
            .iter_mut()
            .find(|(_, pending)| pending.transaction == place.0 && pending.refused.is_some())
            .map(|(sequence, pending)| {
                pending.missing.retain(|missing| *missing != node);
                (*sequence, pending.missing.is_empty())
            });
        if let Some((sequence, true)) = found
            && let Some(pending) = state.pending.remove(&sequence)
        {
            let after = After::Answer { reply: pending.reply, sequence: None, refusal: pending.refused };
            let forget = Signal::Forget { slot: place.1, transactions: vec![place.0] };
            let backups = state.backups.clone();
            send_to_all(self.address, &backups, forget, outputs);
            self.finish(place, None, after, outputs);
        }
    }

    /// The coordinator has decided: here as primary or as backup.
    pub(in crate::ldm) fn on_outcome(
        &mut self,
        from: Address,
        outcome: Outcome,
        outputs: &mut Outputs<Shared>,
    ) {
        let place = (outcome.transaction, outcome.slot);
        if let Some(marker) = self.outcomes.get(&place) {
            if self.is_joining && marker.outcome.is_none() && outcome.committed.is_some() {
                // All the others had it prepared before this member joined, and it refused it.
                return self.give_up_joining("it cannot take what is committed", outputs);
            }
            if marker.outcome != outcome.committed {
                return outputs.distrust(from, format!("{} has another outcome here", place.0));
            }
            return self.record_outcome(from, place, outputs);
        }
        if self.is_joining && self.is_early_commit(from, &outcome) {
            return;
        }
        if self.held.get(&place).is_some_and(|held| held.stage == HeldStage::Publishing) {
            return outputs.distrust(from, format!("{} was decided by this primary alone", place.0));
        }
        self.outcomes.insert(place, Marker::of(outcome.committed));
        let was_shipped_again = self.stop_shipping(place, outputs);
        match self.held.get(&place).map(|held| held.stage) {
            None => self.on_outcome_at_backup(from, place, outcome.committed, outputs),
            Some(HeldStage::Open | HeldStage::Undoing { .. }) => {
                // Never prepared here: an abort because another participant refused.
                self.undo(place, outputs);
                self.record_outcome(from, place, outputs);
            }
            Some(HeldStage::Ending) => self.finish(place, outcome.committed, After::Record(from), outputs),
            Some(HeldStage::Publishing) => {}
        }
        if was_shipped_again {
            // It is being published now: who joins gets its rows as copies when they are.
            self.replicate_rest(place.1, outputs);
        }
    }

    /// Carries out a known outcome of a transaction held here: publishes or undoes its rows, gives its locks back.
    pub(in crate::ldm) fn finish(
        &mut self,
        place: Place,
        outcome: Option<Epoch>,
        then: After,
        outputs: &mut Outputs<Shared>,
    ) {
        let Some(held) = self.held.get_mut(&place) else { return };
        // (What has only locked here is recovered without an epoch.)
        #[cfg(debug_assertions)]
        stdx::require!(
            held.rows == 0 || outcome.is_none_or(|epoch| epoch >= held.epoch),
            "{} is committed in epoch {outcome:?}, below its stamp {:?}",
            place.0,
            held.epoch
        );
        held.stage = HeldStage::Publishing;
        let stamp = (held.epoch > Epoch(0)).then_some(held.epoch);
        let mut operations = std::mem::take(&mut held.operations);
        if mutants::is(Mutant::PublishSkipsLast) && held.rows > 1 {
            operations.pop();
            self.transaction_memory.release(OPERATION_COST);
        }
        let rest = if held.is_taken_over {
            // They were never charged here.
            Rest::Rows(operations.iter().filter_map(first_row).collect())
        } else {
            Rest::Operations(operations)
        };
        let publish = Publish { place, rest, outcome, stamp, then };
        self.publish(publish, &mut Budget { rows: self.sizes.at_once }, outputs);
    }

    /// Carries out what a backup has to, beginning at once.
    pub(in crate::ldm) fn publish_rows(&mut self, publish: Publish, outputs: &mut Outputs<Shared>) {
        self.publish(publish, &mut Budget { rows: self.sizes.at_once }, outputs);
    }

    /// Publishes or undoes the next slice of rows.
    pub(in crate::ldm) fn publish(
        &mut self,
        mut publish: Publish,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
    ) {
        let (place, outcome) = (publish.place, publish.outcome);
        while publish.rest.len() > 0 {
            if !budget.spend(1) {
                return self.later(Job::Publish(Box::new(publish)), outputs);
            }
            match &mut publish.rest {
                Rest::Rows(rows) => {
                    if let Some((table, row)) = rows.pop() {
                        self.publish_row(place, table, row, outcome);
                    }
                }
                Rest::Operations(operations) => {
                    self.transaction_memory.release(OPERATION_COST);
                    match operations.pop() {
                        Some(Operation::Staged { table, row, is_first: true, .. }) => {
                            self.publish_row(place, table, row, outcome);
                        }
                        Some(Operation::Locked(key)) => {
                            self.locks.release(&key, place.0);
                            self.to_serve.push_back(key);
                        }
                        Some(Operation::Staged { is_first: false, .. }) | None => {}
                    }
                }
            }
        }
        self.conclude(publish, outputs);
    }

    #[inline]
    fn publish_row(&mut self, place: Place, table: TableId, row: RowHandle, outcome: Option<Epoch>) {
        let (transaction, slot) = place;
        if self.is_joining && outcome.is_some() {
            self.note_deletion(place, table, row);
        }
        let Some(fragment) = self.fragments.get_mut(&(table, slot)) else { return };
        self.reclaim.note((table, slot));
        if !self.locks.is_empty() && !mutants::is(Mutant::RowsKeepWaiters) {
            let key = fragment.key_of(row).into();
            self.to_serve.push_back(LockKey { slot, table, key });
        }
        match outcome {
            Some(epoch) => {
                #[cfg(debug_assertions)]
                check_epoch(fragment, row, transaction, epoch);
                fragment.commit(row, transaction, epoch);
            }
            None => fragment.abort(row, transaction),
        }
    }

    /// All rows are published or undone: counts go, everyone hears.
    fn conclude(&mut self, publish: Publish, outputs: &mut Outputs<Shared>) {
        let place = publish.place;
        let held = self.held.remove(&place);
        self.serve_tables(place.1);
        let is_confirmed = held.as_ref().is_some_and(|held| held.is_confirmed);
        if let Some(Held { marker: Some(results), .. }) = held
            && publish.outcome.is_some()
        {
            self.outcomes.insert(place, Marker { outcome: publish.outcome, results });
        }
        if let Some(stamp) = publish.stamp {
            self.count_decided(stamp, outputs);
        }
        if !self.waiting_backfills.is_empty() {
            self.resume_backfills(outputs);
        }
        self.wake_reads(place.0, outputs);
        match publish.then {
            After::Nothing => {}
            After::TakeHeldBack => self.take_held_back(place, outputs),
            After::Record(coordinator) => self.record_outcome(coordinator, place, outputs),
            After::Answer { reply, sequence, refusal } => {
                if let Some((stream, sequence)) = sequence
                    && (stream == self.map.view.number || mutants::is(Mutant::OldStreamNamed))
                    && let Some(state) = self.slot(place.1)
                {
                    let decided = Signal::Decided { slot: place.1, sequence };
                    send_to_all(self.address, &state.backups, decided, outputs);
                }
                let outcome = match (publish.outcome, refusal) {
                    (Some(epoch), None) => Ok(epoch),
                    (_, refusal) => Err(refusal.unwrap_or(Refusal::NotHeld)),
                };
                self.answer(reply, outcome, outputs);
            }
        }
        if is_confirmed {
            // Behind the decision.
            self.on_forget(place.1, vec![place.0], outputs);
            if self.is_elsewhere(place.1) {
                self.pass_on_forget(place, outputs);
            }
        }
        if self.is_joining {
            self.retry_copied(place.1, outputs);
        }
        self.after_decided(place, publish.outcome, outputs);
    }

    pub(in crate::ldm) fn record_outcome(
        &self,
        coordinator: Address,
        place: Place,
        outputs: &mut Outputs<Shared>,
    ) {
        let recorded = Signal::OutcomeRecorded { transaction: place.0, slot: place.1 };
        outputs.send(self.address, coordinator, recorded);
    }

    // ---- a replica is given up ----------------------------------------------------------------------------------------------------

    /// One-primary commits that wait for a backup that is given up: their outcome is not known any more. The session hears "unknown"; the rows stay
    /// prepared, so that nobody reads around them.
    pub(in crate::ldm) fn give_up_on_lost(&mut self, outputs: &mut Outputs<Shared>) {
        let lost = self.map.given_up.clone();
        let mut given_up = self.give_up_takeovers(outputs);
        self.refuse_askers_of_lost(outputs);
        for (id, state) in &mut self.slots {
            let sequences: Vec<Sequence> = state
                .pending
                .iter()
                .filter(|(_, pending)| pending.missing.iter().any(|node| lost.contains(node)))
                .map(|(sequence, _)| *sequence)
                .collect();
            for sequence in sequences {
                if let Some(pending) = state.pending.remove(&sequence) {
                    given_up.push(((pending.transaction, *id), pending.reply));
                }
            }
        }
        let mut shipping: Vec<Place> = self.shipping.keys().copied().collect();
        shipping.sort_unstable();
        for place in shipping {
            let is_sealed =
                self.shipping.get(&place).is_some_and(|ship| matches!(ship.ending, Ending::Again(_)));
            if let Err(refusal) = self.check_primary(place.1)
                && !is_sealed
                && let Some(ship) = self.shipping.remove(&place)
            {
                self.refuse_ship(ship, refusal, outputs);
            }
        }
        self.ship_waiting(outputs);
        for (place, reply) in given_up {
            if let Some(then) = unknown(&reply) {
                self.mark_at_once(Mark { place, next: 0, then: Some(then) }, outputs);
            }
        }
        self.give_up_owed(outputs);
    }

    /// The primary that decides may never hear of it, and this member neither.
    fn give_up_owed(&mut self, outputs: &mut Outputs<Shared>) {
        let is_lost = |place: &Place| self.slot(place.1).is_some_and(|state| state.is_replica_lost);
        let mut places: Vec<Place> = self.owed.keys().copied().filter(is_lost).collect();
        places.sort_unstable();
        for place in places {
            if let Some((to, signal)) = self.owed.remove(&place).as_ref().and_then(unknown) {
                outputs.send(self.address, to, signal);
            }
        }
    }

    /// A data node is given up: what is prepared may never be decided, so nobody waits for it.
    pub(in crate::ldm) fn has_lost_replicas(&self) -> bool {
        !self.map.given_up.is_empty()
    }
}

/// What a session hears when nobody may ever know.
fn unknown(reply: &Reply) -> Option<(Address, Signal)> {
    let (Reply::Commit { to, request } | Reply::Write { to, request, .. }) = reply else { return None };
    let done = CommitDone { request: *request, outcome: CommitOutcome::Unknown };
    Some((*to, Signal::CommitDone(done)))
}

/// What a session hears of its commit.
fn answer_of(reply: Reply, outcome: Result<Epoch, Refusal>) -> Option<(Address, Signal)> {
    Some(match reply {
        Reply::Nobody => return None,
        Reply::Commit { to, request } => {
            let outcome = match outcome {
                Ok(epoch) => CommitOutcome::Committed(epoch),
                Err(refusal) => CommitOutcome::Aborted(refusal),
            };
            (to, Signal::CommitDone(CommitDone { request, outcome }))
        }
        Reply::Write { to, request, done: (results, raised), operations, .. } => {
            let result = match outcome {
                Ok(epoch) => Ok(WriteSummary { results, operations, committed: Some(epoch), raised }),
                Err(refusal) => Err(WriteFailure { operation: 0, refusal }),
            };
            (to, Signal::WriteDone(Box::new(WriteDone { request, result })))
        }
    })
}

/// Nothing has a lower epoch than what it overwrote. (At a backup, a later transaction on the row may have been decided first: it is above this one.)
#[cfg(debug_assertions)]
fn check_epoch(fragment: &Fragment, row: RowHandle, transaction: TransactionId, epoch: Epoch) {
    let key = fragment.key_of(row);
    let is_own = |state| match state {
        VersionState::Staged(owner) | VersionState::Prepared(owner) => owner == transaction,
        VersionState::Committed(_) => false,
    };
    let is_on_top = fragment.newest(key).state.is_some_and(is_own);
    let before = fragment.committed(key).filter(|_| is_on_top).map(|(before, _)| before);
    stdx::require!(
        before.is_none_or(|before| before <= epoch),
        "{transaction} is committed in epoch {epoch}, above a row of {before:?}"
    );
}

/// The row of an operation that was the first on it.
fn first_row(operation: &Operation) -> Option<(TableId, RowHandle)> {
    match operation {
        Operation::Staged { table, row, is_first: true, .. } => Some((*table, *row)),
        Operation::Staged { .. } | Operation::Locked(_) => None,
    }
}

/// What a coordinator hears.
pub(in crate::ldm) fn prepared(
    place: Place,
    epoch: Epoch,
    has_writes: bool,
    refusal: Option<Refusal>,
) -> Signal {
    let (transaction, slot) = place;
    Signal::Prepared(Box::new(Prepared { transaction, slot, epoch, has_writes, refusal }))
}

pub(in crate::ldm) fn send_to_all(
    from: Address,
    to: &[Address],
    signal: Signal,
    outputs: &mut Outputs<Shared>,
) {
    if let Some((last, others)) = to.split_last() {
        for address in others {
            outputs.send(from, *address, signal.clone());
        }
        outputs.send(from, *last, signal);
    }
}
