"""Search for the neighbours that are hardest to hide, and for the event that tells them apart.

A walk uphill: from the pairs of a claim to pairs near them, as long as an event would certify more.
A pair is varied as a whole (a number is moved, a row comes or goes, a difference is turned round);
what the mechanism's own metric then calls too far apart, or the mechanism refuses, is dropped.
Where the exact law is known, the best event of a pair is known too (all outcomes whose likelihood
ratio is above a threshold); otherwise it is learned from samples. What is found is only a
candidate: `refute` certifies it on samples of its own, so searching costs time and never validity.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, islice, product
from numbers import Real
from typing import Any, Final

import numpy as np

from discreet import noise
from discreet.audit.distance import is_measured, too_far
from discreet.audit.enumerate import Laws, views
from discreet.audit.evidence import Point, points
from discreet.audit.features import rows
from discreet.audit.refute import expected, ranked_events
from discreet.audit.trace import picture
from discreet.errors import DiscreetError
from discreet.mechanisms.mechanism import Claim, Mechanism, Pair, RowMechanism
from discreet.rationals import whole

SAMPLES: Final = 40_000
"""Runs that rank one pair where there is no law."""

SHIFTS: Final = (1, -1, 3, -3, 10, -10, 100, -100)
"""By how much numbers are moved."""

NEAR: Final = 120
"""How many pairs near those of a claim are replayed; of rows, their laws are enumerated too."""

_AROUND: Final = 5
"""How many pairs of a claim others are looked for around."""

_FIRST: Final = 8
"""How many of the first changes of a pair are always looked at."""

_REFUSALS: Final = (DiscreetError, TypeError, ValueError, ArithmeticError, LookupError)

_MOST: Final = 24
"""How many numbers of an input are moved one by one."""


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


# --- other neighbours near a pair -----------------------------------------------------------------


def around(mechanism: Mechanism, pair: Pair) -> Iterator[Pair]:
    """All pairs of neighbours that are one change away; none where no metric is known.

    Example:
        >>> from discreet.mechanisms import Laplace
        >>> count = Laplace(epsilon=1, sensitivity=1)
        >>> [(near.left, near.right) for near in around(count, Pair(0, 1))][:3]
        [(1, 2), (-1, 0), (3, 4)]
    """
    if not is_measured(mechanism):
        return
    seen = {(picture(pair.left), picture(pair.right))}
    shapes: dict[Any, tuple[int, ...] | None] = {}
    for near in _varied(pair):
        if (key := (picture(near.left), picture(near.right))) in seen:
            continue
        seen.add(key)
        if are_neighbours(mechanism, near, shapes):
            yield near


def several(mechanism: Mechanism, pairs: Sequence[Pair], most: int) -> list[Pair]:
    """So many pairs near these, or near some of them where they are many, of all kinds."""
    found: list[Pair] = []
    some = _evenly(pairs, _AROUND)
    for pair in some:
        near = list(around(mechanism, pair))
        found += [*near[:_FIRST], *_evenly(near[_FIRST:], most // len(some) - _FIRST)]
    return found


def _evenly(pairs: Sequence[Pair], most: int) -> Sequence[Pair]:
    return pairs[:: max(1, -(-len(pairs) // most))]


def are_neighbours(
    mechanism: Mechanism, pair: Pair, shapes: dict[Any, tuple[int, ...] | None] | None = None
) -> bool:
    """Whether two different inputs are no further apart than declared, and both accepted.

    Any rows are data. A mechanism that takes rows and refuses one side tells it from the other.
    `shapes` keeps what is drawn from each side: most sides are in several pairs.
    """
    known = {} if shapes is None else shapes
    sides = {picture(side): side for side in (pair.left, pair.right)}
    if len(sides) == 1:
        return False
    try:
        if any(too_far(mechanism, (pair.left,), (pair.right,))):
            return False
    except _REFUSALS:
        return False
    for key, side in sides.items():
        if key not in known:
            known[key] = _shape(mechanism, side)
    drawn = {known[key] for key in sides}
    half = len(drawn) == 2 and None in drawn and isinstance(mechanism, RowMechanism)
    return half or (len(drawn) == 1 and None not in drawn)


def _shape(mechanism: Mechanism, side: Any) -> tuple[int, ...] | None:
    try:
        shape: tuple[int, ...] = mechanism.claim.draw(side, 1).shape
    except _REFUSALS:
        return None
    return shape


def _varied(pair: Pair) -> Iterator[Pair]:
    left, right = pair.left, pair.right
    # First, equal rows together: what holds for one place of a crowd may not for the next.
    rows = [*left, *right] if isinstance(left, (list, tuple)) else []
    values = dict.fromkeys(row for row in rows if isinstance(row, Real))
    for shift, value in product(SHIFTS[:2], islice(values, _FIRST // 2)):
        yield Pair(moved(left, None, shift, value), moved(right, None, shift, value))
    for shift in SHIFTS:
        yield Pair(moved(left, None, shift), moved(right, None, shift))
    for place in range(min(_MOST, max(_count(left), _count(right)))):
        for shift in SHIFTS[:6]:
            yield Pair(moved(left, place, shift), moved(right, place, shift))
            yield Pair(left, moved(right, place, shift))
            yield Pair(moved(left, place, shift), right)
    for path in _lists(left):
        yield from _of_rows(pair, path)


def _of_rows(pair: Pair, path: tuple[int, ...]) -> Iterator[Pair]:
    """Rows of one list repeated, dropped, exchanged between the sides, or copied elsewhere."""
    one, other = _at(pair.left, path), _at(pair.right, path)
    if not isinstance(other, (list, tuple)):
        return
    rows = range(min(len(one), len(other)))
    for i, times in product(rows, (0, 2, 4, 8)):
        a, b = (_put(side, i, *[side[i]] * times) for side in (one, other))
        yield Pair(_with(pair.left, path, a), _with(pair.right, path, b))
    for i in rows:
        a, b = _put(one, i, other[i]), _put(other, i, one[i])
        yield Pair(_with(pair.left, path, a), _with(pair.right, path, b))
        for j in rows:
            a, b = _put(one, i, one[j]), _put(other, i, other[j])
            yield Pair(_with(pair.left, path, a), _with(pair.right, path, b))


# --- nests of lists, tuples, dictionaries and numbers --------------------------------------------


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same nest with each of its leaves changed, in order."""
    match value:
        case dict():
            return {key: mapped(inner, change) for key, inner in value.items()}
        case list() | tuple():
            return type(value)(mapped(inner, change) for inner in value)
    return change(value)


def moved(value: Any, place: int | None, shift: int, equal: Any = None) -> Any:
    """The same nest with one number moved, or all of them, or all that are `equal` to one."""
    places = count()

    def walk(part: Any) -> Any:
        chosen = _is_number(part) and place in (None, next(places)) and equal in (None, part)
        return part + shift if chosen else part

    return mapped(value, walk)


def _count(value: Any) -> int:
    found: list[Any] = []
    mapped(value, found.append)
    return sum(map(_is_number, found))


def _is_number(part: Any) -> bool:
    return isinstance(part, Real) and not isinstance(part, bool)


def _lists(value: Any, path: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    if isinstance(value, (list, tuple)):
        yield path
        for i, part in enumerate(value):
            yield from _lists(part, (*path, i))


def _at(value: Any, path: tuple[int, ...]) -> Any:
    for i in path:
        value = value[i] if isinstance(value, (list, tuple)) and i < len(value) else None
    return value


def _with(value: Any, path: tuple[int, ...], part: Any) -> Any:
    if not path:
        return part
    return _put(value, path[0], _with(value[path[0]], path[1:], part))


def _put(rows: Any, i: int, *instead: Any) -> Any:
    return type(rows)([*rows[:i], *instead, *rows[i + 1 :]])
