"""Noisy measurements as they are stored with their charge, before anything is computed from them.

Exact integers have met their noise; nothing here was estimated, scaled or shown yet. Whatever
follows (`discreet.answer.present`) is a function of these bytes and of the question, so a second
attempt sees the same noise.
"""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.answer.plan.contribution_histogram import ClippedShare
from discreet.answer.present.base_release import Cost
from discreet.errors import InputError
from discreet.plan.bounding import ContributionBounds
from discreet.privacy import Guarantee

_VERSION = 2

_STUMBLES: Final = (
    *(pa.ArrowException, OSError, LookupError, TypeError, ValueError),
    *(ArithmeticError, AttributeError, RecursionError),
)
"""How reading fails where bytes are something else."""


@dataclass(frozen=True, slots=True, eq=False)
class NoisyMeasurements:
    """The noisy integers measured for one grouping set.

    `keys` are called k0, k1 and so on. `numbers` has an array for each number of each strategy that
    noise is added to, in the order of `SetPlan.added`; `cells` the chosen cell of each quantile by
    the name of its aggregate. `spent` is what each part gave away, as its mechanism says.
    `clipped` is what limits on rows and on groups that the system chose cut off.
    """

    contributions: ContributionBounds
    keys: Mapping[str, pa.Array]
    groups: int
    numbers: tuple[NDArray[Any], ...]
    cells: Mapping[str, NDArray[np.int64]]
    spent: tuple[Cost, ...] = ()
    clipped: Mapping[str, ClippedShare] = field(default_factory=dict)
    brackets: Mapping[str, tuple[NDArray[np.int64], NDArray[np.int64]]] = field(
        default_factory=dict
    )
    """The cells of both ends of the intervals of quantiles, for those that have one."""
    public: Mapping[str, pa.Table] = field(default_factory=dict)
    """The rows of public tables that are computed with, in the first set of a question."""


def pack(drawn: Sequence[NoisyMeasurements]) -> bytes:
    """All grouping sets of a question as bytes: one Arrow stream after another."""
    streams = [_stream(one) for one in drawn]
    sizes = json.dumps({"version": _VERSION, "sizes": [len(stream) for stream in streams]})
    return b"\n".join([sizes.encode(), b"".join(streams)])


def unpack(stored: bytes) -> list[NoisyMeasurements]:
    """The measurements that `pack` wrote."""
    with reading_stored("noisy measurements"):
        head, _, rest = stored.partition(b"\n")
        about = json.loads(head)
        if about["version"] != _VERSION:
            raise ValueError
        ends = np.cumsum([0, *about["sizes"]])
        return [_read(memoryview(rest)[first:end]) for first, end in pairwise(ends)]


def _stream(drawn: NoisyMeasurements) -> bytes:
    columns: dict[str, pa.Array] = {name: blanked(key) for name, key in drawn.keys.items()}
    columns |= {f"s{i}": _integers(totals) for i, totals in enumerate(drawn.numbers)}
    columns |= {f"c{i}": pa.array(cells) for i, cells in enumerate(drawn.cells.values())}
    for i, ends in enumerate(drawn.brackets.values()):
        columns |= {f"l{i}": pa.array(ends[0]), f"h{i}": pa.array(ends[1])}
    about: dict[str, Any] = {
        "keys": list(drawn.keys),
        "groups": drawn.groups,
        "numbers": len(drawn.numbers),
        "cells": list(drawn.cells),
        "weighing": drawn.contributions.stored(),
        "spent": [[one.what, one.noise, one.guarantee.to_dict()] for one in drawn.spent],
        "clipped": {what: one.stored() for what, one in drawn.clipped.items()},
        **({"intervals": list(drawn.brackets)} if drawn.brackets else {}),
    }
    if drawn.public:
        tables = {name: arrow_bytes(rows) for name, rows in drawn.public.items()}
        about["public"] = {name: base64.b64encode(one).decode() for name, one in tables.items()}
    return streamed(columns, about)


def _read(stream: memoryview) -> NoisyMeasurements:
    table = pa.ipc.open_stream(pa.py_buffer(stream)).read_all()
    about = json.loads(table.schema.metadata[b"about"])
    if "brackets" in about:  # chosen after their quantiles, by an earlier version
        raise ValueError
    return NoisyMeasurements(
        ContributionBounds.read(about["weighing"]),
        {name: table.column(name).combine_chunks() for name in about["keys"]},
        about["groups"],
        tuple(_numbers(table.column(f"s{i}")) for i in range(about["numbers"])),
        {name: _numbers(table.column(f"c{i}")) for i, name in enumerate(about["cells"])},
        tuple(Cost(what, noise, Guarantee.from_dict(paid)) for what, noise, paid in about["spent"]),
        {what: ClippedShare(*one) for what, one in about["clipped"].items()},
        {
            name: (_numbers(table.column(f"l{i}")), _numbers(table.column(f"h{i}")))
            for i, name in enumerate(about.get("intervals", ()))
        },
        {
            name: pa.ipc.open_stream(base64.b64decode(text)).read_all()
            for name, text in about.get("public", {}).items()
        },
    )


def _integers(totals: NDArray[Any]) -> pa.Array:
    """Whole numbers; as text where one is too long for 64 bits."""
    return pa.array(totals if totals.dtype == np.int64 else [str(one) for one in totals.tolist()])


def _numbers(column: pa.ChunkedArray) -> NDArray[Any]:
    if pa.types.is_string(column.type):
        return np.array([int(one) for one in column.to_pylist()], dtype=object)
    numbers: NDArray[np.int64] = column.to_numpy()
    return numbers


# --- what is stored -----------------------------------------------------------------------------


def cleaned(table: pa.Table) -> pa.Table:
    """The same values in one piece, with nothing left standing in memory under a NULL.

    Why: Arrow says which slots are NULL and leaves their bytes alone. Bytes that an engine left
    there were never released, and would make equal tables unequal once they are stored.
    """
    columns = [blanked(table.column(i)) for i in range(table.num_columns)]
    return pa.table(columns, schema=pa.schema([pa.field(f.name, f.type) for f in table.schema]))


def blanked(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column as one array that holds zeros wherever it is NULL."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if whole.offset:
        whole = pa.concat_arrays([whole, whole.slice(0, 0)])  # a copy, which begins at 0
    if not whole.null_count:
        return pa.Array.from_buffers(whole.type, len(whole), [None, *whole.buffers()[1:]])
    filled = pc.fill_null(whole, _zero(whole.type))
    valid = pc.is_valid(whole).buffers()[1]  # booleans are bits, as validity is
    return pa.Array.from_buffers(whole.type, len(whole), [valid, *filled.buffers()[1:]])


def _zero(kind: pa.DataType) -> pa.Scalar:
    if pa.types.is_string(kind):
        return pa.scalar("", kind)
    if pa.types.is_boolean(kind):
        return pa.scalar(False)  # noqa: FBT003 - the value itself
    whole = pa.int32() if pa.types.is_date32(kind) else pa.int64()
    return pa.scalar(0, whole).cast(kind)


def known(width: pa.Array) -> pa.Array:
    """Half-widths, NULL where there is none."""
    return pc.if_else(pc.is_finite(width), width, pa.scalar(None, pa.float64()))


def streamed(columns: Mapping[str, Any], about: Mapping[str, Any]) -> bytes:
    """Columns as an Arrow stream, with facts about them in its metadata."""
    metadata = {b"about": json.dumps(about).encode()}
    return arrow_bytes(pa.table(dict(columns)).replace_schema_metadata(metadata))


def arrow_bytes(table: pa.Table) -> bytes:
    """A table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


@contextmanager
def reading_stored(what: str) -> Iterator[None]:
    """Refuse in one way bytes that are not what `to_bytes` of a release wrote."""
    try:
        yield
    except InputError:
        raise
    except _STUMBLES as wrong:
        raise InputError(
            f"stored bytes cannot be read as {what}",
            why="they are damaged, or something else, or another version of the package wrote them",
            fix="restore them from an intact copy, or use the version that wrote them",
        ) from wrong
