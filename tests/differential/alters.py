"""ALTER TABLE of a table with rows, from a seed: types, NULL, names, defaults, order of columns, character sets, keys, between writes and reads.

How many rows an ALTER TABLE affects is left open: what one server writes again the other may not. So is the error of a string that is too
long, 1265 or 1406, and that of a NULL that is not allowed any more, 1265 or 1138: it depends on the way that the value takes.

A column of text never becomes one of numbers: MariaDB refuses '1.00' for an INT in ALTER TABLE (1292) and takes it in INSERT. LatsDB, as
MySQL, takes it in both.
"""
import random

from generator import Statement

TABLE = 'altered'
TEXTS = ['VARCHAR(30)', 'VARCHAR(6)', 'CHAR(12)']
TYPES = TEXTS + ['INT', 'BIGINT', 'SMALLINT', 'TINYINT', 'INT UNSIGNED', 'DECIMAL(8,2)', 'DOUBLE']
COLLATIONS = ['utf8mb4_bin', 'utf8mb4_general_ci', 'utf8mb4_unicode_ci']


class AlterStatements:
    def __init__(self, seed):
        self.random, self.names, self.next = random.Random(f'alters {seed}'), ['a', 'b', 'c'], 0
        self.is_counted, self.texts, self.becomes = False, {'c'}, None

    def begin(self):
        """What makes the table."""
        rows = ', '.join(f"({number}, {self.value()}, {self.value()}, '{number % 5}')" for number in range(1, 30))
        return [f'DROP TABLE IF EXISTS {TABLE}',
                f'CREATE TABLE {TABLE} (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, a INT, b BIGINT DEFAULT 5, c VARCHAR(30), KEY by_a (a))',
                f'INSERT INTO {TABLE} VALUES {rows}']

    def value(self):
        return self.random.choice(['NULL', '0', str(self.random.randint(-40, 40)), str(self.random.randint(0, 300)), str(self.random.randint(0, 100000))])

    def column(self):
        return self.random.choice(self.names)

    def definition(self, name, before=None):
        """The type of a column and what follows it; `before` is its name until then."""
        r = self.random
        kind = r.choice(TEXTS if before in self.texts else TYPES)
        self.becomes = (before, name, kind in TEXTS)
        null = r.choice(['', '', '', ' NULL', ' NOT NULL'])
        default = r.choice(['', '', " DEFAULT '7'", ' DEFAULT NULL']) if null != ' NOT NULL' else r.choice(['', " DEFAULT '3'"])
        return f'{kind}{null}{default}'

    def name(self):
        self.next += 1
        return f'n{self.next}'

    def place(self):
        return self.random.choice(['', '', '', ' FIRST', f' AFTER {self.column()}', ' AFTER id'])

    def clause(self):
        """A clause, and the names of columns behind it."""
        r, names = self.random, list(self.names)
        shape = r.randint(0, 12)
        column = self.column()
        if shape <= 3:
            others = [name for name in names if name != column]
            place = r.choice(['', '', ' FIRST', f' AFTER {r.choice(others)}' if others else ''])
            return f'MODIFY {column} {self.definition(column, column)}{place}', names
        if shape == 4:
            name = self.name()
            return f'CHANGE COLUMN {column} {name} {self.definition(name, column)}', [name if other == column else other for other in names]
        if shape == 5:
            name = self.name()
            self.becomes = (column, name, column in self.texts)
            return f'RENAME COLUMN {column} TO {name}', [name if other == column else other for other in names]
        if shape == 6 and len(names) < 6:
            name = self.name()
            return f'ADD COLUMN {name} {self.definition(name)}{self.place()}', names + [name]
        if shape == 7 and len(names) > 2:
            return f'DROP COLUMN {column}', [other for other in names if other != column]
        if shape == 8:
            return f"ALTER COLUMN {column} {r.choice(['SET DEFAULT 4', 'SET DEFAULT NULL', 'DROP DEFAULT'])}", names
        if shape == 9:
            return f'CONVERT TO CHARACTER SET utf8mb4 COLLATE {r.choice(COLLATIONS)}', names
        if shape == 10:
            return f"ADD {r.choice(['KEY', 'UNIQUE KEY'])} k{self.name()} ({column})", names
        if shape == 11:
            return f"MODIFY id {r.choice(['INT', 'BIGINT', 'BIGINT UNSIGNED'])} NOT NULL AUTO_INCREMENT", names
        return f"COMMENT = '{self.name()}'", names

    def alter(self):
        self.becomes = None
        clause, names = self.clause()
        self.wanted = names
        return Statement(f'ALTER TABLE {TABLE} {clause}')

    def write(self):
        r = self.random
        number = r.randint(31, 90)
        return Statement(r.choice([
            f'INSERT INTO {TABLE} (id, {self.column()}) VALUES ({number}, {self.value()})',
            f'INSERT INTO {TABLE} (id) VALUES ({number})',
            f'UPDATE {TABLE} SET {self.column()} = {self.value()} WHERE id = {number - 30}',
            f'UPDATE {TABLE} SET {self.column()} = DEFAULT WHERE id = {number - 30}',
            f'DELETE FROM {TABLE} WHERE id = {number}']))

    def counted(self):
        """A SELECT that counts what LIMIT leaves out; FOUND_ROWS() tells it behind it."""
        self.is_counted = True
        r = self.random
        clause = r.choice(['', f' WHERE id > {r.randint(0, 40)}', ' GROUP BY id % 7'])
        item = 'COUNT(*)' if 'GROUP' in clause else 'id'
        limit = r.choice([f' LIMIT {r.randint(0, 9)}', f' LIMIT {r.randint(0, 9)} OFFSET {r.randint(0, 9)}', ''])
        return Statement(f'SELECT SQL_CALC_FOUND_ROWS {item} AS x FROM {TABLE}{clause} ORDER BY 1{limit}', ordered=True)

    def statement(self):
        if self.is_counted:
            self.is_counted, self.wanted = False, self.names
            return Statement('SELECT FOUND_ROWS()')
        shape = self.random.random()
        if shape < .4:
            return self.alter()
        self.wanted = self.names
        if shape < .7:
            return self.write()
        if shape > .92:
            return self.counted()
        order = self.random.choice(['id', f'{self.column()} IS NULL, id'])
        return Statement(f'SELECT * FROM {TABLE} ORDER BY {order}', ordered=True)

    def done(self, is_refused):
        """Whether the last statement was refused decides which columns there are."""
        becomes, self.becomes = self.becomes, None
        if is_refused:
            return
        self.names = self.wanted
        if becomes:
            before, name, is_text = becomes
            self.texts.discard(before)
            self.texts |= {name} if is_text else set()
