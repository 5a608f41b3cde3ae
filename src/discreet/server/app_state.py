"""The state that handlers share, and one caller's request to it."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar, cast

from fastapi import Request

from discreet.answer.present.base_release import BaseRelease
from discreet.curator.async_session import AsyncSession
from discreet.curator.curator import Curator
from discreet.curator.ledger.orders import ChargedOrder, Receipt
from discreet.engines.timing import ReleaseSchedule
from discreet.local.campaigns import CampaignStore
from discreet.plan.keylists import at_most
from discreet.server.access import AccessStore
from discreet.server.error_replies import missing
from discreet.server.limits import CallerLimits, Slots
from discreet.server.settings import Settings
from discreet.server.ticks import SPARE, Timetable, until_tick
from discreet.server.tokens import Role, Token

if TYPE_CHECKING:
    from discreet.server.logs import Metrics
    from discreet.server.uploads import Uploads

T = TypeVar("T")

LARGE: Final = 1 << 20
"""Bytes of a stored answer that is not held in memory for each of its readers."""

_PLANNING: Final = 1 / 4096
"""Seconds that planning may take for each character of an order."""

_LISTED: Final = 1 << 23
"""Values of lists of keys that planning looks at: a few seconds of work."""


@dataclass(frozen=True, slots=True)
class AppState:
    """A curator and the services around it.

    `folder` is the curator's, None in memory. Compute inside `computing`: it bounds what runs at a
    time and is waited for when the server stops. Read and price questions inside `planning` of a
    call, and read and write large answers inside its `reading`, which are bounded apart. `log`
    takes one line.
    """

    curator: Curator
    folder: Path | None
    access: AccessStore
    settings: Settings
    metrics: "Metrics"
    work: Slots
    planning: Slots
    writing: Slots
    timetable: Timetable
    uploads: "Uploads"
    campaigns: CampaignStore
    limits: CallerLimits
    log: Callable[[str], None]

    def slot(self, caller: str, seconds: float, patience: float) -> AbstractContextManager[None]:
        """A slot, in turn, to compute what takes `seconds` by its public bound."""
        held = self.timetable.steps(caller, seconds)[0]
        return self.work.taken(patience=patience, caller=caller, seconds=seconds, held=held)

    def step_schedule(self, caller: str) -> ReleaseSchedule:
        """The schedule of later steps that a caller asks for, in turn with all questions."""

        def turn(seconds: float) -> AbstractContextManager[None]:
            self.work.check(caller, self.settings.at_once)
            return self.slot(caller, seconds, (1 - SPARE) * self.settings.patience)

        return self.timetable.schedule(caller, turn)

    @property
    def computing(self) -> AbstractContextManager[None]:
        """A slot, for what is computed for nobody in particular."""
        return self.work.taken(patience=self.settings.patience)


def app_state_of(request: Request) -> AppState:
    """The application state of a request."""
    return cast("AppState", request.app.state.app_state)


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated caller: `datasets` None means all of them; `cookie` is of the page."""

    name: str
    role: Role
    datasets: frozenset[str] | None
    token: str = ""
    expires: float = 0.0
    cookie: str = field(default="", repr=False)

    @staticmethod
    def of(token: Token, cookie: str = "") -> "Caller":
        """The caller with this token."""
        return Caller(token.name, token.role, token.datasets, token.id, token.expires, cookie)


@dataclass(frozen=True, slots=True)
class ServerCall:
    """One request of somebody who was let in; it `arrived` at a time, and may `accept` some media.

    Every protocol asks through it, so that all share slots, prices, schedule and ledger.
    """

    app_state: AppState
    caller: Caller
    arrived: float
    accept: str = ""

    @property
    def session(self) -> AsyncSession:
        """The curator as the caller sees it: analysts see their own answers, owners everything."""
        sees = self.caller.name if self.caller.role == "analyst" else None
        return self.app_state.curator.async_session(sees, self.caller.datasets)

    @property
    def curator(self) -> Curator:
        """The curator in the hands of the owner who calls, whom the ledger will name."""
        return self.app_state.curator.as_owner(self.caller.name)

    @property
    def schedule(self) -> ReleaseSchedule:
        """Compute in turn, and publish an answer just before a tick of its caller."""
        name, settings = self.caller.name, self.app_state.settings
        patience = max(600.0, 20 * settings.patience)  # it is charged already
        return self.app_state.timetable.schedule(
            name,
            lambda seconds: self.app_state.slot(name, seconds, patience),
            lambda: time.sleep(until_tick(time.monotonic() - self.arrived, settings.quantum)),
        )

    @contextmanager
    def planning(self, size: int = 0) -> Iterator[None]:
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

    def reading(self, size: int) -> AbstractContextManager[None]:
        """Read and write an answer of so many bytes inside: large ones few at a time, in turn."""
        if size <= LARGE:
            return nullcontext()
        patience = self.app_state.settings.patience
        return self.app_state.writing.taken(patience=patience, caller=self.caller.name)

    def charged(self, charge: int, what: str, kind: str | None = None) -> ChargedOrder:
        """A charge, of a kind if one is named, that the caller may know of; else 404."""
        found = self.session.find(charge)
        if found is None or kind not in {None, found.order.kind}:
            raise missing(f"{what} {charge}")
        return found
