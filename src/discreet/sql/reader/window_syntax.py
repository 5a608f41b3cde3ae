"""A function OVER a window as it is written, whether over rows of a person or of an answer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from sqlglot import exp

from discreet.plan.expressions import Expression
from discreet.sql.reader.expressions import ExpressionReader
from discreet.sql.reader.literals import read_whole
from discreet.sql.reader.refusals import Refusal
from discreet.sql.reader.syntax import Node, Syntax, order_parts

Frame: TypeAlias = tuple[int | None, int | None] | None


@dataclass(frozen=True, slots=True)
class WindowSyntax:
    """One function OVER (...), or OVER a window that WINDOW names."""

    syntax: Syntax
    node: Node
    clauses: tuple[Node, ...]

    @staticmethod
    def of(syntax: Syntax, node: Node) -> "WindowSyntax":
        """The window of a node, with what its name stands for in the SELECT around it."""
        syntax.part(node, "over")
        alias = syntax.part(node, "alias")
        if alias is None:
            return WindowSyntax(syntax, node, (node,))
        word, select = syntax.word(alias), node.find_ancestor(exp.Select)
        for one in [] if select is None else syntax.parts(select, "windows"):
            if word.names(syntax.word(syntax.part(one, "this")).text):
                return WindowSyntax(syntax, node, (node, one))
        raise syntax.refuse(node, _UNNAMED)

    def _where(self, name: str) -> Node:
        """The clause that has a part of it; a part may stand in one of them."""
        given = [one for one in self.clauses if one.args.get(name)]
        if len(given) > 1:
            raise self.syntax.refuse(self.node, _UNNAMED)
        return given[0] if given else self.node

    def partition(self, read: Callable[[Node], Expression]) -> tuple[Expression, ...]:
        """PARTITION BY."""
        return tuple(map(read, self.syntax.parts(self._where("partition_by"), "partition_by")))

    def order(self) -> list[tuple[Node, bool, bool]]:
        """The parts of ORDER BY: what, whether descending, whether NULL comes first."""
        return order_parts(self.syntax, self._where("order"))

    def frame(self) -> Frame:
        """The first and last row that count, from this one; None where none is written.

        RANGE up to the row itself is what holds without a frame; RANGE over all rows is ROWS.
        """
        spec = self.syntax.part(self._where("spec"), "spec")
        if spec is None:
            return None
        kind = str(self.syntax.part(spec, "kind")).upper()
        first, last = self._end(spec, "start", "PRECEDING"), self._end(spec, "end", "FOLLOWING")
        if kind == "ROWS":
            return first, last
        if kind == "RANGE" and first is None and last in (None, 0):
            return None if last == 0 else (None, None)
        raise self.syntax.refuse(self.node, _FRAME)

    def _end(self, spec: Node, part: str, outward: str) -> int | None:
        """A place from this row; None for all rows on its side."""
        place = self.syntax.part(spec, part)
        side = str(self.syntax.part(spec, f"{part}_side") or "").upper()
        if place is None or place == "CURRENT ROW":
            return 0
        if place == "UNBOUNDED" and side == outward:
            return None
        if not isinstance(place, Node):
            raise self.syntax.refuse(self.node, _FRAME)
        rows = read_whole(self.syntax, place, "how many rows a frame has")
        return -rows if side == "PRECEDING" else rows

    def function(self, reader: ExpressionReader) -> tuple[Node, Expression | None]:
        """The function itself, and the rows that FILTER leaves it."""
        node = self.syntax.part(self.node, "this")
        if not isinstance(node, exp.Filter):
            return node, None
        where = reader.checked(self.syntax.part(self.syntax.part(node, "expression"), "this"))
        return self.syntax.part(node, "this"), where

    def argument(self, reader: ExpressionReader, node: Node) -> Expression | None:
        """The argument of an aggregate; None for rows."""
        self.syntax.part(node, "big_int")
        inner = self.syntax.part(node, "this")
        if isinstance(inner, exp.Distinct):
            raise self.syntax.refuse(inner, _DISTINCT)
        return None if inner is None or isinstance(inner, exp.Star) else reader.checked(inner)

    def moved(
        self, reader: ExpressionReader, node: Node
    ) -> tuple[Expression, Expression | None, int | None]:
        """LAG(x, 2, 0): the value, what stands for none, and how many rows away."""
        syntax = self.syntax
        offset, default = (
            syntax.part(node, one) if one in node.args else None for one in ("offset", "default")
        )
        nodes = [one for one in (syntax.part(node, "this"), default) if one is not None]
        argument, *other = reader.alike(nodes)
        for value, one in zip((argument, *other), nodes, strict=True):
            reader.check(value, one)
        away = None if offset is None else read_whole(syntax, offset, "how many rows away")
        return argument, other[0] if other else None, away


_UNNAMED = Refusal(
    "window",
    "OVER names a window that is not there, or says again what it says",
    "each part of a window is defined in one place",
    "write it out after OVER, or name it in WINDOW",
)
_FRAME = Refusal(
    "window",
    "a frame of a window that is not ROWS BETWEEN two rows",
    "others depend on distances that engines measure in different ways",
    "write ROWS BETWEEN 2 PRECEDING AND CURRENT ROW, or leave the frame out",
)
_DISTINCT = Refusal(
    "window",
    "DISTINCT inside a window",
    "engines disagree on it",
    "group by the value in a subquery first",
)
