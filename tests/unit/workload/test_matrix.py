"""Matrix mechanisms: exact sensitivity, least squares, and strategies against each other."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.privacy import Neighbours
from discreet.workload.matrix import (
    MatrixMechanism,
    RangeBlocks,
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


def test_noise_covers_a_person_who_moves_between_columns_that_point_away_from_each_other():
    work = np.array([[low <= cell < low + 3 for cell in range(12)] for low in range(7)])
    rows = best_strategy(work)
    distances = [int(((rows[:, i] - rows[:, j]) ** 2).sum()) for i in range(12) for j in range(12)]
    longest = int((rows * rows).sum(axis=0).max())
    swapped = MatrixMechanism(rows, mu_squared=1, neighbours=Neighbours.CHANGE_ONE)
    assert max(distances) > 2 * longest
    assert swapped.variance == max(distances)


def test_noise_covers_the_smallest_number_of_64_bits():
    rows = np.array([[-(2**63), 0], [0, -(2**63)], [1, 0], [0, 1]])
    assert MatrixMechanism(rows, mu_squared=1).variance == 2**126 + 1


def test_a_strategy_that_leaves_counts_open_is_refused():
    with pytest.raises(InputError, match="does not determine"):
        MatrixMechanism(np.ones((1, 3)), mu_squared=1)


def test_estimates_are_close_to_the_counts():
    counts = np.arange(16) * 100
    one = MatrixMechanism(tree_strategy(16), mu_squared=100)
    assert np.abs(one.estimate(one.measure(counts)) - counts).max() < 3


def blocks(cells=20, **other):
    return RangeBlocks.of(cells, ranges(cells), mu_squared=Fraction(1, 3), **other)


def test_estimates_of_blocks_are_least_squares_over_both_levels():
    one = blocks()
    top, low = one.measure(np.arange(20))
    length = one.within.strategy.shape[1]
    sums = np.kron(np.eye(3), np.ones(length))
    rows = [
        (one.blocks.strategy @ sums, top, one.blocks),
        (np.kron(np.eye(3), one.within.strategy), low.T.reshape(-1), one.within),
    ]
    scaled = [(a / float(by.variance) ** 0.5, b / float(by.variance) ** 0.5) for a, b, by in rows]
    solved = np.linalg.lstsq(*(np.concatenate(part) for part in zip(*scaled, strict=True)))
    assert np.allclose(one.estimate((top, low)), solved[0][:20], atol=1e-6)


def test_both_levels_share_the_budget_and_variances_of_ranges_are_exact():
    one = blocks(row_weight=4, person_weight=8)
    assert one.mu_squared == Fraction(1, 3)
    sums = np.kron(np.eye(3), np.ones(one.within.strategy.shape[1]))
    information = sums.T @ one.blocks.information @ sums
    information += np.kron(np.eye(3), one.within.information)
    covariance = np.linalg.inv(information)[:20, :20]
    exact = [covariance[low:high, low:high].sum() for low, high in ranges(20)]
    assert one.variances(ranges(20)) == pytest.approx(exact)
    assert one.guarantee.neighbours is Neighbours.ADD_REMOVE


def test_blocks_are_within_a_tenth_of_the_best_strategy():
    work = matrix(64)
    best = MatrixMechanism(best_strategy(work), mu_squared=Fraction(1, 3)).query_variance(work)
    assert blocks(64).variances(ranges(64)).mean() < 1.21 * best.mean()


def test_large_counts_are_multiplied_as_whole_numbers():
    counts = np.array([1 << 61, 3])
    near = MatrixMechanism(np.array([[3, 1], [1, 1]]), mu_squared=1).measure(counts).tolist()
    assert abs(near[0] - (3 << 61) - 3) < 100
    assert abs(near[1] - (1 << 61) - 3) < 100
