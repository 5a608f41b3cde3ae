"""A process that stops itself, as a debugger or a suspended machine would, while it writes.

python freezing.py PLACE HEAD transaction|witness
"""

import os
import signal
import sys

from discreet.curator.ledger.ledger import Ledger


def freeze(page):
    page.append("noted", "somebody", {})
    page.read("SELECT 1")
    os.kill(os.getpid(), signal.SIGSTOP)


if __name__ == "__main__":
    place, head, moment = sys.argv[1:]
    with Ledger.open(place, witness=head) as ledger:
        if moment == "transaction":
            ledger._committer.submit_alone(freeze)
        else:
            with ledger._witness.held():
                os.kill(os.getpid(), signal.SIGSTOP)
