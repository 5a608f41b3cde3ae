"""Accuracy of private estimators at epsilon 1, delta 1e-5, beside diffprivlib.

`python -m benchmarks learning` prints the mean over a few runs. Defaults were chosen on these same
sets, so the figures are optimistic; the peer is untuned and pure. Bounds of breast cancer are the
largest values rounded up by a fifth. The Adult table is read from ../shared/data/adult.
"""

import json
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn import cluster, decomposition, metrics
from sklearn.model_selection import train_test_split

from benchmarks.learning_data import adult, one_hot, sets
from benchmarks.peers import peer_python
from discreet import learn

PAID = {"epsilon": 1, "delta": 1e-5}
RUNS = 5


def main():
    warnings.simplefilter("ignore")
    small = sets()
    told = [*_classifiers(small), *_clusters(small), *_axes(small), *_adult()]
    peer = _peer()
    print(f"{'task':34}{'discreet':>10}{'diffprivlib':>13}{'CPU s':>8}")
    for name, value, seconds in told:
        print(f"{name:34}{value:10.3f}{peer.get(name, float('nan')):13.3f}{seconds:8.2f}")
    _coverage()
    _sizes()


def _mean(call):
    began = time.process_time()
    values = [call(run) for run in range(RUNS)]
    return float(np.mean(values)), (time.process_time() - began) / RUNS


def _classifiers(small):
    for name, (x, y, bounds) in small.items():
        said = {"bounds": bounds, "classes": sorted(set(y)), **PAID}
        for kind in (learn.LogisticRegression, learn.LinearSVC, learn.GaussianNB):

            def accuracy(run, kind=kind, x=x, y=y, said=said):
                a, b, ya, yb = train_test_split(x, y, test_size=0.25, random_state=run, stratify=y)
                return float((kind(**said).fit(a, ya).predict(b) == yb).mean())

            yield (f"{name} {kind.__name__} accuracy", *_mean(accuracy))


def _clusters(small):
    for name, (x, y, bounds) in small.items():
        low, high = np.array(bounds, dtype=float).T
        u, k = 2 * (x - low) / (high - low), len(set(y))
        least = cluster.KMeans(k, n_init=5, random_state=0).fit(u).inertia_

        def ratio(_, x=x, u=u, k=k, bounds=bounds, low=low, high=high, least=least):
            own = learn.KMeans(k, bounds=bounds, **PAID).fit(x).cluster_centers_
            c = 2 * (own - low) / (high - low)
            return float(((u[:, None] - c) ** 2).sum(axis=2).min(axis=1).sum() / least)

        yield (f"{name} KMeans cost ratio", *_mean(ratio))


def _axes(small):
    for name, (x, _, bounds) in small.items():
        low, high = np.array(bounds, dtype=float).T
        u = 2 * (x - low) / (high - low)
        u = u - u.mean(axis=0)
        most = ((u @ decomposition.PCA(8).fit(u).components_.T) ** 2).sum()

        def share(_, x=x, u=u, bounds=bounds, most=most):
            own = learn.PCA(8, bounds=bounds, **PAID).fit(x).components_
            return float(((u @ own.T) ** 2).sum() / most)

        yield (f"{name} PCA-8 share of variance", *_mean(share))


def _adult():
    data = adult()
    if data is None:
        print("no Adult table here")
        return
    x, y, xt, yt, bounds, categorical = data

    def auc(_):
        one = learn.AdditiveClassifier(
            bounds=bounds, classes=[0, 1], categorical=categorical, **PAID
        )
        return metrics.roc_auc_score(yt, one.fit(x, y).decision_function(xt))

    wide, wide_bounds = one_hot(x[:, 1:], bounds[1:], [j - 1 for j in categorical])
    wide_test, _ = one_hot(xt[:, 1:], bounds[1:], [j - 1 for j in categorical])

    def r2(_):
        one = learn.LinearRegression(bounds=wide_bounds, target_bounds=bounds[0], **PAID)
        return one.fit(wide, x[:, 0]).score(wide_test, xt[:, 0])

    yield ("adult AdditiveClassifier AUC", *_mean(auc))
    yield ("adult LinearRegression R2 of age", *_mean(r2))
    all_columns, all_bounds = one_hot(x, bounds, categorical)
    whole = {"adult": (all_columns, np.arange(len(y)) % 5, all_bounds)}
    yield from _clusters(whole)
    yield from _axes(whole)


def _coverage(runs=200, n=20_000):
    rng, beta = np.random.default_rng(0), np.array([1.0, -0.5, 0.0, 0.25, 0.8])
    for kind in ("linear", "logistic"):
        held = []
        for _ in range(runs):
            x = rng.uniform(-1, 1, (n, 5))
            line = x @ beta + 0.3
            if kind == "linear":
                one = learn.LinearRegression(bounds=(-1, 1), target_bounds=(-5, 5), **PAID)
                y = line + rng.normal(0, 0.5, n)
            else:
                one = learn.LogisticRegression(
                    bounds=(-1, 1), classes=[0, 1], standard_errors=True, **PAID
                )
                y = (rng.uniform(size=n) < 1 / (1 + np.exp(-line))).astype(int)
            ends = one.fit(x, y).intervals().reshape(5, 2)
            held.append((ends[:, 0] <= beta) & (beta <= ends[:, 1]))
        print(f"{kind} intervals of 95 % cover {100 * np.mean(held):.1f} %")


def _sizes(runs=1000, n=1000):
    rng = np.random.default_rng(1)
    said = {"bounds": (0, 10), "classes": [0, 1], "epsilon": 1, "delta": 1e-6}
    for kind in (learn.TTest, learn.Anova, learn.MannWhitney):
        for name, shift in (("size", 0.0), ("power at a shift of half a deviation", 1.0)):
            p = []
            for _ in range(runs if not shift else runs // 10):
                by = rng.integers(0, 2, n)
                values = rng.normal(5, 2, (n, 1)) + shift * by[:, None]
                p.append(kind(**said).fit(values, by).pvalue_)
            share = np.mean(np.array(p) <= 0.05)
            print(f"{kind.__name__} at level 0.05, {n} rows: {name} {share:.3f}")


def _peer():
    python = peer_python("learning", ("diffprivlib==0.6.6", "scikit-learn==1.7.2"))
    script = Path(__file__).with_name("peer_learning.py")
    done = subprocess.run(
        [python, script],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(Path(__file__).parents[1]), "OMP_NUM_THREADS": "1"},
    )
    if done.returncode:
        print("diffprivlib did not run", file=sys.stderr)
        return {}
    return json.loads(done.stdout.splitlines()[-1])
