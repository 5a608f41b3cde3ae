"""Neighbours by their name mean what they say, wherever they are asked for."""

import pytest

from discreet.errors import InputError
from discreet.privacy import (
    EPSILON,
    GDP,
    RDP,
    ZCDP,
    Approximate,
    BoundedRange,
    Charge,
    Composed,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Filter,
    GaussianNoise,
    LaplaceNoise,
    Neighbours,
    Odometer,
    Pure,
    RandomizedResponseNoise,
    Shuffled,
    Subsampled,
    compose,
)

CHANGE = Neighbours.CHANGE_ONE

MAKERS = {
    "pure": lambda about: Pure(1, neighbours=about),
    "approximate": lambda about: Approximate(1, 0.1, neighbours=about),
    "zcdp": lambda about: ZCDP(1, neighbours=about),
    "rdp": lambda about: RDP({2: 1}, neighbours=about),
    "gdp": lambda about: GDP(1, neighbours=about),
    "gaussian": lambda about: GaussianNoise(1, neighbours=about),
    "laplace": lambda about: LaplaceNoise(1, neighbours=about),
    "discrete laplace": lambda about: DiscreteLaplaceNoise(1, 2, neighbours=about),
    "discrete gaussian": lambda about: DiscreteGaussianNoise(1, 2, neighbours=about),
    "randomized response": lambda about: RandomizedResponseNoise(1, neighbours=about),
    "bounded range": lambda about: BoundedRange(1, neighbours=about),
    "shuffled": lambda about: Shuffled(1, 1000, neighbours=about),
    "composed": lambda about: Composed([(Pure(1, neighbours=CHANGE), 2)], neighbours=about),
    "subsampled": lambda about: Subsampled(
        Pure(1, neighbours=CHANGE), 0.1, scheme=1, neighbours=about
    ),
    "under": lambda about: Pure(1).under(about),
    "composed under": lambda about: compose([Pure(1)]).under(about),
    "charge": lambda about: Charge(1, measure=EPSILON, neighbours=about),
    "filter": lambda about: Filter.within(1, 1e-6, neighbours=about).limit,
    "odometer": lambda about: Odometer(neighbours=about),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_name_is_read(make):
    by_name = make("change-one")
    assert by_name == make(CHANGE)
    assert by_name.neighbours is CHANGE


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("wrong", ["changeone", "", 1, False, object()])
def test_anything_else_is_refused(make, wrong):
    with pytest.raises(InputError, match="pass 'add-remove' or 'change-one'"):
        make(wrong)
