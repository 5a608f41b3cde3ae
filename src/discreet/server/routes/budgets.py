"""Caps, amounts spent and charges, in chances out of a hundred too; caps that owners set."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from discreet.curator.client import wire
from discreet.curator.ledger.accounts import Account, Holder
from discreet.curator.reports import json_views
from discreet.privacy.budgets.charges import UNITS
from discreet.server.app_state import ServerCall
from discreet.server.error_replies import missing
from discreet.server.permissions import Member, Owner
from discreet.server.routes.public import Name as PathName
from discreet.server.table_models import BudgetBody, MayHaveBudget, Name, StrictBody

router = APIRouter(tags=["budgets"])


class Odds(BaseModel):
    """Chances in 100 of what happens without somebody's data in `before` of 100 cases."""

    before: int
    after_spent: int
    after_cap: int | None


class AccountReply(BaseModel):
    """An account; `exact` is its row in the ledger, in whole units.

    Owners and auditors see the `members` of groups and links.
    """

    holder: Holder
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
    call: Member,
    odds: Annotated[bool, Query(description="Work out what they mean for one person.")] = True,  # noqa: FBT002 - a choice of the client's
) -> JSONResponse:
    """Show all budgets: an analyst sees those of datasets and their own."""
    write = json_views.account_facts if odds else wire.write_account
    with call.planning():
        return JSONResponse({"accounts": [write(one) for one in call.session.accounts()]})


@router.get("/budgets/{dataset:path}", response_model=HistoryReply)
def budget(dataset: str, call: Member) -> JSONResponse:
    """Show the budgets of one dataset, and what each question took from it."""
    if dataset not in call.session.tables.datasets():
        raise missing(f"dataset {dataset}")
    with call.planning():
        return JSONResponse(
            {"accounts": _inside(call, dataset), "history": _history(call, dataset)}
        )


def _inside(call: ServerCall, dataset: str) -> list[dict[str, Any]]:
    """The accounts of a dataset, of those within it and of links that it is in."""
    ledger, accounts = call.app_state.curator.ledger, call.session.accounts()
    members = {
        one.holder: sorted(member.name for member in ledger.members(one.holder))
        for one in accounts
        if call.caller.role != "analyst" and one.holder.kind in ("group", "link")
    }
    return [
        {**json_views.account_facts(one), "members": members.get(one.holder)}
        for one in accounts
        if one.holder.within == dataset
        or (one.holder.kind == "dataset" and one.holder.name == dataset)
        or (one.holder.kind == "link" and dataset in members.get(one.holder, ()))
    ]


def _history(call: ServerCall, dataset: str) -> list[dict[str, Any]]:
    """The newest charges, newest last; totals are worked out backwards from what is spent now."""
    account, filed = call.session.ledger.history(dataset, limit=1000)
    after, told = account.spent[0], []
    for one in filed:
        cost = one.debits[account.holder.key][0]
        theirs = call.caller.role != "analyst" or one.order.analyst == call.caller.name
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


class GroupBody(MayHaveBudget):
    """Analysts who share a cap or, without one, are counted together."""

    name: Name
    dataset: Name
    analysts: list[Name] = Field(min_length=1, max_length=1000)


class LinkBody(MayHaveBudget):
    """Datasets that hold the same people, capped or counted together."""

    name: Name
    datasets: list[Name] = Field(min_length=1, max_length=1000)


class RaiseLinkBody(BudgetBody):
    """A new cap of a link, for ever, with the reason for it."""

    reason: str = Field(min_length=1, max_length=2000)


class RaiseBody(RaiseLinkBody):
    """A new cap of a dataset, or of somebody within it, for ever, with the reason for it."""

    analyst: Name | None = None
    group: Name | None = None


class Opened(BaseModel):
    """The current state of an account."""

    model_config = ConfigDict(extra="allow")

    holder: dict[str, Any]
    measure: str


@owner_router.post("/grants", status_code=201)
def grant(said: GrantBody, call: Owner) -> Opened:
    """Give an analyst a cap of their own within a dataset."""
    return _opened(call.curator.grant(said.analyst, said.dataset, said.budget.read()))


@owner_router.post("/groups", status_code=201)
def group(said: GroupBody, call: Owner) -> Opened:
    """Hold several analysts to a cap together."""
    return _opened(call.curator.group(said.name, said.dataset, said.analysts, said.read_budget()))


@owner_router.post("/links", status_code=201)
def link(said: LinkBody, call: Owner) -> Opened:
    """Say that datasets hold the same people."""
    return _opened(call.curator.link(said.name, said.datasets, said.read_budget()))


@owner_router.post("/budgets/{dataset:path}/raise")
def raise_budget(dataset: PathName, said: RaiseBody, call: Owner) -> Opened:
    """Change a budget for ever; the ledger keeps who did it and why."""
    about = said.model_dump(include={"reason", "analyst", "group"})
    return _opened(call.curator.raise_budget(dataset, said.read(), **about))


@owner_router.post("/links/{name:path}/raise")
def raise_link(name: PathName, said: RaiseLinkBody, call: Owner) -> Opened:
    """Change for ever what one person may lose over linked datasets; the ledger keeps why."""
    return _opened(call.curator.raise_link(name, said.read(), reason=said.reason))


def _opened(account: Account) -> Opened:
    return Opened(**wire.write_account(account))
