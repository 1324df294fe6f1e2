"""Locks beside transactions, by two nodes: LOCK TABLES, GET_LOCK, SKIP LOCKED, KILL, and clients that leave.

    python3 locks.py --write-port 3306 --read-port 3307

Connections of the first port hold what those of the second want. It works in database `locks_test`, which it makes anew.
"""

import threading
import time

import pymysql

import checks
from checks import Checks, connect, equal, options

DATABASE = "locks_test"
JOBS = 200
WORKERS = 8
# No answer comes sooner than this while something is locked.
BLOCKED_SECONDS = 0.5
# An answer that something waits for comes within this.
PATIENCE_SECONDS = 10


def rows(connection, statement):
    return list(checks.rows(connection, statement))


def run(connection, *statements):
    for statement in statements:
        checks.run(connection, statement)


def fails_with(number, connection, statement):
    checks.fails_with(number, lambda: checks.run(connection, statement))


class Waiting(threading.Thread):
    """A statement of another connection that is expected to wait."""

    def __init__(self, connection, statement):
        super().__init__(daemon=True)
        self.connection, self.statement = connection, statement
        self.result, self.error = None, None
        self.start()

    def run(self):
        try:
            self.result = rows(self.connection, self.statement)
        except pymysql.Error as error:
            self.error = error.args[0]

    def waits(self):
        self.join(BLOCKED_SECONDS)
        if not self.is_alive():
            raise AssertionError(f"{self.statement!r} does not wait: {self.result} {self.error}")

    def ends(self):
        self.join(PATIENCE_SECONDS)
        if self.is_alive():
            raise AssertionError(f"{self.statement!r} still waits")
        return self.error


class Ports:
    """Connections to both nodes."""

    def __init__(self, chosen):
        self.chosen = chosen

    def first(self):
        return connect(self.chosen.host, self.chosen.write_port, database=DATABASE)

    def second(self):
        return connect(self.chosen.host, self.chosen.read_port, database=DATABASE)


def value(connection, statement):
    return rows(connection, statement)[0][0]


def tables(ports):
    holder, other = ports.first(), ports.second()
    run(holder, "DROP TABLE IF EXISTS t", "DROP TABLE IF EXISTS u")
    run(holder, "CREATE TABLE t (id INT PRIMARY KEY, n INT, UNIQUE KEY (n))", "CREATE TABLE u (id INT PRIMARY KEY)")
    run(holder, "LOCK TABLES t WRITE")
    run(holder, "/*!40000 ALTER TABLE `t` DISABLE KEYS */")
    equal(value(holder, "SHOW WARNINGS"), "Note")
    run(holder, "INSERT INTO t VALUES " + ", ".join(f"({id}, {id})" for id in range(100)))
    writer = Waiting(other, "UPDATE t SET n = -5 WHERE id = 5")
    writer.waits()
    equal(value(ports.second(), "SELECT COUNT(*) FROM t"), 100)
    fails_with(1100, holder, "SELECT * FROM u")
    fails_with(1100, holder, "SELECT * FROM u WHERE id = 1")
    fails_with(1192, holder, "CREATE TABLE v (id INT PRIMARY KEY)")
    run(holder, "UPDATE t SET n = 105 WHERE id = 5", "COMMIT")
    writer.waits()
    run(holder, "UNLOCK TABLES")
    equal(writer.ends(), None)
    equal(value(holder, "SELECT n FROM t WHERE id = 5"), -5)
    # For reading, by several; START TRANSACTION unlocks; what is changed waits for LOCK TABLES, and behind it.
    run(holder, "LOCK TABLES t READ, u AS alias READ LOCAL")
    run(other, "LOCK TABLES t READ", "UNLOCK TABLES")
    fails_with(1099, holder, "DELETE FROM t WHERE id = 1")
    writer = Waiting(other, "DELETE FROM t WHERE id = 1")
    writer.waits()
    run(holder, "START TRANSACTION")
    equal(writer.ends(), None)
    run(holder, "INSERT INTO t VALUES (1000, 1000)")
    locker = Waiting(other, "LOCK TABLES t WRITE")
    locker.waits()
    run(holder, "COMMIT")
    equal(locker.ends(), None)
    newcomer = Waiting(ports.second(), "INSERT INTO t VALUES (1001, 1001), (1002, 1002), (1003, 1003)")
    newcomer.waits()
    # The end of the session unlocks.
    other.close()
    equal(newcomer.ends(), None)
    run(holder, "SET lock_wait_timeout = 1", "LOCK TABLES t WRITE")
    impatient = ports.second()
    run(impatient, "SET lock_wait_timeout = 1")
    fails_with(1205, impatient, "LOCK TABLES t READ")
    holder.close()
    run(impatient, "LOCK TABLES t WRITE", "UNLOCK TABLES")


def names(ports):
    holder, other = ports.first(), ports.second()
    equal(rows(holder, "SELECT GET_LOCK('a', 1), GET_LOCK('A', 0)"), [(1, 1)])
    equal(rows(other, "SELECT GET_LOCK('a', 0), IS_FREE_LOCK('a'), IS_FREE_LOCK('b')"), [(0, 0, 1)])
    equal(value(other, "SELECT IS_USED_LOCK('a')"), value(holder, "SELECT CONNECTION_ID()"))
    equal(rows(other, "SELECT RELEASE_LOCK('a'), RELEASE_LOCK('b'), RELEASE_ALL_LOCKS()"), [(0, None, 0)])
    run(holder, "BEGIN", "ROLLBACK")
    equal(value(holder, "SELECT RELEASE_LOCK('a')"), 1)
    equal(value(other, "SELECT GET_LOCK('a', 0)"), 0)
    waiting = Waiting(other, "SELECT GET_LOCK('a', -1)")
    waiting.waits()
    equal(value(holder, "SELECT RELEASE_LOCK('a')"), 1)
    equal(waiting.ends(), None)
    equal(waiting.result, [(1,)])
    run(holder, "SET @got = GET_LOCK('b', 0)")
    equal(value(holder, "SELECT @got"), 1)
    run(holder, "DO GET_LOCK('c', 0), GET_LOCK('c', 0)")
    with holder.cursor() as cursor:
        cursor.execute("SELECT GET_LOCK(%s, %s)", ("d", 0))
        equal(cursor.fetchall(), ((1,),))
    # Two that wait for each other: one of them hears of it.
    waiting = Waiting(other, "SELECT GET_LOCK('b', 60)")
    waiting.waits()
    crossing = Waiting(holder, "SELECT GET_LOCK('a', 60)")
    if waiting.ends() is None:
        raise AssertionError(waiting.result)
    equal(waiting.error, 3058)
    crossing.waits()
    equal(value(other, "SELECT RELEASE_ALL_LOCKS()"), 1)
    equal(crossing.ends(), None)
    equal(value(holder, "SELECT RELEASE_ALL_LOCKS()"), 5)
    fails_with(3057, holder, "SELECT GET_LOCK('', 0)")
    fails_with(3057, holder, "SELECT GET_LOCK(NULL, 0)")
    fails_with(4163, holder, f"SELECT GET_LOCK('{'x' * 65}', 0)")
    equal(value(holder, f"SELECT GET_LOCK('{'x' * 64}', 0)"), 1)
    holder.close()
    equal(value(other, f"SELECT GET_LOCK('{'x' * 64}', 10)"), 1)


def jobs(ports):
    """Each row of a queue goes to one worker."""
    maker = ports.first()
    run(maker, "DROP TABLE IF EXISTS jobs", "CREATE TABLE jobs (id INT PRIMARY KEY, state INT NOT NULL)")
    run(maker, "INSERT INTO jobs VALUES " + ", ".join(f"({id}, 0)" for id in range(JOBS)))
    taken = [[] for _ in range(WORKERS)]
    errors = []

    def work(number):
        connection = ports.first() if number % 2 == 0 else ports.second()
        try:
            while True:
                run(connection, "BEGIN")
                found = rows(connection, "SELECT id FROM jobs WHERE state = 0 ORDER BY id LIMIT 1 FOR UPDATE OF jobs SKIP LOCKED")
                if not found:
                    run(connection, "COMMIT")
                    return
                run(connection, f"UPDATE jobs SET state = 1 WHERE id = {found[0][0]}", "COMMIT")
                taken[number].append(found[0][0])
        except pymysql.Error as error:
            errors.append(error)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(WORKERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    equal(errors, [])
    equal(sorted(sum(taken, [])), list(range(JOBS)))
    run(maker, "BEGIN")
    equal(value(maker, "SELECT id FROM jobs WHERE id = 3 FOR UPDATE"), 3)
    other = ports.second()
    fails_with(3572, other, "SELECT id FROM jobs WHERE id IN (3, 4) FOR SHARE NOWAIT")
    equal(rows(other, "SELECT id FROM jobs WHERE id < 6 ORDER BY id LIMIT 4 FOR UPDATE SKIP LOCKED"), [(0,), (1,), (2,), (4,)])
    run(maker, "ROLLBACK")


def kills(ports):
    root = ports.first()
    run(root, "DROP USER IF EXISTS locks_user", "CREATE USER locks_user IDENTIFIED BY 'secret'")
    run(root, f"GRANT SELECT ON {DATABASE}.* TO locks_user")
    user = pymysql.connect(host=ports.chosen.host, port=ports.chosen.write_port, user="locks_user", password="secret")
    own = value(root, "SELECT CONNECTION_ID()")
    fails_with(1095, user, f"KILL {own}")
    fails_with(1095, user, f"KILL QUERY {own}")
    for unknown in [4_294_967_295, 99_999_999_999, 0]:
        fails_with(1094, root, f"KILL {unknown}")
    holder = ports.first()
    run(holder, "BEGIN", "SELECT GET_LOCK('killed', 0)")
    run(holder, "DO 1")
    heir = ports.second()
    waiting = Waiting(heir, "SELECT GET_LOCK('killed', 60)")
    waiting.waits()
    run(root, f"KILL {value(holder, 'SELECT CONNECTION_ID()')}")
    equal(waiting.ends(), None)
    equal(waiting.result, [(1,)])
    # KILL QUERY ends a wait, and the name that was asked for is nobody's.
    waiter = ports.first()
    number = value(waiter, "SELECT CONNECTION_ID()")
    waiting = Waiting(waiter, "SELECT GET_LOCK('killed', 60)")
    waiting.waits()
    run(root, f"KILL QUERY {number}")
    equal(waiting.ends(), 1317)
    equal(value(heir, "SELECT RELEASE_LOCK('killed')"), 1)


def leavers(ports):
    """What a client asked for ends with its connection."""
    holder = ports.first()
    run(holder, "DROP TABLE IF EXISTS l", "CREATE TABLE l (id INT PRIMARY KEY, n INT)", "INSERT INTO l VALUES (1, 1)")
    run(holder, "BEGIN", "UPDATE l SET n = 2")
    leaver = ports.first()
    leaver._execute_command(3, "UPDATE l SET n = 3 WHERE id = 1")
    watcher = ports.first()
    listed = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'UPDATE l SET n = 3%'"
    equal(value(watcher, listed), 1)
    leaver._force_close()
    until = time.monotonic() + PATIENCE_SECONDS
    while value(watcher, listed) != 0:
        if time.monotonic() > until:
            raise AssertionError("the statement of a client that has left runs on")
    run(holder, "COMMIT")
    equal(value(watcher, "SELECT n FROM l"), 2)


def main():
    chosen = options(__doc__).parse_args()
    ports = Ports(chosen)
    setup = connect(chosen.host, chosen.write_port)
    run(setup, f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE}")
    checked = Checks()
    for check in [tables, names, jobs, kills, leavers]:
        checked.run(check.__name__, check, ports)
    checked.close()


if __name__ == "__main__":
    main()
