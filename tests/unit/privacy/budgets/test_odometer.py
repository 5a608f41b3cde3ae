"""Odometers: a running bound that is the mixture's, or the sum, and never less."""

import json
import math
import pickle
from fractions import Fraction

import gmpy2
import pytest

from cpu_time import quickest
from discreet.errors import BudgetError, InputError
from discreet.privacy.budgets.charges import EPSILON, MU_SQUARED, RHO, Charge, renyi
from discreet.privacy.budgets.odometer import _ORDERS, Odometer, mixture_bound
from discreet.privacy.guarantees.gaussian import GDP, GaussianNoise
from discreet.privacy.guarantees.neighbours import Neighbours
from discreet.privacy.guarantees.pure import Approximate, Pure
from discreet.privacy.guarantees.zcdp import ZCDP


def mixture(loss, rho):
    """The mixture in 200 bits."""
    with gmpy2.context(precision=200):
        orders = [gmpy2.mpfr(float(s)) for s in _ORDERS]
        total = sum(gmpy2.exp(s * gmpy2.mpfr(loss) - s * (s + 1) * gmpy2.mpfr(rho)) for s in orders)
        return total / len(orders)


@pytest.mark.parametrize("rho", [1e-14, 1e-9, 1e-4, 0.03, 1.0, 50.0, 1e4])
@pytest.mark.parametrize("delta", [0.5, 1e-2, 1e-6, 1e-20, 1e-300])
def test_the_bound_is_where_the_mixture_reaches_one_over_delta(rho, delta):
    bound = mixture_bound(rho, Fraction(delta))
    assert mixture(bound, rho) * gmpy2.mpfr(delta) >= 1
    assert mixture(bound * (1 - 1e-10), rho) * gmpy2.mpfr(delta) < 1


def test_it_costs_little_more_than_a_bound_for_one_moment():
    for rho in (1e-6, 0.01, 1, 30):
        once = rho + 2 * math.sqrt(rho * math.log(1e6))
        assert once < mixture_bound(rho, Fraction(1, 10**6)) < 1.25 * once


def test_nothing_charged_is_nothing_given_away():
    assert Odometer().epsilon(0).upper == 0
    assert Odometer().epsilon(1e-6).upper == 0


def test_few_charges_cost_their_sum_and_many_cost_less():
    meter = Odometer()
    for n in range(1, 200):
        meter = meter.charge(meter.price(Pure(0.1)))
        bound = meter.epsilon(1e-6)
        assert bound.upper <= n / 10 * (1 + 1e-15)
    assert bound.method == "mixture odometer"
    assert bound.upper < 10


def test_the_bound_grows_with_every_charge_and_as_delta_falls():
    meter, last = Odometer(), 0.0
    for guarantee in (Pure(0.5), GaussianNoise(0.3), ZCDP(0.1), GDP(0.01), Pure(0.01)):
        meter = meter.charge(meter.price(guarantee))
        now = meter.epsilon(1e-6).upper
        assert now > last
        assert meter.epsilon(1e-9).upper >= now
        last = now


def test_charges_without_an_epsilon_have_no_sum():
    meter = Odometer().charge(Charge(0.5, measure=RHO))
    assert meter.epsilon(0).upper == math.inf
    assert meter.epsilon(1e-6).upper < math.inf


def test_every_measure_with_a_rho_counts_the_same():
    amounts = [
        Odometer().charge(Charge(Fraction(1, 8), measure=RHO)),
        Odometer().charge(Charge(Fraction(1, 4), measure=MU_SQUARED)),
    ]
    assert amounts[0].spent.amount == amounts[1].spent.amount == Fraction(1, 8)
    pure = Odometer().charge(Charge(Fraction(1, 2), measure=EPSILON)).spent.amount
    assert 0.999 * float(pure) < 0.5 * math.tanh(0.25) <= float(pure)


def test_deltas_are_fixed_in_advance_and_taken_off_first():
    meter = Odometer(deltas=1e-7)
    meter = meter.charge(meter.price(Approximate(0.1, 1e-7)))
    plain = Odometer().charge(Charge(0.1, measure=EPSILON))
    assert meter.epsilon(5e-8).upper == math.inf
    assert meter.epsilon(1e-7).upper == 0.1
    assert meter.epsilon(1e-6).upper >= plain.epsilon(1e-6).upper
    with pytest.raises(BudgetError) as refusal:
        meter.charge(meter.price(Approximate(0.1, 1e-9)))
    assert (refusal.value.asked, refusal.value.left) == (1e-9, 0.0)


def test_strangers_are_refused():
    for stranger in (
        Charge(0.1, measure=renyi(2)),
        Charge(0.1, measure=RHO, neighbours=Neighbours.CHANGE_ONE),
    ):
        with pytest.raises(InputError):
            Odometer().charge(stranger)


@pytest.mark.parametrize("deltas", [-1e-9, 1.5, float("nan")])
def test_bad_parameters_raise_input_errors(deltas):
    with pytest.raises(InputError):
        Odometer(deltas)


def test_asking_and_charging_leave_the_old_value_alone():
    start = Odometer().charge(Charge(0.1, measure=RHO))
    before = start.epsilon(1e-6).upper
    start.charge(Charge(5, measure=RHO))
    assert start.epsilon(1e-6).upper == before
    with pytest.raises(AttributeError):
        start.deltas = 1


def test_odometers_survive_storage():
    meter = Odometer(1e-6, neighbours=Neighbours.CHANGE_ONE)
    for charge in (
        Charge(0.1, 1e-8, measure=EPSILON, neighbours=Neighbours.CHANGE_ONE),
        Charge(0.1, measure=MU_SQUARED, neighbours=Neighbours.CHANGE_ONE),
    ):
        meter = meter.charge(charge)
    again = Odometer.from_dict(json.loads(json.dumps(meter.to_dict())))
    assert again == meter
    assert again.epsilon(1e-5) == meter.epsilon(1e-5)
    assert pickle.loads(pickle.dumps(meter)) == meter  # noqa: S301
    with pytest.raises(InputError, match="will not guess"):
        Odometer.from_dict({**meter.to_dict(), "kind": "filter/1"})


@pytest.mark.parametrize(
    "broken", [{"deltas": "x"}, {"deltas": None}, {"neighbours": "x"}, {"charges": "x"}]
)
def test_broken_storage_is_refused(broken):
    with pytest.raises(InputError, match="cannot be read"):
        Odometer.from_dict({**Odometer().to_dict(), **broken})


def test_the_order_of_charges_does_not_matter():
    charges = [Charge(Fraction(1, n), measure=RHO) for n in range(3, 40)]
    there, back = Odometer(), Odometer()
    for one, other in zip(charges, reversed(charges), strict=True):
        there, back = there.charge(one), back.charge(other)
    assert there.epsilon(1e-6) == back.epsilon(1e-6)


def test_reading_takes_about_a_millisecond():
    meter = Odometer().charge(Charge(0.1, measure=RHO))
    assert quickest(lambda: meter.epsilon(1e-6), tries=20) < 3e-3
