"""A lower bound on the loss of shuffled reports: binary randomized response.

An amplification theorem bounds the truth from above. This bounds it from below, with one local
randomizer and one attack, so that a reader sees how far the theorem can be from the best possible.
"""

import math
from typing import Final

import numpy as np

from discreet.privacy.numerics.binomial import log_probability
from discreet.privacy.numerics.rounding import ELEMENTARY, UNIT, Interval

_CELLS: Final = 2**14
_LEAST: Final = 1e-100
_HUGE: Final = 300.0
_MOST: Final = 10**9
"""No more people are charged for, and the tail of more would take long to sum."""


def divergence(people: int, epsilon0: Interval, epsilon: Interval) -> float:
    """A lower bound on delta(epsilon) of n shuffled binary randomized responses.

    Why:
        All others hold 0 and report 1 with probability r >= 1/(e^eps0 + 1); the attacker looks at
        the number of ones and claims "the person held 1" from k on. Any event is a lower bound on
        the divergence, so k needs no care: P(k or more) - e^eps Q(k or more) = b (kappa - (e^eps -
        1) s T), with b = P(Bin(n-1, r) = k-1), kappa = 1 - r (1 + e^eps), s b the next term of the
        binomial law and T its tail in units of that term.
    """
    if people > _MOST:
        return 0.0
    others, lie = people - 1, (1 / (epsilon0.exp() + 1)).upper
    kappa = (1 - lie * (epsilon.exp() + 1)).lower
    if kappa <= _LEAST or lie >= 1 / 2 or epsilon.lower > _HUGE:
        return 0.0
    odds = ((epsilon.exp() * (1 - lie) - lie) / kappa).upper * lie / (1 - lie)
    start = min(max(1, math.ceil(people * odds / (1 + odds))), people)
    logs, error = log_probability(float(others), np.array([start - 1.0]), lie)
    step = (others - start + 1) / start * (lie / (1 - lie))
    hidden = epsilon.expm1().upper * step * _tail(others, start, lie) * (1 + 16 * UNIT)
    gain = max(kappa - hidden, 0.0) * (1 - 4 * UNIT)
    return float(np.exp(logs[0] - error[0])) * gain * (1 - 2 * ELEMENTARY)


def _tail(others: int, start: int, lie: float) -> float:
    """Sum P(Bin(n-1, r) = j) over j >= start in units of its first term, from above."""
    term, total, done, odds = 1.0, 1.0, 0, lie / (1 - lie)
    while True:
        ahead = np.arange(done, done + _CELLS, dtype=np.float64)
        ratios = np.maximum(others - start - ahead, 0.0) / (start + 1 + ahead) * odds
        ratios[0] *= term
        terms = np.cumprod(ratios)
        total, term, done = total + float(terms.sum()), float(terms[-1]), done + _CELLS
        rest = float(ratios[-1])
        if rest < 1 and term * rest / (1 - rest) <= total * 2.0**-50:
            return (total + 2 * term * rest / (1 - rest)) * (1 + (8 * done + 16) * UNIT)
