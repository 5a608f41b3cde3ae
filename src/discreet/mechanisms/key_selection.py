"""Which of the keys that nobody listed may be shown: the optimal rule."""

import math
from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.errors import InputError
from discreet.mechanisms.comparison_laws import at_least
from discreet.mechanisms.gaussian import largest_mu
from discreet.mechanisms.grid import INTEGERS, add, sqrt_up
from discreet.mechanisms.laplace_tail import failure, first_whole
from discreet.mechanisms.mechanism import Claim, Law, fill
from discreet.mechanisms.rounded_gaussian import RoundedGaussian
from discreet.mechanisms.unknown_keys import (
    Audited,
    KeyCounts,
    KeyMechanism,
    delta_each,
    read_counts,
    touched,
)
from discreet.noise import rounded_gaussian
from discreet.privacy import Neighbours
from discreet.privacy.numerics.rounding import Interval
from discreet.rationals import Real, whole

_HALF_BITS: Final = 62
_UNIT: Final = 1 << 2 * _HALF_BITS
"""Probabilities of keeping are multiples of 1/_UNIT, so two words flip their coins exactly."""

_LONGEST: Final = 1 << 20


@dataclass(frozen=True, slots=True, init=False)
class KeyRule(KeyMechanism):
    """The keys to show, each by itself, from how many people are under it."""

    def release(self, value: Mapping[Hashable, int]) -> list[Hashable]:
        """The keys to show."""
        counted = KeyCounts.read(value)
        return [counted.keys[i] for i in np.flatnonzero(self.keeps(counted.counts))]

    @abstractmethod
    def keeps(self, counts: Any) -> NDArray[np.bool_]:
        """For each of many keys, given by their counts, whether it is shown."""

    @abstractmethod
    def shown(self, count: int) -> Interval:
        """The probability that a key with this many people is shown, from both sides."""

    @property
    def claim(self) -> Claim:
        """Which of the keys of one person are shown: 1 or 0 for each."""
        few = Audited.of(self.max_groups_per_unit, self.neighbours, self._middle())
        return Claim(
            type(self).__name__,
            self.guarantee,
            few.pairs,
            lambda counts, runs: few.draw(counts, runs, self.keeps).astype(np.int8),
            lambda counts: self._law([counts.get(key, 0) for key in few.keys]),
            lambda _, shown: [int(key in shown) for key in few.keys],
        )

    def _middle(self) -> int:
        """The most people under a key that is hidden at least as often as shown."""
        return int(self.error(Fraction(1, 2)))

    def _law(self, counts: Sequence[int]) -> Law:
        shown = [self.shown(n) for n in counts]
        law: dict[Hashable, tuple[float, float]] = {}
        for outcome in product((0, 1), repeat=len(counts)):
            share = Interval.of(1)
            for kept, p in zip(outcome, shown, strict=True):
                share = share * (p if kept else 1 - p)
            law[outcome] = (share.lower, share.upper)
        return law


@dataclass(frozen=True, slots=True, init=False)
class KeySelection(KeyRule):
    """The keys to show, from how many people are under each; counts themselves stay hidden.

    Guarantee:
        (epsilon, delta) for a person who is under at most `max_groups_per_unit` keys. A key that
        one person alone has is shown with probability at most delta, and no rule with the same
        guarantee for each key shows any key more often (but for rounding by less than 2^-60).
    Neighbours:
        Add-remove moves k counts by one. Change-one moves 2 k of them, and is charged for 2 k.
    Why:
        Each key is kept with probability p(n) by itself. With E <= e^epsilon' rational, p(0) = 0
        and p(n + 1) = min(E p(n) + delta', 1 - (1 - p(n) - delta')/E, 1), rounded down, every p(n)
        and p(n + 1) satisfy (epsilon', delta') in both directions, and equality in one of them is
        the most that can be had. k keys compose to k epsilon' and 1 - (1 - delta')^k.
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
        _keep_table(self.epsilon / keys, delta_each(self.delta, keys))

    def keeps(self, counts: Any) -> NDArray[np.bool_]:
        """For each of many keys, given by their counts, whether it is shown."""
        highs, lows = self._table()
        place = np.minimum(read_counts(counts), highs.size - 1).astype(np.int64)
        high = noise.below(1 << _HALF_BITS, size=place.shape)
        low = noise.below(1 << _HALF_BITS, size=place.shape)
        bar = highs[place]
        return np.asarray((high < bar) | ((high == bar) & (low < lows[place])), dtype=np.bool_)

    def keep_probability(self, count: int) -> Fraction:
        """The probability that a key with this many people is shown, exactly."""
        steps = whole(count, "count", at_least=0)
        highs, lows = self._table()
        last = min(steps, highs.size - 1)
        return Fraction((int(highs[last]) << _HALF_BITS) + int(lows[last]), _UNIT)

    def error(self, confidence: Real = 0.95) -> float:
        """How many people may be under a key that is hidden: all others are shown so surely."""
        wanted = 1 - failure(confidence)
        size = self._table()[0].size
        return float(next(n for n in range(size) if self.keep_probability(n) >= wanted) - 1)

    def shown(self, count: int) -> Interval:
        """The same probability, as an interval of no width to speak of."""
        return Interval.of(self.keep_probability(count))

    def _table(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        keys = touched(self.max_groups_per_unit, self.neighbours)
        return _keep_table(self.epsilon / keys, delta_each(self.delta, keys))


def _length(epsilon: float, delta: float) -> float:
    """About how many counts have p(n) < 1: twice those up to delta (E^n - 1)/(E - 1) = 1/2."""
    return 2 * math.log1p(math.expm1(epsilon) / (2 * delta)) / epsilon if epsilon else 1 / delta


@lru_cache(maxsize=64)
def _keep_table(epsilon: Fraction, delta: Fraction) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """p(0), p(1), ... up to the first that is 1, in units of 2^-124, as high and low words.

    A factor E = top/bottom <= e^epsilon is rounded down to 62 bits; so is delta to the unit. At
    each step p(n + 1) is at most what both constraints allow, and at least p(n) as p(n) is a
    multiple of the unit, so rounding down keeps both constraints and both monotone ones.
    """
    if _length(float(min(epsilon, Fraction(600))), float(delta)) > _LONGEST:
        raise InputError(
            "epsilon and delta are too small for key selection",
            why=f"the rule would tell more than {_LONGEST} counts apart",
            fix="raise epsilon or delta, or list keys that are public",
        )
    bottom = 1 << _HALF_BITS
    growth = Interval.of(min(epsilon, Fraction(600))).exp()
    top = int(Fraction(*growth.lower.as_integer_ratio()) * bottom)
    extra = int(delta * _UNIT)
    table = [0]
    while table[-1] < _UNIT:
        p = table[-1]
        rise = p * top // bottom + extra
        # 1 - (1 - p - delta)/E, rounded down: what is taken off is rounded up.
        close = _UNIT - max(0, -(-(_UNIT - p - extra) * bottom // top))
        table.append(min(rise, close, _UNIT))
    numbers = np.array(table, dtype=object)
    return (numbers >> _HALF_BITS).astype(np.int64), (numbers & (bottom - 1)).astype(np.int64)


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
