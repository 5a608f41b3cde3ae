"""Basic composition: epsilons add up, and so do deltas."""

from collections.abc import Sequence
from fractions import Fraction

from discreet.privacy.guarantees.guarantee import Guarantee
from discreet.privacy.numerics.rounding import Bound, Interval


def basic_epsilon(parts: Sequence[tuple[Guarantee, int]], delta: Fraction) -> Bound:
    """The sum of the parts' epsilons, what delta is left being shared by those that need some.

    Guarantee:
        Holds even when parameters are chosen adaptively. The upper end alone is of use.
    Why:
        (epsilon_i, delta_i) compose to (sum of epsilon_i, sum of delta_i). A part that is pure
        takes no delta; one with a chance of an infinite loss takes at least that; the rest is
        split evenly.
    Edge cases:
        Infinite where delta is less than the chances of an infinite loss together.

    Example:
        >>> from discreet.privacy.guarantees.pure import Pure
        >>> basic_epsilon([(Pure(0.25), 10)], Fraction(0)).upper
        2.5

    Reference: Dwork, Kenthapadi, McSherry, Mironov, Naor, Our Data, Ourselves (epsilons
    and deltas add up).
    """
    pure = [(one, count, one.epsilon(0)) for one, count in parts]
    needy = [(one, count) for one, count, own in pure if own.upper == float("inf")]
    epsilon = Interval.of(0)
    for _, count, own in pure:
        if own.upper < float("inf"):
            epsilon = epsilon + Interval.of(own.upper) * count
    least = [_least(one) for one, _ in needy]
    left = delta - sum((d * count for d, (_, count) in zip(least, needy, strict=True)), Fraction(0))
    if left < 0:
        return Bound(0.0, float("inf"), "basic")
    share = left / max(1, sum(count for _, count in needy))
    for floor, (one, count) in zip(least, needy, strict=True):
        each = max(floor, Fraction(Interval.of(floor + share).lower))
        epsilon = epsilon + Interval.of(one.epsilon(min(each, delta)).upper) * count
    return Bound(0.0, epsilon.upper, "basic")


def _least(guarantee: Guarantee) -> Fraction:
    """The least delta at which epsilon can be finite, rounded up."""
    return max(Fraction(guarantee.infinity(way).upper) for way in guarantee.directions)
