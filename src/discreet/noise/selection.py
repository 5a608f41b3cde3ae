"""Exact selection: one index, with a probability that depends on its score. No float softmax.

Work is the same whatever the scores: each candidate costs one exponential or one logarithm, so time
reveals nothing about which one is chosen. (Flipping coins until one shows heads would.)

**The error band of the scores.** Write e = 2^-53, x_i = (max - score_i) / t >= 0, M for the
largest |score| and n for their number. Integer scores are subtracted exactly. Float scores are the
doubles they are; a difference of two is rounded, so the computed x_i is right to 4e (x_i + M/t).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.noise.bits import (
    FEW,
    BitSource,
    Enclosure,
    Keystream,
    Uniform,
    contexts,
    exact,
    exp_minus,
    open_source,
    quotient,
)
from discreet.rationals import Real, positive, rational, whole

Indices: TypeAlias = NDArray[np.int64]
Multiplicities: TypeAlias = Sequence[int] | NDArray[Any] | None

_MOST = 1 << 500
_BLOCK = 1 << 20
_FAR = 1e300  # x_i beyond this is as good as infinite, and stays clear of overflow


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores as they came, and how far each is below the best, in units of the temperature."""

    given: NDArray[Any]
    temperature: Fraction
    gaps: NDArray[np.float64]  # x_i
    size: float  # M/t, 0 where no score was rounded

    def exact_gap(self, candidate: int, best: Fraction) -> Fraction:
        """x_i of one candidate, as a rational."""
        return (best - exactly(self.given[candidate])) / self.temperature

    def best(self) -> Fraction:
        """The largest score, as a rational."""
        return exactly(self.given[int(np.argmin(self.gaps))])


def exactly(score: Any) -> Fraction:
    """A score as the number it is: a float is its double, because scores are data.

    How far one person moves a score is known of the numbers that were computed; the decimals they
    print as can differ more, if only by a unit in the seventeenth place.

    Example:
        >>> exactly(0.5), exactly(0.1) == Fraction(1, 10)
        (Fraction(1, 2), False)
    """
    if isinstance(score, (float, np.float32, np.float16)) and math.isfinite(score):
        return Fraction(float(score))
    return rational(score, "score")


def read_scores(scores: Any, temperature: Real) -> Scores:
    """Read scores; each must be a finite number."""
    t = positive(temperature, "temperature")
    given = np.asarray(scores)
    if given.ndim != 1 or given.size == 0:
        raise InputError(
            f"scores have shape {given.shape}",
            why="one candidate is chosen from a list",
            fix="pass a flat, non-empty list of scores",
        )
    plain = given.dtype.kind in "iuf" and given.dtype.itemsize <= 8
    if not plain or not 2**-900 < t < 2**900:
        return _read_exactly(list(scores), t)
    gaps, size = _gaps(given)
    inverse = t.denominator / t.numerator
    with np.errstate(over="ignore"):
        return Scores(given, t, np.minimum(gaps * inverse, _FAR), min(size * inverse, _FAR))


def _read_exactly(scores: list[Any], t: Fraction) -> Scores:
    given = np.empty(len(scores), dtype=object)
    given[:] = [exactly(score) for score in scores]
    best = max(given)
    gaps = [float(min((best - score) / t, Fraction(_FAR))) for score in given]
    return Scores(given, t, np.array(gaps), 0.0)


def _gaps(given: NDArray[Any]) -> tuple[NDArray[np.float64], float]:
    """Each score's distance below the best, and the size of the scores where they were rounded."""
    if given.dtype.kind in "iu":
        # Differences of 64-bit integers wrap to the right value as unsigned words.
        words = given.astype(np.int64 if given.dtype.kind == "i" else np.uint64).view(np.uint64)
        return (words[int(np.argmax(given))] - words).astype(np.float64), 0.0
    strange = given[~np.isfinite(given)]
    if strange.size:
        rational(strange[0], "score")  # refuses it, in words
    wide = given.astype(np.float64)
    # Half a unit in the last place of a narrow float is 2^29 times that of a float64, or more.
    coarseness = float(np.finfo(given.dtype).eps) * 2.0**52
    with np.errstate(over="ignore"):
        return wide.max() - wide, float(np.abs(wide).max()) * coarseness


@overload
def choose(
    scores: Any, temperature: Real, size: None = None, multiplicities: Multiplicities = None
) -> int: ...
@overload
def choose(
    scores: Any, temperature: Real, size: int, multiplicities: Multiplicities = None
) -> Indices: ...
def choose(
    scores: Any, temperature: Real, size: int | None = None, multiplicities: Multiplicities = None
) -> Any:
    """Choose index i with probability proportional to m_i exp(scores[i] / temperature), exactly.

    A candidate with multiplicity m stands for m equal ones (an interval of grid points, say); it is
    1 where none is given. With `size`, that many independent choices.

    Why: a uniform is located among the cumulated weights w_i = m_i exp(-x_i), whose total is at
    least 1. Where x_i <= 708 a float64 weight is right to 4e (x_i + M/t) + 202e of itself (an
    exponential trusted to 100 ulp, two roundings for m_i), with x exp(-x) <= 1/2; where x_i is
    larger it is below 2^500 2^-1021. The running sum adds n e of the total, scaling the uniform 3e.
    Together below 2^8 e (n + M/t + 2048) of the total. A choice is accepted only if the uniform is
    further than twice that from both ends of its interval.

    Edge cases: one candidate is always chosen; equal scores are equally likely; an empty list,
    NaN and infinite scores are refused; scores may differ without limit; multiplicities are from 1
    to 2^500.

    Example:
        >>> choose([0, 1000, 0], temperature=1)
        1
        >>> choose([0, 1000, 0], temperature=1, size=3).tolist()
        [1, 1, 1]

    Reference: McSherry, Talwar 2007.
    """
    read = read_scores(scores, temperature)
    weights = np.exp(-read.gaps)
    if multiplicities is not None:
        weights *= _as_floats(multiplicities, read)
    sums = np.cumsum(weights)
    total = float(sums[-1])
    band = 2.0**-44 * (sums.size + read.size + 2048) * total
    draws = 1 if size is None else whole(size, "size", at_least=0)
    source = open_source(draws)
    words = source.words(draws)
    points = words * 2.0**-64 * total
    chosen = np.searchsorted(sums, points - band).astype(np.int64)
    doubt = (chosen != np.searchsorted(sums, points + band)) | (chosen == sums.size)
    for lane in map(int, np.flatnonzero(doubt)):
        chosen[lane] = locate(read, Uniform(int(words[lane]), 64, source), multiplicities)
    return int(chosen[0]) if size is None else chosen


def _as_floats(multiplicities: Multiplicities, read: Scores) -> NDArray[np.float64]:
    many = np.asarray(multiplicities)
    if many.shape == read.gaps.shape and many.min() >= 1 and many.max() < _MOST:
        return many.astype(np.float64)
    raise InputError(
        "multiplicities are out of range, or not one a score",
        why="each candidate stands for 1 to 2^500 equal ones",
        fix="leave out empty candidates, or use a coarser grid",
    )


def locate(scores: Scores, uniform: Uniform, multiplicities: Multiplicities = None) -> int:
    """The candidate whose share of the cumulated weights holds U, in arbitrary precision."""
    best, count = scores.best(), scores.given.size
    gaps = [scores.exact_gap(i, best) for i in range(count)]
    many = [exact(1 if multiplicities is None else int(multiplicities[i])) for i in range(count)]
    while True:
        down, up = contexts(uniform.size)
        weights = [exp_minus(gap, uniform.size) for gap in gaps]
        pairs = list(zip(weights, many, strict=True))
        lows = list(accumulate((down.mul(low, m) for (low, _), m in pairs), down.add))
        highs = list(accumulate((up.mul(high, m) for (_, high), m in pairs), up.add))
        left, right = uniform.cell()
        # U * total lies in [point_low, point_high); find the first sum that may reach it.
        point_low, point_high = down.mul(left, lows[-1]), up.mul(right, highs[-1])
        for i, (sum_low, sum_high) in enumerate(zip(lows, highs, strict=True)):
            if point_low < sum_high:
                if point_high <= sum_low or i == count - 1:
                    return i
                break
        uniform.extend()


@overload
def permute_and_flip(
    scores: Any, temperature: Real, size: None = None, multiplicities: Multiplicities = None
) -> int: ...
@overload
def permute_and_flip(
    scores: Any, temperature: Real, size: int, multiplicities: Multiplicities = None
) -> Indices: ...
def permute_and_flip(
    scores: Any, temperature: Real, size: int | None = None, multiplicities: Multiplicities = None
) -> Any:
    """Choose exactly as permute-and-flip does.

    The law is that of visiting candidates in random order and stopping at candidate i with
    probability exp((scores[i] - max) / temperature). With `size`, that many independent choices. A
    candidate with multiplicity m stands for m equal ones; it is 1 where none is given.

    Why: adding independent exponential noise of mean `temperature` to each score and taking the
    largest has the same law, and does the same work whatever the scores. The largest of m such
    draws is -ln(1 - (1 - U)^(1/m)), which is -ln U for m = 1. In float64 a noisy score -ln U_i -
    x_i, for U_i of 63 bits u >= 2^32, is right to 2^-33 for the cell, 2^-39 for a logarithm trusted
    to 100 ulp, and 4e (x_i + M/t). With m > 1, y = ln(1 - U)/m is computed from U or from 1 - U,
    whichever is smaller, and both are at least 2^-31; then y, 1 - e^y too, is right to 2^-32 of
    itself for the cell, and 300 ulp. The winner is accepted only if it leads by more than both
    errors, each taken as 2^-30 + 2^-48 (x_i + M/t).

    Edge cases: one candidate is always chosen; an empty list, NaN and infinite scores are refused.
    With multiplicities, the number of random words does not depend on the number of candidates.

    Example:
        >>> permute_and_flip([0, 1000, 0], temperature=1)
        1

    Reference: McKenna, Sheldon 2020; Ding, Kifer et al. 2021 (the exponential-noise form).
    """
    read = read_scores(scores, temperature)
    many = None if multiplicities is None else _as_floats(multiplicities, read)
    draws = 1 if size is None else whole(size, "size", at_least=0)
    rows = max(1, _BLOCK // read.gaps.size)
    # How many candidates have multiplicities can be private: a key, and a stream of its own.
    key = None if many is None else open_source(FEW).words(4).tobytes()
    source = open_source(draws * read.gaps.size) if key is None else Keystream(key)
    blocks = [
        _flip(read, source, min(rows, draws - first), many, multiplicities)
        for first in range(0, draws, rows)
    ]
    chosen = np.concatenate([np.empty(0, dtype=np.int64), *blocks])
    return int(chosen[0]) if size is None else chosen


def _flip(
    read: Scores,
    source: BitSource,
    runs: int,
    many: NDArray[np.float64] | None,
    multiplicities: Multiplicities,
) -> Indices:
    count = read.gaps.size
    prefixes = (source.words(runs * count) >> np.uint64(1)).view(np.int64).reshape(runs, count)
    doubt = np.broadcast_to(2.0**-30 + 2.0**-48 * (read.gaps + read.size), prefixes.shape).copy()
    doubt[prefixes < 1 << 32] = np.inf
    if many is None:
        noisy = np.log(prefixes + 0.5)
        np.subtract(63 * np.log(2.0) - read.gaps, noisy, out=noisy)
    else:
        noisy = _largest_of(prefixes, many) - read.gaps
        doubt[prefixes >= (1 << 63) - (1 << 32)] = np.inf
    contenders = noisy + doubt >= (noisy - doubt).max(axis=1, keepdims=True)
    chosen: Indices = contenders.argmax(axis=1).astype(np.int64)
    for run in map(int, np.flatnonzero(contenders.sum(axis=1) != 1)):
        rivals = map(int, np.flatnonzero(contenders[run]))
        uniforms = {i: Uniform(int(prefixes[run, i]), 63, source) for i in rivals}
        chosen[run] = outlast(read, uniforms, multiplicities)
    return chosen


def _largest_of(prefixes: Indices, many: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest of that many exponential draws each, from 63 bits of a uniform."""
    near, far = (prefixes + 0.5) * 2.0**-63, ((1 << 63) - 1 - prefixes + 0.5) * 2.0**-63
    survives = np.where(near < 0.5, np.log1p(-np.minimum(near, 0.5)), np.log(far))
    return np.asarray(-np.log(-np.expm1(survives / many)))


def outlast(
    scores: Scores, uniforms: dict[int, Uniform], multiplicities: Multiplicities = None
) -> int:
    """The contender with the largest noise less x_i, in arbitrary precision."""
    best = scores.best()
    gaps = {i: scores.exact_gap(i, best) for i in uniforms}
    many = {i: 1 if multiplicities is None else int(multiplicities[i]) for i in uniforms}
    while True:
        ranges = {i: _noisy(gaps[i], uniform, many[i]) for i, uniform in uniforms.items()}
        lead = max(low for low, _ in ranges.values())
        uniforms = {i: uniform for i, uniform in uniforms.items() if ranges[i][1] >= lead}
        if len(uniforms) == 1:
            return next(iter(uniforms))
        for uniform in uniforms.values():
            uniform.extend()


def _noisy(gap: Fraction, uniform: Uniform, many: int) -> Enclosure:
    low, high = uniform.minus_log() if many == 1 else _largest(uniform, many)
    gap_low, gap_high = quotient(gap, uniform.size)
    down, up = contexts(uniform.size)
    return down.sub(low, gap_high), up.sub(high, gap_low)


def _largest(uniform: Uniform, many: int) -> Enclosure:
    """Enclose -ln(1 - (1 - U)^(1/m)), which falls in U."""
    while uniform.prefix == 0:
        uniform.extend()
    down, up = contexts(uniform.size + many.bit_length())
    unit, m = exact(1 << uniform.size), exact(many)
    left, right = (down.div(exact(uniform.prefix + more), unit) for more in (0, 1))  # both exact
    least = up.log(down.minus(down.expm1(down.div(down.log1p(down.minus(right)), m))))
    most = down.log(up.minus(up.expm1(up.div(up.log1p(up.minus(left)), m))))
    return down.minus(least), up.minus(most)
