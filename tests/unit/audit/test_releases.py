from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet import noise
from discreet.audit import compare_paths, refute, released
from discreet.errors import InvariantBroken
from discreet.mechanisms.exponential import ExponentialMechanism
from discreet.mechanisms.key_selection import KeySelection
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.mechanism import Pair
from discreet.mechanisms.propose_test_release import ProposeTestRelease
from discreet.mechanisms.sparse_vector import AboveThreshold, SparseVector

RATE = 1e-6  # of a false alarm, were the bits fresh


def rebuilt(base=Laplace, members=(), **parameters):
    made = type("Made", (base,), {"__slots__": (), **dict(members)})
    return made(**({"epsilon": 1} | parameters))


def thin(factor):
    def release(self, value):
        return value + noise.discrete_laplace(self.scale * factor)

    return rebuilt(members={"release": release}, sensitivity=1)


def test_a_claim_can_be_drawn_by_releasing():
    claim = released(Laplace(epsilon=1, sensitivity=1))

    assert claim.draw(10**6, 50).shape == (50, 1)
    assert not refute(claim, samples=2000, alpha=RATE).refuted
    assert refute(released(thin(Fraction(1, 3))), samples=2000, alpha=RATE).refuted


def test_paths_with_one_law_agree():
    found = compare_paths(Laplace(epsilon=1, sensitivity=1), alpha=RATE)

    assert not found.refuted
    assert found.event == "release and draw agree"
    assert found.method == "release"


def test_less_noise_in_release_is_noticed():
    assert "release and draw differ" in compare_paths(thin(Fraction(1, 2)), alpha=RATE).reason
    assert compare_paths(thin(2), alpha=RATE).refuted
    assert compare_paths(thin(Fraction(3, 4)), runs=8000, alpha=RATE).refuted


def test_every_pair_is_looked_at():
    """A release that is wrong about one of five inputs only."""

    def release(self, value):
        return ["a"] if value == {"a": 5} else KeySelection.release(self, value)

    lies = rebuilt(KeySelection, {"release": release}, delta=0.01)
    assert compare_paths(lies, alpha=RATE).refuted
    assert not compare_paths(rebuilt(KeySelection, delta=0.01), alpha=RATE).refuted


def test_a_release_that_refuses_its_own_claim_is_refuted():
    def claim(self):
        return replace(Laplace.claim.fget(self), pairs=(Pair(0.5, 1.5),))

    refused = rebuilt(members={"claim": property(claim)}, sensitivity=1)
    assert "does not take what its claim is about" in compare_paths(refused).reason


def test_answers_without_a_code_are_refuted():
    def claim(self):
        return replace(Laplace.claim.fget(self), code=lambda _, answer: {"answer": answer})

    uncoded = rebuilt(members={"claim": property(claim)}, sensitivity=1)
    assert "cannot code" in compare_paths(uncoded).reason
    with pytest.raises(InvariantBroken, match="cannot code"):
        released(uncoded).draw(0, 3)


def test_rows_of_another_length_are_refuted():
    def claim(self):
        return replace(Laplace.claim.fget(self), code=lambda _, answer: [answer, 0])

    longer = rebuilt(members={"claim": property(claim)}, sensitivity=1)
    assert "different lengths" in compare_paths(longer).reason


def test_answers_are_coded_as_drawn():
    colours = ExponentialMechanism(["red", "blue"], epsilon=1).claim
    assert colours.code((0, 0), "blue") == 1

    marks = SparseVector(threshold=0, epsilon=1, hits=2).claim
    assert marks.code((0,) * 4, [False, True, True]) == [0, 1, 1, -1]
    numbers = SparseVector(threshold=0, epsilon=1, numeric=True).claim
    assert numbers.code((0,) * 3, [None, 7]) == [0, 1, -1, 0, 7, 0]
    assert AboveThreshold(threshold=0, epsilon=1).claim.code((0, 0), None) == -1

    trial = ProposeTestRelease(bound=1, epsilon=1, delta=0.01).claim
    assert trial.code((0, 0), None) == (0, 0)
    assert trial.code((0, 0), 9) == (1, 9)


def test_utilities_are_passed_by_where_scores_are_given():
    vote = ExponentialMechanism(["a", "b"], epsilon=1, utility=lambda rows, one: rows.count(one))

    assert not compare_paths(vote, alpha=RATE).refuted
    assert np.mean([vote.release(["a"] * 50) == "a" for _ in range(50)]) == 1
