"""A process that charges until it is killed, so that the log is checkpointed all the time.

python opening.py PATH
"""

import itertools
import os
import sys

from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import Order
from discreet.privacy import Filter, Pure

PRICE = Filter.basic(epsilon=1).price(Pure(1))

if __name__ == "__main__":
    ledger, own = Ledger.open(sys.argv[1]), os.getpid()
    for n in itertools.count():
        order = Order("alice", "visits", "v1", f"question {own} {n} " + "x" * 3000, (PRICE,))
        ledger.complete(ledger.charge(order), b"answer" * 500)
        if n % 50 == 0:
            ledger.close()  # whoever closes last writes the log back and deletes it
        if n == 0:
            sys.stdout.write("charging\n")
            sys.stdout.flush()
