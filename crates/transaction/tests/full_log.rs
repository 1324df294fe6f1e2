//! Writes at a primary whose redo log is nearly full: they wait in their statement, for RedoWaitTimeout at most, and
//! hold up nothing that has a stamp.
#![expect(clippy::wildcard_enum_match_arm, reason = "tests look at what they expect")]

use fixtures::{integer, replicas};
use memory::{MemoryConfig, MemoryManager};
use protocol::program::{LockWait, OperationResult, Refusal, TableRef, WriteOperation};
use protocol::redo_room::{REDO_LOG, RedoRoom};
use protocol::signal::{CommitOneRequest, CommitOutcome, Participant, RequestId, WriteRequest};
use protocol::{Address, Budget, Envelope, ModuleKind, Outputs, Signal};
use query::{NodeMap, Shared};
use std::collections::VecDeque;
use std::sync::Arc;
use stdx::{Duration, Instant, Now, smallvec};
use transaction::{Ldm, MARKER_TIME};
use types::{
    Epoch, Incarnation, NodeId, Schema, SlotId, TableDefinition, TableId, TransactionId, Value, ViewNumber,
};

const SESSION: Address = Address::new(NodeId(1), ModuleKind::Sql, 0);
const LDM: Address = Address::new(NodeId(1), ModuleKind::Ldm, 0);
const SLOT: SlotId = SlotId(1);
const TABLE: TableId = TableId(200);
const WAIT_MAX: Duration = Duration::from_millis(500);

/// A primary without backups, and its log.
struct Primary {
    ldm: Ldm,
    map: Arc<NodeMap>,
    room: Arc<RedoRoom>,
    queue: VecDeque<Envelope>,
    now: Now,
    /// Everything that its session was told.
    heard: Vec<Signal>,
}

impl Primary {
    fn new() -> Self {
        let mut schema: Schema = catalogue::bootstrap();
        let table: TableDefinition = fixtures::table(TABLE, vec![fixtures::column("id", integer())]);
        schema.put_table(Arc::new(table));
        let schema = Arc::new(schema);
        let mut view = replicas(2);
        view.groups.iter_mut().for_each(|group| group.in_sync = vec![NodeId(1)]);
        view.slots.iter_mut().for_each(|place| place.primary = NodeId(1));
        let memory = MemoryManager::new(MemoryConfig::with_data_memory(8 << 20));
        let empty = Arc::new(NodeMap::empty(NodeId(1), Arc::clone(&schema)));
        let map = Arc::new(empty.with(Incarnation(1), Arc::new(view), schema, &[]));
        let room = Arc::new(RedoRoom::new(1 << 20, 1).with_wait_max(WAIT_MAX));
        let ldm = Ldm::new(LDM, empty, memory, MARKER_TIME).with_redo(Arc::clone(&room));
        let (queue, heard) = (VecDeque::new(), Vec::new());
        let mut primary = Self { ldm, map: Arc::clone(&map), room, queue, now: Now::default(), heard };
        let mut outputs: Outputs<Shared> = Outputs::default();
        primary.ldm.on_shared(primary.now, Shared::Tables(Arc::clone(&map)), &mut outputs);
        primary.ldm.on_shared(primary.now, Shared::Map(map), &mut outputs);
        primary.emit(outputs);
        primary.send(Signal::ViewSettled { view: ViewNumber(1) });
        primary
    }

    fn emit(&mut self, outputs: Outputs<Shared>) {
        let view = self.map.view.number;
        self.queue.extend(outputs.signals.into_iter().map(|envelope| Envelope { view, ..envelope }));
    }

    /// Delivers a signal of the session, and everything that follows at once.
    fn send(&mut self, signal: Signal) {
        let view = self.map.view.number;
        self.queue.push_back(Envelope { from: SESSION, to: LDM, view, epoch: Epoch(1), signal });
        self.deliver();
    }

    fn deliver(&mut self) {
        while let Some(envelope) = self.queue.pop_front() {
            if envelope.to != LDM {
                self.heard.push(envelope.signal);
                continue;
            }
            let mut outputs: Outputs<Shared> = Outputs::default();
            self.ldm.on_signal(self.now, envelope, &mut Budget::of(1_000), &mut outputs);
            self.emit(outputs);
        }
    }

    /// Lets so much time pass.
    fn pass(&mut self, time: Duration) {
        let end: Instant = self.now.monotonic + time;
        while let Some(due) = self.ldm.deadline().filter(|due| *due <= end) {
            self.now.monotonic = due.max(self.now.monotonic);
            let mut outputs: Outputs<Shared> = Outputs::default();
            self.ldm.on_deadline(self.now, &mut outputs);
            self.emit(outputs);
            self.deliver();
        }
        self.now.monotonic = end;
    }

    /// A statement that is a transaction by itself, or one within a transaction.
    fn write(&mut self, transaction: u64, operation: WriteOperation, commit: Option<Epoch>) {
        self.send(Signal::Write(Box::new(WriteRequest {
            request: RequestId(transaction),
            transaction: TransactionId(transaction),
            slot: SLOT,
            table: TableRef { id: TABLE, version: 1 },
            operations: smallvec![operation],
            wait: LockWait::Wait { timeout_ms: 50_000 },
            commit,
            known: 0,
            under: None,
        })));
    }

    fn put(&mut self, transaction: u64) {
        let (key, row) = self.key_and_row(transaction);
        self.write(transaction, WriteOperation::Put { key, row }, Some(Epoch(0)));
    }

    fn delete(&mut self, transaction: u64, row: u64) {
        let (key, _) = self.key_and_row(row);
        self.write(transaction, WriteOperation::Delete { key, filter: None }, Some(Epoch(0)));
    }

    fn key_and_row(&self, number: u64) -> (Box<[u8]>, Box<[u8]>) {
        let info = self.map.table(TABLE).expect("the table");
        let value = Value::Int(i64::try_from(number).expect("few"));
        let (mut key, mut row) = (Vec::new(), Vec::new());
        info.layout.encode(&[value.as_ref()], &mut row);
        info.primary_key.encode_row(&info.layout, &row, &mut key);
        (key.into(), row.into())
    }

    /// The answers to writes since the last time: which transaction, and what it got.
    fn answers(&mut self) -> Vec<(u64, Result<Vec<OperationResult>, Refusal>)> {
        let answer = |signal: Signal| match signal {
            Signal::WriteDone(done) => {
                let result =
                    done.result.map(|summary| summary.results.to_vec()).map_err(|failure| failure.refusal);
                Some((done.request.0, result))
            }
            _ => None,
        };
        std::mem::take(&mut self.heard).into_iter().filter_map(answer).collect()
    }
}

fn full() -> Refusal {
    Refusal::RegionFull { region: REDO_LOG.to_owned() }
}

#[test]
fn a_write_waits_for_room_and_goes_on_when_there_is_some() {
    let mut primary = Primary::new();
    primary.room.set_percent(90);
    primary.put(1);
    primary.put(2);
    primary.pass(WAIT_MAX / 2);
    assert_eq!(primary.answers(), []);
    primary.room.set_percent(75);
    primary.pass(WAIT_MAX / 4);
    assert_eq!(primary.answers(), [1, 2].map(|number| (number, Ok(vec![OperationResult::Stored]))));
    assert!(primary.ldm.is_idle());
}

#[test]
fn a_write_that_finds_no_room_in_time_is_refused_and_leaves_nothing() {
    let mut primary = Primary::new();
    primary.room.set_percent(90);
    primary.put(1);
    primary.pass(WAIT_MAX - Duration::from_millis(2));
    assert_eq!(primary.answers(), []);
    primary.put(2);
    primary.pass(Duration::from_millis(4));
    assert_eq!(primary.answers(), [(1, Err(full()))]);
    primary.pass(WAIT_MAX);
    assert_eq!(primary.answers(), [(2, Err(full()))]);
    assert!(primary.ldm.is_idle());
    primary.room.set_percent(0);
    primary.put(1);
    assert_eq!(primary.answers(), [(1, Ok(vec![OperationResult::Stored]))]);
}

#[test]
fn deletes_wait_from_a_higher_fullness_on() {
    let mut primary = Primary::new();
    (1..=2).for_each(|number| primary.put(number));
    primary.answers();
    primary.room.set_percent(96);
    primary.delete(3, 1);
    assert_eq!(primary.answers(), [(3, Ok(vec![OperationResult::Deleted]))]);
    primary.room.set_percent(97);
    primary.delete(4, 2);
    primary.pass(WAIT_MAX / 2);
    assert_eq!(primary.answers(), []);
    primary.pass(WAIT_MAX);
    assert_eq!(primary.answers(), [(4, Err(full()))]);
}

#[test]
fn what_is_staged_is_committed_however_full_the_log_is() {
    let mut primary = Primary::new();
    let (key, row) = primary.key_and_row(1);
    primary.write(1, WriteOperation::Put { key, row }, None);
    assert_eq!(primary.answers(), [(1, Ok(vec![OperationResult::Stored]))]);
    primary.room.set_percent(100);
    primary.send(Signal::CommitOne(Box::new(CommitOneRequest {
        request: RequestId(9),
        transaction: TransactionId(1),
        participant: Participant { slot: SLOT, operations: 1, view: ViewNumber(1), has_writes: true },
        epoch_seen: Epoch(0),
    })));
    let is_committed = |signal: &Signal| match signal {
        Signal::CommitDone(done) => matches!(done.outcome, CommitOutcome::Committed(_)),
        _ => false,
    };
    assert!(primary.heard.iter().any(is_committed), "{:?}", primary.heard);
}

/// KILL, and a client that is gone, undo the statement: the request that waits is never begun.
#[test]
fn a_statement_that_is_undone_waits_no_longer() {
    let mut primary = Primary::new();
    primary.room.set_percent(90);
    primary.put(1);
    primary.put(2);
    let undo = |transaction| Signal::RollbackTo {
        request: RequestId(10),
        transaction: TransactionId(transaction),
        slot: SLOT,
        operations: 0,
    };
    primary.send(undo(1));
    assert!(matches!(primary.heard[..], [Signal::RollbackDone { held: true, .. }]), "{:?}", primary.heard);
    primary.send(Signal::Abort { transaction: TransactionId(2), slot: SLOT });
    assert!(primary.ldm.is_idle());
    primary.room.set_percent(0);
    primary.pass(WAIT_MAX * 2);
    assert_eq!(primary.answers(), []);
}

#[cfg(feature = "mutants")]
mod bugs {
    use super::what_is_staged_is_committed_however_full_the_log_is;
    use stdx::planted::survivors;
    use transaction::mutants::{BY_FULL_LOG, Mutant, activate};

    #[test]
    fn every_listed_bug_fails_its_test() {
        let tests: [(Mutant, fn()); 1] =
            [(Mutant::SpaceAfterStamp, what_is_staged_is_committed_however_full_the_log_is)];
        assert_eq!(tests.map(|(mutant, _)| mutant), BY_FULL_LOG);
        assert_eq!(survivors(&tests, activate), []);
    }
}
