"""Bounds that conditions and text lengths prove for a value that has none declared.

`AVG(x)` where `x BETWEEN 0 AND 100` is measured as `AVG` of x held to [0, 100]: the same number,
since every row that counts has its x in there. Only the value that is aggregated is held. Types are
inferred of the held value, for any row, so no engine meets arithmetic that a condition guards.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from discreet.plan import relations as rel
from discreet.plan.expressions import Call, Column, Expression, Function, Literal
from discreet.plan.intervals import EVERYTHING, meet
from discreet.plan.kinds import Kind, Range, Type
from discreet.plan.public_facts import clamp
from discreet.plan.query import Aggregate
from discreet.plan.row_counts import hold_counts, row_counts
from discreet.plan.sensitivity import conjuncts
from discreet.plan.typing import infer, parts_of, with_parts
from discreet.plan.work import longest, longest_texts

_EXACT = 1 << 53
"""Below, whole numbers and doubles compare alike; 2^53 + 1 as a double is 2^53."""

_SIDES = {
    Function.EQUAL: (1, 1),
    **dict.fromkeys((Function.GREATER, Function.GREATER_EQUAL), (1, 0)),
    **dict.fromkeys((Function.LESS, Function.LESS_EQUAL), (0, 1)),
}
"""Whether a comparison of a column with a literal bounds the column from below, and from above."""


def hold_values(aggregate: Aggregate, relation: rel.Relation) -> Aggregate:
    """The aggregate, with arguments that have no range held to what public facts prove.

    Stability: that of the aggregate of any expression. The range is that of LEAST and GREATEST with
    literals, which hold every row, kept or not: a mistake here could change a number, and not what
    one person adds at most.

    Why the number is the same: a row that counts meets every condition of the aggregate and of the
    filters below, so a column lies between the literals it is compared with, and holding it there
    changes nothing. LENGTH and POSITION are at most the longest text that is ever read.

    Edge cases: NULL stays NULL. Ends are closed also where a comparison is strict. Literals of 2^53
    and beyond bound nothing. Of conditions that no row meets the later ones are left out.
    """
    aggregate, scope = hold_counts(aggregate, row_counts(relation)), rel.columns_of(relation)
    if aggregate.measure.is_count or all(infer(one, scope).range for one in aggregate.arguments):
        return aggregate
    known = _meet(_proved(relation), conjuncts(aggregate.where), scope)
    texts = longest_texts(relation)[id(relation)]

    def held(part: Expression) -> Expression:
        whole = with_parts(part, [held(one) for one in parts_of(part)])
        match part:
            case Column(name) if name in known and math.isfinite(known[name].width):
                low, high, kind = known[name].low, known[name].high, scope[name].kind
                if kind is Kind.INTEGER:
                    return clamp(part, kind, math.ceil(low), math.floor(high))
                return clamp(part, kind, float(low), float(high))
            case Call(Function.LENGTH | Function.POSITION, (text, *_)):
                return clamp(whole, Kind.INTEGER, 0, max(1, longest(text, texts)))
        return whole

    arguments = (one if infer(one, scope).range else held(one) for one in aggregate.arguments)
    return replace(aggregate, arguments=tuple(arguments))


def _proved(relation: rel.Relation) -> Mapping[str, Range]:
    """The ranges of columns that conditions on all rows of a relation leave."""
    below = [_proved(one) for one in rel.inputs_of(relation)]
    match relation:
        case rel.FilterRows(rows, predicate):
            return _meet(below[0], conjuncts(predicate), rel.columns_of(rows))
        case rel.Project(_, columns):
            same = ((c.name, c.expression) for c in columns)
            return {
                n: below[0][e.name] for n, e in same if isinstance(e, Column) and e.name in below[0]
            }
        case rel.MatchPerson() | rel.MatchPublic() | rel.JoinPublic():
            return below[0]
        case rel.JoinPerson():
            return {**below[0], **below[1]}
    return {}


def _meet(
    known: Mapping[str, Range], conditions: Iterable[Expression], scope: Mapping[str, Type]
) -> Mapping[str, Range]:
    """What is known of columns, and what further conditions say of numbers."""
    found = dict(known)
    for condition in conditions:
        match condition:
            case Call(function, (Column(name), Literal(int() | float() as at))) if (
                function in _SIDES
            ):
                below, above = _SIDES[function]
            case Call(function, (Literal(int() | float() as at), Column(name))) if (
                function in _SIDES
            ):
                above, below = _SIDES[function]
            case _:
                continue
        if scope[name].kind.is_number and abs(at) < _EXACT:
            side = Range(at if below else -math.inf, at if above else math.inf)
            found[name] = meet(found.get(name, EVERYTHING), side) or found[name]
    return found
