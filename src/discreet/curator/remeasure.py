"""Asking again with more budget: the earlier answer is not thrown away.

Answers to one question at several prices err independently around the same truth. They are merged
from what was measured for each, which is stored with it; answers that were stored without it are
merged column by column, as far as they are counts and sums.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

import pyarrow as pa

from discreet.answer.estimate.aggregates import outputs_of
from discreet.answer.estimate.merging import MergedColumns, fits, merge_parts
from discreet.answer.plan.price import Price
from discreet.answer.present.release import Release
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import NEWEST, ChargedOrder, Order
from discreet.curator.orders.planned_orders import StoredOrder
from discreet.plan.expressions import Column
from discreet.plan.query import AggregateFunction, Query
from discreet.privacy import compose

_PAGE: Final = 200
_MOST: Final = 50
"""Answers that are merged with a new one."""

_APART: Final = "not merged with earlier answers: what was measured for them was not kept"


def told_before(ledger: Ledger, order: Order) -> list[Release]:
    """Earlier answers to the same question for the same analyst at other prices, newest first.

    Edge cases: of very many answers those that cost most are taken; the rest would add little.
    """
    charges = charges_of(ledger, [order.dataset], order.analyst)
    others = (one for one in charges if one.order.question != order.question)
    dearest = sorted(_alike(others, order), key=_epsilon, reverse=True)[:_MOST]
    return _releases(ledger, sorted(dearest, key=lambda one: one.sequence, reverse=True))


def told_lately(ledger: Ledger, order: Order) -> list[Release]:
    """Recent answers to the same question for the same analyst at any price."""
    lately = ledger.asked([order.dataset], analyst=order.analyst, limit=_PAGE)
    return _releases(ledger, _alike(lately, order)[:_MOST])


def _releases(ledger: Ledger, charges: Iterable[ChargedOrder]) -> list[Release]:
    stored = [ledger.release(one.sequence) for one in charges]
    return [Release.from_bytes(packed) for packed in stored if packed is not None]


def _epsilon(filed: ChargedOrder) -> Fraction:
    return StoredOrder.parse(filed.order.plan).price.epsilon


def charges_of(ledger: Ledger, datasets: list[str], analyst: str) -> Iterator[ChargedOrder]:
    """All charges of an analyst about datasets, newest first, read a page at a time."""
    before = NEWEST
    while page := ledger.asked(datasets, analyst=analyst, before=before, limit=_PAGE):
        yield from page
        before = page[-1].sequence


def _alike(charges: Iterable[ChargedOrder], order: Order) -> list[ChargedOrder]:
    """The charges for the same question about the same data, whatever its price and its split."""
    asked = StoredOrder.parse(order.plan).unweighted
    return [
        one
        for one in charges
        if (one.order.kind, one.order.version) == (order.kind, order.version)
        and StoredOrder.parse(one.order.plan).unweighted == asked
    ]


def merge(query: Query, fresh: Release, earlier: Sequence[Release]) -> Release:
    """The answers to one question, averaged by inverse variance, then computed anew.

    Guarantee:
        Post-processing: as private as all of them together, which was charged when each was made.
    Edge cases:
        Where what was measured is not known of each, counts and sums are averaged and other columns
        are the newest; of a question that hides groups, such answers are left out. Without earlier
        answers it is the new one itself.
    """
    measured = [one for one in earlier if fits(query, [one.parts])]
    if fits(query, [fresh.parts]) and (len(measured) == len(earlier) or not is_whole(query)):
        all_ = [fresh, *measured]
        made = merge_parts(query, [one.parts for one in all_]) if measured else None
    else:
        all_ = [fresh, *earlier]
        made = merge_columns(query, fresh, earlier) if earlier and is_whole(query) else None
    if made is not None:
        return _release(made, all_)
    return replace(fresh, notes=(*fresh.notes, _APART)) if earlier else fresh


def _release(made: MergedColumns, all_: Sequence[Release]) -> Release:
    fresh, costs = all_[0], tuple(cost for one in all_ for cost in one.costs)
    return Release(
        table=made.table,
        half_widths=made.half_widths,
        how=made.how,
        price=Price(sum(one.price.epsilon for one in all_), sum(one.price.delta for one in all_)),
        guarantee=compose([cost.guarantee for cost in costs]),
        costs=costs,
        notes=(*fresh.notes, *_notes(all_)),
        facts=fresh.facts,
    )


def _notes(all_: Sequence[Release]) -> list[str]:
    notes = [f"merged from {len(all_)} answers, each charged when it was made"]
    all_contributions = {tuple(part.contributions for part in one.parts) for one in all_}
    if len(all_contributions) > 1:
        notes.append("their limits on what one person weighs were not the same")
    return notes


# --- where what was measured is not known ---------------------------------------------------------

_LINEAR: Final = {one for one in AggregateFunction if one.is_count} | {AggregateFunction.SUM}
"""Aggregates whose noise has a known variance and no bias, on all data."""


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
    """Counts and sums averaged, weighted by their half-widths; other columns are the newest.

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
