"""Hiding among the clones: the pair of laws that shuffled reports cannot exceed.

Every eps0-private report is, with probability e^-eps0, drawn as if its sender held either of the
two values that an attacker tells apart: a clone. With C ~ Bin(n - 1, e^-eps0) clones, A ~ Bin(C,
1/2) of the first kind and one true report, which shows its own kind with probability e^eps0 /
(e^eps0 + 1), the attacker sees how many of both kinds there are; nothing else adds information.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from discreet.privacy.numerics.binomial import Floats, log_probability, mass_before, mass_beyond
from discreet.privacy.numerics.rounding import ELEMENTARY, UNIT, Interval

_FEWEST: Final = 2.0**-56
"""A term below this share of the first is not worth another step."""

_CELLS: Final = 2**16
"""Terms computed at once: what a processor keeps close."""

_TINY: Final = 1e-300
"""Above anything that underflow can swallow here."""

_HUGE: Final = 300.0

_SMALL: Final = 45.0
"""What is cut off a moment is below 2 e^-45."""

_MOST: Final = 10**9
"""A larger crowd is charged as this many people, which is safe and takes about a second."""

_SPREAD: Final = 2e-4
"""Clone counts within this relative distance share the bound of the smallest of them."""

_COARSE: Final = 4e-3
"""The same for moments, which are asked for at many orders."""


@dataclass(frozen=True, slots=True)
class CloneCounts:
    """How many clones there may be: groups of counts with the mass of each, rounded up.

    Fewer clones hide less (another clone is a coin flip that an attacker could add himself), so a
    group is charged as if it had its smallest count.
    """

    clones: Floats
    masses: Floats
    none: float
    """The mass below the smallest group, charged as if there were no clone at all."""


def clone_counts(
    people: int, epsilon0: Interval, sigmas: float, spread: float = _SPREAD
) -> CloneCounts:
    """The law of the number of clones, cut off `sigmas` deviations below and above its mean."""
    others, chance = min(people, _MOST) - 1, (-epsilon0).exp().lower
    if others * chance < _TINY:
        return _ALONE
    mean = others * chance
    reach = sigmas * math.sqrt(mean * (1 - chance)) + 2 * sigmas
    width = max(1, int(mean * spread))
    first, last = max(0, math.floor(mean - reach)), min(others, math.ceil(mean + reach))
    first -= first % width
    counts = np.arange(first, last + 1, dtype=np.float64)
    logs, error = log_probability(others, counts, chance)
    masses = np.exp(logs + error) * (1 + 2 * ELEMENTARY)
    starts = np.arange(0, len(counts), width)
    grouped = np.add.reduceat(masses, starts) * (1 + 4 * len(counts) * UNIT)
    grouped[-1] += mass_beyond(others, last, chance, masses[-1])
    return CloneCounts(counts[starts], grouped, mass_before(others, first, chance, masses[0]))


_ALONE: Final = CloneCounts(np.zeros(1), np.ones(1), 0.0)


def divergence(group: CloneCounts, epsilon0: Interval, epsilon: Interval) -> float:
    """The hockey-stick divergence of order e^epsilon between the two laws, from above.

    Why:
        With c clones and a reports of the first kind among m = c + 1, P(a) - e^eps Q(a) is positive
        exactly from a* = ceil(tau m) on, tau = (e^(eps+eps0) - 1) / ((e^eps0 - 1)(e^eps + 1)). With
        b = P(Bin(c, 1/2) = a* - 1) the positive part sums to b (kappa - (e^eps - 1) r T), where
        kappa = (e^eps0 - e^eps) / (e^eps0 + 1), r = (m - a*) / a*, and T is the tail of Bin(c, 1/2)
        from a* on in units of its first term. T enters negatively: cutting it short is safe. a* is
        rounded down, which at worst adds one term below 0 by rounding; that is charged by `slip`.
    Edge cases:
        epsilon >= eps0 gives 0: the reports are private by themselves. Past epsilon = 300, where
        e^epsilon nears overflow, the reports' own delta is the answer.
    """
    kappa, slip = _advantage(epsilon0, epsilon)
    if kappa.hi <= 0 or epsilon.lower > _HUGE:
        return max(0.0, kappa.upper)
    totals = group.clones + 1
    start = np.maximum(1.0, np.ceil(_threshold(epsilon0, epsilon) * (1 - 16 * UNIT) * totals))
    logs, error = log_probability(group.clones, start - 1, 0.5)
    tail, steps = half_tail(group.clones, start)
    growth = epsilon.expm1().lower
    hidden = growth * ((totals - start) / start) * tail * (1 - (4 * steps + 16) * UNIT)
    gain = np.maximum(kappa.upper - hidden, 0.0) * (1 + 4 * UNIT) + slip
    terms = group.masses * np.exp(logs + error) * gain
    known = float(np.sum(terms)) * (1 + 2 * ELEMENTARY + 4 * len(terms) * UNIT) + _TINY
    return min(kappa.upper, known + group.none * kappa.upper * (1 + 4 * UNIT))


def _advantage(epsilon0: Interval, epsilon: Interval) -> tuple[Interval, float]:
    """kappa, and what one term wrongly counted near the threshold can cost."""
    local, asked = epsilon0.exp(), epsilon.exp()
    kappa = (local - asked) / (local + 1)
    against = (local * asked - 1) / (local + 1)
    return kappa, 128 * UNIT * (max(kappa.upper, 0.0) + against.upper)


def _threshold(epsilon0: Interval, epsilon: Interval) -> float:
    share = (epsilon + epsilon0).expm1() / (epsilon0.expm1() * (epsilon.exp() + 1))
    return min(share.lower, 1.0)


def half_tail(clones: Floats, start: Floats) -> tuple[Floats, int]:
    """Sum P(Bin(c, 1/2) = j) over j >= start in units of its first term, from below; and the steps.

    A step divides, multiplies and adds once each, so the relative error is below 3 `UNIT` a step.
    """
    top, bottom = clones - start, start + 1
    ahead = np.arange(max(16, _CELLS // len(start)), dtype=np.float64)
    term, total, steps = np.ones_like(start), np.ones_like(start), 0
    while term.max() > _FEWEST:
        ratios = np.maximum(top[:, None] - ahead, 0.0) / (bottom[:, None] + ahead)
        ratios[:, 0] *= term
        terms = np.cumprod(ratios, axis=1, out=ratios)
        total += terms.sum(axis=1)
        term = terms[:, -1].copy()
        ahead += len(ahead)
        steps += len(ahead)
    return total, steps


def log_moment(people: int, epsilon0: Interval, order: float) -> float:
    """Log E[e^(order Z)] of the loss Z between the two laws, from above.

    Why:
        Moments of a positive order never grow under processing, so groups may again be charged as
        their smallest count. Given c clones, P(a) = b (p + (1 - p)(m - a)/a) and P/Q is a ratio of
        the same numbers. Counts further out than `reach` have mass below 2 e^(-2 reach^2/m) by
        Hoeffding's inequality, also after one report moved, and e^(order eps0) bounds the rest of
        the factor.
    """
    exponent = order * epsilon0.upper
    if exponent > _HUGE or epsilon0.upper > _HUGE:
        return math.inf
    sigmas = math.sqrt(2 * (exponent + _SMALL))
    mean = people * math.exp(-epsilon0.upper)
    spread = max(_COARSE, 1 / math.sqrt(max(mean, 1.0)))
    group = clone_counts(people, epsilon0, sigmas, spread)
    total = group.none * math.exp(exponent) * (1 + 4 * ELEMENTARY)
    for clones, mass in zip(group.clones, group.masses, strict=True):
        total += mass * _moment(float(clones), epsilon0, order, sigmas)
    return math.log(total) + (4 * len(group.masses) + 64) * UNIT


def _moment(clones: float, epsilon0: Interval, order: float, sigmas: float) -> float:
    total = clones + 1
    reach = 0.5 * sigmas * math.sqrt(total) + 2
    first, last = max(0.0, math.floor(total / 2 - reach)), min(total, math.ceil(total / 2 + reach))
    a = np.arange(first, last + 1)
    logs, error = log_probability(clones, np.clip(a - 1, 0, clones), 0.5)
    here, here_error = log_probability(clones, np.clip(a, 0, clones), 0.5)
    local = epsilon0.exp().upper
    below = np.where(a >= 1, np.exp(logs + error), 0.0) * local
    above = np.where(a <= clones, np.exp(here + here_error), 0.0)
    ratio = np.log((local * a + (total - a)) / (a + local * (total - a)))
    power = np.exp(order * ratio + (order * np.abs(ratio) + 4 * order + 4) * ELEMENTARY)
    inside = float(np.sum((below + above) * power)) / (local + 1)
    outside = 0.0 if first == 0 and last == total else 2 * math.exp(-_SMALL)
    return inside * (1 + (8 * len(a) + 256) * UNIT) + outside
