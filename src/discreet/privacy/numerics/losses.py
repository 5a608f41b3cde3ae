"""Exact composition of few discrete losses: the list of all joint outcomes, equal losses merged."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
import numpy.typing as npt

from discreet.privacy.numerics.moments import Atoms, FloatArray
from discreet.privacy.numerics.rounding import ELEMENTARY, UNIT, Bound

MOST = 2**14
"""Outcomes a list may hold."""

_EXACT = 2**52
"""Numerators up to here are exact in a double."""


@dataclass(frozen=True, slots=True, eq=False)
class LossList:
    """The law of the finite loss: value numerators[i]/denominator with probability masses[i].

    Guarantee:
        Losses are exact. Every mass is within a relative error `error` of the truth.
    """

    numerators: npt.NDArray[np.int64]
    denominator: int
    masses: FloatArray
    error: float

    @staticmethod
    def of(atoms: Atoms) -> "LossList | None":
        """Read a law; None where the losses do not fit exact integers."""
        denominator = lcm(*(loss.denominator for loss in atoms.losses))
        tops = [loss.numerator * (denominator // loss.denominator) for loss in atoms.losses]
        if denominator > _EXACT or any(abs(top) > _EXACT for top in tops):
            return None
        masses = np.array([p.upper for p in atoms.probabilities])
        return LossList(np.array(tops, dtype=np.int64), denominator, masses, 4 * UNIT).merged()

    def plus(self, other: "LossList", most: int = MOST) -> "LossList | None":
        """The law of the sum of two independent losses; None where it gets too long."""
        if len(self.masses) * len(other.masses) > 4 * most:
            return None
        denominator = lcm(self.denominator, other.denominator)
        mine, theirs = denominator // self.denominator, denominator // other.denominator
        reach = (
            int(np.abs(self.numerators).max()) * mine + int(np.abs(other.numerators).max()) * theirs
        )
        if denominator > _EXACT or reach > _EXACT:
            return None
        tops = np.add.outer(self.numerators * mine, other.numerators * theirs).reshape(-1)
        masses = np.multiply.outer(self.masses, other.masses).reshape(-1)
        error = self.error + other.error + 2 * UNIT
        joint = LossList(tops, denominator, masses, error * (1 + error)).merged()
        return joint if len(joint.masses) <= most else None

    def times(self, count: int, most: int = MOST) -> "LossList | None":
        """The law of the sum of `count` independent copies, by repeated squaring."""
        answer: LossList | None = None
        base: LossList | None = self
        while base is not None:
            if count & 1:
                answer = base if answer is None else answer.plus(base, most)
                if answer is None:
                    return None
            count >>= 1
            if not count:
                return answer
            base = base.plus(base, most)
        return None

    def delta(self, epsilon: Fraction, infinity: tuple[float, float]) -> Bound:
        """E[(1 - e^(epsilon - Z))+] and the infinite mass, enclosed.

        Each term is a mass times -expm1 of an argument that is exact up to three roundings relative
        to epsilon's own size, so its error is that of the argument.
        """
        z = self.numerators / self.denominator
        e = float(epsilon)
        slack = (np.abs(z) + e) * (4 * UNIT)
        above = self._beyond(z + slack, e, 1 + self.error)
        below = self._beyond(z - slack, e, 1 - self.error)
        rough = (len(z) + 4) * UNIT + 2 * ELEMENTARY
        upper = above * (1 + 2 * rough) + infinity[1]
        lower = below * (1 - 2 * rough) + infinity[0]
        return Bound(
            max(0.0, lower * (1 - 4 * UNIT)), min(1.0, upper * (1 + 4 * UNIT)), "enumeration"
        )

    def epsilon(self, delta: float, infinity: tuple[float, float]) -> Bound:
        """The smallest epsilon >= 0 with delta(epsilon) <= delta, enclosed.

        Why: between two neighbouring losses delta is A - e^epsilon B, so the crossing has a closed
        form; plain floats propose it and `delta` confirms an epsilon on either side.
        """
        guess = self._crossing(delta - infinity[1])
        upper = self._confirm(guess, lambda d: d.upper <= delta, infinity, 1)
        lower = self._confirm(guess, lambda d: d.lower > delta, infinity, -1)
        return Bound(max(0.0, min(lower, upper)), upper, "enumeration")

    def _crossing(self, left: float) -> float:
        order = np.argsort(-self.numerators, kind="stable")
        z, p = (self.numerators / self.denominator)[order], self.masses[order]
        # Scaled by the largest loss, so that e^-z cannot overflow.
        a, b = np.cumsum(p), np.cumsum(p * np.exp(np.minimum(z[0] - z, 700.0)))
        at_next = a - b * np.exp(np.append(z[1:], -np.inf) - z[0])
        i = int(np.argmax(at_next > left)) if (at_next > left).any() else len(z) - 1
        rest = a[i] - left
        return max(0.0, float(z[0] + np.log(rest / b[i]))) if rest > 0 else 0.0

    def _confirm(
        self, guess: float, holds: Callable[[Bound], bool], infinity: tuple[float, float], side: int
    ) -> float:
        step = 4e-16 * max(guess, float(np.max(self.numerators)) / self.denominator, 1e-300)
        for _ in range(120):
            if guess < 0 or holds(self.delta(Fraction(guess), infinity)):
                return guess
            guess, step = guess + side * step, step * 2
        return float("inf") if side > 0 else 0.0

    def _beyond(self, z: FloatArray, epsilon: float, scale: float) -> float:
        far = z > epsilon
        return float(np.sum(self.masses[far] * -np.expm1(epsilon - z[far]))) * scale

    def merged(self) -> "LossList":
        """The same law with equal losses taken together."""
        tops, place = np.unique(self.numerators, return_inverse=True)
        if len(tops) == len(self.numerators):
            return self
        masses = np.asarray(np.bincount(place.reshape(-1), self.masses), dtype=np.float64)
        together = len(self.numerators) - len(tops) + 1
        return LossList(tops, self.denominator, masses, self.error + together * UNIT)


def certain() -> LossList:
    """The law of a loss that is 0."""
    return LossList(np.zeros(1, dtype=np.int64), 1, np.ones(1), 0.0)


def extend(so_far: LossList, atoms: Atoms | None, count: int, most: int = MOST) -> LossList | None:
    """Add `count` copies of a law to a sum of losses; None where it is no longer a short list."""
    one = None if atoms is None else LossList.of(atoms)
    many = None if one is None else one.times(count, most)
    return None if many is None else so_far.plus(many, most)
