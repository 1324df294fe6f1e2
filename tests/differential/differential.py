#!/usr/bin/env python3
"""Differential test: the same generated statements on LatsDB and on MariaDB 10.11, and the same answers.

Run:  python3 tests/differential/differential.py --latsdb 127.0.0.1:3306 --oracle 127.0.0.1:3307 [--seed 1 --seed 2] [--count 1000] [--only changes,views]
(root without password on both; makes and drops the database `differential`). `cargo xtask test --only differential` starts both.

Of every statement it compares: rows, in order where the statement decides it; names and kinds of columns, and whole definitions of those
that are plain columns; affected rows and insert id; warnings by level and number; the error's number and SQLSTATE. At the end, and
after each difference, the contents of all tables. A seed decides the statements and the collation of the database; a quarter of the
statements run prepared, over the binary protocol. Behind them come SELECTs of several tables (joins.py), also with subqueries in ON, queries made of queries and changes
of rows that queries find (sets.py), rows by whole keys (chains.py), window functions (windows.py), SELECTs from views (views.py), and a
share of statements under each other sql_mode (modes.py). logic.py checks LatsDB against itself on the same rows: conditions against their negations, and
queries with indexes that are added against the same ones without. Each query runs again with each way of joins forced, and with batches
of 16 rows. A round of fewer statements follows in which most of the tables are
temporary ones.

`--only` runs classes of statements (CLASSES) for longer than their share of a round: `--count` statements of each, behind those that fill the tables.
The end says how many statements of each class ran.

Where MariaDB is not MySQL 8, `known_differences.txt` says so: each entry is a statement with both answers and the reason. The generator
makes no such statements, nothing is excused while it runs, and this script checks every entry: if one of the two answers is no longer
the one that is written there, that is a failure too.

Exit status 1 if anything differs.
"""
import argparse
import collections
import os
import re
import sys

from alters import AlterStatements
from chains import ChainStatements
from connection import DOUBLE, FLOAT, TIMESTAMP, Connection, Done, Refused, Rows
from connection import UNSIGNED_FLAG as UNSIGNED
from generator import KEYS, TABLES, UNIQUE, Generator, Statement, definitions
from joins import JoinStatements, OnStatements
from logic import LogicChecks, together
from mixed import MixedStatements
from modes import MODES, ModeStatements
from sets import ChangeStatements, SetStatements
from views import ViewStatements
from windows import WindowStatements

COLLATIONS = ['utf8mb4_bin', 'utf8mb4_general_ci', 'utf8mb4_0900_ai_ci', 'utf8mb4_unicode_ci']
# Classes of statements, and the part of a round's statements that each has beside the others.
CLASSES = {'single': 1, 'joins': 3, 'on': 6, 'sets': 3, 'windows': 4, 'chains': 3, 'changes': 10, 'views': 8, 'mixed': 10, 'logic': 3, 'indexes': 4, 'alters': 8, 'modes': 1}
# As many statements fill the tables for classes that are run alone.
FILLING = 300
# Tables that are temporary in the second round of a seed, which has other statements.
TEMPORARY, TEMPORARY_SEEDS = ('wide', 'texts', 'counted'), 100_000
# Right rows of a join may be looked up or gathered: by how many left rows come, or always the same way; left rows come in batches of a row
# for each KiB.
WAYS = ["optimizer_switch = 'hash_join=off'", "optimizer_switch = 'batched_key_access=off'", 'join_buffer_size = 16384']
USUAL_WAY = 'optimizer_switch = DEFAULT, join_buffer_size = DEFAULT'
# The nearest that MariaDB has: newer UCA, the same rules.
IN_MARIADB = {'utf8mb4_0900_ai_ci': 'utf8mb4_uca1400_nopad_ai_ci'}
# MySQL 8's own default, and MariaDB's way to round where MySQL 8 always does.
SQL_MODE = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'
# Kinds of result that clients tell apart.
KINDS = {**dict.fromkeys((1, 2, 3, 8, 9), 'integer'), 0: 'decimal', 246: 'decimal', 4: 'float', 5: 'float', 6: 'null', 7: 'datetime', 12: 'datetime',
         10: 'date', 11: 'time', 13: 'year', 16: 'bit', **dict.fromkeys((15, 247, 248, 249, 250, 251, 252, 253, 254), 'text')}


def in_mariadb(text):
    for ours, theirs in IN_MARIADB.items():
        text = text.replace(ours, theirs)
    return text


class Side:
    """One server."""

    def __init__(self, address, is_oracle):
        self.connection, self.is_oracle = Connection(address), is_oracle

    def run(self, text, parameters=None):
        text = in_mariadb(text) if self.is_oracle else text
        if parameters is None:
            return self.connection.query(text)
        return self.connection.execute(text, parameters)

    def must(self, text):
        answer = self.run(text)
        if isinstance(answer, Refused):
            sys.exit(f"{'MariaDB' if self.is_oracle else 'LatsDB'} refuses {text!r}: {answer}")
        return answer

    def begin(self, collation, temporary=()):
        # MySQL's limit; and a HAVING that MariaDB makes a WHERE of warns of constants that nobody asked for. Its partial matches find
        # the least and the greatest value of an integer type NOT IN a list with NULL. Its cache gives the answer of a subquery for 'A'
        # to 'a', whatever the subquery makes of them.
        alone = ['SET group_concat_max_len = 1024', 'SET max_error_count = 1024', "SET optimizer_switch = 'condition_pushdown_from_having=off,partial_match_rowid_merge=off,partial_match_table_scan=off,subquery_cache=off'"] if self.is_oracle else []
        for text in [*alone, 'DROP DATABASE IF EXISTS differential', f'CREATE DATABASE differential CHARACTER SET utf8mb4 COLLATE {collation}', 'USE differential',
                     f'SET NAMES utf8mb4 COLLATE {collation}', "SET time_zone = '+00:00'",
                     f"SET sql_mode = '{SQL_MODE}{',TIME_ROUND_FRACTIONAL' if self.is_oracle else ''}'", *definitions(temporary)]:
            self.must(text)

    def mode(self, mode):
        modes = [SQL_MODE, *([mode] if mode else []), *(['TIME_ROUND_FRACTIONAL'] if self.is_oracle else [])]
        self.must(f"SET sql_mode = '{','.join(modes)}'")

    def warnings(self):
        return sorted((level.decode(), int(code)) for level, code, _ in self.must('SHOW WARNINGS').rows)

    def contents(self, table):
        return self.must(f"SELECT * FROM {table} ORDER BY {', '.join(KEYS[table])}").rows


def compared_value(value, column):
    """Doubles may differ in the last digits."""
    if value is None or column.type not in (FLOAT, DOUBLE):
        return value
    return float('%.5g' % float(value)) + 0.0 if column.type == FLOAT else float('%.12g' % float(value)) + 0.0


def compared_column(column, is_plain):
    if column.original_name and is_plain:
        # collation-of-results, timestamp-flags
        flags = column.flags & ~UNSIGNED if column.type == TIMESTAMP else column.flags
        return column._replace(collation=45 if column.collation != 63 else 63, flags=flags)
    kind = KINDS.get(column.type, column.type)
    if kind == 'integer' or kind == 'decimal' and column.decimals == 0:
        kind = 'whole'
    # null-typed
    name = column.name
    for ours, theirs in IN_MARIADB.items():
        name = name.replace(theirs, ours)
    return name, 'any' if 'NULL' in column.name else kind


def comparable_warnings(answer, statement):
    """How often an expression is evaluated is left open, and so is whether at all: without rows, behind LIMIT, AND, OR."""
    if not isinstance(answer, Rows):
        return True
    # Which pairs of rows are compared is left open, too.
    if any(word in statement.text for word in ('JOIN ', '(SELECT ', ' UNION ', ' INTERSECT ', ' EXCEPT ')):
        return False
    condition = statement.text.partition(' WHERE ')[2]
    return bool(answer.rows) and ' LIMIT ' not in statement.text and not any(word in condition for word in (' AND ', ' OR ', 'CASE '))


def ignores_keys(statement):
    """UPDATE IGNORE that changes keys."""
    found = re.match('UPDATE IGNORE (\\w+) SET (.*?)( WHERE | ORDER BY |$)', statement.text)
    return bool(found) and any(re.search(f'\\b{column} = ', found[2]) for column in UNIQUE[found[1]])


def compared(answer, statement):
    """What of an answer must be the same."""
    ordered = statement.ordered
    if isinstance(answer, Refused):
        if statement.text.startswith('ALTER TABLE'):
            return 1265 if answer.number in (1138, 1406) else answer.number
        # sqlstate-of-1366
        return answer.number, answer.state if answer.number != 1366 else None
    if isinstance(answer, Done):
        if statement.text.startswith('ALTER TABLE'):
            return 'done'
        # update-ignore-warns
        return answer._replace(warnings=0) if ignores_keys(statement) else answer
    rows = [tuple(map(compared_value, row, answer.columns)) for row in answer.rows]
    # Columns of a table that the server makes on the way have lost what keys they are part of, or not.
    is_plain = not any(word in statement.text for word in (' DISTINCT ', ' GROUP BY ', ' JOIN ', '(SELECT ', ' UNION ', ' INTERSECT ', ' EXCEPT ', 'WITH ', ' OVER ')) and not re.search(' v\\d ', statement.text)
    columns = [compared_column(column, is_plain) for column in answer.columns]
    return columns, rows if ordered else sorted(rows, key=repr), answer.warnings > 0 and comparable_warnings(answer, statement)


def shown(answer, definitions=False):
    """An answer for a reader, and for known_differences.txt."""
    if isinstance(answer, Refused):
        return f'ERROR {answer.number} ({answer.state})'
    if isinstance(answer, Done):
        return f'affected {answer.affected}, insert id {answer.insert_id}, warnings {answer.warnings}'
    if definitions:
        return ', '.join(f'{column.name}: type {column.type}, flags {column.flags}, collation {column.collation}' for column in answer.columns)
    rows = ' | '.join(', '.join('NULL' if value is None else value.decode(errors='backslashreplace') for value in row) for row in answer.rows)
    return f'{len(answer.rows)} rows: {rows}, warnings {answer.warnings}'


class Campaign:
    def __init__(self, options):
        self.latsdb, self.oracle = Side(options.latsdb, False), Side(options.oracle, True)
        self.counts, self.options = collections.Counter(), options

    def sides(self):
        return self.latsdb, self.oracle

    def seed(self, seed):
        self.round(seed, self.options.count, ())
        self.round(seed + TEMPORARY_SEEDS, self.options.count // 4, TEMPORARY)
        for side in self.sides():
            side.must(f"DROP TABLE {', '.join(TEMPORARY)}")

    def size(self, name, count):
        """How many statements of a class a round has."""
        if self.options.only is None:
            return count // CLASSES[name]
        return count if name in self.options.only else min(FILLING, count) if name == 'single' else 0

    def round(self, seed, count, temporary):
        collation = COLLATIONS[seed % len(COLLATIONS)]
        for side in self.sides():
            side.begin(collation, temporary)
        generator = Generator(seed, collation, temporary)
        for number in range(self.size('single', count)):
            self.statement(f'{seed}/{number}', generator.statement(number), 'single')
        for name, statements in ('joins', JoinStatements(seed)), ('sets', SetStatements(seed)), ('windows', WindowStatements(seed)):
            for number in range(self.size(name, count)):
                self.statement_again(f'{seed}/{name}/{number}', statements.statement(), name)
        for name, statements in ('chains', ChainStatements(seed)), ('changes', ChangeStatements(seed)):
            for number in range(self.size(name, count)):
                self.statement(f'{seed}/{name}/{number}', statements.statement(), name)
        if not temporary:
            self.over_more('views', seed, count, ViewStatements(seed))
            self.over_more('mixed', seed, count, MixedStatements(seed))
            self.logic(seed, count, collation)
            self.indexes(seed, count, collation)
        statements = OnStatements(seed)
        for number in range(self.size('on', count)):
            self.statement_again(f'{seed}/on/{number}', statements.statement(), 'on')
        self.end_transaction(temporary)
        self.alters(seed, count, bool(temporary))
        for mode in MODES:
            self.end_transaction(temporary)
            self.mode(seed, count, mode, generator)
        self.end_transaction(temporary)
        self.resynchronise('end')

    def end_transaction(self, temporary):
        """Rows of temporary tables are kept: rollback-of-temporary."""
        for side in self.sides():
            side.must('COMMIT' if temporary else 'ROLLBACK')

    def over_more(self, name, seed, count, statements):
        """Queries of views or tables of their own, which both sides make first."""
        size = self.size(name, count)
        for text in statements.begin() if size else ():
            for side in self.sides():
                side.must(text)
        for number in range(size):
            self.statement_again(f'{seed}/{name}/{number}', statements.statement(), name)
        for text in statements.end() if size else ():
            for side in self.sides():
                side.must(text)

    def logic(self, seed, count, collation):
        """Conditions and what they leave over; rows of one server only."""
        checks = LogicChecks(seed, collation)
        for number in range(self.size('logic', count)):
            *parts, whole = checks.partition() if number % 2 else checks.count()
            answers = [self.latsdb.run(text) for text in [*parts, whole]]
            if any(isinstance(answer, Refused) for answer in answers):
                # An expression that overflows, or what we lack: the other statements look after errors.
                self.counts['logic: refused'] += 1
                continue
            self.counts['logic'] += 1
            # The two numbers of a count have names of their own.
            found, expected = (answers[0].rows, answers[1].rows) if len(parts) == 1 else (together(answers[:-1]), together(answers[-1:]))
            if found != expected:
                self.differs(f'{seed}/logic/{number}', [*parts, whole], found, expected)

    def indexes(self, seed, count, collation):
        """The same queries without indexes, with some, and without them again."""
        checks, joins, generator = LogicChecks(f'indexes {seed}', collation), JoinStatements(f'indexes {seed}'), Generator(f'indexes {seed}', collation)
        for number in range(self.size('indexes', count) // 62):
            statements = [joins.statement() for _ in range(20)]
            for _ in range(20):
                generator.marked.clear()
                text, ordered = generator.select()
                statements.append(generator.finished(text, ordered))
            run = lambda: [self.latsdb.run(statement.text, statement.parameters) for statement in statements]
            added, dropped = checks.indexes()
            before = run()
            for text in added:
                self.latsdb.must(text)
            answers = [('with ' + '; '.join(added), run())]
            for text in dropped:
                self.latsdb.must(text)
            answers.append((f'after {"; ".join(dropped)}', run()))
            for when, after in answers:
                for statement, first, then in zip(statements, before, after):
                    # Which of several errors is told, and whether a row is looked at that has one, depends on the plan.
                    if isinstance(first, Refused) or isinstance(then, Refused):
                        self.counts['indexes: refused'] += 1
                        continue
                    self.counts['indexes'] += 1
                    found, expected = (compared(answer, statement)[1] for answer in (then, first))
                    if found != expected:
                        self.differs(f'{seed}/indexes/{number}', [statement, when], found, expected)

    def differs(self, name, texts, found, expected):
        """One server contradicts itself."""
        self.counts['DIFFERENT'] += 1
        if self.counts['DIFFERENT'] <= self.options.show:
            print(f'--- {name}')
            for text in texts:
                print(f'    {text}')
            only = [[row for row in some if row not in other] for some, other in ((found, expected), (expected, found))]
            print(f'    {len(found)} and {len(expected)} rows; only there {str(only[0][:2])[:300]}, only here {str(only[1][:2])[:300]}', flush=True)

    def alters(self, seed, count, is_temporary):
        """A table that changes between writes and reads."""
        size, statements = self.size('alters', count), AlterStatements(seed)
        if not size:
            return
        for text in statements.begin():
            for side in self.sides():
                side.must(text.replace('CREATE TABLE', 'CREATE TEMPORARY TABLE') if is_temporary else text)
        for number in range(size):
            statement = statements.statement()
            refused = self.statement(f'{seed}/alters/{number}', statement, 'alters')
            statements.done(refused)
        # The definition that all of that has left.
        for number, text in enumerate(['CREATE TABLE liked LIKE altered', 'INSERT INTO liked SELECT * FROM altered ORDER BY id', 'SELECT * FROM liked ORDER BY id']):
            self.statement(f'{seed}/liked/{number}', Statement(text, ordered=True), 'alters')
        for side in self.sides():
            side.must('DROP TABLE altered, liked')

    def mode(self, seed, count, mode, generator):
        """Some statements more, on the same rows, half of them such as the mode is about."""
        for side in self.sides():
            side.mode(mode)
        statements = ModeStatements(generator.random, mode)
        for number in range(self.size('modes', count) // 20 * 2):
            statement = generator.statement(number + 100) if number % 2 else statements.statement()
            # like-without-escapes
            if mode == 'NO_BACKSLASH_ESCAPES' and 'LIKE' in statement.text and '\\' in statement.text:
                continue
            # strict-conditions: NOT of a text makes a number of it, and warns as often as it is evaluated
            is_negation = 'NOT ' in statement.text and statement.text.startswith(('DELETE', 'UPDATE')) or '(NOT ' in statement.text and number % 2
            if mode == 'HIGH_NOT_PRECEDENCE' and is_negation:
                continue
            self.statement(f'{seed}/{mode}/{number}', statement, 'modes')
        for side in self.sides():
            side.mode(None)

    def statement_again(self, name, statement, kind):
        """A statement; if it is a query, LatsDB runs it again in each of its other ways."""
        self.statement(name, statement, kind)
        first = self.latsdb.run(statement.text, statement.parameters)
        for way in WAYS if isinstance(first, Rows) else ():
            self.latsdb.must(f'SET {way}')
            again = self.latsdb.run(statement.text, statement.parameters)
            self.latsdb.must(f'SET {USUAL_WAY}')
            # Whether a row is looked at that has an error depends on the plan.
            if isinstance(again, Refused) and again.number != 1690 or isinstance(again, Rows) and compared(first, statement)[1] != compared(again, statement)[1]:
                rows = again.rows if isinstance(again, Rows) else [again]
                self.differs(name, [statement, way], rows, first.rows)
            self.counts['again'] += 1

    def statement(self, name, statement, kind):
        self.counts[f'class {kind}'] += 1
        ours, theirs = (side.run(statement.text, statement.parameters) for side in self.sides())
        is_refused = isinstance(theirs, Refused)
        self.counts[type(ours).__name__] += 1
        if isinstance(ours, Refused) and ours.number == 1235:
            self.counts[f'1235: {ours.message}'] += 1
            # Only MariaDB has done it.
            self.resynchronise(None)
            return is_refused
        same = compared(ours, statement) == compared(theirs, statement)
        notes = ''
        if same and getattr(ours, 'warnings', 0) and comparable_warnings(ours, statement):
            ours_warned, theirs_warned = (side.warnings() for side in self.sides())
            if isinstance(ours, Rows):
                ours_warned, theirs_warned = sorted(set(ours_warned)), sorted(set(theirs_warned))
            if ignores_keys(statement):
                ours_warned, theirs_warned = ([warning for warning in warned if warning[1] != 1062] for warned in (ours_warned, theirs_warned))
            same, notes = ours_warned == theirs_warned, f'\n    warnings {ours_warned} {theirs_warned}'
        if not same:
            self.report(name, statement, ours, theirs, notes)
            if not statement.reads:
                self.resynchronise(name)
        return is_refused

    def report(self, name, statement, ours, theirs, notes):
        self.counts['DIFFERENT'] += 1
        if self.counts['DIFFERENT'] > self.options.show:
            return
        print(f'--- {name}: {statement}')
        a, b = compared(ours, statement), compared(theirs, statement)
        if isinstance(ours, Rows) and isinstance(theirs, Rows):
            for mine, other in zip(a[0], b[0]):
                if mine != other:
                    print(f'    column {mine}\n      not  {other}')
            different = [(mine, other) for mine, other in zip(a[1], b[1]) if mine != other]
            if a[1] != b[1]:
                print(f'    {len(a[1])} and {len(b[1])} rows; {str(different[:2])[:400]}')
        print(f'    latsdb  {shown(ours)[:240]}\n    mariadb {shown(theirs)[:240]}{notes}', flush=True)
        for answer in (ours, theirs):
            if isinstance(answer, Refused):
                print(f'      {answer.message[:160]}')
        for side in self.sides() if getattr(ours, 'warnings', 0) != getattr(theirs, 'warnings', 0) else ():
            again = side.run(statement.text, statement.parameters) if statement.reads else None
            if again:
                print(f"      {[row[1:] for row in side.must('SHOW WARNINGS').rows][:4]}")

    def resynchronise(self, name):
        """One difference must not make others: both go on from the same rows."""
        for side in self.sides():
            side.must('ROLLBACK')
        for table in TABLES:
            ours, theirs = (side.contents(table) for side in self.sides())
            if ours == theirs:
                continue
            if name == 'end':
                self.counts['DIFFERENT'] += 1
                print(f'--- {name}: rows of {table} differ: {len(ours)} and {len(theirs)}')
            for side in self.sides():
                side.must(f'DELETE FROM {table}')

    def known(self, path):
        """Every entry still is what it says."""
        for entry in entries(path):
            for side in self.sides():
                side.begin('utf8mb4_bin')
                for text in entry['prepare']:
                    side.must(text)
            expected = entry['latsdb'], entry['mariadb']
            found = tuple(shown(side.run(entry['statement']), 'definitions' in entry['compares']) for side in self.sides())
            self.counts['known'] += 1
            for side in self.sides():
                side.must('DROP TEMPORARY TABLE IF EXISTS k')
            if found != expected or expected[0] == expected[1]:
                self.counts['DIFFERENT'] += 1
                print(f"--- known difference {entry['name']} is not what it says\n    latsdb  {found[0]}\n    mariadb {found[1]}")


def entries(path):
    """known_differences.txt: paragraphs of `key: value`, the first line a name."""
    with open(path, encoding='utf-8') as file:
        text = re.sub('(?m)^#.*\n', '', file.read())
    for paragraph in re.split('\n\\s*\n', text.strip()):
        lines = [line.split(': ', 1) for line in re.sub('\n    +', ' ', paragraph).split('\n')]
        entry = collections.defaultdict(list)
        for key, value in lines:
            if key == 'prepare':
                entry[key].append(value)
            else:
                assert key in ('name', 'compares', 'statement', 'latsdb', 'mariadb', 'reason') and key not in entry, f'{key!r} in {path}'
                entry[key] = value
        assert {'name', 'statement', 'latsdb', 'mariadb', 'reason'} <= entry.keys(), f'{paragraph} in {path}'
        yield entry


def classes(text):
    """CLASS[,CLASS]"""
    chosen = text.split(',')
    unknown = [name for name in chosen if name not in CLASSES]
    if unknown:
        raise argparse.ArgumentTypeError(f"no class {', '.join(unknown)}: there are {', '.join(CLASSES)}")
    return chosen


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--latsdb', required=True)
    parser.add_argument('--oracle', required=True)
    parser.add_argument('--seed', type=int, action='append')
    parser.add_argument('--count', type=int, default=1000)
    parser.add_argument('--only', metavar='CLASS[,CLASS]', type=classes, help=f"of {', '.join(CLASSES)}")
    parser.add_argument('--show', type=int, default=40)
    campaign = Campaign(parser.parse_args())
    campaign.known(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'known_differences.txt'))
    for seed in campaign.options.seed or [1]:
        campaign.seed(seed)
    for what, count in sorted(campaign.counts.items()):
        print(f'{count:6} {what}')
    sys.exit(1 if campaign.counts['DIFFERENT'] else 0)


if __name__ == '__main__':
    main()
