"""What an engine's SQL has to say: one short text for each thing the meaning needs.

A dialect knows how its engine writes things, and nothing about types or ranges:
`discreet.sql.render` decides what is needed where. Every text it is given and returns can stand
inside any other.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar

from discreet.plan.expressions import Function, Unit
from discreet.plan.kinds import Kind, Value
from discreet.plan.patterns import Wildcard


class Dialect(ABC):
    """The standard part of SQL, and what engines write in ways of their own."""

    types: ClassVar[Mapping[Kind, str]] = {
        Kind.BOOLEAN: "BOOLEAN",
        Kind.INTEGER: "BIGINT",
        Kind.REAL: "DOUBLE",
        Kind.TEXT: "VARCHAR",
        Kind.DATE: "DATE",
        Kind.TIMESTAMP: "TIMESTAMP",
    }

    def identifier(self, name: str) -> str:
        """A name, whatever characters it has."""
        return '"' + name.replace('"', '""') + '"'

    def text(self, value: str) -> str:
        """A text constant, whatever characters it has."""
        return "'" + value.replace("'", "''") + "'"

    def double(self, value: float) -> str:
        """A double, exactly: the shortest decimal that reads back as itself, with an exponent."""
        digits = repr(float(value))
        digits = digits if "e" in digits else digits + "e0"
        return f"({digits})" if digits.startswith("-") else digits

    def literal(self, value: Value, kind: Kind) -> str:
        """A constant of a kind; NULL too."""
        if value is None:
            return self.cast("NULL", kind)
        match kind:
            case Kind.BOOLEAN:
                return "TRUE" if value else "FALSE"
            case Kind.REAL:
                assert isinstance(value, int | float)  # noqa: S101 - narrowing
                return self.double(value)
            case Kind.TEXT:
                return self.text(str(value))
            case Kind.INTEGER | Kind.DATE | Kind.TIMESTAMP:
                return f"{self.types[kind]} '{value}'"

    def cast(self, text: str, kind: Kind) -> str:
        """A cast that no value fails."""
        return f"CAST({text} AS {self.types[kind]})"

    def as_double(self, text: str) -> str:
        """A whole number as a double."""
        return self.cast(text, Kind.REAL)

    def choose(self, branches: Iterable[tuple[str, str]], otherwise: str | None = None) -> str:
        """CASE: the text beside the first condition that holds; NULL without `otherwise`."""
        arms = " ".join(f"WHEN {condition} THEN {value}" for condition, value in branches)
        return f"CASE {arms} END" if otherwise is None else f"CASE {arms} ELSE {otherwise} END"

    def only_if(self, condition: str, text: str) -> str:
        """A text, NULL where the condition does not hold."""
        return self.choose([(condition, text)])

    def is_one_of(self, text: str, values: Sequence[Value], kind: Kind) -> str:
        """Whether a value is one of some constants; NULL among them means NULL itself."""
        listed = ", ".join(self.literal(value, kind) for value in values if value is not None)
        conditions = [f"{text} IN ({listed})"] if listed else []
        if None in values:
            conditions.append(f"{text} IS NULL")
        return f"({' OR '.join(conditions)})"

    def beginning(self, text: str, count: int) -> str:
        """The first code points of a text; most texts are short, which their bytes tell at once."""

        def body(it: str) -> str:
            return self.choose([(f"{self.bytes(it)} <= {count}", it)], self.substring(it, 1, count))

        return self.let([text], body)

    @abstractmethod
    def let(self, texts: Sequence[str], body: Callable[..., str]) -> str:
        """A body that names each text more than once, without writing long texts more than once."""

    @abstractmethod
    def is_finite(self, text: str) -> str:
        """Whether a double is neither NaN nor infinite; NULL for NULL."""

    @abstractmethod
    def to_integer(self, text: str) -> str:
        """A double as INTEGER, halves to even; NULL where it is none."""

    @abstractmethod
    def whole(self, function: Function, text: str) -> str:
        """FLOOR, CEIL or ROUND (halves away from 0) of a double, a double."""

    @abstractmethod
    def remainder(self, x: str, y: str, *, wide: bool) -> str:
        """The remainder of x by y, which is not 0; `wide` where it can be that of -2^63 by -1."""

    @abstractmethod
    def whole_quotient(self, x: str, y: str, *, wide: bool) -> str:
        """X by y, which is not 0, cut off towards 0; `wide` where it can be -2^63 by -1: NULL."""

    @abstractmethod
    def exact_integer(self, text: str) -> str:
        """A whole number, BIGINT or double, up to 2^64, as an integer wide enough to compare it."""

    @abstractmethod
    def recase(self, function: Function, text: str) -> str:
        """LOWER or UPPER of the letters A-Z alone."""

    @abstractmethod
    def trim(self, function: Function, text: str) -> str:
        """TRIM, LTRIM or RTRIM: without spaces at both ends, or one."""

    @abstractmethod
    def length(self, text: str) -> str:
        """The number of code points."""

    @abstractmethod
    def bytes(self, text: str) -> str:
        """The number of bytes of a text, which is at least that of its code points."""

    @abstractmethod
    def substring(self, text: str, first: int, count: int) -> str:
        """`count` code points from the one at `first`."""

    @abstractmethod
    def right(self, text: str, count: int) -> str:
        """The last `count` code points."""

    @abstractmethod
    def replace(self, text: str, what: str, by: str) -> str:
        """A text with every `what`, which is not empty, replaced."""

    @abstractmethod
    def position(self, text: str, part: str) -> str:
        """Where a text first holds another, in code points from 1; 0 where it does not."""

    @abstractmethod
    def starts_with(self, text: str, beginning: str) -> str:
        """Whether a text begins with another."""

    @abstractmethod
    def ends_with(self, text: str, end: str) -> str:
        """Whether a text ends with another."""

    @abstractmethod
    def like(self, text: str, pattern: Sequence[str | Wildcard]) -> str:
        """Whether a text matches a pattern."""

    @abstractmethod
    def part(self, function: Function, text: str) -> str:
        """A part of a date or timestamp."""

    @abstractmethod
    def truncate(self, unit: Unit, text: str, kind: Kind) -> str:
        """A date or timestamp down to the beginning of a unit."""

    @abstractmethod
    def days_later(self, time: str, operator: str, days: str, kind: Kind) -> str:
        """A date or timestamp and at most 10^7 days; it may leave the calendar."""

    @abstractmethod
    def months_later(self, time: str, months: str, kind: Kind) -> str:
        """A date or timestamp and at most 10^6 months, the day no later than the month has."""

    @abstractmethod
    def seconds_later(self, time: str, seconds: str) -> str:
        """A timestamp and at most 10^12 seconds; it may leave the calendar."""

    @abstractmethod
    def days_between(self, later: str, earlier: str) -> str:
        """The days from one date to another."""

    @abstractmethod
    def parse(self, text: str, kind: Kind) -> str:
        """Text as a number, date or timestamp; NULL where it is none; doubles may be infinite."""

    @abstractmethod
    def stored(self, text: str, physical: str, wanted: Kind) -> tuple[str, Kind, bool]:
        """A stored value as one of our kinds: its text, its kind, and whether it may stray.

        Of the kinds that a type of the engine can be read as, the one nearest to `wanted`. Types
        that are none of ours are refused.
        """
