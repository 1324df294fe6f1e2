"""The part of a soak that sysbench does not do: idle connections, and actors that use everything that comes and goes.

    python3 soak.py --write-port 3306 --read-port 3307 --seconds 3600 --rate 20 --idle 500 --actors 16

Each actor has tables of its own, of bounded size: what it inserts it deletes again, so that what the server holds at the end of a turn is what it
held before. Turns come at `--rate` per second for all actors together (0: without a pause). Errors that clients are told to retry are counted;
any other one is printed, with the turn that met it, and makes the program end with 1. Idle connections are opened first, and asked only when
all is over: each must answer then. With `--report` seconds, a line with the counts is printed that often.
"""

import random
import sys
import threading
import time

import pymysql

from checks import connect, equal, fails_with, options, rows, run
from prepared import Prepared

DATABASE = "soak"
TABLE_SIZE = 2_000
# Deadlock, lock wait, commit refused as the schema changed: what a client repeats.
RETRYABLE = {1213, 1205, 1412}


class Counts:
    """What all actors did; shared by their threads."""

    def __init__(self):
        self.lock = threading.Lock()
        self.turns, self.retried, self.failed = 0, 0, 0

    def turn(self):
        with self.lock:
            self.turns += 1

    def error(self, name, error):
        is_retryable = isinstance(error, pymysql.MySQLError) and error.args and error.args[0] in RETRYABLE
        with self.lock:
            if is_retryable:
                self.retried += 1
            else:
                self.failed += 1
        if not is_retryable:
            print(f"FAILED {name}: {type(error).__name__}: {error}", flush=True)

    def line(self):
        with self.lock:
            return f"{self.turns} turns, {self.retried} retried, {self.failed} failed"


class Actor(threading.Thread):
    """A session that takes turns of random kinds."""

    def __init__(self, number, chosen, counts, end):
        super().__init__(daemon=True)
        self.number, self.chosen, self.counts, self.end = number, chosen, counts, end
        self.random = random.Random(number)
        self.port = (chosen.write_port, chosen.read_port)[number % 2]
        self.table = f"actor_{number}"
        self.connection = self.connect()
        self.key = 0

    def connect(self, **settings):
        return connect(self.chosen.host, self.port, database=DATABASE, **settings)

    def prepare(self):
        run(self.connection, f"DROP TABLE IF EXISTS {self.table}")
        run(self.connection, f"CREATE TABLE {self.table} (id BIGINT PRIMARY KEY AUTO_INCREMENT, k INT NOT NULL, v VARCHAR(200), KEY (k))")
        self.fill(self.table, TABLE_SIZE)

    def fill(self, table, count):
        for _ in range(0, count, 500):
            values = ", ".join(f"({self.random.randrange(1_000)}, '{'s' * self.random.randrange(200)}')" for _ in range(500))
            run(self.connection, f"INSERT INTO {table} (k, v) VALUES {values}")

    def run(self):
        pause = self.chosen.actors / self.chosen.rate if self.chosen.rate else 0
        while time.monotonic() < self.end:
            turn = self.random.choices(TURNS, WEIGHTS)[0]
            begun = time.monotonic()
            try:
                turn(self)
            except Exception as error:  # counted and shown; a soak goes on to its end
                self.counts.error(turn.__name__, error)
                self.recover()
            self.counts.turn()
            time.sleep(max(0, pause * self.random.uniform(0.5, 1.5) - (time.monotonic() - begun)))

    def recover(self):
        try:
            self.connection.close()
            self.connection = self.connect()
        except pymysql.MySQLError as error:
            self.counts.error("recover", error)
            time.sleep(1)

    def renew(self):
        """Deletes some rows and inserts as many, with an index to keep."""
        low = self.random.randrange(1_000)
        run(self.connection, "BEGIN")
        count = run(self.connection, f"DELETE FROM {self.table} WHERE k = {low} LIMIT 20")
        for _ in range(count):
            run(self.connection, f"INSERT INTO {self.table} (k, v) VALUES (%s, %s)", (self.random.randrange(1_000), "n" * self.random.randrange(200)))
        run(self.connection, "COMMIT")

    def change_index(self):
        run(self.connection, f"UPDATE {self.table} SET k = {self.random.randrange(1_000)}, v = REPEAT('u', {self.random.randrange(200)}) WHERE k = {self.random.randrange(1_000)}")

    def read(self):
        low = self.random.randrange(900)
        rows(self.connection, f"SELECT id, v FROM {self.table} WHERE k BETWEEN {low} AND {low + 50} ORDER BY v LIMIT 100")
        rows(self.connection, f"SELECT k, COUNT(*), MAX(v) FROM {self.table} WHERE k < {low} GROUP BY k")
        equal(rows(self.connection, f"SELECT COUNT(*) FROM {self.table}"), ((TABLE_SIZE,),), "rows of the actor's table")

    def new_statements(self):
        """Statements that no one has asked before, so that whatever remembers statements must also forget, within minutes."""
        for _ in range(20):
            name = f"c{self.random.randrange(1 << 60)}"
            rows(self.connection, f"SELECT k AS {name} FROM {self.table} WHERE id = {self.random.randrange(TABLE_SIZE)}")

    def prepared(self):
        statements = [Prepared(self.connection, f"SELECT v FROM {self.table} WHERE k = ? AND id <> {self.random.randrange(1 << 40)}") for _ in range(5)]
        statements.append(Prepared(self.connection, f"UPDATE {self.table} SET v = ? WHERE k = ?"))
        for statement in statements[:-1]:
            statement.execute(self.random.randrange(1_000))
        statements[-1].execute("p" * self.random.randrange(200), self.random.randrange(1_000))
        for statement in statements:
            statement.close()

    def aborted(self):
        run(self.connection, "BEGIN")
        run(self.connection, f"UPDATE {self.table} SET v = 'aborted' WHERE k < 20")
        run(self.connection, "SAVEPOINT middle")
        run(self.connection, f"DELETE FROM {self.table} WHERE k > 980")
        run(self.connection, "ROLLBACK TO middle")
        run(self.connection, f"INSERT INTO {self.table} (k, v) VALUES (1, 'aborted'), (2, REPEAT('a', 200))")
        run(self.connection, "ROLLBACK")

    def refused(self):
        """Statements that fail, in a transaction that goes on."""
        run(self.connection, "BEGIN")
        key = rows(self.connection, f"SELECT id FROM {self.table} LIMIT 1")[0][0]
        fails_with(1062, lambda: run(self.connection, f"INSERT INTO {self.table} VALUES (NULL, 1, 'x'), ({key}, 1, 'x')"))
        fails_with(1146, lambda: run(self.connection, "SELECT * FROM no_such_table"))
        fails_with(1064, lambda: run(self.connection, "SELEC 1"))
        run(self.connection, "COMMIT")

    def leave(self):
        """A connection that ends in the middle of a transaction, another one that says goodbye."""
        other = self.connect(autocommit=False)
        run(other, f"UPDATE {self.table} SET v = 'left' WHERE k = {self.random.randrange(1_000)}")
        other._force_close()
        for _ in range(3):
            polite = self.connect()
            rows(polite, "SELECT 1")
            polite.close()

    def tables(self):
        """Everything that DDL makes, and its end."""
        self.key += 1
        name = f"passing_{self.number}_{self.key}"
        run(self.connection, f"CREATE TABLE {name} (id BIGINT PRIMARY KEY AUTO_INCREMENT, k INT NOT NULL, v VARCHAR(200), t TEXT, UNIQUE KEY (id, k))")
        self.fill(name, 1_000)
        run(self.connection, f"UPDATE {name} SET t = REPEAT('t', 3000) WHERE k < 100")
        run(self.connection, f"CREATE INDEX by_value ON {name} (v)")
        rows(self.connection, f"SELECT COUNT(*) FROM {name} WHERE v > 'sssss'")
        run(self.connection, f"TRUNCATE TABLE {name}")
        equal(rows(self.connection, f"SELECT COUNT(*) FROM {name}"), ((0,),), "rows after TRUNCATE")
        self.fill(name, 500)
        run(self.connection, f"DROP TABLE {name}")


# Each kind of turn and how often it comes.
TURNS, WEIGHTS = zip(
    (Actor.renew, 20),
    (Actor.change_index, 20),
    (Actor.read, 20),
    (Actor.new_statements, 15),
    (Actor.prepared, 10),
    (Actor.aborted, 10),
    (Actor.refused, 5),
    (Actor.leave, 5),
    (Actor.tables, 1),
)


def report(counts, seconds, end):
    while time.monotonic() < end:
        time.sleep(seconds)
        print(counts.line(), flush=True)


def ask_idle(idle, counts):
    """They have been silent all the time."""
    for number, connection in enumerate(idle):
        try:
            equal(rows(connection, "SELECT CONNECTION_ID()"), ((connection.thread_id(),),))
            connection.close()
        except Exception as error:  # each of them is to be asked
            counts.error(f"idle connection {number}", error)


def main():
    parser = options(__doc__)
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--rate", type=float, required=True)
    parser.add_argument("--idle", type=int, required=True)
    parser.add_argument("--actors", type=int, required=True)
    parser.add_argument("--report", type=float, default=10)
    chosen = parser.parse_args()
    first = connect(chosen.host, chosen.write_port)
    run(first, f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
    ports = (chosen.write_port, chosen.read_port)
    idle = [connect(chosen.host, ports[number % 2]) for number in range(chosen.idle)]
    counts = Counts()
    end = time.monotonic() + chosen.seconds
    actors = [Actor(number, chosen, counts, end) for number in range(chosen.actors)]
    for actor in actors:
        actor.prepare()
    print(f"{len(idle)} idle connections, {len(actors)} actors", flush=True)
    threading.Thread(target=report, args=(counts, chosen.report, end), daemon=True).start()
    for actor in actors:
        actor.start()
    for actor in actors:
        actor.join()
    ask_idle(idle, counts)
    print(f"end: {counts.line()}", flush=True)
    sys.exit(1 if counts.failed else 0)


if __name__ == "__main__":
    main()
