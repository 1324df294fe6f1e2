"""Queries made of queries, from a seed: UNION, INTERSECT, EXCEPT, common table expressions, also recursive ones.

Columns that are compared are numbers and dates: which of texts that are equal is shown is left open, so texts are in UNION ALL only, without DISTINCT and LIMIT.
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
        distinct = self.pick('', '', '', 'DISTINCT ')
        return f"SELECT {'' if 's' in kinds else distinct}{items} FROM {text}{self.where(conditions)}"

    def operation(self, kinds, depth=1):
        """Parts and what is made of them. MariaDB mistakes INTERSECT ALL and EXCEPT ALL beside others, or does not come back: they stand alone."""
        if 's' not in kinds and self.chance(.15):
            return f"{self.part(kinds)} {self.pick('INTERSECT ALL', 'EXCEPT ALL')} {self.part(kinds)}"
        verbs = ['UNION ALL'] if 's' in kinds else ['UNION', 'UNION', 'UNION ALL', 'UNION DISTINCT', 'INTERSECT', 'EXCEPT']
        text = self.operand(kinds, depth)
        for _ in range(self.pick(1, 1, 2, 3)):
            text += f' {self.random.choice(verbs)} {self.operand(kinds, depth)}'
        return text

    def operand(self, kinds, depth):
        if depth and self.chance(.2):
            nested = self.operation(kinds, depth - 1)
            return self.part(kinds) if 'INTERSECT ALL' in nested or 'EXCEPT ALL' in nested else f'({nested})'
        part = self.part(kinds)
        if self.chance(.15):
            order = ', '.join(str(number + 1) for number in range(len(kinds)))
            limit = f' LIMIT {self.random.randint(0, 6)}'
            return f"({part} ORDER BY {order}{'' if 's' in kinds else limit})"
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
        # MariaDB has no LIMIT there, and forgets rows where what is IN is made by INTERSECT and EXCEPT.
        inner = f" {self.pick('UNION', 'UNION ALL')} ".join(self.part(['n']) for _ in range(self.pick(2, 3)))
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

    def outer_aggregate(self):
        """Aggregates in a subquery that are those of the query around it."""
        limit = self.random.randint(1, 40)
        return Statement(self.pick(
            f"SELECT (SELECT SUM(w.id)) AS s FROM wide w WHERE w.id < {limit}",
            f"SELECT w.ti AS t, (SELECT COUNT(*) FROM counted c WHERE c.id < MAX(w.id)) AS n FROM wide w GROUP BY w.ti",
            f"SELECT w.ti AS t, (SELECT MAX(w.id) + MIN(c.id) FROM counted c) AS n FROM wide w WHERE w.id > {limit} GROUP BY w.ti",
            f"SELECT p.a AS a FROM pair p GROUP BY p.a HAVING EXISTS (SELECT 1 FROM wide w WHERE w.id = COUNT(p.b) + {limit % 9})",
            f"SELECT p.a AS a FROM pair p GROUP BY p.a ORDER BY (SELECT COUNT(*) FROM wide w WHERE w.id < SUM(p.m)), 1"))

    def statement(self):
        self.names = 0
        return self.pick(self.set_statement, self.set_statement, self.with_statement, self.recursive_statement, self.outer_aggregate)


class ChangeStatements(JoinStatements):
    """Changes of rows that a query finds. Each row that is changed is found with one value only, whatever the order."""

    def __init__(self, seed):
        super().__init__(seed)
        self.random = random.Random(f'changes {seed}')

    def insert(self):
        r = self.random
        verb, tail = self.pick(('INSERT INTO', ''), ('INSERT IGNORE INTO', ''), ('REPLACE INTO', ''), ('INSERT INTO', ' ON DUPLICATE KEY UPDATE z = z + 1'))
        key = f'q{r.randint(0, 5)}'
        source = self.pick(
            f"SELECT id, '{key}', 1.5 FROM wide WHERE id {self.pick('<', '>', '=')} {r.randint(1, 40)}",
            f"SELECT MAX(a) + {r.randint(1, 9)}, '{key}', COUNT(*) FROM pair GROUP BY m",
            f"SELECT w.id, '{key}', 2 FROM wide w JOIN counted c ON c.id = w.id WHERE c.id < {r.randint(1, 30)}",
            f"SELECT {r.randint(1, 50)}, '{key}', 3 UNION SELECT {r.randint(1, 50)}, '{key}', 4 ORDER BY 3",
            f"WITH s AS (SELECT id FROM wide WHERE id < {r.randint(1, 20)}) SELECT id, '{key}', 0 FROM s")
        if self.chance(.2):
            return Statement(f"INSERT INTO pair (a, b, z) SELECT w.id, '{key}', 1.5 FROM wide w WHERE w.id < {r.randint(1, 40)} ON DUPLICATE KEY UPDATE z = pair.z + w.id, m = w.id + VALUES(a)")
        if 'GROUP BY' in source and (tail or 'REPLACE' in verb or 'IGNORE' in verb):
            # Rows with one key would come in an order that is left open.
            return self.insert()
        return Statement(f'{verb} pair (a, b, z) {source}{tail}')

    def update(self):
        r = self.random
        limit = r.randint(1, 40)
        return Statement(self.pick(
            f"UPDATE wide w JOIN counted c ON c.id = w.id SET w.mi = w.id + c.id WHERE w.id < {limit}",
            f"UPDATE wide w, counted c SET w.mu = c.id % 50, c.r = '{self.pick('x', 'y')}' WHERE c.id = w.id AND w.id > {limit}",
            f"UPDATE wide w LEFT JOIN counted c ON c.id = w.id SET w.si = {r.randint(0, 9)} WHERE c.id IS NULL AND w.id < {limit}",
            f"UPDATE wide SET mi = (SELECT COUNT(*) FROM pair p WHERE p.a = wide.id) WHERE id < {limit}",
            f"UPDATE wide SET mu = {r.randint(0, 99)} WHERE id IN (SELECT a FROM pair WHERE m < {limit})",
            f"UPDATE pair SET m = m + 1 WHERE EXISTS (SELECT 1 FROM wide w WHERE w.id = pair.a AND w.id > {limit})",
            f"UPDATE pair p JOIN pair q ON q.a = p.a SET p.m = {limit}, q.z = 2 WHERE p.b = 'q1' AND q.b = '{self.pick('q1', 'q2')}'",
            f"UPDATE IGNORE pair SET b = 'q3' WHERE b = 'q4' AND a IN (SELECT id FROM wide WHERE id < {limit})",
            f"UPDATE pair SET z = (SELECT COUNT(*) FROM counted) WHERE a = (SELECT MIN(id) FROM wide)",
            f"UPDATE wide SET si = {r.randint(0, 9)} WHERE mi >= (SELECT AVG(m) FROM pair) ORDER BY id LIMIT {r.randint(1, 5)}"))

    def delete(self):
        limit = self.random.randint(1, 60)
        return Statement(self.pick(
            f"DELETE p FROM pair p JOIN wide w ON w.id = p.a WHERE w.id > {limit}",
            f"DELETE FROM p USING pair p LEFT JOIN wide w ON w.id = p.a WHERE w.id IS NULL AND p.a > {limit}",
            f"DELETE FROM pair WHERE a IN (SELECT id FROM counted WHERE id > {limit})",
            f"DELETE FROM pair WHERE NOT EXISTS (SELECT 1 FROM wide w WHERE w.id = pair.a) AND a > {limit}",
            f"DELETE p, q FROM pair p JOIN pair q ON q.a = p.a WHERE p.b = 'q1' AND q.b = '{self.pick('q1', 'q2')}' AND p.a > {limit}",
            f"DELETE w, p FROM wide w JOIN pair p ON p.a = w.id WHERE p.b = 'q{self.random.randint(0, 5)}' AND w.id > {limit}"))

    def statement(self):
        self.names = 0
        return self.pick(self.insert, self.insert, self.update, self.update, self.update, self.delete)
