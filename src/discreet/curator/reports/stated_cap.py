"""An account's cap in the words in which owners state budgets."""

from decimal import ROUND_CEILING, Context
from functools import lru_cache
from typing import Final

from discreet.curator.ledger.accounts import Account
from discreet.privacy import Filter
from discreet.privacy.budgets.charges import EPSILON, Charge

_DIGITS: Final = 6


def promised(account: Account) -> dict[str, float]:
    """Epsilon, delta, rho or mu^2 of a cap as its owner typed it; nothing where there is no cap.

    Caps that older ledgers kept without what was typed are converted, and rounded up.

    Example:
        >>> from discreet.curator.ledger.accounts import dataset
        >>> from discreet.curator.budget import Budget
        >>> promised(Account.under(dataset("visits"), Budget(epsilon=3, delta=1e-6).cap()))
        {'epsilon': 3.0, 'delta': 1e-06}
    """
    cap = account.limit or account.each
    if cap is None:
        return {}
    if cap.stated is not None:
        named = zip(("epsilon", "delta"), cap.stated, strict=True)
        return {name: float(amount) for name, amount in named if amount}
    if cap.measure == EPSILON or not cap.delta:
        return {
            cap.measure.name: float(cap.amount),
            **({"delta": float(cap.delta)} if cap.delta else {}),
        }
    return dict(_converted(cap))


@lru_cache(maxsize=256)
def _converted(cap: Charge) -> tuple[tuple[str, float], ...]:
    # A budget in epsilon and delta leaves half of delta to questions and half to the filter.
    delta, upwards = 2 * cap.delta, Context(prec=_DIGITS, rounding=ROUND_CEILING)
    epsilon = Filter(cap).guarantee.epsilon(delta).upper
    return ("epsilon", float(upwards.create_decimal(repr(float(epsilon))))), ("delta", float(delta))
