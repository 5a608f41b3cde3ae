"""Measurements: one law of noise for every group, whatever stands beside it."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.answer.plan.measure import (
    Measurement,
    laplace_quantile,
    quantile_guarantee,
    quantile_scale,
    weighed,
)
from discreet.answer.plan.quantile_draws import QuantileDraw
from discreet.plan.bounding import FULL, ContributionBounds, NoiseKind
from discreet.plan.expressions import Call, Column, Function
from discreet.plan.query import Aggregate, AggregateFunction
from discreet.plan.sensitivity import Strategy
from discreet.plan.statistics import Distinct, DistinctTotal, Grid, People, Ranks, Rows, Total, grid
from discreet.privacy import Neighbours, Pure, Ranges

LAPLACE, GAUSSIAN = NoiseKind.LAPLACE, NoiseKind.GAUSSIAN
ADD, CHANGE = Neighbours.ADD_REMOVE, Neighbours.CHANGE_ONE
SOME = Rows(Column("p"))
TOTAL = Total(Column("x"), Column("p"), Grid(-5.0, 5.0, 0.0, 0.25, 20))
RANKS = Ranks(Column("x"), None, 0.0, 1.0, 8)

STATISTICS = [
    Rows(None),
    People(None),
    Total(Column("x"), None, grid(-1.0, 99.0, whole=False)),
    Distinct(Column("x"), None),
]


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda one: type(one).__name__)
def test_how_many_groups_there_are_does_not_change_the_noise_of_one(statistic, neighbours):
    """Groups may be there because of one person: were noise wider among them, it would tell."""
    for limit in (1, 2, 3, 5, 7, 50):
        contributions = ContributionBounds(NoiseKind.GAUSSIAN, limit, limit)
        one = Measurement(Strategy.of((statistic,)), contributions, Fraction(1, 10), neighbours)
        assert one.mechanism.rho == one.cost


def test_people_in_several_groups_move_a_vector_of_counts_no_further_than_its_reach():
    for groups in range(1, 200):
        one = Measurement(
            Strategy.of((People(None),)),
            ContributionBounds(NoiseKind.GAUSSIAN, 1, groups),
            Fraction(1),
            Neighbours.ADD_REMOVE,
        )
        assert one.sensitivity**2 >= groups * 1024**2
        assert (one.sensitivity - 1) ** 2 < groups * 1024**2


@pytest.mark.parametrize("law", list(NoiseKind))
@pytest.mark.parametrize("rows", [10**6, 3 * 10**9, 10**10, 8 * 10**12])
def test_statistics_that_are_measured_together_are_right_of_any_number_of_rows(law, rows):
    known = Call(Function.NOT, (Call(Function.IS_NULL, (Column("x"),)),))
    total = Total(Column("x"), known, grid(0.0, 100.0, whole=False))
    strategy = Strategy.of((Rows(None), Rows(known), total))
    one = Measurement(
        strategy, ContributionBounds(law, 1, 1), Fraction(1, 2), Neighbours.ADD_REMOVE
    )
    exact = [rows * FULL, rows // 4 * FULL, -rows // 4 * FULL * 1000]
    noisy = one.release([np.array([number, 0]) for number in exact])
    for statistic, number in zip(strategy.statistics, exact, strict=True):
        view = one.view(statistic)
        worth = total.grid.step if statistic == total else 1
        expected = np.array([number // FULL * worth, 0])
        assert np.abs(view.values(noisy) - expected).max() < view.error(1 - 1e-9)


# --- what noise is made for -----------------------------------------------------------------------


def rows_measured(noise_kind=LAPLACE, neighbours=ADD, cost=Fraction(1, 10), *, whole=False):
    bounds = ContributionBounds(noise_kind, 6, 4)
    return Measurement(Strategy.of((Rows(None),)), bounds, cost, neighbours, whole)


def joined(noise_kind=LAPLACE, cost=Fraction(1, 10)):
    """A count of rows, one of values, and the total of those, measured together."""
    bounds = ContributionBounds(noise_kind, 6, 4)
    return Measurement(Strategy.of((Rows(None), SOME, TOTAL)), bounds, cost, ADD)


def test_changing_a_person_moves_twice_as_much_as_adding_one():
    assert rows_measured().sensitivity == 6 * FULL
    assert rows_measured(neighbours=CHANGE).sensitivity == 2 * 6 * FULL


def test_whole_counts_have_whole_noise_unless_it_would_hardly_ever_be_a_row():
    assert rows_measured(whole=False).step == joined().step == 1
    assert rows_measured(whole=True).step == FULL
    assert rows_measured(whole=True, cost=Fraction(32)).step == FULL
    assert rows_measured(whole=True, cost=Fraction(3201, 100)).step == 1
    # Gaussian noise with a sigma below one row: rho = (rows moved)^2 / 2.
    assert rows_measured(GAUSSIAN, whole=True, cost=Fraction(18)).step == FULL
    assert rows_measured(GAUSSIAN, whole=True, cost=Fraction(1801, 100)).step == 1
    distinct = Strategy.of((Distinct(Column("x"), None),))
    assert Measurement(distinct, ContributionBounds(LAPLACE, 6, 4), Fraction(1), ADD).step == FULL


@pytest.mark.parametrize("neighbours", [ADD, CHANGE])
@pytest.mark.parametrize("whole", [False, True])
def test_the_mechanism_spends_the_cost_on_the_sensitivity(neighbours, whole):
    one = rows_measured(LAPLACE, neighbours, whole=whole)
    assert one.mechanism.epsilon == one.cost
    assert one.mechanism.sensitivity == one.sensitivity / one.step
    assert one.mechanism.neighbours is neighbours
    two = rows_measured(GAUSSIAN, neighbours, whole=whole)
    assert two.mechanism.rho == two.cost
    assert two.mechanism.dimension is None
    assert two.mechanism.sensitivity == two.sensitivity / two.step
    assert two.mechanism.neighbours is neighbours


def test_of_no_groups_there_are_no_numbers():
    nothing = np.empty(0, dtype=np.int64)
    assert [one.size for one in joined().release([nothing] * 3)] == [0, 0, 0]
    assert [one.size for one in rows_measured().release([nothing])] == [0]


@pytest.mark.parametrize("given", [1, 2, 4])
def test_a_strategy_takes_the_totals_of_its_statistics_and_no_others(given):
    some = np.ones(2, dtype=np.int64)
    with pytest.raises(ValueError, match="zip"):
        joined().release([some] * given)
    for read in (joined().view(SOME).values, joined().view(SOME).combine):
        with pytest.raises(ValueError, match="zip"):
            read([some] * given)


@pytest.mark.parametrize("noise_kind", list(NoiseKind))
def test_noisy_numbers_are_the_combinations_in_their_order_and_their_steps(noise_kind):
    exact = [np.array(n, dtype=np.int64) * FULL for n in ([90, 50], [70, 20], [300, -40])]
    one = joined(noise_kind, cost=Fraction(10**6))
    noisy = one.release(exact)
    r = TOTAL.grid.reach
    wanted = [
        2 * r * (exact[0] - exact[1]),
        r * exact[1] + exact[2],
        r * exact[1] - exact[2],
    ]
    for found, true in zip(noisy, wanted, strict=True):
        assert np.abs(found - true).max() < 0.05 * r * FULL
    for statistic, true in zip((Rows(None), SOME), exact, strict=False):
        assert one.view(statistic).values(noisy) == pytest.approx(true / FULL, abs=0.1)
    values = one.view(TOTAL).values(noisy)
    assert values == pytest.approx(exact[2] / FULL * TOTAL.grid.step, abs=0.1)


def test_whole_noise_is_added_to_whole_rows():
    one = rows_measured(whole=True, cost=Fraction(32))
    (noisy,) = one.release([np.full(500, 7 * FULL, dtype=np.int64)])
    assert abs(np.median(noisy) - 7) < 1
    assert one.view(Rows(None)).unit == 1
    assert rows_measured().view(Rows(None)).unit == FULL


def test_combinations_beyond_64_bits_are_exact():
    one, most = joined(), 1 << 62
    rows = np.array([most, 0, 3 * FULL], dtype=np.int64)
    some, total = np.array([0, most, FULL], dtype=np.int64), np.array([0, 0, 5], dtype=np.int64)
    first, second, third = (weighed(row, [rows, some, total]) for row in one.strategy.combinations)
    r = TOTAL.grid.reach
    assert first.tolist() == [2 * r * most, -2 * r * most, 2 * r * 2 * FULL]
    assert second.tolist() == [0, r * most, r * FULL + 5]
    assert third.tolist() == [0, r * most, r * FULL - 5]


def test_combinations_within_62_bits_are_exact():
    r = TOTAL.grid.reach
    near = np.array([(1 << 62) // (2 * r) - 1], dtype=np.int64)
    zero = np.zeros(1, dtype=np.int64)
    assert weighed((2 * r, -2 * r, 0), [near, zero, zero]).tolist() == [2 * r * int(near[0])]
    assert weighed((0, r, -1), [near, -near, zero]).tolist() == [-r * int(near[0])]
    assert weighed((0, 1, 0), [zero, near, zero]) is near  # nothing to compute
    assert weighed((0, 3, 0), [zero, near, zero]).tolist() == [3 * int(near[0])]
    assert weighed((1, -1), [near, near]).tolist() == [0]


def test_combinations_of_numbers_far_below_zero_are_exact():
    far = np.array([-(1 << 62)], dtype=np.int64)
    assert weighed((3, 1), [far, far]).tolist() == [-(1 << 64)]


# --- what is told of noise ------------------------------------------------------------------------


def test_the_noise_of_a_statistic_is_told_in_rows_and_values():
    laplace, gaussian = joined(), joined(GAUSSIAN)
    one = laplace.view(Rows(None))
    assert (one.noise_kind, one.terms, one.signs) == (LAPLACE, 3, (1, 1, 1))
    # One row moves 2r of 6 rows at most; a row is worth 2r steps of FULL.
    assert one.scale == pytest.approx(6 / 0.1)
    assert rows_measured(whole=True).view(Rows(None)).scale == pytest.approx(6 / 0.1)
    assert one.variance == pytest.approx(3 * 2 * 60**2)
    assert one.moves == pytest.approx(6)
    two = gaussian.view(SOME)
    assert (two.noise_kind, two.terms) == (GAUSSIAN, 2)
    assert two.scale == pytest.approx(6 / 0.2**0.5)
    assert two.variance == pytest.approx(2 * 36 / 0.2)
    total = laplace.view(TOTAL)
    width = TOTAL.grid.reach * TOTAL.grid.step
    assert total.moves == pytest.approx(6 * width)
    assert total.scale == pytest.approx(6 / 0.1 * width)
    different = DistinctTotal(Column("x"), None, 70)
    bounds = ContributionBounds(LAPLACE, 6, 4)
    summed = Measurement(Strategy.of((different,)), bounds, Fraction(1, 10), ADD).view(different)
    assert summed.moves == pytest.approx(70 * rows_measured().view(Rows(None)).moves)


def test_noises_of_scale_one_combine_with_the_signs_of_the_statistic():
    ones = [np.array([1.0, 2.0]), np.array([10.0, 20.0]), np.array([100.0, 200.0])]
    total, some = joined().view(TOTAL), joined().view(SOME)
    assert total.combine(ones) == pytest.approx(total.scale * np.array([-90.0, -180.0]))
    assert some.combine(ones) == pytest.approx(some.scale * np.array([110.0, 220.0]))


def test_the_median_noise_is_told_relative_to_one_row():
    assert rows_measured().typical() == pytest.approx(6 * math.log(2) / 0.1)
    assert rows_measured(GAUSSIAN).typical() == pytest.approx(6 * 0.6745 / 0.2**0.5)
    assert joined().typical() == pytest.approx(6 * math.log(2) / 0.1)


@pytest.mark.parametrize("noise_kind", list(NoiseKind))
def test_half_widths_hold_noise_as_often_as_they_say_and_hardly_more(noise_kind):
    """20,000 draws: 95 % +- 5 standard errors of 0.0015."""
    size = 20_000
    zero = np.zeros(size, dtype=np.int64)
    for one in (rows_measured(noise_kind).view(Rows(None)), joined(noise_kind).view(Rows(None))):
        count = len(one.measurement.strategy.statistics)
        found = np.abs(one.values(one.measurement.release([zero] * count)))
        assert one.error() == one.error(0.95)
        assert np.mean(found <= one.error(0.95)) == pytest.approx(0.95, abs=0.008)
        assert np.mean(found <= one.error(0.5)) == pytest.approx(0.5, abs=0.018)


def test_a_sum_of_noises_may_miss_its_quantile_by_a_step_each():
    for kind in NoiseKind:
        one = joined(kind).view(SOME)
        assert one.error(0.9) - one.quantile(0.9) == pytest.approx(2 / one.unit)
    normal = joined(GAUSSIAN).view(SOME)
    assert normal.quantile(0.95) == pytest.approx(normal.scale * 2**0.5 * 1.959964)


def test_noise_of_consistent_numbers_is_narrower_and_allows_for_rounding():
    for kind in NoiseKind:
        one = rows_measured(kind, whole=True).view(Rows(None))
        assert one.shrunk == 1
        half = replace(one, shrunk=0.5)
        assert half.scale == pytest.approx(one.scale / 2)
        assert half.quantile(0.9) == pytest.approx(one.quantile(0.9) / 2)
        rounded = math.sqrt(1 + 1 / (12 * one.scale**2))
        assert half.error(0.9) == pytest.approx(half.quantile(0.9) * rounded, rel=1e-12)
        fine = replace(rows_measured(kind).view(Rows(None)), shrunk=0.5)  # hardly rounded
        assert fine.error() == pytest.approx(fine.quantile(0.95), rel=1e-6)


@pytest.mark.parametrize("failure", [0.5, 0.05, 1e-6])
def test_sums_of_laplace_noises_pass_their_quantile_as_often_as_told(failure):
    tails = [
        lambda x: math.exp(-x),
        lambda x: math.exp(-x) * (1 + x / 2),
        lambda x: math.exp(-x) * (1 + 5 * x / 8 + x * x / 8),
    ]
    for terms, tail in enumerate(tails, 1):
        assert tail(laplace_quantile(terms, failure)) == pytest.approx(failure, rel=1e-9)


# --- quantiles ------------------------------------------------------------------------------------


def ranked(noise_kind, neighbours=ADD, cost=Fraction(1, 10)):
    bounds = ContributionBounds(noise_kind, 6, 4)
    return Measurement(Strategy.of((RANKS,)), bounds, cost, neighbours)


@pytest.mark.parametrize("neighbours", [ADD, CHANGE])
@pytest.mark.parametrize("levels", [(Fraction(1, 2),), (Fraction(1, 4), Fraction(9, 10))])
def test_quantiles_together_give_away_what_was_paid_for_them(neighbours, levels):
    one = ranked(LAPLACE, neighbours)
    apart = [2 * max(q, 1 - q) for q in levels]
    scales = [quantile_scale(one, each, len(levels)) for each in apart]
    moved = [each * one.sensitivity for each in apart]
    assert sum(width / scale for width, scale in zip(moved, scales, strict=True)) == one.cost
    given = quantile_guarantee(one, list(zip(apart, scales, strict=True)))
    assert given == Pure(one.cost, neighbours=neighbours)

    two = ranked(GAUSSIAN, neighbours)
    scales = [quantile_scale(two, each, len(levels)) for each in apart]
    given = quantile_guarantee(two, list(zip(apart, scales, strict=True)))
    rho = sum((w / s) ** 2 / 8 for w, s in zip(moved, scales, strict=True))
    assert given == Ranges(rho, neighbours=neighbours)
    assert two.cost * (1 - Fraction(1, 10**6)) < rho <= two.cost  # roots are rounded up


def test_the_cell_of_a_quantile_is_near_it_and_people_of_no_weight_do_not_count():
    cells = np.array([2, 5, 7], dtype=np.int64)
    weights = np.array([10, 10, 0], dtype=np.int64) * FULL
    cold = Fraction(1, 10**6)
    asked = (
        Aggregate("m", AggregateFunction.QUANTILE, (Column("x"),), level=Fraction(p, 100))
        for p in (1, 99, 50)
    )
    low, high, median = (QuantileDraw(one, Fraction(1), flips=False) for one in asked)
    assert low.cell(cells, weights, 8, cold) == 2
    assert high.cell(cells, weights, 8, cold) == 5
    nobody = np.zeros(3, dtype=np.int64)
    drawn = {median.cell(cells, nobody, 8, Fraction(1)) for _ in range(300)}
    assert drawn == set(range(8))
