"""Statements of six accounts on LatsDB and on MariaDB: who may do what, by the numbers of their errors.

The statements are those of crates/planner/src/tests/privileges.txt, whose test says for each account what LatsDB answers when it binds
them: `ok`, or the error's number. Here they run. LatsDB must answer as the file says; MariaDB must, too, but where
`privileges_differences.txt` names the statement, with MariaDB's answers and why MySQL 8 answers otherwise.

Every statement of every account finds the same databases, accounts and grants: after one that changed some they are made anew.
"""
import argparse
import os
import sys

from connection import Connection, Refused

HERE = os.path.dirname(os.path.abspath(__file__))
ACCOUNTS = ['root', 'admin', 'owner', 'writer', 'column', 'nobody']
CHANGES = ('CREATE', 'DROP', 'ALTER', 'RENAME', 'TRUNCATE', 'GRANT', 'REVOKE', 'SET PASSWORD', 'SET DEFAULT')

# What only running shows: the statement was permitted.
DUPLICATE, NO_DEFAULT = 1062, 1364

MAKE = """
DROP DATABASE IF EXISTS d
DROP DATABASE IF EXISTS other
DROP DATABASE IF EXISTS x
DROP ROLE IF EXISTS x
DROP ROLE IF EXISTS r
DROP USER IF EXISTS 'x'@'%'
DROP USER IF EXISTS 'admin'@'%'
DROP USER IF EXISTS 'owner'@'%'
DROP USER IF EXISTS 'writer'@'%'
DROP USER IF EXISTS 'column'@'%'
DROP USER IF EXISTS 'nobody'@'%'
CREATE DATABASE d
CREATE DATABASE other
CREATE TABLE d.t (id INT NOT NULL PRIMARY KEY, a INT, b BIGINT NOT NULL DEFAULT 0, c VARCHAR(20), d DECIMAL(10,2), KEY k_a (a))
CREATE TABLE d.n (a INT, b INT)
CREATE USER 'admin'@'%', 'owner'@'%', 'writer'@'%', 'column'@'%', 'nobody'@'%'
CREATE ROLE r
GRANT CREATE USER, RELOAD, PROCESS, REPLICATION CLIENT ON *.* TO 'admin'@'%'
GRANT ALL ON d.* TO 'owner'@'%' WITH GRANT OPTION
GRANT SELECT, INSERT, UPDATE, DELETE ON d.t TO 'writer'@'%'
GRANT SELECT (id, a), INSERT (id), UPDATE (a) ON d.t TO 'column'@'%'
GRANT SELECT ON d.n TO r
GRANT r TO 'column'@'%'
""".strip().split('\n')


def statements():
    """Statement and expected answers, in order; what only MySQL has comes after its heading."""
    path = os.path.join(HERE, '../../crates/planner/src/tests/privileges.txt')
    is_shared, statement = True, None
    with open(path, encoding='utf-8') as file:
        for line in file.read().split('\n'):
            if line.startswith('# of MySQL alone'):
                is_shared = False
            elif line.startswith('> '):
                statement = line[2:]
            elif line and not line.startswith('#'):
                yield statement, dict(zip(ACCOUNTS, line.split())), is_shared


def differences():
    """Statement: (MariaDB's answers, reason)."""
    found = {}
    with open(os.path.join(HERE, 'privileges_differences.txt'), encoding='utf-8') as file:
        for paragraph in file.read().split('\n\n'):
            lines = [line for line in paragraph.split('\n') if line and not line.startswith('#')]
            if not lines:
                continue
            fields = dict(line.split(': ', 1) for line in lines)
            found[fields['statement']] = (dict(zip(ACCOUNTS, fields['mariadb'].split())), fields['reason'])
    return found


class Server:
    def __init__(self, address, extra):
        self.address, self.extra = address, extra
        self.root = Connection(address)
        self.make()

    def make(self):
        for statement in MAKE + self.extra:
            answer = self.root.query(statement)
            assert not isinstance(answer, Refused), f'{statement}: {answer}'

    def outcome(self, account, statement):
        connection = Connection(self.address, user=account)
        try:
            answer = connection.query(statement)
        finally:
            connection.close()
        refused = isinstance(answer, Refused)
        if not refused and statement.startswith(CHANGES):
            self.make()
        is_permitted = not refused or answer.number in (DUPLICATE, NO_DEFAULT)
        return 'ok' if is_permitted else str(answer.number)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--latsdb')
    parser.add_argument('--oracle')
    parser.add_argument('--print', action='store_true', help="print MariaDB's answers as the file has them")
    options = parser.parse_args()
    known, different, compared = differences(), 0, 0
    # A statement of root changes its own password; MariaDB's root has another host.
    ours = [
        "GRANT ROLE_ADMIN, SYSTEM_VARIABLES_ADMIN, CONNECTION_ADMIN ON *.* TO 'admin'@'%'",
        "ALTER USER 'root'@'%' IDENTIFIED BY ''",
    ]
    latsdb = Server(options.latsdb, ours) if options.latsdb else None
    oracle = Server(options.oracle, []) if options.oracle else None
    for statement, expected, is_shared in statements():
        for server, name in ((latsdb, 'LatsDB'), (oracle if is_shared else None, 'MariaDB')):
            if server is None:
                continue
            wanted, reason = known.get(statement, (expected, '')) if server is oracle else (expected, '')
            found = {account: server.outcome(account, statement) for account in ACCOUNTS}
            compared += len(ACCOUNTS)
            if options.print and server is oracle:
                print(f'> {statement}\n{" ".join(found.values())}')
            if found != wanted:
                different += 1
                print(f'{name}: {statement}\n    expected {" ".join(wanted.values())} {reason}\n    found    {" ".join(found.values())}')
    print(f'{compared} answers compared, {different} statements DIFFERENT')
    sys.exit(1 if different else 0)


if __name__ == '__main__':
    main()
