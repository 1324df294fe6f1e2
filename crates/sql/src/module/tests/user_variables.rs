//! User variables that statements assign: `@v := value` and SELECT … INTO.

use super::harness::Harness;
use super::{affected, errno, read_in, texts};
use mysql_protocol::client::Response;
use protocol::Signal;
use protocol::program::{OperationResult, ReadOutput};
use protocol::signal::CommitOutcome;
use types::{Epoch, Value};

fn shown(harness: &mut Harness, client: usize, text: &str) -> Vec<String> {
    match harness.ask(client, text) {
        Response::Error(error) => panic!("{text}: {} {}", error.errno, error.message),
        rows => texts(rows).into_iter().map(|row| row.join(",").replace("Null", "NULL")).collect(),
    }
}

const ROWS: &str = "(VALUES ROW(3, 'c'), ROW(1, 'a'), ROW(2, 'a')) AS t (n, s)";

#[test]
fn an_assignment_is_made_for_each_row() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let mut shown = |text: &str| shown(&mut harness, client, text);
    assert_eq!(shown("SELECT @a := 41, @a + 1, @b := @a * 2, @b"), ["41,42,82,82"]);
    assert_eq!(shown("SELECT @a, @b"), ["41,82"]);
    let numbered = format!("SELECT @n := @n + 1 AS number, n FROM {ROWS}, (SELECT @n := 0) AS start");
    assert_eq!(shown(&numbered), ["1,3", "2,1", "3,2"]);
    assert_eq!(shown("SELECT @n"), ["3"]);
    // The rows are numbered in the order that is shown.
    assert_eq!(shown(&format!("{numbered} ORDER BY n")), ["1,1", "2,2", "3,3"]);
    assert_eq!(shown(&format!("{numbered} ORDER BY s DESC, n LIMIT 2")), ["1,3", "2,1"]);
    assert_eq!(shown("SELECT @n"), ["2"]);
    // A number that starts anew with each group.
    let ranked = format!(
        "SELECT s, @r := IF(@p = s, @r + 1, 1) AS r, @p := s FROM {ROWS}, (SELECT @r := 0, @p := '') AS x ORDER BY s, n"
    );
    assert_eq!(shown(&ranked), ["a,1,a", "a,2,a", "c,1,c"]);
    assert_eq!(shown(&format!("SELECT n FROM {ROWS} WHERE (@k := n) > 1 AND @k < 3")), ["2"]);
    assert_eq!(shown(&format!("SELECT COUNT(*) FROM {ROWS} GROUP BY @g := s")), ["1", "2"]);
    assert_eq!(shown(&format!("SELECT @c := COUNT(*), @c FROM {ROWS}")), ["3,3"]);
    assert_eq!(shown("SELECT 1 + @x := 2 * 3, @x"), ["7,6"]);
    assert_eq!(shown("SELECT @x := @y := 5, @x, @y"), ["5,5,5"]);
}

#[test]
fn a_read_has_the_type_that_all_assignments_have() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let mut shown = |text: &str| shown(&mut harness, client, text);
    let amounts = "(VALUES ROW(1.25), ROW(2.50)) AS t (a)";
    assert_eq!(shown(&format!("SELECT @s := @s + a FROM {amounts}, (SELECT @s := 0) i")), ["1.25", "3.75"]);
    // A variable that was never set is NULL.
    assert_eq!(shown(&format!("SELECT @u := IFNULL(@u, 0) + a FROM {amounts}")), ["1.25", "3.75"]);
    assert_eq!(shown("SELECT @w, @w := 'text', @w"), ["NULL,text,text"]);
    assert_eq!(shown("SELECT @d := DATE '2024-02-29', @d + INTERVAL 1 DAY"), ["2024-02-29,2024-03-01"]);
    assert_eq!(shown("SELECT @m := 1, @m, @m := 'x', @m"), ["1,1,x,x"]);
}

#[test]
fn an_assignment_warns_once_for_each_in_the_text() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.ask(client, &format!("SELECT @a := n, @b := s FROM {ROWS}"));
    let warnings = shown(&mut harness, client, "SHOW WARNINGS");
    assert_eq!(warnings.len(), 2);
    assert!(warnings[0].starts_with("Warning,1287,Setting user variables within expressions is deprecated"));
}

#[test]
fn a_value_that_was_assigned_stays_when_the_statement_fails() {
    let mut harness = Harness::new();
    let client = harness.connect();
    assert_eq!(errno(harness.ask(client, "SELECT @a := 7, (SELECT 1 UNION SELECT 2)")), 1242);
    assert_eq!(errno(harness.ask(client, "SELECT @a := 7, EXP(@a * 1000)")), 1690);
    assert_eq!(shown(&mut harness, client, "SELECT @a"), ["7"]);
    // A row that sleeps is evaluated again, and counts once.
    harness.query(client, "SELECT @n := IFNULL(@n, 0) + 1, SLEEP(1), @n := @n + 1");
    harness.advance_ms(1_000);
    assert_eq!(texts(harness.response(client)), [["1", "0", "2"]]);
    assert_eq!(errno(harness.ask(client, "SELECT @big := REPEAT('x', 2000000)")), 1041);
    for refused in ["SELECT 1 := 2", "SELECT @@a := 2", "SELECT a := 2"] {
        assert_eq!(errno(harness.ask(client, refused)), 1064, "{refused}");
    }
    assert_eq!(errno(harness.ask(client, "SELECT (SELECT @a := 1)")), 1235);
}

#[test]
fn other_statements_assign_too() {
    let mut harness = Harness::new();
    let client = harness.connect();
    assert_eq!(affected(harness.ask(client, "DO @a := 3, @b := @a + 1")), 0);
    assert_eq!(affected(harness.ask(client, "SET @c = (@d := 5) + @a")), 0);
    assert_eq!(shown(&mut harness, client, "SELECT @a, @b, @c, @d"), ["3,4,8,5"]);
    harness.query(client, "INSERT INTO test.t VALUES (@i := 1, 10), (@i := @i + 1, 20)");
    let write = super::write_in(harness.only_signal());
    assert_eq!(write.operations.len(), 2);
    harness.written(&write, vec![OperationResult::Inserted; 2], Some(Epoch(2)));
    assert_eq!(affected(harness.response(client)), 2);
    assert_eq!(shown(&mut harness, client, "SELECT @i"), ["2"]);
}

#[test]
fn an_update_counts_rows_in_its_order() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.ask(client, "SET @n = 0");
    harness.query(client, "UPDATE test.t SET v = (@n := @n + 1) ORDER BY v DESC");
    let read = read_in(harness.only_signal());
    assert!(matches!(&read.program.output, ReadOutput::Columns(columns) if columns.len() == 2));
    let rows: Vec<Vec<Value>> =
        [(1, 10), (2, 30), (3, 20)].map(|(id, v)| vec![Value::Int(id), Value::Int(v)]).to_vec();
    harness.read_done(&read, &rows);
    assert!(matches!(harness.only_signal(), Signal::Read(read) if read.lock.is_some()));
    assert!(harness.no_response(client));
}

#[test]
fn a_query_leaves_its_row_in_variables() {
    let mut harness = Harness::new();
    let client = harness.connect();
    assert_eq!(affected(harness.ask(client, "SELECT 1, 'b' INTO @a, @B")), 1);
    assert_eq!(shown(&mut harness, client, "SELECT @a, @b, ROW_COUNT()")[0], "1,b,1");
    let from = format!("SELECT n, s INTO @a, @b FROM {ROWS} WHERE n = 2");
    assert_eq!(affected(harness.ask(client, &from)), 1);
    assert_eq!(shown(&mut harness, client, "SELECT @a, @b"), ["2,a"]);
    let joined = format!(
        "SELECT SUM(t.n), MAX(u.s) FROM {ROWS} JOIN {} ON t.n = u.n INTO @a, @b",
        ROWS.replace("AS t", "AS u")
    );
    assert_eq!(affected(harness.ask(client, &joined)), 1);
    assert_eq!(shown(&mut harness, client, "SELECT @a, @b"), ["6,c"]);
    assert_eq!(
        affected(harness.ask(client, &format!("SELECT n FROM {ROWS} ORDER BY n LIMIT 1, 1 INTO @a"))),
        1
    );
    assert_eq!(shown(&mut harness, client, "SELECT @a"), ["2"]);
    // No row: a warning, and the variable stays.
    assert_eq!(affected(harness.ask(client, &format!("SELECT n INTO @a FROM {ROWS} WHERE n > 9"))), 0);
    assert_eq!(
        shown(&mut harness, client, "SHOW WARNINGS"),
        ["Warning,1329,No data - zero rows fetched, selected, or processed"]
    );
    assert_eq!(shown(&mut harness, client, "SELECT @a"), ["2"]);
    // Several rows: an error, and the first one's value.
    assert_eq!(errno(harness.ask(client, &format!("SELECT n INTO @a FROM {ROWS}"))), 1172);
    assert_eq!(shown(&mut harness, client, "SELECT @a"), ["3"]);
    assert_eq!(errno(harness.ask(client, "SELECT 1, 2 INTO @a")), 1222);
    assert_eq!(errno(harness.ask(client, "SELECT 1 INTO @a UNION SELECT 2")), 1064);
    assert_eq!(errno(harness.ask(client, "SELECT 1 INTO a")), 1327);
    assert_eq!(affected(harness.ask(client, "SELECT 1 UNION SELECT 1 INTO @a")), 1);
    assert_eq!(errno(harness.ask(client, "SELECT 1 INTO @a,")), 1064);
    assert_eq!(errno(harness.ask(client, "SELECT * FROM (SELECT 1 INTO @a) x")), 1064);
}

#[test]
fn prepared_statements_assign_and_use_variables() {
    let mut harness = Harness::new();
    let client = harness.connect();
    assert_eq!(affected(harness.ask(client, "PREPARE count FROM 'SELECT @n := IFNULL(@n, 0) + ?'")), 0);
    harness.ask(client, "SET @step = 5");
    assert_eq!(shown(&mut harness, client, "EXECUTE count USING @step"), ["5"]);
    assert_eq!(shown(&mut harness, client, "EXECUTE count USING @step"), ["10"]);
    assert_eq!(affected(harness.ask(client, "PREPARE into_a FROM 'SELECT ? + 1 INTO @a'")), 0);
    assert_eq!(affected(harness.ask(client, "EXECUTE into_a USING @n")), 1);
    assert_eq!(shown(&mut harness, client, "SELECT @a"), ["11"]);
    // Not even a row that is found by its key goes to the client.
    harness.ask(client, "PREPARE point FROM 'SELECT v INTO @v FROM test.t WHERE id = ?'");
    harness.query(client, "EXECUTE point USING @a");
    let read = read_in(harness.only_signal());
    harness.read_done(&read, &[vec![Value::Int(12)]]);
    assert_eq!(affected(harness.response(client)), 1);
    assert_eq!(shown(&mut harness, client, "SELECT @v"), ["12"]);
    assert_eq!(affected(harness.ask(client, "DEALLOCATE PREPARE count")), 0);
    assert_eq!(errno(harness.ask(client, "EXECUTE count USING @step")), 1243);
    assert_eq!(errno(harness.ask(client, "EXECUTE into_a")), 1210);
}

#[test]
fn set_and_do_take_values_of_subqueries() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.ask(client, "SET sql_mode = 'STRICT_TRANS_TABLES', sql_select_limit = 0");
    // Rust's sqlx and SeaORM send this when they connect.
    let connected = "SET sql_mode=(SELECT CONCAT(@@sql_mode, ',PIPES_AS_CONCAT,NO_ENGINE_SUBSTITUTION')),\
                     time_zone='+00:00',NAMES utf8mb4 COLLATE utf8mb4_unicode_ci;";
    assert_eq!(affected(harness.ask(client, connected)), 0);
    harness.ask(client, "SET sql_select_limit = DEFAULT, @d = (SELECT 1)");
    assert_eq!(
        shown(&mut harness, client, "SELECT @@sql_mode, 'a' || 'b', @@time_zone, @@collation_connection"),
        ["PIPES_AS_CONCAT,STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION,ab,+00:00,utf8mb4_unicode_ci"]
    );
    let several = "SET @a = (SELECT MAX(n) FROM (VALUES ROW(3), ROW(2)) t (n)) + 1, @b = 2 IN (SELECT 2), \
                   SESSION wait_timeout = DEFAULT, @c = (SELECT 1 FROM DUAL WHERE 1 = 0), @d = 'plain'";
    assert_eq!(affected(harness.ask(client, several)), 0);
    assert_eq!(shown(&mut harness, client, "SELECT @a, @b, @c, @d"), ["4,1,NULL,plain"]);
    assert_eq!(affected(harness.ask(client, "DO (SELECT 1), @a := 5, EXISTS (SELECT 1)")), 0);
    assert_eq!(affected(harness.ask(client, "PREPARE s FROM 'SET @b = (SELECT ? + 1)'")), 0);
    assert_eq!(affected(harness.ask(client, "EXECUTE s USING @a")), 0);
    assert_eq!(shown(&mut harness, client, "SELECT @a, @b"), ["5,6"]);
    // A failure sets nothing.
    for (statement, code) in [
        ("SET @a = 1, @b = (SELECT 1 UNION SELECT 2)", 1242),
        ("DO (SELECT 1 UNION SELECT 2)", 1242),
        ("SET @a = (SELECT 1, 2)", 1241),
        ("SET @a = (SELECT 1), no_such_variable = (SELECT 1)", 1193),
        ("SET @a = (SELECT 1), sql_mode = (SELECT 'gone')", 1231),
        ("SET @a = (SELECT v FROM test.gone)", 1146),
        ("SET GLOBAL wait_timeout = (SELECT 'seven')", 1232),
    ] {
        assert_eq!(errno(harness.ask(client, statement)), code, "{statement}");
    }
    assert_eq!(shown(&mut harness, client, "SELECT @a, @b"), ["5,6"]);
    let counted = shown(&mut harness, client, "SHOW STATUS LIKE 'Com\\_do'");
    assert_eq!(counted, ["Com_do,2"]);
}

#[test]
fn a_subquery_of_set_reads_tables() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let of_table = |harness: &mut Harness, statement: &str| {
        harness.query(client, statement);
        let read = read_in(harness.only_signal());
        harness.read_done(&read, &[vec![Value::Int(12)]]);
    };
    of_table(&mut harness, "SET @a = (SELECT v FROM test.t WHERE id = 1) + 1, @b = 2");
    assert_eq!(affected(harness.response(client)), 0);
    assert_eq!(shown(&mut harness, client, "SELECT @a, @b"), ["13,2"]);
    of_table(&mut harness, "DO (SELECT v FROM test.t WHERE id = 1)");
    assert_eq!(affected(harness.response(client)), 0);
    // A value for the whole cluster: the lock of the catalogue is asked for when it is known.
    of_table(&mut harness, "SET GLOBAL wait_timeout = (SELECT v FROM test.t WHERE id = 1)");
    assert!(matches!(harness.signals().as_slice(), [Signal::Read(read)] if read.lock.is_some()));
    assert!(harness.no_response(client));
}

#[test]
fn autocommit_that_a_subquery_switches_on_commits() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.ask(client, "SET autocommit = 0");
    harness.query(client, "INSERT INTO test.t VALUES (1, 10)");
    let write = super::write_in(harness.only_signal());
    harness.written_in(&write, vec![OperationResult::Inserted], 1);
    assert_eq!(affected(harness.response(client)), 1);
    harness.query(client, "SET autocommit = (SELECT 1), @a = 3");
    let Signal::CommitOne(commit) = harness.only_signal() else { panic!("it commits") };
    assert!(harness.no_response(client));
    harness.committed(commit.request, CommitOutcome::Committed(Epoch(2)));
    assert_eq!(affected(harness.response(client)), 0);
    assert_eq!(shown(&mut harness, client, "SELECT @@autocommit, @a"), ["1,3"]);
}
