"""The lab's other chapters: real epsilons, a town's release, a dossier, and quantum data.

Like the rest of the lab: for everybody, about made-up people, and a closed list of what can be
asked for.
"""

import threading
from functools import lru_cache
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query

from discreet.curator.reports.dossier import Dossier
from discreet.lab.bench import among
from discreet.lab.clinic import sample_dossier
from discreet.lab.deployments import DEPLOYMENTS, Deployment
from discreet.lab.quantum import SIZES, Sweep, sweep
from discreet.lab.society import EPSILONS, TownRelease, publish
from discreet.rationals import rational
from discreet.server.permissions import anyone

router = APIRouter(prefix="/lab", tags=["lab"], dependencies=[Depends(anyone)])

_making: Final = threading.Lock()
_swept: Final = lru_cache(maxsize=8)(sweep)
_Stop = Query(ge=float(EPSILONS[0]), le=float(EPSILONS[-1]), description="One of the stops.")


@router.get("/deployments")
def deployments() -> tuple[Deployment, ...]:
    """List epsilons that real releases have stated, with sources."""
    return DEPLOYMENTS


@router.get("/society")
def society(epsilon: Annotated[float, _Stop]) -> TownRelease:
    """Release a town under one epsilon; noise is new on every call."""
    exact = rational(epsilon, "epsilon")
    among("epsilon", exact, EPSILONS)
    with _making:
        return publish(exact)


@router.get("/dossier")
def dossier() -> Dossier:
    """Show the dossier of a made-up clinic."""
    with _making:
        return sample_dossier()


@router.get("/quantum")
def quantum(qubits: Annotated[int, Query(ge=1, le=SIZES[-1])] = 4) -> Sweep:
    """Measure qubits with less and less noise."""
    among("number of qubits", qubits, SIZES)
    with _making:
        return _swept(qubits)
