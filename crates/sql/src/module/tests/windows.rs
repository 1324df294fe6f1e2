//! Window functions: their values, the frames that these are made of, and where they end.

use super::harness::Harness;
use super::{errno, read_in, texts};
use mysql_protocol::client::Response;
use stdx::Prng;
use types::Value;

/// Shops with their sales by day; some days have two.
const SALES: &str = "(SELECT 'a' AS shop, 1 AS day, 10 AS sold UNION ALL SELECT 'a', 2, 20 UNION ALL SELECT 'a', 2, 5 \
                     UNION ALL SELECT 'a', 4, NULL UNION ALL SELECT 'b', 1, 7 UNION ALL SELECT 'b', 3, 8) s";

fn shown(harness: &mut Harness, client: usize, text: &str) -> Vec<String> {
    match harness.ask(client, text) {
        Response::Error(error) => panic!("{text}: {} {}", error.errno, error.message),
        rows => texts(rows).into_iter().map(|row| row.join(",").replace("Null", "NULL")).collect(),
    }
}

#[test]
fn ranks_count_within_partitions() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let mut shown = |text: &str| shown(&mut harness, client, text);
    let all = "ROW_NUMBER() OVER w, RANK() OVER w, DENSE_RANK() OVER w, PERCENT_RANK() OVER w, CUME_DIST() OVER w, NTILE(2) OVER w";
    assert_eq!(
        shown(&format!("SELECT shop, day, {all} FROM {SALES} WINDOW w AS (PARTITION BY shop ORDER BY day)")),
        [
            "a,1,1,1,1,0,0.25,1",
            "a,2,2,2,2,0.3333333333333333,0.75,1",
            "a,2,3,2,2,0.3333333333333333,0.75,2",
            "a,4,4,4,3,1,1,2",
            "b,1,1,1,1,0,0.5,1",
            "b,3,2,2,2,1,1,2",
        ]
    );
    assert_eq!(shown("SELECT ROW_NUMBER() OVER (), RANK() OVER (), PERCENT_RANK() OVER ()"), ["1,1,0"]);
    assert_eq!(
        shown(&format!("SELECT RANK() OVER (ORDER BY day DESC) AS r FROM {SALES} ORDER BY r LIMIT 3")),
        ["1", "2", "3"]
    );
    assert_eq!(shown(&format!("SELECT DISTINCT COUNT(*) OVER (PARTITION BY shop) FROM {SALES}")), ["4", "2"]);
}

#[test]
fn other_rows_of_the_partition_are_read() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let mut shown = |text: &str| shown(&mut harness, client, text);
    let calls = "LAG(sold) OVER w, LEAD(sold, 2, -1) OVER w, FIRST_VALUE(sold) OVER w, LAST_VALUE(sold) OVER w, NTH_VALUE(sold, 2) OVER w";
    assert_eq!(
        shown(&format!(
            "SELECT {calls} FROM {SALES} WINDOW w AS (PARTITION BY shop ORDER BY day, sold DESC)"
        )),
        [
            "NULL,5,10,10,NULL",
            "10,NULL,10,20,20",
            "20,-1,10,5,20",
            "5,-1,10,NULL,20",
            "NULL,-1,7,7,NULL",
            "7,-1,7,8,8"
        ]
    );
    assert_eq!(
        shown(&format!(
            "SELECT LAG(day, 0) OVER (ORDER BY day), LAG('x', 9, shop) OVER (ORDER BY day) FROM {SALES} WHERE shop = 'b'"
        )),
        ["1,b", "3,b"]
    );
}

#[test]
fn frames_are_counted_in_rows_and_in_values() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let mut framed = |frame: &str| {
        let text = format!(
            "SELECT COUNT(*) OVER w, SUM(sold) OVER w FROM {SALES} WHERE shop = 'a' WINDOW w AS (ORDER BY day, sold DESC {frame})"
        );
        shown(&mut harness, client, &text)
    };
    assert_eq!(framed(""), ["1,10", "2,30", "3,35", "4,35"]);
    assert_eq!(framed("ROWS 1 PRECEDING"), ["1,10", "2,30", "2,25", "2,5"]);
    assert_eq!(framed("ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"), ["4,35", "3,25", "2,5", "1,NULL"]);
    assert_eq!(framed("ROWS BETWEEN 3 FOLLOWING AND 4 FOLLOWING"), ["1,NULL", "0,NULL", "0,NULL", "0,NULL"]);
    assert_eq!(framed("ROWS BETWEEN 9 PRECEDING AND 2 PRECEDING"), ["0,NULL", "0,NULL", "1,10", "2,30"]);
    let mut ranged = |order: &str, frame: &str| {
        let text = format!(
            "SELECT day, COUNT(*) OVER w, SUM(sold) OVER w FROM {SALES} WHERE shop = 'a' WINDOW w AS (ORDER BY {order} RANGE {frame})"
        );
        shown(&mut harness, client, &text)
    };
    assert_eq!(ranged("day", "CURRENT ROW"), ["1,1,10", "2,2,25", "2,2,25", "4,1,NULL"]);
    assert_eq!(ranged("day", "1 PRECEDING"), ["1,1,10", "2,3,35", "2,3,35", "4,1,NULL"]);
    assert_eq!(
        ranged("day DESC", "BETWEEN 2 PRECEDING AND 1 PRECEDING"),
        ["4,0,NULL", "2,1,NULL", "2,1,NULL", "1,2,25"]
    );
    assert_eq!(
        ranged(
            "DATE '2024-01-30' + INTERVAL day DAY",
            "BETWEEN INTERVAL 1 DAY FOLLOWING AND INTERVAL 2 DAY FOLLOWING"
        ),
        ["1,2,25", "2,1,NULL", "2,1,NULL", "4,0,NULL"]
    );
    assert_eq!(ranged("CAST(day AS UNSIGNED)", "5 PRECEDING"), ["1,1,10", "2,3,35", "2,3,35", "4,4,35"]);
    // NULLs are peers, and at no distance from numbers.
    let nulls = "COUNT(*) OVER (ORDER BY sold RANGE BETWEEN 5 PRECEDING AND 5 FOLLOWING)";
    assert_eq!(
        shown(&mut harness, client, &format!("SELECT sold, {nulls} FROM {SALES} ORDER BY 1")),
        ["NULL,1", "5,4", "7,4", "8,4", "10,4", "20,1"]
    );
}

#[test]
fn windows_are_over_groups_and_within_other_queries() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let mut shown = |text: &str| shown(&mut harness, client, text);
    assert_eq!(
        shown(&format!(
            "SELECT shop, SUM(sold), SUM(SUM(sold)) OVER (ORDER BY shop), RANK() OVER (ORDER BY SUM(sold)) FROM {SALES} GROUP BY shop \
             HAVING COUNT(*) > 1 ORDER BY RANK() OVER (ORDER BY SUM(sold) DESC) DESC"
        )),
        ["b,15,50,1", "a,35,35,2"]
    );
    assert_eq!(shown(&format!("SELECT SUM(sold), COUNT(*) OVER () FROM {SALES}")), ["50,1"]);
    assert_eq!(
        shown(&format!(
            "WITH r AS (SELECT shop, day, ROW_NUMBER() OVER (PARTITION BY shop ORDER BY day DESC) AS n FROM {SALES}) SELECT shop, day FROM r WHERE n = 1"
        )),
        ["a,4", "b,3"]
    );
    assert_eq!(
        shown(
            "SELECT x, SUM(x) OVER (ORDER BY x) + (SELECT MAX(2)) FROM (SELECT 1 AS x UNION SELECT 2) d ORDER BY x DESC"
        ),
        ["2,5", "1,3"]
    );
    assert_eq!(
        shown(
            "SELECT a.x, COUNT(*) OVER (PARTITION BY a.x) FROM (SELECT 1 AS x UNION SELECT 2) a JOIN (SELECT 1 AS x UNION ALL SELECT 1) b ON b.x = a.x"
        ),
        ["1,2", "1,2"]
    );
    assert_eq!(
        shown(
            "SELECT (SELECT SUM(y + x) OVER () FROM (SELECT 5 AS y) i) FROM (SELECT 1 AS x UNION SELECT 2) o"
        ),
        ["6", "7"]
    );
}

#[test]
fn a_slot_gives_what_windows_read() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(client, "SELECT v * 2, SUM(v) OVER (ORDER BY id) FROM test.t WHERE v > 0");
    let read = read_in(harness.only_signal());
    assert!(read.program.filter.is_some());
    harness.read_done(&read, &[vec![Value::Int(2), Value::Int(5)], vec![Value::Int(1), Value::Int(7)]]);
    assert_eq!(texts(harness.response(client)), [["14", "7"], ["10", "12"]]);
}

/// The values of a frame by definition.
fn expected(values: &[i64], from: i64, to: i64) -> Vec<String> {
    let last = i64::try_from(values.len()).expect("few values") - 1;
    let framed = |row: i64| {
        let (start, end) = ((row + from).max(0), (row + to).min(last));
        (start..=end).map(|row| values[usize::try_from(row).expect("it is a row")]).collect::<Vec<i64>>()
    };
    let shown = |number: Option<i64>| number.map_or_else(|| "NULL".to_owned(), |number| number.to_string());
    (0..=last)
        .map(|row| {
            let frame = framed(row);
            let sum = (!frame.is_empty()).then(|| frame.iter().sum());
            let (least, most) = (frame.iter().copied().min(), frame.iter().copied().max());
            let xor: i64 = frame.iter().fold(0, |xor, value| xor ^ value);
            format!("{},{},{},{},{xor}", frame.len(), shown(sum), shown(least), shown(most))
        })
        .collect()
}

#[test]
fn sliding_frames_go_on_slice_by_slice() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let mut prng = Prng::new(7);
    for (from, to) in [(-3, 2), (-700, -2), (0, 900), (5, 40), (-1, 0), (-2_000, 2_000)] {
        let values: Vec<i64> = (0..1_500).map(|_| i64::try_from(prng.below(1_000)).expect("small")).collect();
        let bound = |number: i64| {
            let way = if number < 0 { "PRECEDING" } else { "FOLLOWING" };
            format!("{} {way}", number.abs())
        };
        harness.query(
            client,
            &format!(
                "SELECT COUNT(*) OVER w, SUM(v) OVER w, MIN(v) OVER w, MAX(v) OVER w, BIT_XOR(v) OVER w FROM test.t \
                 WINDOW w AS (ORDER BY id ROWS BETWEEN {} AND {})",
                bound(from),
                bound(to)
            ),
        );
        let read = read_in(harness.only_signal());
        let columns = read.program.output.clone();
        let is_id_first = format!("{columns:?}").contains("ColumnIndex(0), ColumnIndex(1)");
        let rows: Vec<Vec<Value>> = (0..)
            .zip(&values)
            .map(|(id, v)| {
                let (id, v) = (Value::Int(id), Value::Int(*v));
                if is_id_first { vec![id, v] } else { vec![v, id] }
            })
            .collect();
        harness.read_done(&read, &rows);
        let found =
            texts(harness.response(client)).into_iter().map(|row| row.join(",").replace("Null", "NULL"));
        let found: Vec<String> = found.collect();
        let expected = expected(&values, from, to);
        assert_eq!(found.len(), expected.len());
        let different = found.iter().zip(&expected).position(|(found, expected)| found != expected);
        assert_eq!(different.map(|row| (&found[row], &expected[row])), None, "{from} {to}");
    }
}

#[test]
fn rows_of_windows_are_charged_and_their_statements_can_be_killed() {
    let mut harness = Harness::new();
    let (client, other) = (harness.connect(), harness.connect());
    harness.ask(client, "SET cte_max_recursion_depth = 4294967295");
    let numbers = |end: u32| {
        format!("WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < {end})")
    };
    let large = format!(
        "{} SELECT MAX(c) FROM (SELECT COUNT(*) OVER (ORDER BY a.i % 7, b.i) AS c FROM n a JOIN n b JOIN n c) d",
        numbers(10_000)
    );
    assert_eq!(errno(harness.ask(client, &large)), 1041);
    let id = harness.client(client).connection_id();
    harness.query(client, "SELECT SUM(v) OVER (ORDER BY id) FROM test.t");
    let read = read_in(harness.only_signal());
    harness.ask(other, &format!("KILL QUERY {id}"));
    harness.read_done(&read, &[vec![Value::Int(1), Value::Int(1)]]);
    assert_eq!(errno(harness.response(client)), 1317);
    assert_eq!(shown(&mut harness, client, "SELECT SUM(1) OVER ()"), ["1"]);
}

#[test]
fn numbers_of_rows_are_tested_when_the_statement_runs() {
    let mut harness = Harness::new();
    let client = harness.connect();
    for (call, error) in [
        ("NTILE(0) OVER ()", 1210),
        ("NTILE(NULL) OVER ()", 1210),
        ("NTH_VALUE(1, 0) OVER ()", 1210),
        ("LAG(1, -1) OVER ()", 1210),
        ("COUNT(*) OVER (ROWS -1 PRECEDING)", 3586),
        ("COUNT(*) OVER (ROWS 1.5 PRECEDING)", 3586),
        ("COUNT(*) OVER (ROWS NULL PRECEDING)", 3586),
        ("COUNT(*) OVER (ORDER BY x RANGE -1 PRECEDING)", 3586),
        ("COUNT(*) OVER (ORDER BY DATE '2024-01-01' + INTERVAL x DAY RANGE INTERVAL -1 DAY PRECEDING)", 3586),
    ] {
        let text = format!("SELECT {call} FROM (SELECT 1 AS x) d");
        assert_eq!(errno(harness.ask(client, &text)), error, "{call}");
    }
}
