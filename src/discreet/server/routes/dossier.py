"""The dossier of this curator, for owners and auditors to print."""

from fastapi import APIRouter, Request
from pydantic import BaseModel

from discreet.server.app_state import app_state_of
from discreet.server.permissions import Reader

router = APIRouter(tags=["ledger"])


class SectionReply(BaseModel):
    """A part of a dossier: text, and a table where it has one."""

    title: str
    text: str
    head: list[str]
    rows: list[list[str]]


class DossierReply(BaseModel):
    """What can be shown to an authority, section by section."""

    title: str
    made: str
    sections: list[SectionReply]


@router.get("/dossier")
def dossier(request: Request, caller: Reader) -> DossierReply:
    """Collect datasets, units, budgets and charges, by what laws ask; data are not read."""
    del caller
    app_state = app_state_of(request)
    with app_state.work.taken(patience=app_state.settings.patience):
        made = app_state.curator.dossier()
    return DossierReply.model_validate(made.to_dict())
