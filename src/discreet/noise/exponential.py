"""Exact geometric and discrete Laplace noise: floors of exponential draws.

One-sided laws have P(k) proportional to exp(-k/s) for k = 0, 1, 2, ...; two-sided laws exp(-|k|/s).

**How.** For U uniform, floor(-s ln U) is geometric. Three variants share this file's kernel:

* small scales (s < 2^21), one-sided: t = -s ln U, the draw is floor(t);
* small scales, two-sided: |K| >= k exactly when U < 2 q^k / (1 + q) with q = exp(-1/s), so
  t = -s (ln U + ln((1 + q) / 2)) and |K| = max(0, floor(t)); the sign is one more bit;
* large scales: s = s' 2^m with s' in [2^20, 2^21). The high part is floor(-s' ln U), the low part m
  uniform bits L that are kept with probability exp(-L/s) > 1 - 2^-20; two-sided draws take a
  sign and refuse -0. Whatever is refused is drawn again from scratch.

**The error band.** U is known by 63 bits u, so it lies in [u, u + 1) 2^-63, and the fast path
computes t = s' (K - ln(u + 1/2)) with K = 63 ln 2 - c, c in [-ln 2, 0] rounded from an MPFR
value. For u >= 2^43, writing e = 2^-53, the computed t differs from the true one by at most

    s' * ( 2^-44                  the cell: |ln(u + x) - ln(u + 1/2)| <= 1 / (2u), x in [0, 1)
         + 2e                     rounding u and u + 1/2, relative, so absolute in the logarithm
         + 100 * 2e * 44          np.log or math.log, trusted to 100 ulp (they claim under 4)
         + 64 e + 64 e )          rounding K and the difference, both below 64
    + 2 e t                       rounding s' and the product; t < 2^21 * 15

With s' < 2^21 that is below 2^21 * (2^-44 + 2^-39.8) + 2^-27 < 2^-18.7. A decision is taken in
float64 only where t is at least 2^-18 away from every integer >= 1 (the floor is clamped at 0,
so the boundary at 0 decides nothing), and u >= 2^43. The rest, about one draw in 10^5, is settled
by `Uniform` with further bits of the same U.

**Range.** On the fast path t < 2^21 * 15, so |draw| < 2^25 * 2^36 fits int64 with room to spare.
The certified path yields Python ints; one that does not fit makes the array one of Python ints.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from discreet.noise.bits import (
    BitSource,
    Enclosure,
    Uniform,
    Words,
    contexts,
    exact,
    exp_minus,
    floor_of,
    is_below,
    quotient,
)
from discreet.noise.shape import (
    Column,
    DrawRequest,
    Size,
    ask,
    drawn,
    part,
    read_within,
    remembered,
)
from discreet.rationals import Real

BAND = 2.0**-18
"""How near to an integer a float64 decision is not trusted; see the module's derivation."""

_SMALLEST, _LARGEST = Fraction(1, 1 << 20), Fraction(1 << 56)
_HIGH_BITS = 20  # large scales keep s' in [2^20, 2^21)
_TRUSTED = 1 << 43  # below it the cell of U is too wide for float64
_ONES = (1 << _HIGH_BITS) - 1
_ROUND = 3.0 * 2.0**51  # t + _ROUND has no room for a fraction, for |t| < 2^51
_SIGNS = (1, -1)
_SMALL = 40.0  # of this scale one draw in 600 is above 256
_FAR = 1 << 40


@dataclass(frozen=True, slots=True)
class GeometricLaw:
    """A one- or two-sided geometric law on the integers, ready for both paths."""

    scale: Fraction
    two_sided: bool
    low_bits: int
    step: Fraction  # s' = scale / 2^low_bits
    step_float: float
    origin: float  # K

    @property
    def folded(self) -> bool:
        """Whether both signs share one zero in a single inversion (small two-sided scales)."""
        return self.two_sided and self.low_bits == 0

    def offset(self, bits: int) -> Enclosure:
        """Enclose c = ln((1 + q) / 2) of a folded law; 0 of the others."""
        if not self.folded:
            return exact(0), exact(0)
        down, up = contexts(bits)
        low, high = exp_minus(1 / self.scale, bits)
        two = exact(2)
        return (down.sub(down.log1p(low), up.log(two)), up.sub(up.log1p(high), down.log(two)))

    def enclose(self, uniform: Uniform) -> Enclosure:
        """Enclose max(0, t) for what is known of U."""
        down, up = contexts(uniform.size)
        log_low, log_high = uniform.minus_log()
        offset_low, offset_high = self.offset(uniform.size)
        step_low, step_high = quotient(self.step, uniform.size)
        low = max(exact(0), down.sub(log_low, offset_high))
        high = max(exact(0), up.sub(log_high, offset_low))
        return down.mul(step_low, low), up.mul(step_high, high)


@lru_cache(maxsize=4096)
def law(scale: Fraction, *, two_sided: bool) -> GeometricLaw:
    """Prepare the law of a scale in [2^-20, 2^57)."""
    low_bits = max(0, floor_log2(scale) - _HIGH_BITS)
    step = scale / (1 << low_bits)
    bare = GeometricLaw(scale, two_sided, low_bits, step, step.numerator / step.denominator, 0.0)
    down, _ = contexts(256)
    origin = down.sub(down.mul(exact(63), down.log(exact(2))), bare.offset(256)[0])
    return GeometricLaw(scale, two_sided, low_bits, step, bare.step_float, float(origin))


def read_scale(value: Real) -> Fraction:
    """Read a scale, or the standard deviation of a Gaussian, that exact noise can be made for."""
    return read_within(value, "scale", (_SMALLEST, _LARGEST), "scales from 2^-20 to 2^56")


def words_each(scale: Fraction) -> int:
    """How many random words one draw takes, except one draw in 2^20 that starts over."""
    return 2 if scale >= 2 << _HIGH_BITS else 1


def floor_log2(value: Fraction) -> int:
    """The largest k with 2^k <= value, for values above 0."""
    guess = value.numerator.bit_length() - value.denominator.bit_length()
    return guess if value >= Fraction(2) ** guess else guess - 1


_ONE_SIDED = remembered(lambda value: law(read_scale(value), two_sided=False))
_TWO_SIDED = remembered(lambda value: law(read_scale(value), two_sided=True))


def precise(law: GeometricLaw, prefix: int, source: BitSource) -> int:
    """The high part for the 63 bits `prefix` of U, in arbitrary precision."""
    return floor_of(Uniform(prefix, 63, source), law.enclose)


def keep(law: GeometricLaw, low: int, source: BitSource) -> bool:
    """Whether low bits are kept, given that the first 20 bits of their uniform are all ones."""
    return is_below(
        Uniform(_ONES, _HIGH_BITS, source), lambda bits: exp_minus(low / law.scale, bits)
    )


def fast(
    words: Words, steps: Column, origins: Column
) -> "tuple[NDArray[np.float64], NDArray[np.bool_]]":
    """The high parts in float64, and which of them must not be trusted."""
    prefixes = (words >> np.uint64(1)).view(np.int64)
    t = prefixes.astype(np.float64)
    t += 0.5
    np.log(t, out=t)
    np.subtract(origins, t, out=t)
    t *= steps
    nearest = np.rint(t)
    doubt = np.abs(t - nearest) < BAND
    doubt &= nearest >= 1
    doubt |= prefixes < _TRUSTED
    np.floor(t, out=t)
    return np.maximum(t, 0.0, out=t), doubt


def one(law: GeometricLaw, source: BitSource) -> int:
    """A single draw, without arrays."""
    while True:
        word = source.word()
        high = _high(law, word >> 1, source)
        if law.low_bits == 0:
            # Signed before it is an int, so that the same steps make every draw. Python keeps ints
            # up to 256 ready and is quicker with them: with all draws, or with none.
            signed = high * _SIGNS[word & law.two_sided]
            return int(signed) if law.step_float < _SMALL else int(signed + _FAR) - _FAR
        draw = _join(law, int(high), word & 1, source.word(), source)
        if draw is not None:
            return draw


def _high(law: GeometricLaw, prefix: int, source: BitSource) -> float:
    """The high part: a whole float, or an int where float64 is not trusted.

    The same steps for small and large t, because time must not distinguish them: rounding is done
    by a large number, and both conditions are evaluated in every case.
    """
    if prefix >= _TRUSTED:
        t = law.step_float * (law.origin - math.log(prefix + 0.5))
        nearest = (t + _ROUND) - _ROUND
        if not (nearest >= 1.0) & (abs(t - nearest) < BAND):
            return max(0.0, nearest - (nearest > t))
    return precise(law, prefix, source)


def _join(law: GeometricLaw, high: int, sign: int, word: int, source: BitSource) -> int | None:
    """Put low bits and sign to a high part; None if the draw is refused."""
    low = word >> (64 - law.low_bits)
    if word & _ONES == _ONES and not keep(law, low, source):
        return None
    draw = (high << law.low_bits) | low
    negative = sign & law.two_sided
    return None if negative & (draw == 0) else draw * _SIGNS[negative]


@dataclass(frozen=True, slots=True)
class IntegerDraws:
    """Drawn integers: int64, except the few (by position) that do not fit."""

    values: NDArray[np.int64]
    large: dict[int, int]

    def array(self) -> NDArray[Any]:
        """One array: int64 where all fit, Python ints otherwise."""
        if not self.large:
            return self.values
        objects = self.values.astype(object)
        for position, value in self.large.items():
            objects[position] = value
        return objects


def many(request: DrawRequest[GeometricLaw], source: BitSource) -> IntegerDraws:
    """All draws of a request, block by block."""
    values = np.empty(request.count, dtype=np.int64)
    large: dict[int, int] = {}
    steps = request.column(lambda law: law.step_float)
    origins = request.column(lambda law: law.origin)
    lows = request.column(lambda law: law.low_bits)
    two_sided = request.laws[0].two_sided if request.laws else False
    for block in request.blocks():
        words = source.words(block.stop - block.start)
        high, doubt = fast(words, part(steps, block), part(origins, block))
        block_values = high.astype(np.int64)
        low_bits = part(lows, block)
        seconds: Words | None = None
        if np.any(low_bits):
            seconds = source.words(block.stop - block.start)
            _add_low_bits(block_values, seconds, low_bits)
            doubt |= _needs_care(block_values, seconds, low_bits, two_sided=two_sided)
        if two_sided:
            _apply_signs(block_values, words)
        values[block] = block_values
        for lane in np.flatnonzero(doubt):
            draw = _careful(request.law(block.start + lane), words, seconds, lane, source)
            _store(values, large, block.start + int(lane), draw)
    return IntegerDraws(values, large)


def _add_low_bits(values: NDArray[np.int64], seconds: Words, low_bits: Column) -> None:
    bits = np.asarray(low_bits, dtype=np.uint64)
    # A shift by 64 is not a shift in C: lanes without low bits shift by 63 and are masked out.
    lows = (seconds >> np.minimum(np.uint64(64) - bits, np.uint64(63))).view(np.int64)
    np.left_shift(values, bits.view(np.int64), out=values)
    np.bitwise_or(values, np.where(bits > 0, lows, 0) if bits.ndim else lows, out=values)


def _needs_care(
    values: NDArray[np.int64], seconds: Words, low_bits: Column, *, two_sided: bool
) -> NDArray[np.bool_]:
    """Large-scale lanes that may be rejected."""
    ones = np.uint64(_ONES)
    care: NDArray[np.bool_] = (seconds & ones) == ones
    if two_sided:
        care |= values == 0
    care &= np.asarray(low_bits) > 0
    return care


def _apply_signs(values: NDArray[np.int64], words: Words) -> None:
    signs = -(words & np.uint64(1)).view(np.int64)  # 0 or -1
    values ^= signs
    values -= signs


def _careful(
    law: GeometricLaw, words: Words, seconds: Words | None, lane: np.intp, source: BitSource
) -> int:
    """Settle one lane in arbitrary precision, from the same words."""
    word = int(words[lane])
    high = precise(law, word >> 1, source)
    if law.low_bits == 0:
        return -high if law.two_sided and word & 1 else high
    assert seconds is not None  # noqa: S101 - narrowing: lanes with low bits drew a second word
    draw = _join(law, high, word & 1, int(seconds[lane]), source)
    return one(law, source) if draw is None else draw


def _store(values: NDArray[np.int64], large: dict[int, int], position: int, draw: int) -> None:
    if -(1 << 63) <= draw < 1 << 63:
        values[position] = draw
    else:
        values[position] = 0
        large[position] = draw


def draw(scale: Any, size: Size, *, two_sided: bool) -> Any:
    """Draw from the law of `scale`, in the shape asked for."""
    return drawn(ask(scale, size, _TWO_SIDED if two_sided else _ONE_SIDED), one, _array)


def draw_afresh(scale: Fraction, size: Size) -> Any:
    """Draw two-sided noise of a scale that is private.

    Its law is prepared anew and not kept: else the next draw with the same scale would be quicker.
    """
    fresh = ask(scale, size, lambda value: law.__wrapped__(value, two_sided=True))
    return drawn(fresh, one, _array)


def _array(request: DrawRequest[GeometricLaw], source: BitSource) -> NDArray[Any]:
    return many(request, source).array()


@overload
def discrete_laplace(scale: Real, size: None = None) -> int: ...
@overload
def discrete_laplace(scale: Any, size: Size = None) -> NDArray[Any]: ...
def discrete_laplace(scale: Any, size: Size = None) -> Any:
    """Draw an integer k with probability proportional to exp(-|k|/scale), exactly.

    Edge cases: scales from 2^-20 to 2^56; NaN, infinity, zero and negative scales are refused;
    `size=0` gives an empty array; an array of scales gives one draw for each. Results are int64,
    or Python ints in the rare case (under 2^-180 a draw) that one does not fit; they never wrap.

    Example:
        >>> isinstance(discrete_laplace(0.5), int)
        True
        >>> discrete_laplace(2**40, size=1000).dtype
        dtype('int64')

    Reference: Ghosh, Roughgarden, Sundararajan 2009 (as the two-sided geometric).
    """
    return draw(scale, size, two_sided=True)


@overload
def geometric(scale: Real, size: None = None) -> int: ...
@overload
def geometric(scale: Any, size: Size = None) -> NDArray[Any]: ...
def geometric(scale: Any, size: Size = None) -> Any:
    """Draw k = 0, 1, 2, ... with probability (1 - q) q^k, q = exp(-1/scale), exactly.

    Edge cases: scales from 2^-20 to 2^56; NaN, infinity, zero and negative scales are refused;
    `size=0` gives an empty array; an array of scales gives one draw for each.

    Example:
        >>> geometric(10) >= 0
        True
        >>> geometric([1, 10, 0.5]).shape
        (3,)

    Reference: Canonne, Kamath, Steinke 2020, "The Discrete Gaussian for Differential Privacy".
    """
    return draw(scale, size, two_sided=False)
