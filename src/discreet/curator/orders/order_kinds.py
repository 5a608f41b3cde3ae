"""The kinds of orders that there are.

A new kind is a class of `PlannedOrder` and its name in `KINDS`. The ledger, recovery, the server's
jobs and the client know orders, and not what kinds there are.
"""

from typing import Final

from discreet.curator.ledger.orders import Order
from discreet.curator.orders.census.census_orders import CensusOrder
from discreet.curator.orders.fits.fit_orders import FitOrder
from discreet.curator.orders.fits.training_orders import TrainingOrder
from discreet.curator.orders.online_orders import OnlineOrder
from discreet.curator.orders.planned_orders import PlannedOrder
from discreet.curator.orders.profile_orders import ProfileOrder
from discreet.curator.orders.query_orders import ParticipationOrder, QueryOrder
from discreet.curator.orders.streams.stream_orders import StreamOrder
from discreet.curator.orders.synthesis_orders import SynthesisOrder
from discreet.curator.orders.workload_orders import WorkloadOrder
from discreet.errors import InputError, LedgerError

KINDS: Final[dict[str, type[PlannedOrder]]] = {
    one.kind: one
    for one in (
        *(QueryOrder, SynthesisOrder, OnlineOrder, FitOrder, StreamOrder),
        *(ParticipationOrder, CensusOrder, TrainingOrder, ProfileOrder, WorkloadOrder),
    )
}
"""Every kind of order that can be charged, by the name that the ledger stores."""


def kind_named(name: str) -> type[PlannedOrder]:
    """The kind that somebody asks for; InputError if there is none of that name."""
    if isinstance(name, str) and name in KINDS:
        return KINDS[name]
    raise InputError(
        "an order of a kind that is not known",
        why=f"known are: {', '.join(KINDS)}",
        fix="name one of these",
    )


def kind_of(order: Order) -> type[PlannedOrder]:
    """The kind of an order; LedgerError if this version does not know it."""
    if order.kind in KINDS:
        return KINDS[order.kind]
    raise LedgerError(
        f"an order of kind {order.kind!r}",
        why="this version of the package does not know such orders",
        fix="use the version that made the charge, or a later one",
    )
