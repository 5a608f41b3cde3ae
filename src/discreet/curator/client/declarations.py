"""Declarations of data as plain JSON; reading trusts nothing."""

import datetime as dt
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from discreet.curator.budget import Budget
from discreet.curator.client.wire import read_number, write_number
from discreet.curator.data import registry
from discreet.errors import InputError
from discreet.plan.schema import (
    Bounds,
    EachRow,
    KeyPath,
    Keys,
    Limits,
    Person,
    PersonPeriod,
    Schema,
    Unit,
)
from discreet.privacy import Neighbours
from discreet.rationals import Real

if TYPE_CHECKING:
    from discreet.curator.curator import Curator
    from discreet.curator.roles import AnalystView

_DAY: Final = len("2024-12-31")


def write_schema(seen: "Curator | AnalystView") -> dict[str, Any]:
    """All tables in sight; nothing about where their rows are."""
    datasets, tables = seen.datasets(), seen.schema.tables
    whose = {table: name for name, members in datasets.items() for table in members}
    return {
        "neighbours": seen.neighbours.value,
        "datasets": datasets,
        "retired": seen.retired(),
        "tables": {
            name: registry.table_facts(table, whose.get(name)) for name, table in tables.items()
        },
    }


def read_schema(facts: Mapping[str, Any]) -> tuple[Schema, dict[str, list[str]], Neighbours]:
    """The tables, datasets and neighbours that `write_schema` wrote."""
    tables = {name: registry.read_table(one) for name, one in facts["tables"].items()}
    return Schema(tables), dict(facts["datasets"]), Neighbours(facts["neighbours"])


def write_unit(unit: str | Unit) -> Any:
    """The privacy unit as JSON."""
    match unit:
        case str() | Person():
            return unit if isinstance(unit, str) else unit.column
        case KeyPath(column, table, key):
            return {"column": column, "table": table, "key": key}
        case PersonPeriod(column, period, every):
            return {"column": column, "period": period, "every": every}
        case EachRow():
            return {"each_row": True}


def read_unit(facts: object) -> str | Unit:
    """The unit that `write_unit` wrote."""
    match facts:
        case str():
            return facts
        case {"column": str(column), "table": str(table), "key": str(key)}:
            return KeyPath(column, table, key)
        case {"column": str(column), "period": str(period), "every": str(every)}:
            return PersonPeriod(column, period, every)
        case {"each_row": True}:
            return EachRow()
    raise InputError(
        "unit cannot be read",
        why="it is the person's column, a key path, a person in a period, or each row by itself",
        fix='pass "patient", {"column": ..., "table": ..., "key": ...}, {"column": ..., "period": '
        '..., "every": "day"} or {"each_row": true}',
    )


def read_limits(facts: Mapping[str, Any] | None) -> Limits:
    """How much of one person an answer may hold."""
    said = facts or {}
    return Limits(said.get("max_groups"), said.get("max_rows"))


def write_budget(budget: Budget) -> dict[str, str]:
    """A budget."""
    facts = {
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "rho": budget.rho,
        "measure": budget.measure,
    }
    return {name: str(value) for name, value in facts.items() if value is not None}


def read_budget(facts: Mapping[str, Any]) -> Budget:
    """The budget that `write_budget` wrote."""
    epsilon, delta, rho = (
        None if facts.get(name) is None else read_number(facts[name], name)
        for name in ("epsilon", "delta", "rho")
    )
    return Budget(epsilon, delta or 0, rho=rho, measure=facts.get("measure"))


def write_columns(columns: Mapping[str, Bounds | Keys]) -> dict[str, Any]:
    """Column declarations as JSON."""
    return {name: _write_column(said) for name, said in columns.items()}


def _write_column(said: Bounds | Keys) -> dict[str, Any]:
    if isinstance(said, Keys):
        return {"keys": [registry.write_key(key) for key in said.values]}
    ends = (said.low, said.high)
    return {
        "bounds": [
            registry.write_key(end) if isinstance(end, dt.date) else write_number(end, "a bound")
            for end in ends
        ]
    }


def read_columns(facts: Mapping[str, Any]) -> dict[str, Bounds | Keys]:
    """The columns that `write_columns` wrote; ends may also be dates as plain text."""
    return {name: _read_column(name, said) for name, said in facts.items()}


def _read_column(name: str, said: object) -> Bounds | Keys:
    match said:
        case {"bounds": [low, high]}:
            return Bounds(_read_end(low, name), _read_end(high, name))
        case {"keys": list(keys)}:
            return Keys([_read_value(key, name) for key in keys])
    raise InputError(
        f"what is said about {name} cannot be read",
        why="a column has two bounds or a list of keys",
        fix='pass {"bounds": [0, 120]} or {"keys": ["Austin", "Haifa"]}',
    )


def _read_end(end: object, name: str) -> Real | dt.date:
    if isinstance(end, str) and end[4:5] == "-" and end[:4].isdigit():
        return _read_moment(end, name)
    found = _read_value(end, name)
    return found if isinstance(found, dt.date) else read_number(found, f"a bound of {name}")


def _read_value(value: object, name: str) -> Any:
    match value:
        case {"date": str(text)} | {"datetime": str(text)}:
            return _read_moment(text, name)
        case str() | bool() | int() | float() | None:
            return value
    raise InputError(
        f"a value of {name} cannot be read",
        why="it is no text, number, truth value, date or time",
        fix='write dates as {"date": "2024-12-31"}',
    )


def _read_moment(text: str, name: str) -> dt.date:
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"a value of {name} is no date",
            why="dates are written as 2024-12-31, times as 2024-12-31T23:59:00",
            fix="write it like that",
        ) from None
    return moment if len(text) > _DAY else moment.date()
