"""Several grouped questions and one table computed from their answers, on the way to a question."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from discreet.plan import canonical
from discreet.plan import released_tables as released
from discreet.plan.expressions import Column, Expression
from discreet.plan.query import Query
from discreet.plan.relations import Named


@dataclass(frozen=True, slots=True)
class Program:
    """A table of what is released, and the grouped questions that it is computed from."""

    queries: tuple[Query, ...]
    table: released.ReleasedTable

    @staticmethod
    def of(query: Query) -> "Program":
        """The table that a question shows."""
        bare = replace(
            query, outputs=(), having=None, order=(), limit=None, offset=0, also=(), then=None
        )
        table: released.ReleasedTable = query.then or released.AnswerTable.of(0, bare)
        if query.having is not None:
            table = released.FilteredTable(table, query.having)
        if query.order or query.limit is not None or query.offset:
            table = released.SortedTable(table, query.order, query.limit, query.offset)
        if query.outputs:
            table = released.ComputedTable(table, query.outputs)
        return Program((bare, *query.also), table)

    def renamed(self, names: Sequence[str]) -> "Program":
        """The same with other names of its columns."""
        pairs = list(zip(names, self.table.columns, strict=True))
        if all(new == old for new, old in pairs):
            return self
        named = tuple(Named(new, Column(old)) for new, old in pairs)
        return replace(self, table=released.ComputedTable(self.table, named))

    def beside(self, other: "Program", kind: released.JoinKind, on: Expression | None) -> "Program":
        """Both tables side by side."""
        queries, table = self._met(other)
        return Program(queries, released.JoinedTables(self.table, table, kind, on))

    def above(self, other: "Program") -> "Program":
        """This table and another below it."""
        queries, table = self._met(other)
        return Program(queries, released.StackedTables(self.table, table))

    def distinct(self) -> "Program":
        """Different rows, each once."""
        keys = tuple(Named(name, Column(name)) for name in self.table.columns)
        return replace(self, table=released.RegroupedTable(self.table, keys, ()))

    def _met(self, other: "Program") -> tuple[tuple[Query, ...], released.ReleasedTable]:
        """The questions of both, each once, and the other's table over these."""
        known = {canonical.write(one): at for at, one in enumerate(self.queries)}
        queries, places = list(self.queries), {}
        for at, one in enumerate(other.queries):
            text = canonical.write(one)
            if text not in known:
                known[text] = len(queries)
                queries.append(one)
            places[at] = known[text]
        return tuple(queries), released.moved(other.table, places)

    @property
    def query(self) -> Query:
        """The program as one question."""
        first, *rest = self.queries
        return replace(first, also=tuple(rest), then=self.table)
