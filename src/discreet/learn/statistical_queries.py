"""The oracle of the statistical-query model: expectations of functions of a row."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BudgetError, InputError
from discreet.learn.base import number, numbers
from discreet.learn.design import GRID
from discreet.learn.noisy_sums import NoisySums, RowStatistic, mu_squared_of
from discreet.learn.rows import Chunk, items_of, rows_of
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
    """A noisy expectation; off by more than `tolerance` with a probability of 5 %, by the noise.

    `price` is the epsilon of this answer alone; 0 in an online session, which is paid for once.
    """

    value: float
    tolerance: float
    price: float

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
        With a curator and the name of a table for X and y, queries are SQL predicates, each charged
        an equal part of epsilon. With `columns` as well they are values of these: any number for
        one price (`curator.online`), `queries` is how many are expected. Functions see one row, as
        doubles (NaN for what is none), and its label, a double or whatever else it is; for a
        function that remembers rows nothing can be promised.

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
        X: Any,
        y: Any = None,
        *,
        epsilon: Real,
        delta: Real = 1e-6,
        queries: int = 100,
        groups: Any = None,
        max_rows_per_unit: int = 1,
        columns: Sequence[str] | None = None,
    ) -> None:
        self._queries = whole(queries, "queries", at_least=1)
        self.left = self._queries  # queries that can still be asked
        self._sums: NoisySums | None = None
        self._online: Any = None
        each = positive(epsilon, "epsilon") / self._queries
        if columns is not None:
            said = {"columns": columns, "epsilon": epsilon, "queries": self._queries}
            self._online = X.online(str(y), delta=delta, **said)
            self._answer = partial(_share, self._online, self._online.ask({}, confidence=_EACH))
        elif hasattr(X, "sql"):
            self._answer = partial(_curated, X, str(y), each)
        else:
            x = np.asarray(numbers(X), dtype=np.float64)
            rows = rows_of(x, None if y is None else _labels(y), groups, max_rows_per_unit)
            self._sums = NoisySums(rows, mu_squared_of(epsilon, delta))
            one = GDP.of_square(self._sums.mu_squared / self._queries).epsilon(delta).upper
            self._answer = partial(_summed, self._sums, Fraction(1, self._queries), float(one))

    def __call__(
        self, function: Callable[[Any, Any], Any] | str | Mapping[str, Any]
    ) -> QueryAnswer:
        """The expectation of function(row, label), cut to [-1, 1]; of a curator's table, of SQL.

        Of an online session the share of rows with some values.
        """
        if self.left == 0 and self._online is None:
            what, fix = f"all {self._queries} queries are asked", "plan more queries from the start"
            why = "the budget was shared among so many"
            raise BudgetError(what, why=why, fix=fix, asked=1, left=0)
        answer = self._answer(function)
        self.left -= self._online is None
        return answer

    @property
    def guarantee(self) -> GDP:
        """The composed guarantee of all answers so far; a curator's ledger keeps its own."""
        if self._sums is None:
            why = "its ledger counts what was spent, in its own measure"
            what, fix = "a guarantee of queries to a curator", "ask curator.budget(dataset)"
            raise InputError(what, why=why, fix=fix)
        return self._sums.guarantee


def _labels(y: Any) -> NDArray[Any]:
    """Labels one by one, numbers as doubles: what one of them is changes none of the others."""
    items = items_of(y).tolist()
    read = (np.float64(number(one)) if isinstance(one, (int, float)) else one for one in items)
    return np.fromiter(read, dtype=object, count=len(items))


def _summed(sums: NoisySums, share: Fraction, price: float, function: Any) -> QueryAnswer:
    """The mean of a function over rows in memory."""
    if not callable(function):
        what, why = "SQL or values about rows in memory", "there is no table"
        raise InputError(what, why=why, fix="pass a function")
    statistic = Expectation(function)
    total, count = sums.sums(statistic, share) / GRID
    noise = sums.sigma(statistic, share) / GRID / max(count, 1.0)
    value = float(np.clip(total / max(count, 1.0), -1, 1))
    return QueryAnswer(value, float(1.96 * noise * (1 + value**2) ** 0.5), price)


def _curated(curator: Any, table: str, price: Fraction, predicate: Any) -> QueryAnswer:
    """The share of a table's rows for which an SQL predicate holds, charged to its curator."""
    name = '"' + table.replace('"', '""') + '"'
    share = f"AVG(CASE WHEN ({predicate}) THEN 1.0 ELSE 0.0 END) AS share"
    text = f"SELECT {share} FROM {name}"  # noqa: S608 - the curator's reader judges it
    release = curator.sql(text, epsilon=price)
    value, off = release.table.column("share")[0].as_py(), release.half_widths["share"][0]
    return QueryAnswer(float(value or 0.0), float(off.as_py() or 1.0), float(price))


def _share(online: Any, everybody: Any, values: Any) -> QueryAnswer:
    """The share of rows with some values: a count over that of all rows, each in its interval."""
    found = online.ask(values, confidence=_EACH)
    most, rows, least = (max(getattr(everybody, one), 1.0) for one in ("high", "value", "low"))
    value = min(max(found.value / rows, 0.0), 1.0)
    ends = found.low / most, min(found.high / least, 1.0)
    return QueryAnswer(value, max(value - ends[0], ends[1] - value), 0.0)
