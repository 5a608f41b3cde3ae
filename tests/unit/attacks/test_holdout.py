import numpy as np
import pytest

from discreet.attacks import Holdout, HoldoutLabel, Leaderboard, Promise
from discreet.attacks.holdout import Examples, agreement, majority, untrained
from discreet.attacks.simulation import SplitMix64
from discreet.errors import InputError
from discreet.lab import Setting, samples


def test_a_plain_holdout_reports_skill_that_is_not_there():
    outcome = Holdout(2000, 800, 160).run(lambda _, hold: hold.mean, 2)

    assert outcome.success > 0.58
    assert abs(outcome.baseline - 0.5) < 3 * 0.5 / np.sqrt(4000)
    assert outcome.refutes


def test_a_fresh_judge_is_not_fooled():
    judge = Examples.drawn(2000, 800, SplitMix64(77))
    outcome = Holdout(2000, 800, 160).run(
        lambda _, hold: (
            lambda query: (judge if "majority" in query.__qualname__ else hold).mean(query)
        ),
        2,
    )

    assert not outcome.refutes


def test_queries_are_means_of_agreement():
    data = Examples(np.array([[1, -1], [1, 1]]), np.array([1, -1]))

    assert data.mean(agreement(0)) == 0.5
    assert data.mean(agreement(1)) == 0.0
    assert data.mean(majority(np.array([1]), np.array([-1.0]))) == 1.0
    assert data.mean(majority(np.array([0, 1]), np.array([1.0, 1.0]))) == pytest.approx(0.25)


@pytest.mark.parametrize(("submissions", "rate"), [(400, 0.693), (2000, 0.870)])
def test_a_leaderboard_is_climbed_as_fast_as_theory_says(submissions, rate):
    # Phi(sqrt(2 k/(pi n))) at n = 1000, three standard errors.
    outcome = Leaderboard(promise=Promise(0.1)).run(
        lambda labels: lambda guess: float(np.mean(guess == labels)), submissions
    )

    assert abs(outcome.success - rate) < 3 * np.sqrt(rate * (1 - rate) / 1000)
    assert outcome.refutes


def test_a_board_that_says_nothing_teaches_nothing():
    outcome = Leaderboard(promise=Promise(0)).run(lambda _: lambda _guess: 0.5, 100)

    assert not outcome.refutes


def test_submissions_are_those_that_the_board_sees():
    attack, seen = Leaderboard(40), []
    attack.run(lambda _: lambda guess: seen.append(guess.tolist()) or 0.5, 6)

    assert seen == attack.submissions(6).tolist()


def test_an_exact_holdout_gives_its_hidden_label_away():
    outcome = HoldoutLabel(50, promise=Promise(1)).run(lambda _, hold: hold.mean, 60)

    assert (outcome.success, outcome.n) == (1.0, 60)
    assert outcome.refutes


def test_who_hears_the_training_mean_alone_learns_nothing():
    outcome = HoldoutLabel(50, promise=Promise(0)).run(lambda train, _: train.mean, 200)

    assert not outcome.refutes


def test_the_question_that_makes_a_holdout_speak_says_nothing_of_training_examples():
    train, hold = (Examples.drawn(30, 40, SplitMix64(seed)) for seed in (1, 2))
    query = untrained(train)

    assert train.mean(query) == 0
    assert hold.mean(query) == np.mean(hold.labels > 0)


def test_one_noisy_answer_is_guessed_as_often_as_its_law_says():
    # Noise of scale 2 x 2 examples at epsilon 1: P(it keeps the side) = 1 - e^(-1/8)/2; the holdout
    # stays silent now and then, which costs a little.
    outcome = samples.holdout_label(Setting("private", 400))

    assert abs(outcome.success - 0.559) < 3 * 0.5 / np.sqrt(400)


def test_impossible_settings_are_refused():
    with pytest.raises(InputError, match="features"):
        Holdout(features=3, kept=4)
    with pytest.raises(InputError, match="effort"):
        Leaderboard().run(lambda _: lambda _guess: 0.5, 0)
    with pytest.raises(InputError, match="examples with 8 features"):
        HoldoutLabel(features=8)
    with pytest.raises(InputError, match="effort"):
        HoldoutLabel().run(lambda _, hold: hold.mean, 0)
