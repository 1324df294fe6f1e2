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
mod management;
mod membership;
mod session;
mod takeover;

pub use commit::{
    CommitDone, CommitOneRequest, CommitOutcome, CoordinateRequest, Outcome, Participant, Prepared,
    Replicate, ReplicateAhead, ReplicatedWrite,
};
pub use copy::{CopiedEntries, CopiedOutcome, CopiedRow, CopyPiece};
pub use management::{
    ChecksumDone, ChecksumRequest, CommonTable, DriverTable, INFO_ROWS_MAX, InfoSource, InfoTable, LdmTable,
    MainTable, SqlTable,
};
pub use membership::{ClusterTerms, JoinRequest, LeaveStep};
pub use session::{
    Probe, ReadBatch, ReadDone, ReadRequest, ReturnedRequest, WriteDone, WriteFailure, WriteRequest,
    WriteSummary,
};
pub use takeover::{
    Claim, GatherReport, HandOver, HandedOperation, HandedTransaction, HandedWait, RecoveredState,
    RecoveryReport, UndecidedPlace,
};

use crate::control::{ControlMessage, RecoveryOrder, VoterPlace};
use crate::heartbeat::Heartbeat;
use crate::program::{Refusal, TableRef};
use crate::view::View;
use crate::{Address, SqlError};
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

/// Connections that [`Signal::SchemaInstalled`] tells at most.
pub const SCHEMA_USERS_MAX: usize = 64;

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
