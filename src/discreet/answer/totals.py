"""Exact totals, streamed from the engine through their mechanisms: noise slice by slice.

What is held for a group is its key and one noisy number for each statistic. The exact totals of one
slice are all that is held of those, however many groups there are.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.answer.measure import Measurement
from discreet.answer.showing import Showing
from discreet.engines.engine import ARROW, Session
from discreet.mechanisms import KeySelection
from discreet.plan.kinds import Kind, Value
from discreet.plan.query import key_types
from discreet.plan.statistics import Distinct, Ranks, Statistic
from discreet.sql.compile import Compiled

SLICE = 1 << 17
"""Groups that meet noise at once."""


@dataclass(frozen=True, slots=True)
class Totals:
    """The groups of an answer, k0, k1 and so on, and the noisy totals of each statistic."""

    keys: Mapping[str, pa.Array]
    groups: int
    statistics: Mapping[Statistic, NDArray[Any]]


def counted(compiled: Compiled) -> list[Statistic]:
    """The statistics that are totals of rows or people, in their order."""
    return [one for one in compiled.statistics if not isinstance(one, Ranks | Distinct)]


def put_domains(compiled: Compiled, session: Session) -> None:
    """Lend the engine the known values of each key and their places."""
    for i, of in enumerate(key_types(compiled.query)):
        if of.keys is not None:
            session.put(f"d{i}", _domain(of.keys, of.kind))


def known_totals(
    compiled: Compiled, plan: Mapping[Statistic, Measurement], session: Session
) -> Totals:
    """Noisy statistics of every combination of known keys, present or not, in their order."""
    keys, groups = known_keys(compiled)
    noisy: dict[Statistic, list[NDArray[Any]]] = {one: [] for one in counted(compiled)}
    for exact in dense(session.stream(compiled.placed_totals()), groups, len(noisy)):
        for (statistic, slices), totals in zip(noisy.items(), exact, strict=True):
            slices.append(plan[statistic].release(totals))
    return Totals(keys, groups, _joined(noisy))


def known_keys(compiled: Compiled) -> tuple[dict[str, pa.Array], int]:
    """Every combination of known keys, in their order, and how many there are."""
    domains = [_domain(of.keys or (), of.kind).column("k") for of in key_types(compiled.query)]
    sizes = [len(domain) for domain in domains]
    groups = math.prod(sizes)
    return _combined(domains, sizes, groups), groups


def _joined(noisy: dict[Statistic, list[NDArray[Any]]]) -> dict[Statistic, NDArray[Any]]:
    empty = np.empty(0, dtype=np.int64)
    return {one: np.concatenate([empty, *noisy.pop(one)]) for one in list(noisy)}


def dense(
    stream: Iterator[pa.RecordBatch], groups: int, columns: int
) -> Iterator[NDArray[np.int64]]:
    """Columns by place, in rising order, as slices in which every place has a number; 0 if none.

    How many slices there are depends on the number of places alone.
    """
    rows: list[NDArray[np.int64]] = []
    for first in range(0, groups, SLICE):
        end = min(first + SLICE, groups)
        slice_ = np.zeros((columns, end - first), dtype=np.int64)
        while rows or (rows := _next(stream)):
            cut = int(np.searchsorted(rows[0], end))
            for target, column in zip(slice_, rows[1:], strict=True):
                target[rows[0][:cut] - first] = column[:cut]
            rows = [column[cut:] for column in rows] if cut < rows[0].size else []
            if rows:
                break
        yield slice_


def _next(stream: Iterator[pa.RecordBatch]) -> list[NDArray[np.int64]]:
    """The columns of the next batch that has rows; none at the end."""
    for batch in stream:
        if batch.num_rows:
            return [column.to_numpy(zero_copy_only=False) for column in batch.columns]
    return []


def found_totals(
    compiled: Compiled,
    plan: Mapping[Statistic, Measurement],
    session: Session,
    selection: KeySelection | Showing,
) -> Totals:
    """Noisy statistics of the groups that are found, in the order of their keys."""
    batches = []
    noisy: dict[Statistic, list[NDArray[Any]]] = {one: [] for one in counted(compiled)}
    for whole in session.stream(compiled.totals()):
        batch = whole
        measured = {}
        match selection:
            case Showing():
                shared = selection.measurement.statistic
                counts = selection.measurement.release(_column(whole, compiled, shared))
                shown = selection.shows(counts)
                measured[shared] = counts[shown]
                batch = whole.filter(pa.array(shown))
            case KeySelection():
                batch = whole.filter(pa.array(selection.keeps(whole.column("people").to_numpy())))
        batches.append(batch.select(compiled.keys))
        for statistic, slices in noisy.items():
            if statistic not in measured:
                totals = _column(batch, compiled, statistic)
                measured[statistic] = plan[statistic].release(totals)
            slices.append(measured[statistic])
    groups = sum(batch.num_rows for batch in batches)
    # A chunked array of no chunks still has a type: there may be no groups at all.
    kinds = [ARROW[of.kind] for of in key_types(compiled.query)]
    keys = {
        name: pa.chunked_array([batch.column(name) for batch in batches], kind).combine_chunks()
        for name, kind in zip(compiled.keys, kinds, strict=True)
    }
    return Totals(keys, groups, _joined(noisy))


def _column(batch: pa.RecordBatch, compiled: Compiled, statistic: Statistic) -> NDArray[np.int64]:
    """The exact totals of a statistic."""
    name = f"t{compiled.statistics.index(statistic)}"
    totals: NDArray[np.int64] = batch.column(name).to_numpy(zero_copy_only=False)
    return totals


def _combined(domains: list[pa.ChunkedArray], sizes: list[int], groups: int) -> dict[str, pa.Array]:
    """Every combination of values, the last key changing fastest."""
    keys = {}
    places = np.arange(groups, dtype=np.int64)
    for i, domain in enumerate(domains):
        after = math.prod(sizes[i + 1 :])
        taken = domain.take(pa.array(places // after % sizes[i]))
        keys[f"k{i}"] = taken.combine_chunks()
    return keys


def _domain(values: tuple[Value, ...], kind: Kind) -> pa.Table:
    return pa.table(
        {"c": pa.array(np.arange(len(values), dtype=np.int64)), "k": pa.array(values, ARROW[kind])}
    )
