"""Declarations of tables as plain JSON: what a folder keeps, and what clients are sent."""

import dataclasses
import datetime as dt
from collections.abc import Mapping
from typing import Any, get_args

from discreet.plan import canonical
from discreet.plan.kinds import Kind, Range, Type
from discreet.plan.schema import Limits, PublicTable, Table, Unit


def table_facts(table: Table | PublicTable, dataset: str | None) -> dict[str, Any]:
    """The declaration of a table as plain JSON, without the location of its rows."""
    columns = [
        {
            "name": name,
            "kind": of.kind.value,
            "nullable": of.nullable,
            "range": None if of.range is None else [of.range.low, of.range.high],
            "keys": None if of.keys is None else [write_key(key) for key in of.keys],
        }
        for name, of in table.columns.items()
    ]
    facts: dict[str, Any] = {"dataset": dataset, "columns": columns, "name": table.name}
    if isinstance(table, PublicTable):
        return {**facts, "key": list(table.key)}
    unit = {"kind": canonical.tag(type(table.unit)), **dataclasses.asdict(table.unit)}
    return {**facts, "unit": unit, "limits": dataclasses.asdict(table.limits)}


def read_table(facts: Mapping[str, Any]) -> Table | PublicTable:
    """The table that `table_facts` wrote."""
    columns = {column["name"]: _type(column) for column in facts["columns"]}
    if "key" in facts:
        return PublicTable(facts["name"], columns, tuple(facts["key"]))
    unit = dict(facts["unit"])
    kinds = {canonical.tag(kind): kind for kind in get_args(Unit)}
    made = kinds[unit.pop("kind")](**unit)
    return Table(facts["name"], columns, made, Limits(**facts["limits"]))


def _type(column: Mapping[str, Any]) -> Type:
    low_high = column["range"]
    keys = column["keys"]
    return Type(
        Kind(column["kind"]),
        column["nullable"],
        None if low_high is None else Range(*low_high),
        None if keys is None else tuple(read_key(key) for key in keys),
    )


def write_key(key: Any) -> Any:
    """A key as JSON has it: dates and times are marked."""
    if isinstance(key, str | bool | int | float) or key is None:
        return key
    return {type(key).__name__: key.isoformat()}


def read_key(key: Any) -> Any:
    """The key that `write_key` wrote."""
    match key:
        case {"date": text}:
            return dt.date.fromisoformat(text)
        case {"datetime": text}:
            return dt.datetime.fromisoformat(text)
    return key
