"""Named questions and dashboards of their answers: kept for whoever saved them, charged never."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from pydantic import Field

from discreet.curator.ledger.charge_index import NEWEST
from discreet.server import saved_questions
from discreet.server.app_state import app_state_of
from discreet.server.error_replies import missing
from discreet.server.permissions import Asker
from discreet.server.questions import async_session_of
from discreet.server.saved_questions import SavedQuestion
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


@router.get("/saved")
def listed(request: Request, caller: Asker) -> list[SavedReply]:
    """List the questions that the caller saved, oldest first."""
    return [_reply(one) for one in saved_questions.listed(app_state_of(request).access, caller)]


@router.post("/saved")
def save(body: SavedBody, request: Request, caller: Asker) -> SavedReply:
    """Keep a question under a title; one of the same title is replaced."""
    if body.release and async_session_of(request, caller).find(body.release) is None:
        raise missing(f"release {body.release}")
    facts = body.model_dump(exclude={"title"})
    return _reply(saved_questions.save(app_state_of(request).access, caller, body.title, facts))


@router.delete("/saved/{saved}", status_code=204, response_class=Response)
def delete(
    saved: Annotated[int, Path(gt=0, lt=NEWEST)], request: Request, caller: Asker
) -> Response:
    """Forget a saved question; its answer stays."""
    if not saved_questions.delete(app_state_of(request).access, caller, saved):
        raise missing("saved question of this number")
    return Response(status_code=204)


def _reply(one: SavedQuestion) -> SavedReply:
    time = datetime.fromtimestamp(one.time, UTC)
    return SavedReply(id=one.id, title=one.title, time=time, **one.facts)
