"""Online sessions: the kind of order that opens an epoch of counting queries."""

import json
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

from discreet.answer.plan.price import Price
from discreet.answer.plan.set_plan import Charged
from discreet.answer.present.base_release import BaseRelease, Cost
from discreet.curator.arguments import OnlineArguments, read_fields, readable, several, spec_fields
from discreet.curator.client.wire import read_number
from discreet.curator.ledger.orders import Order
from discreet.curator.orders.drafted_orders import FieldsOrder, read_table
from discreet.curator.orders.histogram_orders import (
    HistogramQuery,
    gaussian_price,
    read_domain,
    read_max_rows,
)
from discreet.curator.orders.planned_orders import (
    OrderExplanation,
    QuoteContext,
    UnpricedOrder,
    read_price,
)
from discreet.curator.orders.query_orders import read_asked
from discreet.engines.engine import Engine
from discreet.engines.timing import Deadline
from discreet.plan.bounding import FULL
from discreet.plan.query import Query
from discreet.plan.schema import Schema, Table
from discreet.plan.work import Work
from discreet.privacy import EPSILON, MU_SQUARED, RHO, Guarantee, Neighbours, Pure, compose
from discreet.privacy.budgets.charges import Charge, Measure, price
from discreet.rationals import whole
from discreet.sql.writer.dialect import Dialect
from discreet.workload.histogram import JointHistogram
from discreet.workload.online import OnlinePlan, OnlineState, open_state

_FIELDS: Final = spec_fields(OnlineArguments, "table")
_FIX: Final = 'pass {"table": "visits", "columns": ["age", "sex"], "epsilon": "1"}'


@dataclass(frozen=True, slots=True, repr=False)
class OnlineRelease(BaseRelease):
    """The start of an epoch; later steps are stored with its charge."""

    state: OnlineState

    @property
    def price(self) -> Price:  # type: ignore[override]
        """The price of the whole epoch."""
        return Price(self.state.plan.epsilon, self.state.plan.delta)

    @property
    def guarantee(self) -> Guarantee:  # type: ignore[override]
        """The guarantee of all answers of the epoch together."""
        return self.state.plan.filter.guarantee

    @property
    def costs(self) -> tuple[Cost, ...]:  # type: ignore[override]
        """Its parts, those to come too."""
        plan = self.state.plan
        runs = [one for one in plan.guarantees if isinstance(one, Pure)]
        rest = [one for one in plan.guarantees if not isinstance(one, Pure)]
        return (
            Cost("marginals", "Gaussian", compose(rest)),
            Cost("runs of sparse vector", "Laplace", compose(runs)),
        )

    def statement(self) -> str:
        """The privacy statement for all answers of the epoch together."""
        plan = self.state.plan
        text = (
            "Any number of counting queries is answered from a public hypothesis. All answers "
            f"together keep ({float(plan.epsilon):g}, {float(plan.delta):g})-differential privacy "
            "of one person, or of one row where the table protects each by itself "
            f"({plan.neighbours.value}), however the queries are chosen. Intervals speak of noise "
            "and of what the hypothesis has not learnt; not of rows that weigh less because a "
            "person has many."
        )
        return textwrap.fill(text, 100)

    def to_bytes(self) -> bytes:
        """The stored form."""
        return self.state.to_bytes()

    @staticmethod
    def from_bytes(stored: bytes) -> "OnlineRelease":
        """The beginning of an epoch."""
        return OnlineRelease(OnlineState.from_bytes(stored))

    def json_facts(self) -> dict[str, Any]:
        """The public state as plain JSON."""
        plan = self.state.plan
        return {
            "columns": list(plan.domain.names),
            "threshold_rows": float(plan.threshold),
            "updates": plan.updates,
            "runs": plan.runs,
            "rows": round(self.state.hypothesis.rows),
        }

    def __repr__(self) -> str:
        plan = self.state.plan
        return (
            f"online queries over {', '.join(plan.domain.names)}: {plan.updates} updates, "
            f"threshold {float(plan.threshold):,.0f} rows"
        )


@dataclass(frozen=True)
class OnlineOrder(FieldsOrder):
    """An epoch with its price: what it measures first, and the most that its steps may ever cost.

    Guarantee:
        The price pays for every answer until the epoch ends: the first marginals, all runs of
        sparse vector, those after crashes among them, and all updates.
    """

    table: Table
    max_rows: int
    epoch: int
    plan: OnlinePlan
    kind = "online"
    states_epsilon = True
    release_type = OnlineRelease

    @classmethod
    def parse(cls, spec: Mapping[str, Any], schema: Schema) -> UnpricedOrder["OnlineOrder"]:
        """Read table, columns and price."""
        needed = ("table", "columns", "epsilon")
        said = read_fields(spec, "an online session", needed=needed, allowed=_FIELDS)
        with readable("an online session", _FIX):
            table = read_table(said["table"], schema)
            domain = read_domain(table, several(said["columns"], "columns"), said.get("bins"))
            options = {one: said[one] for one in ("updates", "restarts", "queries") if one in said}
            if said.get("accuracy") is not None:
                options["accuracy"] = read_number(said["accuracy"], "accuracy")
            max_rows = read_max_rows(said, table)
            epoch, asked = whole(said.get("epoch", 1), "epoch", at_least=1), read_asked(said)
            rows = HistogramQuery(table, domain, max_rows)

        def plan(at: QuoteContext) -> OnlineOrder:
            paid, measure = gaussian_price(asked, at, "an online session"), at.touched[0].measure
            divided = OnlinePlan.of(
                domain,
                epsilon=paid.epsilon,
                delta=paid.delta,
                measure=measure if measure in (RHO, MU_SQUARED) else RHO,
                row_weight=FULL,
                person_weight=rows.person_weight,
                neighbours=at.neighbours,
                **options,
            )
            return cls(table, max_rows, epoch, divided)

        return UnpricedOrder(frozenset({table.name}), lambda bound: bound(rows.query), plan)

    @staticmethod
    def price_of(order: Order) -> Price:
        """The price of the whole epoch."""
        return read_price(json.loads(order.plan)["plan"])

    @property
    def guarantees(self) -> tuple[Charged, ...]:
        """The guarantees of all parts of the epoch."""
        return self.plan.guarantees

    def charge(self, measure: Measure) -> Charge:
        """The sum of the prices of all parts, as they may come in any order.

        An account that counts epsilons pays the (epsilon, delta) that the sum implies.
        """
        if measure == EPSILON:
            return super().charge(measure)
        costs = [price(one, measure) for one in self.guarantees]
        amount = sum((one.amount for one in costs), Fraction(0))
        delta = sum((one.delta for one in costs), Fraction(0))
        return Charge(amount, delta, measure=measure, neighbours=self.neighbours)

    @property
    def price(self) -> Price:  # type: ignore[override]
        """The price of the whole epoch."""
        return Price(self.plan.epsilon, self.plan.delta)

    @property
    def neighbours(self) -> Neighbours:  # type: ignore[override]
        """Neighbour relation of the guarantees."""
        return self.plan.neighbours

    def decisions(self) -> Mapping[str, Any]:
        """How hard queries are found."""
        return {"version": 1, "gate_epsilon": str(self.plan.gate_epsilon)}

    def explain(self, dialect: Dialect) -> OrderExplanation:
        """Cost, and the error from which on a query is measured."""
        plan, sigma = self.plan, self.histogram.empty.sigma(self.plan.update_mu_squared)
        facts = {
            "columns": list(plan.domain.names),
            "threshold_rows": float(plan.threshold),
            "updates": plan.updates,
            "restarts": plan.restarts,
            "update_sigma": round(sigma, 1),
        }
        text = (
            f"online queries about {self.table.name}: {len(plan.domain)} columns\n"
            f"any number of counting queries; answers that are about {float(plan.threshold):,.0f} "
            f"rows off or more are measured, {plan.updates} times, each count with noise of about "
            f"{sigma:,.0f} rows"
        )
        return OrderExplanation(self.price, plan.neighbours, text, facts)

    @cached_property
    def histogram(self) -> HistogramQuery:
        """How rows are read."""
        plan = self.plan
        return HistogramQuery(self.table, plan.domain, self.max_rows, plan.neighbours)

    def work(self, bound: Callable[[Query], Work]) -> Work:
        """Upper bound on the work of reading all rows."""
        return bound(self.histogram.query)

    def read_rows(self, engine: Engine, until: Deadline | None = None) -> JointHistogram:
        """The exact histogram: private."""
        with engine.snapshot(until) as session:
            return self.histogram.read(session, engine.dialect)

    def measure(self, engine: Engine, until: Deadline | None) -> bytes:
        """The noisy marginals of all columns and, `with_pairs`, of all pairs of them."""
        return open_state(self.plan, self.read_rows(engine, until)).to_bytes()

    def present(self, measured: bytes) -> OnlineRelease:
        """The hypothesis before any query."""
        return OnlineRelease.from_bytes(measured)
