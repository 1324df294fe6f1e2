//! Row values, VALUES, LATERAL and ROLLUP.

use super::harness::Harness;
use super::{errno, read_in, texts};
use mysql_protocol::client::Response;
use types::Value;

fn shown(harness: &mut Harness, client: usize, text: &str) -> Vec<String> {
    match harness.ask(client, text) {
        Response::Error(error) => panic!("{text}: {} {}", error.errno, error.message),
        rows => texts(rows).into_iter().map(|row| row.join(",").replace("Null", "NULL")).collect(),
    }
}

#[test]
fn rows_are_compared_from_the_left() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let mut truth = |text: &str| shown(&mut harness, client, &format!("SELECT {text}"));
    for (text, expected) in [
        ("(1, 2) < (1, 3)", "1"),
        ("(2, 1) < (1, 3)", "0"),
        ("(1, 2) <= (1, 2)", "1"),
        ("(1, 2) > (1, 2)", "0"),
        ("(1, NULL) < (2, 1)", "1"),
        ("(1, NULL) < (1, 1)", "NULL"),
        ("(NULL, 1) < (2, 1)", "NULL"),
        ("(1, 2, 3) >= (1, 2, 4)", "0"),
        ("ROW(1, 'a') <=> ROW(1, 'A')", "1"),
        ("(1, 2) = (SELECT 1, 2)", "1"),
        ("(1, 3) > (SELECT 1, 2)", "1"),
        ("(SELECT 1, 2) > (1, 1)", "1"),
        ("(1, NULL) = (SELECT 1, 2)", "NULL"),
        ("(1, 2) = (SELECT 1, 2 FROM (SELECT 1 AS x) d WHERE x > 1)", "NULL"),
        ("(1, 2) IN (SELECT 2, 2 UNION SELECT 1, 2)", "1"),
        ("(1, 2) IN (SELECT 2, NULL UNION SELECT 3, 2)", "0"),
        ("(1, 2) IN (SELECT 1, NULL UNION SELECT 3, 2)", "NULL"),
        ("(1, 2) NOT IN (SELECT NULL, 3)", "1"),
        ("(1, 2) <> ALL (SELECT 1, 3)", "1"),
    ] {
        assert_eq!(truth(text), [expected], "{text}");
    }
    assert_eq!(errno(harness.ask(client, "SELECT (1, 2) = (SELECT 1, 2 UNION SELECT 3, 4)")), 1242);
    assert_eq!(errno(harness.ask(client, "SELECT (1, 2) < (1, 2, 3)")), 1241);
}

#[test]
fn values_are_rows_in_the_types_of_all() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let mut shown = |text: &str| shown(&mut harness, client, text);
    assert_eq!(shown("VALUES ROW(1, 'a'), ROW(2.50, NULL)"), ["1.00,a", "2.50,NULL"]);
    assert_eq!(shown("VALUES ROW(2), ROW(1), ROW(3) ORDER BY column_0 DESC LIMIT 2"), ["3", "2"]);
    assert_eq!(shown("SELECT SUM(v.a * v.b) FROM (VALUES ROW(1, 2), ROW(3, 4)) AS v (a, b)"), ["14"]);
    assert_eq!(shown("SELECT 1 UNION VALUES ROW(1), ROW(2)"), ["1", "2"]);
    assert_eq!(shown("WITH c (n) AS (VALUES ROW(7), ROW(8)) TABLE c"), ["7", "8"]);
    assert_eq!(
        shown(
            "WITH RECURSIVE c (n) AS (VALUES ROW(1) UNION ALL SELECT n + 1 FROM c WHERE n < 3) TABLE c LIMIT 2"
        ),
        ["1", "2"]
    );
    let many: Vec<String> = (0..3_000).map(|number| format!("ROW({number})")).collect();
    assert_eq!(
        shown(&format!("SELECT COUNT(*), MAX(column_0) FROM (VALUES {}) v", many.join(","))),
        ["3000,2999"]
    );
}

#[test]
fn a_lateral_query_runs_for_each_row_before_it() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let mut shown = |text: &str| shown(&mut harness, client, text);
    let numbers = "(SELECT 1 AS n UNION ALL SELECT 2 UNION ALL SELECT 3) t";
    assert_eq!(
        shown(&format!("SELECT n, d.s FROM {numbers}, LATERAL (SELECT n * n AS s) d")),
        ["1,1", "2,4", "3,9"]
    );
    assert_eq!(
        shown(&format!(
            "SELECT n, d.m FROM {numbers} LEFT JOIN LATERAL (SELECT v.column_0 AS m FROM (VALUES ROW(1), ROW(2)) v WHERE v.column_0 > n \
             ORDER BY 1 LIMIT 1) d ON TRUE"
        )),
        ["1,2", "2,NULL", "3,NULL"]
    );
    assert_eq!(
        shown(&format!(
            "SELECT t.n, e.y FROM {numbers} JOIN LATERAL (SELECT n + 1 AS x) d ON d.x <> 3 JOIN LATERAL (SELECT d.x * t.n AS y) e ON e.y > 2"
        )),
        ["3,12"]
    );
    assert_eq!(
        shown(&format!(
            "SELECT (SELECT SUM(d.s) FROM (SELECT 5 AS k) o, LATERAL (SELECT k + t.n AS s) d) FROM {numbers}"
        )),
        ["6", "7", "8"]
    );
    harness.query(
        client,
        "SELECT t.id, d.w FROM test.t t, LATERAL (SELECT v * 2 AS w FROM test.t u WHERE u.id = t.v) d",
    );
    let left = read_in(harness.only_signal());
    harness.read_done(&left, &[vec![Value::Int(1), Value::Int(7)], vec![Value::Int(2), Value::Int(8)]]);
    // The second one does not wait for the first.
    let inner: Vec<_> = harness.signals().into_iter().map(read_in).collect();
    assert_eq!(inner.len(), 2);
    harness.read_done(&inner[0], &[vec![Value::Int(70)]]);
    harness.read_done(&inner[1], &[]);
    assert_eq!(texts(harness.response(client)), [["1", "70"]]);
}

#[test]
fn subqueries_in_on_decide_which_rows_meet() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let a =
        "(SELECT 1 AS id, 10 AS x UNION ALL SELECT 2, 20 UNION ALL SELECT 3, NULL UNION ALL SELECT 4, 10)";
    let b = "(SELECT 1 AS id, 1 AS a, 5 AS v UNION ALL SELECT 2, 1, 7 UNION ALL SELECT 3, 2, 7 UNION ALL SELECT 4, NULL, 9 \
             UNION ALL SELECT 5, 4, NULL)";
    let c = "(SELECT 1 AS id, 1 AS b UNION ALL SELECT 2, 3 UNION ALL SELECT 3, 3 UNION ALL SELECT 4, NULL UNION ALL SELECT 5, 5)";
    let (b_of_a, c_of_b) = (format!("{b} i WHERE i.a = a.id"), format!("{c} i WHERE i.b = b.id"));
    let latest = format!("b.id = (SELECT MAX(i.id) FROM {b_of_a})");
    for (join, on, expected) in [
        ("LEFT JOIN", latest.clone(), "1,2 2,3 3,NULL 4,5"),
        ("JOIN", latest, "1,2 2,3 4,5"),
        ("JOIN", format!("b.id = (SELECT i.id FROM {b_of_a} ORDER BY i.v LIMIT 1)"), "1,1 2,3 4,5"),
        (
            "LEFT JOIN",
            format!("b.id = (SELECT i.id FROM {b_of_a} ORDER BY i.v LIMIT 1)"),
            "1,1 2,3 3,NULL 4,5",
        ),
        ("LEFT JOIN", format!("b.a = a.id AND EXISTS (SELECT 1 FROM {c_of_b})"), "1,1 2,3 3,NULL 4,5"),
        (
            "LEFT JOIN",
            format!("b.a = a.id AND NOT EXISTS (SELECT 1 FROM {c_of_b})"),
            "1,2 2,NULL 3,NULL 4,NULL",
        ),
        (
            "RIGHT JOIN",
            format!("b.a = a.id AND EXISTS (SELECT 1 FROM {c_of_b})"),
            "1,1 NULL,2 2,3 NULL,4 4,5",
        ),
        (
            "LEFT JOIN",
            format!("b.a = a.id AND EXISTS (SELECT 1 FROM {c_of_b} AND i.id > a.id)"),
            "1,NULL 2,3 3,NULL 4,5",
        ),
        (
            "LEFT JOIN",
            format!("b.a = a.id AND b.id NOT IN (SELECT i.b FROM {c} i)"),
            "1,NULL 2,NULL 3,NULL 4,NULL",
        ),
        (
            "LEFT JOIN",
            format!("b.a = a.id AND b.v >= ALL (SELECT i.v FROM {b_of_a})"),
            "1,2 2,3 3,NULL 4,NULL",
        ),
        (
            "LEFT JOIN",
            format!("b.v = ANY (SELECT i.v FROM {b_of_a} AND i.id < 2)"),
            "1,1 2,NULL 3,NULL 4,NULL",
        ),
        ("LEFT JOIN", format!("a.id IN (SELECT i.b FROM {c} i) AND b.id = a.id"), "1,1 2,NULL 3,3 4,NULL"),
        (
            "LEFT JOIN",
            format!("(a.id, b.v) IN (SELECT i.a, MAX(i.v) FROM {b} i GROUP BY i.a)"),
            "1,2 1,3 2,2 2,3 3,NULL 4,NULL",
        ),
        (
            "LEFT JOIN",
            format!("b.a = a.id AND (SELECT COUNT(*) FROM {c} i) > 5"),
            "1,NULL 2,NULL 3,NULL 4,NULL",
        ),
        (
            "LEFT JOIN",
            format!("CASE WHEN a.id = 3 THEN EXISTS (SELECT 1 FROM {c_of_b}) ELSE b.a = a.id END"),
            "1,1 1,2 2,3 3,1 3,3 3,5 4,5",
        ),
    ] {
        let found = shown(
            &mut harness,
            client,
            &format!("SELECT a.id, b.id FROM {a} a {join} {b} b ON {on} ORDER BY COALESCE(b.id, a.id), a.id"),
        );
        let mut found: Vec<String> = found.into_iter().collect();
        let mut expected: Vec<String> = expected.split(' ').map(str::to_owned).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{join} {on}");
    }
    let nested = format!(
        "SELECT a.id, b.id, c.id FROM {a} a LEFT JOIN ({b} b JOIN {c} c ON c.id = (SELECT MAX(i.id) FROM {c_of_b})) ON b.a = a.id ORDER BY 1"
    );
    assert_eq!(shown(&mut harness, client, &nested), ["1,1,1", "2,3,3", "3,NULL,NULL", "4,5,5"]);
    let two = format!("SELECT a.id FROM {a} a LEFT JOIN {b} b ON b.id = (SELECT id FROM {c} i)");
    assert_eq!(errno(harness.ask(client, &two)), 1242);
}

#[test]
fn rollup_adds_a_row_for_each_beginning() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let mut shown = |text: &str| shown(&mut harness, client, text);
    let sales = "(SELECT 'b' AS shop, 2 AS day, 10 AS sold UNION ALL SELECT 'a', 1, 1 UNION ALL SELECT 'a', 2, 2 UNION ALL SELECT 'a', 2, 3 \
                 UNION ALL SELECT NULL, 1, 4) s";
    assert_eq!(
        shown(&format!(
            "SELECT shop, day, SUM(sold), COUNT(DISTINCT sold), GROUPING(shop, day) FROM {sales} GROUP BY shop, day WITH ROLLUP"
        )),
        [
            "NULL,1,4,1,0",
            "NULL,NULL,4,1,1",
            "a,1,1,1,0",
            "a,2,5,2,0",
            "a,NULL,6,3,1",
            "b,2,10,1,0",
            "b,NULL,10,1,1",
            "NULL,NULL,20,5,3"
        ]
    );
    assert_eq!(
        shown(&format!(
            "SELECT IF(GROUPING(shop), 'all', shop), AVG(sold) FROM {sales} WHERE shop IS NOT NULL GROUP BY shop WITH ROLLUP HAVING SUM(sold) > 6 \
             ORDER BY SUM(sold) DESC"
        )),
        ["all,4.0000", "b,10.0000"]
    );
    assert_eq!(
        shown(&format!(
            "SELECT day, RANK() OVER (PARTITION BY GROUPING(day) ORDER BY SUM(sold)) AS r FROM {sales} GROUP BY day WITH ROLLUP ORDER BY GROUPING(day), day"
        )),
        ["1,1", "2,2", "NULL,1"]
    );
    assert_eq!(
        shown(&format!("SELECT shop, COUNT(*) FROM {sales} WHERE sold > 99 GROUP BY shop WITH ROLLUP")),
        ["NULL,0"]
    );
    assert_eq!(
        shown(&format!("SELECT day, (SELECT s.day + 0) FROM {sales} GROUP BY day WITH ROLLUP")),
        ["1,1", "2,2", "NULL,NULL"]
    );
}
