"""Membership inference from many published means."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from discreet.attacks.outcome import Outcome, Promise, numbers, pool
from discreet.attacks.simulation import Bits, Reals, SplitMix64
from discreet.errors import InputError

Means: TypeAlias = Callable[[Bits], Reals]
"""A study: rows of bits come in, one a person; about the mean of every column comes out."""

RATE = 0.01
"""The share of strangers who may be mistaken for members."""


@dataclass(frozen=True, slots=True)
class Tracing:
    """Membership inference: tells members of a study from strangers by how means lean to them.

    People have `attributes` independent bits with known frequencies p. The score of y is the sum
    of (y_j - p_j)(mean_j - p_j)/(p_j (1 - p_j)). Its mean is attributes/n for a member and 0 for a
    stranger, so exact means are traced at a rate near Phi(sqrt(attributes/n) - 2.33).

    The bound holds for one person added or removed. To a study without y, y is a stranger like the
    others, and scores above the k-th highest of m of them with probability k/(m + 1), which is the
    baseline. With y in the study that grows by e^epsilon (+ delta) at most.

    Example:
        >>> Tracing(people=100).run(lambda members: members.mean(axis=0)).success > 0.5
        True

    Reference: Homer et al. 2008; Dwork, Smith, Steinke, Ullman, Vadhan 2015, Robust Traceability.
    """

    people: int = 100
    attributes: int = 1000
    strangers: int = 2000
    promise: Promise = field(default_factory=Promise)
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.people, self.attributes) < 1 or self.strangers * RATE < 1:
            raise InputError(
                "too few people, attributes or strangers",
                why=f"the threshold lets a share of {RATE} of the strangers pass",
                fix=f"take at least {round(1 / RATE)} strangers",
            )

    def run(self, target: Means, effort: int = 1) -> Outcome:
        """Trace everybody in `effort` studies: the share of members found, 1 % of strangers too."""
        draws = SplitMix64(self.seed)
        return pool(self._study(target, draws.split()) for _ in range(effort))

    def _study(self, target: Means, draws: SplitMix64) -> Outcome:
        share = 0.1 + 0.8 * draws.uniform(self.attributes)
        members = self._bits(share, self.people, draws)
        lean = (numbers(target(members), self.attributes) - share) / (share * (1 - share))
        strangers = (self._bits(share, self.strangers, draws) - share) @ lean
        place = int(RATE * (self.strangers + 1))
        bar = np.sort(strangers)[-place]
        found = float(np.mean((members - share) @ lean > bar))
        chance = place / (self.strangers + 1)
        return Outcome(found, chance, self.promise.of_event(chance), self.people)

    @staticmethod
    def _bits(share: Reals, people: int, draws: SplitMix64) -> Bits:
        return (draws.uniform(people, share.size) < share).astype(np.int64)
