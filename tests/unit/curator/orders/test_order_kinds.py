"""Orders of a kind that the package does not know beforehand go every way that questions go."""

import json
import threading
from dataclasses import replace

import pytest
from click.testing import CliRunner

import discreet as dp
import fresh_process
from clinic_curator import COUNT, add_visits, spent
from discreet.answer.present.release import as_table
from discreet.cli import main
from discreet.curator.orders.order_kinds import KINDS
from discreet.curator.reports.deployment_record import deployment_record
from discreet.errors import BudgetError, InputError, LedgerError
from discreet.plan import canonical
from noisy_total import NAME, Total, TotalOrder
from running_server import QUICK, served

SPEC = {"table": "visits", "epsilon": "0.5"}
QUERY = {"sql": COUNT, "epsilon": "0.5"}
BUDGET = dp.Budget(epsilon=30, delta=1e-6)
PEOPLE = 200
FAR = 100
"""Noise is farther out than this once in e^50."""


@pytest.fixture
def totals(monkeypatch):
    """One line in the table of kinds."""
    monkeypatch.setitem(KINDS, NAME, TotalOrder)


@pytest.fixture
def curator(totals):  # noqa: ARG001 - for what it does
    with add_visits(dp.Curator.in_memory(), budget=BUDGET) as curator:
        yield curator


@pytest.fixture
def folder(totals, tmp_path):  # noqa: ARG001 - for what it does
    with add_visits(dp.Curator(tmp_path / "c"), budget=BUDGET):
        pass
    return tmp_path / "c"


def test_an_order_is_explained_charged_once_and_repeated_for_nothing(curator):
    told = curator.explain_order(NAME, SPEC)
    (cost, *_) = curator.cost_order(NAME, SPEC).values()
    assert told.price.epsilon == 0.5
    assert told.facts["half_width"] == 6.0
    assert spent(curator)[0] == 0

    first = curator.order(NAME, SPEC)
    paid = spent(curator)
    again = curator.as_analyst("ann").order(NAME, SPEC)

    assert isinstance(first, Total)
    assert abs(first.people - PEOPLE) < FAR
    assert again == first
    assert spent(curator) == paid == (cost.units, cost.delta_units)
    assert "protects each person" in first.statement()
    assert curator.ledger.verify().ok


def test_an_analyst_pays_for_an_order_from_their_own_budget(curator):
    curator.grant("ann", "visits", dp.Budget(epsilon=3, delta=1e-6))
    ann = curator.as_analyst("ann")
    (_, own) = ann.cost_order(NAME, SPEC).values()

    assert ann.explain_order(NAME, SPEC).facts == curator.explain_order(NAME, SPEC).facts
    assert ann.explain_order(NAME, SPEC).text.endswith("% of the budget")
    assert abs(ann.order(NAME, SPEC).people - PEOPLE) < FAR
    assert ann.budget("visits").spent == (own.units, own.delta_units)
    with pytest.raises(BudgetError):
        ann.order(NAME, {**SPEC, "epsilon": 3})


def test_a_question_can_be_placed_as_an_order(curator):
    release = as_table(curator.order("query", QUERY))
    paid = spent(curator)

    assert curator.sql(COUNT, epsilon=0.5) == release
    plan = canonical.write(curator.table("visits").agg(n=dp.count()).plan)
    assert curator.order("query", {"plan": plan, "epsilon": "0.5"}) == release
    assert curator.explain_order("query", QUERY).facts["half_widths"]["n"] > 0
    assert spent(curator) == paid
    assert [one.order.asked for one in curator.async_session(None).newest()] == [COUNT]


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("guess", SPEC),
        (None, SPEC),
        (NAME, {}),
        (NAME, []),
        (NAME, {**SPEC, "more": 1}),
        (NAME, {**SPEC, "epsilon": "-1"}),
        (NAME, {**SPEC, "epsilon": {"a": 1}}),
        (NAME, {**SPEC, "table": ["visits"]}),
        ("query", {}),
        ("query", {"sql": 1, "epsilon": 1}),
        ("query", {**QUERY, "plan": "{}"}),
        ("query", {**QUERY, "more": 1}),
        ("query", {"plan": "[]", "epsilon": 1}),
        ("query", {"sql": COUNT}),
        ("query", {"sql": COUNT, "epsilon": [1]}),
        ("query", {**QUERY, "delta": {}}),
        ("query", {**QUERY, "weights": 3}),
        ("query", {**QUERY, "weights": {"n": None}}),
        ("query", {"sql": COUNT, "accuracy": 7}),
        ("query", {"sql": COUNT, "accuracy": {"of": 7}}),
        ("query", {"sql": COUNT, "accuracy": {"within": 3, "more": 1}}),
        ("query", {"sql": COUNT, "accuracy": {"within": 3, "columns": 5}}),
        ("query", {"sql": COUNT, "accuracy": {"within": 3, "columns": [5]}}),
        ("query", {"sql": COUNT, "accuracy": {"within": 3, "rows": "5"}}),
    ],
)
def test_what_a_kind_does_not_read_is_refused_before_any_charge(curator, kind, spec):
    for place in (curator.order, curator.explain_order, curator.cost_order):
        with pytest.raises(InputError):
            place(kind, spec)
    assert spent(curator)[0] == 0


def test_a_table_out_of_sight_does_not_exist_for_an_order(curator):
    with pytest.raises(InputError, match="no table of people visits"):
        curator.as_analyst("ann", datasets=[]).order(NAME, SPEC)


def test_questions_and_other_orders_stand_beside_each_other(curator):
    curator.order(NAME, SPEC)
    curator.sql(COUNT, epsilon=0.5)

    better = curator.remeasure(COUNT, epsilon=0.6)  # looks at all that was asked before
    record = deployment_record(curator, "visits")

    assert "merged from 2 answers" in str(better.notes)
    assert curator.explain(COUNT, epsilon=0.5).half_width("n") > 0
    assert "3 questions" in record["deployment"]["privacy_loss"]["privacy_parameters_details"]
    assert "1 measurements with pure" in record["deployment"]["implementation"]["mechanisms"]
    assert curator.ledger.verify().ok


DIES = """
import os, sys
import discreet as dp
from discreet.curator.orders.order_kinds import KINDS
from noisy_total import NAME, TotalOrder

KINDS[NAME] = TotalOrder
TotalOrder.present = lambda *_: os._exit(9)
dp.Curator(sys.argv[1]).order(NAME, {"table": "visits", "epsilon": "0.5"})
"""


def test_what_a_killed_process_measured_is_presented_by_the_next(folder, monkeypatch):
    assert fresh_process.run(DIES, folder).returncode == 9
    with dp.Curator(folder) as curator:
        paid = spent(curator)
        assert [one.kind for one in curator.ledger.entries()][-2:] == ["charged", "measured"]
        monkeypatch.setattr(TotalOrder, "measure", lambda *_: b"a second draw")

        assert curator.recover(patience=0) == 1

        release = curator.order(NAME, SPEC)
        assert abs(release.people - PEOPLE) < FAR
        assert spent(curator) == paid
        assert curator.ledger.verify().ok


def test_an_order_of_a_kind_that_is_gone_is_told_as_that(folder, monkeypatch):
    with dp.Curator(folder) as curator:
        curator.order(NAME, SPEC)
    monkeypatch.delitem(KINDS, NAME)
    with dp.Curator(folder) as curator:
        assert curator.ledger.verify().ok
        with pytest.raises(LedgerError, match="kind 'noisy_total'"):
            curator.async_session(None).release(curator.async_session(None).newest()[0].sequence)


# --- over HTTP ----------------------------------------------------------------------------------


@pytest.fixture
def server(curator):
    with served(curator) as server:
        yield server


def test_a_remote_curator_places_the_same_orders(server, curator):
    with dp.Curator(server.url, token=server.token("ann", "analyst")) as remote:
        told, bill = remote.explain_order(NAME, SPEC), remote.cost_order(NAME, SPEC)
        release = remote.order(NAME, SPEC, request="once")
        same = remote.as_analyst("ann").order(NAME, SPEC)
        with pytest.raises(InputError, match="has a field more"):
            remote.order(NAME, {**SPEC, "more": 1})
        with pytest.raises(InputError, match="not plain JSON"):
            remote.order(NAME, {**SPEC, "epsilon": float("nan")})
        question = remote.order("query", QUERY)

    assert told == curator.explain_order(NAME, SPEC)
    assert list(bill.values()) == list(curator.cost_order(NAME, SPEC, analyst="ann").values())
    assert release == same == curator.order(NAME, SPEC)
    assert question == curator.sql(COUNT, epsilon=0.5)


def test_a_server_computes_orders_as_it_computes_questions(server):
    ann, ben = server.token("ann", "analyst"), server.token("ben", "analyst")
    body = {"kind": NAME, "spec": SPEC}
    later = server.post("/v1/orders", token=ann, json=body, headers={"Prefer": "respond-async"})
    assert later.status == 202
    place = later.headers["Location"]
    while (reply := server.get(place, token=ann)).status == 202:
        pass
    told, again = reply.json(), server.post("/v1/orders", token=ann, json=body).json()

    assert told == again
    assert told["kind"] == NAME
    assert abs(told["release"]["people"] - PEOPLE) < FAR
    assert told["price"] == {"epsilon": 0.5, "delta": 0.0}
    assert server.get(place, token=ben).status == 404
    (listed,) = server.get("/v1/releases", token=ann).json()
    assert (listed["kind"], listed["sql"], listed["epsilon"]) == (NAME, None, 0.5)
    number = listed["id"]
    assert server.get(f"/v1/releases/{number}", token=ann).json() == told
    statement = server.get(f"/v1/releases/{number}?format=statement", token=ann)
    assert b"protects each person" in statement.body
    for more in ("format=csv", "format=python", "format=arrow", "merged=true"):
        assert server.get(f"/v1/releases/{number}?{more}", token=ann).status == 422
    before = server.post("/v1/orders/explain", token=ann, json=body).json()["before"]
    assert before == number


def test_limits_of_questions_hold_for_orders(curator, monkeypatch):
    stop, measure = threading.Event(), TotalOrder.measure
    monkeypatch.setattr(TotalOrder, "measure", lambda *all_: stop.wait(30) and measure(*all_))
    with served(curator, settings=replace(QUICK, at_once=1)) as server:
        ann, eve = server.token("ann", "analyst"), server.token("eve", "auditor")

        def place(token, **more):
            body, prefer = {"kind": NAME, "spec": {**SPEC, **more}}, {"Prefer": "respond-async"}
            return server.post("/v1/orders", token=token, json=body, headers=prefer).status

        told = place(ann), place(ann, epsilon="0.25"), place(eve)
        stop.set()

    assert told == (202, 429, 403)


# --- on the command line ------------------------------------------------------------------------


def test_the_command_line_explains_and_places_orders(folder, tmp_path):
    (tmp_path / "order.json").write_text(json.dumps(SPEC), encoding="utf-8")

    def run(*words, text=None):
        return CliRunner().invoke(main, words, input=text, env={"DISCREET_CURATOR": str(folder)})

    path = str(tmp_path / "order.json")
    told = run("order", NAME, path, "--explain")
    assert "people of visits within 6" in told.stdout
    assert "Charged, unless the same was asked before" in told.stdout
    assert json.loads(run("order", NAME, path, "--explain", "--json").stdout)["half_width"] == 6
    assert run("order", NAME, path, "--explain", "--csv").stdout.startswith("account,")

    first = json.loads(run("order", NAME, path, "--json", "--statement").stdout)
    assert abs(first["people"] - PEOPLE) < FAR
    assert "protects" in first["statement"]
    again = run("order", NAME, "-", "--json", text=json.dumps(SPEC)).stdout
    assert json.loads(again)["people"] == first["people"]
    assert str(first["people"]) in run("order", NAME, path).stdout
    assert run("order", "query", "-", "--csv", text=json.dumps(QUERY)).stdout.startswith('"n",')
    assert run("ledger", "verify").exit_code == 0

    assert run("order", NAME, path, "--csv").exit_code == 2
    assert run("order", "guess", path).exit_code == 2
    for odd in ("", "[]", '{"epsilon": NaN}', "[" * 100_000):
        assert run("order", NAME, "-", text=odd).exit_code == 2
    assert run("order", NAME, "-", text='{"table": "visits", "epsilon": 500}').exit_code == 3
