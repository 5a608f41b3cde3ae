"""Tokens and sessions of the page."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Literal

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, Field

from discreet.server import permissions, sessions, tokens
from discreet.server.app_state import Caller, app_state_of
from discreet.server.error_replies import missing
from discreet.server.permissions import Member, Owner, anyone
from discreet.server.table_models import Name, Number, StrictBody
from discreet.server.tokens import LONGEST, Role, Token

router = APIRouter(tags=["access"])


class Login(StrictBody):
    """A token, to be exchanged for a cookie."""

    token: str = Field(min_length=1, max_length=300)


class Me(BaseModel):
    """The caller; `csrf` goes into X-CSRF-Token of every request that the page sends."""

    name: str
    role: Role
    datasets: list[str] | None
    expires: datetime
    csrf: str | None = None


class TokenBody(StrictBody):
    """A token to make."""

    name: Name
    role: Literal["owner", "analyst", "auditor"]
    datasets: list[Name] | None = Field(None, max_length=1000)
    days: float = Field(90, gt=0, le=LONGEST)
    epsilon: Number | None = Field(
        None, description="What Postgres clients ask for where they set nothing else."
    )


class Known(BaseModel):
    """Public facts of a token."""

    id: str
    name: str
    role: Role
    datasets: list[str] | None
    made: datetime
    expires: datetime
    revoked: datetime | None
    works: bool


class Made(Known):
    """A new token with its secret, which is shown this once."""

    token: str


class Tokens(BaseModel):
    """All tokens, oldest first."""

    tokens: list[Known]


@router.post("/session", dependencies=[Depends(anyone)])
def log_in(login: Login, request: Request, response: Response) -> Me:
    """Exchange a token for a cookie of the page."""
    app_state = app_state_of(request)
    token = tokens.find(app_state.access, login.token)
    if token is None:
        raise permissions.unknown()
    if before := permissions.session_cookie(request.headers):
        sessions.end(app_state.access, before)
    cookie = sessions.begin(app_state.access, token, app_state.settings)
    life, how = round(app_state.settings.session_life), permissions.cookie_terms(request.headers)
    response.set_cookie(value=cookie, max_age=life, **how)
    return _me(Caller.of(token, cookie))


@router.delete("/session", status_code=204)
def log_out(request: Request, call: Member) -> Response:
    """End the session of the cookie that came with this request."""
    sessions.end(call.app_state.access, call.caller.cookie)
    gone = Response(status_code=204)
    gone.delete_cookie(**permissions.cookie_terms(request.headers))
    return gone


@router.get("/me")
def me(call: Member) -> Me:
    """Tell callers who they are here."""
    return _me(call.caller)


def _me(caller: Caller) -> Me:
    return Me(
        name=caller.name,
        role=caller.role,
        datasets=None if caller.datasets is None else sorted(caller.datasets),
        expires=datetime.fromtimestamp(caller.expires, UTC),
        csrf=sessions.csrf(caller.cookie) if caller.cookie else None,
    )


@router.get("/tokens")
def list_tokens(call: Owner) -> Tokens:
    """List every token that was ever made; secrets are not kept."""
    return Tokens(tokens=[_known(one) for one in tokens.all_tokens(call.app_state.access)])


@router.post("/tokens", status_code=201)
def make_token(wanted: TokenBody, call: Owner) -> Made:
    """Make a token; its secret is in this reply and nowhere else."""
    store, ledger = call.app_state.access, call.curator.ledger
    made = tokens.make(store, ledger, by=call.caller.name, **wanted.model_dump())
    return Made(**_known(made.token).model_dump(), token=made.text)


@router.delete("/tokens/{token_id}", status_code=204)
def revoke_token(token_id: str, call: Owner) -> Response:
    """Revoke a token and end its sessions, at once and for ever."""
    store = call.app_state.access
    if tokens.by_id(store, token_id) is None:
        raise missing("token with this id")
    tokens.end(store, call.curator.ledger, token_id, by=call.caller.name)
    return Response(status_code=204)


def _known(token: Token) -> Known:
    scope = None if token.datasets is None else sorted(token.datasets)
    works = token.works(datetime.now(UTC).timestamp())
    return Known(**asdict(token) | {"datasets": scope, "works": works})
