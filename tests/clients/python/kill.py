"""kill -9 of a data node under load: no acknowledged write may be missing on the survivor, and no row may be wrong.

    python3 kill.py --survivor-port 3306 --victim-port 3307 --victim PID

Workers write through both SQL ports, single rows and transactions over several rows, and remember for each row what it must or may
hold. Then the victim is killed. A write that was acknowledged must be there; one that was refused (1213) must not; of one whose
outcome is unknown (1180, or the connection was lost while it was committed) either all rows are there or none, or reading them is
refused. Statements may fail with 1213, 1180 or the loss of the connection, and in no other way.
"""

import collections
import os
import random
import signal
import sys
import threading
import time

import pymysql

from checks import Checks, connect, equal, options, rows, run

DATABASE = "kill_test"
WORKERS_PER_PORT = 4
LOAD_SECONDS = 4
AFTER_SECONDS = 3
ROWS_PER_WORKER = 1_000_000
ALLOWED = {1213, 1180}
CONNECTION_LOST = {0, 2003, 2006, 2013, 2014, 2055}


class Unknown(Exception):
    """Nobody can say whether it was committed."""


class Refused(Exception):
    """It was not committed."""


class Worker(threading.Thread):
    """Writes rows of its own through one port."""

    def __init__(self, host, port, index, stop):
        super().__init__(daemon=True)
        self.host, self.port, self.index, self.stop = host, port, index, stop
        self.draw = random.Random(index)
        # For each row, the value that it must have (None: it must be absent), as far as known.
        self.known = {}
        self.recent = collections.deque(maxlen=50)
        # Transactions of unknown outcome: {row: (before, after)} each.
        self.undecided = []
        self.acknowledged = 0
        self.errors = collections.Counter()
        self.surprises = []
        self.longest_wait = 0.0
        self.is_lost = False

    def run(self):
        try:
            connection = connect(self.host, self.port, database=DATABASE, autocommit=True)
            while not self.stop.is_set():
                if connection is None:
                    connection = self.reconnect()
                    if connection is None:
                        return
                begun = time.monotonic()
                connection = self.transact(connection)
                self.longest_wait = max(self.longest_wait, time.monotonic() - begun)
        except Exception as error:  # a thread that dies in silence would make the test pass
            self.surprises.append(f"worker {self.index}: {type(error).__name__}: {error}")

    def reconnect(self):
        try:
            return connect(self.host, self.port, database=DATABASE, autocommit=True, connect_timeout=5)
        except (pymysql.MySQLError, OSError):
            self.is_lost = True
            return None

    def transact(self, connection):
        """One transaction; gives the connection, or None if it was lost."""
        changes = self.choose()
        try:
            if len(changes) == 1:
                self.write(connection, changes, is_last=True)
            else:
                self.statement(connection, "BEGIN", None, is_last=False)
                self.write(connection, changes, is_last=False)
                self.statement(connection, "COMMIT", None, is_last=True)
        except Refused:
            return self.roll_back(connection)
        except Unknown:
            if changes:
                self.undecided.append({row: (self.known.get(row), after) for row, after in changes.items()})
                # Nothing more is asked of these rows: what they hold is not known.
                for row in changes:
                    self.known.pop(row, None)
            return self.roll_back(connection)
        self.known.update(changes)
        self.recent.extend(changes)
        self.acknowledged += 1
        return connection

    def choose(self):
        """New rows, or new values for rows of our own; one to four of them."""
        changes = {}
        for _ in range(self.draw.choice([1, 1, 1, 2, 4])):
            written = self.draw.choice(self.recent) if self.recent else None
            if written in self.known and self.draw.random() < 0.5:
                changes[written] = self.draw.randrange(1 << 40)
            else:
                row = self.index * ROWS_PER_WORKER + self.draw.randrange(ROWS_PER_WORKER)
                undecided = any(row in group for group in self.undecided)
                if not undecided:
                    changes[row] = self.draw.randrange(1 << 40)
        return changes or self.choose()

    def write(self, connection, changes, is_last):
        for row, value in changes.items():
            if self.known.get(row) is None:
                self.statement(connection, "INSERT INTO t VALUES (%s, %s, REPEAT('x', 80))", (row, value), is_last)
            else:
                self.statement(connection, "UPDATE t SET v = %s WHERE id = %s", (value, row), is_last)

    def statement(self, connection, text, arguments, is_last):
        """Runs it; `is_last` says that this statement commits."""
        try:
            run(connection, text, arguments)
        except (pymysql.MySQLError, OSError) as error:
            number = error.args[0] if isinstance(error, pymysql.MySQLError) and error.args else 0
            self.errors[number] += 1
            if number not in ALLOWED | CONNECTION_LOST:
                self.surprises.append(f"worker {self.index} at port {self.port}: {text}: {error}")
            is_unknown = number == 1180 or (is_last and number in CONNECTION_LOST)
            raise (Unknown if is_unknown else Refused) from error

    def roll_back(self, connection):
        try:
            run(connection, "ROLLBACK")
            return connection
        except (pymysql.MySQLError, OSError):
            return None


def prepare(host, port):
    connection = connect(host, port)
    run(connection, f"DROP DATABASE IF EXISTS {DATABASE}")
    run(connection, f"CREATE DATABASE {DATABASE}")
    run(connection, f"CREATE TABLE {DATABASE}.t (id BIGINT PRIMARY KEY, v BIGINT NOT NULL, filler VARCHAR(100))")
    connection.close()


def survivor_answers(chosen):
    connection = connect(chosen.host, chosen.survivor_port, connect_timeout=5)
    equal(rows(connection, "SELECT 1"), ((1,),))
    connection.close()


def new_writes_are_refused(chosen):
    """Also those whose primary was the victim: what is never sent to it has no unknown outcome, and the session goes on."""
    connection = connect(chosen.host, chosen.survivor_port, database=DATABASE, autocommit=True)
    first = -ROWS_PER_WORKER
    for row in range(first, first + 20):
        try:
            run(connection, "INSERT INTO t VALUES (%s, 1, 'x')", (row,))
        except pymysql.MySQLError as error:
            equal(error.args[0], 1213)
        else:
            raise AssertionError(f"row {row} was written without its second replica")
    equal(rows(connection, "SELECT COUNT(*) FROM t WHERE id < 0"), ((0,),))
    connection.close()


def read(connection, keys):
    """The values of rows that are there, by key; the keys that could not be read; the errors that said so."""
    marks = ", ".join(map(str, keys))
    try:
        found = rows(connection, f"SELECT id, v FROM t WHERE id IN ({marks})")
        return dict(found), [], []
    except pymysql.MySQLError as error:
        if len(keys) == 1:
            return {}, keys, [error.args]
    values, unreadable, errors = {}, [], []
    for key in keys:
        more_values, more_unreadable, more_errors = read(connection, [key])
        values.update(more_values)
        unreadable += more_unreadable
        errors += more_errors
    return values, unreadable, errors


def acknowledged_writes_are_there(chosen, workers):
    connection = connect(chosen.host, chosen.survivor_port, database=DATABASE)
    expected = {row: value for worker in workers for row, value in worker.known.items()}
    keys = sorted(expected)
    for first in range(0, len(keys), 200):
        batch = keys[first : first + 200]
        found, unreadable, errors = read(connection, batch)
        equal(unreadable, [], f"rows that must be readable ({errors})")
        for row in batch:
            equal(found.get(row), expected[row], f"row {row}")
    print(f"   {len(keys)} rows compared on the survivor")


def undecided_writes_are_whole(chosen, workers):
    connection = connect(chosen.host, chosen.survivor_port, database=DATABASE)
    refused = whole = absent = 0
    for group in (group for worker in workers for group in worker.undecided):
        found, unreadable, _ = read(connection, sorted(group))
        outcomes = set()
        for row, (before, after) in group.items():
            if row in unreadable:
                continue
            value = found.get(row)
            if value not in (before, after):
                raise AssertionError(f"row {row} of unknown outcome holds {value}, not {before} or {after}")
            outcomes.add(value == after)
        if len(outcomes) > 1:
            raise AssertionError(f"a transaction was committed in part: {group}, found {found}")
        refused += bool(unreadable)
        whole += outcomes == {True}
        absent += outcomes == {False}
    print(f"   unknown outcomes: {whole} committed, {absent} not, {refused} not readable")


def errors_are_the_promised_ones(workers):
    surprises = [text for worker in workers for text in worker.surprises]
    equal(surprises, [], "other errors")


def work_was_done(workers, victim_port):
    for worker in workers:
        if worker.acknowledged < 10:
            raise AssertionError(f"worker {worker.index} wrote only {worker.acknowledged} times")
        if worker.port == victim_port and not worker.is_lost:
            raise AssertionError(f"worker {worker.index} has not noticed that its node is gone")


def main():
    parser = options(__doc__, ("--survivor-port", "--victim-port"))
    parser.add_argument("--victim", type=int, required=True, help="the process to kill")
    chosen = parser.parse_args()
    prepare(chosen.host, chosen.survivor_port)
    stop = threading.Event()
    ports = [chosen.survivor_port, chosen.victim_port] * WORKERS_PER_PORT
    workers = [Worker(chosen.host, port, index, stop) for index, port in enumerate(ports)]
    for worker in workers:
        worker.start()
    time.sleep(LOAD_SECONDS)
    print(f"killing {chosen.victim} after {sum(worker.acknowledged for worker in workers)} acknowledged transactions", flush=True)
    os.kill(chosen.victim, signal.SIGKILL)
    time.sleep(AFTER_SECONDS)
    stop.set()
    for worker in workers:
        worker.join(timeout=60)
    checks = Checks()
    hung = [worker.index for worker in workers if worker.is_alive()]
    checks.run("nobody hangs", equal, hung, [])
    if hung:
        checks.close()
    checks.run("work was done", work_was_done, workers, chosen.victim_port)
    checks.run("the survivor takes new connections", survivor_answers, chosen)
    checks.run("new writes are refused", new_writes_are_refused, chosen)
    checks.run("errors are 1213, 1180 or a lost connection", errors_are_the_promised_ones, workers)
    checks.run("acknowledged writes are there", acknowledged_writes_are_there, chosen, workers)
    checks.run("undecided writes are whole", undecided_writes_are_whole, chosen, workers)
    errors = sum((worker.errors for worker in workers), collections.Counter())
    print(f"   errors by number: {dict(errors)}; longest wait {max(worker.longest_wait for worker in workers):.3f} s")
    sys.stdout.flush()
    checks.close()


if __name__ == "__main__":
    main()
