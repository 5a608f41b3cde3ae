"""Named questions and dashboards of their answers: kept for whoever saved them, charged never.

They are kept beside the tokens, under the name that asks: a new token of the same name finds them.
What was saved with a token for some datasets is there for tokens that are for those at least.
"""

import json
from datetime import UTC, datetime
from typing import Annotated, Final

from fastapi import APIRouter, Path, Response
from pydantic import Field

from discreet.curator.ledger.orders import NEWEST
from discreet.errors import InputError
from discreet.server.access import AccessStore
from discreet.server.app_state import Caller
from discreet.server.error_replies import missing
from discreet.server.permissions import Asker
from discreet.server.table_models import StrictBody

router = APIRouter(tags=["saved questions"])

Title = Annotated[str, Field(min_length=1, max_length=120)]
Terms = Annotated[
    dict[Annotated[str, Field(max_length=20)], Annotated[str, Field(max_length=400)]],
    Field(default_factory=dict, max_length=8),
]


class SavedBody(StrictBody):
    """A question, what it is asked for (as the page writes it into links), and its name."""

    title: Title
    sql: Annotated[str, Field(min_length=1, max_length=20_000)]
    terms: Terms
    release: int | None = Field(None, gt=0, lt=NEWEST, description="Its answer, free to open.")
    dashboard: Title | None = Field(None, description="Answers of one dashboard open together.")
    place: int | None = Field(None, gt=0, le=1000, description="Where on its dashboard it is.")


class SavedReply(SavedBody):
    """A question that was saved."""

    id: int
    time: datetime


MOST: Final = 100
"""Questions that one name may keep."""


@router.get("/saved")
def listed(call: Asker) -> list[SavedReply]:
    """List the questions that the caller saved, oldest first."""
    return kept(call.app_state.access, call.caller)


@router.post("/saved")
def save(body: SavedBody, call: Asker) -> SavedReply:
    """Keep a question under a title; one of the same title is replaced."""
    if body.release:
        call.charged(body.release, "release")
    return keep(call.app_state.access, call.caller, body)


@router.delete("/saved/{saved}", status_code=204, response_class=Response)
def delete(saved: Annotated[int, Path(gt=0, lt=NEWEST)], call: Asker) -> Response:
    """Forget a saved question; its answer stays."""
    if not forget(call.app_state.access, call.caller, saved):
        raise missing("saved question of this number")
    return Response(status_code=204)


def kept(store: AccessStore, caller: Caller) -> list[SavedReply]:
    """The caller's saved questions, oldest first."""
    sql = "SELECT id, title, facts, time, scope FROM saved WHERE owner = ? ORDER BY id"
    return [
        SavedReply(id=number, title=title, time=_time(time), **json.loads(facts))
        for number, title, facts, time, scope in store.read(sql, (caller.name,))
        if caller.datasets is None or (scope and set(json.loads(scope)) <= caller.datasets)
    ]


def keep(store: AccessStore, caller: Caller, body: SavedBody) -> SavedReply:
    """Keep a question under its title; one that had it with the same scope is replaced."""
    scope = "" if caller.datasets is None else json.dumps(sorted(caller.datasets))
    facts = json.dumps(body.model_dump(exclude={"title"}))
    with store.write() as connection:
        [(number,)] = connection.execute(
            "INSERT INTO saved (owner, scope, title, facts, time) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (owner, scope, title) DO UPDATE SET facts = excluded.facts,"
            " time = excluded.time RETURNING id",
            (caller.name, scope, body.title, facts, now := store.now()),
        ).fetchall()
        count = "SELECT count(*) FROM saved WHERE owner = ?"
        [(found,)] = connection.execute(count, (caller.name,)).fetchall()
        if found > MOST:
            raise InputError(
                f"{MOST} questions are saved already",
                why="so many are kept for each name",
                fix="delete one that is no longer needed",
            )
    return SavedReply(id=number, time=_time(now), **body.model_dump())


def forget(store: AccessStore, caller: Caller, number: int) -> bool:
    """Forget a question, for ever; whether it was there."""
    if all(one.id != number for one in kept(store, caller)):
        return False
    with store.write() as connection:
        connection.execute("DELETE FROM saved WHERE id = ?", (number,))
    return True


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
