"""Tables that learners are compared on, with public bounds."""

import csv
import gzip
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits

ADULT = Path(__file__).parents[2] / "shared" / "data" / "adult"
_NUMBERS = {0: (17, 90), 2: (10_000, 1_500_000), 4: (1, 16)}
_NUMBERS |= {10: (0, 100_000), 11: (0, 5_000), 12: (1, 99)}


def sets():
    """Name -> features, labels, bounds."""
    digits = load_digits(return_X_y=True)
    x, y = load_breast_cancer(return_X_y=True)
    wide = [(0.0, float(f"{1.2 * value:.0e}")) for value in x.max(axis=0)]
    return {"digits": (*digits, [(0.0, 16.0)] * 64), "breast cancer": (x, y, wide)}


def adult():
    """Train and test features and labels, bounds and categorical columns; None where it is not."""
    if not ADULT.exists():
        return None
    parts = [_read(ADULT / f"adult-{name}.csv.gz") for name in ("train", "test")]
    rows = [*parts[0], *parts[1]]
    listed = {j: sorted({row[j] for row in rows}) for j in range(14) if j not in _NUMBERS}

    def features(some):
        return np.array(
            [
                [float(listed[j].index(row[j]) if j in listed else row[j]) for j in range(14)]
                for row in some
            ]
        )

    x, xt = map(features, parts)
    y, yt = (np.array([int(row[14] == ">50K") for row in some]) for some in parts)
    bounds = [_NUMBERS.get(j, (0, len(listed.get(j, ())) - 1)) for j in range(14)]
    return x, y, xt, yt, bounds, sorted(listed)


def one_hot(x, bounds, categorical):
    """Categorical columns as one column a value."""
    columns, ends = [], []
    for j, pair in enumerate(bounds):
        values = range(int(pair[1]) + 1) if j in categorical else ()
        columns += [(x[:, j] == value).astype(float) for value in values] or [x[:, j]]
        ends += [(0, 1)] * len(values) or [pair]
    return np.stack(columns, axis=1), ends


def _read(path):
    with gzip.open(path, "rt") as lines:
        return [
            [cell.strip().rstrip(".") for cell in row]
            for row in csv.reader(lines)
            if len(row) == 15
        ]
