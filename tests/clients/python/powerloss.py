"""Writers whose rows tell afterwards what a loss of all processes has taken.

    python3 powerloss.py write --ports 3306,3307 --told FILE --durability memory
    python3 powerloss.py check --ports 3306,3307 --told FILE --durability memory

`write` goes on until the connections are lost. Each writer counts: a transaction raises its own number in `head`, and puts a row into
`journal` that names another writer's number as it was read before. FILE has a line for each number that was tried or acknowledged.

`check` reads all of it again, at every port. A transaction is there as a whole or not at all, and so are all before it of the same
writer. What a surviving transaction has read has survived. With durability `epoch` everything acknowledged is there; with `memory`
at least what was acknowledged LOST_MAX_S before the end.
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
# Far above what `memory` may lose: a check of rows, not a measurement.
LOST_MAX_S = 2.0


class Told:
    """The file of what was tried and acknowledged."""

    def __init__(self, path):
        self.file = open(path, "w", buffering=1, encoding="ascii")
        self.lock = threading.Lock()

    def line(self, kind, writer, number):
        with self.lock:
            self.file.write(f"{kind} {writer} {number} {time.monotonic():.6f}\n")


def prepare(chosen):
    with connect("127.0.0.1", chosen.ports[0]) as session:
        run(session, f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
        run(session, f"CREATE TABLE IF NOT EXISTS {DATABASE}.head (writer INT PRIMARY KEY, n BIGINT NOT NULL)")
        journal = "writer INT, n BIGINT, other INT NOT NULL, seen BIGINT NOT NULL, filler VARCHAR(200), PRIMARY KEY (writer, n), KEY (other)"
        run(session, f"CREATE TABLE IF NOT EXISTS {DATABASE}.journal ({journal})")
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


def write(chosen):
    prepare(chosen)
    told, surprises = Told(chosen.told), []
    print("writing", flush=True)
    writers = [threading.Thread(target=count, args=(chosen, writer, told, surprises)) for writer in range(WRITERS)]
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
    if durability == "epoch":
        equal(lost[:3], [], "acknowledged as durable, and lost (when, writer, number)")
    return lost, heads


def check(chosen):
    tried, done, end = {}, {}, 0.0
    with open(chosen.told, encoding="ascii") as lines:
        for line in lines:
            kind, writer, number, when = line.split()
            end = max(end, float(when))
            if kind == "tried":
                tried[int(writer)] = max(tried.get(int(writer), 0), int(number))
            else:
                done.setdefault(int(writer), []).append((int(number), float(when)))
    views = []
    for port in chosen.ports:
        with connect("127.0.0.1", port, database=DATABASE) as session:
            lost, heads = check_port(session, tried, done, chosen.durability)
            views.append(heads)
    equal(views[1:], views[:1] * (len(views) - 1), "the numbers at the ports")
    acknowledged = sum(map(len, done.values()))
    oldest = end - min((when for when, _, _ in lost), default=end)
    print(f"{acknowledged} acknowledged, {len(lost)} lost, the oldest {oldest * 1000:.0f} ms before the end", flush=True)
    if oldest > LOST_MAX_S:
        raise AssertionError(f"lost from {oldest:.1f} s before the end: {min(lost)}")
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["write", "check"])
    parser.add_argument("--ports", type=lambda text: [int(port) for port in text.split(",")], required=True)
    parser.add_argument("--told", required=True)
    parser.add_argument("--durability", choices=["memory", "epoch"], required=True)
    chosen = parser.parse_args()
    sys.exit(0 if (write if chosen.action == "write" else check)(chosen) else 1)


if __name__ == "__main__":
    main()
