"""The data that a curator holds: tables, where their rows are, and the engine that reads them."""

import hashlib
import re
import secrets
import shutil
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sized
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from discreet.curator.canonical_json import named
from discreet.curator.data import intake, registry
from discreet.curator.data.folder import Folder
from discreet.curator.data.load_report import Stated
from discreet.curator.data.part_intake import (
    check_new,
    check_part,
    content_digest,
    incoming_part,
    with_part,
)
from discreet.curator.data.registry import Part, Registration, Registry
from discreet.curator.fork_safety import FORKS
from discreet.curator.ledger.witness import sync_file
from discreet.engines.default import DefaultEngine, as_arrow, save
from discreet.engines.engine import Engine, Parts
from discreet.engines.reading import Reading
from discreet.engines.remote_engine import RemoteEngine
from discreet.engines.remote_tables import engine_at
from discreet.errors import EngineError, InputError, LedgerError, QueryRefused
from discreet.plan.kinds import Kind, Type
from discreet.plan.query import Query, tables_in
from discreet.plan.schema import (
    Bounds,
    EachRow,
    Keys,
    PersonPeriod,
    PublicTable,
    Schema,
    Table,
    Unit,
    column_type,
)
from discreet.plan.work import Work, bound_work
from discreet.rationals import whole
from discreet.sql.writer.dialect import Dialect

_MEMORY = "memory"
_LABEL = "label:"
"""What a fingerprint begins with that the owner stated."""


@dataclass(frozen=True, slots=True)
class ColumnDeclarations:
    """What an owner says about the columns of a table."""

    columns: Mapping[str, Bounds | Keys] = field(default_factory=dict)
    kinds: Mapping[str, Kind | str] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    reading: Reading = field(default_factory=Reading)
    confirm: tuple[str, ...] = ()

    def types(self, incoming: intake.Incoming) -> dict[str, Type]:
        """The types of all columns; InputError if something is said of none of them."""
        for name in (*self.columns, *self.kinds, *self.required):
            if name not in incoming.kinds:
                raise unknown("column", name, incoming.kinds)
        known = {**self.columns, **incoming.columns}
        return {
            name: column_type(name, kind, known.get(name), nullable=name not in self.required)
            for name, kind in incoming.kinds.items()
        }

    def read_kinds(self) -> dict[str, Kind]:
        """The kinds that are spelled out."""
        known = {kind.value for kind in Kind}
        for name, kind in self.kinds.items():
            if not isinstance(kind, Kind) and kind not in known:
                raise unknown(f"kind for {name} called", str(kind), known)
        return {name: Kind(kind) for name, kind in self.kinds.items()}


class DataStore:
    """All tables of a curator, in a folder or in memory."""

    def __init__(self, folder: Folder | None) -> None:
        self._folder = folder
        self._frames: dict[str, tuple[Any, ...]] = {}
        self._sessions: dict[str, Any] = {}
        self._key: str | None = None
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
        """All tables, as they stand now: another process may have added one."""
        if self._folder is not None and self._folder.stamp() != self._stamp:
            with self._lock:
                stamp = self._folder.stamp()
                if stamp != self._stamp:
                    self._replace(self._folder.tables())
                    self._stamp = stamp  # last: whoever sees it sees the tables too
        return self._tables

    @property
    def schema(self) -> Schema:
        """What questions are read against."""
        return self.tables.schema

    def person_key(self) -> str:
        """The secret under which accounts of people stand, made when it is first needed."""
        if self._folder is not None:
            return self._folder.person_key()
        with self._lock:
            self._key = self._key or secrets.token_hex(32)
            return self._key

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
        if one.fingerprint.startswith(_LABEL):
            return one
        engine = self._remote(one)
        now = engine.stamp(one.table.name)
        if now == one.stamp:
            return one
        if engine.digest(one.table.name) == one.fingerprint:
            return replace(one, stamp=now)
        raise registry.changed(one.table.name)

    def check_content(self, is_retired: Callable[[str], bool]) -> None:
        """Read all files through; LedgerError where one is not what was added.

        The files of datasets that are retired may be gone.
        """
        for one in self.tables.tables.values():
            if one.dataset is not None and is_retired(one.dataset):
                continue
            if one.address and not one.fingerprint.startswith(_LABEL):
                with suppress(InputError, EngineError):
                    if self._remote(one).digest(one.table.name) == one.fingerprint:
                        continue
                raise registry.damaged(one.table.name)
            if not one.address and one.table.name not in self._frames:
                registry.check_content(one)

    def check_parts(self, datasets: Collection[str], appended: Callable[[str], Sized]) -> None:
        """Refuse datasets with fewer parts than the ledger says were appended.

        Why: charges were made for those parts, and their versions would be given to other rows.
        """
        with self._lock:  # whoever appends here has it until both places know the part
            for name, one in self.tables.tables.items():
                said = len(appended(name)) if one.dataset in datasets else 0
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

    def dialect(self, names: Iterable[str]) -> Dialect:
        """How the engine of these tables writes SQL."""
        address = _place_of(self.tables.used(names))
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

    @staticmethod
    def look(
        name: str,
        source: Any,
        said: ColumnDeclarations,
        source_table: str | None,
        unit: str | None = None,
    ) -> intake.Incoming:
        """Look at a source, and refuse what leaves a question open."""
        if named(name, "table") in (".", ".."):
            raise InputError(
                f"a table called {name}",
                why="in addresses and paths that is another place",
                fix="give it a name with a letter in it",
            )
        stated = Stated(said.columns, said.read_kinds(), said.confirm)
        return intake.take(source, stated, said.reading, source_table, name=name, unit=unit)

    def add(
        self,
        table: Table | PublicTable,
        incoming: intake.Incoming,
        dataset: str | None,
        settle: Callable[[Registration], int],
        max_table_rows: int | None = None,
        version_label: str | None = None,
    ) -> None:
        """Keep one more table; one that cannot be read, or whose keys repeat, is refused.

        `settle` is called once nothing is left to refuse, before the table can be asked about, and
        gives the number of the entry that proves it. `max_table_rows` is a public bound on its
        rows; None takes the next power of ten. `version_label` stands for the rows of a table on a
        server, in place of a digest. Questions are answered meanwhile: only `settle`
        keeps others out.
        """
        self.tables.check_free(table.name)
        one = self._place(table, incoming, dataset, version_label)
        if incoming.remote is not None and incoming.remote.session is not None:
            self._sessions[one.address] = incoming.remote.session
        frames = {table.name: (incoming.rows,)} if one.source == _MEMORY else {}
        try:
            before = self.tables
            engine = self._opened(_checked(before, one).placed_at(one.address), one.address, frames)
            engine.check_readable(table)
            if one.address and not one.fingerprint:
                remote = cast("RemoteEngine", engine)
                stamp = remote.stamp(
                    table.name
                )  # before: what changes meanwhile is looked at again
                one = replace(one, fingerprint=remote.digest(table.name), stamp=stamp)
            rows = _bound_rows(engine.row_count(table.name), max_table_rows, table.name)
            with self._lock, nullcontext() if self._folder is None else self._folder.held():
                fresh = self.tables
                _checked(fresh, one)
                known = replace(one, max_table_rows=rows)
                known = replace(known, entry=settle(known))
                self._keep(fresh.with_table(known), frames)
                if fresh is before:
                    self._engines[one.address] = engine
        except BaseException:
            if self._folder is not None and incoming.reference is None and not one.address:
                Path(one.source).unlink(missing_ok=True)  # nobody is told that it is here
            raise

    # --- parts ----------------------------------------------------------------------------------

    def append(
        self,
        name: str,
        source: Any,
        settle: Callable[[Registration, Part], int],
        *,
        again: bool = False,
        max_table_rows: int | None = None,
        reading: Reading | None = None,
    ) -> int:
        """Add rows to a private table, as a part that never changes; the version it begins.

        `settle` is called once nothing is left to refuse, and gives the number of the entry that
        proves the part. What is read and checked are the new rows alone. `again` takes rows that
        were appended before.
        """
        table, before = self._private(name), self.tables
        one = before.tables[name]
        if one.address:
            raise InputError(
                f"rows for {name}, which a server has",
                why="parts are files or frames that never change",
                fix="add the new rows on the server, and the table under a new name",
            )
        incoming = incoming_part(table, source, reading or Reading.from_dict(one.reading))
        part, rows = self._place_part(one, incoming)
        frames = {name: (*self._frames[name], rows)} if part.source == _MEMORY else {}
        try:
            count = check_part(table, self._sources(one)[0], rows)
            if count and not again:
                check_new(one, part)
            total = count + self.open([name]).row_count(name)
            bound = max(one.row_bound, registry.table_rows(total))
            if max_table_rows is not None:
                bound = _bound_rows(total, max_table_rows, name)
            part = replace(part, max_table_rows=bound, version=before.data_version(one.dataset) + 1)
            engine = self._opened(with_part(before, name, part).placed_at(""), "", frames)
            with self._lock, nullcontext() if self._folder is None else self._folder.held():
                fresh = self.tables
                one = fresh.tables[name]
                part = replace(part, version=fresh.data_version(one.dataset) + 1)
                _check_alone(one, before.tables[name])
                if self._folder is not None:  # first: what a crash leaves is found again
                    self._folder.save(fresh.with_changed(replace(one, pending=part)))
                part = replace(part, entry=settle(one, part))
                self._keep(with_part(fresh, name, part), frames)
                if fresh is before:
                    self._engines[""] = engine
        except BaseException:
            self._drop(part)
            raise
        return part.version

    def settle_pending(self, find: Callable[[Registration, Part], int]) -> None:
        """Finish, or undo, what was being appended when its process was killed.

        `find` gives the number of the entry that proves a part, 0 where there is none.
        """
        if self._folder is None or not any(one.pending for one in self.tables.tables.values()):
            return
        with self._lock, self._folder.held():  # whoever is still appending holds it
            tables = self._folder.tables()
            for name, one in tables.tables.items():
                if one.pending is not None:
                    part = replace(one.pending, entry=find(one, one.pending))
                    undone = tables.with_changed(replace(one, pending=None))
                    tables = with_part(tables, name, part) if part.entry else undone
            self._keep(tables, {})

    def _private(self, name: str) -> Table:
        found = self.tables.tables.get(name)
        if found is None or not isinstance(found.table, Table):
            private = [n for n, one in self.tables.tables.items() if one.dataset is not None]
            raise unknown("private table", name, private)
        return found.table

    def _place_part(self, one: Registration, incoming: intake.Incoming) -> tuple[Part, Any]:
        """Where the rows are kept from now on, and what an engine reads them from."""
        salt, path = secrets.token_hex(16), incoming.reference
        if self._folder is None:
            rows = as_arrow(incoming.rows if path is None else path, list(one.table.columns))
            return Part(_MEMORY, content_digest(rows), salt=salt), rows
        if path is None or str(path) in {part.source for part in one.files}:
            name = Path(file_name(one.table.name)).stem
            copy = (self._folder.data / f"{name}-{salt}.parquet").resolve()
            if path is None:
                _copy_in(incoming.rows, copy, one.table.name)
            else:  # byte by byte: it is known by its digest
                shutil.copyfile(path, copy)
                sync_file(copy)
            path = copy
        before = registry.stamp(path)
        return Part(str(path), registry.fingerprint(path), salt=salt, stamp=before), str(path)

    def _drop(self, part: Part) -> None:
        """Remove a copy that no table was made of; unless the ledger may have it."""
        tables = Registry({}) if self._folder is None else self._folder.tables()
        kept = {one.pending.source for one in tables.tables.values() if one.pending}
        kept |= {file.source for one in tables.tables.values() for file in one.files}
        path = Path(part.source)
        if part.source not in kept and part.salt in path.stem:
            path.unlink(missing_ok=True)

    def max_table_rows(self, name: str) -> int:
        """The public bound on the rows of a table."""
        stated = self.tables.tables[name].row_bound
        return stated or registry.table_rows(self.open([name]).row_count(name))

    def bound_work(self, query: Query) -> Work:
        """What answering a question can take, by the public bounds on the rows of its tables."""
        rows = max(self.max_table_rows(table.name) for table in tables_in(query))
        return bound_work(query, rows)

    def _keep(self, tables: Registry, frames: Mapping[str, Any]) -> None:
        self._frames |= frames
        if self._folder is not None:
            self._folder.save(tables)
            self._stamp = self._folder.stamp()
        self._replace(tables)

    def _place(
        self,
        table: Table | PublicTable,
        incoming: intake.Incoming,
        dataset: str | None,
        label: str | None,
    ) -> Registration:
        path, remote, reading = incoming.reference, incoming.remote, incoming.reading.to_dict()
        if remote is not None:
            known = "" if label is None else f"{_LABEL}{named(label, 'version label')}"
            return Registration(table, remote.address, known, dataset, source_table=remote.table)
        if label is not None:
            raise InputError(
                f"a version label for {table.name}",
                why="files and frames are known by their content",
                fix="leave version_label out",
            )
        if path is None and self._folder is None:
            return Registration(table, _MEMORY, _MEMORY, dataset, reading=reading)
        if path is None:
            assert self._folder is not None  # noqa: S101 - narrowing
            path = (self._folder.data / file_name(table.name)).resolve()
            try:
                path.touch(exist_ok=False)
            except FileExistsError:  # its table was lost and may be put back, so it stays
                path = path.with_name(file_name(f"{table.name} {secrets.token_hex(8)}"))
            _copy_in(incoming.rows, path, table.name)
        before = registry.stamp(path)  # what changes meanwhile is read again when it is asked about
        known = registry.fingerprint(path)
        return Registration(table, str(path), known, dataset, before, reading=reading)

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


def _check_alone(one: Registration, before: Registration) -> None:
    if [part.entry for part in one.parts] != [part.entry for part in before.parts]:
        raise InputError(
            f"somebody else has appended to {one.table.name} meanwhile",
            why="parts come one after the other, and each is compared with those before",
            fix="append again",
        )


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


def _checked(before: Registry, one: Registration) -> Registry:
    """The tables with one more, whose people have to be those of its dataset."""
    fresh = before.with_table(one)
    others = {t.address for t in fresh.tables.values() if one.dataset and t.dataset == one.dataset}
    if len(others) > 1:
        raise InputError(
            f"{one.table.name} is on another engine than the tables of {one.dataset}",
            why="one dataset lives on one engine",
            fix="put it where the others are, or add it as a dataset of its own",
        )
    check_people(fresh, one)
    _check_units(fresh, one)
    return fresh


def _bound_rows(rows: int, stated: int | None, name: str) -> int:
    """The public bound on the rows of a table; one that does not hold is refused."""
    if stated is None:
        return registry.table_rows(rows)
    if rows > whole(stated, "max_table_rows", at_least=1):
        raise InputError(
            f"{name} has more rows than max_table_rows={stated}",
            why="how long a question may take is told by that bound",
            fix="state a higher one, or none",
        )
    return stated


def _copy_in(rows: Any, path: Path, table: str) -> None:
    """Write rows durably; an error quotes none of them."""
    with suppress(EngineError):
        save(rows, path)
        sync_file(path)
        return
    path.unlink(missing_ok=True)
    raise InputError(  # here, where it carries no error along that may quote a value
        f"{table} cannot be copied in",
        why="a column holds values of several types, or there is no room on the disk",
        fix="give each column one type, and see that its folder can be written to",
    )


def file_name(table: str) -> str:
    """A file name for a table, whatever it is called and whatever the system allows.

    Example:
        >>> file_name("../visits: 2024")
        'visits-2024-e0ff7716.parquet'
    """
    plain = re.sub(r"[^A-Za-z0-9]+", "-", table).strip("-")[:40] or "table"
    return f"{plain}-{hashlib.sha256(table.encode()).hexdigest()[:8]}.parquet"


def check_people(tables: Registry, one: Registration) -> None:
    """Refuse a private table whose people are not those of its dataset.

    Why: a budget is about one kind of people. A key path into another dataset would tell of people
    whose budget pays nothing, and rows that stand for themselves are nobody's.
    """
    if not isinstance(one.table, Table):
        return
    hops, unit = tables.schema.path(one.table)
    outside = [hop.table for hop in hops if tables.tables[hop.table].dataset != one.dataset]
    if outside:
        raise InputError(
            f"the key path of {one.table.name} leads to {outside[0]}, which is another dataset's",
            why="its people would be told about, and their budget would not pay for it",
            fix=f"add {one.table.name} within the dataset of {outside[0]}",
        )
    if hops and isinstance(unit, EachRow):
        raise InputError(
            f"the key path of {one.table.name} ends at {hops[-1].table}, which names nobody",
            why="rows that are protected one by one belong to no person",
            fix="lead it to a table with a unit, or protect each row of this one too",
        )
    tables.schema.check_same_people(other.name for other in _about_same(tables, one))


def _about_same(tables: Registry, one: Registration) -> list[Table]:
    """The private tables of a table's dataset."""
    others = [other.table for other in tables.tables.values() if other.dataset == one.dataset]
    return [other for other in others if isinstance(other, Table)]


def _check_units(tables: Registry, one: Registration) -> None:
    """Refuse to count people and single rows under one budget."""
    same = _about_same(tables, one) if isinstance(one.table, Table) else []
    if len({_unit_kind(tables.schema.path(other)[1]) for other in same}) > 1:
        raise InputError(
            f"{one.table.name} protects others than the tables of {one.dataset} do",
            why="one budget cannot count people, people in periods and single rows together",
            fix="name the person in each of them, or add it as a dataset of its own",
        )


def _unit_kind(unit: Unit) -> str:
    if isinstance(unit, PersonPeriod):
        return unit.every
    return "row" if isinstance(unit, EachRow) else "person"


def the_one(what: str, known: Collection[str]) -> str:
    """The only name there is; InputError where there are several, or none."""
    if len(known) == 1:
        return next(iter(known))
    raise InputError(
        f"no {what} is named",
        why=f"there are several: {', '.join(known)}" if known else "there is none yet",
        fix="name one of them" if known else "add one first",
    )


def unknown(what: str, name: str, known: Iterable[str]) -> InputError:
    """The error for a name that nobody has given."""
    return InputError(
        f"there is no {what} {name}",
        why=f"known are: {', '.join(known) or 'none yet'}",
        fix="name one of these",
    )
