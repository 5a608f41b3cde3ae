"""A value that a subquery computes for each row, from rows of the same person.

`(SELECT AVG(w.cost) FROM visits w WHERE w.patient_id = v.patient_id)` is the subquery grouped by
what it equates with the row around it, joined to that row. One of these columns has to name the
person on both sides: then the value is a function of rows of that person (`PerPerson`,
`JoinPerson`, whose stability is proved there). Where no row meets, it is NULL, and COUNT is 0.
"""

from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.plan.expressions import Column, Expression
from discreet.plan.relations import JoinPerson, Keep, Named, Project
from discreet.plan.row_counts import or_zero
from discreet.sql.reader.expressions import has_aggregate
from discreet.sql.reader.names import PERSON, Visible, fresh, lookup
from discreet.sql.reader.refusals import Refusal
from discreet.sql.reader.syntax import Node

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.sql.reader.lookups import Lookups

_COUNTS = (exp.Count, exp.CountIf)


def correlated_value(rows: "Lookups", node: Node) -> Expression:
    """The value of a subquery for each row, as a column of the rows."""
    select = node
    while isinstance(select, exp.Subquery):
        select = rows.syntax.part(select, "this")
    if not isinstance(select, exp.Select) or len(select.expressions) != 1:
        raise rows.syntax.refuse(node, _SHAPE)
    if any(select.args.get(part) for part in _PARTS) or not has_aggregate(select.expressions[0]):
        raise rows.syntax.refuse(node, _SHAPE)
    inner = select.copy()
    source, _ = rows.tables.sources(inner)
    pairs, rest = _split(rows, inner, source.columns)
    value, count = inner.expressions[0].unalias(), len(pairs)
    selected = [exp.alias_(here.copy(), f"key {at}") for at, (here, _) in enumerate(pairs)]
    inner.set("expressions", [*selected, exp.alias_(value, "value")])
    inner.set("group", exp.Group(expressions=[here for here, _ in pairs]))
    inner.set("where", exp.Where(this=exp.and_(*rest, copy=False)) if rest else None)
    found = rows.tables.rows(inner, _PERSON)
    reader = rows.reader("a subquery")
    outer = [reader.checked(there) for _, there in pairs]
    rows.syntax.read_as([select], inner)
    visible = {Column(one.column): one for one in rows.columns}
    sides = zip(outer, found.columns, strict=False)  # the value is last, and equal to nothing
    whose = [
        _identify(visible.get(one) if isinstance(one, Column) else None, there)
        for one, there in sides
    ]
    if True not in whose:
        raise rows.syntax.refuse(node, _PERSON)
    taken = {one.lower() for one in rows.types}
    names = [fresh(one.name, taken) for one in found.columns]
    named = (Named(new, Column(one.column)) for new, one in zip(names, found.columns, strict=True))
    right = Project(found.relation, tuple(named))
    on = tuple((outer[at], Column(names[at])) for at in range(count) if whose[at] is None)
    rows.build(node, JoinPerson, right, on, Keep.ALL)
    result: Expression = Column(names[-1])
    if isinstance(value, _COUNTS):
        return or_zero(names[-1])
    if any(isinstance(part, _COUNTS) for part in value.walk()):
        raise rows.syntax.refuse(node, _COUNTED)
    return result


def _identify(here: Visible | None, there: Visible) -> bool | None:
    """True for the person on both sides, None for what has to be compared."""
    same = here is not None and here.owns and there.owns
    return True if same and here and PERSON in here.identities & there.identities else None


def _split(
    rows: "Lookups", select: Node, columns: "Sequence[Visible]"
) -> tuple[list[tuple[Node, Node]], list[Node]]:
    """The equalities of a subquery with the outer row, and its other conditions."""
    where = select.args.get("where")
    pairs, rest = list[tuple[Node, Node]](), list[Node]()
    for one in (
        [] if where is None else where.this.flatten() if _is_and(where.this) else [where.this]
    ):
        sides = (one.this, one.expression) if isinstance(one, exp.EQ) else (one, one)
        own = [_is_own(rows, side, columns) for side in sides]
        if all(own):
            rest.append(one)
        elif isinstance(one, exp.EQ) and any(own):
            here, there = sides if own[0] else reversed(sides)
            if any(_is_own(rows, c, columns) for c in there.find_all(exp.Column)):
                raise rows.syntax.refuse(one, _SHAPE)
            pairs.append((here, there))
        else:
            raise rows.syntax.refuse(one, _SHAPE)
    return pairs, rest


def _is_and(node: Node) -> bool:
    return isinstance(node, exp.And)


def _is_own(rows: "Lookups", node: Node, columns: "Sequence[Visible]") -> bool:
    """Whether all names in a node are those of the subquery itself."""
    for one in node.walk(prune=lambda part: isinstance(part, exp.Query)):
        if isinstance(one, exp.Query) and rows.is_correlated(one):
            return False
        if isinstance(one, exp.Column) and not lookup(rows.syntax, one, columns)[0]:
            return False
    return True


_PARTS = ("group", "having", "qualify", "limit", "offset", "order", "distinct", "with_")
_SHAPE = Refusal(
    "subquery",
    "a value of a subquery that looks at the row around it in another way than by equal columns",
    "it is an aggregate of the rows that are equal to it in some columns, one of which names the"
    " person",
    "write (SELECT AVG(x) FROM t WHERE t.person = outer.person AND ...), join a subquery that is"
    " grouped by the person, or use a window: AVG(x) OVER (PARTITION BY person)",
)
_PERSON = Refusal(
    "subquery",
    "a value of a subquery that is not about the same person as the row around it",
    "the value beside a row would depend on other people's rows",
    "add t.person = outer.person to its WHERE, for the columns that name the person",
)
_COUNTED = Refusal(
    "subquery",
    "a count inside a larger expression of a subquery",
    "it is 0 where no row meets, and what is computed from it would be NULL",
    "select COUNT alone, and compute with it outside: 2 * (SELECT COUNT(*) ...)",
)
