"""How much of one person an answer may hold: the limits, and the norms that they bound.

A limit that is too low leaves rows out; one that is too high pays for people who do not exist.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.plan.bounding import NoiseKind

Floats = NDArray[np.float64]

LADDER: tuple[int, ...] = tuple(sorted({math.ceil(2 ** (j / 4)) for j in range(81)}))
"""Limits to choose from: up to 2^20, each about a fifth above the last."""

ALLOWED = "intervals allow for what that cuts off"
"""How the note of an answer begins to say so; answers that older versions stored do not."""

BLIND = 16
"""The limit that is taken where too little was paid to learn how much one person has."""


@dataclass(frozen=True, slots=True)
class RowNorm:
    """A person's rows over all groups: their sum (l1) for Laplace, l2 for Gaussian noise."""

    noise_kind: NoiseKind
    groups: int

    @property
    def name(self) -> str:
        """Column name in the engine."""
        return "l1" if self.noise_kind is NoiseKind.LAPLACE else "l2"

    @property
    def steps(self) -> tuple[int, ...]:
        """Limits to choose from."""
        return LADDER

    @property
    def bounds(self) -> tuple[int, ...]:
        """The limits as the engine compares them: it holds l2 squared."""
        power = 1 if self.noise_kind is NoiseKind.LAPLACE else 2
        return tuple(step**power for step in LADDER)

    def noise(self, limits: Floats) -> Floats:
        """How noise grows with the limit."""
        return limits

    def counted(self, norms: Floats) -> Floats:
        """The rows of people with these norms.

        Why: with an l2 norm x, a person with rows in k groups has at most x sqrt(k) of them, in at
        most x^2 groups. The most is taken: a little more noise is better than an unseen bias.
        """
        if self.noise_kind is NoiseKind.LAPLACE:
            return norms
        return np.asarray(norms * np.minimum(norms, math.sqrt(self.groups)))

    def lost(self, norms: Floats, limit: float) -> Floats:
        """The rows that the weight limit/norm takes from people with these norms."""
        return np.asarray(self.counted(norms) * (1 - np.minimum(limit / norms, 1.0)))


@dataclass(frozen=True, slots=True)
class GroupNorm:
    """How many groups a person is in; where groups are `found`, they are left some and no more."""

    noise_kind: NoiseKind
    groups: int
    found: bool

    @property
    def name(self) -> str:
        """Column name in the engine."""
        return "l0"

    @property
    def steps(self) -> tuple[int, ...]:
        """Limits to choose from: no higher than the number of groups where that is public."""
        if self.found:
            return LADDER
        return (*(step for step in LADDER if step < self.groups), self.groups)

    @property
    def bounds(self) -> tuple[int, ...]:
        """The limits as the engine compares them."""
        return self.steps

    def noise(self, limits: Floats) -> Floats:
        """How noise grows with the limit."""
        return limits if self.noise_kind is NoiseKind.LAPLACE else np.sqrt(limits)

    def counted(self, norms: Floats) -> Floats:
        """The groups of people with these norms."""
        return norms

    def lost(self, norms: Floats, limit: float) -> Floats:
        """How many groups less these people count in: weights are limit/norm, or its root."""
        share = np.minimum(limit / norms, 1.0)
        kept = share if self.found or self.noise_kind is NoiseKind.LAPLACE else np.sqrt(share)
        return np.asarray(norms * (1 - kept))


Norm = RowNorm | GroupNorm


@dataclass(frozen=True, slots=True)
class ClippedShare:
    """The share clipped by a limit that the system chose, estimated from the released histogram.

    About a `share` of people is over the limit, give or take `error` (95 times in 100). At most a
    share `lost` of all rows (or of people in groups) is cut off, if the tail goes on as far out as
    it is seen to fall, or, whatever it does, if nobody has more than `most`.
    """

    share: float
    error: float
    lost: float
    most: int

    def __str__(self) -> str:
        return share_text(self.share, self.error)


def share_text(share: float, error: float) -> str:
    """A share with its error; one that may be nearly anything is called unknown."""
    if error >= 0.5:
        return "an unknown share"
    return f"{100 * share:.1f} % \N{PLUS-MINUS SIGN} {100 * error:.1f} %"
