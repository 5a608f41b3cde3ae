"""The only access to the data: integer sums over rows, with exact Gaussian noise."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, InvariantBroken
from discreet.learn.rows import Chunk, Floats, PersonRows
from discreet.mechanisms import INTEGERS
from discreet.mechanisms.gaussian import RoundedGaussian, largest_mu
from discreet.mechanisms.grid import compact, sqrt_up
from discreet.noise import below
from discreet.privacy import GDP, Neighbours
from discreet.rationals import Real, positive, proper_share

_MOST = 1 << 22  # numbers of one release at most
_ALL = 1 << 24  # numbers of a whole fit at most


class RowStatistic(ABC):
    """A vector of whole numbers for each row, whose l2 norm a public number bounds.

    Guarantee:
        The vector of a row depends on this row and on public numbers alone, and its squared norm is
        at most `square`, in exact arithmetic.
    """

    @property
    @abstractmethod
    def extent(self) -> tuple[int, int]:
        """How many numbers there are, and the largest squared l2 norm of one row's."""

    @property
    def width(self) -> int:
        """How many numbers there are."""
        return self.extent[0]

    @property
    def square(self) -> int:
        """The largest squared l2 norm of one row's vector."""
        return self.extent[1]

    @abstractmethod
    def sums(self, chunk: Chunk) -> NDArray[Any]:
        """The sum of weight times vector over some rows, flat, in whole numbers."""


@dataclass(slots=True)
class NoisySums:
    """Answers sums over rows until its budget of mu squared is spent, and keeps a tape of them.

    Guarantee:
        All answers together are GDP with the squared mu `spent`, at most `mu_squared`, about one
        person with all their rows. Whatever is computed from the answers alone is as private.
    Neighbours:
        One person more or less, with all their rows (see `discreet.learn.rows`).
    Why:
        A person moves a sum by at most `rows.bound` times the root of the statistic's square, in
        l2, and whole numbers plus rounded Gaussian noise are exactly GDP. Squares of mu add up,
        also where a statistic is chosen by earlier answers. Where rows were dealt to batches
        (`PersonRows.batches`), a person moves batch b by at most w_b, and these add up to at most
        `rows.bound`; so do their squares to its square, and all batches together give away no more
        than the one that was asked most.
    Edge cases:
        No rows give noise alone. With a `tape` of another run and no rows, the same answers again:
        so a crash is recovered, and no second draw is ever made.
    """

    rows: PersonRows
    mu_squared: Fraction
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    tape: list[NDArray[Any]] = field(default_factory=list)
    spent: Fraction = Fraction(0)
    recorded: Iterator[NDArray[Any]] | None = None
    _by_batch: dict[object, dict[int, Fraction]] = field(default_factory=dict)

    def sums(
        self, statistic: RowStatistic, share: Fraction, rows: PersonRows | None = None
    ) -> Floats:
        """A noisy sum for a share of the whole budget, in units of one row; `rows` derive from own.

        InvariantBroken where the shares exceed the budget.
        """
        self._count(statistic.width)
        self._spend(share * self.mu_squared, None if rows is None else rows.batch)
        if self.spent > self.mu_squared:
            why = "what was planned is what may be spent"
            fix = "report this; nothing more was released"
            raise InvariantBroken("a fit asks for more than its budget", why=why, fix=fix)
        answer = self._next(lambda: self._release(statistic, share, rows or self.rows))
        return answer.astype(np.float64) / self.rows.full

    def sigma(self, statistic: RowStatistic, share: Fraction) -> float:
        """The standard deviation of the noise of each number, in units of one row."""
        root = float(self._mechanism(statistic, share).variance) ** 0.5
        return float(root / self.rows.full)

    def coins(self, limit: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Whole numbers below a limit, uniformly; they look at no data and are public."""
        size = prod(shape)
        self._count(size)
        drawn = self._next(lambda: np.asarray(below(limit, size), dtype=np.int64))
        return drawn.reshape(shape)

    @property
    def guarantee(self) -> GDP:
        """The composed guarantee of all answers so far."""
        return GDP.of_square(self.spent, neighbours=self.neighbours)

    def _spend(self, square: Fraction, batch: tuple[object, int] | None) -> None:
        """Add to what was spent; of batches that were dealt together, the most of any."""
        if batch is not None:
            deal, number = batch
            spent = self._by_batch.setdefault(deal, {})
            most = max(spent.values(), default=Fraction(0))
            spent[number] = spent.get(number, Fraction(0)) + square
            square = max(spent.values()) - most
        self.spent += square

    def _count(self, width: int) -> None:
        """Refuse what takes too much memory, before it is drawn."""
        if width > _MOST or width + sum(one.size for one in self.tape) > _ALL:
            raise InputError(
                f"a release of more than {_MOST:,} numbers, or a fit of more than {_ALL:,}",
                why="what is asked for does not fit in memory",
                fix="use fewer features, bins, classes, trees, steps or a smaller depth",
            )

    def _next(self, measure: Any) -> NDArray[Any]:
        answer = measure() if self.recorded is None else next(self.recorded)
        self.tape.append(answer)
        return np.asarray(answer)

    def _mechanism(self, statistic: RowStatistic, share: Fraction) -> RoundedGaussian:
        moved = 2 if self.neighbours is Neighbours.CHANGE_ONE else 1
        square = statistic.square * (self.rows.bound * moved) ** 2
        most = Fraction(64 * square)  # deviations below 1/8 cannot be drawn: more noise than paid
        return RoundedGaussian(
            sensitivity=sqrt_up(Fraction(square)),
            mu_squared=min(share * self.mu_squared, most),
            grid=INTEGERS,
            dimension=statistic.width,
            neighbours=self.neighbours,
        )

    def _release(self, statistic: RowStatistic, share: Fraction, rows: PersonRows) -> NDArray[Any]:
        exact = None if rows.engine is None else rows.engine.totals(statistic)
        if exact is None:
            exact = np.zeros(statistic.width, dtype=object)  # Python's integers never wrap
            for chunk in rows.chunks():
                exact += statistic.sums(chunk).ravel().astype(np.int64)
        return np.asarray(self._mechanism(statistic, share).release(compact(exact)))


def mu_squared_of(epsilon: Real, delta: Real) -> Fraction:
    """The largest squared mu whose GDP is (epsilon, delta)-differential privacy.

    Example:
        >>> round(float(mu_squared_of(1, 1e-5)) ** 0.5, 4)
        0.2681
    """
    return largest_mu(positive(epsilon, "epsilon"), proper_share(delta, "delta")) ** 2
