"""The exponential mechanism: any finite output space, any utility."""

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from discreet import noise
from discreet.mechanisms.comparison_laws import ends
from discreet.mechanisms.mechanism import Law
from discreet.mechanisms.selection import Selection
from discreet.noise.selection import Indices, exactly
from discreet.privacy import BoundedRange
from discreet.privacy.numerics.rounding import Interval, total
from discreet.rationals import Real, failure

_LISTED = 256
"""Outputs up to which the law is written down."""


@dataclass(frozen=True, slots=True, init=False)
class ExponentialMechanism(Selection):
    """Output i with probability proportional to exp(score_i/scale), exactly.

    Guarantee:
        epsilon-bounded range with epsilon = 2 sensitivity/scale, or sensitivity/scale where scores
        are `monotone`; so rho = epsilon^2/8 and, in particular, pure epsilon.
    Neighbours:
        Those for which `sensitivity` is stated; `monotone` needs add-remove.
    Why:
        ln P(i)/P'(i) = (score_i - score'_i)/scale - c with one c for all i. Differences of scores
        lie in [-sensitivity, sensitivity], an interval of length 2 sensitivity, and in one of half
        that length where all scores move the same way; so two losses differ by at most epsilon.
    Edge cases:
        Scores are ints, floats, Fractions or Decimals and are used exactly, floats as doubles. A
        utility computed in floats has to keep its sensitivity including its rounding errors, so
        integers are best. NaN and infinite scores are refused, and so is a utility that fails; the
        error does not quote it. One output is always chosen.

    Example:
        >>> colours = ExponentialMechanism(["red", "green", "blue"], epsilon=1)
        >>> colours.release([0, 5000, 3])
        'green'
        >>> colours.guarantee.rho().upper
        0.125

    Reference: McSherry, Talwar 2007, Mechanism Design via Differential Privacy (privacy of the
    exponential mechanism); Dong, Durfee, Rogers 2020, Optimal Differential Privacy Composition for
    Exponential Mechanisms (bounded range).
    """

    @property
    def guarantee(self) -> BoundedRange:
        """epsilon-bounded range."""
        return BoundedRange(self.epsilon, neighbours=self.neighbours)

    def error(self, confidence: Real = 0.95) -> float:
        """A bound on how far the chosen score is below the best one: (ln k + b) scale.

        Why: an output at least t below the best has at most exp(-t/scale) of the best one's weight,
        and there are fewer than k such outputs; t = (ln k + b) scale makes that e^-b = 1 -
        confidence.
        Reference: Dwork, Roth 2014, The Algorithmic Foundations of Differential Privacy (utility
        of the exponential mechanism).
        """
        return utility_gap(len(self.outputs), failure(confidence), self.scale).upper

    def select(self, scores: NDArray[Any], runs: int) -> Indices:
        """The positions of `runs` outputs, chosen independently."""
        return noise.choose(scores, self.scale, runs)

    @property
    def is_listed(self) -> bool:
        """Up to 256 outputs."""
        return len(self.outputs) <= _LISTED

    def probabilities(self, value: Any) -> dict[Hashable, float]:
        """The probability of each output: computed from the data, so not a release.

        Example:
            >>> ExponentialMechanism(["a", "b"], epsilon=2).probabilities([0, 1])
            {'a': 0.2689..., 'b': 0.7310...}
        """
        law = self.law(self.scores(value))
        return {one: law[at][0] for at, one in enumerate(self.outputs)}

    def law(self, scores: NDArray[Any]) -> Law:
        """The exact law of the position."""
        return weights_law(scores, self.scale)


def utility_gap(count: int, beta: Fraction, scale: Fraction) -> Interval:
    """(ln count + ln 1/beta) scale."""
    return (Interval.of(count).log() - Interval.of(beta).log()) * scale


def weights_law(scores: NDArray[Any], scale: Fraction) -> Law:
    """Each position with probability proportional to exp(score/scale)."""
    exact = [exactly(score) for score in scores]
    best = max(exact)
    weights = [Interval.of((score - best) / scale).exp() for score in exact]
    whole = total(weights)
    return ends({i: weight / whole for i, weight in enumerate(weights)})
