"""How much of one person an answer may hold, and which law of noise that suits best.

A limit that is too low leaves people out; one that is too high pays for people who do not exist.
Where the owner has not said it, a small part of the budget buys histograms of people: by rows in
all (l1), by rows over their groups (l2), by groups (l0). A person is in one bucket of each. What
follows reads these noisy histograms, and public facts, alone.
"""

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from discreet.plan.schema import Limits

LADDER: tuple[int, ...] = tuple(sorted({math.ceil(2 ** (j / 4)) for j in range(81)}))
"""Limits to choose from: up to 2^20, each about a fifth above the last."""


BLIND = 16
"""The limit that is taken where too little was paid to learn how much one person has."""


class Law(Enum):
    """The law of the noise."""

    LAPLACE = "Laplace"
    GAUSSIAN = "Gaussian"


@dataclass(frozen=True, slots=True)
class Weighing:
    """What one person weighs at most over all groups, in the norm of the law.

    `rows` bounds the norm of their rows in each group: l1 for Laplace noise, l2 for Gaussian noise.
    `groups` bounds how many groups they count in as a person: its l1 norm, and its l2 norm squared.
    """

    law: Law
    rows: int
    groups: int


@dataclass(frozen=True, slots=True)
class Spread:
    """A released histogram of people over the ladder, and the scale of the noise on each bucket.

    A bucket holds people whose norm first fits that step; one more holds those beyond the ladder.
    """

    people: NDArray[np.float64]
    scale: float

    def settled(self) -> NDArray[np.float64]:
        """The histogram without what noise alone could have made: a false bucket once in 100."""
        floor = self.scale * math.log(100 * len(self.people))
        return np.where(self.people > floor, self.people, 0.0)

    def beyond(self, limit: int) -> float | None:
        """The share of people whose norm is above a step of the ladder; None where nothing shows.

        Made from the released histogram, so it costs nothing more.
        """
        people = self.settled()
        total = float(people.sum())
        return float(people[LADDER.index(limit) + 1 :].sum()) / total if total else None


@dataclass(frozen=True, slots=True)
class Choice:
    """A limit and its expected error, relative to a typical group."""

    limit: int
    error: float


def by_row(law: Law) -> Weighing:
    """A row is in one group and weighs one."""
    return Weighing(law, 1, 1)


def stated(limits: Limits, law: Law) -> Weighing:
    """The limits that somebody has stated, in the norm of a law."""
    groups, rows = limits.max_groups or 1, limits.max_rows or 1
    if law is Law.LAPLACE:
        return Weighing(law, groups * rows, groups)
    return Weighing(law, math.isqrt(groups * rows * rows - 1) + 1, groups)


def middles() -> NDArray[np.float64]:
    """A typical norm in each bucket: between its step and the one before."""
    steps = np.array([*LADDER, 2 * LADDER[-1]], dtype=np.float64)
    before = np.array([1, *LADDER], dtype=np.float64)
    return np.sqrt(steps * before)


def choose(spread: Spread, noise: float, groups: int, *, root: bool = False) -> Choice:
    """The step of the ladder with the least noise and bias in a typical group.

    With `root`, the norm that noise pays for is the root of what the ladder measures.
    """
    people, norms, steps = spread.settled(), middles(), np.array(LADDER, dtype=np.float64)
    if root:
        norms, steps = np.sqrt(norms), np.sqrt(steps)
    total = float(people @ norms)
    if total == 0:
        # Nothing rises above the noise. Wide error bars are honest; leaving people out is not.
        blind = LADDER.index(BLIND)
        return Choice(BLIND, float(steps[blind]) * noise * groups)
    lost = np.maximum(norms - steps[:, None], 0.0) @ people
    errors = (steps * noise * groups + lost) / total
    best = int(np.argmin(errors))
    return Choice(LADDER[best], float(errors[best]))
