"""Report noisy max: the output whose score is largest after noise, and nothing but its name."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.argument_names import also_called
from discreet.mechanisms.comparison_laws import WIDEST, law_of_largest
from discreet.mechanisms.grid import PowerOfTwoGrid, add, choose_grid
from discreet.mechanisms.mechanism import Law, fill
from discreet.mechanisms.selection import Selection, Utility
from discreet.noise.exponential import read_scale
from discreet.noise.selection import Indices
from discreet.privacy import Neighbours, Pure
from discreet.privacy.numerics.rounding import Interval
from discreet.rationals import Real, failure, first_whole, positive

_BLOCK = 1 << 20
_OUTPUTS = 8


@dataclass(frozen=True, slots=True, init=False)
class ReportNoisyMax(Selection):
    """The output with the largest score after independent noise on a public grid.

    Guarantee:
        Pure epsilon with epsilon = 2 sensitivity/scale, or sensitivity/scale where scores are
        `monotone`; the sensitivity is that after rounding to the grid. Charged as pure epsilon
        only: report noisy max does not have bounded range.
    Neighbours:
        Those for which `sensitivity` is stated; `monotone` needs add-remove.
    Why:
        Fix the others' noise and the order in which ties are settled (drawn afresh, independent of
        the data): output i wins when its noise X reaches some whole x. On a neighbour x grows by at
        most c = 2 sensitivity (c = sensitivity if all scores move the same way), and for whole x, c
        the tail of the noise falls no faster than P(X >= x + c) >= exp(-c/scale) P(X >= x).
    Edge cases:
        Without a grid a whole sensitivity means integer scores. Ties are settled at random. The
        noisy score itself is not part of the output: releasing it costs more. With exponential
        noise it is `PermuteAndFlip`.

    Example:
        >>> ReportNoisyMax(["red", "green"], epsilon=1).release([0, 5000])
        'green'
        >>> ReportNoisyMax(2, epsilon=1, sensitivity=0.5, grid=2**-10).release([7.25, -1e6])
        0

    Reference: Dwork, Roth 2014, Claim 3.9; Ding et al. 2021 (exponential noise).
    """

    grid: PowerOfTwoGrid

    @also_called(candidates="outputs", options="outputs", domain="outputs")
    def __init__(
        self,
        outputs: int | Sequence[Hashable],
        *,
        epsilon: Real | None = None,
        scale: Real | None = None,
        sensitivity: Real = 1,
        grid: Real | PowerOfTwoGrid | None = None,
        monotone: bool = False,
        utility: Utility | None = None,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        public = choose_grid(grid, positive(sensitivity, "sensitivity"))
        fill(self, grid=public)
        Selection.__init__(
            self,
            outputs,
            epsilon=epsilon,
            scale=scale,
            sensitivity=sensitivity,
            monotone=monotone,
            utility=utility,
            neighbours=neighbours,
        )
        read_scale(self.scale_steps)

    def moved(self, sensitivity: Fraction) -> Fraction:
        """The sensitivity of one rounded score."""
        return max(1, self.grid.l1_steps(sensitivity)) * self.grid.step

    @property
    def scale_steps(self) -> Fraction:
        """The scale in grid steps."""
        return self.scale / self.grid.step

    @property
    def guarantee(self) -> Pure:
        """Pure epsilon."""
        return Pure(self.epsilon, neighbours=self.neighbours)

    def error(self, confidence: Real = 0.95) -> float:
        """A bound on how far the chosen score is below the best one.

        Why: an output t below the best wins only if its noise exceeds the best one's by at least
        t. The law of that difference is known; there are at most k - 1 such outputs. Rounding adds
        up to a step.
        """
        others = len(self.outputs) - 1
        if others == 0:
            return 0.0
        allowed = Interval.of(failure(confidence) / others).lo
        beats = partial(_laplace_difference_tail, self.scale_steps)
        steps = first_whole(lambda t: beats(t).hi <= allowed) - 1
        return Interval.of(max(0, steps) * self.grid.step + 2 * self.grid.rounding).upper

    def select(self, scores: NDArray[Any], runs: int) -> Indices:
        """The positions of `runs` outputs, chosen independently."""
        steps = np.asarray(self.grid.index(scores))
        rows = max(1, _BLOCK // steps.size)
        blocks = [self._block(steps, min(rows, runs - first)) for first in range(0, runs, rows)]
        return np.concatenate(blocks) if blocks else np.empty(0, dtype=np.int64)

    @property
    def is_listed(self) -> bool:
        """Up to 8 outputs and narrow noise."""
        return len(self.outputs) <= _OUTPUTS and self.scale_steps <= WIDEST

    def law(self, scores: NDArray[Any]) -> Law:
        """The exact law of the position."""
        steps = [int(step) for step in np.asarray(self.grid.index(scores))]
        return law_of_largest(steps, self.scale_steps)

    def _block(self, steps: NDArray[Any], runs: int) -> Indices:
        fresh = noise.discrete_laplace(self.scale_steps, size=(runs, steps.size))
        noisy = np.asarray(add(steps, fresh))
        lots = noise.below(1 << 62, size=noisy.shape)
        tied = noisy == noisy.max(axis=1, keepdims=True)
        return np.asarray(np.where(tied, lots, -1).argmax(axis=1).astype(np.int64))


def _laplace_difference_tail(scale: Fraction, steps: int) -> Interval:
    """P(X - Y >= t) for discrete Laplace X, Y.

    P(X - Y = d) = r^2 q^d (d + (1 + q^2)/(1 - q^2)) for d >= 0, r = (1 - q)/(1 + q); summed from t.
    """
    q = Interval.of(-1 / scale).exp()
    rest = -Interval.of(-1 / scale).expm1()
    double = -Interval.of(-2 / scale).expm1()
    inner = (steps + (1 + q.square()) / double) / rest + q / rest.square()
    return (rest / (1 + q)).square() * Interval.of(-steps / scale).exp() * inner
