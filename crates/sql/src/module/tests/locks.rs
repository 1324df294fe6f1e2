//! Session locks: LOCK TABLES and GET_LOCK, as the slots and the client see them. And KILL.

use super::harness::{Harness, LDM};
use super::{affected, errno, read_in, rows, text, write_in};
use mysql_protocol::client::{Response, Value};
use protocol::program::{Access, LockMode, LockWait, ReadProgress, Refusal, RowBatch};
use protocol::signal::{ReadBatch, ReadDone, ReadRequest, RequestId};
use protocol::{Address, Signal};
use types::TransactionId;

fn grant(harness: &mut Harness, request: RequestId) {
    let (rows, progress) = (RowBatch::default(), ReadProgress::End);
    let batch = ReadBatch { rows, progress, operations: 1, raised: None, granted: None };
    harness.signal(LDM, Signal::ReadDone(Box::new(ReadDone { request, result: Ok(batch) })));
}

fn refuse(harness: &mut Harness, request: RequestId, refusal: Refusal) {
    harness.signal(LDM, Signal::ReadDone(Box::new(ReadDone { request, result: Err(refusal) })));
}

/// Answers a LOCK TABLES; the locks that it asked for, one after the other.
fn lock(harness: &mut Harness, client: usize, statement: &str) -> Vec<ReadRequest> {
    harness.query(client, statement);
    let mut asked = Vec::new();
    loop {
        let mut signals = harness.signals();
        let Some(signal) = signals.pop() else { break };
        assert_eq!(signals, [], "one at a time");
        let read = read_in(signal);
        grant(harness, read.request);
        asked.push(read);
    }
    affected(harness.response(client));
    asked
}

/// Answers the giving back of locks.
fn give_back(harness: &mut Harness) -> Vec<TransactionId> {
    let mut given = Vec::new();
    for signal in harness.signals() {
        let Signal::RollbackTo { request, transaction, operations: 0, .. } = signal else {
            panic!("locks are given back: {signal:?}");
        };
        given.push(transaction);
        harness.signal(LDM, Signal::RollbackDone { request, held: true });
    }
    given
}

fn aborted(signals: Vec<Signal>) -> Vec<TransactionId> {
    let aborted = |signal| match signal {
        Signal::Abort { transaction, .. } => transaction,
        other => panic!("an abort was expected: {other:?}"),
    };
    signals.into_iter().map(aborted).collect()
}

#[test]
fn tables_are_locked_whole_and_written_under_their_lock() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let asked = lock(&mut harness, client, "LOCK TABLES test.t AS x LOW_PRIORITY WRITE");
    assert!(!asked.is_empty());
    let whole = |read: &ReadRequest| read.access == Access::Keys(vec![Box::default()]);
    let exclusive =
        |read: &ReadRequest| matches!(read.lock, Some((LockMode::Exclusive, LockWait::Wait { .. })));
    assert!(asked.iter().all(|read| whole(read) && exclusive(read)), "{asked:?}");
    let holder = asked[0].transaction;
    assert!(asked.iter().all(|read| read.transaction == holder));
    harness.query(client, "UPDATE test.t SET v = 1 WHERE id = 7");
    let write = write_in(harness.only_signal());
    assert_eq!((write.under, Some(write.transaction) == holder), (holder, false));
    harness.written(&write, vec![protocol::program::OperationResult::Updated], Some(types::Epoch(5)));
    assert_eq!(affected(harness.response(client)), 1);
    harness.signals();
    // COMMIT and ROLLBACK leave the lock; what is not locked, and DDL, is refused.
    for statement in ["COMMIT", "ROLLBACK"] {
        affected(harness.ask(client, statement));
    }
    assert_eq!(harness.signals(), []);
    assert_eq!(errno(harness.ask(client, "CREATE TABLE test.u (id INT PRIMARY KEY)")), 1192);
    harness.query(client, "UNLOCK TABLES");
    assert_eq!(give_back(&mut harness), vec![holder.unwrap(); asked.len()]);
    affected(harness.response(client));
    assert_eq!(aborted(harness.signals()), vec![holder.unwrap(); asked.len()]);
    harness.query(client, "UPDATE test.t SET v = 1 WHERE id = 7");
    assert_eq!(write_in(harness.only_signal()).under, None);
}

#[test]
fn what_is_locked_for_reading_is_not_written_and_start_transaction_unlocks() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let asked = lock(&mut harness, client, "LOCK TABLES test.t READ LOCAL");
    assert!(asked.iter().all(|read| matches!(read.lock, Some((LockMode::Shared, _)))));
    assert_eq!(errno(harness.ask(client, "DELETE FROM test.t")), 1099);
    harness.query(client, "START TRANSACTION");
    assert_eq!(give_back(&mut harness).len(), asked.len());
    affected(harness.response(client));
    harness.signals();
    harness.query(client, "DELETE FROM test.t WHERE id = 1");
    assert_eq!(write_in(harness.only_signal()).under, None);
}

#[test]
fn a_table_lock_that_is_lost_fails_the_next_statement() {
    let mut harness = Harness::with_backup();
    let client = harness.connect();
    lock(&mut harness, client, "LOCK TABLES test.t WRITE");
    harness.query(client, "BEGIN");
    give_back(&mut harness);
    harness.response(client);
    harness.signals();
    lock(&mut harness, client, "LOCK TABLES test.t WRITE");
    harness.signals();
    harness.lose(LDM.node);
    assert!(harness.no_response(client));
    assert_eq!(errno(harness.ask(client, "SELECT 1")), 1213);
    assert_eq!(rows(harness.ask(client, "SELECT 1")), [[text("1")]]);
}

#[test]
fn a_deadlock_begins_lock_tables_again() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(client, "LOCK TABLES test.t WRITE");
    let first = read_in(harness.only_signal());
    refuse(&mut harness, first.request, Refusal::Deadlock { other: TransactionId(1) });
    assert_eq!(aborted(harness.signals()), [first.transaction.unwrap()]);
    assert!(harness.no_response(client));
    harness.advance_ms(30);
    let second = read_in(harness.only_signal());
    assert_ne!(second.transaction, first.transaction);
    refuse(&mut harness, second.request, Refusal::LockTimeout);
    assert_eq!(errno(harness.response(client)), 1205);
    assert_eq!(aborted(harness.signals()), [second.transaction.unwrap()]);
}

/// The value of the only column of the only row.
fn number(response: Response) -> Value {
    rows(response).remove(0).remove(0)
}

#[test]
fn a_name_is_got_once_at_its_primary_and_counted_here() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(client, "SELECT GET_LOCK('Name', 7)");
    let asked = read_in(harness.only_signal());
    assert_eq!(asked.lock, Some((LockMode::Exclusive, LockWait::Wait { timeout_ms: 7_000 })));
    grant(&mut harness, asked.request);
    assert_eq!(number(harness.response(client)), text("1"));
    for statement in ["DO GET_LOCK('NAME', 0)", "COMMIT", "SET @x = RELEASE_LOCK('name')"] {
        affected(harness.ask(client, statement));
    }
    assert_eq!(harness.signals(), [], "it has it once still");
    harness.query(client, "SELECT RELEASE_LOCK('name')");
    assert_eq!(give_back(&mut harness), [asked.transaction.unwrap()]);
    assert_eq!(number(harness.response(client)), text("1"));
    assert_eq!(aborted(harness.signals()), [asked.transaction.unwrap()]);
    // It is not there at once, a cycle, a wait that is killed by its client's end.
    harness.query(client, "SELECT GET_LOCK('name', 0)");
    let asked = read_in(harness.only_signal());
    assert_eq!(asked.lock, Some((LockMode::Exclusive, LockWait::NoWait)));
    refuse(&mut harness, asked.request, Refusal::LockNotAvailable);
    assert_eq!(number(harness.response(client)), text("0"));
    harness.signals();
    harness.query(client, "SELECT GET_LOCK('name', -1)");
    let asked = read_in(harness.only_signal());
    refuse(&mut harness, asked.request, Refusal::Deadlock { other: TransactionId(1) });
    assert_eq!(errno(harness.response(client)), 3058);
    harness.signals();
    harness.query(client, "SELECT GET_LOCK('name', 10)");
    let asked = read_in(harness.only_signal());
    harness.disconnect(client);
    assert_eq!(aborted(harness.signals()), [asked.transaction.unwrap()]);
}

#[test]
fn a_session_that_loses_a_name_ends_and_says_why() {
    let mut harness = Harness::with_backup();
    let client = harness.connect();
    harness.query(client, "SELECT GET_LOCK('name', 7)");
    let asked = read_in(harness.only_signal());
    grant(&mut harness, asked.request);
    harness.response(client);
    harness.lose(LDM.node);
    // Unasked, with the sequence number of a first packet.
    let [low, high] = 3169_u16.to_le_bytes();
    assert_eq!(harness.answer(client)[3..7], [0, 0xff, low, high]);
    assert!(harness.is_closed(client));
}

#[test]
fn names_are_checked() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let long = "x".repeat(65);
    for (name, number) in [("''", 3057), ("NULL", 3057), (&*format!("'{long}'"), 4163)] {
        assert_eq!(errno(harness.ask(client, &format!("SELECT GET_LOCK({name}, 1)"))), number);
        assert_eq!(errno(harness.ask(client, &format!("SELECT IS_FREE_LOCK({name})"))), number);
    }
    assert_eq!(harness.signals(), []);
}

#[test]
fn nobody_is_killed_by_a_number_that_no_connection_has() {
    let mut harness = Harness::new();
    let client = harness.connect();
    for unknown in ["0", "255", "2560", "4294967296"] {
        assert_eq!(errno(harness.ask(client, &format!("KILL {unknown}"))), 1094);
    }
    let own = number(harness.ask(client, "SELECT CONNECTION_ID()"));
    let Value::Bytes(own) = own else { panic!("a number") };
    let own = String::from_utf8(own).unwrap();
    assert_eq!(errno(harness.ask(client, &format!("KILL QUERY {own}"))), 1317);
    let other = harness.connect();
    affected(harness.ask(other, &format!("KILL {own}")));
    assert!(harness.is_closed(client));
    assert_eq!(harness.addressees(), Vec::<Address>::new());
}

#[test]
fn locks_of_other_nodes_are_seen() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(client, "SELECT IS_USED_LOCK('a'), IS_USED_LOCK('b')");
    for _ in 0..2 {
        for signal in harness.signals() {
            let Signal::InfoRequest { request, .. } = signal else { panic!("a question: {signal:?}") };
            let row = vec![types::Value::text("a"), types::Value::Int(77)];
            harness.signal(LDM, Signal::InfoDone { request, rows: vec![row] });
        }
    }
    let expected = [[text("77"), Value::Null]];
    assert_eq!(rows(harness.response(client)), expected);
}
