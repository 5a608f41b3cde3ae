"""Exact totals, streamed from the engine through their mechanisms: noise slice by slice.

What is held for a group is its key and one noisy number for each statistic. The exact totals of one
slice are all that is held of those, however many groups there are.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.answer.plan.measure import Measurement
from discreet.answer.plan.sql_statements import SetStatements
from discreet.answer.plan.thresholded_count import ThresholdedCount
from discreet.engines.engine import ARROW, Session
from discreet.mechanisms import KeySelection
from discreet.plan.bounding import ContributionBounds
from discreet.plan.kinds import Kind, Value
from discreet.plan.query import Query
from discreet.plan.remembered import remember
from discreet.plan.statistics import Distinct, Ranks

SLICE = 1 << 17
"""Groups that meet noise at once."""


@dataclass(frozen=True, slots=True)
class Totals:
    """The groups of an answer, k0, k1 and so on, and the noisy numbers of each strategy."""

    keys: Mapping[str, pa.Array]
    groups: int
    numbers: tuple[NDArray[Any], ...]


def _counted(measurements: Sequence[Measurement]) -> list[Measurement]:
    """The statistics that are totals over rows or people, in order."""
    apart = Ranks | Distinct
    return [one for one in measurements if not isinstance(one.strategy.statistics[0], apart)]


def put_domains(query: Query, session: Session, longer_than: int = -1) -> None:
    """Lend the engine the known values of each key and their places, those of long lists alone."""
    for i, of in enumerate(query.key_types):
        if of.keys is not None and (len(of.keys) > longer_than or not of.keys):
            session.put(f"d{i}", _domain(of.keys, of.kind))


def known_totals(
    statements: SetStatements,
    contributions: ContributionBounds,
    measurements: Sequence[Measurement],
    session: Session,
) -> Totals:
    """Noisy numbers of every combination of known keys, present or not, in their order."""
    keys, groups = known_keys(statements.plan.query)
    places = [
        i
        for i, one in enumerate(statements.compiled.statistics)
        if not isinstance(one, Ranks | Distinct)
    ]
    noisy: list[list[list[NDArray[Any]]]] = [[] for _ in _counted(measurements)]
    stream = session.stream(statements.totals(contributions), groups)
    for exact in dense(stream, groups, len(places)):
        by_place = dict(zip(places, exact, strict=True))
        for slices, one in zip(noisy, _counted(measurements), strict=True):
            slices.append(one.release([by_place[i] for i in _places(statements, one)]))
    return Totals(keys, groups, _joined(noisy, _counted(measurements)))


def _places(statements: SetStatements, measurement: Measurement) -> list[int]:
    """Positions of a strategy's totals among the totals of the question."""
    return [statements.compiled.statistics.index(one) for one in measurement.strategy.statistics]


def known_keys(query: Query) -> tuple[dict[str, pa.Array], int]:
    """Every combination of known keys, in their order, and how many there are."""
    domains = [_domain(of.keys or (), of.kind).column("k") for of in query.key_types]
    sizes = [len(domain) for domain in domains]
    groups = math.prod(sizes)
    return _combined(domains, sizes, groups), groups


def _joined(
    noisy: list[list[list[NDArray[Any]]]], measurements: Sequence[Measurement]
) -> tuple[NDArray[Any], ...]:
    """Slices of all numbers of all strategies, one after another."""
    empty = np.empty(0, dtype=np.int64)
    return tuple(
        np.concatenate([empty, *(slice_[i] for slice_ in slices)])
        for slices, one in zip(noisy, measurements, strict=True)
        for i in range(len(one.strategy.combinations))
    )


def dense(
    stream: Iterator[pa.RecordBatch], groups: int, columns: int, ends: Iterable[int] | None = None
) -> Iterator[NDArray[np.int64]]:
    """Columns by place, in rising order, as slices in which every place has a number; 0 if none.

    How many slices there are depends on the number of places alone, or on where they are to end.
    """
    rows: list[NDArray[np.int64]] = []
    first = 0
    for end in ends or (min(at + SLICE, groups) for at in range(0, groups, SLICE)):
        slice_ = np.zeros((columns, end - first), dtype=np.int64)
        while rows or (rows := _next(stream)):
            cut = int(np.searchsorted(rows[0], end))
            for target, column in zip(slice_, rows[1:], strict=True):
                target[rows[0][:cut] - first] = column[:cut]
            rows = [column[cut:] for column in rows] if cut < rows[0].size else []
            if rows:
                break
        yield slice_
        first = end


def _next(stream: Iterator[pa.RecordBatch]) -> list[NDArray[np.int64]]:
    """The columns of the next batch that has rows; none at the end."""
    for batch in stream:
        if batch.num_rows:
            return [column.to_numpy(zero_copy_only=False) for column in batch.columns]
    return []


def found_totals(
    statements: SetStatements,
    contributions: ContributionBounds,
    measurements: Sequence[Measurement],
    session: Session,
    selection: KeySelection | ThresholdedCount,
) -> Totals:
    """Noisy numbers of the groups that are found, in the order of their keys."""
    compiled, counted, batches = statements.compiled, _counted(measurements), []
    noisy: list[list[list[NDArray[Any]]]] = [[] for _ in counted]
    for whole in session.stream(statements.totals(contributions)):
        if isinstance(selection, ThresholdedCount):
            [counts] = selection.count.measurement.release(
                _columns(whole, statements, selection.count.measurement)
            )
            shown = selection.shows(counts)
        else:
            shown = selection.keeps(whole.column("people").to_numpy())
        batch = whole.filter(pa.array(shown))
        batches.append(batch.select(compiled.keys))
        for slices, one in zip(noisy, counted, strict=True):
            if isinstance(selection, ThresholdedCount) and one == selection.count.measurement:
                slices.append([counts[shown]])
            else:
                slices.append(one.release(_columns(batch, statements, one)))
    groups = sum(batch.num_rows for batch in batches)
    # A chunked array of no chunks still has a type: there may be no groups at all.
    kinds = [ARROW[of.kind] for of in compiled.query.key_types]
    keys = {
        name: pa.chunked_array([batch.column(name) for batch in batches], kind).combine_chunks()
        for name, kind in zip(compiled.keys, kinds, strict=True)
    }
    return Totals(keys, groups, _joined(noisy, counted))


def _columns(
    batch: pa.RecordBatch, statements: SetStatements, measurement: Measurement
) -> list[NDArray[np.int64]]:
    """The exact totals of the statistics of a strategy."""
    names = [f"t{place}" for place in _places(statements, measurement)]
    return [batch.column(name).to_numpy(zero_copy_only=False) for name in names]


def _combined(domains: list[pa.ChunkedArray], sizes: list[int], groups: int) -> dict[str, pa.Array]:
    """Every combination of values, the last key changing fastest."""
    if len(domains) == 1:
        return {"k0": domains[0].combine_chunks()}
    keys = {}
    places = np.arange(groups, dtype=np.int64)
    for i, domain in enumerate(domains):
        after = math.prod(sizes[i + 1 :])
        taken = domain.take(pa.array(places // after % sizes[i]))
        keys[f"k{i}"] = taken.combine_chunks()
    return keys


@remember(16)  # by identity: a table's public keys are one value, whoever asks
def _domain(values: tuple[Value, ...], kind: Kind) -> pa.Table:
    return pa.table(
        {"c": pa.array(np.arange(len(values), dtype=np.int64)), "k": pa.array(values, ARROW[kind])}
    )
