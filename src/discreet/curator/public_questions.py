"""Questions about public tables alone: exact, charged to nobody, and stored nowhere.

Privacy:
    No private table is read: the reader sees the public ones alone. What is told, how long it takes
    and what is refused depend on public rows.
"""

from collections.abc import Mapping
from typing import Final, TypeAlias

import pyarrow as pa

from discreet.answer.estimate.answer_tables import compute_table, placed_rows
from discreet.answer.estimate.released_sql import DRAWS, public_name
from discreet.answer.execute.public_rows import check_rows, read_public_rows
from discreet.answer.plan.price import Price
from discreet.answer.present.release import Release
from discreet.curator.data.data_store import DataStore
from discreet.plan.expressions import Call, Column, Function
from discreet.plan.reads import mentions
from discreet.plan.released_tables import (
    ComputedTable,
    JoinedTables,
    JoinKind,
    PublicRows,
    RegroupedTable,
    ReleasedTable,
    SortedTable,
    StackedTables,
    conjuncts,
    public_tables,
)
from discreet.privacy import Neighbours, Pure

_Size: TypeAlias = tuple[int, frozenset[str] | None]
"""How many rows a table has at most, and columns that tell them apart, where some are known to."""

EXACT: Final = "computed from public tables alone: exact, about nobody, and free"


def answer_public(table: ReleasedTable, store: DataStore, neighbours: Neighbours) -> Release:
    """Compute a question that `read_public` has read, from the rows of its tables as they are."""
    tables = public_tables(table)
    rows = read_public_rows(store.open([one.name for one in tables]), tables)
    _bound(table, {one.name: (len(rows[one.name]), frozenset(one.key)) for one in tables})
    named = {public_name(name): placed_rows(one) for name, one in rows.items()}
    shown = compute_table(table, named | {DRAWS: pa.table({"_draw": [0]})})
    return Release(shown, {}, {}, Price.free(), Pure(0, neighbours=neighbours), (), (EXACT,))


def _bound(table: ReleasedTable, leaves: Mapping[str, _Size]) -> _Size:
    """The size of a table; what has too large a step is refused."""
    below = [_bound(one, leaves) for one in table.inputs]
    match table:
        case PublicRows(of):
            return leaves[of.name]
        case JoinedTables():
            rows, key = _bound_join(table, *below)
            return check_rows(rows), key
        case StackedTables():
            return check_rows(sum(rows for rows, _ in below)), None
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
    """Bound on a join by a key: each row of the other side meets at most one."""
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
