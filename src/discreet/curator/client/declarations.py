"""Declarations of data as JSON, and in a YAML file that can be reviewed; reading trusts nothing."""

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import yaml

from discreet.curator.arguments import expect
from discreet.curator.budget import Budget
from discreet.curator.client.wire import read_number, write_number
from discreet.curator.data import table_json
from discreet.curator.data.load_report import LoadReport
from discreet.errors import InputError
from discreet.plan.kinds import Kind
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
    from discreet.curator.curator import AnalystView, Curator

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
            name: table_json.table_facts(table, whose.get(name)) for name, table in tables.items()
        },
    }


def read_schema(facts: Mapping[str, Any]) -> tuple[Schema, dict[str, list[str]], Neighbours]:
    """The tables, datasets and neighbours that `write_schema` wrote."""
    tables = {name: table_json.read_table(one) for name, one in facts["tables"].items()}
    return Schema(tables), dict(facts["datasets"]), Neighbours(facts["neighbours"])


def write_unit(unit: str | Unit) -> Any:
    """The privacy unit as JSON."""
    match unit:
        case str():
            return unit
        case Person(column):
            return column
        case EachRow():
            return {"each_row": True}
        case _:
            return asdict(unit)


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
        why="it is the person's column, a key path, a person in a period, or each row",
        fix='pass "patient", {"column": ..., "table": ..., "key": ...}, {"column": ..., "period": '
        '..., "every": "day"} or {"each_row": true}',
    )


def read_limits(facts: Mapping[str, Any] | None) -> Limits:
    """How much of one person an answer may hold."""
    said = facts or {}
    return Limits(said.get("max_groups"), said.get("max_rows"))


def write_budget(budget: Budget) -> dict[str, str]:
    """A budget."""
    expect(budget, Budget, "a budget", fix="pass Budget(epsilon=3, delta=1e-6)")
    return {name: str(value) for name, value in asdict(budget).items() if value is not None}


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
        return {"keys": [table_json.write_key(key) for key in said.values]}
    return {"bounds": [_write_end(end) for end in (said.low, said.high)]}


def _write_end(end: Real | dt.date) -> Any:
    return table_json.write_key(end) if isinstance(end, dt.date) else write_number(end, "a bound")


def read_columns(
    facts: Mapping[str, Any], kinds: Mapping[str, Kind] = MappingProxyType({})
) -> dict[str, Bounds | Keys]:
    """The columns that `write_columns` wrote; dates may be plain text, and keys texts of a kind."""
    return {name: _read_column(name, said, kinds.get(name)) for name, said in facts.items()}


def _read_column(name: str, said: object, kind: Kind | None) -> Bounds | Keys:
    match said:
        case {"bounds": [low, high], **other} if not other:
            return Bounds(_read_end(low, name), _read_end(high, name))
        case {"keys": list(keys), **other} if not other:
            return Keys([read_key(_read_value(key, name), kind, name) for key in keys])
    raise InputError(
        f"what is said about {name} cannot be read",
        why="a column has two bounds or a list of keys, and one of them says enough",
        fix='pass {"bounds": [0, 120]} or {"keys": ["Austin", "Haifa"]}',
    )


_TRUTH: Final = {"true": True, "yes": True, "false": False, "no": False}
_READERS: Final[dict[Kind, Callable[[str], Any]]] = {
    Kind.BOOLEAN: lambda word: _TRUTH[word.strip().lower()],
    Kind.INTEGER: int,
    Kind.REAL: float,
    Kind.DATE: dt.date.fromisoformat,
    Kind.TIMESTAMP: dt.datetime.fromisoformat,
}


def read_key(key: Any, kind: Kind | None, name: str) -> Any:
    """A key as its column holds it; forms and terminals have texts alone."""
    if not isinstance(key, str) or kind not in _READERS:
        return key
    try:
        return _READERS[kind](key)
    except (KeyError, ValueError):
        raise InputError(
            f"a key of {name} is no {kind.value}",
            why="keys are of the kind of their column",
            fix="list values of that kind",
        ) from None


def _read_end(end: object, name: str) -> Real | dt.date:
    if isinstance(end, str) and end[4:5] == "-" and end[:4].isdigit():
        return _read_moment(end, name)
    found = _read_value(end, name)
    return found if isinstance(found, dt.date) else read_number(found, f"a bound of {name}")


def _read_value(value: object, name: str) -> Any:
    match value:
        case {"date": str(text)} | {"datetime": str(text)}:
            return _read_moment(text, name)
        case str() | bool() | int() | float() | dt.date() | None:
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


# --- a file of YAML -------------------------------------------------------------------------------

_HEAD: Final = """\
# What is said about data. Analysts see names, kinds, bounds and keys of columns, so they have to be
# public knowledge: take out what is not, above all what is marked "from the data".
# Read with: discreet init --from FILE, or discreet add --from FILE
"""
_KNOWN: Final = frozenset(
    {"source", "source_table", "unit", "key", "budget", "dataset", "reading", "limits", "columns"}
)
_COLUMN: Final = frozenset({"kind", "bounds", "keys", "required"})


@dataclass(frozen=True, slots=True)
class TableDeclaration:
    """A table, where its rows are, and what is said about it."""

    name: str
    source: Path
    facts: Mapping[str, Any]

    def add_to(self, curator: "Curator") -> None:
        """Add the table, as private or, where it has a key, as public."""
        add = curator.add_public if "key" in self.facts else curator.add
        add(self.name, self.source, **self.facts)


def read_declarations(path: Path) -> list[TableDeclaration]:
    """The tables of a file; InputError where something in it is not understood."""
    try:
        said = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeError, yaml.YAMLError) as wrong:
        raise _wrong(path.name, f"it is no YAML ({type(wrong).__name__})") from None
    if not isinstance(said, dict) or not isinstance(said.get("tables"), dict) or not said["tables"]:
        raise _wrong(path.name, "it has no tables")
    if said.get("confirmed") is not True:
        raise InputError(
            f"nobody has confirmed what {path.name} says",
            why="analysts will see it, and parts of it may be taken from the data",
            fix="check that it is public knowledge, and write confirmed: true",
        )
    return [_table(str(name), one, path) for name, one in said["tables"].items()]


def _table(name: str, said: object, path: Path) -> TableDeclaration:
    if not isinstance(said, dict) or not isinstance(said.get("source"), str):
        raise _wrong(name, "a table has a source")
    _check_names(name, said, _KNOWN)
    columns = said.get("columns") or {}
    if not isinstance(columns, dict) or not all(isinstance(c, dict) for c in columns.values()):
        raise _wrong(name, "columns are a mapping of names to what is said of them")
    for column, one in columns.items():
        _check_names(f"{name}.{column}", one, _COLUMN)
    known = {
        str(column): {key: one[key] for key in ("bounds", "keys") if key in one}
        for column, one in columns.items()
        if {"bounds", "keys"} & set(one)
    }
    facts: dict[str, Any] = {
        "columns": read_columns(known),
        "kinds": {str(column): one["kind"] for column, one in columns.items() if "kind" in one},
        "reading": said.get("reading") or {},
        "source_table": said.get("source_table"),
    }
    source = (path.parent / Path(said["source"]).expanduser()).absolute()
    if "key" in said:
        return TableDeclaration(name, source, {**facts, "key": said["key"]})
    budget = said.get("budget")
    if not isinstance(budget, dict | None):
        raise _wrong(name, "a budget is {epsilon: 3, delta: 1e-6}")
    facts |= {
        "unit": read_unit(said.get("unit")),
        "budget": None if budget is None else read_budget(budget),
        "dataset": said.get("dataset"),
        "limits": read_limits(said.get("limits")),
        "required": [str(column) for column, one in columns.items() if one.get("required")],
    }
    return TableDeclaration(name, source, facts)


def _check_names(what: str, said: Mapping[Any, Any], known: frozenset[str]) -> None:
    if other := sorted(map(str, set(said) - known)):
        raise _wrong(what, f"{other[0]} is none of: {', '.join(sorted(known))}")


def _wrong(what: str, why: str) -> InputError:
    fix = "see discreet describe FILE --yaml for one that can be read"
    return InputError(f"what is said about {what} cannot be read", why=why, fix=fix)


def write_declarations(report: LoadReport, name: str, source: str) -> str:
    """A file that proposes what to say about a source; nothing of it is confirmed."""
    reading = report.reading.to_dict() if not report.typed else {}
    table = {"source": source, "unit": report.unit or "COLUMN"}
    table |= {"budget": {"epsilon": 3, "delta": "1e-6"}} | ({"reading": reading} if reading else {})
    lines = [f"{_HEAD}confirmed: false", "tables:", f"  {_flow(name)}:"]
    lines += [f"    {key}: {_flow(value)}" for key, value in table.items()]
    lines += [f"    # open: {question.text}" for question in report.questions]
    lines.append("    columns:")
    for one in report.columns:
        known: dict[str, Any] = one.to_dict()["known"] or {}
        if isinstance(one.known, Keys):
            known = {"keys": list(one.known.values)}
        origins = (("kind", one.kind_from), (next(iter(known), ""), one.known_from))
        taken = [what for what, origin in origins if origin == "data"]
        note = f"  # {' and '.join(taken)} from the data" if taken else ""
        lines.append(f"      {_flow(one.name)}: {_flow({'kind': one.kind.value, **known})}{note}")
    return "\n".join(lines) + "\n"


def _flow(value: Any) -> str:
    """A value in one line."""
    text: str = yaml.safe_dump(
        value, default_flow_style=True, sort_keys=False, width=float("inf"), allow_unicode=True
    )
    return text.removesuffix("\n").removesuffix("\n...")
