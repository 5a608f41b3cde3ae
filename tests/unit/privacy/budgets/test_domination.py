"""Gaussian curves above other curves, and what is charged for them."""

import math
from fractions import Fraction
from itertools import pairwise

import pytest

from discreet.errors import InputError
from discreet.privacy import (
    GDP,
    MU_SQUARED,
    RHO,
    ZCDP,
    Approximate,
    BoundedRange,
    DiscreteGaussianNoise,
    Filter,
    GaussianNoise,
    LaplaceNoise,
    Neighbours,
    Pure,
    Ranges,
    Subsampled,
    compose,
)
from discreet.privacy.budgets.charges import price, price_sum
from discreet.privacy.budgets.domination import dominating_mu
from discreet.privacy.guarantees.pure import least_mu
from discreet.privacy.numerics.rounding import PI

TAIL = Fraction(1, 10**9)
BOUNDED = [
    Pure(1),
    Pure(Fraction(1, 100)),
    LaplaceNoise(Fraction(1, 2)),
    BoundedRange(2),
    compose([(Pure(Fraction(1, 10)), 5)]),
    compose([Pure(Fraction(1, 3)), LaplaceNoise(Fraction(1, 5)), BoundedRange(Fraction(1, 2))]),
]
UNBOUNDED = [
    DiscreteGaussianNoise(3, 50),
    compose([(Subsampled(GaussianNoise(Fraction(1, 2)), Fraction(1, 100)), 300)]),
    ZCDP(Fraction(1, 50)),
    GaussianNoise(Fraction(1, 5)),
]


def curves(guarantee, mu, tail):
    top = guarantee.epsilon(max(tail, Fraction(1, 10**12))).upper
    for j in range(101):
        epsilon = Fraction(top * j / 100)
        above = tail + (1 - tail) * Fraction(GDP(mu).delta(epsilon).upper)
        own = guarantee.delta(epsilon)
        yield Fraction(own.lower), Fraction(own.upper), above


@pytest.mark.parametrize("guarantee", BOUNDED, ids=repr)
def test_the_gaussian_curve_is_nowhere_below_a_bounded_one(guarantee):
    mu = dominating_mu(guarantee)
    assert all(own <= above for own, _, above in curves(guarantee, mu, Fraction(0)))
    smaller = list(curves(guarantee, mu * Fraction(99, 100), Fraction(0)))
    assert any(own > above for _, own, above in smaller)


@pytest.mark.parametrize("guarantee", UNBOUNDED, ids=lambda one: type(one).__name__)
def test_a_far_tail_is_paid_by_delta(guarantee):
    mu = dominating_mu(guarantee, TAIL)
    assert all(own <= above for own, _, above in curves(guarantee, mu, TAIL))
    with pytest.raises(InputError, match="no Gaussian curve"):
        dominating_mu(guarantee, 0)


def test_gaussian_noise_is_its_own_curve_but_for_the_grid():
    mu = dominating_mu(GaussianNoise(Fraction(1, 5)), TAIL)
    assert mu < Fraction(1, 5) * (1 + Fraction(1, 400))


@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1, 3), 1, 5])
def test_closed_forms_agree_with_the_curve(epsilon):
    for guarantee, closed in (
        (Pure(epsilon), least_mu(Fraction(epsilon))),
        (BoundedRange(epsilon), least_mu(Fraction(epsilon) / 2)),
    ):
        assert float(dominating_mu(guarantee)) == pytest.approx(float(closed), rel=1e-4)
        assert price(guarantee, MU_SQUARED).amount == closed * closed


@pytest.mark.parametrize("r", [Fraction(1, 1000), Fraction(1, 10), 1, 3, 10, 40])
def test_a_range_costs_at_most_pi_times_its_rho(r):
    rho = Fraction(r) ** 2 / 8
    assert price(BoundedRange(r), MU_SQUARED).amount <= Fraction((PI * rho).upper)
    assert price(Ranges(rho), MU_SQUARED).amount == Fraction((PI * rho).upper)
    assert price(Ranges(rho), RHO).amount == rho


def test_the_slope_of_the_probit_by_the_logit_is_steepest_in_the_middle():
    # The lemma of docs/explanation/proofs/gaussian-accounts.md, at many places.
    def slope(z):
        low, high = math.erfc(z / math.sqrt(2)) / 2, math.erfc(-z / math.sqrt(2)) / 2
        return low * high * math.sqrt(2 * math.pi) * math.exp(z * z / 2)

    slopes = [slope(j / 50) for j in range(1500)]
    assert slopes[0] == pytest.approx(math.sqrt(2 * math.pi) / 4)
    assert all(b < a for a, b in pairwise(slopes))


def test_ranges_are_stored_grouped_and_carried_to_other_neighbours():
    one = Ranges(Fraction(1, 8))
    assert Ranges.from_dict(one.to_dict()) == one
    assert one.group(3) == Ranges(Fraction(9, 8))
    assert one.under(Neighbours.CHANGE_ONE) == Ranges(Fraction(1, 2), neighbours="change-one")
    assert one.delta(1) == ZCDP(Fraction(1, 8)).delta(1)
    assert Ranges(1, Fraction(1, 10**6)).group(2).delta(1).upper <= 1


def test_parts_of_one_order_cost_less_together():
    five = compose([(Pure(Fraction(1, 10)), 5)])
    together = price_sum(five, MU_SQUARED).amount
    assert together < Fraction(75, 100) * 5 * price(Pure(Fraction(1, 10)), MU_SQUARED).amount


def test_a_whole_order_is_charged_for_gaussian_parts_deltas_and_the_curve_of_the_rest():
    parts = [GDP(Fraction(1, 10)), Ranges(Fraction(1, 100)), Approximate(Fraction(1, 5), TAIL)]
    cost = price_sum(compose(parts), MU_SQUARED)
    assert cost.amount == sum(price(one, MU_SQUARED).amount for one in parts)
    assert cost.delta == TAIL
    assert price_sum(compose([Approximate(0, TAIL)]), MU_SQUARED).amount == 0
    assert price_sum(compose([]), MU_SQUARED).amount == 0


def test_a_training_run_costs_what_it_costs():
    run = compose([(Subsampled(GaussianNoise(Fraction(1, 10)), Fraction(1, 100)), 1000)])
    cost = price_sum(run, MU_SQUARED, tail=TAIL)
    assert cost.delta == TAIL
    # q^2 (e^(mu^2) - 1) a step, in the limit of many; without sampling it is 10
    assert Fraction(1, 1000) < cost.amount < Fraction(11, 10_000)
    budget = Filter.within(1, 1e-6, by=MU_SQUARED, deltas=Fraction(1, 2 * 10**6))
    assert budget.fits(budget.price_sum(run, tail=TAIL))
    with pytest.raises(InputError):
        price_sum(run, MU_SQUARED)


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-9), (1, 1e-5), (3, 1e-6), (0.3, 1e-6)])
def test_a_filter_with_deltas_keeps_to_its_epsilon_and_delta(epsilon, delta):
    own = Fraction(str(delta)) / 2
    guard = Filter.within(epsilon, delta, by=MU_SQUARED, deltas=own)
    assert guard.limit.delta == own
    assert guard.limit.stated == (Fraction(str(epsilon)), Fraction(str(delta)))
    assert delta * (1 - 1e-5) <= guard.guarantee.delta(epsilon).upper <= delta


@pytest.mark.parametrize("epsilon", [30, 200, 700, 1000, 10**6])
def test_what_hardly_protects_has_a_price_soon(epsilon):
    """Its curve is 1 to all digits, and no Gaussian curve is."""
    several = price_sum(compose([(LaplaceNoise(epsilon), 2)]), MU_SQUARED).amount

    assert price(LaplaceNoise(epsilon), MU_SQUARED).amount <= several
    assert several <= 2 * least_mu(Fraction(epsilon)) ** 2


@pytest.mark.parametrize("epsilon", [26, 28, 30, 36, 40, 50, 400, 800, 10**4, 10**6])
def test_several_parts_that_hardly_protect_have_a_price_soon(epsilon):
    """Such curves begin so near to 1 that doubles do not tell: no search may look for more."""
    parts = [Pure(Fraction(epsilon, 5)), LaplaceNoise(Fraction(3 * epsilon, 5)), Pure(1)]
    cost = price_sum(compose(parts), MU_SQUARED)
    alone = [price(part, MU_SQUARED).amount for part in parts]
    assert max(alone) <= cost.amount <= sum(alone)
    assert cost.delta == 0
