"""SELECT over answers: joins, groups, windows and subqueries of what is released, as in any SQL.

All of it is post-processing. The grouped questions at its leaves are measured and priced together,
each different one once, however often it is named.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TypeAlias

from sqlglot import exp

from discreet.plan.answer_program import Program
from discreet.plan.expressions import Case, Column, Expression, Function, Literal, call
from discreet.plan.kinds import Kind, Type
from discreet.plan.query import Aggregate, AggregateFunction, SortKey, grouping_name
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
    StackedTables,
    WindowedTable,
    is_single,
)
from discreet.plan.summaries import RowOrder
from discreet.plan.typing import infer
from discreet.sql.reader.expressions import ExpressionReader
from discreet.sql.reader.literals import read_whole
from discreet.sql.reader.refusals import ROW_OUTPUT, Refusal, said
from discreet.sql.reader.select_list import Answer, answer_named, orders
from discreet.sql.reader.syntax import Node, Syntax, fresh
from discreet.sql.reader.windows import WindowSyntax

Limits: TypeAlias = tuple[int | None, int]
"""LIMIT and OFFSET."""


def program_of(answer: Answer) -> Program:
    """The table that an answer shows, under the names it has outside."""
    query = answer.query
    program = query if isinstance(query, Program) else Program.of(query)
    return program.renamed([one.name for one in answer.columns])


def answer_of(program: Program) -> Answer:
    """A program as the answer to a whole question."""
    return answer_named(program.query if program.queries else program, program.table.columns)


@dataclass(slots=True)
class Beyond:
    """Windows over released rows and answers inside expressions, each different window once.

    While a question is read each is a column, with a name that no other column has.
    """

    syntax: Syntax
    types: dict[str, Type]
    subquery: Callable[[Node], object]
    windows: dict[AnswerWindow, str] = field(default_factory=dict)
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
        listed = replace(program, table=RegroupedTable(program.table, keys, ()))
        self.answers.append((found.name, listed, value.equals(found)))
        rows, values = (self.column("answer", Type(Kind.INTEGER)) for _ in range(2))
        asked = (
            Aggregate(rows.name, AggregateFunction.COUNT),
            Aggregate(values.name, AggregateFunction.COUNT, (Column(old),)),
        )
        counted = replace(program, table=RegroupedTable(program.table, (), asked))
        self.answers.append((rows.name, counted, None))
        yes, no, unknown = (Literal(one, Kind.BOOLEAN) for one in (True, False, None))
        known = (~found.is_null(), yes), (rows.equals(0), no)
        return Case((*known, (value.is_null() | (rows > values), unknown)), no)

    def _value(self, node: Node) -> Expression:
        program = self._program(node)
        if not is_single(program.table, program.queries, surely=False):
            raise self.syntax.refuse(node, _ONE_ROW)
        ((old, of),) = program.table.columns.items()
        column = self.column("answer", of.may_be_null())
        named = ComputedTable(program.table, (Named(column.name, Column(old)),))
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
                if on is not None or not is_single(answer.table, answer.queries, surely=True):
                    raise self.syntax.refuse(node, _ONE_ROW)
                program = answer
            else:
                condition = None if on is None else lift(on, None)
                program = program.beside(answer, JoinKind.LEFT, condition)
        if program is None:
            raise self.syntax.refuse(node, NO_FROM)
        return program

    # --- windows ----------------------------------------------------------------------------------

    def _window(self, reader: ExpressionReader, node: Node) -> Expression:
        written = WindowSyntax.of(self.syntax, node)
        function, arguments, number = self._function(reader, written)
        parts = written.order()
        order = tuple(key for one, *how in parts for key in orders(reader.checked(one), *how))
        partition = written.partition(reader.checked)
        frame = written.frame()
        window = AnswerWindow("", function, arguments, partition, order, number, frame)
        if window not in self.windows:
            of = self.syntax.build(node, window.type, reader.types)
            self.windows[window] = self.column("window", of).name
        return Column(self.windows[window])

    def _function(
        self, reader: ExpressionReader, written: WindowSyntax
    ) -> tuple[AnswerWindowFunction | AggregateFunction, tuple[Expression, ...], int | None]:
        """The function, its arguments, and the tiles of NTILE or the offset of LAG."""
        node, where = written.function(reader)
        kind = type(node)
        if where is None and kind in _PLACES:
            return _PLACES[kind], (), None
        if where is None and kind is exp.Ntile:
            tiles = read_whole(self.syntax, self.syntax.part(node, "this"), "NTILE", at_least=1)
            return AnswerWindowFunction.NTILE, (), tiles
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


_RANKS = (exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist)
_MOVED = (exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue)
_PLACES, _VALUES = (
    {one: AnswerWindowFunction[one.sql_name()] for one in kinds} for kinds in (_RANKS, _MOVED)
)
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
    having: Expression | None
    qualify: Expression | None
    order: tuple[SortKey, ...]
    limits: Limits

    def over(self, program: Program, windows: Mapping[AnswerWindow, str]) -> Answer:
        """Filter, windows, QUALIFY, ORDER BY and LIMIT, and the values that are selected."""
        table = program.table
        if self.having is not None:
            table = FilteredTable(table, self.having)
        if windows:
            named = (replace(one, name=name) for one, name in windows.items())
            table = WindowedTable(table, tuple(named))
        if self.qualify is not None:
            table = FilteredTable(table, self.qualify)
        if self.order or self.limits != (None, 0):
            table = SortedTable(table, self.order, *self.limits)
        outputs = tuple(Named(name, expression) for name, expression in self.outputs)
        return answer_of(replace(program, table=ComputedTable(table, outputs)))


NO_FROM = Refusal(
    "syntax", "SELECT without FROM", "there is nothing to answer about", "name a table in FROM"
)
_ONE_COLUMN = said("""subquery: a subquery inside an expression has several columns
    it stands for one value
    select one value in it""")
_ONE_ROW = said("""subquery: a subquery inside an expression may have several rows, or none
    it stands for one value, and how many groups there are is not known before
    aggregate it once more, as in (SELECT MAX(n) FROM (...)), or add ORDER BY ... LIMIT 1""")
_NO_WINDOW = said("""window: this function has no window
    over windows there are COUNT, SUM, AVG, MIN, MAX, STDDEV, VARIANCE, ranks, LAG and LEAD
    aggregate in a subquery, and join it""")


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
    """Groups of released rows, those of one grouping set below those of another.

    Of several sets each has all keys, NULL for those it leaves out, and tells which ones these are.
    """

    def grouped(chosen: tuple[int, ...]) -> ReleasedTable:
        own = tuple(keys[at] for at in chosen)
        table = RegroupedTable(_placed(rows, own, turns), own, aggregates)
        if len(sets) == 1:
            return table
        told = [Named(one.name, Column(one.name)) for one in aggregates]
        for at, key in reversed(list(enumerate(keys))):
            null = Literal(None, infer(key.expression, rows.columns).kind)
            left_out = Literal(int(at not in chosen), Kind.INTEGER)
            shown = Named(key.name, Column(key.name) if at in chosen else null)
            told = [shown, Named(grouping_name(key.name), left_out), *told]
        return ComputedTable(table, tuple(told))

    return reduce(StackedTables, map(grouped, sets))


def _placed(rows: ReleasedTable, keys: tuple[Named, ...], turns: Turns) -> ReleasedTable:
    """Released rows with the places that ARG_MAX asks for, within the groups of some keys."""
    partition = tuple(key.expression for key in keys)
    places = []
    for (counts, by), name in turns.items():
        order = [SortKey(~call(Function.COALESCE, counts, _NO))]
        for one in by:
            order += orders(one.expression, one.descending, one.nulls_first)
        number = AnswerWindowFunction.ROW_NUMBER
        places.append(AnswerWindow(name, number, (), partition, tuple(order)))
    return WindowedTable(rows, tuple(places)) if places else rows
