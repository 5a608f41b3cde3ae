"""The tables of the ledger and the steps from one version to the next.

A ledger of any earlier version is brought up to date by the steps it lacks, in one transaction.
A step that was released is never edited.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeAlias

Dialect: TypeAlias = Literal["sqlite", "postgres"]

Statement: TypeAlias = tuple[str, Sequence[Any]]
"""SQL with ? for values, and the values."""

Change: TypeAlias = tuple[str, Sequence[Any], int]
"""A statement and how many rows it changes."""


class Execute(Protocol):
    """Runs statements, with ? for their values, in one transaction."""

    def __call__(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run one statement and give its rows."""

    def ask_all(self, statements: Sequence[Statement]) -> list[list[tuple[Any, ...]]]:
        """Run several that only read, sent together, and give the rows of each."""

    def change(self, changes: Sequence[Change]) -> None:
        """Run several, each of which must change that many rows; now, or later in this order.

        If one changes another number of rows, nothing of the transaction is kept.
        """


_WORDS: Final[dict[Dialect, dict[str, str]]] = {
    "sqlite": {"int": "INTEGER", "bytes": "BLOB", "text": "TEXT", "strict": " STRICT"},
    "postgres": {"int": "BIGINT", "bytes": "BYTEA", "text": 'TEXT COLLATE "C"', "strict": ""},
}

_FILE: Final = Path(__file__).with_name("tables.sql").read_text("utf-8")
_TABLES: Final = tuple(_FILE.partition("\n\n")[2].removesuffix(";\n").split(";\n"))

_KEEP: Final[dict[Dialect, tuple[str, ...]]] = {
    "sqlite": (),
    "postgres": (
        """CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'entries and releases are kept'; END $$""",
    ),
}


def _kept(table: str, dialect: Dialect) -> tuple[str, ...]:
    """The triggers that refuse to change or remove rows of a table."""
    if dialect == "sqlite":
        return tuple(
            f"""CREATE TRIGGER {table}_{change.lower()} BEFORE {change} ON {table}
        BEGIN SELECT RAISE(ABORT, '{table} are kept'); END"""
            for change in ("UPDATE", "DELETE")
        )
    return (
        f"""CREATE TRIGGER {table}_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON {table}
            FOR EACH STATEMENT EXECUTE FUNCTION keep()""",
    )


def _first(dialect: Dialect) -> tuple[str, ...]:
    tables = (table.format(**_WORDS[dialect]) for table in _TABLES)
    guards = (*_kept("entries", dialect), *_kept("releases", dialect))
    return (*tables, *_KEEP[dialect], *guards)


def _said(dialect: Dialect, *path: str) -> str:
    """A value in the text of an entry."""
    if dialect == "sqlite":
        return f"json_extract(body, '$.{'.'.join(path)}')"
    return f"body::json #>> '{{{','.join(path)}}}'"


def _second(dialect: Dialect) -> tuple[str, ...]:
    """Store analyst and question beside each charge, with an index."""
    kind = _WORDS[dialect]["text"]
    facts = {"analyst": _said(dialect, "by"), "dataset": _said(dialect, "facts", "dataset")}
    own = "FROM entries WHERE entries.sequence = charges.sequence"
    filled = ", ".join(f"{name} = (SELECT {fact} {own})" for name, fact in facts.items())
    return (
        *(f"ALTER TABLE charges ADD COLUMN {name} {kind} NOT NULL DEFAULT ''" for name in facts),
        f"UPDATE charges SET {filled}",  # noqa: S608 - constants
        "CREATE INDEX asked_by ON charges (analyst, dataset, sequence)",
        "CREATE INDEX asked_about ON charges (dataset, sequence)",
        "CREATE INDEX shared_with ON shares (account, charge)",
    )


def _third(dialect: Dialect) -> tuple[str, ...]:
    """Noisy measurements are kept until their answer is; failures are final, and are counted."""
    words = _WORDS[dialect]
    table = """CREATE TABLE measurements (
        charge {int} PRIMARY KEY REFERENCES charges (sequence),
        bytes {bytes} NOT NULL
    ){strict}"""
    return (
        table.format(**words),
        f"ALTER TABLE charges ADD COLUMN measured {words['int']} REFERENCES entries (sequence)",
        "CREATE UNIQUE INDEX measured_in ON charges (measured)",
        f"ALTER TABLE charges ADD COLUMN failed {words['int']} NOT NULL DEFAULT 0",
        "CREATE INDEX failures ON charges (analyst, dataset) WHERE failed = 1",
    )


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


def _fourth(dialect: Dialect) -> tuple[str, ...]:
    """Entries are found by what they are about; accounts name the entry that has their total.

    The (epsilon, delta) that an owner typed is stored with the cap that keeps it.
    """
    words = _WORDS[dialect]
    table = """CREATE TABLE subjects (
        sequence {int} PRIMARY KEY REFERENCES entries (sequence),
        kind {text} NOT NULL,
        subject {text} NOT NULL
    ){strict}"""
    return (
        table.format(**words),
        *(
            f"""INSERT INTO subjects SELECT sequence, '{kind}', {_said(dialect, "facts", fact)}
            FROM entries WHERE {_said(dialect, "kind")} = '{kind}'"""  # noqa: S608 - constants
            for kind, fact in NOTED.items()
        ),
        "CREATE INDEX noted ON subjects (kind, subject, sequence)",
        f"ALTER TABLE accounts ADD COLUMN stated {words['text']}",
        f"ALTER TABLE accounts ADD COLUMN entry {words['int']} NOT NULL DEFAULT 0",
    )


_COMMITS: Final[dict[Dialect, tuple[str, ...]]] = {
    "sqlite": (
        """CREATE TRIGGER entries_commit BEFORE INSERT ON entries
        WHEN json_extract(NEW.body, '$.facts.after') IS NOT NULL
        AND json_extract(NEW.body, '$.facts.accounts') IS NULL
        BEGIN SELECT RAISE(ABORT, 'entries commit to accounts'); END""",
    ),
    "postgres": (
        """CREATE FUNCTION commits() RETURNS trigger LANGUAGE plpgsql AS
        $$ DECLARE facts json := NEW.body::json -> 'facts'; BEGIN
        IF facts -> 'after' IS NOT NULL AND facts -> 'accounts' IS NULL THEN
        RAISE EXCEPTION 'entries commit to accounts' USING ERRCODE = 'check_violation';
        END IF; RETURN NEW; END $$""",
        """CREATE TRIGGER entries_commit BEFORE INSERT ON entries
        FOR EACH ROW EXECUTE FUNCTION commits()""",
    ),
}


def _fifth(dialect: Dialect) -> tuple[str, ...]:
    """Entries that change accounts commit to all of them: see `AccountTree`.

    A process of an older package that has the ledger open would continue without, and is refused.
    Charges may be answered in steps, each stored for ever before it is reported.
    """
    table = """CREATE TABLE steps (
        charge {int} NOT NULL REFERENCES charges (sequence),
        number {int} NOT NULL,
        entry {int} NOT NULL UNIQUE REFERENCES entries (sequence),
        bytes {bytes} NOT NULL,
        PRIMARY KEY (charge, number)
    ){strict}"""
    return (*_COMMITS[dialect], table.format(**_WORDS[dialect]), *_kept("steps", dialect))


_READMITS: Final[dict[Dialect, tuple[str, ...]]] = {
    "sqlite": (
        """CREATE TRIGGER entries_readmit BEFORE INSERT ON entries
        WHEN json_extract(NEW.body, '$.kind') = 'readmitted'
        AND json_extract(NEW.body, '$.facts.charges') IS NULL
        BEGIN SELECT RAISE(ABORT, 'readmissions name charges'); END""",
    ),
    "postgres": (
        """CREATE FUNCTION readmits() RETURNS trigger LANGUAGE plpgsql AS
        $$ DECLARE said json := NEW.body::json; BEGIN
        IF said ->> 'kind' = 'readmitted' AND said #> '{facts,charges}' IS NULL THEN
        RAISE EXCEPTION 'readmissions name charges' USING ERRCODE = 'check_violation';
        END IF; RETURN NEW; END $$""",
        """CREATE TRIGGER entries_readmit BEFORE INSERT ON entries
        FOR EACH ROW EXECUTE FUNCTION readmits()""",
    ),
}


def _sixth(dialect: Dialect) -> tuple[str, ...]:
    """The caller of a later step that failed; else the analyst of the charge.

    A process of an older package that has the ledger open would readmit by the analyst of the
    charge, and is refused. A failure that it stores counts against that analyst.
    """
    return (
        *_READMITS[dialect],
        f"ALTER TABLE charges ADD COLUMN failed_by {_WORDS[dialect]['text']}",
        "DROP INDEX failures",
        """CREATE INDEX failures ON charges (COALESCE(failed_by, analyst), dataset)
        WHERE failed = 1""",
    )


STEPS: tuple[Callable[[Dialect], Sequence[str]], ...]
STEPS = (_first, _second, _third, _fourth, _fifth, _sixth)
"""Step number n leads from version n to version n + 1."""


def version() -> int:
    """The version that this package writes."""
    return len(STEPS)


def climb(execute: Execute, dialect: Dialect, *, start: int) -> None:
    """Run every step after version `start`."""
    for step in STEPS[start:]:
        for statement in step(dialect):
            execute(statement)
