"""Errors and notices as Postgres clients read them: an SQLSTATE, a hint, a place in the text."""

from typing import Final

from discreet.errors import (
    AccessError,
    BudgetError,
    DiscreetError,
    InputError,
    InvariantBroken,
    QueryRefused,
)
from discreet.server.error_replies import HttpError

_STATES: Final[dict[type[DiscreetError], str]] = {
    InputError: "22023",
    BudgetError: "53400",
    AccessError: "42501",
    QueryRefused: "0A000",
    InvariantBroken: "XX000",
}
_CODES: Final = {
    "unknown_table": "42P01",
    "unknown_column": "42703",
    "ambiguous_column": "42702",
    "syntax": "42601",
    "statement": "42601",
    "type": "42804",
    "argument": "22023",
}


class PostgresError(Exception):
    """An error to tell: its SQLSTATE, what happened, and what to do."""

    def __init__(
        self, state: str, message: str, *, hint: str = "", position: int | None = None
    ) -> None:
        super().__init__(message)
        self.state = state
        self.hint = hint
        self.position = position

    @property
    def fields(self) -> dict[str, str]:
        """The fields of the message."""
        place = "" if self.position is None else str(self.position)
        return {"C": self.state, "M": str(self), "H": self.hint, "P": place}


def as_reply(error: Exception) -> PostgresError:
    """Any exception as an error to tell; of one that nobody meant to raise, nothing is told."""
    match error:
        case PostgresError():
            return error
        case HttpError():
            state = "53300" if error.status == 429 else _STATES.get(type(error.error), "58000")
            return _told(error.error, state)
        case QueryRefused():
            place = None if error.start is None else error.start + 1
            return _told(error, _CODES.get(error.code, "0A000"), place)
        case DiscreetError():
            return _told(error, _STATES.get(type(error), "58000"))
        case _:
            return PostgresError(
                "XX000",
                "something went wrong inside the server, and it released nothing",
                hint="ask the same again: it is charged once; if it stays, tell who runs it",
            )


def _told(error: DiscreetError, state: str, position: int | None = None) -> PostgresError:
    return PostgresError(state, f"{error.what}: {error.why}", hint=error.fix, position=position)
