"""The hypothesis of an online session, and intervals of its answers: public, from measurements.

A graphical model: the distribution of largest entropy that agrees with the measurements. Small
universes become one table of all cells where queries ask for it; large ones stay factored. Where
all pairs of columns were measured at once, which no such model could hold, each marginal is fitted
to its own pairs.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import combinations
from math import prod
from statistics import NormalDist
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.workload.counting_query import CountingQuery
from discreet.workload.domain import Domain
from discreet.workload.estimation import Fit, fit, targets
from discreet.workload.graphical_model import GraphicalModel, TableTooLarge, tree_cells
from discreet.workload.histogram import Clique, Floats, NoisyMarginal, sums_of

Number = TypeVar("Number", np.int64, np.float64)

DENSE_CELLS: Final = 10**7
"""Cells of the product of all columns up to which a model may hold each of them."""

MODEL_CELLS: Final = 1 << 17
"""Cells of the tables of a model of a larger universe: its memory and time, for any query."""

_TABLE_CELLS: Final = 1 << 23
"""Cells of a table that is made on the way to a marginal."""

KEPT_CELLS: Final = 1 << 22
"""Cells of marginals that are remembered, for any query."""

_ITERATIONS: Final = 60


class Hypothesis:
    """A belief about how many rows are in each cell of a domain, which answers anything for free.

    A marginal that would make the model too large is learnt as those of its parts that fit: pairs
    of its columns, summed from the same noisy cells. `pairs` are not learnt by the model, except
    the counts of their columns: marginals agree with them, freed of noise, instead.

    Guarantee:
        Post-processing: made of noisy measurements and public facts alone.
    """

    def __init__(
        self,
        domain: Domain,
        measurements: Sequence[NoisyMarginal],
        *,
        pairs: Collection[Clique] = (),
        before: "Hypothesis | None" = None,
    ) -> None:
        self.domain, self.measurements = domain, tuple(measurements)
        self._known: dict[Clique, Floats] = {}
        self._pairs = frozenset(pairs)
        self._lessons: list[NoisyMarginal] = [] if before is None else list(before._lessons)  # noqa: SLF001 - of the same class
        for one in self.measurements[0 if before is None else len(before.measurements) :]:
            self._lessons += self._learnable(one)
        start = Fit(GraphicalModel(domain.sizes, {}, 1.0)) if before is None else before._fit  # noqa: SLF001 - of the same class
        self._fit: Fit = fit(start.model, self._lessons, iterations=_ITERATIONS, step=start.step)
        self._model = self._fit.model

    @property
    def rows(self) -> float:
        """How many rows it believes that there are."""
        return self._model.total

    def marginal(self, clique: Clique) -> Floats:
        """How many rows it believes to be in each cell of some columns."""
        found = self._known.get(clique)
        if found is None:
            found = self._marginal(clique)
            pairs = set(combinations(clique, 2))
            inside = [(pair, table) for pair, table in self._tables.items() if pair in pairs]
            found = raked(found, clique, dict(inside[: pairs_fitted(found.shape, len(inside))]))
            keep(self._known, clique, found)
        return found

    @cached_property
    def _tables(self) -> dict[Clique, Floats]:
        """The tables of pairs that were measured together, without noise; most dependent first."""
        wanted = targets([one for one in self.measurements if one.clique in self._pairs])
        sums = {name: self._model.marginal((name,)) for name in self.domain.names}
        found = {
            (a, b): shrunk_pair(one.counts, one.sigma, sums[a], sums[b])
            for (a, b), one in wanted.items()
        }
        alone = {(a, b): np.outer(sums[a], sums[b]) / max(self.rows, 1.0) for a, b in found}
        order = sorted(found, key=lambda pair: -float(np.abs(found[pair] - alone[pair]).sum()))
        return {pair: found[pair] for pair in order}

    def _marginal(self, clique: Clique) -> Floats:
        """A marginal; one that joins far parts of the model is computed slice by slice.

        Why: on the way its table is multiplied by what the parts between have in common.
        """
        try:
            return self._model.marginal(clique, most=_TABLE_CELLS)
        except TableTooLarge:
            pass
        sizes = self.domain.sizes
        split = max(clique, key=sizes.__getitem__)
        rest = tuple(name for name in clique if name != split)
        slices = [
            self._model.total * self._model._contract(rest, {split: one})  # noqa: SLF001 - a slice
            for one in np.eye(sizes[split])
        ]
        return np.stack(slices, axis=clique.index(split))

    def updated(self, new: NoisyMarginal) -> "Hypothesis":
        """The hypothesis after learning one more measurement."""
        kept = (*self.measurements, new)
        return Hypothesis(self.domain, kept, pairs=self._pairs, before=self)

    def _learnable(self, one: NoisyMarginal) -> list[NoisyMarginal]:
        """A measurement, or what of it keeps the model small enough."""
        if one.clique in self._pairs:
            return [_part(one, (name,)) for name in one.clique]
        learnt = [lesson.clique for lesson in self._lessons]
        whole = prod(self.domain.shape())
        most = max(MODEL_CELLS, whole if whole <= DENSE_CELLS else 0)
        found: list[NoisyMarginal] = []
        for width in range(len(one.clique), -1, -1):
            for part in combinations(one.clique, width):
                cliques = [*learnt, *(lesson.clique for lesson in found), part]
                if tree_cells(self.domain.sizes, cliques) <= most:
                    found.append(_part(one, part))
            if found:
                break
        return found


def _part(one: NoisyMarginal, part: Clique) -> NoisyMarginal:
    """The noisy marginal of some of its columns; noise adds up with the cells."""
    if part == one.clique:
        return one
    steps = one.steps.sum(axis=sums_of(one.clique, part))
    cells = one.steps.size // max(1, np.size(steps))
    return replace(one, clique=part, steps=np.asarray(steps), variance=one.variance * cells)


def keep(known: dict[Clique, NDArray[Number]], clique: Clique, found: NDArray[Number]) -> None:
    """Remember a marginal; where that would be too much, forget all others first."""
    if sum(one.size for one in known.values()) + found.size > KEPT_CELLS:
        known.clear()
    known[clique] = found


# --- answers and their intervals ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OnlineAnswer:
    """How many rows a query counts, with an interval that holds the exact answer.

    `checked`: sparse vector compared the hypothesis with the data and found it close. `bought`: the
    hypothesis was far off, and the marginal of the query was measured. Neither: the comparison
    said no, or none is left, and the interval rests on earlier measurements.
    """

    value: float
    low: float
    high: float
    confidence: float
    checked: bool
    bought: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)


def interval_of(
    query: CountingQuery,
    hypothesis: Hypothesis,
    confidence: float,
    *,
    gate: Callable[[float], float] | None = None,
    bought: bool = False,
) -> OnlineAnswer:
    """An answer and its interval.

    Guarantee:
        Whatever the data, the interval holds the exact bounded count with `confidence`. It says
        nothing of rows that were left out or weighed less to bound a person.
    Why:
        Every measurement bounds the query from above by the sum of its own cells that the query
        can count, and from below by that sum less the rows that fail the query's other columns.
        `gate` bounds the distance from the hypothesis. Each of these fails with at most an equal
        share of 1 - confidence, so that all hold together. What does not overlap by chance is left
        out, the gate first.
    """
    believed = float(query.total(hypothesis.marginal(query.clique)))
    useful = [one for one in hypothesis.measurements if _is_useful(one, query)]
    share = (1 - confidence) / (2 * len(useful) + 1 + (gate is not None))
    low, high = _measured(query, hypothesis.domain, useful, share)
    if gate is not None:
        reach = gate(1 - share)
        if max(low, believed - reach) <= min(high, believed + reach):
            low, high = max(low, believed - reach), min(high, believed + reach)
    value = min(max(believed, low), high)
    return OnlineAnswer(value, low, high, confidence, gate is not None, bought)


def _is_useful(one: NoisyMarginal, query: CountingQuery) -> bool:
    """Whether a measurement covers the whole query, or one of its columns."""
    columns = set(query.clique)
    return columns <= set(one.clique) or (len(one.clique) == 1 and one.clique[0] in columns)


def _measured(
    query: CountingQuery, domain: Domain, useful: list[NoisyMarginal], share: float
) -> tuple[float, float]:
    """Bounds from measurements alone: each bounds what it counts, and what it does not."""
    lows, highs, failing = [0.0], [np.inf], []
    for one in useful:
        part = query.over(one.clique, domain)
        inside = float(part.total(one.steps)) / one.row_weight
        width = _width(one, part.size, share)
        highs.append(inside + width)
        if len(one.clique) >= len(query.clique):
            lows.append(inside - width)
        else:
            outside = _width(one, one.steps.size - part.size, share)
            everybody = float(one.steps.sum()) / one.row_weight
            failing.append((everybody - inside + outside, inside - width))
    for lost, inside in failing:  # of the rows that pass here, those that fail nowhere else
        others = sum(max(0.0, one) for one, _ in failing) - max(0.0, lost)
        lows.append(inside - others)
    high = max(0.0, min(highs))
    return min(max(lows), high), high


def _width(one: NoisyMarginal, cells: int, share: float) -> float:
    """A bound on the noise of that many cells; rounding adds a twelfth of a step squared."""
    deviation = (cells * (one.sigma**2 + 1 / (12 * one.row_weight**2))) ** 0.5
    return float(-NormalDist().inv_cdf(share / 2) * deviation)


# --- stored -------------------------------------------------------------------------------------


def pack(measurements: Sequence[NoisyMarginal]) -> bytes:
    """Measurements as bytes, the same for the same ones; `unpack` reads them."""
    heads: list[Any] = [{**one.to_dict(), "shape": list(one.steps.shape)} for one in measurements]
    text = json.dumps(heads, sort_keys=True, separators=(",", ":")).encode()
    numbers = [np.ascontiguousarray(one.steps, dtype="<i8").tobytes() for one in measurements]
    return b"".join([len(text).to_bytes(8, "little"), text, *numbers])


def unpack(stored: bytes) -> tuple[NoisyMarginal, ...]:
    """Read what `pack` wrote."""
    end = 8 + int.from_bytes(stored[:8], "little")
    found = []
    for head in json.loads(stored[8:end]):
        shape = tuple(head.pop("shape"))
        size = 8 * int(np.prod(shape, dtype=np.int64))
        steps = np.frombuffer(stored[end : end + size], dtype="<i8").astype(np.int64)
        end += size
        found.append(NoisyMarginal.from_dict(head, steps.reshape(shape)))
    if end != len(stored):
        raise InputError(
            "measurements cannot be read",
            why="there are more or fewer bytes than they say",
            fix="pass the bytes that were stored",
        )
    return tuple(found)


# --- tables of pairs of columns -------------------------------------------------------------------

_ROUNDS: Final = 12
_CLOSE: Final = 1e-4
_LEAST: Final = 1e-9
"""Rounds of proportional fitting at most, the share of rows at which it stops, and the least share
of what independent columns would have that a cell keeps."""

MOST_WORK: Final = 9 * 10**6
"""Cells x axes x pairs of one table that is fitted to pairs: some 50 ms, most of it with many small
axes, over which sums are slow. It is enough for all pairs of three columns of any size."""


def shrunk_pair(noisy: Floats, sigma: float, rows: Floats, columns: Floats) -> Floats:
    """A noisy table of two columns, freed of noise, with the sums `rows` and `columns`.

    Why: how far two columns are from independence is, in most data, a table of low rank, while
    noise fills all ranks alike. Singular values that noise explains are dropped, the others are
    lowered by what noise adds to them.

    Reference: Gavish, Donoho, Optimal shrinkage of singular values, IEEE Transactions on
    Information Theory 2017, equation 7 (squared error).
    """
    alone = np.outer(rows, columns) / max(float(rows.sum()), 1.0)
    apart = noisy - alone
    apart = apart - apart.mean(axis=0) - apart.mean(axis=1, keepdims=True) + apart.mean()
    left, values, right = np.linalg.svd(apart, full_matrices=False)
    few, many = sorted(max(size - 1, 1) for size in noisy.shape)
    scale, ratio = sigma * np.sqrt(many), few / many
    seen = np.maximum(values / scale, 1 + np.sqrt(ratio))
    kept = np.sqrt(np.maximum((seen**2 - ratio - 1) ** 2 - 4 * ratio, 0.0)) / seen
    table = np.maximum(alone + (left * (kept * scale)) @ right, _LEAST * alone)
    return raked(table, ("r", "c"), {("r",): rows, ("c",): columns})


def pairs_fitted(shape: Sequence[int], pairs: int) -> int:
    """The number of pairs that a table of this shape is fitted to, in bounded time."""
    return min(pairs, MOST_WORK // (prod(shape) * max(1, len(shape))))


def raked(table: Floats, axes: Clique, wanted: Mapping[Clique, Floats]) -> Floats:
    """The table nearest in entropy to one, with given sums over some of its axes.

    Reference: Deming, Stephan, On a least squares adjustment of a sampled frequency table, 1940
    (iterative proportional fitting).
    """
    found, close = table.copy(), _CLOSE * float(table.sum())
    for _ in range(_ROUNDS):
        off = 0.0
        for names, sums in wanted.items():
            now = found.sum(axis=sums_of(axes, names))
            off = max(off, float(np.abs(now - sums).sum()))
            ratio = np.divide(sums, now, out=np.zeros_like(now), where=now > 0)
            shape = [size if n in names else 1 for n, size in zip(axes, table.shape, strict=True)]
            found *= ratio.reshape(shape)
        if off <= close:
            break
    return found
