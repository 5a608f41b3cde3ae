import numpy as np
import pytest

from discreet.attacks import Promise, Refusals
from discreet.attacks.differencing import QueryAuditor
from discreet.attacks.reconstruction import databases
from discreet.attacks.simulation import SplitMix64
from discreet.errors import InputError

SECRET = SplitMix64(1).bits(300, 7)


def exact(who):
    return (SECRET * who).sum(axis=1)


def attack(target, epsilon=1.0, effort=7):
    return Refusals(SECRET, Promise(epsilon)).run(target, effort)


def test_exact_answers_give_everybody_away():
    outcome = attack(exact)

    assert (outcome.success, outcome.n) == (1.0, 2100)
    assert outcome.refutes


def test_what_an_auditor_refuses_gives_most_people_away():
    outcome = attack(QueryAuditor(SECRET))

    assert outcome.success > 0.85
    assert outcome.refutes


def test_no_answer_of_the_auditor_tells_a_bit():
    """All databases that have the same answers, refusals aside, leave every bit open."""
    everything = databases(5)
    auditor, asked = QueryAuditor(everything), Refusals(everything[1:-1]).questions(5)
    said = np.stack([auditor(np.tile(who, (len(everything), 1))) for who in asked], axis=1)
    sums = everything @ asked.T

    for answers in said:
        given = ~np.isnan(answers)
        fit = everything[(sums[:, given] == answers[given]).all(axis=1)]
        assert (fit.min(axis=0) < fit.max(axis=0)).all()


def test_success_rises_with_epsilon_up_to_exact_answers():
    found = []
    for epsilon in (0.1, 1, 3, 10, 50):
        draws = SplitMix64(7)
        outcome = attack(
            lambda who, d=draws, e=epsilon: exact(who) + d.laplace(3 / e, len(SECRET)), epsilon
        )
        found.append(outcome.success)
        assert not outcome.refutes

    assert found == sorted(found)
    assert found[1] > 0.55
    assert found[-1] == 1.0


def test_a_system_that_refuses_in_its_own_way_tells_no_more_than_chance():
    outcome = attack(lambda who: np.full(len(who), np.nan))

    assert abs(outcome.success - 0.5) < 3 * 0.5 / np.sqrt(outcome.n)


def test_fewer_questions_tell_less():
    assert attack(exact, effort=3).success < 0.9


@pytest.mark.parametrize("wrong", [np.full(300, np.inf), np.full(3, np.nan), [1.0], "none", None])
def test_answers_that_are_neither_numbers_nor_refusals_are_refused(wrong):
    with pytest.raises(InputError, match="the target answered with"):
        attack(lambda _: wrong)


def test_nothing_to_find_is_refused():
    with pytest.raises(InputError, match="bits"):
        Refusals(np.array([0, 1]))
