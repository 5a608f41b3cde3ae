"""Agreement of the tables of a release on the margins that they share.

Tables are settled one after another. Each is settled to add up, in every unit of every level, to
what is published of one table before it, with which it shares the most columns. A smaller table
that will be settled so has been measured too: the estimates of the larger one are improved by it.

Guarantee: post-processing. What is read are noisy counts, published counts and public facts.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from discreet.curator.orders.census.census_plan import COUNT, CensusFacts
from discreet.workload.hierarchy import Estimates, Integers, settle_margins, settle_totals

_Number = TypeVar("_Number", np.float64, np.int64)


@dataclass(frozen=True, slots=True)
class MarginLink:
    """A table, the one before it that it agrees with, and the columns of the margin they share."""

    name: str
    other: str | None = None
    shared: tuple[str, ...] = ()


def link_tables(facts: CensusFacts) -> list[MarginLink]:
    """All tables in the order they are settled in, each with the one that it agrees with.

    Why: a spanning tree of the tables whose links share as many columns as possible, from the
    smallest table on. Where any tree makes all tables agree, this one does (Bernstein, Goodman,
    Power of natural semijoins, SIAM Journal on Computing 1981).
    """
    columns = dict(facts.tables)
    names = sorted(columns, key=lambda name: facts.cells(columns[name]))
    found, outside = [MarginLink(names[0])], names[1:]

    def shared(name: str, other: str) -> tuple[str, ...]:
        return tuple(column for column in columns[name] if column in columns[other])

    while outside:
        links = [MarginLink(one, to.name, shared(one, to.name)) for one in outside for to in found]
        found.append(max(links, key=lambda link: len(link.shared)))
        outside.remove(found[-1].name)
    return found


def disagreements(facts: CensusFacts) -> list[tuple[str, str]]:
    """Pairs of tables that share a margin on which nothing makes them agree.

    Why: a table agrees with its `other` on all that they share; with a third one on what is in
    that and agreed between the two.
    """
    columns = {name: frozenset(by) for name, by in facts.tables}
    agreed: dict[tuple[str, str], frozenset[str]] = {}
    found: list[tuple[str, str]] = []
    seen: list[str] = []
    for link in link_tables(facts):
        for third in seen:
            other = link.other or link.name
            between = columns[other] if third == other else agreed[other, third]
            common = frozenset(link.shared) & between
            agreed[link.name, third] = agreed[third, link.name] = common
            if common != columns[link.name] & columns[third]:
                found.append((third, link.name))
        seen.append(link.name)
    return found


@dataclass(frozen=True, slots=True)
class GroupedCells:
    """The cells of a unit in a table, by columns: those of one cell of a margin are a group."""

    sizes: Mapping[str, int]
    shared: tuple[str, ...]

    def grouped(self, values: NDArray[_Number]) -> NDArray[_Number]:
        """Counts by unit, group and cell of the group."""
        cube = values.reshape(-1, *self.sizes.values()).transpose(self._axes())
        groups = math.prod(self.sizes[name] for name in self.shared)
        return cube.reshape(len(cube), groups, -1)

    def ungrouped(self, values: NDArray[_Number]) -> NDArray[_Number]:
        """Counts by unit and cell, in the order of the table."""
        axes, sizes = self._axes(), list(self.sizes.values())
        cube = values.reshape(-1, *(sizes[i - 1] for i in axes[1:]))
        return cube.transpose(np.argsort(axes)).reshape(len(cube), -1)

    def margin(self, values: NDArray[_Number]) -> NDArray[_Number]:
        """Counts by unit and group."""
        added: NDArray[_Number] = self.grouped(values).sum(axis=2)
        return added

    def _axes(self) -> list[int]:
        rest = [name for name in self.sizes if name not in self.shared]
        return [0, *(1 + list(self.sizes).index(name) for name in (*self.shared, *rest))]


@dataclass(frozen=True, slots=True)
class Margin:
    """The margin that a table, `ours`, takes over from another, `theirs`, which is in `files`."""

    ours: GroupedCells
    theirs: GroupedCells
    files: Sequence[Path]

    def improve(self, theirs: Estimates, ours: Estimates) -> Estimates:
        """Estimates of the other table, improved by those of this one, of the same units.

        Why: a margin of n cells has n times their variance. Of two independent estimates of it the
        mean by precision is best, and least squares spreads what it changes over all n alike.
        """
        cells, other = self.theirs.grouped(theirs.values), self.ours.grouped(ours.values)
        variance = cells.shape[2] * theirs.variance + other.shape[2] * ours.variance
        rise = (theirs.variance / variance)[:, None] * (other.sum(axis=2) - cells.sum(axis=2))
        return Estimates(self.theirs.ungrouped(cells + rise[:, :, None]), theirs.variance)

    def top(self, estimates: Estimates) -> Integers:
        """Counts of everything."""
        cells = self.ours.grouped(estimates.values)
        return self.ours.ungrouped(settle_totals(cells[0], self.level(0)[0])[None])

    def settle(
        self, estimates: Estimates, first: Integers, totals: Integers, margins: Integers
    ) -> Integers:
        """Counts of a level, given those of the level above and the margins of its units."""
        values = self.ours.grouped(estimates.values).reshape(len(margins), -1)
        grouped = Estimates(values, estimates.variance)
        above = self.ours.grouped(totals).reshape(len(totals), -1)
        return self.ours.ungrouped(settle_margins(grouped, first, above, margins))

    def level(self, level: int) -> Integers:
        """The margins of all units of a level."""
        return self.theirs.margin(
            pq.read_table(self.files[level], columns=[COUNT])[COUNT].to_numpy()
        )

    def leaves(self, counts: Sequence[int]) -> Iterator[Integers]:
        """The margins of the leaves, a block at a time."""
        cells = math.prod(self.theirs.sizes.values())
        with pq.ParquetFile(self.files[-1]) as file:
            batches = file.iter_batches(columns=[COUNT])
            held = np.empty(0, dtype=np.int64)
            for count in counts:
                pieces = [held]
                while sum(map(len, pieces)) < count * cells:
                    pieces.append(next(batches).column(0).to_numpy())
                joined = np.concatenate(pieces)
                held = joined[count * cells :]
                yield self.theirs.margin(joined[: count * cells])
