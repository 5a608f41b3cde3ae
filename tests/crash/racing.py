"""Sixty-four processes, one unit of budget: prints how many won.

python racing.py PLACE
"""

import os
import sys

from discreet.curator.ledger.accounts import dataset
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import Order
from discreet.errors import BudgetError
from discreet.privacy import Filter, Pure

PROCESSES = 64
BUDGET = Filter.basic(epsilon=1)


def race(place, n, gate):
    ledger = Ledger.open(place)
    os.read(gate, 1)
    price = BUDGET.price(Pure(1))
    try:
        ledger.charge(Order(f"analyst {n}", "visits", "v1", f"question {n}", (price,)))
    except BudgetError:
        os._exit(7)
    os._exit(0)


def main(place):
    with Ledger.open(place) as ledger:
        ledger.open_account(dataset("visits"), BUDGET.limit, by="owner")
    gate, opener = os.pipe()
    children = []
    for n in range(PROCESSES):
        child = os.fork()
        if child == 0:
            try:
                race(place, n, gate)
            finally:
                os._exit(1)
        children.append(child)
    os.write(opener, b"x" * PROCESSES)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    with Ledger.open(place) as ledger:
        whole = ledger.verify().ok
    sys.stdout.write(f"{codes.count(0)} won, {codes.count(7)} refused, whole: {whole}")


if __name__ == "__main__":
    main(sys.argv[1])
