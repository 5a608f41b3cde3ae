"""The state that handlers share."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from fastapi import Request

from discreet.curator.curator import Curator
from discreet.engines.timing import ReleaseSchedule
from discreet.local.campaigns import CampaignStore
from discreet.server.access import AccessStore
from discreet.server.rate_limits import CallerLimits
from discreet.server.sending import LARGE
from discreet.server.settings import Settings
from discreet.server.slots import Slots
from discreet.server.ticks import SPARE

if TYPE_CHECKING:
    from discreet.server.logs import Metrics
    from discreet.server.uploads import Uploads
from discreet.server.timetable import Timetable


@dataclass(frozen=True, slots=True)
class AppState:
    """A curator and what stands around it.

    `folder` is the curator's, None in memory. Compute inside `computing`: it bounds what runs at a
    time and is waited for when the server stops. Read and price questions inside
    `planning.taken(...)`, and read and write large answers inside `reading(...)`, which are
    bounded apart. `log` takes one line.
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

    def reading(self, size: int, caller: str) -> AbstractContextManager[None]:
        """Read and write an answer of so many bytes inside: large ones few at a time, in turn."""
        if size <= LARGE:
            return nullcontext()
        return self.writing.taken(patience=self.settings.patience, caller=caller)

    @property
    def computing(self) -> AbstractContextManager[None]:
        """A slot, for what is computed for nobody in particular."""
        return self.work.taken(patience=self.settings.patience)


def app_state_of(request: Request) -> AppState:
    """The application state of a request."""
    return cast("AppState", request.app.state.app_state)
