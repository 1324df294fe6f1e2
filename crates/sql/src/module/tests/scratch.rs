//! Statements that have too little memory, and use the disk of the node instead.

use super::harness::Harness;
use super::{errno, texts};
use executor::ScratchTerms;
use mysql_protocol::client::Response;
use protocol::disk::{DiskAnswer, DiskError};
use protocol::scratch_room::ScratchRoom;
use std::sync::Arc;

/// The memory of a statement.
const LITTLE: u64 = 64 << 10;
/// A client keeps so much of what was charged.
const KEPT: u64 = 2 * memory::PAGE_BYTES as u64;

/// A module whose statements have so much memory and scratch.
fn harness(memory: u64, space: u64) -> (Harness, Arc<ScratchRoom>, usize) {
    let room = Arc::new(ScratchRoom::new(space));
    let terms = ScratchTerms { room: Arc::clone(&room), statement_memory_max: memory };
    let mut harness = Harness::with_config(|config| config.scratch = Some(terms));
    let client = harness.connect();
    harness.ask(client, "SET cte_max_recursion_depth = 1000000");
    (harness, room, client)
}

/// A query over so many made rows; `rest` stands behind FROM.
fn made(count: u32, shown: &str, rest: &str) -> String {
    format!(
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < {count}) SELECT {shown} FROM n {rest}"
    )
}

/// Rows of 100 bytes, in no order. Two have each key.
fn long_rows(count: u32) -> String {
    made(count, "i, i DIV 2 * 7919 MOD 10007 AS k, REPEAT(CHAR(65 + i MOD 26), 100)", "ORDER BY k DESC, 3")
}

#[test]
fn a_sort_with_little_memory_gives_the_same_rows() {
    let queries = [
        long_rows(3_000),
        // Equal rows keep their order.
        made(3_000, "i, REPEAT('x', 100)", "ORDER BY i MOD 5"),
        made(3_000, "i MOD 7 AS k, REPEAT('x', i MOD 300)", "ORDER BY k, 2 DESC LIMIT 700"),
        made(3_000, "i", "ORDER BY i * 7919 MOD 10007 LIMIT 10 OFFSET 2900"),
        made(4_000, "DISTINCT i MOD 1500, CAST(i MOD 1500 AS DECIMAL(20, 5))", "ORDER BY 1, 2"),
        // All types, NULL and collations.
        made(
            2_000,
            "CONCAT(IF(i MOD 2, 'a', 'A'), i MOD 50) AS k, NULLIF(i MOD 3, 0), i / 7, SQRT(i), DATE '2024-01-01' + INTERVAL i DAY, \
             TIME '10:00:00', TIMESTAMP '2024-01-01 00:00:00.5', CAST(i AS UNSIGNED)",
            "ORDER BY k, 2, i DESC",
        ),
        // One sort in another, and one for each row of another table.
        made(
            2_000,
            "*",
            "JOIN (SELECT i AS j FROM n ORDER BY i DESC LIMIT 1500) m ON i = j ORDER BY j MOD 10, i",
        ),
        made(
            3,
            "i, (WITH RECURSIVE m AS (SELECT 1 AS j UNION ALL SELECT j + 1 FROM m WHERE j < 3000) \
             SELECT j FROM m ORDER BY j * n.i MOD 1009, j LIMIT 1 OFFSET 2500)",
            "",
        ),
        made(2_000, "i MOD 900 AS k, COUNT(*)", "GROUP BY k WITH ROLLUP"),
    ];
    let (mut plenty, plenty_room, client) = harness(1 << 30, 1 << 30);
    let (mut little, room, poor) = harness(LITTLE, 1 << 30);
    for query in queries {
        let expected = texts(plenty.ask_much(client, &query));
        let before = little.disk.writes;
        let rows = texts(little.ask_much(poor, &query));
        assert!(rows == expected, "{query}\n{:?}\n{:?}", &rows[..5], &expected[..5]);
        assert!(little.disk.writes > before + 3, "{query} used the disk");
        assert_eq!((little.disk.files(), room.used()), (vec![], 0), "{query}");
        assert!(little.query_memory() <= KEPT, "{query}");
    }
    assert_eq!((plenty.disk.writes, plenty_room.used()), (0, 0));
}

/// With 13 runs at once, the runs of so many rows are merged in two levels.
#[test]
fn many_runs_are_merged_level_by_level() {
    let (mut harness, room, client) = harness(LITTLE, 1 << 30);
    let query = made(20_000, "i", "ORDER BY i * 7919 MOD 20011");
    let rows = texts(harness.ask_much(client, &query));
    let key = |row: &Vec<String>| row[0].parse::<u64>().unwrap() * 7919 % 20_011;
    assert_eq!(rows.len(), 20_000);
    assert!(rows.is_sorted_by_key(key));
    assert_eq!(room.used(), 0);
}

#[test]
fn a_row_may_be_longer_than_a_piece() {
    let (mut harness, room, client) = harness(LITTLE, 1 << 30);
    let query = made(60, "i, REPEAT('y', i * 997)", "ORDER BY i * 31 MOD 61");
    let rows = texts(harness.ask_much(client, &query));
    assert_eq!(rows.len(), 60);
    for pair in rows.windows(2) {
        let key = |row: &[String]| row[0].parse::<usize>().unwrap() * 31 % 61;
        assert!(key(&pair[0]) < key(&pair[1]));
        assert_eq!(pair[0][1].len(), pair[0][0].parse::<usize>().unwrap() * 997);
    }
    assert!(harness.disk.writes > 10);
    assert_eq!((room.used(), harness.disk.size()), (0, 0));
}

#[test]
fn a_statement_that_ends_early_frees_its_scratch() {
    let (mut harness, room, client) = harness(LITTLE, 1 << 30);
    let other = harness.connect();
    let id = harness.client(client).connection_id();
    // While runs are written, and while they are read.
    for work in [0, 1, 60, 120, 180] {
        harness.let_disk_do(work);
        harness.query(client, &long_rows(3_000));
        assert!(room.used() > 0, "{work}");
        assert!(harness.no_response(client), "{work}");
        harness.ask(other, &format!("KILL QUERY {id}"));
        assert_eq!(errno(harness.response(client)), 1317);
        assert!(room.used() == 0 && harness.query_memory() <= KEPT);
        harness.let_disk_work();
        assert_eq!(harness.disk.files(), []);
        assert_eq!(texts(harness.ask_much(client, &long_rows(3_000))).len(), 3_000);
    }
    harness.let_disk_do(50);
    harness.query(client, &long_rows(3_000));
    assert!(room.used() > 0);
    harness.disconnect(client);
    assert_eq!(room.used(), 0);
    harness.let_disk_work();
    assert_eq!(harness.disk.files(), []);
    assert!(harness.is_idle());
}

/// Queries that use scratch in each other way.
fn others() -> [String; 3] {
    let groups = made(6_000, "i MOD 2501 AS k, GROUP_CONCAT(i)", "GROUP BY k");
    let join = joins(20_000, "i * 7 MOD 20011").swap_remove(1);
    [groups, made(6_000, "DISTINCT i", ""), join]
}

#[test]
fn groups_and_joins_that_end_early_free_their_scratch() {
    let (mut harness, room, client) = harness(LITTLE, 1 << 30);
    let other = harness.connect();
    let id = harness.client(client).connection_id();
    for query in others() {
        let writes = harness.disk.writes;
        harness.let_disk_work();
        harness.ask_much(client, &query);
        let writes = u32::try_from(harness.disk.writes - writes).unwrap();
        // Writes are followed by as many reads.
        for share in [0, 2, 5, 8, 11, 15] {
            harness.let_disk_do(writes * share / 8);
            harness.query(client, &query);
            assert!(room.used() > 0 && harness.no_response(client), "{share} {query}");
            harness.ask(other, &format!("KILL QUERY {id}"));
            assert_eq!(errno(harness.response(client)), 1317);
            assert!(room.used() == 0 && harness.query_memory() <= KEPT);
            harness.let_disk_work();
            assert_eq!(harness.disk.files(), []);
        }
    }
    assert!(harness.is_idle());
}

#[test]
fn a_disk_that_lies_gives_no_wrong_groups() {
    let (mut harness, room, client) = harness(LITTLE, 1 << 30);
    for query in others() {
        harness.disk.next_read_is_wrong = true;
        assert_eq!(errno(harness.ask_much(client, &query)), 1024, "{query}");
        assert_eq!((room.used(), harness.disk.files()), (0, vec![]));
        assert!(harness.query_memory() <= KEPT);
    }
}

#[test]
fn a_disk_that_is_full_or_fails_ends_one_statement() {
    let (mut harness, room, client) = harness(LITTLE, 1 << 30);
    let failed = || DiskError::Failed("scratch/256.rows: input/output error".to_owned());
    for (answer, code) in [(DiskError::Full, 1021), (failed(), 3), (DiskError::Absent, 3)] {
        harness.disk.next_write = Some(Err(answer));
        assert_eq!(errno(harness.ask_much(client, &long_rows(3_000))), code);
        assert_eq!((room.used(), harness.disk.files()), (0, vec![]));
        assert!(harness.query_memory() <= KEPT);
        assert_eq!(texts(harness.ask_much(client, &long_rows(3_000))).len(), 3_000);
    }
}

#[test]
fn a_disk_that_lies_gives_no_wrong_rows() {
    let (mut harness, room, client) = harness(LITTLE, 1 << 30);
    harness.disk.next_read_is_wrong = true;
    assert_eq!(errno(harness.ask_much(client, &long_rows(3_000))), 1024);
    harness.disk.next_write = Some(Ok(DiskAnswer::Done));
    assert_eq!(errno(harness.ask_much(client, &long_rows(3_000))), 1024);
    let log = harness.log();
    assert!(log.iter().any(|line| line.contains("does not hold what was written")), "{log:?}");
    assert_eq!((room.used(), harness.disk.files()), (0, vec![]));
}

#[test]
fn scratch_has_a_bound_and_may_be_missing() {
    let (mut harness, room, client) = harness(LITTLE, 100_000);
    let Response::Error(error) = harness.ask_much(client, &long_rows(3_000)) else { panic!("an error") };
    assert_eq!((error.errno, error.message.contains("ScratchSpace")), (1021, true));
    assert_eq!((room.used(), harness.disk.files()), (0, vec![]));
    assert_eq!(texts(harness.ask_much(client, &long_rows(300))).len(), 300);
    // Without scratch a statement has what QueryMemory gives.
    let mut without = Harness::new();
    let client = without.connect();
    without.ask(client, "SET cte_max_recursion_depth = 1000000");
    assert_eq!(texts(without.ask_much(client, &long_rows(3_000))).len(), 3_000);
    assert_eq!(without.disk.writes, 0);
}

/// Asks with little memory and with much: the rows are the same, in any order. With little memory so many of the
/// queries or more use the disk.
fn assert_same_bags(queries: &[String], spilled_min: usize) {
    let (mut plenty, _, client) = harness(1 << 30, 1 << 30);
    let (mut little, room, poor) = harness(LITTLE, 1 << 30);
    let mut spilled = 0;
    for query in queries {
        let mut expected = texts(plenty.ask_much(client, query));
        let before = little.disk.writes;
        let mut rows = texts(little.ask_much(poor, query));
        expected.sort_unstable();
        rows.sort_unstable();
        let wrong = rows.iter().zip(&expected).position(|(row, wanted)| row != wanted);
        let shown = wrong.map(|wrong| (&rows[wrong], &expected[wrong]));
        assert!(wrong.is_none() && rows.len() == expected.len(), "{query}\n{} rows, {shown:?}", rows.len());
        spilled += usize::from(little.disk.writes > before + 3);
        assert_eq!((little.disk.files(), room.used()), (vec![], 0), "{query}");
        assert!(little.query_memory() <= KEPT, "{query}");
    }
    assert!(plenty.disk.writes == 0 && spilled >= spilled_min, "{spilled} queries used the disk");
}

#[test]
fn groups_with_little_memory_are_the_same() {
    let queries = [
        made(
            6_000,
            "i MOD 2501 AS k, COUNT(*), SUM(i), AVG(i / 3), MIN(i), MAX(REPEAT(CHAR(65 + i MOD 26), 30)), \
             ROUND(STDDEV(i), 6), BIT_XOR(i), ANY_VALUE(i)",
            "GROUP BY k",
        ),
        // The first of equal values is shown, and rows of a group keep their order.
        made(
            5_000,
            "CONCAT(IF(i MOD 2, 'a', 'A'), i MOD 1500) AS k, GROUP_CONCAT(i), \
             GROUP_CONCAT(i MOD 3 ORDER BY i MOD 3 DESC SEPARATOR ''), COUNT(DISTINCT i MOD 2), SUM(DISTINCT i)",
            "GROUP BY k",
        ),
        // Without aggregates; NULL; several columns.
        made(6_000, "NULLIF(i MOD 40, 7) AS a, i MOD 97 AS b", "GROUP BY a, b"),
        // A state is larger than a statement may be.
        made(
            4_000,
            "i MOD 3 AS k, COUNT(DISTINCT REPEAT(CHAR(65 + i MOD 26), 40), i), LENGTH(GROUP_CONCAT(i ORDER BY i DESC))",
            "GROUP BY k",
        ),
        made(6_000, "i MOD 2500 AS k, COUNT(*) AS c", "GROUP BY k HAVING c > 2 ORDER BY c, k LIMIT 400"),
        made(3_000, "i MOD 50 AS a, i MOD 1001 AS b, COUNT(*), MAX(i)", "GROUP BY a, b WITH ROLLUP"),
        // Many runs.
        made(30_000, "i AS k, COUNT(*)", "GROUP BY k"),
        // One in another.
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 4000) \
         SELECT COUNT(*), SUM(c) FROM (SELECT i * 1 AS j, COUNT(*) AS c FROM n GROUP BY j) m \
         JOIN (SELECT DISTINCT i AS k FROM n) d ON j = k"
            .to_owned(),
    ];
    assert_same_bags(&queries, queries.len());
}

#[test]
fn distinct_rows_with_little_memory_are_the_same() {
    let queries = [
        made(6_000, "DISTINCT i MOD 2500, REPEAT('x', 20)", ""),
        made(4_000, "DISTINCT CONCAT(IF(i MOD 2, 'a', 'A'), i MOD 1500), NULLIF(i MOD 2, 0)", ""),
        made(4_000, "DISTINCT i MOD 1800 AS k", "ORDER BY i MOD 1800 + 0"),
        made(30_000, "DISTINCT i", ""),
        made(
            3_000,
            "i MOD 2000",
            "UNION SELECT i FROM n WHERE i > 1000 UNION ALL SELECT 7 FROM n WHERE i < 4",
        ),
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 3000) \
         SELECT COUNT(*), SUM(k) FROM (SELECT DISTINCT i MOD 2200 AS k FROM n) d"
            .to_owned(),
    ];
    assert_same_bags(&queries, queries.len());
    // It ends early, before rows are held back and after.
    let (mut harness, room, client) = harness(LITTLE, 1 << 30);
    for limit in [3, 2_000] {
        let query = made(6_000, "DISTINCT i MOD 2500", &format!("LIMIT {limit}"));
        let mut rows = texts(harness.ask_much(client, &query));
        rows.sort_unstable();
        rows.dedup();
        assert_eq!((rows.len(), room.used(), harness.disk.files()), (limit, 0, vec![]));
    }
}

/// Queries that join: the right side has `count` rows, and `key` says which value each of them has.
fn joins(count: u32, key: &str) -> Vec<String> {
    let with = |query: &str| {
        made(count.max(3_000), "", "").replace(
            "SELECT  FROM n ",
            &format!(
                ", l AS (SELECT i, NULLIF(i, 77) AS a, REPEAT('l', i MOD 20) AS t FROM n WHERE i <= 3000), \
                 r AS (SELECT i, NULLIF({key}, 13) AS b, REPEAT('r', i MOD 30) AS t FROM n WHERE i <= {count}) {query}"
            ),
        )
    };
    [
        "SELECT l.i, l.t, r.i, r.t FROM l JOIN r ON a = b AND (l.i + r.i) MOD 5 < 2",
        "SELECT l.i, r.i FROM l LEFT JOIN r ON a = b AND r.i MOD 7 = 3",
        "SELECT i, t FROM l WHERE a IN (SELECT b FROM r)",
        "SELECT i, t FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE b = a AND r.i MOD 3 = 0)",
        "SELECT i FROM l WHERE a NOT IN (SELECT b FROM r)",
        "SELECT i FROM l WHERE a NOT IN (SELECT b FROM r WHERE b IS NOT NULL)",
        "SELECT i, a IN (SELECT b FROM r), a NOT IN (SELECT b FROM r WHERE b IS NOT NULL AND i MOD 2) FROM l",
        "SELECT i FROM l WHERE EXISTS (SELECT 1 FROM r WHERE b = a AND (r.i + l.i) MOD 5 = 0)",
        "SELECT i, a + 0 IN (SELECT b FROM r WHERE (r.i + l.i) MOD 7 = 0) FROM l WHERE i < 300",
        "SELECT COUNT(*), SUM(l.i), SUM(r.i) FROM l JOIN r ON CONCAT(a, 'x') = CONCAT(b, 'X') WHERE r.i < 2900",
    ]
    .map(with)
    .into()
}

#[test]
fn joins_with_little_memory_give_the_same_rows() {
    assert_same_bags(&joins(3_000, "i * 7 MOD 3001"), 9);
    // Parts are divided again.
    assert_same_bags(&joins(20_000, "i * 7 MOD 20011"), 9);
    // Keys that have many rows each are joined block by block.
    assert_same_bags(&joins(6_000, "i MOD 2 * 2500 + 100"), 4);
}

/// Rows in scratch come back, even if other sessions have taken all of QueryMemory meanwhile.
#[test]
fn statements_end_where_others_have_all_memory() {
    let (mut harness, room, client) = harness(1 << 30, 1 << 30);
    for table in ["b", "c"] {
        harness.ask(client, &format!("CREATE TEMPORARY TABLE test.{table} (id INT PRIMARY KEY, k INT)"));
        let rows = made(20_000, "i, i * 7919 MOD 10007", "");
        harness.ask_much(client, &format!("INSERT INTO test.{table} {rows}"));
    }
    let queries = [
        "SELECT id FROM test.b ORDER BY k, id",
        "SELECT k, COUNT(*), MIN(id) FROM test.b GROUP BY k ORDER BY k",
        "SELECT DISTINCT k FROM test.b ORDER BY k + 0",
        "SELECT b.id, c.id FROM test.b JOIN test.c ON b.k = c.k ORDER BY 1, 2",
    ];
    let expected = queries.map(|query| texts(harness.ask_much(client, query)));
    assert!(expected.iter().all(|rows| rows.len() > 9_000) && harness.disk.writes == 0);
    take_all_memory(&mut harness);
    for (query, expected) in queries.iter().zip(expected) {
        let before = harness.disk.writes;
        assert!(texts(harness.ask_much(client, query)) == expected, "{query}");
        assert!(harness.disk.writes > before && room.used() == 0, "{query}");
    }
}

// ---- order ----------------------------------------------------------------------------------------------------------

/// An index gives the order, and no sort stands behind DISTINCT.
#[test]
fn distinct_rows_keep_the_order_of_an_index() {
    let queries = [
        "SELECT DISTINCT id, v FROM test.d ORDER BY id",
        "SELECT DISTINCT id, v FROM test.d ORDER BY id DESC",
        "SELECT DISTINCT id, v FROM test.d ORDER BY id LIMIT 100 OFFSET 700",
        "SELECT DISTINCT MOD(id, 2) AS m, id, v FROM test.d ORDER BY id DESC LIMIT 800",
        "SELECT DISTINCT k, v FROM test.d ORDER BY k LIMIT 850",
        "SELECT DISTINCT k, v FROM test.d ORDER BY k DESC LIMIT 850",
        "SELECT COUNT(*), SUM(id) FROM (SELECT DISTINCT id, v FROM test.d ORDER BY id LIMIT 100 OFFSET 700) x",
    ];
    let (mut plenty, _, client) = harness(1 << 30, 1 << 30);
    let (mut little, room, poor) = harness(LITTLE, 1 << 30);
    let rows = made(900, "i, i * 7919 MOD 401, REPEAT(CHAR(65 + i MOD 26), 60 + i * 13 MOD 240)", "");
    for (harness, client) in [(&mut plenty, client), (&mut little, poor)] {
        harness.ask(
            client,
            "CREATE TEMPORARY TABLE test.d (id INT PRIMARY KEY, k INT, v VARCHAR(300), KEY (k))",
        );
        harness.ask_much(client, &format!("INSERT INTO test.d {rows}"));
    }
    for query in queries {
        let expected = texts(plenty.ask_much(client, query));
        let before = little.disk.writes;
        let rows = texts(little.ask_much(poor, query));
        let wrong = rows.iter().zip(&expected).position(|(row, wanted)| row != wanted);
        assert!(wrong.is_none() && rows.len() == expected.len(), "{query}\n{} rows, {wrong:?}", rows.len());
        assert!(little.disk.writes > before + 3, "{query} used the disk");
        assert_eq!((little.disk.files(), room.used()), (vec![], 0), "{query}");
    }
    assert_eq!(plenty.disk.writes, 0);
}

// ---- long rows ------------------------------------------------------------------------------------------------------

/// Two common tables: `left` and `right` are their columns. They have so many rows.
fn sides(counts: (u32, u32), left: &str, right: &str, query: &str) -> String {
    let with = format!(
        ", l AS (SELECT i, {left} FROM n WHERE i <= {}), r AS (SELECT i, {right} FROM n WHERE i <= {}) {query}",
        counts.0, counts.1
    );
    made(counts.0.max(counts.1), "", "").replace("SELECT  FROM n ", &with)
}

/// A batch of left rows alone may be larger than the share of the statement.
#[test]
fn left_rows_may_be_longer_than_the_memory_of_a_statement() {
    let left = |key: &str| format!("{key} AS a, IF(i BETWEEN 300 AND 310, REPEAT('z', 100000), '') AS t");
    let right = |key: &str| format!("{key} AS b, REPEAT('r', i MOD 30) AS t");
    let queries = [
        sides((600, 3_000), &left("i"), &right("i MOD 600"), "SELECT l.i, l.t, r.i FROM l JOIN r ON a = b"),
        sides(
            (600, 3_000),
            &left("i"),
            &right("i MOD 600"),
            "SELECT l.i, l.t, r.i FROM l LEFT JOIN r ON a = b",
        ),
        // Block by block.
        sides(
            (600, 3_000),
            &left("i MOD 2"),
            &right("i MOD 2"),
            "SELECT l.i, l.t, r.i FROM l JOIN r ON a = b AND r.i MOD 1500 = l.i",
        ),
        sides(
            (600, 3_000),
            &left("i MOD 2"),
            &right("i MOD 2"),
            "SELECT l.i, l.t FROM l WHERE a NOT IN (SELECT b FROM r WHERE r.i = l.i + 2500)",
        ),
    ];
    assert_same_bags(&queries, queries.len());
}

/// The slots of rows that are longer than a slot are used again.
#[test]
fn long_rows_use_their_slots_again() {
    let (mut harness, room, client) = harness(LITTLE, 24 << 20);
    let query = sides(
        (400, 3_000),
        "i DIV 10000 AS a, REPEAT('l', 5000) AS t",
        "i DIV 10000 AS b, REPEAT('r', 1300) AS t",
        "SELECT l.i, l.t, r.i, r.t FROM l JOIN r ON a = b AND r.i - l.i * 2 = l.i",
    );
    let rows = texts(harness.ask_much(client, &query));
    assert_eq!((rows.len(), room.used()), (400, 0));
    assert!(rows.iter().all(|row| row[1].len() == 5_000 && row[3].len() == 1_300));
    let writes = harness.disk.writes;
    assert!(writes > 10_000, "{writes}");
}

// ---- memory that others have ----------------------------------------------------------------------------------------

/// Another session takes all of QueryMemory.
fn take_all_memory(harness: &mut Harness) {
    let other = harness.connect();
    harness
        .ask(other, "CREATE TEMPORARY TABLE test.a (id INT AUTO_INCREMENT PRIMARY KEY, v VARBINARY(30000))");
    for size in [30_000, 1_000, 1] {
        let insert = format!("INSERT INTO test.a (v) VALUES (REPEAT('y', {size}))");
        let answers = std::iter::repeat_with(|| harness.ask(other, &insert));
        let errno = |answer| if let Response::Error(error) = answer { Some(error.errno) } else { None };
        let error = answers.take(4_000).find_map(errno);
        assert_eq!(error, Some(1114));
    }
}

/// Rows that stand in the statement, so that no memory is needed to read them.
fn listed(count: u32) -> String {
    let rows: Vec<String> = (1..=count).map(|number| format!("ROW({number})")).collect();
    format!("(VALUES {}) n (i)", rows.join(","))
}

/// A client that has no memory left of earlier statements, where others have all.
#[test]
fn a_new_client_needs_no_query_memory() {
    let wide = "REPEAT(CHAR(65 + i MOD 26), 100)";
    let queries = |count: u32| {
        let n = listed(count);
        let half = listed(count / 2).replace(" n ", " m ").replace("(i)", "(j)");
        [
            format!("SELECT i, {wide} FROM {n} ORDER BY i * 7919 MOD 10007"),
            format!("SELECT i FROM {n} ORDER BY i * 7919 MOD 10007 LIMIT 5"),
            format!("SELECT i, {wide} FROM {n} ORDER BY i * 7919 MOD 10007 LIMIT 900 OFFSET 20"),
            format!("SELECT i, REPEAT('x', 3000 + i) AS t FROM {n} ORDER BY t DESC LIMIT 5"),
            format!("SELECT i MOD 901 AS k, COUNT(*), MAX({wide}) FROM {n} GROUP BY k ORDER BY k"),
            format!("SELECT DISTINCT i MOD 901 AS k, {wide} FROM {n} ORDER BY k, 2"),
            format!("SELECT i, j FROM {n} JOIN {half} ON i = j ORDER BY i"),
            format!("SELECT i, j FROM {n} LEFT JOIN {half} ON i = j + 1 ORDER BY i DESC LIMIT 7"),
        ]
    };
    for (share, count) in [(LITTLE, 3_000), (1 << 30, 3_000)] {
        let (mut plenty, _, client) = harness(1 << 30, 1 << 30);
        let (mut full, room, _) = harness(share, 1 << 30);
        take_all_memory(&mut full);
        for query in queries(count) {
            let expected = texts(plenty.ask_much(client, &query));
            let poor = full.connect();
            let before = full.disk.writes;
            let shown = &query[..60];
            match full.ask_much(poor, &query) {
                Response::Error(error) => {
                    panic!("{shown} .. {}: {}", &query[query.len() - 60..], error.message)
                }
                answer => assert!(texts(answer) == expected, "{shown} .. {}", &query[query.len() - 60..]),
            }
            // A piece is not written for each few rows: all of them take few pieces of 256 KiB.
            let (written, are_few) =
                (full.disk.writes - before, share > LITTLE && !query.contains("3000 + i"));
            assert!(!are_few || written < 40, "{shown}: {written} pieces");
            assert_eq!(room.used(), 0);
        }
    }
}

/// An operator that has given all its rows leaves its share to those behind it.
#[test]
fn operators_that_are_gone_leave_their_share() {
    let branches = |branch: &str| format!("{}{branch}", format!("{branch} UNION ALL ").repeat(7));
    let queries = [
        branches("(SELECT i, REPEAT('x', 50) AS t FROM n ORDER BY i * 7919 MOD 10007 LIMIT 100000)"),
        branches("(SELECT i, REPEAT('x', 50) AS t FROM n ORDER BY i * 7919 MOD 10007 LIMIT 1500)"),
        branches("(SELECT i * 2 AS k, MAX(i) AS t FROM n GROUP BY k)"),
        branches("(SELECT DISTINCT i * 2, REPEAT('x', 50) AS t FROM n)"),
        branches("(SELECT a.i, REPEAT('x', 50) AS t FROM n a JOIN n b ON a.i + 1 = b.i + 0)"),
    ];
    let (mut harness, room, client) = harness(700 << 10, 1 << 30);
    for query in queries {
        let query = made(2_000, "", "")
            .replace("SELECT  FROM n ", &format!("SELECT COUNT(*) FROM ({query}) u WHERE LENGTH(t) > 0"));
        let before = harness.disk.writes;
        let rows = texts(harness.ask_much(client, &query));
        assert!(rows.len() == 1 && rows[0][0].parse::<u32>().unwrap() > 10_000, "{rows:?}");
        assert_eq!((harness.disk.writes - before, room.used()), (0, 0), "{query}");
    }
}

/// The first right rows of a part have one key, and those behind them have many.
#[test]
fn a_skewed_join_divides_what_is_behind_a_block() {
    let (mut harness, room, client) = harness(LITTLE, 1 << 30);
    let query = sides(
        (8_000, 60_000),
        "i AS a, REPEAT('l', 150) AS t",
        "IF(i <= 500, 16, i MOD 8000 + 1) AS b, REPEAT('r', 50) AS t",
        "SELECT COUNT(*), SUM(LENGTH(l.t) + LENGTH(r.t)) FROM l JOIN r ON a = b",
    );
    let mut writes = |query: &str| {
        let before = harness.disk.writes;
        let rows = texts(harness.ask_much(client, query));
        assert_eq!((rows[0][0].as_str(), room.used()), ("60000", 0));
        harness.disk.writes - before
    };
    let skewed = writes(&query);
    let even = writes(&query.replace("IF(i <= 500, 16, i MOD 8000 + 1)", "i MOD 8000 + 1"));
    assert!(skewed < even + 150, "{skewed} writes, and {even} without the many rows of one key");
}
