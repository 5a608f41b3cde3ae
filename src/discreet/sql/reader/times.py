"""Dates and timestamps: their parts, intervals later and earlier, how far two are apart, ages."""

import datetime as dt
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlglot import exp

from discreet.plan.calendar import as_time
from discreet.plan.expressions import (
    Case,
    Cast,
    Expression,
    Function,
    Literal,
    Truncate,
    Unit,
    call,
)
from discreet.plan.kinds import Kind
from discreet.sql.reader.literals import read_moment
from discreet.sql.reader.refusals import said
from discreet.sql.reader.syntax import Node, bare

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
    if isinstance(value, Literal) and isinstance(value.value, str):
        clock = Kind.TIMESTAMP if ":" in value.value else Kind.DATE
        value = reader.syntax.remember(read_moment(reader.syntax, value.value, clock, time), time)
    unit = _unit(reader, interval)
    if unit in _DAYS:
        return call(function, value, _amount(reader, interval, _DAYS[unit]))
    sign = -1 if function is Function.SUBTRACT else 1
    if unit in _MONTHS:
        return call(Function.ADD_MONTHS, value, _amount(reader, interval, sign * _MONTHS[unit]))
    amount = _amount(reader, interval, sign * _SECONDS[unit])
    if reader.check(value, time).kind is Kind.DATE:
        value = reader.syntax.remember(Cast(value, Kind.TIMESTAMP), time)
    return call(Function.ADD_SECONDS, value, amount)


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
        return count if each == 1 else count * each
    text = str(syntax.part(amount, "this"))
    if not text.removeprefix("-").isdecimal() or len(text) > _LONGEST:
        raise syntax.refuse(interval, INTERVAL)
    syntax.part(amount, "is_string")
    return syntax.remember(Literal(int(text) * each, Kind.INTEGER), interval)


def read_difference(reader: "ExpressionReader", node: Node) -> Expression:
    """DATE_DIFF('month', a, b): how many beginnings of a month lie after a and up to b.

    Weeks are whole sevens of days, as in DuckDB.
    """
    syntax = reader.syntax
    unit = syntax.part(node, "unit")
    name = str(syntax.part(unit, "this")).upper() if isinstance(unit, exp.Var) else ""
    if name not in _COUNTED:
        raise syntax.refuse(node, _DIFFERENCE)
    syntax.part(node, "date_part_boundary")  # a text in quotes, or the word alone
    a, b = reader.part(node, "this"), reader.part(node, "expression")

    def apart(part: Function | None) -> Expression:
        """The difference of a part; of days where it is none."""
        if part is None:
            return Cast(a, Kind.DATE) - Cast(b, Kind.DATE)
        return call(part, a) - call(part, b)

    first, *finer = _COUNTED[name]
    found = apart(first)
    for part, each in finer:
        found = found * each + apart(part)
    return found // 7 if name == "WEEK" else found


_HOURS = (None, (Function.HOUR, 24))
_COUNTED: dict[str, tuple[Any, ...]] = {
    "DAY": (None,),
    "WEEK": (None,),
    "HOUR": _HOURS,
    "MINUTE": (*_HOURS, (Function.MINUTE, 60)),
    "SECOND": (*_HOURS, (Function.MINUTE, 60), (Function.SECOND, 60)),
    "YEAR": (Function.YEAR,),
    "QUARTER": (Function.YEAR, (Function.QUARTER, 4)),
    "MONTH": (Function.YEAR, (Function.MONTH, 12)),
}
"""What is subtracted for each unit: a part, and finer ones with how many make one of the former."""


# --- intervals between two times ------------------------------------------------------------------


def is_interval(node: Node) -> bool:
    """Whether a node is a length of time that is written out."""
    return isinstance(node.unnest(), exp.Interval)


def read_longer(
    reader: "ExpressionReader", function: Function, between: Node, interval: Node
) -> Expression:
    """Compare a - b with INTERVAL '2 hours', as a with b + INTERVAL '2 hours'; or AGE with one.

    A month is 30 days where lengths are compared, as on every engine.
    """
    between, length = bare(reader.syntax, between), bare(reader.syntax, interval)
    unit = _unit(reader, length)
    days = 30 * _MONTHS[unit] if unit in _MONTHS else _DAYS.get(unit)
    if isinstance(between, exp.Anonymous) and days is not None:
        months, rest, clock = _age(reader, between)
        age, whole = months * 30 + rest, _amount(reader, length, days)
        if clock is None:
            return call(function, age, whole)
        # The part of a day has the sign of the days, so it decides where those are equal.
        return Case(((age.equals(whole), call(function, clock, 0)),), call(function, age, whole))
    if not isinstance(between, exp.Sub):
        raise reader.syntax.refuse(length, ALONE)
    ends = _ends(reader, between, length)
    if len(ends) == 1:
        raise reader.syntax.refuse(length, _OF_DATES)
    later, earlier = ends
    amount = _amount(reader, length, _SECONDS[unit] if days is None else days * 86_400)
    moved = call(Function.ADD_SECONDS, earlier, amount)
    # A moment outside the calendar is further away than the two can be from each other.
    missing = (later.is_null() | earlier.is_null(), Literal(None, Kind.BOOLEAN))
    further = Case((missing,), call(function, 0, amount))
    return call(Function.COALESCE, call(function, later, moved), further)


def _ends(reader: "ExpressionReader", node: Node, at: Node) -> tuple[Expression, ...]:
    """The two timestamps of a difference; the difference itself where it is not one of times.

    Of two dates it is a number of days, and no interval.
    """
    sides = [reader.syntax.part(node, part) for part in ("this", "expression")]
    ends = [reader.read(side) for side in sides]
    kinds = {reader.check(end, side).kind for end, side in zip(ends, sides, strict=True)}
    if not all(kind.is_time for kind in kinds):
        return (ends[0] - ends[1],)
    if kinds == {Kind.DATE}:
        raise reader.syntax.refuse(at, _OF_DATES)
    return tuple(Cast(end, Kind.TIMESTAMP) for end in ends)


def _time_of_day(value: Expression) -> Expression:
    """Microseconds since midnight of a timestamp."""
    minutes = call(Function.HOUR, value) * 60 + call(Function.MINUTE, value)
    return minutes * 60_000_000 + call(Function.MICROSECOND, value)


def _age(
    reader: "ExpressionReader", node: Node
) -> tuple[Expression, Expression, Expression | None]:
    """AGE(a, b) as whole months, the days beyond, and of timestamps the microseconds beyond those.

    As in Postgres: fields are subtracted, and days that are lacking are taken from the month of the
    earlier date; an age before birth is that of the two exchanged, with a minus. AGE(b) is up to
    the beginning of today.
    """
    name, given = str(node.this).upper(), reader.syntax.parts(node, "expressions")
    if name != "AGE" or len(given) not in {1, 2}:
        raise reader.syntax.refuse(node, ALONE)
    reader.syntax.part(node, "this")
    ends = reader.alike(given)
    kinds = {reader.check(end, one).kind for end, one in zip(ends, given, strict=True)}
    if not all(kind.is_time for kind in kinds):
        raise reader.syntax.refuse(node, _AGE)
    ends = ends if len(ends) == 2 else [Literal(reader.syntax.now.date(), Kind.DATE), *ends]
    clocks = Kind.TIMESTAMP in kinds
    later, earlier = (Cast(end, Kind.TIMESTAMP) if clocks else end for end in ends)

    def between(a: Expression, b: Expression) -> list[Expression]:
        units = Function.YEAR, Function.MONTH, Function.DAY
        apart: list[Expression] = [call(unit, a) - call(unit, b) for unit in units]
        year, month, day = apart
        clock: Expression = Literal(0, Kind.INTEGER)
        if clocks:
            clock = _time_of_day(a) - _time_of_day(b)
            early = clock < 0
            day = Case(((early, day - 1),), day)
            clock = Case(((early, clock + _MICROSECONDS),), clock)
        months, lacking = year * 12 + month, day < 0
        length = call(Function.DAY, last_day(b))
        return [
            Case(((lacking, months - 1),), months),
            Case(((lacking, day + length),), day),
            clock,
        ]

    months, days, clock = (
        Case(((later < earlier, call(Function.NEGATE, back)),), ahead)
        for back, ahead in zip(between(earlier, later), between(later, earlier), strict=True)
    )
    return months, days, clock if clocks else None


_MICROSECONDS = 86_400_000_000
"""Of a day."""


def read_clocks(reader: "ExpressionReader", nodes: list[Node]) -> list[Expression] | None:
    """Values that are compared as times of a day, in microseconds; None where none is one.

    CAST(x AS TIME) of a timestamp, and texts such as '08:30' beside it.
    """
    if not any(_is_clock(node) for node in nodes):
        return None
    return [_clock_value(reader, node) for node in nodes]


def _is_clock(node: Node) -> bool:
    node = node.unnest()
    return isinstance(node, exp.Cast) and node.args["to"].this is exp.DType.TIME


def _clock_value(reader: "ExpressionReader", node: Node) -> Expression:
    inner = whole = bare(reader.syntax, node)
    if _is_clock(whole):
        reader.syntax.part(whole, "to", "this")
        inner = reader.syntax.part(whole, "this")
    value = reader.read(inner)
    if isinstance(value, Literal) and isinstance(value.value, str):
        try:
            at = dt.time.fromisoformat(value.value)
        except ValueError:
            raise reader.syntax.refuse(node, _CLOCK) from None
        if at.tzinfo is None:
            found = ((at.hour * 60 + at.minute) * 60 + at.second) * 1_000_000 + at.microsecond
            return reader.syntax.remember(Literal(found, Kind.INTEGER), node)
    if inner is whole or reader.check(value, inner).kind is not Kind.TIMESTAMP:
        raise reader.syntax.refuse(node, _CLOCK)
    return reader.syntax.remember(_time_of_day(value), node)


def read_bin(reader: "ExpressionReader", node: Node) -> Expression:
    """TIME_BUCKET(INTERVAL '7 days', x): the beginning of the bucket, counted from 2000-01-03.

    That is a Monday; months are counted from 2000-01-01. A third value is another beginning.
    """
    syntax = reader.syntax
    interval, of, start = (syntax.part(node, one) for one in ("this", "expression", "unit"))
    begins = None if start is None else reader.read(start)
    if not isinstance(interval, exp.Interval):
        raise syntax.refuse(node, INTERVAL)
    unit, value = _unit(reader, interval), reader.read(of)
    kind = reader.check(value, of).kind
    each = {**_MONTHS, **_DAYS, **_SECONDS}[unit]
    width = _amount(reader, interval, each)
    if not isinstance(width, Literal) or not isinstance(width.value, int) or width.value < 1:
        raise syntax.refuse(node, INTERVAL)
    since = begins.value if isinstance(begins, Literal) else None
    if start is not None and (unit in _MONTHS or not isinstance(since, dt.date)):
        raise syntax.refuse(node, INTERVAL)
    if begins is None and (width.value, unit in _SECONDS) in _UNITS[unit in _MONTHS]:  # known keys
        return Truncate(value, _UNITS[unit in _MONTHS][width.value, unit in _SECONDS])
    day = value if kind is Kind.DATE else Cast(value, Kind.DATE)
    first = Literal(dt.date(2000, 1, 1 if unit in _MONTHS else 3), Kind.DATE)

    def begun(count: Expression) -> Expression:
        return call(Function.FLOOR, count / width) * width

    if isinstance(since, dt.date):
        first = Literal(as_time(since), Kind.TIMESTAMP)
        width = Literal(width.value * (1 if unit in _SECONDS else 86_400), Kind.INTEGER)
    if unit in _MONTHS:
        months = (call(Function.YEAR, day) - 2000) * 12 + call(Function.MONTH, day) - 1
        start = call(Function.ADD_MONTHS, first, begun(months))
    elif unit in _DAYS and begins is None:
        start = first + begun(day - first)
    else:
        time, origin = Cast(value, Kind.TIMESTAMP), Cast(first, Kind.TIMESTAMP)
        seconds = (seconds_since_1970(end, Kind.TIMESTAMP) for end in (time, origin))
        start = call(Function.ADD_SECONDS, origin, begun(call(Function.SUBTRACT, *seconds)))
    return Cast(start, kind)


_UNITS = (
    {(60, True): Unit.MINUTE, (3600, True): Unit.HOUR, (1, False): Unit.DAY, (7, False): Unit.WEEK},
    {(1, False): Unit.MONTH, (3, False): Unit.QUARTER, (12, False): Unit.YEAR},
)
"""Buckets that DATE_TRUNC has too: of seconds or days, and of months."""


def read_made_date(reader: "ExpressionReader", node: Node) -> Expression:
    """MAKE_DATE(year, month, day); NULL where there is no such day."""
    year, month, day = (reader.part(node, part) for part in ("year", "month", "day"))
    months = (year - 2000) * 12 + month - 1
    first = call(Function.ADD_MONTHS, Literal(dt.date(2000, 1, 1), Kind.DATE), months)
    found = first + (day - 1)
    same = call(Function.MONTH, found).equals(month) & call(Function.DAY, found).equals(day)
    return Case(((same, found),), Literal(None, Kind.DATE))


def _operand(
    reader: "ExpressionReader", node: Node, unit: str, of: Node
) -> tuple[Expression, bool]:
    """A part of AGE(a, b) or of the difference of two times, and True; else `of`, and False.

    Each operand is read once, so that nested differences take linear time.
    """
    inner = of.unnest()
    if isinstance(inner, exp.Anonymous) and str(inner.this).upper() == "AGE":
        months, days, _ = _age(reader, bare(reader.syntax, of))
        parts = {"YEAR": months // 12, "MONTH": months % 12, "DAY": days}
        if unit not in parts:
            raise reader.syntax.refuse(node, _AGE)
        return parts[unit], True
    if not isinstance(inner, exp.Sub) or is_interval(inner.expression):
        return reader.read(of), False
    ends = _ends(reader, bare(reader.syntax, of), node)
    return (ends[0], False) if len(ends) == 1 else (_between(reader, node, unit, *ends), True)


def _between(
    reader: "ExpressionReader", node: Node, unit: str, later: Expression, earlier: Expression
) -> Expression:
    """Seconds or whole days between two timestamps."""
    if unit == "EPOCH":
        beyond = [call(Function.MICROSECOND, end) % 1_000_000 for end in (later, earlier)]
        seconds = [seconds_since_1970(end, Kind.TIMESTAMP) for end in (later, earlier)]
        return (seconds[0] - seconds[1]) + (beyond[0] - beyond[1]) / 1_000_000
    if unit != "DAY":
        raise reader.syntax.refuse(node, _OF_DATES)
    days = Cast(later, Kind.DATE) - Cast(earlier, Kind.DATE)
    near, whole = earlier + days, later >= earlier
    return Case(((whole & (near > later), days - 1), (~whole & (near < later), days + 1)), days)


def epoch(reader: "ExpressionReader", node: Node) -> Expression:
    """Seconds since 1970, whole ones; of a difference of timestamps with their fraction."""
    value, is_part = _operand(reader, node, "EPOCH", node)
    return value if is_part else seconds_since_1970(value, reader.check(value, node).kind)


def seconds_since_1970(value: Expression, kind: Kind) -> Expression:
    """The same of an expression of a kind."""
    first = Literal(dt.date(1970, 1, 1), Kind.DATE)
    day = value if kind is Kind.DATE else Cast(value, Kind.DATE)
    found = day - first
    for part, each in ((Function.HOUR, 24), (Function.MINUTE, 60), (Function.SECOND, 60)):
        found = found * each
        if kind is Kind.TIMESTAMP:
            found = found + call(part, value)
    return found


def last_day(of: Expression) -> Expression:
    """The last day of the month of a date."""
    return call(Function.ADD_MONTHS, Truncate(Cast(of, Kind.DATE), Unit.MONTH), 1) - 1


# --- parts ----------------------------------------------------------------------------------------

_PARTS = {
    **{one: Function[one] for one in (*_MONTHS, *_DAYS, *_SECONDS) if one in Function.__members__},
    "DAYOFMONTH": Function.DAY,
    "WEEKOFYEAR": Function.WEEK,
    "ISOWEEK": Function.WEEK,
    "ISODOW": Function.WEEKDAY,
    "DOY": Function.YEARDAY,
    "DAYOFYEAR": Function.YEARDAY,
}
_SUNDAY_FIRST = {"DOW", "DAYOFWEEK", "WEEKDAY"}


def read_part(reader: "ExpressionReader", node: Node, unit: str, of: Node) -> Expression:
    """A part of a date, or of a length of time, by its name."""
    if unit == "EPOCH":
        return epoch(reader, of)
    value, is_part = _operand(reader, node, unit, of)
    if is_part:
        return value
    if unit == "DATE":
        return Cast(value, Kind.DATE)
    if unit in _SUNDAY_FIRST:  # Sunday is 0, Saturday is 6
        return call(Function.WEEKDAY, value) % 7
    if unit in _PARTS:
        return call(_PARTS[unit], value)
    raise reader.syntax.refuse(node, PART)


def read_named_part(unit: str, reader: "ExpressionReader", node: Node) -> Expression:
    """A function that is named after a part."""
    return read_part(reader, node, unit, reader.syntax.part(node, "this"))


def read_extract(reader: "ExpressionReader", node: Node) -> Expression:
    """EXTRACT(MONTH FROM date)."""
    unit = reader.syntax.part(node, "this")
    name = str(reader.syntax.part(unit, "this")).upper()
    reader.syntax.part(unit, "is_string")
    return read_part(reader, node, name, reader.syntax.part(node, "expression"))


def read_truncated(reader: "ExpressionReader", node: Node) -> Expression:
    """DATE_TRUNC('month', date)."""
    unit = reader.syntax.part(node, "unit")
    written = isinstance(unit, exp.Literal) and reader.syntax.part(unit, "is_string")
    known = written or isinstance(unit, exp.Var)  # the parser keeps a text beside what is a DATE
    name = str(reader.syntax.part(unit, "this")).lower() if known else ""
    name = _SHORT.get(name, name)
    if name not in {one.value for one in Unit}:
        raise reader.syntax.refuse(node, _UNIT)
    return Truncate(reader.part(node, "this"), Unit(name))


_SHORT = {"mm": "month", "mon": "month", "yyyy": "year", "yy": "year", "q": "quarter", "dd": "day"}
INTERVAL = said("""interval: an interval that is not one number and its unit
    units are SECOND, MINUTE, HOUR, DAY, WEEK, MONTH, QUARTER and YEAR, each added to a date
    write date + INTERVAL 3 MONTH""")
ALONE = said("""interval: an interval stands by itself
    it can be added to a date, or compared with the difference of two timestamps or with AGE
    write date + INTERVAL 3 DAY, or a - b > INTERVAL 2 HOUR""")
_OF_DATES = said("""interval: a length of time that is not the difference of two timestamps
    the difference of two dates is a number of days, and no interval
    compare it with a number, as in d1 - d2 > 30; of timestamps ask EXTRACT(EPOCH FROM a - \
    b), which is in seconds, or DATE_DIFF('hour', a, b)""")
_AGE = said("""argument: AGE of something else than times, or a part of it other than YEAR, MONTH \
    and DAY
    ages are years, months and days of the calendar
    write EXTRACT(YEAR FROM AGE(a, b)), or DATE_DIFF('hour', b, a)""")
_CLOCK = said("""type: the time of a day that is compared with something else
    CAST(x AS TIME) of a timestamp is compared with another one, or with a time such as '08:30'
    write CAST(x AS TIME) < TIME '08:30', or compare its parts: EXTRACT(HOUR FROM x) >= 18""")
_DIFFERENCE = said("""argument: DATE_DIFF in a unit that is not known
    units are second, minute, hour, day, week, month, quarter and year
    write DATE_DIFF('day', a, b)""")
PART = said("""argument: a part of a date that is not known, or a week or weekday as SQL Server \
    numbers it
    parts are YEAR, QUARTER, MONTH, WEEK (ISO), DAY, HOUR, MINUTE, SECOND, DOW, ISODOW and DOY
    write EXTRACT(WEEK FROM d), EXTRACT(DOW FROM d), where Sunday is 0, or \
    DATE_TRUNC('month', d)""")
_UNIT = said("""argument: DATE_TRUNC to a unit that is not known
    units are year, quarter, month, week, day, hour and minute
    write for example DATE_TRUNC('month', d)""")
