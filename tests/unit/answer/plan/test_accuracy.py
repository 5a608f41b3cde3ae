"""Prices for an accuracy: they are enough, hardly more than enough, and honest."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from clinic import CLINIC
from discreet.answer.estimate.aggregates import estimate
from discreet.answer.plan.accuracy import Accuracy, certain_half_width, price_for
from discreet.answer.plan.price import Price
from discreet.answer.present.release import Release
from discreet.engines.duckdb_dialect import DuckDBDialect
from discreet.errors import InputError
from discreet.plan.bounding import NoiseKind
from discreet.plan.relations import columns_of
from discreet.plan.schema import Limits
from discreet.plan.statistics import Total
from discreet.privacy import compose
from discreet.sql.reader.read import read
from planned import explain, plan_set

COUNTS = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"


STATED = Limits(2, 3)


def asked(text, limits=STATED):
    return replace(read(text, CLINIC), limits=limits)


def plan_of(query, price):
    plan = plan_set(query, price)
    return plan.noises(plan.contributions)


def released(numbers):
    return Release(
        table=pa.table({"n": numbers}),
        half_widths={},
        how={},
        price=Price(1),
        guarantee=compose([]),
        costs=(),
    )


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("within", [5, 50, 5000])
def test_the_price_is_enough_and_hardly_more(within, delta):
    query, accuracy = asked(COUNTS), Accuracy(within)
    price = price_for(query, accuracy, delta=delta)
    (aggregate,) = query.aggregates
    assert certain_half_width(aggregate, query, plan_of(query, price), accuracy) <= within
    less = Price(price.epsilon * Fraction(98, 100), delta)
    assert certain_half_width(aggregate, query, plan_of(query, less), accuracy) > within


def test_a_laplace_count_costs_what_the_formula_says():
    """Six rows at most: the half-width at 95 % is 6 log(20)/epsilon, and half of one to round."""
    price = price_for(asked(COUNTS), Accuracy(50))
    assert float(price.epsilon) == pytest.approx(6 * np.log(20) / 49.5, rel=0.01)
    assert price.delta == 0


def test_a_share_of_a_stated_size_is_an_absolute_accuracy():
    query = asked(COUNTS)
    prices = [
        price_for(query, accuracy)
        for accuracy in (
            Accuracy("2 %", of=10_000),
            Accuracy(0.02, of=10_000),
            Accuracy(200),
            Accuracy(0.02, of=released([30_000, -10_000, None])),
        )
    ]
    assert len(set(prices)) == 1


@pytest.mark.parametrize(
    ("text", "within"),
    [
        ("SELECT SUM(cost) AS x FROM visits", 20_000),
        ("SELECT AVG(age) AS x FROM visits", 2),
        ("SELECT COUNT(*) AS x FROM visits", 30),
    ],
)
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_noise_stays_within_the_target_as_often_as_promised(text, within, delta):
    """A miss rate of 5 % at most, tried 4000 times: 6.4 % is four standard errors above; bits are
    fixed."""
    query, accuracy = asked(text), Accuracy(within, rows=2000)
    plan = plan_of(query, price_for(query, accuracy, delta=delta))
    scope, draws = columns_of(query.relation), 4000
    clean = {
        s: np.array([s.grid.reach * s.grid.step * 2000 if isinstance(s, Total) else 2000.0])
        for s in plan
    }
    zeros, drawn = np.zeros(draws, dtype=np.int64), {}
    for m in (one.measurement for one in plan.values()):
        if m.strategy not in drawn:
            drawn[m.strategy] = m.release([zeros for _ in m.strategy.statistics])
    noisy = {s: clean[s] + m.values(drawn[m.measurement.strategy]) for s, m in plan.items()}
    (aggregate,) = query.aggregates
    away = np.abs(estimate(aggregate, noisy, scope) - estimate(aggregate, clean, scope))
    assert np.mean(away > within) <= 0.064


def test_all_columns_are_meant_unless_some_are_named():
    text = "SELECT COUNT(*) AS n, COUNT(DISTINCT patient_id) AS people FROM visits"
    query = asked(text)
    both = price_for(query, Accuracy(20))
    one = price_for(query, Accuracy(20, columns=["people"]))
    assert one.epsilon < both.epsilon


def test_more_confidence_costs_more():
    prices = [
        price_for(asked(COUNTS), Accuracy(20, confidence=c)).epsilon for c in (0.5, 0.95, 0.999)
    ]
    assert prices == sorted(set(prices))


def test_grouping_sets_are_all_within():
    query = asked("SELECT city, COUNT(*) AS n FROM visits GROUP BY ROLLUP (city)")
    price = price_for(query, Accuracy(20))
    assert float(price.epsilon) == pytest.approx(
        2 * float(price_for(asked(COUNTS), Accuracy(20)).epsilon), rel=0.02
    )
    assert explain(query, DuckDBDialect(), price).half_width("n") <= 20


@pytest.mark.parametrize(
    ("accuracy", "text", "match"),
    [
        (Accuracy(5), "SELECT MEDIAN(cost) AS x FROM visits", "depends on the data"),
        (Accuracy(5), "SELECT VARIANCE(cost) AS x FROM visits", "depends on the data"),
        (Accuracy(5), "SELECT AVG(cost) AS x FROM visits", "state rows="),
        (Accuracy(5, columns=["y"]), "SELECT COUNT(*) AS x FROM visits", "they are x"),
        (Accuracy(0.02, of=released([0])), "SELECT COUNT(*) AS n FROM visits", "no size for n"),
        (Accuracy(0.02, of=released([1])), "SELECT COUNT(*) AS x FROM visits", "no size for x"),
        (Accuracy(0.5001), "SELECT COUNT(*) AS x FROM visits", "no price"),
    ],
)
def test_what_cannot_be_promised_is_refused(accuracy, text, match):
    with pytest.raises(InputError, match=match):
        price_for(asked(text), accuracy)


def test_limits_have_to_be_stated():
    with pytest.raises(InputError, match="state max_groups and max_rows"):
        price_for(asked(COUNTS, Limits(2, None)), Accuracy(5))
    rows = read("SELECT COUNT(*) AS n FROM events", CLINIC)
    assert price_for(rows, Accuracy(5)).epsilon > 0


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Accuracy(0),
        lambda: Accuracy(-5),
        lambda: Accuracy(float("nan")),
        lambda: Accuracy("2 %"),
        lambda: Accuracy("two %", of=5),
        lambda: Accuracy("2", of=5),
        lambda: Accuracy(2, of=100),
        lambda: Accuracy(5, confidence=1),
        lambda: Accuracy(5, rows=0),
        lambda: Accuracy(0.1, of=0),
        lambda: Accuracy(5, columns=[]),
    ],
)
def test_an_accuracy_that_means_nothing_is_refused(wrong):
    with pytest.raises(InputError):
        wrong()


def test_an_accuracy_that_hardly_anything_is_needed_for_has_a_price():
    """The lowest prices have no Gaussian noise at all: the least that has some is taken."""
    query, laws = asked(COUNTS), (NoiseKind.GAUSSIAN,)
    loose = price_for(query, Accuracy(1e9), delta=1e-8, noise_kinds=laws)
    assert Fraction(1, 10**6) <= loose.epsilon < Fraction(1, 1000)
    with pytest.raises(InputError, match="Gaussian noise alone is allowed and delta is 0"):
        price_for(query, Accuracy(5), noise_kinds=laws)


def test_one_column_is_named_by_its_name():
    assert Accuracy(5, columns="mean").columns == ("mean",)
