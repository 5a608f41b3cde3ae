"""The claims of additive mechanisms, randomized response and continual counts."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.mechanisms import (
    INTEGERS,
    FactorizedCount,
    Gaussian,
    Histogram,
    Laplace,
    PowerOfTwoGrid,
    RandomizedResponse,
    TreeCount,
)
from discreet.mechanisms.grid import sqrt_up
from discreet.privacy import Guarantee, Neighbours

MECHANISMS = [
    Laplace(epsilon=1, sensitivity=3),
    Laplace(epsilon=1, sensitivity=0.7, grid=Fraction(1, 4)),
    Laplace(epsilon=1, sensitivity=0.7, dimension=5),
    Gaussian(rho=1, sensitivity=3),
    Gaussian(variance=2, sensitivity=0.7),
    Gaussian(epsilon=1, delta=1e-3, sensitivity=0.7),
    Gaussian(rho=1, sensitivity=sqrt_up(Fraction(3)), grid=INTEGERS, dimension=9),
    Gaussian(rho=1, sensitivity=5, dimension=2),
    Histogram(bins=1, epsilon=1),
    Histogram(bins=8, epsilon=1, neighbours=Neighbours.CHANGE_ONE),
    RandomizedResponse(epsilon=1),
    RandomizedResponse(epsilon=1, k=5),
    TreeCount(horizon=3, epsilon=1),
    TreeCount(horizon=300, epsilon=1),
    FactorizedCount(horizon=300, rho=1),
]
names = pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: type(one).__name__)


@names
def test_a_claim_draws_one_row_a_run_from_both_inputs(mechanism):
    claim = mechanism.claim
    assert claim.guarantee == mechanism.guarantee
    for pair in claim.pairs:
        left, right = claim.draw(pair.left, 300), claim.draw(pair.right, 300)
        assert left.shape == right.shape
        assert left.shape[0] == 300
        assert len(np.unique(left, axis=0)) > 1


def steps_apart(mechanism, pair):
    left, right = (np.ravel(mechanism.grid.index(side)) for side in (pair.left, pair.right))
    return np.abs(right - left)


@names
def test_a_claim_is_about_what_release_takes(mechanism):
    claim = mechanism.claim
    for pair in claim.pairs:
        for side in (pair.left, pair.right):
            row = np.asarray(claim.code(side, mechanism.release(side)))
            assert row.shape == claim.draw(side, 5).shape[1:]


@pytest.mark.parametrize("dimension", [1, 2, 3, 20])
@pytest.mark.parametrize("sensitivity", [0.7, 1, 0.01])
def test_rounding_is_in_the_pairs_as_far_as_it_can_add_up(dimension, sensitivity):
    noisy = Laplace(epsilon=1, sensitivity=sensitivity, grid=Fraction(1, 4), dimension=dimension)
    apart = [int(steps_apart(noisy, pair).sum()) for pair in noisy.claim.pairs]
    assert max(apart) == noisy.steps - max(0, dimension - 8)  # of a vector an audit sees 8 numbers
    for pair in noisy.claim.pairs:
        pairs = zip(np.ravel(pair.left), np.ravel(pair.right), strict=True)
        assert sum(abs(b - a) for a, b in pairs) == noisy.sensitivity


@pytest.mark.parametrize("dimension", [2, 3, 20])
def test_squares_of_pairs_stay_within_the_sensitivity(dimension):
    for grid in (Fraction(1, 8), INTEGERS):
        noisy = Gaussian(rho=1, sensitivity=2, grid=grid, dimension=dimension)
        squares = [int((steps_apart(noisy, pair) ** 2).sum()) for pair in noisy.claim.pairs]
        assert max(squares) <= noisy.square
        for pair in noisy.claim.pairs:
            pairs = zip(np.ravel(pair.left), np.ravel(pair.right), strict=True)
            assert sum((b - a) ** 2 for a, b in pairs) <= 4


@names
def test_a_written_law_sums_to_one_and_covers_all_draws(mechanism):
    claim = mechanism.claim
    if claim.law is None:
        return
    for value in (claim.pairs[0].left, claim.pairs[0].right):
        law = claim.law(value)
        assert math.fsum(high for _, high in law.values()) == pytest.approx(1, abs=1e-9)
        assert set(claim.draw(value, 1000).tolist()) <= set(law)


def test_small_laws_are_written_down_and_large_ones_are_not():
    assert Laplace(epsilon=1, sensitivity=3).claim.law is not None
    assert Laplace(epsilon=0.001, sensitivity=3).claim.law is None
    assert Laplace(epsilon=1, sensitivity=0.7).claim.law is None
    assert Gaussian(rho=1, sensitivity=2, dimension=4).claim.law is None


@pytest.mark.parametrize("mechanism", MECHANISMS[:8], ids=lambda one: type(one).__name__)
def test_b4_the_inputs_of_a_claim_are_exactly_as_far_apart_as_allowed(mechanism):
    """Never further than the sensitivity, and on the grid as far as one coordinate allows."""
    moved = []
    for pair in mechanism.claim.pairs:
        left, right = np.atleast_1d(pair.left).tolist(), np.atleast_1d(pair.right).tolist()
        gaps = [abs(Fraction(a) - Fraction(b)) for a, b in zip(left, right, strict=True)]
        norm = sum(gaps) ** 2 if isinstance(mechanism, Laplace) else sum(gap**2 for gap in gaps)
        assert norm <= mechanism.sensitivity**2
        steps = np.atleast_1d(mechanism.grid.index(pair.right)) - mechanism.grid.index(pair.left)
        moved.append(int((steps**2).sum()))
    whole_step = mechanism.dimension is None or mechanism.dimension == 1
    assert max(moved) == mechanism.steps**2 if whole_step else max(moved) >= 1


@names
def test_guarantees_survive_storage(mechanism):
    assert Guarantee.from_dict(mechanism.guarantee.to_dict()) == mechanism.guarantee


@names
def test_more_confidence_never_means_less_width(mechanism):
    widths = [mechanism.error(confidence) for confidence in (0.1, 0.5, 0.9, 0.99, 0.9999)]
    assert widths == sorted(widths)
    assert all(math.isfinite(width) for width in widths)


def test_integers_live_on_the_grid_of_ones_alone():
    with pytest.raises(InputError, match="grid 1 alone"):
        PowerOfTwoGrid(Fraction(1, 2), integers=True)


def test_widths_of_certain_and_even_coins():
    assert RandomizedResponse(gamma=0.5).error(n=10) == 0
    even = RandomizedResponse(epsilon=math.log(2), k=3)
    assert even.truth == pytest.approx(Fraction(1, 2))
    assert RandomizedResponse(gamma=Fraction(1, 10**9)).error(n=4) > 10**8
