"""Functions of released numbers alone: they keep every guarantee and can only help accuracy.

None of them may be given anything that was not released. All take lists or arrays and return float
arrays (or floats for numbers); NaN and infinity are refused.

Reference: Dwork, Roth, The Algorithmic Foundations of Differential Privacy (post-processing).
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.rationals import Real, positive

Floats = NDArray[np.float64]


class MergedMeasurement(NamedTuple):
    """One measurement made of several, and its variance."""

    value: Any
    variance: Any


class Consistent(NamedTuple):
    """Parts and a total that agree."""

    parts: Floats
    total: float


def at_least_zero(values: Any) -> Any:
    """Replace negative numbers by 0.

    What is known to be non-negative only gets nearer to the truth, number by number; sums of many
    near 0 get a bias upwards, for which see `on_simplex`.

    Example:
        >>> at_least_zero([-2, 0, 3])
        array([0., 0., 3.])
    """
    return _like(np.maximum(_read(values, "values"), 0.0))


def to_multiple(values: Any, step: Real = 1) -> Any:
    """Round to the nearest multiple of `step`, halves up.

    Example:
        >>> to_multiple([1.2, 3.7, -0.5]), to_multiple(17.0, step=5)
        (array([1., 4., 0.]), 15.0)
    """
    width, given = float(positive(step, "step")), _read(values, "values")
    with np.errstate(over="ignore", invalid="ignore"):
        steps = given / width
        rounded = np.floor(steps + 0.5) * width + 0.0
    # From 2^53 steps on a float is as near to a multiple as it gets.
    return _like(np.where(np.abs(steps) < 2.0**53, rounded, given))


def increasing(values: Any, weights: Any = None) -> Floats:
    """The non-decreasing sequence nearest to `values` in (weighted) least squares.

    Why: adjacent values that are out of order must be equal in the projection; pooling them until
    none is left gives it. Weights are the inverse variances of the measurements.

    Example:
        >>> increasing([1, 3, 2, 4])
        array([1. , 2.5, 2.5, 4. ])

    Reference: Hay, Rastogi, Miklau, Suciu, Boosting the Accuracy of Differentially Private
    Histograms Through Consistency (the sorted histogram).
    """
    sequence = _vector(values, "values")
    heavy = np.ones_like(sequence) if weights is None else _weights(weights, sequence.shape)
    means: list[float] = []
    masses: list[float] = []
    lengths: list[int] = []
    for own_mean, own_mass in zip(sequence.tolist(), heavy.tolist(), strict=True):
        mean, mass, length = own_mean, own_mass, 1
        while means and means[-1] > mean:
            before, rest = masses.pop(), means.pop()
            share = mass / (before + mass)
            mean = rest * (1 - share) + mean * share
            mass, length = mass + before, length + lengths.pop()
        means.append(mean)
        masses.append(mass)
        lengths.append(length)
    return np.repeat(np.array(means, dtype=np.float64), lengths)


def summing_to(
    total: float, parts: Any, *, total_variance: float = 0.0, variances: Any = None
) -> Consistent:
    """The parts and the total nearest to the measured ones that add up.

    Nearest in least squares, each measurement weighted by the inverse of its variance; a total
    with variance 0 (a public one) stays. The gap is shared in proportion to the variances, which
    makes each number the best linear unbiased estimate. Parts and total may change places.

    Example:
        >>> summing_to([3, 3, 3], 12)
        Consistent(parts=array([4., 4., 4.]), total=12.0)
        >>> summing_to(12, [3, 3, 3], total_variance=1).total
        11.25
    """
    if np.ndim(total) and not np.ndim(parts):
        total, parts = parts, total
    measured = _vector(parts, "parts")
    whole = float(_read(total, "total"))
    spread = np.ones_like(measured) if variances is None else _weights(variances, measured.shape)
    own = float(_read(total_variance, "total_variance"))
    if own < 0 or (measured.size == 0 and own == 0):
        raise InputError(
            "nothing can be moved to make the sum agree",
            why="a variance is negative, or there are no parts",
            fix="pass parts, and variances that are not negative",
        )
    share = (whole - math.fsum(measured)) / (own + math.fsum(spread))
    return Consistent(measured + spread * share, whole - own * share)


def on_simplex(values: Any, total: float) -> Floats:
    """The non-negative numbers with this sum that are nearest to `values` in least squares.

    Example:
        >>> on_simplex([5, 3, -4], total=4)
        array([3., 1., 0.])

    Reference: Held, Wolfe, Crowder, Validation of Subgradient Optimization (the projection).
    """
    measured = _vector(values, "values")
    whole = float(_read(total, "total"))
    if whole < 0 or measured.size == 0:
        raise InputError(
            "no non-negative numbers have this sum",
            why="the total is negative, or there are no values",
            fix="pass at least one value and total >= 0",
        )
    # Measured from the largest, which moves nothing: a sum far below the values would be lost.
    measured = measured - measured.max()
    ordered = np.sort(measured)[::-1]
    # The shift that leaves the k largest with the whole sum; the last k that keeps them positive.
    shifts = (np.cumsum(ordered) - whole) / np.arange(1, ordered.size + 1)
    kept = np.flatnonzero(ordered - shifts > 0)
    shift = shifts[kept[-1]] if kept.size else ordered[0]
    return np.asarray(np.maximum(measured - shift, 0.0))


def merge(values: Sequence[Any], variances: Sequence[Any]) -> MergedMeasurement:
    """The inverse-variance mean of repeated measurements of the same thing.

    `values` has one row for each measurement; `variances` one number for each, or one for each
    number in it. The merged variance is 1/sum(1/variance).

    Example:
        >>> merge([10.0, 13.0], [1, 2])
        MergedMeasurement(value=11.0, variance=0.666...)

    Reference: Cochran, The Combination of Estimates from Different Experiments.
    """
    measured = _read(values, "values")
    if measured.ndim == 0 or len(measured) == 0:
        raise InputError("no measurements", why="there is no mean of none", fix="pass some")
    spread = _read(variances, "variances")
    spread = spread.reshape(spread.shape + (1,) * (measured.ndim - spread.ndim))
    _weights(spread, spread.shape)
    if spread.ndim != measured.ndim or len(spread) != len(measured):
        raise _misshapen("variances")
    # In units of the least variance, whose own inverse may be beyond all floats.
    least = spread.min(axis=0)
    shares = np.broadcast_to(least / spread, measured.shape)
    mass = shares.sum(axis=0)
    return MergedMeasurement(_like((measured * (shares / mass)).sum(axis=0)), _like(least / mass))


def _read(values: Any, name: str) -> Floats:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"{name} cannot be read as numbers",
            why="released numbers are what is post-processed",
            fix="pass a number, a list or an array of numbers",
        ) from None
    if np.isfinite(array).all():
        return array
    raise InputError(
        f"{name} are not all finite", why="nothing is nearest to NaN", fix="drop them first"
    )


def _vector(values: Any, name: str) -> Floats:
    array = _read(values, name)
    if array.ndim == 1:
        return array
    raise InputError(
        f"{name} have shape {array.shape}",
        why="a flat list is needed",
        fix="pass a list of numbers",
    )


def _weights(values: Any, shape: tuple[int, ...]) -> Floats:
    array = _read(values, "weights or variances")
    if array.shape != shape:
        raise _misshapen("weights or variances")
    if (array > 0).all():
        return array
    raise InputError(
        "weights or variances are not all positive",
        why="each says how much a measurement counts",
        fix="pass numbers above 0",
    )


def _misshapen(name: str) -> InputError:
    return InputError(
        f"{name} do not fit the values", why="each value has its own", fix="make their shapes agree"
    )


def _like(array: Any) -> Any:
    return float(array) if np.ndim(array) == 0 else array
