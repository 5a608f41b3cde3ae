"""The joint histogram of a table, its distinct rows of cells, and noisy marginals of it.

Nobody's rows weigh more in all than `person_weight`: what every marginal's noise rests on. Noise is
Gaussian and rounded, so that any number of measurements, each chosen after seeing the others, has
exactly the Gaussian guarantee of their summed mu^2.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.mechanisms.gaussian import RoundedGaussian
from discreet.mechanisms.grid import INTEGERS, sqrt_up
from discreet.plain_json import from_fields, to_fields
from discreet.plan.bounding import FULL, largest_weight
from discreet.privacy import Neighbours
from discreet.rationals import whole
from discreet.workload.domain import Codes, Domain


@dataclass(frozen=True)
class JointHistogram:
    """Distinct rows of cells with integer weights, of people whose weight is bounded.

    `codes` has a row for each distinct tuple of cells that occurs, `weights` its weight. A row of a
    person within the limits weighs `row_weight`; all rows of one person weigh at most
    `person_weight`.

    Guarantee:
        Adding or removing a person moves each marginal by at most `person_weight` in l1, and so in
        l2; it only adds, or only removes.
    Neighbours:
        As `neighbours` says. Changing a person moves marginals by the difference of two vectors
        without negative parts: by at most 2 `person_weight` in l1 and sqrt(2) of it in l2.
    Edge cases:
        Rows with a value that has no cell are left out. No rows at all are a histogram too.

    Example:
        >>> from discreet.plan.kinds import Kind
        >>> from discreet.workload.domain import Attribute
        >>> domain = Domain((Attribute("city", Kind.TEXT, ("Austin", "Haifa")),))
        >>> one = JointHistogram.of({"city": ["Haifa", "Haifa", None]}, domain)
        >>> one.marginal(("city",)).tolist(), one.squared_l2_sensitivity()
        ([0, 2, 1], 1)
    """

    domain: Domain
    codes: NDArray[np.uint16]
    weights: NDArray[np.int64]
    row_weight: int = 1
    person_weight: int = 1
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    @staticmethod
    def of(
        table: Any,
        domain: Domain,
        *,
        person: Any = None,
        max_rows: int = 1,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> "JointHistogram":
        """Count the rows of an Arrow table, a frame or a mapping of columns.

        `person` says whose each row is; without it each row is protected by itself. Rows of people
        who have more than `max_rows` of them weigh less.
        """
        codes = domain.encode(table)
        placed = (codes >= 0).all(axis=1)
        weights, row_weight, person_weight = np.ones(codes.shape[0], dtype=np.int64), 1, 1
        if person is not None:
            most = whole(max_rows, "max_rows", at_least=1)
            known, owners = np.unique(np.asarray(person), return_inverse=True)
            if owners.size != codes.shape[0]:
                raise InputError(
                    f"{owners.size} persons for {codes.shape[0]} rows",
                    why="each row is somebody's",
                    fix="pass the person of every row",
                )
            rows = np.bincount(owners.reshape(-1)[placed], minlength=known.size)
            share = np.floor(largest_weight(most, squared=False) / np.maximum(rows, 1))
            weights = np.where(rows > most, share, FULL).astype(np.int64)[owners.reshape(-1)]
            row_weight, person_weight = FULL, FULL * most
        cells, about = codes[placed].astype(np.uint16), Neighbours(neighbours)
        each = JointHistogram(domain, cells, weights[placed], row_weight, person_weight, about)
        return each._distinct()

    def _distinct(self) -> "JointHistogram":
        """The same with equal rows put together."""
        rows = mixed_radix(self.codes, self.domain.shape())
        order = np.lexsort(rows[::-1])
        new = np.zeros(order.size, dtype=bool)
        new[:1] = True
        for key in rows:
            new[1:] |= key[order][1:] != key[order][:-1]
        starts = np.flatnonzero(new)
        summed = np.add.reduceat(self.weights[order], starts) if starts.size else self.weights
        return replace(self, codes=self.codes[order[starts]], weights=summed)

    @property
    def terms(self) -> dict[str, Any]:
        """The weights and neighbours that noise is planned for, by the names that plans have."""
        return {name: getattr(self, name) for name in ("row_weight", "person_weight", "neighbours")}

    def check_planned(self, plan: Any) -> None:
        """Refuse data that was prepared otherwise than a plan was priced for."""
        alike = all(getattr(plan, name) == one for name, one in self.terms.items())
        if not alike or not set(plan.domain) <= set(self.domain):
            raise InputError(
                "a histogram that was not planned for",
                why="its columns, weights or neighbours are others",
                fix="count the table as the plan says",
            )

    @property
    def total(self) -> int:
        """The weight of all rows: private."""
        return int(self.weights.sum())

    @cached_property
    def _columns(self) -> dict[str, NDArray[np.uint16]]:
        """The cells of each column, one array each."""
        return {
            name: np.ascontiguousarray(self.codes[:, i]) for i, name in enumerate(self.domain.names)
        }

    def marginal(self, names: Sequence[str]) -> NDArray[np.int64]:
        """The exact weight in each cell of some columns: private."""
        shape = self.domain.shape(names)
        place = np.zeros(self.weights.size, dtype=np.int64)
        for name, size in zip(names, shape, strict=True):
            place = place * size + self._columns[name]
        return exact_bincount(place, self.weights, int(np.prod(shape))).reshape(shape)

    def squared_l2_sensitivity(self, *, marginals: int = 1) -> int:
        """The squared l2 distance of some marginals, taken together, between neighbours."""
        return marginals * self.person_weight**2 * (1 if self._adds else 2)

    def l1_sensitivity(self) -> int:
        """The l1 distance of one marginal between neighbours."""
        return self.person_weight * (1 if self._adds else 2)

    def sigma(self, mu_squared: Fraction) -> float:
        """The deviation of each count of a marginal that is measured for a mu^2, in rows."""
        return math.sqrt(self.squared_l2_sensitivity() / mu_squared) / self.row_weight

    def noise(self, cells: int, mu_squared: Fraction, *, marginals: int = 1) -> RoundedGaussian:
        """The mechanism that releases all cells of some marginals together for a mu^2."""
        square = self.squared_l2_sensitivity(marginals=marginals)
        return rounded_noise(square, cells, self.neighbours, mu_squared=mu_squared)

    @property
    def _adds(self) -> bool:
        return self.neighbours is Neighbours.ADD_REMOVE


def mixed_radix(codes: NDArray[Any], shape: Sequence[int]) -> list[Codes]:
    """Rows of cells as few whole numbers of 63 bits: columns side by side as digits.

    Example:
        >>> [part.tolist() for part in mixed_radix(np.array([[1, 2], [0, 3]]), (2, 10))]
        [[12, 3]]
    """
    found: list[Codes] = []
    for first, end in digit_groups(shape):
        number = np.zeros(codes.shape[0], dtype=np.int64)
        for place in range(first, end):
            number = number * shape[place] + codes[:, place]
        found.append(number)
    return found


def digit_groups(shape: Sequence[int]) -> list[tuple[int, int]]:
    """Columns that share an integer: from one position up to before another."""
    groups, first, room = [], 0, 1
    for place, size in enumerate(shape):
        if room * size > 1 << 62:
            groups.append((first, place))
            first, room = place, 1
        room *= size
    return [*groups, (first, len(shape))]


def from_digits(numbers: Sequence[Codes], shape: Sequence[int]) -> NDArray[np.uint16]:
    """The rows of cells that `mixed_radix` wrote."""
    columns: list[NDArray[np.uint16]] = [np.empty(0, dtype=np.uint16)] * len(shape)
    for number, (first, end) in zip(numbers, digit_groups(shape), strict=True):
        rest = number
        for place in reversed(range(first, end)):
            rest, digit = np.divmod(rest, shape[place])
            columns[place] = digit.astype(np.uint16)  # no column has more than 2^16 cells
    return np.stack(columns, axis=1)


def exact_bincount(places: Codes, weights: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Sums of whole weights by place.

    Why: `bincount` adds doubles, which is exact as long as all weights together are below 2^53;
    where they are not, integers are added one by one.
    """
    if not weights.size or int(weights.max()) <= (1 << 53) // weights.size:
        return np.bincount(places, weights, size).astype(np.int64)
    sums = np.zeros(size, dtype=np.int64)
    np.add.at(sums, places, weights)
    return sums


# --- noisy marginals ------------------------------------------------------------------------------

Clique = tuple[str, ...]
"""The names of the columns of a marginal, in the order of its axes."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class NoisyMarginal:
    """A marginal as it was measured, in rows: counts with Gaussian noise of one deviation.

    `steps` are the noisy integers in units of 1/`row_weight` rows; `mu_squared` is what measuring
    it gave away.
    """

    clique: Clique
    steps: NDArray[np.int64]
    row_weight: int
    variance: Fraction
    mu_squared: Fraction

    @property
    def counts(self) -> Floats:
        """The noisy numbers of rows."""
        return self.steps / self.row_weight

    @property
    def sigma(self) -> float:
        """The standard deviation of each count, in rows."""
        return math.sqrt(self.variance) / self.row_weight

    def to_dict(self) -> dict[str, Any]:
        """The public facts without the numbers."""
        facts = to_fields(self)
        del facts["steps"]
        return facts

    @staticmethod
    def from_dict(stored: Mapping[str, Any], steps: NDArray[np.int64]) -> "NoisyMarginal":
        """Read the facts that `to_dict` wrote, with the numbers."""
        return from_fields(NoisyMarginal, {**stored, "steps": steps})


def rounded_noise(
    squared_sensitivity: Fraction | int, cells: int, neighbours: Neighbours, **scale: Fraction
) -> RoundedGaussian:
    """Noise of so many whole numbers, by squared l2 sensitivity and its mu_squared or variance."""
    return RoundedGaussian(
        sensitivity=sqrt_up(Fraction(squared_sensitivity)),
        grid=INTEGERS,
        dimension=cells,
        neighbours=neighbours,
        **scale,
    )


def with_noise(exact: NDArray[Any], noise: RoundedGaussian) -> NDArray[Any]:
    """An array of whole numbers, each with noise."""
    return np.asarray(noise.release(exact.reshape(-1))).reshape(exact.shape)


def measure_marginal(
    histogram: JointHistogram, clique: Clique, mu_squared: Fraction
) -> NoisyMarginal:
    """Measure one marginal for a mu^2.

    Guarantee:
        sqrt(mu_squared)-Gaussian differential privacy: the l2 sensitivity is that of the
        histogram, a whole number of its grid (or sqrt(2) times one, rounded up), and noise is
        rounded Gaussian on the same grid.
    """
    return measure_table(histogram, clique, histogram.marginal(clique), mu_squared)


def measure_table(
    histogram: JointHistogram, clique: Clique, exact: NDArray[np.int64], mu_squared: Fraction
) -> NoisyMarginal:
    """Measure a marginal that was counted already, or some cells of one put together.

    Why: putting cells together moves no table further, in l1 or in l2 of what only adds.
    """
    noise = histogram.noise(exact.size, mu_squared)
    noisy = with_noise(exact, noise).astype(np.int64)
    return NoisyMarginal(clique, noisy, histogram.row_weight, noise.variance, mu_squared)


def total_variation(one: Floats, other: Floats) -> float:
    """Half the l1 distance of two marginals as shares; 1 where one of them is empty."""
    whole, rest = float(one.sum()), float(other.sum())
    if whole <= 0 or rest <= 0:
        return 1.0
    return float(np.abs(one / whole - other / rest).sum()) / 2


def sums_of(axes: Sequence[str], kept: Sequence[str]) -> tuple[int, ...]:
    """The axes of a table over `axes` that are summed over to leave `kept`."""
    return tuple(i for i, name in enumerate(axes) if name not in kept)
