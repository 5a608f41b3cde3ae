"""Choose a line of orders: its position, its length, and the first point to look at.

Nothing here can make an answer wrong: a poor choice costs time or a looser bound.
"""

import math
from collections.abc import Callable
from functools import cache

from discreet.privacy.contour.spectrum import Spectrum


def width(lam: float, spread: float, log_delta: float) -> float:
    """How far apart aliases have to be: beyond the loss, and where e^(-lam W) is nothing."""
    return max((12 + 0.25 * lam * spread) * spread, (log_delta + 28) / lam)


def saddle(spectrum: Spectrum, spread: float, log_left: float) -> float:
    """About where delta is e^log_left, from the Gaussian with the line's moment and spread."""
    lam = spectrum.line.lam
    height = lam * (lam + 1) * max(spread, 1 / lam) * math.sqrt(2 * math.pi)
    return (spectrum.level - math.log(height) - log_left) / lam


def resolution(
    line: tuple[float, float, float], square: float, most: int, excess: float
) -> tuple[int, float]:
    """How many frequencies to keep, and the phantom that makes the rest negligible.

    A line is its order, its step and its scale M(lam) e^(-lam epsilon) over delta.
    """
    lam, step, scale = line
    if square > 0:
        enough = math.sqrt(2 * 46 / square) / step + 8
        if enough <= most:
            return max(32, math.ceil(enough)), 0.0
    wanted = math.sqrt(10 * (lam + 1) / excess) / step
    size = int(min(most, max(64.0, wanted)))
    reach = step * size
    # Pushes the remainder scale e^-fall/(pi reach) well below the phantom's cost lam (lam + 1)
    # fall/reach^2, both relative to delta.
    fall = min(45.0, max(2.0, math.log(scale * reach / (math.pi * lam * (lam + 1))) + 6))
    return size, 2 * fall / (reach * reach)


def descend(cost: Callable[[int], float], size: int) -> int:
    """The index of least cost of a sequence that falls and then rises."""
    known = cache(cost)  # most are looked at several times
    j, step = size // 3, 4
    while step:
        while j + step < size and known(j + step) < known(j):
            j += step
        while j - step >= 0 and known(j - step) < known(j):
            j -= step
        step //= 2
    return j
