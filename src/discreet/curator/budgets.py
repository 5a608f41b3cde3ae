"""What an owner allows to be given away, in the words of owners."""

from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import InputError
from discreet.privacy import Filter, Neighbours
from discreet.privacy.charges import RHO, Charge
from discreet.rationals import Real, non_negative, positive


@dataclass(frozen=True, slots=True, init=False)
class Budget:
    """A cap for ever: pure epsilon, (epsilon, delta), or rho.

    Guarantee:
        (epsilon, delta) is kept by a filter on approximate zCDP, which lets far more questions
        through than adding epsilons would; half of delta is for what questions need of it
        themselves. Pure epsilon adds epsilons.

    Example:
        >>> Budget(epsilon=3, delta=1e-6).cap().measure.name
        'rho'
        >>> Budget(epsilon=3).cap().amount
        Fraction(3, 1)

    Reference: Whitehouse, Ramdas, Rogers, Wu 2023, Theorem 1 (approximate zCDP filters).
    """

    epsilon: Fraction | None
    delta: Fraction
    rho: Fraction | None

    def __init__(
        self, epsilon: Real | None = None, delta: Real = 0, *, rho: Real | None = None
    ) -> None:
        if (epsilon is None) is (rho is None):
            raise InputError(
                "a budget in both epsilon and rho, or in neither",
                why="one of them says how much may be given away",
                fix="pass Budget(epsilon=3, delta=1e-6) or Budget(rho=0.5)",
            )
        read = non_negative(delta, "delta")
        object.__setattr__(
            self, "epsilon", None if epsilon is None else positive(epsilon, "epsilon")
        )
        object.__setattr__(self, "delta", read)
        object.__setattr__(self, "rho", None if rho is None else positive(rho, "rho"))

    def cap(self, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Charge:
        """The cap of the account that keeps it."""
        if self.rho is not None:
            return Filter.zcdp(self.rho, self.delta, neighbours=neighbours).limit
        assert self.epsilon is not None  # noqa: S101 - narrowing
        if not self.delta:
            return Filter.basic(self.epsilon, neighbours=neighbours).limit
        return Filter.within(
            self.epsilon, self.delta, by=RHO, deltas=self.delta / 2, neighbours=neighbours
        ).limit
