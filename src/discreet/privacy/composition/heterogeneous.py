"""Composition of pure mechanisms with different epsilons, to any tolerance."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

import numpy as np

from discreet.errors import InputError
from discreet.privacy.composition.basic import parameters
from discreet.privacy.guarantees.guarantee import Guarantee, below_one
from discreet.privacy.numerics.inversion import invert
from discreet.privacy.numerics.moments import FloatArray
from discreet.privacy.numerics.rounding import ELEMENTARY, UNIT, Bound, Interval
from discreet.rationals import Real, positive, whole

_LONGEST = 2**24
"""Grid points at most."""


def heterogeneous_epsilon(
    parts: Sequence[tuple[Guarantee, int]], delta: Real, tolerance: Real = 0.01
) -> Bound:
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
    own = [_pure(one) for one, count in parts for _ in range(whole(count, "count", at_least=1))]
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
