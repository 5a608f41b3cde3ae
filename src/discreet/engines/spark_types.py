"""The types Spark stores, and how each is read as one of our six kinds without failing."""

import re

from discreet.engines.describe import in_calendar, unreadable
from discreet.plan.kinds import Kind

_KINDS = {
    "boolean": Kind.BOOLEAN,
    "tinyint": Kind.INTEGER,
    "smallint": Kind.INTEGER,
    "int": Kind.INTEGER,
    "bigint": Kind.INTEGER,
    "float": Kind.REAL,
    "double": Kind.REAL,
    "string": Kind.TEXT,
    "varchar": Kind.TEXT,
    "char": Kind.TEXT,
    "date": Kind.DATE,
    "timestamp": Kind.TIMESTAMP,
    "timestamp_ntz": Kind.TIMESTAMP,
}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


def stored_kind(physical: str) -> Kind | None:
    """The kind that a type of Spark is read as; None where there is none.

    Example:
        >>> stored_kind("decimal(10,2)"), stored_kind("binary")
        (<Kind.REAL: 'real'>, None)
    """
    decimal = _DECIMAL.fullmatch(physical)
    if decimal:
        return Kind.REAL if int(decimal[2]) else Kind.INTEGER
    return _KINDS.get(re.split(r"[( ]", physical, maxsplit=1)[0])


def read_stored(text: str, physical: str, wanted: Kind) -> tuple[str, Kind, bool]:
    """A stored value's text as one of our kinds, that kind, and whether it may be NaN or infinite.

    Edge cases: decimals go through their digits, and are rounded once; whole ones are INTEGER where
    they fit and NULL where they do not, but doubles where REAL is wanted; zoned timestamps are
    read in UTC; times outside the calendar are NULL; a collation is undone.
    """
    kind, decimal = stored_kind(physical), _DECIMAL.fullmatch(physical)
    by_digits = f"CAST(CAST({text} AS STRING) AS DOUBLE)"
    match kind:
        case Kind.BOOLEAN:
            return text, kind, False
        case Kind.INTEGER if decimal and wanted is Kind.REAL:
            return by_digits, Kind.REAL, False
        case Kind.INTEGER:
            return f"TRY_CAST({text} AS BIGINT)", kind, False
        case Kind.REAL:
            return (by_digits if decimal else f"CAST({text} AS DOUBLE)"), kind, not decimal
        case Kind.TEXT:
            return (f"({text} COLLATE UTF8_BINARY)" if "collate" in physical else text), kind, False
        case Kind.DATE:
            return in_calendar(text, kind), kind, False
        case Kind.TIMESTAMP:
            moment = f"CAST({text} AS TIMESTAMP_NTZ)"
            return in_calendar(moment, kind, "TIMESTAMP_NTZ"), kind, False
    raise unreadable(physical)
