"""What programs send when they start, make their tables, or watch a server: each statement is answered.

    python3 startup.py --write-port 3306 --read-port 3307

The statements are in startup.sql, by program. A statement that ends in ` -- NUMBER` is refused with that error, as MySQL does or
for want of something that LatsDB lacks. Each program has a connection and a database of its own. What answers contain is checked elsewhere.
"""

import os
import re

import pymysql

from checks import Checks, connect, options, run

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "startup.sql")


def programs(text):
    """Name and statements of each program; a statement ends with a semicolon at the end of a line."""
    for part in re.split(r"^== ", text, flags=re.MULTILINE)[1:]:
        name, body = part.split("\n", 1)
        found = re.findall(r"(\S.*?);[ ]*(?:-- (\d+))?[ ]*\n", body, flags=re.DOTALL)
        yield name, [(statement, int(number or 0)) for statement, number in found]


def answered(connection, statement, number):
    """Fails unless the statement succeeds, or ends in this error number."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(statement)
            cursor.fetchall()
        ended = 0
    except pymysql.MySQLError as error:
        ended = error.args[0]
        if ended != number:
            raise
    if ended != number:
        raise AssertionError(f"expected error {number}, but there was none")


def main():
    chosen = options(__doc__).parse_args()
    checks = Checks()
    with open(FILE, encoding="utf-8") as file:
        text = file.read()
    for name, statements in programs(text):
        database = "startup_" + re.sub(r"\W", "_", name.lower())
        connection = connect(chosen.host, chosen.write_port)
        run(connection, f"DROP DATABASE IF EXISTS `{database}`")
        run(connection, f"CREATE DATABASE `{database}`")
        connection.select_db(database)
        for statement, number in statements:
            statement = statement.replace("{database}", database)
            checks.run(f"{name}: {' '.join(statement.split())[:150]}", answered, connection, statement, number)
        connection.close()
    checks.close()


if __name__ == "__main__":
    main()
