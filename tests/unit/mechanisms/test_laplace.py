"""Laplace noise: exact scales, exact tails, and the law it claims."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.mechanisms.grid import INTEGERS
from discreet.mechanisms.laplace import Laplace
from discreet.privacy import Neighbours


def loss_of(law, other):
    """The exact worst loss between two written laws, as the smallest it can be."""
    return max(
        math.log(law[k][0] / other[k][1]) for k in law if law[k][0] > 1e-300 and other[k][1] > 0
    )


def test_epsilon_gives_the_scale_and_the_scale_gives_epsilon():
    assert Laplace(epsilon=0.1, sensitivity=3).scale == 30
    assert Laplace(scale=30, sensitivity=3).epsilon == Fraction(1, 10)


def test_a_rounding_grid_pays_for_the_rounding():
    real = Laplace(epsilon=1, sensitivity=1, grid=Fraction(1, 4), dimension=3)
    assert real.steps == 4 + 2
    assert real.scale == Fraction(3, 2)
    assert Laplace(scale=Fraction(3, 2), sensitivity=1, grid=0.25, dimension=3).epsilon == 1


def test_a_sensitivity_of_whole_steps_pays_nothing_for_the_rounding_of_one_number():
    assert Laplace(epsilon=1, sensitivity=1, grid=1).scale == 1
    assert Laplace(epsilon=1, sensitivity=1, grid=Fraction(1, 4)).steps == 4


@pytest.mark.parametrize(
    "parameters",
    [
        {"epsilon": 1},
        {"sensitivity": 1},
        {"epsilon": 1, "scale": 1, "sensitivity": 1},
        {"epsilon": 0, "sensitivity": 1},
        {"epsilon": -1, "sensitivity": 1},
        {"epsilon": math.nan, "sensitivity": 1},
        {"epsilon": math.inf, "sensitivity": 1},
        {"epsilon": 1, "sensitivity": 0},
        {"epsilon": 1, "sensitivity": -2},
        {"epsilon": 1, "sensitivity": math.inf},
        {"epsilon": "1", "sensitivity": 1},
        {"epsilon": 1, "sensitivity": 1, "grid": 0.3},
        {"epsilon": 1, "sensitivity": 1, "dimension": 0},
        {"epsilon": 1, "sensitivity": 1, "dimension": 1.5},
        {"epsilon": 1, "sensitivity": 1, "neighbours": "nobody"},
        {"scale": 2**-30, "sensitivity": 1},
        {"epsilon": 1e-30, "sensitivity": 1},
    ],
)
def test_bad_parameters_are_refused_at_birth(parameters):
    with pytest.raises((InputError, TypeError, ValueError)):
        Laplace(**parameters)


def test_the_words_of_a_refusal_say_what_to_do():
    with pytest.raises(InputError, match="pass exactly one of epsilon, scale"):
        Laplace(sensitivity=1)
    with pytest.raises(InputError, match="pass epsilon > 0"):
        Laplace(epsilon=0, sensitivity=1)


def test_shapes_are_kept_and_empty_stays_empty():
    noisy = Laplace(epsilon=1, sensitivity=1)
    assert isinstance(noisy.release(5), int)
    assert noisy.release([]).shape == (0,)
    assert noisy.release(np.arange(6).reshape(2, 3)).shape == (2, 3)
    assert isinstance(noisy.release(np.int64(5)), int)
    assert isinstance(Laplace(epsilon=1, sensitivity=0.5).release(0.25), float)


def test_huge_ints_are_not_rounded():
    noisy = Laplace(epsilon=1, sensitivity=1)
    assert abs(noisy.release(2**200) - 2**200) < 1000
    assert abs(noisy.release([2**200, 0])[0] - 2**200) < 1000


def test_a_vector_on_a_rounding_grid_needs_its_dimension():
    with pytest.raises(InputError, match="dimension=3"):
        Laplace(epsilon=1, sensitivity=0.5).release([0.1, 0.2, 0.3])
    assert Laplace(epsilon=1, sensitivity=0.5, dimension=3).release([0.1, 0.2, 0.3]).shape == (3,)


@pytest.mark.parametrize("value", [math.nan, math.inf, [1.0, math.nan], np.array([np.inf])])
def test_c1_nan_and_infinity_never_become_numbers(value):
    with pytest.raises(InputError, match="not finite"):
        Laplace(epsilon=1, sensitivity=0.5, dimension=np.size(value)).release(value)


def test_a1_every_release_is_on_the_grid():
    noisy = Laplace(epsilon=1, sensitivity=0.3, dimension=1000)
    released = noisy.release(np.linspace(-1, 1, 1000) * 1e-7)
    scaled = released / float(noisy.grid.step)
    assert (scaled == np.rint(scaled)).all()
    assert len(set(released.tolist())) > 500


def test_a2_low_bits_do_not_tell_zero_from_one():
    noisy = Laplace(epsilon=1, sensitivity=1, grid=2.0**-40)
    shares = []
    for value in (0.0, 1.0):
        answers = noisy.draw(value, 20_000)
        near = answers[np.abs(answers) < 0.5]
        shares.append(float((near * 2.0**40 % 1 != 0).mean()))
    assert shares == [0.0, 0.0]


@pytest.mark.parametrize("parameters", [{}, {"grid": 0.25}, {"grid": INTEGERS}])
@pytest.mark.parametrize("sensitivity", [1, 3])
def test_b4_the_exact_loss_of_the_worst_pair_is_epsilon(parameters, sensitivity):
    noisy = Laplace(epsilon=0.7, sensitivity=sensitivity, **parameters)
    claim = noisy.claim
    worst = max(
        loss_of(claim.law(a), claim.law(b))
        for pair in claim.pairs
        for a, b in ((pair.left, pair.right), (pair.right, pair.left))
    )
    assert worst <= 0.7 + 1e-12
    # A grid of quarters pays for one step of 4 sensitivity + 1 that half-up rounding never takes.
    assert worst >= 0.7 * (1 - 1 / (4 * sensitivity)) - 1e-9


def test_the_law_sums_to_one_and_notices_half_the_noise():
    honest, halved = Laplace(epsilon=1, sensitivity=2), Laplace(scale=1, sensitivity=2)
    law = honest.claim.law(0)
    assert math.fsum(low for low, _ in law.values()) == pytest.approx(1, abs=1e-12)
    assert loss_of(halved.claim.law(0), halved.claim.law(2)) > 1.99


def test_vectors_are_no_cheaper_to_attack_than_one_number():
    """Two coordinates moved by one step each, against one coordinate moved by two."""
    noisy = Laplace(epsilon=1, sensitivity=2)
    q = math.exp(-0.5)
    masses = {k: (1 - q) / (1 + q) * q ** abs(k) for k in range(-60, 61)}
    for epsilon in np.linspace(0, 1, 21):
        product = math.fsum(
            max(0.0, masses[i] * masses[j] - math.exp(epsilon) * masses[i - 1] * masses[j - 1])
            for i in range(-59, 61)
            for j in range(-59, 61)
        )
        assert product <= noisy.guarantee.delta(epsilon).upper + 1e-12


def test_group_privacy_is_that_of_k_times_the_distance():
    three = Laplace(epsilon=0.5, sensitivity=1).guarantee.group(3)
    assert three.epsilon(0).upper == 1.5
    assert three.sensitivity == 3


def test_neighbours_are_carried():
    noisy = Laplace(epsilon=1, sensitivity=2, neighbours=Neighbours.CHANGE_ONE)
    assert noisy.guarantee.neighbours is Neighbours.CHANGE_ONE
    assert Laplace(epsilon=1, sensitivity=2).guarantee.neighbours is Neighbours.ADD_REMOVE


def two_sided_tail(scale, width):
    q = math.exp(-1 / scale)
    return 2 * q ** (width + 1) / (1 + q)


@pytest.mark.parametrize("scale", [0.01, 0.5, 1, 7.3, 1000])
@pytest.mark.parametrize("confidence", [0.01, 0.5, 0.95, 0.999999])
def test_the_half_width_is_the_smallest_that_holds(scale, confidence):
    width = Laplace(scale=scale, sensitivity=1).error(confidence)
    assert two_sided_tail(scale, width) <= 1 - confidence
    assert width == 0 or two_sided_tail(scale, width - 1) > 1 - confidence - 1e-12


def test_the_half_width_covers_rounding_to_the_grid():
    noisy = Laplace(scale=2, sensitivity=1, grid=0.5)
    assert noisy.error() == Laplace(scale=4, sensitivity=1).error() / 2 + 0.25


@pytest.mark.parametrize("confidence", [0, 1, -1, 2, math.nan, "0.9"])
def test_a_confidence_is_strictly_between_0_and_1(confidence):
    with pytest.raises(InputError):
        Laplace(epsilon=1, sensitivity=1).error(confidence)


def test_tails_are_below_the_exponential_at_whole_steps_and_above_it_between():
    noisy = Laplace(scale=5, sensitivity=1)
    for steps in range(60):
        assert noisy.tail(Fraction(steps, 5)) <= math.exp(-steps / 5)
        assert noisy.tail(Fraction(steps, 5)) == pytest.approx(two_sided_tail(5, steps), rel=1e-14)
    assert noisy.tail(0.999 / 5) > math.exp(-0.999 / 5)
    assert noisy.tail(0.999 / 5) <= math.exp((0.5 - 0.999) / 5)


@pytest.mark.parametrize("scale", [0.05, 0.3, 1, 4, 50])
@pytest.mark.parametrize("d", [1, 2, 10, 1000])
def test_the_expected_maximum_is_at_most_the_bound(scale, d):
    exact = math.fsum(
        -math.expm1(d * math.log1p(-min(two_sided_tail(scale, k), 1 - 1e-16)))
        for k in range(int(60 * scale + 20 * scale * math.log(d + 1)) + 60)
    )
    assert exact <= Laplace(scale=scale, sensitivity=1).expected_max(d) * (1 + 1e-12)


@pytest.mark.parametrize("d", [1, 3, 200])
def test_the_tail_of_the_maximum_is_exact_and_classical_half_a_step_on(d):
    scale = 5
    noisy = Laplace(scale=scale, sensitivity=1)
    for t in (0.1, 0.5, 1, 2.2, 7):
        inside = 1 - two_sided_tail(scale, math.floor(scale * (math.log(d) + t)))
        assert noisy.max_tail(d, t) == pytest.approx(1 - inside**d, rel=1e-9)
        further = t + 0.5 / scale
        assert noisy.max_tail(d, further) <= math.exp(-t)


def test_e1_no_general_purpose_generator_is_touched(monkeypatch):
    import random

    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr(random, "random", refuse)
    monkeypatch.setattr(np.random, "default_rng", refuse)
    monkeypatch.setattr(np.random, "laplace", refuse)
    Laplace(epsilon=1, sensitivity=1).release([1] * 100)


def test_a_mechanism_is_a_value_and_cannot_be_changed():
    noisy = Laplace(epsilon=1, sensitivity=1)
    assert noisy == Laplace(scale=1, sensitivity=1)
    with pytest.raises(AttributeError):
        noisy.scale = 0
