"""What an attempt to refute a claim has shown."""

import math
from dataclasses import dataclass
from typing import TypeAlias

Curve: TypeAlias = tuple[tuple[float, float], ...]
"""Points (type-I error, type-II error) of an attacker who tells two neighbours apart."""


@dataclass(frozen=True, slots=True)
class Point:
    """One promise out of a guarantee's profile: (epsilon, delta)-differential privacy."""

    epsilon: float
    delta: float

    @property
    def room(self) -> float:
        """The gap that an event of probability 1 on both sides leaves; it shows nothing."""
        return max(self.epsilon - math.log1p(-min(self.delta, 0.999)), 1e-9)

    def reach(self, bound: float) -> float:
        """By how much a certified epsilon exceeds the claimed one, in units of `room`."""
        return (bound - self.epsilon) / self.room


@dataclass(frozen=True, slots=True)
class Evidence:
    """How far one claim is refuted, and by what.

    `bound` is an epsilon below which the claim cannot be true at `point.delta`: certain where the
    method is enumeration, certain but for probability `alpha` where it is sampling.
    `reason` is set where the claim fails otherwise than by a number.
    """

    claim: str
    method: str
    point: Point
    bound: float
    event: str
    alpha: float = 0.0
    samples: int = 0
    curve: Curve = ()
    reason: str = ""

    @property
    def refuted(self) -> bool:
        """Whether the claim is false."""
        return bool(self.reason) or self.bound > self.point.epsilon

    @property
    def reach(self) -> float:
        """How far the certificate goes: -1 shows nothing, above 0 the claim is false."""
        return math.inf if self.reason else self.point.reach(self.bound)


def strongest(evidence: list[Evidence]) -> Evidence:
    """The attempt that came closest, or went furthest."""
    return max(evidence, key=lambda one: (one.reach, one.point.epsilon))
