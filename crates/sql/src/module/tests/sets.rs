//! Set operations and common table expressions: what they ask of slots, and where they end.

use super::harness::Harness;
use super::{errno, read_in, texts, write_in};
use mysql_protocol::client::Response;
use protocol::program::OperationResult;
use types::Value;

fn values(numbers: &[i64]) -> Vec<Vec<Value>> {
    numbers.iter().map(|number| vec![Value::Int(*number)]).collect()
}

fn shown(harness: &mut Harness, client: usize, text: &str) -> Vec<String> {
    texts(harness.ask(client, text)).into_iter().map(|row| row.join(",")).collect()
}

#[test]
fn rows_of_set_operations_are_counted() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let mut shown = |text: &str| shown(&mut harness, client, text);
    assert_eq!(shown("SELECT 1 UNION ALL SELECT 2 UNION SELECT 1"), ["1", "2"]);
    assert_eq!(shown("SELECT 1 UNION SELECT 1 UNION ALL SELECT 1"), ["1", "1"]);
    let three = "(SELECT 1 UNION ALL SELECT 1 UNION ALL SELECT 2)";
    assert_eq!(shown(&format!("{three} EXCEPT ALL SELECT 1")), ["1", "2"]);
    assert_eq!(shown(&format!("{three} EXCEPT SELECT 2")), ["1"]);
    assert_eq!(shown(&format!("{three} INTERSECT ALL (SELECT 1 UNION ALL SELECT 1)")), ["1", "1"]);
    assert_eq!(shown(&format!("{three} INTERSECT SELECT 1")), ["1"]);
    assert_eq!(shown("SELECT 1 UNION SELECT 2 INTERSECT SELECT 3"), ["1"]);
    assert_eq!(shown("SELECT NULL EXCEPT SELECT NULL"), Vec::<String>::new());
    assert_eq!(shown("SELECT 2 UNION SELECT 1.50 ORDER BY 1"), ["1.50", "2.00"]);
    assert_eq!(shown("SELECT 'b' AS a UNION SELECT 'a' ORDER BY a LIMIT 1"), ["a"]);
    assert_eq!(shown("(SELECT 1 UNION SELECT 2 ORDER BY 1 LIMIT 1) ORDER BY 1 DESC"), ["1"]);
    assert_eq!(shown("SELECT (SELECT 1 UNION SELECT 1)"), ["1"]);
    assert_eq!(shown("SELECT (SELECT 1 UNION SELECT 2 LIMIT 1)"), ["1"]);
    assert_eq!(errno(harness.ask(client, "SELECT (SELECT 1 UNION SELECT 2)")), 1242);
}

#[test]
fn branches_are_read_one_after_the_other_until_enough_rows_are_there() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(client, "SELECT v FROM test.t UNION SELECT v + 1 FROM test.t LIMIT 3");
    let first = read_in(harness.only_signal());
    harness.read_done(&first, &values(&[5, 5, 6]));
    let second = read_in(harness.only_signal());
    harness.read_done(&second, &values(&[6, 7, 8]));
    assert_eq!(texts(harness.response(client)), [["5"], ["6"], ["7"]]);
    harness.query(client, "SELECT v FROM test.t UNION ALL SELECT v FROM test.t LIMIT 1");
    let first = read_in(harness.only_signal());
    harness.read_done(&first, &values(&[5]));
    assert_eq!(texts(harness.response(client)), [["5"]]);
    assert!(harness.signals().is_empty());
}

#[test]
fn a_common_table_expression_is_read_once_for_all_its_readers() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(
        client,
        "WITH c AS (SELECT v FROM test.t) SELECT x.v FROM c x JOIN c y ON x.v = y.v WHERE x.v > (SELECT MIN(v) FROM c)",
    );
    let read = read_in(harness.only_signal());
    harness.read_done(&read, &values(&[1, 2, 3]));
    assert_eq!(texts(harness.response(client)), [["2"], ["3"]]);
    assert!(harness.signals().is_empty());
    let unread = "WITH c AS (SELECT v FROM test.t) SELECT 1";
    assert_eq!(shown(&mut harness, client, unread), ["1"]);
}

#[test]
fn an_expression_of_an_inner_query_is_read_for_each_outer_row() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(
        client,
        "SELECT v, (WITH c AS (SELECT t.v + 1 AS w) SELECT MAX(a.w + b.w) FROM c a, c b) FROM test.t",
    );
    let read = read_in(harness.only_signal());
    harness.read_done(&read, &values(&[1, 2]));
    assert_eq!(texts(harness.response(client)), [["1", "4"], ["2", "6"]]);
}

#[test]
fn a_recursion_ends_with_a_round_that_gives_nothing() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let mut shown = |text: &str| shown(&mut harness, client, text);
    let count = |end: u32| {
        format!(
            "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < {end}) SELECT COUNT(*), SUM(i) FROM n"
        )
    };
    assert_eq!(shown(&count(1_000)), ["1000,500500"]);
    let cycle =
        "WITH RECURSIVE n AS (SELECT 0 AS i UNION SELECT (i + 1) % 3 FROM n) SELECT i FROM n ORDER BY i";
    assert_eq!(shown(cycle), ["0", "1", "2"]);
    let two = "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i * 2 FROM n WHERE i < 4 UNION ALL SELECT i * 3 FROM n WHERE i < 3) SELECT i FROM n ORDER BY i";
    assert_eq!(shown(two), ["1", "2", "3", "4", "6", "6"]);
    let limited = "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n LIMIT 3) SELECT i FROM n";
    assert_eq!(shown(limited), ["1", "2", "3"]);
    let fibonacci = "WITH RECURSIVE f (a, b) AS (SELECT 0, 1 UNION ALL SELECT b, a + b FROM f WHERE b < 20) SELECT MAX(a) FROM f";
    assert_eq!(shown(fibonacci), ["13"]);
}

#[test]
fn a_recursion_without_an_end_is_ended() {
    let mut harness = Harness::new();
    let (client, other) = (harness.connect(), harness.connect());
    let endless = "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n) SELECT i FROM n LIMIT 2";
    let Response::Error(error) = harness.ask(client, endless) else { panic!("an error") };
    assert_eq!(error.errno, 3636);
    assert_eq!(
        error.message,
        "Recursive query aborted after 1001 iterations. Try increasing @@cte_max_recursion_depth to a larger value."
    );
    let longer =
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 1001) SELECT i FROM n";
    assert_eq!(errno(harness.ask(client, longer)), 3636);
    harness.ask(client, "SET cte_max_recursion_depth = 2");
    let rounds = |end: u32| {
        format!(
            "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < {end}) SELECT MAX(i) FROM n"
        )
    };
    assert_eq!(shown(&mut harness, client, &rounds(2)), ["2"]);
    assert_eq!(errno(harness.ask(client, &rounds(3))), 3636);
    harness.ask(client, "SET cte_max_recursion_depth = 4294967295");
    let growing = "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i FROM n) SELECT i FROM n";
    assert_eq!(errno(harness.ask(client, growing)), 1041);
    let reading =
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT t.v FROM n JOIN test.t t) SELECT i FROM n";
    harness.ask(client, "SET max_execution_time = 100");
    harness.query(client, reading);
    for _ in 0..3 {
        let read = read_in(harness.only_signal());
        harness.read_done(&read, &values(&[1]));
    }
    harness.advance_ms(100);
    assert_eq!(errno(harness.response(client)), 3024);
    harness.signals();
    harness.ask(client, "SET max_execution_time = 0");
    let id = harness.client(client).connection_id();
    harness.query(client, reading);
    harness.ask(other, &format!("KILL QUERY {id}"));
    assert_eq!(errno(harness.response(client)), 1317);
    assert_eq!(shown(&mut harness, client, "SELECT 1"), ["1"]);
}

#[test]
fn values_of_a_recursion_fit_the_columns_of_its_first_part() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let grown = "WITH RECURSIVE n AS (SELECT 1 AS i, 'abc' AS s UNION ALL SELECT i + 1, CONCAT(s, s) FROM n WHERE i < 3) SELECT s FROM n";
    assert_eq!(errno(harness.ask(client, grown)), 1406);
    harness.ask(client, "SET sql_mode = ''");
    assert_eq!(shown(&mut harness, client, grown), ["abc", "abc", "abc"]);
}

#[test]
fn rows_of_a_query_are_read_before_the_first_is_inserted() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(
        client,
        "INSERT INTO test.t (id, v) SELECT v + 10, v FROM test.t WHERE v < 3 UNION ALL SELECT 7, 7",
    );
    let read = read_in(harness.only_signal());
    harness.read_done(&read, &[vec![Value::Int(11), Value::Int(1)], vec![Value::Int(12), Value::Int(2)]]);
    let write = write_in(harness.only_signal());
    assert_eq!(write.operations.len(), 3);
    harness.written(&write, vec![OperationResult::Inserted; 3], None);
    let committed = harness.response(client);
    assert_eq!(super::affected(committed), 3);
    harness.query(client, "INSERT INTO test.t (id, v) SELECT 1, 2, 3");
    assert_eq!(errno(harness.response(client)), 1136);
}
