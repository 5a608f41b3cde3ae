"""Gaussian differential privacy, and discrete Gaussian noise on the integers."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, inf, isqrt
from statistics import NormalDist
from typing import Self

import numpy as np

from discreet.privacy.guarantees.guarantee import Guarantee, fill, people, stored_as
from discreet.privacy.guarantees.neighbours import Neighbours
from discreet.privacy.numerics import shapes
from discreet.privacy.numerics.inversion import invert
from discreet.privacy.numerics.lattice import lattice_shape, log_theta_ratio, theta
from discreet.privacy.numerics.moments import Direction, Moments, OrderLine
from discreet.privacy.numerics.rounding import PI, UNIT, Bound, Interval, Number
from discreet.rationals import Real, non_negative, positive, whole


@dataclass(frozen=True, slots=True, init=False)
class _Normal(Guarantee):
    """The pair N(mu, 1), N(0, 1): its loss is N(mu^2/2, mu^2)."""

    mu: Fraction

    def __init__(self, mu: Real, *, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> None:
        fill(self, mu=non_negative(mu, "mu"), neighbours=neighbours)

    def rho(self) -> Bound:
        """Rho = mu^2/2."""
        return Interval.of(self.mu * self.mu / 2).bound("gaussian")

    def group(self, k: int) -> Self:
        """K people cost k mu."""
        return type(self)(people(k) * self.mu, neighbours=self.neighbours)

    def log_mgf(self, order: Number, direction: Direction = Direction.REMOVE) -> Interval:
        """S (s + 1) mu^2/2."""
        s = Interval.of(order)
        return s * (s + 1) * (self.mu * self.mu / 2)

    def closed_form(self) -> tuple[shapes.Shape, float]:
        """Gaussian."""
        return shapes.GAUSSIAN, float(self.mu)

    def _delta(self, epsilon: Fraction) -> Bound:
        return gaussian_delta(Interval.of(self.mu), epsilon).bound("gaussian", at_most=1.0)

    def _tradeoff(self, alpha: Fraction) -> float:
        return gaussian_tradeoff(Interval.of(self.mu), alpha)


@stored_as("gdp/1")
@dataclass(frozen=True, slots=True, init=False)
class GDP(_Normal):
    """mu-Gaussian differential privacy.

    Guarantee:
        Telling neighbours apart is no easier than telling N(mu, 1) from N(0, 1) by one draw.
    Why:
        delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu); composition
        adds the squares of mu exactly.
    Edge cases:
        mu = 0 reveals nothing at all.

    Example:
        >>> round(GDP(1).epsilon(1e-6).upper, 6)
        4.886554

    Reference: Dong, Roth, Su, Gaussian Differential Privacy (the profile of mu; its composition).
    """

    @staticmethod
    def of_square(square: Fraction, *, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> "GDP":
        """The guarantee with this mu^2, its root rounded up if it is not rational."""
        return GDP(root_up(square), neighbours=neighbours)


@stored_as("gaussian-noise/1")
@dataclass(frozen=True, slots=True, init=False)
class GaussianNoise(_Normal):
    """Gaussian noise of standard deviation sensitivity/mu.

    Guarantee:
        The pair is exactly N(mu, 1), N(0, 1): mu-Gaussian differential privacy, no better, no
        worse.

    Example:
        >>> GaussianNoise(2).rho().upper
        2.0

    Reference: Balle, Wang, Improving the Gaussian Mechanism, Theorem 8.
    """

    def __init__(self, mu: Real, *, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> None:
        fill(self, mu=positive(mu, "mu"), neighbours=neighbours)


def root_up(square: Fraction) -> Fraction:
    """The square root: exact where it is rational, else rounded up to a double."""
    exact = _rational_root(square)
    return Fraction(Interval.of(square).sqrt().upper) if exact is None else exact


def root_down(square: Fraction) -> Fraction:
    """The square root: exact where it is rational, else rounded down to a double."""
    exact = _rational_root(square)
    return Fraction(Interval.of(square).sqrt().lower) if exact is None else exact


def _rational_root(square: Fraction) -> Fraction | None:
    top, bottom = isqrt(square.numerator), isqrt(square.denominator)
    rational = top * top == square.numerator and bottom * bottom == square.denominator
    return Fraction(top, bottom) if rational else None


def gaussian_delta(mu: Interval, epsilon: Number) -> Interval:
    """Delta(epsilon) of the pair N(mu, 1), N(0, 1)."""
    if mu.hi <= 0:
        return Interval.of(0)
    e = Interval.of(epsilon)
    ratio, half = e / mu, mu / 2
    exact = (ratio - half).normal_tail() - e.exp() * (ratio + half).normal_tail()
    # Both terms fall below the first, which alone is a bound where the difference cancels.
    return exact.meet((ratio - half).normal_tail()).join(Interval.of(0))


def gaussian_tradeoff(mu: Interval, alpha: Fraction) -> float:
    """Phi(z - mu) with Phi(z) = 1 - alpha, z rounded down until its tail surely covers alpha."""
    if alpha in (0, 1):
        return float(1 - alpha)
    z, step = -NormalDist().inv_cdf(max(float(alpha), 1e-300)) if alpha < 1 else -40.0, 1e-15
    target = Interval.of(alpha)
    while Interval.of(z).normal_tail().lo < target.hi:
        z, step = z - step * max(1.0, abs(z)), step * 2
    return (mu - Interval.of(z)).normal_tail().lower


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
        """Moments by summing outcomes or frequencies, whichever are fewer."""
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
