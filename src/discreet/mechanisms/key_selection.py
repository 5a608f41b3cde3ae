"""Selection of unlisted keys that may be shown."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.mechanisms.key_tables import HALF_BITS, UNIT, Row, keep_table
from discreet.mechanisms.mechanism import Claim
from discreet.mechanisms.unknown_keys import Audited, KeyCounts, KeyMechanism, read_counts, touched
from discreet.privacy.numerics.rounding import Interval
from discreet.rationals import Real, failure, whole


@dataclass(frozen=True, slots=True, init=False)
class KeySelection(KeyMechanism):
    """The keys to show, from how many people are under each; counts themselves stay hidden.

    Guarantee:
        (epsilon, delta) for a person who is under at most `max_groups_per_unit` keys. A key that
        one person alone has is shown with probability at most delta. For a person under one key no
        rule with that guarantee shows any key more often (but for rounding by less than 2^-60).
    Neighbours:
        Add-remove moves k counts by one. Change-one moves 2 k of them, and is charged for 2 k.
    Why:
        Each key is kept independently with probability p(n); `key_tables` has the largest p for
        which all keys of one person compose to (epsilon, delta): by epsilons added up, or by Rényi
        divergences added up, which hides some sixth of the people where keys are many.
    Edge cases:
        Keys with a count of 0 are never shown. The answer is in an order of the keys' own, not of
        the data. Where epsilon and delta are both so small (2e-5 and 1e-6) that more than 2^20
        counts would be told apart, they are refused.

    Example:
        >>> words = KeySelection(epsilon=1, delta=1e-6)
        >>> words.release({"the": 812, "of": 511, "rhubarb": 0})
        ['of', 'the']
        >>> float(words.keep_probability(1)) <= 1e-6, words.keep_probability(100)
        (True, Fraction(1, 1))

    Reference: Desfontaines, Voss, Gipson, Mandayam 2020, Differentially Private Partition
    Selection (the recursion, and that it is a threshold after truncated geometric noise).
    """

    def _settle(self, keys: int) -> None:
        keep_table(self.epsilon, self.delta, keys)

    def release(self, value: Mapping[Hashable, int]) -> list[Hashable]:
        """The keys to show."""
        counted = KeyCounts.read(value)
        return [counted.keys[i] for i in np.flatnonzero(self.keeps(counted.counts))]

    def keeps(self, counts: Any) -> NDArray[np.bool_]:
        """Whether each key is shown, given the keys' counts."""
        table = self._table()
        place = np.minimum(read_counts(counts), len(table) - 1).astype(np.int64)
        bars = np.array([divmod(p, 1 << HALF_BITS) for p in table], dtype=np.int64)
        high, low = bars[place].T
        coins = [noise.below(1 << HALF_BITS, size=place.shape) for _ in range(2)]
        return np.asarray((coins[0] < high) | ((coins[0] == high) & (coins[1] < low)))

    def keep_probability(self, count: int) -> Fraction:
        """The probability that a key with this many people is shown, exactly."""
        table = self._table()
        return Fraction(table[min(whole(count, "count", at_least=0), len(table) - 1)], UNIT)

    def error(self, confidence: Real = 0.95) -> float:
        """How many people may be under a key that is hidden: all others are shown so surely."""
        wanted = (1 - failure(confidence)) * UNIT
        return float(next(n for n, p in enumerate(self._table()) if p >= wanted) - 1)

    @property
    def claim(self) -> Claim:
        """How many of the keys that one person leaves, and of those they join, are shown."""
        few = Audited.of(self.max_groups_per_unit, self.neighbours, int(self.error(Fraction(1, 2))))
        return Claim(
            type(self).__name__,
            self.guarantee,
            few.pairs,
            lambda counts, runs: few.numbers(few.draw(counts, runs, self.keeps)),
            lambda counts: few.law(counts, lambda n: Interval.of(self.keep_probability(n))),
            lambda _, shown: [sum(key in shown for key in side) for side in few.sides],
        )

    def _table(self) -> Row:
        return keep_table(
            self.epsilon, self.delta, touched(self.max_groups_per_unit, self.neighbours)
        )
