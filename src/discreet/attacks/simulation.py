"""Repeatable draws for made-up people and the attacker's own coins.

For simulation only: anybody who knows the seed knows every draw. No release is ever made with it;
private answers take their noise from `discreet.noise`, which has no seed.
"""

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Bits: TypeAlias = NDArray[np.int64]
Reals: TypeAlias = NDArray[np.float64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


class SplitMix64:
    """A counter put through the SplitMix64 finaliser (Steele, Lea, Flood 2014).

    Example:
        >>> SplitMix64(7).uniform(3).round(3).tolist() == SplitMix64(7).uniform(3).round(3).tolist()
        True
    """

    __slots__ = ("_count", "_start")

    def __init__(self, seed: int) -> None:
        self._start = _mixed(np.array([seed % 2**64], dtype=np.uint64))[0]
        self._count = 0

    def words(self, count: int) -> NDArray[np.uint64]:
        """Draw `count` 64-bit words."""
        steps = np.arange(self._count + 1, self._count + count + 1, dtype=np.uint64)
        self._count += count
        steps *= _GOLDEN
        steps += self._start
        return _mixed(steps)

    def uniform(self, *shape: int) -> Reals:
        """Doubles in [0, 1), multiples of 2^-53."""
        words = self.words(math.prod(shape)) >> np.uint64(11)
        return words.astype(np.float64).reshape(shape) * 2.0**-53

    def below(self, limit: int, *shape: int) -> Bits:
        """Whole numbers in [0, limit); the bias is below limit/2^53."""
        return np.floor(self.uniform(*shape) * limit).astype(np.int64)

    def bits(self, *shape: int) -> Bits:
        """Fair coins, 0 or 1: the first bit of each word."""
        first = self.words(math.prod(shape)) >> np.uint64(63)
        return first.view(np.int64).reshape(shape)

    def normal(self, *shape: int) -> Reals:
        """Standard normal draws, by Box and Muller."""
        radius = np.sqrt(-2 * np.log1p(-self.uniform(*shape)))
        return np.asarray(radius * np.cos(2 * math.pi * self.uniform(*shape)))

    def laplace(self, scale: float, *shape: int) -> Reals:
        """Laplace draws by inversion in floating point: the textbook sampler, good for no release.

        The uniform is (k + 1)/2^53, so the logarithm is finite and the support is porous.
        """
        sign = 2 * self.bits(*shape) - 1
        return np.asarray(sign * (-scale * np.log(self.uniform(*shape) + 2.0**-53)))

    def order(self, count: int) -> Bits:
        """A permutation of range(count)."""
        return np.argsort(self.words(count), kind="stable").astype(np.int64)

    def split(self) -> "SplitMix64":
        """Draws of its own for another part of a simulation."""
        return SplitMix64(int(self.words(1)[0]))


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The same words, mixed in place: there may be millions."""
    for shift, factor in ((30, _FIRST), (27, _SECOND)):
        words ^= words >> np.uint64(shift)
        words *= factor
    words ^= words >> np.uint64(31)
    return words
