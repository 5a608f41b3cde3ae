"""A holdout that can be asked again and again without being worn out."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.mechanisms.comparison_laws import PlacedAnswers
from discreet.mechanisms.grid import grid_below
from discreet.mechanisms.interaction import Interaction
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.mechanism import Claim, Law, Mechanism, Pair, View, fill
from discreet.mechanisms.median import one_number
from discreet.mechanisms.sparse_vector import SparseVector
from discreet.privacy import Neighbours, Pure
from discreet.privacy.numerics.rounding import Interval
from discreet.rationals import Real, failure, positive, probability, whole

Query: TypeAlias = Callable[[Any], Any]
"""What gives every example a number in [0, 1] that depends on that example alone."""

_STEPS = 1 << 20
"""Values in [0, 1] are each rounded to this many steps, and summed as integers."""


class HoldoutAnswer(NamedTuple):
    """About the holdout mean of a query, and whether the holdout spoke or the training data."""

    mean: float
    contradicted: bool


@dataclass(frozen=True, slots=True, init=False)
class Thresholdout(Mechanism):
    """Answers queries with their training mean unless that differs from the holdout's.

    Guarantee:
        Pure epsilon for the holdout examples, over all answers together, however the queries are
        chosen: half of it for a sparse vector over |training mean - holdout mean|, half for noisy
        holdout means at its hits, `hits` of them at most. Training examples are not protected.
    Neighbours:
        Holdouts of `size` examples that differ in one of them; the size is public.
    Why:
        A query gives every example a number in [0, 1] that depends on that example alone, so one
        example moves the holdout mean and its distance from the training mean by at most 1/size.
        What is said below the threshold is a function of training data.
    Edge cases:
        Values are clamped to [0, 1]; NaN is `default`. A query is code that sees the holdout: one
        that mixes examples, or fails on some of them, is outside the guarantee; what it raises is
        not passed on.

    Example:
        >>> rule = Thresholdout(size=4000, threshold=0.1, epsilon=1, hits=3)
        >>> train, holdout = np.zeros(4000), np.ones(4000)
        >>> quarter = lambda examples: np.full(len(examples), 0.25)
        >>> rule.release((train, holdout, [quarter]))
        [HoldoutAnswer(mean=0.25, contradicted=False)]

    Reference: Dwork, Feldman, Hardt, Pitassi, Reingold, Roth 2015, The Reusable Holdout: Preserving
    Validity in Adaptive Data Analysis (Thresholdout); the privacy is that of `SparseVector` and
    `Laplace`.
    """

    size: int
    guard: SparseVector
    answers: Laplace
    default: Fraction

    def __init__(
        self, *, size: int, threshold: Real, epsilon: Real, hits: int = 10, default: Real = 0
    ) -> None:
        total, count = positive(epsilon, "epsilon"), whole(hits, "hits", at_least=1)
        one = Fraction(1, whole(size, "size", at_least=1))
        public, change = grid_below(one / _STEPS), Neighbours.CHANGE_ONE
        guard = SparseVector(
            threshold=positive(threshold, "threshold"),
            epsilon=total / 2,
            hits=count,
            sensitivity=one,
            grid=public,
            neighbours=change,
        )
        answers = Laplace(
            epsilon=total / 2 / count, sensitivity=one, grid=public, neighbours=change
        )
        fill(
            self,
            size=int(1 / one),
            guard=guard,
            answers=answers,
            default=probability(default, "default"),
        )

    @property
    def guarantee(self) -> Pure:
        """The composed guarantee of all answers for one holdout example."""
        total = self.guard.epsilon + self.guard.hits * self.answers.epsilon
        return Pure(total, neighbours=Neighbours.CHANGE_ONE)

    def start(self, train: Any, holdout: Any) -> "ReusableHoldout":
        """A holdout that is asked one query at a time; paid for by one `guarantee`."""
        return ReusableHoldout.under(self, train, holdout)

    def release(self, value: tuple[Any, Any, Sequence[Query]]) -> list[HoldoutAnswer]:
        """Answers to queries, in their order, up to and with the last hit there may be.

        The value is training examples, holdout examples and the queries.
        """
        train, holdout, queries = _triple(value)
        judge = self.start(train, holdout)
        answers: list[HoldoutAnswer] = []
        while (left := judge.hits_left) and len(answers) < len(queries):
            mean = judge.ask(queries[len(answers)])
            answers.append(HoldoutAnswer(mean, contradicted=judge.hits_left < left))
        return answers

    def error(self, confidence: Real = 0.95, queries: int = 1) -> float:
        """How far each of `queries` answers is from the holdout mean at most, all at once."""
        half = failure(confidence) / 2
        guard = Fraction(self.guard.error(1 - half, queries)) + self.guard.threshold
        answers = self.answers.error(1 - half / self.guard.hits)
        return min(1.0, max(Interval.of(guard).upper, answers))

    @property
    def claim(self) -> Claim:
        """Queries that one example pulls over the threshold, and some that it pulls under it.

        Rows of one mark a query (1 contradicted, 0 not, -1 not asked), then the means (or 0).
        """
        far = self._far
        holdouts = [[3] * far + [0] * (self.size - 1 - far) + [moved] for moved in (1, 2)]
        few = min(self.guard.hits, 3)
        up, down, odd = ((_Scores(row),) for row in ((0, 0, 1, 1), (0, 1, 0, 1), _ODD))
        pairs = [
            Pair(*(([0] * self.size, holdout, queries) for holdout in holdouts))
            for queries in (up * 5 + down * few, down * (3 + few), odd * (3 + few))
        ]
        name, views = "Thresholdout", (View(self._placed.read, self._law),)
        return Claim(name, self.guarantee, tuple(pairs), self._draw, code=self._code, views=views)

    @property
    def _far(self) -> int:
        """How many examples an audit separates from the training data: one more tips it."""
        return min(self.size - 1, int(self.guard.threshold * self.size) + 1)

    @property
    def _placed(self) -> PlacedAnswers:
        """A hit by where its mean is, beside the two that the example makes of the holdout."""
        grid = self.answers.grid
        means = (Fraction(self._far + more, self.size) for more in (0, 1))
        low, high = (one_number(grid.index(mean)) for mean in means)
        return PlacedAnswers((low, high), self.answers.scale / grid.step, grid)

    def _law(self, value: tuple[Any, Any, Sequence[Query]]) -> Law:
        """The law of the marks, and of a fresh noisy mean at every hit."""
        train, holdout, queries = value
        means = [self.means(query, train, holdout) for query in queries]
        marks = self.guard.law_of_marks(self.guard.bars([abs(a - b) for a, b in means]))
        return self._placed.law(marks, [one_number(self.answers.grid.index(b)) for _, b in means])

    def means(self, query: Query, train: Any, holdout: Any) -> tuple[Fraction, Fraction]:
        """The exact training mean and holdout mean of a query."""
        seen = _mean(query, train, _size(train), self.default)
        return seen, _mean(query, holdout, self.size, self.default)

    def said(self, held: Fraction, runs: int) -> NDArray[np.float64]:
        """That many noisy holdout means."""
        drawn: NDArray[np.float64] = np.asarray(self.answers.draw(held, runs), dtype=np.float64)
        return np.clip(drawn, 0.0, 1.0)

    def _draw(self, value: tuple[Any, Any, Sequence[Query]], runs: int) -> NDArray[np.float64]:
        train, holdout, queries = value
        means = [self.means(query, train, holdout) for query in queries]
        marks, _ = self.guard.runs(self.guard.bars([abs(a - b) for a, b in means]), runs)
        said = [
            np.where(mark == 1, self.said(held, runs), np.where(mark == 0, float(seen), 0.0))
            for mark, (seen, held) in zip(marks.T, means, strict=True)
        ]
        return np.stack([*marks.T.astype(np.float64), *said], axis=1)

    def _code(
        self, value: tuple[Any, Any, Sequence[Query]], answers: list[HoldoutAnswer]
    ) -> list[float]:
        unasked = len(value[2]) - len(answers)
        marks, means = ([float(one[part]) for one in answers] for part in (1, 0))
        return marks + [-1.0] * unasked + means + [0.0] * unasked


class ReusableHoldout(Interaction):
    """A `Thresholdout` in use: a holdout, and what is left of its guarantee.

    Guarantee:
        That of `Thresholdout`, for all answers together. After `hits` contradictions every query
        is refused. Privacy is what keeps the holdout fresh: nobody can learn enough about its
        examples to overfit to them.
    Neighbours:
        Holdouts of the same size that differ in one example; the size is public.
    Edge cases:
        Examples are an array, a list, or a tuple of arrays (features and labels). A holdout in use
        can be neither copied nor pickled.

    Example:
        >>> train, holdout = np.zeros(4000), np.ones(4000)
        >>> judge = ReusableHoldout(train, holdout, threshold=0.1, epsilon=1, hits=3)
        >>> judge.ask(lambda examples: np.full(len(examples), 0.25))
        0.25
        >>> abs(judge.ask(lambda examples: examples) - 1) < 0.2, judge.hits_left
        (True, 2)

    Reference: as for `Thresholdout`.
    """

    __slots__ = ("_holdout", "_run", "_train")

    rule: Thresholdout

    def __init__(
        self, train: Any, holdout: Any, *, threshold: Real, epsilon: Real, hits: int = 10
    ) -> None:
        size = _size(holdout)
        self._begin(
            Thresholdout(size=size, threshold=threshold, epsilon=epsilon, hits=hits), train, holdout
        )

    @classmethod
    def under(cls, rule: Thresholdout, train: Any, holdout: Any) -> "ReusableHoldout":
        """A holdout under an existing rule, of the size that the rule was made for."""
        if _size(holdout) != rule.size:
            raise InputError(
                "the holdout has another size",
                why="noise and guarantee were settled for one size, which is public",
                fix=f"pass {rule.size} holdout examples, or make a rule for their number",
            )
        judge = cls.__new__(cls)
        judge._begin(rule, train, holdout)  # noqa: SLF001 - it is one of these
        return judge

    def _begin(self, rule: Thresholdout, train: Any, holdout: Any) -> None:
        Interaction.__init__(self, rule)
        self._train, self._holdout = train, holdout
        self._run = rule.guard.start()

    @property
    def size(self) -> int:
        """How many examples the holdout has."""
        return self.rule.size

    @property
    def guarantee(self) -> Pure:
        """The composed guarantee of all answers for one holdout example."""
        return self.rule.guarantee

    @property
    def hits_left(self) -> int:
        """How many more times the holdout may contradict the training data."""
        return self._run.hits_left

    def ask(self, query: Query) -> float:
        """The approximate holdout mean of a query, which maps examples to numbers in [0, 1]."""
        return float(self._next(query))

    def asked(self, values: Sequence[Query]) -> tuple[Any, Any, tuple[Query, ...]]:
        """Training examples, holdout examples and the queries, in their order."""
        return self._train, self._holdout, tuple(values)

    def _admit(self) -> None:
        self._run._admit()  # noqa: SLF001 - what is left is what is left of the sparse vector

    def _answer(self, value: Query) -> float:
        seen, held = self.rule.means(value, self._train, self._holdout)
        if not self._run.ask(abs(seen - held)):
            return float(seen)
        return float(self.rule.said(held, 1)[0])

    def _note(self, answer: Any) -> None:
        """The sparse vector has noted it."""

    def error(self, confidence: Real = 0.95, queries: int = 1) -> float:
        """How far each of `queries` answers is from the holdout mean at most, all at once."""
        return self.rule.error(confidence, queries)


@dataclass(frozen=True, slots=True)
class _Scores:
    """The query of an audit: a number for each of four kinds of examples."""

    of_kinds: tuple[float, ...]

    def __call__(self, examples: Any) -> NDArray[np.float64]:
        return np.asarray(np.array(self.of_kinds)[np.asarray(examples)], dtype=np.float64)


_ODD = (-1e300, math.nan, 1e300, math.inf)
"""Scores that are not shares: read as 0, the default, 1 and 1."""


def _triple(value: Any) -> tuple[Any, Any, Sequence[Query]]:
    if isinstance(value, (tuple, list)) and len(value) == 3:
        train, holdout, queries = value
        if isinstance(queries, (tuple, list)) and all(map(callable, queries)):
            return train, holdout, queries
    raise InputError(
        "data is not training examples, holdout examples and queries",
        why="a holdout answers queries about examples",
        fix="pass (train, holdout, [query, ...]) where a query maps examples to numbers in [0, 1]",
    )


def _size(examples: Any) -> int:
    first = examples[0] if isinstance(examples, tuple) and examples else examples
    count = len(first) if hasattr(first, "__len__") else 0
    if count < 1:
        raise InputError("no examples", why="a mean needs some", fix="pass at least one")
    return count


def _mean(query: Query, examples: Any, size: int, default: Fraction) -> Fraction:
    """The exact mean of a query's values, each clamped and rounded."""
    read = _values(query, examples)
    if read.shape != (size,):
        raise InputError(
            f"a query with answers of shape {read.shape}",
            why=f"each of the {size} examples gets one number",
            fix="return a flat array, one number in [0, 1] for each example",
        )
    finite = np.nan_to_num(read, nan=float(default), posinf=1.0, neginf=0.0)
    steps = np.rint(np.clip(finite, 0.0, 1.0) * _STEPS).astype(np.int64)
    return Fraction(int(steps.sum()), _STEPS * size)


def _values(query: Query, examples: Any) -> NDArray[np.float64]:
    """A query's values on examples, as floats; errors have a fixed text."""
    try:
        answers = np.asarray(query(examples))
        numbers = None if np.iscomplexobj(answers) else answers.astype(np.float64)
    except Exception:  # noqa: BLE001 - what a query raises may quote the holdout
        numbers = None
    if numbers is not None:
        return numbers
    raise InputError(
        "a query failed",
        why="it has to give every example a number, whatever the example",
        fix="try it on training examples first",
    )
