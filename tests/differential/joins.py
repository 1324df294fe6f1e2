"""SELECTs of several tables, from a seed: joins, derived tables, subqueries, over the rows that the other statements have left.

Columns are named with their table, or are in one table only. What is compared is the bag of rows: joins leave their order open.
Comparisons of texts with numbers, and of texts of two tables where one is an ENUM or SET, are not made: both warn as often as the plan
compares. Doubles are not joined on.
"""
import random

from generator import TABLES, Statement

# Columns that may be joined on or compared, by what they are compared as.
COMPARED = {
    'n': {'wide': ['id', 'ti', 'tu', 'si', 'su', 'mi', 'i', 'iu', 'bi', 'bu', 'd', 'du'], 'pair': ['a', 'n', 'm', 'z'], 'texts': ['q'], 'counted': ['id', 'p']},
    's': {'wide': ['c', 'v', 'tt', 'tx'], 'pair': ['b', 'w'], 'texts': ['k', 'w'], 'counted': []},
    'd': {'wide': ['dt', 'dm', 'dm6'], 'pair': [], 'texts': ['z'], 'counted': []},
}
SMALL = {'wide': ['id', 'ti', 'i', 'tu', 'si'], 'pair': ['a', 'n', 'm'], 'texts': ['q'], 'counted': ['id', 'p']}
# A column of each that says most of a row.
KEYS = {'wide': 'id', 'pair': 'a', 'texts': 'q', 'counted': 'id'}
SHOWN = {'wide': ['id', 'ti', 'i', 'd', 'v', 'c', 'dt', 'dm', 'y', 'tm'], 'pair': ['a', 'b', 'n', 'm', 'w', 'z'], 'texts': ['k', 'q', 'z', 'w'], 'counted': ['id', 'p', 'r']}


class JoinStatements:
    # How many conditions of ON have a subquery.
    on_subqueries = 0

    def __init__(self, seed):
        self.random = random.Random(f'joins {seed}')
        self.names = 0
        # How many subqueries are around what is made.
        self.depth = 0
        # The columns of relations, by relation.
        self.columns = {table: [name for name, _, _ in columns] for table, columns in TABLES.items()}
        self.compared, self.smalls, self.tellers, self.shown = COMPARED, SMALL, KEYS, SHOWN

    def pick(self, *options):
        chosen = self.random.choice(options)
        return chosen() if callable(chosen) else chosen

    def chance(self, probability):
        return self.random.random() < probability

    def table(self):
        return self.pick('wide', 'pair', 'texts', 'counted')

    def alias(self):
        self.names += 1
        return f't{self.names}'

    def column(self, relations, kind):
        """A column of one of the relations: (alias, table)."""
        found = [f'{alias}.{column}' for alias, table in relations for column in self.compared[kind][table]]
        return self.random.choice(found) if found else None

    def small(self, relation):
        return f'{relation[0]}.{self.random.choice(self.smalls[relation[1]])}'

    def literal(self, kind):
        r = self.random
        if kind == 'n':
            return str(self.pick(r.randint(-3, 25), r.randint(0, 9), r.randint(0, 40)))
        if kind == 's':
            return "'" + self.pick('a', 'b', 'abc', 'x', 'dflt', 'k3', 'z', 'zz') + "'"
        return "'" + self.pick('2024-02-29', '1999-12-31', '2024-05-05 12:34:56') + "'"

    def condition(self, relations, outer=()):
        """Over one relation or over several, and perhaps over one of an outer query."""
        kind = self.pick('n', 'n', 'n', 's', 'd')
        left = self.column(relations, kind)
        if left is None:
            return self.condition(relations, outer)
        if outer and self.chance(.8):
            right = self.column(outer, kind)
            if right is not None:
                return f"{left} {self.pick('=', '=', '=', '<', '>=')} {right}"
        right = self.column(relations, kind)
        return self.pick(
            f'{left} = {right}', f"{left} {self.pick('<', '>=', '<>', '<=>')} {self.literal(kind)}", f'{left} IS NULL', f'{left} IS NOT NULL',
            f'{left} IN ({self.literal(kind)}, {self.literal(kind)}, {self.literal(kind)})', f'{left} BETWEEN {self.literal(kind)} AND {self.literal(kind)}')

    def on(self, left, right, is_equal=False):
        """Most often an equality of the two sides; always one if it is to leave few rows."""
        kind = self.pick('n', 'n', 'n', 'n', 's', 'd')
        one, other = self.column(left, kind), self.column(right, kind)
        if one is None or other is None:
            kind = 'n'
            one, other = self.column(left, kind), self.column(right, kind)
        if self.chance(.5):
            one, other = self.small(self.random.choice(left)), self.small(self.random.choice(right))
        # MariaDB reads a unique column that is <=> NULL as if one row had it at most.
        is_unique = any(side.endswith('.n') for side in (one, other))
        made = f"{one} {'=' if is_equal or is_unique else self.pick('=', '=', '=', '=', '=', '<=>', '<', '<>')} {other}"
        if self.chance(0 if is_equal else .1):
            made = f"({made} OR {self.small(self.random.choice(left))} = {self.small(self.random.choice(right))})"
        if self.chance(.3):
            made += f' AND {self.condition(left + right)}'
        if self.chance(.12):
            # An OR whose branches all have the condition, and one whose branches say something of each side.
            made = self.pick(
                lambda: f'({made} AND {self.condition(left + right)} OR {self.condition(left + right)} AND {made})',
                lambda: f'{made} AND ({self.condition(left)} AND {self.condition(right)} OR {self.condition(right)} AND {self.condition(left)})')
        return made

    def factor(self):
        """A table or a query in FROM: its text and what it is called."""
        table, alias = self.table(), self.alias()
        if self.chance(.8):
            return f'{table} {alias}', [(alias, table)]
        inner = self.alias()
        where = f' WHERE {self.condition([(inner, table)])}' if self.chance(.7) else ''
        columns = ', '.join(f'{inner}.{name}' for name in self.columns[table])
        return f'(SELECT {columns} FROM {table} {inner}{where}) {alias}', [(alias, table)]

    def from_clause(self, most=3):
        text, relations = self.factor()
        conditions = []
        count = self.random.randint(1, most - 1) if most > 1 else 0
        if most > 2 and self.chance(.2):
            count = self.random.randint(3, 5)
        for _ in range(count):
            other, more = self.nested() if self.chance(.1) else self.factor()
            verb = self.pick('JOIN', 'JOIN', 'JOIN', 'STRAIGHT_JOIN', 'LEFT JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'CROSS JOIN', ',')
            on = self.on(relations, more, count > 2)
            if self.may_ask_in_on():
                on = self.on_subquery(on, relations, more)
            if verb in ('CROSS JOIN', ','):
                conditions.append(on)
                text = f'{text} CROSS JOIN {other}' if verb == 'CROSS JOIN' or not relations[1:] else f'({text}) JOIN {other}'
            else:
                text = f'{text} {verb} {other} ON {on}'
            relations = relations + more
        if self.chance(.3):
            # A table that is worth to begin with, wherever it stands.
            alias, table = self.random.choice(relations)
            conditions.append(f"{alias}.{self.tellers[table]} {self.pick('=', '=', 'IN')} ({self.literal('n')})")
        return text, relations, conditions

    def may_ask_in_on(self):
        return not self.depth and self.on_subqueries and self.chance(self.on_subqueries)

    def on_subquery(self, on, left, right):
        """ON with a subquery, which names one side or both; or the last row of those that belong together."""
        if self.chance(.3):
            alias, table = self.random.choice(right)
            inner, key = self.alias(), self.tellers[table]
            like = f'{inner}.{self.random.choice(self.smalls[table])} = {self.small(self.random.choice(left))}'
            item = self.pick(f'MAX({inner}.{key})', f'MIN({inner}.{key})', f'{inner}.{key}')
            last = '' if '(' in item else f" ORDER BY {inner}.{key} {self.pick('', 'DESC')} LIMIT 1"
            value = f'{alias}.{key} = (SELECT {item} FROM {table} {inner} WHERE {like}{last})'
            return self.pick(value, f'{on} AND {value}')
        made = self.subquery_condition(self.pick(left, right, left + right))
        return self.pick(f'{on} AND {made}', f'{on} AND {made}', f'({on} OR {made})')

    def inner_from(self):
        """FROM of a subquery. It has none in ON: MariaDB says 1140 of some aggregates beside such."""
        self.depth += 1
        made = self.from_clause(self.pick(1, 1, 1, 2))
        self.depth -= 1
        return made

    def nested(self):
        """Two tables that are joined in parentheses."""
        (one, left), (other, right) = self.factor(), self.factor()
        verb, on = self.pick('JOIN', 'LEFT JOIN'), self.on(left, right, True)
        if self.may_ask_in_on():
            on += f' AND {self.subquery_condition(self.pick(left, right, left + right))}'
        return f'({one} {verb} {other} ON {on})', left + right

    def select(self):
        """The order of the text is kept now and then."""
        return 'SELECT STRAIGHT_JOIN' if self.chance(.1) else 'SELECT'

    def items(self, relations):
        shown = [f'{alias}.{column}' for alias, table in relations for column in self.shown[table]]
        return ', '.join(f'{item} AS c{number}' for number, item in enumerate(self.random.sample(shown, min(len(shown), self.random.randint(1, 4)))))

    def where(self, conditions):
        return f" WHERE {' AND '.join(conditions)}" if conditions else ''

    def query(self, outer, kind, aggregate=False):
        """A subquery of one column: of this kind, or an aggregate."""
        text, relations, conditions = self.inner_from()
        column = self.column(relations, kind)
        if column is None:
            return self.query(outer, kind, aggregate)
        if outer and self.chance(.4):
            # Such as can be joined: equal to something of the row around it.
            kinds = [kind for kind in 'nnsd' if self.column(relations, kind) and self.column(outer, kind)]
            for kind in self.random.sample(kinds, min(len(kinds), self.pick(1, 1, 2))):
                sides = [self.column(relations, kind), self.column(outer, kind)]
                conditions.append(' = '.join(self.random.sample(sides, 2)))
        elif self.chance(.7):
            conditions.append(self.condition(relations, outer if self.chance(.7) else ()))
        item = self.pick(f'MAX({column})', f'MIN({column})', f'COUNT({column})', 'COUNT(*)', f'SUM({column})', f'COUNT(*) + 0.5 + MAX({column})', f'COALESCE(MIN({column}), -1)') if aggregate else column
        return f'(SELECT {item} FROM {text}{self.where(conditions)})'

    def subquery_condition(self, relations):
        # MariaDB forgets NULLs where a DATETIME is NOT IN dates.
        kind = self.pick('n', 'n', 'n', 's')
        column = self.column(relations, kind)
        if column is None:
            return self.subquery_condition(relations)
        made = self.pick(
            lambda: f"{column} {self.pick('IN', 'IN', 'NOT IN')} {self.query(relations, kind)}",
            lambda: f"{self.pick('', 'NOT ')}EXISTS {self.query(relations, kind)}",
            lambda: f"{self.pick('', 'NOT ')}EXISTS {self.query(relations, kind)[:-1]} LIMIT {self.pick(1, 1, 0)})",
            lambda: f"{self.small(relations[0])} = {self.query(self.pick((), relations), 'n', True)}",
            lambda: f"{self.column(relations, 'n') or '1'} {self.pick('=', '<', '>=', '<>')} {self.query(relations, 'n', True)}",
            lambda: f"{column} {self.pick('=', '<', '>=', '<>', '>')} {self.pick('ANY', 'ALL')} {self.query(relations, kind)}")
        # MariaDB takes NULL of a quantified comparison for FALSE below IS NULL (known difference null-of-any).
        tests = ('IS TRUE',) if ' ANY (' in made or ' ALL (' in made else ('IS NULL', 'IS NOT TRUE', 'IS TRUE')
        return f'({made}) {self.pick(*tests)}' if self.chance(.15) else f'({made})' if self.chance(.3) else made

    def with_subquery(self):
        text, relations, conditions = self.from_clause(self.pick(1, 1, 2))
        where = [*conditions, *([self.condition(relations)] if self.chance(.4) else [])]
        shape = self.random.random()
        if shape < .5:
            where.extend(self.subquery_condition(relations) for _ in range(self.pick(1, 1, 2)))
            if self.chance(.3):
                where[-1] = f'({where[-1]} OR {self.condition(relations)})'
            return Statement(f'SELECT {self.items(relations)} FROM {text}{self.where(where)}')
        if shape < .75:
            return Statement(f"SELECT {self.items(relations)}, {self.query(relations, 'n', True)} AS sub FROM {text}{self.where(where)}")
        if shape < .85:
            return Statement(f"SELECT COUNT(*) AS cnt, SUM({self.query(relations, 'n', True)}) AS total FROM {text}{self.where(where)}")
        group = self.small(self.random.choice(relations))
        return Statement(f"SELECT {group} AS grp, COUNT(*) AS cnt FROM {text}{self.where(where)} GROUP BY {group} HAVING COUNT(*) >= {self.query((), 'n', True)} OR COUNT(*) < 3")

    def statement(self):
        self.names = 0
        if self.chance(.45):
            return self.with_subquery()
        text, relations, conditions = self.from_clause()
        for _ in range(self.random.choice([0, 0, 1, 1, 2])):
            conditions.append(self.condition(relations))
        where = self.where(conditions)
        shape = self.random.random()
        if shape < .5:
            if self.chance(.2):
                # Which of texts that are equal is shown is left open.
                return Statement(f"SELECT DISTINCT {self.small(relations[0])} AS c0, {self.small(relations[-1])} AS c1 FROM {text}{where}")
            return Statement(f"{self.select()} {self.items(relations)} FROM {text}{where}")
        if shape < .6:
            return Statement(f'{self.select()} COUNT(*) AS n FROM {text}{where}')
        if shape < .8:
            group, counted = self.small(self.random.choice(relations)), self.small(self.random.choice(relations))
            having = self.pick('', '', ' HAVING COUNT(*) > 1', ' HAVING cnt > 1')
            return Statement(f'SELECT {group} AS grp, COUNT(*) AS cnt, COUNT({counted}) AS k, MIN({counted}) AS low, SUM({counted}) AS total FROM {text}{where} GROUP BY {group}{having}')
        if shape < .9:
            first = relations[0]
            keys = {**self.tellers, 'texts': 'k'}[first[1]]
            return Statement(f'SELECT MAX({self.small(first)}) AS m, {first[0]}.{keys} AS k FROM {text}{where} GROUP BY {first[0]}.{keys} ORDER BY 2 DESC, 1')
        common = self.pick(('pair', 'texts', 'w'), ('texts', 'pair', 'z'), ('wide', 'counted', 'id'), ('counted', 'wide', 'id'))
        join = self.pick('JOIN {} USING ({})', 'LEFT JOIN {} USING ({})', 'RIGHT JOIN {} USING ({})').format(common[1], common[2])
        what = self.pick('*', common[2], f'{common[2]}, {common[0]}.{common[2]} AS one, {common[1]}.{common[2]} AS other')
        if 'z' == common[2]:
            return Statement(f'SELECT COUNT(*) AS n FROM texts JOIN pair ON texts.q = pair.n')
        return Statement(f'SELECT {what} FROM {common[0]} {join}')


class OnStatements(JoinStatements):
    """The same with subqueries in ON."""
    on_subqueries = .5

    def __init__(self, seed):
        super().__init__(seed)
        self.random = random.Random(f'on {seed}')
