"""Tokens and sessions of the page."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Literal

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, Field

from discreet.server import sessions, tokens
from discreet.server.app_state import app_state_of
from discreet.server.error_replies import missing
from discreet.server.permissions import (
    COOKIE,
    SECURE_COOKIE,
    Member,
    Owner,
    anyone,
    caller_of,
    needs_tls,
    session_cookie,
    unknown,
)
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
        raise unknown()
    if before := session_cookie(request.headers):
        sessions.end(app_state.access, before)
    cookie = sessions.begin(app_state.access, token, app_state.settings)
    secure = needs_tls(request.headers)
    response.set_cookie(
        SECURE_COOKIE if secure else COOKIE,
        cookie,
        max_age=round(app_state.settings.session_life),
        path="/",
        secure=secure,
        httponly=True,
        samesite="strict",
    )
    return me(caller_of(token, cookie))


@router.delete("/session", status_code=204)
def log_out(request: Request, caller: Member) -> Response:
    """End the session of the cookie that came with this request."""
    sessions.end(app_state_of(request).access, caller.cookie)
    gone, secure = Response(status_code=204), needs_tls(request.headers)
    name = SECURE_COOKIE if secure else COOKIE
    gone.delete_cookie(name, path="/", secure=secure, httponly=True, samesite="strict")
    return gone


@router.get("/me")
def me(caller: Member) -> Me:
    """Tell callers who they are here."""
    return Me(
        name=caller.name,
        role=caller.role,
        datasets=None if caller.datasets is None else sorted(caller.datasets),
        expires=datetime.fromtimestamp(caller.expires, UTC),
        csrf=sessions.csrf(caller.cookie) if caller.session else None,
    )


@router.get("/tokens")
def list_tokens(request: Request, caller: Owner) -> Tokens:
    """List every token that was ever made; secrets are not kept."""
    del caller
    return Tokens(tokens=[_known(one) for one in tokens.all_tokens(app_state_of(request).access)])


@router.post("/tokens", status_code=201)
def make_token(wanted: TokenBody, request: Request, caller: Owner) -> Made:
    """Make a token; its secret is in this reply and nowhere else."""
    app_state = app_state_of(request)
    made = tokens.issue(
        app_state.access,
        wanted.name,
        wanted.role,
        datasets=wanted.datasets,
        days=wanted.days,
        epsilon=wanted.epsilon,
    )
    app_state.curator.ledger.record("token made", by=caller.name, facts=made.token.said)
    return Made(**_known(made.token).model_dump(), token=made.text)


@router.delete("/tokens/{token_id}", status_code=204)
def revoke_token(token_id: str, request: Request, caller: Owner) -> Response:
    """Revoke a token and end its sessions, at once and for ever."""
    app_state = app_state_of(request)
    if tokens.by_id(app_state.access, token_id) is None:
        raise missing("token with this id")
    tokens.end(app_state.access, app_state.curator.ledger, token_id, by=caller.name)
    return Response(status_code=204)


def _known(token: Token) -> Known:
    scope = None if token.datasets is None else sorted(token.datasets)
    works = token.works(datetime.now(UTC).timestamp())
    return Known(**asdict(token) | {"datasets": scope, "works": works})
