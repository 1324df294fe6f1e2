"""Limits: what is reached is refused, to that statement or connection only.

    python3 limits.py memory --write-port 3306 --read-port 3307
    python3 limits.py transaction --write-port 3306 --read-port 3307
    python3 limits.py connections --write-port 3306 --read-port 3307 --max-connections 8
    python3 limits.py million --write-port 3306 --read-port 3307

`memory` and `transaction` expect nodes with little memory and fill them; `connections` expects a small max_connections; `million` changes a million
rows in one transaction.
"""

import threading

import pymysql

from checks import Checks, connect, equal, fails_with, options, rows, run

DATABASE = "limits_test"
MILLION = 1_000_000


class Session:
    def __init__(self, chosen):
        self.host, self.write_port, self.read_port = chosen.host, chosen.write_port, chosen.read_port
        self.max_connections = chosen.max_connections
        self.writer = connect(self.host, self.write_port)
        run(self.writer, f"DROP DATABASE IF EXISTS {DATABASE}")
        run(self.writer, f"CREATE DATABASE {DATABASE}")
        self.writer.select_db(DATABASE)
        self.reader = connect(self.host, self.read_port, database=DATABASE)


class Bystander(threading.Thread):
    """Another session, on the other port, that must not notice: it reads all the time."""

    def __init__(self, session):
        super().__init__(daemon=True)
        self.connection = connect(session.host, session.read_port, database=DATABASE)
        self.done = threading.Event()
        self.count, self.error = 0, None

    def run(self):
        try:
            while not self.done.is_set():
                equal(rows(self.connection, "SELECT v FROM small WHERE id = 1"), ((7,),))
                self.count += 1
        except Exception as error:  # told by finish(), in the main thread
            self.error = error

    def finish(self):
        self.done.set()
        self.join()
        if self.error is not None:
            raise self.error
        equal(self.count > 0, True, "the other session has read")


def bystander(session):
    run(session.writer, "DROP TABLE IF EXISTS small")
    run(session.writer, "CREATE TABLE small (id INT PRIMARY KEY, v INT)")
    run(session.writer, "INSERT INTO small VALUES (1, 7), (2, 0)")
    other = Bystander(session)
    other.start()
    return other


def fill(session, first=0):
    """Inserts until memory is full; gives the number of rows."""
    count = 0
    filler = "x" * 8_000
    while True:
        values = ", ".join(f"({first + count + index}, '{filler}')" for index in range(20))
        try:
            run(session.writer, f"INSERT INTO large VALUES {values}")
        except pymysql.MySQLError as error:
            equal(error.args[0], 1114, f"{error.args}")
            return count
        count += 20
        if count > 2_000_000:
            raise AssertionError("16 GB of rows were let in")


def memory_full(session):
    """1114 for the statement that needs more; nothing of it stays; others go on; what is deleted can be used again."""
    other = bystander(session)
    run(session.writer, "CREATE TABLE large (id INT PRIMARY KEY, v VARCHAR(10000))")
    count = fill(session)
    print(f"   full after {count} rows of 8 kB")
    equal(rows(session.reader, "SELECT COUNT(*) FROM large"), ((count,),), "the refused statement left nothing")
    fails_with(1114, lambda: [run(session.writer, f"INSERT INTO large VALUES ({-index - 1}, REPEAT('y', 9999))") for index in range(5_000)])
    equal(run(session.writer, "DELETE FROM large WHERE id >= 0 AND id < 2000"), 2000, "rows can be deleted")
    equal(run(session.writer, "UPDATE small SET v = 1 WHERE id = 2"), 1, "small writes go on")
    run(session.writer, "TRUNCATE TABLE large")
    again = fill(session)
    print(f"   full again after {again} rows")
    equal(again > count * 8 // 10, True, f"{again} rows where {count} had room before")
    # What frees memory works when there is none.
    equal(run(session.writer, "DELETE FROM large WHERE id < 1000"), 1000, "rows can be deleted")
    third = fill(session, first=count * 2)
    print(f"   full again after {third} more rows")
    run(session.writer, "DROP TABLE large")
    run(session.writer, "CREATE TABLE large (id INT PRIMARY KEY, v VARCHAR(10000))")
    equal(fill(session) > count * 8 // 10, True, "a dropped table's memory is there for the next")
    run(session.writer, "DROP TABLE large")
    other.finish()


def too_large_a_transaction(session):
    """A transaction that exceeds the memory of transactions is refused and undone; the session lives."""
    run(session.writer, "CREATE TABLE huge (id INT PRIMARY KEY, v VARCHAR(200))")
    run(session.writer, "CREATE TABLE other (id INT PRIMARY KEY, v VARCHAR(10000))")
    other = bystander(session)
    run(session.writer, "BEGIN")
    error = None
    for first in range(0, 5 * MILLION, 2_000):
        values = ", ".join(f"({first + index}, REPEAT('z', 150))" for index in range(2_000))
        try:
            run(session.writer, f"INSERT INTO huge VALUES {values}")
        except pymysql.MySQLError as caught:
            error = caught
            break
    equal(error is not None and error.args[0], 1114, f"{error}")
    print(f"   {error} after {first} rows")
    run(session.writer, "ROLLBACK")
    # Its memory is there at once, for everyone, on all partitions and replicas.
    for start in range(0, 1_000, 250):
        values = ", ".join(f"({start + index}, '{'y' * 8_000}')" for index in range(250))
        run(session.reader, f"INSERT INTO other VALUES {values}")
    run(session.writer, "INSERT INTO huge VALUES (1, 'after')")
    equal(rows(session.reader, "SELECT COUNT(*) FROM huge"), ((1,),), "nothing of it is left")
    run(session.writer, "BEGIN")
    for begin in range(2, first // 2, 2_000):
        values = ", ".join(f"({begin + index}, REPEAT('z', 150))" for index in range(2_000))
        run(session.writer, f"INSERT INTO huge VALUES {values}")
    run(session.writer, "ROLLBACK")
    run(session.writer, "TRUNCATE TABLE huge")
    other.finish()


def a_million_rows(session):
    """Inserted, changed and deleted, each in one transaction; rolled back once."""
    run(session.writer, "CREATE TABLE million (id INT PRIMARY KEY, v INT NOT NULL)")
    other = bystander(session)
    run(session.writer, "BEGIN")
    for first in range(0, MILLION, 10_000):
        run(session.writer, "INSERT INTO million VALUES " + ", ".join(f"({first + index}, 1)" for index in range(10_000)))
    equal(rows(session.reader, "SELECT COUNT(*) FROM million"), ((0,),), "not seen before the commit")
    run(session.writer, "COMMIT")
    equal(rows(session.reader, "SELECT COUNT(*), SUM(v) FROM million"), ((MILLION, MILLION),), "after the commit")
    run(session.writer, "BEGIN")
    equal(run(session.writer, "UPDATE million SET v = v + 1"), MILLION)
    run(session.writer, "ROLLBACK")
    equal(rows(session.reader, "SELECT SUM(v) FROM million"), ((MILLION,),), "after the rollback")
    equal(run(session.writer, "UPDATE million SET v = v + 1"), MILLION)
    equal(rows(session.reader, "SELECT SUM(v), MIN(v) FROM million"), ((2 * MILLION, 2),), "after the update")
    equal(run(session.writer, "DELETE FROM million"), MILLION)
    equal(rows(session.reader, "SELECT COUNT(*) FROM million"), ((0,),), "after the delete")
    other.finish()


def too_many_connections(session):
    """1040 for those above the limit; when one leaves, another one may come."""
    held = []
    error = None
    for _ in range(session.max_connections * 2):
        try:
            held.append(connect(session.host, session.write_port))
        except pymysql.MySQLError as caught:
            error = caught
            break
    equal(error is not None and error.args[0], 1040, f"after {len(held)} more connections: {error}")
    # One session of this program is there already. Each thread has one connection more, for root.
    equal(len(held) >= session.max_connections - 1, True, f"{len(held)}: the limit is reached")
    equal(rows(held[0], "SELECT 1"), ((1,),), "those who are in stay in")
    while held:
        held.pop().close()
    # The server hears of the ends one after the other.
    for _ in range(1_000):
        try:
            connect(session.host, session.write_port).close()
            return
        except pymysql.MySQLError as caught:
            equal(caught.args[0], 1040)
    raise AssertionError("nobody is let in any more")


STEPS = {
    "memory": [memory_full],
    "transaction": [too_large_a_transaction],
    "connections": [too_many_connections],
    "million": [a_million_rows],
}


def main():
    parser = options(__doc__)
    parser.add_argument("what", choices=sorted(STEPS))
    parser.add_argument("--max-connections", type=int, default=1000)
    chosen = parser.parse_args()
    session = Session(chosen)
    checks = Checks()
    for check in STEPS[chosen.what]:
        checks.run(check.__name__.replace("_", " "), check, session)
    checks.close()


if __name__ == "__main__":
    main()
