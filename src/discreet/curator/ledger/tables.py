"""The tables of a ledger, and how statements are sent to the database that has them."""

from collections.abc import Sequence
from typing import Any, Final, Literal, Protocol, TypeAlias

from discreet.errors import LedgerError

Dialect: TypeAlias = Literal["sqlite", "postgres"]

Statement: TypeAlias = tuple[str, Sequence[Any]]
"""SQL with ? for values, and the values."""

Change: TypeAlias = tuple[str, Sequence[Any], int]
"""A statement and how many rows it changes."""

VERSION: Final = 6
"""Of the tables and of the rules of entries. Those of 1 to 5 were never released."""

NOTED: Final = {
    "added": "table",
    "appended": "table",
    "retired": "dataset",
    "witness named": "witness",
    "witness retired": "witness",
    "token made": "token",
    "token revoked": "token",
    "people budget": "dataset",
    "person limit": "dataset",
    "workbook opened": "dataset",
}
"""The kinds of entry that are found again by what they are about, and the fact that says so."""


class Execute(Protocol):
    """Runs statements, with ? for their values, in one transaction."""

    def __call__(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run one statement and give its rows."""

    def ask_all(self, statements: Sequence[Statement]) -> list[list[tuple[Any, ...]]]:
        """Run several that only read, sent together, and give the rows of each."""

    def change(self, changes: Sequence[Change]) -> None:
        """Run several, each of which has to change so many rows; now, or later in this order.

        If one changes another number of rows, nothing of the transaction is kept.
        """


_WORDS: Final[dict[Dialect, dict[str, str]]] = {
    "sqlite": {"int": "INTEGER", "bytes": "BLOB", "text": "TEXT", "strict": " STRICT"},
    "postgres": {"int": "BIGINT", "bytes": "BYTEA", "text": 'TEXT COLLATE "C"', "strict": ""},
}

_TABLES: Final = (
    # The head and the totals are kept, so that a charge costs the same after a million entries.
    """CREATE TABLE ledger (
        one {int} PRIMARY KEY CHECK (one = 1),
        id {text} NOT NULL,
        version {int} NOT NULL,
        sequence {int} NOT NULL,
        hash {text} NOT NULL
    ){strict}""",
    """CREATE TABLE entries (
        sequence {int} PRIMARY KEY,
        hash {text} NOT NULL,
        body {text} NOT NULL
    ){strict}""",
    # Entries are found by what they are about: see NOTED.
    """CREATE TABLE subjects (
        sequence {int} PRIMARY KEY REFERENCES entries (sequence),
        kind {text} NOT NULL,
        subject {text} NOT NULL
    ){strict}""",
    "CREATE INDEX noted ON subjects (kind, subject, sequence)",
    # The (epsilon, delta) that an owner typed stands beside the cap that keeps it; `entry` tells
    # the total.
    """CREATE TABLE accounts (
        key {text} PRIMARY KEY,
        measure {text} NOT NULL,
        neighbours {text} NOT NULL,
        cap {text} CHECK (length(cap) = 78),
        cap_delta {text} CHECK (length(cap_delta) = 78),
        spent {text} NOT NULL CHECK (length(spent) = 78),
        spent_delta {text} NOT NULL CHECK (length(spent_delta) = 78),
        stated {text},
        entry {int} NOT NULL DEFAULT 0,
        CHECK ((cap IS NULL) = (cap_delta IS NULL)),
        CHECK (cap IS NULL OR (spent <= cap AND spent_delta <= cap_delta))
    ){strict}""",
    """CREATE TABLE members (
        member {text} NOT NULL,
        account {text} NOT NULL REFERENCES accounts (key),
        PRIMARY KEY (member, account)
    ){strict}""",
    # A failure (1) is final, and counts against whoever asked for the step that failed, else
    # against the analyst of the charge; one that was cancelled or forgiven (2) does not.
    """CREATE TABLE charges (
        sequence {int} PRIMARY KEY REFERENCES entries (sequence),
        request {text} UNIQUE,
        question {text} NOT NULL UNIQUE,
        worker {text} NOT NULL,
        claimed {int} NOT NULL,
        released {int} UNIQUE REFERENCES entries (sequence),
        analyst {text} NOT NULL,
        dataset {text} NOT NULL,
        measured {int} UNIQUE REFERENCES entries (sequence),
        failed {int} NOT NULL DEFAULT 0,
        failed_by {text}
    ){strict}""",
    "CREATE INDEX pending ON charges (sequence) WHERE released IS NULL",
    "CREATE INDEX asked_by ON charges (analyst, dataset, sequence)",
    "CREATE INDEX asked_about ON charges (dataset, sequence)",
    """CREATE INDEX failures ON charges (COALESCE(failed_by, analyst), dataset)
    WHERE failed = 1""",
    """CREATE TABLE shares (
        charge {int} NOT NULL REFERENCES charges (sequence),
        account {text} NOT NULL,
        PRIMARY KEY (charge, account)
    ){strict}""",
    "CREATE INDEX shared_with ON shares (account, charge)",
    # Noisy measurements are kept until their answer is; steps are kept before anybody is told.
    """CREATE TABLE measurements (
        charge {int} PRIMARY KEY REFERENCES charges (sequence),
        bytes {bytes} NOT NULL
    ){strict}""",
    """CREATE TABLE releases (
        charge {int} PRIMARY KEY REFERENCES charges (sequence),
        bytes {bytes} NOT NULL
    ){strict}""",
    """CREATE TABLE steps (
        charge {int} NOT NULL REFERENCES charges (sequence),
        number {int} NOT NULL,
        entry {int} NOT NULL UNIQUE REFERENCES entries (sequence),
        bytes {bytes} NOT NULL,
        PRIMARY KEY (charge, number)
    ){strict}""",
)

_KEPT: Final = ("entries", "releases", "steps")
"""Tables whose rows are never changed or removed."""

_KEEP: Final[dict[Dialect, tuple[str, ...]]] = {
    "sqlite": tuple(
        f"""CREATE TRIGGER {table}_{change.lower()} BEFORE {change} ON {table}
        BEGIN SELECT RAISE(ABORT, '{table} are kept'); END"""
        for table in _KEPT
        for change in ("UPDATE", "DELETE")
    ),
    "postgres": (
        """CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'entries and releases are kept'; END $$""",
        *(
            f"""CREATE TRIGGER {table}_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON {table}
            FOR EACH STATEMENT EXECUTE FUNCTION keep()"""
            for table in _KEPT
        ),
    ),
}


def make_tables(execute: Execute, dialect: Dialect) -> None:
    """Make all tables, and the triggers that keep rows."""
    for statement in _TABLES:
        execute(statement.format(**_WORDS[dialect]))
    for statement in _KEEP[dialect]:
        execute(statement)


def check_version(written: int) -> None:
    """Refuse a ledger of another version, which would be misread."""
    if written != VERSION:
        newer = written > VERSION
        raise LedgerError(
            f"the ledger is of version {written}",
            why=f"this package reads version {VERSION} and will not guess"
            if newer
            else f"this package reads version {VERSION}; those before it were never released",
            fix="use the package that wrote it" + (", or a later one" if newer else ""),
        )
