"""Made-up rows for synthesis, as codes; needs numpy alone, so that peers read the same."""

import numpy as np


def cluster_codes(rows: int = 30_000, columns: int = 12) -> tuple[np.ndarray, list[int]]:
    """Rows of eight groups, each with its own law of every column, and the sizes of the columns."""
    rng = np.random.default_rng(3)
    sizes = [int(size) for size in rng.integers(2, 33, columns)]
    group = rng.choice(8, rows, p=rng.dirichlet(np.ones(8)))
    codes = np.empty((rows, columns), dtype=np.int64)
    for i, size in enumerate(sizes):
        if i % 2:
            centre = rng.random(8)[group]
            value = np.clip(rng.normal(centre, 0.12), 0, 1 - 1e-9)
            codes[:, i] = (value * size).astype(np.int64)
        else:
            laws = rng.dirichlet(np.full(size, 0.4), 8).cumsum(axis=1)
            codes[:, i] = (rng.random((rows, 1)) > laws[group]).sum(axis=1).clip(0, size - 1)
    return codes, sizes
