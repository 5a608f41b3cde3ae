"""Find the epsilon at which delta falls to a value: Newton's method, confirmed at every end."""

import math
from collections.abc import Callable
from functools import cache
from typing import Final

from discreet.privacy.contour.expansion import Expansion
from discreet.privacy.contour.spectrum import Spectrum

_STEPS: Final = 40
"""Readings at most; one is usual where the last answer is near, three elsewhere."""

_POLISHED: Final = 4
"""Corrections within one reading."""


def cross(
    spectrum: Spectrum, log_delta: float, near: float, ceiling: float, guess: float
) -> tuple[float, Expansion]:
    """An epsilon at which delta has certainly fallen to e^log_delta, and a reading close to it.

    Why: a search kept in a bracket; it ends once log delta is within `near` of the target, on the
    safe side, as confirmed by an upper bound at that very epsilon. Infinity where nothing below
    `ceiling` was confirmed.
    """
    low, high = -1.0, math.inf  # nothing is known of 0 yet
    at = guess if 0 < guess < ceiling else ceiling
    for _ in range(_STEPS):
        reading = spectrum.read(at)
        off = reading.log_upper(at) - log_delta
        if off <= 0:
            high = at
            if off > -near or at == 0:
                break
        else:
            low = at
            if at >= ceiling:
                break
        to = _next(at, reading.step(off + 0.5 * near), low, min(high, ceiling))
        if to in (low, high):
            break
        at, settled = _polish(reading, to, log_delta, near)
        if settled and at < ceiling:
            return at, reading
        at = at if max(low, 0.0) < at < min(high, ceiling) else to
    return high, reading


def _polish(reading: Expansion, to: float, log_delta: float, near: float) -> tuple[float, bool]:
    """Go on with the expansion alone while it is sharp enough, and say whether that settled it."""
    for _ in range(_POLISHED):
        if not reading.covers(to, 0.25 * near):
            return to, False
        off = reading.log_upper(to) - log_delta
        if -near < off <= 0:
            return to, True
        to += (off + 0.5 * near) / reading.rate(to)
    return to, False


def _next(at: float, step: float, low: float, high: float) -> float:
    """Newton's next point, or one inside the bracket where it would leave it."""
    to = max(at + step, 0.0)
    return to if low < to < high else (max(low, 0.0) + high) / 2


# --- a line of orders: its position, its length, and the first point to look at ------------------
# Nothing here can make an answer wrong: a poor choice costs time or a looser bound.


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
