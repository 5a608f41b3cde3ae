"""Windows as they are written, and over the rows of one person: ROW_NUMBER, LAG, running sums.

A window has to be partitioned by a column that names the person: then its value beside a row is a
function of rows of that person alone (`PersonWindow`). Any other would compare different people.
NTILE, PERCENT_RANK and CUME_DIST are computed from places and counts, of which they are functions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from sqlglot import exp

from discreet.plan.expressions import Case, Column, Expression, Function, Literal, call
from discreet.plan.kinds import Kind
from discreet.plan.relations import FilterRows, PersonWindow
from discreet.plan.summaries import RowOrder, Summary, WindowColumn, WindowFunction
from discreet.sql.reader.expressions import ExpressionReader
from discreet.sql.reader.literals import read_whole
from discreet.sql.reader.refusals import WINDOW, Refusal, said
from discreet.sql.reader.syntax import PERSON, Node, Syntax, order_parts

if TYPE_CHECKING:
    from discreet.sql.reader.select import SelectRows


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
        return order_parts(self.syntax, self.syntax.part(self._where("order"), "order"))

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
        where = reader.checked(self.syntax.part(node, "expression", "this"))
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


_UNNAMED = said("""window: OVER names a window that is not there, or says again what it says
    each part of a window is defined in one place
    write it out after OVER, or name it in WINDOW""")
_FRAME = said("""window: a frame of a window that is not ROWS BETWEEN two rows
    others depend on distances that engines measure in different ways
    write ROWS BETWEEN 2 PRECEDING AND CURRENT ROW, or leave the frame out""")
_DISTINCT = said("""window: DISTINCT inside a window
    engines disagree on it
    group by the value in a subquery first""")

_RANKS = (exp.RowNumber, exp.Rank, exp.DenseRank)
_MOVED = (exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue)
_PLACED = {one: WindowFunction[one.sql_name()] for one in (*_RANKS, *_MOVED)}
_SUMMED: dict[type[Node], Summary] = {
    exp.Count: Summary.COUNT,
    exp.CountIf: Summary.COUNT,
    exp.Sum: Summary.SUM,
    exp.Avg: Summary.MEAN,
    exp.Min: Summary.MIN,
    exp.Max: Summary.MAX,
    exp.LogicalAnd: Summary.MIN,
    exp.LogicalOr: Summary.MAX,
}


def pick_first(
    rows: "SelectRows", node: Node, keys: list[Expression], by: tuple[RowOrder, ...]
) -> None:
    """Only the first row of each value of some keys, one of which names the person."""
    partition = _parted(rows, node, keys)
    name = rows.fresh("turn")
    window = WindowColumn(name, WindowFunction.ROW_NUMBER, None, partition, by)
    rows.build(node, PersonWindow, (window,))
    rows.build(node, FilterRows, Column(name).equals(1))


def _parted(rows: "SelectRows", node: Node, found: list[Expression]) -> tuple[Expression, ...]:
    """The further parts of a person's rows; one of those found has to name the person."""
    visible = {Column(c.column): c for c in rows.columns}
    named = (visible[one] for one in found if isinstance(one, Column) and one in visible)
    owners = [one for one in named if one.owns]
    if not owners:
        person = next((c.name for c in rows.columns if PERSON in c.identities), None)
        fix = f"add PARTITION BY {person}" if person else WINDOW.fix
        if isinstance(node.this, exp.Ntile | exp.PercentRank | exp.CumeDist):
            fix = f"{RANKED.fix}; among one person's own rows, {fix}"
        raise rows.syntax.refuse(node, Refusal(WINDOW.code, WINDOW.what, WINDOW.why, fix))
    whole = {Column(one.column) for one in owners if PERSON in one.identities}
    return tuple(one for one in found if one not in whole)


class RowWindow:
    """One function OVER a window of a person's rows, which get a column for its value."""

    def __init__(self, rows: "SelectRows", node: Node) -> None:
        self.rows = rows
        self.syntax = rows.syntax
        self.node = node
        self.reader: ExpressionReader = rows.reader("a window")
        self.written = WindowSyntax.of(self.syntax, node)
        self.partition = _parted(rows, node, list(self.written.partition(self.reader.checked)))
        self.order = tuple(
            RowOrder(self.reader.checked(one), *how) for one, *how in self.written.order()
        )
        self.frame = self.written.frame()

    def read(self) -> Expression:
        """The column of the value, or what is computed from several."""
        node, where = self.written.function(self.reader)
        kind = type(node)
        if kind in _SUMMED:
            return self._summed(node, where)
        if where is None and kind in _COMPOSED and self.order:
            return _COMPOSED[kind](self, node)
        if where is not None or kind not in _PLACED:
            raise self.syntax.refuse(self.node, _FUNCTION)
        if not node.args.get("this"):
            return self._column(_PLACED[kind])
        argument, default, away = self.written.moved(self.reader, node)
        if default is not None and not isinstance(default, Literal):
            raise self.syntax.refuse(node, _DEFAULT)
        offset = 1 if away is None else away
        return self._column(_PLACED[kind], argument, None, offset, default)

    def _column(
        self,
        function: WindowFunction | Summary,
        argument: Expression | None = None,
        where: Expression | None = None,
        offset: int = 1,
        default: Literal | None = None,
        *,
        ordered: bool = True,
    ) -> Expression:
        name = self.rows.fresh("window")
        order, frame = (self.order, self.frame) if ordered else ((), None)
        parts = (name, function, argument, self.partition, order, where, offset, default, frame)
        self.rows.build(self.node, PersonWindow, (WindowColumn(*parts),))
        return Column(name)

    def _summed(self, node: Node, where: Expression | None) -> Expression:
        argument = self.written.argument(self.reader, node)
        if isinstance(node, exp.CountIf) and argument is not None:
            where = argument if where is None else where & argument
            argument = None
        if argument is None and not isinstance(node, exp.Count | exp.CountIf):
            raise self.syntax.refuse(self.node, _FUNCTION)
        if isinstance(node, exp.LogicalAnd | exp.LogicalOr) and argument is not None:
            self.reader.expect_condition(argument, node, "the argument")
        return self._column(_SUMMED[type(node)], argument, where)

    # --- shares of places -------------------------------------------------------------------------

    def _count(self) -> Expression:
        return self._column(Summary.COUNT, ordered=False)

    def percent_rank(self, _: Node) -> Expression:
        """(rank - 1) / (rows - 1), and 0 of one row."""
        below, others = self._column(WindowFunction.RANK) - 1, self._count() - 1
        share = Case(((others.equals(0), Literal(0.0, Kind.REAL)),), below / others)
        return _within(share, 0.0, 1.0)

    def cume_dist(self, _: Node) -> Expression:
        """The share of rows up to this one and its equals."""
        return _within(self._column(Summary.COUNT) / self._count(), 0.0, 1.0)

    def ntile(self, node: Node) -> Expression:
        """NTILE(k): tiles of equal size, the first ones larger by a row where that is not whole."""
        written = self.syntax.part(node, "this")
        tiles = read_whole(self.syntax, written, "NTILE", at_least=1)
        if tiles > _MOST_TILES:
            raise self.syntax.refuse(written, _TILES)
        number, count = (  # nobody has as many rows, and so all of it fits 64 bits
            call(Function.LEAST, one, 1 << 40)
            for one in (self._column(WindowFunction.ROW_NUMBER), self._count())
        )
        place, size, larger = number - 1, count // tiles, count % tiles
        edge = larger * (size + 1)
        found = Case(((place < edge, place // (size + 1)),), larger + (place - edge) // size)
        return _within(found + 1, 1, tiles)


def _within(value: Expression, low: float, high: float) -> Expression:
    """A value that is never NULL and within two others, said so that its bounds are known."""
    return call(Function.LEAST, call(Function.GREATEST, value, low), high)


_COMPOSED: dict[type[Node], Callable[[RowWindow, Node], Expression]] = {
    exp.PercentRank: RowWindow.percent_rank,
    exp.CumeDist: RowWindow.cume_dist,
    exp.Ntile: RowWindow.ntile,
}


def row_orders(
    syntax: Syntax, order: Node, read: Callable[[Node], Expression]
) -> tuple[RowOrder, ...]:
    """The parts of an ORDER BY over the rows of one person."""
    return tuple(RowOrder(read(one), *how) for one, *how in order_parts(syntax, order))


_MOST_TILES = 1 << 16
RANKED = said(f"""window: people are ranked among each other
    {WINDOW.why}
    ask SELECT QUANTILE_CONT(x, [0.25, 0.5, 0.75]) of the same rows first, and group by CASE WHEN \
    x < ... with its numbers""")
_TILES = Refusal("window", "NTILE of more than 65536", "nobody has as many rows", "use fewer")
_FUNCTION = said("""window: this function is asked over a window
    over the rows of a person there are ROW_NUMBER, RANK, DENSE_RANK, PERCENT_RANK, CUME_DIST, \
    NTILE, LAG, LEAD, FIRST_VALUE, LAST_VALUE, COUNT, SUM, AVG, MIN, MAX, BOOL_AND and BOOL_OR
    use one of them, with ORDER BY, or aggregate in a subquery that is grouped by the \
    person""")
_DEFAULT = Refusal("window", "a default that is no constant", fix="write the value itself")
