"""Types of columns in the rows that a condition keeps: narrower ranges, fewer keys, no NULL.

`WHERE day >= '2025-06-01' GROUP BY month` has no groups before June: no row can be there, and noise
in their place would be wrong wherever groups are counted or averaged. `SUM(amount)` where `amount <
50` needs noise for 50 alone.
"""

import datetime as dt
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from discreet.plan.calendar import FIRST_TO_LAST, position
from discreet.plan.expressions import Call, Column, Expression, Function, IsIn, Literal
from discreet.plan.intervals import EVERYTHING, meet
from discreet.plan.kinds import Kind, Range, Type, Value

_FLIPPED: Final = {
    Function.EQUAL: Function.EQUAL,
    Function.NOT_EQUAL: Function.NOT_EQUAL,
    Function.GREATER: Function.LESS,
    Function.GREATER_EQUAL: Function.LESS_EQUAL,
    Function.LESS: Function.GREATER,
    Function.LESS_EQUAL: Function.GREATER_EQUAL,
}
_EXACT: Final = 1 << 53
"""Below, whole numbers and doubles compare alike; 2^53 + 1 as a double is 2^53."""


def conjuncts(where: Expression | None) -> list[Expression]:
    """The conditions that all have to hold."""
    match where:
        case None:
            return []
        case Call(Function.AND, parts):
            return [one for part in parts for one in conjuncts(part)]
    return [where]


def narrowed(columns: Mapping[str, Type], predicate: Expression) -> Mapping[str, Type]:
    """The types of columns in rows for which a predicate is true.

    Stability: none is at stake. Rows are those of the filter, whatever is known of them; measuring
    clamps values into the range it is given, and counts rows of the given keys alone.

    Why: a comparison is true of values that are not NULL alone. Ends of whole numbers, dates and
    timestamps are exact; those of doubles are closed, and literals are equal as doubles.

    Edge cases: conditions that no value meets, or one value alone, leave the range as it was: noise
    needs some width. An end on one side alone bounds nothing where there was no range.

    Example:
        >>> scope = {"age": Type(Kind.INTEGER, range=Range(0, 120))}
        >>> adult = Call(Function.GREATER, (Column("age"), Literal(17, Kind.INTEGER)))
        >>> narrowed(scope, adult)["age"].range
        Range(low=18, high=120)
    """
    conditions = conjuncts(predicate)
    told = {name for one in conditions for name in _compared(one)} & columns.keys()
    return {**columns, **{name: _narrower(name, columns[name], conditions) for name in told}}


def _compared(condition: Expression) -> Iterator[str]:
    """The columns that are not NULL where a condition is true."""
    match condition:
        case Call(Function.NOT, (Call(Function.IS_NULL, sides),)):
            pass
        case IsIn(operand):
            sides = (operand,)
        case Call(function, sides) if function in _FLIPPED:
            pass
        case _:
            return
    for side in sides:
        match side:  # what else is compared may be true or false of NULL
            case Column(name) | Call(Function.YEAR, (Column(name),)):
                yield name


def _narrower(name: str, of: Type, conditions: Sequence[Expression]) -> Type:
    """The type of a column of which every condition is true, and which one of them compares."""
    ends = of.range or EVERYTHING
    for one in conditions:
        ends = meet(ends, _span(one, name, of.kind)) or ends
    low, high = ends.low, ends.high
    if of.kind is not Kind.REAL:  # whole numbers, as `settled` reads them
        low = low if math.isinf(low) else math.ceil(low)
        high = high if math.isinf(high) else math.floor(high)
    sized = low < high and (of.range or math.isfinite(high - low))
    keys = _listed(name, of, conditions)
    return Type(of.kind, nullable=False, range=Range(low, high) if sized else of.range, keys=keys)


def _listed(name: str, of: Type, conditions: Sequence[Expression]) -> tuple[Value, ...] | None:
    """The keys that meet the conditions; all of them where none does."""
    if of.keys is None:
        return None
    known = tuple(key for key in of.keys if key is not None)
    kept = known
    for one in conditions:
        match pinned(one), one:
            case (Column(column), values), _ if column == name:
                meets = [[_equal(key, value, of.kind) for value in values] for key in kept]
                kept = tuple(k for k, one in zip(kept, meets, strict=True) if {*one} != {False})
            case _, Call(Function.NOT_EQUAL, (Column(column), Literal(value))) if column == name:
                kept = tuple(key for key in kept if _equal(key, value, of.kind) is not True)
            case _:
                span = _span(one, name, of.kind)
                places = {key: _place(key, of.kind) for key in kept}
                kept = tuple(
                    k for k, at in places.items() if at is None or span.low <= at <= span.high
                )
    return kept or known


def _span(condition: Expression, name: str, kind: Kind) -> Range:
    """The range of a column, by one condition; everything where that says nothing of it."""
    match condition:
        case IsIn(Column(column), values) if column == name:
            places = [_place(one.value, kind) for one in values]
            known = [at for at in places if at is not None]
            return Range(min(known), max(known)) if len(known) == len(places) else EVERYTHING
        case Call(function, (Literal() as left, right)) if function in _FLIPPED:
            return _span(Call(_FLIPPED[function], (right, left)), name, kind)
        case Call(function, (Column(column), Literal(value))) if column == name:
            at = _place(value, kind)
            return EVERYTHING if at is None else _side(function, at, kind)
        case Call(function, (Call(Function.YEAR, (Column(column),)), Literal(int(year)))) if (
            column == name
        ):
            return _years(_side(function, year, Kind.INTEGER), kind)
    return EVERYTHING


def _side(function: Function, at: float, kind: Kind) -> Range:
    """The values that a comparison with a place is true of, in whole steps where there are such."""
    whole = kind is not Kind.REAL
    up, down = (math.ceil(at), math.floor(at)) if whole else (at, at)
    sides = {
        Function.EQUAL: (at, at),
        Function.GREATER: (down + whole, math.inf),
        Function.GREATER_EQUAL: (up, math.inf),
        Function.LESS: (-math.inf, up - whole),
        Function.LESS_EQUAL: (-math.inf, down),
    }
    return Range(*sides.get(function, (-math.inf, math.inf)))


def _years(years: Range, kind: Kind) -> Range:
    """All days or moments of a range of years."""
    first, last = FIRST_TO_LAST[kind].low, FIRST_TO_LAST[kind].high
    if dt.MINYEAR <= years.low <= dt.MAXYEAR:
        first = _place(dt.date(int(years.low), 1, 1), kind) or first
    if dt.MINYEAR <= years.high < dt.MAXYEAR:
        last = (_place(dt.date(int(years.high) + 1, 1, 1), kind) or last) - 1
    return Range(first, last)


def _equal(key: Value, value: Value, kind: Kind) -> bool | None:
    """Whether a key equals a value in every engine; None where that is not sure."""
    if isinstance(key, str) and isinstance(value, str):
        return key == value
    places = _place(key, kind), _place(value, kind)
    return None if None in places else places[0] == places[1]


def _place(value: Value, kind: Kind) -> float | None:
    """Where a value stands among those of a column; None where that is not exact."""
    match value:
        case bool() | str() | None:
            return None
        case int() | float():
            exact = kind.is_number and math.isfinite(value) and abs(value) < _EXACT
            return value if exact else None
        case dt.datetime():
            return position(value) if kind is Kind.TIMESTAMP else None
        case dt.date():
            midnight = dt.datetime.combine(value, dt.time())
            return position(midnight if kind is Kind.TIMESTAMP else value) if kind.is_time else None


def pinned(condition: Expression) -> tuple[Expression, tuple[Value, ...]] | None:
    """The expression that a condition lets have some values alone, and those."""
    match condition:
        case IsIn(operand, values):
            return operand, tuple(one.value for one in values)
        case Call(Function.EQUAL, (operand, Literal(value)) | (Literal(value), operand)):
            return operand, (value,)
    return None
