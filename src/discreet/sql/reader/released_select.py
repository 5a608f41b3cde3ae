"""One SELECT over answers: filtered, grouped again, and windows over what is left.

Answers stand in FROM side by side under names of their own, joined, and pivoted.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from sqlglot import exp

from discreet.plan.answer_program import Program
from discreet.plan.expressions import Column, Expression, Function, call, chain
from discreet.plan.kinds import Value
from discreet.plan.query import Query
from discreet.plan.relations import Named
from discreet.plan.released_tables import (
    ComputedTable,
    FilteredTable,
    JoinedTables,
    JoinKind,
    RegroupedTable,
    ReleasedTable,
    SortedTable,
    is_single,
)
from discreet.sql.reader.aggregated_select import AggregatedSelect
from discreet.sql.reader.expressions import ExpressionReader, column_among
from discreet.sql.reader.literals import read_whole
from discreet.sql.reader.refusals import Refusal, said
from discreet.sql.reader.released_tables import Beyond, Shown, answer_of, program_of
from discreet.sql.reader.select import SelectReader
from discreet.sql.reader.select_list import (
    POSITION,
    Answer,
    name_items,
    read_in_turn,
    read_items,
    read_limits,
    read_order,
)
from discreet.sql.reader.syntax import Node, Syntax, Visible, bare_word, fresh


def pivoted_select(
    syntax: Syntax, node: Node, table: str, columns: Sequence[str]
) -> tuple[exp.Query, list[Node]]:
    """PIVOT (AVG(cost) FOR city IN ('Austin', 'Haifa')) as SELECT: a column for each listed value.

    Each is the aggregate FILTER (WHERE city = 'Austin'). Rows are grouped by GROUP BY, or by the
    columns that PIVOT does not name. Also the parts of PIVOT that are copied into it.
    """
    asked, listed = syntax.parts(node, "expressions"), syntax.parts(node, "fields")
    values = syntax.parts(listed[0], "expressions") if len(listed) == 1 else []
    if not asked or not values:
        raise syntax.refuse(node, _PIVOT)
    if syntax.part(node, "unpivot"):
        return _unpivoted(syntax, node, table, columns)
    derived = syntax.parts(node, "columns")  # names, by the parser, of the rest
    syntax.part(node, "pivot_column_naming")
    subject, group = syntax.part(listed[0], "this"), syntax.part(node, "group")
    named = {c.name.lower() for one in (subject, *asked) for c in one.find_all(exp.Column)}
    keys: list[Node] = [
        exp.column(exp.to_identifier(n, quoted=True)) for n in columns if n.lower() not in named
    ]
    keys = syntax.parts(group, "expressions") if group is not None else keys
    listing = group is None or (bool(keys) and group.args.get("all") is None)  # DISTINCT is False
    if not listing or not all(isinstance(key, exp.Column) for key in keys):
        raise syntax.refuse(group, _PIVOT_GROUP)
    selected: list[Node] = [key.copy() for key in keys]
    for value in values:
        literal = value.this if isinstance(value, exp.PivotAlias) else value
        nameless = literal is not value and not value.alias  # 'Haifa' TRUE
        if (
            isinstance(literal, exp.Column)
            and not literal.table
            and literal.this.args.get("quoted")
        ):
            literal = exp.Literal.string(literal.name)  # [paid], as in SQL Server
        negative = isinstance(literal, exp.Neg)
        known = isinstance(literal.this if negative else literal, exp.Literal | exp.Boolean)
        if nameless or not known:
            raise syntax.refuse(value, _PIVOT)
        label = value.alias or (literal.name or literal.sql().lower())
        label = f"-{label}" if negative and not value.alias else label
        where = exp.Where(this=exp.EQ(this=subject.copy(), expression=literal.copy()))
        for one in asked:
            call = exp.Filter(this=one.unalias().copy(), expression=where.copy())
            called = one.alias or ("_".join(_words(one)) if len(asked) > 1 else "")
            name = f"{label}_{called}" if called else label
            selected.append(exp.alias_(call, name, quoted=True))
    source = exp.From(this=exp.Table(this=exp.to_identifier(table, quoted=True)))
    by = exp.Group(expressions=[key.copy() for key in keys]) if keys else None
    select = exp.Select(expressions=selected, from_=source, group=by)
    return select, [subject, *asked, *values, *keys, *derived]


def _words(call: Node) -> list[str]:
    """What an aggregate is called among others: sum_cost, count."""
    return [call.key, *(column.name for column in call.find_all(exp.Column))]


def _unpivoted(
    syntax: Syntax, node: Node, table: str, columns: Sequence[str]
) -> tuple[exp.Query, list[Node]]:
    """UNPIVOT (answer FOR question IN (q1, q2)): UNION ALL of a SELECT for each listed column."""
    (value, *more), (listed,) = node.expressions, node.args["fields"]
    sides, kept = list[exp.Select](), syntax.part(node, "include_nulls")
    taken = {c.name.lower() for one in listed.expressions for c in one.find_all(exp.Column)}
    others = [exp.column(n, quoted=True) for n in columns if n.lower() not in taken]
    for one in listed.expressions:
        column = one.this if isinstance(one, exp.PivotAlias) else one
        if more or not isinstance(column, exp.Column):
            raise syntax.refuse(node, _UNPIVOT)
        name = exp.Literal.string(one.alias or column.name)
        told = (exp.alias_(name, listed.this.name, quoted=True), value.name)
        picked = exp.Select(from_=exp.From(this=exp.to_table(f'"{table}"', dialect="duckdb")))
        named = [*others, told[0], exp.alias_(column.copy(), told[1], quoted=True)]
        picked.set("expressions", [part.copy() for part in named])
        present = exp.Not(this=exp.Is(this=column.copy(), expression=exp.Null()))
        picked.set("where", None if kept else exp.Where(this=present))
        sides.append(picked)
    for flag in ("default_on_null", "value_columns_first"):
        syntax.part(node, flag)
    stacked: exp.Query = sides[0]
    for picked in sides[1:]:
        stacked = exp.Union(this=stacked, expression=picked, distinct=False)
    return stacked, [value, listed]


def pivot_statement(
    syntax: Syntax, node: Node, keys: Callable[[Node], Sequence[Value]]
) -> exp.Select:
    """PIVOT t ON a IN (...) USING ... GROUP BY k, and UNPIVOT, as SELECT * FROM t PIVOT (...).

    Values that are not listed are those that the column of the table is declared with: its `keys`.
    """
    pivot = exp.Pivot(unpivot=bool(node.args.get("unpivot")), group=node.args.get("group"))
    on, into = node.expressions, node.args.get("into")
    if pivot.args["unpivot"]:
        columns = [one for part in on for one in (part.expressions or [part])]
        names = (
            [into.this, *into.expressions] if into else [exp.column("name"), exp.column("value")]
        )
        pivot.set("expressions", [name.this.copy() for name in names[1:]])
        pivot.set("fields", [exp.In(this=names[0].this.copy(), expressions=columns)])
    elif len(on) == 1 and isinstance(on[0], exp.In | exp.Column) and node.args.get("using"):
        listed = [] if isinstance(on[0], exp.In) else keys(on[0])
        if any(not isinstance(one, str) for one in listed) or not (listed or on[0].expressions):
            raise syntax.refuse(node, _PIVOT)
        values = [exp.Literal.string(one) for one in sorted(map(str, listed))]
        pivot.set("expressions", node.args["using"])
        pivot.set("fields", [exp.In(this=on[0].copy(), expressions=values)] if values else on)
    else:
        raise syntax.refuse(node, _PIVOT)
    if node.this.args.get("pivots"):
        raise syntax.refuse(node, _PIVOTED)
    source = node.this.copy()
    source.set("pivots", [pivot.copy()])
    return exp.Select(expressions=[exp.Star()], from_=exp.From(this=source))


# --- UNION ----------------------------------------------------------------------------------------


def stack_answers(
    syntax: Syntax, node: Node, above: Program, below: Program, *, distinct: bool
) -> Answer:
    """UNION of answers, with its ORDER BY and LIMIT."""
    program = syntax.build(node, above.above, below)
    program = program.distinct() if distinct else program

    def other(part: Node) -> Expression:
        raise syntax.refuse(part, _UNION_ORDER)

    columns = [(name, Column(name)) for name in program.table.columns]
    order, limits = read_order(syntax, node, columns, other), read_limits(syntax, node)
    if order or limits != (None, 0):
        program = replace(program, table=SortedTable(program.table, order, *limits))
    return answer_of(program)


# --- FROM -----------------------------------------------------------------------------------------


Released: TypeAlias = tuple[Program, list[Visible]]
"""Released rows and their columns."""


def side_by_side(answer: Answer, number: int, taken: set[str]) -> Released:
    """An answer in FROM, its columns under names that no other answer there has."""
    program = program_of(answer)
    names = {column: fresh(column, taken) for column in program.table.columns}
    if any(old != new for old, new in names.items()):
        renamed = tuple(Named(new, Column(old)) for old, new in names.items())
        program = replace(program, table=ComputedTable(program.table, renamed))
    source = answer.columns[0].source or f"(subquery {number})"
    return program, [Visible(old, new, source) for old, new in names.items()]


def join_answers(syntax: Syntax, left: Released, right: Released, node: Node) -> Released:
    """JOIN of two answers: on any condition over both."""
    side, kind = (str(syntax.part(node, part) or "").upper() for part in ("side", "kind"))
    if node.text("method").upper() == "NATURAL":
        raise syntax.refuse(node, _NATURAL)
    if kind not in {"", "INNER", "OUTER", "CROSS"} or side not in {"", "LEFT", "RIGHT", "FULL"}:
        raise syntax.refuse(node, _JOIN)
    (first, ours), (second, theirs) = left, right
    columns = [*ours, *theirs]
    types = {**first.table.columns, **second.table.columns}
    on, using = syntax.part(node, "on"), syntax.parts(node, "using")
    pairs: list[tuple[Visible, Visible]] = []
    condition: Expression | None = None
    if on is not None:
        meaning = column_among(columns, syntax)
        condition = ExpressionReader(syntax, types, meaning, clause="ON").checked(on)
    elif using:
        condition, columns, pairs = _using(syntax, ours, theirs, using, side)
    keep = JoinKind.FULL if side == "FULL" else JoinKind.LEFT if side else JoinKind.INNER
    above, below = (second, first) if side == "RIGHT" else (first, second)
    joined = syntax.build(node, above.beside, below, keep, condition)
    if _crossings(joined.table, joined.queries) > 1:
        raise syntax.refuse(node, _CROSS)
    return _merged(joined, columns, pairs) if side == "FULL" else (joined, columns)


def _merged(
    joined: Program, columns: list[Visible], pairs: list[tuple[Visible, Visible]]
) -> Released:
    """USING (x) after a FULL join: the value of either side, under the bare name."""
    kept = [Named(name, Column(name)) for name in joined.table.columns]
    taken = {one.name.lower() for one in kept}
    shown = list[Visible]()
    for left, right in pairs:
        either = call(Function.COALESCE, Column(left.column), Column(right.column))
        kept.append(Named(fresh(left.name, taken), either))
        shown.append(Visible(left.name, kept[-1].name, "(using)"))
    if not pairs:
        return joined, columns
    return replace(joined, table=ComputedTable(joined.table, tuple(kept))), [*shown, *columns]


def _crossings(table: ReleasedTable, queries: tuple[Query, ...]) -> int:
    """How often each row of one table may stand beside each of another; groups are few again."""
    if isinstance(table, RegroupedTable):
        return 0
    below = sum(_crossings(one, queries) for one in table.inputs)
    crosses = isinstance(table, JoinedTables) and not table.equates
    single = (is_single(one, queries, surely=False) for one in table.inputs)
    return below + (crosses and not any(single))


def _using(
    syntax: Syntax,
    ours: Sequence[Visible],
    theirs: Sequence[Visible],
    using: Sequence[Node],
    side: str,
) -> tuple[Expression, list[Visible], list[tuple[Visible, Visible]]]:
    """Equal columns; the side that keeps all its rows shows them, and neither where both do."""
    pairs = []
    for one in using:
        word = syntax.word(one)
        found = [next((c for c in side if word.names(c.name)), None) for side in (ours, theirs)]
        if found[0] is None or found[1] is None:
            raise syntax.refuse(one, Refusal("unknown_column", f"no {word.text} on both sides"))
        pairs.append((found[0], found[1]))
    unseen = {"RIGHT": (0,), "FULL": (0, 1)}.get(side, (1,))
    hidden = {pair[at].column for pair in pairs for at in unseen}
    columns = [replace(c, hidden=c.hidden or c.column in hidden) for c in (*ours, *theirs)]
    equal = [Column(a.column).equals(Column(b.column)) for a, b in pairs]
    return chain(Function.AND, equal), columns, pairs


_PIVOT = said("""pivot: a PIVOT that does not list the values of one column
    the columns of an answer have to be known before it is priced
    list them: PIVOT visits ON city IN ('Austin', 'Haifa') USING COUNT(*) GROUP BY year""")
_PIVOTED = said("""pivot: a PIVOT or UNPIVOT statement over a table with one of its own
    only one of the two would be read
    write the inner one as a subquery""")
_UNPIVOT = said("""pivot: an UNPIVOT of more than single columns into one
    each listed column gives rows of its own, with its name and its value
    write UNPIVOT (answer FOR question IN (q1, q2)) after a table or subquery""")
_PIVOT_GROUP = said("""pivot: GROUP BY inside PIVOT that does not list columns
    each row of the answer has to stand for values of columns
    list them, or leave GROUP BY out for all columns that PIVOT does not name""")
_CROSS = said("""join: three answers stand beside each other without columns that are equal
    each row of one with each of the others is more rows than anybody reads
    write JOIN ... ON a.city = b.city""")
_JOIN = said("""join: a join of answers that is not INNER, LEFT, RIGHT, FULL ... ON, or CROSS
    answers are joined on conditions
    write JOIN ... ON a.city = b.city""")
_NATURAL = said("""join: a NATURAL join of answers
    which columns of answers are equal has to be written out
    write JOIN ... USING (city)""")
_UNION_ORDER = said("""clause: ORDER BY after UNION names no column of the answer
    both sides are sorted together, by what they are called on the left
    name a column, or its place""")


class ReleasedSelect(SelectReader):
    """Reads one SELECT over the released tables of its FROM; None where it has no FROM."""

    def __init__(
        self,
        syntax: Syntax,
        select: Node,
        program: Program | None,
        columns: Sequence[Visible],
        subquery: Callable[[Node], object],
    ) -> None:
        self.syntax = syntax
        self.select = select
        self.whole = False
        self.columns = tuple(columns)
        self.subquery = subquery
        self.program = program and self._filtered_program(program)
        types = self.program.table.columns if self.program else {}
        self.reader = ExpressionReader(syntax, types, self.meaning, clause="an aggregate")
        self.rows = ExpressionReader(syntax, types, self.meaning, clause="GROUP BY")
        self.items = read_items(syntax, select, self.columns)

    def read(self) -> Answer:
        """The answer."""
        distinct = self.select.args.get("distinct")
        if distinct is not None and distinct.args.get("on") is not None:
            self._tell_first(distinct)
        groups = self._groups() if self.program else None
        if groups is None:
            return self._plain()
        found = AggregatedSelect(self, groups, per_person=False).read()
        assert isinstance(found, Answer)  # noqa: S101 - narrowing: it is not per person
        return found

    def _tell_first(self, distinct: Node) -> None:
        """DISTINCT ON (city) ... ORDER BY city, n: the first of each city, told by a window."""
        order = self.select.args.get("order")
        if order is None or self.select.args.get("qualify") is not None:
            raise self.syntax.refuse(distinct, _DISTINCT_ON)
        keys = self.syntax.parts(self.syntax.part(distinct, "on"), "expressions")
        by, order = [self._placed(one) for one in keys], order.copy()
        for part in order.expressions:
            part.set("this", self._placed(part.this))
        turn = exp.Window(this=exp.RowNumber(), partition_by=by, order=order, over="OVER")
        self.select.set("qualify", exp.Qualify(this=turn.eq(1)))
        self.select.set("distinct", None)

    def _placed(self, node: Node) -> Node:
        """The selected value whose place stands there; a window would take it for a number."""
        if not isinstance(node, exp.Literal):
            return node
        at = read_whole(self.syntax, node, "a position in ORDER BY", at_least=1)
        if at > len(self.items):
            raise self.syntax.refuse(node, POSITION)
        item = self.items[at - 1]
        seen = item.visible
        found = exp.column(seen.name, seen.source, quoted=True) if seen else item.node.copy()
        found.meta.update(node.meta)
        return found

    def _distinct_reader(self) -> ExpressionReader:
        return self.rows

    def _filtered_program(self, program: Program) -> Program:
        node = self.syntax.part(self.select, "where", "this")
        if node is None:
            return program
        beyond = Beyond(self.syntax, dict(program.table.columns), self.subquery)
        reader = ExpressionReader(
            self.syntax, beyond.types, self.meaning, clause="WHERE", beyond=beyond.read
        )
        condition = reader.condition(node)
        program = beyond.joined(program, node)
        return replace(program, table=FilteredTable(program.table, condition))

    def _plain(self) -> Answer:
        """Without groups: a row for each row below."""
        types = dict(self.reader.types)
        beyond = Beyond(self.syntax, types, self.subquery)
        reader = ExpressionReader(self.syntax, types, self.meaning, beyond=beyond.read)
        values = read_in_turn(reader, self.columns, self.items)
        names = name_items(self.syntax, self.items, [None] * len(self.items))
        named = dict(zip((name.lower() for name in names), values, strict=True))

        def after(node: exp.Column) -> Expression:
            word = bare_word(self.syntax, node)
            known = word and named.get(word.text.lower())
            return known or self.meaning(node)

        late = replace(reader, resolve=after)
        clause = self.syntax.part(self.select, "qualify", "this")
        qualify = None if clause is None else late.condition(clause)
        outputs = list(zip(names, values, strict=True))
        order = read_order(self.syntax, self.select, outputs, late.checked)
        limits = read_limits(self.syntax, self.select)
        shown = Shown(outputs, None, qualify, order, limits)
        joined = self.syntax.build(self.select, beyond.joined, self.program, self.select)
        return self.syntax.build(self.select, shown.over, joined, beyond.windows)


_DISTINCT_ON = said("""distinct: DISTINCT ON over answers without ORDER BY, or with QUALIFY
    which row it keeps would be anything
    add ORDER BY, the columns of DISTINCT ON first""")
