"""Exact uniform integers below n."""

from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from discreet.noise.bits import FEW, BitSource, open_source
from discreet.noise.shape import DrawRequest, Size, ask
from discreet.rationals import whole

_WORDS = 1 << 64


@overload
def below(n: int, size: None = None, *, at_most: int | None = None) -> int: ...
@overload
def below(n: Any, size: Size = None, *, at_most: int | None = None) -> NDArray[Any]: ...
def below(n: Any, size: Size = None, *, at_most: int | None = None) -> Any:
    """Draw an integer from 0 to n - 1, each with probability 1/n, exactly.

    Where n itself must not show, `at_most` is the largest it can be: a few draws then take that
    many words, whatever n is.

    Edge cases: n = 1 gives 0; n < 1 and anything but an int are refused; arrays are int64, or
    Python ints where n exceeds 2^63.

    Example:
        >>> below(1)
        0
    """
    request = ask(n, size, lambda value: whole(value, "n", at_least=1))
    source = open_source(request.count)
    if request.shape is None:
        return _one(request.laws[0], source, at_most or 1)
    large = max(request.laws, default=1) > 1 << 63
    if large or request.count < FEW:
        draws = [_one(request.law(i), source, at_most or 1) for i in range(request.count)]
        return np.array(draws, dtype=object if large else np.int64).reshape(request.shape)
    return _many(request, source).reshape(request.shape)


def _one(n: int, source: BitSource, at_most: int = 1) -> int:
    """Reduce whole words modulo n; what is beyond the last whole multiple of n starts over.

    There are at least 32 bits to spare, so that starting over is rare.
    """
    words = -(-((max(n, at_most) - 1).bit_length() + 32) // 64)
    whole_multiples = (1 << 64 * words) // n * n
    while True:
        draw = 0
        for _ in range(words):
            draw = (draw << 64) | source.word()
        if draw < whole_multiples:
            return draw % n


def _many(request: DrawRequest[int], source: BitSource) -> NDArray[np.int64]:
    """Reduce 64-bit words modulo n; words beyond the last whole multiple of n start over."""
    limits = np.array(request.laws, dtype=np.uint64)
    lasts = np.array([_WORDS - _WORDS % n - 1 for n in request.laws], dtype=np.uint64)
    which = np.zeros(request.count, dtype=np.intp) if request.which is None else request.which
    draws = np.empty(request.count, dtype=np.int64)
    pending = np.arange(request.count)
    while pending.size:
        words = source.words(pending.size)
        laws = which[pending]
        fair = words <= lasts[laws]
        draws[pending[fair]] = (words % limits[laws])[fair].view(np.int64)
        pending = pending[~fair]
    return draws
