"""Prefix sums as a product of two factors, A = L R, both near the square root of A.

A is the lower triangle of ones. Both factors are lower triangles too, with the same entries along
each diagonal, so that their first columns, series in x, say all: A is 1/(1 - x).

Reference: Fichtenberger, Henzinger, Upadhyay, Constant Matters: Fine-grained Complexity of
Differentially Private Continual Observation (the factorization).
"""

from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

BITS: Final = 20
"""The right factor's entries are multiples of 2^-20."""

ROOM: Final = 1 << 42
"""Increments that sum to less than this in size are multiplied in int64."""


@lru_cache(maxsize=64)
def right_factor(horizon: int) -> NDArray[np.int64]:
    """The first column of R in steps: (2k choose k)/4^k, rounded."""
    k = np.arange(1, horizon, dtype=np.float64)
    column = np.concatenate([np.ones(1), np.cumprod((2 * k - 1) / (2 * k))])
    entries: NDArray[np.int64] = np.rint(column * (1 << BITS)).astype(np.int64)
    entries.setflags(write=False)
    return entries


@lru_cache(maxsize=64)
def largest_square(horizon: int, columns: int) -> int:
    """The squared l2 norm of the sum of R's first columns: no others have a larger one.

    Example:
        >>> largest_square(1, 1) == 4**BITS, largest_square(2, 2) > 2 * largest_square(2, 1)
        (True, True)
    """
    entries = np.concatenate([[0], np.cumsum(right_factor(horizon))]).tolist()
    sums = [entries[k + 1] - entries[max(0, k + 1 - columns)] for k in range(horizon)]
    return sum(one * one for one in sums)


@lru_cache(maxsize=64)
def left_factor(horizon: int) -> NDArray[np.float64]:
    """The first column of L = A/R: the series with L R = 1 + x + x^2 + ..., running sums of 1/R.

    Newton's iteration for 1/R doubles how many entries are right.
    """
    right, inverse = right_factor(horizon) / float(1 << BITS), np.ones(1)
    while inverse.size < horizon:
        size = min(2 * inverse.size, horizon)
        rest = -_product(right[:size], inverse)
        rest[0] += 2
        inverse = _product(inverse, rest)[:size]
    entries: NDArray[np.float64] = np.cumsum(inverse)
    entries.setflags(write=False)
    return entries


def _product(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    points = 1 << (first.size + second.size - 2).bit_length()
    wave = np.fft.rfft(first, points) * np.fft.rfft(second, points)
    return np.asarray(np.fft.irfft(wave, points)[: max(first.size, second.size)])


def convolve(entries: NDArray[np.int64], steps: NDArray[Any]) -> NDArray[Any]:
    """The exact product of R with the increments."""
    if steps.size == 0:
        return np.zeros(0, dtype=np.int64)
    reach = sum(abs(int(step)) for step in steps)
    kind = np.int64 if reach < ROOM else object
    return np.convolve(entries.astype(kind), steps.astype(kind))[: steps.size]
