"""How far apart a mechanism's inputs may be on two neighbours, and how far apart they are."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from typing import Any, Final, TypeAlias

import numpy as np

from discreet.audit.trace import picture
from discreet.errors import DiscreetError
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.prefix_sums import convolve, right_factor
from discreet.privacy import Neighbours

Metric: TypeAlias = Callable[[Any, Any, Any], str]
"""Names what is too far, given a mechanism and its inputs on two neighbours; else empty."""


class _OtherShapeError(Exception):
    """Two inputs differ in shape."""


def too_far(mechanism: Mechanism, left: tuple[Any, ...], right: tuple[Any, ...]) -> Iterator[str]:
    """How two inputs differ by more than the declared sensitivity.

    The first input is the private one and is measured; all others are public and must be equal.
    A mechanism of another kind with a `sensitivity` is measured in l1, the strictest norm.
    """
    if picture(left[1:]) != picture(right[1:]):
        yield "its public arguments depend on the data"
    if not left or not right or picture(left[0]) == picture(right[0]):
        return
    try:
        said = _metric(mechanism)(mechanism, left[0], right[0])
    except _OtherShapeError:
        said = "the shape of its input depends on the data"
    except DiscreetError:
        said = "its inputs cannot be compared"
    if said:
        yield said


def is_measured(mechanism: Mechanism) -> bool:
    """Whether it is known how far apart this mechanism's inputs may be."""
    return _metric(mechanism) is not _anything


def _metric(mechanism: Mechanism) -> Metric:
    for kind in type(mechanism).__mro__:
        if kind.__name__ in METRICS:
            return METRICS[kind.__name__]
    return _l1 if hasattr(mechanism, "sensitivity") else _anything


def _l1(mechanism: Any, left: Any, right: Any) -> str:
    with suppress(_OtherShapeError):
        return _compare(sum(map(abs, _gaps(left, right))), mechanism.sensitivity, "l1")
    return ""


def _l1_steps(mechanism: Any, left: Any, right: Any) -> str:
    """The same on the grid, which is what noise was made for."""
    gaps = _gaps(mechanism.grid.index(left), mechanism.grid.index(right))
    return _compare(sum(map(abs, gaps)), mechanism.steps, "l1 steps")


def _l2(mechanism: Any, left: Any, right: Any) -> str:
    """The square root of the sum of squares, on the grid; compared by squares."""
    grid = mechanism.grid
    gaps = _gaps(grid.index(left), grid.index(right))
    allowed = grid.squared_steps(mechanism.sensitivity, mechanism.dimension or 1)
    return _compare(sum(gap * gap for gap in gaps), allowed, "squared l2 steps")


def _largest(mechanism: Any, left: Any, right: Any) -> str:
    """The largest difference of one score; all of one sign where scores are monotone."""
    if getattr(mechanism, "utility", None) is not None:
        return _rows(mechanism, left, right)
    gaps = _gaps(left, right)
    if getattr(mechanism, "monotone", False) and min(gaps) < 0 < max(gaps):
        return "scores declared monotone move both ways"
    return _compare(max(map(abs, gaps), default=0), mechanism.sensitivity, "largest score change")


def _rows(mechanism: Any, left: Any, right: Any) -> str:
    """How many rows differ, whatever their order: a person has one, unless more are declared."""
    sides = (side.items() if isinstance(side, Mapping) else side for side in (left, right))
    one, other = (Counter(map(repr, map(picture, side))) for side in sides)
    added, removed = (other - one).total(), (one - other).total()
    most = getattr(mechanism, "max_rows_per_unit", 1)
    changed = mechanism.guarantee.neighbours is Neighbours.CHANGE_ONE
    allowed = added == removed <= most if changed else added + removed <= most
    return "" if allowed else f"{added} rows added and {removed} removed"


def _entries(mechanism: Any, left: Any, right: Any) -> str:
    """How many people answer differently: one may, and who reports is public."""
    del mechanism
    one, other = np.asarray(left), np.asarray(right)
    if one.shape != other.shape:
        raise _OtherShapeError
    return _compare(int(np.count_nonzero(one != other)), 1, "answers")


def _keys(mechanism: Any, left: Any, right: Any) -> str:
    """How many keys one person's coming and going changes, each by one; keys may be places."""
    if not isinstance(left, Mapping):
        left, right = (dict(enumerate(map(int, side))) for side in (left, right))
    gaps = [right.get(key, 0) - left.get(key, 0) for key in {*left, *right}]
    up, down = (sum(max(0, sign * gap) for gap in gaps) for sign in (1, -1))
    if mechanism.guarantee.neighbours is Neighbours.ADD_REMOVE and min(up, down) > 0:
        return "some counts grow and others shrink, which adding one person cannot do"
    if max(map(abs, gaps), default=0) > 1:
        return "a count moves by more than one, and a person counts once under a key"
    return _compare(max(up, down), mechanism.max_groups_per_unit, "l1 over keys")


def _increments(mechanism: Any, left: Any, right: Any) -> str:
    """The sum of all differences; how long a stream has lasted is public."""
    gaps = _gaps(left, right)
    return _compare(sum(map(abs, gaps)), mechanism.sensitivity, "l1 over steps")


def _vectors(mechanism: Any, left: Any, right: Any) -> str:
    """How many steps one person changes, each by how much in l2 norm, and what is measured of all.

    A changed person leaves as many steps as they enter; `sensitivity` is that of both together.
    """
    one, other = (np.array(side, dtype=object) for side in (left, right))
    if one.shape != other.shape:
        raise _OtherShapeError
    gaps = (other - one).reshape(len(one), -1)
    norms = (gaps * gaps).sum(axis=1)
    said = _compare(max(norms, default=0), mechanism.sensitivity**2, "squared l2 of a step")
    people = 1 if mechanism.guarantee.neighbours is Neighbours.ADD_REMOVE else 2
    changed = int(np.count_nonzero(norms))
    said = said or _compare(changed, people * mechanism.steps_per_unit, "steps changed")
    factor = right_factor(mechanism.horizon)[: len(one)]
    measured = (convolve(factor, column) for column in gaps.T)
    square = sum(int(number) ** 2 for column in measured for number in column)
    return said or _compare(square, 2 * mechanism.rho * mechanism.variance, "squared l2 of all")


def _holdout(mechanism: Any, left: Any, right: Any) -> str:
    """How many holdout examples differ; training examples and queries are public."""
    if picture((left[0], left[2])) != picture((right[0], right[2])):
        return "its training examples or its queries depend on the holdout"
    examples = (  # one entry each, also where their parts are in arrays of their own
        zip(*one, strict=True) if isinstance(one, tuple) else one for _, one, _ in (left, right)
    )
    return _rows(mechanism, *examples)


def _bins(mechanism: Any, left: Any, right: Any) -> str:
    """One person is in one bin: one count moves by 1, or two where people change."""
    if mechanism.named:
        return _rows(mechanism, left, right)
    gaps = _gaps(left, right)
    changed = mechanism.guarantee.neighbours is Neighbours.CHANGE_ONE
    if max(map(abs, gaps), default=0) > 1 or (not changed and min(gaps, default=0) < 0 < max(gaps)):
        return "a count moves as one person cannot move it"
    return _compare(sum(map(abs, gaps)), 2 if changed else 1, "l1 over bins")


def _tested(mechanism: Any, left: Any, right: Any) -> str:
    """A distance moves by one person; so does the value by its bound, unless both distances are 0.

    Where one person moves the value further than that, the distance has to be 0.
    """
    (one, near), (other, far) = left, right
    if near == far == 0:
        return ""
    said = _compare(abs(near - far), 1, "distance to where the bound breaks")
    gaps = _gaps(mechanism.grid.index(one), mechanism.grid.index(other))
    return said or _compare(sum(map(abs, gaps)), mechanism.steps, "steps of the value")


def _smooth(mechanism: Any, left: Any, right: Any) -> str:
    """The value moves by its local sensitivity, whose bounds hold for a neighbour one step on."""
    most = mechanism.global_sensitivity
    steps = range(max(len(left[1]), len(right[1])))
    one, other = (
        [min(bound, most) for bound in [*side[1], *[most] * (len(steps) + 1 - len(side[1]))]]
        for side in (left, right)
    )
    for here, there in ((one, other), (other, one)):
        if any(here[k] > there[k + 1] for k in steps):
            return "a bound on the local sensitivity is above the next one of a neighbour"
    return _compare(abs(left[0] - right[0]), min(one[0], other[0]), "steps of the value")


def _anything(mechanism: Any, left: Any, right: Any) -> str:
    """No sensitivity is declared, so any input is allowed."""
    del mechanism, left, right
    return ""


def _gaps(left: Any, right: Any) -> list[Fraction]:
    """The differences, number by number, exactly."""
    one, other = (np.asarray(side, dtype=object) for side in (left, right))
    if one.shape != other.shape:
        raise _OtherShapeError
    pairs = zip(one.ravel().tolist(), other.ravel().tolist(), strict=True)
    return [Fraction(b) - Fraction(a) for a, b in pairs]


def _compare(distance: Any, allowed: Any, name: str) -> str:
    if distance <= allowed:
        return ""
    return f"inputs are {float(distance):.6g} apart ({name}), declared {float(allowed):.6g}"


METRICS: Final[dict[str, Metric]] = {
    "Laplace": _l1_steps,
    "Staircase": _l1_steps,
    "Gaussian": _l2,
    "RoundedGaussian": _l2,
    "Selection": _largest,
    "TopK": _largest,
    "SparseVector": _largest,
    "RowMechanism": _rows,
    "ProposeTestRelease": _tested,
    "SmoothSensitivity": _smooth,
    "Histogram": _bins,
    "ContinualCount": _increments,
    "FactorizedCount": _vectors,
    "Thresholdout": _holdout,
    "RandomizedResponse": _entries,
    "KeySelection": _keys,
    "Threshold": _keys,
}
"""By the name of a class or of one it is derived from."""
