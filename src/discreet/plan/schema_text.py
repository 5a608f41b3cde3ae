"""Declarations of tables and columns, in words and as HTML."""

from discreet.html_view import framed, table
from discreet.plan.calendar import moment
from discreet.plan.kinds import Kind, Range, Type
from discreet.plan.schema import KeyPath, Person, PersonPeriod, PublicTable, Schema, Table

_SHOWN = 8
"""Keys that are shown of a column."""


def schema_page(schema: Schema) -> str:
    """Every column of every table: whom it protects, and what is declared."""
    rows = [
        (one.name, whose(one), name, of.kind.value, declared(of))
        for one in schema.tables.values()
        for name, of in one.columns.items()
    ]
    return framed(table(["table", "protects", "column", "kind", "declared"], rows))


def whose(one: Table | PublicTable) -> str:
    """Whom a table protects, in a few words."""
    match one:
        case PublicTable():
            return f"nobody: public, by {', '.join(one.key)}"
        case Table(unit=Person(column)):
            return f"each {column}"
        case Table(unit=PersonPeriod(column, period, every)):
            return f"each {column} in one {every} of {period}"
        case Table(unit=KeyPath(column, target, key)):
            return f"the person behind {column}, by way of {target}.{key}"
    return "each row by itself"


def declared(of: Type) -> str:
    """A column's declaration in a few words."""
    if of.keys is not None and of.kind is not Kind.BOOLEAN:
        shown = ", ".join("NULL" if key is None else str(key) for key in of.keys[:_SHOWN])
        return shown + (f" and {len(of.keys) - _SHOWN:,} more" if len(of.keys) > _SHOWN else "")
    return "" if of.range is None else range_words(of.range, of.kind)


def range_words(bounds: Range, kind: Kind) -> str:
    """A range as people write it.

    Example:
        >>> range_words(Range(0, 120), Kind.INTEGER), range_words(Range(0, 31), Kind.DATE)
        ('0 .. 120', '1970-01-01 .. 1970-02-01')
    """
    ends = (bounds.low, bounds.high)
    if kind.is_time:
        return " .. ".join(str(moment(end, kind)) for end in ends)
    return " .. ".join(f"{end:.15g}" if isinstance(end, float) else str(end) for end in ends)
