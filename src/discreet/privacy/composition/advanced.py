"""Advanced composition: epsilons add up like a random walk."""

from collections.abc import Sequence
from fractions import Fraction

from discreet.privacy.composition.basic import parameters
from discreet.privacy.guarantees.guarantee import Guarantee, below_one
from discreet.privacy.numerics.rounding import Bound, Interval
from discreet.rationals import Real, whole


def advanced_epsilon(parts: Sequence[tuple[Guarantee, int]], delta: Real) -> Bound:
    """Epsilon of (epsilon_i, delta_i) parts, what their deltas leave being spent on the walk.

    Guarantee:
        sum of epsilon_i tanh(epsilon_i/2) + sqrt(2 log(1/delta) sum of epsilon_i^2), and never more
        than the sum of epsilons, delta being what is left of it after all delta_i.
    Why:
        The loss has mean at most epsilon_i tanh(epsilon_i/2) and lies in [-epsilon_i, epsilon_i],
        so Azuma's inequality bounds its sum. The original theorem has epsilon_i (e^epsilon_i - 1).
    Edge cases:
        Where nothing of delta is left the sum of epsilons is; infinite where it is exceeded.

    Example:
        >>> from discreet.privacy.guarantees.pure import Pure
        >>> advanced_epsilon([(Pure(0.1), 100)], 1e-6).upper < 6.31
        True

    Reference: Dwork, Rothblum, Vadhan, Boosting and Differential Privacy (advanced composition);
    Kairouz, Oh, Viswanath, The Composition Theorem for Differential Privacy, Theorem 3.5 (the
    mean).
    """
    sure, mean, square = Interval.of(0), Interval.of(0), Fraction(0)
    spare = below_one(delta, "delta")
    for one, count in parts:
        (own, lost), n = parameters(one), whole(count, "count", at_least=1)
        spare -= lost * n
        e = Interval.of(own)
        sure, mean = sure + e * n, mean + e * (e / 2).tanh() * n
        square += own * own * n
    if spare <= 0:
        return Bound(0.0, float("inf") if spare else sure.upper, "basic")
    walk = mean + (Interval.of(spare).log() * -2 * square).sqrt()
    return Bound(0.0, min(walk.upper, sure.upper), "advanced" if walk.hi < sure.hi else "basic")
