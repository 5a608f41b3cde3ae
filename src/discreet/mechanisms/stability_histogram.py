"""Stability-based histograms: noisy counts of unknown keys, shown where they clear a threshold."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import noise_tails
from discreet.mechanisms.additive import Additive
from discreet.mechanisms.comparison_laws import at_least, ends
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.grid import INTEGERS, add, sqrt_up
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.mechanism import Claim, Law, View, fill
from discreet.mechanisms.unknown_keys import Audited, KeyCounts, KeyMechanism, delta_each
from discreet.privacy.numerics.rounding import Interval
from discreet.rationals import Real, first_whole, whole

_RARE = Fraction(1, 1000)


@dataclass(frozen=True, slots=True, init=False)
class Threshold(KeyMechanism):
    """Noise on every count that is not 0; keys are shown, with it, from `threshold` on.

    `law` is the noise of one count. Fill in how epsilon and delta are spent.
    """

    law: Additive
    threshold: int

    def release(self, value: Mapping[Hashable, int]) -> dict[Hashable, int]:
        """The keys that are shown, each with its noisy count."""
        counted = KeyCounts.read(value)
        noisy = self._noisy(counted.counts)
        return {counted.keys[i]: int(noisy[i]) for i in np.flatnonzero(noisy)}

    def error(self, confidence: Real = 0.95) -> float:
        """How far a key's count is from its noisy count at most, hidden keys aside."""
        return self.law.error(confidence)

    def keep_probability(self, count: int) -> Interval:
        """The probability that a key with this many people is shown, from both sides."""
        people = whole(count, "count", at_least=0)
        if people == 0:
            return Interval.of(0)
        if people < self.threshold:
            return self._tail(self.threshold - people)
        # Noise is symmetric: P(X >= -m) = 1 - P(X >= m + 1).
        return 1 - self._tail(people - self.threshold + 1)

    @property
    def claim(self) -> Claim:
        """Noisy counts of the keys of one person; 0 where a key is hidden."""
        few = Audited.of(self.max_groups_per_unit, self.neighbours)
        return Claim(
            type(self).__name__,
            self.guarantee,
            few.pairs,
            lambda counts, runs: few.draw(counts, runs, self._noisy),
            code=lambda _, shown: [shown.get(key, 0) for key in few.keys],
            views=(
                View(few.numbers, lambda counts: few.law(counts, self.keep_probability)),
                *(self._view(at, few.keys[at]) for at in {0, len(few.keys) - 1}),
            ),
        )

    def _view(self, at: int, key: str) -> View:
        """One key: hidden, or how far its noisy count is beyond the threshold, up to some."""
        top = self.threshold + 2 * int(self.law.error(1 - _RARE))

        def law(counts: Mapping[Hashable, int]) -> Law:
            people = counts.get(key, 0)
            beyond = [at_least(self._tail, n - people) for n in range(self.threshold, top + 1)]
            if not people:
                return {0: (1.0, 1.0)}
            shown = {self.threshold + i: p - q for i, (p, q) in enumerate(pairwise(beyond))}
            return ends({0: 1 - beyond[0], **shown, top: beyond[-1]})

        return View(lambda rows: np.minimum(rows[:, at], top), law)

    def _noisy(self, counts: NDArray[Any]) -> NDArray[Any]:
        """Noisy counts, 0 where a key is hidden or has nobody."""
        noisy = np.asarray(add(counts, self.law._noise(counts.shape)))  # noqa: SLF001 - its own law
        shown = np.asarray((noisy >= self.threshold) & (counts > 0), dtype=bool)
        return np.where(shown, noisy, 0)

    def _tail(self, steps: int) -> Interval:
        return self.law._tail(steps)  # noqa: SLF001 - the same


@dataclass(frozen=True, slots=True, init=False)
class LaplaceThreshold(Threshold):
    """A stability-based histogram with discrete Laplace noise of scale k/epsilon.

    Guarantee:
        (epsilon, delta) for a person who is under at most k = `max_groups_per_unit` keys. The
        threshold T is the smallest with P(1 + noise >= T) = q^(T - 1)/(1 + q) <= delta', q =
        e^(-epsilon/k), where 1 - (1 - delta')^k <= delta. A key is shown if its noisy count is
        at least T: `>=`, and the probability is that of `>=`.
    Neighbours:
        Add-remove moves k counts by one. Change-one moves 2 k of them, and is charged for 2 k.
    Why:
        Say the person is alone under j of the keys and one of several under the others. With
        probability h >= 1 - delta all j stay hidden, independently of the rest, whose law R the
        noise keeps within e^epsilon of Q, the law without the person. So P(S) <= (1 - h) + h R(S)
        <= delta + e^epsilon Q(S), and Q(S) <= (1 - h) + h Q(S) <= delta + e^epsilon h R(S), where h
        R(S) <= P(S).
    Edge cases:
        Keys with a count of 0 are never shown. The answer is in an order of the keys' own.

    Example:
        >>> words = LaplaceThreshold(epsilon=1, delta=1e-6)
        >>> words.threshold, sorted(words.release({"the": 81200, "rhubarb": 0}))
        (15, ['the'])

    Reference: Korolova, Kenthapadi, Mishra, Ntoulas 2009, Releasing Search Queries and
    Clicks Privately; Vadhan 2017, The Complexity of Differential Privacy (stability-based
    histograms).
    """

    def _settle(self, keys: int) -> None:
        law = Laplace(epsilon=self.epsilon, sensitivity=keys)
        rare = noise_tails.laplace_tail_steps(law.scale, delta_each(self.delta, keys))
        fill(self, law=law, threshold=1 + max(1, rare))


@dataclass(frozen=True, slots=True, init=False)
class GaussianThreshold(Threshold):
    """A stability-based histogram with Gaussian noise, better for people under many keys.

    Guarantee:
        (epsilon, delta) for a person who is under at most k = `max_groups_per_unit` keys. Half of
        delta pays for the noise, by its exact law (see `Gaussian`), half for the threshold T, the
        smallest with P(1 + noise >= T) <= delta', where 1 - (1 - delta')^k <= delta/2.
    Neighbours:
        Add-remove moves k counts by one. Change-one moves 2 k of them, and is charged for 2 k.
    Why:
        As for `LaplaceThreshold`, with (epsilon, delta/2) in place of epsilon for the noise.
    Edge cases:
        As for `LaplaceThreshold`.

    Example:
        >>> public = {"epsilon": 1, "delta": 1e-6, "max_groups_per_unit": 50}
        >>> GaussianThreshold(**public).threshold < LaplaceThreshold(**public).threshold
        True

    Reference: Canonne, Kamath, Steinke 2020, The Discrete Gaussian for Differential Privacy;
    Desfontaines et al. 2020, Differentially Private Partition Selection (thresholds).
    """

    def _settle(self, keys: int) -> None:
        half, moved = self.delta / 2, sqrt_up(Fraction(keys))
        noise: dict[str, Any] = {"epsilon": self.epsilon, "delta": half, "sensitivity": moved}
        fill(self, law=Gaussian(**noise, grid=INTEGERS, dimension=keys))
        limit = Interval.of(delta_each(half, keys)).lo
        fill(self, threshold=1 + first_whole(lambda m: m >= 1 and self._tail(m).hi <= limit))
