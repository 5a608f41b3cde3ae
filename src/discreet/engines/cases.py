"""The cases of `check_engine` and their expected answers: tables, poison values, stored answers.

The answers in `cases.json` were computed by the reference interpreter of the tests, which knows no
SQL; a test computes them again. No text holds the character 0, which some engines lack.
"""

import datetime as dt
import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

import pyarrow as pa

from discreet.engines.engine import ARROW
from discreet.plan.kinds import Kind, Range, Type
from discreet.plan.schema import EachRow, Limits, Person, PublicTable, Schema, Table

COLUMNS: Mapping[str, Type] = {
    "x": Type(Kind.REAL),
    "p": Type(Kind.REAL, range=Range(-3.5, 10)),
    "r": Type(Kind.REAL, nullable=False, range=Range(0, 1e300)),
    "n": Type(Kind.INTEGER),
    "q": Type(Kind.INTEGER, range=Range(0, 100)),
    "m": Type(Kind.INTEGER, nullable=False, range=Range(-(2**40), 2**40)),
    "b": Type(Kind.BOOLEAN, keys=(False, True, None)),
    "t": Type(Kind.TEXT),
    "k": Type(Kind.TEXT, keys=("Ab", "c'd", "", None)),
    "d": Type(Kind.DATE),
    "e": Type(Kind.DATE, range=Range(-400, 20000)),
    "s": Type(Kind.TIMESTAMP),
}
"""Free and bounded columns of every kind, with and without NULL."""

ODD = "we\"ird 'table' é"
CELLS = Table("cells", {"id": Type(Kind.INTEGER, nullable=False), **COLUMNS}, EachRow())
OWNED = Table("owned", {"who": Type(Kind.INTEGER), **COLUMNS}, Person("who"), Limits(40, 40))
MANY = Table(
    "many",
    {
        "who": Type(Kind.REAL),
        "x": Type(Kind.REAL, range=Range(-100, 100)),
        "at": Type(Kind.TIMESTAMP),
        "day": Type(Kind.DATE),
        "b": Type(Kind.BOOLEAN),
        "note": Type(Kind.TEXT),
    },
    Person("who"),
)
NAMED = Table(
    ODD,
    {"Who Is": Type(Kind.TEXT), 'na"me \\ é': Type(Kind.TEXT), "order": Type(Kind.INTEGER)},
    Person("Who Is"),
)
LABELS = PublicTable(
    "labels",
    {
        "code": Type(Kind.INTEGER, nullable=False),
        "name": Type(Kind.TEXT, keys=("x", "y", None)),
        "size": Type(Kind.REAL, range=Range(0, 9)),
    },
    ("code",),
)
SCHEMA = Schema({table.name: table for table in (CELLS, OWNED, MANY, NAMED, LABELS)})


@cache
def stored() -> Mapping[str, Any]:
    """The poison, and what has to come back."""
    text = resources.files("discreet.engines").joinpath("cases.json").read_text("utf-8")
    found: Mapping[str, Any] = json.loads(text)
    return found


def rows_of(name: str) -> list[dict[str, Any]]:
    """The rows that are stored behind a table, as values of Python."""
    match name:
        case "many":
            return [_one_of_many(i) for i in range(303)]
        case "labels":
            codes = [(0, "x", 1.5), (1, "y", None), (2, None, 99.0), (2**63 - 1, "y", 9.0)]
            return [dict(zip(LABELS.columns, row, strict=True)) for row in codes]
        case _ if name == ODD:
            odd = ["O'Brien", 'a"b', "back\\slash", "%_", "é", "e\u0301", "👨‍👩‍👧", "", "\n"]
            named = [(f"{one}{i % 3}", one, i) for i, one in enumerate(odd * 2)]
            return [dict(zip(NAMED.columns, row, strict=True)) for row in named]
    table, poison = SCHEMA.tables[name], stored()["rows"]
    rows = [dict(zip(poison, row, strict=True)) for row in zip(*poison.values(), strict=True)]
    return [
        {column: value_of(row[column], of.kind) for column, of in table.columns.items()}
        for row in rows
    ]


def arrow_of(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    """Rows as a table of Arrow."""
    columns = SCHEMA.tables[name].columns.items()
    return pa.table(
        {column: pa.array([row[column] for row in rows], ARROW[of.kind]) for column, of in columns}
    )


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    return value.isoformat() if isinstance(value, dt.date) else value


def value_of(plain: Any, kind: Kind) -> Any:
    """A value as it is, from how JSON has it."""
    if plain is None or not kind.is_time:
        return plain
    return (dt.date if kind is Kind.DATE else dt.datetime).fromisoformat(plain)


_BEFORE = dt.datetime(1969, 12, 31, 23, 59, 59, 999_000)  # noqa: DTZ001 - timestamps have no zone


def _one_of_many(i: int) -> dict[str, Any]:
    """One person has 300 rows, another three: more than a join keeps of anybody."""
    return {
        "who": 0.1 if i < 300 else -2.5e-300,
        "x": (i % 17) / 8 - 1 if i % 5 else -0.0,
        "at": _BEFORE + i * dt.timedelta(microseconds=777),
        "day": dt.date(1969, 12, 1) + dt.timedelta(days=i % 40),
        "b": (True, False, None)[i % 3],
        "note": ("a", "é", "", None, "a\x1f1:b")[i % 5],
    }
