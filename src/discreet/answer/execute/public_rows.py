"""The rows of public tables that answers are computed with: read when the answers are measured.

They are stored with the measurements, so that what is computed from those stays a function of what
is stored, whatever becomes of the table.
"""

from collections.abc import Iterable
from typing import Final

import pyarrow as pa

from discreet.engines.engine import ARROW, Engine
from discreet.errors import QueryRefused
from discreet.plan.schema import PublicTable
from discreet.sql.writer.dialect import view_name

MOST_ROWS: Final = 1_000_000
"""Rows of a public table, and of each step of a question about some."""


def read_public_rows(engine: Engine, tables: Iterable[PublicTable]) -> dict[str, pa.Table]:
    """All rows of each table in the order of its key."""
    return {one.name: _rows(engine, one) for one in tables}


def _rows(engine: Engine, table: PublicTable) -> pa.Table:
    names, key = (
        ", ".join(map(engine.dialect.identifier, one)) for one in (table.columns, table.key)
    )
    source = view_name(table.name, engine.dialect)
    select = f"SELECT {names} FROM {source} ORDER BY {key} LIMIT {MOST_ROWS + 1}"  # noqa: S608 - quoted names
    schema = pa.schema([(name, ARROW[of.kind]) for name, of in table.columns.items()])
    with engine.snapshot() as session:
        found = [batch.rename_columns(schema.names) for batch in session.stream(select)]
    rows = pa.Table.from_batches(found).cast(schema) if found else schema.empty_table()
    check_rows(len(rows))
    return rows


def check_rows(rows: int) -> int:
    """Refuse more rows than are computed with at once."""
    if rows <= MOST_ROWS:
        return rows
    raise QueryRefused(
        f"a question about public tables that may take more than {MOST_ROWS:,} rows",
        why="it is computed at once, for nothing",
        fix="join on a key, or copy the tables to where you work: they are public",
        code="expensive",
    )
