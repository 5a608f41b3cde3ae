"""BLR: answer all queries from one small database, chosen by the exponential mechanism."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement
from math import comb
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.mechanisms.exponential import ExponentialMechanism
from discreet.privacy import BoundedRange, Neighbours
from discreet.rationals import Real, whole
from discreet.workload.counting_query import CountingQuery
from discreet.workload.domain import Domain
from discreet.workload.histogram import JointHistogram

MOST_DATABASES: Final = 100_000
"""Databases that are looked through: beyond them the mechanism is a theorem, not a program."""


@dataclass(frozen=True)
class SmallDatabase:
    """A database of `size` rows, each standing for `rows_each` rows, that answers all queries well.

    Guarantee:
        That of `mechanism`: epsilon-bounded range, so pure epsilon, for the chosen database and
        everything computed from it.
    Neighbours:
        As `neighbours`. One person moves the count of every query by at most their weight, so the
        largest error of a database too.
    Why:
        score = -max over queries of |exact count - rows_each * count in the small database|, in
        whole units of weight.
    Edge cases:
        All multisets of cells are candidates, present in the data or not; more than 100,000 are
        refused before data is read.

    Reference: Blum, Ligett, Roth 2008, A Learning Theory Approach to Non-Interactive Database
    Privacy (the net mechanism).
    """

    domain: Domain
    queries: tuple[CountingQuery, ...]
    size: int
    rows_each: int
    epsilon: Real
    person_weight: int = 1
    row_weight: int = 1
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        whole(self.size, "size", at_least=1)
        whole(self.rows_each, "rows_each", at_least=1)
        cells = int(np.prod(self.domain.shape(), dtype=object))
        many = comb(cells + self.size - 1, self.size)
        if many > MOST_DATABASES or not self.queries:
            raise InputError(
                f"{many:,} small databases and {len(self.queries)} queries",
                why=f"each of at most {MOST_DATABASES:,} databases is scored by all queries",
                fix="take fewer rows or columns, or use MWEM",
            )

    @cached_property
    def databases(self) -> tuple[tuple[int, ...], ...]:
        """Every multiset of `size` cells of the domain, cells numbered row by row."""
        cells = int(np.prod(self.domain.shape(), dtype=np.int64))
        return tuple(combinations_with_replacement(range(cells), self.size))

    @property
    def mechanism(self) -> ExponentialMechanism:
        """The choice among all databases."""
        return ExponentialMechanism(
            len(self.databases),
            epsilon=self.epsilon,
            sensitivity=self.person_weight,
            neighbours=self.neighbours,
        )

    @property
    def guarantee(self) -> BoundedRange:
        """Bounded range, and so pure epsilon."""
        return self.mechanism.guarantee

    @cached_property
    def _vectors(self) -> NDArray[np.int64]:
        return np.stack([query.vector(self.domain) for query in self.queries])

    def scores(self, histogram: JointHistogram) -> NDArray[np.int64]:
        """Minus the largest error of each database, in units of weight: private."""
        histogram.check_planned(self)
        exact = np.array([q.total(histogram.marginal(q.clique)) for q in self.queries])
        rows = np.array(self.databases, dtype=np.intp)
        told = self._vectors[:, rows].sum(axis=2) * (self.rows_each * self.row_weight)
        return np.asarray(-np.abs(exact[:, None] - told).max(axis=0))

    def release(self, histogram: JointHistogram) -> tuple[int, ...]:
        """A small database, chosen afresh: the cells of its rows."""
        return self.databases[int(self.mechanism.release(self.scores(histogram)))]

    def answers(self, database: Sequence[int]) -> NDArray[np.int64]:
        """A small database's answers to every query, in rows."""
        return np.asarray(self._vectors[:, list(database)].sum(axis=1) * self.rows_each)

    def error(self, confidence: Real = Fraction(95, 100)) -> float:
        """Bound on the excess of the largest error over the best small database's, in rows."""
        return self.mechanism.error(confidence) / self.row_weight
