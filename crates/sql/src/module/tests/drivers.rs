//! Things that drivers and tools ask for besides plain SQL.

use super::harness::Harness;
use super::texts;
use mysql_protocol::client::{Response, ResultSet};
use mysql_protocol::command::Cursor;
use mysql_protocol::{ParameterValue, StatusFlags};

/// A response in short: rows, affected rows and the id of an OK packet, or the error.
fn shown(response: Response) -> String {
    match response {
        Response::Ok(completion) => {
            format!("{} id {}", completion.affected_rows, completion.last_insert_id)
        }
        Response::Error(error) => format!("error {}", error.errno),
        rows => texts(rows)
            .into_iter()
            .map(|row| row.join(",").replace("Null", "NULL"))
            .collect::<Vec<_>>()
            .join(" "),
    }
}

/// Sends statements, and compares what becomes of each.
fn run(statements: &[(&str, &str)]) {
    let mut harness = Harness::new();
    let client = harness.connect();
    assert_eq!(shown(harness.ask(client, "USE test")), "0 id 0");
    for (statement, expected) in statements {
        assert_eq!(shown(harness.ask(client, statement)), *expected, "{statement}");
    }
    assert!(harness.signals().is_empty(), "nothing of this asks anybody");
}

#[test]
fn last_insert_id_takes_a_value() {
    run(&[
        ("CREATE TEMPORARY TABLE sequence (id BIGINT NOT NULL)", "0 id 0"),
        ("INSERT INTO sequence VALUES (10)", "1 id 0"),
        ("UPDATE sequence SET id = LAST_INSERT_ID(id + 1)", "1 id 11"),
        ("SELECT LAST_INSERT_ID()", "11"),
        ("UPDATE sequence SET id = LAST_INSERT_ID(id + 1) WHERE id = 5", "0 id 0"),
        ("SELECT LAST_INSERT_ID(), @@last_insert_id, @@identity", "11,11,11"),
        ("SELECT LAST_INSERT_ID(), LAST_INSERT_ID(7), LAST_INSERT_ID()", "11,7,7"),
        ("SELECT LAST_INSERT_ID()", "7"),
        ("DO LAST_INSERT_ID(8)", "0 id 8"),
        ("SET @a = LAST_INSERT_ID('9')", "0 id 9"),
        ("SELECT @a, LAST_INSERT_ID()", "9,9"),
        ("SELECT LAST_INSERT_ID(NULL)", "NULL"),
        ("SELECT LAST_INSERT_ID()", "0"),
        ("SELECT LAST_INSERT_ID(4), EXP(LAST_INSERT_ID() * 1000)", "error 1690"),
        ("SELECT LAST_INSERT_ID()", "4"),
        ("SHOW WARNINGS", ""),
        ("SELECT LAST_INSERT_ID(1, 2)", "error 1582"),
        ("INSERT INTO sequence VALUES (LAST_INSERT_ID(30))", "1 id 30"),
        ("DELETE FROM sequence WHERE id = LAST_INSERT_ID(30)", "1 id 30"),
        ("SELECT id, LAST_INSERT_ID() FROM sequence", "11,30"),
    ]);
}

#[test]
fn the_next_id_is_shown_and_set() {
    let shown = |options: &str| {
        format!(
            "t,CREATE TEMPORARY TABLE `t` (\n  `id` int NOT NULL AUTO_INCREMENT,\n  PRIMARY KEY (`id`)\n) ENGINE=LatsDB{options} DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci"
        )
    };
    run(&[
        ("CREATE TEMPORARY TABLE t (id INT AUTO_INCREMENT PRIMARY KEY)", "0 id 0"),
        ("SHOW CREATE TABLE t", &shown("")),
        ("INSERT INTO t VALUES (NULL), (NULL)", "2 id 1"),
        ("SHOW CREATE TABLE t", &shown(" AUTO_INCREMENT=3")),
        ("ALTER TABLE t AUTO_INCREMENT = 10", "2 id 0"),
        ("SHOW CREATE TABLE t", &shown(" AUTO_INCREMENT=10")),
        ("INSERT INTO t VALUES (NULL)", "1 id 10"),
    ]);
}

#[test]
fn safe_updates_need_a_key_or_a_limit() {
    run(&[
        ("CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, k INT, n INT, KEY (k))", "0 id 0"),
        ("INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0)", "3 id 0"),
        ("SET sql_safe_updates = 1, sql_select_limit = 1000, max_join_size = 1000000", "0 id 0"),
        ("UPDATE t SET n = 1", "error 1175"),
        ("UPDATE t SET n = 1 WHERE n = 0", "error 1175"),
        ("UPDATE t SET n = 1 WHERE n = 0 ORDER BY id", "error 1175"),
        ("UPDATE t SET n = 1 WHERE k + 0 = 10", "error 1175"),
        ("UPDATE t SET n = (SELECT 1) WHERE n = 0", "error 1175"),
        ("DELETE FROM t", "error 1175"),
        ("DELETE FROM t WHERE n IN (SELECT 0)", "error 1175"),
        ("UPDATE t a JOIN t b ON a.n = b.k SET a.n = 2", "error 1175"),
        ("DELETE a FROM t a, t b WHERE b.id = 1 AND a.n > b.n", "error 1175"),
        ("SELECT COUNT(*) FROM t WHERE n = 0", "3"),
        ("UPDATE t SET n = 1 WHERE id = 1", "1 id 0"),
        ("UPDATE t SET n = 2 WHERE k > 20 AND n = 0", "1 id 0"),
        ("UPDATE t SET n = 3 WHERE n = 0 LIMIT 1", "1 id 0"),
        ("UPDATE t SET n = 4 WHERE NULL", "0 id 0"),
        ("UPDATE t SET n = (SELECT 5) WHERE id = 1", "1 id 0"),
        ("UPDATE t a JOIN (SELECT 1 AS x) b ON a.id = b.x SET a.n = 6", "1 id 0"),
        ("SELECT n FROM t ORDER BY id", "6 3 2"),
        ("DELETE FROM t LIMIT 1", "1 id 0"),
        ("SET sql_safe_updates = 0", "0 id 0"),
        ("DELETE FROM t", "2 id 0"),
    ]);
}

#[test]
fn an_update_for_a_duplicate_tells_the_id_of_its_row() {
    run(&[
        (
            "CREATE TEMPORARY TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, u INT, n INT, UNIQUE KEY (u))",
            "0 id 0",
        ),
        ("INSERT INTO t (u, n) VALUES (10, 0), (20, 0), (30, 0)", "3 id 1"),
        (
            "INSERT INTO t (u) VALUES (20) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), n = n + 1",
            "2 id 2",
        ),
        ("SELECT LAST_INSERT_ID()", "2"),
        // The row stays as it is.
        ("INSERT INTO t (u) VALUES (30) ON DUPLICATE KEY UPDATE id = last_insert_id(id)", "0 id 3"),
        ("SELECT LAST_INSERT_ID()", "3"),
        ("INSERT INTO t (u) VALUES (40) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id)", "1 id 6"),
        ("SELECT LAST_INSERT_ID()", "6"),
        ("INSERT INTO t (u) VALUES (10) ON DUPLICATE KEY UPDATE n = LAST_INSERT_ID(n + 99)", "2 id 99"),
        ("SELECT LAST_INSERT_ID(), n FROM t WHERE u = 10", "99,99"),
        // A value that was drawn goes before one that was given.
        ("INSERT INTO t (u) VALUES (LAST_INSERT_ID(500))", "1 id 8"),
        ("SELECT LAST_INSERT_ID(), u FROM t WHERE id = 8", "8,500"),
        ("INSERT INTO t (u) VALUES (10) ON DUPLICATE KEY UPDATE n = 1 + LAST_INSERT_ID(5)", "error 1235"),
        ("CREATE TEMPORARY TABLE p (id INT PRIMARY KEY, n INT)", "0 id 0"),
        ("INSERT INTO p VALUES (1, 1) ON DUPLICATE KEY UPDATE n = LAST_INSERT_ID(n + 1)", "1 id 0"),
        ("INSERT INTO p VALUES (1, 1) ON DUPLICATE KEY UPDATE n = LAST_INSERT_ID(n + 1)", "2 id 2"),
        ("SELECT n, LAST_INSERT_ID() FROM p", "2,2"),
    ]);
}

/// The texts of a result, and whether the cursor is open and has told its end.
fn fetched(harness: &mut Harness, client: usize) -> (Vec<String>, bool, bool) {
    match harness.response(client) {
        Response::ResultSet(ResultSet { status, rows, .. }) => {
            let rows = rows.into_iter().map(|row| format!("{:?}", row[0])).collect();
            let has = |flag| status.contains(flag);
            (rows, has(StatusFlags::CURSOR_EXISTS), has(StatusFlags::LAST_ROW_SENT))
        }
        other => panic!("rows were expected: {other:?}"),
    }
}

#[test]
fn rows_of_a_cursor_are_fetched_as_they_are_wanted() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let before = harness.client_memory();
    harness.client(client).prepare(b"SELECT n FROM (VALUES ROW(1), ROW(2), ROW(3)) AS t (n) WHERE n > ?");
    let Response::Prepared(prepared) = harness.response(client) else { panic!("it is prepared") };
    let id = prepared.statement_id;
    let execute = |harness: &mut Harness, above: i64, cursor: Cursor| {
        harness.client(client).execute(id, &[ParameterValue::Int(above)], cursor);
    };
    let fetch = |harness: &mut Harness, count: u32| harness.client(client).fetch(id, count);
    fetch(&mut harness, 1);
    assert_eq!(shown(harness.response(client)), "error 1421");
    execute(&mut harness, 0, Cursor::ReadOnly);
    assert_eq!(fetched(&mut harness, client), (vec![], true, false));
    fetch(&mut harness, 2);
    assert_eq!(fetched(&mut harness, client), (vec!["Int(1)".into(), "Int(2)".into()], true, false));
    // Other statements do not end it.
    assert_eq!(shown(harness.ask(client, "SELECT 5")), "5");
    fetch(&mut harness, 2);
    assert_eq!(fetched(&mut harness, client), (vec!["Int(3)".into()], false, true));
    fetch(&mut harness, 2);
    assert_eq!(shown(harness.response(client)), "error 1421");
    // An execution, a reset and the end of the statement close it.
    execute(&mut harness, 1, Cursor::ReadOnly);
    assert_eq!(fetched(&mut harness, client), (vec![], true, false));
    execute(&mut harness, 2, Cursor::None);
    assert_eq!(fetched(&mut harness, client), (vec!["Int(3)".into()], false, false));
    fetch(&mut harness, 1);
    assert_eq!(shown(harness.response(client)), "error 1421");
    execute(&mut harness, 1, Cursor::ReadOnly);
    assert_eq!(fetched(&mut harness, client), (vec![], true, false));
    harness.client(client).reset_statement(id);
    assert_eq!(shown(harness.response(client)), "0 id 0");
    fetch(&mut harness, 1);
    assert_eq!(shown(harness.response(client)), "error 1421");
    execute(&mut harness, 1, Cursor::ReadOnly);
    assert_eq!(fetched(&mut harness, client), (vec![], true, false));
    harness.client(client).close_statement(id);
    fetch(&mut harness, 1);
    assert_eq!(shown(harness.response(client)), "error 1243");
    // A statement without rows has no cursor.
    harness.client(client).prepare(b"SET @a = ?");
    let Response::Prepared(prepared) = harness.response(client) else { panic!("it is prepared") };
    harness.client(client).execute(prepared.statement_id, &[ParameterValue::Int(1)], Cursor::ReadOnly);
    assert_eq!(shown(harness.response(client)), "0 id 0");
    assert_eq!(shown(harness.ask(client, "SELECT @a")), "1");
    assert!(harness.client_memory() <= before + 4 * memory::PAGE_BYTES as u64);
}

#[test]
fn rows_of_a_cursor_are_charged_until_they_are_fetched() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let before = harness.client_memory();
    harness.client(client).prepare(b"SELECT REPEAT('x', 1000000 + n) FROM (VALUES ROW(1), ROW(2)) AS t (n)");
    let Response::Prepared(prepared) = harness.response(client) else { panic!("it is prepared") };
    let id = prepared.statement_id;
    harness.client(client).execute(id, &[], Cursor::ReadOnly);
    assert_eq!(fetched(&mut harness, client).0.len(), 0);
    let held = harness.client_memory() - before;
    assert!(held > 1_900_000, "{held}");
    assert!(harness.query_memory() <= 4 * memory::PAGE_BYTES as u64);
    harness.client(client).fetch(id, 10);
    assert_eq!(fetched(&mut harness, client).0.len(), 2);
    assert!(harness.client_memory() <= before + 4 * memory::PAGE_BYTES as u64);
    // There is no room for all that many statements keep.
    let refused = (0..100).find_map(|number: u64| {
        let text = format!("SELECT REPEAT('x', 1000000 + n), {number} FROM (VALUES ROW(1), ROW(2)) AS t (n)");
        harness.client(client).prepare(text.as_bytes());
        let Response::Prepared(prepared) = harness.response(client) else { panic!("it is prepared") };
        harness.client(client).execute(prepared.statement_id, &[], Cursor::ReadOnly);
        match harness.response(client) {
            Response::Error(error) => Some((error.errno, prepared.statement_id)),
            _ => None,
        }
    });
    let (errno, last) = refused.unwrap();
    assert_eq!(errno, 1041);
    harness.client(client).fetch(last, 1);
    assert_eq!(shown(harness.response(client)), "error 1421");
    assert_eq!(shown(harness.ask(client, "SELECT 1")), "1");
}

#[test]
fn escapes_of_odbc_are_read() {
    run(&[
        (
            "SELECT {d '2024-02-29'} + INTERVAL 1 DAY, {t '10:11:12'}, {ts '2024-02-29 10:11:12'}",
            "2024-03-01,10:11:12,2024-02-29 10:11:12",
        ),
        ("SELECT {fn CONCAT('a', {fn UCASE('b')})} AS x, { fn LENGTH ( 'abc' ) }", "aB,3"),
        (
            "SELECT a.n, b.n FROM {oj (SELECT 1 AS n) a LEFT OUTER JOIN (SELECT 2 AS n) b ON a.n = b.n}",
            "1,NULL",
        ),
        ("CREATE TEMPORARY TABLE t (d DATE)", "0 id 0"),
        ("INSERT INTO t VALUES ({d '2024-02-29'}), ({d'2024-03-01'})", "2 id 0"),
        ("SELECT d FROM t WHERE d = {d '2024-03-01'}", "2024-03-01"),
        ("SELECT d FROM t WHERE d = {d '2024-02-29'}", "2024-02-29"),
        ("UPDATE t SET d = {d '2025-01-01'} WHERE d > {d '2024-02-29'}", "1 id 0"),
        ("DELETE FROM t WHERE d = {d '2025-01-01'}", "1 id 0"),
        ("SELECT {", "error 1064"),
        ("SELECT {d '2024-02-29'", "error 1064"),
        ("SELECT 1 }", "error 1064"),
        ("SELECT {1}", "error 1064"),
        ("SELECT {d '2024-02-30'}", "error 1525"),
    ]);
}

#[test]
fn texts_are_cut_and_compared_by_sound() {
    run(&[
        ("SELECT MID('abcdef' FROM 2 FOR 3), MID('abcdef' FROM 4), MID('abcdef', 2, 2)", "bcd,def,bc"),
        (
            "SELECT SOUNDEX('Hello'), SOUNDEX('Quadratically'), SOUNDEX('12'), SOUNDEX(NULL)",
            "H400,Q36324,,NULL",
        ),
        (
            "SELECT SOUNDEX(' Tymczak'), SOUNDEX('Pfister'), SOUNDEX('a'), SOUNDEX('Ärger')",
            "T520,P236,A000,Ä626",
        ),
        ("SELECT 'Robert' SOUNDS LIKE 'Rupert', NOT 'a' sounds like 'b', 'a' SOUNDS LIKE NULL", "1,1,NULL"),
        ("SELECT sounds FROM (SELECT 1 AS sounds) t", "1"),
    ]);
}

#[test]
fn null_becomes_the_default_in_a_lenient_insert_of_several_rows() {
    run(&[
        ("CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, n INT NOT NULL, s VARCHAR(9) NOT NULL)", "0 id 0"),
        ("INSERT INTO t VALUES (1, NULL, 'a'), (2, 2, NULL)", "error 1048"),
        ("SET sql_mode = ''", "0 id 0"),
        ("INSERT INTO t VALUES (1, NULL, 'a')", "error 1048"),
        ("INSERT INTO t VALUES (1, NULL, 'a'), (2, 2, NULL)", "2 id 0"),
        ("SHOW WARNINGS", "Warning,1048,Column 'n' cannot be null Warning,1048,Column 's' cannot be null"),
        ("INSERT INTO t SELECT 3, NULL, NULL", "1 id 0"),
        ("SELECT n, s FROM t ORDER BY id", "0,a 2, 0,"),
    ]);
}

#[test]
fn a_refresh_is_a_flush() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let mut answer = |what: u8| {
        harness.feed(client, &[2, 0, 0, 0, 7, what]);
        harness.answer(client)[4..].to_vec()
    };
    // Privileges; logs, tables, hosts and status; threads.
    for what in [0x01, 0x1e, 0x20, 0] {
        assert_eq!(answer(what)[0], 0, "{what}");
    }
    assert_eq!(answer(0x40)[0], 0xff);
    assert_eq!(answer(0x80)[0], 0xff);
}
