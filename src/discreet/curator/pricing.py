"""From a question to an order, by the question and public facts alone."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.answer.accuracy import Accuracy, price_for
from discreet.answer.budget import Price
from discreet.answer.explain import Explanation, explain
from discreet.answer.limits import Law, Weighing
from discreet.answer.post import outputs_of
from discreet.answer.quote import Charged, quote
from discreet.answer.sets import single_sets
from discreet.answer.statements import statements
from discreet.curator.accounts import Account
from discreet.curator.arguments import expect
from discreet.curator.orders import Order
from discreet.curator.weights import weigh_columns
from discreet.engines.duckdb import DuckDBEngine
from discreet.errors import InputError
from discreet.plan import canonical
from discreet.plan.query import Query, parts_in
from discreet.plan.remembered import remember
from discreet.plan.statistics import needed
from discreet.privacy import Neighbours
from discreet.privacy.charges import EPSILON, Charge, Measure
from discreet.privacy.charges import price as price_in
from discreet.rationals import Real
from discreet.sql.compile import Compiled

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
class Counter:
    """Where a question is asked: who asks, about which version of what, and who pays."""

    analyst: str
    dataset: str
    version: str
    touched: tuple[Account, ...]
    neighbours: Neighbours


@dataclass(frozen=True, slots=True)
class Offer:
    """A question with its price and law of noise, and everything about it that can be checked.

    Guarantee:
        Made from the question, the schema and the accounts' measures. Whatever the compiler
        refuses was refused when this was made, so before any charge.
    """

    query: Query
    price: Price
    law: Law
    at: Counter
    parts: tuple[Charged, ...]

    @property
    def explanation(self) -> Explanation:
        """How good the answer will be; who asks without looking need not wait for it."""
        laws = (self.law,)
        return explain(self.query, DuckDBEngine.dialect, self.price, self.at.neighbours, laws)

    def cost(self, measure: Measure) -> Charge:
        """The price in one measure."""
        prices = [price_in(part, measure) for part in self.parts]
        return Charge(
            sum((price.amount for price in prices), Fraction(0)),
            sum((price.delta for price in prices), Fraction(0)),
            measure=measure,
            neighbours=self.at.neighbours,
        )

    def bill(self) -> dict[Account, Charge]:
        """What each account pays."""
        return {account: self.cost(account.measure) for account in self.at.touched}

    def order(self, request: str | None = None, asked: str | None = None) -> Order:
        """What the ledger is asked to charge; `asked` is the text that people wrote."""
        measures = dict.fromkeys(account.measure for account in self.at.touched)
        prices = tuple(self.cost(measure) for measure in measures)
        parts = [part.to_dict() for part in self.parts]
        at = self.at
        return Order(at.analyst, at.dataset, at.version, self.plan, prices, parts, request, asked)

    @property
    def plan(self) -> str:
        """The text from which the answer can be computed, now or after a crash."""
        facts = {
            "query": canonical.write(self.query),
            "epsilon": str(self.price.epsilon),
            "delta": str(self.price.delta),
            "law": self.law.value,
            "neighbours": self.at.neighbours.value,
        }
        return json.dumps(facts, sort_keys=True)


def make_offer(question: Query, terms: Terms, at: Counter) -> Offer:
    """Price a question; one in SQL and one in Python that mean the same become the same."""
    asked = _with_outputs(question)
    query = weigh_columns(asked, terms.weights) if terms.weights else asked
    about, delta = at.neighbours, _delta(terms, at.touched)
    law = _law(at.touched, delta)
    if terms.accuracy is None:
        assert terms.epsilon is not None  # noqa: S101 - narrowing: see Terms
        price = _within_reason(Price(terms.epsilon, delta))
    else:
        laws, dialect = (law,), DuckDBEngine.dialect
        price = price_for(query, dialect, terms.accuracy, delta=delta, neighbours=about, laws=laws)
    return Offer(query, price, law, at, _quoted(query, price, law, about))


@remember(512, parts_in)
def _with_outputs(question: Query) -> Query:
    return replace(question, outputs=tuple(outputs_of(question)))


@remember(512, parts_in)
def _quoted(query: Query, price: Price, law: Law, about: Neighbours) -> tuple[Charged, ...]:
    """What a query is charged for; what cannot be compiled is refused now, whatever the limits."""
    dialect = DuckDBEngine.dialect
    parts = quote(query, price, law, dialect, about)
    for one in single_sets(query):
        statements(Compiled(one, needed(one), dialect), Weighing(law, 1, 1))
    return parts


@lru_cache(maxsize=64)
def tables_named(plan: str) -> frozenset[str]:
    """The names of all tables in the canonical text of a question, public ones too."""
    return frozenset(_names(json.loads(plan)))


def _names(node: Any) -> Iterable[str]:
    match node:
        case {"table": str(name), "digest": _}:
            yield name
        case dict():
            for part in node.values():
                yield from _names(part)
        case list():
            for part in node:
                yield from _names(part)


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


def _law(touched: Sequence[Account], delta: Fraction) -> Law:
    """Gaussian noise is cheaper in rho; epsilon can only pay for Laplace noise."""
    pure = any(account.measure == EPSILON for account in touched)
    return Law.LAPLACE if pure or not delta else Law.GAUSSIAN
