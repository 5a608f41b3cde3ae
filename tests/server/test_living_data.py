"""Appended rows, versions and standing questions over HTTP."""

import datetime as dt

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import InputError
from running_server import served

COUNT = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"
TERMS = {"every": "day", "until": dt.date(2026, 1, 8), "epsilon": 1000, "delta": 1e-7}


def rows(first, last, day=1):
    days = pa.array([dt.date(2026, 1, day)] * (last - first), pa.date32())
    return pa.table({"id": range(first, last), "day": days, "city": ["Oslo"] * (last - first)})


@pytest.fixture
def app_state(tmp_path):
    with dp.Curator(tmp_path / "c") as curator:
        columns = {"city": dp.Keys(["Haifa", "Oslo"])}
        columns["day"] = dp.Bounds(dt.date(2026, 1, 1), dt.date(2026, 12, 31))
        budget = dp.Budget(epsilon=10**5, delta=1e-5)
        about = {"columns": columns, "limits": dp.Limits(1, 1)}
        curator.add("visits", rows(0, 100), unit="id", budget=budget, **about)
        with served(curator, folder=tmp_path / "c") as server:
            yield curator, server


def as_role(server, name, role):
    return dp.Curator(server.url, token=server.token(name, role))


def test_rows_are_appended_and_asked_about_by_version(app_state):
    _, server = app_state
    with as_role(server, "ann", "owner") as ann, as_role(server, "alice", "analyst") as alice:
        before = alice.sql(COUNT, epsilon=1000)
        assert ann.append("visits", rows(100, 150)) == alice.version("visits") == 2
        after = alice.sql(COUNT, epsilon=1000)
        assert after.table.column("n").to_pylist() == [0, 150]
        assert alice.sql(COUNT, epsilon=1000, as_of=1) == before
        assert alice.explain(COUNT, epsilon=1, as_of=1).price.epsilon == 1
        with pytest.raises(InputError, match="since version 2"):
            ann.append("visits", rows(100, 150))
        assert ann.append("visits", rows(100, 150), again=True) == 3
        with pytest.raises(InputError, match="newest version is 3"):
            alice.sql(COUNT, epsilon=1, as_of=4)
        with pytest.raises(dp.DiscreetError):
            alice.append("visits", rows(200, 210))
        with pytest.raises(dp.DiscreetError):
            alice.version("elsewhere")


def test_a_standing_question_grows_and_is_nobody_elses(app_state):
    local, server = app_state
    with as_role(server, "ann", "owner") as ann, as_role(server, "alice", "analyst") as alice:
        watched = alice.watch(COUNT, **TERMS)
        assert watched.release().table.num_rows == 0
        ann.append("visits", rows(100, 150, day=2), through=dt.date(2026, 1, 3))
        told = watched.release()
        assert told.table.column("n").to_pylist() == [0, 100, 0, 150, 0, 150]
        assert alice.watch(COUNT, **TERMS).release() == told
        assert local._backend.stream_release(watched.charge) == told
        mine, again = server.token("alice", "analyst"), f"/v1/releases/{watched.charge}"
        assert len(server.get(again, token=mine).json()["rows"]) == 6
        assert b"line" in server.get(f"{again}?format=chart", token=mine).body
        bob = server.token("bob", "analyst")
        assert server.get(f"/v1/streams/{watched.charge}", token=bob).status == 404
        assert server.get("/v1/streams/999999", token=bob).status == 404


def test_an_owner_looks_after_one_person_and_no_log_names_them():
    with dp.Curator.in_memory() as curator:
        budget = dp.Budget.per_person(epsilon=320, delta=1e-3)
        about = {"unit": "id", "limits": dp.Limits(1, 1), "budget": budget}
        curator.add("visits", rows(777_000, 777_100), **about)
        curator.sql("SELECT COUNT(*) AS n FROM visits", epsilon=120, delta=1e-5)
        with served(curator) as server:
            ann, bob = server.token("ann", "owner"), server.token("bob", "analyst")
            who = {"name": "777001", "dataset": "visits"}
            told = server.post("/v1/people/statement", json=who, token=ann)
            assert "part of 1 answer," in told.json()["text"]
            assert server.post("/v1/people/statement", json=who, token=bob).status == 403
            wrong = server.post("/v1/people/remove", json={**who, "name": "x777"}, token=ann)
            assert (wrong.status, b"x777" in wrong.body) == (422, False)
            limited = {**who, "name": "777002", "epsilon": "0"}
            assert server.post("/v1/people/limit", json=limited, token=ann).json() == {"done": True}
            assert server.post("/v1/people/remove", json=who, token=ann).json() == {"done": True}
            logged = str(server.logs)
        told = curator.sql("SELECT COUNT(*) AS n FROM visits", epsilon=121, delta=1e-5)
        assert told.table.column("n").to_pylist() == [98]
        assert "7770" not in logged
        assert [one.by for one in curator.ledger.noted("person limit")] == ["ann", "ann"]
