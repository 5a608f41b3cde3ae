import math
from fractions import Fraction

import pytest

from discreet.errors import InputError
from discreet.privacy import (
    GDP,
    RDP,
    ZCDP,
    Approximate,
    BoundedRange,
    Composed,
    DiscreteGaussianNoise,
    GaussianNoise,
    Guarantee,
    LaplaceNoise,
    Neighbours,
    Pure,
    RandomizedResponseNoise,
    compose,
    optimal_epsilon,
)
from discreet.privacy.guarantees.guarantee import GroupPrivacy
from discreet.privacy.numerics.moments import OrderLine

MANY = {
    "kairouz-oh-viswanath": [(Pure(0.1), 50)],
    "gdp": [(GaussianNoise(0.1), 50), GDP(0.3)],
    "contour": [(LaplaceNoise(0.1), 50), GaussianNoise(0.1)],
    "enumeration": [(Pure(0.1), 3), RandomizedResponseNoise(0.2, 3)],
    "rdp": [(BoundedRange(0.1), 80)],
}


@pytest.mark.parametrize("method", MANY)
def test_the_best_method_is_named(method):
    assert compose(MANY[method]).epsilon(1e-5).method == method


def test_guarantees_come_alone_or_with_a_count():
    assert compose([Pure(0.1), Pure(0.1)]) == compose([(Pure(0.1), 2)])
    assert compose([compose([Pure(0.1)]), (compose([(Pure(0.1), 3)]), 2)]) == compose(
        [(Pure(0.1), 7)]
    )
    assert compose(iter([Pure(0.1)])).epsilon(0).upper == 0.1


def test_nothing_composed_costs_nothing():
    assert compose([]).epsilon(0).upper == 0
    assert compose([]).delta(0).upper == 0
    assert compose([]).rho().upper == 0
    assert compose([]).tradeoff(0.3) == pytest.approx(0.7)


def test_one_guarantee_is_itself():
    for one in (Pure(0.3), ZCDP(0.1, 1e-6), RDP({2: 1, 8: 2}), GaussianNoise(1)):
        assert compose([one]).epsilon(1e-3).upper == one.epsilon(1e-3).upper
        assert compose([one]).delta(0.1).upper == one.delta(0.1).upper
        assert compose([one]).tradeoff(0.1) == one.tradeoff(0.1)


def test_mixing_neighbours_is_refused():
    with pytest.raises(InputError, match="neighbours"):
        compose([Pure(0.1), Pure(0.1, neighbours=Neighbours.CHANGE_ONE)])
    changed = compose([Pure(0.1).under(Neighbours.CHANGE_ONE)] * 2)
    assert changed.neighbours is Neighbours.CHANGE_ONE


def test_equal_pure_parts_are_composed_exactly():
    total = compose([(RandomizedResponseNoise(0.1), 100)])
    assert total.epsilon(1e-6).upper == pytest.approx(4.774568, abs=1e-6)
    assert total.epsilon(1e-6).upper == optimal_epsilon([(Pure(0.1), 100)], 1e-6).upper
    assert total.delta(4.774568).upper == pytest.approx(1e-6, rel=1e-5)
    approximate = compose([(Approximate(0.1, 1e-9), 100)])
    assert total.epsilon(1e-6).upper < approximate.epsilon(1e-6).upper < 4.85


def test_past_the_exact_sum_the_accountant_takes_over():
    bound = compose([(Pure(0.01), 3000)]).epsilon(1e-6)
    exact = optimal_epsilon([(Pure(0.01), 3000)], 1e-6)
    assert bound.method == "contour"
    assert exact.lower <= bound.upper <= exact.upper + 2e-5


def test_concentrated_parts_add_their_moments():
    total = compose(
        [(GaussianNoise(0.1), 100), ZCDP(0.1), RDP({a: a * 0.05 for a in range(2, 200)})]
    )
    alone = ZCDP(0.5 + 0.1 + 0.05).epsilon(1e-6).upper
    assert total.epsilon(1e-6).upper == pytest.approx(alone, rel=1e-3)
    assert total.delta(total.epsilon(1e-6).upper).upper == pytest.approx(1e-6, rel=1e-6)
    with pytest.raises(InputError):
        total.rho()


def test_approximate_concentrated_parts_add_their_deltas():
    total = compose([(ZCDP(0.01, 1e-8), 10), (Pure(0.01), 10)])
    assert total.epsilon(9e-8).upper == math.inf
    # Together they fail with less than the sum of their chances.
    assert total.epsilon(1e-7).upper < 4
    exact = ZCDP(0.1 + 10 * Pure(0.01).rho().upper).epsilon(9e-7).upper
    assert total.epsilon(1e-6).upper == pytest.approx(exact, rel=1e-3)


def test_a_group_from_the_profile_composes_by_sums():
    odd = GroupPrivacy(ZCDP(0.01, 1e-9), 2)
    total = compose([(odd, 2), Pure(0.1)])
    assert total.epsilon(1e-5).method == "basic"
    assert total.epsilon(1e-5).upper == pytest.approx(0.1 + 2 * odd.epsilon(5e-6).upper, rel=1e-6)


def test_bounded_range_composes_better_than_pure():
    exponential = compose([(BoundedRange(0.1), 100)]).epsilon(1e-6).upper
    assert exponential < compose([(Pure(0.1), 100)]).epsilon(1e-6).upper
    assert exponential <= ZCDP(Fraction(1, 8)).epsilon(1e-6).upper
    mixed = compose([(BoundedRange(0.1), 100), (LaplaceNoise(0.01), 100), GaussianNoise(0.1)])
    assert mixed.epsilon(1e-6).upper >= exponential
    assert mixed.epsilon(1e-6).lower == 0 or mixed.epsilon(1e-6).lower <= mixed.epsilon(1e-6).upper


def test_groups_and_changes_reach_every_part():
    total = compose([(LaplaceNoise(0.1), 4), GaussianNoise(0.2)])
    assert total.group(3) == compose([(LaplaceNoise(0.3), 4), GaussianNoise(0.6)])
    changed = total.under(Neighbours.CHANGE_ONE)
    assert all(one.neighbours is Neighbours.CHANGE_ONE for one, _ in changed.parts)
    assert changed.epsilon(1e-5).upper == pytest.approx(total.group(2).epsilon(1e-5).upper)


def test_rho_adds_up():
    total = compose([(GaussianNoise(0.1), 3), Pure(0.2), DiscreteGaussianNoise(1, 50)])
    parts = 3 * 0.005 + Pure(0.2).rho().upper + 0.01
    assert total.rho().upper == pytest.approx(parts)
    assert total.rdp(3).upper <= total.rho().upper * 3


def test_moments_multiply():
    at = OrderLine(2.0, 0.3, 40)
    total = compose([(LaplaceNoise(0.3), 4), Pure(0.2)])
    product = LaplaceNoise(0.3).moments(at).power(4).times(Pure(0.2).moments(at))
    assert abs(total.moments(at).phi - product.phi).max() < 1e-14
    assert total.log_mgf(2).upper == pytest.approx(product.log_scale)
    assert compose([ZCDP(1), Pure(1)]).moments(at) is None


def test_the_tradeoff_of_gaussians_is_gaussian():
    total = compose([(GaussianNoise(0.3), 4), (GaussianNoise(0.8), 1)])
    assert total.tradeoff(0.05) == pytest.approx(GDP(1).tradeoff(0.05), rel=1e-12)


def test_storage_of_a_composition():
    total = compose([(LaplaceNoise(0.1), 20), ZCDP(0.1), Tabled()])
    total.epsilon(1e-3)
    assert Guarantee.from_dict(total.to_dict()) == total
    assert isinstance(Guarantee.from_dict(total.to_dict()), Composed)


def Tabled():  # noqa: N802
    from discreet.privacy import Tabulated

    return Tabulated([0.1, 0], [0.5, 0.5])


def test_order_does_not_matter():
    parts = [(LaplaceNoise(0.1), 20), (Pure(0.05), 7), GaussianNoise(0.3), BoundedRange(0.1)]
    for delta in (1e-2, 1e-8):
        there = compose(parts).epsilon(delta).upper
        assert there == pytest.approx(compose(parts[::-1]).epsilon(delta).upper, rel=1e-9)


def test_too_many_different_parts_for_interval_moments_still_have_a_bound():
    parts = [BoundedRange(Fraction(i, 10**5)) for i in range(1, 500)]
    total = compose([*parts, GaussianNoise(0.1)])
    assert total.epsilon(1e-6).method == "contour"
    assert total.delta(1).upper < 1e-3


@pytest.mark.parametrize(
    ("one", "count", "delta", "theirs"),
    [
        (LaplaceNoise(0.01), 1000, 1e-6, 1.36292463),
        (LaplaceNoise(0.1), 100, 1e-5, 4.22036),
        (LaplaceNoise(0.1), 100, 1e-6, 4.69269),
        (LaplaceNoise(0.1), 100, 1e-9, 5.85326),
        (RandomizedResponseNoise(0.01), 1000, 1e-6, 1.365447),
        (DiscreteGaussianNoise(1, 100**2), 1000, 1e-6, 1.367590),
    ],
)
def test_agreement_with_an_independent_accountant(one, count, delta, theirs):
    """Figures of dp-accounting 0.6.0 by connected dots, sound there up to their grid's 1e-4."""
    bound = compose([(one, count)]).epsilon(delta)
    assert bound.lower <= theirs
    assert bound.upper == pytest.approx(theirs, abs=1e-4)
