"""Means of vectors: a direction from public random ones, likelier among those nearest."""

import hashlib
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.errors import InputError
from discreet.local.estimate import MeanEstimate, spread
from discreet.local.protocol import (
    LocalProtocol,
    Statistic,
    as_numbers,
    as_octets,
    likelihood_ratio,
    stored_as,
)
from discreet.local.reports import Octets
from discreet.mechanisms.mechanism import Pair
from discreet.noise.bits import Keystream
from discreet.rationals import whole

_POINTS = 1 << 15
_UNIT = 1 << 20
"""Coordinates of directions are summed in this many steps."""


@stored_as("unit-vector-mean/1")
@dataclass(frozen=True, kw_only=True)
class UnitVectorMean(LocalProtocol):
    """The mean of vectors of length at most 1, by one of `directions` public random directions.

    Guarantee:
        epsilon: a seed, drawn without looking at the vector, names the directions. The `near` ones
        with the largest inner product are each e^epsilon times as likely to be reported as each of
        the others, by coins that are exact. Rounding in the inner products decides which directions
        count as near, and nothing else: the ratio is the same for every choice of them.
    Neighbours:
        The vector is changed to any other.
    Why (it is unbiased):
        Random directions have no preferred axis, so the mean of a report is a multiple of the unit
        vector, and the same multiple for all; it is computed from the law of the order statistics,
        to a thousandth. A shorter vector is first rounded at
        random to plus or minus its direction.

    With many directions this is PrivUnit, whose cap is the set of the near ones.

    Example:
        >>> UnitVectorMean(epsilon=4, dimension=8).width
        9

    Reference: Bhowmick, Duchi, Freudiger, Kapoor, Rogers 2018 (PrivUnit); Shah, Chen, Balle,
    Kairouz, Theis 2022 (candidates from a public seed).
    """

    width: ClassVar[int] = 9
    """A seed and the number of a direction."""

    dimension: int = field()
    directions: int = field(default=64)

    def __post_init__(self) -> None:
        LocalProtocol.__post_init__(self)
        whole(self.dimension, "dimension", at_least=2)
        if not 2 <= whole(self.directions, "directions", at_least=2) <= 256:
            raise InputError(
                f"{self.directions} directions", why="one is named by a byte", fix="pass 2 to 256"
            )

    @property
    def near(self) -> int:
        """How many directions are near: the number with the largest mean inner product."""
        return _best(self.directions, self.dimension, likelihood_ratio(self.epsilon))[0]

    @property
    def length(self) -> float:
        """The mean inner product of a reported direction with a unit vector."""
        return _best(self.directions, self.dimension, likelihood_ratio(self.epsilon))[1]

    @property
    def shape(self) -> tuple[int, ...]:
        """A sum and a sum of squares for each coordinate."""
        return (2, self.dimension)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Opposite vectors."""
        end = [1.0] + [0.0] * (self.dimension - 1)
        return (Pair(end, [-one for one in end]),)

    def read(self, values: Any) -> NDArray[np.float64]:
        """Rows of numbers; longer ones are shortened to 1, NaN is 0."""
        try:
            rows = np.atleast_2d(np.asarray(values, dtype=np.float64))
        except (TypeError, ValueError, OverflowError):
            rows = np.zeros((0, 0))
        if rows.ndim != 2 or rows.shape[1] != self.dimension:
            raise InputError(
                "vectors of another dimension",
                why=f"they have {self.dimension} coordinates",
                fix="pass one vector, or a table with a row each",
            )
        finite = np.clip(np.nan_to_num(rows), -1e100, 1e100)
        lengths = np.linalg.norm(finite, axis=1, keepdims=True)
        return np.asarray(finite / np.maximum(lengths, 1.0))

    def randomize(self, codes: NDArray[Any]) -> Octets:
        """One person at a time: each has directions of their own."""
        n, far = len(codes), self.directions - self.near
        ratio = likelihood_ratio(self.epsilon)
        inside = noise.bernoulli(ratio * self.near / (ratio * self.near + far), size=n)
        picks = (noise.below(self.near, size=n), noise.below(far, size=n))
        seeds = np.asarray(noise.below(1 << 62, size=n))
        lengths = np.linalg.norm(codes, axis=1)
        grid = np.rint((1 + lengths) / 2 * (1 << 30)).astype(np.int64)
        backwards = np.asarray(noise.below(1 << 30, size=n)) >= grid
        chosen = np.empty(n, dtype=np.int64)
        for i in range(n):
            axis = -codes[i] if backwards[i] else codes[i]
            order = np.argsort(-self._directions(int(seeds[i])) @ axis, kind="stable")
            chosen[i] = order[picks[0][i] if inside[i] else self.near + picks[1][i]]
        return np.concatenate([as_octets(seeds, 8), as_octets(chosen, 1)], axis=1)

    def is_valid(self, rows: Octets) -> NDArray[np.bool_]:
        """A direction that exists."""
        return np.asarray((rows[:, 8] < self.directions) & (rows[:, 7] < 64))

    def tally(self, rows: Octets, sums: Statistic) -> None:
        """The sum of the reported directions, and of their squares, on a grid."""
        for seed, which in zip(as_numbers(rows[:, :8]).tolist(), rows[:, 8].tolist(), strict=True):
            one = random_direction(seed, self.directions, self.dimension, which)
            sums += np.rint(np.stack([one, one * one]) * _UNIT).astype(np.int64)

    def estimate(self, statistic: Statistic, n: int, values: Any = None) -> MeanEstimate:
        """The mean vector, and the standard error of each coordinate."""
        totals, squares = statistic[0] / _UNIT, statistic[1] / _UNIT
        errors = [spread(float(t), float(s), n) for t, s in zip(totals, squares, strict=True)]
        return MeanEstimate(totals / max(n, 1) / self.length, np.array(errors) / self.length, n)

    def coded(self, rows: Octets) -> NDArray[Any]:
        """Index of the direction among its group, ordered by first coordinate."""
        ranks = np.empty(len(rows), dtype=np.int64)
        for i, (seed, which) in enumerate(
            zip(as_numbers(rows[:, :8]).tolist(), rows[:, 8].tolist(), strict=True)
        ):
            first = self._directions(seed)[:, 0]
            ranks[i] = int((first > first[which]).sum())
        return ranks

    def _directions(self, seed: int) -> NDArray[np.float64]:
        return random_directions(seed, self.directions, self.dimension)


def random_directions(seed: int, count: int, dimension: int) -> NDArray[np.float64]:
    """Public unit vectors that a seed names: normal numbers by Box and Muller, scaled to 1."""
    return _directions(_words(seed, 2 * count * dimension), count, dimension)


def random_direction(seed: int, count: int, dimension: int, which: int) -> NDArray[np.float64]:
    """One of them, without making the others."""
    words = _words(seed, 2 * count * dimension).reshape(2, count, dimension)[:, which]
    return np.asarray(_directions(words.ravel(), 1, dimension)[0])


def _words(seed: int, size: int) -> NDArray[np.uint64]:
    key = hashlib.sha256(b"discreet.local.directions" + seed.to_bytes(8, "little")).digest()
    return Keystream(key).words(size)


def _directions(words: NDArray[np.uint64], count: int, dimension: int) -> NDArray[np.float64]:
    size = count * dimension
    uniforms = (words.astype(np.float64) + 0.5) * 2.0**-64
    normal = np.sqrt(-2 * np.log(uniforms[:size])) * np.cos(2 * np.pi * uniforms[size:])
    rows = normal.reshape(count, dimension)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def _order_statistics(count: int, dimension: int) -> NDArray[np.float64]:
    """The mean first coordinates of `count` random directions, the largest first.

    An angle to an axis has density sin^(dimension - 2); place i of `count` uniforms a beta law.
    """
    angles = (np.arange(_POINTS) + 0.5) * (np.pi / _POINTS)
    logs = (dimension - 2) * np.log(np.sin(angles))
    density = np.exp(logs - logs.max())
    below = np.cumsum(density) - density / 2
    below /= density.sum()
    places = (np.arange(_POINTS) + 0.5) / _POINTS
    cosines = np.cos(np.interp(places, below, angles))
    found = np.empty(count)
    for i in range(count):
        law = i * np.log(places) + (count - 1 - i) * np.log1p(-places)
        weights = np.exp(law - law.max())
        found[i] = (weights @ cosines) / weights.sum()
    return (found - found[::-1]) / 2


@lru_cache(maxsize=64)
def _best(directions: int, dimension: int, ratio: Fraction) -> tuple[int, float]:
    """The number of near directions, and the mean inner product it gives."""
    ordered = _order_statistics(directions, dimension)
    sums = np.cumsum(ordered)
    near = np.arange(1, directions)
    odds = float(ratio) * near / (float(ratio) * near + directions - near)
    lengths = odds * sums[:-1] / near - (1 - odds) * sums[:-1] / (directions - near)
    best = int(np.argmax(lengths))
    return best + 1, float(lengths[best])
