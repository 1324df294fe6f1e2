"""PyMySQL and SQLAlchemy Core against two SQL ports of one database: what is written on one is read on the other.

    python3 client.py --write-port 3306 --read-port 3307

The two ports may be the same. It works in database `client_test`, which it drops at the beginning and
leaves behind for whoever compares replicas. Where MySQL and MariaDB agree it
holds for both, so it can be tried against MariaDB.
"""

import concurrent.futures
import datetime
import decimal
import random
import time

import pymysql
import sqlalchemy
from sqlalchemy import func, select

from checks import Checks, connect, equal, fails_with, options, rows, run
from columns import ids_below_zero, numbers_keep_their_digits, zero_dates
from connecting import modes_of_sessions, variables_of_the_cluster, what_programs_send
from prepared import Prepared
from tables import (changes_through_views, rows_that_are_numbered, rules_for_rows, tables_from_queries, tables_from_tables_that_change, views_on_other_nodes,
                    windows_in_views)

DATABASE = "client_test"
TEXTS = ["", "plain", "naïve Ünïcödé", "日本語テキスト", "🧀🚀👩‍👩‍👧", "quote ' double \" back \\ slash", "line\nfeed\ttab\0zero", " trailing "]


class Session:
    """The two ports, and a connection to each."""

    def __init__(self, chosen):
        self.host, self.write_port, self.read_port = chosen.host, chosen.write_port, chosen.read_port
        self.writer = connect(self.host, self.write_port)
        run(self.writer, f"DROP DATABASE IF EXISTS {DATABASE}")
        run(self.writer, f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4")
        self.writer.select_db(DATABASE)
        self.reader = connect(self.host, self.read_port, database=DATABASE)

    def another(self, **settings):
        return connect(self.host, self.write_port, database=DATABASE, **settings)


# Column type, and values that read back as they are.
TYPES = [
    ("TINYINT", [-128, 0, 127]),
    ("TINYINT UNSIGNED", [0, 255]),
    ("SMALLINT", [-32768, 32767]),
    ("SMALLINT UNSIGNED", [65535]),
    ("MEDIUMINT", [-8388608, 8388607]),
    ("MEDIUMINT UNSIGNED", [16777215]),
    ("INT", [-2147483648, 2147483647]),
    ("INT UNSIGNED", [4294967295]),
    ("BIGINT", [-9223372036854775808, 9223372036854775807]),
    ("BIGINT UNSIGNED", [0, 18446744073709551615]),
    ("BOOLEAN", [0, 1]),
    ("DECIMAL(10,2)", [decimal.Decimal("-99999999.99"), decimal.Decimal("0.00"), decimal.Decimal("12.50")]),
    ("DECIMAL(65,30)", [decimal.Decimal("12345678901234567890123456789012345.123456789012345678901234567890")]),
    ("DOUBLE", [-1.5, 0.0, 3.141592653589793, 1.7976931348623157e308]),
    ("FLOAT", [-0.5, 0.25, 1024.0]),
    ("BIT(1)", [b"\x00", b"\x01"]),
    ("BIT(17)", [b"\x01\xff\xff"]),
    ("CHAR(20)", ["", "abc", "käse 🧀"]),
    ("VARCHAR(200)", TEXTS),
    ("BINARY(4)", [b"\x00\x01\xfe\xff"]),
    ("VARBINARY(300)", [b"", bytes(range(256))]),
    ("TINYTEXT", TEXTS),
    ("TEXT", TEXTS + ["x" * 60_000]),
    ("MEDIUMTEXT", TEXTS),
    ("LONGTEXT", TEXTS),
    ("TINYBLOB", [b"", b"\x00" * 255]),
    ("BLOB", [bytes(range(256)) * 200]),
    ("MEDIUMBLOB", [bytes(range(256)) * 2_000]),
    ("LONGBLOB", [b"", b"'\"\\\0\n\r\x1a%_"]),
    ("ENUM('small','large','grö\u00dfe')", ["small", "grö\u00dfe"]),
    ("SET('a','b','c')", ["", "a", "a,c"]),
    ("DATE", [datetime.date(1000, 1, 1), datetime.date(2024, 2, 29), datetime.date(9999, 12, 31)]),
    ("TIME", [datetime.timedelta(0), datetime.timedelta(hours=838, minutes=59, seconds=59), -datetime.timedelta(hours=1)]),
    ("TIME(6)", [datetime.timedelta(hours=12, microseconds=1)]),
    ("DATETIME", [datetime.datetime(1000, 1, 1), datetime.datetime(2024, 2, 29, 23, 59, 59)]),
    ("DATETIME(6)", [datetime.datetime(2024, 2, 29, 23, 59, 59, 999_999)]),
    ("TIMESTAMP NULL", [datetime.datetime(2024, 2, 29, 12, 0, 1)]),
    ("TIMESTAMP(3) NULL", [datetime.datetime(2037, 12, 31, 23, 59, 59, 123_000)]),
    ("YEAR", [1901, 2024, 2155]),
]


def one_type(session, column_type, values):
    """NULL and each value: written by literal, read on the other port, found by comparison."""
    run(session.writer, "DROP TABLE IF EXISTS one_type")
    run(session.writer, f"CREATE TABLE one_type (id INT PRIMARY KEY, v {column_type})")
    written = [(0, None)] + list(enumerate(values, 1))
    with session.writer.cursor() as cursor:
        cursor.executemany("INSERT INTO one_type (id, v) VALUES (%s, %s)", written)
    equal(list(rows(session.reader, "SELECT id, v FROM one_type ORDER BY id")), written, column_type)
    equal(rows(session.reader, "SELECT id FROM one_type WHERE v IS NULL"), ((0,),), "NULL")


def all_types_in_one_row(session):
    """A table with a column of every type; a row of values, a row of NULLs."""
    columns = ", ".join(f"c{index} {column_type}" for index, (column_type, _) in enumerate(TYPES))
    run(session.writer, "DROP TABLE IF EXISTS all_types")
    run(session.writer, f"CREATE TABLE all_types (id BIGINT AUTO_INCREMENT PRIMARY KEY, {columns})")
    names = ", ".join(f"c{index}" for index in range(len(TYPES)))
    marks = ", ".join(["%s"] * len(TYPES))
    last = [values[-1] for _, values in TYPES]
    run(session.writer, f"INSERT INTO all_types ({names}) VALUES ({marks})", last)
    run(session.writer, f"INSERT INTO all_types ({names}) VALUES ({marks})", [None] * len(TYPES))
    found = rows(session.reader, f"SELECT {names} FROM all_types ORDER BY id")
    equal(list(found[0]), last, "the row of values")
    equal(list(found[1]), [None] * len(TYPES), "the row of NULLs")


def large_values(session):
    """20 MiB in one value, as text and as bytes: more than one packet holds."""
    size = 20 << 20
    content = random.Random(20).randbytes(size)
    text = ("ä🧀x" * (size // 7 + 1))[: size // 3]
    run(session.writer, "CREATE TABLE large (id INT PRIMARY KEY, b LONGBLOB, t LONGTEXT)")
    run(session.writer, "INSERT INTO large VALUES (1, _binary %s, %s)", (content, text))
    ((found_bytes, found_text, bytes_length, text_length),) = rows(
        session.reader, "SELECT b, t, LENGTH(b), CHAR_LENGTH(t) FROM large WHERE id = 1"
    )
    equal((bytes_length, text_length), (size, len(text)), "lengths")
    if found_bytes != content or found_text != text:
        raise AssertionError("20 MiB do not read back equal")
    run(session.writer, "UPDATE large SET b = NULL, t = '' WHERE id = 1")
    equal(rows(session.reader, "SELECT b, t FROM large"), ((None, ""),))


def transactions(session):
    """Commit, rollback, savepoints, a statement that fails within a transaction."""
    run(session.writer, "CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL)")
    run(session.writer, "INSERT INTO account VALUES (1, 100), (2, 0), (3, 0)")
    other = session.another(autocommit=False)
    run(other, "UPDATE account SET balance = balance - 30 WHERE id = 1")
    run(other, "UPDATE account SET balance = balance + 30 WHERE id = 2")
    equal(rows(other, "SELECT balance FROM account WHERE id = 1"), ((70,),), "own writes are seen")
    equal(rows(session.reader, "SELECT balance FROM account WHERE id = 1"), ((100,),), "others do not see them")
    other.rollback()
    equal(rows(session.reader, "SELECT SUM(balance) FROM account"), ((100,),), "after rollback")
    equal(rows(other, "SELECT balance FROM account WHERE id = 1"), ((100,),), "after rollback, here")
    run(other, "UPDATE account SET balance = 60 WHERE id = 1")
    run(other, "SAVEPOINT half")
    run(other, "UPDATE account SET balance = 40 WHERE id = 2")
    run(other, "INSERT INTO account VALUES (4, 1)")
    run(other, "ROLLBACK TO SAVEPOINT half")
    fails_with(1062, lambda: run(other, "INSERT INTO account VALUES (5, 5), (3, 3)"))
    run(other, "UPDATE account SET balance = 40 WHERE id = 3")
    other.commit()
    found = rows(session.reader, "SELECT id, balance FROM account ORDER BY id")
    equal(found, ((1, 60), (2, 0), (3, 40)), "after commit")
    other.close()


def row_locks(session):
    """FOR UPDATE makes others wait; a wait has an end."""
    run(session.writer, "CREATE TABLE locked (id INT PRIMARY KEY, v INT)")
    run(session.writer, "INSERT INTO locked VALUES (1, 1), (2, 2)")
    first, second = session.another(autocommit=False), session.another(autocommit=False)
    run(first, "SELECT * FROM locked WHERE id = 1 FOR UPDATE")
    run(second, "SET SESSION innodb_lock_wait_timeout = 1")
    fails_with(1205, lambda: run(second, "UPDATE locked SET v = 3 WHERE id = 1"))
    run(second, "UPDATE locked SET v = 3 WHERE id = 2")
    second.commit()
    first.commit()
    run(second, "UPDATE locked SET v = 4 WHERE id = 1")
    second.commit()
    equal(rows(session.reader, "SELECT v FROM locked ORDER BY id"), ((4,), (3,)))
    first.close()
    second.close()


def errors_by_number(session):
    """The numbers that programs branch on."""
    run(session.writer, "CREATE TABLE strict (id INT PRIMARY KEY, small TINYINT NOT NULL, name VARCHAR(3), UNIQUE KEY (name))")
    run(session.writer, "INSERT INTO strict VALUES (1, 1, 'abc')")
    for number, text in [
        (1062, "INSERT INTO strict VALUES (1, 1, 'x')"),
        (1062, "INSERT INTO strict VALUES (2, 1, 'abc')"),
        (1048, "INSERT INTO strict VALUES (2, NULL, 'x')"),
        (1264, "INSERT INTO strict VALUES (2, 128, 'x')"),
        (1406, "INSERT INTO strict VALUES (2, 1, 'abcd')"),
        (1364, "INSERT INTO strict (id) VALUES (2)"),
        (1366, "INSERT INTO strict VALUES (2, 'many', 'x')"),
        (1136, "INSERT INTO strict VALUES (2, 1)"),
        (1064, "SELEKT 1"),
        (1054, "SELECT nothing FROM strict"),
        (1146, "SELECT * FROM nothing"),
        (1050, "CREATE TABLE strict (id INT PRIMARY KEY)"),
        (1051, "DROP TABLE nothing"),
        (1049, "USE nothing_at_all"),
        (1007, f"CREATE DATABASE {DATABASE}"),
        (1008, "DROP DATABASE nothing_at_all"),
        (1091, "DROP INDEX nothing ON strict"),
        (1046, None),
    ]:
        if text is None:
            homeless = connect(session.host, session.write_port)
            fails_with(number, lambda: run(homeless, "SELECT * FROM strict"))
            homeless.close()
        else:
            fails_with(number, lambda text=text: run(session.writer, text))
    equal(rows(session.reader, "SELECT * FROM strict"), ((1, 1, "abc"),), "nothing was changed by errors")
    fails_with(1045, lambda: pymysql.connect(host=session.host, port=session.write_port, user="nobody", password="wrong"))


def statements(session):
    """IGNORE, ON DUPLICATE KEY UPDATE, REPLACE, LIMIT, aggregates."""
    run(session.writer, "CREATE TABLE item (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20) UNIQUE, n INT DEFAULT 7)")
    equal(run(session.writer, "INSERT INTO item (name) VALUES ('a'), ('b'), ('c')"), 3)
    equal(run(session.writer, "INSERT IGNORE INTO item (name) VALUES ('a'), ('d')"), 1)
    equal(run(session.writer, "INSERT INTO item (name) VALUES ('b') ON DUPLICATE KEY UPDATE n = n + 1"), 2)
    equal(run(session.writer, "REPLACE INTO item (name, n) VALUES ('c', 1)"), 2)
    equal(run(session.writer, "UPDATE item SET n = 9 WHERE name > 'a' ORDER BY name DESC LIMIT 1"), 1)
    equal(run(session.writer, "DELETE FROM item WHERE name = 'a'"), 1)
    found = rows(session.reader, "SELECT name, n FROM item ORDER BY name")
    equal(found, (("b", 8), ("c", 1), ("d", 9)))
    found = rows(session.reader, "SELECT COUNT(*), SUM(n), MIN(name), MAX(n) FROM item WHERE name IN ('b', 'd')")
    equal(found, ((2, decimal.Decimal(17), "b", 9),))
    found = rows(session.reader, "SELECT n > 5 AS high, GROUP_CONCAT(name ORDER BY name) FROM item GROUP BY n > 5 ORDER BY high")
    equal(found, ((0, "c"), (1, "b,d")))
    with session.writer.cursor() as cursor:
        cursor.execute("INSERT INTO item (name) VALUES ('z')")
        equal(rows(session.reader, "SELECT id FROM item WHERE name = 'z'"), ((cursor.lastrowid,),), "lastrowid")


def drawn_values(session):
    """A drawn AUTO_INCREMENT value never meets a row that was given it, and a sequence has an end."""
    for key in ("", ", KEY (v)", ", UNIQUE (v)"):
        for insert in [
            "REPLACE INTO drawn (v) VALUES ('new')",
            "INSERT IGNORE INTO drawn (v) VALUES ('new')",
            "INSERT INTO drawn (v) VALUES ('new') ON DUPLICATE KEY UPDATE v = 'lost'",
        ]:
            run(session.writer, f"CREATE TABLE drawn (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(20){key})")
            # Each port draws from a range of its own.
            run(session.writer, "INSERT INTO drawn (v) VALUES ('a')")
            run(session.reader, "INSERT INTO drawn (v) VALUES ('b')")
            ((last,),) = rows(session.reader, "SELECT id FROM drawn WHERE v = 'b'")
            run(session.writer, "INSERT INTO drawn VALUES (%s, 'kept')", (last + 1,))
            equal(run(session.reader, insert), 1, f"one row, {insert}{key}")
            found = rows(session.writer, "SELECT v FROM drawn ORDER BY v")
            equal(found, (("a",), ("b",), ("kept",), ("new",)), f"{insert}{key}")
            equal(rows(session.reader, "SELECT id FROM drawn WHERE v = 'kept'"), ((last + 1,),))
            run(session.writer, "DROP TABLE drawn")
    run(session.writer, "CREATE TABLE ended (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY)")
    run(session.writer, "INSERT INTO ended VALUES (18446744073709551615)")
    fails_with(1467, lambda: run(session.reader, "INSERT INTO ended VALUES (NULL)"))
    equal(rows(session.writer, "SELECT * FROM ended"), ((18446744073709551615,),))


def unique_keys_of_moving_rows(session):
    """A row keeps its unique key while its primary key changes: reads by the unique key find it every time."""
    run(session.writer, "CREATE TABLE moving (id INT PRIMARY KEY, u INT UNIQUE, n INT)")
    run(session.writer, "INSERT INTO moving VALUES (1, 5, 0), (3, 7, 0)")
    until = time.monotonic() + 2

    def move():
        place = 1
        with session.another() as mover:
            while time.monotonic() < until:
                run(mover, "UPDATE moving SET id = %s, n = n + 1 WHERE id = %s", (10 - place, place))
                place = 10 - place

    with concurrent.futures.ThreadPoolExecutor() as threads:
        moved = threads.submit(move)
        while time.monotonic() < until:
            equal(len(rows(session.reader, "SELECT n FROM moving WHERE u = 5")), 1, "rows with the key")
            equal(rows(session.reader, "SELECT COUNT(*) FROM moving WHERE u IN (5, 7)"), ((2,),), "rows with one of two keys")
        moved.result()


def ignored_duplicates(session):
    """UPDATE IGNORE of keys, INSERT IGNORE with ON DUPLICATE KEY UPDATE: rows that can't get their keys stay, with a warning."""
    run(session.writer, "CREATE TABLE seat (id INT PRIMARY KEY, place INT, guest VARCHAR(9), UNIQUE KEY (place))")
    equal(run(session.writer, "INSERT INTO seat VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c'), (4, NULL, 'd')"), 4)
    equal(run(session.writer, "UPDATE IGNORE seat SET place = 20 WHERE id <> 2 ORDER BY id"), 0)
    equal(rows(session.reader, "SELECT id, place FROM seat ORDER BY id"), ((1, 10), (2, 20), (3, 30), (4, None)))
    # The first in the order gets the key.
    equal(run(session.writer, "UPDATE IGNORE seat SET place = 40 WHERE id > 2 ORDER BY id DESC"), 1)
    equal(rows(session.reader, "SELECT id, place FROM seat ORDER BY id"), ((1, 10), (2, 20), (3, 30), (4, 40)))
    # A key that an earlier row of the statement has left is free.
    equal(run(session.writer, "UPDATE IGNORE seat SET id = id - 1 ORDER BY id"), 4)
    equal(run(session.writer, "UPDATE IGNORE seat SET id = 2, place = 50 WHERE id IN (2, 3) ORDER BY id"), 1)
    equal(rows(session.reader, "SELECT id, place FROM seat ORDER BY id"), ((0, 10), (1, 20), (2, 50), (3, 40)))
    insert = "INSERT IGNORE INTO seat VALUES (0, 77, 'x') ON DUPLICATE KEY UPDATE place = "
    equal(run(session.writer, insert + "20"), 0)
    equal(run(session.writer, insert + "60"), 2)
    equal(run(session.writer, "INSERT IGNORE INTO seat VALUES (9, 90, 'y') ON DUPLICATE KEY UPDATE place = 20"), 1)
    equal(run(session.writer, "INSERT IGNORE INTO seat VALUES (7, 90, 'z') ON DUPLICATE KEY UPDATE id = 3"), 0)
    expected = ((0, 60), (1, 20), (2, 50), (3, 40), (9, 90))
    equal(rows(session.reader, "SELECT id, place FROM seat ORDER BY id"), expected)
    equal(rows(session.reader, "SELECT id, place FROM seat WHERE place > 0 ORDER BY id"), expected)
    run(session.writer, "DROP TABLE seat")


def prepared_statements(session):
    """The binary protocol: parameters of all kinds, executed again, errors leave the statement usable."""
    run(session.writer, "CREATE TABLE prepared (id BIGINT PRIMARY KEY, t VARCHAR(100), b VARBINARY(300))")
    insert = Prepared(session.writer, "INSERT INTO prepared VALUES (?, ?, ?)")
    equal(insert.parameter_count, 3, "parameters")
    for index, text in enumerate(TEXTS):
        equal(insert.execute(index, text, text.encode()), 1, "one row")
    equal(insert.execute(-1, None, None), 1, "NULLs")
    fails_with(1062, lambda: insert.execute(0, "again", b""))
    equal(insert.execute(1 << 40, "after an error", bytes(range(256))), 1)
    read = Prepared(session.reader, "SELECT id, t, b FROM prepared WHERE id = ?")
    for index, text in enumerate(TEXTS):
        equal(read.execute(index), [(index, text, text.encode())])
    equal(read.execute(-1), [(-1, None, None)])
    equal(read.execute(1 << 40), [(1 << 40, "after an error", bytes(range(256)))])
    equal(read.execute(12345), [])
    insert.close()
    read.close()
    fails_with(1064, lambda: Prepared(session.writer, "SELEKT ?"))


def connection_commands(session):
    """PING, INIT_DB, CHANGE_USER's effects, several statements in one packet."""
    many = session.another(client_flag=pymysql.constants.CLIENT.MULTI_STATEMENTS)
    many.ping(reconnect=False)
    with many.cursor() as cursor:
        cursor.execute("SELECT 1; SELECT 'zwei', 2; SELECT 3")
        found = [cursor.fetchall()]
        while cursor.nextset():
            found.append(cursor.fetchall())
    equal(found, [((1,),), (("zwei", 2),), ((3,),)])
    equal(rows(many, "SELECT DATABASE()"), ((DATABASE,),))
    many.close()


def sqlalchemy_core(session):
    """Tables, inserts, selects, updates and deletes as SQLAlchemy writes them."""

    def engine(port):
        url = sqlalchemy.URL.create(
            "mysql+pymysql", "root", host=session.host, port=port, database=DATABASE, query={"charset": "utf8mb4"}
        )
        return sqlalchemy.create_engine(url)

    writer, reader = engine(session.write_port), engine(session.read_port)
    metadata = sqlalchemy.MetaData()
    person = sqlalchemy.Table(
        "person",
        metadata,
        sqlalchemy.Column("id", sqlalchemy.Integer, primary_key=True),
        sqlalchemy.Column("name", sqlalchemy.String(50), nullable=False, unique=True),
        sqlalchemy.Column("height", sqlalchemy.Numeric(5, 2)),
        sqlalchemy.Column("born", sqlalchemy.DateTime),
        sqlalchemy.Column("active", sqlalchemy.Boolean, nullable=False),
        sqlalchemy.Column("photo", sqlalchemy.LargeBinary),
        sqlalchemy.Column("notes", sqlalchemy.Text),
        sqlalchemy.Index("by_born", "born"),
    )
    metadata.create_all(writer)
    metadata.create_all(writer)  # looks first, and finds it
    born = datetime.datetime(1990, 5, 17, 8, 30)
    with writer.begin() as connection:
        first = connection.execute(person.insert().values(name="Zoë", born=born, active=True, height=decimal.Decimal("1.70")))
        equal(first.inserted_primary_key[0] > 0, True, "a generated key")
        connection.execute(
            person.insert(),
            [
                {"name": f"person {index}", "active": index % 2 == 0, "photo": bytes([index]), "notes": "🧀" * index}
                for index in range(20)
            ],
        )
    with reader.connect() as connection:
        row = connection.execute(select(person).where(person.c.name == "Zoë")).one()
        equal((row.born, row.height, row.active, row.photo), (born, decimal.Decimal("1.70"), True, None))
        count = select(func.count()).select_from(person).where(person.c.active)
        equal(connection.execute(count).scalar_one(), 11)
        names = select(person.c.name).where(person.c.name.like("person 1%")).order_by(person.c.name.desc()).limit(2).offset(1)
        equal(connection.execute(names).scalars().all(), ["person 18", "person 17"])
        some = select(person.c.photo).where(person.c.name.in_(["person 3", "person 4"])).order_by(person.c.name)
        equal(connection.execute(some).scalars().all(), [b"\x03", b"\x04"])
    try:
        with writer.begin() as connection:
            connection.execute(person.update().where(person.c.name == "Zoë").values(active=False))
            connection.execute(person.insert().values(name="person 1", active=True))
        raise AssertionError("a duplicate name was accepted")
    except sqlalchemy.exc.IntegrityError as error:
        equal(error.orig.args[0], 1062)
    with reader.connect() as connection:
        active = select(person.c.active).where(person.c.name == "Zoë")
        equal(connection.execute(active).scalar_one(), True, "all of the failed transaction is undone")
    with writer.begin() as connection:
        equal(connection.execute(person.delete().where(person.c.active.is_(False))).rowcount, 10)
    seen = sqlalchemy.inspect(reader)
    equal([column["name"] for column in seen.get_columns("person")], [column.name for column in person.columns])
    equal(seen.get_pk_constraint("person")["constrained_columns"], ["id"])
    equal("person" in seen.get_table_names(), True, "reflection")
    metadata.drop_all(writer)
    writer.dispose()
    reader.dispose()


def main():
    session = Session(options(__doc__).parse_args())
    checks = Checks()
    for column_type, values in TYPES:
        checks.run(f"type {column_type}", one_type, session, column_type, values)
    for check in [
        all_types_in_one_row,
        large_values,
        transactions,
        row_locks,
        errors_by_number,
        statements,
        drawn_values,
        unique_keys_of_moving_rows,
        ignored_duplicates,
        prepared_statements,
        connection_commands,
        what_programs_send,
        modes_of_sessions,
        variables_of_the_cluster,
        sqlalchemy_core,
        numbers_keep_their_digits,
        zero_dates,
        ids_below_zero,
        tables_from_queries,
        tables_from_tables_that_change,
        changes_through_views,
        windows_in_views,
        rules_for_rows,
        rows_that_are_numbered,
        views_on_other_nodes,
    ]:
        checks.run(check.__name__.replace("_", " "), check, session)
    checks.close()


if __name__ == "__main__":
    main()
