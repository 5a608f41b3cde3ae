"""Propose-test-release: exact privacy where the test may pass by mistake."""

import math
from itertools import combinations_with_replacement

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.mechanisms.propose_test_release import ProposeTestRelease, TestedMedian
from discreet.privacy import Approximate, Neighbours


def law(trial, value, distance, reach=300):
    """P(no answer), and P(answer = k) for k from -reach to reach."""
    q = math.exp(-1 / float(trial.answer_scale))
    k = np.arange(-reach, reach + 1)
    passed = trial.pass_probability(distance).upper
    return np.append(passed * (1 - q) / (1 + q) * q ** np.abs(k - value), 1 - passed)


def excess(left, right, epsilon):
    return float(np.maximum(0, left - math.exp(epsilon) * right).sum())


@pytest.mark.parametrize("epsilon", [0.5, 1, 3])
@pytest.mark.parametrize("delta", [1e-1, 1e-3])
def test_exact_hockey_sticks_stay_within_delta(epsilon, delta):
    trial = ProposeTestRelease(bound=2, epsilon=epsilon, delta=delta)
    enough = trial.cutoff
    # Values further apart than the bound are both at distance 0: each is the other's neighbour.
    pairs = [((0, 0), (90, 0)), ((0, 0), (2, 1))]
    pairs += [((0, d), (2, d + 1)) for d in (1, enough // 2, enough, 2 * enough)]
    for one, other in pairs:
        assert excess(law(trial, *one), law(trial, *other), epsilon) <= delta
        assert excess(law(trial, *other), law(trial, *one), epsilon) <= delta


def test_a6_the_cutoff_is_the_first_that_hides_a_broken_bound_enough():
    trial = ProposeTestRelease(bound=2, epsilon=1, delta=1e-3)
    q = math.exp(-0.5)
    assert q**trial.cutoff / (1 + q) <= 1e-3 < q ** (trial.cutoff - 1) / (1 + q)


def test_pass_probabilities_rise_from_delta_to_one():
    trial = ProposeTestRelease(bound=1, epsilon=1, delta=1e-2)
    passed = [trial.pass_probability(d).upper for d in range(60)]
    assert passed == sorted(passed)
    assert passed[0] <= 1e-2
    assert passed[-1] > 0.999


def test_draws_follow_the_exact_law():
    trial = ProposeTestRelease(bound=1, epsilon=2, delta=1e-1)
    rows = trial.claim.draw((7, 2), 50_000)
    p = trial.pass_probability(2).upper
    # 5 standard deviations of a binomial.
    assert abs(rows[:, 0].sum() - 50_000 * p) < 5 * math.sqrt(50_000 * p)
    answers = rows[rows[:, 0] == 1, 1]
    assert abs(answers.mean() - 7) < 0.2
    assert not rows[rows[:, 0] == 0, 1].any()


@pytest.mark.parametrize("kind", list(Neighbours))
def test_distances_of_medians_are_0_where_broken_and_move_by_one(kind):
    mechanism = TestedMedian(0, 4, bound=1, epsilon=1, delta=1e-2, neighbours=kind)
    for data in combinations_with_replacement(range(5), 4):
        cells = mechanism.median.sort(data)
        value, distance = mechanism._reduce(data)
        assert (distance == 0) == (mechanism.median.local(cells, 0) > 1)
        for x in range(5):
            other = (*data[1:], x) if kind is Neighbours.CHANGE_ONE else (*data, x)
            moved, near = mechanism._reduce(other)
            assert abs(near - distance) <= 1
            assert abs(moved - value) <= 1 or distance == near == 0


def test_agreeing_values_get_an_answer_and_few_do_not():
    mechanism = TestedMedian(0, 64, bound=2, epsilon=1, delta=1e-6, grid=0.5)
    assert abs(mechanism.release([10.5] * 1000) - 10.5) <= 60
    assert mechanism.release([1.0, 60.0]) is None
    assert mechanism.guarantee == Approximate(1, 1e-6)
    assert mechanism.error(0.95) == 0.5 * mechanism.trial.error(0.95)


def test_reals_need_a_grid():
    with pytest.raises(InputError, match="grid"):
        ProposeTestRelease(bound=1, epsilon=1, delta=1e-6).release((0.5, 3))
    answer = ProposeTestRelease(bound=1, epsilon=1, delta=1e-6, grid=0.25).release((0.5, 10**4))
    assert (answer * 4).is_integer()


@pytest.mark.parametrize("value", [(math.nan, 1), (1, math.nan), (1, 0.5), (math.inf, 1)])
def test_c1_data_that_are_no_finite_numbers_are_refused(value):
    with pytest.raises(InputError):
        ProposeTestRelease(bound=1, epsilon=1, delta=1e-6, grid=1).release(value)


@pytest.mark.parametrize(
    "parameters", [{"bound": 0}, {"epsilon": 0}, {"delta": 0}, {"delta": 1}, {"bound": math.nan}]
)
def test_bad_parameters_are_refused_at_birth(parameters):
    good = {"bound": 1, "epsilon": 1, "delta": 1e-6}
    with pytest.raises(InputError):
        ProposeTestRelease(**(good | parameters))
