"""The columns of a source by their types alone, the types that engines store, and texts as values.

No value is looked at. Each type is read as one of our six kinds without failing. Texts that are
numbers, dates and timestamps are recognised by regular expressions that all engines support.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from discreet.engines.postgres_arithmetic import NOT_A_NUMBER, REAL, double
from discreet.errors import InputError
from discreet.plan.calendar import FIRST_TO_LAST, moment
from discreet.plan.kinds import INT64, Kind

_YEAR = "(000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})"
_FOURTH = "(0[48]|[2468][048]|[13579][26])"
_DATE = _YEAR + "-[0-9]{2}-[0-9]{2}"
_TIME = r"[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?"
DAY: Final = (
    f"({_YEAR}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    f"|02-(0[1-9]|1[0-9]|2[0-8]))|([0-9]{{2}}{_FOURTH}|{_FOURTH}00)-02-29)"
)
"""Days that there are."""

MOMENT: Final = DAY + _TIME
"""Moments of days that there are."""

GRAMMAR: Final = {
    Kind.INTEGER: "[+-]?[0-9]+",
    Kind.REAL: r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?",
    Kind.DATE: _DATE,
    Kind.TIMESTAMP: _DATE + _TIME,
}


@dataclass(frozen=True, slots=True)
class ColumnDescription:
    """One column: its stored type and the kind it is read as, None if it cannot be read."""

    name: str
    stored: str
    kind: Kind | None


@dataclass(frozen=True, slots=True)
class Description:
    """The columns of a source."""

    columns: tuple[ColumnDescription, ...]

    @property
    def stored(self) -> dict[str, str]:
        """The types of columns that can be read; others (lists, blobs) are left out."""
        return {one.name: one.stored for one in self.columns if one.kind is not None}

    @property
    def kinds(self) -> dict[str, Kind]:
        """The kinds of columns that can be read."""
        return {one.name: one.kind for one in self.columns if one.kind is not None}


def unreadable(physical: str) -> InputError:
    """The refusal of a stored type that is read as no kind."""
    return InputError(
        f"a column of type {physical}",
        why="its values are none of boolean, integer, real, text, date and timestamp",
        fix="leave it out, or add a view that casts it",
    )


def in_calendar(text: str, kind: Kind, word: str | None = None) -> str:
    """A date or timestamp in SQL, NULL outside our calendar; `word` is what its type is called."""
    ends = (FIRST_TO_LAST[kind].low, FIRST_TO_LAST[kind].high)
    low, high = (f"{word or kind.name} '{moment(end, kind)}'" for end in ends)
    return f"CASE WHEN {text} BETWEEN {low} AND {high} THEN {text} END"


_FITTING = 18  # digits of any decimal that is an INTEGER


@dataclass(frozen=True)
class StoredTypes:
    """The types of one engine, each by its name without `details`, and SQL that reads `{0}`.

    Decimals without digits after the point, and types that are `large`, are INTEGER where they fit
    and NULL where they do not, but doubles where REAL is wanted. Other decimals are rounded once:
    through their digits, where the engine's own cast rounds twice (from `exact_digits` on). Zoned
    timestamps are read in UTC; times outside the calendar are NULL; a collation is undone.
    """

    kinds: Mapping[str, Kind]
    details: str
    decimal: str
    text: str
    real: str
    digits: str
    whole: str
    moment: str
    zoned: str
    word: str = "TIMESTAMP"
    exact_digits: int = 0
    decimals_stray: bool = False
    large: frozenset[str] = frozenset()

    def _decimal(self, physical: str) -> tuple[int, int] | None:
        """How many digits a decimal has, and how many after the point."""
        found = re.fullmatch(self.decimal + r"\(([0-9]+),(-?[0-9]+)\)", physical)
        return (int(found[1]), int(found[2])) if found else None

    def kind(self, physical: str) -> Kind | None:
        """The kind that a type is read as; None where there is none.

        Example:
            >>> DUCKDB.kind("DECIMAL(10,2)"), POSTGRES.kind("numeric(10,0)"), SPARK.kind("binary")
            (<Kind.REAL: 'real'>, <Kind.INTEGER: 'integer'>, None)
        """
        if decimal := self._decimal(physical):
            return Kind.REAL if decimal[1] > 0 else Kind.INTEGER
        return self.kinds.get(re.sub(self.details, "", physical))

    def may_not_fit(self, physical: str) -> bool:
        """Whether whole numbers of a type may be too large for INTEGER, and are then NULL.

        Example:
            >>> [DUCKDB.may_not_fit(one) for one in ("UBIGINT", "BIGINT", "DECIMAL(18,0)")]
            [True, False, False]
        """
        digits, point = self._decimal(physical) or (0, 0)
        return physical in self.large or (digits > _FITTING and point <= 0)

    def read(self, text: str, physical: str, wanted: Kind) -> tuple[str, Kind, bool]:
        """A stored value's text as one of our kinds, that kind, and whether it may stray."""
        kind, decimal = self.kind(physical), physical.startswith(self.decimal)
        large = decimal or physical in self.large
        match kind:
            case Kind.BOOLEAN:
                return text, kind, False
            case Kind.INTEGER if large and wanted is Kind.REAL:
                return self.digits.format(text), Kind.REAL, self.decimals_stray
            case Kind.INTEGER:
                return (self.whole if large else _INTEGER).format(text), kind, False
            case Kind.REAL:
                digits, _ = self._decimal(physical) or (self.exact_digits + decimal, 0)
                form = self.digits if digits > self.exact_digits else self.real
                return form.format(text), kind, not decimal or self.decimals_stray
            case Kind.TEXT:
                return self.text.format(text), kind, False
            case Kind.DATE:
                return in_calendar(text, kind), kind, False
            case Kind.TIMESTAMP:
                zoned = physical.lower().endswith("with time zone")
                moment = (self.zoned if zoned else self.moment).format(text)
                guarded = moment.startswith("CASE")  # where the cast itself could raise
                return moment if guarded else in_calendar(moment, kind, self.word), kind, False
        raise unreadable(physical)


_INTEGER: Final = "CAST({0} AS BIGINT)"
_LOW, _HIGH = FIRST_TO_LAST[Kind.TIMESTAMP].low, FIRST_TO_LAST[Kind.TIMESTAMP].high


def _named(**kinds: str) -> dict[str, Kind]:
    """The names of types by kind, divided by commas."""
    return {one: Kind[kind] for kind, names in kinds.items() for one in names.split(", ")}


DUCKDB: Final = StoredTypes(
    _named(
        BOOLEAN="BOOLEAN",
        INTEGER="TINYINT, SMALLINT, INTEGER, BIGINT, UTINYINT, USMALLINT, UINTEGER, UBIGINT, "
        "HUGEINT, UHUGEINT",
        REAL="FLOAT, DOUBLE",
        TEXT="VARCHAR, ENUM, UUID",
        DATE="DATE",
        TIMESTAMP="TIMESTAMP, TIMESTAMP_S, TIMESTAMP_MS, TIMESTAMP_NS, TIMESTAMP WITH TIME ZONE",
    ),
    details=r"\(.*",
    decimal="DECIMAL",
    text='(CAST({0} AS VARCHAR) COLLATE "binary")',
    real="CAST({0} AS DOUBLE)",
    digits="CAST(CAST({0} AS VARCHAR) AS DOUBLE)",
    whole="TRY_CAST({0} AS BIGINT)",
    moment="TRY_CAST({0} AS TIMESTAMP)",
    zoned=f"CASE WHEN epoch_us({{0}}) BETWEEN {_LOW} AND {_HIGH} "
    "THEN make_timestamp(epoch_us({0})) END",
    exact_digits=15,  # such a decimal is a quotient of two exact doubles, and rounds once
    large=frozenset({"UBIGINT", "HUGEINT", "UHUGEINT"}),
)

_ENDS = f"{2**1024 - 2**970}", f"{5**1075}e-1075"
POSTGRES: Final = StoredTypes(
    _named(
        BOOLEAN="boolean",
        INTEGER="smallint, integer, bigint, oid",
        REAL="real, double precision, numeric",
        TEXT="text, character varying, character, name, uuid, enum",
        DATE="date",
        TIMESTAMP="timestamp without time zone, timestamp with time zone",
    ),
    details=r"\([0-9]+(,-?[0-9]+)?\)",
    decimal="numeric",
    text='(CAST({0} AS TEXT) COLLATE "C")',
    real=f"CAST({{0}} AS {REAL})",
    # NaN is above everything; what is too large is NaN, what is too small 0.
    digits=f"CASE WHEN abs({{0}}) < {_ENDS[0]} AND abs({{0}}) > {_ENDS[1]} "
    f"THEN CAST({{0}} AS {REAL}) WHEN abs({{0}}) <= {_ENDS[1]} THEN {double(0)} "
    f"WHEN {{0}} IS NOT NULL THEN {NOT_A_NUMBER} END",
    whole=f"CASE WHEN {{0}} BETWEEN {INT64[0]} AND {INT64[1]} THEN CAST({{0}} AS BIGINT) END",
    moment="CAST({0} AS TIMESTAMP)",
    zoned="({0} AT TIME ZONE 'UTC')",
    decimals_stray=True,
)

SPARK: Final = StoredTypes(
    _named(
        BOOLEAN="boolean",
        INTEGER="tinyint, smallint, int, bigint",
        REAL="float, double",
        TEXT="string, varchar, char",
        DATE="date",
        TIMESTAMP="timestamp, timestamp_ntz",
    ),
    details=r"[( ].*",
    decimal="decimal",
    text="({0} COLLATE UTF8_BINARY)",
    real="CAST({0} AS DOUBLE)",
    digits="CAST(CAST({0} AS STRING) AS DOUBLE)",
    whole="TRY_CAST({0} AS BIGINT)",
    moment="CAST({0} AS TIMESTAMP_NTZ)",
    zoned="CAST({0} AS TIMESTAMP_NTZ)",
    word="TIMESTAMP_NTZ",
)
