//! EXPLAIN ANALYZE.

use super::harness::Harness;
use super::{errno, texts};

/// The lines of the tree without their times.
fn steps(harness: &mut Harness, client: usize, text: &str) -> Vec<String> {
    let shown = texts(harness.ask(client, &format!("EXPLAIN ANALYZE {text}")));
    let [row] = &shown[..] else { panic!("one row: {shown:?}") };
    let without_times = |line: &str| match line.split_once("actual time=") {
        Some((step, measure)) => {
            let (times, counts) = measure.split_once(' ').expect("times, then counts");
            assert!(times.split("..").all(|time| time.parse::<f64>().is_ok()), "{times}");
            format!("{step}{counts}")
        }
        None => line.to_owned(),
    };
    row[0].lines().map(without_times).collect()
}

const ROWS: &str = "(VALUES ROW(1, 'a'), ROW(2, 'b'), ROW(3, 'b')) AS t (n, s)";

#[test]
fn a_query_that_ran_says_what_its_steps_did() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let joined = format!(
        "SELECT t.s, COUNT(*) FROM {ROWS} JOIN {} ON t.n < u.n GROUP BY t.s ORDER BY 1 DESC LIMIT 1",
        ROWS.replace("AS t", "AS u")
    );
    assert_eq!(
        steps(&mut harness, client, &joined),
        [
            "-> Limit: 1 row(s)",
            "    -> Sort: t.s DESC (rows=1 loops=1)",
            "        -> Group by t.s: count(*) (rows=2 loops=1)",
            "            -> inner nested loop join on (t.n < u.n) (rows=3 loops=1)",
            "                -> Derived table t (rows=3 loops=1)",
            "                    -> Rows of queries (rows=3 loops=1)",
            "                        -> Rows fetched before execution (rows=3 loops=1)",
            "                -> Derived table u (rows=3 loops=1)",
            "                    -> Rows of queries (rows=3 loops=1)",
            "                        -> Rows fetched before execution (rows=3 loops=1)",
        ]
    );
    let dependent =
        format!("SELECT n, (SELECT COUNT(*) FROM (VALUES ROW(1), ROW(2)) AS v (x) WHERE x < n) FROM {ROWS}");
    let lines = steps(&mut harness, client, &dependent);
    assert!(lines.iter().any(|line| line.ends_with("(rows=2 loops=3)")), "{lines:#?}");
    // Steps that are not reached are shown, too.
    let empty = format!("SELECT 1 FROM {ROWS} JOIN (SELECT 1 AS x) d WHERE n > 5");
    let lines = steps(&mut harness, client, &empty);
    assert!(lines.iter().any(|line| line.ends_with("(never executed)")), "{lines:#?}");
    // It fails as the SELECT does.
    assert_eq!(errno(harness.ask(client, "EXPLAIN ANALYZE SELECT (SELECT 1 UNION SELECT 2)")), 1242);
    assert_eq!(errno(harness.ask(client, "EXPLAIN ANALYZE DELETE FROM test.t")), 1235);
}

#[test]
fn a_subquery_remembers_its_answers_by_the_values_that_it_reads() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let rows = "(VALUES ROW(3, 'a'), ROW(1, 'A'), ROW(3, 'a'), ROW(1, 'a'), ROW(NULL, 'b'), ROW(1, 'A'), ROW(NULL, 'b')) \
        AS t (n, s)";
    let below =
        format!("SELECT n, (SELECT COUNT(*) FROM (VALUES ROW(1), ROW(2)) AS v (x) WHERE x < n) FROM {rows}");
    let lines = steps(&mut harness, client, &below);
    assert!(lines.iter().any(|line| line.ends_with("(rows=1 loops=3 remembered=4)")), "{lines:#?}");
    let counts = texts(harness.ask(client, &below)).into_iter().map(|row| row[1].clone()).collect::<Vec<_>>();
    assert_eq!(counts, ["2", "0", "2", "0", "0", "0", "0"]);
    // Texts that are equal are different values.
    let same = format!(
        "SELECT (SELECT MAX(CONCAT(s, x)) FROM (VALUES ROW(1), ROW(2)) AS v (x) WHERE x < 9) FROM {rows}"
    );
    let found = texts(harness.ask(client, &same)).into_iter().map(|row| row[0].clone()).collect::<Vec<_>>();
    assert_eq!(found, ["a2", "A2", "a2", "a2", "b2", "A2", "b2"]);
    // Its rows and their NULLs are compared with each row anew.
    let any = format!(
        "SELECT n IN (SELECT IF(x = 2, NULL, x) FROM (VALUES ROW(1), ROW(2)) AS v (x) WHERE s = 'a' OR x = 1) FROM {rows}"
    );
    let found = texts(harness.ask(client, &any)).into_iter().map(|row| row[0].clone()).collect::<Vec<_>>();
    assert_eq!(found, ["Null", "1", "Null", "1", "Null", "1", "Null"]);
    // As it fails for the first of equal values, it fails for all.
    let two = format!(
        "SELECT (SELECT x FROM (VALUES ROW(1), ROW(2)) AS v (x) WHERE x < n) FROM {rows} WHERE n = 3"
    );
    assert_eq!(errno(harness.ask(client, &two)), 1242);
}
