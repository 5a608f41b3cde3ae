"""Composition theorems: basic, advanced, optimal for equal parts, and for different epsilons.

All take the same `parts` as `compose`: guarantees, or pairs of one and how often it is composed;
or an epsilon and how often, as papers do: `advanced_epsilon(0.1, 100, delta=1e-6)`.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, wraps
from math import ceil, floor
from typing import Any

import numpy as np

from discreet.argument_names import also_called
from discreet.errors import InputError
from discreet.privacy.guarantees.guarantee import Guarantee, Part, below_one, counted_parts
from discreet.privacy.guarantees.pure import Approximate, Pure
from discreet.privacy.numerics.inversion import invert
from discreet.privacy.numerics.moments import FloatArray
from discreet.privacy.numerics.rounding import ELEMENTARY, UNIT, Bound, Interval
from discreet.rationals import Real, non_negative, positive


def _as_in_papers(theorem: Callable[..., Bound]) -> Callable[..., Bound]:
    """Let a theorem also take epsilons, and (epsilon, k, delta) of one part repeated k times."""

    @also_called(epsilon="parts", epsilons="parts", n="k", count="k")
    @wraps(theorem)
    def call(parts: Any, *rest: Any, k: Any = None, **delta: Real) -> Bound:
        several = isinstance(parts, Iterable)
        parts = parts.items() if isinstance(parts, Mapping) else parts
        listed = list(parts) if several else [parts]
        has_delta = bool(delta or len(rest) > 1 or theorem.__defaults__)
        if has_delta and not several and k is None and rest and rest[0] >= 1:
            k, *rest = rest  # type: ignore[assignment]  # mypy: a list for a tuple
        if listed and all(isinstance(one, _NUMBERS) for one in listed):
            listed = [Pure(one) for one in listed]
        if k is not None:
            listed = [(one, k) for one in listed]
        return theorem(listed, *rest, **delta)

    return call


_NUMBERS = (int, float, Fraction, Decimal)


@_as_in_papers
def basic_epsilon(parts: Iterable[Part], delta: Real = 0) -> Bound:
    """The sum of the parts' epsilons; the parts that need a delta share what is left of it.

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
        >>> basic_epsilon([(Pure(0.25), 10)]).upper, basic_epsilon([Pure(1), Pure(2)]).upper
        (2.5, 3.0)

    Reference: Dwork, Kenthapadi, McSherry, Mironov, Naor, Our Data, Ourselves (epsilons
    and deltas add up).
    """
    delta = below_one(delta, "delta")
    pure = [(one, count, one.epsilon(0)) for one, count in counted_parts(parts)]
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
    for lowest, (one, count) in zip(least, needy, strict=True):
        each = max(lowest, Fraction(Interval.of(lowest + share).lower))
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


@_as_in_papers
def advanced_epsilon(parts: Iterable[Part], delta: Real) -> Bound:
    """Epsilon of (epsilon_i, delta_i) parts; the delta that they leave bounds the random walk.

    Guarantee:
        sum of epsilon_i tanh(epsilon_i/2) + sqrt(2 log(1/delta) sum of epsilon_i^2), and never more
        than the sum of epsilons, delta being what is left of it after all delta_i.
    Why:
        The loss has mean at most epsilon_i tanh(epsilon_i/2) and lies in [-epsilon_i, epsilon_i],
        so Azuma's inequality bounds its sum. The original theorem has epsilon_i (e^epsilon_i - 1).
    Edge cases:
        If nothing of delta is left, the sum of epsilons; infinite where delta is exceeded.

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
    for one, n in counted_parts(parts):
        own, lost = parameters(one)
        spare -= lost * n
        e = Interval.of(own)
        sure, mean = sure + e * n, mean + e * (e / 2).tanh() * n
        square += own * own * n
    if spare <= 0:
        return Bound(0.0, float("inf") if spare else sure.upper, "basic")
    walk = mean + (Interval.of(spare).log() * -2 * square).sqrt()
    return Bound(0.0, min(walk.upper, sure.upper), "advanced" if walk.hi < sure.hi else "basic")


LONGEST = 1024
"""Mechanisms up to which `compose` prefers this exact sum."""


def optimal_delta(parts: Iterable[Part], epsilon: Real) -> Bound:
    """Delta(epsilon) of k mechanisms that are each (own epsilon, own delta) and no better."""
    law, kept = _equal(parts)
    finite = law.delta(non_negative(epsilon, "epsilon"))
    return (1 - kept + kept * finite).bound("kairouz-oh-viswanath", at_most=1.0)


@_as_in_papers
def optimal_epsilon(parts: Iterable[Part], delta: Real) -> Bound:
    """Epsilon(delta) of k mechanisms that are each (own epsilon, own delta) and no better.

    Guarantee:
        The smallest epsilon there is, up to the last digit, not only at multiples of the own
        epsilon.
    Why:
        Each mechanism is dominated by one that fails with probability own delta and is randomized
        response otherwise, so the loss of k is (k - 2i) epsilon with binomial probability. Between
        two neighbouring multiples delta is A - e^epsilon B, which is solved in closed form.
    Edge cases:
        Parts that differ are refused: `heterogeneous_epsilon` and `compose` take those.

    Example:
        >>> from discreet.privacy.guarantees.pure import Pure
        >>> round(optimal_epsilon([(Pure(0.1), 100)], 1e-6).upper, 6)
        4.774568

    Reference: Kairouz, Oh, Viswanath, The Composition Theorem for Differential Privacy, Theorem
    3.3.
    """
    law, kept = _equal(parts)
    left = Interval.of(below_one(delta, "delta")) - (1 - kept)
    if left.hi < 0:
        return Bound(float("inf"), float("inf"), "kairouz-oh-viswanath")
    if left.lo < 0:
        return Bound(0.0, float("inf"), "kairouz-oh-viswanath")
    return law.epsilon(left / kept).bound("kairouz-oh-viswanath")


@dataclass(frozen=True, slots=True, eq=False)
class _Law:
    """The loss (k - 2i) own: above[i] = P(first i + 1 losses), below[i] = the same under Q."""

    own: Fraction
    k: int
    above: tuple[Interval, ...]
    below: tuple[Interval, ...]

    def delta(self, epsilon: Fraction) -> Interval:
        """A - e^epsilon B over the losses beyond epsilon."""
        # Losses above epsilon are those with i < (k - epsilon/own)/2.
        if self.own == 0 or epsilon >= self.k * self.own:
            return Interval.of(0)
        edge = (self.k - epsilon / self.own) / 2
        i = min(-(-edge.numerator // edge.denominator) - 1, self.k)
        return (self.above[i] - Interval.of(epsilon).exp() * self.below[i]).join(Interval.of(0))

    def epsilon(self, delta: Interval) -> Interval:
        """The epsilon at which delta is reached; at least 0."""
        zero = Interval.of(0)
        if self.own == 0:
            return zero
        answers = [self._crossing(end) for end in (delta.lo, delta.hi)]
        return Interval(answers[1].lo, answers[0].hi).join(zero)

    def _crossing(self, delta: object) -> Interval:
        d = Interval(delta, delta)

        def exceeds(i: int) -> bool:
            next_loss = (self.k - 2 * (i + 1)) * self.own
            return bool(next_loss < 0 or self.delta(next_loss).hi > d.lo)

        # Up to there delta at the loss of i + 1 is within d; it grows with i.
        i = bisect_left(range(self.k), x=True, key=exceeds)
        return ((self.above[i] - d) / self.below[i]).log()


@lru_cache(maxsize=64)
def _law(own: Fraction, k: int) -> _Law:
    fall = Interval.of(-own).exp()
    p = Interval.of(1)
    base = (1 + fall).log() * -k
    p = base.exp()
    above, below, up, down = [], [], Interval.of(0), Interval.of(0)
    for i in range(k + 1):
        up = up + p
        down = down + p * Interval.of(-(k - 2 * i) * own).exp()
        above.append(up)
        below.append(down)
        p = p * Fraction(k - i, i + 1) * fall
    return _Law(own, k, tuple(above), tuple(below))


def _equal(parts: Iterable[Part]) -> tuple[_Law, Interval]:
    """The law of k equal losses, and the probability that none of them is infinite."""
    stated = [(parameters(one), count) for one, count in counted_parts(parts)]
    if len({own for own, _ in stated}) != 1:
        raise InputError(
            f"{len(stated)} parts, not one repeated",
            why="this theorem composes mechanisms with the same (epsilon, delta)",
            fix="pass one part and its count, or use heterogeneous_epsilon or compose",
        )
    (epsilon, delta), k = stated[0][0], sum(count for _, count in stated)
    return _law(epsilon, k), (Interval.of(-delta).log1p() * k).exp()


_LONGEST = 2**24
"""Grid points at most."""


def heterogeneous_epsilon(parts: Iterable[Part], delta: Real, tolerance: Real = 0.01) -> Bound:
    """Epsilon(delta) of pure mechanisms, within `tolerance` of the truth.

    Guarantee:
        lower <= truth <= upper <= lower + tolerance, up to the steps of delta itself.
    Why:
        Exact composition is #P-hard. With every epsilon rounded up to a grid the losses of the
        worst mechanisms add up on the grid, and their law is a product of binomials computed term
        by term; rounding up can only cost more, rounding down less, and together they move the
        losses by at most half the tolerance.
    Edge cases:
        Very fine tolerances for very many mechanisms are refused: the grid would not fit.

    Example:
        >>> from discreet.privacy.guarantees.pure import Pure
        >>> parts = [(Pure(0.1), 1), (Pure(0.2), 1), (Pure(0.3), 1)]
        >>> found = heterogeneous_epsilon(parts, 1e-3, tolerance=0.001)
        >>> 0.593 < found.lower <= found.upper < 0.595
        True

    Reference: Murtagh, Vadhan, The Complexity of Computing the Optimal Composition of Differential
    Privacy (general parameters, exactly and approximately).
    """
    own = [_pure(one) for one, count in counted_parts(parts) for _ in range(count)]
    d = below_one(delta, "delta")
    step = positive(tolerance, "tolerance") / (2 * max(1, len(own)))
    up, down = _compose(own, step, ceil), _compose(own, step, floor)
    above, below = invert(up.delta, d).upper, invert(down.delta, d).lower
    return Bound(min(below, above), above, "murtagh-vadhan")


def _pure(guarantee: Guarantee) -> Fraction:
    epsilon, delta = parameters(guarantee)
    if not delta:
        return epsilon
    raise InputError(
        f"a part has delta {float(delta)}",
        why="this theorem composes pure mechanisms",
        fix="use compose(...), which takes every guarantee",
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Grid:
    """masses[i] is P(loss = (2i - top) step), each within a relative error."""

    step: Fraction
    top: int
    masses: FloatArray
    error: float

    def delta(self, epsilon: Fraction) -> Bound:
        """Summed over the losses beyond epsilon."""
        first = floor((epsilon / self.step + self.top) / 2) + 1
        if first >= len(self.masses):
            return Bound(0.0, 0.0, "murtagh-vadhan")
        first = max(first, 0)
        gap = float((2 * first - self.top) * self.step - epsilon)
        losses = gap + np.arange(len(self.masses) - first) * float(2 * self.step)
        sum_ = Interval.of(float(np.sum(self.masses[first:] * -np.expm1(-losses))))
        error = self.error + (len(losses) + 16) * UNIT + 2 * ELEMENTARY
        width = Interval.between(1 - Interval.of(error), 1 + Interval.of(error))
        return (sum_ * width).bound("murtagh-vadhan", at_most=1.0)


def _compose(own: list[Fraction], step: Fraction, rounded: Callable[[Fraction], int]) -> _Grid:
    """Convolve two-point laws with losses +-n step."""
    sizes = [rounded(epsilon / step) for epsilon in own]
    top = sum(sizes)
    if top > _LONGEST:
        raise InputError(
            f"a tolerance of {float(step * 2 * len(own))} for {len(own)} mechanisms",
            why=f"the grid would have {top} points",
            fix="raise the tolerance, or use compose(), which needs no grid",
        )
    masses, used = np.zeros(top + 1), 0
    masses[0] = 1.0
    for size in sizes:
        down = float(1 / (1 + Interval.of(size * step).exp()).hi)
        # Minus size stays in place, plus size moves on: the grid starts at -top.
        shifted = masses[: used + 1] * (1 - down)
        masses[: used + 1] *= down
        masses[size : size + used + 1] += shifted
        used += size
    return _Grid(step, top, masses, (16 * len(sizes) + 16) * UNIT)
