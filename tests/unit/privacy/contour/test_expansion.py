"""Delta around one epsilon: what an expansion says of its neighbourhood holds there."""

import math
import random

import pytest

from discreet.privacy import Contour, GaussianNoise, LaplaceNoise, Pure
from discreet.privacy.contour.crossing import cross
from discreet.privacy.contour.expansion import Expansion, log_above
from discreet.privacy.contour.tally import Precision

MIXTURES = {
    "gaussian": [(GaussianNoise(0.05), 60), (Pure(0.02), 40)],
    "laplace": [(LaplaceNoise(0.03), 90), (GaussianNoise(0.1), 5)],
    "phantom": [(LaplaceNoise(0.2), 30)],
}


def drawn(name, delta=1e-7):
    """A line with everything in it, and the epsilon it answers."""
    spent = Contour(Precision(listed=0))
    for one, count in MIXTURES[name]:
        spent.append(one, count)
    answer = spent.epsilon(delta).upper
    return spent._sides[0]._active, answer


def crossings(reading, spectrum, points):
    """The points at which the expansion and a reading on the spot exclude each other."""
    wrong = []
    for at in points:
        there = spectrum.read(at)
        high, low = reading.log_upper(at), reading.log_lower(at)
        if high < there.log_lower(at) or low > there.log_upper(at):
            wrong.append(at)
    return wrong


@pytest.mark.parametrize("name", MIXTURES)
def test_an_expansion_agrees_with_a_reading_on_the_spot(name):
    spectrum, epsilon = drawn(name)
    reading, rng = spectrum.read(epsilon), random.Random(1)  # noqa: S311 - a fixed choice of cases
    far = 1 / (spectrum.live.step * spectrum.live.size)
    points = [epsilon + rng.uniform(-1, 1) * far * 10 ** rng.uniform(-6, 0) for _ in range(400)]
    assert crossings(reading, spectrum, points) == []
    close = [at for at in points if reading.covers(at, 1e-10)]
    assert len(close) > 5
    for at in close:
        assert reading.log_upper(at) - spectrum.read(at).log_upper(at) < 1e-9


def test_a_forgotten_remainder_would_be_caught():
    spectrum, epsilon = drawn("gaussian")
    reading = spectrum.read(epsilon)
    reading._fourth = 0.0
    far = 0.9 / (spectrum.live.step * spectrum.live.size)
    assert crossings(reading, spectrum, [epsilon - far, epsilon + far])


def test_the_remainder_stays_a_bound_while_more_is_composed():
    spent = Contour()
    for n in range(200):
        spent.append([GaussianNoise(0.02), LaplaceNoise(0.02), Pure(0.02)][n % 3])
        epsilon = spent.epsilon(1e-8).upper
        spectrum = spent._sides[0]._active
        if spectrum is None:
            continue
        reading = spectrum.read(epsilon)
        far = 1 / (spectrum.live.step * spectrum.live.size)
        points = [epsilon + share * far for share in (-0.9, -0.3, 0.3, 0.9)]
        assert crossings(reading, spectrum, points) == []


def test_nothing_is_claimed_far_away():
    spectrum, epsilon = drawn("gaussian")
    reading = spectrum.read(epsilon)
    for at in (0.0, 0.4 * epsilon, 1.6 * epsilon, epsilon + 1):
        assert reading.log_upper(at) == math.inf
        assert reading.log_lower(at) == -math.inf
        assert not reading.covers(at, 1.0)
    assert reading.covers(epsilon, 0.0)


def test_a_sum_lost_in_rounding_is_neither_a_bound_nor_a_direction():
    lost = Expansion((1.0, 3.0, 0.0), [-1e-30, 0.0, 0.0, 0.0], 1e-31, (-5.0, -5.0), (10.0, 1.0))
    assert lost.log_upper(1.0) == math.inf == lost.blur()
    assert lost.log_lower(1.0) == -math.inf
    assert lost.rate(1.0) == 3.0
    assert lost.step(0.3) == pytest.approx(0.1)
    rising = Expansion((1.0, 3.0, 0.0), [1.0, 9.0, 0.0, 0.0], 0.0, (0.0, 0.0), (10.0, 1.0))
    assert rising.step(0.3) == pytest.approx(0.1)
    assert rising.rate(1.0) == 3.0
    assert log_above(0.0, -1.0) == math.inf


@pytest.mark.parametrize("name", MIXTURES)
@pytest.mark.parametrize("guess", [0.0, 0.5, 0.999, 1.0, 1.001, 1.9])
def test_a_crossing_is_confirmed_wherever_the_search_begins(name, guess):
    spectrum, epsilon = drawn(name)
    target = math.log(1e-7)
    found, reading = cross(spectrum, target, 1e-9, 2 * epsilon, guess * epsilon)
    assert spectrum.read(found).log_upper(found) <= target + 1e-12
    assert spectrum.read(found * (1 - 1e-9)).log_upper(found * (1 - 1e-9)) > target - 1e-6
    assert found == pytest.approx(epsilon, rel=1e-9)
    assert abs(reading.epsilon - found) < epsilon


def test_no_crossing_below_the_ceiling_is_infinity():
    spectrum, epsilon = drawn("gaussian")
    assert cross(spectrum, math.log(1e-7), 1e-9, 0.5 * epsilon, 0.4 * epsilon)[0] == math.inf
    assert cross(spectrum, 0.0, 1e-9, epsilon, 0.5 * epsilon)[0] == 0
