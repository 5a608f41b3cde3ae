"""The median, and how far one person can move it after some others have changed first."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.mechanisms.grid import PowerOfTwoGrid, Steps, choose_grid, flat
from discreet.mechanisms.unknown_keys import read_counts
from discreet.privacy import Neighbours
from discreet.rationals import Real, rational, whole

_MOST = 1 << 61


@dataclass(frozen=True, slots=True)
class GridRange:
    """A public range of grid points: `size` of them, the first at `first` steps."""

    grid: PowerOfTwoGrid
    first: int
    size: int

    @staticmethod
    def read(lower: Real, upper: Real, grid: Real | PowerOfTwoGrid) -> "GridRange":
        """Read public bounds, which have to be grid points."""
        public = choose_grid(grid, Fraction(1))
        step = public.step
        low, high = rational(lower, "lower"), rational(upper, "upper")
        if not low < high:
            raise InputError(
                f"bounds are {lower} and {upper}",
                why="there has to be room between them",
                fix="pass lower < upper",
            )
        if (low / step).denominator != 1 or (high / step).denominator != 1:
            raise InputError(
                f"bounds {lower} and {upper} are off the grid {step}",
                why="outputs are grid points, and so are the bounds",
                fix="pass bounds that are multiples of the grid",
            )
        if max(abs(low), abs(high)) / step > _MOST:
            raise InputError(
                "the range reaches further than 2^61 grid steps",
                why="positions on it are 64-bit integers",
                fix="use a coarser grid, or clamp to narrower bounds",
            )
        return GridRange(public, int(low / step), int((high - low) / step) + 1)

    def cells(self, values: Any) -> NDArray[np.int64]:
        """Values as grid points of this range: 0 to size - 1, clamped row by row."""
        steps = flat(np.asarray(self.grid.index(values)), "each person has one number")
        last = self.first + self.size - 1
        return np.asarray((np.clip(steps, self.first, last) - self.first).astype(np.int64))

    def point(self, cell: Any) -> Any:
        """The number at one or many cells."""
        return self.grid.value(cell + self.first)


@dataclass(frozen=True, slots=True)
class Median:
    """The lower median of values clamped to a public range, with its local sensitivities.

    Why:
        Let x_1 <= ... <= x_n, x_i the lower bound for i < 1 and the upper bound for i > n. The
        median is x_m, m = floor((n + 1)/2). Under add-remove one more change moves it within the
        gap from x_c to x_(c+1), c = floor(n/2); k changes widen the gap most by removing around it
        (adding only shifts it inside the same window), to x_(floor((n+k)/2)+1) -
        x_(floor((n-k)/2)). Under change-one k changes and one more move it within a window of k + 2
        neighbouring values that holds x_m: the largest x_(m+t) - x_(m+t-k-1) for t from 0 to k + 1.
        With k >= n changes nobody is left, and both windows reach from bound to bound.

    Reference: Nissim, Raskhodnikova, Smith 2007, Smooth Sensitivity and Sampling in Private Data
    Analysis (the smooth sensitivity of the median, for change-one).
    """

    range: GridRange
    neighbours: Neighbours

    @property
    def largest(self) -> int:
        """The global sensitivity in steps."""
        return self.range.size - 1

    def sort(self, values: Any) -> NDArray[np.int64]:
        """Values as sorted cells."""
        return np.sort(self.range.cells(values))

    def value(self, cells: NDArray[np.int64]) -> int:
        """The lower median of sorted cells; the lower bound if there is none."""
        return int(cells[(cells.size + 1) // 2 - 1]) if cells.size else 0

    def local(self, cells: NDArray[np.int64], distance: int) -> int:
        """How far one person moves the median after `distance` changes, in cells."""
        k, n = whole(distance, "distance", at_least=0), cells.size
        if k >= n:
            return self.largest
        if self.neighbours is Neighbours.ADD_REMOVE:
            below = (n - k) // 2
            return int(cells[(n + k) // 2]) - (int(cells[below - 1]) if below else 0)
        middle = (n + 1) // 2
        padded = self._padded(cells, middle - k - 1, middle + k + 1)
        return int((padded[k + 1 :] - padded[: k + 2]).max())

    def _padded(self, cells: NDArray[np.int64], first: int, last: int) -> NDArray[np.int64]:
        """x_first, ..., x_last."""
        inside = cells[max(first, 1) - 1 : max(0, last)]
        below = np.zeros(max(0, min(0, last) - first + 1), dtype=np.int64)
        above = np.full(max(0, last - max(cells.size, first - 1)), self.largest, dtype=np.int64)
        return np.concatenate([below, inside, above])


def read_pair(value: Any, second: str) -> tuple[Any, Any]:
    """Read a value and what goes with it, its `second`."""
    if isinstance(value, (tuple, list)) and len(value) == 2:
        return value[0], value[1]
    raise InputError(
        f"data is not a value and its {second}",
        why="noise for one dataset rests on how that dataset could change",
        fix=f"pass a pair, (value, {second})",
    )


def one_number(steps: Steps) -> int:
    """Refuse a vector: its numbers would share one noise, and their differences be exact."""
    if isinstance(steps, int):
        return steps
    raise InputError(
        "a vector where one number belongs",
        why="noise is drawn for one number, and sharing it would give the others away",
        fix="release each number separately, and pay for each",
    )


@dataclass(frozen=True, slots=True)
class FromEnd:
    """The rank that is `weight` from the lower end, or the upper if `top`, but half way at most.

    Guarantee:
        One person of weight w moves the scores of `CellCounts.segments` by -w to w, and so the
        scores of two cells apart by 2 w at most.
    Neighbours:
        Adding or removing a person. Changing one does both, and is charged twice: 4 w at most.
    Why:
        Let n be the whole weight, t = min(weight, n/2), A(y) = #(x >= y) and B(y) = #(x > y). For
        `top`, a cell y misses by m(y) = max(0, t - A(y), B(y) - t), since n - t - #(x <= y) is B(y)
        - t. Adding a person moves A(y) and B(y) by 0 to w each, and t by 0 to w/2. So t - A(y)
        moves by -w to w/2 and B(y) - t by -w/2 to w: m(y), the largest of both and 0, by -w to w.
        Removing one moves it back. Both ends are reached: where B(y) >= t it rises by w, and where
        A(z) <= t - w it falls by w if y < z <= x and n >= 2 weight. So 2 w is the least range, not
        the w of levels 0 and 1, whose misses move one way. For the lower end turn the cells round.
        No step but t = min(weight, n/2) looks at n, and `weight` is public.
    Edge cases:
        Nobody: every cell misses by 0. With n < 2 weight the target is the median.

    Example:
        >>> [FromEnd(3, top=top).wanted(n) / 2 for n in (4, 100) for top in (False, True)]
        [2.0, 2.0, 3.0, 97.0]
    """

    denominator: ClassVar[int] = 2

    weight: int
    top: bool

    def wanted(self, people: int) -> int:
        """Twice the target rank among that many."""
        near = min(2 * self.weight, people)
        return 2 * people - near if self.top else near


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
            fix="pass cells that rise, each with a count above 0, or use CellCounts.of_counts",
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

    def segments(self, first: int, last: int, target: "Fraction | FromEnd") -> "Segments":
        """Cut the cells from `first` to `last` where scores change; score each piece.

        The score of a cell, times the denominator b of the target, is minus the number of ranks by
        which the cell misses the target rank g/b, a n/b for a quantile a/b: max(0, g - b #(x <=
        cell), b #(x < cell) - g).
        """
        b, n = target.denominator, self.people
        wanted = target.wanted(n) if isinstance(target, FromEnd) else target.numerator * n
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
        scores = -np.maximum(0, np.maximum(wanted - b * most, b * less - wanted))
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
