"""Directed rounding: closed forms in interval arithmetic over MPFR, correctly rounded outwards.

A formula written with `Interval` gives two numbers with the exact real value between them. Each
operation rounds its lower end down and its upper end up at 113 bits, and MPFR rounds correctly, so
no slack has to be guessed. Numpy vectors cannot be rounded in a chosen direction; code that uses
them adds an error bound derived from `UNIT` and `ELEMENTARY` on the safe side instead.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import total_ordering
from typing import Final, TypeAlias

import gmpy2
from gmpy2 import mpfr, mpz

from discreet.errors import InvariantBroken


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """An interval that holds the truth; as a number it is the upper, the safe end.

    Guarantee:
        lower <= truth <= upper. `method` names the theorem or algorithm of the upper end.
    Edge cases:
        An upper end may be infinity; NaN, a negative lower end and lower > upper cannot be built.
        Two bounds, or a bound and a number, are compared by their upper ends, and `.3f` and other
        formats are those of the upper end.

    Example:
        >>> spent = Bound(0.9, 1.0, "basic")
        >>> float(spent), spent <= 1, spent < 0.95, f"{spent:.2f}"
        (1.0, True, False, '1.00')
    """

    lower: float
    upper: float
    method: str

    def __post_init__(self) -> None:
        # NaN fails every comparison, so this one refuses it as well.
        if not 0 <= self.lower <= self.upper:
            raise InvariantBroken(
                f"a bound [{self.lower}, {self.upper}] by {self.method}",
                why="its ends are not in order, so it cannot be trusted",
                fix="report the parameters that led here",
            )

    def __float__(self) -> float:
        return self.upper

    def __format__(self, spec: str) -> str:
        return format(self.upper, spec) if spec else str(self)

    def __eq__(self, other: object) -> bool:
        theirs = _upper(other)
        return NotImplemented if theirs is None else self.upper == theirs

    def __lt__(self, other: object) -> bool:
        theirs = _upper(other)
        return NotImplemented if theirs is None else self.upper < theirs

    def __hash__(self) -> int:
        return hash(self.upper)

    @property
    def width(self) -> float:
        """How far the upper end can be above the truth."""
        return 0.0 if math.isinf(self.lower) else self.upper - self.lower


def _upper(value: object) -> float | None:
    if isinstance(value, Bound):
        return value.upper
    return float(value) if isinstance(value, (int, float)) else None


UNIT: Final = 2.0**-53
"""Largest relative error of one rounded double operation, away from underflow."""

ELEMENTARY: Final = 8 * UNIT
"""Largest error assumed of numpy's and libm's exp, log, sin, cos, tanh and similar functions:
relative for exp, log and tanh, absolute for sin and cos below 2^20. The best libraries keep half a
unit in the last place; the tests measure this one against MPFR."""

_DOWN: Final = gmpy2.context(precision=113, round=gmpy2.RoundDown)
_UP: Final = gmpy2.context(precision=113, round=gmpy2.RoundUp)

Number: TypeAlias = "int | float | Fraction | Interval"


def down(value: mpfr) -> float:
    """The largest double that is at most `value`."""
    near = float(value)
    return math.nextafter(near, -math.inf) if near > value else near


def up(value: mpfr) -> float:
    """The smallest double that is at least `value`."""
    near = float(value)
    return math.nextafter(near, math.inf) if near < value else near


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """Two MPFR numbers with one real number between them.

    Edge cases: an undefined corner (0 x infinity, infinity - infinity) widens its end to infinity;
    dividing by an interval that holds 0 gives the whole line.

    Example:
        >>> third = Interval.of(1) / 3
        >>> Fraction(third.lower) < Fraction(1, 3) < Fraction(third.upper)
        True
    """

    lo: mpfr
    hi: mpfr

    @staticmethod
    def of(value: Number) -> "Interval":
        """Enclose one exact number; a float stands for exactly the double it is."""
        match value:
            case Interval():
                return value
            case Fraction():
                top, bottom = mpz(value.numerator), mpz(value.denominator)
                return Interval(_DOWN.div(top, bottom), _UP.div(top, bottom))
            case int():
                return Interval(_DOWN.div(mpz(value), mpz(1)), _UP.div(mpz(value), mpz(1)))
        exact = mpfr(value, 53)  # exact whatever the caller's context
        return Interval(exact, exact)

    @staticmethod
    def between(lower: Number, upper: Number) -> "Interval":
        """The smallest interval from `lower` to `upper`."""
        return Interval(Interval.of(lower).lo, Interval.of(upper).hi)

    @property
    def lower(self) -> float:
        """The lower end as a double, rounded down."""
        return down(self.lo)

    @property
    def upper(self) -> float:
        """The upper end as a double, rounded up."""
        return up(self.hi)

    def bound(self, method: str, *, at_most: float = math.inf) -> Bound:
        """Read as a non-negative `Bound`, cut off at `at_most`."""
        return Bound(min(max(0.0, self.lower), at_most), min(max(0.0, self.upper), at_most), method)

    def __add__(self, other: Number) -> "Interval":
        b = Interval.of(other)
        return _span(_DOWN.add(self.lo, b.lo), _UP.add(self.hi, b.hi))

    def __neg__(self) -> "Interval":
        return Interval(_DOWN.minus(self.hi), _UP.minus(self.lo))

    def __sub__(self, other: Number) -> "Interval":
        b = Interval.of(other)
        return _span(_DOWN.sub(self.lo, b.hi), _UP.sub(self.hi, b.lo))

    def __mul__(self, other: Number) -> "Interval":
        b = Interval.of(other)
        if b.lo < 0 and (self.lo >= 0 or self.hi <= 0 < b.hi):
            self, b = b, self  # noqa: PLW0642 - a product has no order
        if b.lo < 0 < b.hi:  # and so is the other: on both sides of 0
            low = min(_DOWN.mul(self.lo, b.hi), _DOWN.mul(self.hi, b.lo))
            return Interval(low, max(_UP.mul(self.lo, b.lo), _UP.mul(self.hi, b.hi)))
        if b.lo < 0:
            self, b = -self, -b  # noqa: PLW0642 - two signs cancel
        low, high = b.lo if self.lo >= 0 else b.hi, b.hi if self.hi >= 0 else b.lo
        return _span(_DOWN.mul(self.lo, low), _UP.mul(self.hi, high))

    def __truediv__(self, other: Number) -> "Interval":
        b = Interval.of(other)
        if b.lo <= 0 <= b.hi:
            return Interval(mpfr("-inf"), mpfr("inf"))
        if b.hi < 0:
            self, b = -self, -b  # noqa: PLW0642 - two signs cancel
        low, high = b.hi if self.lo >= 0 else b.lo, b.lo if self.hi >= 0 else b.hi
        return _span(_DOWN.div(self.lo, low), _UP.div(self.hi, high))

    def __radd__(self, other: Number) -> "Interval":
        return self + other

    def __rsub__(self, other: Number) -> "Interval":
        return Interval.of(other) - self

    def __rmul__(self, other: Number) -> "Interval":
        return self * other

    def __rtruediv__(self, other: Number) -> "Interval":
        return Interval.of(other) / self

    def square(self) -> "Interval":
        """The square, which unlike `x * x` is never negative."""
        if self.lo <= 0 <= self.hi:
            return Interval(mpfr(0), max(_UP.square(self.lo), _UP.square(self.hi)))
        near, far = (self.lo, self.hi) if self.lo > 0 else (self.hi, self.lo)
        return Interval(_DOWN.square(near), _UP.square(far))

    def exp(self) -> "Interval":
        """E to this power."""
        return Interval(_DOWN.exp(self.lo), _UP.exp(self.hi))

    def expm1(self) -> "Interval":
        """E to this power, less 1, without cancellation."""
        return Interval(_DOWN.expm1(self.lo), _UP.expm1(self.hi))

    def log(self) -> "Interval":
        """The natural logarithm; the part at or below 0 maps to -infinity."""
        return Interval(_clipped(_DOWN.log, self.lo, 0), _clipped(_UP.log, self.hi, 0))

    def log1p(self) -> "Interval":
        """The logarithm of 1 plus this, without cancellation."""
        return Interval(_clipped(_DOWN.log1p, self.lo, -1), _clipped(_UP.log1p, self.hi, -1))

    def sqrt(self) -> "Interval":
        """The square root; the part below 0 maps to 0."""
        return Interval(_DOWN.sqrt(max(self.lo, mpfr(0))), _UP.sqrt(max(self.hi, mpfr(0))))

    def tanh(self) -> "Interval":
        """The hyperbolic tangent."""
        return Interval(_DOWN.tanh(self.lo), _UP.tanh(self.hi))

    def sinh(self) -> "Interval":
        """The hyperbolic sine."""
        return Interval(_DOWN.sinh(self.lo), _UP.sinh(self.hi))

    def log_cosh(self) -> "Interval":
        """Log cosh, which does not overflow; the argument must not be negative."""
        return self + ((self * -2).exp() / 2 + Fraction(-1, 2)).log1p()

    def normal_tail(self) -> "Interval":
        """P(N(0, 1) > x), with full relative accuracy in the far tail."""
        root = _SQRT2
        x = self / root
        return Interval(_DOWN.erfc(x.hi), _UP.erfc(x.lo)) / 2

    def join(self, other: "Interval") -> "Interval":
        """The larger of two numbers."""
        return Interval(max(self.lo, other.lo), max(self.hi, other.hi))

    def meet(self, other: "Interval") -> "Interval":
        """The smaller of two numbers."""
        return Interval(min(self.lo, other.lo), min(self.hi, other.hi))


def total(terms: Iterable[Interval]) -> Interval:
    """The sum of many intervals."""
    answer = Interval.of(0)
    for term in terms:
        answer = answer + term
    return answer


def _span(lo: mpfr, hi: mpfr) -> Interval:
    return Interval(mpfr("-inf") if lo != lo else lo, mpfr("inf") if hi != hi else hi)  # noqa: PLR0124 - only NaN differs from itself


def _clipped(function: Callable[[mpfr], mpfr], x: mpfr, pole: int) -> mpfr:
    return function(x) if x > pole else mpfr("-inf")


_SQRT2: Final = Interval(_DOWN.sqrt(mpfr(2)), _UP.sqrt(mpfr(2)))
PI: Final = Interval(_DOWN.const_pi(), _UP.const_pi())
