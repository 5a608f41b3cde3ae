"""Read what each period adds to standing totals, people bounded so that the past never changes."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isqrt, prod
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.answer.execute.measure_set import put_domains
from discreet.engines.engine import ARROW, Session
from discreet.errors import InputError, QueryRefused
from discreet.plan.bounding import FULL
from discreet.plan.expressions import Column
from discreet.plan.kinds import Kind, Range, Type
from discreet.plan.query import AggregateFunction, Query
from discreet.plan.relations import FilterRows, JoinPublic, Relation, Scan, columns_of
from discreet.plan.schema import PART, KeyPath, PersonPeriod, Table
from discreet.plan.statistics import Rows, Total, plain_total, present
from discreet.sql.writer.compile_stream import CompiledStream
from discreet.sql.writer.dialect import Dialect

_ADDED_UP: Final = (AggregateFunction.COUNT, AggregateFunction.SUM)
_MOST_PARTS = 1 << 31
_FINE = 16
"""Scales are whole numbers of at least this, where there are several."""
COARSEST, FINEST = 16, 20
"""Bits of the farthest value of a sum: the finest are those of other questions."""


@dataclass(frozen=True)
class StreamQuery:
    """Each period's increment to the count or sum of each group, as integers.

    A row counts in the first period by which its part has arrived and its own period has come:
    whatever is late counts when it arrives. A person counts in the first `max_periods` periods in
    which they have rows. In each of these their rows weigh FULL each where there are at most
    `max_rows` of them, else so much less that they weigh FULL * `max_rows` together.

    Guarantee:
        Taking a person away changes at most `max_periods` of the vectors that `read` returns, one a
        period, each by at most `sensitivity` in l2 norm. Rows that are protected by themselves
        change one of them. What a period has read stays the same when later parts come.
    Neighbours:
        Adding or removing a person with all their rows in all parts. Which parts there are, and
        through which day they are complete, is public.
    Why:
        Whether and how much a person counts in a period depends on their own rows up to it alone.
        Their rows weigh FULL * `max_rows` together, so they move the numbers of a statistic by its
        `reach` times that in l1 norm, and so in l2 norm; statistics lie side by side.
    Edge cases:
        Rows without a date, or outside the calendar, are not counted. Sums saturate at 64 bits.
    """

    query: Query
    column: str
    every: str
    max_periods: int
    max_rows: int
    grid_bits: int = COARSEST

    @cached_property
    def table(self) -> Table:
        """The private table, with the column that tells its parts apart."""
        return _scanned(self.query.relation)

    @cached_property
    def statistics(self) -> tuple[Rows | Total, ...]:
        """The summand of each aggregate: rows that count, or values around 0 on a grid."""
        scope = columns_of(self.query.relation)
        return tuple(
            _coarser(plain_total(one, scope), self.grid_bits)
            if one.measure is AggregateFunction.SUM
            else Rows(present(one, scope))
            for one in self.query.aggregates
        )

    @cached_property
    def scales(self) -> tuple[int, ...]:
        """Factors that bring all statistics to about the same sensitivity."""
        reaches = [_reach(one) for one in self.statistics]
        most = max(reaches) * (_FINE if len(reaches) > 1 else 1)
        return tuple(most // one for one in reaches)

    @property
    def sensitivity(self) -> int:
        """The most that one person moves the vector of a period, in l2 norm."""
        scaled = zip(self.statistics, self.scales, strict=True)
        square = sum((FULL * self.max_rows * scale * _reach(one)) ** 2 for one, scale in scaled)
        return isqrt(square - 1) + 1

    @property
    def units(self) -> list[float]:
        """The size of one step of each statistic, in the unit of its aggregate."""
        scaled = zip(self.statistics, self.scales, strict=True)
        return [_step(one) / (FULL * scale) for one, scale in scaled]

    def read(
        self,
        session: Session,
        dialect: Dialect,
        calendar: Sequence[dt.date],
        arrivals: Mapping[int, int],
    ) -> NDArray[Any]:
        """Exact increments of each period, group and aggregate: private.

        `arrivals` has the period in which each part that has arrived counts, from 1.
        """
        steps = np.arange(1, len(calendar) + 1)
        days = pa.array(calendar, ARROW[date_kind(self.query, self.column)])
        session.put("calendar", pa.table({"period": days, "step": pa.array(steps)}))
        listed = {"part": list(arrivals), "step": list(arrivals.values())}
        types = [(name, pa.int64()) for name in listed]
        session.put("arrivals", pa.table(listed, schema=pa.schema(types)))
        put_domains(self.query, session)
        bounds = (self.column, self.every, self.max_periods, self.max_rows)
        query = replace(self.query, relation=_with_parts(self.query.relation, self.table))
        compiled = CompiledStream(query, self.statistics, *bounds, dialect)
        for one in compiled.kept:
            session.keep(*one)
        groups = prod(len(of.keys or ()) for of in self.query.key_types)
        found = np.zeros((len(calendar), len(self.scales), groups), dtype=object)
        for batch in session.stream(compiled.totals):
            step, place, *sums = (c.to_numpy(zero_copy_only=False) for c in batch.columns)
            for i, one in enumerate(sums):
                scaled = one.astype(np.int64).astype(object) * self.scales[i]
                found[step.astype(np.int64) - 1, i, place.astype(np.int64)] = scaled
        vectors = found.reshape(len(calendar), -1)
        fits = not vectors.size or np.abs(vectors).max() < 1 << 62
        return vectors.astype(np.int64) if fits else vectors


def _coarser(total: Total, cells: int) -> Total:
    """The same sum on a grid that leaves room for the noise of many periods."""
    bits = max(0, total.grid.reach.bit_length() - cells)
    reach = -(-total.grid.reach // (1 << bits)) + (bits > 0)
    return replace(total, grid=replace(total.grid, step=total.grid.step * 2.0**bits, reach=reach))


def _reach(statistic: Rows | Total) -> int:
    return statistic.grid.reach if isinstance(statistic, Total) else 1


def _step(statistic: Rows | Total) -> float:
    return statistic.grid.step if isinstance(statistic, Total) else 1.0


def _scanned(relation: Relation) -> Table:
    """The table that a row-by-row relation reads, with PART among its columns."""
    match relation:
        case Scan(table):
            part = Type(Kind.INTEGER, nullable=False, range=Range(0, _MOST_PARTS))
            return replace(table, columns={**table.columns, PART: part})
        case FilterRows(below, _) | JoinPublic(below, _, _, _, _):
            return _scanned(below)
    raise InputError(
        "a standing question about more than rows of one table",
        why="each row counts once, in the period in which it comes",
        fix="ask SELECT city, COUNT(*), SUM(x) FROM visits WHERE ... GROUP BY city",
    )


def _with_parts(relation: Relation, table: Table) -> Relation:
    """The same relation over the table with PART."""
    match relation:
        case FilterRows(below, _) | JoinPublic(below, _, _, _, _):
            return replace(relation, input=_with_parts(below, table))
    return Scan(table)


# --- what can be read so --------------------------------------------------------------------------


def check_counts(query: Query) -> None:
    """Refuse what continual counting does not answer, before anything is charged."""
    shown = {*(key.name for key in query.keys), *(one.name for one in query.aggregates)}
    plain = all(out.expression == Column(out.name) and out.name in shown for out in query.outputs)
    unit = query.relation.facts.tables[0].unit
    simple = query.aggregates and all(one.measure in _ADDED_UP for one in query.aggregates)
    more = query.having or query.order or query.limit is not None or query.offset
    if isinstance(unit, KeyPath):
        what, fix = "about a table that names people by way of another", "name them in the table"
    elif not simple or not plain or more or len(query.sets) > 1:
        what = "of more than counts and sums"
        fix = "ask SELECT city, COUNT(*), SUM(x) FROM ... GROUP BY city"
    elif not query.has_known_keys:
        what, fix = "whose groups are not listed", "declare Keys([...]) for its columns"
    else:
        return
    raise QueryRefused(
        f"a standing question {what}",
        why="what it counts has to be the same rows of the same people in every period",
        fix=fix,
        code="stream",
    )


def date_kind(query: Query, column: str) -> Kind:
    """The kind of the column that tells the period of a row."""
    return columns_of(query.relation)[column].kind


def date_column(query: Query, said: str | None) -> str:
    """The column that tells the period of a row: the one that is named, the unit's, or the only."""
    scope, [table, *_] = columns_of(query.relation), query.relation.facts.tables
    times = [name for name, of in scope.items() if of.kind.is_time]
    if said is None and isinstance(table.unit, PersonPeriod):
        said = table.unit.period
    if said is None and len(times) == 1:
        [said] = times
    if said in times:
        return str(said)
    raise InputError(
        "a standing question without a column of dates",
        why=f"the columns that tell when rows happened are {', '.join(times) or 'none'}",
        fix="name one: column='day'",
    )
