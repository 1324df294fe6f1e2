//! All signals, grouped by pair of talkers. Requests, their `Done` and their refusals come together. The files of this
//! folder hold the structs that signals carry.
//!
//! The write path (ARCHITECTURE.md tells it as a story):
//!
//! ```text
//! one primary:      session -> P  Write{commit} or CommitOne        P -> B  Replicate        B -> P  Applied
//!                   P -> session  WriteDone / CommitDone            P -> B  Decided
//! several primaries: session -> tc Coordinate     tc -> Pi Prepare  Pi -> Bi Replicate       Pi, Bi -> tc Prepared
//!                   tc -> session CommitDone      tc -> Pi, Bi Outcome                       Pi, Bi -> tc OutcomeRecorded
//! ```

mod commit;
mod copy;
mod fence;
mod management;
mod membership;
mod schema;
mod session;
mod takeover;

pub use commit::{
    CommitDone, CommitOneRequest, CommitOutcome, CoordinateRequest, Decider, Outcome, Participant,
    Participants, Prepared, Replicate, ReplicateAhead, ReplicatedWrite, Sealed, Writes,
};
pub use copy::{CopiedEntries, CopiedOutcome, CopiedRange, CopiedRow, CopyBounds, CopyPiece, CopyPosition};
pub use fence::{Fence, SignalEntry, Verdict};
pub use management::{
    ChecksumDone, ChecksumRequest, CommonTable, DriverTable, INFO_ROWS_MAX, InfoSource, InfoTable, LdmTable,
    MainTable, SqlTable,
};
pub use membership::{ClusterTerms, FullStop, FullStopStep, JoinRequest, LeaveStep};
pub use schema::TableUsers;
pub use session::{
    Granted, Probe, ReadBatch, ReadDone, ReadRequest, ReturnedRequest, Spent, WriteDone, WriteFailure,
    WriteRequest, WriteSummary,
};
pub use takeover::{
    Claim, GatherReport, HandOver, HandedOperation, HandedTransaction, HandedWait, RecoveredState,
    RecoveryReport, UndecidedPlace,
};

use crate::control::{ControlMessage, RecoveryOrder, VoterPlace};
use crate::heartbeat::Heartbeat;
use crate::program::{Refusal, TableRef};
use crate::restart::{RestoreOrder, RestoreProgress};
use crate::view::View;
use crate::{Address, SqlError};
use std::sync::Arc;
use types::{
    Epoch, Incarnation, NodeId, RestartNumber, SchemaVersion, Sequence, SlotId, TransactionId, Value,
    ViewNumber,
};
use wire_derive::{Signals, Wire};

/// A signal on its way.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct Envelope {
    /// The sender.
    pub from: Address,
    /// The receiver.
    pub to: Address,
    /// The sender's view: data signals are handled only in the installed view (I2).
    pub view: ViewNumber,
    /// The sender's epoch: a receiver adopts a higher one before it handles the signal.
    pub epoch: Epoch,
    /// The signal.
    pub signal: Signal,
}

impl Envelope {
    /// An envelope whose view and epoch the module's wrapper fills in.
    #[must_use]
    pub const fn unstamped(from: Address, to: Address, signal: Signal) -> Self {
        Self { from, to, view: ViewNumber(0), epoch: Epoch(0), signal }
    }
}

/// Chosen by the requester, echoed by the answerer: names the block and the request within its module.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Wire)]
pub struct RequestId(pub u64);

/// A node's report on itself to management nodes.
#[derive(Clone, PartialEq, Eq, Debug, Default, Wire)]
pub struct NodeReport {
    /// The version, for people.
    pub version: String,
    /// A hash of config.ini as the node has it.
    pub config: String,
    /// Where it serves MySQL clients; 0: nowhere.
    pub mysql_port: u16,
    /// Rows can be read through it; a management node has a map of the cluster.
    pub serves: bool,
    /// The reason for which it waits, if it does not serve.
    pub waits: String,
}

/// Connections that [`Signal::SchemaInstalled`] tells at most.
pub const SCHEMA_USERS_MAX: usize = 64;

/// Everything modules say to each other. Each variant's attribute is its line in the table of signals: which modules
/// receive it, and what its sender's view means for them (`wire_derive::Signals`, [`Fence`]).
#[derive(Clone, PartialEq, Debug, Wire, Signals)]
pub enum Signal {
    // ---- a module to itself -----------------------------------------------------------------------------------------
    /// Go on with the work named by this number after other work had its turn.
    #[signal(to(sql, ldm, query), fence = none)]
    Continue(u64),

    // ---- session -> ldm or query, and back --------------------------------------------------------------------------
    /// Read rows.
    #[signal(to(ldm, query), fence = older, slot = slot)]
    Read(Box<ReadRequest>),
    /// Rows.
    #[signal(to(sql, main), fence = older)]
    ReadDone(Box<ReadDone>),
    /// Stage changes.
    #[signal(to = ldm, fence = older, slot = slot)]
    Write(Box<WriteRequest>),
    /// Staged (and committed, if asked).
    #[signal(to(sql, main), fence = older)]
    WriteDone(Box<WriteDone>),
    /// Undo the operations above `operations` at this participant (savepoint, failed statement).
    #[signal(to = ldm, fence = older)]
    RollbackTo {
        /// Echoed.
        request: RequestId,
        /// Whose.
        transaction: TransactionId,
        /// Which slot.
        slot: SlotId,
        /// How many operations stay.
        operations: u32,
    },
    /// Undone; false if the participant does not hold the transaction any more, which is doomed then.
    #[signal(to = sql, fence = older)]
    RollbackDone {
        /// From the request.
        request: RequestId,
        /// It held it.
        held: bool,
    },
    /// Undo everything of a transaction that is not being committed; no answer.
    #[signal(to = ldm, fence = older)]
    Abort {
        /// Whose.
        transaction: TransactionId,
        /// Which slot.
        slot: SlotId,
    },
    /// Commit at the only participant.
    #[signal(to = ldm, fence = older, slot = participant.slot)]
    CommitOne(Box<CommitOneRequest>),
    /// Asks for the outcome of a commit whose answer did not come. The primary answers as it would have answered the
    /// commit; a transaction that is not ending there ends by this question: aborted.
    #[signal(to = ldm, fence = older)]
    OutcomeAsk {
        /// Echoed.
        request: RequestId,
        /// Whose.
        transaction: TransactionId,
        /// A participant with writes.
        slot: SlotId,
        /// The commit was carried by a write: answer with `WriteDone`.
        is_write: bool,
    },

    /// ldm -> session's module: ask the primary of the newer view.
    #[signal(to(sql, main), fence = older)]
    Returned(Box<ReturnedRequest>),
    /// Old primary -> session's module: this request waits at another one now.
    #[signal(to(sql, main), fence = older)]
    WaitMoved {
        /// The request.
        request: RequestId,
        /// Where; None: nowhere any more, and nobody answers it.
        to: Option<Address>,
    },
    /// ldm of a node that is about to stop -> sql modules of data nodes, main of SQL nodes: it leads nothing, and has
    /// said everything to sessions.
    #[signal(to(sql, main), fence = older)]
    LastWord,
    /// The module, or all sql modules of that node, use a view in which that is so.
    #[signal(to = ldm, fence = older)]
    LastWordHeard,
    /// New primary -> session's module, or the main module that reserves AUTO_INCREMENT values. The primary goes on
    /// with this open transaction. The module aborts it if it is over, or was an earlier life's.
    #[signal(to(sql, main), fence = older)]
    TransactionMoved {
        /// Whose.
        transaction: TransactionId,
        /// Which slot.
        slot: SlotId,
    },

    // ---- session -> tc, and back ------------------------------------------------------------------------------------
    /// Commit over several participants.
    #[signal(to = tc, fence = older)]
    Coordinate(Box<CoordinateRequest>),
    /// The outcome, from a tc or from the only participant.
    #[signal(to(sql, main), fence = older)]
    CommitDone(CommitDone),
    /// session -> tc of another node: the session knows the outcome.
    #[signal(to = tc, fence = older, deferrable)]
    Confirm {
        /// Whose.
        transaction: TransactionId,
    },

    // ---- tc -> primaries --------------------------------------------------------------------------------------------
    /// Make the staged writes durable at all replicas, and answer the coordinator.
    #[signal(to = ldm, fence = strict, slot = participant.slot)]
    Prepare {
        /// Whose.
        transaction: TransactionId,
        /// The operations that must be held.
        participant: Participant,
        /// Stamp no epoch below this.
        epoch_seen: Epoch,
        /// The participants with writes.
        participants: Participants,
    },
    /// A replica has it.
    #[signal(to = tc, fence = strict, slot = slot)]
    Prepared(Box<Prepared>),
    /// Commit or abort.
    #[signal(to = ldm, fence = strict, slot = slot)]
    Outcome(Outcome),
    /// A replica has recorded the outcome. Only the record of an abort is waited for: aborts that late are rare, and
    /// their sessions may wait a little longer.
    #[signal(to(tc, ldm), fence = strict, deferrable)]
    OutcomeRecorded {
        /// Whose.
        transaction: TransactionId,
        /// Which slot.
        slot: SlotId,
    },
    /// Every participant has recorded their outcomes and their sessions know them: their markers go.
    #[signal(to = ldm, fence = older, deferrable)]
    Forget {
        /// Which slot.
        slot: SlotId,
        /// Whose.
        transactions: Vec<TransactionId>,
    },

    // ---- primary -> backups, and back -------------------------------------------------------------------------------
    /// A piece of a large transaction.
    #[signal(to = ldm, fence = strict, slot = slot)]
    ReplicateAhead(Box<ReplicateAhead>),
    /// The next place in the slot's stream.
    #[signal(to = ldm, fence = strict, slot = slot)]
    Replicate(Box<Replicate>),
    /// A piece is staged at the backup, or it is not (the transaction will be refused when its prepare comes).
    #[signal(to = ldm, fence = strict)]
    AheadApplied {
        /// Which slot.
        slot: SlotId,
        /// Whose.
        transaction: TransactionId,
    },
    /// A one-primary commit is applied at the backup, or refused.
    #[signal(to = ldm, fence = strict)]
    Applied {
        /// Which slot.
        slot: SlotId,
        /// Its place.
        sequence: Sequence,
        /// Why not.
        refusal: Option<Refusal>,
    },
    /// A one-primary commit that the primary has published.
    #[signal(to = ldm, fence = strict, deferrable)]
    Decided {
        /// Which slot.
        slot: SlotId,
        /// Its place.
        sequence: Sequence,
    },
    /// Forget the pieces shipped ahead: the transaction aborted before its prepare.
    #[signal(to = ldm, fence = strict)]
    DropAhead {
        /// Which slot.
        slot: SlotId,
        /// Whose.
        transaction: TransactionId,
    },

    // ---- copying to a member that joins -----------------------------------------------------------------------------
    /// primary -> joining member.
    #[signal(to = ldm, fence = strict, slot = slot)]
    CopyPiece(Box<CopyPiece>),
    /// Back: the next piece may come.
    #[signal(to = ldm, fence = strict)]
    CopyApplied {
        /// Which slot.
        slot: SlotId,
        /// Of these the member has other rows: it asks for all of them.
        differing: Vec<CopyBounds>,
    },
    /// ldm -> main of the joining member: every row of a slot is here, in this view.
    #[signal(to = main, fence = strict)]
    SlotCopied {
        /// Which slot.
        slot: SlotId,
    },
    /// main of the joining member -> membership -> control plane: all slots are copied.
    #[signal(to = membership, fence = none)]
    CaughtUp {
        /// In this view.
        view: ViewNumber,
    },

    // ---- takeover ---------------------------------------------------------------------------------------------------
    /// member -> primary of the new view.
    #[signal(to = ldm, fence = strict, slot = slot)]
    Gather(Box<GatherReport>),
    /// Old primary -> primary of the new view, before its report.
    #[signal(to = ldm, fence = strict, slot = slot)]
    HandOver(Box<HandOver>),
    /// Back: the new primary has all of it, and the old one lets go.
    #[signal(to = ldm, fence = strict)]
    Taken {
        /// Which slot.
        slot: SlotId,
    },
    /// primary -> recoverer.
    #[signal(to = tc, fence = strict, slot = slot)]
    RecoveryReport(Box<RecoveryReport>),
    /// recoverer -> primary of a participant: report.
    #[signal(to = ldm, fence = strict)]
    RecoveryAsk {
        /// Whose.
        transaction: TransactionId,
        /// Which slot.
        slot: SlotId,
        /// The participants with writes.
        participants: Participants,
    },

    // ---- deadlock probes --------------------------------------------------------------------------------------------
    /// ldm -> session of `transaction`: where does it wait?
    #[signal(to = sql, fence = older)]
    ProbeSession(Probe),
    /// session -> ldm where `transaction` waits.
    #[signal(to(tc, ldm), fence = older)]
    ProbeWait(Probe),
    /// ldm -> the initiator's ldm: it is in a cycle.
    #[signal(to = ldm, fence = older)]
    ProbeHit {
        /// The victim.
        initiator: TransactionId,
        /// Its wait.
        wait: u64,
        /// A transaction of the cycle.
        other: TransactionId,
    },

    // ---- epochs: main <-> main, main <-> ldm and tc (the rest is at the end) ---------------------------------------
    /// main of a member -> main of the master: something was stamped in this epoch, and it wants to be closed.
    #[signal(to = main, fence = strict)]
    EpochWanted {
        /// The epoch.
        epoch: Epoch,
    },
    /// From the master: stamp new prepares `epoch` or higher, drain what was stamped below.
    #[signal(to(main, tc, ldm), fence = strict)]
    EpochOpen {
        /// The new epoch.
        epoch: Epoch,
    },
    /// From a member (or a module to its main): nothing stamped below `epoch` is undecided here.
    #[signal(to = main, fence = strict)]
    EpochDrained {
        /// The opened epoch.
        epoch: Epoch,
    },
    /// From the master, and from a main to its ldms and its disk: everything in `epoch` and below is applied at every
    /// replica, and decided at its primary. (That stays so in newer views.) If it is awaited, a log that has it whole
    /// is flushed at once.
    #[signal(to(main, ldm, disk), fence = older)]
    EpochClosed {
        /// The closed epoch.
        epoch: Epoch,
        /// Somebody waits for it to be durable.
        is_awaited: bool,
        /// The time, by the master's clock.
        closed_at_us: u64,
        /// For how long it, or an epoch that was closed with it, had a stamp by then; none: nothing was stamped.
        stamped_for_us: Option<u64>,
    },

    // ---- catalogue: the node that runs a DDL job -> main of every member --------------------------------------------
    /// Read the catalogue rows at this version or newer and install them; then say who uses older versions of these
    /// tables. A node's `main` asks its own `sql` modules the same.
    #[signal(to(sql, main), fence = none)]
    SchemaInstall {
        /// Echoed.
        request: RequestId,
        /// The version.
        version: SchemaVersion,
        /// The users that count.
        #[wire(since = 5)]
        tables: Vec<TableUsers>,
        /// Users count that have used the table for so long.
        #[wire(since = 5)]
        used_for_ms: u32,
    },
    /// Installed everywhere on this node.
    #[signal(to(sql, main), fence = none)]
    SchemaInstalled {
        /// From the request.
        request: RequestId,
        /// The version.
        version: SchemaVersion,
        /// Connections on this node that use the tables as the request says: [`SCHEMA_USERS_MAX`] of them at most, none
        /// only if there is none.
        #[wire(since = 5)]
        users: Vec<u32>,
    },
    /// A node without slots asks a data node's main for the catalogue.
    #[signal(to = main, fence = none)]
    SchemaFetch {
        /// Echoed.
        request: RequestId,
        /// The asker's newest view: the answer waits for it.
        #[wire(since = 3)]
        view: ViewNumber,
        /// The version that the asker has: what changed since is enough.
        #[wire(since = 6)]
        known: Option<SchemaVersion>,
    },
    /// A part of the catalogue, or what of it changed. The parts come in order.
    #[signal(to = main, fence = none)]
    SchemaFetched {
        /// From the request.
        request: RequestId,
        /// An encoded `types::SchemaPart`; or `catalogue::SchemaChanges`.
        schema: Box<[u8]>,
        /// The latter: behind which version.
        #[wire(since = 6)]
        since: Option<SchemaVersion>,
    },
    /// session -> main: reserve AUTO_INCREMENT values of a table, at least up to `at_least`.
    #[signal(to = main, fence = older)]
    SequenceRequest {
        /// Echoed.
        request: RequestId,
        /// The table.
        table: types::TableId,
        /// How many values.
        count: u64,
        /// Raise the counter to this first.
        at_least: u64,
    },
    /// main -> session: values `first .. first + count` are this node's.
    #[signal(to = sql, fence = older)]
    SequenceDone {
        /// From the request.
        request: RequestId,
        /// The table.
        table: types::TableId,
        /// The first value.
        first: u64,
        /// How many.
        count: u64,
    },
    /// main -> ldm: build the entries of a new index of every fragment, a slice at a time.
    #[signal(to(main, ldm), fence = older)]
    BackfillRequest {
        /// Echoed.
        request: RequestId,
        /// The table.
        table: TableRef,
        /// The index.
        index: types::IndexId,
    },
    /// Built, or why not.
    #[signal(to(sql, main), fence = older)]
    BackfillDone {
        /// From the request.
        request: RequestId,
        /// Why not.
        refusal: Option<Refusal>,
    },

    // ---- membership -------------------------------------------------------------------------------------------------
    /// Control log to control log.
    #[signal(to = membership, fence = none)]
    Control(Box<ControlMessage>),
    /// Member to member, each interval.
    #[signal(to = membership, fence = none)]
    Heartbeat(Box<Heartbeat>),
    /// membership -> main: this process start is known to the cluster by this number. The view follows when it is
    /// complete. main -> disk: the next file of the log is of this life.
    #[signal(to(main, disk), fence = none)]
    JoinAccepted {
        /// Its life.
        incarnation: Incarnation,
    },
    /// membership -> membership: the sender heard of a view that is newer than its own, and asks for it.
    #[signal(to = membership, fence = none)]
    ViewWanted,
    /// The newest committed view. A node that was let in tells others the cluster's terms and its own life, too,
    /// whenever a link comes up.
    #[signal(to(membership, main), fence = none)]
    ViewInstall(
        Arc<View>,
        #[wire(since = 4)] Option<Box<ClusterTerms>>,
        #[wire(since = 8)] Option<Incarnation>,
    ),
    /// main -> main of every data node: all modules of the sender use this view.
    #[signal(to = main, fence = strict)]
    ViewInstalled {
        /// The view.
        view: ViewNumber,
    },
    /// main -> its ldms: every data node has installed this view.
    #[signal(to = ldm, fence = strict)]
    ViewSettled {
        /// The view.
        view: ViewNumber,
    },
    /// main -> membership of the same node: it is about to stop.
    #[signal(to = membership, fence = none)]
    Leaving {
        /// How far it is.
        step: LeaveStep,
    },
    /// membership -> main: the links to a node are up.
    #[signal(to = main, fence = none)]
    PeerFound {
        /// The node.
        node: NodeId,
    },
    /// membership -> main -> sql modules of its node: a member is unreachable.
    #[signal(to(sql, main), fence = none)]
    PeerLost {
        /// The node.
        node: NodeId,
        /// Its life.
        incarnation: Incarnation,
    },

    // ---- management and introspection -------------------------------------------------------------------------------
    /// Rows of an ndbinfo table.
    #[signal(to(sql, tc, ldm, query, main, membership), fence = none)]
    InfoRequest {
        /// Echoed.
        request: RequestId,
        /// Which table.
        table: InfoTable,
    },
    /// The rows of one node or module.
    #[signal(to(sql, main), fence = none)]
    InfoDone {
        /// From the request.
        request: RequestId,
        /// The rows.
        rows: Vec<Vec<Value>>,
    },
    /// Stop this node in an orderly way.
    #[signal(to = main, fence = none)]
    StopNode {
        /// The client that asked, for the log.
        reason: String,
        /// The exit code of the process: tells its angel whether it is to be started again.
        exit_code: u8,
        /// The others go on: primaries and sessions leave first, and if nobody can take them, the node stays.
        is_alone: bool,
    },
    /// main -> its ldms, which lead nothing any more: answer when nothing is left to be handed over or answered.
    #[signal(to(tc, ldm), fence = none)]
    StandDown,
    /// Back.
    #[signal(to = main, fence = none)]
    StoodDown,
    /// main -> its sql modules: sessions end with their transaction, or are told 1053.
    #[signal(to = sql, fence = none)]
    Drain {
        /// How long open transactions may go on; None: the node stays after all.
        patience_ms: Option<u32>,
    },
    /// Back: there are no sessions any more.
    #[signal(to = main, fence = none)]
    Drained,
    /// End a client's session or its running statement.
    #[signal(to = sql, fence = none)]
    KillSession {
        /// The connection's id as clients see it.
        connection: u64,
        /// Only the running statement.
        query_only: bool,
        /// Only if the session is this user's: the one who asks may not end those of others.
        #[wire(since = 5)]
        only_of: Option<String>,
        /// Echoed, in `InfoDone` without rows or in `Failed`, to the session that asks.
        #[wire(since = 5)]
        request: RequestId,
    },
    /// Digest rows.
    #[signal(to = ldm, fence = older)]
    Checksum(Box<ChecksumRequest>),
    /// Digests.
    #[signal(to = main, fence = older)]
    ChecksumDone(Box<ChecksumDone>),
    /// A request could not be done by this module.
    #[signal(to(sql, main), fence = none)]
    Failed {
        /// From the request.
        request: RequestId,
        /// Why.
        error: SqlError,
    },
    /// main of a joining member -> main of management nodes: so many of its slots are copied.
    #[signal(to = main, fence = none)]
    RestartProgress {
        /// Whole.
        copied: u32,
        /// All that have to be.
        slots: u32,
    },
    /// membership of a node with a copy of the control log -> membership of nodes without one; membership -> its main:
    /// who has copies.
    #[signal(to(membership, main), fence = none)]
    Voters {
        /// How far the log was applied where this was true: a higher one is newer.
        applied: u64,
        /// By voter id.
        voters: Vec<VoterPlace>,
    },
    /// ldm -> ldm of the same slots: answer at once. How late the answer is tells how late all answers of that module
    /// are.
    #[signal(to = ldm, fence = strict)]
    LagProbe {
        /// Counted by the sender.
        probe: u64,
    },
    /// Back.
    #[signal(to = ldm, fence = strict)]
    LagProbed {
        /// From the probe.
        probe: u64,
    },
    /// ldm -> membership of its node: A replica owes an answer for so long.
    ///
    /// disk -> membership of its node: A flush takes so long; the replica is the node's own.
    ///
    /// membership -> membership of other nodes: Therefore a view without that node is asked for.
    #[signal(to = membership, fence = none)]
    ReplicaLags {
        /// The replica's node.
        node: NodeId,
        /// For how long at least.
        milliseconds: u32,
    },
    /// main of a management node -> its membership: an operator's order.
    #[signal(to = membership, fence = none)]
    RecoverVoters(Box<RecoveryOrder>),
    /// Back.
    #[signal(to = main, fence = none)]
    VotersRecovered {
        /// From the order.
        number: u64,
        /// In words, for the operator.
        text: String,
    },
    /// membership -> its main: what it waits for, for operators; empty: nothing any more.
    #[signal(to = main, fence = none)]
    ControlPlaneAwaited {
        /// The missing voters, and how to help.
        text: String,
    },
    /// main -> main of management nodes: how far a node is, and what an operator wants to know of it.
    #[signal(to = main, fence = none)]
    NodeReport(Box<NodeReport>),
    /// main of a management node -> main: could you start again, with this config.ini?
    #[signal(to = main, fence = none)]
    RestartCheck {
        /// Echoed.
        request: RequestId,
        /// The text that the management node hands out.
        config: String,
    },
    /// Back.
    #[signal(to = main, fence = none)]
    RestartChecked {
        /// From the question.
        request: RequestId,
        /// Why not, if not.
        refusal: Option<String>,
    },
    /// Nobody wants the rest of a read: its session or its statement has ended.
    #[signal(to(ldm, query), fence = older)]
    CancelRead {
        /// The read's.
        request: RequestId,
    },

    // ---- whole and durable epochs -----------------------------------------------------------------------------------
    /// ldm -> its main: it has stamped something in this epoch, which wants to be closed.
    #[signal(to = main, fence = strict)]
    EpochStamped {
        /// The epoch.
        epoch: Epoch,
        /// The time of the first stamp, by the node's monotonic clock.
        at_ns: u64,
    },
    /// ldm -> its main: `epoch` is closed, and nothing up to it is undecided here: all of it is known.
    #[signal(to = main, fence = none)]
    EpochWhole {
        /// The epoch.
        epoch: Epoch,
    },
    /// disk -> its main: the log has whole(`epoch`) on disk.
    #[signal(to = main, fence = none)]
    Flushed {
        /// The epoch.
        epoch: Epoch,
    },
    /// main of a member -> main of the master: the same. It is said again in each view.
    #[signal(to = main, fence = strict)]
    EpochFlushed {
        /// The epoch.
        epoch: Epoch,
        /// The highest durable epoch that the member knows.
        durable: Epoch,
    },
    /// From the master: what all members have flushed, and what is durable. To mains that asked, too, and from a main
    /// to modules that asked. (That stays so in newer views.)
    #[signal(to(sql, main, disk), fence = older)]
    EpochDurable {
        /// The restart of the cluster in which that is so.
        restart: RestartNumber,
        /// F.
        flushed: Epoch,
        /// D.
        durable: Epoch,
    },
    /// session -> its main -> main of the master: somebody waits for this to be durable. `EpochDurable` answers, at
    /// each step until it is.
    #[signal(to = main, fence = older)]
    DurableWanted {
        /// The epoch.
        epoch: Epoch,
    },

    // ---- disks and restarts (`restart`) -----------------------------------------------------------------------------
    /// disk -> membership of the same data node, before it joins: what its disk holds.
    #[signal(to = membership, fence = none)]
    DiskRead(Box<crate::Claim>),
    /// membership -> main -> disk of the same data node, which no view names yet: restore, then answer.
    #[signal(to(main, disk), fence = none)]
    Restore(RestoreOrder),
    /// disk -> membership: the rows are there, and a file header on disk says so.
    #[signal(to = membership, fence = none)]
    Restored(RestoreOrder),
    /// membership -> its main: the restart of the cluster waits for this; empty: for nothing.
    #[signal(to = main, fence = none)]
    RestartAwaited {
        /// In words.
        text: String,
    },
    /// disk -> main of the same data node: how far it is with that, each second.
    #[signal(to = main, fence = none)]
    RestoreProgress(RestoreProgress),
    /// membership -> main -> disk of the same data node, before it joins a cluster that goes on: bring the rows to this
    /// point of the claim, then answer.
    #[signal(to(main, disk), fence = none)]
    RestoreToJoin(crate::ClaimPoint),
    /// disk -> membership: the rows are there. The node joins with them.
    #[signal(to = membership, fence = none)]
    RestoredToJoin(crate::ClaimPoint),
    /// main -> membership of the same data node: an epoch was said in this view that this node's disk holds. It was
    /// said to be flushed everywhere or, if `is_durable`, to be durable.
    #[signal(to = membership, fence = none)]
    DiskCounted {
        /// The view.
        view: ViewNumber,
        /// Durable.
        is_durable: bool,
    },

    // ---- a stop of the whole cluster (`node`, `main_module/full_stop.rs`) -------------------------------------------
    /// An operator at this node, or at another one, wants the whole cluster to stop: the receiver sees to it.
    #[signal(to = main, fence = none)]
    FullStopWanted {
        /// Which nodes.
        extent: FullStop,
        /// The client that asked, for the log.
        reason: String,
    },
    /// main of the node that sees to it -> main of every node.
    #[signal(to = main, fence = none)]
    FullStopRequest {
        /// The next step.
        step: FullStopStep,
        /// The exit code with which the process ends at last; None: it stays.
        exit_code: Option<u8>,
    },
    /// Back.
    #[signal(to = main, fence = none)]
    FullStopDone {
        /// From the request.
        step: FullStopStep,
        /// The highest epoch that the node has heard of.
        open: Epoch,
    },
}
