"""FROM, WITH and UNION ALL: where private rows come from."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.plan.answer_program import Program
from discreet.plan.kinds import Value
from discreet.plan.relations import Relation, Scan, columns_of
from discreet.plan.released_tables import ConstantRows, PublicRows
from discreet.plan.row_counts import spread as spread_rows
from discreet.plan.schema import PublicTable, Schema
from discreet.sql.reader.beside_rows import keep_public_rows
from discreet.sql.reader.constant_tables import ConstantReader, select_listed
from discreet.sql.reader.groups_first import join_after_groups
from discreet.sql.reader.join_order import Waiting, join_all
from discreet.sql.reader.laterals import RELEASED, Applied, is_applied
from discreet.sql.reader.refusals import CLAUSES, NODES, ROW_OUTPUT, Refusal, said
from discreet.sql.reader.released_select import (
    Released,
    ReleasedSelect,
    join_answers,
    pivot_statement,
    pivoted_select,
    side_by_side,
)
from discreet.sql.reader.released_tables import NO_FROM
from discreet.sql.reader.select import SelectReader
from discreet.sql.reader.select_list import Answer, SelectOver, is_simple
from discreet.sql.reader.set_operations import read_sets
from discreet.sql.reader.sources import (
    Constants,
    Public,
    Rows,
    RowSource,
    Source,
    known_as,
    renamed,
)
from discreet.sql.reader.syntax import (
    NamedRelation,
    Node,
    Syntax,
    Visible,
    Word,
    has_aggregate,
    lookup,
    nearest,
    quoted,
    scan_columns,
)


class _AnswersMet(Exception):  # noqa: N818 - caught by the reader, and told to nobody
    """Raised where answers stand beside private rows in FROM."""

    def __init__(self, sources: Sequence[Source | Applied], refused: QueryRefused) -> None:
        self.sources, self.refused = sources, refused


@dataclass(frozen=True, slots=True)
class RelationReader:
    """A statement, the tables it may name, and the names that WITH has given so far."""

    syntax: Syntax
    schema: Schema
    named: tuple[tuple[str, Rows], ...] = ()
    views: Mapping[str, Relation] = field(default_factory=dict)
    """What is read in place of a private table, with the same columns."""

    def answer(self, node: Node) -> Answer:
        """A whole question, which has to be an answer."""
        found = self.read(node, whole=True)
        if isinstance(found, Answer):
            return found
        raise self.syntax.refuse(node, NO_FROM if isinstance(found, Constants) else _UNION_OUTPUT)

    def read(self, node: Node, *, whole: bool = False) -> Rows:
        """A SELECT, a UNION ALL, or either in parentheses."""
        inner = self._with(node)
        match node:
            case exp.Select() if _is_constant(node):
                return ConstantReader(self.syntax).select(node)
            case exp.Select():
                return inner.select(node, whole=whole)
            case exp.Values():
                return ConstantReader(self.syntax).table(node, "")
            case exp.Subquery():
                return inner.read(self.syntax.part(node, "this"), whole=whole)
            case exp.Union() | exp.Except() | exp.Intersect():
                return read_sets(inner, node)
            case exp.Pivot():
                pivoted = pivot_statement(self.syntax, node, partial(inner.keys, node))
                return inner.instead(node, pivoted, whole=whole)
            case exp.Table():
                raise self.syntax.refuse_clause(node, "joins")
        raise self.syntax.refuse(node, NODES.get(type(node).__name__, ROW_OUTPUT))

    def select(self, node: Node, *, whole: bool) -> Rows:
        """One SELECT."""
        instead = keep_public_rows(self, node) if node.args.get("joins") else None
        if instead is not None:
            return self.instead(node, instead, whole=whole)
        try:
            source, where = self._from(node)
        except _AnswersMet as met:
            return self._after_groups(node, met, whole=whole)
        if isinstance(source, Constants):
            listed = None if whole else select_listed(self.syntax, node, source)
            if listed is not None:
                return listed
            source = self.as_answer(source, node)
        if isinstance(source, Answer) and is_simple(node, source):
            return SelectOver(self.syntax, node, source).read()
        if isinstance(source, Answer):
            source = side_by_side(self.impersonal(source, node), 1, set())
        assert not isinstance(source, Public)  # noqa: S101 - narrowing: released rows by now
        if isinstance(source, NamedRelation):
            return self._select_rows(node, source, where, whole=whole)
        program, columns = source or (None, [])
        return ReleasedSelect(self.syntax, node, program, columns, self.subquery).read()

    def _select_rows(
        self, node: Node, rows: NamedRelation, where: list[Node] | None, *, whole: bool
    ) -> Rows:
        """A SELECT over private rows, with sums by rows of people where counts have no bounds."""
        try:
            return SelectReader(self, node, rows, where, whole=whole).read()
        except QueryRefused as refused:
            counted = refused.code == "unbounded_count"
            if counted or (refused.code == "type" and any(spread_rows(rows.relation))):
                with suppress(QueryRefused):
                    return SelectReader(self, node, rows, where, whole=whole, totals=True).read()
            raise

    def _after_groups(self, node: Node, met: "_AnswersMet", *, whole: bool) -> Rows:
        """A SELECT that joins answers with private rows, where it can join them with groups."""
        found = join_after_groups(self.syntax, node, met.sources)
        if found is None:
            raise met.refused from None
        select, sources = found
        for clause in (node.args["from_"], *node.args["joins"]):
            self.syntax.finish(clause.this)  # what stands there has been read, and is no copy
        tables = replace(self, named=(*self.named, *sources.items()))
        return tables.instead(node, select, whole=whole)

    def keys(self, pivot: Node, node: exp.Column) -> Sequence[Value]:
        """The declared values of a column of a table that is pivoted."""
        found = self.source(pivot.this, 1)
        if not isinstance(found, NamedRelation):
            return ()
        named, *_ = lookup(self.syntax, node, found.columns)
        types = columns_of(found.relation)
        return next((types[one.column].keys or () for one in named), ())

    def instead(self, node: Node, other: exp.Select, *, whole: bool) -> Rows:
        """A statement by the SELECT that stands for it and holds every part of it."""
        found = self.select(other, whole=whole)
        self.syntax.read_as([node], other)
        return found

    def subquery(self, node: Node) -> Rows:
        """A subquery inside an expression, which is read once, however often it is asked."""
        if id(node) not in self.syntax.answers:
            try:
                self.syntax.answers[id(node)] = node, self.read(node)
            except QueryRefused as refused:
                self.syntax.answers[id(node)] = node, refused
        found = self.syntax.answers[id(node)][1]
        if isinstance(found, QueryRefused):
            raise found
        assert not isinstance(found, Public)  # noqa: S101 - narrowing: what `read` gives
        return found if isinstance(found, NamedRelation) else self.as_answer(found, node)

    def impersonal(self, answer: Answer, node: Node) -> Answer:
        """Refuse to compute with groups that are one person's each."""
        if answer.personal:
            raise self.syntax.refuse(node, _PERSONAL)
        return answer

    def rows(self, node: Node, otherwise: Refusal) -> NamedRelation:
        """A subquery that has to give rows."""
        found = self.read(node)
        if not isinstance(found, NamedRelation):
            raise self.syntax.refuse(node, otherwise)
        return found

    def sources(self, select: Node) -> tuple[RowSource, list[Node] | None]:
        """The FROM of a subquery inside a condition, and what it has left of WHERE."""
        inner = self._with(select)
        found, where = inner._from(select, released=False)  # noqa: SLF001 - another one of us
        if not isinstance(found, NamedRelation | Public | Constants):
            raise self.syntax.refuse(select, _ANSWER_JOINED)
        return found, where

    def public_select(self, node: Node) -> tuple[Node, Public] | None:
        """A SELECT from a public table alone, and the table; None where it is none."""
        while isinstance(node, exp.Subquery) and node.args.get("with_") is None:
            node = self.syntax.part(node, "this")
        plain = isinstance(node, exp.Select) and not node.args.get("joins")
        clause = node.args.get("from_") if plain and node.args.get("with_") is None else None
        if clause is None or not isinstance(clause.this, exp.Table):
            return None
        found = self.source(self.syntax.part(clause, "this"), 1)
        if not isinstance(found, Public):
            return None
        self.syntax.part(node, "from_")
        distinct = self.syntax.part(node, "distinct")
        for part in ("group", "having", "limit", "offset", "order", "qualify"):
            if node.args.get(part) is not None or (distinct is not None and distinct.args):
                raise self.syntax.refuse(node, _PUBLIC_LIST)
        return node, found

    # --- FROM ------------------------------------------------------------------------------------

    def _from(
        self, node: Node, *, released: bool = True
    ) -> tuple[Source | Released | None, list[Node] | None]:
        """The rows of FROM, and what is left of WHERE where conditions of it have joined tables.

        Public tables and answers without private rows beside them are `released` rows. None where
        there is no FROM, and values are those of subqueries.
        """
        clause = self.syntax.part(node, "from_")
        if clause is None and not any(one.find(exp.Query) for one in node.expressions):
            raise self.syntax.refuse(node, NO_FROM)
        if clause is None:
            return None, None
        first = self.source(self.syntax.part(clause, "this"), 1)
        joins = self.syntax.parts(node, "joins")
        names, rest = [first.columns[0].source], list[Source | Applied]()
        for number, one in enumerate(joins, start=2):
            rest.append(self._next_source(self.syntax.part(one, "this"), number))
            names.append(self._new_name(names, rest[-1].columns[0].source, one))
        if not any(isinstance(one, NamedRelation) for one in (first, *rest)) and released:
            return self._released(node, first, list(zip(rest, joins, strict=True))), None
        if not rest:
            return first, None
        waiting = list[Waiting]()
        for right, one in zip(rest, joins, strict=True):
            if isinstance(first, Answer) or isinstance(right, Answer):
                refused = self.syntax.refuse(one, _joined_answer(first, right))
                raise _AnswersMet([first, *rest], refused) if released else refused
            waiting.append((right, one))
        assert not isinstance(first, Answer)  # noqa: S101 - narrowing: it stands alone above
        return join_all(self, node, first, waiting, names)

    def _released(
        self, node: Node, first: Source, rest: list[tuple[Source | Applied, Node]]
    ) -> Answer | Constants | Released:
        """Answers and public tables in FROM; one answer alone stays what it is."""
        if isinstance(first, Answer | Constants) and not rest:
            return first
        taken: set[str] = set()
        found = side_by_side(self.as_answer(first, node), 1, taken)
        for number, (right, one) in enumerate(rest, start=2):
            beside = side_by_side(self.as_answer(right, one), number, taken)
            found = join_answers(self.syntax, found, beside, one)
        return found

    def as_answer(self, found: Source | Applied, node: Node) -> Answer:
        """Released rows; public and written rows are about nobody, and for nothing."""
        if isinstance(found, Applied):
            raise self.syntax.refuse(node, RELEASED)
        if isinstance(found, Answer):
            return self.impersonal(found, node)
        if isinstance(found, Constants):
            names = tuple(one.column for one in found.columns)
            return Answer(Program((), ConstantRows(names, found.rows)), found.columns)
        assert isinstance(found, Public)  # noqa: S101 - narrowing: see `_from`
        program = Program((), PublicRows(found.table))
        return Answer(program, found.columns)

    def _new_name(self, names: list[str], name: str, node: Node) -> str:
        """A name that no source before has."""
        if name.lower() not in {one.lower() for one in names}:
            return name
        what = Refusal(
            "duplicate_name",
            f"two tables in FROM are called {name}",
            "a name has to mean one of them",
            "give one another name with AS",
        )
        raise self.syntax.refuse(node, what)

    def _next_source(self, node: Node, number: int) -> Source | Applied:
        """A source of FROM after the first, which may look at those before it."""
        if not is_applied(node):
            return self.source(node, number)
        alias = node.args.get("alias")
        name = alias.name if alias is not None and alias.name else f"(lateral {number})"
        return Applied((Visible("", "", name),))

    def source(self, node: Node, number: int) -> Source:
        """A table, a name from WITH, or a subquery, under its alias; PIVOT comes after that."""
        alias, words = self.alias(node)
        found: Source
        match node:
            case exp.Values() | exp.Unnest() | exp.Table(this=exp.GenerateSeries()):
                name = alias.text if alias else f"(rows {number})"
                found = ConstantReader(self.syntax).table(node, name)
            case exp.Table():
                own = () if node.args.get("db") is not None else self.named
                found = self._table(self._table_word(node), alias, own)
            case exp.Subquery():
                found = known_as(self.read(node), alias.text if alias else f"(subquery {number})")
            case _:
                raise self.syntax.refuse(node, NODES.get(type(node).__name__, NODES["Values"]))
        found = renamed(self.syntax, found, words) if words else found
        return self._pivoted(node, found, number) if node.args.get("pivots") else found

    def _pivoted(self, node: Node, found: Source, number: int) -> Rows:
        """PIVOT of a source of rows: a grouped SELECT from it, under the alias after it."""
        pivots = self.syntax.parts(node, "pivots")
        if len(pivots) > 1 or isinstance(found, Public):
            raise self.syntax.refuse_clause(node, "pivots")
        if isinstance(found, Answer):
            self.impersonal(found, node)
        names = [c.name for c in found.columns]
        select, used = pivoted_select(self.syntax, pivots[0], _PIVOTED, names)
        inner = replace(self, named=(*self.named, (_PIVOTED, found)))
        answer = inner.read(select)
        self.syntax.read_as(used, select)
        alias, words = self.alias(pivots[0])
        answer = known_as(answer, alias.text if alias else f"(pivot {number})")
        return renamed(self.syntax, answer, words)

    def alias(self, node: Node) -> tuple[Word | None, list[Word]]:
        """The name of a source, and those of its first columns."""
        alias = self.syntax.part(node, "alias")
        if alias is None:
            return None, []
        name = self.syntax.part(alias, "this")
        columns = self.syntax.parts(alias, "columns")
        return (
            None if name is None else self.syntax.word(name),
            [self.syntax.word(column) for column in columns],
        )

    def _table_word(self, node: Node) -> Word:
        scheme = self.syntax.part(node, "db")
        if scheme is not None and self.syntax.word(scheme).text.lower() not in _SCHEMES:
            raise self.syntax.refuse_clause(node, "db")
        name = self.syntax.part(node, "this")
        if not isinstance(name, exp.Identifier):
            raise self.syntax.refuse(node, NODES["Values"])
        return self.syntax.word(name)

    def _table(self, word: Word, alias: Word | None, own: tuple[tuple[str, Rows], ...]) -> Source:
        for name, known in reversed(own):
            if word.names(name):
                return known_as(known, alias.text if alias else name)
        found = [table for name, table in self.schema.tables.items() if word.names(name)]
        if len(found) != 1:
            raise self._unknown(word, bool(found))
        (table,) = found
        name = alias.text if alias else table.name
        if isinstance(table, PublicTable):
            return Public(table, tuple(Visible(c, c, name) for c in table.columns))
        rows = self.views.get(table.name, Scan(table))
        return NamedRelation(rows, scan_columns(self.schema, table, name))

    def _unknown(self, word: Word, several: bool) -> QueryRefused:  # noqa: FBT001 - a fact
        names = [name for name, _ in self.named] + list(self.schema.tables)
        close = nearest(word.text, names)
        hint = f"write {quoted(close)}, if that is meant" if close else "name one of them"
        what = Refusal(
            "unknown_table",
            f"{word.text} is several tables" if several else f"there is no table {word.text}",
            f"the tables are {', '.join(names)}",
            "quote the name" if several else hint,
        )
        return self.syntax.refuse(word.node, what)

    # --- WITH ------------------------------------------------------------------------------------

    def _with(self, node: Node) -> "RelationReader":
        """The same reading with the names that WITH gives; each is read where it is given."""
        clause = self.syntax.part(node, "with_")
        if clause is None:
            return self
        if clause.args.get("recursive"):
            raise self.syntax.refuse(clause, CLAUSES["", "recursive"])
        reading = self
        own: list[str] = []
        for part in self.syntax.parts(clause, "expressions"):
            alias, words = self.alias(part)
            if alias is None:
                raise self.syntax.refuse(part, Refusal("syntax", "WITH without a name"))
            found = known_as(reading.read(self.syntax.part(part, "this")), alias.text)
            if alias.text.lower() in own:
                raise self.syntax.refuse(part, _WITH_TWICE)
            own.append(alias.text.lower())
            named = alias.text, renamed(self.syntax, found, words)
            reading = replace(reading, named=(*reading.named, named))
        return reading


def _joined_answer(*sides: Source | Applied) -> Refusal:
    """Why private rows do not stand beside an answer."""
    public = all(isinstance(one.query, Program) for one in sides if isinstance(one, Answer))
    return _PUBLIC_COMPUTED if public else _ANSWER_JOINED


def public_part(tree: Node, schema: Schema) -> Schema | None:
    """The public tables, where a statement names no others and some rows; else None."""
    given = {one.alias.lower() for one in tree.find_all(exp.CTE)}
    tables = (one for one in tree.find_all(exp.Table) if isinstance(one.this, exp.Identifier))
    used = {one.name.lower() for one in tables} - given
    public = {name: one for name, one in schema.tables.items() if isinstance(one, PublicTable)}
    written = used or tree.find(exp.Values, exp.Unnest, exp.GenerateSeries, exp.Explode)
    return Schema(public) if written and used <= {name.lower() for name in public} else None


def _is_constant(node: Node) -> bool:
    """Whether a SELECT has no FROM, and asks nothing of other rows."""
    asked = any(one.find(exp.Query) or has_aggregate(one) for one in node.expressions)
    return node.args.get("from_") is None and not asked


_SCHEMES = {"dbo", "main", "public"}
"""What stands before a table where a database has no other schema."""

_PIVOTED = "\0pivoted"
"""The name of what PIVOT reads, which nobody can type."""

_UNION_OUTPUT = Refusal(
    "set_operation",
    "the question is a UNION ALL of rows",
    ROW_OUTPUT.why,
    "put it in FROM and aggregate over it, as in SELECT COUNT(*) FROM (... UNION ALL ...)",
)
_PUBLIC_LIST = said("""subquery: IN over a public table that is grouped, ordered or cut
    only its rows and a condition on them are looked at
    write IN (SELECT column FROM table WHERE ...)""")
PUBLIC_ONLY = said("""public_only: the question is about public tables alone
    it belongs to nobody: there is nothing to price, to measure or to explain
    ask that by itself with sql() or discreet query, which is free, or join it to a private \
    table""")
OTHER_ROWS = said("""other_rows: a question in SQL about other rows
    the rows of these steps are the table self, which it does not read
    write FROM self""")
_ANSWER_JOINED = said("""nested_answer: an aggregated subquery is joined to a table
    which rows count would depend on numbers that are known only once this question is answered
    aggregate on both sides of the join; ask the subquery first, and write its numbers out; \
    or group it by the column that names the person""")
_PUBLIC_COMPUTED = said("""nested_answer: private rows are joined to what is computed from public \
    tables
    a row meets at most one row of a public table, by its key, and of others that is not known
    join the public table itself, and put conditions on it in WHERE""")
_PERSONAL = said("""nested_answer: groups by a column that names people are computed with
    each group is one person's, or of those without a name, and none of them is shown
    group by the column that names the person in its own table, where it is never NULL""")
_WITH_TWICE = Refusal(
    "duplicate_name", "WITH gives one name twice", "it has to mean one thing", "rename one of them"
)
