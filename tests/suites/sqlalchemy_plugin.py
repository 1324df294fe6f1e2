"""What SQLAlchemy's suite leaves out of its tables and tests, as LatsDB lacks it yet: foreign keys, JSON."""

from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import ForeignKeyConstraint
from sqlalchemy.testing import exclusions
from test.requirements import DefaultRequirements


@compiles(ForeignKeyConstraint)
def without(constraint, compiler, **options):
    return None


ABSENT = ["json_type"]
for name in ABSENT:
    setattr(DefaultRequirements, name, property(lambda self: exclusions.closed()))
