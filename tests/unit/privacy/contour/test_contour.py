"""The contour accountant: its answers, its caches, and that asking changes nothing."""

import copy
import math
import pickle
import random
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest

from discreet.errors import InputError
from discreet.privacy import (
    GDP,
    Approximate,
    BoundedRange,
    Contour,
    DiscreteGaussianNoise,
    GaussianNoise,
    LaplaceNoise,
    Neighbours,
    Pure,
    RandomizedResponseNoise,
    Tabulated,
    compose,
    optimal_epsilon,
)
from discreet.privacy.contour.tally import INTERACTIVE, THOROUGH, Precision


def spend(parts, precision=INTERACTIVE):
    spent = Contour(precision)
    for part in parts:
        one, count = part if isinstance(part, tuple) else (part, 1)
        spent.append(one, count)
    return spent


def mixture(size, seed=0, kinds=(GaussianNoise, LaplaceNoise, Pure)):
    rng = random.Random(seed)  # noqa: S311 - a fixed choice of cases
    return [rng.choice(kinds)(Fraction(f"{rng.uniform(0.001, 0.02):.5f}")) for _ in range(size)]


def test_a_thousand_laplace_releases():
    """The truth is in [1.362924539, 1.36292463], by connected dots on a grid of 1e-5."""
    bound = spend([(LaplaceNoise(0.01), 1000)], THOROUGH).epsilon(1e-6)
    assert 1.362924539 <= bound.upper <= 1.3629245 + 1e-5
    assert 1.3 < bound.lower <= 1.36292463
    assert bound.method == "contour"


def test_a_hundred_randomized_responses_against_the_exact_sum():
    for delta in (1e-5, 1e-6, 1e-9, 1e-20):
        exact = optimal_epsilon([(Pure(0.1), 100)], delta)
        bound = spend(
            [(RandomizedResponseNoise(0.1), 100)], Precision(most=2**14, listed=0)
        ).epsilon(delta)
        assert exact.lower <= bound.upper <= exact.upper + 1e-4


def test_gaussian_parts_alone_are_their_closed_form():
    spent = spend([(GaussianNoise(0.3), 4), (GDP(0.8), 1)])
    for delta in (0.3, 1e-3, 1e-9, 1e-30):
        exact = GDP(1).epsilon(delta)
        assert spent.epsilon(delta).upper == pytest.approx(exact.upper, rel=1e-8)
        assert spent.epsilon(delta).upper >= exact.lower
    for epsilon in (0, 0.5, 3, 20):
        exact = GDP(1).delta(epsilon)
        assert spent.delta(epsilon).upper == pytest.approx(exact.upper, rel=1e-8)
        assert spent.delta(epsilon).upper >= exact.lower
        assert spent.delta(epsilon).lower <= exact.upper


def test_order_does_not_matter():
    parts = [
        *mixture(40),
        Approximate(0.1, 1e-9),
        RandomizedResponseNoise(0.2, 5),
        BoundedRange(0.1),
    ]
    parts.append(Tabulated([0.1, -0.1], [0.5, 0.49999999999]))
    forwards, backwards = spend(parts), spend(parts[::-1])
    for delta in (1e-3, 1e-7):
        assert forwards.epsilon(delta).upper == pytest.approx(
            backwards.epsilon(delta).upper, rel=1e-8
        )
    assert forwards.delta(0.5).upper == pytest.approx(backwards.delta(0.5).upper, rel=1e-6)


def test_one_by_one_is_the_same_as_all_at_once():
    parts = mixture(120)
    together, spent = spend(parts), Contour()
    for part in parts:
        spent.append(part)
        spent.epsilon(1e-9)
    assert spent.epsilon(1e-9).upper == pytest.approx(together.epsilon(1e-9).upper, rel=1e-8)
    assert spent.delta(1).upper == pytest.approx(together.delta(1).upper, rel=1e-6)


def test_counts_are_repetitions():
    once, often = spend([(LaplaceNoise(0.05), 30)]), spend([LaplaceNoise(0.05)] * 30)
    assert once.epsilon(1e-6).upper == pytest.approx(often.epsilon(1e-6).upper, rel=1e-8)


def test_asking_never_changes_the_answer():
    spent = spend(mixture(60))
    first = [spent.epsilon(1e-9).upper, spent.delta(0.3).upper, spent.within(2, 1e-6)]
    for delta in (0.1, 1e-3, 1e-20):
        spent.epsilon(delta)
    for epsilon in (0, 0.01, 5):
        spent.delta(epsilon)
        spent.within(epsilon, 1e-9)
    assert first == [spent.epsilon(1e-9).upper, spent.delta(0.3).upper, spent.within(2, 1e-6)]


@pytest.mark.parametrize("batch", [1, 3, 6, 7, 40, 200])
def test_batches_between_questions_do_not_matter(batch):
    """Few are multiplied in one by one, many together."""
    parts = [*mixture(400, seed=11), Approximate(0.01, 1e-12), RandomizedResponseNoise(0.02, 3)]
    spent = Contour()
    for i, part in enumerate(parts):
        spent.append(part, 1 + i % 2)
        if i % batch == 0:
            spent.epsilon(1e-9)
    together = spend([(part, 1 + i % 2) for i, part in enumerate(parts)])
    assert spent.epsilon(1e-9).upper == pytest.approx(together.epsilon(1e-9).upper, rel=1e-8)
    assert spent.epsilon(1e-9).lower == pytest.approx(together.epsilon(1e-9).lower, rel=1e-7)


def test_a_gaussian_too_small_to_be_seen_still_renews_the_budget_check():
    spent = spend([*mixture(30), (GaussianNoise(1), 1)])
    spent.epsilon(1e-9)
    assert spent.within(9, 1e-9)
    before = spent._sides[0]._gauge
    spent.append(GaussianNoise(Fraction(1, 10**12)))
    assert spent._sides[0]._gauge is not before


def test_answers_grow_with_the_list():
    spent, last = Contour(), 0.0
    for part in mixture(300, seed=4):
        spent.append(part)
        now = spent.epsilon(1e-9).upper
        assert now >= last * (1 - 1e-6)
        last = now
    # Far more was appended than any line was first drawn for.
    assert spent.epsilon(1e-9).upper == pytest.approx(
        compose(mixture(300, seed=4)).epsilon(1e-9).upper, rel=1e-6
    )


def test_the_budget_check_agrees_with_delta():
    spent = Contour()
    for part in mixture(150, seed=7):
        spent.append(part)
        for epsilon, delta in ((0.3, 1e-9), (0.5, 1e-6), (1, 1e-9)):
            assert spent.within(epsilon, delta) == (spent.delta(epsilon).upper <= delta)


def test_a_budget_is_read_anew_where_it_is_another_number_of_the_same_value():
    spent = spend(mixture(60))
    spent.epsilon(1e-9)
    binary = Fraction(0.1)  # a little more than a tenth
    for epsilon in (binary, 0.1, Fraction(1, 10), 0.1, binary):
        spent.within(epsilon, 1e-9)
        exact = Fraction(1, 10) if isinstance(epsilon, float) else epsilon
        assert Fraction(spent._limits[0]) <= exact


@pytest.mark.parametrize("kinds", [(LaplaceNoise, Pure), (GaussianNoise, LaplaceNoise, Pure)])
def test_one_budget_checked_after_every_release_is_refused_at_the_same_release(kinds):
    """The prepared check is carried along; a fresh accountant has nothing prepared."""
    spent, parts = Contour(), mixture(260, seed=3, kinds=kinds)
    limit = spend(parts[:130]).epsilon(1e-7).upper
    answers = []
    for part in parts:
        spent.append(part)
        answers.append(spent.within(limit, 1e-7))
    assert answers == sorted(answers, reverse=True)
    crossed = answers.index(False)
    assert abs(crossed - 130) <= 1
    fresh = spend(parts[:crossed])
    assert fresh.delta(limit).upper <= 1e-7
    fresh.append(parts[crossed])
    assert fresh.delta(limit).upper > 1e-7 * (1 - 1e-6)


def test_nothing_spent_costs_nothing():
    assert Contour().epsilon(0).upper == 0
    assert Contour().delta(0).upper == 0
    assert Contour().within(0, 0)
    assert spend([Pure(0)]).epsilon(1e-9).upper == 0
    assert spend([Pure(0), Approximate(0, 0.1)]).delta(0).upper == pytest.approx(0.1)


def test_infinite_losses_are_charged_first():
    spent = spend([(Approximate(0.01, 1e-8), 200), GaussianNoise(0.1)])
    lost = -math.expm1(200 * math.log1p(-1e-8))
    assert spent.epsilon(1e-6).upper == math.inf
    assert spent.epsilon(1e-6).lower == math.inf
    assert spent.delta(50).upper == pytest.approx(lost, rel=1e-9)
    assert spent.epsilon(1e-5).upper < 1
    assert spend([Approximate(1, 1)]).epsilon(0.5).upper == math.inf
    assert spend([Approximate(1, 1)]).delta(2).upper == 1


def test_pure_parts_without_delta_cost_their_sum():
    spent = spend([(Pure(0.1), 100), LaplaceNoise(0.5)])
    assert spent.epsilon(0).upper == pytest.approx(10.5)
    assert spent.delta(11).upper == 0
    assert spend([GaussianNoise(1)]).epsilon(0).upper == math.inf


def test_both_directions_are_followed_where_they_differ():
    lopsided = Tabulated([1, 0], [0.1, 0.9], add=([1, 0], [0.3, 0.7]))
    for order in ([Pure(0.1), lopsided], [lopsided, Pure(0.1)]):
        spent = spend(order, Precision(listed=0))
        assert spent.delta(1).upper >= 0.3 * 0.5 * -math.expm1(-0.1)
        assert spent.delta(0.5).lower <= spent.delta(0.5).upper
    worst = spend([lopsided]).delta(0.5)
    assert worst.upper == pytest.approx(0.3 * -math.expm1(-0.5))


def test_mixing_neighbours_is_refused():
    spent = spend([Pure(0.1)])
    with pytest.raises(InputError, match="neighbours"):
        spent.append(Pure(0.1, neighbours=Neighbours.CHANGE_ONE))


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "2"])
def test_bad_counts_are_refused(bad):
    with pytest.raises(InputError):
        Contour().append(Pure(0.1), bad)


def test_bad_questions_are_refused():
    spent = spend([Pure(0.1)])
    for question in (
        lambda: spent.epsilon(1),
        lambda: spent.epsilon(-1),
        lambda: spent.delta(-1),
        lambda: spent.epsilon(math.nan),
    ):
        with pytest.raises(InputError):
            question()


@pytest.mark.parametrize("scale", [1e-5, 1e-2, 1, 30])
def test_all_scales_are_served(scale):
    parts = [(LaplaceNoise(Fraction(str(scale))), 20), (Pure(Fraction(str(scale / 3))), 20)]
    bound = spend(parts).epsilon(1e-6)
    zcdp = compose(parts).rho()
    assert bound.upper <= zcdp.upper + 2 * math.sqrt(zcdp.upper * math.log(1e6)) + 1e-12
    assert bound.upper <= 20 * scale * 4 / 3 * (1 + 1e-12)
    assert 0 <= bound.lower <= bound.upper


@pytest.mark.parametrize("delta", [0.9, 0.5, 0.2, 0.05])
def test_large_deltas_are_served(delta):
    """Where the best order is far below 1."""
    parts = [(GaussianNoise(0.5), 9), (Pure(0.01), 3)]
    bound = spend(parts).epsilon(delta)
    floor = GDP(1.5).epsilon(delta)
    assert floor.lower <= bound.upper <= GDP(1.5).epsilon(delta).upper + 0.03


def test_discrete_gaussian_noise_composes_like_gaussian_noise():
    wide = spend([(DiscreteGaussianNoise(1, 10**4), 1000)], THOROUGH).epsilon(1e-6)
    assert wide.upper == pytest.approx(1.3675714750843, abs=2e-5)


def test_less_noise_never_costs_less():
    costs = [
        spend([(LaplaceNoise(Fraction(i, 1000)), 50), Pure(0.01)]).epsilon(1e-6).upper
        for i in range(5, 60, 5)
    ]
    assert costs == sorted(costs)


def test_many_more_lines_than_are_kept():
    spent = spend(mixture(30))
    answers = {d: spent.epsilon(Fraction(1, 10**d)).upper for d in range(1, 30, 2)}
    assert [answers[d] for d in sorted(answers)] == sorted(answers.values())
    spent.append(Pure(0.001))
    assert all(spent.epsilon(Fraction(1, 10**d)).upper >= answers[d] * (1 - 1e-6) for d in answers)


def test_a_law_that_is_lost_halfway_fails_closed(monkeypatch):
    one = RandomizedResponseNoise(0.1, 3)
    spent = spend([(one, 3), LaplaceNoise(0.1)])
    spent.epsilon(1e-6)
    monkeypatch.setattr(RandomizedResponseNoise, "moments", lambda *_: None)
    spent.append(one)
    for _ in range(2):
        with pytest.raises(InputError, match="no privacy loss distribution"):
            spent.epsilon(1e-6)
    fresh = Contour()
    fresh.append(LaplaceNoise(0.1))
    fresh._sides[0]._tally._others[one] = 1
    with pytest.raises(InputError, match="no privacy loss distribution"):
        fresh.epsilon(1e-6)


def test_the_budget_check_survives_gaussians_and_other_budgets():
    spent = spend([*mixture(30), GaussianNoise(0.1)])
    spent.epsilon(1e-9)
    assert spent.within(3, 1e-9)
    spent.append(GaussianNoise(0.2))
    assert spent.within(3, 1e-9)
    assert not spent.within(0.01, 1e-9)
    assert not spent.within(0, 1e-12)
    assert spent.within(Fraction(3), Fraction(1, 10**9))
    assert not spend([GaussianNoise(20)]).within(0.5, 0.99)


def test_an_answer_asked_twice_is_the_same_object():
    spent = spend(mixture(20))
    assert spent.epsilon(1e-6) is spent.epsilon(1e-6)
    assert spent.delta(0.1) is spent.delta(0.1)


def test_threads_share_an_accountant_safely():
    parts = mixture(200, seed=9)
    spent = spend(parts)
    wanted = {d: spend(parts).epsilon(d).upper for d in (1e-3, 1e-6, 1e-9, 1e-12)}
    with ThreadPoolExecutor(8) as pool:
        asked = [d for _ in range(50) for d in wanted]
        for d, found in zip(asked, pool.map(lambda d: spent.epsilon(d).upper, asked), strict=True):
            assert found == pytest.approx(wanted[d], rel=1e-8)


def test_an_accountant_is_pickled_as_its_list():
    spent = spend([*mixture(30), (Pure(0.2), 3)])
    spent.epsilon(1e-6)
    again = pickle.loads(pickle.dumps(spent))  # noqa: S301 - our own bytes
    assert again.epsilon(1e-6).upper == pytest.approx(spent.epsilon(1e-6).upper, rel=1e-8)
    total = compose(mixture(30))
    total.epsilon(1e-6)
    assert pickle.loads(pickle.dumps(total)) == total  # noqa: S301 - our own bytes
    assert copy.deepcopy(total).epsilon(1e-6).upper == total.epsilon(1e-6).upper
