"""One look at many columns: noisy counts of cells that are refined from what was seen before.

Every measurement is a vector that one person moves by a stated weight, with rounded Gaussian noise
of the same mu^2, or Laplace noise of the same epsilon; so all of them together cost their number
times that, however they are chosen. What follows from them is in `column_profiles`.
"""

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.mechanisms.gaussian import RoundedGaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.unknown_keys import delta_each, touched
from discreet.plan.calendar import DAY, FIRST_TO_LAST, moment, position
from discreet.plan.dummy import ARROW
from discreet.plan.kinds import INT64, Kind, Range, Type, Value
from discreet.privacy import Neighbours
from discreet.workload.histogram import rounded_noise

LEVELS = (64, 64)
"""Parts into which what was seen is divided, and divided again."""

BUCKETS = 1 << 16
"""Places of a hash, in which different values are counted."""

_RARE = Fraction(2, 10**9)

Z = 1.96
"""Deviations of noise that hold 95 times in 100."""

BINNED, LISTED, FOUND = len(LEVELS) + 2, 1, 2
"""Measurements of a column of numbers or times, of one with keys, and of texts."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_ORIGIN = position(dt.date(2020, 1, 1))
"""Dates and times near this one have the finest resolution."""

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
        return {Kind.DATE: _ORIGIN, Kind.TIMESTAMP: _ORIGIN * DAY}.get(self.kind, 0)

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
        at = float(self.edges[edge])
        if self.kind is Kind.REAL:
            return at
        ends = FIRST_TO_LAST.get(self.kind, Range(*INT64))
        place = min(max(int(at - last) + self.origin, int(ends.low)), int(ends.high))
        return moment(place, self.kind) if self.kind.is_time else place


def seen(noisy: Integers, sigma: float, outer: int = 0) -> list[int]:
    """The places of counts that noise does not explain, except `outer` ones on each side."""
    inner = np.flatnonzero(noisy[outer : noisy.size - outer] > _SEEN * sigma)
    return [outer + int(one) for one in inner]


def refine(
    starts: Integers, noisy: Integers, sigma: float, size: int, parts: int, *, outer: int
) -> Integers:
    """Starts of sums that hold about equally much, from noisy counts of others: post-processing.

    There are at most `parts` of them. What lies outside the counts that are seen is one sum on each
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


@dataclass(frozen=True, slots=True)
class NoisyCount:
    """A number and how far noise may have moved it, 95 times in 100."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"{self.value:,.0f} \N{PLUS-MINUS SIGN} {math.ceil(self.error):,}"


@dataclass(frozen=True)
class ProfileNoise:
    """The noise of each measurement: rounded Gaussian of `mu_squared`, or Laplace of `epsilon`.

    `full` is the weight of one row and `rows` the rows that one person weighs at most.

    Guarantee:
        `release` of counts that add up nonnegative weights of rows, or of sums of such counts cut
        off at any height, is sqrt(mu_squared)-Gaussian private, or epsilon-private where there is
        an `epsilon`.
    Neighbours:
        Add-remove moves counts by a vector of l1 norm full * rows at most, in one direction. One
        person in place of another moves them by the difference of two such: sqrt(2) times that in
        l2 norm, and twice that in l1 norm.
    """

    mu_squared: Fraction
    full: int
    rows: int
    neighbours: Neighbours
    epsilon: Fraction | None = None

    def mechanism(self, cells: int) -> RoundedGaussian | Laplace:
        """The noise of that many counts that are released together."""
        weight, about = self.full * self.rows, self.neighbours
        changed = 2 if about is Neighbours.CHANGE_ONE else 1
        if self.epsilon is not None:
            return Laplace(epsilon=self.epsilon, sensitivity=changed * weight, neighbours=about)
        return rounded_noise(changed * weight**2, cells, about, mu_squared=self.mu_squared)

    def half_width(self, probability: Fraction) -> int:
        """A bound that noise exceeds, on either side, with at most this probability."""
        return round(self.mechanism(1).error(1 - probability))

    @cached_property
    def sigma(self) -> float:
        """The standard deviation of each count, in weights, or of Gaussian noise about as wide."""
        found = self.mechanism(1)
        if isinstance(found, Laplace):
            return self.half_width(Fraction(1, 20)) / Z
        return math.sqrt(found.variance)

    @cached_property
    def tail(self) -> float:
        """The deviation of Gaussian noise that is as rarely far out, six times it."""
        return self.sigma if self.epsilon is None else self.half_width(_RARE) / 6

    def told(self, noisy: int, cells: int = 1) -> NoisyCount:
        """The noisy weight of that many cells as a number of rows."""
        error = Z * self.sigma * math.sqrt(cells) / self.full
        return NoisyCount(max(0.0, noisy / self.full), error)

    def release(self, exact: Integers) -> Integers:
        """The counts with noise."""
        return np.asarray(self.mechanism(exact.size).release(exact), dtype=np.int64)

    # --- keys that nobody has listed --------------------------------------------------------------

    @property
    def least(self) -> int:
        """The least weight of a value that noise is added to: others are never shown."""
        return math.ceil(self.sigma)

    def threshold(self, delta: Fraction) -> int:
        """The least noisy weight of a value that is shown.

        Guarantee:
            Beside the counts, (0, delta): values are shown of which one person alone decides
            whether they have the `least` weight with a probability of at most delta.
        Why:
            With the person, such a value weighs less than least + full * rows. Weights are whole
            numbers, so the person is under at most full * rows values. The rest is the proof of
            `ThresholdedCount`: with those values hidden, both sides count the same values.
        """
        weight = self.full * self.rows
        each = delta_each(delta, touched(weight, self.neighbours))
        return self.least + weight + self.half_width(2 * each) + 1


@dataclass(frozen=True, slots=True)
class NoisyColumn:
    """The noisy counts of one column, in weights.

    `levels` has the starts of cells and their noisy counts, each level finer than the one before;
    `values` has keys that were found, `counts` those of keys. `rest` counts texts that are too long
    or values that are not keys, then NULL. `distinct` is None where values are listed.
    """

    levels: Sequence[tuple[Sequence[int], Sequence[int]]] = ()
    values: Sequence[str] = ()
    counts: Sequence[int] = ()
    rest: Sequence[int] = ()
    distinct: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON; `NoisyColumn(**...)` reads it back."""
        return {name: getattr(self, name) for name in self.__slots__ if getattr(self, name)}


@dataclass(frozen=True, slots=True)
class NoisyProfile:
    """The noisy counts of a table: `people` by number of rows, `rows`, and columns."""

    limit: int
    rows: int
    people: Sequence[int] = ()
    columns: Mapping[str, NoisyColumn] = field(default_factory=dict)


@dataclass(slots=True)
class BinnedCounts:
    """Weights by cell and by hash, and of NULL: added up batch by batch, exactly.

    Why: weights are whole numbers and sums stay below 2^53, so doubles add them exactly.
    """

    cells: ValueCells
    exact: Integers
    buckets: Integers
    nulls: int = 0

    @staticmethod
    def of(kind: Kind) -> "BinnedCounts":
        """Empty counts."""
        cells = ValueCells.of(kind)
        exact, buckets = (np.zeros(size, dtype=np.int64) for size in (cells.size, BUCKETS))
        return BinnedCounts(cells, exact, buckets)

    def add(self, column: pa.Array, weights: Integers) -> None:
        """Add the rows of a batch."""
        missing = column.is_null(nan_is_null=True)
        if missing.true_count:
            empty = missing.to_numpy(zero_copy_only=False)
            self.nulls += int(weights[empty].sum())
            column, weights = column.filter(pc.invert(missing)), weights[~empty]
        if pa.types.is_date32(column.type):
            column = column.view(pa.int32())
        elif pa.types.is_timestamp(column.type):
            column = column.view(pa.int64())
        values = column.to_numpy(zero_copy_only=False)
        if values.dtype != np.float64:
            values = values.astype(np.int64)
        mass = weights.astype(np.float64)
        self.exact += _binned(self.cells.place(values), mass, self.exact.size)
        bits = (values + 0 if values.dtype == np.float64 else values).view(np.uint64)  # no -0.0
        self.buckets += _binned(_hashed(bits), mass, BUCKETS)

    def noisy(self, noise: ProfileNoise) -> NoisyColumn:
        """Octaves, then equal parts of what was seen, twice; and how many values there are.

        Guarantee: `BINNED` measurements.
        """
        starts, levels = self.cells.octave_starts, []
        noisy = noise.release(np.append(np.add.reduceat(self.exact, starts), self.nulls))
        rest, noisy = [int(noisy[-1])], noisy[:-1]
        for parts in (*LEVELS, None):
            levels.append((starts.tolist(), noisy.tolist()))
            if parts is not None:
                outer = int(len(levels) > 1)
                starts = refine(starts, noisy, noise.tail, self.cells.size, parts, outer=outer)
                noisy = noise.release(np.add.reduceat(self.exact, starts))
        distinct = noise.release(np.array([np.minimum(self.buckets, noise.full).sum()]))
        return NoisyColumn(tuple(levels), rest=rest, distinct=int(distinct[0]))


@dataclass(slots=True)
class ListedCounts:
    """Weights of keys, of other values, and of NULL."""

    keys: pa.Array
    exact: Integers

    @staticmethod
    def of(of: Type) -> "ListedCounts":
        """Empty counts."""
        keys = pa.array([key for key in of.keys or () if key is not None], ARROW[of.kind])
        return ListedCounts(keys, np.zeros(len(keys) + 2, dtype=np.int64))

    def add(self, column: pa.Array, weights: Integers) -> None:
        """Add the rows of a batch."""
        known = pc.fill_null(pc.index_in(column, self.keys), len(self.keys))
        places = known.to_numpy(zero_copy_only=False).astype(np.int64)
        places[column.is_null().to_numpy(zero_copy_only=False)] = len(self.keys) + 1
        self.exact += _binned(places, weights.astype(np.float64), self.exact.size)

    def noisy(self, noise: ProfileNoise) -> NoisyColumn:
        """Counts of keys, of other values, and of NULL.

        Guarantee: `LISTED` measurements.
        """
        noisy = noise.release(self.exact).tolist()
        return NoisyColumn(counts=noisy[:-2], rest=noisy[-2:])


def _hashed(bits: NDArray[np.uint64]) -> Integers:
    """A place of each value among BUCKETS, as if at random; any function of one value is private.

    Reference: Steele, Lea, Flood 2014, Fast Splittable Pseudorandom Number Generators (mixing).
    """
    mixed = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (mixed >> np.uint64(48)).astype(np.int64)


def _binned(places: Integers, mass: Any, size: int) -> Integers:
    return np.bincount(places, mass, minlength=size).astype(np.int64)


def measure_found(
    noise: ProfileNoise,
    delta: Fraction,
    values: Sequence[str],
    exact: Integers,
    rest: Sequence[int],
    distinct: int,
) -> NoisyColumn:
    """Texts that are shown, with their counts; `values` are those of the `least` weight.

    Guarantee: `FOUND` measurements, and (0, delta). Without a delta no text is shown.
    """
    noisy = noise.release(np.concatenate([exact, np.array(rest, dtype=np.int64)]))
    least = noise.threshold(delta) if delta else math.inf
    shown = np.flatnonzero(noisy[: len(values)] >= least).tolist()
    number = noise.release(np.array([distinct]))
    kept = [int(noisy[i]) for i in shown]
    return NoisyColumn((), [values[i] for i in shown], kept, noisy[-2:].tolist(), int(number[0]))
