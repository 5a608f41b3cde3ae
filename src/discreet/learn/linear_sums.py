"""Sums over rows that linear models learn from: gradients, curvature, moments; noisy descent."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.learn.design import BELOW, GRID, Scaling
from discreet.learn.noisy_sums import NoisySums, RowStatistic
from discreet.learn.rows import Chunk, Floats, PersonRows, exact_product

CELLS = 1 << 8
"""Steps to a unit of a margin where a link is looked up."""

_FAR = 16  # margins beyond this count as this
_MOMENTUM = 0.8
_LARGEST = 64.0  # coefficients of scaled features are cut here, so that margins stay exact


_MARGINS = np.arange(-_FAR * CELLS, _FAR * CELLS + 1) / CELLS
_LINKS = {
    "logistic": 1 / (1 + np.exp(-_MARGINS)),
    "hinge": np.clip((_MARGINS + 1) / 2 + 0.5, 0, 1),  # smoothed over a margin of 2
    "perceptron": np.clip(_MARGINS + 0.5, 0, 1),
}
_RESIDUALS = {link: np.rint(slope * GRID) for link, slope in _LINKS.items()}
"""Residuals of a label 0 by link (the slope of its loss), for margins from -_FAR to _FAR."""

_EXPONENTIALS = np.rint(np.exp(np.arange(-_FAR * CELLS, 1) / CELLS) * 2**20)


@dataclass(frozen=True)
class LinkGradient(RowStatistic):
    """The gradient of a linear model at `theta`, one row of coefficients a label or one in all.

    Guarantee:
        With rows of norm at most `radius` steps, a row's gradient has a norm of at most `clip` of
        radius x GRID: residuals are at most GRID each, those of softmax at most root 2 of it
        together, and longer products of row and residual are cut, rounded down. With `by_row` (one
        residual a row) the row alone decides how far, so that a model that is right stays right.
    Why:
        Margins are sums of whole numbers, exact in any order; the link is looked up in a public
        table; quotients and roots are IEEE operations. So a row's gradient is its own.
    """

    theta: Floats
    radius: int
    link: str = "logistic"
    softmax: bool = False
    clip: float = 1.0
    by_row: bool = False

    @property
    def extent(self) -> tuple[int, int]:
        """One number for each coefficient; the squared norm of a row's gradient."""
        return self.theta.size, self._limit**2

    @property
    def _limit(self) -> int:
        return max(1, int(self.clip * self.radius * GRID))

    def sums(self, chunk: Chunk) -> Any:
        """Residual times row, summed."""
        r = self.residuals(chunk)
        sizes = np.full(len(r), float(GRID)) if self.by_row else np.sqrt((r**2).sum(axis=1))
        lengths = np.sqrt((chunk.x**2).sum(axis=1)) * sizes
        over = lengths > self._limit * BELOW  # a length that was rounded down is cut too
        if over.any():
            cut = self._limit / lengths[over] * BELOW
            r[over] = np.trunc(r[over] * (cut * cut if self.by_row else cut)[:, None])
        return exact_product(r, chunk.x, chunk.weight, GRID * self.radius)

    def residuals(self, chunk: Chunk) -> Floats:
        """Predicted minus observed label of each row at theta; 0 where there is no label."""
        coefficients = np.rint(np.clip(self.theta, -_LARGEST, _LARGEST) * GRID)
        margin = np.floor(chunk.x @ coefficients.T * (CELLS / GRID**2))
        many = max(2, len(self.theta))
        label, _ = chunk.labelled(many)
        here = np.eye(many)[label][:, -len(self.theta) :]
        r = (
            self._softmax(margin) - GRID * here
            if self.softmax
            else link_residuals(self.link, margin, here)
        )
        return np.asarray(r * np.isfinite(chunk.y)[:, None])

    def _softmax(self, margin: Floats) -> Floats:
        m = margin - margin.max(axis=1, keepdims=True)
        e = _EXPONENTIALS[np.maximum(m, -_FAR * CELLS).astype(np.int64) + _FAR * CELLS]
        return np.asarray(np.floor(e / e.sum(axis=1, keepdims=True) * GRID))


def link_residuals(link: str, margin: Floats, here: NDArray[Any]) -> Floats:
    """Residuals by margins in cells of a link's table; that of a label 1 is that of 0, mirrored."""
    sign = 1 - 2.0 * here
    m = np.clip(margin * sign, -_FAR * CELLS, _FAR * CELLS).astype(np.int64)
    return np.asarray(_RESIDUALS[link].take(m + _FAR * CELLS) * sign)


def descend(
    sums: NoisySums,
    gradient: Callable[[Floats], RowStatistic],
    start: Floats,
    steps: int,
    share: Fraction,
    batches: Sequence[PersonRows],
    *,
    unit: float,
    rate: Floats | float,
    project: Callable[[Floats], Floats] = np.asarray,
) -> Floats:
    """A noisy full-batch optimiser: the average of the later half of gradient steps with momentum.

    Steps take turns with `batches` and pay the same; a row pays for its own turns. `unit` is what
    a mean gradient of 1 is in whole numbers of a batch; `project` keeps steps in a subspace.
    """
    theta, speed, late = start.copy(), np.zeros_like(start), []
    each = share / -(-steps // len(batches))
    for step in range(steps):
        ahead = theta + _MOMENTUM * speed
        found = sums.sums(gradient(ahead), each, batches[step % len(batches)])
        slope = found.reshape(start.shape) / unit
        speed = _MOMENTUM * speed - project(rate * slope)
        theta = np.clip(theta + speed, -_LARGEST, _LARGEST)
        if 2 * step >= steps:
            late.append(theta)
    return np.asarray(np.mean(late or [theta], axis=0))


@dataclass(frozen=True)
class SecondMoments(RowStatistic):
    """The upper triangle of the sum of z z' over rows z of a scaling, cut to its norm.

    Guarantee:
        The squared norm of one row's triangle is (|z|^4 + sum z_i^4)/2, at most
        (radius^4 + reach^2 radius^2)/2.
    """

    scaling: Scaling

    @property
    def size(self) -> int:
        """Numbers of a row."""
        return len(self.scaling.low) + (self.scaling.constant > 0)

    @property
    def extent(self) -> tuple[int, int]:
        """The triangle with its diagonal; by the norm of a row and the reach of a number."""
        return _triangle(self.size, self.scaling.radius, self.scaling.reach, 1)

    def sums(self, chunk: Chunk) -> Any:
        """Products of whole numbers."""
        z = self.scaling.steps(chunk.x)
        products = exact_product(z, z, chunk.weight, self.scaling.reach**2)
        return products[np.triu_indices(self.size)]


def _triangle(size: int, radius: int, reach: int, most: int) -> tuple[int, int]:
    """Numbers of an upper triangle, and the largest squared norm of a row's times `most`."""
    return size * (size + 1) // 2, most**2 * (radius**4 + reach**2 * radius**2) // 2


def second_moments(
    sums: NoisySums, scaling: Scaling, share: Any, rows: PersonRows
) -> tuple[Floats, float]:
    """The matrix of second moments in units of the scaling, and the noise of its entries."""
    statistic = SecondMoments(scaling)
    upper = sums.sums(statistic, share, rows) / GRID**2
    return symmetric(upper, statistic.size), sums.sigma(statistic, share) / GRID**2


def symmetric(upper: Floats, size: int) -> Floats:
    """A matrix from its upper triangle."""
    half = np.zeros((size, size))
    half[np.triu_indices(size)] = upper
    return np.asarray(half + half.T - np.diag(np.diag(half)))


_FINE = 1 << 8  # steps to a unit of p (1 - p); it is at most a quarter


@dataclass(frozen=True)
class LogisticCurvature(RowStatistic):
    """The upper triangle of the sum of p (1 - p) x x', p the probability that theta gives a row.

    Guarantee:
        p (1 - p) is at most _FINE/4 whole steps, so a row's triangle has a squared norm of at most
        (_FINE/4)^2 (radius^4 + reach^2 radius^2)/2; rows count for less where they are long, as in
        the gradient.
    """

    theta: Floats
    radius: int
    reach: int

    @property
    def extent(self) -> tuple[int, int]:
        """The triangle with its diagonal; by the norm of a row."""
        return _triangle(self.theta.size, self.radius, self.reach, _FINE // 4)

    @property
    def unit(self) -> float:
        """The size of one step."""
        return 1 / (_FINE * GRID**2)

    def sums(self, chunk: Chunk) -> Any:
        """Products of whole numbers."""
        nobody = Chunk(chunk.x, np.zeros(len(chunk.x)), chunk.weight)
        p = LinkGradient(self.theta[None, :], self.radius).residuals(nobody)[:, 0]
        slope = np.floor(p * (GRID - p) * (_FINE / GRID**2)) * np.isfinite(chunk.y)
        most, x = _FINE // 4 * self.reach**2, chunk.x
        products = exact_product(x * slope[:, None], x, chunk.weight, most)
        return products[np.triu_indices(self.theta.size)]
