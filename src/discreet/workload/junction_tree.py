"""Junction trees: which tables a graphical model over some cliques needs, and how large they are.

All of it is computed from names and sizes, so that memory is known before anything is charged.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from discreet.workload.marginals import Clique

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
