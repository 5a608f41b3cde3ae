"""UNION, INTERSECT and EXCEPT: of rows, which compare those of one person, and of answers."""

from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.plan import relations as rel
from discreet.plan.calendar import EPOCH
from discreet.plan.expressions import Column, Expression, Function, Literal, call
from discreet.plan.kinds import Kind, Value
from discreet.sql.reader.constant_tables import stack_listed
from discreet.sql.reader.refusals import SET_OPERATION, said
from discreet.sql.reader.released_select import stack_answers
from discreet.sql.reader.released_tables import program_of
from discreet.sql.reader.select_list import Answer
from discreet.sql.reader.sources import Constants, Rows
from discreet.sql.reader.syntax import PERSON, NamedRelation, Node, Visible, fresh

if TYPE_CHECKING:
    from discreet.sql.reader.from_clause import RelationReader


def read_sets(tables: "RelationReader", node: Node) -> Rows:
    """UNION, INTERSECT or EXCEPT of rows, UNION of answers: columns by position."""
    syntax = tables.syntax
    distinct = syntax.part(node, "distinct")
    left, right = (tables.read(syntax.part(node, part)) for part in ("this", "expression"))
    every = distinct is False and isinstance(node, exp.Union)
    if every and isinstance(left, Constants) and isinstance(right, Constants):
        return stack_listed(syntax, node, left, right)
    left, right = (
        tables.as_answer(one, node) if isinstance(one, Constants) else one for one in (left, right)
    )
    if isinstance(left, Answer) and isinstance(right, Answer) and isinstance(node, exp.Union):
        sides = [program_of(tables.impersonal(one, node)) for one in (left, right)]
        return stack_answers(syntax, node, *sides, distinct=distinct is not False)
    if isinstance(left, Answer) and isinstance(right, Answer):
        raise syntax.refuse(node, _SETS_OF_ANSWERS)
    if isinstance(left, Answer) or isinstance(right, Answer):
        raise syntax.refuse(node, _UNION_OF_ANSWERS)
    if len(left.columns) != len(right.columns):
        raise syntax.refuse(node, _UNEQUAL)
    if distinct is False and not isinstance(node, exp.Union):
        raise syntax.refuse(node, _ALL)
    kind = type(node) if distinct is not False else None
    try:
        return syntax.build(node, _combine, left, right, kind)
    except LookupError:
        raise syntax.refuse(node, SET_OPERATION) from None


def _combine(
    left: NamedRelation, right: NamedRelation, kind: type[exp.Expr] | None
) -> NamedRelation:
    """All rows of both (`kind` is None), or the different ones of either, of both, or of one.

    LookupError where no column names the same person on both sides: there rows of different people
    can be equal, and one would hide the other.
    """
    columns = tuple(_either(a, b) for a, b in zip(left.columns, right.columns, strict=True))
    if kind is None:
        return NamedRelation(rel.Union(left.relation, right.relation), columns)
    if not any(column.owns for column in columns):
        raise LookupError
    both = rel.Union(left.relation, right.relation)  # which refuses columns of different kinds
    if kind is exp.Union:
        return NamedRelation(_different(both), columns)
    first = _different(left.relation)
    names = {one.lower() for one in rel.columns_of(first)}
    other = {name: fresh(f"other {name}", names) for name in rel.columns_of(right.relation)}
    there = rel.Project(
        right.relation, tuple(rel.Named(new, Column(old)) for old, new in other.items())
    )
    pairs = zip(columns, rel.columns_of(first), other.values(), strict=True)
    on = tuple(
        pair
        for column, here, new in pairs
        if not (column.owns and PERSON in column.identities)
        for pair in _same(Column(here), Column(new), rel.columns_of(both)[here].kind)
    )
    mark = fresh("met", names)
    found = ~Column(mark) if kind is exp.Except else Column(mark)
    rows = rel.FilterRows(rel.MatchPerson(first, there, on, mark), found)
    kept = tuple(rel.Named(name, Column(name)) for name in rel.columns_of(first))
    return NamedRelation(rel.Project(rows, kept), columns)


def _different(relation: rel.Relation) -> rel.Relation:
    """Each row once; a column names its owner."""
    return rel.PerPerson(
        relation, tuple(rel.Named(n, Column(n)) for n in rel.columns_of(relation)), ()
    )


_ANY: dict[Kind, Value] = {
    Kind.BOOLEAN: False,
    Kind.INTEGER: 0,
    Kind.REAL: 0.0,
    Kind.TEXT: "",
    Kind.DATE: EPOCH.date(),
    Kind.TIMESTAMP: EPOCH,
}


def _same(here: Expression, there: Expression, kind: Kind) -> list[tuple[Expression, Expression]]:
    """Equal, or both NULL: as equal as whether they are NULL, and as what stands for NULL."""
    some = Literal(_ANY[kind], kind)
    return [
        (here.is_null(), there.is_null()),
        (call(Function.COALESCE, here, some), call(Function.COALESCE, there, some)),
    ]


def _either(left: Visible, right: Visible) -> Visible:
    """A column of both: it identifies whom both sides do."""
    both = left.identities & right.identities
    return Visible(left.name, left.column, "", both, left.absent or right.absent)


_UNION_OF_ANSWERS = said("""set_operation: an answer and private rows are put together with UNION
    an answer belongs to nobody, and rows are somebody's
    aggregate on both sides, as in SELECT COUNT(*) FROM a UNION ALL SELECT COUNT(*) FROM b""")
_SETS_OF_ANSWERS = said("""set_operation: INTERSECT or EXCEPT of answers
    rows with noisy numbers are hardly ever equal
    compare the keys: WHERE key IN (SELECT key FROM ... GROUP BY key), or NOT IN""")
_ALL = said("""set_operation: INTERSECT ALL or EXCEPT ALL
    rows are kept or left out whole, and not by how often they stand
    leave ALL out""")
_UNEQUAL = said("""set_operation: UNION, INTERSECT or EXCEPT of different numbers of columns
    columns are matched by position
    select as many values on both sides""")
