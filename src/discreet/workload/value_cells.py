"""Public cells that tell numbers and times of any size apart, and how they are put together.

Cells are as wide as a small share of their values, so their number is fixed before data is seen: an
exact histogram of a column takes a megabyte, and one pass.
"""

import datetime as dt
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.plan.kinds import Kind, Value

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_ORIGIN = dt.date(2020, 1, 1)
"""Dates and times near this one are told apart best."""

_DAYS = (_ORIGIN - dt.date(1970, 1, 1)).days
_MICROSECONDS = 86_400_000_000
_SEEN = 6.0
"""Deviations of noise above which a cell is taken to hold rows: one empty cell in 10^9 is."""


@dataclass(frozen=True)
class ValueCells:
    """The cells of a kind: each is 1/2^`bits` of an octave, from 2^`first` on, on both sides of 0.

    The middle cell holds what is nearer to 0; the outermost cells hold what is further out. Whole
    numbers below 2^(`bits` + 1) have a cell each. Times are days or microseconds since 2020.

    Example:
        >>> cells = ValueCells.of(Kind.INTEGER)
        >>> places = cells.place(np.array([-3, 0, 2020, 2021, 1 << 62]))
        >>> [(int(cells.edges[at]), int(cells.edges[at + 1]) - 1) for at in places[:4]]
        [(-3, -3), (0, 0), (2020, 2020), (2021, 2021)]
    """

    kind: Kind
    bits: int
    first: int
    octaves: int

    @staticmethod
    def of(kind: Kind) -> "ValueCells":
        """The cells of a kind of numbers or times."""
        return ValueCells(kind, 9, -32, 128) if kind is Kind.REAL else ValueCells(kind, 10, 0, 64)

    @property
    def side(self) -> int:
        """Cells on each side of the middle one."""
        return self.octaves << self.bits

    @property
    def size(self) -> int:
        """All cells."""
        return 2 * self.side + 1

    @property
    def origin(self) -> int:
        """The origin of positions."""
        return {Kind.DATE: _DAYS, Kind.TIMESTAMP: _DAYS * _MICROSECONDS}.get(self.kind, 0)

    def place(self, positions: NDArray[np.generic]) -> Integers:
        """The cell of each position: a number, or days or microseconds since 1970."""
        numbers = positions.astype(np.float64)
        numbers -= self.origin  # rounded, for the largest: any function of one value will do
        steps = np.abs(numbers).view(np.int64) >> (52 - self.bits)
        steps -= ((1023 + self.first) << self.bits) - 1
        np.clip(steps, 0, self.side, out=steps)
        return self.side + np.where(numbers < 0, -steps, steps)

    @cached_property
    def edges(self) -> Floats:
        """The edges of all cells; positions since 2020 for times."""
        steps = np.arange(self.side + 1)
        sizes = np.ldexp(1 + (steps & ((1 << self.bits) - 1)) / 2**self.bits, steps >> self.bits)
        sizes = np.ldexp(sizes, self.first)
        if self.kind is Kind.REAL:
            return np.concatenate([-sizes[:0:-1], [0.0], sizes])  # as if tiny negatives were 0
        sizes = np.ceil(sizes)  # between whole numbers there is nothing
        return np.concatenate([1 - sizes[::-1], sizes])

    @cached_property
    def octave_starts(self) -> Integers:
        """The first cells of the octaves, and the middle cell."""
        steps = np.arange(self.octaves + 1) << self.bits
        return np.concatenate([self.side - steps[:0:-1], [self.side], self.side + 1 + steps[:-1]])

    def value(self, edge: int, *, last: bool = False) -> Value:
        """The value at an edge; `last` for the last one before it."""
        at = float(self.edges[edge]) - (last and self.kind is not Kind.REAL)
        match self.kind:
            case Kind.REAL:
                return at
            case Kind.INTEGER:
                return min(max(int(at), -(1 << 63)), (1 << 63) - 1)
            case Kind.DATE:
                days = min(max(int(at), _FIRST_DAY), _LAST_DAY)
                return _ORIGIN + dt.timedelta(days=days)
        found = min(max(int(at), _FIRST_DAY * _MICROSECONDS), (_LAST_DAY + 1) * _MICROSECONDS - 1)
        return dt.datetime.combine(_ORIGIN, dt.time()) + dt.timedelta(microseconds=found)


_FIRST_DAY = (dt.date.min - _ORIGIN).days
_LAST_DAY = (dt.date.max - _ORIGIN).days


def counted(cells: Integers, starts: Integers) -> Integers:
    """The sums of neighbouring cells, where each sum begins."""
    return np.asarray(np.add.reduceat(cells, starts))


def seen(noisy: Integers, sigma: float, outer: int = 0) -> list[int]:
    """The places of counts that noise does not explain, but for `outer` ones on each side."""
    inner = np.flatnonzero(noisy[outer : noisy.size - outer] > _SEEN * sigma)
    return [outer + int(one) for one in inner]


def refine(
    starts: Integers, noisy: Integers, sigma: float, size: int, parts: int, *, outer: int
) -> Integers:
    """Starts of sums that hold about equally much, from noisy counts of others: post-processing.

    There are at most so many `parts`. What lies outside the counts that are seen is one sum on each
    side: those two are `outer`. Where noise hides everything there is one sum on each side of the
    middle.
    """
    found = seen(noisy, sigma, outer)
    if not found:
        return np.array([0, size // 2, size // 2 + 1])
    found = [found[0], found[-1]]
    ends = np.append(starts, size)[found[0] : found[1] + 2]
    below = np.concatenate([[0.0], np.cumsum(np.maximum(noisy[found[0] : found[1] + 1], 1))])
    # No more parts than are seen again, with the same noise.
    few = max(1, min(parts, int(below[-1] / (2 * _SEEN * sigma))))
    cuts = np.interp(np.linspace(0, below[-1], few + 1), below, ends)
    inner = np.rint(cuts).astype(np.int64)
    return np.unique(np.concatenate([[0], np.clip(inner, 1, size - 1)]))
