"""The types Postgres stores, and how each is read as one of our six kinds without failing."""

import re

from discreet.engines.describe import in_calendar, unreadable
from discreet.engines.postgres_arithmetic import NOT_A_NUMBER, REAL, double
from discreet.plan.kinds import INT64, Kind

_KINDS = {
    "boolean": Kind.BOOLEAN,
    "smallint": Kind.INTEGER,
    "integer": Kind.INTEGER,
    "bigint": Kind.INTEGER,
    "oid": Kind.INTEGER,
    "real": Kind.REAL,
    "double precision": Kind.REAL,
    "numeric": Kind.REAL,
    "text": Kind.TEXT,
    "character varying": Kind.TEXT,
    "character": Kind.TEXT,
    "name": Kind.TEXT,
    "uuid": Kind.TEXT,
    "enum": Kind.TEXT,
    "date": Kind.DATE,
    "timestamp without time zone": Kind.TIMESTAMP,
    "timestamp with time zone": Kind.TIMESTAMP,
}
_SIZE = re.compile(r"\(([0-9]+)(?:,(-?[0-9]+))?\)")


def stored_kind(physical: str) -> Kind | None:
    """The kind that a type of Postgres is read as; None where there is none.

    Example:
        >>> stored_kind("numeric(10,2)"), stored_kind("numeric(10,0)"), stored_kind("bytea")
        (<Kind.REAL: 'real'>, <Kind.INTEGER: 'integer'>, None)
    """
    size = _SIZE.search(physical)
    base = _SIZE.sub("", physical)
    if base == "numeric" and size and int(size[2] or 0) <= 0:
        return Kind.INTEGER
    return _KINDS.get(base)


def read_stored(text: str, physical: str, wanted: Kind) -> tuple[str, Kind, bool]:
    """A stored value's text as one of our kinds, that kind, and whether it may be NaN or infinite.

    Edge cases: numerics are rounded once; those too large are NULL and those too small 0; whole
    ones are INTEGER where they fit, but doubles where REAL is wanted; zoned timestamps are read in
    UTC; infinite times and those outside the calendar are NULL; a collation is undone; the blanks
    that fill a CHAR are no part of it.
    """
    kind = stored_kind(physical)
    numeric = physical.startswith("numeric")
    match kind:
        case Kind.BOOLEAN:
            return text, kind, False
        case Kind.INTEGER if numeric and wanted is Kind.REAL:
            return _real(text), Kind.REAL, False
        case Kind.INTEGER if numeric:
            low, high = INT64
            inside = f"{text} BETWEEN {low} AND {high}"
            return f"CASE WHEN {inside} THEN CAST({text} AS BIGINT) END", kind, False
        case Kind.INTEGER:
            return f"CAST({text} AS BIGINT)", kind, False
        case Kind.REAL if numeric:
            return _real(text), kind, True
        case Kind.REAL:
            return f"CAST({text} AS {REAL})", kind, True
        case Kind.TEXT:
            return f'(CAST({text} AS TEXT) COLLATE "C")', kind, False
        case Kind.DATE:
            return in_calendar(text, kind), kind, False
        case Kind.TIMESTAMP:
            zoned = physical.endswith("with time zone")
            utc = f"({text} AT TIME ZONE 'UTC')" if zoned else f"CAST({text} AS TIMESTAMP)"
            return in_calendar(utc, kind), kind, False
    raise unreadable(physical)


def _real(text: str) -> str:
    """A numeric as a double; NaN is above and below nothing here."""
    high, low = f"{2**1024 - 2**970}", f"{5**1075}e-1075"
    return (
        f"CASE WHEN abs({text}) < {high} AND abs({text}) > {low} THEN CAST({text} AS {REAL}) "
        f"WHEN abs({text}) <= {low} THEN {double(0)} "
        f"WHEN {text} IS NOT NULL THEN {NOT_A_NUMBER} END"
    )
