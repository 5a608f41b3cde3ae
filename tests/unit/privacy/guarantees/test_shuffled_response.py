"""Shuffled randomized response against enumeration, and against the bound for any report."""

import json
import math
from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product

import numpy as np
import pytest
from scipy import stats

from discreet.errors import InputError
from discreet.privacy import Neighbours, RandomizedResponseNoise, ShuffledRandomizedResponse
from discreet.privacy.guarantees import response_counts
from discreet.privacy.guarantees.guarantee import Guarantee
from discreet.privacy.guarantees.response_counts import ResponseCounts, splits
from discreet.privacy.guarantees.shuffled import Shuffled
from discreet.privacy.numerics.rounding import Interval


def binary(n, epsilon0, epsilon):
    """The true delta of n shuffled binary reports: the worst of all that the others may hold."""
    lie, asked, worst = 1 / (math.exp(epsilon0) + 1), math.exp(epsilon), 0.0
    for yes in range(n):
        zeros = stats.binom.pmf(np.arange(n - yes), n - 1 - yes, lie)
        ones = stats.binom.pmf(np.arange(yes + 1), yes, 1 - lie)
        others = np.convolve(zeros, ones)
        one = np.append(others, 0) * lie + np.append(0, others) * (1 - lie)
        zero = np.append(others, 0) * (1 - lie) + np.append(0, others) * lie
        worst = max(worst, np.maximum(one - asked * zero, 0).sum())
    return worst


def report(law, answer, k, epsilon0):
    """The law of the counts with one report more, of a person who holds `answer`."""
    rare, found = 1 / (math.exp(epsilon0) + k - 1), Counter()
    for counts, mass in law.items():
        for said in range(k):
            more = tuple(c + (i == said) for i, c in enumerate(counts))
            found[more] += mass * rare * (math.exp(epsilon0) if said == answer else 1)
    return found


def many(n, k, epsilon0, epsilon):
    """The same of k answers, every list of counts enumerated."""
    worst = 0.0
    for held in combinations_with_replacement(range(k), n - 1):
        law = {(0,) * k: 1.0}
        for answer in held:
            law = report(law, answer, k, epsilon0)
        one, other = (report(law, answer, k, epsilon0) for answer in (0, 1))
        gaps = (one[c] - math.exp(epsilon) * other[c] for c in one)
        worst = max(worst, sum(max(gap, 0.0) for gap in gaps))
    return worst


@pytest.mark.parametrize("n", [1, 2, 3, 30])
@pytest.mark.parametrize("epsilon0", [0.125, 1, 4])
def test_two_answers_of_few_people_are_exact(n, epsilon0):
    for share in (0, 0.0625, 0.5, 0.875):
        truth = binary(n, epsilon0, epsilon0 * share)
        bound = ShuffledRandomizedResponse(epsilon0, n).delta(epsilon0 * share)
        assert bound.lower <= truth * (1 + 1e-9) + 1e-13
        assert truth * (1 - 1e-9) - 1e-13 <= bound.upper <= truth * (1 + 1e-6) + 1e-13


@pytest.mark.parametrize(("n", "epsilon0"), [(150, 0.5), (300, 2), (300, 4)])
def test_two_answers_of_more_people_are_covered_closely(n, epsilon0):
    for share in (0.05, 0.2):
        truth = binary(n, epsilon0, epsilon0 * share)
        bound = ShuffledRandomizedResponse(epsilon0, n).delta(epsilon0 * share)
        assert 0.9 * truth < bound.lower <= truth * (1 + 1e-9)
        assert truth * (1 - 1e-9) <= bound.upper < 1.02 * truth


def test_what_the_others_hold_matters():
    # Equal halves are worse than everybody else holding the same.
    alike = ShuffledRandomizedResponse(4, 61).delta(0.12)
    assert alike.upper > 1.2 * alike.lower


@pytest.mark.parametrize(("n", "k"), [(1, 3), (2, 3), (4, 3), (3, 4)])
def test_more_answers_are_covered(n, k):
    for epsilon0, share in product((0.5, 3), (0, 0.1, 0.5, 0.9)):
        truth = many(n, k, epsilon0, epsilon0 * share)
        bound = ShuffledRandomizedResponse(epsilon0, n, k).delta(epsilon0 * share)
        assert bound.lower <= truth * (1 + 1e-12)
        assert truth * (1 - 1e-12) <= bound.upper <= 1.2 * truth + 1e-12


def test_many_answers_of_many_people_are_nearly_met():
    # What the counts of the two answers give away where all others hold a third one.
    n, k, epsilon0, epsilon = 1000, 4, 1, ShuffledRandomizedResponse(1, 1000, 4).epsilon(1e-6).upper
    rare, top = 1 / (math.exp(epsilon0) + k - 1), 320
    counts = np.arange(top)
    others = stats.binom.pmf(counts, n - 1, rare)[None, :] * stats.binom.pmf(
        counts[:, None], n - 1 - counts[None, :], rare / (1 - rare)
    )
    first = np.pad(others, ((1, 0), (0, 0)))[:top] * rare
    second = np.pad(others, ((0, 0), (1, 0)))[:, :top] * rare
    local, neither = math.exp(epsilon0), (k - 2) * rare * others

    def delta(asked):
        one, other = local * first + second + neither, first + local * second + neither
        return np.maximum(one - math.exp(asked) * other, 0).sum()

    assert delta(epsilon) <= 1e-6 < delta(epsilon * 0.99)


@pytest.mark.parametrize("k", [2, 3, 20])
def test_it_costs_less_than_any_report_could(k):
    for n, epsilon0 in ((2, 1), (300, 3)):
        own, any_report = ShuffledRandomizedResponse(epsilon0, n, k), Shuffled(epsilon0, n)
        assert own.epsilon(1e-6).upper <= any_report.epsilon(1e-6).upper
        assert own.delta(0.1).upper <= any_report.delta(0.1).upper


@pytest.mark.parametrize(("epsilon0", "gain"), [(1, 1.48), (4, 1.9)])
def test_two_answers_of_ten_thousand_people_cost_half(epsilon0, gain):
    bound = ShuffledRandomizedResponse(epsilon0, 10**4).epsilon(1e-6)
    assert Shuffled(epsilon0, 10**4).epsilon(1e-6).upper > gain * bound.upper
    assert bound.upper < 1.005 * bound.lower


@pytest.mark.parametrize("k", [2, 4])
def test_more_people_quieter_reports_and_larger_epsilons_never_cost_more(k):
    crowds = [ShuffledRandomizedResponse(1, n, k).epsilon(1e-6).upper for n in (1, 99, 101, 400)]
    assert crowds == sorted(crowds, reverse=True)
    reports = [ShuffledRandomizedResponse(e, 200, k).epsilon(1e-6).upper for e in (0.1, 1, 4)]
    assert reports == sorted(reports)
    deltas = [ShuffledRandomizedResponse(2, 200, k).delta(e).upper for e in np.linspace(0, 2, 6)]
    assert all(later <= earlier for earlier, later in pairwise(deltas))
    assert deltas[-1] == 0


@pytest.mark.parametrize("delta", [1e-3, 1e-30])
def test_epsilon_and_delta_agree_down_to_tiny_deltas(delta):
    for n, k in ((200, 2), (200, 5)):
        shuffled = ShuffledRandomizedResponse(1, n, k)
        epsilon = shuffled.epsilon(delta).upper
        assert shuffled.delta(epsilon).upper <= delta * (1 + 1e-3)
        assert shuffled.delta(epsilon * 0.99).upper > delta


def test_alone_or_without_a_delta_the_report_keeps_its_own_guarantee():
    for k in (2, 5):
        alone, own = ShuffledRandomizedResponse(1, 1, k), RandomizedResponseNoise(1, k)
        assert alone.delta(0.5).upper == pytest.approx(own.delta(0.5).upper)
        assert alone.epsilon(0.01).upper == pytest.approx(own.epsilon(0.01).upper, rel=1e-6)
        assert ShuffledRandomizedResponse(1, 10**6, k).epsilon(0).upper == 1
    assert ShuffledRandomizedResponse(0.01, 1000).epsilon(0.5).upper == 0


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("epsilon0", [250, 360, 705, 1000])
def test_reports_that_hardly_ever_lie_hide_nobody(k, epsilon0):
    shuffled = ShuffledRandomizedResponse(epsilon0, 100, k)
    assert shuffled.delta(epsilon0 / 2).upper > 1 - 1e-9
    assert shuffled.delta(0).upper > 1 - 1e-9
    assert epsilon0 - 1e-3 < shuffled.epsilon(1e-6).upper <= epsilon0


def test_reports_that_nearly_always_lie_cost_nothing():
    assert ShuffledRandomizedResponse(Fraction(1, 10**30), 100, 3).epsilon(1e-6).upper == 0


@pytest.mark.parametrize("k", [2, 3])
def test_a_crowd_past_all_counting_costs_no_more_than_a_large_one(k):
    huge, large = ShuffledRandomizedResponse(2, 10**18, k), Shuffled(2, 10**9)
    assert huge.epsilon(1e-6).upper == large.epsilon(1e-6).upper
    assert huge.delta(1e-3).upper == large.delta(1e-3).upper


def test_blocks_of_splits_cover_every_split():
    for others in (0, 1, 5, 99, 1000):
        covers = list(splits(others))
        for no in range(others + 1):
            assert any(a <= no and b <= others - no for a, b in covers)


def test_blocks_that_leave_splits_out_would_be_caught(monkeypatch):
    monkeypatch.setattr(response_counts, "_EDGES", (0.0, 0.02, 0.04))
    with pytest.raises(AssertionError):
        test_two_answers_of_few_people_are_exact(30, 4)


@pytest.mark.parametrize("sigmas", [1, 4, 11])
def test_windows_that_are_too_narrow_are_paid_for(sigmas):
    lie, asked = 0.375, math.exp(0.25)
    for no, yes in ((300, 300), (100, 200)):
        zeros = stats.binom.pmf(np.arange(no + 1), no, lie)
        ones = stats.binom.pmf(np.arange(yes + 1), yes, 1 - lie)
        others = np.convolve(zeros, ones)
        one = np.append(others, 0) * lie + np.append(0, others) * (1 - lie)
        zero = np.append(others, 0) * (1 - lie) + np.append(0, others) * lie
        truth = np.maximum(one - asked * zero, 0).sum()
        low, high = ResponseCounts(no, yes, lie, sigmas).divergence(Interval.of(0.25))
        assert low <= truth <= high


def test_no_delta_is_so_small_that_it_is_none():
    assert ShuffledRandomizedResponse(0.5, 20_000).delta(0.3).upper > 0


def test_composition_and_groups_fall_back_on_any_report():
    shuffled, any_report = ShuffledRandomizedResponse(1, 1000, 3), Shuffled(1, 1000)
    assert shuffled.rho() == any_report.rho()
    assert shuffled.rdp(2) == any_report.rdp(2)
    assert shuffled.group(1) == shuffled
    assert shuffled.group(2) == any_report.group(2)


def test_it_survives_storage_and_is_about_change_one():
    shuffled = ShuffledRandomizedResponse(1, 12, 7)
    assert shuffled.neighbours is Neighbours.CHANGE_ONE
    assert Guarantee.from_dict(json.loads(json.dumps(shuffled.to_dict()))) == shuffled
    with pytest.raises(InputError, match="how many reports"):
        ShuffledRandomizedResponse(1, 10, neighbours=Neighbours.ADD_REMOVE)


@pytest.mark.parametrize(("epsilon", "n", "k"), [(0, 9, 2), (1, 0, 2), (1, 9, 1), (1, 9, 2.5)])
def test_bad_parameters_raise_input_errors(epsilon, n, k):
    with pytest.raises(InputError):
        ShuffledRandomizedResponse(epsilon, n, k)
