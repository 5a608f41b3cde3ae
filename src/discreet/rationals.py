"""Read a number as the exact rational that its user typed.

Privacy parameters are rationals. An int, a Fraction or a Decimal is one already; a float is read
as the decimal it prints as, so 0.1 is 1/10 and not 3602879701896397/36028797018963968.
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import SupportsFloat, TypeAlias

import numpy as np

from discreet.errors import InputError

Real: TypeAlias = int | float | Fraction | Decimal
"""A number as users type it."""

_DIGITS = 400


def rational(value: Real | SupportsFloat, name: str) -> Fraction:
    """Read `value` as an exact rational.

    Edge cases: NaN, infinity, booleans, strings and complex numbers are refused.

    Example:
        >>> rational(0.1, "epsilon")
        Fraction(1, 10)
    """
    if type(value) is Fraction:  # most are: what was read once is read again wherever it is used
        return value
    match value:
        case bool() | np.bool_():
            pass
        case Fraction():
            return value
        case int() | np.integer():
            return Fraction(int(value))
        case float() | np.floating():
            # repr of the shortest decimal that reads back as this float; np.float32(0.1) is 0.1.
            text = repr(value) if type(value) is float else str(value)
            if np.isfinite(value):
                return Fraction(text)
            raise _not_finite(name, text)
        case Decimal():
            if value.is_finite():
                return Fraction(value)
            raise _not_finite(name, str(value))
    raise InputError(
        f"{name} is of type {type(value).__name__}",
        why="it has to be a number",
        fix=f"pass {name} as an int, float, Fraction or Decimal",
    )


def read_text(text: str) -> Fraction | None:
    """A decimal or a fraction as it was written; None where it is neither.

    Edge cases: 1e999999999 has a billion digits and is nothing that anybody means.

    Example:
        >>> read_text("1e-6"), read_text("1/3"), read_text("1e999999999")
        (Fraction(1, 1000000), Fraction(1, 3), None)
    """
    _, _, exponent = text.lower().partition("e")
    try:
        small = not exponent or abs(int(exponent)) <= _DIGITS
        return Fraction(text) if small and len(text) <= _DIGITS else None
    except (ValueError, ZeroDivisionError):
        return None


def read_exact(text: str) -> Fraction:
    """A rational as `str` wrote it; ValueError for 1/0, and for 1e999999999, which takes for ever.

    Example:
        >>> read_exact("-1/3"), read_exact("2")
        (Fraction(-1, 3), Fraction(2, 1))
    """
    numerator, _, denominator = text.partition("/")
    try:
        return Fraction(int(numerator), int(denominator or 1))
    except ZeroDivisionError:
        raise ValueError(text) from None


def positive(value: Real | SupportsFloat, name: str) -> Fraction:
    """Read `value` as an exact rational above zero.

    Example:
        >>> positive("1", "epsilon")
        Traceback (most recent call last):
        discreet.errors.InputError: epsilon is of type str: it has to be a number. Fix: ...
    """
    exact = rational(value, name)
    if exact.numerator > 0:
        return exact
    raise InputError(f"{name} is {value}", why="it has to be above 0", fix=f"pass {name} > 0")


def non_negative(value: Real | SupportsFloat, name: str) -> Fraction:
    """Read `value` as an exact rational of at least zero."""
    exact = rational(value, name)
    if exact.numerator >= 0:
        return exact
    raise InputError(f"{name} is {value}", why="it cannot be negative", fix=f"pass {name} >= 0")


def probability(value: Real | SupportsFloat, name: str) -> Fraction:
    """Read `value` as an exact rational from 0 to 1."""
    exact = non_negative(value, name)
    if exact <= 1:
        return exact
    raise InputError(f"{name} is {value}", why="it is a probability", fix=f"pass {name} <= 1")


def proper_share(value: Real | SupportsFloat, name: str) -> Fraction:
    """Read `value` as an exact rational strictly between 0 and 1."""
    exact = positive(value, name)
    if exact < 1:
        return exact
    raise InputError(f"{name} is {value}", why="it is a share below 1", fix=f"pass {name} < 1")


def failure(confidence: Real) -> Fraction:
    """Read a confidence in (0, 1) as the probability 1 - confidence of being wrong."""
    return 1 - proper_share(confidence, "confidence")


def whole(value: object, name: str, *, at_least: int) -> int:
    """Read `value` as an int of at least `at_least`; 3.0 is not an int, nor is True."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_)):
        if value >= at_least:
            return int(value)
        raise InputError(
            f"{name} is {value}", why=f"it has to be at least {at_least}", fix=f"raise {name}"
        )
    raise InputError(
        f"{name} is of type {type(value).__name__}",
        why="it counts something",
        fix=f"pass {name} as an int",
    )


def _not_finite(name: str, text: str) -> InputError:
    return InputError(
        f"{name} is {text}", why="only finite numbers are exact", fix=f"pass a finite {name}"
    )


def first_whole(holds: Callable[[int], bool], guess: float = 1.0) -> int:
    """The smallest whole number >= 0 from which on `holds` is true; it must be true in the end.

    Example:
        >>> first_whole(lambda m: m * m >= 50)
        8
    """
    high, step = max(0, math.ceil(guess)), 1
    while not holds(high):
        high, step = high + step, 2 * step
    low, step = high - 1, 1
    while low >= 0 and holds(low):
        high, low, step = low, low - 2 * step, 2 * step
    first = max(low, -1) + 1
    return first + bisect_left(range(first, high), x=True, key=holds)
