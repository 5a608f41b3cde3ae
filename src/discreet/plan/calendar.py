"""Dates and timestamps as whole numbers: days and microseconds since 1970, and their calendar."""

import calendar
import datetime as dt
from collections.abc import Callable, Iterator

from discreet.plan.expressions import Function, Unit
from discreet.plan.kinds import Kind, Range

SECOND = 1_000_000  # microseconds
DAY = 86_400 * SECOND
EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - timestamps have no zone
_MICROSECOND = dt.timedelta(microseconds=1)


def position(value: dt.date) -> int:
    """A date's days or a timestamp's microseconds since 1970.

    Example:
        >>> position(dt.date(1970, 1, 2)), position(dt.datetime(1970, 1, 2))
        (1, 86400000000)
    """
    if isinstance(value, dt.datetime):
        return (value - EPOCH) // _MICROSECOND
    return (value - EPOCH.date()).days


def moment(place: float, kind: Kind) -> dt.date:
    """The date or the timestamp at a position: the inverse of `position`."""
    if kind is Kind.DATE:
        return EPOCH.date() + dt.timedelta(days=int(place))
    return EPOCH + int(place) * _MICROSECOND


def months_later(value: dt.date, months: int) -> dt.date | None:
    """The same day of another month, or the last day where that month is shorter.

    Example:
        >>> str(months_later(dt.date(2024, 1, 31), 1)), months_later(dt.date(9999, 12, 1), 1)
        ('2024-02-29', None)
    """
    year, month = divmod(value.year * 12 + value.month - 1 + months, 12)
    if not dt.MINYEAR <= year <= dt.MAXYEAR:
        return None
    longest = calendar.monthrange(year, month + 1)[1]
    return value.replace(year=year, month=month + 1, day=min(value.day, longest))


def as_time(value: dt.date) -> dt.datetime:
    """A date as the timestamp at its midnight; a timestamp as it is."""
    return value if isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time())


FIRST_TO_LAST = {
    Kind.DATE: Range(position(dt.date.min), position(dt.date.max)),
    Kind.TIMESTAMP: Range(position(as_time(dt.date.min)), position(as_time(dt.date.max)) + DAY - 1),
}
"""All dates and timestamps there are: from the year 1 to the year 9999."""


def truncate(value: dt.date, unit: Unit) -> dt.date:
    """The beginning of the year, month, ... that holds a date or timestamp.

    0001-01-01 is a Monday, so weeks begin within the calendar as well.
    """
    if not isinstance(value, dt.datetime):
        return _DAYS[unit](value)
    if unit in {Unit.HOUR, Unit.MINUTE}:
        return value - (value - as_time(value.date())) % _LONGEST[unit]
    return as_time(_DAYS[unit](value.date()))


_DAYS: dict[Unit, Callable[[dt.date], dt.date]] = {
    Unit.YEAR: lambda day: day.replace(month=1, day=1),
    Unit.QUARTER: lambda day: day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1),
    Unit.MONTH: lambda day: day.replace(day=1),
    Unit.WEEK: lambda day: day - dt.timedelta(days=day.weekday()),
    Unit.DAY: lambda day: day,
    Unit.HOUR: lambda day: day,
    Unit.MINUTE: lambda day: day,
}
_LONGEST = {  # no period of the unit is longer
    Unit.YEAR: dt.timedelta(days=366),
    Unit.QUARTER: dt.timedelta(days=92),
    Unit.MONTH: dt.timedelta(days=31),
    Unit.WEEK: dt.timedelta(days=7),
    Unit.DAY: dt.timedelta(days=1),
    Unit.HOUR: dt.timedelta(hours=1),
    Unit.MINUTE: dt.timedelta(minutes=1),
}


def beginnings(low: dt.date, high: dt.date, unit: Unit) -> Iterator[dt.date]:
    """The truncations of values from `low` to `high`, in order.

    Example:
        >>> [str(day) for day in beginnings(dt.date(2023, 12, 5), dt.date(2024, 2, 1), Unit.MONTH)]
        ['2023-12-01', '2024-01-01', '2024-02-01']
    """
    step = _LONGEST[unit]
    if not isinstance(low, dt.datetime):
        step = max(step, dt.timedelta(days=1))
    at, last = truncate(low, unit), truncate(high, unit)
    while at < last:
        yield at
        # From a beginning, the longest period leads into the next period, and not past it.
        at = truncate(at + step, unit)
    yield at


PARTS: dict[Function, Range] = {
    Function.YEAR: Range(1, 9999),
    Function.QUARTER: Range(1, 4),
    Function.MONTH: Range(1, 12),
    Function.DAY: Range(1, 31),
    Function.HOUR: Range(0, 23),
    Function.MINUTE: Range(0, 59),
    Function.SECOND: Range(0, 59),
    Function.MICROSECOND: Range(0, 59_999_999),
    Function.WEEK: Range(1, 53),
    Function.WEEKDAY: Range(1, 7),
    Function.YEARDAY: Range(1, 366),
}
"""Range of each part of a date."""
