"""Laws that hold for every guarantee and every composition, whatever the parameters."""

from fractions import Fraction

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from discreet.privacy import (
    GDP,
    ZCDP,
    Approximate,
    BoundedRange,
    CalibrationStep,
    Contour,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    GaussianNoise,
    Guarantee,
    LaplaceNoise,
    Pure,
    RandomizedResponseNoise,
    calibrate,
    compose,
)

parameters = st.fractions(Fraction(1, 1000), 4, max_denominator=1000)
deltas = st.sampled_from(
    [Fraction(1, 3), Fraction(1, 100), Fraction(1, 10**6), Fraction(1, 10**15)]
)
FAMILIES = {
    "pure": Pure,
    "laplace": LaplaceNoise,
    "gaussian": GaussianNoise,
    "gdp": GDP,
    "zcdp": ZCDP,
    "bounded range": BoundedRange,
    "randomized response": RandomizedResponseNoise,
    "three answers": lambda e: RandomizedResponseNoise(e, 3),
    "discrete laplace": lambda e: DiscreteLaplaceNoise(e, 5),
    "discrete gaussian": lambda e: DiscreteGaussianNoise(1, 1 / (e * e)),
    "approximate": lambda e: Approximate(e, Fraction(1, 10**7)),
}
with_law = st.sampled_from(sorted(set(FAMILIES) - {"zcdp"})).flatmap(
    lambda name: parameters.map(FAMILIES[name])
)


@pytest.mark.parametrize("name", FAMILIES)
@settings(max_examples=10)
@given(a=parameters, b=parameters, delta=deltas)
def test_less_noise_never_costs_less(name, a, b, delta):
    more, less = FAMILIES[name](max(a, b)), FAMILIES[name](min(a, b))
    assert less.epsilon(delta).lower <= more.epsilon(delta).upper
    assert less.delta(1).lower <= more.delta(1).upper
    assert less.rdp(3).lower <= more.rdp(3).upper
    assert less.tradeoff(0.1) >= more.tradeoff(0.1) - 1e-7


@settings(max_examples=60)
@given(
    parts=st.lists(st.tuples(with_law, st.integers(1, 20)), min_size=1, max_size=4), delta=deltas
)
def test_brackets_are_brackets_and_storage_keeps_them(parts, delta):
    total = compose(parts)
    bound = total.epsilon(delta)
    assert 0 <= bound.lower <= bound.upper
    assert Guarantee.from_dict(total.to_dict()) == total
    again = Guarantee.from_dict(total.to_dict()).epsilon(delta)
    assert (again.lower, again.upper) == (bound.lower, bound.upper)


@settings(max_examples=60)
@given(parts=st.lists(with_law, min_size=1, max_size=5), delta=deltas, data=st.data())
def test_order_does_not_matter(parts, delta, data):
    shuffled = data.draw(st.permutations(parts))
    one, other = compose(parts).epsilon(delta).upper, compose(shuffled).epsilon(delta).upper
    assert one == pytest.approx(other, rel=1e-6, abs=1e-9)


@settings(max_examples=60)
@given(parts=st.lists(with_law, min_size=1, max_size=4), extra=with_law, delta=deltas)
def test_one_more_mechanism_never_costs_less(parts, extra, delta):
    before, after = compose(parts).epsilon(delta), compose([*parts, extra]).epsilon(delta)
    assert after.upper >= before.lower


@settings(max_examples=60)
@given(parts=st.lists(with_law, min_size=2, max_size=4), delta=deltas)
def test_composition_never_costs_more_than_the_sum(parts, delta):
    """Basic composition with delta shared evenly is always one of the sound bounds."""
    share = delta / len(parts)
    basic = sum(part.epsilon(share).upper for part in parts)
    assert compose(parts).epsilon(delta).upper <= basic * (1 + 2e-2) + 1e-4


@settings(max_examples=40)
@given(parts=st.lists(with_law, min_size=1, max_size=5), delta=deltas)
def test_the_interactive_accountant_agrees_with_the_thorough_one(parts, delta):
    spent = Contour()
    for part in parts:
        spent.append(part)
        spent.epsilon(delta)
    thorough = compose(parts).epsilon(delta)
    assert spent.epsilon(delta).upper >= thorough.lower
    if not any(isinstance(part, BoundedRange) for part in parts):
        assert thorough.upper >= spent.epsilon(delta).lower


@settings(max_examples=15)
@given(
    weights=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    epsilon=st.sampled_from([Fraction(1, 10), 1, 5]),
    family=st.sampled_from([GaussianNoise, LaplaceNoise]),
)
def test_calibration_meets_its_target(weights, epsilon, family):
    found = calibrate([CalibrationStep(family, w, 4) for w in weights], epsilon=epsilon, delta=1e-6)
    assert 0.998 * epsilon <= found.plan.epsilon(1e-6).upper <= epsilon
