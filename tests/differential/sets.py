"""Queries made of queries, from a seed: UNION, INTERSECT, EXCEPT, common table expressions, also recursive ones.

Columns that are compared are numbers and dates: which of texts that are equal is shown is left open, so texts are in UNION ALL only.
"""
import random

from generator import Statement
from joins import JoinStatements


class SetStatements(JoinStatements):
    def __init__(self, seed):
        super().__init__(seed)
        self.random = random.Random(f'sets {seed}')

    def part(self, kinds):
        """A SELECT with a column of each kind."""
        text, relations, conditions = self.from_clause(self.pick(1, 1, 1, 2))
        columns = [self.column(relations, kind) for kind in kinds]
        if None in columns:
            return self.part(kinds)
        if self.chance(.6):
            conditions.append(self.condition(relations))
        items = ', '.join(f'{column} AS c{number}' for number, column in enumerate(columns))
        return f"SELECT {self.pick('', '', '', 'DISTINCT ')}{items} FROM {text}{self.where(conditions)}"

    def operation(self, kinds, depth=1):
        """Parts and what is made of them."""
        verbs = ['UNION ALL'] if 's' in kinds else ['UNION', 'UNION', 'UNION ALL', 'UNION DISTINCT', 'INTERSECT', 'EXCEPT', 'INTERSECT ALL', 'EXCEPT ALL']
        text = self.operand(kinds, depth)
        for _ in range(self.pick(1, 1, 2, 3)):
            text += f' {self.random.choice(verbs)} {self.operand(kinds, depth)}'
        return text

    def operand(self, kinds, depth):
        if depth and self.chance(.2):
            return f'({self.operation(kinds, depth - 1)})'
        part = self.part(kinds)
        if self.chance(.15):
            order = ', '.join(str(number + 1) for number in range(len(kinds)))
            return f'({part} ORDER BY {order} LIMIT {self.random.randint(0, 6)})'
        return f'({part})' if self.chance(.3) else part

    def kinds(self):
        return self.pick(['n'], ['n'], ['n', 'n'], ['n', 'd'], ['d'], ['s'], ['n', 's'])

    def comparable(self):
        return self.pick(['n'], ['n', 'n'], ['n', 'd'])

    def set_statement(self):
        shape = self.random.random()
        if shape < .35:
            return Statement(self.operation(self.kinds()))
        kinds = self.comparable()
        operation = self.operation(kinds)
        if shape < .6:
            order = ', '.join(f"{self.pick(number + 1, f'c{number}')}{self.pick('', ' DESC')}" for number in range(len(kinds)))
            limit = self.pick('', f' LIMIT {self.random.randint(0, 8)}', f' LIMIT {self.random.randint(1, 5)} OFFSET {self.random.randint(0, 4)}')
            return Statement(f'{operation} ORDER BY {order}{limit}', ordered=True)
        if shape < .8:
            return Statement(f'SELECT COUNT(*) AS n, COUNT(d.c0) AS k, MAX(d.c0) AS m FROM ({operation}) d')
        text, relations, conditions = self.from_clause(1)
        column = self.column(relations, 'n')
        if column is None:
            return self.set_statement()
        inner = self.operation(['n'])
        return Statement(f"SELECT COUNT(*) AS n FROM {text} WHERE {column} {self.pick('IN', 'NOT IN')} ({inner})")

    def with_statement(self):
        kinds = self.comparable()
        body = self.pick(lambda: self.part(kinds), lambda: self.operation(kinds))
        shape = self.random.random()
        if shape < .3:
            return Statement(f'WITH a AS ({body}) SELECT * FROM a')
        if shape < .5:
            return Statement(f'WITH a AS ({body}) SELECT COUNT(*) AS n, MIN(x.c0) AS m FROM a x JOIN a y ON x.c0 = y.c0')
        if shape < .7:
            text, relations, conditions = self.from_clause(1)
            column = self.column(relations, 'n')
            if column is None:
                return self.with_statement()
            return Statement(f"WITH a AS ({body}) SELECT COUNT(*) AS n FROM {text} WHERE {column} {self.pick('IN', 'NOT IN')} (SELECT c0 FROM a) OR {column} > (SELECT MIN(c0) FROM a)")
        if shape < .85:
            names = ', '.join(f'k{number}' for number in range(len(kinds)))
            return Statement(f'WITH a ({names}) AS ({body}), b AS (SELECT k0 FROM a WHERE k0 > {self.literal("n")}) SELECT k0 FROM b UNION ALL SELECT k0 FROM a')
        return Statement(f'SELECT * FROM (WITH a AS ({body}) SELECT c0 FROM a UNION SELECT c0 FROM a) d')

    def recursive_statement(self):
        r = self.random
        table, alias = self.table(), self.alias()
        column = f"{alias}.{r.choice({'wide': ['id', 'ti', 'i'], 'pair': ['a', 'n'], 'texts': ['q'], 'counted': ['id', 'p']}[table])}"
        first = f"SELECT {column}, 0 FROM {table} {alias} WHERE {column} {self.pick('<', '>')} {self.literal('n')}"
        rounds = r.randint(1, 5)
        step = self.pick(f'n + {r.randint(1, 3)}', 'n * 2', '-n', 'n')
        verb = self.pick('UNION ALL', 'UNION ALL', 'UNION')
        what = self.pick('COUNT(*) AS cnt, SUM(n) AS total, MAX(depth) AS deep', '*', 'DISTINCT n, depth')
        if self.chance(.4):
            # Along the rows of a table.
            kin = self.alias()
            edges = f'SELECT {kin}.a, depth + 1 FROM r JOIN pair {kin} ON {kin}.n = r.n WHERE depth < {rounds}'
            return Statement(f'WITH RECURSIVE r (n, depth) AS ({first} {verb} {edges}) SELECT COUNT(*) AS cnt, SUM(n) AS total FROM r')
        return Statement(f'WITH RECURSIVE r (n, depth) AS ({first} {verb} SELECT {step}, depth + 1 FROM r WHERE depth < {rounds}) SELECT {what} FROM r')

    def statement(self):
        self.names = 0
        return self.pick(self.set_statement, self.set_statement, self.with_statement, self.recursive_statement)
