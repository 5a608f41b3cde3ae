"""The least price that gives a requested accuracy, from public facts alone."""

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.answer.estimate.aggregates import grid_of
from discreet.answer.plan.measure import StatisticNoise
from discreet.answer.plan.planning import (
    InfeasiblePriceError,
    histograms_of,
    plan_sets,
    single_sets,
)
from discreet.answer.plan.price import Price
from discreet.answer.plan.set_plan import SetPlan
from discreet.answer.present.release import Release
from discreet.errors import InputError
from discreet.plan.bounding import NoiseKind
from discreet.plan.query import Aggregate, AggregateFunction, Query, questions_in
from discreet.plan.statistics import Statistic, statistics_in
from discreet.privacy import Neighbours
from discreet.privacy.budgets.charges import Measure as AccountMeasure
from discreet.rationals import Real, positive, whole

_ROUNDING = 0.5
"""Counts are released as whole numbers."""

_PRICES = 9 * 900
"""Prices to choose from: three digits each, from 0.000001 to 999."""


@dataclass(frozen=True, slots=True, init=False)
class Accuracy:
    """The largest error from noise that is acceptable, with a stated confidence.

    `within` is in the column's own unit; with `of` it is a share ("2 %" or 0.02) of a public size:
    one that the analyst states, or the smallest number of an earlier release. `columns` are the
    aggregates it applies to, by default all. `rows` is a lower bound on the rows of the smallest
    group; without it no error of a mean can be promised.

    Example:
        >>> Accuracy("2 %", of=10_000).target("n")
        Fraction(200, 1)
    """

    within: Fraction
    of: Fraction | Release | None
    confidence: Fraction
    columns: tuple[str, ...] | None
    rows: int | None

    def __init__(
        self,
        within: Real | str,
        *,
        of: Real | Release | None = None,
        confidence: Real = 0.95,
        columns: Sequence[str] | str | None = None,
        rows: int | None = None,
    ) -> None:
        facts = {
            "within": _within(within, relative=of is not None),
            "of": of if of is None or isinstance(of, Release) else positive(of, "of"),
            "confidence": _confidence(confidence),
            "columns": None if columns is None else _columns(columns),
            "rows": None if rows is None else whole(rows, "rows", at_least=1),
        }
        for name, fact in facts.items():
            object.__setattr__(self, name, fact)

    def target(self, column: str) -> Fraction:
        """The requested half-width of a column, in its own unit."""
        size = _smallest(self.of, column) if isinstance(self.of, Release) else self.of
        return self.within if size is None else self.within * size


def price_for(
    query: Query,
    accuracy: Accuracy,
    *,
    delta: Real = 0,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
    noise_kinds: Sequence[NoiseKind] = tuple(NoiseKind),
    measure: AccountMeasure | None = None,
) -> Price:
    """The least price, to three digits, at which every column that is asked for is so accurate.

    Noise is meant: what limits and bounds cut off, and sampling error, is additional. With the
    stated confidence each single number is within its target. Of several answers that are put
    together, those of every answer are.
    """
    if any(histograms_of(part) for part in single_sets(query)):
        raise InputError(
            "an accuracy is asked for and one person's rows and groups have no stated limits",
            why="noise grows with them, and choosing them is part of the answer",
            fix="state max_groups and max_rows, or ask with a small epsilon first and measure "
            "again",
        )
    targets = {aggregate: accuracy.target(aggregate.name) for aggregate in _asked(query, accuracy)}

    def good(place: int) -> bool:
        try:
            plans = plan_sets(
                query, Price(_epsilon(place), delta), neighbours, noise_kinds, measure
            )
        except InfeasiblePriceError:
            return False
        return all(_fits(plan, targets, accuracy) for plan in plans)

    return Price(_epsilon(_first(good)), delta)


# --- what is asked ------------------------------------------------------------------------------


def _within(within: Real | str, *, relative: bool) -> Fraction:
    if isinstance(within, str):
        if not relative or not within.rstrip().endswith("%"):
            raise InputError(
                f"within is {within!r}",
                why="a share has to be a share of something",
                fix='pass within="2 %" with of=..., or a number in the unit of the column',
            )
        try:
            share = Fraction(within.rstrip()[:-1].strip())
        except (ValueError, ZeroDivisionError):
            raise InputError(
                "within is no percentage", why="it has to be a number and %", fix='write "2 %"'
            ) from None
        return positive(share, "within") / 100
    share = positive(within, "within")
    if relative and share >= 1:
        raise InputError(
            f"within is {within} of something",
            why="that is all of it and more",
            fix='write a share below 1, or with a sign: "2 %"',
        )
    return share


def _confidence(confidence: Real) -> Fraction:
    exact = positive(confidence, "confidence")
    if exact < 1:
        return exact
    raise InputError(
        f"confidence is {confidence}", why="noise has no end", fix="pass it below 1, as 0.95"
    )


def _columns(columns: Sequence[str] | str) -> tuple[str, ...]:
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    if names:
        return names
    raise InputError(
        "an accuracy is asked of no columns",
        why="columns is empty, and any price would do",
        fix="name some in columns=..., or leave it out for all",
    )


def _smallest(release: Release, column: str) -> Fraction:
    values = (
        release.table.column(column).to_pylist() if column in release.table.column_names else []
    )
    known = [abs(Fraction(v)) for v in values if isinstance(v, int | float) and math.isfinite(v)]
    if known and min(known) > 0:
        return min(known)
    raise InputError(
        f"the earlier release has no size for {column}",
        why="a share needs a number of that name, and none that is 0",
        fix="pass of=... as a number, or ask for an absolute accuracy",
    )


def _asked(query: Query, accuracy: Accuracy) -> list[Aggregate]:
    known: dict[str, list[Aggregate]] = {}
    for aggregate in (one for question in questions_in(query) for one in question.aggregates):
        known.setdefault(aggregate.name, []).append(aggregate)
    names = list(known) if accuracy.columns is None else accuracy.columns
    for name in names:
        if name not in known:
            raise InputError(
                f"no aggregate is called {name}",
                why=f"they are {', '.join(known)}",
                fix="name one of them",
            )
    return [aggregate for name in names for aggregate in known[name]]


# --- what noise allows --------------------------------------------------------------------------


def _fits(plan: SetPlan, targets: Mapping[Aggregate, Fraction], accuracy: Accuracy) -> bool:
    assert plan.contributions is not None  # noqa: S101 - narrowing: limits are stated
    noises = plan.noises(plan.contributions)
    return all(
        certain_half_width(aggregate, plan.query, noises, accuracy) <= target
        for aggregate, target in targets.items()
        if aggregate in plan.query.aggregates
    )


def certain_half_width(
    aggregate: Aggregate, query: Query, plan: Mapping[Statistic, StatisticNoise], accuracy: Accuracy
) -> float:
    """A half-width that holds with at least the confidence, by the laws of the noise alone.

    Why: a sum is a centred total T and a count N, each off by at most its half-width, except in
    half of the failures. A mean is c + T/N with |T/N| <= r, so noises x and y move it by |Nx -
    Ty|/(N(N + y)) <= (|x| + r|y|)/(N - |y|).
    """
    needs = statistics_in(query)[aggregate]
    first, confidence = plan[needs[0]], accuracy.confidence
    if aggregate.measure.is_whole:
        return first.error(confidence) + _ROUNDING
    if aggregate.measure not in {AggregateFunction.SUM, AggregateFunction.MEAN}:
        raise InputError(
            f"an accuracy is asked of {aggregate.name}",
            why=f"how far noise moves a {aggregate.measure.value} depends on the data",
            fix="name counts, sums or means in columns=..., or pass epsilon instead",
        )
    if aggregate.measure is AggregateFunction.SUM and len(needs) == 1:
        return first.error(confidence)
    each = (1 + confidence) / 2
    rows, total, grid = first.error(each), plan[needs[1]].error(each), grid_of(needs[1])
    if aggregate.measure is AggregateFunction.SUM:
        return total + abs(grid.centre) * rows
    if (size := accuracy.rows) is None:
        raise InputError(
            f"an accuracy is asked of the mean {aggregate.name}",
            why="noise moves the mean of a small group further",
            fix="state rows=..., how many rows the smallest group has at least",
        )
    across = max(grid.high - grid.centre, grid.centre - grid.low)
    return (total + across * rows) / (size - rows) if size > rows else math.inf


# --- the least price ----------------------------------------------------------------------------


def _epsilon(place: int) -> Fraction:
    decade, step = divmod(place, 900)
    return Fraction((100 + step) * 10**decade, 10**8)


def _first(good: Callable[[int], bool]) -> int:
    """The first good place, by halving: what it returns has been tried and is good."""
    if good(_PRICES - 1):
        return bisect_left(range(_PRICES - 1), True, key=good)  # noqa: FBT003 - the first that is
    raise InputError(
        "no price gives that accuracy",
        why=f"even epsilon {float(_epsilon(_PRICES - 1)):g} does not",
        fix="ask for less, for fewer columns, or state tighter limits and bounds",
    )
