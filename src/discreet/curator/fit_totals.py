"""The sums of a fit where its rows are stored: each one SELECT of whole numbers.

Every operation on a row is IEEE arithmetic or a comparison, in the order that `discreet.learn` has,
so an engine finds the very integers that streamed rows give (`tests/unit/curator`): how far a
person moves them is proved there. What has no SQL here (gradients) is streamed.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import singledispatchmethod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.engines.engine import Session
from discreet.learn.binning import BinCounts, FeatureBins
from discreet.learn.class_totals import ClassTotals
from discreet.learn.design import (
    BELOW,
    GRID,
    FeatureTotals,
    GridColumns,
    NormCounts,
    RowTotals,
    Scaling,
    unit,
)
from discreet.learn.moments import SecondMoments
from discreet.learn.noisy_sums import RowStatistic
from discreet.learn.trees import LeafCounts, Tree
from discreet.plan.expressions import Function
from discreet.plan.kinds import Kind
from discreet.sql.writer.dialect import Dialect
from discreet.sql.writer.integers import rounded, saturated

_COLUMNS: Final = 1600
"""Columns of one SELECT at most."""

_FEW: Final = 16
"""Bins up to which each edge is compared with; equal bins beyond are found by arithmetic."""

Totals = NDArray[np.int64]


@dataclass(frozen=True)
class FitTotals:
    """Rows in an engine: a source of SQL, features as doubles (NULL for none), a target, a weight.

    Guarantee:
        `totals` is the sum of weight times the statistic's vector over all rows, in 64 bits: what
        does not fit stays at the end, which moves two sums no further apart.
    """

    session: Session
    dialect: Dialect
    source: str
    features: tuple[str, ...]
    target: str | None = None
    weight: str | None = None
    known: bool = False
    """Whether rows without a target are left out."""

    def joined(self) -> "FitTotals":
        """Rows whose last feature is their target."""
        assert self.target is not None  # noqa: S101 - narrowing: a regression has one
        return replace(self, features=(*self.features, self.target), known=True)

    @singledispatchmethod
    def totals(self, statistic: RowStatistic) -> Totals | None:
        """Sums of a statistic; None where it has no SQL."""
        del statistic
        return None

    # --- one row of sums ------------------------------------------------------------------------

    @totals.register
    def _(self, one: FeatureTotals) -> Totals | None:
        rows, names = self._on_grid(unit(one.low, one.high))
        return self._sums(rows, _with_squares(names, self.dialect))

    @totals.register
    def _(self, one: RowTotals) -> Totals | None:
        rows, names = self._cut(one.scaling)
        return self._sums(rows, [str(GRID), *names])

    @totals.register
    def _(self, one: SecondMoments) -> Totals | None:
        rows, names = self._cut(one.scaling)
        pairs = [f"{a} * {b}" for i, a in enumerate(names) for b in names[i:]]
        return self._sums(rows, pairs)

    def _sums(self, rows: str, parts: Sequence[str]) -> Totals | None:
        if len(parts) > _COLUMNS:
            return None
        ((_, *found),) = self._read(
            f"SELECT 0 AS k, {self._columns(parts)} FROM {self.dialect.apart(rows)} AS r"
        )
        return np.array([one or 0 for one in found], dtype=np.int64)

    def _columns(self, parts: Sequence[str]) -> str:
        """Weighted sums, in 64 bits."""
        weighed = [f"{one} * w" if self.weight else one for one in parts]
        sums = [saturated(self.dialect.sum(one), self.dialect) for one in weighed]
        return ", ".join(f"{text} AS t{i}" for i, text in enumerate(sums))

    # --- groups ---------------------------------------------------------------------------------

    @totals.register
    def _(self, one: ClassTotals) -> Totals | None:
        here = replace(self, known=True)
        rows, names = here._on_grid(unit(one.low, one.high))  # noqa: SLF001 - its own
        parts = _with_squares(names, self.dialect)
        if len(parts) > _COLUMNS:
            return None
        found = np.zeros((one.labels, len(parts)), dtype=np.int64)
        select = (
            f"SELECT y AS k, {self._columns(parts)} FROM {self.dialect.apart(rows)} AS r GROUP BY 1"
        )
        for label, *sums in self._read(select):
            found[label] = sums
        return found.ravel()

    @totals.register
    def _(self, one: NormCounts) -> Totals | None:
        rows, names = self._cut(one.scaling)
        kept = names[: len(names) - one.scaling.free]
        square = self.dialect.as_double(" + ".join(f"{z} * {z}" for z in kept))
        length = self._real(Function.DIVIDE, self._real(Function.SQRT, square), float(GRID))
        place = self._real(Function.MULTIPLY, length, one.cells / one.most)
        cell = f"LEAST({self._floor(place)}, {one.cells - 1})"
        return self._counts(
            [(f"SELECT {cell} AS k, w FROM {self.dialect.apart(rows)} AS r", 0)], one.width
        )

    @totals.register
    def _(self, one: BinCounts) -> Totals | None:
        many = sum(one.bins.sizes) + 1
        first = f"y * {many}" if one.labels > 1 else "0"
        parts = [
            (f"SELECT {first} + {code} AS k, w FROM {self.dialect.apart(rows)} AS r", int(start))
            for start, (code, rows) in zip(one.bins.starts, self._codes(one.bins), strict=True)
        ]
        labels = f"SELECT {first} AS k, w FROM {self.dialect.apart(self._labelled())} AS r"
        return self._counts([*parts, (labels, many - 1)], one.width)

    @totals.register
    def _(self, one: LeafCounts) -> Totals | None:
        inner = sum(one.codes.sizes) if one.by_bin else 1
        size, parts = one.width // len(one.trees), []
        for at, tree in enumerate(one.trees):
            leaf = self._leaf(tree, one.codes, 0)
            start = at * size
            if not one.by_bin:
                rows = self._labelled(self._named_features())
                text = f"SELECT ({leaf}) * {one.labels} + y AS k, w FROM {self.dialect.apart(rows)} AS r"
                parts.append((text, start))
                continue
            coded = self._codes(one.codes, self._named_features())
            for begin, (code, rows) in zip(one.codes.starts, coded, strict=True):
                place = f"(({leaf}) * {inner} + {int(begin)} + {code}) * {one.labels} + y"
                parts.append(
                    (f"SELECT {place} AS k, w FROM {self.dialect.apart(rows)} AS r", start)
                )
        return self._counts(parts, one.width)

    def _counts(self, parts: Iterable[tuple[str, int]], width: int) -> Totals:
        """Weights by place, of several SELECTs with a place `k` that counts from a number on."""
        found = np.zeros(width, dtype=np.int64)
        total = saturated(self.dialect.sum("w"), self.dialect)
        texts = [
            f"SELECT {at} + k AS k, {total} AS n FROM {self.dialect.apart(rows)} AS r GROUP BY 1"
            for rows, at in parts
        ]
        for place, weight in self._read(" UNION ALL ".join(texts)):
            found[place] += weight
        return found

    # --- rows -----------------------------------------------------------------------------------

    def _rows(self, columns: Iterable[str]) -> str:
        """Rows with their weight and these columns; without those that count nowhere."""
        one = self.dialect.literal(1, Kind.INTEGER)
        text = f"SELECT {', '.join([*columns, f'{self.weight or one} AS w'])} FROM {self.source}"
        return f"{text} WHERE {self.target} IS NOT NULL" if self.known else text

    def _labelled(self, columns: Iterable[str] = ()) -> str:
        """Rows that have a label, where there are labels, and their code."""
        y = "0" if self.target is None else self.dialect.nearest(self.target)
        here = replace(self, known=self.target is not None)
        return here._rows([*columns, f"{y} AS y"])  # noqa: SLF001 - its own

    def _named_features(self) -> list[str]:
        return [f"{text} AS c{i}" for i, text in enumerate(self.features)]

    def _on_grid(self, columns: GridColumns) -> tuple[str, list[str]]:
        """Features as whole numbers, beside a label where rows without one are left out."""
        parts = zip(*(vars(columns)[name].tolist() for name in _GRID_FIELDS), strict=True)
        texts = [
            f"COALESCE({self._rounded(f'c{i}', *one)}, 0) AS z{i}" for i, one in enumerate(parts)
        ]
        names = [f"z{i}" for i in range(len(texts))]
        rows = self._labelled if self.known else self._rows
        inner = rows(self._named_features())
        kept = ["y", "w"] if self.known else ["w"]
        return f"SELECT {', '.join([*texts, *kept])} FROM {self.dialect.apart(inner)} AS r", names

    def _rounded(self, text: str, start: float, factor: float, least: float, most: float) -> str:
        ends = int(least), int(most)
        return rounded(text, start, factor, self.dialect.nearest, *ends, self.dialect)

    def _cut(self, scaling: Scaling) -> tuple[str, list[str]]:
        """Rows on the grid of a scaling, cut to its norm: `Scaling.steps`."""
        columns = scaling.columns
        rows, names = self._on_grid(columns)
        constant = [self.dialect.literal(scaling.constant, Kind.INTEGER)] if scaling.one else []
        kept = [*constant, *names[: len(names) - scaling.free]]
        reach = np.maximum(-columns.least, columns.most)[: len(names) - scaling.free]
        if (reach**2).sum() + scaling.constant**2 <= scaling.most**2:
            return rows, [*constant, *names]
        square = " + ".join(f"{z} * {z}" for z in kept)
        rows = (
            f"SELECT *, {self.dialect.as_double(square)} AS s FROM {self.dialect.apart(rows)} AS r"
        )
        share = self._real(
            Function.DIVIDE, self.dialect.double(scaling.most), self._real(Function.SQRT, "s")
        )
        factor = self._real(Function.MULTIPLY, share, BELOW)
        over = f"s > {self.dialect.double(scaling.most**2)}"
        rows = f"SELECT *, {self.dialect.only_if(over, factor)} AS f FROM {self.dialect.apart(rows)} AS r"
        cut = [f"{self._shortened(z)} AS x{i}" for i, z in enumerate([*constant, *names])]
        short = [f"x{i}" for i in range(len(cut))]
        return f"SELECT {', '.join([*cut, 'w'])} FROM {self.dialect.apart(rows)} AS r", short

    def _shortened(self, z: str) -> str:
        """A whole number times a factor below 1, towards 0; as it is where there is no factor."""
        product = self._real(Function.MULTIPLY, self.dialect.as_double(z), "f")
        down, up = (self.dialect.whole(one, product) for one in (Function.FLOOR, Function.CEIL))
        branches = [("f IS NULL", z), (f"{z} >= 0", self.dialect.nearest(down))]
        return self.dialect.choose(branches, self.dialect.nearest(up))

    def _codes(
        self, bins: FeatureBins, columns: Sequence[str] | None = None
    ) -> list[tuple[str, str]]:
        """For each feature the code of its bin, and the rows that it is about."""
        found = []
        for j, edges in enumerate(bins.edges):
            named = [f"{self.features[j]} AS c{j}"] if columns is None else columns
            rows, c, many = self._labelled(named), f"c{j}", len(edges) + 1
            ends = bins.ends[j] if bins.ends else None
            if ends is None or many <= _FEW or not _is_even(edges, *ends):
                inside = self._place(c, edges.tolist(), 0)
            else:
                low, step = ends[0], (ends[1] - ends[0]) / many
                guess = rounded(c, low, 1 / step, self._floor, 0, many - 1, self.dialect)
                rows, inside = (
                    f"SELECT *, {guess} AS g FROM {self.dialect.apart(rows)} AS r",
                    self._mended(c, ends, many),
                )
            found.append((self.dialect.choose([(f"{c} IS NULL", str(many))], inside), rows))
        return found

    def _mended(self, c: str, ends: tuple[float, float], many: int) -> str:
        """A guess that rounding may have put into a bin beside, by the edges themselves."""
        step = (ends[1] - ends[0]) / many

        def edge(place: str) -> str:
            product = self._real(Function.MULTIPLY, self.dialect.as_double(place), step)
            return self._real(Function.ADD, product, ends[0])

        below, above = (
            f"g > 0 AND {c} < {edge('g')}",
            f"g < {many - 1} AND {c} >= {edge('(g + 1)')}",
        )
        return self.dialect.choose([(below, "g - 1"), (above, "g + 1")], "g")

    def _place(self, c: str, edges: Sequence[float], first: int) -> str:
        """How many edges a value has reached, by halves."""
        if not edges:
            return str(first)
        half = len(edges) // 2
        low, high = (
            self._place(c, edges[:half], first),
            self._place(c, edges[half + 1 :], first + half + 1),
        )
        return self.dialect.choose([(f"{c} >= {self.dialect.double(edges[half])}", high)], low)

    def _leaf(self, tree: Tree, bins: FeatureBins, node: int) -> str:
        """The leaf of a row, counted from the left."""
        if node >= len(tree.feature):
            return str(node - len(tree.feature))
        left, right = (self._leaf(tree, bins, 2 * node + side) for side in (1, 2))
        feature, threshold = int(tree.feature[node]), int(tree.threshold[node])
        if threshold <= 0:
            return right
        c, edges = f"c{feature}", bins.edges[feature]
        reached = f"{c} IS NULL"
        if threshold <= len(edges):
            reached += f" OR {c} >= {self.dialect.double(float(edges[threshold - 1]))}"
        return self.dialect.choose([(reached, right)], left)

    # --- small parts ----------------------------------------------------------------------------

    def _real(self, function: Function, *operands: str | float) -> str:
        texts = [one if isinstance(one, str) else self.dialect.double(one) for one in operands]
        return self.dialect.real(function, *texts)

    def _floor(self, text: str) -> str:
        return self.dialect.nearest(self.dialect.whole(Function.FLOOR, text))

    def _read(self, select: str) -> list[tuple[int, ...]]:
        batches = list(self.session.stream(select))
        return [
            tuple(row) for one in batches for row in zip(*one.to_pydict().values(), strict=True)
        ]


_GRID_FIELDS: Final = "start", "factor", "least", "most"


def _with_squares(names: Sequence[str], dialect: Dialect) -> list[str]:
    """The count, values, and their squares over GRID, rounded down: squares are not negative."""
    size = dialect.literal(GRID, Kind.INTEGER)
    squares = [dialect.whole_quotient(f"({z} * {z})", size, wide=False) for z in names]
    return [size, *names, *squares]


def _is_even(edges: NDArray[Any], low: float, high: float) -> bool:
    """Whether edges are exactly those that arithmetic in an engine finds."""
    many = len(edges) + 1
    return np.array_equal(edges, np.arange(1, many) * ((high - low) / many) + low)
