"""Matrix mechanisms: exact sensitivity, least squares, and strategies against each other."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.privacy import Neighbours
from discreet.workload.matrix import (
    MatrixMechanism,
    RangeTree,
    best_strategy,
    identity_strategy,
    tree_strategy,
)


def ranges(cells):
    return [(low, high) for low in range(cells) for high in range(low + 1, cells + 1)]


def matrix(cells):
    rows = np.zeros((len(ranges(cells)), cells))
    for row, (low, high) in enumerate(ranges(cells)):
        rows[row, low:high] = 1
    return rows


def test_the_best_strategy_beats_identity_and_trees_on_ranges():
    work = matrix(32)

    def error(strategy):
        return MatrixMechanism(strategy, mu_squared=1).query_variance(work).mean()

    best = error(best_strategy(work))
    assert best < error(tree_strategy(32, 4)) < error(identity_strategy(32))
    assert best < error(tree_strategy(32, 2))
    # The bound of all matrix mechanisms: the squared sum of singular values over cells and queries.
    bound = np.linalg.svd(work, compute_uv=False).sum() ** 2 / 32 / len(work)
    assert best < bound * 1.1


def test_noise_covers_the_longest_column_in_whole_numbers():
    rows = np.array([[3, 0], [4, 1], [0, 2]])
    one = MatrixMechanism(rows, mu_squared=Fraction(1, 2), person_weight=2)
    assert one.variance == 25 * 4 * 2
    swapped = MatrixMechanism(
        rows, mu_squared=Fraction(1, 2), person_weight=2, neighbours=Neighbours.CHANGE_ONE
    )
    assert swapped.variance == 2 * one.variance


def test_a_strategy_that_leaves_counts_open_is_refused():
    with pytest.raises(InputError, match="does not determine"):
        MatrixMechanism(np.ones((1, 3)), mu_squared=1)


def test_estimates_are_close_to_the_counts():
    counts = np.arange(16) * 100
    one = MatrixMechanism(tree_strategy(16), mu_squared=100)
    assert np.abs(one.estimate(one.measure(counts)) - counts).max() < 3


@pytest.mark.parametrize("branching", [2, 4])
def test_two_passes_over_a_tree_are_least_squares(branching):
    tree = RangeTree.of(16, mu_squared=1, branching=branching, ranges=ranges(16))
    measured = tree.measure(np.arange(16))
    rows, values, weights = [], [], []
    for level, noisy in enumerate(measured):
        width = branching**level
        for place, value in enumerate(noisy):
            row = np.zeros(16)
            row[place * width : (place + 1) * width] = 1
            rows.append(row)
            values.append(value)
            weights.append(float(tree.shares[level]) ** 0.5)
    scale = np.array(weights)
    solved = np.linalg.lstsq(np.array(rows) * scale[:, None], np.array(values) * scale, rcond=None)
    assert np.allclose(tree.estimate(measured), solved[0], atol=1e-6)


def test_levels_share_the_budget_exactly_and_cells_need_no_power():
    tree = RangeTree.of(1000, mu_squared=Fraction(1, 3), branching=4)
    assert tree.mu_squared == Fraction(1, 3)
    assert tree.estimate(tree.measure(np.zeros(1000, dtype=np.int64))).shape == (1000,)
    assert RangeTree.of(1, mu_squared=1).estimate([np.array([7])]).tolist() == [7.0]


def test_a_range_is_made_of_the_intervals_that_are_counted():
    one = RangeTree.of(16, mu_squared=3, branching=4)
    assert len(one.shares) == 3
    # 3 to 13 is one leaf, two intervals of four, and one leaf.
    leaves, fours = float(one._variance(0)), float(one._variance(1))
    assert one.range_variance([(3, 13)]) == pytest.approx(2 * leaves + 2 * fours)
