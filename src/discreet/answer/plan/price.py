"""The price of a question."""

from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import InputError
from discreet.rationals import Real, non_negative, positive


@dataclass(frozen=True, slots=True, init=False)
class Price:
    """The (epsilon, delta) that a question may cost in all."""

    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: Real, delta: Real = 0) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        object.__setattr__(self, "delta", non_negative(delta, "delta"))
        if self.delta >= 1:
            raise InputError(f"delta is {delta}", why="it is a probability", fix="pass delta < 1")

    @staticmethod
    def free() -> "Price":
        """The price of what is about nobody; no question of private rows can have it."""
        made = object.__new__(Price)
        object.__setattr__(made, "epsilon", Fraction(0))
        object.__setattr__(made, "delta", Fraction(0))
        return made

    @property
    def is_free(self) -> bool:
        """Whether nothing was paid."""
        return not self.epsilon

    def over(self, parts: int) -> "Price":
        """An equal share of it."""
        return self if parts == 1 else Price(self.epsilon / parts, self.delta / parts)
