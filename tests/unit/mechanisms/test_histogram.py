"""Histograms: all bins for the price of one."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from discreet.audit.catalogue import CATALOGUE
from discreet.audit.distance import too_far
from discreet.audit.refute import refute
from discreet.errors import InputError
from discreet.mechanisms.gaussian import Gaussian, calibrate
from discreet.mechanisms.histogram import Histogram
from discreet.mechanisms.laplace import Laplace
from discreet.privacy import ZCDP, Neighbours


@pytest.mark.parametrize("bins", [2, 5, 1000])
def test_the_number_of_bins_has_no_part_in_the_noise(bins):
    assert Histogram(bins=bins, epsilon=1).noise.scale == 1
    changed = Histogram(bins=bins, epsilon=1, neighbours=Neighbours.CHANGE_ONE)
    assert changed.noise.scale == 2
    assert changed.guarantee.epsilon(0).upper == 1


def test_one_bin_is_a_count():
    single = Histogram(bins=1, epsilon=1, neighbours=Neighbours.CHANGE_ONE)
    assert single.noise.scale == 1


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_b4_every_tiny_dataset_moves_as_little_as_declared(neighbours):
    def counts(data):
        return [data.count(bin_) for bin_ in range(3)]

    l1, square = (2, 2) if neighbours is Neighbours.CHANGE_ONE else (1, 1)
    noise = Histogram(bins=3, epsilon=1, neighbours=neighbours).noise
    gaussian = Histogram(bins=3, rho=1, neighbours=neighbours).noise
    assert (noise.steps, gaussian.square) == (l1, square)
    worst = 0
    for size in range(1, 4):
        for data in itertools.product(range(3), repeat=size):
            if neighbours is Neighbours.CHANGE_ONE:
                others = [(*data[1:], value) for value in range(3)]
            else:
                others = [data[1:]]
            for other in others:
                gaps = [a - b for a, b in zip(counts(data), counts(other), strict=True)]
                worst = max(worst, sum(map(abs, gaps)))
                assert sum(gap**2 for gap in gaps) <= square
    assert worst == l1


def test_gaussian_counts_stay_integers_at_a_root_of_two():
    noisy = Histogram(bins=4, rho=0.5, neighbours=Neighbours.CHANGE_ONE)
    assert noisy.noise.square == 2
    assert noisy.noise.variance == 2
    assert noisy.release([1, 2, 3, 4]).dtype.kind == "i"


def test_epsilon_alone_is_laplace_and_with_delta_gaussian():
    assert isinstance(Histogram(bins=2, epsilon=1).noise, Laplace)
    assert isinstance(Histogram(bins=2, epsilon=1, delta=1e-6).noise, Gaussian)
    promise = Histogram(bins=2, epsilon=1, delta=1e-6, neighbours=Neighbours.CHANGE_ONE).guarantee
    assert promise.epsilon(1e-6).upper <= 1


@pytest.mark.parametrize("epsilon", [0.1, 1, 4])
def test_two_counts_that_move_have_less_noise_than_through_rho(epsilon):
    public = {"epsilon": epsilon, "delta": 1e-6}
    two = Histogram(bins=5, **public, neighbours=Neighbours.CHANGE_ONE)
    through_rho = calibrate(2, Fraction(str(epsilon)), Fraction(1, 10**6), one_law=False)
    # Rounding adds 1/12 to the variance.
    assert 1.04 < math.sqrt(through_rho / (two.noise.variance + Fraction(1, 12))) < 1.2
    assert 0.999 * epsilon < two.guarantee.epsilon(1e-6).upper <= epsilon


def test_noise_below_a_step_is_made_through_rho():
    small = Histogram(bins=5, epsilon=200, delta=1e-6, neighbours=Neighbours.CHANGE_ONE)
    assert not small.noise.rounded
    assert isinstance(small.guarantee, ZCDP)
    assert small.guarantee.epsilon(1e-6).upper <= 200


@pytest.mark.parametrize("value", [5, [1, 2], [1, 2, 3, 4], [1.0, 2.0, 3.0], [1, 2, math.nan]])
def test_what_is_not_a_list_of_so_many_counts_is_refused(value):
    with pytest.raises(InputError):
        Histogram(bins=3, epsilon=1).release(value)


@pytest.mark.parametrize(
    "parameters",
    [{"bins": 0, "epsilon": 1}, {"bins": 3}, {"bins": 3, "epsilon": 1, "rho": 1}, {"bins": 2.0}],
)
def test_bad_parameters_are_refused_at_birth(parameters):
    with pytest.raises(InputError):
        Histogram(**parameters)


def test_the_claim_is_about_whole_histograms_and_draws_their_first_and_last_bins():
    counts = Histogram(bins=50, epsilon=1, neighbours=Neighbours.CHANGE_ONE)
    (pair,) = counts.claim.pairs
    assert (pair.left, pair.right) == ([0, 1] + [0] * 48, [1, 0] + [0] * 48)
    assert counts.claim.draw(pair.left, 7).shape == (7, 8)
    assert len(counts.claim.code(pair.left, counts.release(pair.left))) == 8
    assert counts.claim.code(pair.left, range(50)) == [0, 1, 2, 3, 46, 47, 48, 49]
    (alone,) = Histogram(bins=1, epsilon=1, neighbours=Neighbours.CHANGE_ONE).claim.pairs
    assert (alone.left, alone.right) == ([0], [1])


def test_the_error_is_that_of_one_bin():
    assert (
        Histogram(bins=9, epsilon=Fraction(1, 2)).error()
        == Laplace(epsilon=Fraction(1, 2), sensitivity=1).error()
    )


def test_what_is_missing_is_called_by_a_name_that_histograms_take():
    with pytest.raises(InputError, match="exactly one of epsilon, rho"):
        Histogram(bins=3)


ODD = [
    math.nan,
    math.inf,
    "?",
    None,
    10**400,
    [1],
    {},
    Decimal("sNaN"),
    2.5,
    np.timedelta64(1, "s"),
]
"""What a person may have put where a number or a listed text belongs."""


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: type(odd).__name__)
@pytest.mark.parametrize(
    ("bins", "others"), [(["1", "2"], ["1"] * 50), ([3, 4, 9], [3] * 50)], ids=["texts", "edges"]
)
def test_no_value_of_one_person_decides_how_others_are_counted(bins, others, odd):
    release = Histogram(bins=bins, epsilon=1).release
    neighbours = others, [*others, odd]
    assert not refute(release, inputs=neighbours, epsilon=1, samples=400).refuted
    # Noise of scale 1/1000 is 0: what is released is what was counted.
    assert list(Histogram(bins=bins, epsilon=1000).release(neighbours[1])) == [50, 0]


def test_texts_alone_are_in_bins_that_are_texts():
    told = Histogram(bins=["1", "None", "a"], epsilon=1000)
    assert list(told.release([1, 1.0, True, None, "a\0", "1"])) == [1, 0, 0]
    assert list(told.release(np.array(["1", "a", "a"]))) == [1, 0, 2]
    assert list(told.release(np.array([1, 2]))) == [0, 0, 0]
    neighbours = [1] * 100, [1] * 100 + [2.5]
    release = Histogram(bins=["1", "2"], epsilon=1).release
    assert not refute(release, inputs=neighbours, epsilon=1, samples=400).refuted


def test_edges_are_those_of_numpy():
    values = np.array([-1.0, 0, 17.9, 18, 65, 66, np.nan, np.inf])
    assert list(Histogram(bins=[0, 18, 65], epsilon=1000).release(values)) == [2, 2]
    assert list(Histogram(bins=[0, 1, 2], epsilon=1000).release([True, False, np.True_])) == [1, 2]


@pytest.mark.parametrize(
    "value",
    [
        5,
        "1",
        {"1": 2}.items(),
        {"1"},
        iter(["1"]),
        np.zeros((4, 2)),
        np.float64(1),
        np.ma.array([1]),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("bins", [["1", "2"], [0, 1, 2], 4])
def test_a_container_that_is_no_list_of_one_axis_is_refused(bins, value):
    with pytest.raises(InputError, match="takes a list"):
        Histogram(bins=bins, epsilon=1).release(value)


def test_counts_of_texts_come_with_their_names():
    drinks = Histogram(bins=["tea", "milk", "juice"], epsilon=1000)
    assert list(drinks.release({"milk": 7, "tea": 90, "beer": 5})) == [90, 7, 0]
    assert drinks.bins == ("tea", "milk", "juice")
    for bins in ([0, 1, 2], 4):
        with pytest.raises(InputError, match="takes a list"):
            Histogram(bins=bins, epsilon=1).release({"tea": 2})


@pytest.mark.parametrize(
    "bins", ["auto", {"a", "b"}, {"a": 1}, np.zeros((2, 2)), [0, 10**400], [0, math.nan], [0, "a"]]
)
def test_bins_without_an_order_are_refused(bins):
    with pytest.raises(InputError, match="bins are neither"):
        Histogram(bins, epsilon=1)


@pytest.mark.parametrize("named", ["histogram-edges", "histogram-texts"])
def test_the_claim_of_named_bins_is_about_lists_of_values(named):
    counts = CATALOGUE[named]()
    for pair in counts.claim.pairs:
        assert list(too_far(counts, (pair.left,), (pair.right,))) == []
    assert list(too_far(counts, (pair.left,), ([*pair.right, None, None],)))
    assert not refute(counts.claim, samples=2000, alpha=1e-6).refuted

    class ByColumn(Histogram):
        """One value that is no number turns all of them into another type."""

        __slots__ = ()

        def _counts(self, value):
            return super()._counts([] if None in value else value)

    broken = ByColumn(counts.named, epsilon=1, neighbours=counts.neighbours)
    assert refute(broken.claim, samples=20_000).bound > 1


def test_a_range_has_bins_of_one_width_as_in_numpy():
    ranged = Histogram(bins=4, range=(0, 10), epsilon=1)
    assert ranged == Histogram(bins=[0, 2.5, 5, 7.5, 10], epsilon=1)


@pytest.mark.parametrize("bad", [(10, 0), (0, math.inf), (0, 1, 2), (3, 3)])
def test_a_range_is_two_finite_numbers_in_order(bad):
    with pytest.raises(InputError):
        Histogram(bins=2, range=bad, epsilon=1)
