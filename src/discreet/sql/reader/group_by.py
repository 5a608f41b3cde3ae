"""GROUP BY: keys and grouping sets, from columns, expressions, ordinals, aliases, ROLLUP and CUBE.

A bare name is a column of FROM if there is one, else an alias of the SELECT list, as in DuckDB and
Postgres; a bare whole number is a position in the SELECT list.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product

from sqlglot import exp

from discreet.plan.expressions import Expression, mentions
from discreet.sql.reader.expressions import ExpressionReader
from discreet.sql.reader.literals import read_whole
from discreet.sql.reader.refusals import Refusal, said
from discreet.sql.reader.select_list import POSITION, Item
from discreet.sql.reader.syntax import Node, Syntax, Visible, bare, bare_word, lookup

MOST_SETS = 256
"""Grouping sets of one question."""


@dataclass(slots=True)
class Groups:
    """The keys of a question with their places, and the sets of them that make its groups."""

    keys: dict[Expression, Node] = field(default_factory=dict)
    sets: tuple[tuple[int, ...], ...] = ((),)


@dataclass(frozen=True, slots=True)
class GroupReader:
    """Reads the GROUP BY of one SELECT."""

    reader: ExpressionReader
    columns: Sequence[Visible]
    items: Sequence[Item]
    read_item: Callable[[Item], Expression]
    _groups: Groups = field(default_factory=Groups)
    _positions: dict[Expression, int] = field(default_factory=dict)

    def read(self, group: Node) -> Groups:
        """Keys and sets of a GROUP BY clause."""
        everything = self._syntax.part(group, "all")
        if everything is False:  # GROUP BY DISTINCT leaves nothing but this
            raise self._syntax.refuse_clause(group, "all")
        elements = self._syntax.parts(group, "expressions")
        if not elements and not everything:
            raise self._syntax.refuse(group, _EMPTY)
        if everything:
            return self.of_items([item for item in self.items if not item.aggregates])
        for one in (*self._syntax.parts(group, "rollup"), *self._syntax.parts(group, "cube")):
            elements = [type(one)(expressions=elements)]  # GROUP BY a, b WITH ROLLUP
        sets = self._product([self._element(element) for element in elements], group)
        return self._finish(sets, group)

    def of_items(self, items: Sequence[Item]) -> Groups:
        """The keys that are these items, constants aside."""
        chosen: list[int] = []
        for item in items:
            expression = self.read_item(item)
            if mentions(expression):
                chosen.append(self._position(expression, item.node))
        self._groups.sets = (tuple(dict.fromkeys(chosen)),)
        return self._groups

    def _position(self, expression: Expression, node: Node) -> int:
        """The position of a key, new or known."""
        self._groups.keys.setdefault(expression, node)
        return self._positions.setdefault(expression, len(self._positions))

    @property
    def _syntax(self) -> Syntax:
        return self.reader.syntax

    def _finish(self, sets: list[tuple[int, ...]], group: Node) -> Groups:
        tidy = tuple(tuple(sorted(set(chosen))) for chosen in sets)
        if len(set(tidy)) < len(tidy):
            raise self._syntax.refuse(group, _TWICE)
        self._groups.sets = tidy
        return self._groups

    def _element(self, node: Node) -> list[tuple[int, ...]]:
        """The grouping sets of one element of the list."""
        parts = self._syntax.parts(node, "expressions") if isinstance(node, _LISTS) else []
        match node:
            case exp.Rollup():
                units = [self._set(part) for part in parts]
                return [_joined(units[:size]) for size in range(len(units), -1, -1)]
            case exp.Cube():
                if 2 ** min(len(parts), 20) > MOST_SETS:
                    raise self._syntax.refuse(node, _MANY)
                return _cube([self._set(part) for part in parts])
            case exp.GroupingSets():
                return [chosen for part in parts for chosen in self._element(part)]
        return [self._set(node)]

    def _set(self, node: Node) -> tuple[int, ...]:
        """A key, or several in parentheses."""
        if isinstance(node, exp.Tuple):
            return tuple(self._key(part) for part in self._syntax.parts(node, "expressions"))
        return (self._key(node),)

    def _product(self, lists: list[list[tuple[int, ...]]], node: Node) -> list[tuple[int, ...]]:
        if math.prod(map(len, lists)) > MOST_SETS:
            raise self._syntax.refuse(node, _MANY)
        return [_joined(chosen) for chosen in product(*lists)]

    def _key(self, node: Node) -> int:
        node = bare(self._syntax, node)
        expression = self._expression(node)
        if not mentions(expression):
            raise self._syntax.refuse(node, _CONSTANT)
        return self._position(expression, node)

    def _expression(self, node: Node) -> Expression:
        if isinstance(node, exp.Literal):
            at = read_whole(self._syntax, node, "a position in GROUP BY", at_least=1)
            if at > len(self.items):
                raise self._syntax.refuse(node, _POSITION)
            return self.read_item(self.items[at - 1])
        word = bare_word(self._syntax, node)
        if word is not None and not lookup(self._syntax, node, self.columns)[0]:  # type: ignore[arg-type]
            for item in self.items:
                if item.alias is not None and word.names(item.alias):
                    return self.read_item(item)
        return self.reader.checked(node)


_LISTS = (exp.Rollup, exp.Cube, exp.GroupingSets)


def _cube(units: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    sizes = range(len(units), -1, -1)
    return [_joined(chosen) for size in sizes for chosen in combinations(units, size)]


def _joined(sets: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(key for chosen in sets for key in chosen)


_EMPTY = Refusal("syntax", "GROUP BY without a key", fix="name a column, or leave GROUP BY out")
_TWICE = said("""grouping: the same grouping set stands twice
    its rows would be answered, and paid for, twice
    list each grouping set once""")
_MANY = said(f"""grouping: more than {MOST_SETS} grouping sets
    each of them is an answer of its own
    group by fewer columns""")
_CONSTANT = Refusal(
    "grouping", "GROUP BY a constant", "it makes one group", "name a column, or leave it out"
)
_POSITION = replace(POSITION, code="grouping")
