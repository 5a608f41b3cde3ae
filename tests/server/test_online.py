"""Epochs of online queries over HTTP: the same words, the same steps, nobody else's."""

import pytest

import discreet as dp
from clinic_curator import add_visits
from discreet.curator.answer_service import AnswerService
from discreet.workload.online import OnlineSession
from running_server import served

SPEC = {"columns": ["city", "amount"], "epsilon": 2, "delta": 1e-7, "updates": 2, "queries": 50}


@pytest.fixture(scope="module")
def app_state():
    with dp.Curator.in_memory() as curator:
        add_visits(curator, budget=dp.Budget(epsilon=50, delta=1e-5))
        with served(curator) as server:
            yield curator, server


@pytest.fixture
def alice(app_state):
    server = app_state[1]
    with dp.Curator(server.url, token=server.token("alice", "analyst")) as curator:
        yield curator


def test_an_epoch_is_opened_asked_and_saved_through_a_server(app_state, alice):
    session = alice.online("visits", **SPEC)
    told = session.ask({"amount": dp.Bounds(0, 50)})
    assert told.low <= told.value <= told.high
    reply = session.ask_all([{"amount": dp.Bounds(0, 50)}, {}])
    assert reply.held
    state = session.state
    assert state.runs_left == reply.runs_left < state.plan.runs
    assert state.answer({}).value == pytest.approx(reply.answers[1].value, rel=0.5)
    assert alice.online("visits", **SPEC).charge == session.charge
    local = app_state[0]
    assert local._epochs.state(session.charge).to_bytes() == state.to_bytes()


def test_nobody_waits_to_plan_while_data_is_read_for_an_epoch(app_state, alice, monkeypatch):
    slots, held = app_state[1].app.state.app_state.planning, []

    def note(owner, name):
        call = getattr(owner, name)

        def noted(*said, **more):
            held.append((name, len(slots._held)))
            return call(*said, **more)

        monkeypatch.setattr(owner, name, noted)

    note(AnswerService, "read_on")
    note(OnlineSession, "ask")
    alice.online("visits", **{**SPEC, "epsilon": 1}).ask({})

    assert held == [("read_on", 0), ("ask", 1)]


def test_nobody_else_can_ask_under_an_epoch(app_state, alice):
    server = app_state[1]
    charge = alice.online("visits", **SPEC).charge
    bob = server.token("bob", "analyst")
    body = {"queries": [{}]}
    for path in (f"/v1/online/{charge}/ask", "/v1/online/999999/ask"):
        assert server.post(path, token=bob, json=body).status == 404
    assert server.get(f"/v1/online/{charge}", token=bob).status == 404
    question = alice.sql("SELECT COUNT(*) AS n FROM visits", epsilon=0.1)
    assert question is not None
    others = [
        one.sequence
        for one in app_state[0].async_session(None).newest()
        if one.order.kind == "query"
    ]
    mine = server.token("alice", "analyst")
    assert server.post(f"/v1/online/{others[0]}/ask", token=mine, json=body).status == 404


@pytest.mark.parametrize(
    "body",
    [{}, {"queries": []}, {"queries": [{"height": 3}]}, {"queries": [{}], "confidence": 1}],
)
def test_wrong_queries_are_told_what_is_wrong(app_state, alice, body):
    server = app_state[1]
    charge = alice.online("visits", **SPEC).charge
    mine = server.token("alice", "analyst")
    assert server.post(f"/v1/online/{charge}/ask", token=mine, json=body).status in {400, 422}
