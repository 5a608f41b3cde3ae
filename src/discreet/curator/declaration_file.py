"""Declarations in a YAML file that can be reviewed and versioned."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from discreet.curator.budget import Budget
from discreet.curator.client import declarations
from discreet.curator.curator import Curator
from discreet.curator.data.load_report import LoadReport
from discreet.errors import InputError

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

    def add_to(self, curator: Curator) -> None:
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
        str(column): {key: _plain(one[key]) for key in ("bounds", "keys") if key in one}
        for column, one in columns.items()
        if {"bounds", "keys"} & set(one)
    }
    facts: dict[str, Any] = {
        "columns": declarations.read_columns(known),
        "kinds": {str(column): one["kind"] for column, one in columns.items() if "kind" in one},
        "reading": said.get("reading") or {},
        "source_table": said.get("source_table"),
    }
    source = (path.parent / Path(said["source"]).expanduser()).absolute()
    if "key" in said:
        return TableDeclaration(name, source, {**facts, "key": said["key"]})
    budget = said.get("budget")
    facts |= {
        "unit": declarations.read_unit(said.get("unit")),
        "budget": None if budget is None else _budget(name, budget),
        "dataset": said.get("dataset"),
        "limits": declarations.read_limits(said.get("limits")),
        "required": [str(column) for column, one in columns.items() if one.get("required")],
    }
    return TableDeclaration(name, source, facts)


def _budget(name: str, said: object) -> Budget:
    if not isinstance(said, dict):
        raise _wrong(name, "a budget is {epsilon: 3, delta: 1e-6}")
    return declarations.read_budget(said)


def _plain(value: Any) -> Any:
    """Dates of YAML as declarations have them."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dt.datetime):
        return {"datetime": value.isoformat()}
    return {"date": value.isoformat()} if isinstance(value, dt.date) else value


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
        known = {
            key: [_read(v) for v in values]
            for key, values in (one.to_dict()["known"] or {}).items()
        }
        taken = [
            what
            for what, origin in (("kind", one.kind_from), (next(iter(known), ""), one.known_from))
            if origin == "data"
        ]
        note = f"  # {' and '.join(taken)} from the data" if taken else ""
        lines.append(f"      {_flow(one.name)}: {_flow({'kind': one.kind.value, **known})}{note}")
    return "\n".join(lines) + "\n"


def _read(value: Any) -> Any:
    """Dates as YAML has them."""
    if isinstance(value, dict):
        [value] = value.values()
    return value


def _flow(value: Any) -> str:
    """A value in one line."""
    text: str = yaml.safe_dump(
        value, default_flow_style=True, sort_keys=False, width=float("inf"), allow_unicode=True
    )
    return text.removesuffix("\n").removesuffix("\n...")
