"""Terms of a question, and what is offered for an order: by public facts alone."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Generic

from discreet.answer.plan.accuracy import Accuracy
from discreet.answer.present.number_text import percent
from discreet.curator.arguments import expect
from discreet.curator.ledger.accounts import Account, budget_share, workbook_name
from discreet.curator.ledger.orders import Order
from discreet.curator.orders.planned_orders import (
    OrderExplanation,
    P_co,
    PlannedOrder,
    QuoteContext,
)
from discreet.errors import InputError
from discreet.plan.remembered import remember
from discreet.privacy.budgets.charges import EPSILON, Charge, Measure
from discreet.rationals import Real, whole


@dataclass(frozen=True, slots=True)
class Terms:
    """An epsilon, or an accuracy that decides it; and a delta.

    `weights` says how much the error of shown columns matters; 1 for those that it does not name.
    `as_of` is a version of the dataset, None for the newest. Without `intervals`, quantiles spend
    nothing on intervals of their own. `workbook` is one of the analyst's, which pays too.
    """

    epsilon: Real | None = None
    delta: Real | None = None
    accuracy: Accuracy | None = None
    weights: Mapping[str, Real] | None = None
    as_of: int | None = None
    intervals: bool = True
    workbook: str | None = None

    def __post_init__(self) -> None:
        expect(self.intervals, bool, "intervals", fix="pass intervals=False, or leave it out")
        if self.as_of is not None:
            whole(self.as_of, "as_of", at_least=1)
        if self.accuracy is not None:
            expect(self.accuracy, Accuracy, "an accuracy", fix="pass Accuracy(within=50)")
        if self.workbook is not None:
            workbook_name(self.workbook)
        if self.weights is not None:
            expect(self.weights, Mapping, "weights", fix="pass weights={'m': 4}")
        if (self.epsilon is None) is (self.accuracy is None):
            raise InputError(
                "a question with neither or both of epsilon and accuracy",
                why="one of them decides the price",
                fix="pass epsilon=0.1, or accuracy=Accuracy(within=50)",
            )

    def on_version(self, version: int | None) -> "Terms":
        """The same about a version that the question names; InputError where both name one."""
        if version is None or version == self.as_of:
            return self
        if self.as_of is not None:
            raise InputError(
                f"a question about version {version} and as_of={self.as_of}",
                why="it is answered on one version",
                fix="name one of them",
            )
        return replace(self, as_of=version)


@dataclass(frozen=True, slots=True)
class Offer(Generic[P_co]):
    """An order with its plan, and who asks: everything about it that can be checked.

    `asked` is the text that people wrote.

    Guarantee:
        Made from the order, the schema and the accounts' measures. Whatever the compiler
        refuses was refused when this was made, so before any charge.
    """

    planned: P_co
    at: QuoteContext
    asked: str | None = None

    @property
    def explanation(self) -> OrderExplanation:
        """How good the release will be; who asks without looking need not wait for it."""
        told = self.planned.explain(self.at.dialect)
        took = "" if self.share is None else f"\ntakes {percent(self.share)} of the budget"
        return replace(told, text=told.text + took)

    @property
    def takes(self) -> str | None:
        """The largest share of any budget that it takes, and what is left of that; in words."""
        capped = [(one.share(cost), one) for one, cost in self.bill().items() if one.cap]
        if not capped:
            return None
        share, account = max(capped, key=lambda one: one[0])
        return f"{percent(share)} of the budget of {account}"

    @property
    def share(self) -> float | None:
        """The share of a budget that it takes, spent or not; None where no account has a cap."""
        return budget_share(self.at.touched, self.order().prices)

    def bill(self) -> dict[Account, Charge]:
        """The charge to each account."""
        return {account: self.planned.charge(account.measure) for account in self.at.touched}

    def order(self, request: str | None = None) -> Order:
        """The order that the ledger is asked to charge."""
        measures = tuple(dict.fromkeys(account.measure for account in self.at.touched))
        about = self.at.analyst, self.at.dataset, self.at.version
        order = _order(self.planned, about, measures, self.asked)
        if self.at.data_version > 1:
            order = replace(order, data_version=self.at.data_version)
        if self.at.workbook is not None:
            order = replace(order, workbook=self.at.workbook)
        return order if request is None else replace(order, request=request)


@remember(512)
def _order(
    planned: PlannedOrder,
    about: tuple[str, str, str],
    measures: tuple[Measure, ...],
    asked: str | None,
) -> Order:
    """The order of a plan; whoever asks again what was planned lately need not write it again."""
    prices = {measure: planned.charge(measure) for measure in measures}
    order = Order(
        *about,
        planned.text,
        tuple(prices.values()),
        [part.to_dict() for part in planned.guarantees],
        None,
        asked,
        planned.kind,
        planned.decisions(),
    )
    also = _otherwise_priced(planned, prices)
    return replace(order, also=(replace(order, prices=also).question,)) if also else order


def _otherwise_priced(
    planned: PlannedOrder, prices: Mapping[Measure, Charge]
) -> tuple[Charge, ...]:
    """The prices for somebody whose own cap counts epsilon, or does not; () where there are none.

    Why: the plan fixes what is measured; who else has to pay for being told does not.
    """
    others = tuple(one for measure, one in prices.items() if measure != EPSILON)
    if EPSILON in prices:
        return others  # none where the dataset itself counts epsilon: so does everybody
    try:  # Gaussian noise has no price in epsilon
        return (*others, planned.charge(EPSILON)) if planned.has_epsilon else ()
    except InputError:
        return ()
