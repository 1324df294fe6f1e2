//! DDL statements as the other members see them, with the test playing the system tables as they are in a new cluster.

use super::errno;
use super::harness::Harness;
use catalogue::system;
use protocol::Signal;
use protocol::signal::{ReadRequest, RequestId};
use types::{NodeId, Value};

const DATA_NODE: NodeId = NodeId(2);

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
        assert!(harness.signals().is_empty(), "nothing is asked of a partition: {statement}");
    }
    harness.query(client, "PREPARE held FROM 'SELECT * FROM latsdb.ddl_lock FOR UPDATE'");
    assert_eq!(errno(harness.response(client)), 3554);
}
