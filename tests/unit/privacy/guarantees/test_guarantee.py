"""What every family has to keep: the contract of `Guarantee`."""

import math
from fractions import Fraction
from itertools import pairwise

import gmpy2
import pytest

from discreet.errors import InputError
from discreet.privacy import (
    GDP,
    RDP,
    ZCDP,
    Approximate,
    BoundedRange,
    Contour,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    GaussianNoise,
    Guarantee,
    LaplaceNoise,
    Neighbours,
    Pure,
    RandomizedResponseNoise,
    Subsampled,
    Tabulated,
    compose,
)
from discreet.privacy.guarantees.guarantee import GroupPrivacy
from discreet.privacy.numerics.moments import Direction

ALL = [
    Pure(0.5),
    Approximate(0.5, 1e-6),
    ZCDP(0.1),
    ZCDP(0.1, 1e-7),
    RDP({2: 0.1, 8: 0.5, 64: 4}),
    GDP(0.7),
    GaussianNoise(0.7),
    LaplaceNoise(0.5),
    DiscreteLaplaceNoise(0.5),
    DiscreteLaplaceNoise(0.5, 6),
    DiscreteGaussianNoise(2, 30),
    DiscreteGaussianNoise(1, 0.3),
    RandomizedResponseNoise(0.5),
    RandomizedResponseNoise(0.5, 7),
    BoundedRange(0.5),
    Tabulated([0.5, -0.4, 0], [0.5, 0.3, 0.2]),
    Tabulated([0.5], [0.9], add=([0.7, 0], [0.5, 0.5])),
    GroupPrivacy(ZCDP(0.1, 1e-9), 2),
    compose([(LaplaceNoise(0.1), 5), GaussianNoise(0.2)]),
    compose([(Pure(0.1), 5), ZCDP(0.01)]),
]

MONOTONE = [one for one in ALL if not isinstance(one, GroupPrivacy)]
"""A group's bound from the profile is sound at every epsilon but not the least at each."""


def name(guarantee):
    return type(guarantee).__name__


@pytest.mark.parametrize("one", ALL, ids=name)
def test_storage_gives_back_the_same_guarantee(one):
    stored = one.to_dict()
    assert Guarantee.from_dict(stored) == one
    assert Guarantee.from_dict(stored).to_dict() == stored
    assert stored["kind"].endswith("/1")


@pytest.mark.parametrize("one", MONOTONE, ids=name)
def test_delta_falls_as_epsilon_grows(one):
    deltas = [one.delta(Fraction(i, 10)) for i in range(30)]
    for before, after in pairwise(deltas):
        assert after.lower <= before.upper
        assert after.upper <= before.upper * (1 + 1e-9)


@pytest.mark.parametrize("one", ALL, ids=name)
def test_epsilon_and_delta_invert_each_other(one):
    for delta in (1e-2, 1e-4, Fraction(1, 10**5)):
        bound = one.epsilon(delta)
        if bound.upper < math.inf:
            assert one.delta(Fraction(bound.upper)).lower <= delta
        if 0 < bound.lower < math.inf:
            assert one.delta(Fraction(bound.lower * (1 - 1e-9))).upper > delta


@pytest.mark.parametrize("one", ALL, ids=name)
def test_the_tradeoff_is_above_every_line_the_profile_draws(one):
    for alpha in (0.001, 0.05, 0.3, 0.8):
        error = one.tradeoff(alpha)
        assert 0 <= error <= 1 - alpha
        for epsilon in (0, 0.2, 1, 3):
            # An attacker's errors p, q satisfy p e^epsilon + q >= 1 - delta; the best of them is
            # it.
            assert error >= 1 - one.delta(epsilon).upper - math.exp(epsilon) * alpha - 1e-6


@pytest.mark.parametrize("one", MONOTONE, ids=name)
def test_the_tradeoff_falls_with_alpha(one):
    errors = [one.tradeoff(Fraction(i, 8)) for i in range(9)]
    assert all(b <= a + 1e-9 for a, b in pairwise(errors))
    assert errors[-1] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("one", ALL, ids=name)
def test_a_group_costs_no_less_than_a_person(one):
    pair = one.group(2)
    assert pair.neighbours is one.neighbours
    for epsilon in (0.1, 0.5, 2):
        assert pair.delta(epsilon).upper >= one.delta(epsilon).lower
    assert one.group(1).delta(0.3).upper == pytest.approx(one.delta(0.3).upper, rel=1e-9)
    with pytest.raises(InputError):
        one.group(0)
    with pytest.raises(InputError):
        one.group(1.5)


@pytest.mark.parametrize("one", ALL, ids=name)
def test_changing_one_person_is_removing_one_and_adding_one(one):
    changed = one.under(Neighbours.CHANGE_ONE)
    assert changed.neighbours is Neighbours.CHANGE_ONE
    assert changed.delta(0.7).upper == pytest.approx(one.group(2).delta(0.7).upper, rel=1e-9)
    assert changed.under(Neighbours.CHANGE_ONE) == changed
    assert one.under(Neighbours.ADD_REMOVE) == one
    with pytest.raises(InputError, match="number of people public"):
        changed.under(Neighbours.ADD_REMOVE)
    assert Guarantee.from_dict(changed.to_dict()) == changed


@pytest.mark.parametrize("one", ALL, ids=name)
def test_renyi_divergence_grows_with_its_order(one):
    values = [one.rdp(alpha).upper for alpha in (1.1, 1.5, 2, 3, 8)]
    assert all(b >= a - 1e-12 for a, b in pairwise(values))


@pytest.mark.parametrize("one", ALL, ids=name)
def test_rho_bounds_every_order(one):
    try:
        rho = one.rho()
    except InputError:
        return
    for alpha in (1.001, 1.5, 2, 5, 40, 1000):
        assert one.rdp(alpha).lower <= rho.upper * alpha * (1 + 1e-12)


@pytest.mark.parametrize("one", ALL, ids=name)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -1, "1", True, None, 1j])
def test_bad_arguments_are_refused(one, bad):
    for method in (one.epsilon, one.delta, one.rdp, one.tradeoff):
        with pytest.raises(InputError):
            method(bad)


@pytest.mark.parametrize("one", ALL, ids=name)
def test_arguments_out_of_range_are_refused(one):
    for method, bad in ((one.epsilon, 1), (one.epsilon, 2), (one.rdp, 1), (one.tradeoff, 1.01)):
        with pytest.raises(InputError):
            method(bad)


@pytest.mark.parametrize("one", ALL, ids=name)
def test_guarantees_are_frozen_and_hashable(one):
    with pytest.raises(AttributeError):
        one.neighbours = Neighbours.CHANGE_ONE
    assert hash(one) == hash(Guarantee.from_dict(one.to_dict()))


@pytest.mark.parametrize("one", ALL, ids=name)
def test_directions_are_known(one):
    assert set(one.directions) <= set(Direction)
    for way in one.directions:
        assert 0 <= one.infinity(way).lower <= 1


BAD = [
    lambda: Pure(-1),
    lambda: Pure(math.nan),
    lambda: Pure("1"),
    lambda: Approximate(1, 1.1),
    lambda: Approximate(1, -0.1),
    lambda: ZCDP(-1),
    lambda: ZCDP(1, 2),
    lambda: RDP({}),
    lambda: RDP({1: 1}),
    lambda: RDP({2: -1}),
    lambda: RDP([(2, 1), (2, 3)]),
    lambda: GDP(-1),
    lambda: GaussianNoise(0),
    lambda: LaplaceNoise(0),
    lambda: DiscreteLaplaceNoise(0),
    lambda: DiscreteLaplaceNoise(1, 0),
    lambda: DiscreteLaplaceNoise(1, 1.0),
    lambda: DiscreteGaussianNoise(0, 1),
    lambda: DiscreteGaussianNoise(1, 0),
    lambda: RandomizedResponseNoise(1, 1),
    lambda: RandomizedResponseNoise(0),
    lambda: BoundedRange(math.inf),
    lambda: Tabulated([], []),
    lambda: Tabulated([1], [0.5, 0.5]),
    lambda: Tabulated([1, 2], [0.7, 0.7]),
    lambda: Tabulated([1], [-0.1]),
    lambda: GroupPrivacy(Pure(1), 0),
    lambda: compose([("Pure", 1)]),
    lambda: compose([(Pure(1), 0)]),
    lambda: compose([(Pure(1), 1.0)]),
]


@pytest.mark.parametrize("make", BAD)
def test_bad_parameters_are_refused(make):
    with pytest.raises(InputError):
        make()


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {"kind": "pure/2", "epsilon": "1", "neighbours": "add-remove"},
        {"kind": "pure/1", "epsilon": "x", "neighbours": "add-remove"},
        {"kind": "pure/1", "epsilon": "1/0", "neighbours": "add-remove"},
        {"kind": "pure/1", "epsilon": "1", "neighbours": "others"},
        {"kind": "pure/1", "epsilon": "1"},
        {"kind": "pure/1", "rho": "1", "neighbours": "add-remove"},
        {"kind": "pure/1", "epsilon": "-1", "neighbours": "add-remove"},
    ],
)
def test_what_cannot_be_read_is_refused(stored):
    with pytest.raises(InputError):
        Guarantee.from_dict(stored)


def test_stored_names_never_change():
    """Written once, read for ever: this list may grow and nothing else."""
    kinds = {type(one).__name__: one.to_dict()["kind"] for one in ALL}
    assert kinds == {
        "Pure": "pure/1",
        "Approximate": "approximate/1",
        "ZCDP": "zcdp/1",
        "RDP": "rdp/1",
        "GDP": "gdp/1",
        "GaussianNoise": "gaussian-noise/1",
        "LaplaceNoise": "laplace-noise/1",
        "DiscreteLaplaceNoise": "discrete-laplace-noise/1",
        "DiscreteGaussianNoise": "discrete-gaussian-noise/1",
        "RandomizedResponseNoise": "randomized-response/1",
        "BoundedRange": "bounded-range/1",
        "Tabulated": "tabulated/1",
        "GroupPrivacy": "grouped/1",
        "Composed": "composed/1",
    }


def test_a_float_is_the_decimal_it_prints_as():
    assert Pure(0.1) == Pure(Fraction(1, 10))
    assert Pure(0.1).to_dict()["epsilon"] == "1/10"


def test_the_callers_precision_does_not_matter():
    plain = [one.delta(0.3).upper for one in ALL]
    with gmpy2.context(precision=20):
        coarse = [Guarantee.from_dict(one.to_dict()).delta(0.3).upper for one in ALL]
    assert plain == coarse


def test_an_infinite_loss_has_no_renyi_divergence():
    assert Approximate(1, 0.1).rdp(2).upper == math.inf
    with pytest.raises(InputError, match="has no rho"):
        Approximate(1, 0.1).rho()
    with pytest.raises(InputError, match="has no rho"):
        ZCDP(1, 0.1).rho()


def test_guarantees_that_cannot_be_composed_numerically_say_so_and_leave_no_trace():
    spent = Contour()
    for one in (ZCDP(1), RDP({2: 1}), GroupPrivacy(Pure(1), 2)):
        with pytest.raises(InputError, match="no privacy loss distribution"):
            spent.append(one)
    assert spent.epsilon(1e-6).upper == 0


def test_the_delta_of_a_group_is_at_most_the_sum_of_its_members_at_every_epsilon():
    """Larger epsilons had larger bounds: that of 0 holds for all of them."""
    sampled = Subsampled(GaussianNoise(10), Fraction(1, 1000)).group(5)
    most = 5 * sampled.guarantee.delta(0).upper
    assert all(sampled.delta(e).upper <= most * (1 + 1e-12) for e in (0, 0.1, 1, 5, 20))


def test_the_delta_of_a_very_large_range_is_a_probability():
    assert BoundedRange(20_000).delta(0).upper == 1
