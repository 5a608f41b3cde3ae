"""Joins that keep people apart: with a public table on its key, of private rows on the person.

A condition is taken apart into its conjuncts. What a join of the plan cannot hold stays a filter
above it where that has the same meaning (inner joins), or below it on the right side (left joins);
the rest is refused. A join that does not name the person is never narrowed to one that does. FULL
joins are a left join and the rows on the right that meet none; SEMI and ANTI joins ask whether a
row meets one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from discreet.plan import relations as rel
from discreet.plan.expressions import (
    Call,
    Case,
    Column,
    Expression,
    Function,
    Literal,
    call,
    chain,
    mentions,
)
from discreet.plan.kinds import Kind, Type
from discreet.plan.typing import infer
from discreet.sql.reader.expressions import ExpressionReader, column_among
from discreet.sql.reader.refusals import Refusal, said
from discreet.sql.reader.select_list import Lift
from discreet.sql.reader.sources import Public, RowSource, types_of
from discreet.sql.reader.syntax import (
    PERSON,
    NamedRelation,
    Node,
    Syntax,
    Visible,
    bare,
    conjuncts,
    fresh,
    resolve,
)


@dataclass(frozen=True, slots=True)
class Condition:
    """One conjunct of a join's condition, over the columns of both sides."""

    expression: Expression
    node: Node


def join(
    syntax: Syntax, left: RowSource, right: RowSource, node: Node, where: Sequence[Node] = ()
) -> NamedRelation:
    """The rows of a join, with the columns of both sides in the order of the text.

    `where` are the conditions of WHERE that join tables after a comma.
    """
    kind = join_kind(syntax, node, loose=bool(where))
    match left, right:
        case NamedRelation(), _ if kind in {"SEMI", "ANTI"}:
            return RowJoin(syntax, left, right, node).picked(some=kind == "SEMI")
        case NamedRelation(), NamedRelation() if kind == "FULL":
            joined = RowJoin(syntax, left, right, node, rel.Keep.ALL).full()
        case NamedRelation(), NamedRelation() if kind == "RIGHT":
            joined = RowJoin(syntax, right, left, node, rel.Keep.ALL).private()
        case NamedRelation(), NamedRelation():
            joined = RowJoin(syntax, left, right, node, KEEP[kind], where).private()
        case NamedRelation(), Public() if kind in KEEP:
            joined = RowJoin(syntax, left, right, node, KEEP[kind], where).public()
        case Public(), NamedRelation() if kind in {"INNER", "RIGHT"}:
            keep = rel.Keep.ALL if kind == "RIGHT" else rel.Keep.MATCHED
            joined = RowJoin(syntax, right, left, node, keep, where).public()
        case _:
            raise syntax.refuse(node, _PUBLIC_FIRST)
    return _in_order(joined, left)


def _in_order(joined: NamedRelation, left: RowSource) -> NamedRelation:
    """The columns of the left side of the text first."""
    first = {column.source for column in left.columns}
    ordered = sorted(joined.columns, key=lambda column: column.source not in first)
    return NamedRelation(joined.relation, tuple(ordered))


def join_kind(syntax: Syntax, node: Node, *, loose: bool) -> str:
    """INNER, LEFT, RIGHT, FULL, SEMI or ANTI; others are refused."""
    side = str(syntax.part(node, "side") or "").upper()
    kind = str(syntax.part(node, "kind") or "").upper()
    natural = str(syntax.part(node, "method") or "").upper()
    if natural not in {"", "NATURAL"}:
        raise syntax.refuse_clause(node, "method")
    if natural and (node.args.get("on") or node.args.get("using")):
        raise syntax.refuse(node, _NATURAL)
    if not (natural or node.args.get("on") or node.args.get("using") or loose):
        raise syntax.refuse(node, _CROSS)
    if side == "" and (kind in {"", "INNER"} or (kind == "CROSS" and loose)):
        return "INNER"
    if side in {"LEFT", "RIGHT", "FULL"} and kind in {"", "OUTER"}:
        return side
    if side in {"", "LEFT"} and kind in {"SEMI", "ANTI"}:
        return kind
    raise syntax.refuse(node, _SPECIAL)


_NATURAL = said("""join: NATURAL JOIN with ON or USING
    NATURAL says already which columns are equal: those of the same name
    leave out NATURAL, or ON and USING""")


class RowJoin:
    """One join: rows on the left, rows or a public table on the right (sides as in the plan)."""

    def __init__(
        self,
        syntax: Syntax,
        left: NamedRelation,
        right: RowSource,
        node: Node,
        keep: rel.Keep = rel.Keep.MATCHED,
        where: Sequence[Node] = (),
    ) -> None:
        self.syntax = syntax
        self.left = left
        self.node = node
        self.keep = keep
        self.right = _apart(right, set(rel.columns_of(left.relation)))
        self.own = frozenset(rel.columns_of(left.relation))
        self.types: dict[str, Type] = {**rel.columns_of(left.relation), **types_of(self.right)}
        self.using: list[tuple[Visible, Visible]] = []
        self.conditions = list(self._conditions(where)) if isinstance(node, exp.Join) else []

    def private(self) -> NamedRelation:
        """A join of private rows: the same person, and further equalities."""
        right, on, rest = self._same_people()
        if self.keep is rel.Keep.MATCHED:
            joined = self._build(rel.join_person, self.left.relation, right.relation, on, self.keep)
            return self.above(joined, rest)
        theirs = [one for one in rest if self._side(one.expression) == "right"]
        others = [one for one in rest if one not in theirs]
        relation = self._filtered(right.relation, theirs)
        fields = (self.left.relation, relation, on, self.keep, all_of(others))
        return self.above(self._build(rel.join_person, *fields), ())

    def full(self) -> NamedRelation:
        """A left join, and below it the rows on the right that meet none on the left."""
        right, on, rest = self._same_people()
        condition, name = all_of(rest), fresh("met", {one.lower() for one in self.types})
        joined = self._build(
            rel.join_person, self.left.relation, right.relation, on, rel.Keep.ALL, condition
        )
        back = tuple((there, here) for here, there in on)
        alone = self._build(
            rel.MatchPerson, right.relation, self.left.relation, back, name, condition
        )
        alone = self._build(rel.FilterRows, alone, ~Column(name))
        nulls = [
            rel.Named(c, Literal(None, of.kind))
            for c, of in rel.columns_of(self.left.relation).items()
        ]
        kept = [rel.Named(c, Column(c)) for c in rel.columns_of(right.relation)]
        united = self._build(rel.Union, joined, self._build(rel.Project, alone, (*nulls, *kept)))
        return self._merged(self.above(united, ()))

    def _merged(self, joined: NamedRelation) -> NamedRelation:
        """USING (x) after a FULL join: the value of either side, under the bare name."""
        columns = [replace(c, absent=True) for c in joined.columns]
        relation, merged = joined.relation, list[Visible]()
        for left, right in self.using:
            name = fresh(left.name, {one.lower() for one in rel.columns_of(relation)})
            either = call(Function.COALESCE, Column(left.column), Column(right.column))
            old = tuple(rel.Named(c, Column(c)) for c in rel.columns_of(relation))
            relation = self._build(rel.Project, relation, (*old, rel.Named(name, either)))
            both = left.identities & right.identities
            absent = left.absent or right.absent
            merged.append(Visible(left.name, name, "(using)", both, absent))
        hidden = {c.column for pair in self.using for c in pair}
        shown = [replace(c, hidden=c.hidden or c.column in hidden) for c in columns]
        return NamedRelation(relation, (*merged, *shown))

    def picked(self, *, some: bool) -> NamedRelation:
        """The rows on the left that meet some on the right, or none."""
        name = fresh("met", {one.lower() for one in self.types})
        relation, condition = self.matched(name)
        met = self._build(rel.FilterRows, relation, condition if some else ~condition)
        return NamedRelation(met, self.left.columns)

    def matched(self, name: str) -> tuple[rel.Relation, Expression]:
        """The rows on the left with a new column, and the condition that they meet some."""
        pairs, rest = self._pairs()
        theirs = [one for one in rest if self._side(one.expression) == "right"]
        both = [one for one in rest if self._side(one.expression) == "both"]
        if isinstance(self.right, Public):
            relation = self._matched_public(name, self.right, pairs, theirs, both)
        else:
            right, on, _ = self._same_people()
            there = self._filtered(right.relation, theirs)
            fields = (self.left.relation, there, on, name, all_of(both))
            relation = self._build(rel.MatchPerson, *fields)
        no = Literal(value=False, kind=Kind.BOOLEAN)
        mine = [one.expression for one in rest if one not in theirs and one not in both]
        parts: list[Expression] = [
            Column(name),
            *(call(Function.COALESCE, one, no) for one in mine),
        ]
        return relation, chain(Function.AND, parts)

    def _matched_public(
        self,
        name: str,
        right: Public,
        pairs: Sequence[tuple[Expression, Expression]],
        theirs: Sequence[Condition],
        both: Sequence[Condition],
    ) -> rel.Relation:
        if both or not all(isinstance(there, Column) for _, there in pairs):
            raise self.syntax.refuse(both[0].node if both else self.node, PUBLIC_MATCH)
        here = (column.column for column in right.columns)
        stored = dict(zip(here, right.table.columns, strict=True))
        lift = Lift(self.syntax, {Column(old): new for old, new in stored.items()}, ())
        condition = all_of([replace(c, expression=lift.lift(c.expression, c.node)) for c in theirs])
        on = tuple((a, stored[b.name]) for a, b in pairs if isinstance(b, Column))
        return self._build(rel.MatchPublic, self.left.relation, right.table, on, name, condition)

    def _filtered(self, relation: rel.Relation, conditions: Sequence[Condition]) -> rel.Relation:
        for condition in conditions:
            relation = self._build(rel.FilterRows, relation, condition.expression)
        return relation

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
            pair = self._pair(condition.expression, constants=True)
            key = stored.get(pair[1].name) if pair and isinstance(pair[1], Column) else None
            if pair and key in right.table.key and key not in keys:
                keys[str(key)] = pair[0]
            else:
                rest.append(condition)
        if len(keys) < len(right.table.key):
            what = Refusal(
                "join",
                f"the join does not name the key of {right.table.name}",
                "a row could meet several rows of the public table, without a bound",
                f"join on {', '.join(right.table.key)}; rows that the question writes out may meet "
                "in any way: VALUES (1, 'a'), ... or GENERATE_SERIES(DATE '2024-01-01', DATE "
                "'2024-01-31', INTERVAL 1 DAY) AS d(day)",
            )
            raise self.syntax.refuse(self.node, what)
        on = tuple(keys[key] for key in right.table.key)
        columns = tuple(stored.items())
        joined = self._build(
            rel.JoinPublic, self.left.relation, right.table, on, self.keep, columns
        )
        holds_too = all_of(rest) if self.keep is rel.Keep.ALL else None
        if holds_too is None:
            return self.above(joined, rest)
        # A row meets at most one row of the table: where the rest does not hold, it meets none.
        types = rel.columns_of(joined)
        values = {
            here: Case(((holds_too, Column(here)),), Literal(None, types[here].kind))
            for here in stored
        }
        named = tuple(rel.Named(name, values.get(name, Column(name))) for name in types)
        return self.above(self._build(rel.Project, joined, named), ())

    # --- conditions ------------------------------------------------------------------------------

    def _conditions(self, where: Sequence[Node]) -> Iterator[Condition]:
        for identifier in self._shared() or self.syntax.parts(self.node, "using"):
            yield self._using(identifier)
        on = self.syntax.part(self.node, "on")
        parts = [] if on is None else list(conjuncts(self.syntax, bare(self.syntax, on), exp.And))
        meaning = column_among((*self.left.columns, *self.right.columns), self.syntax)
        reader = ExpressionReader(self.syntax, self.types, meaning, clause="ON")
        for node in (*parts, *where):
            yield Condition(reader.checked(bare(self.syntax, node)), node)

    def _shared(self) -> list[Node]:
        """The names of columns that both sides of a NATURAL join have."""
        if not self.node.args.get("method"):
            return []
        theirs = {column.name.lower() for column in self.right.columns if not column.hidden}
        ours = dict.fromkeys(column.name for column in self.left.columns if not column.hidden)
        shared = [exp.to_identifier(name) for name in ours if name.lower() in theirs]
        if not shared:
            raise self.syntax.refuse(self.node, _CROSS)
        return list[Node](shared)

    def _using(self, identifier: Node) -> Condition:
        """USING (x): equal on both sides, and afterwards one column."""
        name = exp.Column(this=identifier.copy())
        self.syntax.word(identifier)
        visible = [resolve(self.syntax, name, s.columns) for s in (self.left, self.right)]
        self.using.append((visible[0], visible[1]))
        equal = Column(visible[0].column).equals(Column(visible[1].column))
        reader = ExpressionReader(self.syntax, self.types, column_among((), self.syntax))
        reader.check(self.syntax.remember(equal, identifier), identifier)
        return Condition(equal, identifier)

    def _same_people(
        self,
    ) -> tuple[NamedRelation, tuple[tuple[Expression, Expression], ...], list[Condition]]:
        """The rows on the right, equalities beside that of the person, and other conditions."""
        if not isinstance(self.right, NamedRelation):  # pragma: no cover - `join` sends rows
            raise TypeError
        pairs, rest = self._pairs()
        if not any(self._same_person(a, b) for a, b in pairs):
            raise self.syntax.refuse(self.node, self._no_person())
        return self.right, tuple(pair for pair in pairs if not self._implied(*pair)), rest

    def _pairs(self) -> tuple[list[tuple[Expression, Expression]], list[Condition]]:
        """Equalities between the sides, and the other conditions."""
        pairs: list[tuple[Expression, Expression]] = []
        rest: list[Condition] = []
        for condition in self.conditions:
            pair = self._pair(condition.expression)
            if pair is None or not (self._alike(*pair) or self._same_person(*pair)):
                rest.append(condition)
            else:
                pairs.append(pair)
        return pairs, rest

    def _alike(self, left: Expression, right: Expression) -> bool:
        """Whether values are of one kind; others are compared as numbers, row by row."""
        public = isinstance(self.right, Public)
        return public or infer(left, self.types).kind is infer(right, self.types).kind

    def _pair(
        self, expression: Expression, *, constants: bool = False
    ) -> tuple[Expression, Expression] | None:
        """Both sides of an equality, if one is over the left (or constant), one over the right."""
        known = {"left", "none"} if constants else {"left"}
        match expression:
            case Call(Function.EQUAL, (a, b)):
                if self._side(a) in known and self._side(b) == "right":
                    return a, b
                if self._side(b) in known and self._side(a) == "right":
                    return b, a
        return None

    def _side(self, expression: Expression) -> str:
        used = mentions(expression)
        if not used:
            return "none"
        if used <= self.own:
            return "left"
        return "both" if used & self.own else "right"

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

    def above(self, joined: rel.Relation, conditions: Sequence[Condition] = ()) -> NamedRelation:
        """The columns of both sides of a joined relation, below conditions."""
        joined = self._filtered(joined, conditions)
        outer, hidden = self.keep is rel.Keep.ALL, {right.column for _, right in self.using}
        there = tuple(
            replace(c, absent=c.absent or outer, hidden=c.hidden or c.column in hidden)
            for c in self.right.columns
        )
        return NamedRelation(joined, (*self.left.columns, *there))

    def _build(self, kind: Callable[..., rel.Relation], *fields: object) -> rel.Relation:
        return self.syntax.build(self.node, kind, *fields)

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


def _apart(right: RowSource, taken: set[str]) -> RowSource:
    """The right side with plan names that the left side does not use."""
    lower = {name.lower() for name in taken}
    renamed = {}
    for column in right.columns:
        clash = column.column.lower() in lower
        wanted = f"{column.source}.{column.column}" if clash else column.column
        renamed[column.column] = fresh(wanted, lower)
    columns = tuple(replace(c, column=renamed[c.column]) for c in right.columns)
    if not isinstance(right, NamedRelation):
        return replace(right, columns=columns)
    if all(old == new for old, new in renamed.items()):
        return right
    named = tuple(rel.Named(new, Column(old)) for old, new in renamed.items())
    return NamedRelation(rel.Project(right.relation, named), columns)


def all_of(conditions: Sequence[Condition]) -> Expression | None:
    """Conditions as one; None where there are none."""
    parts = [one.expression for one in conditions]
    return chain(Function.AND, parts) if parts else None


KEEP = {"INNER": rel.Keep.MATCHED, "LEFT": rel.Keep.ALL}
_CROSS = said("""cross_join: a join without a condition
    every row would meet everybody's rows
    join on the column that names the person, or on the key of a public table""")
_SPECIAL = said("""join: a join that is not among those that are answered
    its rows would not be told by the person and a condition
    use JOIN, LEFT, RIGHT, FULL, SEMI or ANTI JOIN""")
PUBLIC_MATCH = said("""join: a row is compared with rows of a public table by more than equal \
    columns
    each row would have to be tested with every row of the table
    compare with = column, and put conditions on the table's own columns; or write its rows out: \
    EXISTS (SELECT 1 FROM (VALUES (10, 20)) v(a, b) WHERE x BETWEEN v.a AND v.b)""")
_PUBLIC_FIRST = said("""join: a join that keeps all rows of a public table, or joins two public \
    tables alone
    rows that belong to nobody would be counted among people's
    begin FROM with the private table, and join public tables to it; or keep all rows of \
    the public table beside an answer: FROM cities c LEFT JOIN (SELECT city, COUNT(*) AS n \
    FROM visits GROUP BY city) v ON v.city = c.city, with COALESCE(n, 0)""")
