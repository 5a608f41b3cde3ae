"""What is stored with a charge is read back as it was, or refused as a whole."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.answer.execute.noisy_measurements import NoisyMeasurements, pack, unpack
from discreet.answer.plan.contribution_histogram import ClippedShare
from discreet.answer.present.base_release import Cost
from discreet.errors import InputError
from discreet.plan.bounding import ContributionBounds, NoiseKind
from discreet.privacy import GDP, Approximate, Neighbours, Pure

LONG = np.array([1 << 70, -(1 << 90), 0], dtype=object)
DRAWN = NoisyMeasurements(
    ContributionBounds(NoiseKind.GAUSSIAN, 6, 4),
    {"k0": pa.array(["Oslo", None, "Haifa"]), "k1": pa.array([1, 2, 3], pa.int64())},
    3,
    (np.array([1, -2, 3], dtype=np.int64), LONG),
    {"median": np.array([0, 7, 2047], dtype=np.int64)},
    (
        Cost("which groups there are", "exact choice", Approximate(Fraction(1, 3), 1e-9)),
        Cost("Rows", "Gaussian", GDP.of_square(1, neighbours=Neighbours.CHANGE_ONE)),
    ),
    {"rows": ClippedShare(0.25, 0.01, 0.125, 64)},
)
PUBLIC = NoisyMeasurements(
    ContributionBounds(NoiseKind.LAPLACE, 1, 1),
    {},
    1,
    (np.array([5], dtype=np.int64),),
    {},
    (Cost("Rows", "Laplace", Pure(1)),),
)


def same(one, other):
    assert one.contributions == other.contributions
    assert {k: v.to_pylist() for k, v in one.keys.items()} == {
        k: v.to_pylist() for k, v in other.keys.items()
    }
    assert one.groups == other.groups
    assert [(n.dtype, n.tolist()) for n in one.numbers] == [
        (n.dtype, n.tolist()) for n in other.numbers
    ]
    assert {k: v.tolist() for k, v in one.cells.items()} == {
        k: v.tolist() for k, v in other.cells.items()
    }
    assert (one.spent, one.clipped) == (other.spent, other.clipped)
    assert {k: [end.tolist() for end in v] for k, v in one.brackets.items()} == {
        k: [end.tolist() for end in v] for k, v in other.brackets.items()
    }


ENDS = {"median": (np.array([0, 5, 2046]), np.array([2, 9, 2047]))}


def test_intervals_are_read_back_and_those_of_an_earlier_version_are_refused():
    packed = pack([replace(DRAWN, brackets=ENDS)])
    same(unpack(packed)[0], replace(DRAWN, brackets=ENDS))
    earlier = packed.replace(b'"intervals": ["median"]', b'"brackets":  ["median"]')
    with pytest.raises(InputError, match="cannot be read as noisy measurements"):
        unpack(earlier)


def test_grouping_sets_are_read_back_as_they_were_numbers_of_any_length_too():
    back = unpack(pack([DRAWN, PUBLIC]))
    assert len(back) == 2
    same(back[0], DRAWN)
    same(back[1], PUBLIC)
    assert pack(back) == pack([DRAWN, PUBLIC])


def test_no_grouping_sets_are_none():
    assert unpack(pack([])) == []


def reheaded(**changes):
    head, _, rest = pack([DRAWN]).partition(b"\n")
    return json.dumps(json.loads(head) | changes).encode() + b"\n" + rest


@pytest.mark.parametrize(
    "stored",
    [
        b"",
        b"{}",
        b"[1]\n",
        b"no json\n",
        pack([DRAWN])[:-40],
        reheaded(version=1),
        reheaded(version=3),
        reheaded(sizes=[7]),
        reheaded(sizes=["a"]),
        reheaded(sizes=None),
    ],
)
def test_what_is_damaged_or_of_another_version_is_refused_in_one_way(stored):
    with pytest.raises(InputError, match="cannot be read as noisy measurements"):
        unpack(stored)


def test_a_slice_of_a_column_is_stored_like_a_copy_of_it():
    keys = pa.array([None, "Oslo", None, "Haifa"])
    sliced, copied = (
        replace(DRAWN, keys={"k0": one}) for one in (keys[1:], pa.array(keys[1:].to_pylist()))
    )
    assert pack([sliced]) == pack([copied])
