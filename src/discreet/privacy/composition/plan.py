"""A plan: mechanisms whose parameters are fixed before any answer is seen."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from discreet.errors import InputError
from discreet.privacy.composition.composed import Composed, compose
from discreet.privacy.composition.theorems import Part
from discreet.privacy.guarantees.guarantee import Guarantee
from discreet.privacy.numerics.rounding import Bound
from discreet.rationals import Real


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
