"""How tables come to be, and grow by parts that never change."""

import hashlib
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from discreet.curator.arguments import AppendArguments, order_spec, unknown
from discreet.curator.data import intake, registry
from discreet.curator.data.registry import Part, Registration, Registry
from discreet.curator.data.table_checks import bound_rows, check_alone, with_checked
from discreet.curator.data.table_store import LABEL, TableStore
from discreet.curator.ledger.orders import named
from discreet.curator.ledger.witness import sync_file
from discreet.engines.default import as_arrow, save
from discreet.errors import EngineError, InputError
from discreet.plan.schema import KeyPath, PublicTable, Table

if TYPE_CHECKING:
    from discreet.engines.remote_engine import RemoteEngine

_MEMORY = "memory"


@contextmanager
def _on_disk() -> Iterator[None]:
    """Say in words that a disk is full, or cannot be written to."""
    try:
        yield
    except OSError as wrong:
        why = wrong.strerror or type(wrong).__name__
    else:
        return
    raise InputError(
        "rows cannot be copied in",
        why=f"the system says: {why}",
        fix="see that the curator's folder is writable, with room on its disk, and add them again",
    )


class DataStore(TableStore):
    """All tables of a curator, in a folder or in memory, and how they are added and grow."""

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
        rows; None takes the next power of ten. `version_label` identifies the rows of a table on a
        server, in place of a digest. Questions are answered meanwhile: only `settle` keeps others
        out.
        """
        self.tables.check_free(table.name)
        one = self._place(table, incoming, dataset, version_label)
        if incoming.remote is not None and incoming.remote.session is not None:
            self._sessions[one.address] = incoming.remote.session
        frames = {table.name: (incoming.rows,)} if one.source == _MEMORY else {}
        try:
            before = self.tables
            beside = with_checked(before, one).placed_at(one.address)
            engine = self._opened(beside, one.address, frames)
            self._check_path(one)
            engine.check_readable(table)
            if one.address and not one.fingerprint:
                remote = cast("RemoteEngine", engine)
                stamp = remote.stamp(table.name)  # first: later changes are looked at again
                one = replace(one, fingerprint=remote.digest(table.name), stamp=stamp)
            rows = bound_rows(engine.row_count(table.name), max_table_rows, table.name)
            with self._changing():
                fresh = self.tables
                with_checked(fresh, one)
                known = replace(one, max_table_rows=rows)
                known = replace(known, entry=settle(known))
                self._keep(fresh.with_table(known), frames)
                if fresh is before:
                    self._engines[one.address] = engine
        except BaseException:
            if incoming.reference is None and not one.address:
                self._remove(Path(one.source))
            raise

    def _check_path(self, one: Registration) -> None:
        """Refuse a key path whose keys are trimmed in some parts of its table and not in others."""
        unit, known = getattr(one.table, "unit", None), self.tables.tables
        if isinstance(unit, KeyPath) and intake.trims(self.tables, known.get(unit.table), unit.key):
            target = known[unit.table]
            intake.check_keys(target, [unit.key], self._sources(target)[1:])

    # --- parts ----------------------------------------------------------------------------------

    def append(self, name: str, source: Any, said: AppendArguments, *, by: str) -> int:
        """Add rows to a private table, as a part that never changes; the version it begins.

        The ledger says so once nothing is left to refuse, which proves the part. What is read and
        checked are the new rows alone.
        """
        through = order_spec({"through": said.get("through")})
        table, before = self._private(name), self.tables
        one = before.tables[name]
        if one.address:
            raise InputError(
                f"rows for {name}, which a server has",
                why="parts are files or frames that never change",
                fix="add the new rows on the server, and the table under a new name",
            )
        incoming = intake.incoming_part(before, one, source, said.get("reading"))
        part, rows = self._place_part(one, incoming)
        held = self._held(one) if part.source == _MEMORY else ()
        frames = {name: (*held, rows)} if held else {}
        try:
            count = intake.check_part(table, self._sources(one)[0], rows)
            if incoming.reading.blanks != "trim":
                intake.check_keys(one, intake.trimmed_keys(before, name), [rows])
            if count and not said.get("again"):
                intake.check_new(one, part, held[:1])
            total = count + self.open([name]).row_count(name)
            bound = bound_rows(total, said.get("max_table_rows"), name)
            if said.get("max_table_rows") is None:
                bound = max(one.row_bound, bound)
            part = replace(part, max_table_rows=bound, version=before.data_version(one.dataset) + 1)
            engine = self._opened(intake.with_part(before, name, part).placed_at(""), "", frames)
            with self._changing():
                fresh = self.tables
                one = fresh.tables[name]
                part = replace(part, version=fresh.data_version(one.dataset) + 1)
                check_alone(one, before.tables[name])
                if self._folder is not None:  # first: what a crash leaves is found again
                    self._folder.save(fresh.with_changed(replace(one, pending=part)))
                facts = {**one.part_said(part), **through}
                entry = self._ledger.record("appended", by=by, facts=facts)
                part = replace(part, entry=entry.sequence)
                self._keep(intake.with_part(fresh, name, part), frames)
                if fresh is before:
                    self._engines[""] = engine
        except BaseException:
            self._drop(part)
            raise
        return part.version

    def settle_pending(self) -> None:
        """Finish, or undo, what was being appended when its process was killed."""
        if self._folder is None or not any(one.pending for one in self.tables.tables.values()):
            return
        with self._lock, self._folder.held():  # whoever is still appending holds it
            tables = self._folder.tables()
            for name, one in tables.tables.items():
                if one.pending is not None:
                    part = replace(one.pending, entry=self._entry_of(one, one.pending))
                    undone = tables.with_changed(replace(one, pending=None))
                    tables = intake.with_part(tables, name, part) if part.entry else undone
            self._keep(tables, {})

    def _entry_of(self, one: Registration, part: Part) -> int:
        """The entry that says that a part was appended, 0 where there is none."""
        said = one.part_said(part)
        known = self._ledger.appended(one.table.name)
        return next((each.sequence for each in known if said.items() <= each.facts.items()), 0)

    def _private(self, name: str) -> Table:
        found = self.tables.tables.get(name)
        if found is None or not isinstance(found.table, Table):
            private = [n for n, one in self.tables.tables.items() if one.dataset is not None]
            raise unknown("private table", name, private)
        return found.table

    @_on_disk()
    def _place_part(self, one: Registration, incoming: intake.Incoming) -> tuple[Part, Any]:
        """Store the rows of a part; returns where an engine reads them."""
        salt, path = secrets.token_hex(16), incoming.reference
        if self._folder is None:
            rows = as_arrow(incoming.rows if path is None else path, list(one.table.columns))
            return Part(_MEMORY, intake.content_digest(rows), salt=salt), rows
        if path is None or str(path) in {part.source for part in one.files}:
            name = Path(file_name(one.table.name)).stem
            copy = (self._folder.data / f"{name}-{salt}.parquet").resolve()
            _copy_in(incoming.rows if path is None else path, copy, one.table.name)
            path = copy
        before = registry.stamp(path)
        return Part(str(path), registry.fingerprint(path), salt=salt, stamp=before), str(path)

    def _held(self, one: Registration) -> tuple[Any, ...]:
        """The parts of a table in memory; a file that was added there is read into it."""
        if (frames := self._frames.get(one.table.name)) is not None:
            return frames
        return (as_arrow(registry.check_unchanged(one).source, list(one.table.columns)),)

    def _drop(self, part: Part) -> None:
        """Remove a copy that no table was made of; unless the ledger may have it."""
        if part.salt in (path := Path(part.source)).stem:
            self._remove(path)

    def _remove(self, copy: Path) -> None:
        """Remove a copy, unless a table is made of it: what failed may have come after that."""
        if self._folder is not None and copy.name not in self._folder.tables().file_names():
            copy.unlink(missing_ok=True)

    def _keep(self, tables: Registry, frames: Mapping[str, Any]) -> None:
        self._frames |= frames
        if self._folder is not None:
            self._folder.save(tables)
            self._stamp = self._folder.stamp()
        self._replace(tables)

    @_on_disk()
    def _place(
        self,
        table: Table | PublicTable,
        incoming: intake.Incoming,
        dataset: str | None,
        label: str | None,
    ) -> Registration:
        path, remote, reading = incoming.reference, incoming.remote, incoming.reading.to_dict()
        if remote is not None:
            known = "" if label is None else f"{LABEL}{named(label, 'version label')}"
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


def _copy_in(rows: Any, path: Path, table: str) -> None:
    """Write rows durably, or copy a file byte by byte; an error quotes nothing of them."""
    with suppress(EngineError, OSError):
        if isinstance(rows, Path):  # it is known by its digest
            shutil.copyfile(rows, path)
        else:
            save(rows, path)
        sync_file(path)
        return
    with suppress(OSError):
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
