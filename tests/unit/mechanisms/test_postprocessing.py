"""Post-processing: projections against plain optimisation."""

import math

import numpy as np
import pytest
from scipy import optimize

from discreet.errors import InputError
from discreet.mechanisms import postprocessing as post


def nearest(values, weights, constraints, bounds=None):
    answer = optimize.minimize(
        lambda x: float((weights * (x - values) ** 2).sum()),
        np.full(len(values), float(np.mean(values))),
        constraints=constraints,
        bounds=bounds,
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    return answer.x


@pytest.mark.parametrize("values", [[3, 1, 2], [1, 2, 3], [5, 4, 3, 2, 1], [0, 9, -4, 2, 2, 8, 7]])
@pytest.mark.parametrize("weighted", [False, True])
def test_increasing_is_the_least_squares_projection(values, weighted):
    weights = np.arange(1, len(values) + 1.0) if weighted else np.ones(len(values))
    order = [
        {"type": "ineq", "fun": lambda x, i=i: x[i + 1] - x[i]} for i in range(len(values) - 1)
    ]
    found = post.increasing(values, weights if weighted else None)
    assert (np.diff(found) >= 0).all()
    assert np.allclose(found, nearest(np.array(values), weights, order), atol=1e-4)


def test_increasing_keeps_weighted_means():
    assert post.increasing([4, 1], weights=[1, 2]).tolist() == [2, 2]
    assert post.increasing([]).tolist() == []


def test_parts_and_total_agree_and_are_least_squares():
    answer = post.summing_to(20, [3, 5, 7], total_variance=2, variances=[1, 2, 4])
    assert answer.parts.sum() == pytest.approx(answer.total)
    values, weights = np.array([3, 5, 7, 20.0]), 1 / np.array([1, 2, 4, 2.0])
    agreed = {"type": "eq", "fun": lambda x: x[:3].sum() - x[3]}
    expected = nearest(values, weights, [agreed])
    assert np.allclose([*answer.parts, answer.total], expected, atol=1e-4)


def test_a_public_total_stays():
    answer = post.summing_to(10, [1, 2])
    assert (answer.total, answer.parts.tolist()) == (10, [4.5, 5.5])


@pytest.mark.parametrize("values", [[5, 3, -4], [-1, -2, -3], [0.2, 0.3, 9], [1]])
def test_on_simplex_is_the_least_squares_projection(values):
    found = post.on_simplex(values, 4)
    agreed = {"type": "eq", "fun": lambda x: x.sum() - 4}
    bounds = [(0, None)] * len(values)
    expected = nearest(np.array(values, dtype=float), np.ones(len(values)), [agreed], bounds)
    assert found.sum() == pytest.approx(4)
    assert (found >= 0).all()
    assert np.allclose(found, expected, atol=1e-4)


def test_on_simplex_of_nothing_is_nothing():
    assert post.on_simplex([3, -1], 0).tolist() == [0, 0]


def test_merging_weighs_by_precision():
    merged = post.merge([[10, 20], [14, 26]], [1, 3])
    assert merged.value.tolist() == [11, 21.5]
    assert merged.variance.tolist() == [0.75, 0.75]
    each = post.merge([[10, 20], [14, 26]], [[1, 1], [3, 1]])
    assert each.value.tolist() == [11, 23]
    assert post.merge([5, 7], [2, 2]) == (6, 1)


def test_numbers_stay_numbers():
    assert post.at_least_zero(-3) == 0
    assert post.to_multiple(2.6) == 3
    assert math.copysign(1, post.to_multiple(-0.3)) == 1


@pytest.mark.parametrize(
    "ask",
    [
        lambda bad: post.at_least_zero([1, bad]),
        post.to_multiple,
        lambda bad: post.to_multiple(1, step=bad),
        lambda bad: post.increasing([bad]),
        lambda bad: post.increasing([1], weights=[bad]),
        lambda bad: post.summing_to(bad, [1]),
        lambda bad: post.summing_to(1, [1], variances=[bad]),
        lambda bad: post.summing_to(1, [1], total_variance=bad),
        lambda bad: post.on_simplex([1], bad),
        lambda bad: post.merge([1, 2], [1, bad]),
    ],
)
@pytest.mark.parametrize("bad", [math.nan, math.inf, "x", None])
def test_c1_what_is_not_a_finite_number_is_refused(ask, bad):
    with pytest.raises(InputError):
        ask(bad)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: post.increasing([[1, 2]]),
        lambda: post.increasing([1, 2], weights=[1]),
        lambda: post.increasing([1, 2], weights=[1, 0]),
        lambda: post.summing_to(3, []),
        lambda: post.summing_to(3, [1], total_variance=-1),
        lambda: post.on_simplex([], 1),
        lambda: post.on_simplex([1], -1),
        lambda: post.merge([], []),
        lambda: post.merge(1, 1),
        lambda: post.merge([1, 2], [1]),
        lambda: post.merge([1, 2], [[1, 2], [3, 4]]),
    ],
)
def test_shapes_and_weights_that_do_not_fit_are_refused(ask):
    with pytest.raises(InputError):
        ask()


def test_a_variance_whose_inverse_is_no_float_is_merged():
    merged = post.merge([1.0, 2.0], [1e-320, 1])
    assert merged == (1.0, 1e-320)


def test_a_sum_far_below_the_values_is_kept():
    assert post.on_simplex([1e17, 0.0], total=1).tolist() == [1.0, 0.0]
    assert post.on_simplex([1e17, 1e17], total=1).tolist() == [0.5, 0.5]


def test_the_largest_floats_stay_finite():
    assert post.increasing([1.7e308, 1.6e308]).tolist() == pytest.approx([1.65e308] * 2)
    assert post.to_multiple([1e308, -1e308], step=1e-10).tolist() == [1e308, -1e308]
