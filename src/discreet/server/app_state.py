"""The state that handlers share."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from fastapi import Request

from discreet.curator.curator import Curator
from discreet.local.campaigns import CampaignStore
from discreet.server.access import AccessStore
from discreet.server.metrics import Metrics
from discreet.server.rate_limits import CallerLimits
from discreet.server.settings import Settings
from discreet.server.slots import Slots
from discreet.server.timetable import Timetable
from discreet.server.uploads import Uploads


@dataclass(frozen=True, slots=True)
class AppState:
    """A curator and what stands around it.

    `folder` is the curator's, None in memory. Compute inside `computing`: it bounds what runs at a
    time and is waited for when the server stops. Read and price questions inside
    `planning.taken(...)`, which is bounded apart. `log` takes one line.
    """

    curator: Curator
    folder: Path | None
    access: AccessStore
    settings: Settings
    metrics: Metrics
    work: Slots
    planning: Slots
    timetable: Timetable
    uploads: Uploads
    campaigns: CampaignStore
    limits: CallerLimits
    log: Callable[[str], None]

    @property
    def computing(self) -> AbstractContextManager[None]:
        """A slot, for what is computed for nobody in particular."""
        return self.work.taken(patience=self.settings.patience)


def app_state_of(request: Request) -> AppState:
    """The application state of a request."""
    return cast("AppState", request.app.state.app_state)
