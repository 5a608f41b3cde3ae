"""Thresholds after Laplace and Gaussian noise, checked to the step."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.mechanisms.stability_histogram import GaussianThreshold, LaplaceThreshold
from discreet.mechanisms.unknown_keys import delta_each
from discreet.privacy import GDP, Approximate, Neighbours

BOTH = [LaplaceThreshold, GaussianThreshold]


@pytest.mark.parametrize("groups", [1, 5])
@pytest.mark.parametrize("delta", [1e-2, 1e-6])
def test_a6_the_laplace_threshold_is_the_first_that_hides_one_person_enough(delta, groups):
    # Failure class "threshold > for >=" (OpenDP #2922): one step less would show them too often.
    rule = LaplaceThreshold(epsilon=1, delta=delta, max_groups_per_unit=groups)
    q = math.exp(-1 / groups)
    each = float(delta_each(Fraction(str(delta)), groups))
    assert q ** (rule.threshold - 1) / (1 + q) <= each
    assert q ** (rule.threshold - 2) / (1 + q) > each
    assert rule.keep_probability(1).upper <= each


@pytest.mark.parametrize("delta", [1e-2, 1e-6])
def test_a6_the_gaussian_threshold_is_the_first_that_hides_one_person_enough(delta):
    rule = GaussianThreshold(epsilon=1, delta=delta, max_groups_per_unit=4)
    v = float(rule.law.variance)
    k = np.arange(-2000, 2001)
    mass = np.exp(-(k**2) / (2 * v))
    mass /= mass.sum()

    def shown(threshold):
        return mass[k >= threshold - 1].sum()

    each = float(delta_each(Fraction(str(delta)) / 2, 4))
    assert shown(rule.threshold) <= each < shown(rule.threshold - 1)


def test_half_of_delta_pays_for_gaussian_noise():
    rule = GaussianThreshold(epsilon=1, delta=1e-6, max_groups_per_unit=4)
    assert rule.law.rounded
    assert 4.9e-7 < GDP.of_square(4 / rule.law.variance).delta(1).upper <= 5e-7


def test_large_epsilons_need_little_noise():
    rule = GaussianThreshold(epsilon=50, delta=1e-6)
    assert rule.law.variance < Fraction(1, 10)
    assert rule.threshold <= 4


@pytest.mark.parametrize("kind", BOTH)
def test_a6_singletons_are_shown_at_their_exact_rate(kind):
    rule = kind(epsilon=1, delta=1e-2)
    shown = np.count_nonzero(rule.claim.draw({"a": 1}, 10**6))
    p = rule.keep_probability(1).upper
    # 5 standard deviations of a binomial.
    assert abs(shown - 10**6 * p) < 5 * math.sqrt(10**6 * p)
    assert shown < 10**6 * 1e-2


@pytest.mark.parametrize("kind", BOTH)
def test_noisy_counts_are_shown_from_the_threshold_on(kind):
    rule = kind(epsilon=1, delta=1e-6)
    answer = rule.release({"many": 10**6, "nobody": 0, "alone": 1})
    assert set(answer) == {"many"}
    assert abs(answer["many"] - 10**6) < 1000
    draws = rule.claim.draw({"a": rule.threshold}, 1000)
    assert draws[draws > 0].min() >= rule.threshold
    assert (draws == 0).any()


def laplace_law(rule, count, reach=400):
    """The law of one key: 0 for hidden, else the noisy count."""
    q = math.exp(-1 / float(rule.law.scale))
    mass = {count + k: (1 - q) / (1 + q) * q ** abs(k) for k in range(-reach, reach + 1)}
    law = {n: p for n, p in mass.items() if n >= rule.threshold and count > 0}
    law[0] = 1 - sum(law.values())
    return law


@pytest.mark.parametrize("count", [0, 1, 2, 5, 9])
def test_exact_hockey_sticks_stay_within_delta(count):
    rule = LaplaceThreshold(epsilon=1, delta=1e-2)
    left, right = laplace_law(rule, count), laplace_law(rule, count + 1)
    for one, other in ((left, right), (right, left)):
        outcomes = set(one) | set(other)
        excess = sum(max(0.0, one.get(o, 0.0) - math.e * other.get(o, 0.0)) for o in outcomes)
        assert excess <= 1e-2 + 1e-12


@pytest.mark.parametrize("kind", BOTH)
def test_c3_a_key_that_nobody_has_is_never_shown(kind):
    # Failure class "unknown group keys": noise must not make up a person. Here it often would.
    rule = kind(epsilon=0.1, delta=0.4)
    assert rule.claim.draw({"a": 3}, 20_000).any()
    assert not rule.claim.draw({"a": 0}, 20_000).any()


@pytest.mark.parametrize("kind", BOTH)
def test_keep_probabilities_rise_to_one(kind):
    rule = kind(epsilon=1, delta=1e-3)
    kept = [rule.keep_probability(n).upper for n in range(60)]
    assert kept == sorted(kept)
    assert kept[0] == 0
    assert kept[-1] > 0.999


@pytest.mark.parametrize("kind", BOTH)
def test_change_one_is_charged_for_twice_the_keys(kind):
    add = kind(epsilon=1, delta=1e-3, max_groups_per_unit=4)
    change = kind(epsilon=1, delta=1e-3, max_groups_per_unit=2, neighbours=Neighbours.CHANGE_ONE)
    assert change.threshold == add.threshold
    assert change.guarantee == Approximate(1, 1e-3, neighbours=Neighbours.CHANGE_ONE)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    "parameters",
    [
        {"epsilon": 0, "delta": 1e-6},
        {"epsilon": 1, "delta": 0},
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "delta": math.nan},
        {"epsilon": 1, "delta": 1e-6, "max_groups_per_unit": 0},
    ],
)
def test_bad_parameters_are_refused_at_birth(kind, parameters):
    with pytest.raises(InputError):
        kind(**parameters)
