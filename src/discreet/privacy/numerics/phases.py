"""Points on the unit circle, many at once, with a bound on their error."""

import numpy as np

from discreet.privacy.numerics.moments import ComplexArray, FloatArray
from discreet.privacy.numerics.rounding import UNIT

ROUNDING = 32 * UNIT
"""Two evaluations of cos + i sin (each within 12 units) and one product (4 units)."""

DIRECT = 96
"""Points up to which plain sines beat products."""

_COUNT: FloatArray = np.arange(512.0)
_WIDEST = 2.0**20


def phases(angle: float, size: int) -> ComplexArray:
    """e^(i k angle) for 0 <= k < size; the error of each is at most `phase_error`."""
    if size <= DIRECT:
        x = _COUNT[:size] * angle
        z = np.empty(size, dtype=np.complex128)
        np.cos(x, z.real)
        np.sin(x, z.imag)
        return z
    block = int(np.sqrt(size)) + 1
    inner = _circle(_multiples(angle, block))
    outer = _circle(_multiples(block * angle, -(-size // block)))
    return np.multiply.outer(outer, inner).reshape(-1)[:size]


def phase_table(angles: FloatArray, size: int) -> ComplexArray:
    """One column of `phases` for every angle."""
    block = int(np.sqrt(size)) + 1
    inner = _circle(np.multiply.outer(np.arange(float(block)), angles))
    outer = _circle(np.multiply.outer(np.arange(float(-(-size // block))), angles * block))
    table = outer[:, None, :] * inner[None, :, :]
    return table.reshape(-1, len(angles))[:size]


def phase_error(angle: float, size: int, relative: float) -> float:
    """Bound the error of `phases` when `angle` itself is off by at most `relative`.

    Why: k angle is rounded twice on its way to sin and cos, and a shift x of the argument moves a
    point on the circle by at most x. Arguments past 2^20 are not vouched for.
    """
    reach = abs(angle) * size
    return reach * (3 * UNIT + relative) + ROUNDING if reach < _WIDEST else 2.0


def _circle(x: FloatArray) -> ComplexArray:
    z = np.empty(x.shape, dtype=np.complex128)
    np.cos(x, out=z.real)
    np.sin(x, out=z.imag)
    return z


def _multiples(angle: float, size: int) -> FloatArray:
    ks = _COUNT[:size] if size <= len(_COUNT) else np.arange(float(size))
    return ks * angle
