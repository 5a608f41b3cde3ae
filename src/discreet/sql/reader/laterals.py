"""LATERAL, and APPLY of SQL Server: a subquery of FROM that looks at the row before it.

    LATERAL (VALUES ('a', t.x), ('b', t.y)), (SELECT t.x + 1 AS y)
        values of the row itself
    LATERAL (SELECT w.cost FROM visits w WHERE w.id = t.id AND w.day > t.day)
        the join with these conditions
    LATERAL (SELECT w.cost FROM visits w WHERE w.id = t.id ORDER BY w.day DESC LIMIT 3)
        the join with the rows that have the places 1 to 3 among those with equal columns
    LATERAL (SELECT COUNT(*), AVG(w.cost) FROM visits w WHERE w.id = t.id)
        the left join with groups by the columns that are equal; COUNT is 0 where no row meets

Each is a join of rows of one person, whose stability is proved in `discreet.plan.relations`: what
does not name the person on both sides is refused there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.plan import relations as rel
from discreet.plan.expressions import Column, Expression
from discreet.plan.row_counts import or_zero
from discreet.sql.reader.constant_joins import beside_constants, join_constants
from discreet.sql.reader.constant_tables import ConstantReader, is_listed
from discreet.sql.reader.expressions import ExpressionReader
from discreet.sql.reader.joins import KEEP, Condition, RowJoin, join_kind
from discreet.sql.reader.lookups import COUNTS, split
from discreet.sql.reader.refusals import said
from discreet.sql.reader.select_list import Item, name_items, read_items
from discreet.sql.reader.sources import Constants, RowSource, S, known_as, renamed
from discreet.sql.reader.syntax import (
    AGGREGATES,
    NamedRelation,
    Node,
    Syntax,
    Visible,
    Word,
    bare,
    fresh,
    has_aggregate,
    is_windowed,
    names_one,
    resolve,
    where_parts,
)

if TYPE_CHECKING:
    from discreet.sql.reader.from_clause import RelationReader


@dataclass(frozen=True, slots=True)
class Applied:
    """A source of FROM that looks at the rows before it, and is read beside them."""

    columns: tuple[Visible, ...]
    """One column without a name, so that the source has one."""


def is_applied(node: Node) -> bool:
    """Whether a source of FROM names columns of those before it."""
    return isinstance(node, exp.Lateral) or (is_listed(node) and bool(node.find(exp.Column)))


def apply(tables: "RelationReader", source: RowSource, node: Node, name: str) -> NamedRelation:
    """Private rows beside what a subquery gives for each of them."""
    if not isinstance(source, NamedRelation):
        raise tables.syntax.refuse(node, RELEASED)
    other = node
    if node.this.args.get("cross_apply") is False:  # OUTER APPLY keeps rows
        other = node.copy()
        other.set("side", "LEFT")
    found = _Lateral(tables, source, other, name).read()
    if other is not node:
        tables.syntax.read_as([node], other)
    return found


class _Lateral:
    def __init__(
        self, tables: "RelationReader", source: NamedRelation, node: Node, name: str
    ) -> None:
        self.tables, self.source, self.node, self.name = tables, source, node, name
        self.syntax: Syntax = tables.syntax
        self.kind = join_kind(self.syntax, node, loose=True)
        if self.kind not in KEEP:
            raise self.syntax.refuse(node, _SHAPE)

    def read(self) -> NamedRelation:
        """The rows of the source, each beside those of the subquery."""
        whole = self.syntax.part(self.node, "this")
        inner = whole
        while isinstance(inner, exp.Lateral | exp.Subquery):
            self.syntax.part(inner, "cross_apply")
            inner = self.syntax.part(inner, "this")
        words = self.tables.alias(whole)[1]
        if is_listed(inner):
            listed = ConstantReader(self.syntax, self.source).table(inner, self.name)
            return join_constants(self.syntax, self.source, self._renamed(listed, words), self.node)
        if not isinstance(inner, exp.Select) or inner.args.get("with_"):
            raise self.syntax.refuse(inner, _SHAPE)
        on = self.syntax.part(self.node, "on")
        if on is not None and not (isinstance(on, exp.Boolean) and self.syntax.part(on, "this")):
            raise self.syntax.refuse(on, _ON)
        if inner.args.get("from_") is None:
            found = self._computed(inner)
        elif any(inner.args.get(part) for part in _GROUPS) or self._is_single(inner):
            found = self._separate(inner)
        else:
            found = self._met(inner)
        own = len(self.source.columns)
        shown = self._renamed(replace(found, columns=found.columns[own:]), words).columns
        return replace(found, columns=(*self.source.columns, *shown))

    def _renamed(self, found: S, words: Sequence[Word]) -> S:
        return renamed(self.syntax, known_as(found, self.name), words)

    def _is_single(self, select: Node) -> bool:
        return any(has_aggregate(one) for one in select.expressions)

    def _computed(self, select: Node) -> NamedRelation:
        """SELECT without FROM: values of the row, and a condition on it."""
        listed = ConstantReader(self.syntax, self.source).select(select, filtered=True)
        join = RowJoin(self.syntax, self.source, listed, select, KEEP[self.kind])
        join.conditions = self._conditions(join, where_parts(self.syntax, select))
        return beside_constants(self.syntax, join, self.node)

    def _reader(self, types: object, inner: Sequence[Visible]) -> ExpressionReader:
        """Names are those of the subquery first."""

        def meaning(node: exp.Column) -> Expression:
            own = names_one(self.syntax, node, inner) or not names_one(
                self.syntax, node, self.source.columns
            )
            return Column(resolve(self.syntax, node, inner if own else self.source.columns).column)

        return ExpressionReader(self.syntax, types, meaning, clause="LATERAL")  # type: ignore[arg-type]

    def _conditions(self, join: RowJoin, where: Sequence[Node]) -> list[Condition]:
        reader = self._reader(join.types, join.right.columns)
        return [Condition(reader.checked(bare(self.syntax, one)), one) for one in where]

    def _met(self, select: Node) -> NamedRelation:
        """The rows that meet: a join, of which the selected values are kept."""
        right, rest = self.tables.sources(select)
        where = rest if rest is not None else where_parts(self.syntax, select)
        join = RowJoin(self.syntax, self.source, right, self.node.this, KEEP[self.kind])
        join.conditions = self._conditions(join, where)
        match join.right:
            case NamedRelation():
                joined = join.private()
            case Constants():
                joined = beside_constants(self.syntax, join, self.node)
            case _:
                joined = join.public()
        theirs = joined.columns[len(self.source.columns) :]
        items = read_items(self.syntax, select, theirs)
        types = rel.columns_of(joined.relation)
        reader = self._reader(types, theirs)
        values = [item.read(reader) for item in items]
        names = name_items(self.syntax, items, [None] * len(items))
        return self._selected(joined, [*zip(names, values, strict=True)], items)

    def _selected(
        self,
        joined: NamedRelation,
        values: Sequence[tuple[str, Expression]],
        items: Sequence[Item],
        *,
        single: bool = False,
    ) -> NamedRelation:
        """The columns of the source, and values over joined rows."""
        known = {one.column: one for one in reversed(joined.columns)}
        types = rel.columns_of(joined.relation)
        taken, new, shown = {one.lower() for one in types}, list[rel.Named](), list[Visible]()
        for (name, value), item in zip(values, items, strict=True):
            if isinstance(value, Column) and value.name in known:
                shown.append(replace(known[value.name], name=name))
                continue
            if self.kind == "LEFT" and not single:
                raise self.syntax.refuse(item.node, _OUTSIDE)
            new.append(rel.Named(fresh(name, taken), value))
            shown.append(Visible(name, new[-1].name, self.name))
        relation = joined.relation
        if new:
            own = (rel.Named(one, Column(one)) for one in types)
            relation = self.syntax.build(self.node, rel.Project, relation, (*own, *new))
        return NamedRelation(relation, (*self.source.columns, *shown))

    def _separate(self, select: Node) -> NamedRelation:
        """A subquery that stands by itself, once it is grouped by what is equal outside."""
        inner = select.copy()
        right, _ = self.tables.sources(inner)
        pairs, rest = split(self.syntax, inner, right.columns, self.source.columns)
        if not pairs or any(one.find(exp.Window, exp.Query) for one in select.expressions):
            raise self.syntax.refuse(select, _SHAPE)  # a window would be over other rows too
        keys = [here.copy() for here, _ in pairs]
        single = inner.args.get("group") is None and self._is_single(inner)
        calls = list[Node]()
        if single:
            items = [Item(one.unalias(), one.alias) for one in inner.expressions]
            outside = [replace(one, node=one.node.transform(_aside(calls))) for one in items]
            inner.set("expressions", calls)
        listed = list(inner.expressions)
        inner.set("where", exp.Where(this=exp.and_(*rest, copy=False)) if rest else None)
        if single or inner.args.get("group") is not None:
            self._group(inner, keys, single=single)
        else:
            self._pick(inner, keys, listed)
        named = [exp.alias_(key.copy(), f"key {at}", quoted=True) for at, key in enumerate(keys)]
        inner.set("expressions", [*listed, *named])
        found = self.tables.rows(inner, _SHAPE)
        keep = rel.Keep.ALL if single else KEEP[self.kind]
        join = RowJoin(self.syntax, self.source, found, self.node.this, keep)
        outer = self._reader(join.types, ())
        for (_, there), key in zip(pairs, join.right.columns[-len(pairs) :], strict=True):
            same = outer.read(there).equals(Column(key.column))
            outer.check(self.syntax.remember(same, there), there)
            join.conditions.append(Condition(same, there))
        joined = join.private()
        self.syntax.read_as([select], inner)
        shown = joined.columns[len(self.source.columns) : -len(pairs)]
        if not single:
            return NamedRelation(joined.relation, (*self.source.columns, *shown))
        types = rel.columns_of(joined.relation)
        counted = {c.column for c, one in zip(shown, calls, strict=True) if is_count(one.unalias())}
        plain = self._reader(types, shown)

        def meaning(node: exp.Column) -> Expression:
            found = plain.resolve(node)
            if isinstance(found, Column) and found.name in counted:
                return or_zero(found.name)
            return found

        reader = replace(plain, resolve=meaning)
        values = [one.read(reader) for one in outside]
        names = name_items(self.syntax, items, [None] * len(items))
        return self._selected(joined, list(zip(names, values, strict=True)), items, single=True)

    def _group(self, inner: Node, keys: Sequence[Node], *, single: bool) -> None:
        beyond = ("having",) if single else ()
        self._refuse(inner, "limit", "offset", "order", "distinct", "qualify", *beyond)
        group = inner.args.get("group") or exp.Group(expressions=[])
        group.set("expressions", [*group.expressions, *(key.copy() for key in keys)])
        inner.set("group", group)

    def _pick(self, inner: Node, keys: Sequence[Node], items: Sequence[Node]) -> None:
        """The first rows of those with equal keys; or different ones."""
        self._refuse(inner, "offset", "qualify", "windows", "having")
        limit, order = inner.args.get("limit"), inner.args.get("order")
        if (limit is None) != (order is None) or (limit and inner.args.get("distinct")):
            self._refuse(inner, "limit", "order")
        if limit is None or order is None:
            return
        for part in order.expressions:
            at = part.this
            if isinstance(at, exp.Literal) and at.is_int and 0 < int(at.name) <= len(items):
                part.set("this", items[int(at.name) - 1].unalias().copy())
        many = limit.args.get("expression") or exp.Literal.number(1)
        place = exp.Window(
            this=exp.RowNumber(), partition_by=[key.copy() for key in keys], order=order.copy()
        )
        inner.set("qualify", exp.Qualify(this=exp.LTE(this=place, expression=many.copy())))
        inner.set("limit", None)
        inner.set("order", None)

    def _refuse(self, select: Node, *parts: str) -> None:
        for part in parts:
            if select.args.get(part):
                raise self.syntax.refuse(select.args[part], _SHAPE)


def _aside(calls: list[Node]) -> Callable[[Node], Node]:
    """What puts a name in the place of each aggregate, and keeps it among these."""

    def change(node: Node) -> Node:
        if not isinstance(node, AGGREGATES) or is_windowed(node):
            return node
        calls.append(exp.alias_(node.copy(), f"value {len(calls)}", quoted=True))
        return exp.column(exp.to_identifier(calls[-1].alias, quoted=True))

    return change


def is_count(node: Node) -> bool:
    """Whether an aggregate is 0 of no rows."""
    return isinstance(node.this if isinstance(node, exp.Filter) else node, COUNTS)


_GROUPS = ("group", "distinct", "having", "qualify", "limit", "offset", "order", "windows")
_SHAPE = said("""lateral: LATERAL or APPLY of a subquery that looks at the row before it \
    otherwise than by equal columns
    it is the rows that are equal to that row in some columns, one of which names the person: \
    all of them, the first ones, or groups and aggregates of them
    write LATERAL (SELECT x FROM t WHERE t.person = outer.person ORDER BY y LIMIT 3); or join a \
    subquery that is grouped by the person""")
_ON = said("""lateral: LATERAL with a condition in ON
    what its rows have to fulfil stands inside of it
    write ON TRUE, and put the condition in the WHERE of the subquery""")
_OUTSIDE = said("""lateral: a computed value in LEFT JOIN LATERAL
    where no row meets, it would be computed from nothing
    select the columns, and compute outside""")
RELEASED = said("""lateral: LATERAL after a table that is not private
    what it looks at would be counted among people's rows
    begin FROM with the private table; or group the subquery, and join it to the public table""")
