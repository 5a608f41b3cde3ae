"""Asking again with more budget: what was told before is not thrown away.

Answers to one question at several prices err independently around the same truth. Their average,
weighted by the inverse of their variances, errs least; it is made from released numbers alone, so
it costs nothing beyond what each of them did.
"""

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from discreet.answer.budget import Price
from discreet.answer.post import outputs_of
from discreet.answer.release import Release
from discreet.curator.filing import NEWEST, Filed
from discreet.curator.ledger import Ledger
from discreet.curator.orders import Order
from discreet.errors import QueryRefused
from discreet.plan.expressions import Column
from discreet.plan.query import Measure, Query
from discreet.privacy import compose

_LINEAR: Final = {
    Measure.COUNT,
    Measure.COUNT_PEOPLE,
    Measure.COUNT_DISTINCT,
    Measure.SUM,
}
"""Aggregates whose noise has a known variance and no bias, whatever the data."""

_PAGE: Final = 200


def told_before(ledger: Ledger, order: Order) -> list[Release]:
    """What the same analyst was told for the same question at other prices, newest first."""
    filed = [one.sequence for one in _charges(ledger, order) if _is_alike(one, order)]
    stored = [ledger.release(sequence) for sequence in filed]
    return [Release.from_bytes(packed) for packed in stored if packed is not None]


def _charges(ledger: Ledger, order: Order) -> Iterator[Filed]:
    """Everything that an analyst asked about a dataset, a page at a time."""
    before = NEWEST
    while page := ledger.asked([order.dataset], analyst=order.analyst, before=before, limit=_PAGE):
        yield from page
        before = page[-1].sequence


def _is_alike(filed: Filed, order: Order) -> bool:
    """The same question about the same data at another price."""
    other = filed.order
    if other.version != order.version or other.question == order.question:
        return False
    asked, now = (json.loads(plan)["query"] for plan in (other.plan, order.plan))
    return bool(asked == now)


def check_mergeable(query: Query) -> None:
    """Refuse, before any charge, a question whose answers cannot be laid side by side."""
    shown = {out.expression.name for out in outputs_of(query) if isinstance(out.expression, Column)}
    whole = query.having is None and query.limit is None and not query.offset
    if whole and len(query.sets) == 1 and {key.name for key in query.keys} <= shown:
        return
    raise QueryRefused(
        "a question that hides some of its groups is measured again",
        why="groups that noise has picked would be picked by their errors, and rows have to be "
        "matched by all their keys",
        fix="leave out HAVING, LIMIT and ROLLUP, and show every key",
        code="remeasure",
    )


def merge(query: Query, fresh: Release, earlier: Sequence[Release]) -> Release:
    """The answers to one question, averaged by inverse variance.

    Guarantee:
        Post-processing: as private as all of them together, which was charged when each was made.
    Edge cases:
        Counts and sums are averaged, other columns are the newest. A group that an earlier answer
        does not have keeps the newest number. Without earlier answers it is the new one itself.
    """
    if not earlier:
        return fresh
    keys = [key.name for key in query.keys]
    all_ = [fresh, *earlier]
    columns, widths, how = {}, dict(fresh.half_widths), dict(fresh.how)
    for out in outputs_of(query):
        columns[out.name] = fresh.table.column(out.name)
        if _is_linear(query, out.expression) and out.name in fresh.half_widths:
            values, errors = _average(out.name, _key_columns(query, keys), all_)
            kind = fresh.table.schema.field(out.name).type
            whole = pa.types.is_integer(kind)
            columns[out.name] = pa.array([round(v) if whole else v for v in values], kind)
            rounding = 0.5 if whole else 0.0
            widths[out.name] = pa.array([error + rounding for error in errors], pa.float64())
            how[out.name] = "by merging"
    costs = tuple(cost for one in all_ for cost in one.costs)
    return Release(
        table=pa.table(columns),
        half_widths=widths,
        how=how,
        price=Price(sum(one.price.epsilon for one in all_), sum(one.price.delta for one in all_)),
        guarantee=compose([cost.guarantee for cost in costs]),
        costs=costs,
        notes=(*fresh.notes, f"merged from {len(all_)} answers, each charged when it was made"),
        facts=fresh.facts,
    )


def _key_columns(query: Query, keys: list[str]) -> list[str]:
    """What the keys are called in the answer."""
    return [
        out.name
        for out in outputs_of(query)
        if isinstance(out.expression, Column) and out.expression.name in keys
    ]


def _is_linear(query: Query, expression: Any) -> bool:
    named = {one.name: one.measure for one in query.aggregates}
    return isinstance(expression, Column) and named.get(expression.name) in _LINEAR


def _average(
    column: str, keys: list[str], releases: Sequence[Release]
) -> tuple[list[float], list[float]]:
    """Averages and half-widths, in the order of the first release."""
    seen = [dict(_cells(column, keys, one)) for one in releases]
    values, errors = [], []
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
) -> Iterator[tuple[tuple[Any, ...], tuple[float, float]]]:
    names = [release.table.column(key).to_pylist() for key in keys]
    rows = zip(*names, strict=True) if names else [()] * release.table.num_rows
    values = release.table.column(column).to_pylist()
    widths = release.half_widths[column].to_pylist()
    for key, value, width in zip(rows, values, widths, strict=True):
        yield key, (value, width)
