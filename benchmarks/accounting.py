"""Privacy accounting: CPU time of one thread and the excess over the true epsilon, beside peers."""

import random
import subprocess
import time
import tracemalloc
from fractions import Fraction
from statistics import mean, median

import numpy as np

from benchmarks.clock import cpu_seconds
from benchmarks.peers import ask_peers
from discreet.privacy import (
    CalibrationStep,
    Contour,
    GaussianNoise,
    IndividualFilter,
    LaplaceNoise,
    Pure,
    RandomizedResponseNoise,
    Shuffled,
    Subsampled,
    calibrate,
    compose,
)

STEPS = 2000


def mixture(size: int) -> list:
    """Gaussian noise, Laplace noise and pure mechanisms with parameters of 0.001 to 0.01."""
    rng = random.Random(0)  # noqa: S311 - the same mixture every time
    kinds = (GaussianNoise, LaplaceNoise, Pure)
    return [rng.choice(kinds)(Fraction(f"{rng.uniform(0.001, 0.01):.6f}")) for _ in range(size)]


def spend(guarantees) -> Contour:
    spent = Contour()
    for guarantee in guarantees:
        spent.append(guarantee)
    return spent


def one_shot(name, make, delta, goal, *, truth=None, repeats=7):
    """One line of the table: the bound, its excess, and the time from nothing to the answer."""
    bound = make().epsilon(delta)
    seconds = cpu_seconds(lambda: make().epsilon(delta), repeats)
    excess = bound.upper - (bound.lower if truth is None else truth)
    print(
        f"{name:<34}{bound.upper:>14.8f}{excess:>12.1e}{seconds * 1e3:>11.2f} ms"
        f"   goal: {goal}   [{bound.method}]"
    )


def interactive(guarantees) -> None:
    """Append one, ask again, two thousand times; least of several runs for each position."""
    rounds = [_once(guarantees) for _ in range(9)]
    appends = [min(times) for times in zip(*(r[0] for r in rounds), strict=True)]
    queries = [min(times) for times in zip(*(r[1] for r in rounds), strict=True)]
    print(
        f"{'append + query, 2000 times':<34}{rounds[0][2]:>14.8f}"
        f"   append {mean(appends) * 1e6:.1f} us, query {mean(queries) * 1e6:.1f} us,"
        f" worst {max(queries) * 1e3:.2f} ms   goal: 15 + 60 us, 5 ms"
    )


def _once(guarantees):
    spent, appends, queries = Contour(), [], []
    for guarantee in guarantees:
        start = time.process_time_ns()
        spent.append(guarantee)
        middle = time.process_time_ns()
        bound = spent.epsilon(1e-9)
        queries.append((time.process_time_ns() - middle) / 1e9)
        appends.append((middle - start) / 1e9)
    return appends, queries, bound.upper


def budget_check(guarantees) -> None:
    """In a loop, where reading the clock does not count, and one by one, where it does."""
    spent = spend(guarantees[:STEPS])
    spent.epsilon(1e-9)
    spent.within(5.0, 1e-9)
    times, appends, checks = [], [], []
    for guarantee in guarantees[STEPS : 2 * STEPS]:
        start = time.process_time_ns()
        spent.append(guarantee)
        middle = time.process_time_ns()
        spent.within(5.0, 1e-9)
        checks.append((time.process_time_ns() - middle) / 1e3)
        appends.append((middle - start) / 1e3)
        if len(checks) % 40 == 0:
            many = cpu_seconds(lambda: [spent.within(5.0, 1e-9) for _ in range(200)], 5)
            times.append(many / 200)
    print(
        f"{'budget check at a fixed epsilon':<34}{mean(times) * 1e6:>26.2f} us   goal: 5 us;"
        f" one by one {median(checks):.1f} us after an append of {median(appends):.1f} us (medians)"
    )


def individual() -> None:
    """One charge to a million people, each with a weight of their own."""
    people = 10**6
    weights = np.random.default_rng(0).uniform(0, 1, people)
    start = IndividualFilter(people, 1).charge(0.1, weights)[0]
    seconds = cpu_seconds(lambda: start.charge(0.1, weights), 5)
    tracemalloc.start()
    start.charge(0.1, weights)
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    print(
        f"{'individual filter, 10^6 people':<34}{'':>26}{seconds * 1e3:>11.2f} ms"
        f"   goal: 50 ms, 200 MB   [{peak + 16:.0f} MB with its balances and the weights]"
    )


def calibrated() -> None:
    """The noise of twenty Laplace and ten Gaussian queries for a target, and what it leaves."""
    plan = [CalibrationStep(LaplaceNoise, 1, 20), CalibrationStep(GaussianNoise, 2, 10)]
    found = calibrate(plan, epsilon=1, delta=1e-6)
    seconds = cpu_seconds(lambda: calibrate(plan, epsilon=1, delta=1e-6), 3)
    unused = 1 - found.plan.epsilon(1e-6).lower
    print(
        f"{'30 queries calibrated to (1, 1e-6)':<34}{1:>14}{unused:>12.1e}"
        f"{seconds * 1e3:>11.2f} ms   goal: excess 2e-3"
    )


def smallest_delta() -> None:
    spent = Contour()
    spent.append(GaussianNoise(Fraction(1, 100)), 10**4)
    for delta in (1e-10, 1e-20, 1e-30):
        exact = GaussianNoise(1).epsilon(delta)
        excess = spent.epsilon(delta).upper / exact.upper - 1
        side = "sound" if spent.epsilon(delta).upper >= exact.lower else "UNSOUND"
        print(f"{'10^4 x Gaussian(0.01), delta':<34}{delta:>14.0e}{excess:>12.1e}   {side}")


def ours() -> None:
    mixed = mixture(10_000)
    print(f"{'':<34}{'epsilon':>14}{'excess':>12}{'CPU':>14}")
    laplace = [(LaplaceNoise(0.01), 1000)]
    response = [(RandomizedResponseNoise(0.1), 100)]
    sampled = [(Subsampled(GaussianNoise(1), 0.01), 10**4)]
    goal = "excess 1e-5, 2 ms"
    one_shot("1000 x Laplace(0.01), 1e-6", lambda: compose(laplace), 1e-6, goal, truth=1.3629245)
    goal = "excess 1e-6, 250 ms"
    one_shot("10,000 mixed, 1e-9 (compose)", lambda: compose(mixed), 1e-9, goal, repeats=3)
    one_shot("10,000 mixed, 1e-9 (appended)", lambda: spend(mixed), 1e-9, goal, repeats=3)
    goal = "excess 1e-6"
    one_shot("100 x randomized response 0.1", lambda: compose(response), 1e-6, goal, truth=4.774568)
    goal = "excess 1e-4, 150 ms"
    one_shot(
        "Poisson Gaussian 1, 0.01, 10^4", lambda: compose(sampled), 1e-6, goal, truth=6.9073845
    )
    goal = "500 ms"
    one_shot("shuffled 10^6 reports of 4, 1e-6", lambda: Shuffled(4, 10**6), 1e-6, goal, repeats=3)
    interactive(mixed[:STEPS])
    budget_check(mixed)
    individual()
    calibrated()
    smallest_delta()


def main() -> None:
    ours()
    try:
        peers = ask_peers("peer_accounting.py")
    except (OSError, subprocess.CalledProcessError) as missing:
        print(f"peers skipped, their environment does not run here: {missing}")
        return
    for name, value in peers.items():
        print(f"{name:<60}{value:>14.6f}")
