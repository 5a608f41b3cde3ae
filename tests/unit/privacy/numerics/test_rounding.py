"""Interval arithmetic encloses, and numpy keeps the accuracy that is assumed of it."""

import itertools
import math
import operator
import random
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpfr

from discreet.privacy.numerics.phases import phase_error, phases
from discreet.privacy.numerics.rounding import ELEMENTARY, PI, Interval, total


def exact(x):
    return mpfr(gmpy2.mpq(Fraction(x).numerator, Fraction(x).denominator))


UNARY = {
    "exp": gmpy2.exp,
    "expm1": gmpy2.expm1,
    "log": gmpy2.log,
    "log1p": gmpy2.log1p,
    "sqrt": gmpy2.sqrt,
    "tanh": gmpy2.tanh,
    "sinh": gmpy2.sinh,
    "square": gmpy2.square,
    "log_cosh": lambda x: gmpy2.log(gmpy2.cosh(x)),
    "normal_tail": lambda x: gmpy2.erfc(x / gmpy2.sqrt(mpfr(2))) / 2,
}


@pytest.mark.parametrize("name", UNARY)
def test_functions_enclose_the_truth(name):
    rng = random.Random(name)  # noqa: S311 - a fixed choice of cases
    with gmpy2.context(precision=300):
        for _ in range(200):
            x = Fraction(10 ** rng.uniform(-6, 2.5)).limit_denominator(10**9)
            found, truth = getattr(Interval.of(x), name)(), UNARY[name](exact(x))
            assert found.lo <= truth <= found.hi
            assert found.lower <= truth <= found.upper
            # Tight but for cancellation, which is absolute.
            assert found.hi - found.lo <= abs(truth) * mpfr(2) ** -95 + mpfr(2) ** -100


def test_arithmetic_encloses_whatever_the_signs():
    rng = random.Random(1)  # noqa: S311 - a fixed choice of cases
    for _ in range(500):
        a, b = (Fraction(rng.randint(-99, 99), rng.randint(1, 97)) for _ in range(2))
        x, y = Interval.of(a), Interval.of(b)
        results = [(x + y, a + b), (x - y, a - b), (x * y, a * b), (-x, -a), (x.square(), a * a)]
        if b:
            results.append((x / y, a / b))
        for found, truth in [*results, (2 - x, 2 - a), (x + 1, a + 1), (3 * x, 3 * a)]:
            assert Fraction(found.lower) <= truth <= Fraction(found.upper)
            with gmpy2.context(precision=300):
                assert found.lo <= exact(truth) <= found.hi


ENDS = [-math.inf, -3.5, -1, -0.25, 0.0, 0.1, 2, math.inf]
SPANS = [Interval.between(a, b) for a in ENDS for b in ENDS if a <= b]


@pytest.mark.parametrize("name", ["mul", "truediv"])
def test_products_and_quotients_reach_from_the_least_corner_to_the_largest(name):
    down, up = (gmpy2.context(precision=113, round=way) for way in (gmpy2.RoundDown, gmpy2.RoundUp))
    for x, y in itertools.product(SPANS, repeat=2):
        found, corners = getattr(operator, name)(x, y), []
        for context in (down, up):
            of = getattr(context, name.removeprefix("true"))
            corners.append([of(a, b) for a in (x.lo, x.hi) for b in (y.lo, y.hi)])
        defined = [[z for z in some if not gmpy2.is_nan(z)] or [mpfr(0)] for some in corners]
        least, most = min(defined[0]), max(defined[1])
        if name == "truediv" and y.lo <= 0 <= y.hi:
            assert (found.lo, found.hi) == (-math.inf, math.inf)
        elif any(map(gmpy2.is_nan, corners[0])):  # an undefined corner may be anything
            assert found.lo <= least <= most <= found.hi
        else:
            assert (found.lo, found.hi) == (least, most)


def test_undefined_corners_widen_to_the_whole_line():
    infinite = Interval.of(math.inf)
    for found in (infinite - infinite, infinite * 0, Interval.of(1) / Interval.between(-1, 1)):
        assert found.lower == -math.inf
        assert found.upper == math.inf
    assert Interval.between(-1, 2).log().lower == -math.inf
    assert Interval.between(-1, 2).sqrt().lower == 0
    assert Interval.between(-3, 2).square().lower == 0


def test_underflow_never_rounds_an_upper_end_to_zero():
    tiny = Interval.of(-(10**6)).exp()
    assert tiny.lower == 0
    assert tiny.upper == 5e-324
    assert tiny.bound("x").upper > 0


def test_larger_and_smaller_and_sums():
    a, b = Interval.between(1, 4), Interval.between(2, 3)
    assert (a.join(b).lower, a.join(b).upper) == (2, 4)
    assert (a.meet(b).lower, a.meet(b).upper) == (1, 3)
    assert total([a, b]).upper == 7
    assert PI.lower <= math.pi <= PI.upper


FUNCTIONS = [
    (np.exp, gmpy2.exp, -700, 700, "relative"),
    (np.expm1, gmpy2.expm1, -50, 50, "relative"),
    (np.log, gmpy2.log, 1e-9, 1e9, "relative"),
    (np.log1p, gmpy2.log1p, -0.99, 1e6, "relative"),
    (np.tanh, gmpy2.tanh, 0, 30, "relative"),
    (np.cos, gmpy2.cos, -(2.0**20), 2.0**20, "absolute"),
    (np.sin, gmpy2.sin, -(2.0**20), 2.0**20, "absolute"),
]


@pytest.mark.parametrize(("fast", "slow", "low", "high", "kind"), FUNCTIONS)
def test_numpy_is_twice_as_accurate_as_assumed(fast, slow, low, high, kind):
    rng = np.random.default_rng(0)
    x = np.concatenate(
        (rng.uniform(low, high, 3000), rng.uniform(max(low, -1), min(high, 1), 1000))
    )
    with gmpy2.context(precision=120):
        for value, found in zip(x.tolist(), fast(x).tolist(), strict=True):
            truth = slow(mpfr(value))
            size = abs(truth) if kind == "relative" else 1
            assert abs(mpfr(found) - truth) <= size * (ELEMENTARY / 2)


@pytest.mark.parametrize("size", [5, 96, 97, 1000, 5000])
@pytest.mark.parametrize("angle", [1e-5, 0.3, 2.9, 31.7])
def test_phases_keep_their_error_bound(angle, size):
    z = phases(angle, size)
    bound = phase_error(angle, size, 0.0)
    assert len(z) == size
    with gmpy2.context(precision=120):
        for k in {0, 1, size // 2, size - 1}:
            x = mpfr(angle) * k
            off = gmpy2.hypot(mpfr(z[k].real) - gmpy2.cos(x), mpfr(z[k].imag) - gmpy2.sin(x))
            assert off <= bound


def test_phases_past_a_million_radians_are_not_vouched_for():
    assert phase_error(1e4, 1000, 0.0) == 2.0
