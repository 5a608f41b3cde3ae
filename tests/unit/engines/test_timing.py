"""What runs past its time is stopped, wherever it is when the moment comes."""

import threading
import time

import pytest

from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.timing import Deadline, stopping
from discreet.errors import EngineError

ENDLESS = "SELECT COUNT(*) AS n FROM range(1000000) a(i), range(1000000) b(j) WHERE i * j = 7"


class Forgetful:
    """A connection that forgets an interrupt, as one does that is about to begin."""

    def __init__(self):
        self.interrupts = 0

    def interrupt(self):
        self.interrupts += 1


def test_an_interrupt_that_was_forgotten_comes_again():
    cursor = Forgetful()
    with stopping(cursor.interrupt, Deadline(time.monotonic())):
        end = time.monotonic() + 10
        while cursor.interrupts < 2 and time.monotonic() < end:
            time.sleep(0.01)

    assert cursor.interrupts >= 2


def test_a_statement_is_stopped_and_nothing_follows_it():
    until = time.monotonic() + 0.2
    with DuckDBEngine().snapshot(Deadline(until)) as session:
        for _ in range(2):
            with pytest.raises(EngineError, match="could not finish"):
                session.keep("endless", ENDLESS)
    assert time.monotonic() < until + 10


def test_a_deadline_that_is_brought_forward_stops_what_runs():
    until = Deadline(time.monotonic() + 600)
    threading.Timer(0.2, until.cancel).start()
    began = time.monotonic()
    with DuckDBEngine().snapshot(until) as session, pytest.raises(EngineError):
        session.keep("endless", ENDLESS)
    assert time.monotonic() < began + 10
