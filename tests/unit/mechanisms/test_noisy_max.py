"""Report noisy max on a grid: exact privacy with ties."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.mechanisms.noisy_max import ReportNoisyMax, _laplace_difference_tail
from discreet.privacy import Pure


def masses(scale, reach):
    """Probabilities of the noise from -reach to reach."""
    q = math.exp(-1 / scale)
    return (1 - q) / (1 + q) * q ** np.abs(np.arange(-reach, reach + 1))


def exact_law(scores, scale):
    """P(i wins), ties settled evenly, by summing over the winner's noise."""
    reach = int(60 * scale)
    mass = masses(scale, reach)
    below = np.concatenate([[0.0], np.cumsum(mass)])
    nodes, weights = np.polynomial.legendre.leggauss(8)  # exact for products of up to 15 factors
    nodes, weights = (nodes + 1) / 2, weights / 2
    law = []
    for i, own in enumerate(scores):
        win = np.zeros(mass.size)
        for u, w in zip(nodes, weights, strict=True):
            product = np.ones(mass.size)
            for j, other in enumerate(scores):
                if j != i:
                    at = np.clip(np.arange(mass.size) + own - other, -1, mass.size - 1)
                    inside = np.where(at >= 0, mass[at], 0.0)
                    product *= np.where(at >= 0, below[at], 0.0) + u * inside
            win += w * product
        law.append(float(mass @ win))
    return law


@pytest.mark.parametrize("monotone", [False, True])
def test_exact_losses_on_the_grid_stay_within_epsilon(monotone):
    mechanism = ReportNoisyMax(3, epsilon=1, monotone=monotone)
    assert mechanism.guarantee == Pure(1)
    bases = [(0, 0, 0), (0, 1, 1), (2, 0, 1), (0, 4, 3)]
    moves = [(1, 1, 1), (1, 0, 0), (0, 1, 1)] if monotone else [(1, -1, -1), (-1, 1, 1), (1, 1, -1)]
    worst = 0.0
    for base in bases:
        for move in moves:
            left = exact_law(base, float(mechanism.scale))
            moved = [b + m for b, m in zip(base, move, strict=True)]
            right = exact_law(moved, float(mechanism.scale))
            assert sum(left) == pytest.approx(1, abs=1e-9)
            loss = [abs(math.log(a / b)) for a, b in zip(left, right, strict=True)]
            worst = max(worst, *loss)
    assert 0.7 < worst <= 1 + 1e-9


def test_draws_follow_the_exact_law_with_ties():
    mechanism = ReportNoisyMax(3, scale=1)
    scores, runs = (1, 0, 1), 40_000
    observed = np.bincount(mechanism.select(np.array(scores), runs), minlength=3)
    expected = np.array(exact_law(scores, 1.0)) * runs
    # Chi-square with 2 degrees of freedom exceeds 27.6 with probability 1e-6.
    assert ((observed - expected) ** 2 / expected).sum() < 27.6


def test_sensitivity_pays_for_rounding_to_a_grid():
    real = ReportNoisyMax(3, epsilon=1, sensitivity=0.5, grid=0.25)
    assert real.scale == 2 * Fraction(1, 2)
    assert ReportNoisyMax(3, epsilon=1, sensitivity=0.6, grid=0.25).scale == 2 * Fraction(3, 4)
    assert ReportNoisyMax(3, epsilon=1, sensitivity=2).scale == 4


def test_reals_without_a_grid_are_refused_by_type_and_not_by_value():
    with pytest.raises(InputError, match="grid=2"):
        ReportNoisyMax(2, epsilon=1).release([1.0, 2.0])


def test_the_tail_of_a_difference_is_the_sum_of_its_masses():
    mass = masses(2.0, 200)
    difference = np.convolve(mass, mass[::-1])
    middle = difference.size // 2
    for t in (0, 1, 5, 20):
        tail = _laplace_difference_tail(Fraction(2), t)
        assert tail.lower == pytest.approx(difference[middle + t :].sum(), rel=1e-9)


def test_the_utility_bound_holds_for_the_worst_scores():
    mechanism = ReportNoisyMax(4, epsilon=1)
    gap = int(mechanism.error(0.9)) + 1
    law = exact_law([0] + [-gap] * 3, float(mechanism.scale))
    assert sum(law[1:]) <= 0.1
    assert ReportNoisyMax(1, epsilon=1).error() == 0


def test_scales_that_exact_noise_cannot_have_are_refused_at_birth():
    with pytest.raises(InputError, match="grid"):
        ReportNoisyMax(2, epsilon=1e-20)


def test_huge_scores_do_not_wrap():
    assert ReportNoisyMax(2, epsilon=1).release([2**63 - 1, -(2**63)]) == 0
    assert ReportNoisyMax(2, epsilon=1).release([2**300, 2**300 + 10**6]) == 1
