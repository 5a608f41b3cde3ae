"""Find the epsilon at which delta falls to a value: Newton's method, confirmed at every end."""

import math
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
