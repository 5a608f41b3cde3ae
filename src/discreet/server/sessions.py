"""Sessions of the page: a cookie in place of a token, bound to it and shorter lived.

The cookie has 256 random bits and is stored as its SHA-256. The value that the page sends back
against forged requests is an HMAC under the cookie, so only a reader of the page can know it.
"""

import hashlib
import hmac
import secrets
from typing import Final

from discreet.server import tokens
from discreet.server.access import AccessStore
from discreet.server.settings import Settings
from discreet.server.tokens import Token

_STEP: Final = 30.0
"""Seconds after which a session's use is written down again."""

_MOST: Final = 50
"""Sessions that one token may have at a time; the oldest make room."""


def begin(store: AccessStore, token: Token, settings: Settings) -> str:
    """A new session, whatever cookie the browser came with; what is returned is its cookie."""
    cookie, now = secrets.token_urlsafe(32), store.now()
    with store.write() as connection:
        connection.execute(
            "DELETE FROM sessions WHERE seen < ? OR made < ?",
            (now - settings.session_idle, now - settings.session_life),
        )
        connection.execute(
            "DELETE FROM sessions WHERE token = ? AND digest NOT IN"
            " (SELECT digest FROM sessions WHERE token = ? ORDER BY made DESC LIMIT ?)",
            (token.id, token.id, _MOST - 1),
        )
        values = (tokens.digest(cookie), token.id, now, now)
        connection.execute("INSERT INTO sessions VALUES (?, ?, ?, ?)", values)
    return cookie


def find(store: AccessStore, cookie: str, settings: Settings) -> Token | None:
    """The token behind a cookie, None where the session or the token is over."""
    key, now = tokens.digest(cookie), store.now()
    rows = store.read("SELECT token, made, seen FROM sessions WHERE digest = ?", (key,))
    if not rows:
        return None
    identity, made, seen = rows[0]
    if now >= made + settings.session_life or now >= seen + settings.session_idle:
        return None
    token = tokens.by_id(store, identity)
    if token is None or not token.works(now):
        return None
    if now >= seen + min(_STEP, settings.session_idle / 4):
        with store.write() as connection:
            connection.execute("UPDATE sessions SET seen = ? WHERE digest = ?", (now, key))
    return token


def end(store: AccessStore, cookie: str) -> None:
    """Forget a session."""
    with store.write() as connection:
        connection.execute("DELETE FROM sessions WHERE digest = ?", (tokens.digest(cookie),))


def csrf(cookie: str) -> str:
    """The CSRF token that the page sends with every change."""
    return hmac.new(cookie.encode(), b"csrf", hashlib.sha256).hexdigest()
