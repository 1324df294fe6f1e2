//! Commits that are answered when they are durable.

use super::harness::{Harness, LDM, column_table};
use super::{affected, errno, texts, write_in};
use mysql_protocol::client::Response;
use protocol::program::OperationResult;
use protocol::signal::CommitOutcome;
use protocol::{Address, Signal};
use std::sync::Arc;
use types::{Epoch, NodeId, RestartNumber, TableDefinition};

const MAIN: Address = Address::main(NodeId(4));

/// A node of a cluster whose data nodes keep a log.
fn with_log(durability: &'static str) -> Harness {
    Harness::with_config(|config| {
        let globals = [("latsdb_diskless", "OFF".to_owned()), ("durability", durability.to_owned())];
        config.globals = std::sync::Arc::new(globals.into());
    })
}

fn durable(epoch: u64) -> Signal {
    let (restart, durable) = (RestartNumber(0), Epoch(epoch));
    Signal::EpochDurable { restart, flushed: durable, durable }
}

/// A statement that carries its commit is done in this epoch.
fn update(harness: &mut Harness, client: usize, epoch: u64) {
    harness.query(client, "UPDATE test.t SET v = v + 1 WHERE id = 7");
    let write = write_in(harness.only_signal());
    harness.written(&write, vec![OperationResult::Updated], Some(Epoch(epoch)));
}

#[test]
fn a_commit_is_answered_when_its_epoch_is_durable() {
    let mut harness = with_log("memory");
    let (client, other) = (harness.connect(), harness.connect());
    update(&mut harness, client, 4);
    assert_eq!(affected(harness.response(client)), 1, "memory is the default");
    harness.ask(client, "SET durability = 'epoch'");
    update(&mut harness, client, 5);
    assert!(harness.no_response(client));
    assert_eq!(harness.only_signal(), Signal::DurableWanted { epoch: Epoch(5) });
    harness.ask(other, "SET SESSION durability = epoch");
    update(&mut harness, other, 5);
    assert!(harness.no_response(other));
    assert!(harness.signals().is_empty(), "main was asked");
    harness.signal(LDM, durable(9));
    assert!(harness.no_response(client), "not by main");
    harness.signal(MAIN, durable(4));
    assert!(harness.no_response(client));
    harness.signal(MAIN, durable(6));
    assert_eq!((affected(harness.response(client)), affected(harness.response(other))), (1, 1));
    // An epoch that is durable is answered at once.
    update(&mut harness, client, 6);
    assert_eq!(affected(harness.response(client)), 1);
}

#[test]
fn it_counts_for_the_transaction_in_which_it_is_said() {
    let mut harness = with_log("memory");
    let client = harness.connect();
    harness.ask(client, "BEGIN");
    harness.query(client, "UPDATE test.t SET v = 1 WHERE id = 7");
    let write = write_in(harness.only_signal());
    harness.written_in(&write, vec![OperationResult::Updated], 1);
    assert_eq!(affected(harness.response(client)), 1);
    harness.ask(client, "SET durability = 'epoch'");
    harness.query(client, "COMMIT");
    let Signal::CommitOne(commit) = harness.only_signal() else { panic!("it commits") };
    harness.committed(commit.request, CommitOutcome::Committed(Epoch(9)));
    assert_eq!(harness.only_signal(), Signal::DurableWanted { epoch: Epoch(9) });
    assert!(harness.no_response(client));
    harness.signal(MAIN, durable(9));
    assert!(matches!(harness.response(client), Response::Ok(_)));
}

#[test]
fn after_half_a_minute_it_is_committed_and_not_known_to_be_durable() {
    let mut harness = with_log("epoch");
    let client = harness.connect();
    update(&mut harness, client, 5);
    harness.advance_ms(29_999);
    assert!(harness.no_response(client));
    harness.advance_ms(1);
    assert_eq!(errno(harness.response(client)), 1180);
    harness.signals();
    // The session goes on, and what is durable later is answered.
    update(&mut harness, client, 6);
    harness.signal(MAIN, durable(6));
    assert_eq!(affected(harness.response(client)), 1);
}

#[test]
fn a_session_chooses_what_the_cluster_can_do() {
    let mut harness = Harness::new();
    let client = harness.connect();
    assert_eq!(errno(harness.ask(client, "SET durability = 'epoch'")), 1235, "nobody keeps a log");
    assert_eq!(errno(harness.ask(client, "SET GLOBAL durability = 'epoch'")), 1235);
    assert_eq!(errno(harness.ask(client, "SET durability = 'none'")), 1231);
    assert!(matches!(harness.ask(client, "SET durability = 'memory'"), Response::Ok(_)));
    let mut harness = with_log("memory");
    let client = harness.connect();
    assert_eq!(errno(harness.ask(client, "SET durability = 'fsync'")), 1231, "config.ini says that");
    let mut harness = with_log("fsync");
    let client = harness.connect();
    assert_eq!(errno(harness.ask(client, "SET durability = 'memory'")), 1231, "nobody has less");
    update(&mut harness, client, 5);
    assert!(harness.no_response(client));
}

/// DDL has given `test.t` a comment.
fn comment(harness: &mut Harness, version: u32, comment: &str) {
    let table = TableDefinition { version, comment: comment.to_owned(), ..column_table() };
    harness.change_schema(|schema| schema.put_table(Arc::new(table)));
}

/// A row is changed in a transaction that is open.
fn update_in_transaction(harness: &mut Harness, client: usize) {
    harness.ask(client, "BEGIN");
    harness.query(client, "UPDATE test.t SET v = 1 WHERE id = 7");
    let write = write_in(harness.only_signal());
    harness.written_in(&write, vec![OperationResult::Updated], 1);
    assert_eq!(affected(harness.response(client)), 1);
}

fn commit(harness: &mut Harness, client: usize, epoch: u64) {
    harness.query(client, "COMMIT");
    let Signal::CommitOne(commit) = harness.only_signal() else { panic!("it commits") };
    harness.committed(commit.request, CommitOutcome::Committed(Epoch(epoch)));
}

#[test]
fn a_table_asks_for_it_by_its_comment() {
    let mut harness = with_log("memory");
    let client = harness.connect();
    comment(&mut harness, 2, "orders NDB_TABLE=READ_BACKUP=1,DURABILITY=epoch");
    update(&mut harness, client, 5);
    assert!(harness.no_response(client));
    assert_eq!(harness.only_signal(), Signal::DurableWanted { epoch: Epoch(5) });
    harness.signal(MAIN, durable(5));
    assert_eq!(affected(harness.response(client)), 1);
    update_in_transaction(&mut harness, client);
    commit(&mut harness, client, 6);
    assert_eq!(harness.only_signal(), Signal::DurableWanted { epoch: Epoch(6) });
    assert!(harness.no_response(client));
    harness.signal(MAIN, durable(6));
    assert!(matches!(harness.response(client), Response::Ok(_)));
    comment(&mut harness, 3, "NDB_TABLE=DURABILITY=memory");
    update_in_transaction(&mut harness, client);
    commit(&mut harness, client, 8);
    assert!(matches!(harness.response(client), Response::Ok(_)));
}

#[test]
fn without_a_log_a_table_waits_for_nothing() {
    let mut harness = Harness::new();
    let client = harness.connect();
    comment(&mut harness, 2, "NDB_TABLE=DURABILITY=epoch");
    update(&mut harness, client, 5);
    assert_eq!(affected(harness.response(client)), 1);
}

#[test]
fn nobody_has_less_than_the_configuration_says() {
    let shown = |harness: &mut Harness, client: usize, text: &str| {
        texts(harness.ask(client, text)).concat().join(" ")
    };
    for (configured, set, expected) in [
        ("memory", "epoch", "epoch"),
        ("epoch", "memory", "epoch"),
        ("epoch", "epoch", "epoch"),
        ("fsync", "epoch", "fsync"),
    ] {
        let mut harness = with_log(configured);
        // It may have been set before the configuration was changed.
        harness.set_globals(&[("durability", set)]);
        let client = harness.connect();
        for text in [
            "SELECT @@durability",
            "SELECT @@global.durability",
            "SHOW VARIABLES LIKE 'durability'",
            "SHOW GLOBAL VARIABLES LIKE 'durability'",
        ] {
            assert!(shown(&mut harness, client, text).contains(expected), "{text}: {configured}, {set}");
        }
        assert!(shown(&mut harness, client, "SELECT @@latsdb_durability").contains(configured));
        let lowered = harness.ask(client, "SET durability = 'memory'");
        if configured == "memory" {
            assert!(matches!(lowered, Response::Ok(_)));
        } else {
            assert_eq!(errno(lowered), 1231, "{configured}");
            assert_eq!(errno(harness.ask(client, "SET GLOBAL durability = 'memory'")), 1231);
            update(&mut harness, client, 5);
            assert!(harness.no_response(client));
        }
    }
}
