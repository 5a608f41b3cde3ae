"""Delta and epsilon from moments at real orders: the optimal conversion of Renyi divergence.

For a finite loss Z with moment generating function M and any order lam > 0,

    E[(1 - e^(epsilon - Z))+]  <=  M(lam) e^(-lam epsilon) lam^lam / (lam + 1)^(lam + 1),

because (1 - e^-w) e^(-lam w) is largest at e^w = (lam + 1)/lam. Every order is sound, so the search
for the best one may be done in ordinary floats.

Reference: Canonne, Kamath, Steinke, The Discrete Gaussian for Differential Privacy, Proposition
12 (alpha = lam + 1).
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias

from discreet.privacy.numerics.inversion import golden_section
from discreet.privacy.numerics.rounding import Interval, Number

LogMgf: TypeAlias = Callable[[Number], Interval]
Near: TypeAlias = Callable[[float], float]

ORDERS = tuple(2.0**j for j in range(-9, 22))
"""Where the search for the best real order begins."""

_ROUNDS = 24


def log_peak(order: Number) -> Interval:
    """Log of lam^lam / (lam + 1)^(lam + 1)."""
    lam = Interval.of(order)
    return -(lam * (1 / lam).log1p() + (lam + 1).log())


def near_log_peak(lam: float) -> float:
    """`log_peak` in plain floats, for searches."""
    return -(lam * math.log1p(1 / lam) + math.log(lam + 1))


def chernoff_delta(
    log_mgf: LogMgf, near: Near, epsilon: Fraction, orders: Sequence[float] = ORDERS
) -> Interval:
    """The mass of the finite loss beyond epsilon, as bounded at the best order.

    `near` is `log_mgf` in plain floats, for the search.
    """
    e = float(epsilon)
    order = best_order(lambda lam: near(lam) - lam * e + near_log_peak(lam), orders)
    return (log_mgf(order) - Interval.of(epsilon) * order + log_peak(order)).exp()


def chernoff_epsilon(
    log_mgf: LogMgf, near: Near, delta: Interval, orders: Sequence[float] = ORDERS
) -> Interval:
    """The epsilon at which the bound of the best order falls to delta."""
    gain = float(delta.log().hi)
    order = best_order(lambda lam: (near(lam) + near_log_peak(lam) - gain) / lam, orders)
    return (log_mgf(order) + log_peak(order) - delta.log()) / order


def best_order(cost: Near, orders: Sequence[float] = ORDERS) -> float:
    """The order of least cost: over a grid first, then by golden section between its neighbours."""
    costs = [cost(order) for order in orders]
    at = min(range(len(orders)), key=costs.__getitem__)
    ends = orders[max(at - 1, 0)], orders[min(at + 1, len(orders) - 1)]
    least, best = golden_section(cost, ends, _ROUNDS)
    return best if least <= costs[at] else orders[at]
