"""Read the exact counts of a profile from an engine: every column once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.answer.plan.contribution_histogram import LADDER
from discreet.curator.orders.histogram_orders import columns_of
from discreet.engines.engine import ARROW, Session
from discreet.plan.kinds import Kind, Type
from discreet.plan.schema import Table
from discreet.sql.writer.compile_profile import CompiledProfile
from discreet.workload.profile import BUCKETS
from discreet.workload.value_cells import Integers, ValueCells

_BLOCK = 32
"""Columns that are read together, so that memory does not grow with their number."""


def is_found(of: Type) -> bool:
    """Whether the values of a column have to be found."""
    return of.kind is Kind.TEXT and of.keys is None


def is_listed(of: Type) -> bool:
    """Whether the values of a column are public."""
    return of.keys is not None


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


def _hashed(bits: NDArray[np.uint64]) -> Integers:
    """A place of each value among BUCKETS, as if at random; any function of one value is private.

    Reference: Steele, Lea, Flood 2014, Fast Splittable Pseudorandom Number Generators (mixing).
    """
    mixed = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (mixed >> np.uint64(48)).astype(np.int64)


def _binned(places: Integers, mass: Any, size: int) -> Integers:
    return np.bincount(places, mass, minlength=size).astype(np.int64)


def blocks(table: Table) -> Iterator[list[str]]:
    """The columns that are read together: those whose values are not to be found."""
    names = [name for name, of in profiled(table).items() if not is_found(of)]
    for first in range(0, len(names) or 1, _BLOCK):
        yield names[first : first + _BLOCK]


def count_people(session: Session, compiled: CompiledProfile) -> Integers:
    """How many people first fit each step of the ladder; one more for those beyond: private."""
    session.keep(*compiled.pairs)
    found = np.zeros(len(LADDER) + 1, dtype=np.int64)
    for batch in session.stream(compiled.spread(LADDER), found.size):
        found[batch.column(0).to_numpy()] = batch.column(1).to_numpy()
    return found


def count_block(
    session: Session, compiled: CompiledProfile, names: Sequence[str]
) -> tuple[int, list[BinnedCounts | ListedCounts]]:
    """The weight of all rows, and the exact counts of some columns: private."""
    types = [compiled.table.columns[name] for name in names]
    found = [ListedCounts.of(of) if is_listed(of) else BinnedCounts.of(of.kind) for of in types]
    rows = 0
    for batch in session.stream(compiled.block(names)):
        weights = batch.column(0).to_numpy().astype(np.int64)
        rows += int(weights.sum())
        for place, one in enumerate(found, start=1):
            one.add(batch.column(place), weights)
    return rows, found


def count_texts(
    session: Session, compiled: CompiledProfile, name: str, least: int
) -> tuple[list[str], Integers, list[int], int]:
    """Texts of a `least` weight and their weights, those of long ones and NULL; how many."""
    kept, heavy, distinct = compiled.texts(name, least)
    session.keep(*kept)
    values, weights, rest = [], [], [0, 0]
    for batch in session.stream(heavy):
        for value, is_long, weight in zip(
            *(batch.column(i).to_pylist() for i in range(3)), strict=True
        ):
            if value is None:
                rest[0 if is_long else 1] += weight
            else:
                values.append(value)
                weights.append(weight)
    (number,) = (int(batch.column(0)[0].as_py()) for batch in session.stream(distinct, 1))
    return values, np.array(weights, dtype=np.int64), rest, number


def profiled(table: Table) -> dict[str, Type]:
    """The columns of a profile: all but the one that names the person or leads to them."""
    return {name: table.columns[name] for name in columns_of(table)}
