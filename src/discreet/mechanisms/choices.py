"""Exact choices: many at once, and among candidates that stand for many equal ones.

`noise.choose` and `noise.permute_and_flip` settle one choice each. The functions here make any
number of independent choices in one pass, so that a release and its audit run the same code; and a
candidate may have a multiplicity: an interval of m grid points with one score is one candidate.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.noise.bits import open_source
from discreet.noise.certified import Uniform, contexts, exact, exp_minus
from discreet.noise.selection import Scores, outlast, read_scores
from discreet.rationals import Real

Indices: TypeAlias = NDArray[np.int64]
Multiplicities: TypeAlias = Sequence[int] | NDArray[Any] | None

_MOST = 1 << 500
_BLOCK = 1 << 20


def choose(
    scores: Any,
    temperature: Real,
    runs: int,
    multiplicities: Multiplicities = None,
) -> Indices:
    """Choose index i with probability proportional to m_i exp(scores[i]/temperature), exactly.

    Why:
        A uniform is located among the cumulated weights w_i = m_i exp(-x_i), x_i >= 0 the distance
        to the best score; the total is at least 1. Write e = 2^-53, M for the largest score and n
        for their number. Where x_i <= 708 a float64 weight is right to 4e (x_i + M/t) + 202e of
        itself (noise.selection, and two roundings for m_i); where x_i is larger the weight is below
        2^500 2^-1021. The running sum adds n e of the total, scaling the uniform 3e. Together below
        2^8 e (n + M/t + 2048) of the total. A choice is accepted in float64 only if the uniform is
        further than twice that from both ends of its interval; else MPFR settles it with more bits.
    Edge cases:
        Multiplicities are from 1 to 2^500.

    Example:
        >>> choose([0, 1000, 0], 1, runs=3).tolist()
        [1, 1, 1]
    """
    read = read_scores(scores, temperature)
    weights = np.exp(-read.gaps)
    if multiplicities is not None:
        weights *= _as_floats(multiplicities)
    sums = np.cumsum(weights)
    total = float(sums[-1])
    band = 2.0**-44 * (sums.size + read.size + 2048) * total
    source = open_source(runs)
    words = source.words(runs)
    points = words * 2.0**-64 * total
    chosen = np.searchsorted(sums, points - band).astype(np.int64)
    doubt = (chosen != np.searchsorted(sums, points + band)) | (chosen == sums.size)
    for lane in map(int, np.flatnonzero(doubt)):
        chosen[lane] = _locate(read, multiplicities, Uniform(int(words[lane]), 64, source))
    return chosen


def _as_floats(multiplicities: Multiplicities) -> NDArray[np.float64]:
    many = np.asarray(multiplicities)
    if many.min() >= 1 and many.max() < _MOST:
        return many.astype(np.float64)
    raise InputError(
        "a multiplicity is out of range",
        why="each candidate stands for 1 to 2^500 equal ones",
        fix="leave out candidates that stand for nothing, or use a coarser grid",
    )


def _locate(scores: Scores, multiplicities: Multiplicities, uniform: Uniform) -> int:
    """The candidate whose share of the cumulated weights holds U, in arbitrary precision."""
    best = scores.best()
    count = scores.given.size
    gaps = [scores.exact_gap(i, best) for i in range(count)]
    many = [exact(1 if multiplicities is None else int(multiplicities[i])) for i in range(count)]
    while True:
        down, up = contexts(uniform.size)
        weights = [exp_minus(gap, uniform.size) for gap in gaps]
        pairs = list(zip(weights, many, strict=True))
        lows = list(accumulate((down.mul(low, m) for (low, _), m in pairs), down.add))
        highs = list(accumulate((up.mul(high, m) for (_, high), m in pairs), up.add))
        left, right = uniform.cell()
        # U x total lies in [point_low, point_high); find the first sum that may reach it.
        point_low, point_high = down.mul(left, lows[-1]), up.mul(right, highs[-1])
        for i, (sum_low, sum_high) in enumerate(zip(lows, highs, strict=True)):
            if point_low < sum_high:
                if point_high <= sum_low or i == count - 1:
                    return i
                break
        uniform.extend()


def permute_and_flip(scores: Any, temperature: Real, runs: int) -> Indices:
    """Choose as permute-and-flip does, `runs` times, exactly.

    Why:
        Exponential noise of mean `temperature` is added to each score and the largest wins. The
        float64 decision and its error band are those of `noise.permute_and_flip`.

    Example:
        >>> permute_and_flip([0, 1000, 0], 1, runs=2).tolist()
        [1, 1]
    """
    read = read_scores(scores, temperature)
    rows = max(1, _BLOCK // read.gaps.size)
    blocks = [_flip(read, min(rows, runs - first)) for first in range(0, runs, rows)]
    return np.concatenate(blocks) if blocks else np.empty(0, dtype=np.int64)


def _flip(read: Scores, runs: int) -> Indices:
    count = read.gaps.size
    source = open_source(runs * count)
    prefixes = (source.words(runs * count) >> np.uint64(1)).view(np.int64).reshape(runs, count)
    noisy = np.log(prefixes + 0.5)
    np.subtract(63 * np.log(2.0) - read.gaps, noisy, out=noisy)
    doubt = np.broadcast_to(2.0**-30 + 2.0**-48 * (read.gaps + read.size), noisy.shape).copy()
    doubt[prefixes < 1 << 32] = np.inf
    contenders = noisy + doubt >= (noisy - doubt).max(axis=1, keepdims=True)
    chosen: Indices = contenders.argmax(axis=1).astype(np.int64)
    for run in map(int, np.flatnonzero(contenders.sum(axis=1) != 1)):
        rivals = map(int, np.flatnonzero(contenders[run]))
        chosen[run] = outlast(read, {i: Uniform(int(prefixes[run, i]), 63, source) for i in rivals})
    return chosen
