"""Accounts as real clients meet them: passwords of every kind over every transport, and what accounts are held to.

    python3 accounts.py --write-port 3306 --read-port 3307 --directory DIR

`--directory` is where the nodes' data directories are, each with a Unix socket or a certificate. Needs `root` without a password.
"""

import contextlib
import pathlib

import pymysql
from pymysql.constants import CLIENT

from checks import connect, options

# PyMySQL takes TLS by itself where a server has it.
PLAIN = {"ssl_disabled": True}
TLS = {"ssl": {"check_hostname": False, "verify_mode": False}}

# `SELECT HEX(authentication_string)` of an account of MySQL 8 with the password `foobar`.
OF_MYSQL = (
    "0x24412430303524031A69251C34295C4B35167C7F1E5A7B63091349503974624D34504B5A424679354856336868686F52485A736E4A73"
    "3368786E427575516C73446469496537"
)


def login(port, user, password, **more):
    return pymysql.connect(host="127.0.0.1", port=port, user=user, password=password, **more)


def refused(code, *arguments, **more):
    try:
        login(*arguments, **more).close()
    except pymysql.err.MySQLError as error:
        assert error.args[0] == code, error
        return error.args[1]
    raise AssertionError(f"{arguments} was let in, {code} was expected")


def one(connection, statement):
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchone()


def run(connection, *statements):
    for statement in statements:
        with connection.cursor() as cursor:
            cursor.execute(statement)


@contextlib.contextmanager
def account(root, name, rest):
    run(root, f"DROP USER IF EXISTS {name}", f"CREATE USER {name} {rest}")
    try:
        yield
    finally:
        run(root, f"DROP USER {name}")


def passwords(root, ports):
    kinds = {
        "IDENTIFIED BY 'foobar'": "$A$005$",
        "IDENTIFIED WITH mysql_native_password BY 'foobar'": "*",
        f"IDENTIFIED WITH caching_sha2_password AS {OF_MYSQL}": "$A$005$",
    }
    for kind, beginning in kinds.items():
        with account(root, "ann", kind):
            stored = one(root, "SELECT authentication_string FROM mysql.user WHERE User = 'ann'")[0]
            assert stored.startswith(beginning), stored
            assert "foobar" not in one(root, "SHOW CREATE USER ann")[0]
            # First encrypted with the server's key, then over TLS, then by the digest that is known by then.
            for more in (PLAIN, TLS, PLAIN):
                for port in ports:
                    with login(port, "ann", "foobar", **more) as connection:
                        assert one(connection, "SELECT CURRENT_USER()") == ("ann@%",)
                    refused(1045, port, "ann", "Foobar", **more)
    with account(root, "ann", "IDENTIFIED BY 'old'"):
        login(ports[0], "ann", "old").close()
        run(root, "ALTER USER ann IDENTIFIED BY 'new'")
        for port in ports:
            refused(1045, port, "ann", "old")
            login(port, "ann", "new").close()
        # A hash goes from one account to another as SHOW CREATE USER says it.
        run(root, "SET print_identified_with_as_hex = ON")
        shown = one(root, "SHOW CREATE USER ann")[0]
        run(root, shown.replace("`ann`", "`bob`"), "SET print_identified_with_as_hex = OFF")
        login(ports[1], "bob", "new").close()
        run(root, "RENAME USER bob TO cat")
        login(ports[0], "cat", "new").close()
        run(root, "DROP USER cat")


def restrictions(root, port):
    with account(root, "ann", "IDENTIFIED BY 'x' ACCOUNT LOCK"):
        assert "Account is locked" in refused(3118, port, "ann", "x")
        run(root, "ALTER USER ann REQUIRE SSL ACCOUNT UNLOCK")
        refused(1045, port, "ann", "x", **PLAIN)
        login(port, "ann", "x", **TLS).close()
    with account(root, "ann", "IDENTIFIED BY 'x' PASSWORD EXPIRE"):
        refused(1862, port, "ann", "x")
        flag = {"client_flag": CLIENT.MULTI_RESULTS | 1 << 22}
        with login(port, "ann", "x", **flag) as connection:
            try:
                one(connection, "SELECT 1")
                raise AssertionError("an expired password was good enough")
            except pymysql.err.MySQLError as error:
                assert error.args[0] == 1820, error
            run(connection, "ALTER USER USER() IDENTIFIED BY 'y'")
            assert one(connection, "SELECT 1") == (1,)
        login(port, "ann", "y").close()
    with account(root, "ann", "IDENTIFIED BY 'x' FAILED_LOGIN_ATTEMPTS 2 PASSWORD_LOCK_TIME 1"):
        refused(1045, port, "ann", "wrong")
        refused(3955, port, "ann", "wrong")
        refused(3955, port, "ann", "x")
        run(root, "ALTER USER ann ACCOUNT UNLOCK")
        login(port, "ann", "x").close()
    with account(root, "dan", "IDENTIFIED BY 'x' WITH MAX_USER_CONNECTIONS 1 MAX_QUERIES_PER_HOUR 5"):
        with login(port, "dan", "x") as connection:
            refused(1226, port, "dan", "x")
            try:
                for _ in range(9):
                    one(connection, "SELECT 1")
                raise AssertionError("there was no limit")
            except pymysql.err.MySQLError as error:
                assert error.args[0] == 1226, error


def last_account(root):
    for statement in ("DROP USER root", "ALTER USER root ACCOUNT LOCK"):
        try:
            run(root, statement)
            raise AssertionError(f"{statement} locks everybody out")
        except pymysql.err.MySQLError as error:
            assert error.args[0] == 1396, error


def owner(root, directory, port):
    """`root` by the Unix socket, whatever its password, because this program runs as the user of the nodes."""
    sockets = [path for path in pathlib.Path(directory).rglob("*.sock") if "cluster" not in path.name]
    assert sockets, f"no socket below {directory}"
    run(root, "ALTER USER root IDENTIFIED BY 'secret'")
    try:
        refused(1045, port, "root", "")
        for path in sockets:
            with pymysql.connect(unix_socket=str(path), user="root", password="") as connection:
                assert one(connection, "SELECT CURRENT_USER()") == ("root@%",)
    finally:
        run(root, "ALTER USER root IDENTIFIED BY ''")


def columns(connection, table):
    """COM_FIELD_LIST, as old clients complete names; each packet but the last is a column."""
    connection._execute_command(4, table.encode() + b"\0")
    found = 0
    while not connection._read_packet().is_eof_packet():
        found += 1
    return found


def definitions(root, port):
    tables = "CREATE DATABASE hidden", "CREATE TABLE hidden.t (a INT, b INT)", "CREATE TABLE hidden.n (a INT, b INT)"
    with account(root, "ann", "IDENTIFIED BY 'x'"):
        try:
            run(root, *tables, "GRANT SELECT (b) ON hidden.n TO ann")
            with login(port, "ann", "x", database="hidden") as connection:
                assert columns(connection, "n") == 1
                try:
                    columns(connection, "t")
                except pymysql.err.MySQLError as error:
                    assert error.args[0] == 1142, error
                else:
                    raise AssertionError("the columns of a table without any privilege were listed")
        finally:
            run(root, "DROP DATABASE hidden")


def main():
    parser = options("accounts, their passwords and what they are held to")
    parser.add_argument("--directory", required=True)
    arguments = parser.parse_args()
    ports = (arguments.write_port, arguments.read_port)
    with connect(arguments.host, ports[0]) as root:
        passwords(root, ports)
        restrictions(root, ports[0])
        definitions(root, ports[0])
        last_account(root)
        owner(root, arguments.directory, ports[0])
    print("accounts: passwords, restrictions, the last account, the owner")


if __name__ == "__main__":
    main()
