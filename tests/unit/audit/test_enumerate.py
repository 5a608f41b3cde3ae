import math
from dataclasses import replace

import pytest

from discreet.audit.enumerate import Laws, check_law, enumerate_loss
from discreet.audit.report import audit_claim
from discreet.errors import InputError
from discreet.mechanisms.exponential import ExponentialMechanism
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.mechanism import Claim, Pair
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.privacy import ZCDP, Approximate, BoundedRange, Pure

HALF, THIRD = {0: (0.5, 0.5), 1: (0.5, 0.5)}, {0: (1 / 3, 1 / 3), 1: (2 / 3, 2 / 3)}


def test_divergences_of_two_coins_are_the_textbook_ones_from_below():
    laws = Laws.of(HALF, THIRD)
    renyi = math.log(0.25 * 3 + 0.25 * 1.5)

    assert laws.max_divergence() == pytest.approx(math.log(1.5), rel=1e-12)
    assert laws.hockey_stick(0.0) == pytest.approx(1 / 6, rel=1e-12)
    assert laws.renyi(2) == pytest.approx(renyi, rel=1e-12)
    assert laws.max_divergence() <= math.log(1.5)
    assert laws.hockey_stick(0.0) <= 1 / 6
    assert laws.renyi(2) <= renyi


def test_an_outcome_that_one_side_lacks_has_infinite_loss():
    laws = Laws.of(HALF, {0: (1.0, 1.0)})

    assert laws.max_divergence() == math.inf
    assert laws.renyi(8) == math.inf
    assert laws.certified(0.4) > 30
    assert laws.certified(0.6) == -math.inf


def test_the_certified_epsilon_is_where_the_divergence_is_delta():
    laws = Laws.of(HALF, THIRD)
    epsilon = laws.certified(0.1)

    assert laws.hockey_stick(epsilon) == pytest.approx(0.1, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1, 3])
def test_tight_claims_are_met_exactly_and_never_exceeded(epsilon):
    found = enumerate_loss(RandomizedResponse(epsilon=epsilon).claim)

    assert found.bound == pytest.approx(epsilon, rel=1e-12)
    assert not found.refuted


def test_permute_and_flip_is_not_of_bounded_range():
    claim = replace(PermuteAndFlip(3, epsilon=1).claim, guarantee=ZCDP(1 / 8))

    assert "Renyi" in enumerate_loss(claim).reason
    assert not enumerate_loss(replace(claim, guarantee=Pure(1))).refuted


def test_the_exponential_mechanism_is_of_bounded_range():
    for count in (2, 3, 5):
        claim = ExponentialMechanism(count, epsilon=1).claim

        assert claim.guarantee == BoundedRange(1)
        assert not enumerate_loss(claim).refuted


def test_a_claim_a_thousandth_too_small_is_refuted():
    claim = Laplace(epsilon=1, sensitivity=3).claim

    assert enumerate_loss(replace(claim, guarantee=Pure(0.999))).refuted
    assert enumerate_loss(replace(claim, guarantee=Approximate(0.99, 1e-4))).refuted
    assert not enumerate_loss(replace(claim, guarantee=Pure(1.001))).refuted


def test_what_does_not_sum_to_one_is_no_law():
    claim = RandomizedResponse(epsilon=1).claim
    broken = replace(claim, law=lambda _: {0: (0.5, 0.5), 1: (0.4, 0.4)})

    assert "sum" in enumerate_loss(broken).reason


def test_without_a_law_there_is_nothing_to_enumerate():
    claim = Claim("bare", Pure(1), (Pair(0, 1),), lambda _value, runs: [0] * runs)

    with pytest.raises(InputError):
        enumerate_loss(claim)
    with pytest.raises(InputError):
        check_law(claim)


def test_counts_agree_with_the_law_they_are_drawn_from():
    claims = [
        Laplace(epsilon=1, sensitivity=1).claim,
        RandomizedResponse(epsilon=1, k=5).claim,
        PermuteAndFlip(4, epsilon=2).claim,
    ]
    for claim in claims:
        assert not check_law(claim, samples=50_000).refuted


def test_an_outcome_that_the_law_does_not_name_is_refuted():
    claim = RandomizedResponse(epsilon=1).claim
    surprising = replace(claim, draw=lambda _value, runs: [2] * runs)

    assert "stated probability" in check_law(surprising, samples=1000).reason


def test_a_law_is_computed_once_for_each_input():
    claim, asked = RandomizedResponse(epsilon=1, k=3).claim, []
    listened = replace(claim, law=lambda side: asked.append(side) or claim.law(side))

    assert not audit_claim("once", listened, samples=1000).refuted
    assert len(asked) == len({side for pair in claim.pairs for side in (pair.left, pair.right)})
