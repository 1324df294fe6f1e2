"""What the client programs share: options, connections, and checks that print a line each.

A check is a function; it passes when it returns. The exit code of a program is 0 only if all its checks passed.
"""

import argparse
import sys
import traceback

import pymysql


def options(description, ports=("--write-port", "--read-port")):
    """A parser with the host and the ports that every program takes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--host", default="127.0.0.1")
    for name in ports:
        parser.add_argument(name, type=int, required=True)
    return parser


def connect(host, port, **settings):
    """A connection as root, in utf8mb4, that reports every error."""
    chosen = {"charset": "utf8mb4", "autocommit": True, "connect_timeout": 10, "read_timeout": 60, **settings}
    return pymysql.connect(host=host, port=port, user="root", password="", **chosen)


def rows(connection, text, arguments=None):
    """All rows of a statement."""
    with connection.cursor() as cursor:
        cursor.execute(text, arguments)
        return cursor.fetchall()


def run(connection, text, arguments=None):
    """How many rows a statement changed."""
    with connection.cursor() as cursor:
        return cursor.execute(text, arguments)


def equal(found, expected, what=""):
    """Fails, showing both, unless they are equal."""
    if found != expected:
        raise AssertionError(f"{what}: expected {short(expected)}, found {short(found)}")


def short(value):
    text = repr(value)
    return text if len(text) <= 400 else f"{text[:200]} ... {text[-100:]} ({len(text)} characters)"


def fails_with(number, action, sqlstate=None):
    """Fails unless the action ends in this MySQL error number (and SQLSTATE)."""
    try:
        action()
    except pymysql.MySQLError as error:
        equal(error.args[0], number, f"error number of {error.args}")
        return
    raise AssertionError(f"expected error {number}, but there was none")


class Checks:
    """Runs checks in order and counts."""

    def __init__(self):
        self.passed = 0
        self.failed = 0

    def run(self, name, check, *arguments):
        try:
            check(*arguments)
        except Exception as error:  # the next check should run whatever this one met
            self.failed += 1
            where = traceback.extract_tb(error.__traceback__)[-1]
            print(f"FAILED {name}: {type(error).__name__}: {error} ({where.name}, line {where.lineno})", flush=True)
        else:
            self.passed += 1
            print(f"ok {name}", flush=True)

    def close(self):
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(1 if self.failed else 0)
