"""Many analysts who ask a server at once, and what came of it."""

import threading
import time
from dataclasses import dataclass, field

import discreet as dp
from clinic_curator import ABOUT
from discreet.errors import BudgetError, DiscreetError
from visits import clinic

EPSILON = 0.01


@dataclass
class Tally:
    """What a crowd was told."""

    answers: list = field(default_factory=list)
    refusals: int = 0
    errors: list = field(default_factory=list)
    seconds: list = field(default_factory=list)
    wall: float = 0.0

    def quantile(self, share):
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def question(analyst, n):
    """A question that nobody else asks."""
    below = analyst + n / 1000
    return f"SELECT city, COUNT(*) AS n FROM visits WHERE amount < {below} GROUP BY city"  # noqa: S608 - a number


def furnish(curator, analysts, pocket, people=200, poor=0):
    """A clinic whose analysts have caps of their own, within a budget for all of them.

    The first `poor` of them can pay for a fortieth of what the others can.
    """
    curator.add("visits", clinic(people), **ABOUT, budget=dp.Budget(epsilon=1000))
    for n in range(analysts):
        cap = EPSILON * pocket / (40 if n < poor else 1)
        curator.grant(f"analyst {n}", "visits", dp.Budget(epsilon=cap))
    return curator


def ask_all(url, tokens, seconds, least=1):
    """Every analyst asks one question after another, `least` at the least, refused or not."""
    tally, start = Tally(), threading.Barrier(len(tokens) + 1)
    threads = [
        threading.Thread(target=_ask, args=(url, token, n, (seconds, least), start, tally))
        for n, token in enumerate(tokens)
    ]
    for thread in threads:
        thread.start()
    start.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    tally.wall = time.perf_counter() - began
    return tally


def _ask(url, token, analyst, effort, start, tally):
    seconds, least = effort
    with dp.Curator(url, token=token) as curator:
        start.wait()
        end, n = time.monotonic() + seconds, 0
        while time.monotonic() < end or n < least:
            began = time.perf_counter()
            try:
                release = curator.sql(question(analyst, n), epsilon=EPSILON)
                tally.answers.append((analyst, n, release.price.epsilon))
            except BudgetError:
                tally.refusals += 1
            except DiscreetError as wrong:
                tally.errors.append(wrong)
            tally.seconds.append(time.perf_counter() - began)
            n += 1


def check(curator, tally):
    """No charge is lost and none is made twice: the ledger's total is the sum of the prices."""
    paid = sum(epsilon for _, _, epsilon in tally.answers)
    assert tally.errors == []
    assert curator.budget("visits").total.amount == paid
    report = curator.as_auditor().verify()
    assert report.ok
    assert report.pending == 0
