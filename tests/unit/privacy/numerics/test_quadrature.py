"""Sums over nodes against dense independent integration, and their error bounds."""

import math

import gmpy2
import numpy as np
import pytest

from discreet.privacy.numerics import quadrature
from discreet.privacy.numerics.moments import Moments, OrderLine
from discreet.privacy.numerics.quadrature import (
    SampledAtoms,
    SampledGaussian,
    SampledLaplace,
    SampledLattice,
    log_ratios,
    moments,
)


def log_g(loss, q):
    calm = np.log1p(q * np.expm1(np.minimum(loss, 30)))
    wild = np.log(q) + loss + np.log1p((1 / q - 1) * np.exp(-np.maximum(loss, 30)))
    return np.where(loss < 30, calm, wild)


def dense_gaussian(mu, q, w):
    """log F(Re w) and F(w)/F(Re w) by a rule with far more nodes than needed."""
    low, high = -14 - abs(min(w.real, 0)) * mu, 14 + max(w.real, 0) * mu
    x = low + (high - low) / 60_000 * np.arange(60_001)
    power = -x * x / 2 + w * log_g(mu * x - mu * mu / 2, q)
    return scaled(power, (high - low) / 60_000 / math.sqrt(2 * math.pi))


def dense_laplace(epsilon, q, w):
    """The same by Gauss-Legendre on 300 panels."""
    points, weights = np.polynomial.legendre.leggauss(40)
    half = epsilon / 300
    v = ((2 * np.arange(300) + 1 - 300) * half)[:, None] + half * points
    inside = (
        np.log(np.broadcast_to(weights * half, v.shape) / 4) - (v + epsilon) / 2 + w * log_g(v, q)
    )
    ends = np.array([epsilon, -epsilon])
    atoms = np.log([0.5, 0.5]) - [epsilon, 0] + w * log_g(ends, q)
    return scaled(np.append(inside.reshape(-1), atoms), 1.0)


def scaled(power, factor):
    top = power.real.max()
    terms = np.exp(power - top)
    whole = np.abs(terms).sum()
    return top + math.log(whole * factor), terms.sum() / whole


def precise_gaussian(mu, q, w):
    """F(w) in 160 bits, by a rule whose own error is far below that of a double."""
    with gmpy2.context(precision=160, allow_complex=True):
        mu, q, w = gmpy2.mpfr(mu), gmpy2.mpfr(q), gmpy2.mpc(w)
        step = gmpy2.mpfr(1) / 64
        first, last = -15 - 15 * (w.real < 0), 15 + max(0, int(w.real * mu) + 1)
        total = gmpy2.mpc(0)
        for j in range(first * 64, last * 64 + 1):
            x = j * step
            g = 1 - q + q * gmpy2.exp(mu * x - mu * mu / 2)
            total += gmpy2.exp(-x * x / 2 + w * gmpy2.log(g))
        return total * step / gmpy2.sqrt(2 * gmpy2.const_pi())


@pytest.mark.parametrize("q", [1e-4, 0.01, 0.5])
@pytest.mark.parametrize("way", [(6.0, 1.0), (-5.0, -1.0)])
def test_they_agree_with_high_precision(q, way):
    found = moments(SampledGaussian(1.0, q), OrderLine(5.0, 2.0, 5), way)
    whole = precise_gaussian(1.0, q, complex(way[0], 0))
    assert abs(float(gmpy2.log(whole.real)) - found.log_scale) <= found.log_error
    for k in (1, 4):
        shape = precise_gaussian(1.0, q, complex(way[0], way[1] * 2.0 * k)) / whole
        assert abs(complex(shape) - found.phi[k]) <= found.error


def cases(count, seed):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        size = 10 ** rng.uniform(-2.5, 0.9)
        q = float(rng.choice([10 ** rng.uniform(-6, -0.01), 0.5, 0.9, 0.999]))
        line = OrderLine(
            10 ** rng.uniform(-1, 1.5), 10 ** rng.uniform(-2, 0.5), int(rng.choice([1, 2, 33, 150]))
        )
        if line.step * line.size * size < 800:
            yield size, q, line


@pytest.mark.parametrize(
    ("pair", "dense"), [(SampledGaussian, dense_gaussian), (SampledLaplace, dense_laplace)]
)
def test_moments_are_within_their_stated_error(pair, dense):
    for size, q, line in cases(40, seed=3):
        for way in ((line.lam + 1, 1.0), (-line.lam, -1.0)):
            found = moments(pair(size, q), line, way)
            height = way[1] * line.step * (line.size - 1)
            log_scale, shape = dense(size, q, complex(way[0], height))
            # The reference itself is good to about 3e-13.
            assert abs(found.log_scale - log_scale) <= found.log_error + 3e-13 * (
                1 + abs(log_scale)
            )
            assert abs(found.phi[-1] - shape) <= found.error + 3e-13
            assert found.error < 1e-9
            assert found.log_error < 1e-9


@pytest.mark.parametrize("power", [-300.0, -40.0, 40.0, 300.0])
def test_steep_integrands_get_the_panels_they_need(power):
    for epsilon, q in ((8.0, 0.3), (3.0, 0.01), (20.0, 0.5)):
        found = moments(SampledLaplace(epsilon, q), OrderLine(1.0, 1.0, 1), (power, 1.0))
        log_scale, _ = dense_laplace(epsilon, q, complex(power, 0))
        assert abs(found.log_scale - log_scale) <= found.log_error + 3e-13 * (1 + abs(log_scale))


def test_log_ratios_are_within_their_stated_error():
    rng = np.random.default_rng(6)
    for _ in range(400):
        loss, q = float(rng.normal() * 10 ** rng.uniform(-3, 2)), float(10 ** rng.uniform(-12, 0))
        q = float(rng.choice([q, 1 - q])) or 0.5
        found, error = log_ratios(np.array([loss]), np.zeros(1), q)
        with gmpy2.context(precision=300):
            exact = gmpy2.log1p(gmpy2.mpfr(q) * gmpy2.expm1(gmpy2.mpfr(loss)))
            assert abs(gmpy2.mpfr(float(found[0])) - exact) <= error[0]
        assert error[0] < 1e-13 * (1 + abs(found[0])) / (1 - q + q * math.exp(min(loss, 0)))


def test_a_coarser_step_than_the_proof_allows_would_be_caught(monkeypatch):
    monkeypatch.setattr(quadrature, "_TARGET", 8.0)
    errors = []
    for size, q, line in cases(25, seed=4):
        found = moments(SampledGaussian(size, q), line, (line.lam + 1, 1.0))
        _, shape = dense_gaussian(size, q, complex(line.lam + 1, line.step * (line.size - 1)))
        errors.append(abs(found.phi[-1] - shape))
    # The rule really is as coarse as asked, so the nodes are not simply far too many.
    assert max(errors) > 1e-9


def test_many_copies_are_the_power_of_one_and_skip_what_has_faded():
    line = OrderLine(3.0, 0.3, 4000)
    for way in ((4.0, 1.0), (-3.0, -1.0)):
        one = moments(SampledGaussian(1.0, 0.05), line, way)
        whole = Moments(one.log_scale, one.log_error, one.phi, one.error).power(2000)
        quick = moments(SampledGaussian(1.0, 0.05), line, way).power(2000)
        assert np.max(np.abs(whole.phi - quick.phi)) <= quick.error + whole.error
        assert quick.error < 1e-7
        assert quick.log_scale == pytest.approx(whole.log_scale, rel=1e-12)
        assert np.count_nonzero(quick.phi[2000:]) == 0


def test_frequencies_fade_at_least_as_claimed():
    rng = np.random.default_rng(5)
    checked = 0
    for _ in range(30):
        mu, q = 10 ** rng.uniform(-1.5, 0.7), float(rng.choice([10 ** rng.uniform(-3, -0.01), 0.5]))
        power = float(rng.choice([1 + 10 ** rng.uniform(-1, 1.3), -(10 ** rng.uniform(-1, 1.3))]))
        share = math.exp(-56 / 10 ** rng.uniform(1.5, 5))
        height = SampledGaussian(mu, q).fades(power, share)
        for factor in (1, 1.1, 2, 4.3):
            if height * factor * mu < 3000:
                _, shape = dense_gaussian(mu, q, complex(power, height * factor))
                assert abs(shape) <= share
                checked += 1
    assert checked > 30


def test_atoms_are_summed_as_they_are():
    masses, losses = np.array([0.25, 0.75]), np.array([math.log(3), math.log(1 / 3)])
    found = moments(SampledAtoms(masses, losses, 0.1), OrderLine(2.0, 0.5, 9), (3.0, 1.0))
    ratios = np.array([0.9 + 0.3, 0.9 + 0.1 / 3])
    orders = 3 + 0.5j * np.arange(9)
    exact = (masses * ratios ** orders[:, None]).sum(axis=1)
    assert found.log_scale == pytest.approx(math.log(exact[0].real), abs=1e-14)
    assert found.phi == pytest.approx(exact / exact[0].real, abs=1e-14)
    assert math.isinf(SampledAtoms(masses, losses, 0.1).fades(3.0, 0.5))


@pytest.mark.parametrize("variance", [0.04, 0.5, 9.0, 1e4])
@pytest.mark.parametrize("distance", [1, 3])
def test_noise_on_the_integers_is_summed_over_them(variance, distance):
    line = OrderLine(2.5, 0.7, 6)
    for q in (0.01, 0.6):
        for way in ((3.5, 1.0), (-2.5, -1.0)):
            found = moments(SampledLattice(distance, variance, q), line, way)
            wide = math.ceil(60 * math.sqrt(variance) + 12 * distance)
            x = np.arange(-wide, wide + 1.0)
            bare = -x * x / (2 * variance)
            orders = way[0] + way[1] * 1j * line.heights
            losses = log_g(distance * (2 * x - distance) / (2 * variance), q)
            powers = bare + orders[:, None] * losses
            top = powers.real.max()
            terms = np.exp(powers - top).sum(axis=1) / np.exp(bare).sum()
            log_scale = top + math.log(terms[0].real)
            assert abs(found.log_scale - log_scale) <= found.log_error + 1e-15 * (9 + log_scale)
            assert np.max(np.abs(found.phi - terms / terms[0].real)) <= found.error + 1e-13
            assert found.error < 1e-9


def test_sums_that_would_take_too_long_are_declined():
    assert SampledGaussian(1e4, 0.5).nodes(1e4, 0.0) is None
    assert SampledLaplace(50.0, 0.5).nodes(3.0, 1e6) is None
    assert SampledLattice(1, 1e12, 0.5).nodes(3.0, 0.0) is None
    assert moments(SampledGaussian(1e4, 0.5), OrderLine(1e4, 1.0, 1), (1e4 + 1, 1.0)) is None


def test_a_shape_is_summed_once_and_only_when_asked_for():
    found = moments(SampledGaussian(1.0, 0.1), OrderLine(2.0, 0.1, 50), (3.0, 1.0))
    assert found.phi is found.phi
    assert found.times(found).phi == pytest.approx(found.phi**2)
    with pytest.raises(AttributeError):
        found.nonsense  # noqa: B018
