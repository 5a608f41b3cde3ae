"""A heat map of runs: totals about nobody, and the bases that show on it."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from discreet.attacks.outcome import Outcome, Promise, check_effort, numbers
from discreet.attacks.simulation import Bits, Reals, SplitMix64
from discreet.errors import InputError

SIDE = 16
"""Cells along a side of a remote area."""
CELLS = SIDE * SIDE
ZONE, LEAST = 2, 2
"""Cells around a start that are hidden, and runners below whom a cell stays blank."""
_FLOOR = 1e-3
"""The least variance that is reckoned with where nobody strays and nothing is noisy."""


def _rings() -> Bits:
    """All paths around a base near the middle of an area, a row of zeros and ones each."""
    up, across = np.divmod(np.arange(CELLS), SIDE)
    near = range(SIDE // 2 - 2, SIDE // 2 + 2)
    places = [(y, x, radius) for y in near for x in near for radius in (3, 4, 5)]
    return np.array([np.rint(np.hypot(up - y, across - x)) == r for y, x, r in places], np.int64)


RINGS = _rings()
LONGEST = int(RINGS.sum(axis=1).max())
"""Cells of the longest run."""


@dataclass(frozen=True, slots=True)
class Tracks:
    """Who ran through which cell of which area, a position each, and in which cell they started."""

    person: Bits
    area: Bits
    cell: Bits
    start: Bits
    areas: int

    @property
    def heat(self) -> Reals:
        """How many runners each cell has, a row an area."""
        places = self.area * CELLS + self.cell
        return np.bincount(places, minlength=self.areas * CELLS).reshape(-1, CELLS).astype(float)


def masked(tracks: Tracks) -> Reals:
    """A heat map without what is near a runner's own start, and without cells of few runners."""
    ends = zip(np.divmod(tracks.cell, SIDE), np.divmod(tracks.start, SIDE), strict=True)
    away = np.max([np.abs(one - other) for one, other in ends], axis=0) > ZONE
    heat = replace(tracks, area=tracks.area[away], cell=tracks.cell[away]).heat
    return np.where(heat >= LEAST, heat, 0.0)


Mapped: TypeAlias = Callable[[Tracks], Reals]
"""How runs are published: about how many runners each cell has, a row an area."""


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Tells which remote areas have a base, around which its crew runs.

    In half of the areas `crew` people run around one of the `RINGS`, each from a start of their
    own; `strays` people cross every area. The attacker takes what is seen off all rings for noise,
    weighs every ring by how much likelier it makes the map than no ring does, and believes in a
    base where these weigh more than 1 on average: with normal noise no guess is better. Success is
    the share of areas guessed right; the bound is that of a group of `crew` people. `effort` is the
    number of areas.

    Example:
        >>> HeatMap().run(lambda tracks: tracks.heat, 50).success
        1.0

    Reference: Hassan et al. 2018, Analysis of Privacy Protections in Fitness Tracking Social
    Networks -or- You can run, but can you hide?; the maps of 2018 that showed bases.
    """

    crew: int = 4
    strays: int = 2
    promise: Promise = field(default_factory=Promise)
    seed: int = 0

    def __post_init__(self) -> None:
        if self.crew < 1 or self.strays < 0:
            raise InputError(
                f"a crew of {self.crew} and {self.strays} strays",
                why="somebody runs around a base",
                fix="pass crew of at least 1 and strays of at least 0",
            )

    def run(self, target: Mapped, effort: int = 300) -> Outcome:
        """Look at `effort` areas."""
        check_effort(effort, "areas")
        draws = SplitMix64(self.seed)
        base = draws.bits(effort)
        heat = numbers(target(self._tracks(base, draws)), effort, CELLS)
        quiet = heat[:, RINGS.sum(axis=0) == 0]
        spread = max(float((quiet**2).mean()), _FLOOR)
        # Logs of how much likelier each ring makes the map: h + crew * ring against h alone.
        gains = (heat @ RINGS.T - self.crew * RINGS.sum(axis=1) / 2) * self.crew / spread
        top = gains.max(axis=1, keepdims=True)
        believed = np.log(np.exp(gains - top).mean(axis=1)) + top[:, 0] > 0
        return self.promise.group(self.crew).scored(believed == base)

    def _tracks(self, base: Bits, draws: SplitMix64) -> Tracks:
        """Runs around the bases, and straight through all areas."""
        areas = base.size
        crews = np.repeat(np.flatnonzero(base), self.crew)
        rings = RINGS[draws.below(len(RINGS), areas)][crews]
        lines = np.repeat(np.arange(areas), self.strays)
        upright, at = draws.bits(lines.size, 1), draws.below(SIDE, lines.size, 1)
        along = np.where(upright, *(np.divmod(np.arange(CELLS), SIDE)[way][None] for way in (1, 0)))
        visits = np.concatenate([rings, (along == at).astype(np.int64)])
        person, cell = np.nonzero(visits)
        # Everybody starts in one of their own cells, drawn at random.
        first = np.where(visits, draws.uniform(*visits.shape), -1.0).argmax(axis=1)
        area = np.concatenate([crews, lines])
        return Tracks(person, area[person], cell, first[person], areas)
