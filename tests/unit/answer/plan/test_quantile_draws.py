"""A quantile alone has an interval in values, for a share of its price."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.answer.plan.measure import (
    Measurement,
    quantile_guarantee,
    quantile_scale,
)
from discreet.answer.plan.quantile_draws import BRACKETS, draw_mode, quantile_draws
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.quantile import law_of_cells
from discreet.plan.bounding import FULL, ContributionBounds, NoiseKind
from discreet.plan.expressions import Column
from discreet.plan.sensitivity import Strategy
from discreet.plan.statistics import Ranks
from discreet.privacy import Neighbours
from discreet.privacy.budgets.charges import EPSILON, RHO, price
from discreet.privacy.numerics.rounding import Interval, total

CELLS = 64
ranked = Ranks(Column("x"), None, 0.0, 1.0, CELLS)
EPS, LITTLE = Fraction(1), Fraction(1, 10)


def measurement(noise_kind, cost):
    """A quantile of one row a person."""
    bounds = ContributionBounds(noise_kind, 1, 1)
    about = Neighbours.ADD_REMOVE
    return Measurement(Strategy.of((ranked,)), bounds, cost, about, whole=True)


DATA = {
    "nobody": [],
    "one": [40],
    "two far apart": [0, 63],
    "three": [1, 5, 60],
    "halves at both ends": [0] * 50 + [63] * 50,
    "one value": [17] * 30,
    "skewed": [min(63, int(1.5**k)) for k in range(10) for _ in range(20 - 2 * k)],
    "many": list(range(64)) * 20,
}


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("level", [Fraction(1, 10), Fraction(1, 2), Fraction(19, 20)])
@pytest.mark.parametrize(
    ("kind", "cost"),
    [(NoiseKind.LAPLACE, EPS), (NoiseKind.LAPLACE, LITTLE), (NoiseKind.GAUSSIAN, Fraction(1, 50))],
)
def test_each_end_is_on_its_side_of_the_true_quantile_by_the_exact_law(name, level, kind, cost):
    values = np.array(DATA[name], dtype=np.int64)
    one = measurement(kind, cost)
    cells, counts = np.unique(values, return_counts=True)
    for draw in quantile_draws([("m", level)], ["m"])[1:]:
        scale = quantile_scale(one, draw.level, draw.levels)
        held = draw.ranks(cells, counts.astype(np.int64) * FULL, CELLS, scale)
        law = law_of_cells(held, (0, CELLS - 1), draw.level, scale)
        if not values.size:
            continue
        true = float(np.quantile(values, float(level)))
        wrong = [
            p.upper for cell, p in law.items() if (cell - true) * draw.side < 0 and cell != true
        ]
        assert sum(wrong) <= 0.025


def test_what_all_draws_give_away_is_what_was_planned():
    levels = [("a", Fraction(1, 4)), ("b", Fraction(1, 2))]
    for brackets in ([], ["a"], ["a", "b"]):
        for lost in (0.0, 0.013):
            draws = quantile_draws(levels, brackets, lost)
            assert sum(1 / one.levels for one in draws) == 1
            for kind, measure in ((NoiseKind.LAPLACE, EPSILON), (NoiseKind.GAUSSIAN, RHO)):
                one = measurement(kind, LITTLE)
                scales = [quantile_scale(one, draw.level, draw.levels) for draw in draws]
                spent = quantile_guarantee(
                    one, [(draw.level, s) for draw, s in zip(draws, scales, strict=True)]
                )
                assert LITTLE * (1 - Fraction(1, 10**9)) < price(spent, measure).amount <= LITTLE


def test_limits_that_cut_rows_off_move_the_levels_of_the_ends_outwards():
    draws = quantile_draws([("m", Fraction(1, 2))], ["m"], lost=0.0101)
    assert [one.level for one in draws] == [
        Fraction(1, 2),
        Fraction(489, 1000),
        Fraction(511, 1000),
    ]
    far = quantile_draws([("m", Fraction(1, 2))], ["m"], lost=0.9)
    assert [one.level for one in far] == [Fraction(1, 2), 0, 1]


def test_noise_too_wide_for_any_data_leaves_the_whole_range():
    _, low, high = quantile_draws([("m", Fraction(1, 2))], ["m"])
    none = np.empty(0, dtype=np.int64)
    scale = Fraction(10**18)
    assert (low.cell(none, none, CELLS, scale), high.cell(none, none, CELLS, scale)) == (0, 63)


@pytest.fixture(params=[True, False], ids=["limits stated", "limits chosen"])
def curator(request):
    """Ages from 0 to 99, evenly."""
    made = dp.Curator.in_memory()
    people = 20_000
    made.add(
        "people",
        pa.table(
            {
                "id": list(range(people)),
                "age": [i % 100 for i in range(people)],
                "city": [f"c{i % 3}" for i in range(people)],
            }
        ),
        unit="id",
        limits=dp.Limits(1, 1) if request.param else None,
        budget=dp.Budget(epsilon=1000, delta=1e-3),
        columns={"age": dp.Bounds(0, 99), "city": dp.Keys(["c0", "c1", "c2"])},
    )
    return made


MEDIAN = "SELECT MEDIAN(age) AS m FROM people"


def test_a_median_alone_has_an_interval_that_holds_and_is_narrow(curator):
    answer = curator.sql(MEDIAN, epsilon=1)
    (found,), (width,) = answer.table["m"].to_pylist(), answer.half_widths["m"].to_pylist()
    assert abs(found - 49.5) <= width < 15
    assert "bought for a share of its price" in answer.how["m"]
    grouped = curator.sql("SELECT city, MEDIAN(age) AS m FROM people GROUP BY city", epsilon=1)
    assert all(width < 25 for width in grouped.half_widths["m"].to_pylist())


def test_the_split_is_told_and_can_be_declined_for_the_same_charge(curator):
    told = curator.explain(MEDIAN, epsilon=1)
    first, second = told.parts[0].options[0].lines
    assert (second.what, second.share) == ("intervals of ranks", BRACKETS)
    assert first.share + second.share == 1
    whole = curator.explain(MEDIAN, epsilon=1, intervals=False)
    (line,) = whole.parts[0].options[0].lines
    assert line.cost == first.cost + second.cost
    bills = [curator.cost(MEDIAN, epsilon=1, intervals=one) for one in (True, False)]
    assert list(bills[0].values()) == list(bills[1].values())
    assert "m" not in curator.sql(MEDIAN, epsilon=1, intervals=False).half_widths
    question = curator.table("people").agg(m=dp.median("age").without_interval())
    assert "m" not in question.release(epsilon=1).half_widths
    with pytest.raises(dp.InputError, match="intervals"):
        curator.sql(MEDIAN, epsilon=1, intervals="no")


NOTHING_BOUGHT = [
    "SELECT MIN(age) AS m FROM people",
    "SELECT MEDIAN(age) + 1 AS m FROM people",
    "SELECT MAX(m) AS m FROM (SELECT city, MEDIAN(age) AS m FROM people GROUP BY city)",
    "SELECT QUANTILE_CONT(age, 0.4) AS a, MEDIAN(age) AS m, COUNT(age) AS n FROM people",
]


@pytest.mark.parametrize("sql", NOTHING_BOUGHT)
def test_nothing_is_bought_where_it_would_not_be_shown_or_comes_for_nothing(curator, sql):
    lines = curator.explain(sql, epsilon=1).parts[0].options[0].lines
    assert not any(line.what == "intervals of ranks" for line in lines)


def test_intervals_are_merged_with_those_of_earlier_answers(curator):
    curator.sql(MEDIAN, epsilon=0.5)
    merged = curator.remeasure(MEDIAN, epsilon=1)
    assert merged.half_widths["m"].to_pylist()[0] < 15


# --- the most frequent value ----------------------------------------------------------------------


def mode_law(counts, scale):
    """The exact probability of each cell."""
    weights = [Interval.of(Fraction(int(one) * FULL) / scale).exp() for one in counts]
    whole = total(weights)
    return [weight / whole for weight in weights]


MODES = [[0, 0, 0], [5, 0, 0], [3, 3, 0], [2, 1, 7]]


@pytest.mark.parametrize("counts", MODES)
@pytest.mark.parametrize("where", range(3))
@pytest.mark.parametrize(("rows", "epsilon"), [(1, EPS), (4, LITTLE)])
def test_one_person_moves_the_law_of_a_mode_by_epsilon_at_most(counts, where, rows, epsilon):
    """A person with as many rows as limits allow, all in one cell: the worst there is."""
    one = replace(measurement(NoiseKind.LAPLACE, epsilon), contributions=ContributionBounds(
        NoiseKind.LAPLACE, rows, 1))  # fmt: skip
    scale = quantile_scale(one, Fraction(1), 1)
    more = [n + rows * (at == where) for at, n in enumerate(counts)]
    ratios = [
        max((a / b).hi, (b / a).hi)
        for a, b in zip(mode_law(counts, scale), mode_law(more, scale), strict=True)
    ]
    most = Interval.of(epsilon).exp()
    assert max(ratios) <= most.hi
    halved = [
        max((a / b).lo, (b / a).lo)
        for a, b in zip(mode_law(counts, scale / 3), mode_law(more, scale / 3), strict=True)
    ]
    assert max(halved) > most.hi  # a scale that is too small shows


def test_a_mode_that_is_flipped_for_moves_by_epsilon_at_most_too():
    def largest(scale):
        ratios = []
        for counts in MODES:
            for where in range(3):
                more = [n + (at == where) for at, n in enumerate(counts)]
                laws = [
                    PermuteAndFlip(3, scale=scale).law([n * FULL for n in one]).values()
                    for one in (counts, more)
                ]
                ratios += [b[0] / a[1] for a, b in zip(*laws, strict=True)]
                ratios += [a[0] / b[1] for a, b in zip(*laws, strict=True)]
        return max(ratios)

    alone = ContributionBounds(NoiseKind.LAPLACE, 1, 1)
    scale = quantile_scale(
        replace(measurement(NoiseKind.LAPLACE, EPS), contributions=alone), Fraction(1), 1
    )
    most = math.exp(EPS)
    assert 0.9 * most <= largest(scale) <= most * (1 + 1e-9)
    assert largest(scale / 3) > 1.2 * most  # a scale that is too small shows


def test_a_mode_is_the_most_frequent_cell_and_any_where_nobody_is():
    cells, weights = np.array([1, 5]), np.array([40, 9]) * FULL
    assert draw_mode(cells, weights, 8, Fraction(FULL, 4)) == 1
    nobody = np.empty(0, dtype=np.int64)
    assert len({draw_mode(nobody, nobody, 4, Fraction(1)) for _ in range(80)}) == 4


def test_a_mode_costs_what_a_quantile_at_an_end_does():
    one = measurement(NoiseKind.GAUSSIAN, Fraction(1, 50))
    scale = quantile_scale(one, Fraction(1), 1)
    paid = quantile_guarantee(one, [(Fraction(1), scale)])
    assert price(paid, RHO).amount <= Fraction(1, 50)


@pytest.mark.parametrize("of", ["city", "age", "kind"])
def test_modes_are_told_of_declared_and_of_found_values(of):
    rows = pa.table({
        "id": list(range(600)), "city": ["Oslo", "Rome", "Oslo"] * 200, "age": [30, 31, 30] * 200,
        "kind": ["a", "b", "a"] * 200,
    })  # fmt: skip
    columns = {"city": dp.Keys(["Rome", "Oslo"]), "age": dp.Bounds(0, 99)}
    with dp.Curator.in_memory() as made:
        made.add("t", rows, unit="id", budget=dp.Budget(epsilon=50, delta=1e-6), columns=columns)
        told = made.sql(f"SELECT MODE({of}) AS m, COUNT(*) AS n FROM t", epsilon=20)  # noqa: S608
    assert told.table["m"].to_pylist() == [rows[of][0].as_py()]


def test_a_mode_tells_nothing_about_the_quantiles_beside_it():
    """It is below the median here: nothing but the bounds is above it, and alone it buys an end."""
    values = [50] * 450 + [60 + i % 41 for i in range(550)]
    beside = "MODE(x) AS m, MEDIAN(x) AS h FROM t"
    with dp.Curator.in_memory() as made:
        budget, columns = dp.Budget(epsilon=90), {"x": dp.Bounds(0, 100)}
        rows = pa.table({"id": list(range(1000)), "x": values})
        made.add("t", rows, unit="id", budget=budget, columns=columns)
        sql = f"SELECT COUNT(x) AS n, QUANTILE_CONT(x, 0.4) AS q, {beside}"
        told = made.sql(sql, epsilon=40).to_pandas().iloc[0]
        alone = made.explain(f"SELECT COUNT(x) AS n, {beside}", epsilon=1)
    assert told["m"] == told["q"] == 50
    assert told["h_high"] >= 100
    assert any(line.what == "intervals of ranks" for line in alone.parts[0].options[0].lines)
