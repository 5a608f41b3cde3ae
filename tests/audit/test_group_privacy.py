"""Three people together are as hard to tell from none as `guarantee.group(3)` says.

Bits are fixed; with fresh ones a true claim would be refuted with probability at most 1e-6. What is
tight for one person is refuted for three at the price of two, so the test can fail.
"""

from dataclasses import replace

import pytest

from discreet.audit import enumerate_loss, refute
from discreet.audit.catalogue import CATALOGUE
from discreet.mechanisms.claim import Pair

SCORES = Pair((3, 0, 0), (0, 3, 3))
RISING = Pair((3, 3, 3), (3, 0, 0))

GROUPS = {
    "laplace": Pair(0, 3),
    "laplace-wide": Pair(0, 15),
    "laplace-vector": Pair([0, 0, 0], [2, 2, 2]),
    "gaussian": Pair(0, 3),
    "gaussian-vector": Pair([0] * 4, [3] * 4),
    "exponential": SCORES,
    "exponential-monotone": RISING,
    "permute-and-flip": SCORES,
    "permute-and-flip-monotone": RISING,
    "noisy-max": SCORES,
    "noisy-max-exponential": SCORES,
    "top-k": Pair((3, 3, 0, 0), (0, 0, 3, 3)),
    "sparse-vector": Pair((0,) * 4 + (3,) * 2, (3,) * 4 + (0,) * 2),
    "above-threshold": Pair((0,) * 4 + (3,) * 2, (3,) * 4 + (0,) * 2),
    "histogram": Pair([0] * 4, [3, 0, 0, 0]),
    "histogram-change-one": Pair([0, 3, 0, 0], [3, 0, 0, 0]),
    "key-selection": Pair({}, {"a": 3}),
    "laplace-threshold": Pair({"a": 2}, {"a": 5}),
    "gaussian-threshold": Pair({"a": 2}, {"a": 5}),
    "smooth-median": Pair((), (128,) * 3),
    "tested-median": Pair((0,) * 30, (0,) * 33),
    "quantile": Pair((1,) * 3, (1,) * 3 + (0,) * 3),
    "quantiles": Pair((1,) * 3, (1,) * 3 + (0,) * 3),
    "unbounded-quantile": Pair((1,) * 4, (1,) * 4 + (2**60,) * 3),
    "subsample-aggregate": Pair((), (8,) * 3),
    "automatic-bounds": Pair((), (16.0,) * 3),
    "tree-count": Pair([0] * 7, [3] + [0] * 6),
    "factorized-count": Pair([0] * 7, [3] + [0] * 6),
}
TIGHT = (
    "laplace",
    "laplace-wide",
    "exponential-monotone",
    "histogram",
    "key-selection",
    "quantile",
)


def of_group(name, charged):
    claim = CATALOGUE[name]().claim
    return replace(claim, guarantee=claim.guarantee.group(charged), pairs=(GROUPS[name],))


def is_refuted(claim):
    found = enumerate_loss(claim).refuted if claim.law else False
    return found or refute(claim, samples=30_000, alpha=1e-6).refuted


@pytest.mark.parametrize("name", GROUPS)
@pytest.mark.usefixtures("fixed_bits")
def test_three_people_are_covered_by_the_guarantee_of_a_group(name):
    assert not is_refuted(of_group(name, 3))


@pytest.mark.parametrize("name", TIGHT)
@pytest.mark.usefixtures("fixed_bits")
def test_three_people_are_not_covered_by_the_guarantee_of_two(name):
    assert is_refuted(of_group(name, 2))


def test_every_kind_of_mechanism_is_asked_about_groups():
    # The first two are asked by the mechanisms made of them; one report, or one example of a
    # holdout, is what the others protect, so three of them are three releases or none.
    other = {"smooth-sensitivity", "propose-test-release", "randomized-response", "thresholdout"}
    asked = {type(CATALOGUE[name]()) for name in (*GROUPS, *other)}

    assert {type(make()) for make in CATALOGUE.values()} == asked
