"""The dossier of this curator, for owners and auditors to print."""

from fastapi import APIRouter, Request

from discreet.curator.reports.dossier import Dossier
from discreet.server.app_state import app_state_of
from discreet.server.permissions import Reader

router = APIRouter(tags=["ledger"])


@router.get("/dossier")
def dossier(request: Request, caller: Reader) -> Dossier:
    """Collect datasets, units, budgets and charges, by what laws ask; data are not read."""
    del caller
    app_state = app_state_of(request)
    with app_state.computing:
        return app_state.curator.dossier()
