import math

import numpy as np
import pytest

from discreet.attacks.simulation import SplitMix64
from discreet.errors import InputError
from discreet.lab.quantum import MOST, NoisyWeight, distance, epsilon_of, product_state

EPSILONS = (0.01, 0.3, 1, 3, 8)
SIZES = (1, 2, 5)
every = pytest.mark.parametrize(("n", "epsilon"), [(n, e) for n in SIZES for e in EPSILONS])


def drawn(n, seed):
    draws = SplitMix64(seed)
    return draws.uniform(n).tolist(), (6 * draws.uniform(n)).tolist()


def states(n):
    """Basis states, coins in superposition, and product states drawn at random."""
    fixed = [[0.0] * n, [1.0] * n, [0.5] * n, [0.1] * n, [0.0, 1.0, 0.0, 1.0, 0.0][:n]]
    return [
        *(product_state(one) for one in fixed),
        *(product_state(*drawn(n, s)) for s in range(6)),
    ]


@every
def test_the_answers_are_all_there_is(n, epsilon):
    measured = NoisyWeight(n, epsilon=epsilon)

    assert sum(measured.law(answer) for answer in range(n + 1)) == pytest.approx(np.ones(n + 1))
    for state in states(n):
        chances = [measured.probability(state, answer) for answer in range(n + 1)]
        assert math.fsum(chances) == pytest.approx(1, abs=1e-12)


@every
def test_no_product_state_loses_more_than_epsilon_and_some_lose_all_of_it(n, epsilon):
    measured = NoisyWeight(n, epsilon=epsilon)
    for seed in range(6):
        ones, phases = drawn(n, seed)
        other = [1 - ones[0], *ones[1:]]
        found = measured.loss(product_state(ones, phases), product_state(other, phases))
        assert found <= epsilon + 1e-9
    edge = [0.0] * (n - 1)
    apart = measured.loss(product_state([0, *edge]), product_state([1, *edge]))
    assert apart == pytest.approx(epsilon, rel=1e-9)


@every
def test_no_product_state_is_damaged_beyond_the_theorem(n, epsilon):
    measured = NoisyWeight(n, epsilon=epsilon)

    assert all(measured.damage(one) <= measured.most_damage + 1e-9 for one in states(n))


@every
def test_the_worst_product_state_suffers_exactly_what_the_theorem_allows(n, epsilon):
    measured = NoisyWeight(n, epsilon=epsilon)
    worst = measured.worst_state()

    assert measured.damage(worst, n) == pytest.approx(measured.most_damage, rel=1e-9)
    assert measured.most_damage <= math.sqrt(n) * epsilon / 4 * (1 + 1e-12)


@every
def test_a_gentle_measurement_is_private(n, epsilon):
    measured = NoisyWeight(n, epsilon=epsilon)
    # One qubit of the worst kind between others that are fixed: that alone is damaged so much.
    one = 1 / (1 + math.exp(epsilon / 2))
    damaged = measured.damage(product_state([one, *[0.0] * (n - 1)]), n)

    assert damaged == pytest.approx(measured.least_damage, rel=1e-9)
    assert epsilon <= epsilon_of(measured.damage(measured.worst_state())) * (1 + 1e-9)


def test_one_qubit_is_as_gentle_as_it_is_private():
    measured = NoisyWeight(1, epsilon=1)

    assert measured.most_damage == pytest.approx(measured.least_damage, rel=1e-12)
    assert epsilon_of(measured.most_damage) == pytest.approx(1, rel=1e-12)


def test_an_exact_count_collapses_what_a_noisy_one_spares():
    coins = product_state([0.5] * 6)

    assert NoisyWeight(6, epsilon=40).damage(coins) > 0.99
    assert NoisyWeight(6, epsilon=0.1).damage(coins) < 0.07


def test_two_answers_in_a_row_add_their_losses_and_their_damage():
    measured, coins = NoisyWeight(4, epsilon=0.4), product_state([0.5] * 4)
    once = measured.after(coins, 4)

    assert distance(coins, measured.after(once, 4)) <= 2 * measured.most_damage
    assert math.fsum(np.abs(once) ** 2) == pytest.approx(1, abs=1e-12)


def test_entangled_states_are_outside_the_theorem():
    """All zeros and all ones at once: an epsilon of 1 in six qubits moves their odds by e^6."""
    cat = np.zeros(64, dtype=np.complex128)
    cat[[0, -1]] = math.sqrt(0.5)
    measured = NoisyWeight(6, epsilon=1)

    assert measured.damage(cat) > measured.most_damage


@pytest.mark.parametrize("wrong", [{"n": 0}, {"n": MOST + 1}, {"epsilon": 0}, {"epsilon": 51}])
def test_measurements_that_cannot_be_are_refused(wrong):
    with pytest.raises(InputError):
        NoisyWeight(**{"n": 2, "epsilon": 1, **wrong})


@pytest.mark.parametrize("ones", [[], [1.1], [-0.1], [0.5] * (MOST + 1)])
def test_qubits_that_cannot_be_are_refused(ones):
    with pytest.raises(InputError, match="qubits"):
        product_state(ones)


def test_a_damage_that_cannot_be_has_no_epsilon():
    with pytest.raises(InputError, match="damage"):
        epsilon_of(1)


def test_bounds_keep_their_digits_for_small_epsilons():
    for epsilon in (1e-9, 1e-5):
        measured = NoisyWeight(4, epsilon=epsilon)
        assert measured.most_damage == pytest.approx(epsilon / 2, rel=1e-9)
        assert measured.least_damage <= measured.most_damage
