"""Authentication and permissions: declared beside each handler, enforced before it.

A handler says who is allowed with `caller: Owner` (or Asker, Reader, Member), or that everybody is
with `dependencies=[Depends(anyone)]`. The middleware reads that before the body of
the request; a handler that says nothing is not served at all.
"""

import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final, TypeAlias

from fastapi import Depends, Request
from fastapi.dependencies.models import Dependant
from starlette.datastructures import Headers
from starlette.requests import cookie_parser

from discreet.errors import AccessError, InputError
from discreet.server import sessions, tokens
from discreet.server.access import AccessStore
from discreet.server.error_replies import HttpError
from discreet.server.settings import LOOPBACK, Settings
from discreet.server.tokens import ROLES, Role, Token

SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
COOKIE: Final = "discreet"
SECURE_COOKIE: Final = "__Host-discreet"
_LONGEST: Final = 300


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated caller.

    `datasets` None means all of them; `session` whether they came by a cookie of the page.
    """

    name: str
    role: Role
    datasets: frozenset[str] | None
    session: bool = False
    token: str = ""
    expires: float = 0.0
    cookie: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Allowed:
    """The roles that a handler serves; none for a handler that serves everybody."""

    roles: frozenset[Role]

    async def __call__(self, request: Request) -> Caller:
        """The caller; the middleware has authenticated them, and this checks again."""
        caller: Caller | None = getattr(request.state, "caller", None)
        if caller is None:
            raise unknown()
        self.check(caller)
        return caller

    def check(self, caller: Caller) -> None:
        """Refuse another role."""
        if caller.role not in self.roles:
            raise HttpError(
                403,
                AccessError(
                    f"this is not for the role {caller.role}",
                    why=f"it is for: {', '.join(sorted(self.roles))}",
                    fix="use a token of such a role",
                ),
            )


def allowed(*roles: Role) -> Allowed:
    """Serve these roles alone."""
    if not roles or not set(roles) <= set(ROLES):
        raise InputError(
            f"a handler for {roles}", why=f"roles are {', '.join(ROLES)}", fix="name some of them"
        )
    return Allowed(frozenset(roles))


Owner: TypeAlias = Annotated[Caller, Depends(allowed("owner"))]
Asker: TypeAlias = Annotated[Caller, Depends(allowed("owner", "analyst"))]
Reader: TypeAlias = Annotated[Caller, Depends(allowed("owner", "auditor"))]
Member: TypeAlias = Annotated[Caller, Depends(allowed(*ROLES))]


async def anyone() -> None:
    """Serve everybody, known or not."""


def guard_of(dependant: Dependant) -> Allowed | None:
    """The permission that a handler declares, None for everybody; InputError if it has none."""
    calls = [one.call for one in dependant.dependencies]
    guards = [one for one in calls if isinstance(one, Allowed)]
    found: list[Allowed | None] = [*guards, *(None for one in calls if one is anyone)]
    if len(found) != 1:
        raise InputError(
            f"{dependant.path} has {len(found)} guards",
            why="each handler says once who may call it",
            fix="depend on allowed(...) or on anyone",
        )
    return found[0]


# --- finding out who it is ----------------------------------------------------------------------


def identify(headers: Headers, method: str, store: AccessStore, settings: Settings) -> Caller:
    """The caller of a request; Refusal 401 without a token, 403 for a forged request."""
    sent = headers.getlist("authorization")
    if sent:
        token = _by_header(sent, store, tokens.find)
        if token is None:
            raise unknown()
        return caller_of(token)
    cookie = session_cookie(headers)
    found = None if cookie is None else sessions.find(store, cookie, settings)
    if found is None or cookie is None:
        raise unknown()
    if method not in SAFE:
        sent_back = headers.get("x-csrf-token", "").encode()
        if not hmac.compare_digest(sent_back, sessions.csrf(cookie).encode()):
            raise forged()
    return caller_of(found, cookie)


def recall(headers: Headers, store: AccessStore) -> Caller | None:
    """The caller of a request by a token that was found lately; None says nothing."""
    token = _by_header(headers.getlist("authorization"), store, tokens.recall)
    return None if token is None else caller_of(token)


def caller_of(token: Token, cookie: str = "") -> Caller:
    """The caller with this token."""
    return Caller(
        token.name, token.role, token.datasets, bool(cookie), token.id, token.expires, cookie
    )


def _by_header(
    sent: Sequence[str], store: AccessStore, find: Callable[[AccessStore, str], Token | None]
) -> Token | None:
    """The token of exactly one Authorization header."""
    scheme, _, text = sent[0].partition(" ") if len(sent) == 1 else ("", "", "")
    if scheme.lower() != "bearer" or len(text) > _LONGEST:
        return None
    return find(store, text.strip())


def session_cookie(headers: Headers) -> str | None:
    """The cookie of the page, under the one name that fits how the request came."""
    name = SECURE_COOKIE if needs_tls(headers) else COOKIE
    found = cookie_parser(headers.get("cookie", "")).get(name)
    return found if found and len(found) <= _LONGEST else None


def needs_tls(headers: Headers) -> bool:
    """Whether cookies are for encrypted connections only: everywhere but on this machine."""
    return host_name(headers.get("host", "")) not in LOOPBACK


def host_name(host: str) -> str:
    """A Host header without its port, in lower case.

    Example:
        >>> host_name("LocalHost:8000"), host_name("[::1]:80"), host_name("[::1]")
        ('localhost', '[::1]', '[::1]')
    """
    name, colon, port = host.rpartition(":")
    return (name if colon and not port.endswith("]") else host).lower()


def host_port(host: str) -> str:
    """The port of a Host header, "" where it has none.

    Example:
        >>> host_port("localhost:8000"), host_port("[::1]"), host_port("localhost")
        ('8000', '', '')
    """
    _, colon, port = host.rpartition(":")
    return port if colon and not port.endswith("]") else ""


def check_origin(headers: Headers) -> None:
    """Refuse a request that a page of somebody else makes a browser send."""
    host = headers.get("host", "").lower()
    own = {f"http://{host}", f"https://{host}"}  # which of them, the proxy in front knows alone
    same = all(one.lower() in own for one in headers.getlist("origin"))
    site = headers.get("sec-fetch-site", "same-origin")
    if not same or site not in {"same-origin", "none"}:
        raise forged()


def unknown() -> HttpError:
    """One text for all reasons: whether a token ever existed is nobody's business."""
    error = AccessError(
        "nobody was let in",
        why="there is no token, or it is unknown, expired or revoked",
        fix="send a token that works as 'Authorization: Bearer ...', or log in to the page",
    )
    return HttpError(401, error, {"WWW-Authenticate": "Bearer"})


def forged() -> HttpError:
    """A browser was made to send it."""
    error = AccessError(
        "this request did not come from the page",
        why="with a cookie alone, another site could have made the browser send it",
        fix="send the header X-CSRF-Token with the value that GET /v1/me tells",
    )
    return HttpError(403, error)
