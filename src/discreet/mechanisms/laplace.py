"""Laplace noise for numbers and vectors with an l1 sensitivity."""

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.argument_names import also_called
from discreet.mechanisms import noise_tails
from discreet.mechanisms.additive import Additive, as_int64, read_dimension
from discreet.mechanisms.grid import PowerOfTwoGrid, Steps, choose_grid
from discreet.mechanisms.mechanism import exactly_one, fill
from discreet.noise import discrete_laplace
from discreet.noise.exponential import read_scale
from discreet.privacy import DiscreteLaplaceNoise, Neighbours
from discreet.privacy.numerics.rounding import Interval
from discreet.rationals import Real, non_negative, positive, whole


@dataclass(frozen=True, slots=True, init=False)
class Laplace(Additive):
    """Discrete Laplace (geometric) noise of scale sensitivity/epsilon on every coordinate.

    Guarantee:
        epsilon-differential privacy, and in full the law `DiscreteLaplaceNoise(epsilon, steps)`,
        for numbers and vectors alike. `epsilon` is exactly steps/scale in grid steps; where real
        values are rounded to the grid, `steps` allows for it.
    Neighbours:
        `sensitivity` bounds the l1 distance between the values of any two of them, over the whole
        vector.
    Why:
        A shift by v of independent coordinates is a chain of shifts of one coordinate each, so its
        error curve is at least f_1 o (1 - f_2) o ... (Dong, Roth, Su on group privacy).
        The noise is log-concave, so threshold tests are best for every shift of one coordinate,
        and a chain of such shifts by |v_1|, |v_2|, ... in one direction has exactly that curve:
        moving one coordinate by the whole sensitivity is the worst.
    Edge cases:
        A whole sensitivity and no `grid` takes integers of any size and any shape. Otherwise real
        values are rounded to `grid`, and a vector needs `dimension`. NaN, infinity, and parameters
        that are not positive and finite are refused. Without `dimension`, empty gives empty.

    Example:
        >>> count = Laplace(epsilon=0.5, sensitivity=1)
        >>> count.scale, count.error(0.95), isinstance(count.release(42), int)
        (Fraction(2, 1), 6.0, True)
        >>> Laplace(scale=10, sensitivity=2).epsilon
        Fraction(1, 5)
        >>> Laplace(epsilon=1, sensitivity=0.5, dimension=3).release([0.1, 0.2, 0.3]).shape
        (3,)

    Reference: Dwork, McSherry, Nissim, Smith, Calibrating Noise to Sensitivity in Private Data
    Analysis (Laplace noise for l1 sensitivity); Ghosh, Roughgarden, Sundararajan, Universally
    Utility-Maximizing Privacy Mechanisms (the discrete law); Dong, Roth, Su, Gaussian Differential
    Privacy (group privacy).
    """

    epsilon: Fraction
    scale: Fraction

    @also_called(b="scale")
    def __init__(
        self,
        *,
        sensitivity: Real,
        epsilon: Real | None = None,
        scale: Real | None = None,
        grid: "Real | PowerOfTwoGrid | None" = None,
        dimension: int | None = None,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        exactly_one(epsilon=epsilon, scale=scale)
        distance, size = positive(sensitivity, "sensitivity"), read_dimension(dimension)
        public = choose_grid(grid, distance, size or 1)
        # Integers less than one step apart are equal; one step is the least that noise is made for.
        steps = max(1, public.l1_steps(distance, size or 1))
        width = _scale(steps * public.step, epsilon, scale)
        read_scale(width / public.step)
        fill(
            self,
            sensitivity=distance,
            steps=steps,
            grid=public,
            dimension=size if public.integers else size or 1,
            neighbours=Neighbours(neighbours),
            epsilon=steps * public.step / width,
            scale=width,
        )

    @property
    def guarantee(self) -> DiscreteLaplaceNoise:
        """The pair of laws shifted by `steps`."""
        return DiscreteLaplaceNoise(self.epsilon, self.steps, neighbours=self.neighbours)

    def tail(self, t: Real) -> float:
        """P(|noise| > t scale), rounded up, for one coordinate.

        With whole t scale (in steps) it is at most e^-t; between two steps it can exceed e^-t, by
        a factor below e^(step/(2 scale)), because the law keeps its mass on the steps.

        Example:
            >>> Laplace(scale=10, sensitivity=1).tail(3) <= math.exp(-3)
            True
        """
        return min(1.0, self._beyond(non_negative(t, "t") * self.scale).upper)

    def expected_max(self, d: int) -> float:
        """A bound on the expected largest |noise| of d coordinates: scale (ln d + 1), rounded up.

        Why: E max <= sum over k >= 1 of min(1, d P(|noise| >= k)). With q = e^(-1/b), b the scale
        in steps, P(|noise| >= k) = 2 q^k/(1 + q), and the sum is at most b (ln d + 1) because
        x/(e^x - 1) + ln(2/(1 + e^-x)) <= 1 at x = 1/b, which tanh(x/2) <= x/2 gives.

        Example:
            >>> round(Laplace(scale=10, sensitivity=1).expected_max(100), 3)
            56.052
        """
        count = whole(d, "d", at_least=1)
        return ((Interval.of(count).log() + 1) * self.scale).upper

    def max_tail(self, d: int, t: Real) -> float:
        """P(the largest |noise| of d coordinates > scale (ln d + t)), rounded up.

        Half a step further out it is at most e^-t: |noise| is stochastically at most |L| + 1/2 step
        with L continuous Laplace of the same scale.

        Example:
            >>> Laplace(scale=1000, sensitivity=1).max_tail(50, 2) < 1.01 * math.exp(-2)
            True
        """
        count = whole(d, "d", at_least=1)
        # The logarithm is rounded down, which can only add to the probability.
        width = Fraction(Interval.of(count).log().lower) + non_negative(t, "t")
        one = self._beyond(width * self.scale)
        return min(1.0, (-((-one).log1p() * count).expm1()).upper)

    def _beyond(self, width: Fraction) -> Interval:
        first = math.floor(width / self.grid.step) + 1
        return noise_tails.laplace_tail(self.scale / self.grid.step, first) * 2

    def _noise(self, shape: tuple[int, ...]) -> Steps:
        return as_int64(discrete_laplace(self.scale / self.grid.step, shape or None))

    def _half_width(self, probability: Fraction) -> int:
        return noise_tails.laplace_half_width(self.scale / self.grid.step, probability)

    def _mass(self, steps: int) -> Interval:
        rate = Interval.of(-self.grid.step / self.scale)
        return (rate * abs(steps)).exp() * -rate.expm1() / (1 + rate.exp())

    def _tail(self, steps: int) -> Interval:
        return noise_tails.laplace_tail(self.scale / self.grid.step, steps)


def _scale(distance: Fraction, epsilon: Real | None, scale: Real | None) -> Fraction:
    if epsilon is not None:
        return distance / positive(epsilon, "epsilon")
    return positive(scale, "scale") if scale is not None else distance
