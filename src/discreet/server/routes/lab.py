"""The lab: noise, a classroom and the published attacks, on made-up people, for everybody.

Nothing here touches a dataset. What can be asked for is a closed list; what takes time to make is
made one at a time and kept, so that visitors cannot keep the server from answering questions.
"""

import threading
from dataclasses import asdict
from functools import lru_cache
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from discreet.curator.reports.dossier import Dossier
from discreet.errors import ServiceError
from discreet.lab import PLAYS, Against
from discreet.lab.bench import EPSILONS, POPULATIONS, Bench
from discreet.lab.classroom import BEFORE, Coins, Lesson, Poll, ProtocolName
from discreet.lab.classroom import MOST as LARGEST
from discreet.lab.classroom import SIZES as POLL_SIZES
from discreet.lab.clinic import sample_dossier
from discreet.lab.curves import EPSILONS as STOPS
from discreet.lab.curves import NOISES, Curves, Noise, curves
from discreet.lab.quantum import SIZES, Sweep, sweep
from discreet.lab.setting import among
from discreet.lab.society import EPSILONS as TOWN_STOPS
from discreet.lab.society import TownRelease, publish
from discreet.lab.stories import CHAPTERS, DEPLOYMENTS, STORIES, Chapter, Deployment
from discreet.lab.useful import Learnt
from discreet.rationals import rational
from discreet.server.app_state import app_state_of
from discreet.server.error_replies import HttpError, missing
from discreet.server.permissions import anyone

router = APIRouter(prefix="/lab", tags=["lab"], dependencies=[Depends(anyone)])

_bench: Final = Bench()
_drawing: Final = threading.Lock()
_drawn: Final = lru_cache(maxsize=len(NOISES) * len(STOPS))(curves)

Share = Annotated[float, Field(ge=0, le=1)]


class LabBody(BaseModel):
    """A body: known fields only, numbers as numbers."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


# --- noise --------------------------------------------------------------------------------------


@router.get("/noise")
def noise(
    noise: Noise,
    epsilon: Annotated[
        float, Query(ge=float(STOPS[0]), le=float(STOPS[-1]), description="One of the stops.")
    ],
) -> Curves:
    """Draw the noise of a count, and what it leaves every attacker."""
    with _drawing:
        return _drawn(noise, rational(epsilon, "epsilon"))


# --- a poll of devices ---------------------------------------------------------------------------


class PollBody(LabBody):
    """Made-up people, and how their devices report."""

    protocol: ProtocolName = "randomized-response"
    epsilon: float = Field(1, ge=0.05, le=8)
    people: int = Field(10_000, ge=100, le=POLL_SIZES[-1])


@router.post("/poll")
def poll(asked: PollBody) -> Poll:
    """Let made-up people report by a local protocol; coins fall anew on every call."""
    with _drawing:
        epsilon = rational(asked.epsilon, "epsilon")
        return Poll.held(asked.protocol, epsilon=epsilon, people=asked.people)


# --- the classroom ------------------------------------------------------------------------------


class ClassroomBody(LabBody):
    """A made-up class, and the coins it tosses."""

    heads: float = Field(0.5, ge=0.05, le=0.95, description="How often coins call for the truth.")
    pupils: int = Field(100, ge=1, le=LARGEST)
    share: Share = Field(0.3, description="The share of pupils whose true answer is yes.")
    population: int = Field(0, ge=0, lt=2**32)


class ClassroomReply(BaseModel):
    """The class's answers, a digit a pupil (1 is yes), and what the coins reveal."""

    truth: Share = Field(description="How often a report is the true answer.")
    lie: Share
    epsilon: float
    half_width: float = Field(
        description="An estimate from n pupils is this far off over sqrt(n) in 95 of 100 classes."
    )
    before: int = Field(description="Of 100 pupils, how many are held for a yes beforehand.")
    after_no: int = Field(description="The same after a report of no, rounded down.")
    after_yes: int = Field(description="The same after a report of yes, rounded up.")
    answers: str = Field(pattern="^[01]+$", description="Made up.")
    reports: str = Field(pattern="^[01]+$", description="What left the desks.")


@router.post("/classroom")
def classroom(asked: ClassroomBody) -> ClassroomReply:
    """Ask a made-up class by coins; what the coins fall is new on every call."""
    coins = Coins(rational(asked.heads, "heads"))
    lesson = Lesson.held(coins, pupils=asked.pupils, share=asked.share, seed=asked.population)
    after_no, after_yes = coins.after
    return ClassroomReply(
        truth=float(coins.survey.truth),
        lie=float(coins.survey.lie),
        epsilon=coins.epsilon,
        half_width=coins.half_width,
        before=BEFORE,
        after_no=after_no,
        after_yes=after_yes,
        answers="".join("01"[bit] for bit in lesson.answers),
        reports="".join("01"[bit] for bit in lesson.reports),
    )


# --- attacks ------------------------------------------------------------------------------------


class Attack(BaseModel):
    """An attack, told, and what can be asked of it."""

    name: str
    title: str
    story: str
    success: str
    without: str = Field(description="What success is measured against.")
    control: bool = Field(description="Whether that was measured, on people not in the data.")
    paper: str = Field(description="Who found it.")
    raw: str = Field(description="What stands where nothing was done about it.")
    rounded: str = Field(description="The classical defence.")
    private: str = Field(description="The private system.")
    caution: str
    proved: bool = Field(description="Whether the bound is one for every attacker.")
    efforts: tuple[int, ...]
    unit: str
    available: bool = Field(description="Whether the packages that it needs are installed.")


class Attacks(BaseModel):
    """All attacks in chapters, and the promises and populations that they can be run for."""

    chapters: list[Chapter]
    attacks: list[Attack]
    epsilons: list[float]
    populations: int


class AttackBody(LabBody):
    """One run: whose answers, under which promise, how hard, and with which made-up people."""

    against: Against
    epsilon: float = Field(1.0, ge=float(min(EPSILONS)), le=float(max(EPSILONS)))
    effort: int | None = Field(None, ge=1, le=1_000_000, description="One of the attack's efforts.")
    population: int = Field(0, ge=0, lt=POPULATIONS)


class AttackReply(BaseModel):
    """An attacker's success, beside the baseline without answers and the bound."""

    name: str
    against: Against
    epsilon: float
    success: Share
    baseline: Share
    bound: Share = Field(description="What no attacker passes while the promise is kept.")
    n: int = Field(ge=1, description="How many guesses were scored.")
    standard_error: float
    lower: Share = Field(description="The long-run rate is above this, 97.5 times in 100.")
    upper: Share = Field(description="And below this, as often.")
    refutes: bool = Field(description="Chance alone does so less than once in 100,000 runs.")
    verdict: str
    sentence: str
    learnt: Learnt | None = Field(description="What an analyst gets for the same promise.")


@router.get("/attacks")
def attacks() -> Attacks:
    """List the attacks."""
    return Attacks(
        chapters=list(CHAPTERS.values()),
        attacks=[
            Attack(**asdict(STORIES[name]), name=name, available=one.available)
            for name, one in PLAYS.items()
        ],
        epsilons=list(map(float, EPSILONS)),
        populations=POPULATIONS,
    )


@router.post("/attacks/{name}")
def attack(
    request: Request, name: Annotated[str, Path(max_length=40)], asked: AttackBody
) -> AttackReply:
    """Run an attack against raw, rounded or private answers about made-up people."""
    if name not in PLAYS:
        raise missing("attack of that name")
    try:
        outcome, learnt = _bench.run(
            name, **asked.model_dump(), within=app_state_of(request).work.taken(patience=1.0)
        )
    except ServiceError as busy:
        raise HttpError(503, busy, {"Retry-After": "1"}) from busy
    lower, upper = outcome.interval
    worked_out = ("standard_error", "refutes", "verdict")
    return AttackReply(
        **asdict(outcome),
        **{one: getattr(outcome, one) for one in worked_out},
        **asked.model_dump(include={"against", "epsilon"}),
        name=name,
        lower=lower,
        upper=upper,
        sentence=STORIES[name].sentence(outcome),
        learnt=learnt,
    )


# --- real epsilons, a town's release, a dossier, quantum data ------------------------------------

_making: Final = threading.Lock()
_swept: Final = lru_cache(maxsize=8)(sweep)
_Stop = Query(ge=float(TOWN_STOPS[0]), le=float(TOWN_STOPS[-1]), description="One of the stops.")


@router.get("/deployments")
def deployments() -> tuple[Deployment, ...]:
    """List epsilons that real releases have stated, with sources."""
    return DEPLOYMENTS


@router.get("/society")
def society(epsilon: Annotated[float, _Stop]) -> TownRelease:
    """Release a town under one epsilon; noise is new on every call."""
    exact = rational(epsilon, "epsilon")
    among("epsilon", exact, TOWN_STOPS)
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
