"""The Postgres dialect, without user-defined functions or tables: a reader may create none.

Facts it rests on, each checked by the tests: CASE computes only the branch it takes; LEAST and
GREATEST pass over NULL; arrays of NULL are equal; SUM of 64-bit integers is a NUMERIC, which does
not overflow; COLLATE "C" compares by code point where the database is in UTF-8.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import ClassVar

from discreet.engines.postgres_arithmetic import (
    INFINITE,
    REAL,
    double,
    guarded,
    out_of_reach,
    scaled,
)
from discreet.engines.stored_types import DAY, GRAMMAR, MOMENT, POSTGRES
from discreet.errors import QueryRefused
from discreet.plan.expressions import Function, Unit
from discreet.plan.kinds import INT64, Kind
from discreet.plan.patterns import Pattern
from discreet.sql.writer.dialect import Dialect, form

_LONGEST_NAME = 63  # bytes, after which the engine cuts names
_PARTS = {Function.WEEKDAY: "isodow", Function.YEARDAY: "doy"}


class PostgresDialect(Dialect):
    """Postgres 14 or later."""

    longest: ClassVar = (1 << 31) - 1
    short = 150
    types: ClassVar = {
        Kind.BOOLEAN: "BOOLEAN",
        Kind.INTEGER: "BIGINT",
        Kind.REAL: REAL,
        Kind.TEXT: "TEXT",
        Kind.DATE: "DATE",
        Kind.TIMESTAMP: "TIMESTAMP",
    }

    double = staticmethod(double)
    same = form("ARRAY[{}] = ARRAY[{}]")  # IS NOT DISTINCT FROM joins in the square of the rows
    bits = form("CAST(CAST('x' || encode(float8send({}), 'hex') AS BIT(64)) AS BIGINT)")
    microseconds = form("CAST(extract(epoch FROM {}) * 1000000 AS BIGINT)")  # of an exact NUMERIC
    apart = form("({} OFFSET 0)")  # others are merged into what reads them, and texts grow
    nearest = form("CAST({} AS BIGINT)")  # halves to even
    towards_zero = form("trunc({})")
    remainder = form("({} % {})")  # by -1 it is 0 without dividing
    recase = form('{0.value}({1} COLLATE "C")')  # where letters are A-Z
    position = form("CAST(strpos({}, {}) AS BIGINT)")
    days_between = form("CAST({} - {} AS BIGINT)")
    stored = staticmethod(POSTGRES.read)

    def identifier(self, name: str) -> str:
        """Names that would be cut get a digest in place of their end."""
        if len(name.encode()) > _LONGEST_NAME:
            name = f"{name[:5]}{hashlib.sha256(name.encode()).hexdigest()[:32]}"
        return super().identifier(without_zero(name))

    def text(self, value: str) -> str:
        """Compared by code point, whatever it is compared with."""
        return f'(CAST({super().text(without_zero(value))} AS TEXT) COLLATE "C")'

    def cast(self, text: str, kind: Kind, source: Kind | None = None) -> str:
        """BOOLEAN is cast to no number but 32-bit ones."""
        match source, kind:
            case Kind.BOOLEAN, (Kind.INTEGER | Kind.REAL):
                one, zero = (self.literal(n, kind) for n in (1, 0))
                return self.choose([(text, one), (f"NOT {text}", zero)])
            case Kind.INTEGER, Kind.BOOLEAN:
                return f"({text} <> 0)"
            case _, Kind.TEXT:
                return f'(CAST({text} AS TEXT) COLLATE "C")'
        return super().cast(text, kind, source)

    def bind(self, texts: Sequence[str], body: Callable[..., str]) -> str:
        """Texts become a subquery, which is not taken apart."""
        fields = ", ".join(f"{text} AS c{i}" for i, text in enumerate(texts))
        names = [f"it.c{i}" for i in range(len(texts))]
        return f"(SELECT {body(*names)} FROM (SELECT {fields} OFFSET 0) AS it)"

    # --- rows -------------------------------------------------------------------------------------

    def located(self, place: str, table: str) -> str:
        """The name of a part of WITH: a session says what it is."""
        return self.identifier(f"{place}.{table}")

    def histogram(self, column: str, limits: list[int], table: str) -> str:
        """The bucket, by a search in an array."""
        above = ",".join(str(n + 1) for n in limits if n < INT64[1])  # which nothing is above
        bucket = f"CAST(width_bucket({column}, CAST('{{{above}}}' AS BIGINT[])) AS BIGINT)"
        return f"SELECT {bucket} AS bucket, COUNT(*) AS people FROM {table} GROUP BY 1"

    # --- whole numbers and hashes -----------------------------------------------------------------

    def wide(self, text: str, kind: Kind = Kind.INTEGER) -> str:
        """A double goes by its halves: its own cast keeps 15 digits."""
        if kind is Kind.INTEGER:
            return f"CAST({text} AS NUMERIC)"

        def body(it: str) -> str:
            high = f"floor({it} / 4294967296)"
            low = f"CAST({it} - {high} * 4294967296 AS BIGINT)"
            return f"(CAST(CAST({high} AS BIGINT) AS NUMERIC) * 4294967296 + {low})"

        return self.let([text], body)

    def extreme(self, which: str, text: str, kind: Kind, where: str = "") -> str:
        """There is no MIN of BOOLEAN."""
        if kind is Kind.BOOLEAN:
            return f"{'bool_and' if which == 'min' else 'bool_or'}({text}){where}"
        return super().extreme(which, text, kind, where)

    def hash(self, texts: Sequence[str]) -> str:
        """Compared by code point."""
        return f'(md5(concat({", ".join(texts)})) COLLATE "C")'

    # --- doubles ----------------------------------------------------------------------------------

    def real(self, function: Function, *operands: str) -> str:
        """Guarded: see `postgres_arithmetic`."""
        return self.let(operands, lambda *names: f"({guarded(function, *names)})")

    def scaled(self, text: str, start: float, factor: float) -> str:
        """Most factors need no guard."""
        return scaled(text, start, factor) or super().scaled(text, start, factor)

    def is_finite(self, text: str) -> str:
        """NaN is above infinity here."""
        return f"({text} > -{INFINITE} AND {text} < {INFINITE})"

    def whole(self, function: Function, text: str) -> str:
        """`round` takes halves to even here."""
        if function is not Function.ROUND:
            return f"{function.value}({text})"

        def body(it: str) -> str:
            up = f"CASE WHEN abs({it} - trunc({it})) >= 0.5 THEN sign({it}) ELSE 0 END"
            return f"(trunc({it}) + {up})"

        return self.let([text], body)

    def whole_quotient(self, x: str, y: str, *, wide: bool) -> str:
        """Cut off towards 0."""
        if not wide:
            return f"({x} / {y})"
        least = self.literal(-(2**63), Kind.INTEGER)
        return self.let(
            [x, y], lambda a, b: self.only_if(f"NOT ({a} = {least} AND {b} = -1)", f"{a} / {b}")
        )

    # --- texts ------------------------------------------------------------------------------------

    def extract(self, text: str, pattern: Pattern) -> str:
        """The one group of a match; no match is NULL here, and NULL has no beginning."""
        found = f"from {self.text(pattern.write('$', 'Postgres'))})"
        return self.let([text], lambda it: f"COALESCE(substring({it} {found}, left({it}, 0))")

    def trim(self, function: Function, text: str) -> str:
        """Trim spaces."""
        return f"{'btrim' if function is Function.TRIM else function.value}({text}, ' ')"

    def ends_with(self, text: str, end: str) -> str:
        """A suffix test by code point."""
        return self.let([end], lambda it: f"(right({text}, char_length({it})) = {it})")

    # --- times ------------------------------------------------------------------------------------

    def part(self, function: Function, text: str) -> str:
        """A NUMERIC of seconds has a fraction."""
        name = _PARTS.get(function, function.value)
        return f"CAST(floor(extract({name} FROM CAST({text} AS TIMESTAMP))) AS BIGINT)"

    def truncate(self, unit: Unit, text: str, kind: Kind) -> str:
        """A TIMESTAMP: truncating a DATE would use the session's time zone."""
        return self.cast(f"date_trunc('{unit.value}', CAST({text} AS TIMESTAMP))", kind)

    def days_later(self, time: str, operator: str, days: str, kind: Kind) -> str:
        """NULL outside the calendar."""

        def body(at: str, count: str) -> str:
            place = f"(CAST({at} AS DATE) - DATE '0001-01-01') {operator} {count}"
            step = f"CAST({count} AS INTEGER)"
            step = step if kind is Kind.DATE else f"make_interval(days => {step})"
            return self.only_if(f"{place} BETWEEN 0 AND 3652058", f"{at} {operator} {step}")

        return self.let([time, days], body)

    def months_later(self, time: str, months: str, kind: Kind) -> str:
        """NULL outside the calendar."""

        def body(at: str, count: str) -> str:
            year, month = (f"extract({part} FROM {at})" for part in ("year", "month"))
            place = f"12 * {year} + {month} - 1 + {count}"
            later = f"{at} + make_interval(months => CAST({count} AS INTEGER))"
            return self.only_if(f"{place} BETWEEN 12 AND 119999", self.cast(f"({later})", kind))

        return self.let([time, months], body)

    def seconds_later(self, time: str, seconds: str) -> str:
        """NULL outside the calendar."""

        def body(at: str, count: str) -> str:
            first, end = (
                f"extract(epoch FROM TIMESTAMP '{day}')" for day in ("0001-01-01", "9999-12-31")
            )
            days, rest = f"CAST({count} / 86400 AS INTEGER)", f"{count} % 86400"
            later = f"{at} + make_interval(days => {days}, secs => {rest})"
            place = f"extract(epoch FROM {at}) + {count}"
            return self.only_if(f"{place} >= {first} AND {place} < {end} + 86400", later)

        return self.let([time, seconds], body)

    # --- reading ----------------------------------------------------------------------------------

    def parse(self, text: str, kind: Kind) -> str:
        """Only texts that are values reach the cast, which would raise on others."""
        match kind:
            case Kind.REAL:
                return self._parse_real(text)
            case Kind.INTEGER:
                grammar, low, high = "[+-]?0*[0-9]{1,19}", -(2**63), 2**63 - 1
                inside = f"CAST({{0}} AS NUMERIC) BETWEEN {low} AND {high}"
                value = self.only_if(inside, "CAST({0} AS BIGINT)")
            case _:
                grammar = DAY if kind is Kind.DATE else MOMENT
                value = f"CAST({{0}} AS {self.types[kind]})"
        return self.let(
            [text],
            lambda it: self.only_if(f"{it} ~ {self.text(f'^({grammar})$')}", value.format(it)),
        )

    def _parse_real(self, text: str) -> str:
        grammar = self.text(f"^({GRAMMAR[Kind.REAL]})$")

        def body(it: str) -> str:
            digits = f"substring({it} from '^[+-]?([0-9.]*)')"
            exponent = f"substring({it} from '[eE](.*)$')"
            parts = f"SELECT {digits} AS d, {exponent} AS e OFFSET 0"
            code = f"(SELECT {out_of_reach('p.d', 'p.e')} FROM ({parts}) AS p)"
            value = (
                f"(SELECT CASE q.c WHEN 0 THEN {self.double(0)} WHEN 1 THEN {INFINITE} "
                f"ELSE CAST(q.t AS {REAL}) END FROM (SELECT {code} AS c, {it} AS t OFFSET 0) AS q)"
            )
            return self.only_if(f"{it} ~ {grammar}", value)

        return self.let([text], body)


def without_zero(text: str) -> str:
    """Refuse the character 0, before anything is charged: no text of Postgres can hold it."""
    if "\0" not in text:
        return text
    raise QueryRefused(
        "a text with the character 0",
        why="no text of Postgres holds it",
        fix="leave it out",
        code="text",
    )
