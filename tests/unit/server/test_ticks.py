"""Replies of questions leave on ticks, whatever they are."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.server.ticks import TickMiddleware, ticked, wait


@given(st.floats(0, 1e4), st.sampled_from([0.02, 0.25, 1.0]))
def test_a_wait_ends_on_a_tick_that_is_not_over(elapsed, quantum):
    end = (elapsed + wait(elapsed, quantum)) / quantum

    assert abs(end - round(end)) < 1e-6
    assert round(end) >= 1
    assert 0 <= wait(elapsed, quantum) <= quantum


@pytest.mark.parametrize(
    ("template", "held"),
    [
        ("/v1/queries", True),
        ("/v1/queries/{id}", True),
        ("/v1/remeasure", True),
        ("/v1/orders", True),
        ("/v1/explain", False),
        ("/v1/queriesx", False),
        ("/", False),
    ],
)
def test_questions_are_held(template, held):
    assert ticked(template) is held


@pytest.mark.parametrize("status", [200, 422, 503])
def test_quick_and_slow_replies_leave_at_ticks(status, monkeypatch):
    now, sent = [100.0], []

    async def sleep(seconds):
        now[0] += seconds

    async def app(scope, _, send):
        now[0] += scope["takes"]
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def send(message):
        sent.append((message["type"], round(now[0] - 100, 6)))

    monkeypatch.setattr("discreet.server.ticks.asyncio.sleep", sleep)
    ticks = TickMiddleware(app, quantum=0.25, clock=lambda: now[0])
    times = []
    for takes in (0.0, 0.1, 0.2499, 0.25, 0.26, 1.9):
        now[0], scope = (
            100.0,
            {"type": "http", "takes": takes, "state": {"template": "/v1/queries"}},
        )
        asyncio.run(ticks(scope, None, send))
        times.append(sent[-1][1])

    assert times == [0.25, 0.25, 0.25, 0.25, 0.5, 2.0]
