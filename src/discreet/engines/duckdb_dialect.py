"""How DuckDB writes things.

Facts it rests on, each checked by the tests on the installed release: IEEE arithmetic gives NaN
and infinity and never fails (`ieee_floating_point_ops`, on by default); CASE computes only the
branch it takes; LEAST and GREATEST pass over NULL; text is compared by code point.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar

from discreet.engines.stored_types import DUCKDB, GRAMMAR
from discreet.plan.expressions import Function, Unit
from discreet.plan.kinds import Kind
from discreet.plan.texts import Wildcard
from discreet.sql.writer.dialect import Dialect, form

_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

_WHOLE = "6755399441055744.0e0"
"""Three times 2^51."""


class DuckDBDialect(Dialect):
    """DuckDB 2."""

    longest: ClassVar = (1 << 32) - 1  # bytes
    short = 100
    keeps_in_tables = True

    is_finite = form("isfinite({})")
    to_integer = nearest = form(
        "TRY_CAST({} AS BIGINT)"
    )  # halves to even; NULL for what does not fit
    whole = form("{0.value}({1})")  # `round` takes halves away from 0
    towards_zero = form("trunc({})")
    wide = form("CAST({0} AS HUGEINT)")
    bits = form("CAST(CAST({} AS BIT) AS BIGINT)")
    microseconds = form("epoch_us({})")
    trim = form("{0.value}({1}, ' ')")  # without a list it would take other blanks too
    length = form("length({})")
    bytes = form("strlen({})")  # known without reading the text
    position = form("strpos({}, {})")
    ends_with = form("ends_with({}, {})")
    seconds_later = form("({} + to_seconds({}))")
    days_between = form("({} - {})")
    histogram = form(  # one aggregate: to plan many branches takes longer than to count a million
        "SELECT * FROM (SELECT unnest(range(len(counts))) AS bucket, unnest(counts) AS people FROM "
        "(SELECT CAST(map_values(histogram({0}, CAST('{1}' AS BIGINT[]))) AS BIGINT[]) AS counts "
        "FROM {2}) AS b) AS b WHERE people > 0"
    )
    stored = staticmethod(DUCKDB.read)

    def bind(self, texts: Sequence[str], body: Callable[..., str]) -> str:
        """Texts become a parameter, some 30 ns a row."""
        if len(texts) == 1:
            return f"list_transform([{texts[0]}], lambda it: {body('it')})[1]"
        fields = ", ".join(f"'{i}': {text}" for i, text in enumerate(texts))
        names = [f"it['{i}']" for i in range(len(texts))]
        return f"list_transform([{{{fields}}}], lambda it: {body(*names)})[1]"

    def rint(self, text: str) -> str:
        """Near 2^52 doubles are whole numbers: two additions, a fifth of what casts take."""
        return f"(({text} + {_WHOLE}) - {_WHOLE})"

    def remainder(self, x: str, y: str, *, wide: bool) -> str:
        """The remainder, in 128 bits where 64 overflow."""
        return f"CAST(CAST({x} AS HUGEINT) % {y} AS BIGINT)" if wide else f"({x} % {y})"

    def whole_quotient(self, x: str, y: str, *, wide: bool) -> str:
        """The quotient, in 128 bits where 64 overflow; NULL if it does not fit."""
        return f"TRY_CAST(CAST({x} AS HUGEINT) // {y} AS BIGINT)" if wide else f"({x} // {y})"

    def matching(self, rows: str, others: str, condition: str, *, some: bool = True) -> str:
        """Joins that say so; the planner need not find them."""
        return f"{rows} {'SEMI' if some else 'ANTI'} JOIN {others} ON {condition}"

    def first(self, each: str, columns: Sequence[str], of: str, order: str, most: int) -> str:
        """Filtered where they are numbered."""
        turn = f"ROW_NUMBER() OVER (PARTITION BY {of} ORDER BY {order})"
        return f"SELECT {', '.join(columns)} FROM ({each}) QUALIFY {turn} <= {most}"

    def hash(self, texts: Sequence[str]) -> str:
        """One call: a chain of || would copy what it has so far once for each text."""
        return f"MD5(CONCAT({', '.join(texts)}))"

    def recase(self, function: Function, text: str) -> str:
        """The engine's own is right for ASCII, where bytes are code points; `translate` is slow."""
        letters = (_UPPER, _UPPER.lower())
        source, target = letters if function is Function.LOWER else letters[::-1]

        def body(it: str) -> str:
            own = f"{function.value}({it})"
            return self.choose(
                [(f"strlen({it}) = length({it})", own)], f"translate({it}, '{source}', '{target}')"
            )

        return self.let([text], body)

    def like(self, text: str, pattern: Sequence[str | Wildcard]) -> str:
        """Plain % and _ are escaped with a backslash; without them it is plain itself.

        The engine looks for the parts between % one after the other, from left to right.
        """
        if not {"%", "_"} & set(pattern):
            plain = "".join(t.value if isinstance(t, Wildcard) else t for t in pattern)
            return f"({text} LIKE {self.text(plain)})"
        return super().like(text, pattern)

    def part(self, function: Function, text: str) -> str:
        """A BIGINT; of a DATE as of its midnight."""
        name = "dayofyear" if function is Function.YEARDAY else function.value
        return f"{name}({text})"

    def truncate(self, unit: Unit, text: str, kind: Kind) -> str:
        """`date_trunc` gives a TIMESTAMP of a DATE."""
        return self.cast(f"date_trunc('{unit.value}', {text})", kind)

    def days_later(self, time: str, operator: str, days: str, kind: Kind) -> str:
        """Dates add 32-bit integers, timestamps intervals."""
        count = f"CAST({days} AS INTEGER)"
        return f"({time} {operator} {count if kind is Kind.DATE else f'to_days({count})'})"

    def months_later(self, time: str, months: str, kind: Kind) -> str:
        """A date and an interval are a timestamp."""
        return self.cast(f"({time} + to_months(CAST({months} AS INTEGER)))", kind)

    def parse(self, text: str, kind: Kind) -> str:
        """Only texts of our own grammar reach the cast, which takes many more."""
        grammar = self.text(rf"\A({GRAMMAR[kind]})\z")
        return f"TRY_CAST(regexp_extract({text}, {grammar}) AS {self.types[kind]})"
