"""An analyst's text as a syntax tree, and a record of what of it has been read.

Guarantee: a statement is accepted only if every part of its tree was asked for by name with `part`,
and every word of its text is in the tree or in the list of words that carry no meaning of their
own. A clause that the reader does not know can therefore not be lost; it is refused, with its
place.

Why: parsers are generous. sqlglot reads `0x1F` as `0 AS x1F`, `VARCHAR(10)` as VARCHAR and
`x NOT LIKE y` as LIKE with a flag. A reader that walks the tree and takes what it knows would
answer another question.

Names: which column of which source a word means, and whose rows it can name. A column can
*identify* people: equal values of two such columns belong to the same person. The column of the
unit does; so does a key that a path of the schema leads through, since it names one row, and that
row has one owner. Joins and groups per person are read off these facts and nothing else.
"""

import datetime as dt
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeAlias, TypeVar

from sqlglot import exp

from discreet.errors import InputError, QueryRefused
from discreet.plan.expressions import Column, Expression
from discreet.plan.relations import FilterRows, Relation, Scan, columns_of
from discreet.plan.schema import KeyPath, Person, Schema, Table
from discreet.sql.reader.refusals import CLAUSES, Refusal, said

Node: TypeAlias = exp.Expr
Place: TypeAlias = tuple[int, int]
T = TypeVar("T")

LARGEST = 5_000
"""Expressions of more nodes than this, once aliases are put in their places, are refused."""

MOST_LOOKED_AT = 1 << 16
"""Parts of expressions that are looked at while a text is read, repeatedly or not: some 0.7 s."""


class Syntax:
    """One statement: its text, its tree, and which parts of the tree have been read.

    `now` is the public time at which it is asked, in UTC, to the second. `gone` are the places of
    words that were read before there was a tree, and stand in none.
    """

    def __init__(
        self,
        text: str,
        tree: Node,
        spots: Mapping[str, list[Place]] | None = None,
        now: dt.datetime | None = None,
        gone: AbstractSet[int] = frozenset(),
    ) -> None:
        self.text = text
        self.gone = gone
        moment = now or dt.datetime.now(dt.UTC)
        self.now = moment.replace(microsecond=0, tzinfo=None)
        self.tree = tree
        self._spots = spots or {}
        self._read: set[tuple[int, str]] = set()
        self._origins: dict[int, tuple[Expression, Node]] = {}
        self._looked_at = 0
        self._kept: list[Node] = []
        self.answers: dict[int, tuple[Node, Any]] = {}  # subqueries that have been read
        self.spread: list[Relation] = []  # people whose rows are read in their place

    def part(self, node: Node, *path: str) -> Any:
        """A part of a node, or a part of that; what is passed counts as read from now on."""
        found: Any = node
        for name in path:
            if found is None:
                break
            self._read.add((id(found), name))
            found = found.args.get(name)
        return found

    def parts(self, node: Node, name: str) -> list[Node]:
        """A part that is a list."""
        return list(self.part(node, name) or ())

    def expect(self, node: Node, name: str, value: object) -> None:
        """Read a flag that has to have this value, because only then the meaning is ours."""
        if self.part(node, name) != value:
            raise self.refuse_clause(node, name)

    def word(self, identifier: Node) -> "Word":
        """A name as it was typed."""
        if not isinstance(identifier, exp.Identifier):
            raise self.refuse(
                identifier, Refusal("syntax", "something stands where a name belongs")
            )
        quoted = bool(self.part(identifier, "quoted"))
        return Word(str(self.part(identifier, "this")), quoted, identifier)

    def finish(self, tree: Node | None = None) -> None:
        """Refuse the statement, or a `tree` made of parts of it, if some part was not read."""
        for node in (tree or self.tree).walk():
            for name, value in node.args.items():
                if value not in (None, False, []) and (id(node), name) not in self._read:
                    raise self.refuse_clause(node, name)

    def read_as(self, nodes: Iterable[Node], other: Node) -> None:
        """Take nodes as read by what was read in their place, which holds a copy of each."""
        self.finish(other)
        self._kept.append(other)  # so that no other node gets its id
        for part in (part for node in nodes for part in node.walk()):
            self._read.update((id(part), name) for name in part.args)

    def refuse_clause(self, node: Node, name: str) -> QueryRefused:
        """Refuse one part of a node."""
        value = node.args.get(name)
        first = value[0] if isinstance(value, list) and value else value
        known = CLAUSES.get((type(node).__name__, name)) or CLAUSES.get(("", name))
        label = type(node).__name__.upper()
        refusal = known or Refusal(
            "clause", f"{label} has a part that is not understood here: {name.strip('_').upper()}"
        )
        return self.refuse(first if isinstance(first, Node) else node, refusal)

    def refuse(self, node: Node | None, refusal: Refusal) -> QueryRefused:
        """A refusal of the part of the text that a node came from."""
        return refusal.at(*self.place(node))

    def blame(self, node: Node | None, error: InputError) -> QueryRefused:
        """A refusal by the plan, at the place in the text."""
        return self.refuse(node, Refusal.of(error, "type"))

    def build(self, node: Node | None, make: Callable[..., T], *fields: object) -> T:
        """Something of the plan, or its refusal at the place of a node."""
        try:
            return make(*fields)
        except InputError as error:
            raise self.blame(node, error) from None

    def blame_word(self, word: str, error: InputError) -> QueryRefused:
        """A refusal by the plan, at the first place where a word stands, else as a whole."""
        place = (self._spots.get(word) or [(0, len(self.text))])[0]
        return Refusal.of(error, "too_slow").at(*place)

    def place(self, node: Node | None) -> Place:
        """The position of a node in the text; nodes without one take their parts'."""
        spots = self._spots.get(_UNMARKED.get(type(node).__name__, ""), [])
        if spots:
            return spots[0]
        while node is not None:
            marks = [
                (int(found.meta["start"]), int(found.meta["end"]) + 1)
                for found in node.walk()
                if "start" in found.meta
            ]
            if marks:
                start = min(mark[0] for mark in marks)
                return start, self._closed(start, max(mark[1] for mark in marks))
            node = node.parent
        return 0, len(self.text)

    def _closed(self, start: int, end: int) -> int:
        """The end, moved behind parentheses that were opened and not closed."""
        opened = self.text.count("(", start, end) - self.text.count(")", start, end)
        for at, sign in enumerate(self.text[end:], start=end + 1):
            if opened <= 0 or sign not in " \t\r\n)":
                break
            if sign == ")":
                opened, end = opened - 1, at
        return end

    def remember(self, expression: Expression, node: Node) -> Expression:
        """Keep the node that an expression came from, and refuse one that has grown too large."""
        if expression.size > LARGEST:
            raise self.refuse(node, TOO_LARGE)
        self.look_at(1, node)
        self._origins[id(expression)] = (expression, node)
        return expression

    def look_at(self, parts: int, node: Node) -> None:
        """Count parts of expressions that are looked at; a text that needs too many is refused."""
        self._looked_at += parts
        if self._looked_at > MOST_LOOKED_AT:
            raise self.refuse(node, TOO_MUCH)

    def origin(self, expression: Expression) -> Node | None:
        """The node that an expression came from."""
        known = self._origins.get(id(expression))
        return known[1] if known else None


TOO_LARGE = said(f"""too_large: an expression has more than {LARGEST} parts
    it would take an engine too long to plan
    compute parts of it in a subquery""")
TOO_MUCH = said("""too_large: the question has too many parts, once every name stands for what it \
    means
    it would take too long to read
    ask for fewer columns, or shorter expressions""")
_UNMARKED = {
    "Null": "NULL",
    "CurrentDate": "CURRENT_DATE",
    "CurrentTime": "CURRENT_TIME",
    "CurrentTimestamp": "CURRENT_TIMESTAMP",
    "Exists": "EXISTS",
    "TableSample": "TABLESAMPLE",
    "Lock": "FOR",
    "Into": "INTO",
    "Qualify": "QUALIFY",
    "Collate": "COLLATE",
}
"""Nodes without a mark of their own that are refused, and the word that they begin with."""


@dataclass(frozen=True, slots=True)
class Word:
    """A name as it was typed: unquoted it matches in any case, quoted it matches exactly."""

    text: str
    quoted: bool
    node: Node

    def names(self, name: str) -> bool:
        """Whether it means this name."""
        return self.text == name if self.quoted else self.text.lower() == name.lower()


def conjuncts(syntax: Syntax, node: Node, kind: type[exp.Expr]) -> Iterator[Node]:
    """The operands of a chain of AND or OR, in order, however long it is."""
    pending = [node]
    while pending:
        top = pending.pop()
        if isinstance(top, kind):
            pending += [syntax.part(top, "expression"), syntax.part(top, "this")]
        else:
            yield top


def is_null(node: Node) -> bool:
    """Whether a node is the word NULL, in brackets or not."""
    while isinstance(node, exp.Paren):
        node = node.this
    return isinstance(node, exp.Null)


def where_parts(syntax: Syntax, select: Node) -> list[Node]:
    """The conditions of WHERE."""
    where = syntax.part(select, "where", "this")
    return [] if where is None else list(conjuncts(syntax, where, exp.And))


def bare(syntax: Syntax, node: Node) -> Node:
    """A node without the parentheses around it."""
    while isinstance(node, exp.Paren):
        node = syntax.part(node, "this")
    return node


def order_parts(syntax: Syntax, order: Node | None) -> list[tuple[Node, bool, bool]]:
    """The parts of an ORDER BY: what, whether descending, whether NULL comes first."""
    flags = ("desc", "nulls_first")
    return [
        (syntax.part(part, "this"), *(bool(syntax.part(part, flag)) for flag in flags))
        for part in ([] if order is None else syntax.parts(order, "expressions"))
    ]


Identity: TypeAlias = tuple[str, ...]
PERSON: Identity = ("person",)
"""The identity of the unit's own column; others are (table, key)."""

RESERVED = "_person"
"""The name under which engines keep the owner of a row; no column of a question may have it."""


@dataclass(frozen=True, slots=True)
class Visible:
    """A column that a question can name.

    `column` is its name in the plan. It may be NULL although its row has an owner where `absent` is
    true. `hidden` columns need their source's name (the right side of USING).
    """

    name: str
    column: str
    source: str
    identities: frozenset[Identity] = frozenset()
    absent: bool = False
    hidden: bool = False

    @property
    def owns(self) -> bool:
        """Whether a group of equal values belongs to one person."""
        return bool(self.identities) and not self.absent


@dataclass(frozen=True, slots=True)
class NamedRelation:
    """Private rows and the names of their columns."""

    relation: Relation
    columns: tuple[Visible, ...]


def copied(name: str, expression: Expression, known: Mapping[str, Visible]) -> Visible:
    """A new column; a plain copy of an old one identifies the same people."""
    old = known.get(expression.name) if isinstance(expression, Column) else None
    return Visible(name, name, "", *((old.identities, old.absent) if old else ()))


def identities(schema: Schema, table: Table, column: str) -> frozenset[Identity]:
    """The units that the values of a stored column identify."""
    found: set[Identity] = set()
    match table.unit:
        case Person(name) if name == column:
            found.add(PERSON)
        case KeyPath(name, target, key) if name == column:
            found.add((target, key))
            owner = schema.tables[target]
            if isinstance(owner, Table) and owner.unit == Person(key):
                found.add(PERSON)
    for other in schema.tables.values():
        if isinstance(other, Table) and isinstance(other.unit, KeyPath):
            hop = other.unit
            found |= {(hop.table, hop.key)} & {(table.name, column)}
    return frozenset(found)


def scan_columns(schema: Schema, table: Table, source: str) -> tuple[Visible, ...]:
    """The columns of a stored table, as a question sees them."""
    leads = None if not isinstance(table.unit, Person | KeyPath) else table.unit.column
    return tuple(
        Visible(
            name,
            name,
            source,
            identities(schema, table, name),
            absent=name != leads and of.nullable,
        )
        for name, of in table.columns.items()
    )


def row_columns(schema: Schema, rows: Relation) -> tuple[Visible, ...]:
    """The columns of rows that are the table self; those of one table identify whom they did."""
    below = rows
    while isinstance(below, FilterRows):
        below = below.input
    if isinstance(below, Scan):
        return scan_columns(schema, below.table, "self")
    return tuple(Visible(name, name, "self") for name in columns_of(rows))


def resolve(syntax: Syntax, node: exp.Column, columns: Sequence[Visible]) -> Visible:
    """The one column that a name means."""
    found, word, table = lookup(syntax, node, columns)
    if len(found) == 1:
        return found[0]
    if found:
        where = sorted({f"{c.source}.{c.name}" for c in found})
        what = Refusal(
            "ambiguous_column",
            f"{word.text} could be {' or '.join(where)}",
            "a name has to mean one column",
            "put the table's name before it, or quote it",
        )
        raise syntax.refuse(node, what)
    raise _unknown(syntax, word, table, columns)


AGGREGATES = (exp.AggFunc, exp.Filter, exp.WithinGroup)


def has_aggregate(node: Node) -> bool:
    """Whether an aggregate of rows stands anywhere in an expression, outside of subqueries."""
    found = node.walk(prune=lambda part: isinstance(part, exp.Query))
    return any(isinstance(part, AGGREGATES) and not is_windowed(part) for part in found)


def is_windowed(node: Node) -> bool:
    """Whether a function is what a window computes, and no aggregate."""
    above = node.parent
    if isinstance(above, exp.Filter | exp.IgnoreNulls | exp.RespectNulls) and node is above.this:
        return is_windowed(above)
    return isinstance(above, exp.Window) and node is above.this


def names_one(syntax: Syntax, node: exp.Column, columns: Sequence[Visible]) -> bool:
    """Whether a name means a column among these."""
    return bool(lookup(syntax, node, columns)[0])


def lookup(
    syntax: Syntax, node: exp.Column, columns: Sequence[Visible]
) -> tuple[list[Visible], Word, Word | None]:
    """All columns that a name could mean."""
    word = column_word(syntax, node)
    qualifier = syntax.part(node, "table")
    if qualifier is None:
        return [c for c in columns if not c.hidden and word.names(c.name)], word, None
    table = syntax.word(qualifier)
    within = [c for c in columns if table.names(c.source)]
    return [c for c in within if word.names(c.name)], word, table


def column_word(syntax: Syntax, node: exp.Column) -> Word:
    """The last word of a column's name."""
    this = syntax.part(node, "this")
    if isinstance(this, exp.Star):
        raise syntax.refuse(node, _STAR)
    return syntax.word(this)


def bare_word(syntax: Syntax, node: Node) -> Word | None:
    """The word, if a node is a column's name and nothing else."""
    if not isinstance(node, exp.Column) or any(
        node.args.get(p) for p in ("table", "db", "catalog")
    ):
        return None
    return None if isinstance(node.this, exp.Star) else column_word(syntax, node)


def nearest(word: str, names: Iterable[str]) -> str | None:
    """The name that a typing error may have meant."""
    known = {name.lower(): name for name in names}
    close = get_close_matches(word.lower(), known, n=1, cutoff=0.6)
    return known[close[0]] if close else None


def fresh(name: str, taken: set[str]) -> str:
    """A name that is not taken in any case, as engines compare them; it is taken now."""
    candidate, number = name, 1
    while candidate.lower() in taken:
        number += 1
        candidate = f"{name}_{number}"
    taken.add(candidate.lower())
    return candidate


def check_name(syntax: Syntax, name: str, node: Node | None) -> str:
    """Refuse a name that engines use themselves."""
    if name.lower() != RESERVED and name.strip() and "\0" not in name:
        return name
    what = Refusal(
        "name", "a column is given a name that is not free", "it has another use", "choose another"
    )
    raise syntax.refuse(node, what)


def _unknown(
    syntax: Syntax, word: Word, table: Word | None, columns: Sequence[Visible]
) -> QueryRefused:
    sources = list(dict.fromkeys(c.source for c in columns))
    if table is not None and not any(map(table.names, sources)):
        what = Refusal(
            "unknown_table",
            f"nothing in FROM is called {table.text}",
            f"it holds {', '.join(sources)}",
            _instead(nearest(table.text, sources), "use one of these names"),
        )
        return syntax.refuse(table.node, what)
    names = [c.name for c in columns if table is None or table.names(c.source)]
    listed, asked = ", ".join(dict.fromkeys(names)), word.text.lower()
    parts = (name for name in names if asked in re.split(r"\W+", name.lower()))  # education-num
    what = Refusal(
        "unknown_column",
        f"there is no column {word.text}",
        f"the columns here are {listed}",
        _instead(
            next(parts, None) or nearest(word.text, names),
            "name one of them; texts stand in 'single quotes'"
            if table is None
            else "name one of them",
        ),
    )
    return syntax.refuse(word.node, what)


def _instead(close: str | None, otherwise: str) -> str:
    return otherwise if close is None else f"write {quoted(close)}, if that is meant"


def quoted(name: str) -> str:
    """A name as SQL reads it: in double quotes unless it is a plain word.

    Example:
        >>> quoted("age"), quoted("marital-status")
        ('age', '"marital-status"')
    """
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)
    return name if plain else '"' + name.replace('"', '""') + '"'


_STAR = said("""row_output: * stands where one value belongs
    name a column, or use COUNT(*)""")
