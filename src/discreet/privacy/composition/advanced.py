"""Advanced composition: epsilons add up like a random walk."""

from collections.abc import Sequence
from fractions import Fraction

from discreet.privacy.guarantees.guarantee import below_one
from discreet.privacy.numerics.rounding import Bound, Interval
from discreet.rationals import Real, non_negative, whole


def advanced_epsilon(parts: Sequence[tuple[Real, int]], delta: Real) -> Bound:
    """Epsilon for pure parts (epsilon_i, count) at a delta spent on the walk alone.

    Guarantee:
        sum of epsilon_i tanh(epsilon_i/2) + sqrt(2 log(1/delta) sum of epsilon_i^2), and never more
        than the sum of epsilons. For (epsilon_i, delta_i) parts their deltas come on top of delta.
    Why:
        The loss has mean at most epsilon_i tanh(epsilon_i/2) and lies in [-epsilon_i, epsilon_i],
        so Azuma's inequality bounds its sum. The original theorem has epsilon_i (e^epsilon_i - 1).
    Edge cases:
        delta = 0 leaves the sum of epsilons.

    Example:
        >>> advanced_epsilon([(0.1, 100)], 1e-6).upper < 6.31
        True

    Reference: Dwork, Rothblum, Vadhan, Boosting and Differential Privacy (advanced composition);
    Kairouz, Oh, Viswanath, The Composition Theorem for Differential Privacy, Theorem 3.5 (the
    mean).
    """
    sure, mean, square = Interval.of(0), Interval.of(0), Fraction(0)
    for epsilon, count in parts:
        own, n = non_negative(epsilon, "epsilon"), whole(count, "count", at_least=1)
        e = Interval.of(own)
        sure, mean = sure + e * n, mean + e * (e / 2).tanh() * n
        square += own * own * n
    left = Interval.of(below_one(delta, "delta"))
    if left.hi <= 0:
        return Bound(0.0, sure.upper, "basic")
    walk = mean + (left.log() * -2 * square).sqrt()
    return Bound(0.0, min(walk.upper, sure.upper), "advanced" if walk.hi < sure.hi else "basic")
