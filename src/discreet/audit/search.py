"""Search for the neighbours that are hardest to hide, and for the event that tells them apart.

A walk uphill: from the pairs of a claim to pairs near them (see `neighbourhood`), as long as an
event would certify more. Where the exact law is known, the best event of a pair is known too (all
outcomes whose likelihood ratio is above a threshold); otherwise it is learned from samples. What is
found is only a candidate: `refute` certifies it on samples of its own, so searching costs time and
never validity.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np

from discreet import noise
from discreet.audit.enumerate import Laws, views
from discreet.audit.evidence import Point, points
from discreet.audit.features import rows
from discreet.audit.neighbourhood import around
from discreet.audit.refute import expected, ranked_events
from discreet.errors import DiscreetError
from discreet.mechanisms.mechanism import Claim, Mechanism, Pair
from discreet.rationals import whole

SAMPLES: Final = 40_000
"""Runs that rank one pair where there is no law."""


@dataclass(frozen=True, slots=True)
class FoundPair:
    """A pair, and how far an event on it would go: -1 shows nothing, 0 all that is claimed."""

    pair: Pair
    reach: float


def search(mechanism: Mechanism, *, tries: int = 200, samples: int = 200_000) -> FoundPair:
    """The neighbours on which `samples` runs would certify most, as far as `tries` pairs tell.

    Example:
        >>> from discreet.mechanisms import RandomizedResponse
        >>> search(RandomizedResponse(epsilon=1), tries=5).reach > -0.1
        True
    """
    left, claim = whole(tries, "tries", at_least=1), mechanism.claim
    promised = points(claim.guarantee)
    judged = partial(_judged, claim, promised=promised, samples=samples)
    best = max(map(judged, claim.pairs), key=lambda found: found.reach)
    near = _shuffled(list(around(mechanism, best.pair)))
    for _ in range(left):
        if not near:
            break
        found = judged(pair := near.pop())
        # By chance alone a pair looks better: it has to be so twice where samples judge.
        if found.reach > best.reach and claim.law is None:
            found = replace(found, reach=min(found.reach, judged(pair).reach))
        if found.reach > best.reach:
            best, near = found, _shuffled(list(around(mechanism, pair)))
    return best


def harder(mechanism: Mechanism, *, tries: int, samples: int) -> Claim:
    """The mechanism's claim with one more pair, the hardest that was found."""
    claim = mechanism.claim
    found = search(mechanism, tries=tries, samples=samples).pair
    return claim if found in claim.pairs else replace(claim, pairs=(*claim.pairs, found))


def _shuffled(pairs: list[Pair]) -> list[Pair]:
    lots = np.asarray(noise.below(1 << 62, size=len(pairs)))
    return [pairs[int(i)] for i in np.argsort(lots, kind="stable")]


def _judged(claim: Claim, pair: Pair, promised: tuple[Point, ...], samples: int) -> FoundPair:
    try:
        if claim.law is not None or len(claim.views) == 1:
            law = views(claim)[0].law
            sides = law(pair.left), law(pair.right)
            both = (Laws.of(*sides), Laws.of(*reversed(sides)))
            return FoundPair(pair, max(_by_law(laws, promised, samples) for laws in both))
        left, right = (rows(claim.draw(side, SAMPLES)) for side in (pair.left, pair.right))
    except DiscreetError:
        return FoundPair(pair, -1.0)
    return FoundPair(pair, max(reach for reach, _ in ranked_events(left, right, promised, 0.01)))


def _by_law(laws: Laws, promised: tuple[Point, ...], samples: int) -> float:
    order: Any = np.argsort(-(laws.p + 1e-300) / (laws.q + 1e-300))
    p, q = np.cumsum(laws.p[order]), np.cumsum(laws.q[order])
    return float(np.max(expected(np.minimum(p, 1), np.minimum(q, 1), promised, 0.01, samples)))
