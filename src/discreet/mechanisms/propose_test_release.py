"""Propose a bound on the local sensitivity, test it privately, release only if it holds."""

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.mechanisms.comparison_laws import Bins, ends
from discreet.mechanisms.grid import INTEGERS, PowerOfTwoGrid, add, choose_grid
from discreet.mechanisms.mechanism import Claim, Law, Mechanism, Pair, RowMechanism, View, fill
from discreet.mechanisms.median import GridRange, Median, one_number, read_pair
from discreet.mechanisms.noise_tails import laplace_half_width, laplace_tail, laplace_tail_steps
from discreet.mechanisms.selection import plain
from discreet.mechanisms.unknown_keys import read_delta
from discreet.noise.exponential import read_scale
from discreet.privacy import Approximate, Neighbours
from discreet.privacy.numerics.rounding import Interval
from discreet.rationals import Real, failure, positive, whole

_NONE: Final = -1000
_RARE: Final = Fraction(1, 1000)
_ROWS: Final = 1 << 16
"""The most rows of an audit; a tiny epsilon would ask for more than memory holds."""


@dataclass(frozen=True, slots=True, init=False)
class ProposeTestRelease(Mechanism):
    """A number with noise for the proposed `bound`, or None near data that breaks it.

    Data is a pair: the value, and its distance: how many people have to change before one more
    person can move the value by more than `bound` (0 if one can now).

    Guarantee:
        (epsilon, delta), provided that the distance is 0 wherever the local sensitivity exceeds
        `bound` and differs by at most 1 between neighbours. Half of epsilon tests, half releases.
    Neighbours:
        Those for which the local sensitivity and the distance are stated.
    Why:
        The distance gets noise of scale 2/epsilon and passes from `cutoff` on, the smallest with
        P(noise >= cutoff) <= delta. Neighbours whose values are further than `bound` apart both
        have a larger local sensitivity than that, so both have distance 0: they pass with
        probability at most delta, and are refused equally often. For all others test and release
        compose to epsilon, half each.
    Edge cases:
        None is an answer too, and is paid for in full. A larger bound passes more often, with more
        noise. The bound has to be chosen without looking at the data.

    Example:
        >>> trial = ProposeTestRelease(bound=1, epsilon=1, delta=1e-6)
        >>> trial.release((500, 0)), isinstance(trial.release((500, 10_000)), int)
        (None, True)
        >>> trial.cutoff
        27

    Reference: Dwork, Lei 2009, Differential Privacy and Robust Statistics; Vadhan 2017, The
    Complexity of Differential Privacy (propose-test-release).
    """

    bound: Fraction
    epsilon: Fraction
    delta: Fraction
    cutoff: int
    steps: int
    grid: PowerOfTwoGrid
    neighbours: Neighbours

    def __init__(
        self,
        *,
        bound: Real,
        epsilon: Real,
        delta: Real,
        grid: Real | PowerOfTwoGrid | None = None,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        strength, allowed = positive(epsilon, "epsilon"), read_delta(delta)
        proposed = positive(bound, "bound")
        public = choose_grid(grid, proposed)
        fill(
            self,
            bound=proposed,
            epsilon=strength,
            delta=allowed,
            cutoff=laplace_tail_steps(read_scale(2 / strength), allowed),
            steps=max(1, public.l1_steps(proposed)),
            grid=public,
            neighbours=Neighbours(neighbours),
        )
        read_scale(self.answer_scale)

    @property
    def test_scale(self) -> Fraction:
        """The scale of the noise on the distance."""
        return 2 / self.epsilon

    @property
    def answer_scale(self) -> Fraction:
        """The scale of the noise on the value, in grid steps."""
        return 2 * self.steps / self.epsilon

    @property
    def guarantee(self) -> Approximate:
        """(epsilon, delta)."""
        return Approximate(self.epsilon, self.delta, neighbours=self.neighbours)

    def release(self, value: tuple[Any, int]) -> Any:
        """The value with noise, or None."""
        passed, answers = self._run(value, 1)
        return answers.tolist()[0] if passed[0] else None

    def pass_probability(self, distance: int) -> Interval:
        """The probability that data at this distance gets an answer, from both sides."""
        far = whole(distance, "distance", at_least=0)
        if far < self.cutoff:
            return laplace_tail(self.test_scale, self.cutoff - far)
        return 1 - laplace_tail(self.test_scale, far - self.cutoff + 1)

    def error(self, confidence: Real = 0.95) -> float:
        """The half-width of the noise on an answer, where there is one."""
        width = laplace_half_width(self.answer_scale, failure(confidence)) * self.grid.step
        return Interval.of(width + self.grid.rounding).upper

    @property
    def claim(self) -> Claim:
        """Rows of whether there is an answer, and the answer or 0."""
        zero, near, far = 0, plain(self.bound), plain(1000 * self.bound)
        enough = self.cutoff
        pairs = (
            Pair((zero, 0), (far, 0)),
            Pair((zero, 0), (near, 1)),
            Pair((zero, enough), (near, enough - 1)),
            Pair((zero, 1), (near, 2)),
        )
        name, views = "ProposeTestRelease", (self.view,)
        return Claim(name, self.guarantee, pairs, self._draw, code=_answered, views=views)

    @property
    def view(self) -> View:
        """The bin of the answer, or that there is none."""
        bins = Bins.of(laplace_half_width(self.answer_scale, _RARE), self.grid.step)

        def read(rows: NDArray[Any]) -> NDArray[Any]:
            return np.where(rows[:, 0] != 0, bins.code(rows[:, 1]), _NONE)

        def law(value: tuple[Any, int]) -> Law:
            steps, passed = one_number(self.grid.index(value[0])), self.pass_probability(value[1])
            binned = bins.law(steps, lambda m: laplace_tail(self.answer_scale, m))
            return ends({_NONE: 1 - passed, **{at: p * passed for at, p in binned.items()}})

        return View(read, law)

    def _run(self, value: tuple[Any, int], runs: int) -> tuple[NDArray[np.bool_], NDArray[Any]]:
        given, far = read_pair(value, "distance")
        steps, distance = one_number(self.grid.index(given)), one_number(INTEGERS.index(far))
        near = noise.discrete_laplace(self.test_scale, size=runs)
        passed = np.asarray(add(distance, near) >= self.cutoff, dtype=np.bool_)
        drawn = noise.discrete_laplace(self.answer_scale, size=runs)
        return passed, np.asarray(self.grid.value(add(steps, drawn)))

    def _draw(self, value: tuple[Any, int], runs: int) -> NDArray[Any]:
        passed, answers = self._run(value, runs)
        return np.stack([passed, np.where(passed, answers, 0)], axis=1)


def _answered(value: Any, answer: Any) -> tuple[int, Any]:
    del value
    return (0, 0) if answer is None else (1, answer)


@dataclass(frozen=True, slots=True, init=False)
class TestedMedian(RowMechanism):
    """The median of values in a public range, if one person can surely not move it beyond `bound`.

    Guarantee:
        (epsilon, delta), as `ProposeTestRelease`.
    Neighbours:
        Add-remove, or change-one, with the exact local sensitivities of either.
    Why:
        The distance is the smallest k for which the local sensitivity after k changes exceeds the
        bound; see `Median`.
    Edge cases:
        Values are clamped to the range row by row and put on its grid. NaN is refused. Where
        `bound` is at least the range, the test is about nothing; use Laplace noise.

    Example:
        >>> TestedMedian(0, 128, bound=1, epsilon=1, delta=1e-6).release([]) is None
        True

    Reference: Dwork, Lei 2009, Differential Privacy and Robust Statistics (the median).
    """

    __test__ = False  # a name that pytest would take for a test

    median: Median
    trial: ProposeTestRelease

    def __init__(
        self,
        lower: Real,
        upper: Real,
        *,
        bound: Real,
        epsilon: Real,
        delta: Real,
        grid: Real | PowerOfTwoGrid = 1,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        public = GridRange.read(lower, upper, grid)
        # Medians are grid points already: nothing is rounded after the test, so steps are integers.
        steps = positive(bound, "bound") / public.grid.step
        trial = ProposeTestRelease(
            bound=max(1, int(steps)), epsilon=epsilon, delta=delta, neighbours=neighbours
        )
        fill(self, median=Median(public, Neighbours(neighbours)), trial=trial)

    @property
    def guarantee(self) -> Approximate:
        """(epsilon, delta)."""
        return self.trial.guarantee

    def release(self, value: Any) -> Any:
        """The median of a list of values with noise, or None."""
        answer = self.trial.release(self._reduce(value))
        return None if answer is None else self.median.range.point(answer)

    def error(self, confidence: Real = 0.95) -> float:
        """The half-width of the noise on an answer, where there is one."""
        width = Fraction(self.trial.error(confidence)) * self.median.range.grid.step
        return Interval.of(width).upper

    @property
    def claim(self) -> Claim:
        """Few values; and enough that the test passes about half of the time, and fewer of those.

        Half of those are at the lower bound and half as far above it as one person may move the
        median, and one person does.
        """
        cells = (0, min(int(self.trial.bound), self.median.largest), self.median.largest)
        low, near, high = (self.median.range.point(cell) for cell in cells)
        # The distance of n values is about n where people come and go, n/2 where they change.
        add = self.median.neighbours is Neighbours.ADD_REMOVE
        half = max(1, min(_ROWS, self.trial.cutoff // (2 if add else 1)))
        pairs = [Pair((), (high,)) if add else Pair((low,), (high,))]
        for share in (1, 2, 3):
            even = (low,) * (half // share) + (near,) * (half // share)
            pairs.append(Pair(even, (*even, near)) if add else Pair((low, *even), (*even, near)))
        name, views = "TestedMedian", (self._view(),)
        return Claim(name, self.guarantee, tuple(pairs), self._draw, code=_answered, views=views)

    def _view(self) -> View:
        view, public = self.trial.view, self.median.range

        def read(rows: NDArray[Any]) -> NDArray[Any]:
            cells = np.rint(rows[:, 1].astype(np.float64) / float(public.grid.step)) - public.first
            return view.read(np.stack([rows[:, 0], cells], axis=1))

        return View(read, lambda values: view.law(self._reduce(values)))

    def _draw(self, values: Any, runs: int) -> NDArray[Any]:
        drawn: NDArray[Any] = self.trial.claim.draw(self._reduce(values), runs)
        passed, cells = drawn.T
        return np.stack([passed, np.where(passed, self.median.range.point(cells), 0)], axis=1)

    def _reduce(self, values: Any) -> tuple[int, int]:
        """The median in cells, and the distance to data that breaks the bound."""
        cells = self.median.sort(values)
        # Local sensitivities never fall with the distance, and reach the whole range beyond all n.
        changes, bound = range(cells.size + 2), self.trial.bound
        far = bisect_left(changes, x=True, key=lambda k: self.median.local(cells, k) > bound)
        return self.median.value(cells), far
