"""The plan of a release as people write it: in Python, or in a YAML file."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from discreet.curator.arguments import several
from discreet.errors import InputError
from discreet.rationals import Real, rational


@dataclass(frozen=True, slots=True)
class CensusPlan:
    """Tables, levels and price of a release: `spec` is plain JSON."""

    spec: Mapping[str, Any]

    @staticmethod
    def from_yaml(text: str) -> "CensusPlan":
        """Read a plan; the fields are the arguments of `releases`."""
        said = read_yaml(text)
        for name in _WHOLE & said.keys():
            said[name] = _wholes(said[name])
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
    as_of: int | None = None,
) -> CensusPlan:
    """Plan the release of many tables of a private `table` at all levels of a public geography.

    `tables` are the columns that each is grouped by, with names or without. `geography` is a public
    table whose columns `levels` are the levels from the top down; its key is the last of them, and
    a column of the private table. `top` names the level above them all. `shares` divides the price
    over levels. `invariants` are totals of one level that are public: they are published as stated.
    `as_of` is a version of the dataset, the newest if nothing is said.

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
        "shares": {k: _exact(v, k) for k, v in shares.items()}
        if isinstance(shares, Mapping)
        else shares,
        "invariants": invariants,
        "bins": bins,
        "max_rows": max_rows,
        "as_of": as_of,
    }
    return CensusPlan({name: one for name, one in said.items() if one is not None})


MOST: Final = 64 << 20
"""Characters of a plan in YAML."""

_WHOLE: Final = {"max_rows", "bins", "invariants", "as_of"}
_FIELDS: Final = (
    *("tables", "table", "epsilon", "delta", "geography", "levels", "top", "shares"),
    *("invariants", "bins", "max_rows", "as_of"),
)


def _exact(value: Any, name: str) -> str:
    """A number as exact text; texts are read where the order is."""
    return value if isinstance(value, str) else str(rational(value, name))


def _wholes(value: Any) -> Any:
    """Texts that are whole numbers as such; what is none is refused where the order is read."""
    if isinstance(value, dict):
        return {name: _wholes(one) for name, one in value.items()}
    is_number = isinstance(value, str) and value.isascii() and value.isdecimal()
    return int(value) if is_number and len(value) < 20 else value


def read_yaml(text: str) -> dict[str, Any]:
    r"""A mapping, or JSON, which is YAML too; InputError for anything else.

    It holds texts, lists and mappings alone, in which each name stands once; aliases, which can
    grow, are refused. Every value is the text it is written as: NO is Norway, and 1e-6 is exact.

    Example:
        >>> read_yaml("table: people\ntables: {all: [], no: [sex]}\nepsilon: 1e-1")
        {'table': 'people', 'tables': {'all': [], 'no': ['sex']}, 'epsilon': '1e-1'}
    """
    import yaml  # noqa: PLC0415 - for those who use it

    class Loader(yaml.BaseLoader):  # type: ignore[misc] # it has no types
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                raise yaml.YAMLError
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - the parent's
            found: dict[Any, Any] = super().construct_mapping(node, deep=deep)
            if len(found) < len(node.value):
                raise yaml.YAMLError
            return found

    said = None
    try:
        if len(text) <= MOST:
            said = yaml.load(text, Loader=Loader)  # noqa: S506 - it makes texts alone
    except (yaml.YAMLError, RecursionError, TypeError):  # a list is no name
        pass
    if isinstance(said, dict):
        return said
    raise InputError(
        "a plan that cannot be read",
        why="it is a YAML mapping in which each name stands once",
        fix="write table: people, tables: {total: []}, epsilon: 1",
    )
