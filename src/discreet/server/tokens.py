"""Tokens: names, roles, datasets and expiry.

A token is dpt_<id>_<secret>: the id finds its row, the secret has 256 random bits. What is stored
is the secret's SHA-256; there is nothing to guess in 256 bits, so a slow hash would protect
nothing more. Beside it are the keys of SCRAM, by which Postgres clients prove that they have the
token without sending it; of a token that was made before there were any, they are kept when it is
first used over HTTP.
"""

import hashlib
import hmac
import json
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from discreet.curator.client.wire import read_number
from discreet.curator.confusables import confusable
from discreet.curator.curator import Curator
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.verify import Problem, Report
from discreet.curator.orders.planned_orders import OWNER
from discreet.errors import InputError, LedgerError
from discreet.rationals import Real
from discreet.server.access import AccessStore, failure
from discreet.server.postgres.scram import ScramKeys, keys_of

Role: TypeAlias = Literal["owner", "analyst", "auditor"]

ROLES: Final[tuple[Role, ...]] = get_args(Role)
DAY: Final = 86_400
LONGEST: Final = 3650
"""Days that a token may last at most."""

_PREFIX: Final = "dpt"
_NOBODY: Final = hashlib.sha256(secrets.token_bytes(32)).digest()
"""What a token with an unknown id is compared with, so that it takes as long."""

_RECENT: Final = 4096
"""Tokens that need not be looked up again while nothing is written."""

_COLUMNS: Final = "id, name, role, datasets, made, expires, revoked"


@dataclass(frozen=True, slots=True)
class Token:
    """A token's public facts, without its secret.

    `datasets` None allows all of them. Times are seconds since 1970.
    """

    id: str
    name: str
    role: Role
    datasets: frozenset[str] | None
    made: float
    expires: float
    revoked: float | None = None

    @property
    def said(self) -> dict[str, Any]:
        """The ledger's entry about the token."""
        scope = None if self.datasets is None else sorted(self.datasets)
        facts = {"token": self.id, "name": self.name, "role": self.role, "datasets": scope}
        return {**facts, "made": self.made, "expires": self.expires}

    def works(self, now: float) -> bool:
        """Whether it lets anybody in."""
        return self.revoked is None and now < self.expires


@dataclass(frozen=True, slots=True)
class Issued:
    """A new token and its text, which is shown once and kept by nobody here."""

    token: Token
    text: str = field(repr=False)


def issue(
    store: AccessStore,
    name: str,
    role: str,
    *,
    datasets: Iterable[str] | None = None,
    days: float = 90,
    epsilon: Real | str | None = None,
) -> Issued:
    """Make a token. A name has one role, so that an analyst never becomes another by a token.

    `epsilon` is what questions of Postgres clients are asked for where they set none.

    Example:
        >>> store = AccessStore(None)
        >>> made = issue(store, "ann", "analyst", datasets=["visits"])
        >>> find(store, made.text).name, find(store, made.text + "x")
        ('ann', None)
    """
    scope = None if datasets is None else frozenset(datasets)
    _check(name, role, scope, days)
    if epsilon is not None and read_number(epsilon, "epsilon") <= 0:
        raise InputError(
            "an epsilon that is not above 0", why="it is the price of a question", fix="pass 0.1"
        )
    secret, now = secrets.token_urlsafe(32), store.now()
    made = Token(
        secrets.token_hex(8), name, cast("Role", role), scope, now, now + float(days) * DAY
    )
    kept = None if scope is None else json.dumps(sorted(scope), ensure_ascii=False)
    with store.write() as connection:
        known = connection.execute("SELECT DISTINCT name, role FROM tokens").fetchall()
        _check_known(name, role, dict(known))
        connection.execute(
            "INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?, NULL)",
            (made.id, digest(secret), name, role, kept, made.made, made.expires),
        )
        text = f"{_PREFIX}_{made.id}_{secret}"
        _keep_keys(connection, made, text, None if epsilon is None else str(epsilon))
    return Issued(made, text)


def make(store: AccessStore, ledger: Ledger, name: str, role: str, by: str, **about: Any) -> Issued:
    """Make a token, as `issue` does, and let the ledger say so."""
    made = issue(store, name, role, **about)
    ledger.record("token made", by=by, facts=made.token.said)
    return made


def recall(store: AccessStore, text: str) -> Token | None:
    """The token that `find` found for a text, if nothing was written since; None says nothing.

    It waits for nobody. The ledger's revocations and the clock are asked each time, as `find` does.
    """
    version = store.version()
    known = None if version is None else store.recent.get(digest(text))
    if known is None or known[0] != version:
        return None
    token: Token = known[1]
    now = store.revoked(token.id) is None and token.works(store.now())
    return token if now else None


def find(store: AccessStore, text: str) -> Token | None:
    """The token of a text, None for one that is unknown, expired or revoked."""
    version = store.version()  # before anything is read: what is written later changes it
    prefix, _, rest = text.partition("_")
    identity, _, secret = rest.partition("_")
    rows = store.read(f"SELECT {_COLUMNS}, digest FROM tokens WHERE id = ?", (identity,))  # noqa: S608 - a constant
    kept = rows[0][-1] if rows else _NOBODY
    same = hmac.compare_digest(digest(secret), kept)
    if not (same and rows and prefix == _PREFIX):
        return None
    token = _read(store, rows[0][:-1])
    if not token.works(store.now()):
        return None
    if not store.read("SELECT 1 FROM scram WHERE token = ?", (token.id,)):
        with suppress(LedgerError), store.write() as connection:  # a full disk keeps nobody out
            _keep_keys(connection, token, text, None)
    if version is not None:
        if len(store.recent) >= _RECENT:
            store.recent.clear()
        store.recent[digest(text)] = version, token
    return token


def scram_keys(store: AccessStore, name: str) -> list[tuple[str, ScramKeys]]:
    """The ids of a name's tokens that are not revoked or over, and what proves each."""
    sql = (
        "SELECT id, stored, server FROM tokens JOIN scram ON token = id"
        " WHERE name = ? AND revoked IS NULL AND expires > ?"
    )
    found = store.read(sql, (name, store.now()))
    return [(identity, ScramKeys(stored, server)) for identity, stored, server in found]


def default_epsilon(store: AccessStore, identity: str) -> str | None:
    """The epsilon of a token's questions over Postgres where nothing else is set."""
    rows = store.read("SELECT epsilon FROM scram WHERE token = ?", (identity,))
    return rows[0][0] if rows else None


def _keep_keys(
    connection: sqlite3.Connection, token: Token, text: str, epsilon: str | None
) -> None:
    keys = keys_of(token.name, text)
    values = token.id, keys.stored, keys.server, epsilon
    connection.execute("INSERT OR IGNORE INTO scram VALUES (?, ?, ?, ?)", values)


def by_id(store: AccessStore, identity: str) -> Token | None:
    """The token with this id."""
    rows = store.read(f"SELECT {_COLUMNS} FROM tokens WHERE id = ?", (identity,))  # noqa: S608 - a constant
    return _read(store, rows[0]) if rows else None


def all_tokens(store: AccessStore) -> list[Token]:
    """Every token that was ever made, oldest first."""
    rows = store.read(f"SELECT {_COLUMNS} FROM tokens ORDER BY made, id")  # noqa: S608 - a constant
    return [_read(store, row) for row in rows]


def revoke(store: AccessStore, identity: str) -> bool:
    """End a token and its sessions, at once and on disk; whether it was there and in force."""
    with store.write() as connection:
        sql = "UPDATE tokens SET revoked = ? WHERE id = ? AND revoked IS NULL"
        done = connection.execute(sql, (store.now(), identity)).rowcount
        connection.execute("DELETE FROM sessions WHERE token = ?", (identity,))
    return bool(done)


def end(store: AccessStore, ledger: Ledger, identity: str, *, by: str) -> Token | None:
    """Revoke a token in the file and in the ledger; None where neither learns anything new.

    Why: a crash between the two leaves it revoked in the file alone, and an old file would bring it
    back. Revoking it once more completes the ledger.
    """
    token, changed = by_id(store, identity), revoke(store, identity)
    told = any(one.facts["token"] == identity for one in ledger.noted("token revoked"))
    if token is not None and not told:
        ledger.record("token revoked", by=by, facts=token.said)
    return by_id(store, identity) if changed or not told else None


def has_owner(store: AccessStore) -> bool:
    """Whether an owner's token is in force."""
    now = store.now()
    return any(one.role == "owner" and one.works(now) for one in all_tokens(store))


def check_tokens(store: AccessStore, ledger: Ledger) -> None:
    """Refuse tokens that are not what the ledger says was made, or that it says were revoked."""
    made = {one.facts["token"]: one.facts for one in ledger.noted("token made")}
    ended = {one.facts["token"] for one in ledger.noted("token revoked")}
    for token in all_tokens(store):
        said, facts = token.said, made.get(token.id)
        if (token.id in ended) is not (token.revoked is not None):
            raise _unlike(token, "the ledger and the file disagree on whether it was revoked")
        if facts is None and token.id in ended:  # a crash while it was made; nobody has its text
            continue
        if facts is None or any(said.get(name) != value for name, value in facts.items()):
            raise _unlike(token, "the ledger does not say that it was made so")


def verify_all(curator: Curator, store: AccessStore | None) -> Report:
    """Verify a ledger and, if it is whole, what is stored beside it: tables, data and tokens."""
    report = curator.ledger.verify()
    try:
        if report.ok:
            curator.check_tables()
            if store is not None:
                check_tokens(store, curator.ledger)
    except LedgerError as wrong:
        return replace(report, problem=Problem(0, str(wrong)))
    return report


def _unlike(token: Token, why: str) -> LedgerError:
    return LedgerError(
        f"token {token.id} of {token.name} is not what the ledger has",
        why=why,
        fix="revoke it and make another one; the ledger tells who was let in",
    )


def _read(store: AccessStore, row: tuple[Any, ...]) -> Token:
    identity, name, role, datasets, made, expires, revoked = row
    revoked = store.revoked(identity) if revoked is None else revoked
    try:
        scope = None if datasets is None else frozenset(json.loads(datasets))
    except (ValueError, TypeError) as wrong:
        raise failure(wrong) from None
    return Token(identity, name, role, scope, made, expires, revoked)


def digest(secret: str) -> bytes:
    """What is kept of a secret: its hash."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _check(name: str, role: str, scope: frozenset[str] | None, days: float) -> None:
    if role not in ROLES:
        raise InputError(
            f"there is no role {role}", why=f"roles are {', '.join(ROLES)}", fix="name one of them"
        )
    if not (isinstance(name, str) and name.strip() == name and name and name.isprintable()):
        raise InputError(
            "a token without a name that can be printed",
            why="what its holder does is kept under that name",
            fix="name the person or the program that will use it",
        )
    if confusable(name, OWNER) and (name, role) != (OWNER, "owner"):
        raise InputError(
            f"an {role} called {name}",
            why="what the owner asks on the command line is kept under that name",
            fix="use another name",
        )
    if not 0 < days <= LONGEST:
        raise InputError(
            f"a token for {days} days",
            why=f"a token ends, within {LONGEST} days",
            fix="pass days between 0 and that; another one can be made later",
        )
    if scope is not None and (role != "analyst" or not scope):
        raise InputError(
            f"an {role} with {'some' if scope else 'no'} datasets",
            why="owners and auditors see all of them, and an analyst needs one to ask about",
            fix="leave datasets out, or name some for an analyst",
        )


def _check_known(name: str, role: str, roles: Mapping[str, str]) -> None:
    """Refuse a second role of a name, and a new name that reads like one that is known."""
    if roles.get(name, role) != role:
        raise InputError(
            f"{name} is an {roles[name]} already",
            why="what somebody asked is kept under their name, so a name has one role",
            fix="use another name",
        )
    alike = next((one for one in roles if confusable(one, name)), name)
    if name not in roles and alike != name:
        raise InputError(
            f"{name} reads like {alike}, who has a token",
            why="people cannot tell the two apart, and a budget would hold one of them",
            fix=f"use {alike}, or quite another name",
        )


FRESH: Final = 5.0
"""Seconds for which what was read last is taken to be all."""


class Revocations:
    """The revocations in a ledger, read when made and again, beside requests, while it is asked.

    Edge cases: while the ledger cannot be read, what is known stays known.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = threading.Lock()
        self._times: dict[str, float] = {}
        self._last = 0
        self._until = 0.0
        self._read()

    def __call__(self, token: str) -> float | None:
        """When a token was revoked, None where it was not."""
        if time.monotonic() > self._until and self._lock.acquire(blocking=False):
            self._until = time.monotonic() + FRESH
            threading.Thread(target=self._refresh, daemon=True).start()
        return self._times.get(token)

    def _refresh(self) -> None:
        try:
            with suppress(LedgerError):
                self._read()
        finally:
            self._lock.release()

    def _read(self) -> None:
        self._until = time.monotonic() + FRESH
        for entry in self._ledger.noted("token revoked", after=self._last):
            when = datetime.fromisoformat(entry.time).timestamp()
            self._times.setdefault(entry.facts["token"], when)
            self._last = entry.sequence
