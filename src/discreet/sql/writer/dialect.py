"""The dialect interface: an engine's SQL for each operation of the plan.

A dialect knows how its engine writes things, and nothing about types or ranges:
`discreet.sql.writer.render` decides what is needed where. Every text that it receives and returns
can be nested in any other. What is written here is standard SQL; an engine that has another way, or
a faster one, overrides it. `discreet.engines.check_engine` checks a dialect.

Beside what a dialect writes, statements are made of: SELECT with names, GROUP BY and ORDER BY of
places, [LEFT] JOIN ... ON and USING, WITH, UNION ALL, CASE, COALESCE, IN, BETWEEN, LEAST and
GREATEST that pass over NULL, COUNT, MIN, MAX, BOOL_OR, FILTER, and + - * of 64-bit integers.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar

from discreet.plan.expressions import Expression, Function, Unit
from discreet.plan.kinds import INT64, Kind, Type, Value
from discreet.plan.patterns import Pattern
from discreet.plan.texts import Wildcard
from discreet.sql.writer.render import render


class Dialect(ABC):
    """The standard part of SQL, and what engines write in ways of their own."""

    longest: ClassVar[int]
    """Places and counts in texts are held to this, which no text reaches: engines fail beyond."""

    short: ClassVar[int]
    """Characters of texts that are cheaper to write twice than to name, about."""

    keeps_in_tables: ClassVar[bool] = False
    """Whether a session writes what it keeps to a table: more work than a small question is."""

    types: ClassVar[Mapping[Kind, str]] = {
        Kind.BOOLEAN: "BOOLEAN",
        Kind.INTEGER: "BIGINT",
        Kind.REAL: "DOUBLE",
        Kind.TEXT: "VARCHAR",
        Kind.DATE: "DATE",
        Kind.TIMESTAMP: "TIMESTAMP",
    }

    def render(self, expression: Expression, columns: Mapping[str, Type], prefix: str = "") -> str:
        """An expression over columns of these types, of the table or alias `prefix`."""
        return render(expression, columns, self, prefix)

    # --- names, constants and choices -------------------------------------------------------------

    def identifier(self, name: str) -> str:
        """A name with any characters."""
        return '"' + name.replace('"', '""') + '"'

    def text(self, value: str) -> str:
        """A text constant with any characters."""
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

    def cast(self, text: str, kind: Kind, source: Kind | None = None) -> str:
        """A cast that no value fails; of NULL, a number or a date to text where no source is told.

        From BOOLEAN to a number or text, between INTEGER, REAL and BOOLEAN, between times, and from
        INTEGER and DATE to text, which are digits and year-month-day.
        """
        del source
        return f"CAST({text} AS {self.types[kind]})"

    def as_double(self, text: str) -> str:
        """A whole number as a double."""
        return self.cast(text, Kind.REAL)

    def choose(self, branches: Iterable[tuple[str, str]], otherwise: str | None = None) -> str:
        """CASE: the text of the first condition that holds; NULL without `otherwise`."""
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

    def let(self, texts: Sequence[str], body: Callable[..., str]) -> str:
        """A body that names each text more than once: short ones are written again."""
        short = sum(map(len, texts)) <= self.short
        return body(*texts) if short else self.bind(texts, body)

    @abstractmethod
    def bind(self, texts: Sequence[str], body: Callable[..., str]) -> str:
        """A body that names each text more than once, where each is computed once."""

    # --- rows -------------------------------------------------------------------------------------

    def located(self, place: str, table: str) -> str:
        """The engine's name of a table at a place: as it is stored, or as questions read it."""
        return f"{place}.{self.identifier(table)}"

    def same(self, x: str, y: str) -> str:
        """Whether two values are equal, NULL to NULL."""
        return f"{x} IS NOT DISTINCT FROM {y}"

    def matching(self, rows: str, others: str, condition: str, *, some: bool = True) -> str:
        """The rows for which some of the others (or none) meet a condition; stands after FROM.

        Both are a source and its name, such as "(SELECT 1) AS r"; rows keep theirs.
        """
        test = "EXISTS" if some else "NOT EXISTS"
        found = f"{test} (SELECT 1 FROM {others} WHERE {condition})"
        return f"(SELECT * FROM {rows} WHERE {found}) AS {rows.rsplit(' ', 1)[1]}"

    def named(self, name: str, select: str, *, once: bool) -> str:
        """A part of WITH; computed `once`, or again wherever it is read."""
        return f"{name} AS {'' if once else 'NOT '}MATERIALIZED ({select})"

    def apart(self, select: str) -> str:
        """A subquery whose columns are computed once a row, however often they are read."""
        return f"({select})"

    def first(self, each: str, columns: Sequence[str], of: str, order: str, most: int) -> str:
        """The first `count` rows of each value of the column `of`, in an order."""
        turn = "turn" + "_" * max(map(len, columns))  # longer than every other name
        turned = f"ROW_NUMBER() OVER (PARTITION BY {of} ORDER BY {order}) AS {turn}"
        rows = f"(SELECT *, {turned} FROM ({each}) AS e) AS e"
        return f"SELECT {', '.join(columns)} FROM {rows} WHERE {turn} <= {most}"

    def histogram(self, column: str, limits: list[int], table: str) -> str:
        """Buckets and people: how many values, none NULL, first fit each of some rising limits.

        One bucket more takes the rest; empty buckets are left out.
        """
        fits = [(f"{column} <= {limit}", str(i)) for i, limit in enumerate(limits)]
        bucket = self.choose(fits, str(len(limits)))
        return f"SELECT {bucket} AS bucket, COUNT(*) AS people FROM {table} GROUP BY 1"

    # --- whole numbers and hashes -----------------------------------------------------------------

    @abstractmethod
    def wide(self, text: str, kind: Kind = Kind.INTEGER) -> str:
        """A whole number of up to 2^64, INTEGER or REAL, as an integer of 128 bits or more."""

    def sum(self, text: str, where: str = "", *, wide: bool = False) -> str:
        """The sum of integers of 64 bits, or `wide` ones, wide; `where` is nothing or a FILTER."""
        del wide  # sums of 64 bits are wide in most engines
        return f"SUM({text}){where}"

    def extreme(self, which: str, text: str, kind: Kind, where: str = "") -> str:
        """The MIN or MAX of values of a kind; `where` is nothing or a FILTER."""
        del kind
        return f"{which.upper()}({text}){where}"

    @abstractmethod
    def bits(self, text: str) -> str:
        """The 64 bits of a double (IEEE 754) as an INTEGER, the highest being the sign."""

    @abstractmethod
    def microseconds(self, text: str) -> str:
        """The microseconds from 1970 to a timestamp, as an INTEGER."""

    @abstractmethod
    def hash(self, texts: Sequence[str]) -> str:
        """The MD5 of texts, one after the other in UTF-8, as lower-case hexadecimal digits.

        They are compared by code point.
        """

    def encoded(self, text: str, kind: Kind) -> str:
        """A value as a text that is the same on every engine; equal values have the same.

        0 and -0 are equal. Doubles are their bits and timestamps their microseconds, since engines
        write them in different ways; of others there is one way.
        """
        match kind:
            case Kind.TEXT:
                return text
            case Kind.REAL | Kind.TIMESTAMP:
                return self.cast(self.ordinal(text, kind), Kind.TEXT, Kind.INTEGER)
        return self.cast(text, Kind.TEXT, kind)

    def ordinal(self, text: str, kind: Kind) -> str:
        """A double or timestamp as an INTEGER, and any other value as it is; equal ones alike."""
        if kind is Kind.TIMESTAMP:
            return self.microseconds(text)
        if kind is not Kind.REAL:
            return text
        zero = self.literal(0, Kind.INTEGER)
        return self.let([text], lambda it: self.choose([(f"{it} = 0", zero)], self.bits(it)))

    def keyed_hash(self, key: str, values: Sequence[str]) -> str:
        """A hash of encoded values under a key; no two rows that differ are hashed as one.

        Each value follows its length in bytes and precedes the next one's separator; NULL is
        nothing at all.
        """
        parts = [self.text(key)]
        for value in values:
            size = self.cast(self.bytes(value), Kind.TEXT)
            parts += [f"COALESCE({size} || ':' || {value}, '')", "chr(31)"]
        return self.hash(parts[:-1])

    # --- doubles ----------------------------------------------------------------------------------

    def real(self, function: Function, *operands: str) -> str:
        """+ - * / of doubles, or SQRT, EXP, LN, LOG10 or LOG2 of one, which fails on none.

        If the result is not a finite double it is NaN, infinite or NULL; results too small for one
        are 0 or denormal, as in IEEE 754.
        """
        if len(operands) == 1:
            return f"{function.value}({operands[0]})"
        return f"({operands[0]} {function.value} {operands[1]})"

    def scaled(self, text: str, start: float, factor: float) -> str:
        """(text - start) * factor of doubles, where it lies between -2^63 and 2^63."""
        away = self.real(Function.SUBTRACT, text, self.double(start))
        return self.real(Function.MULTIPLY, away, self.double(factor))

    @abstractmethod
    def is_finite(self, text: str) -> str:
        """Whether a double is neither NaN nor infinite; NULL for NULL."""

    def to_integer(self, text: str) -> str:
        """A double as INTEGER, halves to even; NULL where it is none."""
        low, high = self.double(-(2.0**63)), self.double(2.0**63)
        return self.let(
            [text], lambda it: self.only_if(f"{it} >= {low} AND {it} < {high}", self.nearest(it))
        )

    @abstractmethod
    def nearest(self, text: str) -> str:
        """A double between -2^63 and 2^63 as INTEGER, halves to even."""

    @abstractmethod
    def whole(self, function: Function, text: str) -> str:
        """FLOOR, CEIL or ROUND (halves away from 0) of a double, a double."""

    def rint(self, text: str) -> str:
        """A double between -2^51 and 2^51 as the nearest whole number, halves to even, a double."""
        return self.as_double(self.nearest(text))

    def towards_zero(self, text: str) -> str:
        """A double cut off to a whole number, a double."""
        down, up = self.whole(Function.FLOOR, text), self.whole(Function.CEIL, text)
        return self.choose([(f"{text} >= 0", down)], up)

    @abstractmethod
    def remainder(self, x: str, y: str, *, wide: bool) -> str:
        """The remainder of x by y, which is not 0; `wide` where it can be that of -2^63 by -1."""

    @abstractmethod
    def whole_quotient(self, x: str, y: str, *, wide: bool) -> str:
        """X by y, which is not 0, cut off towards 0; `wide` where it can be -2^63 by -1: NULL."""

    # --- texts ------------------------------------------------------------------------------------

    @abstractmethod
    def recase(self, function: Function, text: str) -> str:
        """LOWER or UPPER of the letters A-Z alone."""

    @abstractmethod
    def trim(self, function: Function, text: str) -> str:
        """TRIM, LTRIM or RTRIM: without spaces at both ends, or one."""

    def length(self, text: str) -> str:
        """The number of code points."""
        return f"CAST(char_length({text}) AS BIGINT)"

    def bytes(self, text: str) -> str:
        """The number of bytes of a text, which is at least that of its code points."""
        return f"octet_length({text})"

    def substring(self, text: str, first: int, count: int) -> str:
        """`count` code points from the one at `first`."""
        return f"substring({text}, {min(first, self.longest)}, {min(count, self.longest)})"

    def right(self, text: str, count: int) -> str:
        """The last `count` code points."""
        return f"right({text}, {min(count, self.longest)})"

    def replace(self, text: str, what: str, by: str) -> str:
        """A text with every `what`, which is not empty, replaced, from left to right."""
        return f"replace({text}, {self.text(what)}, {self.text(by)})"

    def split_part(self, text: str, mark: str, place: int) -> str:
        """The part of a text before its `place`-th mark, which is not empty; '' if it has none."""
        return f"split_part({text}, {self.text(mark)}, {place})"

    def extract(self, text: str, pattern: Pattern) -> str:
        """The group of the first match of a pattern; '' if there is none."""
        return f"regexp_extract({text}, {self.text(pattern.write('$'))}, 1)"

    @abstractmethod
    def position(self, text: str, part: str) -> str:
        """The first position of one text in another, in code points from 1; 0 if absent."""

    def starts_with(self, text: str, beginning: str) -> str:
        """Whether a text begins with another."""
        return f"starts_with({text}, {beginning})"

    @abstractmethod
    def ends_with(self, text: str, end: str) -> str:
        """Whether a text ends with another."""

    def like(self, text: str, pattern: Sequence[str | Wildcard]) -> str:
        """Whether a text matches a pattern; plain %, _ and backslash are escaped by a backslash."""
        special = {"%": r"\%", "_": r"\_", "\\": r"\\"}
        escaped = "".join(
            t.value if isinstance(t, Wildcard) else special.get(t, t) for t in pattern
        )
        return f"({text} LIKE {self.text(escaped)} ESCAPE {self.text(chr(92))})"

    # --- times ------------------------------------------------------------------------------------

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

    # --- reading ----------------------------------------------------------------------------------

    @abstractmethod
    def parse(self, text: str, kind: Kind) -> str:
        """Text as a number, date or timestamp; NULL where it is none; doubles may be infinite."""

    @abstractmethod
    def stored(self, text: str, physical: str, wanted: Kind) -> tuple[str, Kind, bool]:
        """A stored value as one of our kinds: its text, its kind, and whether it may stray.

        Of the kinds that a type of the engine can be read as, the one nearest to `wanted`.
        Unsupported types are refused.
        """


def form(template: str) -> Callable[..., str]:
    """An operation that only places its operands, such as `towards_zero` in "trunc({})".

    Operands and flags that the template does not place make no difference to this engine.
    """

    def write(_dialect: Dialect, *operands: object, **_flags: object) -> str:
        return template.format(*operands)

    return write


SCHEMAS = ("stored", "data")
"""Where engines keep rows as they came, and views of them; nothing else has these two places.

What a question makes for itself lies elsewhere, so that no table's name is taken.
"""


def stored_name(table: str, dialect: Dialect) -> str:
    """The engine's name of the stored rows behind a table."""
    return dialect.located(SCHEMAS[0], table)


def view_name(table: str, dialect: Dialect) -> str:
    """The engine's name of a table that questions read."""
    return dialect.located(SCHEMAS[1], table)


def saturated(text: str, dialect: Dialect) -> str:
    """A wide sum in 64 bits; what does not fit stays at the end."""
    low, high = INT64
    inside = dialect.let([text], lambda it: clamped(it, low, high, dialect))
    return dialect.cast(inside, Kind.INTEGER)


def clamped(text: str, low: int, high: int, dialect: Dialect) -> str:
    """A whole number, no lower than `low` and no higher than `high`; NULL for NULL."""
    bottom, top = (dialect.literal(end, Kind.INTEGER) for end in (low, high))
    inside = f"{text} BETWEEN {bottom} AND {top}"  # first, where it is fastest
    return dialect.choose(
        [(inside, text), (f"{text} > {top}", top), (f"{text} < {bottom}", bottom)]
    )
