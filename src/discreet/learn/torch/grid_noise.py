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

Bits come from `noise.bits`, AES keyed by the operating system, on every device; for a GPU they
are made by other threads while it computes, and copied.
"""

import math
from concurrent.futures import Future, ThreadPoolExecutor
from fractions import Fraction
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from discreet.mechanisms import INTEGERS
from discreet.mechanisms.rounded_gaussian import RoundedGaussian
from discreet.noise.bits import BitSource, fill, open_source
from discreet.noise.certified import Enclosure, Uniform, contexts, exact, is_below, quotient

_BLOCK: Final = 1 << 16
_PART: Final = 1 << 23
"""Draws at once: as many as a cache holds on a CPU, and as many as keep a GPU busy."""

_MAKERS: Final = 4


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

    @property
    def size(self) -> int:
        """How many numbers there are."""
        assert self.dimension is not None  # noqa: S101 - narrowing: it is given
        return self.dimension

    @property
    def sigma(self) -> int:
        """The standard deviation."""
        return math.isqrt(int(self.variance))

    def release(self, value: Tensor, drawn: Tensor | None = None) -> Tensor:
        """The sums with fresh noise; `drawn` is noise that was made ahead, for one release."""
        self._check(value.numel())
        noise = self.draws(self.size).to(value.device) if drawn is None else drawn
        return value + noise.view(value.shape)

    def _noise(self, shape: tuple[int, ...]) -> Any:
        """The same noise for an audit."""
        return self.draws(math.prod(shape)).numpy().reshape(shape)

    def draws(self, count: int) -> Tensor:
        """Fresh noise for so many numbers, made on the CPU in blocks that a cache holds."""
        words = open_source(count).words(count).view(np.int64)
        drawn = torch.from_numpy(words.copy())
        for part in torch.split(drawn, _BLOCK):
            part.copy_(draws_from(part, self.sigma))
        return drawn


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


class NoiseMaker:
    """Draws of a mechanism's noise for one device.

    For a GPU they are made ahead: noise depends on no data, so other threads make words in memory
    that the GPU reads by itself, and it turns them into draws on a stream of its own while it also
    computes gradients. A step waits for neither.
    """

    def __init__(self, device: torch.device, noise: GradientNoise) -> None:
        self._noise, self._parts = noise, list[Future[None]]()
        if device.type == "cuda":
            self._pool, self._stream = ThreadPoolExecutor(_MAKERS), torch.cuda.Stream(device)  # type: ignore[no-untyped-call] # torch's own
            self._draws = torch.empty(noise.size, dtype=torch.int64, device=device)

    def prepare(self) -> None:
        """Start making the next draws, where other threads help."""
        if not hasattr(self, "_pool") or self._parts:
            return
        self._stream.wait_stream(torch.cuda.current_stream(self._draws.device))  # still in use
        parts = torch.split(self._draws, _PART)
        self._parts = [self._pool.submit(self._fill, part) for part in parts]

    def make(self) -> Tensor:
        """One draw for each number, those made ahead if there are any; good until `prepare`."""
        if not hasattr(self, "_pool"):
            return self._noise.draws(self._noise.size)
        self.prepare()
        for part in self._parts:
            part.result()
        self._parts = []
        torch.cuda.current_stream(self._draws.device).wait_stream(self._stream)
        return self._draws

    def _fill(self, part: Tensor) -> None:
        words = torch.empty(len(part), dtype=torch.int64, pin_memory=True)
        fill(words.numpy().view(np.uint64))
        with torch.cuda.stream(self._stream):
            part.copy_(draws_from(words.to(part.device, non_blocking=True), self._noise.sigma))
