"""Optimal composition of k equal (epsilon, delta) mechanisms, exactly."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.privacy.guarantees.guarantee import below_one
from discreet.privacy.numerics.rounding import Bound, Interval
from discreet.rationals import Real, non_negative, whole

LONGEST = 1024
"""Mechanisms up to which `compose` prefers this exact sum."""


def optimal_delta(own: tuple[Real, Real], k: int, epsilon: Real) -> Bound:
    """Delta(epsilon) of k mechanisms that are each (own epsilon, own delta) and no better."""
    law = _law(non_negative(own[0], "epsilon"), whole(k, "k", at_least=1))
    finite = law.delta(non_negative(epsilon, "epsilon"))
    kept = _kept(own[1], k)
    return (1 - kept + kept * finite).bound("kairouz-oh-viswanath", at_most=1.0)


def optimal_epsilon(own: tuple[Real, Real], k: int, delta: Real) -> Bound:
    """Epsilon(delta) of k mechanisms that are each (own epsilon, own delta) and no better.

    Guarantee:
        The smallest epsilon there is, up to the last digit, not only at multiples of the own
        epsilon.
    Why:
        Each mechanism is dominated by one that fails with probability own delta and is randomized
        response otherwise, so the loss of k is (k - 2i) epsilon with binomial probability. Between
        two neighbouring multiples delta is A - e^epsilon B, which is solved in closed form.

    Example:
        >>> round(optimal_epsilon((0.1, 0), 100, 1e-6).upper, 6)
        4.774568

    Reference: Kairouz, Oh, Viswanath, The Composition Theorem for Differential Privacy, Theorem
    3.3.
    """
    law = _law(non_negative(own[0], "epsilon"), whole(k, "k", at_least=1))
    kept = _kept(own[1], k)
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
        """Where delta is crossed; at least 0."""
        zero = Interval.of(0)
        if self.own == 0:
            return zero
        answers = [self._crossing(end) for end in (delta.lo, delta.hi)]
        return Interval(answers[1].lo, answers[0].hi).join(zero)

    def _crossing(self, delta: object) -> Interval:
        d = Interval(delta, delta)
        low, high = 0, self.k
        # The last i with delta at the loss of i + 1 still within d; delta grows with i.
        while low < high:
            middle = (low + high) // 2
            at = (
                self.delta((self.k - 2 * (middle + 1)) * self.own)
                if self.k - 2 * (middle + 1) >= 0
                else None
            )
            if at is None or at.hi > d.lo:
                high = middle
            else:
                low = middle + 1
        return ((self.above[low] - d) / self.below[low]).log()


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


def _kept(delta: Real, k: int) -> Interval:
    """(1 - delta)^k."""
    return (Interval.of(-non_negative(delta, "delta")).log1p() * k).exp()
