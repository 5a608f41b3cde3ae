"""Windows over the rows of one person: OVER (PARTITION BY the person ...)."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from sqlglot import exp

from discreet.errors import InputError
from discreet.plan.expressions import Call, Column, Expression, Function, Literal
from discreet.plan.kinds import Kind
from discreet.plan.relations import FilterRows, PersonWindow
from discreet.plan.summaries import RowOrder, Summary, WindowColumn, WindowFunction, expect
from discreet.sql.reader.expressions import ExpressionReader
from discreet.sql.reader.literals import read_whole
from discreet.sql.reader.names import PERSON
from discreet.sql.reader.refusals import WINDOW, Refusal
from discreet.sql.reader.syntax import Node, Syntax

if TYPE_CHECKING:
    from discreet.sql.reader.lookups import Lookups

Asked: TypeAlias = tuple[
    WindowFunction | Summary, Expression | None, Expression | None, int, Literal | None
]
"""The function, its argument, the rows that count, and the offset and default of LAG."""

_NUMBERED: dict[type[Node], WindowFunction] = {
    exp.RowNumber: WindowFunction.ROW_NUMBER,
    exp.Rank: WindowFunction.RANK,
    exp.DenseRank: WindowFunction.DENSE_RANK,
}
_MOVED: dict[type[Node], WindowFunction] = {
    exp.Lag: WindowFunction.LAG,
    exp.Lead: WindowFunction.LEAD,
    exp.FirstValue: WindowFunction.FIRST_VALUE,
    exp.LastValue: WindowFunction.LAST_VALUE,
}
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


def read_window(rows: "Lookups", node: Node, select: Node) -> Expression:
    """The column of a window's value, which the rows have from now on."""
    return _Window(rows, node, select).read()


def pick_first(
    rows: "Lookups", node: Node, keys: list[Expression], by: tuple[RowOrder, ...]
) -> None:
    """Only the first row of each value of some keys, one of which names the person."""
    partition = _parted(rows, node, keys)
    name = rows.fresh("turn")
    window = WindowColumn(name, WindowFunction.ROW_NUMBER, None, partition, by)
    rows.build(node, PersonWindow, (window,))
    first = Call(Function.EQUAL, (Column(name), Literal(1, Kind.INTEGER)))
    rows.build(node, FilterRows, first)


def _parted(rows: "Lookups", node: Node, found: list[Expression]) -> tuple[Expression, ...]:
    """The further parts of a person's rows; one of those found has to name the person."""
    visible = {Column(c.column): c for c in rows.columns}
    named = (visible[one] for one in found if isinstance(one, Column) and one in visible)
    owners = [one for one in named if one.owns]
    if not owners:
        person = next((c.name for c in rows.columns if PERSON in c.identities), None)
        fix = f"add PARTITION BY {person}" if person else WINDOW.fix
        raise rows.syntax.refuse(node, Refusal(WINDOW.code, WINDOW.what, WINDOW.why, fix))
    whole = {Column(one.column) for one in owners if PERSON in one.identities}
    return tuple(one for one in found if one not in whole)


class _Window:
    """One function OVER a window."""

    def __init__(self, rows: "Lookups", node: Node, select: Node) -> None:
        self.rows = rows
        self.syntax = rows.syntax
        self.node = node
        self.reader: ExpressionReader = rows.reader("a window")
        self.syntax.part(node, "over")
        self.clauses = [node, *self._named(node, select)]

    def read(self) -> Expression:
        """The column of the value."""
        name = self.rows.fresh("window")
        partition, order, frame = self._partition(), self._order(), self._frame()
        function, argument, where, offset, default = self._function(
            self.syntax.part(self.node, "this")
        )
        window = WindowColumn(
            name, function, argument, partition, order, where, offset, default, frame
        )
        self.rows.build(self.node, PersonWindow, (window,))
        return Column(name)

    def _named(self, node: Node, select: Node) -> list[Node]:
        """The window of the WINDOW clause that OVER names."""
        alias = self.syntax.part(node, "alias")
        if alias is None:
            return []
        word = self.syntax.word(alias)
        for one in self.syntax.parts(select, "windows"):
            if word.names(self.syntax.word(self.syntax.part(one, "this")).text):
                return [one]
        raise self.syntax.refuse(node, _UNNAMED)

    def _part(self, name: str) -> Node | None:
        found = [self.syntax.part(one, name) for one in self.clauses]
        given = [part for part in found if part]
        if len(given) > 1:
            raise self.syntax.refuse(self.node, _UNNAMED)
        return given[0] if given else None

    def _partition(self) -> tuple[Expression, ...]:
        parts = [self.reader.checked(one) for one in self._part("partition_by") or ()]
        return _parted(self.rows, self.node, parts)

    def _order(self) -> tuple[RowOrder, ...]:
        order = self._part("order")
        return () if order is None else row_orders(self.syntax, order, self.reader.checked)

    def _frame(self) -> tuple[int | None, int | None] | None:
        spec = self._part("spec")
        if spec is None:
            return None
        kind = str(self.syntax.part(spec, "kind")).upper()
        low = self._place(spec, "start", "PRECEDING")
        high = self._place(spec, "end", "FOLLOWING")
        if kind == "ROWS":
            return low, high
        if kind == "RANGE" and low is None and high in (None, 0):
            return None if high == 0 else (None, None)
        raise self.syntax.refuse(self.node, _FRAME)

    def _place(self, spec: Node, part: str, open_side: str) -> int | None:
        """A place from this row; None for all rows on its side."""
        place = self.syntax.part(spec, part)
        side = str(self.syntax.part(spec, f"{part}_side") or "").upper()
        if place is None or place == "CURRENT ROW":
            return 0
        if place == "UNBOUNDED":
            if side == open_side:
                return None
            raise self.syntax.refuse(self.node, _FRAME)
        rows = read_whole(self.syntax, place, "the frame of a window")
        return -rows if side == "PRECEDING" else rows

    # --- functions -------------------------------------------------------------------------------

    def _function(
        self, node: Node
    ) -> (
        "tuple[WindowFunction | Summary, Expression | None, Expression | None, int, Literal | None]"
    ):
        """The function, its argument, the rows that count, and the offset and default of LAG."""
        kind, where = type(node), None
        if kind is exp.Filter:
            where = self.reader.checked(
                self.syntax.part(self.syntax.part(node, "expression"), "this")
            )
            node = self.syntax.part(node, "this")
            kind = type(node)
        if kind in _NUMBERED and where is None:
            return _NUMBERED[kind], None, None, 1, None
        if kind in _MOVED and where is None:
            return self._moved(node)
        if kind not in _SUMMED:
            raise self.syntax.refuse(self.node, _FUNCTION)
        return self._summed(node, where)

    def _moved(self, node: Node) -> Asked:
        offset = self.syntax.part(node, "offset") if "offset" in node.args else None
        default = self.syntax.part(node, "default") if "default" in node.args else None
        value, constant = self.syntax.part(node, "this"), None
        if default is None:
            argument = self.reader.checked(value)
        else:
            argument, other = self.reader.alike([value, default])
            if not isinstance(other, Literal):
                raise self.syntax.refuse(default, _DEFAULT)
            constant = other
        away = 1 if offset is None else read_whole(self.syntax, offset, "the offset of a window")
        return _MOVED[type(node)], argument, None, away, constant

    def _summed(self, node: Node, where: Expression | None) -> Asked:
        if isinstance(node, exp.Count):
            self.syntax.part(node, "big_int")
        inner = self.syntax.part(node, "this")
        if isinstance(inner, exp.Distinct):
            raise self.syntax.refuse(inner, _FUNCTION)
        starred = inner is None or isinstance(inner, exp.Star)
        argument = None if starred else self.reader.checked(inner)
        if isinstance(node, exp.CountIf) and argument is not None:
            where = argument if where is None else Call(Function.AND, (where, argument))
            argument = None
        if argument is None and not isinstance(node, exp.Count | exp.CountIf):
            raise self.syntax.refuse(self.node, _FUNCTION)
        if isinstance(node, exp.LogicalAnd | exp.LogicalOr) and argument is not None:
            argument = boolean(self.reader, argument, node)
        return _SUMMED[type(node)], argument, where, 1, None


def row_orders(
    syntax: Syntax, order: Node, read: Callable[[Node], Expression]
) -> tuple[RowOrder, ...]:
    """The parts of an ORDER BY over the rows of one person."""
    return tuple(
        RowOrder(
            read(syntax.part(part, "this")),
            bool(syntax.part(part, "desc")),
            bool(syntax.part(part, "nulls_first")),
        )
        for part in syntax.parts(order, "expressions")
    )


def boolean(reader: ExpressionReader, argument: Expression, node: Node) -> Expression:
    """An argument that has to be a condition."""
    try:
        expect(argument, reader.types, Kind.BOOLEAN, "the argument")
    except InputError as error:
        raise reader.syntax.blame(node, error) from None
    return argument


_UNNAMED = Refusal(
    "window",
    "OVER names a window that is not there, or adds to what it says",
    "each window is defined in one place",
    "write it out after OVER, or name it in WINDOW",
)
_FRAME = Refusal(
    "window",
    "a frame of a window that is not ROWS BETWEEN two rows",
    "others depend on distances that engines measure in different ways",
    "write ROWS BETWEEN 2 PRECEDING AND CURRENT ROW, or leave the frame out",
)
_FUNCTION = Refusal(
    "window",
    "this function is asked over a window",
    "over the rows of a person there are ROW_NUMBER, RANK, DENSE_RANK, LAG, LEAD, FIRST_VALUE, "
    "LAST_VALUE, COUNT, SUM, AVG, MIN, MAX, BOOL_AND and BOOL_OR",
    "use one of them, or aggregate in a subquery that is grouped by the person",
)
_DEFAULT = Refusal("window", "a default that is no constant", fix="write the value itself")
