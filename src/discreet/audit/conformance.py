"""The face that all mechanisms share, as checks that anyone can run on a class of their own.

`check_mechanism(mechanism)` raises `InvariantBroken` at the first promise that is not kept.
"""

import dataclasses
import math
from itertools import count
from typing import Any, Final

import numpy as np

from discreet.audit.releases import compare_paths
from discreet.audit.replay import leaks, paths_of
from discreet.audit.search import NEAR, mapped, several
from discreet.audit.trace import picture
from discreet.errors import DiscreetError, InputError, InvariantBroken
from discreet.mechanisms.mechanism import Claim, Mechanism
from discreet.privacy import Guarantee, Neighbours

_RUNS: Final = 50
_RATE: Final = 1e-6
_CONFIDENCES: Final = (0.5, 0.9, 0.95, 0.99, 0.999)
_SECTIONS: Final = ("Guarantee:", "Neighbours:", "Reference:")
_CANARY: Final = 77_777_777_777
_STRANGE: Final = (math.nan, math.inf, -math.inf)
_EXTREMES: Final = (10**400, -(10**400), 2**63, 1e308, -1e308, 5e-324)
_ODD: Final[tuple[Any, ...]] = (
    *([], (), {}, np.array([]), None, object(), [None], {1, 2}, True, [True]),
    *([[1, 2], [3]], [[1, 2], [3, 4]], np.array(5), np.zeros((0, 3)), np.array(["2020"], "M8[Y]")),
    *((0, 5), (0, []), ((1, 2), 3), ((1, 2), (3,)), (0, None), (0, -1), (0, (2, 1))),
    *({"a": [1]}, {"a": "b"}, {1: -1}, {(): 1.5}, ([0], [0], [len]), ([], [], [])),
)
"""Nothing at all, and data of the wrong kind, nesting or order."""

_PLACES: Final = 6
_FAR: Final = 2**62


def check_mechanism(mechanism: Mechanism) -> None:
    """Run all checks; each is a function of its own and can be run alone.

    Example:
        >>> from discreet.mechanisms import Laplace
        >>> check_mechanism(Laplace(epsilon=1, sensitivity=1))
    """
    for check in CHECKS:
        check(mechanism)


def check_face(mechanism: Mechanism) -> None:
    """A guarantee about known neighbours, an error, a claim; the same every time they are read."""
    _require(isinstance(mechanism, Mechanism), mechanism, "is no Mechanism")
    guarantee = mechanism.guarantee
    _require(isinstance(guarantee, Guarantee), mechanism, "has a guarantee of no known kind")
    _require(isinstance(guarantee.neighbours, Neighbours), mechanism, "says not about whom")
    _require(guarantee == mechanism.guarantee, mechanism, "changes its guarantee between readings")
    stored = Guarantee.from_dict(guarantee.to_dict())
    _require(stored == guarantee, mechanism, "has a guarantee that does not survive storage")


def check_frozen(mechanism: Mechanism) -> None:
    """Fields are public facts: set at birth, compared by value, never changed."""
    _require(dataclasses.is_dataclass(mechanism), mechanism, "is no dataclass")
    for part in dataclasses.fields(mechanism):  # type: ignore[arg-type]
        try:
            setattr(mechanism, part.name, getattr(mechanism, part.name))
        except (AttributeError, TypeError):
            continue
        _require(held=False, mechanism=mechanism, fault=f"lets {part.name} be changed")
    _require(not hasattr(mechanism, "__dict__"), mechanism, "takes fields it does not have")


def check_error(mechanism: Mechanism) -> None:
    """An error grows with the confidence, is finite, and a confidence is a probability."""
    errors = [mechanism.error(confidence) for confidence in _CONFIDENCES]
    _require(all(map(math.isfinite, errors)), mechanism, "has an infinite error")
    _require(min(errors) >= 0, mechanism, "has a negative error")
    _require(errors == sorted(errors), mechanism, "has an error that falls with confidence")
    for confidence in (0, 1, -0.5, 1.5, math.nan):
        try:
            mechanism.error(confidence)
        except InputError:
            continue
        _require(held=False, mechanism=mechanism, fault=f"accepts confidence {confidence}")


def check_claim(mechanism: Mechanism) -> None:
    """A claim states the mechanism's own guarantee, on pairs that it can be run on."""
    claim = mechanism.claim
    _require(isinstance(claim, Claim), mechanism, "has no claim")
    _require(claim.guarantee == mechanism.guarantee, mechanism, "claims another guarantee")
    _require(len(claim.pairs) > 0, mechanism, "has a claim without pairs")
    for pair in claim.pairs:
        _require(picture(pair.left) != picture(pair.right), mechanism, "pairs an input with itself")
        for side in (pair.left, pair.right):
            accepted = _refusal(mechanism, side) is None
            _require(accepted, mechanism, "refuses an input that its own claim is about")
        shapes = [np.shape(claim.draw(side, _RUNS)) for side in (pair.left, pair.right)]
        _require(shapes[0] == shapes[1], mechanism, "has outputs of two shapes on neighbours")
        _require(shapes[0][:1] == (_RUNS,), mechanism, "does not draw as often as it is told")
    sides = [side for pair in claim.pairs for side in (pair.left, pair.right)]
    # Some inputs leave nothing to chance, but not all of them.
    again = ({repr(picture(claim.draw(side, _RUNS))) for _ in range(3)} for side in sides)
    varied = any(len(seen) > 1 for seen in again)
    _require(varied, mechanism, "draws the same again and again")


def check_release(mechanism: Mechanism) -> None:
    """`release` and the claim's `draw` have one distribution, also where it is taken step by step.

    A sound mechanism fails with probability at most 1e-6 for each.
    """
    for path in paths_of(mechanism):
        found = compare_paths(mechanism, alpha=_RATE, release=path)
        _require(not found.refuted, mechanism, f"releases otherwise than its claim: {found.reason}")


def check_docstring(mechanism: Mechanism) -> None:
    """Guarantee, neighbours, reference and an example that runs are part of the mechanism."""
    text = type(mechanism).__doc__ or ""
    for section in _SECTIONS:
        _require(section in text, mechanism, f"has no section {section} in its docstring")
    _require(">>>" in text, mechanism, "has no example in its docstring")


def check_strange_values(mechanism: Mechanism) -> None:
    """NaN and infinity anywhere in the data are refused, in the same words whichever it is.

    A mechanism with a public `default` for what cannot be computed may answer with that instead;
    one that counts values in `named` bins has to, since none of them is in a bin.
    """
    if hasattr(mechanism, "default"):
        return
    example = mechanism.claim.pairs[0].right
    for where in range(len(_numbers(example))):
        said = {str(_refusal(mechanism, _planted(example, where, x))) for x in _STRANGE}
        is_counted = bool(getattr(mechanism, "named", ()))
        _require(("None" in said) is is_counted, mechanism, "is odd about NaN or infinity")
        _require(len(said) == 1, mechanism, "refuses NaN and infinity in different words")


def check_odd_data(mechanism: Mechanism) -> None:
    """Numbers of any size, no data and data of another kind: finite answers, or own refusals."""
    example = mechanism.claim.pairs[0].right
    places = range(min(_PLACES, len(_numbers(example))))
    huge = [_planted(example, where, number) for where in places for number in _EXTREMES]
    for value in (*huge, *_ODD):
        answer, error = _tried(mechanism, value)
        _own_words(mechanism, error)
        finite = all(math.isfinite(part) for part in _numbers(answer) if isinstance(part, float))
        _require(finite, mechanism, "answers with NaN or infinity")


def check_far_values(mechanism: Mechanism) -> None:
    """A whole number of any size that shows in an answer shows with noise.

    Floats are left out: noise is lost in the rounding of a very large one.
    """
    example = mechanism.claim.pairs[0].right
    for number in (2**63, -(2**63), 10**400):
        far = _planted(example, 0, number)
        first, _ = _tried(mechanism, far)
        if any(abs(part) > _FAR for part in _numbers(first) if isinstance(part, int)):
            others = (picture(mechanism.release(far)) for _ in range(_RUNS))
            varied = any(other != picture(first) for other in others)
            _require(varied, mechanism, "has no noise far from 0")


def check_quiet_errors(mechanism: Mechanism) -> None:
    """No refusal quotes what was refused, whatever kind of data it is."""
    canary = str(_CANARY)
    example = mechanism.claim.pairs[0].right
    odd: list[Any] = [
        canary,
        [canary],
        {canary: -_CANARY},
        [complex(_CANARY)],
        float(_CANARY) + 0.5,
        [-_CANARY - 0.5, math.nan],
        *(_planted(example, 0, x) for x in (canary, -_CANARY - 0.5, [_CANARY], None)),
    ]
    for value in odd:
        _, error = _tried(mechanism, value)
        _require(canary not in str(error), mechanism, "quotes data in an error")


def _numbers(value: Any) -> list[Any]:
    """The numbers in a nest of lists, tuples, dictionaries and arrays, in order."""
    found: list[Any] = []
    mapped(value.tolist() if isinstance(value, np.ndarray) else value, found.append)
    return found


def _planted(value: Any, where: int, strange: Any) -> Any:
    places = count()
    return mapped(value, lambda part: strange if next(places) == where else part)


def _tried(mechanism: Mechanism, value: Any) -> tuple[Any, Exception | None]:
    try:
        return mechanism.release(value), None
    except Exception as error:  # noqa: BLE001 - whatever it is must not quote
        return None, error


def check_replay(mechanism: Mechanism) -> None:
    """With frozen randomness, releases on neighbours differ only in released numbers."""
    pairs = mechanism.claim.pairs
    found = leaks(mechanism, (*pairs, *several(mechanism, pairs, NEAR)))
    _require(not found, mechanism, f"leaks beside its noise: {found}")


def _refusal(mechanism: Mechanism, value: Any) -> Exception | None:
    """How a release of this value is refused; None where it is not."""
    _, error = _tried(mechanism, value)
    _own_words(mechanism, error)
    return error


def _own_words(mechanism: Mechanism, error: Exception | None) -> None:
    """Refusals are made here, and never something else that went wrong."""
    if error is None or isinstance(error, DiscreetError):
        return
    raise InvariantBroken(
        f"{type(mechanism).__name__} raises {type(error).__name__}",
        why="what data can provoke has to be refused in fixed words",
        fix="read values with discreet.mechanisms.grid, or raise InputError",
    ) from error


def _require(held: bool, mechanism: object, fault: str) -> None:  # noqa: FBT001 - an assertion
    if not held:
        raise InvariantBroken(
            f"{type(mechanism).__name__} {fault}",
            why="every mechanism has the same face",
            fix="see discreet.mechanisms.mechanism.Mechanism",
        )


CHECKS: Final = (
    check_face,
    check_frozen,
    check_error,
    check_claim,
    check_docstring,
    check_strange_values,
    check_odd_data,
    check_far_values,
    check_quiet_errors,
    check_replay,
    check_release,
)
"""All checks, in the order they run."""
