"""How often 95 % intervals of logistic coefficients cover, and how wide they are.

    python -m benchmarks.coverage [FITS]

Normal features within (-4, 4), correlated by a power of their distance (AR), coefficients
(2, -1, 0, ...) or (0.5, -0.25, 0, ...), an intercept for half of the labels or a tenth, epsilon
0.5, 1 and 3. Coefficients are told apart by how much of their variance is supposed (`hidden_`).
"""

import itertools
import sys

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from discreet import learn

ROWS, FEATURES, CORRELATIONS = (500, 1000, 2000, 8000, 20_000), (3, 10, 30), (0, 0.5, 0.9)
SETTINGS = list(itertools.product((0.5, 0.1), ((2, -1), (0.5, -0.25)), (0.5, 1, 3)))
KNOWN = 0.05
"""The share of a variance that may be supposed where it counts as known."""


def fits(rng, rows, features, correlation, setting, runs):
    """Errors over standard errors, standard errors, and their hidden shares, by fit."""
    share, first, epsilon = setting
    near = np.abs(np.subtract.outer(np.arange(features), np.arange(features)))
    root = np.linalg.cholesky(np.power(float(correlation), near))
    beta = np.append(first, np.zeros(features - 2))
    deviation = np.linalg.norm(beta @ root)
    at, weights = np.polynomial.hermite_e.hermegauss(61)
    mean = weights / weights.sum()
    constant = brentq(lambda one: mean @ expit(one + deviation * at) - share, -30, 30)
    said = {"bounds": (-4, 4), "epsilon": epsilon, "delta": 1e-6}
    for _ in range(runs):
        x = np.clip(rng.standard_normal((rows, features)) @ root.T, -4, 4)
        y = (rng.random(rows) < expit(x @ beta + constant)).astype(int)
        one = learn.LogisticRegression(**said, classes=[0, 1], standard_errors=True).fit(x, y)
        yield (one.coef_ - beta) / one.standard_errors_, one.standard_errors_, one.hidden_


def covered(ratios):
    return f"{100 * np.mean(np.abs(ratios) < 1.96):7.1f}" if ratios.size else "      -"


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    rng = np.random.default_rng(0)
    print("features rows correlation  known %: cover, of the first two;  else: cover  error")
    for features, rows, correlation in itertools.product(FEATURES, ROWS, CORRELATIONS):
        told = [one for by in SETTINGS for one in fits(rng, rows, features, correlation, by, runs)]
        ratios, errors, hidden = (np.concatenate(one) for one in zip(*told, strict=True))
        known, pair = hidden < KNOWN, np.arange(features) < 2
        print(
            f"{features:8} {rows:6} {correlation:5} {100 * known.mean():9.0f}"
            f"{covered(ratios[known])}{covered(ratios[known & pair])}{covered(ratios[~known])}"
            f"{np.median(errors):9.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
