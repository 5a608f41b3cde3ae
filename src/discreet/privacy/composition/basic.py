"""Basic composition: epsilons add up, and so do deltas.

Composition theorems take the same `parts`: guarantees, and how often each of them is composed.
"""

from collections.abc import Sequence
from fractions import Fraction

from discreet.errors import InputError
from discreet.privacy.guarantees.approximate import Approximate
from discreet.privacy.guarantees.guarantee import Guarantee, below_one
from discreet.privacy.numerics.rounding import Bound, Interval
from discreet.rationals import Real


def basic_epsilon(parts: Sequence[tuple[Guarantee, int]], delta: Real) -> Bound:
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
        >>> basic_epsilon([(Pure(0.25), 10)], 0).upper
        2.5

    Reference: Dwork, Kenthapadi, McSherry, Mironov, Naor, Our Data, Ourselves (epsilons
    and deltas add up).
    """
    delta = below_one(delta, "delta")
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


def parameters(guarantee: Guarantee) -> tuple[Fraction, Fraction]:
    """The (epsilon, delta) of a guarantee that states one; delta is 0 where losses are bounded."""
    if isinstance(guarantee, Approximate):
        return guarantee.epsilon0, guarantee.delta0
    epsilon = getattr(guarantee, "epsilon0", None)
    if isinstance(epsilon, Fraction):
        return epsilon, Fraction(0)
    raise InputError(
        f"{type(guarantee).__name__} has no epsilon of its own",
        why="this theorem composes mechanisms that each state an (epsilon, delta)",
        fix="pass Pure or Approximate parts, or use compose(...), which takes every guarantee",
    )
