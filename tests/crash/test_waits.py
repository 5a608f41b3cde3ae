"""Every wait ends: beside frozen processes, hung servers, cut networks and lost leaders."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import postgres_server
from discreet.curator.ledger import postgres_store, transaction
from discreet.curator.ledger.accounts import dataset
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import Order
from discreet.errors import LedgerError
from discreet.privacy import Filter, Pure

pytestmark = pytest.mark.timed

LONGEST = 30
BUDGET = Filter.basic(epsilon=1000)


def order(n):
    return Order("alice", "visits", "v1", f"question {n}", (BUDGET.price(Pure(1)),))


def opened(place, tmp_path):
    ledger = Ledger.open(place, witness=tmp_path / "head")
    ledger.open_account(dataset("visits"), BUDGET.limit, by="owner")
    ledger.charge(order(0))
    return ledger


@contextlib.contextmanager
def frozen(place, tmp_path, moment):
    """Another process, stopped at some moment; it goes on when the block ends."""
    driver = Path(__file__).parent / "freezing.py"
    command = [sys.executable, str(driver), str(place), str(tmp_path / "head"), moment]
    child = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
    try:
        yield child
    finally:
        child.send_signal(signal.SIGCONT)
        child.wait(60)


def timed(work):
    """How long it took, and how it ended."""
    begun = time.monotonic()
    try:
        return work(), time.monotonic() - begun
    except LedgerError as refused:
        return refused, time.monotonic() - begun


@pytest.fixture(params=[3, pytest.param(None, marks=pytest.mark.audit)], ids=["soon", "real"])
def patience(request, monkeypatch):
    """A short patience, and the one that is real."""
    if request.param is not None:
        monkeypatch.setattr(transaction, "PATIENCE", request.param)
    return request.param or LONGEST


@pytest.mark.parametrize("moment", ["transaction", "witness"])
def test_a_frozen_writer_of_a_file_is_not_waited_for(tmp_path, patience, moment):
    place = tmp_path / "ledger.sqlite"
    with opened(place, tmp_path) as ledger:
        with frozen(place, tmp_path, moment):
            outcome, took = timed(lambda: ledger.charge(order(1)))
            assert "too busy" in str(outcome)
            assert took < min(LONGEST, patience + 4)
        ledger.charge(order(2))
        assert ledger.verify().ok


def test_everybody_who_waits_behind_a_frozen_writer_is_told(tmp_path, patience):
    """Not one after the other: each has waited since it came."""
    place, outcomes = tmp_path / "ledger.sqlite", []

    def ask(ledger, n):
        time.sleep(n * 0.3)
        outcomes.append(timed(lambda: ledger.charge(order(n))))

    with opened(place, tmp_path) as ledger, frozen(place, tmp_path, "transaction"):
        threads = [threading.Thread(target=ask, args=(ledger, n)) for n in range(1, 9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(outcomes) == 8
    assert all(isinstance(outcome, LedgerError) for outcome, _ in outcomes)
    assert max(took for _, took in outcomes) < min(LONGEST, patience + 5)


def test_a_client_that_is_frozen_in_its_turn_loses_it(server, tmp_path):
    place = postgres_server.empty_database(server)
    with opened(place, tmp_path) as ledger:
        with frozen(place, tmp_path, "transaction"):
            outcome, took = timed(lambda: ledger.charge(order(1)))
            assert outcome.sequence
            assert took < postgres_store.IDLE + 5
        assert ledger.verify().ok


def test_a_client_that_is_frozen_for_a_shorter_time_is_not_waited_for(
    server, tmp_path, monkeypatch
):
    monkeypatch.setattr(transaction, "PATIENCE", 2)
    place = postgres_server.empty_database(server)
    with opened(place, tmp_path) as ledger, frozen(place, tmp_path, "transaction"):
        outcome, took = timed(lambda: ledger.charge(order(1)))
        assert "too busy" in str(outcome)
        assert took < 5


class Swallowing:
    """A network between a client and a server that can swallow everything."""

    def __init__(self, target):
        self._target = target
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.whole = threading.Event()
        self.whole.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self.whole.set()
        self._listening.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._target)
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _pass_on(self, source, target):
        with source, contextlib.suppress(OSError):
            while data := source.recv(65536):
                self.whole.wait()
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)


@pytest.fixture
def network(server):
    """The address of an empty database behind a network, and the network."""
    address = postgres_server.empty_database(server)
    import psycopg

    facts = psycopg.conninfo.conninfo_to_dict(address)
    port = facts.get("port", 5432)
    between = Swallowing(f"{facts['host']}/.s.PGSQL.{port}")
    login = f"{facts['user']}@127.0.0.1:{between.port}/{facts['dbname']}"
    yield f"postgresql://{login}?sslmode=disable&gssencmode=disable", between
    between.close()


def test_a_network_that_swallows_everything_is_given_up(network, tmp_path, patience):
    place, between = network
    with opened(place, tmp_path) as ledger:
        between.whole.clear()
        for ask in (lambda: ledger.charge(order(1)), lambda: ledger.account(dataset("visits"))):
            outcome, took = timed(ask)
            assert isinstance(outcome, LedgerError)
            assert took < min(LONGEST, max(patience, postgres_store.CONNECT) + 4)
        between.whole.set()
        assert ledger.charge(order(2)).sequence
        assert ledger.verify().ok


def test_a_server_that_hangs_is_given_up(tmp_path, patience):
    server = postgres_server.start(alone=True)
    try:
        place = postgres_server.empty_database(server)
        with opened(place, tmp_path) as ledger:
            hung = stopped(server)
            try:
                outcome, took = timed(lambda: ledger.charge(order(1)))
                assert isinstance(outcome, LedgerError)
                assert took < min(LONGEST, patience + 4)
                outcome, took = timed(lambda: ledger.account(dataset("visits")))
                assert isinstance(outcome, LedgerError)
                assert took < postgres_store.CONNECT + 4
            finally:
                for one in hung:
                    os.kill(one, signal.SIGCONT)
            assert ledger.wait(order(2), timeout=5).sequence
            assert ledger.verify().ok
    finally:
        server.cleanup()


def stopped(server):
    """Stop a server and all that it started; their process ids."""
    first = int((Path(server.pgdata) / "postmaster.pid").read_text().split()[0])
    parents = {int(one.parent.name): one for one in Path("/proc").glob("[0-9]*/stat")}
    children = [one for one, stat in parents.items() if _parent(stat) == first]
    every = [first, *children]
    for one in every:
        os.kill(one, signal.SIGSTOP)
    return every


def _parent(stat):
    with contextlib.suppress(OSError):
        return int(stat.read_text().rpartition(")")[2].split()[1])
    return None


def test_a_lead_that_is_lost_to_an_exception_is_taken_by_the_next(tmp_path, monkeypatch):
    with opened(tmp_path / "ledger.sqlite", tmp_path) as ledger:
        shared = ledger._committer
        with monkeypatch.context() as patch:
            patch.setattr(shared, "_leave", interrupted)
            with pytest.raises(KeyboardInterrupt):
                ledger.charge(order(1))
        assert shared._leader is not None
        outcome, took = timed(lambda: ledger.charge(order(2)))
        assert outcome.sequence
        assert took < 2


def test_those_who_wait_when_a_lead_is_lost_go_on(tmp_path, monkeypatch):
    begun, going = threading.Event(), threading.Event()
    outcomes = []

    def slow(page):
        begun.set()
        going.wait(30)
        return page.head

    def lead(shared):
        with contextlib.suppress(KeyboardInterrupt):
            shared.submit(slow)

    with opened(tmp_path / "ledger.sqlite", tmp_path) as ledger:
        shared, leave = ledger._committer, ledger._committer._leave
        first = threading.Thread(target=lead, args=(shared,))
        monkeypatch.setattr(
            shared,
            "_leave",
            lambda job: interrupted() if threading.current_thread() is first else leave(job),
        )
        first.start()
        begun.wait(30)
        others = [
            threading.Thread(
                target=lambda n=n: outcomes.append(timed(lambda: ledger.charge(order(n))))
            )
            for n in range(3, 6)
        ]
        for one in others:
            one.start()
        going.set()
        for one in (first, *others):
            one.join()
        assert all(outcome.sequence for outcome, _ in outcomes)
        assert max(took for _, took in outcomes) < 4
        assert ledger.verify().ok


def interrupted(*_):
    raise KeyboardInterrupt
