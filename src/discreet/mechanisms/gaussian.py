"""Gaussian noise, discrete and rounded, for numbers and vectors with an l2 sensitivity."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

from discreet.argument_names import also_called
from discreet.mechanisms import noise_tails
from discreet.mechanisms.additive import SEEN, Additive, as_int64, read_dimension
from discreet.mechanisms.gaussian_calibration import (
    GaussianTarget,
    choose_fine_grid,
    discrete_guarantee,
    largest_mu,
)
from discreet.mechanisms.grid import PowerOfTwoGrid, Steps, choose_grid, sqrt_up
from discreet.mechanisms.mechanism import Pair, exactly_one, fill
from discreet.noise import discrete_gaussian, rounded_gaussian
from discreet.noise.gaussian import read_rounded_variance, read_variance
from discreet.privacy import GDP, Guarantee, Neighbours
from discreet.privacy.numerics.rounding import Interval
from discreet.rationals import Real, first_whole, positive, proper_share


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
        public = choose_fine_grid(grid, distance, size or 1, wanted)
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
        return discrete_guarantee(
            self.square, self._spread, one_law=one_law, neighbours=self.neighbours
        )

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
            return rounded_half_width(self._spread, probability)
        return noise_tails.gaussian_half_width(self._spread, probability)

    def _mass(self, steps: int) -> Interval:
        if self.rounded:
            return self._tail(abs(steps)) - self._tail(abs(steps) + 1)
        return noise_tails.gaussian_mass(self._spread, steps)

    def _tail(self, steps: int) -> Interval:
        if self.rounded:
            return rounded_tail(self._spread, steps)
        return noise_tails.gaussian_tail(self._spread, steps - 1) / 2


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


def rounded_tail(variance: Fraction, steps: int) -> Interval:
    """P(noise >= steps) of rounded Gaussian noise; variances are in squared steps.

    Example:
        >>> round(rounded_tail(Fraction(9), 3).upper, 4)
        0.2023
    """
    return (Interval.of(steps - Fraction(1, 2)) / Interval.of(variance).sqrt()).normal_tail()


@lru_cache(maxsize=1024)
def rounded_half_width(variance: Fraction, probability: Fraction) -> int:
    """The smallest w for which surely P(|noise| > w) <= probability, of rounded noise.

    Example:
        >>> rounded_half_width(Fraction(9), Fraction(1, 20))
        6
    """
    limit = Interval.of(probability).lo
    normal = -NormalDist().inv_cdf(max(float(probability / 2), 1e-300))
    guess = math.sqrt(variance) * normal - 0.5
    return first_whole(lambda w: (rounded_tail(variance, w + 1) * 2).hi <= limit, guess)
