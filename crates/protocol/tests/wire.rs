//! The bytes between nodes, pinned: one instance of every signal, and the frames of a link, compared with `wire.txt`.
//! Nodes of two versions talk to each other, so a change of these bytes needs a new wire version
//! (docs/formats/wire.md). When it is meant: `WRITE_WIRE=1 cargo test -p protocol --test wire` writes the file anew,
//! and its difference is what to review.
//!
//! And bytes that are none of ours: whatever comes is a value or an error, at the cost of a small multiple of its
//! length.
#![expect(unsafe_code, reason = "an allocator that counts is an unsafe trait")]

use expression::aggregate::AggregateCall;
use expression::context::{Raised, Severity, Warning};
use expression::{ColumnSlot, Expression, Node, Settings};
use protocol::control::{
    Command, ControlMessage, GroupId, RecoveryGoal, RecoveryMessage, RecoveryOrder, Survivor, VoterPlace,
};
use protocol::heartbeat::{Heartbeat, LinkRow};
use protocol::program::{
    Access, Assignment, DeleteFilter, KeyRange, LockMode, LockWait, OnDuplicate, OperationResult, ReadOutput,
    ReadProgram, ReadProgress, Refusal, Results, RowBatch, StatementContext, TableRef, UpdateProgram,
    ViewCondition, WriteOperation,
};
use protocol::restart::{RestartMessage, RestoreOrder, RestorePhase, RestoreProgress};
use protocol::signal::*;
use protocol::transport::{Hello, decode_envelope, decode_hello, encode_envelope, encode_hello, next_frame};
use protocol::{
    Address, ClaimPoint, Envelope, ModuleKind, NodeInfo, NodeRole, RestartPoint, Signal, SlotSizes, SqlError,
    View,
};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::Bound;
use std::sync::Arc;
use stdx::wire::{Decoder, Encoder, WIRE_VERSION, Wire, WireError, from_bytes, to_bytes};
use stdx::{Prng, smallvec};
use types::{
    ColumnIndex, Date, DateTime, Decimal, Epoch, Incarnation, IndexId, NodeId, NodeSet, RestartNumber,
    SchemaVersion, Sequence, SlotId, TableId, Time, TransactionId, Value, ViewNumber,
};

const PINNED: &str = include_str!("wire.txt");
const REQUEST: RequestId = RequestId(0x0102_0304_0506_0708);
const TRANSACTION: TransactionId = TransactionId(0x1112_1314_1516_1718);
const PARTITION: SlotId = SlotId(0x21);
const EPOCH: Epoch = Epoch(0x3132);
const TABLE: TableRef = TableRef { id: TableId(0x41), version: 0x42 };

fn context() -> StatementContext {
    let settings = Settings { now_us: 7, time_zone_offset_seconds: -3600, ..Settings::default() };
    StatementContext { parameters: vec![Value::Int(-1)], settings }
}

fn expression() -> Expression {
    let leaf = |node| Expression { node, ..Expression::null() };
    let operands = vec![
        leaf(Node::Column(ColumnSlot(3))),
        leaf(Node::Literal(Value::text("x"))),
        leaf(Node::Parameter(1)),
    ];
    leaf(Node::And(operands.into()))
}

fn update() -> Arc<UpdateProgram> {
    let assignments = vec![Assignment { column: ColumnIndex(2), value: expression() }];
    let view_check = Some(ViewCondition { condition: expression(), view: "d.v".to_owned() });
    Arc::new(UpdateProgram { filter: Some(expression()), assignments, context: context(), view_check })
}

fn every_value() -> Vec<Value> {
    let decimal =
        Decimal::parse(b"-12.340").map_or(Value::Null, |(decimal, _)| Value::Decimal(Box::new(decimal)));
    vec![
        Value::Null,
        Value::Int(-5),
        Value::UInt(5),
        Value::Double(1.5),
        decimal,
        Value::text("käse"),
        Value::Date(Date::default()),
        Value::Time(Time::default()),
        Value::DateTime(DateTime::default()),
    ]
}

fn every_refusal() -> Vec<Refusal> {
    vec![
        Refusal::WrongView,
        Refusal::ReplicaLost,
        Refusal::WrongSchema,
        Refusal::Duplicate { key: [9, 8].into() },
        Refusal::LockTimeout,
        Refusal::LockNotAvailable,
        Refusal::Deadlock { other: TRANSACTION },
        Refusal::RegionFull { region: "DataMemory".into() },
        Refusal::Error(SqlError::new(1365, "Division by 0")),
        Refusal::NotHeld,
        Refusal::AlreadyEnding,
    ]
}

fn view() -> Arc<View> {
    let node = |id: u16, role| NodeInfo {
        node: NodeId(id),
        incarnation: Incarnation(u32::from(id) + 1),
        role,
        host: format!("host{id}"),
        ldm_count: 1,
        tc_count: 2,
        query_count: 3,
        sql_count: 4,
    };
    let nodes = vec![node(1, NodeRole::Data), node(2, NodeRole::Data), node(65, NodeRole::Management)];
    Arc::new(View::first(GroupId(7), nodes, 2, SlotSizes::least(1)))
}

fn reads() -> Vec<Signal> {
    let read = |output, access, lock| {
        Signal::Read(Box::new(ReadRequest {
            request: REQUEST,
            transaction: Some(TRANSACTION),
            lock,
            slot: PARTITION,
            program: Arc::new(ReadProgram {
                table: TABLE,
                filter: Some(expression()),
                output,
                with_primary_key: true,
                with_index_key: false,
                context: context(),
            }),
            access,
            known: 6,
            under: None,
            grant_only: false,
        }))
    };
    let scan = Access::Scan {
        index: IndexId(2),
        ranges: Arc::new(vec![KeyRange {
            lower: Bound::Included([1].into()),
            upper: Bound::Excluded([2, 3].into()),
        }]),
        descending: true,
        limit: Some(10),
    };
    let done = |result| Signal::ReadDone(Box::new(ReadDone { request: REQUEST, result }));
    let batch = |progress| ReadBatch {
        rows: RowBatch { count: 1, bytes: vec![7, 7] },
        progress,
        operations: 3,
        raised: None,
        granted: None,
    };
    let more = ReadProgress::More { after: Some([4].into()), position: 5 };
    let undecided = ReadProgress::Undecided { primary_key: [6].into(), after: [7].into(), position: 8 };
    let wait = LockWait::Wait { timeout_ms: 1000 };
    let group =
        ReadOutput::Aggregate { group_by: vec![expression()], calls: vec![AggregateCall::count_rows()] };
    let mut signals = vec![
        read(
            ReadOutput::Columns(vec![ColumnIndex(1)]),
            Access::Keys(vec![[1, 2].into()]),
            Some((LockMode::Exclusive, wait)),
        ),
        read(ReadOutput::Expressions(vec![expression()]), scan, Some((LockMode::Shared, LockWait::NoWait))),
        read(ReadOutput::StoredRow, Access::Keys(Vec::new()), Some((LockMode::Shared, LockWait::SkipLocked))),
        read(group, Access::Keys(Vec::new()), None),
    ];
    signals.extend([ReadProgress::End, more, undecided].map(|progress| done(Ok(batch(progress)))));
    signals.extend(every_refusal().into_iter().map(|refusal| done(Err(refusal))));
    let (query_only, only_of) = (true, Some("ann".to_owned()));
    let kill = Signal::KillSession { connection: 9, query_only, only_of, request: REQUEST };
    signals.extend([Signal::CancelRead { request: REQUEST }, kill]);
    signals
}

fn writes() -> Vec<Signal> {
    let key = || Box::<[u8]>::from([1, 2]);
    let insert = |on_duplicate| WriteOperation::Insert { key: key(), row: [3].into(), on_duplicate };
    let delete = DeleteFilter { filter: expression(), context: context() };
    let operations = smallvec![
        insert(OnDuplicate::Fail),
        insert(OnDuplicate::Ignore),
        insert(OnDuplicate::Replace),
        insert(OnDuplicate::Update(update())),
        WriteOperation::Put { key: key(), row: [4].into() },
        WriteOperation::Update { key: key(), program: update() },
        WriteOperation::Delete { key: key(), filter: Some(Arc::new(delete)) },
        WriteOperation::Delete { key: key(), filter: None },
    ];
    let results = smallvec![
        OperationResult::Inserted,
        OperationResult::Duplicate,
        OperationResult::Replaced,
        OperationResult::Updated,
        OperationResult::Unchanged,
        OperationResult::Deleted,
        OperationResult::NotMatched,
        OperationResult::Stored,
    ];
    let done = |result| Signal::WriteDone(Box::new(WriteDone::new(REQUEST, result)));
    vec![
        Signal::Write(Box::new(WriteRequest {
            request: REQUEST,
            transaction: TRANSACTION,
            slot: PARTITION,
            table: TABLE,
            operations,
            wait: LockWait::NoWait,
            commit: Some(EPOCH),
            known: 6,
            under: None,
        })),
        done(Ok(WriteSummary {
            results,
            operations: 8,
            committed: Some(EPOCH),
            raised: Some(Box::new(raised())),
        })),
        done(Err(WriteFailure { operation: 2, refusal: Refusal::LockTimeout })),
        Signal::RollbackTo { request: REQUEST, transaction: TRANSACTION, slot: PARTITION, operations: 4 },
        Signal::RollbackDone { request: REQUEST, held: true },
        Signal::Abort { transaction: TRANSACTION, slot: PARTITION },
    ]
}

fn commits() -> Vec<Signal> {
    let participant = Participant { slot: PARTITION, operations: 2, view: ViewNumber(1), has_writes: true };
    let done = |outcome| Signal::CommitDone(CommitDone { request: REQUEST, outcome });
    let write = |row| ReplicatedWrite::new(TABLE, &[1], row);
    let replicated = || smallvec![write(Some(&[2, 2][..])), write(None)];
    let participants = || smallvec![PARTITION, SlotId(3)];
    vec![
        Signal::CommitOne(Box::new(CommitOneRequest {
            request: REQUEST,
            transaction: TRANSACTION,
            participant,
            epoch_seen: EPOCH,
        })),
        Signal::Coordinate(Box::new(CoordinateRequest {
            request: REQUEST,
            transaction: TRANSACTION,
            participants: vec![participant],
            epoch_seen: EPOCH,
        })),
        done(CommitOutcome::Committed(EPOCH)),
        done(CommitOutcome::Aborted(Refusal::NotHeld)),
        done(CommitOutcome::Unknown),
        Signal::Confirm { transaction: TRANSACTION },
        Signal::Prepare {
            transaction: TRANSACTION,
            participant,
            epoch_seen: EPOCH,
            participants: participants(),
        },
        Signal::Prepared(Box::new(Prepared {
            transaction: TRANSACTION,
            slot: PARTITION,
            result: Ok(Sealed { epoch: EPOCH, has_writes: true }),
        })),
        Signal::Outcome(Outcome { transaction: TRANSACTION, slot: PARTITION, committed: Some(EPOCH) }),
        Signal::OutcomeRecorded { transaction: TRANSACTION, slot: PARTITION },
        Signal::Forget { slot: PARTITION, transactions: vec![TRANSACTION, TransactionId(6)] },
        Signal::ReplicateAhead(Box::new(ReplicateAhead {
            slot: PARTITION,
            transaction: TRANSACTION,
            piece: 1,
            writes: replicated(),
        })),
        Signal::Replicate(Box::new(Replicate {
            slot: PARTITION,
            sequence: Sequence(9),
            transaction: TRANSACTION,
            epoch: EPOCH,
            decider: Decider::Coordinator(Address::new(NodeId(2), ModuleKind::Tc, 1)),
            participants: participants(),
            marker: Some(smallvec![OperationResult::Updated]),
            pieces_ahead: Some(1),
            writes: replicated(),
        })),
        Signal::AheadApplied { slot: PARTITION, transaction: TRANSACTION },
        Signal::Applied { slot: PARTITION, sequence: Sequence(9), refusal: None },
        Signal::Decided { slot: PARTITION, sequence: Sequence(9) },
        Signal::DropAhead { slot: PARTITION, transaction: TRANSACTION },
    ]
}

fn takeover() -> Vec<Signal> {
    let undecided = UndecidedPlace {
        transaction: TRANSACTION,
        stream: ViewNumber(3),
        sequence: Sequence(9),
        epoch: EPOCH,
        is_one_primary: true,
    };
    let gather = GatherReport {
        slot: PARTITION,
        streams: vec![(ViewNumber(3), Sequence(9))],
        undecided: vec![undecided],
        outcomes: vec![(TRANSACTION, Some(EPOCH)), (TransactionId(6), None)],
        is_copied: true,
        base: Epoch(6),
        copied_until: Some(copied_until()),
        claim: Some(Claim { since: ViewNumber(2), acquired: ViewNumber(3) }),
    };
    let copied = CopiedRow { table: TABLE.id, key: [1].into(), row: [2, 2].into(), epoch: EPOCH };
    let copied_outcome =
        CopiedOutcome { transaction: TRANSACTION, outcome: Some(EPOCH), results: Results::new() };
    let states = [
        RecoveredState::Committed(EPOCH),
        RecoveredState::Aborted,
        RecoveredState::Prepared(EPOCH),
        RecoveredState::Nothing,
    ];
    let participants = || smallvec![PARTITION, SlotId(3)];
    let report = |state| RecoveryReport {
        transaction: TRANSACTION,
        slot: PARTITION,
        participants: participants(),
        state,
    };
    let mut signals = vec![
        Signal::OutcomeAsk { request: REQUEST, transaction: TRANSACTION, slot: PARTITION, is_write: true },
        Signal::CopyPiece(Box::new(CopyPiece {
            slot: PARTITION,
            rows: vec![copied],
            outcomes: vec![copied_outcome],
            is_last: true,
            later: vec![(TABLE.id, vec![IndexId(2)])],
            entries: vec![CopiedEntries { table: TABLE.id, index: IndexId(2), keys: vec![[1].into()] }],
            with_entries: true,
            ranges: vec![CopiedRange { bounds: bounds(), count: 3, hash: 4, is_exact: false }],
            until: Some(copied_until()),
        })),
        Signal::CopyApplied { slot: PARTITION, differing: vec![bounds()] },
        Signal::SlotCopied { slot: PARTITION },
        Signal::CaughtUp { view: ViewNumber(4) },
        Signal::Gather(Box::new(gather)),
        Signal::HandOver(Box::new(hand_over())),
        Signal::Taken { slot: PARTITION },
        Signal::Returned(Box::new(ReturnedRequest::RollbackTo {
            request: REQUEST,
            transaction: TRANSACTION,
            slot: PARTITION,
            operations: 3,
        })),
        Signal::WaitMoved { request: REQUEST, to: Some(Address::new(NodeId(2), ModuleKind::Ldm, 1)) },
        Signal::LastWord,
        Signal::LastWordHeard,
        Signal::TransactionMoved { transaction: TRANSACTION, slot: SlotId(9) },
        Signal::RecoveryAsk { transaction: TRANSACTION, slot: PARTITION, participants: participants() },
    ];
    signals.extend(states.map(|state| Signal::RecoveryReport(Box::new(report(state)))));
    signals
}

fn hand_over() -> HandOver {
    let write = ReplicatedWrite::new(TABLE, &[1], None);
    let key = [2].into();
    let transaction = HandedTransaction {
        transaction: TRANSACTION,
        session: Address::new(NodeId(2), ModuleKind::Sql, 1),
        operations: vec![
            HandedOperation::Staged(write),
            HandedOperation::Locked { table: TABLE.id, key, mode: LockMode::Shared },
        ],
    };
    HandOver {
        slot: PARTITION,
        places: Vec::new(),
        transactions: vec![transaction],
        waits: Vec::new(),
        void: vec![(NodeId(4), TRANSACTION)],
    }
}

fn terms() -> ClusterTerms {
    let members = vec![(NodeId(2), NodeRole::Data)];
    ClusterTerms {
        replica_count: 2,
        partitions_per_node: 4,
        slots_per_node: 5,
        heartbeat_us: 50_000,
        members,
    }
}

fn recovery_order() -> RecoveryOrder {
    RecoveryOrder {
        number: 1,
        cluster: "shop".into(),
        without: vec![NodeId(1), NodeId(65)],
        operator: "10.0.0.7:4711".into(),
        goal: RecoveryGoal::Voters,
    }
}

/// An operator goes on without voters that are lost.
fn recovery() -> Vec<Signal> {
    vec![
        Signal::Control(Box::new(ControlMessage::Recovery(RecoveryMessage::Order(recovery_order())))),
        Signal::Control(Box::new(ControlMessage::Recovery(RecoveryMessage::Prepared {
            recovery: GroupId(9),
            survivor: Box::new(Survivor {
                incarnation: Incarnation(3),
                log: Some((4, 5)),
                view: Arc::new(View::none()),
                hears: vec![(NodeId(1), Some(6))],
                refusal: Some("no".into()),
            }),
        }))),
        Signal::Control(Box::new(ControlMessage::Recovery(RecoveryMessage::Replaced {
            founding: GroupId(9),
            replaced: vec![GroupId(7), GroupId(8)],
        }))),
        Signal::RecoverVoters(Box::new(recovery_order())),
        Signal::VotersRecovered { number: 1, text: "done".into() },
        Signal::ControlPlaneAwaited { text: "node 1".into() },
    ]
}

fn control() -> Vec<Signal> {
    let probe = Probe {
        initiator: TRANSACTION,
        home: Address::new(NodeId(1), ModuleKind::Ldm, 0),
        wait: 5,
        transaction: TransactionId(6),
        hops_left: 7,
    };
    let version = SchemaVersion(12);
    let mut signals = vec![
        Signal::Continue(1),
        Signal::ProbeSession(probe),
        Signal::ProbeWait(probe),
        Signal::ProbeHit { initiator: TRANSACTION, wait: 5, other: TransactionId(6) },
        Signal::EpochWanted { epoch: EPOCH },
        Signal::EpochOpen { epoch: EPOCH },
        Signal::EpochDrained { epoch: EPOCH },
        Signal::EpochClosed { epoch: EPOCH, is_awaited: true, closed_at_us: 71, stamped_for_us: Some(9_000) },
        Signal::EpochStamped { epoch: EPOCH, at_ns: 88_000 },
        Signal::EpochWhole { epoch: EPOCH },
        Signal::Flushed { epoch: EPOCH },
        Signal::EpochFlushed { epoch: EPOCH, durable: EPOCH },
        Signal::EpochDurable { restart: RestartNumber(3), flushed: EPOCH, durable: EPOCH },
        Signal::DurableWanted { epoch: EPOCH },
        Signal::SchemaInstall { request: REQUEST, version, tables: vec![TABLE.into()], used_for_ms: 13 },
        Signal::SchemaInstalled { request: REQUEST, version, users: vec![14] },
        Signal::SchemaFetch { request: REQUEST, view: ViewNumber(9), known: Some(version) },
        Signal::SchemaFetched { request: REQUEST, schema: [1, 2, 3].into(), since: Some(version) },
        Signal::SequenceRequest { request: REQUEST, table: TABLE.id, count: 2, at_least: 3 },
        Signal::SequenceDone { request: REQUEST, table: TABLE.id, first: 4, count: 5 },
        Signal::BackfillRequest { request: REQUEST, table: TABLE, index: IndexId(3) },
        Signal::BackfillDone { request: REQUEST, refusal: None },
        Signal::Control(Box::new(ControlMessage::Propose {
            command: Box::new(Command::Join {
                node: NodeId(2),
                join: Box::new(join()),
                replaces: Incarnation(1),
            }),
            is_forwarded: true,
        })),
        Signal::Control(Box::new(ControlMessage::Joined { start: 77, incarnation: Incarnation(3) })),
        Signal::Control(Box::new(ControlMessage::JoinRefused { start: 77, reason: "no".into() })),
        Signal::Control(Box::new(ControlMessage::NoLog { start: 77 })),
        Signal::Heartbeat(Box::new(Heartbeat {
            view: ViewNumber(4),
            sequence: 9,
            granted: 8,
            rows: vec![LinkRow {
                node: NodeId(2),
                incarnation: Incarnation(3),
                number: 10,
                hears: NodeSet::from_iter([NodeId(1)]),
                late: NodeSet::from_iter([NodeId(1)]),
            }],
        })),
        Signal::JoinAccepted { incarnation: Incarnation(3) },
        Signal::ViewInstalled { view: ViewNumber(4) },
        Signal::ViewSettled { view: ViewNumber(4) },
        Signal::ViewWanted,
        Signal::ViewInstall(view(), Some(Box::new(terms())), Some(Incarnation(3))),
        Signal::PeerFound { node: NodeId(2) },
        Signal::PeerLost { node: NodeId(2), incarnation: Incarnation(3) },
        Signal::InfoDone { request: REQUEST, rows: vec![every_value()] },
        Signal::Leaving { step: LeaveStep::Leave { exit_code: 3 } },
        Signal::StandDown,
        Signal::StoodDown,
        Signal::Drain { patience_ms: Some(4) },
        Signal::Drained,
        Signal::StopNode { reason: "asked".into(), exit_code: 3, is_alone: true },
        Signal::Checksum(Box::new(ChecksumRequest {
            request: REQUEST,
            slot: PARTITION,
            table: TABLE.id,
            after: Some([1].into()),
            limit: 100,
        })),
        Signal::ChecksumDone(Box::new(ChecksumDone {
            request: REQUEST,
            rows: vec![([1].into(), 2)],
            index_errors: vec!["e".into()],
            end: true,
        })),
        Signal::Failed { request: REQUEST, error: SqlError::new(1213, "deadlock") },
        Signal::RestartProgress { copied: 3, slots: 8 },
        Signal::Voters { applied: 7, voters: vec![VoterPlace { node: NodeId(65), votes: true }] },
        Signal::LagProbe { probe: 300 },
        Signal::LagProbed { probe: 300 },
        Signal::ReplicaLags { node: NodeId(2), milliseconds: 3_000 },
    ];
    let mut tables = InfoTable::ALL.to_vec();
    tables.sort_by_key(to_bytes);
    signals.extend(tables.into_iter().map(|table| Signal::InfoRequest { request: REQUEST, table }));
    signals.extend(recovery());
    signals
}

/// Between management nodes and the others.
fn management() -> Vec<Signal> {
    vec![
        Signal::NodeReport(Box::new(NodeReport {
            version: "0.1".to_owned(),
            config: "9f".to_owned(),
            mysql_port: 3306,
            serves: false,
            waits: "rows".to_owned(),
        })),
        Signal::RestartCheck { request: REQUEST, config: "[ndbd]".to_owned() },
        Signal::RestartChecked { request: REQUEST, refusal: Some("why".to_owned()) },
    ]
}

/// Disks and restarts.
fn restarts() -> Vec<Signal> {
    let restart = RestartPoint { number: RestartNumber(2), cut: Epoch(30), first: Epoch(40) };
    let order = RestoreOrder { restart, source: Incarnation(3) };
    let life = Incarnation(9);
    let messages = [
        RestartMessage::Restore { life, order },
        RestartMessage::Restored { life, order },
        RestartMessage::Lost { view: ViewNumber(4) },
        RestartMessage::Awaited { text: "node 3".into() },
        RestartMessage::LoseData(RecoveryOrder { goal: RecoveryGoal::Rows, ..recovery_order() }),
        RestartMessage::DataLost { number: 1, text: "done".into() },
    ];
    let mut signals =
        messages.map(|message| Signal::Control(Box::new(ControlMessage::Restart(message)))).to_vec();
    let command = Box::new(Command::Restart { view: view() });
    signals.push(Signal::Control(Box::new(ControlMessage::Propose { command, is_forwarded: false })));
    signals.extend([
        Signal::DiskRead(Box::new(claim())),
        Signal::Restore(order),
        Signal::Restored(order),
        Signal::RestartAwaited { text: "node 3".into() },
        Signal::RestoreProgress(RestoreProgress { phase: RestorePhase::Log, done: 5, total: 6 }),
        Signal::RestoreToJoin(point()),
        Signal::RestoredToJoin(point()),
        Signal::DiskCounted { view: ViewNumber(4), is_durable: true },
    ]);
    let (view, without, operator) = (ViewNumber(4), vec![NodeId(3)], "10.0.0.7:4711".to_owned());
    let command = Box::new(Command::LoseData { view, without, operator });
    signals.push(Signal::Control(Box::new(ControlMessage::Propose { command, is_forwarded: false })));
    signals.extend(full_stop());
    signals
}

/// A stop of the whole cluster.
fn full_stop() -> Vec<Signal> {
    let command = Box::new(Command::Stop { view: ViewNumber(4) });
    let stop = LeaveStep::Stop { exit_code: Some(0), flushed_in: Some(ViewNumber(4)) };
    let step = FullStopStep::Flush { epoch: EPOCH };
    vec![
        Signal::Control(Box::new(ControlMessage::Propose { command, is_forwarded: false })),
        Signal::Leaving { step: stop },
        Signal::FullStopWanted { extent: FullStop::Restart, reason: "asked".to_owned() },
        Signal::FullStopRequest { step, exit_code: Some(0) },
        Signal::FullStopDone { step, open: EPOCH },
    ]
}

fn copied_until() -> CopyPosition {
    CopyPosition { table: TABLE.id, index: Some(IndexId(2)), key: [3].into() }
}

fn bounds() -> CopyBounds {
    CopyBounds { table: TABLE.id, after: Some([1].into()), to: None }
}

fn point() -> ClaimPoint {
    ClaimPoint {
        restart: RestartNumber(1),
        lineage: Incarnation(3),
        flushed: Epoch(30),
        closed_at_us: 31,
        low: Epoch(12),
    }
}

fn claim() -> protocol::Claim {
    let (founding, low, durable) = (GroupId(5), Epoch(11), Epoch(29));
    protocol::Claim { founding, low, durable, is_damaged: true, points: vec![point()] }
}

fn join() -> JoinRequest {
    JoinRequest {
        role: NodeRole::Sql,
        start: 77,
        host: "host".into(),
        ldm_count: 1,
        tc_count: 2,
        query_count: 3,
        sql_count: 4,
        claim: Some(Box::new(claim())),
    }
}

fn every_signal() -> Vec<Signal> {
    [reads(), writes(), commits(), takeover(), control(), management(), restarts()].concat()
}

fn envelope(signal: Signal) -> Envelope {
    Envelope {
        from: Address::new(NodeId(1), ModuleKind::Sql, 2),
        to: Address::new(NodeId(2), ModuleKind::Ldm, 0),
        view: ViewNumber(1),
        epoch: EPOCH,
        signal,
    }
}

fn hello() -> Hello {
    Hello {
        cluster: "shop".into(),
        node: NodeId(1),
        start: 77,
        to: NodeId(3),
        from_thread: 4,
        to_thread: 5,
        threads: vec![vec![Address::new(NodeId(1), ModuleKind::Main, 0)], Vec::new()],
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// One note, of two warnings.
fn raised() -> Raised {
    let message = "lost".to_owned();
    Raised { count: 2, warnings: vec![Warning { severity: Severity::Note, code: 1265, message }] }
}

/// The text that `wire.txt` should have: one line per instance, each variant's own bytes; then whole frames.
fn pinned() -> String {
    let mut text = format!("wire version {WIRE_VERSION}\n");
    for signal in every_signal() {
        let _ = writeln!(text, "{} {}", signal.name(), hex(&to_bytes(&signal)));
    }
    let mut frames = Vec::new();
    encode_hello(&hello(), &mut frames);
    let _ = writeln!(text, "frame:hello {}", hex(&frames));
    frames.clear();
    encode_envelope(&envelope(Signal::EpochOpen { epoch: EPOCH }), &mut frames).expect("it fits");
    let _ = writeln!(text, "frame:signal {}", hex(&frames));
    text
}

#[test]
fn the_bytes_are_those_of_the_file() {
    #[expect(clippy::disallowed_methods, reason = "a person asks for it")]
    if std::env::var_os("WRITE_WIRE").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wire.txt"), pinned())
            .expect("wire.txt is written");
        return;
    }
    for (line, (is, was)) in pinned().lines().zip(PINNED.lines()).enumerate() {
        assert_eq!(is, was, "line {} of wire.txt: the wire format changed", line + 1);
    }
    assert_eq!(pinned().lines().count(), PINNED.lines().count());
}

/// A variant that is added must be added here, too: all tags up to the highest occur, and the one behind it is unknown.
#[test]
fn every_variant_is_there() {
    let named: BTreeSet<&str> = every_signal().iter().map(Signal::name).collect();
    let missing = Signal::ALL.iter().map(|entry| entry.name).filter(|name| !named.contains(name));
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&str>::new(), "give `every_signal` an instance of each");
    let mut tags: Vec<u8> = every_signal().iter().map(|signal| to_bytes(signal)[0]).collect();
    tags.sort_unstable();
    tags.dedup();
    let count = u8::try_from(tags.len()).expect("a tag is a byte");
    assert_eq!(tags, (0..count).collect::<Vec<u8>>());
    assert_eq!(from_bytes::<Signal>(&[count]), Err(WireError::UnknownTag));
}

/// Rows' versions have 62 bits for either; what a peer says must leave room for what follows it.
#[test]
fn ids_that_no_node_gives_are_refused() {
    for (number, is_epoch) in [((1_u64 << 61) - 1, true), (1 << 61, false), (u64::MAX, false)] {
        assert_eq!(from_bytes::<Epoch>(&number.to_le_bytes()).is_ok(), is_epoch, "{number}");
    }
    for (number, is_transaction) in [((1_u64 << 62) - 1, true), (1 << 62, false), (u64::MAX, false)] {
        assert_eq!(from_bytes::<TransactionId>(&number.to_le_bytes()).is_ok(), is_transaction, "{number}");
    }
}

/// A node of version 8 says nothing of how far a copy is, and is told nothing.
#[test]
fn the_positions_of_copies_are_of_version_9() {
    for signal in takeover() {
        let mut bytes = Vec::new();
        signal.encode(&mut Encoder { bytes: &mut bytes, version: 8 });
        let decoded = Signal::decode(&mut Decoder::new(&bytes, 8)).expect("a signal");
        let mut expected = signal;
        if let Signal::CopyPiece(piece) = &mut expected {
            piece.until = None;
        } else if let Signal::Gather(report) = &mut expected {
            report.copied_until = None;
        }
        assert_eq!(decoded, expected);
    }
}

#[test]
fn frames_round_trip() {
    let mut bytes = Vec::new();
    encode_hello(&hello(), &mut bytes);
    let (payload, size) = next_frame(&bytes).expect("a good frame").expect("a whole frame");
    assert_eq!(size, bytes.len());
    assert_eq!(decode_hello(payload), Ok((WIRE_VERSION, hello())));
    for signal in every_signal() {
        let mut bytes = Vec::new();
        encode_envelope(&envelope(signal.clone()), &mut bytes).expect("it fits");
        for end in 0..bytes.len() {
            assert_eq!(next_frame(&bytes[..end]), Ok(None), "an incomplete frame is waited for");
        }
        let (payload, _) = next_frame(&bytes).expect("a good frame").expect("a whole frame");
        assert_eq!(decode_envelope(payload, WIRE_VERSION), Ok(envelope(signal)));
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        assert!(next_frame(&bytes).is_err(), "a flipped bit is found");
    }
}

// ---- bytes that are none of ours ------------------------------------------------------------------------------------

/// Counts what a thread allocates.
struct Counting;

thread_local! {
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
}

fn count(bytes: usize) {
    // A thread that ends has no counter any more.
    let _ = ALLOCATED.try_with(|allocated| allocated.set(allocated.get() + bytes));
}

// SAFETY: everything is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size.saturating_sub(layout.size()));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The bytes that decoding may allocate: per byte of input, and for the first elements of a list that turns out to be a
/// lie.
const ALLOCATED_PER_BYTE: usize = 256;
const ALLOCATED_AT_LEAST: usize = 64 << 10;

fn decode_anything(bytes: &[u8]) {
    let before = ALLOCATED.with(Cell::get);
    let decoded = decode_envelope(bytes, WIRE_VERSION);
    let allocated = ALLOCATED.with(Cell::get) - before;
    assert!(
        allocated <= ALLOCATED_AT_LEAST + bytes.len() * ALLOCATED_PER_BYTE,
        "{allocated} bytes for {} bytes of input: {}",
        bytes.len(),
        hex(bytes)
    );
    if let Ok(envelope) = decoded {
        // Compared as bytes: a NaN is not equal to itself.
        let again = to_bytes(&envelope);
        assert_eq!(to_bytes(&from_bytes::<Envelope>(&again).expect("what was read can be written")), again);
    }
    let _ = decode_hello(bytes);
    let _ = next_frame(bytes);
}

/// Changes some bytes, cuts some off, puts some in, or takes a part from another instance.
fn mutate(bytes: &mut Vec<u8>, other: &[u8], prng: &mut Prng) {
    for _ in 0..1 + prng.below(4) {
        let at = prng.index(bytes.len().max(1));
        let some = u8::try_from(prng.below(256)).unwrap_or(0);
        match prng.below(6) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at.min(bytes.len()), some),
            2 => bytes.extend_from_slice(&other[prng.index(other.len())..]),
            // Counts are where a lie is expensive.
            3 => (at..bytes.len().min(at + 4)).for_each(|place| bytes[place] = 0xff),
            4 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << prng.below(8);
                }
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = some;
                }
            }
        }
    }
}

#[test]
fn any_bytes_are_a_value_or_an_error() {
    const ROUNDS: u64 = 400;
    let mut prng = Prng::new(11);
    let good: Vec<Vec<u8>> = every_signal().into_iter().map(|signal| to_bytes(&envelope(signal))).collect();
    for bytes in &good {
        for _ in 0..ROUNDS {
            let mut changed = bytes.clone();
            mutate(&mut changed, &good[prng.index(good.len())], &mut prng);
            decode_anything(&changed);
        }
        for end in 0..bytes.len() {
            decode_anything(&bytes[..end]);
        }
    }
    for _ in 0..20_000 {
        let mut bytes = vec![0; prng.index(200)];
        prng.fill(&mut bytes);
        decode_anything(&bytes);
    }
}

/// The deepest nesting that fits a frame is refused, not followed.
#[test]
fn endless_nesting_is_an_error() {
    // AND of one AND of one …: tag, a count of 1, then the operand's node again.
    let read = to_bytes(&envelope(reads().remove(0)));
    let filter = to_bytes(&expression());
    let start = read.windows(filter.len()).position(|window| window == filter).expect("the filter is in it");
    let mut bytes = read[..start].to_vec();
    for _ in 0..1_000_000 {
        bytes.push(filter[0]);
        bytes.extend_from_slice(&1_u32.to_le_bytes());
    }
    assert_eq!(decode_envelope(&bytes, WIRE_VERSION), Err(WireError::TooDeep));
}
