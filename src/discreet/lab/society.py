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
from discreet.errors import InputError
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
    """Places of one size: 95 of 100 counts are within `half_width` of the truth."""

    name: str
    places: int
    people: float
    half_width: float

    @property
    def percent(self) -> float:
        """The same in per cent of the people in such a place."""
        return 100 * self.half_width / self.people


@dataclass(frozen=True, slots=True)
class TownRelease:
    """A town as it is and as it is published; `found` of 100 are pointed at, at most."""

    epsilon: Fraction
    levels: tuple[Level, ...]
    truth: tuple[int, ...]
    published: tuple[int, ...]
    misplaced: float
    found: float


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
    if price > 100:
        raise InputError(
            f"epsilon is {float(price)}", why="a town is shown up to 100", fix="pass a smaller one"
        )
    blocks, noise = town(), Laplace(epsilon=price / 3, sensitivity=1)
    width, everybody = noise.error(Fraction(19, 20)), int(blocks.sum())
    many = {"the town": 1, "a quarter": 4, "a block": SIDE**2}
    released = np.asarray(noise.release(blocks.ravel()))
    return TownRelease(
        price,
        tuple(Level(name, places, everybody / places, width) for name, places in many.items()),
        tuple(blocks.ravel().tolist()),
        tuple(map(int, released)),
        _misplaced(blocks.ravel(), released),
        100 * Promise(float(price)).of_event(ALARMS / 100),
    )


def _misplaced(truth: Bits, published: Bits) -> float:
    """Of 100 coins handed out by published heads, how many land in the wrong block."""
    heads = np.maximum(published, 0)
    if not heads.sum():
        return 100.0
    return float(50 * np.abs(heads / heads.sum() - truth / truth.sum()).sum())


def frontier() -> list[tuple[float, float, float]]:
    """Epsilon, people of 100 who are pointed at, at most, and how far off a block is on average.

    At every stop of `EPSILONS` and in between. The mean of |noise| is 2r/(1 - r^2) with
    r = e^(-epsilon/3); exact, and in per cent of a block.
    """
    people, stops = float(town().mean()), list(map(float, EPSILONS))
    fine = [low * (high / low) ** (i / FINE) for low, high in pairwise(stops) for i in range(FINE)]
    points = []
    for epsilon in [*fine, stops[-1]]:
        ratio = math.exp(-epsilon / 3)
        off = 100 * 2 * ratio / (1 - ratio**2) / people
        points.append((epsilon, 100 * Promise(epsilon).of_event(ALARMS / 100), off))
    return points
