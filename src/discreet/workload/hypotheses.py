"""Which hypothesis a domain gets, and its stored form."""

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import InputError
from discreet.workload.domain import Domain
from discreet.workload.factored_hypothesis import FactoredHypothesis
from discreet.workload.hypothesis import DENSE_CELLS, DenseHypothesis, Hypothesis
from discreet.workload.marginals import NoisyMarginal


def hypothesis_of(domain: Domain, measurements: Sequence[NoisyMarginal]) -> Hypothesis:
    """What measurements say about a domain: cell by cell where it is small, else as a model."""
    cells = int(np.prod(domain.shape(), dtype=object))
    if cells <= DENSE_CELLS:
        return DenseHypothesis(domain, measurements)
    return FactoredHypothesis(domain, measurements)


def pack(measurements: Sequence[NoisyMarginal]) -> bytes:
    """Measurements as bytes, the same for the same ones; `unpack` reads them."""
    heads: list[Any] = [{**one.to_dict(), "shape": list(one.steps.shape)} for one in measurements]
    text = json.dumps(heads, sort_keys=True, separators=(",", ":")).encode()
    numbers = [np.ascontiguousarray(one.steps, dtype="<i8").tobytes() for one in measurements]
    return b"".join([len(text).to_bytes(8, "little"), text, *numbers])


def unpack(stored: bytes) -> tuple[NoisyMarginal, ...]:
    """Read what `pack` wrote."""
    end = 8 + int.from_bytes(stored[:8], "little")
    found = []
    for head in json.loads(stored[8:end]):
        shape = tuple(head["shape"])
        size = 8 * int(np.prod(shape, dtype=np.int64))
        steps = np.frombuffer(stored[end : end + size], dtype="<i8").astype(np.int64)
        end += size
        found.append(
            NoisyMarginal(
                tuple(head["clique"]),
                steps.reshape(shape),
                head["row_weight"],
                Fraction(head["variance"]),
                Fraction(head["mu_squared"]),
            )
        )
    if end != len(stored):
        raise InputError(
            "measurements cannot be read",
            why="there are more or fewer bytes than they say",
            fix="pass the bytes that were stored",
        )
    return tuple(found)
