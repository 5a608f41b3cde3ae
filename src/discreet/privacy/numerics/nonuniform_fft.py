"""Sums of turning points at many frequencies: spread over a grid by a Gaussian, then one FFT.

With x_m = m h over all integers m, h = 2 pi/M, and a kernel e^(-(x - t)^2/4 tau), Poisson summation
gives

    h/sqrt(4 pi tau) e^(tau k^2) sum_m e^(-(x_m - t)^2/4 tau) e^(i k x_m)
        =  e^(i k t) + sum over l != 0 of e^(-tau ((k + l M)^2 - k^2)) e^(i (k + l M) t),

and e^(i k x_m) has period M in m, so the kernels of all points are added up on one grid of M cells.

Reference: Greengard, Lee, Accelerating the Nonuniform Fast Fourier Transform (2004), section 3.
"""

import math
from typing import Final

import numpy as np

from discreet.privacy.numerics.moments import ComplexArray, FloatArray
from discreet.privacy.numerics.rounding import ELEMENTARY, UNIT

_FINER: Final = 4
"""Cells for each frequency."""

_WIDTH: Final = 54.0
"""tau M^2: what comes from l != 0 is below 2.1 e^(-3/4 of it), 5.4e-18."""

_REACH: Final = 15
"""Cells on either side that a kernel is added to; e^(54/64 - (2 pi 15)^2/(4 54)) is below 3e-18."""

_TRUSTED: Final = 2.0**20
"""Radians up to which sines are vouched for."""

_CALM: Final = 0.5
"""Radians up to which a point's turns are a short series."""

_TERMS: Final = 16

_TABLED: Final = 2**18
"""Points times frequencies up to which a plain product is quickest."""

_PART: Final = 1024
"""Points that are added up in one go: the shorter the sums, the less they round."""

_LEVEL: Final = 8 * UNIT
"""The error of one level of an FFT, relative in the Euclidean norm, as for accurate sines."""


def total(weights: FloatArray) -> float:
    """The sum of weights >= 0, within 66 roundings however many they are."""
    starts = np.arange(0, len(weights), 64)
    return math.fsum(np.add.reduceat(weights, starts)) if len(weights) else 0.0


def dot(first: FloatArray, second: FloatArray) -> float:
    """The sum of products; `@` would wake all threads of BLAS, which takes longer than the sum."""
    return float(np.sum(first * second))


def turning_sums(weights: FloatArray, angles: FloatArray, size: int) -> tuple[ComplexArray, float]:
    """The sums of weights e^(i k angles) for 0 <= k < size, and their error; weights >= 0.

    Angles may be off: that counts apart, k times as much for each of them. Nothing is vouched for
    past 2^20 radians.
    """
    wild = weights[np.abs(angles) * size > _TRUSTED]
    calm = np.abs(angles) * size <= _CALM
    slow, slow_error = _slowly(weights[calm], angles[calm], size)
    if calm.all():
        return slow, slow_error
    loud, turns = weights[~calm], angles[~calm]
    if len(loud) * size <= _TABLED:
        # Few of them: one product of two small tables.
        block = math.isqrt(size - 1) + 1
        inner = np.exp(1j * np.multiply.outer(turns, np.arange(block)))
        outer = np.exp(1j * np.multiply.outer(np.arange(-(-size // block)) * float(block), turns))
        sums: ComplexArray = (outer * loud) @ inner
        fast, error = sums.reshape(-1)[:size], (4 * len(loud) + 128) * UNIT * total(loud)
    else:
        fast, error = _gridded(loud, turns, size)
    return slow + fast, slow_error + error + 3 * total(wild)


def _slowly(weights: FloatArray, angles: FloatArray, size: int) -> tuple[ComplexArray, float]:
    """Taylor's series for points that turn by 1/2 at most: k^p i^p/p! times the moments.

    Terms fall like 1/(2^p p!), so 16 leave less than 1e-17 of the first turn. All but the sum of
    the weights itself is multiplied by a turn, and with it what it rounds by.
    """
    reach = angles * float(size)
    moments = [dot(weights, reach**p) for p in range(1, _TERMS)]
    turn = 1j * (np.arange(size) / float(size))
    sums: ComplexArray = np.zeros(size, dtype=np.complex128)
    for p in range(_TERMS - 1, 0, -1):
        sums = (sums + moments[p - 1]) * (turn / p)
    whole = total(weights)
    error = (len(weights) + 8 * _TERMS) * UNIT * dot(weights, np.abs(reach))
    return sums + whole, 2 * error + 80 * UNIT * whole


def _gridded(weights: FloatArray, angles: FloatArray, size: int) -> tuple[ComplexArray, float]:
    """The transform by a grid.

    Why:
        Frequencies are counted from the middle, where e^(tau k^2) <= e^(54/64) < 2.4. A kernel is
        right to 3 `ELEMENTARY` of its sum. Sums in parts of 1024 points round 1024 times and once a
        part. The error of an FFT of M cells is at most sqrt(M) log2 M levels times the Euclidean
        norm of the cells.
    """
    cells = 2 ** math.ceil(math.log2(_FINER * size))
    middle = size // 2
    grid: ComplexArray = np.zeros(cells, dtype=np.complex128)
    for first in range(0, len(angles), _PART):
        part = slice(first, first + _PART)
        _spread(weights[part], angles[part], middle, grid)
    found = np.fft.ifft(grid, norm="forward")
    ratio = (np.arange(size) - float(middle)) / cells
    factor = math.sqrt(math.pi / _WIDTH) * np.exp(_WIDTH * ratio * ratio)
    rounding = 1.5 * (_PART + len(angles) // _PART + 17) * UNIT + 4 * ELEMENTARY + 5e-18
    # As floats in a row: `np.linalg.norm` of complex numbers reads them with gaps, far slower.
    norm = math.sqrt(float(np.square(grid.view(np.float64)).sum()) * cells * math.pi / _WIDTH)
    error = 2.4 * (rounding * total(weights) + norm * (1 + 1e-9) * math.log2(cells) * _LEVEL)
    return found[np.arange(-middle, size - middle)] * factor, error


def _spread(weights: FloatArray, angles: FloatArray, middle: int, grid: ComplexArray) -> None:
    cells = len(grid)
    place = angles * (cells / (2 * math.pi))
    nearest = np.rint(place)
    away = np.subtract.outer(place - nearest, np.arange(-_REACH, _REACH + 1.0))
    # tau M^2 = 54 makes the exponent -(2 pi away)^2/(4 54).
    kernel = np.exp(away * away * (-math.pi * math.pi / _WIDTH))
    at = np.add.outer(nearest.astype(np.int64), np.arange(-_REACH, _REACH + 1)) % cells
    turned = weights * np.exp(1j * middle * angles)
    flat = at.reshape(-1)
    real = (kernel * turned.real[:, None]).reshape(-1)
    imag = (kernel * turned.imag[:, None]).reshape(-1)
    grid.real += np.bincount(flat, real, cells)
    grid.imag += np.bincount(flat, imag, cells)
