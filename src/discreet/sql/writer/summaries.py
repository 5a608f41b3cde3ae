"""One person's rows added up, and windows over them, as an engine's SELECT.

What a summary needs of each row (its place in an order, how far it is from the mean) is a column of
a SELECT below, under a name that no other begins with.
"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import assert_never

from discreet.plan.expressions import Expression, Function
from discreet.plan.kinds import Kind, Type
from discreet.plan.relations import PerPerson, PersonWindow, columns_of
from discreet.plan.schema import PERSON
from discreet.plan.statistics import Grid, grid
from discreet.plan.summaries import (
    NUMBERED,
    PersonAggregate,
    RowOrder,
    Summary,
    WindowColumn,
    WindowFunction,
    squares,
    variance_range,
)
from discreet.plan.typing import infer
from discreet.sql.writer.dialect import Dialect, saturated
from discreet.sql.writer.integers import on_grid


def render_per_person(relation: PerPerson, source: str, dialect: Dialect) -> str:
    """One row a person and key, with summaries."""
    writer = _Writer(columns_of(relation.input), source, dialect)
    name = dialect.identifier
    keys = [f"{writer.text(k.expression)} AS {name(k.name)}" for k in relation.keys]
    writer.partition = [name(PERSON), *(writer.text(k.expression) for k in relation.keys)]
    summaries = [f"{writer.summary(one)} AS {name(one.name)}" for one in relation.aggregates]
    columns = [name(PERSON), *keys, *summaries]
    positions = ", ".join(str(i + 1) for i in range(1 + len(keys)))
    return f"SELECT {', '.join(columns)} FROM {writer.source} AS s GROUP BY {positions}"


def render_windows(relation: PersonWindow, source: str, dialect: Dialect) -> str:
    """Every row, with values of its owner's other rows."""
    writer = _Writer(columns_of(relation.input), source, dialect)
    name = dialect.identifier
    windows = [f"{writer.window(one)} AS {name(one.name)}" for one in relation.columns]
    columns = [name(PERSON), *map(name, columns_of(relation.input)), *windows]
    return f"SELECT {', '.join(columns)} FROM {writer.source} AS s"


class _Writer:
    """Texts over the rows of a source, to which columns are added as they are needed."""

    def __init__(self, scope: Mapping[str, Type], source: str, dialect: Dialect) -> None:
        self.scope = scope
        self.source = source
        self.dialect = dialect
        self.partition: list[str] = []
        self._stem = "w"
        while any(name.lower().startswith(self._stem) for name in scope):
            self._stem += "_"
        self._count = 0

    def text(self, expression: Expression) -> str:
        """An expression over the columns of the source."""
        return self.dialect.render(expression, self.scope)

    def _add(self, *texts: str) -> list[str]:
        """New columns of the source, none of which names another."""
        names = [f"{self._stem}{self._count + i}" for i in range(len(texts))]
        self._count += len(texts)
        added = ", ".join(f"{text} AS {name}" for text, name in zip(texts, names, strict=True))
        self.source = f"(SELECT *, {added} FROM {self.source} AS s)"
        return names

    # --- summaries --------------------------------------------------------------------------------

    def summary(self, one: PersonAggregate) -> str:
        """A summary of the rows of a group."""
        where = "" if one.where is None else f" FILTER (WHERE {self.text(one.where)})"
        if one.argument is None:
            return f"COUNT(*){where}"
        text, of = self.text(one.argument), infer(one.argument, self.scope)
        match one.summary:
            case Summary.COUNT:
                return f"COUNT({text}){where}"
            case Summary.COUNT_DISTINCT:
                return f"COUNT(DISTINCT {text}){where}"
            case Summary.MIN | Summary.MAX:
                return self.dialect.extreme(one.summary.value, text, of.kind, where)
            case Summary.SUM | Summary.MEAN:
                added = self.dialect.sum(self._whole(text, of), where)
                return self._added(one.summary, of, added, f"COUNT({text}){where}")
            case Summary.MEDIAN:
                return self._quantile(self._double(one, text, of), one.level or Fraction(1, 2))
            case Summary.VARIANCE | Summary.VARIANCE_POP:
                return self._variance(one, text, of)
            case Summary.FIRST:
                return self._first(one, text, of)
            case _:
                assert_never(one.summary)

    def _double(self, one: PersonAggregate, text: str, of: Type) -> str:
        """The values that count, as doubles: a new column."""
        real = text if of.kind is Kind.REAL else self.dialect.as_double(text)
        held = real if one.where is None else self.dialect.only_if(self.text(one.where), real)
        return self._add(held)[0]

    def _whole(self, text: str, of: Type, finer: int = 1) -> str:
        """A number as the integer that is added up."""
        if of.kind is Kind.INTEGER:
            return text
        return on_grid(text, _grid(of, finer), self.dialect)

    def _added(self, summary: Summary, of: Type, added: str, counted: str, finer: int = 1) -> str:
        """A sum or mean that no order of rows can change: of integers, or of those on a grid."""
        dialect, real = self.dialect, self.dialect.real
        count = dialect.as_double(counted)
        if of.kind is Kind.INTEGER:
            if summary is Summary.SUM:
                return saturated(added, dialect)
            return real(Function.DIVIDE, dialect.as_double(added), count)
        assert of.range is not None  # noqa: S101 - narrowing: summary_type refused it
        fine = _grid(of, finer)
        centre = dialect.double(fine.centre)
        away = real(Function.MULTIPLY, dialect.as_double(added), dialect.double(fine.step))
        if summary is Summary.MEAN:
            # Rounding to the grid may lead out of the range by a step, which types do not know of.
            mean = real(Function.ADD, centre, real(Function.DIVIDE, away, count))
            return self._held(mean, of.range.low, of.range.high)
        return real(Function.ADD, real(Function.MULTIPLY, centre, count), away)

    def _held(self, text: str, low: float, high: float) -> str:
        bottom, top = self.dialect.double(low), self.dialect.double(high)
        return self.dialect.choose([(f"{text} < {bottom}", bottom), (f"{text} > {top}", top)], text)

    def _over(self, order: str = "") -> str:
        ordered = f" ORDER BY {order}" if order else ""
        return f" OVER (PARTITION BY {', '.join(self.partition)}{ordered})"

    def _quantile(self, value: str, level: Fraction) -> str:
        """The value at position 1 + level (n - 1), interpolated between both neighbours.

        Places p of n are whole numbers, and so is all that is compared: with level a / b the lower
        one has b (p - 1) <= a (n - 1) < b p, and the upper one is the next where these differ.
        """
        places = f"ROW_NUMBER(){self._over(f'{value} NULLS LAST')}"
        place, count = self._add(places, f"COUNT({value}){self._over()}")
        a, b = level.numerator, level.denominator
        at, dialect = f"{a} * ({count} - 1)", self.dialect
        below, above = f"{b} * ({place} - 1)", f"{b} * {place}"
        lower = f"MAX({value}) FILTER (WHERE {below} <= {at} AND {at} < {above})"
        if b == 1:
            return lower
        upper = f"MAX({value}) FILTER (WHERE {below} - {b} < {at} AND {at} <= {below})"
        away = dialect.as_double(f"({a} * (MAX({count}) - 1)) % {b}")
        share = dialect.real(Function.DIVIDE, away, dialect.double(float(b)))
        rest = dialect.real(Function.SUBTRACT, dialect.double(1.0), share)
        parts = ((lower, rest), (upper, share))
        return dialect.real(Function.ADD, *(dialect.real(Function.MULTIPLY, *one) for one in parts))

    def _variance(self, one: PersonAggregate, text: str, of: Type) -> str:
        """The squares of deviations from the mean, added up on a grid."""
        dialect, real = self.dialect, self.dialect.real
        held = text if one.where is None else dialect.only_if(self.text(one.where), text)
        value = self._double(one, text, of)
        raw, count = self._add(
            dialect.sum(self._whole(held, of), self._over()), f"COUNT({value}){self._over()}"
        )
        mean = self._added(Summary.MEAN, of, raw, count)
        (off,) = self._add(real(Function.SUBTRACT, value, mean))
        square = Type(Kind.REAL, range=of.range and type(of.range)(0.0, squares(of)))
        each = self._whole(real(Function.MULTIPLY, off, off), square, _SQUARES)
        whole = self._added(Summary.SUM, square, dialect.sum(each), f"COUNT({off})", _SQUARES)
        less, fewest = (1.0, 2) if one.summary is Summary.VARIANCE else (0.0, 1)
        number = real(Function.SUBTRACT, dialect.as_double(f"COUNT({off})"), dialect.double(less))
        found = real(Function.DIVIDE, whole, number)
        held = self._held(found, 0.0, variance_range(of, one.summary).high)
        return dialect.only_if(f"COUNT({off}) >= {fewest}", held)

    def _first(self, one: PersonAggregate, text: str, of: Type) -> str:
        """The value of the first row among those that count."""
        counts = "TRUE" if one.where is None else self.text(one.where)
        (late,) = self._add(self.dialect.choose([(counts, "0")], "1"))
        order = ", ".join([late, *map(self._ordered, one.by), f"{text} NULLS LAST"])
        (place,) = self._add(f"ROW_NUMBER(){self._over(order)}")
        where = f" FILTER (WHERE {place} = 1 AND {late} = 0)"
        return self.dialect.extreme("max", text, of.kind, where)

    def _ordered(self, one: RowOrder) -> str:
        way = " DESC" if one.descending else ""
        return f"{self.text(one.expression)}{way} NULLS {'FIRST' if one.nulls_first else 'LAST'}"

    # --- windows ----------------------------------------------------------------------------------

    def window(self, one: WindowColumn) -> str:
        """A window's value; what is computed from it is computed a SELECT above."""
        over, dialect = self._window_over(one), self.dialect
        if one.function in NUMBERED:
            return self._add(f"{one.function.value.upper()}(){over}")[0]
        if one.argument is None:
            counted = "*" if one.where is None else dialect.only_if(self.text(one.where), "1")
            return self._add(f"COUNT({counted}){over}")[0]
        text, of = self.text(one.argument), infer(one.argument, self.scope)
        if isinstance(one.function, WindowFunction):
            return self._add(f"{self._placed(one, text, of)}{over}")[0]
        text = text if one.where is None else dialect.only_if(self.text(one.where), text)
        if one.function is Summary.COUNT:
            return self._add(f"COUNT({text}){over}")[0]
        if one.function in {Summary.MIN, Summary.MAX}:
            return self._add(dialect.extreme(one.function.value, text, of.kind, over))[0]
        (whole,) = self._add(self._whole(text, of))
        added, counted = self._add(dialect.sum(whole, over), f"COUNT({whole}){over}")
        return self._added(one.function, of, added, counted)

    def _placed(self, one: WindowColumn, text: str, of: Type) -> str:
        parts = [text]
        if one.function in {WindowFunction.LAG, WindowFunction.LEAD}:
            parts.append(str(one.offset))
            if one.default is not None:
                parts.append(self.dialect.literal(one.default.value, of.kind))
        return f"{one.function.value.upper()}({', '.join(parts)})"

    def _window_over(self, one: WindowColumn) -> str:
        name = self.dialect.identifier
        self.partition = [name(PERSON), *map(self.text, one.partition)]
        order = list(map(self._ordered, one.order))
        if one.needs_every_order:
            order += [f"{name(column)} NULLS LAST" for column in self.scope]
        frame = ""
        if one.frame is not None and one.order:
            low, high = _place(one.frame[0], "PRECEDING"), _place(one.frame[1], "FOLLOWING")
            frame = f" ROWS BETWEEN {low} AND {high}"
        return f"{self._over(', '.join(order))[:-1]}{frame})"


_SQUARES = 1 << 20
"""The grid of squares is so much finer: small deviations have very small ones."""


def _grid(of: Type, finer: int) -> Grid:
    """The grid on which numbers are added up."""
    assert of.range is not None  # noqa: S101 - narrowing: summary_type refused it
    found = grid(of.range.low, of.range.high, whole=False)
    return replace(found, step=found.step / finer, reach=found.reach * finer)


def _place(rows: int | None, side: str) -> str:
    if rows is None:
        return f"UNBOUNDED {side}"
    return f"{abs(rows)} {'PRECEDING' if rows < 0 else 'FOLLOWING'}" if rows else "CURRENT ROW"
