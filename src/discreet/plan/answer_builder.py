"""Tables of answers in Python: the fluent way to what SQL computes from released numbers.

>>> from discreet.plan.builder import From
>>> from discreet.plan.expression_builder import col, count, total
>>> from discreet.plan.kinds import Kind, Type
>>> from discreet.plan.relations import Scan
>>> from discreet.plan.schema import Person, Table
>>> visits = Table("visits", {"id": Type(Kind.TEXT), "city": Type(Kind.TEXT)}, Person("id"))
>>> cities = From(Scan(visits)).group_by("city").agg(n=count()).table()
>>> shares = cities.with_columns(all=over(total("n"))).with_columns(share=col("n") / col("all"))
>>> list(shares.query().then.columns)
['city', 'n', 'all', 'share']
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

from discreet.errors import InputError
from discreet.html_view import framed, note, table
from discreet.plan.answer_program import Program
from discreet.plan.builder import Asker, asker_of, sort_keys
from discreet.plan.expression_builder import (
    HINTS,
    Agg,
    Expr,
    by_name,
    condition_of,
    expression_of,
    flat,
    label,
    member,
    odd,
)
from discreet.plan.expressions import all_mentioned
from discreet.plan.query import Query, questions_in
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
from discreet.plan.schema import Limits
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
    """A function of a window of released rows, for `Question.with_columns`.

    `function` is an aggregate such as total("n"), or "rank", "lag" and so on; `number` is how many
    rows lag and lead look away, or how many tiles; `rows` are the ends of a frame of rows.
    """
    order = sort_keys([order_by], descending=descending)
    partition = tuple(one.expression for one in sort_keys([partition_by], descending=False))
    if isinstance(function, Agg):
        if function.made.where is not None or function.made.level is not None:
            raise odd(
                "a window", function, "a count, sum, mean, minimum or maximum of all its rows"
            )
        kind: Any = function.made.measure
        values = function.named("").arguments
    else:
        kind, values = member(AnswerWindowFunction, function), tuple(map(expression_of, arguments))
        if kind in {AnswerWindowFunction.LAG, AnswerWindowFunction.LEAD} and number is None:
            number = 1
    return AnswerWindow("", kind, values, partition, order, number, rows)


_UNASKED = "not asked yet: .explain(epsilon=...) is free, .release(epsilon=...) is charged"


@dataclass(frozen=True, slots=True, repr=False)
class Question:
    """A whole question; what follows works on released numbers, and every step is a new one.

    `keys` are those of the next `agg`, of released rows.
    """

    plan: Query
    ask: Asker | None = None
    keys: tuple[Named, ...] = ()

    def query(self) -> Query:
        """The plan."""
        return self.plan

    def _told(self) -> str:
        by = ", ".join(key.name for key in self.plan.keys) or "all rows"
        return f"of {', '.join(one.name for one in self.plan.relation.facts.tables)}, by {by}"

    def __repr__(self) -> str:
        asked = ", ".join(one.name for one in self.plan.aggregates)
        return f"<a question: {asked} {self._told()}; {_UNASKED}>"

    def _repr_html_(self) -> str:
        asked = [
            (one.name, one.measure.value, ", ".join(sorted(all_mentioned(one.reads))) or "rows")
            for one in self.plan.aggregates
        ]
        shown = table(["column", "what", "of"], asked)
        return framed(note(self._told()), shown, note(_UNASKED))

    def __getattr__(self, name: str) -> Any:
        told = HINTS.get(name, "ask it first, with .release(epsilon=...)")
        raise AttributeError(f"a question has no {name}: {told}", name=name, obj=self)

    @property
    def _is_bare(self) -> bool:
        """Whether it shows the groups that are measured, all of them."""
        plan = self.plan
        return plan.limit is None and not plan.outputs and plan.then is None

    def having(self, condition: Expr) -> "Question":
        """Only rows for which a condition on released numbers is true too."""
        condition = by_name(condition)
        if not self._is_bare:  # of the rows that are left
            return self._of(FilteredTable(self._table, condition_of(condition)))
        both = condition if self.plan.having is None else Expr(self.plan.having) & condition
        return replace(self, plan=replace(self.plan, having=condition_of(both)))

    where = filter = having

    def order_by(self, *by: Any, descending: bool | Sequence[bool] = False) -> "Question":
        """Sort by released columns; an earlier order decides where they are equal."""
        orders = sort_keys(map(by_name, by), descending=descending)
        if not self._is_bare:
            return self._of(SortedTable(self._table, orders))
        return replace(self, plan=replace(self.plan, order=orders + self.plan.order))

    sort = order_by

    def limit(self, rows: int) -> "Question":
        """The first rows only."""
        most = whole(rows, "limit", at_least=1)  # nothing would be shown, and paid for
        if self.plan.then is None:
            return replace(self, plan=replace(self.plan, limit=min(most, self.plan.limit or most)))
        table = self._table
        if isinstance(table, SortedTable) and not table.cuts:
            return self._of(replace(table, limit=most))
        return self._of(SortedTable(table, (), most))

    head = limit

    def at_most(self, *, max_groups: int | None = None, max_rows: int | None = None) -> "Question":
        """State how much of one person each part of the answer may hold; the least stated holds."""
        new, parts = astuple(Limits(max_groups, max_rows)), []
        for one in questions_in(self.plan):
            pairs = zip(astuple(one.limits), new, strict=True)
            least = (min(filter(None, pair), default=None) for pair in pairs)
            parts.append(replace(one, limits=Limits(*least)))
        return replace(self, plan=replace(parts[0], also=tuple(parts[1:])))

    def select(self, *names: Expr | str, **columns: Expr | str) -> "Question":
        """These columns alone, by their names or as what they are computed from."""
        return self._of(ComputedTable(self._table, _named(names, columns)))

    def with_columns(self, *unnamed: Any, **columns: Any) -> "Question":
        """Further columns: of each row, or over windows; see `over`."""
        columns = {**{label(one): one for one in flat(unnamed)}, **columns}
        windows = {name: one for name, one in columns.items() if isinstance(one, AnswerWindow)}
        found = self
        if windows:
            named = tuple(replace(one, name=name) for name, one in windows.items())
            found = self._of(WindowedTable(self._table, named))
        made = {n: one for n, one in columns.items() if not isinstance(one, AnswerWindow)}
        kept = [name for name in found.program.table.columns if name not in made]
        return found.select(*kept, **made) if made else found

    assign = with_columns

    def group_by(self, *names: Expr | str, **keys: Expr | str) -> "Question":
        """One row for each value of some columns, once `agg` is called."""
        return replace(self, keys=(*self.keys, *_named(names, keys)))

    def agg(self, **aggregates: Agg) -> "Question":
        """Aggregates of released rows, of all or of each group."""
        named = tuple(agg.named(name) for name, agg in aggregates.items())
        table = RegroupedTable(self._table, self.keys, named)
        return replace(self, keys=(), plan=replace(self.program, table=table).query)

    def join(
        self, other: "Question", on: Expr | None = None, how: JoinKind | str = "inner"
    ) -> "Question":
        """Rows of two answers side by side; their columns need different names."""
        condition = None if on is None else condition_of(on)
        kind = member(JoinKind, how)
        return self._as(self.program.beside(_answer(other).program, kind, condition))

    def stack(self, other: "Question") -> "Question":
        """The rows of another answer below these; columns are matched by position."""
        return self._as(self.program.above(_answer(other).program))

    def table(self) -> "Question":
        """Its answer as a table to compute with, whatever it is computed from."""
        return self._as(self.program)

    def release(self, **price: Any) -> Any:
        """Ask it; what `price` takes is up to the curator that handed out the table."""
        return asker_of(self.ask).release(self.plan, **price)

    def explain(self, **price: Any) -> Any:
        """Cost and expected error; touches no data."""
        return asker_of(self.ask).explain(self.plan, **price)

    @property
    def program(self) -> Program:
        """Grouped questions, and the table that is computed from their answers."""
        return Program.of(self.plan)

    @property
    def _table(self) -> ReleasedTable:
        return self.program.table

    def _of(self, table: ReleasedTable) -> "Question":
        return self._as(replace(self.program, table=table))

    def _as(self, program: Program) -> "Question":
        if self.keys:
            raise InputError(
                "a table of answers is grouped and not aggregated",
                why="after group_by comes agg",
                fix="call agg(...) next",
            )
        return replace(self, plan=program.query)


def _named(columns: Iterable[Any], named: Mapping[str, Expr | str]) -> tuple[Named, ...]:
    """Columns and expressions under their names."""
    pairs = [*((label(one), one) for one in flat(columns)), *named.items()]
    return tuple(Named(name, expression_of(by_name(of))) for name, of in pairs)


def _answer(other: object) -> Question:
    if isinstance(other, Question):
        return other
    raise odd("a question", other, "one, as in table.group_by(...).count()")
