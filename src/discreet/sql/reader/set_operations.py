"""UNION, INTERSECT and EXCEPT of rows, which compare the rows of one person with each other."""

from sqlglot import exp

from discreet.plan import relations as rel
from discreet.plan.calendar import EPOCH
from discreet.plan.expressions import Column, Expression, Function, Literal, call
from discreet.plan.kinds import Kind, Value
from discreet.sql.reader.syntax import PERSON, NamedRelation, Visible, fresh


def combine(
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
