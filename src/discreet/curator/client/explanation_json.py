"""An explanation as plain JSON and back, to the last bit: a closed set of classes, each by name."""

import dataclasses
import math
from collections.abc import Mapping
from enum import Enum
from fractions import Fraction
from typing import Any, Final

from discreet.answer.plan.expected_error import ExpectedError
from discreet.answer.plan.explain import (
    ExplainedMeasurement,
    ExplainedSet,
    Explanation,
    Finding,
    Option,
)
from discreet.answer.plan.price import Price
from discreet.plan.bounding import ContributionBounds, NoiseKind
from discreet.plan.public_facts import PublicFacts
from discreet.plan.schema import Limits
from discreet.privacy import Neighbours

_NODES: Final[dict[str, type]] = {
    one.__name__: one
    for one in (
        Explanation,
        Price,
        PublicFacts,
        ExplainedSet,
        Finding,
        Limits,
        Option,
        ContributionBounds,
        ExplainedMeasurement,
        ExpectedError,
    )
}
_ENUMS: Final[dict[str, type[Enum]]] = {"NoiseKind": NoiseKind, "Neighbours": Neighbours}


def write_explanation(told: Explanation) -> dict[str, Any]:
    """An explanation as JSON."""
    written: dict[str, Any] = _write(told)
    return written


def read_explanation(facts: object) -> Explanation:
    """The explanation that `write_explanation` wrote; some error where it is another."""
    found = _read(facts)
    if not isinstance(found, Explanation):
        raise TypeError
    return found


def _write(value: Any) -> Any:
    match value:
        case Enum():
            return {"enum": type(value).__name__, "value": value.value}
        case Fraction():
            return {"fraction": str(value)}
        case float() if not math.isfinite(value):
            return {"float": str(value)}
        case tuple():
            return [_write(part) for part in value]
        case Mapping():
            return {"mapping": [[key, _write(part)] for key, part in value.items()]}
        case _ if type(value).__name__ in _NODES:
            names = [field.name for field in dataclasses.fields(value)]
            facts = {name: _write(getattr(value, name)) for name in names}
            return {"node": type(value).__name__, **facts}
    return value


def _read(value: Any) -> Any:
    match value:
        case {"enum": name, "value": member}:
            return _ENUMS[name](member)
        case {"fraction": text}:
            return Fraction(text)
        case {"float": text}:
            return float(text)
        case {"mapping": pairs}:
            return {key: _read(part) for key, part in pairs}
        case {"node": name, **facts}:
            return _NODES[name](**{str(key): _read(part) for key, part in facts.items()})
        case list():
            return tuple(_read(part) for part in value)
    return value
