"""Discrete Gaussian noise on the integers."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, inf, isqrt

import numpy as np

from discreet.privacy.bound import Bound
from discreet.privacy.guarantee import Guarantee, fill, people, stored_as
from discreet.privacy.inversion import invert
from discreet.privacy.lattice import lattice_shape, log_theta_ratio, theta
from discreet.privacy.moments import Direction, Line, Moments
from discreet.privacy.neighbours import Neighbours
from discreet.privacy.rounding import UNIT, Interval, Number
from discreet.privacy.zcdp import ZCDP
from discreet.rationals import Real, positive, whole

_TERMS = 2**22
"""Outcomes summed at most; beyond, the concentrated bound answers."""


@stored_as("discrete-gaussian-noise/1")
@dataclass(frozen=True, slots=True, init=False)
class DiscreteGaussianNoise(Guarantee):
    """Integer noise x with probability proportional to e^(-x^2/(2 variance)).

    Guarantee:
        The pair is exactly two such laws `sensitivity` steps apart: rho = sensitivity^2/(2
        variance), and delta(epsilon) summed term by term.
    Why:
        M(s) = e^(s (s + 1) rho) theta(s sensitivity)/theta(0) with theta(c) = sum_x e^(-(x +
        c)^2/(2 variance)), and the ratio is at most 1, with equality at whole s sensitivity.
    Edge cases:
        `variance` is the parameter sigma^2; the true variance is a little smaller when it is small.

    Example:
        >>> DiscreteGaussianNoise(1, 100).rho().upper
        0.005

    Reference: Canonne, Kamath, Steinke, The Discrete Gaussian, Theorems 4 and 7.
    """

    sensitivity: int
    variance: Fraction

    def __init__(
        self,
        sensitivity: int,
        variance: Real,
        *,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        fill(
            self,
            sensitivity=whole(sensitivity, "sensitivity", at_least=1),
            variance=positive(variance, "variance"),
            neighbours=neighbours,
        )

    def rho(self) -> Bound:
        """Rho = sensitivity^2/(2 variance)."""
        return Interval.of(self._rho()).bound("discrete gaussian")

    def group(self, k: int) -> "DiscreteGaussianNoise":
        """K people move the answer k times as far."""
        return DiscreteGaussianNoise(
            people(k) * self.sensitivity, self.variance, neighbours=self.neighbours
        )

    def log_mgf(self, order: Number, direction: Direction = Direction.REMOVE) -> Interval:
        """S (s + 1) rho and the lattice's share, at most 0."""
        del direction
        s = Interval.of(order)
        share = log_theta_ratio(s * self.sensitivity, Interval.of(self.variance))
        return (s * (s + 1) * self._rho() + share).join(Interval.of(0))

    def moments(self, line: Line, direction: Direction = Direction.REMOVE) -> Moments:
        """By summing outcomes or frequencies, whichever are fewer."""
        scale = self.log_mgf(line.lam, direction)
        phi, error = lattice_shape(self.sensitivity, float(self.variance), line)
        middle = (scale.lower + scale.upper) / 2
        return Moments(middle, scale.upper - scale.lower, phi, error)

    def _rho(self) -> Fraction:
        return Fraction(self.sensitivity**2) / (2 * self.variance)

    def _delta(self, epsilon: Fraction) -> Bound:
        # The loss of outcome -n exceeds epsilon from n > c = epsilon variance/steps - steps/2 on.
        c = epsilon * self.variance / self.sensitivity - Fraction(self.sensitivity, 2)
        first = floor(c) + 1
        base = max(first, 0)
        deviation = isqrt(ceil(self.variance)) + 1
        count = base - first + 10 * deviation + 2
        if count > _TERMS:
            return ZCDP(self._rho()).delta(epsilon)
        inner = self._tail(first, base, count, float(first - c))
        left = (Interval.of(10 * deviation).square() / (Interval.of(self.variance) * -2)).exp()
        beyond = left * (2 * deviation)
        height = (Interval.of(-Fraction(base * base) / (2 * self.variance))).exp()
        whole_mass = _whole_mass(self.variance)
        answer = height * Interval.between(inner, inner + beyond) / whole_mass
        return answer.bound("discrete gaussian", at_most=1.0)

    def _epsilon(self, delta: Fraction) -> Bound:
        if delta == 0:
            return Bound(inf, inf, "discrete gaussian")
        return invert(self._delta, delta)

    def _tail(self, first: int, base: int, count: int, gap: float) -> Interval:
        """Sum over n = first + j of e^(-(n^2 - base^2)/(2 variance)) (1 - e^-(loss - epsilon)).

        Every term is positive; exponents stay below 60 wherever a term counts, each rounded a few
        times, so the relative error of a term is below 2^9 units and of the sum 2^9 + its length.
        """
        n = first + np.arange(count, dtype=np.float64)
        v = float(self.variance)
        above = (gap + np.arange(count)) * (self.sensitivity / v)
        terms = np.exp(-(n - base) * (n + base) / (2 * v)) * -np.expm1(-above)
        relative = Interval.of((2**9 + 4 * count) * UNIT)
        return Interval.of(float(terms.sum())) * Interval.between(1 - relative, 1 + relative)


@lru_cache(maxsize=256)
def _whole_mass(variance: Fraction) -> Interval:
    """The sum of e^(-x^2/(2 variance)) over all integers."""
    return theta(Interval.of(0), Interval.of(variance))
