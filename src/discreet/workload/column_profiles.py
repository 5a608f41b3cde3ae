"""Describe a column from the noisy counts of a profile: post-processing, with intervals."""

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from discreet.plain_json import from_fields, from_plain
from discreet.plan.kinds import Kind, Type, Value
from discreet.plan.schema import Bounds, Keys
from discreet.workload.profile import (
    BUCKETS,
    Floats,
    Integers,
    NoisyColumn,
    NoisyCount,
    ProfileNoise,
    ValueCells,
    Z,
    seen,
)

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_MOST_SHOWN = 20
_FULLEST = 0.99
"""The share of occupied places of a hash up to which different values can be counted."""


@dataclass(frozen=True, slots=True)
class QuantileEstimate:
    """A quantile of a column, and the interval that holds it 95 times in 100."""

    level: float
    value: Value
    low: Value
    high: Value


@dataclass(frozen=True, slots=True)
class TopValue:
    """A value and about how many rows have it."""

    value: Value
    rows: NoisyCount


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """One column: NULLs, different values, where they lie, and which are frequent.

    `low` and `high` are the ends of the outermost cells that surely hold rows; None where noise
    hides them all. `distinct` is None if keys are declared, and `more` says that there are more
    values than it can count. `others` are rows outside that range, or whose values are too long or
    no declared keys. `keys` are the texts that were found, most frequent first.
    """

    name: str
    kind: Kind
    declared: bool
    nulls: NoisyCount
    distinct: NoisyCount | None = None
    more: bool = False
    low: Value = None
    high: Value = None
    quantiles: tuple[QuantileEstimate, ...] = ()
    top: tuple[TopValue, ...] = ()
    others: NoisyCount | None = None
    keys: tuple[str, ...] = ()

    @property
    def proposal(self) -> Bounds | Keys | None:
        """Bounds or keys that a released profile makes public; None where there is nothing to add.

        Edge cases: a column that is declared needs none. One value has bounds of one step.
        """
        if self.declared:
            return None
        if self.keys:
            return Keys(self.keys)
        low, high = self.low, self.high
        if low is None or high is None:
            return None
        if low < high:  # type: ignore[operator]
            return Bounds(low, high)  # type: ignore[arg-type]
        step = dt.timedelta(days=1) if isinstance(low, dt.date) else 1
        return Bounds(low, low + step)  # type: ignore[arg-type,operator]

    @staticmethod
    def read(stored: Mapping[str, Any]) -> "ColumnProfile":
        """The profile that `to_plain` wrote: values of times are texts."""
        kind = Kind(stored["kind"])
        python: Any = {Kind.DATE: dt.date | None, Kind.TIMESTAMP: dt.datetime | None}.get(kind)
        ways = {Value: partial(from_plain, python)} if kind.is_time else {}
        return from_fields(ColumnProfile, stored, ways)


def describe(name: str, of: Type, noisy: NoisyColumn, noise: ProfileNoise) -> ColumnProfile:
    """A column by its noisy counts."""
    if noisy.levels:
        return _binned(name, of, noisy, noise)
    names = noisy.values if of.keys is None else [key for key in of.keys if key is not None]
    order = np.argsort(-np.array(noisy.counts, dtype=np.int64), kind="stable").tolist()
    told = [TopValue(names[i], noise.told(noisy.counts[i])) for i in order]
    keys = tuple(str(one.value) for one in told) if of.keys is None else ()
    distinct = None
    if noisy.distinct is not None:  # at least as many as were found
        distinct = noise.told(max(len(keys) * noise.full, noisy.distinct))
    others, nulls = map(noise.told, noisy.rest)
    return ColumnProfile(
        *(name, of.kind, of.keys is not None, nulls, distinct),
        top=tuple(told[:_MOST_SHOWN]),
        others=others,
        keys=keys,
    )


def _binned(name: str, of: Type, noisy: NoisyColumn, noise: ProfileNoise) -> ColumnProfile:
    cells = ValueCells.of(of.kind)
    starts, counts = (np.array(part, dtype=np.int64) for part in noisy.levels[-1])
    ends = np.append(starts[1:], cells.size)
    found = seen(counts, noise.tail, outer=1)
    nulls, (distinct, more) = noise.told(noisy.rest[-1]), _distinct(noisy.distinct or 0, noise)
    about = (name, of.kind, of.range is not None, nulls, distinct, more)
    if not found:
        return ColumnProfile(*about)
    bounds = _between(cells, int(starts[found[0]]), int(ends[found[-1]]))
    shown = int(starts[found[0]]), int(ends[found[-1]]) - 1
    ranks = (_quantile(q, cells, starts, counts, noise.sigma, shown) for q in QUANTILES)
    singles = [] if of.kind not in {Kind.INTEGER, Kind.DATE} else found
    top = [
        TopValue(cells.value(int(starts[i])), noise.told(counts[i]))
        for i in sorted(singles, key=lambda i: -int(counts[i]))
        if cells.edges[ends[i]] - cells.edges[starts[i]] == 1
    ]
    outside = int(counts[: found[0]].sum() + counts[found[-1] + 1 :].sum())
    others = noise.told(outside, counts.size - (found[-1] - found[0] + 1))
    return ColumnProfile(*about, *bounds, tuple(ranks), tuple(top[:_MOST_SHOWN]), others)


def _between(cells: ValueCells, start: int, end: int) -> tuple[Value, Value]:
    """The first and the last value of neighbouring cells."""
    low, high = cells.value(start), cells.value(end, last=True)
    return low, max(low, high)  # type: ignore[type-var]


def _distinct(noisy: int, noise: ProfileNoise) -> tuple[NoisyCount, bool]:
    """How many values fill that many places of a hash (linear counting); whether there are more."""
    places = noise.told(noisy)
    taken = min(places.value, _FULLEST * BUCKETS)
    free = 1 - taken / BUCKETS
    chance = math.sqrt(BUCKETS * (1 / free - 1)) if taken else 0.0  # of the hash itself
    told = NoisyCount(abs(BUCKETS * math.log(free)), places.error / free + chance)
    return told, places.value >= _FULLEST * BUCKETS


def _quantile(
    level: float,
    cells: ValueCells,
    starts: Integers,
    counts: Integers,
    sigma: float,
    shown: tuple[int, int],
) -> QuantileEstimate:
    """A quantile with all cells in which it may lie; its own is among those that are `shown`.

    Why: with F(j) rows up to cell j of n, the quantile is in a cell where F(j - 1) <= q n <= F(j).
    Noise in F(j) - q n has the variance sigma^2 ((1-q)^2 j + q^2 (k - j)); both hold, up to two
    deviations, in the cell where the quantile is, 95 times in 100.
    """
    size = counts.size
    total = np.concatenate([[0], np.cumsum(counts)])
    over = total - level * total[-1]
    before = np.arange(size + 1)
    doubt = Z * sigma * np.sqrt((1 - level) ** 2 * before + level**2 * (size - before))
    may = np.flatnonzero((over[1:] >= -doubt[1:]) & (over[:-1] <= doubt[:-1]))
    ends = np.append(starts, cells.size)
    first, last = (int(may[0]), int(may[-1])) if may.size else (0, size - 1)
    # Where a share of counts lies, spread evenly in each of their cells.
    below: Floats = np.concatenate([[0.0], np.cumsum(np.maximum(counts, 0))])
    place = float(np.interp(level * below[-1], below, ends))
    place = min(max(place, shown[0]), shown[1])
    at = int(min(max(place, ends[first]), ends[last + 1] - 1))
    low, high = _between(cells, int(ends[first]), int(ends[last + 1]))
    return QuantileEstimate(level, cells.value(at), low, high)
