"""Counts as they are estimated from reports, with their error."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.rationals import Real, proper_share, rational

Floats = NDArray[np.float64]


def normal_width(confidence: Real, tests: int = 1) -> float:
    """How many standard errors a two-sided interval goes, shared by so many at once."""
    level = proper_share(confidence, "confidence")
    return NormalDist().inv_cdf(1 - float(1 - level) / (2 * tests))


def estimate_table(
    values: list[Any], found: Floats, error: Floats, low: Floats, high: Floats
) -> pa.Table:
    """Columns value, estimate, standard_error, lower, upper; NULL for what is not finite."""
    names = ("estimate", "standard_error", "lower", "upper")
    pairs = zip(names, map(np.asarray, (found, error, low, high)), strict=True)
    columns = {name: pa.array(one, mask=~np.isfinite(one)) for name, one in pairs}
    return pa.table({"value": pa.array(values)} | columns)


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """How many people hold each value: unbiased, and so at times below 0 or above `n`.

    The variance of a count c is `base` + `slope` c: what reports of others add, and what the
    randomness of the c own reports adds. `step` is by how much one report moves an estimate.
    """

    values: Sequence[Any]
    counts: Floats
    n: int
    base: float
    slope: float
    step: float

    @property
    def proportions(self) -> Floats:
        """Counts as shares of n."""
        return self.counts / max(self.n, 1)

    @property
    def standard_error(self) -> Floats:
        """Standard error of each count, with the estimate in place of the true count."""
        return np.sqrt(self._variance(self.counts))

    def interval(
        self, confidence: Real = 0.95, *, simultaneous: bool = False
    ) -> tuple[Floats, Floats]:
        """Lower and upper ends, each from 0 to n; `simultaneous` holds for all values at once.

        Why: all counts c that a test would not reject, |estimate - c| <= z sd(c) + step/2. That is
        the score interval, which keeps its level at small counts, with the usual correction for
        whole numbers.
        """
        z = normal_width(confidence, len(self.counts) if simultaneous else 1)
        half = z * z * self.slope / 2
        width = np.sqrt(half * half + z * z * self._variance(self.counts)) + self.step / 2
        middle = self.counts + half
        return np.clip(middle - width, 0, self.n), np.clip(middle + width, 0, self.n)

    def heavy_hitters(
        self, threshold: Real, confidence: Real = 0.95
    ) -> list[tuple[Any, float, float, float]]:
        """Values with an estimated share of at least `threshold`: (value, count, low, high)."""
        share = float(rational(threshold, "threshold"))
        low, high = self.interval(confidence, simultaneous=True)
        found = np.flatnonzero(self.counts >= share * self.n)
        order = found[np.argsort(-self.counts[found], kind="stable")]
        return [
            (self.values[i], float(self.counts[i]), float(low[i]), float(high[i]))
            for i in order.tolist()
        ]

    def to_arrow(self, confidence: Real = 0.95) -> pa.Table:
        """A row for each value: no person's, so free to ask."""
        low, high = self.interval(confidence)
        return estimate_table(list(self.values), self.counts, self.standard_error, low, high)

    def _variance(self, counts: Floats) -> Floats:
        inside = np.clip(counts, 0, self.n)
        return np.asarray(np.maximum(self.base + self.slope * inside, 0.0))


@dataclass(frozen=True, slots=True, eq=False)
class MeanEstimate:
    """A mean (a number or a vector) with its standard error.

    The error is that of the reports' own spread, and never below the protocol's: it covers the
    randomness of the protocol and, where people are a sample, that of the sample.
    """

    mean: Any
    standard_error: Any
    n: int
    step: float = 0.0
    """By how much one report moves the mean at least, if at all."""

    def interval(self, confidence: Real = 0.95) -> tuple[Any, Any]:
        """Both ends, with the usual correction for whole numbers.

        Infinite where there are fewer than two reports.
        """
        width = normal_width(confidence) * self.standard_error + self.step / 2
        return self.mean - width, self.mean + width

    def to_arrow(self, confidence: Real = 0.95) -> pa.Table:
        """One row, or one for each coordinate."""
        low, high = (np.atleast_1d(end) for end in self.interval(confidence))
        means = np.atleast_1d(self.mean)
        names = ["mean"] if len(means) == 1 else [f"mean {i}" for i in range(len(means))]
        return estimate_table(names, means, np.atleast_1d(self.standard_error), low, high)


def spread(total: float, squares: float, n: int) -> float:
    """The standard error of a mean from sums of values and of their squares."""
    if n < 2:
        return math.inf
    return math.sqrt(max(squares - total * total / n, 0.0) / (n - 1) / n)
