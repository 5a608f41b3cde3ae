"""Permute-and-flip: never a worse choice than the exponential mechanism's, at the same epsilon."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from discreet import noise
from discreet.mechanisms.comparison_laws import ends
from discreet.mechanisms.exponential import utility_gap
from discreet.mechanisms.mechanism import Law
from discreet.mechanisms.selection import Selection
from discreet.noise.selection import Indices, exactly
from discreet.privacy import Pure
from discreet.privacy.numerics.rounding import Interval, total
from discreet.rationals import Real, failure

_LISTED = 12
"""Outputs up to which the law is written down; its alternating sums lose a bit or two for each."""


@dataclass(frozen=True, slots=True, init=False)
class PermuteAndFlip(Selection):
    """Visit outputs in random order; stop at i with probability exp((score_i - max)/scale).

    Guarantee:
        Pure epsilon with epsilon = 2 sensitivity/scale, or sensitivity/scale where scores are
        `monotone`. It does not have bounded range: its rho is not epsilon^2/8, and it is charged as
        pure epsilon only.
    Neighbours:
        Those for which `sensitivity` is stated; `monotone` needs add-remove.
    Why:
        The law is that of the largest score plus exponential noise. Fix the others' noise: output i
        wins when its noise e exceeds some x. On a neighbour x grows by at most c = 2 sensitivity
        (by c = sensitivity if all scores move the same way: either score_i does not fall or the
        others do not rise), and P(e > x + c) >= exp(-c/scale) P(e > x) for every real x.
    Edge cases:
        As for `ExponentialMechanism`.

    Example:
        >>> PermuteAndFlip(["red", "green", "blue"], epsilon=1).release([0, 5000, 3])
        'green'
        >>> PermuteAndFlip(3, epsilon=1).guarantee.rho().upper > 0.46
        True

    Reference: McKenna, Sheldon 2020, Permute-and-Flip: A New Mechanism for Differentially Private
    Selection; Ding, Kifer, Sayed-Ahmed, Steinke, Wang, Zhang 2021, The Permute-and-Flip Mechanism
    is Identical to Report-Noisy-Max with Exponential Noise.
    """

    @property
    def guarantee(self) -> Pure:
        """Pure epsilon."""
        return Pure(self.epsilon, neighbours=self.neighbours)

    def error(self, confidence: Real = 0.95) -> float:
        """A bound on how far the chosen score is below the best one: (ln((k - 1)/2) + b) scale.

        Why: an output t below the best wins only if its exponential noise exceeds the best one's by
        t, which has probability exp(-t/scale)/2; there are at most k - 1 such outputs.
        """
        others = len(self.outputs) - 1
        if others == 0:
            return 0.0
        return max(0.0, utility_gap(others, 2 * failure(confidence), self.scale).upper)

    def select(self, scores: NDArray[Any], runs: int) -> Indices:
        """The positions of `runs` outputs, chosen independently."""
        return noise.permute_and_flip(scores, self.scale, runs)

    @property
    def is_listed(self) -> bool:
        """Up to 12 outputs."""
        return len(self.outputs) <= _LISTED

    def law(self, scores: NDArray[Any]) -> Law:
        """The exact law of the position."""
        return flips_law(scores, self.scale)


def flips_law(scores: NDArray[Any], scale: Fraction) -> Law:
    """P(i) = p_i times the integral over u in [0, 1] of the product of 1 - p_j u, j not i."""
    exact = [exactly(score) for score in scores]
    coins = [Interval.of((score - max(exact)) / scale).exp() for score in exact]
    rest = [_integral(coins[:i] + coins[i + 1 :]) for i in range(len(coins))]
    return ends({i: coin * rest[i] for i, coin in enumerate(coins)})


def _integral(coins: list[Interval]) -> Interval:
    """The integral of the product of 1 - p u, by the product's coefficients."""
    product = [Interval.of(1)]
    for coin in coins:
        shifted = [Interval.of(0), *(-coin * c for c in product)]
        product = [a + b for a, b in zip([*product, Interval.of(0)], shifted, strict=True)]
    return total(c / (power + 1) for power, c in enumerate(product))
