"""A profile as an engine's SQL: rows with their weights, and texts with theirs."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from discreet.plan.bounding import FULL, ContributionBounds, NoiseKind
from discreet.plan.expressions import Column
from discreet.plan.kinds import Kind
from discreet.plan.query import Aggregate, AggregateFunction, Query
from discreet.plan.relations import Scan
from discreet.plan.schema import PERSON, Table
from discreet.plan.statistics import Rows
from discreet.sql.writer.compile import SECRET, CompiledQuery, Kept
from discreet.sql.writer.dialect import Dialect, saturated

LONGEST = 64
"""Characters of a text that may be shown as a key; longer ones are counted together."""


def profile_query(table: Table) -> Query:
    """A count of rows: how people are bounded, and what one pass costs."""
    return Query(Scan(table), (), (Aggregate("n", AggregateFunction.COUNT),))


@dataclass(frozen=True)
class CompiledProfile:
    """The statements of a profile of a table.

    Guarantee:
        With the weights of a limit kept, whoever has n rows weighs FULL for each where n is at most
        the limit, else so much less that they weigh FULL * limit together at most. Weights are
        those of `discreet.plan.bounding`, which depend on a person's own rows alone.
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
    def pairs(self) -> Kept:
        """One row for each person."""
        return self._compiled.pairs

    def spread(self, limits: Sequence[int]) -> str:
        """How many people first fit each of these rising limits on rows."""
        return self._compiled.spread(("l1", limits))

    def weights(self, limit: int) -> list[Kept]:
        """The people over a limit on rows, and their weights."""
        bounds = ContributionBounds(NoiseKind.LAPLACE, limit, 1)
        return [] if self._compiled.query.is_by_row else self._compiled.weights(bounds)

    def block(self, names: Sequence[str]) -> str:
        """Weights and values of some columns, row by row."""
        shown = [f"{self._value(name)} AS c{i}" for i, name in enumerate(names)]
        return self._weighed(shown, [f"c{i}" for i in range(len(names))])

    def texts(self, name: str, least: int) -> tuple[Kept, str, str]:
        """The kept selects; the texts of a `least` weight, NULL and long ones; their number."""
        value, length = self._value(name), self.dialect.length(self._value(name))
        short = self.dialect.only_if(f"{length} <= {LONGEST}", value)
        long = f"COALESCE({length} > {LONGEST}, FALSE)"
        rows = self._weighed([f"{short} AS v", f"{long} AS long"], ["v", "long"])
        total = saturated(self.dialect.sum("w"), self.dialect)
        kept = f"SELECT v, long, {total} AS t FROM ({rows}) AS r GROUP BY 1, 2"
        heavy = f"SELECT v, long, t FROM texts WHERE v IS NULL OR t >= {least} ORDER BY 1, 2"
        each = self.dialect.sum(f"CASE WHEN t < {FULL} THEN t ELSE {FULL} END")
        some = f"SELECT {each} AS n FROM texts WHERE v IS NOT NULL OR long"
        distinct = f"SELECT COALESCE({saturated('n', self.dialect)}, 0) AS n FROM ({some}) AS t"
        return Kept("texts", kept), heavy, distinct

    def _value(self, name: str) -> str:
        return self.dialect.render(Column(name), self.table.columns)

    def _weighed(self, columns: Sequence[str], names: Sequence[str]) -> str:
        """Rows with their weight `w` before these columns."""
        full = self.dialect.literal(FULL, Kind.INTEGER)
        weight, join = full, ""
        if not self._compiled.query.is_by_row:
            person = self.dialect.identifier(PERSON)
            weight, join = f"COALESCE(h.w, {full})", f" LEFT JOIN heavy AS h USING ({person})"
        rows = self._compiled.rows(columns)
        return f"SELECT {', '.join([f'{weight} AS w', *names])} FROM ({rows}) AS r{join}"
