"""The oracle of the statistical-query model: expectations of functions of a row."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import BudgetError, InputError
from discreet.learn.base import numbers
from discreet.learn.design import GRID
from discreet.learn.noisy_sums import NoisySums, RowStatistic, mu_squared_of
from discreet.learn.rows import Chunk, rows_of
from discreet.privacy import GDP
from discreet.rationals import Real, positive, whole

_EACH = 0.975
"""The confidence of a count and of that of all rows, which a share of a table is made of."""


@dataclass(frozen=True)
class Expectation(RowStatistic):
    """The sum of a function of each row, cut to [-1, 1], and how many rows there are.

    A function that raises on a row, or gives no number, counts 0 there.
    """

    function: Callable[[Any, Any], Any]

    @property
    def extent(self) -> tuple[int, int]:
        """A sum and a count; at most 1 and 1, in steps."""
        return 2, 2 * GRID**2

    def sums(self, chunk: Chunk) -> Any:
        """Row by row, each alone."""
        pairs = zip(chunk.x, chunk.y, strict=True)
        values = np.array([self._of(x.copy(), y) for x, y in pairs]).reshape(len(chunk.x))
        return np.array([chunk.weight @ values, GRID * chunk.weight.sum()])

    def _of(self, x: Any, y: Any) -> float:
        try:
            value = float(self.function(x, y))
        except Exception:  # noqa: BLE001 - however it fails, the row counts 0
            return 0.0
        return float(np.rint(np.clip(value, -1, 1) * GRID)) if np.isfinite(value) else 0.0


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """A noisy expectation; off by more than `tolerance` with a probability of 5 %, by the noise."""

    value: float
    tolerance: float

    def __float__(self) -> float:
        return self.value


class StatisticalQueries:
    """Answers `queries` expectations of functions of a row and its label, then no more.

    Guarantee:
        All answers together are (epsilon, delta)-differentially private, whatever is asked and in
        whatever order: any algorithm of the statistical-query model is private by construction.
    Neighbours:
        One person more or less, with all rows that `groups` gives them.
    Edge cases:
        With a curator and the name of a table for X and y, queries are SQL predicates, each a
        question that the curator charges an equal part of epsilon for. With `columns` as well they
        are values of these, as `curator.online` takes them: any number for one price, `queries` is
        how many are expected. Functions see one row at a time, as a copy; for one that remembers
        rows nothing can be promised.

    Example:
        >>> x, y = np.arange(2000.0)[:, None] % 10, np.zeros(2000)
        >>> oracle = StatisticalQueries(x, y, epsilon=1, delta=1e-6, queries=4)
        >>> answer = oracle(lambda row, label: row[0] >= 5)
        >>> abs(answer.value - 0.5) < 0.2
        True

    Reference: Blum, Dwork, McSherry, Nissim, Practical Privacy: the SuLQ Framework, 2005; Kearns,
    Efficient Noise-Tolerant Learning from Statistical Queries, 1998.
    """

    def __init__(
        self,
        X: Any,  # noqa: N803 - as scikit-learn
        y: Any = None,
        *,
        epsilon: Real,
        delta: Real = 1e-6,
        queries: int,
        groups: Any = None,
        max_rows_per_unit: int = 1,
        columns: Sequence[str] | None = None,
    ) -> None:
        self._queries, self._asked = whole(queries, "queries", at_least=1), 0
        self._source: tuple[Any, str, Fraction] | None = None
        self._online: Any = None
        if columns is not None:
            said = {"columns": columns, "epsilon": epsilon, "queries": self._queries}
            self._online = X.online(str(y), delta=delta, **said)
            self._rows = self._online.ask({}, confidence=_EACH)
            return
        if hasattr(X, "sql"):
            self._source = X, str(y), positive(epsilon, "epsilon") / self._queries
            return
        x = np.asarray(numbers(X), dtype=np.float64)
        if x.ndim != 2:
            raise InputError("X is no table", why="rows have features", fix="pass two dimensions")
        target = None if y is None else np.asarray(numbers(y), dtype=np.float64)
        rows = rows_of(x, target, groups, max_rows_per_unit)
        self._sums = NoisySums(rows, mu_squared_of(positive(epsilon, "epsilon"), delta))

    def __call__(
        self, function: Callable[[Any, Any], Any] | str | Mapping[str, Any]
    ) -> QueryAnswer:
        """The expectation of function(row, label), cut to [-1, 1]; of a curator's table, of SQL.

        Of an online session the share of rows with some values.
        """
        if self._online is not None:
            return self._share(self._online.ask(function, confidence=_EACH))
        if self._asked == self._queries:
            raise BudgetError(
                f"all {self._queries} queries are asked",
                why="the budget was shared among so many",
                fix="plan more queries from the start",
                asked=1,
                left=0,
            )
        self._asked += 1
        if self._source is not None:
            return self._curated(str(function), *self._source)
        if isinstance(function, str | Mapping):
            raise InputError(
                "SQL or values about rows in memory", why="there is no table", fix="pass a function"
            )
        statistic, share = Expectation(function), Fraction(1, self._queries)
        total, count = self._sums.sums(statistic, share) / GRID
        noise = self._sums.sigma(statistic, share) / GRID / max(count, 1.0)
        value = float(np.clip(total / max(count, 1.0), -1, 1))
        return QueryAnswer(value, float(1.96 * noise * (1 + value**2) ** 0.5))

    def _share(self, found: Any) -> QueryAnswer:
        """A count over that of all rows, each within its interval."""
        most, rows, least = (max(getattr(self._rows, one), 1.0) for one in ("high", "value", "low"))
        value = min(max(found.value / rows, 0.0), 1.0)
        ends = found.low / most, min(found.high / least, 1.0)
        return QueryAnswer(value, max(value - ends[0], ends[1] - value))

    @staticmethod
    def _curated(predicate: str, curator: Any, table: str, price: Fraction) -> QueryAnswer:
        """The share of a table's rows for which an SQL predicate holds, charged to its curator."""
        name = '"' + table.replace('"', '""') + '"'
        share = f"AVG(CASE WHEN ({predicate}) THEN 1.0 ELSE 0.0 END) AS share"
        text = f"SELECT {share} FROM {name}"  # noqa: S608 - the curator's reader judges it
        release = curator.sql(text, epsilon=price)
        value, off = release.table.column("share")[0].as_py(), release.half_widths["share"][0]
        return QueryAnswer(float(value or 0.0), float(off.as_py() or 1.0))

    @property
    def left(self) -> int:
        """Queries that can still be asked."""
        return self._queries - self._asked

    @property
    def guarantee(self) -> GDP:
        """The composed guarantee of all answers so far; a curator's ledger keeps its own."""
        if self._source is not None or self._online is not None:
            raise InputError(
                "a guarantee of queries to a curator",
                why="its ledger counts what was spent, in its own measure",
                fix="ask curator.budget(dataset)",
            )
        return self._sums.guarantee
