"""Noise in proportion to how far one person moves this very answer, smoothed."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.argument_names import also_called
from discreet.errors import InputError
from discreet.mechanisms.comparison_laws import Bins, ends
from discreet.mechanisms.grid import INTEGERS, PowerOfTwoGrid, add, choose_grid
from discreet.mechanisms.mechanism import Claim, Law, Mechanism, Pair, RowMechanism, View, fill
from discreet.mechanisms.median import GridRange, Median, one_number, read_pair
from discreet.mechanisms.smooth_laws import SmoothLaw, best_law
from discreet.mechanisms.unknown_keys import read_delta
from discreet.privacy import Approximate, Neighbours
from discreet.privacy.numerics.rounding import Interval
from discreet.rationals import Real, failure, positive

_WEIGHT_BITS: Final = 64
_RARE: Final = Fraction(1, 10**4)


@dataclass(frozen=True, slots=True, init=False)
class SmoothSensitivity(Mechanism):
    """A number with noise scaled to its smooth sensitivity.

    Data is a pair: the value, and bounds A_0 <= A_1 <= ... on its local sensitivity, all in whole
    grid steps: A_k bounds how far one person moves the value after k others have changed. Beyond
    the last bound the global sensitivity is used.

    Guarantee:
        (epsilon, delta), or epsilon alone where `law` says so, provided that A_k(x) <= A_(k+1)(y)
        for neighbours x, y (exact local sensitivities at distance k satisfy this) and A_0 bounds
        the local sensitivity.
    Neighbours:
        Those for which the bounds are stated.
    Why:
        Weights W_0 = 2^64, W_(k+1) = ceil(r W_k) with r < 1 rational make S = max_k W_k A_k/2^64
        satisfy S(x) <= S(y)/r exactly, r = `decay`. Values are at most min(S, S') apart. For that,
        noise in proportion to S is (epsilon, delta), or epsilon alone: see `LaplaceLaw` and
        `StudentLaw`. Of the two the one is taken that errs less by `best_law`.
    Edge cases:
        The scale depends on data and is not shown; `error` is for the global sensitivity, and
        `error_at` for a smooth sensitivity assumed by the reader. Scales start at 2^-10 steps.

    Example:
        >>> noisy = SmoothSensitivity(global_sensitivity=1000, epsilon=1, delta=1e-6)
        >>> isinstance(noisy.release((500, [1, 1, 2, 40])), int)
        True

    Reference: Nissim, Raskhodnikova, Smith 2007, Smooth Sensitivity and Sampling in Private Data
    Analysis (smooth bounds, admissible noise); Bun, Steinke 2019, Average-Case Averages: Private
    Algorithms for Smooth Sensitivity and Mean Estimation (Student's t noise).
    """

    epsilon: Fraction
    delta: Fraction
    global_sensitivity: int
    law: SmoothLaw
    grid: PowerOfTwoGrid
    neighbours: Neighbours

    def __init__(
        self,
        *,
        global_sensitivity: int,
        epsilon: Real,
        delta: Real,
        grid: Real | PowerOfTwoGrid = 1,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        strength, allowed = positive(epsilon, "epsilon"), read_delta(delta)
        steps = positive(global_sensitivity, "global_sensitivity")
        if steps.denominator != 1:
            raise InputError(
                f"global_sensitivity is {global_sensitivity}",
                why="it counts grid steps",
                fix="pass it in steps, as an int, and the size of a step as grid=",
            )
        fill(
            self,
            epsilon=strength,
            delta=allowed,
            global_sensitivity=int(steps),
            law=best_law(strength, allowed),
            grid=choose_grid(grid, Fraction(1)),
            neighbours=Neighbours(neighbours),
        )
        self.law.check(int(steps))

    @property
    def guarantee(self) -> Approximate:
        """(epsilon, delta), with a delta of 0 where the law needs none."""
        return Approximate(self.epsilon, self.law.delta, neighbours=self.neighbours)

    @property
    def decay(self) -> Fraction:
        """The rate at which the smooth sensitivity may fall from one neighbour to the next."""
        return self.law.decay

    def release(self, value: tuple[int, Sequence[int]]) -> Any:
        """The value, in steps, with noise for its bounds; as a number on the grid."""
        return self._answer(value, None)

    def smooth(self, bounds: Sequence[int]) -> Fraction:
        """The smooth sensitivity in steps; private, as the data it comes from."""
        given = np.asarray(INTEGERS.index(bounds))
        listed = [int(bound) for bound in given.ravel()]
        rising = all(a <= b for a, b in pairwise([0, *listed]))
        if given.ndim != 1 or not rising:
            raise InputError(
                "bounds on the local sensitivity are not in order",
                why="more changes cannot lower how far one person moves a value",
                fix="pass A_0 <= A_1 <= ..., none of them negative",
            )
        capped = [min(bound, self.global_sensitivity) for bound in listed]
        weights = decaying_weights(self.decay, len(capped) + 1)
        capped.append(self.global_sensitivity)
        most = max(w * a for w, a in zip(weights, capped, strict=True))
        return Fraction(most, 1 << _WEIGHT_BITS)

    def error(self, confidence: Real = 0.95) -> float:
        """The half-width of the noise in the worst case, for the global sensitivity."""
        return self.error_at(self.global_sensitivity, confidence)

    def error_at(self, smooth: Real, confidence: Real = 0.95) -> float:
        """The half-width of the noise if the smooth sensitivity were this many steps."""
        scale = self.law.scale(positive(smooth, "smooth"))
        width = self.law.half_width(scale, failure(confidence))
        return Interval.of(width * self.grid.step).upper

    @property
    def claim(self) -> Claim:
        """Values and bounds that change the place of the answer and the width of the noise."""
        most = self.global_sensitivity
        small = max(1, most // 1000)
        # One person moves the value by almost all, and the noise by as much as smoothness allows.
        less = max(1, int(self.decay * most))
        pairs = (
            Pair((0, (less, most)), (less, (most,))),
            Pair((0, (most,)), (most, (most,))),
            Pair((0, (small, small, most)), (small, (small, most, most))),
            # Nothing is said of two changes: one person may then move the value by all.
            Pair((0, (0,)), (0, (most,))),
        )
        name, views = type(self).__name__, (self.view,)
        return Claim(name, self.guarantee, pairs, self._answer, views=views)

    @property
    def view(self) -> View:
        """The answer, by bins that suit noise of any scale."""
        far = self.law.half_width(self.law.scale(Fraction(self.global_sensitivity)), _RARE)
        bins = Bins.growing(far + self.global_sensitivity, self.grid.step)

        def law(value: tuple[int, Sequence[int]]) -> Law:
            steps, bounds = value
            scale = self.law.scale(self.smooth(bounds))
            return ends(bins.law(steps, partial(self.law.upper_tail, scale)))

        return View(lambda rows: bins.code(rows[:, 0]), law)

    def _answer(self, value: tuple[int, Sequence[int]], runs: int | None) -> Any:
        steps, bounds = read_pair(value, "bounds")
        drawn = self.law.draw(self.smooth(bounds), self.global_sensitivity, runs)
        return self.grid.value(add(one_number(INTEGERS.index(steps)), drawn))


@dataclass(frozen=True, slots=True, init=False)
class SmoothMedian(RowMechanism):
    """The median of values in a public range, with noise scaled to its smooth sensitivity.

    Guarantee:
        (epsilon, delta), as `SmoothSensitivity`.
    Neighbours:
        Add-remove, or change-one, with the exact local sensitivities of either.
    Why:
        See `Median` for the local sensitivities and `SmoothSensitivity` for the noise. Bounds are
        computed for a public number of distances; the global sensitivity replaces those beyond.
    Edge cases:
        Values are clamped to the range row by row and put on its grid. No values give the lower
        bound with noise for the whole range. NaN is refused. An answer may lie outside the range.

    Example:
        >>> ages = SmoothMedian(0, 128, epsilon=1, delta=1e-6)
        >>> isinstance(ages.release([31, 44, 44, 52, 60]), int)
        True

    Reference: Nissim, Raskhodnikova, Smith 2007, Smooth Sensitivity and Sampling in Private Data
    Analysis (the median).
    """

    median: Median
    noisy: SmoothSensitivity

    @also_called(bounds="lower upper", range="lower upper")
    def __init__(
        self,
        lower: Real,
        upper: Real,
        *,
        epsilon: Real,
        delta: Real,
        grid: Real | PowerOfTwoGrid = 1,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        public = GridRange.read(lower, upper, grid)
        median = Median(public, Neighbours(neighbours))
        noisy = SmoothSensitivity(
            global_sensitivity=median.largest,
            epsilon=epsilon,
            delta=delta,
            grid=grid,
            neighbours=neighbours,
        )
        fill(self, median=median, noisy=noisy)

    @property
    def guarantee(self) -> Approximate:
        """(epsilon, delta)."""
        return self.noisy.guarantee

    def release(self, value: Any) -> Any:
        """The median of a list of values, with noise."""
        return self.noisy.release(self._reduce(value))

    def smooth(self, values: Any) -> Fraction:
        """The smooth sensitivity of the median of these values; as private as the values.

        Example:
            >>> SmoothMedian(0, 128, epsilon=1, delta=1e-6).smooth([44] * 1001) < 1
            True
        """
        return self.noisy.smooth(self._reduce(values)[1]) * self.noisy.grid.step

    def error(self, confidence: Real = 0.95) -> float:
        """The half-width of the noise in the worst case, for the whole range."""
        return self.noisy.error(confidence)

    @property
    def claim(self) -> Claim:
        """Few values, where one person moves the median far; values that differ, and that agree."""
        low, high = self.median.range.point(0), self.median.range.point(self.median.largest)
        split, agreed = (low,) * 25 + (high,) * 24, (low,) * 9
        turned = (low,) * 24 + (high,) * 26  # the value falls soon, and not at once
        few, kept = ((), 0) if self.median.neighbours is Neighbours.ADD_REMOVE else ((low,), 1)
        # One person moves the median by almost all, and the noise by as much as smoothness allows.
        far = self.median.range.point(max(1, int(self.noisy.decay * self.median.largest)))
        pairs = (
            Pair(few, (far,)),
            Pair(few, (high,)),
            *(Pair(values, (*values[kept:], high)) for values in (split, agreed)),
            Pair(turned, (*turned[: len(turned) - kept], low)),
        )
        view = self.noisy.view
        seen = View(view.read, lambda values: view.law(self._reduce(values)))
        return Claim("SmoothMedian", self.guarantee, pairs, self._draw, views=(seen,))

    def _draw(self, values: Any, runs: int) -> NDArray[Any]:
        return np.asarray(self.noisy.claim.draw(self._reduce(values), runs))

    def _reduce(self, values: Any) -> tuple[int, list[int]]:
        """The median in steps, and its local sensitivities at the distances that are looked at."""
        cells = self.median.sort(values)
        distances = range(_distances(self.noisy.decay))
        steps = self.median.range.first + self.median.value(cells)
        return steps, [self.median.local(cells, k) for k in distances]


@lru_cache(maxsize=64)
def decaying_weights(decay: Fraction, count: int) -> tuple[int, ...]:
    """2^64 and on, each the last times `decay`, rounded up: so never a faster decay than that."""
    weights = [1 << _WEIGHT_BITS]
    while len(weights) < count:
        weights.append(-(-weights[-1] * decay.numerator // decay.denominator))
    return tuple(weights)


def _distances(decay: Fraction) -> int:
    """How many distances are looked at: until weights fall below 2^-32, and at most 4096."""
    lost = 1 - decay
    return int(min(Fraction(4096), 23 / lost + 1))
