"""Checks of what columns keep: widths and digits of numbers, zero dates, ids below zero.

Client.py runs them. Where MySQL and MariaDB agree they hold for both.
"""

import datetime

from checks import connect, equal, fails_with, rows, run
from pymysql.constants import FLAG, FIELD_TYPE


def described(connection, text):
    """Name, type, length and digits of each column of a result, and whether it is ZEROFILL."""
    with connection.cursor() as cursor:
        cursor.execute(text)
        fields = cursor._result.fields
        return [(field.name, field.type_code, field.length, field.scale, bool(field.flags & FLAG.ZEROFILL)) for field in fields]


def numbers_keep_their_digits(session):
    """Drivers tell booleans by TINYINT(1); FLOAT(M,D) rounds; ZEROFILL shows zeros as text and none in numbers."""
    connection = session.another()
    run(connection, "DROP TABLE IF EXISTS digits")
    run(connection, "CREATE TABLE digits (id INT PRIMARY KEY, b BOOL, t TINYINT(1), z INT(5) ZEROFILL, f FLOAT(7,3), "
        "g DOUBLE(10,2), u FLOAT UNSIGNED, m DECIMAL(6,2) ZEROFILL)")
    equal(described(connection, "SELECT b, t, z, f, g FROM digits"),
          [("b", FIELD_TYPE.TINY, 1, 0, False), ("t", FIELD_TYPE.TINY, 1, 0, False), ("z", FIELD_TYPE.LONG, 5, 0, True),
           ("f", FIELD_TYPE.FLOAT, 7, 3, False), ("g", FIELD_TYPE.DOUBLE, 10, 2, False)])
    shown = dict(rows(connection, "SELECT column_name, column_type FROM information_schema.columns "
                      "WHERE table_schema = DATABASE() AND table_name = 'digits'"))
    equal({name: shown[name] for name in "btzfgum"},
          {"b": "tinyint(1)", "t": "tinyint(1)", "z": "int(5) unsigned zerofill", "f": "float(7,3)", "g": "double(10,2)",
           "u": "float unsigned", "m": "decimal(6,2) unsigned zerofill"})
    equal(rows(connection, "SELECT column_name, numeric_precision, numeric_scale FROM information_schema.columns "
               "WHERE table_schema = DATABASE() AND table_name = 'digits' AND column_name IN ('b', 'f', 'g') ORDER BY 1"),
          (("b", 3, 0), ("f", 7, 3), ("g", 10, 2)))
    definition = rows(connection, "SHOW CREATE TABLE digits")[0][1]
    equal("`b` tinyint(1) DEFAULT NULL" in definition and "`g` double(10,2) DEFAULT NULL" in definition, True, definition)
    run(connection, "INSERT INTO digits VALUES (1, TRUE, 7, 7, 1.23456, 1.005, 0.5, 1.5), (2, 0, 0, 1234567, -9999.9994, 2.675, 0, 0)")
    as_text = connect(session.host, session.write_port, database=connection.db.decode(), conv={})
    equal(rows(as_text, "SELECT z, f, g, m FROM digits ORDER BY id"),
          (("00007", "1.235", "1.00", "0001.50"), ("1234567", "-9999.999", "2.67", "0000.00")))
    run(connection, "UPDATE digits SET f = 2.0004, g = f + 0.004 WHERE id = 1")
    equal(rows(as_text, "SELECT f, g FROM digits WHERE id = 1"), (("2.000", "2.00"),))
    as_text.close()
    for column, value in (("f", "10000"), ("g", "1e9"), ("u", "-1"), ("z", "-1")):
        fails_with(1264, lambda: run(connection, f"INSERT INTO digits (id, {column}) VALUES (9, {value})"))
        fails_with(1264, lambda: run(connection, f"UPDATE digits SET {column} = {value} WHERE id = 1"))
    for definition, error in (("FLOAT(5,6)", 1427), ("DOUBLE(256,2)", 1439), ("INT(256)", 1439), ("FLOAT(54)", 1063),
                              ("DOUBLE(5)", 1064), ("VARCHAR(5) ZEROFILL", 1064)):
        fails_with(error, lambda: run(connection, f"CREATE TABLE refused (a {definition})"))


def zero_dates(session):
    """What sql_mode lets in is stored as it is, found by an index, and may be a default."""
    connection = session.another()
    run(connection, "DROP TABLE IF EXISTS dates")
    run(connection, "SET sql_mode = ''")
    run(connection, "CREATE TABLE dates (id INT PRIMARY KEY, d DATE, m DATETIME NOT NULL DEFAULT '0000-00-00 00:00:00', "
        "s TIMESTAMP NOT NULL DEFAULT '0000-00-00 00:00:00', KEY (d))")
    run(connection, "INSERT INTO dates (id, d) VALUES (1, '0000-00-00'), (2, '2024-00-00'), (3, '2024-02-00'), (4, '2024-02-31'), (5, '2024-01-31')")
    run(connection, "SET sql_mode = 'ALLOW_INVALID_DATES'")
    run(connection, "INSERT INTO dates (id, d, m) VALUES (6, '2024-02-31', '2024-04-31 01:02:03')")
    text = "SELECT id, CAST(d AS CHAR), CAST(m AS CHAR), CAST(s AS CHAR) FROM dates ORDER BY d, id"
    zero = "0000-00-00 00:00:00"
    equal(rows(connection, text), (
        (1, "0000-00-00", zero, zero), (4, "0000-00-00", zero, zero), (2, "2024-00-00", zero, zero), (5, "2024-01-31", zero, zero),
        (3, "2024-02-00", zero, zero), (6, "2024-02-31", "2024-04-31 01:02:03", zero)))
    equal(rows(connection, "SELECT id FROM dates WHERE d > '2024-02-00' ORDER BY d"), ((6,),))
    equal(rows(connection, "SELECT id FROM dates WHERE d = '2024-00-00'"), ((2,),))
    equal(rows(connection, "SELECT YEAR(d), MONTH(d), DAY(d), d + INTERVAL 1 DAY IS NULL FROM dates WHERE id = 2"), ((2024, 0, 0, 1),))
    run(connection, "SET sql_mode = 'NO_ZERO_DATE,NO_ZERO_IN_DATE'")
    equal(run(connection, "INSERT INTO dates (id, d) VALUES (7, '0000-00-00'), (8, '2024-00-00')"), 2)
    equal(rows(connection, "SELECT COUNT(*) FROM dates WHERE id > 6 AND d < '1000-01-01'"), ((2,),))
    run(connection, "SET sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE'")
    for value in ("'0000-00-00'", "'2024-00-00'", "'2024-02-31'", "0", "20240231"):
        fails_with(1292, lambda: run(connection, f"INSERT INTO dates VALUES (9, {value}, NOW(), NOW())"))
        fails_with(1292, lambda: run(connection, f"UPDATE dates SET d = {value} WHERE id = 5"))
    for definition in ("DATE DEFAULT '0000-00-00'", "DATETIME DEFAULT '2024-00-00'", "TIMESTAMP DEFAULT '0000-00-00 00:00:00'"):
        fails_with(1067, lambda: run(connection, f"CREATE TABLE refused (a {definition})"))
    fails_with(1525, lambda: rows(connection, "SELECT DATE'2024-00-00'"))
    run(connection, "SET sql_mode = 'STRICT_TRANS_TABLES'")
    fails_with(1292, lambda: run(connection, "INSERT INTO dates (id, s) VALUES (9, '2024-00-00')"))
    equal(run(connection, "INSERT INTO dates (id, d, s) VALUES (9, '2024-00-00', 0)"), 1)
    equal(rows(connection, "SELECT d FROM dates WHERE id = 5"), ((datetime.date(2024, 1, 31),),))


def ids_below_zero(session):
    """An explicit id below zero is told as its 64 bits, and the counter goes on as if it were not there."""
    connection = session.another()
    run(connection, "DROP TABLE IF EXISTS below")
    run(connection, "CREATE TABLE below (id INT AUTO_INCREMENT PRIMARY KEY, v INT)")
    run(connection, "INSERT INTO below VALUES (-5, 1)")
    equal(connection.insert_id(), 2**64 - 5)
    equal(rows(connection, "SELECT LAST_INSERT_ID()"), ((0,),))
    run(connection, "INSERT INTO below (v) VALUES (2)")
    first = connection.insert_id()
    equal(0 < first < 2**31, True, f"the drawn id {first}")
    run(connection, "INSERT INTO below VALUES (-7, 1), (NULL, 2), (-9, 3)")
    equal(first < connection.insert_id() < 2**31, True, "of the drawn value")
    equal(rows(connection, "SELECT COUNT(*), MIN(id) FROM below"), ((5, -9),))
