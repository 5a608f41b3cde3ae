"""The promises in a guarantee that are tested: points (epsilon, delta) of its privacy profile."""

from fractions import Fraction
from typing import Final

from discreet.audit.evidence import Point
from discreet.errors import InputError
from discreet.privacy import Guarantee

_RARE: Final = 1e-3
"""The smallest delta that is looked at where a guarantee has no finite epsilon at its own delta."""

_FAR: Final = 2.0**6
_ROUNDS: Final = 6
_SHARES: Final = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)


def points(guarantee: Guarantee) -> tuple[Point, ...]:
    """A few points from the steepest promise that samples can test down to epsilon = 0.

    Edge cases: a guarantee that promises nothing at any epsilon up to 64 is refused, since there
    is nothing to refute.
    """
    top = _top(guarantee)
    epsilons = sorted({share * top for share in _SHARES})
    return tuple(Point(e, guarantee.delta(e).upper) for e in epsilons)


def _top(guarantee: Guarantee) -> float:
    """The epsilon at the guarantee's own delta, or about where delta falls below `_RARE`."""
    own = max(guarantee.infinity(way).upper for way in guarantee.directions)
    far = guarantee.delta(_FAR).upper
    if far <= own < 1:
        # As a fraction: the decimal that a float prints as can be below it, and promise nothing.
        return guarantee.epsilon(Fraction(own)).upper
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
    return high
