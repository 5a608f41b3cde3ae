"""Orders of any kind: what the ledger stores of a question, terms, prices and offers."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest

import discreet as dp
from clinic_curator import COUNT, add_visits
from discreet.answer.plan.accuracy import Accuracy
from discreet.answer.plan.price import Price
from discreet.curator.orders.drafted_orders import read_table
from discreet.curator.orders.planned_orders import (
    Offer,
    PlannedOrder,
    QuoteContext,
    StoredOrder,
    Terms,
    names_of,
)
from discreet.errors import InputError, InvariantBroken
from discreet.plan import canonical
from discreet.plan.bounding import NoiseKind
from discreet.plan.query import weighted
from discreet.privacy import Neighbours
from discreet.privacy.budgets.charges import EPSILON, MU_SQUARED, RHO
from discreet.sql.reader.read import read
from noisy_total import TotalOrder
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


def test_only_the_name_of_a_private_table_names_one():
    assert read_table("visits", schema()).name == "visits"
    for name in ("cities", "nowhere", 3, None, ["visits"]):
        with pytest.raises(InputError, match="private table"):
            read_table(name, schema())


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


# --- prices ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"epsilon": 1, "accuracy": Accuracy(within=5)},
        {"epsilon": 1, "intervals": "no"},
        {"epsilon": 1, "as_of": 0},
        {"accuracy": 5},
        {"epsilon": 1, "workbook": ""},
        {"epsilon": 1, "weights": ["m"]},
    ],
)
def test_terms_that_decide_no_price_or_are_of_another_type_are_refused(said):
    with pytest.raises(InputError):
        Terms(**said)


def test_a_question_is_about_one_version():
    newest, second = Terms(epsilon=1), Terms(epsilon=1, as_of=2)
    assert newest.on_version(None) is newest
    assert newest.on_version(2) == second
    assert second.on_version(2) is second
    with pytest.raises(InputError):
        second.on_version(3)


@pytest.fixture
def curator():
    with add_visits(dp.Curator.in_memory()) as curator:
        yield curator


def offered(curator, **said):
    return curator._local.offer(COUNT, Terms(**{"epsilon": 0.3, **said}), "ann")


def test_an_offer_tells_the_share_of_the_budget_that_it_takes(curator):
    offer = offered(curator)
    assert 0 < offer.share < 1
    assert "of the budget of" in offer.takes
    assert "\ntakes " in offer.explanation.text
    counting = tuple(replace(one, cap=None) for one in offer.at.touched)
    free = replace(offer, at=replace(offer.at, touched=counting))
    assert free.takes is None
    assert free.share is None
    assert "takes" not in free.explanation.text


def test_the_order_of_an_offer_names_version_workbook_and_request(curator):
    offer = offered(curator)
    plain = offer.order()
    assert (plain.data_version, plain.workbook, plain.request) == (1, None, None)
    later = replace(offer, at=replace(offer.at, data_version=3, workbook="mine"))
    order = later.order("again")
    assert (order.data_version, order.workbook, order.request) == (3, "mine", "again")


class Both(TotalOrder):
    """A total whose price in epsilon is not known, though it may have one."""

    def charge(self, measure):
        if measure == EPSILON:
            raise InputError("no price", why="none is known", fix="count otherwise")
        return PlannedOrder.charge(self, measure)


def order_of(planned, *measures):
    with add_visits(dp.Curator.in_memory()) as curator:
        first = curator.budget("visits")
    touched = tuple(replace(first, measure=one) for one in measures)
    at = QuoteContext("ann", "visits", "0", touched, planned.neighbours)
    return Offer(planned, at).order()


def test_an_order_is_also_found_by_those_whose_account_counts_epsilon_or_does_not():
    table = schema().tables["visits"]
    total = TotalOrder(table, Fraction(1, 2), Neighbours.ADD_REMOVE)
    by_rho, by_both = order_of(total, RHO), order_of(total, RHO, EPSILON)
    assert by_rho.also == (by_both.question,)
    assert by_both.also == (by_rho.question,)
    assert order_of(total, EPSILON).also == ()
    assert order_of(Both(table, Fraction(1, 2), Neighbours.ADD_REMOVE), MU_SQUARED).also == ()


def test_a_plan_that_is_not_priced_for_each_person_is_measured_for_nobody_alone():
    total = TotalOrder(schema().tables["visits"], Fraction(1, 2), Neighbours.ADD_REMOVE)
    with pytest.raises(InvariantBroken):
        total.measure_admitted(None, None, None)


def test_the_price_of_a_stored_order_is_read_from_its_text(curator):
    order = offered(curator).order()
    assert PlannedOrder.price_of(order).epsilon == Fraction(3, 10)
