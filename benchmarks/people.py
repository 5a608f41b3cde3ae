"""Budgets of people: what accounts cost a question, how far they reach, and folding them again."""

import json
import resource
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa

import discreet as dp
from discreet.curator.orders.planned_orders import Terms
from discreet.curator.people.person_accounts import PersonAccounts
from discreet.privacy.budgets.individual_balances import price_units

PEOPLE, CITIES = 10**6, [f"c{i}" for i in range(100)]
ORDINARY = dp.Budget(epsilon=1, delta=1e-6)
OWN = dp.Budget.per_person(epsilon=1, delta=1e-6)
BY_CITY = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"


def main() -> None:
    """All of them; or one, in a process of its own."""
    for what, words in (("grouped", "a row each"), ("weighed", "three, all above a limit")):
        print(f"{f'10^6 people, {words}, by city':<50}{'CPU s':>9}{'first':>9}{'peak MB':>9}")
        plain, own = (_alone(what, kind) for kind in ("ordinary", "own"))
        for name, told in (("one budget for all", plain), ("a budget a person", own)):
            print(f"{name:<50}{told[0]:>9.3f}{told[1]:>9.3f}{told[2]:>9.0f}")
        print(f"{'  ratio, MB more':<50}{own[0] / plain[0]:>9.2f}{'':>9}{own[2] - plain[2]:>9.0f}")
    told = _alone("tenths", "own")
    print(
        f"1,000 questions on tenths: one budget stops after {told[0]:.0f}, half of the people are"
    )
    print(f"  exhausted after {told[1]:.0f}: {told[1] / told[0]:.2f} times as many")
    told = _alone("rebuild", "own")
    cpu, wall, peak = told
    print(f"10^6 balances from 10^4 charges: {cpu:.1f} s of CPU, {wall:.1f} s, {peak:.0f} MB")


def _alone(what: str, kind: str) -> list[float]:
    """One measurement in a process of its own, so that memory is its own too."""
    run = [sys.executable, "-m", "benchmarks.people", what, kind]
    done = subprocess.run(run, check=True, capture_output=True, text=True)
    told: list[float] = json.loads(done.stdout.splitlines()[-1])
    return told


def weighed(budget: dp.Budget) -> list[float]:
    """The same where everybody has three rows, and may have one."""
    return grouped(budget, each=3)


def grouped(budget: dp.Budget, each: int = 1) -> list[float]:
    """CPU seconds of one question, of the first one, and the most memory."""
    places = pa.array(np.random.default_rng(1).integers(0, len(CITIES), each * PEOPLE))
    people = np.tile(np.arange(PEOPLE), each)
    rows = pa.table({"id": people, "city": pa.array(CITIES).take(places)})
    with dp.Curator.in_memory() as curator:
        keys = {"city": dp.Keys(CITIES)}
        about = {"unit": "id", "limits": dp.Limits(1, 1), "columns": keys}
        curator.add("visits", rows, budget=budget, **about)
        seconds = []
        for k in range(8):
            start = time.process_time()
            curator.sql(BY_CITY, epsilon=0.01 + k / 1000, delta=1e-8)
            seconds.append(time.process_time() - start)
        return [min(seconds[1:]), seconds[0], _peak()]


def tenths(budget: dp.Budget, people: int = 5000, limit: int = 1000) -> list[float]:
    """After how many questions one budget stops, and after how many half of the people do."""
    generator = np.random.default_rng(2)
    columns = {f"r{i}": generator.integers(0, 10, people) for i in range(20)}
    rows = pa.table({"id": np.arange(people), **columns})
    about = {"unit": "id", "limits": dp.Limits(1, 1)}
    about["columns"] = {name: dp.Bounds(0, 9) for name in columns}
    with dp.Curator.in_memory() as curator:
        curator.add("visits", rows, budget=budget, **about)
        curator.add("ordinary", rows, budget=ORDINARY, **about)
        price = {"epsilon": 0.125, "delta": 2e-8}
        bill = curator.cost("SELECT COUNT(*) AS n FROM ordinary", **price)
        account = curator.budget("ordinary")
        [cost] = [one for other, one in bill.items() if other.holder == account.holder]
        stops = account.limit.amount // cost.amount
        paid = next(iter(curator.cost("SELECT COUNT(*) AS n FROM visits", **price).values()))
        each = price_units(paid.amount)
        for k in range(limit):
            text = f"SELECT COUNT(*) AS n FROM visits WHERE r{k % 20} = {k // 20 % 10}"
            curator.sql(text, epsilon=0.125 + k * 1e-7, delta=2e-8)
            accounts = _people(curator)
            left = accounts.population.limit - accounts.balances.spent
            if np.mean(left < each) >= 0.5:
                return [float(stops), k + 1.0]
        return [float(stops), float(limit)]


def rebuild(budget: dp.Budget, charges: int = 10**4) -> list[float]:
    """CPU seconds, seconds and the most memory of folding everything in from the beginning.

    No two charges ask the same: counts and sums of random ranges of one of three columns or of two,
    a tenth of the people on average, by city or not, at prices between 1 and 3 hundredths.
    """
    rng = np.random.default_rng(3)
    columns = {name: rng.integers(0, 100, PEOPLE) for name in ("r", "s", "t")}
    city = pa.array(CITIES[:10]).take(pa.array(rng.integers(0, 10, PEOPLE)))
    rows = pa.table({"id": np.arange(PEOPLE), "city": city, **columns})
    with dp.Curator.in_memory() as curator:
        about = {"unit": "id", "limits": dp.Limits(1, 1)}
        about["columns"] = {name: dp.Bounds(0, 99) for name in columns}
        about["columns"]["city"] = dp.Keys(CITIES[:10])
        curator.add("visits", rows, budget=budget, **about)
        for k in range(charges):
            one, other = rng.permutation(list(columns))[:2].tolist()
            low, size = rng.integers(0, 90), rng.integers(1, 21)
            where = f"{one} >= {low} AND {one} < {low + size}"
            if k % 4 == 0:
                where += f" AND {other} <> {rng.integers(0, 100)}"
            what = f"SUM({one})" if k % 2 else "COUNT(*)"
            keys = ("city, ", " GROUP BY city") if k % 3 == 0 else ("", "")
            text = f"SELECT {keys[0]}{what} AS n FROM visits WHERE {where}{keys[1]}"
            terms = Terms(epsilon=0.01 + k * 2e-6, delta=1e-8)
            curator.ledger.charge(curator._local.offer(text, terms, None).order())  # noqa: SLF001 - charged, not asked
        people = _people(curator)
        began, start = time.monotonic(), time.process_time()
        people.catch_up(curator.ledger.head().sequence)
        return [time.process_time() - start, time.monotonic() - began, _peak()]


def _people(curator: dp.Curator) -> PersonAccounts:
    return curator._answer_service.people.of("visits")  # noqa: SLF001 - nobody else sees balances


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    wanted = {f.__name__: f for f in (grouped, weighed, tenths, rebuild)}[sys.argv[1]]
    print(json.dumps(wanted(OWN if sys.argv[2] == "own" else ORDINARY)))
