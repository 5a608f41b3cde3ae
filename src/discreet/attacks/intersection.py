"""Two releases, each anonymous on its own, combined."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from discreet.attacks.outcome import Outcome, Promise, numbers
from discreet.attacks.simulation import Bits, Reals, SplitMix64
from discreet.errors import InputError

Cells: TypeAlias = Callable[[Reals], Reals]
"""A release: places of people come in; about how many near each have each value comes out."""

Hospital: TypeAlias = Callable[[Reals, Bits, int], Cells]
"""How a hospital publishes: places and conditions of its patients, and how many conditions."""


@dataclass(frozen=True, slots=True)
class Intersection:
    """Guesses the condition of patients who were seen in two hospitals.

    Everybody has a public place (two quasi-identifiers in [0, 1)) and a private condition. For
    each common patient the attacker looks up the conditions near them in both releases and takes
    the one with the largest product. `effort` is how many common patients there are.

    Reference: Ganta, Kasiviswanathan, Smith 2008, Composition Attacks and Auxiliary Information.
    """

    patients: int = 4000
    conditions: int = 30
    promise: Promise = field(default_factory=Promise)
    seed: int = 0

    def run(self, target: Hospital, effort: int = 400) -> Outcome:
        """Publish twice, look everybody common up, and guess."""
        if not 1 <= effort <= self.patients:
            raise InputError(
                f"effort is {effort}",
                why="it counts patients whom both hospitals have",
                fix=f"keep it in 1 to {self.patients}",
            )
        draws = SplitMix64(self.seed)
        places, conditions = self._people(effort, draws)
        weights = np.ones((effort, self.conditions))
        for _ in range(2):
            others = self._people(self.patients - effort, draws)
            here = np.concatenate([places, others[0]]), np.concatenate([conditions, others[1]])
            found = target(*here, self.conditions)(places)
            weights *= np.maximum(numbers(found, effort, self.conditions), 0.0)
        # A coin for ties, so that an attacker who learnt nothing guesses at random.
        guess = np.argmax(weights + 1e-9 * draws.uniform(*weights.shape), axis=1)
        right, chance = float(np.mean(guess == conditions)), 1 / self.conditions
        return Outcome(right, chance, self.promise.of_event(chance), effort)

    def _people(self, count: int, draws: SplitMix64) -> tuple[Reals, Bits]:
        return draws.uniform(count, 2), draws.below(self.conditions, count)


def mondrian(k: int) -> Hospital:
    """Publishes k-anonymous classes: halves the longer side at the median while both keep k.

    Reference: LeFevre, DeWitt, Ramakrishnan 2006, Mondrian Multidimensional K-Anonymity.
    """
    if k < 1:
        raise InputError(f"k is {k}", why="a class has somebody in it", fix="pass k >= 1")

    def publish(places: Reals, conditions: Bits, values: int) -> Cells:
        tree = _cut(places, conditions, (np.zeros(2), np.ones(2)), k, values)

        def look(wanted: Reals) -> Reals:
            found = np.zeros((len(wanted), values))
            _look_up(tree, wanted, np.arange(len(wanted)), found)
            return found

        return look

    return publish


@dataclass(frozen=True, slots=True)
class _Halves:
    """A box that was cut across one side at the middle: what is below it, and what is not."""

    side: int
    middle: float
    below: "_Halves | Reals"
    above: "_Halves | Reals"


def _cut(
    places: Reals, conditions: Bits, box: tuple[Reals, Reals], k: int, values: int
) -> "_Halves | Reals":
    """Split a box until no half has k people; what is not split are counts of conditions."""
    low, high = box
    side = int(np.argmax(high - low))
    across = np.sort(places[:, side])
    middle = float(across[(across.size - 1) // 2] + across[across.size // 2]) / 2
    below = places[:, side] < middle
    if not k <= np.count_nonzero(below) <= across.size - k:
        return np.bincount(conditions, minlength=values).astype(np.float64)
    edge = np.where(np.arange(low.size) == side, middle, high)
    start = np.where(np.arange(low.size) == side, middle, low)
    halves = ((below, (low, edge)), (~below, (start, high)))
    return _Halves(
        side,
        middle,
        *(_cut(places[half], conditions[half], inner, k, values) for half, inner in halves),
    )


def _look_up(tree: "_Halves | Reals", wanted: Reals, rows: Bits, found: Reals) -> None:
    """Write to `found` what each of these rows of `wanted` finds in the box it is in."""
    if not isinstance(tree, _Halves):
        found[rows] = tree
        return
    below = wanted[rows, tree.side] < tree.middle
    for half, inner in ((below, tree.below), (~below, tree.above)):
        if half.any():
            _look_up(inner, wanted, rows[half], found)
