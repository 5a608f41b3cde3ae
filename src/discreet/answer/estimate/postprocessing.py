"""Post-processing of released numbers: output expressions, HAVING, ORDER BY, LIMIT.

It runs in a database of its own that holds the released table and nothing else, in the same
expression language and with the same meaning as everything else.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from discreet.engines.default import DefaultEngine, compute
from discreet.plan.expressions import Column
from discreet.plan.kinds import Type
from discreet.plan.query import Query, released_columns
from discreet.plan.relations import Named

PLACE = "_place"


def outputs_of(query: Query) -> tuple[Named, ...]:
    """The columns that are shown; all keys and aggregates where none are listed."""
    names = [key.name for key in query.keys] + [one.name for one in query.aggregates]
    return query.outputs or tuple(Named(name, Column(name)) for name in names)


def evaluate(table: pa.Table, outputs: tuple[Named, ...], columns: Mapping[str, Type]) -> pa.Table:
    """Output expressions over a table of released columns, row by row, in order."""
    plain = [out.expression for out in outputs if isinstance(out.expression, Column)]
    if len(plain) == len(outputs):
        return pa.table([table.column(c.name) for c in plain], [out.name for out in outputs])
    dialect = DefaultEngine.dialect
    parts = [
        f"{dialect.render(out.expression, columns)} AS {dialect.identifier(out.name)}"
        for out in outputs
    ]
    return _run(table, f"SELECT {', '.join(parts)} FROM released ORDER BY {PLACE}")


def shows_all(query: Query) -> bool:
    """Whether all rows are shown, in the order they come in."""
    return query.having is None and not query.order and query.limit is None and not query.offset


def arrange(table: pa.Table, query: Query) -> pa.Array:
    """Indices of the rows to show, in order."""
    if shows_all(query):
        return pa.array(np.arange(table.num_rows, dtype=np.int64))
    dialect, columns = DefaultEngine.dialect, released_columns(query)
    text = f"SELECT {PLACE} FROM released"
    if query.having is not None:
        text += f" WHERE {dialect.render(query.having, columns)}"
    order = [
        f"{dialect.render(o.expression, columns)} {'DESC' if o.descending else 'ASC'} NULLS LAST"
        for o in query.order
    ]
    text += f" ORDER BY {', '.join([*order, PLACE])}"
    if query.limit is not None:
        text += f" LIMIT {query.limit}"
    if query.offset:
        text += f" OFFSET {query.offset}"
    return _run(table, text).column(PLACE).combine_chunks()


def _run(table: pa.Table, statement: str) -> pa.Table:
    placed = table.append_column(PLACE, pa.array(np.arange(table.num_rows, dtype=np.int64)))
    return compute({"released": placed}, statement)
