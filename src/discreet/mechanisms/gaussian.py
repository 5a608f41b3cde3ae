"""Gaussian noise, discrete and rounded, for numbers and vectors with an l2 sensitivity."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.argument_names import also_called
from discreet.errors import InputError
from discreet.mechanisms import noise_tails
from discreet.mechanisms.additive import SEEN, Additive, as_int64, read_dimension
from discreet.mechanisms.grid import PowerOfTwoGrid, Steps, choose_grid, grid_below, sqrt_up
from discreet.mechanisms.mechanism import Pair, exactly_one, fill
from discreet.noise import discrete_gaussian, rounded_gaussian
from discreet.noise.gaussian import read_rounded_variance, read_variance
from discreet.privacy import GDP, ZCDP, DiscreteGaussianNoise, Guarantee, Neighbours
from discreet.privacy.guarantees.gaussian import gaussian_delta, root_down
from discreet.privacy.numerics.rounding import Interval
from discreet.rationals import Real, positive, proper_share

_FINE = 13
"""A chosen grid has about 2^13 steps to a deviation: as fine as the exact law is quick to sum."""

_COARSE = 8
"""... but at least 2^8 to the sensitivity, so that rounding costs little."""

_MARGIN = 1 - Fraction(1, 1 << 48)
"""Epsilon is met with this margin, so that no later rounding exceeds it."""


@dataclass(frozen=True, slots=True, init=False)
class Gaussian(Additive):
    """Gaussian noise of one variance on every coordinate, on the grid.

    Guarantee:
        rho-zero-concentrated differential privacy with rho = square/(2 variance) in grid steps,
        `square` the squared l2 sensitivity there, and a smaller epsilon(delta) than rho implies:
        for one number, and wherever a person can move only one coordinate by one step, noise is
        discrete Gaussian with the exact law `DiscreteGaussianNoise`. On other vectors it is rounded
        Gaussian noise (`rounded`), which is exactly `GDP`; where its deviation is below one step it
        is discrete, with rho alone.
    Neighbours:
        `sensitivity` bounds the l2 distance between the values of any two of them, over the whole
        vector.
    Why:
        The Renyi divergence of a shift by an integer v is at most alpha v^2/(2 variance), and
        independent coordinates add up. Rounding comes after the Gaussian mechanism; see
        `RoundedGaussian`. From (epsilon, delta) the variance is that of continuous noise, for
        discrete noise moved from there until the guarantee itself, rounded up, says delta.
    Edge cases:
        A whole sensitivity and no `grid` takes integers; sensitivities of integer vectors that are
        roots (sqrt(2)) take `grid=INTEGERS`. Otherwise real values are rounded to `grid`. A vector
        needs `dimension`, unless it is of integers with sensitivity 1. NaN, infinity, and
        parameters that are not positive and finite are refused, and delta = 0 as well.

    Example:
        >>> Gaussian(scale=1.1, sensitivity=1).rho  # a noise multiplier of 1.1
        Fraction(50, 121)
        >>> total = Gaussian(rho=0.5, sensitivity=3)
        >>> total.variance, total.error(0.95), isinstance(total.release(1000), int)
        (Fraction(9, 1), 6.0, True)
        >>> Gaussian(epsilon=1, delta=1e-6, sensitivity=1).guarantee.epsilon(1e-6) <= 1
        True

    Reference: Canonne, Kamath, Steinke, The Discrete Gaussian for Differential Privacy (that it
    satisfies concentrated and approximate differential privacy); Balle, Wang, Improving the
    Gaussian Mechanism, Theorem 8 (the analytic calibration).
    """

    square: int
    rho: Fraction
    variance: Fraction
    rounded: bool

    @also_called(sigma="scale", std="scale")
    def __init__(
        self,
        *,
        sensitivity: Real,
        rho: Real | None = None,
        epsilon: Real | None = None,
        delta: Real | None = None,
        variance: Real | None = None,
        scale: Real | None = None,
        grid: "Real | PowerOfTwoGrid | None" = None,
        dimension: int | None = None,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        wanted = GaussianTarget.read(rho, epsilon, delta, variance, scale)
        distance, size = positive(sensitivity, "sensitivity"), read_dimension(dimension)
        public = _choose(grid, distance, size or 1, wanted)
        square = max(1, public.squared_steps(distance, size or 1))
        if size is None and not (public.integers and square == 1):
            size = 1
        steps = math.isqrt(square)
        square = steps * steps if size == 1 else square
        one_law = size == 1 or square == 1
        spread = wanted.spread(square, one_law=one_law, step=public.step)
        read_variance(spread)
        fill(
            self,
            sensitivity=distance,
            steps=steps,
            grid=public,
            dimension=size,
            neighbours=Neighbours(neighbours),
            square=square,
            rho=square / (2 * spread),
            variance=spread * public.step**2,
            rounded=not one_law and spread >= 1,
        )

    @property
    def guarantee(self) -> Guarantee:
        """The exact law, or rho where the law is not known."""
        if self.rounded:
            return GDP.of_square(2 * self.rho, neighbours=self.neighbours)
        one_law = self.dimension == 1 or self.square == 1
        return _guarantee(self.square, self._spread, one_law=one_law, neighbours=self.neighbours)

    @property
    def scale(self) -> float:
        """The standard deviation of the noise, to the nearest double; also called sigma."""
        return math.sqrt(self.variance)

    @property
    def _spread(self) -> Fraction:
        """The variance in squared steps."""
        return self.variance / self.grid.step**2

    def _pairs(self) -> tuple[Pair, ...]:
        pairs = Additive._pairs(self)  # noqa: SLF001 - super() is lost to slotted dataclasses
        if not self.grid.integers or self.dimension in (None, 1):
            return pairs
        # A shift of several coordinates by one step uses up a square that is not a whole number's.
        ones = min(self.square, self.dimension or 1, SEEN)
        return (Pair(self._whole([0]), self._whole([1] * ones)), *pairs)

    def _shares(self, most: Fraction) -> list[Fraction]:
        """The first numbers of a vector moved equally far, all together by `most` in l2."""
        size = min(self.dimension or 1, SEEN)
        return [most / sqrt_up(Fraction(size))] * size

    def _noise(self, shape: tuple[int, ...]) -> Steps:
        draw = rounded_gaussian if self.rounded else discrete_gaussian
        return as_int64(draw(self._spread, shape or None))

    def _half_width(self, probability: Fraction) -> int:
        if self.rounded:
            return noise_tails.rounded_half_width(self._spread, probability)
        return noise_tails.gaussian_half_width(self._spread, probability)

    def _mass(self, steps: int) -> Interval:
        if self.rounded:
            return self._tail(abs(steps)) - self._tail(abs(steps) + 1)
        return noise_tails.gaussian_mass(self._spread, steps)

    def _tail(self, steps: int) -> Interval:
        if self.rounded:
            return noise_tails.rounded_tail(self._spread, steps)
        return noise_tails.gaussian_tail(self._spread, steps - 1) / 2


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
        promise = _guarantee(square, variance, one_law=one_law)
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


def _guarantee(
    square: int,
    variance: Fraction,
    *,
    one_law: bool,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> Guarantee:
    if one_law:
        return DiscreteGaussianNoise(math.isqrt(square), variance, neighbours=neighbours)
    return ZCDP(square / (2 * variance), neighbours=neighbours)


def _choose(
    grid: "Real | PowerOfTwoGrid | None", distance: Fraction, size: int, wanted: GaussianTarget
) -> PowerOfTwoGrid:
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


@dataclass(frozen=True, slots=True, init=False)
class RoundedGaussian(Gaussian):
    """Gaussian noise of one variance on every coordinate, rounded to the nearest grid step.

    Guarantee:
        mu-Gaussian differential privacy with mu^2 = square/variance in grid steps, `square` the
        squared l2 sensitivity there, whatever the dimension; rho = mu^2/2 as well.
    Neighbours:
        `sensitivity` bounds the l2 distance between the values of any two of them, over the whole
        vector.
    Why:
        For an integer x, x plus rounded noise is x plus noise, rounded: rounding comes after the
        Gaussian mechanism, of which this is known exactly. Of the discrete Gaussian it is known for
        one number alone.
    Edge cases:
        As `Gaussian`. Deviations below 1/8 of a grid step are refused.

    Example:
        >>> total = RoundedGaussian(mu_squared=1, sensitivity=3)
        >>> total.variance, total.error(0.95), isinstance(total.release(1000), int)
        (Fraction(9, 1), 6.0, True)
        >>> total.guarantee == GDP(1)
        True

    Reference: Dong, Roth, Su, Gaussian Differential Privacy, Theorem 2.7 (Gaussian noise) and
    Proposition 2.8 (post-processing).
    """

    def __init__(
        self,
        *,
        sensitivity: Real,
        mu_squared: Real | None = None,
        epsilon: Real | None = None,
        delta: Real = 0,
        variance: Real | None = None,
        grid: "Real | PowerOfTwoGrid | None" = None,
        dimension: int | None = None,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        exactly_one(mu_squared=mu_squared, epsilon=epsilon, variance=variance)
        distance, size = positive(sensitivity, "sensitivity"), read_dimension(dimension)
        public = choose_grid(grid, distance, size or 1)
        square = max(1, public.squared_steps(distance, size or 1))
        if mu_squared is not None:
            spread = square / positive(mu_squared, "mu_squared")
        elif epsilon is not None:
            spread = (
                square / largest_mu(positive(epsilon, "epsilon"), proper_share(delta, "delta")) ** 2
            )
        else:
            spread = positive(variance or 0, "variance") / public.step**2
        read_rounded_variance(spread)
        fill(
            self,
            sensitivity=distance,
            steps=math.isqrt(square),
            grid=public,
            dimension=size if public.integers else size or 1,
            neighbours=Neighbours(neighbours),
            square=square,
            rho=square / (2 * spread),
            variance=spread * public.step**2,
            rounded=True,
        )

    @property
    def guarantee(self) -> GDP:
        """Mu, its root rounded up."""
        return GDP.of_square(2 * self.rho, neighbours=self.neighbours)

    def half_width(self, probability: Fraction) -> int:
        """The smallest whole number of steps that noise exceeds with at most this probability."""
        return self._half_width(probability)

    def tail(self, steps: int) -> Interval:
        """P(noise >= steps) for steps >= 1."""
        return self._tail(steps)
