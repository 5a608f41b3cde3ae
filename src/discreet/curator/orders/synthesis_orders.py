"""Synthetic tables: the kind of order that measures marginals and fits a model to them."""

import json
import math
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import isnan
from typing import TYPE_CHECKING, Any, Final, Self

import pyarrow as pa
import pyarrow.compute as pc

from discreet.answer.execute.noisy_measurements import reading_stored
from discreet.answer.measurement_plan import overspent
from discreet.answer.plan.price import Price
from discreet.answer.plan.set_plan import Charged
from discreet.answer.present.base_release import PRICE_READ, PRICE_WRITTEN, BaseRelease, Cost
from discreet.answer.present.chart import altair
from discreet.answer.present.number_text import cost
from discreet.answer.present.release_json import plain
from discreet.answer.present.release_text import BY_ROW, CHANGE
from discreet.curator.arguments import (
    SynthesisArguments,
    read_fields,
    readable,
    several,
    spec_fields,
)
from discreet.curator.orders.drafted_orders import DraftedOrder, read_table
from discreet.curator.orders.histogram_orders import (
    HistogramQuery,
    columns_of,
    gaussian_price,
    read_columns,
    read_max_rows,
)
from discreet.curator.orders.planned_orders import (
    Asked,
    OrderExplanation,
    QuoteContext,
    UnpricedOrder,
)
from discreet.curator.orders.query_orders import read_asked
from discreet.engines.engine import Engine, Session
from discreet.engines.timing import Deadline
from discreet.errors import InputError
from discreet.mechanisms.gaussian_calibration import largest_mu
from discreet.plain_json import from_fields, to_fields
from discreet.plan.query import Query
from discreet.plan.schema import Schema, Table
from discreet.plan.work import Work
from discreet.privacy import GDP, Guarantee, Neighbours
from discreet.privacy.guarantees.interpretation import read
from discreet.rationals import whole
from discreet.sql.writer.dialect import Dialect
from discreet.workload.binning import logarithmic_grid, private_bins
from discreet.workload.domain import BINS, Attribute, Domain
from discreet.workload.histogram import measure_marginal
from discreet.workload.synthesis import Condition, Synthesis, fresh_key
from discreet.workload.synthesizer import (
    MAX_CELLS,
    MAX_MEMORY,
    SynthesisPlan,
    structural_zeros,
    synthesize,
)

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd


_FIELDS: Final = spec_fields(SynthesisArguments, "table", "max_cells")
_BINNING = Fraction(5, 100)
"""The share of mu^2 that private bins take, where a number has no bounds."""

_SECONDS_A_CELL = 3e-5
"""Of a model's cells: all rounds of fitting it, on a slow machine."""

_BARS = 40
"""Pairs that are drawn."""

_ROW: Final = "one row"


@dataclass(frozen=True, repr=False, eq=False)
class SynthesisRelease(BaseRelease):
    """A synthetic table; reading it again, or drawing more rows, costs nothing.

    `synthesis` has the model, its report and its intervals. `unit` says who is protected.
    """

    synthesis: Synthesis
    price: Price
    unit: str
    notes: tuple[str, ...] = ()

    @property
    def guarantee(self) -> Guarantee:  # type: ignore[override]
        """Gaussian differential privacy of everything that was measured."""
        return self.synthesis.guarantee

    @property
    def costs(self) -> tuple[Cost, ...]:  # type: ignore[override]
        """One guarantee for all marginals and scores."""
        return (Cost("marginals and scores of a synthesis", "Gaussian", self.guarantee),)

    @cached_property
    def table(self) -> pa.Table:
        """Synthetic rows, as many as the estimated number; always the same ones."""
        return self.synthesis.table()

    def rows(
        self, count: int | None = None, *, given: Mapping[str, Condition] | None = None
    ) -> pa.Table:
        """Any number of synthetic rows, under conditions if given."""
        return self.synthesis.table(count, given=given)

    def to_arrow(self) -> pa.Table:
        """The synthetic rows."""
        return self.table

    def to_pandas(self) -> "pd.DataFrame":
        """The synthetic rows, for pandas."""
        return self.table.to_pandas()

    def report(self) -> pa.Table:
        """Measured marginals, and the model's error on each pair of columns."""
        return self.synthesis.report()

    def chart(self) -> "alt.TopLevelMixin":
        """The estimated error of the worst pairs of columns, with its 95 % interval."""
        vega, report = altair(), self.report()
        checked = report.filter(pc.is_valid(report["error"])).sort_by([("error", "descending")])
        data = vega.Data(values=checked.slice(0, _BARS).to_pylist())
        place = vega.Y("columns:N", sort=None, title=None)
        x = vega.X("error:Q", title="total variation distance to the data")
        measured = vega.Color("measured:N", title="measured")
        bars = vega.Chart(data).mark_bar().encode(x=x, y=place, color=measured)
        ends = vega.Chart(data).mark_rule().encode(x="error_low:Q", x2="error_high:Q", y=place)
        title = "Error of the model, with its 95 % interval"
        chart: alt.TopLevelMixin = (bars + ends).properties(title=title)
        return chart

    # --- in words -------------------------------------------------------------------------------

    def statement(self) -> str:
        """The privacy statement, with what the rows do not say."""
        change, price = CHANGE[self.guarantee.neighbours], self.price
        parts = [
            "These rows are synthetic: they were drawn from a model of marginals that were",
            f"measured with differential privacy. They protect {self.unit}: {change}",
            "changes the probability of any output by no more than the guarantee allows.",
            f"The price was epsilon = {cost(price.epsilon)} and delta = {cost(price.delta)}.",
            *([BY_ROW] if self.unit == _ROW else []),
            read(self.guarantee, delta=price.delta),
            *(f"{note[:1].upper()}{note[1:]}." for note in self.notes),
            f"On pairs of columns the model differs from the data by {self._error()} on average;",
            "combinations of more columns differ more, and what was not measured may be lost.",
            "No row belongs to a person.",
        ]
        return textwrap.fill(" ".join(parts), 100, break_long_words=False)

    def _error(self) -> str:
        found, low, high = self.synthesis.mean_error_interval()
        if isnan(found):
            return "a distance that was not measured"
        return f"a total variation distance of {found:.3f} ({low:.3f} to {high:.3f})"

    def __repr__(self) -> str:
        measured = len(self.synthesis.result.measured)
        return (
            f"synthetic table: about {self.synthesis.rows:,} rows, "
            f"{len(self.synthesis.domain)} columns, {measured} marginals measured\n"
            f"mean error over pairs of columns: {self._error()}\n{self.table.slice(0, 5)}"
        )

    def json_facts(self) -> dict[str, Any]:
        """The report and a few rows as plain JSON."""
        few, error = self.table.slice(0, 5).to_pylist(), self.synthesis.mean_error()
        return {
            "rows": self.synthesis.rows,
            "columns": list(self.synthesis.domain.names),
            "mean_error": None if isnan(error) else round(error, 4),
            "report": [
                {name: round(v, 4) if isinstance(v, float) else v for name, v in one.items()}
                for one in self.report().to_pylist()
            ],
            "first_rows": [{n: plain(v) for n, v in row.items()} for row in few],
        }

    # --- storage --------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """The stored form."""
        about = to_fields(self, {**PRICE_WRITTEN, Synthesis: lambda _: 1})
        return json.dumps(about, sort_keys=True).encode() + b"\n" + self.synthesis.to_bytes()

    @staticmethod
    def from_bytes(stored: bytes) -> "SynthesisRelease":
        """The release that `to_bytes` wrote."""
        head, _, rest = stored.partition(b"\n")
        with reading_stored("a synthesis"):
            made = {Synthesis: lambda _: Synthesis.from_bytes(rest)}
            return from_fields(SynthesisRelease, json.loads(head), {**PRICE_READ, **made})


@dataclass(frozen=True)
class SynthesisOrder(DraftedOrder):
    """A synthesis with its price: table, columns, cells and constraints.

    `grids` are the numbers without bounds, on a logarithmic grid; their bins are chosen privately.
    The domain has placeholder bins for them.

    Guarantee:
        Everything that `measure` reads of the data has rounded Gaussian noise; the sum of mu^2 is
        `mu_squared` at most, which is the largest of the price.
    """

    table: Table
    domain: Domain
    grids: tuple[Attribute, ...]
    max_rows: int
    impossible: tuple[Mapping[str, Any], ...]
    workload: tuple[tuple[str, ...], ...]
    max_cells: int
    max_memory: int
    price: Price
    neighbours: Neighbours
    mu_squared: Fraction
    kind = "synthesis"
    decided = ("mu_squared",)
    release_type = SynthesisRelease

    @classmethod
    def parse(cls, spec: Mapping[str, Any], schema: Schema) -> UnpricedOrder[Self]:
        """Read table, columns, cells, constraints and price."""
        said = read_fields(spec, "a synthesis", needed=("table", "epsilon"), allowed=_FIELDS)
        with readable("a synthesis", 'pass {"table": "visits", "epsilon": "1", "delta": "1e-6"}'):
            table = read_table(said["table"], schema)
            domain, grids = _read_domain(table, said)
            impossible = tuple(
                read_fields(one, "impossible") for one in said.get("impossible") or ()
            )
            _check_public(impossible, grids)
            order = cls(
                table,
                domain,
                grids,
                read_max_rows(said, table),
                impossible,
                tuple(_marginal(one, domain) for one in said.get("workload") or ()),
                whole(said.get("max_cells") or MAX_CELLS, "max_cells", at_least=1),
                whole(said.get("max_memory") or MAX_MEMORY, "max_memory", at_least=1),
                *(Price(1), Neighbours.ADD_REMOVE, Fraction(1)),
            )
            return order.draft(read_asked(said))

    def priced(self, asked: Asked, at: QuoteContext) -> Self:
        """The order for the largest mu^2 of a price, rounded down; refused without a delta."""
        price = gaussian_price(asked, at, "a synthesis")
        most = largest_mu(price.epsilon, price.delta) ** 2
        order = replace(self, price=price, neighbours=at.neighbours, mu_squared=most)
        order.plan.rounds  # noqa: B018 - what needs too much memory is refused now
        return order

    @property
    def binning(self) -> Fraction:
        """The mu^2 of private bins."""
        return self.mu_squared * _BINNING if self.grids else Fraction(0)

    @cached_property
    def plan(self) -> SynthesisPlan:
        """How the rest is divided, by public facts: bins that are yet to be chosen stand in."""
        return self._divided(self.mu_squared - self.binning, self.domain)

    def _divided(self, mu_squared: Fraction, domain: Domain) -> SynthesisPlan:
        """How a mu^2 is divided; what needs too much memory is refused."""
        limits = self.max_cells, self.max_memory, structural_zeros(domain, self.impossible)
        return SynthesisPlan(domain, mu_squared, self.neighbours, *limits, workload=self.workload)

    def _histogram(self, domain: Domain) -> HistogramQuery:
        """How rows are read."""
        return HistogramQuery(self.table, domain, self.max_rows, self.neighbours)

    @property
    def guarantees(self) -> tuple[Charged, ...]:
        """One: all of it is Gaussian."""
        return (GDP.of_square(self.mu_squared, neighbours=self.neighbours),)

    def decisions(self) -> Mapping[str, Any]:
        """How it will be measured."""
        return {"version": 1, "mu_squared": str(self.mu_squared), "rounds": self.plan.rounds}

    def explain(self, dialect: Dialect) -> OrderExplanation:
        """Cost, memory, and the expected error of marginals."""
        query = self._histogram(self.domain)
        per_round = self.plan.mu_squared * Fraction(7, 10) / max(self.plan.rounds, 1)
        sigma = query.empty.sigma(per_round)
        facts = {
            "rounds": self.plan.rounds,
            "columns": list(self.domain.names),
            "private_bins": [one.name for one in self.grids],
            "memory_bytes": self.plan.memory,
            "marginal_sigma": round(sigma, 1),
            "max_rows_per_person": None if self.table.is_by_row else self.max_rows,
            "sql": [*map(str, query.statements(dialect)[0]), query.statements(dialect)[1]],
        }
        text = (
            f"synthesis of {self.table.name}: {len(self.domain)} columns, at most "
            f"{self.plan.rounds} pairs of them measured, each count with noise of about "
            f"{sigma:,.0f} rows\nmemory: at most {self.plan.memory / 1e6:,.0f} MB\n" + query.note
        )
        return OrderExplanation(self.price, self.neighbours, text, facts)

    def work(self, bound: Callable[[Query], Work]) -> Work:
        """Upper bound on the work of reading rows and fitting."""
        reading = bound(self._histogram(self.domain).query)
        shape = self.domain.shape()
        cells = min(self.plan.max_cells, math.prod(shape)) + 100 * len(shape) ** 2
        return replace(reading, seconds=reading.seconds + _SECONDS_A_CELL * cells)

    # --- data, and after it ---------------------------------------------------------------------

    def measure(self, engine: Engine, until: Deadline | None) -> bytes:
        """Noisy marginals and the model they make."""
        with engine.snapshot(until) as session:
            domain = self._with_bins(session, engine.dialect)
            histogram = self._histogram(domain).read(session, engine.dialect)
        plan = self._divided(self.plan.mu_squared, domain)
        # From the first draw on nothing may fail: a second attempt would draw again. What is left
        # to do is bounded by the plan.
        result = synthesize(histogram, plan)
        made = Synthesis(domain, result, fresh_key(), self.guarantees[0])
        self._check_spent(made)
        return made.to_bytes()

    def _with_bins(self, session: Session, dialect: Dialect) -> Domain:
        """The domain with private bins where a number has no bounds."""
        chosen: dict[str, Attribute] = {}
        for grid in self.grids:
            alone = self._histogram(Domain((grid,))).read(session, dialect)
            share = self.binning / len(self.grids)
            chosen[grid.name] = private_bins(measure_marginal(alone, (grid.name,), share), grid)
        return Domain(tuple(chosen.get(one.name, one) for one in self.domain))

    def _check_spent(self, made: Synthesis) -> None:
        if made.result.spent + self.binning > self.mu_squared:
            raise overspent()

    def present(self, measured: bytes) -> SynthesisRelease:
        """The release: a function of what is stored."""
        made = Synthesis.from_bytes(measured)
        self._check_spent(made)
        unit = _ROW if self.table.is_by_row else "one person, with all their rows"
        return SynthesisRelease(made, self.price, unit, (self._histogram(self.domain).note,))


# --- reading ------------------------------------------------------------------------------------


def _read_domain(table: Table, said: Mapping[str, Any]) -> tuple[Domain, tuple[Attribute, ...]]:
    """The cells of the columns that are asked for, and the grids of those without bounds."""
    asked = said.get("columns")
    names = columns_of(table) if asked is None else several(asked, "columns")
    attributes, grids = [], []
    for name, of, count in read_columns(table, names, said.get("bins")):
        if of.kind.is_number and of.range is None and of.keys is None:
            grids.append(logarithmic_grid(name, of.kind, nullable=of.nullable))
            # It stands in, with the largest number of bins that can be chosen.
            edges = tuple(range(BINS + 1))
            attributes.append(Attribute(name, of.kind, edges=edges, nullable=of.nullable))
        else:
            attributes.append(Attribute.of(name, of, bins=count))
    return Domain(tuple(attributes)), tuple(grids)


def _check_public(impossible: Iterable[Mapping[str, Any]], grids: Iterable[Attribute]) -> None:
    """Refuse constraints on bins that are yet to be chosen: nobody can say what is impossible."""
    for name in (one.name for one in grids if any(one.name in said for said in impossible)):
        raise InputError(
            f"an impossible value of {name}, which has no bounds",
            why="its bins are chosen privately, and a constraint is about whole bins",
            fix=f"declare Bounds(low, high) or Keys([...]) for {name}",
        )


def _marginal(names: Any, domain: Domain) -> tuple[str, ...]:
    found = several(names, "columns of the workload")
    for name in found:
        domain.place(name)
    return tuple(found)
