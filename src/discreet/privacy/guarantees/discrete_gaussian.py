"""Discrete Gaussian noise on the integers."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, inf, isqrt

import numpy as np

from discreet.privacy.guarantees.guarantee import Guarantee, fill, people, stored_as
from discreet.privacy.guarantees.neighbours import Neighbours
from discreet.privacy.numerics.inversion import invert
from discreet.privacy.numerics.lattice import lattice_shape, log_theta_ratio, theta
from discreet.privacy.numerics.moments import Direction, Moments, OrderLine
from discreet.privacy.numerics.rounding import PI, UNIT, Bound, Interval, Number
from discreet.rationals import Real, positive, whole

_TERMS = 2**18
"""Outcomes summed at most; beyond, an integral encloses the sum."""


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

    Reference: Canonne, Kamath, Steinke, The Discrete Gaussian for Differential Privacy, Theorem 7
    (the profile); its concentration is proven there as well.
    """

    sensitivity: int
    variance: Fraction

    def __init__(
        self, sensitivity: int, variance: Real, *, neighbours: Neighbours = Neighbours.ADD_REMOVE
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
        s = Interval.of(order)
        share = log_theta_ratio(s * self.sensitivity, Interval.of(self.variance))
        return (s * (s + 1) * self._rho() + share).join(Interval.of(0))

    def moments(self, line: OrderLine, direction: Direction = Direction.REMOVE) -> Moments:
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
        deviation = isqrt(ceil(self.variance)) + 1
        # Outcomes beyond ten deviations on the left are next to nothing, and charged.
        first = max(floor(c) + 1, -10 * deviation)
        base = max(first, 0)
        count = base - first + 10 * deviation + 2
        if count > _TERMS:
            mass = self._integral(epsilon, c)
        else:
            inner = self._tail(first, base, count, first - c)
            left = (Interval.of(10 * deviation).square() / (Interval.of(self.variance) * -2)).exp()
            height = Interval.of(-Fraction(base * base) / (2 * self.variance)).exp()
            mass = height * Interval.between(inner, inner + left * (4 * deviation))
        return (mass / _whole_mass(self.variance)).bound("discrete gaussian", at_most=1.0)

    def _integral(self, epsilon: Fraction, c: Fraction) -> Interval:
        """Sum over n > c of f(n) = g(n) - e^epsilon g(n + steps), g(x) = e^(-x^2/(2 variance)).

        Why:
            A sum differs from the integral from half a step before by at most 1/8 of the total
            variation of f', the integral of |f''|. With h(x) = 1 - e^(-k (x - c)), k =
            steps/variance, f = g h and |f''| <= (x^2/v^2 + 1/v) g |h| + 2 |g'| h' + g |h''|. The
            first is at most (X^2/v^2 + 1/v) f up to X, twelve deviations further out, and beyond
            it adds up to at most g(X) (X/v + 2/X); before c, f is negative for half a step at
            most. All is relative to f about (depth^2 + 1)/(8 v), so the wider the noise the closer.
        """
        v, k = Interval.of(self.variance), Interval.of(self.sensitivity / self.variance)
        start = floor(c) + Fraction(1, 2)
        width, deviation = (PI * 2 * v).sqrt(), v.sqrt()
        tail = width * (start / deviation).normal_tail()
        moved = width * ((start + self.sensitivity) / deviation).normal_tail()
        whole = tail - Interval.of(epsilon).exp() * moved
        out = abs(start) + 12 * deviation
        before = k.expm1() * self._height(max(abs(start) - Fraction(1, 2), Fraction(0)))
        far = (out.square() / (v * -2)).exp() * (out / v + 2 / out)
        slope = k * 2 * (self._height(start) if start >= 0 else 2) + k.square() * tail
        error = (out.square() / v.square() + 1 / v) * (whole + before) + far + slope * k.exp()
        room = error.join(Interval.of(0)) / 8
        return Interval((whole - room).lo, (whole + room).hi).join(Interval.of(0))

    def _height(self, x: Fraction) -> Interval:
        return Interval.of(-(x * x) / (2 * self.variance)).exp()

    def _epsilon(self, delta: Fraction) -> Bound:
        if delta == 0:
            return Bound(inf, inf, "discrete gaussian")
        return invert(self._delta, delta)

    def _tail(self, first: int, base: int, count: int, gap: Fraction) -> Interval:
        """Sum over n = first + j of e^(-(n^2 - base^2)/(2 variance)) (1 - e^-(loss - epsilon)).

        Every term is positive; exponents stay below 60 wherever a term counts, each rounded a few
        times, so the relative error of a term is below 2^9 units and of the sum 2^9 + its length.
        Losses more than 60 beyond epsilon count as 60: e^-60 is less than a unit.
        """
        n = first + np.arange(count, dtype=np.float64)
        v, step, most = float(self.variance), self.sensitivity / self.variance, Fraction(60)
        above = float(min(gap * step, most)) + np.arange(count) * float(min(step, most))
        terms = np.exp(-(n - base) * (n + base) / (2 * v)) * -np.expm1(-above)
        relative = Interval.of((2**9 + 4 * count) * UNIT)
        return Interval.of(float(terms.sum())) * Interval.between(1 - relative, 1 + relative)


@lru_cache(maxsize=256)
def _whole_mass(variance: Fraction) -> Interval:
    """The sum of e^(-x^2/(2 variance)) over all integers."""
    return theta(Interval.of(0), Interval.of(variance))
