"""diffprivlib on the same tasks, in the peers' environment; prints one JSON object."""

import json
import warnings

import diffprivlib.models as peer
import numpy as np
from sklearn import cluster
from sklearn.model_selection import train_test_split

from benchmarks.learning_data import sets

RUNS = 5


def main():
    warnings.simplefilter("ignore")
    told = {}
    for name, (x, y, bounds) in sets().items():
        low, high = np.array(bounds, dtype=float).T
        norm = float(np.linalg.norm(np.maximum(np.abs(low), np.abs(high))))
        makers = {
            "LogisticRegression": lambda norm=norm: peer.LogisticRegression(
                epsilon=1, data_norm=norm
            ),
            "GaussianNB": lambda low=low, high=high: peer.GaussianNB(epsilon=1, bounds=(low, high)),
        }
        for kind, make in makers.items():
            scores = []
            for run in range(RUNS):
                a, b, ya, yb = train_test_split(x, y, test_size=0.25, random_state=run, stratify=y)
                scores.append(float((make().fit(a, ya).predict(b) == yb).mean()))
            told[f"{name} {kind} accuracy"] = float(np.mean(scores))
        u, k = 2 * (x - low) / (high - low), len(set(y))
        least = cluster.KMeans(k, n_init=5, random_state=0).fit(u).inertia_
        ratios = []
        for _ in range(RUNS):
            centres = peer.KMeans(k, epsilon=1, bounds=(0, 2)).fit(u).cluster_centers_
            ratios.append(((u[:, None] - centres) ** 2).sum(axis=2).min(axis=1).sum() / least)
        told[f"{name} KMeans cost ratio"] = float(np.mean(ratios))
    print(json.dumps(told))


main()
