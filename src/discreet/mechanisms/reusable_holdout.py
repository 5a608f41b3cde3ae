"""A holdout that can be asked again and again without being worn out."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import InputError
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.laplace_tail import failure
from discreet.mechanisms.sparse_vector import SparseVector
from discreet.privacy import Neighbours, Pure
from discreet.rationals import Real, positive, whole

_STEPS = 1 << 20
"""Values in [0, 1] are rounded to this many steps, each by itself, and summed as integers."""


class ReusableHoldout:
    """Thresholdout: says the training mean of a query unless it differs from the holdout's.

    Guarantee:
        Pure epsilon for the holdout examples, over all answers together, however the queries are
        chosen: half of it for a sparse vector over |training mean - holdout mean|, half for noisy
        holdout means at its hits. After `hits` of them every query is refused. Training examples
        are not protected.
    Neighbours:
        Holdouts of the same size that differ in one example; the size is public.
    Why:
        A query gives every example a number in [0, 1] that depends on that example alone, so one
        example moves the holdout mean and its distance from the training mean by at most 1/size.
        What is said below the threshold is a function of training data. Privacy is what keeps the
        holdout fresh: nobody can learn enough about its examples to overfit to them.
    Edge cases:
        Values are clamped to [0, 1]; NaN is 0. A query is code of the analyst's that sees the
        holdout: one that mixes examples, or fails on some of them, is outside the guarantee. A run
        can be neither copied nor pickled.

    Example:
        >>> train, holdout = np.zeros(4000), np.ones(4000)
        >>> judge = ReusableHoldout(train, holdout, threshold=0.1, epsilon=1, hits=3)
        >>> judge.ask(lambda examples: np.full(len(examples), 0.25))
        0.25
        >>> abs(judge.ask(lambda examples: examples) - 1) < 0.2, judge.hits_left
        (True, 2)

    Reference: Dwork, Feldman, Hardt, Pitassi, Reingold, Roth 2015, The Reusable Holdout: Preserving
    Validity in Adaptive Data Analysis, Algorithm Thresholdout; the privacy is that of
    `SparseVector` and `Laplace`.
    """

    __slots__ = ("_answers", "_guard", "_holdout", "_run", "_train", "size")

    def __init__(
        self, train: Any, holdout: Any, *, threshold: Real, epsilon: Real, hits: int = 10
    ) -> None:
        total, count = positive(epsilon, "epsilon"), whole(hits, "hits", at_least=1)
        self.size = _size(holdout)
        one = Fraction(1, self.size)
        change = Neighbours.CHANGE_ONE
        self._train, self._holdout = train, holdout
        self._guard = SparseVector(
            threshold=positive(threshold, "threshold"),
            epsilon=total / 2,
            hits=count,
            sensitivity=one,
            neighbours=change,
        )
        self._answers = Laplace(epsilon=total / 2 / count, sensitivity=one, neighbours=change)
        self._run = self._guard.start()

    @property
    def guarantee(self) -> Pure:
        """What all answers together give away about one holdout example at most."""
        total = self._guard.epsilon + self._guard.hits * self._answers.epsilon
        return Pure(total, neighbours=Neighbours.CHANGE_ONE)

    @property
    def hits_left(self) -> int:
        """How many more times the holdout may contradict the training data."""
        return self._run.hits_left

    def ask(self, query: Callable[[Any], Any]) -> float:
        """About the holdout mean of a query, which maps examples to numbers in [0, 1]."""
        seen = _mean(query(self._train), _size(self._train))
        held = _mean(query(self._holdout), self.size)
        if not self._run.ask(abs(seen - held)):
            return float(seen)
        return float(min(1.0, max(0.0, self._answers.release(held))))

    def error(self, confidence: Real = 0.95, queries: int = 1) -> float:
        """How far each of `queries` answers is from the holdout mean at most, all at once."""
        half = failure(confidence) / 2
        guard = self._guard.error(1 - half, queries)
        answers = self._answers.error(1 - half / self._guard.hits)
        return max(float(self._guard.threshold) + guard, answers)


def _size(examples: Any) -> int:
    """How many examples there are."""
    first = examples[0] if isinstance(examples, tuple) else examples
    count = len(first)
    if count < 1:
        raise InputError("no examples", why="a mean needs some", fix="pass at least one")
    return count


def _mean(values: Any, size: int) -> Fraction:
    """The exact mean of values, each clamped and rounded by itself."""
    read = np.asarray(values, dtype=np.float64)
    if read.shape != (size,):
        raise InputError(
            f"a query with answers of shape {read.shape}",
            why=f"each of the {size} examples gets one number",
            fix="return a flat array, one number in [0, 1] for each example",
        )
    clamped = np.clip(np.nan_to_num(read, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0)
    return Fraction(int(np.rint(clamped * _STEPS).astype(np.int64).sum()), _STEPS * size)
