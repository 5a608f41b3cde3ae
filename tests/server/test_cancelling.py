"""A question that is charged and not measured can be given up, by whoever asked and by owners."""

import time
from dataclasses import replace

import pytest

import discreet as dp
from clinic_curator import ABOUT, COUNT
from discreet.answer.measurement_plan import MeasurementPlan
from discreet.curator.orders.planned_orders import Terms
from discreet.errors import DiscreetError, EngineError, InputError
from running_server import QUICK, served
from visits import clinic

ASYNC = {"Prefer": "respond-async"}


@pytest.fixture(scope="module")
def curator():
    with dp.Curator.in_memory() as curator:
        curator.add("visits", clinic(50), **ABOUT, budget=dp.Budget(epsilon=30))
        curator.sql(COUNT, epsilon=0.5)
        yield curator


@pytest.fixture
def endless(monkeypatch):
    """Computing goes on until its deadline, wherever that is moved."""

    def wait(*question):
        while time.monotonic() < question[-1].moment:
            time.sleep(0.01)
        raise EngineError("it was stopped", why="its time was over", fix="none")

    monkeypatch.setattr(MeasurementPlan, "measure", wait)


@pytest.fixture
def server(curator, endless):  # noqa: ARG001 - for what it does
    with served(curator) as server:
        yield server


def begun(server, token, n):
    body = {"sql": f"{COUNT} WHERE amount < {n}", "epsilon": "0.1"}
    reply = server.post("/v1/queries", token=token, json=body, headers=ASYNC)
    assert reply.status == 202
    return reply.json()["id"]


def ended(server, token, charge, patience=60):
    end = time.monotonic() + patience
    while time.monotonic() < end:
        reply = server.get(f"/v1/queries/{charge}", token=token)
        if reply.status != 202:
            return reply
        time.sleep(0.05)
    raise AssertionError


@pytest.mark.parametrize(("who", "n"), [("ann", 1), ("owner", 2)])
def test_who_asked_and_owners_cancel_and_the_charge_stays(server, curator, who, n):
    ann = server.token("ann", "analyst")
    token = ann if who == "ann" else server.token()
    charge = begun(server, ann, n)
    spent = curator.budget("visits").total.amount

    assert server.delete(f"/v1/queries/{charge}", token=token).status == 204
    assert (
        server.delete(f"/v1/queries/{charge}", token=token).status == 204
    )  # as often as one likes
    told = ended(server, ann, charge)

    assert (told.status, told.error["kind"]) == (503, "EngineError")
    assert "cancelled" in told.error["why"]
    assert "another price" in told.error["fix"]  # the same would be refused for ever
    assert curator.budget("visits").total.amount == spent
    newest = curator.ledger.entries(after=charge)[-1]
    assert (newest.kind, newest.by, newest.facts) == (
        *("failed", who),
        {"charge": charge, "cancelled": True},
    )
    assert curator.ledger.verify().ok
    slots = server.app.state.app_state.work
    end = time.monotonic() + 60
    while slots._held and time.monotonic() < end:
        time.sleep(0.01)
    assert not slots._held  # its slot is free


def test_nobody_else_can_cancel_or_learn_that_there_is_a_question(server):
    ann, ben = server.token("ann", "analyst"), server.token("ben", "analyst")
    charge = begun(server, ann, 3)

    refused = server.delete(f"/v1/queries/{charge}", token=ben)
    unknown = server.delete("/v1/queries/999999", token=ben)

    assert refused.status == unknown.status == 404
    assert server.delete(f"/v1/queries/{charge}", token=ann).status == 204


def test_cancelling_counts_as_no_failure(server):
    ann = server.token("cancels often", "analyst")
    for n in range(4, 12):
        charge = begun(server, ann, n)
        assert server.delete(f"/v1/queries/{charge}", token=ann).status == 204
        ended(server, ann, charge)

    last = begun(server, ann, 20)
    assert server.delete(f"/v1/queries/{last}", token=ann).status == 204


@pytest.mark.usefixtures("endless")
def test_what_waits_for_a_slot_is_cancelled_too(curator):
    with served(curator, settings=replace(QUICK, computing=1)) as server:
        ann = server.token("ann", "analyst")
        first, second = begun(server, ann, 30), begun(server, ann, 31)
        for charge in (second, first):
            assert server.delete(f"/v1/queries/{charge}", token=ann).status == 204
        assert ended(server, ann, second).status == 503


def test_what_is_answered_cannot_be_cancelled(curator):
    with served(curator) as server, dp.Curator(server.url, token=server.token()) as remote:
        release = remote.sql(COUNT, epsilon=0.25)
        charge = server.get("/v1/releases", token=server.token()).json()[0]["id"]
        with pytest.raises(InputError, match="answered already"):
            remote.cancel(charge)
        assert remote.sql(COUNT, epsilon=0.25) == release


def test_the_client_cancels(server):
    token = server.token("ann", "analyst")
    charge = begun(server, token, 40)
    with dp.Curator(server.url, token=token) as remote:
        remote.as_analyst("ann").cancel(charge)
        with pytest.raises(DiscreetError):
            remote.cancel(10**6)
    assert ended(server, token, charge).status == 503


@pytest.mark.usefixtures("endless")
def test_an_analyst_in_the_same_process_cancels_their_own_alone(curator):
    window = curator.async_session("ann")
    receipt = window.service.charge(
        window.offer(f"{COUNT} WHERE amount < 50", Terms(epsilon=0.1), "ann")
    )
    with pytest.raises(InputError, match="no question"):
        curator.as_analyst("ben").cancel(receipt.sequence)
    curator.as_analyst("ann").cancel(receipt.sequence)
    with pytest.raises(EngineError, match="could not be computed"):
        curator.sql(f"{COUNT} WHERE amount < 50", epsilon=0.1, analyst="ann")


def test_who_asked_first_cancels_for_nobody_else_and_nobody_pays_for_an_error(server, curator):
    ann, ben = server.token("ann", "analyst"), server.token("ben", "analyst")
    charge = begun(server, ann, 60)
    assert begun(server, ben, 60) == charge

    assert server.delete(f"/v1/queries/{charge}", token=ann).status == 204
    assert server.get(f"/v1/queries/{charge}", token=ben).status == 202  # it goes on
    assert server.delete(f"/v1/queries/{charge}", token=server.token()).status == 204
    assert ended(server, ben, charge).status == 503

    paid = curator.budget("visits", analyst="ben").total.amount
    late = begun(server, ann, 61)
    assert server.delete(f"/v1/queries/{late}", token=ann).status == 204
    ended(server, ann, late)
    body = {"sql": f"{COUNT} WHERE amount < 61", "epsilon": "0.1"}
    assert server.post("/v1/queries", token=ben, json=body).status == 503
    assert curator.budget("visits", analyst="ben").total.amount == paid
    assert curator.ledger.verify().ok
