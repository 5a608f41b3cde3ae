"""Tables computed from released numbers by ordinary SQL.

    AnswerTable      the released rows of one grouped question: its keys and aggregates
    PublicRows       the rows of a public table
    ConstantRows     rows that the question writes out
    ComputedTable    new columns of each row
    FilteredTable    the rows for which a condition is true
    WindowedTable    further columns, each computed over a window of rows
    RegroupedTable   groups of released rows, and aggregates of them
    JoinedTables     two tables side by side
    StackedTables    one table below another
    SortedTable      rows in an order, and perhaps the first of them

Guarantee:
    Post-processing: a function of released numbers and public names, so it costs nothing, whatever
    it is. No node here can name a private row: the leaves are answers, by their place among the
    questions that are measured together, and public tables.
Neighbours:
    Stability does not matter here: noise was added before.
Edge cases:
    All groups that were released are rows: empty ones too where keys are public, and none that was
    hidden. Aggregates pass over NULL. A number that is not finite, or a whole one beyond 64 bits,
    is NULL.
Reference:
    Dwork and Roth, "The algorithmic foundations of differential privacy", 2014, Proposition 2.1.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import Any, TypeAlias, cast

from discreet.errors import InputError
from discreet.plan.expressions import Call, Expression, Function, conjuncts, mentions
from discreet.plan.functions import common_kind
from discreet.plan.kinds import Kind, Type
from discreet.plan.query import Aggregate, AggregateFunction, Query, SortKey, released_columns
from discreet.plan.relations import Named
from discreet.plan.schema import PublicTable, distinct
from discreet.plan.summaries import expect
from discreet.plan.typing import infer


class AnswerWindowFunction(Enum):
    """Window functions over released rows; window aggregates are `AggregateFunction`."""

    ROW_NUMBER = "row_number"
    RANK = "rank"
    DENSE_RANK = "dense_rank"
    PERCENT_RANK = "percent_rank"
    CUME_DIST = "cume_dist"
    NTILE = "ntile"
    LAG = "lag"
    LEAD = "lead"
    FIRST_VALUE = "first_value"
    LAST_VALUE = "last_value"
    NTH_VALUE = "nth_value"


_NUMBERS = {
    AnswerWindowFunction.ROW_NUMBER: Kind.INTEGER,
    AnswerWindowFunction.RANK: Kind.INTEGER,
    AnswerWindowFunction.DENSE_RANK: Kind.INTEGER,
    AnswerWindowFunction.NTILE: Kind.INTEGER,
    AnswerWindowFunction.PERCENT_RANK: Kind.REAL,
    AnswerWindowFunction.CUME_DIST: Kind.REAL,
}
"""Functions that return a position; the others return a value of some row."""

_COUNTS = {AggregateFunction.COUNT, AggregateFunction.COUNT_DISTINCT}
_ANY_KIND = {*_COUNTS, AggregateFunction.MIN, AggregateFunction.MAX}


@dataclass(frozen=True, slots=True)
class AnswerWindow:
    """A function of the released rows that share the values of `partition`, in an `order`.

    `number` is how many rows to look back or ahead, how many tiles, or which value. `frame` has
    the ends of a frame of ROWS, counted from the row itself, None for no end.
    """

    name: str
    function: AnswerWindowFunction | AggregateFunction
    arguments: tuple[Expression, ...] = ()
    partition: tuple[Expression, ...] = ()
    order: tuple[SortKey, ...] = ()
    number: int | None = None
    frame: tuple[int | None, int | None] | None = None

    @property
    def reads(self) -> tuple[Expression, ...]:
        """All expressions in it."""
        return (*self.arguments, *self.partition, *(one.expression for one in self.order))

    def type(self, scope: Mapping[str, Type]) -> Type:
        """Its type, over columns of these types."""
        for one in self.reads:
            infer(one, scope)
        if isinstance(self.function, AggregateFunction):
            return aggregate_type(Aggregate(self.name, self.function, self.arguments), scope)
        if self.function in _NUMBERS:
            return Type(_NUMBERS[self.function])
        return Type(infer(self.arguments[0], scope).kind)


def aggregate_type(aggregate: Aggregate, scope: Mapping[str, Type]) -> Type:
    """The type of an aggregate of released rows; wrong kinds are refused."""
    kinds = [infer(argument, scope).kind for argument in aggregate.arguments]
    if aggregate.where is not None:
        expect(aggregate.where, scope, Kind.BOOLEAN, "FILTER")
    if aggregate.measure in _COUNTS:
        return Type(Kind.INTEGER)
    wrong = [kind for kind in kinds if not kind.is_number and aggregate.measure not in _ANY_KIND]
    if wrong:
        raise InputError(
            f"{aggregate.measure.value} of a {wrong[0].value} value",
            why="it is made for numbers",
            fix="count the values, or make it a number: CAST(x AS INTEGER), .cast('integer')",
        )
    summed = {AggregateFunction.SUM, AggregateFunction.SUM_DISTINCT}
    kept = aggregate.measure in {*_ANY_KIND, *summed}
    return Type(kinds[0] if kept else Kind.REAL)


@dataclass(frozen=True, slots=True)
class _Table:
    """A table; `columns` are its columns and their types."""

    columns: Mapping[str, Type] = field(init=False, repr=False, compare=False)

    def _settle(self, columns: Iterable[tuple[str, Type]]) -> None:
        listed = list(columns)
        distinct(name for name, _ in listed)
        object.__setattr__(self, "columns", dict(listed))

    @property
    def inputs(self) -> "tuple[ReleasedTable, ...]":
        """The tables that it is computed from."""
        found = (getattr(self, one.name) for one in fields(cast("Any", self)) if one.init)
        return tuple(one for one in found if isinstance(one, _Table))  # type: ignore[misc]

    @property
    def reads(self) -> tuple[Expression, ...]:
        """The expressions in it."""
        found = (getattr(self, one.name) for one in fields(cast("Any", self)) if one.init)
        return tuple(part for one in found for part in _expressions(one))

    def nodes(self) -> "Iterator[ReleasedTable]":
        """All tables that it is made of, and itself."""
        for one in self.inputs:
            yield from one.nodes()
        yield cast("ReleasedTable", self)

    @property
    def size(self) -> int:
        """How many parts it has."""
        nodes = list(self.nodes())
        return len(nodes) + sum(one.size for node in nodes for one in node.reads)


def _expressions(value: object) -> "Iterator[Expression]":
    """The expressions in a field of a table."""
    match value:
        case tuple():
            for part in value:
                yield from _expressions(part)
        case Named() | SortKey():
            yield value.expression
        case Aggregate() | AnswerWindow():
            yield from value.reads
        case _ if isinstance(value, Expression):
            yield value


@dataclass(frozen=True, slots=True)
class AnswerTable(_Table):
    """The released rows of one question: the first, or one of those measured `also`.

    `released` are its columns: the name, the kind, and whether it may be NULL.
    """

    place: int
    released: tuple[tuple[str, Kind, bool], ...]

    def __post_init__(self) -> None:
        self._settle((name, Type(kind, nullable)) for name, kind, nullable in self.released)

    @staticmethod
    def of(place: int, query: Query) -> "AnswerTable":
        """The table of a question."""
        types = released_columns(query).items()
        return AnswerTable(place, tuple((name, of.kind, of.nullable) for name, of in types))

    def check(self, queries: tuple[Query, ...]) -> None:
        """Refuse a table that is not that of its question."""
        if not 0 <= self.place < len(queries) or self != AnswerTable.of(
            self.place, queries[self.place]
        ):
            raise InputError(
                "a table of answers that no question has",
                why="what is computed from answers names them by their place",
                fix="build it with AnswerTable.of",
            )


@dataclass(frozen=True, slots=True)
class PublicRows(_Table):
    """The rows of a public table, as they are when the questions with it are measured."""

    table: PublicTable

    def __post_init__(self) -> None:
        self._settle(self.table.columns.items())

    def check(self, queries: tuple[Query, ...]) -> None:
        """Nothing to check: no question measures public rows."""


@dataclass(frozen=True, slots=True)
class ConstantRows(_Table):
    """Rows that the question writes out, as VALUES does; their values name no columns."""

    names: tuple[str, ...]
    rows: tuple[tuple[Expression, ...], ...]

    def __post_init__(self) -> None:
        found = []
        for name, values in zip(self.names, zip(*self.rows, strict=True), strict=True):
            types = [infer(one, {}) for one in values]
            kind = common_kind(types, "a column of VALUES")
            found.append((name, Type(kind, any(of.nullable for of in types))))
        self._settle(found)

    def check(self, queries: tuple[Query, ...]) -> None:
        """Nothing to check: it stands in the question."""


@dataclass(frozen=True, slots=True)
class ComputedTable(_Table):
    """Rows with new columns, each a function of the old ones."""

    source: "ReleasedTable"
    outputs: tuple[Named, ...]

    def __post_init__(self) -> None:
        scope = self.source.columns
        self._settle((one.name, infer(one.expression, scope)) for one in self.outputs)


@dataclass(frozen=True, slots=True)
class FilteredTable(_Table):
    """The rows for which a condition is true (neither false nor NULL)."""

    source: "ReleasedTable"
    condition: Expression

    def __post_init__(self) -> None:
        expect(self.condition, self.source.columns, Kind.BOOLEAN, "a condition")
        self._settle(self.source.columns.items())


@dataclass(frozen=True, slots=True)
class WindowedTable(_Table):
    """Rows with further columns, each computed over a window."""

    source: "ReleasedTable"
    windows: tuple[AnswerWindow, ...]

    def __post_init__(self) -> None:
        scope = self.source.columns
        self._settle([*scope.items(), *((one.name, one.type(scope)) for one in self.windows)])


@dataclass(frozen=True, slots=True)
class RegroupedTable(_Table):
    """A row for each group of released rows; one row if there are no keys."""

    source: "ReleasedTable"
    keys: tuple[Named, ...]
    aggregates: tuple[Aggregate, ...]

    def __post_init__(self) -> None:
        scope = self.source.columns
        keys = [(one.name, infer(one.expression, scope)) for one in self.keys]
        self._settle([*keys, *((one.name, aggregate_type(one, scope)) for one in self.aggregates)])


class JoinKind(Enum):
    """The unmatched rows that a join keeps."""

    INNER = "inner"
    LEFT = "left"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class JoinedTables(_Table):
    """Rows of two tables side by side, where a condition over both is true."""

    left: "ReleasedTable"
    right: "ReleasedTable"
    kind: JoinKind
    on: Expression | None

    def __post_init__(self) -> None:
        sides = [self.left.columns, self.right.columns]
        if self.kind is not JoinKind.INNER:
            sides[1] = {name: of.may_be_null() for name, of in sides[1].items()}
        if self.kind is JoinKind.FULL:
            sides[0] = {name: of.may_be_null() for name, of in sides[0].items()}
        self._settle([*sides[0].items(), *sides[1].items()])
        if self.on is not None:
            expect(self.on, self.columns, Kind.BOOLEAN, "ON")

    @property
    def equates(self) -> bool:
        """Whether rows meet by something that is equal on both sides; else any may meet any."""
        left, right = self.left.columns.keys(), self.right.columns.keys()
        used = [(mentions(one), mentions(other)) for one, other in self.equalities]
        return any(
            one and other and ((one <= left and other <= right) or (other <= left and one <= right))
            for one, other in used
        )

    @property
    def equalities(self) -> Iterator[tuple[Expression, ...]]:
        """Both sides of each equality that has to hold."""
        for one in conjuncts(self.on):
            match one:
                case Call(Function.EQUAL, sides):
                    yield sides
                case Call(Function.COALESCE, (Call(Function.EQUAL, sides), *_)):
                    yield sides  # IS NOT DISTINCT FROM: equal, or both NULL


@dataclass(frozen=True, slots=True)
class StackedTables(_Table):
    """The rows of one table below those of another; columns are matched by position."""

    above: "ReleasedTable"
    below: "ReleasedTable"

    def __post_init__(self) -> None:
        first, second = self.above.columns, self.below.columns
        if len(first) != len(second):
            raise InputError(
                "UNION ALL of different numbers of columns",
                why="columns are matched by position",
                fix="select as many values on both sides",
            )
        pairs = zip(first.items(), second.values(), strict=True)
        self._settle((name, Type(common_kind([a, b], "UNION ALL"))) for (name, a), b in pairs)


@dataclass(frozen=True, slots=True)
class SortedTable(_Table):
    """Rows in an order, and perhaps the first of them."""

    source: "ReleasedTable"
    order: tuple[SortKey, ...]
    limit: int | None = None
    offset: int = 0

    def __post_init__(self) -> None:
        for one in self.order:
            infer(one.expression, self.source.columns)
        self._settle(self.source.columns.items())

    @property
    def cuts(self) -> bool:
        """Whether it leaves rows out."""
        return self.limit is not None or self.offset > 0


ReleasedTable: TypeAlias = (
    AnswerTable
    | PublicRows
    | ConstantRows
    | ComputedTable
    | FilteredTable
    | WindowedTable
    | RegroupedTable
    | JoinedTables
    | StackedTables
    | SortedTable
)


def moved(table: ReleasedTable, places: Mapping[int, int]) -> ReleasedTable:
    """The same table over answers at other positions."""
    if isinstance(table, AnswerTable):
        return replace(table, place=places[table.place])
    below = {
        one.name: moved(getattr(table, one.name), places)
        for one in fields(table)
        if one.init and isinstance(getattr(table, one.name), _Table)
    }
    return replace(table, **below)  # type: ignore[arg-type]


def is_single(table: ReleasedTable, queries: tuple[Query, ...], *, surely: bool) -> bool:
    """Whether a table has one row, `surely`, or at most one."""
    match table:
        case AnswerTable(place):
            return queries[place].sets == ((),)
        case ConstantRows(_, rows):
            return len(rows) == 1
        case RegroupedTable(_, keys, _):
            return not keys
        case SortedTable(source, _, limit, offset):
            if not surely and limit == 1:
                return True
            return is_single(source, queries, surely=surely) and not (surely and offset)
        case FilteredTable(source, _):
            return not surely and is_single(source, queries, surely=False)
        case ComputedTable(source, _) | WindowedTable(source, _):
            return is_single(source, queries, surely=surely)
        case JoinedTables(left, right, kind, on):
            both = all(is_single(one, queries, surely=surely) for one in (left, right))
            return both and (on is None or not surely) and kind is not JoinKind.FULL
    return False


def public_tables(table: ReleasedTable) -> tuple[PublicTable, ...]:
    """The public tables that are read, each once."""
    found = (one.table for one in table.nodes() if isinstance(one, PublicRows))
    return tuple({one.name: one for one in found}.values())


Sources: TypeAlias = Mapping[str, frozenset[tuple[int, str]]]
"""The aggregates behind each column, by the place of their question; "" is what decides rows."""


def sources_of(table: ReleasedTable, questions: Sequence[Query]) -> Sources:
    """The aggregates that each column depends on, and under "" those that decide which rows are.

    What is computed over a window, a group or a join depends on which rows there are.
    """
    below = [sources_of(one, questions) for one in table.inputs]
    rows = frozenset[tuple[int, str]]().union(*(one[""] for one in below))
    known = {name: of for one in below for name, of in one.items()}

    def behind(*expressions: object) -> frozenset[tuple[int, str]]:
        names = {name for one in expressions for name in mentions(one)}  # type: ignore[arg-type]
        return frozenset[tuple[int, str]]().union(*(known[name] for name in names))

    match table:
        case AnswerTable(place):
            own = {one.name for one in questions[place].aggregates}
            found = {n: frozenset({(place, n)} if n in own else ()) for n in table.columns}
        case PublicRows() | ConstantRows():
            found = dict.fromkeys(table.columns, frozenset())
        case ComputedTable(_, outputs):
            found = {one.name: behind(one.expression) for one in outputs}
        case FilteredTable(_, condition):
            found, rows = dict(known), rows | behind(condition)
        case SortedTable(_, order):
            found = dict(known)
            rows |= behind(*(one.expression for one in order)) if table.cuts else frozenset()
        case WindowedTable(_, windows):
            found = known | {one.name: behind(*one.reads) | rows for one in windows}
        case RegroupedTable(_, keys, aggregates):
            rows |= behind(*(one.expression for one in keys))
            found = {one.name: behind(one.expression) for one in keys}
            for one in aggregates:
                found[one.name] = behind(*one.reads) | rows
            rows = rows if keys else frozenset()
        case JoinedTables(_, _, _, on):
            rows |= frozenset() if on is None else behind(on)
            found = dict(known)
        case StackedTables(above, below_):
            pairs = zip(above.columns, below_.columns, strict=True)
            found = {a: below[0][a] | below[1][b] for a, b in pairs}
    return {**found, "": rows}
