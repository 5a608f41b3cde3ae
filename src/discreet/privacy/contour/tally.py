"""Running totals of an append-only list of guarantees, each O(1) to update."""

import math
from dataclasses import dataclass
from functools import lru_cache, reduce

import numpy as np

from discreet.errors import InputError
from discreet.privacy.contour.spectrum import Rest
from discreet.privacy.guarantees.guarantee import Guarantee
from discreet.privacy.numerics.moments import Direction, FloatArray, Moments, OrderLine, unit
from discreet.privacy.numerics.rounding import ELEMENTARY, UNIT, Interval
from discreet.privacy.numerics.shapes import GAUSSIAN, Shape, many, single


@dataclass(frozen=True, slots=True)
class Precision:
    """How much work a line may be: speed knobs that cannot touch soundness.

    `most` frequencies at most; the phantom Gaussian is made as small as costs about `excess` in
    epsilon; `listed` joint outcomes at most are enumerated exactly; the search for epsilon stops
    `near` to log delta, on the safe side.
    """

    most: int = 1024
    excess: float = 1e-6
    listed: int = 2**11
    near: float = 1e-9


INTERACTIVE = Precision()
THOROUGH = Precision(most=2**14, excess=8e-6, listed=2**14, near=1e-11)


ORDERS: FloatArray = 1.5 ** np.arange(-9.0, 46.0)
"""The real orders at which the scale is kept: 0.026 to 8e7."""

TWICE: FloatArray = 2 * ORDERS + 1

PEAKS: FloatArray = -(ORDERS * np.log1p(1 / ORDERS) + np.log(ORDERS + 1))
"""log of lam^lam/(lam + 1)^(lam + 1), see `chernoff`."""


_LIST: list[float] = ORDERS.tolist()
_PER_UNIT: list[float] = ((ORDERS + 1) * (4 * UNIT)).tolist()
_FIXED: list[float] = ((8 + 2 * np.log(2 * ORDERS + 1)) * ELEMENTARY).tolist()
"""The error of a log moment: `shapes.log_error` at all ORDERS."""


_FEW = 4
"""Members up to which one after another is quicker than a table."""


class Members:
    """All members of one shape: how often each parameter was appended."""

    def __init__(self) -> None:
        self.counts: dict[float, int] = {}
        self._fresh: list[tuple[float, int]] = []

    def append(self, e: float, count: int) -> None:
        """Take in `count` members with parameter e."""
        self.counts[e] = self.counts.get(e, 0) + count
        self._fresh.append((e, count))

    def fresh(self) -> list[tuple[float, int]]:
        """The members appended since this was last asked."""
        fresh, self._fresh = self._fresh, []
        return fresh

    def moments(self, shape: Shape, line: OrderLine) -> Moments:
        """The moments of all members, equal ones taken together."""
        if len(self.counts) > _FEW and max(self.counts.values()) < 2**62:
            es = np.fromiter(self.counts, np.float64, len(self.counts))
            counts = np.fromiter(self.counts.values(), np.int64, len(self.counts))
            return many(shape, es, counts, line)
        first, *others = (single(shape, e, line).power(n) for e, n in self.counts.items())
        return reduce(Moments.times, others, first)


class Tally:
    """One direction of an append-only composition, in running sums.

    Guarantee:
        `infinity` encloses the probability of an infinite loss, `largest` is at least the largest
        finite loss, and `scale(j)` at least log E[e^(ORDERS[j] Z); Z < infinity].
    """

    def __init__(self, direction: Direction) -> None:
        self.direction = direction
        self.infinity = (0.0, 0.0)
        self.log_finite = 0.0
        self.largest = 0.0
        self.length = 0
        self._square = 0.0
        self._members: dict[Shape, Members] = {}
        self._others: dict[Guarantee, int] = {}
        self._scaled: dict[int, float] = {}  # log moments of `_others`: their keys are slow to hash
        self._sums: FloatArray = np.zeros(len(ORDERS))
        self._done = 0
        self._counted = 0
        self._summed = 0.0

    def append(self, guarantee: Guarantee, count: int, form: tuple[Shape, float] | None) -> None:
        """Take in `count` copies of a guarantee with this closed form, or none."""
        if form is None:
            self._others[guarantee] = self._others.get(guarantee, 0) + count
            self._scaled = {}
            self.largest = (self.largest + count * _largest(guarantee)) * (1 + 4 * UNIT)
        else:
            self._take_form(form[0], form[1], count)
        lost = guarantee.infinity(self.direction)
        if lost.hi > 0:
            self._lose(lost, count, form is not None)
        self.length += 1

    @property
    def rest(self) -> Rest:
        """Facts in addition to the moments on a line; each sum is rounded once a step."""
        error = (2 * self.length + 8) * UNIT
        return Rest(self._square, error, self.log_finite, error, self.length)

    def scale(self, j: int) -> float:
        """An upper bound on the log of the moment at ORDERS[j]."""
        middle = float(self._closed()[j])
        room = self._summed * _PER_UNIT[j] + self._counted * _FIXED[j]
        if self._others:
            if j not in self._scaled:
                parts = (n * _scale(one, self.direction, j) for one, n in self._others.items())
                self._scaled[j] = sum(parts)
            middle += self._scaled[j]
        size = abs(middle) - 2 * self.log_finite
        return middle + room * (1 + 64 * UNIT) + size * (self.length + 600) * (2 * UNIT)

    def scales(self) -> FloatArray | None:
        """The scales at all ORDERS for choosing among them; None where only `scale` can tell."""
        return None if self._others else self._closed()

    def moments(self, line: OrderLine) -> Moments:
        """The moments of everything so far but the Gaussian parts, in bulk."""
        answer = unit(line)
        for shape, group in self._members.items():
            if shape is not GAUSSIAN:
                answer = answer.times(group.moments(shape, line))
        for one, count in self._others.items():
            factor = one.moments(line, self.direction)
            if factor is None:
                raise no_pair(one)
            answer = answer.times(factor.power(count))
        return answer

    def heavy(self) -> dict[Guarantee, int]:
        """The guarantees whose tail is worth a cap, and how often each was appended."""
        return {one: n for one, n in self._others.items() if _is_heavy(one)}

    def capped(self, cap: float, direction: Direction) -> "Tally":
        """The same list with the heavy tails folded in, seen from either direction."""
        twin = Tally(direction)
        twin.infinity, twin.log_finite, twin.largest = self.infinity, self.log_finite, self.largest
        twin.length, twin._done = self.length, self.length
        twin._square, twin._counted, twin._summed = self._square, self._counted, self._summed
        self._closed()
        twin._sums, twin._members = self._sums, self._members
        for one, count in self._others.items():
            folded = one.capped(cap) if cap < math.inf else None
            twin._others[folded or one] = count
            lost = Interval.of(0) if folded is None else folded.infinity(direction)
            if lost.hi > 0:
                twin._lose(lost, count, False)  # noqa: FBT003
        return twin

    def moved(self, cap: float) -> float:
        """Lower bound on the mass that folding moves: that which becomes infinite, or any."""
        if self.direction is Direction.ADD or math.isinf(cap):
            return float(sum(self.heavy().values()))
        caps = ((one.capped(cap), n) for one, n in self.heavy().items())
        return sum(n * one.infinity().upper for one, n in caps if one is not None) * (1 + 1e-12)

    def _take_form(self, shape: Shape, e: float, count: int) -> None:
        group = self._members.get(shape)
        if group is None:
            group = self._members[shape] = Members()
        group.append(e, count)
        self._counted += count
        self._summed += count * e * (1 + 8 * UNIT)
        if shape is GAUSSIAN:
            self._grow(count * e * e)
            self.largest = math.inf if e else self.largest
        else:
            self.largest = (self.largest + count * e * (1 + 2 * UNIT)) * (1 + 2 * UNIT)

    def _grow(self, square: float) -> None:
        # Always a new number: by it a prepared check tells that it is stale.
        least = math.nextafter(self._square, math.inf)
        self._square = max(self._square + square, least) if square else self._square

    def _lose(self, lost: Interval, count: int, conditional: bool) -> None:  # noqa: FBT001
        """Charge an infinite loss; closed forms speak of the finite part alone."""
        if lost.hi >= 1:
            self.infinity = (1.0 if lost.lo >= 1 else 0.0, 1.0)
            return
        kept = (Interval.of(1) - lost).log() * count
        so_far = (1 - Interval.between(*self.infinity)) * kept.exp()
        self.infinity = (max(0.0, (1 - so_far).lower), min(1.0, (1 - so_far).upper))
        if conditional:
            self.log_finite += kept.upper

    def _closed(self) -> FloatArray:
        """The log moments of the closed forms at all ORDERS, up to rounding."""
        if self._done != self.length:
            for shape, group in self._members.items():
                fresh = group.fresh()
                if fresh:
                    self._sums = self._sums + _scales(shape, fresh)
            self._done = self.length
        return self._sums + self.log_finite if self.log_finite else self._sums


def log_moment_above(shape: Shape, e: float, count: int, j: int) -> float:
    """An upper bound on the log moment at ORDERS[j] of `count` members of one shape."""
    order = _LIST[j]
    each: float = shape.log_scale(e, order, 2 * order + 1, math) * (1 + 16 * UNIT)
    each += e * _PER_UNIT[j] + _FIXED[j]
    return count * each * (1 + 4 * UNIT)


@lru_cache(maxsize=4096)
def has_law(guarantee: Guarantee) -> bool:
    """Whether the moments on a line are known, not only bounds at real orders."""
    return guarantee.moments(OrderLine(1.0, 1.0, 1), guarantee.directions[0]) is not None


def no_pair(guarantee: Guarantee) -> InputError:
    """The error for guarantees that are not a law of the loss."""
    return InputError(
        f"{type(guarantee).__name__} has no privacy loss distribution",
        why="a bound on moments alone cannot be composed numerically",
        fix="compose it with compose(), which adds its moments, or state the mechanism itself",
    )


def _scales(shape: Shape, members: list[tuple[float, int]]) -> FloatArray:
    """The summed log moments at all orders, each within 600 roundings of its size."""
    if len(members) == 1:
        (e, count), *_ = members
        one: FloatArray = shape.log_scale(e, ORDERS, TWICE, np)
        return one if count == 1 else one * count
    answer = np.zeros(len(ORDERS))
    table = np.array(members)
    for first in range(0, len(members), 512):
        part = table[first : first + 512]
        answer += part[:, 1] @ shape.log_scale(part[:, :1], ORDERS, TWICE, np)
    return answer


@lru_cache(maxsize=4096)
def _scale(guarantee: Guarantee, direction: Direction, j: int) -> float:
    moments = guarantee.moments(OrderLine(float(ORDERS[j]), 1.0, 1), direction)
    if moments is None:
        raise no_pair(guarantee)
    return moments.log_scale + moments.log_error


@lru_cache(maxsize=4096)
def _is_heavy(guarantee: Guarantee) -> bool:
    return guarantee.capped(1.0) is not None


@lru_cache(maxsize=4096)
def _largest(guarantee: Guarantee) -> float:
    """The largest finite loss, where it is the epsilon at delta = infinite mass."""
    lost = max(guarantee.infinity(way).hi for way in guarantee.directions)
    return math.inf if lost > 0 else guarantee.epsilon(0).upper
