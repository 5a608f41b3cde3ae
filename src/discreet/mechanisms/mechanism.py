"""The one face of all mechanisms."""

from abc import ABC, abstractmethod
from typing import Any

from discreet.errors import InputError
from discreet.mechanisms.claim import Claim
from discreet.privacy import Guarantee
from discreet.rationals import Real


class Mechanism(ABC):
    """A randomised answer with a stated guarantee.

    Fields of a mechanism are public facts; data comes in through `release` alone, and randomness
    is drawn there afresh. What a mechanism cannot do without looking at data (its guarantee, its
    error) it does without looking at data.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What one release gives away about one person at most."""

    @abstractmethod
    def release(self, value: Any) -> Any:
        """A fresh private answer about `value`; every call is paid for by another `guarantee`."""

    @abstractmethod
    def error(self, confidence: Real = 0.95) -> float:
        """How far an answer is from the truth at most, with this probability over the noise."""

    @property
    @abstractmethod
    def claim(self) -> Claim:
        """What the auditor tests."""


class RowMechanism(Mechanism):
    """A mechanism whose data is a list of numbers, a row each.

    Its guarantee holds whatever number a row is changed to: no sensitivity is asked of the data.
    """

    __slots__ = ()


def fill(mechanism: Mechanism, **facts: object) -> None:
    """Set the fields of a frozen mechanism while it is being born."""
    for name, fact in facts.items():
        object.__setattr__(mechanism, name, fact)


def exactly_one(**choices: object) -> None:
    """Refuse parameters that say the same thing twice, or not at all."""
    given = [name for name, choice in choices.items() if choice is not None]
    if len(given) == 1:
        return
    names = ", ".join(choices)
    raise InputError(
        f"{' and '.join(given) or 'none'} of {names} given",
        why="each of them settles how much noise there is",
        fix=f"pass exactly one of {names}",
    )
