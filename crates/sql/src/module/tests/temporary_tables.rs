//! Temporary tables: nothing of them leaves the session.

use super::harness::Harness;
use super::{errno, read_in, texts, write_in};
use mysql_protocol::client::Response;
use protocol::Signal;
use protocol::program::{OperationResult, Refusal};
use types::{SchemaVersion, Value};

/// A response in short: rows, the number of affected rows, or the error.
fn shown(response: Response) -> String {
    match response {
        Response::Ok(completion) => format!("{}", completion.affected_rows),
        Response::Error(error) => format!("error {}", error.errno),
        rows => texts(rows)
            .into_iter()
            .map(|row| row.join(",").replace("Null", "NULL"))
            .collect::<Vec<_>>()
            .join(" "),
    }
}

/// Sends statements, and compares what becomes of each.
fn script(harness: &mut Harness, client: usize, statements: &[(&str, &str)]) {
    for (statement, expected) in statements {
        assert_eq!(shown(harness.ask(client, statement)), *expected, "{statement}");
    }
    assert!(harness.signals().is_empty(), "nothing of this asks anybody");
}

fn run(statements: &[(&str, &str)]) {
    let mut harness = Harness::new();
    let client = harness.connect();
    assert_eq!(shown(harness.ask(client, "USE test")), "0");
    script(&mut harness, client, statements);
}

#[test]
fn rows_are_written_read_and_dropped_with_their_table() {
    run(&[
        ("CREATE TEMPORARY TABLE a (id INT PRIMARY KEY, v VARCHAR(10))", "0"),
        ("INSERT INTO a VALUES (2, 'two'), (1, 'one'), (3, NULL)", "3"),
        ("SELECT * FROM a ORDER BY id", "1,one 2,two 3,NULL"),
        ("SELECT v FROM a WHERE id = 2", "two"),
        ("SELECT COUNT(*), MAX(v) FROM a", "3,two"),
        ("UPDATE a SET v = 'none' WHERE v IS NULL", "1"),
        ("DELETE FROM a WHERE id < 2", "1"),
        ("SELECT * FROM a ORDER BY id DESC", "3,none 2,two"),
        ("INSERT INTO a VALUES (2, 'again')", "error 1062"),
        ("INSERT IGNORE INTO a VALUES (2, 'again'), (4, 'four')", "1"),
        ("REPLACE INTO a VALUES (2, 'again')", "2"),
        ("INSERT INTO a VALUES (2, 'x') ON DUPLICATE KEY UPDATE v = CONCAT(v, VALUES(v))", "2"),
        ("SELECT * FROM a ORDER BY id", "2,againx 3,none 4,four"),
        ("SELECT * FROM a WHERE id > 2 FOR UPDATE", "3,none 4,four"),
        ("TRUNCATE TABLE a", "0"),
        ("SELECT COUNT(*) FROM a", "0"),
        ("DROP TABLE a", "0"),
        ("SELECT * FROM a", "error 1146"),
        ("DROP TEMPORARY TABLE a", "error 1051"),
        ("DROP TEMPORARY TABLE IF EXISTS a", "0"),
        ("SHOW WARNINGS", "Note,1051,Unknown table 'test.a'"),
    ]);
}

#[test]
fn unique_keys_indexes_and_constraints_hold() {
    run(&[
        (
            "CREATE TEMPORARY TABLE a (id INT AUTO_INCREMENT PRIMARY KEY, u INT, UNIQUE KEY by_u (u), k INT DEFAULT 7, \
             KEY by_k (k), d INT GENERATED ALWAYS AS (k * 2), CHECK (k < 100))",
            "0",
        ),
        ("INSERT INTO a (u) VALUES (10), (20), (NULL), (NULL)", "4"),
        ("SELECT * FROM a ORDER BY id", "1,10,7,14 2,20,7,14 3,NULL,7,14 4,NULL,7,14"),
        ("SELECT LAST_INSERT_ID()", "1"),
        ("INSERT INTO a (u) VALUES (30), (20)", "error 1062"),
        ("SELECT COUNT(*) FROM a", "4"),
        ("SELECT id FROM a WHERE u = 20", "2"),
        ("UPDATE a SET u = 10 WHERE id = 2", "error 1062"),
        ("UPDATE a SET u = u + 1 WHERE u IS NOT NULL", "2"),
        ("SELECT id, u FROM a WHERE u IN (10, 11, 20, 21) ORDER BY id", "1,11 2,21"),
        ("INSERT INTO a (u, k) VALUES (11, 50) ON DUPLICATE KEY UPDATE k = VALUES(k)", "2"),
        ("REPLACE INTO a (u, k) VALUES (21, 3)", "2"),
        ("SELECT u, k, d FROM a WHERE k <> 7 ORDER BY k", "21,3,6 11,50,100"),
        ("SELECT u FROM a WHERE k BETWEEN 2 AND 60 ORDER BY k DESC", "11 NULL NULL 21"),
        ("INSERT INTO a (k) VALUES (100)", "error 3819"),
        ("UPDATE a SET k = 100 WHERE u = 11", "error 3819"),
        ("UPDATE IGNORE a SET u = 21 WHERE u = 11", "0"),
        ("DELETE FROM a WHERE u = 11", "1"),
        ("INSERT INTO a (id, u) VALUES (100, 11)", "1"),
        ("INSERT INTO a (u) VALUES (12)", "1"),
        ("SELECT id FROM a WHERE u = 12", "101"),
        ("UPDATE a SET id = 200 WHERE u = 12", "1"),
        ("SELECT id FROM a WHERE u = 12", "200"),
        ("TRUNCATE a", "0"),
        ("INSERT INTO a (u) VALUES (11)", "1"),
        ("SELECT id, u FROM a", "1,11"),
    ]);
}

#[test]
fn a_table_without_a_primary_key_keeps_equal_rows() {
    run(&[
        ("CREATE TEMPORARY TABLE a (v INT) AUTO_INCREMENT = 5", "0"),
        ("INSERT INTO a VALUES (1), (1), (2)", "3"),
        ("INSERT INTO a SELECT v + 10 FROM a", "3"),
        ("SELECT v FROM a ORDER BY v", "1 1 2 11 11 12"),
        ("DELETE FROM a WHERE v = 1 LIMIT 1", "1"),
        ("SELECT v, COUNT(*) FROM a GROUP BY v ORDER BY v", "1,1 2,1 11,2 12,1"),
        ("CREATE TEMPORARY TABLE b (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY) AUTO_INCREMENT = 5", "0"),
        ("INSERT INTO b VALUES (NULL)", "1"),
        ("SELECT id FROM b", "5"),
        ("INSERT INTO b VALUES (18446744073709551615)", "1"),
        ("INSERT INTO b VALUES (NULL)", "error 1467"),
    ]);
}

#[test]
fn tables_are_made_like_others_and_of_queries() {
    run(&[
        ("CREATE TEMPORARY TABLE a LIKE t", "0"),
        ("INSERT INTO a VALUES (1, 10), (2, 20)", "2"),
        ("CREATE TEMPORARY TABLE b LIKE a", "0"),
        ("SELECT COUNT(*) FROM b", "0"),
        ("CREATE TEMPORARY TABLE c (extra INT DEFAULT 9) SELECT id, v * 2 AS w FROM a", "2"),
        ("SELECT * FROM c ORDER BY id", "9,1,20 9,2,40"),
        ("CREATE TEMPORARY TABLE c SELECT 1", "error 1050"),
        ("CREATE TEMPORARY TABLE IF NOT EXISTS c SELECT 1 AS x", "0"),
        ("SHOW WARNINGS", "Note,1050,Table 'c' already exists"),
        ("CREATE TEMPORARY TABLE IF NOT EXISTS c (x INT)", "0"),
        ("SELECT COUNT(*) FROM c", "2"),
        ("CREATE TEMPORARY TABLE d (id INT PRIMARY KEY) SELECT 1 AS id UNION ALL SELECT 1", "error 1062"),
        ("SELECT * FROM d", "error 1146"),
        ("CREATE TEMPORARY TABLE d (id INT PRIMARY KEY) REPLACE SELECT 1 AS id UNION ALL SELECT 1", "3"),
        ("SELECT * FROM d", "1"),
        ("CREATE TEMPORARY TABLE other.x (id INT)", "error 1049"),
        ("CREATE TEMPORARY TABLE x LIKE nothing", "error 1146"),
    ]);
}

#[test]
fn joins_and_subqueries_read_them() {
    run(&[
        ("CREATE TEMPORARY TABLE a (id INT PRIMARY KEY, v INT)", "0"),
        ("CREATE TEMPORARY TABLE b (id INT PRIMARY KEY, a INT, KEY (a))", "0"),
        ("INSERT INTO a VALUES (1, 10), (2, 20), (3, 30)", "3"),
        ("INSERT INTO b VALUES (1, 1), (2, 1), (3, 3), (4, 9)", "4"),
        ("SELECT a.v, b.id FROM a JOIN b ON b.a = a.id ORDER BY b.id", "10,1 10,2 30,3"),
        ("SELECT a.id, COUNT(b.id) FROM a LEFT JOIN b ON b.a = a.id GROUP BY a.id ORDER BY 1", "1,2 2,0 3,1"),
        // MySQL cannot open one of them twice.
        ("SELECT x.id FROM a x JOIN a y ON x.id + 1 = y.id ORDER BY 1", "1 2"),
        ("SELECT id FROM b WHERE a NOT IN (SELECT id FROM a)", "4"),
        ("SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.a = a.id) ORDER BY id", "1 3"),
        ("WITH c AS (SELECT a FROM b) SELECT COUNT(*) FROM c JOIN a ON a.id = c.a", "3"),
        ("SELECT v FROM a UNION SELECT id FROM b ORDER BY 1 LIMIT 3", "1 2 3"),
        ("SELECT id, SUM(v) OVER (ORDER BY id) FROM a", "1,10 2,30 3,60"),
        ("UPDATE a JOIN b ON b.a = a.id SET a.v = a.v + 1, b.a = b.a + 100", "5"),
        ("SELECT * FROM a ORDER BY id", "1,11 2,20 3,31"),
        ("SELECT * FROM b ORDER BY id", "1,101 2,101 3,103 4,9"),
        ("UPDATE a SET v = (SELECT MAX(id) FROM b) WHERE id IN (SELECT 2)", "1"),
        ("DELETE a, b FROM a, b WHERE a.id = b.id AND a.id > 1", "4"),
        ("SELECT COUNT(*) FROM a", "1"),
        ("SELECT id FROM b ORDER BY id", "1 4"),
        ("INSERT INTO a SELECT id + 50, a FROM b ON DUPLICATE KEY UPDATE v = 0", "2"),
        ("SELECT * FROM a ORDER BY id", "1,11 51,101 54,9"),
    ]);
}

#[test]
fn subqueries_in_on_and_beside_inserted_rows_read_them() {
    let latest = "ON b.id = (SELECT MAX(x.id) FROM b x WHERE x.a = a.id)";
    let (left, inner) = (
        format!("SELECT a.id, b.id FROM a LEFT JOIN b {latest} ORDER BY a.id"),
        format!("SELECT a.id, b.id FROM a JOIN b {latest} ORDER BY a.id"),
    );
    let (update, delete) =
        (format!("UPDATE a LEFT JOIN b {latest} SET a.v = b.id"), format!("DELETE b FROM a JOIN b {latest}"));
    run(&[
        ("CREATE TEMPORARY TABLE a (id INT PRIMARY KEY, v INT)", "0"),
        ("CREATE TEMPORARY TABLE b (id INT PRIMARY KEY, a INT, KEY (a))", "0"),
        ("INSERT INTO a VALUES (1, 10), (2, 20), (3, 30)", "3"),
        ("INSERT INTO b VALUES (1, 1), (2, 1), (3, 3), (4, 9)", "4"),
        (&left, "1,2 2,NULL 3,3"),
        (&inner, "1,2 3,3"),
        (
            "SELECT a.id, b.id FROM a LEFT JOIN b ON b.id = (SELECT x.id FROM b x WHERE x.a = a.id ORDER BY x.id LIMIT 1) ORDER BY a.id",
            "1,1 2,NULL 3,3",
        ),
        (
            "SELECT a.id, b.id FROM b RIGHT JOIN a ON b.a = a.id AND NOT EXISTS (SELECT 1 FROM b x WHERE x.a = b.a AND x.id > b.id) \
             ORDER BY a.id",
            "1,2 2,NULL 3,3",
        ),
        (
            "SELECT a.id, b.id FROM a LEFT JOIN b ON b.a = a.id AND EXISTS (SELECT 1 FROM b x WHERE x.id = a.id + b.id) ORDER BY a.id, b.id",
            "1,1 1,2 2,NULL 3,NULL",
        ),
        (&update, "3"),
        ("SELECT * FROM a ORDER BY id", "1,2 2,NULL 3,3"),
        (&delete, "2"),
        ("SELECT id FROM b ORDER BY id", "1 4"),
        (
            "INSERT INTO a VALUES (1, 4), (5, 5) ON DUPLICATE KEY UPDATE v = (SELECT a FROM b WHERE b.id = VALUES(v))",
            "3",
        ),
        (
            "INSERT INTO a VALUES (2, 1) AS new ON DUPLICATE KEY UPDATE v = new.id NOT IN (SELECT id FROM b)",
            "2",
        ),
        (
            "INSERT INTO a SELECT 5, a FROM b ON DUPLICATE KEY UPDATE v = a.v + (SELECT COUNT(*) FROM b x WHERE x.a = b.a)",
            "4",
        ),
        ("SELECT * FROM a ORDER BY id", "1,9 2,1 3,3 5,7"),
        ("INSERT INTO a VALUES (1, 4) ON DUPLICATE KEY UPDATE v = (SELECT id FROM b)", "error 1242"),
        ("INSERT INTO a VALUES ((SELECT MAX(id) + 1 FROM a), 8)", "1"),
        ("REPLACE INTO a SET id = (SELECT MAX(m) FROM (SELECT MAX(id) AS m FROM a) d), v = 1", "2"),
        ("SELECT v FROM a WHERE id = 6", "1"),
    ]);
}

#[test]
fn transactions_savepoints_and_failed_statements_undo_rows() {
    run(&[
        ("CREATE TEMPORARY TABLE a (id INT PRIMARY KEY, v INT, UNIQUE KEY (v))", "0"),
        ("INSERT INTO a VALUES (1, 10)", "1"),
        ("BEGIN", "0"),
        ("INSERT INTO a VALUES (2, 20)", "1"),
        ("UPDATE a SET v = 11 WHERE id = 1", "1"),
        ("INSERT INTO a VALUES (3, 30), (4, 20)", "error 1062"),
        ("SELECT * FROM a ORDER BY id", "1,11 2,20"),
        ("SAVEPOINT s", "0"),
        ("DELETE FROM a", "2"),
        ("INSERT INTO a VALUES (5, 50)", "1"),
        ("ROLLBACK TO s", "0"),
        ("SELECT * FROM a ORDER BY id", "1,11 2,20"),
        ("SELECT id FROM a WHERE v = 20", "2"),
        ("ROLLBACK", "0"),
        ("SELECT * FROM a", "1,10"),
        ("SELECT id FROM a WHERE v = 11", ""),
        ("BEGIN", "0"),
        ("UPDATE a SET v = 12", "1"),
        ("COMMIT", "0"),
        ("ROLLBACK", "0"),
        ("SELECT * FROM a", "1,12"),
        ("SET autocommit = 0", "0"),
        ("INSERT INTO a VALUES (2, 20)", "1"),
        ("ROLLBACK", "0"),
        ("SELECT COUNT(*) FROM a", "1"),
        ("INSERT INTO a VALUES (2, 20)", "1"),
        ("SET autocommit = 1", "0"),
        ("SELECT COUNT(*) FROM a", "2"),
    ]);
}

#[test]
fn making_and_dropping_them_commits_nothing_but_changing_them_does() {
    run(&[
        ("CREATE TEMPORARY TABLE a (id INT PRIMARY KEY)", "0"),
        ("BEGIN", "0"),
        ("INSERT INTO a VALUES (1)", "1"),
        ("CREATE TEMPORARY TABLE b SELECT id FROM a", "1"),
        ("CREATE TEMPORARY TABLE c (id INT)", "0"),
        ("DROP TEMPORARY TABLE c", "0"),
        ("ROLLBACK", "0"),
        ("SELECT COUNT(*) FROM a", "0"),
        ("SELECT COUNT(*) FROM b", "0"),
        ("BEGIN", "0"),
        ("INSERT INTO a VALUES (1)", "1"),
        ("ALTER TABLE b ADD COLUMN x INT", "0"),
        ("ROLLBACK", "0"),
        ("SELECT COUNT(*) FROM a", "1"),
        ("BEGIN", "0"),
        ("INSERT INTO a VALUES (2)", "1"),
        ("DROP TABLE b", "0"),
        ("ROLLBACK", "0"),
        ("SELECT COUNT(*) FROM a", "2"),
        // Rows that were staged in a table that is dropped go with it.
        ("BEGIN", "0"),
        ("INSERT INTO a VALUES (3)", "1"),
        ("SAVEPOINT s", "0"),
        ("DROP TEMPORARY TABLE a", "0"),
        ("CREATE TEMPORARY TABLE a (id INT PRIMARY KEY)", "0"),
        ("INSERT INTO a VALUES (3)", "1"),
        ("ROLLBACK TO s", "0"),
        ("SELECT COUNT(*) FROM a", "0"),
        ("COMMIT", "0"),
        ("START TRANSACTION READ ONLY", "0"),
        ("INSERT INTO a VALUES (4)", "1"),
        ("CREATE TEMPORARY TABLE b (id INT)", "error 1792"),
        ("COMMIT", "0"),
        ("SELECT * FROM a", "4"),
    ]);
}

#[test]
fn read_only_may_be_said_of_the_next_transaction() {
    run(&[
        ("SET TRANSACTION READ ONLY", "0"),
        ("BEGIN", "0"),
        ("CREATE TEMPORARY TABLE a (id INT)", "error 1792"),
        ("SET TRANSACTION READ WRITE", "error 1568"),
        ("COMMIT", "0"),
        ("CREATE TEMPORARY TABLE a (id INT)", "0"),
        ("SET SESSION TRANSACTION READ ONLY", "0"),
        ("START TRANSACTION READ WRITE", "0"),
        ("CREATE TEMPORARY TABLE b (id INT)", "0"),
        ("COMMIT", "0"),
        ("SET @@transaction_read_only = 0", "0"),
        ("START TRANSACTION", "0"),
        ("CREATE TEMPORARY TABLE c (id INT)", "0"),
        ("COMMIT", "0"),
        ("START TRANSACTION", "0"),
        ("CREATE TEMPORARY TABLE d (id INT)", "error 1792"),
        ("COMMIT", "0"),
    ]);
}

#[test]
fn tables_are_altered() {
    run(&[
        ("CREATE TEMPORARY TABLE a (id INT PRIMARY KEY, v VARCHAR(10))", "0"),
        ("INSERT INTO a VALUES (1, '1'), (2, '2'), (3, '2')", "3"),
        ("ALTER TABLE a ADD COLUMN w INT NOT NULL DEFAULT 5 AFTER id, ADD KEY (w)", "3"),
        ("SELECT * FROM a ORDER BY id", "1,5,1 2,5,2 3,5,2"),
        ("ALTER TABLE a ADD UNIQUE KEY (v)", "error 1062"),
        ("SELECT * FROM a WHERE w = 5 ORDER BY id", "1,5,1 2,5,2 3,5,2"),
        ("DELETE FROM a WHERE id = 3", "1"),
        ("CREATE UNIQUE INDEX by_v ON a (v)", "2"),
        ("INSERT INTO a VALUES (4, 1, '2')", "error 1062"),
        ("ALTER TABLE a MODIFY v INT, DROP COLUMN w", "2"),
        ("SELECT id, v + 1 FROM a ORDER BY id", "1,2 2,3"),
        ("DROP INDEX by_v ON a", "2"),
        ("INSERT INTO a VALUES (4, 2)", "1"),
        ("ALTER TABLE a RENAME TO b", "3"),
        ("SELECT * FROM a", "error 1146"),
        ("SELECT COUNT(*) FROM b", "3"),
        ("ALTER TABLE b ADD n INT", "3"),
        ("ALTER TABLE b MODIFY n INT NOT NULL", "error 1138"),
        ("SELECT COUNT(*) FROM b WHERE n IS NULL", "3"),
        ("ALTER TABLE b DROP COLUMN nothing", "error 1091"),
        ("CREATE TEMPORARY TABLE c (id INT AUTO_INCREMENT PRIMARY KEY)", "0"),
        ("INSERT INTO c VALUES (7)", "1"),
        ("ALTER TABLE c ADD v INT", "1"),
        ("INSERT INTO c (v) VALUES (1)", "1"),
        ("SELECT id FROM c ORDER BY id", "7 8"),
        ("ALTER TABLE c AUTO_INCREMENT = 50", "2"),
        ("INSERT INTO c (v) VALUES (1)", "1"),
        ("SELECT MAX(id) FROM c", "50"),
    ]);
}

#[test]
fn definitions_are_shown() {
    run(&[
        ("CREATE TEMPORARY TABLE a (id INT PRIMARY KEY, v INT, UNIQUE KEY (v))", "0"),
        (
            "SHOW CREATE TABLE a",
            "a,CREATE TEMPORARY TABLE `a` (\n  `id` int NOT NULL,\n  `v` int DEFAULT NULL,\n  PRIMARY KEY (`id`),\n  \
             UNIQUE KEY `v` (`v`)\n) ENGINE=LatsDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci",
        ),
        ("DESCRIBE a", "id,int,NO,PRI,NULL, v,int,YES,UNI,NULL,"),
        ("SHOW COLUMNS FROM a LIKE 'v'", "v,int,YES,UNI,NULL,"),
        ("SHOW TABLES", "t"),
        (
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'test' AND table_name = 'a'",
            "0",
        ),
        ("CREATE VIEW w AS SELECT * FROM a", "error 1352"),
    ]);
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.ask(client, "CREATE TEMPORARY TABLE test.a (id INT PRIMARY KEY, v INT, UNIQUE KEY (v))");
    let indexes = texts(harness.ask(client, "SHOW INDEX FROM test.a"));
    let names: Vec<&str> = indexes.iter().map(|row| row[2].as_str()).collect();
    assert_eq!(names, ["PRIMARY", "v"]);
}

#[test]
fn a_temporary_table_hides_another_one_until_it_is_dropped() {
    let mut harness = Harness::new();
    let (client, other) = (harness.connect(), harness.connect());
    let read = |harness: &mut Harness, client| {
        harness.query(client, "SELECT v FROM test.t WHERE id > 0");
        let read = read_in(harness.only_signal());
        harness.read_done(&read, &[vec![Value::Int(77)]]);
        shown(harness.response(client))
    };
    // The plan is in the cache.
    assert_eq!(read(&mut harness, client), "77");
    script(
        &mut harness,
        client,
        &[
            ("CREATE TEMPORARY TABLE test.t (id INT PRIMARY KEY, v INT)", "0"),
            ("CREATE TEMPORARY TABLE test.t (id INT)", "error 1050"),
            ("INSERT INTO test.t VALUES (1, 5)", "1"),
            ("SELECT v FROM test.t WHERE id > 0", "5"),
            ("SELECT v FROM test.t WHERE id > 0", "5"),
            ("SELECT v FROM test.t WHERE id = 1", "5"),
        ],
    );
    // Not for others.
    assert_eq!(read(&mut harness, other), "77");
    script(&mut harness, client, &[("DROP TABLE test.t", "0")]);
    assert_eq!(read(&mut harness, client), "77");
}

#[test]
fn they_are_used_beside_stored_tables() {
    let mut harness = Harness::new();
    let client = harness.connect();
    script(
        &mut harness,
        client,
        &[
            ("CREATE TEMPORARY TABLE test.a (id INT PRIMARY KEY, v INT)", "0"),
            ("INSERT INTO test.a VALUES (1, 5), (2, 6)", "2"),
        ],
    );
    harness.query(client, "SELECT t.v, a.v FROM test.t STRAIGHT_JOIN test.a ON a.id = t.id WHERE t.id > 0");
    let read = read_in(harness.only_signal());
    harness.read_done(&read, &[vec![Value::Int(1), Value::Int(70)], vec![Value::Int(3), Value::Int(71)]]);
    assert_eq!(shown(harness.response(client)), "70,5");
    // Rows of a stored table go into a temporary one, and back.
    harness.query(client, "INSERT INTO test.a SELECT id, v FROM test.t WHERE id > 0");
    let read = read_in(harness.only_signal());
    harness.read_done(&read, &[vec![Value::Int(3), Value::Int(70)]]);
    assert_eq!(shown(harness.response(client)), "1");
    harness.query(client, "INSERT INTO test.t SELECT id, v FROM test.a WHERE id = 3");
    let write = write_in(harness.only_signal());
    assert!(write.commit.is_some());
    harness.written_in(&write, vec![OperationResult::Inserted], 1);
}

#[test]
fn a_statement_that_fails_elsewhere_undoes_its_own_rows_only() {
    let mut harness = Harness::new();
    let client = harness.connect();
    script(
        &mut harness,
        client,
        &[
            ("CREATE TEMPORARY TABLE test.a (id INT PRIMARY KEY)", "0"),
            ("BEGIN", "0"),
            ("INSERT INTO test.a VALUES (1)", "1"),
        ],
    );
    harness.query(client, "INSERT INTO test.t VALUES (1, 1)");
    let write = write_in(harness.only_signal());
    harness.refused(&write, 0, Refusal::LockTimeout);
    // All that its participant has is undone by an abort; rows of before stay.
    assert!(matches!(harness.only_signal(), Signal::Abort { .. }));
    assert_eq!(errno(harness.response(client)), 1205);
    script(
        &mut harness,
        client,
        &[("SELECT id FROM test.a", "1"), ("ROLLBACK", "0"), ("SELECT COUNT(*) FROM test.a", "0")],
    );
}

#[test]
fn a_deadlock_rolls_them_back_too() {
    let mut harness = Harness::new();
    let client = harness.connect();
    script(
        &mut harness,
        client,
        &[
            ("CREATE TEMPORARY TABLE test.a (id INT PRIMARY KEY)", "0"),
            ("BEGIN", "0"),
            ("INSERT INTO test.a VALUES (1)", "1"),
        ],
    );
    harness.query(client, "INSERT INTO test.t VALUES (1, 1)");
    let write = write_in(harness.only_signal());
    harness.refused(&write, 0, Refusal::Deadlock { other: types::TransactionId(9) });
    harness.signals();
    assert_eq!(errno(harness.response(client)), 1213);
    script(&mut harness, client, &[("SELECT COUNT(*) FROM test.a", "0")]);
}

#[test]
fn prepared_statements_follow_the_names() {
    run(&[
        ("CREATE TEMPORARY TABLE a (id INT PRIMARY KEY, v INT)", "0"),
        ("INSERT INTO a VALUES (1, 10)", "1"),
        ("PREPARE s FROM 'SELECT * FROM a WHERE id = ?'", "0"),
        ("SET @x = 1", "0"),
        ("EXECUTE s USING @x", "1,10"),
        ("DROP TABLE a", "0"),
        ("EXECUTE s USING @x", "error 1146"),
        ("CREATE TEMPORARY TABLE a (id INT PRIMARY KEY, v INT, w INT)", "0"),
        ("INSERT INTO a VALUES (1, 10, 20)", "1"),
        ("EXECUTE s USING @x", "1,10,20"),
        ("PREPARE i FROM 'INSERT INTO a VALUES (?, 1, 1)'", "0"),
        ("SET @x = 2", "0"),
        ("EXECUTE i USING @x", "1"),
        ("EXECUTE s USING @x", "2,1,1"),
        (
            "EXPLAIN FORMAT=TREE SELECT COUNT(*) FROM a",
            "-> Aggregate: count(*)\n    -> Table scan on a (rows=2)\n",
        ),
    ]);
}

#[test]
fn a_plan_survives_other_schemas() {
    let mut harness = Harness::new();
    let client = harness.connect();
    script(
        &mut harness,
        client,
        &[
            ("CREATE TEMPORARY TABLE test.a (id INT PRIMARY KEY)", "0"),
            ("INSERT INTO test.a VALUES (1)", "1"),
        ],
    );
    harness.change_schema(|schema| schema.version = SchemaVersion(schema.version.0 + 1));
    script(
        &mut harness,
        client,
        &[("SELECT id FROM test.a", "1"), ("UPDATE test.a SET id = 2", "1"), ("SELECT id FROM test.a", "2")],
    );
}

#[test]
fn memory_is_limited_and_given_back() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let before = harness.query_memory();
    script(
        &mut harness,
        client,
        &[
            ("CREATE TEMPORARY TABLE test.a (id INT AUTO_INCREMENT PRIMARY KEY, v VARBINARY(30000))", "0"),
            ("INSERT INTO test.a (v) VALUES (REPEAT('x', 30000))", "1"),
        ],
    );
    let mut last = String::new();
    for _ in 0..14 {
        last = shown(harness.ask(client, "INSERT INTO test.a (v) SELECT v FROM test.a"));
        if last.starts_with("error") {
            break;
        }
    }
    // The rows of the query take memory, too.
    assert!(last == "error 1114" || last == "error 1041", "{last}");
    let rows: u64 = shown(harness.ask(client, "SELECT COUNT(*) FROM test.a")).parse().unwrap();
    assert!(rows >= 64 && rows.is_power_of_two(), "the failed statement left nothing: {rows}");
    assert!(harness.query_memory() - before >= rows * 30_000);
    let mut last = String::new();
    for _ in 0..4_000 {
        last = shown(harness.ask(client, "INSERT INTO test.a (v) VALUES (REPEAT('y', 30000))"));
        if last != "1" {
            break;
        }
    }
    assert_eq!(last, "error 1114");
    assert_eq!(shown(harness.ask(client, "DROP TABLE test.a")), "0");
    assert!(harness.query_memory() - before < 1 << 20, "{}", harness.query_memory());
}

#[test]
fn they_end_with_their_session() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let before = harness.query_memory();
    let make =
        "CREATE TEMPORARY TABLE test.a SELECT REPEAT('x', 60000) AS v UNION ALL SELECT REPEAT('y', 60000)";
    script(&mut harness, client, &[(make, "2")]);
    assert!(harness.query_memory() > before);
    harness.reset(client);
    assert_eq!(shown(harness.response(client)), "0");
    script(&mut harness, client, &[("SELECT * FROM test.a", "error 1146"), (make, "2")]);
    harness.disconnect(client);
    assert!(harness.query_memory() - before < 1 << 18);
}

#[test]
fn they_may_be_used_while_tables_are_locked() {
    let mut harness = Harness::new();
    let client = harness.connect();
    script(
        &mut harness,
        client,
        &[
            ("CREATE TEMPORARY TABLE test.a (id INT PRIMARY KEY)", "0"),
            ("LOCK TABLES test.a WRITE", "0"),
            ("INSERT INTO test.a VALUES (1)", "1"),
            ("SELECT * FROM test.a", "1"),
            ("CREATE TEMPORARY TABLE test.b (id INT)", "0"),
            ("SELECT * FROM test.b", ""),
            ("UNLOCK TABLES", "0"),
        ],
    );
}
