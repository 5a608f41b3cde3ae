"""Tables of pairs of columns, freed of noise, and larger tables that agree with them."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Final

import numpy as np

from discreet.workload.marginals import Clique, Floats, sums_of

_ROUNDS: Final = 12
_CLOSE: Final = 1e-4
_LEAST: Final = 1e-9
"""Rounds of proportional fitting at most, the share of rows at which it stops, and the least share
of what independent columns would have that a cell keeps."""

MOST_WORK: Final = 9 * 10**6
"""Cells x axes x pairs of one table that is fitted to pairs: some 50 ms, most of it with many small
axes, over which sums are slow. It is enough for all pairs of three columns of any size."""


def shrunk_pair(noisy: Floats, sigma: float, rows: Floats, columns: Floats) -> Floats:
    """A noisy table of two columns, freed of noise, with the sums `rows` and `columns`.

    Why: how far two columns are from independence is, in most data, a table of low rank, while
    noise fills all ranks alike. Singular values that noise explains are dropped, the others are
    lowered by what noise adds to them.

    Reference: Gavish, Donoho, Optimal shrinkage of singular values, IEEE Transactions on
    Information Theory 2017, equation 7 (squared error).
    """
    alone = np.outer(rows, columns) / max(float(rows.sum()), 1.0)
    apart = noisy - alone
    apart = apart - apart.mean(axis=0) - apart.mean(axis=1, keepdims=True) + apart.mean()
    left, values, right = np.linalg.svd(apart, full_matrices=False)
    few, many = sorted(max(size - 1, 1) for size in noisy.shape)
    scale, ratio = sigma * np.sqrt(many), few / many
    seen = np.maximum(values / scale, 1 + np.sqrt(ratio))
    kept = np.sqrt(np.maximum((seen**2 - ratio - 1) ** 2 - 4 * ratio, 0.0)) / seen
    table = np.maximum(alone + (left * (kept * scale)) @ right, _LEAST * alone)
    return raked(table, ("r", "c"), {("r",): rows, ("c",): columns})


def pairs_fitted(shape: Sequence[int], pairs: int) -> int:
    """To how many of so many pairs a table of this shape is fitted, in bounded time."""
    return min(pairs, MOST_WORK // (prod(shape) * max(1, len(shape))))


def raked(table: Floats, axes: Clique, wanted: Mapping[Clique, Floats]) -> Floats:
    """The table nearest in entropy to one, with wanted sums over some of its axes.

    Reference: Deming, Stephan, On a least squares adjustment of a sampled frequency table, 1940
    (iterative proportional fitting).
    """
    found, close = table.copy(), _CLOSE * float(table.sum())
    for _ in range(_ROUNDS):
        off = 0.0
        for names, sums in wanted.items():
            now = found.sum(axis=sums_of(axes, names))
            off = max(off, float(np.abs(now - sums).sum()))
            ratio = np.divide(sums, now, out=np.zeros_like(now), where=now > 0)
            shape = [size if n in names else 1 for n, size in zip(axes, table.shape, strict=True)]
            found *= ratio.reshape(shape)
        if off <= close:
            break
    return found
