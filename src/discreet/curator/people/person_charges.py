"""What a charge says of the people in it: its secret, its sets, their prices and their shares."""

import hashlib
import hmac
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.answer.plan.sql_statements import SetStatements
from discreet.curator.canonical_json import canonical
from discreet.curator.ledger.entries import Entry
from discreet.curator.orders.stored_orders import StoredOrder
from discreet.privacy.budgets.individual_balances import price_units

ByAccount: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Accounts, each once, and what is said of each."""


def charge_salt(key: str, sequence: int) -> str:
    """Which rows of a person count in a charge: secret, and the same whenever it is folded in."""
    return hmac.new(key.encode(), f"salt {sequence}".encode(), hashlib.sha256).hexdigest()[:32]


def charged_sets(entry: Entry) -> Sequence[Mapping[str, Any]]:
    """What was decided about each grouping set of a charge."""
    decided: Sequence[Mapping[str, Any]] = entry.facts["decisions"]["sets"]
    return decided


def set_prices(entry: Entry) -> list[list[int]]:
    """What each measurement of each set costs whoever adds the most to it, in units."""
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


def added_costs(parts: Sequence[ByAccount]) -> ByAccount:
    """What people pay over several sets, each person once."""
    places, inverse = np.unique(np.concatenate([one for one, _ in parts]), return_inverse=True)
    costs = np.zeros(len(places), dtype=np.int64)
    start = 0
    for some, paid in parts:
        at = inverse[start : start + len(some)]
        costs[at] = np.minimum(costs[at] + paid, 1 << 60)
        start += len(some)
    return places, costs


def bounding_of(statements: SetStatements) -> Iterator[tuple[str, str]]:
    """What a session keeps so that the people of a set are bounded."""
    contributions = statements.plan.contributions
    assert contributions is not None  # noqa: S101 - narrowing: see check_individual
    yield from statements.people()
    yield from statements.bounding(contributions)
