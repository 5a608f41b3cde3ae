"""Lookups in other rows (EXISTS, IN, scalar subqueries, windows), each as a column.

The rows of the SELECT get a column for each of them (`MatchPerson`, `MatchPublic`,
`PersonWindow`), and the expression names that column. So they can stand wherever a condition or a
value can; they are about rows of the same person or of a public table, or refused.

`(SELECT AVG(w.cost) FROM visits w WHERE w.patient_id = v.patient_id)` is the subquery grouped by
what it equates with the row around it, joined to that row. One of these columns has to name the
person on both sides: then the value is a function of rows of that person (`PerPerson`,
`JoinPerson`, whose stability is proved there). Where no row meets, it is NULL, and COUNT is 0.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.plan import relations as rel
from discreet.plan.expressions import Case, Column, Expression, Function, Literal, chain
from discreet.plan.kinds import Kind, Type
from discreet.plan.row_counts import or_zero
from discreet.sql.reader.constant_joins import ConstantJoin, equal_to_some
from discreet.sql.reader.expressions import ExpressionReader, column_among
from discreet.sql.reader.joins import PUBLIC_MATCH, Condition, RowJoin, all_of
from discreet.sql.reader.refusals import NODES, said
from discreet.sql.reader.sources import Constants, Public
from discreet.sql.reader.syntax import (
    PERSON,
    Identity,
    NamedRelation,
    Node,
    Syntax,
    Visible,
    bare,
    fresh,
    has_aggregate,
    lookup,
    names_one,
    resolve,
    where_parts,
)

if TYPE_CHECKING:
    from discreet.sql.reader.select import SelectRows


class Lookups:
    """What subqueries in expressions mean over the rows of one SELECT."""

    def __init__(self, rows: "SelectRows") -> None:
        self.rows = rows
        self.tables = rows.tables
        self.syntax: Syntax = rows.syntax

    def read(self, node: Node) -> Expression:
        """EXISTS, IN over a subquery, or a value that one computes."""
        match node:
            case exp.Exists():
                return self._exists(node)
            case exp.In():
                return self._in(node)
            case exp.Subquery():
                public = self.tables.public_select(node) if is_plain(node) else None
                if public is not None:
                    return self._public_value(node, *public)
                if is_correlated(node, self.rows.columns):
                    return correlated_value(self, node)
        raise self.syntax.refuse(node, NODES["Subquery"])

    def _public_value(self, node: Node, select: Node, public: Public) -> Expression:
        """A value of the one row of a public table that WHERE tells by its key; else NULL."""
        rows = NamedRelation(self.rows.relation, self.rows.columns)
        join = RowJoin(self.syntax, rows, public, node, rel.Keep.ALL)
        join.conditions = self._conditions(join, where_parts(self.syntax, select), select)
        joined = join.public()
        self.rows.relation = joined.relation
        self.rows.types.update(rel.columns_of(joined.relation))
        meaning = column_among(join.right.columns, self.syntax)
        (item,) = self.syntax.parts(select, "expressions")
        reader = ExpressionReader(self.syntax, self.rows.types, meaning)
        value = reader.checked(item)
        if isinstance(value, Column):
            return value
        stored = dict(zip(public.table.columns, join.right.columns, strict=True))
        met = ~Column(stored[public.table.key[0]].column).is_null()
        return Case(((met, value),), Literal(None, reader.check(value, item).kind))

    # --- EXISTS ----------------------------------------------------------------------------------

    def _exists(self, node: Node) -> Expression:
        select = self.syntax.part(node, "this")
        while isinstance(select, exp.Subquery):
            select = self.syntax.part(select, "this")
        if not isinstance(select, exp.Select):
            raise self.syntax.refuse(node, _EXISTS_SHAPE)
        for part in ("group", "having", "qualify", "limit", "offset", "order", "distinct"):
            if select.args.get(part) is not None:
                raise self.syntax.refuse(select.args[part], _EXISTS_SHAPE)
        source, rest = self.tables.sources(select)
        self._check_items(select, source.columns)
        where = rest if rest is not None else where_parts(self.syntax, select)
        join = RowJoin(
            self.syntax, NamedRelation(self.rows.relation, self.rows.columns), source, node
        )
        join.conditions = self._conditions(join, where, select)
        if isinstance(join.right, Constants):
            return ConstantJoin(join, node).any
        theirs = () if isinstance(join.right, Public) else rel.columns_of(join.right.relation)
        name = self.rows.fresh("exists", list(join.types), list(theirs))
        self.rows.relation, condition = join.matched(name)
        self.rows.types[name] = rel.columns_of(self.rows.relation)[name]
        return condition

    def _conditions(self, join: RowJoin, where: Sequence[Node], select: Node) -> list[Condition]:
        """The conditions of a subquery: over its own columns, and over those of the rows here."""
        columns = (*join.right.columns, *self.rows.columns)
        if isinstance(join.right, NamedRelation):
            inner = self.rows.over(join.right, select)
        else:
            inner = self.rows.over(NamedRelation(self.rows.relation, columns), select)
            inner.columns = join.right.columns
        inner.types.update(join.types)
        reader = inner.reader("WHERE", self.rows.columns)
        found = [Condition(reader.checked(bare(self.syntax, node)), node) for node in where]
        if isinstance(join.right, NamedRelation):
            join.right = NamedRelation(inner.relation, join.right.columns)
        return found

    def _check_items(self, select: Node, columns: Sequence[Visible]) -> None:
        """Check the items of EXISTS, which mean nothing: constants, * and known columns."""
        for item in self.syntax.parts(select, "expressions"):
            if not isinstance(item, exp.Star | exp.Literal | exp.Column | exp.Boolean | exp.Null):
                raise self.syntax.refuse(item, _EXISTS_SHAPE)
            if isinstance(item, exp.Column) and not isinstance(item.this, exp.Star):
                around = not names_one(self.syntax, item, columns)
                here = around and names_one(self.syntax, item, self.rows.columns)
                resolve(self.syntax, item, self.rows.columns if here else columns)
            for part in item.walk():
                for name in part.args:
                    self.syntax.part(part, name)

    # --- IN --------------------------------------------------------------------------------------

    def _in(self, node: Node) -> Expression:
        operand, query = self.syntax.part(node, "this"), self.syntax.part(node, "query")
        if is_correlated(query, self.rows.columns):
            raise self.syntax.refuse(node, _IN_ROWS)
        row = isinstance(operand, exp.Tuple)
        operands = self.syntax.parts(operand, "expressions") if row else [operand]
        public = self.tables.public_select(query)
        if public is not None:
            return self._in_public(node, operands, *public)
        values = [self.rows.reader("IN").checked(one) for one in operands]
        found = self.tables.read(query)
        if isinstance(found, Constants):
            return self.syntax.build(node, equal_to_some, self.syntax, node, values, found)
        if not isinstance(found, NamedRelation):
            self.syntax.answers[id(query)] = query, found
            raise self.syntax.refuse(query, _IN_ANSWER)
        if len(found.columns) != len(values):
            raise self.syntax.refuse(node, _IN_PEOPLE)
        name = self.rows.fresh("in")
        taken = {one.lower() for one in (*self.rows.types, name)}
        names = [fresh(f"{name} {one.name}", taken) for one in found.columns]
        if not any(map(self._is_same, values, found.columns)):
            raise self.syntax.refuse(node, _IN_PEOPLE)
        right, on = self.beside(found, values, names)
        self.rows.build(node, rel.MatchPerson, right, on, name)
        nullable = any(rel.columns_of(right)[b.name].nullable for _, b in on)
        nullable = nullable or any(self.types_of(a).nullable for a, _ in on)
        if row and nullable and not _holds(node):
            raise self.syntax.refuse(node, _IN_UNKNOWN)
        return Column(name)

    def beside(
        self, found: NamedRelation, values: Sequence[Expression], names: Sequence[str]
    ) -> tuple[rel.Project, tuple[tuple[Expression, Column], ...]]:
        """Rows of a subquery under new names; what is equal there to values, beside the person."""
        new = [Column(name) for name in names]
        pairs = zip(names, found.columns, strict=True)
        named = tuple(rel.Named(name, Column(one.column)) for name, one in pairs)
        sides = zip(values, new, found.columns, strict=False)
        on = tuple((a, b) for a, b, there in sides if not self._is_same(a, there, PERSON))
        return rel.Project(found.relation, named), on

    def _is_same(self, value: Expression, there: Visible, who: Identity | None = None) -> bool:
        """Whether a value here and a column there name the same person, or thing of a person."""
        here = next((c for c in self.rows.columns if Column(c.column) == value), None)
        if here is None or not (here.owns and there.owns):
            return False
        same = here.identities & there.identities
        return who in same if who is not None else bool(same)

    def _in_public(
        self, node: Node, operands: Sequence[Node], select: Node, public: Public
    ) -> Expression:
        """NULL where it is neither known to be in the list nor known not to be, as in SQL."""
        values = [self.rows.reader("IN").checked(one) for one in operands]
        condition = _public_condition(self.syntax, public, where_parts(self.syntax, select))
        items = self.syntax.parts(select, "expressions")
        named = [one for one in items if isinstance(one, exp.Column)]
        if len(named) != len(items) or len(items) != len(values):
            raise self.syntax.refuse(node, _IN_COLUMN)
        columns = [resolve(self.syntax, one, public.columns).column for one in named]
        name = self.rows.fresh("in")
        pairs = tuple(zip(values, columns, strict=True))
        self.rows.build(node, rel.MatchPublic, public.table, pairs, name, condition)
        mark: Expression = Column(name)
        if _holds(node):
            return mark
        if len(pairs) > 1:
            raise self.syntax.refuse(node, _IN_UNKNOWN)
        ((value, column),) = pairs
        unknown: list[Expression] = []
        if self.types_of(value).nullable:
            some = self.rows.fresh("any")
            self.rows.build(node, rel.MatchPublic, public.table, (), some, condition)
            unknown.append(value.is_null() & Column(some))
        if public.table.columns[column].nullable:
            missing = Column(column).is_null()
            both = missing if condition is None else condition & missing
            null = self.rows.fresh("null")
            self.rows.build(node, rel.MatchPublic, public.table, (), null, both)
            unknown.append(Column(null))
        if not unknown:
            return mark
        either = chain(Function.OR, unknown)
        yes, no, nothing = (Literal(one, Kind.BOOLEAN) for one in (True, False, None))
        return Case(((mark, yes), (either, nothing)), no)

    def types_of(self, expression: Expression) -> Type:
        """The type of an expression over the rows."""
        return self.rows.reader("IN").check(expression, self.rows.select)


def is_correlated(query: Node, columns: Sequence[Visible]) -> bool:
    """Whether a subquery names a table of the question around it, and none of its own."""
    own = {table.alias_or_name.lower() for table in query.find_all(exp.Table, exp.Subquery)}
    around = {column.source.lower() for column in columns}
    named = {column.table.lower() for column in query.find_all(exp.Column)}
    return bool(named & (around - own))


def _holds(node: Node) -> bool:
    """Whether a condition keeps rows for which it is true, so that NULL and false are one.

    AND and OR of more that is true are no less true.
    """
    above = node.parent
    while isinstance(above, exp.And | exp.Or | exp.Paren):
        above = above.parent
    return isinstance(above, exp.Where)


def _public_condition(syntax: Syntax, public: Public, where: Sequence[Node]) -> Expression | None:
    """The conditions on a public table, over its stored columns."""

    def nested(node: Node) -> Expression:
        raise syntax.refuse(node, PUBLIC_MATCH)

    meaning = column_among(public.columns, syntax)
    reader = ExpressionReader(syntax, public.table.columns, meaning, look=nested)
    return all_of([Condition(reader.checked(bare(syntax, node)), node) for node in where])


_EXISTS_SHAPE = said("""subquery: EXISTS of more than SELECT, FROM and WHERE
    only whether a row of the same person is there is asked
    group in a subquery of FROM: id IN (SELECT person FROM ... GROUP BY person HAVING ...)""")
_IN_ANSWER = said("""subquery: IN over groups of many people
    rows would depend on other people's rows
    group the subquery by the column that names the person, or ask for the groups first""")
_IN_PEOPLE = said("""subquery: IN (SELECT ...) that is not about the same person on both sides
    whether a row counts would depend on other people's rows
    compare the columns that name the person, as in id IN (SELECT person FROM ...), or put \
    conditions on both rows in EXISTS (SELECT 1 FROM ... WHERE person = id AND ...)""")
_IN_ROWS = said("""subquery: IN over a subquery that names columns of the question around it
    IN compares values with those of a question that stands by itself
    write EXISTS (SELECT 1 FROM ... WHERE person = id AND ...) with all conditions in WHERE""")
_IN_COLUMN = said("""subquery: IN over a public table that does not select one of its columns
    values are compared with a column
    select one column, or use EXISTS""")
_IN_UNKNOWN = said("""null: IN of several values, some of which may be NULL, that is more than a \
    condition of WHERE
    it would be neither true nor false where one of them is NULL
    write NOT EXISTS (SELECT 1 FROM ... WHERE person = id AND ...)""")


def is_plain(node: Node) -> bool:
    """Whether a subquery is one value of a row: no aggregate."""
    inner = node.unnest() if isinstance(node, exp.Subquery) else node
    plain = isinstance(inner, exp.Select) and len(inner.expressions) == 1
    return plain and not has_aggregate(inner.expressions[0])


COUNTS = (exp.Count, exp.CountIf, exp.ApproxDistinct)


def _first_row(select: exp.Select) -> exp.Select:
    """SELECT x ... ORDER BY y LIMIT 1 as SELECT FIRST(x ORDER BY y); others as they are."""
    limit, order = select.args.get("limit"), select.args.get("order")
    one = limit is not None and {k: v for k, v in limit.args.items() if v} == _ONE
    if not one or order is None or not is_plain(select):
        return select
    found, ordered, (item,) = select.copy(), order.copy(), select.expressions
    for part in ordered.expressions:
        if isinstance(part.this, exp.Literal) and part.this != _ONE["expression"]:
            return select  # a place where nothing stands
        named = isinstance(part.this, exp.Column) and not part.this.table
        if part.this == _ONE["expression"] or (
            named and part.this.name.lower() == item.alias_or_name.lower()
        ):
            part.set("this", item.unalias().copy())
    ordered.set("this", item.unalias().copy())
    found.set("expressions", [exp.First(this=ordered)])
    found.set("order", None)
    found.set("limit", None)
    return found


_ONE = {"expression": exp.Literal.number(1)}


def correlated_value(lookups: Lookups, node: Node) -> Expression:
    """The value of a subquery for each row, as a column of the rows."""
    select = node
    while isinstance(select, exp.Subquery):
        select = lookups.syntax.part(select, "this")
    if not isinstance(select, exp.Select) or len(select.expressions) != 1:
        raise lookups.syntax.refuse(node, _SHAPE)
    whole, select = select, _first_row(select)
    if any(select.args.get(part) for part in _PARTS) or not has_aggregate(select.expressions[0]):
        raise lookups.syntax.refuse(node, _SHAPE)
    inner = select.copy()
    source, _ = lookups.tables.sources(inner)
    pairs, rest = split(lookups.syntax, inner, source.columns, lookups.rows.columns)
    value = inner.expressions[0].unalias()
    selected = [exp.alias_(here.copy(), f"key {at}") for at, (here, _) in enumerate(pairs)]
    inner.set("expressions", [*selected, exp.alias_(value, "value")])
    inner.set("group", exp.Group(expressions=[here for here, _ in pairs]))
    inner.set("where", exp.Where(this=exp.and_(*rest, copy=False)) if rest else None)
    found = lookups.tables.rows(inner, _PERSON)
    reader = lookups.rows.reader("a subquery")
    outer = [reader.checked(there) for _, there in pairs]
    lookups.syntax.read_as([whole], inner)
    taken = {one.lower() for one in lookups.rows.types}
    names = [fresh(one.name, taken) for one in found.columns]
    right, on = lookups.beside(found, outer, names)  # the value is last, and equal to nothing
    if len(on) == len(outer):
        raise lookups.syntax.refuse(node, _PERSON)
    lookups.rows.build(node, rel.JoinPerson, right, on, rel.Keep.ALL)
    if isinstance(value, COUNTS):
        return or_zero(names[-1])
    if any(isinstance(part, COUNTS) for part in value.walk()):
        raise lookups.syntax.refuse(node, _COUNTED)
    return Column(names[-1])


def split(
    syntax: Syntax, select: Node, columns: Sequence[Visible], around: Sequence[Visible]
) -> tuple[list[tuple[Node, Node]], list[Node]]:
    """The equalities of a subquery with the outer row, and its other conditions."""
    pairs, rest = list[tuple[Node, Node]](), list[Node]()
    for one in where_parts(syntax, select):
        sides = (one.this, one.expression) if isinstance(one, exp.EQ) else (one, one)
        own = [_is_own(syntax, side, columns, around) for side in sides]
        if all(own):
            rest.append(one)
        elif isinstance(one, exp.EQ) and any(own):
            here, there = sides if own[0] else reversed(sides)
            if any(_is_own(syntax, c, columns, around) for c in there.find_all(exp.Column)):
                raise syntax.refuse(one, _SHAPE)
            pairs.append((here, there))
        else:
            raise syntax.refuse(one, _SHAPE)
    return pairs, rest


def _is_own(
    syntax: Syntax, node: Node, columns: Sequence[Visible], around: Sequence[Visible]
) -> bool:
    """Whether all names in a node are those of the subquery itself."""
    for one in node.walk(prune=lambda part: isinstance(part, exp.Query)):
        if isinstance(one, exp.Query) and is_correlated(one, around):
            return False
        if isinstance(one, exp.Column) and not lookup(syntax, one, columns)[0]:
            return False
    return True


_PARTS = ("group", "having", "qualify", "limit", "offset", "order", "distinct", "with_")
_SHAPE = said("""subquery: a value of a subquery that looks at the row around it in another way \
    than by equal columns
    it is an aggregate of the rows that are equal to it in some columns, one of which names the \
    person
    write (SELECT AVG(x) FROM t WHERE t.person = outer.person AND ...), join a subquery \
    that is grouped by the person, or use a window: AVG(x) OVER (PARTITION BY person)""")
_PERSON = said("""subquery: a value of a subquery that is not about the person of the row around it
    the value beside a row would depend on other people's rows
    add t.person = outer.person to its WHERE, for the columns that name the person; or ask it by \
    itself, and write its numbers out: x > CASE city WHEN 'Haifa' THEN 40 ELSE 35 END""")
_COUNTED = said("""subquery: a count inside a larger expression of a subquery
    it is 0 where no row meets, and what is computed from it would be NULL
    select COUNT alone, and compute with it outside: 2 * (SELECT COUNT(*) ...)""")
