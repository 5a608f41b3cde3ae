"""Checks for the owner before anybody asks: repeated keys, long texts, changed rows."""

from collections.abc import Callable
from typing import Final

from discreet.errors import InputError
from discreet.plan.kinds import Kind, Type
from discreet.plan.schema import KeyPath, PublicTable, Schema, Table
from discreet.sql.writer.dialect import Dialect, stored_name, view_name
from discreet.sql.writer.stored_view import Physical, render_repeated, render_scan_column

LONGEST_STORED: Final = 1 << 16
"""Bytes of a stored text; longer ones would take time to fetch, however little is read of them."""


def check_keys(
    schema: Schema, physical: Physical, exists: Callable[[str], bool], dialect: Dialect
) -> None:
    """Refuse keys that joins rely on and that repeat, as joins see them.

    What is stored may differ and be read as one. `exists` says whether a SELECT has a row.
    """
    for table in schema.tables.values():
        if isinstance(table, PublicTable):
            columns = [dialect.identifier(column) for column in table.key]
            listed, known = ", ".join(columns), " AND ".join(f"{c} IS NOT NULL" for c in columns)
            what = f"{table.name}.{', '.join(table.key)}"
            repeated = (
                f"SELECT 1 FROM {view_name(table.name, dialect)} WHERE {known} "
                f"GROUP BY {listed} HAVING COUNT(*) > 1 LIMIT 1"
            )
        elif isinstance(table.unit, KeyPath):
            target, key = schema.tables[table.unit.table], table.unit.key
            what = f"{target.name}.{key}"
            repeated = render_repeated(target, key, physical, dialect)
        else:
            continue
        if exists(repeated):
            raise InputError(
                f"{what} is not unique",
                why="a key that names two rows would give one person the rows of another",
                fix="name a key that is unique in its table, as values of its kind and bounds",
            )


def check_lengths(
    table: Table | PublicTable,
    physical: Physical,
    largest: Callable[[str], list[int]],
    dialect: Dialect,
) -> None:
    """Refuse texts that are too long; `largest` gives the numbers of a SELECT of one row."""
    texts = [
        name
        for name, of in table.columns.items()
        if dialect.stored("x", physical[table.name][name], of.kind)[1] is Kind.TEXT
    ]
    if not texts:
        return
    values = (
        dialect.stored(dialect.identifier(name), physical[table.name][name], Kind.TEXT)[0]
        for name in texts
    )
    sizes = ", ".join(f"MAX({dialect.bytes(value)})" for value in values)
    found = largest(f"SELECT {sizes} FROM {stored_name(table.name, dialect)} AS s")
    long = [name for name, size in zip(texts, found, strict=True) if size > LONGEST_STORED]
    if long:
        raise InputError(
            f"{table.name} holds a text of over {LONGEST_STORED} bytes ({', '.join(long)})",
            why="how long a question takes would depend on one row",
            fix="shorten the texts, or leave the column out",
        )


def render_digest(
    table: Table | PublicTable, physical: Physical, dialect: Dialect, half: str
) -> str:
    """The SELECT of how many rows a table has, and of two sums that make a digest of them.

    Each row is hashed as values of its kinds, whole and not clamped, since stored values identify
    people; a sum knows no order. `half` makes 64 bits of the 16 digits of the hash `{h}` that begin
    at `{at}`.
    """
    shown = ", ".join(
        f"{render_scan_column(name, physical[table.name][name], Type(of.kind), dialect)} "
        f"AS {dialect.identifier(name)}"
        for name, of in table.columns.items()
    )
    rows = f"SELECT {shown} FROM {stored_name(table.name, dialect)} AS s"
    encoded = [
        dialect.encoded(dialect.identifier(name), of.kind) for name, of in table.columns.items()
    ]
    hashed = f"SELECT {dialect.keyed_hash('rows', encoded)} AS h FROM ({rows}) AS r"
    sums = ", ".join(dialect.sum(half.format(h="h", at=at), wide=True) for at in (1, 17))
    return f"SELECT COUNT(*), {sums} FROM ({hashed}) AS t"
