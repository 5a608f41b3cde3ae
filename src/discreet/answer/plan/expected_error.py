"""How far noise will move each column, before anything is asked: public facts alone.

A made-up group of a stated size goes through the same estimators as real ones, with noise laid out
evenly over its law instead of drawn, so that the same question always gets the same figures.
"""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.answer.estimate.aggregates import estimate
from discreet.answer.plan.measure import StatisticNoise, quantile_scale
from discreet.noise.bits import Keystream
from discreet.plan.bounding import FULL, NoiseKind
from discreet.plan.kinds import Type
from discreet.plan.query import Aggregate, AggregateFunction, level_of
from discreet.plan.statistics import Ranks, Statistic, Total

Floats = NDArray[np.float64]

GROUP = 1000
"""Rows of the made-up group, where the size of a group matters."""

_POINTS = 2048


@dataclass(frozen=True, slots=True)
class ExpectedError:
    """The half-width that noise alone gives a column, 95 times in 100.

    `unit` is "" for the column's own unit and "ranks" for quantiles, whose error is in places of a
    group's sorted values. `rows` is the size of the group it holds for; None where it does not
    matter.
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
    sharing: Fraction | int = 1,
    confidence: float = 0.95,
) -> ExpectedError:
    """Expected error of one aggregate that needs these statistics.

    `sharing` quantiles share its measurement.
    """
    if isinstance(needs[0], Ranks):
        return ExpectedError(
            rank_error(plan[needs[0]], aggregate, sharing, 1 - confidence), "ranks", None
        )
    if aggregate.measure.is_whole:
        return ExpectedError(plan[needs[0]].quantile(confidence))
    noise = laid_out({s: plan[s] for s in needs})
    noisy = {s: (0.0 if isinstance(s, Total) else GROUP) + noise[s] for s in needs}
    found = estimate(aggregate, noisy, scope)
    moved = found[1:] - found[0]
    depends = aggregate.measure is not AggregateFunction.SUM
    return ExpectedError(
        float(np.quantile(np.abs(moved), confidence)), "", GROUP if depends else None
    )


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


def rank_error(
    measurement: StatisticNoise, aggregate: Aggregate, sharing: Fraction | int, failure: float
) -> float:
    """How many rows lie between a released quantile and the true one at most, but for failures.

    Cells that miss by t ranks have weight exp(-t/scale): all of them together rarely win. In values
    there is no such bound: with half of the rows at either end of the range, a few rows decide
    whether the median is at one end or the other, and the released one is anywhere between.
    """
    statistic = measurement.statistic
    cells = statistic.cells if isinstance(statistic, Ranks) else 1
    scale = quantile_scale(measurement.measurement, level_of(aggregate), sharing)
    return float(scale) * math.log(cells / failure) / FULL


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
