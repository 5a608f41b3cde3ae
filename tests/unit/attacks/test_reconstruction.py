import subprocess
import sys

import numpy as np
import pytest

from discreet.attacks import Exponential, LeastSquares, LinearProgram, Posterior, Promise, Robust
from discreet.attacks import reconstruction as program
from discreet.attacks.reconstruction import lying
from discreet.attacks.simulation import SplitMix64
from discreet.errors import InputError

EVERY = [Exponential, Posterior, LeastSquares, LinearProgram, Robust]


def exact(secret):
    return lambda people: secret[people].sum()


@pytest.mark.parametrize("kind", EVERY)
def test_exact_answers_give_everybody_away(kind):
    secret = SplitMix64(1).bits(12)
    outcome = kind(secret, Promise(1)).run(exact(secret), 60)

    assert outcome.success == 1.0
    assert (outcome.baseline, outcome.n) == (0.5, 12)
    assert outcome.bound == pytest.approx(0.731, abs=1e-3)


@pytest.mark.parametrize("kind", EVERY)
def test_answers_that_know_nothing_give_chance(kind):
    rights = []
    for seed in range(20):
        draws = SplitMix64(seed)
        secret = draws.bits(12)
        rights.append(kind(secret, seed=seed).run(lambda _, d=draws: d.below(7, 1)[0], 60).success)

    assert abs(np.mean(rights) - 0.5) < 3 * 0.5 / np.sqrt(240)


@pytest.mark.parametrize("kind", EVERY)
def test_the_guess_does_not_look_at_the_secret(kind):
    answers = exact(SplitMix64(1).bits(10))
    guesses = [kind(np.full(10, bit)).guess(answers, 50).tolist() for bit in (0, 1)]

    assert guesses[0] == guesses[1] == SplitMix64(1).bits(10).tolist()


@pytest.mark.parametrize("error", [0.5, 1.0, 1.5, 2.0])
def test_errors_within_e_leave_at_most_4e_bits_wrong_however_they_are_chosen(error):
    secret = SplitMix64(2).bits(10)
    other = secret.copy()
    other[: int(2 * error)] ^= 1

    def adversary(people):
        # As near to another database's answer as the error allows.
        truth, lie = secret[people].sum(), other[people].sum()
        return truth + np.clip(lie - truth, -error, error)

    outcome = Exponential(secret).run(adversary, 1 << 10)

    assert round((1 - outcome.success) * 10) <= 4 * error


def test_random_errors_within_3_leave_nothing_hidden():
    for seed in range(3):
        draws = SplitMix64(seed)
        secret = draws.bits(12)
        outcome = Exponential(secret).run(
            lambda people, s=secret, d=draws: s[people].sum() + 6 * d.uniform(1)[0] - 3, 1 << 12
        )

        assert outcome.success == 1.0


def noisy_sums(kind, sigma, systems=20, people=10, prior=0.5):
    """All subset sums with normal noise, of several systems: the share of bits that are right."""
    rights = []
    for seed in range(systems):
        draws = SplitMix64(seed)
        secret = (draws.uniform(people) < prior).astype(np.int64)
        attack = kind(secret, seed=seed, prior=prior)
        sums = iter(attack.questions(1 << people) @ secret + sigma * draws.normal(1 << people))
        rights.append(attack.run(lambda _, said=sums: next(said), 1 << people).success)
    return float(np.mean(rights))


def test_the_posterior_finds_more_as_the_noise_falls():
    found = [noisy_sums(Posterior, sigma) for sigma in (200.0, 30.0, 10.0, 3.0, 0.0)]

    assert found == sorted(found)
    assert found[0] < 0.62
    assert found[2] > 0.8
    assert found[-1] == 1.0


def test_the_posterior_finds_more_than_the_least_worst_error_where_noise_is_large():
    posterior, worst = (noisy_sums(kind, 10.0) for kind in (Posterior, Exponential))

    assert posterior > worst + 0.1


def test_the_posterior_nearly_meets_what_noise_allows_anybody():
    """One bit beside nine known ones is told Phi(sqrt(2^9)/(2 sigma)) of the time; nine are not."""
    sigma = np.sqrt(2**9)

    assert 0.62 < noisy_sums(Posterior, sigma, systems=60) < 0.69 + 3 * 0.019


def test_the_posterior_knows_that_a_secret_is_rare():
    assert noisy_sums(Posterior, 300.0, prior=0.2) > 0.75


def test_the_l1_program_shrugs_at_garbage_that_ruins_least_squares():
    draws = SplitMix64(3)
    secret = draws.bits(50)
    liar = [lying(exact(secret), 0.2, 50, seed=4) for _ in range(2)]

    assert Robust(secret).run(liar[0], 500).success == 1.0
    assert LeastSquares(secret).run(liar[1], 500).success < 0.95


def test_a_liar_lies_as_often_as_it_is_told():
    liar = lying(lambda _: -1.0, 0.3, 10, seed=5)
    lies = np.mean([liar(np.ones(3, dtype=bool)) != -1.0 for _ in range(2000)])

    assert abs(lies - 0.3) < 3 * np.sqrt(0.21 / 2000)


def test_too_many_people_for_all_databases_are_refused():
    with pytest.raises(InputError, match="too many to try"):
        Exponential(np.zeros(21, dtype=int)).run(lambda _: 0, 10)


@pytest.mark.parametrize("secret", [[], [0, 2], [[0, 1]]])
def test_a_secret_that_is_no_list_of_bits_is_refused(secret):
    with pytest.raises(InputError, match="bits"):
        LeastSquares(np.array(secret))


def skewed(people=200, share=0.1):
    return (SplitMix64(3).uniform(people) < share).astype(np.int64)


def test_a_skewed_secret_that_is_called_fair_is_refused():
    with pytest.raises(InputError, match=r"prior is 0.5"):
        LeastSquares(skewed())
    with pytest.raises(InputError, match="between 0 and 1"):
        LeastSquares(skewed(), prior=0)


def test_who_knows_that_a_secret_is_rare_refutes_no_promise_by_guessing_that_nobody_has_it():
    class Nobody(LeastSquares):
        def guess(self, target, effort):
            del target, effort
            return np.zeros(self.people, dtype=np.int64)

    outcome = Nobody(skewed(), Promise(1), prior=0.1).run(lambda _: 0, 1)

    assert outcome.success > 0.85
    assert outcome.baseline == outcome.bound == 0.9
    assert not outcome.refutes


@pytest.mark.parametrize("kind", EVERY)
def test_no_effort_is_refused(kind):
    with pytest.raises(InputError, match="effort"):
        kind(np.array([0, 1])).run(lambda _: 0, 0)


def test_a_share_of_lies_is_a_rate():
    with pytest.raises(InputError, match="rate"):
        lying(lambda _: 0.0, 1.5, 10)


def test_without_scipy_the_message_says_what_to_install(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(program, "import_module", missing)

    with pytest.raises(InputError, match=r"discreet\[attack\]"):
        LinearProgram(np.array([0, 1])).run(lambda _: 0, 3)


def test_a_program_that_cannot_be_solved_is_an_error_and_not_a_guess():
    with pytest.raises((InputError, ValueError)):
        LinearProgram(np.array([0, 1])).run(lambda _: np.nan, 3)


def test_the_attacks_stand_on_errors_alone_and_bring_no_heavy_package():
    code = (
        "import sys, discreet; own = {*sys.modules};"
        "import discreet.errors, discreet.attacks as room;"
        "[getattr(room, name) for name in dir(room)];"
        "new = (name for name in {*sys.modules} - own if name.startswith('discreet.'));"
        "print(sorted({name.split('.')[1] for name in new}), 'scipy' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)

    assert said.stdout.strip() == "['attacks', 'errors'] False"


def test_which_answers_are_lies_does_not_come_from_the_draws_of_the_questions():
    system = lying(lambda _: -1.0, 0.5, people=10, seed=3)
    lies = [system(None) != -1.0 for _ in range(100)]

    assert lies != (SplitMix64(3).uniform(100, 2)[:, 0] < 0.5).tolist()
    assert 30 < sum(lies) < 70
