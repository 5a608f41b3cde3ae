"""Heavy tails: sampled Gaussian noise at small rates, against laws built independently."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.privacy import (
    CalibrationStep,
    Contour,
    DiscreteGaussianNoise,
    GaussianNoise,
    LaplaceNoise,
    Pure,
    Subsampled,
    calibrate,
    compose,
)
from discreet.privacy.composition.theorems import optimal_delta
from discreet.privacy.contour.folding import fold
from discreet.privacy.contour.side import Side
from discreet.privacy.contour.tally import Precision, Tally
from discreet.privacy.numerics.moments import Direction


def sampled(q, sigma, kind=GaussianNoise):
    return Subsampled(kind(1 / Fraction(sigma)), Fraction(q))


def tail(x):
    return 0.5 * np.vectorize(math.erfc)(np.asarray(x) / math.sqrt(2))


def one_step(mu, q, epsilon):
    """P(z > epsilon) - e^epsilon Q(z > epsilon), also for a negative epsilon."""
    odds = (np.exp(epsilon) - 1 + q) / q
    x = np.where(odds > 0, (np.log(np.maximum(odds, 1e-300)) + mu * mu / 2) / mu, -40.0)
    return (1 - q) * tail(x) + q * tail(x - mu) - np.exp(epsilon) * tail(x)


def two_steps(mu, q, epsilon):
    """The mean of one step's delta over the other's loss, by a dense rule."""
    x = np.linspace(-12, 14 + mu, 200_001)
    density = (1 - q) * np.exp(-x * x / 2) + q * np.exp(-((x - mu) ** 2) / 2)
    loss = np.log1p(q * np.expm1(mu * x - mu * mu / 2))
    values = density * one_step(mu, q, epsilon - loss)
    return float(values.sum() * (x[1] - x[0]) / math.sqrt(2 * math.pi))


@pytest.mark.parametrize("q", ["0.000001", "0.0001", "0.01"])
@pytest.mark.parametrize("sigma", ["0.5", "1", "4"])
def test_two_steps_agree_with_direct_integration(q, sigma):
    total = compose([(sampled(q, sigma), 2)])
    for delta in (1e-5, 1e-8):
        found = total.epsilon(delta)
        if not found.upper:
            assert two_steps(1 / float(sigma), float(q), 0.0) <= delta
            continue
        assert two_steps(1 / float(sigma), float(q), found.upper) <= delta * (1 + 1e-8)
        assert two_steps(1 / float(sigma), float(q), found.lower) >= delta * (1 - 1e-8)
        assert found.upper - found.lower <= 1e-3 * found.upper


def on_a_grid(mu, q, steps, delta, step, rounded):
    """Epsilon of the law with every loss rounded to a grid, upwards or downwards; a plain FFT."""
    cells = 2**18
    z = (np.arange(cells) - cells // 2) * step
    edges = np.append(z - step, z[-1]) if rounded == "up" else np.append(z, z[-1] + step)
    odds = (np.exp(np.minimum(edges, 60.0)) - 1 + q) / q
    x = np.where(odds > 0, (np.log(np.maximum(odds, 1e-300)) + mu * mu / 2) / mu, -40.0)
    above = (1 - q) * tail(x) + q * tail(x - mu)
    law = above[:-1] - above[1:]
    law[-1 if rounded == "up" else 0] += 1 - law.sum()
    many = np.fft.irfft(np.fft.rfft(np.fft.ifftshift(law)) ** steps, cells)
    many = np.fft.fftshift(np.maximum(many, 0.0))
    low, high = 0.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        excess = np.sum(many * np.maximum(-np.expm1(np.minimum(middle - z, 0.0)), 0.0)) - delta
        low, high = (middle, high) if excess > 0 else (low, middle)
    return high


@pytest.mark.parametrize(("q", "sigma", "steps"), [("0.002", "1", 100), ("0.01", "0.7", 30)])
def test_many_steps_lie_between_losses_rounded_up_and_down(q, sigma, steps):
    found = compose([(sampled(q, sigma), steps)]).epsilon(1e-6)
    law = (1 / float(sigma), float(q), steps, 1e-6, 1e-4)
    assert on_a_grid(*law, "down") - 1e-6 <= found.upper
    assert found.lower <= on_a_grid(*law, "up") + 1e-6
    assert found.upper - found.lower <= 1e-3 * found.upper


def test_epsilon_grows_with_the_steps_where_it_once_did_not():
    one = sampled("0.002", "1")
    found = [compose([(one, t)]).epsilon(1e-6) for t in (500, 1000, 2000, 3000, 5000)]
    uppers = [bound.upper for bound in found]
    assert uppers == sorted(uppers)
    assert 0.386 < found[1].lower <= found[1].upper < 0.396


HARDEST = [
    ("0.000001", "0.5", 10**5, 1e-10),
    ("0.000001", "0.5", 100, 1e-6),
    ("0.000001", "0.7", 10, 1e-8),
    ("0.0001", "0.7", 10**5, 1e-10),
    ("0.001", "0.5", 100, 1e-10),
    ("0.01", "0.5", 10, 1e-8),
    ("0.1", "4", 10**5, 1e-5),
]


@pytest.mark.parametrize(("q", "sigma", "steps", "delta"), HARDEST)
def test_bounds_are_a_thousandth_apart_at_the_hardest_points(q, sigma, steps, delta):
    found = compose([(sampled(q, sigma), steps)]).epsilon(delta)
    assert 0 < found.lower <= found.upper <= found.lower * 1.001


def test_delta_is_as_close_and_agrees_with_epsilon():
    total = compose([(sampled("0.002", "1"), 1000)])
    at = total.epsilon(1e-6)
    above, below = total.delta(at.upper), total.delta(at.lower)
    assert above.lower <= 1e-6 <= below.upper
    assert above.upper <= above.lower * 1.02


def test_noise_on_the_integers_is_folded_in_as_well():
    fine = Subsampled(DiscreteGaussianNoise(100, 10**4), Fraction("0.002"))
    found = compose([(fine, 1000)]).epsilon(1e-6)
    smooth = compose([(sampled("0.002", "1"), 1000)]).epsilon(1e-6)
    assert found.upper - found.lower <= 1e-3 * found.upper
    assert found.upper == pytest.approx(smooth.upper, rel=1e-2)


def test_a_heavy_tail_among_others_is_folded_in():
    parts = [(sampled("0.001", "0.7"), 200), (LaplaceNoise(0.01), 20), (GaussianNoise(0.05), 3)]
    found = compose(parts).epsilon(1e-7)
    assert 0 < found.lower <= found.upper <= found.lower * 1.001


def test_a_growing_list_stays_close():
    spent, one = Contour(), sampled("0.01", "1")
    for n in range(1, 6):
        spent.append(one, 20)
        known = compose([(one, 20 * n)]).epsilon(1e-6)
        found = spent.epsilon(1e-6)
        assert known.lower <= found.upper <= known.upper * 1.001
    assert spent.within(found.upper * 1.01, 1e-6)
    assert not spent.within(found.lower * 0.99, 1e-6)


def test_calibrated_noise_is_the_least_there_is():
    def family(c):
        return Subsampled(GaussianNoise(c), Fraction("0.002"))

    found = calibrate([CalibrationStep(family, count=1000)], epsilon=Fraction(2, 5), delta=1e-6)
    (parameter,) = found.parameters
    assert compose([(family(parameter), 1000)]).epsilon(1e-6).upper <= 0.4
    noisier = compose([(family(parameter * Fraction(1001, 1000)), 1000)]).epsilon(1e-6)
    assert noisier.lower > 0.4
    assert 0.97 < 1 / parameter < 0.998


# --- folding itself -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [GaussianNoise, lambda mu: DiscreteGaussianNoise(3 * mu, 9)])
def test_a_capped_law_has_the_same_delta_up_to_its_cap(kind):
    one = Subsampled(kind(1), Fraction(1, 100))
    capped = one.capped(0.3)
    assert capped.delta(0.2) == one.delta(0.2)
    assert capped.infinity().upper >= one.delta(0.3).lower > 0
    assert capped.infinity(Direction.ADD).upper == 0
    assert capped.delta(2).upper >= one.delta(0.3).lower


def capped_moments(mu, q, cap, power):
    """E_Q min(g, e^cap)^power, densely."""
    x = np.linspace(-14, 14 + mu, 2_000_001)
    loss = np.minimum(np.log1p(q * np.expm1(mu * x - mu * mu / 2)), cap)
    return float(np.sum(np.exp(-x * x / 2 + power * loss)) * (x[1] - x[0])) / math.sqrt(2 * math.pi)


@pytest.mark.parametrize("cap", [0.01, 0.3, 4.0])
@pytest.mark.parametrize("order", [0.5, 6.0, 40.0])
def test_moments_of_a_capped_law_agree_with_dense_sums(cap, order):
    one = sampled("0.01", "1").capped(cap)
    for way, power in ((Direction.REMOVE, order + 1), (Direction.ADD, -order)):
        exact = math.log(capped_moments(1.0, 0.01, cap, power))
        found = one.log_mgf(order, way)
        assert found.lower - 1e-6 <= exact <= found.upper + 1e-6
        assert found.upper - found.lower < 1e-9


@pytest.mark.parametrize("share", [0.5, 1.0, 1.5, 4.0])
def test_whatever_the_cap_bounds_hold_and_agree(share):
    one, truth = sampled("0.001", "0.7"), compose([(sampled("0.001", "0.7"), 100)]).epsilon(1e-6)
    tally = Tally(Direction.REMOVE)
    tally.append(one, 100, None)
    folding = fold(tally, share * truth.upper)
    found = Side(folding.plain, Precision(), folding).epsilon(Fraction(1, 10**6))
    assert found.lower <= truth.upper
    assert found.upper >= truth.lower


def test_a_cap_below_epsilon_without_doubt_would_be_caught():
    one = sampled("0.01", "1")
    truth, tally = compose([(one, 1000)]).epsilon(1e-6), Tally(Direction.REMOVE)
    tally.append(one, 1000, None)
    folding = fold(tally, 0.7 * truth.upper)
    careless = type(folding)(folding.plain, folding.turned, folding.cap, 0.0, 1000)
    found = Side(folding.plain, Precision(), careless).epsilon(Fraction(1, 10**6))
    assert found.lower > truth.upper


def test_what_needs_no_cap_has_none():
    assert Pure(1).capped(1.0) is None
    assert Subsampled(GaussianNoise(1), 1).capped(1.0) is None
    assert Subsampled(LaplaceNoise(1), 0.1).capped(1.0) is None
    assert Subsampled(GaussianNoise(1000), 0.1).capped(1.0) is None


# --- the phantom from below -----------------------------------------------------------------------


@pytest.mark.parametrize(("own", "count"), [(0.1, 200), (0.4, 50), (0.02, 3000)])
def test_the_phantom_is_taken_off_again(own, count):
    spent = Contour(Precision(listed=0))
    spent.append(Pure(own), count)
    for delta in (1e-4, 1e-9):
        found = spent.epsilon(delta)
        assert 0 < found.lower <= found.upper
        exact = optimal_delta([(Pure(own), count)], Fraction(found.lower))
        assert exact.upper >= delta
        assert found.upper <= found.lower * (1 + 1e-2)
