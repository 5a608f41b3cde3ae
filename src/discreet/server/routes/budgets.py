"""Caps, amounts spent and charges, in chances out of a hundred too; caps that owners set."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from discreet.curator.async_session import AsyncSession
from discreet.curator.client import wire
from discreet.curator.ledger.accounts import Account
from discreet.curator.ledger.charge_index import ChargedOrder
from discreet.curator.reports import json_views
from discreet.privacy.budgets.charges import UNITS
from discreet.server.app_state import app_state_of
from discreet.server.error_replies import missing
from discreet.server.permissions import Caller, Member, Owner
from discreet.server.questions import asking_of, async_session_of
from discreet.server.routes.public import Name as PathName
from discreet.server.table_models import BudgetBody, Name, StrictBody

router = APIRouter(tags=["budgets"])


class HolderReply(BaseModel):
    """The owner of an account."""

    kind: Literal["dataset", "analyst", "group", "link", "workbook"]
    name: str
    within: str | None


class Odds(BaseModel):
    """Chances in 100 of what happens without somebody's data in `before` of 100 cases."""

    before: int
    after_spent: int
    after_cap: int | None


class AccountReply(BaseModel):
    """An account; `exact` is its row in the ledger, in whole units.

    Owners and auditors are told the `members` of groups and links.
    """

    holder: HolderReply
    measure: Literal["epsilon", "rho", "mu-squared"]
    neighbours: str
    cap: float | None
    spent: float
    left: float | None
    cap_epsilon: float | None = None
    cap_delta: float | None = None
    share_spent: float | None = Field(None, description="The share of the cap that is spent.")
    odds: Odds | None = None
    exact: list[str | int | None]
    members: list[str] | None = None


class SpentReply(BaseModel):
    """One charge of a dataset; analysts are told who asked what where it was they."""

    id: int
    time: str
    analyst: str | None
    kind: str
    sql: str | None
    cost: float
    spent_after: float


class Accounts(BaseModel):
    """All accounts that the caller may see."""

    accounts: list[AccountReply]


class HistoryReply(Accounts):
    """The accounts of one dataset, and its newest charges, oldest first."""

    history: list[SpentReply]


@router.get("/budgets", response_model=Accounts)
def budgets(
    request: Request,
    caller: Member,
    odds: Annotated[bool, Query(description="Work out what they mean for one person.")] = True,  # noqa: FBT002 - a choice of the client's
) -> JSONResponse:
    """Show all budgets: an analyst sees those of datasets and their own."""
    write = json_views.account_facts if odds else wire.write_account
    with asking_of(request, caller).planning(0):
        found = async_session_of(request, caller).accounts()
        return JSONResponse({"accounts": [write(one) for one in found]})


@router.get("/budgets/{dataset:path}", response_model=HistoryReply)
def budget(dataset: str, request: Request, caller: Member) -> JSONResponse:
    """Show the budgets of one dataset, and what each question took from it."""
    session = async_session_of(request, caller)
    if dataset not in session.curator.datasets():
        raise missing(f"dataset {dataset}")
    with asking_of(request, caller).planning(0):
        return JSONResponse(_spent(session, dataset, request, caller))


def _spent(session: AsyncSession, dataset: str, request: Request, caller: Caller) -> dict[str, Any]:
    """The accounts of a dataset and its newest charges."""
    account, filed = session.history(dataset)
    ledger = app_state_of(request).curator.ledger
    members = {
        one.holder: sorted(member.name for member in ledger.members(one.holder))
        for one in session.accounts()
        if caller.role != "analyst" and one.holder.kind in ("group", "link")
    }
    inside = [
        one
        for one in session.accounts()
        if one.holder.within == dataset
        or (one.holder.kind == "dataset" and one.holder.name == dataset)
        or (one.holder.kind == "link" and dataset in members.get(one.holder, ()))
    ]
    return {
        "accounts": [
            {**json_views.account_facts(one), "members": members.get(one.holder)} for one in inside
        ],
        "history": _history(account, filed, caller),
    }


def _history(
    account: Account, filed: tuple[ChargedOrder, ...], caller: Caller
) -> list[dict[str, Any]]:
    """Newest last; totals are worked out backwards from what is spent now."""
    after, told = account.spent[0], []
    for one in filed:
        cost = one.debits[account.holder.key][0]
        theirs = caller.role != "analyst" or one.order.analyst == caller.name
        told.append(
            {
                "id": one.sequence,
                "time": one.time,
                "analyst": one.order.analyst if theirs else None,
                "kind": one.order.kind,
                "sql": one.order.asked if theirs else None,
                "cost": cost / UNITS,
                "spent_after": after / UNITS,
            }
        )
        after -= cost
    return told[::-1]


owner_router = APIRouter(tags=["owner"])


class GrantBody(StrictBody):
    """A cap of an analyst's own within a dataset."""

    analyst: Name
    dataset: Name
    budget: BudgetBody


class GroupBody(StrictBody):
    """Analysts who are held to a cap together, or, without one, counted together."""

    name: Name
    dataset: Name
    analysts: list[Name] = Field(min_length=1, max_length=1000)
    budget: BudgetBody | None = None


class LinkBody(StrictBody):
    """Datasets that hold the same people, capped or counted together."""

    name: Name
    datasets: list[Name] = Field(min_length=1, max_length=1000)
    budget: BudgetBody | None = None


class RaiseLinkBody(BudgetBody):
    """A new cap of a link, for ever, with the reason for it."""

    reason: str = Field(min_length=1, max_length=2000)


class RaiseBody(RaiseLinkBody):
    """A new cap of a dataset, or of somebody within it, for ever, with the reason for it."""

    analyst: Name | None = None
    group: Name | None = None


class Opened(BaseModel):
    """An account as it stands."""

    model_config = ConfigDict(extra="allow")

    holder: dict[str, Any]
    measure: str


@owner_router.post("/grants", status_code=201)
def grant(said: GrantBody, request: Request, caller: Owner) -> Opened:
    """Give an analyst a cap of their own within a dataset."""
    curator = app_state_of(request).curator.as_owner(caller.name)
    account = curator.grant(said.analyst, said.dataset, said.budget.read())
    return Opened(**wire.write_account(account))


@owner_router.post("/groups", status_code=201)
def group(said: GroupBody, request: Request, caller: Owner) -> Opened:
    """Hold several analysts to a cap together."""
    curator = app_state_of(request).curator.as_owner(caller.name)
    budget = None if said.budget is None else said.budget.read()
    account = curator.group(said.name, said.dataset, said.analysts, budget)
    return Opened(**wire.write_account(account))


@owner_router.post("/links", status_code=201)
def link(said: LinkBody, request: Request, caller: Owner) -> Opened:
    """Say that datasets hold the same people."""
    curator = app_state_of(request).curator.as_owner(caller.name)
    budget = None if said.budget is None else said.budget.read()
    return Opened(**wire.write_account(curator.link(said.name, said.datasets, budget)))


@owner_router.post("/budgets/{dataset:path}/raise")
def raise_budget(dataset: PathName, said: RaiseBody, request: Request, caller: Owner) -> Opened:
    """Change a budget for ever; the ledger keeps who did it and why."""
    curator = app_state_of(request).curator.as_owner(caller.name)
    whose = {"analyst": said.analyst, "group": said.group}
    account = curator.raise_budget(dataset, said.read(), reason=said.reason, **whose)
    return Opened(**wire.write_account(account))


@owner_router.post("/links/{name:path}/raise")
def raise_link(name: PathName, said: RaiseLinkBody, request: Request, caller: Owner) -> Opened:
    """Change for ever what one person may lose over linked datasets; the ledger keeps why."""
    curator = app_state_of(request).curator.as_owner(caller.name)
    account = curator.raise_link(name, said.read(), reason=said.reason)
    return Opened(**wire.write_account(account))
