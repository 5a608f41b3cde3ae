"""Questions as they come in and releases as they go out."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Annotated, Any, Final, Literal

from fastapi import Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt

from discreet.answer.release import Release
from discreet.curator import telling, wire
from discreet.curator.filing import Filed
from discreet.curator.pace import Pace
from discreet.curator.plans import read_plan
from discreet.curator.pricing import Terms
from discreet.curator.window import Window
from discreet.errors import InputError
from discreet.plan.query import Query
from discreet.plan.schema import Schema
from discreet.server.guard import Caller
from discreet.server.house import House, house_of
from discreet.server.sending import LARGE, send_file, write_json

Number = StrictInt | StrictFloat | Annotated[str, Field(max_length=400)]
"""A number, or a text such as "0.1" or "1/3" that means it exactly."""

AHEAD: Final = 0.2
"""The part of a quantum that is left to store an answer and send it before its tick."""


class AccuracyBody(BaseModel):
    """How far noise may move a number at most."""

    model_config = ConfigDict(extra="forbid")

    within: Number = Field(description='In the unit of the column, or a share of `of`: "2 %".')
    of: Number | dict[str, float] | None = Field(
        None, description="What a share is of: one size, or the smallest size of each column."
    )
    confidence: Number | None = Field(None, description="0.95 unless it is said.")
    columns: list[str] | None = Field(None, max_length=200)
    rows: StrictInt | None = Field(None, description="How many rows the smallest group has.")


class Question(BaseModel):
    """A question and what it is asked for: an epsilon, or an accuracy that decides it."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": "0.1"}]
        },
    )

    sql: str | None = Field(None, max_length=60_000)
    plan: str | None = Field(
        None,
        min_length=1,
        max_length=60_000,
        description="Instead of SQL: a question of the fluent interface, as the client writes it.",
    )
    epsilon: Number | None = None
    delta: Number | None = None
    accuracy: AccuracyBody | None = None
    weights: dict[Annotated[str, Field(max_length=400)], Number] | None = Field(
        None,
        max_length=200,
        description="How much the error of columns matters; 1 for those that are not named.",
    )

    def read(self, schema: Schema) -> str | Query:
        """The SQL, or the plan against what may be asked about."""
        if (self.sql is None) is (self.plan is None):
            raise InputError(
                "a question with neither or both of sql and plan",
                why="one of them is asked",
                fix='send {"sql": "SELECT ...", "epsilon": "0.1"}',
            )
        return self.sql if self.plan is None else read_plan(self.plan, schema)  # type: ignore[return-value]

    def terms(self) -> Terms:
        """What it is asked for."""
        return wire.read_terms(self.model_dump(exclude_none=True))


class Column(BaseModel):
    """A released column."""

    name: str
    kind: Literal["boolean", "integer", "real", "text", "date", "timestamp"]
    key: bool


class Price(BaseModel):
    """What was paid."""

    epsilon: float
    delta: float


class Told(BaseModel):
    """A release: noisy numbers, and how far noise has moved each, 95 times in 100."""

    id: int = Field(description="The number of its charge in the ledger.")
    time: str
    analyst: str
    dataset: str
    sql: str | None
    charged: bool = Field(description="Whether it was bought now; false where it was found.")
    columns: list[Column]
    rows: list[list[Any]]
    half_widths: dict[str, list[float | None]]
    confidence: float
    how: dict[str, str]
    price: Price
    protects: str | None
    neighbours: str
    notes: list[str]
    clamps: list[str]


class Pending(BaseModel):
    """The charge is made and its answer is being computed: come again."""

    id: int
    state: Literal["pending"] = "pending"


_BINARY: Final = {"schema": {"type": "string", "format": "binary"}}
TELLS: Final[dict[int | str, dict[str, Any]]] = {
    200: {"model": Told, "content": {wire.ARROW: _BINARY}, "description": "The answer."},
    202: {
        "model": Pending,
        "description": "It is charged and not computed yet; ask for it under Location.",
        "headers": {"Location": {"schema": {"type": "string"}}},
    },
}
"""Replies of routes that answer questions."""


def window_of(request: Request, caller: Caller) -> Window:
    """The curator as a caller sees it: an analyst what they were told, owners everything."""
    sees = caller.name if caller.role == "analyst" else None
    return house_of(request).curator.window(sees, caller.datasets)


def pace_of(request: Request, caller: Caller) -> Pace:
    """Compute in turn, and let an answer be known just before a tick of whoever asked."""
    house = house_of(request)
    arrived: float = getattr(request.state, "arrived", time.monotonic())
    return house.timetable.pace(
        caller.name,
        lambda seconds: house.work.taken(
            patience=_forever(house),
            caller=caller.name,
            seconds=seconds,
            held=house.timetable.steps(caller.name, seconds)[0],
        ),
        _settle(arrived, house.settings.quantum),
    )


def planning(question: Question, request: Request, caller: Caller) -> AbstractContextManager[None]:
    """Read and price inside: few at a time, one of each name, and short ones not after long."""
    house = house_of(request)
    return house.planning.taken(
        patience=house.settings.patience,
        caller=caller.name,
        seconds=len(question.sql or question.plan or "") * _PLANNING,
    )


_PLANNING: Final = 1 / 4096
"""Seconds that planning may take for each character of a question."""


def _forever(house: House) -> float:
    """What is charged waits for its turn as long as anybody may wait for it."""
    return max(600.0, 20 * house.settings.patience)


def _settle(arrived: float, quantum: float) -> Callable[[], None]:
    def settle() -> None:
        time.sleep(until_tick(time.monotonic() - arrived, quantum))

    return settle


def until_tick(elapsed: float, quantum: float) -> float:
    """Seconds until shortly before the next tick, so that a reply still leaves on it.

    Example:
        >>> round(until_tick(0.0, 0.25), 3), round(until_tick(0.2, 0.25), 3), until_tick(0.21, 0.25)
        (0.2, 0.0, 0.24)
    """
    return round(-(elapsed - (1 - AHEAD) * quantum) % quantum, 9)


def wants_arrow(accept: str | None) -> bool:
    """Whether a client asks for an Arrow stream."""
    return wire.ARROW in (accept or "")


def pending(sequence: int) -> JSONResponse:
    """Come again."""
    place = {"Location": f"/v1/queries/{sequence}", "Retry-After": "1"}
    return JSONResponse(Pending(id=sequence).model_dump(), 202, place)


def tell(
    release: Release, filed: Filed, caller: Caller, accept: str | None, *, charged: bool
) -> Response:
    """A release in the form that was asked for."""
    large = release.table.nbytes > LARGE
    if wants_arrow(accept):
        headers = {"Discreet-Charge": str(filed.sequence)}
        if large:
            return send_file(lambda file: file.write(release.to_bytes()), wire.ARROW, headers)
        return Response(release.to_bytes(), media_type=wire.ARROW, headers=headers)
    about = about_charge(filed, caller)
    facts = {name: about[name] for name in ("id", "time", "analyst", "dataset", "sql")}
    facts["charged"] = charged
    if large:
        return send_file(partial(write_json, release, facts), "application/json")
    return JSONResponse({**facts, **telling.release_facts(release)})


def about_charge(filed: Filed, caller: Caller) -> dict[str, Any]:
    """A charge as a caller may know it: an analyst sees nobody else's name."""
    facts = telling.filed_facts(filed)
    return facts if caller.role == "owner" else {**facts, "analyst": caller.name}
