"""The search for hard neighbours, and the neighbours near a pair."""

from dataclasses import replace

import pytest

from discreet.audit.distance import is_measured
from discreet.audit.search import are_neighbours, around, harder, search, several
from discreet.mechanisms import Histogram, KeySelection, Laplace, Quantile, SmoothSensitivity
from discreet.mechanisms.mechanism import Pair
from discreet.mechanisms.reusable_holdout import Thresholdout
from discreet.mechanisms.sparse_vector import AboveThreshold

COUNT = Laplace(epsilon=1, sensitivity=1)


def test_all_pairs_near_a_pair_are_neighbours_and_none_comes_twice():
    rule = AboveThreshold(threshold=0, epsilon=1)
    near = list(around(rule, Pair((0, 0), (1, 1))))

    assert len(near) > 20
    assert len({(pair.left, pair.right) for pair in near}) == len(near)
    gaps = [[abs(a - b) for a, b in zip(p.left, p.right, strict=True)] for p in near]
    assert max(map(max, gaps)) == 1


def test_values_on_both_sides_of_0_are_near_a_count():
    near = [(pair.left, pair.right) for pair in around(COUNT, COUNT.claim.pairs[0])]

    assert (9, 10) in near
    assert (-101, -100) in near


@pytest.mark.parametrize(
    ("rule", "pair"),
    [
        (COUNT, Pair(0, 2)),
        (COUNT, Pair(3, 3)),
        (COUNT, Pair(0, "one")),
        (Quantile(0.5, 0, 8, epsilon=1), Pair((1,), (2,))),
        (Histogram(bins=2, epsilon=1), Pair([0, 1], [1, 0])),
        (Histogram(bins=2, epsilon=1), Pair([0, 0], [2, 0])),
        (
            SmoothSensitivity(global_sensitivity=10, epsilon=1, delta=0.01),
            Pair((0, (12,)), (12, (12,))),
        ),
    ],
)
def test_what_is_too_far_apart_or_refused_is_no_pair(rule, pair):
    assert not are_neighbours(rule, pair)


def test_several_pairs_are_near_every_pair_of_the_claim():
    near = several(COUNT, COUNT.claim.pairs, 12)
    assert 3 <= len(near) <= 12
    assert COUNT.claim.pairs[0] not in near

    far = Pair(1000, 1001)
    assert {pair.left // 500 for pair in several(COUNT, (Pair(0, 1), far), 24)} >= {0, 2}
    assert is_measured(Thresholdout(size=4, threshold=0.25, epsilon=1))


def test_a_search_finds_where_keys_are_hardest_to_hide():
    class FarOff(KeySelection):
        """The claim of a key rule on a pair that shows little."""

        __slots__ = ()

        @property
        def claim(self):

            return replace(KeySelection.claim.fget(self), pairs=(Pair({"a": 1}, {"a": 2}),))

    rule = FarOff(epsilon=1, delta=0.01)
    found = search(rule, tries=60)

    assert found.reach > -0.1
    assert found.pair not in rule.claim.pairs
    assert are_neighbours(rule, found.pair)
    assert harder(rule, tries=60, samples=200_000).pairs[0] == rule.claim.pairs[0]


def test_a_search_without_a_law_judges_by_samples():
    rule = Thresholdout(size=4, threshold=0.25, epsilon=1, hits=1)

    assert -1 < search(rule, tries=2).reach < 0.2
