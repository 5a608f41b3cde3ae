"""The SELECT list: its values, their names, and what * stands for."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from discreet.plan.expressions import Column, Expression
from discreet.sql.reader.expressions import (
    AGGREGATES,
    ExpressionReader,
    function_name,
    has_aggregate,
)
from discreet.sql.reader.names import Visible, bare_word, check_name, fresh, lookup
from discreet.sql.reader.refusals import Refusal
from discreet.sql.reader.syntax import Node, Syntax


@dataclass(frozen=True, slots=True)
class Item:
    """One value of a SELECT list; `visible` where * or a bare column gave it."""

    node: Node
    alias: str | None = None
    visible: Visible | None = None

    @property
    def aggregates(self) -> bool:
        """Whether an aggregate stands in it."""
        return has_aggregate(self.node)

    @property
    def is_aggregate(self) -> bool:
        """Whether it is an aggregate, as a whole."""
        return isinstance(self.node, AGGREGATES)

    def read(self, reader: ExpressionReader) -> Expression:
        """The expression, with kinds in order."""
        if self.visible is not None:
            return reader.syntax.remember(Column(self.visible.column), self.node)
        return reader.checked(self.node)

    @property
    def given_name(self) -> str | None:
        """The name that the question gives it: an alias, or a column's own."""
        if self.visible is not None:
            return self.alias or self.visible.name
        own = str(self.node.name) if isinstance(self.node, exp.Column) else None
        return self.alias or own

    def default_name(self, syntax: Syntax, position: int) -> str:
        """A name for it where the question gives none."""
        match self.node:
            case exp.Cast():
                inner = Item(self.node.this)
                return inner.given_name or inner.default_name(syntax, position)
            case exp.Func() if not isinstance(self.node, exp.Connector):
                return function_name(syntax, self.node).lower()
        return f"column_{position}"


def read_items(syntax: Syntax, select: Node, columns: Sequence[Visible]) -> list[Item]:
    """The values of a SELECT list, * written out."""
    items: list[Item] = []
    for node in syntax.parts(select, "expressions"):
        items += _read_item(syntax, node, columns)
    if not items:
        raise syntax.refuse(select, _NOTHING)
    return items


def or_earlier(
    reader: ExpressionReader, columns: Sequence[Visible], named: list[tuple[str | None, Expression]]
) -> ExpressionReader:
    """A reader that takes a name that is no column of FROM for that of a value already read."""

    def meaning(node: exp.Column) -> Expression:
        word = bare_word(reader.syntax, node)
        if word is not None and not lookup(reader.syntax, node, columns)[0]:
            for name, expression in named:
                if name is not None and word.names(name):
                    return expression
        return reader.resolve(node)

    return replace(reader, resolve=meaning)


def read_in_turn(
    reader: ExpressionReader, columns: Sequence[Visible], items: Sequence[Item]
) -> list[Expression]:
    """The values of a SELECT list; each may name earlier ones, as in DuckDB."""
    values: list[Expression] = []
    named: list[tuple[str | None, Expression]] = []
    late = or_earlier(reader, columns, named)
    for item in items:
        values.append(item.read(late))
        named.append((item.alias, values[-1]))
    return values


def name_items(syntax: Syntax, items: Sequence[Item], stems: Sequence[str | None]) -> list[str]:
    """The names of the values: as given, or made up and different from all."""
    taken: set[str] = set()
    for item in items:
        if item.given_name is not None:
            check_name(syntax, item.given_name, item.node)
            if fresh(item.given_name, taken) != item.given_name:
                raise syntax.refuse(item.node, _SAME_NAME)
    return [
        item.given_name or fresh(stem or item.default_name(syntax, at), taken)
        for at, (item, stem) in enumerate(zip(items, stems, strict=True), start=1)
    ]


def _read_item(syntax: Syntax, node: Node, columns: Sequence[Visible]) -> list[Item]:
    if isinstance(node, exp.Alias):
        inner = syntax.part(node, "this")
        return [Item(inner, syntax.word(syntax.part(node, "alias")).text)]
    if isinstance(node, exp.Star):
        return [Item(node, visible=c) for c in columns if not c.hidden]
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
        syntax.part(node, "this")
        table = syntax.word(syntax.part(node, "table"))
        found = [c for c in columns if table.names(c.source)]
        if not found:
            what = Refusal("unknown_table", f"nothing in FROM is called {table.text}")
            raise syntax.refuse(node, what)
        return [Item(node, visible=c) for c in found]
    return [Item(node)]


_NOTHING = Refusal(
    "syntax", "SELECT without values", "there is nothing to answer", "select COUNT(*)"
)
_SAME_NAME = Refusal(
    "duplicate_name",
    "two columns have one name",
    "a name has to mean one column, in any case",
    "rename one of them with AS",
)
