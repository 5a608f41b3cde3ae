from fractions import Fraction
from math import log

import pytest

from discreet.errors import InputError
from discreet.lab.classroom import BEFORE, MOST, Coins, Lesson
from discreet.privacy import odds_after

FAIR = Coins(Fraction(1, 2))


def test_two_fair_coins_tell_the_truth_three_times_in_four():
    assert (FAIR.survey.truth, FAIR.survey.lie) == (Fraction(3, 4), Fraction(1, 4))
    assert FAIR.epsilon == pytest.approx(log(3))
    assert FAIR.after == (3, 25)


@pytest.mark.parametrize("heads", [0.05, 0.2, 0.5, 0.8, 0.95])
def test_odds_after_an_answer_are_those_of_its_epsilon(heads):
    coins = Coins(heads)
    low, high = odds_after(Fraction(BEFORE, 100 - BEFORE), Fraction(coins.epsilon))
    no, yes = coins.after

    assert -1e-9 <= 100 * low / (1 + low) - no < 1
    assert -1 < 100 * high / (1 + high) - yes <= 1e-9


def test_more_truth_means_smaller_errors_and_larger_odds():
    coins = [Coins(heads) for heads in (0.1, 0.5, 0.9)]

    assert [one.half_width for one in coins] == sorted((c.half_width for c in coins), reverse=True)
    assert [one.after[1] for one in coins] == sorted(c.after[1] for c in coins)


def test_the_error_bar_shrinks_with_the_root_of_the_class():
    assert FAIR.survey.error(Fraction(19, 20), n=400) == pytest.approx(FAIR.half_width / 20)


def test_a_class_has_the_share_that_was_asked_for_and_lies_at_the_stated_rate():
    lesson = Lesson.held(FAIR, pupils=2000, share=0.3)
    lies = sum(a != r for a, r in zip(lesson.answers, lesson.reports, strict=True))

    assert sum(lesson.answers) == 600
    # Four deviations of 2000 coins of 1/4: a false alarm in 15,000 runs, and the bits are fixed.
    assert abs(lies - 500) <= 4 * (2000 * 3 / 16) ** 0.5


def test_the_error_bar_covers():
    off = FAIR.half_width / 100**0.5
    within = 0
    for seed in range(200):
        lesson = Lesson.held(FAIR, pupils=100, share=0.3, seed=seed)
        within += abs(FAIR.survey.estimate(lesson.reports) - 0.3) <= off

    # At least 95 % in expectation; 180 of 200 is more than three deviations below that.
    assert within >= 180


def test_the_same_class_has_the_same_answers_and_other_coins():
    one, two = (Lesson.held(FAIR, pupils=500, share=0.5, seed=3) for _ in range(2))

    assert one.answers == two.answers
    assert one.reports != two.reports
    assert Lesson.held(FAIR, pupils=500, share=0.5, seed=4).answers != one.answers


@pytest.mark.parametrize("heads", [0, 1, 0.01, 0.99, -0.5, float("nan"), "half"])
def test_coins_that_are_none_are_refused(heads):
    with pytest.raises(InputError, match="heads"):
        Coins(heads)


@pytest.mark.parametrize(
    ("pupils", "share"), [(0, 0.5), (MOST + 1, 0.5), (10, 1.5), (10, -0.1), (1.5, 0.5)]
)
def test_classes_that_cannot_be_are_refused(pupils, share):
    with pytest.raises(InputError):
        Lesson.held(FAIR, pupils=pupils, share=share)
