"""Aggregates from noisy statistics, for whole arrays of groups at once.

Everything here reads released numbers. The same functions serve answers and simulated answers,
whose spread is the error bar.
"""

from collections.abc import Mapping
from typing import assert_never

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.engines.default import DefaultEngine
from discreet.engines.default import compute as compute_released
from discreet.plan.expressions import Column
from discreet.plan.kinds import Type
from discreet.plan.query import Aggregate, AggregateFunction, Query, released_columns
from discreet.plan.relations import Named
from discreet.plan.statistics import Grid, Statistic, Total, plain_total, statistics_of

Floats = NDArray[np.float64]


def estimate(
    aggregate: Aggregate, statistics: Mapping[Statistic, Floats], scope: Mapping[str, Type]
) -> Floats:
    """One aggregate of every group, from statistics in their own units (rows, people, values).

    Edge cases: a mean of fewer than one value is a mean of one; means stay in the range of their
    values, variances between 0 and the largest that it allows, correlations stay within -1 and 1.
    """
    return confine(aggregate, compute(aggregate, statistics, scope), scope)


def confine(aggregate: Aggregate, computed: Floats, scope: Mapping[str, Type]) -> Floats:
    """An estimate clamped to the range that the truth can have; monotone in the estimate."""
    match aggregate.measure:
        case AggregateFunction.MEAN:
            grid = grid_of(statistics_of(aggregate, scope)[1])
            return np.clip(computed, grid.low, grid.high)
        case AggregateFunction.VARIANCE:
            return np.clip(computed, 0.0, _most(aggregate, scope))
        case AggregateFunction.STDDEV:
            return np.sqrt(np.clip(computed, 0.0, _most(aggregate, scope)))
        case AggregateFunction.CORRELATION:
            return np.clip(computed, -1.0, 1.0)
        case _:
            return computed


def compute(
    aggregate: Aggregate, statistics: Mapping[Statistic, Floats], scope: Mapping[str, Type]
) -> Floats:
    """One aggregate, not confined to its range; for a standard deviation, the variance."""
    if (
        aggregate.measure is AggregateFunction.SUM
        and (plain := plain_total(aggregate, scope)) in statistics
    ):
        return statistics[plain]
    needs = statistics_of(aggregate, scope)
    first = statistics[needs[0]]
    match aggregate.measure:
        case (
            AggregateFunction.COUNT
            | AggregateFunction.COUNT_PEOPLE
            | AggregateFunction.COUNT_DISTINCT
            | AggregateFunction.SUM_DISTINCT
            | AggregateFunction.QUANTILE
            | AggregateFunction.MIN
            | AggregateFunction.MAX
            | AggregateFunction.MODE
        ):
            return first
        case AggregateFunction.SUM:
            return _sum(needs[1], statistics, first)
        case AggregateFunction.MEAN:
            grid = grid_of(needs[1])
            return grid.centre + statistics[needs[1]] / np.maximum(first, 1.0)
        case AggregateFunction.VARIANCE | AggregateFunction.STDDEV:
            x, xx = needs[1:]
            return moment((x, x), xx, statistics, first) * _bessel(first, aggregate)
        case AggregateFunction.COVARIANCE:
            x, y, xy = needs[1:]
            return moment((x, y), xy, statistics, first) * _bessel(first, aggregate)
        case AggregateFunction.CORRELATION:
            cross, deviations = correlated(aggregate, statistics, scope)
            return np.clip(cross / np.maximum(deviations, 1e-154), -1.0, 1.0)
        case _:
            assert_never(aggregate.measure)


def correlated(
    aggregate: Aggregate, statistics: Mapping[Statistic, Floats], scope: Mapping[str, Type]
) -> tuple[Floats, Floats]:
    """The covariance and the product of both deviations, whose quotient is a correlation."""
    rows, x, y, xx, yy, xy = statistics_of(aggregate, scope)
    ends = ((x, x), xx), ((y, y), yy), ((x, y), xy)
    left, right, cross = (moment(*end, statistics, statistics[rows]) for end in ends)
    return cross, np.sqrt(np.maximum(left, 0.0)) * np.sqrt(np.maximum(right, 0.0))


def centre_of(aggregate: Aggregate, scope: Mapping[str, Type]) -> float:
    """The value that a sum or a mean is measured relative to."""
    return grid_of(statistics_of(aggregate, scope)[1]).centre


def _sum(total: Statistic, statistics: Mapping[Statistic, Floats], rows: Floats) -> Floats:
    """A total is centred: give each row its centre back."""
    return statistics[total] + grid_of(total).centre * rows


def moment(
    ends: tuple[Statistic, Statistic],
    product: Statistic,
    statistics: Mapping[Statistic, Floats],
    rows: Floats,
) -> Floats:
    """The mean product of two centred values less the product of their means."""
    n = np.maximum(rows, 1.0)
    x, y = (statistics[end] / n for end in ends)
    return _sum(product, statistics, rows) / n - x * y


def _bessel(rows: Floats, aggregate: Aggregate) -> Floats:
    n = np.maximum(rows, 2.0)
    return n / (n - 1) if aggregate.sample else np.ones_like(n)


def _most(aggregate: Aggregate, scope: Mapping[str, Type]) -> float:
    """No variance of values in a range is larger: half of them at each end; of two for a sample."""
    grid = grid_of(statistics_of(aggregate, scope)[1])
    return (grid.high - grid.low) ** 2 / (2 if aggregate.sample else 4)


def grid_of(statistic: Statistic) -> Grid:
    """The grid of a total."""
    assert isinstance(statistic, Total)  # noqa: S101 - narrowing: see plain_total, statistics_of
    return statistic.grid


# --- output expressions, HAVING, ORDER BY, LIMIT --------------------------------------------------
# They run in a database of its own that holds the released table and nothing else, in the same
# expression language and with the same meaning as everything else.

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
    return compute_released({"released": placed}, statement)
