"""Quantiles without bounds: the ladder, the questions, and what they cost."""

import math
from fractions import Fraction
from itertools import pairwise

import pytest

from discreet.errors import InputError
from discreet.mechanisms.unbounded_quantile import UnboundedQuantile
from discreet.privacy import Neighbours, Pure


def test_the_ladder_is_public_rises_and_grows():
    ladder = UnboundedQuantile(0.5, epsilon=1, lower=10, growth=2).ladder
    assert ladder[:6] == (10, 11, 12, 14, 18, 26)
    both = UnboundedQuantile(0.5, epsilon=1).ladder
    assert both == tuple(-x for x in reversed(both))
    assert all(a < b for a, b in pairwise(both))


@pytest.mark.parametrize("kind", list(Neighbours))
@pytest.mark.parametrize("q", [0.1, 0.5, 0.9, 1])
def test_one_person_moves_every_question_by_at_most_the_sensitivity(q, kind):
    mechanism = UnboundedQuantile(q, epsilon=1, neighbours=kind, growth=2)
    a, b = mechanism.quantile.numerator, mechanism.quantile.denominator

    def questions(data):
        return [b * sum(x <= g for x in data) - a * len(data) for g in mechanism.ladder]

    data = [-5, 0, 3, 3, 10**9]
    worst = 0
    for x in (-(10**12), -5, 0, 4, 10**15):
        other = [*data[1:], x] if kind is Neighbours.CHANGE_ONE else [*data, x]
        moves = [abs(m - n) for m, n in zip(questions(data), questions(other), strict=True)]
        worst = max(worst, *moves)
    assert worst <= mechanism.test.sensitivity
    if q != 1:
        assert worst == mechanism.test.sensitivity
    assert (
        mechanism.guarantee == Pure(mechanism.epsilon, neighbours=kind) == Pure(1, neighbours=kind)
    )


def test_questions_about_an_end_are_monotone_where_people_come_or_go():
    assert UnboundedQuantile(1, epsilon=1).test.monotone
    assert UnboundedQuantile(0, epsilon=1).test.monotone
    assert not UnboundedQuantile(0.99, epsilon=1).test.monotone
    assert not UnboundedQuantile(1, epsilon=1, neighbours=Neighbours.CHANGE_ONE).test.monotone


def test_answers_are_near_whatever_the_size():
    for value in (0, 3, 1000, 10**12, -(10**6)):
        answer = UnboundedQuantile(0.5, epsilon=5).release([value] * 2000)
        assert abs(answer - value) <= abs(value) / 7 + 1


def test_values_beyond_the_ladder_and_below_the_start_count_as_there():
    mechanism = UnboundedQuantile(0.5, epsilon=5, lower=0)
    assert mechanism.release([-7] * 2000) == 0
    assert mechanism.release([2**300] * 2000) == 2**60
    assert mechanism.release([1e300] * 2000) == 2**60


def test_fine_grids_give_floats():
    answer = UnboundedQuantile(0.5, epsilon=5, lower=0, grid=2**-10).release([0.3] * 2000)
    assert 0.3 <= answer < 0.35


def test_the_error_is_in_ranks():
    mechanism = UnboundedQuantile(0.5, epsilon=1)
    expected = mechanism.test.error(0.9, queries=len(mechanism.ladder)) / 2
    assert mechanism.error(0.9) == pytest.approx(expected)


@pytest.mark.parametrize(
    "parameters",
    [
        {"quantile": 2},
        {"epsilon": 0},
        {"growth": 1},
        {"growth": 10**9},
        {"lower": Fraction(1, 3)},
        {"lower": 2**61},
        {"grid": 3},
    ],
)
def test_bad_parameters_are_refused_at_birth(parameters):
    with pytest.raises(InputError):
        UnboundedQuantile(**({"quantile": 0.5, "epsilon": 1} | parameters))


def test_c1_values_that_are_no_finite_numbers_are_refused():
    for bad in (math.nan, math.inf):
        with pytest.raises(InputError):
            UnboundedQuantile(0.5, epsilon=1).release([1.0, bad])


@pytest.mark.parametrize("share", [0.1234567890123457, 0.9234567890123457])
def test_b1_counts_times_a_long_denominator_do_not_wrap(share):
    """5000 times 10^16 is no 64-bit integer; wrapped, one person moves it by anything."""
    answer = UnboundedQuantile(share, lower=0, epsilon=1).release([40_000] * 5000)
    assert 39_000 <= answer <= 45_100
