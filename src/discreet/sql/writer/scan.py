"""How a stored column is read: whatever it holds becomes a value of its declared type, or NULL."""

import math

from discreet.plan.calendar import moment
from discreet.plan.casts import cast_type
from discreet.plan.kinds import Kind, Type, Value
from discreet.plan.typing import settled
from discreet.sql.writer.dialect import Dialect
from discreet.sql.writer.render import cast_text


def render_scan_column(name: str, physical: str, of: Type, dialect: Dialect) -> str:
    """The text that reads a column of an engine's `physical` type as its declared type.

    Guarantee: every value has the declared kind and lies in the declared range, and no stored value
    makes it fail; so what is inferred from the type holds for any data.

    Edge cases: NaN, infinity, dates outside the calendar and values that are none of the declared
    kind are NULL; values outside the range become its nearest end; NULL, where the type has none,
    becomes the value of the range that is nearest to 0 (the empty text, 1970).

    Example:
        >>> from discreet.plan.kinds import Range
        >>> from discreet.engines.duckdb_dialect import DuckDBDialect
        >>> real = Type(Kind.REAL, range=Range(0, 9))
        >>> print(render_scan_column("x", "DOUBLE", real, DuckDBDialect()))
        CASE WHEN CAST("x" AS DOUBLE) >= 0.0e0 AND CAST("x" AS DOUBLE) <= 9.0e0
        THEN CAST("x" AS DOUBLE)
        WHEN NOT isfinite(CAST("x" AS DOUBLE)) THEN CAST(NULL AS DOUBLE)
        WHEN CAST("x" AS DOUBLE) < 0.0e0 THEN 0.0e0
        WHEN CAST("x" AS DOUBLE) > 9.0e0 THEN 9.0e0 END
    """
    stored, kind, strays = dialect.stored(dialect.identifier(name), physical, of.kind)
    cast_type(Type(kind), of.kind)  # refuses casts that have no meaning
    text, strays = cast_text(stored, kind, of.kind, dialect, strays=strays)
    null = None if of.nullable else dialect.literal(nearest_to_zero(of), of.kind)
    return clamp(text, settled(of), dialect, strays=strays, null=null)


def clamp(text: str, of: Type, dialect: Dialect, *, strays: bool, null: str | None = None) -> str:
    """A value moved to the nearest end of its range; strays and NULL become `null`, else NULL."""
    ends = [] if of.range is None else [(of.range.low, "<"), (of.range.high, ">")]
    known = [(_literal(end, of.kind, dialect), sign) for end, sign in ends if math.isfinite(end)]
    if not known and not strays:
        return text if null is None else f"COALESCE({text}, {null})"

    def body(it: str) -> str:
        finite = [dialect.is_finite(it)] if strays else []
        moved = [(f"NOT {one}", null or dialect.literal(None, of.kind)) for one in finite]
        moved += [(f"{it} {sign} {end}", end) for end, sign in known]
        if len(known) == len(("low", "high")):
            finite = []  # NaN and infinity lie between no two ends
        inside = " AND ".join([*finite, *(f"{it} {_STAYS[sign]} {end}" for end, sign in known)])
        # Most values stay, and engines are fastest where all rows take the first branch. NULL
        # passes all of them by.
        return dialect.choose([(inside, it), *moved], null)

    return dialect.let([text], body)


_STAYS = {"<": ">=", ">": "<="}


def nearest_to_zero(of: Type) -> Value:
    """The value of a NULL in a column that is declared to have none."""
    match of.kind:
        case Kind.BOOLEAN:
            return False
        case Kind.TEXT:
            return ""
    bounds = settled(of).range
    place = 0 if bounds is None else min(max(0, bounds.low), bounds.high)
    if of.kind.is_time:
        return moment(place, of.kind)
    return float(place) if of.kind is Kind.REAL else int(place)


def _literal(end: float, kind: Kind, dialect: Dialect) -> str:
    return dialect.literal(moment(end, kind) if kind.is_time else end, kind)
