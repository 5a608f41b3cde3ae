"""One table of all mechanisms, and what the tests have to show of each.

Whoever adds a mechanism finds here what is missing: a second computation of its law, how far an
answer is off, its neighbours, its parameters. Bits are fixed; with fresh ones a sound mechanism
would fail one of these checks with probability below 1e-5.
"""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import exact_laws as exact
from discreet.audit import audit_claim, conformance
from discreet.audit.catalogue import CATALOGUE
from discreet.errors import InputError
from discreet.mechanisms.automatic_bounds import AutomaticBounds
from discreet.mechanisms.continual import FactorizedCount, TreeCount
from discreet.mechanisms.exponential import ExponentialMechanism
from discreet.mechanisms.gaussian import Gaussian, RoundedGaussian
from discreet.mechanisms.histogram import Histogram
from discreet.mechanisms.key_selection import KeySelection
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.noisy_max import ReportNoisyMax
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.permute_and_flip_quantile import PermuteAndFlipQuantile
from discreet.mechanisms.propose_test_release import ProposeTestRelease, TestedMedian
from discreet.mechanisms.quantile import Quantile, Quantiles
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.reusable_holdout import Thresholdout, _Scores
from discreet.mechanisms.smooth_sensitivity import SmoothMedian, SmoothSensitivity
from discreet.mechanisms.sparse_vector import AboveThreshold, SparseVector
from discreet.mechanisms.stability_histogram import GaussianThreshold, LaplaceThreshold
from discreet.mechanisms.staircase import Staircase
from discreet.mechanisms.subsample_aggregate import SubsampleAggregate
from discreet.mechanisms.top_k import TopK
from discreet.mechanisms.unbounded_quantile import UnboundedQuantile
from discreet.privacy import Neighbours

ADD, CHANGE = Neighbours.ADD_REMOVE, Neighbours.CHANGE_ONE
RUNS, ALARM = 20_000, 1e-7


@dataclass(frozen=True)
class Row:
    """A mechanism, data for it, the law of what is released about them, and how far off that is.

    `wide` is what is other where an error shows best: data, parameters, how to draw.
    """

    parameters: dict[str, Any]
    value: Any
    law: Callable[[Any], dict]
    miss: Callable[[Any, Any, np.ndarray], np.ndarray]
    outcome: Callable[[np.ndarray], Any] = lambda rows: rows
    wide: dict[str, Any] | None = None
    of_error: tuple[Any, ...] = ()  # what else `error` takes
    tight: bool = False  # whether an error one step smaller would not do


def off(_rule, value, rows):
    """How far a number is from the truth."""
    return np.abs(rows - value)


def first_off(_rule, value, rows):
    return np.abs(rows[:, 0] - value[0])


def below_best(rule, scores, rows):
    del rule
    return max(scores) - np.array(scores)[rows]


def below_best_left(rule, scores, rows):
    """The worst of all rounds."""
    worst = []
    for row in rows:
        left, gaps = list(range(len(scores))), []
        for pick in row:
            gaps.append(max(scores[i] for i in left) - scores[pick])
            left.remove(pick)
        worst.append(max(gaps))
    del rule
    return np.array(worst)


def wrong_side(rule, values, rows):
    """By how much a value was on the other side of the threshold than was said."""
    over = np.array(values) - float(rule.threshold)
    return np.where(rows == 1, -over, np.where(rows == 0, over, 0)).max(axis=1)


def first_wrong(rule, values, rows):
    """The same of a position: all before it are said to be below, it is said to be above."""
    places = np.arange(len(values))
    said = np.where(places < rows[:, None], 0, np.where(places == rows[:, None], 1, -1))
    said[rows == -1] = 0
    return wrong_side(rule, values, said)


def ranks_off(q, points, values):
    """By how many ranks each point misses being the q-quantile."""
    values = np.sort(values)
    less, most = (np.searchsorted(values, points, side=side) for side in ("left", "right"))
    n = len(values)
    return np.maximum(0, np.maximum(float(q) * n - most, less - float(q) * n))


def ladder_off(rule, values, rows):
    steps = np.array(rule.ladder)
    before = steps[np.maximum(np.searchsorted(steps, rows) - 1, 0)]
    data, n = np.sort(values), len(values)
    most, least = (np.searchsorted(data, points, side="right") for points in (rows, before))
    q = float(rule.quantile)
    return np.maximum(q * n - most, np.where(rows == steps[0], 0, least - q * n))


def rows_outside(_rule, values, rows):
    data = np.array(values)
    return ((data < rows[:, :1]) | (data > rows[:, 1:])).sum(axis=1)


def hidden(rule, counts, rows):
    """How many people are under a key that was hidden."""
    del rule
    return np.where(rows[:, 0] == 1, 0, counts["a"])


def holdout_off(rule, value, rows):
    train, holdout, queries = value
    held = [float(rule.means(query, train, holdout)[1]) for query in queries]
    asked, said = np.split(rows, 2, axis=1)
    return np.where(asked == -1, 0, np.abs(said - held)).max(axis=1)


def estimate_off(survey, answers, rows):
    truth = np.bincount(answers, minlength=survey.k) / len(answers)
    return np.array([np.abs(survey.estimate(row) - truth)[0] for row in rows])


def surveyed(survey, answers, runs):
    return survey.release(np.tile(answers, (runs, 1)))


def both_sparse(rule):
    return exact.laplace(float(rule.threshold_scale)), exact.laplace(float(rule.query_scale))


def of_ladder(rule):
    """The first point with a hit; the last one stands for none."""
    gaps = [2 * sum(x <= g for x in (0, 1, 900, 10**5)) - 4 for g in rule.ladder]
    places = exact.first_hit(gaps, *both_sparse(rule.test))
    return exact.mixed(*((p, {rule.ladder[place]: 1}) for place, p in places.items()))


def contradicted(rule):
    """The holdout of four says 1/2 where training data say 0; the threshold is at 1/4."""
    step = float(rule.guard.grid.step)
    scales = [float(s) * step for s in (rule.guard.threshold_scale, rule.guard.query_scale)]
    yes = exact.sum_tail(*scales, float(rule.guard.threshold) - 0.5)
    return {1.0: yes, 0.0: 1 - yes}


def at_first_step(rule):
    """Twenty equal parts of the normal law of the first answer."""
    del rule
    return dict.fromkeys(range(20), 1 / 20)


def part_of_normal(rows):
    deviation = math.sqrt(float(TABLE_FACTORIZED.variance)) * 2.0**-20
    return np.floor(20 * stats.norm.cdf(rows[:, 0] / deviation)).astype(int)


TABLE_FACTORIZED = FactorizedCount(horizon=7, rho=0.5)
OF_BLOCKS = Quantile(0.5, 0, 4, epsilon=1, neighbours=CHANGE)
IS_ONE = _Scores((0, 1, 0, 0))
SPREAD = tuple(range(0, 128, 2))

TABLE = {
    Laplace: Row(
        {"epsilon": 0.5, "sensitivity": 1}, 0, lambda _: exact.laplace(2), off, tight=True
    ),
    Gaussian: Row(
        {"epsilon": 1, "delta": 0.01, "sensitivity": 1},
        0,
        lambda rule: exact.gaussian(float(rule.variance)),
        off,
        tight=True,
    ),
    Staircase: Row(
        {"epsilon": 1, "sensitivity": 5},
        0,
        lambda rule: exact.staircase(1, 5, rule.first),
        off,
        tight=True,
    ),
    RoundedGaussian: Row(
        {"epsilon": 1, "delta": 0.01, "sensitivity": 1},
        0,
        lambda rule: exact.rounded_gaussian(float(rule.variance)),
        off,
        tight=True,
    ),
    Histogram: Row(
        {"bins": 3, "epsilon": 0.5},
        [5, 0, 2],
        lambda _: {5 + k: p for k, p in exact.laplace(2).items()},
        first_off,
        lambda rows: rows[:, 0],
        tight=True,
    ),
    RandomizedResponse: Row(
        {"epsilon": 1, "k": 4},
        1,
        lambda _: {i: (math.e if i == 1 else 1) / (math.e + 3) for i in range(4)},
        estimate_off,
        wide={"value": [0] * 30 + [1] * 10, "draw": surveyed},
        of_error=(40,),
    ),
    ExponentialMechanism: Row(
        {"outputs": 3, "epsilon": 1}, (0, 1, 3), lambda _: exact.softmax((0, 1, 3), 2), below_best
    ),
    PermuteAndFlip: Row(
        {"outputs": 3, "epsilon": 1},
        (0, 1, 3),
        lambda _: exact.permuted_and_flipped((0, 1, 3), 2),
        below_best,
    ),
    ReportNoisyMax: Row(
        {"outputs": 3, "epsilon": 2},
        (0, 1, 3),
        lambda _: exact.noisy_max((0, 1, 3), exact.laplace(1)),
        below_best,
    ),
    TopK: Row(
        {"k": 2, "outputs": 3, "epsilon": 2},
        (0, 1, 3),
        lambda _: exact.peeled((0, 1, 3), 2, 2),
        below_best_left,
    ),
    SparseVector: Row(
        {"threshold": 1, "epsilon": 2, "hits": 2},
        (1, 0, 3, 2),
        lambda rule: exact.marks((0, -1, 2, 1), *both_sparse(rule), 2),
        wrong_side,
        of_error=(4,),
    ),
    AboveThreshold: Row(
        {"threshold": 1, "epsilon": 2},
        (1, 0, 3, 2),
        lambda rule: exact.first_hit((0, -1, 2, 1), *both_sparse(rule)),
        first_wrong,
        of_error=(4,),
    ),
    KeySelection: Row(
        {"epsilon": 1, "delta": 0.01},
        {"a": 3},
        lambda _: {1: (p := exact.kept(3, 1, 0.01)), 0: 1 - p},
        hidden,
        lambda rows: rows[:, 0],
        wide={"value": lambda error: {"a": int(error) + 1}},
    ),
    LaplaceThreshold: Row(
        {"epsilon": 1, "delta": 0.01},
        {"a": 5},
        lambda rule: exact.thresholded(5, exact.laplace(1), rule.threshold),
        lambda _, counts, rows: np.abs(rows[:, 0] - counts["a"]),
        lambda rows: rows[:, 0],
        wide={"value": {"a": 10**6}},
        tight=True,
    ),
    GaussianThreshold: Row(
        {"epsilon": 1, "delta": 0.01},
        {"a": 9},
        lambda rule: exact.thresholded(9, exact.gaussian(float(rule.law.variance)), rule.threshold),
        lambda _, counts, rows: np.abs(rows[:, 0] - counts["a"]),
        lambda rows: rows[:, 0],
        wide={"value": {"a": 10**6}},
        tight=True,
    ),
    SmoothSensitivity: Row(
        {"global_sensitivity": 10, "epsilon": 1, "delta": 0.01},
        (7, (10,)),
        lambda rule: {7 + k: p for k, p in exact.laplace(float(rule.law.scale(10))).items()},
        lambda _, value, rows: np.abs(rows - value[0]),
        tight=True,
    ),
    SmoothMedian: Row(
        {"lower": 2, "upper": 10, "epsilon": 1, "delta": 0.01},
        (),
        lambda rule: {2 + k: p for k, p in exact.laplace(float(rule.noisy.law.scale(8))).items()},
        lambda _, __, rows: np.abs(rows - 2),
        tight=True,
    ),
    ProposeTestRelease: Row(
        {"bound": 1, "epsilon": 1, "delta": 0.01},
        (4, 8),
        lambda rule: exact.tested(
            4, exact.at_least(exact.laplace(2), rule.cutoff - 8), exact.laplace(2)
        ),
        lambda _, value, rows: np.abs(rows[:, 1] - value[0]),
        wide={"value": (4, 10**6)},
        tight=True,
    ),
    TestedMedian: Row(
        {"lower": 0, "upper": 9, "bound": 1, "epsilon": 1, "delta": 0.01},
        (3,) * 10,
        lambda rule: exact.tested(
            3, exact.at_least(exact.laplace(2), rule.trial.cutoff - 9), exact.laplace(2)
        ),
        lambda _, value, rows: np.abs(rows[:, 1] - value[0]),
        wide={"value": (3,) * 200},
        tight=True,
    ),
    Quantile: Row(
        {"quantile": 0.25, "lower": 0, "upper": 127, "epsilon": 1},
        (3, 3, 60, 100),
        lambda _: exact.quantile((3, 3, 60, 100), range(128), 0.25, 1.5),
        lambda rule, values, rows: ranks_off(rule.quantile, rows, values),
        wide={"value": SPREAD},
    ),
    PermuteAndFlipQuantile: Row(
        {"quantile": 0.25, "lower": 0, "upper": 7, "epsilon": 1},
        (1, 1, 4, 6),
        lambda _: exact.permuted_and_flipped(exact.rank_scores((1, 1, 4, 6), range(8), 0.25), 1.5),
        lambda rule, values, rows: ranks_off(rule.quantile, rows, values),
        wide={"value": SPREAD, "parameters": {"upper": 127}},
    ),
    Quantiles: Row(
        {"quantiles": [0.25, 0.5, 0.75], "lower": 0, "upper": 5, "epsilon": 2},
        (1, 1, 3, 4, 4),
        lambda _: exact.three_quantiles((1, 1, 3, 4, 4), range(6), (0.25, 0.5, 0.75), 2),
        lambda rule, values, rows: np.max(
            [ranks_off(q, rows[:, i], values) for i, q in enumerate(rule.quantiles)], axis=0
        ),
        wide={"value": tuple(range(6))},
    ),
    UnboundedQuantile: Row(
        {"quantile": 0.5, "epsilon": 2, "lower": 0, "growth": 1000},
        (0, 1, 900, 10**5),
        of_ladder,
        ladder_off,
        wide={"value": tuple(range(0, 10**6, 10**4)), "parameters": {"growth": 2}},
    ),
    SubsampleAggregate: Row(
        {"statistic": max, "blocks": 2, "aggregate": OF_BLOCKS, "default": 0},
        (1, 3),
        lambda _: exact.mixed(
            (0.5, exact.quantile((0, 3), range(5), 0.5, 2)),
            (0.5, exact.quantile((1, 3), range(5), 0.5, 2)),
        ),
        lambda _, values, rows: ranks_off(0.5, rows, (max(values),)),
        wide={"value": (3, 1), "parameters": {"blocks": 1}},
    ),
    AutomaticBounds: Row(
        {"epsilon": 1, "largest": 4, "failure": 0.1},
        (-1, 3, 3, 3, 3, 3, 2, 2),
        lambda rule: exact.outermost(
            [0, 0, 1, 0, 2, 5], exact.laplace(1), rule.threshold, [-4, -2, -1, 0, 1, 2, 4]
        ),
        rows_outside,
    ),
    Thresholdout: Row(
        {"size": 4, "threshold": 0.25, "epsilon": 8, "hits": 1},
        ([0] * 4, [1, 1, 0, 0], (IS_ONE,)),
        contradicted,
        holdout_off,
        lambda rows: rows[:, 0],
        wide={"value": ([0] * 4, [1, 1, 0, 0], (IS_ONE,) * 3)},
        of_error=(3,),
    ),
    TreeCount: Row(
        {"horizon": 31, "epsilon": 2},
        [1, 0, 2, 0, 0, 1, 0] + [0] * 24,
        lambda _: {4 + k: p for k, p in exact.added(*[exact.laplace(1)] * 7).items()},
        lambda _, value, rows: np.abs(rows[:, -1] - sum(value)),
        lambda rows: rows[:, -1],
        tight=True,
    ),
    FactorizedCount: Row(
        {"horizon": 7, "rho": 0.5},
        [0] * 7,
        at_first_step,
        lambda _, __, rows: np.abs(rows[:, -1]),
        part_of_normal,
    ),
}
every = pytest.mark.parametrize("kind", TABLE, ids=lambda kind: kind.__name__)


def make(kind, **changes):
    return kind(**{**TABLE[kind].parameters, **changes})


# --- the walk ------------------------------------------------------------------------------------


def test_every_mechanism_is_in_the_table():
    assert {type(one()) for one in CATALOGUE.values()} == set(TABLE)


def test_what_the_table_does_not_ask_is_asked_of_the_whole_catalogue():
    asked = {check.__name__ for check in conformance.CHECKS}

    assert asked >= {
        "check_strange_values",  # NaN and infinity
        "check_odd_data",  # huge, tiny, empty, malformed
        "check_release",  # one at a time and in bulk: the scalar and the vector path
        "check_replay",  # neighbours, and the distance between them
        "check_error",  # what is no confidence
    }


# --- distribution --------------------------------------------------------------------------------


def disagreement(law, outcomes):
    """The p-value of outcomes under a law; what is expected less than five times is joined."""
    kinds, counts = np.unique(np.asarray(outcomes), axis=0, return_counts=True)
    keys = map(tuple, kinds.tolist()) if kinds.ndim == 2 else kinds.tolist()
    found, runs = dict(zip(keys, counts.tolist(), strict=True)), int(counts.sum())
    common = [key for key, p in law.items() if p * runs >= 5]
    seen, expected = [found.pop(key, 0) for key in common], [law[key] * runs for key in common]
    seen, expected = [*seen, sum(found.values())], [*expected, max(0.0, runs - sum(expected))]
    if expected[-1] < 5:  # too few to be held against anything
        assert seen[-1] <= 40
        seen, expected = seen[:-1], [e * sum(seen[:-1]) / sum(expected[:-1]) for e in expected[:-1]]
    return stats.chisquare(seen, expected).pvalue


@every
def test_released_is_what_the_law_says_and_not_what_another_one_says(kind):
    row, rule = TABLE[kind], make(kind)
    law, drawn = row.law(rule), row.outcome(rule.claim.draw(row.value, RUNS))
    ranked = sorted(law, key=law.get, reverse=True)
    bent = exact.normed({key: law[key] * (0.9 if i % 2 else 1.1) for i, key in enumerate(ranked)})

    assert sum(law.values()) == pytest.approx(1, abs=1e-4)
    assert disagreement(law, drawn) > ALARM
    assert disagreement(bent, drawn) < ALARM


# --- error ---------------------------------------------------------------------------------------


def misses(row, rule, value, runs):
    draw = (row.wide or {}).get("draw", lambda rule, value, runs: rule.claim.draw(value, runs))
    return row.miss(rule, value, np.asarray(draw(rule, value, runs)))


@every
def test_the_stated_error_holds_as_often_as_stated(kind):
    row, runs = TABLE[kind], 4000
    wide = row.wide or {}
    rule, value = make(kind, **wide.get("parameters", {})), wide.get("value", row.value)
    off = None if callable(value) else misses(row, rule, value, runs)
    for confidence in (0.5, 0.9, 0.99):
        error = rule.error(confidence, *row.of_error)
        found = off if off is not None else misses(row, rule, value(error), runs)
        beyond, there = int((found > error).sum()), int((found >= error).sum())
        assert stats.binom.sf(beyond - 1, runs, 1 - confidence) > ALARM
        if row.tight:
            assert stats.binom.cdf(there, runs, 1 - confidence) > ALARM


# --- neighbours ----------------------------------------------------------------------------------


def takes(kind):
    return inspect.signature(kind).parameters


@every
def test_the_claim_about_the_other_neighbours_stands(kind):
    """The catalogue has all claims about those that a mechanism is made for if nothing is said."""
    before, knows = make(kind).guarantee.neighbours, "neighbours" in takes(kind)
    other = CHANGE if before is ADD or not knows else ADD
    rule = make(kind, **({"neighbours": other} if knows else {}))
    audit = audit_claim(kind.__name__, rule.claim, samples=10_000, alpha=1e-6)

    assert rule.guarantee.neighbours is other
    assert not audit.refuted, audit.strongest
    conformance.check_replay(rule)


def test_one_mechanism_alone_knows_one_kind_of_neighbours():
    assert [kind for kind in TABLE if "neighbours" not in takes(kind)] == [Thresholdout]


# --- parameters ----------------------------------------------------------------------------------

NEVER = (math.nan, math.inf, -math.inf, "much", [1, 2], 1j, object())
ANY_SIGN = {"threshold", "lower", "upper", "default"}
FROM_ZERO = {"quantile"}
NOT_NUMBERS = {"neighbours", "monotone", "numeric", "utility", "statistic", "aggregate"}
INSTEAD = {"scale", "rho", "variance", "gamma"}
LISTS = {"outputs", "quantiles"}
NAMES = {"peel", "noise"}


def bad(name):
    """Values that a parameter of this name can never have."""
    if name in NAMES:
        return ("much", 3, None)
    lists = (0, -1, [], [math.nan] * 2, [3, 3])
    if name in LISTS:
        return lists
    if name in {"bins", "range"}:  # [1, 2] are the edges of one bin, or the ends of a range
        return (*(one for one in NEVER if one != [1, 2]), *lists, [2, 1], 2.5)
    signs = () if name in ANY_SIGN else (-1,) if name in FROM_ZERO else (0, -1, Fraction(-1, 3))
    return (*NEVER, *signs)


@every
def test_parameters_that_are_none_are_refused_with_a_way_to_mend_them(kind):
    given = set(TABLE[kind].parameters)
    assert given <= set(takes(kind))
    for name in set(takes(kind)) - NOT_NUMBERS:
        other = {"epsilon", "delta", "rho"} - {name} if name in INSTEAD else set()
        base = {key: p for key, p in TABLE[kind].parameters.items() if key not in other}
        for value in bad(name):
            if kind is Quantiles and name == "quantiles" and isinstance(value, int):
                continue  # a number where a list belongs is a mistake in the program
            with pytest.raises(InputError, match="Fix: "):
                kind(**{**base, name: value})
