"""Counting queries: how many rows have one of some cells in each of some columns."""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.plan.schema import Bounds
from discreet.workload.domain import Attribute, Domain
from discreet.workload.histogram import Clique


@dataclass(frozen=True)
class CountingQuery:
    """How many rows have a cell among `cells[i]` in column `clique[i]`, for every i.

    One person moves its answer by at most their weight, for any cells.

    Edge cases: no columns count all rows; no cells of a column count none. Columns are in the order
    of the domain, cells ascend, so equal questions compare equal.

    Example:
        >>> from discreet.plan.kinds import Kind
        >>> sex = Attribute("sex", Kind.TEXT, ("female", "male"), nullable=False)
        >>> query = CountingQuery.of(Domain((sex,)), {"sex": "male"})
        >>> query.clique, query.cells, int(query.total(np.array([3, 5])))
        (('sex',), ((1,),), 5)
    """

    clique: Clique
    cells: tuple[tuple[int, ...], ...]

    @staticmethod
    def of(domain: Domain, where: Mapping[str, Any]) -> "CountingQuery":
        """Read {column: a value, a list of values, or Bounds(low, high)}.

        A bin counts as a whole. Bounds take every cell from that of `low` to that of `high`; JSON
        may write them as {"low": .., "high": ..}, and dates as texts.
        """
        if not isinstance(where, Mapping):
            raise InputError(
                "a counting query that is no mapping",
                why="it says which values count, column by column",
                fix='pass {"sex": ["female"], "age": Bounds(30, 39)}',
            )
        known = {name: _cells(domain[name], what) for name, what in where.items()}
        clique = tuple(name for name in domain.names if name in known)
        return CountingQuery(clique, tuple(known[name] for name in clique))

    @property
    def size(self) -> int:
        """How many cells of its marginal it adds up."""
        return prod(len(one) for one in self.cells)

    @cached_property
    def _places(self) -> tuple[NDArray[np.intp], ...]:
        return np.ix_(*(np.array(one, dtype=np.intp) for one in self.cells))

    def total(self, marginal: NDArray[Any]) -> Any:
        """The sum of its cells in the marginal of its columns; exact where that has integers."""
        return marginal[self._places].sum() if self.clique else marginal.sum()

    def over(self, columns: Clique, domain: Domain) -> "CountingQuery":
        """The same query as one about some columns: all cells of those that it does not name."""
        known = dict(zip(self.clique, self.cells, strict=True))
        every = (known.get(n, tuple(range(domain.sizes[n]))) for n in columns)
        return CountingQuery(columns, tuple(every))

    def vector(self, domain: Domain) -> NDArray[np.int64]:
        """One number for each cell of a whole domain, 1 where it counts: for small domains."""
        found = np.zeros(domain.shape(), dtype=np.int64)
        found[self.over(domain.names, domain)._places] = 1  # noqa: SLF001 - of the same class
        return found.reshape(-1)


def plain_where(where: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `CountingQuery.of` as JSON, which it reads too.

    Example:
        >>> plain_where({"age": Bounds(30, 39), "sex": "male"})
        {'age': {'low': 30, 'high': 39}, 'sex': ['male']}
    """
    return {str(name): _as_json(what) for name, what in where.items()}


def _as_json(what: Any) -> Any:
    if isinstance(what, Bounds):
        return {"low": _text(what.low), "high": _text(what.high)}
    listed = isinstance(what, Iterable) and not isinstance(what, str | Mapping)
    return [_text(one) for one in what] if listed else [_text(what)]


def _text(value: Any) -> Any:
    """Dates as JSON has them."""
    return value.isoformat() if isinstance(value, dt.date) else value


def _cells(attribute: Attribute, what: Any) -> tuple[int, ...]:
    if isinstance(what, Mapping):
        if set(what) != {"low", "high"}:
            raise _unreadable(attribute.name)
        what = Bounds(**what)
    if isinstance(what, Bounds):
        if not attribute.is_ordered:
            raise InputError(
                f"bounds on {attribute.name}",
                why="its values have no order",
                fix="list the values that count",
            )
        if what.low is None or what.high is None:
            raise _unreadable(attribute.name)
        low, high = (_cell(attribute, one) for one in (what.low, what.high))
        if attribute.edges:
            return tuple(range(low, high + 1))
        values: tuple[Any, ...] = attribute.values  # in whatever order
        return tuple(i for i, one in enumerate(values) if values[low] <= one <= values[high])
    listed = isinstance(what, Iterable) and not isinstance(what, str)
    return tuple(sorted({_cell(attribute, one) for one in (what if listed else (what,))}))


def _cell(attribute: Attribute, value: Any) -> int:
    """The cell of a value that a stranger may have sent."""
    plain = float(value) if isinstance(value, Fraction | Decimal) else value
    kinds = dt.date | str if attribute.kind.is_time else str | int | float
    known = plain is None or isinstance(plain, kinds)
    if not known or plain != plain:  # noqa: PLR0124 - NaN
        raise _unreadable(attribute.name)
    try:
        return attribute.cell_of(plain)
    except TypeError:  # a moment with a zone
        raise _unreadable(attribute.name) from None


def _unreadable(name: str) -> InputError:
    return InputError(
        f"the values of {name} that count cannot be read",
        why="they are a value, a list of values, or a low and a high bound",
        fix='pass {"sex": ["female"], "age": {"low": 30, "high": 39}}',
    )
