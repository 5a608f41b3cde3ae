"""The limits that the system chooses where nobody has stated them, and what they cut off."""

import math
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from discreet.answer.plan.contribution_histogram import ContributionHistogram
from discreet.answer.plan.limits import BLIND, ClippedShare, GroupNorm, Norm
from discreet.answer.plan.set_plan import GROUPS, ROWS, SetPlan
from discreet.plan.bounding import ContributionBounds, NoiseKind
from discreet.plan.schema import Limits
from discreet.plan.statistics import People

_BIAS = 0.7
"""The most that clipping may take from a typical group, in scales of its noise."""

_FAR = 8
"""How many times further than the last step seen a limit may be."""

_DOUBTED = 1.25
"""Noise scales of people by which the tail may be longer than it seems, for intervals."""


def choose(spread: ContributionHistogram, norm: Norm, noise: float, groups: int) -> int:
    """The least limit whose bias in a typical group is small beside its noise.

    `noise` is the scale of the noise for a limit of 1.

    Why: the error is least where one person more below the limit saves as much bias as it adds
    noise; there bias and noise are alike. A bias below the scale of the noise is cheaper than a
    wrong guess of the tail: at worst a quarter more error for a tail that falls as 1/x^2.
    """
    if not spread.is_seen:  # wide error bars are honest; leaving people out is not
        return min(BLIND, spread.steps[-1])
    found, last = spread.estimate(), _FAR * spread.steps[spread.end]
    candidates = [step for step in spread.steps if step <= last]
    allowed = _BIAS * groups * noise * norm.noise(np.array(candidates, dtype=np.float64))
    for step, most in zip(candidates, allowed, strict=True):
        if float(found.people @ norm.lost(found.norms, step)) <= most:
            return step
    return candidates[-1]


def clipped(spread: ContributionHistogram, norm: Norm, limit: int) -> ClippedShare | None:
    """The share that a limit clips; None where the histogram shows nothing.

    Guarantee:
        Post-processing of the released histogram: it costs nothing more.
    """
    if not spread.is_seen:
        return None
    found = spread.estimate(_DOUBTED)
    whole = float(found.people @ norm.counted(found.norms))
    lost = float(found.people @ norm.lost(found.norms, limit))
    most = _surely_covered(spread, norm, limit, lost)
    return ClippedShare(*spread.beyond(limit), min(lost / whole, 1.0), most)


def _surely_covered(spread: ContributionHistogram, norm: Norm, limit: int, allowed: float) -> int:
    """The highest norm up to which no more than is allowed for is cut off, whatever the tail.

    Why: what is allowed for rests on how the tail falls as far as it is seen, and nobody can see
    how it goes on. If nobody had a higher norm than m, the noisy counts themselves bound what is
    lost: their sum, and two standard deviations more. At m = limit nothing is.
    """
    ends = np.array([*spread.steps, np.inf])
    covered = limit
    for most in (step for step in spread.steps if step > limit):
        each = norm.lost(np.minimum(ends, most), limit)
        unsure = 2 * spread.scale * math.sqrt(2 * float(each @ each))
        if float(spread.people @ each) + unsure > allowed:
            break
        covered = most
    return covered


def unit_scale(plan: SetPlan, norm: Norm) -> float:
    """The scale of the noise for a limit of 1, of the statistic that is measured best."""
    people = isinstance(norm, GroupNorm)
    costs = [
        float(cost)
        for strategy, cost in plan.costs.items()
        if isinstance(strategy.statistics[0], People) == people
    ]
    if not costs:  # nobody is counted: the limit on groups decides which of them are found
        return 1 / float(plan.keys.epsilon) if plan.keys is not None else 1.0
    return 1 / max(costs) if plan.noise_kind is NoiseKind.LAPLACE else 1 / math.sqrt(2 * max(costs))


@lru_cache(maxsize=256)
def typical(noise_kind: NoiseKind, groups: int) -> ContributionBounds:
    """A guess of one person's contribution before anything is known: four rows in four groups."""
    return ContributionBounds.stated(Limits(min(groups, 4), 4), noise_kind)


def lost_rows(clipped: Mapping[str, ClippedShare], *, found: bool) -> float:
    """The share of all rows that chosen limits cut off at most: so far they move a quantile."""
    counted = (ROWS, GROUPS) if found else (ROWS,)
    return min(sum(clipped[what].lost for what in counted if what in clipped), 1.0)
