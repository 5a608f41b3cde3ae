"""Whoever asks says which column matters, and the budget is split accordingly."""

from fractions import Fraction

import pytest

import discreet as dp
from clinic_curator import add_visits, spent
from discreet.curator.client.wire import read_terms, write_terms
from discreet.curator.orders.planned_orders import Terms
from discreet.curator.orders.query_orders import weigh_columns
from discreet.errors import InputError
from discreet.sql.reader.read import read
from visits import schema

TEXT = """SELECT city, COUNT(*) AS n, AVG(amount) AS m, COUNT(DISTINCT person) AS u
FROM visits GROUP BY city"""
RATIO = "SELECT SUM(amount) / COUNT(*) AS r, COUNT(DISTINCT person) AS u FROM visits"


@pytest.fixture
def curator():
    with dp.Curator.in_memory() as made:
        add_visits(made, budget=dp.Budget(epsilon=5, delta=1e-5))
        yield made


def test_a_weight_makes_its_column_better_and_the_others_worse(curator):
    plain = curator.explain(TEXT, epsilon=0.5)
    people = curator.explain(TEXT, epsilon=0.5, weights={"u": 25})

    assert people.half_width("u") < plain.half_width("u")
    assert people.half_width("n") > plain.half_width("n")
    assert people.price == plain.price


def test_the_answer_is_as_good_as_was_explained(curator):
    wanted = curator.explain(TEXT, epsilon=0.5, weights={"u": 25}).half_width("u")
    answer = curator.sql(TEXT, epsilon=0.5, weights={"u": 25})

    assert answer.half_widths["u"][0].as_py() == pytest.approx(wanted, abs=1, rel=0.02)


def test_another_weighting_is_another_question(curator):
    first = curator.sql(TEXT, epsilon=0.3)
    one = spent(curator)
    weighed = curator.sql(TEXT, epsilon=0.3, weights={"m": 4})
    two = spent(curator)
    again = curator.sql(TEXT, epsilon=0.3, weights={"m": Fraction(4)})

    assert one < two == spent(curator)
    assert again == weighed != first
    assert curator.sql(TEXT, epsilon=0.3, weights={"m": 1}) == first


def test_the_fluent_interface_takes_weights_in_both_ways(curator):
    table = curator.table("visits").group_by("city")
    one = table.agg(n=dp.count(), m=dp.mean("amount")).release(epsilon=0.3, weights={"m": 4})
    two = table.agg(n=dp.count(), m=dp.mean("amount").weighted(4)).release(epsilon=0.3)

    assert one == two


def test_a_column_computed_from_several_weighs_each_of_them():
    weighed = weigh_columns(read(RATIO, schema()), {"r": 4, "u": 2})

    assert sorted(one.weight for one in weighed.aggregates) == [2, 4, 4]


@pytest.mark.parametrize("name", ["city", "x", "", "n; DROP TABLE visits"])
def test_an_unknown_column_is_refused_with_the_names_there_are(curator, name):
    before = spent(curator)
    with pytest.raises(InputError, match="they are n, m, u"):
        curator.sql(TEXT, epsilon=0.3, weights={name: 2})
    assert spent(curator) == before


@pytest.mark.parametrize("weight", [0, -1, float("nan"), float("inf"), 1e7, 1e-7, "4", None, True])
def test_weights_out_of_reach_are_refused_before_any_charge(curator, weight):
    before = spent(curator)
    with pytest.raises(InputError, match="weight"):
        curator.sql(TEXT, epsilon=0.3, weights={"m": weight})
    assert spent(curator) == before


def test_a_weight_hidden_in_a_plan_is_checked_as_well(curator):
    table = curator.table("visits").agg(n=dp.count().weighted(10**400))
    with pytest.raises(InputError, match="the weight of n is out of range"):
        table.release(epsilon=0.3)


def test_weights_travel_exactly():
    terms = Terms(0.1, weights={"m": Fraction(1, 3), "n": 0.1})

    assert write_terms(terms)["weights"] == {"m": "1/3", "n": "1/10"}
    assert read_terms(write_terms(terms)).weights == {"m": Fraction(1, 3), "n": Fraction(1, 10)}
    assert "weights" not in write_terms(Terms(0.1))
