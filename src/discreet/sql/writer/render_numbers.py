"""Functions of numbers and times as text; plus and minus are of both."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from discreet.plan.calendar import DAY, PARTS, SECOND
from discreet.plan.expressions import Call, Function
from discreet.plan.functions import bucket_limits
from discreet.plan.kinds import Kind
from discreet.plan.numeric import REACH, ResultType, reach
from discreet.sql.writer.fragment import Parts, SqlText, ends, strays

if TYPE_CHECKING:
    from discreet.sql.writer.render import Renderer

Rule: TypeAlias = Callable[["Renderer", Call, Parts, ResultType], SqlText]


def _infix(renderer: "Renderer", call: Call, parts: Parts, outcome: ResultType) -> SqlText:
    """+, - and *: of INTEGER in 64 bits, or of doubles."""
    if outcome.type.kind is Kind.INTEGER:
        sql = f"({parts[0].sql} {call.function.value} {parts[1].sql})"
    else:
        sql = renderer.dialect.real(call.function, *map(renderer.real, parts))
    return SqlText(sql, outcome.type, strays(parts, outcome))


def _divide(renderer: "Renderer", call: Call, parts: Parts, outcome: ResultType) -> SqlText:
    """A quotient by infinity would be 0, so the denominator may not stray."""
    divisor = renderer.real(renderer.clean(parts[1]))
    sql = renderer.dialect.real(call.function, renderer.real(parts[0]), divisor)
    return SqlText(sql, outcome.type, strays(parts[:1], outcome))


def _modulo(renderer: "Renderer", _: Call, parts: Parts, outcome: ResultType) -> SqlText:
    x, y = parts
    divisor = _divisor(renderer, y) if outcome.strays else y.sql
    low, high = ends(reach(y.type))
    wide = reach(x.type).low == REACH[Kind.INTEGER].low and low <= -1 <= high
    return SqlText(renderer.dialect.remainder(x.sql, divisor, wide=wide), outcome.type)


def _quotient(renderer: "Renderer", _: Call, parts: Parts, outcome: ResultType) -> SqlText:
    """The quotient in 128 bits where 64 overflow, which is NULL."""
    x, y = parts
    dialect, integer = renderer.dialect, Kind.INTEGER
    low, high = ends(reach(y.type))
    wide = reach(x.type).low == REACH[integer].low and low <= -1 <= high
    divisor = _divisor(renderer, y) if low <= 0 <= high else y.sql
    return SqlText(dialect.whole_quotient(x.sql, divisor, wide=wide), outcome.type)


def _divisor(renderer: "Renderer", y: SqlText) -> str:
    """NULL where it is 0."""
    zero, dialect = renderer.dialect.literal(0, Kind.INTEGER), renderer.dialect
    return dialect.let([y.sql], lambda it: dialect.only_if(f"{it} <> {zero}", it))


def _negate(renderer: "Renderer", _: Call, parts: Parts, outcome: ResultType) -> SqlText:
    if outcome.type.kind is Kind.REAL:
        sql = f"(-{renderer.real(parts[0])})"
    else:
        sql = f"({renderer.dialect.literal(0, Kind.INTEGER)} - {parts[0].sql})"
    return SqlText(sql, outcome.type, strays(parts, outcome))


def _absolute(renderer: "Renderer", _: Call, parts: Parts, outcome: ResultType) -> SqlText:
    integer = outcome.type.kind is Kind.INTEGER
    sql = f"abs({parts[0].sql if integer else renderer.real(parts[0])})"
    return SqlText(sql, outcome.type, strays(parts, outcome))


def _sign(renderer: "Renderer", _: Call, parts: Parts, outcome: ResultType) -> SqlText:
    sql = renderer.dialect.cast(f"sign({renderer.finite(parts[0])})", Kind.INTEGER)
    return SqlText(sql, outcome.type)


def _whole(renderer: "Renderer", call: Call, parts: Parts, outcome: ResultType) -> SqlText:
    (part,) = parts
    if part.kind is Kind.INTEGER:
        return part
    sql = renderer.dialect.whole(call.function, part.sql)
    if outcome.type.kind is Kind.INTEGER:
        return SqlText(renderer.dialect.to_integer(sql), outcome.type)  # NULL for strays too
    return SqlText(sql, outcome.type, part.strays)


def _root_or_log(renderer: "Renderer", call: Call, parts: Parts, outcome: ResultType) -> SqlText:
    sql = renderer.dialect.real(call.function, renderer.real(parts[0]))
    return SqlText(sql, outcome.type, strays(parts, outcome))


def _exponential(renderer: "Renderer", call: Call, parts: Parts, outcome: ResultType) -> SqlText:
    """EXP of -infinity would be 0, so the operand may not stray."""
    operand = renderer.real(renderer.clean(parts[0]))
    return SqlText(renderer.dialect.real(call.function, operand), outcome.type, outcome.strays)


def _bucket(renderer: "Renderer", call: Call, parts: Parts, outcome: ResultType) -> SqlText:
    """The top bucket takes what rounding would put above it; NULL passes every WHEN by."""
    low, high, count = bucket_limits(call)
    number, integer, real = renderer.dialect.double, Kind.INTEGER, renderer.dialect.real
    below, above, top = (renderer.dialect.literal(n, integer) for n in (0, count + 1, count))

    def body(it: str) -> str:
        share = real(Function.SUBTRACT, it, number(low))
        share = real(Function.DIVIDE, share, number(high - low))
        share = real(Function.MULTIPLY, share, number(count))
        inside = renderer.dialect.cast(renderer.dialect.whole(Function.FLOOR, share), integer)
        return renderer.dialect.choose(
            [
                (f"{it} < {number(low)}", below),
                (f"{it} >= {number(high)}", above),
                (f"{share} >= {number(count)}", top),
            ],
            f"{inside} + {renderer.dialect.literal(1, integer)}",
        )

    value = renderer.real(renderer.clean(parts[0]))
    return SqlText(renderer.dialect.let([value], body), outcome.type)


# --- dates and timestamps -------------------------------------------------------------------------

_WIDTH = int(REACH[Kind.DATE].width) + 1
"""Days of the whole calendar: more of them lead out of it, and are NULL before they add up."""

_MONTHS = 12 * 10_000
_SECONDS = _WIDTH * (DAY // SECOND)


def _add(renderer: "Renderer", call: Call, parts: Parts, outcome: ResultType) -> SqlText:
    if not outcome.type.kind.is_time:
        return _infix(renderer, call, parts, outcome)
    time, days = parts if parts[0].kind.is_time else parts[::-1]
    return _days_later(renderer, call.function, time, days, outcome)


def _subtract(renderer: "Renderer", call: Call, parts: Parts, outcome: ResultType) -> SqlText:
    if not parts[0].kind.is_time:
        return _infix(renderer, call, parts, outcome)
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


def _months_later(renderer: "Renderer", _: Call, parts: Parts, outcome: ResultType) -> SqlText:
    time, months = parts
    near = _near(renderer, months, _MONTHS)
    return _in_calendar(renderer, renderer.dialect.months_later(time.sql, near, time.kind), outcome)


def _seconds_later(renderer: "Renderer", _: Call, parts: Parts, outcome: ResultType) -> SqlText:
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


def _part(renderer: "Renderer", call: Call, parts: Parts, outcome: ResultType) -> SqlText:
    return SqlText(renderer.dialect.part(call.function, parts[0].sql), outcome.type)


CALLS: dict[Function, Rule] = {
    Function.MULTIPLY: _infix,
    Function.DIVIDE: _divide,
    Function.MODULO: _modulo,
    Function.QUOTIENT: _quotient,
    Function.NEGATE: _negate,
    Function.ABS: _absolute,
    Function.SIGN: _sign,
    Function.FLOOR: _whole,
    Function.CEIL: _whole,
    Function.ROUND: _whole,
    Function.SQRT: _root_or_log,
    Function.EXP: _exponential,
    Function.LN: _root_or_log,
    Function.LOG10: _root_or_log,
    Function.LOG2: _root_or_log,
    Function.BUCKET: _bucket,
    Function.ADD: _add,
    Function.SUBTRACT: _subtract,
    Function.ADD_MONTHS: _months_later,
    Function.ADD_SECONDS: _seconds_later,
    **dict.fromkeys(PARTS, _part),
}
