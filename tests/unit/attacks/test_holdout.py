import numpy as np
import pytest

from discreet.attacks import Holdout, Leaderboard, Promise
from discreet.attacks.holdout import Examples, agreement, majority
from discreet.attacks.simulation import Draws
from discreet.errors import InputError


def test_a_plain_holdout_reports_skill_that_is_not_there():
    outcome = Holdout(2000, 800, 160).run(lambda _, hold: hold.mean, 2)

    assert outcome.success > 0.58
    assert abs(outcome.baseline - 0.5) < 3 * 0.5 / np.sqrt(4000)
    assert outcome.refutes


def test_a_fresh_judge_is_not_fooled():
    judge = Examples.drawn(2000, 800, Draws(77))
    outcome = Holdout(2000, 800, 160).run(
        lambda _, hold: (
            lambda query: (judge if "Major" in type(query).__name__ else hold).mean(query)
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


def test_impossible_settings_are_refused():
    with pytest.raises(InputError, match="features"):
        Holdout(features=3, kept=4)
    with pytest.raises(InputError, match="effort"):
        Leaderboard().run(lambda _: lambda _guess: 0.5, 0)
