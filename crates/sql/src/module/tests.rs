//! The module as a client and as the slots see it: transcripts over the client half of the protocol, with the test
//! playing the ldms.
#![expect(clippy::wildcard_enum_match_arm, reason = "an answer of another kind fails the test")]

mod accounts;
mod bad_input;
mod chains;
mod changes;
mod character_sets;
mod clients;
mod ddl;
mod drivers;
mod durable;
mod explain;
mod handover;
mod harness;
mod joins;
mod locks;
mod modes;
mod owners;
mod queries;
mod relief;
mod row_order;
mod scratch;
mod sets;
mod statements;
mod temporary_tables;
mod user_variables;
mod views;
mod virtual_tables;
mod volatile;
mod wide_ranges;
mod windows;

use harness::{BACKUP, Harness, LDM, column_table};
use mysql_protocol::client::{Response, ResultSet, Value};
use mysql_protocol::command::Cursor;
use mysql_protocol::{ClientOptions, ParameterValue, StatusFlags};
use protocol::Signal;
use protocol::program::{Access, LockWait, OperationResult, ReadProgress, Refusal};
use protocol::signal::{CommitOutcome, ReadRequest, WriteDone, WriteRequest, WriteSummary};
use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;
use stdx::Duration;
use types::{Epoch, NodeId, TransactionId};

fn text(text: &str) -> Value {
    Value::Bytes(text.as_bytes().to_vec())
}

fn rows(response: Response) -> Vec<Vec<Value>> {
    match response {
        Response::ResultSet(ResultSet { rows, .. }) => rows,
        other => panic!("a result set was expected: {other:?}"),
    }
}

fn texts(response: Response) -> Vec<Vec<String>> {
    let text = |value: Value| match value {
        Value::Bytes(text) => String::from_utf8(text).unwrap(),
        other => format!("{other:?}"),
    };
    rows(response).into_iter().map(|row| row.into_iter().map(text).collect()).collect()
}

fn errno(response: Response) -> u16 {
    match response {
        Response::Error(error) => error.errno,
        other => panic!("an error was expected: {other:?}"),
    }
}

fn affected(response: Response) -> u64 {
    match response {
        Response::Ok(completion) => completion.affected_rows,
        other => panic!("OK was expected: {other:?}"),
    }
}

fn write_in(signal: Signal) -> WriteRequest {
    match signal {
        Signal::Write(write) => *write,
        other => panic!("a write was expected: {other:?}"),
    }
}

fn read_in(signal: Signal) -> ReadRequest {
    match signal {
        Signal::Read(read) => *read,
        other => panic!("a read was expected: {other:?}"),
    }
}

// ---- connections ----------------------------------------------------------------------------------------------------

#[test]
fn root_without_a_password_comes_from_this_machine_only() {
    let mut harness = Harness::new();
    let local = harness.connect_from(true, ClientOptions::new("root", ""));
    assert!(matches!(harness.response(local), Response::Connected));
    let remote = harness.connect_from(false, ClientOptions::new("root", ""));
    assert_eq!(errno(harness.response(remote)), 1045);
    assert!(harness.is_closed(remote));
    let unknown = harness.connect_by_socket(true, ClientOptions::new("nobody", "secret"));
    assert_eq!(errno(harness.response(unknown)), 1045);
    let mut options = ClientOptions::new("root", "");
    options.database = Some("nosuch".to_owned());
    let lost = harness.connect_from(true, options);
    assert_eq!(errno(harness.response(lost)), 1049);
}

#[test]
fn a_plan_is_not_shared_with_a_session_that_binds_otherwise() {
    let mut harness = Harness::new();
    let (first, second) = (harness.connect(), harness.connect());
    harness.ask(second, "SET NAMES utf8mb4 COLLATE utf8mb4_bin");
    for _ in 0..2 {
        assert_eq!(rows(harness.ask(first, "SELECT 'a' = 'A'")), [[text("1")]]);
        assert_eq!(rows(harness.ask(second, "SELECT 'a' = 'A'")), [[text("0")]]);
    }
}

#[test]
fn silent_clients_are_closed() {
    let mut harness = Harness::new();
    let silent = harness.open(true, ClientOptions::new("root", ""));
    harness.advance_ms(9_999);
    assert!(!harness.is_closed(silent));
    harness.advance_ms(2);
    assert!(harness.is_closed(silent));
}

#[test]
fn packets_above_the_limit_end_the_connection() {
    let mut harness = Harness::with_config(|config| {
        config.globals = Arc::new([("max_allowed_packet", "1024".to_owned())].into())
    });
    let client = harness.connect();
    harness.query(client, &format!("SELECT '{}'", "x".repeat(2_000)));
    assert_eq!(errno(harness.response(client)), 1153);
    assert!(harness.is_closed(client));
}

// ---- statements without tables --------------------------------------------------------------------------------------

#[test]
fn the_values_of_a_row_are_limited_together() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let large = "REPEAT('x', 60000000)";
    let statement = format!("SELECT {large}, {large}, {large}");
    assert_eq!(errno(harness.ask(client, &statement)), 1153);
    // The texts that functions work on for one row have a limit of their own, though none of them is in the result.
    let lengths = vec![format!("LENGTH({large})"); 3].join(", ");
    assert_eq!(errno(harness.ask(client, &format!("SELECT {lengths}"))), 1041);
    assert_eq!(rows(harness.ask(client, &format!("SELECT LENGTH({large}), 1"))).len(), 1);
}

#[test]
fn rows_of_virtual_tables_are_charged() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(client, "SHOW PROCESSLIST");
    let asked = harness.signals();
    let Some(Signal::InfoRequest { request, .. }) = asked.first() else {
        panic!("nodes are asked: {asked:?}")
    };
    let large = vec![types::Value::Null, types::Value::Bytes(vec![0; 512 << 20])];
    harness.signal(LDM, Signal::InfoDone { request: *request, rows: vec![large] });
    assert_eq!(errno(harness.response(client)), 1041);
}

#[test]
fn statements_that_need_nobody() {
    let mut harness = Harness::new();
    let client = harness.connect();
    assert_eq!(rows(harness.ask(client, "SELECT 1 + 1, 'a'")), vec![vec![text("2"), text("a")]]);
    assert_eq!(rows(harness.ask(client, "SELECT @@autocommit, @@max_allowed_packet")).len(), 1);
    assert_eq!(errno(harness.ask(client, "SELEC 1")), 1064);
    assert_eq!(errno(harness.ask(client, "SET no_such_variable = 1")), 1193);
    assert_eq!(errno(harness.ask(client, "USE nosuch")), 1049);
    assert_eq!(affected(harness.ask(client, "SET autocommit = 0")), 0);
    assert_eq!(rows(harness.ask(client, "SELECT @@autocommit")), vec![vec![text("0")]]);
    assert_eq!(
        rows(harness.ask(client, "SHOW VARIABLES LIKE 'autocommit'")),
        vec![vec![text("autocommit"), text("OFF")]]
    );
    assert_eq!(errno(harness.ask(client, "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE")), 1235);
    let histograms =
        "SELECT COLUMN_NAME, JSON_EXTRACT(HISTOGRAM, '$.x') FROM information_schema.COLUMN_STATISTICS";
    assert_eq!(rows(harness.ask(client, histograms)), Vec::<Vec<_>>::new());
    assert_eq!(errno(harness.ask(client, "SELECT JSON_EXTRACT('{}', '$.x')")), 1235);
    let profile =
        "SELECT state, SUM(duration) FROM information_schema.profiling WHERE query_id = 1 GROUP BY state";
    assert_eq!(rows(harness.ask(client, profile)), Vec::<Vec<_>>::new());
    for nothing in ["", " \n", ";", "; ;"] {
        assert_eq!(errno(harness.ask(client, nothing)), 1065, "{nothing:?}");
    }
    for comment in
        ["/* ping */", "--", "# ping", "/* ping */;", "/*!99999 SELECT 1 */", "/*M!999999\\- sandbox */"]
    {
        assert_eq!(affected(harness.ask(client, comment)), 0, "{comment:?}");
    }
    harness.client(client).ping();
    harness.pump(client);
    assert_eq!(affected(harness.response(client)), 0);
    harness.client(client).reset_connection();
    harness.pump(client);
    assert_eq!(affected(harness.response(client)), 0);
    assert_eq!(rows(harness.ask(client, "SELECT @@autocommit")), vec![vec![text("1")]]);
}

#[test]
fn a_plan_is_for_the_settings_it_was_made_with() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let equal = |harness: &mut Harness| {
        let plain = rows(harness.ask(client, "SELECT 1 FROM DUAL WHERE 'A' = 'a'")).len();
        let collation = rows(harness.ask(client, "SELECT COLLATION(CONCAT(1, 2)) FROM DUAL WHERE 1 = 1"));
        (plain, collation)
    };
    for _ in 0..2 {
        harness.ask(client, "SET NAMES utf8mb4");
        assert_eq!(equal(&mut harness), (1, vec![vec![text("utf8mb4_0900_ai_ci")]]));
        harness.ask(client, "SET NAMES utf8mb4 COLLATE utf8mb4_bin");
        assert_eq!(equal(&mut harness), (0, vec![vec![text("utf8mb4_bin")]]));
    }
}

#[test]
fn statements_are_prepared_and_executed_by_name() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let done =
        |harness: &mut Harness, text: &str| assert_eq!(affected(harness.ask(client, text)), 0, "{text}");
    done(&mut harness, "PREPARE Twice FROM 'SELECT ? + ?, ?;'");
    done(&mut harness, "SET @a = 3, @b = 1.5, @c = 'x'");
    for _ in 0..2 {
        let found = rows(harness.ask(client, "EXECUTE twice USING @a, @b, @c"));
        assert_eq!(found, vec![vec![text("4.5"), text("x")]]);
    }
    // Types are those of the moment; a variable that was never set is NULL.
    done(&mut harness, "SET @b = 'y'");
    let found = rows(harness.ask(client, "EXECUTE twice USING @a, @nosuch, @b"));
    assert_eq!(found, vec![vec![Value::Null, text("y")]]);
    assert_eq!(errno(harness.ask(client, "EXECUTE twice USING @a")), 1210);
    assert_eq!(errno(harness.ask(client, "EXECUTE nosuch")), 1243);
    done(&mut harness, "SET @text = 'SET @a = 8'");
    done(&mut harness, "PREPARE set_it FROM @text");
    done(&mut harness, "EXECUTE set_it");
    assert_eq!(rows(harness.ask(client, "SELECT @a")), vec![vec![text("8")]]);
    assert_eq!(errno(harness.ask(client, "PREPARE again FROM 'EXECUTE twice'")), 1295);
    // A refused text leaves nothing of the statement that had the name.
    assert_eq!(errno(harness.ask(client, "PREPARE twice FROM 'SELEC 1'")), 1064);
    assert_eq!(errno(harness.ask(client, "EXECUTE twice")), 1243);
    done(&mut harness, "DEALLOCATE PREPARE set_it");
    assert_eq!(errno(harness.ask(client, "DROP PREPARE set_it")), 1243);
    done(&mut harness, "PREPARE p FROM 'SELECT 1'");
    harness.client(client).reset_connection();
    harness.pump(client);
    assert_eq!(affected(harness.response(client)), 0);
    assert_eq!(errno(harness.ask(client, "EXECUTE p")), 1243);
}

#[test]
fn do_evaluates_and_says_nothing() {
    let mut harness = Harness::new();
    let client = harness.connect();
    assert_eq!(affected(harness.ask(client, "DO 1 + 1, CONCAT('a', 'b')")), 0);
    assert_eq!(errno(harness.ask(client, "DO nosuch(1)")), 1305);
    assert_eq!(errno(harness.ask(client, "DO")), 1064);
}

#[test]
fn grants_are_headed_by_their_account() {
    let mut harness = Harness::new();
    let client = harness.connect();
    for (statement, heading) in
        [("SHOW GRANTS", "Grants for root@%"), ("SHOW GRANTS FOR CURRENT_USER()", "Grants for root@%")]
    {
        let Response::ResultSet(set) = harness.ask(client, statement) else { panic!("no result set") };
        assert_eq!(set.columns[0].name, heading);
    }
    assert_eq!(errno(harness.ask(client, "SHOW GRANTS FOR nobody@somewhere")), 1141);
}

#[test]
fn parentheses_are_no_part_of_a_plain_name() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let Response::ResultSet(set) = harness.ask(client, "SELECT (12), ('x'), ((3)), (-3), (1 + 1)") else {
        panic!("a result set was expected")
    };
    let names: Vec<&str> = set.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["12", "x", "3", "(-3)", "(1 + 1)"]);
}

#[test]
fn char_using_is_parsed() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let answer = harness.ask(client, "SELECT CHAR(77, 121 USING utf8mb4), CHAR(77 USING binary)");
    assert_eq!(rows(answer), vec![vec![text("My"), text("M")]]);
    assert_eq!(errno(harness.ask(client, "SELECT CHAR(77 USING ucs2)")), 1235);
}

#[test]
fn several_statements_of_one_packet_end_at_an_error() {
    let mut harness = Harness::new();
    let client = harness.connect_multi();
    harness.query(client, "SELECT 1; SELECT 2; SELEC 3; SELECT 4");
    assert_eq!(rows(harness.response(client)), vec![vec![text("1")]]);
    assert_eq!(rows(harness.response(client)), vec![vec![text("2")]]);
    assert_eq!(errno(harness.response(client)), 1064);
    assert_eq!(rows(harness.ask(client, "SELECT 5")), vec![vec![text("5")]]);
    let many = vec!["SELECT 7"; 5_000].join(";");
    harness.query(client, &many);
    for _ in 0..5_000 {
        assert_eq!(rows(harness.response(client)), vec![vec![text("7")]]);
    }
}

#[test]
fn prepared_statements_are_planned_for_the_types_they_get() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.client(client).prepare(b"SELECT ? + 1");
    harness.pump(client);
    let Response::Prepared(prepared) = harness.response(client) else { panic!("it can be prepared") };
    assert_eq!((prepared.parameter_count, prepared.column_count), (1, 1));
    for (parameter, expected) in [
        (ParameterValue::Int(41), Value::Int(42)),
        (ParameterValue::Double(0.5), Value::Double(1.5)),
        (ParameterValue::Null, Value::Null),
    ] {
        harness.client(client).execute(prepared.statement_id, &[parameter], Cursor::None);
        harness.pump(client);
        assert_eq!(rows(harness.response(client)), vec![vec![expected]]);
    }
    harness.client(client).close_statement(prepared.statement_id);
    harness.client(client).execute(prepared.statement_id, &[ParameterValue::Int(1)], Cursor::None);
    harness.pump(client);
    assert_eq!(errno(harness.response(client)), 1243);
}

// ---- statements on slots --------------------------------------------------------------------------------------------

#[test]
fn a_large_program_is_not_sent_for_all_rows_at_once() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let large = "x".repeat(3 << 20);
    harness.query(
        client,
        &format!("UPDATE test.t SET v = 1 WHERE id IN (1,2,3,4,5,6,7,8) AND CONCAT(v, '') <> '{large}'"),
    );
    let mut sent = harness.signals();
    assert_eq!(sent.len(), 5, "16 MiB are under way");
    let mut count = 0;
    while let Some(signal) = sent.pop() {
        let write = write_in(signal);
        assert_eq!((write.operations.len(), write.commit), (1, None));
        count += 1;
        harness.written_in(&write, vec![OperationResult::Updated], count);
        sent.extend(harness.signals().into_iter().filter(|signal| matches!(signal, Signal::Write(_))));
    }
    assert_eq!(count, 8);
}

#[test]
fn an_update_by_key_is_one_signal_that_carries_its_commit() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(client, "UPDATE test.t SET v = v + 1 WHERE id = 7");
    let write = write_in(harness.only_signal());
    assert_eq!((write.operations.len(), write.commit), (1, Some(Epoch(0))));
    harness.written(&write, vec![OperationResult::Updated], Some(Epoch(5)));
    assert_eq!(affected(harness.response(client)), 1);
    // The next commit is stamped no lower.
    harness.query(client, "DELETE FROM test.t WHERE id = 7");
    let next = write_in(harness.only_signal());
    assert_eq!(next.commit, Some(Epoch(5)));
    harness.written(&next, vec![OperationResult::NotMatched], Some(Epoch(6)));
    assert_eq!(affected(harness.response(client)), 0);
    // Their outcomes are acknowledged a little later.
    harness.advance_ms(99);
    assert!(harness.signals().is_empty());
    harness.advance_ms(1);
    let Signal::Forget { transactions, .. } = harness.only_signal() else { panic!("they are confirmed") };
    assert_eq!(transactions, [write.transaction, next.transaction]);
}

#[test]
fn a_duplicate_names_the_row_and_the_key() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(client, "INSERT INTO test.t VALUES (7, 1)");
    let write = write_in(harness.only_signal());
    harness.refused(&write, 0, Refusal::Duplicate { key: Box::default() });
    let Response::Error(error) = harness.response(client) else { panic!("it is refused") };
    assert_eq!((error.errno, error.message.as_str()), (1062, "Duplicate entry '7' for key 't.PRIMARY'"));
    assert_eq!(errno(harness.ask(client, "INSERT INTO test.t VALUES (7, 'x')")), 1366);
    assert_eq!(errno(harness.ask(client, "INSERT INTO test.t (v) VALUES (7)")), 1364);
    assert!(harness.signals().is_empty());
}

#[test]
fn a_transaction_counts_its_operations_and_undoes_them() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.ask(client, "BEGIN");
    harness.query(client, "UPDATE test.t SET v = 1 WHERE id = 7");
    let first = write_in(harness.only_signal());
    assert_eq!(first.commit, None);
    harness.written_in(&first, vec![OperationResult::Updated], 1);
    let Response::Ok(completion) = harness.response(client) else { panic!("it is done") };
    assert!(completion.status.contains(StatusFlags::IN_TRANSACTION));
    harness.ask(client, "SAVEPOINT a");
    harness.query(client, "UPDATE test.t SET v = 2 WHERE id = 7");
    let second = write_in(harness.only_signal());
    assert_eq!(second.transaction, first.transaction);
    harness.written_in(&second, vec![OperationResult::Updated], 2);
    harness.response(client);
    harness.query(client, "ROLLBACK TO a");
    let Signal::RollbackTo { request, operations, .. } = harness.only_signal() else {
        panic!("it is undone")
    };
    assert_eq!(operations, 1);
    harness.signal(LDM, Signal::RollbackDone { request, held: true });
    assert_eq!(affected(harness.response(client)), 0);
    harness.query(client, "COMMIT");
    let Signal::CommitOne(commit) = harness.only_signal() else { panic!("one participant commits") };
    assert_eq!(commit.participant.operations, 1);
    harness.committed(commit.request, CommitOutcome::Committed(Epoch(9)));
    let Response::Ok(completion) = harness.response(client) else { panic!("it is committed") };
    assert!(!completion.status.contains(StatusFlags::IN_TRANSACTION));
}

#[test]
fn switching_autocommit_on_commits_first() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.ask(client, "SET autocommit = 0");
    harness.query(client, "UPDATE test.t SET v = 1 WHERE id = 7");
    let write = write_in(harness.only_signal());
    assert_eq!(write.commit, None);
    harness.written_in(&write, vec![OperationResult::Updated], 1);
    harness.response(client);
    harness.query(client, "SET autocommit = 1");
    let Signal::CommitOne(commit) = harness.only_signal() else { panic!("it commits first") };
    harness.committed(commit.request, CommitOutcome::Committed(Epoch(9)));
    let Response::Ok(completion) = harness.response(client) else { panic!("it is set") };
    assert!(completion.status.contains(StatusFlags::AUTOCOMMIT));
    assert!(!completion.status.contains(StatusFlags::IN_TRANSACTION));
}

#[test]
fn a_failed_statement_is_undone_before_its_error_is_told() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.ask(client, "BEGIN");
    harness.query(client, "INSERT INTO test.t VALUES (7, 1)");
    let first = write_in(harness.only_signal());
    harness.written_in(&first, vec![OperationResult::Inserted], 1);
    harness.response(client);
    harness.query(client, "INSERT INTO test.t VALUES (7, 1)");
    let second = write_in(harness.only_signal());
    harness.refused(&second, 0, Refusal::Duplicate { key: Box::default() });
    assert!(harness.no_response(client));
    let Signal::RollbackTo { request, operations, .. } = harness.only_signal() else {
        panic!("it is undone")
    };
    assert_eq!(operations, 1);
    harness.signal(LDM, Signal::RollbackDone { request, held: true });
    assert_eq!(errno(harness.response(client)), 1062);
}

#[test]
fn a_deadlock_ends_the_transaction_everywhere() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.ask(client, "BEGIN");
    harness.query(client, "UPDATE test.t SET v = 1 WHERE id = 7");
    let write = write_in(harness.only_signal());
    harness.refused(&write, 0, Refusal::Deadlock { other: TransactionId(1) });
    assert!(
        matches!(harness.only_signal(), Signal::Abort { transaction, .. } if transaction == write.transaction)
    );
    assert_eq!(errno(harness.response(client)), 1213);
    let Response::Ok(completion) = harness.ask(client, "COMMIT") else {
        panic!("there is nothing to commit")
    };
    assert!(!completion.status.contains(StatusFlags::IN_TRANSACTION));
}

#[test]
fn a_lost_commit_is_unknown_and_ends_the_connection() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(client, "UPDATE test.t SET v = 1 WHERE id = 7");
    write_in(harness.only_signal());
    harness.lose(NodeId(2));
    assert!(harness.no_response(client));
    harness.give_up(NodeId(2));
    harness.advance_ms(50);
    assert_eq!(errno(harness.response(client)), 1180);
    assert!(harness.is_closed(client));
}

#[test]
fn a_lost_commit_is_asked_about_until_somebody_knows() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(client, "UPDATE test.t SET v = 1 WHERE id = 7");
    let write = write_in(harness.only_signal());
    harness.lose(NodeId(2));
    harness.advance_ms(50);
    let sent = harness.signals();
    assert!(sent.is_empty() && harness.no_response(client), "{sent:?}");
    harness.install(&[], &[]);
    harness.advance_ms(50);
    let Signal::OutcomeAsk { request, transaction, is_write: true, .. } = harness.only_signal() else {
        panic!("the primary is asked")
    };
    assert_eq!(transaction, write.transaction);
    let results = vec![OperationResult::Updated];
    let summary =
        WriteSummary { results: results.into(), operations: 0, committed: Some(Epoch(3)), raised: None };
    harness.signal(LDM, Signal::WriteDone(Box::new(WriteDone::new(request, Ok(summary)))));
    let Response::Ok(completion) = harness.response(client) else { panic!("it took place") };
    assert_eq!(completion.affected_rows, 1);
}

#[test]
fn a_lost_write_dooms_the_transaction_and_not_the_session() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.ask(client, "BEGIN");
    harness.query(client, "UPDATE test.t SET v = 1 WHERE id = 7");
    let first = write_in(harness.only_signal());
    harness.written_in(&first, vec![OperationResult::Updated], 1);
    harness.response(client);
    harness.query(client, "UPDATE test.t SET v = 2 WHERE id = 7");
    write_in(harness.only_signal());
    harness.lose(NodeId(2));
    assert_eq!(errno(harness.response(client)), 1213);
    assert!(!harness.is_closed(client));
    assert_eq!(rows(harness.ask(client, "SELECT 1")), vec![vec![text("1")]]);
}

#[test]
fn what_was_never_sent_to_a_lost_node_is_refused_and_not_unknown() {
    let mut harness = Harness::new();
    let in_transaction = harness.connect();
    harness.ask(in_transaction, "BEGIN");
    harness.query(in_transaction, "UPDATE test.t SET v = 1 WHERE id = 8");
    let first = write_in(harness.only_signal());
    harness.written_in(&first, vec![OperationResult::Updated], 1);
    harness.response(in_transaction);
    let statements = [
        "INSERT INTO test.t VALUES (7, 1)",
        "INSERT INTO test.t VALUES (7, 1), (8, 1)",
        "DELETE FROM test.t WHERE id = 7",
    ];
    let clients = statements.map(|statement| (harness.connect(), statement));
    harness.lose(NodeId(2));

    for (client, statement) in clients {
        harness.query(client, statement);
        assert!(harness.no_response(client), "{statement}");
    }
    assert_eq!(errno(harness.ask(in_transaction, "COMMIT")), 1213);
    harness.advance_ms(50);
    // The transaction's rows are let go of, wherever they are.
    let sent = harness.signals();
    assert!(sent.iter().all(|signal| matches!(signal, Signal::Abort { .. })), "{sent:?}");
    harness.give_up(NodeId(2));
    harness.advance_ms(50);
    for (client, statement) in clients {
        assert_eq!(errno(harness.response(client)), 1213, "{statement}");
        assert!(!harness.is_closed(client));
    }
    assert!(!harness.is_closed(in_transaction) && harness.signals().is_empty());
}

#[test]
fn what_was_not_sent_to_a_lost_node_is_done_when_its_slot_has_a_primary_again() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.lose(NodeId(2));
    harness.query(client, "INSERT INTO test.t VALUES (7, 1)");
    harness.advance_ms(200);
    assert!(harness.signals().is_empty() && harness.no_response(client));
    harness.install(&[], &[]);
    harness.advance_ms(50);
    let write = write_in(harness.only_signal());
    harness.written(&write, vec![OperationResult::Inserted], Some(Epoch(1)));
    assert_eq!(affected(harness.response(client)), 1);
}

#[test]
fn a_read_is_asked_again_after_an_old_view() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(client, "SELECT v FROM test.t WHERE id = 7");
    let first = read_in(harness.only_signal());
    assert_eq!(first.transaction, None);
    harness.read_refused(&first, Refusal::WrongView);
    assert!(harness.signals().is_empty());
    harness.advance_ms(50);
    let second = read_in(harness.only_signal());
    assert_ne!(first.request, second.request);
    harness.read_done(&second, &[vec![types::Value::Int(3)]]);
    assert_eq!(rows(harness.response(client)), vec![vec![text("3")]]);
}

#[test]
fn a_read_goes_to_the_next_replica_at_once() {
    for refusal in [Some(Refusal::WrongView), None] {
        let mut harness = Harness::with_backup();
        let client = harness.connect();
        harness.query(client, "SELECT v FROM test.t WHERE id = 7");
        let mut asked = harness.addressees();
        let first = read_in(harness.only_signal());
        // It has no lease, or it stopped and the map does not say so yet.
        match refusal {
            Some(refusal) => harness.read_refused(&first, refusal),
            None => harness.tell_lost(asked[0].node),
        }
        asked.extend(harness.addressees());
        let second = read_in(harness.only_signal());
        assert_eq!(BTreeSet::from_iter(asked.clone()), BTreeSet::from([LDM, BACKUP]));
        // There is no third one: it pauses, and begins with the first again.
        harness.read_refused(&second, Refusal::WrongView);
        assert!(harness.signals().is_empty());
        harness.advance_ms(50);
        assert_eq!(harness.addressees(), asked[..1]);
        let third = read_in(harness.only_signal());
        harness.read_done(&third, &[vec![types::Value::Int(3)]]);
        assert_eq!(rows(harness.response(client)), vec![vec![text("3")]]);
    }
}

#[test]
fn a_scan_goes_on_at_another_replica_from_where_it_stood() {
    let mut harness = Harness::with_backup();
    let client = harness.connect();
    harness.query(client, "SELECT v FROM test.t");
    let mut asked = harness.addressees();
    let mut reads: Vec<ReadRequest> = harness.signals().into_iter().map(read_in).collect();
    // One slot is read in parts, the others are empty.
    let mut read = reads.swap_remove(0);
    asked.truncate(1);
    reads.iter().for_each(|read| harness.read_done(read, &[]));
    for value in 0..3 {
        let progress = ReadProgress::More { after: Some(Box::from([value])), position: 0 };
        harness.read_part(&read, &[vec![types::Value::Int(value.into())]], progress);
        // The node that answered is asked for the rest, and refuses; the node that refused the time before is asked
        // again, without a pause.
        asked.extend(harness.addressees());
        let rest = read_in(harness.only_signal());
        harness.read_refused(&rest, Refusal::WrongView);
        asked.extend(harness.addressees());
        read = read_in(harness.only_signal());
        assert_eq!(read.access, rest.access);
        let Access::Scan { ranges, .. } = &read.access else { panic!("a scan goes on") };
        assert_eq!(ranges[0].lower, Bound::Excluded(Box::from([value])));
    }
    harness.read_done(&read, &[]);
    let values = [[text("0")], [text("1")], [text("2")]];
    assert_eq!(rows(harness.response(client)), values);
    let (first, other) = if asked[0] == LDM { (LDM, BACKUP) } else { (BACKUP, LDM) };
    assert_eq!(asked, [first, first, other, other, first, first, other]);
}

#[test]
fn own_writes_are_read_at_the_primary_alone() {
    let mut harness = Harness::with_backup();
    let client = harness.connect();
    harness.ask(client, "BEGIN");
    harness.query(client, "UPDATE test.t SET v = 1 WHERE id = 7");
    let write = write_in(harness.only_signal());
    harness.written_in(&write, vec![OperationResult::Updated], 1);
    harness.response(client);
    harness.query(client, "SELECT v FROM test.t WHERE id = 7");
    for _ in 0..3 {
        assert_eq!(harness.addressees(), [LDM]);
        let read = read_in(harness.only_signal());
        assert_eq!(read.transaction, Some(write.transaction));
        harness.read_refused(&read, Refusal::WrongView);
        assert!(harness.signals().is_empty(), "nobody else has them");
        harness.advance_ms(50);
    }
    // The rest of an answer is asked for as theirs, too.
    let read = read_in(harness.only_signal());
    let progress = ReadProgress::More { after: None, position: 0 };
    harness.read_part(&read, &[], progress);
    assert_eq!(harness.addressees(), [LDM]);
    let rest = read_in(harness.only_signal());
    assert_eq!(rest.transaction, Some(write.transaction));
    harness.read_done(&rest, &[vec![types::Value::Int(1)]]);
    assert_eq!(rows(harness.response(client)), vec![vec![text("1")]]);
}

#[test]
fn commands_sent_ahead_are_answered_in_order() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.client(client).query(b"UPDATE test.t SET v = 1 WHERE id = 7");
    harness.client(client).query(b"SELECT 2");
    harness.client(client).ping();
    harness.pump(client);
    assert!(harness.no_response(client));
    let write = write_in(harness.only_signal());
    harness.written(&write, vec![OperationResult::Updated], Some(Epoch(1)));
    assert_eq!(affected(harness.response(client)), 1);
    assert_eq!(rows(harness.response(client)), vec![vec![text("2")]]);
    assert_eq!(affected(harness.response(client)), 0);
}

#[test]
fn who_leaves_in_a_transaction_aborts_it() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.ask(client, "BEGIN");
    harness.query(client, "UPDATE test.t SET v = 1 WHERE id = 7");
    let write = write_in(harness.only_signal());
    harness.written_in(&write, vec![OperationResult::Updated], 1);
    harness.response(client);
    harness.disconnect(client);
    assert!(
        matches!(harness.only_signal(), Signal::Abort { transaction, .. } if transaction == write.transaction)
    );
    // One whose commit is on its way lets it be.
    let client = harness.connect();
    harness.query(client, "UPDATE test.t SET v = 1 WHERE id = 7");
    write_in(harness.only_signal());
    harness.disconnect(client);
    assert!(harness.signals().iter().all(|signal| !matches!(signal, Signal::CommitOne(_))));
}

#[test]
fn probes_reach_the_place_where_the_transaction_waits() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.ask(client, "BEGIN");
    harness.query(client, "UPDATE test.t SET v = 1 WHERE id = 7");
    let write = write_in(harness.only_signal());
    let probe = |transaction| protocol::signal::Probe {
        initiator: TransactionId(u64::MAX),
        home: LDM,
        wait: 1,
        transaction,
        hops_left: 3,
    };
    harness.signal(LDM, Signal::ProbeSession(probe(TransactionId(3))));
    assert!(harness.signals().is_empty());
    harness.signal(LDM, Signal::ProbeSession(probe(write.transaction)));
    assert!(matches!(harness.only_signal(), Signal::ProbeWait(passed) if passed == probe(write.transaction)));
    // On another path: once is enough.
    harness.signal(LDM, Signal::ProbeSession(probe(write.transaction)));
    assert!(harness.signals().is_empty());
}

#[test]
fn killed_statements_and_sessions() {
    let mut harness = Harness::new();
    let (client, other) = (harness.connect(), harness.connect());
    let id = harness.client(client).connection_id();
    harness.query(client, "UPDATE test.t SET v = 1 WHERE id = 7");
    write_in(harness.only_signal());
    harness.query(other, &format!("KILL QUERY {id}"));
    assert_eq!(affected(harness.response(other)), 0);
    // It carries its commit: whether it can be stopped is for its participant to say.
    assert!(harness.no_response(client));
    let Signal::RollbackTo { request, operations: 0, .. } = harness.only_signal() else {
        panic!("the participant is asked")
    };
    harness.signal(LDM, Signal::RollbackDone { request, held: true });
    assert_eq!(errno(harness.response(client)), 1317);
    assert_eq!(rows(harness.ask(client, "SELECT 1")), vec![vec![text("1")]]);
    harness.query(other, &format!("KILL {id}"));
    assert_eq!(affected(harness.response(other)), 0);
    assert!(harness.is_closed(client));
    assert_eq!(errno(harness.ask(other, "KILL 123456789")), 1094);
}

#[test]
fn a_killed_statement_is_undone_and_its_transaction_goes_on() {
    let mut harness = Harness::new();
    let (client, other) = (harness.connect(), harness.connect());
    let id = harness.client(client).connection_id();
    harness.ask(client, "BEGIN");
    harness.query(client, "INSERT INTO test.t VALUES (1, 1)");
    let first = write_in(harness.only_signal());
    harness.written_in(&first, vec![OperationResult::Inserted], 1);
    harness.response(client);
    // In two parts: the first is answered, the second waits for a lock.
    let values: Vec<String> = (2..1_500).map(|id| format!("({id}, 1)")).collect();
    harness.query(client, &format!("INSERT INTO test.t VALUES {}", values.join(", ")));
    let part = write_in(harness.only_signal());
    let results = vec![OperationResult::Inserted; part.operations.len()];
    let staged = u32::try_from(results.len()).expect("few") + 1;
    harness.written_in(&part, results, staged);
    write_in(harness.only_signal());
    harness.query(other, &format!("KILL QUERY {id}"));
    assert_eq!(affected(harness.response(other)), 0);
    assert!(harness.no_response(client), "not before it is undone");
    let Signal::RollbackTo { request, operations, .. } = harness.only_signal() else {
        panic!("the statement is undone")
    };
    assert_eq!(operations, 1, "what was done before stays");
    harness.signal(LDM, Signal::RollbackDone { request, held: true });
    assert_eq!(errno(harness.response(client)), 1317);
    harness.query(client, "COMMIT");
    let Signal::CommitOne(commit) = harness.only_signal() else { panic!("the transaction was open") };
    assert_eq!(commit.participant.operations, 1);
    // KILL QUERY comes too late for a commit that was sent: its outcome is told.
    harness.query(other, &format!("KILL QUERY {id}"));
    harness.response(other);
    assert!(harness.no_response(client));
    harness.committed(commit.request, CommitOutcome::Committed(Epoch(9)));
    assert_eq!(affected(harness.response(client)), 0);
}

#[test]
fn a_statement_that_was_done_before_it_is_killed_is_reported_as_done() {
    // In the first case the answer overtakes the kill, in the second the participant refuses to stop.
    for is_refused in [false, true] {
        let mut harness = Harness::new();
        let (client, other) = (harness.connect(), harness.connect());
        let id = harness.client(client).connection_id();
        harness.query(client, "UPDATE test.t SET v = 1 WHERE id = 7");
        let write = write_in(harness.only_signal());
        harness.query(other, &format!("KILL QUERY {id}"));
        let Signal::RollbackTo { request, .. } = harness.only_signal() else { panic!("it is asked") };
        if is_refused {
            harness.signal(LDM, Signal::RollbackDone { request, held: false });
            assert!(harness.no_response(client));
        }
        harness.written(&write, vec![OperationResult::Updated], Some(Epoch(9)));
        assert_eq!(affected(harness.response(client)), 1);
        harness.signal(LDM, Signal::RollbackDone { request, held: true });
        assert_eq!(rows(harness.ask(client, "SELECT 1")), vec![vec![text("1")]]);
    }
}

#[test]
fn a_connection_killed_in_its_commit_hears_nothing_more() {
    let mut harness = Harness::new();
    let (client, other) = (harness.connect(), harness.connect());
    let id = harness.client(client).connection_id();
    harness.query(client, "UPDATE test.t SET v = 1 WHERE id = 7");
    write_in(harness.only_signal());
    harness.query(other, &format!("KILL {id}"));
    assert!(harness.no_response(client), "nobody may say that it was not done");
    assert!(harness.is_closed(client));
}

#[test]
fn rollback_is_answered_when_all_is_undone() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.ask(client, "BEGIN");
    harness.query(client, "UPDATE test.t SET v = 1 WHERE id = 7");
    let write = write_in(harness.only_signal());
    harness.written_in(&write, vec![OperationResult::Updated], 1);
    harness.response(client);
    harness.query(client, "ROLLBACK");
    let Signal::RollbackTo { request, operations, .. } = harness.only_signal() else {
        panic!("it is undone")
    };
    assert_eq!(operations, 0);
    assert!(harness.no_response(client));
    harness.signal(LDM, Signal::RollbackDone { request, held: true });
    let Response::Ok(completion) = harness.response(client) else { panic!("it is over") };
    assert!(!completion.status.contains(StatusFlags::IN_TRANSACTION));
    // A participant that is lost has undone it, too.
    harness.ask(client, "BEGIN");
    harness.query(client, "UPDATE test.t SET v = 1 WHERE id = 7");
    let write = write_in(harness.only_signal());
    harness.written_in(&write, vec![OperationResult::Updated], 1);
    harness.response(client);
    harness.query(client, "ROLLBACK");
    harness.signals();
    harness.lose(NodeId(2));
    assert_eq!(affected(harness.response(client)), 0);
}

#[test]
fn an_inactive_transaction_is_rolled_back_and_its_client_hears_of_it() {
    let mut harness = Harness::with_config(|config| {
        config.transaction_inactive_timeout = Some(Duration::from_secs(1));
        config.lock_wait_timeout_max = Some(Duration::from_millis(1_200));
    });
    let client = harness.connect();
    for next in ["SELECT v FROM test.t WHERE id = 7", "COMMIT", "ROLLBACK"] {
        harness.ask(client, "BEGIN");
        harness.query(client, "UPDATE test.t SET v = 1 WHERE id = 7");
        let write = write_in(harness.only_signal());
        assert_eq!(write.wait, LockWait::Wait { timeout_ms: 1_200 });
        // A statement that runs keeps it alive.
        harness.advance_ms(900);
        harness.written_in(&write, vec![OperationResult::Updated], 1);
        harness.response(client);
        harness.query(client, "UPDATE test.t SET v = 2 WHERE id = 7");
        let write = write_in(harness.only_signal());
        harness.advance_ms(2_000);
        assert!(harness.signals().is_empty());
        harness.written_in(&write, vec![OperationResult::Updated], 2);
        harness.response(client);
        harness.ask(client, "DO 1");
        harness.advance_ms(500);
        assert!(harness.signals().is_empty());
        harness.advance_ms(501);
        let Signal::Abort { transaction, .. } = harness.only_signal() else { panic!("it is rolled back") };
        assert_eq!(transaction, write.transaction);
        let answer = harness.ask(client, next);
        if next == "ROLLBACK" {
            assert_eq!(affected(answer), 0);
        } else {
            assert_eq!(errno(answer), 1213, "{next}");
        }
    }
}

#[test]
fn an_idle_client_is_told_to_go_when_its_wait_timeout_says_so() {
    let mut harness = Harness::new();
    let patient = harness.connect();
    let client = harness.connect();
    harness.ask(client, "SET SESSION wait_timeout = 20");
    for _ in 0..3 {
        harness.advance_ms(9_000);
        harness.ask(client, "SET SESSION wait_timeout = 10");
    }
    harness.advance_ms(9_900);
    assert!(!harness.is_closed(client));
    harness.advance_ms(200);
    assert!(harness.is_closed(client) && !harness.is_closed(patient));
    // A session that begins anew has the timeout of a new one.
    let client = harness.connect();
    harness.ask(client, "SET SESSION wait_timeout = 10");
    harness.client(client).change_user("root", "", None);
    harness.pump(client);
    harness.response(client);
    harness.advance_ms(60_000);
    assert!(!harness.is_closed(client));
}

#[test]
fn alarms_go_with_their_sessions() {
    let mut harness = Harness::new();
    let stays = harness.connect();
    for _ in 0..5_000 {
        let client = harness.connect();
        harness.disconnect(client);
    }
    assert!(harness.alarms() < 2_000, "{} alarms", harness.alarms());
    for _ in 0..100 {
        harness.client(stays).change_user("root", "", None);
        harness.pump(stays);
        harness.response(stays);
        harness.advance_ms(15_000);
    }
    harness.ask(stays, "DO 1");
    harness.advance_ms(28_799_000);
    assert!(!harness.is_closed(stays));
    harness.advance_ms(2_000);
    assert!(harness.is_closed(stays));
}

#[test]
fn a_node_that_may_not_know_the_schema_answers_later() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.fall_behind(true);
    harness.query(client, "SELECT v FROM test.gone");
    harness.advance_ms(100);
    assert!(harness.no_response(client));
    harness.fall_behind(false);
    harness.advance_ms(5);
    assert_eq!(errno(harness.response(client)), 1146);
}

#[test]
fn variables_say_what_the_configuration_says() {
    let mut harness = Harness::with_config(|config| {
        config.globals = Arc::new([("max_connections", "7".to_owned()), ("port", "3307".to_owned())].into());
    });
    let client = harness.connect();
    let asked = "SELECT @@max_connections, @@global.port, @@connect_timeout";
    assert_eq!(texts(harness.ask(client, asked)), [["7", "3307", "10"]]);
    let shown = harness.ask(client, "SHOW VARIABLES LIKE 'max_connections'");
    assert_eq!(texts(shown), [["max_connections", "7"]]);
    assert_eq!(errno(harness.ask(client, "SET GLOBAL max_connections = 7")), 1238);
}

#[test]
fn locks_that_do_not_fit_one_answer_are_asked_for_again() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(client, "SELECT v FROM test.t WHERE id IN (1, 2, 3) FOR UPDATE");
    let first = read_in(harness.only_signal());
    let Access::Keys(keys) = &first.access else { panic!("locks are asked for by key") };
    assert_eq!(keys.len(), 3);
    let more = ReadProgress::More { after: None, position: 1 };
    harness.locked(&first, &[(&keys[0], 10)], more, 1);
    let second = read_in(harness.only_signal());
    let Access::Keys(rest) = &second.access else { panic!("locks are asked for by key") };
    assert_eq!(rest, &keys[1..]);
    harness.locked(&second, &[(&rest[0], 20), (&rest[1], 30)], ReadProgress::End, 3);
    let Signal::CommitOne(commit) = harness.only_signal() else { panic!("the locks are given back") };
    harness.committed(commit.request, CommitOutcome::Committed(Epoch(9)));
    assert_eq!(rows(harness.response(client)), vec![vec![text("10")], vec![text("20")], vec![text("30")]]);
}

#[test]
fn the_table_of_these_tests_is_as_they_think() {
    assert!(column_table().check().is_ok());
}

#[test]
fn uptime_counts_from_the_start_of_the_node() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.advance_ms(42_500);
    let uptime = rows(harness.ask(client, "SHOW GLOBAL STATUS LIKE 'Uptime'"));
    assert_eq!(uptime, [[text("Uptime"), text("42")]]);
}

#[test]
fn user_variables_keep_values_and_their_types() {
    let mut harness = Harness::new();
    let client = harness.connect();
    assert_eq!(rows(harness.ask(client, "SELECT @a")), [[Value::Null]]);
    assert_eq!(affected(harness.ask(client, "SET @a = 40 + 2, @B = 'käse'")), 0);
    assert_eq!(
        rows(harness.ask(client, "SELECT @A, @`b`, @a * 2")),
        [[text("42"), text("käse"), text("84")]]
    );
    // It is of another type from now on.
    assert_eq!(affected(harness.ask(client, "SET @a = 'text'")), 0);
    assert_eq!(rows(harness.ask(client, "SELECT @a")), [[text("text")]]);
    // The first and last statements of a dump.
    let dump = "SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO'";
    let before = rows(harness.ask(client, "SELECT @@SQL_MODE"));
    assert_eq!(affected(harness.ask(client, dump)), 0);
    assert_eq!(rows(harness.ask(client, "SELECT @@sql_mode")), [[text("NO_AUTO_VALUE_ON_ZERO")]]);
    assert_eq!(affected(harness.ask(client, "SET SQL_MODE=@OLD_SQL_MODE")), 0);
    assert_eq!(rows(harness.ask(client, "SELECT @@sql_mode")), before);
    // A SET that fails sets nothing.
    assert_eq!(errno(harness.ask(client, "SET @a = 1, no_such_variable = 2")), 1193);
    assert_eq!(rows(harness.ask(client, "SELECT @a")), [[text("text")]]);
    let other = harness.connect();
    assert_eq!(rows(harness.ask(other, "SELECT @a")), [[Value::Null]]);
}

#[test]
fn literals_that_are_not_utf8_are_binary() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query_bytes(client, b"SELECT HEX(_binary'\xff\\0'), HEX('\x80')");
    assert_eq!(rows(harness.response(client)), [[text("FF00"), text("80")]]);
    harness.query_bytes(client, b"SELECT 1\0");
    assert_eq!(rows(harness.response(client)), [[text("1")]]);
    harness.query_bytes(client, b"SELECT \xff");
    assert_eq!(errno(harness.response(client)), 1300);
}

#[test]
fn a_prepared_statement_reads_a_user_variable_at_each_execution() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.client(client).prepare(b"SELECT @a, ?");
    harness.pump(client);
    let Response::Prepared(prepared) = harness.response(client) else { panic!("it can be prepared") };
    for (set, expected) in [
        ("SET @a = 1", Value::Int(1)),
        ("SET @a = 'text'", text("text")),
        ("SET @a = 1e0", Value::Double(1.0)),
        ("SET @a = NULL", Value::Null),
    ] {
        assert_eq!(affected(harness.ask(client, set)), 0);
        harness.client(client).execute(prepared.statement_id, &[ParameterValue::Int(7)], Cursor::None);
        harness.pump(client);
        assert_eq!(rows(harness.response(client)), [[expected, Value::Int(7)]]);
    }
}

#[test]
fn limits_are_whole_numbers_of_any_type() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.client(client).prepare(b"SELECT 1 LIMIT ?");
    harness.pump(client);
    let Response::Prepared(prepared) = harness.response(client) else { panic!("it can be prepared") };
    for (limit, count) in [
        (ParameterValue::Int(1), Some(1)),
        (ParameterValue::Double(1.0), Some(1)),
        (ParameterValue::Double(0.0), Some(0)),
        (ParameterValue::Bytes(b"2"), Some(1)),
        (ParameterValue::Double(0.5), None),
        (ParameterValue::Double(-1.0), None),
        (ParameterValue::Bytes(b"one"), None),
        (ParameterValue::Bytes(b""), None),
        (ParameterValue::Int(-1), None),
    ] {
        harness.client(client).execute(prepared.statement_id, &[limit], Cursor::None);
        harness.pump(client);
        match (harness.response(client), count) {
            (Response::ResultSet(found), Some(count)) => assert_eq!(found.rows.len(), count),
            (response, _) => assert_eq!(errno(response), 1210),
        }
    }
}

#[test]
fn warnings_of_partitions_reach_the_client() {
    use expression::context::{Raised, Severity, Warning};
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(client, "INSERT IGNORE INTO test.t VALUES (1, 2)");
    let write = write_in(harness.only_signal());
    let message = "Data truncated for column 'b' at row 1".to_owned();
    let warnings = vec![Warning { severity: Severity::Note, code: 1265, message: message.clone() }];
    let raised = Some(Box::new(Raised { count: 1, warnings }));
    harness.written_with(&write, vec![OperationResult::Inserted], Some(Epoch(5)), raised);
    match harness.response(client) {
        Response::Ok(completion) => assert_eq!((completion.affected_rows, completion.warnings), (1, 1)),
        other => panic!("OK was expected: {other:?}"),
    }
    let shown = rows(harness.ask(client, "SHOW WARNINGS"));
    assert_eq!(shown, [vec![text("Note"), text("1265"), text(&message)]]);
    // Another statement begins without them, also one that only asks for counts of the last.
    assert_eq!(rows(harness.ask(client, "SELECT ROW_COUNT()")).len(), 1);
    assert!(rows(harness.ask(client, "SHOW WARNINGS")).is_empty());
}
