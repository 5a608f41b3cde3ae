"""Questions about public tables alone: ordinary SQL, which costs nothing.

A public table stands for the answer of a question that groups by all of its columns. Its key tells
its rows apart, so that the groups of that question are its rows, and all that can be computed from
answers can be computed from them.
"""

from sqlglot import exp

from discreet.plan.expressions import Column
from discreet.plan.query import Query
from discreet.plan.relations import Named, Scan
from discreet.plan.released_tables import AnswerTable
from discreet.plan.schema import EachRow, PublicTable, Schema, Table
from discreet.sql.reader.from_clause import RelationReader
from discreet.sql.reader.joins import Public
from discreet.sql.reader.names import NamedRelation
from discreet.sql.reader.released_values import Answer
from discreet.sql.reader.syntax import Node, Word


class PublicReader(RelationReader):
    """Reads a statement against public tables, each of which is an answer."""

    def _table(self, word: Word, alias: Word | None) -> NamedRelation | Public | Answer:
        found = super()._table(word, alias)
        return _as_answer(found) if isinstance(found, Public) else found


def public_part(tree: Node, schema: Schema) -> Schema | None:
    """The public tables, where a statement names no others and at least one; else None."""
    given = {one.alias.lower() for one in tree.find_all(exp.CTE)}
    used = {one.name.lower() for one in tree.find_all(exp.Table)} - given
    public = {name: one for name, one in schema.tables.items() if isinstance(one, PublicTable)}
    return Schema(public) if used and used <= {name.lower() for name in public} else None


def _as_answer(found: Public) -> Answer:
    table = found.table
    rows = Scan(Table(table.name, table.columns, EachRow()))
    query = Query(rows, tuple(Named(name, Column(name)) for name in table.columns), ())
    then = AnswerTable.of(0, query)
    stored = Query(rows, query.keys, (), then=then)
    return Answer(stored, found.columns[0].source, tuple(table.columns))
