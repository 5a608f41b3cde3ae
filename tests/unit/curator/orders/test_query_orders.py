"""Kinds of orders: planned from public facts, stored, and read back as what was charged."""

from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.answer.measurement_plan import MeasurementPlan
from discreet.answer.plan.price import Price
from discreet.curator.ledger.orders import Order
from discreet.curator.orders.order_kinds import KINDS, kind_of
from discreet.curator.orders.query_orders import QueryOrder
from discreet.errors import InvariantBroken, LedgerError
from discreet.plan.bounding import NoiseKind
from discreet.plan.work import bound_work
from discreet.privacy import Neighbours
from discreet.privacy.budgets.charges import EPSILON, RHO
from discreet.sql.reader.read import read
from visits import clinic, engine_of, schema

TEXT = """SELECT country, COUNT(*) AS n FROM visits JOIN cities ON city = name
    GROUP BY ROLLUP (country)"""


@pytest.fixture(scope="module")
def engine():
    engine = engine_of(clinic(60))
    yield engine
    engine.close()


def planned(noise_kind=NoiseKind.LAPLACE, neighbours=Neighbours.ADD_REMOVE):
    query = read(TEXT, schema())
    return QueryOrder(MeasurementPlan.of(query, Price(1, 1e-6), neighbours, (noise_kind,)))


def ordered(one, measure=EPSILON, **other):
    return Order("alice", "visits", "v1", one.text, (one.charge(measure),), **other)


def test_an_order_says_of_itself_what_its_plan_says(engine):
    one = planned(neighbours=Neighbours.CHANGE_ONE)
    assert one.guarantees == one.plan.guarantees
    assert one.neighbours is Neighbours.CHANGE_ONE
    assert one.tables == {"visits", "cities"}
    assert one.charge(EPSILON).amount == 1
    assert one.decisions() == one.plan.to_dict()
    assert repr(one.explain(engine.dialect)) == repr(one.plan.explain(engine.dialect))
    query = one.plan.query
    assert one.seconds(lambda asked: bound_work(asked, 1000)) == bound_work(query, 1000).seconds


def test_what_is_presented_is_a_function_of_what_was_stored(engine):
    one = planned()
    measured = one.measure(engine, None)
    release = one.present(measured)
    assert release.table.num_rows == 4
    assert one.present(measured).to_bytes() == release.to_bytes()
    assert KINDS["query"].release_type.from_bytes(release.to_bytes()) == release


def test_measurements_of_a_dearer_plan_are_not_presented(engine):
    dear = planned()
    cheap = QueryOrder(replace(dear.plan, sets=_halved(dear.plan)))
    with pytest.raises(InvariantBroken):
        cheap.present(dear.measure(engine, None))


def _halved(plan):
    return tuple(
        replace(one, costs={strategy: cost / 2 for strategy, cost in one.costs.items()})
        for one in plan.sets
    )


@pytest.mark.parametrize("noise_kind", list(NoiseKind))
def test_an_order_is_read_back_with_the_decisions_it_was_charged_for(noise_kind):
    one = planned(noise_kind)
    cheap = QueryOrder(replace(one.plan, sets=_halved(one.plan)))
    stored = ordered(one, RHO, decisions=cheap.decisions())
    assert KINDS["query"].read(stored, schema()) == cheap


def test_an_order_of_an_older_version_is_planned_anew_with_its_noise():
    one = planned(NoiseKind.GAUSSIAN)
    back = QueryOrder.read(ordered(one, RHO), schema())
    assert back == one
    assert back.plan.sets[0].noise_kind is NoiseKind.GAUSSIAN
    assert back.plan.price.epsilon == Fraction(1)


def test_a_kind_that_this_version_does_not_know_is_refused():
    one = planned()
    assert kind_of(ordered(one)) is KINDS["query"]
    assert {"query", "synthesis"} <= set(KINDS)
    with pytest.raises(LedgerError, match="an order of kind 'recipe'"):
        kind_of(ordered(one, kind="recipe"))
