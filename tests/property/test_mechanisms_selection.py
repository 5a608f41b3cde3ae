"""Selection mechanisms on neighbours that hypothesis thinks up: exact laws, exact arithmetic."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.mechanisms.automatic_bounds import AutomaticBounds
from discreet.mechanisms.exponential import ExponentialMechanism
from discreet.mechanisms.key_tables import UNIT, added_epsilons
from discreet.mechanisms.median import GridRange, Median
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.quantile import Quantile, Quantiles
from discreet.mechanisms.sparse_vector import SparseVector
from discreet.mechanisms.stability_histogram import LaplaceThreshold
from discreet.mechanisms.top_k import TopK
from discreet.noise import selection as choices
from discreet.privacy import Neighbours

TOP = 12
EPSILONS = st.fractions(Fraction(1, 20), Fraction(5), max_denominator=50)
SENSITIVITIES = st.fractions(Fraction(1, 9), Fraction(7), max_denominator=9)
FEWER = settings(max_examples=40)
KINDS = st.sampled_from(list(Neighbours))
DATA = st.lists(st.integers(0, TOP), max_size=8)


@st.composite
def scores_and_moves(draw, *, one_way=False):
    """Scores, a sensitivity, and how one person moves each score."""
    count = draw(st.integers(1, 7))
    spread = draw(SENSITIVITIES)
    scores = draw(st.lists(st.integers(-20, 20), min_size=count, max_size=count))
    share = st.fractions(0 if one_way else -1, 1, max_denominator=4)
    moves = draw(st.lists(share, min_size=count, max_size=count))
    return spread, scores, [s + m * spread for s, m in zip(scores, moves, strict=True)]


@st.composite
def neighbours(draw, kind):
    """Data and a neighbour of it."""
    data = draw(DATA.filter(lambda rows: kind is Neighbours.ADD_REMOVE or rows))
    more = draw(st.integers(0, TOP))
    return data, [*data[1:], more] if kind is Neighbours.CHANGE_ONE else [*data, more]


def losses(left, right):
    """Losses of all outcomes that a double can tell from impossible ones."""
    return [math.log(left[o][0] / right[o][1]) for o in left if left[o][0] > 1e-290]


@given(scores_and_moves(), EPSILONS)
@FEWER
def test_losses_of_the_exponential_mechanism_are_of_bounded_range(case, epsilon):
    spread, left, right = case
    mechanism = ExponentialMechanism(len(left), epsilon=epsilon, sensitivity=spread)
    loss = losses(mechanism.law(left), mechanism.law(right))
    assert max(loss) - min(loss) <= float(epsilon) + 1e-9
    assert max(map(abs, loss)) <= float(epsilon) + 1e-9


@given(scores_and_moves(one_way=True), EPSILONS)
@FEWER
def test_losses_of_monotone_scores_are_of_bounded_range_at_half_the_scale(case, epsilon):
    spread, left, right = case
    mechanism = ExponentialMechanism(len(left), epsilon=epsilon, sensitivity=spread, monotone=True)
    loss = losses(mechanism.law(left), mechanism.law(right))
    assert max(loss) - min(loss) <= float(epsilon) + 1e-9


@given(scores_and_moves(), EPSILONS)
@FEWER
def test_losses_of_permute_and_flip_stay_within_epsilon(case, epsilon):
    spread, left, right = case
    mechanism = PermuteAndFlip(len(left), epsilon=epsilon, sensitivity=spread)
    assert max(map(abs, losses(mechanism.law(left), mechanism.law(right)))) <= float(epsilon) + 1e-9


@given(scores_and_moves(one_way=True), EPSILONS)
@FEWER
def test_losses_of_monotone_permute_and_flip_stay_within_epsilon(case, epsilon):
    spread, left, right = case
    mechanism = PermuteAndFlip(len(left), epsilon=epsilon, sensitivity=spread, monotone=True)
    assert max(map(abs, losses(mechanism.law(left), mechanism.law(right)))) <= float(epsilon) + 1e-9


@given(scores_and_moves(), EPSILONS)
@FEWER
def test_losses_of_peeling_stay_within_epsilon(case, epsilon):
    spread, left, right = case
    if len(left) < 2:
        return
    law = TopK(2, len(left), epsilon=epsilon, sensitivity=spread).claim.law
    assert max(map(abs, losses(law(left), law(right)))) <= float(epsilon) + 1e-9


@given(st.data(), KINDS, EPSILONS, st.fractions(0, 1, max_denominator=20))
@FEWER
def test_losses_of_quantiles_are_of_bounded_range(data, kind, epsilon, q):
    left, right = data.draw(neighbours(kind))
    law = Quantile(q, 0, TOP, epsilon=epsilon, neighbours=kind).claim.law
    loss = losses(law(left), law(right))
    assert max(loss) - min(loss) <= float(epsilon) + 1e-9


@given(st.data(), KINDS)
@FEWER
def test_local_sensitivities_of_neighbours_hold_each_other_one_step_on(data, kind):
    median = Median(GridRange.read(0, TOP, 1), kind)
    left, right = map(median.sort, data.draw(neighbours(kind)))
    assert abs(median.value(left) - median.value(right)) <= median.local(left, 0)
    for k in range(10):
        assert median.local(left, k) <= median.local(right, k + 1)
        assert median.local(right, k) <= median.local(left, k + 1)
        assert median.local(left, k) <= median.local(left, k + 1) <= TOP


@given(EPSILONS, st.integers(3, 60), st.integers(1, 4))
@FEWER
def test_the_rule_for_keys_is_private_at_every_count(epsilon, size, groups):
    delta = Fraction(1, 2**size)
    row = added_epsilons(epsilon / groups, delta / groups)
    table = [Fraction(probability, UNIT) for probability in row[:500]]
    # e^(epsilon/k) from above, by more than float rounding.
    growth = Fraction(math.exp(float(epsilon / groups))) * (1 + Fraction(1, 10**14))
    each = table[1]
    assert 1 - (1 - each) ** groups <= delta
    for before, after in pairwise(table):
        assert before <= after <= growth * before + each
        assert 1 - before <= growth * (1 - after) + each


@given(EPSILONS, EPSILONS, st.integers(3, 60))
@FEWER
def test_less_noise_never_costs_less(one, other, size):
    low, high = min(one, other), max(one, other)
    delta = Fraction(1, 2**size)
    thresholds = [LaplaceThreshold(epsilon=e, delta=delta).threshold for e in (low, high)]
    assert thresholds[0] >= thresholds[1]
    assert ExponentialMechanism(2, epsilon=low).scale >= ExponentialMechanism(2, epsilon=high).scale
    vectors = [SparseVector(threshold=0, epsilon=e, hits=3) for e in (low, high)]
    assert vectors[0].query_scale >= vectors[1].query_scale
    assert vectors[0].error() >= vectors[1].error()


@given(EPSILONS, st.integers(1, 9), SENSITIVITIES, st.booleans(), st.booleans())
@FEWER
def test_a_sparse_vector_spends_exactly_epsilon(epsilon, hits, spread, monotone, numeric):
    vector = SparseVector(
        threshold=0,
        epsilon=epsilon,
        hits=hits,
        sensitivity=spread,
        monotone=monotone,
        numeric=numeric,
    )
    moves = (1 if monotone else 2) * hits
    spent = vector.steps / vector.threshold_scale + moves * vector.steps / vector.query_scale
    if numeric:
        spent += hits * vector.steps / vector.answer_scale
    assert spent == epsilon


@given(st.lists(st.integers(-3, 3), max_size=12), st.integers(1, 4))
@FEWER
def test_marks_stop_with_the_last_hit(values, hits):
    vector = SparseVector(threshold=0, epsilon=1, hits=hits)
    marks, _ = vector.runs(vector.bars(values), 20)
    for row in marks:
        asked = row[row != -1]
        assert (row[: asked.size] != -1).all()
        assert asked.sum() <= hits
        assert asked.size == len(values) or (asked.sum() == hits and asked[-1] == 1)


@given(DATA, st.lists(st.fractions(0, 1, max_denominator=9), min_size=1, max_size=6, unique=True))
@FEWER
def test_several_quantiles_rise_within_the_range(data, targets):
    answer = Quantiles(sorted(targets), 0, TOP, epsilon=1).release(data)
    assert answer == sorted(answer)
    assert 0 <= answer[0] <= answer[-1] <= TOP


@given(
    st.lists(st.tuples(st.integers(-9, 9), st.integers(1, 5)), min_size=1, max_size=5),
    st.integers(0, 2**64 - 1),
)
@FEWER
def test_a_multiplicity_is_as_good_as_copies(pieces, word):
    scores, many = zip(*pieces, strict=True)
    copies = [score for score, m in pieces for _ in range(m)]
    owner = [i for i, (_, m) in enumerate(pieces) for _ in range(m)]

    class Bits:
        def word(self):
            return 0

    def located(candidates, multiplicities):
        read = choices.read_scores(list(candidates), Fraction(7, 2))
        return choices.locate(read, choices.Uniform(word, 64, Bits()), multiplicities)

    assert located(scores, many) == owner[located(copies, None)]


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=20), st.floats(-1e9, 1e9)
)
@FEWER
def test_one_row_moves_one_bin_by_one(values, more):
    mechanism = AutomaticBounds(epsilon=1, smallest=2.0**-20, largest=2.0**40)
    moved = mechanism._count([*values, more]) - mechanism._count(values)
    assert np.abs(moved).sum() == 1
