"""Dates and timestamps: their parts, intervals later and earlier, and how far two are apart."""

import datetime as dt
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from sqlglot import exp

from discreet.plan.expressions import Call, Cast, Expression, Function, Literal, Truncate, Unit
from discreet.plan.kinds import Kind
from discreet.sql.reader.refusals import Refusal
from discreet.sql.reader.syntax import Node

if TYPE_CHECKING:
    from discreet.sql.reader.expressions import ExpressionReader

Rule: TypeAlias = Callable[["ExpressionReader", Node], Expression]
_DAYS = {"DAY": 1, "WEEK": 7}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12, "DECADE": 120, "CENTURY": 1200}
_SECONDS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600}
_LONGEST = 9
"""Digits of an amount: no calendar has as many days."""


def read_later(
    reader: "ExpressionReader", function: Function, time: Node, interval: Node
) -> Expression:
    """A date or timestamp plus or minus INTERVAL 3 DAY, INTERVAL '2 months', INTERVAL (n) HOUR.

    Days and weeks are whole days; months end where the month does; hours make a date a timestamp.
    """
    value = reader.read(time)
    unit = _unit(reader, interval)
    if unit in _DAYS:
        return Call(function, (value, _amount(reader, interval, _DAYS[unit])))
    sign = -1 if function is Function.SUBTRACT else 1
    if unit in _MONTHS:
        amount = _amount(reader, interval, sign * _MONTHS[unit])
        return Call(Function.ADD_MONTHS, (value, amount))
    amount = _amount(reader, interval, sign * _SECONDS[unit])
    if reader.check(value, time).kind is Kind.DATE:
        value = reader.syntax.remember(Cast(value, Kind.TIMESTAMP), time)
    return Call(Function.ADD_SECONDS, (value, amount))


def read_date_add(reader: "ExpressionReader", node: Node) -> Expression:
    """DATE_ADD(date, INTERVAL 1 MONTH), which is date + INTERVAL 1 MONTH."""
    time, interval = reader.syntax.part(node, "this"), reader.syntax.part(node, "expression")
    if not isinstance(interval, exp.Interval):
        raise reader.syntax.refuse(node, INTERVAL)
    return read_later(reader, Function.ADD, time, interval)


def _unit(reader: "ExpressionReader", interval: Node) -> str:
    unit = reader.syntax.part(interval, "unit")
    name = str(reader.syntax.part(unit, "this")).upper() if isinstance(unit, exp.Var) else ""
    single = name.removesuffix("S")
    if single not in {*_DAYS, *_MONTHS, *_SECONDS}:
        raise reader.syntax.refuse(interval, INTERVAL)
    return single


def _amount(reader: "ExpressionReader", interval: Node, each: int) -> Expression:
    """How many days, months or seconds: a constant, or an expression in parentheses."""
    syntax = reader.syntax
    amount = syntax.part(interval, "this")
    if not isinstance(amount, exp.Literal):
        count = reader.read(amount)
        factor = Literal(each, Kind.INTEGER)
        return count if each == 1 else reader.call(interval, Function.MULTIPLY, count, factor)
    text = str(syntax.part(amount, "this"))
    if not text.removeprefix("-").isdecimal() or len(text) > _LONGEST:
        raise syntax.refuse(interval, INTERVAL)
    syntax.part(amount, "is_string")
    return syntax.remember(Literal(int(text) * each, Kind.INTEGER), interval)


def read_difference(reader: "ExpressionReader", node: Node) -> Expression:
    """DATE_DIFF('month', a, b): how many beginnings of a month lie after a and up to b."""
    syntax = reader.syntax
    unit = syntax.part(node, "unit")
    name = str(syntax.part(unit, "this")).upper() if isinstance(unit, exp.Var) else ""
    if name not in _COUNTED:  # said first: the parser leaves its flag out where it knows no unit
        raise syntax.refuse(node, _DIFFERENCE)
    syntax.expect(node, "date_part_boundary", True)  # noqa: FBT003 - the parser's flag
    later, earlier = (reader.read(syntax.part(node, part)) for part in ("this", "expression"))

    def difference(*steps: tuple[Function, int]) -> Expression:
        """Differences of parts, each part counting so many of the next."""
        found: Expression | None = None
        for part, each in steps:
            ends = (reader.call(node, part, end) for end in (later, earlier))
            one = reader.call(node, Function.SUBTRACT, *ends)
            if found is not None:
                whole = reader.call(node, Function.MULTIPLY, found, Literal(each, Kind.INTEGER))
                one = reader.call(node, Function.ADD, whole, one)
            found = one
        return days() if found is None else found

    def days() -> Expression:
        ends = (syntax.remember(Cast(end, Kind.DATE), node) for end in (later, earlier))
        return reader.call(node, Function.SUBTRACT, *ends)

    return difference(*_COUNTED[name])


_COUNTED: dict[str, tuple[tuple[Function, int], ...]] = {
    "DAY": (),
    "YEAR": ((Function.YEAR, 1),),
    "QUARTER": ((Function.YEAR, 1), (Function.QUARTER, 4)),
    "MONTH": ((Function.YEAR, 1), (Function.MONTH, 12)),
}


def epoch(reader: "ExpressionReader", node: Node) -> Expression:
    """Seconds since 1970, whole ones: of its day, and of the time of the day."""
    value = reader.read(node)
    return seconds_since_1970(value, reader.check(value, node).kind)


def seconds_since_1970(value: Expression, kind: Kind) -> Expression:
    """The same of an expression of a kind."""
    first = Literal(dt.date(1970, 1, 1), Kind.DATE)
    day = value if kind is Kind.DATE else Cast(value, Kind.DATE)
    found: Expression = Call(Function.SUBTRACT, (day, first))
    for part, each in ((Function.HOUR, 24), (Function.MINUTE, 60), (Function.SECOND, 60)):
        found = Call(Function.MULTIPLY, (found, Literal(each, Kind.INTEGER)))
        if kind is Kind.TIMESTAMP:
            found = Call(Function.ADD, (found, Call(part, (value,))))
    return found


# --- parts ----------------------------------------------------------------------------------------

_PARTS = {
    "YEAR": Function.YEAR,
    "QUARTER": Function.QUARTER,
    "MONTH": Function.MONTH,
    "DAY": Function.DAY,
    "DAYOFMONTH": Function.DAY,
    "HOUR": Function.HOUR,
    "MINUTE": Function.MINUTE,
    "SECOND": Function.SECOND,
    "WEEK": Function.WEEK,
    "WEEKOFYEAR": Function.WEEK,
    "ISODOW": Function.WEEKDAY,
    "DOY": Function.YEARDAY,
    "DAYOFYEAR": Function.YEARDAY,
}
_SUNDAY_FIRST = {"DOW", "DAYOFWEEK", "WEEKDAY"}


def read_part(reader: "ExpressionReader", node: Node, unit: str, of: Node) -> Expression:
    """A part of a date by its name."""
    if unit == "EPOCH":
        return epoch(reader, of)
    value = reader.read(of)
    if unit in _SUNDAY_FIRST:  # Sunday is 0, Saturday is 6
        weekday = reader.call(node, Function.WEEKDAY, value)
        return Call(Function.MODULO, (weekday, Literal(7, Kind.INTEGER)))
    if unit in _PARTS:
        return Call(_PARTS[unit], (value,))
    raise reader.syntax.refuse(node, _PART)


def named_part(unit: str) -> Rule:
    """The rule of a function that is named after a part."""

    def rule(reader: "ExpressionReader", node: Node) -> Expression:
        return read_part(reader, node, unit, reader.syntax.part(node, "this"))

    return rule


def read_extract(reader: "ExpressionReader", node: Node) -> Expression:
    """EXTRACT(MONTH FROM date)."""
    unit = reader.syntax.part(node, "this")
    name = str(reader.syntax.part(unit, "this")).upper()
    reader.syntax.part(unit, "is_string")
    return read_part(reader, node, name, reader.syntax.part(node, "expression"))


def read_truncated(reader: "ExpressionReader", node: Node) -> Expression:
    """DATE_TRUNC('month', date)."""
    operand = reader.read(reader.syntax.part(node, "this"))
    unit = reader.syntax.part(node, "unit")
    written = isinstance(unit, exp.Literal) and reader.syntax.part(unit, "is_string")
    known = written or isinstance(unit, exp.Var)  # the parser keeps a text beside what is a DATE
    name = str(reader.syntax.part(unit, "this")).lower() if known else ""
    if name not in {one.value for one in Unit}:
        raise reader.syntax.refuse(node, _UNIT)
    return Truncate(operand, Unit(name))


INTERVAL = Refusal(
    "interval",
    "an interval that is not one number and its unit",
    "units are SECOND, MINUTE, HOUR, DAY, WEEK, MONTH, QUARTER and YEAR, each added to a date",
    "write date + INTERVAL 3 MONTH",
)
_DIFFERENCE = Refusal(
    "argument",
    "DATE_DIFF in a unit that is not known",
    "units are day, month, quarter and year",
    "write DATE_DIFF('day', a, b)",
)
_PART = Refusal(
    "argument",
    "a part of a date that is not known",
    "parts are YEAR, QUARTER, MONTH, WEEK, DAY, HOUR, MINUTE, SECOND, DOW, ISODOW and DOY",
    "use one of them, or DATE_TRUNC('month', d) for months of a year",
)
_UNIT = Refusal(
    "argument",
    "DATE_TRUNC to a unit that is not known",
    "units are year, quarter, month, week, day, hour and minute",
    "write for example DATE_TRUNC('month', d)",
)
