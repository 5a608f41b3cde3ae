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


@dataclass(frozen=True, slots=True)
class Claim:
    """What a mechanism promises, for an auditor that tries to refute it.

    `pairs` are neighbouring inputs on which the promise is hardest to keep. `draw(input, n)` runs
    the mechanism's own release path n times on fresh randomness and codes each output as a number,
    or as a row of numbers. `law(input)`, where the output space is small, is the exact output law.
    """

    name: str
    guarantee: Guarantee
    pairs: tuple[Pair, ...]
    draw: Callable[[Any, int], NDArray[Any]]
    law: Callable[[Any], Law] | None = None
