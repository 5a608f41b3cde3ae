"""Means of numbers between public bounds: one bit, a window, or a mixture of both."""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.errors import InputError
from discreet.local import protocol
from discreet.local.estimate import MeanEstimate, spread
from discreet.local.frequency import small_law
from discreet.local.reports import Octets
from discreet.mechanisms.mechanism import Law, Pair

GRID: Final = 1 << 16
"""Values are rounded to this many steps between their bounds, before anything random happens."""

HYBRID_FROM: Final = Fraction(61, 100)
"""The epsilon above which the window is worth mixing in (Wang and others 2019, epsilon*)."""


@dataclass(frozen=True, kw_only=True)
class MeanProtocol(protocol.LocalProtocol):
    """A number from `lower` to `upper`, clamped, on a public grid of 65,536 steps.

    A report is an integer whose mean is linear in the value, so that (report - offset)/scale is an
    unbiased estimate of the value's place on the grid.

    Edge cases: NaN counts as `lower`: it must not be seen that it was one.
    """

    grid: ClassVar[int] = GRID
    kinds: ClassVar[int] = 1
    """How many kinds of report there are; the kind is public."""

    lower: Fraction = field(default=Fraction(-1))
    upper: Fraction = field(default=Fraction(1))

    def __post_init__(self) -> None:
        protocol.LocalProtocol.__post_init__(self)
        low, high = (protocol.as_fraction(end, "bound") for end in (self.lower, self.upper))
        if not 0 < _float(high) - _float(low) < math.inf:
            raise InputError(
                "bounds without room", why="lower is below upper, as floats", fix="swap them"
            )
        object.__setattr__(self, "lower", low)
        object.__setattr__(self, "upper", high)

    @property
    def shape(self) -> tuple[int, ...]:
        """For each kind of report: count, sum, and sum of squares in two halves."""
        return (self.kinds, 4)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Values beyond both ends, which are read as the ends, and an end against the middle."""
        low, high = float(self.lower), float(self.upper)
        middle, beyond = float((self.lower + self.upper) / 2), high - low
        return (Pair(low - beyond, high + beyond), Pair(middle, high))

    def read(self, values: Any) -> NDArray[np.int64]:
        """Places on the grid, 0 to 65,536; anything but numbers, one a person, is refused."""
        try:
            given = np.atleast_1d(np.asarray(values, dtype=np.float64))
        except (TypeError, ValueError, OverflowError):
            given = np.zeros((0, 0))
        if given.ndim != 1:  # a table's rows would share their coins
            raise InputError(
                "a value that is no number",
                why="a mean is of numbers, one for each person",
                fix="pass a number, or a flat list of them",
            )
        low, high = float(self.lower), float(self.upper)
        inside = np.clip(np.nan_to_num(given, nan=low, posinf=high, neginf=low), low, high)
        places = np.rint((inside / (high - low) - low / (high - low)) * self.grid)
        return np.clip(places, 0, self.grid).astype(np.int64)

    @property
    def step(self) -> float:
        """Difference of adjacent reports, on the grid."""
        return float(1 / self.debias(0)[1])

    @abstractmethod
    def debias(self, kind: int) -> tuple[Fraction, Fraction]:
        """Offset and scale of a kind of report: E[report] = offset + scale * place."""

    @abstractmethod
    def split(self, rows: Octets) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The kind and the integer of each report."""

    def tally(self, rows: Octets, sums: protocol.Statistic) -> None:
        """Exact sums; squares of integers below 2^18 are summed in two halves of 24 bits."""
        kinds, numbers = self.split(rows)
        for kind in range(self.kinds):
            mine = numbers[kinds == kind]
            squares = mine * mine
            low = int((squares & 0xFFFFFF).sum())
            sums[kind] += np.array([len(mine), mine.sum(), low, (squares >> 24).sum()])

    def estimate(self, statistic: protocol.Statistic, n: int, values: Any = None) -> MeanEstimate:
        """The mean, in the units of the bounds."""
        first = second = 0.0
        for kind in range(self.kinds):
            count, total, low, high = map(int, statistic[kind])
            offset, scale = self.debias(kind)
            squares = low + (high << 24)
            first += float((total - count * offset) / scale)
            second += float((squares - 2 * offset * total + count * offset**2) / scale**2)
        unit = float((self.upper - self.lower) / self.grid)
        mean = float(self.lower) + unit * first / n if n else float("nan")
        places = (0, self.grid // 2, self.grid)  # nowhere is the variance less than at all of these
        least = math.sqrt(min(self._variance(place) for place in places) / max(n, 1))
        error = unit * max(spread(first, second, n), least)
        return MeanEstimate(mean, error, n, unit * self.step / max(n, 1))

    def variance(self, value: float) -> float:
        """The variance of one person's unbiased estimate, in the units of the bounds."""
        place = int(self.read(value)[0])
        unit = (self.upper - self.lower) / self.grid
        return float(unit**2 * self._variance(place))

    @abstractmethod
    def _variance(self, place: int) -> Fraction:
        """On the grid."""


@protocol.stored_as("mean-1bit/1")
@dataclass(frozen=True, kw_only=True)
class Mean1Bit(MeanProtocol):
    """One bit: 1 with probability lie + (truth - lie) * (value's place between the bounds).

    Guarantee:
        epsilon: the value is rounded at random to an end, and `RandomizedResponse` reports which.
        Neighbours: the value is changed to any other.

    On [-1, 1] this is the protocol of Duchi, Jordan and Wainwright (2018) in one dimension; on
    [0, m] that of Ding, Kulkarni and Yekhanin (2017). Best where epsilon is below 0.61. With a
    device's ledger the threshold of the rounding is drawn once, and one bit is kept for each end:
    a life of reports costs 2 epsilon at most. Variance ((e^epsilon + 1)/(e^epsilon - 1))^2 - x^2
    on [-1, 1].

    Example:
        >>> salary = Mean1Bit(epsilon=1, lower=0, upper=100_000)
        >>> salary.width, 0 < salary.aggregator().add(
        ...     salary.reporter().report([50_000] * 10_000)).estimate().standard_error < 2_000
        (1, True)
    """

    width: ClassVar[int] = 1

    @property
    def lie(self) -> Fraction:
        """The probability that the bit is not the one that was rounded to."""
        return 1 / (1 + protocol.likelihood_ratio(self.epsilon))

    def settle(self, codes: NDArray[Any], once: Callable[[Callable[[], bytes]], bytes]) -> Any:
        """Round to an end by a threshold that the device draws once for its life.

        So it keeps one answer for each end, two in all, whatever its values do.
        """
        threshold = once(lambda: int(noise.below(self.grid)).to_bytes(4, "little"))
        return np.where(codes > int.from_bytes(threshold, "little"), self.grid, 0)

    def randomize(self, codes: NDArray[Any]) -> Octets:
        """Round to an end at random, then flip."""
        return protocol.as_octets(self._bits(codes), 1)

    def _bits(self, codes: NDArray[Any]) -> NDArray[np.bool_]:
        up = np.asarray(noise.below(self.grid, size=len(codes))) < codes
        return up ^ np.asarray(noise.bernoulli(self.lie, size=len(codes)))

    def is_valid(self, rows: Octets) -> NDArray[np.bool_]:
        """0 or 1."""
        return np.asarray(rows[:, 0] <= 1)

    def split(self, rows: Octets) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Bits."""
        return np.zeros(len(rows), dtype=np.int64), rows[:, 0].astype(np.int64)

    def debias(self, kind: int) -> tuple[Fraction, Fraction]:
        """A bit has mean lie + (1 - 2 lie) place/grid."""
        return self.lie, (1 - 2 * self.lie) / self.grid

    def _variance(self, place: int) -> Fraction:
        offset, scale = self.debias(0)
        p = offset + scale * place
        return p * (1 - p) / scale**2

    def law(self, value: Any) -> Law:
        """The distribution of the bit."""
        offset, scale = self.debias(0)
        p = offset + scale * int(self.read(value)[0])
        return small_law({1: p, 0: 1 - p})


@protocol.stored_as("piecewise-mean/1")
@dataclass(frozen=True, kw_only=True)
class PiecewiseMean(MeanProtocol):
    """A point of a longer grid, likelier inside a window that the value places.

    Guarantee:
        epsilon: a point inside the window is e^epsilon times as likely as one outside, whatever the
        window. Neighbours: the value is changed to any other.
    Why:
        The output grid has N = 65,536 + w points and the window of a value at place x is x, ...,
        x + w - 1, so that the mean of a report is linear in x. With w = 65,536 e^(-epsilon/2)
        this is the piecewise mechanism, on integers: no float is ever drawn. Variance
        x^2/(e^(epsilon/2) - 1) + (e^(epsilon/2) + 3)/(3 (e^(epsilon/2) - 1)^2) on [-1, 1].

    Example:
        >>> PiecewiseMean(epsilon=2).width
        3

    Reference: Wang, Xiao, Yang, Zhao, Hui, Shin, Shin, Yu, Collecting and Analyzing
    Multidimensional Data with Local Differential Privacy, 2019, section III-B.
    """

    @property
    def window(self) -> int:
        """Points in a window."""
        root = protocol.likelihood_ratio(self.epsilon / 2)
        return max(1, round(self.grid / root))

    @property
    def points(self) -> int:
        """Points of the output grid."""
        return self.grid + self.window

    @property
    def inside(self) -> Fraction:
        """The probability of the window."""
        ratio = protocol.likelihood_ratio(self.epsilon)
        return ratio * self.window / (ratio * self.window + self.points - self.window)

    @property
    def width(self) -> int:
        """Two or three bytes: a point."""
        return protocol.octets_for(self.points - 1)

    def randomize(self, codes: NDArray[Any]) -> Octets:
        """All coins are drawn for everybody, whichever of them counts."""
        return protocol.as_octets(self._points(codes), self.width)

    def _points(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        n, w = len(codes), self.window
        hit = np.asarray(noise.bernoulli(self.inside, size=n))
        near = codes + np.asarray(noise.below(w, size=n))
        far = np.asarray(noise.below(self.points - w, size=n))
        return np.asarray(np.where(hit, near, far + w * (far >= codes)))

    def is_valid(self, rows: Octets) -> NDArray[np.bool_]:
        """Points that exist."""
        return protocol.as_numbers(rows) < self.points

    def split(self, rows: Octets) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Points."""
        return np.zeros(len(rows), dtype=np.int64), protocol.as_numbers(rows)

    def debias(self, kind: int) -> tuple[Fraction, Fraction]:
        """Unbiased estimate from the window's mean and the mean of all points."""
        high, low = self._chances
        everywhere = low * Fraction(self.points * (self.points - 1), 2)
        own = (high - low) * self.window
        return everywhere + own * Fraction(self.window - 1, 2), own

    @property
    def _chances(self) -> tuple[Fraction, Fraction]:
        """Probabilities of a point inside and of one outside."""
        out = self.points - self.window
        return self.inside / self.window, (1 - self.inside) / out

    def _variance(self, place: int) -> Fraction:
        high, low = self._chances
        ends = (_squares(self.points), _squares(place + self.window) - _squares(place))
        second = low * ends[0] + (high - low) * ends[1]
        offset, scale = self.debias(0)
        return (second - (offset + scale * place) ** 2) / scale**2


@protocol.stored_as("hybrid-mean/1")
@dataclass(frozen=True, kw_only=True)
class HybridMean(MeanProtocol):
    """`PiecewiseMean` with probability 1 - e^(-epsilon/2), else `Mean1Bit`; below 0.61 only that.

    Guarantee:
        epsilon: which of the two was used does not depend on the value, and is reported.
        Neighbours: the value is changed to any other.

    Its variance does not depend on the value, so that the worst one is better than either's.

    Example:
        >>> HybridMean(epsilon=4).variance(0), HybridMean(epsilon=4).variance(1)
        (0.21898..., 0.21898...)

    Reference: Wang and others 2019, section III-C.
    """

    kinds: ClassVar[int] = 2
    width: ClassVar[int] = 3
    """The number, and the kind, a bit or a point, in the highest bit."""

    @property
    def share(self) -> Fraction:
        """The probability of a point."""
        if self.epsilon <= HYBRID_FROM:
            return Fraction(0)
        return 1 - 1 / protocol.likelihood_ratio(self.epsilon / 2)

    @property
    def bit(self) -> Mean1Bit:
        """One half."""
        return Mean1Bit(epsilon=self.epsilon, lower=self.lower, upper=self.upper)

    @property
    def point(self) -> PiecewiseMean:
        """The other half."""
        return PiecewiseMean(epsilon=self.epsilon, lower=self.lower, upper=self.upper)

    def randomize(self, codes: NDArray[Any]) -> Octets:
        """Both are drawn for everybody, and one is sent."""
        chosen = np.asarray(noise.bernoulli(self.share, size=len(codes)))
        bits, points = self.bit._bits(codes), self.point._points(codes)  # noqa: SLF001 - halves
        return protocol.as_octets(np.where(chosen, points | 1 << 23, bits), 3)

    def is_valid(self, rows: Octets) -> NDArray[np.bool_]:
        """A bit or a point that exists; where only bits are sent, a bit."""
        kinds, numbers = self.split(rows)
        points = self.point.points if self.share else 0
        return np.asarray(numbers < np.array([2, points])[kinds])

    def split(self, rows: Octets) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The kind is the highest bit."""
        words = protocol.as_numbers(rows)
        return words >> 23, words & (1 << 23) - 1

    def debias(self, kind: int) -> tuple[Fraction, Fraction]:
        """That of the half."""
        return (self.bit, self.point)[kind].debias(0)

    def _variance(self, place: int) -> Fraction:
        one, other = self.bit._variance(place), self.point._variance(place)  # noqa: SLF001 - halves
        return (1 - self.share) * one + self.share * other


def _float(end: Fraction) -> float:
    """A bound as a float, infinite beyond all of them."""
    try:
        return float(end)
    except OverflowError:
        return math.inf


def _squares(end: int) -> Fraction:
    """0 + 1 + 4 + ... + (end - 1)^2."""
    return Fraction((end - 1) * end * (2 * end - 1), 6)
