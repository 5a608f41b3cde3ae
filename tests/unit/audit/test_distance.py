"""How far apart two inputs may be, where their own sensitivity is part of them."""

import pytest

from discreet.audit.distance import too_far
from discreet.mechanisms import ProposeTestRelease, SmoothSensitivity

TRIAL = ProposeTestRelease(bound=2, epsilon=1, delta=0.01)
SMOOTH = SmoothSensitivity(global_sensitivity=100, epsilon=1, delta=0.01)


@pytest.mark.parametrize(
    ("left", "right"), [((0, 0), (50, 0)), ((0, 0), (2, 1)), ((5, 7), (3, 8)), ((5, 7), (5, 7))]
)
def test_values_and_distances_that_one_person_moves(left, right):
    assert not list(too_far(TRIAL, (left,), (right,)))


@pytest.mark.parametrize(
    ("left", "right", "said"),
    [
        ((0, 0), (3, 1), "inputs are 3 apart (steps of the value), declared 2"),
        ((0, 4), (-3, 4), "inputs are 3 apart (steps of the value), declared 2"),
        ((0, 4), (0, 6), "inputs are 2 apart (distance to where the bound breaks), declared 1"),
    ],
)
def test_values_or_distances_that_one_person_does_not_move(left, right, said):
    assert list(too_far(TRIAL, (left,), (right,))) == [said]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((0, [1, 2, 30]), (1, [1, 30])),
        ((0, [0, 0, 5]), (0, [0, 5, 100])),
        ((0, []), (100, [])),
        ((0, [100]), (100, [500])),
    ],
)
def test_bounds_that_hold_for_neighbours(left, right):
    assert not list(too_far(SMOOTH, (left,), (right,)))


@pytest.mark.parametrize(
    ("left", "right", "said"),
    [
        ((0, [1, 2, 30]), (2, [1, 2, 30]), "steps of the value"),
        ((0, [1, 1, 1, 100]), (0, [1, 100]), "above the next one of a neighbour"),
        ((0, [5, 5]), (0, [1, 4]), "above the next one of a neighbour"),
    ],
)
def test_bounds_that_do_not(left, right, said):
    (found,) = too_far(SMOOTH, (left,), (right,))
    assert said in found
