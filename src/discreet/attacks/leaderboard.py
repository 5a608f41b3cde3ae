"""Climbing a leaderboard without looking at the data."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from discreet.attacks.outcome import Outcome, Promise, check_effort, numbers
from discreet.attacks.simulation import Bits, SplitMix64

Board: TypeAlias = Callable[[Bits], float]
"""A leaderboard: predicted bits come in, about the share that is right comes out."""


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """Submits random predictions and takes their majority, with the sign that the scores suggest.

    On the labels behind the board the majority is right about Phi(sqrt(2 submissions/(pi n))) of
    the time, and anywhere else half the time. `target` makes a board from the true labels. Success
    is the share of them that the majority has right: what was learnt about them.

    Reference: Blum, Hardt 2015, The Ladder, Section on the boosting attack.
    """

    examples: int = 1000
    promise: Promise = field(default_factory=Promise)
    seed: int = 0

    def run(self, target: Callable[[Bits], Board], effort: int = 2000) -> Outcome:
        """Make `effort` submissions to one board."""
        check_effort(effort, "submissions")
        labels, coins = SplitMix64(self.seed).bits(2, self.examples)
        board = target(labels)
        votes = np.zeros(self.examples)
        for guess in self._submitted(effort):
            votes += (2 * guess - 1) * np.sign(numbers(board(guess)) - 0.5)
        final = np.where(votes == 0, coins, votes > 0)
        learnt = float(np.mean(final == labels))
        return Outcome(learnt, 0.5, self.promise.of_bit(), self.examples)

    def submissions(self, effort: int) -> Bits:
        """All submissions, a row each; none depends on a score."""
        return np.stack(list(self._submitted(effort)))

    def _submitted(self, effort: int) -> Iterator[Bits]:
        draws = SplitMix64(self.seed)
        draws.words(2 * self.examples)  # the labels, and a coin for each
        return (draws.bits(self.examples) for _ in range(effort))
