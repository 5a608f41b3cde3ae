"""One release of a whole town, and what more privacy costs whom: a choice that society makes.

Everybody is counted in the town, in a quarter and in a block; each of the three tables gets a third
of epsilon. Large places hardly notice the noise. Blocks do.

Reference: Abowd, Schmutte 2019, An Economic Analysis of Privacy Protection and Statistical Accuracy
as Social Choices.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from discreet.attacks.outcome import Promise
from discreet.attacks.simulation import Bits, SplitMix64
from discreet.lab.curves import ALARMS
from discreet.mechanisms import Laplace
from discreet.rationals import Real, positive

SIDE = 8
"""Blocks along a side of the town; quarters are half as long."""

FINE = 8
"""Points of the curve from one stop to the next."""

EPSILONS = tuple(map(Fraction, ("1/20", "1/10", "1/4", "1/2", "1", "2", "4", "8", "16")))


@dataclass(frozen=True, slots=True)
class Level:
    """Places of one size: 95 of 100 counts are within `percent` of the people there."""

    name: str
    places: int
    people: float
    percent: float


@dataclass(frozen=True, slots=True)
class TownRelease:
    """A town and its published version, block by block.

    Of 100 coins handed out by published heads `misplaced` land in the wrong block; `found` of 100
    people are pointed at, at most. `frontier` are all choices that there are: epsilon, the same
    `found`, and how far off a block is on average, in per cent.
    """

    epsilon: float
    levels: tuple[Level, ...]
    truth: tuple[int, ...]
    published: tuple[int, ...]
    misplaced: float
    found: float
    frontier: tuple[tuple[float, float, float], ...]


def town() -> Bits:
    """Made-up people, block by block: few at the edge, many in the middle."""
    draws = SplitMix64(2020).uniform(SIDE, SIDE)
    near = np.minimum(np.arange(SIDE), np.arange(SIDE)[::-1])
    return np.asarray(4 + (draws * 12 * (1 + near[:, None]) * (1 + near)).astype(np.int64))


def publish(epsilon: Real) -> TownRelease:
    """Release the town once; noise is fresh on every call.

    Example:
        >>> [level.places for level in publish(1).levels]
        [1, 4, 64]
    """
    price = positive(epsilon, "epsilon")
    blocks, noise = town().ravel(), Laplace(epsilon=price / 3, sensitivity=1)
    width, everybody = 100 * noise.error(Fraction(19, 20)), int(blocks.sum())
    many = {"the town": 1, "a quarter": 4, "a block": blocks.size}
    released = np.asarray(noise.release(blocks))
    heads = np.maximum(released, 0)
    return TownRelease(
        float(price),
        tuple(Level(name, n, everybody / n, width * n / everybody) for name, n in many.items()),
        tuple(blocks.tolist()),
        tuple(map(int, released)),
        # By published heads, so many of 100 coins land in the wrong block.
        float(50 * np.abs(heads / heads.sum() - blocks / everybody).sum())
        if heads.any()
        else 100.0,
        _found(float(price)),
        frontier(),
    )


def _found(epsilon: float) -> float:
    """Of 100 people who joined, the most that an attacker with `ALARMS` false alarms finds."""
    return 100 * Promise(epsilon).of_event(ALARMS / 100)


def frontier() -> tuple[tuple[float, float, float], ...]:
    """Every stop of `EPSILONS`, and points in between.

    The mean of |noise| is 2r/(1 - r^2) with r = e^(-epsilon/3).
    """
    people, stops = float(town().mean()), list(map(float, EPSILONS))
    fine = [low * (high / low) ** (i / FINE) for low, high in pairwise(stops) for i in range(FINE)]
    ratios = [(epsilon, math.exp(-epsilon / 3)) for epsilon in [*fine, stops[-1]]]
    return tuple((one, _found(one), 200 * r / (1 - r**2) / people) for one, r in ratios)
