"""Sparse vector: many questions, charged for the few answers above a threshold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.argument_names import also_called
from discreet.errors import BudgetError
from discreet.mechanisms.comparison_laws import WIDEST, Bins, PlacedAnswers, ends, law_of_marks
from discreet.mechanisms.grid import PowerOfTwoGrid, add, choose_grid, compact, flat
from discreet.mechanisms.interaction import Interaction
from discreet.mechanisms.mechanism import Claim, Law, Mechanism, Pair, View, exactly_one, fill
from discreet.mechanisms.noise_tails import laplace_half_width, laplace_tail, laplace_tail_steps
from discreet.mechanisms.selection import plain, read_monotone
from discreet.noise.exponential import read_scale
from discreet.privacy import Neighbours, Pure
from discreet.privacy.numerics.rounding import Interval
from discreet.rationals import Real, failure, positive, rational, whole

_UNASKED = -1
_TOGETHER = 3
"""Hits up to which the law of all marks and answers together is listed: three places for each."""

_BLOCK = 32
_LONG = 40
_NONE = -1000
_RARE = Fraction(1, 1000)


@dataclass(frozen=True, slots=True, init=False)
class SparseVector(Mechanism):
    """Answers whether each question reaches the threshold; stops after c hits (SVT).

    Guarantee:
        Pure epsilon for all answers together, however many questions fall below the threshold. This
        is the standard sparse vector of Lyu, Su, Li: threshold noise of scale s/epsilon_1, drawn
        once and kept; fresh noise of scale 2 c s/epsilon_2 on every question (c s/epsilon_2 where
        all values move the same way); with `numeric`, fresh noise of scale c s/epsilon_3 on the
        answers of hits; epsilon is the sum. s is the sensitivity after rounding to the grid, c is
        `hits`.
    Neighbours:
        Those for which `sensitivity` bounds how far one person moves the value of any question.
    Why:
        Move the threshold noise up by s: that costs e^epsilon_1, and every question below the
        threshold on one dataset stays below on the neighbour for the same noise. The threshold of a
        question above it rises by at most 2 s (s if all values rise, or all fall), which costs
        e^(epsilon_2/c), as P(X >= x + m) >= exp(-m/scale) P(X >= x) for whole x, m; there are at
        most c of them.
    Edge cases:
        A value equal to the noisy threshold is a hit. Questions may be chosen after seeing earlier
        answers (`start`). After c hits a run refuses everything. A run can be neither copied,
        forked nor pickled.

    Example:
        >>> alarm = SparseVector(threshold=10_000, epsilon=1, hits=1)
        >>> alarm.release([3, 250_000, 7])
        [False, True]
        >>> run = alarm.start()
        >>> run.ask(250_000), run.hits_left
        (True, 0)

    Reference: Lyu, Su, Li 2017, Understanding the Sparse Vector Technique for Differential Privacy
    (the standard version, and the one for monotone questions; four of the six published versions
    that they examine do not keep the privacy they claim).
    """

    threshold: Fraction
    hits: int
    epsilon: Fraction
    epsilons: tuple[Fraction, Fraction, Fraction]
    sensitivity: Fraction
    steps: int
    numeric: bool
    monotone: bool
    grid: PowerOfTwoGrid
    neighbours: Neighbours

    @also_called(c="hits", count="hits", max_above="hits", cutoff="hits")
    def __init__(
        self,
        *,
        threshold: Real,
        epsilon: Real | None = None,
        scale: Real | None = None,
        hits: int = 1,
        sensitivity: Real = 1,
        numeric: bool = False,
        monotone: bool = False,
        grid: Real | PowerOfTwoGrid | None = None,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        spread, count = positive(sensitivity, "sensitivity"), whole(hits, "hits", at_least=1)
        read_monotone(neighbours, monotone=monotone)
        public = choose_grid(grid, spread)
        steps = max(1, public.l1_steps(spread))
        moves = (1 if monotone else 2) * count
        shares = _shares(moves, numeric=numeric)
        whole_epsilon = _read_epsilon(epsilon, scale, moves * steps * public.step, shares[1])
        fill(
            self,
            threshold=rational(threshold, "threshold"),
            hits=count,
            epsilon=whole_epsilon,
            epsilons=tuple(share * whole_epsilon for share in shares),
            sensitivity=spread,
            steps=steps,
            numeric=bool(numeric),
            monotone=bool(monotone),
            grid=public,
            neighbours=Neighbours(neighbours),
        )
        for width in (self.threshold_scale, self.query_scale, self.answer_scale):
            read_scale(width)

    # --- noise, in grid steps -------------------------------------------------------------------

    @property
    def threshold_scale(self) -> Fraction:
        """The scale of the noise on the threshold, in steps."""
        return self.steps / self.epsilons[0]

    @property
    def query_scale(self) -> Fraction:
        """The scale of the noise on a question, in steps."""
        moves = (1 if self.monotone else 2) * self.hits
        return moves * self.steps / self.epsilons[1]

    @property
    def answer_scale(self) -> Fraction:
        """The scale of the noise on a numeric answer, in steps; that of a question without one."""
        third = self.epsilons[2]
        return self.hits * self.steps / third if third else self.query_scale

    # --- the face -------------------------------------------------------------------------------

    @property
    def guarantee(self) -> Pure:
        """Pure epsilon, for a whole run."""
        return Pure(self.epsilon, neighbours=self.neighbours)

    def start(self) -> "SparseVectorRun":
        """A fresh run, which costs one `guarantee` and answers one question at a time."""
        return SparseVectorRun(self)

    def release(self, value: Any) -> list[Any]:
        """Answers to a list of questions, up to and including the c-th hit.

        Each is True or False or, with `numeric`, a noisy value or None.
        """
        marks, answers = self.runs(self.bars(value), 1)
        asked = int((marks[0] != _UNASKED).sum())
        if not self.numeric:
            return [bool(mark) for mark in marks[0, :asked]]
        values = self.grid.value(answers[0]).tolist()
        return [values[i] if marks[0, i] else None for i in range(asked)]

    def error(self, confidence: Real = 0.95, queries: int = 1) -> float:
        """The smallest margin w for which all of the first `queries` answers are right.

        Right means: the value of a hit is at least threshold - w, any other value at most threshold
        + w, and with `numeric` answers are at most w off. Why: the noise of the threshold exceeds
        w_1, that of a question on its bad side w_2, and that of an answer w_3 with a third of 1 -
        confidence each at most; w = max(w_1 + w_2, w_3).
        """
        beta, many = failure(confidence) / 3, whole(queries, "queries", at_least=1)
        decision = laplace_half_width(self.threshold_scale, beta)
        decision += max(0, laplace_tail_steps(self.query_scale, beta / many) - 1)
        answer = laplace_half_width(self.answer_scale, beta / self.hits) if self.numeric else 0
        width = max(decision, answer) * self.grid.step + 2 * self.grid.rounding
        return Interval.of(width).upper

    @property
    def claim(self) -> Claim:
        """Rows of one mark a question: 1 hit, 0 below, -1 not asked; then any numeric answers."""
        name = type(self).__name__
        law = self._law if self.is_listed and not self.numeric else None
        views = self._views() if self.is_listed and self.numeric else ()
        return Claim(name, self.guarantee, self._pairs(), self._draw, law, self._code, views)

    def _views(self) -> tuple[View, ...]:
        """The marks and where answers lie, and what is said of the first question if it is a hit.

        Answers lie up to the threshold, or from where one person lifts that on, or in between.
        """
        bins = Bins.of(laplace_half_width(self.answer_scale, _RARE), self.grid.step)

        def read(rows: NDArray[Any]) -> NDArray[Any]:
            return np.where(rows[:, 0] == 1, bins.code(rows[:, rows.shape[1] // 2]), _NONE)

        def law(values: Any) -> Law:
            first = np.asarray(self.grid.index(values))[:1]
            marks = self.law_of_marks(self.bars(values)[:1])
            hit = Interval.between(*next(p for mark, p in marks.items() if mark == (1,)))
            said = bins.law(int(first[0]), lambda m: laplace_tail(self.answer_scale, m))
            return ends({_NONE: 1 - hit, **{at: p * hit for at, p in said.items()}})

        marks = View(lambda rows: rows[:, : rows.shape[1] // 2], self._law)
        lifted = self._bar() + max(1, int(self.sensitivity / self.grid.step))
        placed = PlacedAnswers((self._bar(), lifted), self.answer_scale, self.grid)

        def law_of_places(values: Any) -> Law:
            centres = np.asarray(self.grid.index(values)).ravel()
            return placed.law(self._law(values), [int(at) for at in centres])

        together = View(placed.read, law_of_places)
        return together if self.hits <= _TOGETHER else marks, View(read, law)

    # --- runs -----------------------------------------------------------------------------------

    def bars(self, values: Any) -> NDArray[Any]:
        """How far each value is below the threshold, in steps."""
        steps = flat(np.asarray(self.grid.index(values)), "each question has one value")
        return compact(self._bar() - steps.astype(object))

    def _bar(self) -> int:
        """The threshold in steps; whole numbers reach a fraction from the next whole number on."""
        if self.grid.integers:
            return ceil(self.threshold)
        return int(PowerOfTwoGrid(self.grid.step).index(self.threshold))

    def runs(self, bars: NDArray[Any], runs: int) -> tuple[NDArray[np.int8], NDArray[Any]]:
        """`runs` independent runs over the same questions: marks, and noisy answers in steps."""
        shape = (runs, bars.size)
        reached = self._reached(bars, self._bend(runs))
        before: NDArray[np.int64] = np.cumsum(reached, axis=1) - reached
        marks = np.where(before < self.hits, reached, _UNASKED).astype(np.int8)
        if not self.numeric:
            return marks, np.zeros(shape, dtype=np.int64)
        fresh = noise.discrete_laplace(self.answer_scale, size=shape)
        answers = np.asarray(add(compact(self._bar() - bars.astype(object)), fresh))
        return marks, np.where(marks == 1, answers, 0)

    def _bend(self, runs: int) -> NDArray[Any]:
        """The noise of the threshold, one draw a run."""
        return noise.discrete_laplace(self.threshold_scale, size=(runs, 1))

    def _reached(self, bars: NDArray[Any], bent: NDArray[Any]) -> NDArray[np.bool_]:
        """Values that reach the noisy threshold; noise is symmetric, so its sign is free."""
        fresh = noise.discrete_laplace(self.query_scale, size=(bent.size, bars.size))
        return np.asarray(add(fresh, bent) >= bars, dtype=np.bool_)

    def _draw(self, values: Any, runs: int) -> NDArray[Any]:
        marks, answers = self.runs(self.bars(values), runs)
        if not self.numeric:
            return marks
        return np.concatenate([marks, self.grid.value(answers)], axis=1)

    @property
    def is_listed(self) -> bool:
        """Whether the law of the marks is small enough to write down."""
        return max(self.threshold_scale, self.query_scale) <= WIDEST

    def _law(self, values: Any) -> Law:
        return self.law_of_marks(self.bars(values))

    def law_of_marks(self, bars: NDArray[Any]) -> Law:
        """The exact law of a row of marks."""
        scales = self.threshold_scale, self.query_scale
        return law_of_marks([int(bar) for bar in bars], scales, self.hits)

    def _code(self, values: Any, answers: Any) -> list[Any]:
        unasked = len(values) - len(answers)
        if not self.numeric:
            return [int(hit) for hit in answers] + [_UNASKED] * unasked
        marks = [int(answer is not None) for answer in answers] + [_UNASKED] * unasked
        return marks + [answer or 0 for answer in answers] + [0] * unasked

    def _pairs(self) -> tuple[Pair, ...]:
        """Questions that stay below and questions that hit, on both sides of the threshold."""
        bar = self.grid.step * self._bar()
        low, high = plain(bar), plain(bar + self.sensitivity)
        few = min(self.hits, 3)
        level = Pair((low,) * (4 + few), (high,) * (4 + few))
        if self.monotone:
            return level, Pair((low,) * 6 + (high,) * few, (high,) * (6 + few))
        even, many = (
            Pair((low,) * below + (high,) * few, (high,) * below + (low,) * few) for below in (3, 7)
        )
        return level, even, many


@dataclass(frozen=True, slots=True, init=False)
class AboveThreshold(SparseVector):
    """The position of the first value at or above the threshold: sparse vector with one hit.

    Guarantee:
        Pure epsilon, however many values are looked at.
    Neighbours:
        As for `SparseVector`.
    Edge cases:
        None where no noisy value reaches the noisy threshold.

    Example:
        >>> AboveThreshold(threshold=10_000, epsilon=1).release([3, 7, 250_000, 8])
        2

    Reference: Dwork, Roth 2014, The Algorithmic Foundations of Differential Privacy, Algorithm 1
    and Theorem 3.23; Lyu, Su, Li 2017, as for `SparseVector`.
    """

    def __init__(
        self,
        *,
        threshold: Real,
        epsilon: Real | None = None,
        scale: Real | None = None,
        sensitivity: Real = 1,
        monotone: bool = False,
        grid: Real | PowerOfTwoGrid | None = None,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        SparseVector.__init__(
            self,
            threshold=threshold,
            epsilon=epsilon,
            scale=scale,
            sensitivity=sensitivity,
            monotone=monotone,
            grid=grid,
            neighbours=neighbours,
        )

    def release(self, value: Any) -> Any:
        """The position of the first hit, or None."""
        place = int(self.first(self.bars(value), 1)[0])
        return None if place == _UNASKED else place

    def first(self, bars: NDArray[Any], runs: int) -> NDArray[np.int64]:
        """Positions of the first hit in `runs` independent runs, -1 where there is none.

        Questions are asked in blocks, and only while a run has no hit, so the time reveals only the
        answer.
        """
        places = np.full(runs, _UNASKED, dtype=np.int64)
        bent, open_runs = self._bend(runs), np.arange(runs)
        for start in range(0, bars.size, _BLOCK):
            reached = self._reached(bars[start : start + _BLOCK], bent[open_runs])
            stopped = reached.any(axis=1)
            places[open_runs[stopped]] = start + reached[stopped].argmax(axis=1)
            open_runs = open_runs[~stopped]
        return places

    def _draw(self, values: Any, runs: int) -> NDArray[Any]:
        return self.first(self.bars(values), runs)

    def _pairs(self) -> tuple[Pair, ...]:
        """Also questions so far below that many are asked: `first` draws noise block by block."""
        deep = self.grid.step * (self._bar() - 4 * ceil(self.query_scale))
        low, high = plain(deep), plain(deep + self.sensitivity)
        few = SparseVector._pairs(self)  # noqa: SLF001 - super() is lost to slotted dataclasses
        return (*few, Pair((low,) * _LONG, (high,) * _LONG))

    def _law(self, values: Any) -> Law:
        return {place: ends for place, ends in self.law_of_places(self.bars(values)).items()}  # noqa: C416 - keys of a wider type

    def law_of_places(self, bars: NDArray[Any]) -> Mapping[int, tuple[float, float]]:
        """The exact law of the position of the first hit, -1 for none."""
        return {_place(marks): ends for marks, ends in self.law_of_marks(bars).items()}

    def _code(self, values: Any, answers: Any) -> Any:
        return _UNASKED if answers is None else answers


def _place(marks: Any) -> int:
    return int(marks.index(1)) if 1 in marks else _UNASKED


class SparseVectorRun(Interaction):
    """One run of a sparse vector, question by question; its state is the noise of the threshold.

    `ask` tells whether a value reaches the threshold; with `numeric`, its noisy value or None.

    Example:
        >>> run = SparseVector(threshold=10_000, epsilon=1).start()
        >>> run.ask(3), run.ask(250_000), run.hits_left
        (False, True, 0)
    """

    __slots__ = ("_bent", "_left")

    rule: SparseVector

    def __init__(self, rule: SparseVector) -> None:
        super().__init__(rule)
        self._bent = noise.discrete_laplace(rule.threshold_scale)
        self._left = rule.hits

    @property
    def hits_left(self) -> int:
        """How many hits this run still answers."""
        return self._left

    def asked(self, values: Sequence[Any]) -> list[Any]:
        """The values, in their order."""
        return list(values)

    def _admit(self) -> None:
        if self._left == 0:
            raise BudgetError(
                f"{self.rule.hits} hits were answered",
                why="the guarantee of this run covers no more",
                fix="start another run, which is charged again",
                asked=1,
                left=0,
            )

    def _answer(self, value: Any) -> Any:
        rule = self.rule
        bar = int(rule.bars([value])[0])
        hit = noise.discrete_laplace(rule.query_scale) + self._bent >= bar
        if not rule.numeric:
            return bool(hit)
        fresh = noise.discrete_laplace(rule.answer_scale)
        return rule.grid.value(rule.grid.index(value) + fresh) if hit else None

    def _note(self, answer: Any) -> None:
        """A hit is what is not False, or with `numeric` not None."""
        self._left -= answer is not None if self.rule.numeric else answer


def _shares(moves: int, *, numeric: bool) -> tuple[Fraction, Fraction, Fraction]:
    """How epsilon is split: 1 to moves^(2/3) between threshold and questions, half for answers.

    Lyu, Su, Li 2017 on allocating the budget: the split with the least variance of the comparison.
    """
    ratio = Fraction(round(64 * float(moves) ** (2 / 3)), 64)
    rest = Fraction(1, 2) if numeric else Fraction(1)
    return rest / (1 + ratio), rest * ratio / (1 + ratio), 1 - rest


def _read_epsilon(
    epsilon: Real | None, scale: Real | None, moved: Fraction, share: Fraction
) -> Fraction:
    """Epsilon as given, or from the scale of the noise on a question."""
    exactly_one(epsilon=epsilon, scale=scale)
    if epsilon is not None:
        return positive(epsilon, "epsilon")
    return moved / positive(0 if scale is None else scale, "scale") / share
