"""Exact staircase noise: flat steps, each a fixed factor below the one before."""

from fractions import Fraction
from typing import Any

import numpy as np

from discreet.noise.exponential import geometric
from discreet.noise.shape import Size
from discreet.noise.uniform import below
from discreet.rationals import whole

_SAFE = 1 << 62


def staircase(scale: Fraction, width: int, first: int, size: Size = None) -> Any:
    """Draw an integer k with probability proportional to exp(-level/scale), exactly.

    The level of k is floor((|k| + width - first)/width): 0 for |k| < first, and one more for every
    further `width`.

    Why: a geometric level m and a uniform place u make i = m width + u - (width - first). What is
    below 0 is drawn again, so every i >= 0 has a weight of exp(-m/scale), m its level. A sign is
    drawn, and -0 is drawn again.

    Edge cases: 1 <= first <= width; with width 1 it is discrete Laplace noise.

    Example:
        >>> isinstance(staircase(Fraction(1), 4, 2), int), staircase(Fraction(1), 4, 2, 3).shape
        (True, (3,))
    """
    steps = whole(width, "width", at_least=1)
    skipped = steps - min(steps, whole(first, "first", at_least=1))
    shape = () if size is None else (size,) if isinstance(size, int) else tuple(size)
    draws: Any = np.zeros(int(np.prod(shape, dtype=np.int64)), dtype=np.int64)
    pending = np.arange(draws.size)
    while pending.size:
        levels = geometric(scale, pending.size)
        if int(levels.max()) >= _SAFE // steps - 1:
            levels, draws = levels.astype(object), draws.astype(object)
        places = levels * steps + below(steps, pending.size) - skipped
        signs = 1 - 2 * below(2, pending.size)
        kept = np.asarray((places > 0) | ((places == 0) & (signs > 0)), dtype=np.bool_)
        draws[pending[kept]] = (places * signs)[kept]
        pending = pending[~kept]
    return int(draws[0]) if size is None else draws.reshape(shape)
