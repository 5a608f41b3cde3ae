"""Student's t noise with four degrees of freedom, rounded to the nearest integer, exactly.

**How.** With v = x/sqrt(4 + x^2) the distribution function is 1/2 + (3v - v^3)/4, so its inverse is
elementary: v = 2 sin(asin(2u - 1)/3) and x = 2v/sqrt(1 - v^2). A draw is floor(scale x(U) + 1/2)
for a uniform real U, of which as many bits are read as needed: one word, nearly always.

**The error band.** By symmetry let w be the smaller of u and 1 - u, and q = (2/3) asin(sqrt(w)).
Then 1 - |v| = 2 sin(q/2)^2 + sqrt(3) sin(q), a sum of positive terms: right to 2^-45 of itself with
functions trusted to 100 ulp, so |x| is right to 2^-43 (1 + |x|). U is known to a cell of 2^-63, of
which w takes the middle; |x| falls in w by at most (1 + |x|)/w, so that costs 2^-63 (1 + |x|)/w. A
draw is accepted in float64 only if scale x is further than twice both, times the scale, from the
next half-integer, and below 2^50.
"""

import math
from fractions import Fraction
from typing import Any, Final

import gmpy2
import numpy as np
from numpy.typing import NDArray

from discreet.noise.bits import Enclosure, Uniform, contexts, exact, floor_of, open_source, quotient
from discreet.noise.shape import as_array, read_within
from discreet.rationals import Real, positive, whole

_BITS: Final = 63
_LARGEST: Final = Fraction(1 << 60)
_SMALLEST: Final = Fraction(1, 1 << 20)
_WIDE: Final = 1 << 24
"""Up to this scale fewer than one draw in 60,000 needs arbitrary precision."""


def rounded_student(scale: Real, size: int | None = None, *, widest: Real | None = None) -> Any:
    """Student's t noise with four degrees of freedom times `scale`, rounded; or `size` draws.

    P(noise >= m) = P(T >= (m - 1/2)/scale), exactly. The variance is 2 scale^2, and 1/12 for
    rounding. One random word for each draw at every scale, except one draw in millions.

    Edge cases: scales are from 2^-20 to 2^60. Draws beyond 64 bits are Python ints. The wider, the
    more draws need arbitrary precision, which takes longer: where the scale is private, pass the
    `widest` that it could be, and all draws take the path that suits that one.

    Example:
        >>> rounded_student(10, size=3).shape
        (3,)

    Reference: Bun, Steinke 2019, Average-Case Averages: Private Algorithms for Smooth Sensitivity
    and Mean Estimation (its use); Shaw 2006 (the inverse for four degrees of freedom).
    """
    width = read_student_scale(scale)
    draws = 1 if size is None else whole(size, "size", at_least=0)
    source = open_source(draws)
    prefixes = (source.words(draws) >> np.uint64(1)).view(np.int64)
    values, doubt = _in_floats(prefixes, float(width))
    if positive(width if widest is None else widest, "widest") > _WIDE:
        doubt[:] = True
    found = [int(value) for value in np.where(doubt, 0.0, values)]
    for lane in map(int, np.flatnonzero(doubt)):
        found[lane] = certified_draw(width, Uniform(int(prefixes[lane]), _BITS, source))
    return found[0] if size is None else as_array(found)


def read_student_scale(value: Real) -> Fraction:
    """Read a scale that this noise can be made for."""
    return read_within(value, "scale", (_SMALLEST, _LARGEST), "scales from 2^-20 to 2^60")


def _in_floats(
    prefixes: NDArray[np.int64], scale: float
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Draws in float64, and which of them are in doubt."""
    lower = prefixes < 1 << (_BITS - 1)
    near = np.where(lower, prefixes, (1 << _BITS) - 1 - prefixes)
    share = (near + 0.5) * 2.0**-_BITS
    angle = 2 / 3 * np.arcsin(np.sqrt(share))
    rest = 2 * np.sin(angle / 2) ** 2 + math.sqrt(3) * np.sin(angle)
    x = 2 * np.maximum(1 - rest, 0.0) / np.sqrt(rest * (2 - np.minimum(rest, 1.0)))
    value = scale * np.where(lower, -x, x) + 0.5
    band = scale * (1 + x) * (2.0**-41 + 2.0**-62 / share) + 2.0**-50
    doubt = (np.abs(value) > 2.0**50) | (np.abs(value - np.rint(value)) <= band)
    return np.floor(value), np.asarray(doubt, dtype=np.bool_)


def certified_draw(scale: Fraction, uniform: Uniform) -> int:
    """The same in arbitrary precision, asking for more bits while it has to."""
    return floor_of(uniform, lambda known: _enclose(scale, known))


def _enclose(scale: Fraction, uniform: Uniform) -> Enclosure:
    """Enclose scale x(U) + 1/2; learns more bits first while U may still be 0 or 1."""
    while uniform.prefix in (0, (1 << uniform.size) - 1):
        uniform.extend()
    low, high = quotient(scale, uniform.size)
    down, up = contexts(2 * uniform.size)
    ends = [_quantile(uniform, more, down, up) for more in (0, 1)]
    least = down.mul(ends[0], low if ends[0] > 0 else high)
    most = up.mul(ends[1], high if ends[1] > 0 else low)
    half = gmpy2.mpfr("0.5")
    return down.add(least, half), up.add(most, half)


def _quantile(
    uniform: Uniform, more: int, down: "gmpy2.context", up: "gmpy2.context"
) -> "gmpy2.mpfr":
    """Enclose x at one end of the cell: from below at the left one, from above at the right one."""
    toward, away = (up, down) if more else (down, up)
    centred = exact(2 * (uniform.prefix + more) - (1 << uniform.size))
    angle = toward.div(toward.asin(toward.div(centred, exact(1 << uniform.size))), 3)
    v = toward.mul(toward.sin(angle), 2)
    # A positive v wants its root rounded away, a negative one toward the same side.
    first, second = (toward, away) if v > 0 else (away, toward)
    root = second.sqrt(second.sub(1, first.mul(v, v)))
    return toward.div(toward.mul(v, 2), root)
