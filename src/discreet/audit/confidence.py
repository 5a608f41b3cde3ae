"""Clopper-Pearson: what a count proves about a probability, at a stated error rate."""

import math
from typing import Final

import numpy as np

from discreet.errors import InputError
from discreet.privacy.numerics.binomial import log_probability
from discreet.privacy.numerics.rounding import ELEMENTARY, UNIT
from discreet.rationals import whole

_CELLS: Final = 2**7
_FINE: Final = 1e-12


def least(successes: int, trials: int, alpha: float) -> float:
    """A number that is below the probability of success, except with probability alpha.

    Guarantee:
        However large the true p, the answer exceeds p with probability at most alpha over the
        trials. Rounding is included: the answer is a double whose tail is certainly at most alpha.
    Why:
        The p with P(Bin(n, p) >= k) = alpha, found by bisection from below: the tail grows with p,
        and a tail computed from above only moves the answer down.
    Edge cases:
        No success gives 0.

    Example:
        >>> round(least(100, 100, 0.05), 4)  # the rule of three: 0.05^(1/100)
        0.9705

    Reference: Clopper, Pearson 1934.
    """
    n = whole(trials, "trials", at_least=1)
    k = whole(successes, "successes", at_least=0)
    if k > n:
        raise InputError(
            f"{k} successes in {n} trials", why="some were counted twice", fix="count again"
        )
    if not 0 < alpha < 1:
        raise InputError(f"alpha is {alpha}", why="it is an error rate", fix="pass 0 < alpha < 1")
    low, high = 0.0, k / n
    while high - low > _FINE * min(high, 1 - low):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if tail(k, n, middle) <= alpha else (low, middle)
    return low


def most(successes: int, trials: int, alpha: float) -> float:
    """A number that is above the probability of success, except with probability alpha.

    Example:
        >>> round(most(0, 100, 0.05), 4)
        0.0295
    """
    return min(1.0, math.nextafter(1 - least(trials - successes, trials, alpha), 2.0))


def unlikely(successes: int, trials: int, low: float, high: float, alpha: float) -> bool:
    """Whether so many successes, or further off, are at most alpha probable for p in [low, high].

    Example:
        >>> unlikely(50, 100, 0.4, 0.45, alpha=0.01), unlikely(70, 100, 0.4, 0.45, alpha=0.01)
        (False, True)
    """
    if successes > high * trials:
        return tail(successes, trials, high) <= alpha
    failure = min(1.0, math.nextafter(1 - low, 2.0))
    failures = trials - successes
    return failures > failure * trials and tail(failures, trials, failure) <= alpha


def tail(k: int, n: int, p: float) -> float:
    """P(Bin(n, p) >= k) for p <= k/n, from above.

    Why: the first term in log space with its proven error, times the sum of the others in units of
    it; their ratios (n - j)/(j + 1) p/(1 - p) fall below 1 from k >= np on, so a geometric
    series bounds what is left out.
    """
    if k == 0:
        return 1.0
    if p <= 0:
        return 0.0
    logs, error = log_probability(float(n), np.array([float(k)]), p)
    first = math.exp(min(0.0, float(logs[0] + error[0]))) * (1 + 2 * ELEMENTARY)
    return min(1.0, first * _others(k, n, p / (1 - p) * (1 + 4 * UNIT)))


def _others(k: int, n: int, odds: float) -> float:
    """The sum of the terms from k on, in units of the first, from above."""
    term, total, done, cells = 1.0, 1.0, k, _CELLS
    while True:
        j = np.arange(done, done + cells, dtype=np.float64)
        ratios = np.maximum(n - j, 0.0) / (j + 1) * odds
        rest = float(ratios[-1])
        ratios[0] *= term
        terms = np.cumprod(ratios)
        total, term, done = total + float(terms.sum()), float(terms[-1]), done + cells
        cells *= 2
        if rest < 1 and term * rest <= total * (1 - rest) * 2.0**-50:
            left_out = term * rest / (1 - rest)
            return (total + 2 * left_out) * (1 + 8 * (done - k + 4) * UNIT)
