"""One SELECT: private rows from FROM and WHERE, then groups, or rows for the question around it.

    no aggregate, no GROUP BY         rows: each a function of one row below
    GROUP BY the person (and more)    rows: one a person, with summaries of that person's rows
    any other aggregate               an answer: released, and post-processed

A whole question has to be an answer; FROM takes rows, or one answer alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeGuard

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.plan.answer_program import Program
from discreet.plan.expressions import Column, Expression, Function, chain
from discreet.plan.relations import (
    FilterRows,
    JoinPublic,
    Named,
    PerPerson,
    Project,
    Relation,
    Scan,
    Union,
    columns_of,
    inputs_of,
)
from discreet.plan.schema import PersonPeriod
from discreet.sql.reader.aggregated_select import LIMIT, ORDER, AggregatedSelect
from discreet.sql.reader.beside_rows import ROWS
from discreet.sql.reader.expressions import ExpressionReader
from discreet.sql.reader.group_by import GroupReader, Groups
from discreet.sql.reader.groups_first import is_plain_grouping, windows_after_groups
from discreet.sql.reader.lookups import Lookups
from discreet.sql.reader.refusals import ROW_OUTPUT, said
from discreet.sql.reader.select_list import (
    Answer,
    Item,
    name_items,
    or_earlier,
    or_selected,
    read_in_turn,
    read_items,
    selected,
)
from discreet.sql.reader.syntax import (
    NamedRelation,
    Node,
    Syntax,
    Visible,
    bare_word,
    conjuncts,
    copied,
    fresh,
    has_aggregate,
    names_one,
    resolve,
)
from discreet.sql.reader.windows import RANKED, RowWindow, pick_first, row_orders

if TYPE_CHECKING:
    from discreet.plan.kinds import Type
    from discreet.sql.reader.from_clause import RelationReader


class SelectRows:
    """The rows of one SELECT, with the columns that its conditions and values have asked for."""

    def __init__(self, tables: "RelationReader", rows: NamedRelation, select: Node) -> None:
        self.tables = tables
        self.syntax: Syntax = tables.syntax
        self.columns = rows.columns
        self.relation = rows.relation
        self.types: dict[str, Type] = dict(columns_of(rows.relation))
        self._computed = _computed_columns(rows.relation)
        self.select = select
        self._found: dict[int, tuple[Node, Expression]] = {}

    def reader(
        self,
        clause: str,
        outer: Sequence[Visible] = (),
        resolve_name: Callable[[exp.Column], Expression] | None = None,
        *,
        windows: bool = False,
    ) -> ExpressionReader:
        """A reader of expressions over the rows; names that they lack are those of `outer`."""

        def meaning(node: exp.Column) -> Expression:
            known = [c for c in (self.columns, outer) if c and names_one(self.syntax, node, c)]
            return Column(resolve(self.syntax, node, known[0] if known else self.columns).column)

        look = self.ask if windows else self.find
        names = resolve_name or meaning
        return ExpressionReader(
            self.syntax, self.types, names, clause=clause, look=look, computed=self._computed
        )

    def build(self, node: Node, kind: Callable[..., Relation], *fields: object) -> None:
        """The rows below another relation from now on."""
        self.relation = self.syntax.build(node, kind, self.relation, *fields)
        self.types.update(columns_of(self.relation))

    def ask(self, node: Node) -> Expression:
        """A window or a subquery."""
        if not isinstance(node, exp.Window):
            return self.find(node)
        return self._once(node, lambda: RowWindow(self, node).read())

    def find(self, node: Node) -> Expression:
        """A subquery inside an expression, or a window that is known already."""
        if not isinstance(node, exp.Window):
            return self._once(node, lambda: Lookups(self).read(node))
        if id(node) not in self._found:
            raise self.syntax.refuse(node, RANKED if has_aggregate(node) else _WINDOW_PLACE)
        return self._found[id(node)][1]

    def knows(self, node: Node) -> bool:
        """Whether the same was asked of the rows before, as a key is."""
        return any(other == node for other, _ in self._found.values())

    def over(self, rows: NamedRelation, select: Node) -> "SelectRows":
        """The rows of a SELECT inside of this one."""
        return SelectRows(self.tables, rows, select)

    def _once(self, node: Node, read: Callable[[], Expression]) -> Expression:
        """The meaning of a node; a key that is selected or written again is one column."""
        if id(node) not in self._found:
            before = self.relation, dict(self.types)
            known = next((e for other, e in self._found.values() if other == node), None)
            found = read()  # each word of it is read, also where it was written before
            if known is not None:
                self.relation, types = before
                self.types.clear()
                self.types.update(types)
            self._found[id(node)] = node, known or found
        return self._found[id(node)][1]

    def fresh(self, name: str, *others: Sequence[str]) -> str:
        """A name that neither the rows nor others have."""
        taken = {one.lower() for names in (self.types, *others) for one in names}
        return fresh(name, taken)


class SelectReader:
    """Reads one SELECT over the rows of its FROM."""

    program: Program | None = None
    """Released rows, where it reads those in place of private ones."""
    of_groups: Sequence[tuple[Node, Node, QueryRefused]] = ()
    """Conditions of WHERE, and IN in them, on keys among released values; refused of no key."""
    totals = False
    """Whether sums over people may be measured by their rows, beside other aggregates."""

    def __init__(
        self,
        tables: "RelationReader",
        select: Node,
        rows: NamedRelation,
        where: list[Node] | None,
        *,
        whole: bool,
        totals: bool = False,
    ) -> None:
        self.syntax = syntax = tables.syntax
        self.select = select
        self.whole = whole
        self.totals = totals
        self.columns = rows.columns
        self.subquery: Callable[[Node], object] = tables.subquery
        self.private = SelectRows(tables, rows, select)
        self.items = read_items(syntax, select, self.columns)
        self._filter(where)
        self.reader = self.private.reader("an aggregate")
        self.rows = self.private.reader("GROUP BY")

    @property
    def relation(self) -> Relation:
        """The rows, with the columns that subqueries and windows have added so far."""
        return self.private.relation

    def read(self) -> NamedRelation | Answer:
        """Rows or an answer."""
        groups = self._groups()
        for _, node, refused in self.of_groups:
            if groups is None or self.rows.checked(node.this) not in groups.keys:
                raise refused
        if groups is None:
            return self._plain_rows()
        named = {c.column: c for c in self.columns if c.identities}
        whose = [(named[e.name], node) for e, node in groups.keys.items() if _is_one(e, named)]
        if whose and self.whole:
            raise self.syntax.refuse(whose[0][1], _PER_PERSON_OUTPUT)
        per_person = any(column.owns for column, _ in whose)
        if per_person and self.of_groups:
            raise self.of_groups[0][-1]
        asked = [*self.select.expressions, self.select.args.get("qualify")]
        windows = any(one is not None and one.find(exp.Window) for one in asked)
        if per_person and windows and is_plain_grouping(self.select):
            return self._windows_of_groups()
        unit = self.relation.facts.unit
        apart = isinstance(unit, PersonPeriod) and Column(unit.column) in groups.keys
        found = AggregatedSelect(self, groups, per_person=per_person).read()
        if isinstance(found, Answer) and (whose or apart):
            return replace(found, personal=True)
        return found

    def _windows_of_groups(self) -> NamedRelation | Answer:
        """Windows over rows of people: those of a SELECT from them."""
        groups, outer = windows_after_groups(self.syntax, self.select)
        tables, rows = self.private.tables, NamedRelation(self.relation, self.columns)
        found = SelectReader(tables, groups, rows, [], whole=False).read()
        assert isinstance(found, NamedRelation)  # noqa: S101 - narrowing: the person is a key
        named = tuple(replace(column, source=ROWS) for column in found.columns)
        read = SelectReader(tables, outer, replace(found, columns=named), [], whole=False).read()
        self.syntax.read_as([], groups)
        for name, part in self.select.args.items():
            if name not in {"from_", "joins", "where", "with_"}:  # those are no copies
                self.syntax.part(self.select, name)
                self.syntax.read_as(
                    part if isinstance(part, list) else [part] if part else [], outer
                )
        return read

    def meaning(self, node: exp.Column) -> Expression:
        """The column of FROM that a name means."""
        return Column(resolve(self.syntax, node, self.columns).column)

    def project(
        self, relation: Relation, columns: Sequence[tuple[str, Expression]], node: Node
    ) -> Relation:
        """Rows with these columns; nothing is added where they are the ones below."""
        if [(name, Column(name)) for name in columns_of(relation)] == list(columns):
            return relation
        return self.syntax.build(node, Project, relation, tuple(Named(*one) for one in columns))

    def _filter(self, rest: list[Node] | None) -> None:
        """WHERE, or what joins have left of it."""
        where = self.syntax.part(self.select, "where", "this")
        whole = [] if where is None else [where]
        reader = self.private.reader("WHERE", (), self._named)
        for node in whole if rest is None else rest:
            conditions = list[Expression]()
            for part in conjuncts(self.syntax, node, exp.And):
                try:
                    conditions.append(reader.checked(part))
                except QueryRefused as refused:
                    member = part
                    while isinstance(member, exp.Not | exp.Paren):
                        member = member.this
                    if id(member.args.get("query")) not in self.syntax.answers:
                        raise
                    self.of_groups = [*self.of_groups, (part, member, refused)]
            if conditions:
                condition = self.syntax.remember(chain(Function.AND, conditions), node)
                self.private.build(node, FilterRows, condition)

    def _named(self, node: exp.Column) -> Expression:
        """A name in WHERE: that of a column, else that of a selected value of the row."""
        word = bare_word(self.syntax, node)
        if word is not None and not names_one(self.syntax, node, self.columns):
            for item in self.items:
                if item.alias is not None and word.names(item.alias) and not item.aggregates:
                    return item.read(self.private.reader("WHERE"))
        return self.meaning(node)

    def _groups(self) -> Groups | None:
        """The groups of the question; None where rows are asked for."""
        group = self.syntax.part(self.select, "group")
        distinct = self.syntax.part(self.select, "distinct")
        having = self.select.args.get("having")
        aggregated = having is not None or any(item.aggregates for item in self.items)
        if distinct is not None:
            if group is not None or aggregated:
                raise self.syntax.refuse(self.select, _DISTINCT_ANSWER)
            if distinct.args.get("on") is not None:
                return None  # rows, of which `_pick` keeps the first ones
            return self._group_reader().of_items(self.items)
        if group is not None:
            return self._group_reader().read(group)
        return Groups() if aggregated else None

    def _group_reader(self) -> GroupReader:
        return GroupReader(self.rows, self.columns, self.items, self._read_key)

    def _read_key(self, item: Item) -> Expression:
        if item.aggregates:
            raise self.syntax.refuse(item.node, _AGGREGATE_KEY)
        distinct = self.select.args.get("group") is None  # which is after windows
        reader = self._distinct_reader() if distinct else self.rows

        def meaning(node: exp.Column) -> Expression:
            """A name of FROM, or of a value that is selected before."""
            word = bare_word(self.syntax, node)
            if (
                item in self.items
                and word is not None
                and not names_one(self.syntax, node, self.columns)
            ):
                for other in self.items[: self.items.index(item)]:
                    if other.alias is not None and word.names(other.alias):
                        return self._read_key(other)
            return reader.resolve(node)

        return item.read(replace(reader, resolve=meaning))

    def _distinct_reader(self) -> ExpressionReader:
        return self.private.reader("DISTINCT", windows=True)

    def _qualify(self, expressions: Sequence[Expression]) -> None:
        """QUALIFY: a condition on windows, and on what they are called."""
        node = self.syntax.part(self.select, "qualify", "this")
        if node is None:
            return
        named = [(i.alias, e) for i, e in zip(self.items, expressions, strict=True)]
        reader = or_earlier(self.private.reader("QUALIFY", windows=True), self.columns, named)
        self.private.build(node, FilterRows, reader.checked(node))

    def _pick(self, expressions: Sequence[Expression]) -> None:
        """DISTINCT ON (person, ...) ... ORDER BY: the first row of each value.

        A place or a name alone is that of a selected value first, as in engines; inside of an
        expression, where they disagree, a name has to mean one thing.
        """
        named = [(i.given_name, e) for i, e in zip(self.items, expressions, strict=True)]

        def read(node: Node) -> Expression:
            return selected(self.syntax, node, named) or reader.checked(node)

        distinct = self.select.args["distinct"]
        meaning = or_selected(self.meaning, self.syntax, self.columns, named)
        reader = self.private.reader("DISTINCT ON", (), meaning)
        keys = self.syntax.parts(self.syntax.part(distinct, "on"), "expressions")
        by = row_orders(self.syntax, self.syntax.part(self.select, "order"), read)
        pick_first(self.private, distinct, [read(key) for key in keys], by)

    def _plain_rows(self) -> NamedRelation:
        reader = self.private.reader("SELECT", windows=True)
        expressions = read_in_turn(reader, self.columns, self.items)
        if self.whole:
            raise self.syntax.refuse(self.items[0].node, ROW_OUTPUT)
        self._qualify(expressions)
        refused = {"limit": LIMIT, "offset": LIMIT, "order": ORDER}
        if self.select.args.get("distinct") is not None and self.select.args.get("order"):
            self._pick(expressions)
            del refused["order"]
        for part, refusal in refused.items():
            if self.select.args.get(part) is not None:
                raise self.syntax.refuse(self.select.args[part], refusal)
        names = name_items(self.syntax, self.items, [None] * len(self.items))
        columns = list(zip(names, expressions, strict=True))
        relation = self.project(self.relation, columns, self.select)
        known = {column.column: column for column in reversed(self.columns)}
        return NamedRelation(relation, tuple(copied(*one, known) for one in columns))


def _is_one(expression: Expression, named: Mapping[str, Visible]) -> TypeGuard[Column]:
    return isinstance(expression, Column) and expression.name in named


_PER_PERSON_OUTPUT = said("""per_person_output: the answer would have a row for each person
    an answer about one person gives that person away
    put the question in FROM and aggregate over it, as in SELECT AVG(n) FROM (...)""")
_DISTINCT_ANSWER = said("""distinct: SELECT DISTINCT stands beside aggregates or GROUP BY
    groups are different already, and equal noisy numbers mean nothing
    leave DISTINCT out""")
_WINDOW_PLACE = said("""window: a window function stands in a condition or a key
    it is computed after rows are filtered and grouped
    select it under a name in a subquery, and use the name; or write QUALIFY""")
_AGGREGATE_KEY = said("""misplaced_aggregate: GROUP BY names an aggregate
    groups are made before anything is aggregated
    group by a column""")


def _computed_columns(relation: Relation) -> frozenset[str]:
    """The columns that are computed from others, and not stored ones under some name."""
    return frozenset(name for name in columns_of(relation) if not _is_stored(name, relation))


def _is_stored(name: str, relation: Relation) -> bool:
    match relation:
        case Scan():
            return True
        case Project(below, columns) | PerPerson(below, columns, _):
            same = (one.expression for one in columns if one.name == name)
            return any(isinstance(one, Column) and _is_stored(one.name, below) for one in same)
        case JoinPublic(below, _, _, _, columns) if name in {here for here, _ in columns}:
            return True
        case Union(left, right):
            places = list(columns_of(left)).index(name)
            return _is_stored(name, left) and _is_stored(list(columns_of(right))[places], right)
        case _:
            holding = (one for one in inputs_of(relation) if name in columns_of(one))
            return any(_is_stored(name, one) for one in holding)
