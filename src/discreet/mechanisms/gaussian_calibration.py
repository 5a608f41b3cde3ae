"""From rho, or (epsilon, delta), to the variance of Gaussian noise and the grid under it."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.errors import InputError
from discreet.mechanisms.grid import PowerOfTwoGrid, choose_grid, grid_below, sqrt_up
from discreet.mechanisms.mechanism import exactly_one
from discreet.privacy import ZCDP, DiscreteGaussianNoise, Guarantee, Neighbours
from discreet.privacy.guarantees.gaussian import gaussian_delta, root_down
from discreet.privacy.numerics.rounding import Interval
from discreet.rationals import Real, positive, proper_share

_FINE = 13
"""A chosen grid has about 2^13 steps to a deviation: as fine as the exact law is quick to sum."""

_COARSE = 8
"""... but at least 2^8 to the sensitivity, so that rounding costs little."""

_MARGIN = 1 - Fraction(1, 1 << 48)
"""Epsilon is met with this margin, so that no later rounding exceeds it."""


@dataclass(frozen=True, slots=True)
class GaussianTarget:
    """The requested guarantee: rho, (epsilon, delta), a variance or a standard deviation."""

    rho: Fraction | None
    epsilon: Fraction
    delta: Fraction
    variance: Fraction | None

    @staticmethod
    def read(
        rho: Real | None,
        epsilon: Real | None,
        delta: Real | None,
        variance: Real | None,
        scale: Real | None = None,
    ) -> "GaussianTarget":
        """Read exactly one of them; epsilon and delta come together, and scale^2 is a variance."""
        exactly_one(rho=rho, epsilon=epsilon, variance=variance, scale=scale)
        variance = variance if scale is None else positive(scale, "scale") ** 2
        if (epsilon is None) is not (delta is None):
            raise InputError(
                "epsilon and delta do not come together",
                why="Gaussian noise has no epsilon without a delta above 0",
                fix="pass both epsilon= and delta=, or rho=",
            )
        return GaussianTarget(
            None if rho is None else positive(rho, "rho"),
            Fraction(0) if epsilon is None else positive(epsilon, "epsilon"),
            Fraction(0) if delta is None else proper_share(delta, "delta"),
            None if variance is None else positive(variance, "variance"),
        )

    def about(self, distance: Fraction) -> Fraction:
        """The deviation that a sensitivity will need, roughly, in the same units."""
        if self.variance is not None:
            return sqrt_up(self.variance)
        if self.rho is not None:
            return sqrt_up(distance**2 / (2 * self.rho))
        return distance / largest_mu(self.epsilon, self.delta)

    def spread(self, square: int, *, one_law: bool, step: Fraction) -> Fraction:
        """The variance in squared steps; what had to be rounded is rounded up.

        Rounded noise for rho has a rational mu, so that it fits a budget of that very rho.
        """
        if self.variance is not None:
            return self.variance / step**2
        if self.rho is not None:
            least = square / (2 * self.rho)
            return least if one_law or least < 1 else square / root_down(2 * self.rho) ** 2
        continuous = square / largest_mu(self.epsilon, self.delta) ** 2
        if continuous >= 1 and not one_law:
            return _short(continuous)
        return calibrate(square, self.epsilon, self.delta, one_law=one_law)


@lru_cache(maxsize=1024)
def calibrate(square: int, epsilon: Fraction, delta: Fraction, *, one_law: bool) -> Fraction:
    """A variance, in squared steps, whose guarantee is (epsilon, delta) or better.

    The search starts at the analytic calibration of continuous noise and ends within 2^-20 of the
    least variance next to it; the returned value has been verified, whatever the search did.
    """

    def fits(variance: Fraction) -> bool:
        promise = discrete_guarantee(square, variance, one_law=one_law)
        return promise.delta(epsilon * _MARGIN).upper <= delta

    start = _short(square / largest_mu(epsilon, delta) ** 2)
    bad, good = _bracket(fits, start)
    while good > bad * (1 + Fraction(1, 1 << 20)):
        middle = _short((bad + good) / 2)
        bad, good = (bad, middle) if fits(middle) else (middle, good)
    return good


@lru_cache(maxsize=1024)
def largest_mu(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest sensitivity/sigma, rounded down, at which continuous noise is (epsilon, delta).

    Example:
        >>> round(float(1 / largest_mu(Fraction(1), Fraction(1, 10**6))), 3)
        4.225

    Reference: Balle, Wang, Improving the Gaussian Mechanism, Theorem 8.
    """

    def fits(mu: Fraction) -> bool:
        return gaussian_delta(Interval.of(mu), epsilon).upper <= delta

    good = Fraction(1)
    while not fits(good):
        good /= 2
    bad = 2 * good
    while fits(bad):
        good, bad = bad, 2 * bad
    for _ in range(40):
        middle = (good + bad) / 2
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good


def _bracket(fits: Callable[[Fraction], bool], start: Fraction) -> tuple[Fraction, Fraction]:
    """Adjacent variances of which the second fits and the first does not."""
    fitted, last, share = fits(start), start, Fraction(1, 1 << 20)
    while True:
        factor = 1 + share
        moved = _short(last / factor if fitted else last * factor)
        if fits(moved) is not fitted:
            return (moved, last) if fitted else (last, moved)
        last, share = moved, min(share * 8, Fraction(1))


def discrete_guarantee(
    square: int,
    variance: Fraction,
    *,
    one_law: bool,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> Guarantee:
    """The guarantee of discrete noise; `one_law`: a person moves one coordinate alone."""
    if one_law:
        return DiscreteGaussianNoise(math.isqrt(square), variance, neighbours=neighbours)
    return ZCDP(square / (2 * variance), neighbours=neighbours)


def choose_fine_grid(
    grid: "Real | PowerOfTwoGrid | None", distance: Fraction, size: int, wanted: GaussianTarget
) -> PowerOfTwoGrid:
    """The grid that is asked for, else a fine one for this much noise."""
    if grid is not None or distance.denominator == 1:
        return choose_grid(grid, distance)
    share = distance / sqrt_up(Fraction(size))
    most = share / (1 << _COARSE)
    step = min(most, max(share / (1 << 20), wanted.about(distance) / (1 << _FINE)))
    return grid_below(step)


def _short(value: Fraction) -> Fraction:
    """The value rounded up to 48 significant bits."""
    shift = 48 - (value.numerator.bit_length() - value.denominator.bit_length())
    scaled = value * Fraction(2) ** shift
    return Fraction(math.ceil(scaled)) / Fraction(2) ** shift
