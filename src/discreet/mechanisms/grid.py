"""The public power-of-two grid on which private numbers become integers before noise meets them."""

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.noise.exponential import floor_log2
from discreet.rationals import Real, positive

Steps: TypeAlias = "int | NDArray[Any]"
"""Whole grid steps: a Python int, or an array of int64 or of Python ints."""

_ROOM = 1 << 62
"""Two int64 below this in size have a sum that is one as well."""

_FINEST, _COARSEST = -900, 900
_RESOLUTION = 20


@dataclass(frozen=True, slots=True)
class PowerOfTwoGrid:
    """Multiples of `step`, a power of two; `integers` means that data is integer and not rounded.

    Guarantee:
        Real data is rounded to the nearest grid point (halves up), which moves each coordinate by
        at most half a step. The distance of two vectors, in steps, is then at most `l1_steps` and
        `squared_steps`. Integer data is never rounded.
    Why:
        Coordinates d steps apart are, rounded, at most ceil(d) apart: a whole m needs d > m - 1. So
        m_1 + ... + m_n < s + n in l1, where s is the sensitivity in steps. In l2, over the
        coordinates that move, k_i = m_i - 1 are whole with sum k_i^2 < s^2, so at most
        Q = ceil(s^2) - 1, and sum m_i^2 = sum k_i^2 + 2 sum k_i + n with sum k_i <= sqrt(n Q).
    Edge cases:
        Steps from 2^-900 to 2^900. Python ints of any size work; sums never wrap. Floats are the
        exact doubles they are. NaN, infinities, masked arrays and booleans are refused, and where
        `integers` holds, so is everything whose type is not an integer's, whatever its value.

    Example:
        >>> PowerOfTwoGrid(Fraction(1, 4)).index([0.3, -0.125, 7])
        array([ 1,  0, 28])
        >>> PowerOfTwoGrid(Fraction(1, 4)).l1_steps(Fraction(1), dimension=3)
        6

    Reference: Mironov, On Significance of the Least Significant Bits for Differential Privacy;
    Casacuberta, Shoemate, Vadhan, Wagaman, Widespread Underestimation of Sensitivity.
    """

    step: Fraction
    integers: bool = False

    def __post_init__(self) -> None:
        step = positive(self.step, "grid")
        object.__setattr__(self, "step", step)
        if step.numerator & (step.numerator - 1) or step.denominator & (step.denominator - 1):
            raise InputError(
                f"grid is {step}",
                why="only powers of two are exact in floats",
                fix="pass a power of two such as 1, 1024 or 2**-10",
            )
        if not _FINEST <= self.exponent <= _COARSEST:
            raise InputError(
                "grid is out of range",
                why="floats reach from 2^-1074 to 2^1024 and need room for noise",
                fix="pass a grid from 2^-900 to 2^900",
            )
        if self.integers and step != 1:
            raise InputError(
                f"grid is {step} for integers",
                why="integers stay as they are on the grid 1 alone",
                fix="leave `integers` out and let the values be rounded",
            )

    @property
    def exponent(self) -> int:
        """The logarithm of the step to base 2."""
        return self.step.numerator.bit_length() - self.step.denominator.bit_length()

    @property
    def rounding(self) -> Fraction:
        """How far a value can be moved by being put on the grid."""
        return Fraction(0) if self.integers else self.step / 2

    # --- sensitivity ----------------------------------------------------------------------------

    def l1_steps(self, sensitivity: Fraction, dimension: int = 1) -> int:
        """An l1 distance of at most `sensitivity` between data, in steps after rounding."""
        distance = sensitivity / self.step
        return math.floor(distance) if self.integers else math.ceil(distance) + dimension - 1

    def squared_steps(self, sensitivity: Fraction, dimension: int = 1) -> int:
        """The square of an l2 distance of at most `sensitivity`, in steps after rounding.

        It is that of an integer vector, and so an integer.
        """
        square = (sensitivity / self.step) ** 2
        if self.integers:
            return math.floor(square)
        if dimension == 1:
            return math.ceil(sensitivity / self.step) ** 2
        inner = math.ceil(square) - 1
        return inner + 2 * min(inner, math.isqrt(inner * dimension)) + dimension

    # --- values and steps -----------------------------------------------------------------------

    def index(self, value: Any) -> Steps:
        """Put a number, a list or an array on the grid, in whole steps."""
        data = self._read(value)
        if not isinstance(data, np.ndarray):
            return self._nearest(data)
        if data.dtype.kind == "f":
            return self._floats(data)
        if data.dtype.kind in "iu" and _small(data, self._room()):
            return self._ints(data.astype(np.int64))
        return compact(_each(self._nearest, data))

    def value(self, steps: Steps) -> Any:
        """The number that so many steps are: ints on grids of whole numbers, else floats.

        A float is the nearest there is, and the largest finite one for what lies beyond.
        """
        whole = self.exponent >= 0
        if not isinstance(steps, np.ndarray):
            return steps << self.exponent if whole else _to_float(steps * self.step)
        if steps.dtype == object or (whole and not _small(steps, _ROOM >> min(self.exponent, 62))):
            if self.exponent >= 0:
                return compact(_each(lambda count: int(count) << self.exponent, steps))
            return _each(lambda count: _to_float(int(count) * self.step), steps).astype(np.float64)
        if whole:
            return steps << self.exponent
        return np.ldexp(steps.astype(np.float64), self.exponent)

    def _read(self, value: Any) -> Any:
        """A Python int, an exact number, or an array of ints, floats or exact numbers."""
        data = as_numbers(value)
        if self.integers and not _is_integer(data):
            raise InputError(
                "a value is not of an integer type",
                why="this mechanism was declared for integers, by a whole sensitivity and no grid",
                fix="pass ints, or make it with a grid to round real values to: grid=2**-10",
            )
        return data

    def _nearest(self, number: Any) -> int:
        """The grid point next to one exact number; halves go up."""
        if isinstance(number, int) and self.exponent <= 0:
            return number << -self.exponent
        return math.floor(Fraction(number) / self.step + Fraction(1, 2))

    def _floats(self, data: NDArray[Any]) -> NDArray[Any]:
        with np.errstate(over="ignore", under="ignore"):
            scaled = np.ldexp(data.astype(np.float64), -self.exponent)
        if scaled.size and not np.abs(scaled).max() < _ROOM:
            return compact(_each(lambda number: self._nearest(float(number)), data))
        floor = np.floor(scaled)
        # scaled - floor is exact next to 1/2, which scaled + 1/2 is not.
        return floor.astype(np.int64) + (scaled - floor >= 0.5)

    def _ints(self, data: NDArray[np.int64]) -> NDArray[np.int64]:
        if self.exponent <= 0:
            return data << -self.exponent
        return (data + (1 << self.exponent - 1)) >> self.exponent

    def _room(self) -> int:
        """Below which size int64 can be put on this grid without leaving int64."""
        return (
            _ROOM >> min(-self.exponent, 63) if self.exponent <= 0 else _ROOM * (self.exponent < 62)
        )


INTEGERS: Final = PowerOfTwoGrid(Fraction(1), integers=True)
"""Integers as they are: nothing is rounded, and nothing but integers is accepted."""


def choose_grid(
    grid: "Real | PowerOfTwoGrid | None", sensitivity: Fraction, dimension: int = 1
) -> PowerOfTwoGrid:
    """Read `grid=`, or choose one from public parameters.

    Without a grid a whole sensitivity means integers, and another one a grid of about 2^-20 of the
    sensitivity that one coordinate can have on average.

    Example:
        >>> choose_grid(None, Fraction(3)) is INTEGERS
        True
        >>> choose_grid(None, Fraction(1, 10)).step
        Fraction(1, 16777216)
    """
    if isinstance(grid, PowerOfTwoGrid):
        return grid
    if grid is not None:
        # The shortest decimal of 2.0**-40 is not a power of two; the double is.
        dyadic = isinstance(grid, float) and math.frexp(grid)[0] == 0.5
        return PowerOfTwoGrid(Fraction(grid) if dyadic else positive(grid, "grid"))
    if sensitivity.denominator == 1:
        return INTEGERS
    return grid_below(sensitivity / dimension / (1 << _RESOLUTION))


def grid_below(width: Fraction) -> PowerOfTwoGrid:
    """The coarsest grid whose step is at most `width`.

    Example:
        >>> grid_below(Fraction(1, 3)).step
        Fraction(1, 4)
    """
    return PowerOfTwoGrid(Fraction(2) ** max(_FINEST, min(floor_log2(width), _COARSEST)))


def add(steps: Steps, noise: Steps) -> Steps:
    """The sum, exactly: an array of int64 where all of it fits, else of Python ints."""
    if not isinstance(steps, np.ndarray) and not isinstance(noise, np.ndarray):
        return int(steps) + int(noise)
    left, right = np.asarray(steps), np.asarray(noise)
    if object not in (left.dtype, right.dtype) and _small(left, _ROOM, right):
        return np.asarray(left + right)
    return compact(left.astype(object) + right.astype(object))


def compact(numbers: NDArray[Any]) -> NDArray[Any]:
    """Python ints as int64 where all of them fit."""
    try:
        return numbers.astype(np.int64)
    except OverflowError:
        return numbers


def sqrt_up(square: Fraction, bits: int = 64) -> Fraction:
    """A rational at or above the square root, relatively at most 2^-bits too large.

    Example:
        >>> sqrt_up(Fraction(9, 4)), sqrt_up(Fraction(2)) ** 2 >= 2
        (Fraction(3, 2), True)
    """
    if square == 0:
        return Fraction(0)
    shift = max(0, bits + 1 - floor_log2(square) // 2)
    top = square.numerator * square.denominator << 2 * shift
    root = math.isqrt(top)
    return Fraction(root + (root * root < top), square.denominator << shift)


def as_numbers(value: Any) -> Any:
    """Data as a Python int, an exact number, or an array of int64, float64 or such numbers.

    Edge cases: what is not a finite number is refused by an error that does not quote it.
    """
    array = _as_array(value)
    if array.dtype.kind == "f" and array.dtype.itemsize <= 8:
        if not np.isfinite(array).all():
            raise not_finite()
    elif array.dtype.kind not in "iu":
        # Times and spans of time would come out of their array as ints.
        array = _each(_as_number, np.full(array.shape, None) if array.dtype.kind in "mM" else array)
    if array.ndim:
        return array
    item = array.item()
    return item if isinstance(item, (int, float, Fraction)) else _as_number(item)


def listed(value: Any) -> list[Any] | None:
    """The values of a list, or of an array with one axis; None of any other container.

    Type and shape decide, and no value does: one may be anything, a person put it there.
    """
    if hasattr(value, "__array__") and not isinstance(value, np.ma.MaskedArray):
        array = np.asarray(value)
        return list(array) if array.ndim == 1 else None
    plain = isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray))
    return list(value) if plain else None


def as_finite(value: Any) -> float:
    """A double, or NaN for anything that is not a finite number."""
    is_number = isinstance(value, (numbers.Real, Decimal, np.bool_))
    try:
        number = float(value) if is_number and not isinstance(value, np.timedelta64) else math.nan
    except (ArithmeticError, ValueError):  # too large, or a NaN that signals
        return math.nan
    return number if math.isfinite(number) else math.nan


def flat(numbers: NDArray[Any], why: str) -> NDArray[Any]:
    """Refuse tables and single numbers where a list belongs."""
    if numbers.ndim == 1:
        return numbers
    raise InputError(
        "values are not a flat list", why=why, fix="pass a flat list or array of numbers"
    )


def not_finite() -> InputError:
    """The refusal of a NaN or an infinity; the same words for every data set."""
    return InputError(
        "a value is not finite",
        why="no bound on how far one person moves it can hold for NaN or infinity",
        fix="clamp or drop such rows before aggregating them",
    )


def _as_array(value: Any) -> NDArray[Any]:
    if isinstance(value, np.ma.MaskedArray):
        raise InputError(
            "a masked array",
            why="what is under the mask would be used",
            fix="fill or drop the masked values first",
        )
    if isinstance(value, (Mapping, AbstractSet, bytes, bytearray)):
        raise InputError(
            "a mapping, a set or bytes where numbers belong",
            why="what is listed of them are keys, or numbers in no order that is known",
            fix="pass a list of the numbers themselves",
        )
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "__array__"):
        return np.asarray(value)
    # An object array keeps every int; np.asarray would turn a list with one large int to floats.
    objects = np.empty((), dtype=object)
    if isinstance(value, Iterable):
        objects = np.array(list(value), dtype=object)
    else:
        objects[()] = value
    kinds = set(map(type, objects.ravel()))
    if kinds == {int} or not objects.size:
        return compact(objects)
    return objects.astype(np.float64) if kinds == {float} else objects


def _as_number(item: Any) -> Any:
    match item:
        case bool() | np.bool_():
            pass
        case int() | np.integer():
            return int(item)
        case Fraction():
            return item
        case float() | np.floating() | Decimal():
            if not math.isfinite(item):
                raise not_finite()
            return Fraction(item) if isinstance(item, Decimal) else float(item)
    raise InputError(
        "a value is not a number",
        why="noise is added to ints, floats, Fractions and Decimals only",
        fix="pass a number, or a flat list or array of numbers",
    )


def _is_integer(data: Any) -> bool:
    if not isinstance(data, np.ndarray):
        return isinstance(data, int)
    if data.dtype == object:
        return all(isinstance(item, int) for item in data.ravel())
    return data.dtype.kind in "iu"


def _small(first: NDArray[Any], room: int, *others: NDArray[Any]) -> bool:
    parts = [part for part in (first, *others) if part.size]
    return all(-room < int(part.min()) and int(part.max()) < room for part in parts)


def _each(function: Any, data: NDArray[Any]) -> NDArray[Any]:
    answer = np.empty(data.shape, dtype=object)
    # item() gives Python numbers, which are exact; numpy scalars would wrap.
    answer.ravel()[:] = [function(data.item(i)) for i in range(data.size)]
    return answer


def _to_float(exact: Fraction) -> float:
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.copysign(float(np.finfo(np.float64).max), 1 if exact > 0 else -1)
