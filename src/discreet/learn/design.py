"""Features on a public grid: clamped, moved, scaled, rounded, and cut to a norm; row by row."""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from discreet.errors import InputError
from discreet.learn.noisy_sums import NoisySums, RowStatistic
from discreet.learn.rows import Chunk, Floats, PersonRows, exact_product
from discreet.rationals import rational

GRID = 1 << 10
"""Steps to a unit of a scaled feature."""

BELOW = 1 - 2.0**-40
"""Outweighs the rounding of a quotient, a root and a product."""

_WIDEST = 64.0
_LONGEST = 1e70

CENTRE = Fraction(1, 6)
"""The share of a linear model's budget for centres and scales."""

FREE = 4
"""Deviations at which a free column is cut, unless its bounds are nearer. Noise grows with it: at 6
intervals are 1.1 to 1.4 times as long, at 8 up to 1.8 times."""


@dataclass(frozen=True)
class GridColumns:
    """Each feature as (x - start) times factor, rounded half to even and clamped.

    NaN is 0. It is IEEE arithmetic in this order, which engines repeat to the last digit.
    """

    start: Floats
    factor: Floats
    least: Floats
    most: Floats

    def __call__(self, x: Floats) -> Floats:
        """Whole numbers, as doubles."""
        with np.errstate(over="ignore"):  # nobody is told who is that far out
            scaled = (x - self.start) * self.factor
        moved = np.clip(np.rint(scaled), self.least, self.most)
        return np.asarray(np.where(np.isnan(moved), 0.0, moved))


@dataclass(frozen=True)
class Scaling:
    """How features become whole numbers on the grid.

    Guarantee:
        A row becomes whole numbers of at most `reach` each, with an l2 norm of at most `radius`
        over the features and the constant together, exactly.
    Why:
        Norms of whole numbers below 2^53 are exact; longer rows are multiplied by norm/length,
        rounded down by BELOW, and truncated towards 0, which only shortens them.
    Edge cases:
        NaN counts as the centre (0 on the grid), infinities as the bounds. The last `free` columns
        are cut at the norm each, and do not decide how far a row is shortened: a target that did
        would bias what is learned of it.
    """

    low: Floats
    high: Floats
    centre: Floats
    scale: Floats
    norm: float
    constant: int = GRID
    free: int = 0

    @cached_property
    def reach(self) -> int:
        """The largest absolute value of one number, in steps."""
        widest = np.maximum(-self.columns.least, self.columns.most)
        return min(int(np.max(widest, initial=self.constant)), self.radius)

    @cached_property
    def radius(self) -> int:
        """The largest norm of a row, in steps."""
        return max(1, int(self.norm * (1 + self.free) ** 0.5 * GRID) + 1)

    def steps(self, x: Floats) -> Floats:
        """Rows as whole numbers, the constant first where it is not 0; within the norm."""
        moved = self.columns(x)
        if self.constant:
            moved = np.concatenate([np.full((len(x), 1), float(self.constant)), moved], axis=1)
        length = (moved[:, : moved.shape[1] - self.free] ** 2).sum(axis=1)
        over = length > self.most**2
        if over.any():
            factor = self.most / np.sqrt(length[over]) * BELOW
            moved[over] = np.trunc(moved[over] * factor[:, None])
        return moved

    @cached_property
    def columns(self) -> GridColumns:
        """How each feature becomes a whole number, before rows are cut."""
        widest, factor = np.full(len(self.low), _WIDEST * GRID), self.scale * GRID
        widest[len(widest) - self.free :] = min(self.most, _WIDEST * GRID)
        steps = (np.rint((end - self.centre) * factor) for end in (self.low, self.high))
        return GridColumns(self.centre, factor, *(np.clip(end, -widest, widest) for end in steps))

    @property
    def most(self) -> int:
        """The norm that rows are cut to, in steps."""
        return int(self.norm * GRID)

    def apply(self, rows: PersonRows) -> PersonRows:
        """All rows on the grid, kept for many passes."""
        return rows.with_features(self.steps).kept()


@dataclass(frozen=True)
class FeatureTotals(RowStatistic):
    """The count of rows, and of each feature the sum and the sum of squares, for each label.

    Features are put on [-1, 1] by their bounds first.

    Guarantee:
        A row adds 1 to one count, and at most 1 and 1 a feature, under its own label alone; of
        several labels, a row without a known one adds nothing.
    """

    low: Floats
    high: Floats
    labels: int = 1

    @property
    def extent(self) -> tuple[int, int]:
        """One count and two numbers a feature, for each label; 1 for each of them, in steps."""
        many = 1 + 2 * len(self.low)
        return self.labels * many, many * GRID**2

    def sums(self, chunk: Chunk) -> Any:
        """For each label the count first, then sums, then sums of squares."""
        u = unit(self.low, self.high)(chunk.x)
        each = np.column_stack([np.full(len(u), float(GRID)), u, np.floor(u * u / GRID)])
        label, weight = chunk.labelled(self.labels)
        return exact_product(np.eye(self.labels)[label], each, weight, GRID)


def unit(low: Floats, high: Floats) -> GridColumns:
    """Values between bounds as whole steps from -GRID to GRID."""
    ends = np.full(len(low), float(GRID))
    return GridColumns((low + high) / 2, GRID / ((high - low) / 2), -ends, ends)


@dataclass(frozen=True)
class NormCounts(RowStatistic):
    """How many rows have a norm in each of equal cells from 0 to `most`."""

    scaling: Scaling
    most: float
    cells: int = 64

    @property
    def extent(self) -> tuple[int, int]:
        """Cells; a row is in one cell."""
        return self.cells, 1

    def sums(self, chunk: Chunk) -> Any:
        """Counts by cell."""
        z = self.scaling.steps(chunk.x)
        length = np.sqrt((z[:, : z.shape[1] - self.scaling.free] ** 2).sum(axis=1)) / GRID
        cell = np.minimum(np.floor(length * (self.cells / self.most)), self.cells - 1)
        return np.bincount(cell.astype(np.int64), chunk.weight, minlength=self.cells)


@dataclass(frozen=True)
class RowTotals(RowStatistic):
    """The sum of rows on the grid, cut to the norm of their scaling, and how many there are.

    Guarantee:
        A row's squared norm is that of its scaling and GRID^2 for the count.
    """

    scaling: Scaling

    @property
    def extent(self) -> tuple[int, int]:
        """The count and the features; by the norm of a row."""
        return 1 + len(self.scaling.low), self.scaling.radius**2 + GRID**2

    def sums(self, chunk: Chunk) -> Any:
        """The count first."""
        z = self.scaling.steps(chunk.x)
        return chunk.weight @ np.concatenate([np.full((len(z), 1), float(GRID)), z], axis=1)


@dataclass(frozen=True)
class GroupMoments:
    """Noisy counts, sums and sums of squares of features on [-1, 1], one row a label.

    `sigma` is the deviation of the noise of each number. `sizes` are counts of at least one row and
    what noise alone could be; `means` are within the bounds, `variances` no smaller than noise lets
    them be known.
    """

    counts: Floats
    sums: Floats
    squares: Floats
    sigma: float
    sizes: Floats
    means: Floats
    variances: Floats


def moments(
    sums: NoisySums,
    low: Floats,
    high: Floats,
    share: Fraction,
    labels: int = 1,
    rows: PersonRows | None = None,
) -> GroupMoments:
    """Measure totals by label once."""
    statistic = FeatureTotals(low, high, labels)
    totals = sums.sums(statistic, share, rows).reshape(labels, -1) / GRID
    counts, total, squares = np.split(totals, [1, 1 + len(low)], axis=1)
    sigma = sums.sigma(statistic, share) / GRID
    sizes = np.maximum(counts, max(1.0, sigma))
    means = np.clip(total / sizes, -1, 1)
    least = np.minimum(0.5 * sigma / sizes, 0.25) + 1e-6
    variances = np.clip(squares / sizes - means**2, least, 1.0)
    return GroupMoments(counts[:, 0], total, squares, sigma, sizes[:, 0], means, variances)


def feature_moments(
    sums: NoisySums, low: Floats, high: Floats, share: Fraction, rows: PersonRows | None = None
) -> tuple[float, Floats, Floats]:
    """The number of rows, means and variances of features, in their own units."""
    found, half = moments(sums, low, high, share, rows=rows), (high - low) / 2
    mean, variance = (low + high) / 2 + found.means[0] * half, found.variances[0] * half**2
    return max(float(found.counts[0]), 1.0), mean, variance


def standardize(
    sums: NoisySums, low: Floats, high: Floats, rows: PersonRows | None = None, free: int = 0
) -> tuple[Scaling, float]:
    """Centre features at noisy means, scale by noisy deviations, cut long rows; count the rows.

    Scales lie halfway (as a geometric mean) between deviations and bounds. Rows are cut a little
    above the root of the mean square of their lengths, which variances tell: a row that is cut
    weighs less, which biases nothing. A free column is scaled to be cut at FREE deviations, or
    at its farther bound where that is nearer.
    """
    count, mean, variance = feature_moments(sums, low, high, CENTRE, rows)
    scale = 1 / (variance**0.25 * ((high - low) / 2) ** 0.5)
    scale /= np.sqrt(np.mean(variance * scale**2))  # one deviation is a unit, on average
    kept = len(low) - free
    norm = float(3 + (variance * scale**2)[:kept].sum()) ** 0.5
    farther = np.maximum(high - mean, mean - low)
    scale[kept:] = norm / np.minimum(FREE * variance**0.5, farther)[kept:]
    return Scaling(low, high, mean, scale, norm, free=free), count


def centre(sums: NoisySums, low: Floats, high: Floats, share: Fraction) -> tuple[Scaling, float]:
    """Features scaled by their bounds and centred at their mean, and how many rows there are.

    The mean is measured twice: among all that bounds allow, then among rows cut at a noisy median
    of their distance from the first, which is far shorter where there are many features.
    """

    def moved(scaling: Scaling, share: Fraction) -> tuple[Scaling, float]:
        """The same around the mean of rows that it cuts, and how many there are."""
        totals = sums.sums(RowTotals(scaling), share) / GRID
        count = max(float(totals[0]), 1.0)
        mean = np.clip(scaling.centre + totals[1:] / count / scaling.scale, low, high)
        return replace(scaling, centre=mean), count

    longest = len(low) ** 0.5
    middle, scale = (low + high) / 2, 2 / (high - low)
    found, _ = moved(Scaling(low, high, middle, scale, longest, 0), share / 3)
    counts = NormCounts(replace(found, norm=2 * longest), longest)
    held = np.cumsum(np.maximum(sums.sums(counts, share / 6), 0))
    median = int(np.searchsorted(held, held[-1] / 2)) if held[-1] > 0 else counts.cells - 1
    return moved(replace(found, norm=longest * (median + 1) / counts.cells), share / 2)


def missing(name: str, whom: str, example: str, bought: str) -> InputError:
    """The refusal to take a public parameter from the data."""
    return InputError(
        f"{name} are missing",
        why=f"{name} that come from the data would give away {whom}",
        fix=f"pass {name}={example}, or pay for them with learn.{bought} "
        "(of a curator's table: curator.profile)",
    )


def read_bounds(bounds: Any, features: int, name: str = "bounds") -> tuple[Floats, Floats]:
    """One (low, high) for all features, or one each; InputError where none are given."""
    if bounds is None:
        example = "(low, high), one pair or one a feature"
        raise missing(name, "whoever is farthest out", example, "private_bounds")
    given = np.array(bounds, dtype=object)
    if given.shape not in {(2,), (features, 2)}:
        fix = f"pass {name}=(low, high) or a list of {features} pairs"
        what, why = f"{name} are neither a pair nor one a feature", f"there are {features} features"
        raise InputError(what, why=why, fix=fix)
    exact = np.array([float(rational(end, name)) for end in given.flat]).reshape(given.shape)
    low, high = np.array(np.broadcast_to(exact, (features, 2)).T)
    if not np.all(low < high):
        raise InputError(f"{name} are out of order", why="low < high", fix="swap them")
    half = high / 2 - low / 2
    if np.any((half > _LONGEST) | (half < 1 / _LONGEST)):
        raise InputError(
            f"{name} are too wide or too close",
            why=f"half their distance is above {_LONGEST:g} or below {1 / _LONGEST:g}, and squares "
            "of coefficients would overflow",
            fix="express the column in another unit",
        )
    return low, high
