"""Limits that the system chooses: little bias beside the noise, and none that is not told."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.answer.plan.contribution_histogram import (
    BLIND,
    GROUPS,
    LADDER,
    ROWS,
    ContributionHistogram,
    NoiseKind,
    Norm,
    choose,
    clipped_share,
    far_beyond,
    raise_limit,
)
from discreet.plan.bounding import ContributionBounds

ONE = Norm(ROWS, NoiseKind.LAPLACE, 1)


def histogram(norms, scale, steps=LADDER):
    places = np.minimum(np.searchsorted(steps, norms), len(steps))
    people = np.bincount(places, minlength=len(steps) + 1).astype(float)
    return ContributionHistogram(people, scale, steps)


@pytest.mark.parametrize("rows", [1, 7, 10, 1024])
def test_a_limit_is_what_everybody_has(rows):
    assert choose(histogram(np.full(20_000, rows), 10), ONE, 1.0, 1) == rows


def test_more_groups_and_more_noise_make_limits_lower():
    rows = np.repeat(np.arange(1, 101), 200)
    limits = [
        choose(histogram(rows, 10), Norm(ROWS, NoiseKind.LAPLACE, groups), noise, groups)
        for groups, noise in ((1, 1.0), (100, 1.0), (100, 100.0))
    ]

    assert limits == sorted(limits, reverse=True)
    assert limits[0] >= 91
    assert limits[2] < 60


def test_the_bias_that_is_left_is_small_beside_the_noise():
    generator = np.random.default_rng(2)
    for mean in (2, 7, 30):
        rows = generator.geometric(1 / mean, 20_000)
        limit = choose(histogram(rows, 10), ONE, 1.0, 1)
        assert np.maximum(rows - limit, 0).sum() <= limit


def test_where_nothing_shows_a_guess_is_taken_and_nothing_is_told():
    nothing = histogram(np.empty(0), 10)

    assert choose(nothing, ONE, 1.0, 1) == BLIND
    assert choose(ContributionHistogram(np.zeros(4), 10, (1, 2, 3)), ONE, 1.0, 1) == 3
    assert clipped_share(nothing, ONE, BLIND) is None


def test_what_is_told_to_be_lost_is_what_is_lost_or_a_little_more():
    rows = np.repeat(np.arange(1, 21), 1000)
    for limit in (5, 10, 16):
        lost = np.maximum(rows - limit, 0).sum() / rows.sum()
        told = clipped_share(histogram(rows, 5), ONE, limit)
        assert lost * 0.9 < told.lost < lost * 1.2 + 0.01
        assert told.share == pytest.approx(np.mean(rows > limit), abs=told.error)
        assert told.most >= limit


def test_intervals_allow_for_people_who_are_too_thinly_spread_to_raise_the_limit():
    """200 of 550 people with four times the rows of others were left out of an interval of 6 %."""
    rows = np.repeat([12, 46, 50, 54, 60], [350, 50, 50, 50, 50])
    people = histogram(rows, 33)
    limit = choose(people, ONE, 4.2, 1)
    lost = np.maximum(rows - limit, 0).sum() / rows.sum()

    assert limit < 20
    assert lost > 0.4
    assert clipped_share(people, ONE, limit).lost == pytest.approx(lost, rel=0.1)


def test_intervals_allow_for_people_where_nobody_is_surely_seen():
    rows = np.repeat([20, 23, 27, 32, 39], 24)
    people = histogram(rows, 10)
    lost = np.maximum(rows - BLIND, 0).sum() / rows.sum()

    assert not people.is_seen
    assert clipped_share(people, ONE, BLIND).lost == pytest.approx(lost, rel=0.15)


@pytest.mark.parametrize(("everybody", "most"), [(500, 60), (20_000, 0)])
def test_noise_alone_makes_intervals_wider_in_small_tables_only_and_seldom(everybody, most):
    """Of 200 histograms about 33, and none; more than 60 with probability 1e-6."""
    draws, wider = np.random.default_rng(5), 0
    for _ in range(200):
        people = np.rint(draws.laplace(0, 5, len(LADDER) + 1))
        people[LADDER.index(7)] += everybody
        seen = ContributionHistogram(people, 5, LADDER)
        wider += clipped_share(seen, ONE, choose(seen, ONE, 1.25, 1)).lost > 0.05

    assert wider <= most


def test_weights_take_from_people_what_norms_say():
    """l2: weight limit/norm on every row; groups under Gaussian noise: the root of it."""
    norms = np.array([1.0, 4.0, 9.0])

    assert ONE.lost(norms, 4).tolist() == [0, 0, 5]
    assert Norm(ROWS, NoiseKind.GAUSSIAN, 1).lost(norms, 4).tolist() == pytest.approx([0, 0, 5])
    assert Norm(ROWS, NoiseKind.GAUSSIAN, 4).lost(norms, 4).tolist() == pytest.approx([0, 0, 10])
    assert Norm(GROUPS, NoiseKind.LAPLACE, 9, found=False).lost(norms, 4).tolist() == [0, 0, 5]
    assert Norm(GROUPS, NoiseKind.GAUSSIAN, 9, found=False).lost(norms, 4) == pytest.approx(
        [0, 0, 3]
    )
    assert Norm(GROUPS, NoiseKind.GAUSSIAN, 9, found=True).lost(norms, 4).tolist() == [0, 0, 5]
    assert Norm(GROUPS, NoiseKind.LAPLACE, 6, found=False).steps == (1, 2, 3, 4, 5, 6)


SHARE = Fraction(3, 4)


def looked_at(rows, noise, law=NoiseKind.LAPLACE):
    """The bounds after two looks, and both histograms."""
    norm, first = Norm(ROWS, law, 1), replace(histogram(rows, 10), looks=2, noise_kind=law)
    limit = choose(first, norm, noise, 1)
    bounds = ContributionBounds(law, limit, 1, far_beyond(limit), SHARE)
    both = first.with_second(first.people[LADDER.index(bounds.far) + 1 :])
    return bounds, raise_limit(both, norm, bounds, noise, 1), first, both


@pytest.mark.parametrize("law", list(NoiseKind))
def test_people_whom_one_look_misses_raise_the_limit_at_the_second(law):
    people = 140 if law is NoiseKind.LAPLACE else 70
    rows = np.concatenate([np.full(20_000, 3), np.full(people, 1000)])
    bounds, raised, first, both = looked_at(rows, 2.0, law)

    assert (bounds.rows, bounds.far, bounds.share) == (3, 12, SHARE)
    assert LADDER[first.end] == 3
    assert LADDER[both.end] == raised.full_rows == raised.far_rows == 1024
    assert raised.rows > 1024 == raised.far_rows


def test_where_nobody_is_far_the_limit_stays():
    bounds, raised, _, _ = looked_at(np.full(20_000, 3), 2.0)
    assert raised is None
    assert (bounds.full_rows, bounds.far_rows) == (3, 2)


def test_nobody_is_counted_twice_where_no_bucket_is_as_far_out():
    assert far_beyond(2**18 - 1) == LADDER[-2]
    assert far_beyond(2**18) is None


def test_people_far_out_lose_more():
    bounds = ContributionBounds(NoiseKind.LAPLACE, 8, 1, 32, SHARE)
    lost = replace(ONE, rows=bounds).lost(np.array([8.0, 32.0, 33.0]), 8)
    assert lost.tolist() == pytest.approx([0, 24, 27])
    raised = bounds.raised(64)
    lost = replace(ONE, rows=raised).lost(np.array([32.0, 64.0, 100.0]), raised.full_rows)
    assert lost.tolist() == pytest.approx([0, 0, 36])


def test_a_share_is_written_with_its_error():
    told = clipped_share(histogram(np.repeat([1, 8], [9800, 200]), 5), ONE, 4)

    assert str(told).startswith("2.0 % ± 1.")
    assert Fraction(str(told).split("± ")[1].split(" ")[0]) < 2
