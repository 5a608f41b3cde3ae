"""Quantiles of values in a public range, by the exponential mechanism over its grid points."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.argument_names import also_called
from discreet.errors import InputError
from discreet.mechanisms.comparison_laws import ends
from discreet.mechanisms.exponential import utility_gap
from discreet.mechanisms.grid import PowerOfTwoGrid
from discreet.mechanisms.mechanism import Claim, Law, Pair, RowMechanism, fill
from discreet.mechanisms.median import CellCounts, FromEnd, GridRange
from discreet.mechanisms.selection import epsilon_and_scale
from discreet.privacy import BoundedRange, Guarantee, Neighbours, compose
from discreet.privacy.numerics.rounding import Interval, total
from discreet.rationals import Real, failure, positive, probability

_LISTED = 512
_ROWS = 4096
_PEOPLE = 32


@dataclass(frozen=True, slots=True, init=False)
class Quantile(RowMechanism):
    """A grid point g with probability proportional to exp(-miss(g)/scale), exactly.

    miss(g) is the number of ranks by which g misses the q-quantile of n values: the larger of q n -
    #(x <= g) and #(x < g) - q n, and 0 where g is one.

    Guarantee:
        epsilon-bounded range with epsilon = s/scale; s = 2 max(q, 1 - q) for add-remove, 2 for
        change-one, and 1 for both where q is 0 or 1.
    Neighbours:
        Adding x moves q n - #(x <= g) by q or by q - 1, and so for the other side; changing x by 1.
        At q = 0, miss(g) is #(x < g): one person raises it or lowers it, everywhere by 0 or 1. So
        misses move within a range of 1, not from -1 to 1; at q = 1 with #(x > g) likewise.
    Why:
        The score is the same on a run of w grid points between two values, so the run is one
        candidate of weight w exp(score/scale), chosen exactly (see `noise.choose`), and then one
        of its w points uniformly: P(run)/w is each point's share. The score does not look at
        distances, so one value, however far out, moves it by no more than any other.
    Edge cases:
        Values outside the range are clamped row by row; NaN is refused; no values give a uniform
        point. Data may be a list of values or `CellCounts`, counts per grid point. Ranges of up to
        2^62 points. The error is in ranks, because in value it depends on the data.

    Example:
        >>> ages = Quantile(0.5, 0, 128, epsilon=1)
        >>> ages.release([40] * 5000)
        40
        >>> ages.guarantee.rho().upper
        0.125

    Reference: Smith 2011, Privacy-preserving Statistical Estimation with Optimal Convergence Rates,
    (the private quantile); McSherry, Talwar 2007, Mechanism Design via Differential Privacy.
    """

    quantile: Fraction
    range: GridRange
    epsilon: Fraction
    scale: Fraction
    neighbours: Neighbours

    @also_called(q="quantile", bounds="lower upper", range="lower upper")
    def __init__(
        self,
        quantile: Real,
        lower: Real,
        upper: Real,
        *,
        epsilon: Real | None = None,
        scale: Real | None = None,
        grid: Real | PowerOfTwoGrid = 1,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        target, unit = probability(quantile, "quantile"), Neighbours(neighbours)
        strength, width = epsilon_and_scale(epsilon, scale, rank_range(target, unit))
        fill(
            self,
            quantile=target,
            range=GridRange.read(lower, upper, grid),
            epsilon=strength,
            scale=width,
            neighbours=unit,
        )

    @property
    def guarantee(self) -> Guarantee:
        """epsilon-bounded range."""
        return BoundedRange(self.epsilon, neighbours=self.neighbours)

    def release(self, value: Any) -> Any:
        """A grid point for a list of values, or for `CellCounts`."""
        return self.range.point(int(self.cells(CellCounts.read(value, self.range), 1)[0]))

    def error(self, confidence: Real = 0.95) -> float:
        """Largest rank error at this confidence: (ln size + b) scale."""
        return utility_gap(self.range.size, failure(confidence), self.scale).upper

    def cells(self, ranks: CellCounts, runs: int) -> NDArray[np.int64]:
        """Cells of `runs` independent answers."""
        return draw_cells(ranks, (0, self.range.size - 1), self.quantile, self.scale, runs)

    @property
    def claim(self) -> Claim:
        """Grid points, for values at both ends; one person changes the answer."""
        return Claim(
            type(self).__name__,
            self.guarantee,
            end_pairs(self.range, self.quantile, self.neighbours),
            self._draw,
            self._points if self.range.size <= _LISTED else None,
        )

    def _draw(self, values: Any, runs: int) -> NDArray[Any]:
        cells = self.cells(CellCounts.read(values, self.range), runs)
        return np.asarray(self.range.point(cells))

    def _points(self, values: Any) -> Law:
        ranks = CellCounts.read(values, self.range)
        shares = law_of_cells(ranks, (0, self.range.size - 1), self.quantile, self.scale)
        return ends({self.range.point(cell): share for cell, share in shares.items()})


@dataclass(frozen=True, slots=True, init=False)
class Quantiles(RowMechanism):
    """Several quantiles of the same values: the middle one splits the data for the others.

    Guarantee:
        One round of bounded range epsilon/d for each of the d = floor(log2 m) + 1 levels of the
        recursion over m quantiles, composed.
    Neighbours:
        One more person is in one part of the data on each level. Changing a person can touch two
        parts, or one part twice; each round then has half the epsilon, for twice the range.
    Why:
        Given the answers above it, a level works on disjoint parts of the data, with public targets
        relative to each part, so one person touches one of its exponential mechanisms. People on a
        grid point that is an answer are shared out by number: floor(q E) of E to the left, so that
        one more on it is one more on exactly one side.
    Edge cases:
        Answers never decrease. Repeated quantiles are refused. The error is in ranks, all answers
        at once, where no two people share a grid point; ties can add up to d - 1 times the others
        on one point. Otherwise as `Quantile`.

    Example:
        >>> ages = Quantiles([0.25, 0.5, 0.75], 0, 128, epsilon=2)
        >>> ages.release([20] * 4000 + [40] * 4000 + [60] * 4000)
        [20, 40, 60]

    Reference: Kaplan, Schnapp, Stemmer 2022, Differentially Private Approximate Quantiles (the
    recursion).
    """

    quantiles: tuple[Fraction, ...]
    range: GridRange
    epsilon: Fraction
    neighbours: Neighbours

    @also_called(q="quantiles", bounds="lower upper", range="lower upper")
    def __init__(
        self,
        quantiles: Sequence[Real],
        lower: Real,
        upper: Real,
        *,
        epsilon: Real,
        grid: Real | PowerOfTwoGrid = 1,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        targets = [
            probability(q, "quantile")
            for q in (quantiles if isinstance(quantiles, Iterable) else ())
        ]
        if not targets or any(a >= b for a, b in pairwise(targets)):
            raise InputError(
                "quantiles are not a rising list",
                why="each splits the data for those before and after it",
                fix="pass at least one quantile, each larger than the one before",
            )
        fill(
            self,
            quantiles=tuple(targets),
            range=GridRange.read(lower, upper, grid),
            epsilon=positive(epsilon, "epsilon"),
            neighbours=Neighbours(neighbours),
        )

    @property
    def levels(self) -> int:
        """The depth of the recursion."""
        return len(self.quantiles).bit_length()

    @property
    def round_epsilon(self) -> Fraction:
        """The cost of one exponential mechanism under add-remove."""
        share = self.epsilon / self.levels
        return share if self.neighbours is Neighbours.ADD_REMOVE else share / 2

    @property
    def guarantee(self) -> Guarantee:
        """The levels, composed."""
        one = BoundedRange(self.epsilon / self.levels, neighbours=self.neighbours)
        return one if self.levels == 1 else compose([(one, self.levels)])

    def release(self, value: Any) -> list[Any]:
        """Grid points for a list of values, or for `CellCounts`, one for each quantile."""
        cells = self.cells(CellCounts.read(value, self.range), 1)[0]
        return [self.range.point(int(cell)) for cell in cells]

    def error(self, confidence: Real = 0.95) -> float:
        """Largest rank error at this confidence: (ln size + b) scale.

        Why: on each level an answer misses by at most (ln size + ln(m/beta)) 2/epsilon' ranks, and
        a part that is off by so many people moves the targets inside it by no more than that. A
        person on an answer is whole, and goes to one side: another rank for each level below it.
        """
        beta = failure(confidence) / len(self.quantiles)
        missed = utility_gap(self.range.size, beta, 2 / self.round_epsilon) * self.levels
        return (missed + (self.levels - 1)).upper

    def cells(self, ranks: CellCounts, runs: int) -> NDArray[np.int64]:
        """Cells of `runs` independent releases, a row each."""
        return self._solve(ranks, 0, self.range.size - 1, self.quantiles, runs)

    def _width(self, target: Fraction) -> Fraction:
        return rank_range(target, Neighbours.ADD_REMOVE) / self.round_epsilon

    def _solve(
        self, ranks: CellCounts, first: int, last: int, targets: tuple[Fraction, ...], runs: int
    ) -> NDArray[np.int64]:
        if not targets:
            return np.empty((runs, 0), dtype=np.int64)
        middle = len(targets) // 2
        q = targets[middle]
        width = self._width(q)
        answers = np.empty((runs, len(targets)), dtype=np.int64)
        answers[:, middle] = draw_cells(ranks, (first, last), q, width, runs)
        for cell in map(int, np.unique(answers[:, middle])):
            here = np.flatnonzero(answers[:, middle] == cell)
            left, right = ranks.split(cell, q)
            before = tuple(p / q for p in targets[:middle])
            after = tuple((p - q) / (1 - q) for p in targets[middle + 1 :])
            answers[here, :middle] = self._solve(left, first, cell, before, here.size)
            answers[here, middle + 1 :] = self._solve(right, cell, last, after, here.size)
        return answers

    @property
    def claim(self) -> Claim:
        """Rows of grid points, for people at both ends and in the middle that one tips over.

        A person who moves to the low end from far away affects every level whose target is the
        middle of its part: the whole guarantee is used at once.
        """
        ends_of = end_pairs(self.range, self.quantiles[len(self.quantiles) // 2], self.neighbours)
        low, near, high = map(
            self.range.point, (0, max(0, self.range.size - 2), self.range.size - 1)
        )
        came = () if self.neighbours is Neighbours.ADD_REMOVE else (high,)
        pairs = (*ends_of, self._between(), Pair((near, *came), (near, low)))
        law = self._law if self.range.size ** len(self.quantiles) <= _ROWS else None
        return Claim("Quantiles", self.guarantee, pairs, self._draw, law)

    def _between(self) -> Pair:
        """Worst-case pairs in the middle: somebody is added between two parts of the data."""
        last = self.range.size - 1
        cells = [max(0, last // 2 - 1), max(0, last // 2 - 1), min(last, last // 2 + 2)]
        people = tuple(map(self.range.point, cells))
        middle, end = self.range.point(last // 2), self.range.point(last)
        came = () if self.neighbours is Neighbours.ADD_REMOVE else (end,)
        return Pair((*people, *came), (*people, middle))

    def _law(self, values: Any) -> Law:
        ranks = CellCounts.read(values, self.range)
        shares = self._rows(ranks, 0, self.range.size - 1, self.quantiles)
        return ends({tuple(map(self.range.point, row)): share for row, share in shares.items()})

    def _rows(
        self, ranks: CellCounts, first: int, last: int, targets: tuple[Fraction, ...]
    ) -> dict[tuple[int, ...], Interval]:
        if not targets:
            return {(): Interval.of(1)}
        middle = len(targets) // 2
        q, law = targets[middle], {}
        before = tuple(p / q for p in targets[:middle])
        after = tuple((p - q) / (1 - q) for p in targets[middle + 1 :])
        for cell, share in law_of_cells(ranks, (first, last), q, self._width(q)).items():
            left, right = ranks.split(cell, q)
            starts = self._rows(left, first, cell, before)
            rests = self._rows(right, cell, last, after)
            for start, rest in product(starts, rests):
                law[*start, cell, *rest] = share * starts[start] * rests[rest]
        return law

    def _draw(self, values: Any, runs: int) -> NDArray[Any]:
        cells = self.cells(CellCounts.read(values, self.range), runs)
        return np.asarray(self.range.point(cells))


def draw_cells(
    ranks: CellCounts,
    ends: tuple[int, int],
    target: Fraction | FromEnd,
    scale: Fraction,
    runs: int,
    choose: Callable[..., Any] | None = None,
) -> NDArray[np.int64]:
    """Cells from one end to the other, by how far each misses over scale, `runs` times.

    `choose` is how: by the exponential mechanism unless it is `noise.permute_and_flip`.
    """
    pieces = ranks.segments(*ends, target)
    temperature = scale * target.denominator
    chosen = (choose or noise.choose)(pieces.scores, temperature, runs, pieces.widths)
    # How wide a piece is tells how far apart two people are, and must not show in the work.
    inside = noise.below(pieces.widths[chosen], at_most=ends[1] - ends[0] + 1)
    return np.asarray(pieces.starts[chosen] + inside, dtype=np.int64)


def law_of_cells(
    ranks: CellCounts, edges: tuple[int, int], target: Fraction | FromEnd, scale: Fraction
) -> dict[int, Interval]:
    """The probability of every cell from one end to the other; what `draw_cells` draws."""
    pieces = ranks.segments(*edges, target)
    temperature = scale * target.denominator
    weights = [Interval.of(Fraction(int(score)) / temperature).exp() for score in pieces.scores]
    widths = [int(width) for width in pieces.widths]
    whole = total(weight * width for weight, width in zip(weights, widths, strict=True))
    return {
        int(start) + i: weight / whole
        for weight, start, width in zip(weights, pieces.starts, widths, strict=True)
        for i in range(width)
    }


def rank_sensitivity(quantile: Fraction, neighbours: Neighbours) -> Fraction:
    """The most ranks by which one person moves a grid point's distance from the quantile."""
    if neighbours is Neighbours.CHANGE_ONE:
        return Fraction(1)
    return max(quantile, 1 - quantile)


def rank_range(quantile: Fraction, neighbours: Neighbours) -> Fraction:
    """How far one person can change the difference of two grid points' misses; see `Quantile`."""
    if quantile in (0, 1):
        return Fraction(1)
    return 2 * rank_sensitivity(quantile, neighbours)


def end_pairs(public: GridRange, target: Fraction, neighbours: Neighbours) -> tuple[Pair, ...]:
    """Worst-case pairs at an end: one next to it, others far, and one person added at the end.

    So few that one person decides whether the end itself misses the quantile, while nearly all of
    the range, where nobody is, does not miss it: one person turns the two round.
    """
    low, high = (public.point(cell) for cell in (0, public.size - 1))
    change = neighbours is Neighbours.CHANGE_ONE
    pairs = [
        _tipped((public.point(1), low, high), target, change=change),
        _tipped((public.point(public.size - 2), high, low), 1 - target, change=change),
    ]
    return (*pairs, Pair((low,), (high,)) if change else Pair((), (low,)))


def _tipped(places: tuple[Any, Any, Any], share: Fraction, *, change: bool) -> Pair:
    """One person is added at an end, or moves there from the other end."""
    near, end, far = places
    needed = Fraction(1) if change else 1 - share
    many = min(_PEOPLE, max(1, math.ceil(needed / share))) if share else 1
    there = min(many, max(1, math.ceil(share * many)))
    people = (near,) * there + (far,) * (many - there)
    if not change:
        return Pair(people, (*people, end))
    others = people if there == many else people[:-1]
    return Pair((*others, far), (*others, end))
