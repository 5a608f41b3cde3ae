"""Later steps of a charge take turns with all questions, and fail for whoever asked for them."""

import contextlib
import datetime as dt
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow as pa
import pytest

import discreet as dp
from discreet.curator.orders.online_orders import OnlineOrder
from discreet.curator.orders.streams.stream_reading import StreamQuery
from discreet.server.app import build_app
from discreet.server.error_replies import HttpError
from running_server import QUICK, served

COUNT = "SELECT COUNT(*) AS n FROM visits"
BY_CITY = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"
ONLINE = {"columns": ["city"], "delta": 1e-9, "updates": 1, "queries": 5}
WATCHED = {"every": "day", "until": dt.date(2026, 1, 8), "delta": 1e-9}
ASKED = {"queries": [{"city": ["Oslo"]}]}
NOBODY = ""
STEPS = tuple(n / 4 for n in range(1, 241))
"""Near to each other: a late one waits a quarter of a second, and none fails for being late."""


def rows(first, last):
    days = pa.array([dt.date(2026, 1, 1)] * (last - first), pa.date32())
    return pa.table({"id": range(first, last), "day": days, "city": ["Oslo"] * (last - first)})


@contextlib.contextmanager
def clinic(**settings):
    """A server that computes few questions at a time, and its curator."""
    with dp.Curator.in_memory() as curator:
        columns = {"city": dp.Keys(["Haifa", "Oslo"])}
        columns["day"] = dp.Bounds(dt.date(2026, 1, 1), dt.date(2026, 12, 31))
        about = {"columns": columns, "limits": dp.Limits(1, 1), "unit": "id"}
        curator.add("visits", rows(0, 100), budget=dp.Budget(epsilon=10**6, delta=1e-4), **about)
        with served(curator, settings=replace(QUICK, steps=STEPS, **settings)) as server:
            yield curator, server


@contextlib.contextmanager
def remote(server, name):
    with dp.Curator(server.url, token=server.token(name, "analyst")) as analyst:
        yield analyst


def opened(analyst, kind, count, first=1):
    """Charges of so many online sessions, or standing questions."""
    prices = range(first, first + count)
    if kind == "online":
        return [analyst.online("visits", epsilon=one, **ONLINE).charge for one in prices]
    return [analyst.watch(BY_CITY, epsilon=one, **WATCHED).charge for one in prices]


def go_on(server, kind, charge, token):
    """The status of asking for the next step of a charge."""
    if kind == "online":
        return server.post(f"/v1/online/{charge}/ask", token=token, json=ASKED).status
    return server.get(f"/v1/streams/{charge}", token=token).status


def complete_a_period(curator, monkeypatch):
    """Append rows through a day, without what is computed for it in the background."""
    with monkeypatch.context() as patch:
        patch.setattr(curator._streams, "go_on", lambda _: None)
        curator.append("visits", rows(100, 110), through=dt.date(2026, 1, 1))


class Gate:
    """Lets nobody read data who comes to it before it is open; counts who is inside."""

    def __init__(self, monkeypatch):
        self.open, self.inside, self.most, self._lock = threading.Event(), 0, 0, threading.Lock()
        for owner, name in ((OnlineOrder, "read_rows"), (StreamQuery, "read")):
            monkeypatch.setattr(owner, name, self._held(getattr(owner, name)))

    def _held(self, read):
        def held(*said):
            with self._lock:
                self.inside += 1
                self.most = max(self.most, self.inside)
            self.open.wait(60)
            with self._lock:
                self.inside -= 1
            return read(*said)

        return held


def noted(slots):
    """The callers who are given slots, in order, from now on."""
    found = []

    class Held(list):
        def append(self, ticket):
            found.append(ticket.caller)
            super().append(ticket)

    slots._held = Held(slots._held)
    return found


def wait_for(met):
    end = time.monotonic() + 60
    while not met():
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.mark.parametrize("kind", ["online", "stream"])
def test_an_attacker_with_many_later_steps_leaves_slots_to_others(kind, monkeypatch):
    with clinic(computing=4) as (curator, server), remote(server, "eve") as eve:
        charges = opened(eve, kind, 5)
        complete_a_period(curator, monkeypatch)
        gate, slots = Gate(monkeypatch), server.app.state.app_state.work
        evil, good = server.token("eve", "analyst"), server.token("bob", "analyst")
        with ThreadPoolExecutor(5) as pool:
            steps = [pool.submit(go_on, server, kind, charge, evil) for charge in charges]
            try:
                wait_for(lambda: slots._inside["eve"] == 5 and gate.inside == 3)
                assert len(slots._waiting) == 2
                asked = {"sql": COUNT, "epsilon": "0.01"}
                assert server.post("/v1/queries", token=good, json=asked).status == 200
                assert not any(one.done() for one in steps)
            finally:
                gate.open.set()
            assert [one.result() for one in steps] == [200] * 5
        assert gate.most == 3  # of one name: three quarters of all


@pytest.mark.parametrize("kind", ["online", "stream"])
def test_the_next_slot_is_for_who_holds_fewest_whether_question_or_later_step(kind, monkeypatch):
    with clinic(computing=1) as (curator, server), remote(server, "eve") as eve:
        charges = opened(eve, kind, 3)
        complete_a_period(curator, monkeypatch)
        slots = server.app.state.app_state.work
        evil, good = server.token("eve", "analyst"), server.token("bob", "analyst")
        with ThreadPoolExecutor(4) as pool:
            with slots.taken(patience=60, caller="eve"):
                order = noted(slots)
                steps = [pool.submit(go_on, server, kind, charge, evil) for charge in charges]
                wait_for(lambda: len(slots._waiting) == 3)
                body = {"sql": COUNT, "epsilon": "0.01"}
                asked = pool.submit(server.post, "/v1/queries", token=good, json=body)
                wait_for(lambda: len(slots._waiting) == 4)
            assert [one.result() for one in steps] == [200] * 3
            assert asked.result().status == 200
        assert order == ["bob", "eve", "eve", "eve"]  # though eve came before


def test_periods_that_an_append_completes_come_after_all_that_analysts_ask():
    with clinic(computing=1) as (curator, server), remote(server, "eve") as eve:
        charges = opened(eve, "stream", 3)
        slots, good = server.app.state.app_state.work, server.token("bob", "analyst")
        with ThreadPoolExecutor(2) as pool:
            with slots.taken(patience=60, caller="ann"):
                order = noted(slots)
                curator.append("visits", rows(100, 110), through=dt.date(2026, 1, 1))
                wait_for(lambda: len(slots._waiting) == 3)
                asked = []
                for n in range(2):
                    body = {"sql": COUNT, "epsilon": f"0.0{n + 1}"}
                    asked.append(pool.submit(server.post, "/v1/queries", token=good, json=body))
                    wait_for(lambda n=n: len(slots._waiting) == 4 + n)
            assert [one.result().status for one in asked] == [200] * 2
        wait_for(lambda: len(order) == 5 and not slots._held)
        assert order == ["bob", "bob", NOBODY, NOBODY, NOBODY]
        assert [len(curator.ledger.steps(charge)) for charge in charges] == [1] * 3


def test_who_waits_for_a_slot_keeps_nobody_from_an_epoch_and_is_told_that_it_is_busy():
    settings = {"computing": 1, "patience": 6.0}
    with clinic(**settings) as (curator, server), remote(server, "alice") as alice:
        [charge] = opened(alice, "online", 1)
        slots, mine = server.app.state.app_state.work, server.token("alice", "analyst")
        path = f"/v1/online/{charge}/ask"
        with ThreadPoolExecutor(1) as pool:
            with slots.taken(patience=60, caller="bob"):
                asked = pool.submit(server.post, path, token=mine, json=ASKED)
                wait_for(lambda: len(slots._waiting) == 1)
                assert server.get(f"/v1/online/{charge}", token=mine).status == 200
                assert not asked.done()  # it is waiting still
                assert not server.app.state.app_state.planning._held
                told = asked.result()
            assert (told.status, told.error["what"]) == (503, "the server is busy")
        assert not curator.ledger.steps(charge)
        assert server.post(path, token=mine, json=ASKED).json()["held"]


def test_so_many_later_steps_of_one_name_wait_at_a_time():
    with dp.Curator.in_memory() as curator, ThreadPoolExecutor(1) as pool:
        state = build_app(curator, replace(QUICK, computing=1, at_once=2)).state.app_state

        def wait_in_turn():
            with state.step_schedule("eve").turn(0.1):
                return True

        with state.step_schedule("eve").turn(0.1):
            waiting = pool.submit(wait_in_turn)
            wait_for(lambda: state.work._inside["eve"] == 2)
            with pytest.raises(HttpError) as refused:
                wait_in_turn()
        assert refused.value.status == 429
        assert waiting.result()


# --- whose failure it is --------------------------------------------------------------------------


def failing(*_):
    raise ValueError("what the engine says may quote data")


def failed_by(curator):
    return [one.by for one in curator.ledger.entries() if one.kind == "failed"]


@pytest.mark.parametrize("kind", ["online", "stream"])
def test_a_later_step_that_fails_counts_against_whoever_asked_for_it(kind, monkeypatch):
    with clinic() as (curator, server), remote(server, "alice") as alice:
        charges = opened(alice, kind, 6)
        with remote(server, "bob") as bob:
            assert opened(bob, kind, 6) == charges
        complete_a_period(curator, monkeypatch)
        mine, other = server.token("alice", "analyst"), server.token("bob", "analyst")
        with monkeypatch.context() as patch:
            patch.setattr(OnlineOrder, "read_rows", failing)
            patch.setattr(StreamQuery, "read", failing)
            told = [go_on(server, kind, charge, other) for charge in charges]
        assert told == [503] * 5 + [403]  # and the sixth reads nothing
        assert failed_by(curator) == ["bob"] * 5
        body = {"sql": COUNT, "epsilon": "0.01"}
        assert server.post("/v1/queries", token=other, json=body).status == 403
        assert server.post("/v1/queries", token=mine, json=body).status == 200
        assert go_on(server, kind, charges[-1], mine) == 200
        assert curator.ledger.verify().ok
        assert curator.readmit("bob", "visits", reason="a full disk") == 5
        assert [go_on(server, kind, charge, other) for charge in charges] == [200] * 6
        assert curator.ledger.verify().ok


def test_a_period_that_fails_before_anybody_asks_counts_against_its_analyst(monkeypatch):
    with clinic() as (curator, server), remote(server, "alice") as alice:
        charges, read = opened(alice, "stream", 7), []
        mine, body = server.token("alice", "analyst"), {"sql": COUNT, "epsilon": "0.01"}
        with monkeypatch.context() as patch:
            patch.setattr("discreet.curator.orders.streams.streams._AT_ONCE", 1)
            patch.setattr(StreamQuery, "read", lambda *_: read.append(1) or failing())
            curator.append("visits", rows(100, 110), through=dt.date(2026, 1, 1))
            curator._streams._pool.shutdown()
        assert len(read) == 5  # the sixth is not tried
        assert failed_by(curator) == [NOBODY] * 5
        assert server.post("/v1/queries", token=mine, json=body).status == 403
        assert [go_on(server, "stream", one, mine) for one in charges] == [503] * 5 + [403] * 2
        assert curator.ledger.verify().ok
        assert curator.readmit("alice", "visits", reason="a full disk") == 5
        assert [go_on(server, "stream", one, mine) for one in charges] == [200] * 7
        assert curator.ledger.verify().ok
