"""Failures that were found in other systems, each by its name, and what happens here instead."""

import math

import pyarrow as pa
import pytest

from discreet.answer.measurement_plan import answer
from discreet.answer.plan.price import Price
from discreet.errors import QueryRefused
from discreet.plan.query import AggregateFunction
from discreet.plan.statistics import needed
from discreet.sql.reader.read import read
from visits import CITIES, ask, clinic, engine_of, schema


def with_row(**values):
    """The clinic, and one more person with one odd row."""
    table = clinic(people=300)
    row = {"person": 10**6, "city": "Haifa", "street": "street 0", "amount": 0.0} | values
    odd = pa.table({name: pa.array([row[name]], table.schema.field(name).type) for name in row})
    return engine_of(pa.concat_tables([table, odd]))


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf, 1e308])
def test_one_nan_or_infinity_does_not_pin_a_sum(odd):
    (row,) = ask(
        "SELECT SUM(amount) AS s FROM visits", with_row(amount=odd), epsilon=50
    ).table.to_pylist()

    assert row["s"] == pytest.approx(600 * 49.5, rel=0.05)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM visits WHERE person % 0 = 1",
        "SELECT COUNT(*) FROM visits WHERE amount / 0 > 1",
        "SELECT COUNT(*) FROM visits WHERE CAST(street AS INTEGER) = 1",
        "SELECT COUNT(*) FROM visits WHERE LN(amount - 1000) > 0",
        "SELECT COUNT(*) FROM visits WHERE EXP(amount * 100) > 0 OR SQRT(-amount) < 1",
        "SELECT COUNT(*) FROM visits WHERE person * person * person > 0",
    ],
)
def test_a_row_that_has_no_value_raises_no_error(text):
    assert ask(text, with_row(person=2**62, amount=100.0)).table.num_rows == 1


def test_a_cast_that_fails_does_not_make_an_exact_count_free():
    release = ask("SELECT COUNT(CAST(street AS INTEGER)) AS n FROM visits", with_row())

    assert float(release.guarantee.epsilon(0)) > 0
    assert release.how["n"] == "exact"


def test_a_redefined_column_is_bounded_after_it_was_redefined():
    text = "SELECT SUM(x) AS s FROM (SELECT person, amount * 1000 AS x FROM visits)"
    (total,) = [s for s in needed(read(text, schema())) if hasattr(s, "grid")]

    assert total.grid.high == 100_000


def test_bins_do_not_depend_on_the_order_of_rows():
    text = "SELECT width_bucket(amount, 0, 100, 10) AS b, COUNT(*) AS n FROM visits GROUP BY b"
    first = ask(text, engine_of(clinic(people=300)))
    second = ask(text, engine_of(clinic(people=300).sort_by([("amount", "descending")])))

    assert first.table.column("b").equals(second.table.column("b"))


def test_keys_are_never_printed_from_data():
    release = ask("SELECT city, COUNT(*) FROM visits GROUP BY city", with_row(city="Secret Valley"))

    assert release.table.column("city").to_pylist() == CITIES


def test_raw_identifiers_do_not_come_out_of_grouping_by_them():
    with pytest.raises(QueryRefused, match="gives that person away"):
        read("SELECT person, COUNT(*) FROM visits GROUP BY person", schema())


def test_an_average_is_charged_once_and_shares_its_count():
    query = read("SELECT COUNT(*), SUM(amount), AVG(amount) FROM visits", schema())

    assert len(needed(query)) == 2


def test_a_result_is_not_drawn_again_when_it_is_read_again():
    release = ask("SELECT COUNT(*) AS n FROM visits", engine_of(clinic(people=300)))

    assert len({release.to_arrow()["n"][0].as_py() for _ in range(5)}) == 1


def test_count_distinct_counts_different_values():
    engine = engine_of(clinic(people=2000))
    (row,) = ask(
        "SELECT COUNT(DISTINCT street) AS n, COUNT(street) AS all_of_them FROM visits",
        engine,
        epsilon=50,
    ).table.to_pylist()

    assert abs(row["n"] - 5) <= 3
    assert row["all_of_them"] > 3900


def test_a_join_that_does_not_name_the_person_is_refused_and_not_narrowed():
    with pytest.raises(QueryRefused):
        read("SELECT COUNT(*) FROM visits a JOIN visits b ON a.city = b.city", schema())


def test_variance_is_not_the_mean_square_less_the_mean():
    engine = engine_of(clinic(people=3000))
    (row,) = ask("SELECT VAR_POP(amount) AS v FROM visits", engine, epsilon=20).table.to_pylist()

    assert row["v"] == pytest.approx(850, rel=0.05)


def test_minimum_and_maximum_are_extreme_quantiles_and_not_somebody():
    query = read("SELECT MIN(amount), MAX(amount) FROM visits", schema())

    assert {aggregate.measure for aggregate in query.aggregates} == {
        AggregateFunction.MIN,
        AggregateFunction.MAX,
    }
    release = answer(query, engine_of(clinic(people=3000)), Price(5, 0))
    low, high = release.table.to_pylist()[0].values()
    assert 0 <= low < 10
    assert 90 < high <= 100


def test_a_column_without_bounds_is_refused_rather_than_summed_without_noise():
    with pytest.raises(QueryRefused, match="Bounds"):
        read("SELECT SUM(person) FROM visits", schema())
