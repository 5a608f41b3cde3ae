"""The lab's other chapters: real epsilons, a town's release, a dossier, and quantum data.

Like the rest of the lab: for everybody, about made-up people, and a closed list of what can be
asked for.
"""

import threading
from dataclasses import asdict
from functools import lru_cache
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, Field

from discreet.lab.bench import among
from discreet.lab.clinic import sample_dossier
from discreet.lab.deployments import DELTA, DEPLOYMENTS
from discreet.lab.quantum import SIZES, sweep
from discreet.lab.society import EPSILONS, SIDE, frontier, publish
from discreet.rationals import rational
from discreet.server.permissions import anyone
from discreet.server.routes.dossier import DossierReply

router = APIRouter(prefix="/lab", tags=["lab"], dependencies=[Depends(anyone)])

_making: Final = threading.Lock()
_swept: Final = lru_cache(maxsize=8)(sweep)
Percent = Annotated[float, Field(ge=0)]


class DeploymentReply(BaseModel):
    """A release that somebody made, and what it stated."""

    name: str
    by: str
    year: int
    protects: str
    source: str
    epsilon: float | None
    rho: float | None
    local: bool = Field(description="People randomize their own data.")
    shown: float = Field(description="Epsilon as stated, or from rho.")


class DeploymentsReply(BaseModel):
    """Real releases, in order of epsilon."""

    deployments: list[DeploymentReply]
    delta: float = Field(description="At which rho was converted.")


@router.get("/deployments")
def deployments() -> DeploymentsReply:
    """List epsilons that real releases have stated, with sources."""
    found = [DeploymentReply(**asdict(one), shown=one.shown) for one in DEPLOYMENTS]
    return DeploymentsReply(deployments=found, delta=float(DELTA))


class LevelReply(BaseModel):
    """Places of one size, and how far off their counts are, 95 times in 100."""

    name: str
    places: int
    people: float
    half_width: float
    percent: Percent


class FrontierPoint(BaseModel):
    """What one epsilon means for people, and for counts of blocks."""

    epsilon: float
    found: Percent = Field(description="Of 100 people who joined, those pointed at, at most.")
    off: Percent = Field(description="How far off a block is on average, in per cent.")


class TownReply(BaseModel):
    """A made-up town as it is, and as it is published."""

    epsilon: float
    stops: list[float]
    side: int
    levels: list[LevelReply]
    truth: list[int]
    published: list[int]
    misplaced: Percent
    found: Percent
    frontier: list[FrontierPoint]


@router.get("/society")
def society(
    epsilon: Annotated[
        float, Query(ge=float(EPSILONS[0]), le=float(EPSILONS[-1]), description="One of the stops.")
    ],
) -> TownReply:
    """Release a town under one epsilon; noise is new on every call."""
    exact = rational(epsilon, "epsilon")
    among("epsilon", exact, EPSILONS)
    with _making:
        made = publish(exact)
    return TownReply(
        epsilon=epsilon,
        stops=list(map(float, EPSILONS)),
        side=SIDE,
        levels=[LevelReply(**asdict(one), percent=one.percent) for one in made.levels],
        truth=list(made.truth),
        published=list(made.published),
        misplaced=made.misplaced,
        found=made.found,
        frontier=[
            FrontierPoint(epsilon=price, found=found, off=off) for price, found, off in frontier()
        ],
    )


@router.get("/dossier")
def dossier() -> DossierReply:
    """Show the dossier of a made-up clinic."""
    with _making:
        return DossierReply.model_validate(sample_dossier().to_dict())


class QuantumReply(BaseModel):
    """Loss and damage of a noisy count of qubits, for every epsilon, from state vectors."""

    qubits: int
    epsilons: list[float]
    loss: list[float] = Field(description="Of two product states that differ in a qubit.")
    damage: list[float] = Field(description="Trace distance, of the worst product state.")
    coins: list[float] = Field(description="The same of fair coins in superposition.")
    least: list[float] = Field(description="tanh(epsilon/4).")
    most: list[float] = Field(description="sqrt(1 - cosh(epsilon/4)^(-2n)).")
    before: list[float] = Field(description="How probable each number of ones is.")
    after: list[list[float]] = Field(description="The same once all ones was answered.")


@router.get("/quantum")
def quantum(qubits: Annotated[int, Query(ge=1, le=SIZES[-1])] = 4) -> QuantumReply:
    """Measure qubits with less and less noise."""
    among("number of qubits", qubits, SIZES)
    with _making:
        return QuantumReply(**asdict(_swept(qubits)))
