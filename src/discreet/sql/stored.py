"""A stored table as a view: clean columns, and the person each row belongs to."""

from collections.abc import Mapping

from discreet.plan.kinds import Type
from discreet.plan.schema import PERSON, EachRow, Path, PublicTable, Schema, Table
from discreet.sql.dialect import Dialect
from discreet.sql.scan import render_scan_column


def render_view(
    table: Table | PublicTable,
    schema: Schema,
    physical: Mapping[str, Mapping[str, str]],
    dialect: Dialect,
) -> str:
    """The SELECT of a table's view; `physical` has the engine's types of each stored table.

    Rows without an owner belong to nobody and are left out.
    """
    columns = _columns(table.columns, physical[table.name], dialect)
    # Columns are read in a select of their own, where their names are theirs alone.
    source = f"{dialect.identifier(stored_name(table.name))} AS s"
    if isinstance(table, PublicTable):
        return f"SELECT {', '.join(columns)} FROM {source}"
    hops, unit = schema.path(table)
    if isinstance(unit, EachRow):
        return f"SELECT {', '.join(columns)} FROM {source}"
    joins, last = _joins(hops, dialect)
    owner = f"{last}.{dialect.identifier(unit.column)}"
    columns.insert(0, f"{owner} AS {dialect.identifier(PERSON)}")
    return f"SELECT {', '.join(columns)} FROM {source}{joins} WHERE {owner} IS NOT NULL"


def stored_name(table: str) -> str:
    """What the engine calls the stored rows behind a table."""
    return f"stored {table}"


def _columns(
    columns: Mapping[str, Type], physical: Mapping[str, str], dialect: Dialect
) -> list[str]:
    return [
        f"{render_scan_column(name, physical[name], of, dialect)} AS {dialect.identifier(name)}"
        for name, of in columns.items()
    ]


def _joins(hops: tuple[Path, ...], dialect: Dialect) -> tuple[str, str]:
    """Follow key paths, table by table; the last alias holds the person."""
    text, alias = "", "s"
    for i, hop in enumerate(hops):
        target = dialect.identifier(stored_name(hop.table))
        text += (
            f" JOIN {target} AS h{i} ON {alias}.{dialect.identifier(hop.column)} = "
            f"h{i}.{dialect.identifier(hop.key)}"
        )
        alias = f"h{i}"
    return text, alias
