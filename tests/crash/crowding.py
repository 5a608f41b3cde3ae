"""A disk that fills up, or a folder that becomes read-only, while charges are made.

python crowding.py PATH full|readonly
"""

import os
import resource
import sys
from pathlib import Path

from discreet.curator.ledger.accounts import dataset
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import Order, State
from discreet.errors import LedgerError
from discreet.privacy import Filter, Pure

BUDGET = Filter.basic(epsilon=10_000)
NOBODY = 65534


def order(n):
    plan = f"question {n} " + "x" * 2000
    return Order("alice", "visits", "v1", plan, (BUDGET.price(Pure(1)),))


def work(ledger, first, answered):
    """Charge and answer until the ledger refuses; returns the number that was refused, and why."""
    for n in range(first, first + 1000):
        try:
            receipt = ledger.charge(order(n))
            ledger.complete(receipt, b"answer")
        except LedgerError as refused:
            return n, str(refused)
        answered.append(n)
    return None, "never refused"


def fill(path):
    """No file may grow beyond a limit, as on a full disk."""
    with Ledger.open(path) as ledger:
        answered = []
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 200_000, hard))
        yield from check(ledger, answered)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        yield from mend(ledger, answered)


def lock(path):
    """The folder and what is in it become read-only, for somebody who is not root."""
    Ledger.open(path).close()
    if os.geteuid() == 0:
        for each in (path.parent, *path.parent.iterdir()):
            os.chown(each, NOBODY, NOBODY)
        os.setegid(NOBODY)
        os.seteuid(NOBODY)
    with Ledger.open(path) as ledger:
        answered = []
        work_one(ledger, answered)
        for each in path.parent.iterdir():
            each.chmod(0o400)
        path.parent.chmod(0o500)
        yield from check(ledger, answered)
        ledger.close()
        yield from check(ledger, answered)
        path.parent.chmod(0o700)
        for each in path.parent.iterdir():
            each.chmod(0o600)
        yield from mend(ledger, answered)


def work_one(ledger, answered):
    ledger.complete(ledger.charge(order(0)), b"answer")
    answered.append(0)


def check(ledger, answered):
    refused, why = work(ledger, len(answered), answered)
    yield f"refused: {refused is not None}, clear: {'Fix: ' in why}"


def mend(ledger, answered):
    """With room again, everything that was told is there and work goes on."""
    before = ledger.head()
    kept = all(ledger.charge(order(n)).state is State.RELEASED for n in answered)
    yield f"kept: {kept and ledger.head() == before}"
    for receipt in ledger.recover(patience=0):
        ledger.complete(receipt, b"answer")
    more = []
    ledger._patience = 0
    work_one(ledger, more)
    last = ledger.charge(order(5000))
    ledger.complete(last, b"answer")
    spent = ledger.account(dataset("visits")).total.amount
    charged = sum(entry.kind == "charged" for entry in ledger.entries(limit=10**6))
    yield f"recovers: {ledger.verify().ok and spent == charged}"


if __name__ == "__main__":
    path = Path(sys.argv[1])
    with Ledger.open(path) as made:
        made.open_account(dataset("visits"), BUDGET.limit, by="owner")
    for line in fill(path) if sys.argv[2] == "full" else lock(path):
        sys.stdout.write(line + "\n")
