"""The low-order bits of textbook noise reveal which number it was added to."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.outcome import Outcome, Promise, check_effort, numbers
from discreet.attacks.simulation import Reals
from discreet.errors import InputError

Noisy: TypeAlias = Callable[[int, int], Reals]
"""A mechanism: from a true count and a number of runs to that many noisy answers."""

_NEAR = np.arange(-8, 9)
_COARSE = 2.0**40


@dataclass(frozen=True, slots=True)
class LowBits:
    """Proves from one answer that the count was 0 and not 1.

    The logarithm of the 2^53 doubles (k + 1)/2^53 hits few of the doubles there are, and adding 1
    to it hits others. An answer with low-order bits that 0 + noise can have and 1 + noise cannot
    is a proof. So is 0 itself, to the last bit: noise that fine is next to never nothing, so none
    was added. `scale` is that of the noise. Success is how often the proof is found when the count
    is 0, the baseline how often when it is 1.

    Reference: Mironov 2012, On Significance of the Least Significant Bits for Differential Privacy.
    """

    scale: float = 1.0
    promise: Promise = field(default_factory=Promise)

    def __post_init__(self) -> None:
        if not 0 < self.scale < np.inf:
            raise InputError(
                f"scale is {self.scale}", why="noise has a width", fix="pass scale > 0"
            )

    def run(self, target: Noisy, effort: int = 1000) -> Outcome:
        """Look at `effort` answers about a count of 0, and as many about a count of 1."""
        check_effort(effort, "answers")
        zeros, ones = (
            int(self.proves_zero(numbers(target(count, effort), effort)).sum()) for count in (0, 1)
        )
        bound = self.promise.of_measured(ones, effort)
        return Outcome(zeros / effort, ones / effort, bound, effort)

    def proves_zero(self, answers: Reals) -> NDArray[np.bool_]:
        """Answers whose low-order bits only a count of 0 can have, or that are 0."""
        seen = np.asarray(answers, dtype=np.float64)
        low = seen * _COARSE != np.rint(seen * _COARSE)
        porous = low & self._reachable(seen, 0) & ~self._reachable(seen, 1)
        return np.asarray(porous | (seen == 0))

    def _reachable(self, answers: Reals, count: int) -> NDArray[np.bool_]:
        """Answers that are count + noise for some uniform double, by trying its neighbours."""
        gap = (answers - count)[:, None]
        nearest = np.rint(np.exp(-np.abs(gap) / self.scale) * 2.0**53)
        uniform = np.clip(nearest + _NEAR, 1, 2.0**53) * 2.0**-53
        noise = np.where(gap < 0, -1, 1) * (-self.scale * np.log(uniform))
        return np.asarray((count + noise == answers[:, None]).any(axis=1))


_LAST = 2.0**53
TRIALS = 500
"""Counts of 0, and as many of 1, that are attacked."""


@dataclass(frozen=True, slots=True)
class RepeatedZero:
    """Proves from `effort` answers that a count was 0 and not 1, whatever made the noise.

    Doubles near 0 have bits far below 2^-53. Noise added to 0 keeps them; noise added to 1 loses
    them when the sum is rounded, and no answer within 1/2 of 0 has one. The noise itself may be
    perfect: the addition reveals it. Each answer is a fresh chance for the event. Answers that are
    all 0, to the last bit, prove it too: nothing was added.

    Reference: Haney, Desfontaines, Hartman, Shrestha, Hay 2022, Precision-based Attacks and
    Interval Refining.
    """

    promise: Promise = field(default_factory=Promise)

    def run(self, target: Noisy, effort: int = 20) -> Outcome:
        """How often `effort` answers about 0 have the event, compared with as many about 1."""
        check_effort(effort, "answers")
        zeros, ones = (self._proofs(target, count, effort) for count in (0, 1))
        bound = self.promise.of_measured(ones, TRIALS)
        return Outcome(zeros / TRIALS, ones / TRIALS, bound, TRIALS)

    @staticmethod
    def _proofs(target: Noisy, count: int, effort: int) -> int:
        answers = numbers(target(count, TRIALS * effort), TRIALS * effort)
        trials = answers.reshape(TRIALS, effort)
        fine = (np.abs(trials) < 0.5) & (trials * _LAST != np.rint(trials * _LAST))
        return int((fine.any(axis=1) | (trials == 0).all(axis=1)).sum())
