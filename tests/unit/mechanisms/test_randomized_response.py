"""Randomized response: exact coins, honest epsilon, unbiased estimates."""

import itertools
import math
from fractions import Fraction

import gmpy2
import numpy as np
import pytest

from discreet.errors import InputError
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.privacy import Neighbours
from discreet.privacy.numerics.rounding import Interval


def test_warners_gamma_is_the_distance_of_truth_from_a_half():
    survey = RandomizedResponse(gamma=0.1)
    assert (survey.truth, survey.lie) == (Fraction(3, 5), Fraction(2, 5))
    assert survey.gamma == Fraction(1, 10)
    assert survey.guarantee.epsilon(0).upper == pytest.approx(math.log(1.5), rel=1e-15)


def test_two_coins_cost_ln_3():
    survey = RandomizedResponse.two_coins()
    assert (survey.truth, survey.lie) == (Fraction(3, 4), Fraction(1, 4))
    assert Interval.of(survey.epsilon).exp().lower >= 3 - 1e-15
    assert survey.guarantee.epsilon(0).upper >= math.log(3)


@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 1, Fraction(1, 3), 5, 40, 700])
@pytest.mark.parametrize("k", [2, 3, 100])
def test_a7_the_true_ratio_is_at_most_e_to_the_epsilon(epsilon, k):
    survey = RandomizedResponse(epsilon=epsilon, k=k)
    assert survey.truth + (k - 1) * survey.lie == 1
    ratio = Interval.of(survey.truth / survey.lie)
    asked = Interval.of(survey.epsilon)
    assert ratio.log().lo <= asked.hi
    # What rounding costs is below 2^-100 of the ratio.
    assert (ratio / asked.exp()).lower > 1 - 2**-40
    # At 500 bits: (e^epsilon + k - 1) lie >= 1, which 113 bits cannot tell.
    with gmpy2.context(precision=500):
        lie = gmpy2.mpfr(gmpy2.mpq(survey.lie))
        odds = gmpy2.exp(gmpy2.mpq(survey.epsilon)) + (k - 1)
        assert odds * lie >= 1


def test_the_law_is_the_one_claimed():
    survey = RandomizedResponse(epsilon=1, k=3)
    law = survey.claim.law(2)
    assert set(law) == {0, 1, 2}
    worst = max(law[2][1] / law[0][0], law[2][1] / law[1][0])
    assert worst <= math.e * (1 + 1e-15)


def test_never_lying_is_allowed_and_promises_nothing():
    survey = RandomizedResponse(gamma=0.5)
    assert survey.release([0, 1, 1]).tolist() == [0, 1, 1]
    assert survey.guarantee.delta(100).upper == 1
    assert survey.epsilon is None


def test_types_and_shapes_come_back_as_they_went_in():
    survey = RandomizedResponse(epsilon=1)
    yes = True
    assert isinstance(survey.release(yes), bool)
    assert isinstance(survey.release(1), int)
    assert survey.release(np.array([True, False])).dtype == np.bool_
    assert survey.release([[0, 1], [1, 0]]).shape == (2, 2)
    assert survey.release([]).shape == (0,)
    assert isinstance(RandomizedResponse(epsilon=1, k=7).release(6), int)


@pytest.mark.parametrize("value", [2, -1, 0.5, math.nan, "yes", [0, 2], None, 2**70, [True, 2]])
def test_other_answers_are_refused_without_being_quoted(value):
    with pytest.raises(InputError) as error:
        RandomizedResponse(epsilon=1).release(value)
    assert str(value) not in str(error.value).replace("k-1", "") or value in (2, [0, 2])


def test_bools_are_answers_to_yes_or_no_alone():
    with pytest.raises(InputError):
        RandomizedResponse(epsilon=1, k=3).release([True])


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"epsilon": 1, "gamma": 0.1},
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": math.nan},
        {"epsilon": math.inf},
        {"epsilon": 1e9},
        {"epsilon": 1e-60},
        {"gamma": 0},
        {"gamma": 0.51},
        {"gamma": math.nan},
        {"gamma": 0.1, "k": 3},
        {"epsilon": 1, "k": 1},
        {"epsilon": 1, "k": 2.0},
    ],
)
def test_bad_parameters_are_refused_at_birth(parameters):
    with pytest.raises(InputError):
        RandomizedResponse(**parameters)


@pytest.mark.parametrize("gamma", [Fraction(1, 10), Fraction(1, 4), Fraction(2, 5)])
@pytest.mark.parametrize("ones", [0, 1, 3])
def test_the_estimate_is_unbiased_with_the_stated_variance(gamma, ones):
    """By enumerating all reports of three people, with their exact probabilities."""
    survey = RandomizedResponse(gamma=gamma)
    answers = [1] * ones + [0] * (3 - ones)
    mean = square = Fraction(0)
    for reports in itertools.product((0, 1), repeat=3):
        chances = [
            survey.truth if report == answer else survey.lie
            for report, answer in zip(reports, answers, strict=True)
        ]
        estimate = Fraction(survey.estimate(reports)).limit_denominator(10**9)
        mean += math.prod(chances) * estimate
        square += math.prod(chances) * estimate**2
    assert float(mean) == pytest.approx(ones / 3, abs=1e-9)
    variance = float(square - mean**2)
    assert variance == pytest.approx(survey.variance(3), abs=1e-8)
    assert survey.variance(3) <= 1 / (16 * float(gamma) ** 2 * 3)


def test_the_estimates_of_all_answers_sum_to_one():
    survey = RandomizedResponse(epsilon=1, k=4)
    assert survey.estimate([0, 1, 1, 3, 2, 2]).sum() == pytest.approx(1)
    with pytest.raises(InputError):
        survey.estimate([])


@pytest.mark.parametrize("n", [1, 5, 30])
@pytest.mark.parametrize("truth", [Fraction(3, 4), Fraction(9, 10)])
def test_the_error_holds_for_every_number_of_ones(n, truth):
    """Exact tails of the count of reports, by convolving two binomials."""
    from scipy import stats

    survey = RandomizedResponse(gamma=truth - Fraction(1, 2))
    width = survey.error(0.9, n) * n * float(2 * survey.gamma)
    for ones in range(n + 1):
        law = np.convolve(
            stats.binom.pmf(np.arange(ones + 1), ones, float(truth)),
            stats.binom.pmf(np.arange(n - ones + 1), n - ones, float(1 - truth)),
        )
        centre = ones * float(truth) + (n - ones) * float(1 - truth)
        assert law[np.abs(np.arange(n + 1) - centre) > width].sum() <= 0.1


def test_the_error_shrinks_with_the_root_of_n():
    survey = RandomizedResponse(epsilon=1)
    assert survey.error(n=400) == pytest.approx(survey.error(n=100) / 2)


def test_neighbours_are_one_changed_answer_unless_said_otherwise():
    assert RandomizedResponse(epsilon=1).guarantee.neighbours is Neighbours.CHANGE_ONE
    asked = RandomizedResponse(epsilon=1, neighbours=Neighbours.ADD_REMOVE)
    assert asked.guarantee.neighbours is Neighbours.ADD_REMOVE
