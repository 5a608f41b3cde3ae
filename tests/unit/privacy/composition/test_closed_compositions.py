"""Basic, advanced, optimal and heterogeneous composition."""

import itertools
import math
from fractions import Fraction

import pytest

from discreet.errors import InputError
from discreet.privacy import (
    GDP,
    Approximate,
    GaussianNoise,
    Pure,
    advanced_epsilon,
    basic_epsilon,
    compose,
    heterogeneous_epsilon,
    optimal_delta,
    optimal_epsilon,
)
from discreet.privacy.numerics.rounding import Interval


def pure(epsilons):
    return [(Pure(epsilon), 1) for epsilon in epsilons]


def enumerate_delta(epsilons, epsilon):
    total = 0.0
    for signs in itertools.product((1, -1), repeat=len(epsilons)):
        p = math.prod(1 / (1 + math.exp(-s * e)) for s, e in zip(signs, epsilons, strict=True))
        z = sum(s * e for s, e in zip(signs, epsilons, strict=True))
        total += p * max(0.0, -math.expm1(epsilon - z))
    return total


def test_basic_composition_adds_up():
    assert basic_epsilon([(Pure(0.1), 3), (Pure(0.2), 2)], Fraction(0)).upper == pytest.approx(0.7)
    mixed = basic_epsilon([(Pure(0.1), 3), (Approximate(0.2, 1e-6), 2)], Fraction(1, 10**5))
    assert 0.69 < mixed.upper <= 0.7
    assert basic_epsilon([(Approximate(0.2, 1e-6), 2)], Fraction(1, 10**6)).upper == math.inf
    gaussian = basic_epsilon([(GaussianNoise(1), 2)], Fraction(2, 10**6))
    assert gaussian.upper == pytest.approx(2 * GDP(1).epsilon(1e-6).upper)
    assert basic_epsilon([], Fraction(0)).upper == 0


@pytest.mark.parametrize(
    ("delta", "exact", "advanced"),
    [(1e-5, 4.306791, 5.298), (1e-6, 4.774568, 5.756), (1e-9, 5.959650, 6.938)],
)
def test_a_hundred_randomized_responses(delta, exact, advanced):
    found = optimal_epsilon([(Pure(0.1), 100)], delta)
    assert found.upper == pytest.approx(exact, abs=1e-6)
    assert found.width < 1e-12
    assert advanced_epsilon([(Pure(0.1), 100)], delta).upper == pytest.approx(advanced, abs=1e-3)


@pytest.mark.parametrize("k", [1, 2, 5, 10])
@pytest.mark.parametrize("own", [0.05, 0.7, 3])
def test_optimal_composition_against_enumeration(k, own):
    for share in (0, 0.13, 0.5, 0.87, 1, 2):
        epsilon = own * k * share
        truth = enumerate_delta([own] * k, epsilon)
        bound = optimal_delta([(Pure(own), k)], epsilon)
        assert bound.lower <= truth * (1 + 1e-12) + 1e-15
        assert bound.upper >= truth * (1 - 1e-12) - 1e-16
        assert bound.width <= 1e-15
    for delta in (1e-1, 1e-3, 1e-7):
        found = optimal_epsilon([(Pure(own), k)], delta)
        assert enumerate_delta([own] * k, found.upper) <= delta * (1 + 1e-9)
        if found.lower > 0:
            assert enumerate_delta([own] * k, found.lower * (1 - 1e-13)) >= delta * (1 - 1e-8)


def test_optimal_composition_with_a_delta():
    bound = optimal_epsilon([(Approximate(0.1, 1e-8), 50)], 1e-6)
    lost = 1 - (1 - 1e-8) ** 50
    inner = optimal_epsilon([(Pure(0.1), 50)], (1e-6 - lost) / (1 - lost))
    assert bound.upper == pytest.approx(inner.upper, rel=1e-6)
    assert optimal_epsilon([(Approximate(0.1, 1e-6), 50)], 1e-6).upper == math.inf
    assert optimal_delta([(Approximate(0.1, 1e-6), 50)], 5).upper == pytest.approx(50e-6, rel=1e-4)
    assert optimal_epsilon([(Pure(0), 5)], 0).upper == 0
    assert optimal_delta([(Pure(0), 5)], 0).upper == 0


def test_advanced_composition_never_beats_the_optimum_and_never_loses_to_basic():
    for own, k in ((0.01, 10), (0.1, 100), (1, 5), (0.001, 10**4)):
        for delta in (1e-3, 1e-9):
            advanced = advanced_epsilon([(Pure(own), k)], delta).upper
            assert (
                compose([(Pure(own), k)]).epsilon(delta).lower <= advanced <= own * k * (1 + 1e-15)
            )
    assert advanced_epsilon([(Pure(0.5), 2)], 0).upper == 1.0
    with pytest.raises(InputError):
        advanced_epsilon([(Pure(-1), 2)], 0.1)


@pytest.mark.parametrize("epsilons", [[0.1, 0.2, 0.3], [1, 0.01, 0.5, 0.25], [0.3] * 6])
@pytest.mark.parametrize("tolerance", [0.01, 0.0001])
def test_heterogeneous_composition_brackets_the_truth(epsilons, tolerance):
    for delta in (1e-1, 1e-2, 1e-4):
        bound = heterogeneous_epsilon(pure(epsilons), delta, tolerance)
        assert bound.upper - bound.lower <= tolerance * 1.01
        assert enumerate_delta(epsilons, bound.upper) <= delta * (1 + 1e-12)
        if bound.lower > 0:
            assert enumerate_delta(epsilons, bound.lower) >= delta * (1 - 1e-9)


def test_heterogeneous_composition_agrees_with_the_accountant():
    epsilons = [Fraction(i, 1000) for i in range(10, 110)]
    grid = heterogeneous_epsilon(pure(epsilons), 1e-6, 0.02)
    contour = compose([Pure(e) for e in epsilons]).epsilon(1e-6)
    assert contour.upper >= grid.lower
    assert contour.lower <= grid.upper
    assert contour.upper == pytest.approx(grid.upper, abs=0.02)


def test_a_delta_that_is_no_probability_is_refused():
    for ask in (
        lambda: advanced_epsilon([(Pure(0.1), 3)], 2),
        lambda: optimal_epsilon([(Pure(0.1), 3)], 2),
        lambda: heterogeneous_epsilon(pure([0.1, 0.2]), 2),
    ):
        with pytest.raises(InputError, match="delta is 2"):
            ask()


def test_at_delta_0_epsilons_add_up_to_the_last_digit():
    found = compose([Pure(Fraction(3, 10)), Pure(Fraction(4, 10))]).epsilon(0)
    assert found.lower <= Fraction(7, 10) <= found.upper
    assert found.upper == math.nextafter(0.7, 1)
    assert compose([Pure(1), GaussianNoise(1)]).epsilon(0).upper == math.inf


def test_a_grid_that_would_not_fit_is_refused():
    with pytest.raises(InputError, match="grid"):
        heterogeneous_epsilon(pure([1] * 1000), 1e-6, 1e-6)
    with pytest.raises(InputError):
        heterogeneous_epsilon(pure([1]), 1e-6, 0)


def test_interval_law_masses_sum_to_one():
    from discreet.privacy.composition.theorems import _law

    law = _law(Fraction(1, 7), 40)
    assert law.above[-1].lower <= 1 <= law.above[-1].upper
    assert law.below[-1].lower <= 1 <= law.below[-1].upper
    assert Interval.of(1).upper == 1


@pytest.mark.parametrize(
    "theorem", [basic_epsilon, advanced_epsilon, optimal_epsilon, heterogeneous_epsilon]
)
def test_all_theorems_take_what_compose_takes(theorem):
    whole = theorem([(Pure(0.1), 3)], 1e-6)
    assert theorem([Pure(0.1)] * 3, 1e-6) == theorem([Pure(0.1), (Pure(0.1), 2)], 1e-6) == whole
    assert theorem(Pure(0.1), 1e-6) == theorem([Pure(0.1)], 1e-6)
    for wrong in (["a"], [("a", 2)], [(Pure(0.1), 0)], [(Pure(0.1), 1, 2)], [None]):
        with pytest.raises(InputError):
            theorem(wrong, 1e-6)
