"""The joint histogram of a table: its distinct rows of cells, each with an integer weight.

Nobody's rows weigh more in all than `person_weight`. That is what every marginal's noise rests on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.plan.bounding import FULL, largest_weight
from discreet.privacy import Neighbours
from discreet.rationals import whole
from discreet.workload.domain import Codes, Domain


@dataclass(frozen=True)
class JointHistogram:
    """Distinct rows of cells with integer weights, of people whose weight is bounded.

    `codes` has a row for each distinct tuple of cells that occurs, `weights` its weight. A row of
    somebody within the limits weighs `row_weight`; all rows of one person weigh `person_weight` at
    most.

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
        if person is None:
            weights = np.ones(int(placed.sum()), dtype=np.int64)
            return JointHistogram._counted(domain, codes[placed], weights, 1, 1, neighbours)
        most = whole(max_rows, "max_rows", at_least=1)
        owners = np.unique(np.asarray(person), return_inverse=True)[1].reshape(-1)
        if owners.size != codes.shape[0]:
            raise InputError(
                f"{owners.size} persons for {codes.shape[0]} rows",
                why="each row is somebody's",
                fix="pass the person of every row",
            )
        owners = owners[placed]
        rows = np.bincount(owners)
        share = np.floor(largest_weight(most, squared=False) / np.maximum(rows, 1))
        each = np.where(rows > most, share, FULL).astype(np.int64)
        return JointHistogram._counted(
            domain, codes[placed], each[owners], FULL, FULL * most, neighbours
        )

    @staticmethod
    def _counted(
        domain: Domain,
        codes: Codes,
        weights: NDArray[np.int64],
        row_weight: int,
        person_weight: int,
        neighbours: Neighbours,
    ) -> "JointHistogram":
        """Put equal rows together."""
        rows = [np.ascontiguousarray(key) for key in mixed_radix(codes, domain.shape())]
        order = np.lexsort(rows[::-1])
        new = np.zeros(order.size, dtype=bool)
        new[:1] = True
        for key in rows:
            new[1:] |= key[order][1:] != key[order][:-1]
        starts = np.flatnonzero(new)
        summed = np.add.reduceat(weights[order], starts) if starts.size else weights[:0]
        return JointHistogram(
            domain,
            codes[order[starts]].astype(np.uint16),
            summed,
            row_weight,
            person_weight,
            Neighbours(neighbours),
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
