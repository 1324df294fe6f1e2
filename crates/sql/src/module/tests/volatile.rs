//! RAND, UUID, UUID_SHORT and SLEEP.

use super::{affected, errno, harness::Harness, read_in, rows, text, texts, write_in};
use mysql_protocol::client::Response;
use protocol::Signal;
use protocol::program::{OperationResult, ReadOutput, WriteOperation};
use std::collections::BTreeSet;
use types::{Epoch, Value};

/// The rows of `test.t` as the ldm gives them.
fn two_columns(count: i64) -> Vec<Vec<Value>> {
    (1..=count).map(|id| vec![Value::Int(id), Value::Int(id * 10)]).collect()
}

fn answer_read(harness: &mut Harness, rows: &[Vec<Value>]) {
    let read = read_in(harness.only_signal());
    harness.read_done(&read, rows);
}

#[test]
fn a_seeded_sequence_is_mysql_s() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let shown = texts(harness.ask(client, "SELECT RAND(3), RAND(1), RAND(NULL), RAND(-5)"));
    let expected = ["0.9057697559760601", "0.40540353712197724", "0.15522042769493574", "0.9043048842850187"];
    assert_eq!(shown, [expected]);
    // Each call of the text has a sequence of its own, row after row.
    harness.query(client, "SELECT id, RAND(3), RAND(3), RAND(id) FROM test.t");
    answer_read(&mut harness, &two_columns(3).iter().map(|row| row[..1].to_vec()).collect::<Vec<_>>());
    let shown = texts(harness.response(client));
    let sequence = ["0.9057697559760601", "0.37307905813034536", "0.14808605345719125"];
    let seeded = ["0.40540353712197724", "0.6555866465490187", "0.9057697559760601"];
    for (number, row) in shown.iter().enumerate() {
        assert_eq!(row[1..], [sequence[number], sequence[number], seeded[number]]);
    }
}

#[test]
fn volatile_functions_are_evaluated_row_by_row_here() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(
        client,
        "SELECT id, RAND(), UUID(), UUID_SHORT() FROM test.t WHERE v > 5 AND RAND() < 2 ORDER BY RAND()",
    );
    let read = read_in(harness.only_signal());
    assert_eq!(read.program.filter.as_ref().map(ToString::to_string), Some("(#1 > 5)".to_owned()));
    assert!(matches!(&read.program.output, ReadOutput::Columns(columns) if columns.len() == 1));
    let ids: Vec<Vec<Value>> = (0..50).map(|id| vec![Value::Int(id)]).collect();
    harness.read_done(&read, &ids);
    let shown = texts(harness.response(client));
    let of = |column: usize| shown.iter().map(|row| row[column].clone()).collect::<Vec<_>>();
    for column in 0..4 {
        assert_eq!(of(column).into_iter().collect::<BTreeSet<_>>().len(), 50, "column {column}");
    }
    let ids: Vec<usize> = of(0).iter().map(|id| id.parse().unwrap()).collect();
    assert!(!ids.is_sorted(), "{ids:?}");
    // The value that orders is the value that is shown.
    harness.query(client, "SELECT RAND() AS r FROM test.t ORDER BY r");
    answer_read(&mut harness, &vec![Vec::new(); 20]);
    let shown: Vec<f64> = texts(harness.response(client)).iter().map(|row| row[0].parse().unwrap()).collect();
    assert_eq!(shown.len(), 20);
    assert!(shown.is_sorted(), "{shown:?}");
    // An aggregate of them is one of as many values.
    harness.query(client, "SELECT COUNT(DISTINCT RAND()), v FROM test.t GROUP BY v");
    answer_read(&mut harness, &vec![vec![Value::Int(7)]; 9]);
    assert_eq!(rows(harness.response(client)), [[text("9"), text("7")]]);
}

#[test]
fn a_volatile_condition_is_no_key() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(client, "SELECT v FROM test.t WHERE id = FLOOR(RAND(9) * 3)");
    answer_read(&mut harness, &two_columns(3));
    // Three times the sequence of 9 begins with 1.2, 2.6 and 0.5: rows 1, 2 and 3 are compared with 1, 2 and 0.
    assert_eq!(rows(harness.response(client)), [[text("10")], [text("20")]]);
}

#[test]
fn a_change_takes_random_values_of_the_row() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(client, "UPDATE test.t SET v = FLOOR(RAND() * 100) WHERE id = 1");
    let write = write_in(harness.only_signal());
    let [WriteOperation::Update { program, .. }] = &write.operations[..] else { panic!("an update") };
    let context = program.context.evaluation();
    let value = |id: i64| {
        let row = vec![Value::Int(id), Value::Int(0)];
        program.assignments[0].value.evaluate(&row, &context).unwrap()
    };
    assert_eq!(value(1), value(1));
    assert!((1..20).map(value).any(|other| other != value(0)), "each row has its own");
    harness.written(&write, vec![OperationResult::Updated], Some(Epoch(2)));
    assert_eq!(affected(harness.response(client)), 1);
    for refused in ["v = SLEEP(1)", "v = RAND(3)", "v = UUID_SHORT()"] {
        assert_eq!(errno(harness.ask(client, &format!("UPDATE test.t SET {refused}"))), 1235);
    }
}

#[test]
fn an_insert_takes_values_that_differ() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(client, "INSERT INTO test.t VALUES (FLOOR(RAND() * 1e9), 1), (FLOOR(RAND() * 1e9), 2)");
    let write = write_in(harness.only_signal());
    let [WriteOperation::Insert { row: first, .. }, WriteOperation::Insert { row: second, .. }] =
        &write.operations[..]
    else {
        panic!("two rows")
    };
    assert_ne!(first, second);
}

#[test]
fn a_sleep_ends_when_its_time_is_over() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(client, "SELECT SLEEP(1.5), SLEEP(20), RAND(3)");
    harness.advance_ms(21_000);
    assert!(harness.no_response(client));
    for _ in 0..3 {
        harness.advance_ms(9_000);
    }
    assert_eq!(rows(harness.response(client)), [[text("0"), text("0"), text("0.9057697559760601")]]);
    assert_eq!(rows(harness.ask(client, "SELECT SLEEP(0)")), [[text("0")]]);
    // Once per row, and no further than LIMIT asks for.
    harness.query(client, "SELECT id FROM test.t WHERE v > 5 AND SLEEP(1) = 0 LIMIT 2");
    answer_read(&mut harness, &two_columns(5).iter().map(|row| row[..1].to_vec()).collect::<Vec<_>>());
    assert!(harness.no_response(client));
    harness.advance_ms(1_001);
    harness.advance_ms(900);
    assert!(harness.no_response(client));
    harness.advance_ms(101);
    assert_eq!(rows(harness.response(client)), [[text("1")], [text("2")]]);
}

#[test]
fn do_and_insert_sleep() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(client, "DO SLEEP(2)");
    assert!(harness.no_response(client));
    harness.advance_ms(2_000);
    assert_eq!(affected(harness.response(client)), 0);
    harness.query(client, "INSERT INTO test.t VALUES (1, SLEEP(1)), (2, SLEEP(1))");
    harness.advance_ms(1_000);
    let write = write_in(harness.only_signal());
    assert!(write.commit.is_none(), "a row is still to come");
    harness.written(&write, vec![OperationResult::Inserted], None);
    assert!(harness.signals().is_empty());
    harness.advance_ms(1_000);
    let write = write_in(harness.only_signal());
    assert_eq!(write.operations.len(), 1);
}

#[test]
fn a_killed_sleep_gives_one_and_a_killed_query_an_error() {
    let mut harness = Harness::new();
    let (client, other) = (harness.connect(), harness.connect());
    let id = harness.client(client).connection_id();
    let kill = |harness: &mut Harness, what: &str| {
        assert_eq!(affected(harness.ask(other, &format!("KILL {what} {id}"))), 0);
    };
    harness.query(client, "SELECT SLEEP(1000), SLEEP(1000)");
    kill(&mut harness, "QUERY");
    assert_eq!(rows(harness.response(client)), [[text("1"), text("1")]]);
    harness.query(client, "SELECT 1 FROM test.t WHERE SLEEP(1000)");
    answer_read(&mut harness, &vec![Vec::new(); 2]);
    kill(&mut harness, "QUERY");
    assert_eq!(errno(harness.response(client)), 1317);
    harness.query(client, "DO SLEEP(1000)");
    kill(&mut harness, "QUERY");
    assert_eq!(errno(harness.response(client)), 1317);
    harness.ask(client, "SET max_execution_time = 500");
    harness.query(client, "SELECT SLEEP(1000)");
    harness.advance_ms(500);
    assert_eq!(rows(harness.response(client)), [[text("1")]]);
    harness.query(client, "SELECT 1 FROM test.t WHERE SLEEP(1000)");
    answer_read(&mut harness, &vec![Vec::new(); 2]);
    harness.advance_ms(500);
    assert_eq!(errno(harness.response(client)), 3024);
    harness.query(client, "SELECT SLEEP(1000)");
    kill(&mut harness, "CONNECTION");
    assert!(harness.is_closed(client));
}

#[test]
fn a_sleep_of_no_time_is_refused() {
    let mut harness = Harness::new();
    let client = harness.connect();
    for seconds in ["NULL", "-1"] {
        let Response::Error(error) = harness.ask(client, &format!("SELECT SLEEP({seconds})")) else {
            panic!("an error")
        };
        assert_eq!((error.errno, error.message.as_str()), (1210, "Incorrect arguments to sleep."));
    }
    harness.ask(client, "SET sql_mode = ''");
    assert_eq!(rows(harness.ask(client, "SELECT SLEEP(-1)")), [[text("0")]]);
    assert_eq!(texts(harness.ask(client, "SHOW WARNINGS"))[0][1], "1210");
    for refused in [
        "SELECT SUM(SLEEP(1)) FROM test.t",
        "SELECT 1 FROM test.t GROUP BY SLEEP(1)",
        "SHOW TABLES WHERE SLEEP(1)",
    ] {
        harness.ask(client, "USE test");
        assert_eq!(errno(harness.ask(client, refused)), 1235, "{refused}");
    }
    assert_eq!(harness.signals().iter().filter(|signal| matches!(signal, Signal::Read(_))).count(), 0);
}

#[test]
fn uuids_are_texts_of_version_one() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let shown = texts(harness.ask(
        client,
        "SELECT UUID(), UUID(), IS_UUID(UUID()), UUID_SHORT() DIV (1 << 56), LENGTH(UUID_TO_BIN(UUID()))",
    ));
    let row = &shown[0];
    assert_eq!((row[0].len(), &row[0][14..15]), (36, "1"));
    assert_ne!(row[0], row[1]);
    assert_eq!(row[2..], ["1", "4", "16"]);
    let short = |harness: &mut Harness| {
        texts(harness.ask(client, "SELECT UUID_SHORT()"))[0][0].parse::<u64>().unwrap()
    };
    let first = short(&mut harness);
    assert!(short(&mut harness) > first);
}
