"""A graphical model over cells: the distribution of largest entropy that agrees with measurements.

    p(x) = exp(sum of potentials over cliques) / Z,     counts = total * p

Inference is exact, on a junction tree; a model answers every marginal and every counting query,
however many columns it has. It is a function of released numbers: all of it is post-processing.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.workload.histogram import Clique, Floats, sums_of

BYTES_A_CELL = 40
"""Five doubles: a clique's potential and belief, and what is at work while both are computed."""


@dataclass(frozen=True)
class JunctionTree:
    """Cliques of columns joined so that every column's cliques are connected.

    `cliques` are in an order in which each comes after its parent; `parents` holds the place of
    each one's parent, -1 for the first. Columns in a clique keep the order of `sizes`.

    Example:
        >>> tree = JunctionTree.of({"a": 2, "b": 3, "c": 4}, [("a", "b"), ("b", "c")])
        >>> tree.cliques, tree.parents, tree.cells
        ((('b', 'c'), ('a', 'b')), (-1, 0), 18)

    Reference: Koller, Friedman, Probabilistic Graphical Models, chapter 10.
    """

    sizes: Mapping[str, int]
    cliques: tuple[Clique, ...]
    parents: tuple[int, ...]

    @staticmethod
    def of(sizes: Mapping[str, int], cliques: Iterable[Clique]) -> "JunctionTree":
        """A tree in which every one of some cliques is inside one of its own."""
        found = _maximal(_eliminate(sizes, cliques))
        order = {name: i for i, name in enumerate(sizes)}
        sorted_ = [tuple(sorted(one, key=order.__getitem__)) for one in found]
        return JunctionTree(sizes, *_spanning(sizes, sorted_))

    @property
    def cells(self) -> int:
        """The cells of all tables."""
        return sum(self.size(one) for one in self.cliques)

    def size(self, clique: Iterable[str]) -> int:
        """The cells of the table over some columns."""
        return math.prod(self.sizes[name] for name in clique)

    @cached_property
    def separators(self) -> tuple[Clique, ...]:
        """The columns that each clique shares with its parent."""
        return tuple(
            () if parent < 0 else tuple(n for n in one if n in self.cliques[parent])
            for one, parent in zip(self.cliques, self.parents, strict=True)
        )

    @cached_property
    def _holding(self) -> dict[str, frozenset[int]]:
        """The cliques that hold each column."""
        return {
            name: frozenset(i for i, one in enumerate(self.cliques) if name in one)
            for name in self.sizes
        }

    def home(self, names: Collection[str]) -> int | None:
        """The smallest clique that holds some columns; None where none does."""
        places = set(range(len(self.cliques)))
        for name in names:
            places &= self._holding[name]
        return min(places, key=lambda i: (self.size(self.cliques[i]), i), default=None)

    def subtree(self, names: Collection[str]) -> list[int]:
        """The fewest connected cliques that hold some columns together, parents first.

        Leaves that add no column are cut off, again and again.
        """
        wanted, kept = set(names), set(range(len(self.cliques)))
        degree = {i: sum(p == i for p in self.parents) + (self.parents[i] >= 0) for i in kept}
        pending = [i for i in kept if degree[i] <= 1]
        while pending:
            leaf = pending.pop()
            others = kept - {leaf}
            if leaf not in kept or not others:
                continue
            if all(others & self._holding[n] for n in wanted if n in self.cliques[leaf]):
                kept = others
                beside = [j for j in kept if self.parents[j] == leaf or self.parents[leaf] == j]
                for j in beside:
                    degree[j] -= 1
                    if degree[j] <= 1:
                        pending.append(j)
        return sorted(kept)


def tree_cells(sizes: Mapping[str, int], cliques: Iterable[Clique]) -> int:
    """The cells of the tree over some cliques, without building it."""
    return sum(math.prod(sizes[n] for n in one) for one in _maximal(_eliminate(sizes, cliques)))


def _eliminate(sizes: Mapping[str, int], cliques: Iterable[Clique]) -> list[frozenset[str]]:
    """Remove columns one by one, the one with the smallest table first: what each is joined with.

    Ties go to the first column, so that equal models have equal trees.
    """
    beside: dict[str, set[str]] = {name: set() for name in sizes}
    for clique in cliques:
        for name in clique:
            beside[name].update(clique)
    for name, others in beside.items():
        others.discard(name)
    logs = {name: math.log(size) for name, size in sizes.items()}
    cost = {name: logs[name] + sum(logs[o] for o in others) for name, others in beside.items()}
    found = []
    while cost:
        name = min(cost, key=lambda n: round(cost[n], 9))
        del cost[name]
        others = beside.pop(name)
        found.append(frozenset(others | {name}))
        for other in others:
            beside[other] |= others
            beside[other] -= {name, other}
        for other in others:
            cost[other] = logs[other] + sum(logs[o] for o in beside[other])
    return found


def _maximal(cliques: list[frozenset[str]]) -> list[frozenset[str]]:
    """The sets that no other contains, in order."""
    kept: list[frozenset[str]] = []
    for one in sorted(cliques, key=len, reverse=True):
        if not any(one <= other for other in kept):
            kept.append(one)
    places = {one: i for i, one in reversed(list(enumerate(cliques)))}
    return sorted(kept, key=places.__getitem__)


def _spanning(
    sizes: Mapping[str, int], cliques: list[Clique]
) -> tuple[tuple[Clique, ...], tuple[int, ...]]:
    """Join cliques by their largest intersections, starting from the largest table."""
    sets = [frozenset(one) for one in cliques]
    first = max(range(len(cliques)), key=lambda i: (math.prod(sizes[n] for n in cliques[i]), -i))
    order, parents = [first], [-1]
    best = {i: (len(sets[i] & sets[first]), 0) for i in range(len(cliques)) if i != first}
    while best:
        nearest = max(best, key=lambda i: (best[i][0], -i))
        order.append(nearest)
        parents.append(best.pop(nearest)[1])
        for i, (shared, _) in best.items():
            if len(sets[i] & sets[nearest]) > shared:
                best[i] = (len(sets[i] & sets[nearest]), len(order) - 1)
    return tuple(cliques[i] for i in order), tuple(parents)


@dataclass(frozen=True)
class GraphicalModel:
    """Potentials over cliques of columns, and the estimated number of rows.

    `sizes` has the cells of each column; cliques name columns in its order. `allowed` are
    structural zeros: tables over some columns that are False where there are no rows. Without
    potentials all cells that are allowed are alike.

    Example:
        >>> model = GraphicalModel({"a": 2, "b": 2}, {}, total=8.0)
        >>> model = model.replaced({("a",): np.log([1.0, 3.0])})
        >>> model.marginal(("a", "b")).round(9).tolist()
        [[1.0, 1.0], [3.0, 3.0]]
        >>> model.count({"a": [0, 1], "b": [1, 0]})
        3.0

    Reference: McKenna, Sheldon, Miklau, Graphical-model based estimation and inference for
    differential privacy, ICML 2019.
    """

    sizes: Mapping[str, int]
    potentials: Mapping[Clique, Floats]
    total: float
    allowed: Mapping[Clique, NDArray[np.bool_]] = field(default_factory=dict)

    def replaced(
        self, potentials: Mapping[Clique, Floats], total: float | None = None
    ) -> "GraphicalModel":
        """The model with other potentials; the tree is kept where the cliques are the same."""
        new = GraphicalModel(
            self.sizes, potentials, self.total if total is None else total, self.allowed
        )
        if potentials.keys() == self.potentials.keys() and "schedule" in self.__dict__:
            new.__dict__["schedule"] = self.schedule
        return new

    @cached_property
    def schedule(self) -> "Schedule":
        """The junction tree and what is computed on it, in order."""
        return Schedule.of(self.sizes, list(self.potentials), list(self.allowed))

    @property
    def tree(self) -> JunctionTree:
        """The tree that inference runs on."""
        return self.schedule.tree

    @cached_property
    def beliefs(self) -> list[Floats]:
        """The probabilities of each clique of the tree; NaN where nothing is possible."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.schedule.calibrate(self.potentials, self.allowed)

    def marginal(self, names: Sequence[str], *, most: float = math.inf) -> Floats:
        """The expected count in each cell of some columns, in the order in which they are named.

        TableTooLarge where a table of more than `most` cells would be made on the way.
        """
        return self.total * self._contract(tuple(names), {}, most)

    def count(self, query: Mapping[str, Iterable[float]]) -> float:
        """The expected sum over rows of a product of weights, one for each cell of each column.

        With weights of 0 and 1 this is the number of rows for which all conditions hold.
        """
        weights = {n: np.asarray(list(w), dtype=np.float64) for n, w in query.items()}
        return float(self.total * self._contract((), weights))

    def _contract(
        self, kept: Clique, weights: Mapping[str, Floats], most: float = math.inf
    ) -> Floats:
        """Sum the distribution over all columns but some, each weighted.

        Why: the tables of the smallest subtree that holds all columns are multiplied, each given
        what it shares with its parent, children first; columns are summed out as soon as neither
        the answer nor a parent needs them.
        """
        tree = self.tree
        names = {*kept, *weights}
        home = tree.home(names)
        places = [home] if home is not None else tree.subtree(names)
        pending: dict[int, list[_Factor]] = {i: [] for i in places}
        placed: set[str] = set()
        for i in reversed(places):
            parent = tree.parents[i]
            shared = tree.separators[i] if parent in pending else ()
            below = {n for axes, _ in pending[i] for n in axes}
            mine = {n: w for n, w in weights.items() if n in tree.cliques[i] and n not in placed}
            placed |= mine.keys()
            factor = self._conditional(i, shared, {*names, *below, *shared}, mine)
            factor = _product(factor, pending[i], {*kept, *shared}, most)
            if parent in pending:
                pending[parent].append(factor)
            else:
                axes, table = factor
                return table.transpose([axes.index(n) for n in kept])
        raise AssertionError("a subtree has a root")  # pragma: no cover

    def _conditional(
        self, place: int, shared: Clique, needed: set[str], weights: Mapping[str, Floats]
    ) -> "_Factor":
        """A clique's probabilities given what it shares, weighted, over the columns needed."""
        clique, table = self.tree.cliques[place], self.beliefs[place]
        for name, vector in weights.items():
            table = table * vector.reshape([-1 if n == name else 1 for n in clique])
        factor = _summed((clique, table), needed)
        if not shared:
            return factor
        below = self.beliefs[place].sum(axis=sums_of(clique, shared))
        axes = factor[0]
        wide = below.reshape([self.sizes[n] if n in shared else 1 for n in axes])
        return axes, np.divide(factor[1], wide, out=np.zeros_like(factor[1]), where=wide > 0)


class TableTooLarge(Exception):  # noqa: N818 - it is caught, and a slice is made
    """A marginal needs a larger table on the way than its caller allows."""


_Factor = tuple[Clique, Floats]
"""The names of the axes of a table, and the table."""


@dataclass(frozen=True)
class Schedule:
    """The calibration schedule of one set of cliques: the tree, and each table's place.

    Potentials whose columns are all in another's are added into it first, on small tables, and
    marginals are read off the smallest table that holds them.
    """

    tree: JunctionTree
    folds: tuple[tuple[Clique, Clique], ...]  # (clique, the larger clique that it is added into)
    homes: Mapping[Clique, int]  # of cliques that are in no other
    allowed: Mapping[Clique, int]

    @staticmethod
    def of(
        sizes: Mapping[str, int], cliques: Sequence[Clique], allowed: Sequence[Clique]
    ) -> "Schedule":
        """Plan calibration for some cliques."""
        tree = JunctionTree.of(sizes, [*cliques, *allowed])
        by_size = sorted(cliques, key=lambda one: (len(one), tree.size(one), one))
        folds, homes = [], {}
        for i, one in enumerate(by_size):
            into = next((o for o in by_size[i + 1 :] if set(one) < set(o)), None)
            if into is not None:
                folds.append((one, into))
            else:
                homes[one] = _found(tree.home(one))
        return Schedule(tree, tuple(folds), homes, {a: _found(tree.home(a)) for a in allowed})

    def calibrate(
        self, potentials: Mapping[Clique, Floats], allowed: Mapping[Clique, NDArray[np.bool_]]
    ) -> list[Floats]:
        """The probabilities of every clique of the tree, by one pass up and one down."""
        tree, sizes = self.tree, self.tree.sizes
        tables = self._products(potentials, allowed)
        upward: list[Floats] = [np.ones(())] * len(tables)
        for i in reversed(range(1, len(tables))):
            shared = tree.separators[i]
            message = tables[i].sum(axis=sums_of(tree.cliques[i], shared))
            peak = message.max()
            upward[i] = message / peak if peak > 0 else message
            parent = tree.parents[i]
            tables[parent] *= _spread(upward[i], shared, tree.cliques[parent], sizes)
        tables[0] /= tables[0].sum()
        for i in range(1, len(tables)):
            shared, parent = tree.separators[i], tree.parents[i]
            new = tables[parent].sum(axis=sums_of(tree.cliques[parent], shared))
            ratio = np.divide(new, upward[i], out=np.zeros_like(new), where=upward[i] > 0)
            tables[i] *= _spread(ratio, shared, tree.cliques[i], sizes)
            tables[i] /= tables[i].sum()
        return tables

    def _products(
        self, potentials: Mapping[Clique, Floats], allowed: Mapping[Clique, NDArray[np.bool_]]
    ) -> list[Floats]:
        """The product of all potentials of each clique of the tree, scaled to at most 1."""
        tree, sizes = self.tree, self.tree.sizes
        summed = dict(potentials)
        for one, into in self.folds:
            summed[into] = summed[into] + _spread(summed[one], one, into, sizes)
        tables = [np.ones([sizes[n] for n in clique]) for clique in tree.cliques]
        factors = [
            (one, home, np.exp(summed[one] - summed[one].max())) for one, home in self.homes.items()
        ]
        factors += [
            (one, home, allowed[one].astype(np.float64)) for one, home in self.allowed.items()
        ]
        for one, home, factor in factors:
            tables[home] *= _spread(factor, one, tree.cliques[home], sizes)
        return tables

    def marginals(self, beliefs: Sequence[Floats]) -> dict[Clique, Floats]:
        """The probabilities of every clique that has a potential."""
        found: dict[Clique, Floats] = {}
        for one, home in self.homes.items():
            found[one] = beliefs[home].sum(axis=sums_of(self.tree.cliques[home], one))
        for one, into in reversed(self.folds):
            found[one] = found[into].sum(axis=sums_of(into, one))
        return found


def _found(home: int | None) -> int:
    assert home is not None  # noqa: S101 - narrowing: the tree was built over this clique
    return home


def _spread(table: Floats, axes: Clique, over: Clique, sizes: Mapping[str, int]) -> Floats:
    """A table with an axis of length 1 for every further column; both keep one order."""
    return table.reshape([sizes[n] if n in axes else 1 for n in over])


def _summed(factor: _Factor, kept: Iterable[str]) -> _Factor:
    """A table summed over all columns but some."""
    axes, table = factor
    left = tuple(n for n in axes if n in kept)
    return (left, table.sum(axis=sums_of(axes, left))) if len(left) < len(axes) else factor


def _product(factor: _Factor, messages: Sequence[_Factor], kept: set[str], most: float) -> _Factor:
    """The product of a table and messages, summed over the columns that are not kept.

    Why: each time the message is taken that leaves the smallest table, so that one that shares
    nothing, and makes a table as large as both together, comes last.
    """
    left = list(messages)
    while left:
        plans = [
            (_cells_after(factor, one, others), place, others)
            for place, one in enumerate(left)
            for others in [{*kept, *(n for m in left if m is not one for n in m[0])}]
        ]
        cells, place, others = min(plans, key=lambda plan: plan[:2])
        if cells > most:
            raise TableTooLarge
        factor = _multiply(factor, left.pop(place), others)
    return _summed(factor, kept)


def _cells_after(one: _Factor, other: _Factor, kept: set[str]) -> int:
    """The cells of the product of two tables, as `_multiply` makes it."""
    sizes = dict(zip((*one[0], *other[0]), (*one[1].shape, *other[1].shape), strict=True))
    summed = {n for n in one[0] if n in other[0]} - kept
    return math.prod(size for n, size in sizes.items() if n not in summed)


def _multiply(one: _Factor, other: _Factor, kept: set[str]) -> _Factor:
    """The product of two tables, summed over shared columns that are not kept: matrix products."""
    (first, a), (second, b) = one, other
    both = [n for n in first if n in second]
    batch = [n for n in both if n in kept]
    inner = [n for n in both if n not in kept]
    left = [n for n in first if n not in second]
    right = [n for n in second if n not in first]
    a = a.transpose([first.index(n) for n in (*batch, *left, *inner)])
    b = b.transpose([second.index(n) for n in (*batch, *inner, *right)])
    sizes = {**dict(zip((*batch, *left, *inner), a.shape, strict=True))}
    sizes |= dict(zip((*batch, *inner, *right), b.shape, strict=True))

    def cells(names: list[str]) -> int:
        return math.prod(sizes[n] for n in names)

    product = np.matmul(
        a.reshape(cells(batch), cells(left), cells(inner)),
        b.reshape(cells(batch), cells(inner), cells(right)),
    )
    axes = (*batch, *left, *right)
    return axes, product.reshape([sizes[n] for n in axes])
