"""Questions that people named, each with the answer that was given to it and a dashboard.

They are kept beside the tokens, under the name that asks: a new token of the same name finds them.
What was saved with a token for some datasets is there for tokens that are for those at least.
"""

import json
from dataclasses import dataclass
from typing import Any, Final

from discreet.errors import InputError
from discreet.server.access import AccessStore
from discreet.server.permissions import Caller

MOST: Final = 100
"""Questions that one name may keep."""


@dataclass(frozen=True, slots=True)
class SavedQuestion:
    """A named question; `facts` are what the page needs to ask it, or to open its answer, again."""

    id: int
    title: str
    facts: dict[str, Any]
    time: float


def listed(store: AccessStore, caller: Caller) -> list[SavedQuestion]:
    """The caller's saved questions, oldest first."""
    sql = "SELECT id, title, facts, time, scope FROM saved WHERE owner = ? ORDER BY id"
    return [
        SavedQuestion(number, title, json.loads(facts), time)
        for number, title, facts, time, scope in store.read(sql, (caller.name,))
        if caller.datasets is None or (scope and set(json.loads(scope)) <= caller.datasets)
    ]


def save(store: AccessStore, caller: Caller, title: str, facts: dict[str, Any]) -> SavedQuestion:
    """Keep a question under a title; one that had it with the same scope is replaced."""
    with store.write() as connection:
        [(number,)] = connection.execute(
            "INSERT INTO saved (owner, scope, title, facts, time) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (owner, scope, title) DO UPDATE SET facts = excluded.facts,"
            " time = excluded.time RETURNING id",
            (caller.name, _scope(caller), title, json.dumps(facts), now := store.now()),
        ).fetchall()
        count = "SELECT count(*) FROM saved WHERE owner = ?"
        [(kept,)] = connection.execute(count, (caller.name,)).fetchall()
        if kept > MOST:
            raise InputError(
                f"{MOST} questions are saved already",
                why="so many are kept for each name",
                fix="delete one that is no longer needed",
            )
    return SavedQuestion(number, title, facts, now)


def delete(store: AccessStore, caller: Caller, number: int) -> bool:
    """Forget a question, for ever; whether it was there."""
    if all(one.id != number for one in listed(store, caller)):
        return False
    with store.write() as connection:
        connection.execute("DELETE FROM saved WHERE id = ?", (number,))
    return True


def _scope(caller: Caller) -> str:
    return "" if caller.datasets is None else json.dumps(sorted(caller.datasets))
