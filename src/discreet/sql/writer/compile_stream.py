"""A standing question as an engine's SQL: exact integers for each period and group.

    [cells]  one row for each person, period and group: how many rows, and their sums
    [turns]  one row for each person and period: which of their periods it is, and their weight
    totals   the weighted sums of all people, by period and by the place of the group

A session has public tables beside the private one: `calendar` (period, step) with the beginning of
each period, `arrivals` (part, step) with the period by which each part is there, and the known
values of each key. Sums are integers, and nothing depends on the order of rows.
"""

from dataclasses import dataclass
from functools import cached_property

from discreet.plan.bounding import FULL
from discreet.plan.expressions import Column, Truncate, Unit
from discreet.plan.query import Query
from discreet.plan.relations import columns_of
from discreet.plan.schema import PART, PERSON
from discreet.plan.statistics import Statistic
from discreet.sql.writer.compile import CompiledQuery, Kept
from discreet.sql.writer.dialect import Dialect, saturated


@dataclass(frozen=True)
class CompiledStream:
    """The statements of a standing question; what they bound is said in `StreamQuery`."""

    query: Query
    statistics: tuple[Statistic, ...]
    column: str
    every: str
    max_periods: int
    max_rows: int
    dialect: Dialect

    @cached_property
    def _compiled(self) -> CompiledQuery:
        return CompiledQuery(self.query, self.statistics, self.dialect)

    @cached_property
    def _by_row(self) -> bool:
        return self.query.is_by_row

    @property
    def _person(self) -> str:
        return self.dialect.identifier(PERSON)

    @property
    def kept(self) -> list[Kept]:
        """The selects that the session keeps."""
        return [self._cells] if self._by_row else [self._cells, self._turns]

    @property
    def _cells(self) -> Kept:
        dialect, scope = self.dialect, columns_of(self.query.relation)
        period = dialect.render(Truncate(Column(self.column), Unit(self.every)), scope)
        part = dialect.render(Column(PART), scope)
        rows = self._compiled.parts(period=period, part=part)
        later = dialect.choose([("a.step > c.step", "a.step")], "c.step")
        placed = (
            f"SELECT r.*, {later} AS step FROM ({rows}) AS r JOIN calendar AS c "
            "ON r.period = c.period JOIN arrivals AS a ON r.part = a.part"
        )
        names = ", ".join([*([] if self._by_row else [self._person]), "step", *self._compiled.keys])
        sums = ", ".join(["COUNT(*) AS n", *self._compiled.sums])
        return Kept("cells", f"SELECT {names}, {sums} FROM ({placed}) AS r GROUP BY {names}")

    @property
    def _turns(self) -> Kept:
        person, less = self._person, self._compiled.weight("l1", self.max_rows, square=False)
        weight = self.dialect.choose([(f"l1 > {self.max_rows}", less)], str(FULL))
        sums = f"SELECT {person}, step, SUM(n) AS l1 FROM cells GROUP BY {person}, step"
        turn = f"ROW_NUMBER() OVER (PARTITION BY {person} ORDER BY step)"
        columns = f"{person}, step, {weight} AS weight, {turn} AS turn"
        return Kept("turns", f"SELECT {columns} FROM ({sums}) AS s")

    @property
    def totals(self) -> str:
        """The sums of each period and group that has rows: step, place and t0, t1, ..."""
        source, weight = "cells AS t", str(FULL)
        if not self._by_row:
            source = f"cells AS t JOIN turns AS w USING ({self._person}, step)"
            source, weight = f"{source} WHERE turn <= {self.max_periods}", "w.weight"
        places = range(len(self.statistics))
        total = ", ".join(
            f"{self.dialect.sum(f't.s{i} * {weight}', wide=True)} AS t{i}" for i in places
        )
        keys = [f"t.{name}" for name in self._compiled.keys]
        names = ", ".join(["step", *keys])
        grouped = f"SELECT {names}, {total} FROM {source} GROUP BY {names}"
        place, joins = "", ""
        for i, of in enumerate(self.query.key_types):
            place = f"({place} * {len(of.keys or ())} + d{i}.c)" if place else f"d{i}.c"
            joins += f" JOIN d{i} ON {self.dialect.same(f't.k{i}', f'd{i}.k')}"
        sums = ", ".join(f"{saturated(f't{i}', self.dialect)} AS t{i}" for i in places)
        return f"SELECT step, {place or '0'} AS place, {sums} FROM ({grouped}) AS t{joins}"
