"""Means: unbiased, with the variance of the papers."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import local
from discreet.errors import InputError
from discreet.local.mean import HYBRID_FROM
from discreet.local.protocol import likelihood_ratio

KINDS = (local.Mean1Bit, local.PiecewiseMean, local.HybridMean)
PAPER = {  # variance at x = 0 and x = 1
    (local.Mean1Bit, 1): (4.683, 3.683),
    (local.PiecewiseMean, 1): (3.682, 5.224),
    (local.HybridMean, 1): (4.289, 4.289),
    (local.Mean1Bit, 4): (1.076, 0.076),
    (local.PiecewiseMean, 4): (0.0848, 0.2414),
    (local.HybridMean, 4): (0.219, 0.219),
}


@pytest.mark.parametrize(("kind", "epsilon"), PAPER)
def test_the_variance_is_the_papers(kind, epsilon):
    protocol = kind(epsilon=epsilon)

    assert [protocol.variance(x) for x in (0, 1)] == pytest.approx(PAPER[kind, epsilon], rel=2e-3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("x", [-1.0, 0.25, 1.0])
def test_a_mean_is_unbiased_and_its_error_is_right(kind, x):
    protocol, n = kind(epsilon=2, lower=10, upper=30), 40_000
    value = 20 + 10 * x
    found = protocol.aggregator().add(protocol.reporter().report(np.full(n, value))).estimate()
    low, high = found.interval(0.9999)

    assert low <= value <= high
    assert found.standard_error**2 * n == pytest.approx(protocol.variance(value), rel=0.05)


def test_values_are_clamped_and_nan_is_the_lower_bound():
    protocol = local.PiecewiseMean(epsilon=1, lower=0, upper=1)
    places = protocol.read([-5, 0.5, 7, np.nan, np.inf, -np.inf])

    assert places.tolist() == [0, 1 << 15, 1 << 16, 0, 1 << 16, 0]


def test_windows_stay_inside_and_every_point_is_possible():
    protocol = local.PiecewiseMean(epsilon=1)
    ends = protocol.read([-1.0, 1.0])

    assert ends[1] + protocol.window == protocol.points
    ratio = (
        protocol.inside
        / protocol.window
        / ((1 - protocol.inside) / (protocol.points - protocol.window))
    )
    assert ratio == likelihood_ratio(1)


def test_below_the_turning_point_a_hybrid_is_one_bit():
    low = local.HybridMean(epsilon=HYBRID_FROM)

    assert low.share == 0
    assert low.variance(0) == local.Mean1Bit(epsilon=HYBRID_FROM).variance(0)


def test_bounds_need_room():
    with pytest.raises(InputError):
        local.Mean1Bit(epsilon=1, lower=1, upper=1)
    with pytest.raises(InputError):
        local.Mean1Bit(epsilon=1).reporter().report("x")


def test_vectors_have_an_unbiased_mean():
    protocol = local.UnitVectorMean(epsilon=4, dimension=3, directions=16)
    vector = np.array([0.6, 0.0, 0.3])
    reports = protocol.reporter().report(np.tile(vector, (2000, 1)))
    found = protocol.aggregator().add(reports).estimate()

    assert (np.abs(found.mean - vector) < 4 * found.standard_error).all()
    assert (found.standard_error < 0.1).all()
    assert found.to_arrow().num_rows == 3


def test_vectors_are_shortened_and_counted_in_coordinates():
    protocol = local.UnitVectorMean(epsilon=1, dimension=2, directions=4)

    assert protocol.read([[3.0, 4.0], [np.nan, 0.5]]).tolist() == [[0.6, 0.8], [0.0, 0.5]]
    with pytest.raises(InputError):
        protocol.read([1.0, 2.0, 3.0])
    with pytest.raises(InputError):
        local.UnitVectorMean(epsilon=1, dimension=2, directions=300)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("values", [[[1.0], [0.5]], [[1.0, -1.0]], np.ones((3, 1))])
def test_tables_and_what_is_no_float_are_refused(kind, values):
    """Rows of a table would share their coins: two bits would differ if and only if values do."""
    with pytest.raises(InputError):
        kind(epsilon=1).reporter().report(values)
    with pytest.raises(InputError):
        kind(epsilon=1).reporter().report(10**400)


def test_bounds_have_room_as_floats():
    for lower, upper in ((-1.7e308, 1.7e308), (1, 1 + Fraction(1, 10**20)), (0, 10**400)):
        with pytest.raises(InputError, match="room"):
            local.Mean1Bit(epsilon=1, lower=lower, upper=upper)


def test_where_a_hybrid_sends_bits_a_point_is_malformed():
    """A point counts for twice as much as a bit at most can."""
    protocol = local.HybridMean(epsilon=0.1)
    point = np.array([[0, 0, 0x80]], dtype=np.uint8)

    assert not protocol.is_valid(point)[0]
    assert local.HybridMean(epsilon=1).is_valid(point)[0]


@pytest.mark.parametrize(("epsilon", "n", "value"), [(8, 1000, 1.0), (5, 100, 1.0), (3, 20, 0.9)])
def test_the_interval_of_one_bit_holds_where_hardly_any_bit_differs(epsilon, n, value):
    """The exact coverage: reports that are all alike are no proof that nothing is random."""
    protocol = local.Mean1Bit(epsilon=epsilon)
    offset, scale = protocol.debias(0)
    p, inside = float(offset + scale * int(protocol.read(value)[0])), 0.0
    for ones in range(n + 1):
        chance = math.comb(n, ones) * p**ones * (1 - p) ** (n - ones)
        statistic = np.array([[n, ones, ones, 0]], dtype=np.int64)
        low, high = protocol.estimate(statistic, n).interval(0.95)
        inside += chance * (low <= value <= high)

    assert inside > 0.94


def test_vectors_may_have_many_coordinates():
    """The mean inner product is computed from its law; in 2 dimensions that is known exactly."""
    wide = local.UnitVectorMean(epsilon=4, dimension=5000)
    flat = local.UnitVectorMean(epsilon=20, dimension=2, directions=2)

    assert 1 <= wide.near < 32
    assert flat.length == pytest.approx(4 / math.pi**2, rel=1e-3)  # E of the larger of two cosines
