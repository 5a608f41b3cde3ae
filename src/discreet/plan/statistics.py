"""The integers of each group that a query needs, each measured once.

COUNT, AVG and SUM of one column share the count of its values; AVG, SUM and VARIANCE share its
centred total. What a row adds is bounded by public facts:

    Rows      1
    Total     the value, less the middle of its range, on a power-of-two grid
    People    one person, once
    Ranks     1, in the cell of the value on a grid (for quantiles)
    Distinct  the value itself (for counting different values, or adding them up)
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias, assert_never

from discreet.plan.expressions import SIZE, Call, Expression, Function, Literal, mentions, remember
from discreet.plan.kinds import Kind, Range, Type
from discreet.plan.query import Aggregate, AggregateFunction, Query
from discreet.plan.relations import columns_of
from discreet.plan.typing import infer

_GRID_BITS = 20
_CELLS = 1 << 11
_FINEST = -1000
"""Steps are no finer than 2 to this power, so that dividing by them stays finite."""


@dataclass(frozen=True, slots=True)
class Rows:
    """How many rows of a group satisfy `where`."""

    where: Expression | None


@dataclass(frozen=True, slots=True)
class People:
    """How many people have a row in a group that satisfies `where`."""

    where: Expression | None


@dataclass(frozen=True, slots=True)
class Grid:
    """Values in [low, high] as integers: round((value - centre) / step), within -reach and reach.

    `step` is a power of two, so that dividing by it is exact; `centre` is a multiple of it near
    the middle.
    """

    low: float
    high: float
    centre: float
    step: float
    reach: int


@dataclass(frozen=True, slots=True)
class Total:
    """The sum over the rows of a group that satisfy `where` of a value on its grid."""

    value: Expression
    where: Expression | None
    grid: Grid


@dataclass(frozen=True, slots=True)
class Ranks:
    """How many values of a group fall into each of `cells` equal cells of [low, high]."""

    value: Expression
    where: Expression | None
    low: float
    high: float
    cells: int


@dataclass(frozen=True, slots=True)
class Distinct:
    """How many different values a group has."""

    value: Expression
    where: Expression | None


@dataclass(frozen=True, slots=True)
class DistinctTotal(Distinct):
    """The sum of the different values of a group: whole numbers, none beyond `reach`.

    Stability: of a person's different values in a group some count, as many as limits say. Removing
    a person removes at most the values that only they have, each at most `reach`.
    """

    reach: int


Statistic: TypeAlias = Rows | People | Total | Ranks | Distinct


def needed(query: Query) -> tuple[Statistic, ...]:
    """Each statistic that a query needs, once."""
    return tuple(dict.fromkeys(s for needs in statistics_in(query).values() for s in needs))


@remember(512, SIZE)
def statistics_in(query: Query) -> dict[Aggregate, tuple[Statistic, ...]]:
    """The statistics of each aggregate of a query.

    Why: a centred total needs a count, which pays where the count serves others too. A sum that
    would be the only one to need it is measured directly, for the largest value.
    """
    scope = columns_of(query.relation)
    found = {aggregate: statistics_of(aggregate, scope) for aggregate in query.aggregates}
    if query.is_by_row:
        return found  # there the count may also find the groups
    uses = Counter(statistic for needs in found.values() for statistic in set(needs))
    for aggregate, needs in found.items():
        if aggregate.measure is AggregateFunction.SUM and uses[needs[0]] == 1:
            found[aggregate] = (plain_total(aggregate, scope),)
    return found


def behind(query: Query, expressions: Iterable[Expression]) -> tuple[Statistic, ...]:
    """The statistics that expressions over released columns are computed from, each once."""
    names = {name for expression in expressions for name in mentions(expression)}
    needs = statistics_in(query).items()
    return tuple(dict.fromkeys(s for one, all_ in needs if one.name in names for s in all_))


@remember(1024)
def statistics_of(aggregate: Aggregate, scope: Mapping[str, Type]) -> tuple[Statistic, ...]:
    """The statistics of one aggregate, the count of its values first where it needs that."""
    where = present(aggregate, scope)
    match aggregate.measure:
        case AggregateFunction.COUNT:
            return (Rows(where),)
        case AggregateFunction.COUNT_PEOPLE:
            return (People(where),)
        case AggregateFunction.COUNT_DISTINCT:
            return (Distinct(aggregate.arguments[0], where),)
        case AggregateFunction.SUM_DISTINCT:
            (value,) = aggregate.arguments
            bounds = range_of(value, scope)
            reach = max(1, math.ceil(max(abs(bounds.low), abs(bounds.high))))
            return (DistinctTotal(value, where, reach),)
        case AggregateFunction.SUM | AggregateFunction.MEAN:
            return (Rows(where), total(aggregate.arguments[0], where, scope))
        case AggregateFunction.VARIANCE | AggregateFunction.STDDEV:
            (x,) = aggregate.arguments
            return (Rows(where), total(x, where, scope), product(x, x, where, scope))
        case AggregateFunction.COVARIANCE:
            x, y = aggregate.arguments
            totals = total(x, where, scope), total(y, where, scope)
            return (Rows(where), *totals, product(x, y, where, scope))
        case AggregateFunction.CORRELATION:
            x, y = aggregate.arguments
            totals = total(x, where, scope), total(y, where, scope)
            products = tuple(product(a, b, where, scope) for a, b in ((x, x), (y, y), (x, y)))
            return (Rows(where), *totals, *products)
        case (
            AggregateFunction.QUANTILE
            | AggregateFunction.MIN
            | AggregateFunction.MAX
            | AggregateFunction.MODE
        ):
            return (ranks(aggregate.arguments[0], where, scope),)
        case _:
            assert_never(aggregate.measure)


def ranks_of(query: Query, aggregate: Aggregate) -> Ranks | None:
    """The statistic of a quantile; None for other aggregates."""
    first = statistics_of(aggregate, columns_of(query.relation))[0]
    return first if isinstance(first, Ranks) else None


def present(aggregate: Aggregate, scope: Mapping[str, Type]) -> Expression | None:
    """The condition under which a row counts: the filter holds and no argument is NULL."""
    conditions = [] if aggregate.where is None else [aggregate.where]
    there = (
        Call(Function.NOT, (Call(Function.IS_NULL, (argument,)),))
        for argument in aggregate.arguments
        if infer(argument, scope).nullable
    )
    known = {part for one in conditions for part in (one, *_conjuncts(one))}
    conditions += [one for one in there if one not in known]
    if not conditions:
        return None
    return conditions[0] if len(conditions) == 1 else Call(Function.AND, tuple(conditions))


def _conjuncts(condition: Expression) -> tuple[Expression, ...]:
    match condition:
        case Call(Function.AND, parts):
            return parts
    return ()


def total(value: Expression, where: Expression | None, scope: Mapping[str, Type]) -> Total:
    """The centred total of a bounded value."""
    bounds = range_of(value, scope)
    whole = infer(value, scope).kind is Kind.INTEGER
    return Total(value, where, grid(bounds.low, bounds.high, whole=whole))


def plain_total(aggregate: Aggregate, scope: Mapping[str, Type]) -> Total:
    """The total of a sum's values as they are, on a grid around 0."""
    (value,) = aggregate.arguments
    bounds = range_of(value, scope)
    far = max(abs(bounds.low), abs(bounds.high))
    around = grid(-far, far, whole=infer(value, scope).kind is Kind.INTEGER)
    return Total(
        value, present(aggregate, scope), replace(around, low=bounds.low, high=bounds.high)
    )


def product(
    x: Expression, y: Expression, where: Expression | None, scope: Mapping[str, Type]
) -> Total:
    """The centred total of (x - centre of x)(y - centre of y)."""
    left, right = (total(value, where, scope).grid for value in (x, y))
    across = _half_width(left) * _half_width(right)
    value = Call(Function.MULTIPLY, (_less(x, left.centre), _less(y, right.centre)))
    return Total(value, where, grid(0.0 if x == y else -across, across, whole=False))


def grid(low: float, high: float, *, whole: bool) -> Grid:
    """A grid of about 2^21 points over [low, high]; whole numbers that fit keep their own.

    Its points are multiples of the step, so that 0, which many rows have, is one of them.
    """
    if whole and high - low < 1 << (_GRID_BITS + 1):
        middle = (int(low) + int(high)) // 2
        # A constant has a reach too: one step, so that noise has a width.
        return Grid(low, high, float(middle), 1.0, max(1, int(high) - middle))
    half = (Fraction(high) - Fraction(low)) / 2
    step = Fraction(2) ** max(ceil_log2(half) - _GRID_BITS, _FINEST)
    # A double that is no multiple of the step has a coarser unit, and is the nearest to one.
    centre = float(round((Fraction(low) + half) / step) * step) if half else low
    farthest = max(Fraction(high) - Fraction(centre), Fraction(centre) - Fraction(low))
    # One step more than the exact quotient covers the rounding of value - centre.
    return Grid(low, high, centre, float(step), -(-farthest // step) + 1)


def ceil_log2(value: Fraction) -> int:
    """The smallest k with value <= 2^k."""
    k = value.numerator.bit_length() - value.denominator.bit_length()
    return k if value <= Fraction(2) ** k else k + 1


def range_of(value: Expression, scope: Mapping[str, Type]) -> Range:
    """The range of a value that has one; `query.check` has refused the others."""
    bounds = infer(value, scope).range
    assert bounds is not None  # noqa: S101 - narrowing
    return bounds


def ranks(value: Expression, where: Expression | None, scope: Mapping[str, Type]) -> Ranks:
    """A value ranked on equal cells; whole numbers that are few have a cell each, around them.

    Values that hardly differ share one cell.
    """
    bounds = range_of(value, scope)
    width = bounds.high - bounds.low
    if width < 2.0**_FINEST:
        return Ranks(value, where, bounds.low, bounds.high, 1)
    if infer(value, scope).kind is Kind.INTEGER and width < _CELLS:
        return Ranks(value, where, bounds.low - 0.5, bounds.high + 0.5, int(width) + 1)
    return Ranks(value, where, bounds.low, bounds.high, _CELLS)


def _less(value: Expression, centre: float) -> Expression:
    return Call(Function.SUBTRACT, (value, Literal(centre, Kind.REAL)))


def _half_width(of: Grid) -> float:
    return max(of.high - of.centre, of.centre - of.low)
