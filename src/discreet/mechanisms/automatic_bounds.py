"""A private choice of clamping bounds, for sums and means of values with an unknown range."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.errors import InputError
from discreet.mechanisms.comparison_laws import at_least, ends
from discreet.mechanisms.grid import PowerOfTwoGrid, add, as_numbers, choose_grid, flat
from discreet.mechanisms.mechanism import Claim, Law, Pair, RowMechanism, fill
from discreet.mechanisms.noise_tails import laplace_tail, laplace_tail_steps
from discreet.mechanisms.selection import epsilon_and_scale
from discreet.noise.exponential import read_scale
from discreet.privacy import DiscreteLaplaceNoise, Neighbours
from discreet.privacy.numerics.rounding import Interval
from discreet.rationals import Real, proper_share, whole
from discreet.rationals import failure as read_failure

_BLOCK = 1 << 21
_LISTED = 32

_ROWS = 1 << 16
"""The most rows of an audit; a tiny epsilon would ask for more than memory holds."""


@dataclass(frozen=True, slots=True, init=False)
class AutomaticBounds(RowMechanism):
    """Bounds that hold most values: the outermost doubling bins that are surely not empty.

    Bins are (smallest 2^(j-1), smallest 2^j] for j = 1, 2, ... up to `largest`, [0, smallest], and
    their mirror images. Each count gets discrete Laplace noise; bins whose noisy count is at least
    `threshold` count as occupied, and the bounds are the ends of the first and last of them.

    Guarantee:
        That of discrete Laplace noise of scale r/epsilon on a histogram with l1 sensitivity r =
        `max_rows_per_unit` (2 r for change-one): pure epsilon. Bounds are post-processing. With
        probability at least 1 - `failure` no empty bin counts as occupied, and then both bounds are
        within a factor of 2 of a value.
    Neighbours:
        Add-remove moves at most r rows, change-one moves r rows from some bins to others.
    Why:
        The threshold T is the smallest with (number of bins) P(noise >= T) <= failure.
    Edge cases:
        Where no bin is occupied (few people, or none) the bounds are -largest and largest: wide,
        but never wrong. Values beyond `largest` count as there. NaN and infinity are refused.
        Bounds say nothing of how many rows they cut off; `error` does.

    Example:
        >>> bounds = AutomaticBounds(epsilon=1, smallest=1, largest=2**20)
        >>> bounds.release([70, 100, 120] * 1000)
        (64, 128)

    Reference: Wilson, Zhang, Lam, Desfontaines, Simmons-Marengo, Gipson 2020, Differentially
    Private SQL with Bounded User Contribution (approximate bounds).
    """

    epsilon: Fraction
    scale: Fraction
    smallest: Fraction
    largest: Fraction
    failure: Fraction
    threshold: int
    max_rows_per_unit: int
    neighbours: Neighbours

    def __init__(
        self,
        *,
        epsilon: Real | None = None,
        scale: Real | None = None,
        smallest: Real = 1,
        largest: Real = 1 << 60,
        failure: Real = 1e-9,
        max_rows_per_unit: int = 1,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        rows = whole(max_rows_per_unit, "max_rows_per_unit", at_least=1)
        unit = Neighbours(neighbours)
        strength, width = epsilon_and_scale(epsilon, scale, Fraction(_moved(rows, unit)))
        low, high = _read_ends(smallest, largest)
        fill(
            self,
            epsilon=strength,
            scale=read_scale(width),
            smallest=low,
            largest=high,
            failure=proper_share(failure, "failure"),
            max_rows_per_unit=rows,
            neighbours=unit,
        )
        # At least 1, so that a bin has to have something to count as occupied.
        fill(self, threshold=max(1, laplace_tail_steps(width, self.failure / self.bins)))

    @property
    def doublings(self) -> int:
        """How many times the smallest magnitude doubles."""
        return PowerOfTwoGrid(self.largest).exponent - PowerOfTwoGrid(self.smallest).exponent

    @property
    def bins(self) -> int:
        """How many bins there are."""
        return 2 * (self.doublings + 1)

    @property
    def guarantee(self) -> DiscreteLaplaceNoise:
        """Discrete Laplace noise on a vector that one person moves so far."""
        moved = _moved(self.max_rows_per_unit, self.neighbours)
        return DiscreteLaplaceNoise(self.epsilon, moved, neighbours=self.neighbours)

    def release(self, value: Any) -> tuple[Any, Any]:
        """A lower and an upper bound for a list of values."""
        lower, upper = self._bounds(self._count(value), 1)[0].tolist()
        return lower, upper

    def error(self, confidence: Real = 0.95) -> float:
        """How many rows, at most, lie outside the bounds (and within -largest and largest).

        Why: a bin beyond the bounds has a noisy count below the threshold T, so with noise of at
        least -w in all bins, fewer than T + w rows; at least one bin is inside.
        """
        spread = laplace_tail_steps(self.scale, read_failure(confidence) / self.bins) - 1
        return float((self.bins - 1) * (self.threshold - 1 + max(0, spread)))

    @property
    def claim(self) -> Claim:
        """Rows of both bounds, for one person with all rows in one bin."""
        rows = self.max_rows_per_unit
        many = min(self.threshold, _ROWS) // rows
        outer, inner = (float(self.largest),) * rows, (float(self.smallest),) * rows
        enough = inner * (many + 1)
        start = () if self.neighbours is Neighbours.ADD_REMOVE else inner
        pairs = (
            Pair(start, outer),
            Pair((*enough, *start), (*enough, *outer)),
            Pair((*outer * many, *start), outer * (many + 1)),
        )
        law = self._law if self.bins <= _LISTED else None
        return Claim("AutomaticBounds", self.guarantee, pairs, self._draw, law)

    def _law(self, values: Any) -> Law:
        """The law of both bounds: each bin is occupied or not, independently."""
        edges = self._ends().tolist()
        hits = [
            at_least(lambda m: laplace_tail(self.scale, m), self.threshold - int(count))
            for count in self._count(values)
        ]
        none = Interval.of(1)
        for hit in hits:
            none = none * (1 - hit)
        law: dict[Hashable, Interval] = {(edges[0], edges[-1]): none}
        before = Interval.of(1)
        for first, hit in enumerate(hits):
            for last, share in _last(hits, first):
                key = edges[first], edges[last + 1]
                law[key] = law.get(key, Interval.of(0)) + before * hit * share
            before = before * (1 - hit)
        return ends(law)

    def _draw(self, values: Any, runs: int) -> NDArray[Any]:
        counts, block = self._count(values), max(1, _BLOCK // self.bins)
        parts = [self._bounds(counts, min(block, runs - at)) for at in range(0, runs, block)]
        return np.concatenate(parts)

    def _count(self, values: Any) -> NDArray[np.int64]:
        """People by bin, from the most negative bin to the most positive."""
        data = flat(np.atleast_1d(np.asarray(as_numbers(values))), "each row has one number")
        if data.dtype == object:
            top = self.largest
            data = np.array([float(max(-top, min(item, top))) for item in data])
        size, exponent = np.frexp(np.abs(data.astype(np.float64)))
        # |v| = size 2^exponent with size in [1/2, 1): a power of two belongs to the bin it ends.
        place = exponent - (size == 0.5) - PowerOfTwoGrid(self.smallest).exponent
        place = np.where(size == 0, 0, np.clip(place, 0, self.doublings))
        middle = self.doublings + 1
        at = np.where(data < 0, middle - 1 - place, middle + place)
        return np.bincount(at, minlength=self.bins).astype(np.int64)

    def _bounds(self, counts: NDArray[np.int64], runs: int) -> NDArray[Any]:
        noisy = add(counts, noise.discrete_laplace(self.scale, size=(runs, self.bins)))
        occupied = np.asarray(noisy >= self.threshold, dtype=bool)
        # Without any occupied bin both searches find the outermost one.
        found = occupied.any(axis=1)
        first = np.where(found, occupied.argmax(axis=1), 0)
        last = self.bins - 1 - np.where(found, occupied[:, ::-1].argmax(axis=1), 0)
        ends = self._ends()
        return np.stack([ends[first], ends[last + 1]], axis=1)

    def _ends(self) -> NDArray[Any]:
        """The ends of the bins, in order; powers of two are exact as floats."""
        sizes = [self.smallest * (1 << j) for j in range(self.doublings + 1)]
        ends = [*(-size for size in reversed(sizes)), Fraction(0), *sizes]
        small = self.smallest.denominator == 1 and self.largest < 1 << 63
        return np.array([float(end) for end in ends], dtype=np.int64 if small else np.float64)


def _last(hits: list[Interval], first: int) -> Iterator[tuple[int, Interval]]:
    """The last occupied bin given the first one, and its probability."""
    after = Interval.of(1)
    for last in range(len(hits) - 1, first, -1):
        yield last, after * hits[last]
        after = after * (1 - hits[last])
    yield first, after


def _moved(rows: int, neighbours: Neighbours) -> int:
    return rows if neighbours is Neighbours.ADD_REMOVE else 2 * rows


def _read_ends(smallest: Real, largest: Real) -> tuple[Fraction, Fraction]:
    low, high = choose_grid(smallest, Fraction(1)), choose_grid(largest, Fraction(1))
    if low.step <= high.step:
        return low.step, high.step
    raise InputError(
        f"smallest is {smallest} and largest {largest}",
        why="bins double from the one to the other",
        fix="pass powers of two with smallest <= largest",
    )
