"""When a reply leaves, and when an answer can be seen, tells nothing about the data."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow as pa
import pytest

import discreet as dp
from clinic_curator import ABOUT, COUNT
from discreet.answer.measurement_plan import MeasurementPlan
from discreet.server.ticks import until_tick
from running_server import QUICK, served
from visits import clinic

pytestmark = pytest.mark.timed

QUANTUM = 1.0
SETTINGS = replace(QUICK, quantum=QUANTUM)
BUDGET = dp.Budget(epsilon=30, delta=1e-6)
TRIES = 8
"""A busy machine may be late by itself; what data causes is there every time."""
QUANTA = (1.0, 1.0, 2.0, 4.0, 8.0)
"""What a busy machine takes longer for fits into a longer quantum."""


def heavy(rows, count):
    """One person more, who has very many rows."""
    more = {
        "person": pa.array([10**6] * count, pa.int64()),
        "city": pa.array(["Oslo"] * count),
        "street": pa.array(["s"] * count),
        "amount": pa.array([1.0] * count),
    }
    return pa.concat_tables([rows, pa.table(more)])


@pytest.fixture
def slow(monkeypatch):
    """Computing takes as long as the test says."""
    measure, seconds = MeasurementPlan.measure, [0.0]

    def wait(*question):
        time.sleep(seconds[0])
        return measure(*question)

    monkeypatch.setattr(MeasurementPlan, "measure", wait)
    return seconds


def test_an_answer_settles_shortly_before_a_tick():
    for elapsed in (0.0, 0.1, 0.7, 0.79, 0.81, 3.4):
        place = (elapsed + until_tick(elapsed, 1.0)) % 1.0
        assert place == pytest.approx(0.8, abs=1e-6)
        assert 0 <= until_tick(elapsed, 1.0) < 1.0


def timed(server, token, body, headers=None):
    began = time.monotonic()
    reply = server.post("/v1/queries", token=token, json=body, headers=headers)
    return reply, (time.monotonic() - began) / QUANTUM


def test_replies_on_neighbours_leave_on_the_same_tick():
    """One person has 200 000 rows, or is not there: both answers leave after one quantum."""
    rows = clinic(1000)
    many = heavy(rows, 200_000)
    assert any(ticks_of(rows, q) == ticks_of(many, q) == [1, 1] for q in QUANTA)


def ticks_of(rows, quantum):
    """The ticks after which replies to two new questions leave."""
    found = []
    with dp.Curator.in_memory() as curator:
        curator.add("visits", rows, **ABOUT, budget=BUDGET)
        curator.sql(COUNT, epsilon=0.1)  # what is loaded once is loaded
        with served(curator, settings=replace(QUICK, quantum=quantum)) as server:
            token = server.token("ann", "analyst")
            for n in range(2):
                body = {"sql": f"{COUNT} WHERE amount < {n + 1}", "epsilon": "0.1"}
                reply, took = timed(server, token, body)
                assert reply.status == 200
                found.append(int(took * QUANTUM / quantum))
    return found


STEPS = (0.5, 2.0, 8.0)

# What one row, or one person's rows, would take long for: as long as questions may.
LONG = "REPLACE(street || street || street, 's', 'ssssssss')"
SLOW = {
    "a pattern": f"{COUNT} WHERE CASE WHEN person = 1000000 THEN street || '{'a' * 300}' LIKE "
    f"'%{'_' * 9}b%' ELSE FALSE END",
    "texts that grow": f"{COUNT} WHERE person = 1000000 AND LENGTH({LONG}) > 7",
    "self-joins": "WITH b AS (SELECT person FROM visits WHERE person = 1000000) "
    "SELECT COUNT(*) AS n FROM b AS b1 JOIN b AS b2 ON b1.person = b2.person "
    "JOIN b AS b3 ON b2.person = b3.person JOIN b AS b4 ON b3.person = b4.person",
    "different texts": "SELECT COUNT(DISTINCT street || city || street) AS n FROM visits",
    "a quantile": "SELECT MEDIAN(amount) AS m FROM visits",
}


@pytest.mark.parametrize("text", SLOW.values(), ids=SLOW)
def test_whatever_a_person_makes_an_engine_do_moves_no_step(text):
    """The moment of a reply is fixed before data is read; Bob has 9,000 rows, or is not there."""
    rows = clinic(300)

    def step_of(data):
        with dp.Curator.in_memory() as curator:
            curator.add("visits", data, **ABOUT, budget=BUDGET, max_table_rows=10**4)
            curator.sql(COUNT, epsilon=0.1)
            with served(curator, settings=replace(QUICK, quantum=0.25, steps=STEPS)) as server:
                token = server.token("ann", "analyst")
                reply, took = timed(server, token, {"sql": text, "epsilon": "0.01"})
                assert reply.status == 200, reply.body
                return sum(step <= took * QUANTUM for step in STEPS)

    assert any(step_of(rows) == step_of(heavy(rows, 9_000)) for _ in range(TRIES))


def test_without_ticks_the_heavy_person_would_show(slow):
    """The planted fault: a quantum that is shorter than what there is to hide."""
    took = []
    with dp.Curator.in_memory() as curator:
        curator.add("visits", clinic(50), **ABOUT, budget=BUDGET)
        with served(curator, settings=replace(QUICK, quantum=0.05)) as server:
            token = server.token("ann", "analyst")
            timed(server, token, {"sql": COUNT, "epsilon": "0.1"})
            for n, seconds in enumerate((0.0, 0.6)):
                slow[0] = seconds
                body = {"sql": f"{COUNT} WHERE amount < {n + 1}", "epsilon": "0.1"}
                took.append(timed(server, token, body)[1])

    assert took[1] - took[0] > 0.3


def test_whatever_the_outcome_the_reply_leaves_on_a_tick():
    with dp.Curator.in_memory() as curator:
        curator.add("visits", clinic(50), **ABOUT, budget=BUDGET)
        with served(curator, settings=SETTINGS) as server:
            token = server.token("ann", "analyst")
            bodies = [
                {"sql": COUNT, "epsilon": "0.1"},
                {"sql": "SELECT * FROM visits", "epsilon": "0.1"},
                {"sql": COUNT, "epsilon": "999"},
                {"sql": COUNT},
            ]
            with ThreadPoolExecutor(4) as pool:
                took = list(pool.map(lambda body: timed(server, token, body), bodies))

    assert [reply.status for reply, _ in took] == [200, 422, 402, 422]
    assert all(ticks >= 1 for _, ticks in took)


def test_whoever_looks_all_the_time_sees_an_answer_on_ticks_alone(slow):
    """However often one looks: a computation of no time and one of 0.4 s are seen alike."""
    with dp.Curator.in_memory() as curator:
        curator.add("visits", clinic(50), **ABOUT, budget=BUDGET)
        curator.sql(COUNT, epsilon=0.1)
        with served(curator, settings=SETTINGS) as server:
            token = server.token("ann", "analyst")

            def alike(salt):
                moments = []
                for n, slow[0] in enumerate((0.0, 0.4 * QUANTUM)):
                    sql = f"{COUNT} WHERE amount < {2 * salt + n + 1}"
                    moments.append(moment_seen(curator, server, token, sql))
                return all(0.75 < moment < 0.95 for moment in moments)

            assert any(alike(n) for n in range(TRIES))


def test_whoever_waits_for_a_turn_gets_it_on_ticks_alone(slow):
    """Somebody who waits for the only slot is not told when the computation in it was over."""
    with dp.Curator.in_memory() as curator:
        curator.add("visits", clinic(50), **ABOUT, budget=BUDGET)
        curator.sql(COUNT, epsilon=0.1)
        with served(curator, settings=replace(SETTINGS, computing=1)) as server:
            token = server.token("ann", "analyst")

            def alike(salt):
                moments = []
                for n, slow[0] in enumerate((0.1 * QUANTUM, 0.5 * QUANTUM)):
                    sql = f"{COUNT} WHERE amount < {2 * salt + n + 1}"
                    moments.append(moment_of_turn(server, token, sql))
                return all(0.75 < moment < 0.98 for moment in moments)

            assert any(alike(n) for n in range(TRIES))


def moment_of_turn(server, token, sql):
    """When the slot of a question is given to somebody else, in quanta after the question."""
    slots = server.app.state.app_state.work
    with ThreadPoolExecutor(1) as pool:
        began = time.monotonic()
        asked = pool.submit(timed, server, token, {"sql": sql, "epsilon": "0.1"})
        while not slots._held:
            time.sleep(0.001)
        with slots.taken(patience=60, caller="ben"):
            told = time.monotonic()
        assert asked.result()[0].status == 200
    return (told - began) / QUANTUM


def moment_seen(curator, server, token, sql):
    """When somebody who looks all the time first sees the answer, in quanta after the question."""
    with ThreadPoolExecutor(1) as pool:
        began = time.monotonic()
        asked = pool.submit(timed, server, token, {"sql": sql, "epsilon": "0.1"})
        seen = first_seen(curator.async_session(None), 60.0)
        assert asked.result()[0].status == 200
    return (seen - began) / QUANTUM


def first_seen(window, patience):
    """When the newest answer can first be seen by somebody who looks all the time."""
    end = time.monotonic() + patience
    before = len(window.newest())
    while time.monotonic() < end:
        newest = window.newest()
        if len(newest) > before and newest[0].answered is not None:
            return time.monotonic()
        time.sleep(0.002)
    raise AssertionError
