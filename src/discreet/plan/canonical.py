"""A question as text that means the same for ever: for digests, the ledger, and finishing later.

The text is JSON with sorted keys. Nodes are written with a tag and their fields; tables by name and
a digest of what the owner said about them, so that a question is only read back against the
schema it was asked of.

A question of more than `WRITTEN_OUT` parts that reads a subquery repeatedly has that subquery
once: the text is {"shared": [...], "question": ...}, and {"use": i} stands for the i-th.
"""

import dataclasses
import datetime as dt
import hashlib
import json
from collections.abc import Mapping, Sequence
from enum import Enum
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final

from discreet.errors import InputError
from discreet.plan import expressions, kinds, query, relations, summaries
from discreet.plan import released_tables as released
from discreet.plan import schema as schemas
from discreet.plan.expressions import SIZE, remember
from discreet.plan.query import Query
from discreet.plan.relations import nodes_of
from discreet.plan.schema import PublicTable, Schema, Table
from discreet.rationals import read_exact

WRITTEN_OUT = 1 << 10
"""Parts; smaller questions are written as a tree, whatever they share."""

_NODES: Final[Mapping[str, type]] = MappingProxyType(
    {
        "Function": expressions.Function,
        "Unit": expressions.Unit,
        "Literal": expressions.Literal,
        "Column": expressions.Column,
        "Call": expressions.Call,
        "Case": expressions.Case,
        "Cast": expressions.Cast,
        "IsIn": expressions.IsIn,
        "Like": expressions.Like,
        "Truncate": expressions.Truncate,
        "Kind": kinds.Kind,
        "Range": kinds.Range,
        "Type": kinds.Type,
        "Measure": query.AggregateFunction,
        "Aggregate": query.Aggregate,
        "Order": query.SortKey,
        "Query": query.Query,
        "Named": relations.Named,
        "Scan": relations.Scan,
        "Filter": relations.FilterRows,
        "Project": relations.Project,
        "Keep": relations.Keep,
        "JoinPublic": relations.JoinPublic,
        "JoinPerson": relations.JoinPerson,
        "MatchPublic": relations.MatchPublic,
        "MatchPerson": relations.MatchPerson,
        "RowOrder": summaries.RowOrder,
        "WindowFunction": summaries.WindowFunction,
        "WindowColumn": summaries.WindowColumn,
        "PersonWindow": relations.PersonWindow,
        "Summary": summaries.Summary,
        "PersonAggregate": summaries.PersonAggregate,
        "PerPerson": relations.PerPerson,
        "Union": relations.Union,
        "Person": schemas.Person,
        "PersonPeriod": schemas.PersonPeriod,
        "Path": schemas.KeyPath,
        "EachRow": schemas.EachRow,
        "Limits": schemas.Limits,
        "AnswerWindowFunction": released.AnswerWindowFunction,
        "AnswerWindow": released.AnswerWindow,
        "AnswerTable": released.AnswerTable,
        "PublicRows": released.PublicRows,
        "ConstantRows": released.ConstantRows,
        "ComputedTable": released.ComputedTable,
        "FilteredTable": released.FilteredTable,
        "WindowedTable": released.WindowedTable,
        "RegroupedTable": released.RegroupedTable,
        "JoinKind": released.JoinKind,
        "JoinedTables": released.JoinedTables,
        "StackedTables": released.StackedTables,
        "SortedTable": released.SortedTable,
    }
)
"""The tag under which values of each class are stored. Tags never change; classes may."""

_TAGS: Final[Mapping[type, str]] = MappingProxyType({kind: tag for tag, kind in _NODES.items()})


def tag(kind: type) -> str:
    """The tag of a class; KeyError if values of it are not stored."""
    return _TAGS[kind]


@remember(512, SIZE)
def write(question: Query) -> str:
    """The canonical text of a question: the same for the same plan, whatever SQL it came from."""
    shared: list[Any] = []
    places: dict[int, int] = {}
    if question.relation.facts.size > WRITTEN_OUT:
        order, repeated = nodes_of(question.relation)
        for node in (node for node in order if id(node) in repeated):
            shared.append(plain(node, places))
            places[id(node)] = len(shared) - 1
    text = plain(question, places)
    whole = {"shared": shared, "question": text} if shared else text
    return json.dumps(whole, sort_keys=True, separators=(",", ":"))


def read(text: str, schema: Schema) -> Query:
    """The question that `write` wrote, against the schema it was asked of."""
    facts, known = json.loads(text), list[Any]()
    if isinstance(facts, dict) and facts.keys() == {"shared", "question"}:
        for one in facts["shared"]:
            known.append(read_plain(one, schema, known))
        facts = facts["question"]
    found = read_plain(facts, schema, known)
    if not isinstance(found, Query):
        raise _foreign("it is no question")
    return found


@remember(256)
def table_digest(table: Table | PublicTable) -> str:
    """A digest of everything the owner said about a table."""
    facts = {f.name: plain(getattr(table, f.name)) for f in dataclasses.fields(table)}
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def plain(
    value: Any, places: Mapping[int, int] = MappingProxyType({}), tags: Mapping[type, str] = _TAGS
) -> Any:
    """A value as JSON; what has a place among the shared relations is written as that.

    Questions have the tags that are stored; what is only sent may have others.
    """
    if type(value) in _SCALARS:
        return value
    if id(value) in places:
        return {"use": places[id(value)]}
    match value:
        case Table() | PublicTable():
            return {"table": value.name, "digest": table_digest(value)}
        case Enum():
            return {"enum": tags[type(value)], "value": value.value}
        case Fraction():
            return {"fraction": str(value)}
        case dt.datetime() | dt.date():
            return {type(value).__name__: value.isoformat()}
        case float():
            return {"float": value.hex()}
        case tuple() | list():
            return [plain(part, places, tags) for part in value]
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            facts = {name: plain(getattr(value, name), places, tags) for name in _written(value)}
            return {"node": tags[type(value)], **facts}
        case Mapping() | MappingProxyType():
            # Columns keep their order: UNION matches them by position.
            return {"mapping": [[key, plain(part, tags=tags)] for key, part in value.items()]}
    return value


_SCALARS: Final = frozenset({str, int, bool, type(None)})
"""Values that JSON holds as they are."""


def _written(node: Any) -> list[str]:
    """The fields that are written: all but derived ones, and younger ones that say nothing.

    So a question that was written before they were there is still the same question.
    """
    return [name for name, silent in _fields(type(node)) if getattr(node, name) != silent]


@remember(256)
def _fields(kind: type) -> list[tuple[str, Any]]:
    """The fields that may be written, each with the value that says nothing."""
    given = (one for one in dataclasses.fields(kind) if one.init)
    return [(one.name, one.default if "written" in one.metadata else _NEVER) for one in given]


_NEVER: Final = object()


def read_plain(
    value: Any, schema: Schema, known: Sequence[Any] = (), nodes: Mapping[str, type] = _NODES
) -> Any:
    """The value that `plain` wrote with the tags of these nodes."""
    match value:
        case {"use": place}:
            return known[place]
        case {"table": name, "digest": digest}:
            table = schema.tables.get(name)
            if table is None or table_digest(table) != digest:
                raise _foreign(f"what is said about {name} has changed since")
            return table
        case {"enum": name, "value": member}:
            return nodes[name](member)
        case {"fraction": text}:
            return read_exact(text)
        case {"datetime": text}:
            return dt.datetime.fromisoformat(text)
        case {"date": text}:
            return dt.date.fromisoformat(text)
        case {"float": text}:
            return float.fromhex(text)
        case {"mapping": pairs}:
            return {key: read_plain(part, schema, known, nodes) for key, part in pairs}
        case {"node": name, **facts}:
            if facts.get("only_possible", True) is not True:
                raise _foreign("only_possible is not true, and it is only ever stored as that")
            read = (
                (str(key), read_plain(part, schema, known, nodes)) for key, part in facts.items()
            )
            return nodes[name](**dict(read))
        case list():
            return tuple(read_plain(part, schema, known, nodes) for part in value)
    return value


def _foreign(why: str) -> InputError:
    return InputError(
        "a stored question cannot be read",
        why=why,
        fix="read it with the version that wrote it, or a later one; or ask it again in SQL",
    )
