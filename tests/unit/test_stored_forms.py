"""Stored forms never change: what older versions wrote is read, and means the same.

`tests/golden/stored_forms.json` pins every tag, every list of fields and an example of each form. A
new field is a younger one: it has a default and `metadata={"written": ...}`. A new meaning is a new
tag or kind.
"""

import base64
import dataclasses
import json
from enum import Enum
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

import discreet as dp
from discreet.answer.execute.noisy_measurements import pack, unpack
from discreet.answer.measurement_plan import MeasurementPlan
from discreet.answer.plan.price import Price
from discreet.curator.ledger.orders import Order
from discreet.curator.orders.order_kinds import KINDS
from discreet.curator.orders.planned_orders import StoredOrder
from discreet.curator.orders.query_orders import QueryOrder
from discreet.plan import canonical
from discreet.plan.bounding import NoiseKind
from discreet.plan.public_facts import facts_of
from discreet.plan.query import level_of
from discreet.plan.schema import Limits
from discreet.privacy import GDP, Approximate, Guarantee, Neighbours, Pure, Ranges
from discreet.privacy.budgets.charges import EPSILON, MU_SQUARED, RHO, Charge
from discreet.privacy.guarantees import guarantee
from discreet.sql.reader.read import read
from order_specs import ORDERS, add_dated
from visits import clinic, schema

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "stored_forms.json").read_text())

QUESTIONS = {
    "known keys, Laplace": (
        "SELECT city, COUNT(*) AS n, AVG(amount) AS m FROM visits GROUP BY city",
        NoiseKind.LAPLACE,
        Limits(2, 4),
    ),
    "found keys, a quantile, chosen limits, Gaussian": (
        "SELECT street, MEDIAN(amount) AS q, COUNT(DISTINCT city) AS d FROM visits GROUP BY street",
        NoiseKind.GAUSSIAN,
        Limits(max_groups=2),
    ),
    "groups found by a count": (
        "SELECT street, COUNT(DISTINCT person) AS n FROM visits GROUP BY street",
        NoiseKind.LAPLACE,
        Limits(2, 4),
    ),
    "a quantile with an interval": (
        "SELECT MEDIAN(amount) AS q FROM visits",
        NoiseKind.LAPLACE,
        Limits(2, 4),
    ),
    "grouping sets": (
        "SELECT city, COUNT(*) AS n FROM visits GROUP BY ROLLUP (city)",
        NoiseKind.LAPLACE,
        Limits(2, 4),
    ),
}


def plan_of(name):
    text, noise_kind, limits = QUESTIONS[name]
    query = read(text, schema(limits=limits))
    return MeasurementPlan.of(query, Price(1, 1e-6), noise_kinds=(noise_kind,))


def form_of(kind):
    """The members of an enumeration, else the fields that are written."""
    if issubclass(kind, Enum):
        return [one.value for one in kind]
    return [field.name for field in dataclasses.fields(kind) if field.init]


def younger(kind):
    """Fields that are left out where they say nothing."""
    return [
        field.name
        for field in (() if issubclass(kind, Enum) else dataclasses.fields(kind))
        if "written" in field.metadata
    ]


def test_every_tag_of_a_question_has_the_fields_it_was_stored_with():
    nodes = canonical._NODES
    assert {tag: form_of(kind) for tag, kind in nodes.items()} == GOLDEN["nodes"]
    assert {tag: younger(kind) for tag, kind in nodes.items() if younger(kind)} == GOLDEN["younger"]


def test_every_kind_of_guarantee_has_the_fields_it_was_stored_with():
    kinds = {
        kind: [f.name for f in dataclasses.fields(family) if not f.name.startswith("_")]
        for kind, family in guarantee._KINDS.items()
    }
    assert kinds == GOLDEN["guarantees"]
    assert {one.name: one.value for one in Neighbours} == GOLDEN["neighbours"]


@pytest.mark.parametrize("stored", GOLDEN["charged"], ids=lambda one: one["kind"])
def test_what_a_filter_takes_is_stored_and_read_in_one_form(stored):
    assert Guarantee.from_dict(stored).to_dict() == stored


def test_the_guarantees_that_are_charged_have_the_stored_form():
    change = Neighbours.CHANGE_ONE
    charged = [
        Pure(Fraction(1, 3)),
        Approximate(Fraction(1, 3), Fraction(1, 10**9), neighbours=change),
        GDP.of_square(Fraction(1, 4)),
        Ranges(Fraction(1, 7), neighbours=change),
    ]
    assert [one.to_dict() for one in charged] == GOLDEN["charged"]


YOUNGER = {"brackets", "histogram_epsilon", "histogram_rho"}
"""Not in all plans: intervals of quantiles, and one of the two costs of histograms."""


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_and_its_plan_have_the_stored_form(name):
    plan, stored = plan_of(name), GOLDEN["plans"][name]
    assert canonical.write(plan.query) == stored["question"]
    assert QueryOrder(plan).text == stored["order"]
    assert plan.to_dict().keys() == stored["decisions"].keys()
    for one, other in zip(plan.to_dict()["sets"], stored["decisions"]["sets"], strict=True):
        assert one.keys() - YOUNGER == other.keys() - YOUNGER


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_stored_plan_means_what_it_meant(name):
    """Decisions are compared as they are read: planning may improve, stored plans stay."""
    stored = GOLDEN["plans"][name]
    asked = StoredOrder.parse(stored["order"])
    query = asked.question(schema(limits=QUESTIONS[name][2]))
    assert asked.query == stored["question"]
    plan = MeasurementPlan.from_dict(stored["decisions"], query, asked.price, asked.neighbours)
    assert plan.to_dict() == stored["decisions"]
    assert [part.to_dict() for part in plan.guarantees] == stored["guarantees"]
    assert [what for one in plan.sets for what, _ in one.guarantees] == stored["measured"]


def test_an_extreme_that_was_stored_as_a_quantile_is_still_one():
    asked = read("SELECT MIN(amount) AS low, MAX(amount) AS high FROM visits", schema())
    assert [level_of(one) for one in asked.aggregates] == [0, 1]
    today = canonical.write(asked)
    assert canonical.read(today, schema()) == asked
    once = today.replace('"from_end":true,', "")
    found = canonical.read(once, schema())
    assert canonical.write(found) == once != today
    assert [level_of(one) for one in found.aggregates] == [Fraction(1, 2000), Fraction(1999, 2000)]
    assert [said.split(":")[0] for said in facts_of(found).remarks] == [
        "low is the 0.05 % quantile",
        "high is the 99.95 % quantile",
    ]


def test_an_order_has_the_stored_form_and_the_same_name():
    prices = (Charge(Fraction(1, 2), measure=RHO), Charge(Fraction(1, 10), measure=EPSILON))
    order = Order("alice", "visits", "v1", "a plan", prices, [{"kind": "pure/1"}], "again", "SQL")
    assert order.to_dict() == GOLDEN["order"]
    assert Order.from_dict("alice", GOLDEN["order"]) == order
    assert [one.name for one in (EPSILON, RHO, MU_SQUARED)] == GOLDEN["measures"]


def test_stored_measurements_of_this_version_are_read_for_ever():
    stored = base64.b64decode(GOLDEN["measurements"]["bytes"])
    back = unpack(stored)
    assert [one.groups for one in back] == [3]
    assert pack(back).partition(b"\n")[0] == stored.partition(b"\n")[0]
    head, _, stream = stored.partition(b"\n")
    table = pa.ipc.open_stream(stream).read_all()
    assert json.loads(head)["version"] == GOLDEN["measurements"]["version"] == 2
    assert table.schema.names == GOLDEN["measurements"]["columns"]
    assert json.loads(table.schema.metadata[b"about"]) == GOLDEN["measurements"]["about"]
    (one,) = back
    assert one.numbers[0].tolist() == [1, -2, 3]
    assert one.numbers[1].tolist() == [1 << 70, -(1 << 90), 0]
    assert one.cells["median"].tolist() == [0, 7, 2047]
    assert one.keys["k0"].to_pylist() == ["Oslo", None, "Haifa"]
    assert one.spent[0].guarantee == Approximate(Fraction(1, 3), 1e-9)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "query"])
def test_an_order_of_each_kind_has_the_stored_form(kind):
    with dp.Curator.in_memory() as curator:
        add_dated(curator, clinic(10), dp.Budget(epsilon=9, delta=1e-5))
        planned = curator._local.offer_order(kind, ORDERS[kind], None).planned
        assert {"text": planned.text, "decisions": planned.decisions()} == GOLDEN["orders"][kind]
