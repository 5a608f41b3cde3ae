"""Quantiles of values without known bounds, by asking upwards until enough people are below."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.mechanisms.comparison_laws import ends
from discreet.mechanisms.grid import PowerOfTwoGrid, choose_grid
from discreet.mechanisms.mechanism import Claim, Law, Pair, RowMechanism, fill
from discreet.mechanisms.median import CellCounts, GridRange
from discreet.mechanisms.quantile import rank_sensitivity
from discreet.mechanisms.sparse_vector import AboveThreshold
from discreet.privacy import Neighbours, Pure
from discreet.privacy.numerics.rounding import Interval
from discreet.rationals import Real, probability, rational

_LISTED: Final = 128
_TOP: Final = 1 << 60
"""The largest distance from the start, in grid steps; values beyond count as there."""


@dataclass(frozen=True, slots=True, init=False)
class UnboundedQuantile(RowMechanism):
    """The first point of a growing public ladder with about a share q of the people up to it.

    Guarantee:
        Pure epsilon: one run of `AboveThreshold`, whatever the number of points asked about.
    Neighbours:
        #(x <= g) - q n moves by at most max(q, 1 - q) for add-remove, by 1 for change-one. At q = 0
        and 1 one person more moves it one way only, and questions are asked as monotone ones.
    Why:
        The question at ladder point g is whether b #(x <= g) - a n reaches 0, q = a/b: a whole
        number of sensitivity b max(q, 1 - q). The ladder is public: it starts at `lower` (or as far
        below 0 as above, if None), its distances grow by the factor `growth`, and it ends 2^60 grid
        steps out.
    Edge cases:
        Values below `lower` count as at it, values beyond the ladder as at its last point, which is
        also the answer if no point reaches the threshold. NaN and infinity are refused.

    Example:
        >>> incomes = UnboundedQuantile(0.9, lower=0, epsilon=1)
        >>> 39_000 <= incomes.release([40_000] * 5000) <= 45_100
        True

    Reference: Durfee 2023, Unbounded Differentially Private Quantile and Maximum Estimation,
    NeurIPS (one run of AboveThreshold over a growing ladder).
    """

    quantile: Fraction
    grid: PowerOfTwoGrid
    ladder: tuple[int, ...]
    test: AboveThreshold
    neighbours: Neighbours

    def __init__(
        self,
        quantile: Real,
        *,
        epsilon: Real,
        lower: Real | None = None,
        grid: Real | PowerOfTwoGrid = 1,
        growth: Real = Fraction(9, 8),
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        target, unit = probability(quantile, "quantile"), Neighbours(neighbours)
        public = choose_grid(grid, Fraction(1))
        test = AboveThreshold(
            threshold=0,
            epsilon=epsilon,
            sensitivity=target.denominator * rank_sensitivity(target, unit),
            monotone=target in (0, 1) and unit is Neighbours.ADD_REMOVE,
            neighbours=unit,
        )
        fill(
            self,
            quantile=target,
            grid=public,
            ladder=_ladder(_start(lower, public), _read_growth(growth)),
            test=test,
            neighbours=unit,
        )

    @property
    def epsilon(self) -> Fraction:
        """Epsilon."""
        return self.test.epsilon

    @property
    def guarantee(self) -> Pure:
        """Pure epsilon."""
        return self.test.guarantee

    def release(self, value: Any) -> Any:
        """A ladder point for a list of values."""
        return self.grid.value(int(self._points(value, 1)[0]))

    def error(self, confidence: Real = 0.95) -> float:
        """Largest rank error at this confidence, not counting the spacing of the ladder.

        At least q n - error people are at or below the answer, and at most q n + error at or below
        the ladder point before it.
        """
        ranks = Fraction(self.test.error(confidence, queries=len(self.ladder)))
        return Interval.of(ranks / self.quantile.denominator).upper

    @property
    def claim(self) -> Claim:
        """Ladder points, for few people at its start and beyond."""
        low = self.grid.value(self.ladder[len(self.ladder) // 2])
        far = self.grid.value(self.ladder[-1])
        first, near = (self.grid.value(self.ladder[at]) for at in (0, -2))
        few = (low,) * 4
        pairs = {
            Neighbours.ADD_REMOVE: (Pair((), (low,)), Pair(few, (*few, far))),
            Neighbours.CHANGE_ONE: (
                Pair((low,), (far,)),
                Pair(few, (*few[1:], far)),
                Pair((first,), (near,)),  # the last point is also told where nothing is found
            ),
        }[self.neighbours]
        law = self._law if self.test.is_listed and len(self.ladder) <= _LISTED else None
        return Claim("UnboundedQuantile", self.guarantee, pairs, self._draw, law)

    def _law(self, values: Any) -> Law:
        """The law of the first hit; without one it is the last point, as for a hit there."""
        law: dict[Any, Interval] = {}
        for place, ends_of in self.test.law_of_places(self._bars(values)).items():
            point = self.grid.value(self.ladder[place])
            law[point] = law.get(point, Interval.of(0)) + Interval.between(*ends_of)
        return ends(law)

    def _draw(self, values: Any, runs: int) -> NDArray[Any]:
        return np.asarray(self.grid.value(self._points(values, runs)))

    def _points(self, values: Any, runs: int) -> NDArray[np.int64]:
        # A run without a hit has place -1, and so gets the last point.
        return np.array(self.ladder, dtype=np.int64)[self.test.first(self._bars(values), runs)]

    def _bars(self, values: Any) -> NDArray[Any]:
        """How far the number of people up to each ladder point is below the quantile."""
        steps = np.array(self.ladder, dtype=np.int64)
        public = GridRange(self.grid, self.ladder[0], self.ladder[-1] - self.ladder[0] + 1)
        ranks = CellCounts.of_values(values, public)
        upto = ranks.at_or_below(steps - self.ladder[0])
        a, b = self.quantile.numerator, self.quantile.denominator
        # As Python ints: b can have seventeen digits, and 64 bits would wrap.
        return self.test.bars([b * int(count) - a * ranks.people for count in upto])


def _start(lower: Real | None, grid: PowerOfTwoGrid) -> int | None:
    if lower is None:
        return None
    steps = rational(lower, "lower") / grid.step
    if steps.denominator == 1 and abs(steps) < _TOP:
        return int(steps)
    raise InputError(
        f"lower is {lower}, off the grid {grid.step}",
        why="the ladder starts at a grid point within 2^60 steps of 0",
        fix="pass a multiple of the grid, or leave lower out",
    )


def _read_growth(growth: Real) -> Fraction:
    factor = rational(growth, "growth")
    if Fraction(1001, 1000) <= factor <= 1000:
        return factor
    raise InputError(
        f"growth is {growth}",
        why="each distance is so many times the last",
        fix="pass a factor from 1.001 to 1000, such as 1.125",
    )


def _ladder(start: int | None, growth: Fraction) -> tuple[int, ...]:
    """Distances 0, 1, ... that grow by the factor, at least by one step, from the start on."""
    distances = [0, 1]
    while distances[-1] < _TOP:
        grown = -(-distances[-1] * growth.numerator // growth.denominator)
        distances.append(min(_TOP, max(distances[-1] + 1, grown)))
    if start is not None:
        return tuple(start + distance for distance in distances)
    return tuple([-distance for distance in reversed(distances[1:])] + distances)
