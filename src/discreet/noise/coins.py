"""Exact coins: Bernoulli(p) for rational p, and Bernoulli(exp(-x)) for rational x >= 0.

Both compare a uniform real with a number p. The first 64 bits of the uniform settle the comparison
with floor(p 2^64) unless they are equal to it (probability 2^-64); then `Uniform` continues.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from discreet.noise.bits import (
    FEW,
    BitSource,
    Enclosure,
    Uniform,
    contexts,
    exact,
    exp_minus,
    floor,
    is_below,
    open_source,
    quotient,
)
from discreet.noise.shape import DrawRequest, Size, ask
from discreet.rationals import Real, non_negative, probability

MANY = 1 << 12
"""So many draws of one coin are settled by a byte each, where others take a word."""


@dataclass(frozen=True, slots=True)
class Coin:
    """A probability p, by enclosures; `threshold` is floor(p 2^64)."""

    enclose: Callable[[int], Enclosure]
    threshold: int

    def settle(self, word: int, source: BitSource) -> bool:
        """Whether the uniform that begins with `word` is below p."""
        if word != self.threshold:
            return word < self.threshold
        return is_below(Uniform(word, 64, source), self.enclose)


@lru_cache(maxsize=4096)
def rational_coin(p: Fraction) -> Coin:
    """The coin of a rational p."""
    return Coin(lambda bits: quotient(p, bits), (p.numerator << 64) // p.denominator)


@lru_cache(maxsize=4096)
def exponential_coin(x: Fraction) -> Coin:
    """The coin of exp(-x)."""

    def enclose(bits: int) -> Enclosure:
        return exp_minus(x, bits)

    bits = 64
    while True:
        down, _ = contexts(bits)
        low, high = (floor(down.mul(end, exact(1 << 64))) for end in enclose(bits))
        if low == high:
            return Coin(enclose, low)
        bits *= 2


@overload
def bernoulli(p: Real, size: None = None) -> bool: ...
@overload
def bernoulli(p: Any, size: Size = None) -> NDArray[np.bool_]: ...
def bernoulli(p: Any, size: Size = None) -> Any:
    """Draw True with probability p, exactly, for a rational p in [0, 1].

    Edge cases: p = 0 is never True and p = 1 always; NaN and p outside [0, 1] are refused.

    Example:
        >>> bernoulli(1), bernoulli(0)
        (True, False)
    """
    return _draw(ask(p, size, lambda value: rational_coin(probability(value, "p"))))


@overload
def bernoulli_exp(x: Real, size: None = None) -> bool: ...
@overload
def bernoulli_exp(x: Any, size: Size = None) -> NDArray[np.bool_]: ...
def bernoulli_exp(x: Any, size: Size = None) -> Any:
    """Draw True with probability exp(-x), exactly, for a rational x >= 0.

    Edge cases: x = 0 is always True; NaN, infinity and negative x are refused.

    Example:
        >>> bernoulli_exp(0)
        True
    """
    return _draw(ask(x, size, lambda value: exponential_coin(non_negative(value, "x"))))


def _draw(request: DrawRequest[Coin]) -> Any:
    source = open_source(request.count)
    if request.shape is None:
        return request.laws[0].settle(source.word(), source)
    if request.count < FEW:
        flips = [request.law(i).settle(source.word(), source) for i in range(request.count)]
        return np.array(flips, dtype=np.bool_).reshape(request.shape)
    return _many(request, source).reshape(request.shape)


def _many(request: DrawRequest[Coin], source: BitSource) -> NDArray[np.bool_]:
    if request.which is None and request.count >= MANY:
        return _alike(request.laws[0], request.count, source)
    words = source.words(request.count)
    limits = np.array([min(coin.threshold, (1 << 64) - 1) for coin in request.laws], np.uint64)
    thresholds = limits[0] if request.which is None else limits[request.which]
    heads = words < thresholds
    for lane in map(int, np.flatnonzero(words == thresholds)):
        heads[lane] = request.law(lane).settle(int(words[lane]), source)
    return heads


def _alike(coin: Coin, count: int, source: BitSource) -> NDArray[np.bool_]:
    """Draw many of one coin: a byte of its uniform settles all draws but one in 256.

    Those whose byte is the first byte of p draw seven more; their word is then a whole one.
    """
    first = coin.threshold >> 56
    octets = source.words(-(-count // 8)).view(np.uint8)[:count]
    heads = octets < first  # p = 1 has the threshold 2^64, and 256 is above all octets
    ties = np.flatnonzero(octets == first) if first < 256 else np.empty(0, np.intp)
    words = (source.words(ties.size) >> np.uint64(8)) | np.uint64((first % 256) << 56)
    heads[ties] = words < np.uint64(min(coin.threshold, (1 << 64) - 1))
    for lane in map(int, np.flatnonzero(words == coin.threshold)):
        heads[ties[lane]] = coin.settle(int(words[lane]), source)
    return heads
