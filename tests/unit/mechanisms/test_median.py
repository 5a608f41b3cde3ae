"""The median's local sensitivities, against all small data sets."""

from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.mechanisms.median import GridRange, Median
from discreet.privacy import Neighbours

TOP = 4


def median_of(data):
    return sorted(data)[(len(data) + 1) // 2 - 1] if data else 0


@cache
def neighbours_of(data, kind):
    """Every data set one step away, as sorted tuples."""
    fewer = {data[:i] + data[i + 1 :] for i in range(len(data))}
    if kind is Neighbours.CHANGE_ONE:
        return {tuple(sorted((*rest, x))) for rest in fewer for x in range(TOP + 1)}
    return fewer | {tuple(sorted((*data, x))) for x in range(TOP + 1)}


@cache
def brute_local(data, kind, distance):
    """The largest move of the median by one step from any data set within the distance."""
    if distance == 0:
        return max(
            (abs(median_of(data) - median_of(y)) for y in neighbours_of(data, kind)), default=0
        )
    return max(
        brute_local(data, kind, distance - 1),
        max((brute_local(y, kind, distance - 1) for y in neighbours_of(data, kind)), default=0),
    )


@pytest.mark.parametrize("kind", list(Neighbours))
@pytest.mark.parametrize("size", [0, 1, 2, 3, 4])
def test_local_sensitivities_are_those_of_all_small_data_sets(kind, size):
    median = Median(GridRange.read(0, TOP, 1), kind)
    if size == 0 and kind is Neighbours.CHANGE_ONE:
        return
    for data in combinations_with_replacement(range(TOP + 1), size):
        cells = median.sort(data)
        assert median.value(cells) == median_of(data)
        for distance in (0, 1, 2):
            assert median.local(cells, distance) == brute_local(data, kind, distance)


@pytest.mark.parametrize("kind", list(Neighbours))
def test_far_enough_the_whole_range_is_local(kind):
    median = Median(GridRange.read(0, 100, 1), kind)
    cells = median.sort([50] * 9)
    assert median.local(cells, 10) == 100
    assert median.local(cells, 2) == 0


def test_values_are_clamped_row_by_row_and_put_on_the_grid():
    public = GridRange.read(-1, 1, 0.25)
    assert public.cells([-1e300, -0.9, 0.1, 5]).tolist() == [0, 0, 4, 8]
    assert public.point(np.array([0, 4, 8])).tolist() == [-1.0, 0.0, 1.0]
    assert GridRange.read(0, 10, 1).cells([2**300, -(2**300)]).tolist() == [10, 0]


@pytest.mark.parametrize(
    ("lower", "upper", "grid"), [(1, 1, 1), (2, 1, 1), (0, 1.5, 1), (0.1, 1, 0.25), (0, 1, 0.3)]
)
def test_bounds_are_grid_points_in_order(lower, upper, grid):
    with pytest.raises(InputError):
        GridRange.read(lower, upper, grid)


@pytest.mark.parametrize("bad", [[float("nan")], [float("inf")], [[1]], ["1"], [None]])
def test_c1_values_that_are_no_finite_numbers_are_refused(bad):
    with pytest.raises(InputError):
        GridRange.read(0, 10, 1).cells(bad)


def test_ranges_beyond_64_bits_are_refused():
    with pytest.raises(InputError, match="coarser"):
        GridRange.read(0, 2**70, 1)
