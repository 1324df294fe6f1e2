"""kill -9 of a data node under load: the survivor goes on, and the node comes back with all rows; no acknowledged write is missing at either.

    python3 kill.py --survivor-port 3306 --victim-port 3307 --victim PID

Workers write through both SQL ports, single rows and transactions over several rows, and remember for each row what it must or may
hold. Then the victim is killed; whoever started it is expected to start it again. Workers of the survivor write on, those of the victim
connect again when it listens. A write that was acknowledged must be there; one that was refused (1213) must not; of one whose outcome is
unknown (1180, or the connection was lost while it was committed) either all rows are there or none. Statements may fail with 1213, 1180
or the loss of the connection, and in no other way; what begins after the takeover does not fail.
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
# From the kill until a takeover is over for sure: behind it nothing is refused.
TAKEOVER_SECONDS = 3
# From the kill until the node serves clients again, on a busy machine; and for how long everybody writes after that.
RETURN_SECONDS = 60
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
        # When each acknowledged transaction was, and each refused one.
        self.successes = []
        self.refusals = []
        self.losses = 0

    def run(self):
        try:
            connection = connect(self.host, self.port, database=DATABASE, autocommit=True)
            while not self.stop.is_set():
                if connection is None:
                    connection = self.reconnect()
                    if connection is None:
                        return
                connection = self.transact(connection)
        except Exception as error:  # a thread that dies in silence would make the test pass
            self.surprises.append(f"worker {self.index}: {type(error).__name__}: {error}")

    def reconnect(self):
        """Tries until the node listens again or the test is over."""
        self.losses += 1
        while not self.stop.is_set():
            try:
                return connect(self.host, self.port, database=DATABASE, autocommit=True, connect_timeout=5)
            except (pymysql.MySQLError, OSError):
                time.sleep(0.02)
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
            self.refusals.append(time.monotonic())
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
        self.successes.append(time.monotonic())
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


def new_writes_are_taken(chosen, port):
    """Also those whose primary was the victim."""
    connection = connect(chosen.host, port, database=DATABASE, autocommit=True)
    first = -ROWS_PER_WORKER - port * 100
    for row in range(first, first + 20):
        run(connection, "INSERT INTO t VALUES (%s, 1, 'x')", (row,))
    equal(rows(connection, "SELECT COUNT(*) FROM t WHERE id >= %s AND id < %s", (first, first + 20)), ((20,),))
    connection.close()


def node_comes_back(chosen):
    """It listens when it has all rows."""
    end = time.monotonic() + RETURN_SECONDS
    while True:
        try:
            connect(chosen.host, chosen.victim_port, connect_timeout=5).close()
            return
        except (pymysql.MySQLError, OSError):
            if time.monotonic() > end:
                raise AssertionError(f"the node does not serve clients {RETURN_SECONDS} s after it was killed") from None
            time.sleep(0.02)


def restart_info_tells_it(chosen):
    connection = connect(chosen.host, chosen.survivor_port)
    found = rows(
        connection,
        "SELECT node_restart_status, partitions_to_copy > 0, partitions_copied = partitions_to_copy FROM ndbinfo.restart_info",
    )
    equal(found, (("Restart completed", 1, 1),))
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


def acknowledged_writes_are_there(chosen, port, workers):
    connection = connect(chosen.host, port, database=DATABASE)
    expected = {row: value for worker in workers for row, value in worker.known.items()}
    keys = sorted(expected)
    for first in range(0, len(keys), 200):
        batch = keys[first : first + 200]
        found, unreadable, errors = read(connection, batch)
        equal(unreadable, [], f"rows that must be readable ({errors})")
        for row in batch:
            equal(found.get(row), expected[row], f"row {row}")
    print(f"   {len(keys)} rows compared at port {port}")


def undecided_writes_are_whole(chosen, port, workers):
    connection = connect(chosen.host, port, database=DATABASE)
    whole = absent = 0
    for group in (group for worker in workers for group in worker.undecided):
        found, unreadable, errors = read(connection, sorted(group))
        equal(unreadable, [], f"rows of unknown outcome that must be readable ({errors})")
        outcomes = set()
        for row, (before, after) in group.items():
            value = found.get(row)
            if value not in (before, after):
                raise AssertionError(f"row {row} of unknown outcome holds {value}, not {before} or {after}")
            outcomes.add(value == after)
        if len(outcomes) > 1:
            raise AssertionError(f"a transaction was committed in part: {group}, found {found}")
        whole += outcomes == {True}
        absent += outcomes == {False}
    print(f"   unknown outcomes: {whole} committed, {absent} not")


def errors_are_the_promised_ones(workers):
    surprises = [text for worker in workers for text in worker.surprises]
    equal(surprises, [], "other errors")


def nothing_is_refused_after_the_takeover(workers, survivor_port, killed):
    late = [
        (worker.index, moment - killed)
        for worker in workers
        for moment in worker.refusals
        if worker.port == survivor_port and moment > killed + TAKEOVER_SECONDS
    ]
    equal(late, [], "refusals (worker, seconds after the kill)")


def everybody_went_on(workers, survivor_port, killed, returned):
    survivors = [worker for worker in workers if worker.port == survivor_port]
    meanwhile = sum(killed < moment < returned for worker in survivors for moment in worker.successes)
    if meanwhile < 10 * len(survivors):
        raise AssertionError(f"the survivor's clients wrote {meanwhile} times while the node was away")
    for worker in workers:
        before = sum(moment < killed for moment in worker.successes)
        after = sum(moment > returned for moment in worker.successes)
        if before < 10 or after < 10:
            raise AssertionError(f"worker {worker.index} wrote {before} times before the kill, {after} times after the return")
        # A survivor's client is disconnected only to tell it that the outcome of its COMMIT is not known.
        unknown = worker.errors[1180]
        if worker.port == survivor_port and worker.losses > unknown:
            raise AssertionError(f"worker {worker.index} of the survivor lost its connection {worker.losses} times")
        if worker.port != survivor_port and worker.losses == 0:
            raise AssertionError(f"worker {worker.index} has not noticed that its node was gone")


def survivors_gap(workers, survivor_port, killed):
    """The longest time around the kill in which a worker of the survivor had no success."""
    gaps = []
    for worker in workers:
        moments = [moment for moment in worker.successes if killed - 1 < moment < killed + TAKEOVER_SECONDS]
        if worker.port == survivor_port:
            gaps += [later - earlier for earlier, later in zip(moments, moments[1:])]
    return max(gaps, default=float("inf"))


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
    killed = time.monotonic()
    os.kill(chosen.victim, signal.SIGKILL)
    checks = Checks()
    checks.run("the node comes back", node_comes_back, chosen)
    returned = time.monotonic()
    # So that what is refused after the takeover has time to be, and everybody to write.
    time.sleep(max(AFTER_SECONDS, killed + TAKEOVER_SECONDS + AFTER_SECONDS - returned))
    stop.set()
    for worker in workers:
        worker.join(timeout=60)
    hung = [worker.index for worker in workers if worker.is_alive()]
    checks.run("nobody hangs", equal, hung, [])
    if hung:
        checks.close()
    checks.run("restart_info tells of the return", restart_info_tells_it, chosen)
    both = (chosen.survivor_port, chosen.victim_port)
    for port in both:
        checks.run(f"new writes are taken, port {port}", new_writes_are_taken, chosen, port)
    checks.run("everybody went on", everybody_went_on, workers, chosen.survivor_port, killed, returned)
    checks.run("errors are 1213, 1180 or a lost connection", errors_are_the_promised_ones, workers)
    checks.run(
        "nothing is refused after the takeover", nothing_is_refused_after_the_takeover, workers, chosen.survivor_port, killed
    )
    for port in both:
        checks.run(f"acknowledged writes are there, port {port}", acknowledged_writes_are_there, chosen, port, workers)
        checks.run(f"undecided writes are whole, port {port}", undecided_writes_are_whole, chosen, port, workers)
    errors = sum((worker.errors for worker in workers), collections.Counter())
    gap = survivors_gap(workers, chosen.survivor_port, killed)
    print(f"   errors by number: {dict(errors)}; the survivor's clients waited {1e3 * gap:.0f} ms; back after {returned - killed:.3f} s")
    sys.stdout.flush()
    checks.close()


if __name__ == "__main__":
    main()
