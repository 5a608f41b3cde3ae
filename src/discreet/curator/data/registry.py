"""The owner's declarations, kept as one JSON file in the curator's folder.

A dataset is a private table and whatever shares its people and its budget. Data that has changed is
refused: rows that come later are further parts of a table, and no part ever changes.
"""

import dataclasses
import functools
import hashlib
import json
import os
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from discreet.curator.confusables import confusable
from discreet.curator.data.table_json import read_table, table_facts
from discreet.curator.ledger.witness import give_name, sync, sync_folder
from discreet.curator.progress import open_watched
from discreet.errors import InputError, LedgerError
from discreet.plain_json import from_fields, to_plain
from discreet.plan import canonical
from discreet.plan.schema import KeyPath, PublicTable, Schema, Table

_FORMAT = 1


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """Rows of a table in one file, and the version of the dataset that began with them.

    The ledger has their digest with a `salt` that it does not have: of a few rows, a plain digest
    would confirm a guess. `entry` is the number of that entry, 0 while there is none.
    """

    source: str
    fingerprint: str
    version: int = 1
    salt: str = ""
    stamp: str = ""
    entry: int = 0
    max_table_rows: int = 0

    @property
    def digest(self) -> str:
        """The digest by which the ledger knows the rows."""
        return salted(self.salt, self.fingerprint) if self.salt else self.fingerprint

    def check(self, table: str) -> "Part":
        """Refuse data that is not what was added; what is told is the newest stamp."""
        path = Path(self.source)
        if path.is_file():
            now = stamp(path)
            if now == self.stamp:
                return self
            if fingerprint(path) == self.fingerprint:
                return dataclasses.replace(self, stamp=now)
        raise changed(table)


def salted(salt: str, fingerprint: str) -> str:
    """A digest that tells nothing to those who do not have the salt."""
    return hashlib.sha256(f"{salt}:{fingerprint}".encode()).hexdigest()


@dataclasses.dataclass(frozen=True, slots=True)
class Registration:
    """A table, where its rows are, and the dataset whose budget it spends (None: public).

    `parts` were appended, in this order. `pending` is one that the ledger may or may not have: its
    process was killed in between, or is still at it.

    `entry` is the number of the entry in the ledger that proves it; 0 where that was not kept.
    `max_table_rows` is a public bound on the rows of the table, which estimates of time rest on; 0
    where it was added before there were any (`DataStore.max_table_rows` then derives it).
    `source_table` is its full name on the server whose address is `source`; empty for files.
    `reading` is how texts were read, for rows that are appended.
    """

    table: Table | PublicTable
    source: str
    fingerprint: str
    dataset: str | None
    stamp: str = ""
    entry: int = 0
    max_table_rows: int = 0
    source_table: str = ""
    parts: tuple[Part, ...] = ()
    pending: Part | None = None
    reading: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def files(self) -> tuple[Part, ...]:
        """All parts, what was added first."""
        first = Part(self.source, self.fingerprint, 1, "", self.stamp, self.entry)
        return (first, *self.parts)

    @property
    def row_bound(self) -> int:
        """The public bound on the rows of all parts."""
        return self.parts[-1].max_table_rows if self.parts else self.max_table_rows

    def at(self, version: int) -> "Registration":
        """The table as it was at a version of its dataset."""
        kept = tuple(part for part in self.parts if part.version <= version)
        return self if len(kept) == len(self.parts) else dataclasses.replace(self, parts=kept)

    def stamped(self, now: Mapping[str, str]) -> "Registration":
        """The same with the newest stamps of files, by their paths."""
        parts = [dataclasses.replace(p, stamp=now.get(p.source, p.stamp)) for p in self.parts]
        first = now.get(self.source, self.stamp)
        return dataclasses.replace(self, stamp=first, parts=tuple(parts))

    def part_said(self, part: Part) -> dict[str, Any]:
        """The ledger's entry about appended rows."""
        named = {"table": self.table.name, "dataset": self.dataset, "version": part.version}
        return {**named, "data": part.digest, "max_table_rows": part.max_table_rows}

    @property
    def address(self) -> str:
        """The server that has the rows; empty for files and frames."""
        return self.source if self.source_table else ""

    @property
    def said(self) -> dict[str, Any]:
        """The ledger's entry about the table, which proves it later."""
        about = canonical.table_digest(self.table)
        named = {"table": self.table.name, "dataset": self.dataset}
        rows = {"max_table_rows": self.max_table_rows} if self.max_table_rows else {}
        return {**named, "about": about, "data": self.fingerprint, **rows}

    def is_said(self, facts: Mapping[str, Any]) -> bool:
        """Whether the ledger was told so; entries from before there were bounds have none."""
        said = self.said
        return all(said.get(name) == value for name, value in facts.items())


@dataclasses.dataclass(frozen=True, eq=False)
class Registry:
    """All tables of a curator, by name; every change of them makes another one."""

    tables: Mapping[str, Registration]

    @functools.cached_property
    def schema(self) -> Schema:
        """The schema that questions are read against."""
        return Schema({name: one.table for name, one in self.tables.items()})

    @functools.cached_property
    def has_public(self) -> bool:
        """Whether there are tables of nobody."""
        return any(isinstance(one.table, PublicTable) for one in self.tables.values())

    def with_table(self, registration: Registration) -> "Registry":
        """One more table."""
        self.check_free(registration.table.name)
        return Registry({**self.tables, registration.table.name: registration})

    def check_free(self, name: str) -> None:
        """Refuse a name that is taken, or that only a very close look tells from one that is."""
        if name in self.tables:
            raise InputError(
                f"there is a table {name} already",
                why="a name that is given twice would let a budget be spent twice",
                fix="give the new table another name",
            )
        alike = next((one for one in self.tables if confusable(one, name)), None)
        if alike is not None:
            raise InputError(
                f"{name} reads like {alike}, which is there already",
                why="people cannot tell names apart that differ in case, width, look-alike or "
                "invisible letters alone, and engines not all of them",
                fix="give the new table another name",
            )

    def with_changed(self, registration: Registration) -> "Registry":
        """A table that was looked at again, or has another part."""
        return Registry({**self.tables, registration.table.name: registration})

    def datasets(self) -> dict[str, list[str]]:
        """The tables of each dataset."""
        found: dict[str, list[str]] = {}
        for name, one in self.tables.items():
            if one.dataset:
                found.setdefault(one.dataset, []).append(name)
        return found

    def file_names(self) -> set[str]:
        """The names of all files that tables are made of."""
        files = [part for one in self.tables.values() for part in (*one.files, one.pending)]
        return {Path(part.source).name for part in files if part is not None}

    def data_version(self, dataset: str | None) -> int:
        """The newest version of a dataset: 1, and one more for each part of its tables."""
        inside = (one for one in self.tables.values() if one.dataset == dataset)
        return max((part.version for one in inside for part in one.parts), default=1)

    def at(self, dataset: str, version: int) -> "Registry":
        """All tables, those of a dataset as they were at a version of it."""
        inside = (one for one in self.tables.values() if one.dataset == dataset)
        cut = {one.table.name: one.at(version) for one in inside}
        same = all(cut[name] is self.tables[name] for name in cut)
        return self if same else Registry({**self.tables, **cut})

    def within(self, datasets: Collection[str] | None) -> "Registry":
        """The tables of some datasets and the public ones; None keeps all.

        A table whose key path leads out of these datasets is left out with the others.
        """
        if datasets is None:
            return self
        return self._only(lambda one: one.dataset in {None, *datasets})

    def sound(self, kept: Collection[str]) -> "Registry":
        """The tables whose files are what was added; those in `kept` have none."""

        def is_sound(one: Registration) -> bool:
            with suppress(InputError):
                return bool(one.address or one.table.name in kept or check_unchanged(one))
            return False

        return self._only(is_sound)

    def placed_at(self, address: str) -> "Registry":
        """The tables on one server, or all files and frames."""
        return self._only(lambda one: one.address == address)

    def _only(self, wanted: Callable[[Registration], bool]) -> "Registry":
        """Some tables, without those whose key paths lead to others."""
        inside = {name: one for name, one in self.tables.items() if wanted(one)}
        schema = self.schema
        return Registry(
            {
                name: one
                for name, one in inside.items()
                if isinstance(one.table, PublicTable)
                or all(hop.table in inside for hop in schema.path(one.table)[0])
            }
        )

    def used(self, names: Iterable[str]) -> list[Registration]:
        """The tables that a question reads: those it names and those its key paths lead through."""
        found = set(names)
        for table in [self.tables[name].table for name in found]:
            if isinstance(table, Table) and isinstance(table.unit, KeyPath):
                found.update(hop.table for hop in self.schema.path(table)[0])
        return [self.tables[name] for name in sorted(found)]


def table_rows(rows: int) -> int:
    """The public bound on the rows of a table of which the owner states none.

    Example:
        >>> table_rows(0), table_rows(10_000), table_rows(10_001)
        (10000, 10000, 100000)
    """
    return max(10_000, int(10 ** len(str(rows - 1))))


def version(used: Iterable[Registration]) -> str:
    """A digest of the data that a question reads; other tables may come without changing it."""
    prints = [":".join((one.table.name, *(f.digest for f in one.files))) for one in used]
    return hashlib.sha256("\n".join(prints).encode()).hexdigest()[:32]


def fingerprint(path: Path) -> str:
    """A digest of everything in a file."""
    try:
        with open_watched(path, f"checking {path.name}") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as wrong:
        raise InputError(
            f"{path.name} cannot be read",
            why=wrong.strerror or type(wrong).__name__,
            fix="name a file that can be read",
        ) from None


def stamp(path: Path) -> str:
    """Identity, size and times of a file: while they stay, its content is taken to be the same.

    Programs set the first time (st_mtime) as they like; the second (st_ctime) is the system's own.
    """
    facts = path.stat()
    return f"{facts.st_ino}-{facts.st_size}-{facts.st_mtime_ns}-{facts.st_ctime_ns}"


def check_unchanged(registration: Registration) -> Registration:
    """Refuse to answer from data that is not what was added; what is told has newest stamps."""
    now = tuple(part.check(registration.table.name) for part in registration.files)
    if now == registration.files:
        return registration
    return registration.stamped({part.source: part.stamp for part in now})


def changed(table: str) -> InputError:
    """The error for data that is not what was added."""
    return InputError(
        f"the data behind {table} has changed or is gone",
        why="what was added never changes: a budget was decided for it",
        fix="put it back; or ask the owner to append rows that are new, or to add the data under "
        "a new name",
    )


def check_content(registration: Registration) -> None:
    """Read all files through: disks forget bits without changing any stamp."""
    for part in registration.files:
        path = Path(part.source)
        if not path.is_file() or fingerprint(path) != part.fingerprint:
            raise damaged(registration.table.name)


def damaged(table: str) -> LedgerError:
    """The error for content that is not what was added."""
    return LedgerError(
        f"the data behind {table} is not what was added",
        why="a file of it is gone, or its content has changed, on purpose or by its disk",
        fix="put the file back from an intact copy; answers since then rest on other data",
    )


# --- storage ------------------------------------------------------------------------------------


def load(path: Path) -> Registry:
    """Read a registry; an absent file is an empty one."""
    if not path.exists():
        return Registry({})
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        [tables] = [stored["tables"]] if stored["format"] == _FORMAT else []
        found = {name: _registration(facts) for name, facts in tables.items()}
        [] = [name for name, one in found.items() if one.table.name != name]  # it is proved by it
        return Registry(found)
    except (OSError, KeyError, TypeError, ValueError, AttributeError, RecursionError) as wrong:
        raise LedgerError(
            f"{path.name} cannot be read",
            why="it is damaged, or was not written by this program",
            fix="restore it from a copy",
        ) from wrong


def save(registry: Registry, path: Path) -> None:
    """Write a registry so that a crash leaves the old one or the new one, whole."""
    tables = {name: _facts(one) for name, one in registry.tables.items()}
    write_whole(path, {"format": _FORMAT, "tables": tables})


def write_whole(path: Path, facts: Mapping[str, Any]) -> None:
    """Write JSON so that a crash leaves the old file or the new one, whole."""
    write_durably(path, as_json(facts))


def as_json(facts: Mapping[str, Any]) -> bytes:
    """Facts as they are stored."""
    return json.dumps(facts, indent=1, ensure_ascii=False).encode()


def write_first(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Write a file as `write_durably`, unless it is there: of several writers the first counts."""
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    how = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(fresh, how, mode), "wb") as file:
        file.write(content)
        file.flush()
        sync(file.fileno())
    with suppress(FileExistsError):
        give_name(fresh, path)
    fresh.unlink(missing_ok=True)
    sync_folder(path.parent)


def write_durably(path: Path, content: bytes) -> None:
    """Write a file so that a crash or a loss of power leaves the old one or the new one, whole."""
    fresh = path.with_suffix(".new")
    with fresh.open("wb") as file:
        file.write(content)
        file.flush()
        sync(file.fileno())
    fresh.replace(path)
    sync_folder(path.parent)


_EITHER: Final = Table | PublicTable
_LATER: Final = ("parts", "pending", "source_table", "reading")
"""What older versions did not say; where it is empty it is left out."""


def _facts(one: Registration) -> dict[str, Any]:
    names = (field.name for field in dataclasses.fields(one) if field.name != "table")
    told = {name: to_plain(getattr(one, name)) for name in names}
    own = {name: fact for name, fact in told.items() if fact or name not in _LATER}
    return {**own, **table_facts(one.table, one.dataset)}


def _registration(facts: Mapping[str, Any]) -> Registration:
    names = [one.name for one in dataclasses.fields(Registration) if one.name in facts]
    stored = {name: facts[name] for name in names}
    return from_fields(Registration, {**stored, "table": facts}, {_EITHER: read_table})
