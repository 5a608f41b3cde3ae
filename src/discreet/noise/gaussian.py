"""Exact discrete Gaussian noise, by rejection from discrete Laplace noise.

**How.** With t = floor(sigma) + 1, a discrete Laplace draw Y of scale t is kept with probability
exp(-z), z = (|Y| - a)^2 / (2 sigma^2), a = sigma^2 / t; what is kept has P(k) proportional to
exp(-k^2 / (2 sigma^2)). How many draws are refused says nothing about the one that is kept.

**The error band.** A draw is kept when a uniform V (63 bits) is below p = exp(-z). Write e = 2^-53,
y = |Y|, d = y - a. Rounding y, a and their difference moves d by at most e (y + a + |d|).
* If y >= 2a, then |d| >= y/2 and d is right to 5e relatively, so z to 13e, and p moves by at most
  13e z exp(-z) <= 5e.
* If y < 2a, then |d| <= a <= sigma, d is right to 4e a, and z to 4e (a/sigma)^2 + 3e z <= 6e.
np.exp and math.exp, trusted to 100 ulp, add 200e; V adds 2^-63 for its cell and e for rounding.
Together below 2^-45. A decision is taken in float64 only where |V - p| >= 2^-40.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from discreet.noise import exponential
from discreet.noise.bits import FEW, BitSource, Uniform, Words, exp_minus, is_below
from discreet.noise.exponential import IntegerDraws
from discreet.noise.shape import BLOCK, DrawRequest, Size, ask, drawn, read_within, remembered
from discreet.rationals import Real

BAND = 2.0**-40
"""How near to p a float64 comparison is not trusted; see the module's derivation."""

_SMALLEST, _LARGEST = Fraction(1, 1 << 40), Fraction(1 << 112)


@dataclass(frozen=True, slots=True)
class GaussianLaw:
    """A discrete Gaussian law, ready for both paths."""

    variance: Fraction
    proposal: exponential.GeometricLaw
    centre: float  # a
    rate: float  # -1 / (2 sigma^2)

    def keeps(self, draw: int, prefix: int, source: BitSource) -> bool:
        """Whether a proposal is kept, in arbitrary precision, for the 63 bits of V."""
        distance = abs(draw) - self.variance / self.proposal.scale
        x = distance * distance / (2 * self.variance)
        return is_below(Uniform(prefix, 63, source), lambda bits: exp_minus(x, bits))


@lru_cache(maxsize=4096)
def law(variance: Fraction) -> GaussianLaw:
    """Prepare the law of a variance."""
    scale = Fraction(math.isqrt(variance.numerator // variance.denominator) + 1)
    centre = variance / scale
    rate = -1 / (2 * variance)
    return GaussianLaw(
        variance,
        exponential.law(scale, two_sided=True),
        centre.numerator / centre.denominator,
        rate.numerator / rate.denominator,
    )


def read_variance(value: Real) -> Fraction:
    """Read a variance that exact noise can be made for."""
    made_for = "standard deviations from 2^-20 to 2^56"
    return read_within(value, "variance", (_SMALLEST, _LARGEST), made_for)


_LAW = remembered(lambda value: law(read_variance(value)))


def fast(
    draws: NDArray[np.int64], words: Words, centre: Any, rate: Any
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Proposals accepted in float64, and the decisions among them that must be certified."""
    z = np.abs(draws).astype(np.float64)
    z -= centre
    z *= z
    z *= rate
    np.exp(z, out=z)
    v = (words >> np.uint64(1)).view(np.int64).astype(np.float64)
    v *= 2.0**-63
    v -= z
    return v < 0, np.abs(v) < BAND


def one(law: GaussianLaw, source: BitSource) -> int:
    """A single draw, without arrays."""
    while True:
        draw = exponential.one(law.proposal, source)
        prefix = source.word() >> 1
        if _keeps(law, draw, prefix, source):
            return draw


def _keeps(law: GaussianLaw, draw: int, prefix: int, source: BitSource) -> bool:
    distance = abs(draw) - law.centre
    margin = prefix * 2.0**-63 - math.exp(law.rate * distance * distance)
    if abs(margin) >= BAND:
        return margin < 0
    return law.keeps(draw, prefix, source)


def propose(
    request: DrawRequest[GaussianLaw], source: BitSource
) -> tuple[IntegerDraws, NDArray[np.bool_]]:
    """One proposal a position, and which of them are kept."""
    laws = tuple(law.proposal for law in request.laws)
    proposals = exponential.many(DrawRequest(laws, request.which, request.shape), source)
    words = source.words(request.count)
    centre = request.column(lambda law: law.centre)
    rate = request.column(lambda law: law.rate)
    kept, doubt = fast(proposals.values, words, centre, rate)
    doubt[list(proposals.large)] = True
    for lane in map(int, np.flatnonzero(doubt)):
        draw = proposals.large.get(lane, int(proposals.values[lane]))
        kept[lane] = request.law(lane).keeps(draw, int(words[lane]) >> 1, source)
    return proposals, kept


Kind = TypeVar("Kind")
Propose: TypeAlias = Callable[
    [DrawRequest[Kind], BitSource], tuple[IntegerDraws, NDArray[np.bool_]]
]
"""One proposal a position, and which of them are kept."""


def many(request: DrawRequest[Kind], source: BitSource, propose: Propose[Kind]) -> NDArray[Any]:
    """All draws of a request, by rejection."""
    if request.which is None:
        return _stream(request.laws, request.count, source, propose)
    return _by_position(request, request.which, source, propose)


def _stream(
    laws: tuple[Kind, ...], count: int, source: BitSource, propose: Propose[Kind]
) -> NDArray[Any]:
    """Draws of one law: whatever is kept, in order, until there are enough."""
    parts: list[NDArray[Any]] = []
    missing = count
    while missing > 0:
        tries = min(BLOCK, missing + missing // 2 + FEW)
        proposals, kept = propose(DrawRequest(laws, None, (tries,)), source)
        parts.append(proposals.array()[kept][:missing])
        missing -= parts[-1].size
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def _by_position(
    request: DrawRequest[Kind], which: NDArray[np.intp], source: BitSource, propose: Propose[Kind]
) -> NDArray[Any]:
    """Draws of many laws: every open position proposes until it keeps."""
    draws: NDArray[Any] = np.empty(request.count, dtype=np.int64)
    pending = np.arange(request.count)
    while pending.size:
        share = DrawRequest(request.laws, which[pending], pending.shape)
        proposals, kept = propose(share, source)
        array = proposals.array()
        if array.dtype == object:
            draws = draws.astype(object)
        draws[pending[kept]] = array[kept]
        pending = pending[~kept]
    return draws


@overload
def discrete_gaussian(variance: Real, size: None = None) -> int: ...
@overload
def discrete_gaussian(variance: Any, size: Size = None) -> NDArray[Any]: ...
def discrete_gaussian(variance: Any, size: Size = None) -> Any:
    """Draw an integer k with probability proportional to exp(-k^2 / (2 variance)), exactly.

    Edge cases: standard deviations from 2^-20 to 2^56; NaN, infinity, zero and negative variances
    are refused; `size=0` gives an empty array; an array of variances gives one draw for each.
    Results are int64, or Python ints in the rare case that one does not fit; they never wrap.

    Example:
        >>> isinstance(discrete_gaussian(0.25), int)
        True
        >>> discrete_gaussian(100, size=(2, 3)).shape
        (2, 3)

    Reference: Canonne, Kamath, Steinke 2020, algorithm 3.
    """
    return drawn(ask(variance, size, _LAW), one, partial(many, propose=propose))
