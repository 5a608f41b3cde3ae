"""One noisy full-batch optimiser, and the gradients of linear models that it sums."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.learn.design import BELOW, GRID
from discreet.learn.noisy_sums import NoisySums, RowStatistic
from discreet.learn.rows import Chunk, Floats, PersonRows, exact_product

CELLS = 1 << 8
"""Steps to a unit of a margin where a link is looked up."""

_FAR = 16
"""Margins beyond this count as this."""

_LARGEST = 64.0
"""Coefficients of scaled features are cut here, so that margins stay exact."""


class Link(Enum):
    """The residual of a margin and a label, which is the slope of its loss."""

    LOGISTIC = "logistic"
    HINGE = "hinge"
    PERCEPTRON = "perceptron"


@lru_cache(maxsize=8)
def _table(link: Link) -> NDArray[np.float64]:
    """Residuals of a label 0 for margins from -_FAR to _FAR, in steps of at most GRID."""
    m = np.arange(-_FAR * CELLS, _FAR * CELLS + 1) / CELLS
    slope = {
        Link.LOGISTIC: 1 / (1 + np.exp(-m)),
        Link.HINGE: np.clip((m + 1) / 2 + 0.5, 0, 1),  # smoothed over a margin of 2
        Link.PERCEPTRON: np.clip(m + 0.5, 0, 1),
    }[link]
    return np.asarray(np.rint(slope * GRID))


@lru_cache(maxsize=1)
def _exponentials() -> NDArray[np.float64]:
    return np.asarray(np.rint(np.exp(np.arange(-_FAR * CELLS, 1) / CELLS) * 2**20))


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
    link: Link = Link.LOGISTIC
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
        most = int(GRID * self.radius * chunk.weight.max(initial=1.0))
        return exact_product(r * chunk.weight[:, None], chunk.x, most)

    def residuals(self, chunk: Chunk) -> Floats:
        """Predicted minus observed label of each row at theta; 0 where there is no label."""
        coefficients = np.rint(np.clip(self.theta, -_LARGEST, _LARGEST) * GRID)
        margin = np.floor(chunk.x @ coefficients.T * (CELLS / GRID**2))
        known = np.isfinite(chunk.y)
        label = np.where(known, chunk.y, 0).astype(np.int64)
        here = np.eye(max(2, len(self.theta)))[label][:, -len(self.theta) :]
        r = (
            self._softmax(margin) - GRID * here
            if self.softmax
            else link_residuals(self.link, margin, here)
        )
        return np.asarray(r * known[:, None])

    def _softmax(self, margin: Floats) -> Floats:
        m = margin - margin.max(axis=1, keepdims=True)
        e = _exponentials()[np.maximum(m, -_FAR * CELLS).astype(np.int64) + _FAR * CELLS]
        return np.asarray(np.floor(e / e.sum(axis=1, keepdims=True) * GRID))


def link_residuals(link: Link, margin: Floats, here: NDArray[Any]) -> Floats:
    """Residuals by margins in cells of a link's table; that of a label 1 is that of 0, mirrored."""
    sign = 1 - 2.0 * here
    m = np.clip(margin * sign, -_FAR * CELLS, _FAR * CELLS).astype(np.int64)
    return np.asarray(_table(link).take(m + _FAR * CELLS) * sign)


@dataclass(frozen=True)
class Descent:
    """A noisy full-batch optimiser: gradient steps with momentum; the late ones are averaged.

    Every step pays the same.
    """

    steps: int = 40
    rate: float = 1.0
    momentum: float = 0.9

    def run(
        self,
        sums: NoisySums,
        gradient: Callable[[Floats], RowStatistic],
        start: Floats,
        count: float,
        share: Fraction,
        batches: Sequence[PersonRows],
        *,
        curvature: Floats | float = 1.0,
        project: Callable[[Floats], Floats] = np.asarray,
        unit: float = GRID**2,
    ) -> Floats:
        """The average of the later half of all iterates.

        Steps take turns with `batches`, which share `count` rows; a row pays for its own turns.
        `project` keeps steps in a subspace; `unit` is what 1 is in the gradient's whole numbers.
        """
        theta, speed, late = start.copy(), np.zeros_like(start), []
        each, size = share / -(-self.steps // len(batches)), count / len(batches)
        for step in range(self.steps):
            ahead = theta + self.momentum * speed
            found = sums.sums(gradient(ahead), each, batches[step % len(batches)])
            slope = found.reshape(start.shape) / (unit * size)
            speed = self.momentum * speed - project(self.rate / curvature * slope)
            theta = np.clip(theta + speed, -_LARGEST, _LARGEST)
            if 2 * step >= self.steps:
                late.append(theta)
        return np.asarray(np.mean(late or [theta], axis=0))
