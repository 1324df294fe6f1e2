"""Window functions, ROLLUP and row values, from a seed.

Where a value depends on which of equal rows comes first, the order of the window ends with the tables' keys. MariaDB has no RANGE frames
with distances that are intervals, refuses those below zero of unsigned columns, gives CUME_DIST and PERCENT_RANK with ten digits, and wants
an ORDER BY for ranks. Among several windows it forgets ORDER BY of a plain key or of the third, and the rows of some joins; so there are two,
keys are in an expression, and all is over one table or a derived one. Of row values it takes a NULL for all of the row in lists, none to be
unknown in IS NULL, and a value beyond the type of a NOT IN query's column for unequal to its NULLs.
"""
import random

from generator import Statement
from joins import JoinStatements

# Numbers that tell rows apart.
KEY = {'wide': 'id', 'texts': 'q', 'counted': 'id'}


class WindowStatements(JoinStatements):
    def __init__(self, seed):
        super().__init__(seed)
        self.random = random.Random(f'windows {seed}')

    def table(self):
        return self.pick('wide', 'texts', 'counted')

    def keys(self, relations):
        return [f'{alias}.{KEY[table]}' for alias, table in relations]

    def signed(self, relations):
        return self.random.choice([f'{alias}.{column}' for alias, table in relations for column in {'wide': ['id', 'ti', 'si', 'i', 'd']}.get(table, [KEY[table]])])

    def order(self, relations, whole):
        """ORDER BY; a whole one tells all rows apart."""
        column = self.column(relations, self.pick('n', 'n', 'd'))
        first = [column] if column and self.chance(.7) else []
        keys = [f'{key} + 0' for key in self.keys(relations)]
        if whole:
            first += keys
        return ', '.join(f"{key}{self.pick('', '', ' DESC')}" for key in first or keys[:1])

    def partition(self, relations):
        column = self.column(relations, self.pick('n', 'n', 'd'))
        return f'PARTITION BY {column} ' if column and self.chance(.6) else ''

    def window(self, relations, whole, frame=''):
        return f'({self.partition(relations)}ORDER BY {self.order(relations, whole)}{frame})'

    def rows_frame(self):
        near, far = sorted(self.random.sample(range(-4, 5), 2))
        bound = lambda number: 'CURRENT ROW' if number == 0 else f'{abs(number)} {"PRECEDING" if number < 0 else "FOLLOWING"}'
        return self.pick(
            f' ROWS BETWEEN {bound(near)} AND {bound(far)}',
            f' ROWS BETWEEN {bound(near)} AND {bound(far)}',
            f' ROWS {self.random.randint(0, 4)} PRECEDING',
            ' ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW',
            f' ROWS BETWEEN {bound(near)} AND UNBOUNDED FOLLOWING',
            ' ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING')

    def range_frame(self):
        r = self.random
        near, far = sorted(r.sample(range(-6, 7), 2))
        bound = lambda number: 'CURRENT ROW' if number == 0 else f'{abs(number)} {"PRECEDING" if number < 0 else "FOLLOWING"}'
        return self.pick(f' RANGE BETWEEN {bound(near)} AND {bound(far)}', f' RANGE {r.randint(0, 9)} PRECEDING', ' RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING')

    def aggregate(self, relations):
        number = self.column(relations, 'n')
        return self.pick(f'SUM({number})', f'COUNT({number})', 'COUNT(*)', f'AVG({number})', f'MIN({number})', f'MAX({number})', f'BIT_XOR({self.keys(relations)[0]})')

    def call(self, relations):
        number = self.column(relations, 'n')
        shape = self.random.random()
        if shape < .25:
            function = self.pick('RANK()', 'DENSE_RANK()', 'PERCENT_RANK()', 'CUME_DIST()')
            call = f'{function} OVER {self.window(relations, whole=False)}'
            return call if 'RANK()' in function and 'PERCENT' not in function else f'ROUND({call}, 5)'
        if shape < .45:
            r = self.random
            function = self.pick('ROW_NUMBER()', f'NTILE({r.randint(1, 5)})', f'LAG({number})', f'LEAD({number}, {r.randint(1, 3)})', f'LAG({number}, {r.randint(0, 2)})')
            return f'{function} OVER {self.window(relations, whole=True)}'
        if shape < .6:
            function = self.pick(f'FIRST_VALUE({number})', f'LAST_VALUE({number})', f'NTH_VALUE({number}, {self.random.randint(1, 4)})')
            return f'{function} OVER {self.window(relations, whole=True, frame=self.pick("", self.rows_frame()))}'
        if shape < .8:
            return f'{self.aggregate(relations)} OVER {self.window(relations, whole=True, frame=self.rows_frame())}'
        if shape < .88:
            return f"{self.aggregate(relations)} OVER ({self.partition(relations)}ORDER BY {self.signed(relations)} + 0{self.pick('', ' DESC')}{self.range_frame()})"
        if shape < .95:
            return f'{self.aggregate(relations)} OVER {self.window(relations, whole=False)}'
        return f'{self.aggregate(relations)} OVER ({self.partition(relations)})'

    def grouped(self, text, relations, conditions):
        number = self.column(relations, 'n')
        calls = f'SUM(COUNT(*)) OVER (ORDER BY {number}) AS total, RANK() OVER (ORDER BY COUNT(*) DESC) AS place'
        return Statement(f'SELECT {number} AS g, COUNT(*) AS n, {calls} FROM {text}{self.where(conditions)} GROUP BY {number}')

    def rollup(self, text, relations, conditions):
        """MariaDB has no GROUPING, and no total of no rows."""
        keys = list(dict.fromkeys(self.column(relations, 'n') for _ in range(self.pick(1, 2, 2, 3))))
        items = ', '.join(f'{key} AS g{number}' for number, key in enumerate(keys))
        having = self.pick('', '', f' HAVING COUNT(*) > {self.random.randint(1, 3)}')
        aggregates = f'{self.aggregate(relations)} AS a0, COUNT(DISTINCT {self.keys(relations)[0]}) AS a1'
        grouped = f'SELECT {items}, {aggregates}, COUNT(*) AS n FROM {text}{self.where(conditions)} GROUP BY {", ".join(keys)} WITH ROLLUP{having}'
        return Statement(f'SELECT * FROM ({grouped}) d WHERE n > 0') if having == '' else Statement(grouped)

    def rows(self, text, relations, conditions):
        """Row values: one beside another, in lists, and in queries."""
        one, other = (self.column(relations, 'n') for _ in range(2))
        table, inner = self.table(), self.alias()
        columns = ', '.join(self.column([(inner, table)], 'n') for _ in range(2))
        query = f'(SELECT {columns} FROM {table} {inner} WHERE {self.condition([(inner, table)])})'
        literals = lambda: f"({self.literal('n')}, {self.literal('n')})"
        condition = self.pick(
            lambda: f"({one}, {other}) {self.pick('=', '<>', '<', '<=', '>', '>=', '<=>')} {literals()}",
            lambda: f"({one}, {other}) IN ({literals()}, {literals()}, {literals()})",
            lambda: f"({one}, {other}) IN {query}")
        truth = self.pick('', '', '', ' IS NOT TRUE')
        return Statement(f"SELECT COUNT(*) AS n, SUM({one}) AS s FROM {text}{self.where([*conditions, f'(({condition}){truth})'])}")

    def statement(self):
        self.names = 0
        shape = self.random.random()
        text, relations, conditions = self.from_clause(1)
        if self.chance(.5):
            conditions.append(self.condition(relations))
        if shape < .1:
            return self.grouped(text, relations, conditions)
        if shape < .16:
            return self.rollup(text, relations, conditions)
        if shape < .24:
            return self.rows(text, relations, conditions)
        calls = [self.call(relations) for _ in range(self.pick(1, 1, 2))]
        keys = ', '.join(f'{key} AS k{number}' for number, key in enumerate(self.keys(relations)))
        where = self.where(conditions)
        if shape < .32:
            named = ' ROW_NUMBER() OVER w AS w1, COUNT(*) OVER (w ROWS UNBOUNDED PRECEDING) AS w2'
            return Statement(f'SELECT {keys}, {calls[0]} AS w0,{named} FROM {text}{where} WINDOW w AS {self.window(relations, whole=True)}')
        items = ', '.join(f'{call} AS w{number}' for number, call in enumerate(calls))
        body = f'SELECT {keys}, {items} FROM {text}{where}'
        if shape < .8:
            return Statement(body)
        if shape < .9:
            return Statement(f"SELECT COUNT(*) AS n, COUNT(d.w0) AS k, MAX(d.w0) AS m FROM ({body}) d WHERE d.w0 {self.pick('>', '<>', '<=')} {self.literal('n')}")
        order = ', '.join(f'k{number}' for number in range(len(relations)))
        return Statement(f'WITH c AS ({body}) SELECT * FROM c ORDER BY w0, {order} LIMIT {self.random.randint(1, 9)}', ordered=True)
