"""Additive mechanisms on inputs nobody would think of."""

import itertools
import math
from fractions import Fraction

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from discreet.errors import InputError
from discreet.mechanisms import sensitivity
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.grid import INTEGERS, PowerOfTwoGrid, choose_grid
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.postprocessing import increasing, on_simplex, summing_to
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.privacy import Neighbours

finite = st.floats(allow_nan=False, allow_infinity=False)
modest = st.floats(-1e6, 1e6)
rationals = st.fractions(min_value=Fraction(1, 10**6), max_value=10**6)
grids = st.integers(-60, 60).map(lambda k: PowerOfTwoGrid(Fraction(2) ** k))


@given(st.lists(finite, min_size=1, max_size=20), grids)
def test_arrays_are_rounded_as_exact_rationals_are(values, grid):
    expected = [math.floor(Fraction(value) / grid.step + Fraction(1, 2)) for value in values]
    assert grid.index(np.array(values)).tolist() == expected
    assert grid.index(values).tolist() == expected


@given(st.lists(st.integers(-(2**70), 2**70), min_size=1, max_size=20), grids)
def test_ints_are_rounded_as_exact_rationals_are(values, grid):
    expected = [math.floor(Fraction(value) / grid.step + Fraction(1, 2)) for value in values]
    assert grid.index(values).tolist() == expected


@given(finite, grids)
def test_a_value_moves_by_at_most_half_a_step(value, grid):
    assert abs(grid.index(value) * grid.step - Fraction(value)) <= grid.step / 2


@given(
    st.lists(st.tuples(finite, finite), min_size=1, max_size=6),
    st.integers(-30, 30).map(lambda k: PowerOfTwoGrid(Fraction(2) ** k)),
)
def test_b1_rounded_neighbours_are_within_the_steps_paid_for(pairs, grid):
    """For any two vectors of doubles, the sensitivity being their exact distance."""
    gaps = [abs(Fraction(a) - Fraction(b)) for a, b in pairs]
    l1 = sum(gaps)
    assume(l1 > 0)
    left, right = (grid.index(list(side)) for side in zip(*pairs, strict=True))
    moved = [abs(int(a) - int(b)) for a, b in zip(left, right, strict=True)]
    assert sum(moved) <= grid.l1_steps(l1, len(pairs))
    square = sum(gap**2 for gap in gaps)
    # A rational that is at least the l2 distance.
    distance = max(square, Fraction(1))
    assert sum(m**2 for m in moved) <= grid.squared_steps(distance, len(pairs))


@given(st.lists(modest, min_size=2, max_size=12), st.randoms(use_true_random=False))
def test_b1_a_sum_of_grid_points_does_not_depend_on_their_order(values, order):
    grid = PowerOfTwoGrid(Fraction(1, 1024))
    shuffled = list(values)
    order.shuffle(shuffled)
    assert sum(grid.index(values).tolist()) == sum(grid.index(shuffled).tolist())


@given(rationals, rationals, st.integers(1, 50))
def test_epsilon_and_scale_are_two_names_of_one_mechanism(epsilon, distance, size):
    try:
        noisy = Laplace(epsilon=epsilon, sensitivity=distance, dimension=size)
    except InputError as error:
        assert "scale" in str(error)  # noqa: PT017 - only the range of noise may be refused
        return
    assert noisy.epsilon == epsilon
    assert noisy.scale >= distance / epsilon
    again = Laplace(scale=noisy.scale, sensitivity=distance, dimension=size)
    assert again == noisy


@given(rationals, st.sampled_from([Fraction(1, 10), Fraction(1, 2), Fraction(2)]))
def test_a7_less_noise_never_costs_less(scale, factor):
    loud, quiet = sorted((scale * 2**20, scale * 2**20 * factor), reverse=True)
    costs = [Laplace(scale=s, sensitivity=1, grid=2**10).epsilon for s in (loud, quiet)]
    assert costs[0] <= costs[1]


@given(st.fractions(min_value=Fraction(1, 100), max_value=30), st.integers(2, 40))
def test_a7_randomized_response_never_exceeds_the_epsilon_asked_for(epsilon, k):
    survey = RandomizedResponse(epsilon=epsilon, k=k)
    with_slack = float(epsilon) * (1 + 1e-15)
    assert math.log(survey.truth / survey.lie) <= with_slack + 1e-15
    assert survey.guarantee.epsilon0 == epsilon


@settings(max_examples=25)
@given(
    st.fractions(min_value=Fraction(1, 20), max_value=5),
    st.sampled_from([1, 2, 7]),
    st.sampled_from([Fraction(1, 10**3), Fraction(1, 10**7)]),
)
def test_a7_gaussian_calibration_is_never_short(epsilon, distance, delta):
    noisy = Gaussian(epsilon=epsilon, delta=delta, sensitivity=distance)
    assert noisy.guarantee.epsilon(delta).upper <= epsilon


@given(
    st.lists(st.integers(0, 8).map(lambda k: Fraction(k, 4)), min_size=1, max_size=5),
    st.integers(0, 8).map(lambda k: Fraction(k, 4)),
    st.integers(0, 8).map(lambda k: Fraction(k, 4)),
)
def test_b3_statistics_of_tiny_data_move_within_their_sensitivities(rest, one, other):
    n = len(rest) + 1
    left, right = [*rest, one], [*rest, other]

    def variance(data):
        centre = sum(data) / len(data)
        return sum((value - centre) ** 2 for value in data) / len(data)

    changed = Neighbours.CHANGE_ONE
    assert abs(sum(left) - sum(right)) <= sensitivity.total(0, 2, changed)
    assert abs(sum(left) - sum(right)) / n <= sensitivity.mean(n, 0, 2, changed)
    assert abs(variance(left) - variance(right)) <= sensitivity.variance(n, 0, 2, changed)
    assert abs(sum(left) - sum(rest)) <= sensitivity.total(0, 2)
    assert abs(variance(left) - variance(rest)) <= sensitivity.variance(len(rest), 0, 2)
    assert abs(sum(left) / n - sum(rest) / len(rest)) <= sensitivity.mean(len(rest), 0, 2)


@given(rationals.filter(lambda x: x.denominator > 1), st.integers(1, 1000))
def test_the_chosen_grid_is_fine_and_depends_on_public_parameters_alone(distance, size):
    grid = choose_grid(None, distance, size)
    assert grid.l1_steps(distance, size) * grid.step <= distance * (1 + Fraction(3, 2**20))


@given(st.lists(modest, min_size=1, max_size=30))
def test_post_processing_keeps_what_was_right_already(values):
    ordered = sorted(values)
    assert increasing(ordered).tolist() == ordered
    fitted = increasing(values)
    assert (np.diff(fitted) >= 0).all()
    assert math.isclose(fitted.sum(), math.fsum(values), rel_tol=1e-9, abs_tol=1e-6)
    agreed = summing_to(math.fsum(values), values)
    assert np.allclose(agreed.parts, values, atol=1e-6)
    simplex = on_simplex(values, 10)
    assert (simplex >= 0).all()
    assert math.isclose(simplex.sum(), 10, rel_tol=1e-6)


@given(st.lists(st.integers(-(2**100), 2**100), max_size=5))
def test_types_of_integers_depend_on_their_values_alone(values):
    released = INTEGERS.index(values)
    fits = all(-(2**63) <= value < 2**63 for value in values)
    assert (released.dtype == np.int64) == fits
    assert released.tolist() == values


def test_the_l1_bound_is_attained_and_could_not_be_a_step_smaller():
    grid, eighths = PowerOfTwoGrid(Fraction(1)), [Fraction(k, 8) for k in range(-4, 5)]
    gaps = [Fraction(k, 8) for k in range(11)]
    best = {gap: max(grid.index(x + gap) - grid.index(x) for x in eighths) for gap in gaps}
    found = max(
        best[a] + best[b] for a, b in itertools.product(gaps, repeat=2) if a + b <= gaps[10]
    )
    assert found == grid.l1_steps(gaps[10], 2) == 3
