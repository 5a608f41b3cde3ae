"""A ledger that hangs is told of in time, before the charge and after it."""

import threading
import time
from dataclasses import replace

import pytest

import discreet as dp
from clinic_curator import ABOUT, COUNT
from running_server import QUICK, served
from visits import clinic

pytestmark = pytest.mark.timed

PATIENCE = 5.0
LOADED = 6.0
"""Seconds that a busy machine may take to say so."""


@pytest.fixture
def curator():
    with dp.Curator.in_memory() as curator:
        curator.add("visits", clinic(50), **ABOUT, budget=dp.Budget(epsilon=30))
        curator.sql(COUNT, epsilon=0.5)
        yield curator


@pytest.mark.parametrize(
    ("hangs", "status"), [("standing", 503), ("charge", 503), ("keep", 202), ("complete", 202)]
)
def test_a_question_is_replied_to_when_the_ledger_hangs(curator, monkeypatch, hangs, status):
    ends = threading.Event()
    work = getattr(curator.ledger, hangs)
    monkeypatch.setattr(curator.ledger, hangs, lambda *a, **k: (ends.wait(20), work(*a, **k))[1])
    with served(curator, settings=replace(QUICK, patience=PATIENCE)) as server:
        body, token = {"sql": f"{COUNT} WHERE amount < 5", "epsilon": "0.1"}, server.token()
        began = time.monotonic()
        reply = server.post("/v1/queries", token=token, json=body)
        took = time.monotonic() - began
        ends.set()
        end = time.monotonic() + 20
        while (again := server.post("/v1/queries", token=token, json=body)).status != 200:
            assert time.monotonic() < end
            time.sleep(0.05)

    assert reply.status == status
    assert took < PATIENCE + LOADED
    assert float(again.json()["price"]["epsilon"]) == 0.1
    assert curator.budget("visits").total.amount * 10 == 6  # charged once
    assert curator.ledger.verify().pending == 0
