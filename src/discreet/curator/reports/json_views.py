"""Explanations, charges and budgets as plain JSON for people's eyes: a page, a terminal, a script.

Everything here is rounded for reading; what has to be exact travels by `wire` and `portable`.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from discreet.answer.plan.explain import ExplainedSet, Explanation
from discreet.answer.present.release_json import plain
from discreet.curator.client.wire import write_account
from discreet.curator.ledger.accounts import Account
from discreet.curator.ledger.orders import ChargedOrder
from discreet.curator.orders.order_kinds import kind_of
from discreet.curator.reports.privacy_promise import promised
from discreet.privacy import Approximate, Filter, Guarantee, Neighbours, Pure, read
from discreet.privacy.budgets.charges import Charge

BEFORE: Final = Fraction(1, 10)
"""How likely something is to happen to somebody who is not in the data."""


# --- chances ------------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def chances(guarantee: Guarantee) -> int:
    """For an event of chance 10 in 100 without somebody's data: its largest chance with it.

    Example:
        >>> chances(Pure(1)), chances(Pure(Fraction(1, 10)))
        (28, 12)
    """
    return min(100, math.ceil(100 * (1 - guarantee.tradeoff(BEFORE))))


_reading = lru_cache(maxsize=512)(read)


def write_odds(epsilon: Fraction, delta: Fraction, neighbours: Neighbours) -> dict[str, Any]:
    """The meaning of a price for one person, as JSON."""
    guarantee: Guarantee = Pure(epsilon, neighbours=neighbours)
    if delta:
        guarantee = Approximate(epsilon, delta, neighbours=neighbours)
    return {"text": _reading(guarantee), "before": int(100 * BEFORE), "after": chances(guarantee)}


def _chances(amount: Charge) -> int:
    return chances(Filter(amount).guarantee) if amount.amount or amount.delta else int(100 * BEFORE)


# --- budgets ------------------------------------------------------------------------------------


def account_facts(account: Account) -> dict[str, Any]:
    """An account, and what it means for one person: now, and once all of it is spent."""
    cap = account.limit or account.each
    told = {
        "before": int(100 * BEFORE),
        # Where each person has a budget, nobody's is told: so it is the most that any can lose.
        "after_spent": _chances(account.each or account.total),
        "after_cap": None if cap is None else _chances(cap),
    }
    share = None if account.cap is None else account.share(account.total)
    return {**write_account(account), **_said(account), "share_spent": share, "odds": told}


def _said(account: Account) -> dict[str, float | None]:
    """The cap as the (epsilon, delta) that its owner typed; None where it has none."""
    told = promised(account)
    delta = told.get("delta", 0.0) if "epsilon" in told else None
    return {"cap_epsilon": told.get("epsilon"), "cap_delta": delta}


def filed_facts(filed: ChargedOrder) -> dict[str, Any]:
    """A charge, as far as those who may know of it see it."""
    price = kind_of(filed.order).price_of(filed.order)
    return {
        "id": filed.sequence,
        "time": filed.time,
        "analyst": filed.order.analyst,
        "dataset": filed.order.dataset,
        "kind": filed.order.kind,
        "sql": filed.order.asked,
        "epsilon": float(price.epsilon),
        "delta": float(price.delta),
        "released": filed.answered is not None,
        "failed": filed.failed,
    }


# --- explanations -------------------------------------------------------------------------------


def explanation_facts(told: Explanation, bill: Mapping[Account, Charge]) -> dict[str, Any]:
    """An explanation, and what each account would be charged."""
    columns = {name for part in told.parts for one in part.options for name in one.expected}
    price = told.price
    return {
        "price": {"epsilon": float(price.epsilon), "delta": float(price.delta)},
        "neighbours": told.neighbours.value,
        "protects": told.facts.unit,
        "odds": write_odds(price.epsilon, price.delta, told.neighbours),
        "charges": [charge_facts(account, cost) for account, cost in bill.items()],
        "half_widths": {name: plain(told.half_width(name)) for name in sorted(columns)},
        "expected": [one for part in told.parts for one in _expected_facts(part)],
        "groups": [_group_facts(part) for part in told.parts],
        "keys": list(told.facts.keys),
        "clamps": list(told.facts.clamped),
        "remarks": list(told.facts.remarks),
        "laws": sorted(
            {one.contributions.noise_kind.value for part in told.parts for one in part.options}
        ),
        "sql": list(told.sql),
    }


def charge_facts(account: Account, cost: Charge) -> dict[str, Any]:
    """A charge to an account as JSON."""
    cap, left = account.limit, account.left
    return {
        "account": str(account.holder),
        "holder": account.holder.facts,
        "measure": account.measure.name,
        "cost": float(cost.amount),
        "cost_delta": float(cost.delta),
        "cap": None if cap is None else float(cap.amount),
        "left": None if left is None else float(left.amount),
        "share": None if cap is None else account.share(cost),
    }


def _expected_facts(part: ExplainedSet) -> list[dict[str, Any]]:
    option = part.options[0]
    return [
        {
            "column": name,
            "half_width": plain(one.half_width),
            "unit": one.unit,
            "rows": one.rows,
            "law": option.contributions.noise_kind.value,
        }
        for name, one in option.expected.items()
    ]


def _group_facts(part: ExplainedSet) -> dict[str, Any]:
    return {
        "keys": list(part.keys),
        "groups": part.groups,
        "finding": None if part.finding is None else {"people": part.finding.people},
        "limits": part.limits and asdict(part.limits),
        "clipped": part.clipped,
        "hints": list(part.hints),
    }
