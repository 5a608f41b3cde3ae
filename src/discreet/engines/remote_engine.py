"""Tables that stay where they are, on a server that has an address, and engines over them.

A statement that may create nothing says what it reads in parts of WITH (`InlineSession`).
"""

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Protocol

import pyarrow as pa

from discreet.engines.engine import Session
from discreet.engines.owner_checks import check_keys, check_lengths, render_digest
from discreet.engines.stored_types import ColumnDescription, Description, StoredTypes
from discreet.engines.timing import Deadline, in_time
from discreet.errors import InputError, ServiceError
from discreet.plan.schema import PublicTable, Schema, Table
from discreet.sql.writer.dialect import Dialect, stored_name, view_name
from discreet.sql.writer.stored_view import render_view


class RemoteSession(Session, Protocol):
    """A session that can also give a few numbers."""

    def numbers(self, select: str) -> list[int]:
        """The whole numbers of a SELECT of one row; none where it has no row."""
        ...


class RemoteEngine(ABC):
    """Tables that others may change, at an address without secrets.

    `types` says what types are read as; `half` makes 64 bits of the 16 digits of the hash
    `{h}` that begin at `{at}`.
    """

    dialect: Dialect
    half: ClassVar[str]
    types: ClassVar[StoredTypes]

    def __init__(self, address: str) -> None:
        self.address = address
        self._schema = Schema({})
        self._sources: dict[str, str] = {}
        self._physical: dict[str, dict[str, str]] = {}
        self.views: dict[str, str] = {}

    @abstractmethod
    def columns_of(self, source: str) -> Iterable[tuple[str, str]]:
        """The columns of a table and their types, from the catalogue."""

    @abstractmethod
    def locate(self, source: str) -> str:
        """The full name of a table, as the engine writes it; InputError where there is none."""

    @abstractmethod
    def stamp(self, name: str) -> str:
        """Counters of the engine: while they stay, a table is taken to be the same."""

    @abstractmethod
    def snapshot(self, until: Deadline | None = None) -> AbstractContextManager[RemoteSession]:
        """A session on the data as they are now."""

    def describe(self, source: str) -> Description:
        """The columns of a table, from the catalogue."""
        found = self.columns_of(source)
        return Description(tuple(ColumnDescription(n, of, self.types.kind(of)) for n, of in found))

    def open(self, schema: Schema, sources: Mapping[str, str] = MappingProxyType({})) -> None:
        """Learn where tables are and what their columns are; check keys."""
        self._schema = schema
        for name, source in sources.items():
            self._sources[name], self._physical[name] = source, dict(self.columns_of(source))
        for name, table in schema.tables.items():
            if lost := [column for column in table.columns if column not in self._physical[name]]:
                raise InputError(
                    f"the table behind {name} has no column {lost[0]}",
                    why="it was changed on its server after it was added",
                    fix="put the column back, or add the table as it is now under a new name",
                )
        self.views = self._render_views()
        with self.snapshot() as session:
            check_keys(schema, self._physical, lambda one: bool(session.numbers(one)), self.dialect)

    def _render_views(self) -> dict[str, str]:
        """The SELECT of each stored table, then of each table as questions see it."""
        found = {
            stored_name(n, self.dialect): f"SELECT * FROM {p}" for n, p in self._sources.items()
        }
        for name, table in self._schema.tables.items():
            text = render_view(table, self._schema, self._physical, self.dialect)
            found[view_name(name, self.dialect)] = text
        return found

    def check_readable(self, table: Table | PublicTable) -> None:
        """Refuse texts that would take time to fetch; every other value can be read."""
        with self.snapshot() as session:
            check_lengths(table, self._physical, session.numbers, self.dialect)

    def row_count(self, name: str) -> int:
        """How many rows are stored behind a table; for the owner."""
        with self.snapshot() as session:
            return session.numbers(f"SELECT COUNT(*) FROM {stored_name(name, self.dialect)}")[0]

    def digest(self, name: str) -> str:
        """A digest of the rows of a table as they are read, in whatever order: 128 bits.

        It does not reveal how many rows there are.
        """
        table = self._schema.tables[name]
        with self.snapshot() as session:
            rows, *sums = session.numbers(
                render_digest(table, self._physical, self.dialect, self.half)
            )
        said = f"{rows} {' '.join(str(one % 2**64) for one in sums)}"
        return hashlib.sha256(said.encode()).hexdigest()[:32]

    def close(self) -> object:
        """Does nothing: a given connection stays open."""
        return None


class InlineSession(ABC):
    """A session whose kept selects become WITH clauses of the statements that read them.

    Its SELECT is computed again in each of them, from the same rows and the same secret.
    """

    def __init__(self, until: Deadline | None, views: Mapping[str, str]) -> None:
        self._until = until
        self._parts = {name: f"NOT MATERIALIZED ({select})" for name, select in views.items()}
        self._newest: dict[str, str] = {}

    def keep(self, name: str, select: str) -> None:
        """Keep a select as a WITH clause; a replaced one is renamed."""
        with in_time(self._until):
            text = self._renamed(select)
            few = any(self._kept_in(self._parts[one]) for one in self._kept_in(text))
            self._newest[name] = f"{name}_{len(self._parts)}"
            self._parts[self._newest[name]] = f"{'MATERIALIZED ' * few}({text})"

    def _kept_in(self, text: str) -> set[str]:
        """The kept parts that a text reads; what is made of these again is the few over limits.

        Why: those are computed once, where each parallel worker would compute them for itself.
        """
        return set(_WORD.findall(text)) & set(self._newest.values())

    def put(self, name: str, table: pa.Table) -> None:
        """Put constants into a WITH clause."""
        self.keep(name, self.constants(table))

    @abstractmethod
    def constants(self, table: pa.Table) -> str:
        """A table as a SELECT."""

    def whole(self, select: str) -> str:
        """A SELECT with the parts of WITH that it needs.

        The planner inlines what is read once, and does not compute unused columns.
        """
        text = self._renamed(select)
        needed, words = [], set(_WORD.findall(text))
        for name, of in reversed(self._parts.items()):
            if name in words:
                needed.append(f"{name} AS {of}")
                words |= set(_WORD.findall(of))
        if not needed:
            return text
        more = f", {text[5:]}" if text.startswith("WITH ") else f" {text}"
        return f"WITH {', '.join(reversed(needed))}{more}"

    def _renamed(self, select: str) -> str:
        """A statement that reads what has each name now."""
        return _WORD.sub(lambda found: self._newest.get(found[0], found[0]), select)


_WORD = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\w+""")
"""Texts, quoted names and plain words."""


def read_numbers(row: Iterable[object] | None) -> list[int]:
    """Whole numbers, 0 for NULL."""
    return [int(one or 0) for one in row or ()]  # type: ignore[call-overload]


def lost(server: str) -> ServiceError:
    """The error for a lost connection: it quotes nothing."""
    return ServiceError(
        f"{server} cannot be reached, or broke off",
        why="it is down, restarting, or does not let this program in",
        fix="ask the same again: what was charged stays charged once",
    )


def without_secret(address: str, *, secret: bool, fix: str) -> str:
    """An address that may be kept and shown; InputError if it holds a secret."""
    if secret:
        raise InputError(
            "the address of a server holds a password or a token",
            why="addresses are kept and shown",
            fix=fix,
        )
    return address


_SCHEMES = {"postgresql": "postgres", "postgres": "postgres", "sc": "spark", "spark": "spark"}
_SCHEMES |= {"ibis": "ibis"}


@dataclass(frozen=True, slots=True)
class RemoteTable:
    """A table on a server: the address without secrets, and its full name there.

    `session` is an open one to use, if given in place of an address.
    """

    address: str
    table: str
    session: Any = None


def find_remote(source: Any, table: str) -> RemoteTable | None:
    """The table that an address, or a session of Spark or ibis, has under a name; else None."""
    if isinstance(source, str) and "://" in source:
        address, session = source, None
    elif (kind := type(source)).__name__ == "SparkSession" and kind.__module__[:7] == "pyspark":
        address, session = "spark://session", source
    elif kind.__module__.startswith("ibis.backends.") or hasattr(source, "untested"):
        address, session = f"ibis://{source.name}", source
    else:
        return None
    if address.partition("://")[0].lower() not in _SCHEMES:
        return None
    engine = engine_at(address, session)
    return RemoteTable(engine.address, engine.locate(table), session)


def engine_at(address: str, session: Any = None) -> RemoteEngine:
    """An engine over tables of a server."""
    kind = _SCHEMES[address.partition("://")[0].lower()]
    try:
        if kind == "postgres":
            from discreet.engines.postgres import PostgresEngine  # noqa: PLC0415 - an extra

            return PostgresEngine(address)
        if kind == "ibis":
            from discreet.engines.ibis import IbisEngine  # noqa: PLC0415 - an extra

            found = _connection(session)
            return found.again() if isinstance(found, IbisEngine) else IbisEngine(found)
        from discreet.engines.spark import SparkEngine  # noqa: PLC0415 - an extra

        return SparkEngine(address, session)
    except ImportError:
        raise InputError(
            f"tables of {kind} cannot be read here",
            why="the package that talks to it is not installed",
            fix=f"pip install discreet[{kind}]",
        ) from None


def _connection(session: Any) -> Any:
    if session is not None:
        return session
    raise InputError(
        "a table by way of ibis without its connection",
        why="a connection is this program's own, and none is kept",
        fix="add the table again with the connection",
    )
