"""Row expressions: a closed set of nodes, each total.

An expression is a function of one row. It has a value (perhaps NULL) for every row there can be;
none raises. `discreet.plan.typing` gives each its type and range, `discreet.sql` its text for an
engine, and the reference interpreter of the tests its meaning.
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

from discreet.errors import InputError
from discreet.plan.kinds import Kind, Value

if TYPE_CHECKING:
    from collections.abc import Iterable

LARGEST = 1 << 14
"""Parts that an expression may have, once shared ones are written out."""


class Function(Enum):
    """All functions. NULL in any argument gives NULL, except where said otherwise."""

    # Arithmetic. A result that is not a finite number is NULL.
    ADD = "+"  # also date or timestamp + days; outside the calendar: NULL
    SUBTRACT = "-"  # also date or timestamp - days, and date - date in days
    MULTIPLY = "*"
    DIVIDE = "/"  # always REAL; by zero: NULL
    MODULO = "%"  # INTEGER; the sign of the dividend; by zero: NULL
    QUOTIENT = "//"  # INTEGER, cut off towards 0; by zero, or beyond 64 bits: NULL
    NEGATE = "negate"
    ABS = "abs"
    SIGN = "sign"  # INTEGER: -1, 0 or 1
    FLOOR = "floor"  # INTEGER where it fits, else REAL
    CEIL = "ceil"  # likewise
    ROUND = "round"  # likewise; to the nearest whole number, halves away from 0
    SQRT = "sqrt"  # of a negative number: NULL
    EXP = "exp"  # the last bit is that of the engine's mathematical library
    LN = "ln"  # likewise; of a number <= 0: NULL
    LOG10 = "log10"  # likewise
    LOG2 = "log2"  # likewise
    LEAST = "least"  # the smallest argument that is not NULL; NULL if all are
    GREATEST = "greatest"  # the largest argument that is not NULL; NULL if all are

    # Comparison: BOOLEAN. INTEGER and REAL compare as numbers, DATE as TIMESTAMP at midnight.
    EQUAL = "="
    NOT_EQUAL = "<>"
    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="
    IS_NULL = "is null"  # never NULL

    # Logic, three-valued as in SQL.
    AND = "and"
    OR = "or"
    NOT = "not"

    # NULL.
    COALESCE = "coalesce"  # the first argument that is not NULL
    NULL_IF = "nullif"  # NULL where both are equal, else the first

    # Text. LOWER and UPPER change the letters A-Z alone. TRIM takes spaces off both ends, LTRIM and
    # RTRIM off one.
    LOWER = "lower"
    UPPER = "upper"
    TRIM = "trim"
    LTRIM = "ltrim"
    RTRIM = "rtrim"
    LENGTH = "length"  # INTEGER: code points
    CONCAT = "||"  # of more than 16384 code points: NULL, so that doubling texts ends
    SUBSTRING = "substring"  # text, first (from 1), count; first >= 1 and count >= 0 are literals
    RIGHT = "right"  # text, count: the last code points; count >= 0 is a literal
    REPLACE = "replace"  # text, what, by: literals, `what` not empty; too long as for CONCAT: NULL
    POSITION = "strpos"  # INTEGER: the first place of a text in another, from 1; 0 where it is not
    EXTRACT = "regexp_extract"  # text, pattern, group: literals; of the first match, or empty
    SPLIT_PART = "split_part"  # text, mark, place: literals; the part before that mark, or empty
    STARTS_WITH = "starts_with"
    ENDS_WITH = "ends_with"

    # Dates and timestamps: INTEGER.
    YEAR = "year"
    QUARTER = "quarter"
    MONTH = "month"
    DAY = "day"
    HOUR = "hour"
    MINUTE = "minute"
    SECOND = "second"  # whole ones
    MICROSECOND = "microsecond"  # since the beginning of the minute
    WEEK = "week"  # of ISO 8601: 1 to 53; week 1 holds the first Thursday of the year
    WEEKDAY = "isodow"  # Monday is 1, Sunday is 7
    YEARDAY = "doy"

    # Later or earlier dates and timestamps; outside the calendar: NULL.
    ADD_MONTHS = "add_months"  # the same day of another month, or its last day; the kind stays
    ADD_SECONDS = "add_seconds"  # of a TIMESTAMP

    # Bins: value, low, high, count -> INTEGER 0 (below low) to count + 1 (high or above), between
    # 1 + floor((value - low) / (high - low) * count) in doubles, at most count; the three limits
    # are literals, low < high, count >= 1.
    BUCKET = "width_bucket"


COMPARISONS: Final = (
    *(Function.EQUAL, Function.NOT_EQUAL, Function.LESS, Function.LESS_EQUAL),
    *(Function.GREATER, Function.GREATER_EQUAL),
)
MIRRORED: Final = dict(
    zip(COMPARISONS, (*COMPARISONS[:2], *COMPARISONS[4:], *COMPARISONS[2:4]), strict=True)
)
"""Comparisons with their sides exchanged."""


class Unit(Enum):
    """Units that a date or timestamp can be truncated to; the kind stays. Weeks begin on Monday."""

    YEAR = "year"
    QUARTER = "quarter"
    MONTH = "month"
    WEEK = "week"
    DAY = "day"
    HOUR = "hour"  # of a DATE: the date itself
    MINUTE = "minute"  # likewise


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant; `kind` is needed for NULL, which has no kind of its own."""

    size: ClassVar[int] = 1
    value: Value
    kind: Kind


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the relation below."""

    size: ClassVar[int] = 1
    name: str


@dataclass(frozen=True, slots=True)
class _Compound:
    """An expression of expressions; `size` counts the parts, a shared one wherever it stands."""

    size: int = field(init=False, repr=False, compare=False)

    def _settle(self, parts: "Iterable[Expression]") -> None:
        size = 1 + sum(part.size for part in parts)
        if size > LARGEST:
            raise InputError(
                f"an expression has more than {LARGEST} parts",
                why="it would take an engine too long to plan",
                fix="compute parts of it in a subquery",
            )
        object.__setattr__(self, "size", size)


@dataclass(frozen=True, slots=True)
class Call(_Compound):
    """A function of expressions."""

    function: Function
    arguments: "tuple[Expression, ...]"

    def __post_init__(self) -> None:
        self._settle(self.arguments)


@dataclass(frozen=True, slots=True)
class Case(_Compound):
    """The value beside the first condition that is true; else `otherwise`."""

    branches: "tuple[tuple[Expression, Expression], ...]"
    otherwise: "Expression"

    def __post_init__(self) -> None:
        self._settle([*(part for branch in self.branches for part in branch), self.otherwise])


@dataclass(frozen=True, slots=True)
class Cast(_Compound):
    """A value as another kind; NULL where it has none.

    REAL to INTEGER rounds halves to even. TEXT to INTEGER or REAL takes an optional sign, digits,
    (for REAL) a point and an exponent, nothing around them. TEXT to DATE takes YYYY-MM-DD, to
    TIMESTAMP a time HH:MM:SS after it, with up to six digits of a fraction. INTEGER, BOOLEAN and
    DATE become TEXT; REAL does not, since engines print it differently.
    """

    operand: "Expression"
    kind: Kind

    def __post_init__(self) -> None:
        self._settle((self.operand,))


@dataclass(frozen=True, slots=True)
class IsIn(_Compound):
    """Whether a value is one of some literals; NULL for NULL."""

    operand: "Expression"
    values: tuple[Literal, ...]

    def __post_init__(self) -> None:
        self._settle((self.operand,))


@dataclass(frozen=True, slots=True)
class Like(_Compound):
    """Whether a text matches a pattern: % is any text, _ any code point.

    After `escape`, both (and `escape` itself) are plain.
    """

    operand: "Expression"
    pattern: str
    escape: str | None = None

    def __post_init__(self) -> None:
        self._settle((self.operand,))


@dataclass(frozen=True, slots=True)
class Truncate(_Compound):
    """A date or timestamp down to the beginning of its year, month, ..."""

    operand: "Expression"
    unit: Unit

    def __post_init__(self) -> None:
        self._settle((self.operand,))


Expression: TypeAlias = Literal | Column | Call | Case | Cast | IsIn | Like | Truncate
