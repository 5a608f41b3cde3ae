"""Groups found by the count that is released: the auditor tries to refute what that costs."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from discreet.answer.plan.measure import Measurement
from discreet.answer.plan.thresholded_count import ThresholdedCount
from discreet.audit import refute
from discreet.mechanisms.mechanism import Claim, Pair
from discreet.noise.bits import Keystream, replaced
from discreet.plan.bounding import FULL, ContributionBounds, NoiseKind
from discreet.plan.sensitivity import Strategy
from discreet.plan.statistics import People
from discreet.privacy import ZCDP, Approximate, Neighbours

HIDDEN = -(10**9)
GROUPS, DELTA = 2, Fraction(1, 20)


@dataclass(frozen=True, slots=True)
class Bare(ThresholdedCount):
    """Planted: shows whatever has one person, as if there were no noise."""

    @property
    def threshold(self):
        return FULL


@dataclass(frozen=True, slots=True)
class Forgetful(ThresholdedCount):
    """Planted: forgets that one person may be alone in several groups, and in several tries."""

    @property
    def threshold(self):
        return ThresholdedCount(self.count, min(Fraction(1, 2), 8 * self.delta), 1).threshold


def claim(law, kind=ThresholdedCount):
    cost = Fraction(1)
    alone, contributions = Strategy.of((People(None),)), ContributionBounds(law, GROUPS, GROUPS)
    count = Measurement(alone, contributions, cost, Neighbours.ADD_REMOVE).view(People(None))
    shown = kind(count, DELTA, GROUPS)

    def draw(people, runs):
        """Groups that have nobody are not there to be shown."""
        totals = np.tile(np.array(people, dtype=np.int64) * FULL, runs)
        present = np.flatnonzero(totals)
        [noisy] = count.measurement.release([totals[present]])
        answers = np.full(totals.size, HIDDEN, dtype=np.int64)
        answers[present] = np.where(shown.shows(noisy), noisy, HIDDEN)
        return answers.reshape(runs, len(people))

    exact = Approximate(cost, DELTA) if law is NoiseKind.LAPLACE else ZCDP(cost, DELTA)
    near = round(shown.people)
    pairs = (
        Pair((1, 1), (0, 0)),  # somebody alone in both groups
        Pair((1, near), (0, near - 1)),  # alone in one, among others in the other
        Pair((near, near), (near - 1, near - 1)),  # among others, at the threshold
    )
    return Claim("showing", exact, pairs, draw)


@pytest.mark.parametrize("law", list(NoiseKind))
def test_the_auditor_cannot_refute_what_showing_promises(law):
    stream = Keystream(bytes(32))
    with replaced(lambda: stream):
        found = refute(claim(law), samples=60_000)
    assert not found.refuted


@pytest.mark.parametrize("kind", [Bare, Forgetful])
@pytest.mark.parametrize("law", list(NoiseKind))
def test_a_planted_threshold_is_refuted(law, kind):
    stream = Keystream(bytes(32))
    with replaced(lambda: stream):
        found = refute(claim(law, kind), samples=60_000)
    assert found.refuted
