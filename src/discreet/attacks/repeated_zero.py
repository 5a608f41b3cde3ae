"""Ask again about something that is zero, until the noise is finer than any other sum can be."""

from dataclasses import dataclass, field

import numpy as np

from discreet.attacks.checked_answers import check_effort, numbers
from discreet.attacks.claims import Promise
from discreet.attacks.low_bits import Noisy
from discreet.attacks.outcome import Outcome

_LAST = 2.0**53
TRIALS = 500
"""Counts of 0, and as many of 1, that are attacked."""


@dataclass(frozen=True, slots=True)
class RepeatedZero:
    """Proves from `effort` answers that a count was 0 and not 1, whatever made the noise.

    Doubles near 0 have bits far below 2^-53. Noise added to 0 keeps them; noise added to 1 loses
    them when the sum is rounded, and no answer within 1/2 of 0 has one. The noise itself may be
    perfect: the addition tells. Each answer is a fresh chance for the event. Answers that are all
    0, to the last bit, prove it too: nothing was added.

    Reference: Haney, Desfontaines, Hartman, Shrestha, Hay 2022, Precision-based Attacks and
    Interval Refining.
    """

    promise: Promise = field(default_factory=Promise)

    def run(self, target: Noisy, effort: int = 20) -> Outcome:
        """How often `effort` answers about 0 hold the event, beside as many about 1."""
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
