"""SQLAlchemy with several hosts: the host that its connections are with dies, and the program goes on at the next one.

    python3 several_hosts.py --first-port 3306 --second-port 3307 --victim PID

It writes rows one by one, as an application would that knows nothing of nodes: a statement that fails is tried again, and a duplicate
key then says that it had been done. On the way it kills the process that serves its first port. It ends well if all rows are there,
once, and few statements failed.
"""

import os
import signal

import pymysql
import sqlalchemy

from checks import options

DATABASE = "several_hosts_python"
ROWS = 2_000
KILLED_AT = 500
FAILURES_MAX = 20
DUPLICATE_KEY = 1062


def engine_of(host, ports):
    """What docs/operating/clients.md says: a connection is made with the first host that answers, and looked at before it is used."""

    def connect():
        for port in ports:
            try:
                return pymysql.connect(host=host, port=port, user="root", password="", connect_timeout=2, read_timeout=10)
            except pymysql.err.OperationalError as error:
                last = error
        raise last

    return sqlalchemy.create_engine("mysql+pymysql://", creator=connect, pool_pre_ping=True)


def write(engine, row):
    """Gives how many tries failed."""
    for failures in range(FAILURES_MAX):
        try:
            with engine.begin() as connection:
                insert = sqlalchemy.text(f"INSERT INTO {DATABASE}.t VALUES (:id, :v)")
                connection.execute(insert, {"id": row, "v": 2 * row})
            return failures
        except sqlalchemy.exc.DBAPIError as error:
            if failures > 0 and error.orig.args[0] == DUPLICATE_KEY:
                return failures
            print(f"row {row}: {error.orig.args}", flush=True)
    raise AssertionError(f"row {row} failed {FAILURES_MAX} times")


def main():
    parser = options(__doc__, ("--first-port", "--second-port"))
    parser.add_argument("--victim", type=int, required=True, help="the process to kill, which serves the first port")
    chosen = parser.parse_args()
    engine = engine_of(chosen.host, [chosen.first_port, chosen.second_port])
    with engine.begin() as connection:
        for statement in (
            f"DROP DATABASE IF EXISTS {DATABASE}",
            f"CREATE DATABASE {DATABASE}",
            f"CREATE TABLE {DATABASE}.t (id INT PRIMARY KEY, v INT NOT NULL)",
        ):
            connection.execute(sqlalchemy.text(statement))
    failures = 0
    for row in range(ROWS):
        if row == KILLED_AT:
            os.kill(chosen.victim, signal.SIGKILL)
        failures += write(engine, row)
    with engine.begin() as connection:
        found = connection.execute(sqlalchemy.text(f"SELECT COUNT(*), SUM(v) FROM {DATABASE}.t")).one()
    assert tuple(found) == (ROWS, ROWS * (ROWS - 1)), found
    assert failures <= FAILURES_MAX, failures
    print(f"ok {ROWS} rows, {failures} statements failed and were tried again")


if __name__ == "__main__":
    main()
