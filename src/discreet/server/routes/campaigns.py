"""Campaigns of the local model: reports come from anybody, estimates go to members.

Reports need no login and no trusted store: each is private before it leaves its device.
"""

from datetime import UTC, datetime
from typing import Annotated, Any

import anyio.to_thread
from fastapi import APIRouter, Depends, Path, Request
from pydantic import BaseModel, Field, StrictInt

from discreet.errors import InputError
from discreet.local.campaigns import Campaign, ReportLog
from discreet.local.protocol import LocalProtocol
from discreet.server.app_state import AppState, app_state_of
from discreet.server.error_replies import missing
from discreet.server.permissions import Member, Owner, anyone
from discreet.server.table_models import Name, StrictBody
from discreet.server.uploads import BYTES

router = APIRouter(tags=["local"])

CampaignName = Annotated[str, Path(min_length=1, max_length=64)]
Looked = Annotated[str, Field(max_length=400)] | StrictInt
"""A value to look up in a sketch or in RAPPOR."""


class CampaignBody(StrictBody):
    """A new campaign; `protocol` as `to_dict` of a protocol writes it, `ends` in UTC.

    `values` are those to look up, where reports name none: of sketches and of RAPPOR.
    """

    name: Name
    protocol: dict[str, Any]
    ends: Annotated[str, Field(min_length=10, max_length=40)]
    most_reports: Annotated[int, Field(ge=1, le=10**9)] = 1_000_000
    values: list[Looked] = Field([], max_length=1000)


class CampaignTableBody(StrictBody):
    """The name of a public table to keep the estimates in."""

    table: Name


class CampaignReply(BaseModel):
    """The parameters that a device needs to report."""

    name: str
    protocol: dict[str, Any]
    digest: str
    ends: str
    most_reports: int
    values: tuple[str | int, ...] = ()


class CampaignsReply(BaseModel):
    """All campaigns."""

    campaigns: list[CampaignReply]


class ReportsReply(BaseModel):
    """How many of the reports that were sent count, and how many do not, by reason."""

    accepted: int
    rejected: dict[str, int]


class EstimateRow(BaseModel):
    """One value; 95 of 100 intervals hold the truth."""

    value: str | int
    estimate: float | None
    standard_error: float | None
    lower: float | None
    upper: float | None
    p_value: float | None = None


class EstimateReply(BaseModel):
    """Estimates from the reports so far; only the most frequent values of a large domain."""

    n: int
    rejected: dict[str, int]
    values: int
    rows: list[EstimateRow]


_SHOWN = 200


@router.get("/campaigns", dependencies=[Depends(anyone)])
def campaigns(request: Request) -> CampaignsReply:
    """List all campaigns and their public parameters."""
    store = app_state_of(request).campaigns
    logs = [store.find(name) for name in store.names()]
    return CampaignsReply(campaigns=[_told(log) for log in logs if log is not None])


@router.post("/campaigns", status_code=201)
def begin(said: CampaignBody, call: Owner) -> CampaignReply:
    """Begin to collect reports; parameters never change afterwards."""
    try:
        ends = datetime.fromisoformat(said.ends)
        protocol = LocalProtocol.from_dict(said.protocol)
    except (ValueError, TypeError, KeyError, ZeroDivisionError, AttributeError) as wrong:
        if isinstance(wrong, InputError):
            raise
        raise InputError(
            "a campaign that cannot be read",
            why="its end is no date, or its protocol has other parameters",
            fix="send the protocol's to_dict(), and an end such as 2031-01-31T00:00:00+00:00",
        ) from None
    ends = ends if ends.tzinfo else ends.replace(tzinfo=UTC)
    made = Campaign(said.name, protocol, ends, said.most_reports, tuple(said.values))
    call.app_state.campaigns.begin(made)
    return CampaignReply(**made.to_dict())


@router.get("/campaigns/{campaign}", dependencies=[Depends(anyone)])
def describe(campaign: CampaignName, request: Request) -> CampaignReply:
    """Describe one campaign to a device."""
    return _told(_found(app_state_of(request), campaign))


@router.post("/reports/{campaign}", dependencies=[Depends(anyone)], openapi_extra=BYTES)
async def collect(campaign: CampaignName, request: Request) -> ReportsReply:
    """Take frames of reports from anybody; they are on disk before the reply."""
    app_state = app_state_of(request)
    log, frames = _found(app_state, campaign), await request.body()
    done = await anyio.to_thread.run_sync(
        app_state.campaigns.collect, log, frames, limiter=request.app.state.collecting
    )
    return ReportsReply(accepted=done.n, rejected=done.rejected)


@router.get("/campaigns/{campaign}/estimate")
def estimate(campaign: CampaignName, call: Member) -> EstimateReply:
    """Estimate from the reports so far, with intervals; free, for reports are private already."""
    done, table = _found(call.app_state, campaign).read()
    top = table.sort_by([("estimate", "descending")]).slice(0, _SHOWN)
    rows = [EstimateRow(**row) for row in top.to_pylist()]
    return EstimateReply(n=done.n, rejected=done.rejected, values=len(table), rows=rows)


@router.post("/campaigns/{campaign}/table", status_code=201)
def keep(campaign: CampaignName, said: CampaignTableBody, call: Owner) -> CampaignTableBody:
    """Keep the estimates as a public table, which can be asked and joined for free."""
    _, table = _found(call.app_state, campaign).read()
    with call.app_state.computing:
        call.curator.add_public(said.table, table, key=["value"])
    return said


def _found(app_state: AppState, name: str) -> ReportLog:
    log = app_state.campaigns.find(name)
    if log is None:
        raise missing("campaign of this name")
    return log


def _told(log: ReportLog) -> CampaignReply:
    return CampaignReply(**log.campaign.to_dict())
