//! All signals, grouped by pair of talkers. Requests, their `Done` and their refusals come together.
//!
//! The write path (ARCHITECTURE.md tells it as a story):
//!
//! ```text
//! one primary:      session -> P  Write{commit} or CommitOne        P -> B  Replicate        B -> P  Applied
//!                   P -> session  WriteDone / CommitDone            P -> B  Decided
//! several primaries: session -> tc Coordinate     tc -> Pi Prepare  Pi -> Bi Replicate       Pi, Bi -> tc Prepared
//!                   tc -> session CommitDone      tc -> Pi, Bi Outcome                       Pi, Bi -> tc OutcomeRecorded
//! ```

use crate::control::{ControlMessage, RecoveryOrder, VoterPlace};
use crate::heartbeat::Heartbeat;
use crate::program::{
    Access, LockMode, LockWait, OperationResult, ReadProgram, ReadProgress, Refusal, RowBatch, TableRef,
    WriteOperation,
};
use crate::view::{NodeRole, View};
use crate::{Address, SqlError};
use expression::context::Raised;
use std::sync::Arc;
use types::{Epoch, Incarnation, NodeId, SchemaVersion, Sequence, SlotId, TransactionId, Value, ViewNumber};
use wire_derive::Wire;

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
    /// What is said.
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

/// What a node tells management nodes of itself.
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
    /// What it waits for, if it does not serve.
    pub waits: String,
}

/// A read of one slot. With a transaction it runs at the primary and sees that transaction's staged rows.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct ReadRequest {
    /// Echoed.
    pub request: RequestId,
    /// Whose staged rows are visible, and whose locks these are.
    pub transaction: Option<TransactionId>,
    /// Lock each row (only with `Access::Keys` and a transaction) and read its newest version.
    pub lock: Option<(LockMode, LockWait)>,
    /// Which slot.
    pub slot: SlotId,
    /// What to do with each row.
    pub program: Arc<ReadProgram>,
    /// Which rows.
    pub access: Access,
    /// With a transaction: how many operations its session knows that the slot's primary holds. One that holds fewer has lost the others, and so
    /// the transaction.
    pub known: u32,
    /// The transaction that holds what LOCK TABLES locked for the same session: that does not keep this one out.
    #[wire(since = 5)]
    pub under: Option<TransactionId>,
}

/// The answer to a read.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct ReadDone {
    /// From the request.
    pub request: RequestId,
    /// Rows, or why not.
    pub result: Result<ReadBatch, Refusal>,
}

/// Rows of one slot.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct ReadBatch {
    /// The rows.
    pub rows: RowBatch,
    /// Whether there are more.
    pub progress: ReadProgress,
    /// The transaction's number of operations at this participant (locks count).
    pub operations: u32,
    /// Warnings of the evaluation, if there were any.
    #[wire(since = 2)]
    pub raised: Option<Box<Raised>>,
}

/// Changes of rows of one table in one slot, done in order up to the first that fails. After a failure the session undoes the
/// statement by `RollbackTo` or `Abort`; a request that carries its commit is undone by the participant itself.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct WriteRequest {
    /// Echoed.
    pub request: RequestId,
    /// Whose.
    pub transaction: TransactionId,
    /// Which slot.
    pub slot: SlotId,
    /// Which table.
    pub table: TableRef,
    /// What to do, in this order.
    pub operations: Vec<WriteOperation>,
    /// How long to wait for locks.
    pub wait: LockWait,
    /// An autocommit statement with one participant carries its commit: stamp no epoch below this.
    pub commit: Option<Epoch>,
    /// How many operations of the transaction its session knows that the slot's primary holds.
    pub known: u32,
    /// The transaction that holds what LOCK TABLES locked for the same session: that does not keep this one out.
    #[wire(since = 5)]
    pub under: Option<TransactionId>,
}

/// The answer to a write.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct WriteDone {
    /// From the request.
    pub request: RequestId,
    /// What was done, or what failed.
    pub result: Result<WriteSummary, WriteFailure>,
}

/// A write that was done.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct WriteSummary {
    /// One per operation.
    pub results: Vec<OperationResult>,
    /// The transaction's number of operations at this participant.
    pub operations: u32,
    /// The epoch of the commit, if the request carried it.
    pub committed: Option<Epoch>,
    /// Warnings of the evaluation, if there were any.
    #[wire(since = 2)]
    pub raised: Option<Box<Raised>>,
}

/// A write that failed: the operations before the failed one are staged (unless the request carried its commit).
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct WriteFailure {
    /// The operation that failed, counted from 0.
    pub operation: u32,
    /// Why.
    pub refusal: Refusal,
}

/// Commit at the only participant.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct CommitOneRequest {
    /// Echoed.
    pub request: RequestId,
    /// Whose.
    pub transaction: TransactionId,
    /// The participant.
    pub participant: Participant,
    /// Stamp no epoch below this.
    pub epoch_seen: Epoch,
}

/// A slot in which a transaction has staged writes or holds locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub struct Participant {
    /// The slot.
    pub slot: SlotId,
    /// How many operations it must hold.
    pub operations: u32,
    /// The view in which it took the first.
    pub view: ViewNumber,
    /// Writes were sent to it: its backups take part, and recovery counts it.
    pub has_writes: bool,
}

/// Commit over several participants.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct CoordinateRequest {
    /// Echoed.
    pub request: RequestId,
    /// Whose.
    pub transaction: TransactionId,
    /// All participants, lock-only ones included.
    pub participants: Vec<Participant>,
    /// Stamp no epoch below this.
    pub epoch_seen: Epoch,
}

/// The outcome of a commit.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct CommitDone {
    /// From the request.
    pub request: RequestId,
    /// What became of it.
    pub outcome: CommitOutcome,
}

/// What became of a commit.
#[derive(Clone, PartialEq, Debug, Wire)]
pub enum CommitOutcome {
    /// All in-sync replicas have it.
    Committed(Epoch),
    /// Nothing of it remains.
    Aborted(Refusal),
    /// It was sent to a replica that is lost: the outcome is not known here (1180, the connection closes).
    Unknown,
}

/// One replicated change: the row's new bytes, or its deletion.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct ReplicatedWrite {
    /// The table.
    pub table: TableRef,
    /// Its primary key.
    pub key: Box<[u8]>,
    /// Its new bytes; None deletes it.
    pub row: Option<Arc<[u8]>>,
}

/// Writes of a large transaction shipped ahead of its prepare: staged at the backup, outside the numbered stream.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct ReplicateAhead {
    /// Which slot.
    pub slot: SlotId,
    /// Whose.
    pub transaction: TransactionId,
    /// The piece's number, counted from 0.
    pub piece: u32,
    /// The changes.
    pub writes: Vec<ReplicatedWrite>,
}

/// The place in the slot's stream where a transaction's writes become prepared at a backup.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct Replicate {
    /// Which slot.
    pub slot: SlotId,
    /// The place.
    pub sequence: Sequence,
    /// Whose.
    pub transaction: TransactionId,
    /// Stamped by the primary.
    pub epoch: Epoch,
    /// The coordinator to answer; None for a one-primary commit, which answers the primary.
    pub coordinator: Option<Address>,
    /// The participants with writes, for recovery.
    pub participants: Arc<Vec<SlotId>>,
    /// The session of a one-primary commit is on another node than the primary: what it is to hear if that node dies is kept until it
    /// confirms.
    pub marker: Option<Vec<OperationResult>>,
    /// How many pieces went ahead.
    pub pieces_ahead: u32,
    /// The (remaining) changes.
    pub writes: Vec<ReplicatedWrite>,
}

/// What every in-sync replica tells the coordinator.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct Prepared {
    /// Whose.
    pub transaction: TransactionId,
    /// Which slot.
    pub slot: SlotId,
    /// Stamped by the primary.
    pub epoch: Epoch,
    /// Whether there is anything to replicate: false only from the primary of a slot where the transaction only holds locks.
    pub has_writes: bool,
    /// Why not.
    pub refusal: Option<Refusal>,
}

/// What the coordinator tells every replica of every participant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub struct Outcome {
    /// Whose.
    pub transaction: TransactionId,
    /// Which slot.
    pub slot: SlotId,
    /// The commit epoch, or None for abort.
    pub committed: Option<Epoch>,
}

/// A transaction whose outcome a member does not know, in one slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub struct UndecidedPlace {
    /// Whose.
    pub transaction: TransactionId,
    /// The view of the stream that it came by.
    pub stream: ViewNumber,
    /// Its place there.
    pub sequence: Sequence,
    /// The primary's stamp.
    pub epoch: Epoch,
    /// Its primary decides alone.
    pub is_one_primary: bool,
}

/// What a member of a new view knows of a slot: everything that the view before left undecided.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct GatherReport {
    /// Which slot.
    pub slot: SlotId,
    /// How far the member consumed the streams of earlier views.
    pub streams: Vec<(ViewNumber, Sequence)>,
    /// Prepared here, outcome not known here.
    pub undecided: Vec<UndecidedPlace>,
    /// Outcomes kept here.
    pub outcomes: Vec<(TransactionId, Option<Epoch>)>,
    /// Every row is here: an in-sync member, or a joining one that was copied to.
    pub is_copied: bool,
    /// The member was primary, and has what was open then: it came in `HandOver` pieces before this report.
    pub claim: Option<Claim>,
}

/// What a primary that stepped down has: the open transactions of its line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub struct Claim {
    /// The first view of the line.
    pub since: ViewNumber,
    /// The view in which this member took it over: of two claims the later one counts.
    pub acquired: ViewNumber,
}

/// What a primary that stepped down hands to the one that follows.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct HandOver {
    /// Which slot.
    pub slot: SlotId,
    /// Sealed places of the last stream, in order: the new primary may lack them.
    pub places: Vec<(ViewNumber, Replicate)>,
    /// Open transactions. One may come in several pieces, in order.
    pub transactions: Vec<HandedTransaction>,
    /// Requests that wait, in the order in which they began to.
    pub waits: Vec<HandedWait>,
    /// Transactions that were given up, with the nodes of their sessions: none may go on without what it had done.
    pub void: Vec<(NodeId, TransactionId)>,
}

/// An open transaction, or the next part of it.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct HandedTransaction {
    /// Whose.
    pub transaction: TransactionId,
    /// Its session.
    pub session: Address,
    /// What it did, in order.
    pub operations: Vec<HandedOperation>,
}

/// What an open transaction did.
#[derive(Clone, PartialEq, Debug, Wire)]
pub enum HandedOperation {
    /// It staged a row's new bytes, or its deletion.
    Staged(ReplicatedWrite),
    /// It locked a key.
    Locked {
        /// The table.
        table: types::TableId,
        /// The primary key.
        key: Box<[u8]>,
        /// How.
        mode: LockMode,
    },
}

/// A request that waits, and what it has done so far.
#[derive(Clone, PartialEq, Debug, Wire)]
pub enum HandedWait {
    /// A write.
    Write {
        /// Who asked.
        from: Address,
        /// What: its `wait` is the time that is left.
        request: Box<WriteRequest>,
        /// Of its first operations.
        results: Vec<OperationResult>,
        /// Warnings so far.
        raised: Option<Box<Raised>>,
    },
    /// A locking read.
    Read {
        /// Who asked.
        from: Address,
        /// What.
        request: Box<ReadRequest>,
        /// The next key.
        next: u32,
        /// Rows so far.
        rows: RowBatch,
        /// Warnings so far.
        raised: Option<Box<Raised>>,
    },
}

/// A request that came to a member that is not the slot's primary any more: nothing of it was done.
#[derive(Clone, PartialEq, Debug, Wire)]
pub enum ReturnedRequest {
    /// A read at the primary.
    Read(Box<ReadRequest>),
    /// A write.
    Write(Box<WriteRequest>),
    /// A commit.
    CommitOne(Box<CommitOneRequest>),
    /// An undoing.
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
    /// A question.
    OutcomeAsk {
        /// Echoed.
        request: RequestId,
        /// Whose.
        transaction: TransactionId,
        /// A participant with writes.
        slot: SlotId,
        /// The commit was carried by a write.
        is_write: bool,
    },
}

impl ReturnedRequest {
    /// Its id, and where it belongs.
    #[must_use]
    pub fn place(&self) -> (RequestId, SlotId) {
        match self {
            Self::Read(read) => (read.request, read.slot),
            Self::Write(write) => (write.request, write.slot),
            Self::CommitOne(commit) => (commit.request, commit.participant.slot),
            Self::RollbackTo { request, slot, .. } | Self::OutcomeAsk { request, slot, .. } => {
                (*request, *slot)
            }
        }
    }

    /// As it was sent.
    #[must_use]
    pub fn into_signal(self) -> Signal {
        match self {
            Self::Read(read) => Signal::Read(read),
            Self::Write(write) => Signal::Write(write),
            Self::CommitOne(commit) => Signal::CommitOne(commit),
            Self::RollbackTo { request, transaction, slot, operations } => {
                Signal::RollbackTo { request, transaction, slot, operations }
            }
            Self::OutcomeAsk { request, transaction, slot, is_write } => {
                Signal::OutcomeAsk { request, transaction, slot, is_write }
            }
        }
    }
}

/// The newest committed version of a row.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct CopiedRow {
    /// The table.
    pub table: types::TableId,
    /// Its primary key.
    pub key: Box<[u8]>,
    /// Its bytes.
    pub row: Box<[u8]>,
    /// Of its commit.
    pub epoch: Epoch,
}

/// Rows by an index, in the order of its keys: they have entries there.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct CopiedEntries {
    /// The table.
    pub table: types::TableId,
    /// Its index.
    pub index: types::IndexId,
    /// Primary keys.
    pub keys: Vec<Box<[u8]>>,
}

/// What became of a transaction whose session does not know it yet.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct CopiedOutcome {
    /// Which one.
    pub transaction: TransactionId,
    /// The epoch of its commit, if it committed.
    pub outcome: Option<Epoch>,
    /// Of a write that carried its commit.
    pub results: Vec<OperationResult>,
}

/// Rows of a slot for a member that joins, and behind a table's rows the entries of its indexes.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct CopyPiece {
    /// Which slot.
    pub slot: SlotId,
    /// The rows.
    pub rows: Vec<CopiedRow>,
    /// What became of transactions that ended before it joined.
    pub outcomes: Vec<CopiedOutcome>,
    /// There are no more.
    pub is_last: bool,
    /// Of tables with rows here: indexes whose entries come behind all of the table's rows.
    #[wire(since = 5)]
    pub later: Vec<(types::TableId, Vec<types::IndexId>)>,
    /// The entries.
    #[wire(since = 5)]
    pub entries: Vec<CopiedEntries>,
    /// Who sends it sends entries.
    #[wire(since = 5)]
    pub with_entries: bool,
}

/// What a slot knows of a transaction whose coordinator is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum RecoveredState {
    /// Decided: committed at this epoch.
    Committed(Epoch),
    /// Decided: aborted.
    Aborted,
    /// Prepared at every in-sync replica of the view, with the primary's stamp.
    Prepared(Epoch),
    /// Not prepared here.
    Nothing,
}

/// A primary tells the recoverer of a transaction.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct RecoveryReport {
    /// Whose.
    pub transaction: TransactionId,
    /// Which slot.
    pub slot: SlotId,
    /// The participants with writes.
    pub participants: Arc<Vec<SlotId>>,
    /// What is known there.
    pub state: RecoveredState,
}

/// A deadlock probe: does `transaction`, for which the initiator waits, wait for the initiator?
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub struct Probe {
    /// Who waits and asks; the victim if the probe comes back.
    pub initiator: TransactionId,
    /// Where the initiator waits.
    pub home: Address,
    /// Which of its waits: the probe is void once that wait is over.
    pub wait: u64,
    /// The transaction in question.
    pub transaction: TransactionId,
    /// How many more transactions it may visit: a probe that entered a cycle without its initiator dies out.
    pub hops_left: u8,
}

/// A node asks the control plane to be let in.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct JoinRequest {
    /// Its role.
    pub role: NodeRole,
    /// A number of this process start, told apart from earlier ones of the same node.
    pub start: u64,
    /// Host and port, for people.
    pub host: String,
    /// Modules.
    pub ldm_count: u8,
    /// Modules.
    pub tc_count: u8,
    /// Modules.
    pub query_count: u8,
    /// Modules.
    pub sql_count: u8,
}

/// What all nodes of a cluster must have in common, whatever each one's config.ini says.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct ClusterTerms {
    /// NoOfReplicas.
    pub replica_count: u16,
    /// PartitionsPerNode.
    pub partitions_per_node: u16,
    /// HeartbeatIntervalDbDb, by which nodes compute each other's leases.
    pub heartbeat_us: u64,
    /// All configured nodes, by id.
    pub members: Vec<(NodeId, NodeRole)>,
}

/// Connections that [`Signal::SchemaInstalled`] tells at most.
pub const SCHEMA_USERS_MAX: usize = 64;

/// Rows of one [`InfoTable`] that one ldm gives at most, where there may be one for each row of a user's table: the others are left out.
pub const INFO_ROWS_MAX: usize = 4_000;

/// Which part of a node answers for a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InfoSource {
    /// `main` itself.
    Main,
    /// The driver.
    Driver,
    /// Every ldm.
    Ldm,
    /// Every module of sessions.
    Sql,
    /// Every module, and the driver.
    All,
}

macro_rules! info_tables {
    ($($(#[$doc:meta])* $name:ident = $tag:literal by $source:ident;)*) => {
        /// Tables of ndbinfo that nodes fill from their own state.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
        pub enum InfoTable {
            $($(#[$doc])* #[wire(tag = $tag)] $name,)*
        }

        impl InfoTable {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Which part of a node answers for it.
            #[must_use]
            pub const fn source(self) -> InfoSource {
                match self {
                    $(Self::$name => InfoSource::$source,)*
                }
            }
        }
    };
}

info_tables! {
    /// Members and their state.
    Nodes = 0 by Main;
    /// Threads of each node.
    Threads = 1 by Driver;
    /// Modules on threads.
    ThreadBlocks = 2 by Driver;
    /// CPU use per thread.
    CpuStat = 3 by Driver;
    /// Memory regions.
    Resources = 4 by Main;
    /// Rows, versions and bytes per fragment.
    MemoryPerFragment = 5 by Ldm;
    /// Open transactions.
    ClusterTransactions = 6 by Ldm;
    /// Client sessions (SHOW PROCESSLIST).
    Processes = 7 by Sql;
    /// Refused and unusual events, counted.
    Counters = 8 by All;
    /// How far nodes are that start while the cluster runs.
    RestartInfo = 9 by Main;
    /// Certificates that nodes have and believe.
    Certificates = 10 by Driver;
    /// The node that is asked: its state and its age.
    NodeState = 11 by Main;
    /// DataMemory, in bytes and pages.
    MemoryUsage = 12 by Main;
    /// Row locks, held and waited for; at most [`INFO_ROWS_MAX`] rows, those waited for first.
    ClusterLocks = 13 by Ldm;
    /// Operations of open transactions; at most [`INFO_ROWS_MAX`] rows, those that wait first.
    ClusterOperations = 14 by Ldm;
    /// Changes of rows, by fragment.
    OperationsPerFragment = 15 by Ldm;
    /// Requests for row locks, by fragment.
    LocksPerFragment = 16 by Ldm;
    /// Links with other nodes.
    Transporters = 17 by Driver;
    /// Rounds, signals and CPU time of threads.
    ThreadStat = 18 by Driver;
    /// Parameters of config.ini.
    ConfigParams = 19 by Main;
    /// Values of the parameters.
    ConfigValues = 20 by Main;
    /// Configured nodes.
    ConfigNodes = 21 by Main;
    /// Tables and their slots.
    TableDistributionStatus = 22 by Main;
    /// The replicas of each slot of each table.
    TableFragments = 23 by Main;
    /// Open transactions of the node's sessions.
    ServerTransactions = 24 by Sql;
    /// Names that sessions hold by GET_LOCK, with their connections.
    UserLocks = 25 by Sql;
}

/// What a data node that is about to stop asks the control plane for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum LeaveStep {
    /// A view in which others lead its slots.
    HandOver,
    /// It does not stop after all.
    Stay,
    /// A view without it; then it ends.
    Leave {
        /// With this exit code.
        exit_code: u8,
    },
}

/// A digest of the rows of a key range of one fragment (`latsdb check`).
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct ChecksumRequest {
    /// Echoed.
    pub request: RequestId,
    /// Which slot.
    pub slot: SlotId,
    /// Which table.
    pub table: types::TableId,
    /// Primary keys behind this one; None from the first.
    pub after: Option<Box<[u8]>>,
    /// Rows to digest.
    pub limit: u32,
}

/// Digests of rows in key order.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct ChecksumDone {
    /// From the request.
    pub request: RequestId,
    /// Primary key and a hash of the row's newest committed bytes.
    pub rows: Vec<(Box<[u8]>, u64)>,
    /// Rows whose index entries are missing or wrong, as text.
    pub index_errors: Vec<String>,
    /// No more rows behind these.
    pub end: bool,
}

/// Everything modules say to each other.
#[derive(Clone, PartialEq, Debug, Wire)]
pub enum Signal {
    // ---- a module to itself -------------------------------------------------------------------------------------------
    /// Go on with the work named by this number after other work had its turn.
    Continue(u64),

    // ---- session -> ldm or query, and back ----------------------------------------------------------------------------
    /// Read rows.
    Read(Box<ReadRequest>),
    /// Rows.
    ReadDone(Box<ReadDone>),
    /// Stage changes.
    Write(Box<WriteRequest>),
    /// Staged (and committed, if asked).
    WriteDone(Box<WriteDone>),
    /// Undo the operations above `operations` at this participant (savepoint, failed statement).
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
    RollbackDone {
        /// From the request.
        request: RequestId,
        /// It held it.
        held: bool,
    },
    /// Undo everything of a transaction that is not being committed; no answer.
    Abort {
        /// Whose.
        transaction: TransactionId,
        /// Which slot.
        slot: SlotId,
    },
    /// Commit at the only participant.
    CommitOne(Box<CommitOneRequest>),
    /// What became of a commit whose answer is lost? The primary answers as it would have answered the commit; a transaction that is
    /// not ending there ends by this question: aborted.
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
    Returned(Box<ReturnedRequest>),
    /// Old primary -> session's module: this request waits at another one now.
    WaitMoved {
        /// The request.
        request: RequestId,
        /// Where.
        to: Address,
    },
    /// ldm of a node that is about to stop -> sql modules of data nodes, main of SQL nodes: it leads nothing, and has said everything to sessions.
    LastWord,
    /// The module, or all sql modules of that node, use a view in which that is so.
    LastWordHeard,
    /// New primary -> session's module (or the main module that reserves AUTO_INCREMENT values): it goes on with this open transaction; the module aborts it if it is over, or was an earlier life's.
    TransactionMoved {
        /// Whose.
        transaction: TransactionId,
        /// Which slot.
        slot: SlotId,
    },

    // ---- session -> tc, and back --------------------------------------------------------------------------------------
    /// Commit over several participants.
    Coordinate(Box<CoordinateRequest>),
    /// The outcome, from a tc or from the only participant.
    CommitDone(CommitDone),
    /// session -> tc of another node: the session knows the outcome.
    Confirm {
        /// Whose.
        transaction: TransactionId,
    },

    // ---- tc -> primaries ----------------------------------------------------------------------------------------------
    /// Make the staged writes durable at all replicas, and answer the coordinator.
    Prepare {
        /// Whose.
        transaction: TransactionId,
        /// What must be held.
        participant: Participant,
        /// Stamp no epoch below this.
        epoch_seen: Epoch,
        /// The participants with writes.
        participants: Arc<Vec<SlotId>>,
    },
    /// A replica has it.
    Prepared(Box<Prepared>),
    /// Commit or abort.
    Outcome(Outcome),
    /// A replica has recorded the outcome.
    OutcomeRecorded {
        /// Whose.
        transaction: TransactionId,
        /// Which slot.
        slot: SlotId,
    },
    /// Every participant has recorded their outcomes and their sessions know them: their markers go.
    Forget {
        /// Which slot.
        slot: SlotId,
        /// Whose.
        transactions: Vec<TransactionId>,
    },

    // ---- primary -> backups, and back ---------------------------------------------------------------------------------
    /// A piece of a large transaction.
    ReplicateAhead(Box<ReplicateAhead>),
    /// The next place in the slot's stream.
    Replicate(Box<Replicate>),
    /// A piece is staged at the backup, or it is not (the transaction will be refused when its prepare comes).
    AheadApplied {
        /// Which slot.
        slot: SlotId,
        /// Whose.
        transaction: TransactionId,
    },
    /// A one-primary commit is applied at the backup, or refused.
    Applied {
        /// Which slot.
        slot: SlotId,
        /// Its place.
        sequence: Sequence,
        /// Why not.
        refusal: Option<Refusal>,
    },
    /// A one-primary commit that the primary has published.
    Decided {
        /// Which slot.
        slot: SlotId,
        /// Its place.
        sequence: Sequence,
    },
    /// Forget the pieces shipped ahead: the transaction aborted before its prepare.
    DropAhead {
        /// Which slot.
        slot: SlotId,
        /// Whose.
        transaction: TransactionId,
    },

    // ---- copying to a member that joins ---------------------------------------------------------------------------------
    /// primary -> joining member.
    CopyPiece(Box<CopyPiece>),
    /// Back: the next piece may come.
    CopyApplied {
        /// Which slot.
        slot: SlotId,
    },
    /// ldm -> main of the joining member: every row of a slot is here, in this view.
    SlotCopied {
        /// Which slot.
        slot: SlotId,
    },
    /// main of the joining member -> membership -> control plane: all slots are copied.
    CaughtUp {
        /// In this view.
        view: ViewNumber,
    },

    // ---- takeover -----------------------------------------------------------------------------------------------------
    /// member -> primary of the new view.
    Gather(Box<GatherReport>),
    /// Old primary -> primary of the new view, before its report.
    HandOver(Box<HandOver>),
    /// Back: the new primary has all of it, and the old one lets go.
    Taken {
        /// Which slot.
        slot: SlotId,
    },
    /// primary -> recoverer.
    RecoveryReport(Box<RecoveryReport>),
    /// recoverer -> primary of a participant: report.
    RecoveryAsk {
        /// Whose.
        transaction: TransactionId,
        /// Which slot.
        slot: SlotId,
        /// The participants with writes.
        participants: Arc<Vec<SlotId>>,
    },

    // ---- deadlock probes ----------------------------------------------------------------------------------------------
    /// ldm -> session of `transaction`: where does it wait?
    ProbeSession(Probe),
    /// session -> ldm where `transaction` waits.
    ProbeWait(Probe),
    /// ldm -> the initiator's ldm: it is in a cycle.
    ProbeHit {
        /// The victim.
        initiator: TransactionId,
        /// Its wait.
        wait: u64,
        /// A transaction of the cycle.
        other: TransactionId,
    },

    // ---- epochs: main <-> main, main <-> ldm and tc -------------------------------------------------------------------
    /// A member stamped something in this epoch: it wants to be closed.
    EpochWanted {
        /// The epoch.
        epoch: Epoch,
    },
    /// From the master: stamp new prepares `epoch` or higher, drain what was stamped below.
    EpochOpen {
        /// The new epoch.
        epoch: Epoch,
    },
    /// From a member (or a module to its main): nothing stamped below `epoch` is undecided here.
    EpochDrained {
        /// The opened epoch.
        epoch: Epoch,
    },
    /// From the master: everything in `epoch` and below is decided and applied at every replica.
    EpochClosed {
        /// The closed epoch.
        epoch: Epoch,
    },

    // ---- catalogue: the node that runs a DDL job -> main of every member ----------------------------------------------
    /// Read the catalogue rows at this version or newer and install them; then say who uses older versions of these tables.
    /// A node's `main` asks its own `sql` modules the same.
    SchemaInstall {
        /// Echoed.
        request: RequestId,
        /// The version.
        version: SchemaVersion,
        /// Users count that are bound to an older version of one of these tables.
        #[wire(since = 5)]
        tables: Vec<TableRef>,
        /// Users count that have used the table for so long.
        #[wire(since = 5)]
        used_for_ms: u32,
    },
    /// Installed everywhere on this node.
    SchemaInstalled {
        /// From the request.
        request: RequestId,
        /// The version.
        version: SchemaVersion,
        /// Connections on this node that use the tables as the request says: [`SCHEMA_USERS_MAX`] of them at most, none only if there is none.
        #[wire(since = 5)]
        users: Vec<u32>,
    },
    /// A node without slots asks a data node's main for the catalogue.
    SchemaFetch {
        /// Echoed.
        request: RequestId,
        /// The asker's newest view: the answer waits for it.
        #[wire(since = 3)]
        view: ViewNumber,
    },
    /// The encoded `types::Schema`.
    SchemaFetched {
        /// From the request.
        request: RequestId,
        /// The encoded schema.
        schema: Box<[u8]>,
    },
    /// session -> main: reserve AUTO_INCREMENT values of a table, at least up to `at_least`.
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
    BackfillRequest {
        /// Echoed.
        request: RequestId,
        /// The table.
        table: TableRef,
        /// The index.
        index: types::IndexId,
    },
    /// Built, or why not.
    BackfillDone {
        /// From the request.
        request: RequestId,
        /// Why not.
        refusal: Option<Refusal>,
    },

    // ---- membership ---------------------------------------------------------------------------------------------------
    /// Control log to control log.
    Control(Box<ControlMessage>),
    /// Member to member, each interval.
    Heartbeat(Box<Heartbeat>),
    /// membership -> main: this process start is known to the cluster by this number; the view follows when it is complete.
    JoinAccepted {
        /// Its life.
        incarnation: Incarnation,
    },
    /// membership -> membership: the sender heard of a view that is newer than its own, and asks for it.
    ViewWanted,
    /// The newest committed view. Who was let in tells others, whenever a link comes up, by what the cluster runs, too.
    ViewInstall(Arc<View>, #[wire(since = 4)] Option<Box<ClusterTerms>>),
    /// main -> main of every data node: all modules of the sender use this view.
    ViewInstalled {
        /// The view.
        view: ViewNumber,
    },
    /// main -> its ldms: every data node has installed this view.
    ViewSettled {
        /// The view.
        view: ViewNumber,
    },
    /// main -> membership of the same data node: it is about to stop.
    Leaving {
        /// How far it is.
        step: LeaveStep,
    },
    /// membership -> main: the links to a node are up.
    PeerFound {
        /// The node.
        node: NodeId,
    },
    /// membership -> main -> sql modules of its node: a member is unreachable.
    PeerLost {
        /// The node.
        node: NodeId,
        /// Its life.
        incarnation: Incarnation,
    },

    // ---- management and introspection ---------------------------------------------------------------------------------
    /// Rows of an ndbinfo table.
    InfoRequest {
        /// Echoed.
        request: RequestId,
        /// Which table.
        table: InfoTable,
    },
    /// The rows of one node or module.
    InfoDone {
        /// From the request.
        request: RequestId,
        /// The rows.
        rows: Vec<Vec<Value>>,
    },
    /// Stop this node in an orderly way.
    StopNode {
        /// Who asked, for the log.
        reason: String,
        /// What the process ends with: tells its angel whether it is to be started again.
        exit_code: u8,
        /// The others go on: primaries and sessions leave first, and if nobody can take them, the node stays.
        is_alone: bool,
    },
    /// main -> its ldms, which lead nothing any more: answer when nothing is left to be handed over or answered.
    StandDown,
    /// Back.
    StoodDown,
    /// main -> its sql modules: sessions end with their transaction, or are told 1053.
    Drain {
        /// How long open transactions may go on; None: the node stays after all.
        patience_ms: Option<u32>,
    },
    /// Back: there are no sessions any more.
    Drained,
    /// End a client's session or its running statement.
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
    Checksum(Box<ChecksumRequest>),
    /// Digests.
    ChecksumDone(Box<ChecksumDone>),
    /// A request could not be done by this module.
    Failed {
        /// From the request.
        request: RequestId,
        /// Why.
        error: SqlError,
    },
    /// main of a joining member -> main of management nodes: so many of its slots are copied.
    RestartProgress {
        /// Whole.
        copied: u32,
        /// All that have to be.
        slots: u32,
    },
    /// membership of a node with a copy of the control log -> membership of nodes without one; membership -> its main: who has copies.
    Voters {
        /// How far the log was applied where this was true: a higher one is newer.
        applied: u64,
        /// By voter id.
        voters: Vec<VoterPlace>,
    },
    /// ldm -> ldm of the same slots: answer at once. How late the answer is tells how late all answers of that module are.
    LagProbe {
        /// Counted by the sender.
        probe: u64,
    },
    /// Back.
    LagProbed {
        /// From the probe.
        probe: u64,
    },
    /// ldm -> membership of its node: a replica owes an answer for so long. membership -> membership of other nodes: therefore a view without that
    /// node is asked for.
    ReplicaLags {
        /// The replica's node.
        node: NodeId,
        /// For how long at least.
        milliseconds: u32,
    },
    /// main of a management node -> its membership: an operator's order.
    RecoverVoters(Box<RecoveryOrder>),
    /// Back.
    VotersRecovered {
        /// From the order.
        number: u64,
        /// In words, for the operator.
        text: String,
    },
    /// membership -> its main: what it waits for, for operators; empty: nothing any more.
    ControlPlaneAwaited {
        /// The missing voters, and how to help.
        text: String,
    },
    /// main -> main of management nodes: how far a node is, and what an operator wants to know of it.
    NodeReport(Box<NodeReport>),
    /// main of a management node -> main: could you start again, with this config.ini?
    RestartCheck {
        /// Echoed.
        request: RequestId,
        /// The text that the management node hands out.
        config: String,
    },
    /// Back.
    RestartChecked {
        /// From the question.
        request: RequestId,
        /// Why not, if not.
        refusal: Option<String>,
    },
    /// Nobody wants the rest of a read: its session or its statement has ended.
    CancelRead {
        /// The read's.
        request: RequestId,
    },
}

impl Signal {
    /// Whether a driver may hold the signal back for a moment, to let it travel with others that go the same way: nobody waits for it.
    /// It keeps its place between the signals of its sender to its receiver. (Only the record of an abort is waited for: aborts that late
    /// are rare, and their sessions may wait a little longer.)
    #[must_use]
    pub const fn is_deferrable(&self) -> bool {
        matches!(
            self,
            Self::Decided { .. } | Self::OutcomeRecorded { .. } | Self::Forget { .. } | Self::Confirm { .. }
        )
    }
}
