"""How many people are at each point of a public grid: all that a quantile needs to know."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.mechanisms.median import GridRange
from discreet.mechanisms.unknown_keys import read_counts


@dataclass(frozen=True, slots=True)
class CellCounts:
    """Occupied cells of a public range, in order, and the number of people in each.

    This is what an engine computes with one GROUP BY, so that rows need not leave it.

    Example:
        >>> CellCounts.of_counts({3: 10, 1: 2}).cells.tolist()
        [1, 3]
    """

    cells: NDArray[np.int64]
    counts: NDArray[np.int64]

    def __post_init__(self) -> None:
        rising = self.cells.ndim == 1 and bool((self.cells[1:] > self.cells[:-1]).all())
        if rising and self.counts.shape == self.cells.shape and bool((self.counts > 0).all()):
            return
        raise InputError(
            "cells and counts do not describe ranks",
            why="ranks are read off occupied cells in rising order",
            fix="pass cells that rise, each with a count above 0, or use Ranks.of_counts",
        )

    @staticmethod
    def of_values(values: Any, public: GridRange) -> "CellCounts":
        """Count values, clamped to the range row by row."""
        cells, counts = np.unique(public.cells(values), return_counts=True)
        return CellCounts(cells, counts.astype(np.int64))

    @staticmethod
    def of_counts(counts: Mapping[int, int]) -> "CellCounts":
        """Read counts per cell: 0 is the lower bound, each further cell one grid step up."""
        cells = read_counts(sorted(counts))
        numbers = read_counts([counts[int(cell)] for cell in cells])
        occupied = np.flatnonzero(np.asarray(numbers > 0, dtype=bool))
        return CellCounts(cells[occupied].astype(np.int64), numbers[occupied].astype(np.int64))

    @staticmethod
    def read(value: Any, public: GridRange) -> "CellCounts":
        """Take ranks as they are, read anything else as values; cells have to be in the range."""
        ranks = value if isinstance(value, CellCounts) else CellCounts.of_values(value, public)
        if ranks.cells.size and not 0 <= ranks.cells[0] <= ranks.cells[-1] < public.size:
            raise InputError(
                "a cell is outside the public range",
                why="outputs are chosen from the range, and so is where people are counted",
                fix="clamp values to the range before counting them",
            )
        return ranks

    @property
    def people(self) -> int:
        """How many people there are."""
        # High and low halves of int64 counts have sums that cannot wrap.
        high, low = self.counts >> 32, self.counts & 0xFFFFFFFF
        return (int(high.sum()) << 32) + int(low.sum())

    def at_or_below(self, cells: NDArray[np.int64]) -> NDArray[Any]:
        """How many people are in cells up to and with each of these."""
        counts = self.counts.astype(object) if self.people >= 1 << 62 else self.counts
        sums = np.concatenate([np.zeros(1, dtype=counts.dtype), np.cumsum(counts)])
        return sums[np.searchsorted(self.cells, cells, side="right")]

    def segments(self, first: int, last: int, target: Fraction) -> "Segments":
        """Cut the cells from `first` to `last` where scores change; score each piece.

        The score of a cell, times the denominator b of target = a/b, is minus the number of ranks
        by which the cell misses being a quantile: max(0, a n - b #(x <= cell), b #(x < cell) - a
        n).
        """
        a, b, n = target.numerator, target.denominator, self.people
        wide = b * max(n, 1) >= 1 << 62
        counts = self.counts.astype(object) if wide else self.counts
        upto = np.concatenate([np.zeros(1, dtype=counts.dtype), np.cumsum(counts)])
        # Pieces alternate: the gap before a cell, the cell, and after the last one the last gap.
        starts, widths = np.empty((2, 2 * self.cells.size + 1), dtype=np.int64)
        edges = np.concatenate([[first - 1], self.cells, [last + 1]])
        starts[0::2], starts[1::2] = edges[:-1] + 1, self.cells
        widths[0::2], widths[1::2] = np.diff(edges) - 1, 1
        # In a gap as many are below a cell as are at or below it; on an occupied cell fewer are.
        less, most = np.empty((2, starts.size), dtype=counts.dtype)
        less[0::2], most[0::2] = upto, upto
        less[1::2], most[1::2] = upto[:-1], upto[1:]
        scores = -np.maximum(0, np.maximum(a * n - b * most, b * less - a * n))
        real = widths > 0
        return Segments(starts[real], widths[real], scores[real])

    def split(self, cell: int, share: Fraction) -> tuple["CellCounts", "CellCounts"]:
        """People up to a cell and people from it on; of those on it, `share` goes to the left.

        Rounding down `share` times their number gives each side at most one more person for one
        more.
        """
        at = int(np.searchsorted(self.cells, cell))
        after = at + (at < self.cells.size and self.cells[at] == cell)
        on = int(self.counts[at]) if after > at else 0
        left = on * share.numerator // share.denominator
        return (
            _with(self.cells[:at], self.counts[:at], cell, left, end=True),
            _with(self.cells[after:], self.counts[after:], cell, on - left, end=False),
        )


@dataclass(frozen=True, slots=True)
class Segments:
    """Runs of cells with one score each."""

    starts: NDArray[np.int64]
    widths: NDArray[np.int64]
    scores: NDArray[Any]


def _with(
    cells: NDArray[np.int64], counts: NDArray[np.int64], cell: int, count: int, *, end: bool
) -> CellCounts:
    if count == 0:
        return CellCounts(cells, counts)
    place = cells.size if end else 0
    return CellCounts(np.insert(cells, place, cell), np.insert(counts, place, count))
