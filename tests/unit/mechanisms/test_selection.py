"""What every mechanism of this family has in common: one face, honest pairs, fresh draws."""

import pickle
from dataclasses import fields
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.mechanisms.automatic_bounds import AutomaticBounds
from discreet.mechanisms.exponential import ExponentialMechanism
from discreet.mechanisms.key_selection import KeySelection
from discreet.mechanisms.noisy_max import ReportNoisyMax
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.propose_test_release import ProposeTestRelease, TestedMedian
from discreet.mechanisms.quantile import Quantile, Quantiles
from discreet.mechanisms.selection import read_outputs, read_scores, score_pairs
from discreet.mechanisms.smooth_sensitivity import SmoothMedian, SmoothSensitivity
from discreet.mechanisms.sparse_vector import AboveThreshold, SparseVector
from discreet.mechanisms.stability_histogram import GaussianThreshold, LaplaceThreshold
from discreet.mechanisms.subsample_aggregate import SubsampleAggregate
from discreet.mechanisms.top_k import TopK
from discreet.mechanisms.unbounded_quantile import UnboundedQuantile
from discreet.privacy import Guarantee, Neighbours

ALL = [
    ExponentialMechanism(3, epsilon=1),
    PermuteAndFlip(3, epsilon=1),
    ReportNoisyMax(3, epsilon=1),
    TopK(2, 3, epsilon=1),
    TopK(2, 3, epsilon=1, peel="permute-and-flip"),
    SparseVector(threshold=0, epsilon=1, hits=2, numeric=True),
    SparseVector(threshold=0, epsilon=1, hits=2, monotone=True),
    AboveThreshold(threshold=0, epsilon=1),
    SmoothSensitivity(global_sensitivity=10, epsilon=1, delta=1e-2),
    SmoothMedian(0, 16, epsilon=1, delta=1e-2),
    ProposeTestRelease(bound=1, epsilon=1, delta=1e-2),
    TestedMedian(0, 16, bound=1, epsilon=1, delta=1e-2),
    Quantile(0.5, 0, 16, epsilon=1),
    Quantiles([0.25, 0.75], 0, 16, epsilon=1),
    UnboundedQuantile(0.5, epsilon=1),
    KeySelection(epsilon=1, delta=1e-2),
    LaplaceThreshold(epsilon=1, delta=1e-2),
    GaussianThreshold(epsilon=1, delta=1e-2),
    AutomaticBounds(epsilon=1, largest=64),
    SubsampleAggregate(
        max,
        blocks=5,
        aggregate=Quantile(0.5, 0, 16, epsilon=1, neighbours=Neighbours.CHANGE_ONE),
        default=0,
    ),
]
BY_NAME = {"argvalues": ALL, "ids": lambda mechanism: type(mechanism).__name__}


@pytest.mark.parametrize("mechanism", **BY_NAME)
def test_every_claim_can_be_run(mechanism):
    claim = mechanism.claim
    assert claim.guarantee == mechanism.guarantee
    assert claim.pairs
    for pair in claim.pairs:
        for side in (pair.left, pair.right):
            assert claim.draw(side, 7).shape[0] == 7
            if claim.law is not None:
                law = claim.law(side)
                assert sum(low for low, _ in law.values()) <= 1 + 1e-12
                assert sum(high for _, high in law.values()) >= 1 - 1e-12


@pytest.mark.parametrize("mechanism", **BY_NAME)
def test_every_mechanism_is_frozen_and_states_its_guarantee(mechanism):
    assert isinstance(mechanism.guarantee, Guarantee)
    assert mechanism.guarantee.neighbours is Neighbours.ADD_REMOVE
    with pytest.raises(AttributeError):
        setattr(mechanism, fields(mechanism)[0].name, None)
    assert 0 <= mechanism.error(0.5) <= mechanism.error(0.95) <= mechanism.error(0.999)


@pytest.mark.parametrize("mechanism", **BY_NAME)
def test_every_mechanism_refuses_a_confidence_of_one(mechanism):
    with pytest.raises(InputError, match="confidence"):
        mechanism.error(1)


@pytest.mark.parametrize("mechanism", [m for m in ALL if not isinstance(m, SubsampleAggregate)])
def test_parameters_survive_a_process_pool(mechanism):
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism  # noqa: S301 - our own bytes


@pytest.mark.parametrize("mechanism", [m for m in ALL if m.claim.draw is not None])
def test_e3_no_two_calls_share_their_randomness(mechanism):
    side = mechanism.claim.pairs[-1].right
    draws = [mechanism.claim.draw(side, 400).tolist() for _ in range(3)]
    if np.unique(np.array(draws[0]), axis=0).shape[0] > 2:
        assert draws[0] != draws[1] != draws[2] != draws[0]


def test_pairs_are_exactly_as_far_apart_as_allowed():
    for monotone in (False, True):
        for pair in score_pairs(4, Fraction(3, 2), monotone=monotone):
            moves = [a - b for a, b in zip(pair.left, pair.right, strict=True)]
            assert max(map(abs, moves)) == Fraction(3, 2)
            if monotone:
                assert min(moves) >= 0 or max(moves) <= 0


def test_outputs_are_listed_or_counted():
    assert read_outputs(3) == (0, 1, 2)
    assert read_outputs(("a", "b")) == ("a", "b")
    for bad in (0, True, [], ["a", "a"]):
        with pytest.raises(InputError):
            read_outputs(bad)


def test_scores_keep_large_ints():
    assert read_scores([2**70, 1], ("a", "b"))[0] == 2**70
    assert read_scores([2**53 + 1, 0.5], ("a", "b"))[0] == 2**53 + 1


@pytest.mark.parametrize("outputs", [None, 2.5, [[1], [2]], np.array(1.0), []])
def test_outputs_that_cannot_be_listed_are_refused(outputs):
    with pytest.raises(InputError, match="outputs are no list"):
        read_outputs(outputs)


def test_quantiles_that_cannot_be_listed_are_refused():
    with pytest.raises(InputError, match="rising list"):
        Quantiles(0.5, 0, 8, epsilon=1)


@pytest.mark.parametrize(
    "tiny",
    [
        TestedMedian(0, 8, bound=1, epsilon=1e-9, delta=0.01),
        AutomaticBounds(epsilon=1e-9, largest=16),
    ],
)
def test_a_claim_at_a_tiny_epsilon_fits_into_memory(tiny):
    sizes = [len(side) for pair in tiny.claim.pairs for side in (pair.left, pair.right)]
    assert 1 << 15 < max(sizes) < 1 << 18
