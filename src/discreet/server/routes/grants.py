"""Caps of analysts and groups, over datasets, and their raises."""

from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from discreet.curator.client import wire
from discreet.server.app_state import app_state_of
from discreet.server.permissions import Owner
from discreet.server.routes.public import Name as PathName
from discreet.server.table_models import BudgetBody, Name, StrictBody

router = APIRouter(tags=["owner"])


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


@router.post("/grants", status_code=201)
def grant(said: GrantBody, request: Request, caller: Owner) -> Opened:
    """Give an analyst a cap of their own within a dataset."""
    curator = app_state_of(request).curator.as_owner(caller.name)
    account = curator.grant(said.analyst, said.dataset, said.budget.read())
    return Opened(**wire.write_account(account))


@router.post("/groups", status_code=201)
def group(said: GroupBody, request: Request, caller: Owner) -> Opened:
    """Hold several analysts to a cap together."""
    curator = app_state_of(request).curator.as_owner(caller.name)
    budget = None if said.budget is None else said.budget.read()
    account = curator.group(said.name, said.dataset, said.analysts, budget)
    return Opened(**wire.write_account(account))


@router.post("/links", status_code=201)
def link(said: LinkBody, request: Request, caller: Owner) -> Opened:
    """Say that datasets hold the same people."""
    curator = app_state_of(request).curator.as_owner(caller.name)
    budget = None if said.budget is None else said.budget.read()
    return Opened(**wire.write_account(curator.link(said.name, said.datasets, budget)))


@router.post("/budgets/{dataset:path}/raise")
def raise_budget(dataset: PathName, said: RaiseBody, request: Request, caller: Owner) -> Opened:
    """Change a budget for ever; the ledger keeps who did it and why."""
    curator = app_state_of(request).curator.as_owner(caller.name)
    whose = {"analyst": said.analyst, "group": said.group}
    account = curator.raise_budget(dataset, said.read(), reason=said.reason, **whose)
    return Opened(**wire.write_account(account))


@router.post("/links/{name:path}/raise")
def raise_link(name: PathName, said: RaiseLinkBody, request: Request, caller: Owner) -> Opened:
    """Change for ever what one person may lose over linked datasets; the ledger keeps why."""
    curator = app_state_of(request).curator.as_owner(caller.name)
    account = curator.raise_link(name, said.read(), reason=said.reason)
    return Opened(**wire.write_account(account))
