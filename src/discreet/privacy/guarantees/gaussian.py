"""Gaussian differential privacy: no harder to attack than one draw of Gaussian noise."""

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from statistics import NormalDist
from typing import Self

from discreet.privacy.guarantees.guarantee import Guarantee, fill, people, stored_as
from discreet.privacy.guarantees.neighbours import Neighbours
from discreet.privacy.numerics import shapes
from discreet.privacy.numerics.moments import Direction
from discreet.privacy.numerics.rounding import Bound, Interval, Number
from discreet.rationals import Real, non_negative, positive


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
        mu = 0 gives nothing away at all.

    Example:
        >>> round(GDP(1).epsilon(1e-6).upper, 6)
        4.886554

    Reference: Dong, Roth, Su, Gaussian Differential Privacy (the profile of mu; its composition).
    """

    @staticmethod
    def of_square(square: Fraction, *, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> "GDP":
        """The guarantee with this mu^2, its root rounded up where it is not rational."""
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
