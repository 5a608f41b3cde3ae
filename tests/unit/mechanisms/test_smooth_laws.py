"""Noise for smooth sensitivities: private for the worst neighbours, and hardly more than that."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from discreet.audit.conformance import check_mechanism
from discreet.audit.enumerate import check_law
from discreet.errors import InputError
from discreet.mechanisms.smooth_laws import (
    LaplaceLaw,
    StudentLaw,
    best_law,
    largest_share,
    largest_student_share,
    slowest_decay,
)
from discreet.mechanisms.smooth_sensitivity import SmoothSensitivity


def tails(law, scale, steps):
    """P(noise >= steps) in floats, for an array of steps."""
    if isinstance(law, StudentLaw):
        return stats.t.sf((steps - 0.5) / scale, 4)
    upper = np.exp(-np.maximum(steps, 1) / scale) / (1 + math.exp(-1 / scale))
    lower = np.exp(-np.maximum(1 - steps, 1) / scale) / (1 + math.exp(-1 / scale))
    return np.where(steps >= 1, upper, 1 - lower)


def hockey_stick(law, left, right, epsilon):
    """Sum of max(0, p - e^epsilon q) for noise about two centres (centre, smooth sensitivity)."""
    scales = [float(law.scale(Fraction(smooth))) for _, smooth in (left, right)]
    reach = int(60 * max(scales)) + 10
    k = np.arange(-reach, reach + 1)
    p, q = (
        tails(law, scale, k - centre) - tails(law, scale, k + 1 - centre)
        for (centre, _), scale in zip((left, right), scales, strict=True)
    )
    return float(np.maximum(0, p - math.exp(epsilon) * q).sum())


@pytest.mark.parametrize("delta", [1e-1, 1e-3, 1e-6])
@pytest.mark.parametrize("epsilon", [0.2, 1, 4])
def test_both_laws_are_admissible(epsilon, delta):
    """The worst neighbours that the proofs allow: centres S apart, scales 1/r apart."""
    exact = Fraction(str(epsilon)), Fraction(str(delta))
    laplace = LaplaceLaw.of(*exact)
    for law in (laplace, StudentLaw.of(exact[0], laplace.decay)):
        worst = 0.0
        for smooth, ratio in product((0.01, 1, 3, 60), (float(law.decay), 1.0)):
            near, far = smooth, smooth * ratio
            for shift in {0, int(smooth * ratio)}:
                for left, right in (((0, near), (shift, far)), ((0, far), (shift, near))):
                    worst = max(worst, hockey_stick(law, left, right, epsilon))
        assert worst <= float(law.delta) + 1e-9
        if isinstance(law, LaplaceLaw) and delta < 0.1:
            assert worst > delta / 2


def test_the_decay_is_the_fastest_that_is_asked_for():
    r = float(slowest_decay(Fraction(1), Fraction(1, 10**6)))

    def cost(r):
        return math.log(1 / r) + math.log(2 / 1e-6) * (1 / r - 1)

    assert cost(r) <= 0.5 < cost(r - 2**-24)


def test_an_epsilon_that_no_decay_fits_is_refused():
    with pytest.raises(InputError, match="too small for smooth"):
        slowest_decay(Fraction(1, 10**9), Fraction(1, 10**6))


def test_wide_noise_has_a_larger_share_and_scales_grow_with_the_sensitivity():
    law = LaplaceLaw.of(Fraction(1), Fraction(1, 100))
    assert Fraction(1, 2) < law.share < law.wide_share < 1
    scales = [law.scale(Fraction(s)) for s in (Fraction(1, 10**9), 1, 5, 7, 7.5, 8, 20, 1000)]
    assert scales == sorted(scales)
    assert scales[0] == Fraction(1, 1024)
    assert scales[-1] == 1000 / law.wide_share
    shares = [largest_share(Fraction(1), Fraction(1, 100), law.decay, least) for least in (0, 1, 8)]
    assert shares == sorted(shares)


def test_the_law_with_less_noise_is_taken():
    chosen = {
        (epsilon, delta): type(best_law(Fraction(str(epsilon)), Fraction(str(delta))))
        for epsilon, delta in product((0.1, 1, 3, 8), (1e-2, 1e-6, 1e-9))
    }
    student = {(1, 1e-6), (3, 1e-6), (0.1, 1e-9), (1, 1e-9), (3, 1e-9)}
    assert chosen == {key: StudentLaw if key in student else LaplaceLaw for key in chosen}


def test_what_students_law_saves():
    laplace, student = (
        LaplaceLaw.of(Fraction(1), Fraction(1, 10**9)),
        best_law(Fraction(1), Fraction(1, 10**9)),
    )
    widths = [
        law.half_width(law.scale(Fraction(10**6)), Fraction(1, 20)) for law in (laplace, student)
    ]
    assert widths[1] < 0.87 * widths[0]
    assert student.decay < laplace.decay


def test_a_share_is_never_beyond_the_proof():
    assert largest_student_share(Fraction(50), Fraction(1, 2)) <= 2
    assert largest_student_share(Fraction(1, 100), Fraction(1, 2)) == 0


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1)])
def test_where_students_law_cannot_be_laplaces_is_taken(epsilon):
    assert isinstance(best_law(epsilon, Fraction(9, 10)), LaplaceLaw)


def test_scales_that_noise_is_not_made_for_are_refused():
    with pytest.raises(InputError, match="scale is too large"):
        SmoothSensitivity(global_sensitivity=2**62, epsilon=1, delta=1e-9)
    with pytest.raises(InputError):
        SmoothSensitivity(global_sensitivity=2**70, epsilon=1, delta=1e-2)


def test_students_law_is_drawn_as_stated_and_keeps_the_common_face():
    mechanism = SmoothSensitivity(global_sensitivity=50, epsilon=1, delta=1e-9)
    assert not check_law(mechanism.claim, samples=20_000, alpha=1e-9).refuted
    check_mechanism(mechanism)
