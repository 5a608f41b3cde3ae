"""The tables that a curator holds, and the engines that read them."""

import secrets
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from discreet.curator.data import registry
from discreet.curator.data.folder import Folder
from discreet.curator.data.registry import Registration, Registry
from discreet.curator.fork_safety import FORKS
from discreet.curator.ledger.ledger import Ledger
from discreet.engines.default import DefaultEngine
from discreet.engines.engine import Engine, Parts
from discreet.engines.remote_engine import RemoteEngine, engine_at
from discreet.errors import EngineError, InputError, LedgerError, QueryRefused
from discreet.plan.query import Query
from discreet.plan.schema import Schema, Table
from discreet.plan.work import Work, bound_work
from discreet.sql.writer.dialect import Dialect

LABEL = "label:"
"""What a fingerprint begins with that the owner stated."""


class TableStore:
    """Tables, where their rows are, what the ledger says of them, and an engine for each place.

    Edge cases:
        Another process may add tables: the folder is looked at again. Engines that still answer
        questions are let go of when they have answered them.
    """

    def __init__(self, folder: Folder | None, ledger: Ledger) -> None:
        self._folder = folder
        self._ledger = ledger
        self._frames: dict[str, tuple[Any, ...]] = {}
        self._sessions: dict[str, Any] = {}
        self._key = secrets.token_hex(32)
        self._tables = Registry({}) if folder is None else folder.tables()
        self.renew()
        FORKS.renew_in_child(self)

    def renew(self) -> None:
        """Look at the folder and open files when next needed; nothing of that outlives a fork."""
        self._lock = threading.RLock()
        self._engines: dict[str, Engine] = {}
        self._earlier: tuple[str, int, Engine] | None = None
        self._stamp: tuple[int, int, int] | None = None

    @property
    def tables(self) -> Registry:
        """All current tables: another process may have added one."""
        if self._folder is not None and self._folder.stamp() != self._stamp:
            with self._lock:
                stamp = self._folder.stamp()
                if stamp != self._stamp:
                    self._replace(self._folder.tables())
                    self._stamp = stamp  # last: whoever sees it sees the tables too
        return self._tables

    @property
    def place(self) -> Path | None:
        """The folder of the curator; None in memory."""
        return None if self._folder is None else self._folder.path

    def person_key(self) -> str:
        """The secret key of the accounts of people."""
        return self._key if self._folder is None else self._folder.person_key()

    def check(
        self, names: Iterable[str], version: int | None = None, *, files: bool = True
    ) -> list[Registration]:
        """The tables a question reads; InputError if the data of one is not what was added.

        `version` is that of their dataset, None for the newest. Without `files` no data is looked
        at, because none will be read.
        """
        used = self.tables.used(names)
        _place_of(used)
        if version is not None:
            used = [one if one.dataset is None else one.at(version) for one in used]
        for one in used:
            if files and one.table.name not in self._frames:
                fresh = self._check_remote(one) if one.address else registry.check_unchanged(one)
                if fresh is not one:
                    self._restamp(fresh)
        return used

    def _check_remote(self, one: Registration) -> Registration:
        """Refuse a table whose rows are others than those that were added; its newest stamp."""
        if one.fingerprint.startswith(LABEL):
            return one
        engine = self._remote(one)
        now = engine.stamp(one.table.name)
        if now == one.stamp:
            return one
        if engine.digest(one.table.name) == one.fingerprint:
            return replace(one, stamp=now)
        raise registry.changed(one.table.name)

    def check_content(self) -> None:
        """Read all files through; LedgerError where one is not what was added.

        The files of datasets that are retired may be gone.
        """
        for one in self.tables.tables.values():
            if one.dataset is not None and self._ledger.retired(one.dataset):
                continue
            if one.address and not one.fingerprint.startswith(LABEL):
                with suppress(InputError, EngineError):
                    if self._remote(one).digest(one.table.name) == one.fingerprint:
                        continue
                raise registry.damaged(one.table.name)
            if not one.address and one.table.name not in self._frames:
                registry.check_content(one)

    def check_present(self) -> None:
        """Refuse tables.json where one of the tables that the ledger says were added is not."""

        def added() -> list[str]:
            return [str(one.facts["table"]) for one in self._ledger.noted("added")]

        if set(added()) <= set(self.tables.tables):
            return
        # Again, where nobody adds: the ledger knows a table first.
        with self._changing():
            for name in added():
                if name not in self.tables.tables:
                    raise LedgerError(
                        f"{name} was added, and tables.json does not have it",
                        why="it is an older copy or was changed, or adding was interrupted",
                        fix="put back the newest tables.json, or add the same table again",
                    )

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Keep others, in this process and elsewhere, from changing tables meanwhile."""
        with self._lock, nullcontext() if self._folder is None else self._folder.held():
            yield

    def check_parts(self, datasets: Collection[str]) -> None:
        """Refuse datasets with fewer parts than the ledger says were appended.

        Why: charges were made for those parts, and their versions would be given to other rows.
        """
        with self._lock:  # whoever appends here has it until both places know the part
            for name, one in self.tables.tables.items():
                said = len(self._ledger.appended(name)) if one.dataset in datasets else 0
                now = self.tables.tables[name]  # after the ledger: a part is pending before
                if said > len(now.parts) + (now.pending is not None):
                    raise LedgerError(
                        f"{name} has not the parts that the ledger says were appended",
                        why="tables.json is an older copy",
                        fix="put back the newest tables.json",
                    )

    def _restamp(self, fresh: Registration) -> None:
        """Remember that a file was read through, so that nobody has to read it again."""
        with self._lock:
            known = self._tables.tables[fresh.table.name]
            fresh = known.stamped({part.source: part.stamp for part in fresh.files})
            self._tables = self._tables.with_changed(fresh)
        if self._folder is not None:
            with suppress(LedgerError, OSError):  # where nothing can be written, it is read again
                self._folder.restamp(fresh)

    def dialect(self, used: Iterable[Registration]) -> Dialect:
        """How the engine of these tables writes SQL."""
        address = _place_of(used)
        if not address:
            return DefaultEngine.dialect
        return engine_at(address, self._sessions.get(address)).dialect

    def open(self, names: Iterable[str]) -> Engine:
        """The engine that has these tables and all others of its place, made when first needed.

        While one table is gone or damaged, those that do not need it are still there.
        """
        used = self.tables.used(names)
        address = _place_of(used)
        with self._lock:
            engine = self._engines.get(address)
            if engine is not None and (address or cast("DefaultEngine", engine).is_sound):
                return engine
            tables = self.tables.placed_at(address)
            try:
                self._engines[address] = self._opened(tables, address)
            except (EngineError, InputError):
                sound = Registry({one.table.name: one for one in used})
                if not address:
                    sound = tables.sound(kept=self._frames)
                if len(sound.tables) == len(tables.tables):
                    raise
                return self._opened(sound, address)  # and again next time, when all may be there
            return self._engines[address]

    def _remote(self, one: Registration) -> RemoteEngine:
        return cast("RemoteEngine", self.open([one.table.name]))

    def open_at(self, names: Iterable[str], dataset: str, version: int) -> Engine:
        """The engine that has these tables as they were at a version of a dataset.

        That of an earlier version is kept for the next question.
        """
        with self._lock:
            tables = self.tables
            if (before := tables.at(dataset, version)) is tables:
                return self.open(names)
            if self._earlier is None or self._earlier[:2] != (dataset, version):
                self._earlier = dataset, version, self._opened(before.placed_at(""), "")
            return self._earlier[2]

    def open_for(self, datasets: Collection[str]) -> Engine:
        """The engine that has the tables of some datasets."""
        tables = self.tables.tables
        return self.open([name for name, one in tables.items() if one.dataset in datasets])

    def open_parts(self, table: Table) -> Engine:
        """An engine over one dataset, whose rows of a table say which part they are of: PART."""
        tables = self.tables.within([self.tables.tables[table.name].dataset or ""])
        return self._opened(tables.placed_at(""), "", tell_parts=table)

    def close(self) -> None:
        """Let go of files and connections."""
        with self._lock:
            self._earlier = None
            for engine in self._engines.values():
                engine.close()
            self._engines = {}

    def max_table_rows(self, name: str) -> int:
        """The public bound on the rows of a table."""
        stated = self.tables.tables[name].row_bound
        return stated or registry.table_rows(self.open([name]).row_count(name))

    def bound_work(self, query: Query) -> Work:
        """Upper bound on the work of a question, from public bounds on the rows of its tables."""
        rows = max(self.max_table_rows(table.name) for table in query.tables)
        return bound_work(query, rows)

    def _sources(
        self, one: Registration, new: Mapping[str, tuple[Any, ...]] = MappingProxyType({})
    ) -> tuple[Any, ...]:
        """The parts of a table: files, frames in memory, or the name that a server has for it."""
        if one.source_table:
            return (one.source_table,)
        frames = new.get(one.table.name, self._frames.get(one.table.name))
        return tuple(p.source for p in one.files) if frames is None else frames[: len(one.files)]

    def _opened(
        self,
        tables: Registry,
        address: str,
        new: Mapping[str, tuple[Any, ...]] = MappingProxyType({}),
        tell_parts: Table | None = None,
    ) -> Engine:
        sources, schema = dict[str, Any](), tables.schema
        engine = engine_at(address, self._sessions.get(address)) if address else DefaultEngine()
        for name, one in tables.tables.items():
            rows, numbers = self._sources(one, new), tuple(part.version for part in one.files)
            whole = len(rows) == 1 and (tell_parts is None or name != tell_parts.name)
            sources[name] = rows[0] if whole else Parts(rows, numbers)
        if tell_parts is not None:
            schema = Schema({**schema.tables, tell_parts.name: tell_parts})
        try:
            engine.open(schema, sources)
        except BaseException:
            engine.close()
            raise
        return engine

    def _replace(self, tables: Registry) -> None:
        # Engines that still answer questions are let go of when they have answered them.
        self._tables, self._engines, self._earlier = tables, {}, None


def _place_of(used: Iterable[Registration]) -> str:
    """The address of the server that has tables, empty for files; QueryRefused if they are two."""
    found = sorted({one.address for one in used})
    if len(found) <= 1:
        return "".join(found)
    raise QueryRefused(
        "a question about tables of several engines",
        why="one engine computes it, and has to have all of them",
        fix="ask about tables of one place, or add public ones there too",
        code="engines",
    )
