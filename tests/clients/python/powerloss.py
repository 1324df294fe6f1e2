"""Writers whose rows tell afterwards what a loss of all processes has taken.

    python3 powerloss.py write --ports 3306,3307 --told FILE --durability memory
    python3 powerloss.py check --ports 3306,3307 --told FILE --durability memory

`write` goes on until the connections are lost. Each writer counts: a transaction raises its own number in `head`, and puts a row into
`journal` that names another writer's number as it was read before. FILE has a line for each number that was tried or acknowledged, for
each table that was made meanwhile, and for each figure of `ndbinfo.durability`.

`check` reads all of it again, at every port. A transaction is there as a whole or not at all, and so are all before it of the same
writer. What a surviving transaction has read has survived, and so has every table. With durability `epoch` everything acknowledged is
there; so it is with `fsync`, where config.ini asks, and with `table`, where sessions say nothing and the tables ask. With `memory` no
more is lost than each of the figures said: neither for longer nor more bytes.
"""

import argparse
import random
import sys
import threading
import time

import pymysql

from checks import connect, equal, rows, run

DATABASE = "power_test"
WRITERS = 8
CONNECTION_LOST = {0, 2003, 2006, 2013, 2014, 2055}
RETRYABLE = {1205, 1213, 1180}
# A transaction takes more bytes of a log.
TRANSACTION_SIZE_MIN = 60
# Between two figures, and two tables.
WATCH_S = 0.02
TABLE_S = 0.3
TABLES_MAX = 20
COMMENTS = {"table": "NDB_TABLE=DURABILITY=epoch"}


class Told:
    """The file of what was tried and acknowledged."""

    def __init__(self, path):
        self.file = open(path, "w", buffering=1, encoding="ascii")
        self.lock = threading.Lock()

    def line(self, kind, writer, number, when=None):
        with self.lock:
            self.file.write(f"{kind} {writer} {number} {when or time.monotonic():.6f}\n")


def prepare(chosen):
    with connect("127.0.0.1", chosen.ports[0]) as session:
        run(session, f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
        run(session, f"CREATE TABLE IF NOT EXISTS {DATABASE}.head (writer INT PRIMARY KEY, n BIGINT NOT NULL)")
        journal = "writer INT, n BIGINT, other INT NOT NULL, seen BIGINT NOT NULL, filler VARCHAR(200), PRIMARY KEY (writer, n), KEY (other)"
        run(session, f"CREATE TABLE IF NOT EXISTS {DATABASE}.journal ({journal})")
        for table in ["head", "journal"]:
            run(session, f"ALTER TABLE {DATABASE}.{table} COMMENT = '{COMMENTS.get(chosen.durability, '')}'")
        for writer in range(WRITERS):
            run(session, f"INSERT IGNORE INTO {DATABASE}.head VALUES (%s, 0)", (writer,))


def count(chosen, writer, told, surprises):
    """One writer, until its connection is lost."""
    draw = random.Random(writer)
    try:
        session = connect("127.0.0.1", chosen.ports[writer % len(chosen.ports)], database=DATABASE, autocommit=False)
        if chosen.durability == "epoch":
            run(session, "SET SESSION durability = 'epoch'")
        while True:
            try:
                # What is read here was committed before this transaction is.
                other = draw.randrange(WRITERS)
                ((own,),) = rows(session, "SELECT n FROM head WHERE writer = %s", (writer,))
                ((seen,),) = rows(session, "SELECT n FROM head WHERE writer = %s", (other,))
                number = own + 1
                told.line("tried", writer, number)
                run(session, "UPDATE head SET n = %s WHERE writer = %s", (number, writer))
                row = (writer, number, other, seen, "x" * draw.randrange(200))
                run(session, "INSERT INTO journal VALUES (%s, %s, %s, %s, %s)", row)
                session.commit()
                told.line("done", writer, number)
            except pymysql.MySQLError as error:
                if error.args[0] not in RETRYABLE:
                    raise
                session.rollback()
    except (pymysql.MySQLError, OSError) as error:
        if isinstance(error, pymysql.MySQLError) and error.args[0] not in CONNECTION_LOST | {1053}:
            surprises.append(f"writer {writer}: {error.args}")


def until_lost(chosen, name, surprises, step):
    """Repeats a step in a session of its own, until its connection is lost."""
    try:
        session = connect("127.0.0.1", chosen.ports[0], database=DATABASE)
        while True:
            try:
                step(session)
            except pymysql.MySQLError as error:
                if error.args[0] not in RETRYABLE:
                    raise
    except (pymysql.MySQLError, OSError) as error:
        if isinstance(error, pymysql.MySQLError) and error.args[0] not in CONNECTION_LOST | {1053}:
            surprises.append(f"{name}: {error.args}")


def watch(chosen, told, surprises):
    """What a stop of all would take, as it is shown: every port is a data node's."""

    def step(session):
        asked = time.monotonic()
        ((nodes, lost_ms, lost_bytes),) = rows(session, "SELECT COUNT(*), MAX(lost_ms), SUM(lost_bytes) FROM ndbinfo.durability")
        if nodes == len(chosen.ports):
            told.line("shown", lost_ms, lost_bytes, asked)
        time.sleep(WATCH_S)

    until_lost(chosen, "watcher", surprises, step)


def make_tables(chosen, told, surprises):
    """Tables, one after the other: DDL is acknowledged when it is durable."""

    def step(session):
        name = f"made_{time.time_ns()}"
        run(session, f"CREATE TABLE {name} (id INT PRIMARY KEY, KEY (id))")
        told.line("made", name, 0)
        time.sleep(TABLE_S)
        if len(rows(session, "SHOW TABLES LIKE 'made_%'")) > TABLES_MAX:
            ((oldest, *_), *_) = sorted(rows(session, "SHOW TABLES LIKE 'made_%'"))
            told.line("dropping", oldest, 0)
            run(session, f"DROP TABLE {oldest}")
            told.line("dropped", oldest, 0)

    until_lost(chosen, "tables", surprises, step)


def write(chosen):
    prepare(chosen)
    told, surprises = Told(chosen.told), []
    print("writing", flush=True)
    writers = [threading.Thread(target=count, args=(chosen, writer, told, surprises)) for writer in range(WRITERS)]
    writers += [threading.Thread(target=work, args=(chosen, told, surprises)) for work in [watch, make_tables]]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    told.file.close()
    for surprise in surprises:
        print(f"FAILED {surprise}", flush=True)
    return not surprises


def check_port(session, tried, done, durability):
    """What one port shows. Gives the lost transactions, each with its time."""
    heads = dict(rows(session, "SELECT writer, n FROM head"))
    equal(sorted(heads), list(range(WRITERS)), "writers")
    counts = {writer: (count, last) for writer, count, last in rows(session, "SELECT writer, COUNT(*), MAX(n) FROM journal GROUP BY writer")}
    lost = []
    for writer, head in sorted(heads.items()):
        equal(counts.get(writer, (0, None)), (head, head or None), f"journal of writer {writer}: rows and the last number")
        if writer in tried and head > tried[writer]:
            raise AssertionError(f"writer {writer} has never tried {head}")
        lost += [(when, writer, number) for number, when in done.get(writer, []) if number > head]
    broken = []
    for other, head in sorted(heads.items()):
        text = "SELECT writer, n, other, seen FROM journal WHERE other = %s AND seen > %s LIMIT 3"
        broken += rows(session, text, (other, head))
    equal(broken, [], "transactions that have read what is lost (writer, number, other, seen)")
    if durability != "memory":
        equal(lost[:3], [], "acknowledged as durable, and lost (when, writer, number)")
    return lost, heads


def check_tables(session, tables):
    """What was made is there, and what was dropped is not."""
    there = {name for (name,) in rows(session, "SHOW TABLES LIKE 'made_%'")}
    wrong = [(name, state) for name, state in tables.items() if (state == "made") != (name in there) and state != "dropping"]
    equal(wrong, [], "tables and what became of them")


def check_figures(shown, lost):
    """No figure has promised what is lost."""
    for asked, lost_ms, lost_bytes in shown:
        early = [entry for entry in lost if entry[0] < asked - lost_ms / 1000]
        equal(early[:3], [], f"lost, though {asked} was said to lose {lost_ms} ms (when, writer, number)")
        before = sum(when < asked for when, _, _ in lost)
        if before * TRANSACTION_SIZE_MIN > lost_bytes:
            raise AssertionError(f"{before} transactions are lost, though {asked} was said to lose {lost_bytes} bytes")


def check(chosen):
    tried, done, shown, tables, end = {}, {}, [], {}, 0.0
    with open(chosen.told, encoding="ascii") as lines:
        for line in lines:
            kind, first, second, when = line.split()
            end = max(end, float(when))
            if kind == "tried":
                tried[int(first)] = max(tried.get(int(first), 0), int(second))
            elif kind == "done":
                done.setdefault(int(first), []).append((int(second), float(when)))
            elif kind == "shown":
                shown.append((float(when), int(first), int(second)))
            else:
                tables[first] = kind
    views = []
    for port in chosen.ports:
        with connect("127.0.0.1", port, database=DATABASE) as session:
            lost, heads = check_port(session, tried, done, chosen.durability)
            check_tables(session, tables)
            check_figures(shown, lost)
            views.append(heads)
    equal(views[1:], views[:1] * (len(views) - 1), "the numbers at the ports")
    acknowledged = sum(map(len, done.values()))
    oldest = end - min((when for when, _, _ in lost), default=end)
    figures = f"at most {max((ms for _, ms, _ in shown), default=0)} ms were shown in {len(shown)} figures"
    made = sum(state == "made" for state in tables.values())
    print(f"{acknowledged} acknowledged, {len(lost)} lost, the oldest {oldest * 1000:.0f} ms before the end; {figures}; {made} tables", flush=True)
    if not shown:
        raise AssertionError("ndbinfo.durability has shown nothing")
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["write", "check"])
    parser.add_argument("--ports", type=lambda text: [int(port) for port in text.split(",")], required=True)
    parser.add_argument("--told", required=True)
    parser.add_argument("--durability", choices=["memory", "epoch", "fsync", "table"], required=True)
    chosen = parser.parse_args()
    sys.exit(0 if (write if chosen.action == "write" else check)(chosen) else 1)


if __name__ == "__main__":
    main()
