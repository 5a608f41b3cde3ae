"""The law of a privacy loss that takes few values, with everything known about it."""

from dataclasses import dataclass
from fractions import Fraction

from discreet.privacy.numerics.rounding import Interval


@dataclass(frozen=True, slots=True, eq=False)
class Atoms:
    """The finite part of a discrete privacy loss under P: exact losses, enclosed probabilities.

    The probabilities add up to 1 less the mass at infinity; the losses are in no special order.
    """

    losses: tuple[Fraction, ...]
    probabilities: tuple[Interval, ...]
