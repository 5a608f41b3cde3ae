"""A whole ledger always opens: beside writers, after kills in a checkpoint, after a full disk."""

import contextlib
import shutil
import subprocess
import sys
from pathlib import Path

import apsw
import power
import pytest

from discreet.curator.ledger import store
from discreet.curator.ledger.accounts import dataset
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import Order
from discreet.errors import LedgerError
from discreet.privacy import Filter, Pure

BUDGET = Filter.basic(epsilon=10**9)
VISITS = dataset("visits")


def order(n):
    return Order("alice", "visits", "v1", f"question {n} " + "x" * 3000, (BUDGET.price(Pure(1)),))


def unchecked(folder, charges):
    """A ledger whose charges are in the log alone: it was killed before any checkpoint."""
    path, killed = Path(folder) / "ledger.sqlite", Path(folder) / "killed"
    with Ledger.open(path) as ledger:
        ledger.open_account(VISITS, BUDGET.limit, by="owner")
        ledger.close()
        disk = power.Disk()
        slow = power.ledger_on(disk, path)
        slow.charge(order(0))
        slow._store._connection.execute("PRAGMA wal_autocheckpoint = 0")
        for n in range(1, charges):
            slow.charge(order(n))
        killed.mkdir()
        for part in ("", "-wal", ".head"):
            shutil.copy(f"{path}{part}", killed)
        slow.close()
    return killed / path.name


def checkpoint(path, disk):
    """Write the log back into the file, as far as the disk lets it; whether it was all."""
    connection = power.Connection(path, disk.name, synchronous="FULL")
    try:
        store.prepare(connection)
        disk.left = disk.planned
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except store.sqlite3.Error:
        return False
    finally:
        disk.dead = disk.stays_dark  # nothing more reaches the disk once it is killed
        disk.left = None
        disk.found = {one.name: one.read_bytes() for one in path.parent.iterdir()}
        disk.dead = True
        connection.close()
    return True


def spent(ledger):
    return ledger.account(VISITS).total.amount


def every_cut(charges, *, stays_dark, wrong, power_cut=False, step=1):
    """Interrupt a checkpoint at every operation; how often, and which folders do not open."""
    refused, cuts = [], 0
    with power.fast_folder() as base:
        whole = unchecked(base, charges)
        for n in range(0, 10**6, step):
            with power.fast_folder() as before, power.fast_folder() as after:
                shutil.copytree(whole.parent, before, dirs_exist_ok=True)
                disk = power.Disk(stays_dark=stays_dark, wrong=wrong, seed=n)
                disk.planned = n
                done = checkpoint(Path(before) / whole.name, disk)
                for name, stored in disk.found.items():
                    (Path(after) / name).write_bytes(stored)
                if power_cut:
                    disk.after_the_cut(Path(after))
                try:
                    with Ledger.open(Path(after) / whole.name) as ledger:
                        right = ledger.verify().ok and spent(ledger) == charges
                        refused += [] if right else [(n, "wrong")]
                except LedgerError as error:
                    refused.append((n, str(error)))
            if done:
                return cuts, refused
            cuts += 1
    return cuts, refused


@pytest.mark.parametrize(
    ("wrong", "power_cut"),
    [(power.PowerCut, False), (power.PowerCut, True), (apsw.FullError, False)],
    ids=["kill", "power", "full"],
)
def test_a_checkpoint_stopped_at_any_write_leaves_a_ledger_that_opens(wrong, power_cut):
    cuts, refused = every_cut(12, stays_dark=True, wrong=wrong, power_cut=power_cut)
    assert (cuts > 20, refused) == (True, [])


@pytest.mark.audit
@pytest.mark.parametrize(
    ("wrong", "power_cut"),
    [(power.PowerCut, False), (power.PowerCut, True), (apsw.FullError, False)],
    ids=["kill", "power", "full"],
)
def test_a_long_checkpoint_stopped_at_any_write_leaves_a_ledger_that_opens(wrong, power_cut):
    cuts, refused = every_cut(150, stays_dark=True, wrong=wrong, power_cut=power_cut)
    assert (cuts > 150, refused) == (True, [])


def opened_beside_writers(path, opens, writers):
    """Open, look and close again and again while others write; what was refused."""
    with Ledger.open(path) as ledger:
        ledger.open_account(VISITS, BUDGET.limit, by="owner")
    driver = [sys.executable, str(Path(__file__).parent / "opening.py"), str(path)]
    running = [subprocess.Popen(driver, stdout=subprocess.PIPE) for _ in range(writers)]
    refused = []
    try:
        for one in running:
            assert one.stdout.readline() == b"charging\n"
        for _ in range(opens):
            try:
                Ledger.open(path).close()
            except LedgerError as error:
                refused.append(str(error))
        assert all(one.poll() is None for one in running)
    finally:
        for one in running:
            one.kill()
            one.wait()
            one.stdout.close()
    with Ledger.open(path) as ledger:
        assert ledger.verify().ok
    return refused


def test_a_ledger_opens_beside_those_who_write_it():
    with power.fast_folder() as folder:
        assert opened_beside_writers(Path(folder) / "ledger.sqlite", 300, 2) == []


@pytest.mark.audit
def test_a_hundred_thousand_opens_beside_writers_are_not_refused():
    with power.fast_folder() as folder:
        assert opened_beside_writers(Path(folder) / "ledger.sqlite", 100_000, 1) == []


def test_recognising_a_ledger_without_its_log_is_caught(monkeypatch):
    """The planted fault: the mark is read from the file alone, as if nobody wrote it."""

    def alone(self, _):
        with contextlib.closing(store.connect(self.path, options="mode=ro&immutable=1")) as found:
            assert found.execute("PRAGMA application_id").fetchall() == [(store.APPLICATION,)]

    monkeypatch.setattr(store.SQLiteStore, "_recognise", alone)
    _, refused = every_cut(12, stays_dark=True, wrong=power.PowerCut)
    assert refused
