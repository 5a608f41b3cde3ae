"""What costs no budget takes turns: one name has one thread for it, however many it asks for."""

import time
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

import discreet as dp
from clinic_curator import BY_CITY, add_visits
from discreet.server import app_state
from running_server import served

QUESTION = {"sql": BY_CITY, "epsilon": "0.1"}
FREE = {
    "/v1/explain": ("/v1/explain", QUESTION),
    "/v1/orders/explain": ("/v1/orders/explain", {"kind": "query", "spec": QUESTION}),
    "/v1/schema": ("/v1/schema", None),
    "/v1/datasets": ("/v1/datasets", None),
    "/v1/datasets/{name}": ("/v1/datasets/visits", None),
    "/v1/tables/{table}/dummy": ("/v1/tables/visits/dummy?rows=10", None),
    "/v1/budgets": ("/v1/budgets", None),
    "/v1/budgets/{dataset}": ("/v1/budgets/visits", None),
    "/v1/releases": ("/v1/releases", None),
    "/v1/releases/{charge}": ("/v1/releases/{}?format=chart", None),
    "/v1/queries": ("/v1/queries", QUESTION),
    "/v1/remeasure": ("/v1/remeasure", QUESTION),
    "/v1/orders": ("/v1/orders", {"kind": "query", "spec": QUESTION}),
}
OTHERWISE = {
    *("/v1/session", "/v1/me", "/v1/saved", "/v1/saved/{saved}", "/v1/parts/{dataset}"),
    *("/v1/queries/{charge}", "/v1/workbooks"),  # a few milliseconds
    *("/v1/online/{charge}/ask", "/v1/online/{charge}", "/v1/streams/{charge}"),  # later steps
    "/v1/campaigns/{campaign}/estimate",
}
"""Routes of analysts that are quick, or take turns in another way."""


@pytest.fixture(scope="module")
def server():
    with dp.Curator.in_memory() as curator:
        add_visits(curator)
        with served(curator) as server:
            yield server


@pytest.fixture(scope="module")
def tokens(server):
    return {name: server.token(name, "analyst") for name in ("ann", "ben")}


@pytest.fixture(scope="module")
def charges(server, tokens):
    """The number of a charge of each name."""
    return {
        name: server.post("/v1/queries", token=token, json={**QUESTION, "epsilon": "0.2"}).json()[
            "id"
        ]
        for name, token in tokens.items()
    }


def test_every_route_of_an_analyst_takes_turns_or_is_known_to_be_quick(server):
    gates = server.app.state.route_accesses
    theirs = {one.template for one in gates if one.guard and "analyst" in one.guard.roles}
    assert theirs == {*FREE, *OTHERWISE}


def ask(server, token, path, body):
    return (
        server.get(path, token=token) if body is None else server.post(path, token=token, json=body)
    )


@pytest.mark.parametrize("template", FREE)
def test_one_name_computes_one_free_thing_at_a_time(server, tokens, charges, template):
    path, body = FREE[template]
    slots = server.app.state.app_state.planning
    with ThreadPoolExecutor(1) as pool:
        with slots.taken(patience=60, caller="ann"):  # another request of ann's is being computed
            mine = pool.submit(ask, server, tokens["ann"], path.format(charges["ann"]), body)
            others = ask(server, tokens["ben"], path.format(charges["ben"]), body)
            end = time.monotonic() + 60
            while not slots._waiting and not mine.done() and time.monotonic() < end:
                time.sleep(0.005)
            assert not mine.done()
            assert [one.caller for one in slots._waiting] == ["ann"]
        assert (mine.result().status, others.status) == (200, 200)


def test_who_waits_for_a_turn_keeps_nobody_from_large_answers(server, tokens, charges, monkeypatch):
    monkeypatch.setattr(app_state, "LARGE", 0)
    state, path = server.app.state.app_state, "/v1/releases/{}?format=chart"
    with ThreadPoolExecutor(2) as pool:
        with state.planning.taken(patience=60, caller="ann"):
            mine = [
                pool.submit(ask, server, tokens["ann"], path.format(charges["ann"]), None)
                for _ in range(2)
            ]
            end = time.monotonic() + 60
            while len(state.planning._waiting) < 2 and time.monotonic() < end:
                time.sleep(0.005)
            assert len(state.planning._waiting) == 2
            assert not state.writing._held
        assert [one.result().status for one in mine] == [200, 200]


def test_functions_of_long_lists_of_keys_are_refused_before_they_take_long(monkeypatch):
    monkeypatch.setattr(app_state, "_LISTED", 1 << 18)
    keys = [f"key{n:04d}" for n in range(5000)]
    many = " OR ".join(f"REGEXP_EXTRACT(k, 'y{n}') = 'y'" for n in range(60))
    with dp.Curator.in_memory() as curator:
        about = {"columns": {"k": dp.Keys(keys)}, "budget": dp.Budget(epsilon=1)}
        curator.add("t", pa.table({"id": range(9), "k": keys[:9]}), unit="id", **about)
        with served(curator) as server:
            token, plain = server.token("ann", "analyst"), "SELECT COUNT(*) AS n FROM t WHERE "
            for path in ("/v1/explain", "/v1/queries"):
                asked = {"sql": plain + many, "epsilon": "0.1"}
                refused = server.post(path, token=token, json=asked)
                assert refused.status == 422
                assert "functions of columns with long lists" in refused.error["what"]
                asked["sql"] = f"{plain}UPPER(k) LIKE 'KEY%' AND LEFT(k, 4) = 'key0'"
                assert server.post(path, token=token, json=asked).status == 200
            assert curator.budget("t").share(curator.budget("t").total) == pytest.approx(0.1)
