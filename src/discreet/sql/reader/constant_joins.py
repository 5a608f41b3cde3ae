"""Joins of private rows with rows that a question writes out.

Every value is a constant, so a join needs nothing new of the plan: a private row meets the rows
whose condition holds once their constants are written in the place of names. Where the conditions
show that a row meets at most one of them (another constant is equal, or ranges do not overlap), the
join is a CASE beside each row; else it is the UNION ALL of the rows that meet each, in which one
person may have that many times as many rows.
"""

from collections.abc import Callable, Sequence
from itertools import combinations

from discreet.plan import relations as rel
from discreet.plan.expressions import (
    MIRRORED,
    Call,
    Case,
    Column,
    Expression,
    Function,
    IsIn,
    Literal,
    call,
    chain,
    conjuncts,
)
from discreet.plan.kinds import Kind
from discreet.plan.possible_keys import FROM, UP_TO
from discreet.sql.reader.constant_tables import NOT_LISTED, put
from discreet.sql.reader.joins import KEEP, RowJoin, join_kind
from discreet.sql.reader.refusals import said
from discreet.sql.reader.sources import Constants, RowSource
from discreet.sql.reader.syntax import NamedRelation, Node, Syntax

MOST_UNITED = 64
"""Rows of a list of which a private row may meet several."""


def join_constants(
    syntax: Syntax, left: RowSource, right: RowSource, node: Node, where: Sequence[Node] = ()
) -> NamedRelation:
    """Private rows beside the written rows that they meet."""
    kind = join_kind(syntax, node, loose=True)
    swapped = isinstance(left, Constants)
    kind = {"LEFT": "RIGHT", "RIGHT": "LEFT"}.get(kind, kind) if swapped else kind
    rows, listed = (right, left) if isinstance(left, Constants) else (left, right)
    some = kind in {"SEMI", "ANTI"} and not swapped
    if not isinstance(rows, NamedRelation) or not isinstance(listed, Constants):
        raise syntax.refuse(node, _KEPT)
    if kind not in KEEP and not some:
        raise syntax.refuse(node, _KEPT)
    found = RowJoin(syntax, rows, listed, node, KEEP.get(kind, rel.Keep.MATCHED), where)
    if some:
        met = ConstantJoin(found, node).any
        kept = syntax.build(node, rel.FilterRows, rows.relation, met if kind == "SEMI" else ~met)
        return NamedRelation(kept, rows.columns)
    return ConstantJoin(found, node).read()


class ConstantJoin:
    """A join: for each written row, the condition on which a private row meets it."""

    def __init__(self, join: RowJoin, node: Node) -> None:
        assert isinstance(join.right, Constants)  # noqa: S101 - narrowing: see `join_constants`
        self.syntax, self.join, self.node = join.syntax, join, node
        self.names = [one.column for one in join.right.columns]
        self.kinds = [of.kind for of in join.right.types]
        parts = [one.expression for one in join.conditions if one.expression != _YES]
        whole = chain(Function.AND, parts) if parts else _YES
        self.rows = list[tuple[Expression, tuple[Expression, ...]]]()
        for row in join.right.rows:
            self.syntax.look_at(whole.size, node)
            condition = put(whole, dict(zip(self.names, row, strict=True)))
            self.rows.append((condition, row))

    @property
    def any(self) -> Expression:
        """Whether a private row meets some written row; false where that is unknown."""
        return call(Function.COALESCE, _either([one for one, _ in self.rows]), _NO)

    def read(self) -> NamedRelation:
        """The private rows beside the written rows that they meet."""
        outer = self.join.keep is rel.Keep.ALL
        if _are_apart([one for one, _ in self.rows]):
            joined = self._looked_up(outer=outer)
        elif len(self.rows) <= MOST_UNITED:
            joined = self._united(outer=outer)
        else:
            raise self.syntax.refuse(self.node, _SEVERAL)
        return self.join.above(joined)

    def _looked_up(self, *, outer: bool) -> rel.Relation:
        """Each row meets at most one: its values are a CASE."""
        relation = self.join.left.relation
        met = [condition for condition, _ in self.rows]
        if not outer and met != [_YES]:
            relation = self._build(rel.FilterRows, relation, _either(met))
        values = list[Expression]()
        for at, kind in enumerate(self.kinds):
            branches = [(condition, row[at]) for condition, row in self.rows]
            if outer and met != [_YES]:
                values.append(Case(tuple(branches), Literal(None, kind)))
            else:
                *others, (_, last) = branches
                values.append(Case(tuple(others), last) if others else last)
        return self._beside(relation, values)

    def _united(self, *, outer: bool) -> rel.Relation:
        """Each row as often as it meets one."""
        left = self.join.left.relation
        found = [
            self._beside(left if one == _YES else self._build(rel.FilterRows, left, one), row)
            for one, row in self.rows
        ]
        if outer:
            alone = self._build(rel.FilterRows, left, ~self.any)
            found.append(self._beside(alone, [Literal(None, kind) for kind in self.kinds]))
        while len(found) > 1:
            pairs = zip(found[::2], found[1::2], strict=False)
            rest = found[-1:] if len(found) % 2 else []
            found = [*(self._build(rel.Union, a, b) for a, b in pairs), *rest]
        return found[0]

    def _beside(self, relation: rel.Relation, values: Sequence[Expression]) -> rel.Relation:
        own = tuple(rel.Named(one, Column(one)) for one in rel.columns_of(relation))
        new = tuple(map(rel.Named, self.names, values))
        return self._build(rel.Project, relation, (*own, *new))

    def _build(self, kind: Callable[..., rel.Relation], *fields: object) -> rel.Relation:
        return self.syntax.build(self.node, kind, *fields)


def equal_to_some(
    syntax: Syntax, node: Node, values: Sequence[Expression], listed: Constants
) -> Expression:
    """(a, b) IN (SELECT ... of written rows)."""
    if len(values) != len(listed.columns):
        raise syntax.refuse(node, NOT_LISTED)
    rows = [
        chain(Function.AND, [a.equals(b) for a, b in zip(values, row, strict=True)])
        for row in listed.rows
    ]
    return _either(rows)


def _either(conditions: Sequence[Expression]) -> Expression:
    """Any of them; as a list where all compare one value with constants."""
    points = [_point(one) for one in conditions]
    known = [one for one in points if one is not None]
    if len(known) == len(conditions) and len({value for value, _ in known}) == 1:
        return IsIn(known[0][0], tuple(dict.fromkeys(constant for _, constant in known)))
    return chain(Function.OR, list(conditions))


def _point(condition: Expression) -> tuple[Expression, Literal] | None:
    """The value and the constant of an equality."""
    match condition:
        case Call(Function.EQUAL, (value, Literal() as constant)) if constant.value is not None:
            return value, constant
        case Call(Function.EQUAL, (Literal() as constant, value)) if constant.value is not None:
            return value, constant
    return None


def _are_apart(conditions: Sequence[Expression]) -> bool:
    """Whether no row can fulfil two of the conditions, as far as their constants show."""
    facts = [_Ranges(one) for one in conditions]
    for value in facts[0].ends:
        ends = [one.ends.get(value) for one in facts]
        points = {one[0] for one in ends if one is not None and one[0] == one[2]}
        if len(points) == len(ends):
            return True
    pairs = list(combinations(facts, 2)) if len(facts) <= MOST_UNITED else None
    return pairs is not None and all(one.is_apart(other) for one, other in pairs)


class _Ranges:
    """The ranges in which a condition holds some of its values.

    Of each value: the least, whether it is left out, the largest, and whether that is left out.
    """

    def __init__(self, condition: Expression) -> None:
        self.ends: dict[tuple[Expression, type], tuple[object, bool, object, bool]] = {}
        for one in conjuncts(condition):
            match one:
                case Call(function, (value, Literal() as constant)) if function in _COMPARED:
                    self._narrow(function, value, constant)
                case Call(function, (Literal() as constant, value)) if function in _COMPARED:
                    self._narrow(MIRRORED[function], value, constant)

    def _narrow(self, function: Function, value: Expression, constant: Literal) -> None:
        at = constant.value
        if at is None or isinstance(value, Literal):
            return
        kind: type = float if isinstance(at, int | float) else type(at)
        if kind is str and function is not Function.EQUAL:
            return  # the order of texts is each engine's own
        low, above, high, below = self.ends.get((value, kind), (None, False, None, False))
        if function in FROM and (low is None or at >= low):  # type: ignore[operator]
            low, above = at, function is Function.GREATER
        if function in UP_TO and (high is None or at <= high):  # type: ignore[operator]
            high, below = at, function is Function.LESS
        self.ends[value, kind] = low, above, high, below

    def is_apart(self, other: "_Ranges") -> bool:
        """Whether some value is in no range of both."""
        return any(
            _before(self.ends[one], other.ends[one]) or _before(other.ends[one], self.ends[one])
            for one in self.ends.keys() & other.ends.keys()
        )


def _before(
    first: tuple[object, bool, object, bool], second: tuple[object, bool, object, bool]
) -> bool:
    """Whether a range ends before another begins."""
    (_, _, high, below), (low, above, _, _) = first, second
    if high is None or low is None:
        return False
    return high < low or (high == low and (below or above))  # type: ignore[operator]


_COMPARED = FROM | UP_TO
_YES, _NO = (Literal(one, Kind.BOOLEAN) for one in (True, False))

_SEVERAL = said(f"""join: a row may meet several of more than {MOST_UNITED} written rows
    one person could have that many times as many rows
    compare with = a column in which no value stands twice, or with ranges that do not overlap""")
_KEPT = said("""join: a join that keeps all written rows beside private ones
    rows that belong to nobody would be counted among people's
    begin FROM with the private table; or keep all of them beside groups, as in FROM (VALUES ...) \
    v(x) LEFT JOIN t ON t.x = v.x GROUP BY v.x, or beside an answer: LEFT JOIN (SELECT x, COUNT(*) \
    AS n FROM t GROUP BY x) a ON a.x = v.x""")
