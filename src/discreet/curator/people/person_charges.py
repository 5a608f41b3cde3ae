"""A charge's effect on people: its secret, grouping sets, prices and contributions."""

import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.answer.execute.individual import WHOLE_SHARE, PeopleShares
from discreet.curator.ledger.orders import Entry, canonical
from discreet.curator.orders.stored_orders import StoredOrder
from discreet.privacy.budgets.individual_balances import MOST_UNITS, price_units, share_costs

ByAccount: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Accounts, each once, and what is said of each."""


def charge_salt(key: str, sequence: int) -> str:
    """The secret that decides which rows of a person count; the same at every replay."""
    return hmac.new(key.encode(), f"salt {sequence}".encode(), hashlib.sha256).hexdigest()[:32]


def charged_sets(entry: Entry) -> Sequence[Mapping[str, Any]]:
    """The plans of a charge's grouping sets."""
    decided: Sequence[Mapping[str, Any]] = entry.facts["decisions"]["sets"]
    return decided


def set_prices(entry: Entry) -> list[list[int]]:
    """The cost in units of each measurement of each set, for the largest contribution."""
    return [
        [price_units(Fraction(cost)) for _, cost in one["measured"]] for one in charged_sets(entry)
    ]


def share_signature(entry: Entry) -> str:
    """All of a charge that the shares of people depend on, but for its secret."""
    asked = StoredOrder.parse(entry.facts["plan"])
    decided = [
        [one["bounds"], [places for places, _ in one["measured"]]] for one in charged_sets(entry)
    ]
    return canonical([entry.facts["version"], asked.query, decided])


def charge_costs(entry: Entry, sets: Sequence[PeopleShares]) -> ByAccount:
    """What people pay over all sets of a charge, each person once."""
    if len(sets) == 1:
        [prices] = set_prices(entry)
        return sets[0].accounts, share_costs(sets[0].shares, prices, WHOLE_SHARE)
    once = np.unique(np.concatenate([one.accounts for one in sets]))
    by_place = [(np.searchsorted(once, one.accounts), one.shares) for one in sets]
    return once, class_costs(entry, by_place, len(once))[:-1]


def class_costs(entry: Entry, shares: Iterable[ByAccount], classes: int) -> NDArray[np.int64]:
    """What each class of people pays over all sets of a charge, -1 where it is in none; -1 last."""
    costs = np.full(classes + 1, -1, dtype=np.int64)
    for (places, rows), prices in zip(shares, set_prices(entry), strict=True):
        paid = np.maximum(costs[places], 0) + share_costs(rows, prices, WHOLE_SHARE)
        costs[places] = np.minimum(paid, MOST_UNITS)
    return costs
