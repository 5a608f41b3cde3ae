"""What the owner says about the data. Nothing here is ever read off private values.

A dataset is one or more tables. A private table says whose rows it holds: a column that names the
person, a path of keys to a table that does, or, spelled out, each row by itself. A public table has
a key and belongs to nobody.
"""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

from discreet.errors import InputError
from discreet.plan.kinds import Kind, Range, Type, Value
from discreet.rationals import Real, rational, whole

EPOCH = dt.date(1970, 1, 1)
_MICROSECONDS = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Bounds:
    """Values below `low` count as `low`, values above `high` as `high`.

    Example:
        >>> Bounds(0, 120)
        Bounds(low=0, high=120)
    """

    low: Real | dt.date
    high: Real | dt.date

    def range(self, kind: Kind, name: str) -> Range:
        """The bounds as a range of a column's kind."""
        low, high = (_position(end, kind, name) for end in (self.low, self.high))
        if low < high:
            return Range(low, high)
        raise InputError(
            f"bounds of {name} are {self.low} to {self.high}",
            why="the lower end has to be below the upper end",
            fix="swap the ends, or widen the bounds",
        )


@dataclass(frozen=True, slots=True, init=False)
class Keys:
    """All values of a category that can be asked for; each is answered, present or not.

    Rows with other values are in no group; list None to have NULL as a group.

    Example:
        >>> Keys(["Austin", "Haifa"]).values
        ('Austin', 'Haifa')
    """

    values: tuple[Value, ...]

    def __init__(self, values: Iterable[Value]) -> None:
        keys = tuple(values)
        if not keys or len(set(keys)) < len(keys):
            raise InputError(
                f"{len(keys)} keys, {len(set(keys))} of them different",
                why="keys are a list of different values",
                fix="list each value once",
            )
        object.__setattr__(self, "values", keys)


@dataclass(frozen=True, slots=True)
class Person:
    """The column that names the person a row belongs to."""

    column: str


@dataclass(frozen=True, slots=True)
class Path:
    """A key path to the person: from `column` to `table`.`key`, and on from there.

    The key has to be unique in its table; that is checked when the data is added.
    """

    column: str
    table: str
    key: str


@dataclass(frozen=True, slots=True)
class EachRow:
    """Protects a single row and nobody's other rows: a choice that has to be spelled out."""


Unit: TypeAlias = Person | Path | EachRow


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of one person an answer may hold; what is not said is chosen privately.

    `max_groups` groups of an answer, `max_rows` rows in each of them.
    """

    max_groups: int | None = None
    max_rows: int | None = None

    def __post_init__(self) -> None:
        for name in ("max_groups", "max_rows"):
            if getattr(self, name) is not None:
                whole(getattr(self, name), name, at_least=1)


PERSON = "_person"
"""The name under which the owner of a row travels; no column may have it."""


def distinct(names: Iterable[str]) -> None:
    """Refuse a name that is given twice, or is reserved; engines do not tell cases apart."""
    seen: set[str] = set()
    for name in names:
        if name.casefold() == PERSON:
            raise InputError(
                f"a column is called {name}",
                why="that name is kept for the person a row belongs to",
                fix="rename it",
            )
        if name.casefold() in seen:
            raise InputError(
                f"two columns are called {name}",
                why="a name has to mean one column, in upper case and in lower case",
                fix="rename one of them with AS",
            )
        seen.add(name.casefold())


@dataclass(frozen=True, slots=True)
class Table:
    """A private table: its columns and whose rows it holds."""

    name: str
    columns: Mapping[str, Type]
    unit: Unit
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))
        distinct(self.columns)
        if not isinstance(self.unit, EachRow):
            _known(self.unit.column, self.columns, self.name)


@dataclass(frozen=True, slots=True)
class PublicTable:
    """A table that belongs to nobody; `key` names one row and is checked when the data is added."""

    name: str
    columns: Mapping[str, Type]
    key: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))
        distinct(self.columns)
        for column in self.key:
            _known(column, self.columns, self.name)


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables of a dataset; paths of keys lead inside it.

    All its private tables speak of the same people: equal names of persons are one person.
    """

    tables: Mapping[str, Table | PublicTable]

    def __post_init__(self) -> None:
        object.__setattr__(self, "tables", MappingProxyType(dict(self.tables)))
        for table in self.tables.values():
            if isinstance(table, Table):
                self.path(table)

    def path(self, table: Table) -> tuple[tuple[Path, ...], Unit]:
        """The hops from a table to the table that names the person, and how that one does."""
        hops: list[Path] = []
        while isinstance(table.unit, Path):
            hop = table.unit
            target = self.tables.get(hop.table)
            if not isinstance(target, Table) or hop in hops:
                raise InputError(
                    f"{table.name}.{hop.column} leads to {hop.table}.{hop.key}",
                    why="a key path has to end at a private table that names the person",
                    fix="add that table first, with its unit",
                )
            _known(hop.key, target.columns, target.name)
            hops.append(hop)
            table = target
        return tuple(hops), table.unit


def column_type(
    name: str, kind: Kind, spec: Bounds | Keys | None = None, *, nullable: bool = True
) -> Type:
    """The type of a column of this kind, with what the owner says about it."""
    match spec:
        case Bounds():
            return Type(kind, nullable, spec.range(kind, name))
        case Keys():
            for value in spec.values:
                _check_key(value, kind, name)
            return Type(kind, nullable, None, spec.values)
        case None if kind is Kind.BOOLEAN:
            # There are no other truth values, so these are public.
            return Type(kind, nullable, None, (False, True, None) if nullable else (False, True))
        case None:
            return Type(kind, nullable)


def _position(end: Real | dt.date, kind: Kind, name: str) -> float:
    match kind, end:
        case Kind.DATE, dt.date():
            day = end.date() if isinstance(end, dt.datetime) else end
            return (day - EPOCH).days
        case Kind.TIMESTAMP, dt.datetime():
            return (end - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)  # noqa: DTZ001 - timestamps have no zone
        case Kind.TIMESTAMP, dt.date():
            return (end - EPOCH).days * _MICROSECONDS
        case ((Kind.INTEGER | Kind.REAL), _) if not isinstance(end, dt.date):
            exact = rational(end, f"bound of {name}")
            return int(exact) if kind is Kind.INTEGER and exact.denominator == 1 else float(exact)
    raise InputError(
        f"{name} is {kind.value} and a bound of it is a {type(end).__name__}",
        why="bounds are numbers for numbers and dates for dates",
        fix="give bounds of the column's kind, or none",
    )


def _check_key(value: Value, kind: Kind, name: str) -> None:
    fits = {
        Kind.BOOLEAN: (bool,),
        Kind.INTEGER: (int,),
        Kind.REAL: (int, float),
        Kind.TEXT: (str,),
        Kind.DATE: (dt.date,),
        Kind.TIMESTAMP: (dt.datetime,),
    }[kind]
    if value is None or (
        isinstance(value, fits) and (kind is Kind.BOOLEAN or type(value) is not bool)
    ):
        return
    raise InputError(
        f"a key of {name} is a {type(value).__name__}",
        why=f"the column is {kind.value}",
        fix="list keys of the column's kind",
    )


def _known(column: str, columns: Mapping[str, Type], table: str) -> None:
    if column not in columns:
        raise InputError(
            f"{table} has no column {column}",
            why=f"its columns are {', '.join(columns)}",
            fix="name one of them",
        )
