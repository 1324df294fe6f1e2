//! DDL statements as the other members see them, with the test playing the system tables as they are in a new cluster.

use super::errno;
use super::harness::Harness;
use super::{read_in, write_in};
use catalogue::system;
use mysql_protocol::client::Response;
use protocol::program::{LockWait, OperationResult, Refusal};
use protocol::signal::{CommitOutcome, InfoTable, ReadRequest, RequestId, TableUsers};
use protocol::{Address, Signal};
use std::sync::Arc;
use types::{NodeId, SchemaVersion, TableDefinition, TableId, Value};

const DATA_NODE: NodeId = NodeId(2);
/// The node under test.
const OWN_NODE: NodeId = NodeId(4);
const ALL_OF_T: TableUsers = TableUsers::all(TableId(100));

/// The rows of a system table.
fn stored(read: &ReadRequest) -> Vec<Vec<Value>> {
    let rows = catalogue::bootstrap_rows().into_iter().filter(|write| write.table == read.program.table.id);
    rows.filter_map(|write| Some(vec![Value::Bytes(write.row?.into_vec())])).collect()
}

fn read_of(signals: Vec<Signal>) -> ReadRequest {
    let reads: Vec<ReadRequest> = signals
        .into_iter()
        .filter_map(|signal| if let Signal::Read(read) = signal { Some(*read) } else { None })
        .collect();
    assert_eq!(reads.len(), 1, "one read was expected: {reads:?}");
    reads.into_iter().next().unwrap()
}

/// Answers reads until members are asked to install the version that was found: those requests.
fn read_catalogue(harness: &mut Harness) -> Vec<RequestId> {
    for _ in 0..10 {
        let signals = harness.signals();
        let installs = installs(&signals);
        if !installs.is_empty() {
            return installs;
        }
        let read = read_of(signals);
        harness.read_done(&read, &stored(&read));
    }
    panic!("the catalogue was read ten times");
}

fn installs(signals: &[Signal]) -> Vec<RequestId> {
    let install = |signal: &Signal| {
        if let Signal::SchemaInstall { request, .. } = signal { Some(*request) } else { None }
    };
    signals.iter().filter_map(install).collect()
}

#[test]
fn a_member_that_is_lost_and_found_again_is_asked_again() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(client, "CREATE TABLE test.made (id INT PRIMARY KEY)");
    let asked = read_catalogue(&mut harness);
    assert_eq!(asked.len(), 2, "the data node and this one");
    harness.lose(DATA_NODE);
    harness.advance_ms(200);
    // This node's own main has not answered; nothing is sent to who is out of reach.
    assert!(installs(&harness.signals()).iter().all(|request| asked.contains(request)));
    harness.install(&[], &[]);
    harness.advance_ms(200);
    let again = installs(&harness.signals());
    let new: Vec<&RequestId> = again.iter().filter(|request| !asked.contains(request)).collect();
    assert_eq!(new.len(), 1, "the data node is asked anew: {again:?}");
}

#[test]
fn a_statement_whose_session_ends_is_finished_by_the_module() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(client, "CREATE TABLE test.made (id INT PRIMARY KEY)");
    read_catalogue(&mut harness);
    harness.disconnect(client);
    let lock = read_of(harness.signals());
    assert_eq!(lock.program.table.id, system::DDL_LOCK);
    harness.read_done(&lock, &stored(&lock));
    assert_eq!(read_catalogue(&mut harness).len(), 2);
    assert!(!harness.is_idle());
}

/// A cluster that lost its power may have left a job whose table nobody can write.
#[test]
fn what_was_left_before_a_restart_of_the_cluster_is_finished() {
    assert!(Harness::with_own_rows().signals().is_empty(), "nobody has left anything in a new cluster");
    let lock = read_of(Harness::after_restart().signals());
    assert_eq!(lock.program.table.id, system::DDL_LOCK);
}

#[test]
fn nobody_locks_rows_of_the_catalogue() {
    let mut harness = Harness::new();
    let client = harness.connect();
    for statement in [
        "SELECT * FROM latsdb.ddl_lock FOR UPDATE",
        "SELECT * FROM latsdb.ddl_lock WHERE id = 1 FOR UPDATE NOWAIT",
        "SELECT next FROM latsdb.sequences FOR SHARE",
        "SELECT * FROM latsdb.ids LOCK IN SHARE MODE",
        "SELECT COUNT(*) FROM latsdb.schema_version FOR UPDATE SKIP LOCKED",
        "UPDATE latsdb.schema_version SET version = 7",
        "DELETE FROM latsdb.jobs",
        "INSERT INTO latsdb.ids VALUES ('x', 1)",
    ] {
        harness.query(client, "BEGIN");
        harness.response(client);
        assert_eq!(errno(harness.ask(client, statement)), 3554, "{statement}");
        assert!(harness.signals().is_empty(), "nothing is asked of a slot: {statement}");
    }
    harness.query(client, "PREPARE held FROM 'SELECT * FROM latsdb.ddl_lock FOR UPDATE'");
    assert_eq!(errno(harness.response(client)), 3554);
}

/// While an ALTER TABLE writes its rows into a copy, those that want to change or lock one wait, but not for ever.
#[test]
fn writers_wait_for_a_copy_as_long_as_their_session_says() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(client, "SET SESSION lock_wait_timeout = 2");
    harness.response(client);
    harness.change_schema(|schema| {
        let table = schema.table("test", "t").expect("the table").as_ref().clone();
        let closed = TableDefinition { version: table.version + 1, copied_to: Some(TableId(200)), ..table };
        schema.put_table(Arc::new(closed));
    });
    for statement in [
        "INSERT INTO test.t VALUES (1, 1)",
        "UPDATE test.t SET v = 2 WHERE id = 1",
        "SELECT v FROM test.t WHERE id = 1 FOR UPDATE",
    ] {
        harness.query(client, statement);
        harness.advance_ms(1_900);
        assert!(harness.no_response(client), "{statement} waits");
        harness.advance_ms(200);
        assert_eq!(errno(harness.response(client)), 1205, "{statement}");
        assert!(harness.signals().is_empty(), "{statement} asks nobody for anything");
    }
}

// ---- users of a statement's tables ----------------------------------------------------------------------------------

/// The users of `tables` for so long, as the module reports them.
fn users(harness: &mut Harness, tables: &[TableUsers], used_for_ms: u32) -> Vec<u32> {
    let (request, version) = (RequestId(9), SchemaVersion(2));
    let ask = Signal::SchemaInstall { request, version, tables: tables.to_vec(), used_for_ms };
    harness.signal(Address::main(OWN_NODE), ask);
    match harness.only_signal() {
        Signal::SchemaInstalled { request: RequestId(9), users, .. } => users,
        other => panic!("users were expected: {other:?}"),
    }
}

/// A transaction that has changed a row of `test.t`.
fn begin_update(harness: &mut Harness) -> usize {
    let client = harness.connect();
    harness.ask(client, "BEGIN");
    harness.query(client, "UPDATE test.t SET v = 1 WHERE id = 1");
    let write = write_in(harness.only_signal());
    harness.written_in(&write, vec![OperationResult::Updated], 1);
    assert!(matches!(harness.response(client), Response::Ok(_)));
    client
}

/// The questions to members: requests and tables.
fn asked(signals: &[Signal]) -> Vec<(RequestId, Vec<TableUsers>)> {
    let ask = |signal: &Signal| match signal {
        Signal::SchemaInstall { request, tables, .. } => Some((*request, tables.clone())),
        _ => None,
    };
    signals.iter().filter_map(ask).collect()
}

/// Every member answers what it was asked: these connections use the tables.
fn answer(harness: &mut Harness, asked: &[(RequestId, Vec<TableUsers>)], users: &[u32]) {
    for (request, _) in asked {
        let (request, version, users) = (*request, SchemaVersion(2), users.to_vec());
        harness.signal(Address::main(DATA_NODE), Signal::SchemaInstalled { request, version, users });
    }
}

#[test]
fn users_of_a_table_change_or_lock_its_rows_or_run_on_it() {
    let mut harness = Harness::new();
    let (client, reader) = (begin_update(&mut harness), harness.connect());
    let user = users(&mut harness, &[ALL_OF_T], 0);
    assert_eq!(user.len(), 1);
    let other = TableUsers::all(TableId(101));
    assert_eq!(users(&mut harness, &[other], 0), [0; 0], "other tables are not its");
    let installed = TableUsers { older_than: Some(1), ..ALL_OF_T };
    assert_eq!(users(&mut harness, &[installed], 0), [0; 0], "it uses no older version");
    assert_eq!(users(&mut harness, &[ALL_OF_T], 1), [0; 0], "it has not for so long");
    harness.advance_ms(1);
    assert_eq!(users(&mut harness, &[ALL_OF_T], 1), user);
    harness.query(client, "COMMIT");
    let Signal::CommitOne(commit) = harness.only_signal() else { panic!("a commit") };
    harness.committed(commit.request, CommitOutcome::Committed(types::Epoch(2)));
    assert!(matches!(harness.response(client), Response::Ok(_)));
    assert_eq!(users(&mut harness, &[ALL_OF_T], 0), [0; 0]);
    // A statement that runs is one, whatever it does; what a transaction has only read is not.
    harness.ask(reader, "BEGIN");
    harness.query(reader, "SELECT v FROM test.t WHERE id = 1");
    let read = read_in(harness.only_signal());
    assert_eq!(users(&mut harness, &[ALL_OF_T], 0).len(), 1);
    harness.read_done(&read, &[vec![Value::Int(7)]]);
    assert!(matches!(harness.response(reader), Response::ResultSet(_)));
    assert_eq!(users(&mut harness, &[ALL_OF_T], 0), [0; 0]);
}

#[test]
fn ddl_waits_for_users_of_its_tables_before_it_locks_anything_and_gives_up() {
    for (setting, patience_ms) in [("SET @x = 1", 10_000), ("SET lock_wait_timeout = 2", 2_000)] {
        let mut harness = Harness::new();
        let client = harness.connect();
        harness.ask(client, setting);
        harness.query(client, "ALTER TABLE test.t COMMENT = 'x'");
        let mut waited_ms = 0;
        while harness.no_response(client) {
            let signals = harness.signals();
            assert!(!signals.iter().any(|signal| matches!(signal, Signal::Read(_))), "nothing is locked");
            let asked = asked(&signals);
            assert!(asked.iter().all(|(_, tables)| *tables == [ALL_OF_T]));
            answer(&mut harness, &asked, &[7]);
            harness.advance_ms(100);
            waited_ms += 100;
            assert!(waited_ms <= patience_ms + 200, "it gives up");
        }
        assert!(waited_ms >= patience_ms, "it waited {waited_ms} ms");
        assert!(harness.is_idle(), "nothing is left");
    }
}

#[test]
fn ddl_that_gives_up_says_so_and_whom_it_waited_for() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.ask(client, "SET lock_wait_timeout = 1");
    harness.query(client, "DROP TABLE test.t");
    let first = asked(&harness.signals());
    assert_eq!(first.len(), 2, "the data node and this one");
    answer(&mut harness, &first, &[7, 8]);
    let request = RequestId(5);
    harness.signal(Address::main(OWN_NODE), Signal::InfoRequest { request, table: InfoTable::Processes });
    let Signal::InfoDone { rows, .. } = harness.only_signal() else { panic!("rows") };
    let state = Value::text(
        "Waiting for table metadata lock (connections 7, 8 of node 2; connections 7, 8 of node 4)",
    );
    assert_eq!(rows[0][6], state);
    harness.advance_ms(1_100);
    assert_eq!(errno(harness.response(client)), 1205);
}

#[test]
fn ddl_begins_when_the_users_are_gone() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(client, "TRUNCATE TABLE test.t");
    let first = asked(&harness.signals());
    answer(&mut harness, &first, &[7]);
    harness.advance_ms(200);
    let again = asked(&harness.signals());
    assert_eq!(again.len(), 2);
    answer(&mut harness, &again, &[]);
    assert_eq!(read_of(harness.signals()).program.table.id, system::DDL_LOCK);
}

#[test]
fn accounts_and_new_tables_wait_for_nobody() {
    for statement in [
        "CREATE USER ann IDENTIFIED BY 'x'",
        "DROP USER IF EXISTS bob",
        "CREATE TABLE test.made (id INT PRIMARY KEY)",
        "CREATE DATABASE made",
    ] {
        let mut harness = Harness::new();
        begin_update(&mut harness);
        let client = harness.connect();
        harness.query(client, statement);
        let lock = read_of(harness.signals());
        assert_eq!(lock.program.table.id, system::DDL_LOCK, "{statement}");
        harness.read_done(&lock, &stored(&lock));
        loop {
            let signals = harness.signals();
            let asked = asked(&signals);
            if !asked.is_empty() {
                assert!(asked.iter().all(|(_, tables)| tables.is_empty()), "{statement}");
                break;
            }
            let read = read_of(signals);
            harness.read_done(&read, &stored(&read));
        }
    }
}

#[test]
fn the_wait_for_the_schema_lock_is_that_of_the_session() {
    let wait_of = |harness: &mut Harness, client: usize| {
        harness.query(client, "CREATE DATABASE made");
        let lock = read_of(harness.signals());
        lock.lock.map(|(_, wait)| wait)
    };
    let mut harness = Harness::new();
    let (first, second) = (harness.connect(), harness.connect());
    harness.ask(first, "SET lock_wait_timeout = 3");
    assert_eq!(wait_of(&mut harness, first), Some(LockWait::Wait { timeout_ms: 3_000 }));
    // A year does not fit.
    assert_eq!(wait_of(&mut harness, second), Some(LockWait::Wait { timeout_ms: u32::MAX }));
}

#[test]
fn a_transaction_whose_table_was_changed_hears_1412() {
    let mut harness = Harness::new();
    let client = begin_update(&mut harness);
    harness.query(client, "COMMIT");
    let Signal::CommitOne(commit) = harness.only_signal() else { panic!("a commit") };
    harness.committed(commit.request, CommitOutcome::Aborted(Refusal::WrongSchema));
    assert_eq!(errno(harness.response(client)), 1412);
}
