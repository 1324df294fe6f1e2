//! Statements that want too much: each is refused or stopped, and others get their turns.

use super::harness::Harness;
use super::{errno, texts};
use mysql_protocol::client::Response;

fn error_of(harness: &mut Harness, client: usize, text: &str) -> (u16, String) {
    match harness.ask(client, text) {
        Response::Error(error) => (error.errno, error.message),
        other => panic!("{text}: {other:?}"),
    }
}

/// A thousand numbers.
const NUMBERS: &str = "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 1000)";

/// Queries that would take hours.
const ENDLESS: &[&str] = &[
    "SELECT COUNT(*) FROM n a, n b, n c",
    "SELECT COUNT(*) FROM n a JOIN n b ON a.i % 1 = b.i % 1 JOIN n c ON c.i % 1 = b.i % 1",
    "SELECT a.i FROM n a LEFT JOIN (n b CROSS JOIN n c) ON a.i + b.i + c.i = 0",
    "SELECT a.i FROM n a, n b, n c ORDER BY c.i * b.i DESC LIMIT 1",
    "SELECT a.i % 7, COUNT(*) FROM n a, n b, n c GROUP BY 1",
    "SELECT a.i % 7, COUNT(*) FROM n a, n b, n c GROUP BY 1 WITH ROLLUP",
    "SELECT COUNT(DISTINCT a.i % 7) FROM n a, n b, n c",
    "SELECT DISTINCT a.i % 7 FROM n a, n b, n c",
    "SELECT SUM(a.i) OVER (PARTITION BY a.i ORDER BY b.i) FROM n a, n b WHERE EXISTS (SELECT 1 FROM n c WHERE c.i + a.i * b.i < 0)",
    "SELECT GROUP_CONCAT(a.i) FROM n a, n b, n c",
    "SELECT a.i FROM n a, n b, n c WHERE a.i + b.i + c.i < 0 UNION SELECT 1",
    "SELECT i FROM n INTERSECT SELECT a.i FROM n a, n b, n c",
    "SELECT i FROM n EXCEPT SELECT a.i FROM n a, n b, n c WHERE a.i + b.i + c.i < 0",
    "SELECT (SELECT COUNT(*) FROM n b, n c WHERE b.i <> a.i) FROM n a",
    "SELECT i FROM n WHERE i IN (SELECT b.i + c.i FROM n b, n c WHERE b.i < n.i - 1000)",
    "SELECT i, d.k FROM n, LATERAL (SELECT COUNT(*) AS k FROM n b, n c WHERE b.i > n.i) d",
    "SELECT @x := a.i FROM n a, n b, n c WHERE a.i + b.i + c.i < 0",
    "SELECT a.i INTO @x FROM n a, n b, n c WHERE a.i + b.i + c.i < 0",
    "SELECT 1 FROM n WHERE (SELECT MAX(REPEAT('x', a.i)) FROM n a, n b) = 'y'",
];

#[test]
fn endless_queries_end_in_time() {
    let mut harness = Harness::new();
    let (client, other) = (harness.connect(), harness.connect());
    harness.let_slices_take_ms(1);
    harness.ask(client, "SET max_execution_time = 100");
    for query in ENDLESS {
        let before = harness.slices();
        let (code, message) = error_of(&mut harness, client, &format!("{NUMBERS} {query}"));
        assert_eq!(code, 3024, "{query}: {message}");
        assert!(harness.slices() - before <= 101, "{query}");
        // Nothing of it is left, and others are served.
        assert_eq!(texts(harness.ask(other, "SELECT 1")), [["1"]], "{query}");
    }
    let recursion = "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT 1 FROM n) SELECT i FROM n";
    harness.ask(client, "SET cte_max_recursion_depth = 4294967295");
    assert_eq!(error_of(&mut harness, client, recursion).0, 3024);
}

#[test]
fn a_statement_has_only_so_many_tables() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let join = |count: usize| {
        let tables: Vec<String> = (0..count).map(|number| format!("(SELECT 1 AS a) AS t{number}")).collect();
        format!("SELECT COUNT(*) FROM {}", tables.join(", "))
    };
    assert_eq!(texts(harness.ask(client, &join(61))), [["1"]]);
    let (code, message) = error_of(&mut harness, client, &join(62));
    assert_eq!((code, message.as_str()), (1116, "Too many tables; MySQL can only use 61 tables in a join"));
    let stored: Vec<String> = (0..62).map(|number| format!("test.t AS t{number}")).collect();
    let joined = format!("SELECT 1 FROM {}", stored.join(" JOIN "));
    assert_eq!(errno(harness.ask(client, &joined)), 1116);
}

#[test]
fn deep_and_long_expressions_are_answered() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let chain = |count: usize, link: &str| {
        let links: Vec<String> = (0..count).map(|number| format!("1 = {number}")).collect();
        format!("SELECT {}", links.join(link))
    };
    assert_eq!(texts(harness.ask(client, &chain(1_000, " OR "))), [["1"]]);
    for (text, what) in [
        (chain(10_000, " OR "), "OR"),
        (chain(10_000, " AND "), "AND"),
        (format!("SELECT {}1{}", "(".repeat(10_000), ")".repeat(10_000)), "parentheses"),
        (format!("SELECT {}1", "- ".repeat(10_000)), "signs"),
        (format!("SELECT {}1", "NOT ".repeat(10_000)), "NOT"),
        (format!("SELECT {}1", "@a := ".repeat(10_000)), "assignments"),
        (format!("SELECT {}1{}", "ABS(".repeat(10_000), ")".repeat(10_000)), "calls"),
        (format!("SELECT 1{}", " + 1".repeat(100_000)), "sum"),
        (format!("SELECT {}1{}", "(SELECT ".repeat(300), ")".repeat(300)), "subqueries"),
        (
            format!("SELECT * FROM {}(SELECT 1) x0{}", "(SELECT * FROM ".repeat(99), ") x".repeat(99)),
            "queries in FROM",
        ),
        (format!("SELECT 1{}", " UNION SELECT 1".repeat(5_000)), "UNION"),
    ] {
        match harness.ask(client, &text) {
            Response::Error(error) => assert_eq!(error.errno, 1436, "{what}: {}", error.message),
            rows => assert_eq!(texts(rows), [["1"]], "{what}"),
        }
    }
}

#[test]
fn a_text_of_many_rows_is_cut_and_memory_is_bounded() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let all = format!("{NUMBERS} SELECT LENGTH(GROUP_CONCAT(i)) FROM n");
    assert_eq!(texts(harness.ask(client, &all)), [["1024"]]);
    let warnings = texts(harness.ask(client, "SHOW WARNINGS"));
    assert_eq!(warnings[0][1], "1260");
    assert!(warnings[0][2].ends_with("was cut by GROUP_CONCAT()"), "{}", warnings[0][2]);
    for query in [
        "SELECT a.i, b.i, c.i FROM n a, n b, n c ORDER BY a.i + b.i",
        "SELECT COUNT(*) FROM (SELECT DISTINCT a.i AS k, b.i AS l, REPEAT('x', 1000) AS s FROM n a, n b) d",
        "SELECT a.i, b.i, MAX(REPEAT('x', 1000)) FROM n a, n b GROUP BY 1, 2",
        "SELECT COUNT(*) FROM n x STRAIGHT_JOIN (SELECT a.i, REPEAT('x', 1000) AS s FROM n a, n b) y ON x.i = y.i",
        "SELECT SUM(a.i) OVER (), REPEAT('x', 1000) FROM n a, n b",
    ] {
        let (code, message) = error_of(&mut harness, client, &format!("{NUMBERS} {query}"));
        assert_eq!(code, 1041, "{query}: {message}");
        assert_eq!(texts(harness.ask(client, "SELECT 1")), [["1"]]);
    }
}
