//! The commit protocols between real blocks, without SQL: two nodes with an ldm and a tc each, signals delivered one at
//! a time.
#![expect(clippy::wildcard_enum_match_arm, reason = "tests look at the answers they expect")]

use fixtures::{column, integer, nullable, replicas};
use memory::{MemoryConfig, MemoryManager};
use protocol::program::{
    Access, BATCH_ROWS_MAX, LockMode, LockWait, OnDuplicate, OperationResult, ReadOutput, ReadProgram,
    ReadProgress, Refusal, StatementContext, TableRef, UpdateProgram, WriteOperation,
};
use protocol::signal::{
    CommitDone, CommitOneRequest, CommitOutcome, CoordinateRequest, Decider, InfoTable, Outcome, Participant,
    Participants, ReadDone, ReadRequest, Replicate, ReplicatedWrite, RequestId, Verdict, WriteDone,
    WriteRequest,
};
use protocol::{Address, Budget, Envelope, ModuleKind, Outputs, Signal, View};
use query::batch::{BatchShape, RowBatchReader};
use query::{NodeMap, Shared};
use std::collections::VecDeque;
use std::sync::Arc;
use stdx::{Duration, Now, smallvec};
use transaction::{Ldm, MARKER_TIME, Tc};
use types::{
    ColumnIndex, Epoch, Incarnation, NodeId, Schema, Sequence, SlotId, SqlType, TableDefinition, TableId,
    TransactionId, Value, ValueRef, ViewNumber,
};

#[path = "protocol/deadlocks.rs"]
mod deadlocks;
#[path = "protocol/directed.rs"]
mod directed;
#[path = "protocol/epochs.rs"]
mod epochs;
#[path = "protocol/essence.rs"]
mod essence;
#[path = "protocol/grants.rs"]
mod grants;
#[path = "protocol/handover.rs"]
mod handover;
#[path = "protocol/lag.rs"]
mod lag;
#[path = "protocol/large.rs"]
mod large;
#[path = "protocol/nodes.rs"]
mod nodes;
#[path = "protocol/outcomes.rs"]
mod outcomes;
#[path = "protocol/transcripts.rs"]
mod transcripts;
#[path = "protocol/undecided.rs"]
mod undecided;

const TABLE: TableId = TableId(200);
const SESSION: Address = Address::new(NodeId(1), ModuleKind::Sql, 0);

fn table() -> TableDefinition {
    let blob = SqlType::Blob { size: types::BlobSize::Long };
    fixtures::table(TABLE, vec![column("id", integer()), column("v", integer()), nullable("b", blob)])
}

/// Two nodes; signals to the session pile up in `answers`.
struct Cluster {
    maps: Vec<Arc<NodeMap>>,
    ldms: Vec<Ldm>,
    tcs: Vec<Tc>,
    queue: VecDeque<Envelope>,
    answers: Vec<Signal>,
    now: Now,
    /// Bytes of rows that are in the queue because they are shipped ahead, and how many there were at most.
    ahead: (usize, usize),
}

fn ahead_bytes(envelope: &Envelope) -> usize {
    let Signal::ReplicateAhead(piece) = &envelope.signal else { return 0 };
    piece.writes.iter().filter_map(ReplicatedWrite::row).map(<[u8]>::len).sum()
}

impl Cluster {
    fn new() -> Self {
        Self::with_data_memory(64 << 20)
    }

    /// Both nodes share so much.
    fn with_data_memory(bytes: u64) -> Self {
        let memory = MemoryManager::new(MemoryConfig::with_data_memory(bytes));
        let mut schema: Schema = catalogue::bootstrap();
        schema.put_table(Arc::new(table()));
        let (schema, view) = (Arc::new(schema), Arc::new(replicas(2)));
        let mut cluster = Self {
            maps: Vec::new(),
            ldms: Vec::new(),
            tcs: Vec::new(),
            queue: VecDeque::new(),
            answers: Vec::new(),
            now: Now::default(),
            ahead: (0, 0),
        };
        for id in 1..=2 {
            let node = NodeId(id);
            let empty = NodeMap::empty(node, Arc::clone(&schema));
            let map =
                Arc::new(empty.with(Incarnation(u32::from(id)), Arc::clone(&view), Arc::clone(&schema), &[]));
            let mut ldm = Ldm::new(
                Address::new(node, ModuleKind::Ldm, 0),
                Arc::new(empty),
                Arc::clone(&memory),
                MARKER_TIME,
            );
            let mut tc = Tc::new(Address::new(node, ModuleKind::Tc, 0), Arc::clone(&map), MARKER_TIME);
            let mut outputs = Outputs::default();
            ldm.on_shared(Now::default(), Shared::Tables(Arc::clone(&map)), &mut outputs);
            ldm.on_shared(Now::default(), Shared::Map(Arc::clone(&map)), &mut outputs);
            tc.install(Now::default(), Arc::clone(&map), &mut outputs);
            cluster.maps.push(map);
            cluster.ldms.push(ldm);
            cluster.tcs.push(tc);
        }
        cluster
    }

    fn key(&self, id: i64) -> Box<[u8]> {
        let mut key = Vec::new();
        self.maps[0]
            .table(TABLE)
            .expect("the table")
            .primary_key
            .encode_values(&[ValueRef::Int(id)], &mut key);
        key.into()
    }

    fn row(&self, id: i64, v: i64) -> Box<[u8]> {
        self.row_with(id, v, ValueRef::Null)
    }

    fn row_with(&self, id: i64, v: i64, blob: ValueRef<'_>) -> Box<[u8]> {
        let mut row = Vec::new();
        let info = self.maps[0].table(TABLE).expect("the table");
        info.layout.encode(&[ValueRef::Int(id), ValueRef::Int(v), blob], &mut row);
        row.into()
    }

    /// An id whose row's primary is on a node.
    fn id_at(&self, node: u16, from: i64) -> i64 {
        (from..).find(|id| self.primary(*id).node == NodeId(node)).expect("an id")
    }

    fn slot(&self, id: i64) -> SlotId {
        self.maps[0].slot_of_key(TABLE, &self.key(id))
    }

    fn primary(&self, id: i64) -> Address {
        self.maps[0].primary(self.slot(id)).expect("a primary")
    }

    fn send(&mut self, to: Address, signal: Signal) {
        self.queue.push_back(Envelope { from: SESSION, to, view: ViewNumber(1), epoch: Epoch(1), signal });
    }

    /// Delivers everything.
    fn run(&mut self) -> Vec<Signal> {
        self.deliver(usize::MAX);
        std::mem::take(&mut self.answers)
    }

    /// Delivers so many signals, if there are.
    fn deliver(&mut self, count: usize) {
        for _ in 0..count {
            let Some(envelope) = self.queue.pop_front() else { return };
            self.ahead.0 -= ahead_bytes(&envelope);
            if envelope.to.kind == ModuleKind::Sql {
                self.answers.push(envelope.signal);
                continue;
            }
            let index = usize::from(envelope.to.node.0) - 1;
            let installed = self.maps[index].view.number;
            match envelope.verdict(envelope.to, installed, |node| {
                self.maps[index].view.left_out().any(|left| left == node)
            }) {
                Verdict::Handle => {}
                Verdict::OldView | Verdict::LeftOut => continue,
                Verdict::Early | Verdict::WrongKind => panic!("{envelope:?}"),
            }
            let mut outputs: Outputs<Shared> = Outputs::default();
            match envelope.to.kind {
                ModuleKind::Ldm => {
                    self.ldms[index].on_signal(self.now, envelope, &mut Budget::of(100), &mut outputs);
                }
                ModuleKind::Tc => self.tcs[index].on_signal(self.now, envelope, &mut outputs),
                _ => {}
            }
            self.emit(index, outputs);
            self.ahead.1 = self.ahead.1.max(self.ahead.0);
        }
    }

    /// The signals of a node go under way, in its view.
    fn emit(&mut self, index: usize, outputs: Outputs<Shared>) {
        let view = self.maps[index].view.number;
        self.ahead.0 += outputs.signals.iter().map(ahead_bytes).sum::<usize>();
        self.queue.extend(outputs.signals.into_iter().map(|envelope| Envelope { view, ..envelope }));
    }

    /// The connection of the two nodes has broken, and what was under way is lost with it. Both go on in the next view.
    fn renew_view(&mut self) {
        self.queue.clear();
        self.ahead.0 = 0;
        let view = Arc::new(View { number: ViewNumber(2), ..replicas(2) });
        for index in 0..self.ldms.len() {
            let map = &self.maps[index];
            let next = map.with(map.incarnation, Arc::clone(&view), Arc::clone(&map.schema), &[]);
            self.maps[index] = Arc::new(next);
            let mut outputs: Outputs<Shared> = Outputs::default();
            self.ldms[index].on_shared(
                Now::default(),
                Shared::Map(Arc::clone(&self.maps[index])),
                &mut outputs,
            );
            self.emit(index, outputs);
        }
    }

    /// Rows of ndbinfo that an ldm gives.
    fn information(&mut self, ldm: Address, table: InfoTable) -> Vec<Vec<Value>> {
        self.send(ldm, Signal::InfoRequest { request: RequestId(77), table });
        let is_answer = |signal: &Signal| matches!(signal, Signal::InfoDone { request: RequestId(77), .. });
        match self.run().into_iter().find(is_answer) {
            Some(Signal::InfoDone { rows, .. }) => rows,
            other => panic!("no rows: {other:?}"),
        }
    }

    /// Delivers everything; time goes on until there is an answer.
    fn run_until_answered(&mut self) -> Vec<Signal> {
        loop {
            let answers = self.run();
            if !answers.is_empty() {
                return answers;
            }
            let next = self.ldms.iter().filter_map(Ldm::deadline).min().expect("nobody will answer");
            self.now.monotonic = next.max(self.now.monotonic);
            for index in 0..self.ldms.len() {
                let mut outputs: Outputs<Shared> = Outputs::default();
                self.ldms[index].on_deadline(self.now, &mut outputs);
                self.emit(index, outputs);
            }
        }
    }

    fn write(&mut self, transaction: u64, id: i64, operation: WriteOperation, commit: bool) -> WriteDone {
        let request = WriteRequest {
            request: RequestId(1),
            transaction: TransactionId(transaction),
            slot: self.slot(id),
            table: TableRef { id: TABLE, version: 1 },
            operations: smallvec![operation],
            wait: LockWait::NoWait,
            commit: commit.then_some(Epoch(0)),
            known: 0,
            under: None,
        };
        let to = self.primary(id);
        self.send(to, Signal::Write(Box::new(request)));
        match self.run_until_answered().pop() {
            Some(Signal::WriteDone(done)) => *done,
            other => panic!("no answer to a write: {other:?}"),
        }
    }

    fn insert(&mut self, transaction: u64, id: i64, v: i64, commit: bool) -> WriteDone {
        let operation = WriteOperation::Insert {
            key: self.key(id),
            row: self.row(id, v),
            on_duplicate: OnDuplicate::Fail,
        };
        self.write(transaction, id, operation, commit)
    }

    fn participant(&self, id: i64, operations: u32) -> Participant {
        Participant { slot: self.slot(id), operations, view: ViewNumber(1), has_writes: true }
    }

    fn read_request(
        &self,
        id: i64,
        transaction: Option<u64>,
        lock: Option<(LockMode, LockWait)>,
    ) -> ReadRequest {
        ReadRequest {
            request: RequestId(9),
            transaction: transaction.map(TransactionId),
            lock,
            slot: self.slot(id),
            program: Arc::new(ReadProgram {
                table: TableRef { id: TABLE, version: 1 },
                filter: None,
                output: ReadOutput::Columns(vec![ColumnIndex(1)]),
                with_primary_key: false,
                with_index_key: false,
                context: StatementContext::default(),
            }),
            access: Access::Keys(vec![self.key(id)]),
            known: 0,
            under: None,
            grant_only: false,
        }
    }

    /// Reads at the primary.
    fn read(&mut self, id: i64, transaction: Option<u64>) -> Option<i64> {
        let request = self.read_request(id, transaction, None);
        self.answer_of(self.primary(id), request)
    }

    /// Reads at any replica.
    fn read_at(&mut self, node: NodeId, id: i64) -> Option<i64> {
        let request = self.read_request(id, None, None);
        self.answer_of(Address::new(node, ModuleKind::Ldm, 0), request)
    }

    fn answer_of(&mut self, to: Address, request: ReadRequest) -> Option<i64> {
        self.send(to, Signal::Read(Box::new(request)));
        match self.run().pop() {
            Some(Signal::ReadDone(done)) => value_of(&done),
            other => panic!("no answer to a read: {other:?}"),
        }
    }
}

fn value_of(done: &ReadDone) -> Option<i64> {
    let batch = done.result.as_ref().expect("rows");
    let shape = BatchShape { with_primary_key: false, with_index_key: false };
    let row = RowBatchReader::new(shape, &batch.rows).next()?.expect("a row");
    match row.values[0] {
        Value::Int(value) => Some(value),
        _ => None,
    }
}

#[test]
fn a_marker_of_an_earlier_transaction_of_the_same_id_answers_for_nobody() {
    let mut cluster = Cluster::new();
    // The session is on the other node: both replicas keep a marker until it confirms, which it never does.
    let id = cluster.id_at(2, 1);
    assert!(cluster.insert(1, id, 10, true).result.is_ok());
    // 1 024 lives later the id is given out again, in another epoch.
    let next = (id + 1..).find(|next| cluster.slot(*next) == cluster.slot(id)).unwrap();
    let operation = WriteOperation::Insert {
        key: cluster.key(next),
        row: cluster.row(next, 20),
        on_duplicate: OnDuplicate::Fail,
    };
    let request = WriteRequest {
        request: RequestId(2),
        transaction: TransactionId(1),
        slot: cluster.slot(next),
        table: TableRef { id: TABLE, version: 1 },
        operations: smallvec![operation],
        wait: LockWait::NoWait,
        commit: Some(Epoch(9)),
        known: 0,
        under: None,
    };
    let to = cluster.primary(next);
    cluster.send(to, Signal::Write(Box::new(request)));
    let Some(Signal::WriteDone(done)) = cluster.run_until_answered().pop() else { panic!("no answer") };
    assert!(done.result.is_ok(), "{done:?}");
    // Both replicas have both rows.
    for node in [1, 2] {
        let ldm = Address::new(NodeId(node), ModuleKind::Ldm, 0);
        let table = InfoTable::MemoryPerFragment;
        cluster.send(ldm, Signal::InfoRequest { request: RequestId(3), table });
        let Some(Signal::InfoDone { rows, .. }) = cluster.run().pop() else { panic!("no answer") };
        let is_wanted = |row: &&Vec<Value>| {
            row[3] == Value::UInt(TABLE.0.into()) && row[6] == Value::UInt(cluster.slot(id).0.into())
        };
        let counts: Vec<&Value> = rows.iter().filter(is_wanted).map(|row| &row[10]).collect();
        assert_eq!(counts, [&Value::UInt(2)], "at node {node}");
    }
}

#[test]
fn two_primaries_commit_together() {
    let mut cluster = Cluster::new();
    let (first, second) = (cluster.id_at(1, 1), cluster.id_at(2, 1));
    assert!(cluster.insert(5, first, 1, false).result.is_ok());
    assert!(cluster.insert(5, second, 2, false).result.is_ok());
    assert_eq!(cluster.read(first, None), None);
    assert_eq!(cluster.read(first, Some(5)), Some(1));
    let request = CoordinateRequest {
        request: RequestId(2),
        transaction: TransactionId(5),
        participants: vec![cluster.participant(first, 1), cluster.participant(second, 1)],
        epoch_seen: Epoch(3),
    };
    cluster.send(Address::new(NodeId(1), ModuleKind::Tc, 0), Signal::Coordinate(Box::new(request)));
    let answers = cluster.run();
    let committed = CommitDone { request: RequestId(2), outcome: CommitOutcome::Committed(Epoch(3)) };
    assert_eq!(answers, vec![Signal::CommitDone(committed)]);
    assert_eq!((cluster.read(first, None), cluster.read(second, None)), (Some(1), Some(2)));
    assert!(cluster.ldms.iter().all(Ldm::is_idle));
    assert_eq!(cluster.tcs[0].open_count(), 0);
}

#[test]
fn a_participant_that_does_not_hold_the_operations_aborts_all() {
    let mut cluster = Cluster::new();
    let (first, second) = (cluster.id_at(1, 1), cluster.id_at(2, 1));
    assert!(cluster.insert(5, first, 1, false).result.is_ok());
    assert!(cluster.insert(5, second, 2, false).result.is_ok());
    let request = CoordinateRequest {
        request: RequestId(2),
        transaction: TransactionId(5),
        participants: vec![cluster.participant(first, 1), cluster.participant(second, 2)],
        epoch_seen: Epoch(0),
    };
    cluster.send(Address::new(NodeId(2), ModuleKind::Tc, 0), Signal::Coordinate(Box::new(request)));
    let aborted = CommitDone { request: RequestId(2), outcome: CommitOutcome::Aborted(Refusal::NotHeld) };
    assert_eq!(cluster.run(), vec![Signal::CommitDone(aborted)]);
    assert_eq!((cluster.read(first, None), cluster.read(second, None)), (None, None));
    assert!(cluster.ldms.iter().all(Ldm::is_idle));
}

#[test]
fn a_second_writer_waits_and_goes_on_after_the_first() {
    let mut cluster = Cluster::new();
    let id = cluster.id_at(1, 1);
    assert!(cluster.insert(1, id, 1, false).result.is_ok());
    let refused = cluster.insert(2, id, 2, true).result.expect_err("locked");
    assert_eq!(refused.refusal, Refusal::LockNotAvailable);
    let operation = WriteOperation::Put { key: cluster.key(id), row: cluster.row(id, 3) };
    let request = WriteRequest {
        request: RequestId(3),
        transaction: TransactionId(3),
        slot: cluster.slot(id),
        table: TableRef { id: TABLE, version: 1 },
        operations: smallvec![operation],
        wait: LockWait::Wait { timeout_ms: 1_000 },
        commit: Some(Epoch(0)),
        known: 0,
        under: None,
    };
    let to = cluster.primary(id);
    cluster.send(to, Signal::Write(Box::new(request)));
    let asked: Vec<Signal> = cluster.run();
    assert!(asked.iter().all(|signal| matches!(signal, Signal::ProbeSession(_))), "{asked:?}");
    holder_and_waiter_are_shown(&mut cluster, id);
    let commit = CommitOneRequest {
        request: RequestId(4),
        transaction: TransactionId(1),
        participant: cluster.participant(id, 1),
        epoch_seen: Epoch(0),
    };
    cluster.send(to, Signal::CommitOne(Box::new(commit)));
    assert_eq!(cluster.run().len(), 2);
    assert_eq!(cluster.read(id, None), Some(3));
    assert!(cluster.ldms.iter().all(Ldm::is_idle));
    // fq_name .. fragment_num; ex_req, ex_imm_ok, ex_wait_ok, ex_wait_fail, of shared locks, milliseconds, is_primary
    let of_slot = |cluster: &mut Cluster, table| {
        let rows = cluster.information(cluster.primary(id), table);
        let slot = Value::UInt(cluster.slot(id).0.into());
        let row = rows.into_iter().find(|row| row[3] == Value::UInt(TABLE.0.into()) && row[6] == slot);
        row.expect("the slot")[7..].to_vec()
    };
    let locks = of_slot(&mut cluster, InfoTable::LocksPerFragment);
    assert_eq!(locks[..10], [3, 1, 1, 1, 0, 0, 0, 0, 500, 0].map(Value::UInt));
    // tot_key_reads, inserts, updates, writes, deletes
    let operations = of_slot(&mut cluster, InfoTable::OperationsPerFragment);
    assert_eq!(
        operations[..5],
        [Value::Null, Value::UInt(1), Value::UInt(0), Value::UInt(1), Value::UInt(0)]
    );
    assert_eq!((&operations[21], &operations[24]), (&Value::UInt(2), &Value::text("t")));
}

/// A row that transaction 1 has inserted, and that transaction 3 waits for.
fn holder_and_waiter_are_shown(cluster: &mut Cluster, id: i64) {
    cluster.now.monotonic = cluster.now.monotonic + Duration::from_millis(500);
    let text = |row: &[Value], places: &[usize]| {
        let shown = |place: &usize| match &row[*place] {
            Value::Bytes(text) => String::from_utf8_lossy(text).into_owned(),
            Value::UInt(number) => number.to_string(),
            other => format!("{other:?}"),
        };
        places.iter().map(shown).collect::<Vec<_>>().join(" ")
    };
    let to = cluster.primary(id);
    let locks = cluster.information(to, InfoTable::ClusterLocks);
    assert_eq!(locks.len(), 2, "{locks:?}");
    // transid, mode, state, detail, op, duration_millis, lock_num, waiting_for, table_name, row_key
    let places = [5, 6, 7, 8, 9, 10, 11, 12, 14, 15];
    assert_eq!(text(&locks[0], &places), format!("1 X H * INSERT Null 1 Null t {id}"));
    assert_eq!(text(&locks[1], &places), format!("3 X W  WRITE 500 2 1 t {id}"));
    // Table, slot and row are the same.
    assert_eq!(locks[0][2..5], locks[1][2..5]);
    let operations = cluster.information(to, InfoTable::ClusterOperations);
    // transid, operation_type, state, row_key
    let shown: Vec<String> = operations.iter().map(|row| text(row, &[2, 3, 4, 14])).collect();
    assert_eq!(shown, [format!("3 WRITE In lock queue {id}"), format!("1 INSERT Started {id}")]);
    let transactions = cluster.information(to, InfoTable::ClusterTransactions);
    let shown: Vec<String> = transactions.iter().map(|row| text(row, &[2, 3, 4, 5])).collect();
    assert_eq!(shown, ["1 Started 1 0"]);
}

#[test]
fn a_locking_read_keeps_writers_out_until_the_end() {
    let mut cluster = Cluster::new();
    let id = cluster.id_at(2, 1);
    assert!(cluster.insert(1, id, 1, true).result.is_ok());
    let request = cluster.read_request(id, Some(8), Some((LockMode::Shared, LockWait::NoWait)));
    let to = cluster.primary(id);
    cluster.send(to, Signal::Read(Box::new(request)));
    let answers = cluster.run();
    let Some(Signal::ReadDone(done)) = answers.first() else { panic!("no rows: {answers:?}") };
    assert_eq!(value_of(done), Some(1));
    let refused = cluster.insert(2, id, 2, true).result.expect_err("locked");
    assert_eq!(refused.refusal, Refusal::LockNotAvailable);
    cluster.send(to, Signal::Abort { transaction: TransactionId(8), slot: cluster.slot(id) });
    assert_eq!(cluster.run(), Vec::new());
    let refused = cluster.insert(2, id, 2, true).result.expect_err("a duplicate");
    assert!(matches!(refused.refusal, Refusal::Duplicate { .. }));
    assert!(cluster.ldms.iter().all(Ldm::is_idle));
}

impl Cluster {
    /// LOCK TABLES in the slot of a row: the key of no bytes.
    fn lock_table(&self, id: i64, transaction: u64, lock: (LockMode, LockWait)) -> Signal {
        let access = Access::Keys(vec![Box::default()]);
        Signal::Read(Box::new(ReadRequest { access, ..self.read_request(id, Some(transaction), Some(lock)) }))
    }

    fn put_waiting(&self, id: i64, transaction: u64, under: Option<u64>) -> Signal {
        Signal::Write(Box::new(WriteRequest {
            request: RequestId(transaction),
            transaction: TransactionId(transaction),
            slot: self.slot(id),
            table: TableRef { id: TABLE, version: 1 },
            operations: smallvec![WriteOperation::Put { key: self.key(id), row: self.row(id, 1) }],
            wait: LockWait::Wait { timeout_ms: 1_000 },
            commit: Some(Epoch(0)),
            known: 0,
            under: under.map(TransactionId),
        }))
    }

    /// The answers, without probes.
    fn answers(&mut self) -> Vec<Signal> {
        let mut answers = self.run();
        answers.retain(|signal| !matches!(signal, Signal::ProbeSession(_)));
        answers
    }
}

fn is_read(answers: &[Signal]) -> bool {
    matches!(answers, [Signal::ReadDone(done)] if done.result.is_ok())
}

fn has_written(answers: &[Signal], request: u64) -> bool {
    let is_answer = |done: &WriteDone| {
        done.request == RequestId(request) && done.result.as_ref().is_ok_and(|done| done.committed.is_some())
    };
    answers.iter().any(|signal| matches!(signal, Signal::WriteDone(done) if is_answer(done)))
}

const WAIT: LockWait = LockWait::Wait { timeout_ms: 10_000 };

#[test]
fn a_locked_table_keeps_writers_out_but_those_of_its_session() {
    let mut cluster = Cluster::new();
    let id = cluster.id_at(1, 1);
    let (to, slot) = (cluster.primary(id), cluster.slot(id));
    cluster.send(to, cluster.lock_table(id, 8, (LockMode::Exclusive, WAIT)));
    assert!(is_read(&cluster.answers()));
    assert_eq!(cluster.insert(2, id, 2, true).result.expect_err("locked").refusal, Refusal::LockNotAvailable);
    cluster.send(to, cluster.put_waiting(id, 3, None));
    assert_eq!(cluster.answers(), [], "it waits");
    let mut locking = cluster.read_request(id, Some(4), Some((LockMode::Shared, LockWait::NoWait)));
    cluster.send(to, Signal::Read(Box::new(locking.clone())));
    let refused = ReadDone { request: RequestId(9), result: Err(Refusal::LockNotAvailable) };
    assert_eq!(cluster.answers(), [Signal::ReadDone(Box::new(refused))]);
    // Rows are read without locks; the session's own transaction reads and writes.
    assert_eq!(cluster.read(id, None), None);
    cluster.send(to, cluster.put_waiting(id, 9, Some(8)));
    assert!(has_written(&cluster.answers(), 9));
    locking.under = Some(TransactionId(8));
    cluster.send(to, Signal::Read(Box::new(locking)));
    assert!(is_read(&cluster.answers()));
    cluster.send(to, Signal::Abort { transaction: TransactionId(4), slot });
    cluster.send(to, Signal::Abort { transaction: TransactionId(8), slot });
    assert!(has_written(&cluster.answers(), 3));
    assert!(cluster.ldms.iter().all(Ldm::is_idle));
}

#[test]
fn a_table_that_is_locked_for_reading_is_shared() {
    let mut cluster = Cluster::new();
    let id = cluster.id_at(1, 1);
    let (to, slot) = (cluster.primary(id), cluster.slot(id));
    assert!(cluster.insert(1, id, 1, true).result.is_ok());
    for transaction in [7, 8] {
        cluster.send(to, cluster.lock_table(id, transaction, (LockMode::Shared, LockWait::NoWait)));
        assert!(is_read(&cluster.answers()));
    }
    let shared = cluster.read_request(id, Some(4), Some((LockMode::Shared, LockWait::NoWait)));
    cluster.send(to, Signal::Read(Box::new(shared)));
    assert!(is_read(&cluster.answers()));
    cluster.send(to, Signal::Abort { transaction: TransactionId(4), slot });
    cluster.send(to, cluster.put_waiting(id, 3, None));
    assert_eq!(cluster.answers(), []);
    cluster.send(to, Signal::Abort { transaction: TransactionId(7), slot });
    assert_eq!(cluster.answers(), [], "the other one reads still");
    cluster.send(to, Signal::Abort { transaction: TransactionId(8), slot });
    assert!(has_written(&cluster.answers(), 3));
    assert!(cluster.ldms.iter().all(Ldm::is_idle));
}

#[test]
fn a_table_is_locked_when_those_are_over_that_have_rows_of_it_and_nobody_else_comes_in_between() {
    let mut cluster = Cluster::new();
    let id = cluster.id_at(1, 1);
    let (to, slot) = (cluster.primary(id), cluster.slot(id));
    let mut neighbours = (id + 1..).filter(|other| cluster.slot(*other) == slot);
    let (other, third) = (neighbours.next().expect("an id"), neighbours.next().expect("an id"));
    drop(neighbours);
    assert!(cluster.insert(1, id, 1, false).result.is_ok());
    let refused = ReadDone { request: RequestId(9), result: Err(Refusal::LockNotAvailable) };
    cluster.send(to, cluster.lock_table(id, 8, (LockMode::Shared, LockWait::NoWait)));
    assert_eq!(cluster.answers(), [Signal::ReadDone(Box::new(refused))]);
    cluster.send(to, cluster.lock_table(id, 8, (LockMode::Exclusive, WAIT)));
    assert_eq!(cluster.answers(), [], "a row is staged");
    // A newcomer stands behind LOCK TABLES, however free its row; the transaction that is there goes on.
    cluster.send(to, cluster.put_waiting(other, 3, None));
    assert_eq!(cluster.answers(), []);
    assert!(cluster.insert(1, third, 1, false).result.is_ok());
    let commit = CommitOneRequest {
        request: RequestId(4),
        transaction: TransactionId(1),
        participant: cluster.participant(id, 2),
        epoch_seen: Epoch(0),
    };
    cluster.send(to, Signal::CommitOne(Box::new(commit)));
    let answers = cluster.answers();
    assert!(answers.iter().any(|signal| matches!(signal, Signal::ReadDone(done) if done.result.is_ok())));
    assert!(!has_written(&answers, 3), "the table is locked: {answers:?}");
    cluster.send(to, Signal::Abort { transaction: TransactionId(8), slot });
    assert!(has_written(&cluster.answers(), 3));
    assert!(cluster.ldms.iter().all(Ldm::is_idle));
}

#[test]
fn a_row_that_an_update_leaves_as_it_is_stays_locked() {
    let mut cluster = Cluster::new();
    let id = cluster.id_at(1, 1);
    assert!(cluster.insert(1, id, 7, true).result.is_ok());
    let program = UpdateProgram {
        filter: None,
        assignments: Vec::new(),
        context: StatementContext::default(),
        view_check: None,
    };
    let update = WriteOperation::Update { key: cluster.key(id), program: Arc::new(program) };
    let done = cluster.write(2, id, update.clone(), false).result.expect("it matches");
    assert_eq!((done.results, done.operations), (smallvec![OperationResult::Unchanged], 1));
    let put = WriteOperation::Put { key: cluster.key(id), row: cluster.row(id, 8) };
    let refused = cluster.write(3, id, put.clone(), true).result.expect_err("locked");
    assert_eq!(refused.refusal, Refusal::LockNotAvailable);
    let commit = CommitOneRequest {
        request: RequestId(4),
        transaction: TransactionId(2),
        participant: cluster.participant(id, 1),
        epoch_seen: Epoch(0),
    };
    cluster.send(cluster.primary(id), Signal::CommitOne(Box::new(commit)));
    assert!(matches!(cluster.run().as_slice(), [Signal::CommitDone(_)]));
    // By itself such a statement locks nothing.
    assert!(cluster.write(4, id, update, true).result.is_ok());
    assert!(cluster.write(5, id, put, true).result.is_ok());
    assert!(cluster.ldms.iter().all(Ldm::is_idle));
}

#[test]
fn a_locking_read_of_many_rows_comes_in_parts() {
    let mut cluster = Cluster::new();
    let id = cluster.id_at(1, 1);
    let ids: Vec<i64> = (1..).filter(|other| cluster.slot(*other) == cluster.slot(id)).take(1_500).collect();
    for id in &ids {
        assert!(cluster.insert(id.unsigned_abs(), *id, 7, true).result.is_ok());
    }
    let mut request = cluster.read_request(id, Some(1 << 40), Some((LockMode::Exclusive, LockWait::NoWait)));
    request.access = Access::Keys(ids.iter().map(|id| cluster.key(*id)).collect());
    let to = cluster.primary(id);
    cluster.send(to, Signal::Read(Box::new(request)));
    let answers = cluster.run();
    let [Signal::ReadDone(done)] = answers.as_slice() else { panic!("one answer: {answers:?}") };
    let batch = done.result.as_ref().expect("rows");
    assert_eq!(batch.rows.count as usize, BATCH_ROWS_MAX);
    assert_eq!(batch.operations as usize, BATCH_ROWS_MAX, "what is behind is not locked");
    let ReadProgress::More { position, .. } = batch.progress else { panic!("there is more") };
    assert_eq!(position as usize, BATCH_ROWS_MAX);
}

#[test]
fn savepoints_undo_exactly() {
    let mut cluster = Cluster::new();
    let id = cluster.id_at(1, 1);
    assert!(cluster.insert(4, id, 1, false).result.is_ok());
    let put = WriteOperation::Put { key: cluster.key(id), row: cluster.row(id, 2) };
    assert_eq!(cluster.write(4, id, put, false).result.expect("staged").operations, 2);
    assert_eq!(cluster.read(id, Some(4)), Some(2));
    let back = Signal::RollbackTo {
        request: RequestId(6),
        transaction: TransactionId(4),
        slot: cluster.slot(id),
        operations: 1,
    };
    let to = cluster.primary(id);
    cluster.send(to, back);
    assert_eq!(cluster.run(), vec![Signal::RollbackDone { request: RequestId(6), held: true }]);
    assert_eq!(cluster.read(id, Some(4)), Some(1));
    cluster.send(to, Signal::Abort { transaction: TransactionId(4), slot: cluster.slot(id) });
    cluster.run();
    assert_eq!(cluster.read(id, None), None);
    assert!(cluster.ldms.iter().all(Ldm::is_idle));
}

#[test]
fn a_large_transaction_is_shipped_ahead_and_commits() {
    let mut cluster = Cluster::new();
    let slot = cluster.slot(1);
    let ids: Vec<i64> = (1..20_000).filter(|id| cluster.slot(*id) == slot).collect();
    let operations = ids
        .iter()
        .map(|id| WriteOperation::Put { key: cluster.key(*id), row: cluster.row(*id, *id) })
        .collect();
    let request = WriteRequest {
        request: RequestId(1),
        transaction: TransactionId(1),
        slot,
        table: TableRef { id: TABLE, version: 1 },
        operations,
        wait: LockWait::NoWait,
        commit: Some(Epoch(0)),
        known: 0,
        under: None,
    };
    let to = cluster.primary(1);
    cluster.send(to, Signal::Write(Box::new(request)));
    let answers = cluster.run();
    assert!(matches!(answers.as_slice(), [Signal::WriteDone(done)] if done.result.is_ok()));
    for id in [ids[0], ids[ids.len() / 2], ids[ids.len() - 1]] {
        assert_eq!(cluster.read(id, None), Some(id));
    }
    assert!(cluster.ldms.iter().all(Ldm::is_idle));
}

#[test]
fn what_a_peer_sends_instead_of_rows_is_refused() {
    let mut cluster = Cluster::new();
    // The session is on node 1: for node 2 its rows come from another node.
    let id = cluster.id_at(2, 1);
    let (key, row) = (cluster.key(id), cluster.row(id, 1));
    let (other, cut) = (cluster.key(id + 1), row[..row.len() - 1].into());
    for (key, row) in
        [(key.clone(), Box::default()), (key.clone(), cut), (other, row.clone()), ([1; 70_000].into(), row)]
    {
        let refused = cluster.write(1, id, WriteOperation::Put { key: key.clone(), row: row.clone() }, true);
        let refused = refused.result.expect_err("no row").refusal;
        assert!(matches!(&refused, Refusal::Error(error) if error.code == 1815), "{refused:?}");
        let replicate = Replicate {
            marker: None,
            slot: cluster.slot(id),
            sequence: Sequence(1),
            transaction: TransactionId(2),
            epoch: Epoch(1),
            decider: Decider::Primary,
            participants: Participants::new(),
            pieces_ahead: Some(0),
            writes: smallvec![ReplicatedWrite::new(TableRef { id: TABLE, version: 1 }, &key, Some(&row))],
        };
        let mut fresh = Cluster::new();
        let backup = Address::new(NodeId(1), ModuleKind::Ldm, 0);
        fresh.send(backup, Signal::Replicate(Box::new(replicate)));
        let answers = fresh.run();
        assert!(
            matches!(answers.as_slice(), [Signal::Applied { refusal: Some(refusal), .. }] if *refusal == refused),
            "{answers:?}"
        );
    }
    assert!(cluster.insert(3, id, 1, true).result.is_ok());
    assert!(cluster.ldms.iter().all(Ldm::is_idle));
}
