"""Quantiles by permute-and-flip: the law of the walk, the guarantee, and fewer ranks missed."""

from fractions import Fraction

import numpy as np
import pytest

from discreet import noise
from discreet.audit.conformance import check_mechanism
from discreet.audit.enumerate import check_law, enumerate_loss
from discreet.mechanisms.median import CellCounts
from discreet.mechanisms.permute_and_flip import flips_law
from discreet.mechanisms.permute_and_flip_quantile import PermuteAndFlipQuantile
from discreet.mechanisms.quantile import Quantile
from discreet.privacy import Neighbours, Pure

AGES = [3, 3, 4, 9, 9, 9, 2, 0]


def test_it_is_private_by_epsilon_and_by_nothing_better():
    mechanism = PermuteAndFlipQuantile(0.5, 0, 128, epsilon=1)
    assert mechanism.guarantee == Pure(1)
    assert mechanism.scale == Quantile(0.5, 0, 128, epsilon=1).scale


@pytest.mark.parametrize("target", [0, 0.3, 0.5, 1])
def test_its_law_is_that_of_permute_and_flip_over_all_points(target):
    mechanism = PermuteAndFlipQuantile(target, 0, 10, epsilon=2)
    ranks = CellCounts.read(AGES, mechanism.range)
    pieces = ranks.segments(0, 10, mechanism.quantile)
    scores = np.repeat(pieces.scores, pieces.widths)
    expected = flips_law(scores, mechanism.scale * mechanism.quantile.denominator)
    law = mechanism.claim.law(AGES)
    for point, (low, high) in law.items():
        assert low <= expected[point][1]
        assert expected[point][0] <= high


def test_its_draws_have_that_law_and_its_guarantee_is_nearly_met():
    for change in Neighbours:
        mechanism = PermuteAndFlipQuantile(0.5, 0, 16, epsilon=1, neighbours=change)
        evidence = enumerate_loss(mechanism.claim)
        assert 0.9 < evidence.bound <= 1
        assert not evidence.refuted
        assert not check_law(mechanism.claim, samples=20_000, alpha=1e-9).refuted


def test_it_misses_by_fewer_ranks_than_the_exponential_mechanism():
    people = [60 + (7 * i) % 31 - (11 * i) % 29 for i in range(200)]
    flipped, chosen = (kind(0.5, 0, 128, epsilon=1) for kind in (PermuteAndFlipQuantile, Quantile))
    assert flipped.error() < chosen.error()
    near = [_missed(mechanism, people) for mechanism in (flipped, chosen)]
    assert near[0] < 0.9 * near[1]


def _missed(mechanism, people):
    """The expected number of ranks that an answer misses by, from the law."""
    below = [sum(x < point for x in people) for point in range(129)]
    upto = [sum(x <= point for x in people) for point in range(129)]
    misses = [max(0, 100 - b, a - 100) for a, b in zip(below, upto, strict=True)]
    return sum(high * misses[point] for point, (_, high) in mechanism.claim.law(people).items())


def test_no_values_give_a_uniform_point():
    law = PermuteAndFlipQuantile(0.5, 0, 4, epsilon=1).claim.law([])
    assert all(high == pytest.approx(0.2) for _, high in law.values())


def test_wide_ranges_are_drawn_at_once():
    wide = PermuteAndFlipQuantile(Fraction(1, 2), 0, 2**60, epsilon=1)
    assert 0 <= wide.release([5, 2**59]) <= 2**60
    assert wide.claim.law is None


def test_the_conformance_suite_holds():
    check_mechanism(PermuteAndFlipQuantile(0.5, 0, 128, epsilon=1))


def test_candidates_that_stand_for_many_are_chosen_as_often_as_many():
    runs, scores, widths = 40_000, [0, -3, -1], [1, 5, 2]
    joined = np.bincount(noise.permute_and_flip(scores, 2, runs, widths), minlength=3)
    law = flips_law(np.repeat(scores, widths), Fraction(2))
    shares = [law[0][1], 5 * law[1][1], 2 * law[6][1]]
    assert np.abs(joined / runs - shares).max() < 0.012  # five deviations
