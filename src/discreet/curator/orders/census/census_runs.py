"""Make the tables of a release: noisy parts, each durable before the next, then files.

    charge ──> parts (noisy counts; a file and a step of the charge each) ──> consistent tables

Everything after the parts is a function of them: after a crash it continues where it stopped, with
the same numbers, under the same charge.
"""

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.answer.plan.measure import Measurement
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.orders.census.census_margins import GroupedCells, Margin
from discreet.curator.orders.census.census_orders import CensusOrder, CensusRelease
from discreet.curator.orders.census.census_parts import PartStore
from discreet.curator.orders.census.census_plan import COUNT
from discreet.curator.orders.census.census_reading import read_geography
from discreet.curator.orders.census.census_workers import COLUMNS, PartNoise, noisy, noisy_above
from discreet.curator.orders.planned_orders import PlannedOrder, ResumedOrder
from discreet.curator.progress import tell
from discreet.engines.engine import Engine, WorkerSession
from discreet.errors import EngineError, InputError, InvariantBroken, LedgerError
from discreet.noise.bits import count_drawn, metered
from discreet.plan.bounding import FULL
from discreet.plan.statistics import Rows
from discreet.sql.writer.dialect import Dialect
from discreet.workload.domain import Attribute
from discreet.workload.hierarchy import (
    Estimates,
    Hierarchy,
    Integers,
    gather,
    settle,
    settle_totals,
    spread,
)

_AT_ONCE: Final = 1 << 27
"""Counts of one table that are held at once, at most: about 13 GB."""

_LARGEST_WORK: Final = 1 << 19
"""Bytes of work that a worker is sent."""

_LARGEST_ROW: Final = 1 << 23
"""Counts that a worker sends back in one row: 64 MiB."""


@dataclass(frozen=True, slots=True)
class PublishedTables:
    """The files of a release: `folder` has one for each table and level.

    `random_bytes` is how many random bytes were drawn by this run; parts that were there already
    took none.
    """

    charge: int
    release: CensusRelease
    folder: Path
    files: dict[tuple[str, str], Path]
    random_bytes: int = 0

    def read(self, table: str, level: str) -> pa.Table:
        """One table at one level."""
        if (table, level) in self.files:
            return pq.read_table(self.files[table, level])
        raise InputError(
            f"no table {table[:50]} by {level[:50]}",
            why=f"there are {', '.join(' by '.join(one) for one in self.files)}",
            fix="name one of them",
        )

    def statement(self) -> str:
        """The privacy statement."""
        return self.release.statement()


@dataclass(frozen=True, slots=True)
class _Layout:
    """Positions of a table's noisy counts: parts of leaves, and one of all levels above."""

    name: str
    by: tuple[str, ...]
    cells: int
    chunks: tuple[tuple[int, int], ...]
    first: int
    """The number of its first part among those of the release."""

    @property
    def parts(self) -> range:
        """The numbers of its parts of leaves; the one of the levels above follows them."""
        return range(self.first, self.first + len(self.chunks))


@dataclass(frozen=True, slots=True)
class _LinkedTable:
    """A table to settle: the margin that it takes over, and smaller tables that take over its."""

    layout: _Layout
    margin: Margin | None
    smaller: tuple[tuple[_Layout, Margin], ...]


class CensusRun:
    """One release on its way: `draw` reads data and stores parts, `publish` reads parts alone."""

    def __init__(self, order: CensusOrder, tree: Hierarchy, leaves: pa.Table) -> None:
        self.order, self.tree, self.leaves = order, tree, leaves
        self.totals, self.ends = _fixed(order, tree, leaves), np.append(0, tree.leaf_ends)
        facts, layouts, first = order.facts, [], 0
        for name, by in facts.tables:
            cells = facts.cells(by)
            chunks = tuple(tree.chunks(max(1, order.chunk // cells)))
            _check_room(name, cells, tree, chunks)
            layouts.append(_Layout(name, by, cells, chunks, first))
            first += len(chunks) + bool(tree.depth)
        self.layouts, self.parts = tuple(layouts), first

    # --- data -----------------------------------------------------------------------------------

    def draw(self, engine: Engine, store: PartStore) -> None:
        """Draw every part that is not there yet; private rows are read once."""
        if len(store) == self.parts:
            return
        self.order.check_spent()
        query, dialect, tree = self.order.facts.query, engine.dialect, self.tree
        with engine.snapshot() as session:
            workers = isinstance(session, WorkerSession) and self._draws_in(session)
            leaf = self.leaves.column(-1).combine_chunks() if tree.depth else None
            units = np.arange(len(self.ends) - 1)
            parents = np.repeat(units, np.diff(self.ends)) if workers else None
            tell("reading rows", 0, 1)
            query.prepare(session, dialect, leaf, parents)
            tell("reading rows", 1, 1)
            for layout in self.layouts:
                if layout.first + len(layout.chunks) + bool(tree.depth) <= len(store):
                    continue
                if workers and isinstance(session, WorkerSession):
                    self._draw_in_workers(layout, session, dialect, store)
                    continue
                cuts = [int(self.ends[end]) for _, end in layout.chunks]
                exact = query.counts(session, dialect, layout.by, cuts)
                self._draw(layout, exact, store)

    def _laws(self) -> tuple[tuple[Measurement, ...], tuple[Integers, ...]]:
        """How levels above the leaves are measured, and what adds up to which of their units."""
        depth = self.tree.depth
        laws = tuple(self.order.measurement(level) for level in range(depth))
        return laws, tuple(self.tree.children(level) for level in range(depth - 1))

    def _draw(self, layout: _Layout, exact: Iterator[Integers], store: PartStore) -> None:
        depth = self.tree.depth
        leaf, above = self.order.measurement(depth), []
        for number, (start, end), counts in zip(layout.parts, layout.chunks, exact, strict=True):
            store.draw(number, lambda counts=counts: noisy(leaf, counts))  # type: ignore[misc]
            tell("noise", number + 1, self.parts)
            if depth:
                begins = self.tree.first[depth - 1][start:end]
                above.append(np.add.reduceat(counts, begins - begins[0], axis=0))
        if depth:
            store.draw(layout.parts.stop, lambda: noisy_above(*self._laws(), np.concatenate(above)))
            tell("noise", layout.parts.stop + 1, self.parts)

    def _draws_in(self, session: WorkerSession) -> bool:
        """Whether workers draw: their work stays in memory, and counts above the leaves fit a row.

        PySpark writes work of a megabyte or more to a file, and the key of the noise with it.
        """
        units = sum(self.tree.sizes[:-1])
        work = 8 * units + 64 * max(len(one.chunks) for one in self.layouts)
        row = units * max(one.cells for one in self.layouts)
        small = work < _LARGEST_WORK and row <= _LARGEST_ROW
        return self.tree.depth > 0 and small and session.has_workers()

    def _draw_in_workers(
        self, layout: _Layout, session: WorkerSession, dialect: Dialect, store: PartStore
    ) -> None:
        """The same parts, each drawn by the worker that holds its rows, stored in order."""
        last, ends = layout.parts.stop, self.ends
        missing = range(max(layout.first, len(store)), last + 1)
        spans = [(n, a, b) for n, (a, b) in zip(layout.parts, layout.chunks, strict=True)]
        sizes = {n: int(ends[b] - ends[a]) * layout.cells for n, a, b in spans}
        sizes[last] = self.tree.sizes[-2] * layout.cells
        told = [(p, n, ends[a]) for n, a, b in spans if n in missing for p in range(a, b)]
        columns = np.array(told, dtype=np.int64).reshape(-1, 3).T
        units = pa.table(dict(zip(("parent", "part", "first"), columns, strict=True)))
        select = self.order.facts.query.parts(session, dialect, layout.by, units, last)
        leaf, key = self.order.measurement(self.tree.depth), secrets.token_bytes(32)
        work = PartNoise(key, leaf, *self._laws(), sizes, last, layout.cells)
        made = session.map_parts(select, work, COLUMNS, missing)
        back = {**sizes, last: sum(self.tree.sizes[:-1]) * layout.cells}
        for number, batch in zip(missing, made, strict=True):
            [part], [drawn], [counts] = (one.to_pylist() for one in batch.columns)
            noise = np.frombuffer(counts, dtype="<i8")
            if (part, noise.size) != (number, back[number]):
                raise InvariantBroken(
                    f"part {number} of a release came back with another number of counts",
                    why="a worker made it of other facts, and it was not stored",
                    fix="report this as a fault",
                )
            count_drawn(drawn)
            store.draw(number, lambda noise=noise: noise)  # type: ignore[misc]
            tell("noise", number + 1, self.parts)

    # --- from here on, stored parts and public facts ---------------------------------------------

    def publish(self, store: PartStore, folder: Path) -> dict[tuple[str, str], Path]:
        """Write consistent tables, each whole or not at all."""
        names, by_name = self.order.facts.level_names, {one.name: one for one in self.layouts}
        files = {
            (name, level): folder / f"{name}-{level}.parquet" for name in by_name for level in names
        }
        jobs = self._jobs(by_name, files)
        for at, job in enumerate(jobs):
            name, upper = job.layout.name, self._upper(job, store)
            for level, counts in zip(names, upper, strict=False):
                self._write(files[name, level], job.layout, names.index(level), iter([(0, counts)]))
            leaves = self._leaves(job, store, upper)
            self._write(files[name, names[-1]], job.layout, self.tree.depth, leaves)
            tell("tables", at + 1, len(jobs))
        return files

    def _jobs(
        self, by_name: dict[str, _Layout], files: dict[tuple[str, str], Path]
    ) -> list[_LinkedTable]:
        """How each table agrees with others, in the order in which they are settled."""
        margins, links = {}, self.order.links()
        for link in links:
            if link.other is not None:
                both = [self._columns(by_name[name]) for name in (link.name, link.other)]
                sizes = [{column.name: column.size for column in one} for one in both]
                ours, theirs = (GroupedCells(one, link.shared) for one in sizes)
                paths = [files[link.other, level] for level in self.order.facts.level_names]
                margins[link.name] = Margin(ours, theirs, paths)
        found = []
        for link in links:
            layout = by_name[link.name]
            after = [by_name[one.name] for one in links if one.other == link.name]
            smaller = [(one, margins[one.name]) for one in after if one.cells <= layout.cells]
            found.append(_LinkedTable(layout, margins.get(link.name), tuple(smaller)))
        return found

    def _estimates(self, level: int, steps: Integers, cells: int) -> Estimates:
        """Noisy counts in rows, and their variance."""
        law = self.order.measurement(level)
        values = steps.reshape(-1, cells).astype(np.float64) * (law.step / FULL)
        return Estimates(values, np.full(len(values), law.view(Rows(None)).variance))

    def _noisy_leaves(self, layout: _Layout, store: PartStore, start: int, end: int) -> Estimates:
        """Noisy counts of the leaves of some units just above them."""
        ends, pieces = self.ends, []
        for number, (a, b) in zip(layout.parts, layout.chunks, strict=True):
            if a < end and start < b:
                low, high = ends[max(a, start)] - ends[a], ends[min(b, end)] - ends[a]
                pieces.append(store.read(number).reshape(-1, layout.cells)[low:high])
        return self._estimates(self.tree.depth, np.concatenate(pieces), layout.cells)

    def _best(self, layout: _Layout, store: PartStore) -> list[Estimates]:
        """Best estimates of all levels above the leaves, from the counts of one table."""
        tree, depth = self.tree, self.tree.depth
        starts = tree.first[depth - 1]
        added = [
            self._noisy_leaves(layout, store, a, b).added_up(starts[a:b] - starts[a])
            for a, b in layout.chunks
        ]
        below = Estimates(
            np.concatenate([one.values for one in added]),
            np.concatenate([one.variance for one in added]),
        )
        stored = np.split(
            store.read(layout.parts.stop), np.cumsum(np.array(tree.sizes[:-2]) * layout.cells)
        )
        measured = [self._estimates(k, one, layout.cells) for k, one in enumerate(stored)]
        return gather(tree, measured, below)

    def _upper(self, job: _LinkedTable, store: PartStore) -> list[Integers]:
        """Final counts of all levels above the leaves; a margin has public totals in it."""
        tree, depth, margin = self.tree, self.tree.depth, job.margin
        if not depth:
            return []
        best = self._best(job.layout, store)
        for layout, smaller in job.smaller:
            both = zip(best, self._best(layout, store), strict=True)
            best = [smaller.improve(*one) for one in both]
        found = self._fixed_levels(best) if margin is None else [margin.top(best[0])]
        for level in range(len(found), depth):
            given = best[level], tree.children(level - 1), found[-1]
            found.append(margin.settle(*given, margin.level(level)) if margin else settle(*given))
        return found

    def _fixed_levels(self, best: Sequence[Estimates]) -> list[Integers]:
        """Counts from the top down to the level with public totals; of the top alone without."""
        level = 0 if self.totals is None else self.totals[0]
        values = best[0].values
        for k in range(level):
            values = spread(best[k + 1], self.tree.children(k), values)
        found = [settle_totals(values, None if self.totals is None else self.totals[1])]
        for k in range(level - 1, -1, -1):
            found.insert(0, np.add.reduceat(found[0], self.tree.children(k), axis=0))
        return found

    def _leaves(
        self, job: _LinkedTable, store: PartStore, upper: Sequence[Integers]
    ) -> Iterator[tuple[int, Integers]]:
        """Final counts of leaves, part by part, each with the place of its first leaf."""
        depth, layout, margin = self.tree.depth, job.layout, job.margin
        leaves = [int(self.ends[b] - self.ends[a]) for a, b in layout.chunks]
        margins = iter(()) if margin is None else margin.leaves(leaves)
        for number, (start, end) in zip(layout.parts, layout.chunks, strict=True):
            measured = self._noisy_leaves(layout, store, start, end)
            for other, smaller in job.smaller:
                measured = smaller.improve(measured, self._noisy_leaves(other, store, start, end))
            if not depth:
                yield 0, margin.top(measured) if margin else self._fixed_levels([measured])[0]
                return
            first = self.tree.first[depth - 1][start:end]
            given = measured, first - first[0], upper[-1][start:end]
            whole = margin.settle(*given, next(margins)) if margin else settle(*given)
            yield int(first[0]), whole
            tell("consistency", number + 1, self.parts)

    def _write(
        self, path: Path, layout: _Layout, level: int, parts: Iterator[tuple[int, Integers]]
    ) -> None:
        new, columns = path.with_suffix(f".{os.getpid()}.new"), self._columns(layout)
        head = next(parts)
        table = self._table(level, *head, columns)
        with pq.ParquetWriter(new, table.schema, compression="zstd") as writer:
            writer.write_table(table)
            for part in parts:
                writer.write_table(self._table(level, *part, columns))
        new.replace(path)

    def _columns(self, layout: _Layout) -> list[Attribute]:
        by_name = {one.name: one for one in self.order.facts.columns}
        return [by_name[name] for name in layout.by]

    def _table(self, level: int, at: int, counts: Integers, columns: list[Attribute]) -> pa.Table:
        """Counts beside their units and cells, which repeat: they are written as dictionaries."""
        units, cells = counts.shape
        shown: dict[str, Any] = {}
        if level:
            rows = pa.array(
                self.tree.first[level][at : at + units]
            )  # of leaves, they are themselves
            each = pa.array(np.repeat(np.arange(units, dtype=np.int32), cells))
            for name in self.order.facts.levels[:level]:
                values = self.leaves.column(name).take(rows).combine_chunks()
                shown[name] = values.dictionary_encode().take(each)
        after = cells
        for one in columns:
            after //= one.size
            codes = np.arange(cells, dtype=np.int32) // after % one.size
            labels = pa.array(one.labels(), pa.string())
            shown[one.name] = pa.DictionaryArray.from_arrays(
                pa.array(np.tile(codes, units)), labels
            )
        shown[COUNT] = pa.array(counts.reshape(-1))
        return pa.table(shown)


def _fixed(order: CensusOrder, tree: Hierarchy, leaves: pa.Table) -> tuple[int, Integers] | None:
    """The level that has public totals, and the totals in the order of its units."""
    facts = order.facts
    if facts.invariants is None:
        return None
    level, said = facts.invariants
    names = [facts.top]
    if level:
        column = leaves.column(facts.levels[level - 1]).take(pa.array(tree.first[level]))
        names = [str(one) for one in column.to_pylist()]
    if len(set(names)) == len(names) and set(names) == said.keys():
        return level, np.array([said[name] for name in names], dtype=np.int64)
    raise InputError(
        f"invariants are not the totals of each {facts.level_names[level]}",
        why="each unit has one total, and units of one level have different names",
        fix="state one total for each of them, by the name in the geography",
    )


def _check_room(name: str, cells: int, tree: Hierarchy, chunks: Sequence[tuple[int, int]]) -> None:
    """Refuse, while nothing is charged yet, what no machine would hold."""
    ends = np.append(0, tree.leaf_ends)
    most = max(int(ends[b] - ends[a]) for a, b in chunks)
    if max(most, *tree.sizes[:-1], 1) * cells > _AT_ONCE:
        raise InputError(
            f"{name} has too many counts",
            why=f"{_AT_ONCE:,} of all units above the leaves, or of the leaves of one of them, "
            "are held at once",
            fix="group by fewer columns, use fewer bins, or add a level between",
        )


def survey_release(order: PlannedOrder, engine: Engine) -> None:
    """Refuse a geography, or totals, that do not suit, before anything is charged."""
    if isinstance(order, CensusOrder):
        _started(order, engine)


def run_release(
    ledger: Ledger, charge: int, resumed: ResumedOrder, folder: Path
) -> PublishedTables:
    """Draw what is missing of a charged release, then write its tables to a folder."""
    by, planned, engine, parts = resumed
    assert isinstance(planned, CensusOrder)  # noqa: S101 - narrowing: of this kind
    made = CensusRelease.from_bytes(ledger.release(charge) or b"")
    store = PartStore(parts, ledger, charge, by)
    run = _started(planned, engine)
    with metered() as meter, _own_words():
        run.draw(engine, store)
    ledger.let_go(charge)
    folder.mkdir(parents=True, exist_ok=True)
    files = run.publish(store, folder)
    return PublishedTables(charge, made, folder, files, meter.bytes)


def _started(order: CensusOrder, engine: Engine) -> CensusRun:
    with engine.snapshot() as session:
        return CensusRun(order, *read_geography(session, order.facts, engine.dialect))


@contextmanager
def _own_words() -> Iterator[None]:
    """Raise our own error for failures while data is read: an engine's may quote data."""
    try:
        yield
    except (InvariantBroken, LedgerError):
        raise
    except Exception:  # noqa: BLE001 - whatever it is
        raise EngineError(
            "the data of a release could not be read",
            why="the engine ran out of time, memory or disk, or met an unexpected error",
            fix="run it again: it continues where it stopped, under the same charge",
        ) from None
