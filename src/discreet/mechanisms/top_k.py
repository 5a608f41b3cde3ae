"""The best k outputs, by peeling: choose one, take it out, choose again."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from itertools import permutations
from math import perm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.argument_names import also_called
from discreet.errors import InputError
from discreet.mechanisms.exponential import utility_gap, weights_law
from discreet.mechanisms.grid import sqrt_up
from discreet.mechanisms.mechanism import Law, exactly_one, fill, one_of
from discreet.mechanisms.permute_and_flip import flips_law
from discreet.mechanisms.selection import Selection, read_outputs
from discreet.noise.selection import Indices
from discreet.privacy import (
    BoundedRange,
    CalibrationStep,
    Guarantee,
    Neighbours,
    Pure,
    calibrate,
    compose,
)
from discreet.privacy.numerics.rounding import Interval
from discreet.rationals import Real, failure, positive, proper_share, whole

_LISTED = 256


class Peel(Enum):
    """How each of the k outputs is chosen."""

    EXPONENTIAL = "exponential"
    PERMUTE_AND_FLIP = "permute-and-flip"


@dataclass(frozen=True, slots=True, init=False)
class TopK(Selection):
    """k different outputs in the order they were chosen, each from those that are left.

    Guarantee:
        k rounds of epsilon/k. Rounds of the exponential mechanism are composed as bounded range, so
        rho = epsilon^2/(8 k); rounds of permute-and-flip are pure and add up to epsilon. Either way
        pure `epsilon` holds. Asked for `rho`, or for epsilon and `delta`, rounds are as costly as
        their composition allows, and the field `epsilon` is the larger, pure one.
    Neighbours:
        Those for which `sensitivity` is stated; `monotone` needs add-remove.
    Why:
        What is left in a round depends on earlier outputs alone, so round j is the mechanism with
        epsilon/k on a public set of outputs, and adaptive composition holds. The joint loss is not
        of range epsilon: the offset of a round's losses depends on the rounds before it. Rounds of
        the exponential mechanism have the law of one shot: the k largest scores, in order, after
        Gumbel noise of this scale on each.
    Edge cases:
        k = 1 is the mechanism itself; k equal to the number of outputs is a private ranking. Rounds
        of permute-and-flip are pure, so `rho` and `delta` are refused for them.

    Example:
        >>> TopK(k=2, outputs=["a", "b", "c"], epsilon=1).release({"a": 0, "b": 9000, "c": 90000})
        ['c', 'b']
        >>> TopK(100, 1000, epsilon=1, delta=1e-6).scale < TopK(100, 1000, epsilon=1).scale / 3
        True

    Reference: Durfee, Rogers 2019, Practical Differentially Private Top-k Selection (peeling);
    Dong, Durfee, Rogers 2020, Optimal Differential Privacy Composition for Exponential Mechanisms.
    """

    k: int
    peel: Peel

    @also_called(candidates="outputs", options="outputs", domain="outputs")
    def __init__(
        self,
        k: int,
        outputs: int | Sequence[Hashable],
        *,
        epsilon: Real | None = None,
        scale: Real | None = None,
        delta: Real | None = None,
        rho: Real | None = None,
        sensitivity: Real = 1,
        monotone: bool = False,
        peel: str = "exponential",
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        listed = read_outputs(outputs)
        rounds, kind = _read_k(k, len(listed)), one_of(Peel, peel, "peel")
        if rho is not None or delta is not None:
            epsilon = rounds * _round_epsilon(rounds, kind, epsilon, delta, rho)
        fill(self, k=rounds, peel=kind)
        Selection.__init__(
            self,
            listed,
            epsilon=epsilon,
            scale=scale,
            sensitivity=sensitivity,
            monotone=monotone,
            neighbours=neighbours,
        )

    def moved(self, sensitivity: Fraction) -> Fraction:
        """One person moves every round's scores."""
        return self.k * sensitivity

    @property
    def guarantee(self) -> Guarantee:
        """`k` rounds of epsilon/k."""
        if self.peel is Peel.PERMUTE_AND_FLIP:
            return Pure(self.epsilon, neighbours=self.neighbours)
        one = BoundedRange(self.epsilon / self.k, neighbours=self.neighbours)
        return one if self.k == 1 else compose([(one, self.k)])

    def release(self, value: Any) -> list[Hashable]:
        """`k` outputs, in the order in which they were chosen."""
        return [self.outputs[int(i)] for i in self.select(self.scores(value), 1)[0]]

    def error(self, confidence: Real = 0.95) -> float:
        """How far each chosen score is below the best one left at its turn, all k at once.

        Why: each round fails with probability at most (1 - confidence)/k.
        """
        beta = failure(confidence) / self.k
        return utility_gap(len(self.outputs), beta, self.scale).upper

    def select(self, scores: NDArray[Any], runs: int) -> Indices:
        """Positions of the outputs of `runs` independent releases, a row each."""
        chosen = np.empty((runs, self.k), dtype=np.int64)
        # Runs that have the same outputs left go on together.
        open_runs = [(np.arange(scores.size), np.arange(runs), 0)]
        while open_runs:
            left, here, turn = open_runs.pop()
            picks = left[self._draw(scores[left], here.size)]
            chosen[here, turn] = picks
            if turn + 1 < self.k:
                open_runs += [
                    (left[left != pick], here[picks == pick], turn + 1)
                    for pick in reversed(np.unique(picks))
                ]
        return chosen

    def _draw(self, scores: NDArray[Any], runs: int) -> Indices:
        if self.peel is Peel.EXPONENTIAL:
            return noise.choose(scores, self.scale, runs)
        return noise.permute_and_flip(scores, self.scale, runs)

    @property
    def _ahead(self) -> int:
        return min(self.k, max(1, len(self.outputs) // 2))

    def _position(self, chosen: Any) -> list[int]:
        return [self.outputs.index(output) for output in chosen]

    @property
    def is_listed(self) -> bool:
        """Up to 256 sequences."""
        return perm(len(self.outputs), self.k) <= _LISTED

    def law(self, scores: NDArray[Any]) -> Law:
        """The exact law of the sequence of positions."""
        law: dict[Hashable, tuple[float, float]] = {}
        peeled = weights_law if self.peel is Peel.EXPONENTIAL else flips_law
        for sequence in permutations(range(scores.size), self.k):
            left, share = list(range(scores.size)), Interval.of(1)
            for pick in sequence:
                law_left = peeled(scores[left], self.scale)
                share = share * Interval.between(*law_left[left.index(pick)])
                left.remove(pick)
            law[sequence] = (share.lower, share.upper)
        return law


def _round_epsilon(
    rounds: int, peel: Peel, epsilon: Real | None, delta: Real | None, rho: Real | None
) -> Fraction:
    """The most that one round may cost, for rho or (epsilon, delta) in all."""
    if peel is not Peel.EXPONENTIAL or (epsilon is None) is (rho is None):
        raise InputError(
            "rho or delta that say nothing of these rounds",
            why="only rounds of the exponential mechanism compose to less than a sum",
            fix="pass rho=, or epsilon= and delta=, and leave peel out",
        )
    if rho is not None:
        exactly_one(rho=rho, delta=delta)
        # A little less, so that no later rounding exceeds it.
        return (1 - Fraction(1, 1 << 48)) / sqrt_up(rounds / (8 * positive(rho, "rho")))
    step = CalibrationStep(BoundedRange, count=rounds)
    most, allowed = positive(epsilon or 0, "epsilon"), proper_share(delta or 0, "delta")
    found = calibrate([step], epsilon=most, delta=allowed).parameters[0]
    return max(found, most / rounds)


def _read_k(k: int, count: int) -> int:
    rounds = whole(k, "k", at_least=1)
    if rounds <= count:
        return rounds
    raise InputError(
        f"k is {k} of {count} outputs",
        why="each output is chosen once",
        fix="lower k, or list more outputs",
    )
