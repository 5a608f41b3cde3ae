"""SELECT over answers: joins, groups, windows and subqueries of what is released, as in any SQL.

All of it is post-processing. The grouped questions at its leaves are measured and priced together,
each different one once, however often it is named.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from sqlglot import exp

from discreet.errors import InputError
from discreet.plan import released_tables as released
from discreet.plan.answer_program import Program
from discreet.plan.expressions import Call, Case, Column, Expression, Function, Literal
from discreet.plan.kinds import Kind, Type
from discreet.plan.query import Aggregate, AggregateFunction, SortKey
from discreet.plan.relations import Named
from discreet.sql.reader.expressions import ExpressionReader
from discreet.sql.reader.literals import read_whole
from discreet.sql.reader.names import fresh
from discreet.sql.reader.refusals import ROW_OUTPUT, Refusal
from discreet.sql.reader.released_values import Answer, order_parts, orders
from discreet.sql.reader.syntax import Node, Syntax

Limits: TypeAlias = tuple[int | None, int]
"""LIMIT and OFFSET."""


def program_of(answer: Answer) -> Program:
    """The table that an answer shows, under the names it has outside."""
    return Program.of(answer.query).renamed(answer.names)


def answer_of(program: Program) -> Answer:
    """A program as the answer to a whole question."""
    return Answer(program.query, "", tuple(program.table.columns))


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
    def is_empty(self) -> bool:
        """Whether nothing of the kind was asked."""
        return not self.windows and not self.answers

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

    def _column(self, stem: str, of: Type) -> Column:
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
        found = self._column("answer", of.may_be_null())
        keys = (Named(found.name, Column(old)),)
        listed = replace(program, table=released.RegroupedTable(program.table, keys, ()))
        self.answers.append((found.name, listed, Call(Function.EQUAL, (value, found))))
        counts = [self._column("answer", Type(Kind.INTEGER)) for _ in range(2)]
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
        column = self._column("answer", of.may_be_null())
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
        syntax = self.syntax
        syntax.part(node, "over")
        if node.args.get("alias") is not None:
            raise syntax.refuse(node, _NAMED_WINDOW)
        function, arguments, number = self._function(reader, syntax.part(node, "this"))
        partition = tuple(reader.checked(one) for one in syntax.parts(node, "partition_by"))
        order = tuple(
            key
            for part, descending, nulls_first in order_parts(syntax, node)
            for key in orders(reader.checked(part), descending=descending, nulls_first=nulls_first)
        )
        frame = self._frame(syntax.part(node, "spec"), ordered=bool(order))
        window = released.AnswerWindow("", function, arguments, partition, order, number, frame)
        if window not in self.windows:
            try:
                of = window.type(reader.types)
            except InputError as error:
                raise syntax.blame(node, error) from None
            self.windows[window] = self._column("window", of).name
        return Column(self.windows[window])

    def _function(
        self, reader: ExpressionReader, node: Node
    ) -> tuple[
        released.AnswerWindowFunction | AggregateFunction, tuple[Expression, ...], int | None
    ]:
        syntax, kind = self.syntax, type(node)
        if kind in _PLACES:
            return _PLACES[kind], (), None
        if kind is exp.Ntile:
            tiles = read_whole(syntax, syntax.part(node, "this"), "NTILE", at_least=1)
            return released.AnswerWindowFunction.NTILE, (), tiles
        if kind in _VALUES:
            return self._neighbour(reader, node)
        where = None
        if isinstance(node, exp.Filter):
            where = reader.checked(syntax.part(syntax.part(node, "expression"), "this"))
            node = syntax.part(node, "this")
        measure = _AGGREGATES.get(type(node))
        if measure is None:
            raise syntax.refuse(node, _NO_WINDOW)
        syntax.part(node, "big_int")
        inner = syntax.part(node, "this")
        value: Expression | None = None
        if inner is not None and not isinstance(inner, exp.Star):
            value = reader.checked(inner)
        if where is not None:
            one = value or Literal(1, Kind.INTEGER)
            of = reader.check(one, node).kind
            value = Case(((where, one),), Literal(None, of))
        return measure, () if value is None else (value,), None

    def _neighbour(
        self, reader: ExpressionReader, node: Node
    ) -> tuple[released.AnswerWindowFunction, tuple[Expression, ...], int | None]:
        """LAG(x, 2, 0), NTH_VALUE(x, 3): a value of another row."""
        syntax, function = self.syntax, _VALUES[type(node)]
        nodes = [syntax.part(node, "this")]
        offset = syntax.part(node, "offset")
        if isinstance(node, exp.Lag | exp.Lead):
            default = syntax.part(node, "default")
            nodes += [] if default is None else [default]
        number = None if offset is None else read_whole(syntax, offset, "how many rows away")
        if function in {released.AnswerWindowFunction.LAG, released.AnswerWindowFunction.LEAD}:
            number = 1 if number is None else number
        values = tuple(reader.alike(nodes))
        for value, one in zip(values, nodes, strict=True):
            reader.check(value, one)
        return function, values, number

    def _frame(self, spec: Node | None, *, ordered: bool) -> tuple[int | None, int | None] | None:
        """The ends of a frame; None for the one that holds where none is written."""
        if spec is None:
            return None
        syntax = self.syntax
        kind = str(syntax.part(spec, "kind")).upper()
        first = self._end(spec, "start", "PRECEDING")
        last = self._end(spec, "end", "FOLLOWING") if spec.args.get("end") else 0
        if kind == "ROWS":
            return first, last
        if kind == "RANGE" and (first, last) == (None, None):
            return None, None
        if kind == "RANGE" and (first, last) == (None, 0) and ordered:
            return None
        raise syntax.refuse(spec, _FRAME)

    def _end(self, spec: Node, which: str, outward: str) -> int | None:
        value, side = self.syntax.part(spec, which), self.syntax.part(spec, f"{which}_side")
        if value == "CURRENT ROW":
            return 0
        if value == "UNBOUNDED" and side == outward:
            return None
        if isinstance(value, Node):
            rows = read_whole(self.syntax, value, "how many rows a frame has")
            return -rows if side == "PRECEDING" else rows
        raise self.syntax.refuse(spec, _FRAME)


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
    """What a SELECT does with its rows, in the order in which it is done."""

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
_NAMED_WINDOW = Refusal(
    "window", "a window is named", "each is read by itself", "write OVER (...) out each time"
)
_NO_WINDOW = Refusal(
    "window",
    "this function has no window",
    "over windows there are COUNT, SUM, AVG, MIN, MAX, STDDEV, VARIANCE, ranks, LAG and LEAD",
    "aggregate in a subquery, and join it",
)
_FRAME = Refusal(
    "window",
    "a frame that is not made of rows",
    "frames count rows before and after the row itself",
    "write ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
)
