"""Choosing hyper-parameters privately: random search with random stopping, charged once."""

import copy
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
from sklearn.base import clone

from discreet.errors import InputError
from discreet.learn.classifiers import PrivateClassifier
from discreet.learn.noisy_sums import NoisySums
from discreet.learn.statistical_queries import Expectation
from discreet.noise import below, bernoulli
from discreet.privacy import RDP
from discreet.rationals import Real, positive, proper_share, whole

_ORDERS = [1 + x / 10 for x in range(1, 100)] + list(range(11, 64)) + [2**k for k in range(6, 12)]
_SCORE = Fraction(1, 5)  # the share of each run for its score


def tune(
    candidates: Sequence[Any],
    X: Any,
    y: Any,
    *,
    epsilon: Real,
    delta: Real,
    expected_runs: int = 8,
    groups: Any = None,
    max_rows_per_unit: int = 1,
) -> Any:
    """The best of randomly many fits of random candidates; a fitted classifier.

    Candidates are unfitted classifiers of this package; their own epsilon and delta do not count.
    The answer's `guarantee_` is that of the whole search, and `score_` its noisy share of right
    labels among all rows.

    Guarantee:
        (epsilon, delta)-differential privacy of the whole search, about a person with all rows.
    Why:
        The number of runs K is geometric with mean 1/g, and only the best run is told. If a run has
        Renyi divergence e(a) at each order a, the search has at most e(a) + 2 (1 - 1/b) e(b) +
        2 ln(1/g)/b + ln(1/g)/(a - 1), for any order b.
    Edge cases:
        Whoever can time the search learns K, which the guarantee supposes hidden: run it where
        nobody watches. A tie goes to the earlier run.
    Reference: Papernot, Steinke, Hyperparameter Tuning with Renyi Differential Privacy, ICLR 2022,
    Theorem 2 with eta = 1.
    """
    runs = whole(expected_runs, "expected_runs", at_least=1)
    if not candidates:
        raise InputError("no candidates", why="one of them is chosen", fix="pass some")
    if not all(isinstance(one, PrivateClassifier) for one in candidates):
        why = "runs are compared by their share of right labels"
        fix = "pass single classifiers, not pipelines"
        raise InputError("a candidate that is no classifier of discreet.learn", why=why, fix=fix)
    price = positive(epsilon, "epsilon"), proper_share(delta, "delta")
    mu_squared = _mu_squared_of_run(*price, runs)
    best: tuple[float, Any] | None = None
    while True:
        one = clone(candidates[below(len(candidates))])
        one.__dict__.pop("_spent")  # an account of its own: the search is counted as one
        rows = one._rows(X, y, groups, max_rows_per_unit)  # noqa: SLF001 - the package's own
        one._learn_from(NoisySums(rows, (1 - _SCORE) * mu_squared))  # noqa: SLF001
        scored = copy.copy(one)
        scored.__dict__.pop("feature_names_in_", None)  # rows come without: no word about each
        right_labels = Expectation(partial(_is_right, scored))
        right, count = NoisySums(rows, _SCORE * mu_squared).sums(right_labels, Fraction(1))
        score = float(np.clip(right / max(count, 1.0), 0, 1))
        if best is None or score > best[0]:
            best = score, one
        if bernoulli(Fraction(1, runs)):
            break
    score, chosen = best
    chosen.score_, chosen.guarantee_ = score, search_guarantee(mu_squared, runs)
    chosen._spending.guarantees.append(chosen.guarantee_)  # noqa: SLF001 - the package's own
    return chosen


def _is_right(model: Any, row: Any, label: float) -> bool:
    """Whether a fitted classifier predicts the label of a row; no other row has a say."""
    return bool(model.predict(row[None])[0] == model.classes_[int(label)])


def search_guarantee(mu_squared: Fraction, runs: int) -> RDP:
    """The Renyi curve of a search, rounded up."""
    cost = float(mu_squared) / 2
    more = 2 * math.log(runs)
    extra = min(2 * (1 - 1 / b) * cost * b + more / b for b in _ORDERS)
    costs = ((cost * a + extra + math.log(runs) / (a - 1)) * (1 + 1e-12) for a in _ORDERS)
    orders = (Fraction(a).limit_denominator(10) for a in _ORDERS)
    return RDP(zip(orders, map(Fraction, costs), strict=True))


@lru_cache(maxsize=64)
def _mu_squared_of_run(epsilon: Fraction, delta: Fraction, runs: int) -> Fraction:
    """The largest squared mu of one run with which the search keeps (epsilon, delta)."""

    def fits(mu_squared: Fraction) -> bool:
        return search_guarantee(mu_squared, runs).epsilon(delta).upper <= epsilon

    bad, good = epsilon**2, Fraction(0)
    for _ in range(24):
        middle = (bad + good) / 2
        bad, good = (bad, middle) if fits(middle) else (middle, good)
    if good == 0:
        what = f"epsilon {float(epsilon)} is too small for {runs} expected runs"
        why = "random stopping alone costs more"
        raise InputError(what, why=why, fix="expect fewer runs, or raise epsilon or delta")
    return good
