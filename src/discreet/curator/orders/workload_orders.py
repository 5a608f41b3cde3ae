"""Workloads: the kind of order that answers a list of counting queries by coordinated noise."""

import json
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.answer.execute.noisy_measurements import reading_stored
from discreet.answer.plan.price import Price
from discreet.answer.present.base_release import PRICE_READ, PRICE_WRITTEN, BaseRelease, Cost
from discreet.curator.arguments import WorkloadArguments, read_fields, readable, spec_fields
from discreet.curator.ledger.orders import Order
from discreet.curator.orders.drafted_orders import DraftedOrder, read_stored, read_table
from discreet.curator.orders.histogram_orders import (
    BY_ROW,
    HistogramQuery,
    gaussian_price,
    read_domain,
    read_max_rows,
)
from discreet.curator.orders.planned_orders import (
    Asked,
    OrderExplanation,
    QuoteContext,
    UnpricedOrder,
)
from discreet.curator.orders.query_orders import read_asked
from discreet.engines.engine import Engine
from discreet.engines.timing import Deadline
from discreet.errors import InputError
from discreet.mechanisms.gaussian_calibration import largest_mu
from discreet.plain_json import from_fields, to_fields
from discreet.plan.query import Query
from discreet.plan.schema import Schema, Table
from discreet.plan.work import Work
from discreet.privacy import GDP, Guarantee, Neighbours
from discreet.sql.writer.dialect import Dialect
from discreet.workload.counting_query import CountingQuery
from discreet.workload.domain import Domain
from discreet.workload.matrix import MOST_CELLS
from discreet.workload.planner import StrategyChoice, WorkloadStrategy, plan_workload

_FIELDS: Final = spec_fields(WorkloadArguments, "table", "queries")
_FIX: Final = 'pass {"table": "visits", "queries": [{"age": {"low": 18, "high": 30}}], ...}'
_SHOWN: Final = 1000
MOST_QUERIES: Final = 10_000
"""Queries of one workload."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class WorkloadRelease(BaseRelease):
    """Answers to a list of counting queries, in their order; reading them again costs nothing.

    `deviations` are those of each answer's Gaussian noise; `notes` say which strategy was taken,
    why, and what people are bounded by.
    """

    queries: tuple[str, ...]
    values: NDArray[np.float64]
    deviations: NDArray[np.float64]
    price: Price
    guarantee: Guarantee
    notes: tuple[str, ...] = ()

    @property
    def costs(self) -> tuple[Cost, ...]:  # type: ignore[override]
        """One guarantee for all answers."""
        return (Cost("answers to a workload", "Gaussian", self.guarantee),)

    def half_widths(self, confidence: float = 0.95) -> NDArray[np.float64]:
        """How far each answer may be off."""
        return np.asarray(self.deviations * NormalDist().inv_cdf((1 + confidence) / 2))

    def to_arrow(self) -> pa.Table:
        """Queries, answers and the ends of their 95 % intervals."""
        width = self.half_widths()
        return pa.table(
            {
                "query": list(self.queries),
                "rows": self.values,
                "rows_low": self.values - width,
                "rows_high": self.values + width,
            }
        )

    def to_pandas(self) -> Any:
        """The same for pandas."""
        return self.to_arrow().to_pandas()

    def statement(self) -> str:
        """The privacy statement for all answers together."""
        one = "one row" if self.notes[-1] == BY_ROW else "one person"
        text = (
            "These counts have coordinated noise. All answers together keep "
            f"({float(self.price.epsilon):g}, {float(self.price.delta):g})-differential privacy of "
            f"{one} ({self.guarantee.neighbours.value}). Intervals speak of noise, and not of "
            f"rows that weigh less because a person has many. {self.notes[-1].capitalize()}."
        )
        return textwrap.fill(text, 100)

    def json_facts(self) -> dict[str, Any]:
        """The first answers as plain JSON."""
        shown = zip(self.queries, self.values, self.half_widths(), strict=True)
        few = [
            {"query": query, "rows": round(float(value), 1), "half_width": round(float(width), 1)}
            for (query, value, width), _ in zip(shown, range(_SHOWN), strict=False)
        ]
        return {"queries": len(self.queries), "answers": few, "strategy": self.notes[0]}

    def __repr__(self) -> str:
        return f"{len(self.queries):,} counting queries\n{self.notes[0]}\n{self.to_arrow()[:5]}"

    def to_bytes(self) -> bytes:
        """The stored form."""
        about = {"workload": 1, **to_fields(self, PRICE_WRITTEN)}
        arrays = _packed(about.pop("values"), about.pop("deviations"))
        return json.dumps(about, sort_keys=True).encode() + b"\n" + arrays

    @staticmethod
    def from_bytes(stored: bytes) -> "WorkloadRelease":
        """The release that `to_bytes` wrote."""
        head, _, body = stored.partition(b"\n")
        with reading_stored("answers to a workload"):
            about = json.loads(head)
            del about["workload"]
            about["values"], about["deviations"] = np.frombuffer(body, dtype="<f8").reshape(2, -1)
            return from_fields(WorkloadRelease, about, PRICE_READ)


@dataclass(frozen=True)
class WorkloadOrder(DraftedOrder):
    """A list of counting queries with its price; the strategy is chosen by public facts.

    Guarantee:
        All that is measured has rounded Gaussian noise, of `mu_squared` together.
    """

    table: Table
    domain: Domain
    queries: tuple[CountingQuery, ...]
    max_rows: int
    price: Price
    neighbours: Neighbours
    strategy_name: str = ""
    kind = "workload"
    decided = ("queries", "strategy_name")
    release_type = WorkloadRelease

    @classmethod
    def parse(cls, spec: Mapping[str, Any], schema: Schema) -> UnpricedOrder[Self]:
        """Read queries, table and price."""
        needed = ("table", "queries", "epsilon")
        said = read_fields(spec, "a workload", needed=needed, allowed=_FIELDS)
        with readable("a workload", _FIX):
            table = read_table(said["table"], schema)
            wheres = said["queries"]
            if not isinstance(wheres, list) or not 1 <= len(wheres) <= MOST_QUERIES:
                raise InputError(
                    "queries are no list, or too many",
                    why=f"a workload has from 1 to {MOST_QUERIES:,} of them",
                    fix=_FIX,
                )
            asked = {name for where in wheres for name in read_fields(where, "a query")}
            names = [name for name in table.columns if name in asked]
            names += sorted(map(str, asked - set(table.columns)))  # refused by their name
            domain = read_domain(table, names, said.get("bins"))
            queries = tuple(CountingQuery.of(domain, where) for where in wheres)
            order = cls(
                table, domain, queries, read_max_rows(said, table), Price(1), Neighbours.ADD_REMOVE
            )
            return order.draft(read_asked(said))

    @classmethod
    def read(cls, order: Order, schema: Schema) -> Self:
        """The plan that was stored."""
        stored = json.loads(order.plan)
        found = read_stored(cls, {**stored, "queries": [], "price": stored}, schema)
        queries = tuple(_read(query, found.domain) for query in stored["queries"])
        return replace(found, queries=queries, strategy_name=(order.decisions or {})["strategy"])

    def priced(self, asked: Asked, at: QuoteContext) -> Self:
        """The order at a price; refused if there is no delta."""
        return replace(
            self, price=gaussian_price(asked, at, "a workload"), neighbours=at.neighbours
        )

    @property
    def mu_squared(self) -> Fraction:
        """The largest of the price."""
        return largest_mu(self.price.epsilon, self.price.delta) ** 2

    @cached_property
    def histogram(self) -> HistogramQuery:
        """How rows are read."""
        return HistogramQuery(self.table, self.domain, self.max_rows, self.neighbours)

    @cached_property
    def planned(self) -> tuple[WorkloadStrategy, StrategyChoice]:
        """The strategy that errs least or, of a stored order, the one that was chosen then."""
        empty = self.histogram.empty
        return plan_workload(self.queries, empty, self.mu_squared, only=self.strategy_name)

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """One: all of it is Gaussian."""
        return (GDP.of_square(self.mu_squared, neighbours=self.neighbours),)

    @property
    def text(self) -> str:
        """The order as the ledger stores it; cells of queries are stored as runs."""
        queries = [_written(query, self.domain) for query in self.queries]
        asked = {**self.said, "queries": queries}
        return json.dumps(asked, sort_keys=True, separators=(",", ":"))

    def decisions(self) -> Mapping[str, Any]:
        """How it will be measured."""
        return {"version": 1, "strategy": self.planned[1].chosen}

    def explain(self, dialect: Dialect) -> OrderExplanation:
        """Cost, and the error of every strategy."""
        strategy, choice = self.planned
        width = 1.96 * strategy.deviations
        facts = {
            "queries": len(self.queries),
            "columns": list(self.domain.names),
            "strategy": choice.chosen,
            "errors": choice.errors,
            "half_width": round(float(width.mean()), 1),
            "max_rows_per_person": None if self.table.is_by_row else self.max_rows,
            "sql": [*map(str, self.histogram.statements(dialect)[0])],
        }
        text = (
            f"{len(self.queries):,} counting queries about {self.table.name}, each within about "
            f"{float(width.mean()):,.0f} rows\n{choice}\n{self.histogram.note}"
        )
        return OrderExplanation(self.price, self.neighbours, text, facts)

    def work(self, bound: Callable[[Query], Work]) -> Work:
        """Upper bound on the work of reading rows, planning and answering."""
        reading, cells = bound(self.histogram.query), math.prod(self.domain.shape())
        plan = 5e-9 * min(cells, MOST_CELLS) ** 3 + 1e-7 * min(cells, 10**8)
        return replace(reading, seconds=reading.seconds + plan + 5e-5 * len(self.queries))

    def measure(self, engine: Engine, until: Deadline | None) -> bytes:
        """Noisy answers, with the deviation of each."""
        with engine.snapshot(until) as session:
            histogram = self.histogram.read(session, engine.dialect)
        strategy, choice = self.planned
        told = strategy.answer(histogram)
        return json.dumps(str(choice)).encode() + b"\n" + _packed(told, strategy.deviations)

    def present(self, measured: bytes) -> WorkloadRelease:
        """The release: a function of what is stored."""
        head, _, body = measured.partition(b"\n")
        values, deviations = np.frombuffer(body, dtype="<f8").reshape(2, -1)
        labels = {one.name: one.labels() for one in self.domain}
        where = tuple(_words(query, labels) for query in self.queries)
        guarantee = self.guarantees[0]
        notes = (json.loads(head), self.histogram.note)
        return WorkloadRelease(where, values, deviations, self.price, guarantee, notes)


def _packed(values: NDArray[np.float64], deviations: NDArray[np.float64]) -> bytes:
    return np.stack([values, deviations]).astype("<f8").tobytes()


def _runs(cells: Sequence[int]) -> list[list[int]]:
    """Cells that rise, as first and last ones of their runs."""
    found: list[list[int]] = []
    for cell in cells:
        if found and found[-1][1] == cell - 1:
            found[-1][1] = cell
        else:
            found.append([cell, cell])
    return found


def _written(query: CountingQuery, domain: Domain) -> list[Any]:
    """A query as few letters: the place of each column and its cells, as "0-9,12".

    The ledger keeps every order for ever, and has little room for each.
    """
    parts: list[Any] = []
    for name, cells in zip(query.clique, query.cells, strict=True):
        runs = (f"{first}-{last}" if last > first else str(first) for first, last in _runs(cells))
        parts += [domain.place(name), ",".join(runs)]
    return parts


def _read(written: Sequence[Any], domain: Domain) -> CountingQuery:
    """The query that `_written` wrote."""
    clique = tuple(domain.names[place] for place in written[::2])
    return CountingQuery(clique, tuple(map(_cells, written[1::2])))


def _cells(runs: str) -> tuple[int, ...]:
    ends = (run.partition("-") for run in runs.split(",") if run)
    return tuple(c for first, _, last in ends for c in range(int(first), int(last or first) + 1))


def _words(query: CountingQuery, labels: Mapping[str, Sequence[str]]) -> str:
    """A query as people read it: the cells of each column, by their values."""
    parts = []
    for name, cells in zip(query.clique, query.cells, strict=True):
        ends = ([labels[name][end] for end in run] for run in _runs(cells))
        told = ", ".join(" .. ".join(dict.fromkeys(run)) for run in ends)
        parts.append(f"{name}: {told or 'nothing'}")
    return "; ".join(parts) or "all rows"
