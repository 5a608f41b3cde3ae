"""Which of the keys that nobody listed may be shown, for people who are under many of them."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.comparison_laws import at_least
from discreet.mechanisms.gaussian import largest_mu
from discreet.mechanisms.grid import INTEGERS, add, sqrt_up
from discreet.mechanisms.key_selection import KeyRule, KeySelection
from discreet.mechanisms.laplace_tail import failure, first_whole
from discreet.mechanisms.mechanism import fill
from discreet.mechanisms.rounded_gaussian import RoundedGaussian
from discreet.mechanisms.unknown_keys import delta_each, read_counts, touched
from discreet.noise import rounded_gaussian
from discreet.privacy import Neighbours
from discreet.privacy.numerics.rounding import Interval
from discreet.rationals import Real, whole


@dataclass(frozen=True, slots=True, init=False)
class GaussianKeySelection(KeyRule):
    """Keys whose count reaches `threshold` after rounded Gaussian noise; counts stay hidden.

    Guarantee:
        (epsilon, delta) for a person who is under at most k = `max_groups_per_unit` keys. Half of
        delta pays for the noise, by its exact law; half for the threshold T, the smallest with
        P(1 + noise >= T) <= delta', where 1 - (1 - delta')^k <= delta/2.
    Neighbours:
        Add-remove moves k counts by one, sqrt(k) in l2. Change-one moves 2 k of them.
    Why:
        As for `LaplaceThreshold`, with (epsilon, delta/2) in place of epsilon for the noise. The
        noise grows with sqrt(k), and what a rule for each key by itself hides grows with k.
    Edge cases:
        As for `KeySelection`. Noise below 1/8 is refused: epsilon is then far above 1 a key.

    Example:
        >>> public = {"epsilon": 1, "delta": 1e-6, "max_groups_per_unit": 50}
        >>> GaussianKeySelection(**public).error() < KeySelection(**public).error() / 3
        True

    Reference: Dong, Roth, Su, Gaussian Differential Privacy (the noise); Desfontaines et al. 2020,
    Differentially Private Partition Selection (thresholds).
    """

    variance: Fraction
    threshold: int

    def _settle(self, keys: int) -> None:
        half, distance = self.delta / 2, sqrt_up(Fraction(keys))
        noise = RoundedGaussian(
            epsilon=self.epsilon, delta=half, sensitivity=distance, grid=INTEGERS
        )
        limit = Interval.of(delta_each(half, keys)).lo
        rare = first_whole(lambda m: m >= 1 and noise.tail(m).hi <= limit)
        fill(self, variance=noise.variance, threshold=1 + rare)

    def keeps(self, counts: Any) -> NDArray[np.bool_]:
        """For each of many keys, given by their counts, whether it is shown."""
        people = read_counts(counts)
        noisy = np.asarray(add(people, rounded_gaussian(self.variance, people.shape)))
        return np.asarray((noisy >= self.threshold) & (people > 0), dtype=np.bool_)

    def shown(self, count: int) -> Interval:
        """The probability that a key with this many people is shown, from both sides."""
        people = whole(count, "count", at_least=0)
        return at_least(self._tail, self.threshold - people) if people else Interval.of(0)

    def error(self, confidence: Real = 0.95) -> float:
        """How many people may be under a key that is hidden: all others are shown so surely."""
        hidden = Interval.of(failure(confidence)).lo
        return float(first_whole(lambda n: n >= 1 and (1 - self.shown(n)).hi <= hidden) - 1)

    @property
    def _tail(self) -> Callable[[int], Interval]:
        return RoundedGaussian(variance=self.variance, sensitivity=1).tail


@lru_cache(maxsize=256)
def best_key_rule(
    epsilon: Fraction, delta: Fraction, max_groups_per_unit: int, neighbours: Neighbours
) -> KeyRule:
    """Of the two rules the one that hides fewer people; public parameters alone decide.

    Example:
        >>> [type(best_key_rule(Fraction(1), Fraction(1, 10**6), k, Neighbours.ADD_REMOVE)).__name__
        ...  for k in (1, 50)]
        ['KeySelection', 'GaussianKeySelection']
    """
    keys = touched(max_groups_per_unit, neighbours)
    alone = KeySelection(
        epsilon=epsilon, delta=delta, max_groups_per_unit=max_groups_per_unit, neighbours=neighbours
    )
    if keys < largest_mu(epsilon, delta / 2) ** 2:  # the noise would be below a step
        return alone
    together = GaussianKeySelection(
        epsilon=epsilon, delta=delta, max_groups_per_unit=max_groups_per_unit, neighbours=neighbours
    )
    return together if together.error() < alone.error() else alone
