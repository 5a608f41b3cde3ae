# ruff: noqa: S608 - the questions are made here, of fixed parts
import datetime as dt
import re

import numpy as np
import pyarrow as pa
import pytest

from discreet.answer.estimate.aggregates import confine, estimate
from discreet.answer.estimate.answer_tables import (
    _TRUTHS,
    _held_together,
    _opposites,
    _plausible,
    _summed_bent,
)
from discreet.answer.estimate.noisy_statistics import interpret
from discreet.answer.execute.noisy_measurements import pack, unpack
from discreet.answer.measurement_plan import MeasurementPlan, answer
from discreet.answer.plan.price import Price
from discreet.engines.duckdb import DuckDBEngine
from discreet.plan.kinds import Kind
from discreet.plan.public_facts import left_out
from discreet.plan.query import questions_in
from discreet.plan.relations import columns_of
from discreet.plan.schema import Bounds, Keys, Limits, Person, Schema, Table, column_type
from discreet.privacy.budgets.charges import EPSILON
from discreet.sql.reader.read import read
from visits import CITIES, ask, clinic, engine_of, schema

SHARES = (
    "SELECT city, COUNT(*) AS n, COUNT(*) / SUM(COUNT(*)) OVER () AS share,"
    " RANK() OVER (ORDER BY COUNT(*) DESC) AS r FROM visits GROUP BY city"
)
BOTH = (
    "SELECT a.city, n / m AS mean FROM (SELECT city, SUM(amount) AS n FROM visits GROUP BY city) a"
    " JOIN (SELECT city, COUNT(*) AS m FROM visits GROUP BY city) b ON a.city = b.city"
)


@pytest.fixture(scope="module")
def engine():
    made = engine_of(clinic(people=300))
    yield made
    made.close()


def test_shares_of_released_counts_add_up_and_have_intervals(engine):
    release = ask(SHARES, engine)
    columns = release.table.to_pydict()
    assert sum(columns["share"]) == pytest.approx(1)
    assert sorted(columns["r"]) == [1, 2, 3]
    assert set(release.half_widths) == {"n", "share", "r"}
    assert all(0 < width.as_py() < 0.2 for width in release.half_widths["share"])
    assert set(release.how.values()) == {"by simulation"}


def test_several_answers_are_one_order_at_one_price():
    query = read(BOTH, schema())
    plan = MeasurementPlan.of(query, Price(1, 0))
    assert len(questions_in(query)) == len(plan.sets) == 2
    assert plan.charge(EPSILON).amount <= 1


def test_an_answer_that_is_named_twice_is_measured_once():
    query = read(
        "WITH g AS (SELECT city, COUNT(*) AS n FROM visits GROUP BY city)"
        " SELECT city, n FROM g WHERE n > (SELECT AVG(n) FROM g)",
        schema(),
    )
    assert len(MeasurementPlan.of(query, Price(1, 1e-6)).sets) == 1


def test_what_is_shown_is_a_function_of_what_was_stored(engine):
    query = read(BOTH, schema())
    plan = MeasurementPlan.of(query, Price(1, 1e-6))
    stored = pack(plan.measure(engine))
    again = MeasurementPlan.from_dict(plan.to_dict(), query, plan.price, plan.neighbours)
    releases = [one.present(unpack(stored)) for one in (plan, again)]
    assert releases[0].to_bytes() == releases[1].to_bytes()
    assert releases[0].table.column_names == ["city", "mean"]
    assert releases[0].facts.keys == ("city",)


def test_a_number_from_a_quantile_has_no_interval_and_says_so(engine):
    release = ask(
        "SELECT MAX(m) AS top, SUM(n) AS all FROM"
        " (SELECT city, MEDIAN(amount) AS m, COUNT(*) AS n FROM visits GROUP BY city) t",
        engine,
    )
    assert "top" not in release.half_widths
    assert "quantile" in release.how["top"]
    assert "all" in release.half_widths


@pytest.mark.parametrize("bare", ["city", "city, MEDIAN(amount) AS m"])
def test_an_answer_without_a_noisy_number_stands_beside_others(engine, bare):
    """Groups that are public, and quantiles: nothing of them is simulated."""
    sql = f"SELECT {bare}, (SELECT COUNT(*) FROM visits) AS n FROM visits GROUP BY city"
    release = ask(sql, engine)
    assert release.table.num_rows == 3
    assert "n" in release.half_widths


def test_hidden_groups_are_mentioned_where_groups_are_counted(engine):
    release = ask("SELECT COUNT(*) AS k FROM (SELECT street FROM visits GROUP BY street) t", engine)
    assert any("withheld" in note for note in release.notes)
    assert not release.half_widths


def test_no_group_at_all_is_an_answer_too():
    engine = engine_of(clinic(people=1).slice(0, 0))
    alone = ask(
        "SELECT COUNT(*) AS k, MAX(n) AS x FROM (SELECT street, COUNT(*) AS n FROM visits"
        " GROUP BY street) t",
        engine,
    )
    none = ask(
        "SELECT street, n / SUM(n) OVER () AS s FROM (SELECT street, COUNT(*) AS n FROM"
        " visits GROUP BY street) t",
        engine,
    )
    engine.close()
    assert alone.table.to_pylist() == [{"k": 0, "x": None}]
    assert none.table.num_rows == 0


def test_picked_rows_have_wider_intervals(engine):
    every = ask(SHARES, engine)
    few = ask("SELECT * FROM (" + SHARES + ") t ORDER BY n DESC LIMIT 1", engine)
    assert few.table.column("city").to_pylist() == ["Haifa"]
    assert few.half_widths["n"][0].as_py() > 1.05 * every.half_widths["n"][1].as_py()
    assert any("decide which rows are shown" in remark for remark in few.facts.remarks)


def test_too_many_groups_have_no_simulated_interval(monkeypatch, engine):
    monkeypatch.setattr("discreet.answer.estimate.answer_tables.draws_for", lambda _: 0)
    release = ask(SHARES, engine)
    assert not release.half_widths
    assert "too many groups" in release.how["share"]


def test_grouping_sets_can_be_computed_with(engine):
    release = ask(
        "SELECT city, n / MAX(n) OVER () AS share FROM"
        " (SELECT city, COUNT(*) AS n FROM visits GROUP BY ROLLUP (city)) t ORDER BY city",
        engine,
        epsilon=10,
    )
    assert release.table.column("city").to_pylist() == [*CITIES, None]
    assert max(release.table.column("share").to_pylist()) == 1


def test_kinds_survive_a_table(engine):
    release = ask(
        "SELECT city, n > 100 AS many, n AS n, n * 0.5 AS half, DATE '2024-01-31' AS d FROM"
        " (SELECT city, COUNT(*) AS n, 1 + COUNT(*) OVER () AS w FROM visits GROUP BY city) t",
        engine,
    )
    kinds = [str(kind) for kind in release.table.schema.types]
    assert kinds == ["string", "bool", "int64", "double", "date32[day]"]


def test_draws_of_noise_come_in_opposite_pairs(engine):
    plan = MeasurementPlan.of(read(SHARES, schema()), Price(1, 1e-6))
    part = interpret(plan.sets[0], plan.measure(engine)[0])
    for of, draws in _opposites(part, 5, 1.0).statistics.items():
        middle = part.statistics[of]
        assert np.allclose(draws[:5] - middle, middle - draws[5:])


def test_only_bent_functions_of_noisy_numbers_are_simulated_around_other_truths():
    grouped = "FROM (SELECT city, COUNT(*) AS n, AVG(amount) AS m FROM visits GROUP BY city) t"
    for aggregate, bent in (
        ("SUM(n)", False),
        ("AVG(2 * n - 1)", False),
        ("SUM(n) FILTER (WHERE city = 'Haifa')", False),
        ("SUM(CASE WHEN city = 'Haifa' THEN n ELSE 0 END)", False),
        ("SUM(n) FILTER (WHERE n > 0)", True),
        ("SUM(ABS(n))", True),
        ("COUNT(CASE WHEN n > 3 THEN 1 END)", True),
        ("MAX(m)", True),
    ):
        query = read(f"SELECT {aggregate} AS a {grouped}", schema())
        assert _summed_bent(query.then, questions_in(query))["a"] == 2 * bent, aggregate
    deep = read(f"SELECT SUM(r) AS a FROM (SELECT SQRT(n) AS r {grouped}) u", schema())
    assert _summed_bent(deep.then, questions_in(deep))["a"] == 2
    outer = read(f"SELECT GREATEST(SUM(n), 0) AS a, SUM(ABS(n)) AS b {grouped}", schema())
    assert _summed_bent(outer.then, questions_in(outer)) == {"": 0, "a": 1, "b": 2}


def test_means_of_large_groups_are_held_together_by_little_alone(engine):
    text = "SELECT MAX(m) AS a, MIN(s) AS b FROM (SELECT city, AVG(amount) AS m, STDDEV(amount) AS"
    text += " s FROM visits GROUP BY city) t"
    for epsilon, little in ((1000, True), (0.001, False)):
        plan = MeasurementPlan.of(read(text, schema()), Price(epsilon, 1e-6))
        part = interpret(plan.sets[0], plan.measure(engine)[0])
        drawn = _opposites(part, 100, 1.0)
        mean, deviation = part.query.aggregates
        scope = columns_of(part.query.relation)
        down, up = (_held_together(part, drawn, way) for way in (1, -1))
        for one in (mean, deviation):
            low, middle, high = (estimate(one, of, scope) for of in (down, part.statistics, up))
            assert low.max() <= middle.max() + 1e-9
            assert high.min() >= middle.min() - 1e-9
            if little:
                assert np.allclose(low, middle, atol=2)
                assert np.allclose(high, middle, atol=2)
        whole = confine(mean, np.array([-np.inf, np.inf]), scope)
        ends = [estimate(mean, down, scope).max(), estimate(mean, up, scope).min()]
        assert np.allclose(ends, whole, atol=1) == (not little)


def test_a_straight_number_has_the_same_interval_beside_a_bent_one(engine):
    grouped = "FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) t"
    plans = [
        MeasurementPlan.of(read(f"SELECT SUM(n) AS a{more} {grouped}", schema()), Price(1, 1e-6))
        for more in ("", ", SUM(ABS(n - 90)) AS b")
    ]
    drawn = plans[0].measure(engine)
    first, second = (one.present(drawn).half_widths["a"][0].as_py() for one in plans)
    assert first == second


def test_plausible_truths_leave_far_groups_where_they_are():
    noise = np.random.default_rng(0).laplace(0, 3, (200, 40))
    values = np.concatenate([[300.0], noise[0, 1:]])
    family = np.zeros(40, dtype=np.int64)
    truths = _plausible(values, noise, family, counts=True)
    assert len(truths) == _TRUTHS
    assert all(one.min() >= 0 and one[0] > 250 for one in truths)
    assert min(one[1:].sum() for one in truths) == 0
    both = np.concatenate([values, values + 50])  # of two families each has its own centre
    twice = _plausible(both, np.tile(noise, 2), np.repeat([0, 1], 40), counts=False)
    assert np.allclose(twice[3][:40] + 50, twice[3][40:])


def test_times_computed_from_released_times_say_how_far_they_are_off_in_words():
    text = "SELECT MAX(m) AS top, MIN(m) AS low, COUNT(*) AS k FROM (SELECT city, AVG(day) AS m "
    text += "FROM dated GROUP BY city) g"
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=10 * (i % 3)) for i in range(600)]
    columns = {
        "person": column_type("person", Kind.INTEGER),
        "city": column_type("city", Kind.TEXT, Keys(["a", "b", "c"]), nullable=False),
        "day": column_type("day", Kind.DATE, Bounds(dt.date(2024, 1, 1), dt.date(2024, 3, 1))),
    }
    about = Schema({"dated": Table("dated", columns, Person("person"), Limits(1, 1))})
    rows = {"person": list(range(600)), "city": ["abc"[i % 3] for i in range(600)], "day": days}
    engine = DuckDBEngine()
    engine.store("dated", pa.table(rows))
    engine.open(about)
    release = answer(read(text, about), engine, Price(1))
    engine.close()

    assert {*release.half_widths} <= {"k"}
    for name, true in (("top", dt.datetime(2024, 1, 21)), ("low", dt.datetime(2024, 1, 1))):  # noqa: DTZ001
        said = r"it is off by (.+) hours at most, with 95 % confidence"
        off = re.fullmatch(said, release.how[name])
        assert off is not None, release.how
        assert 0 < float(off[1]) < 48
        moved = abs(release.table.column(name)[0].as_py() - true)
        assert moved <= dt.timedelta(hours=2 * float(off[1]))


def test_groups_without_rows_are_told_where_groups_are_averaged():
    about = schema()
    grouped = "(SELECT city, street = 'x' AS s, COUNT(*) AS n FROM visits GROUP BY 1, 2) g"
    told = "All 9 groups of city and s count, also empty ones; NULL is one of them"
    assert told in left_out(read(f"SELECT AVG(n) FROM {grouped}", about))
    whole = left_out(read(f"SELECT SUM(n), MAX(n) FROM {grouped}", about))
    assert not any("without rows" in one for one in whole)
