"""Questions built in Python that come from strangers: read strictly, or refused.

A plan in text form names classes and fields. In a process of one's own that is trusted; from a
network it is not: a forged table, a text where a number belongs, or a join that the SQL reader
would never write could each break a promise. So only the nodes that the fluent interface makes are
read, every field is checked against its declared type, and what was read must write the very text
that came in, with each table as the owner described it. Relations check themselves when they are
built: each keeps people apart, whoever writes it (`discreet.plan.relations`).
"""

import dataclasses
import datetime as dt
import json
import math
import re
import types
import typing
from enum import Enum
from fractions import Fraction
from typing import Any, Final

from discreet.curator.ledger.orders import encodes
from discreet.errors import DiscreetError, InputError
from discreet.plan import canonical, query, summaries
from discreet.plan import expressions as ex
from discreet.plan import relations as rel
from discreet.plan import released_tables as tables
from discreet.plan.kinds import Kind
from discreet.plan.query import Query, questions_in
from discreet.plan.schema import Limits, PublicTable, Schema, Table

_NODES: Final = {
    canonical.tag(one): one
    for one in (
        *(Query, query.Aggregate, query.SortKey, Limits),
        *(rel.Named, rel.Scan, rel.FilterRows, rel.Project, rel.Union, rel.JoinPublic),
        *(rel.JoinPerson, rel.MatchPublic, rel.MatchPerson, rel.PersonWindow, rel.PerPerson),
        *(summaries.RowOrder, summaries.PersonAggregate, summaries.WindowColumn),
        *(ex.Literal, ex.Column, ex.Call, ex.Case, ex.Cast, ex.IsIn, ex.Like, ex.Truncate),
        *(tables.AnswerTable, tables.ComputedTable, tables.FilteredTable, tables.WindowedTable),
        *(tables.AnswerWindow, tables.RegroupedTable, tables.JoinedTables, tables.StackedTables),
        *(tables.SortedTable, tables.PublicRows, tables.ConstantRows),
    )
}
_ENUMS: Final = {
    canonical.tag(one): one
    for one in (
        *(ex.Function, ex.Unit, Kind, query.AggregateFunction, rel.Keep, summaries.Summary),
        *(tables.AnswerWindowFunction, tables.JoinKind),
        summaries.WindowFunction,
    )
}
_FRACTION: Final = re.compile(r"-?[0-9]{1,400}(/[0-9]{1,400})?")
_DEEPEST: Final = 400


def read_plan(text: str, schema: Schema) -> Query:
    """The question that `canonical.write` wrote, against what may be asked about.

    Edge cases: a table that is not in the schema, or is described otherwise there, is refused in
    the same words.
    """
    try:
        facts = json.loads(text)
        _check_text(facts, 0)
        found = canonical.read(text, schema)
        _check_form(found, facts)
        schema.check_same_people(table.name for table in found.tables)
    except DiscreetError:
        raise
    except Exception:  # noqa: BLE001 - whatever odd parts make a reader stumble is a refusal
        raise _refused("it is no question that the fluent interface builds") from None
    return found


def _check_form(asked: Query, facts: Any) -> None:
    if not _fits(asked, Query):
        raise _refused("a part of it is not of the right kind")
    if any(one.sets != (tuple(range(len(one.keys))),) for one in questions_in(asked)):
        raise _refused("it has grouping sets, which only SQL can ask for")
    if canonical.write(asked) != json.dumps(facts, sort_keys=True, separators=(",", ":")):
        raise _refused("it is not in the form that the client writes")


def _check_text(value: Any, depth: int) -> None:
    """Refuse, before anything is built, other nodes than ours and numbers of a million digits."""
    if depth > _DEEPEST:
        raise _refused("it is nested too deep")
    match value:
        case {"use": _} | {"shared": _}:
            # Parts that refer to one another could stand for a text without end.
            raise _refused("it has parts that only SQL can ask for")
        case {"node": name} if name not in _NODES:
            raise _refused("it has parts that only SQL can ask for")
        case {"enum": name} if name not in _ENUMS:
            raise _refused("it has parts that only SQL can ask for")
        case {"fraction": number} if not (isinstance(number, str) and _FRACTION.fullmatch(number)):
            raise _refused("a number in it cannot be read")
        case int() if not isinstance(value, bool) and not -(1 << 63) <= value < 1 << 63:
            raise _refused("a number in it has more than 64 bits")
        case dict():
            for part in value.values():
                _check_text(part, depth + 1)
        case list():
            for part in value:
                _check_text(part, depth + 1)


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of its declared type, all the way down."""
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin in {typing.Union, types.UnionType}:
        return any(_fits(value, one) for one in inside)
    if origin is tuple:
        if len(inside) == 2 and inside[1] is Ellipsis:
            return type(value) is tuple and all(_fits(part, inside[0]) for part in value)
        fits = type(value) is tuple and len(value) == len(inside)
        return fits and all(_fits(*pair) for pair in zip(value, inside, strict=True))
    if hint is None or hint is types.NoneType:
        return value is None
    return type(value) is hint and _holds(value)


def _holds(value: Any) -> bool:
    """Whether the fields of a node, or the value itself, are what they have to be."""
    match value:
        case float():
            return math.isfinite(value)
        case str():
            return "\0" not in value and encodes(value)
        case dt.datetime():
            return value.tzinfo is None
        case bool() | int() | Fraction() | Enum() | dt.date() | Table() | PublicTable():
            return True
    hints = typing.get_type_hints(type(value), localns=vars(tables))
    fields = [one.name for one in dataclasses.fields(value) if one.init]
    return all(_fits(getattr(value, name), hints[name]) for name in fields)


def _refused(why: str) -> InputError:
    return InputError(
        "a question in Python cannot be read",
        why=why,
        fix="build it with curator.table(...), or ask it in SQL",
    )
