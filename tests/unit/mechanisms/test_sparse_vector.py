"""Sparse vector: exact privacy by enumeration, the known broken variants, and its state."""

import copy
import math
import os
import pickle
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from discreet.errors import BudgetError, InputError
from discreet.mechanisms.sparse_vector import AboveThreshold, SparseVector
from discreet.privacy import Pure


def tail(scale, steps):
    """P(noise >= steps) for whole steps, an array."""
    q = math.exp(-1 / scale)
    positive = q ** np.maximum(steps, 0) / (1 + q)
    return np.where(steps >= 0, positive, 1 - q ** np.maximum(1 - steps, 0) / (1 + q))


def enumerate_runs(values, *, threshold_scale, query_scale, hits):
    """The law of the marks: sums over the noise of the threshold, which is 0 where its scale is."""
    reach = int(60 * threshold_scale)
    bent = np.arange(-reach, reach + 1)
    q = math.exp(-1 / threshold_scale) if threshold_scale else 0.0
    weight = (1 - q) / (1 + q) * q ** np.abs(bent)
    law = {}
    for marks in product((0, 1), repeat=len(values)):
        chance, seen, outcome = weight.copy(), 0, []
        for value, mark in zip(values, marks, strict=True):
            if seen == hits:
                outcome.append(-1)
                if mark:
                    chance *= 0.0
                continue
            above = tail(query_scale, bent - value)
            chance = chance * (above if mark else 1 - above)
            seen += mark
            outcome.append(mark)
        law[tuple(outcome)] = law.get(tuple(outcome), 0.0) + float(chance.sum())
    return law


def worst_loss(left, right):
    return max(abs(math.log(left[o] / right[o])) for o in left if left[o] > 1e-12)


def facts(mechanism):
    return {
        "threshold_scale": float(mechanism.threshold_scale),
        "query_scale": float(mechanism.query_scale),
        "hits": mechanism.hits,
    }


PAIRS = [
    ((0, 0, 0, 1), (1, 1, 1, 0)),
    ((0, 0, 0, 0, 1, 1), (1, 1, 1, 1, 0, 0)),
    ((0,) * 6, (1,) * 6),
    ((3, 0, -2, 5), (2, 1, -1, 4)),
]
ONE_WAY = [((0,) * 6, (1,) * 6), ((0, 0, 0, 1, 1), (0, 0, 0, 0, 0)), ((2, 0, 1), (2, 1, 1))]


@pytest.mark.parametrize("hits", [1, 2, 3])
def test_exact_losses_stay_within_epsilon(hits):
    mechanism = SparseVector(threshold=0, epsilon=1, hits=hits)
    assert mechanism.guarantee == Pure(1)
    losses = [
        worst_loss(
            enumerate_runs(left, **facts(mechanism)), enumerate_runs(right, **facts(mechanism))
        )
        for left, right in PAIRS
    ]
    assert 0.3 < max(losses) <= 1 + 1e-9


@pytest.mark.parametrize("hits", [1, 2])
def test_exact_losses_of_monotone_questions_stay_within_epsilon(hits):
    mechanism = SparseVector(threshold=0, epsilon=1, hits=hits, monotone=True)
    assert mechanism.query_scale < SparseVector(threshold=0, epsilon=1, hits=hits).query_scale
    for left, right in ONE_WAY:
        loss = worst_loss(
            enumerate_runs(left, **facts(mechanism)), enumerate_runs(right, **facts(mechanism))
        )
        assert loss <= 1 + 1e-9


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("noise not scaled by the number of hits", {"query_scale": 0.5}),
        ("no noise on the threshold", {"threshold_scale": 0.0}),
        ("never halts", {"hits": 99}),
        ("noise off by two", {"query_scale": 0.5, "threshold_scale": 0.5}),
    ],
)
def test_b8_published_variants_that_are_not_private_exceed_epsilon(name, change):
    # Failure class "SVT variants" (Lyu, Su, Li 2017): the enumeration tells them from the real one.
    mechanism = SparseVector(threshold=0, epsilon=1, hits=2)
    broken = facts(mechanism)
    for fact, value in change.items():
        broken[fact] = value if fact == "hits" or value == 0 else value * broken[fact]
    pairs = [((0,) * (9 - n) + (1,) * n, (1,) * (9 - n) + (0,) * n) for n in (2, 5)]

    def loss(scales):
        return max(
            worst_loss(enumerate_runs(left, **scales), enumerate_runs(right, **scales))
            for left, right in pairs
        )

    assert loss(facts(mechanism)) <= 1 + 1e-9
    assert loss(broken) > 1.01, name


@pytest.mark.parametrize("hits", [1, 2])
def test_runs_follow_the_exact_law(hits):
    mechanism = SparseVector(threshold=0, epsilon=2, hits=hits)
    values, runs = (0, 1, -1, 2), 60_000
    law = enumerate_runs(values, **facts(mechanism))
    marks, _ = mechanism.runs(mechanism.bars(values), runs)
    rows, counts = np.unique(marks, axis=0, return_counts=True)
    observed = {tuple(map(int, row)): int(n) for row, n in zip(rows, counts, strict=True)}
    assert set(observed) <= set(law)
    statistic = sum(
        (observed.get(o, 0) - p * runs) ** 2 / (p * runs) for o, p in law.items() if p * runs > 5
    )
    # At most 16 outcomes: chi-square with 15 degrees of freedom exceeds 56 with probability 1e-6.
    assert statistic < 56


def test_asking_one_by_one_has_the_law_of_a_whole_run():
    mechanism = SparseVector(threshold=0, epsilon=4, hits=1)
    law = enumerate_runs((0, 1), **facts(mechanism))
    counts = dict.fromkeys(law, 0)
    for _ in range(4000):
        run = mechanism.start()
        first = run.ask(0)
        counts[(1, -1) if first else (0, int(run.ask(1)))] += 1
    statistic = sum((counts[o] - 4000 * p) ** 2 / (4000 * p) for o, p in law.items())
    assert statistic < 27.6  # chi-square with 2 degrees of freedom, probability 1e-6


def test_b8_numeric_answers_have_noise_of_their_own():
    # Failure class "releases un-noised values": the answer is neither value nor noisy question.
    mechanism = SparseVector(threshold=0, epsilon=1, hits=3, numeric=True)
    shares = mechanism.epsilons
    assert sum(shares) == 1
    assert mechanism.answer_scale == 3 / shares[2]
    answers = {mechanism.release([10**6])[0] for _ in range(50)}
    assert len(answers) > 5
    assert min(answers) < 10**6 < max(answers)


def test_numeric_runs_answer_hits_alone():
    mechanism = SparseVector(threshold=0, epsilon=1, hits=2, numeric=True)
    below, first, second = mechanism.release([-(10**6), 10**6, 10**6, 10**6])
    assert below is None
    assert abs(first - 10**6) < 10**4
    assert abs(second - 10**6) < 10**4


def test_numeric_runs_asked_one_by_one_answer_hits_alone():
    run = SparseVector(threshold=0, epsilon=1, hits=2, numeric=True, grid=0.5).start()
    assert run.ask(-1e6) is None
    answers = [run.ask(1e6), run.ask(1e6)]
    assert all(abs(answer - 1e6) < 1e4 and (2 * answer).is_integer() for answer in answers)
    assert run.hits_left == 0


def test_a_run_refuses_everything_after_its_hits():
    run = SparseVector(threshold=0, epsilon=1, hits=2).start()
    assert [run.ask(10**6), run.ask(-(10**6)), run.ask(10**6)] == [True, False, True]
    assert run.hits_left == 0
    for value in (10**6, -(10**6)):
        with pytest.raises(BudgetError, match="charged again"):
            run.ask(value)


def test_releases_end_with_the_last_hit():
    assert SparseVector(threshold=0, epsilon=1, hits=2).release([10**6] * 5) == [True, True]
    assert SparseVector(threshold=0, epsilon=1, hits=2).release([]) == []


@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy, pickle.dumps])
def test_b8_a_run_cannot_be_copied_to_answer_twice(copier):
    with pytest.raises(InputError, match="cannot be copied"):
        copier(SparseVector(threshold=0, epsilon=1).start())


def test_e3_a_run_does_not_go_on_in_a_forked_process(monkeypatch):
    run = SparseVector(threshold=0, epsilon=1).start()
    here = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: here + 1)
    with pytest.raises(InputError, match="forked"):
        run.ask(0)


def test_above_threshold_gives_the_first_place_or_none():
    alarm = AboveThreshold(threshold=1000, epsilon=1)
    assert alarm.release([-(10**6)] * 70 + [10**6] * 70) == 70
    assert alarm.release([-(10**6)] * 3) is None
    assert alarm.release([]) is None


def test_blocks_of_questions_share_one_noise_of_the_threshold():
    mechanism = AboveThreshold(threshold=0, epsilon=1)
    values = (-6,) * 40
    marks, _ = mechanism.runs(mechanism.bars(values), 20_000)
    places = mechanism.first(mechanism.bars(values), 20_000)
    whole = np.where((marks == 1).any(axis=1), (marks == 1).argmax(axis=1), -1)
    for cut in (0, 10, 31, 32, 39):
        a, b = ((x >= 0) & (x <= cut) for x in (whole, places))
        # Two proportions of 20,000 draws each differ by 5 standard errors with probability 1e-6.
        assert abs(a.mean() - b.mean()) < 5 * math.sqrt(0.5 / 20_000)


def test_the_grid_pays_for_rounding():
    assert SparseVector(threshold=0.5, epsilon=1, sensitivity=1, grid=0.25).steps == 4
    assert SparseVector(threshold=0.5, epsilon=1, sensitivity=1.1, grid=0.25).steps == 5
    assert SparseVector(threshold=1, epsilon=1, sensitivity=3).steps == 3


def test_the_scale_of_questions_gives_epsilon():
    given = SparseVector(threshold=0, epsilon=Fraction(3, 7), hits=3, sensitivity=2)
    back = SparseVector(threshold=0, scale=given.query_scale, hits=3, sensitivity=2)
    assert back.epsilon == Fraction(3, 7)


@pytest.mark.parametrize("bad", [math.nan, math.inf, "7", None])
def test_c1_values_that_are_no_finite_numbers_are_refused(bad):
    mechanism = SparseVector(threshold=0, epsilon=1, grid=1)
    with pytest.raises(InputError):
        mechanism.release([0, bad])
    with pytest.raises(InputError):
        mechanism.start().ask(bad)


def test_huge_values_do_not_wrap():
    mechanism = SparseVector(threshold=2**63, epsilon=1, hits=2)
    assert mechanism.release([-(2**63), 2**64, 2**300]) == [False, True, True]


@pytest.mark.parametrize(
    "parameters",
    [
        {"threshold": 0},
        {"threshold": math.nan, "epsilon": 1},
        {"threshold": 0, "epsilon": 0},
        {"threshold": 0, "epsilon": 1, "hits": 0},
        {"threshold": 0, "epsilon": 1, "hits": 1.5},
        {"threshold": 0, "epsilon": 1, "sensitivity": -1},
        {"threshold": 0, "epsilon": 1e-30},
    ],
)
def test_bad_parameters_are_refused_at_birth(parameters):
    with pytest.raises(InputError):
        SparseVector(**parameters)


def test_the_margin_covers_threshold_and_questions():
    mechanism = SparseVector(threshold=0, epsilon=1, hits=2)
    w = int(mechanism.error(0.9, queries=4))
    law = enumerate_runs((w + 1, -w - 1, -w - 1, -w - 1), **facts(mechanism))
    assert law[(1, 0, 0, 0)] >= 0.9
    assert mechanism.error(0.9, queries=40) > mechanism.error(0.9, queries=4)
    numeric = SparseVector(threshold=0, epsilon=1, hits=2, numeric=True)
    assert numeric.error(0.9) > mechanism.error(0.9)


def test_lists_of_lists_are_refused():
    with pytest.raises(InputError, match="flat"):
        SparseVector(threshold=0, epsilon=1).release([[1, 2], [3, 4]])


@pytest.mark.parametrize(("threshold", "hits"), [(2.3, [2, 3]), (-2.3, [-3, -2]), (2.5, [2, 3])])
def test_whole_values_reach_a_fractional_threshold_from_the_next_whole_number_on(threshold, hits):
    """Rounded to the nearest, 2 would hit a threshold of 2.3 with an error of 0."""
    sure = SparseVector(threshold=threshold, epsilon=10**5)
    assert sure.error(0.999) == 0
    assert sure.release(hits) == [False, True]
    run = sure.start()
    assert [run.ask(value) for value in hits] == [False, True]
