"""The sums of a fit where its rows are stored: each one SELECT of whole numbers.

Every operation on a row is IEEE arithmetic or a comparison, in the order that `discreet.learn` has,
so an engine finds the very integers that streamed rows give (`tests/unit/curator`): how far a
person moves them is proved there. What has no SQL here (gradients) is streamed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import singledispatchmethod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.engines.engine import Session
from discreet.learn.binning import BinCounts, FeatureBins, Tree
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
from discreet.learn.linear_sums import SecondMoments
from discreet.learn.noisy_sums import RowStatistic
from discreet.plan.expressions import Function
from discreet.plan.kinds import INT64, Kind
from discreet.sql.writer.dialect import Dialect, saturated
from discreet.sql.writer.integers import rounded

_COLUMNS: Final = 1600  # columns of one SELECT at most
_EXACT: Final = 1 << 53  # sums of whole numbers as doubles are exact below this, in any order

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
    weight: str | None
    features: tuple[str, ...]
    ranges: tuple[tuple[float, float] | None, ...]
    """Bounds of each feature in the schema."""

    target: str | None = None
    known: bool = False
    """Whether rows without a target are left out."""

    def joined(self) -> "FitTotals":
        """Rows whose last feature is their target."""
        assert self.target is not None  # noqa: S101 - narrowing: a regression has one
        features, ranges = (*self.features, self.target), (*self.ranges, None)
        return replace(self, features=features, ranges=ranges, known=True)

    @singledispatchmethod
    def totals(self, statistic: RowStatistic) -> Totals | None:
        """Sums of a statistic; None where it has no SQL."""
        return None

    # --- sums -----------------------------------------------------------------------------------

    @totals.register
    def _(self, one: FeatureTotals) -> Totals | None:
        here = self._by_label(one.labels)
        rows, names = here._on_grid(unit(one.low, one.high))  # noqa: SLF001 - its own
        return self._sums(rows, self._with_squares(names), GRID, one.labels)

    @totals.register
    def _(self, one: RowTotals) -> Totals | None:
        rows, names = self._cut(one.scaling)
        most = max(one.scaling.reach, GRID)
        return self._sums(rows, [self.dialect.double(GRID), *names], most)

    @totals.register
    def _(self, one: SecondMoments) -> Totals | None:
        rows, names = self._cut(one.scaling)
        pairs = [f"{a} * {b}" for i, a in enumerate(names) for b in names[i:]]
        return self._sums(rows, pairs, one.scaling.reach**2)

    def _with_squares(self, names: Sequence[str]) -> list[str]:
        """The count, values, and their squares over GRID, rounded down."""
        share = self.dialect.double(1 / GRID)
        squares = [self.dialect.whole(Function.FLOOR, f"({z} * {z} * {share})") for z in names]
        return [self.dialect.double(GRID), *names, *squares]

    def _sums(self, rows: str, parts: Sequence[str], most: int, labels: int = 1) -> Totals | None:
        """Weighted sums of whole numbers of at most `most`, perhaps by label.

        Rows of one label and one weight are summed as doubles, exact below 2^53: engines are
        fastest there. Where there are too many rows for that, whole numbers of 128 bits are summed.
        """
        if len(parts) > _COLUMNS:
            return None
        keys = ["y" if labels > 1 else "0", "w" if self.weight else "1"]
        plain = [f"SUM({one})" for one in parts]
        found = self._grouped(rows, keys, plain)
        if any(count * most >= _EXACT for _, _, count, *_ in found):
            wide = [self.dialect.sum(self.dialect.nearest(one)) for one in parts]
            whole = [saturated(one, self.dialect) for one in wide]
            found = self._grouped(rows, keys, whole)
        total = np.zeros((labels, len(parts)), dtype=object)
        for label, weight, _, *sums in found:
            total[label] += weight * np.array([int(one or 0) for one in sums], dtype=object)
        return np.clip(total.ravel(), *INT64).astype(np.int64)

    def _grouped(
        self, rows: str, keys: Sequence[str], sums: Sequence[str]
    ) -> list[tuple[Any, ...]]:
        """One row for each label and weight that there is; NULL sums of no rows count nothing."""
        shown = [f"{key} AS k{i}" for i, key in enumerate(keys)]
        shown += ["COUNT(*) AS n", *(f"{one} AS t{i}" for i, one in enumerate(sums))]
        groups = "" if keys == ["0", "1"] else " GROUP BY 1, 2"
        return [one for one in self._read(self._select(shown, rows) + groups) if one[2]]

    # --- counts ---------------------------------------------------------------------------------

    @totals.register
    def _(self, one: NormCounts) -> Totals | None:
        rows, names = self._cut(one.scaling)
        zero = self.dialect.double(0)
        kept = [f"COALESCE({z} * {z}, {zero})" for z in names[: len(names) - one.scaling.free]]
        square = self._real(Function.SQRT, " + ".join(kept))
        length = self._real(Function.DIVIDE, square, float(GRID))
        place = self._real(Function.MULTIPLY, length, one.cells / one.most)
        cell = f"LEAST({self._floor(place)}, {one.cells - 1})"
        return self._counts([(self._select([f"{cell} AS k", "w"], rows), 0)], one.width)

    @totals.register
    def _(self, one: BinCounts) -> Totals | None:
        asked = self._named_features() if one.trees[0].depth else []
        codes = self._by_label(one.labels)._codes(one, asked)  # noqa: SLF001 - its own
        label, begin, parts = "y" if one.labels > 1 else "0", 0, []
        for tree in one.trees:
            leaf = self._leaf(tree, one.bins, 0)
            for size, (code, rows) in zip(one.sizes, codes, strict=True):
                place = f"(({leaf}) * {size} + {code}) * {one.labels} + {label}"
                parts.append((self._select([f"{place} AS k", "w"], rows), begin))
                begin += size * one.cells
        return self._counts(parts, one.width)

    def _counts(self, parts: Iterable[tuple[str, int]], width: int) -> Totals:
        """Weights by place, of several SELECTs with a place `k` that counts from a number on."""
        found = np.zeros(width, dtype=np.int64)
        total = saturated(self.dialect.sum("w"), self.dialect) if self.weight else "COUNT(*)"
        texts = [
            self._select([f"{at} + k AS k", f"{total} AS n"], rows) + " GROUP BY 1"
            for rows, at in parts
        ]
        for place, weight in self._read(" UNION ALL ".join(texts)):
            found[place] += weight
        return found

    # --- rows -----------------------------------------------------------------------------------

    def _by_label(self, labels: int) -> "FitTotals":
        """Of several labels, the rows that have one."""
        return replace(self, known=self.known or labels > 1)

    def _rows(self, columns: Iterable[str]) -> str:
        """Rows with their weight and these columns; with their target, where it has to be known."""
        shown = [*columns, f"{self.weight or self.dialect.literal(1, Kind.INTEGER)} AS w"]
        if self.target is None or not self.known:
            return f"SELECT {', '.join(shown)} FROM {self.source}"
        shown.append(f"{self.dialect.nearest(self.target)} AS y")
        return f"SELECT {', '.join(shown)} FROM {self.source} WHERE {self.target} IS NOT NULL"

    def _named_features(self) -> list[str]:
        return [f"{text} AS c{i}" for i, text in enumerate(self.features)]

    def _on_grid(self, columns: GridColumns) -> tuple[str, list[str]]:
        """Features as whole numbers, beside a label where rows without one are left out.

        What is none stays NULL, which sums pass over: it is 0.
        """
        parts = zip(*(one.tolist() for one in vars(columns).values()), strict=True)
        texts = [f"{self._rounded(i, *one)} AS z{i}" for i, one in enumerate(parts)]
        names = [f"z{i}" for i in range(len(texts))]
        kept = ["y", "w"] if self.known else ["w"]
        return self._select([*texts, *kept], self._rows(self._named_features())), names

    def _rounded(self, place: int, start: float, factor: float, least: float, most: float) -> str:
        """A feature on its grid; what a schema holds it to may need no further look."""
        text, held = f"c{place}", self.ranges[place]
        if held is not None and all(
            least <= np.rint((end - start) * factor) <= most for end in held
        ):
            return self.dialect.rint(self.dialect.scaled(text, start, factor))
        ends = int(least), int(most)
        return self.dialect.as_double(
            rounded(text, start, factor, self.dialect.nearest, *ends, self.dialect)
        )

    def _cut(self, scaling: Scaling) -> tuple[str, list[str]]:
        """Rows on the grid of a scaling, cut to its norm: `Scaling.steps`."""
        columns = scaling.columns
        rows, names = self._on_grid(columns)
        constant = [self.dialect.double(scaling.constant)] if scaling.constant else []
        kept = [*constant, *names[: len(names) - scaling.free]]
        reach = np.maximum(-columns.least, columns.most)[: len(names) - scaling.free]
        if (reach**2).sum() + scaling.constant**2 <= scaling.most**2:
            return rows, [*constant, *names]
        zeros = [f"COALESCE({z}, {self.dialect.double(0)}) AS {z}" for z in names]
        rows = self._select([*zeros, "w"], rows)
        square = " + ".join(f"{z} * {z}" for z in kept)
        rows = self._select(["*", f"{square} AS s"], rows)
        root = self._real(Function.SQRT, "s")
        share = self._real(Function.DIVIDE, float(scaling.most), root)
        less, over = self._real(Function.MULTIPLY, share, BELOW), scaling.most**2
        factor = self.dialect.choose(
            [(f"s > {self.dialect.double(over)}", less)], self.dialect.double(1)
        )
        rows = self._select(["*", f"{factor} AS f"], rows)
        cut = [
            f"{self.dialect.towards_zero(self._real(Function.MULTIPLY, z, 'f'))} AS x{i}"
            for i, z in enumerate([*constant, *names])
        ]
        short = [f"x{i}" for i in range(len(cut))]
        return self._select([*cut, "w"], rows), short

    def _codes(self, one: BinCounts, columns: Sequence[str]) -> list[tuple[str, str]]:
        """The bin of each feature, with rows that have its own or these columns; or one for all."""
        bins, found = one.bins, []
        if not one.by_bin:
            return [("0", self._rows(columns))]
        for j, edges in enumerate(bins.edges):
            rows = self._rows(columns or [f"{self.features[j]} AS c{j}"])
            c, many = f"c{j}", len(edges) + 1
            even = bins.even(j)
            if even is None:
                inside = self._place(c, edges.tolist(), 0)
            else:
                low, step = even
                guess = rounded(c, low, 1 / step, self._floor, 0, many - 1, self.dialect)
                rows = self._select(["*", f"{guess} AS g"], rows)
                inside = self._mended(c, low, step, many)
            found.append((self.dialect.choose([(f"{c} IS NULL", str(many))], inside), rows))
        return found

    def _mended(self, c: str, low: float, step: float, many: int) -> str:
        """A guess that rounding may have put into a bin beside, by the edges themselves."""

        def edge(place: str) -> str:
            product = self._real(Function.MULTIPLY, self.dialect.as_double(place), step)
            return self._real(Function.ADD, product, low)

        below = f"g > 0 AND {c} < {edge('g')}"
        above = f"g < {many - 1} AND {c} >= {edge('(g + 1)')}"
        return self.dialect.choose([(below, "g - 1"), (above, "g + 1")], "g")

    def _place(self, c: str, edges: Sequence[float], first: int) -> str:
        """How many edges a value has reached, by halves."""
        if not edges:
            return str(first)
        half = len(edges) // 2
        low = self._place(c, edges[:half], first)
        high = self._place(c, edges[half + 1 :], first + half + 1)
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

    def _select(self, columns: Iterable[str], rows: str) -> str:
        return f"SELECT {', '.join(columns)} FROM {self.dialect.apart(rows)} AS r"

    def _real(self, function: Function, *operands: str | float) -> str:
        texts = [one if isinstance(one, str) else self.dialect.double(one) for one in operands]
        return self.dialect.real(function, *texts)

    def _floor(self, text: str) -> str:
        return self.dialect.nearest(self.dialect.whole(Function.FLOOR, text))

    def _read(self, select: str) -> list[tuple[Any, ...]]:
        batches = list(self.session.stream(select))
        return [
            tuple(row) for one in batches for row in zip(*one.to_pydict().values(), strict=True)
        ]
