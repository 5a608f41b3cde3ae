"""The way of a question through the server: planned and computed in turn, told on a tick."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, TypeVar

from fastapi import Request
from fastapi.responses import JSONResponse, Response

from discreet.answer.present.base_release import BaseRelease
from discreet.answer.present.release import Release
from discreet.curator.async_session import AsyncSession
from discreet.curator.client import wire
from discreet.curator.ledger.charge_index import ChargedOrder
from discreet.curator.ledger.orders import Receipt
from discreet.engines.timing import ReleaseSchedule
from discreet.plan.keylists import at_most
from discreet.server.app_state import AppState, app_state_of
from discreet.server.error_replies import missing
from discreet.server.permissions import Caller
from discreet.server.question_models import Pending
from discreet.server.sending import LARGE, send_file, write_json
from discreet.server.ticks import SPARE

T = TypeVar("T")

AHEAD: Final = 0.2
"""The part of a quantum that is left to store an answer and send it before its tick."""


@dataclass(frozen=True, slots=True)
class Asking:
    """One request to the question service, by whichever protocol it came; it `arrived` at a time.

    Every protocol asks through it, so that all share slots, prices, schedule and ledger.
    """

    app_state: AppState
    caller: Caller
    arrived: float

    @property
    def session(self) -> AsyncSession:
        """The curator as the caller sees it: an analyst what they were told, owners everything."""
        sees = self.caller.name if self.caller.role == "analyst" else None
        return self.app_state.curator.async_session(sees, self.caller.datasets)

    @property
    def schedule(self) -> ReleaseSchedule:
        """Compute in turn, and let an answer be known just before a tick of whoever asked."""
        name, settings = self.caller.name, self.app_state.settings
        patience = max(600.0, 20 * settings.patience)  # it is charged already
        return self.app_state.timetable.schedule(
            name,
            lambda seconds: self.app_state.slot(name, seconds, patience),
            lambda: time.sleep(until_tick(time.monotonic() - self.arrived, settings.quantum)),
        )

    @contextmanager
    def planning(self, size: int) -> Iterator[None]:
        """Read, price and draw inside: few at a time, one of each name, short ones not after long.

        Whatever costs no budget and takes more than milliseconds belongs here: without a turn one
        name would have as many threads for it as requests.
        """
        slot = self.app_state.planning.taken(
            patience=self.app_state.settings.patience,
            caller=self.caller.name,
            seconds=size * _PLANNING,
        )
        with slot, at_most(_LISTED):
            yield

    def offered(self, offered: Callable[[], T], size: int) -> T:
        """Price an order; a caller who has many under way is refused before that."""
        with self.planning(size):
            self.app_state.work.check(self.caller.name, self.app_state.settings.at_once)
            return offered()

    def pursued(self, receipt: Receipt, *, waits: bool) -> BaseRelease | None:
        """The answer to a charge, if it comes within the remaining patience."""
        limit = (1 - SPARE) * self.app_state.settings.patience
        left = max(0.0, limit - (time.monotonic() - self.arrived)) if waits else 0.0
        return self.session.pursue(receipt, patience=left, schedule=self.schedule)


def asking_of(request: Request, caller: Caller) -> Asking:
    """The request as one to the question service."""
    arrived: float = getattr(request.state, "arrived", time.monotonic())
    return Asking(app_state_of(request), caller, arrived)


def async_session_of(request: Request, caller: Caller) -> AsyncSession:
    """The curator as a caller sees it."""
    return asking_of(request, caller).session


def charged_of_kind(charge: int, kind: str, request: Request, caller: Caller) -> AsyncSession:
    """The session of a caller who may know of a charge of this kind; else 404."""
    session = async_session_of(request, caller)
    found = session.find(charge)
    if found is None or found.order.kind != kind:
        raise missing(f"{kind} order {charge}")
    return session


_PLANNING: Final = 1 / 4096
"""Seconds that planning may take for each character of an order."""


_LISTED: Final = 1 << 23
"""Values of lists of keys that planning looks at: a few seconds of work."""


def until_tick(elapsed: float, quantum: float) -> float:
    """Seconds until shortly before the next tick, so that a reply still leaves on it.

    Example:
        >>> round(until_tick(0.0, 0.25), 3), round(until_tick(0.2, 0.25), 3), until_tick(0.21, 0.25)
        (0.2, 0.0, 0.24)
    """
    return round(-(elapsed - (1 - AHEAD) * quantum) % quantum, 9)


def pending(sequence: int) -> JSONResponse:
    """Come again."""
    place = {"Location": f"/v1/queries/{sequence}", "Retry-After": "1"}
    return JSONResponse(Pending(id=sequence).model_dump(), 202, place)


def tell(
    release: BaseRelease,
    filed: ChargedOrder,
    caller: Caller,
    accept: str | None,
    *,
    charged: bool,
    share: float | None,
    stored: bytes | None = None,
) -> Response:
    """A release in the form that was asked for: its bytes, or JSON; `share` is of the budget.

    `stored` are its bytes where they are at hand: making them again takes longer than to find it.
    """
    media = release.media_type
    if media in (accept or ""):
        headers = {"Discreet-Charge": str(filed.sequence)}
        headers |= {} if share is None else {wire.SHARE: f"{share:.6g}"}
        if filed.size > LARGE:
            return send_file(lambda file: file.write(release.to_bytes()), media, headers)
        return Response(stored or release.to_bytes(), media_type=media, headers=headers)
    order = filed.order
    who = order.analyst if caller.role == "owner" else caller.name  # they see nobody else's name
    facts: dict[str, Any] = {"id": filed.sequence, "time": filed.time, "analyst": who}
    facts |= {"dataset": order.dataset, "charged": charged}
    if not isinstance(release, Release):
        told = {"kind": order.kind, "budget_share": share}
        return JSONResponse({**facts, **told, **_order_facts(release)})
    return _tell_table(release, {**facts, "sql": order.asked}, share)


def _tell_table(release: Release, facts: dict[str, Any], share: float | None) -> Response:
    if release.table.nbytes > LARGE:
        told = replace(release, share=share)
        return send_file(partial(write_json, told, facts), "application/json")
    return JSONResponse({**facts, **release.json_facts(), "budget_share": share})


def tell_public(release: Release, text: str, caller: Caller, accept: str | None) -> Response:
    """An answer that nobody was charged for: its number is 0, and nothing of it is kept."""
    if release.media_type in (accept or ""):
        return Response(release.to_bytes(), media_type=release.media_type)
    facts: dict[str, Any] = {"id": 0, "time": datetime.now(UTC).isoformat(timespec="seconds")}
    facts |= {"analyst": caller.name, "dataset": "", "sql": text, "charged": False}
    return _tell_table(release, facts, None)


def _order_facts(release: BaseRelease) -> dict[str, Any]:
    price = release.price
    return {
        "release": release.json_facts(),
        "price": {"epsilon": float(price.epsilon), "delta": float(price.delta)},
        "neighbours": release.guarantee.neighbours.value,
        "statement": release.statement(),
    }
