"""Naming the people of a block from noisy counts of every age and kind."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from discreet.attacks.census import BLOCK, KINDS, LARGEST, OLDEST, Person
from discreet.attacks.checked_answers import check_effort, numbers
from discreet.attacks.claims import Promise
from discreet.attacks.outcome import Outcome
from discreet.attacks.simulation import Reals, SplitMix64


@dataclass(frozen=True, slots=True)
class CensusCounts:
    """Names the `LARGEST` likeliest people of a block: those whose counts are highest.

    An office that adds noise need not withhold small groups, so the attacker asks for the smallest
    ones there are. The likelihood that somebody lives there grows with their count, whatever the
    noise is as long as it is symmetric and log-concave. Success is the share of the block's people
    who are named, over `effort` releases of fresh noise; the baseline is that of names drawn
    blindly. Laplace noise on disjoint counts meets the bound nearly: the event that a count is
    among the highest has about e^epsilon times its probability without the person.

    Reference: Abowd et al. 2022, The 2020 Census Disclosure Avoidance System TopDown Algorithm, for
    noisy counts of small groups that are published.
    """

    block: tuple[Person, ...] = BLOCK
    promise: Promise = field(default_factory=Promise)
    seed: int = 0

    def run(self, target: Callable[[], Reals], effort: int = 60) -> Outcome:
        """Name people from each of `effort` tables; a row an age, a column a kind."""
        check_effort(effort, "releases")
        draws, size = SplitMix64(self.seed), (OLDEST + 1) * len(KINDS)
        lived = np.unique([age * len(KINDS) + KINDS.index(kind) for age, kind in self.block])
        rights = 0
        for _ in range(effort):
            counts = numbers(target(), OLDEST + 1, len(KINDS)).ravel()
            # Whole counts are often equal: a coin then, so that no age or kind is preferred.
            named = np.lexsort((draws.uniform(size), counts))[-LARGEST:]
            rights += int(np.isin(lived, named).sum())
        n, chance = effort * lived.size, LARGEST / size
        return Outcome(rights / n, chance, self.promise.of_event(chance), n)
