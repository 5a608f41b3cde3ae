"""From a question to an order, by the question and public facts alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.answer.estimate.postprocessing import outputs_of
from discreet.answer.measurement_plan import MeasurementPlan
from discreet.answer.plan.accuracy import Accuracy, price_for
from discreet.answer.plan.explain import Explanation
from discreet.answer.plan.price import Price
from discreet.curator.arguments import expect
from discreet.curator.column_weights import weigh_columns
from discreet.curator.ledger.accounts import Account
from discreet.curator.ledger.orders import Order
from discreet.curator.order_kinds import PlannedOrder, QueryOrder
from discreet.engines.default import DefaultEngine
from discreet.errors import InputError
from discreet.plan.bounding import NoiseKind
from discreet.plan.query import Query, parts_in
from discreet.plan.remembered import remember
from discreet.privacy import Neighbours
from discreet.privacy.budgets.charges import EPSILON, Charge, Measure
from discreet.rationals import Real

SHARE = 50
"""A question takes this part of a dataset's delta unless it says otherwise."""

LEAST, MOST = Fraction(1, 10**9), Fraction(10**6)
"""The epsilons that a question can be asked for."""

LEAST_DELTA = Fraction(1, 10**100)


@dataclass(frozen=True, slots=True)
class Terms:
    """What a question is asked for: an epsilon, or an accuracy that decides it; and a delta.

    `weights` says how much the error of shown columns matters; 1 for those that it does not name.
    """

    epsilon: Real | None = None
    delta: Real | None = None
    accuracy: Accuracy | None = None
    weights: Mapping[str, Real] | None = None

    def __post_init__(self) -> None:
        if self.accuracy is not None:
            expect(self.accuracy, Accuracy, "an accuracy", fix="pass Accuracy(within=50)")
        if self.weights is not None:
            expect(self.weights, Mapping, "weights", fix="pass weights={'m': 4}")
        if (self.epsilon is None) is (self.accuracy is None):
            raise InputError(
                "a question with neither or both of epsilon and accuracy",
                why="one of them decides the price",
                fix="pass epsilon=0.1, or accuracy=Accuracy(within=50)",
            )


@dataclass(frozen=True, slots=True)
class QuoteContext:
    """Where a question is asked: who asks, about which version of what, and who pays."""

    analyst: str
    dataset: str
    version: str
    touched: tuple[Account, ...]
    neighbours: Neighbours


@dataclass(frozen=True, slots=True)
class Offer:
    """An order with its plan, and who asks: everything about it that can be checked.

    Guarantee:
        Made from the question, the schema and the accounts' measures. Whatever the compiler
        refuses was refused when this was made, so before any charge.
    """

    planned: PlannedOrder
    at: QuoteContext

    @property
    def explanation(self) -> Explanation:
        """How good the answer will be; who asks without looking need not wait for it."""
        return self.planned.explain(DefaultEngine.dialect)

    def bill(self) -> dict[Account, Charge]:
        """What each account pays."""
        return {account: self.planned.charge(account.measure) for account in self.at.touched}

    def order(self, request: str | None = None, asked: str | None = None) -> Order:
        """What the ledger is asked to charge; `asked` is the text that people wrote."""
        at, planned = self.at, self.planned
        measures = dict.fromkeys(account.measure for account in at.touched)
        return Order(
            at.analyst,
            at.dataset,
            at.version,
            planned.text,
            tuple(planned.charge(measure) for measure in measures),
            [part.to_dict() for part in planned.guarantees],
            request,
            asked,
            planned.kind,
            planned.decisions(),
        )


def plan_query(question: Query, terms: Terms, at: QuoteContext) -> QueryOrder:
    """Plan a question; one in SQL and one in Python that mean the same become the same."""
    asked = _with_outputs(question)
    query = weigh_columns(asked, terms.weights or {})
    about, delta = at.neighbours, _delta(terms, at.touched)
    noise_kinds, measure = _laws(at.touched, delta), at.touched[0].measure
    if terms.accuracy is None:
        assert terms.epsilon is not None  # noqa: S101 - narrowing: see Terms
        price = _within_reason(Price(terms.epsilon, delta))
    else:
        price = price_for(
            query,
            terms.accuracy,
            delta=delta,
            neighbours=about,
            noise_kinds=noise_kinds,
            measure=measure,
        )
    return _planned(query, price, about, noise_kinds, measure)


@remember(512, parts_in)
def _with_outputs(question: Query) -> Query:
    return replace(question, outputs=tuple(outputs_of(question)))


@remember(512, parts_in)
def _planned(
    query: Query,
    price: Price,
    about: Neighbours,
    noise_kinds: tuple[NoiseKind, ...],
    measure: Measure,
) -> QueryOrder:
    """The plan of a question; what cannot be compiled is refused now, whatever the limits."""
    plan = MeasurementPlan.of(query, price, about, noise_kinds, measure)
    plan.statements(DefaultEngine.dialect)
    return QueryOrder(plan)


def _within_reason(price: Price) -> Price:
    """Refuse numbers that no noise is made for, before anything is computed with them."""
    if LEAST <= price.epsilon <= MOST:
        return price
    raise InputError(
        "epsilon is out of reach",
        why=f"questions are asked for {float(LEAST):g} to {float(MOST):g}",
        fix="pass an epsilon that protects somebody and lets something be learnt",
    )


def _delta(terms: Terms, touched: Sequence[Account]) -> Fraction:
    if terms.delta is not None:
        delta = Price(1, terms.delta).delta
        if delta and delta < LEAST_DELTA:
            raise InputError(
                "delta is out of reach",
                why=f"it is 0 or at least {float(LEAST_DELTA):g}",
                fix="pass delta=0, or a chance that is merely very small",
            )
        return delta
    limits = [one.limit for one in touched if one.holder.kind == "dataset"]
    return min((cap.delta / SHARE for cap in limits if cap is not None), default=Fraction(0))


def _laws(touched: Sequence[Account], delta: Fraction) -> tuple[NoiseKind, ...]:
    """The kinds of noise that all accounts can pay for: epsilon buys Laplace noise alone."""
    pure = any(account.measure == EPSILON for account in touched)
    return (NoiseKind.LAPLACE,) if pure or not delta else tuple(NoiseKind)
