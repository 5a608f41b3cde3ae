"""Functions of dates and timestamps as text; plus and minus, which numbers share with them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from discreet.plan.calendar import DAY, PARTS, SECOND
from discreet.plan.expressions import Call, Function
from discreet.plan.kinds import Kind
from discreet.plan.numeric import REACH, ResultType, reach
from discreet.sql.writer.fragment import SqlText, ends
from discreet.sql.writer.render_numbers import infix

if TYPE_CHECKING:
    from discreet.sql.writer.render import Renderer

Rule: TypeAlias = Callable[["Renderer", Call, list[SqlText], ResultType], SqlText]

_WIDTH = int(REACH[Kind.DATE].width) + 1
"""Days of the whole calendar: more of them lead out of it, and are NULL before they add up."""

_MONTHS = 12 * 10_000
_SECONDS = _WIDTH * (DAY // SECOND)


def _add(renderer: "Renderer", call: Call, parts: list[SqlText], outcome: ResultType) -> SqlText:
    if not outcome.type.kind.is_time:
        return infix(renderer, call, parts, outcome)
    time, days = parts if parts[0].kind.is_time else parts[::-1]
    return _days_later(renderer, call.function, time, days, outcome)


def _subtract(
    renderer: "Renderer", call: Call, parts: list[SqlText], outcome: ResultType
) -> SqlText:
    if not parts[0].kind.is_time:
        return infix(renderer, call, parts, outcome)
    if parts[1].kind is Kind.DATE:
        return SqlText(renderer.dialect.days_between(parts[0].sql, parts[1].sql), outcome.type)
    time, days = parts
    return _days_later(renderer, call.function, time, days, outcome)


def _days_later(
    renderer: "Renderer", function: Function, time: SqlText, days: SqlText, outcome: ResultType
) -> SqlText:
    near = _near(renderer, days, _WIDTH)
    sql = renderer.dialect.days_later(time.sql, function.value, near, time.kind)
    return _in_calendar(renderer, sql, outcome)


def _months_later(
    renderer: "Renderer", _: Call, parts: list[SqlText], outcome: ResultType
) -> SqlText:
    time, months = parts
    near = _near(renderer, months, _MONTHS)
    return _in_calendar(renderer, renderer.dialect.months_later(time.sql, near, time.kind), outcome)


def _seconds_later(
    renderer: "Renderer", _: Call, parts: list[SqlText], outcome: ResultType
) -> SqlText:
    time, seconds = parts
    near = _near(renderer, seconds, _SECONDS)
    return _in_calendar(renderer, renderer.dialect.seconds_later(time.sql, near), outcome)


def _near(renderer: "Renderer", steps: SqlText, limit: int) -> str:
    """A number of steps, NULL where they lead out of the calendar from any place in it."""
    if max(map(abs, ends(reach(steps.type)))) <= limit:
        return steps.sql
    dialect = renderer.dialect
    low, high = (dialect.literal(end, Kind.INTEGER) for end in (-limit, limit))
    return dialect.let(
        [steps.sql], lambda it: dialect.only_if(f"{it} BETWEEN {low} AND {high}", it)
    )


def _in_calendar(renderer: "Renderer", sql: str, outcome: ResultType) -> SqlText:
    kind = outcome.type.kind
    return SqlText(renderer.within(sql, kind) if outcome.strays else sql, outcome.type)


def _part(renderer: "Renderer", call: Call, parts: list[SqlText], outcome: ResultType) -> SqlText:
    return SqlText(renderer.dialect.part(call.function, parts[0].sql), outcome.type)


CALLS: dict[Function, Rule] = {
    Function.ADD: _add,
    Function.SUBTRACT: _subtract,
    Function.ADD_MONTHS: _months_later,
    Function.ADD_SECONDS: _seconds_later,
    **dict.fromkeys(PARTS, _part),
}
