"""SELECT over answers: joins, groups, windows and subqueries of what is released, as in any SQL.

All of it is post-processing. The grouped questions at its leaves are measured and priced together,
each different one once, however often it is named.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from sqlglot import exp

from discreet.errors import InputError
from discreet.plan import released_tables as released
from discreet.plan.answer_program import Program
from discreet.plan.expressions import Call, Case, Column, Expression, Function, Literal
from discreet.plan.kinds import Kind, Type
from discreet.plan.query import Aggregate, AggregateFunction, SortKey, grouping_name
from discreet.plan.relations import Named
from discreet.plan.released_tables import (
    AnswerWindow,
    AnswerWindowFunction,
    ComputedTable,
    RegroupedTable,
    ReleasedTable,
    StackedTables,
    WindowedTable,
)
from discreet.plan.summaries import RowOrder
from discreet.plan.typing import infer
from discreet.sql.reader.expressions import ExpressionReader
from discreet.sql.reader.literals import read_whole
from discreet.sql.reader.refusals import ROW_OUTPUT, Refusal
from discreet.sql.reader.select_list import Answer, orders
from discreet.sql.reader.syntax import Node, Syntax, fresh
from discreet.sql.reader.windows import WindowSyntax

Limits: TypeAlias = tuple[int | None, int]
"""LIMIT and OFFSET."""


def program_of(answer: Answer) -> Program:
    """The table that an answer shows, under the names it has outside."""
    query = answer.query
    program = query if isinstance(query, Program) else Program.of(query)
    return program.renamed(answer.names)


def answer_of(program: Program) -> Answer:
    """A program as the answer to a whole question."""
    query = program.query if program.queries else program
    return Answer(query, "", tuple(program.table.columns))


@dataclass(slots=True)
class Beyond:
    """Windows over released rows and answers inside expressions, each different window once.

    While a question is read each is a column, with a name that no other column has.
    """

    syntax: Syntax
    types: dict[str, Type]
    subquery: Callable[[Node], object]
    windows: dict[released.AnswerWindow, str] = field(default_factory=dict)
    answers: list[tuple[str, Program, Expression | None]] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """The columns that stand for them."""
        columns = [name for _, program, _ in self.answers for name in program.table.columns]
        return [*self.windows.values(), *columns]

    def read(self, reader: ExpressionReader, node: Node) -> Expression:
        """The column of a window, or of an answer that is one value or a list of them."""
        if isinstance(node, exp.In):
            return self._member(reader, node)
        return self._window(reader, node) if isinstance(node, exp.Window) else self._value(node)

    def column(self, stem: str, of: Type) -> Column:
        """A new column, under a name that no other has."""
        name = fresh(f"{stem} {len(self.names) + 1}", {known.lower() for known in self.types})
        self.types[name] = of
        return Column(name)

    # --- answers ----------------------------------------------------------------------------------

    def _program(self, node: Node) -> Program:
        """The answer inside an expression: one column."""
        found = self.subquery(node)
        if not isinstance(found, Answer):
            raise self.syntax.refuse(node, ROW_OUTPUT)
        program = program_of(found)
        if len(program.table.columns) != 1:
            raise self.syntax.refuse(node, _ONE_COLUMN)
        return program

    def _member(self, reader: ExpressionReader, node: Node) -> Expression:
        """X IN (SELECT ...): NULL where x is, or the list has one, and x is not in it."""
        value = reader.checked(self.syntax.part(node, "this"))
        program = self._program(self.syntax.part(node, "query"))
        ((old, of),) = program.table.columns.items()
        found = self.column("answer", of.may_be_null())
        keys = (Named(found.name, Column(old)),)
        listed = replace(program, table=released.RegroupedTable(program.table, keys, ()))
        self.answers.append((found.name, listed, Call(Function.EQUAL, (value, found))))
        counts = [self.column("answer", Type(Kind.INTEGER)) for _ in range(2)]
        asked = (
            Aggregate(counts[0].name, AggregateFunction.COUNT),
            Aggregate(counts[1].name, AggregateFunction.COUNT, (Column(old),)),
        )
        counted = replace(program, table=released.RegroupedTable(program.table, (), asked))
        self.answers += [(counts[0].name, counted, None)]
        missing = Call(Function.IS_NULL, (value,))
        unknown = Call(Function.OR, (missing, Call(Function.GREATER, tuple(counts))))
        yes, no = (Literal(one, Kind.BOOLEAN) for one in (True, False))
        empty = Call(Function.EQUAL, (counts[0], Literal(0, Kind.INTEGER)))
        there = Call(Function.NOT, (Call(Function.IS_NULL, (found,)),))
        return Case(((there, yes), (empty, no), (unknown, Literal(None, Kind.BOOLEAN))), no)

    def _value(self, node: Node) -> Expression:
        program = self._program(node)
        if not released.is_single(program.table, program.queries, surely=False):
            raise self.syntax.refuse(node, _ONE_ROW)
        ((old, of),) = program.table.columns.items()
        column = self.column("answer", of.may_be_null())
        named = released.ComputedTable(program.table, (Named(column.name, Column(old)),))
        self.answers.append((column.name, replace(program, table=named), None))
        return column

    def joined(
        self,
        program: Program | None,
        node: Node,
        lift: Callable[[Expression, None], Expression] = lambda one, _: one,
    ) -> Program:
        """A program with a column for each answer inside its expressions."""
        for _, answer, on in self.answers:
            if program is None:
                if on is not None or not released.is_single(
                    answer.table, answer.queries, surely=True
                ):
                    raise self.syntax.refuse(node, _ONE_ROW)
                program = answer
            else:
                condition = None if on is None else lift(on, None)
                program = program.beside(answer, released.JoinKind.LEFT, condition)
        if program is None:
            raise self.syntax.refuse(node, NO_FROM)
        return program

    # --- windows ----------------------------------------------------------------------------------

    def _window(self, reader: ExpressionReader, node: Node) -> Expression:
        syntax, written = self.syntax, WindowSyntax.of(self.syntax, node)
        function, arguments, number = self._function(reader, written)
        order = tuple(
            key
            for part, descending, nulls_first in written.order()
            for key in orders(reader.checked(part), descending=descending, nulls_first=nulls_first)
        )
        window = released.AnswerWindow(
            "",
            function,
            arguments,
            written.partition(reader.checked),
            order,
            number,
            written.frame(),
        )
        if window not in self.windows:
            try:
                of = window.type(reader.types)
            except InputError as error:
                raise syntax.blame(node, error) from None
            self.windows[window] = self.column("window", of).name
        return Column(self.windows[window])

    def _function(
        self, reader: ExpressionReader, written: WindowSyntax
    ) -> tuple[
        released.AnswerWindowFunction | AggregateFunction, tuple[Expression, ...], int | None
    ]:
        """The function, its arguments, and the tiles of NTILE or the offset of LAG."""
        node, where = written.function(reader)
        kind = type(node)
        if where is None and kind in _PLACES:
            return _PLACES[kind], (), None
        if where is None and kind is exp.Ntile:
            tiles = read_whole(self.syntax, self.syntax.part(node, "this"), "NTILE", at_least=1)
            return released.AnswerWindowFunction.NTILE, (), tiles
        if where is None and kind in _VALUES:
            value, default, number = written.moved(reader, node)
            if isinstance(node, exp.Lag | exp.Lead):
                number = 1 if number is None else number
            return _VALUES[kind], (value,) if default is None else (value, default), number
        measure = _AGGREGATES.get(kind)
        if measure is None:
            raise self.syntax.refuse(node, _NO_WINDOW)
        argument = written.argument(reader, node)
        if where is not None:
            one = argument or Literal(1, Kind.INTEGER)
            argument = Case(((where, one),), Literal(None, reader.check(one, node).kind))
        return measure, () if argument is None else (argument,), None


_PLACES: dict[type[Node], released.AnswerWindowFunction] = {
    exp.RowNumber: released.AnswerWindowFunction.ROW_NUMBER,
    exp.Rank: released.AnswerWindowFunction.RANK,
    exp.DenseRank: released.AnswerWindowFunction.DENSE_RANK,
    exp.PercentRank: released.AnswerWindowFunction.PERCENT_RANK,
    exp.CumeDist: released.AnswerWindowFunction.CUME_DIST,
}
_VALUES: dict[type[Node], released.AnswerWindowFunction] = {
    exp.Lag: released.AnswerWindowFunction.LAG,
    exp.Lead: released.AnswerWindowFunction.LEAD,
    exp.FirstValue: released.AnswerWindowFunction.FIRST_VALUE,
    exp.LastValue: released.AnswerWindowFunction.LAST_VALUE,
    exp.NthValue: released.AnswerWindowFunction.NTH_VALUE,
}
_AGGREGATES: dict[type[Node], AggregateFunction] = {
    exp.Count: AggregateFunction.COUNT,
    exp.Sum: AggregateFunction.SUM,
    exp.Avg: AggregateFunction.MEAN,
    exp.Min: AggregateFunction.MIN,
    exp.Max: AggregateFunction.MAX,
    exp.Stddev: AggregateFunction.STDDEV,
    exp.StddevSamp: AggregateFunction.STDDEV,
    exp.Variance: AggregateFunction.VARIANCE,
}


@dataclass(frozen=True, slots=True)
class Shown:
    """The steps of a SELECT over its rows, in order."""

    outputs: Sequence[tuple[str, Expression]]
    having: Expression | None = None
    qualify: Expression | None = None
    order: tuple[SortKey, ...] = ()
    limits: Limits = (None, 0)

    def over(self, program: Program, windows: Mapping[released.AnswerWindow, str]) -> Program:
        """Filter, windows, QUALIFY, ORDER BY and LIMIT, and the values that are selected."""
        table = program.table
        if self.having is not None:
            table = released.FilteredTable(table, self.having)
        if windows:
            named = (replace(one, name=name) for one, name in windows.items())
            table = released.WindowedTable(table, tuple(named))
        if self.qualify is not None:
            table = released.FilteredTable(table, self.qualify)
        if self.order or self.limits != (None, 0):
            table = released.SortedTable(table, self.order, *self.limits)
        outputs = tuple(Named(name, expression) for name, expression in self.outputs)
        return replace(program, table=released.ComputedTable(table, outputs))


NO_FROM = Refusal(
    "syntax", "SELECT without FROM", "there is nothing to answer about", "name a table in FROM"
)
_ONE_COLUMN = Refusal(
    "subquery",
    "a subquery inside an expression has several columns",
    "it stands for one value",
    "select one value in it",
)
_ONE_ROW = Refusal(
    "subquery",
    "a subquery inside an expression may have several rows, or none",
    "it stands for one value, and how many groups there are is not known before",
    "aggregate it once more, as in (SELECT MAX(n) FROM (...)), or add ORDER BY ... LIMIT 1",
)
_NO_WINDOW = Refusal(
    "window",
    "this function has no window",
    "over windows there are COUNT, SUM, AVG, MIN, MAX, STDDEV, VARIANCE, ranks, LAG and LEAD",
    "aggregate in a subquery, and join it",
)


_NO = Literal(value=False, kind=Kind.BOOLEAN)
Turns: TypeAlias = Mapping[tuple[Expression, tuple[RowOrder, ...]], str]
"""Which rows count, in which order, and the column of their places."""


def regrouped(
    rows: ReleasedTable,
    keys: tuple[Named, ...],
    aggregates: tuple[Aggregate, ...],
    sets: Sequence[tuple[int, ...]],
    turns: Turns,
) -> ReleasedTable:
    """Groups of released rows, those of one grouping set below those of another."""
    first, *more = (_one_set(rows, keys, aggregates, sets, one, turns) for one in sets)
    for table in more:
        first = StackedTables(first, table)
    return first


def _one_set(
    rows: ReleasedTable,
    keys: tuple[Named, ...],
    aggregates: tuple[Aggregate, ...],
    sets: Sequence[tuple[int, ...]],
    chosen: tuple[int, ...],
    turns: Turns,
) -> ReleasedTable:
    table = _grouped(rows, [keys[at] for at in chosen], aggregates, turns)
    if len(sets) == 1:
        return table
    told = [*_all_keys(rows, keys, chosen), *map(_itself, aggregates)]
    return ComputedTable(table, tuple(told))


def _itself(column: Named | Aggregate) -> Named:
    return Named(column.name, Column(column.name))


def _all_keys(
    rows: ReleasedTable, keys: tuple[Named, ...], chosen: tuple[int, ...]
) -> Iterator[Named]:
    """The keys of one grouping set, NULL for those it leaves out, and which ones these are."""
    for at, key in enumerate(keys):
        kind = infer(key.expression, rows.columns).kind
        yield _itself(key) if at in chosen else Named(key.name, Literal(None, kind))
        yield Named(grouping_name(key.name), Literal(int(at not in chosen), Kind.INTEGER))


def _grouped(
    rows: ReleasedTable,
    keys: list[Named],
    aggregates: tuple[Aggregate, ...],
    turns: Turns,
) -> ReleasedTable:
    """One grouping set of released rows; the places that ARG_MAX asks for are within its groups."""
    partition = tuple(key.expression for key in keys)
    places = []
    for (counts, by), name in turns.items():
        order = [SortKey(Call(Function.NOT, (Call(Function.COALESCE, (counts, _NO)),)))]
        for one in by:
            order += orders(one.expression, descending=one.descending, nulls_first=one.nulls_first)
        number = AnswerWindowFunction.ROW_NUMBER
        places.append(AnswerWindow(name, number, (), partition, tuple(order)))
    source = WindowedTable(rows, tuple(places)) if places else rows
    return RegroupedTable(source, tuple(keys), aggregates)
