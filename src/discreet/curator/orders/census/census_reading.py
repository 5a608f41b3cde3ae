"""Read what a release counts: the geography, and the rows of each leaf and cell in one pass."""

# ruff: noqa: S608 - names and whole numbers, written by the dialect

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.answer.execute.measure_set import dense, put_domains
from discreet.curator.orders.histogram_orders import count_by, weighed_rows
from discreet.engines.engine import ARROW, Session
from discreet.errors import InputError
from discreet.plan.expressions import Column
from discreet.plan.kinds import Kind
from discreet.plan.query import Query
from discreet.plan.schema import Table
from discreet.plan.statistics import Rows
from discreet.sql.writer.compile import CompiledQuery, Kept
from discreet.sql.writer.dialect import Dialect, saturated, view_name
from discreet.workload.domain import Attribute
from discreet.workload.hierarchy import Hierarchy, Integers

if TYPE_CHECKING:
    from discreet.curator.orders.census.census_plan import CensusFacts

_PLACES = 1 << 62


@dataclass(frozen=True)
class CensusQuery:
    """Rows by leaf and by the cells of all columns, each person weighing `max_rows` rows at most.

    Guarantee:
        The weights of a person's rows add up to FULL * `most_rows` at most, over all leaves and
        cells, and follow from that person's own rows alone: no chance is in them, so reading again
        gives the same.
    """

    table: Table
    leaf: str | None
    columns: tuple[Attribute, ...]
    max_rows: int

    @property
    def most_rows(self) -> int:
        """How many rows those of one person, or the one that is protected, weigh at most."""
        return 1 if self.table.is_by_row else self.max_rows

    @cached_property
    def query(self) -> Query:
        """Rows by leaf and cells."""
        leaf = [] if self.leaf is None else [Column(self.leaf)]
        keys = [*leaf, *(one.expression() for one in self.columns)]
        return count_by(self.table, self.columns, keys, self.max_rows)

    def statements(self, dialect: Dialect, *, parents: bool = False) -> list[Kept]:
        """The kept selects; the last are the weights by leaf and cells, `joint`.

        The places of leaves are the session's table `leaves`, with columns `c` (place), `k` and,
        where `parents` are wanted, `p`: the unit above.
        """
        compiled = CompiledQuery(self.query, (Rows(None),), dialect)
        cells = [f"t.k{i}" for i in range(self.leaf is not None, len(compiled.keys))]
        leaf = dialect.literal(0, Kind.INTEGER) if self.leaf is None else "l.c"
        above = ["l.p AS parent"] if parents else []
        shown = ", ".join([f"{leaf} AS leaf", *above, *cells, "t.t0"])
        join = "" if self.leaf is None else " JOIN leaves AS l ON t.k0 = l.k"
        # Whoever is far over the limits weighs nothing.
        joint = f"SELECT {shown} FROM ({compiled.unordered_totals}) AS t{join} WHERE t.t0 > 0"
        return [*weighed_rows(compiled, self.max_rows), Kept("joint", joint)]

    def prepare(
        self,
        session: Session,
        dialect: Dialect,
        leaves: pa.Array | None,
        parents: Integers | None = None,
    ) -> None:
        """Read all private rows, once; `parents` are the units just above the leaves."""
        put_domains(self.query, session)
        if leaves is not None:
            places = {"c": np.arange(len(leaves), dtype=np.int64), "k": leaves}
            session.put("leaves", pa.table(places | ({} if parents is None else {"p": parents})))
        for one in self.statements(dialect, parents=parents is not None):
            session.keep(*one)

    def counts(
        self, session: Session, dialect: Dialect, by: Sequence[str], ends: Sequence[int]
    ) -> Iterator[Integers]:
        """The exact weights of a table, leaf by leaf, cut before these leaves: private."""
        place, every = self._cell(by)
        if ends[-1] * every > _PLACES:
            raise InputError("too many cells", why="at most 2^62 of a table", fix="use fewer")
        total = saturated("t", dialect)
        select = (
            f"SELECT place, {total} AS t0 FROM (SELECT leaf * {every} + {place} AS place, "
            f"{dialect.sum('t0')} AS t FROM joint GROUP BY 1) AS j ORDER BY 1"
        )
        cuts = [end * every for end in ends]
        for (slice_,) in dense(session.stream(select), cuts[-1], 1, cuts):
            yield slice_.reshape(-1, every)

    def _cell(self, by: Sequence[str]) -> tuple[str, int]:
        """The place of a row's cell within its unit in a table, in SQL, and how many there are."""
        names, sizes = [one.name for one in self.columns], [one.size for one in self.columns]
        chosen = [names.index(name) for name in by]
        cells = [sizes[i] for i in chosen]
        strides = [*accumulate(cells[:0:-1], lambda x, y: x * y, initial=1)][::-1]
        first = self.leaf is not None
        parts = [f"k{i + first} * {stride}" for i, stride in zip(chosen, strides, strict=False)]
        return " + ".join(parts) or "0", math.prod(cells)

    def parts(
        self, session: Session, dialect: Dialect, by: Sequence[str], units: pa.Table, above: int
    ) -> str:
        """A SELECT of the exact weights of a table as rows (part, place, t0): private.

        `units` has the part of each unit just above the leaves, and its first leaf: columns
        `parent`, `part` and `first`. Part `above` is that of these units themselves. Every part
        has a row at least, of weight 0.
        """
        session.put("units", units)
        cell, every = self._cell(by)
        last, none = (dialect.literal(n, Kind.INTEGER) for n in (above, 0))
        rows = (
            f"SELECT part, (leaf - first) * {every} + {cell} AS place, t0 "
            "FROM joint AS j JOIN units AS u ON j.parent = u.parent "
            f"UNION ALL SELECT {last}, parent * {every} + {cell}, t0 FROM joint "
            f"UNION ALL SELECT part, {none}, {none} FROM units "
            f"UNION ALL SELECT {last}, {none}, {none}"
        )
        summed = (
            f"SELECT part, place, {dialect.sum('t0')} AS t FROM ({rows}) AS r GROUP BY part, place"
        )
        return f"SELECT part, place, {saturated('t', dialect)} AS t0 FROM ({summed}) AS s"


def read_geography(
    session: Session, facts: "CensusFacts", dialect: Dialect
) -> tuple[Hierarchy, pa.Table]:
    """The public units, as a hierarchy and as a table of leaves in order.

    Leaves are sorted here, so that their order is the same on every engine.
    """
    if facts.geography is None:
        return Hierarchy.of(()), pa.table({})
    names = [dialect.identifier(one) for one in facts.levels]
    select = f"SELECT {', '.join(names)} FROM {view_name(facts.geography.name, dialect)}"
    kinds = [facts.geography.columns[one].kind for one in facts.levels]
    schema = pa.schema([(n, ARROW[kind]) for n, kind in zip(facts.levels, kinds, strict=True)])
    batches = [pa.record_batch(one.columns, schema=schema) for one in session.stream(select)]
    found = pa.Table.from_batches(batches, schema=schema)
    found = found.filter(pc.is_valid(found.column(facts.levels[-1])))
    order = [(name, "ascending") for name in facts.levels]
    sorted_ = found.take(pc.sort_indices(found, sort_keys=order)).combine_chunks()
    paths = [_codes(column) for column in sorted_.columns]
    return Hierarchy.of(paths), sorted_


def _codes(column: pa.ChunkedArray) -> Integers:
    """Equal numbers for equal values, NULL among them."""
    coded = column.combine_chunks().dictionary_encode(null_encoding="encode").indices
    codes: Integers = coded.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes
