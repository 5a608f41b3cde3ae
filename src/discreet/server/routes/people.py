"""Operations for one person with a budget of their own; names travel in bodies alone."""

from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from discreet.curator.client.wire import read_number
from discreet.curator.curator import Curator
from discreet.server.app_state import app_state_of
from discreet.server.permissions import Caller, Owner
from discreet.server.table_models import Name, StrictBody

router = APIRouter(tags=["owner"])


class PersonBody(StrictBody):
    """A person, as the column that names people has them, and the dataset they are in."""

    name: Annotated[str, Field(min_length=1, max_length=1000)]
    dataset: Name

    def find(self, request: Request, caller: Caller) -> tuple[Curator, Any]:
        """The curator in the hands of who calls, and the name in its kind."""
        curator = app_state_of(request).curator.as_owner(caller.name)
        return curator, curator.person_named(self.name, self.dataset)


class LimitBody(PersonBody):
    """The limit of one person from now on; 0 is to opt out."""

    epsilon: Annotated[str, Field(max_length=100)]


class PersonReply(BaseModel):
    """That it was done; whether there is such a person is not looked at."""

    done: bool = True


class StatementReply(BaseModel):
    """A statement for the person it is about, and for nobody else."""

    text: str
    facts: dict[str, Any]


@router.post("/people/statement")
def statement(said: PersonBody, request: Request, caller: Owner) -> StatementReply:
    """The statement of one person: what was computed with them, and what it can have told."""
    app_state = app_state_of(request)
    with app_state.work.taken(patience=app_state.settings.patience):
        curator, who = said.find(request, caller)
        told = curator.statement_for(who, dataset=said.dataset)
    return StatementReply(text=str(told), facts=told.to_dict())


@router.post("/people/limit")
def limit(said: LimitBody, request: Request, caller: Owner) -> PersonReply:
    """Let one person lose less than the others, from the next question on."""
    curator, who = said.find(request, caller)
    curator.limit_person(who, epsilon=read_number(said.epsilon, "epsilon"), dataset=said.dataset)
    return PersonReply()


@router.post("/people/remove")
def remove(said: PersonBody, request: Request, caller: Owner) -> PersonReply:
    """Close the account of one person for ever: their rows are in no later answer."""
    curator, who = said.find(request, caller)
    curator.remove_person(who, dataset=said.dataset)
    return PersonReply()
