"""Targets that answer with garbage: nobody may take that for a defence."""

import numpy as np
import pytest

from discreet import attacks
from discreet.attacks.census import Statistic
from discreet.attacks.instance_hiding import Encoded
from discreet.attacks.linkage import Ratings
from discreet.attacks.outcome import numbers
from discreet.errors import InputError

BITS = np.array([1, 0] * 8)
WARDS = np.array([[1, 0, 1], [0, 1, 1]])
FEW = attacks.Holdout(examples=50, features=10, kept=2)

# An attack, what a sound target answers with, and how it hands that over.
TARGETS = {
    "Exponential": (attacks.Exponential(BITS), 3.0, lambda said: lambda _: said),
    "Posterior": (attacks.Posterior(BITS), 3.0, lambda said: lambda _: said),
    "CensusCounts": (attacks.CensusCounts(), np.ones((116, 8)), lambda said: lambda: said),
    "SocialGraph": (
        attacks.SocialGraph(20, 4, 2),
        np.ones((24, 24)),
        lambda said: lambda _: said,
    ),
    "HeatMap": (attacks.HeatMap(), np.ones((2, 256)), lambda said: lambda _: said),
    "InstanceHiding": (
        attacks.InstanceHiding(3, 9, 8),
        np.ones((8, 9)),
        lambda said: lambda *_: Encoded(said),
    ),
    "LeastSquares": (attacks.LeastSquares(BITS), 3.0, lambda said: lambda _: said),
    "LinearProgram": (attacks.LinearProgram(BITS), 3.0, lambda said: lambda _: said),
    "Robust": (attacks.Robust(BITS), 3.0, lambda said: lambda _: said),
    "Differencing": (attacks.Differencing(WARDS), np.ones(2), lambda said: lambda _: said),
    "Averaging": (attacks.Averaging(WARDS), np.ones(2), lambda said: lambda _: said),
    "Tracing": (attacks.Tracing(9, 5, 100), np.ones(5), lambda said: lambda _: said),
    "Intersection": (
        attacks.Intersection(9, 3),
        np.ones((2, 3)),
        lambda said: lambda *_: lambda _: said,
    ),
    "Holdout": (FEW, 0.5, lambda said: lambda *_: lambda _: said),
    "HoldoutLabel": (attacks.HoldoutLabel(20), 0.5, lambda said: lambda *_: lambda _: said),
    "Leaderboard": (attacks.Leaderboard(20), 0.5, lambda said: lambda _: lambda _: said),
    "LowBits": (attacks.LowBits(), np.ones(2), lambda said: lambda *_: said),
    "RepeatedZero": (attacks.RepeatedZero(), np.ones(1000), lambda said: lambda *_: said),
}
every = pytest.mark.parametrize("name", TARGETS)


def test_every_attack_that_reads_numbers_is_here():
    others = {"Census", "CensusTables", "Exposure", "Linkage", "Outcome", "Promise", "Refusals"}

    assert set(TARGETS) == set(attacks.__all__) - others


@every
def test_a_sound_answer_is_read(name):
    attack, sound, target = TARGETS[name]

    assert 0 <= attack.run(target(sound), 2).success <= 1


@every
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_an_answer_that_is_no_number_is_no_defence(name, wrong):
    attack, sound, target = TARGETS[name]

    with pytest.raises(InputError, match="finite"):
        attack.run(target(sound * wrong), 2)


@every
def test_an_answer_of_another_shape_is_refused(name):
    attack, sound, target = TARGETS[name]
    longer = np.ones((*np.shape(sound), 1))

    for wrong in (longer, longer[:0], np.ones(7)):
        with pytest.raises(InputError, match="the target answered with an array"):
            attack.run(target(wrong), 2)


@every
@pytest.mark.parametrize("wrong", ["withheld", None, {}, [[1], [2, 3]]])
def test_an_answer_of_another_kind_is_refused(name, wrong):
    attack, _, target = TARGETS[name]

    with pytest.raises(InputError, match="the target answered with"):
        attack.run(target(wrong), 2)


@every
def test_what_a_target_raises_is_its_own(name):
    attack, _, _ = TARGETS[name]

    def target(*_):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        attack.run(target, 2)


@every
@pytest.mark.parametrize("effort", [0, -1])
def test_no_effort_is_refused(name, effort):
    attack, sound, target = TARGETS[name]

    with pytest.raises(InputError, match="effort"):
        attack.run(target(sound), effort)


def test_whatever_reads_as_a_number_is_one():
    assert numbers(np.float32(2)).tolist() == numbers(True).tolist() + 1  # noqa: FBT003 - a value
    assert numbers(range(3), 3).tolist() == [0, 1, 2]


@pytest.mark.parametrize("wrong", [(1.5, 2, 3), (1, np.nan, 3), (1, 2, np.inf), (1, None, 3)])
def test_a_statistic_that_is_no_number_is_refused(wrong):
    with pytest.raises(InputError):
        Statistic("...", *wrong)


def test_counts_that_come_as_floats_are_whole():
    assert Statistic("...", 7.0, 30, 38).count.bit_length() == 3


COLUMNS = dict.fromkeys(("person", "film", "stars", "day"), np.arange(3))


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize(
    "wrong", [np.arange(2), np.arange(3) + 0.5, np.array(["a", "b", "c"]), np.eye(3, dtype=int), 3]
)
def test_ratings_whose_columns_do_not_fit_are_refused(name, wrong):
    with pytest.raises(InputError, match="ratings"):
        Ratings(**{**COLUMNS, name: wrong})
