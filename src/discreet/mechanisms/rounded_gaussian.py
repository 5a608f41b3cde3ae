"""Gaussian noise, rounded: vectors of any length are exactly Gaussian-private."""

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.mechanisms.additive import read_dimension
from discreet.mechanisms.gaussian import Gaussian, largest_mu
from discreet.mechanisms.grid import PowerOfTwoGrid, choose_grid
from discreet.mechanisms.mechanism import exactly_one, fill
from discreet.noise.rounded import read_variance
from discreet.privacy import GDP, Neighbours
from discreet.privacy.numerics.rounding import Interval
from discreet.rationals import Real, positive, proper_share


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
