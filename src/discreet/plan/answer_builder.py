"""Tables of answers in Python: the fluent way to what SQL computes from released numbers.

>>> from discreet.plan.builder import From, col, count, total
>>> from discreet.plan.kinds import Kind, Type
>>> from discreet.plan.relations import Scan
>>> from discreet.plan.schema import Person, Table
>>> visits = Table("visits", {"id": Type(Kind.TEXT), "city": Type(Kind.TEXT)}, Person("id"))
>>> cities = From(Scan(visits)).group_by("city").agg(n=count()).table()
>>> shares = cities.with_columns(all=over(total("n"))).with_columns(share=col("n") / col("all"))
>>> list(shares.query().then.columns)
['city', 'n', 'all', 'share']
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from discreet.errors import InputError
from discreet.plan.answer_program import Program
from discreet.plan.builder import (
    Agg,
    Asker,
    Computed,
    Expr,
    asker_of,
    col,
    condition_of,
    expression_of,
    flat,
    label,
    sort_keys,
)
from discreet.plan.constants import member, odd
from discreet.plan.query import Query
from discreet.plan.relations import Named
from discreet.plan.released_tables import (
    AnswerWindow,
    AnswerWindowFunction,
    ComputedTable,
    FilteredTable,
    JoinKind,
    RegroupedTable,
    ReleasedTable,
    SortedTable,
    WindowedTable,
)
from discreet.rationals import whole


def over(
    function: "Agg | AnswerWindowFunction | str",
    *arguments: Expr | str,
    partition_by: str | Sequence[Expr | str] = (),
    order_by: str | Sequence[Expr | str] = (),
    descending: bool = False,
    number: int | None = None,
    rows: tuple[int | None, int | None] | None = None,
) -> AnswerWindow:
    """A function of a window of released rows, for `AnswerFrame.with_columns`.

    `function` is an aggregate such as total("n"), or "rank", "lag" and so on; `number` is how many
    rows lag and lead look away, or how many tiles; `rows` are the ends of a frame of rows.
    """
    order = sort_keys([order_by], descending=descending)
    partition = tuple(one.expression for one in sort_keys([partition_by], descending=False))
    if isinstance(function, Agg):
        if function.where is not None or function.level is not None:
            raise odd(
                "a window", function, "a count, sum, mean, minimum or maximum of all its rows"
            )
        kind: Any = function.measure
        values = function.arguments
    else:
        kind, values = member(AnswerWindowFunction, function), tuple(map(expression_of, arguments))
        if kind in {AnswerWindowFunction.LAG, AnswerWindowFunction.LEAD} and number is None:
            number = 1
    return AnswerWindow("", kind, values, partition, order, number, rows)


@dataclass(frozen=True, slots=True)
class AnswerFrame:
    """A table of what is released, on the way to a question; every step is a new one, and free."""

    program: Program
    ask: Asker | None = None
    keys: tuple[Named, ...] = ()

    def query(self) -> Query:
        """The plan."""
        return self.program.query

    def where(self, condition: Expr) -> "AnswerFrame":
        """Only rows for which a condition is true."""
        return self._of(FilteredTable(self._table, condition_of(condition)))

    filter = having = where

    def select(self, *names: Expr | str, **columns: Expr | str) -> "AnswerFrame":
        """These columns alone, by their names or as what they are computed from."""
        plain = [Named(label(one), expression_of(one)) for one in flat(names)]
        made = [Named(name, expression_of(one)) for name, one in columns.items()]
        return self._of(ComputedTable(self._table, tuple(plain + made)))

    def with_columns(self, *unnamed: Any, **columns: Any) -> "AnswerFrame":
        """Further columns: of each row, or over windows; see `over`."""
        columns = {**{label(one): one for one in flat(unnamed)}, **columns}
        windows: dict[str, AnswerWindow] = {}

        def part(window: AnswerWindow) -> Expr:
            windows[name := f"part_{len(windows) + 1}"] = window
            return col(name)

        made = {n: one for n, one in columns.items() if not isinstance(one, AnswerWindow)}
        made = {n: one.build(part) if isinstance(one, Computed) else one for n, one in made.items()}
        hidden = {*windows, *made}
        windows |= {name: one for name, one in columns.items() if isinstance(one, AnswerWindow)}
        found = self
        if windows:
            named = tuple(replace(one, name=name) for name, one in windows.items())
            found = self._of(WindowedTable(self._table, named))
        kept = [name for name in found.program.table.columns if name not in hidden]
        return found.select(*kept, **made) if made else found

    assign = with_columns

    def group_by(self, *names: Expr | str, **keys: Expr | str) -> "AnswerFrame":
        """One row for each value of some columns, once `agg` is called."""
        plain = tuple(Named(label(one), expression_of(one)) for one in flat(names))
        named = tuple(Named(name, expression_of(one)) for name, one in keys.items())
        return replace(self, keys=self.keys + plain + named)

    def agg(self, **aggregates: Agg) -> "AnswerFrame":
        """Aggregates of released rows, of all or of each group."""
        named = tuple(agg.named(name) for name, agg in aggregates.items())
        return replace(self._of(RegroupedTable(self._table, self.keys, named)), keys=())

    def join(
        self, other: "AnswerFrame", on: Expr | None = None, how: JoinKind | str = "inner"
    ) -> "AnswerFrame":
        """Rows of two tables side by side; their columns need different names."""
        if not isinstance(other, AnswerFrame):
            raise odd("a table of answers", other, "one, as in question.table()")
        condition = None if on is None else condition_of(on)
        return replace(
            self, program=self.program.beside(other.program, member(JoinKind, how), condition)
        )

    def stack(self, other: "AnswerFrame") -> "AnswerFrame":
        """The rows of another table below these; columns are matched by position."""
        return replace(self, program=self.program.above(other.program))

    def order_by(self, *by: Any, descending: bool | Sequence[bool] = False) -> "AnswerFrame":
        """Sort the rows."""
        return self._of(SortedTable(self._table, sort_keys(by, descending=descending)))

    sort = order_by

    def limit(self, rows: int) -> "AnswerFrame":
        """The first rows only."""
        most = whole(rows, "limit", at_least=1)
        table = self._table
        if isinstance(table, SortedTable) and not table.cuts:
            return self._of(replace(table, limit=most))
        return self._of(SortedTable(table, (), most))

    head = limit

    def release(self, **price: Any) -> Any:
        """Ask it; what `price` takes is up to the curator that handed out the table."""
        return asker_of(self.ask).release(self.query(), **price)

    def explain(self, **price: Any) -> Any:
        """Cost and expected error; touches no data."""
        return asker_of(self.ask).explain(self.query(), **price)

    @property
    def _table(self) -> ReleasedTable:
        return self.program.table

    def _of(self, table: ReleasedTable) -> "AnswerFrame":
        if self.keys and not isinstance(table, RegroupedTable):
            raise InputError(
                "a table of answers is grouped and not aggregated",
                why="after group_by comes agg",
                fix="call agg(...) next",
            )
        return replace(self, program=replace(self.program, table=table))
