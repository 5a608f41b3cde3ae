"""The kinds of orders that there are.

A new kind is an `OrderKind` and a line in `KINDS`. The ledger, recovery, the server's jobs and the
client know orders, and not what kinds there are.
"""

from typing import Final

from discreet.curator.ledger.orders import Order
from discreet.curator.orders.census.census_orders import CensusKind
from discreet.curator.orders.fits.fit_orders import FitKind
from discreet.curator.orders.fits.training_orders import TrainingKind
from discreet.curator.orders.online_orders import OnlineKind
from discreet.curator.orders.participation_orders import ParticipationKind
from discreet.curator.orders.planned_orders import OrderKind
from discreet.curator.orders.profile_orders import ProfileKind
from discreet.curator.orders.query_orders import QueryKind
from discreet.curator.orders.streams.stream_orders import StreamKind
from discreet.curator.orders.synthesis_orders import SynthesisKind
from discreet.curator.orders.workload_orders import WorkloadKind
from discreet.errors import InputError, LedgerError

KINDS: Final[dict[str, OrderKind]] = {
    one.name: one
    for one in (
        *(QueryKind(), SynthesisKind(), OnlineKind(), FitKind(), StreamKind()),
        *(ParticipationKind(), CensusKind(), TrainingKind(), ProfileKind(), WorkloadKind()),
    )
}
"""Every kind of order that can be charged, by the name that the ledger stores."""


def kind_named(name: str) -> OrderKind:
    """The kind that somebody asks for; InputError if there is none of that name."""
    if isinstance(name, str) and name in KINDS:
        return KINDS[name]
    raise InputError(
        "an order of a kind that is not known",
        why=f"known are: {', '.join(KINDS)}",
        fix="name one of these",
    )


def kind_of(order: Order) -> OrderKind:
    """The kind of an order; LedgerError if this version does not know it."""
    if order.kind in KINDS:
        return KINDS[order.kind]
    raise LedgerError(
        f"an order of kind {order.kind!r}",
        why="this version of the package does not know such orders",
        fix="use the version that made the charge, or a later one",
    )
