"""Oracles for this room: moment generating functions in 250-bit arithmetic."""

from fractions import Fraction

import gmpy2
import pytest
from gmpy2 import mpfr

from discreet.privacy import (
    GDP,
    Approximate,
    BoundedRange,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    GaussianNoise,
    LaplaceNoise,
    Pure,
    RandomizedResponseNoise,
    Tabulated,
)


def number(x):
    x = Fraction(x)
    return mpfr(gmpy2.mpq(x.numerator, x.denominator))


def cosh(x):
    return (gmpy2.exp(x) + gmpy2.exp(-x)) / 2


def sinh(x):
    return (gmpy2.exp(x) - gmpy2.exp(-x)) / 2


def discrete_gaussian(g, s):
    v, d = number(g.variance), g.sensitivity
    reach = int(14 * float(v) ** 0.5) + 14 + int(abs(float(s.real)) * d)
    top = bottom = 0
    for x in range(-reach, reach + 1):
        mass = gmpy2.exp(-mpfr(x * x) / (2 * v))
        bottom += mass
        top += mass * gmpy2.exp(s * (d * d - 2 * d * x) / (2 * v))
    return top / bottom


def discrete_laplace(g, s):
    e, n = number(g.epsilon0), g.sensitivity
    r = gmpy2.exp(-e / n)
    ends = (gmpy2.exp(s * e) + gmpy2.exp(-s * e - e)) / (1 + r)
    inner = (gmpy2.exp(-e * x / n + s * (e - 2 * e * x / n)) for x in range(1, n))
    return ends + (1 - r) / (1 + r) * sum(inner, mpfr(0))


def moment(g, s):
    """E[e^(sZ); Z < infinity] from the definition of the loss."""
    u, half = s + mpfr("0.5"), mpfr("0.5")
    match g:
        case Pure() | Approximate():
            e = number(g.epsilon0)
            return (1 - number(getattr(g, "delta0", 0))) * cosh(u * e) / cosh(e * half)
        case GDP() | GaussianNoise():
            return gmpy2.exp(s * (s + 1) * number(g.mu) ** 2 / 2)
        case LaplaceNoise():
            e = number(g.epsilon0)
            return gmpy2.exp(-e / 2) * (cosh(u * e) + sinh(u * e) / (2 * u))
        case BoundedRange():
            e = number(g.epsilon0)
            return sinh(u * e) / (2 * u * sinh(e / 2))
        case RandomizedResponseNoise():
            e, k = number(g.epsilon0), g.k
            top = gmpy2.exp(s * e) + gmpy2.exp(-(s + 1) * e) + (k - 2) * gmpy2.exp(-e)
            return top / (1 + (k - 1) * gmpy2.exp(-e))
        case DiscreteLaplaceNoise():
            return discrete_laplace(g, s)
        case DiscreteGaussianNoise():
            return discrete_gaussian(g, s)
        case Tabulated():
            pairs = zip(g.losses, g.probabilities, strict=True)
            return sum((number(p) * gmpy2.exp(s * number(z)) for z, p in pairs), mpfr(0))
    raise AssertionError(g)


@pytest.fixture
def exact_moment():
    with gmpy2.context(precision=250):
        yield moment


@pytest.fixture
def exactly():
    """A Fraction or float as a 250-bit number."""
    with gmpy2.context(precision=250):
        yield number
