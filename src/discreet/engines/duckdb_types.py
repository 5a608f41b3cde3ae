"""The types DuckDB stores, and how each is read as one of our six kinds without failing."""

import re

from discreet.engines.describe import in_calendar, unreadable
from discreet.plan.calendar import FIRST_TO_LAST
from discreet.plan.kinds import Kind

_SMALL = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
_LARGE = {"UBIGINT", "HUGEINT", "UHUGEINT"}
_FLOATS = {"FLOAT", "DOUBLE"}
_NAMES = {"ENUM", "UUID"}
_MOMENTS = {"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"}
_WITH_ZONE = "TIMESTAMP WITH TIME ZONE"
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
_FITTING = 18
_EXACT_DIGITS = 15  # such a decimal is a quotient of two exact doubles, and rounds once


def stored_kind(physical: str) -> Kind | None:
    """The kind that a type of DuckDB is read as; None where there is none.

    Example:
        >>> stored_kind("DECIMAL(10,2)"), stored_kind("BLOB")
        (<Kind.REAL: 'real'>, None)
    """
    base = physical.split("(", 1)[0]
    decimal = _DECIMAL.fullmatch(physical)
    if base in _SMALL | _LARGE or (decimal and int(decimal[2]) == 0):
        return Kind.INTEGER
    if base in _FLOATS or decimal:
        return Kind.REAL
    if base in _MOMENTS or physical == _WITH_ZONE:
        return Kind.TIMESTAMP
    if base in _NAMES:
        return Kind.TEXT
    return {"BOOLEAN": Kind.BOOLEAN, "VARCHAR": Kind.TEXT, "DATE": Kind.DATE}.get(physical)


def may_not_fit(physical: str) -> bool:
    """Whether whole numbers of a type may be too large for INTEGER, and are then NULL.

    Example:
        >>> may_not_fit("UBIGINT"), may_not_fit("BIGINT"), may_not_fit("DECIMAL(18,0)")
        (True, False, False)
    """
    decimal = _DECIMAL.fullmatch(physical)
    return physical in _LARGE or bool(decimal and int(decimal[1]) > _FITTING and decimal[2] == "0")


def read_stored(text: str, physical: str, wanted: Kind) -> tuple[str, Kind, bool]:
    """A stored value's text as one of our kinds, that kind, and whether it may be NaN or infinite.

    Edge cases: large integers are INTEGER where they fit and NULL where they do not, but doubles
    where REAL is wanted; decimals of many digits go through their digits, since the engine's own
    cast rounds twice; zoned timestamps are read in UTC; a collation is undone.
    """
    kind = stored_kind(physical)
    match kind:
        case Kind.BOOLEAN:
            return text, kind, False
        case Kind.INTEGER if physical in _SMALL:
            return f"CAST({text} AS BIGINT)", kind, False
        case Kind.INTEGER if wanted is Kind.REAL:
            return _by_digits(text), Kind.REAL, False
        case Kind.INTEGER:
            return f"TRY_CAST({text} AS BIGINT)", kind, False
        case Kind.REAL:
            return _real(text, physical), kind, physical in _FLOATS
        case Kind.TEXT:
            return f'(CAST({text} AS VARCHAR) COLLATE "binary")', kind, False
        case Kind.DATE:
            return in_calendar(text, kind), kind, False
        case Kind.TIMESTAMP:
            return _timestamp(text, physical), kind, False
    raise unreadable(physical)


def _real(text: str, physical: str) -> str:
    decimal = _DECIMAL.fullmatch(physical)
    if decimal and int(decimal[1]) > _EXACT_DIGITS:
        return _by_digits(text)
    return f"CAST({text} AS DOUBLE)"


def _by_digits(text: str) -> str:
    return f"CAST(CAST({text} AS VARCHAR) AS DOUBLE)"


def _timestamp(text: str, physical: str) -> str:
    if physical == _WITH_ZONE:
        bounds = FIRST_TO_LAST[Kind.TIMESTAMP]
        inside = f"epoch_us({text}) BETWEEN {bounds.low} AND {bounds.high}"
        return f"CASE WHEN {inside} THEN make_timestamp(epoch_us({text})) END"
    return in_calendar(f"TRY_CAST({text} AS TIMESTAMP)", Kind.TIMESTAMP)
