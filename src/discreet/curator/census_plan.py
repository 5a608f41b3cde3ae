"""The plan of a release as people write it: in Python, or in a YAML file."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from discreet.curator.arguments import expect, several
from discreet.errors import InputError
from discreet.rationals import Real, rational

_NUMBERS: Final = ("epsilon", "delta")
_MOST_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class CensusPlan:
    """Which tables are released, at which levels, for which price: `spec` is plain JSON."""

    spec: Mapping[str, Any]

    @staticmethod
    def from_yaml(text: str) -> "CensusPlan":
        """Read a plan; the fields are the arguments of `releases`.

        Every value is read as the text it is written as, so that NO is Norway and 1e-6 a number.
        """
        try:
            said = yaml.load(text, Loader=_PlanLoader)  # noqa: S506 - it makes texts alone
        except (yaml.YAMLError, RecursionError):
            said = None
        if not isinstance(said, dict):
            raise InputError(
                "a plan that cannot be read",
                why="it is a YAML mapping in which each name stands once",
                fix="write table: people, tables: {total: []}, epsilon: 1",
            )
        numbers = {"max_rows": _whole, "bins": _wholes, "invariants": _wholes}
        said = {name: numbers.get(name, _same)(one) for name, one in said.items() if one != ""}
        try:
            return releases(**said)
        except TypeError:
            raise InputError(
                "a plan with a field that it does not have, or without one that it needs",
                why=f"its fields are {', '.join(_FIELDS)}",
                fix="say table, tables and epsilon at least",
            ) from None


def releases(
    tables: Mapping[str, Iterable[str]] | Iterable[Iterable[str]],
    *,
    table: str,
    epsilon: Real,
    delta: Real | None = None,
    geography: str | None = None,
    levels: Iterable[str] = (),
    top: str | None = None,
    shares: Mapping[str, Real] | None = None,
    invariants: Mapping[str, Any] | None = None,
    bins: int | Mapping[str, int] | None = None,
    max_rows: int | None = None,
) -> CensusPlan:
    """Plan the release of many tables of a private `table` at all levels of a public geography.

    `tables` are the columns that each is grouped by, with names or without. `geography` is a public
    table whose columns `levels` are the levels from the top down; its key is the last of them, and
    a column of the private table. `top` names the level above them all. `shares` divides the price
    over levels. `invariants` are totals of one level that are public: they are published as stated.

    Example:
        >>> plan = releases([[], ["sex", "age"]], table="people", epsilon=1, delta=1e-6)
        >>> plan.spec["tables"]
        [['all', []], ['sex_age', ['sex', 'age']]]
    """
    if isinstance(tables, Mapping):
        named = [[name, several(by, "columns")] for name, by in tables.items()]
    else:
        listed = [several(by, "columns") for by in several(tables, "tables")]  # type: ignore[arg-type]
        named = [["_".join(map(str, by)) or "all", by] for by in listed]
    said: dict[str, Any] = {
        "table": table,
        "tables": named,
        "epsilon": _exact(epsilon, "epsilon"),
        "delta": None if delta is None else _exact(delta, "delta"),
        "geography": geography,
        "levels": several(levels, "levels"),
        "top": top,
        "shares": None if shares is None else {k: _exact(v, k) for k, v in shares.items()},
        "invariants": invariants,
        "bins": bins,
        "max_rows": max_rows,
    }
    return CensusPlan({name: one for name, one in said.items() if one is not None})


_FIELDS: Final = (
    *("tables", "table", "epsilon", "delta", "geography", "levels", "top", "shares"),
    *("invariants", "bins", "max_rows"),
)


def _exact(value: Any, name: str) -> str:
    """A number as exact text; texts are read where the order is."""
    return value if isinstance(value, str) else str(rational(value, name))


def read_plan_file(path: Path) -> CensusPlan:
    """The plan in a YAML file (JSON is YAML too)."""
    with path.open("rb") as file:
        content = file.read(_MOST_BYTES + 1)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = ""
    expect(text, str, "a plan", fix="write YAML")
    return CensusPlan.from_yaml(text if len(content) <= _MOST_BYTES else "")


class _PlanLoader(yaml.BaseLoader):
    """Texts, lists and mappings in which each name stands once; no aliases, which can grow."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - the parent's
        found: dict[Any, Any] = super().construct_mapping(node, deep=deep)
        if len(found) < len(node.value):
            raise yaml.YAMLError
        return found


def _same(value: Any) -> Any:
    return value


def _whole(value: Any) -> Any:
    """A whole number where a text is one; what is none is refused where the order is read."""
    is_number = isinstance(value, str) and value.isascii() and value.isdecimal()
    return int(value) if is_number and len(value) < 20 else value


def _wholes(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _wholes(one) for name, one in value.items()}
    return _whole(value)
