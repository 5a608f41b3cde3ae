"""A stored table as a view: clean columns, and the person each row belongs to.

Whatever a stored column holds becomes a value of its declared type, or NULL.
"""

import math
from collections.abc import Mapping

from discreet.plan.calendar import moment
from discreet.plan.expressions import Unit
from discreet.plan.functions import cast_type
from discreet.plan.kinds import Kind, Type, Value
from discreet.plan.schema import PERSON, EachRow, KeyPath, PersonPeriod, PublicTable, Schema, Table
from discreet.plan.texts import longest_stored
from discreet.plan.typing import settled
from discreet.sql.writer.dialect import Dialect, stored_name
from discreet.sql.writer.render import cast_text

Physical = Mapping[str, Mapping[str, str]]
"""The engine's types of the columns of each stored table."""


def render_view(
    table: Table | PublicTable, schema: Schema, physical: Physical, dialect: Dialect
) -> str:
    """The SELECT of a table's view.

    Guarantee: each row has one owner at most, and equal owners are one person, whatever is stored.

    Why: the person, and the keys on the path to them, are compared as they are read, in one kind;
    left to themselves engines would compare 64-bit names as doubles, where many are one, and fail
    on the text of a number that is none. They are read by kind alone: clamping would merge many
    people into one.

    Edge cases: of a text the first `longest_stored` code points are read; rows without an owner, or
    with one that is not of the declared kind, belong to nobody and are left out.
    """
    values = render_values(table, physical, dialect)
    columns = [f"{text} AS {dialect.identifier(name)}" for name, text in values.items()]
    source = f"{stored_name(table.name, dialect)} AS s"
    hops, unit = schema.path(table) if isinstance(table, Table) else ((), EachRow())
    if isinstance(unit, EachRow):
        return f"SELECT {', '.join(columns)} FROM {source}"
    person = dialect.identifier(PERSON)
    first = hops[0].column if hops else unit.column
    name = read_name(table, first, physical, dialect)
    if isinstance(unit, PersonPeriod):
        name = _in_period(name, unit, table, values[unit.period], dialect)
    columns.insert(0, f"{name} AS {person}")
    rows = f"(SELECT {', '.join(columns)} FROM {source}) AS s"
    joins, last = _joins(hops, unit.column, schema, physical, dialect)
    shown = [f"{last}.{person}", *(f"s.{dialect.identifier(name)}" for name in table.columns)]
    return f"SELECT {', '.join(shown)} FROM {rows}{joins} WHERE {last}.{person} IS NOT NULL"


def _in_period(
    name: str, unit: PersonPeriod, table: Table | PublicTable, moment: str, dialect: Dialect
) -> str:
    """A person and a period as one text, NULL where either is; the period has no colon in it."""
    kind = table.columns[unit.period].kind
    began = dialect.encoded(dialect.truncate(Unit(unit.every), moment, kind), kind)
    written = written_name(name, table.columns[unit.column].kind, dialect)
    return f"({began} || '{PERIOD_ENDS}' || {written})"


PERIOD_ENDS = ":"
"""The separator of a period and a person."""


def written_name(name: str, kind: Kind, dialect: Dialect) -> str:
    """The name of a person as a text."""
    return dialect.cast(name, Kind.TEXT, kind if kind in _PLAIN else Kind.INTEGER)


_PLAIN = (Kind.TEXT, Kind.DATE, Kind.BOOLEAN)
"""Kinds of names that `read_name` leaves as they are; it makes whole numbers of all others."""


def render_repeated(
    table: Table | PublicTable, key: str, physical: Physical, dialect: Dialect
) -> str:
    """The SELECT of keys on a path that name more than one row, as they are read."""
    name = read_name(table, key, physical, dialect)
    source = stored_name(table.name, dialect)
    return (
        f"SELECT 1 FROM (SELECT {name} AS k FROM {source}) AS t WHERE k IS NOT NULL "
        "GROUP BY k HAVING COUNT(*) > 1 LIMIT 1"
    )


def read_name(table: Table | PublicTable, column: str, physical: Physical, dialect: Dialect) -> str:
    """A column that names a person, or a row on the key path: a value of its kind, or NULL."""
    of = Type(table.columns[column].kind)
    text = render_scan_column(column, physical[table.name][column], of, dialect)
    # 0 and -0 are one person, who has one name, the same on every engine.
    return dialect.ordinal(text, of.kind)


def render_values(
    table: Table | PublicTable, physical: Physical, dialect: Dialect
) -> dict[str, str]:
    """Columns as they are read from what is stored, the first code points of long texts.

    The person and the keys that lead to them are not cut: many would become one.
    """
    types = physical[table.name]
    texts = (
        (name, of, render_scan_column(name, types[name], of, dialect))
        for name, of in table.columns.items()
    )
    return {
        name: text if of.kind is not Kind.TEXT else dialect.beginning(text, longest_stored(of))
        for name, of, text in texts
    }


def _joins(
    hops: tuple[KeyPath, ...], owner: str, schema: Schema, physical: Physical, dialect: Dialect
) -> tuple[str, str]:
    """Follow key paths, table by table; the last alias holds the person.

    Each table on the path is read as two columns: its key, and where it leads.
    """
    text, alias, person = "", "s", dialect.identifier(PERSON)
    for i, hop in enumerate(hops):
        lead = owner if hop is hops[-1] else hops[i + 1].column
        target = schema.tables[hop.table]
        key, on = (read_name(target, name, physical, dialect) for name in (hop.key, lead))
        source = stored_name(hop.table, dialect)
        text += (
            f" JOIN (SELECT {key} AS k, {on} AS {person} FROM {source}) AS h{i} "
            f"ON {alias}.{person} = h{i}.k"
        )
        alias = f"h{i}"
    return text, alias


def render_scan_column(name: str, physical: str, of: Type, dialect: Dialect) -> str:
    """The text that reads a column of an engine's `physical` type as its declared type.

    Guarantee: every value has the declared kind and lies in the declared range, and no stored value
    makes it fail; so what is inferred from the type holds for any data.

    Edge cases: NaN, infinity, dates outside the calendar and values that are not of the declared
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
