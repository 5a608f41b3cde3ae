"""The last unit of budget, and stores that do not keep transactions apart."""

import subprocess
import sys
import threading
from pathlib import Path

from discreet.curator.ledger import store
from discreet.curator.ledger.accounts import dataset
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import Order
from discreet.curator.ledger.store import SQLiteStore
from discreet.curator.ledger.witness import Witness
from discreet.errors import LedgerError
from discreet.privacy import Filter, Pure


def test_sixty_four_processes_race_for_the_last_unit_and_one_wins(place):
    driver = Path(__file__).parent / "racing.py"
    command = [sys.executable, str(driver), place]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    assert done.stdout == "1 won, 63 refused, whole: True"


class Unlocked(SQLiteStore):
    """The planted fault: what is read may be old by the time it is written back."""

    gate = None

    def transact(self, work, **_):
        return store.within(
            self._opened(), "BEGIN", lambda execute: work(Stale(execute, self.gate))
        )


class Stale:
    """Reads, lets the other one read too, and only then takes the lock to write."""

    def __init__(self, execute, gate):
        self._execute = execute
        self._gate = gate

    def __call__(self, sql, values=()):
        return self._execute(sql, values)

    def ask_all(self, statements):
        return self._execute.ask_all(statements)

    def change(self, changes):
        self._execute("COMMIT")
        self._gate.wait()
        self._execute("BEGIN IMMEDIATE")
        self._execute.change(changes)


def test_unlocked_reading_and_writing_is_caught(tmp_path):
    budget, path = Filter.basic(epsilon=10), tmp_path / "ledger.sqlite"
    with Ledger.open(path) as ledger:
        ledger.open_account(dataset("visits"), budget.limit, by="owner")
    Unlocked.gate = threading.Barrier(2, timeout=20)
    witness = Witness(tmp_path / "ledger.sqlite.head")
    ledgers = [Ledger(Unlocked(path), witness) for _ in range(2)]
    outcomes = []

    def charge(ledger, n):
        order = Order("a", "visits", "v1", f"question {n}", (budget.price(Pure(1)),))
        try:
            outcomes.append(ledger.charge(order))
        except LedgerError as refused:
            outcomes.append(refused)

    threads = [
        threading.Thread(target=charge, args=(ledger, n)) for n, ledger in enumerate(ledgers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(isinstance(outcome, LedgerError) for outcome in outcomes) == 1
    with Ledger.open(path) as ledger:
        assert ledger.account(dataset("visits")).total.amount == 1
        assert ledger.verify().ok
    for ledger in ledgers:
        ledger.close()
