"""The type of an expression: kind, NULL, range and keys, from public facts alone.

Guarantee: for every row whose columns have their types, the value of the expression is of the
inferred kind, is NULL only where the type is nullable, and lies in the range where there is one.

Why: by induction over the expression. `intervals` proves the ends of arithmetic, `numeric` its
kinds and NULLs; the remaining rules are hulls of their parts.
"""

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Final, assert_never

from discreet.errors import InputError
from discreet.plan import intervals, numeric
from discreet.plan.calendar import as_time, beginnings, moment, position, truncate
from discreet.plan.expressions import (
    SIZE,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    Function,
    IsIn,
    Like,
    Literal,
    Truncate,
    Unit,
    parts_of,
    remember,
)
from discreet.plan.functions import call_type, cast_type, common_kind, either, is_null
from discreet.plan.keylists import few, listed, truth
from discreet.plan.kinds import Kind, Range, Type, Value
from discreet.plan.numeric import ResultType
from discreet.plan.texts import tokens

DEEPEST = 128
"""Deepest nesting; deeper expressions are refused, before Python or an engine fails."""


def infer(expression: Expression, columns: Mapping[str, Type]) -> Type:
    """The type of an expression over columns of these types; wrong kinds are refused.

    Edge cases: a range is given where both ends are finite, never where one side is open; INTEGER
    arithmetic that could leave 64 bits is REAL; a literal NULL loosens no range.

    Example:
        >>> from discreet.plan.expressions import Function
        >>> columns = {"price": Type(Kind.REAL, range=Range(0, 10)), "n": Type(Kind.INTEGER)}
        >>> twice = Call(Function.MULTIPLY, (Column("price"), Literal(-2, Kind.INTEGER)))
        >>> infer(twice, columns).range
        Range(low=-20.0, high=0.0)
        >>> infer(Call(Function.ADD, (Column("n"), Literal(1, Kind.INTEGER))), columns).kind
        <Kind.REAL: 'real'>
    """
    if expression.size < _LARGE:
        return _inferred(expression, columns)
    return (_seldom if _has_many_keys(columns) else _remembered)(expression, columns)


_LARGE: Final = 3
"""Parts of an expression whose type is worth remembering."""


def _inferred(expression: Expression, columns: Mapping[str, Type]) -> Type:
    found = _infer(expression, columns, 0)
    if found.range is None or math.isfinite(found.range.width):
        return found
    return replace(found, range=None)


_remembered: Final = remember(1024, SIZE)(_inferred)
_seldom: Final = remember(32)(_inferred)
"""For columns with many keys: they are kept with it, and take up to a megabyte each."""


@remember(32)
def _has_many_keys(columns: Mapping[str, Type]) -> bool:
    return any(len(of.keys or ()) > _MANY for of in columns.values())


_MANY: Final = 1000


def _infer(expression: Expression, columns: Mapping[str, Type], depth: int) -> Type:
    check_depth(depth)
    parts = [_infer(part, columns, depth + 1) for part in parts_of(expression)]
    return deduce(expression, parts, columns).type


def check_depth(depth: int) -> None:
    """Refuse what is nested too deep."""
    if depth > DEEPEST:
        raise InputError(
            f"an expression is nested more than {DEEPEST} deep",
            why="engines give up on such expressions",
            fix="compute a part of it in a subquery",
        )


def deduce(
    expression: Expression, parts: Sequence[Type], columns: Mapping[str, Type]
) -> ResultType:
    """The type of an expression whose parts have these types; ranges may be open to one side."""
    match expression:
        case Literal():
            return ResultType(literal_type(expression))
        case Column(name):
            return ResultType(settled(_column(name, columns)))
        case Call():
            return call_type(expression, parts)
        case Case():
            return ResultType(_case_type(expression, parts))
        case Cast(_, kind):
            return cast_type(parts[0], kind)
        case IsIn(_, values):
            return ResultType(_is_in_type(parts[0], values))
        case Like(_, pattern, escape):
            return ResultType(_like_type(parts[0], pattern, escape))
        case Truncate(_, unit):
            return ResultType(_truncated(parts[0], unit))
        case _:
            assert_never(expression)


# --- columns and literals -------------------------------------------------------------------------


def _column(name: str, columns: Mapping[str, Type]) -> Type:
    if name in columns:
        return columns[name]
    raise InputError(
        f"there is no column {name}",
        why=f"the columns are {', '.join(columns)}",
        fix="name one of them",
    )


def settled(of: Type) -> Type:
    """A declared type with the ends of its range made values of its kind.

    Bounds outside a kind bound nothing: INTEGER from 0 to 2^70 is open above. This is the range
    that a stored column is clamped into when it is read; if it contains few whole numbers or days,
    only those can be asked for.

    Example:
        >>> settled(Type(Kind.INTEGER, range=Range(0.5, 9.5))).range
        Range(low=1, high=9)
    """
    if of.range is None or of.kind not in numeric.REACH:
        return of if of.range is None else replace(of, range=None)
    low, high = of.range.low, of.range.high
    if of.kind is not Kind.REAL:
        low = low if math.isinf(low) else math.ceil(low)
        high = high if math.isinf(high) else math.floor(high)
    if low > high or intervals.meet(Range(low, high), numeric.REACH[of.kind]) is None:
        raise InputError(
            f"a range from {of.range.low} to {of.range.high}",
            why=f"it holds no {of.kind.value} value",
            fix="widen the bounds",
        )
    bounds = numeric.stated(Range(low, high), of.kind)
    keys = few(bounds, of.kind, nullable=of.nullable) if of.keys is None else of.keys
    return Type(of.kind, of.nullable, bounds, keys)


def literal_type(literal: Literal) -> Type:
    """The type of a constant, which is its own only key."""
    value, kind = literal.value, literal.kind
    if value is None:
        return Type(kind, nullable=True, keys=(None,))
    if type(value) is not kind.python or not kind.holds(value):
        raise InputError(
            f"a literal of type {type(value).__name__} as {kind.value}",
            why="it is no value of that kind",
            fix="write a finite number, 64-bit integer, plain text, or date without time zone",
        )
    place = position(value) if isinstance(value, dt.date) else value
    bounds = Range(place, place) if isinstance(place, int | float) else None
    return Type(kind, nullable=False, range=None if kind is Kind.BOOLEAN else bounds, keys=(value,))


# --- the other nodes ------------------------------------------------------------------------------


def _case_type(case: Case, parts: Sequence[Type]) -> Type:
    if not case.branches:
        raise InputError("CASE without WHEN", why="it chooses nothing", fix="add a condition")
    for of in parts[:-1:2]:
        if of.kind is not Kind.BOOLEAN:
            raise InputError(
                f"WHEN followed by a {of.kind.value} value",
                why="it takes a condition",
                fix="compare the value with something",
            )
    values = [*(value for _, value in case.branches), case.otherwise]
    return either([*parts[1::2], parts[-1]], values, "CASE")


def _is_in_type(operand: Type, values: Sequence[Literal]) -> Type:
    if not values or any(map(is_null, values)):
        raise InputError(
            "IN with NULL in its list" if values else "IN with an empty list",
            why="nothing is equal to NULL, and NOT IN would hold for no row"
            if values
            else "no value is in it",
            fix="list the values, and test for NULL with IS NULL",
        )
    for value in values:
        common_kind([operand, literal_type(value)], "IN")
    return truth(nullable=operand.nullable)


def _like_type(operand: Type, pattern: str, escape: str | None) -> Type:
    if operand.kind is not Kind.TEXT:
        raise InputError(
            f"LIKE on a {operand.kind.value} value",
            why="it is made for text",
            fix="cast it to TEXT",
        )
    tokens(pattern, escape)
    literal_type(Literal(pattern, Kind.TEXT))
    return truth(nullable=operand.nullable)


def _truncated(operand: Type, unit: Unit) -> Type:
    if not operand.kind.is_time:
        raise InputError(
            f"truncation of a {operand.kind.value} value to the {unit.value}",
            why="it is made for dates and timestamps",
            fix="cast the value to DATE",
        )
    if operand.range is None or not math.isfinite(operand.range.width):
        return replace(operand, range=None, keys=None)
    low, high = (moment(end, operand.kind) for end in (operand.range.low, operand.range.high))
    keys = listed(beginnings(low, high, unit), nullable=operand.nullable)
    # Truncation grows with the date, so the ends give the ends.
    bounds = Range(*(position(truncate(end, unit)) for end in (low, high)))
    return Type(operand.kind, operand.nullable, bounds, keys)


_COMPARED: Final = {Function.EQUAL, Function.NOT_EQUAL}
_SHOWN, _SEARCHED = 6, 5000


def check_listed(expression: Expression, columns: Mapping[str, Type]) -> None:
    """Refuse `sex = 'male'` where the keys of sex are Female and Male; `IN` and `<>` likewise.

    A typing error is found before it is paid for: the owner's list of keys is public, so whether a
    literal is on it may be revealed before any charge.

    Columns alone are meant, and not what is computed from them: CAST(sex AS TEXT) = 'male' asks
    about rows that are outside of the declared keys.
    """
    found = unlisted(expression, columns)
    if found is not None:
        raise found[1]


def unlisted(
    expression: Expression, columns: Mapping[str, Type]
) -> tuple[Expression, InputError] | None:
    """The first part that compares a column or a weekday with what it is not, and why."""
    pairs: list[tuple[Expression, tuple[Expression, ...]]] = []
    match expression:
        case Call(function, (left, right)) if function in _COMPARED:
            pairs = [(left, (right,)), (right, (left,))]
        case IsIn(operand, values):
            pairs = [(operand, values)]
    for operand, other in ((operand, other) for operand, others in pairs for other in others):
        match operand, other:
            case Column(name), Literal(value) if name in columns:
                if _is_missing(value, columns[name]):
                    return expression, _refusal(name, value, columns[name])
            case Call(Function.MODULO, (Call(Function.WEEKDAY), Literal(7))), Literal(int() as day):
                if not 0 <= day < 7:
                    return expression, InputError(
                        f"the number of a weekday is compared with {day}, which it never is",
                        why="weekdays count from Sunday, which is 0, to Saturday, which is 6",
                        fix="write those, or EXTRACT(ISODOW FROM d), from Monday, 1, to Sunday, 7",
                    )
    return next((one for part in parts_of(expression) if (one := unlisted(part, columns))), None)


def _is_missing(value: Value, of: Type) -> bool:
    """Whether a list that somebody declared lacks a value; numbers in a range are not declared."""
    declared = of.keys is not None and of.range is None and of.kind is not Kind.BOOLEAN
    return declared and value is not None and _moment(value) not in map(_moment, of.keys or ())


def _moment(value: Value) -> Value:
    """A day as its midnight: what it equals among times."""
    return as_time(value) if isinstance(value, dt.date) else value


def _refusal(name: str, value: Value, of: Type) -> InputError:
    keys = [key for key in of.keys or () if key is not None]
    listed = ", ".join(_quoted(key) for key in keys[:_SHOWN])
    more = f" and {len(keys) - _SHOWN:,} more" if len(keys) > _SHOWN else ""
    near = [_quoted(key) for key in near_keys(value, keys)]
    meant = (
        f"write {' or '.join(near)}, if that is meant; else" if near else "write one of them, or"
    )
    return InputError(
        f"{name} is compared with {_quoted(value)}, which is not one of its declared keys",
        why=f"its keys are {listed}{more}, and rows with other values are in no group",
        fix=f"{meant} compare CAST({name} AS {_TYPES[of.kind]}) to ask about rows outside the keys",
    )


_TYPES: Final = {
    Kind.INTEGER: "BIGINT",
    Kind.REAL: "DOUBLE",
    Kind.TEXT: "TEXT",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
}


def near_keys(value: Value, keys: Sequence[Value]) -> list[Value]:
    """Keys that a value may have meant: one that differs in case and spaces, else up to three."""
    if not isinstance(value, str):
        return []
    folded: dict[str, Value] = {}
    for key in keys[:_SEARCHED]:
        folded.setdefault(str(key).strip().casefold(), key)
    wanted = value.strip().casefold()
    close = [wanted] if wanted in folded else get_close_matches(wanted, folded, n=3, cutoff=0.6)
    return [folded[one] for one in close]


def _quoted(value: Value) -> str:
    return repr(value) if isinstance(value, str) else str(value)
