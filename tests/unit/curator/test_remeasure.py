"""Asking again merges with what was told before, and costs the new price alone."""

from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from clinic_curator import BY_CITY, COUNT, add_visits, spent
from discreet.answer.plan.price import Price
from discreet.answer.present.base_release import Cost
from discreet.answer.present.release import Release
from discreet.curator import remeasure
from discreet.curator.remeasure import _weighted, merge
from discreet.sql.reader.read import read
from visits import schema


@pytest.fixture
def curator():
    with dp.Curator.in_memory() as made:
        add_visits(made, budget=dp.Budget(rho=50, delta=1e-3))
        yield made


def test_the_first_measurement_is_itself(curator):
    assert curator.remeasure(COUNT, epsilon=0.1) == curator.sql(COUNT, epsilon=0.1)


def test_measuring_again_costs_the_new_price_alone(curator):
    curator.sql(COUNT, epsilon=0.1)
    before = spent(curator)
    curator.remeasure(COUNT, epsilon=0.2)
    after = spent(curator)
    curator.remeasure(COUNT, epsilon=0.2)

    assert spent(curator) == after > before


def test_merging_weighs_by_inverse_variance(curator):
    first = curator.sql(BY_CITY, epsilon=0.3)
    merged = curator.remeasure(BY_CITY, epsilon=0.4)
    second = curator.sql(BY_CITY, epsilon=0.4)

    for column in ("n", "s"):
        widths = [one.half_widths[column].to_numpy() for one in (first, second)]
        values = [one.table.column(column).to_numpy() for one in (first, second)]
        weights = [1 / width**2 for width in widths]
        expected = (values[0] * weights[0] + values[1] * weights[1]) / sum(weights)
        near = 0.5 + 0.05 * widths[0]  # half-widths of sums are simulated
        assert np.all(np.abs(merged.table.column(column).to_numpy() - expected) <= near)
        assert np.all(merged.half_widths[column].to_numpy() <= np.minimum(*widths) + 0.5)
    assert merged.price.epsilon == first.price.epsilon + second.price.epsilon
    assert len(merged.costs) == len(first.costs) + len(second.costs)


def test_another_analyst_does_not_learn_what_was_told_to_the_first(curator):
    curator.as_analyst("alice").sql(COUNT, epsilon=0.1)
    bob = curator.as_analyst("bob").remeasure(COUNT, epsilon=0.2)
    owner = curator.remeasure(COUNT, epsilon=0.2)
    alice = curator.as_analyst("alice").remeasure(COUNT, epsilon=0.2)

    assert bob == owner == curator.sql(COUNT, epsilon=0.2)
    assert alice.notes[-1].startswith("merged from 2 answers")


GAUSSIAN = partial(dp.Gaussian, sensitivity=1)
LAPLACE = partial(dp.Laplace, sensitivity=1)


def made_up(mechanism, groups):
    """A release of a count for each of many groups, which is 0 but for noise."""
    noisy = mechanism.release(np.zeros(groups, dtype=np.int64))
    width = pa.array(np.full(groups, float(mechanism.error(0.95))))
    return Release(
        table=pa.table({"city": pa.array(range(groups)), "n": pa.array(noisy)}),
        half_widths={"n": width},
        how={"n": "exact"},
        price=Price(1),
        guarantee=mechanism.guarantee,
        costs=(Cost("Rows", "noise", mechanism.guarantee),),
    )


@pytest.mark.parametrize(
    "laws",
    [
        [GAUSSIAN(rho=0.001), GAUSSIAN(rho=0.002)],
        [LAPLACE(epsilon=0.02), LAPLACE(epsilon=0.03)],
        [LAPLACE(epsilon=0.02), GAUSSIAN(rho=0.0001), LAPLACE(epsilon=0.01)],
    ],
)
def test_the_merged_half_width_holds_and_is_narrower(laws):
    """20,000 independent groups: 95 % inside, short by at most 5 standard errors (one in 10^6)."""
    groups = 20_000
    query = read("SELECT city, COUNT(*) AS n FROM visits GROUP BY city", schema())
    fresh, *earlier = (made_up(law, groups) for law in laws)
    merged = merge(query, fresh, earlier)
    widths = merged.half_widths["n"].to_numpy()
    inside = np.abs(merged.table.column("n").to_numpy()) <= widths

    assert inside.mean() >= 0.95 - 5 * np.sqrt(0.95 * 0.05 / groups)
    assert inside.mean() <= 0.97
    assert widths[0] < min(float(law.error(0.95)) for law in laws)


def test_a_group_that_was_not_there_before_keeps_its_number():
    query = read("SELECT city, COUNT(*) AS n FROM visits GROUP BY city", schema())
    fresh, earlier = made_up(LAPLACE(epsilon=1), 3), made_up(LAPLACE(epsilon=1), 2)
    merged = merge(query, fresh, [earlier])

    assert merged.table.column("n")[2] == fresh.table.column("n")[2]
    assert merged.half_widths["n"][2].as_py() == fresh.half_widths["n"][2].as_py() + 0.5
    assert merged.half_widths["n"][0].as_py() < fresh.half_widths["n"][0].as_py()


FULL = """SELECT city, COUNT(*) AS n, AVG(amount) AS m, STDDEV(amount) AS d,
SUM(amount) / COUNT(*) AS r FROM visits GROUP BY city"""


def test_means_and_what_is_computed_from_them_are_merged_too(curator):
    first = curator.sql(FULL, epsilon=20)
    merged = curator.remeasure(FULL, epsilon=20, delta=1e-4)
    second = curator.sql(FULL, epsilon=20, delta=1e-4)

    for column in ("n", "m", "d", "r"):
        one, two, both = (r.table.column(column).to_numpy() for r in (first, second, merged))
        widths = [r.half_widths[column].to_numpy() for r in (first, second, merged)]
        assert np.any(both != two)
        assert np.all(widths[2] <= 1.05 * np.minimum(widths[0], widths[1]))
        if column == "n":
            assert np.all((np.minimum(one, two) <= both) & (both <= np.maximum(one, two)))
    assert np.allclose(merged.table["m"].to_numpy(), merged.table["r"].to_numpy(), rtol=0.01)
    assert "merg" in merged.how["m"]


@pytest.mark.parametrize(
    "text",
    [
        f"{BY_CITY} ORDER BY n DESC LIMIT 1",
        f"{BY_CITY} HAVING COUNT(*) > 5",
        "SELECT COUNT(*) AS n FROM visits GROUP BY city",
        "SELECT city, COUNT(*) AS n FROM visits GROUP BY ROLLUP (city)",
    ],
)
def test_groups_that_are_hidden_are_merged_before_they_are_hidden(curator, text):
    curator.sql(text, epsilon=2)
    merged = curator.remeasure(text, epsilon=2.5)

    assert merged.notes[-1] == "merged from 2 answers, each charged when it was made"
    assert merged == curator.remeasure(text, epsilon=2.5)


def stored_before(monkeypatch):
    """Answers are stored as they were before what was measured was kept with them."""
    monkeypatch.setattr("discreet.answer.present.release.kept", lambda _: ())


def test_answers_stored_without_parts_are_merged_column_by_column(curator, monkeypatch):
    with monkeypatch.context() as past:
        stored_before(past)
        first = curator.sql(FULL, epsilon=0.3)
    merged = curator.remeasure(FULL, epsilon=0.4)
    second = curator.sql(FULL, epsilon=0.4)

    assert first.parts == ()
    assert second.parts != ()
    assert np.all(merged.half_widths["n"].to_numpy() < second.half_widths["n"].to_numpy())
    assert merged.table["m"] == second.table["m"]
    assert merged.how["n"] == "by merging"


def test_what_cannot_be_merged_is_said(curator, monkeypatch):
    text = f"{BY_CITY} ORDER BY n DESC LIMIT 1"
    with monkeypatch.context() as past:
        stored_before(past)
        curator.sql(text, epsilon=0.3)
    alone = curator.remeasure(text, epsilon=0.4)
    merged = curator.remeasure(text, epsilon=0.5)

    assert alone.table == curator.sql(text, epsilon=0.4).table
    assert alone.notes[-1].startswith("not merged with earlier answers")
    assert merged.notes[-1].startswith("merged from 2 answers")


def test_another_weighting_of_the_same_question_is_merged(curator):
    curator.sql(FULL, epsilon=0.5, weights={"m": 9})
    merged = curator.remeasure(FULL, epsilon=0.5)

    assert merged.notes[-1].startswith("merged from 2 answers")


def test_limits_that_were_chosen_apart_are_said():
    with dp.Curator.in_memory() as curator:
        add_visits(curator, budget=dp.Budget(rho=5000, delta=1e-3), limits=None)
        all_contributions = set()
        for epsilon in (0.001, 40):
            all_contributions.add(curator.sql(COUNT, epsilon=epsilon).parts[0].contributions)
        merged = curator.remeasure(COUNT, epsilon=41)

    assert len(all_contributions) == 2
    assert merged.notes[-1] == "their limits on what one person weighs were not the same"


def test_weights_are_those_of_independent_errors():
    value, width = _weighted([(10.0, 1.0), (20.0, 2.0)])

    assert value == pytest.approx(12)
    assert width == pytest.approx(np.sqrt(0.8))


def test_of_very_many_answers_the_dearest_are_merged(curator, monkeypatch):
    monkeypatch.setattr(remeasure, "_MOST", 2)
    for epsilon in (0.4, 0.1, 0.3, 0.2):
        curator.sql(COUNT, epsilon=epsilon)
    merged = curator.remeasure(COUNT, epsilon=0.5)

    assert merged.price.epsilon == Fraction(12, 10)


def test_a_number_without_a_width_is_neither_weighed_nor_lost():
    query = read("SELECT city, COUNT(*) AS n FROM visits GROUP BY city", schema())
    one, two = made_up(LAPLACE(epsilon=1), 3), made_up(LAPLACE(epsilon=1), 3)
    bare = replace(one, half_widths={"n": pa.array([None, 1.0, 1.0])})
    blind = replace(two, half_widths={"n": pa.array([None, None, 1.0])})
    merged = merge(query, bare, [blind])

    assert merged.table.column("n")[:2] == bare.table.column("n")[:2]
    assert merged.half_widths["n"].to_pylist()[:2] == [None, 1.5]


def test_questions_in_python_are_explained_and_measured_again_like_those_in_sql(curator):
    text = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"
    question = curator.table("visits").group_by("city").agg(n=dp.count())
    curator.sql(text, epsilon=0.3)

    assert repr(curator.explain(question, epsilon=0.4)) == repr(curator.explain(text, epsilon=0.4))
    assert curator.cost(question, epsilon=0.4) == curator.cost(text, epsilon=0.4)
    merged = curator.remeasure(question, epsilon=0.4)
    assert merged.notes[-1] == "merged from 2 answers, each charged when it was made"
    assert curator.remeasure(text, epsilon=0.4) == merged
    assert curator.ask(question, epsilon=0.3) == curator.sql(text, epsilon=0.3)
    desk = curator.as_analyst("zed")
    assert desk.remeasure(question, epsilon=0.4) == curator.sql(text, epsilon=0.4)


def test_explaining_recalls_what_an_earlier_answer_told_this_analyst():
    text = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"
    with dp.Curator.in_memory() as curator:
        add_visits(curator, limits=dp.Limits(), budget=dp.Budget(rho=500, delta=1e-3))
        told = curator.sql(text, epsilon=20).parts[0].beyond

        assert told is not None
        for price in (20, 0.5):
            [part] = curator.explain(text, epsilon=price).parts
            assert part.clipped == told
        [others] = curator.explain(text, epsilon=1, analyst="bob").parts
        assert others.clipped is None
