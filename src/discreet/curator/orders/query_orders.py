"""Questions, in SQL or Python, and counts of who still takes part: the first kinds of order."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final

from discreet.answer.estimate.aggregates import outputs_of
from discreet.answer.execute.individual import Admission
from discreet.answer.execute.noisy_measurements import pack, unpack
from discreet.answer.measurement_plan import MeasurementPlan
from discreet.answer.plan.accuracy import price_for
from discreet.answer.plan.price import Price
from discreet.answer.plan.set_plan import Charged
from discreet.answer.present.release import Release
from discreet.answer.present.release_json import plain
from discreet.curator.arguments import PriceArguments, read_fields, readable, spec_fields
from discreet.curator.client.plan_json import read_plan
from discreet.curator.client.wire import read_number, read_terms
from discreet.curator.ledger.accounts import Account
from discreet.curator.ledger.orders import Order
from discreet.curator.orders.drafted_orders import read_table
from discreet.curator.orders.planned_orders import (
    Asked,
    OrderExplanation,
    PlannedOrder,
    QuoteContext,
    StoredOrder,
    Terms,
    UnpricedOrder,
    names_of,
)
from discreet.engines.engine import Engine
from discreet.engines.timing import Deadline
from discreet.errors import InputError
from discreet.plan import canonical
from discreet.plan.bounding import NoiseKind
from discreet.plan.builder import From
from discreet.plan.expression_builder import count_people
from discreet.plan.expressions import SIZE, mentions, remember
from discreet.plan.query import Query, weighted, without_intervals
from discreet.plan.relations import Scan
from discreet.plan.schema import Schema
from discreet.plan.work import Work
from discreet.privacy import Neighbours
from discreet.privacy.budgets.charges import EPSILON, UNITS, Charge, Measure
from discreet.privacy.guarantees.guarantee import fill
from discreet.rationals import Real, positive, whole
from discreet.sql.reader.read import read_at_version
from discreet.sql.writer.dialect import Dialect

SHARE = 50
"""A question takes this part of a dataset's delta unless it says otherwise."""

LEAST, MOST = Fraction(1, 10**9), Fraction(10**6)
"""The epsilons that a question can be asked for."""

LEAST_DELTA = Fraction(1, 10**100)

_ACCURACY: Final = ("within", "of", "confidence", "columns", "rows")
_FIELDS: Final = ("sql", "plan", "epsilon", "delta", "accuracy", "weights", "as_of", "intervals")


@dataclass(frozen=True, slots=True)
class QueryOrder(PlannedOrder):
    """A question, in SQL or Python."""

    plan: MeasurementPlan
    kind = "query"
    says_periods = True
    release_type = Release
    tables: frozenset[str] = field(init=False, repr=False, compare=False)
    """The names of all tables that it reads, public ones too."""
    text: str = field(init=False, repr=False, compare=False)
    """The order as the ledger stores and finds it."""
    neighbours: Neighbours = field(init=False, repr=False, compare=False)
    participants: bool = field(init=False, repr=False, compare=False)
    has_epsilon: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        plan, noise_kinds = self.plan, [one.noise_kind for one in self.plan.sets]
        query = canonical.write(plan.query)
        stored = StoredOrder(query, plan.price, noise_kinds[0], plan.neighbours)
        fill(
            self,
            tables=stored.tables,
            text=str(stored),
            neighbours=plan.neighbours,
            participants=plan.participants,
            has_epsilon=all(one is NoiseKind.LAPLACE for one in noise_kinds),
        )

    @classmethod
    def parse(cls, spec: Mapping[str, Any], schema: Schema) -> UnpricedOrder["QueryOrder"]:
        """A question in SQL, or one of the fluent interface as the client writes it."""
        facts = read_fields(spec, "a query", allowed=_FIELDS)
        sql, plan = facts.get("sql"), facts.get("plan")
        if (sql is None) is (plan is None) or not isinstance(sql or plan, str):
            raise InputError(
                "a query without one text",
                why="either sql or plan says what is asked",
                fix='pass {"sql": "SELECT ...", "epsilon": "0.1"}',
            )
        terms = _read_terms(facts)
        if sql is not None:
            query, version = read_at_version(sql, schema)
            return unpriced_query(query, terms.on_version(version), sql)
        return unpriced_query(read_plan(str(plan), schema), terms)

    @classmethod
    def read(cls, order: Order, schema: Schema) -> "QueryOrder":
        """The plan that was stored; of an order by an older version, the one of this version."""
        asked = StoredOrder.parse(order.plan)
        query, about = asked.question(schema), asked.neighbours
        if order.decisions is not None:
            return cls(MeasurementPlan.from_dict(order.decisions, query, asked.price, about))
        return cls(MeasurementPlan.of(query, asked.price, about, (asked.noise_kind,)))

    @property
    def guarantees(self) -> tuple[Charged, ...]:
        """The guarantee of each part."""
        return self.plan.guarantees

    def charge(self, measure: Measure) -> Charge:
        """The cost of the whole question in a measure."""
        return self.plan.charge(measure)

    def decisions(self) -> Mapping[str, Any]:
        """How it will be measured."""
        return self.plan.to_dict()

    def explain(self, dialect: Dialect) -> OrderExplanation:
        """Cost and expected error."""
        told = self.plan.explain(dialect)
        columns = {name for part in told.parts for one in part.options for name in one.expected}
        facts = {
            "half_widths": {name: plain(told.half_width(name)) for name in sorted(columns)},
            "sql": list(told.sql),
        }
        return OrderExplanation(told.price, told.neighbours, repr(told), facts)

    def work(self, bound: Callable[[Query], Work]) -> Work:
        """Upper bound on the work of answering."""
        return bound(self.plan.query)

    def measure(self, engine: Engine, until: Deadline | None) -> bytes:
        """Noisy measurements of all grouping sets."""
        return pack(self.plan.measure(engine, until))

    def measure_admitted(
        self, engine: Engine, until: Deadline | None, admission: Admission
    ) -> bytes:
        """Noisy measurements of all grouping sets, of those who are admitted."""
        return pack(self.plan.measure(engine, until, admission))

    def present(self, measured: bytes) -> Release:
        """Estimates, error bars and the table to show."""
        return self.plan.present(unpack(measured))


def unpriced_query(
    question: Query, terms: Terms, asked: str | None = None
) -> UnpricedOrder[QueryOrder]:
    """A question and what it is asked for; `asked` is the SQL, where it was written in SQL.

    All outputs are listed, so that SQL and Python that mean the same have the same text.
    """
    listed = question.outputs or question.then is not None
    query = question if listed else replace(question, outputs=outputs_of(question))
    return UnpricedOrder(
        names_of(canonical.write(query)),
        lambda bound: bound(query),
        lambda at: plan_query(query, terms, at),
        *(asked, terms.as_of, terms.workbook),
        by_person=True,
    )


def _read_terms(facts: Mapping[str, Any]) -> Terms:
    """Read the price or accuracy of an untrusted request."""
    if facts.get("accuracy") is not None:
        read_fields(facts["accuracy"], "an accuracy", needed=("within",), allowed=_ACCURACY)
    if facts.get("weights") is not None:
        read_fields(facts["weights"], "weights")
    fix = 'pass {"epsilon": "0.1"} or {"accuracy": {"within": "50"}}'
    with readable("the price of a query", fix):
        return read_terms(facts)


# --- planning -----------------------------------------------------------------------------------


def plan_query(question: Query, terms: Terms, at: QuoteContext) -> QueryOrder:
    """Plan a question for what it is asked for."""
    query = weigh_columns(question, terms.weights or {})
    if not terms.intervals:
        query = without_intervals(query)
    about, delta = at.neighbours, delta_for(terms.delta, at.touched)
    people = any(one.is_per_person for one in at.touched)
    noise_kinds, measure = noise_kinds_for(at.touched, delta), at.touched[0].measure
    if people and NoiseKind.GAUSSIAN in noise_kinds:
        noise_kinds = (NoiseKind.GAUSSIAN,)
    if terms.accuracy is None:
        assert terms.epsilon is not None  # noqa: S101 - narrowing: see Terms
        price = within_reason(Price(terms.epsilon, delta))
    else:
        price = price_for(
            query,
            terms.accuracy,
            delta=delta,
            neighbours=about,
            noise_kinds=noise_kinds,
            measure=measure,
        )
    return _planned(query, price, about, noise_kinds, measure, people, at.dialect)


@remember(512, SIZE)
def _planned(
    query: Query,
    price: Price,
    about: Neighbours,
    noise_kinds: tuple[NoiseKind, ...],
    measure: Measure,
    participants: bool,  # noqa: FBT001 - by position: see `remember`
    dialect: Dialect,
) -> QueryOrder:
    """The plan of a question; what cannot be compiled is refused now, whatever the limits."""
    laws, people = noise_kinds, participants
    plan = MeasurementPlan.of(query, price, about, laws, measure, participants=people)
    plan.statements(dialect)
    return QueryOrder(plan)


def within_reason(price: Price) -> Price:
    """Refuse numbers that no noise is made for, before anything is computed with them."""
    if LEAST <= price.epsilon <= MOST:
        return price
    raise InputError(
        "epsilon is out of range",
        why=f"the epsilon of a question is from {float(LEAST):g} to {float(MOST):g}",
        fix="pass an epsilon such as 0.1",
    )


def read_asked(said: Mapping[str, Any]) -> Asked:
    """The epsilon that an order asks for, and the delta where it names one."""
    delta = said.get("delta")
    return (
        read_number(said["epsilon"], "epsilon"),
        None if delta is None else read_number(delta, "delta"),
    )


def price_at(asked: Asked, at: QuoteContext) -> Price:
    """The price that is asked for; without a delta, a part of the dataset's."""
    epsilon, delta = asked
    return within_reason(Price(epsilon, delta_for(delta, at.touched)))


def delta_for(asked: Real | None, touched: Sequence[Account]) -> Fraction:
    """The delta that was asked for, else a part of the dataset's."""
    if asked is not None:
        delta = Price(1, asked).delta
        if delta and delta < LEAST_DELTA:
            raise InputError(
                "delta is out of range",
                why=f"it is 0 or at least {float(LEAST_DELTA):g}",
                fix="pass delta=0, or a delta such as 1e-9",
            )
        return delta
    owned = [one for one in touched if one.holder.kind == "dataset"]
    caps = [Fraction(one.cap[1], UNITS) for one in owned if one.cap is not None]
    each = [one.stated[1] for one in owned if one.is_per_person and one.stated is not None]
    return min((delta / SHARE for delta in (*caps, *each)), default=Fraction(0))


def noise_kinds_for(touched: Sequence[Account], delta: Fraction) -> tuple[NoiseKind, ...]:
    """The kinds of noise that all accounts can pay for: epsilon buys Laplace noise alone."""
    pure = any(account.measure == EPSILON for account in touched)
    return (NoiseKind.LAPLACE,) if pure or not delta else tuple(NoiseKind)


# --- weights of columns -------------------------------------------------------------------------

_LIGHTEST, _HEAVIEST = Fraction(1, 10**6), Fraction(10**6)


def weigh_columns(query: Query, weights: Mapping[str, Real]) -> Query:
    """The question with weights on what its shown columns are computed from.

    Edge cases: a column that is computed from several aggregates weighs each of them; an aggregate
    of several columns has the largest of their weights. Weights that are all 1 change nothing. An
    aggregate that is not shown itself can be named too.
    """
    shown = _uses(query) if weights else {}
    uses = {**{one.name: [one.name] for one in query.aggregates}, **shown}
    found: dict[str, Fraction] = {}
    for name, weight in weights.items():
        if name not in uses:
            raise InputError(
                f"no column of numbers is called {name!r:.80}",
                why=f"they are {', '.join(shown)}",
                fix="weigh one of them",
            )
        for aggregate in uses[name]:
            found[aggregate] = max(found.get(aggregate, Fraction(0)), positive(weight, "weight"))
    weighed = weighted(query, found) if found else query  # the very same is planned once
    for one in weighed.aggregates:  # whoever wrote its weight
        if not _LIGHTEST <= one.weight <= _HEAVIEST:
            raise InputError(
                f"the weight of {one.name} is out of range",
                why=f"weights are from {float(_LIGHTEST):g} to {float(_HEAVIEST):g}",
                fix="pass a weight such as 4",
            )
    return weighed


def _uses(query: Query) -> dict[str, list[str]]:
    """The aggregates that each shown column is computed from, for those that have any."""
    names = [one.name for one in query.aggregates]
    uses = {out.name: mentions(out.expression) for out in outputs_of(query)}
    used = {name: [one for one in names if one in seen] for name, seen in uses.items()}
    return {name: found for name, found in used.items() if found}


# --- who still takes part -------------------------------------------------------------------------

_COLUMN: Final = "participants"


@dataclass(frozen=True, slots=True)
class Participation:
    """How many people took part in a count of them, beside how many did in the first one.

    `share` is told by two noisy counts; `low` and `high` allow for the noise of both, each 95 times
    in 100. It says nothing of who they are, nor of people who had run out before the first count.
    """

    now: Release
    first: Release

    @property
    def share(self) -> float:
        """The share of the first participants that is left."""
        return max(0.0, _count(self.now)[0] / max(1.0, _count(self.first)[0]))

    @property
    def low(self) -> float:
        """The least that noise allows for."""
        (now, off), (first, wide) = _count(self.now), _count(self.first)
        return max(0.0, (now - off) / max(1.0, first + wide))

    @property
    def high(self) -> float:
        """The most that noise allows for."""
        (now, off), (first, wide) = _count(self.now), _count(self.first)
        return max(0.0, (now + off) / max(1.0, first - wide))

    def __str__(self) -> str:
        return f"{self.share:.0%} of the first participants ({self.low:.0%} to {self.high:.0%})"


def _count(release: Release) -> tuple[float, float]:
    off = release.half_widths[_COLUMN][0].as_py()
    return float(release.table.column(_COLUMN)[0].as_py()), float("inf") if off is None else off


@dataclass(frozen=True, slots=True)
class ParticipationOrder(QueryOrder):
    """A count of people; `again` tells it from earlier ones, of which more may have taken part."""

    again: int
    kind = "participation"

    @classmethod
    def parse(cls, spec: Mapping[str, Any], schema: Schema) -> UnpricedOrder[QueryOrder]:
        """A count of everybody in a table who can pay for it."""
        allowed = spec_fields(PriceArguments, "table", "again")
        needed = ("table", "epsilon")
        facts = read_fields(spec, "participation", needed=needed, allowed=allowed)
        table = read_table(facts["table"], schema)
        terms = Terms(*read_asked(facts))
        again = whole(facts.get("again", 0), "again", at_least=0)
        question = From(Scan(table)).agg(**{_COLUMN: count_people()}).query()
        count = unpriced_query(question, terms, f"participants of {table.name}")
        return replace(count, plan=lambda at: cls(count.plan(at).plan, again))

    @classmethod
    def read(cls, order: Order, schema: Schema) -> "ParticipationOrder":
        """The plan that was stored."""
        again = whole(json.loads(order.plan)["again"], "again", at_least=0)
        return cls(QueryOrder.read(order, schema).plan, again)

    def __post_init__(self) -> None:
        QueryOrder.__post_init__(self)  # slots make another class of this one: no super()
        counted = {**json.loads(self.text), "again": self.again}
        fill(self, text=json.dumps(counted, sort_keys=True))
