"""Checks of one server against itself, from a seed: what must be equal whatever the rows are.

TLP (ternary logic partitioning, Rigger and Su 2020): the rows where p, those where NOT p and those where p IS NULL together are all rows.
NoREC (Rigger and Su 2020): as many rows are found WHERE p as a scan of all rows counts for which p IS TRUE; no index helps the scan.
Both find conditions that a plan handles wrongly, with no other server as a judge: p may be what MariaDB lacks or mistakes.

The third check adds indexes: a query that was answered without them has the same rows with them, and when they are gone again.
"""
import random

from generator import TABLES, Generator
from joins import JoinStatements

# Columns that may be indexed as they are.
INDEXED = {'wide': ['ti', 'tu', 'si', 'su', 'mi', 'mu', 'iu', 'bi', 'd', 'du', 'y', 'c', 'v', 'dt', 'dm', 'tm', 'st', 'bn', 's'],
           'pair': ['a', 'b', 'n', 'm', 'w', 'z'], 'texts': ['k', 'q', 'z', 'w'], 'counted': ['id', 'p', 'r']}


class LogicChecks:
    """Each check is a list of queries whose rows together must be those of the last one."""

    def __init__(self, seed, collation):
        self.random = random.Random(f'logic {seed}')
        self.generator, self.joins = Generator(f'logic {seed}', collation), JoinStatements(f'logic {seed}')

    def condition(self):
        """What stands in FROM, columns to show, and a condition over it."""
        if self.random.random() < .5:
            table = self.random.choice(list(TABLES))
            self.generator.marked.clear()
            p = self.generator.unmarked(self.generator.condition(table))
            return table, ', '.join(name for name, _, _ in TABLES[table][:4]), p
        joins = self.joins
        joins.names = 0
        text, relations, conditions = joins.from_clause(joins.pick(1, 2, 2, 3))
        # What stands in WHERE is as good as p; it stays where all three queries have it.
        self.fixed = conditions
        p = joins.subquery_condition(relations) if joins.chance(.5) else joins.condition(relations)
        if joins.chance(.4):
            p = f"({p} {joins.pick('AND', 'OR', 'XOR')} {joins.condition(relations)})"
        return text, joins.items(relations), p

    def where(self, *conditions):
        conditions = [*self.fixed, *conditions]
        return f" WHERE {' AND '.join(conditions)}" if conditions else ''

    def partition(self):
        """TLP: three queries, and the one without the condition."""
        self.fixed = []
        text, items, p = self.condition()
        if self.random.random() < .2:
            items = 'COUNT(*)'
        return [f'SELECT {items} FROM {text}{self.where(part)}' for part in (f'({p})', f'NOT ({p})', f'({p}) IS NULL')] + [f'SELECT {items} FROM {text}{self.where()}']

    def count(self):
        """NoREC: the same number twice."""
        self.fixed = []
        text, _, p = self.condition()
        return [f'SELECT COUNT(*) FROM {text}{self.where(f"({p})")}', f'SELECT COALESCE(SUM(({p}) IS TRUE), 0) FROM {text}{self.where()}']

    def indexes(self):
        """Statements that add some indexes, and those that drop them."""
        added, dropped = [], []
        for number in range(self.random.randint(2, 4)):
            table = self.random.choice(list(INDEXED))
            columns = self.random.sample(INDEXED[table], self.random.choice([1, 1, 2, 3]))
            added.append(f"CREATE INDEX added{number} ON {table} ({', '.join(columns)})")
            dropped.append(f'DROP INDEX added{number} ON {table}')
        return added, dropped


def together(answers):
    """The bag of rows of several answers; of counts, their sum."""
    rows = [row for answer in answers for row in answer.rows]
    if answers and all(len(answer.columns) == 1 and answer.columns[0].name == 'COUNT(*)' for answer in answers):
        return [(str(sum(int(row[0]) for row in rows)).encode(),)]
    return sorted(rows, key=repr)
