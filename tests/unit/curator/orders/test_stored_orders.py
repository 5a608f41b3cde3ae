"""The text of an order: what the ledger stores of a question, read in one place."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.answer.plan.price import Price
from discreet.curator.orders.stored_orders import StoredOrder, names_of
from discreet.errors import InputError
from discreet.plan import canonical
from discreet.plan.bounding import NoiseKind
from discreet.plan.query import weighted
from discreet.privacy import Neighbours
from discreet.sql.reader.read import read
from visits import Limits, schema

TEXT = """SELECT country, COUNT(*) AS n, AVG(amount) AS m FROM visits JOIN cities ON city = name
    GROUP BY country"""
QUERY = read(TEXT, schema())


def stored(query=QUERY, noise_kind=NoiseKind.LAPLACE, neighbours=Neighbours.ADD_REMOVE):
    price = Price(Fraction(1, 3), Fraction(1, 10**6))
    return StoredOrder(canonical.write(query), price, noise_kind, neighbours)


@pytest.mark.parametrize("noise_kind", list(NoiseKind))
@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_an_order_is_read_back_as_it_was(noise_kind, neighbours):
    one = stored(noise_kind=noise_kind, neighbours=neighbours)
    assert StoredOrder.parse(str(one)) == one
    assert one.question(schema()) == QUERY


def test_the_text_has_exact_numbers_and_sorted_names():
    facts = json.loads(str(stored()))
    assert list(facts) == ["delta", "epsilon", "law", "neighbours", "query"]
    assert (facts["epsilon"], facts["delta"]) == ("1/3", "1/1000000")
    assert (facts["law"], facts["neighbours"]) == ("Laplace", "add-remove")


def test_a_question_is_only_read_against_the_tables_it_was_asked_of():
    with pytest.raises(InputError):
        stored().question(schema(limits=Limits(1, 1)))


def test_all_tables_are_named_public_ones_and_those_in_subqueries_too():
    assert stored().tables == {"visits", "cities"}
    inner = "SELECT AVG(n) FROM (SELECT person, COUNT(*) AS n FROM visits GROUP BY person)"
    assert names_of(canonical.write(read(inner, schema()))) == {"visits"}


def test_weights_are_told_and_left_out_where_questions_are_compared():
    heavy = stored(weighted(QUERY, {"m": Fraction(7, 2)}))
    assert heavy.weights == {"m": Fraction(7, 2)}
    assert heavy.unweighted == stored().query
    assert heavy.query != stored().query
    assert stored().weights == {}
    assert stored().unweighted == stored().query


def test_weights_are_found_in_questions_that_share_a_subquery():
    query = canonical.write(weighted(QUERY, {"m": 5}))
    shared = replace(stored(), query=json.dumps({"shared": [], "question": json.loads(query)}))
    assert shared.weights == {"m": 5}
