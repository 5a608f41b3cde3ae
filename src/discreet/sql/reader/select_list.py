"""The SELECT list, and expressions over released numbers in it, HAVING, ORDER BY and LIMIT.

Expressions over released numbers cost no privacy: they read names that are released. A question
over an aggregated subquery is the same, with that subquery's values in place of names.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.plan.answer_program import Program
from discreet.plan.expressions import Case, Column, Expression, Literal, mapped
from discreet.plan.kinds import Kind
from discreet.plan.query import Query, SortKey
from discreet.plan.relations import Named
from discreet.sql.reader.expressions import ExpressionReader, Resolve, function_name
from discreet.sql.reader.literals import read_whole
from discreet.sql.reader.refusals import Refusal, said
from discreet.sql.reader.syntax import (
    AGGREGATES,
    Node,
    Syntax,
    Visible,
    bare_word,
    check_name,
    fresh,
    has_aggregate,
    lookup,
    order_parts,
    resolve,
)

_NONE: Mapping[str, Expression] = {}


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

    def read(self, reader: ExpressionReader, known: Mapping[str, Expression] = _NONE) -> Expression:
        """The expression, with kinds in order; `known` are what columns stand for."""
        if self.visible is None:
            return reader.checked(self.node)
        column = self.visible.column
        return known.get(column) or reader.syntax.remember(Column(column), self.node)

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
    reader: ExpressionReader,
    columns: Sequence[Visible],
    items: Sequence[Item],
    known: Mapping[str, Expression] = _NONE,
) -> list[Expression]:
    """The values of a SELECT list; each may name earlier ones, as in DuckDB."""
    values: list[Expression] = []
    named: list[tuple[str | None, Expression]] = []
    late = or_earlier(reader, columns, named)
    for item in items:
        values.append(item.read(late, known))
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
        return _read_star(syntax, node, [c for c in columns if not c.hidden])
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
        star = syntax.part(node, "this")
        table = syntax.word(syntax.part(node, "table"))
        found = [c for c in columns if table.names(c.source)]
        if not found:
            what = Refusal("unknown_table", f"nothing in FROM is called {table.text}")
            raise syntax.refuse(node, what)
        return _read_star(syntax, star, found)
    return [Item(node)]


def _read_star(syntax: Syntax, star: Node, columns: Sequence[Visible]) -> list[Item]:
    """All columns but those of EXCLUDE; values of REPLACE stand in the place of theirs."""
    named = (one for one in syntax.parts(star, "except_") if isinstance(one, exp.Column))
    left_out = {resolve(syntax, one, columns) for one in named}
    instead = {}
    for one in syntax.parts(star, "replace"):
        [item] = _read_item(syntax, one, columns)
        instead[resolve(syntax, exp.Column(this=one.args["alias"]), columns)] = item
    return [instead.get(c) or Item(star, visible=c) for c in columns if c not in left_out]


_NOTHING = Refusal(
    "syntax", "SELECT without values", "there is nothing to answer", "select COUNT(*)"
)
_SAME_NAME = said("""duplicate_name: two columns have one name
    a name has to mean one column, in any case
    rename one of them with AS""")


@dataclass(frozen=True, slots=True)
class Answer:
    """An aggregated question, and what its values can be called from outside.

    What is computed from public tables alone is a program without questions. `personal` says that a
    key names people, so that each group is one person's, or nobody's.
    """

    query: Query | Program
    columns: tuple[Visible, ...]
    personal: bool = False


def answer_named(query: Query | Program, names: Iterable[str]) -> Answer:
    """An answer with these names, of no source yet."""
    return Answer(query, tuple(Visible(name, name, "") for name in names))


@dataclass(frozen=True, slots=True)
class Lift:
    """Puts released names in the place of key expressions and aggregates."""

    syntax: Syntax
    names: Mapping[Expression, str]
    columns: Sequence[Visible]

    def lift(self, expression: Expression, node: Node | None) -> Expression:
        """The expression over released columns; a column that is not grouped is refused."""
        if expression in self.names:
            return self._kept(Column(self.names[expression]), expression, node)
        here = self.syntax.origin(expression) or node
        if isinstance(expression, Literal):
            return expression
        if isinstance(expression, Column):
            raise self._ungrouped(expression.name, here)
        lifted = mapped(expression, lambda part: self.lift(part, here))
        return self._kept(lifted, expression, node)

    def order(self, keys: Iterable[SortKey]) -> tuple[SortKey, ...]:
        """The same of an order."""
        return tuple(replace(key, expression=self.lift(key.expression, None)) for key in keys)

    def _kept(self, lifted: Expression, old: Expression, node: Node | None) -> Expression:
        origin = self.syntax.origin(old) or node
        return lifted if origin is None else self.syntax.remember(lifted, origin)

    def _ungrouped(self, column: str, node: Node | None) -> QueryRefused:
        name = next((c.name for c in self.columns if c.column == column), column)
        what = Refusal(
            "ungrouped_column",
            f"{name} is neither grouped nor aggregated",
            "it has a value for each row, and the answer has one row for each group",
            f"add {name} to GROUP BY, or aggregate it, as in COUNT(DISTINCT {name})",
        )
        return self.syntax.refuse(node, what)


def read_limits(syntax: Syntax, select: Node) -> tuple[int | None, int]:
    """LIMIT and OFFSET."""
    limit, skip = syntax.part(select, "limit"), syntax.part(select, "offset", "expression")
    skipped = 0 if skip is None else read_whole(syntax, skip, "OFFSET")
    if isinstance(limit, exp.Fetch):
        return _fetched(syntax, limit), skipped
    if limit is not None and limit.args.get("limit_options") is not None:
        raise syntax.refuse_clause(limit, "limit_options")
    most = None if limit is None else syntax.part(limit, "expression")
    return None if most is None else read_whole(syntax, most, "LIMIT", at_least=1), skipped


def _fetched(syntax: Syntax, fetch: Node) -> int:
    """FETCH FIRST 3 ROWS ONLY; one row where no number is said."""
    options, count = syntax.part(fetch, "limit_options"), syntax.part(fetch, "count")
    syntax.part(fetch, "direction")
    if options is not None and (syntax.part(options, "percent") or options.args.get("with_ties")):
        raise syntax.refuse(fetch, _FETCH)
    if options is not None:
        syntax.part(options, "rows")
    return 1 if count is None else read_whole(syntax, count, "FETCH FIRST", at_least=1)


def selected(
    syntax: Syntax, node: Node, outputs: Sequence[tuple[str | None, Expression]]
) -> Expression | None:
    """The selected value whose place or name stands in ORDER BY; None for other expressions."""
    if isinstance(node, exp.Literal | exp.Boolean | exp.Null | exp.Var):
        at = read_whole(syntax, node, "a position in ORDER BY", at_least=1)
        if at <= len(outputs):
            return outputs[at - 1][1]
        raise syntax.refuse(node, POSITION)
    word = bare_word(syntax, node)
    return next((value for name, value in outputs if word and name and word.names(name)), None)


def or_selected(
    meaning: Resolve,
    syntax: Syntax,
    columns: Sequence[Visible],
    outputs: Sequence[tuple[str | None, Expression]],
) -> Resolve:
    """A name after the SELECT list: a column of FROM or a selected value, if it is not both."""

    def resolve_name(node: exp.Column) -> Expression:
        own, found = selected(syntax, node, outputs), lookup(syntax, node, columns)[0]
        if own is None or [Column(c.column) for c in found] == [own]:
            return meaning(node)
        if found:
            raise syntax.refuse(node, _AMBIGUOUS)
        return own

    return resolve_name


def orders(expression: Expression, descending: bool, nulls_first: bool) -> list[SortKey]:  # noqa: FBT001 - facts of the text
    """One part of ORDER BY: NULL is last in the plan, so that NULLS FIRST takes two."""
    order = SortKey(expression, descending)
    if not nulls_first:
        return [order]
    last, first = Literal(1, Kind.INTEGER), Literal(0, Kind.INTEGER)
    return [SortKey(Case(((expression.is_null(), first),), last)), order]


def read_order(
    syntax: Syntax,
    select: Node,
    outputs: Sequence[tuple[str | None, Expression]],
    read: Callable[[Node], Expression],
) -> tuple[SortKey, ...]:
    """ORDER BY over released rows: a place or a name of a selected value, or else an expression.

    ALL is each selected value.
    """

    def values(node: Node) -> list[Expression]:
        if isinstance(node, exp.Var) and str(syntax.part(node, "this")).upper() == "ALL":
            return [value for _, value in outputs]
        return [selected(syntax, node, outputs) or read(node)]

    return tuple(
        key
        for node, *how in order_parts(syntax, syntax.part(select, "order"))
        for value in values(node)
        for key in orders(value, *how)
    )


def is_simple(select: Node, answer: Answer) -> bool:
    """Whether a SELECT over an answer has a value for each of its rows, from that row alone."""
    query = answer.query
    if isinstance(query, Program) or query.then is not None:
        return False
    if any(select.args.get(part) for part in _TABLE_PARTS):
        return False
    cut = query.limit is not None or query.offset
    if cut and any(select.args.get(part) for part in ("where", "order", "limit", "offset")):
        return False
    own = [select.args.get("where"), select.args.get("order"), *select.expressions]
    parts = (part for one in own if one is not None for part in one.walk())
    return not any(isinstance(part, (*AGGREGATES, exp.Window, exp.Query)) for part in parts)


_TABLE_PARTS = ("group", "distinct", "having", "qualify", "joins")


class SelectOver:
    """A simple question over an aggregated subquery: more post-processing of each row."""

    def __init__(self, syntax: Syntax, select: Node, answer: Answer) -> None:
        self.syntax = syntax
        self.select = select
        assert isinstance(answer.query, Query)  # noqa: S101 - narrowing: see `is_simple`
        self.query = answer.query
        self.personal = answer.personal
        self.values = {
            f"\0{at}": output.expression for at, output in enumerate(answer.query.outputs)
        }
        columns = zip(answer.columns, self.values, strict=True)
        self.columns = [replace(one, column=column) for one, column in columns]
        self.types = answer.query.released_columns
        self.reader = ExpressionReader(syntax, self.types, self._value)

    def read(self) -> Answer:
        """The same question, with more done to its answer."""
        items = read_items(self.syntax, self.select, self.columns)
        outputs = read_in_turn(self.reader, self.columns, items, self.values)
        names = name_items(self.syntax, items, [None] * len(items))
        query = replace(
            self.query, outputs=tuple(Named(n, e) for n, e in zip(names, outputs, strict=True))
        )
        query = self._limited(self._filtered(query), list(zip(names, outputs, strict=True)))
        return replace(answer_named(query, names), personal=self.personal)

    def _value(self, node: exp.Column) -> Expression:
        return self.values[resolve(self.syntax, node, self.columns).column]

    def _filtered(self, query: Query) -> Query:
        node = self.syntax.part(self.select, "where", "this")
        if node is None:
            return query
        condition = self.reader.condition(node)
        return replace(query, having=query.having & condition if query.having else condition)

    def _limited(self, query: Query, outputs: Sequence[tuple[str, Expression]]) -> Query:
        order = read_order(self.syntax, self.select, outputs, self.reader.checked)
        limit, offset = read_limits(self.syntax, self.select)
        if order or limit is not None or offset:
            return replace(query, order=order or query.order, limit=limit, offset=offset)
        return query


_FETCH = Refusal("clause", "FETCH by percent or WITH TIES", fix="write LIMIT and a number")
_AMBIGUOUS = said("""ambiguous_column: the name is both a column and a selected value
    engines disagree on which one it means here
    give the selected value another name with AS""")
POSITION = said("""argument: a position behind the end of the SELECT list
    positions count the selected values from 1
    use a smaller number or a name""")
