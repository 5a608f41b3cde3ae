"""Types of casts: which kinds become which, and what happens to ranges and keys."""

import datetime as dt
from collections.abc import Callable

from discreet.errors import InputError
from discreet.plan import intervals
from discreet.plan.calendar import DAY
from discreet.plan.keylists import few, mapped, truth
from discreet.plan.kinds import Kind, Range, Type, Value
from discreet.plan.numeric import ResultType, as_kind, declared, fits, reach, stated


def cast_type(of: Type, kind: Kind) -> ResultType:
    """The type of a value as another kind; casts that have no single meaning are refused.

    Example:
        >>> cast_type(Type(Kind.REAL, nullable=False, range=Range(0, 9.5)), Kind.INTEGER).type.range
        Range(low=0, high=10)
    """
    if of.kind is kind:
        return ResultType(of)
    if (of.kind, kind) not in CASTS:
        raise InputError(
            f"a cast of {of.kind.value} to {kind.value}",
            why="it has no one meaning on all engines",
            fix=_ADVICE.get(
                (of.kind, kind), "compare the value with something, or leave it as it is"
            ),
        )
    return CASTS[of.kind, kind](of)


def _boolean_to_integer(of: Type) -> ResultType:
    keys = (0, 1, None) if of.nullable else (0, 1)
    return ResultType(Type(Kind.INTEGER, of.nullable, Range(0, 1), keys))


def _real_to_integer(of: Type) -> ResultType:
    strays = not fits(intervals.whole(round, reach(of)), Kind.INTEGER)
    bounds = stated(intervals.whole(round, declared(of)), Kind.INTEGER)
    nullable = of.nullable or strays
    keys = few(bounds, Kind.INTEGER, nullable=nullable)
    return ResultType(Type(Kind.INTEGER, nullable, bounds, keys), strays)


def _timestamp_to_date(of: Type) -> ResultType:
    bounds = stated(intervals.whole(lambda at: int(at) // DAY, declared(of)), Kind.DATE)
    keys = mapped(of, dt.datetime.date, nullable=of.nullable)
    keys = few(bounds, Kind.DATE, nullable=of.nullable) if keys is None else keys
    return ResultType(Type(Kind.DATE, of.nullable, bounds, keys))


def _to_text(of: Type) -> ResultType:
    def text(value: Value) -> Value:
        return str(value).lower() if isinstance(value, bool) else str(value)

    return ResultType(Type(Kind.TEXT, of.nullable, keys=mapped(of, text, nullable=of.nullable)))


def _widened(kind: Kind) -> Callable[[Type], ResultType]:
    return lambda of: ResultType(as_kind(of, kind))


def _parsed(kind: Kind) -> Callable[[Type], ResultType]:
    return lambda _: ResultType(Type(kind), strays=True)


CASTS: dict[tuple[Kind, Kind], Callable[[Type], ResultType]] = {
    (Kind.BOOLEAN, Kind.INTEGER): _boolean_to_integer,
    (Kind.BOOLEAN, Kind.REAL): lambda of: _widened(Kind.REAL)(_boolean_to_integer(of).type),
    (Kind.BOOLEAN, Kind.TEXT): _to_text,
    (Kind.INTEGER, Kind.BOOLEAN): lambda of: ResultType(truth(nullable=of.nullable)),
    (Kind.INTEGER, Kind.REAL): _widened(Kind.REAL),
    (Kind.INTEGER, Kind.TEXT): _to_text,
    (Kind.REAL, Kind.INTEGER): _real_to_integer,
    (Kind.TEXT, Kind.INTEGER): _parsed(Kind.INTEGER),
    (Kind.TEXT, Kind.REAL): _parsed(Kind.REAL),
    (Kind.TEXT, Kind.DATE): _parsed(Kind.DATE),
    (Kind.TEXT, Kind.TIMESTAMP): _parsed(Kind.TIMESTAMP),
    (Kind.DATE, Kind.TEXT): _to_text,
    (Kind.DATE, Kind.TIMESTAMP): _widened(Kind.TIMESTAMP),
    (Kind.TIMESTAMP, Kind.DATE): _timestamp_to_date,
}
_ADVICE = {
    (Kind.REAL, Kind.TEXT): "round it to INTEGER first, since engines print fractions differently",
    (Kind.TIMESTAMP, Kind.TEXT): "cast it to DATE first",
    (Kind.TEXT, Kind.BOOLEAN): "compare the text with the words that mean true",
    (Kind.REAL, Kind.BOOLEAN): "compare the number with 0",
}
