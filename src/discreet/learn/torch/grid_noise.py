"""Rounded Gaussian noise for millions of whole numbers, by inversion, on a CPU or a GPU.

**How.** A word of 64 bits is a sign and the first 63 bits of a tail probability p in (0, 1/2). With
Q the upper tail of the normal law, the draw is round(sigma Q^-1(p)), with the sign: exactly the law
of `noise.rounded_gaussian`. Q^-1 is `torch.special.ndtri` in float64.

**The error band.** Let k be the 63 bits, p* in [k, k + 1]/2^64 the true tail, x* = Q^-1(p*), and x
what is computed from k + 1/2. As the normal density is at least 0.79 p on the way from p to 1/2,
* the unknown bits and the rounding of k + 1/2 move x* by at most 2^-62/p + 2^-52;
* ndtri, sigma as a double and the product, trusted to 2^-47 of 1 + x together (the code that torch
  uses states 2^-50), add 2^-47 (1 + x).
So sigma x is within sigma (2^-46 (1 + x) + 2^-62/p) of the truth. Where a half-integer lies that
near, the draw is decided in arbitrary precision with as many more bits as it takes: the law is
exact, for ideal bits. How often that happens depends on the noise alone.

Bits come from `noise.bits`, keyed by the operating system; a GPU makes them itself
(`device_words`) from a key that it is given for every block.
"""

import math
from fractions import Fraction
from importlib.util import find_spec
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from discreet.mechanisms import INTEGERS
from discreet.mechanisms.gaussian import RoundedGaussian
from discreet.noise.bits import (
    BitSource,
    Enclosure,
    Uniform,
    contexts,
    exact,
    is_below,
    open_source,
    quotient,
)

_BLOCK: Final = {"cpu": 1 << 16, "cuda": 1 << 24}
"""Draws at once: as many as a cache holds, or as many as keep a GPU busy."""


class GradientNoise(RoundedGaussian):
    """Whole numbers in a torch tensor plus rounded Gaussian noise, where the tensor is.

    Guarantee:
        As `RoundedGaussian`: mu = sensitivity/sigma exactly, for inputs that are `sensitivity`
        apart in l2; sigma is a whole number.
    """

    __slots__ = ()

    def __init__(self, *, sensitivity: int, sigma: int, dimension: int) -> None:
        RoundedGaussian.__init__(
            self,
            sensitivity=sensitivity,
            variance=sigma * sigma,
            grid=INTEGERS,
            dimension=dimension,
        )

    def release(self, value: Any) -> Tensor:
        """The sums with fresh noise."""
        sums = torch.as_tensor(value)
        self._check(sums.numel())
        return sums + self._draws(sums.numel(), sums.device).view(sums.shape)

    def _noise(self, shape: tuple[int, ...]) -> Any:
        """The same noise for an audit."""
        return self._draws(math.prod(shape), torch.device("cpu")).numpy().reshape(shape)

    def _draws(self, count: int, device: torch.device) -> Tensor:
        sigma, block = math.isqrt(int(self.variance)), _BLOCK.get(device.type, 1 << 22)
        sizes = (min(block, count - at) for at in range(0, count, block))
        return torch.cat([draws_from(random_words(size, device), sigma) for size in sizes])


def random_words(count: int, device: torch.device) -> Tensor:
    """Words of 64 random bits on a device."""
    source = open_source(count)
    if device.type == "cuda" and find_spec("triton"):
        from discreet.learn.torch.device_words import device_words  # noqa: PLC0415 - a GPU's

        return device_words(source.words(4), count, device)
    return torch.from_numpy(source.words(count).view(np.int64).copy()).to(device)


def draws_from(words: Tensor, sigma: int) -> Tensor:
    """One draw of round(N(0, sigma^2)) for each word, as int64."""
    sign = (words & 1) * 2 - 1
    bits = (words >> 1) & ((1 << 63) - 1)
    p = bits.double().add_(0.5).mul_(2.0**-64)
    y = torch.special.ndtri(p).neg_()
    band = (1 + y).mul_(2.0**-46).add_(2.0**-62 / p).mul_(sigma)
    y.mul_(sigma)
    doubt = (y - y.floor()).sub_(0.5).abs_() <= band
    answer = y.round_().to(torch.int64)
    at = doubt.nonzero().flatten()
    if len(at):
        source = open_source(64)
        pairs = zip(bits[at].tolist(), y[at].tolist(), strict=True)
        sure = [_certainly(k, sigma, near, source) for k, near in pairs]
        answer[at] = torch.tensor(sure, device=words.device)
    return answer * sign


def _certainly(bits: int, sigma: int, near: float, source: BitSource) -> int:
    """The draw of 63 bits, in arbitrary precision: the k with Q((k+1/2)/s) < p <= Q((k-1/2)/s)."""
    uniform = Uniform(bits, 63, source)  # p is half of it
    k = max(0, int(near))
    while k > 0 and not _below(uniform, Fraction(2 * k - 1, 2 * sigma)):
        k -= 1
    while _below(uniform, Fraction(2 * k + 1, 2 * sigma)):
        k += 1
    return k


def _below(uniform: Uniform, x: Fraction) -> bool:
    """Whether p is below Q(x), so the draw beyond x: 2 Q(x) is erfc(x / sqrt 2)."""

    def enclose(bits: int) -> Enclosure:
        down, up = contexts(bits)
        low, high = quotient(x, bits)
        least, most = down.sqrt(exact(2)), up.sqrt(exact(2))
        return down.erfc(up.div(high, least)), up.erfc(down.div(low, most))

    return is_below(uniform, enclose)
