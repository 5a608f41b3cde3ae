"""A synthesis: the model of a table, rows drawn from it, and how wrong both may be.

Everything here is a function of released numbers and of a stored key, so reading it costs nothing
and always gives the same.
"""

import json
import math
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.noise.bits import FEW, Keystream, open_source
from discreet.plan.kinds import Value
from discreet.privacy import Guarantee
from discreet.rationals import read_exact, whole
from discreet.workload.domain import Attribute, Codes, Domain
from discreet.workload.estimation import targets
from discreet.workload.graphical_model import GraphicalModel
from discreet.workload.histogram import Clique, Floats, NoisyMarginal, total_variation
from discreet.workload.synthesizer import SynthesisResult

Condition = Value | tuple[Any, Any] | list[Value] | set[Value]
"""What a column has to be: a value, one of several, or between two ends of a tuple."""

MOST_SAMPLED = 100_000_000
"""Cells of a table that is drawn at once."""

_VERSION = 1

_BELOW_ONE = 1 - 2.0**-40

_PIECE = 1 << 16


class UniformNumbers:
    """Numbers from 0 to before 1 out of a 32-byte key: the same for the same key.

    Example:
        >>> bool((UniformNumbers(bytes(32)).draw(3) == UniformNumbers(bytes(32)).draw(3)).all())
        True
    """

    __slots__ = ("_bits",)

    def __init__(self, key: bytes) -> None:
        self._bits = Keystream(key)

    def words(self, count: int, bits: int) -> NDArray[np.uint64]:
        """The next whole numbers of that many bits."""
        return self._bits.words(count) >> np.uint64(64 - bits)

    def draw(self, count: int) -> Floats:
        """The next numbers; in pieces, which stay in the processor's cache."""
        drawn = np.empty(count)
        for start in range(0, count, _PIECE):
            piece = drawn[start : start + _PIECE]
            np.multiply(self.words(piece.size, 53), 2.0**-53, out=piece)
        return drawn


def fresh_key() -> bytes:
    """A secret key, to be stored with a synthesis."""
    return open_source(FEW).words(4).tobytes()


def conditioned(model: GraphicalModel, given: Mapping[str, NDArray[np.bool_]]) -> GraphicalModel:
    """The model of those rows whose cells are among some; its total is how many those are."""
    weights = {name: mask.astype(np.float64) for name, mask in given.items()}
    masks: dict[Clique, NDArray[np.bool_]] = {
        (name,): mask & model.allowed.get((name,), True) for name, mask in given.items()
    }
    return replace(model, total=model.count(weights), allowed={**model.allowed, **masks})


def sample_rows(model: GraphicalModel, count: int, numbers: UniformNumbers) -> Codes:
    """Rows of cells, columns in the order of the model's.

    Why: a clique's new columns are drawn given those it shares with its parent, by inverse
    transform. Within each group of rows that agree on the shared ones, the numbers transformed are
    evenly spaced in random order, so that counts differ from expectation by less than 1.
    """
    tree, places = model.tree, {name: i for i, name in enumerate(model.sizes)}
    rows: Codes = np.zeros((count, len(places)), dtype=np.int64, order="F")  # column by column
    for clique, shared, belief in zip(tree.cliques, tree.separators, model.beliefs, strict=True):
        new = tuple(name for name in clique if name not in shared)
        axes = [clique.index(name) for name in (*shared, *new)]
        sizes = [model.sizes[name] for name in new]
        table = belief.transpose(axes).reshape(-1, math.prod(sizes))
        group = _number(rows, shared, places, model.sizes)
        cells = _draw(table, group, numbers)
        for name, size in zip(reversed(new), reversed(sizes), strict=True):
            cells, rows[:, places[name]] = np.divmod(cells, size)
    return rows


def _number(
    rows: Codes, names: Clique, places: Mapping[str, int], sizes: Mapping[str, int]
) -> Codes:
    """The cells of some columns as one number."""
    number = np.zeros(rows.shape[0], dtype=np.int64)
    for name in names:
        number = number * sizes[name] + rows[:, places[name]]
    return number


def _sorted(keys: NDArray[np.uint64]) -> Codes:
    """The places of keys in rising order, of equal keys the first first: a stable argsort.

    Why: numbers are sorted several times as fast as places. So places are put under the keys' high
    bits and sorted with them, and those few whose high bits are equal are sorted again.
    """
    low = keys.size.bit_length()
    cut = max(0, int(keys.max(initial=0)).bit_length() + low - 64)
    packed = (keys >> np.uint64(cut) << np.uint64(low)) | np.arange(keys.size, dtype=np.uint64)
    packed.sort()
    order: Codes = (packed & np.uint64((1 << low) - 1)).astype(np.int64)
    packed >>= np.uint64(low)
    same = np.flatnonzero(packed[1:] == packed[:-1])
    again = np.union1d(same, same + 1)
    order[again] = order[again][np.lexsort((order[again], keys[order[again]]))]
    return order


def _draw(table: Floats, group: Codes, numbers: UniformNumbers) -> Codes:
    """A cell of row `group` of a table of weights, for each group, evenly."""
    order = _sorted(numbers.words(group.size, 40) + (group.astype(np.uint64) << np.uint64(40)))
    counts, groups = np.bincount(group, minlength=table.shape[0]), np.arange(table.shape[0])
    starts, sorted_ = np.cumsum(counts) - counts, np.repeat(groups, counts)
    rank = np.arange(group.size) - np.repeat(starts, counts)
    spaced = (rank + np.repeat(numbers.draw(groups.size), counts)) / np.repeat(counts, counts)
    ends = np.cumsum(table, axis=1)
    ends = np.divide(ends, ends[:, -1:], out=np.zeros_like(ends), where=ends[:, -1:] > 0)
    ladder = (ends + groups[:, None]).reshape(-1)
    place = np.searchsorted(ladder, sorted_ + spaced * _BELOW_ONE, side="right")
    cells = np.empty(group.size, dtype=np.int64)
    cells[order] = np.minimum(place - sorted_ * table.shape[1], table.shape[1] - 1)
    return cells


@dataclass(frozen=True, eq=False)
class Synthesis:
    """A model of a table, and what it was fitted to.

    `result` has measurements, model and misfit; `key` decides which rows are drawn.

    Guarantee:
        `guarantee`, for everything that is ever computed from it.
    Neighbours:
        As the guarantee says.
    """

    domain: Domain
    result: SynthesisResult
    key: bytes
    guarantee: Guarantee

    @property
    def model(self) -> GraphicalModel:
        """The graphical model; columns that end in ~ are coarse copies of others."""
        return self.result.model

    @property
    def rows(self) -> int:
        """The estimated number of rows; the exact one is never used."""
        return max(1, round(self.model.total))

    # --- rows -----------------------------------------------------------------------------------

    def table(
        self, rows: int | None = None, *, given: Mapping[str, Condition] | None = None
    ) -> pa.Table:
        """Synthetic rows with the original names and types; the same ones every time.

        `given` holds rows to conditions, as in `{"age": (18, 30), "city": ["Haifa", "Austin"]}`;
        their number is then, unless said, the estimated number of such rows.
        """
        model = self._given(given)
        most = MOST_SAMPLED // len(self.domain)
        estimated = min(max(1, round(model.total)), most)
        count = estimated if rows is None else whole(rows, "rows", at_least=0)
        if count > most:
            raise InputError(
                f"{count:,} rows of {len(self.domain)} columns at once",
                why=f"at most {MOST_SAMPLED:,} values are drawn in one piece",
                fix="ask for fewer rows",
            )
        numbers = UniformNumbers(self.key)
        codes = sample_rows(model, count, numbers)
        within = numbers.draw(count * len(self.domain)).reshape(count, len(self.domain))
        columns = dict(zip(model.sizes, codes.T, strict=True))
        return self.domain.decode([columns[name] for name in self.domain.names], within)

    def _given(self, given: Mapping[str, Condition] | None) -> GraphicalModel:
        if not given:
            return self.model
        model = conditioned(self.model, {n: met > 0 for n, met in self.met(given).items()})
        if model.total > 0:
            return model
        raise InputError(
            "no row can be as it is given",
            why="the model, or a constraint, has none of them",
            fix="give other values",
        )

    def met(self, conditions: Mapping[str, Condition]) -> dict[str, NDArray[np.int8]]:
        """How cells of columns meet conditions: 2 with all their values, 1 with some, 0 without."""
        return {name: _met(self.domain[name], one) for name, one in conditions.items()}

    # --- how wrong it may be --------------------------------------------------------------------

    @cached_property
    def _errors(self) -> dict[Clique, float]:
        """The estimated total variation distance of each pair; noise may make it negative."""
        return {pair: l1 / (2 * self.model.total) for pair, l1 in self.result.distances.items()}

    @property
    def error_half_width(self) -> float:
        """How far the stated error of a pair is off at most, 95 times in 100."""
        return 1.96 * self.result.distance_sigma / (2 * self.model.total)

    def mean_error(self) -> float:
        """The mean total variation distance between model and data over pairs of columns.

        NaN where no pair was checked: of one column, or where all tables are too large.
        """
        return self.mean_error_interval()[0]

    def mean_error_interval(self) -> tuple[float, float, float]:
        """The mean error of pairs and both ends of its 95 % interval."""
        if not self._errors:
            return math.nan, math.nan, math.nan
        mean = float(np.mean(list(self._errors.values())))
        width = self.error_half_width / math.sqrt(len(self._errors))
        return _share(mean), _share(mean - width), _share(mean + width)

    def report(self) -> pa.Table:
        """Each marginal: its cells, how well it was measured, and how wrong the model is there.

        `error` is the total variation distance to the data as a noisy check found it, between
        `error_low` and `error_high` 95 times in 100, NULL where none was made. `noise` is what
        noise alone does to the marginal as it was measured, once or several times; `misfit` is how
        far the model is from it.
        """
        measured = targets(self.result.measured)
        cliques = [*measured, *(pair for pair in self._errors if pair not in measured)]
        sizes = {**self.domain.sizes, **self.model.sizes}
        share = math.sqrt(2 / math.pi) / (2 * self.model.total)
        width = self.error_half_width
        parts = {
            "sigma": {one: at.sigma for one, at in measured.items()},
            "noise": {one: share * at.sigma * at.counts.size for one, at in measured.items()},
            "misfit": {
                one: total_variation(self.model.marginal(one), at.counts)
                for one, at in measured.items()
            },
            "error": {one: _share(e) for one, e in self._errors.items()},
            "error_low": {one: _share(e - width) for one, e in self._errors.items()},
            "error_high": {one: _share(e + width) for one, e in self._errors.items()},
        }
        return pa.table(
            {
                "columns": [" x ".join(one) for one in cliques],
                "cells": [math.prod(sizes[n] for n in one) for one in cliques],
                "measured": [one in measured for one in cliques],
                **{n: pa.array(map(v.get, cliques), pa.float64()) for n, v in parts.items()},
            }
        )

    # --- storage --------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """The stored form; the same synthesis gives the same bytes."""
        model, result = self.model, self.result
        arrays: list[tuple[str, NDArray[Any]]] = [
            *(("<i8", one.steps) for one in result.measured),
            *(("<f8", one) for one in model.potentials.values()),
            *(("|u1", one) for one in model.allowed.values()),
        ]
        about = {
            "version": _VERSION,
            "domain": self.domain.to_dict(),
            "tells_open_ends": True,
            "measured": [one.to_dict() for one in result.measured],
            "sizes": dict(model.sizes),
            "potentials": [list(one) for one in model.potentials],
            "allowed": [list(one) for one in model.allowed],
            "total": model.total,
            "misfit": result.misfit,
            "distances": [[list(pair), one] for pair, one in result.distances.items()],
            "distance_sigma": result.distance_sigma,
            "spent": str(result.spent),
            "key": self.key.hex(),
            "guarantee": self.guarantee.to_dict(),
        }
        body = b"".join(np.ascontiguousarray(a).astype(kind).tobytes() for kind, a in arrays)
        return zlib.compress(json.dumps(about).encode() + b"\n" + body, 6)

    @staticmethod
    def from_bytes(stored: bytes) -> "Synthesis":
        """The synthesis that `to_bytes` wrote."""
        try:
            head, _, body = zlib.decompress(stored).partition(b"\n")
            about = json.loads(head)
            if about["version"] != _VERSION:
                raise _unreadable()
            return _read(about, body)
        except (
            *(zlib.error, LookupError, TypeError, ValueError),
            *(ArithmeticError, AttributeError, RecursionError),
        ) as wrong:
            raise _unreadable() from wrong


def _read(about: Mapping[str, Any], body: bytes) -> Synthesis:
    sizes, at = about["sizes"], 0

    def take(clique: Iterable[str], kind: str) -> NDArray[Any]:
        nonlocal at
        shape = [all_sizes[name] for name in clique]
        count = math.prod(shape)
        found = np.frombuffer(body, dtype=kind, count=count, offset=at).reshape(shape)
        at += found.nbytes
        return found

    domain = Domain.from_dict(about["domain"])
    if "tells_open_ends" not in about:  # written earlier: any bins may have been chosen privately
        domain = Domain(tuple(replace(one, open_ended=bool(one.edges)) for one in domain))
    all_sizes = {**domain.sizes, **sizes}
    measured = tuple(
        NoisyMarginal.from_dict(one, take(one["clique"], "<i8")) for one in about["measured"]
    )
    potentials = {tuple(one): take(one, "<f8") for one in about["potentials"]}
    allowed = {tuple(one): take(one, "|u1").astype(bool) for one in about["allowed"]}
    result = SynthesisResult(
        measured,
        GraphicalModel(sizes, potentials, about["total"], allowed),
        about["misfit"],
        {tuple(pair): one for pair, one in about["distances"]},
        about["distance_sigma"],
        read_exact(str(about["spent"])),
    )
    key = bytes.fromhex(about["key"])
    return Synthesis(domain, result, key, Guarantee.from_dict(about["guarantee"]))


def _share(value: float) -> float:
    return min(1.0, max(0.0, value))


def _unreadable() -> InputError:
    return InputError(
        "stored bytes cannot be read as a synthesis",
        why="they are damaged, or another version of the package wrote them",
        fix="use the version that wrote them, or a later one",
    )


def _met(attribute: Attribute, condition: Any) -> NDArray[np.int8]:
    met = np.zeros(attribute.size, dtype=np.int8)
    listed = condition if isinstance(condition, (list, set, frozenset)) else [condition]
    if any(isinstance(one, tuple) and None in one for one in listed):
        raise InputError("a range to None", why="None is NULL, in no range", fix="state both ends")
    if isinstance(condition, tuple) and not attribute.edges:
        low, high = condition
        inside = [v is not None and low <= v <= high for v in attribute.values]
        met[: len(inside)] = 2 * np.array(inside)
        return met
    for one in listed:
        low, high = one if isinstance(one, tuple) else (one, one)
        ends = attribute.cell_of(low), attribute.cell_of(high)
        met[ends[0] : ends[1] + 1] = 2
        for cell in ends if attribute.edges and low is not None else ():
            met[cell] -= met[cell] == 2 and not attribute.is_within(cell, low, high)
    return met
