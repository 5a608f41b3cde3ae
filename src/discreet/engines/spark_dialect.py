"""How Spark writes things, in a session that `spark` has set up.

Facts it rests on, each checked by the tests: without ANSI mode no operation raises (a quotient by 0
or a cast that fails is NULL, doubles are those of IEEE 754); texts are compared by code point; NaN
is above infinity; a backslash in a text is an escape, and so is written as one.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import ClassVar

from discreet.engines.stored_types import DAY, GRAMMAR, MOMENT, SPARK
from discreet.plan.expressions import Function, Unit
from discreet.plan.kinds import Kind, Value
from discreet.plan.patterns import Pattern
from discreet.sql.writer.dialect import Dialect, form

_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_WHOLE = "4503599627370496D"  # from 2^52 on every double is whole
_PART = 22  # bits: sums of three such parts hold more rows than there are
_PARTS = {Function.WEEKDAY: "DAYOFWEEK_ISO", Function.YEARDAY: "DOY"}
_ESCAPES = {"\\": r"\\", "'": r"\'", "$": r"\u0024"}


class SparkDialect(Dialect):
    """Spark 4."""

    longest: ClassVar = 1 << 30
    short = 200
    types: ClassVar = {
        Kind.BOOLEAN: "BOOLEAN",
        Kind.INTEGER: "BIGINT",
        Kind.REAL: "DOUBLE",
        Kind.TEXT: "STRING",
        Kind.DATE: "DATE",
        Kind.TIMESTAMP: "TIMESTAMP_NTZ",
    }

    same = form("{} <=> {}")  # joined by hash
    named = form("{} AS ({})")  # the engine decides whether to compute it once
    microseconds = form("unix_micros(CAST({} AS TIMESTAMP))")  # the session is in UTC
    is_finite = form("(abs({}) <= 1.7976931348623157E308D)")  # NaN is above infinity
    nearest = form("CAST(rint({}) AS BIGINT)")  # halves to even
    remainder = form("({} % {})")  # of -2^63 by -1 it is 0
    trim = form("{0.value}({1})")
    position = form("CAST(instr({}, {}) AS BIGINT)")
    starts_with = form("startswith({}, {})")
    ends_with = form("endswith({}, {})")
    days_between = form("CAST(datediff({}, {}) AS BIGINT)")
    stored = staticmethod(SPARK.read)

    def identifier(self, name: str) -> str:
        """An identifier in backticks."""
        return "`" + name.replace("`", "``") + "`"

    def text(self, value: str) -> str:
        """A text literal; characters that could end it, escape or name a variable are escaped."""
        return "'" + "".join(_ESCAPES.get(c, c) for c in value) + "'"

    def double(self, value: float) -> str:
        """The shortest decimal that reads back as itself."""
        digits = f"{float(value)!r}D"
        return f"({digits})" if digits.startswith("-") else digits

    def literal(self, value: Value, kind: Kind) -> str:
        """A whole number is marked as one of 64 bits."""
        if kind is Kind.INTEGER and value is not None:
            return f"({value}L)"
        return super().literal(value, kind)

    def bind(self, texts: Sequence[str], body: Callable[..., str]) -> str:
        """Texts become a parameter."""
        if len(texts) == 1:
            return f"transform(array({texts[0]}), it -> {body('it')})[0]"
        fields = ", ".join(f"{text} AS c{i}" for i, text in enumerate(texts))
        names = [f"it.c{i}" for i in range(len(texts))]
        return f"transform(array(struct({fields})), it -> {body(*names)})[0]"

    # --- rows -------------------------------------------------------------------------------------

    def located(self, place: str, table: str) -> str:
        """The name of a view of the session."""
        return f"{place}_{hashlib.sha256(table.encode()).hexdigest()[:32]}"

    def matching(self, rows: str, others: str, condition: str, *, some: bool = True) -> str:
        """Joins that say so."""
        return f"{rows} LEFT {'SEMI' if some else 'ANTI'} JOIN {others} ON {condition}"

    # --- whole numbers and hashes -----------------------------------------------------------------

    def wide(self, text: str, kind: Kind = Kind.INTEGER) -> str:
        """A decimal of 38 digits; a whole double goes by its halves, which are exact."""
        if kind is Kind.INTEGER:
            return f"CAST({text} AS DECIMAL(38, 0))"

        def body(it: str) -> str:
            high = f"CAST(floor({it} / 4294967296D) AS BIGINT)"
            low = f"CAST({it} - CAST({high} AS DOUBLE) * 4294967296D AS BIGINT)"
            return f"(CAST({high} AS DECIMAL(20, 0)) * 4294967296L + CAST({low} AS DECIMAL(20, 0)))"

        return self.let([text], body)

    def sum(self, text: str, where: str = "", *, wide: bool = False) -> str:
        """A sum of 64-bit integers in three parts, each good for 2^41 rows; decimals are slow."""
        if wide:
            return f"SUM({self.wide(text)}){where}"
        mask = (1 << _PART) - 1
        parts = [f"shiftright({text}, {2 * _PART})"]
        parts += [f"(shiftright({text}, {place}) & {mask}L)" for place in (_PART, 0)]
        high, middle, low = (self.wide(f"SUM({part}){where}") for part in parts)
        large, small = (f"CAST({1 << place} AS DECIMAL(18, 0))" for place in (2 * _PART, _PART))
        return f"({high} * {large} + {middle} * {small} + {low})"

    def bits(self, text: str) -> str:
        """Bits from the exponent (found by a logarithm and its neighbours) and the mantissa."""

        def scaled(it: str, e: str) -> str:
            mantissa = f"CAST({it} * pow(2D, -{e}) * {_WHOLE} AS BIGINT)"
            return f"((CAST({e} AS BIGINT) + 1022L) * 4503599627370496L + {mantissa})"

        def exact(it: str, near: str) -> str:
            least = self.double(2.0**-1022)
            tiny = f"CAST({it} * {self.double(2.0**537)} * {self.double(2.0**537)} AS BIGINT)"
            return self.choose(
                [
                    (f"{it} < {least}", tiny),
                    (f"pow(2D, {near}) > {it}", scaled(it, f"({near} - 1)")),
                    (f"pow(2D, {near}) * 2D <= {it}", scaled(it, f"({near} + 1)")),
                ],
                scaled(it, near),
            )

        def body(it: str) -> str:
            size = f"abs({it})"
            near = f"CAST(floor(log2({size})) AS DOUBLE)"
            sign = self.choose([(f"{it} < 0D", self.literal(-(2**63), Kind.INTEGER))], "0L")
            return f"({self.let([size, near], exact)} + {sign})"

        return self.let([text], body)

    def hash(self, texts: Sequence[str]) -> str:
        """The hash of a concatenation."""
        return f"md5(concat({', '.join(texts)}))"

    # --- doubles ----------------------------------------------------------------------------------

    def whole(self, function: Function, text: str) -> str:
        """`floor` and `ceil` are integers of 64 bits, which large doubles are not."""

        def body(it: str) -> str:
            inside = f"CAST({function.value}({it}) AS DOUBLE)"
            if function is Function.ROUND:
                cut = f"CAST(CAST({it} AS BIGINT) AS DOUBLE)"
                up = f"CASE WHEN abs({it} - {cut}) >= 0.5D THEN sign({it}) ELSE 0D END"
                inside = f"({cut} + {up})"
            return self.choose([(f"abs({it}) < {_WHOLE}", inside)], it)

        return self.let([text], body)

    def whole_quotient(self, x: str, y: str, *, wide: bool) -> str:
        """Cut off towards 0; it would wrap around where it does not fit."""
        if not wide:
            return f"({x} div {y})"
        least = self.literal(-(2**63), Kind.INTEGER)
        return self.let(
            [x, y], lambda a, b: self.only_if(f"NOT ({a} = {least} AND {b} = -1L)", f"{a} div {b}")
        )

    # --- texts ------------------------------------------------------------------------------------

    def recase(self, function: Function, text: str) -> str:
        """Letter by letter."""
        letters = (_UPPER, _UPPER.lower())
        source, target = letters if function is Function.LOWER else letters[::-1]
        return f"translate({text}, '{source}', '{target}')"

    def extract(self, text: str, pattern: Pattern) -> str:
        """A group of a match; $ would leave out a line end."""
        form = self.text(pattern.write(r"\z", "Spark"))
        return f"regexp_extract({text}, {form}, 1)"

    # --- times ------------------------------------------------------------------------------------

    def part(self, function: Function, text: str) -> str:
        """A part of a date; of a DATE as of its midnight."""
        if function is Function.MICROSECOND:
            return f"CAST(extract(SECOND FROM CAST({text} AS TIMESTAMP_NTZ)) * 1000000 AS BIGINT)"
        name = _PARTS.get(function, function.value)
        return f"CAST(floor(extract({name} FROM CAST({text} AS TIMESTAMP_NTZ))) AS BIGINT)"

    def truncate(self, unit: Unit, text: str, kind: Kind) -> str:
        """A moment of the session, which is in UTC."""
        return self.cast(f"date_trunc('{unit.value}', CAST({text} AS TIMESTAMP_NTZ))", kind)

    def days_later(self, time: str, operator: str, days: str, kind: Kind) -> str:
        """A date plus an interval."""
        count = f"CAST({days} AS INT)"
        if kind is Kind.DATE:
            return f"{'date_add' if operator == '+' else 'date_sub'}({time}, {count})"
        return f"({time} {operator} make_dt_interval({count}))"

    def months_later(self, time: str, months: str, kind: Kind) -> str:
        """A date plus an interval."""
        return self.cast(f"({time} + make_ym_interval(0, CAST({months} AS INT)))", kind)

    def seconds_later(self, time: str, seconds: str) -> str:
        """A timestamp plus an interval."""

        def body(it: str) -> str:
            days, rest = f"CAST({it} div 86400L AS INT)", f"{it} % 86400L"
            return f"make_dt_interval({days}, 0, 0, CAST({rest} AS DECIMAL(18, 6)))"

        return f"({time} + {self.let([seconds], body)})"

    # --- reading ----------------------------------------------------------------------------------

    def parse(self, text: str, kind: Kind) -> str:
        """Only texts of our own grammar reach the cast, which takes many more."""
        exact = {Kind.DATE: DAY, Kind.TIMESTAMP: MOMENT}
        grammar = self.text(rf"\A({exact.get(kind, GRAMMAR[kind])})\z")
        value = f"TRY_CAST({{}} AS {self.types[kind]})"
        return self.let([text], lambda it: self.only_if(f"{it} RLIKE {grammar}", value.format(it)))
