"""Climbing a leaderboard without looking at the data."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from discreet.attacks.outcome import Outcome, pool
from discreet.attacks.simulation import Bits, Draws
from discreet.errors import InputError

Board: TypeAlias = Callable[[Bits], float]
"""A leaderboard: predicted bits come in, about the share that is right comes out."""


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """Submits random predictions and takes the majority of those that scored above a half.

    The public score of the majority climbs to about Phi(sqrt(submissions/(pi n))) while it knows
    nothing about other examples. `target` makes a board from the true labels. Success is the
    majority's true accuracy on the labels behind the board: what was learnt about them. The
    baseline is a coin's; `bound` is the baseline plus `tolerance`.

    Reference: Blum, Hardt 2015, The Ladder, Section on the boosting attack.
    """

    examples: int = 4000
    tolerance: float = 0.03
    seed: int = 0

    def run(self, target: Callable[[Bits], Board], effort: int = 400) -> Outcome:
        """Make `effort` submissions to one board."""
        if effort < 1:
            raise InputError(
                f"effort is {effort}", why="it counts submissions", fix="submit at least once"
            )
        return pool([self._climb(target, effort)])

    def _climb(self, target: Callable[[Bits], Board], effort: int) -> Outcome:
        draws = Draws(self.seed)
        labels = draws.bits(self.examples)
        board = target(labels)
        votes = np.zeros(self.examples)
        for _ in range(effort):
            guess = draws.bits(self.examples)
            votes += (2 * guess - 1) * np.sign(board(guess) - 0.5)
        final = np.where(votes == 0, draws.bits(self.examples), votes > 0)
        learnt = float(np.mean(final == labels))
        return Outcome(learnt, 0.5, min(1.0, 0.5 + self.tolerance), self.examples)
