"""Staircase noise: the least for one number under pure privacy, and far less from epsilon 2 on."""

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.argument_names import also_called
from discreet.mechanisms.additive import Additive, as_int64
from discreet.mechanisms.grid import PowerOfTwoGrid, Steps, choose_grid
from discreet.mechanisms.mechanism import fill
from discreet.noise import staircase
from discreet.noise.exponential import read_scale
from discreet.privacy import Neighbours, Pure
from discreet.privacy.numerics.rounding import Interval
from discreet.rationals import Real, first_whole, positive


@dataclass(frozen=True, slots=True, init=False)
class Staircase(Additive):
    """One number with noise whose law is constant over `steps` and then falls by e^epsilon.

    Guarantee:
        epsilon-differential privacy, and nothing better: rho is that of `Pure`.
    Neighbours:
        `sensitivity` bounds how far apart the values of any two of them are.
    Why:
        P(k) does not rise with |k|, and P(|k| + steps) = e^-epsilon P(k). For |d| <= steps,
        |k + d| <= |k| + steps, so P(k + d) >= e^-epsilon P(k).
    Edge cases:
        One number a release: for vectors use `Laplace`. With a sensitivity of one step the law is
        that of discrete Laplace noise. Otherwise as `Laplace`.

    Example:
        >>> from discreet.mechanisms.laplace import Laplace
        >>> error = Staircase(epsilon=5, sensitivity=0.5).mean_error()
        >>> error < Laplace(epsilon=5, sensitivity=0.5).scale / Fraction(24, 10)
        True

    Reference: Geng, Viswanath, The Optimal Noise-Adding Mechanism in Differential Privacy (that no
    noise is smaller on average, and the best length of the first step, 1/(1 + e^(epsilon/2)) of
    the sensitivity, for the mean size).
    """

    epsilon: Fraction
    first: int

    @also_called()
    def __init__(
        self,
        *,
        epsilon: Real,
        sensitivity: Real,
        grid: "Real | PowerOfTwoGrid | None" = None,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        strength, distance = positive(epsilon, "epsilon"), positive(sensitivity, "sensitivity")
        public = choose_grid(grid, distance)
        steps = max(1, public.l1_steps(distance))
        read_scale(1 / strength)
        best = steps / (1 + math.exp(min(float(strength) / 2, 700.0)))
        fill(
            self,
            sensitivity=distance,
            steps=steps,
            grid=public,
            dimension=1,
            neighbours=Neighbours(neighbours),
            epsilon=strength,
            first=min(steps, max(1, round(best))),
        )

    @property
    def guarantee(self) -> Pure:
        """Pure epsilon."""
        return Pure(self.epsilon, neighbours=self.neighbours)

    def mean_error(self) -> float:
        """The mean size of the noise, rounded up.

        Why: level m >= 1 has `steps` places, in the mean at m steps - steps + first + (steps - 1)/2
        from 0; and sum q^m = q/(1 - q), sum m q^m = q/(1 - q)^2.
        """
        q, rest = self._fall, -Interval.of(-self.epsilon).expm1()
        middle = self.first - self.steps + Fraction(self.steps - 1, 2)
        levels = q / rest.square() * self.steps + q / rest * middle
        places = levels * self.steps + Fraction(self.first * (self.first - 1), 2)
        return (places * 2 / self._whole_weight * self.grid.step).upper

    @property
    def _fall(self) -> Interval:
        return Interval.of(-self.epsilon).exp()

    @property
    def _whole_weight(self) -> Interval:
        """The sum of e^(-epsilon level) over all integers."""
        return self._from(0, self.first) * 2 - 1

    def _from(self, level: int, places: int) -> Interval:
        """The same over that many places of a level, and over all levels above it."""
        above = self._fall / -Interval.of(-self.epsilon).expm1() * self.steps
        return Interval.of(-self.epsilon * level).exp() * (above + places)

    def _level(self, steps: int) -> int:
        return (abs(steps) + self.steps - self.first) // self.steps

    def _noise(self, shape: tuple[int, ...]) -> Steps:
        return as_int64(staircase(1 / self.epsilon, self.steps, self.first, shape or None))

    def _half_width(self, probability: Fraction) -> int:
        limit = Interval.of(probability).lo
        return first_whole(lambda w: (self._tail(w + 1) * 2).hi <= limit, float(self.steps))

    def _mass(self, steps: int) -> Interval:
        return Interval.of(-self.epsilon * self._level(steps)).exp() / self._whole_weight

    def _tail(self, steps: int) -> Interval:
        level = self._level(steps)
        return self._from(level, level * self.steps + self.first - steps) / self._whole_weight
