//! UPDATE and DELETE of rows that a query finds: what they read, lock and write.

use super::harness::{Harness, column_table};
use super::{errno, read_in, write_in};
use mysql_protocol::client::Response;
use protocol::Signal;
use protocol::program::{Access, LockMode, LockWait, OperationResult, ReadProgress, Refusal, WriteOperation};
use protocol::signal::{CommitOutcome, ReadBatch, ReadDone, ReadRequest};
use query::{BatchShape, RowBatchWriter};
use types::{Epoch, RowLayout, Value, ValueRef};

fn pair(id: i64, v: i64) -> Vec<Value> {
    vec![Value::Int(id), Value::Int(v)]
}

fn stored(id: i64, v: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    RowLayout::new(&column_table().columns).encode(&[ValueRef::Int(id), ValueRef::Int(v)], &mut bytes);
    bytes
}

fn keys_of(read: &ReadRequest) -> Vec<Box<[u8]>> {
    match &read.access {
        Access::Keys(keys) => keys.clone(),
        Access::Scan { .. } => panic!("keys were expected: {:?}", read.access),
    }
}

/// Answers a locking read of whole rows, in the order of its keys.
fn lock(harness: &mut Harness, rows: &[Vec<u8>]) {
    let read = read_in(harness.only_signal());
    assert!(read.lock.is_some());
    let mut writer = RowBatchWriter::new(BatchShape::of(&read.program));
    for (key, row) in keys_of(&read).iter().zip(rows) {
        writer.push(key, b"", &[ValueRef::Bytes(row)]);
    }
    let operations = u32::try_from(rows.len()).expect("few rows");
    let batch = ReadBatch {
        rows: writer.finish(),
        progress: ReadProgress::End,
        operations,
        raised: None,
        granted: None,
    };
    let done = ReadDone { request: read.request, result: Ok(batch) };
    harness.signal(super::LDM, Signal::ReadDone(Box::new(done)));
}

/// The rows that a write puts, answered.
fn put(harness: &mut Harness) -> Vec<Vec<u8>> {
    let write = write_in(harness.only_signal());
    let rows = write.operations.iter().map(|operation| match operation {
        WriteOperation::Put { row, .. } => row.to_vec(),
        other => panic!("a new row was expected: {other:?}"),
    });
    let rows: Vec<Vec<u8>> = rows.collect();
    let count = u32::try_from(rows.len()).expect("few rows");
    harness.written_in(&write, vec![OperationResult::Stored; rows.len()], 2 * count);
    rows
}

fn commit(harness: &mut Harness) {
    let Signal::CommitOne(commit) = harness.only_signal() else { panic!("a commit was expected") };
    harness.committed(commit.request, CommitOutcome::Committed(Epoch(9)));
}

const RAISE: &str = "UPDATE test.t SET v = v + (SELECT 10) WHERE id < 3";

#[test]
fn rows_are_read_locked_and_written() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(client, RAISE);
    let read = read_in(harness.only_signal());
    assert!(read.lock.is_none());
    harness.read_done(&read, &[pair(1, 5), pair(2, 6)]);
    lock(&mut harness, &[stored(1, 5), stored(2, 6)]);
    assert_eq!(put(&mut harness), [stored(1, 15), stored(2, 16)]);
    commit(&mut harness);
    let Response::Ok(completion) = harness.response(client) else { panic!("OK was expected") };
    assert_eq!(completion.affected_rows, 2);
    assert_eq!(completion.info, b"Rows matched: 2  Changed: 2  Warnings: 0");
}

#[test]
fn a_row_that_changed_before_it_was_locked_is_read_again() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(client, RAISE);
    let read = read_in(harness.only_signal());
    harness.read_done(&read, &[pair(1, 5), pair(2, 6)]);
    // Another transaction has changed one row and deleted the other.
    lock(&mut harness, &[stored(1, 7)]);
    let again = read_in(harness.only_signal());
    assert!(again.lock.is_none());
    // A replica that does not know of it yet: from now on there are pauses.
    harness.read_done(&again, &[pair(1, 6)]);
    assert!(harness.signals().is_empty());
    harness.advance_ms(20);
    let again = read_in(harness.only_signal());
    harness.read_done(&again, &[pair(1, 7)]);
    assert_eq!(put(&mut harness), [stored(1, 17)]);
    commit(&mut harness);
    assert_eq!(super::affected(harness.response(client)), 1);
}

#[test]
fn a_row_that_is_found_twice_is_changed_once() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(client, "DELETE a FROM test.t a STRAIGHT_JOIN test.t b ON b.v = a.v WHERE a.id < 9");
    let left = read_in(harness.only_signal());
    harness.read_done(&left, &[pair(1, 5)]);
    let right = read_in(harness.only_signal());
    harness.read_done(&right, &[vec![Value::Int(5)], vec![Value::Int(5)]]);
    lock(&mut harness, &[stored(1, 5)]);
    let write = write_in(harness.only_signal());
    assert!(matches!(write.operations.as_slice(), [WriteOperation::Delete { .. }]));
    harness.written_in(&write, vec![OperationResult::Deleted], 2);
    commit(&mut harness);
    assert_eq!(super::affected(harness.response(client)), 1);
}

#[test]
fn nothing_found_is_nothing_locked() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(client, "DELETE FROM test.t WHERE v IN (SELECT 3)");
    let read = read_in(harness.only_signal());
    harness.read_done(&read, &[]);
    assert_eq!(super::affected(harness.response(client)), 0);
    assert!(harness.signals().is_empty());
    harness.query(client, "UPDATE test.t SET v = (SELECT 1 UNION SELECT 2)");
    let read = read_in(harness.only_signal());
    harness.read_done(&read, &[vec![Value::Int(1)]]);
    assert_eq!(errno(harness.response(client)), 1242);
}

/// The next locking read: its lock, and how many keys it asks for.
fn locking(harness: &mut Harness) -> (ReadRequest, (LockMode, LockWait), usize) {
    let Signal::Read(read) = harness.only_signal() else { panic!("a read was expected") };
    let lock = read.lock.expect("a locking read was expected");
    let count = keys_of(&read).len();
    (*read, lock, count)
}

/// Answers a locking read with some of its rows.
fn lock_some(harness: &mut Harness, read: &ReadRequest, rows: &[(usize, Vec<u8>)]) {
    let keys = keys_of(read);
    let mut writer = RowBatchWriter::new(BatchShape::of(&read.program));
    rows.iter().for_each(|(key, row)| writer.push(&keys[*key], b"", &[ValueRef::Bytes(row)]));
    let operations = u32::try_from(rows.len()).expect("few rows");
    let batch = ReadBatch {
        rows: writer.finish(),
        progress: ReadProgress::End,
        operations,
        raised: None,
        granted: None,
    };
    let done = ReadDone { request: read.request, result: Ok(batch) };
    harness.signal(super::LDM, Signal::ReadDone(Box::new(done)));
}

#[test]
fn joined_rows_are_locked_as_they_were_read() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.ask(client, "BEGIN");
    let joined = "SELECT a.v, b.v FROM test.t a STRAIGHT_JOIN test.t b ON b.v = a.v + 1 WHERE a.id < 9 ORDER BY a.id DESC LIMIT 2";
    harness.query(client, &format!("{joined} FOR UPDATE OF a FOR SHARE OF b"));
    let read = read_in(harness.only_signal());
    assert!(read.lock.is_none());
    harness.read_done(&read, &[pair(1, 5), pair(2, 5), pair(3, 7)]);
    let read = read_in(harness.only_signal());
    harness.read_done(&read, &[pair(7, 6), pair(8, 9)]);
    // Only the rows that the query gives are locked: those of a, then the one of b.
    let (read, lock, count) = locking(&mut harness);
    assert_eq!((lock.0, count), (LockMode::Exclusive, 2));
    lock_some(&mut harness, &read, &[(0, stored(1, 5)), (1, stored(2, 5))]);
    let (read, lock, count) = locking(&mut harness);
    assert_eq!((lock.0, count), (LockMode::Shared, 1));
    lock_some(&mut harness, &read, &[(0, stored(7, 6))]);
    assert_eq!(super::texts(harness.response(client)), [["5", "6"], ["5", "6"]]);
    // A row that others have changed meanwhile: the query runs again.
    harness.query(client, "SELECT v FROM test.t WHERE v > (SELECT 3) FOR UPDATE");
    let read = read_in(harness.only_signal());
    harness.read_done(&read, &[pair(1, 5)]);
    let (read, ..) = locking(&mut harness);
    lock_some(&mut harness, &read, &[(0, stored(1, 4))]);
    harness.advance_ms(20);
    let read = read_in(harness.only_signal());
    harness.read_done(&read, &[pair(1, 4)]);
    assert_eq!(super::texts(harness.response(client)), [["4"]]);
}

#[test]
fn joined_rows_that_others_lock_are_passed_over_or_refused() {
    let joined = "SELECT a.id FROM test.t a LEFT JOIN test.t b ON b.id = a.v AND b.v > a.id WHERE a.id < 9";
    for (clause, wait) in [("SKIP LOCKED", LockWait::SkipLocked), ("NOWAIT", LockWait::NoWait)] {
        let mut harness = Harness::new();
        let client = harness.connect();
        harness.ask(client, "BEGIN");
        harness.query(client, &format!("{joined} FOR UPDATE OF a {clause}"));
        let read = read_in(harness.only_signal());
        harness.read_done(&read, &[pair(1, 5), pair(2, 6)]);
        let read = read_in(harness.only_signal());
        harness.read_done(&read, &[]);
        let (read, lock, count) = locking(&mut harness);
        assert_eq!((lock, count), ((LockMode::Exclusive, wait), 2));
        if wait == LockWait::SkipLocked {
            lock_some(&mut harness, &read, &[(1, stored(2, 6))]);
            assert_eq!(super::texts(harness.response(client)), [["2"]]);
        } else {
            harness.read_refused(&read, Refusal::LockNotAvailable);
            assert_eq!(errno(harness.response(client)), 3572);
        }
    }
    let mut harness = Harness::new();
    let client = harness.connect();
    for (refused, code) in [
        ("SELECT DISTINCT a.v FROM test.t a, test.t b FOR UPDATE", 1235),
        ("SELECT COUNT(*) FROM test.t a, test.t b FOR UPDATE", 1235),
        ("SELECT 1 FROM test.t a, test.t b FOR UPDATE OF c", 3568),
        ("SELECT 1 FROM test.t a, test.t b FOR UPDATE FOR SHARE OF a", 3569),
    ] {
        assert_eq!(errno(harness.ask(client, refused)), code, "{refused}");
    }
}
