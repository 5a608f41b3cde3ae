"""Ask about everybody, ask about everybody but one, and subtract."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.outcome import Outcome, Promise, check_effort, check_prior, numbers
from discreet.attacks.simulation import Bits, Reals
from discreet.errors import InputError

WardSums: TypeAlias = Callable[[NDArray[np.bool_]], Reals]
"""A system that says, ward by ward, about how many people of a subset have the secret."""


@dataclass(frozen=True, slots=True)
class Differencing:
    """Finds one person's bit in every ward.

    `secret` has a row a ward; the first person of each is the one the attacker is after, and has
    the secret with probability `prior`. Wards have no people in common, so each is a trial of its
    own under one guarantee.

    Example:
        >>> secret = np.array([[1, 0, 1], [0, 1, 1]])
        >>> Differencing(secret).run(lambda who: (secret * who).sum(axis=1), effort=1).success
        1.0
    """

    secret: Bits
    promise: Promise = field(default_factory=Promise)
    prior: float = 0.5

    def __post_init__(self) -> None:
        if np.ndim(self.secret) != 2 or not np.isin(self.secret, (0, 1)).all():
            raise InputError(
                "secret is not a table of bits",
                why="each row is a ward, each column a person in it",
                fix="pass zeros and ones in rows of equal length",
            )
        if self.secret.size == 0:
            raise InputError("nobody has a secret", why="each ward has a target", fix="pass some")
        check_prior(self.prior, float(self.secret[:, 0].mean()), len(self.secret))

    def run(self, target: WardSums, effort: int = 1) -> Outcome:
        """Ask both questions `effort` times and subtract the means."""
        everybody = np.ones(self.secret.shape, dtype=np.bool_)
        others = everybody.copy()
        others[:, 0] = False
        gap = mean_answer(target, everybody, effort) - mean_answer(target, others, effort)
        return self.scored(gap > 0.5)

    def scored(self, guess: NDArray[np.bool_]) -> Outcome:
        """How often the targets' bits were guessed."""
        truth = self.secret[:, 0].astype(np.bool_)
        chance, bound = max(self.prior, 1 - self.prior), self.promise.of_bit(self.prior)
        return Outcome(float(np.mean(guess == truth)), chance, bound, truth.size)


def mean_answer(target: WardSums, subset: NDArray[np.bool_], effort: int) -> Reals:
    """The mean of the answers to the same question, asked again and again."""
    check_effort(effort, "questions")
    total = np.zeros(len(subset))
    for _ in range(effort):
        total += numbers(target(subset), len(subset))
    return total / effort


@dataclass(frozen=True, slots=True)
class Averaging(Differencing):
    """Knows everybody in a ward but one, and asks for the ward's total `effort` times.

    Fresh noise on each answer averages out as 1/sqrt(effort). A curator that stores its answers
    says the same every time, and the hundredth answer tells what the first did.
    """

    def run(self, target: WardSums, effort: int = 1000) -> Outcome:
        """Average, subtract those who are known, and round."""
        everybody = np.ones(self.secret.shape, dtype=np.bool_)
        total = mean_answer(target, everybody, effort)
        return self.scored(total - self.secret[:, 1:].sum(axis=1) > 0.5)
