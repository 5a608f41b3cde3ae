"""Statistical refutation: find the event that tells two neighbours apart, then prove that it does.

Three tenths of the samples choose a feature of the output, a threshold and a direction; the rest,
untouched so far, certify. The certificate is a Clopper-Pearson box: P(event) is above its lower
end and Q(event) below its upper end, but for the stated error rate. If no mechanism inside the
claimed profile can be in that box, the claim is false.
"""

import math
import numbers
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, Final
from zlib import crc32

import numpy as np

from discreet.argument_names import also_called
from discreet.audit.confidence import least, most
from discreet.audit.evidence import Curve, Evidence, Point, points, samples_for, strongest
from discreet.audit.features import Feature, Floats, Outputs, learn, rows
from discreet.errors import DiscreetError, InputError
from discreet.mechanisms.mechanism import Claim, Mechanism, Pair
from discreet.privacy import Approximate
from discreet.rationals import Real, whole

_TRAINING: Final = 0.3
_FEWEST: Final = 100
_STEPS: Final = 96
_SLACK: Final = 1e-12  # more than any rounding between here and the certified box
_CURVE: Final = 120


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """Score at least (or below) a threshold; `swapped` where `right` is the likelier side."""

    feature: Feature
    threshold: float
    above: bool
    swapped: bool

    def count(self, outputs: Outputs) -> int:
        """How many outputs are in the event."""
        return int(np.count_nonzero((self.feature.score(outputs) >= self.threshold) == self.above))

    def __str__(self) -> str:
        side = "at least" if self.above else "below"
        return f"{self.feature.name} is {side} {self.threshold:.4g}"


@also_called(neighbours="inputs", pair="inputs", mechanism="claim", n="samples")
def refute(
    claim: Claim | Mechanism | Callable[[Any], Any],
    *,
    inputs: tuple[Any, Any] | None = None,
    epsilon: Real | None = None,
    delta: Real = 0,
    samples: int | None = None,
    alpha: float = 0.01,
) -> Evidence:
    """Try to refute a claim by running its mechanism on neighbours; `samples` follows the claim.

    Any function can be audited: `inputs` are two neighbours, and (epsilon, delta) what it is said
    to keep on them. Its outputs are numbers, rows of one length, or anything with a repr.

    Guarantee:
        A true claim is refuted with probability at most alpha, over the mechanism's randomness.
    Why:
        One event is certified for each pair, chosen before the certifying samples are looked at;
        both ends of its box get an equal share of alpha, and pairs share it too (Bonferroni). The
        box holds for all points of the profile at once.
    Edge cases:
        A mechanism that raises on one neighbour and not on the other is refuted by that alone; an
        error of a function is one of its outputs, unless both inputs begin with one.

    Example:
        >>> from discreet.mechanisms import Laplace
        >>> too_little = Laplace(epsilon=2, sensitivity=1).release
        >>> refute(too_little, inputs=(0, 1), epsilon=1, samples=20_000).refuted
        True
    """
    claim = _claim_of(claim, inputs, epsilon, delta)
    runs = samples_for(claim.guarantee) if samples is None else samples
    whole(runs, "samples", at_least=_FEWEST)
    if not 0 < alpha < 1:
        raise InputError(f"alpha is {alpha}", why="it is an error rate", fix="pass 0 < alpha < 1")
    promised = points(claim.guarantee)
    share = alpha / len(claim.pairs)
    tries = [_try(claim, pair, promised, runs, share) for pair in claim.pairs]
    return replace(strongest(tries), alpha=alpha, samples=runs)


def _claim_of(
    given: Any, inputs: tuple[Any, Any] | None, epsilon: Real | None, delta: Real
) -> Claim:
    claim = getattr(given, "claim", given)
    if isinstance(claim, Claim) and inputs is None and epsilon is None and not delta:
        return claim
    if isinstance(claim, Claim) or not callable(given) or inputs is None or epsilon is None:
        raise InputError(
            "two inputs to tell apart and an epsilon are not said, or said twice",
            why="outputs on neighbours are compared with a guarantee; a claim has its own of both",
            fix="call dp.audit.refute(function, inputs=(0, 1), epsilon=1), or refute(claim)",
        )
    if all(isinstance(error := _tried(given, side), Exception) for side in inputs):
        raise error
    name = getattr(given, "__name__", "mechanism")
    return Claim(
        name,
        Approximate(epsilon, delta),
        (Pair(*inputs),),
        lambda value, runs: np.array([_as_number(_tried(given, value)) for _ in range(runs)]),
    )


def _tried(function: Callable[[Any], Any], value: Any) -> Any:
    try:
        return function(value)
    except Exception as error:  # noqa: BLE001 - whatever tells two neighbours apart
        return error


def _as_number(output: Any) -> Any:
    """Numbers and rows of them as they are, else a checksum: any function of an output will do."""
    listed = output if isinstance(output, (list, tuple)) else getattr(output, "flat", [output])
    known = all(isinstance(one, (numbers.Real, np.bool_)) for one in listed)
    return output if known else crc32(repr(output).encode())


def _try(
    claim: Claim, pair: Pair, promised: tuple[Point, ...], samples: int, alpha: float
) -> Evidence:
    left, right = (_outputs(claim, side, samples) for side in (pair.left, pair.right))
    if isinstance(left, Exception) and isinstance(right, Exception):
        raise left
    if isinstance(left, Exception) or isinstance(right, Exception):
        return _undone(claim, promised, "it raises on one neighbour and not on the other")
    if left.shape != right.shape:
        return _undone(claim, promised, "its outputs on two neighbours differ in shape")
    cut = int(_TRAINING * samples)
    _, event = max(ranked_events(left[:cut], right[:cut], promised, alpha), key=itemgetter(0))
    point, bound = certify(event, left[cut:], right[cut:], promised, alpha)
    curve = _curve(event, left[cut:], right[cut:])
    return Evidence(claim.name, "samples", point, bound, str(event), alpha, samples, curve)


def _outputs(claim: Claim, side: Any, samples: int) -> Outputs | Exception:
    """The outputs of `samples` runs, or what they ended with instead."""
    try:
        outputs = rows(claim.draw(side, samples))
    except DiscreetError as error:
        return error
    if len(outputs) == samples:
        return outputs
    raise InputError(
        f"{len(outputs)} outputs of {samples} runs",
        why="every run has one output",
        fix="let the claim's draw(input, n) return n numbers or n rows",
    )


def _undone(claim: Claim, promised: tuple[Point, ...], reason: str) -> Evidence:
    return Evidence(claim.name, "samples", promised[-1], math.inf, "status", reason=reason)


def ranked_events(
    left: Outputs, right: Outputs, promised: tuple[Point, ...], alpha: float
) -> Iterator[tuple[float, Event]]:
    """The best events of every feature, and how far each would go with the runs that rank it.

    One third of the outputs teaches the features, the rest ranks their events: a feature that has
    only learned its own samples by heart does not win, and neither does a rare event by luck.
    """
    cut = len(left) // 3
    for feature in learn(left[:cut], right[:cut]):
        yield from _events(feature, left[cut:], right[cut:], promised, alpha)


def _events(
    feature: Feature, left: Outputs, right: Outputs, promised: tuple[Point, ...], alpha: float
) -> Iterator[tuple[float, Event]]:
    """The best threshold of a feature in each of its four directions."""
    on_left, on_right = np.sort(feature.score(left)), np.sort(feature.score(right))
    cuts = _thresholds(on_left, on_right)
    shares = [1 - np.searchsorted(side, cuts) / side.size for side in (on_left, on_right)]
    for above in (True, False):
        p, q = shares if above else [1 - share for share in shares]
        for swapped, likely, unlikely in ((False, p, q), (True, q, p)):
            reaches = expected(likely, unlikely, promised, alpha, len(left))
            at = int(np.argmax(reaches))
            yield float(reaches[at]), Event(feature, cuts[at], above, swapped)


def _thresholds(left: Floats, right: Floats) -> Floats:
    """Cuts through the pooled scores: even ranks, and ever rarer ones toward both ends."""
    pooled = np.sort(np.concatenate([left, right]), kind="stable")  # merges two sorted runs
    even = np.linspace(0, pooled.size - 1, _STEPS).astype(np.int64)
    rare = np.unique(np.geomspace(1, pooled.size / 2, _STEPS // 2).astype(np.int64))
    return np.unique(pooled[np.concatenate([even, rare, pooled.size - rare])])


def expected(p: Floats, q: Floats, promised: tuple[Point, ...], alpha: float, runs: int) -> Floats:
    """How far certificates from so many runs would reach, about, for events of these shares."""
    z = math.sqrt(2 * math.log(2 / alpha))
    low, high = _wilson(p, -z, runs), _wilson(q, z, runs)
    # How far log((P - delta)/Q) goes toward each epsilon and beyond, for P = low and Q = high.
    stated = np.array([(one.delta, one.epsilon, one.room) for one in promised])
    delta, epsilon, room = stated.T[:, :, None]
    reaches = np.log(np.maximum(low - delta, 1e-300) / np.maximum(high, 1e-300)) - epsilon
    return np.asarray((reaches / room).max(axis=0))


def _wilson(share: Floats, z: float, runs: int) -> Floats:
    """The end of Wilson's interval z deviations away: cheap, and near Clopper-Pearson's."""
    width = z * np.sqrt(share * (1 - share) / runs + (z / (2 * runs)) ** 2)
    end: Floats = (share + z * z / (2 * runs) + width) / (1 + z * z / runs)
    return np.clip(end, 0.0, 1.0)


def certify(
    event: Event, left: Outputs, right: Outputs, promised: tuple[Point, ...], alpha: float
) -> tuple[Point, float]:
    """The promise an event contradicts most (or least mildly), and the epsilon it certifies."""
    likely, unlikely = (right, left) if event.swapped else (left, right)
    low = least(event.count(likely), len(likely), alpha / 2) * (1 - _SLACK)
    high = most(event.count(unlikely), len(unlikely), alpha / 2) * (1 + _SLACK)
    clear = [low - point.delta * (1 + _SLACK) for point in promised]
    bounds = [math.log(one / high) - _SLACK if one > 0 else -math.inf for one in clear]
    reaches = [point.reach(bound) for bound, point in zip(bounds, promised, strict=True)]
    at = int(np.argmax(reaches))
    return promised[at], bounds[at]


def _curve(event: Event, left: Outputs, right: Outputs) -> Curve:
    """The errors of the attacker who says "left" where the chosen score points to it."""
    sign = -1.0 if event.above == event.swapped else 1.0
    on_left, on_right = (np.sort(sign * event.feature.score(side)) for side in (left, right))
    pooled = np.unique(np.concatenate([on_left, on_right]))
    cuts = pooled[np.unique(np.linspace(0, pooled.size - 1, _CURVE).astype(np.int64))]
    missed = np.searchsorted(on_left, cuts) / on_left.size
    alarms = 1 - np.searchsorted(on_right, cuts) / on_right.size
    inside = sorted(zip(alarms.tolist(), (-missed).tolist(), strict=True))
    return ((0.0, 1.0), *((alarm, -miss) for alarm, miss in inside), (1.0, 0.0))
