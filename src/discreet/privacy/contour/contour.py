"""The contour accountant: numerical composition that is sound, and quick to extend.

The moments of the privacy loss at the complex orders of a vertical line multiply under composition,
and delta(epsilon) is a dot product with them (see `spectrum`). So appending costs one vector
product and asking costs a few dot products, however long the list is. What is appended is only
noted down; it is multiplied in when the next question comes, in bulk if there is much of it.
"""

from fractions import Fraction
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING

from discreet.errors import InputError
from discreet.privacy.contour.side import Side
from discreet.privacy.contour.tally import INTERACTIVE, Precision, Tally, has_law, no_pair
from discreet.privacy.guarantees.guarantee import Guarantee
from discreet.privacy.numerics.moments import Direction
from discreet.privacy.numerics.rounding import Bound, Interval
from discreet.rationals import Real, non_negative, whole

if TYPE_CHECKING:
    from discreet.privacy.guarantees.neighbours import Neighbours
    from discreet.privacy.numerics.shapes import Shape


class Contour:
    """An append-only composition that answers epsilon(delta) and delta(epsilon) at any time.

    Guarantee:
        Bounds hold for the composition of everything appended, with parameters fixed in advance:
        this is not a filter. Asking only fills caches; which line of orders is in use when it is
        asked can move an answer in its last digits, never past the truth.
    Neighbours:
        All guarantees appended must speak of the same neighbours.
    Why:
        See `spectrum` for the sum and its one-sided error; the best real order, the sum of the
        largest losses and, for few discrete losses, plain enumeration are taken where they are
        better.
    Edge cases:
        Before anything is appended epsilon and delta are 0. A guarantee without a law of the loss,
        such as a Renyi curve, is refused and leaves no trace; `compose` takes it.

    Example:
        >>> from discreet.privacy.guarantees.laplace import LaplaceNoise
        >>> spent = Contour()
        >>> spent.append(LaplaceNoise(0.01), 1000)
        >>> round(spent.epsilon(1e-6).upper, 3)
        1.363
    """

    def __init__(self, precision: Precision = INTERACTIVE) -> None:
        self._precision = precision
        # Lines are brought up to date in place, so threads take turns.
        self._lock = Lock()
        self._list: list[tuple[Guarantee, int]] = []
        self._sides = [Side(Tally(Direction.REMOVE), precision)]
        self._neighbours: Neighbours | None = None
        self._epsilons: dict[tuple[int, int], Bound] = {}
        self._deltas: dict[tuple[int, int], Bound] = {}
        self._checked: tuple[Real | None, Real | None] = (None, None)
        self._limits = (0.0, 0.0)

    def append(self, guarantee: Guarantee, count: int = 1) -> None:
        """Compose `count` more copies of a guarantee."""
        if count.__class__ is not int or count < 1:
            count = whole(count, "count", at_least=1)
        form = guarantee.closed_form()
        if form is None and not has_law(guarantee):
            raise no_pair(guarantee)
        with self._lock:
            self._append(guarantee, count, form)

    def _append(self, guarantee: Guarantee, count: int, form: "tuple[Shape, float] | None") -> None:
        if guarantee.neighbours is not self._neighbours:
            self._meet(guarantee)
        if len(guarantee.directions) > len(self._sides):
            self._split()
        self._list.append((guarantee, count))
        for side in self._sides:
            side.append(guarantee, count, form)
        if self._epsilons:
            self._epsilons = {}
        if self._deltas:
            self._deltas = {}

    def epsilon(self, delta: Real = 0) -> Bound:
        """The smallest epsilon with which (epsilon, delta)-differential privacy holds."""
        exact = _exact(delta, "delta")
        key = (exact.numerator, exact.denominator)  # much quicker to hash than a Fraction
        if key[0] >= key[1]:
            raise InputError(f"delta is {delta}", why="it has to be below 1", fix="lower it")
        with self._lock:
            known = self._epsilons.get(key)
            if known is None:
                known = self._sides[0].epsilon(exact)
                if len(self._sides) > 1 and not self._sides[1].ceiling(exact) <= known.lower:
                    known = _worst([known, self._sides[1].epsilon(exact)])
                self._epsilons[key] = known
            return known

    def delta(self, epsilon: Real) -> Bound:
        """The smallest delta with which (epsilon, delta)-differential privacy holds."""
        exact = _exact(epsilon, "epsilon")
        key = (exact.numerator, exact.denominator)
        with self._lock:
            known = self._deltas.get(key)
            if known is None:
                known = self._sides[0].delta(exact)
                if len(self._sides) > 1 and not self._sides[1].most(exact) <= known.lower:
                    known = _worst([known, self._sides[1].delta(exact)])
                self._deltas[key] = known
            return known

    def within(self, epsilon: Real, delta: Real) -> bool:
        """Whether (epsilon, delta) certainly holds: the quick check for one budget, many times."""
        with self._lock:
            # Not by value: the float 0.1 is a tenth, the fraction that equals it is not.
            if epsilon is not self._checked[0] or delta is not self._checked[1]:
                exact, limit = _exact(epsilon, "epsilon"), _exact(delta, "delta")
                self._limits = _limits(exact, limit)
                self._checked = (epsilon, delta)
            low, most = self._limits
            for side in self._sides:
                if not side.within(low, most):
                    break
            else:
                return True
        return self.delta(epsilon).upper <= _exact(delta, "delta")

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self._precision, tuple(self._list))

    def _meet(self, guarantee: Guarantee) -> None:
        if self._neighbours is not None:
            raise InputError(
                f"{guarantee.neighbours.value} joins {self._neighbours.value}",
                why="guarantees about different neighbours do not add up",
                fix="convert one with .under(neighbours)",
            )
        self._neighbours = guarantee.neighbours

    def _split(self) -> None:
        other = Side(Tally(Direction.ADD), self._precision)
        for guarantee, count in self._list:
            other.append(guarantee, count, guarantee.closed_form())
        self._sides.append(other)


def _rebuild(precision: Precision, parts: tuple[tuple[Guarantee, int], ...]) -> Contour:
    """Unpickle from the list alone; everything else is a cache of it."""
    contour = Contour(precision)
    for guarantee, count in parts:
        contour.append(guarantee, count)
    return contour


def _worst(bounds: list[Bound]) -> Bound:
    if len(bounds) == 1:
        return bounds[0]
    top = max(bounds, key=lambda bound: bound.upper)
    return Bound(max(bound.lower for bound in bounds), top.upper, top.method)


@lru_cache(maxsize=64)
def _limits(epsilon: Fraction, delta: Fraction) -> tuple[float, float]:
    return Interval.of(epsilon).lower, Interval.of(delta).lower


def _exact(value: Real, name: str) -> Fraction:
    """Read a number; floats, the usual case, are remembered."""
    return _exact_float(value, name) if value.__class__ is float else non_negative(value, name)


@lru_cache(maxsize=256)
def _exact_float(value: float, name: str) -> Fraction:
    return non_negative(value, name)
