"""A tabulated privacy loss distribution."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import ClassVar

import numpy as np

from discreet.errors import InputError
from discreet.privacy.guarantees.guarantee import GroupPrivacy, Guarantee, fill, people, stored_as
from discreet.privacy.guarantees.neighbours import Neighbours
from discreet.privacy.numerics.inversion import invert
from discreet.privacy.numerics.losses import MOST
from discreet.privacy.numerics.moments import Atoms, Direction, Moments, OrderLine
from discreet.privacy.numerics.phases import ROUNDING
from discreet.privacy.numerics.rounding import ELEMENTARY, UNIT, Bound, Interval, Number, total
from discreet.rationals import Real, non_negative, rational


@stored_as("tabulated/1")
@dataclass(frozen=True, slots=True, init=False)
class Tabulated(Guarantee):
    """The law of the privacy loss as a table: loss[i] with probability[i], the rest infinite.

    Guarantee:
        For every pair of neighbours delta(epsilon) is at most that of the table: sum of p (1 -
        e^(epsilon - z))+ over the table, plus 1 - sum of p. Round losses up, never down, when
        making one.
    Neighbours:
        One table speaks for both directions; give `add` as a second one where they differ.
    Edge cases:
        Probabilities that sum to less than 1 leave the difference to an infinite loss.

    Example:
        >>> coin = Tabulated([1, -1], [0.75, 0.25])
        >>> coin.delta(1).upper, coin.delta(0).upper < 0.475
        (0.0, True)

    Reference: Sommer, Meiser, Mohammadi, Privacy Loss Classes (the privacy loss distribution).
    """

    directions: ClassVar[tuple[Direction, ...]] = (Direction.REMOVE, Direction.ADD)

    losses: tuple[Fraction, ...]
    probabilities: tuple[Fraction, ...]
    add: tuple[tuple[Fraction, ...], tuple[Fraction, ...]]

    def __init__(
        self,
        losses: Iterable[Real],
        probabilities: Iterable[Real],
        add: tuple[Iterable[Real], Iterable[Real]] | None = None,
        *,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        z, p = _read(losses, probabilities)
        other = _read(*add) if add else (z, p)
        fill(self, losses=z, probabilities=p, add=other, neighbours=neighbours)

    def group(self, k: int) -> Guarantee:
        """Group privacy from the privacy profile."""
        return self if people(k) == 1 else GroupPrivacy(self, k)

    def infinity(self, direction: Direction = Direction.REMOVE) -> Interval:
        """The probability of an infinite loss."""
        return Interval.of(1 - sum(self._table(direction)[1], Fraction(0)))

    def log_mgf(self, order: Number, direction: Direction = Direction.REMOVE) -> Interval:
        """Summed over the table."""
        losses, masses = self._table(direction)
        s = Interval.of(order)
        pairs = zip(losses, masses, strict=True)
        return total((s * z).exp() * p for z, p in pairs).log()

    def moments(self, line: OrderLine, direction: Direction = Direction.REMOVE) -> Moments | None:
        """Summed over the table, tilted so that no term exceeds 1."""
        losses, masses = self._table(direction)
        if not any(masses):
            return None
        z, p = np.array([float(x) for x in losses]), np.array([float(x) for x in masses])
        top = float(z[p > 0].max())
        tilted = p * np.exp(line.lam * (z - top))
        size = float(tilted.sum())
        phi = np.zeros(line.size, dtype=np.complex128)
        for start in range(0, len(z), max(1, 2**18 // line.size)):
            part = slice(start, start + max(1, 2**18 // line.size))
            phi += tilted[part] @ np.exp(1j * np.multiply.outer(z[part], line.heights))
        reach = float(np.abs(z).max()) * line.step * line.size
        spread = line.lam * (float(np.abs(z).max()) + abs(top))
        relative = (spread + len(z) + 16) * (4 * UNIT) + 2 * ELEMENTARY
        error = reach * (8 * UNIT) + ROUNDING + 2 * relative
        scale = float(np.log(size)) + line.lam * top
        log_error = 2 * relative + (abs(scale) + line.lam * abs(top) + 1) * (16 * UNIT)
        return Moments(scale, log_error, phi / size, error if reach < 2.0**20 else 2.0)

    def atoms(self, direction: Direction = Direction.REMOVE) -> Atoms | None:
        """The table itself."""
        losses, masses = self._table(direction)
        if len(losses) > MOST:
            return None
        return Atoms(losses, tuple(Interval.of(p) for p in masses))

    def _table(self, direction: Direction) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
        return self.add if direction is Direction.ADD else (self.losses, self.probabilities)

    def _delta(self, epsilon: Fraction) -> Bound:
        worst = Interval.of(0)
        for way in self.directions:
            pairs = zip(*self._table(way), strict=True)
            far = (-Interval.of(epsilon - z).expm1() * p for z, p in pairs if z > epsilon)
            worst = worst.join(total(far) + self.infinity(way))
        return worst.bound("tabulated", at_most=1.0)

    def _epsilon(self, delta: Fraction) -> Bound:
        if delta > 0:
            return invert(self._delta, delta)
        if any(sum(self._table(way)[1]) < 1 for way in self.directions):
            return Bound(inf, inf, "tabulated")
        top = max(z for way in self.directions for z, p in zip(*self._table(way), strict=True) if p)
        return Interval.of(max(top, Fraction(0))).bound("tabulated")


def _read(
    losses: Iterable[Real], probabilities: Iterable[Real]
) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    z = tuple(rational(loss, "loss") for loss in losses)
    p = tuple(non_negative(mass, "probability") for mass in probabilities)
    if len(z) != len(p) or not z or sum(p) > 1:
        raise InputError(
            f"a table of {len(z)} losses and {len(p)} probabilities, together {float(sum(p))}",
            why="it has to be a law: as many of each, at least one, together at most 1",
            fix="leave the mass of an infinite loss out of the table",
        )
    return z, p
