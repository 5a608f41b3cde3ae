"""Questions as they come in and releases as they go out."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, Final, Literal

from fastapi import Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt

from discreet.answer.present.base_release import BaseRelease
from discreet.answer.present.release import Release
from discreet.curator.async_session import AsyncSession
from discreet.curator.client import wire
from discreet.curator.client.plan_json import read_plan
from discreet.curator.ledger.charge_index import ChargedOrder
from discreet.curator.ledger.orders import Receipt
from discreet.curator.planned_orders import P_co
from discreet.curator.pricing import Offer, Terms
from discreet.curator.release_schedule import ReleaseSchedule
from discreet.curator.reports import json_views
from discreet.errors import InputError
from discreet.plan.query import Query
from discreet.plan.schema import Schema
from discreet.server.app_state import AppState, app_state_of
from discreet.server.permissions import Caller
from discreet.server.sending import LARGE, send_file, write_json
from discreet.server.waits import SPARE

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


class QuestionBody(BaseModel):
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

    as_of: Annotated[int, Field(ge=1)] | None = Field(
        None, description="A version of the dataset; the newest where none is named."
    )

    intervals: StrictBool = Field(
        default=True, description="False: quantiles spend nothing on intervals of their own."
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

    @property
    def size(self) -> int:
        """The characters that are asked."""
        return len(self.sql or self.plan or "")

    def terms(self) -> Terms:
        """What it is asked for."""
        return wire.read_terms(self.model_dump(exclude_none=True))


class ReleasedColumn(BaseModel):
    """A released column."""

    name: str
    kind: Literal["boolean", "integer", "real", "text", "date", "timestamp"]
    key: bool


class PriceReply(BaseModel):
    """What was paid."""

    epsilon: float
    delta: float


class ReleaseReply(BaseModel):
    """A release: noisy numbers, and how far noise has moved each, 95 times in 100."""

    id: int = Field(description="The number of its charge in the ledger; 0 where it was free.")
    time: str
    analyst: str
    dataset: str
    sql: str | None
    charged: bool = Field(description="Whether it was bought now; false where it was found.")
    columns: list[ReleasedColumn]
    rows: list[list[Any]]
    half_widths: dict[str, list[float | None]]
    confidence: float
    how: dict[str, str]
    price: PriceReply
    budget_share: float | None = Field(description="The share of the cap that was charged for it.")
    protects: str | None
    neighbours: str
    notes: list[str]
    clamps: list[str]


class OrderReply(BaseModel):
    """A release that is no table: what it says is for its kind of order to describe."""

    id: int = Field(description="The number of its charge in the ledger.")
    time: str
    analyst: str
    dataset: str
    kind: str
    charged: bool = Field(description="Whether it was bought now; false where it was found.")
    release: dict[str, Any]
    price: PriceReply
    budget_share: float | None = Field(description="The share of the cap that was charged for it.")
    neighbours: str
    statement: str


class Pending(BaseModel):
    """The charge is made and its answer is being computed: come again."""

    id: int
    state: Literal["pending"] = "pending"


_BINARY: Final = {"schema": {"type": "string", "format": "binary"}}
TELLS: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "model": ReleaseReply | OrderReply,
        "content": {Release.media_type: _BINARY, BaseRelease.media_type: _BINARY},
        "description": "The answer.",
    },
    202: {
        "model": Pending,
        "description": "It is charged and not computed yet; ask for it under Location.",
        "headers": {"Location": {"schema": {"type": "string"}}},
    },
}
"""Replies of routes that answer questions."""


@dataclass(frozen=True, slots=True)
class Asking:
    """One request to the question service, by whichever protocol it came; it `arrived` at a time.

    Every protocol asks through it, so that all share slots, prices, schedule and ledger.
    """

    app_state: AppState
    caller: Caller
    arrived: float

    @property
    def session(self) -> AsyncSession:
        """The curator as the caller sees it: an analyst what they were told, owners everything."""
        sees = self.caller.name if self.caller.role == "analyst" else None
        return self.app_state.curator.window(sees, self.caller.datasets)

    @property
    def schedule(self) -> ReleaseSchedule:
        """Compute in turn, and let an answer be known just before a tick of whoever asked."""
        app_state, caller = self.app_state, self.caller
        return app_state.timetable.pace(
            caller.name,
            lambda seconds: app_state.work.taken(
                patience=_forever(app_state),
                caller=caller.name,
                seconds=seconds,
                held=app_state.timetable.steps(caller.name, seconds)[0],
            ),
            _settle(self.arrived, app_state.settings.quantum),
        )

    def planning(self, size: int) -> AbstractContextManager[None]:
        """Read and price inside: few at a time, one of each name, and short ones not after long."""
        return self.app_state.planning.taken(
            patience=self.app_state.settings.patience,
            caller=self.caller.name,
            seconds=size * _PLANNING,
        )

    def offered(self, offered: Callable[[], Offer[P_co]], size: int) -> Offer[P_co]:
        """Price an order; a caller who has many under way is refused before that."""
        with self.planning(size):
            self.app_state.work.check(self.caller.name, self.app_state.settings.at_once)
            return offered()

    def public(self, text: str | None) -> Release | None:
        """What is about public tables alone, for nothing; None where it is another question."""
        if text is None:
            return None
        with self.planning(len(text)):
            return self.session.public(text)

    def pursued(self, receipt: Receipt, *, waits: bool) -> BaseRelease | None:
        """What was charged, if it is there within the patience that is left."""
        limit = (1 - SPARE) * self.app_state.settings.patience
        left = max(0.0, limit - (time.monotonic() - self.arrived)) if waits else 0.0
        return self.session.pursue(receipt, patience=left, pace=self.schedule)


def asking_of(request: Request, caller: Caller) -> Asking:
    """The request as one to the question service."""
    arrived: float = getattr(request.state, "arrived", time.monotonic())
    return Asking(app_state_of(request), caller, arrived)


def async_session_of(request: Request, caller: Caller) -> AsyncSession:
    """The curator as a caller sees it."""
    return asking_of(request, caller).session


def planning(size: int, request: Request, caller: Caller) -> AbstractContextManager[None]:
    """Read and price inside."""
    return asking_of(request, caller).planning(size)


_PLANNING: Final = 1 / 4096
"""Seconds that planning may take for each character of an order."""


def _forever(app_state: AppState) -> float:
    """What is charged waits for its turn as long as anybody may wait for it."""
    return max(600.0, 20 * app_state.settings.patience)


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


def pending(sequence: int) -> JSONResponse:
    """Come again."""
    place = {"Location": f"/v1/queries/{sequence}", "Retry-After": "1"}
    return JSONResponse(Pending(id=sequence).model_dump(), 202, place)


def tell(
    release: BaseRelease,
    filed: ChargedOrder,
    caller: Caller,
    accept: str | None,
    *,
    charged: bool,
    share: float | None,
) -> Response:
    """A release in the form that was asked for: its bytes, or JSON; `share` is of the budget."""
    media = release.media_type
    if media in (accept or ""):
        headers = {"Discreet-Charge": str(filed.sequence)}
        headers |= {} if share is None else {wire.SHARE: f"{share:.6g}"}
        if filed.size > LARGE:
            return send_file(lambda file: file.write(release.to_bytes()), media, headers)
        return Response(release.to_bytes(), media_type=media, headers=headers)
    about = about_charge(filed, caller)
    facts = {name: about[name] for name in ("id", "time", "analyst", "dataset")}
    facts["charged"] = charged
    if not isinstance(release, Release):
        told = {"kind": filed.order.kind, "budget_share": share}
        return JSONResponse({**facts, **told, **_order_facts(release)})
    release = replace(release, share=share)
    facts["sql"] = about["sql"]
    if release.table.nbytes > LARGE:
        return send_file(partial(write_json, release, facts), "application/json")
    return JSONResponse({**facts, **release.json_facts()})


def tell_public(release: Release, text: str, caller: Caller, accept: str | None) -> Response:
    """An answer that nobody was charged for: its number is 0, and nothing of it is kept."""
    if release.media_type in (accept or ""):
        return Response(release.to_bytes(), media_type=release.media_type)
    facts: dict[str, Any] = {"id": 0, "time": datetime.now(UTC).isoformat(timespec="seconds")}
    facts |= {"analyst": caller.name, "dataset": "", "sql": text, "charged": False}
    if release.table.nbytes > LARGE:
        return send_file(partial(write_json, release, facts), "application/json")
    return JSONResponse({**facts, **release.json_facts()})


def _order_facts(release: BaseRelease) -> dict[str, Any]:
    price = release.price
    return {
        "release": release.json_facts(),
        "price": {"epsilon": float(price.epsilon), "delta": float(price.delta)},
        "neighbours": release.guarantee.neighbours.value,
        "statement": release.statement(),
    }


def about_charge(filed: ChargedOrder, caller: Caller) -> dict[str, Any]:
    """A charge as a caller may know it: an analyst sees nobody else's name."""
    facts = json_views.filed_facts(filed)
    return facts if caller.role == "owner" else {**facts, "analyst": caller.name}
