"""Shuffling against exact enumeration, an independent floating-point sum, and itself."""

import json
import math
from fractions import Fraction
from itertools import pairwise, product

import gmpy2
import numpy as np
import pytest
from scipy import stats

from cpu_time import quickest
from discreet.errors import InputError
from discreet.privacy.composition.composed import compose
from discreet.privacy.guarantees import clones
from discreet.privacy.guarantees.guarantee import Guarantee
from discreet.privacy.guarantees.neighbours import Neighbours
from discreet.privacy.guarantees.pure import Pure, two_point_log_mgf
from discreet.privacy.guarantees.response_counts import ResponseCounts
from discreet.privacy.guarantees.shuffled import Shuffled
from discreet.privacy.numerics.rounding import Interval


def enumerated(n, epsilon0, epsilon):
    """The clones pair's divergence, every outcome listed, in 200 bits."""
    with gmpy2.context(precision=200):
        local, asked = gmpy2.exp(gmpy2.mpfr(epsilon0)), gmpy2.exp(gmpy2.mpfr(epsilon))
        own, chance, total = local / (local + 1), 1 / local, gmpy2.mpfr(0)
        for c in range(n):
            weight = gmpy2.comb(n - 1, c) * chance**c * (1 - chance) ** (n - 1 - c)
            for a in range(c + 2):
                below = gmpy2.mpfr(gmpy2.comb(c, a - 1) if a else 0) / 2**c
                here = gmpy2.mpfr(gmpy2.comb(c, a) if a <= c else 0) / 2**c
                gap = own * below + (1 - own) * here - asked * ((1 - own) * below + own * here)
                total += weight * max(gap, gmpy2.mpfr(0))
        return total


def summed(n, epsilon0, epsilon):
    """The same by scipy's binomial tails, for large n."""
    local, asked, chance = math.exp(epsilon0), math.exp(epsilon), math.exp(-epsilon0)
    own, mean = local / (local + 1), (n - 1) * chance
    reach = 10 * math.sqrt(mean) + 30
    c = np.arange(max(0, int(mean - reach)), min(n - 1, int(mean + reach)) + 1).astype(float)
    start = np.ceil((math.exp(epsilon + epsilon0) - 1) / ((local - 1) * (asked + 1)) * (c + 1))
    wide, narrow = stats.binom.sf(start - 2, c, 0.5), stats.binom.sf(start - 1, c, 0.5)
    gap = own * wide + (1 - own) * narrow - asked * ((1 - own) * wide + own * narrow)
    return float(np.sum(stats.binom.pmf(c, n - 1, chance) * gap))


def randomized_response(n, epsilon0, epsilon):
    """The true delta of n shuffled binary randomized responses, others holding 0: enumerated."""
    lie = 1 / (math.exp(epsilon0) + 1)
    noise = stats.binom.pmf(np.arange(n), n - 1, lie)
    one = np.append(noise, 0) * lie + np.append(0, noise) * (1 - lie)
    zero = np.append(noise, 0) * (1 - lie) + np.append(0, noise) * lie
    asked = math.exp(epsilon)
    return max(np.maximum(one - asked * zero, 0).sum(), np.maximum(zero - asked * one, 0).sum())


@pytest.mark.parametrize("n", [1, 2, 3, 7, 20, 61])
@pytest.mark.parametrize("epsilon0", [0.125, 1, 4])
def test_it_encloses_the_enumerated_divergence_for_few_people(n, epsilon0):
    for share in (0, 0.0625, 0.25, 0.5, 0.875, 0.9375):
        truth = enumerated(n, epsilon0, epsilon0 * share)
        bound = Shuffled(epsilon0, n).delta(epsilon0 * share).upper
        assert truth <= bound <= truth * (1 + 1e-9) + 1e-27


@pytest.mark.parametrize(
    ("n", "epsilon0", "reference"),
    [(10**4, 1, 0.05353), (10**5, 4, 0.17279), (10**6, 4, 0.05020), (100, 1, 0.65)],
)
def test_it_is_above_the_truth_and_below_the_published_figures(n, epsilon0, reference):
    epsilon = Shuffled(epsilon0, n).epsilon(1e-6).upper
    assert epsilon < reference
    # Independent sums agree to 1e-4 in delta; the answer is on the safe side of 1e-6.
    assert summed(n, epsilon0, epsilon) <= 1e-6 * (1 + 1e-9)
    assert summed(n, epsilon0, epsilon) >= 1e-6 * (1 - 2e-3)


def test_binary_randomized_response_itself_stays_below_the_bound():
    for n, epsilon0, share in product((2, 5, 50, 1000), (0.5, 2, 5), (0, 0.1, 0.5, 0.9)):
        truth = randomized_response(n, epsilon0, epsilon0 * share)
        bound = Shuffled(epsilon0, n).delta(epsilon0 * share)
        assert bound.lower <= truth * (1 + 1e-9) + 1e-300
        assert truth <= bound.upper + 1e-15


def test_the_witness_is_worth_something():
    bound = Shuffled(1, 10**4).epsilon(1e-6)
    assert 0.6 * bound.upper < bound.lower < bound.upper


def test_more_people_and_quieter_reports_never_cost_more():
    for epsilon0 in (0.5, 1, 2):
        answers = [Shuffled(epsilon0, n).epsilon(1e-6).upper for n in (1, 3, 30, 300, 3000, 30000)]
        assert answers == sorted(answers, reverse=True)
    answers = [Shuffled(e, 1000).epsilon(1e-6).upper for e in (0.1, 0.2, 0.5, 1, 2, 4)]
    assert answers == sorted(answers)


def test_delta_falls_as_epsilon_grows():
    deltas = [Shuffled(2, 5000).delta(e).upper for e in np.linspace(0, 2, 30)]
    assert all(later <= earlier for earlier, later in pairwise(deltas))
    assert deltas[-1] == 0


def test_where_shuffling_is_no_help_the_report_keeps_its_own_guarantee():
    assert Shuffled(3, 1).epsilon(0).upper == 3
    assert Shuffled(3, 10**6).epsilon(0).upper == 3
    assert Shuffled(40, 100).epsilon(1e-12).upper <= 40
    assert Shuffled(800, 10**6).epsilon(1e-6).upper <= 800
    alone, local = Shuffled(1, 1).epsilon(0.01), Pure(1).epsilon(0.01)
    assert local.upper <= alone.upper < local.upper + 1e-8


@pytest.mark.parametrize("delta", [1e-3, 1e-12, 1e-20, 1e-40])
def test_epsilon_and_delta_agree_down_to_tiny_deltas(delta):
    for n, epsilon0 in ((2000, 1), (10**6, 3)):
        shuffled = Shuffled(epsilon0, n)
        epsilon = shuffled.epsilon(delta).upper
        assert shuffled.delta(epsilon).upper <= delta * (1 + 1e-6)
        assert shuffled.delta(epsilon * 0.999).upper > delta


def test_a_million_reports_take_half_a_second():
    assert quickest(lambda: Shuffled(4, 10**6).epsilon(1e-6), tries=3) < 0.5


def test_crowds_past_the_cap_are_charged_as_the_cap():
    capped = Shuffled(8, 10**9).delta(0.01).upper
    assert Shuffled(8, 10**12).delta(0.01).upper == capped


def test_a_suboptimal_threshold_would_be_caught(monkeypatch):
    monkeypatch.setattr(clones, "_threshold", lambda *_: 0.75)
    with pytest.raises(AssertionError):
        test_it_encloses_the_enumerated_divergence_for_few_people(20, 1)


def test_a_witness_that_exaggerates_would_be_caught(monkeypatch):
    true = ResponseCounts.divergence
    monkeypatch.setattr(ResponseCounts, "divergence", lambda *args: (true(*args)[0] * 1.01, 1.0))
    with pytest.raises(AssertionError):
        test_binary_randomized_response_itself_stays_below_the_bound()


def test_a_large_delta_leaves_nothing_to_epsilon():
    assert Shuffled(0.01, 1000).epsilon(0.5).upper == 0


def test_the_witness_agrees_with_tail_probabilities_of_a_huge_crowd():
    n, lie, asked = 10**8, 1 / (math.exp(0.5) + 1), 1e-5
    found = Shuffled(0.5, n).delta(Fraction(asked)).lower
    ratio = (math.exp(asked) * (1 - lie) - lie) / (1 - lie * (1 + math.exp(asked)))
    odds = ratio * lie / (1 - lie)
    tails = stats.binom.sf(math.ceil(n * odds / (1 + odds)) - np.array([2, 1]), n - 1, lie)
    one, zero = (1 - lie) * tails[0] + lie * tails[1], lie * tails[0] + (1 - lie) * tails[1]
    assert found == pytest.approx(one - math.exp(asked) * zero, rel=1e-3)
    assert found > 0


@pytest.mark.parametrize("sigmas", [0.1, 0.5, 1, 3])
def test_a_crowd_that_is_cut_off_early_is_still_covered(sigmas):
    for n, epsilon0 in ((61, 1), (40, 0.25), (61, 3)):
        local = Interval.of(epsilon0)
        crowd = clones.clone_counts(n, local, sigmas)
        for share in (0.0625, 0.5, 0.875):
            truth = enumerated(n, epsilon0, epsilon0 * share)
            assert clones.divergence(crowd, local, Interval.of(epsilon0 * share)) >= truth


def enumerated_moment(n, epsilon0, order):
    """The clones pair's moment, every outcome listed."""
    local, chance, total = math.exp(epsilon0), math.exp(-epsilon0), 0.0
    for c in range(n):
        weight = stats.binom.pmf(c, n - 1, chance)
        for a in range(c + 2):
            below, here = stats.binom.pmf([a - 1, a], c, 0.5)
            first, second = local * below + here, below + local * here
            total += weight * first / (local + 1) * (first / second) ** order if second else 0
    return math.log(total)


@pytest.mark.parametrize("order", [0.5, 1, 7])
def test_renyi_moments_cover_enumeration(order):
    for n, epsilon0 in ((1, 1), (2, 0.5), (15, 2)):
        truth = enumerated_moment(n, epsilon0, order)
        found = Shuffled(epsilon0, n).log_mgf(order).upper
        assert truth * (1 - 1e-9) <= found
        assert found <= two_point_log_mgf(Fraction(epsilon0), order).upper
    assert Shuffled(1, 10**5).log_mgf(order).upper < 0.01 * Pure(1).log_mgf(order).upper


def test_many_rounds_compose_far_below_their_reports():
    rounds = compose([(Shuffled(1, 10**5), 20)]).epsilon(1e-6).upper
    once = Shuffled(1, 10**5).epsilon(1e-6).upper
    assert once < rounds < 10 * once


def test_groups_renyi_moments_and_rho_fall_back_on_what_is_proven():
    shuffled = Shuffled(1, 1000)
    assert shuffled.group(1) == shuffled
    assert shuffled.group(3).epsilon(0).upper == pytest.approx(3)
    assert shuffled.group(3).delta(1.5).upper < 1e-3
    assert shuffled.rdp(2).upper <= Pure(1).rdp(2).upper
    assert shuffled.rho().upper <= Pure(1).rho().upper


def test_it_is_about_change_one_and_survives_storage():
    shuffled = Shuffled(Fraction(1, 3), 12)
    assert shuffled.neighbours is Neighbours.CHANGE_ONE
    assert Guarantee.from_dict(json.loads(json.dumps(shuffled.to_dict()))) == shuffled


@pytest.mark.parametrize(
    ("epsilon", "n"),
    [(0, 10), (-1, 10), (float("nan"), 10), (float("inf"), 10), (1, 0), (1, 1.5), (1, True)],
)
def test_bad_parameters_raise_input_errors(epsilon, n):
    with pytest.raises(InputError):
        Shuffled(epsilon, n)


def test_add_remove_is_refused():
    with pytest.raises(InputError, match="how many reports"):
        Shuffled(1, 10, neighbours=Neighbours.ADD_REMOVE)


def test_the_crowd_covers_all_its_mass():
    for n, epsilon0, sigmas in product((1, 2, 50, 10**5), (0.01, 1, 5), (2, 8)):
        crowd = clones.clone_counts(n, Interval.of(epsilon0), sigmas)
        assert 1 - 1e-9 <= float(crowd.masses.sum()) + crowd.none < 1.3
