"""Exact discrete Laplace noise, and its one-sided half, geometric noise."""

from typing import Any, overload

from numpy.typing import NDArray

from discreet.noise.exponential import draw
from discreet.noise.shape import Size
from discreet.rationals import Real


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
