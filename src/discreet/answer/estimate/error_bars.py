"""How wrong each released number may be because of noise.

Counts have one noise, whose law gives the half-width exactly. What is computed from several noisy
numbers is computed again from many simulated ones: noise of the same laws on top of the released.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from discreet.answer.estimate.aggregates import (
    Floats,
    centre_of,
    compute,
    confine,
    correlated,
    estimate,
    quotient_width,
)
from discreet.answer.plan.expected_error import laid_out, simulated_noise
from discreet.answer.plan.measure import StatisticNoise
from discreet.answer.plan.thresholded_count import ThresholdedCount
from discreet.plan.bounding import NoiseKind
from discreet.plan.expressions import Expression
from discreet.plan.kinds import Type
from discreet.plan.public_facts import picking
from discreet.plan.query import Aggregate, AggregateFunction, Query
from discreet.plan.statistics import (
    Statistic,
    behind,
    plain_total,
    statistics_of,
)

CONFIDENCE = 0.95
_DRAWS = 1000
_CELLS = 4_000_000
_FEWEST = 200

POINTS = 1024
"""Points over which noise is laid out where there are too many groups to draw it for each."""

SLICE = 1 << 10
"""Groups whose error bars are computed at once, where there are many."""

NOTHING: Mapping[Statistic, Floats] = MappingProxyType({})
"""Shares cut off by stated limits: none, since intervals do not cover them."""

EXACT = {one for one in AggregateFunction if one.is_whole}
RANKED = {AggregateFunction.QUANTILE, AggregateFunction.MIN, AggregateFunction.MAX}
RANKED |= {AggregateFunction.MODE}
IN_ROWS = "it is computed from a quantile or a mode, whose error is in rows"

SAME_EVERYWHERE = EXACT | RANKED | {AggregateFunction.SUM}
"""Measures whose error bars need no simulation, or that of one group for all."""


def draws_for(groups: int) -> int:
    """How often to simulate this many groups; 0 where they are too many."""
    draws = min(_DRAWS, _CELLS // max(1, groups))
    return draws if draws >= _FEWEST else 0


def simulate(
    statistics: Mapping[Statistic, Floats],
    measurements: Mapping[Statistic, StatisticNoise],
    draws: int,
    showing: ThresholdedCount | None = None,
    lost: Mapping[Statistic, Floats] = NOTHING,
) -> dict[Statistic, Floats]:
    """Statistics as they might have come out, a row a draw.

    Noise is wider where being shown tells of it, and by what limits cut off (`lost`).
    It is no secret and no randomness: the same statistics are simulated in the same way.
    """
    found: dict[Statistic, Floats] = {}
    shared: dict[object, list[Floats]] = {}
    for i, (statistic, values) in enumerate(statistics.items()):
        one = measurements[statistic]
        strategy, shape = one.measurement.strategy, (draws, values.size)
        if strategy not in shared:
            places = range(len(strategy.combinations))
            seeds = [(len(statistics) * place + i, values) for place in places]
            shared[strategy] = [simulated_noise(one.noise_kind, 1.0, shape, seed) for seed in seeds]
        noise = one.combine(shared[strategy])
        found[statistic] = values + noise * _wider(statistic, values, one, showing, lost)
    return found


def lay_out(
    statistics: Mapping[Statistic, Floats],
    measurements: Mapping[Statistic, StatisticNoise],
    showing: ThresholdedCount | None = None,
    lost: Mapping[Statistic, Floats] = NOTHING,
) -> dict[Statistic, Floats]:
    """Like `simulate`, with the same noise for all groups: evenly spaced quantiles, a row each."""
    noises = {statistic: measurements[statistic] for statistic in statistics}
    return {
        statistic: statistics[statistic]
        + noise[1:, None]
        * _wider(statistic, statistics[statistic], noises[statistic], showing, lost)
        for statistic, noise in laid_out(noises, POINTS).items()
    }


def _wider(
    statistic: Statistic,
    values: Floats,
    measurement: StatisticNoise,
    showing: ThresholdedCount | None,
    lost: Mapping[Statistic, Floats],
) -> Floats | float:
    """How many times wider than noise alone the interval of each group is."""
    shown = showing is not None and showing.count.statistic == statistic
    if not shown and statistic not in lost:
        return 1.0
    # Exact noise may be 0 nearly always, so that it is off by 0; nothing is so many times wider.
    plain = max(measurement.error(CONFIDENCE), measurement.scale)
    widths = plain + lost.get(statistic, np.zeros(values.size))
    if shown and showing is not None:
        widths += showing.half_widths(values, plain) - plain
    return np.asarray(widths / plain)


def half_width(
    aggregate: Aggregate,
    statistics: Mapping[Statistic, Floats],
    simulated: Mapping[Statistic, Floats],
    measurements: Mapping[Statistic, StatisticNoise],
    scope: Mapping[str, Type],
    showing: ThresholdedCount | None = None,
    lost: Mapping[Statistic, Floats] = NOTHING,
) -> tuple[Floats, str]:
    """The half-width of each group's interval, and how it was found; of no quantile."""
    if (
        aggregate.measure is AggregateFunction.SUM
        and (alone := plain_total(aggregate, scope)) in statistics
    ):
        size = statistics[alone].size
        return measurements[alone].error(CONFIDENCE) + lost.get(alone, np.zeros(size)), "exact"
    first = statistics_of(aggregate, scope)[0]
    size = statistics[first].size
    if aggregate.measure.is_whole:
        plain: Floats = np.full(size, measurements[first].error(CONFIDENCE))
        if showing is not None and showing.count.statistic == first and size:
            plain = showing.half_widths(statistics[first], float(plain[0]))
        # Counts are shown as whole numbers, which moves them by half of one at most.
        return plain + 0.5 + lost.get(first, 0.0), "exact"
    shared = showing is not None and showing.count.statistic == first
    if aggregate.measure is AggregateFunction.SUM and not shared:  # the same in every group
        # Laid out around nothing: drawn noise would make equal answers wander.
        none = {of: np.zeros(1) for of in statistics_of(aggregate, scope)}
        one = spread(estimate(aggregate, lay_out(none, measurements), scope), np.zeros(1))
        taken = [lost.get(of, np.zeros(size)) for of in (first, statistics_of(aggregate, scope)[1])]
        away = abs(centre_of(aggregate, scope))
        return np.resize(one, size) + taken[1] + away * taken[0], "by simulation"
    computed = compute(aggregate, statistics, scope)
    if aggregate.measure is AggregateFunction.CORRELATION:
        pairs = (correlated(aggregate, one, scope) for one in (statistics, simulated))
        tops, bottoms = map(np.vstack, zip(*pairs, strict=True))
        return quotient_width(tops, bottoms, computed, (-1.0, 1.0)), "by simulation"
    width = spread(compute(aggregate, simulated, scope), computed)
    # Around what was computed, not what is shown: where a variance came out below 0 and is shown
    # as 0, most of the simulated ones are below 0 too, and would say that nothing is off.
    low, high = (confine(aggregate, computed + way, scope) for way in (-width, width))
    middle = confine(aggregate, computed, scope)
    return np.maximum(high - middle, middle - low), "by simulation"


def spread(simulated: Floats, middle: Floats) -> NDArray[np.float64]:
    """The distance from the middle that holds the stated share of simulated values, a row a draw.

    It is NaN where a value could not be computed in one of the draws.
    """
    away = np.ascontiguousarray(np.abs(simulated - middle).T)
    place, last = math.ceil(CONFIDENCE * (away.shape[1] - 1)), away.shape[1] - 1
    away.partition((place, last), axis=1)  # NaN comes last
    return np.where(np.isnan(away[:, last]), np.nan, away[:, place])


# --- rows that are picked by their noisy numbers --------------------------------------------------
# HAVING COUNT(*) > 30, or ORDER BY COUNT(*) DESC LIMIT 10, rather show rows whose noise was high.
# Of all intervals at 95 % one in 20 fails, and those may be just the ones that are shown.


def wider_by(shown: int, rows: int, noise_kinds: Sequence[NoiseKind], *, picked: bool) -> float:
    """How many times wider noise is reckoned where it has picked some rows that are shown of all.

    It is that of Laplace noise at the higher confidence, if there is any.

    Why: at a confidence of 1 - 0.05 shown/rows no more than 0.05 shown of all intervals are
    expected to fail, so no more of those that are shown: a share of 0.05 in an average answer,
    where one that shows nothing has no failures. Only released numbers are read: `rows` are those
    of all groups that were measured and found, also of groups that a public condition alone would
    leave out.

    Reference: Benjamini, Yekutieli 2005, False Discovery Rate-Adjusted Multiple Confidence
    Intervals for Selected Parameters.
    """
    if not picked or not 0 < shown < rows:
        return 1.0
    failure, few = 1 - CONFIDENCE, (1 - CONFIDENCE) * shown / rows
    if NoiseKind.LAPLACE in noise_kinds:
        return math.log(few) / math.log(failure)
    inverse = NormalDist().inv_cdf
    return inverse(few / 2) / inverse(failure / 2)


def is_picked(query: Query, shown: Expression) -> bool:
    """Whether a number shares noise with what decides which rows are shown."""
    return bool(set(behind(query, picking(query))).intersection(behind(query, [shown])))
