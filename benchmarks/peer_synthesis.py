"""Synthetic rows of dpmm's MST; runs in the peers' environment."""

import json
import time
from itertools import combinations

import numpy as np
import pandas as pd
from dpmm.pipelines import MSTPipeline

from benchmarks.synthesis_data import cluster_codes


def distance(one: np.ndarray, other: np.ndarray, sizes: list[int]) -> float:
    """The mean total variation distance of all three-way marginals of two tables of codes."""
    found = []
    for three in map(list, combinations(range(len(sizes)), 3)):
        shape = [sizes[i] for i in three]
        shares = [
            np.bincount(np.ravel_multi_index(rows[:, three].T, shape), minlength=np.prod(shape))
            / len(rows)
            for rows in (one, other)
        ]
        found.append(abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(found))


def main() -> None:
    codes, sizes = cluster_codes()
    names = [f"c{i}" for i in range(len(sizes))]
    begun = time.process_time()
    made = MSTPipeline(epsilon=1, delta=1e-9, disable_processing=True, n_jobs=1)
    made.fit(pd.DataFrame(codes, columns=names), dict(zip(names, sizes, strict=True)))
    drawn = made.generate(n_records=len(codes))[names].to_numpy(dtype=np.int64)
    used = time.process_time() - begun
    print(json.dumps({"error of rows": distance(codes, drawn, sizes), "CPU seconds": used}))


if __name__ == "__main__":
    main()
