"""Where a line of orders should lie, how far it should reach, and where on it to look first.

Nothing here can make an answer wrong: a poor choice costs time or a looser bound.
"""

import math
from collections.abc import Callable

from discreet.privacy.precision import Precision
from discreet.privacy.spectrum import Spectrum


def width(lam: float, spread: float, log_delta: float) -> float:
    """How far apart aliases have to be: beyond the loss, and where e^(-lam W) is nothing."""
    return max((12 + 0.25 * lam * spread) * spread, (log_delta + 28) / lam)


def saddle(spectrum: Spectrum, spread: float, log_left: float) -> float:
    """About where delta is e^log_left, from the Gaussian with the line's moment and spread."""
    lam = spectrum.line.lam
    height = lam * (lam + 1) * max(spread, 1 / lam) * math.sqrt(2 * math.pi)
    return (spectrum.level - math.log(height) - log_left) / lam


def resolution(
    lam: float, step: float, spread: float, square: float, precision: Precision
) -> tuple[int, float]:
    """How many frequencies to keep, and the phantom that makes the rest negligible."""
    if square > 0:
        enough = math.sqrt(2 * 46 / square) / step + 8
        if enough <= precision.most:
            return max(32, math.ceil(enough)), 0.0
    wanted = math.sqrt(10 * (lam + 1) / precision.excess) / step
    size = int(min(precision.most, max(64.0, wanted)))
    reach = step * size
    # Balances the remainder e^-fall/(pi step size) against the phantom's cost lam (lam + 1)
    # fall/reach^2, both relative to delta, about 1/(lam (lam + 1) spread sqrt(2 pi)) of the scale.
    unit_cost = lam * (lam + 1)
    relative = unit_cost * max(spread, 1e-12) * 2.5 / (math.pi * reach)
    fall = min(45.0, max(2.0, math.log(relative * reach * reach / unit_cost)))
    return size, 2 * fall / (reach * reach)


def descend(cost: Callable[[int], float], size: int) -> int:
    """The index of least cost of a sequence that falls and then rises."""
    j, step = size // 3, 4
    while step:
        here = cost(j)
        while j + step < size and cost(j + step) < here:
            j, here = j + step, cost(j + step)
        while j - step >= 0 and cost(j - step) < here:
            j, here = j - step, cost(j - step)
        step //= 2
    return j
