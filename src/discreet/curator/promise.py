"""What an account's cap promises, in the words in which owners state budgets."""

from decimal import ROUND_CEILING, Context
from functools import lru_cache
from typing import Final

from discreet.curator.accounts import Account
from discreet.privacy import Filter
from discreet.privacy.charges import RHO, Charge

_DIGITS: Final = 6


def promised(account: Account) -> dict[str, float]:
    """Epsilon, delta or rho of a cap; nothing where there is none. What is converted is rounded up.

    Example:
        >>> from discreet.curator.accounts import dataset
        >>> from discreet.curator.budgets import Budget
        >>> promised(Account.under(dataset("visits"), Budget(epsilon=3, delta=1e-6).cap()))
        {'epsilon': 3.0, 'delta': 1e-06}
    """
    cap = account.limit
    if cap is None:
        return {}
    if cap.measure == RHO and cap.delta:
        return dict(_converted(cap))
    own = {"delta": float(cap.delta)} if cap.delta else {}
    return {cap.measure.name: float(cap.amount), **own}


@lru_cache(maxsize=256)
def _converted(cap: Charge) -> tuple[tuple[str, float], ...]:
    # A budget in epsilon and delta leaves half of delta to questions and half to the filter.
    delta, upwards = 2 * cap.delta, Context(prec=_DIGITS, rounding=ROUND_CEILING)
    epsilon = Filter(cap).guarantee.epsilon(delta).upper
    return ("epsilon", float(upwards.create_decimal(repr(float(epsilon))))), ("delta", float(delta))
