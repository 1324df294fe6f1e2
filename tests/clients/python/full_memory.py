"""Full memory, kill, rejoin: a data node that is killed while DataMemory is full comes back; and memory that is free goes back to the system.

    python3 full_memory.py fill --write-port 3306 --read-port 3307 --victim PID
    python3 full_memory.py free --write-port 3306 --read-port 3307 --node 2=PID --node 3=PID

`fill` makes tables of ten shapes, fills memory to the end, and kills the victim; whoever started it is expected to start it again, and it is back with
all rows. `free` loads tables and drops them: ten seconds later each process holds at most 1.25 times what ndbinfo.resources calls used, and 64 MiB.
"""

import os
import random
import re
import signal
import time

import pymysql

from checks import Checks, connect, equal, options, rows, run

DATABASE = "full_memory"
PAGE = 32 * 1024
MIB = 1 << 20
# What each shape takes, of a DataMemory of some 130 MiB.
SHARE = 8 * MIB
ROWS_PER_STATEMENT = 500
GIVEN_BACK_SECONDS = 10
# From the kill until the node serves clients again, on a busy machine.
RETURN_SECONDS = 120

draw = random.Random(7)


def scattered(number):
    """Different numbers of 32 bits in no order."""
    return (number * 2654435761 + 2**31) % 2**32 - 2**31


def word(length):
    return "".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=length))


# Name, columns and keys, about how many bytes a row takes, and the row of a number.
SHAPES = [
    ("plain", "id INT PRIMARY KEY, n INT", 68, lambda i: f"({i}, 7)"),
    ("in_time", "id INT PRIMARY KEY, n INT, KEY (n)", 109, lambda i: f"({scattered(i)}, {i})"),
    (
        "five_keys",
        "id INT PRIMARY KEY, a INT, b INT, c INT, d INT, KEY (a), KEY (b), KEY (c), KEY (d, a), KEY (c, b)",
        300,
        lambda i: f"({scattered(i)}, {i}, {i % 10}, {draw.randrange(1 << 30)}, {i % 7})",
    ),
    ("strings", "id INT PRIMARY KEY, s VARCHAR(700), KEY (s)", 1_500, lambda i: f"({scattered(i)}, '{i}{word(200)}{'s' * draw.randrange(450)}')"),
    ("blobs", "id INT PRIMARY KEY, b LONGBLOB", 25_000, lambda i: f"({scattered(i)}, REPEAT('b', {draw.choice([100, 5_000, 11_000, 32_768, 70_000])}))"),
    (
        "nulls",
        "id INT PRIMARY KEY, a INT, b INT, c INT, KEY (a), KEY (b), KEY (c)",
        200,
        lambda i: f"({scattered(i)}, " + ", ".join(str(i) if draw.random() < 0.1 else "NULL" for _ in range(3)) + ")",
    ),
    ("tiny", "id INT PRIMARY KEY", 71, lambda i: f"({scattered(i)})"),
    ("unique_key", "id INT PRIMARY KEY, s VARCHAR(40), UNIQUE KEY (s)", 250, lambda i: f"({scattered(i)}, 'customer-{i}')"),
    (
        "string_keys",
        "country VARCHAR(40), city VARCHAR(60), n INT, PRIMARY KEY (country, city), KEY (n), KEY (city)",
        340,
        lambda i: f"('country-{i % 50}', '{word(12)}{i}', {i})",
    ),
    ("changed", "id INT PRIMARY KEY, n INT, KEY (n)", 109, lambda i: f"({scattered(i)}, {draw.randrange(1 << 20)})"),
]
MANY_TABLES = 40


def insert(connection, table, numbers, row):
    run(connection, f"INSERT INTO {table} VALUES {', '.join(row(number) for number in numbers)}")


def insert_share(connection, table, row, bytes_of_row, share=SHARE):
    count = share // bytes_of_row
    at_once = min(ROWS_PER_STATEMENT, max(1, MIB // bytes_of_row))
    for first in range(0, count, at_once):
        insert(connection, table, range(first, min(first + at_once, count)), row)
    return count


def fill(chosen):
    writer = connect(chosen.host, chosen.write_port)
    run(writer, f"DROP DATABASE IF EXISTS {DATABASE}")
    run(writer, f"CREATE DATABASE {DATABASE}")
    writer.select_db(DATABASE)
    for name, columns, bytes_of_row, row in SHAPES:
        run(writer, f"CREATE TABLE {name} ({columns})")
        insert_share(writer, name, row, bytes_of_row)
    # Rows that were updated and deleted in no order.
    run(writer, "UPDATE changed SET n = n + 1000000 WHERE n % 3 = 0")
    run(writer, "DELETE FROM changed WHERE n % 2 = 1")
    for number in range(MANY_TABLES):
        run(writer, f"CREATE TABLE many_{number} (id INT PRIMARY KEY, n INT, KEY (n))")
        insert_share(writer, f"many_{number}", lambda i: f"({scattered(i)}, {i})", 115, SHARE // MANY_TABLES)
    run(writer, "CREATE TABLE rest (id INT PRIMARY KEY, n INT, KEY (n))")
    first = 0
    for at_once in (ROWS_PER_STATEMENT, 20, 1):
        while True:
            try:
                insert(writer, "rest", range(first, first + at_once), lambda i: f"({i}, {i * 7919 % 1000003})")
            except pymysql.MySQLError as error:
                equal(error.args[0], 1114, f"{error.args}")
                break
            first += at_once
    for node, used in resources(writer, "DataMemory").items():
        print(f"   node {node}: {used[0]} of {used[1]} pages", flush=True)
    kill_and_wait(chosen)


def kill_and_wait(chosen):
    """Until the next life of the victim serves clients: then it is in sync."""
    reader = connect(chosen.host, chosen.read_port)
    os.kill(chosen.victim, signal.SIGKILL)
    while True:
        try:
            rows(reader, "SELECT 1")
        except pymysql.MySQLError:
            break
    end = time.monotonic() + RETURN_SECONDS
    while True:
        try:
            return connect(chosen.host, chosen.read_port).close()
        except pymysql.MySQLError as error:
            if time.monotonic() >= end:
                raise AssertionError(f"it does not come back: {error}") from error
            time.sleep(0.2)


def resources(connection, region=None):
    """Pages in use by the regions of each data node, and the most they may have."""
    found = {}
    for node, name, used, most in rows(connection, "SELECT node_id, resource_name, used, max FROM ndbinfo.resources"):
        if name == region or (region is None and name != "OutsideRegions"):
            before = found.get(node, (0, 0))
            found[node] = (before[0] + used, before[1] + most)
    return {node: used for node, used in found.items() if node != 1}


def rows_are_there(chosen):
    counts = []
    for port in (chosen.write_port, chosen.read_port):
        connection = connect(chosen.host, port, database=DATABASE)
        tables = [name for (name,) in rows(connection, "SHOW TABLES")]
        counts.append({name: rows(connection, f"SELECT COUNT(*) FROM {name}") for name in tables})
    equal(counts[0], counts[1], "the nodes count the same rows")
    equal(len(counts[0]), len(SHAPES) + MANY_TABLES + 1, "tables")


def resident(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read()).group(1)) * 1024


def is_given_back(connection, nodes):
    used = resources(connection)
    held = {node: (resident(pid) // MIB, used[node][0] * PAGE // MIB) for node, pid in nodes.items()}
    return all(process <= region * 5 // 4 + 64 for process, region in held.values()), held


def wait_until_freed(connection):
    """Until the rows of a dropped table are: that takes its time, in slices."""
    while any(used[0] * PAGE > 8 * MIB for used in resources(connection, "DataMemory").values()):
        time.sleep(0.1)


def memory_goes_back(chosen, what):
    """Polls until it has, or the time is over."""
    nodes = {int(node): int(pid) for node, pid in (pair.split("=") for pair in chosen.node)}
    connection = connect(chosen.host, chosen.write_port)
    end = time.monotonic() + GIVEN_BACK_SECONDS
    while True:
        done, held = is_given_back(connection, nodes)
        if done or time.monotonic() >= end:
            break
        time.sleep(0.2)
    print(f"   {what}: MiB of the process and of its regions, by node: {held}", flush=True)
    equal(done, True, f"{what}: {held}")
    outside = rows(connection, "SELECT COUNT(*) FROM ndbinfo.resources WHERE resource_name = 'OutsideRegions' AND used > 0")
    equal(outside[0][0] >= len(nodes), True, "each data node tells what it holds beside its regions")


def filled_with_rows(chosen):
    writer = connect(chosen.host, chosen.write_port)
    run(writer, f"CREATE DATABASE {DATABASE}")
    writer.select_db(DATABASE)
    run(writer, "CREATE TABLE in_order (id INT PRIMARY KEY, n INT, KEY (n))")
    insert_share(writer, "in_order", lambda i: f"({i}, {i * 7919 % 1000003})", 109, 80 * MIB)
    memory_goes_back(chosen, "rows")
    run(writer, f"DROP DATABASE {DATABASE}")
    wait_until_freed(writer)
    memory_goes_back(chosen, "after DROP DATABASE")


def filled_with_blobs(chosen):
    """Rows too large for pages, most of which go."""
    writer = connect(chosen.host, chosen.write_port)
    run(writer, f"CREATE DATABASE {DATABASE}")
    writer.select_db(DATABASE)
    run(writer, "CREATE TABLE blobs (id INT PRIMARY KEY, b LONGBLOB)")
    insert_share(writer, "blobs", lambda i: f"({i}, REPEAT('b', {15_000 + i % 7 * 1_000}))", 18_000, 90 * MIB)
    memory_goes_back(chosen, "blobs")
    run(writer, "DELETE FROM blobs WHERE id % 4 > 0")
    memory_goes_back(chosen, "after most blobs were deleted")
    run(writer, f"DROP DATABASE {DATABASE}")
    wait_until_freed(writer)
    memory_goes_back(chosen, "after large rows were dropped")


def main():
    parser = options(__doc__)
    parser.add_argument("what", choices=["fill", "free"])
    parser.add_argument("--victim", type=int)
    parser.add_argument("--node", action="append", default=[])
    chosen = parser.parse_args()
    checks = Checks()
    if chosen.what == "fill":
        checks.run("tables of many shapes fill memory", fill, chosen)
        checks.run("the rows are there", rows_are_there, chosen)
    else:
        checks.run("memory goes back from rows", filled_with_rows, chosen)
        checks.run("memory goes back from large rows", filled_with_blobs, chosen)
    checks.close()


if __name__ == "__main__":
    main()
