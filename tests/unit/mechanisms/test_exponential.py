"""The exponential mechanism: its exact law, its range, and what it refuses."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.mechanisms.exponential import ExponentialMechanism
from discreet.privacy import BoundedRange, Neighbours


def losses(law, other):
    return [math.log(law[i][0] / other[i][1]) for i in law]


def test_epsilon_gives_the_scale_and_the_scale_gives_epsilon():
    assert ExponentialMechanism(3, epsilon=0.5, sensitivity=2).scale == 8
    assert ExponentialMechanism(3, scale=8, sensitivity=2).epsilon == Fraction(1, 2)
    assert ExponentialMechanism(3, epsilon=0.5, sensitivity=2, monotone=True).scale == 4


@pytest.mark.parametrize("monotone", [False, True])
def test_losses_stay_within_epsilon_and_their_range_too(monotone):
    mechanism = ExponentialMechanism(40, epsilon=1, sensitivity=3, monotone=monotone)
    assert mechanism.guarantee == BoundedRange(1)
    worst = 0.0
    for pair in mechanism.claim.pairs:
        loss = losses(mechanism.law(pair.left), mechanism.law(pair.right))
        assert max(map(abs, loss)) <= 1 + 1e-12
        assert max(loss) - min(loss) <= 1 + 1e-12
        worst = max(worst, max(loss) - min(loss))
    assert worst == pytest.approx(1)


def test_group_privacy_is_not_exceeded_by_three_people_at_once():
    mechanism = ExponentialMechanism(10, epsilon=1)
    left, right = [3] + [0] * 9, [0] + [3] * 9
    loss = losses(mechanism.law(left), mechanism.law(right))
    assert max(loss) <= float(mechanism.guarantee.group(3).epsilon(0))


def test_the_law_is_that_of_the_weights():
    law = ExponentialMechanism(2, scale=1).law([0, 1])
    assert law[1][0] == pytest.approx(math.e / (1 + math.e), rel=1e-15)


def test_utilities_and_names_of_outputs_come_through():
    def agreement(votes, name):
        return votes.count(name) * 1000

    mechanism = ExponentialMechanism(
        ["tea", "coffee"], epsilon=1, sensitivity=1000, utility=agreement
    )
    assert mechanism.release(["tea"] * 90 + ["coffee"] * 3) == "tea"


def test_mixed_and_huge_scores_are_not_rounded():
    scale_one = ExponentialMechanism(2, scale=1)
    assert scale_one.release([2**70, 2**70 + 1000]) == 1
    assert scale_one.release([0.5, 2**53 + 1000]) == 1
    assert scale_one.release([Fraction(1, 3), Fraction(10**9)]) == 1
    assert scale_one.release(np.array([0, 250], dtype=np.uint8)) == 1


def test_c3_candidate_sets_that_follow_the_data_are_refused():
    # Failure class "data-dependent candidate sets": an output that only one person has shows them.
    mechanism = ExponentialMechanism(["a", "b", "c"], epsilon=1)
    with pytest.raises(InputError, match="also an output that no one in the data has"):
        mechanism.release([4, 2])
    with pytest.raises(InputError):
        mechanism.release([4, 2, 1, 1])


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, "1", None, True])
def test_c1_scores_that_are_no_finite_numbers_are_refused_without_being_quoted(bad):
    with pytest.raises(InputError) as refused:
        ExponentialMechanism(2, epsilon=1).release([1, bad])
    assert "nan" not in str(refused.value).lower().replace("nan or infinity", "")


@pytest.mark.parametrize(
    "parameters",
    [
        {"outputs": 3},
        {"outputs": 3, "epsilon": 1, "scale": 1},
        {"outputs": 3, "epsilon": 0},
        {"outputs": 3, "epsilon": math.nan},
        {"outputs": 3, "epsilon": math.inf},
        {"outputs": 3, "scale": -1},
        {"outputs": 3, "epsilon": 1, "sensitivity": 0},
        {"outputs": 0, "epsilon": 1},
        {"outputs": [], "epsilon": 1},
        {"outputs": ["a", "a"], "epsilon": 1},
        {"outputs": 3, "epsilon": 1, "neighbours": "nobody"},
        {
            "outputs": 3,
            "epsilon": 1,
            "monotone": True,
            "neighbours": Neighbours.CHANGE_ONE,
        },
    ],
)
def test_bad_parameters_are_refused_at_birth(parameters):
    with pytest.raises(ValueError, match=r"."):
        ExponentialMechanism(**parameters)


def test_the_utility_bound_is_the_published_one():
    mechanism = ExponentialMechanism(100, epsilon=2, sensitivity=3)
    expected = (math.log(100) + math.log(20)) * 3
    assert mechanism.error(0.95) == pytest.approx(expected)
    assert mechanism.error(0.95) >= expected


def test_the_utility_bound_holds_for_the_worst_scores():
    mechanism = ExponentialMechanism(50, epsilon=1)
    gap = mechanism.error(0.9)
    law = mechanism.law([0.0] + [-gap] * 49)
    assert sum(upper for i, (_, upper) in law.items() if i) <= 0.1


def test_neighbours_are_carried():
    change = ExponentialMechanism(2, epsilon=1, neighbours=Neighbours.CHANGE_ONE)
    assert change.guarantee.neighbours is Neighbours.CHANGE_ONE


def test_one_output_is_always_chosen():
    assert ExponentialMechanism(["only"], epsilon=1).release([3]) == "only"


def test_large_output_spaces_have_no_written_law():
    assert ExponentialMechanism(1000, epsilon=1).claim.law is None
