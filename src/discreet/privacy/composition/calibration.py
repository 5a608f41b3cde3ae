"""Calibration: the noise that meets a target exactly enough, and never exceeds it."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from discreet.argument_names import also_called
from discreet.errors import InputError
from discreet.privacy.composition.composed import Composed, compose
from discreet.privacy.guarantees.guarantee import Guarantee, Part
from discreet.privacy.numerics.rounding import Bound
from discreet.rationals import Real, non_negative, positive, whole


@dataclass(frozen=True, slots=True)
class Plan:
    """Mechanisms with parameters fixed in advance, priced together by the tightest sound method.

    Guarantee:
        (epsilon(delta), delta) for everything in the plan together, provided that the plan was
        complete before the first of its answers was seen. Which data a mechanism looks at may
        depend on earlier answers; its parameters, and whether it runs at all, may not.
    Neighbours:
        Those of its guarantees, which have to agree.
    Why:
        Numerical composition is tight for fixed parameters and invalid as a stopping rule for
        adaptive ones. A plan is therefore neither a `Charge` nor a `Guarantee`: no filter or
        odometer takes it, and the type checker says so.
    Edge cases:
        An empty plan costs nothing.

    Example:
        >>> from discreet.privacy.guarantees.laplace import LaplaceNoise
        >>> plan = Plan().then(LaplaceNoise(0.1), 20).then(LaplaceNoise(0.5))
        >>> plan.epsilon(1e-6).upper < 20 * 0.1 + 0.5
        True
    """

    whole: Composed

    def __init__(self, guarantees: Iterable[Part] = ()) -> None:
        object.__setattr__(self, "whole", compose(guarantees))

    def then(self, guarantee: Guarantee, count: int = 1) -> "Plan":
        """The plan with `count` more mechanisms of this guarantee."""
        return Plan([*self.whole.parts, (guarantee, count)])

    def epsilon(self, delta: Real) -> Bound:
        """The smallest epsilon of the whole plan at this delta."""
        return self.whole.epsilon(delta)

    def delta(self, epsilon: Real) -> Bound:
        """The smallest delta of the whole plan at this epsilon."""
        return self.whole.delta(epsilon)

    def to_dict(self) -> dict[str, object]:
        """A dictionary of plain values; `from_dict` reads it back."""
        return {"plan": self.whole.to_dict()}

    @staticmethod
    def from_dict(stored: Mapping[str, object]) -> "Plan":
        """Read what `to_dict` wrote."""
        inner = stored.get("plan")
        found = Guarantee.from_dict(inner) if isinstance(inner, Mapping) else None
        if isinstance(found, Composed):
            return Plan(found.parts)
        raise InputError(
            "a stored plan cannot be read",
            why="it does not hold a composition",
            fix="restore it from an intact copy",
        )


Family: TypeAlias = Callable[[Fraction], Guarantee]
"""A guarantee for each value of its parameter, costlier as it grows: `GaussianNoise`, `Pure`."""

_CLOSE = 2e-4
"""How far below the target epsilon a calibration may end, relatively."""

_ROUNDS = 60


@dataclass(frozen=True, slots=True)
class CalibrationStep:
    """One step of a plan to be calibrated: `count` mechanisms with parameter weight x c.

    The larger the weight, the less noise this step gets; c is what `calibrate` finds.
    """

    family: Family
    weight: Fraction = Fraction(1)
    count: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", positive(self.weight, "weight"))
        object.__setattr__(self, "count", whole(self.count, "count", at_least=1))


@dataclass(frozen=True, slots=True)
class Calibration:
    """A plan that meets a target, and the parameter of each of its requests in order."""

    plan: Plan
    parameters: tuple[Fraction, ...]

    def scales(self, sensitivities: Iterable[Real]) -> tuple[Fraction, ...]:
        """The noise scale of each request: its sensitivity over its parameter.

        For Gaussian noise that is the standard deviation, for Laplace noise the width b.
        """
        given = [positive(one, "sensitivity") for one in sensitivities]
        if len(given) != len(self.parameters):
            raise InputError(
                f"{len(given)} sensitivities for {len(self.parameters)} requests",
                why="each request has one",
                fix="pass one sensitivity a request, in the same order",
            )
        return tuple(s / p for s, p in zip(given, self.parameters, strict=True))


@also_called()
def calibrate(
    requests: Iterable[CalibrationStep], *, epsilon: Real, delta: Real = 0
) -> Calibration:
    """The largest common factor c with which the plan still meets (epsilon, delta).

    Guarantee:
        plan.epsilon(delta) <= epsilon, and at least 0.9998 of it wherever the plan's epsilon moves
        continuously with c.
    Why:
        The plan's epsilon grows with every parameter, so c is found between a value that fits and
        one that does not, by interpolation on a logarithmic scale; only what was checked to fit is
        returned.
    Edge cases:
        A target above the loss of the least possible noise, or one that no noise can meet, is
        refused.

    Example:
        >>> from discreet.privacy.guarantees.gaussian import GDP
        >>> found = calibrate([CalibrationStep(GDP, count=100)], epsilon=1, delta=1e-6)
        >>> round(float(1 / found.parameters[0]))  # the deviation for a sensitivity of 1
        42
        >>> 0.9998 <= found.plan.epsilon(1e-6).upper <= 1
        True
        >>> from discreet.privacy.guarantees.subsampled import Subsampled
        >>> sgd = CalibrationStep(lambda mu: Subsampled(GDP(mu), 0.01), count=1000)
        >>> noise_multiplier = 1 / calibrate([sgd], epsilon=3, delta=1e-5).parameters[0]
    """
    steps = tuple(requests) if isinstance(requests, Iterable) else ()
    target, d = positive(epsilon, "epsilon"), non_negative(delta, "delta")
    if not steps:
        fix = "call calibrate([CalibrationStep(GDP, count=100)], epsilon=1, delta=1e-6)"
        raise InputError("no requests", why="they are a list of CalibrationStep", fix=fix)
    best = _search(lambda c: _cost(steps, c, d), float(target))
    parameters = tuple(step.weight * best for step in steps)
    return Calibration(Plan(_parts(steps, best)), parameters)


def _parts(steps: tuple[CalibrationStep, ...], c: Fraction) -> list[tuple[Guarantee, int]]:
    return [(step.family(step.weight * c), step.count) for step in steps]


def _cost(steps: tuple[CalibrationStep, ...], c: Fraction, delta: Fraction) -> float:
    return compose(_parts(steps, c)).epsilon(delta).upper


def _search(cost: Callable[[Fraction], float], target: float) -> Fraction:
    """The largest c with cost(c) <= target, within `_CLOSE` of the target's cost."""
    low, high = _bracket(cost, target)
    for _ in range(_ROUNDS):
        if low[1] >= target * (1 - _CLOSE) or high[0] <= low[0] * (1 + 2.0**-40):
            break
        c = _round(_between(low, high, target))
        found = cost(Fraction(c))
        low, high = ((c, found), high) if found <= target else (low, (c, found))
    return Fraction(low[0])


def _bracket(
    cost: Callable[[Fraction], float], target: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """A factor that fits and a larger one that does not, with their costs."""
    c, step = _round(target), 4.0
    found = cost(Fraction(c))
    if found <= target:
        while found <= target:
            low, c = (c, found), c * step
            if c > 2.0**60:
                raise _out_of_reach("less noise than any")
            found, step = cost(Fraction(c)), step * 2
        return low, (c, found)
    while found > target:
        high, c = (c, found), c / step
        if c < 2.0**-200:
            raise _out_of_reach("more noise than any")
        found, step = cost(Fraction(c)), min(step * 2, 2.0**20)
    return (c, found), high


def _between(low: tuple[float, float], high: tuple[float, float], target: float) -> float:
    """Interpolate log cost over log c, aiming just below the target; halve where that is no use."""
    middle = math.sqrt(low[0] * high[0])
    if not (0 < low[1] < high[1] < math.inf):
        return middle
    aim = math.log(target) - 0.5 * _CLOSE
    share = (aim - math.log(low[1])) / (math.log(high[1]) - math.log(low[1]))
    # Kept off the ends, so that the bracket shrinks from both sides.
    share = min(0.98, max(0.02, share))
    return low[0] * math.exp(share * math.log(high[0] / low[0]))


def _round(c: float) -> float:
    """A double with a short fraction, so that parameters stay small rationals."""
    mantissa, exponent = math.frexp(c)
    return math.ldexp(math.floor(mantissa * 2**30), exponent - 30)


def _out_of_reach(needed: str) -> InputError:
    return InputError(
        "the target cannot be met",
        why=f"it would take {needed} that can be named",
        fix="change epsilon, delta or the families",
    )
