"""The noise of either kind that an amount of an account buys."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

from discreet.privacy.budgets.charges import EPSILON, MU_SQUARED, RHO, Measure, price
from discreet.privacy.budgets.filters import amount_within
from discreet.privacy.guarantees.pure import Pure

__all__ = ["Affordable", "amount_within", "buys"]

_ROUNDS: Final = 60


@dataclass(frozen=True, slots=True)
class Affordable:
    """The noise that one amount pays for, of each kind; 0 where it pays for none.

    Guarantee:
        `Pure(epsilon)` and `GDP.of_square(mu_squared)` each cost at most the amount (the second but
        for rounding its root up to a double).

    Example:
        >>> one = buys(RHO, Fraction(1, 200))
        >>> float(one.mu_squared), round(float(one.epsilon), 4)
        (0.01, 0.1)
    """

    epsilon: Fraction
    mu_squared: Fraction


@lru_cache(maxsize=4096)
def buys(measure: Measure, amount: Fraction) -> Affordable:
    """The most epsilon of Laplace noise, and mu^2 of Gaussian noise, for an amount of a measure.

    Edge cases: epsilon cannot pay for Gaussian noise at all. Nothing buys nothing.
    """
    if measure == EPSILON:
        return Affordable(amount, Fraction(0))
    if measure in (RHO, MU_SQUARED):
        square = amount * (2 if measure == RHO else 1)
    else:
        square = 2 * amount / (measure.order or 2)
    return Affordable(_most(lambda e: price(Pure(e), measure).amount <= amount), square)


def _most(fits: Callable[[Fraction], bool]) -> Fraction:
    """The largest epsilon that fits, to 40 bits and rounded down; 0 where hardly any does."""
    low, high = Fraction(0), Fraction(1)
    while fits(high):
        low, high = high, high * 2
    for _ in range(_ROUNDS):
        if low and high - low <= low / 2**36:
            break
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
