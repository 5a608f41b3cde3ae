"""Peeling: what is left, what it costs, and its exact law."""

import math
from itertools import permutations

import pytest

from discreet.errors import InputError
from discreet.mechanisms.top_k import TopK
from discreet.privacy import Pure


def test_outputs_are_different_and_the_best_come_first():
    assert TopK(3, list("abcd"), epsilon=1).release([0, 10**5, 10**4, 10**6]) == ["d", "b", "c"]
    assert sorted(TopK(4, 4, epsilon=1).release([0, 0, 0, 0])) == [0, 1, 2, 3]


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("peel", ["exponential", "permute-and-flip"])
def test_each_round_pays_its_share(peel, monotone):
    mechanism = TopK(4, 9, epsilon=2, sensitivity=3, peel=peel, monotone=monotone)
    assert mechanism.scale == (6 if monotone else 12)
    assert TopK(4, 9, scale=mechanism.scale, sensitivity=3, monotone=monotone).epsilon == 2
    assert 2 <= float(mechanism.guarantee.epsilon(0)) < 2 + 1e-12


def test_rounds_of_the_exponential_mechanism_compose_as_bounded_range():
    assert TopK(4, 9, epsilon=2).guarantee.rho().upper == pytest.approx(4 / 8 / 4)


def test_rho_and_delta_are_met_and_nearly_used_up():
    for k in (1, 4, 50):
        assert 0.999 < 8 * TopK(k, 60, rho=1 / 8).guarantee.rho().upper <= 1
        spent = TopK(k, 60, epsilon=1, delta=1e-6).guarantee.epsilon(1e-6).upper
        assert 0.99 < spent <= 1
    assert TopK(50, 60, epsilon=1, delta=1e-6).scale < TopK(50, 60, epsilon=1).scale / 2


def test_b5_rounds_of_permute_and_flip_are_charged_as_pure():
    guarantee = TopK(4, 9, epsilon=2, peel="permute-and-flip").guarantee
    assert guarantee == Pure(2)


def test_the_written_law_is_private_and_sums_to_one():
    mechanism = TopK(2, 4, epsilon=1)
    claim = mechanism.claim
    for pair in claim.pairs:
        left, right = claim.law(pair.left), claim.law(pair.right)
        assert set(left) == set(permutations(range(4), 2))
        assert sum(low for low, _ in left.values()) == pytest.approx(1)
        assert max(abs(math.log(left[o][0] / right[o][1])) for o in left) <= 1 + 1e-9


def test_the_joint_loss_is_not_of_range_epsilon():
    # Why the rounds are composed and not called one bounded-range mechanism.
    law = TopK(2, 4, epsilon=4).claim.law
    left, right = law((0, 0, 0, 0)), law((1, 1, -1, -1))
    loss = [math.log(left[o][0] / right[o][1]) for o in left]
    assert max(loss) - min(loss) > 4.5


def test_the_error_covers_all_rounds():
    mechanism = TopK(3, 20, epsilon=3)
    assert mechanism.error(0.95) == pytest.approx(2 * (math.log(20) + math.log(3 / 0.05)))


@pytest.mark.parametrize(
    "parameters",
    [
        {"k": 0, "outputs": 3, "epsilon": 1},
        {"k": 4, "outputs": 3, "epsilon": 1},
        {"k": 1.0, "outputs": 3, "epsilon": 1},
        {"k": 1, "outputs": 3},
        {"k": 1, "outputs": 3, "epsilon": 1, "peel": "gumbel"},
        {"k": 1, "outputs": 3, "epsilon": 1, "rho": 1},
        {"k": 1, "outputs": 3, "scale": 1, "rho": 1},
        {"k": 1, "outputs": 3, "delta": 0.1, "rho": 1},
        {"k": 1, "outputs": 3, "delta": 0.1},
        {"k": 1, "outputs": 3, "epsilon": 1, "delta": 0},
        {"k": 2, "outputs": 3, "rho": 1, "peel": "permute-and-flip"},
    ],
)
def test_bad_parameters_are_refused_at_birth(parameters):
    with pytest.raises(InputError):
        TopK(**parameters)


def test_a_long_ranking_is_as_good_as_a_short_one():
    ranking = TopK(1500, 1600, epsilon=10**9).release(range(1600))

    assert ranking == list(range(1599, 99, -1))
