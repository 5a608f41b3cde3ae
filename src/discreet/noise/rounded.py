"""Gaussian noise rounded to the nearest integer, exactly, by rejection from discrete Laplace noise.

**How.** A normal draw of deviation sigma is, but for its sign, |Y| + w - 1/2 with an integer Y and
w in [0, 1), and what is wanted is Y. With t = floor(sigma) + 1 and a = sigma^2 / t, a discrete
Laplace draw Y of scale t and a uniform w are kept with probability exp(-z),

    z = (|Y| + w - 1/2 - a)^2 / (2 sigma^2) + w / t.

The density of what is kept is proportional to exp(-|Y|/t - z), so to exp(-(|Y| + w - 1/2)^2 / (2
sigma^2)): the squares are completed by t, and the terms w/t cancel. Integrating over w gives
P(Y = k) = Phi((k + 1/2)/sigma) - Phi((k - 1/2)/sigma).

**The error band.** Y is kept when a uniform V (63 bits) is below p = exp(-z). Write e = 2^-53,
y = |Y|, c = a + 1/2, d = y - c + w; w is known to 63 bits. Rounding y, c, w and both sums moves d
by at most e (y + c + 3 |d| + 2). With sigma >= 1, so a <= sigma and t >= 2:
* If y >= 2c, then d >= y/2, d moves by at most e (6d + 2), z by e (15 z + 2 sqrt(2z)), p by 8e.
* If y < 2c, then |d| <= c + 1, d moves by e (6c + 5), z by e (c + 1)(6c + 5)/sigma^2 + 3e z <= 38e.
With 1/8 <= sigma < 1, c <= 3/2, and the last term is at most 35e/sigma^2 <= 2240e < 2^-41.8. w/t
adds 3e; np.exp and math.exp, trusted to 100 ulp, 200e; V 2^-63 and e. Together below 2^-41.5. A
decision is taken in float64 only where |V - p| >= 2^-40.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from discreet.noise import exponential
from discreet.noise.bits import BitSource, Enclosure, Uniform, Words, exp_minus, is_below
from discreet.noise.exponential import IntegerDraws
from discreet.noise.gaussian import BAND, many
from discreet.noise.shape import DrawRequest, Size, ask, drawn, read_within, remembered
from discreet.rationals import Real

_SMALLEST, _LARGEST = Fraction(1, 1 << 6), Fraction(1 << 112)
_CELL = 2.0**-63


@dataclass(frozen=True, slots=True)
class Law:
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
def law(variance: Fraction) -> Law:
    """Prepare the law of a variance."""
    scale = Fraction(math.isqrt(variance.numerator // variance.denominator) + 1)
    facts = variance / scale + Fraction(1, 2), -1 / (2 * variance), -1 / scale
    centre, rate, tilt = (one.numerator / one.denominator for one in facts)
    return Law(variance, exponential.law(scale, two_sided=True), centre, rate, tilt)


def read_rounded_variance(value: Real) -> Fraction:
    """Read a variance that rounded noise can be made for."""
    made_for = "standard deviations from 1/8 to 2^56"
    return read_within(value, "variance", (_SMALLEST, _LARGEST), made_for)


_LAW = remembered(lambda value: law(read_rounded_variance(value)))


def one(law: Law, source: BitSource) -> int:
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


def fast(
    draws: NDArray[np.int64], parts: Words, words: Words, centre: Any, rate: Any, tilt: Any
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Proposals accepted in float64, and the decisions among them that must be certified."""
    w = _unit(parts)
    z = np.abs(draws).astype(np.float64)
    z -= centre
    z += w
    z *= z
    z *= rate
    w *= tilt
    z += w
    margin = _unit(words) - np.exp(z)
    return margin < 0, np.abs(margin) < BAND


def propose(request: DrawRequest[Law], source: BitSource) -> tuple[IntegerDraws, NDArray[np.bool_]]:
    """One proposal a position, and which of them are kept."""
    laws = tuple(law.proposal for law in request.laws)
    proposals = exponential.many(DrawRequest(laws, request.which, request.shape), source)
    parts, words = source.words(request.count), source.words(request.count)
    centre = request.column(lambda law: law.centre)
    rate = request.column(lambda law: law.rate)
    tilt = request.column(lambda law: law.tilt)
    kept, doubt = fast(proposals.values, parts, words, centre, rate, tilt)
    doubt[list(proposals.large)] = True
    for lane in map(int, np.flatnonzero(doubt)):
        draw = proposals.large.get(lane, int(proposals.values[lane]))
        bits = int(parts[lane]) >> 1, int(words[lane]) >> 1
        kept[lane] = request.law(lane).keeps(draw, *bits, source)
    return proposals, kept


def _unit(words: Words) -> NDArray[np.float64]:
    """Words as numbers of [0, 1]."""
    numbers = (words >> np.uint64(1)).view(np.int64).astype(np.float64)
    numbers *= _CELL
    return numbers


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
    return drawn(ask(variance, size, _LAW), one, partial(many, propose=propose))
