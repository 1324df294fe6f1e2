//! Hand-over: how the open transactions of a partition travel from its primary to another, inside one view change, when both live.
//!
//! ```text
//! old primary, installing v+1:  waiting requests leave the lock table; what is sealed becomes what a backup holds; slices under way end
//!     -- HandOver{places, open transactions, waits}*, Gather{claim} --> new primary, when all members have reported:
//! takes the newest claim that is valid; decides what is decided; stages, locks; requests that waited queue up again
//!     -- Taken --> all members: open versions and locks go
//! opens when what was sealed is decided: its explicit locks did not travel
//! ```
//! A *line* is a sequence of primaries that handed over to each other; `PartitionPlace::since` is the first view of it, a takeover begins a new one. Who
//! *claims* a line has its open transactions, since the view in which it took them over (`acquired`).
//!
//! Invariants, each closing an interleaving:
//! - One member acts for a line at a time. Between stepping down and `Taken` the old primary grants, stages and undoes nothing for anybody: requests are
//!   returned to their sessions' module, which sends them to the primary of the newer view. The new primary holds back what comes before it has a
//!   whole claim.
//! - The old primary keeps everything until `Taken`: pieces that a newer view voids are sent again, to whoever is primary then. Of two claims the later
//!   one counts: the earlier claimant has not heard that it may let go.
//! - A claim older than the line that the view names is void: sessions have given those transactions up. Their versions and locks go. So is one that was
//!   sent to a member that left before `Taken` came from it: it may have taken, and done more.
//! - No place meets the open versions of its own transaction: `Taken` goes ahead of everything that is replicated in the new stream, and if it is lost with a
//!   connection, what is replicated says the same. A successor lets go of an older claim of its own before it takes.
//! - The new primary takes only when nothing is undone or published in slices here: what comes again with a piece must not be undone with what came before,
//!   and on a row an open version lies above decided ones.
//! - A marker of a decided transaction bars its late open pieces.
//! - Replies for sealed one-primary commits stay with the old primary (`owed`): it hears the outcome as a backup. If it dies first, sessions ask the new one,
//!   who has the markers of all sessions that outlive the old one.
//! - Nothing is lost by a piece that does not fit in memory but its own transaction: it goes, and hears so (1213) with its next request.
//! - The word that a transaction is over may pass it on its way: an abort on a connection that breaks, or the loss of its session's node, which one primary
//!   hears of before it takes and the other after it has let go. So the new one tells each session what it has taken, and what is over is aborted.
//!
//! Deliberately not here: sending ahead of the view. All that is open travels inside it, so there is a limit on it, behind which a transaction is lost.

use super::backup::Applied;
use super::commit::{After, Ending, Reply, Ship};
use super::reads::LockedRead;
use super::waits::Run;
use super::writes::WriteRun;
use super::{HeldStage, Job, Ldm, OPERATION_COST, Operation, Place};
use crate::locks::{LockKey, WaitId};
use crate::mutants::{self, Mutant};
use protocol::program::{LockMode, LockWait, Refusal, TableRef};
use protocol::signal::{
    Claim, CommitOneRequest, HandOver, HandedOperation, HandedTransaction, HandedWait, Participant,
    Replicate, ReplicatedWrite, ReturnedRequest,
};
use protocol::{Address, ModuleKind, Outputs, Signal, View};
use query::Shared;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use stdx::Now;
use storage::RowHandle;
use types::{Epoch, Incarnation, NodeId, PartitionId, TableId, TransactionId, ViewNumber};

/// Open operations of a partition that travel, and sealed rows: about what can be packed and staged in a stall that nobody notices. A transaction beyond is lost (1213).
const HANDED_OPERATIONS_MAX: usize = 50_000;
/// Operations of a piece.
const PIECE_OPERATIONS: usize = 500;
/// Bytes after which a piece ends.
const PIECE_BYTES: usize = 128 * 1024;
/// What a waiting request counts for: how large it may be was looked at when it was sent.
const WAIT_BYTES: usize = PIECE_BYTES / 16;

/// What a transaction staged on a row, the newest first (None: it deleted it).
type StagedRow = VecDeque<Option<Arc<[u8]>>>;

/// The node is about to stop.
#[derive(Debug)]
pub(super) struct StandingDown {
    /// Who wants to know.
    pub(super) main: Address,
    /// Modules of sessions that have not answered a last word.
    pub(super) unheard: Vec<Address>,
}

/// What a primary that stepped down keeps until it is told that it may let go.
#[derive(Default)]
pub(super) struct HandOut {
    /// Requests that waited, in their order.
    waits: Vec<Run>,
    /// The pieces are on their way to the primary of the installed view.
    is_sent: bool,
    /// The lives to which they ever were: each of them may have acted for the line.
    sent_to: Vec<(NodeId, Incarnation)>,
}

impl HandOut {
    /// Pieces of older views are void. False if somebody who may have acted for the line is not asked any more: then nobody knows what it did.
    pub(super) fn begin_view(&mut self, view: &View, partition: PartitionId) -> bool {
        self.is_sent = false;
        let is_asked = |(node, life): &(NodeId, Incarnation)| {
            view.in_sync(partition).contains(node)
                && view.node(*node).is_some_and(|info| info.incarnation == *life)
        };
        self.sent_to.iter().all(is_asked)
    }
}

impl HandOut {
    /// A transaction is undone.
    pub(super) fn drop_waits(&mut self, place: Place) {
        self.waits.retain(|run| run.place() != place);
    }
}

impl std::fmt::Debug for HandOut {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "HandOut({} waits, sent: {})", self.waits.len(), self.is_sent)
    }
}

/// A request at a member that is not the primary any more.
fn returned(signal: Signal) -> Option<ReturnedRequest> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "nobody waits for an answer to the others")]
    Some(match signal {
        Signal::Read(read) => ReturnedRequest::Read(read),
        Signal::Write(write) => ReturnedRequest::Write(write),
        Signal::CommitOne(commit) => ReturnedRequest::CommitOne(commit),
        Signal::RollbackTo { request, transaction, partition, operations } => {
            ReturnedRequest::RollbackTo { request, transaction, partition, operations }
        }
        Signal::OutcomeAsk { request, transaction, partition, is_write } => {
            ReturnedRequest::OutcomeAsk { request, transaction, partition, is_write }
        }
        _ => return None,
    })
}

impl Ldm {
    // ---- requests that come to the old primary ------------------------------------------------------------------------------------

    /// Whether this member has a replica of the partition and another one is its primary.
    pub(super) fn is_elsewhere(&self, partition: PartitionId) -> bool {
        self.partition(partition).is_some_and(|state| !state.is_primary)
    }

    /// A request that was sent in an older view: its session's module sends it on. What nobody answers is passed on.
    pub(super) fn send_back(&mut self, from: Address, signal: Signal, outputs: &mut Outputs<Shared>) {
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "the others are answered, or asked again in the newer view"
        )]
        match signal {
            Signal::Abort { transaction, partition } => {
                // What is open is here until it is taken. (Whoever gets it next is in a newer view than this one was, or is primary.)
                self.on_abort((transaction, partition), outputs);
                if let Some(primary) = self.map.primary(partition) {
                    outputs.send(self.address, primary, signal);
                }
            }
            Signal::Forget { partition, .. } => {
                if let Some(primary) = self.map.primary(partition).filter(|_| from.kind != ModuleKind::Ldm) {
                    outputs.send(self.address, primary, signal);
                }
            }
            // Its commit is decided, or sealed: the answer comes from here.
            Signal::RollbackTo { request, transaction, partition, .. }
                if self.owed.contains_key(&(transaction, partition)) =>
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
    pub(super) fn pass_on_forget(&self, (transaction, partition): Place, outputs: &mut Outputs<Shared>) {
        if let Some(primary) = self.map.primary(partition) {
            outputs.send(
                self.address,
                primary,
                Signal::Forget { partition, transactions: vec![transaction] },
            );
        }
    }

    /// The session of a commit whose outcome is owed here hears from the primary what became of it.
    pub(super) fn ask_primary(&mut self, place: Place, reply: &Reply, outputs: &mut Outputs<Shared>) {
        let (transaction, partition) = place;
        let (to, request, is_write) = match reply {
            Reply::Write { to, request, .. } => (*to, *request, true),
            Reply::Commit { to, request } => (*to, *request, false),
            Reply::Nobody => return,
        };
        let ask = Signal::OutcomeAsk { request, transaction, partition, is_write };
        self.send_back(to, ask, outputs);
    }

    // ---- stepping down ------------------------------------------------------------------------------------------------------------

    /// This member was primary, and another one is now: nobody is served here any more.
    pub(super) fn step_down(&mut self, now: Now, partition: PartitionId, outputs: &mut Outputs<Shared>) {
        let waits = self.take_waits(now, partition);
        self.unship(partition, outputs);
        for place in self.sealed_of(partition) {
            self.become_backup(place, outputs);
        }
        let asked: Vec<Place> = self.askers.keys().copied().filter(|(_, of)| *of == partition).collect();
        for place in asked {
            for asker in self.askers.remove(&place).unwrap_or_default() {
                let (transaction, partition) = place;
                let ask = Signal::OutcomeAsk {
                    request: asker.request,
                    transaction,
                    partition,
                    is_write: asker.is_write,
                };
                self.send_back(asker.from, ask, outputs);
            }
        }
        let Some(state) = self.partitions.get_mut(&partition) else { return };
        // It may have stepped down before, and not have gone on since.
        let hand_out = state.hand_out.get_or_insert_default();
        hand_out.is_sent = false;
        hand_out.waits.extend(waits);
        let told = hand_out.waits.iter().map(Run::from);
        self.told.extend(told.filter(|module| module.kind == ModuleKind::Sql));
        let (resumed, held_back) = state.takeover.step_down();
        for (transaction, pending) in resumed {
            if !matches!(pending.reply, Reply::Nobody) {
                self.owed.insert((transaction, partition), pending.reply);
            }
        }
        for (from, signal) in held_back {
            self.send_back(from, signal, outputs);
        }
        let (here, others): (Vec<_>, Vec<_>) = std::mem::take(&mut self.released)
            .into_iter()
            .partition(|(_, signal)| partition_of(signal) == Some(partition));
        self.released = others.into();
        for (from, signal) in here {
            self.send_back(from, signal, outputs);
        }
        self.give_up_large(partition, outputs);
    }

    /// What is too much to travel inside a view change is lost, and undone in slices.
    fn give_up_large(&mut self, partition: PartitionId, outputs: &mut Outputs<Shared>) {
        let mut left = HANDED_OPERATIONS_MAX;
        for place in self.open_of(partition) {
            let Some(held) = self.held.get(&place) else { continue };
            let session = held.session;
            match left.checked_sub(held.operations.len()) {
                Some(rest) => left = rest,
                None => {
                    self.lose_handed_waits(|run| run.place() == place, outputs);
                    self.void.entry(session.node).or_default().insert(place);
                    self.undo(place, outputs);
                }
            }
        }
    }

    /// Requests that are on their way to another primary are lost: nobody answers them.
    pub(super) fn lose_handed_waits(
        &mut self,
        is_lost: impl Fn(&Run) -> bool,
        outputs: &mut Outputs<Shared>,
    ) {
        for hand_out in self.partitions.values_mut().filter_map(|state| state.hand_out.as_mut()) {
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
    pub(super) fn refuse_handed_of_lost(&mut self, outputs: &mut Outputs<Shared>) {
        let partitions = self.partitions.iter().filter(|(_, state)| state.is_replica_lost);
        let lost: BTreeSet<PartitionId> = partitions.map(|(partition, _)| *partition).collect();
        let is_lost = |run: &Run| lost.contains(&run.partition());
        self.lose_handed_waits(is_lost, outputs);
        let (refused, kept): (VecDeque<Run>, VecDeque<Run>) =
            std::mem::take(&mut self.resuming).into_iter().partition(is_lost);
        self.resuming = kept;
        for run in refused {
            self.refuse_run(run, Refusal::ReplicaLost, outputs);
        }
    }

    /// All requests that wait in a partition, in the order in which they began to, with the time that is left to them.
    fn take_waits(&mut self, now: Now, partition: PartitionId) -> Vec<Run> {
        let of = self.waits.iter().filter(|(_, waiting)| waiting.key.partition == partition);
        let mut waits: Vec<WaitId> = of.map(|(wait, _)| *wait).collect();
        waits.sort_unstable();
        let (here, others): (Vec<Run>, Vec<Run>) =
            std::mem::take(&mut self.resuming).into_iter().partition(|run| run.partition() == partition);
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
        runs.extend(self.take_memory_waits_of(partition).into_iter().map(Run::Write));
        runs
    }

    /// Large transactions that are not sealed are open again: whoever decides asks the new primary.
    fn unship(&mut self, partition: PartitionId, outputs: &mut Outputs<Shared>) {
        let mut places: Vec<Place> =
            self.shipping.keys().copied().filter(|(_, of)| *of == partition).collect();
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
                    let participant = Participant { partition, operations, view, has_writes: true };
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
    fn become_backup(&mut self, place: Place, outputs: &mut Outputs<Shared>) {
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
                    if let Some(fragment) = self.fragments.get_mut(&(table, place.1)) {
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

    // ---- handing over -------------------------------------------------------------------------------------------------------------

    /// Sends what is open to the primary of the installed view, and the report, once no slices are under way.
    pub(super) fn hand_over(&mut self, partition: PartitionId, outputs: &mut Outputs<Shared>) {
        let is_due = |state: &&super::Partition| {
            !state.is_primary && state.hand_out.as_ref().is_some_and(|hand_out| !hand_out.is_sent)
        };
        if self.partition(partition).filter(is_due).is_none() || self.has_slices(partition) {
            return;
        }
        let Some(primary) = self.map.primary(partition) else { return };
        let life = self.map.view.node(primary.node).map(|info| (primary.node, info.incarnation));
        let is_claimed = self.claim_of(partition).is_some();
        if is_claimed {
            for piece in self.pieces(partition) {
                outputs.send(self.address, primary, Signal::HandOver(Box::new(piece)));
            }
        }
        if let Some(hand_out) = self.partitions.get_mut(&partition).and_then(|state| state.hand_out.as_mut())
        {
            hand_out.is_sent = true;
            let is_new = |life: &(NodeId, Incarnation)| is_claimed && !hand_out.sent_to.contains(life);
            hand_out.sent_to.extend(life.filter(is_new));
        }
        self.report(partition, outputs);
    }

    /// Whether undoing or publishing goes on in slices.
    pub(super) fn has_slices(&self, partition: PartitionId) -> bool {
        self.jobs.values().any(|job| match job {
            Job::Publish(publish) => publish.place.1 == partition,
            Job::Undo(undo) => undo.partition() == partition,
            Job::Read(_)
            | Job::Mark(_)
            | Job::Backfill(_)
            | Job::Copy(_)
            | Job::Clear(_)
            | Job::Visit(_)
            | Job::Sweep(_)
            | Job::Look(_) => false,
        })
    }

    /// The line that this member has, if the installed view still follows it.
    pub(super) fn claim_of(&self, partition: PartitionId) -> Option<Claim> {
        let since = self.map.view.place(partition)?.since;
        self.partition(partition)?.takeover.claim().filter(|claim| claim.acquired >= since)
    }

    /// Slices ended: what waited for them goes on.
    pub(super) fn after_slices(&mut self, partition: PartitionId, outputs: &mut Outputs<Shared>) {
        if self.unsettled_count > 0 && !self.is_entering {
            self.hand_over(partition, outputs);
            self.finish_gathering(partition, outputs);
        }
    }

    fn pieces(&self, partition: PartitionId) -> Vec<HandOver> {
        let mut pieces = Pieces::new(partition);
        let mut left = HANDED_OPERATIONS_MAX;
        for (transaction, stream, sequence) in self.applied_of(partition) {
            let place = (transaction, partition);
            let Some(applied) = self.applied.get(&place) else { continue };
            // (The new primary has it, as a rule. If it lacks what is too large to travel, that aborts, as in a takeover.)
            let Some(rest) = left.checked_sub(applied.rows.len()) else { continue };
            left = rest;
            let writes: Vec<ReplicatedWrite> = applied
                .rows
                .iter()
                .filter_map(|(table, row)| self.staged_write(place, *table, *row))
                .collect();
            let bytes = writes.iter().map(size_of_write).sum();
            let replicate = Replicate {
                partition,
                sequence,
                transaction,
                epoch: applied.epoch,
                coordinator: applied.coordinator,
                participants: Arc::clone(&applied.participants),
                marker: applied.marker.clone(),
                pieces_ahead: 0,
                writes,
            };
            pieces.last(bytes).places.push((stream, replicate));
        }
        for place in self.open_of(partition) {
            self.add_open(place, &mut pieces);
        }
        let hand_out = self.partition(partition).and_then(|state| state.hand_out.as_ref());
        for run in hand_out.into_iter().flat_map(|hand_out| &hand_out.waits) {
            pieces.last(WAIT_BYTES).waits.push(run.handed());
        }
        for (node, places) in &self.void {
            for (transaction, _) in places.iter().filter(|(_, of)| *of == partition) {
                pieces.last(0).void.push((*node, *transaction));
            }
        }
        pieces.pieces
    }

    /// The newest bytes of a transaction on a row.
    fn staged_write(&self, place: Place, table: TableId, row: RowHandle) -> Option<ReplicatedWrite> {
        let fragment = self.fragments.get(&(table, place.1))?;
        let bytes = fragment.staged_row(row, place.0)?;
        let key = fragment.key_of(row).into();
        Some(ReplicatedWrite { table: TableRef { id: table, version: 0 }, key, row: bytes.map(Arc::from) })
    }

    /// An open transaction: each operation with the version that it staged, so that the new primary can undo the same.
    fn add_open(&self, place: Place, pieces: &mut Pieces) {
        let Some(held) = self.held.get(&place) else { return };
        let (transaction, partition) = place;
        // From the last one: the newest version of a row is that of the last operation on it.
        let mut versions: BTreeMap<(TableId, RowHandle), StagedRow> = BTreeMap::new();
        let mut operations = Vec::with_capacity(held.operations.len());
        for operation in held.operations.iter().rev() {
            operations.push(match operation {
                Operation::Locked(key) => HandedOperation::Locked {
                    table: key.table,
                    key: key.key.clone(),
                    mode: self.locks.mode_of(key, transaction).unwrap_or(LockMode::Shared),
                },
                Operation::Staged { table, version, row, .. } => {
                    let fragment = self.fragments.get(&(*table, partition));
                    let of_row = versions.entry((*table, *row)).or_insert_with(|| {
                        let staged = fragment.map(|fragment| fragment.staged_versions(*row, transaction));
                        staged.into_iter().flatten().map(|row| row.map(Arc::from)).collect()
                    });
                    match (fragment, of_row.pop_front()) {
                        (Some(fragment), Some(bytes)) => {
                            let table = TableRef { id: *table, version: *version };
                            let key = fragment.key_of(*row).into();
                            HandedOperation::Staged(ReplicatedWrite { table, key, row: bytes })
                        }
                        // The table was dropped: the operation counts, and does nothing.
                        _ => HandedOperation::Locked {
                            table: *table,
                            key: Box::default(),
                            mode: LockMode::Shared,
                        },
                    }
                }
            });
        }
        for operation in operations.into_iter().rev() {
            let bytes = match &operation {
                HandedOperation::Staged(write) => size_of_write(write),
                HandedOperation::Locked { key, .. } => key.len(),
            };
            let piece = pieces.last(bytes);
            match piece.transactions.last_mut().filter(|last| last.transaction == transaction) {
                Some(last) => last.operations.push(operation),
                None => {
                    let (session, operations) = (held.session, vec![operation]);
                    piece.transactions.push(HandedTransaction { transaction, session, operations });
                }
            }
        }
    }

    // ---- letting go ---------------------------------------------------------------------------------------------------------------

    /// Who replicates has taken: its word was lost with a connection, perhaps, but not what followed.
    pub(super) fn on_replicated(&mut self, partition: PartitionId, outputs: &mut Outputs<Shared>) {
        if self.partition(partition).is_some_and(|state| state.hand_out.is_some()) {
            self.on_taken(partition, outputs);
        }
    }

    /// The new primary has everything. What it replicates comes behind this, so it is done at once.
    pub(super) fn on_taken(&mut self, partition: PartitionId, outputs: &mut Outputs<Shared>) {
        if !self.is_elsewhere(partition) || mutants::is(Mutant::OpenKeptAfterHandOver) {
            return;
        }
        let hand_out = self.partition(partition).and_then(|state| state.hand_out.as_ref());
        let is_report_due = hand_out.is_some_and(|hand_out| !hand_out.is_sent);
        if let (Some(hand_out), Some(primary)) = (hand_out, self.map.primary(partition)) {
            for run in &hand_out.waits {
                let moved = Signal::WaitMoved { request: run.request(), to: primary };
                outputs.send(self.address, run.from(), moved);
            }
        }
        self.let_go(partition, outputs);
        if is_report_due {
            self.report(partition, outputs);
        }
    }

    /// Drops what is open: another member has it, or nobody goes on with it. At once: another member's places on the same rows may come next.
    pub(super) fn let_go(&mut self, partition: PartitionId, outputs: &mut Outputs<Shared>) {
        let Some(state) = self.partitions.get_mut(&partition) else { return };
        state.hand_out = None;
        state.takeover.lose_claim();
        let is_undo = |job: &Job| matches!(job, Job::Undo(undo) if undo.partition() == partition);
        let mut undos: Vec<u64> =
            self.jobs.iter().filter(|(_, job)| is_undo(job)).map(|(id, _)| *id).collect();
        undos.sort_unstable();
        for job in undos {
            if let Some(Job::Undo(undo)) = self.jobs.remove(&job) {
                self.end_undo(*undo, outputs);
            }
        }
        for place in self.open_of(partition) {
            self.drop_open(place);
        }
        self.count_unsettled(outputs);
        if !self.waiting_backfills.is_empty() {
            self.resume_backfills(outputs);
        }
    }

    /// Undoes an open transaction without slices. (Who asks for more of it is refused.)
    fn drop_open(&mut self, place: Place) {
        let Some(held) = self.held.remove(&place) else { return };
        for operation in held.operations {
            self.drop_operation(place, operation);
        }
    }

    pub(super) fn drop_operation(&mut self, place: Place, operation: Operation) {
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

    fn open_of(&self, partition: PartitionId) -> Vec<Place> {
        let is_open = |held: &super::Held| held.stage == HeldStage::Open;
        let of = self.held.iter().filter(|((_, of), held)| *of == partition && is_open(held));
        let mut places: Vec<Place> = of.map(|(place, _)| *place).collect();
        places.sort_unstable();
        places
    }

    /// The view has begun another line, or nobody knows how far this one went elsewhere: what is open here is lost, and requests that wait are.
    pub(super) fn give_up_line(&mut self, now: Now, partition: PartitionId, outputs: &mut Outputs<Shared>) {
        let waits = self.take_waits(now, partition);
        let Some(state) = self.partitions.get_mut(&partition) else { return };
        state.hand_out.get_or_insert_default().waits.extend(waits);
        state.takeover.begin_again(state.is_primary, self.map.view.number);
        self.lose_handed_waits(|run| run.partition() == partition, outputs);
        self.let_go(partition, outputs);
    }

    /// Primary again before anybody took what was to be handed over: requests that waited go on.
    pub(super) fn take_back(&mut self, partition: PartitionId, outputs: &mut Outputs<Shared>) {
        let Some(state) = self.partitions.get_mut(&partition) else { return };
        if let Some(hand_out) = state.hand_out.take() {
            self.resuming.extend(hand_out.waits);
            self.tell_sessions(partition, outputs);
        }
    }

    /// The node is about to stop: says so once this module leads nothing, has nothing that another one waits for, and all sessions have heard what it said.
    pub(super) fn stand_down(&mut self, outputs: &mut Outputs<Shared>) {
        let is_done = self.partitions.values().all(|state| !state.is_primary && state.hand_out.is_none())
            && self.owed.is_empty();
        let Some(standing_down) = self.standing_down.as_mut().filter(|_| is_done) else { return };
        let (map, unheard) = (&self.map, &mut standing_down.unheard);
        // Each time that something was said.
        for module in std::mem::take(&mut self.told) {
            outputs.send(self.address, module, Signal::LastWord);
            unheard.push(module);
        }
        unheard.retain(|module| !map.is_out(module.node));
        if unheard.is_empty() {
            outputs.send(self.address, standing_down.main, Signal::StoodDown);
            self.standing_down = None;
        }
    }

    /// A module of sessions has heard everything that this one said before.
    pub(super) fn on_last_word_heard(&mut self, module: Address) {
        let unheard = self.standing_down.as_mut().map(|standing_down| &mut standing_down.unheard);
        // One word is answered by one.
        if let Some(unheard) = unheard
            && let Some(place) = unheard.iter().position(|missing| *missing == module)
        {
            unheard.remove(place);
        }
    }

    // ---- taking -------------------------------------------------------------------------------------------------------------------

    pub(super) fn on_hand_over(&mut self, from: NodeId, piece: HandOver) {
        if let Some(state) = self.partitions.get_mut(&piece.partition) {
            state.takeover.keep_piece(from, piece);
        }
    }

    /// Places that this new primary lacks become prepared here, as if they had come in time.
    pub(super) fn take_places(
        &mut self,
        partition: PartitionId,
        places: Vec<(ViewNumber, Replicate)>,
        outputs: &mut Outputs<Shared>,
    ) {
        let places = places.into_iter().filter(|(_, replicate)| replicate.partition == partition);
        for (stream, replicate) in places.filter(|_| !mutants::is(Mutant::HandedPlacesLost)) {
            let place = (replicate.transaction, replicate.partition);
            let is_known = self.applied.contains_key(&place) || self.outcomes.get(&place).is_some();
            let is_consumed = self
                .partition(place.1)
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

    /// Open transactions and waits go on here.
    pub(super) fn take_open(
        &mut self,
        partition: PartitionId,
        pieces: Vec<HandOver>,
        outputs: &mut Outputs<Shared>,
    ) {
        let mut void: BTreeSet<TransactionId> = BTreeSet::new();
        let mut waits = Vec::new();
        for piece in pieces {
            for (node, transaction) in piece.void {
                self.void.entry(node).or_default().insert((transaction, partition));
            }
            for handed in piece.transactions {
                let place = (handed.transaction, partition);
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
        for run in waits.into_iter().map(Run::taken).filter(|run| run.partition() == partition) {
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
        self.tell_sessions(partition, outputs);
    }

    /// Sessions hear of what is open here now, and abort what is over.
    fn tell_sessions(&self, partition: PartitionId, outputs: &mut Outputs<Shared>) {
        if mutants::is(Mutant::SessionsNotTold) {
            return;
        }
        let open = self.open_of(partition).into_iter();
        let open = open.filter_map(|place| Some((place.0, self.held.get(&place)?.session)));
        let resuming = self.resuming.iter().filter(|run| run.partition() == partition);
        let told: BTreeMap<TransactionId, Address> =
            open.chain(resuming.map(|run| (run.place().0, run.from()))).collect();
        for (transaction, session) in told {
            outputs.send(self.address, session, Signal::TransactionMoved { transaction, partition });
        }
    }

    fn stage_handed(
        &mut self,
        place: Place,
        session: Address,
        operations: Vec<HandedOperation>,
    ) -> Result<(), Refusal> {
        let (transaction, partition) = place;
        for operation in operations {
            self.charge_operation()?;
            let done = match operation {
                HandedOperation::Locked { table, key, mode } => {
                    let key = LockKey { partition, table, key };
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
        let (transaction, partition) = place;
        self.check_row(write.table.id, &write.key, write.row.as_deref())?;
        let key = LockKey { partition, table: write.table.id, key: write.key.clone() };
        let owner = self.implicit_owner(&key);
        if owner.is_some_and(|owner| owner != transaction) {
            // A broken peer's: two transactions on one row.
            return Err(Refusal::NotHeld);
        }
        let fragment = self.fragments.get_mut(&(write.table.id, partition)).ok_or(Refusal::WrongSchema)?;
        let row = fragment.stage(&write.key, transaction, write.row.as_deref());
        Ok((row.map_err(|full| super::region_full(&full))?, owner.is_none()))
    }

    /// Requests that waited elsewhere, or before this member stepped down, look for their locks again, in their order.
    pub(super) fn resume_waits(&mut self, now: Now, outputs: &mut Outputs<Shared>) {
        if self.resuming.is_empty() {
            return;
        }
        if !self.is_leased(now) {
            return self.await_lease(now);
        }
        let resuming = std::mem::take(&mut self.resuming);
        let is_early =
            |run: &Run| self.partition(run.partition()).is_some_and(|state| !state.takeover.is_settled());
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

/// Pieces that are filled one after the other.
struct Pieces {
    partition: PartitionId,
    pieces: Vec<HandOver>,
    /// Of the last one.
    count: usize,
    bytes: usize,
}

impl Pieces {
    fn new(partition: PartitionId) -> Self {
        Self { partition, pieces: Vec::new(), count: 0, bytes: 0 }
    }

    /// The piece that takes the next thing, of this size.
    fn last(&mut self, bytes: usize) -> &mut HandOver {
        if self.pieces.is_empty() || self.count >= PIECE_OPERATIONS || self.bytes >= PIECE_BYTES {
            (self.count, self.bytes) = (0, 0);
            self.pieces.push(HandOver {
                partition: self.partition,
                places: Vec::new(),
                transactions: Vec::new(),
                waits: Vec::new(),
                void: Vec::new(),
            });
        }
        self.count += 1;
        self.bytes += bytes;
        let last = self.pieces.len() - 1;
        &mut self.pieces[last]
    }
}

fn size_of_write(write: &ReplicatedWrite) -> usize {
    write.key.len() + write.row.as_ref().map_or(0, |row| row.len())
}

/// Where a request belongs that may be held back or returned.
pub(super) fn partition_of(signal: &Signal) -> Option<PartitionId> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "only these are held back")]
    match signal {
        Signal::Write(request) => Some(request.partition),
        Signal::Read(request) => Some(request.partition),
        Signal::CommitOne(request) => Some(request.participant.partition),
        Signal::Prepare { participant, .. } => Some(participant.partition),
        Signal::RollbackTo { partition, .. }
        | Signal::Abort { partition, .. }
        | Signal::OutcomeAsk { partition, .. }
        | Signal::Forget { partition, .. }
        | Signal::RecoveryAsk { partition, .. } => Some(*partition),
        _ => None,
    }
}

impl Run {
    /// As it travels.
    fn handed(&self) -> HandedWait {
        match self {
            Self::Write(run) => run.handed(),
            Self::Read(run) => run.handed(),
        }
    }

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
