"""Bounds that conditions and text lengths prove for a value that has none declared.

`AVG(x)` where `x BETWEEN 0 AND 100` is measured as `AVG` of x held to [0, 100]: the same number,
since every row that counts has its x in there. Only the value that is aggregated is held. Types are
inferred of the held value, for any row, so no engine meets arithmetic that a condition guards.
"""

import datetime as dt
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from discreet.plan import relations as rel
from discreet.plan.calendar import moment, position
from discreet.plan.expressions import Call, Case, Column, Expression, Function, Literal
from discreet.plan.intervals import EVERYTHING, meet
from discreet.plan.kinds import Kind, Range, Type, Value
from discreet.plan.numeric import at_midnight
from discreet.plan.query import Aggregate
from discreet.plan.sensitivity import conjuncts
from discreet.plan.typing import infer, parts_of, with_parts
from discreet.plan.work import longest, longest_texts

_EXACT: Final = 1 << 53
"""Below, whole numbers and doubles compare alike; 2^53 + 1 as a double is 2^53."""

_SIDES: Final = {
    Function.EQUAL: (True, True),
    **dict.fromkeys((Function.GREATER, Function.GREATER_EQUAL), (True, False)),
    **dict.fromkeys((Function.LESS, Function.LESS_EQUAL), (False, True)),
}
"""Whether a comparison of a column with a literal bounds the column from below, and from above."""


def hold_values(aggregate: Aggregate, relation: rel.Relation) -> Aggregate:
    """The aggregate, with arguments that have no range held to what public facts prove.

    Stability: that of the aggregate of any expression. The range is that of LEAST and GREATEST with
    literals, which clamp every row, kept or not; a mistake here would change a number, and could
    not widen what one person adds.

    Why the number is the same: a row that counts satisfies every condition of the aggregate and of
    the filters below, so a column lies between the literals it is compared with, and holding it
    there changes nothing. LENGTH and POSITION are at most the longest text that is ever read.

    Edge cases: NULL stays NULL. Ends are closed also where a comparison is strict. Literals of
    2^53 and beyond bound nothing. Of conditions that no row meets the later ones are left out.
    """
    scope = rel.columns_of(relation)
    if aggregate.measure.is_count or all(infer(one, scope).range for one in aggregate.arguments):
        return aggregate
    known = _meet(_proved(relation), conjuncts(aggregate.where), scope)
    texts = longest_texts(relation)[id(relation)]

    def held(part: Expression) -> Expression:
        whole = with_parts(part, [held(one) for one in parts_of(part)])
        match part:
            case Column(name) if name in known:
                return _clamped(part, known[name], scope[name].kind)
            case Call(Function.LENGTH | Function.POSITION, (text, *_)):
                return _clamped(whole, Range(-math.inf, longest(text, texts) + 1), Kind.INTEGER)
        return whole

    arguments = [one if infer(one, scope).range else held(one) for one in aggregate.arguments]
    return replace(aggregate, arguments=tuple(arguments))


def _proved(relation: rel.Relation) -> Mapping[str, Range]:
    """The ranges of columns that conditions on all rows of a relation leave."""
    match relation:
        case rel.FilterRows(below, predicate):
            return _meet(_proved(below), conjuncts(predicate), rel.columns_of(below))
        case rel.Project(below, columns):
            known = _proved(below)
            same = ((c.name, c.expression) for c in columns)
            return {n: known[e.name] for n, e in same if isinstance(e, Column) and e.name in known}
        case rel.MatchPerson() | rel.MatchPublic() | rel.JoinPublic() | rel.JoinPerson():
            first, *more = (_proved(one) for one in rel.inputs_of(relation))
            return {**(more[0] if isinstance(relation, rel.JoinPerson) else {}), **first}
    return {}


def _meet(
    known: Mapping[str, Range], conditions: Iterable[Expression], scope: Mapping[str, Type]
) -> Mapping[str, Range]:
    """What is known of columns, and what further conditions say; less where they disagree."""
    found = dict(known)
    for condition in conditions:
        match condition:
            case Call(function, (Column(name), Literal(value))) if function in _SIDES:
                below, above = _SIDES[function]
            case Call(function, (Literal(value), Column(name))) if function in _SIDES:
                above, below = _SIDES[function]
            case _:
                continue
        at = _place(value, scope[name].kind)
        if at is not None:
            side = Range(at if below else -math.inf, at if above else math.inf)
            found[name] = meet(found.get(name, EVERYTHING), side) or found[name]
    return found


def _place(value: Value, kind: Kind) -> float | None:
    """Where a literal stands among the values of a column; None where that is not exact."""
    match value:
        case bool() | str() | None:
            return None
        case int() | float():
            return value if kind.is_number and abs(value) < _EXACT else None
    exact = at_midnight(value) if kind is Kind.TIMESTAMP and type(value) is dt.date else value
    return position(exact) if kind.is_time and type(exact) is kind.python else None  # type: ignore[arg-type]


def _clamped(value: Expression, within: Range, kind: Kind) -> Expression:
    """The value between the ends that there are; NULL stays NULL, which LEAST passes over."""
    least = value
    for function, end, up in (
        (Function.LEAST, within.high, math.floor),
        (Function.GREATEST, within.low, math.ceil),
    ):
        if math.isfinite(end):
            place = float(end) if kind is Kind.REAL else up(end)
            literal = Literal(moment(place, kind) if kind.is_time else place, kind)
            least = Call(function, (least, literal))
    return Case(((Call(Function.IS_NULL, (value,)), Literal(None, kind)),), least)
