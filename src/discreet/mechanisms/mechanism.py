"""The one face of all mechanisms, and a promise that can be refuted by running it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias, TypeVar

from numpy.typing import NDArray

from discreet.argument_names import missing_attribute
from discreet.errors import InputError
from discreet.privacy import Guarantee
from discreet.rationals import Real

Law: TypeAlias = Mapping[Hashable, tuple[float, float]]
"""An output law where it is small enough to write down: bounds on each outcome's probability."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two neighbouring inputs: exactly as far apart as the guarantee allows."""

    left: Any
    right: Any


def as_it_is(value: Any, answer: Any) -> Any:
    """An answer that is a number, or a row of them, already."""
    del value
    return answer


@dataclass(frozen=True, slots=True)
class View:
    """A part of an output whose exact law is small enough to write down.

    `read` picks it out of the rows that `draw` gives, and looks at nothing else; `law(input)` is
    its exact law.
    """

    read: Callable[[NDArray[Any]], NDArray[Any]]
    law: Callable[[Any], Law]


@dataclass(frozen=True, slots=True)
class Claim:
    """A mechanism's claim, which the auditor tries to refute.

    `pairs` are neighbouring inputs, as `release` takes them, on which the promise is hardest to
    keep. `draw(input, n)` runs the mechanism's own release path n times on fresh randomness and
    codes each output as a number, or as a row of numbers. `law(input)`, where the output space is
    small, is the exact output law; `views` are parts of the output with exact laws of their own.
    `code(input, answer)` is how `draw` codes what `release` answers about an input, so that the two
    can be compared.
    """

    name: str
    guarantee: Guarantee
    pairs: tuple[Pair, ...]
    draw: Callable[[Any, int], NDArray[Any]]
    law: Callable[[Any], Law] | None = None
    code: Callable[[Any, Any], Any] = as_it_is
    views: tuple[View, ...] = ()


Kind = TypeVar("Kind", bound=Enum)


class Mechanism(ABC):
    """A randomised answer with a stated guarantee.

    Fields of a mechanism are public facts; only `release` takes data, and it draws fresh
    randomness. What a mechanism cannot do without looking at data (its guarantee, its error) it
    does without looking at data.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        own = getattr(type(self).__init__, "others", {}).get(name, "")
        if own.isidentifier() and own != name:
            return getattr(self, own)
        return missing_attribute(self, name)

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """The guarantee of one release."""

    @abstractmethod
    def release(self, value: Any) -> Any:
        """A fresh private answer about `value`; every call is paid for by another `guarantee`."""

    @abstractmethod
    def error(self, confidence: Real = 0.95) -> float:
        """How far an answer is from the truth at most, with this probability over the noise."""

    @property
    @abstractmethod
    def claim(self) -> Claim:
        """The claim that the auditor tests."""


class RowMechanism(Mechanism):
    """A mechanism whose data is a list of numbers, a row each.

    Its guarantee holds whatever number a row is changed to: no sensitivity is asked of the data.
    """

    __slots__ = ()


def fill(mechanism: Mechanism, **facts: object) -> None:
    """Set the fields of a frozen mechanism while it is being born."""
    for name, fact in facts.items():
        object.__setattr__(mechanism, name, fact)


def one_of(kinds: type[Kind], value: object, name: str) -> Kind:
    """Read one of the members of an enumeration by its value."""
    try:
        return kinds(value)
    except ValueError:
        listed = " or ".join(repr(one.value) for one in kinds)
        raise InputError(f"{name} is {value!r}", why=f"it is {listed}", fix="pass one") from None


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
