"""Measurements: exact integers meet exact noise, through an audited mechanism."""

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import Laplace, RoundedGaussian
from discreet.mechanisms.grid import INTEGERS, sqrt_up
from discreet.plan.bounding import FULL, ContributionBounds, NoiseKind
from discreet.plan.sensitivity import Strategy, sensitivity
from discreet.plan.statistics import Distinct, DistinctTotal, Statistic, Total
from discreet.privacy import Guarantee, Neighbours, Pure, Ranges
from discreet.rationals import Real

_ROOM = 1 << 62
"""Sums of 64-bit numbers are computed as such below this."""

LARGEST = sys.float_info.max
"""Totals beyond it are reported as this: no answer is infinite."""

_FINEST = 32
"""The largest epsilon for which counts have whole-number noise."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One strategy measured in all groups: noise, sensitivity and cost.

    `cost` is epsilon for Laplace noise and rho for Gaussian noise. `whole` says that all
    weights are full, so that all numbers are multiples of FULL and noise is too.
    """

    strategy: Strategy
    contributions: ContributionBounds
    cost: Fraction
    neighbours: Neighbours
    whole: bool = False
    sensitivity: Fraction = field(init=False)
    """Over all groups, in the norm of the noise.

    Changing a person is removing one and adding one, and norms add up.
    """
    step: int = field(init=False)
    """The step of the noise: FULL where all exact numbers are multiples of it.

    Noise that would hardly ever be a whole row is made on the finer grid.
    """

    def __post_init__(self) -> None:
        people = 1 if self.neighbours is Neighbours.ADD_REMOVE else 2
        moved = people * sensitivity(self.strategy, self.contributions)
        whole = self.whole or isinstance(self.strategy.statistics[0], Distinct)
        fine = _FINEST if self.noise_kind is NoiseKind.LAPLACE else (moved / FULL) ** 2 / 2
        object.__setattr__(self, "sensitivity", moved)
        object.__setattr__(self, "step", FULL if whole and self.cost <= fine else 1)

    @property
    def noise_kind(self) -> NoiseKind:
        """The kind of the noise."""
        return self.contributions.noise_kind

    @property
    def mechanism(self) -> Laplace | RoundedGaussian:
        """The mechanism; the noise of each number is the same, however many there are at once."""
        moved, about = self.sensitivity / self.step, self.neighbours
        if self.noise_kind is NoiseKind.LAPLACE:
            return laplace(self.cost, moved, about)
        return gaussian(2 * self.cost, moved, about)

    def release(self, totals: Sequence[NDArray[np.int64]]) -> list[NDArray[Any]]:
        """Noisy combinations of exact totals of some groups; of no groups there are none."""
        size = totals[0].size
        if not size:
            return [totals[0] for _ in self.strategy.combinations]
        exact = np.concatenate([weighed(row, totals) for row in self.strategy.combinations])
        noisy: NDArray[Any] = self.mechanism.release(exact // self.step)
        return [noisy[i : i + size] for i in range(0, noisy.size, size)]

    def view(self, statistic: Statistic) -> "StatisticNoise":
        """One of the statistics, as a sum of noisy numbers."""
        place = self.strategy.statistics.index(statistic)
        return StatisticNoise(self, statistic, self.strategy.inverse[place])

    def typical(self) -> float:
        """The median size of the noise, relative to what one row or person adds at most."""
        if self.noise_kind is NoiseKind.LAPLACE:
            size = math.log(2) / float(self.cost)
        else:
            size = 0.6745 / math.sqrt(2 * float(self.cost))
        return float(self.sensitivity) * size / (FULL * self.strategy.each)


def weighed(times: Sequence[int], numbers: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Whole multiples of whole numbers added up, exactly: also where 64 bits would not do."""
    used = [(count, one) for count, one in zip(times, numbers, strict=True) if count]
    if len(used) == 1 and used[0][0] == 1:
        return used[0][1]
    farthest = sum(
        abs(count) * max(-int(one.min(initial=0)), int(one.max(initial=0))) for count, one in used
    )
    kind = np.int64 if farthest < _ROOM else object
    return np.asarray(sum(count * one.astype(kind) for count, one in used))


@lru_cache(maxsize=1024)
def laplace(epsilon: Fraction, moved: Fraction, neighbours: Neighbours) -> Laplace:
    """Laplace noise on whole numbers that a person moves so far."""
    return Laplace(epsilon=epsilon, sensitivity=moved, grid=INTEGERS, neighbours=neighbours)


@lru_cache(maxsize=1024)
def gaussian(mu_squared: Fraction, moved: Fraction, neighbours: Neighbours) -> RoundedGaussian:
    """Gaussian noise on whole numbers that a person moves so far, in l2."""
    return RoundedGaussian(
        mu_squared=mu_squared, sensitivity=moved, grid=INTEGERS, neighbours=neighbours
    )


@dataclass(frozen=True, slots=True)
class StatisticNoise:
    """One statistic of a measurement: the sum, with these signs, of numbers that have one noise."""

    measurement: Measurement
    statistic: Statistic
    signs: tuple[int, ...]
    shrunk: float = 1.0
    """The deviation beside that of what was measured; less once grouping sets are consistent."""

    @property
    def noise_kind(self) -> NoiseKind:
        """The law of each noise."""
        return self.measurement.noise_kind

    @property
    def terms(self) -> int:
        """How many noises it has in it."""
        return sum(map(abs, self.signs))

    @property
    def unit(self) -> float:
        """How many steps are worth one row, one person, or 1 of a value."""
        strategy, step = self.measurement.strategy, self.measurement.step
        divisor = strategy.divisors[strategy.statistics.index(self.statistic)]
        worth = self.statistic.grid.step if isinstance(self.statistic, Total) else 1.0
        return divisor * (FULL // step) / worth

    @property
    def moves(self) -> float:
        """How far one person moves it at most, in rows, people or values."""
        most = self.statistic.grid if isinstance(self.statistic, Total) else None
        each = 1.0 if most is None else most.reach * most.step
        if isinstance(self.statistic, DistinctTotal):
            each = float(self.statistic.reach)
        return float(self.measurement.sensitivity) / (FULL * self.measurement.strategy.each) * each

    @property
    def scale(self) -> float:
        """Scale of the noise in rows, people or values: b of Laplace, sigma of Gaussian noise."""
        moved = float(self.measurement.sensitivity) / self.measurement.step / self.unit
        moved *= self.shrunk
        cost = float(self.measurement.cost)
        return moved / cost if self.noise_kind is NoiseKind.LAPLACE else moved / math.sqrt(2 * cost)

    @property
    def variance(self) -> float:
        """Variance of all noise in it."""
        return self.terms * self.scale**2 * (2 if self.noise_kind is NoiseKind.LAPLACE else 1)

    def values(self, numbers: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        """The statistic in rows, people or values, from the noisy numbers of its strategy."""
        exact = np.asarray(weighed(self.signs, numbers), dtype=np.float64)
        with np.errstate(over="ignore"):
            return np.clip(exact / self.unit, -LARGEST, LARGEST)

    def combine(self, noises: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Noise of scale 1 on each number, as the noise of the statistic."""
        used = [sign * noise for sign, noise in zip(self.signs, noises, strict=True) if sign]
        return np.asarray(self.scale * sum(used[1:], used[0]))

    def error(self, confidence: Real = 0.95) -> float:
        """The half-width of one group's noise, in rows, people or values."""
        if self.shrunk != 1:  # an average of noises that are rounded: each has 1/12 more variance
            steps = self.scale * self.unit / self.shrunk
            return self.quantile(float(confidence)) * math.hypot(1, 12**-0.5 / steps)
        if self.terms == 1:
            return self.measurement.mechanism.error(confidence) / self.unit
        # Whole steps may miss the quantile of the continuous law by one each.
        return self.quantile(float(confidence)) + self.terms / self.unit

    def quantile(self, confidence: float) -> float:
        """The half-width of noise that is not rounded to a grid."""
        if self.noise_kind is NoiseKind.GAUSSIAN:
            normal = NormalDist().inv_cdf((1 + confidence) / 2)
            return self.scale * math.sqrt(self.terms) * normal
        return self.scale * laplace_quantile(self.terms, 1 - confidence)


def laplace_quantile(terms: int, failure: float) -> float:
    """A bound on the sum of 1, 2 or 3 Laplace noises of scale 1, except for failures.

    Why: the sum of k has the density of a difference of two Gamma(k). Integrated, |sum| > x has
    probability e^-x, e^-x (1 + x/2) and e^-x (1 + 5x/8 + x^2/8).

    Example:
        >>> [round(laplace_quantile(k, 0.05), 3) for k in (1, 2, 3)]
        [2.996, 4.113, 4.969]
    """
    tails = {1: (1.0, 0.0, 0.0), 2: (1.0, 0.5, 0.0), 3: (1.0, 0.625, 0.125)}
    one, linear, square = tails[terms]
    low, high = 0.0, 800.0
    for _ in range(64):
        middle = (low + high) / 2
        tail = math.exp(-middle) * (one + linear * middle + square * middle**2)
        low, high = (middle, high) if tail > failure else (low, middle)
    return high


def quantile_scale(measurement: Measurement, apart: Fraction, levels: Fraction | int) -> Fraction:
    """The temperature of the exponential mechanism for one of `levels` quantiles of a group.

    Why: one person's weights w_g in the groups move two scores of group g apart by r w_g / scale, r
    = `apart`. In all that is epsilon = r sum(w_g)/scale, or rho = r^2 sum(w_g^2)/(8 scale^2), and
    the limits hold sum(w_g), or the root of sum(w_g^2), to the sensitivity.
    """
    width = apart * measurement.sensitivity
    if measurement.noise_kind is NoiseKind.LAPLACE:
        return width * levels / measurement.cost
    return width * sqrt_up(levels / (8 * measurement.cost))


def quantile_guarantee(
    measurement: Measurement, draws: Sequence[tuple[Fraction, Fraction]]
) -> Guarantee:
    """The joint guarantee of quantiles whose scores a row moves so far apart, at these scales."""
    parts = [apart * measurement.sensitivity / scale for apart, scale in draws]
    if measurement.noise_kind is NoiseKind.LAPLACE:
        return Pure(sum(parts, Fraction(0)), neighbours=measurement.neighbours)
    rho = sum((part * part for part in parts), Fraction(0)) / 8
    return Ranges(rho, neighbours=measurement.neighbours)
