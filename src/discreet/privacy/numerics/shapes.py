"""Closed-form moments of one-parameter losses on a line, for one or for thousands at once.

With u = s + 1/2 = a + i t the moment generating functions are even in u:

    two point       cosh(u e) / cosh(e/2)
    Laplace         e^(-e/2) (cosh(u e) + sinh(u e)/(2u))
    bounded range   sinh(u e) / (2u sinh(e/2))
    Gaussian        e^((u^2 - 1/4) e^2/2)

Divided by their value at t = 0 the first three need only cos(t e), sin(t e) and tanh(a e): nothing
overflows, and every error is a small multiple of the error of a point on the unit circle.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.privacy.numerics.moments import (
    PRODUCT,
    ComplexArray,
    FloatArray,
    Moments,
    OrderLine,
    grown,
    unit,
)
from discreet.privacy.numerics.phases import phase_error, phase_table, phases
from discreet.privacy.numerics.rounding import ELEMENTARY, UNIT

_READ = 4 * UNIT
"""Relative error of e and of the angle step x e, rounded from rationals."""


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """One family: how it bends points on the circle, and its log scale.

    `bend(z, tilt, 1/(2u), 2 lam + 1)` works in place, on points along the first axis and members
    along the last. `log_scale(e, lam, 2 lam + 1, numpy)` broadcasts and gives log M(lam) within
    `log_error(e, lam)`; with `math`, whose functions have the same names, it is quicker for one.
    """

    name: str
    bend: Callable[[ComplexArray, FloatArray | float, ComplexArray, float], ComplexArray]
    log_scale: Callable[[Any, Any, Any, Any], Any]


def log_error(e: Any, lam: float) -> Any:
    """Errors of lam e, of two logarithms (at most log(2 lam + 1)) and of their arguments."""
    return e * ((lam + 1) * (4 * UNIT)) + (8 + 2 * math.log(2 * lam + 1)) * ELEMENTARY


def _growth(shape: Shape, tilt: Any) -> Any:
    """How far errors of points grow: a sinh is divided by the tilt."""
    return 2 / tilt if shape is BOUNDED_RANGE else 2.0


def single(shape: Shape, e: float, line: OrderLine) -> Moments:
    """The moments of one member with parameter e."""
    if shape is GAUSSIAN:
        return gaussian(e * e, _READ, line)
    lam, size = line.lam, line.size
    scale, error = shape.log_scale(e, lam, 2 * lam + 1, math), log_error(e, lam)
    if size == 1:
        return Moments(scale, error, unit(line).phi, 0.0)
    tilt = math.tanh(e * (lam + 0.5))
    phi = shape.bend(phases(line.step * e, size), tilt, _half_inverse(line), 2 * lam + 1)
    circle = phase_error(line.step * e, size, _READ) + 4 * ELEMENTARY + 4 * PRODUCT
    return Moments(scale, error, phi, circle * _growth(shape, tilt))


def many(shape: Shape, es: FloatArray, counts: npt.NDArray[np.int64], line: OrderLine) -> Moments:
    """The product of the moments of many members, es[i] to the power counts[i]."""
    if shape is GAUSSIAN:
        return gaussian(float(np.sum(es * es * counts)), _READ + (len(es) + 2) * UNIT, line)
    scales = shape.log_scale(es, line.lam, 2 * line.lam + 1, np) * counts
    scale = float(np.sum(scales))
    off = float(counts @ log_error(es, line.lam))
    off += float(np.sum(np.abs(scales))) * ((len(es) + 2) * UNIT)
    off *= 1 + 4 * len(es) * UNIT
    if line.size == 1:
        return Moments(scale, off, unit(line).phi, 0.0)
    tilts = np.tanh(es * (line.lam + 0.5))
    error = float(counts @ (_errors(shape, es, tilts, line) + PRODUCT)) * (1 + 8 * len(es) * UNIT)
    return Moments(scale, off, _product(shape, es, tilts, counts, line), grown(error))


def gaussian(square: float, relative: float, line: OrderLine) -> Moments:
    """e^(s (s + 1) square/2) on a line, `square` = mu^2 known to a relative error."""
    lam, t = line.lam, line.heights
    scale = lam * (lam + 1) * square / 2
    angle = ((lam + 0.5) * square) * t
    fall = (0.5 * square * t) * t
    size = np.exp(-fall)
    phi = np.empty(line.size, dtype=np.complex128)
    phi.real, phi.imag = size * np.cos(angle), size * np.sin(angle)
    # An error x of the exponent moves e^(-fall + i angle) by x e^-fall, and fall e^-fall <= 1/e.
    error = (float((angle * size).max()) + 1) * (relative + 6 * UNIT) + 4 * ELEMENTARY
    trusted = (lam + 0.5) * square * line.step * line.size < 2.0**20
    return Moments(scale, scale * (relative + 6 * UNIT), phi, error if trusted else 2.0)


def _errors(shape: Shape, es: FloatArray, tilts: FloatArray, line: OrderLine) -> FloatArray:
    reach = float(es.max()) * line.step * line.size
    circle = phase_error(line.step * 1.0, line.size, _READ) if reach < 2.0**20 else 2.0
    per_unit = line.step * line.size * (3 * UNIT + _READ)
    fixed = circle - per_unit if reach < 2.0**20 else 2.0
    points = es * per_unit + fixed + 4 * ELEMENTARY + 4 * PRODUCT
    return np.asarray(points * _growth(shape, tilts))


def _product(
    shape: Shape, es: FloatArray, tilts: FloatArray, counts: npt.NDArray[np.int64], line: OrderLine
) -> ComplexArray:
    answer = np.ones(line.size, dtype=np.complex128)
    together = max(1, 2**14 // line.size)
    inverse, twice = _half_inverse(line)[:, None], 2 * line.lam + 1
    for start in range(0, len(es), together):
        part = slice(start, start + together)
        table = phase_table(es[part] * line.step, line.size)
        answer *= _powers(shape.bend(table, tilts[part], inverse, twice), counts[part])
    return answer


def _powers(table: ComplexArray, counts: npt.NDArray[np.int64]) -> ComplexArray:
    """The product of all columns, each raised to its count by repeated squaring."""
    answer = np.ones(len(table), dtype=np.complex128)
    while True:
        odd, counts = counts % 2 == 1, counts // 2
        more = counts > 0
        later = table[:, more] if more.any() else None
        answer *= _across(table if odd.all() else table[:, odd])
        if later is None:
            return answer
        table, counts = later * later, counts[more]


def _across(table: ComplexArray) -> ComplexArray:
    """The product of all columns, folding them in half: long rows are quick."""
    left = table.shape[1]
    if not left:
        return np.ones(len(table), dtype=np.complex128)
    while left > 1:
        half, single_out = left // 2, table[:, left - 1] if left % 2 else None
        table = table[:, :half] * table[:, half : 2 * half]
        if single_out is not None:
            table[:, 0] *= single_out
        left = half
    return table[:, 0]


@lru_cache(maxsize=64)
def _half_inverse(line: OrderLine) -> ComplexArray:
    """1/(2u) along the line."""
    inverse = np.asarray(0.5 / (line.lam + 0.5 + 1j * line.heights), dtype=np.complex128)
    inverse.setflags(write=False)
    return inverse


def _bend_two_point(
    z: ComplexArray, tilt: FloatArray | float, inverse: ComplexArray, twice: float
) -> ComplexArray:
    del inverse, twice
    height = z.imag
    height *= tilt
    return z


def _bend_laplace(
    z: ComplexArray, tilt: FloatArray | float, inverse: ComplexArray, twice: float
) -> ComplexArray:
    scale = 1 / (1 + tilt / twice)
    if isinstance(scale, float):
        z *= scale
    else:
        flat = z.view(np.float64)  # a product of complex and real arrays would convert the latter
        flat *= np.repeat(scale, 2)
    other = z.copy()
    width, height = other.real, z.imag
    width *= tilt
    height *= tilt
    other *= inverse
    z += other
    return z


def _bend_bounded_range(
    z: ComplexArray, tilt: FloatArray | float, inverse: ComplexArray, twice: float
) -> ComplexArray:
    height = z.imag
    height /= tilt
    z *= inverse * twice
    return z


def _scale_two_point(e: Any, lam: Any, twice: Any, on: Any) -> Any:
    return lam * e + (on.log1p(on.exp(twice * -e)) - on.log1p(on.exp(-e)))


def _scale_laplace(e: Any, lam: Any, twice: Any, on: Any) -> Any:
    # e^(lam e) ((1 + q) + (1 - q)/(2a))/2 with q = e^(-2ae), 2a = 2 lam + 1.
    return lam * e + on.log1p(on.expm1(twice * -e) * (0.5 - 0.5 / twice))


def _scale_bounded_range(e: Any, lam: Any, twice: Any, on: Any) -> Any:
    # sinh(ae)/(2a sinh(e/2)) = e^(lam e) (1 - e^(-2ae))/(2a (1 - e^-e)).
    return lam * e + on.log(on.expm1(twice * -e) / (twice * on.expm1(-e)))


def _scale_gaussian(e: Any, lam: Any, twice: Any, on: Any) -> Any:
    del twice, on
    return lam * (lam + 1) * (e * e / 2)


def _bend_gaussian(
    z: ComplexArray, tilt: FloatArray | float, inverse: ComplexArray, twice: float
) -> ComplexArray:
    raise AssertionError((z, tilt, inverse, twice))  # `gaussian` is its own closed form


TWO_POINT = Shape("two point", _bend_two_point, _scale_two_point)
LAPLACE = Shape("laplace", _bend_laplace, _scale_laplace)
BOUNDED_RANGE = Shape("bounded range", _bend_bounded_range, _scale_bounded_range)
GAUSSIAN = Shape("gaussian", _bend_gaussian, _scale_gaussian)
