"""Settings of one connection: SET, SHOW and RESET, and what a client says when it connects."""

import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from typing import Final

from discreet.curator.client.wire import read_number
from discreet.curator.orders.planned_orders import Terms
from discreet.errors import InputError
from discreet.server.postgres.messages import PostgresError

VERSION: Final = "16.0"
DEFAULTS: Final = {
    "application_name": "",
    "bytea_output": "hex",
    "client_encoding": "UTF8",
    "client_min_messages": "notice",
    "datestyle": "ISO, MDY",
    "default_transaction_isolation": "read committed",
    "default_transaction_read_only": "on",
    "discreet.delta": "",
    "discreet.epsilon": "",
    "discreet.intervals": "off",
    "extra_float_digits": "1",
    "in_hot_standby": "off",
    "integer_datetimes": "on",
    "intervalstyle": "postgres",
    "is_superuser": "off",
    "lc_collate": "C",
    "lc_ctype": "C",
    "max_identifier_length": "63",
    "max_index_keys": "32",
    "search_path": "public",
    "server_encoding": "UTF8",
    "server_version": VERSION,
    "server_version_num": "160000",
    "session_authorization": "",
    "standard_conforming_strings": "on",
    "statement_timeout": "0",
    "timezone": "UTC",
    "transaction_isolation": "read committed",
    "transaction_read_only": "on",
}
_FIXED: Final = {
    "server_version", "server_version_num", "server_encoding", "is_superuser", "in_hot_standby",
    "integer_datetimes", "max_identifier_length", "max_index_keys", "session_authorization",
    "lc_collate", "lc_ctype",
}  # fmt: skip
_REPORTED: Final = {
    said.lower(): said
    for said in (
        *("application_name", "client_encoding", "DateStyle", "default_transaction_read_only"),
        *("in_hot_standby", "integer_datetimes", "IntervalStyle", "is_superuser", "search_path"),
        *("server_encoding", "server_version", "session_authorization"),
        *("standard_conforming_strings", "TimeZone"),
    )
}
"""What is sent to clients at the start and at each change, in their spelling."""

_MOST: Final = 200
_STARTUP: Final = {"user", "database", "options", "replication"}


class SessionSettings:
    """Settings of a session over the defaults of its token and of the server."""

    def __init__(self, user: str, sent: Mapping[str, str], epsilon: str | None) -> None:
        own = {"session_authorization": user, "discreet.epsilon": epsilon or ""}
        self._defaults = DEFAULTS | own
        self._changed: dict[str, str] = {}
        for name, value in (*_options(sent.get("options", "")), *sent.items()):
            if name not in _STARTUP and not name.startswith("_pq_."):
                self.set(name, value)
        self._defaults |= self._changed
        self._changed = {}

    def __getitem__(self, name: str) -> str:
        key = name.lower()
        if key not in self._changed and key not in self._defaults:
            raise PostgresError("42704", "there is no setting of this name", hint="SHOW ALL")
        return self._value(key)

    def _value(self, key: str) -> str:
        return self._changed.get(key, self._defaults.get(key, ""))

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._defaults | self._changed))

    def set(self, name: str, value: str) -> str | None:
        """Change a setting; returns its name for the message to clients, if there is one."""
        key = name.lower()
        if key.startswith("discreet.") and key not in DEFAULTS:
            raise PostgresError(
                "42704",
                "there is no setting of this name",
                hint="settings are discreet.epsilon, discreet.delta and discreet.intervals",
            )
        if key in _FIXED or len(value) > 1000 or len(self._changed) >= _MOST:
            raise PostgresError("55P02", "this setting cannot be changed", hint="leave it as it is")
        self._changed[key] = _checked(key, value)
        return _REPORTED.get(key)

    def reset(self, name: str | None) -> list[str]:
        """Undo a change, or all; returns the names that clients are told of."""
        keys = list(self._changed) if name is None else [name.lower()]
        done = [key for key in keys if self._changed.pop(key, None) is not None]
        return [_REPORTED[key] for key in done if key in _REPORTED]

    def changes(self) -> dict[str, str]:
        """The settings that were changed."""
        return dict(self._changed)

    def restore(self, changes: Mapping[str, str]) -> list[str]:
        """Set what was set before, and nothing else; returns the names that clients are told of."""
        before = {key: self._value(key) for key in self._changed | dict(changes)}
        self._changed = dict(changes)
        changed = [key for key, value in before.items() if self._value(key) != value]
        return [_REPORTED[key] for key in changed if key in _REPORTED]

    def reported(self) -> dict[str, str]:
        """The settings that are sent to clients when they connect."""
        return {said: self[key] for key, said in _REPORTED.items()}

    @property
    def intervals(self) -> bool:
        """Whether numbers have their intervals in further columns."""
        return self["discreet.intervals"] == "on"

    @property
    def quiet(self) -> bool:
        """Whether the client wants no notices."""
        return self["client_min_messages"] in {"warning", "error", "fatal", "panic"}

    def terms(self, *, or_else: Fraction | None = None) -> Terms:
        """The price of a question: what was set."""
        said, delta = self["discreet.epsilon"], self["discreet.delta"]
        epsilon = read_number(said, "discreet.epsilon") if said else or_else
        if epsilon is None:
            raise PostgresError(
                "22023",
                "no epsilon is set: it decides how much noise an answer has and what it costs",
                hint="SET discreet.epsilon = 0.1",
            )
        return Terms(epsilon, read_number(delta, "discreet.delta") if delta else None)


_BOOLEANS: Final = dict.fromkeys(("on", "true", "yes", "1"), "on") | dict.fromkeys(
    ("off", "false", "no", "0"), "off"
)


def _checked(key: str, value: str) -> str:
    """A value that this setting can have."""
    fits = True
    if key == "client_encoding":
        fits = value.lower().replace("-", "") in {"utf8", "unicode", "auto"}
        value = "UTF8"
    elif key == "datestyle":
        fits, value = value.lower().startswith("iso"), "ISO, MDY"
    elif key == "standard_conforming_strings":
        fits = value.lower() in {"on", "true", "1", "yes"}
    elif key == "discreet.intervals":
        fits, value = value.lower() in _BOOLEANS, _BOOLEANS.get(value.lower(), "")
    elif key in {"discreet.epsilon", "discreet.delta"} and value:
        with suppress(InputError):
            fits = False
            fits = read_number(value, key) > 0
    if not fits:
        raise PostgresError("22023", f"{key} cannot have this value", hint=_HINTS.get(key, ""))
    return value


_HINTS: Final = {
    "client_encoding": "texts are UTF8",
    "datestyle": "dates are written as ISO 8601 says",
    "standard_conforming_strings": "a backslash is a backslash",
    "discreet.epsilon": "a number above 0, such as 0.1 or '1/3'",
    "discreet.delta": "a number above 0, such as 1e-9",
    "discreet.intervals": "on or off",
}


def _options(said: str) -> list[tuple[str, str]]:
    """`-c name=value` and `--name=value`, as libpq takes them."""
    try:
        words = shlex.split(said)
    except ValueError:
        words = ["?"]
    joined = " ".join(words).replace("-c ", "-c")
    if len(said) > 2000 or not re.fullmatch(r"((-c|--)[\w.-]+=.*)?", joined):
        raise PostgresError("22023", "these options cannot be read", hint="-c discreet.epsilon=0.1")
    parts = re.split(r"(?:^| )(?:-c ?|--)(?=[\w.-]+=)", " ".join(words))[1:]
    pairs = (part.strip().partition("=") for part in parts)
    return [(name.replace("-", "_"), value) for name, _, value in pairs]
