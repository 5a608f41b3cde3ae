"""A promise in a form that can be refuted by running it."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from numpy.typing import NDArray

from discreet.privacy import Guarantee

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
    """What a mechanism promises, for an auditor that tries to refute it.

    `pairs` are neighbouring inputs, as `release` takes them, on which the promise is hardest to
    keep. `draw(input, n)` runs the mechanism's own release path n times on fresh randomness and
    codes each output as a number, or as a row of numbers. `law(input)`, where the output space is
    small, is the exact output law; `views` are parts of the output with exact laws of their own.
    `code(input, answer)` is how `draw` codes what `release` answers about an input, so that the one
    can be held against the other.
    """

    name: str
    guarantee: Guarantee
    pairs: tuple[Pair, ...]
    draw: Callable[[Any, int], NDArray[Any]]
    law: Callable[[Any], Law] | None = None
    code: Callable[[Any, Any], Any] = as_it_is
    views: tuple[View, ...] = ()
