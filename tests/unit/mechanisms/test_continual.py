"""Continual counting: what is released, what it costs, and how wrong it is."""

import copy
import itertools
import math
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.mechanisms.continual import GRID, FactorizedCount, TreeCount
from discreet.mechanisms.prefix_sums import largest_square, left_factor, right_factor
from discreet.privacy import Neighbours, Pure

BOTH = [TreeCount(horizon=37, epsilon=1), FactorizedCount(horizon=37, rho=0.5)]


class Silent:
    """Noise of zero, to see what is measured."""

    @staticmethod
    def laplace(_, size=None):
        return 0 if size is None else np.zeros(size, dtype=np.int64)


@pytest.fixture
def silence(monkeypatch):
    from discreet.mechanisms import continual

    monkeypatch.setattr(continual, "discrete_laplace", Silent.laplace)
    monkeypatch.setattr(continual, "rounded_gaussian", Silent.laplace)


@pytest.mark.parametrize("mechanism", BOTH, ids=["tree", "factorization"])
@pytest.mark.usefixtures("silence")
def test_without_noise_the_counts_are_exact(mechanism):
    increments = [(7 * i) % 11 - 3 for i in range(37)]
    expected = np.cumsum(increments)
    assert np.allclose(mechanism.release(increments), expected, atol=1e-9, rtol=0)
    stream = mechanism.start()
    assert np.allclose([stream.release(x) for x in increments], expected, atol=1e-9, rtol=0)


@pytest.mark.parametrize("horizon", [1, 8, 31, 100, 500])
@pytest.mark.usefixtures("silence")
def test_b4_an_event_moves_the_trees_blocks_by_at_most_one_a_level(horizon):
    """Brute force over the place of the event: the l1 distance of everything that is released."""
    tree = TreeCount(horizon=horizon, epsilon=1, sensitivity=3)
    still = tree._measure(np.zeros(horizon, dtype=np.int64), ())
    moves = []
    for place in range(horizon):
        stream = np.zeros(horizon, dtype=np.int64)
        stream[place] = 3
        gap = np.abs(tree._measure(stream, ()) - still)
        assert gap.max() <= 3
        moves.append(int(gap.sum()))
    assert max(moves) == 3 * tree.levels
    assert tree.epsilon == 3 * tree.levels / tree.scale
    assert tree.guarantee == Pure(tree.epsilon)


@pytest.mark.parametrize("horizon", [1, 8, 31, 100, 500])
def test_a_count_has_the_noise_of_as_many_blocks_as_its_time_has_digits(horizon, monkeypatch):
    """Every block's noise counts once; and the noise of no block stays in all later counts."""
    from discreet.mechanisms import continual

    tree = TreeCount(horizon=horizon, epsilon=1)
    total = sum(tree.digits.blocks(horizon))
    monkeypatch.setattr(continual, "discrete_laplace", lambda *_: np.eye(total, dtype=np.int64))
    weights = tree._counts(tree._measure(np.zeros(horizon, dtype=np.int64), (total,)), horizon)
    sizes = [tree.digits.size(time) for time in range(1, horizon + 1)]
    assert np.abs(weights).max() == 1
    assert np.abs(weights).sum(axis=0).tolist() == sizes
    assert max(sizes) <= tree.digits.largest_size(horizon)


def test_the_mean_square_error_is_far_below_that_of_a_binary_tree():
    tree = TreeCount(horizon=1000, epsilon=1)
    blocks = np.mean([tree.digits.size(time) for time in range(1, 1001)])
    assert 2 * float(tree.scale) ** 2 * blocks < 175  # a binary tree's: 2 * 10**2 * 4.94 = 988


def test_a_streams_count_has_the_noise_of_as_many_blocks_as_its_time_has_digits(monkeypatch):
    """Noises are 1, 4, 16, ..., so that a count shows which of them are in it, and how often."""
    from discreet.mechanisms import continual

    drawn = itertools.count()
    monkeypatch.setattr(continual, "discrete_laplace", lambda _: 4 ** next(drawn))
    tree = TreeCount(horizon=500, epsilon=1)
    stream, blocks = tree.start(), sum(tree.digits.blocks(500))
    for time in range(1, 501):
        shifted = stream.release(0) + sum(4**i for i in range(blocks))  # digits 0, 1 and 2
        digits = [shifted // 4**i % 4 for i in range(blocks)]
        assert set(digits) <= {0, 1, 2}
        assert sum(digit != 1 for digit in digits) == tree.digits.size(time)
    assert next(drawn) <= blocks


@pytest.mark.parametrize("horizon", [1, 2, 3, 8, 40])
@pytest.mark.usefixtures("silence")
def test_b4_an_event_moves_the_factor_by_at_most_the_norm_paid_for(horizon):
    counter = FactorizedCount(horizon=horizon, rho=0.5, sensitivity=2)
    worst = 0
    for place in range(horizon):
        stream = np.zeros(horizon, dtype=np.int64)
        stream[place] = 2
        steps = [Fraction(x) / GRID.step for x in counter._measure(stream, ()).tolist()]
        assert all(step.denominator == 1 for step in steps)
        worst = max(worst, sum(step**2 for step in steps))
    assert worst / (2 * counter.variance) == counter.rho


def test_level_by_level_a_tree_costs_the_same_epsilon_and_far_less_rho():
    tree = TreeCount(horizon=1000, epsilon=1)
    assert tree.composition.epsilon(0).upper == pytest.approx(1)
    assert tree.composition.rho().upper < tree.guarantee.rho().upper / 2.5
    for epsilon in (0, 0.2, 0.5, 0.9):
        assert tree.composition.delta(epsilon).upper <= tree.guarantee.delta(epsilon).upper


def test_the_two_factors_multiply_to_prefix_sums():
    product = np.convolve(left_factor(300), right_factor(300) * 2.0**-20)[:300]
    assert np.allclose(product, 1, atol=1e-12, rtol=0)


def test_the_factors_are_near_the_square_root():
    exact = [math.comb(2 * k, k) / 4**k for k in range(100)]
    assert np.allclose(right_factor(100) * 2.0**-20, exact, atol=2**-20)
    assert np.allclose(left_factor(100), exact, atol=1e-4)


def test_the_factorization_beats_the_tree_at_the_same_rho():
    for horizon in (10, 1000, 10_000):
        factored = FactorizedCount(horizon=horizon, rho=0.5)
        levels = horizon.bit_length()
        deviation_of_a_gaussian_tree = math.sqrt(levels * (levels / 2))
        assert factored.error(0.95) / 1.96 < deviation_of_a_gaussian_tree / 1.4


def test_a2_the_answers_are_a_function_of_the_noisy_numbers_alone(monkeypatch):
    """Two streams with the same noisy numbers get the same answers, to the last bit."""
    from discreet.mechanisms import continual

    steps = 60
    counter = FactorizedCount(horizon=steps, rho=0.5)
    plain = [(7919 * i * i) % 1_000_003 - 500_000 for i in range(steps)]
    # The second stream has an event at its start; its noise is less by what the event adds.
    shifted = [x - 3 * int(r) for x, r in zip(plain, right_factor(steps), strict=True)]
    answers = []
    for noise, event in ((plain, 0), (shifted, 3)):
        drawn = iter(noise)
        monkeypatch.setattr(continual, "rounded_gaussian", lambda _, drawn=drawn: next(drawn))
        stream = counter.start()
        answers.append([stream.release(x) for x in [event] + [0] * (steps - 1)])
    assert answers[0] == answers[1]


@pytest.mark.parametrize("mechanism", BOTH, ids=["tree", "factorization"])
def test_a_stream_ends_at_its_horizon(mechanism):
    stream = mechanism.start()
    for _ in range(37):
        stream.release(1)
    with pytest.raises(InputError, match="37 steps"):
        stream.release(1)
    assert stream.time == 37
    with pytest.raises(InputError, match="horizon"):
        mechanism.release([1] * 38)


@pytest.mark.parametrize("mechanism", BOTH, ids=["tree", "factorization"])
@pytest.mark.parametrize("bad", [1.0, math.nan, True, "1", [1], None])
def test_increments_are_ints(mechanism, bad):
    stream = mechanism.start()
    with pytest.raises(InputError):
        stream.release(bad)
    assert stream.time == 0


@pytest.mark.parametrize("mechanism", BOTH, ids=["tree", "factorization"])
def test_huge_increments_do_not_wrap(mechanism):
    increments = [2**70, 1, -(2**70), 2**62]
    expected = list(itertools.accumulate(increments))
    stream = mechanism.start()
    answers = [stream.release(x) for x in increments]
    for given in (answers, mechanism.release(increments).tolist()):
        assert given == pytest.approx(expected, rel=1e-9, abs=2**30)


def test_increments_beyond_all_floats_have_finite_answers():
    counter = FactorizedCount(horizon=4, rho=0.5)
    increments = [10**400, -(10**400), 10**308, -(10**308)]
    stream = counter.start()

    assert np.isfinite([stream.release(step) for step in increments]).all()
    assert np.isfinite(counter.release(increments)).all()
    assert np.isfinite(counter.claim.draw(increments, 3)).all()


@pytest.mark.parametrize("mechanism", BOTH, ids=["tree", "factorization"])
def test_an_empty_stream_is_an_empty_answer(mechanism):
    assert mechanism.release([]).shape == (0,)
    assert mechanism.release([1]).shape == (1,)


def test_d2_a_stream_does_not_print_its_past():
    stream = FactorizedCount(horizon=4, rho=0.5).start()
    stream.release(987654321)
    assert "987654321" not in repr(stream)
    with pytest.raises(InputError, match="cannot be copied"):
        pickle.dumps(stream)


@pytest.mark.parametrize("mechanism", BOTH, ids=["tree", "factorization"])
@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy, pickle.dumps])
def test_b8_a_stream_cannot_be_copied_to_measure_an_event_twice(mechanism, copier):
    with pytest.raises(InputError, match="cannot be copied"):
        copier(mechanism.start())


@pytest.mark.parametrize("mechanism", BOTH, ids=["tree", "factorization"])
def test_e3_a_stream_does_not_go_on_in_a_forked_process(mechanism, monkeypatch):
    stream = mechanism.start()
    stream.release(1)
    here = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: here + 1)
    with pytest.raises(InputError, match="forked"):
        stream.release(1)


@pytest.mark.parametrize(
    ("mechanism", "law"),
    [
        (TreeCount(horizon=8, epsilon=1), "discrete_laplace"),
        (FactorizedCount(horizon=8, rho=1), "rounded_gaussian"),
    ],
    ids=["tree", "factorization"],
)
def test_e4_a_step_without_random_bits_is_not_taken(mechanism, law, monkeypatch):
    """Else an increment that is given again would be counted twice, for the price of once."""
    from discreet.mechanisms import continual

    def fails(_):
        raise OSError

    stream, counted = mechanism.start(), 10**9
    with monkeypatch.context() as patch:
        patch.setattr(continual, law, fails)
        for _ in range(3):
            with pytest.raises(OSError):  # noqa: PT011 - it has no words
                stream.release(counted)
    assert stream.time == 0
    assert [round(stream.release(step) / counted) for step in (counted, 0, 0, counted)] == [
        1,
        1,
        1,
        2,
    ]


def test_threads_never_share_a_step():
    stream = TreeCount(horizon=400, epsilon=1).start()
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(stream.release, [1] * 400))
    assert stream.time == len(answers) == 400


def test_epsilon_and_delta_are_met():
    counter = FactorizedCount(horizon=100, epsilon=1, delta=1e-6)
    assert counter.guarantee.epsilon(1e-6).upper <= 1


def test_neighbours_are_carried_and_groups_cost_more():
    tree = TreeCount(horizon=8, epsilon=1, neighbours=Neighbours.CHANGE_ONE)
    assert tree.guarantee.neighbours is Neighbours.CHANGE_ONE
    assert tree.guarantee.group(2).epsilon(0).upper == 2
    assert FactorizedCount(horizon=8, rho=0.5).guarantee.group(2).rho().upper == 2


def test_the_error_at_a_time_counts_the_blocks_in_it():
    tree = TreeCount(horizon=1000, epsilon=1)
    assert tree.error(time=121) < tree.error(time=3) < tree.error(time=5 * 133) < tree.error()
    with pytest.raises(InputError):
        tree.error(time=1001)
    with pytest.raises(InputError):
        tree.error(time=0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: TreeCount(horizon=0, epsilon=1),
        lambda: TreeCount(horizon=8),
        lambda: TreeCount(horizon=8, epsilon=1, scale=1),
        lambda: TreeCount(horizon=8, epsilon=0),
        lambda: TreeCount(horizon=8, epsilon=1, sensitivity=0.5),
        lambda: FactorizedCount(horizon=8),
        lambda: FactorizedCount(horizon=8, rho=0),
        lambda: FactorizedCount(horizon=8, rho=math.nan),
        lambda: FactorizedCount(horizon=8, epsilon=1),
        lambda: FactorizedCount(horizon=8, rho=1, delta=0.1),
        lambda: FactorizedCount(horizon=8, epsilon=1, delta=1),
        lambda: FactorizedCount(horizon=8, rho=1e15),
    ],
)
def test_bad_parameters_are_refused_at_birth(make):
    with pytest.raises(InputError):
        make()


@pytest.mark.parametrize(
    "counter", [TreeCount(horizon=8, epsilon=1), FactorizedCount(horizon=8, rho=1)]
)
def test_there_is_no_error_before_the_first_step(counter):
    with pytest.raises(InputError, match="time is 0"):
        counter.error(0.95, time=0)


def test_a_long_horizon_is_ready_at_once():
    """Entry by entry, the left factor of a million steps took minutes."""
    long = FactorizedCount(horizon=100_000, rho=1)
    assert long.release([3, 0, 5]).shape == (3,)
    assert long.error(0.95, time=10) < long.error(0.95)


def test_no_columns_of_the_factor_move_more_than_the_first_ones():
    horizon = 9
    entries = right_factor(horizon).tolist()
    factor = np.array(
        [[entries[i - j] if i >= j else 0 for j in range(horizon)] for i in range(horizon)],
        dtype=object,
    )
    for count in range(1, horizon + 1):
        chosen = itertools.combinations(range(horizon), count)
        squares = [sum(x * x for x in factor[:, list(one)].sum(axis=1)) for one in chosen]
        assert max(squares) == largest_square(horizon, count)


@pytest.mark.parametrize("steps", [1, 2, 5, 8])
def test_events_in_several_steps_cost_what_is_stated(steps):
    counter = FactorizedCount(horizon=8, rho=0.5, sensitivity=3, steps_per_unit=steps)
    assert counter.rho <= Fraction(1, 2)
    assert counter.variance * 2 * counter.rho == 9 * largest_square(8, steps)
    assert FactorizedCount(horizon=8, rho=0.5, steps_per_unit=99).steps_per_unit == 8
    moved = [[pair.right[at] for at in range(8)] for pair in counter.claim.pairs]
    assert max(sum(map(bool, one)) for one in moved) == steps


def test_what_a_step_adds_is_known_better_than_the_count():
    counter = FactorizedCount(horizon=100, rho=0.5)
    assert counter.increment_error() < counter.error()
    assert counter.increment_error(time=1) == counter.error(time=1)


def test_an_audit_tries_an_event_at_every_step():
    events = [pair.right.index(1) for pair in TreeCount(horizon=31, epsilon=1).claim.pairs]
    assert events == list(range(16))
