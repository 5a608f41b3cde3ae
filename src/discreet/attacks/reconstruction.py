"""What all attacks share that rebuild a column of secret bits from sums over subsets."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.checked_answers import check_effort, numbers
from discreet.attacks.claims import Promise, check_prior
from discreet.attacks.outcome import Outcome
from discreet.attacks.simulation import Bits, Reals, SplitMix64
from discreet.errors import InputError

SubsetSum: TypeAlias = Callable[[NDArray[np.bool_]], float]
"""A system that says about how many of the people in a subset have the secret."""


@dataclass(frozen=True, slots=True)
class Reconstruction(ABC):
    """Guesses everybody's secret bit from answers to subset questions.

    `secret` is for scoring alone; the attacker's part is `guess`, which never sees it. `prior` is
    how probable a 1 is to who has seen no answers: who has, guesses a skewed secret well anyhow.
    """

    secret: Bits
    promise: Promise = field(default_factory=Promise)
    seed: int = 0
    prior: float = 0.5

    def __post_init__(self) -> None:
        bits = np.asarray(self.secret)
        if bits.ndim != 1 or bits.size == 0 or not np.isin(bits, (0, 1)).all():
            raise InputError(
                "secret is not a list of bits",
                why="the attack rebuilds one bit a person",
                fix="pass zeros and ones, one a person",
            )
        check_prior(self.prior, float(bits.mean()), bits.size)

    def run(self, target: SubsetSum, effort: int) -> Outcome:
        """Ask `effort` questions, guess, and score: the share of people whose bit is right."""
        check_effort(effort, "questions")
        guess = self.guess(target, effort)
        right = float(np.mean(guess == np.asarray(self.secret)))
        chance = max(self.prior, 1 - self.prior)
        return Outcome(right, chance, self.promise.of_bit(self.prior), self.people)

    @property
    def people(self) -> int:
        """How many people there are; public."""
        return int(np.asarray(self.secret).size)

    @abstractmethod
    def guess(self, target: SubsetSum, effort: int) -> Bits:
        """Everybody's bit, as the answers suggest."""

    def questions(self, effort: int) -> NDArray[np.bool_]:
        """The subsets that are asked about, a row each; they wait for no answer."""
        return SplitMix64(self.seed).bits(effort, self.people).astype(np.bool_)

    def ask(self, target: SubsetSum, effort: int) -> tuple[NDArray[np.bool_], Reals]:
        """The subsets and what was answered to them."""
        subsets = self.questions(effort)
        return subsets, np.array([numbers(target(subset)) for subset in subsets])
