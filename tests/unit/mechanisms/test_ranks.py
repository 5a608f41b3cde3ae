"""Counts per grid point: pieces, scores and splits against brute force."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.mechanisms.median import CellCounts, GridRange

PUBLIC = GridRange.read(0, 9, 1)


def miss(data, g, q):
    n = len(data)
    most, less = sum(x <= g for x in data), sum(x < g for x in data)
    return max(0, q * n - most, less - q * n)


@pytest.mark.parametrize("data", [[], [0], [9], [3, 3, 3], [0, 9], [1, 2, 2, 7, 9, 9]])
@pytest.mark.parametrize("q", [Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(1)])
def test_pieces_cover_every_cell_once_with_its_score(data, q):
    pieces = CellCounts.of_values(data, PUBLIC).segments(0, 9, q)
    scores = {}
    for start, width, score in zip(pieces.starts, pieces.widths, pieces.scores, strict=True):
        for cell in range(start, start + width):
            assert cell not in scores
            scores[cell] = Fraction(int(score), q.denominator)
    assert scores == {g: -miss(data, g, q) for g in range(10)}


def test_counts_and_values_read_alike():
    one = CellCounts.of_values([1, 5, 5, 40], PUBLIC)
    other = CellCounts.of_counts({9: 1, 5: 2, 1: 1, 3: 0})
    assert one.cells.tolist() == other.cells.tolist() == [1, 5, 9]
    assert one.counts.tolist() == other.counts.tolist() == [1, 2, 1]
    assert other.at_or_below(np.array([0, 1, 5, 9])).tolist() == [0, 1, 3, 4]
    assert CellCounts.of_counts({}).people == 0


def test_billions_of_people_do_not_wrap():
    ranks = CellCounts.of_counts({1: 2**62, 2: 2**62})
    assert ranks.people == 2**63
    pieces = ranks.segments(0, 9, Fraction(999, 1000))
    assert min(pieces.scores) == -(2**63) * 999
    assert max(pieces.scores) == 0


@pytest.mark.parametrize("cell", range(10))
@pytest.mark.parametrize("share", [Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(1)])
def test_one_more_person_is_one_more_on_exactly_one_side(cell, share):
    data = [1, 4, 4, 4, 6, 6, 9]
    sides = CellCounts.of_values(data, PUBLIC).split(cell, share)
    for extra in range(10):
        more = CellCounts.of_values([*data, extra], PUBLIC).split(cell, share)
        grown = [after.people - before.people for before, after in zip(sides, more, strict=True)]
        assert sorted(grown) == [0, 1]
    left, right = sides
    assert all(left.cells <= cell)
    assert all(right.cells >= cell)
    assert left.people + right.people == len(data)


@pytest.mark.parametrize(
    ("cells", "counts"),
    [([2, 1], [1, 1]), ([1, 1], [1, 1]), ([1], [0]), ([1], [1, 2]), ([[1]], [[1]])],
)
def test_ranks_out_of_order_are_refused(cells, counts):
    with pytest.raises(InputError, match="rising"):
        CellCounts(np.array(cells), np.array(counts))


def test_cells_outside_the_range_are_refused():
    for ranks in (CellCounts.of_counts({10: 1}), CellCounts(np.array([-1]), np.array([1]))):
        with pytest.raises(InputError, match="clamp"):
            CellCounts.read(ranks, PUBLIC)
    with pytest.raises(InputError):
        CellCounts.of_counts({-1: 1})
    with pytest.raises(InputError):
        CellCounts.of_counts({1: -1})
