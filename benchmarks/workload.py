"""Many questions at once: online queries, residual marginals and ranges.

CPU seconds of one thread. `ADULT_DATA` names the folder of the coded table; without it the same is
run on made-up rows of the same shape.
"""

import json
import os
import resource
import time
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np

from discreet.plan.kinds import Kind
from discreet.workload.counting_query import CountingQuery
from discreet.workload.domain import Attribute, Domain
from discreet.workload.histogram import JointHistogram
from discreet.workload.matrix import MatrixMechanism, RangeBlocks, best_strategy
from discreet.workload.online import OnlinePlan, OnlineSession, open_state
from discreet.workload.residual import ResidualPlan

EIGHT = (
    *("workclass", "education", "marital-status", "occupation"),
    *("relationship", "race", "sex", "income>50K"),
)
_SIZES = (32, 9, 32, 16, 16, 7, 15, 6, 5, 2, 32, 32, 32, 42, 2)
_NAMES = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"),
    *("relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week"),
    *("native-country", "income>50K"),
)


def load() -> tuple[dict[str, int], dict[str, np.ndarray]]:
    """Sizes and columns: Adult, or rows in which each column leans on the one before."""
    folder = os.environ.get("ADULT_DATA")
    if folder:
        sizes = json.loads((Path(folder) / "adult-coded-domain.json").read_text())
        with (Path(folder) / "adult-coded.csv").open() as file:
            names = file.readline().strip().split(",")
            rows = np.loadtxt(file, delimiter=",", dtype=np.int64)
        return {n: sizes[n] for n in names}, {n: rows[:, i] for i, n in enumerate(names)}
    rng = np.random.default_rng(1)
    hidden, columns = rng.random(48_842), {}
    for name, size in zip(_NAMES, _SIZES, strict=True):
        mixed = np.where(rng.random(hidden.size) < 0.5, hidden, rng.random(hidden.size))
        columns[name] = np.minimum((mixed**2 * size).astype(np.int64), size - 1)
    return dict(zip(_NAMES, _SIZES, strict=True)), columns


def histogram_of(names: tuple[str, ...]) -> JointHistogram:
    """The rows of some columns."""
    sizes, columns = load()
    cells = [Attribute(n, Kind.INTEGER, tuple(range(sizes[n])), nullable=False) for n in names]
    return JointHistogram.of(columns, Domain(tuple(cells)))


def random_queries(domain: Domain, count: int, seed: int) -> Iterator[CountingQuery]:
    """Random products of subsets of three columns, each value with probability 1/2."""
    rng, triples = np.random.default_rng(seed), list(combinations(domain.names, 3))
    for _ in range(count):
        clique = triples[rng.integers(len(triples))]
        cells = (np.flatnonzero(rng.random(domain.sizes[n]) < 0.5).tolist() for n in clique)
        yield CountingQuery(clique, tuple(map(tuple, cells)))


def online(names: tuple[str, ...], count: int, seed: int) -> None:
    """Errors of the answers to many queries, and what they take."""
    data = histogram_of(names)
    exact = {one: data.marginal(one) for one in combinations(data.domain.names, 3)}
    errors, inside, spent = np.zeros(count), 0, -time.process_time()
    plan = OnlinePlan.of(data.domain, epsilon=1, delta=1e-9, restarts=0, queries=10_000)
    session = OnlineSession(open_state(plan, data), data)
    spent += time.process_time()
    for place, query in enumerate(random_queries(data.domain, count, seed)):
        began = time.process_time()
        told = session.ask(query)
        spent += time.process_time() - began
        truth = query.total(exact[query.clique])
        errors[place] = abs(told.value - truth) / data.total
        inside += told.low <= truth <= told.high
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"online, {len(names)} columns, {count:,} queries: mean {errors.mean():.4f}, max "
        f"{errors.max():.4f} of n; covered {inside / count:.3f}; {session.state.updates_left} "
        f"updates left; {1000 * spent / count:.2f} ms a query; {memory:,.0f} MB"
    )


def residual() -> None:
    """All marginals of up to three of 15 columns."""
    data = histogram_of(tuple(load()[0]))
    cliques = [one for ways in range(4) for one in combinations(data.domain.names, ways)]
    began = time.process_time()
    plan = ResidualPlan.of(data.domain, cliques, mu_squared=0.0331)
    found = plan.measure(data).marginals
    spent = time.process_time() - began
    cells = sum(one.size for one in found.values())
    squares = sum(float(((found[c] - data.marginal(c)) ** 2).sum()) for c in cliques)
    print(
        f"residual marginals: {cells:,} cells in {spent:.2f} s; rmse {(squares / cells) ** 0.5:.1f}"
    )


def ranges(cells: int = 512, count: int = 100_000) -> None:
    """Random ranges; the bound is that of all matrix mechanisms, by singular values."""
    ends = np.sort(np.random.default_rng(2).integers(0, cells + 1, (count, 2)), axis=1)
    starts = np.zeros((cells + 1, cells + 1))
    np.add.at(starts, (ends[:, 0], ends[:, 1]), 1)
    upto = np.tril(np.ones((cells + 1, cells)), -1)
    weight = np.diag(starts.sum(axis=0) + starts.sum(axis=1)) - starts - starts.T
    gram = upto.T @ weight @ upto
    values, vectors = np.linalg.eigh(gram)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    began = time.process_time()
    best = MatrixMechanism(best_strategy(root), mu_squared=1)
    spent = time.process_time() - began
    error = best.query_variance(root).sum() / count
    bound = np.sqrt(np.maximum(values, 0)).sum() ** 2 / cells / count
    began = time.process_time()
    ours = RangeBlocks.of(cells, ends.tolist(), mu_squared=1).variances(ends).mean()
    again = time.process_time() - began
    print(
        f"{count:,} ranges of {cells} cells: error {(error / bound) ** 0.5:.3f} times the bound "
        f"({spent:.1f} s to plan); range blocks {(ours / bound) ** 0.5:.3f} times ({again:.1f} s)"
    )


def main() -> None:
    """All of them."""
    residual()
    for cells in (512, 1024, 2048):
        ranges(cells)
    online(EIGHT, 10_000, 0)
    online(tuple(load()[0]), 100_000, 0)


if __name__ == "__main__":
    main()
