"""What an amount of each measure pays for."""

from fractions import Fraction

import pytest

from discreet.privacy import EPSILON, GDP, MU_SQUARED, RHO, ZCDP, Pure
from discreet.privacy.budgets.buying import amount_within, buys
from discreet.privacy.budgets.charges import price, renyi

MEASURES = [EPSILON, RHO, MU_SQUARED, renyi(20)]


@pytest.mark.parametrize("measure", MEASURES, ids=lambda one: one.name)
@pytest.mark.parametrize("amount", [Fraction(1, 10**6), Fraction(1, 18), Fraction(1), Fraction(30)])
def test_both_kinds_of_noise_cost_the_amount_and_hardly_less(measure, amount):
    noise = buys(measure, amount)
    laplace = price(Pure(noise.epsilon), measure).amount
    assert amount * (1 - Fraction(1, 10**6)) <= laplace <= amount
    if measure == EPSILON:
        assert noise.mu_squared == 0
        return
    gaussian = price(GDP.of_square(noise.mu_squared), measure).amount
    assert float(gaussian) == pytest.approx(float(amount), rel=1e-12)


def test_nothing_buys_nothing():
    noise = buys(RHO, Fraction(0))
    assert (noise.epsilon, noise.mu_squared) == (0, 0)


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(10)])
@pytest.mark.parametrize("delta", [Fraction(1, 10**5), Fraction(1, 10**12)])
def test_the_one_conversion_rounds_against_the_spender(epsilon, delta):
    for measure, family in ((RHO, ZCDP), (MU_SQUARED, GDP.of_square)):
        amount = amount_within(epsilon, delta, measure)
        assert family(amount).delta(epsilon).upper <= delta
        assert family(amount * (1 + Fraction(1, 10**10))).delta(epsilon).upper > delta
    assert amount_within(epsilon, delta, EPSILON) == epsilon
