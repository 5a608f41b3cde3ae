"""Read the exact counts of a profile from an engine: every column once, nobody above the limit."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.answer.plan.limits import LADDER
from discreet.engines.engine import ARROW, Session
from discreet.plan.bounding import FULL
from discreet.plan.expressions import Column
from discreet.plan.kinds import Kind, Type
from discreet.plan.query import Aggregate, AggregateFunction, Query
from discreet.plan.relations import Scan
from discreet.plan.schema import PERSON, EachRow, Table
from discreet.plan.statistics import Rows
from discreet.sql.writer.compile import SECRET, CompiledQuery
from discreet.sql.writer.dialect import Dialect
from discreet.sql.writer.integers import saturated
from discreet.workload.profile import BUCKETS
from discreet.workload.value_cells import Integers, ValueCells

LONGEST = 64
"""Characters of a text that may be shown as a key; longer ones are counted together."""

_BLOCK = 64
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
    multiplier: int
    exact: Integers
    buckets: Integers
    nulls: int = 0

    @staticmethod
    def of(kind: Kind) -> "BinnedCounts":
        """Nothing counted yet; the hash is a secret."""
        cells, odd = ValueCells.of(kind), int.from_bytes(os.urandom(8), "little") | 1
        zeros = (np.zeros(size, dtype=np.int64) for size in (cells.size, BUCKETS))
        return BinnedCounts(cells, odd, *zeros)

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
        places = (bits * np.uint64(self.multiplier)) >> np.uint64(64 - 16)
        self.buckets += _binned(places.astype(np.int64), mass, BUCKETS)


@dataclass(slots=True)
class ListedCounts:
    """Weights of keys, of other values, and of NULL."""

    keys: pa.Array
    exact: Integers

    @staticmethod
    def of(of: Type) -> "ListedCounts":
        """Nothing counted yet."""
        keys = pa.array([key for key in of.keys or () if key is not None], ARROW[of.kind])
        return ListedCounts(keys, np.zeros(len(keys) + 2, dtype=np.int64))

    def add(self, column: pa.Array, weights: Integers) -> None:
        """Add the rows of a batch."""
        known = pc.fill_null(pc.index_in(column, self.keys), len(self.keys))
        places = known.to_numpy(zero_copy_only=False).astype(np.int64)
        places[column.is_null().to_numpy(zero_copy_only=False)] = len(self.keys) + 1
        self.exact += _binned(places, weights.astype(np.float64), self.exact.size)


def _binned(places: Integers, mass: Any, size: int) -> Integers:
    return np.bincount(places, mass, minlength=size).astype(np.int64)


@dataclass(frozen=True)
class ProfileReader:
    """The statements of a profile of a table.

    Guarantee:
        After `bound(limit)`, whoever has n rows weighs FULL for each where n is at most the limit,
        else so much less that they weigh FULL * limit together at most: the weights of
        `discreet.plan.bounding`, which depend on a person's own rows alone.
    Neighbours:
        Adding or removing a person with all their rows, or a row where each is protected by itself.
    Edge cases:
        Rows without a person are in no count.
    """

    table: Table
    dialect: Dialect
    salt: str = SECRET

    @cached_property
    def _compiled(self) -> CompiledQuery:
        return CompiledQuery(profile_query(self.table), (Rows(None),), self.dialect, self.salt)

    @property
    def by_row(self) -> bool:
        """Whether each row is protected by itself."""
        return isinstance(self.table.unit, EachRow)

    def people(self, session: Session) -> Integers:
        """How many people first fit each step of the ladder; one more for those beyond."""
        session.keep(*self._compiled.pairs)
        found = np.zeros(len(LADDER) + 1, dtype=np.int64)
        for batch in session.stream(self._compiled.spread("l1", LADDER), found.size):
            found[batch.column(0).to_numpy()] = batch.column(1).to_numpy()
        return found

    def bound(self, session: Session, limit: int) -> None:
        """Weigh people by a limit on their rows."""
        for one in [] if self.by_row else self._compiled.weights(limit, 1, square=False):
            session.keep(*one)

    def blocks(self) -> Iterator[list[str]]:
        """The columns that are read together: those whose values are not to be found."""
        names = [name for name, of in profiled(self.table).items() if not is_found(of)]
        for first in range(0, len(names) or 1, _BLOCK):
            yield names[first : first + _BLOCK]

    def block(self, names: Sequence[str]) -> str:
        """Weights and values of some columns, row by row."""
        shown = [f"{self._value(name)} AS c{i}" for i, name in enumerate(names)]
        return self._weighed(shown, [f"c{i}" for i in range(len(names))])

    def counts(
        self, session: Session, names: Sequence[str]
    ) -> tuple[int, list[BinnedCounts | ListedCounts]]:
        """The weight of all rows, and the exact counts of some columns: private."""
        types = [self.table.columns[name] for name in names]
        found = [ListedCounts.of(of) if is_listed(of) else BinnedCounts.of(of.kind) for of in types]
        rows = 0
        for batch in session.stream(self.block(names)):
            weights = batch.column(0).to_numpy().astype(np.int64)
            rows += int(weights.sum())
            for place, one in enumerate(found, start=1):
                one.add(batch.column(place), weights)
        return rows, found

    def texts(self, name: str, least: int) -> tuple[str, str, str]:
        """What the session keeps; the texts of a `least` weight, NULL and long ones; how many."""
        value, length = self._value(name), self.dialect.length(self._value(name))
        short = self.dialect.only_if(f"{length} <= {LONGEST}", value)
        rows = self._weighed(
            [f"{short} AS v", f"COALESCE({length} > {LONGEST}, FALSE) AS long"], ["v", "long"]
        )
        total = saturated(self.dialect.sum("w"), self.dialect)
        kept = f"SELECT v, long, {total} AS t FROM ({rows}) AS r GROUP BY 1, 2"
        heavy = f"SELECT v, long, t FROM texts WHERE v IS NULL OR t >= {least} ORDER BY 1, 2"
        each = self.dialect.sum(f"CASE WHEN t < {FULL} THEN t ELSE {FULL} END")
        some = f"SELECT {each} AS n FROM texts WHERE v IS NOT NULL OR long"
        distinct = f"SELECT COALESCE({saturated('n', self.dialect)}, 0) AS n FROM ({some}) AS t"
        return kept, heavy, distinct

    def found(
        self, session: Session, name: str, least: int
    ) -> tuple[list[str], Integers, list[int], int]:
        """Texts of a `least` weight and their weights, those of long ones and NULL; how many."""
        kept, heavy, distinct = self.texts(name, least)
        session.keep("texts", kept)
        values, weights, rest = [], [], [0, 0]
        for batch in session.stream(heavy):
            rows = zip(*(batch.column(i).to_pylist() for i in range(3)), strict=True)
            for value, is_long, weight in rows:
                if value is None:
                    rest[0 if is_long else 1] += weight
                else:
                    values.append(value)
                    weights.append(weight)
        (number,) = (int(batch.column(0)[0].as_py()) for batch in session.stream(distinct, 1))
        return values, np.array(weights, dtype=np.int64), rest, number

    def _value(self, name: str) -> str:
        return self.dialect.render(Column(name), self.table.columns)

    def _weighed(self, columns: Sequence[str], names: Sequence[str]) -> str:
        """Rows with their weight `w` before these columns."""
        full = self.dialect.literal(FULL, Kind.INTEGER)
        weight, join = full, ""
        if not self.by_row:
            person = self.dialect.identifier(PERSON)
            weight, join = f"COALESCE(h.w, {full})", f" LEFT JOIN heavy AS h USING ({person})"
        rows = self._compiled.rows(columns)
        return f"SELECT {', '.join([f'{weight} AS w', *names])} FROM ({rows}) AS r{join}"


def profiled(table: Table) -> dict[str, Type]:
    """The columns of a profile: all but the one that names the person or leads to them."""
    owner = None if isinstance(table.unit, EachRow) else table.unit.column
    return {name: of for name, of in table.columns.items() if name != owner}


def profile_query(table: Table) -> Query:
    """A count of rows: how people are bounded, and what one pass costs."""
    return Query(Scan(table), (), (Aggregate("n", AggregateFunction.COUNT),))
