"""Kinds of values: six kinds, NULL, and the range that public facts allow.

The meaning is ours and the same on every engine:

* BOOLEAN: true or false.
* INTEGER: 64 bits. Arithmetic whose range does not fit 64 bits is REAL instead; nothing overflows.
* REAL: a finite double. NaN and infinity do not exist: a stored one, or one that arithmetic would
  give, is NULL.
* TEXT: Unicode code points, compared by code point.
* DATE: from 0001-01-01 to 9999-12-31. TIMESTAMP: the same with microseconds, no time zone.

Any value may be NULL unless its type says otherwise.
"""

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, TypeAlias

from discreet.errors import InputError

Value: TypeAlias = bool | int | float | str | dt.date | dt.datetime | None
"""A value of a row, as Python holds it."""

INT64 = (-(1 << 63), (1 << 63) - 1)


class Kind(Enum):
    """The six kinds of value."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    REAL = "real"
    TEXT = "text"
    DATE = "date"
    TIMESTAMP = "timestamp"

    __hash__ = object.__hash__  # by identity; that of Enum costs a tenth of planning

    @property
    def is_number(self) -> bool:
        """Whether it can be added up."""
        return self in {Kind.INTEGER, Kind.REAL}

    @property
    def is_time(self) -> bool:
        """Whether it has a year."""
        return self in {Kind.DATE, Kind.TIMESTAMP}

    @property
    def python(self) -> type:
        """The type of its values in Python."""
        return _PYTHON_TYPES[self]

    def holds(self, value: "Value") -> bool:
        """Whether a row can have a value of this kind, unconverted; NULL aside."""
        if not isinstance(value, self.python):
            return False
        match value:
            case bool():
                return self is Kind.BOOLEAN
            case int():
                return INT64[0] <= value <= INT64[1]
            case float():
                return math.isfinite(value)
            case str():
                return not any("\ud800" <= character <= "\udfff" for character in value)
            case dt.datetime():
                return self is Kind.TIMESTAMP and value.tzinfo is None
        return True


PYTHON_KINDS: Final[Mapping[type, Kind]] = {
    bool: Kind.BOOLEAN,
    int: Kind.INTEGER,
    float: Kind.REAL,
    str: Kind.TEXT,
    dt.date: Kind.DATE,
    dt.datetime: Kind.TIMESTAMP,
}
"""Kind of a Python value in a question."""

_PYTHON_TYPES: Final = {kind: of for of, kind in PYTHON_KINDS.items()}


@dataclass(frozen=True, slots=True)
class Range:
    """Every value that is not NULL lies between `low` and `high`, both included.

    Numbers are bounded by numbers; dates by days and timestamps by microseconds since 1970. An
    infinite end bounds nothing on its side; the ranges that `infer` gives have none.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.high:  # NaN is refused as well
            raise InputError(
                f"a range from {self.low} to {self.high}",
                why="its lower end is not below its upper end",
                fix="swap the ends",
            )

    def hull(self, other: "Range") -> "Range":
        """The smallest range that holds both."""
        return Range(min(self.low, other.low), max(self.high, other.high))

    @property
    def width(self) -> float:
        """How far apart two values can be."""
        return self.high - self.low


@dataclass(frozen=True, slots=True)
class Type:
    """The type of a column or an expression: only public facts.

    `range` is None where nothing bounds the values. `keys` lists all values that can be asked for
    as groups, where that list is public.
    """

    kind: Kind
    nullable: bool = True
    range: Range | None = None
    keys: tuple[Value, ...] | None = None

    def may_be_null(self) -> "Type":
        """The same, but NULL is possible, and one of the groups where those are listed."""
        keys = self.keys
        if keys is not None and None not in keys:
            keys = (*keys, None)
        return replace(self, nullable=True, keys=keys)
