"""Noise once more, simulated or laid out, where its law alone does not say how far numbers move.

Noise of the same laws is drawn on top of the released numbers. Before anything is asked, a made-up
group goes through the same estimators, with noise laid out evenly over its law instead of drawn:
the same question always gets the same figures.
"""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.answer.estimate.aggregates import Floats, estimate
from discreet.answer.estimate.noisy_statistics import CONFIDENCE, NoisyStatistics
from discreet.answer.plan.measure import StatisticNoise
from discreet.answer.plan.quantile_draws import rank_error
from discreet.noise.bits import Keystream
from discreet.plan.bounding import NoiseKind
from discreet.plan.expressions import Expression
from discreet.plan.kinds import Type
from discreet.plan.public_facts import picking
from discreet.plan.query import EXTREMES, Aggregate, AggregateFunction, Query
from discreet.plan.statistics import Ranks, Statistic, Total, behind

POINTS = 1024
"""Points over which noise is laid out where there are too many groups to draw it for each."""

EXACT = {one for one in AggregateFunction if one.is_whole}
RANKED = EXTREMES | {AggregateFunction.QUANTILE, AggregateFunction.MODE}
IN_ROWS = "it is computed from a quantile or a mode, whose error is in rows"


def simulate(
    part: NoisyStatistics, draws: int, wanted: Iterable[Statistic] | None = None
) -> dict[Statistic, Floats]:
    """Simulated statistics, one row per draw; all of them unless some are named.

    Noise is wider if being shown implies it. What limits cut off is not noise: how far that moves a
    number (`NoisyStatistics.cut_off_alike`) is added to what is read off. It is neither secret nor
    random: the same statistics are simulated in the same way.
    """
    found: dict[Statistic, Floats] = {}
    shared: dict[object, list[Floats]] = {}
    of_these = part.statistics if wanted is None else [s for s in wanted if s in part.statistics]
    for i, statistic in enumerate(of_these):
        one, values = part.measurements[statistic], part.statistics[statistic]
        strategy, shape = one.measurement.strategy, (draws, values.size)
        if strategy not in shared:
            places = range(len(strategy.combinations))
            seeds = [(len(of_these) * place + i, values) for place in places]
            shared[strategy] = [simulated_noise(one.noise_kind, 1.0, shape, seed) for seed in seeds]
        found[statistic] = values + one.combine(shared[strategy]) * _wider(statistic, part)
    return found


def lay_out(part: NoisyStatistics) -> dict[Statistic, Floats]:
    """Like `simulate`, with the same noise for all groups: evenly spaced quantiles, a row each."""
    noises = laid_out({of: part.measurements[of] for of in part.statistics}, POINTS)
    return {
        of: values + noises[of][1:, None] * _wider(of, part)
        for of, values in part.statistics.items()
    }


def _wider(statistic: Statistic, part: NoisyStatistics) -> Floats | float:
    """How many times wider than noise alone the interval of each group is for being shown."""
    showing = part.shows_by(statistic)
    if showing is None:
        return 1.0
    plain = _plain(statistic, part)
    return np.asarray(showing.half_widths(part.statistics[statistic], plain) / plain)


def clipped_unevenly(statistic: Statistic, part: NoisyStatistics) -> Floats | float:
    """The factor of noise for several numbers of which limits cut off unequal shares.

    It is at most as wide as if everything that is cut off were noise of each single number.
    """
    lost = part.cut_off.get(statistic)
    if lost is None:
        return 1.0
    width = _plain(statistic, part) * _wider(statistic, part)
    return np.asarray(np.minimum(np.hypot(width, 2 * part.uneven(statistic)), width + lost) / width)


def _plain(statistic: Statistic, part: NoisyStatistics) -> float:
    # Exact noise may be 0 nearly always, so that it is off by 0; nothing is so many times wider.
    measurement = part.measurements[statistic]
    return max(measurement.error(CONFIDENCE), measurement.scale)


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
    """The factor of noise where noise selected the shown rows among all.

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


# --- before anything is asked ---------------------------------------------------------------------

GROUP = 1000
"""Rows of the made-up group, where the size of a group matters."""

_POINTS = 2048


@dataclass(frozen=True, slots=True)
class ExpectedError:
    """The half-width that noise alone gives a column, 95 times in 100.

    `unit` is "" for the column's own unit and "ranks" for quantiles, whose error is in places of a
    group's sorted values. `rows` is the size of the group it holds for; None if it does not matter.
    """

    half_width: float
    unit: str = ""
    rows: int | None = None


def expect(
    aggregate: Aggregate,
    plan: Mapping[Statistic, StatisticNoise],
    scope: Mapping[str, Type],
    needs: tuple[Statistic, ...],
    *,
    sharing: int = 1,
    bracketed: bool = False,
) -> ExpectedError:
    """Expected error of one aggregate that needs these statistics.

    `sharing` quantiles share its measurement; a quantile may be `bracketed` by an interval.
    """
    if isinstance(needs[0], Ranks):
        off = rank_error(plan[needs[0]], aggregate, sharing, 1 - CONFIDENCE, bracketed=bracketed)
        return ExpectedError(off, "ranks")
    if aggregate.measure.is_whole:
        return ExpectedError(plan[needs[0]].quantile(CONFIDENCE))
    noise = laid_out({s: plan[s] for s in needs})
    noisy = {s: (0.0 if isinstance(s, Total) else GROUP) + noise[s] for s in needs}
    found = estimate(aggregate, noisy, scope)
    width = float(np.quantile(np.abs(found[1:] - found[0]), CONFIDENCE))
    depends = aggregate.measure is not AggregateFunction.SUM
    return ExpectedError(width, rows=GROUP if depends else None)


def laid_out(
    noises: Mapping[Statistic, StatisticNoise], points: int = _POINTS
) -> dict[Statistic, Floats]:
    """The noise of each statistic: first none at all, then evenly over the law, at so many points.

    Statistics of one strategy share what they have in common.
    """
    strategies = dict.fromkeys(one.measurement.strategy for one in noises.values())
    ends = np.cumsum([0, *(len(one.combinations) for one in strategies)])
    firsts = dict(zip(strategies, ends, strict=False))
    even, found = spread_evenly(int(ends[-1]), points), {}
    for statistic, one in noises.items():
        first = firsts[one.measurement.strategy]
        found[statistic] = one.combine(list(even[one.noise_kind][first : first + len(one.signs)]))
    return found


def simulated_noise(
    noise_kind: NoiseKind, scale: float, shape: tuple[int, ...], seed: tuple[int, Floats]
) -> Floats:
    """Noise of a law, from a stream that a number and what was released fix: it hides nothing."""
    place, released = seed
    text = f"{place} {noise_kind.value} {float(scale).hex()} ".encode() + released.tobytes()
    size = math.prod(shape)
    words = Keystream(hashlib.sha256(text).digest()).words(2 * size)
    first, second = ((words + 0.5) / 2.0**64).reshape(2, size)
    if noise_kind is NoiseKind.LAPLACE:
        noise = np.log(first) * np.where(second < 0.5, scale, -scale)
    else:
        noise = scale * np.sqrt(-2 * np.log(first)) * np.cos(2 * math.pi * second)
    return np.asarray(noise.reshape(shape), dtype=np.float64)


@lru_cache(maxsize=16)
def spread_evenly(dimensions: int, points: int = _POINTS) -> dict[NoiseKind, Floats]:
    """Noise of scale 1, a row for each dimension: first none at all, then evenly over the law.

    The points are multiples of a generalised golden ratio: x is the root above 1 of
    x^(dimensions + 1) = x + 1, and the i-th coordinate moves on by x^-i, modulo 1.
    """
    root = 2.0
    for _ in range(64):
        root = (1 + root) ** (1 / (dimensions + 1))
    steps = root ** -np.arange(1.0, dimensions + 1)
    even = (0.5 + steps[:, None] * np.arange(1, points + 1)) % 1.0
    none = np.zeros((dimensions, 1))
    return {noise_kind: np.hstack([none, _shaped(even, noise_kind)]) for noise_kind in NoiseKind}


def _shaped(even: Floats, noise_kind: NoiseKind) -> Floats:
    if noise_kind is NoiseKind.LAPLACE:
        away = even - 0.5
        return -np.sign(away) * np.log1p(-2 * np.abs(away) * (1 - 2.0**-40))
    inverse = NormalDist().inv_cdf
    quantiles = np.array([inverse((i + 0.5) / _POINTS) for i in range(_POINTS)])
    return np.asarray(quantiles[(even * _POINTS).astype(np.int64)])
