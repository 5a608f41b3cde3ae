"""The owner's declarations about the data. Nothing here is ever read off private values.

A dataset is one or more tables. A private table says whose rows it holds: a column that names the
person, a path of keys to a table that does, or, spelled out, each row by itself. A public table has
a key and belongs to nobody.
"""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias

from discreet import html_view
from discreet.errors import InputError
from discreet.plan.calendar import as_time, moment, position
from discreet.plan.kinds import Kind, Range, Type, Value
from discreet.rationals import Real, rational, whole


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
    """All values of a category that can be asked about; each is answered, present or not.

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

    @staticmethod
    def of(column: Any) -> "Keys":
        """All values of a column of a public table, in order of appearance; a gap is NULL.

        Arrow, pandas, polars and numpy columns are taken, and any list.

        Example:
            >>> import pyarrow as pa
            >>> Keys.of(pa.table({"name": ["Austin", "Haifa", "Austin", None]})["name"]).values
            ('Austin', 'Haifa', None)
        """
        ways = (getattr(column, name, None) for name in ("to_pylist", "to_list", "tolist"))
        listing = next((way for way in ways if way is not None), None)
        values = column if listing is None else listing()
        return Keys(dict.fromkeys(None if _is_gap(value) else value for value in values))


def _is_gap(value: Any) -> bool:
    """Whether a value represents a missing one: NaN and NaT are not equal to themselves."""
    return value is None or bool(value != value)  # noqa: PLR0124 - see above


@dataclass(frozen=True, slots=True)
class Person:
    """The column that names the person a row belongs to."""

    column: str


@dataclass(frozen=True, slots=True)
class KeyPath:
    """A key path to the person: from `column` to `table`.`key`, and so on.

    The key has to be unique in its table; that is checked when the data is added.
    """

    column: str
    table: str
    key: str


@dataclass(frozen=True, slots=True)
class PersonPeriod:
    """A person in one period: protects what somebody does in one day, not on several days together.

    `column` names the person, `period` is a column of dates or times, and `every` says how long a
    period is. A row belongs to the period of the value that questions see, so that values outside
    its bounds belong to the first or the last one. Rows without either belong to nobody.

    Example:
        >>> PersonPeriod("user", "day", every="day").words("v")
        'one person in one day, with all of their rows of that day (identified by v.user and v.day)'
    """

    column: str
    period: str
    every: str = "day"

    def __post_init__(self) -> None:
        if self.every not in PERIODS:
            raise InputError(
                f"a period is every {str(self.every)[:50]}",
                why=f"periods are {', '.join(PERIODS)}",
                fix="name one of these",
            )

    @property
    def who(self) -> str:
        """Whom a limit is about."""
        return f"one person in one {self.every}"

    def words(self, table: str) -> str:
        """The privacy unit in words."""
        return (
            f"{self.who}, with all of their rows of that {self.every} (identified by "
            f"{table}.{self.column} and {table}.{self.period})"
        )


PERIODS = ("hour", "day", "week", "month", "quarter", "year")
"""How long a period can be; weeks begin on Monday."""


@dataclass(frozen=True, slots=True)
class EachRow:
    """Protects a single row, not all rows of a person: a choice that has to be explicit."""


Unit: TypeAlias = Person | PersonPeriod | KeyPath | EachRow


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one person may contribute to an answer; unstated limits are chosen privately.

    `max_groups` groups of an answer, `max_rows` rows in each of them.
    """

    max_groups: int | None = None
    max_rows: int | None = None

    def __post_init__(self) -> None:
        for name in ("max_groups", "max_rows"):
            if getattr(self, name) is not None:
                whole(getattr(self, name), name, at_least=1)
        if (self.max_groups or 1) * (self.max_rows or 1) > MOST_ROWS:
            raise InputError(
                f"one person may have {self.max_groups} groups of {self.max_rows} rows",
                why=f"noise that hides more than {MOST_ROWS:,} rows hides everything",
                fix="state lower limits, or none, so that they are chosen privately",
            )


MOST_ROWS = 1 << 30
"""No limits allow one person more."""

PERSON = "_person"
"""The name under which the owner of a row travels; no column may have it."""


PART = "_part"
"""The column that distinguishes the parts of a table, if any."""


def distinct(names: Iterable[str]) -> None:
    """Refuse a name that is given twice, or is reserved; engines do not distinguish case."""
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
        if isinstance(self.unit, PersonPeriod):
            _known(self.unit.period, self.columns, self.name)
            if not self.columns[self.unit.period].kind.is_time:
                raise InputError(
                    f"{self.name}.{self.unit.period} is no period",
                    why="periods are told by dates or timestamps",
                    fix="name a column of dates, or say of which kind it is with kinds={...}",
                )

    @property
    def is_by_row(self) -> bool:
        """Whether each row is protected by itself."""
        return isinstance(self.unit, EachRow)


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

    def _repr_html_(self) -> str:
        """Every column of every table: whom it protects, and what is declared."""
        rows = [
            (one.name, whose(one), name, of.kind.value, declared(of))
            for one in self.tables.values()
            for name, of in one.columns.items()
        ]
        heads = ["table", "protects", "column", "kind", "declared"]
        return html_view.framed(html_view.table(heads, rows))

    def path(self, table: Table) -> tuple[tuple[KeyPath, ...], Unit]:
        """The hops from a table to the table that names the person, and how that one does."""
        hops: list[KeyPath] = []
        while isinstance(table.unit, KeyPath):
            hop = table.unit
            target = self.tables.get(hop.table)
            if not isinstance(target, Table) or hop in hops:
                raise InputError(
                    f"{table.name}.{hop.column} leads to {hop.table}.{hop.key}",
                    why="a key path has to end at a private table that names the person",
                    fix="add that table first, with its unit",
                )
            _known(hop.key, target.columns, target.name)
            _meet(table, hop, target)
            if isinstance(target.unit, PersonPeriod):
                raise InputError(
                    f"{table.name}.{hop.column} leads to {hop.table}, where people have periods",
                    why="a row that leads there would belong to a period that is not its own",
                    fix="give the table the person's column and a period, or protect whole people",
                )
            hops.append(hop)
            table = target
        return tuple(hops), table.unit

    def check_same_people(self, names: Iterable[str]) -> None:
        """Refuse private tables that name people in different kinds, in which none is the same."""
        kinds: dict[Kind, str] = {}
        for name in names:
            table = self.tables[name]
            if isinstance(table, Table) and not isinstance(table.unit, EachRow):
                kinds.setdefault(self._person_kind(table), name)
        if len(kinds) > 1:
            named = " and ".join(f"{name} by {kind.value}" for kind, name in kinds.items())
            raise InputError(
                f"people are named in different kinds: {named}",
                why="equal names are one person, and a text is never equal to a number",
                fix="say of which kind the names are with kinds={...}, the same for all tables",
            )

    def _person_kind(self, table: Table) -> Kind:
        """The kind of the names of people whose rows a table holds."""
        hops, unit = self.path(table)
        last = self.tables[hops[-1].table] if hops else table
        assert isinstance(unit, Person | PersonPeriod)  # noqa: S101 - narrowing: the caller has no single rows
        return last.columns[unit.column].kind


def _meet(table: Table, hop: KeyPath, target: Table) -> None:
    """Keys of different kinds have no meaning that all engines share."""
    here, there = table.columns[hop.column].kind, target.columns[hop.key].kind
    if here is not there:
        raise InputError(
            f"{hop.column} is {here.value} and {hop.table}.{hop.key} is {there.value}",
            why="a key path compares values of one kind",
            fix="say of which kind both are with kinds={...}, or cast one of them first",
        )


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
            return position(end.date() if isinstance(end, dt.datetime) else end)
        case Kind.TIMESTAMP, dt.date() if as_time(end).tzinfo is None:
            return position(as_time(end))
        case ((Kind.INTEGER | Kind.REAL), _) if not isinstance(end, dt.date):
            exact = rational(end, f"bound of {name}")
            return int(exact) if kind is Kind.INTEGER and exact.denominator == 1 else float(exact)
    raise InputError(
        f"{name} is {kind.value} and a bound of it is a {type(end).__name__}",
        why="bounds are numbers for numbers and dates for dates",
        fix="give bounds of the column's kind, or none",
    )


def _check_key(value: Value, kind: Kind, name: str) -> None:
    if value is None or kind.holds(value):
        return
    fits: tuple[type, ...] = (kind.python, int) if kind is Kind.REAL else (kind.python,)
    if type(value) is bool or not isinstance(value, fits):
        raise InputError(
            f"a key of {name} is a {type(value).__name__}",
            why=f"the column is {kind.value}",
            fix="list keys of the column's kind",
        )
    whole = type(value) is int and kind is Kind.REAL  # written without a point
    if not (whole and abs(value) <= 1 << 1023 and float(value) == value):  # type: ignore[arg-type]
        raise InputError(
            f"a key of {name} is no {kind.value} value that engines hold",
            why="integers have 64 bits, reals are finite doubles, texts Unicode, times no zone",
            fix="list keys that a row can have",
        )


def _known(column: str, columns: Mapping[str, Type], table: str) -> None:
    if column not in columns:
        raise InputError(
            f"{table} has no column {column}",
            why=f"its columns are {', '.join(columns)}",
            fix="name one of them",
        )


# --- in words, and as HTML ------------------------------------------------------------------------


_SHOWN = 8
"""Keys that are shown of a column."""


def whose(one: Table | PublicTable) -> str:
    """Whom a table protects, in a few words."""
    match one:
        case PublicTable():
            return f"nobody: public, by {', '.join(one.key)}"
        case Table(unit=Person(column)):
            return f"each {column}"
        case Table(unit=PersonPeriod(column, period, every)):
            return f"each {column} in one {every} of {period}"
        case Table(unit=KeyPath(column, target, key)):
            return f"the person behind {column}, by way of {target}.{key}"
    return "each row by itself"


def declared(of: Type) -> str:
    """A column's declaration in a few words."""
    if of.keys is not None and of.kind is not Kind.BOOLEAN:
        shown = ", ".join("NULL" if key is None else str(key) for key in of.keys[:_SHOWN])
        return shown + (f" and {len(of.keys) - _SHOWN:,} more" if len(of.keys) > _SHOWN else "")
    return "" if of.range is None else range_words(of.range, of.kind)


def range_words(bounds: Range, kind: Kind) -> str:
    """A range as people write it.

    Example:
        >>> range_words(Range(0, 120), Kind.INTEGER), range_words(Range(0, 31), Kind.DATE)
        ('0 .. 120', '1970-01-01 .. 1970-02-01')
    """
    ends = (bounds.low, bounds.high)
    if kind.is_time:
        return " .. ".join(str(moment(end, kind)) for end in ends)
    return " .. ".join(f"{end:.15g}" if isinstance(end, float) else str(end) for end in ends)


def counted(count: int, what: str) -> str:
    """A number of things.

    Example:
        >>> counted(1, "row"), counted(2000, "row")
        ('1 row', '2,000 rows')
    """
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
