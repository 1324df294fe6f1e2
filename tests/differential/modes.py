"""Statements whose meaning sql_mode decides, from a seed: double quotes, `||`, backslashes, NOT, REAL, spaces before parentheses, CHAR.

They are made for every mode, also for those that do not concern them: then both servers refuse them, or read them as always.
`known_differences.txt` lists what is not made; a comment here names the entry.
"""
from generator import KEYS, Statement

MODES = ['ANSI', 'ANSI_QUOTES', 'HIGH_NOT_PRECEDENCE', 'IGNORE_SPACE', 'NO_BACKSLASH_ESCAPES', 'NO_UNSIGNED_SUBTRACTION', 'PAD_CHAR_TO_FULL_LENGTH',
         'PIPES_AS_CONCAT', 'REAL_AS_FLOAT', 'TRADITIONAL']

# Columns whose values are the same texts on both.
NUMBERS = {'wide': ['id', 'ti', 'i', 'tu'], 'pair': ['a', 'n', 'm'], 'texts': ['q'], 'counted': ['id', 'p']}
TEXTS = {'wide': ['c', 'v'], 'pair': ['b', 'w'], 'texts': ['k', 'w'], 'counted': ['r']}
BACKSLASHES = [r'a\nb', r'x\\y', r'\t', r"it\'s", r'a\qb', r'\"', r'\\', 'a\\', r'\'']


class ModeStatements:
    """Those of one mode."""

    def __init__(self, random, mode):
        self.random, self.mode, self.queue = random, mode, []
        if mode == 'REAL_AS_FLOAT':
            self.queue = ['CREATE TABLE reals (id INT PRIMARY KEY, r REAL)', 'INSERT INTO reals VALUES (1, 1.23456789), (2, 16777217)', 'SELECT * FROM reals ORDER BY id',
                          'SELECT r FROM reals ORDER BY id', 'DROP TABLE reals']

    def statement(self):
        if self.queue:
            return Statement(self.queue.pop(0), True)
        make = self.random.choice([self.quotes, self.pipes, self.backslashes, self.negations, self.padding, self.spaces])
        return Statement(make(), True)

    def table(self):
        table = self.random.choice(list(KEYS))
        return table, ' ORDER BY ' + ', '.join(KEYS[table])

    def number(self, table):
        return self.random.choice([*NUMBERS[table], *NUMBERS[table], str(self.random.randint(-3, 9))])

    def text(self, table):
        return self.random.choice([*TEXTS[table], *TEXTS[table], "'a'", "'x y'", "''"])

    def quotes(self):
        table, order = self.table()
        column = self.random.choice(TEXTS[table])
        return self.random.choice([
            'SELECT "a"', 'SELECT "it\'s" AS x', 'SELECT "a""b"', r'SELECT "a\"b"', 'SELECT 1 AS "x y"', "SELECT 1 AS 'x y'", f'SELECT "{column}" FROM {table}{order}',
            f'SELECT {column} FROM "{table}"{order}', f'SELECT {column} FROM {table} AS "t"{order}', f'SELECT COUNT(*) FROM {table} WHERE "{column}" = \'a\'',
            f'SELECT COUNT(*) FROM {table} WHERE {column} <> "a"', f"SELECT {column} FROM '{table}'{order}", f'SELECT {table}."{column}" FROM {table}{order}',
            f'UPDATE "{table}" SET {column} = {column} WHERE 1 = 2', f'DELETE FROM "{table}" WHERE 1 = 2', f'DROP TABLE "no_such_table"', 'SET @"x" = 1'])

    def pipes(self):
        table, order = self.table()
        n, s = lambda: self.number(table), lambda: self.text(table)
        # What is concatenated behind a NULL may be converted, with a warning, or not.
        digit = lambda: self.random.randint(1, 9)
        # Not for texts without PIPES_AS_CONCAT: what converts them warns as often as it is evaluated.
        operand = s if self.mode in ('ANSI', 'PIPES_AS_CONCAT') and self.random.random() < .6 else n
        made = self.random.choice([
            lambda: f'{operand()} || {operand()}', lambda: f'{operand()} || {operand()} || {operand()}', lambda: f'{n()} || {n()} + {digit()}', lambda: f'{n()} + {digit()} || {digit()}',
            lambda: f'{n()} * {digit()} || {digit()}', lambda: f'-{n()} || {n()}', lambda: f'{operand()} || {operand()} IS NULL', lambda: f'({n()} || {n()}) = {n()}',
            lambda: f'NOT {n()} || {n()}', lambda: f'{n()} || NULL', lambda: f'{n()} || {n()} AND {n()}'])()
        if self.random.random() < .3:
            return f'SELECT COUNT(*) FROM {table} WHERE {made}' if operand is n else f"SELECT COUNT(*) FROM {table} WHERE {s()} || {s()} = 'aa'"
        return f'SELECT {made} FROM {table}{order}'

    def backslashes(self):
        table, order = self.table()
        one = self.random.choice(BACKSLASHES)
        quote = self.random.choice("''\"")
        # like-without-escapes
        return self.random.choice([f'SELECT {quote}{one}{quote}', f'SELECT LENGTH({quote}{one}{quote}) AS n', f'SELECT {quote}{one}{quote} AS x, {quote}b{quote} AS y',
                                   f"SELECT COUNT(*) FROM {table} WHERE {self.random.choice(TEXTS[table])} = '{one}'", f"SELECT CONCAT('{one}', 'c') AS x FROM {table}{order}"])

    def negations(self):
        table, order = self.table()
        n = lambda: self.number(table)
        made = self.random.choice([
            lambda: f'NOT {n()} BETWEEN {n()} AND {n()}', lambda: f'NOT {n()} IN ({n()}, {n()})', lambda: f'NOT {n()} = {n()}', lambda: f'NOT {n()} + {n()}', lambda: f'NOT {n()} IS NULL',
            lambda: f'NOT {n()} <=> {n()}', lambda: f'NOT {n()} AND {n()}', lambda: f'NOT NOT {n()}', lambda: f'! {n()} = {n()}', lambda: f'{n()} AND NOT {n()} > {n()}',
            lambda: f'NOT {n()} * {n()}', lambda: f'NOT -{n()} < {n()}'])()
        return f'SELECT COUNT(*) FROM {table} WHERE {made}' if self.random.random() < .3 else f'SELECT {made} AS x FROM {table}{order}'

    def padding(self):
        # padding-in-comparisons: they are as without the mode.
        item = self.random.choice(['c', 'LENGTH(c)', "CONCAT(c, '|')", "c LIKE 'a%'", "c LIKE 'a'", 'HEX(c)', "COALESCE(c, 'x')", 'UPPER(c)', 'IF(id > 9, c, v)', 'CHAR_LENGTH(c)'])
        return self.random.choice([
            f'SELECT {item} AS x FROM wide ORDER BY id', f'SELECT {item} AS x FROM wide ORDER BY id', 'SELECT * FROM wide ORDER BY id LIMIT 5', 'SELECT GROUP_CONCAT(c ORDER BY id) AS x FROM wide',
            "SELECT MIN(c), MAX(c) FROM wide WHERE c LIKE 'zz%'", "SELECT id FROM wide WHERE c LIKE 'a%' ORDER BY id", "SELECT CONCAT(c, '|') AS x FROM wide WHERE id = 7"])

    def spaces(self):
        table, order = self.table()
        column = NUMBERS[table][0]
        return self.random.choice([
            f'SELECT COUNT (*) FROM {table}', f'SELECT SUM ({column}) FROM {table}', f'SELECT MAX( {column} ) FROM {table}', f'SELECT ABS ({column}) AS x FROM {table}{order}',
            "SELECT SUBSTRING ('abc', 2)", "SELECT TRIM (' x ')", 'SELECT CAST (1 AS CHAR)', "SELECT EXTRACT (YEAR FROM '2024-01-01')", "SELECT CONCAT ('a', 'b') AS x",
            'CREATE TABLE max(a INT)'])
