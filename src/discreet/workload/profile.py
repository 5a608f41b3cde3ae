"""One look at many columns: noisy counts of cells that are refined from what was seen before.

Every measurement is a vector that one person moves by a stated weight, with rounded Gaussian noise
of the same mu^2, or Laplace noise of the same epsilon; so all of them together give away their
number times that, however they are chosen. What follows from them is in `column_profiles`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.mechanisms.gaussian import RoundedGaussian
from discreet.mechanisms.grid import INTEGERS, sqrt_up
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.unknown_keys import delta_each, touched
from discreet.privacy import Neighbours
from discreet.workload.value_cells import Integers, ValueCells, counted, refine

LEVELS = (64, 64)
"""Parts into which what was seen is divided, and divided again."""

BUCKETS = 1 << 16
"""Places of a hash, in which different values are counted."""

_RARE = Fraction(2, 10**9)

BINNED, LISTED, FOUND = len(LEVELS) + 2, 1, 2
"""Measurements of a column of numbers or times, of one with keys, and of texts."""


@dataclass(frozen=True, slots=True)
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
        """The noise of so many counts that are released together."""
        weight, about = self.full * self.rows, self.neighbours
        changed = 2 if about is Neighbours.CHANGE_ONE else 1
        if self.epsilon is not None:
            return Laplace(epsilon=self.epsilon, sensitivity=changed * weight, neighbours=about)
        return RoundedGaussian(
            mu_squared=self.mu_squared,
            sensitivity=sqrt_up(Fraction(changed * weight**2)),
            grid=INTEGERS,
            dimension=cells,
            neighbours=about,
        )

    def half_width(self, probability: Fraction) -> int:
        """A bound that noise exceeds, on either side, with at most this probability."""
        return round(self.mechanism(1).error(1 - probability))

    @property
    def sigma(self) -> float:
        """The standard deviation of each count, in weights, or of Gaussian noise about as wide."""
        found = self.mechanism(1)
        if isinstance(found, Laplace):
            return self.half_width(Fraction(1, 20)) / 1.96
        return math.sqrt(found.variance)

    @property
    def tail(self) -> float:
        """The deviation of Gaussian noise that is as rarely far out, six times it."""
        return self.sigma if self.epsilon is None else self.half_width(_RARE) / 6

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
    or values that are no keys, then NULL. `distinct` is None where values are listed.
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

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON; `from_dict` reads it back."""
        columns = {name: one.to_dict() for name, one in self.columns.items()}
        return {
            "limit": self.limit,
            "rows": self.rows,
            "people": list(self.people),
            "columns": columns,
        }

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> "NoisyProfile":
        """Read what `to_dict` wrote."""
        columns = {name: NoisyColumn(**one) for name, one in stored["columns"].items()}
        return NoisyProfile(stored["limit"], stored["rows"], stored["people"], columns)


def measure_binned(
    noise: ProfileNoise, cells: ValueCells, exact: Integers, nulls: int, buckets: Integers
) -> NoisyColumn:
    """Octaves, then equal parts of what was seen, twice; and how many values there are.

    Guarantee: `BINNED` measurements.
    """
    starts, levels = cells.octave_starts, []
    noisy = noise.release(np.append(counted(exact, starts), nulls))
    rest, noisy = [int(noisy[-1])], noisy[:-1]
    for parts in (*LEVELS, None):
        levels.append((starts.tolist(), noisy.tolist()))
        if parts is not None:
            outer = int(len(levels) > 1)
            starts = refine(starts, noisy, noise.tail, cells.size, parts, outer=outer)
            noisy = noise.release(counted(exact, starts))
    distinct = noise.release(np.array([np.minimum(buckets, noise.full).sum()]))
    return NoisyColumn(tuple(levels), rest=rest, distinct=int(distinct[0]))


def measure_listed(noise: ProfileNoise, exact: Integers) -> NoisyColumn:
    """Counts of keys, of other values, and of NULL.

    Guarantee: `LISTED` measurements.
    """
    noisy = noise.release(exact).tolist()
    return NoisyColumn(counts=noisy[:-2], rest=noisy[-2:])


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
