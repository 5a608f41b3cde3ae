"""Questions about public tables alone: exact, charged to nobody, and stored nowhere.

Privacy:
    No private table is read: the reader sees the public ones alone. What is told, how long it takes
    and what is refused depend on public rows.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypeAlias, cast

import numpy as np
import pyarrow as pa

from discreet.answer.estimate.answer_tables import compute_table
from discreet.answer.estimate.released_sql import DRAWS, answer_name, own_name
from discreet.answer.plan.price import Price
from discreet.answer.present.release import Release
from discreet.curator.data.data_store import DataStore
from discreet.engines.engine import ARROW
from discreet.errors import QueryRefused
from discreet.plan.expressions import Call, Column, Function
from discreet.plan.query import Query, questions_in, tables_in
from discreet.plan.reads import mentions
from discreet.plan.released_tables import (
    AnswerTable,
    ComputedTable,
    JoinedTables,
    JoinKind,
    RegroupedTable,
    ReleasedTable,
    SortedTable,
    StackedTables,
    conjuncts,
)
from discreet.plan.schema import PublicTable
from discreet.privacy import Neighbours, Pure
from discreet.sql.writer.stored_view import view_name

MOST_ROWS: Final = 1_000_000
"""Rows of a public table, and of each step of a question about some."""

_Size: TypeAlias = tuple[int, frozenset[str] | None]
"""How many rows a table has at most, and columns that tell them apart, where some are known to."""

EXACT: Final = "computed from public tables alone: exact, about nobody, and free"


def answer_public(query: Query, store: DataStore, neighbours: Neighbours) -> Release:
    """Compute a question that `read_public` has read, from the rows of its tables as they are."""
    assert query.then is not None  # noqa: S101 - narrowing: all of it is computed from rows
    asked = [tables_in(replace(one, also=(), then=None))[0].name for one in questions_in(query)]
    schema = store.schema
    tables = [cast("PublicTable", schema.tables[name]) for name in asked]
    rows = [_rows(store, one) for one in tables]
    sizes = [(len(r), frozenset(t.key)) for r, t in zip(rows, tables, strict=True)]
    _bound(query.then, sizes)
    named = {answer_name(place): one for place, one in enumerate(rows)}
    table = compute_table(query.then, named | {DRAWS: pa.table({"_draw": [0]})})
    return Release(table, {}, {}, Price.free(), Pure(0, neighbours=neighbours), (), (EXACT,))


def _rows(store: DataStore, table: PublicTable) -> pa.Table:
    """All rows in the order of their key, as what is computed from answers reads them."""
    engine = store.open([table.name])
    names, key = (
        ", ".join(map(engine.dialect.identifier, one)) for one in (table.columns, table.key)
    )
    source = view_name(table.name, engine.dialect)
    select = f"SELECT {names} FROM {source} ORDER BY {key} LIMIT {MOST_ROWS + 1}"  # noqa: S608 - quoted names
    schema = pa.schema([(own_name(one), ARROW[of.kind]) for one, of in table.columns.items()])
    with engine.snapshot() as session:
        found = [batch.rename_columns(schema.names) for batch in session.stream(select)]
    rows = pa.Table.from_batches(found).cast(schema) if found else schema.empty_table()
    _check(len(rows))
    places = np.arange(len(rows), dtype=np.int64)
    return rows.append_column("_draw", [np.zeros_like(places)]).append_column("_at", [places])


def _check(rows: int) -> int:
    if rows <= MOST_ROWS:
        return rows
    raise QueryRefused(
        f"a question about public tables that may take more than {MOST_ROWS:,} rows",
        why="it is computed at once, for nothing",
        fix="join on a key, or copy the tables to where you work: they are public",
        code="expensive",
    )


def _bound(table: ReleasedTable, leaves: Sequence[_Size]) -> _Size:
    """The size of a table; what has too large a step is refused."""
    below = [_bound(one, leaves) for one in table.inputs]
    match table:
        case AnswerTable(place):
            return leaves[place]
        case JoinedTables():
            rows, key = _bound_join(table, *below)
            return _check(rows), key
        case StackedTables():
            return _check(sum(rows for rows, _ in below)), None
        case RegroupedTable(_, keys, _):
            return (below[0][0] if keys else 1), frozenset(one.name for one in keys)
        case ComputedTable(_, outputs):
            rows, key = below[0]
            kept = {o.expression.name: o.name for o in outputs if isinstance(o.expression, Column)}
            known = key is not None and key <= kept.keys()
            return rows, frozenset(kept[one] for one in key or ()) if known else None
        case SortedTable(_, _, limit, _) if limit is not None:
            return min(limit, below[0][0]), below[0][1]
    return below[0]


def _bound_join(table: JoinedTables, left: _Size, right: _Size) -> _Size:
    """Where the key of one side is equal to something of the other, each row there meets one."""
    met = set[str]()
    for one in [] if table.on is None else conjuncts(table.on):
        if isinstance(one, Call) and one.function is Function.EQUAL:
            for this, other in (one.arguments, one.arguments[::-1]):
                side = table.left if mentions(this) <= table.left.columns.keys() else table.right
                if isinstance(this, Column) and mentions(other).isdisjoint(side.columns):
                    met.add(this.name)
    (n, first), (m, second) = left, right
    more = 0 if table.kind is JoinKind.INNER else n if table.kind is JoinKind.LEFT else n + m
    if second is not None and second <= met:
        return (n if table.kind is not JoinKind.FULL else n + m), first if not more else None
    if first is not None and first <= met:
        return m + more, second if not more else None
    return n * m + more, None
