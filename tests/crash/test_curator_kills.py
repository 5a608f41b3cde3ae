"""A curator that is killed while it answers: charges stay, and answers are finished."""

import random
import subprocess
import sys
import time

import pytest

import discreet as dp
from clinic_curator import add_visits, spent
from discreet.errors import BudgetError

ASK = """
import sys
import discreet as dp
from discreet.errors import BudgetError
curator = dp.Curator(sys.argv[1], patience=0)
curator.dummy().sql("SELECT COUNT(*) AS n FROM visits", epsilon=0.01)  # the first one is slow
curator._data_store.open(())
print("ready", flush=True)
for i in range(int(sys.argv[2]), 10**6):
    try:
        curator.sql("SELECT COUNT(*) AS n FROM visits WHERE amount > " + str(i % 97), epsilon=0.01)
    except BudgetError:
        break
    print(i % 97, flush=True)
"""


@pytest.mark.audit
def test_workers_that_are_killed_at_any_moment_leave_a_ledger_that_can_be_finished(tmp_path):
    dice = random.Random(7)  # noqa: S311 - when to kill, not what to release
    folder = tmp_path / "c"
    with add_visits(dp.Curator(folder), budget=dp.Budget(epsilon=0.5)):
        pass
    for kill in range(25):
        command = [sys.executable, "-c", ASK, str(folder), str(kill)]
        worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        worker.stdout.readline()
        time.sleep(dice.uniform(0, 0.2))
        worker.kill()
        worker.wait()
        worker.stdout.close()
        with dp.Curator(folder) as curator:
            report = curator.ledger.verify()
            assert report.ok, report.problem
            before = spent(curator)
            assert curator.recover(patience=0) == report.pending
            assert spent(curator) == before
            assert curator.ledger.verify().pending == 0
            assert curator.budget("visits").left.amount >= 0
    with dp.Curator(folder) as curator:
        kinds = [entry.kind for entry in curator.ledger.entries()]
        assert kinds.count("charged") == kinds.count("released") > 5
        with pytest.raises(BudgetError):
            curator.sql("SELECT COUNT(*) AS n FROM visits", epsilon=1)
