"""Every family's moments on a line keep the error bounds they state."""

import math
import random
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpc, mpfr

from discreet.privacy import (
    GDP,
    RDP,
    ZCDP,
    Approximate,
    BoundedRange,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    LaplaceNoise,
    Pure,
    RandomizedResponseNoise,
    Tabulated,
)
from discreet.privacy.numerics import shapes
from discreet.privacy.numerics.moments import Moments, OrderLine, unit


def parameter(rng):
    return Fraction(f"{10 ** rng.uniform(-3.5, 1.1):.4g}")


FAMILIES = {
    "pure": lambda r: Pure(parameter(r)),
    "approximate": lambda r: Approximate(parameter(r), Fraction(1, r.randint(2, 10**6))),
    "gaussian": lambda r: GDP(parameter(r)),
    "laplace": lambda r: LaplaceNoise(parameter(r)),
    "bounded range": lambda r: BoundedRange(parameter(r)),
    "randomized response": lambda r: RandomizedResponseNoise(parameter(r), r.randint(2, 40)),
    "discrete laplace": lambda r: DiscreteLaplaceNoise(parameter(r), r.randint(1, 30)),
    "discrete gaussian": lambda r: DiscreteGaussianNoise(
        r.randint(1, 3), Fraction(f"{10 ** r.uniform(-1, 2):.3g}")
    ),
    "tabulated": lambda r: Tabulated([parameter(r), -parameter(r), 0], [0.5, 0.2, 0.1]),
}


def line(rng, size_of_loss):
    lam = 10 ** rng.uniform(-1.5, 1.2)
    width = max(14 * size_of_loss, 40 / lam)
    return OrderLine(lam, 2 * np.pi / width, rng.choice([1, 30, 200, 1500]))


@pytest.mark.parametrize("name", FAMILIES)
def test_moments_are_within_their_stated_error(name, exact_moment):
    rng = random.Random(name)  # noqa: S311 - a fixed choice of cases
    for _ in range(25):
        guarantee = FAMILIES[name](rng)
        size = getattr(guarantee, "epsilon0", getattr(guarantee, "mu", Fraction(3)))
        at = line(rng, float(size))
        found = guarantee.moments(at)
        scale = exact_moment(guarantee, mpc(mpfr(at.lam))).real
        assert abs(gmpy2.log(scale) - mpfr(found.log_scale)) <= found.log_error
        for k in {0, 1, at.size // 3, at.size - 1} & set(range(at.size)):
            truth = exact_moment(guarantee, mpc(mpfr(at.lam), mpfr(at.step) * k)) / scale
            off = abs(truth - mpc(complex(found.phi[k])))
            assert off <= found.error + (0 if k else mpfr(2) ** -50)


@pytest.mark.parametrize("name", sorted(set(FAMILIES) - {"bounded range"}))
def test_real_moments_are_enclosed(name, exact_moment):
    rng = random.Random(name)  # noqa: S311 - a fixed choice of cases
    for _ in range(25):
        guarantee = FAMILIES[name](rng)
        order = Fraction(f"{10 ** rng.uniform(-2, 1.5):.4g}")
        truth = gmpy2.log(exact_moment(guarantee, mpfr(gmpy2.mpq(str(order)))))
        found = guarantee.log_mgf(order)
        assert found.lo <= truth <= found.hi
        assert found.hi - found.lo < 1e-25


@pytest.mark.parametrize(
    "shape", [shapes.TWO_POINT, shapes.LAPLACE, shapes.BOUNDED_RANGE, shapes.GAUSSIAN]
)
def test_many_at_once_are_the_product_of_each(shape):
    rng = np.random.default_rng(3)
    es, counts = 10 ** rng.uniform(-3, -0.5, 40), rng.integers(1, 9, 40)
    at = OrderLine(7.3, 0.7, 300)
    together, one_by_one = shapes.many(shape, es, counts, at), unit(at)
    for e, count in zip(es.tolist(), counts.tolist(), strict=True):
        one_by_one = one_by_one.times(shapes.single(shape, e, at).power(count))
    assert abs(together.phi - one_by_one.phi).max() <= together.error + one_by_one.error
    off = abs(together.log_scale - one_by_one.log_scale)
    assert off <= together.log_error + one_by_one.log_error
    real = shapes.many(shape, es, counts, OrderLine(7.3, 0.7, 1))
    assert abs(real.log_scale - together.log_scale) <= 1e-12


def test_a_power_is_a_product_repeated():
    one = LaplaceNoise(0.3).moments(OrderLine(2.0, 0.5, 50))
    four = one.times(one).times(one).times(one)
    assert abs(one.power(4).phi - four.phi).max() <= one.power(4).error + four.error
    assert one.power(4).log_scale == pytest.approx(four.log_scale)
    assert one.power(1) is one


def test_errors_beyond_all_use_stay_beyond_all_use():
    bad = Moments(0.0, 0.0, np.ones(3, dtype=complex), 1.5)
    assert bad.times(bad).error == 2.0
    assert bad.power(3).error == 2.0


def test_angles_too_large_are_not_vouched_for():
    at = OrderLine(0.5, 1.0, 2000)
    for guarantee in (
        Pure(10**4),
        GDP(1000),
        RandomizedResponseNoise(10**4, 3),
        Tabulated([10**4], [1]),
    ):
        assert guarantee.moments(at).error >= 1
    assert shapes.many(shapes.TWO_POINT, np.array([1e4]), np.array([1]), at).error >= 1


def test_equal_pairs_and_no_odd_ones_multiply_too():
    at = OrderLine(3.0, 0.4, 20)
    es, counts = np.array([0.1, 0.2, 0.3, 0.4, 0.5]), np.array([2, 2, 4, 2, 6])
    together = shapes.many(shapes.LAPLACE, es, counts, at)
    one_by_one = unit(at)
    for e, count in zip(es.tolist(), counts.tolist(), strict=True):
        one_by_one = one_by_one.times(shapes.single(shapes.LAPLACE, e, at).power(count))
    assert np.abs(together.phi - one_by_one.phi).max() <= together.error + one_by_one.error
    assert together.log_scale == pytest.approx(one_by_one.log_scale, rel=1e-13)


def test_curves_have_no_law_of_the_loss():
    at = OrderLine(1.0, 1.0, 8)
    assert ZCDP(1).moments(at) is None
    assert RDP({2: 1}).moments(at) is None
    assert Approximate(1, 1).moments(at) is None
    assert Tabulated([1], [0]).moments(at) is None


def test_a_gaussian_bends_no_points():
    with pytest.raises(AssertionError):
        shapes.GAUSSIAN.bend(np.ones(3, dtype=complex), 0.5, np.ones(3, dtype=complex), 3.0)
    assert DiscreteLaplaceNoise(0.3).moments(OrderLine(1.0, 1.0, 3)).error < 1e-12
    assert shapes.GAUSSIAN.log_scale(0.5, 2.0, 5.0, math) == pytest.approx(0.75)
