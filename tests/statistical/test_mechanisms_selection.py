"""Selection mechanisms against their exact laws, and their errors against their promises.

A correct mechanism fails one of these checks with probability 1e-6 (`ALARM`). Bits are fixed, so
the verdict is the same on every run.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet import noise
from discreet.mechanisms.automatic_bounds import AutomaticBounds
from discreet.mechanisms.exponential import ExponentialMechanism
from discreet.mechanisms.key_selection import KeySelection
from discreet.mechanisms.noisy_max import ReportNoisyMax
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.propose_test_release import ProposeTestRelease
from discreet.mechanisms.quantile import Quantile, Quantiles
from discreet.mechanisms.smooth_sensitivity import SmoothSensitivity
from discreet.mechanisms.sparse_vector import AboveThreshold, SparseVector
from discreet.mechanisms.stability_histogram import GaussianThreshold, LaplaceThreshold
from discreet.mechanisms.top_k import TopK
from discreet.mechanisms.unbounded_quantile import UnboundedQuantile
from discreet.privacy import Neighbours

ALARM = 1e-6
RUNS = 60_000


def coded(rows):
    """One number for each different row."""
    codes = np.zeros(len(rows), dtype=np.int64)
    for column in rows.reshape(len(rows), -1).T:
        _, part = np.unique(column, return_inverse=True)
        _, codes = np.unique(codes * (part.max() + 1) + part, return_inverse=True)
    return codes


def goodness(draws, law):
    """The p-value of draws against a written law; rare outcomes are pooled."""
    _, first, counts = np.unique(coded(draws), return_index=True, return_counts=True)
    keys = [tuple(row.tolist()) if row.ndim else row.item() for row in draws[first]]
    observed = dict(zip(keys, map(int, counts), strict=True))
    assert set(observed) <= set(law)
    pairs = [(observed.get(o, 0), len(draws) * (low + high) / 2) for o, (low, high) in law.items()]
    common = [pair for pair in pairs if pair[1] > 5]
    rare = [pair for pair in pairs if pair[1] <= 5]
    if sum(expected for _, expected in rare) > 0:
        common.append((sum(n for n, _ in rare), sum(e for _, e in rare)))
    if len(common) == 1:
        return 1.0
    seen, expected = np.array(common).T
    return float(stats.chisquare(seen, expected * seen.sum() / expected.sum()).pvalue)


def covered(hits, runs, confidence):
    """Whether so many successes are in keeping with at least this probability."""
    return stats.binom.cdf(hits, runs, confidence) > ALARM


LAWFUL = [
    ExponentialMechanism(5, epsilon=1),
    ExponentialMechanism(3, epsilon=Fraction(7, 3), sensitivity=Fraction(1, 3), monotone=True),
    PermuteAndFlip(5, epsilon=1),
    PermuteAndFlip(2, epsilon=4, sensitivity=0.25),
    TopK(2, 4, epsilon=3),
    TopK(3, 3, epsilon=5, monotone=True),
    Quantile(0.5, 0, 16, epsilon=1),
    Quantile(0.9, -8, 8, epsilon=2, grid=0.25, neighbours=Neighbours.CHANGE_ONE),
    KeySelection(epsilon=1, delta=1e-2),
    KeySelection(epsilon=3, delta=1e-1, max_groups_per_unit=3),
]


@pytest.mark.parametrize("mechanism", LAWFUL, ids=lambda mechanism: type(mechanism).__name__)
def test_draws_follow_the_written_law(mechanism):
    claim = mechanism.claim
    for pair in claim.pairs:
        for side in (pair.left, pair.right):
            assert goodness(claim.draw(side, RUNS), claim.law(side)) > ALARM


def test_multiplicities_are_weights():
    scores, many = [0, 2, 5, -1], [1000, 30, 1, 7]
    weights = [m * math.exp(s / 2) for s, m in zip(scores, many, strict=True)]
    law = {i: (w / sum(weights),) * 2 for i, w in enumerate(weights)}
    assert goodness(noise.choose(scores, 2, RUNS, many), law) > ALARM


def test_a6_hidden_and_shown_keys_come_at_their_exact_rates():
    for rule in (LaplaceThreshold(epsilon=1, delta=1e-2), GaussianThreshold(epsilon=1, delta=1e-2)):
        for count in (1, rule.threshold - 1, rule.threshold, rule.threshold + 3):
            shown = np.count_nonzero(rule.claim.draw({"a": count}, RUNS))
            p = rule.keep_probability(count).upper
            assert stats.binomtest(shown, RUNS, p).pvalue > ALARM


def test_utilities_fall_short_of_the_best_as_seldom_as_promised():
    for confidence in (0.5, 0.9, 0.99):
        for mechanism in (
            ExponentialMechanism(40, epsilon=1),
            PermuteAndFlip(40, epsilon=1),
            ReportNoisyMax(40, epsilon=1),
        ):
            gap = math.floor(mechanism.error(confidence)) + 1
            scores = np.array([0] + [-gap] * 39)
            best = np.count_nonzero(mechanism.select(scores, 20_000) == 0)
            assert covered(best, 20_000, confidence)


def test_peeling_falls_short_as_seldom_as_promised():
    mechanism = TopK(2, 12, epsilon=2)
    gap = mechanism.error(0.9)
    scores = np.array([0.0, 0.0] + [-gap - 1e-9] * 10)
    good = np.all(mechanism.select(scores, 20_000) < 2, axis=1).sum()
    assert covered(int(good), 20_000, 0.9)


def test_ranks_are_missed_as_seldom_as_promised():
    mechanism = Quantile(0.5, 0, 1024, epsilon=1)
    data = np.arange(200)
    cells = mechanism.claim.draw(data, 20_000)
    missed = np.maximum(0, np.maximum(100 - (cells + 1), np.minimum(cells, 200) - 100))
    assert covered(int((missed <= mechanism.error(0.9)).sum()), 20_000, 0.9)


def test_ranks_of_several_quantiles_are_missed_as_seldom_as_promised():
    mechanism = Quantiles([0.25, 0.5, 0.75], 0, 1023, epsilon=2)
    n = 1000
    cells = mechanism.claim.draw(np.arange(n), 300)
    targets = np.array([0.25, 0.5, 0.75]) * n
    missed = np.maximum(0, np.maximum(targets - (cells + 1), np.minimum(cells, n) - targets))
    assert covered(int((missed.max(axis=1) <= mechanism.error(0.9)).sum()), 300, 0.9)


def test_unbounded_quantiles_are_missed_as_seldom_as_promised():
    mechanism = UnboundedQuantile(0.5, epsilon=1, lower=0)
    data = np.arange(4000)
    answers = mechanism.claim.draw(data, 5000)
    ladder = np.array(mechanism.ladder)
    before = ladder[np.maximum(0, np.searchsorted(ladder, answers) - 1)]
    w = mechanism.error(0.9)
    enough = np.minimum(answers + 1, 4000) >= 2000 - w
    first = (before + 1 <= 2000 + w) | (answers == 0)
    assert covered(int((enough & first).sum()), 5000, 0.9)


def test_sparse_vectors_are_wrong_as_seldom_as_promised():
    for vector in (
        SparseVector(threshold=0, epsilon=1, hits=2),
        AboveThreshold(threshold=0, epsilon=1),
    ):
        w = int(vector.error(0.9, queries=8))
        values = [-w - 1] * 7 + [w + 1]
        marks, _ = vector.runs(vector.bars(values), 20_000)
        right = np.all(marks == [0] * 7 + [1], axis=1).sum()
        assert covered(int(right), 20_000, 0.9)


def test_answers_are_off_as_seldom_as_promised():
    trial = ProposeTestRelease(bound=3, epsilon=1, delta=1e-2)
    rows = trial.claim.draw((0, 10**6), 20_000)
    smooth = SmoothSensitivity(global_sensitivity=50, epsilon=1, delta=1e-2)
    draws = smooth.claim.draw((0, (50,)), 20_000)
    laplace = LaplaceThreshold(epsilon=1, delta=1e-2, max_groups_per_unit=3)
    gaussian = GaussianThreshold(epsilon=1, delta=1e-2, max_groups_per_unit=3)
    for confidence in (0.5, 0.95):
        near = [
            (np.abs(rows[:, 1]) <= trial.error(confidence)).sum(),
            (np.abs(draws) <= smooth.error(confidence)).sum(),
        ]
        for rule in (laplace, gaussian):
            noisy = rule.claim.draw({"a": 10**6}, 20_000)[:, 0]
            near.append((np.abs(noisy - 10**6) <= rule.error(confidence)).sum())
        assert all(covered(int(n), 20_000, confidence) for n in near)
        # Exact widths: one step less would not do.
        tight = (np.abs(rows[:, 1]) <= trial.error(confidence) - 1).mean()
        assert tight < confidence


def test_rows_are_cut_off_as_seldom_as_promised():
    mechanism = AutomaticBounds(epsilon=1, largest=2**10)
    few = int(mechanism.error(0.9)) // (mechanism.bins - 1)
    values = [2**j for j in range(11) for _ in range(few + 1)]
    bounds = mechanism.claim.draw(values, 5000)
    whole = np.all(bounds == [0, 2**10], axis=1).sum()
    assert covered(int(whole), 5000, 0.9)


def test_e5_draws_of_different_keys_and_questions_are_not_correlated():
    # Failure class "correlated noise": |z| < 6 for each pair, Bonferroni over a handful of pairs.
    marks, _ = (v := SparseVector(threshold=0, epsilon=1, hits=9)).runs(v.bars([0, 0]), RUNS)
    two = {"max_groups_per_unit": 2}
    noisy = LaplaceThreshold(epsilon=1, delta=1e-2, **two).claim.draw({"a": 50, "b": 50}, RUNS)
    rule = KeySelection(epsilon=2, delta=0.5, **two)
    kept = rule.keeps(np.full(2 * RUNS, 2)).reshape(RUNS, 2)
    for pair in (noisy, kept):
        z = np.corrcoef(pair.T)[0, 1] * math.sqrt(RUNS)
        assert abs(z) < 6
    # Questions of one run share the threshold's noise, so they have to be correlated.
    assert np.corrcoef(marks.T.astype(float))[0, 1] * math.sqrt(RUNS) > 6


def worst_excess(left, right, epsilon):
    """A lower bound, wrong with probability 1e-6, on how far P(S) exceeds e^epsilon Q(S).

    The set S is chosen on a third of the draws and judged on the others.
    """
    codes = coded(np.concatenate([left, right]))
    a, b = codes.reshape(2, -1)
    third = a.size // 3
    p, q = (np.bincount(x[:third], minlength=codes.max() + 1) for x in (a, b))
    chosen = p > math.exp(epsilon) * (q + 3)
    hits, false = (int(chosen[x[third:]].sum()) for x in (a, b))
    rest = a.size - third
    low = stats.beta.ppf(ALARM / 2, hits, rest - hits + 1) if hits else 0.0
    high = stats.beta.ppf(1 - ALARM / 2, false + 1, rest - false)
    return low - math.exp(epsilon) * high


CLAIMS = [
    *LAWFUL,
    ReportNoisyMax(3, epsilon=1),
    ReportNoisyMax(3, epsilon=1, monotone=True),
    ReportNoisyMax(3, epsilon=1, sensitivity=Fraction(1, 2), grid=0.25),
    TopK(2, 3, epsilon=1, peel="permute-and-flip"),
    SparseVector(threshold=0, epsilon=1, hits=1),
    SparseVector(threshold=5, epsilon=1, hits=3, monotone=True),
    SparseVector(threshold=0, epsilon=2, hits=1, numeric=True),
    AboveThreshold(threshold=0, epsilon=1),
    SmoothSensitivity(global_sensitivity=1000, epsilon=1, delta=1e-2),
    ProposeTestRelease(bound=1, epsilon=1, delta=1e-2),
    Quantiles([0.25, 0.5, 0.75], 0, 4, epsilon=1),
    Quantiles([0.25, 0.5, 0.75], 0, 4, epsilon=1, neighbours=Neighbours.CHANGE_ONE),
    UnboundedQuantile(0.5, epsilon=1, growth=2),
    LaplaceThreshold(epsilon=1, delta=1e-2),
    GaussianThreshold(epsilon=1, delta=1e-2, max_groups_per_unit=2),
    AutomaticBounds(epsilon=1, failure=0.5, largest=16),
]


@pytest.mark.usefixtures("fixed_bits")
@pytest.mark.audit  # a second opinion: the auditor examines all claims on every run
@pytest.mark.parametrize("mechanism", CLAIMS, ids=lambda mechanism: type(mechanism).__name__)
def test_no_claim_is_refuted_by_its_own_pairs(mechanism):
    claim = mechanism.claim
    for pair in claim.pairs:
        left, right = claim.draw(pair.left, RUNS), claim.draw(pair.right, RUNS)
        for epsilon in (0.5, 1.0):
            delta = claim.guarantee.delta(epsilon).upper
            assert worst_excess(left, right, epsilon) <= delta
            assert worst_excess(right, left, epsilon) <= delta


def test_the_refuter_refutes():
    # Half the noise that epsilon = 1 asks for, and the known mistakes, so that the above can fail.
    mistakes = [
        ExponentialMechanism(20, epsilon=2),
        ReportNoisyMax(3, epsilon=2),
        SparseVector(threshold=0, epsilon=2.5, hits=1),
        LaplaceThreshold(epsilon=2, delta=1e-1),
        KeySelection(epsilon=1, delta=1e-1),
    ]
    for mechanism in mistakes:
        claim = mechanism.claim
        found = max(
            worst_excess(*(claim.draw(side, RUNS) for side in sides), 1.0)
            for pair in claim.pairs
            for sides in ((pair.left, pair.right), (pair.right, pair.left))
        )
        assert found > (1e-2 if isinstance(mechanism, LaplaceThreshold | KeySelection) else 0)
