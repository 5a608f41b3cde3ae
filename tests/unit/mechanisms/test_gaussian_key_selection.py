"""Keys of people who are under many: Gaussian noise hides far fewer than a rule for each key."""

import math
from fractions import Fraction

import pytest

from discreet.errors import InputError
from discreet.mechanisms import (
    GaussianKeySelection,
    GaussianThreshold,
    KeySelection,
    best_key_rule,
)
from discreet.privacy import Approximate, Neighbours

MILLIONTH = Fraction(1, 10**6)


def test_one_person_alone_is_shown_with_half_of_delta_at_most():
    for keys in (1, 4, 50):
        rule = GaussianKeySelection(epsilon=1, delta=MILLIONTH, max_groups_per_unit=keys)
        one, before = rule.shown(1), GaussianKeySelection._tail.fget(rule)(rule.threshold - 2)
        assert 1 - (1 - one.upper) ** keys <= MILLIONTH / 2 * (1 + Fraction(1, 10**6))
        assert 1 - (1 - before.lower) ** keys > MILLIONTH / 2
        assert rule.shown(0).upper == 0


def test_50_groups_of_one_person_hide_a_third_of_the_people():
    public = {"epsilon": 1, "delta": MILLIONTH, "max_groups_per_unit": 50}
    assert KeySelection(**public).error() == 771
    assert GaussianKeySelection(**public).error() == 225
    assert GaussianKeySelection(**public).threshold == GaussianThreshold(**public).threshold == 175


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_the_noise_pays_for_all_keys_of_a_person(neighbours):
    rule = GaussianKeySelection(
        epsilon=1, delta=MILLIONTH, max_groups_per_unit=50, neighbours=neighbours
    )
    moved = 50 if neighbours is Neighbours.ADD_REMOVE else 100
    mu = math.sqrt(moved / rule.variance)

    def normal(x):
        return math.erfc(-x / math.sqrt(2)) / 2

    spent = normal(mu / 2 - 1 / mu) - math.e * normal(-mu / 2 - 1 / mu)
    assert 0.99 < spent / (MILLIONTH / 2) <= 1 + 1e-6
    assert rule.guarantee == Approximate(1, MILLIONTH, neighbours=neighbours)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(5), Fraction(1000)])
def test_the_better_rule_is_taken(epsilon):
    for keys in (1, 2, 10, 50):
        public = {"epsilon": epsilon, "delta": MILLIONTH, "max_groups_per_unit": keys}
        best = best_key_rule(epsilon, MILLIONTH, keys, Neighbours.ADD_REMOVE)
        assert best.error() <= KeySelection(**public).error()
        if epsilon < 100:
            assert best.error() <= GaussianKeySelection(**public).error()


def test_keys_of_many_are_shown_and_of_few_are_hidden():
    rule = GaussianKeySelection(epsilon=1, delta=MILLIONTH, max_groups_per_unit=50)
    assert rule.release({"many": 10**6, "few": 1, "none": 0}) == ["many"]
    assert rule.keeps([10**30, 0]).tolist() == [True, False]


@pytest.mark.parametrize(
    "parameters", [{"epsilon": 0}, {"delta": 0}, {"delta": 1}, {"max_groups_per_unit": 0}]
)
def test_bad_parameters_are_refused_at_birth(parameters):
    with pytest.raises(InputError):
        GaussianKeySelection(**({"epsilon": 1, "delta": MILLIONTH} | parameters))
