"""SELECTs of tables whose columns differ in type and collation, from a seed: what is joined or compared is converted on the way.

Texts have four collations or none, as bytes; one COLLATE at most decides over them in a statement, and where none
does, both servers refuse the same mixtures. Numbers are compared with texts, with doubles, and with each other beyond what a double
tells apart (no double is that large: MariaDB makes an integer of one that it looks up). The tables are small and full of NULLs and of
values that are equal in some collations or types only.
"""
import random
import re

from generator import WORDS, Statement
from joins import JoinStatements

NAMES = ['m0', 'm1', 'm2']
COLLATIONS = ['utf8mb4_bin', 'utf8mb4_general_ci', 'utf8mb4_0900_ai_ci', 'utf8mb4_unicode_ci']
TEXTS = ['sb', 'sg', 'sn', 'su']
NUMBERS = ['id', 'i', 'bi', 'bu', 'd', 'f']
COLUMNS = ['id INT PRIMARY KEY', 'i INT', 'bi BIGINT', 'bu BIGINT UNSIGNED', 'd DECIMAL(22,2)', 'f DOUBLE',
           *(f'{name} VARCHAR(12) COLLATE {collation}' for name, collation in zip(TEXTS, COLLATIONS)),
           'x VARBINARY(12)', 'e ENUM(\'a\',\'12\',\'b\') COLLATE utf8mb4_general_ci', 'dt DATE', 'dm DATETIME', 'sd VARCHAR(12) COLLATE utf8mb4_bin']
# Each table is looked up by other columns.
INDEXES = [', KEY (sg), KEY (i), KEY (bu), KEY (dt)', ', KEY (sn, i), KEY (bi), KEY (d), KEY (x)', ', KEY (sb), KEY (su), KEY (f), KEY (dm)']
# Neighbours that one double stands for, and the ends of types.
LARGE = ['9007199254740992', '9007199254740993', '9223372036854775807', '9223372036854775806']
DATES = ['2024-02-29', '1999-12-31', '2024-05-05']


class MixedStatements(JoinStatements):
    def __init__(self, seed):
        super().__init__(seed)
        self.random = random.Random(f'mixed {seed}')
        every = lambda names: dict.fromkeys(NAMES, names)
        self.columns = every([column.partition(' ')[0] for column in COLUMNS])
        self.compared = {'n': every(NUMBERS), 's': every([*TEXTS, 'x', 'e']), 'd': every(['dt', 'dm', 'sd'])}
        self.smalls, self.tellers, self.shown = every(['id', 'i']), every('id'), every(NUMBERS)
        self.is_pure, self.collation = False, None

    def begin(self):
        made = [f"CREATE TABLE {name} ({', '.join(COLUMNS)}{indexes})" for name, indexes in zip(NAMES, INDEXES)]
        return made + [f"INSERT INTO {name} VALUES {', '.join(self.row(number) for number in range(self.random.randint(1, 40)))}" for name in NAMES]

    def end(self):
        return [f"DROP TABLE {', '.join(NAMES)}"]

    def row(self, number):
        r = self.random
        small = lambda: str(r.randint(-3, 15))
        number_of = lambda *more: r.choice(['NULL', small(), small(), small(), *more])
        text = lambda: self.pick('NULL', *[f"'{self.pick(r.choice(WORDS), r.choice(WORDS), small())}'" for _ in range(5)])
        date = lambda: self.pick('NULL', *[f"'{date}'" for date in DATES])
        # least-of-unsigned: none that would be negative with a sign.
        unsigned = r.choice(['NULL', str(r.randint(0, 15)), *LARGE])
        values = [str(number), number_of(), number_of(*LARGE), unsigned, number_of('1.50', '12.00', *LARGE[:2]), number_of('1.5', '1e2'),
                  *(text() for _ in range(5)), r.choice(['NULL', "'a'", "'12'", "'b'"]), date(), date(), date()]
        return f"({', '.join(values)})"

    def table(self):
        return self.random.choice(NAMES)

    def column(self, relations, kind):
        """A number may be a text, unless it is shown: which of texts that are equal is left open. It is no ENUM (enum-in-numbers)."""
        if kind == 'n' and not self.is_pure and self.chance(.15):
            return f"{self.random.choice(relations)[0]}.{self.random.choice(TEXTS)}"
        made = super().column(relations, kind)
        is_collated = kind == 's' and not made.endswith('.x') and self.chance(.6)
        return f'{made} COLLATE {self.collation}' if is_collated else made

    def query(self, outer, kind, aggregate=False):
        """A subquery of one column: of this kind, or an aggregate."""
        text, relations, conditions = self.inner_from()
        if self.chance(.8):
            conditions.append(self.condition(relations, outer))
        before, self.is_pure = self.is_pure, aggregate
        column = re.sub(r'^t\d+\.s[gnu]$', r'CONCAT(\g<0>)', self.column(relations, kind))  # index-of-other-collation
        self.is_pure = before
        item = self.pick(f'MAX({column})', f'MIN({column})', f'COUNT({column})', 'COUNT(*)', f'COALESCE(MIN({column}), -1)') if aggregate else column
        return f'(SELECT {item} FROM {text}{self.where(conditions)})'

    def subquery_condition(self, relations):
        """ANY and ALL compare a column with the same one (least-of-unsigned, least-of-texts)."""
        same = r'\(*t\d+\.(\w+)( COLLATE \w+)? \S+ (ANY|ALL) \(SELECT t\d+\.\1 '
        while re.search(' (ANY|ALL) ', made := super().subquery_condition(relations)) and not re.match(same, made):
            pass
        return made

    def on(self, left, right, is_equal=False):
        """Columns of different kinds, now and then."""
        if self.chance(.7):
            return super().on(left, right, is_equal)
        kinds = self.pick(('n', 's'), ('s', 'n'), ('s', 's'), ('n', 'n'))
        sides = [self.column(relations, kind).partition(' ' if 'n' in kinds else '\0')[0] for relations, kind in zip((left, right), kinds)]
        return f"{sides[0]} {'=' if is_equal else self.pick('=', '=', '=', '<=>', '<')} {sides[1]}"

    def by_text(self):
        """Groups of texts that a collation calls equal."""
        text, relations, conditions = self.from_clause(2)
        group, counted, alias = self.column(relations, 's'), self.column(relations, 's'), relations[0][0]
        what = f'COUNT(*) AS n, MIN({alias}.id) AS k, COUNT(DISTINCT {counted}) AS m'
        return Statement(f'SELECT {what} FROM {text}{self.where(conditions)} GROUP BY {group}')

    def statement(self):
        self.names, self.collation = 0, self.random.choice(COLLATIONS)
        if self.chance(.1):
            return self.by_text()
        while ' USING ' in (made := super().statement()).text or ' texts ' in made.text:
            pass
        return made
