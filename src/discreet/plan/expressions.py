"""Row expressions: a closed set of nodes, each total.

An expression is a function of one row. It has a value (perhaps NULL) for every row there can be;
none raises. `discreet.plan.typing` gives each its type and range, `discreet.sql` its text for an
engine, and the reference interpreter of the tests its meaning.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache, wraps
from operator import attrgetter
from types import MappingProxyType
from typing import Any, ClassVar, Final, TypeAlias, TypeVar, assert_never, cast

from discreet.errors import InputError
from discreet.plan.kinds import PYTHON_KINDS, Kind, Value

LARGEST = 1 << 14
"""Parts that an expression may have, once shared ones are written out."""


class Function(Enum):
    """All functions. NULL in any argument gives NULL, except where said otherwise."""

    __hash__ = object.__hash__  # as of `Kind`

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


def call(function: Function, *arguments: "Operand") -> "Call":
    """A function of expressions and of constants, which stand for themselves."""
    parts = (
        Literal(one, PYTHON_KINDS[type(one)]) if isinstance(one, bool | int | float | str) else one
        for one in arguments
    )
    return Call(function, tuple(parts))


def chain(function: Function, parts: "Sequence[Expression]") -> "Expression":
    """AND, OR or CONCAT of parts; a part alone is itself."""
    return parts[0] if len(parts) == 1 else Call(function, tuple(parts))


def _binary(function: Function) -> "Callable[[Any, Operand], Call]":
    return lambda self, other: call(function, self, other)


def _product(self: Any, other: float) -> "Call":
    return call(Function.MULTIPLY, other, self)


class _Operators:
    """Python's operators make calls; == still tells whether two expressions are the same."""

    __slots__ = ()

    __add__ = _binary(Function.ADD)
    __sub__ = _binary(Function.SUBTRACT)
    __mul__ = _binary(Function.MULTIPLY)
    __rmul__ = _product
    __truediv__ = _binary(Function.DIVIDE)
    __floordiv__ = _binary(Function.QUOTIENT)
    __mod__ = _binary(Function.MODULO)
    __lt__ = _binary(Function.LESS)
    __ge__ = _binary(Function.GREATER_EQUAL)
    __gt__ = _binary(Function.GREATER)
    __and__ = _binary(Function.AND)
    __or__ = _binary(Function.OR)
    equals = _binary(Function.EQUAL)

    def __invert__(self: Any) -> "Call":
        return Call(Function.NOT, (self,))

    def is_null(self: Any) -> "Call":
        """Whether it is NULL."""
        return Call(Function.IS_NULL, (self,))


@dataclass(frozen=True, slots=True)
class Literal(_Operators):
    """A constant; NULL needs `kind`, because it has none itself."""

    size: ClassVar[int] = 1
    value: Value
    kind: Kind


@dataclass(frozen=True, slots=True)
class Column(_Operators):
    """A column of the relation below."""

    size: ClassVar[int] = 1
    name: str


@dataclass(frozen=True, slots=True)
class _Compound(_Operators):
    """An expression of expressions; `size` counts the parts, a shared one at each of its places."""

    size: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        size = 1 + sum(part.size for part in parts_of(cast("Expression", self)))
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


@dataclass(frozen=True, slots=True)
class Case(_Compound):
    """The value beside the first condition that is true; else `otherwise`."""

    branches: "tuple[tuple[Expression, Expression], ...]"
    otherwise: "Expression"


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


@dataclass(frozen=True, slots=True)
class IsIn(_Compound):
    """Whether a value is one of some literals; NULL for NULL."""

    operand: "Expression"
    values: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Like(_Compound):
    """Whether a text matches a pattern: % is any text, _ any code point.

    After `escape`, both (and `escape` itself) are plain.
    """

    operand: "Expression"
    pattern: str
    escape: str | None = None


@dataclass(frozen=True, slots=True)
class Truncate(_Compound):
    """A date or timestamp down to the beginning of its year, month, ..."""

    operand: "Expression"
    unit: Unit


Expression: TypeAlias = Literal | Column | Call | Case | Cast | IsIn | Like | Truncate
Operand: TypeAlias = Expression | float | str
"""An expression, or a constant that stands for itself."""


def parts_of(expression: Expression) -> tuple[Expression, ...]:
    """The expressions directly inside one, in order."""
    match expression:
        case Literal() | Column():
            return ()
        case Call(_, arguments):
            return arguments
        case Case(branches, otherwise):
            return (*(part for branch in branches for part in branch), otherwise)
        case Cast(operand, _) | IsIn(operand, _) | Like(operand, _, _) | Truncate(operand, _):
            return (operand,)
        case _:
            assert_never(expression)


def nested(expression: Expression) -> "Iterator[Expression]":
    """An expression and all parts of it."""
    yield expression
    for part in parts_of(expression):
        yield from nested(part)


def mapped(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """The same expression of changed parts: those that `parts_of` lists."""
    match expression:
        case Literal() | Column():
            return expression
        case Call(function, arguments):
            return Call(function, tuple(map(change, arguments)))
        case Case(branches, otherwise):
            return Case(tuple((change(c), change(v)) for c, v in branches), change(otherwise))
        case _:
            return replace(expression, operand=change(expression.operand))


def mentions(expression: Expression) -> set[str]:
    """The columns that an expression is computed from."""
    return (
        {expression.name} if isinstance(expression, Column) else all_mentioned(parts_of(expression))
    )


def all_mentioned(expressions: Iterable[Expression]) -> set[str]:
    """The columns that some expressions are computed from."""
    return {name for expression in expressions for name in mentions(expression)}


def conjuncts(where: Expression | None) -> list[Expression]:
    """The conditions that all have to hold."""
    match where:
        case None:
            return []
        case Call(Function.AND, parts):
            return [one for part in parts for one in conjuncts(part)]
    return [where]


# --- functions that remember what they said about the very same value -----------------------------
# Planning asks the same of one question many times: its types, its statistics, its text. Values are
# told apart by identity. To compare large ones part by part would take as long as to compute, and
# would take 0.0 for -0.0.

SIZE: Final = attrgetter("size")
"""How many parts an expression or a question has."""

F = TypeVar("F", bound=Callable[..., Any])


class _Same:
    """A value by its identity."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value) >> 4  # addresses are multiples of 16

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value


def remember(most: int, size: Callable[[Any], int] | None = None) -> Callable[[F], F]:
    """Remember the newest `most` results of a pure function of a frozen value; few of large ones.

    What it is remembered for is kept alive, so no other value can have its identity. Errors are not
    remembered. Further arguments are passed by position. They are hashable and compared by value;
    mappings, which are not, by their identity.

    Example:
        >>> @remember(8)
        ... def length(values, extra):
        ...     print("counting")
        ...     return len(values) + extra
        >>> values = (1, 2)
        >>> length(values, 1), length(values, 1)
        counting
        (3, 3)
    """

    def wrap(function: F) -> F:
        def compute(same: _Same, *rest: Any) -> Any:
            if _SAME.isdisjoint(map(type, rest)):
                return function(same.value, *rest)
            return function(
                same.value, *(one.value if isinstance(one, _Same) else one for one in rest)
            )

        small, large = lru_cache(most)(compute), lru_cache(_FEW)(compute)

        @wraps(function)
        def call(value: Any, *rest: Any) -> Any:
            cached = small if size is None or size(value) < _LARGE else large
            if _MAPPINGS.isdisjoint(map(type, rest)):
                return cached(_Same(value), *rest)
            return cached(_Same(value), *(_Same(r) if type(r) in _MAPPINGS else r for r in rest))

        return cast("F", call)

    return wrap


_SAME: Final = frozenset({_Same})
_MAPPINGS: Final = frozenset({dict, MappingProxyType})
_LARGE: Final = 500
_FEW: Final = 32
"""Values of `_LARGE` parts or more that are remembered: they take megabytes."""
