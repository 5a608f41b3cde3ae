"""Summaries and windows over one person's rows.

Every value here is a function of the rows of one person (and of a value of their keys) as a set
with repetitions: whichever order an engine reads them in, it is the same. Rows that a window has to
put in an order, and that its ORDER BY leaves equal, are ordered by all their columns; rows that are
equal in those are interchangeable.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from typing import assert_never

from discreet.errors import InputError
from discreet.plan.expressions import Column, Expression, Literal
from discreet.plan.functions import either
from discreet.plan.kinds import Kind, Range, Type
from discreet.plan.typing import infer

_SOME = Range(0, (1 << 63) - 1)
FINEST_LEVEL = 10**6
"""The denominator of a quantile's level: times a number of rows it fits 64 bits."""
MOST_ROWS_AWAY = 1 << 16
"""Rows between a row and the one that a window looks at."""


class Summary(Enum):
    """Summaries of one person's rows; NULL values are skipped, as in SQL."""

    COUNT = "count"  # rows, or values that are not NULL
    COUNT_DISTINCT = "count distinct"
    SUM = "sum"
    MEAN = "avg"
    MIN = "min"
    MAX = "max"
    MEDIAN = "median"  # or another quantile, between the values next to its place
    VARIANCE = "var_samp"
    VARIANCE_POP = "var_pop"
    FIRST = "first"  # of the first row in the order `by`, NULL too; the least of equal firsts


@dataclass(frozen=True, slots=True)
class RowOrder:
    """One part of an order of rows."""

    expression: Expression
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True)
class PersonAggregate:
    """A summary of one person's rows: of `argument`, or of the rows themselves.

    `level` is that of a quantile: of n values in order, the one at position 1 + level (n - 1).
    """

    name: str
    summary: Summary
    argument: Expression | None = None
    where: Expression | None = None
    by: tuple[RowOrder, ...] = field(default=(), metadata={"written": "where there is one"})
    level: Fraction | None = field(default=None, metadata={"written": "where it is no median"})

    @property
    def reads(self) -> tuple[Expression, ...]:
        """All row expressions."""
        parts = (self.argument, self.where, *(one.expression for one in self.by))
        return tuple(part for part in parts if part is not None)


class WindowFunction(Enum):
    """Window functions over one person's rows."""

    ROW_NUMBER = "row_number"
    RANK = "rank"
    DENSE_RANK = "dense_rank"
    LAG = "lag"
    LEAD = "lead"
    FIRST_VALUE = "first_value"
    LAST_VALUE = "last_value"


SUMMED = (Summary.COUNT, Summary.SUM, Summary.MEAN, Summary.MIN, Summary.MAX)
"""The summaries that windows have."""
NUMBERED = (WindowFunction.ROW_NUMBER, WindowFunction.RANK, WindowFunction.DENSE_RANK)
_PEERS = (WindowFunction.RANK, WindowFunction.DENSE_RANK)


@dataclass(frozen=True, slots=True)
class WindowColumn:
    """One value for each row, from the rows of the same person and `partition`, in an order.

    `offset` and `default` are those of LAG and LEAD. `frame` are the first and last row that count,
    as places from this one, None for all on that side; without it, all rows up to this one and its
    equals in `order`. `where` keeps rows out of a summary.
    """

    name: str
    function: WindowFunction | Summary
    argument: Expression | None = None
    partition: tuple[Expression, ...] = ()
    order: tuple[RowOrder, ...] = ()
    where: Expression | None = None
    offset: int = 1
    default: Literal | None = None
    frame: tuple[int | None, int | None] | None = None

    @property
    def needs_every_order(self) -> bool:
        """Whether rows that `order` leaves equal have to be ordered by their other columns."""
        if isinstance(self.function, WindowFunction):
            return self.function not in _PEERS
        return self.frame is not None and self.frame != (None, None)

    @property
    def reads(self) -> tuple[Expression, ...]:
        """All row expressions."""
        parts = (self.argument, *self.partition, *(o.expression for o in self.order), self.where)
        return tuple(part for part in parts if part is not None)


def expect(expression: Expression, scope: Mapping[str, Type], kind: Kind, role: str) -> Type:
    """Infer a type that has to be of one kind."""
    found = infer(expression, scope)
    if found.kind is kind:
        return found
    raise InputError(
        f"{role} is {found.kind.value}",
        why=f"it has to be {kind.value}",
        fix="compare the value with something",
    )


def summary_type(aggregate: PersonAggregate, scope: Mapping[str, Type]) -> Type:
    """The type of a summary of one person's rows.

    A sum of values of one sign has that sign; different values are no more than there can be.
    """
    if aggregate.where is not None:
        expect(aggregate.where, scope, Kind.BOOLEAN, "a condition")
    for one in aggregate.by:
        infer(one.expression, scope)
    _check_level(aggregate)
    if aggregate.summary is Summary.COUNT and aggregate.argument is None:
        return Type(Kind.INTEGER, nullable=False, range=_SOME)
    if aggregate.argument is None or (aggregate.summary is Summary.FIRST and not aggregate.by):
        raise InputError(
            f"{aggregate.summary.value} without an argument or an order",
            why="only rows can be counted without one, and the first of them has an order",
            fix="name the column, and what rows are ordered by",
        )
    of = _known(aggregate.argument, aggregate.summary, scope)
    match aggregate.summary:
        case Summary.COUNT:
            return Type(Kind.INTEGER, nullable=False, range=_SOME)
        case Summary.COUNT_DISTINCT:
            return Type(Kind.INTEGER, nullable=False, range=Range(0, _most_different(of)))
        case Summary.MIN | Summary.MAX:
            return Type(of.kind, nullable=True, range=of.range)
        case Summary.FIRST:
            return of.may_be_null()
        case Summary.SUM:
            _addable(of, aggregate.summary)
            return Type(of.kind, nullable=True, range=_sum_range(of))
        case Summary.MEAN | Summary.MEDIAN:
            _addable(of, aggregate.summary)
            return Type(Kind.REAL, nullable=True, range=of.range)
        case Summary.VARIANCE | Summary.VARIANCE_POP:
            return Type(Kind.REAL, nullable=True, range=variance_range(of, aggregate.summary))
        case _:
            assert_never(aggregate.summary)


def _known(argument: Expression, summary: Summary, scope: Mapping[str, Type]) -> Type:
    """The type of an argument; of a column with one open end, as a count has, with the other."""
    of = infer(argument, scope)
    if isinstance(argument, Column) and summary in _OPEN and of.kind is Kind.INTEGER:
        return replace(of, range=scope[argument.name].range)
    return of


_OPEN = {Summary.MIN, Summary.MAX, Summary.FIRST, Summary.SUM}
"""Summaries of whole numbers of which one end of the range holds where the other is open."""


def _check_level(aggregate: PersonAggregate) -> None:
    level = aggregate.level
    if level is None:
        return
    fine = 0 <= level <= 1 and level.denominator <= FINEST_LEVEL
    if aggregate.summary is Summary.MEDIAN and fine:
        return
    raise InputError(
        f"the level of {aggregate.summary.value} is {float(level):g}",
        why="that of a quantile is a share of a person's values, of at most six digits",
        fix="pass a level from 0 to 1 to a quantile alone",
    )


def window_type(column: WindowColumn, scope: Mapping[str, Type]) -> Type:
    """The type of a window's value; a window that has no meaning is refused."""
    for one in (*column.partition, *(part.expression for part in column.order)):
        infer(one, scope)
    _check_window(column)
    if isinstance(column.function, Summary):
        summed = PersonAggregate(column.name, column.function, column.argument, column.where)
        return summary_type(summed, scope)
    if column.function in NUMBERED:
        return Type(Kind.INTEGER, nullable=False, range=Range(1, _SOME.high))
    if column.argument is None:
        raise InputError(
            f"{column.function.value} of nothing", why="it gives a value", fix="name the column"
        )
    of = infer(column.argument, scope)
    if column.default is None:
        return of.may_be_null()
    other = infer(column.default, scope)
    if other.kind is not of.kind:
        raise InputError(
            f"{column.function.value} of a {of.kind.value} value, or else a {other.kind.value}",
            why="a column has values of one kind",
            fix="write a default of the same kind",
        )
    return either([of, other], [column.argument, column.default], column.function.value)


def _check_window(column: WindowColumn) -> None:
    low, high = column.frame or (None, None)
    far = [abs(place) for place in (low, high, column.offset) if place is not None]
    backwards = low is not None and high is not None and low > high
    if backwards or max(far) > MOST_ROWS_AWAY or column.offset < 0:
        raise InputError(
            "a window over rows that are too far away, or that end before they begin",
            why=f"it looks at most {MOST_ROWS_AWAY} rows away, from the first to the last",
            fix="name rows that are nearer, the first one first",
        )
    if isinstance(column.function, Summary) and column.function not in SUMMED:
        raise InputError(
            f"{column.function.value} over a window",
            why=f"windows have {', '.join(one.name for one in SUMMED)}",
            fix="use one of them, or aggregate with GROUP BY the person",
        )
    if column.function is WindowFunction.LAST_VALUE and column.frame is None:
        raise InputError(
            "the last value of a window that ends with its row",
            why="rows that are equal in ORDER BY would leave it open",
            fix="take FIRST_VALUE in the opposite order, or say ROWS BETWEEN",
        )
    if column.order or column.function is WindowFunction.ROW_NUMBER:
        return
    if isinstance(column.function, WindowFunction) or column.frame not in (None, (None, None)):
        raise InputError(
            f"{column.function.value} over rows without an order",
            why="which row comes before another would be anything",
            fix="add ORDER BY to the window",
        )


def _sum_range(of: Type) -> Range | None:
    """The range of a sum of any number of values: its sign, where they share one."""
    if of.range is None or of.range.low < 0 < of.range.high:
        return None
    most = _SOME.high if of.kind is Kind.INTEGER else math.inf
    return Range(0, most) if of.range.low >= 0 else Range(-most, 0)


def _most_different(of: Type) -> float:
    """How many different values there can be, besides NULL."""
    if of.kind is Kind.BOOLEAN:
        return 2
    whole = of.kind in {Kind.INTEGER, Kind.DATE} and of.range is not None
    return int(of.range.width) + 1 if whole and of.range else _SOME.high


def squares(of: Type) -> float:
    """The square of the width of values that have bounds: no squared deviation is larger."""
    width = math.inf if of.range is None else math.nextafter(float(of.range.width), math.inf)
    return width * width  # ** would raise where it overflows


def variance_range(of: Type, summary: Summary) -> Range:
    """The range 0 to half the squared width, or a quarter of it for a population.

    Why: values in [a, b] deviate from their mean by the square root of (b - a)^2 / 4 at most, and a
    sample of n >= 2 by n / (n - 1) <= 2 times that square.
    """
    _addable(of, summary)
    if math.isfinite(squares(of)):
        return Range(0.0, squares(of) / (4 if summary is Summary.VARIANCE_POP else 2))
    raise InputError(
        f"{summary.value} of a value without bounds, or with very wide ones",
        why="its deviations are added up on a grid of finite numbers",
        fix="declare Bounds for its columns, or clamp it: LEAST(GREATEST(x, 0), 100)",
    )


def _addable(of: Type, summary: Summary) -> None:
    if of.kind is Kind.INTEGER or (of.kind is Kind.REAL and of.range is not None):
        return
    real = of.kind is Kind.REAL
    raise InputError(
        f"{summary.value} of a {of.kind.value} value{' without bounds' if real else ''}",
        why="exact sums of REAL need bounds" if real else "only numbers add up",
        fix="declare Bounds for the column, or clamp it: LEAST(GREATEST(x, 0), 100)"
        if real
        else "count the values, or make it a number: CAST(x AS INTEGER), .cast('integer')",
    )
