"""The evidence of one attempt to refute a claim."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, TypeAlias

from discreet.errors import InputError
from discreet.privacy import Guarantee

Curve: TypeAlias = tuple[tuple[float, float], ...]
"""Points (type-I error, type-II error) of an attacker who tells two neighbours apart."""


@dataclass(frozen=True, slots=True)
class Point:
    """One promise out of a guarantee's profile: (epsilon, delta)-differential privacy."""

    epsilon: float
    delta: float

    @property
    def room(self) -> float:
        """The gap that an event of probability 1 on both sides leaves; it shows nothing."""
        return max(self.epsilon - math.log1p(-min(self.delta, 0.999)), 1e-9)

    def reach(self, bound: float) -> float:
        """Excess of a certified epsilon over the claimed one, in units of `room`."""
        return (bound - self.epsilon) / self.room


@dataclass(frozen=True, slots=True)
class Evidence:
    """How far one claim is refuted, and by what.

    `bound` is an epsilon below which the claim cannot be true at `point.delta`: certain where the
    method is enumeration, certain but for probability `alpha` where it is sampling.
    `reason` is set where the claim fails otherwise than by a number.
    """

    claim: str
    method: str
    point: Point
    bound: float
    event: str
    alpha: float = 0.0
    samples: int = 0
    curve: Curve = field(default=(), repr=False)
    reason: str = ""

    def __str__(self) -> str:
        verdict = "refuted" if self.refuted else "not refuted"
        epsilon, delta = self.point.epsilon, self.point.delta
        allowed = f"at delta {delta:.4g} the claim allows epsilon {epsilon:.4g}"
        why = self.reason or f"{allowed}, and at least {self.bound:.4g} is shown"
        return f"{self.claim}: {verdict} ({why}; {self.event})"

    @property
    def refuted(self) -> bool:
        """Whether the claim is false."""
        return bool(self.reason) or self.bound > self.point.epsilon

    @property
    def reach(self) -> float:
        """How far the certificate goes: -1 shows nothing, above 0 the claim is false."""
        return math.inf if self.reason else self.point.reach(self.bound)


def strongest(evidence: list[Evidence]) -> Evidence:
    """The attempt that came closest, or went furthest; of those alike, at the largest epsilon."""
    return max(evidence, key=lambda one: (one.refuted, round(one.reach, 9), one.point.epsilon))


_RARE: Final = 1e-3
"""The smallest delta that is looked at where a guarantee has no finite epsilon at its own delta."""

_SAMPLES: Final = 200_000
_MOST: Final = 2_000_000
_USUAL_DELTA: Final = 0.01

_FAR: Final = 2.0**6
_ROUNDS: Final = 6
_SHARES: Final = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)


def points(guarantee: Guarantee) -> tuple[Point, ...]:
    """A few points from the steepest promise that samples can test down to epsilon = 0.

    Edge cases: a guarantee that promises nothing at any epsilon up to 64 is refused, since there
    is nothing to refute.
    """
    top, own = _top(guarantee)
    epsilons = sorted({share * top for share in _SHARES})
    *found, last = (Point(e, guarantee.delta(e).upper) for e in epsilons)
    return (*found, Point(last.epsilon, min(last.delta, own)))


def samples_for(guarantee: Guarantee) -> int:
    """How many runs it takes to see a claim broken by a tenth: more where little is promised.

    Why: an event of probability 1/(1 + e^epsilon) on the unlikely side has its log ratio known up
    to about sqrt((1 + e^epsilon)/runs), which has to be a share of epsilon; and events as rare as
    delta have to be seen. 200,000 at epsilon = 1 and delta = 0.01, at most 2,000,000.

    Example:
        >>> from discreet.privacy import Pure
        >>> [samples_for(Pure(epsilon)) for epsilon in (0.1, 0.5, 1, 2)]
        [2000000, 570000, 200000, 200000]
    """
    top = points(guarantee)[-1]
    width = (1 + math.exp(top.epsilon)) / max(top.epsilon, 0.01) ** 2 / (1 + math.e)
    own = max(guarantee.infinity(way).upper for way in guarantee.directions)
    rare = _USUAL_DELTA / own if own > 0 else 1.0
    factor = min(max(width, rare, 1.0), _MOST / _SAMPLES)
    return 10_000 * round(_SAMPLES * factor / 10_000)


def _top(guarantee: Guarantee) -> tuple[float, float]:
    """The epsilon at the guarantee's own delta, and that; or about where it falls below `_RARE`."""
    own = max(guarantee.infinity(way).upper for way in guarantee.directions)
    far = guarantee.delta(_FAR).upper
    # As a fraction: the decimal that a float prints as can be below it, and promise nothing.
    exact = guarantee.epsilon(Fraction(own)).upper if far <= own < 1 else math.inf
    if math.isfinite(exact):
        return exact, own
    rare = max(_RARE, 2 * own)
    if far > min(rare, 0.9):
        raise InputError(
            f"{type(guarantee).__name__} promises nothing up to epsilon = {_FAR:g}",
            why="there is nothing to refute",
            fix="audit the mechanism with parameters that promise something",
        )
    low, high = 0.0, _FAR
    while high > _RARE and guarantee.delta(high / 2).upper <= rare:
        high /= 2
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        low, high = (low, middle) if guarantee.delta(middle).upper <= rare else (middle, high)
    return high, 1.0
