"""What may be charged adaptively, and for how much."""

import json
import pickle
import sys
from fractions import Fraction
from typing import get_args

import pytest

from discreet.errors import InputError
from discreet.privacy.budgets.charges import (
    EPSILON,
    MU_SQUARED,
    RHO,
    UNITS,
    Charge,
    Chargeable,
    ChargeHistory,
    Measure,
    price,
    price_sum,
    renyi,
    units,
)
from discreet.privacy.composition.composed import Composed, compose
from discreet.privacy.guarantees.bounded_range import BoundedRange
from discreet.privacy.guarantees.gaussian import GDP, DiscreteGaussianNoise, GaussianNoise, root_up
from discreet.privacy.guarantees.laplace import DiscreteLaplaceNoise, LaplaceNoise
from discreet.privacy.guarantees.neighbours import Neighbours
from discreet.privacy.guarantees.pure import Approximate, Pure, least_mu
from discreet.privacy.guarantees.randomized_response import RandomizedResponseNoise
from discreet.privacy.guarantees.renyi import RDP
from discreet.privacy.guarantees.shuffled import Shuffled
from discreet.privacy.guarantees.subsampled import Subsampled
from discreet.privacy.guarantees.zcdp import ZCDP
from discreet.privacy.numerics.rounding import Interval

MEASURES = [EPSILON, RHO, MU_SQUARED, renyi(2), renyi(8.5)]


@pytest.mark.parametrize(
    ("guarantee", "measure", "amount", "delta"),
    [
        (Pure(0.1), EPSILON, Fraction(1, 10), 0),
        (LaplaceNoise(0.1), EPSILON, Fraction(1, 10), 0),
        (DiscreteLaplaceNoise(0.1, sensitivity=3), EPSILON, Fraction(1, 10), 0),
        (RandomizedResponseNoise(0.1, k=4), EPSILON, Fraction(1, 10), 0),
        (BoundedRange(0.1), EPSILON, Fraction(1, 10), 0),
        (Approximate(0.1, 1e-7), EPSILON, Fraction(1, 10), Fraction(1, 10**7)),
        (BoundedRange(0.1), RHO, Fraction(1, 800), 0),
        (GaussianNoise(0.1), RHO, Fraction(1, 200), 0),
        (GDP(0.1), RHO, Fraction(1, 200), 0),
        (DiscreteGaussianNoise(3, 100), RHO, Fraction(9, 200), 0),
        (ZCDP(0.1, 1e-9), RHO, Fraction(1, 10), Fraction(1, 10**9)),
        (GaussianNoise(0.1), MU_SQUARED, Fraction(1, 100), 0),
        (RDP({2: 1, 4: 3}), renyi(4), 3, 0),
    ],
)
def test_exact_costs_stay_exact(guarantee, measure, amount, delta):
    charge = price(guarantee, measure)
    assert (charge.amount, charge.delta) == (amount, delta)
    assert charge.neighbours is guarantee.neighbours


@pytest.mark.parametrize(
    "guarantee",
    [Pure(0.7), LaplaceNoise(0.7), DiscreteLaplaceNoise(0.7), RandomizedResponseNoise(0.7, k=3)],
)
def test_rounded_costs_are_at_least_the_true_ones_and_close(guarantee):
    assert price(guarantee, RHO).amount >= guarantee.rho().lower
    assert price(guarantee, RHO).amount <= Fraction(49, 200)
    for order in (1.5, 2, 8.5, 100):
        cost = price(guarantee, renyi(order)).amount
        assert guarantee.rdp(order).lower <= cost <= guarantee.rdp(order).upper


def test_a_pure_guarantee_implies_the_gaussian_one_it_is_charged_as():
    for epsilon in (Fraction(1, 100), Fraction(1), Fraction(5), Fraction(40)):
        mu = least_mu(epsilon)
        for alpha in (0.001, 0.01, 0.1, 0.3, 0.5, 0.9):
            assert GDP(mu).tradeoff(alpha) <= Pure(epsilon).tradeoff(alpha) + 1e-12
        # Nothing much smaller would do: the curves touch where the two lines meet.
        at = float(1 / (1 + 2.718281828459045 ** float(epsilon)))
        looser = GDP(mu * Fraction(99, 100)).tradeoff(at)
        assert looser > Pure(epsilon).tradeoff(at) * (1 + 1e-9)
    assert least_mu(Fraction(0)) == 0
    for n in range(1, 200):
        epsilon = Fraction(n, 13)
        meeting = 1 / (1 + Interval.of(epsilon).exp())
        assert Interval.of(least_mu(epsilon) / 2).normal_tail().hi <= meeting.lo


@pytest.mark.parametrize(
    ("guarantee", "measure"),
    [
        (GaussianNoise(1), EPSILON),
        (ZCDP(1), EPSILON),
        (RDP({2: 1}), EPSILON),
        (RDP({2: 1}), RHO),
        (DiscreteGaussianNoise(1, 1), EPSILON),
        (ZCDP(1), MU_SQUARED),
        (Subsampled(GaussianNoise(1), 0.5), MU_SQUARED),
        (Approximate(1, 1e-6), renyi(2)),
        (ZCDP(1, 1e-6), renyi(2)),
        (RDP({2: 1}), renyi(3)),
        (Subsampled(GaussianNoise(1), 0.5), EPSILON),
    ],
)
def test_what_a_measure_cannot_express_is_refused(guarantee, measure):
    with pytest.raises(InputError, match="no cost in"):
        price(guarantee, measure)


def test_sampling_makes_charges_cheaper():
    sampled = Subsampled(LaplaceNoise(1), 0.1)
    assert price(sampled, EPSILON).amount < Fraction(2, 10)
    assert price(Subsampled(GaussianNoise(1), 0.1), renyi(4)).amount < Fraction(2, 10)
    assert price(sampled, MU_SQUARED).amount < price(LaplaceNoise(1), MU_SQUARED).amount


def test_compositions_have_no_charge():
    names = {kind.__name__ for kind in get_args(Chargeable)}
    assert names == {
        "Approximate",
        "BoundedRange",
        "DiscreteGaussianNoise",
        "DiscreteLaplaceNoise",
        "GDP",
        "GaussianNoise",
        "LaplaceNoise",
        "Pure",
        "RDP",
        "RandomizedResponseNoise",
        "Subsampled",
        "ZCDP",
    }


def test_a_composition_fixed_in_advance_costs_the_sum_of_its_parts():
    parts = [(LaplaceNoise(0.1), 20), Approximate(0.2, 1e-9), (BoundedRange(0.3), 2)]
    whole = compose(parts)
    assert price_sum(whole, EPSILON).amount == Fraction(28, 10)
    assert price_sum(whole, EPSILON).delta == Fraction(1, 10**9)
    one_by_one = [price(p, RHO) for p in [*[LaplaceNoise(0.1)] * 20, *[BoundedRange(0.3)] * 2]]
    one_by_one.append(price(Approximate(0.2, 1e-9), RHO))
    assert price_sum(whole, RHO).amount == sum(charge.amount for charge in one_by_one)
    noisy = compose([(GaussianNoise(0.1), 3), GDP(0.2)])
    assert price_sum(noisy, MU_SQUARED).amount == Fraction(7, 100)
    assert price_sum(noisy, renyi(4)).amount >= noisy.rdp(4).lower


def test_a_composed_charge_saves_nothing_that_only_numerical_composition_could():
    whole = compose([(LaplaceNoise(0.1), 100)])
    assert price_sum(whole, EPSILON).amount == 10 > whole.epsilon(1e-6).upper
    assert price_sum(whole, RHO).amount >= whole.rho().lower


def test_what_a_part_cannot_say_its_composition_cannot_say():
    for part, measure in ((GaussianNoise(1), EPSILON), (Approximate(1, 1e-6), renyi(2))):
        with pytest.raises(InputError, match="no cost in"):
            price_sum(compose([Pure(0.1), part]), measure)
    with pytest.raises(InputError, match="Shuffled has no cost in rho"):
        price_sum(compose([Shuffled(1, 10**4)]), RHO)


def test_nothing_composed_costs_nothing_about_the_right_neighbours():
    for about in Neighbours:
        charge = price_sum(Composed([], neighbours=about), RHO)
        assert (charge.amount, charge.delta, charge.neighbours) == (0, 0, about)
    assert price_sum(compose([(Approximate(0.1, 0.4), 5)]), EPSILON).delta == 1


def test_units_round_up_and_are_exact_for_decimals_and_small_fractions():
    for amount in (Fraction(1, 10), Fraction(1, 3), Fraction(5, 7), Fraction(1, 10**40)):
        assert Fraction(units(amount), UNITS) == amount
    odd = Fraction(1, 17)
    assert 0 < Fraction(units(odd), UNITS) - odd < Fraction(1, UNITS)
    assert units(Fraction(1, 10**100)) == 1
    assert units(Fraction(0)) == 0


@pytest.mark.parametrize("measure", MEASURES)
def test_charges_survive_storage(measure):
    delta = Fraction(1, 10**9) if measure in (EPSILON, RHO) else 0
    charge = Charge(Fraction(1, 3), delta, measure=measure, neighbours=Neighbours.CHANGE_ONE)
    assert Charge.from_dict(json.loads(json.dumps(charge.to_dict()))) == charge
    assert pickle.loads(pickle.dumps(charge)) == charge  # noqa: S301


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"measure": "epsilon"},
        {"measure": "x", "amount": "1", "delta": "0", "neighbours": "add-remove"},
        {"measure": "rho", "amount": "1/0", "delta": "0", "neighbours": "add-remove"},
        {"measure": "rho", "amount": "1", "delta": "0", "neighbours": "cousins"},
        {"measure": "rho", "amount": "-1", "delta": "0", "neighbours": "add-remove"},
        {"measure": "renyi", "amount": "1", "delta": "0", "neighbours": "add-remove"},
        {"measure": "rho", "amount": None, "delta": "0", "neighbours": "add-remove"},
    ],
)
def test_broken_storage_is_refused(broken):
    with pytest.raises(InputError):
        Charge.from_dict(broken)


@pytest.mark.parametrize(
    ("amount", "delta", "measure"),
    [
        (-1, 0, RHO),
        (float("nan"), 0, RHO),
        (float("inf"), 0, EPSILON),
        (1, -1e-9, RHO),
        (1, 1.5, RHO),
        (1, 1e-9, renyi(2)),
    ],
)
def test_bad_charges_raise_input_errors(amount, delta, measure):
    with pytest.raises(InputError):
        Charge(amount, delta, measure=measure)


@pytest.mark.parametrize("order", [1, 0.5, -2, float("nan")])
def test_orders_start_above_one(order):
    with pytest.raises(InputError):
        renyi(order)


def test_a_measure_has_an_order_exactly_if_it_is_renyi():
    with pytest.raises(InputError):
        Measure("renyi")
    with pytest.raises(InputError):
        Measure("rho", Fraction(2))


def test_roots_are_exact_or_rounded_up():
    assert root_up(Fraction(4, 9)) == Fraction(2, 3)
    assert root_up(Fraction(2)) ** 2 >= 2
    assert root_up(Fraction(2)) ** 2 < 2 + Fraction(1, 10**14)


def test_a_long_history_is_flat_to_copy_compare_and_forget():
    charge = Charge(0.1, measure=EPSILON)
    history = ChargeHistory()
    for _ in range(10 * sys.getrecursionlimit()):
        history = history.append(charge)
    assert pickle.loads(pickle.dumps(history)) == history  # noqa: S301
    assert len(list(history)) == len(history)
    assert history != ChargeHistory()
    assert hash(history) != hash(ChargeHistory())


def test_appending_leaves_the_old_history_alone_even_when_it_branches():
    one, two = Charge(0.1, measure=EPSILON), Charge(0.2, measure=EPSILON)
    base = ChargeHistory().append(one)
    left, right = base.append(one), base.append(two)
    assert [list(left), list(right), list(base)] == [[one, one], [one, two], [one]]


@pytest.mark.parametrize("measure", [EPSILON, RHO, MU_SQUARED, renyi(2)])
@pytest.mark.parametrize("whole", [None, "pure", compose([Pure(1), Pure(2)]), Shuffled(1, 100)])
def test_what_is_not_one_mechanism_is_refused_in_words(whole, measure):
    with pytest.raises(InputError, match=r"\.price_sum"):
        price(whole, measure)


@pytest.mark.parametrize("epsilon", [10, 40, 400])
def test_losses_too_large_to_compare_curves_are_charged_one_by_one(epsilon):
    one = LaplaceNoise(epsilon)

    both = price_sum(compose([(one, 2)]), MU_SQUARED)

    assert both.amount <= 2 * price(one, MU_SQUARED).amount
    assert both.delta == 0
