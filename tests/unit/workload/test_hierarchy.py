"""Consistent counts: against brute force on small hierarchies, and for odd shapes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InputError
from discreet.noise import rounded_gaussian
from discreet.workload.hierarchy import (
    Estimates,
    Hierarchy,
    gather,
    round_cumulated,
    settle,
    settle_margins,
    settle_totals,
    spread,
)


def tree():
    """2 states, 3 counties, 7 leaves: families of different sizes."""
    state = np.array([0, 0, 0, 0, 0, 1, 1])
    county = np.array([0, 0, 0, 1, 1, 0, 0])
    return Hierarchy.of([state, county, np.arange(7)])


def matrix(levels):
    """What each measured count is as a sum of leaves, from the top down."""
    return np.concatenate(
        [
            [(np.arange(7) >= a) & (np.arange(7) < b) for a, b in zip(f, [*f[1:], 7], strict=True)]
            for f in levels
        ]
    ).astype(float)


def test_units_are_paths_so_equal_names_below_two_units_are_two_units():
    assert tree().sizes == (1, 2, 3, 7)
    assert tree().children(1).tolist() == [0, 2]


def test_chunks_are_whole_families_and_cover_all_leaves():
    assert list(tree().chunks(4)) == [(0, 1), (1, 3)]
    assert list(tree().chunks(1)) == [(0, 1), (1, 2), (2, 3)]
    assert list(tree().chunks(100)) == [(0, 3)]
    assert list(Hierarchy.of(()).chunks(5)) == [(0, 1)]


def test_a_geography_without_rows_is_refused():
    with pytest.raises(InputError, match="without rows"):
        Hierarchy.of([np.array([], dtype=np.int64)])


def test_estimates_are_those_of_generalised_least_squares():
    one, dice = tree(), np.random.default_rng(3)
    variances = (4.0, 1.0, 2.0, 9.0)
    noisy = [dice.normal(50, 20, (size, 2)) for size in one.sizes]
    measured = [Estimates(y, np.full(len(y), v)) for y, v in zip(noisy, variances, strict=True)]

    best = gather(one, measured[:-1], measured[-1].added_up(one.children(2)))
    values = best[0].values
    for level in range(2):
        values = spread(best[level + 1], one.children(level), values)
    leaves = spread(measured[-1], one.children(2), values)

    a = matrix(one.first)
    w = np.repeat([1 / v for v in variances], one.sizes)
    expected = np.linalg.solve(a.T * w @ a, a.T * w @ np.concatenate(noisy))
    assert np.allclose(leaves, expected)


def test_settled_values_are_the_nearest_from_0_on():
    """Against brute force over all sets of values that are 0."""
    z, v = np.array([5.0, -3.0, 0.5, -0.1]), np.array([1.0, 4.0, 2.0, 1.0])
    best = None
    for bits in range(1, 16):
        on = np.array([bits >> i & 1 for i in range(4)], dtype=bool)
        x = np.where(on, z + v * (3 - z[on].sum()) / v[on].sum(), 0)
        cost = ((x - z) ** 2 / v).sum()
        if (x >= 0).all() and (best is None or cost < best[0]):
            best = cost, x
    one = Estimates(z[:, None], v)
    settled = settle(one, np.array([0]), np.array([[3]]))
    assert np.abs(settled[:, 0] - best[1]).max() < 1
    assert settled.sum() == 3


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=4),
    st.lists(st.floats(-1e6, 1e6), min_size=20, max_size=20),
    st.lists(st.integers(0, 10**6), min_size=4, max_size=4),
    st.lists(st.floats(1e-3, 1e3), min_size=20, max_size=20),
)
def test_counts_add_up_and_are_whole_numbers_from_0_on_whatever_the_noise(
    families, values, totals, variances
):
    first = np.cumsum([0, *families[:-1]])
    count = sum(families)
    one = Estimates(np.array(values[:count])[:, None], np.array(variances[:count]))
    wanted = np.array(totals[: len(families)])[:, None]

    settled = settle(one, first, wanted)

    assert settled.dtype == np.int64
    assert (settled >= 0).all()
    assert (np.add.reduceat(settled, first, axis=0) == wanted).all()


def test_rounding_moves_each_value_by_less_than_1_and_keeps_0():
    values = np.array([[0.4], [0.0], [0.35], [1.25], [0.0], [2.5], [0.5]])
    first, lengths = np.array([0, 4]), np.array([4, 3])

    whole = round_cumulated(values, first, lengths, np.array([[2], [3]]))

    assert np.abs(whole - values).max() < 1
    assert whole[1] == whole[4] == 0
    assert np.add.reduceat(whole, first, axis=0).tolist() == [[2], [3]]


def test_cells_of_a_unit_add_up_to_its_public_total():
    values = np.array([[3.2, -4.0, 9.9], [0.0, 0.0, 0.0]])
    settled = settle_totals(values, np.array([10, 7]))

    assert settled.sum(axis=1).tolist() == [10, 7]
    assert settled.min() >= 0
    assert settle_totals(values, None).tolist() == [[3, 0, 10], [0, 0, 0]]
    assert settle_totals(values, np.array([0, 0])).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_no_level_is_worse_than_its_own_noise():
    """A thousand cells a unit, so that means are far from chance; bits are fixed."""
    state, county = np.repeat([0, 1, 2], 20), np.repeat(np.arange(12), 5)
    one = Hierarchy.of([state, county, np.arange(60)])
    exact = [np.abs(rounded_gaussian(9, (60, 1000)))]
    for level in (2, 1, 0):
        exact.insert(0, np.add.reduceat(exact[0], one.children(level), axis=0))
    noisy = [x + rounded_gaussian(100, x.shape) for x in exact]
    measured = [Estimates(y.astype(float), np.full(len(y), 100.0)) for y in noisy]

    best = gather(one, measured[:-1], measured[-1].added_up(one.children(2)))
    found = [settle_totals(best[0].values, None)]
    for level in (1, 2):
        found.append(settle(best[level], one.children(level - 1), found[-1]))
    found.append(settle(measured[-1], one.children(2), found[-1]))

    for told, y, x in zip(found, noisy, exact, strict=True):
        assert ((told - x) ** 2).mean() <= ((y - x) ** 2).mean()


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=4),
    st.integers(1, 3),
    st.integers(1, 4),
    st.sampled_from([0, 1, 40, 10**14]),
    st.sampled_from([0.0, 0.3, 50.0, 1e17]),
    st.integers(0, 2**32),
)
def test_counts_add_up_over_children_and_over_cells_whatever_the_estimates(
    families, groups, cells, most, noise, seed
):
    dice, units = np.random.default_rng(seed), sum(families)
    exact = dice.integers(0, most, (units, groups, cells), endpoint=True)
    first = np.cumsum([0, *families[:-1]])
    totals, margins = np.add.reduceat(exact, first).reshape(len(families), -1), exact.sum(axis=2)
    seen = exact.reshape(units, -1) + noise * dice.normal(size=(units, groups * cells))
    found = settle_margins(Estimates(seen, dice.uniform(0.5, 2, units)), first, totals, margins)
    assert found.min() >= 0
    assert np.array_equal(np.add.reduceat(found, first), totals)
    assert np.array_equal(found.reshape(exact.shape).sum(axis=2), margins)
    if not noise:
        assert np.array_equal(found, exact.reshape(units, -1))


def test_margins_make_estimates_better():
    dice = np.random.default_rng(7)
    exact, first = dice.poisson(0.5, (400, 1, 10)), np.arange(0, 400, 40)
    seen = Estimates(exact.reshape(400, -1) + dice.normal(0, 4, (400, 10)), np.full(400, 16.0))
    totals = np.add.reduceat(exact, first).reshape(10, -1)
    alone = settle(seen, first, totals) - exact.reshape(400, -1)
    both = settle_margins(seen, first, totals, exact.sum(axis=2)) - exact.reshape(400, -1)
    assert (both**2).sum() < 0.7 * (alone**2).sum()
