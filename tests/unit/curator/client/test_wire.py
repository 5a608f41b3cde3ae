"""What travels is read back as what was sent; whatever else comes is refused."""

import json
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
from clinic_curator import ABOUT, BY_CITY, COUNT, add_cities, add_visits
from discreet import errors
from discreet.curator.client import wire
from discreet.curator.client.remote_backend import read_reply
from discreet.curator.orders.planned_orders import Terms
from discreet.curator.reports import json_views
from discreet.errors import BudgetError, DiscreetError, InputError, QueryRefused, ServiceError
from discreet.privacy import Guarantee, Pure
from discreet.privacy.budgets.charges import Charge
from visits import clinic


@pytest.fixture(scope="module")
def curator():
    with dp.Curator.in_memory() as made:
        add_cities(add_visits(made))
        made.add("orders", clinic(20), **{**ABOUT, "limits": None}, dataset="visits")
        yield made


def through(facts):
    """Over the wire and back."""
    return json.loads(json.dumps(facts, allow_nan=False))


@pytest.mark.parametrize("value", [0.1, "0.1", "1/10", Decimal("0.1"), Fraction(1, 10)])
def test_a_number_means_the_same_at_both_ends(value):
    assert wire.read_number(value, "epsilon") == Fraction(1, 10)


@pytest.mark.parametrize(
    "value", ["", "x", "1/0", "1e999999999", "9" * 401, float("nan"), True, None, [], "nan", "inf"]
)
def test_what_is_no_number_is_refused(value):
    with pytest.raises(InputError):
        wire.read_number(value, "epsilon")


TERMS = [
    Terms(epsilon=0.1),
    Terms(epsilon=Fraction(1, 3), delta=1e-9),
    Terms(accuracy=dp.Accuracy(50)),
    Terms(accuracy=dp.Accuracy("2 %", of=1000, confidence=0.9, columns=["n"], rows=5), delta=0),
]


@pytest.mark.parametrize("terms", TERMS)
def test_terms_are_exact(terms):
    again = wire.read_terms(through(wire.write_terms(terms)))

    assert again.accuracy == terms.accuracy
    for name in ("epsilon", "delta"):
        sent, read = getattr(terms, name), getattr(again, name)
        assert (sent is None) is (read is None)
        assert sent is None or wire.read_number(sent, name) == read


ODD = [
    {"epsilon": "1e-400"},
    {"epsilon": "1e-10"},
    {"epsilon": "1e7"},
    {"epsilon": "1e400"},
    {"epsilon": "9" * 399},
    {"epsilon": "0.1", "delta": "1e-400"},
    {"epsilon": "0.1", "delta": "1"},
    {"accuracy": {"within": "1e-300", "rows": 10**30}},
    {"accuracy": {"within": "2 %", "of": {"n": 10**400}}},
    {"accuracy": {"within": "2 %", "of": {"n": True}}},
    {"accuracy": {"within": "2 %", "of": {}}},
    {"accuracy": {"within": "x"}},
    {},
]


@pytest.mark.parametrize("facts", ODD, ids=lambda facts: str(facts)[:50])
@pytest.mark.parametrize("text", ["SELECT COUNT(*) AS n, AVG(amount) AS a FROM visits"])
def test_numbers_that_nobody_means_are_refused(curator, facts, text):
    with pytest.raises(InputError):
        curator.async_session("a").offer(text, wire.read_terms(facts), "a")


@pytest.mark.parametrize(
    ("epsilon", "feasible"), [("1e-9", 2), ("1e-3", 4), ("1e3", 5), ("1e6", 5)]
)
def test_far_ends_of_what_can_be_asked_can_be_explained(curator, epsilon, feasible):
    terms = Terms(wire.read_number(epsilon, "epsilon"))
    explained = 0
    for text in QUESTIONS:
        with suppress(InputError):
            offer = curator.async_session("a").offer(text, terms, "a")
            facts = curator.async_session("a").explain(offer), offer.bill()
            assert through(json_views.explanation_facts(*facts))["price"]["epsilon"] == float(
                epsilon
            )
            explained += 1

    assert explained == feasible


def test_an_accuracy_relative_to_a_release_asks_for_the_same_width(curator):
    rough = curator.sql(BY_CITY, epsilon=1)
    accuracy = dp.Accuracy("20 %", of=rough, columns=["n"])
    again = wire.read_terms(through(wire.write_terms(Terms(accuracy=accuracy)))).accuracy

    assert [again.target(name) for name in ("n", "s")] == [
        accuracy.target(name) for name in ("n", "s")
    ]


ERRORS = [
    InputError("a", why="b", fix="c"),
    QueryRefused("a", why="b", fix="c", code="rows", start=3, end=7),
    QueryRefused("a", why="b", fix="c", code="datasets"),
    BudgetError("a", why="b", fix="c", asked=0.5, left=0.25),
    *(
        getattr(errors, name)("a", why="b", fix="c")
        for name in ("EngineError", "LedgerError", "AccessError", "ServiceError", "InvariantBroken")
    ),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_is_of_the_same_class_with_the_same_fields(error):
    again = wire.read_error(through(wire.write_error(error)))

    assert type(again) is type(error)
    assert (str(again), vars(again)) == (str(error), vars(error))


def test_every_class_of_error_travels():
    kinds = {
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, DiscreetError) and kind is not DiscreetError
    }

    assert {type(error) for error in ERRORS} == kinds


@pytest.mark.parametrize(
    "facts",
    [None, 7, [], {}, {"kind": "InputError"}, {"kind": "exit", "what": "", "why": "", "fix": ""}],
)
def test_what_is_no_error_is_a_failure_of_the_service(facts):
    assert type(wire.read_error(facts)) is ServiceError


def test_accounts_bills_entries_and_reports_are_exact(curator):
    curator.sql(COUNT, epsilon=Fraction(1, 7))
    auditor = curator.as_auditor()
    bill = curator.cost(BY_CITY, epsilon=Fraction(1, 3))

    for account in auditor.accounts():
        assert wire.read_account(through(wire.write_account(account))) == account
        assert through(json_views.account_facts(account))["exact"] == list(account.row()[:-1])
    assert wire.read_bill(through(wire.write_bill(bill))) == bill
    for entry in auditor.entries():
        assert wire.read_entry(through(wire.write_entry(entry))) == entry
    report = auditor.verify()
    assert wire.read_report(through(wire.write_report(report))) == report


QUESTIONS = [
    COUNT,
    BY_CITY,
    "SELECT street, AVG(amount) AS a, MEDIAN(amount) AS m FROM visits GROUP BY street",
    "SELECT city, MAX(amount) AS m FROM orders GROUP BY ROLLUP (city)",
    "SELECT VARIANCE(amount) AS v, COUNT(DISTINCT street) AS d FROM orders",
]


@pytest.mark.parametrize("text", QUESTIONS)
def test_an_explanation_is_the_same_to_the_last_bit(curator, text):
    told = curator.explain(text, epsilon=Fraction(1, 7))
    again = wire.read_explanation(through(wire.write_explanation(told)))

    assert again == told
    assert (repr(again), again.sql) == (repr(told), told.sql)


@pytest.mark.parametrize("text", QUESTIONS)
def test_what_people_are_told_is_plain_json(curator, text):
    told, bill = curator.explain(text, epsilon=0.3), curator.cost(text, epsilon=0.3)
    facts = through(json_views.explanation_facts(told, bill))
    release = through(curator.sql(text, epsilon=0.3).json_facts())

    assert facts["price"]["epsilon"] == 0.3
    assert facts["odds"]["before"] <= facts["odds"]["after"] <= 100
    assert [one["name"] for one in release["columns"]] == list(
        curator.sql(text, epsilon=0.3).table.column_names
    )
    assert all(len(row) == len(release["columns"]) for row in release["rows"])


@settings(max_examples=30)
@given(st.recursive(st.none() | st.integers() | st.text(max_size=3), st.lists, max_leaves=5))
def test_a_foreign_explanation_is_a_failure_of_the_service(facts):
    for odd in (facts, {"node": facts}, {"node": "Price", "epsilon": facts}, {"enum": "NoiseKind"}):
        reply = SimpleNamespace(json=lambda odd=odd: odd)
        with pytest.raises(ServiceError):
            read_reply(reply, wire.read_explanation)


ASKED = {"charge": 1, "text": "SELECT 1", "answered": True}


@pytest.mark.parametrize(
    ("read", "facts"),
    [
        (Guarantee.from_dict, {**Pure(1).to_dict(), "epsilon": "1e400000000"}),
        (wire.read_explanation, {"fraction": "1e400000000"}),
        (wire.read_explanation, reduce(lambda inner, _: [inner], range(3000), {})),
        (Charge.from_dict, {"measure": "rho", "amount": "1e400000000", "delta": "0"}),
        (wire.read_asked, {"asked": [{**ASKED, "price": {"epsilon": "1e400000000"}}]}),
    ],
    ids=["a guarantee", "a number", "lists in lists", "a charge", "a workbook"],
)
def test_what_would_take_for_ever_or_is_too_deep_is_a_failure_of_the_service(read, facts):
    with pytest.raises(ServiceError, match="cannot be read"):
        read_reply(SimpleNamespace(json=lambda: facts), read)


def test_spending_more_never_sounds_safer():
    caps = [dp.Budget(epsilon=e, delta=1e-6).cap() for e in (0.1, 0.5, 1, 3, 8)]
    told = [json_views._chances(cap) for cap in caps]

    assert told == sorted(told)
    assert told[0] >= 10
    assert json_views._chances(dp.Budget(epsilon=1).cap()) == 28  # 10 in 100 times e, rounded up


def test_a_cap_is_told_as_the_owner_said_it(curator):
    facts = json_views.account_facts(curator.budget("visits"))

    assert (facts["cap_epsilon"], facts["cap_delta"]) == (3.0, 1e-6)
