"""Gaussian noise, rounded: vectors of any length are exactly Gaussian-private."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

from discreet.mechanisms.additive import as_int64, read_dimension
from discreet.mechanisms.gaussian import Gaussian, largest_mu, read_delta
from discreet.mechanisms.grid import PowerOfTwoGrid, Steps, choose_grid
from discreet.mechanisms.laplace_tail import first_whole
from discreet.mechanisms.mechanism import exactly_one, fill
from discreet.noise import rounded_gaussian
from discreet.noise.rounded import read_variance
from discreet.privacy import GDP, Neighbours
from discreet.privacy.numerics.rounding import Interval
from discreet.rationals import Real, positive


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
            spread = square / largest_mu(positive(epsilon, "epsilon"), read_delta(delta)) ** 2
        else:
            spread = positive(variance or 0, "variance") / public.step**2
        read_variance(spread)
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
        )

    @property
    def guarantee(self) -> GDP:
        """Mu, its root rounded up."""
        return GDP.of_square(2 * self.rho, neighbours=self.neighbours)

    def _noise(self, shape: tuple[int, ...]) -> Steps:
        return as_int64(rounded_gaussian(self._spread, shape or None))

    def half_width(self, probability: Fraction) -> int:
        """The smallest whole number of steps that noise exceeds with at most this probability."""
        return self._half_width(probability)

    def tail(self, steps: int) -> Interval:
        """P(noise >= steps) for steps >= 1."""
        return _tail(self._spread, steps)

    def _half_width(self, probability: Fraction) -> int:
        return _half_width(self._spread, probability)

    def _mass(self, steps: int) -> Interval:
        return _tail(self._spread, abs(steps)) - _tail(self._spread, abs(steps) + 1)

    def _tail(self, steps: int) -> Interval:
        return self.tail(steps)


@lru_cache(maxsize=1024)
def _half_width(spread: Fraction, probability: Fraction) -> int:
    limit = Interval.of(probability).lo
    normal = -NormalDist().inv_cdf(max(float(probability / 2), 1e-300))
    guess = math.sqrt(spread) * normal - 0.5
    return first_whole(lambda w: (_tail(spread, w + 1) * 2).hi <= limit, guess)


def _tail(spread: Fraction, steps: int) -> Interval:
    """P(noise >= steps), of noise with this variance in squared steps."""
    return (Interval.of(steps - Fraction(1, 2)) / Interval.of(spread).sqrt()).normal_tail()
