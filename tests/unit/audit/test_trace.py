import math
from dataclasses import dataclass
from enum import Enum

import numpy as np
import pytest

from discreet.audit.trace import form, is_numeric, picture


class Colour(Enum):
    RED = 1


@dataclass(frozen=True)
class Pointed:
    x: float
    label: str


class Plain:
    def __init__(self, inner):
        self.inner = inner


DIFFERENT = [
    (0.0, -0.0),
    (1, True),
    (1, 1.0),
    (1.0, np.float64(1.0)),
    ([1, 2], [2, 1]),
    ([1], (1,)),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    (np.zeros(2, np.int64), np.zeros(2, np.int32)),
    (np.zeros((2, 1)), np.zeros((1, 2))),
    (np.array([1, 2], object), np.array([1, 2.0], object)),
    (ValueError("a"), ValueError("b")),
    (ValueError("a"), TypeError("a")),
    (Pointed(1.0, "a"), Pointed(1.0, "b")),
    (Plain(1), Plain(2)),
    ({1, 2}, {1, 3}),
    (Colour.RED, 1),
    (math.nan, math.inf),
    (b"a", "a"),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_a_picture_tells_apart_what_an_observer_can(one, other):
    assert picture(one) != picture(other)


@pytest.mark.parametrize(
    "make",
    [
        lambda: 0.1,
        lambda: math.nan,
        lambda: np.arange(4.0),
        lambda: {"a": [1, (2, None)]},
        lambda: Pointed(1.0, "a"),
        lambda: Plain([1]),
        lambda: ValueError("same"),
        lambda: {3, 1, 2},
        lambda: len,
        lambda: Colour.RED,
    ],
)
def test_a_picture_is_the_same_for_equal_things(make):
    assert picture(make()) == picture(make())


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 2, True),
        (1, 1.0, False),
        (1.0, math.inf, False),
        (np.array([1.0, 2.0]), np.array([3.0, 4.0]), True),
        (np.array([1.0, 2.0]), np.array([3.0, math.nan]), False),
        (np.float64(1), np.float64(math.nan), False),
        (np.array([1, 2**70], object), np.array([2**80, 1], object), True),
        ({"a": 1}, {"a": 2}, True),
        ({"a": 1}, {"b": 1}, False),
        ([1, "x"], [2, "y"], True),
        ([1], [1, 2], False),
        (Pointed(1.0, "a"), Pointed(2.0, "b"), True),
        (Colour.RED, Colour.RED, True),
    ],
)
def test_a_form_is_everything_but_the_numbers(one, other, same):
    assert (form(one) == form(other)) is same


def test_numbers_and_arrays_are_numeric_and_nothing_else_is():
    assert all(map(is_numeric, (1, 2.5, np.int64(3), np.zeros(2))))
    assert not any(map(is_numeric, (True, None, [1], {"a": 1}, "1")))
