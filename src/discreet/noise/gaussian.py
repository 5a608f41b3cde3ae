"""Exact Gaussian noise on integers, discrete or rounded, by rejection from discrete Laplace noise.

**Discrete.** With t = floor(sigma) + 1, a discrete Laplace draw Y of scale t is kept with
probability exp(-z), z = (|Y| - a)^2 / (2 sigma^2), a = sigma^2 / t; what is kept has P(k)
proportional to exp(-k^2 / (2 sigma^2)). How many draws are refused says nothing about the one that
is kept.

**Its error band.** A draw is kept when a uniform V (63 bits) is below p = exp(-z). Write e = 2^-53,
y = |Y|, d = y - a. Rounding y, a and their difference moves d by at most e (y + a + |d|).
* If y >= 2a, then |d| >= y/2 and d is right to 5e relatively, so z to 13e, and p moves by at most
  13e z exp(-z) <= 5e.
* If y < 2a, then |d| <= a <= sigma, d is right to 4e a, and z to 4e (a/sigma)^2 + 3e z <= 6e.
np.exp and math.exp, trusted to 100 ulp, add 200e; V adds 2^-63 for its cell and e for rounding.
Together below 2^-45. A decision is taken in float64 only where |V - p| >= 2^-40.

**Rounded.** A normal draw of deviation sigma is, up to its sign, |Y| + w - 1/2 with an integer Y
and w in [0, 1); the result is Y. With the same t and a, a discrete Laplace draw Y of scale t and a
uniform w are kept with probability exp(-z),

    z = (|Y| + w - 1/2 - a)^2 / (2 sigma^2) + w / t.

The density of what is kept is proportional to exp(-|Y|/t - z), so to exp(-(|Y| + w - 1/2)^2 / (2
sigma^2)): the squares are completed by t, and the terms w/t cancel. Integrating over w gives
P(Y = k) = Phi((k + 1/2)/sigma) - Phi((k - 1/2)/sigma).

**Its error band.** Now d = y - c + w, with c = a + 1/2 and w known to 63 bits. Rounding y, c, w and
both sums moves d by at most e (y + c + 3 |d| + 2). With sigma >= 1, so a <= sigma and t >= 2:
* If y >= 2c, then d >= y/2, d moves by at most e (6d + 2), z by e (15 z + 2 sqrt(2z)), p by 8e.
* If y < 2c, then |d| <= c + 1, d moves by e (6c + 5), z by e (c + 1)(6c + 5)/sigma^2 + 3e z <= 38e.
With 1/8 <= sigma < 1, c <= 3/2, and the last term is at most 35e/sigma^2 <= 2240e < 2^-41.8. w/t
adds 3e; np.exp and math.exp, trusted to 100 ulp, 200e; V 2^-63 and e. Together below 2^-41.5. A
decision is taken in float64 only where |V - p| >= 2^-40.
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
from discreet.noise.bits import FEW, BitSource, Enclosure, Uniform, Words, exp_minus, is_below
from discreet.noise.exponential import IntegerDraws
from discreet.noise.shape import BLOCK, DrawRequest, Size, ask, drawn, read_within, remembered
from discreet.rationals import Real

BAND = 2.0**-40
"""How near to p a float64 comparison is not trusted; see the module's derivation."""

_CELL = 2.0**-63
_LARGEST = Fraction(1 << 112)

Verdicts: TypeAlias = tuple[NDArray[np.bool_], NDArray[np.bool_]]
"""Proposals accepted in float64, and the decisions among them that must be certified."""


# --- discrete -------------------------------------------------------------------------------------


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
    scale = _scale(variance)
    centre, rate = (
        one.numerator / one.denominator for one in (variance / scale, -1 / (2 * variance))
    )
    return GaussianLaw(variance, exponential.law(scale, two_sided=True), centre, rate)


def _scale(variance: Fraction) -> Fraction:
    """The scale t of the Laplace draws that are proposed."""
    return Fraction(math.isqrt(variance.numerator // variance.denominator) + 1)


def read_variance(value: Real) -> Fraction:
    """Read a variance that exact noise can be made for."""
    made_for = "standard deviations from 2^-20 to 2^56"
    return read_within(value, "variance", (Fraction(1, 1 << 40), _LARGEST), made_for)


_LAW = remembered(lambda value: law(read_variance(value)))


def fast(draws: NDArray[np.int64], words: Words, centre: Any, rate: Any) -> Verdicts:
    """Verdicts on proposals of discrete noise."""
    z = np.abs(draws).astype(np.float64)
    z -= centre
    z *= z
    z *= rate
    return _verdicts(words, z)


def _verdicts(words: Words, exponent: NDArray[np.float64]) -> Verdicts:
    """Whether each V is below p, the exponential of these."""
    margin = _unit(words)
    margin -= np.exp(exponent, out=exponent)
    return margin < 0, np.abs(margin) < BAND


def _unit(words: Words) -> NDArray[np.float64]:
    """Words as numbers of [0, 1]."""
    numbers = (words >> np.uint64(1)).view(np.int64).astype(np.float64)
    numbers *= _CELL
    return numbers


def one(law: GaussianLaw, source: BitSource) -> int:
    """A single draw, without arrays."""
    while True:
        draw = exponential.one(law.proposal, source)
        prefix = source.word() >> 1
        if _keeps(law, draw, prefix, source):
            return draw


def _keeps(law: GaussianLaw, draw: int, prefix: int, source: BitSource) -> bool:
    distance = abs(draw) - law.centre
    margin = prefix * _CELL - math.exp(law.rate * distance * distance)
    if abs(margin) >= BAND:
        return margin < 0
    return law.keeps(draw, prefix, source)


def propose(request: DrawRequest[GaussianLaw], source: BitSource) -> "Proposals":
    """Proposals of discrete noise, judged."""
    proposals, words = _proposals(request, source), source.words(request.count)
    centre = request.column(lambda law: law.centre)
    rate = request.column(lambda law: law.rate)

    def keeps(lane: int, draw: int) -> bool:
        return request.law(lane).keeps(draw, int(words[lane]) >> 1, source)

    return _certified(proposals, fast(proposals.values, words, centre, rate), keeps)


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


# --- rounded --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RoundedLaw:
    """A rounded Gaussian law, ready for both paths."""

    variance: Fraction
    proposal: exponential.GeometricLaw
    centre: float  # c
    rate: float  # -1 / (2 sigma^2)
    tilt: float  # -1 / t

    def keeps(self, draw: int, part: int, prefix: int, source: BitSource) -> bool:
        """Whether a proposal is kept, in arbitrary precision, for the 63 bits of w and of V."""
        shift = abs(draw) - self.variance / self.proposal.scale - Fraction(1, 2)
        w = Uniform(part, 63, source)

        def enclose(bits: int) -> Enclosure:
            while w.size < bits:
                w.extend()
            ends = [Fraction(int(end.numerator), int(end.denominator)) for end in w.cell()]
            squares = [(shift + end) ** 2 for end in ends]
            near = Fraction(0) if shift + ends[0] < 0 < shift + ends[1] else min(squares)
            twice, scale = 2 * self.variance, self.proposal.scale
            least = exp_minus(max(squares) / twice + ends[1] / scale, bits)[0]
            return least, exp_minus(near / twice + ends[0] / scale, bits)[1]

        return is_below(Uniform(prefix, 63, source), enclose)


@lru_cache(maxsize=4096)
def rounded_law(variance: Fraction) -> RoundedLaw:
    """Prepare the law of a variance."""
    scale = _scale(variance)
    facts = variance / scale + Fraction(1, 2), -1 / (2 * variance), -1 / scale
    centre, rate, tilt = (one.numerator / one.denominator for one in facts)
    return RoundedLaw(variance, exponential.law(scale, two_sided=True), centre, rate, tilt)


def read_rounded_variance(value: Real) -> Fraction:
    """Read a variance that rounded noise can be made for."""
    made_for = "standard deviations from 1/8 to 2^56"
    return read_within(value, "variance", (Fraction(1, 1 << 6), _LARGEST), made_for)


_ROUNDED_LAW = remembered(lambda value: rounded_law(read_rounded_variance(value)))


def one_rounded(law: RoundedLaw, source: BitSource) -> int:
    """A single draw, without arrays."""
    while True:
        draw = exponential.one(law.proposal, source)
        part, prefix = source.word() >> 1, source.word() >> 1
        w = part * _CELL
        distance = abs(draw) - law.centre + w
        p = math.exp(law.rate * distance * distance + law.tilt * w)
        margin = prefix * _CELL - p
        if margin < 0 if abs(margin) >= BAND else law.keeps(draw, part, prefix, source):
            return draw


def fast_rounded(
    draws: NDArray[np.int64], parts: Words, words: Words, centre: Any, rate: Any, tilt: Any
) -> Verdicts:
    """Verdicts on proposals of rounded noise."""
    w = _unit(parts)
    z = np.abs(draws).astype(np.float64)
    z -= centre
    z += w
    z *= z
    z *= rate
    w *= tilt
    z += w
    return _verdicts(words, z)


def propose_rounded(request: DrawRequest[RoundedLaw], source: BitSource) -> "Proposals":
    """Proposals of rounded noise, judged."""
    proposals = _proposals(request, source)
    parts, words = source.words(request.count), source.words(request.count)
    centre = request.column(lambda law: law.centre)
    rate = request.column(lambda law: law.rate)
    tilt = request.column(lambda law: law.tilt)

    def keeps(lane: int, draw: int) -> bool:
        bits = int(parts[lane]) >> 1, int(words[lane]) >> 1
        return request.law(lane).keeps(draw, *bits, source)

    verdicts = fast_rounded(proposals.values, parts, words, centre, rate, tilt)
    return _certified(proposals, verdicts, keeps)


@overload
def rounded_gaussian(variance: Real, size: None = None) -> int: ...
@overload
def rounded_gaussian(variance: Any, size: Size = None) -> NDArray[Any]: ...
def rounded_gaussian(variance: Any, size: Size = None) -> Any:
    """Draw the integer nearest to a normal draw of this variance, exactly.

    Edge cases: standard deviations from 1/8 to 2^56; NaN, infinity, zero and negative variances
    are refused; `size=0` gives an empty array; an array of variances gives one draw for each.
    Results are int64, or Python ints in the rare case that one does not fit; they never wrap.

    Example:
        >>> isinstance(rounded_gaussian(0.25), int)
        True
        >>> rounded_gaussian(100, size=(2, 3)).shape
        (2, 3)
    """
    return drawn(
        ask(variance, size, _ROUNDED_LAW), one_rounded, partial(many, propose=propose_rounded)
    )


# --- rejection ------------------------------------------------------------------------------------


Kind = TypeVar("Kind", GaussianLaw, RoundedLaw)
Proposals: TypeAlias = tuple[IntegerDraws, NDArray[np.bool_]]
"""One proposal a position, and which of them are kept."""
Propose: TypeAlias = Callable[[DrawRequest[Kind], BitSource], Proposals]


def _proposals(request: DrawRequest[Kind], source: BitSource) -> IntegerDraws:
    laws = tuple(law.proposal for law in request.laws)
    return exponential.many(DrawRequest(laws, request.which, request.shape), source)


def _certified(
    proposals: IntegerDraws, verdicts: Verdicts, keeps: Callable[[int, int], bool]
) -> Proposals:
    """Decide what float64 leaves in doubt in arbitrary precision: `keeps` of position and draw."""
    kept, doubt = verdicts
    doubt[list(proposals.large)] = True
    for lane in map(int, np.flatnonzero(doubt)):
        draw = proposals.large.get(lane, int(proposals.values[lane]))
        kept[lane] = keeps(lane, draw)
    return proposals, kept


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
