"""Counts of a hierarchy that add up: least squares on noisy counts, then whole numbers from 0 on.

    noisy counts of all levels ──gather──> best estimate of each unit from itself and all below it
    ──settle, level by level──> whole numbers, none below 0, that add up to those of the level above

A function of noisy counts and public facts alone: no data, no randomness. Every step is one pass
over arrays whose rows are units and whose columns are cells; units of one parent are adjacent.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Units within units: `first[k]` has, for each unit of level k, the place of its first leaf.

    Level 0 is everything, the last level are the leaves.

    Example:
        >>> tree = Hierarchy.of([np.array([0, 0, 1]), np.array([5, 6, 5])])
        >>> [len(one) for one in tree.first], tree.children(1).tolist()
        ([1, 2, 3], [0, 2])
    """

    first: tuple[Integers, ...]

    @staticmethod
    def of(paths: Sequence[NDArray[np.generic]]) -> "Hierarchy":
        """The hierarchy of leaves in order: codes of the unit of each leaf, from the top down.

        A unit is a path: the same code below two units is two units.
        """
        count = len(paths[0]) if paths else 1
        if not count:
            raise InputError(
                "a geography without rows", why="there is nothing to release", fix="list its units"
            )
        new, first = np.zeros(count, dtype=bool), [np.zeros(1, dtype=np.int64)]
        for codes in paths:
            new[1:] |= codes[1:] != codes[:-1]
            new[0] = True
            first.append(np.flatnonzero(new))
        return Hierarchy(tuple(first))

    @property
    def depth(self) -> int:
        """The level of the leaves."""
        return len(self.first) - 1

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many units each level has."""
        return tuple(len(one) for one in self.first)

    def children(self, level: int) -> Integers:
        """For each unit of a level, the index of its first child in the next level."""
        return np.searchsorted(self.first[level + 1], self.first[level])

    @cached_property
    def leaf_ends(self) -> Integers:
        """The end of each unit's leaves."""
        return np.append(self.first[max(self.depth - 1, 0)][1:], self.sizes[-1])

    def chunks(self, most: int) -> Iterator[tuple[int, int]]:
        """Runs of whole units just above the leaves, of about `most` leaves, one unit at least."""
        ends, start, done = self.leaf_ends, 0, 0
        while start < len(ends):
            end = max(int(np.searchsorted(ends, done + most, side="right")), start + 1)
            yield start, end
            start, done = end, int(ends[end - 1])


# --- best estimates, from the leaves up ---------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Estimates:
    """The best estimate of the units of a level from what was measured of them and below them.

    `variance` is one number a unit, since the cells of a unit are measured alike.
    """

    values: Floats
    variance: Floats

    def combined(self, other: "Estimates") -> "Estimates":
        """The mean of two independent estimates of the same units, each by its precision."""
        whole = self.variance + other.variance
        share = (other.variance / whole)[:, None]
        values = share * self.values + (1 - share) * other.values
        return Estimates(values, self.variance * other.variance / whole)

    def added_up(self, first: Integers) -> "Estimates":
        """Sums over the units from each of these places on."""
        return Estimates(
            np.add.reduceat(self.values, first, axis=0), np.add.reduceat(self.variance, first)
        )


def gather(tree: Hierarchy, measured: Sequence[Estimates], sums: Estimates) -> list[Estimates]:
    """Best estimates of all levels above the leaves, from the top down.

    `measured` has the noisy counts of these levels; `sums` those of the leaves, added up by parent.

    Reference: Hay, Rastogi, Miklau, Suciu, Boosting the accuracy of differentially private
    histograms through consistency, VLDB 2010, Theorem 3 (for equal variances).
    """
    found = [measured[-1].combined(sums)]
    for level in range(len(measured) - 2, -1, -1):
        found.append(measured[level].combined(found[-1].added_up(tree.children(level))))
    return found[::-1]


# --- whole numbers that add up, from the top down -----------------------------------------------


def spread(estimates: Estimates, first: Integers, totals: Floats) -> Floats:
    """Least squares: the values nearest to estimates that add up to totals, of any sign."""
    sums = estimates.added_up(first)
    lengths = np.diff(np.append(first, len(estimates.values)))
    missing = np.repeat((totals - sums.values) / sums.variance[:, None], lengths, axis=0)
    values: Floats = estimates.values + estimates.variance[:, None] * missing
    return values


def settle(estimates: Estimates, first: Integers, totals: Integers) -> Integers:
    """Whole numbers from 0 on near estimates that add up to whole totals.

    `first` are the places where the children of each parent begin, `totals` those of the parents.

    Guarantee: the result is at least 0 and adds up to `totals`, for any estimates.
    """
    lengths = np.diff(np.append(first, len(estimates.values)))
    return round_cumulated(_project(estimates, first, lengths, totals), first, lengths, totals)


def _project(estimates: Estimates, first: Integers, lengths: Integers, totals: Integers) -> Floats:
    """The nearest values from 0 on: negative values become 0, and the rest is distributed again.

    Why: of what least squares puts below 0 the projection is 0 (Michelot 1986), so each round takes
    away such alone, and ends after as many rounds as there are children at most.
    """
    values, weights = estimates.values, np.repeat(estimates.variance[:, None], totals.shape[1], 1)
    kept = np.ones(values.shape, dtype=bool)
    found = np.empty_like(values)
    open_ = np.ones(len(first), dtype=bool)  # parents that are not settled
    rows = np.ones(len(values), dtype=bool)
    while open_.any():
        starts = np.cumsum(np.append(0, lengths[open_][:-1]))
        z, v, on = values[rows], weights[rows], kept[rows]
        sums = np.add.reduceat(np.where(on, z, 0.0), starts, axis=0)
        width = np.add.reduceat(np.where(on, v, 0.0), starts, axis=0)
        rise = np.divide(totals[open_] - sums, width, out=np.zeros_like(sums), where=width > 0)
        x = z + v * np.repeat(rise, lengths[open_], axis=0)
        below = on & (x < 0)
        found[rows] = np.where(on & ~below, x, 0.0)
        kept[rows] = on & ~below
        again = np.logical_or.reduceat(below.any(axis=1), starts)
        open_[open_] = again
        rows = np.repeat(open_, lengths)
    return found


def round_cumulated(
    values: Floats, first: Integers, lengths: Integers, totals: Integers
) -> Integers:
    """Round values from 0 on that add up to whole totals: running sums are rounded, not values.

    Each is moved by less than 1 (but for the last digits of doubles), and 0 stays 0.
    """
    running = np.cumsum(values, axis=0)
    before = np.vstack([np.zeros((1, values.shape[1])), running[:-1]])[first]
    whole: Integers
    whole = np.rint(running - np.repeat(before, lengths, axis=0)).astype(np.int64)
    whole = np.minimum(np.maximum(whole, 0), np.repeat(totals, lengths, axis=0))
    whole[first + lengths - 1] = totals
    steps: Integers = np.empty_like(whole)
    steps[0], steps[1:] = whole[0], np.diff(whole, axis=0)
    steps[first] = whole[first]
    return steps


def settle_totals(values: Floats, totals: Integers | None) -> Integers:
    """Whole numbers from 0 on; cells of each unit add up to its public total, if it has one."""
    if totals is None:
        whole: Integers = np.rint(np.maximum(values, 0.0)).astype(np.int64)
        return whole
    units, cells = values.shape
    flat = Estimates(values.reshape(-1, 1), np.ones(units * cells))
    first = np.arange(0, units * cells, cells)
    settled: Integers = settle(flat, first, totals[:, None]).reshape(units, cells)
    return settled


# --- whole numbers that add up two ways ---------------------------------------------------------

_ROUNDS = 12
"""Rounds of the search for values from 0 on; what they leave undone, whole numbers make good."""


def settle_margins(
    estimates: Estimates, first: Integers, totals: Integers, margins: Integers
) -> Integers:
    """Whole numbers from 0 on near estimates that add up over children and over cells.

    Cells are in groups of `n`, which margins of another table tell: `margins` has a row for each
    unit and a column for each group; `totals` is as in `settle`.

    Guarantee: the result is at least 0 and adds up to `totals` over the children of each parent
    and to `margins` over the cells of each group, whatever the estimates, where margins are at
    least 0 and both have the same sums.
    Why: units take their share one after another, each no more of a cell than is left of it. What
    is left always adds up to the margins of the units to come, so each of them can be served, and
    the last one takes exactly what is left.
    """
    units, groups = margins.shape
    shape = (groups, totals.shape[1] // groups)
    lengths = np.diff(np.append(first, units))
    near = _between(estimates, first, lengths, totals.reshape(-1, *shape), margins)
    left, owed = totals.reshape(-1, *shape).copy(), np.zeros((len(first), *shape))
    found = np.empty((units, *shape), dtype=np.int64)
    for child in range(int(lengths.max(initial=0))):
        parents = np.flatnonzero(lengths > child)
        rows = first[parents] + child
        owed[parents] += near[rows]  # what rounding kept from one child is due to the next
        found[rows] = _share_out(owed[parents], left[parents], margins[rows])
        owed[parents] -= found[rows]
        left[parents] -= found[rows]
    return found.reshape(units, -1)


def _between(
    estimates: Estimates, first: Integers, lengths: Integers, totals: Integers, margins: Integers
) -> Floats:
    """Values from 0 on near estimates, that nearly add up both ways.

    Dykstra's projections onto the values that add up, which is weighted least squares in closed
    form, and onto those from 0 on.
    """
    v = estimates.variance[:, None, None]
    whole = np.add.reduceat(v, first)
    x = estimates.values.reshape(len(margins), *totals.shape[1:])
    fixed, cells = np.zeros_like(x), totals.shape[2]
    for _ in range(_ROUNDS):
        missing = (margins - x.sum(axis=2))[:, :, None] / cells
        x = x + missing
        rise = (totals - np.add.reduceat(x, first)) / whole
        y = x + v * np.repeat(rise, lengths, axis=0) + fixed
        x = np.maximum(y, 0.0)
        fixed = y - x
    return x


def _share_out(wanted: Floats, left: Integers, sums: Integers) -> Integers:
    """Whole numbers from 0 to `left` close to `wanted` whose last axis adds up to `sums`."""
    most = np.minimum(np.maximum(wanted, 0.0), left)
    total, room = most.sum(axis=2), left.sum(axis=2)
    less = np.divide(sums, total, out=np.ones_like(total), where=total > sums)
    more = np.divide(sums - total, room - total, out=np.zeros_like(total), where=room > total)
    most = most * less[:, :, None] + (left - most) * np.maximum(more, 0.0)[:, :, None]
    whole: Integers = np.minimum(np.floor(most).astype(np.int64), left)
    order = np.argsort(whole - most, axis=2, kind="stable")  # the largest rest first
    for most_each, sign in ((1, 1), (None, 1), (None, -1)):
        open_ = np.take_along_axis(left - whole if sign > 0 else whole, order, axis=2)
        if most_each is not None:
            open_ = np.minimum(open_, most_each)
        need = np.maximum(sign * (sums - whole.sum(axis=2)), 0)[:, :, None]
        given = np.clip(need - (np.cumsum(open_, axis=2) - open_), 0, open_)
        np.put_along_axis(
            whole, order, np.take_along_axis(whole, order, axis=2) + sign * given, axis=2
        )
    return whole
