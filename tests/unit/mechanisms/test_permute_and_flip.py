"""Permute-and-flip: its exact law, and that it is charged as pure."""

import math
from itertools import permutations

import pytest

from discreet.mechanisms.exponential import ExponentialMechanism
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.privacy import BoundedRange, Pure


def brute_law(scores, scale):
    """Visit every order, flipping until heads; the best one always shows heads."""
    coins = [math.exp((score - max(scores)) / scale) for score in scores]
    law = [0.0] * len(scores)
    orders = list(permutations(range(len(scores))))
    for order in orders:
        tails = 1.0
        for i in order:
            law[i] += tails * coins[i] / len(orders)
            tails *= 1 - coins[i]
    return law


@pytest.mark.parametrize("scores", [[0], [0, 0], [0, 1], [3, 1, 2], [0, 0, 5, 4], [9, 1, 1, 2, 7]])
def test_the_law_is_that_of_permuting_and_flipping(scores):
    law = PermuteAndFlip(len(scores), scale=2).law(scores)
    assert [low for low, _ in law.values()] == pytest.approx(brute_law(scores, 2), rel=1e-12)


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("count", [2, 3, 8])
def test_losses_stay_within_epsilon_and_reach_it(count, monotone):
    mechanism = PermuteAndFlip(count, epsilon=1, monotone=monotone)
    worst = 0.0
    for pair in mechanism.claim.pairs:
        left, right = mechanism.law(pair.left), mechanism.law(pair.right)
        loss = [abs(math.log(left[i][0] / right[i][1])) for i in left]
        assert max(loss) <= 1 + 1e-12
        worst = max(worst, *loss)
    if count == 2:
        assert worst == pytest.approx(1)


def test_b5_permute_and_flip_is_not_charged_as_the_exponential_mechanism():
    # Failure class "wrong theorem for mechanism": rho = epsilon^2/8 does not hold here.
    mechanism = PermuteAndFlip(2, epsilon=1)
    assert isinstance(mechanism.guarantee, Pure)
    assert mechanism.guarantee.rho().upper > 3 * BoundedRange(1).rho().upper
    # An exact witness: what it gives away is 2.6 times what epsilon^2/8 would allow at order 1.01.
    left, right = mechanism.law([0, -0.8]), mechanism.law([-1, 0.2])
    for order, excess in ((1.01, 2.6), (2, 2)):
        moment = sum(left[i][0] ** order * right[i][1] ** (1 - order) for i in left)
        divergence = math.log(moment) / (order - 1)
        assert divergence > excess * order * BoundedRange(1).rho().upper
        assert divergence <= order * mechanism.guarantee.rho().upper


def _range(left, right):
    loss = [math.log(left[i][0] / right[i][1]) for i in left]
    return max(loss) - min(loss)


def test_it_is_not_of_bounded_range():
    mechanism = PermuteAndFlip(2, epsilon=1)
    ranges = [
        _range(mechanism.law([0, gap]), mechanism.law([-1, gap + 1])) for gap in (-1, -0.5, 0, 1)
    ]
    assert max(ranges) > 1.05


def test_large_output_spaces_have_no_written_law():
    assert PermuteAndFlip(13, epsilon=1).claim.law is None


def test_it_never_chooses_worse_than_the_exponential_mechanism():
    scores = [0, 1, 2, 4, 4, 7]
    flip, plain = PermuteAndFlip(6, epsilon=1), ExponentialMechanism(6, epsilon=1)

    def expected(law):
        return sum(scores[i] * low for i, (low, _) in law.items())

    assert expected(flip.law(scores)) > expected(plain.law(scores))
    assert flip.error(0.95) < plain.error(0.95)


def test_the_utility_bound_holds_for_the_worst_scores():
    mechanism = PermuteAndFlip(10, epsilon=1)
    gap = mechanism.error(0.9)
    law = mechanism.law([0.0] + [-gap] * 9)
    assert sum(upper for i, (_, upper) in law.items() if i) <= 0.1
    assert PermuteAndFlip(1, epsilon=1).error(0.5) == 0
