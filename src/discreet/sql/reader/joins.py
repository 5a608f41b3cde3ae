"""Joins that keep people apart: with a public table on its key, of private rows on the person.

A condition is taken apart into its conjuncts. What a join of the plan cannot hold stays a filter
above it where that has the same meaning (inner joins), or below it on the right side (left joins);
the rest is refused. A join that does not name the person is never narrowed to one that does.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from discreet.errors import InputError
from discreet.plan.expressions import Call, Column, Expression, Function
from discreet.plan.kinds import Type
from discreet.plan.relations import (
    FilterRows,
    JoinPerson,
    JoinPublic,
    Keep,
    Named,
    Project,
    Relation,
    columns_of,
)
from discreet.plan.schema import PublicTable
from discreet.plan.typing import parts_of
from discreet.sql.reader.expressions import ExpressionReader
from discreet.sql.reader.names import PERSON, NamedRelation, Visible, fresh, resolve
from discreet.sql.reader.refusals import Refusal
from discreet.sql.reader.syntax import Node, Syntax, conjuncts


@dataclass(frozen=True, slots=True)
class Public:
    """A public table in FROM, which has no rows of its own to answer about."""

    table: PublicTable
    columns: tuple[Visible, ...]


@dataclass(frozen=True, slots=True)
class Condition:
    """One conjunct of a join's condition, over the columns of both sides."""

    expression: Expression
    node: Node


def join(
    syntax: Syntax, left: NamedRelation | Public, right: NamedRelation | Public, node: Node
) -> NamedRelation:
    """The rows of a join, with the columns of both sides in the order of the text."""
    kind = _kind(syntax, node)
    match left, right:
        case NamedRelation(), NamedRelation() if kind == "RIGHT":
            joined = _Join(syntax, right, left, node, Keep.ALL).private()
        case NamedRelation(), NamedRelation():
            joined = _Join(syntax, left, right, node, _KEEP[kind]).private()
        case NamedRelation(), Public() if kind != "RIGHT":
            joined = _Join(syntax, left, right, node, _KEEP[kind]).public()
        case Public(), NamedRelation() if kind != "LEFT":
            keep = Keep.ALL if kind == "RIGHT" else Keep.MATCHED
            joined = _Join(syntax, right, left, node, keep).public()
        case _:
            raise syntax.refuse(node, _PUBLIC_FIRST)
    return _in_order(joined, left)


def _in_order(joined: NamedRelation, left: NamedRelation | Public) -> NamedRelation:
    """The columns of the left side of the text first."""
    first = {column.source for column in left.columns}
    ordered = sorted(joined.columns, key=lambda column: column.source not in first)
    return NamedRelation(joined.relation, tuple(ordered))


def _kind(syntax: Syntax, node: Node) -> str:
    """INNER, LEFT or RIGHT; others are refused."""
    side = str(syntax.part(node, "side") or "").upper()
    kind = str(syntax.part(node, "kind") or "").upper()
    if node.args.get("method"):
        raise syntax.refuse_clause(node, "method")
    if node.args.get("on") is None and not node.args.get("using"):
        raise syntax.refuse(node, _CROSS)
    if side == "" and kind in {"", "INNER"}:
        return "INNER"
    if side in {"LEFT", "RIGHT"} and kind in {"", "OUTER"}:
        return side
    raise syntax.refuse(node, _FULL if side == "FULL" else _SEMI)


class _Join:
    """One join: rows on the left, rows or a public table on the right (sides as in the plan)."""

    def __init__(
        self,
        syntax: Syntax,
        left: NamedRelation,
        right: NamedRelation | Public,
        node: Node,
        keep: Keep,
    ) -> None:
        self.syntax = syntax
        self.left = left
        self.node = node
        self.keep = keep
        self.right = _apart(right, set(columns_of(left.relation)))
        self.own = frozenset(columns_of(left.relation))
        self.types: dict[str, Type] = {**columns_of(left.relation), **_types(self.right)}
        self.hidden: set[str] = set()
        self.conditions = list(self._conditions())

    def private(self) -> NamedRelation:
        """A join of private rows: the same person, and further equalities."""
        right = self.right
        if not isinstance(right, NamedRelation):  # pragma: no cover - `join` sends rows
            raise TypeError
        pairs, rest = self._pairs()
        if not any(self._same_person(a, b) for a, b in pairs):
            raise self.syntax.refuse(self.node, self._no_person())
        on = tuple(pair for pair in pairs if not self._implied(*pair))
        below, above = self._filters(rest)
        relation: Relation = right.relation
        for condition in below:
            relation = self._build(FilterRows, relation, condition.expression)
        joined = self._build(JoinPerson, self.left.relation, relation, on, self.keep)
        return self._above(joined, above)

    def public(self) -> NamedRelation:
        """A join with a public table: its whole key, and further conditions above."""
        right = self.right
        if not isinstance(right, Public):  # pragma: no cover - `join` sends a public table
            raise TypeError
        here = (column.column for column in right.columns)
        stored = dict(zip(here, right.table.columns, strict=True))
        keys: dict[str, Expression] = {}
        rest: list[Condition] = []
        for condition in self.conditions:
            pair = self._pair(condition.expression)
            key = stored.get(pair[1].name) if pair and isinstance(pair[1], Column) else None
            if pair and key in right.table.key and key not in keys:
                keys[str(key)] = pair[0]
            else:
                rest.append(condition)
        if len(keys) < len(right.table.key):
            raise self.syntax.refuse(self.node, _needs_key(right.table))
        if rest and self.keep is Keep.ALL:
            raise self.syntax.refuse(rest[0].node, _LEFT_CONDITION)
        on = tuple(keys[key] for key in right.table.key)
        columns = tuple(stored.items())
        joined = self._build(JoinPublic, self.left.relation, right.table, on, self.keep, columns)
        return self._above(joined, rest)

    # --- conditions ------------------------------------------------------------------------------

    def _conditions(self) -> Iterator[Condition]:
        for identifier in self.syntax.parts(self.node, "using"):
            yield self._using(identifier)
        on = self.syntax.part(self.node, "on")
        if on is None:
            return
        columns = (*self.left.columns, *self.right.columns)

        def meaning(node: exp.Column) -> Expression:
            return Column(resolve(self.syntax, node, columns).column)

        reader = ExpressionReader(self.syntax, self.types, meaning, clause="ON")
        for node in conjuncts(self.syntax, _bare(self.syntax, on), exp.And):
            yield Condition(reader.checked(_bare(self.syntax, node)), node)

    def _using(self, identifier: Node) -> Condition:
        """USING (x): equal on both sides, and afterwards one column."""
        name = exp.Column(this=identifier.copy())
        self.syntax.word(identifier)
        sides = [resolve(self.syntax, name, s.columns).column for s in (self.left, self.right)]
        self.hidden.add(sides[1])
        equal = Call(Function.EQUAL, (Column(sides[0]), Column(sides[1])))
        reader = ExpressionReader(self.syntax, self.types, _no_names)
        reader.check(self.syntax.remember(equal, identifier), identifier)
        return Condition(equal, identifier)

    def _pairs(self) -> tuple[list[tuple[Expression, Expression]], list[Condition]]:
        """Equalities between the sides, and the other conditions."""
        pairs: list[tuple[Expression, Expression]] = []
        rest: list[Condition] = []
        for condition in self.conditions:
            pair = self._pair(condition.expression)
            if pair is None:
                rest.append(condition)
            else:
                pairs.append(pair)
        return pairs, rest

    def _pair(self, expression: Expression) -> tuple[Expression, Expression] | None:
        """Both sides of an equality, if one is over the left and one over the right."""
        match expression:
            case Call(Function.EQUAL, (a, b)):
                sides = self._side(a), self._side(b)
                if sides == ("left", "right"):
                    return a, b
                if sides == ("right", "left"):
                    return b, a
        return None

    def _side(self, expression: Expression) -> str:
        used = set(_columns(expression))
        if not used:
            return "none"
        if used <= self.own:
            return "left"
        return "both" if used & self.own else "right"

    def _filters(self, rest: Sequence[Condition]) -> tuple[list[Condition], list[Condition]]:
        """Conditions to apply to the right side before a left join, or after an inner one."""
        if self.keep is Keep.MATCHED:
            return [], list(rest)
        for condition in rest:
            if self._side(condition.expression) != "right":
                raise self.syntax.refuse(condition.node, _LEFT_CONDITION)
        return list(rest), []

    def _same_person(self, left: Expression, right: Expression) -> bool:
        first, second = self._visible(left), self._visible(right)
        return bool(first and second and first.identities & second.identities)

    def _implied(self, left: Expression, right: Expression) -> bool:
        """Whether an equality says no more than that the person is the same."""
        first, second = self._visible(left), self._visible(right)
        if first is None or second is None or first.absent or second.absent:
            return False
        return PERSON in first.identities & second.identities

    def _visible(self, expression: Expression) -> Visible | None:
        if not isinstance(expression, Column):
            return None
        columns = (*self.left.columns, *self.right.columns)
        return next((c for c in columns if c.column == expression.name), None)

    # --- results ---------------------------------------------------------------------------------

    def _above(self, joined: Relation, conditions: Sequence[Condition]) -> NamedRelation:
        for condition in conditions:
            joined = self._build(FilterRows, joined, condition.expression)
        outer = self.keep is Keep.ALL
        there = tuple(
            replace(c, absent=c.absent or outer, hidden=c.hidden or c.column in self.hidden)
            for c in self.right.columns
        )
        return NamedRelation(joined, (*self.left.columns, *there))

    def _build(self, kind: Callable[..., Relation], *fields: object) -> Relation:
        try:
            return kind(*fields)
        except InputError as error:
            raise self.syntax.blame(self.node, error) from None

    def _no_person(self) -> Refusal:
        names = [
            next((f"{c.source}.{c.name}" for c in columns if PERSON in c.identities), None)
            for columns in (self.left.columns, self.right.columns)
        ]
        fix = f"add {names[0]} = {names[1]} to ON" if all(names) else "join on the person's column"
        return Refusal(
            "join",
            "a join that does not say that both rows belong to the same person",
            "one person's rows would appear beside everybody's, without a bound",
            fix,
        )


def _apart(right: NamedRelation | Public, taken: set[str]) -> NamedRelation | Public:
    """The right side with plan names that the left side does not use."""
    lower = {name.lower() for name in taken}
    renamed = {}
    for column in right.columns:
        clash = column.column.lower() in lower
        wanted = f"{column.source}.{column.column}" if clash else column.column
        renamed[column.column] = fresh(wanted, lower)
    columns = tuple(replace(c, column=renamed[c.column]) for c in right.columns)
    if isinstance(right, Public):
        return Public(right.table, columns)
    if all(old == new for old, new in renamed.items()):
        return right
    named = tuple(Named(new, Column(old)) for old, new in renamed.items())
    return NamedRelation(Project(right.relation, named), columns)


def _types(side: NamedRelation | Public) -> dict[str, Type]:
    if isinstance(side, NamedRelation):
        return dict(columns_of(side.relation))
    stored = side.table.columns.values()
    return {c.column: of for c, of in zip(side.columns, stored, strict=True)}


def _columns(expression: Expression) -> Iterator[str]:
    if isinstance(expression, Column):
        yield expression.name
    for part in parts_of(expression):
        yield from _columns(part)


def _bare(syntax: Syntax, node: Node) -> Node:
    while isinstance(node, exp.Paren):
        node = syntax.part(node, "this")
    return node


def _no_names(node: exp.Column) -> Expression:
    raise TypeError(node)


def _needs_key(table: PublicTable) -> Refusal:
    return Refusal(
        "join",
        f"the join does not name the key of {table.name}",
        "a row could meet several rows of the public table, without a bound",
        f"join on {', '.join(table.key)}",
    )


_KEEP = {"INNER": Keep.MATCHED, "LEFT": Keep.ALL}
_CROSS = Refusal(
    "cross_join",
    "a join without a condition",
    "every row would meet everybody's rows",
    "join on the column that names the person, or on the key of a public table",
)
_FULL = Refusal(
    "join",
    "a FULL join",
    "it is not among the joins that are answered",
    "use a LEFT join, or UNION ALL of both tables",
)
_SEMI = Refusal(
    "join",
    "a SEMI, ANTI or other special join",
    "it is not among the joins that are answered",
    "use a LEFT join and test its columns with IS NULL",
)
_PUBLIC_FIRST = Refusal(
    "join",
    "a join that keeps all rows of a public table, or joins two public tables",
    "a row of the answer's table has to belong to a person",
    "begin FROM with the private table, and join public tables to it",
)
_LEFT_CONDITION = Refusal(
    "join",
    "a LEFT join with a condition on the left side, or one that is no equality",
    "it would have to be tested while joining",
    "move the condition to WHERE, or into a subquery on the right side",
)
