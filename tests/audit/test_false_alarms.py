"""A true claim is refuted no more often than the stated error rate.

Claims that are exactly tight are the hardest: any sampling error goes over the edge. With 80
audits at alpha = 0.05, 4 + 5 standard deviations would be 14; the true rate is far lower because
both ends of the certified box have to fail together.
"""

import numpy as np

from discreet import noise
from discreet.audit.enumerate import check_law
from discreet.audit.evidence import points
from discreet.audit.features import _likelihood, row_codes, rows
from discreet.audit.refute import Event, certify, refute
from discreet.mechanisms.mechanism import Claim, Pair
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.privacy import Pure

AUDITS, RUNS, ALPHA, MOST = 80, 2000, 0.05, 14


def alarms(claim):
    return sum(refute(claim, samples=RUNS, alpha=ALPHA).refuted for _ in range(AUDITS))


def test_tight_claims_are_seldom_refuted():
    assert alarms(RandomizedResponse(epsilon=1).claim) <= MOST


def test_wide_outputs_do_not_overfit():
    def draw(value, runs):
        return noise.discrete_laplace(1, size=(runs, 6)) + np.array(value)

    pair = Pair((0,) * 6, (1,) + (0,) * 5)

    assert alarms(Claim("vector", Pure(1), (pair,), draw)) <= MOST


def test_certifying_on_the_training_samples_would_be_caught():
    """The rate above can fail: without a holdout, identical laws look far apart."""

    def draw(value, runs):
        return noise.below(1 << 60, size=runs) + 0 * value

    nothing = Claim("nothing", Pure(0.001), (Pair(0, 1),), draw)

    assert alarms(nothing) <= MOST
    assert cheating(nothing) == 10


def cheating(claim):
    """How often of ten an event chosen and certified on the same samples refutes."""
    found = 0
    for _ in range(10):
        left, right = (rows(claim.draw(side, RUNS)) for side in (0, 1))
        seen = _likelihood("value", row_codes, left, right)
        event = Event(seen, 0.5, above=True, swapped=False)
        point, bound = certify(event, left, right, points(claim.guarantee), ALPHA)
        found += bound > point.epsilon
    return found


def test_a_true_law_is_seldom_doubted():
    claim = RandomizedResponse(epsilon=1, k=4).claim
    doubts = sum(bool(check_law(claim, samples=RUNS, alpha=ALPHA).reason) for _ in range(200))

    assert doubts <= 26  # 10 expected at most, 5 standard deviations more
