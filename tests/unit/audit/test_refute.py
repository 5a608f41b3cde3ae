import numpy as np
import pytest

from discreet import noise
from discreet.audit.refute import refute
from discreet.errors import InputError
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.mechanism import Claim, Pair
from discreet.privacy import Approximate, Pure


def claim(draw, guarantee=None, left=0, right=1):
    return Claim("test", guarantee or Pure(1), (Pair(left, right),), draw)


def test_the_certified_epsilon_is_close_below_the_true_one():
    for epsilon in (0.2, 1, 3):
        found = refute(Laplace(epsilon=epsilon, sensitivity=1).claim, samples=400_000)

        assert not found.refuted
        assert found.bound == pytest.approx(found.point.epsilon, abs=0.06)


def test_a_gaussian_claim_is_tested_along_its_whole_profile():
    thin = Gaussian(epsilon=1, delta=0.01, sensitivity=1)
    promise = Gaussian(epsilon=0.8, delta=0.01, sensitivity=1).guarantee

    assert refute(claim(thin.claim.draw, promise)).refuted
    assert not refute(thin.claim).refuted


@pytest.mark.parametrize(("left", "right"), [(0, 1), (1, 0)])
def test_both_directions_are_tried(left, right):
    def leak_once(value, runs):
        return value * noise.bernoulli(0.02, size=runs)

    found = refute(claim(leak_once, Approximate(1, 0.01), left, right))

    assert found.refuted
    assert not refute(claim(leak_once, Approximate(1, 0.025), left, right)).refuted


def test_a_leak_in_the_pattern_of_a_row_is_found():
    def parity(value, runs):
        bits = noise.below(2, size=(runs, 3))
        return np.concatenate([bits, (bits.sum(axis=1) + value)[:, None] % 2], axis=1)

    assert refute(claim(parity)).bound > 5


def test_a_leak_spread_over_many_numbers_is_found():
    def shifted(value, runs):
        return noise.discrete_laplace(4, size=(runs, 40)) + value

    assert refute(claim(shifted), samples=50_000).bound > 1


def test_a_leak_in_the_last_bit_is_found():
    def low_bit(value, runs):
        return 2 * noise.discrete_laplace(1000, size=runs) + value

    assert refute(claim(low_bit)).bound > 5


def test_answers_of_not_a_number_are_seen():
    def strange(value, runs):
        answers = noise.discrete_laplace(1, size=runs).astype(np.float64)
        return np.where(noise.bernoulli(0.3 * value, size=runs), np.nan, answers)

    assert refute(claim(strange)).refuted


def test_integers_past_64_bits_are_audited():
    def huge(value, runs):
        return noise.discrete_laplace(1, size=runs).astype(object) + (value << 80)

    assert refute(claim(huge), samples=2000).refuted


def test_refusing_one_neighbour_is_a_leak():
    def refuses(value, runs):
        if value:
            raise InputError("no", why="it is one", fix="be zero")
        return np.zeros(runs)

    assert "raises" in refute(claim(refuses), samples=1000).reason


def test_refusing_both_neighbours_is_no_audit():
    def refuses(_value, _runs):
        raise InputError("no", why="never", fix="nothing")

    with pytest.raises(InputError):
        refute(claim(refuses), samples=1000)


def test_shapes_that_differ_are_a_leak():
    found = refute(claim(lambda value, runs: np.zeros((runs, 1 + value))), samples=1000)

    assert "shape" in found.reason


def test_every_run_has_to_be_answered():
    with pytest.raises(InputError, match="outputs of"):
        refute(claim(lambda _value, runs: np.zeros(runs - 1)), samples=1000)


@pytest.mark.parametrize("settings", [{"samples": 10}, {"alpha": 0}, {"alpha": 1.5}])
def test_settings_that_prove_nothing_are_refused(settings):
    with pytest.raises(InputError):
        refute(Laplace(epsilon=1, sensitivity=1).claim, **settings)


def test_the_curve_goes_from_never_to_always():
    curve = refute(Laplace(epsilon=1, sensitivity=1).claim, samples=20_000).curve

    assert curve[0] == (0.0, 1.0)
    assert curve[-1] == (1.0, 0.0)
    assert [x for x, _ in curve] == sorted(x for x, _ in curve)
    assert all(x + y <= 1.02 for x, y in curve)
