"""All local protocols, with parameters that make mistakes easy to see."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.audit.report import Audit, audit_claim, priced
from discreet.local.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
from discreet.local.domain import ValueDomain
from discreet.local.heavy_hitters import HeavyHitters
from discreet.local.k_randomized_response import KRandomizedResponse
from discreet.local.local_hashing import HadamardResponse, LocalHashing
from discreet.local.mean import HybridMean, Mean1Bit, PiecewiseMean
from discreet.local.protocol import LocalProtocol
from discreet.local.rappor import Rappor
from discreet.local.unary_encoding import SubsetSelection, UnaryEncoding
from discreet.local.unit_vector_mean import UnitVectorMean
from discreet.mechanisms.mechanism import Claim
from discreet.privacy import Neighbours, Pure

_ONE: Final = Fraction(1)

PROTOCOLS: Final[Mapping[str, Callable[[], LocalProtocol]]] = MappingProxyType(
    {
        "local-k-randomized-response": lambda: KRandomizedResponse(
            epsilon=_ONE, domain=ValueDomain(5)
        ),
        "local-unary-encoding": lambda: UnaryEncoding(epsilon=_ONE, domain=ValueDomain(4)),
        "local-unary-encoding-symmetric": lambda: UnaryEncoding(
            epsilon=_ONE, domain=ValueDomain(4), form="symmetric"
        ),
        "local-subset-selection": lambda: SubsetSelection(epsilon=_ONE, domain=ValueDomain(6)),
        "local-hashing": lambda: LocalHashing(epsilon=_ONE, domain=ValueDomain(5)),
        "local-hadamard-response": lambda: HadamardResponse(epsilon=_ONE, domain=ValueDomain(5)),
        "local-count-mean-sketch": lambda: CountMeanSketch(epsilon=_ONE, hashes=1, columns=8),
        "local-hadamard-sketch": lambda: HadamardCountMeanSketch(epsilon=_ONE, hashes=1, columns=8),
        "local-rappor": lambda: Rappor(bits=8, hashes=1, cohorts=1),
        "local-rappor-two-hashes": lambda: Rappor(bits=8, hashes=2, cohorts=1),
        "local-mean-1bit": lambda: Mean1Bit(epsilon=_ONE),
        "local-piecewise-mean": lambda: PiecewiseMean(epsilon=_ONE),
        "local-hybrid-mean": lambda: HybridMean(epsilon=_ONE),
        "local-unit-vector-mean": lambda: UnitVectorMean(epsilon=_ONE, dimension=2, directions=8),
        "local-heavy-hitters": lambda: HeavyHitters(epsilon=_ONE, length=1),
    }
)
"""Names as the command line takes them, and how to make each."""


def audit_protocols(
    protocols: Mapping[str, LocalProtocol], *, samples: int | None = None, alpha: float = 0.01
) -> Iterator[Audit]:
    """Audit what one report claims; all of them together err with probability at most alpha."""
    each = alpha / max(1, len(protocols))
    for name, protocol in protocols.items():
        found = audit_claim(name, protocol.claim, samples=samples, alpha=each)
        price = priced(found.claim, Pure(protocol.epsilon))
        yield replace(found, evidence=(price, *found.evidence))


def repeated(protocol: LocalProtocol, days: int) -> Claim:
    """The claim of a device that reports one value day after day: epsilon, however many days.

    Its answer is drawn once and kept; what is sent of it may be drawn every day.
    """

    def draw(value: Any, runs: int) -> NDArray[Any]:
        kept = protocol.randomize(np.repeat(protocol.read(value), runs, axis=0))
        return np.stack([protocol.coded(protocol.send(kept)) for _ in range(days)], axis=1)

    promised = Pure(protocol.epsilon, neighbours=Neighbours.CHANGE_ONE)
    return Claim(f"{type(protocol).__name__} repeated", promised, protocol.pairs, draw)
