"""What a question may cost, and what that buys of Gaussian noise."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.errors import InputError
from discreet.privacy import ZCDP
from discreet.rationals import Real, non_negative, positive


@dataclass(frozen=True, slots=True, init=False)
class Price:
    """What a question may cost: (epsilon, delta)-differential privacy in all."""

    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: Real, delta: Real = 0) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        object.__setattr__(self, "delta", non_negative(delta, "delta"))
        if self.delta >= 1:
            raise InputError(f"delta is {delta}", why="it is a probability", fix="pass delta < 1")

    def over(self, parts: int) -> "Price":
        """An equal share of it."""
        return Price(self.epsilon / parts, self.delta / parts)


@lru_cache(maxsize=256)
def largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """About the largest rho for which rho-zCDP certainly gives (epsilon, delta).

    Found in floats, then confirmed by the guarantee itself; 0 if nothing is confirmed.
    """
    # rho + 2 sqrt(rho log(1/delta)) is above the best conversion, and not by half of rho.
    size = -math.log(float(delta))
    low = (math.sqrt(size + float(epsilon)) - math.sqrt(size)) ** 2
    high = 2 * low
    for _ in range(32):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if _rough_epsilon(middle, float(delta)) <= epsilon else (low, middle)
        )
    for less in (1e-9, 1e-6, 1e-3):
        rho = Fraction(low * (1 - less))
        if rho > 0 and ZCDP(rho).delta(epsilon).upper <= delta:
            return rho
    return Fraction(0)


def _rough_epsilon(rho: float, delta: float) -> float:
    """Epsilon of rho-zCDP at delta in floats, minimised over orders 1 + e^t.

    Reference: Canonne, Kamath, Steinke 2020, Proposition 12.
    """

    def at(t: float) -> float:
        order = math.exp(t)
        rest = -math.log(delta) - order * math.log1p(1 / order) - math.log1p(order)
        return rho * (1 + order) + rest / order

    best = math.log(max(1e-9, math.sqrt(-math.log(delta) / rho)))
    low, high = best - 3.0, best + 3.0
    for _ in range(50):
        third = (high - low) / 3
        low, high = (
            (low, high - third) if at(low + third) < at(high - third) else (low + third, high)
        )
    return at(low)
