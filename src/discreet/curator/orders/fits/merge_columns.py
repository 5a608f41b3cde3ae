"""Merging the shown columns of answers, where what was measured for them is not known."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from discreet.answer.estimate.aggregates import outputs_of
from discreet.answer.estimate.merging import MergedColumns
from discreet.answer.present.release import Release
from discreet.plan.expressions import Column
from discreet.plan.query import AggregateFunction, Query

_LINEAR: Final = {one for one in AggregateFunction if one.is_count} | {AggregateFunction.SUM}
"""Aggregates whose noise has a known variance and no bias, whatever the data."""


def is_whole(query: Query) -> bool:
    """Whether all groups of a question are shown, each with all its keys.

    Groups that noise has picked would be averaged over errors that have picked them.
    """
    shown = {out.expression.name for out in outputs_of(query) if isinstance(out.expression, Column)}
    if query.then is not None or query.having is not None:
        return False
    whole = query.limit is None and not query.offset
    return whole and len(query.sets) == 1 and {key.name for key in query.keys} <= shown


def merge_columns(query: Query, fresh: Release, earlier: Sequence[Release]) -> MergedColumns:
    """Counts and sums averaged, weighted as their half-widths tell; other columns are the newest.

    A group that an earlier answer does not have keeps the newest number.
    """
    keys = {Column(key.name) for key in query.keys}
    linear = {Column(one.name) for one in query.aggregates if one.measure in _LINEAR}
    shown = [out.name for out in outputs_of(query) if out.expression in keys]
    columns, widths, how = {}, dict(fresh.half_widths), dict(fresh.how)
    for out in outputs_of(query):
        columns[out.name] = fresh.table.column(out.name)
        if out.expression in linear and out.name in fresh.half_widths:
            values, errors = _average(out.name, shown, [fresh, *earlier])
            kind = fresh.table.schema.field(out.name).type
            whole = pa.types.is_integer(kind)
            columns[out.name] = pa.array([round(v) if whole else v for v in values], kind)
            rounding = 0.5 if whole else 0.0
            known = [None if error is None else error + rounding for error in errors]
            widths[out.name] = pa.array(known, pa.float64())
            how[out.name] = "by merging"
    return MergedColumns(pa.table(columns), widths, how)


def _average(
    column: str, keys: list[str], releases: Sequence[Release]
) -> tuple[list[float], list[float | None]]:
    """Averages and half-widths, in the order of the first release."""
    seen = [dict(_cells(column, keys, one)) for one in releases]
    values: list[float] = []
    errors: list[float | None] = []
    for key, first in _cells(column, keys, releases[0]):
        cells = [first, *(one[key] for one in seen[1:] if key in one)]
        known = [(value, width) for value, width in cells if width]
        value, width = _weighted(known) if known else first
        values.append(value)
        errors.append(width)
    return values, errors


def _weighted(cells: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Half-widths are as the roots of variances: alike for Gaussian, wide for Laplace noise."""
    weights = [1 / (width * width) for _, width in cells]
    whole = sum(weights)
    value = sum(weight * cell[0] for weight, cell in zip(weights, cells, strict=True)) / whole
    return value, 1 / math.sqrt(whole)


def _cells(
    column: str, keys: list[str], release: Release
) -> Iterator[tuple[tuple[Any, ...], tuple[float, float | None]]]:
    names = [release.table.column(key).to_pylist() for key in keys]
    rows = zip(*names, strict=True) if names else [()] * release.table.num_rows
    values = release.table.column(column).to_pylist()
    widths = release.half_widths[column].to_pylist()
    for key, value, width in zip(rows, values, widths, strict=True):
        yield key, (value, width)
