"""Calls of functions as text: of numbers, times, texts and values of any kind.

A rule gives a text; one whose text may be NaN or infinite for NULL says so (`SqlText`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from discreet.plan.calendar import DAY, PARTS, SECOND
from discreet.plan.expressions import COMPARISONS, Call, Function, Literal
from discreet.plan.functions import bucket_limits
from discreet.plan.kinds import Kind, Range, Type
from discreet.plan.numeric import REACH, ResultType, reach
from discreet.plan.texts import (
    LONGEST_CONCAT,
    extraction,
    replacement,
    right_limit,
    split_limits,
    substring_limits,
)
from discreet.plan.texts import RULES as TEXT_RULES

if TYPE_CHECKING:
    from discreet.sql.writer.render import Renderer


@dataclass(frozen=True, slots=True)
class SqlText:
    """The text of a part, its type, and whether it may be NaN or infinite for NULL."""

    sql: str
    type: Type
    strays: bool = False
    literal: Literal | None = None

    @property
    def kind(self) -> Kind:
        """The kind of its values."""
        return self.type.kind


Parts: TypeAlias = list[SqlText]
Rule: TypeAlias = Callable[["Renderer", Call, Parts, ResultType], SqlText | str]


def ends(of: Range) -> tuple[float, float]:
    """Both ends of a range."""
    return of.low, of.high


def _strays(parts: Parts, outcome: ResultType) -> bool:
    """Whether a double that passes strays on may stray."""
    return outcome.type.kind is Kind.REAL and (outcome.strays or any(p.strays for p in parts))


# --- numbers --------------------------------------------------------------------------------------


def _infix(renderer: "Renderer", call: Call, parts: Parts, outcome: ResultType) -> SqlText:
    """+, - and *: of INTEGER in 64 bits, or of doubles."""
    if outcome.type.kind is Kind.INTEGER:
        sql = f"({parts[0].sql} {call.function.value} {parts[1].sql})"
    else:
        sql = renderer.dialect.real(call.function, *map(renderer.real, parts))
    return SqlText(sql, outcome.type, _strays(parts, outcome))


def _divide(renderer: "Renderer", call: Call, parts: Parts, outcome: ResultType) -> SqlText:
    """A quotient by infinity would be 0, so the denominator may not stray."""
    divisor = renderer.real(renderer.clean(parts[1]))
    sql = renderer.dialect.real(call.function, renderer.real(parts[0]), divisor)
    return SqlText(sql, outcome.type, _strays(parts[:1], outcome))


def _whole_division(renderer: "Renderer", call: Call, parts: Parts, _: ResultType) -> str:
    """The remainder or the quotient, which is NULL by 0; in 128 bits where 64 overflow."""
    x, y = parts
    dialect, (low, high) = renderer.dialect, ends(reach(y.type))
    divisor, zero = y.sql, dialect.literal(0, Kind.INTEGER)
    if low <= 0 <= high:
        divisor = dialect.let([y.sql], lambda it: dialect.only_if(f"{it} <> {zero}", it))
    wide = reach(x.type).low == REACH[Kind.INTEGER].low and low <= -1 <= high
    modulo = call.function is Function.MODULO
    write = dialect.remainder if modulo else dialect.whole_quotient
    return write(x.sql, divisor, wide=wide)


def _negate(renderer: "Renderer", _: Call, parts: Parts, outcome: ResultType) -> SqlText:
    if outcome.type.kind is Kind.REAL:
        sql = f"(-{renderer.real(parts[0])})"
    else:
        sql = f"({renderer.dialect.literal(0, Kind.INTEGER)} - {parts[0].sql})"
    return SqlText(sql, outcome.type, _strays(parts, outcome))


def _absolute(renderer: "Renderer", _: Call, parts: Parts, outcome: ResultType) -> SqlText:
    integer = outcome.type.kind is Kind.INTEGER
    sql = f"abs({parts[0].sql if integer else renderer.real(parts[0])})"
    return SqlText(sql, outcome.type, _strays(parts, outcome))


def _sign(renderer: "Renderer", _: Call, parts: Parts, __: ResultType) -> str:
    return renderer.dialect.cast(f"sign({renderer.finite(parts[0])})", Kind.INTEGER)


def _whole(renderer: "Renderer", call: Call, parts: Parts, outcome: ResultType) -> SqlText | str:
    (part,) = parts
    if part.kind is Kind.INTEGER:
        return part
    sql = renderer.dialect.whole(call.function, part.sql)
    if outcome.type.kind is Kind.INTEGER:
        return renderer.dialect.to_integer(sql)  # NULL for strays too
    return SqlText(sql, outcome.type, part.strays)


def _root_or_log(renderer: "Renderer", call: Call, parts: Parts, outcome: ResultType) -> SqlText:
    sql = renderer.dialect.real(call.function, renderer.real(parts[0]))
    return SqlText(sql, outcome.type, _strays(parts, outcome))


def _exponential(renderer: "Renderer", call: Call, parts: Parts, outcome: ResultType) -> SqlText:
    """EXP of -infinity would be 0, so the operand may not stray."""
    operand = renderer.real(renderer.clean(parts[0]))
    return SqlText(renderer.dialect.real(call.function, operand), outcome.type, outcome.strays)


def _bucket(renderer: "Renderer", call: Call, parts: Parts, _: ResultType) -> str:
    """The top bucket takes what rounding would put above it; NULL passes every WHEN by."""
    low, high, count = bucket_limits(call)
    dialect = renderer.dialect
    number, integer, real = dialect.double, Kind.INTEGER, dialect.real
    below, above, top = (dialect.literal(n, integer) for n in (0, count + 1, count))

    def body(it: str) -> str:
        share = real(Function.SUBTRACT, it, number(low))
        share = real(Function.DIVIDE, share, number(high - low))
        share = real(Function.MULTIPLY, share, number(count))
        inside = dialect.cast(dialect.whole(Function.FLOOR, share), integer)
        return dialect.choose(
            [
                (f"{it} < {number(low)}", below),
                (f"{it} >= {number(high)}", above),
                (f"{share} >= {number(count)}", top),
            ],
            f"{inside} + {dialect.literal(1, integer)}",
        )

    return dialect.let([renderer.real(renderer.clean(parts[0]))], body)


# --- dates and timestamps -------------------------------------------------------------------------

_WIDTH = int(REACH[Kind.DATE].width) + 1
"""Days of the whole calendar: more of them lead out of it, and are NULL before they add up."""

_MONTHS = 12 * 10_000
_SECONDS = _WIDTH * (DAY // SECOND)


def _sum(renderer: "Renderer", call: Call, parts: Parts, outcome: ResultType) -> SqlText | str:
    """Plus and minus: of numbers, a time and days, or two dates."""
    first, second = parts
    if not (first.kind.is_time or second.kind.is_time):
        return _infix(renderer, call, parts, outcome)
    if call.function is Function.SUBTRACT and second.kind is Kind.DATE:
        return renderer.dialect.days_between(first.sql, second.sql)
    time, days = parts if first.kind.is_time else parts[::-1]
    near = _near(renderer, days, _WIDTH)
    later = renderer.dialect.days_later(time.sql, call.function.value, near, time.kind)
    return _in_calendar(renderer, later, outcome)


def _months_later(renderer: "Renderer", _: Call, parts: Parts, outcome: ResultType) -> str:
    time, months = parts
    near = _near(renderer, months, _MONTHS)
    return _in_calendar(renderer, renderer.dialect.months_later(time.sql, near, time.kind), outcome)


def _seconds_later(renderer: "Renderer", _: Call, parts: Parts, outcome: ResultType) -> str:
    time, seconds = parts
    near = _near(renderer, seconds, _SECONDS)
    return _in_calendar(renderer, renderer.dialect.seconds_later(time.sql, near), outcome)


def _near(renderer: "Renderer", steps: SqlText, limit: int) -> str:
    """A number of steps, NULL where they lead out of the calendar from any place in it."""
    if max(map(abs, ends(reach(steps.type)))) <= limit:
        return steps.sql
    return renderer.between(steps.sql, -limit, limit, Kind.INTEGER)


def _in_calendar(renderer: "Renderer", sql: str, outcome: ResultType) -> str:
    return renderer.within(sql, outcome.type.kind) if outcome.strays else sql


# --- values of any kind ---------------------------------------------------------------------------


def _extreme(renderer: "Renderer", call: Call, parts: Parts, outcome: ResultType) -> str:
    return f"{call.function.value}({', '.join(renderer.alike(parts, outcome.type.kind))})"


def _is_null(renderer: "Renderer", _: Call, parts: Parts, __: ResultType) -> str:
    (part,) = parts
    if part.strays:
        return f"({renderer.dialect.is_finite(part.sql)} IS NOT TRUE)"
    return f"({part.sql} IS NULL)"


def _logic(_: "Renderer", call: Call, parts: Parts, __: ResultType) -> str:
    word = f" {call.function.value.upper()} "
    return f"({word.join(part.sql for part in parts)})"


def _coalesce(renderer: "Renderer", _: Call, parts: Parts, outcome: ResultType) -> SqlText:
    """The last part may stray: there is nothing after it."""
    kind = outcome.type.kind
    texts = [*renderer.alike(parts[:-1], kind), renderer.as_kind(parts[-1], kind)]
    return SqlText(f"COALESCE({', '.join(texts)})", outcome.type, parts[-1].strays)


def _null_if(renderer: "Renderer", _: Call, parts: Parts, __: ResultType) -> str:
    x, y = parts
    null = renderer.dialect.literal(None, x.kind)

    def body(a: str, b: str) -> str:
        equal = renderer.comparison("=", SqlText(a, x.type), SqlText(b, y.type))
        return renderer.dialect.choose([(equal, null)], a)

    return renderer.dialect.let([renderer.finite(x), renderer.finite(y)], body)


# --- texts ----------------------------------------------------------------------------------------


def _text(renderer: "Renderer", call: Call, parts: Parts, _: ResultType) -> str:
    dialect, texts = renderer.dialect, [part.sql for part in parts]
    match call.function:
        case Function.LOWER | Function.UPPER:
            return dialect.recase(call.function, texts[0])
        case Function.TRIM | Function.LTRIM | Function.RTRIM:
            return dialect.trim(call.function, texts[0])
        case Function.LENGTH:
            return dialect.length(texts[0])
        case Function.SUBSTRING:
            return dialect.substring(texts[0], *substring_limits(call))
        case Function.RIGHT:
            return dialect.right(texts[0], right_limit(call))
        case Function.SPLIT_PART:
            return dialect.split_part(texts[0], *split_limits(call))
        case Function.EXTRACT:
            return dialect.extract(texts[0], extraction(call))
        case Function.POSITION:
            return dialect.position(*texts)
        case Function.ENDS_WITH:
            return dialect.ends_with(*texts)
    return dialect.starts_with(*texts)


def _concat(renderer: "Renderer", _: Call, parts: Parts, __: ResultType) -> str:
    """Texts that get too long are NULL, lest doubling them over and over exhausts an engine."""

    def body(*texts: str) -> str:
        lengths = " + ".join(map(renderer.dialect.length, texts))
        return renderer.dialect.only_if(_short(lengths), f"({' || '.join(texts)})")

    return renderer.dialect.let([part.sql for part in parts], body)


def _replace(renderer: "Renderer", call: Call, parts: Parts, outcome: ResultType) -> str:
    """REPLACE; as for CONCAT, texts that grow too long are NULL."""
    dialect = renderer.dialect
    sql = dialect.replace(parts[0].sql, *replacement(call))
    if not outcome.strays:
        return sql
    return dialect.let([sql], lambda it: dialect.only_if(_short(dialect.length(it)), it))


def _short(length: str) -> str:
    return f"{length} <= {LONGEST_CONCAT}"


CALLS: dict[Function, Rule] = {
    Function.ADD: _sum,
    Function.SUBTRACT: _sum,
    Function.MULTIPLY: _infix,
    Function.DIVIDE: _divide,
    Function.MODULO: _whole_division,
    Function.QUOTIENT: _whole_division,
    Function.NEGATE: _negate,
    Function.ABS: _absolute,
    Function.SIGN: _sign,
    **dict.fromkeys((Function.FLOOR, Function.CEIL, Function.ROUND), _whole),
    **dict.fromkeys((Function.SQRT, Function.LN, Function.LOG10, Function.LOG2), _root_or_log),
    Function.EXP: _exponential,
    Function.BUCKET: _bucket,
    Function.ADD_MONTHS: _months_later,
    Function.ADD_SECONDS: _seconds_later,
    **dict.fromkeys(PARTS, lambda r, call, parts, _: r.dialect.part(call.function, parts[0].sql)),
    **dict.fromkeys((Function.LEAST, Function.GREATEST), _extreme),
    **dict.fromkeys(
        COMPARISONS, lambda r, call, parts, _: r.comparison(call.function.value, *parts)
    ),
    Function.IS_NULL: _is_null,
    Function.AND: _logic,
    Function.OR: _logic,
    Function.NOT: lambda _, __, parts, ___: f"(NOT {parts[0].sql})",
    Function.COALESCE: _coalesce,
    Function.NULL_IF: _null_if,
    **dict.fromkeys(TEXT_RULES, _text),
    Function.CONCAT: _concat,
    Function.REPLACE: _replace,
}
