"""The plan of a release: as people write it, in Python or YAML, and as read against a schema."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, Final

from discreet.curator.arguments import read_fields, several
from discreet.curator.client.wire import read_number
from discreet.curator.orders.census.census_reading import CensusQuery
from discreet.curator.orders.drafted_orders import read_stored, read_table, stored_fields
from discreet.curator.orders.histogram_orders import columns_of, read_max_rows
from discreet.errors import InputError
from discreet.plan.kinds import Kind
from discreet.plan.schema import PublicTable, Schema, Table, distinct
from discreet.rationals import Real, positive, rational, whole
from discreet.workload.domain import BINS, Attribute


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
                why=f"its fields are {', '.join(FIELDS)}",
                fix="name at least table, tables and epsilon",
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
FIELDS: Final = (
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


# --- as it is read --------------------------------------------------------------------------------

COUNT: Final = "count"
"""The column of counts in every released table."""

_MOST_TABLES: Final = 1000
_MOST_CELLS: Final = 1 << 40
_MOST_PEOPLE: Final = 1 << 50
_LONGEST_NAME: Final = 100
_NAMES: Final = "names are letters, digits, _ and spaces, 100 bytes at most"


@dataclass(frozen=True)
class CensusFacts:
    """The content of a release: tables of a private table at each level of a public geography.

    `levels` are columns of the geography from the top down, the last one its key and a column of
    the private table; level 0, `top`, is everybody. `tables` are names and columns to group by.
    `shares` is the part of the price that each level has, from the top down. `invariants` are
    public totals of all units of one level: (the level, totals by unit).
    """

    table: Table
    geography: PublicTable | None
    levels: tuple[str, ...]
    top: str
    columns: tuple[Attribute, ...]
    tables: tuple[tuple[str, tuple[str, ...]], ...]
    max_rows: int
    shares: tuple[Fraction, ...]
    invariants: tuple[int, Mapping[str, int]] | None = None

    @property
    def level_names(self) -> tuple[str, ...]:
        """All levels, from the top down."""
        return (self.top, *self.levels)

    @property
    def read_tables(self) -> frozenset[str]:
        """The names of the private table and the geography."""
        places = [] if self.geography is None else [self.geography.name]
        return frozenset([self.table.name, *places])

    def cells(self, names: tuple[str, ...]) -> int:
        """How many cells one unit has in a table."""
        sizes = {one.name: one.size for one in self.columns}
        return math.prod(sizes[name] for name in names)

    @cached_property
    def query(self) -> CensusQuery:
        """How rows are read."""
        leaf = self.levels[-1] if self.levels else None
        return CensusQuery(self.table, leaf, self.columns, self.max_rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON with tags that never change."""
        return stored_fields(self)

    @staticmethod
    def from_dict(stored: Mapping[str, Any], schema: Schema) -> "CensusFacts":
        """Read what `to_dict` wrote, against the tables as they are described."""
        places = {PublicTable: partial(_geography, schema=schema)}
        return read_stored(CensusFacts, stored, schema, places)


def read_facts(said: Mapping[str, Any], schema: Schema) -> CensusFacts:
    """Read an untrusted request against the schema."""
    table = read_table(said["table"], schema)
    geography = _geography(said.get("geography"), schema)
    levels = tuple(several(said.get("levels") or (), "levels"))
    top = said.get("top") or "nation"
    _check_levels(table, geography, (top, *levels))
    tables = tuple((name, tuple(several(by, "columns"))) for name, by in said["tables"])
    columns = _columns(table, tables, levels, said.get("bins", BINS))
    facts = CensusFacts(
        table,
        geography,
        levels,
        top,
        columns,
        tables,
        read_max_rows(said, table),
        _shares(said.get("shares") or {}, (top, *levels)),
        _invariants(said.get("invariants") or {}, (top, *levels)),
    )
    distinct((*facts.level_names, *(one.name for one in columns), COUNT))
    if sum(facts.cells(by) for _, by in tables) > _MOST_CELLS:
        raise InputError("too many cells", why="a unit has at most 2^40", fix="use fewer columns")
    return facts


def _check_levels(table: Table, geography: PublicTable | None, names: tuple[str, ...]) -> None:
    if not all(map(_is_file_name, names)):
        raise InputError("a level whose name cannot name a file", why=_NAMES, fix="rename it")
    levels = names[1:]
    if (geography is None) is bool(levels):
        raise InputError(
            "levels without a geography, or one without levels",
            why="a geography lists the units of each level",
            fix="pass both: geography='places', levels=['state', 'county', 'block']",
        )
    if geography is None:
        return
    for name in levels:
        if name not in geography.columns:
            raise InputError(
                f"{geography.name} has no column {name[:50]}",
                why=f"columns are {', '.join(geography.columns)}",
                fix="name its levels from the top down",
            )
    leaf = levels[-1]
    if geography.key != (leaf,) or leaf not in table.columns:
        raise InputError(
            f"{leaf} does not join {table.name} and {geography.name}",
            why="the last level is the key of the geography and a column of the table",
            fix=f"add the geography with key={leaf!r}, or name its key last",
        )
    kinds = {table.columns[leaf].kind, geography.columns[leaf].kind}
    if len(kinds) > 1 or not kinds <= {Kind.TEXT, Kind.INTEGER}:
        raise InputError(
            f"{leaf} is not of one kind",
            why="both tables need it as text, or as integer",
            fix="align it",
        )


def _columns(
    table: Table,
    tables: tuple[tuple[str, tuple[str, ...]], ...],
    levels: tuple[str, ...],
    bins: Any,
) -> tuple[Attribute, ...]:
    """The cells of every column that a table is grouped by."""
    if not all(_is_file_name(name) for name, _ in tables):
        raise InputError("a table whose name cannot name a file", why=_NAMES, fix="rename it")
    distinct(name for name, _ in tables)
    if isinstance(bins, Mapping):  # a wrong name would be a release that nobody meant
        read_fields(bins, "bins", allowed=tuple(table.columns))
    if not 0 < len(tables) <= _MOST_TABLES:
        raise InputError("no tables", why=f"1 to {_MOST_TABLES} are released", fix="name them")
    grouped = [name for name in columns_of(table) if name not in levels]
    wanted: dict[str, Attribute] = {}
    for _, by in tables:
        distinct(by)
        for column in by:
            if column not in grouped:
                raise InputError(
                    f"{table.name} has no column {str(column)[:50]} to group by",
                    why=f"columns are {', '.join(table.columns)}; levels are grouped by anyway",
                    fix="name some of them",
                )
            count = bins.get(column, BINS) if isinstance(bins, Mapping) else bins
            wanted[column] = Attribute.of(column, table.columns[column], bins=count)
    return tuple(wanted.values())


def _shares(said: Mapping[str, Any], names: tuple[str, ...]) -> tuple[Fraction, ...]:
    """The part of the price of each level; equal parts where nothing is said.

    Why: equal parts have the least sum of variances over the levels, for either kind of noise.
    """
    read_fields(said, "shares", needed=names if said else (), allowed=names)
    parts = [positive(read_number(said.get(name, 1), name), name) for name in names]
    return tuple(one / sum(parts) for one in parts)


def _invariants(
    said: Mapping[str, Any], names: tuple[str, ...]
) -> tuple[int, Mapping[str, int]] | None:
    """Public totals of one level, above the leaves."""
    if not said:
        return None
    above = names[:-1] if len(names) > 1 else names
    read_fields(said, "invariants", allowed=above)
    if len(said) > 1:
        raise InputError(
            "invariants of several levels",
            why="those of the lowest level add up to those above",
            fix="state the totals of that level alone",
        )
    [(name, totals)] = said.items()
    totals = totals if isinstance(totals, Mapping) else {name: totals}
    read = {str(key): whole(one, f"a total by {name}", at_least=0) for key, one in totals.items()}
    if sum(read.values()) >= _MOST_PEOPLE:
        raise InputError(
            f"totals by {name} are too large", why="2^50 people in all", fix="lower them"
        )
    return names.index(name), read


def _is_file_name(name: Any) -> bool:
    """Letters and digits, so few that a table and a level together name a file."""
    plain = isinstance(name, str) and name.replace("_", "").replace(" ", "").isalnum()
    return plain and len(name.encode()) <= _LONGEST_NAME


def _geography(name: Any, schema: Schema) -> PublicTable | None:
    """The public table of a name; None where none is named."""
    found = schema.tables.get(name) if isinstance(name, str) else None
    if name is None or isinstance(found, PublicTable):
        return found  # type: ignore[return-value] # None where nothing is named
    public = [one for one, of in schema.tables.items() if isinstance(of, PublicTable)]
    raise InputError(
        "a geography that is no public table",
        why=f"public tables are {', '.join(public) or 'none'}",
        fix="add it with curator.add_public(...)",
    )
