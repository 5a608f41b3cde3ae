"""Names in a question: which column of which source a word means, and whose rows it can name.

A column can *identify* people: equal values of two such columns belong to the same person. The
column of the unit does; so does a key that a path of the schema leads through, since it names one
row, and that row has one owner. Joins and groups per person are read off these facts and nothing
else.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TypeAlias

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.plan.relations import FilterRows, Relation, Scan, columns_of
from discreet.plan.schema import KeyPath, Person, Schema, Table
from discreet.sql.reader.refusals import Refusal
from discreet.sql.reader.syntax import Node, Syntax, Word

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

    @property
    def source(self) -> str:
        """The name of the source."""
        return self.columns[0].source

    def known_as(self, source: str) -> "NamedRelation":
        """The same under the name of one source."""
        named = (replace(c, source=source, hidden=False) for c in self.columns)
        return NamedRelation(self.relation, tuple(named))


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
    listed = ", ".join(dict.fromkeys(names))
    what = Refusal(
        "unknown_column",
        f"there is no column {word.text}",
        f"the columns here are {listed}",
        _instead(
            nearest(word.text, names),
            "name one of them; texts stand in 'single quotes'"
            if table is None
            else "name one of them",
        ),
    )
    return syntax.refuse(word.node, what)


def _instead(close: str | None, otherwise: str) -> str:
    return otherwise if close is None else f"write {close}, if that is meant"


_STAR = Refusal(
    "row_output", "* stands where one value belongs", fix="name a column, or use COUNT(*)"
)
