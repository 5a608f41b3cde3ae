"""Power cuts and failing disks: what was told stays, what is told is paid for."""

import random
from pathlib import Path

import power
import pytest

from discreet.curator.ledger.accounts import dataset
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import Order
from discreet.errors import LedgerError
from discreet.privacy import Filter, Pure

BUDGET = Filter.basic(epsilon=1000)


def order(n):
    return Order("alice", "visits", "v1", f"question {n}", (BUDGET.price(Pure(1)),))


def prepared(folder):
    path = Path(folder) / "ledger.sqlite"
    with Ledger.open(path) as ledger:
        ledger.open_account(dataset("visits"), BUDGET.limit, by="owner")
    return path


def work_until_dark(ledger, told):
    """Charge and answer until the power goes; `told` has what was acknowledged."""
    try:
        for n in range(10_000):
            receipt = ledger.charge(order(n))
            told[n] = None
            told[n] = ledger.complete(receipt, f"answer {n}".encode())
    except LedgerError:
        ledger.close()


def lost_after_cut(seed, *, synchronous):
    """How many acknowledged charges or answers are gone, and what the ledger says to that."""
    with power.fast_folder() as before, power.fast_folder() as after:
        path, told = prepared(before), {}
        moment = random.Random(seed).randrange(5, 1000)  # noqa: S311
        disk = power.Disk(cut_after=moment, seed=seed)
        work_until_dark(power.ledger_on(disk, path, synchronous=synchronous), told)
        disk.after_the_cut(Path(after))
        head = f"{path.name}.head"
        (Path(after) / head).write_bytes((Path(before) / head).read_bytes())
        try:
            with Ledger.open(Path(after) / path.name) as ledger:
                assert ledger.verify().ok
                return sum(not kept(ledger, n, answer) for n, answer in told.items()), None
        except LedgerError as refused:
            return len(told), refused


def kept(ledger, n, answer):
    before = ledger.head()
    receipt = ledger.charge(order(n))
    return ledger.head() == before and answer in (None, receipt.release)


@pytest.mark.parametrize("seed", range(12))
def test_nothing_that_was_told_is_lost_in_a_power_cut(seed):
    assert lost_after_cut(seed, synchronous="FULL") == (0, None)


@pytest.mark.audit
@pytest.mark.parametrize("seed", range(1000, 1100))
def test_nothing_that_was_told_is_lost_in_a_hundred_power_cuts(seed):
    assert lost_after_cut(seed, synchronous="FULL") == (0, None)


def test_a_ledger_that_does_not_wait_for_the_disk_is_caught():
    """The planted fault: with synchronous=NORMAL charges are lost, and the witness tells."""
    outcomes = [lost_after_cut(seed, synchronous="NORMAL") for seed in range(4)]
    assert all(lost > 0 for lost, _ in outcomes)
    assert all("restored from an older copy" in str(refused) for _, refused in outcomes)


@pytest.mark.parametrize("seed", range(10))
def test_one_failed_write_or_sync_is_survived(seed):
    """The operation is refused or charged, with a clear error, and the next one works."""
    with power.fast_folder() as folder:
        path, told = prepared(folder), {}
        moment = random.Random(seed).randrange(5, 400)  # noqa: S311
        disk = power.Disk(cut_after=moment, seed=seed, stays_dark=False)
        ledger = power.ledger_on(disk, path)
        work_until_dark(ledger, told)
        again = ledger.wait(order(10**6), timeout=1)
        ledger.complete(again, b"answer")
        assert all(kept(ledger, n, answer) for n, answer in told.items())
        assert ledger.verify().ok
        ledger.close()
