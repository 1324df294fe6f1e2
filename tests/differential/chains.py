"""SELECTs of one row of each of one to four tables by whole primary and unique keys, from a seed. They are prepared, mostly, and stand
between changes of the same rows, in transactions and outside of them: LatsDB answers most of them without its executor.
"""
from generator import Statement
from joins import JoinStatements

# Whole keys of one column, and what equals them.
KEYS = [('wide', 'id', 'n'), ('counted', 'id', 'n'), ('counted', 'p', 'n'), ('texts', 'q', 'n'), ('pair', 'n', 'n'), ('texts', 'k', 's'), ('texts', 'w', 's')]


class ChainStatements(JoinStatements):
    def __init__(self, seed):
        super().__init__(f'chains {seed}')

    def value(self, kind, parameters):
        """A literal, or a parameter."""
        literal = self.literal(kind)
        if self.chance(.2):
            return literal
        parameters.append(None if self.chance(.03) else int(literal) if kind == 'n' else literal.strip("'"))
        return '?'

    def condition_of(self, relation, parameters):
        kind = self.pick('n', 'n', 's')
        column = self.column([relation], kind)
        return f"{column} {self.pick('=', '<>', '>', '<=')} {self.value(kind, parameters)}" if column else f'{relation[0]}.{self.tellers[relation[1]]} IS NOT NULL'

    def select_statement(self):
        parameters, on_parameters = [], []
        table, column, kind = self.random.choice(KEYS)
        relations = [(self.alias(), table)]
        text = f'{table} {relations[0][0]}'
        for _ in range(self.pick(0, 0, 1, 1, 2, 3)):
            other, key, _ = self.random.choice([entry for entry in KEYS if entry[2] == 'n'])
            relation = (self.alias(), other)
            on = f'{relation[0]}.{key} = {self.small(self.random.choice(relations))}'
            if self.chance(.2):
                on += f' AND {self.condition_of(relation, on_parameters)}'
            text += f" {self.pick('JOIN', 'JOIN', 'LEFT JOIN')} {other} {relation[0]} ON {on}"
            relations.append(relation)
        where = [f'{relations[0][0]}.{column} = {self.value(kind, parameters)}']
        if self.chance(.3):
            where.append(self.condition_of(self.random.choice(relations), parameters))
        text = f'SELECT {self.items(relations)} FROM {text}{self.where(where)}'
        return Statement(text, parameters=on_parameters + parameters)

    def change_statement(self):
        r = self.random
        number, other = r.randint(0, 25), r.randint(0, 40)
        return Statement(self.pick(
            'BEGIN', 'COMMIT', f'UPDATE texts SET q = {other} WHERE q = {number}', f"UPDATE texts SET w = 'w{other}' WHERE q = {number}", f'UPDATE counted SET p = {other} WHERE id = {number}',
            f'UPDATE counted SET id = {other} WHERE id = {number}', f'UPDATE pair SET n = {other} WHERE n = {number}', f'DELETE FROM counted WHERE p = {number}', f'UPDATE wide SET ti = {number} WHERE id = {other}'))

    def statement(self):
        self.names = 0
        return self.select_statement() if self.chance(.8) else self.change_statement()
