"""Checks of tables that come from queries, of changes through views, and of rules for rows.

Client.py runs them. Where MySQL and MariaDB agree they hold for both.
"""

import threading

from checks import equal, fails_with, rows, run


def names_of_tables(connection):
    return {name for name, in rows(connection, "SHOW TABLES")}


def tables_from_queries(session):
    """CREATE TABLE … SELECT: the table comes with its rows or not at all."""
    connection = session.another()
    run(connection, "DROP TABLE IF EXISTS source, made, made_2")
    run(connection, "CREATE TABLE source (id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(9) NOT NULL DEFAULT 'x' COMMENT 'kept', n INT)")
    run(connection, "INSERT INTO source (a, n) VALUES ('one', 1), ('two', 2), ('three', NULL)")
    equal(run(connection, "CREATE TABLE made (k INT AUTO_INCREMENT PRIMARY KEY, n BIGINT, KEY (id)) SELECT * FROM source WHERE id < 3 ORDER BY id"), 2)
    equal(rows(connection, "SELECT k, id, a, n FROM made ORDER BY k"), ((1, 1, "one", 1), (2, 2, "two", 2)))
    equal(rows(session.reader, "SELECT COUNT(*) FROM made"), ((2,),), "on another node")
    shown = dict((name, (kind, null, default)) for name, kind, null, _, default, _ in rows(connection, "DESCRIBE made"))
    equal([shown["n"][0], shown["a"], shown["id"]], ["bigint", ("varchar(9)", "NO", "x"), ("int", "NO", "0")])
    run(connection, "INSERT INTO made (a) VALUES ('four')")
    # A row that the table does not take: there is no table.
    fails_with(1062, lambda: run(connection, "CREATE TABLE made_2 (UNIQUE (x)) SELECT 1 AS x UNION ALL SELECT 1"))
    fails_with(1264, lambda: run(connection, "CREATE TABLE made_2 (id TINYINT) SELECT id * 1000 AS id FROM source"))
    fails_with(1048, lambda: run(connection, "CREATE TABLE made_2 (n INT NOT NULL) SELECT n FROM source"))
    fails_with(1364, lambda: run(connection, "CREATE TABLE made_2 (other INT NOT NULL) SELECT n FROM source"))
    equal("made_2" in names_of_tables(connection), False)
    fails_with(1146, lambda: rows(connection, "SELECT * FROM made_2"))
    fails_with(1050, lambda: run(connection, "CREATE TABLE made SELECT 1"))
    equal(run(connection, "CREATE TABLE IF NOT EXISTS made SELECT 1 AS k"), 0)
    equal(rows(connection, "SHOW WARNINGS")[0][1], 1050)
    equal(run(connection, "CREATE TABLE made_2 (UNIQUE (x)) REPLACE SELECT 1 AS x, 2 AS y UNION ALL SELECT 1, 3"), 3)
    equal(rows(connection, "SELECT * FROM made_2"), ((1, 3),))
    run(connection, "DROP TABLE made_2")
    run(connection, "CREATE TABLE made_2 (UNIQUE (x)) IGNORE SELECT 1 AS x, 2 AS y UNION ALL SELECT 1, 3")
    equal(rows(connection, "SHOW WARNINGS")[0][1], 1062)
    equal(rows(connection, "SELECT * FROM made_2"), ((1, 2),))
    run(connection, "DROP TABLE made_2")
    run(connection, "DROP TABLE IF EXISTS drawn")
    equal(run(connection, "CREATE TABLE drawn SELECT id, RAND() AS r, SLEEP(0.01) AS s FROM source"), 3)
    equal(rows(connection, "SELECT COUNT(DISTINCT r) = COUNT(*), SUM(s) FROM drawn"), ((1, 0),))
    # It commits what is open, and reads what that wrote.
    run(connection, "BEGIN")
    run(connection, "INSERT INTO source (a) VALUES ('open')")
    equal(run(connection, "CREATE TABLE made_2 ENGINE=InnoDB AS SELECT COUNT(*) AS c, table_name FROM source, information_schema.tables "
              "WHERE table_schema = DATABASE() AND table_name = 'source' GROUP BY table_name"), 1)
    run(connection, "ROLLBACK")
    equal(rows(connection, "SELECT c, table_name FROM made_2"), ((4, "source"),))
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE made_2")
        cursor.execute("CREATE TABLE made_2 SELECT * FROM source WHERE a = %s", ("open",))
        equal(cursor.rowcount, 1)
    connection.close()


def tables_from_tables_that_change(session):
    """While one client makes tables, others change their source and its columns: each table is whole."""
    connection, other = session.another(), session.another()
    run(connection, "DROP TABLE IF EXISTS moving_source, moving_copy")
    run(connection, "CREATE TABLE moving_source (id INT PRIMARY KEY, n INT)")
    run(connection, "INSERT INTO moving_source WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 900) SELECT n, n FROM r")
    stopped = threading.Event()

    def alter():
        number = 0
        while not stopped.is_set():
            number += 1
            run(other, f"ALTER TABLE moving_source ADD COLUMN c{number % 2} INT")
            run(other, "UPDATE moving_source SET n = n + 1 WHERE id < 10")
            run(other, f"ALTER TABLE moving_source DROP COLUMN c{number % 2}")

    thread = threading.Thread(target=alter)
    thread.start()
    try:
        for _ in range(8):
            equal(run(connection, "CREATE TABLE moving_copy (PRIMARY KEY (id)) SELECT * FROM moving_source"), 900)
            equal(rows(connection, "SELECT COUNT(*), COUNT(DISTINCT id) FROM moving_copy"), ((900, 900),))
            run(connection, "DROP TABLE moving_copy")
    finally:
        stopped.set()
        thread.join()
    connection.close()
    other.close()


def changes_through_views(session):
    """INSERT, UPDATE and DELETE reach the table behind a view; CHECK OPTION looks at the row afterwards."""
    connection = session.another()
    run(connection, "DROP VIEW IF EXISTS v_some, v_local, v_both, v_computed, v_grouped, v_joined, v_plain")
    run(connection, "DROP TABLE IF EXISTS behind")
    run(connection, "CREATE TABLE behind (id INT PRIMARY KEY, a INT, b VARCHAR(9) DEFAULT 'x', UNIQUE (b, id))")
    run(connection, "INSERT INTO behind VALUES (1, 1, 'one'), (2, 2, 'two'), (30, 30, 'thirty')")
    run(connection, "CREATE VIEW v_some (number, key_of_row) AS SELECT a, id FROM behind WHERE id < 20")
    equal(run(connection, "UPDATE v_some SET number = number + 10 WHERE key_of_row > 0"), 2)
    equal(rows(session.reader, "SELECT a FROM behind ORDER BY id"), ((11,), (12,), (30,)))
    equal(run(connection, "INSERT INTO v_some VALUES (7, 3), (8, 25)"), 2)
    equal(run(connection, "DELETE FROM v_some WHERE number = 8"), 0, "the view does not show the row")
    equal(run(connection, "DELETE FROM v_some ORDER BY key_of_row LIMIT 1"), 1)
    equal(rows(connection, "SELECT id, a, b FROM behind ORDER BY id"), ((2, 12, "two"), (3, 7, "x"), (25, 8, "x"), (30, 30, "thirty")))
    run(connection, "CREATE VIEW v_local AS SELECT key_of_row, number FROM v_some WHERE number < 100 WITH LOCAL CHECK OPTION")
    run(connection, "CREATE VIEW v_both AS SELECT * FROM v_some WHERE number < 100 WITH CASCADED CHECK OPTION")
    equal(run(connection, "INSERT INTO v_local VALUES (50, 5)"), 1, "only its own condition counts")
    fails_with(1369, lambda: run(connection, "INSERT INTO v_local VALUES (5, 500)"))
    fails_with(1369, lambda: run(connection, "INSERT INTO v_local VALUES (5, NULL)"))
    fails_with(1369, lambda: run(connection, "INSERT INTO v_both (key_of_row, number) VALUES (51, 5)"))
    fails_with(1369, lambda: run(connection, "UPDATE v_both SET number = 100 WHERE key_of_row = 2"))
    fails_with(1369, lambda: run(connection, "UPDATE v_both SET key_of_row = 60 WHERE key_of_row = 2"))
    equal(run(connection, "UPDATE v_both SET number = 99 WHERE key_of_row = 2"), 1)
    equal(run(connection, "INSERT IGNORE INTO v_both (key_of_row, number) VALUES (52, 5), (6, 5)"), 1)
    equal(rows(connection, "SHOW WARNINGS")[0][1], 1369)
    run(connection, "CREATE VIEW v_plain AS SELECT * FROM v_both")
    fails_with(1369, lambda: run(connection, "REPLACE INTO v_plain VALUES (100, 6)"))
    equal(run(connection, "REPLACE INTO v_plain VALUES (9, 6)"), 2)
    equal(run(connection, "INSERT INTO v_plain SELECT number + 1, key_of_row + 4 FROM v_plain WHERE key_of_row = 6"), 1)
    equal(rows(connection, "SELECT id, a FROM behind WHERE id IN (6, 10) ORDER BY id"), ((6, 9), (10, 10)))
    run(connection, "CREATE VIEW v_computed AS SELECT id, a, a + 1 AS next FROM behind")
    equal(run(connection, "UPDATE v_computed SET a = next WHERE id = 10"), 1)
    fails_with(1348, lambda: run(connection, "UPDATE v_computed SET next = 1 WHERE id = 10"))
    fails_with(1471, lambda: run(connection, "INSERT INTO v_computed (id, a) VALUES (11, 1)"))
    run(connection, "CREATE VIEW v_grouped AS SELECT a, COUNT(*) AS n FROM behind GROUP BY a")
    fails_with(1288, lambda: run(connection, "UPDATE v_grouped SET a = 1"))
    fails_with(1288, lambda: run(connection, "DELETE FROM v_grouped"))
    fails_with(1471, lambda: run(connection, "INSERT INTO v_grouped VALUES (1, 1)"))
    run(connection, "CREATE VIEW v_joined AS SELECT x.id, y.a FROM behind x JOIN behind y ON x.id = y.id")
    fails_with(1395, lambda: run(connection, "DELETE FROM v_joined"))
    fails_with(1368, lambda: run(connection, "CREATE VIEW v_never AS SELECT a, COUNT(*) FROM behind GROUP BY a WITH CHECK OPTION"))
    equal(rows(connection, "SELECT table_name, is_updatable FROM information_schema.views WHERE table_schema = DATABASE() AND table_name IN "
               "('v_some', 'v_plain', 'v_computed', 'v_grouped') ORDER BY 1"),
          (("v_computed", "YES"), ("v_grouped", "NO"), ("v_plain", "YES"), ("v_some", "YES")))
    connection.close()


def windows_in_views(session):
    """Window functions and ROLLUP in a view, also on another node."""
    connection = session.another()
    run(connection, "DROP VIEW IF EXISTS v_ranked, v_rolled")
    run(connection, "DROP TABLE IF EXISTS ranked")
    run(connection, "CREATE TABLE ranked (id INT PRIMARY KEY, a INT, b INT)")
    run(connection, "INSERT INTO ranked VALUES (1, 1, 5), (2, 1, 7), (3, 2, 9)")
    run(connection, "CREATE VIEW v_ranked AS SELECT id, ROW_NUMBER() OVER w AS n, SUM(b) OVER (PARTITION BY a ORDER BY id "
        "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM ranked WINDOW w AS (ORDER BY b DESC)")
    run(connection, "CREATE VIEW v_rolled AS SELECT a, SUM(b) AS s FROM ranked GROUP BY a WITH ROLLUP")
    for reader in (connection, session.reader):
        equal(rows(reader, "SELECT * FROM v_ranked WHERE n < 3 ORDER BY id"), ((2, 2, 12), (3, 1, 9)))
        equal(rows(reader, "SELECT * FROM v_rolled"), ((1, 12), (2, 9), (None, 21)))
    fails_with(1288, lambda: run(connection, "DELETE FROM v_ranked"))
    equal(rows(connection, "SELECT a, COUNT(*) FROM ranked GROUP BY a, a WITH ROLLUP"), ((1, 2), (None, 2), (2, 1), (None, 1), (None, 3)))
    connection.close()


def rules_for_rows(session):
    """CHECK constraints and generated columns hold for rows that come in any way, and for those that ALTER TABLE writes again."""
    connection = session.another()
    run(connection, "DROP TABLE IF EXISTS ruled")
    run(connection, "CREATE TABLE ruled (id INT PRIMARY KEY, a INT, b INT, low INT AS (LEAST(a, b)) STORED, both_of INT AS (a + b), "
        "CONSTRAINT in_order CHECK (a <= b), CHECK (both_of < 100), UNIQUE (low, id))")
    equal(run(connection, "INSERT INTO ruled (id, a, b) VALUES (1, 1, 2), (2, NULL, 5), (3, 3, 3)"), 3)
    equal(rows(session.reader, "SELECT id, low, both_of FROM ruled ORDER BY id"), ((1, 1, 3), (2, None, None), (3, 3, 6)))
    fails_with(3819, lambda: run(connection, "INSERT INTO ruled (id, a, b) VALUES (4, 2, 1)"))
    fails_with(3819, lambda: run(connection, "INSERT INTO ruled (id, a, b) VALUES (4, 50, 51)"))
    fails_with(3819, lambda: run(connection, "UPDATE ruled SET a = 9 WHERE id = 1"))
    fails_with(3819, lambda: run(connection, "UPDATE ruled SET b = b - 1"))
    fails_with(3819, lambda: run(connection, "INSERT INTO ruled (id, a, b) VALUES (1, 1, 2) ON DUPLICATE KEY UPDATE a = 7"))
    fails_with(3819, lambda: run(connection, "REPLACE INTO ruled (id, a, b) VALUES (1, 5, 4)"))
    fails_with(3819, lambda: run(connection, "INSERT INTO ruled (id, a, b) SELECT id + 10, b + 1, a FROM ruled"))
    equal(run(connection, "INSERT IGNORE INTO ruled (id, a, b) VALUES (5, 2, 1), (6, 1, 2)"), 1)
    equal(rows(connection, "SHOW WARNINGS")[0][1], 3819)
    fails_with(3105, lambda: run(connection, "INSERT INTO ruled (id, a, b, low) VALUES (7, 1, 2, 3)"))
    fails_with(3105, lambda: run(connection, "UPDATE ruled SET both_of = 1"))
    equal(run(connection, "UPDATE ruled SET a = 2, b = 8 WHERE id = 1"), 1)
    equal(rows(connection, "SELECT low, both_of FROM ruled WHERE low = 2"), ((2, 10),), "by the index of a generated column")
    equal(rows(connection, "SELECT id, both_of FROM ruled WHERE both_of > 5 ORDER BY id"), ((1, 10), (3, 6)))
    run(connection, "ALTER TABLE ruled MODIFY a BIGINT, MODIFY b BIGINT")
    equal(rows(session.reader, "SELECT id, low, both_of FROM ruled ORDER BY id"), ((1, 2, 10), (2, None, None), (3, 3, 6), (6, 1, 3)))
    fails_with(3819, lambda: run(connection, "UPDATE ruled SET a = 9 WHERE id = 1"))
    fails_with(3819, lambda: run(connection, "ALTER TABLE ruled ADD CONSTRAINT small CHECK (b < 5)"))
    run(connection, "ALTER TABLE ruled DROP CHECK in_order")
    equal(run(connection, "UPDATE ruled SET a = 9 WHERE id = 1"), 1)
    equal(rows(connection, "SELECT low, both_of FROM ruled WHERE id = 1"), ((8, 17),))
    connection.close()


def views_on_other_nodes(session):
    """A view is there on every node when CREATE VIEW returns, and follows its tables."""
    run(session.writer, "DROP VIEW IF EXISTS v_far")
    run(session.writer, "DROP TABLE IF EXISTS far")
    run(session.writer, "CREATE TABLE far (id INT PRIMARY KEY, a INT)")
    run(session.writer, "INSERT INTO far VALUES (1, 10), (2, 20)")
    for number in range(5):
        run(session.writer, f"CREATE OR REPLACE VIEW v_far AS SELECT id, a + {number} AS b FROM far")
        equal(rows(session.reader, "SELECT b FROM v_far ORDER BY id"), ((10 + number,), (20 + number,)))
    run(session.reader, "UPDATE v_far SET id = id + 10 WHERE b = 24")
    equal(rows(session.writer, "SELECT id FROM v_far ORDER BY id"), ((1,), (12,)))
    run(session.writer, "ALTER TABLE far RENAME COLUMN a TO c")
    fails_with(1356, lambda: rows(session.reader, "SELECT * FROM v_far"))
    run(session.writer, "ALTER TABLE far RENAME COLUMN c TO a")
    equal(rows(session.reader, "SELECT b FROM v_far WHERE id = 1"), ((14,),))
    run(session.writer, "DROP VIEW v_far")
    fails_with(1146, lambda: rows(session.reader, "SELECT * FROM v_far"))


def rows_that_are_numbered(session):
    """ALTER TABLE numbers rows that get a column with AUTO_INCREMENT, and takes primary keys away; temporary tables do as others."""
    connection = session.another()
    for kind in ("", "TEMPORARY "):
        run(connection, "DROP TABLE IF EXISTS numbered")
        run(connection, f"CREATE {kind}TABLE numbered (a INT PRIMARY KEY, b VARCHAR(9), KEY (b))")
        run(connection, "INSERT INTO numbered VALUES (30, 'x'), (10, 'y'), (20, 'x')")
        fails_with(1075, lambda: run(connection, "ALTER TABLE numbered ADD COLUMN id INT AUTO_INCREMENT"))
        run(connection, "ALTER TABLE numbered ADD COLUMN id INT AUTO_INCREMENT UNIQUE FIRST")
        equal(rows(connection, "SELECT id, a FROM numbered ORDER BY id"), ((1, 10), (2, 20), (3, 30)), kind)
        run(connection, "ALTER TABLE numbered DROP PRIMARY KEY")
        # The same key twice, and each index and its rows are there.
        run(connection, "INSERT INTO numbered (a, b) VALUES (10, 'x'), (40, 'z')")
        equal(rows(connection, "SELECT a, b FROM numbered WHERE b = 'x' ORDER BY a"), ((10, "x"), (20, "x"), (30, "x")), kind)
        equal(rows(connection, "SELECT COUNT(*), COUNT(DISTINCT id), MIN(id) FROM numbered"), ((5, 5, 1),), kind)
        equal(run(connection, "DELETE FROM numbered WHERE a = 10"), 2, kind)
        fails_with(1091, lambda: run(connection, "ALTER TABLE numbered DROP PRIMARY KEY"))
        fails_with(1068, lambda: run(connection, "ALTER TABLE numbered ADD PRIMARY KEY (a), ADD PRIMARY KEY (b)"))
        run(connection, "ALTER TABLE numbered DROP COLUMN id, ADD COLUMN k BIGINT AUTO_INCREMENT PRIMARY KEY, AUTO_INCREMENT = 50")
        run(connection, "INSERT INTO numbered (a, b) VALUES (50, 'w')")
        equal(rows(connection, "SELECT COUNT(*), COUNT(DISTINCT k) FROM numbered WHERE k >= 50"), ((4, 4),), kind)
    run(connection, "DROP TABLE numbered")
    connection.close()
