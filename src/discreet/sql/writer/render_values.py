"""Functions of values of any kind, and of text, as text."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from discreet.plan.expressions import COMPARISONS, Call, Function
from discreet.plan.numeric import ResultType
from discreet.plan.texts import (
    LONGEST_CONCAT,
    extraction,
    replacement,
    right_limit,
    split_limits,
    substring_limits,
)
from discreet.plan.texts import RULES as TEXT_RULES
from discreet.sql.writer.fragment import Parts, SqlText

if TYPE_CHECKING:
    from discreet.sql.writer.render import Renderer

Rule: TypeAlias = Callable[["Renderer", Call, Parts, ResultType], SqlText]


def _extreme(renderer: "Renderer", call: Call, parts: Parts, outcome: ResultType) -> SqlText:
    texts = renderer.alike(parts, outcome.type.kind)
    return SqlText(f"{call.function.value}({', '.join(texts)})", outcome.type)


def _compare(renderer: "Renderer", call: Call, parts: Parts, outcome: ResultType) -> SqlText:
    return SqlText(renderer.comparison(call.function.value, *parts), outcome.type)


def _is_null(renderer: "Renderer", _: Call, parts: Parts, outcome: ResultType) -> SqlText:
    (part,) = parts
    if part.strays:
        return SqlText(f"({renderer.dialect.is_finite(part.sql)} IS NOT TRUE)", outcome.type)
    return SqlText(f"({part.sql} IS NULL)", outcome.type)


def _logic(_: "Renderer", call: Call, parts: Parts, outcome: ResultType) -> SqlText:
    word = f" {call.function.value.upper()} "
    return SqlText(f"({word.join(part.sql for part in parts)})", outcome.type)


def _coalesce(renderer: "Renderer", _: Call, parts: Parts, outcome: ResultType) -> SqlText:
    """The last part may stray: there is nothing after it."""
    kind = outcome.type.kind
    texts = [*renderer.alike(parts[:-1], kind), renderer.as_kind(parts[-1], kind)]
    return SqlText(f"COALESCE({', '.join(texts)})", outcome.type, parts[-1].strays)


def _null_if(renderer: "Renderer", _: Call, parts: Parts, outcome: ResultType) -> SqlText:
    x, y = parts
    null = renderer.dialect.literal(None, x.kind)

    def body(a: str, b: str) -> str:
        equal = renderer.comparison("=", SqlText(a, x.type), SqlText(b, y.type))
        return renderer.dialect.choose([(equal, null)], a)

    return SqlText(
        renderer.dialect.let([renderer.finite(x), renderer.finite(y)], body), outcome.type
    )


def _text(renderer: "Renderer", call: Call, parts: Parts, outcome: ResultType) -> SqlText:
    dialect, texts = renderer.dialect, [part.sql for part in parts]
    match call.function:
        case Function.LOWER | Function.UPPER:
            sql = dialect.recase(call.function, texts[0])
        case Function.TRIM | Function.LTRIM | Function.RTRIM:
            sql = dialect.trim(call.function, texts[0])
        case Function.LENGTH:
            sql = dialect.length(texts[0])
        case Function.SUBSTRING:
            sql = dialect.substring(texts[0], *substring_limits(call))
        case Function.RIGHT:
            sql = dialect.right(texts[0], right_limit(call))
        case Function.SPLIT_PART:
            sql = dialect.split_part(texts[0], *split_limits(call))
        case Function.EXTRACT:
            sql = dialect.extract(texts[0], extraction(call))
        case Function.POSITION:
            sql = dialect.position(*texts)
        case Function.ENDS_WITH:
            sql = dialect.ends_with(*texts)
        case _:
            sql = dialect.starts_with(*texts)
    return SqlText(sql, outcome.type)


def _concat(renderer: "Renderer", _: Call, parts: Parts, outcome: ResultType) -> SqlText:
    """Texts that get too long are NULL, lest doubling them over and over exhausts an engine."""

    def body(*texts: str) -> str:
        lengths = " + ".join(map(renderer.dialect.length, texts))
        return renderer.dialect.only_if(_short(lengths), f"({' || '.join(texts)})")

    return SqlText(renderer.dialect.let([part.sql for part in parts], body), outcome.type)


def _replace(renderer: "Renderer", call: Call, parts: Parts, outcome: ResultType) -> SqlText:
    """REPLACE; as for CONCAT, texts that grow too long are NULL."""
    dialect = renderer.dialect
    sql = dialect.replace(parts[0].sql, *replacement(call))
    if outcome.strays:
        sql = dialect.let([sql], lambda it: dialect.only_if(_short(dialect.length(it)), it))
    return SqlText(sql, outcome.type)


def _short(length: str) -> str:
    return f"{length} <= {LONGEST_CONCAT}"


CALLS: dict[Function, Rule] = {
    Function.LEAST: _extreme,
    Function.GREATEST: _extreme,
    **dict.fromkeys(COMPARISONS, _compare),
    Function.IS_NULL: _is_null,
    Function.AND: _logic,
    Function.OR: _logic,
    Function.NOT: lambda _, _call, parts, to: SqlText(f"(NOT {parts[0].sql})", to.type),
    Function.COALESCE: _coalesce,
    Function.NULL_IF: _null_if,
    **dict.fromkeys(TEXT_RULES, _text),
    Function.CONCAT: _concat,
    Function.REPLACE: _replace,
}
