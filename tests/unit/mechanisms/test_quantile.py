"""Quantiles by the exponential mechanism, against their laws written out point by point."""

import math
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import pytest

from discreet.audit import replay
from discreet.errors import InputError
from discreet.mechanisms.median import CellCounts
from discreet.mechanisms.quantile import Quantile, Quantiles
from discreet.privacy import BoundedRange, Neighbours

TOP = 3


def miss(data, g, q):
    n = len(data)
    most, less = sum(x <= g for x in data), sum(x < g for x in data)
    return max(0, q * n - most, less - q * n)


def point_law(data, ends, q, scale):
    weights = {g: math.exp(-miss(data, g, q) / scale) for g in range(ends[0], ends[1] + 1)}
    return {g: w / sum(weights.values()) for g, w in weights.items()}


@cache
def joint_law(data, ends, targets, epsilon):
    """The law of several quantiles, by the recursion in words: middle first, then both sides."""
    if not targets:
        return {(): 1.0}
    middle = len(targets) // 2
    q = targets[middle]
    law = {}
    for g, p in point_law(data, ends, q, 2 * max(q, 1 - q) / epsilon).items():
        on = data.count(g)
        left = tuple(x for x in data if x < g) + (g,) * math.floor(q * on)
        right = (g,) * (on - math.floor(q * on)) + tuple(x for x in data if x > g)
        before = tuple(t / q for t in targets[:middle])
        after = tuple((t - q) / (1 - q) for t in targets[middle + 1 :])
        for a, pa in joint_law(left, (ends[0], g), before, epsilon).items():
            for b, pb in joint_law(right, (g, ends[1]), after, epsilon).items():
                law[(*a, g, *b)] = law.get((*a, g, *b), 0.0) + p * pa * pb
    return law


def neighbours_of(data, kind):
    rest = data[1:]
    for x in range(TOP + 1):
        yield tuple(sorted((*rest, x) if kind is Neighbours.CHANGE_ONE else (*data, x)))


@pytest.mark.parametrize("kind", list(Neighbours))
@pytest.mark.parametrize("q", [0, 0.25, 0.5, 0.9, 1])
def test_exact_losses_and_their_range_stay_within_epsilon(q, kind):
    mechanism = Quantile(q, 0, TOP, epsilon=1, neighbours=kind)
    assert mechanism.guarantee == BoundedRange(1, neighbours=kind)
    law = mechanism.claim.law
    for size in (1, 2, 3):
        for data in combinations_with_replacement(range(TOP + 1), size):
            for other in neighbours_of(data, kind):
                left, right = law(data), law(other)
                loss = [math.log(left[g][0] / right[g][1]) for g in left]
                assert max(map(abs, loss)) <= 1 + 1e-12
                assert max(loss) - min(loss) <= 1 + 1e-12


@pytest.mark.parametrize("data", [(), (0,), (3, 3), (0, 1, 1, 2)])
def test_the_written_law_is_that_of_every_point(data):
    mechanism = Quantile(Fraction(1, 3), 0, TOP, scale=2)
    law = mechanism.claim.law(data)
    expected = point_law(data, (0, TOP), Fraction(1, 3), 2)
    assert {g: low for g, (low, _) in law.items()} == pytest.approx(expected)


def test_the_sensitivity_is_what_one_person_moves():
    assert Quantile(0.5, 0, 8, epsilon=1).scale == 1
    assert Quantile(0.9, 0, 8, epsilon=1).scale == Fraction(9, 5)
    assert Quantile(0.9, 0, 8, epsilon=1, neighbours=Neighbours.CHANGE_ONE).scale == 2
    assert Quantile(0.5, 0, 8, scale=1).epsilon == 1


@pytest.mark.parametrize("kind", list(Neighbours))
@pytest.mark.parametrize("q", [0, 1])
def test_misses_of_an_end_move_one_way_and_cost_half(q, kind):
    mechanism = Quantile(q, 0, TOP, epsilon=1, neighbours=kind)
    assert mechanism.scale == 1
    losses = [
        [math.log(p[0] / r[1]) for p, r in zip(left.values(), right.values(), strict=True)]
        for pair in mechanism.claim.pairs
        for left, right in [(mechanism.claim.law(pair.left), mechanism.claim.law(pair.right))]
    ]
    assert max(max(loss) - min(loss) for loss in losses) == pytest.approx(1)


def test_values_and_counts_give_the_same_law():
    mechanism = Quantile(0.5, 0, 9, epsilon=1)
    values = [2, 2, 5, 9, 40, -3]
    counts = CellCounts.of_counts({0: 1, 2: 2, 5: 1, 9: 2})
    assert mechanism.claim.law(values) == mechanism.claim.law(counts)


def test_wide_ranges_and_fine_grids_work():
    mechanism = Quantile(0.5, -(2**20), 2**20, epsilon=1, grid=2**-30)
    answer = mechanism.release(np.full(10_000, 3.5))
    assert abs(answer - 3.5) < 1e-3
    assert Quantile(0.5, 0, 2**61, epsilon=1).release([7] * 10_000) == 7


def test_heavy_ties_are_the_quantile_itself():
    # 60 % of people share one value: the points just beyond it are no better than it is.
    data = [0] * 600 + [1000] * 400
    assert Quantile(0.5, 0, 1000, epsilon=5).release(data) == 0


def test_no_values_give_a_uniform_point():
    law = Quantile(0.5, 0, 4, epsilon=1).claim.law([])
    assert [low for low, _ in law.values()] == pytest.approx([0.2] * 5)


def test_c1_values_that_are_no_finite_numbers_are_refused():
    for bad in (math.nan, math.inf, None, "3"):
        with pytest.raises(InputError):
            Quantile(0.5, 0, 8, epsilon=1).release([1.0, bad])


@pytest.mark.parametrize(
    "parameters",
    [
        {"quantile": -0.1},
        {"quantile": 1.1},
        {"quantile": math.nan},
        {"epsilon": 0},
        {"epsilon": None},
        {"scale": 1},
        {"lower": 8},
        {"grid": 0.3},
        {"upper": math.inf},
    ],
)
def test_bad_parameters_are_refused_at_birth(parameters):
    good = {"quantile": 0.5, "lower": 0, "upper": 8, "epsilon": 1}
    with pytest.raises(InputError):
        Quantile(**(good | parameters))


QUARTILES = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))


@pytest.mark.parametrize("kind", list(Neighbours))
def test_several_quantiles_are_private_on_all_small_data_sets(kind):
    mechanism = Quantiles(QUARTILES, 0, TOP, epsilon=2, neighbours=kind)
    assert 2 <= float(mechanism.guarantee.epsilon(0)) < 2 + 1e-12
    each, worst = mechanism.round_epsilon, 0.0
    for size in (1, 2, 3):
        for data in combinations_with_replacement(range(TOP + 1), size):
            for other in neighbours_of(data, kind):
                left = joint_law(data, (0, TOP), QUARTILES, each)
                right = joint_law(other, (0, TOP), QUARTILES, each)
                worst = max(worst, *(abs(math.log(left[o] / right[o])) for o in left))
    assert 0.5 < worst <= 2 + 1e-9


@pytest.mark.parametrize("data", [(), (0, 1, 1, 3), (1, 1, 1, 1)])
def test_draws_of_several_quantiles_follow_the_recursion(data):
    mechanism = Quantiles(QUARTILES, 0, TOP, epsilon=2)
    law, runs = joint_law(data, (0, TOP), QUARTILES, mechanism.round_epsilon), 40_000
    rows, counts = np.unique(mechanism.claim.draw(data, runs), axis=0, return_counts=True)
    observed = {tuple(map(int, row)): int(n) for row, n in zip(rows, counts, strict=True)}
    assert set(observed) <= set(law)
    assert sum(law.values()) == pytest.approx(1)
    statistic = sum((observed.get(o, 0) - p * runs) ** 2 / (p * runs) for o, p in law.items())
    # 20 rising triples: chi-square with 19 degrees of freedom exceeds 63 with probability 1e-6.
    assert len(law) == 20
    assert statistic < 63


def test_levels_and_shares():
    for count, levels in ((1, 1), (2, 2), (3, 2), (4, 3), (7, 3), (8, 4)):
        targets = [Fraction(i + 1, count + 1) for i in range(count)]
        assert Quantiles(targets, 0, 8, epsilon=1).levels == levels
    add = Quantiles(QUARTILES, 0, 8, epsilon=1)
    change = Quantiles(QUARTILES, 0, 8, epsilon=1, neighbours=Neighbours.CHANGE_ONE)
    assert add.round_epsilon == 2 * change.round_epsilon == Fraction(1, 2)
    assert change.guarantee.neighbours is Neighbours.CHANGE_ONE


def test_answers_never_decrease_and_ends_are_allowed():
    mechanism = Quantiles([0, 0.2, 0.5, 0.99, 1], 0, 100, epsilon=1)
    for _ in range(50):
        answer = mechanism.release([5, 80, 80])
        assert answer == sorted(answer)


@pytest.mark.parametrize("quantiles", [[], [0.5, 0.5], [0.75, 0.25], [-1], [0.5, math.nan]])
def test_quantiles_are_a_rising_list(quantiles):
    with pytest.raises(InputError):
        Quantiles(quantiles, 0, 8, epsilon=1)


def test_a4_random_words_do_not_tell_how_far_apart_people_are():
    """Pieces of more than 2^32 points take two words; so does any other piece of such a range."""
    rule = Quantile(0.5, 0, 2**33, epsilon=1)
    for place in (0, 2**20, 2**32, 2**33):
        assert not replay(rule.release, (), (place,))


def test_the_error_of_several_quantiles_counts_the_person_on_an_answer():
    """Whoever stands on an answer goes to one side whole, which is a rank for the other side."""
    sure = Quantiles([0.25, 0.5, 0.75], 0, 1024, epsilon=10**6)
    missed = Fraction(0)
    for n in range(1, 12):
        values = list(range(10, 10 + 20 * n, 20))
        for q, answer in zip(sure.quantiles, sure.release(values), strict=True):
            fewer, upto = sum(v < answer for v in values), sum(v <= answer for v in values)
            missed = max(missed, q * n - upto, fewer - q * n)
    assert Fraction(1, 8) < missed <= Fraction(sure.error(0.999))
