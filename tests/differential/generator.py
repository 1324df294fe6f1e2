"""Statements of the supported subset, from a seed.

Each statement is a function of the seed and of the statements before it only. Shapes whose answer MySQL leaves open are not made, or
made with what pins the answer down: rows are changed in the order of the primary key, LIMIT stands behind a total order, ids of
AUTO_INCREMENT are asked for only where nothing failed before. What `known_differences.txt` lists is not made either; a comment
here names the entry.
"""
import random
import re

INTEGERS = {'ti': (-128, 127), 'tu': (0, 255), 'si': (-32768, 32767), 'su': (0, 65535), 'mi': (-8388608, 8388607), 'mu': (0, 16777215),
            'i': (-2147483648, 2147483647), 'iu': (0, 4294967295), 'bi': (-2**63, 2**63 - 1), 'bu': (0, 2**64 - 1)}

# Name, definition, kind. Kinds: n number, y year, b bits, s text, e ENUM or SET, x bytes, d date, m moment, t time.
WIDE = [
    ('id', 'INT NOT NULL PRIMARY KEY', 'n'),
    ('ti', 'TINYINT', 'n'), ('tu', 'TINYINT UNSIGNED', 'n'), ('si', 'SMALLINT', 'n'), ('su', 'SMALLINT UNSIGNED', 'n'),
    ('mi', 'MEDIUMINT', 'n'), ('mu', 'MEDIUMINT UNSIGNED', 'n'), ('i', 'INT', 'n'), ('iu', 'INT UNSIGNED', 'n'),
    ('bi', 'BIGINT', 'n'), ('bu', 'BIGINT UNSIGNED', 'n'), ('d', 'DECIMAL(12,3)', 'n'), ('du', 'DECIMAL(6,2) UNSIGNED', 'n'),
    ('f', 'FLOAT', 'n'), ('g', 'DOUBLE', 'n'), ('b1', 'BIT(1)', 'b'), ('b', 'BIT(9)', 'b'), ('y', 'YEAR', 'y'),
    ('c', 'CHAR(8)', 's'), ('v', 'VARCHAR(40)', 's'), ('tt', 'TINYTEXT', 's'), ('tx', 'TEXT', 's'), ('mt', 'MEDIUMTEXT', 's'),
    ('lt', 'LONGTEXT', 's'), ('bn', 'BINARY(4)', 'x'), ('vb', 'VARBINARY(20)', 'x'), ('tb', 'TINYBLOB', 'x'), ('bl', 'BLOB', 'x'),
    ('e', "ENUM('red','green','blue')", 'e'), ('s', "SET('a','b','c')", 'e'),
    ('dt', 'DATE', 'd'), ('tm', 'TIME', 't'), ('tm2', 'TIME(2)', 't'), ('dm', 'DATETIME', 'm'), ('dm6', 'DATETIME(6)', 'm'),
    ('st', 'TIMESTAMP NULL', 'm'), ('st3', 'TIMESTAMP(3) NULL', 'm'),
]
TABLES = {
    'wide': WIDE,
    'pair': [('a', 'INT NOT NULL', 'n'), ('b', 'VARCHAR(10) NOT NULL', 's'), ('n', 'INT', 'n'), ('m', 'INT NOT NULL DEFAULT 7', 'n'),
             ('w', "VARCHAR(20) DEFAULT 'dflt'", 's'), ('z', 'DECIMAL(5,1) NOT NULL', 'n')],
    'texts': [('k', 'VARCHAR(12) NOT NULL PRIMARY KEY', 's'), ('q', 'INT NOT NULL', 'n'), ('z', 'DATETIME', 'm'), ('w', 'VARCHAR(9)', 's')],
    'counted': [('id', 'INT NOT NULL AUTO_INCREMENT PRIMARY KEY', 'n'), ('p', 'INT', 'n'), ('r', "ENUM('x','y') NOT NULL DEFAULT 'y'", 'e')],
}
INDEXES = {
    'wide': ', KEY (i), KEY (v, i), KEY (d), KEY (dt), KEY (dm6), KEY (bu, tu), KEY (y), KEY (e), KEY (vb)',
    'pair': ', PRIMARY KEY (a, b), UNIQUE KEY un (n), KEY km (m, w)',
    'texts': ', UNIQUE KEY uq (q), UNIQUE KEY uw (w)',
    'counted': ', UNIQUE KEY up (p)',
}
KEYS = {'wide': ['id'], 'pair': ['a', 'b'], 'texts': ['k'], 'counted': ['id']}
UNIQUE = {'wide': ['id'], 'pair': ['a', 'b', 'n'], 'texts': ['k', 'q', 'w'], 'counted': ['id', 'p']}


def definitions(temporary=()):
    """The tables, before any row."""
    return [f"CREATE {'TEMPORARY ' if table in temporary else ''}TABLE {table} ({', '.join(f'{name} {kind}' for name, kind, _ in columns)}{INDEXES[table]})"
            for table, columns in TABLES.items()]


class Statement:
    """A text, perhaps with parameters; `ordered` if the order of its rows is decided."""

    def __init__(self, text, ordered=False, parameters=None):
        self.text, self.ordered, self.parameters = text, ordered, parameters

    def __str__(self):
        return self.text if self.parameters is None else f'{self.text} -- prepared, with {self.parameters}'

    @property
    def reads(self):
        return self.text.startswith('SELECT')


# Of one script, and free of punctuation that collations order differently.
WORDS = ['', 'a', 'A', 'b', 'abc', 'ABC', 'Abc', 'b c', 'zz', '12', '12abc', ' x', 'x ', '-3', '0', '1e2', 'red', 'Blue', 'ab', 'ünï', '日本', 'Ünï', 'été']
BINARY_WORDS = WORDS + ['a%c', 'a_c', 'a,b', "o''k", '\\\\n', '{x}', 'ß']
PATTERNS = ['a%', '%b%', '_b_', '%', '', '_', 'A_C', '%c', '1%', '%\\\\_%', 'ün%', '__']


class Generator:
    def __init__(self, seed, collation, temporary=()):
        self.random = random.Random(seed)
        self.collation = collation
        # Whether the transaction may have deleted rows of temporary tables (rollback-of-temporary).
        self.temporary, self.has_deleted = temporary, False
        self.words = BINARY_WORDS if collation.endswith('_bin') else WORDS
        self.marked = []
        self.queue = []
        self.next_id = 1000
        # What would warn is not made: in conditions of changes (strict-conditions), and zero dates of IGNORE (zero-dates).
        self.is_quiet = self.ignores = self.in_condition = False
        # Constants in text beside numbers (constants-beside-numbers); what may overflow in rows behind LIMIT (behind-limit).
        self.compares = self.is_narrow = False

    # ---- small choices

    def pick(self, *options):
        chosen = self.random.choice(options)
        return chosen() if callable(chosen) else chosen

    def chance(self, probability):
        return self.random.random() < probability

    def column(self, table, kinds=None):
        names = [name for name, _, kind in TABLES[table] if kinds is None or kind in kinds]
        if self.is_narrow and kinds == 'n' and table == 'wide':
            names = ['ti', 'si', 'd']
        if names:
            return self.random.choice(names)
        return self.plain(kinds[0]) if kinds[0] in 'dmts' else KEYS[table][0]

    @staticmethod
    def kind(table, column):
        return next(kind for name, _, kind in TABLES[table] if name == column)

    # ---- literals: marked, so that a prepared statement can take them out again

    def mark(self, literal):
        self.marked.append(literal)
        return f'\x01{len(self.marked) - 1}\x02'

    def number(self):
        r = self.random
        return self.pick(str(r.randint(-5, 30)), str(r.randint(0, 12)), str(r.randint(-300, 300)), '0', '1', '12.0', '1e1', '-3', '2e0',
                         # integer-beside-fraction; and what overflows would do so in rows that LIMIT passes over.
                         *(('99999999999', '4294967296', '1e15') if self.in_condition else ('1.25', '-0.5', '0.001')))

    def integer(self):
        return str(self.pick(self.random.randint(-5, 30), self.random.randint(0, 12), self.random.randint(-300, 300)))

    def text(self):
        return "'" + self.random.choice(self.words) + "'"

    def date(self):
        return "'" + self.pick('2024-02-29', '1999-12-31', '2024-01-31', '2000-01-01', '2023-11-11') + "'"

    def moment(self):
        return "'" + self.pick('2024-02-29 00:00:00', '1999-12-31 23:59:59', '2024-05-05 12:34:56', '2023-11-11 01:02:03', '2024-01-31') + "'"

    def time(self):
        return "'" + self.pick('12:34:56', '-01:02:03.45', '100:00:00', '00:00:00', '23:59:59.99') + "'"

    def plain(self, kind):
        while (literal := self.unmarked(self.literal(kind))) in ('NULL', "''"):
            pass
        return literal

    def literal(self, kind):
        if self.chance(.05):
            return self.mark('NULL')
        # year-beside-number
        make = dict(n=self.number, b=self.integer, y=lambda: str(self.pick(1901, 1970, 1999, 2000, 2024, 2155)), s=self.text, x=self.text,
                    e=lambda: self.pick(self.text, "'green'", "'a,b'", "'c'"), d=self.date, m=self.moment, t=self.time)[kind]
        return self.mark(make())

    # ---- values for columns, good and bad

    def value(self, table, column):
        r = self.random
        if self.chance(.07) and (table, column) != ('counted', 'id'):
            return self.mark('NULL')
        if table == 'wide' and column in INTEGERS:
            low, high = INTEGERS[column]
            return self.mark(self.pick(str(r.randint(-9, 9)), str(r.randint(0, 20)), str(r.randint(0, 9)), str(low), str(high), str(high + 1),
                                       str(low - 1), "'7'", '2.5', "'8'", "'x1'", "'3x'", "''", '1e3', "'1.5'"))
        if self.ignores and self.kind(table, column) in 'dmt':
            return self.mark(dict(d=self.date, m=self.moment, t=self.time)[self.kind(table, column)]())
        if table == 'wide' and column != 'id':
            return self.mark(self.pick(*{
                'd': ['1.2345', '-7.5', '123456789.999', '9999999999', "'3.25'", '0', "'1e2'", "'abc'", '1e-5', '-0.0004'],
                'du': ['1.5', '0', '-1', '9999.99', '10000', '3.255', "'2.345'", '1e3'],
                'f': ['1.5', '-2.25e3', '0', '0.1', "'2.5'", *([] if self.ignores else ['1e39']), '16777217', '1e6'],
                'g': ['1.5', '-2.25e3', '0', '0.1', "'2.5'", '1e12', "'1.5x'", '123456789012345678'],
                'b1': ['0', '1', "b'1'", '2', "b'0'"], 'b': ['5', "b'101'", '600', '0', '511', '-1', "'a'"],
                'y': ['2024', '1999', "'70'", '1800', '2155', '0', "'0'", '99', '2156', "'abc'", "'1901'"],
                'e': ["'red'", "'GREEN'", '3', "'purple'", "'blue'", "'2'", '0', "''", '4', "'blue '"],
                's': ["'a'", "'a,c'", "''", '5', "'b,a'", "'q'", '8', "'a,a'", "'a,q'", "'C'"],
                'dt': ["'2024-02-29'", "'1999-12-31'", "'2023-02-30'", '20240105', "'2020-06-07 01:02:03'", "'2020-1-2'", "'0000-00-00'", "'2020-00-10'", "'x'", "'24.12.31'"],
                'tm': [self.time(), "'1:2'", '10203', "'839:00:00'", "'-38:59:59'", "'10:61:00'", "'2024-05-05 01:02:03'", "'2 03:04:05'", "'x'"],
                'tm2': [self.time(), self.time(), "'12:00:00.999'", '93015.555', "'-1:0:0.005'"],
                'dm': [self.moment(), "'2024-05-05 12:34:56.789'", '20240105101112', "'2024-05-05T12:00:00'", "'2024-05-05 25:00:00'", "'2024-02-30'", "'x'", "''", "'2024-12-31 23:59:59.5'"],
                'dm6': [self.moment(), self.moment(), "'2024-05-05 12:34:56.123456'", "'9999-12-31 23:59:59.999999'", '20240105', "'2024-13-01'"],
                'st': [self.moment(), self.moment(), "'1970-01-01 00:00:01'", "'1969-12-31 23:59:59'", "'2038-01-19 03:14:07'", "'x'"],
                'st3': [self.moment(), "'2024-05-05 12:34:56.789'", "'2024-05-05 12:34:56.7895'"],
                'c': [self.text(), self.text(), "'longer than eight'", "'padded  '", '123', '1.50'],
                'v': [self.text(), self.text(), self.text(), f"'{'v' * 41}'", f"'{'v' * 40}   '", '-7'],
                'tt': [self.text(), self.text(), f"'{'t' * 256}'"], 'bn': ["'ab'", "'abcd'", "'abcde'", "''", "x'00ff'", '7'],
                'vb': [self.text(), "x'ff00'", f"'{'b' * 21}'", "'x '"],
            }.get(column, [self.text(), self.text(), '12'])))
        if column == 'id':
            return self.mark(str(r.randint(1, 60)))
        return self.mark(self.pick(*{
            ('pair', 'a'): [str(r.randint(0, 6))],
            ('pair', 'b'): ["'x'", "'y'", "'Z'", "'z'", "''", "'toolongvalue'", "'w'", "'u'", "'t'"],
            ('pair', 'n'): [str(r.randint(0, 25))], ('pair', 'm'): ['DEFAULT', str(r.randint(0, 9)), "'5'"],
            ('pair', 'w'): ['DEFAULT', self.text()], ('pair', 'z'): [str(r.randint(-9, 9)), '1.25', '99999', "'1.5'"],
            ('texts', 'k'): [f"'k{r.randint(0, 12)}'", f"'K{r.randint(0, 5)}'"], ('texts', 'q'): [str(r.randint(0, 25))],
            ('texts', 'z'): [self.moment()], ('texts', 'w'): [self.text(), f"'w{r.randint(0, 30)}'"],
            ('counted', 'p'): [str(r.randint(0, 40))], ('counted', 'r'): ["'x'", "'y'", 'DEFAULT', '1', "'w'"],
        }[table, column]))

    # ---- expressions

    def expression(self, table, kind, depth=2):
        if depth <= 0 or self.chance(.3):
            # No parameter: its type would decide the expression's (typed-parameters).
            # No NULL: null-typed.
            return self.column(table, kind) if self.chance(.7) else self.plain(kind)
        if self.is_quiet:
            return self.column(table, kind)
        if not self.in_condition and self.chance(.04):
            # Implicit conversion: enum-arithmetic, time-of-dates, empty-text and text-moments keep other kinds out.
            if kind == 'n' and not self.compares:
                return self.pick("'12abc'", "'-3'", "'1e2'", "'12'", "'zz'")
            kind = self.pick('n', 's') if kind == 's' and not self.compares else kind
        make = {'n': self.numeric, 's': self.textual, 'd': self.dated, 'm': self.momentary, 't': self.timed}.get(kind)
        return make(table, depth - 1) if make else self.column(table, kind)

    def compared(self, table, kind, depth):
        """An operand of a comparison."""
        outer, self.compares = self.compares, True
        made = self.expression(table, kind, depth)
        self.compares = outer
        return made

    def signed(self, table):
        # round-beyond-bigint
        return self.pick('ti', 'si', 'mi', 'i', 'd') if table == 'wide' else self.column(table, 'n')

    def whole(self, table):
        # shift-of-doubles
        return self.pick('ti', 'su', 'mu', 'i', 'bu') if table == 'wide' else KEYS[table][0] if table != 'texts' else 'q'

    def numeric(self, table, depth):
        r = self.random
        n = lambda: self.expression(table, 'n', depth)
        c = lambda: self.compared(table, 'n', depth)
        s = lambda: self.expression(table, self.pick('s', 's', 'e', 'x'), depth)
        w = lambda: self.compared(table, 's', depth)
        d = lambda: self.expression(table, self.pick('d', 'm'), depth)
        t = lambda: self.expression(table, 't', depth)
        return self.pick(
            lambda: f"({n()} {self.pick('+', '-', '*')} {n()})", lambda: f"({n()} {self.pick('+', '-', '*')} {n()})",
            lambda: f"({n()} {self.pick('/', 'DIV')} {n()})", lambda: f"({self.whole(table)} {self.pick('&', '|', '^')} {r.randint(0, 20)})",
            lambda: f"({self.whole(table)} {self.pick('<<', '>>')} {r.randint(0, 5)})", lambda: f"-{n()}", lambda: f"ABS({n()})", lambda: f"SIGN({n()})",
            lambda: f"LENGTH({s()})", lambda: f"CHAR_LENGTH({s()})", lambda: f"COALESCE({n()}, {n()})", lambda: f"IFNULL({n()}, {n()})",
            lambda: f"NULLIF({c()}, {c()})", lambda: f"IF({self.condition(table, depth)}, {n()}, {n()})",
            lambda: f"CASE WHEN {self.condition(table, depth)} THEN {n()} ELSE {n()} END", lambda: f"CASE {c()} WHEN {c()} THEN {n()} WHEN {c()} THEN {n()} END",
            lambda: f"ROUND({n()}, {r.randint(0, 2)})", lambda: f"ROUND({self.signed(table)}, -1)", lambda: f"ROUND({n()})", lambda: f"FLOOR({n()})", lambda: f"CEILING({n()})",
            lambda: f"TRUNCATE({self.narrow(table, depth)}, {r.randint(-1, 2)})", lambda: f"{self.pick('GREATEST', 'LEAST')}({self.signed(table)}, {self.signed(table)})",
            lambda: f"MOD({n()}, {r.randint(0, 9)})", lambda: f"LOCATE({s()}, {s()})", lambda: f"LOCATE({self.plain('s')}, {s()}, {r.randint(0, 3)})", lambda: f"ASCII({s()})", lambda: f"ORD({s()})",
            lambda: f"{self.pick('YEAR', 'MONTH', 'DAY', 'DAYOFWEEK', 'DAYOFYEAR', 'WEEKDAY', 'QUARTER', 'TO_DAYS')}({d()})",
            lambda: f"{self.pick('HOUR', 'MINUTE', 'SECOND', 'MICROSECOND')}({t()})", lambda: "TIME_TO_SEC('-01:02:03')", lambda: f"DATEDIFF({d()}, {d()})",
            lambda: f"WEEK({d()}, {r.randint(0, 7)})", lambda: f"YEARWEEK({d()})", lambda: f"EXTRACT({self.pick('YEAR_MONTH', 'YEAR', 'MONTH')} FROM {d()})",
            lambda: f"TIMESTAMPDIFF({self.pick('DAY', 'MONTH', 'YEAR', 'HOUR', 'SECOND', 'WEEK')}, {d()}, {d()})",
            # casts-to-unsigned
            lambda: f"CAST({n()} AS {self.pick('SIGNED', 'DECIMAL(10,2)', 'DECIMAL(4)', 'DOUBLE')})",
            lambda: f"CAST({self.column(table, 's') if table != 'counted' and not self.in_condition else n()} AS {self.pick('SIGNED', 'DECIMAL(8,3)')})",
            lambda: f"CONVERT({n()}, SIGNED)", lambda: f"({self.condition(table, depth)})", lambda: f"INSTR({s()}, {s()})", lambda: f"FIELD({w()}, {w()}, {w()})",
            lambda: f"STRCMP({s()}, {s()})", lambda: f"CRC32({s()})", lambda: f"BIT_COUNT({self.whole(table)})", lambda: f"POW({n()}, {r.randint(0, 3)})", lambda: f"SQRT({n()})",
            lambda: f"FIND_IN_SET({s()}, {s()})",
            lambda: f"ISNULL({self.column(table, 'n')})", lambda: f"BIT_LENGTH({s()})", lambda: f"PERIOD_DIFF(202401, {r.randint(202301, 202312)})")

    def textual(self, table, depth):
        r = self.random
        s = lambda: self.expression(table, 's', depth)
        a = lambda: self.expression(table, self.pick('s', 's', 's', 'e', 'x', 'n', 'd', 't', 'm'), depth)
        # greatest-of-mixed, and no punctuation that collations order differently.
        p = lambda: self.pick(lambda: self.column(table, 's'), lambda: self.plain('s')) if table in ('pair', 'texts', 'wide') else self.plain('s')
        w = lambda: self.compared(table, 's', depth)
        n = lambda: self.expression(table, 'n', depth)
        d = lambda: self.expression(table, self.pick('d', 'm'), depth)
        return self.pick(
            lambda: f"CONCAT({a()}, {a()})", lambda: f"CONCAT({s()}, {s()}, {s()})", lambda: f"UPPER({s()})", lambda: f"LOWER({s()})", lambda: f"LEFT({s()}, {r.randint(-1, 4)})",
            lambda: f"RIGHT({s()}, {r.randint(0, 4)})", lambda: f"SUBSTRING({s()}, {r.randint(-3, 4)}, {r.randint(0, 4)})", lambda: f"SUBSTRING({s()} FROM {r.randint(-3, 4)})",
            lambda: f"MID({s()}, 1, 2)", lambda: f"TRIM({s()})", lambda: f"TRIM({self.pick('LEADING', 'TRAILING', 'BOTH')} {self.text()} FROM {s()})", lambda: f"LTRIM({s()})", lambda: f"RTRIM({s()})",
            lambda: f"REVERSE({s()})", lambda: f"REPEAT({s()}, {r.randint(-1, 3)})", lambda: f"REPLACE({s()}, 'a', {self.text()})", lambda: f"LPAD({s()}, {r.randint(-1, 6)}, 'p')",
            lambda: f"RPAD({s()}, 3, 'ab')", lambda: f"COALESCE({s()}, {a()})", lambda: f"IF({self.condition(table, depth)}, {s()}, {a()})", lambda: f"IFNULL({a()}, {s()})",
            lambda: f"HEX({self.pick(s, n)})", lambda: f"CONCAT_WS({self.text()}, {s()}, {a()})", lambda: f"NULLIF({w()}, {w()})",
            lambda: f"DATE_FORMAT({d()}, {self.pick(chr(39) + '%Y/%m/%d %H:%i %W %j' + chr(39), chr(39) + '%a %b %e %y %h %p %r' + chr(39), chr(39) + '%D %M %U %u %T %f %%' + chr(39))})",
            lambda: f"MD5({s()})", lambda: f"SHA1({s()})", lambda: f"CAST({n()} AS CHAR)", lambda: f"CAST({s()} AS BINARY)", lambda: f"CONVERT({d()}, CHAR)",
            lambda: f"SUBSTRING_INDEX({s()}, 'b', {r.randint(-1, 2)})", lambda: f"ELT({r.randint(0, 3)}, {s()}, {s()})", lambda: f"QUOTE({s()})",
            lambda: f"BIN({n()})", lambda: f"OCT({n()})", lambda: f"SPACE({r.randint(0, 3)})", lambda: f"INSERT({s()}, 2, 1, 'Q')", lambda: f"GREATEST({p()}, {p()})", lambda: f"LEAST({p()}, {p()})",
            lambda: f"CASE WHEN {self.condition(table, depth)} THEN {a()} ELSE {s()} END", lambda: f"{self.pick('DAYNAME', 'MONTHNAME')}({d()})", lambda: f"FORMAT({n()}, {r.randint(0, 3)})",
            lambda: f"TO_BASE64({s()})", lambda: f"UNHEX(HEX({s()}))", lambda: f"CHAR({r.randint(65, 90)}, {r.randint(65, 90)})", lambda: f"CONV({r.randint(0, 999)}, 10, {self.pick(2, 16, 36)})")

    def dated(self, table, depth):
        d = lambda: self.expression(table, self.pick('d', 'm'), depth)
        return self.pick(
            lambda: f"DATE({d()})", lambda: f"LAST_DAY({d()})", lambda: f"CAST({d()} AS DATE)", lambda: f"FROM_DAYS({self.random.randint(700000, 740000)})",
            lambda: f"DATE_ADD({self.column(table, 'd') if table == 'wide' else d()}, INTERVAL {self.random.randint(-40, 40)} {self.pick('DAY', 'MONTH', 'YEAR', 'WEEK', 'QUARTER')})",
            lambda: f"MAKEDATE({self.random.randint(1990, 2030)}, {self.random.randint(0, 400)})")

    def momentary(self, table, depth):
        d = lambda: self.expression(table, self.pick('d', 'm'), depth)
        # fraction-of-text-moments
        m = lambda: self.column(table, 'm') if table in ('wide', 'texts') else f"CAST({self.plain('m')} AS DATETIME)"
        units = ('DAY', 'MONTH', 'YEAR', 'HOUR', 'SECOND', 'WEEK', 'QUARTER', 'MINUTE', 'MICROSECOND')
        return self.pick(
            lambda: f"DATE_ADD({d()}, INTERVAL {self.random.randint(-40, 40)} {self.pick(*units)})", lambda: f"({d()} - INTERVAL {self.random.randint(0, 99)} {self.pick(*units)})",
            lambda: f"CAST({d()} AS DATETIME)", lambda: f"CAST({d()} AS DATETIME(3))", lambda: f"TIMESTAMP({self.column(table, 'm') if table == 'wide' else self.plain('m')})", lambda: f"COALESCE({m()}, {m()})",
            lambda: f"IF({self.condition(table, depth)}, {m()}, {m()})", lambda: f"GREATEST({self.column(table, 'dm')}, {self.column(table, 'dm')})",
            lambda: f"DATE_ADD({d()}, INTERVAL '1:2' {self.pick('HOUR_MINUTE', 'MINUTE_SECOND', 'DAY_HOUR')})", lambda: f"TIMESTAMPADD({self.pick('DAY', 'HOUR', 'MONTH')}, {self.random.randint(-9, 9)}, {d()})",
            lambda: f"STR_TO_DATE('2024-{self.random.randint(1, 12 if self.in_condition else 13)}-05', '%Y-%m-%d')")

    def timed(self, table, depth):
        if table != 'wide':
            return self.plain('t')
        t = lambda: self.expression(table, 't', depth)
        return self.pick(lambda: f"TIME({self.column(table, 't')})", lambda: f"CAST({t()} AS TIME(1))", lambda: f"ADDTIME({t()}, '00:30:00')", lambda: f"SUBTIME({t()}, '1:00:00.5')",
                         lambda: f"SEC_TO_TIME({self.random.randint(-9999, 99999)})", lambda: f"MAKETIME({self.random.randint(0, 99)}, {self.random.randint(0, 61)}, 7)",
                         lambda: f"TIMEDIFF({t()}, {t()})", lambda: f"COALESCE({self.column(table, 't')}, {self.column(table, 't')})")

    def condition(self, table, depth=2):
        if depth > 0 and self.chance(.35):
            c = lambda: self.condition(table, depth - 1)
            return self.pick(lambda: f"({c()} AND {c()})", lambda: f"({c()} OR {c()})", lambda: f"(NOT {c()})", lambda: f"({c()} XOR {c()})", lambda: f"({c()} AND {c()} AND {c()})")
        column = self.column(table)
        kind = self.kind(table, column)
        beside = lambda: self.literal(kind) if self.chance(.75) or kind in 'yb' else self.expression(table, kind, 1)
        texts = lambda: self.column(table, 's')
        outer, self.in_condition = self.in_condition, True
        made = self.pick(
            lambda: f"{column} = {beside()}", lambda: f"{column} {self.pick('<', '<=', '>', '>=', '<>', '<=>', '!=')} {beside()}", lambda: f"{beside()} {self.pick('=', '<', '>=')} {column}",
            lambda: f"{column} BETWEEN {beside()} AND {beside()}", lambda: f"{column} NOT BETWEEN {beside()} AND {beside()}",
            lambda: f"{column} IN ({beside()}, {beside()}, {beside()})", lambda: f"{column} NOT IN ({beside()}, {beside()})",
            lambda: f"{column} IS {self.pick('', 'NOT ')}NULL", lambda: f"{texts()} {self.pick('', 'NOT ')}LIKE '{self.random.choice(PATTERNS)}'", lambda: f"{texts()} LIKE 'a|%%' ESCAPE '|'",
            lambda: f"{KEYS[table][0]} = {self.literal(self.kind(table, KEYS[table][0]))}", lambda: f"{KEYS[table][0]} IN ({self.literal(self.kind(table, KEYS[table][0]))}, {self.literal(self.kind(table, KEYS[table][0]))})",
            lambda: f"({column} = {beside()}) IS {self.pick('TRUE', 'NOT TRUE', 'UNKNOWN', 'FALSE', 'NOT FALSE')}",
            lambda: f"{texts() if table != 'counted' else self.text()} = {self.text()} COLLATE {self.pick('utf8mb4_bin', 'utf8mb4_general_ci', 'utf8mb4_0900_ai_ci', 'utf8mb4_unicode_ci')}",
            lambda: ' AND '.join(f'{key} = {self.literal(self.kind(table, key))}' for key in KEYS[table]), lambda: self.expression(table, 'n', 1))
        self.in_condition = outer
        return made

    # ---- statements

    def order(self, table):
        keys = [f"{key} {self.pick('', 'DESC')}" for key in KEYS[table]]
        first = [f"{self.column(table)} {self.pick('ASC', 'DESC')}"] if self.chance(.5) else []
        return ' ORDER BY ' + ', '.join(first + keys)

    def select(self):
        table = self.pick('wide', 'wide', 'pair', 'texts', 'counted')
        where = f" WHERE {self.condition(table)}" if self.chance(.8) else ''
        shape = self.random.random()
        if shape < .5:
            tail = self.pick('', '', f" LIMIT {self.random.randint(0, 9)}", f" LIMIT {self.random.randint(0, 5)}, {self.random.randint(0, 9)}", f" LIMIT {self.random.randint(0, 9)} OFFSET {self.random.randint(0, 5)}")
            is_ordered = self.chance(.6)
            self.is_narrow = bool(tail) and is_ordered
            # A bare text would be a name for ORDER BY.
            item = lambda: self.not_bare(table, self.pick('n', 's', 'm', 'n', 'd', 't', 's', *'exyb')) + self.pick('', '', '', f" AS x{self.random.randint(0, 9)}")
            what = ', '.join(item() for _ in range(self.random.randint(1, 3))) if self.chance(.8) else '*'
            self.is_narrow = False
            if not is_ordered:
                return f"SELECT {what} FROM {table}{where}", False
            return f"SELECT {what} FROM {table}{where}{self.order(table)}{tail}{self.pick('', '', '', ' FOR UPDATE', ' LOCK IN SHARE MODE')}", True
        if shape < .65:
            return f"SELECT {self.aggregate(table)}, {self.aggregate(table)} FROM {table}{where}", True
        if shape < .85:
            return self.grouped(table, where)
        what = ', '.join(self.expression(table, self.pick(*'nndmty'), 1) for _ in range(self.random.randint(1, 2)))
        return f"SELECT DISTINCT {what} FROM {table}{where}", False

    def not_bare(self, table, kind):
        made = self.expression(table, kind)
        return f'CONCAT({made})' if made.startswith("'") else made

    def aggregate(self, table):
        # The sum of doubles depends on their order where they cancel out: no BIGINT among them.
        n = lambda: self.column(table, 'n') if self.chance(.2) else self.narrow(table)
        keys = ', '.join(KEYS[table])
        return self.pick(
            'COUNT(*)', lambda: f"COUNT({self.column(table)})", lambda: f"COUNT(DISTINCT {n()})", lambda: f"SUM({n()})", lambda: f"AVG({n()})",
            lambda: f"MIN({self.column(table, 'ndmtx')})", lambda: f"MAX({self.column(table, 'ndmtx')})", lambda: f"{self.pick('MIN', 'MAX')}({n()})", lambda: f"SUM(DISTINCT {self.column(table, 'n')})", lambda: f"AVG(DISTINCT {self.column(table, 'n')})",
            lambda: f"BIT_{self.pick('OR', 'AND', 'XOR')}({self.column(table, 'n')})", lambda: f"SUM({self.column(table, 'nyb')})", lambda: f"MIN({self.expression(table, self.pick(*'dm'), 1)})",
            lambda: f"GROUP_CONCAT({self.column(table, 'nysxedmt')} ORDER BY {keys})", lambda: f"GROUP_CONCAT({self.column(table, 's')} ORDER BY {keys} DESC SEPARATOR '; ')",
            lambda: f"GROUP_CONCAT(DISTINCT {self.column(table, 'n')} ORDER BY 1)", lambda: f"GROUP_CONCAT({self.column(table, 'n')}, {self.column(table, 's')} ORDER BY {keys} SEPARATOR '')",
            'COUNT(*) + 1')

    def narrow(self, table, depth=1):
        """A number without the widest columns: no sum of it depends on the order (doubles), distinct-truncate."""
        outer, self.is_narrow = self.is_narrow, True
        made = self.expression(table, 'n', depth)
        self.is_narrow = outer
        return made

    def grouped(self, table, where):
        group = self.column(table, self.pick('n', 'n', 'd', 'y', 'm', 'b', 't'))
        if self.chance(.3):
            group = f"({self.column(table, 'n')} + {self.random.randint(0, 3)})"
        elif self.chance(.2):
            group = f"IF({self.condition(table, 0)}, 1, 0)"
        is_plain, is_number = not group.startswith('IF('), group.startswith(('(', 'IF(')) or group.isidentifier() and self.kind(table, group) == 'n'
        group = self.unmarked(group)
        having = self.pick('', '', f" HAVING COUNT(*) > {self.random.randint(0, 2)}", lambda: f" HAVING {self.aggregate(table)} IS NOT NULL", lambda: f" HAVING grp {self.pick('>', '<=')} 3" if is_number and 'COLLATE' not in where else '')
        aggregates = f"{self.aggregate(table)}, {self.aggregate(table)}"
        return f"SELECT {group} AS grp, {aggregates} FROM {table}{where} GROUP BY {self.pick('grp', group if is_plain else 'grp')}{having} ORDER BY {self.pick('grp', '1 DESC') if group.isidentifier() else 'grp'}", True

    def insert(self):
        table = self.pick('wide', 'wide', 'pair', 'texts', 'counted')
        columns = [name for name, _, _ in TABLES[table]]
        fill = .2 if table == 'wide' else .7
        chosen = [column for column in columns if column in KEYS[table] and not (table == 'counted' and self.chance(.4)) or self.chance(fill)] or columns[:1]
        self.random.shuffle(chosen)
        verb, tail = self.pick('INSERT', 'INSERT', 'INSERT IGNORE', 'REPLACE', 'ODKU', 'ODKU', 'ODKU IGNORE'), ''
        self.ignores = verb.endswith('IGNORE')
        rows = ', '.join('(' + ', '.join(self.value(table, column) for column in chosen) + ')' for _ in range(self.pick(1, 1, 1, 2, 4)))
        if verb.startswith('ODKU'):
            # odku-without-default: every column that needs a value is given.
            missing = [column for column in {'pair': ['z'], 'texts': ['q']}.get(table, []) if column not in chosen]
            if missing or table == 'counted' and 'id' not in chosen:
                verb = 'INSERT IGNORE' if self.ignores else 'INSERT'
            else:
                # null-that-stays: no column whose default is something else.
                changed = self.pick(*[column for column in columns if column not in UNIQUE[table] and (table, column) != ('pair', 'w')])
                verb, tail = 'INSERT IGNORE' if self.ignores else 'INSERT', f" ON DUPLICATE KEY UPDATE {changed} = {self.pick(lambda: self.value(table, changed), f'VALUES({changed})')}"
        if table == 'counted' and tail or table in self.temporary and verb == 'REPLACE':
            # rollback-of-temporary: a row that fails behind one that took the place of another.
            rows = rows.split('), (')[0].rstrip(')') + ')'
        if table == 'counted' and 'id' not in chosen:
            # Which ids were passed over before is left open: both go on behind an id that is given.
            rows = rows.split('), (')[0].rstrip(')') + ')'
            self.next_id += 100
            self.queue.append(self.finished(f"{verb} INTO {table} ({', '.join(chosen)}) VALUES {rows}", True))
            return f'REPLACE INTO counted (id) VALUES ({self.next_id})', True
        return f"{verb} INTO {table} ({', '.join(chosen)}) VALUES {rows}{tail}", True

    def change(self):
        table = self.pick('wide', 'wide', 'pair', 'texts', 'counted')
        columns = [name for name, _, _ in TABLES[table]]
        self.is_quiet = True
        where = f" WHERE {self.condition(table, 1)}" if self.chance(.93) else ''
        tail = ' ORDER BY ' + ', '.join(KEYS[table]) + self.pick('', lambda: f" LIMIT {self.random.randint(0, 4)}")
        if self.chance(.3):
            where = where or f' WHERE {self.condition(table, 0)}'
            self.is_quiet = False
            return f"DELETE FROM {table}{where}{tail}", True
        self.is_quiet, sets = False, []
        ignore = self.pick('', '', 'IGNORE ')
        self.ignores = bool(ignore)
        for column in dict.fromkeys(self.random.choice(columns) for _ in range(self.random.randint(1, 3))):
            # keys-on-the-way
            made = self.value(table, column) if column in UNIQUE[table] or self.chance(.7) else self.expression(table, self.kind(table, column), 1)
            if column in ('f', 'g') and made.startswith("'"):
                # text-into-double
                made = self.value(table, column)
            sets.append(f"{column} = {made}")
        keys = [assignment for assignment in sets if assignment.split(' = ')[0] in UNIQUE[table]]
        if keys and self.chance(.5):
            # Which of several errors is told is left open: a key of several rows is changed alone.
            sets = keys[:1]
        elif keys:
            tail = tail.partition(' LIMIT ')[0] + ' LIMIT 1'
        return f"UPDATE {ignore}{table} SET {', '.join(sets)}{where}{tail}", True

    def control(self):
        number = self.random.randint(0, 2)
        text = self.pick('BEGIN', 'START TRANSACTION', 'COMMIT', 'ROLLBACK', f'SAVEPOINT s{number}', f'SAVEPOINT s{number}', f'ROLLBACK TO s{number}', f'RELEASE SAVEPOINT s{number}', 'SELECT ROW_COUNT()')
        if text.startswith('ROLLBACK') and self.has_deleted:
            text = 'COMMIT'
        if text in ('BEGIN', 'START TRANSACTION', 'COMMIT'):
            self.has_deleted = False
        return text, True

    # ---- from marks to statements

    def unmarked(self, text):
        return re.sub('\x01(\\d+)\x02', lambda found: self.marked[int(found[1])], text)

    def statement(self, number):
        """The next one. The first ones fill the tables."""
        if self.queue:
            return self.queue.pop()
        self.marked.clear()
        self.ignores = False
        share = self.random.random()
        if number < 100 or .6 < share < .83:
            text, ordered = self.insert()
        elif share < .6:
            text, ordered = self.select()
        elif share < .94:
            text, ordered = self.change()
        else:
            text, ordered = self.control()
        self.has_deleted |= bool(self.temporary) and text.startswith(('DELETE', 'REPLACE', 'UPDATE'))
        return self.finished(text, ordered)

    def finished(self, text, ordered):
        if self.chance(.25) and not text.startswith(('BEGIN', 'START', 'COMMIT', 'ROLLBACK', 'SAVEPOINT', 'RELEASE', 'SELECT ROW_COUNT')):
            return self.prepared(text, ordered)
        return Statement(self.unmarked(text), ordered)

    def prepared(self, text, ordered):
        """Some of the literals become parameters: integers and plain texts."""
        parameters = []

        def replace(found):
            literal = self.marked[int(found[1])]
            is_integer = re.fullmatch('-?\\d+', literal) and abs(int(literal)) < 2**63
            is_text = re.fullmatch("'[^'\\\\]*'", literal)
            if not (is_integer or is_text or literal == 'NULL') or self.chance(.5):
                return literal
            parameters.append(int(literal) if is_integer else None if literal == 'NULL' else literal[1:-1])
            return '?'

        return Statement(re.sub('\x01(\\d+)\x02', replace, text), ordered, parameters)
