"""Synthetic data: error over three-way marginals, CPU time and memory; coverage of intervals.

Adult is read from the folder that the environment variable ADULT_DATA names (adult-coded.csv and
adult-coded-domain.json); without it, tables that are made here are all there is.
"""

import json
import os
import resource
import time
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np

from benchmarks.synthesis_data import cluster_codes
from discreet.mechanisms.gaussian_calibration import largest_mu
from discreet.plan.kinds import Kind
from discreet.workload import inference
from discreet.workload.domain import Attribute, Domain
from discreet.workload.histogram import JointHistogram, total_variation
from discreet.workload.synthesis import Synthesis, UniformNumbers, fresh_key, sample_rows
from discreet.workload.synthesizer import SynthesisPlan, synthesize

PRICE = (Fraction(1), Fraction(1, 10**9))
RUNS = 5
TRIPLES = 455
NUMBERS = {"age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"}


def coded(codes: np.ndarray, names: list[str], sizes: list[int], numbers: set[str]):
    """A histogram of rows that are cells already."""
    attributes = [
        Attribute(name, Kind.INTEGER, edges=tuple(range(size + 1)), nullable=False)
        if name in numbers
        else Attribute(name, Kind.TEXT, tuple(map(str, range(size))), nullable=False)
        for name, size in zip(names, sizes, strict=True)
    ]
    columns = {
        name: codes[:, i] if name in numbers else codes[:, i].astype(str)
        for i, name in enumerate(names)
    }
    return JointHistogram.of(columns, Domain(tuple(attributes)))


def adult(times: int = 1) -> JointHistogram | None:
    """The 48,842 rows of Adult, repeated."""
    folder = os.environ.get("ADULT_DATA")
    if folder is None:
        return None
    path = Path(folder) / "adult-coded.csv"
    names = path.open(encoding="utf-8").readline().strip().split(",")
    sizes = json.loads((Path(folder) / "adult-coded-domain.json").read_text(encoding="utf-8"))
    codes = np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.int64)
    return coded(np.tile(codes, (times, 1)), names, [sizes[n] for n in names], NUMBERS)


def clusters(rows: int = 30_000, columns: int = 12) -> JointHistogram:
    """Rows of eight groups, each with its own law of every column; half of the columns ordered."""
    codes, sizes = cluster_codes(rows, columns)
    names = [f"c{i}" for i in range(columns)]
    return coded(codes, names, sizes, set(names[1::2]))


def chain(rows: int = 50_000, columns: int = 100, size: int = 10) -> JointHistogram:
    """Each column is the one before, or at random."""
    rng = np.random.default_rng(4)
    codes = rng.integers(0, size, (rows, columns))
    for i in range(1, columns):
        codes[:, i] = np.where(rng.random(rows) < 0.5, codes[:, i - 1], codes[:, i])
    names = [f"c{i}" for i in range(columns)]
    return coded(codes, names, [size] * columns, set())


def make(rows: JointHistogram) -> Synthesis:
    plan = SynthesisPlan(rows.domain, largest_mu(*PRICE) ** 2)
    return Synthesis(rows.domain, synthesize(rows, plan), fresh_key(), plan.guarantee)


def triples(rows: JointHistogram) -> list[tuple[str, ...]]:
    every = list(combinations(rows.domain.names, 3))
    return every[:: max(1, len(every) // TRIPLES)]


def model_error(rows: JointHistogram, made: Synthesis) -> float:
    """The mean total variation distance of three-way marginals of the model."""
    found = [
        total_variation(rows.marginal(one).astype(float), made.model.marginal(one))
        for one in triples(rows)
    ]
    return float(np.mean(found))


def row_error(rows: JointHistogram, made: Synthesis) -> float:
    """The same of synthetic rows, as many as there are estimated to be."""
    codes = sample_rows(made.model, made.rows, UniformNumbers(made.key))
    places = [list(made.model.sizes).index(name) for name in rows.domain.names]
    drawn = JointHistogram(rows.domain, codes[:, places], np.ones(made.rows, dtype=np.int64))
    found = [
        total_variation(rows.marginal(one).astype(float), drawn.marginal(one).astype(float))
        for one in triples(rows)
    ]
    return float(np.mean(found))


def independent_error(rows: JointHistogram) -> float:
    """The same of columns taken to be independent, without noise."""
    shares = {n: rows.marginal((n,)) / rows.total for n in rows.domain.names}
    found = [
        total_variation(
            rows.marginal(one).astype(float),
            np.einsum("i,j,k->ijk", *(shares[n] for n in one)),
        )
        for one in triples(rows)
    ]
    return float(np.mean(found))


def coverage(rows: JointHistogram, made: Synthesis, queries: int = 1000) -> dict[str, float]:
    """How many intervals of random counting queries hold the truth."""
    rng, names = np.random.default_rng(0), rows.domain.names
    measured = [one.clique for one in made.result.measured if set(one.clique) <= set(names)]
    pairs = [one for one in combinations(names, 2) if one not in measured]
    kinds = {"measured": measured, "other pairs": pairs, "triples": triples(rows)}
    found = {}
    for kind, cliques in kinds.items():
        hit = 0
        for _ in range(queries):
            clique = cliques[rng.integers(len(cliques))]
            shares = rng.uniform(0.2, 0.8, len(clique))
            weights = {
                n: (rng.random(rows.domain.sizes[n]) < share).astype(float)
                for n, share in zip(clique, shares, strict=True)
            }
            truth = rows.marginal(clique).astype(float)
            for axis, name in enumerate(clique):
                wide = [-1 if i == axis else 1 for i in range(len(clique))]
                truth = truth * weights[name].reshape(wide)
            estimate = inference.total(made, weights)
            hit += abs(estimate.value - truth.sum()) <= estimate.half_width
        found[kind] = hit / queries
    return found


def regressions(rows: JointHistogram, made: Synthesis, jobs: int = 10) -> str:
    """How many coefficients of regressions on three numbers their intervals hold."""
    numbers = [one.name for one in rows.domain if one.edges]
    rng, hit, count = np.random.default_rng(1), 0, 0
    values = {n: rows.domain[n].midpoints()[rows.codes[:, rows.domain.place(n)]] for n in numbers}
    root = np.sqrt(rows.weights)
    for _ in range(jobs):
        target, *columns = rng.permutation(numbers)[:4].tolist()
        table = np.stack([values[n] for n in (target, *columns)])
        table = (table - np.average(table, axis=1, weights=rows.weights)[:, None]) * root
        truth = np.linalg.lstsq(table[1:].T, table[0], rcond=None)[0]
        for name, exact in zip(columns, truth, strict=True):
            found = inference.regression(made, target, columns)[name]
            hit, count = hit + (found.low <= exact <= found.high), count + 1
    return f"{hit} of {count}"


def line(name: str, rows: JointHistogram, runs: int) -> Synthesis:
    seconds, model, drawn, memory = [], [], [], 0
    for _ in range(runs):
        start = time.process_time()
        made = make(rows)
        made.table()
        seconds.append(time.process_time() - start)
        memory = memory or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        model.append(model_error(rows, made))
        drawn.append(row_error(rows, made))
    print(
        f"{name:<22} model {np.mean(model):.4f}  rows {np.mean(drawn):.4f}  independent "
        f"{independent_error(rows):.4f}  CPU {np.mean(seconds):.1f} s  peak {memory} MB",
        flush=True,
    )
    return made


def main() -> None:
    real = adult()
    if real is not None:
        made = line(f"Adult, {RUNS} runs", real, RUNS)
        for kind, share in coverage(real, made).items():
            print(f"  95 % intervals of counts, {kind}: {share:.1%} cover")
        print(f"  95 % intervals of regression coefficients: {regressions(real, made)} cover")
        line("Adult, 20 times over", adult(20), 1)
    line("clusters, 12 columns", clusters(), 2)
    line("chain, 100 columns", chain(), 1)
