"""Views, from a seed, and SELECTs from them and the tables below: merged ones, grouped ones, unions, views of views.

A view's columns are called by what they are compared as (n0, n1, s0, d0). A view that groups or puts rows together has no texts: which of
texts that are equal is shown is left open.
"""
import random

from joins import COMPARED, KEYS, SHOWN, SMALL, JoinStatements

COUNT = 5


class ViewStatements(JoinStatements):
    def __init__(self, seed):
        super().__init__(seed)
        self.random = random.Random(f'views {seed}')
        self.views = []
        self.compared = {kind: dict(columns) for kind, columns in COMPARED.items()}
        self.smalls, self.tellers, self.shown = dict(SMALL), dict(KEYS), dict(SHOWN)

    def begin(self):
        """What makes the views; those that are made may be read by the next ones."""
        return [self.view(f'v{number}') for number in range(COUNT)]

    def end(self):
        return [f"DROP VIEW {', '.join(reversed(self.views))}"]

    def table(self):
        return self.random.choice(self.views) if self.views and self.chance(.6) else super().table()

    def statement(self):
        # MariaDB calls the aggregates of such a view those of the SUM around it (1111).
        while 'SUM((SELECT' in (made := super().statement()).text:
            pass
        return made

    def view(self, name):
        self.names = 0
        text, relations, conditions = self.from_clause(self.pick(1, 1, 2))
        if self.chance(.6):
            conditions.append(self.condition(relations))
        where = self.where(conditions)
        shape = self.random.random()
        numbers = [self.small(self.random.choice(relations)) for _ in range(2)]
        columns = {'n': ['n0', 'n1'], 's': [], 'd': []}
        if shape < .5:
            items = [f'{numbers[0]} AS n0', f'{numbers[1]} AS n1']
            for kind in 'sd':
                column = self.column(relations, kind)
                if column:
                    items.append(f'{column} AS {kind}0')
                    columns[kind] = [f'{kind}0']
            body = f"SELECT {', '.join(items)} FROM {text}{where}"
        elif shape < .7:
            body = f'SELECT {numbers[0]} AS n0, COUNT(*) AS n1 FROM {text}{where} GROUP BY {numbers[0]}'
        elif shape < .8:
            body = f'SELECT DISTINCT {numbers[0]} AS n0, {numbers[1]} AS n1 FROM {text}{where}'
        elif shape < .9:
            verb = self.pick('UNION', 'UNION ALL')
            other, more, conditions = self.from_clause(1)
            body = f'SELECT {numbers[0]} AS n0, {numbers[1]} AS n1 FROM {text}{where} {verb} SELECT {self.small(more[0])}, {self.small(more[0])} FROM {other}{self.where(conditions)}'
        else:
            body = f'SELECT {numbers[0]} + 1 AS n0, COALESCE({numbers[1]}, 3) AS n1 FROM {text}{where}'
        self.views.append(name)
        self.columns[name] = [column for some in columns.values() for column in some]
        for kind, some in columns.items():
            self.compared[kind][name] = some
        self.smalls[name], self.tellers[name], self.shown[name] = ['n0', 'n1'], 'n0', self.columns[name]
        return f'CREATE VIEW {name} AS {body}'
