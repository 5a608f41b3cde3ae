"""Asking again with more budget: what was told before is not thrown away.

Answers to one question at several prices err independently around the same truth. They are merged
from what was measured for each, which is stored with it; answers that were stored without it are
merged column by column, as far as they are counts and sums.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

from discreet.answer.estimate.merging import MergedColumns, fits, merge_parts
from discreet.answer.plan.explain import Explanation, recall
from discreet.answer.plan.price import Price
from discreet.answer.present.release import Release
from discreet.curator.ledger.charge_index import NEWEST, ChargedOrder
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import Order
from discreet.curator.orders.fits.merge_columns import is_whole, merge_columns
from discreet.curator.orders.planned_orders import Offer, StoredOrder
from discreet.curator.orders.query_orders import QueryOrder
from discreet.plan.query import Query
from discreet.privacy import compose

_PAGE: Final = 200
_MOST: Final = 50
"""Answers that are merged with a new one."""

_APART: Final = "not merged with earlier answers: what was measured for them was not kept"


def told_before(ledger: Ledger, order: Order) -> list[Release]:
    """Earlier answers to the same question for the same analyst at other prices, newest first.

    Edge cases: of very many answers those that cost most are taken; the rest would add little.
    """
    asked = StoredOrder.parse(order.plan).unweighted
    alike = [one for one in _charges(ledger, order) if _is_alike(one, order, asked)]
    dearest = sorted(alike, key=_epsilon, reverse=True)[:_MOST]
    numbers = sorted((one.sequence for one in dearest), reverse=True)
    stored = [ledger.release(number) for number in numbers]
    return [Release.from_bytes(packed) for packed in stored if packed is not None]


def explain_offer(ledger: Ledger, offer: Offer[QueryOrder]) -> Explanation:
    """How good an answer will be, with what its analyst was told for the same question before."""
    told = replace(offer.planned.plan.explain(offer.at.dialect), share=offer.takes)
    return recall(told, _told_lately(ledger, offer.order()))


def _told_lately(ledger: Ledger, order: Order) -> list[Release]:
    """Recent answers to the same question for the same analyst at any price."""
    asked = StoredOrder.parse(order.plan).unweighted
    lately = ledger.asked([order.dataset], analyst=order.analyst, limit=_PAGE)
    same = (one for one in lately if _is_about_same(one, order))
    alike = [one.sequence for one in same if StoredOrder.parse(one.order.plan).unweighted == asked]
    stored = [ledger.release(number) for number in alike[:_MOST]]
    return [Release.from_bytes(packed) for packed in stored if packed is not None]


def _epsilon(filed: ChargedOrder) -> Fraction:
    return StoredOrder.parse(filed.order.plan).price.epsilon


def _charges(ledger: Ledger, order: Order) -> Iterator[ChargedOrder]:
    """All charges of an analyst about a dataset, a page at a time."""
    before = NEWEST
    while page := ledger.asked([order.dataset], analyst=order.analyst, before=before, limit=_PAGE):
        yield from page
        before = page[-1].sequence


def _is_alike(filed: ChargedOrder, order: Order, asked: str) -> bool:
    """The same question about the same data at another price, or split otherwise."""
    other = filed.order
    if not _is_about_same(filed, order) or other.question == order.question:
        return False
    return StoredOrder.parse(other.plan).unweighted == asked


def _is_about_same(filed: ChargedOrder, order: Order) -> bool:
    """Whether a charge is for a question about the same data."""
    return filed.order.kind == order.kind and filed.order.version == order.version


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
