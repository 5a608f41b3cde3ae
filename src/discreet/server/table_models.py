"""Table declarations over the wire."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from discreet.curator.budget import Budget
from discreet.curator.client import declarations
from discreet.curator.data.intake import Incoming
from discreet.curator.data.load_report import Stated, proposed_kinds
from discreet.curator.data.sources import Source, open_source
from discreet.engines.reading import Reading
from discreet.plan.kinds import Kind
from discreet.plan.schema import Bounds, Keys, Limits, Person, PublicTable, Table, Unit

Name = Annotated[str, Field(min_length=1, max_length=200)]
Number = Annotated[float | str, Field(union_mode="left_to_right")]
"""A JSON number, or a decimal or fraction as text ("0.1", "1/3")."""

KindName = Literal["boolean", "integer", "real", "text", "date", "timestamp"]


class StrictBody(BaseModel):
    """A body in which every name is known, and every value is of the kind that was asked for."""

    model_config = ConfigDict(extra="forbid", strict=True)


class BudgetBody(StrictBody):
    """The most privacy that may ever be spent: epsilon and delta, or rho; and what is added up."""

    epsilon: Number | None = None
    delta: Number | None = None
    rho: Number | None = None
    measure: Literal["epsilon", "rho", "mu-squared", "per-person"] | None = None

    def read(self) -> Budget:
        """The budget."""
        return declarations.read_budget(self.model_dump(exclude_none=True))


class MayHaveBudget(StrictBody):
    """A body with a budget, or without one."""

    budget: BudgetBody | None = None

    def read_budget(self) -> Budget | None:
        """The budget, None where there is none."""
        return None if self.budget is None else self.budget.read()


class LimitsBody(StrictBody):
    """How much of one person an answer may hold; what is not said is chosen privately."""

    max_groups: Annotated[int | None, Field(ge=1, le=2**31)] = None
    max_rows: Annotated[int | None, Field(ge=1, le=2**31)] = None

    def read(self) -> Limits:
        """The limits."""
        return Limits(self.max_groups, self.max_rows)


class KeyPathBody(StrictBody):
    """A column that leads to the person by a key of another table."""

    column: Name
    table: Name
    key: Name


class PersonPeriodBody(StrictBody):
    """A person in one period of a column of dates or times."""

    column: Name
    period: Name
    every: Name


class EachRowBody(StrictBody):
    """Each row by itself, and nobody whole."""

    each_row: Literal[True]


UnitBody: TypeAlias = Name | KeyPathBody | PersonPeriodBody | EachRowBody


_Moment: TypeAlias = Annotated[
    dict[Literal["date", "datetime"], Annotated[str, Field(max_length=40)]],
    Field(min_length=1, max_length=1),
]


class ColumnBody(StrictBody):
    """Either the bounds or the keys of a column.

    Dates are texts such as 2024-12-31, or {"date": "2024-12-31"} as clients write them.
    """

    bounds: list[float | str | _Moment] | None = Field(None, min_length=2, max_length=2)
    keys: list[bool | int | float | str | _Moment | None] | None = Field(
        None, min_length=1, max_length=20_000
    )


_Word = Annotated[str, Field(max_length=200)]


class ReadingBody(StrictBody):
    """How the texts of a file are read; what is left out is found out, and asked if in doubt."""

    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    quote: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    encoding: _Word | None = None
    header: bool | None = None
    names: list[Name] | None = Field(None, max_length=2000)
    decimal: Literal[".", ","] | None = None
    thousands: Annotated[str, Field(max_length=1)] | None = None
    day_first: bool | None = None
    dates: dict[Name, _Word] | None = Field(None, max_length=2000)
    nulls: list[_Word] | None = Field(None, max_length=100)
    true: list[_Word] | None = Field(None, max_length=100)
    false: list[_Word] | None = Field(None, max_length=100)
    unreadable: Literal["refuse", "null"] | None = None
    blanks: Literal["trim", "keep"] | None = None
    skip_lines: Annotated[int, Field(ge=0, le=1_000_000)] | None = None

    def read(self) -> Reading:
        """The reading."""
        return Reading.from_dict(self.model_dump(exclude_none=True))


class Columns(StrictBody):
    """Declarations of a file's columns."""

    columns: dict[Name, ColumnBody] = Field(default={}, max_length=2000)
    kinds: dict[Name, KindName] = Field(default={}, max_length=2000)
    reading: ReadingBody = Field(default_factory=lambda: ReadingBody.model_validate({}))
    source_table: Name | None = None
    confirm: list[Name] = Field(default=[], max_length=2000)

    def unit_column(self) -> str | None:
        """The column that names the person, None where there is none."""
        unit = getattr(self, "unit", None)
        return unit if isinstance(unit, str) else getattr(unit, "column", None)

    def source(self, path: Path) -> Source:
        """A file, read as is said."""
        reading, exact = self.reading.read(), self.unit_column()
        return open_source(path, reading, self.source_table, exact=exact)

    def kinds_in(self, path: Path) -> dict[str, Kind]:
        """The kind of each column, from the owner, from the file, or as it looks."""
        return proposed_kinds(self.source(path), self.stated({}))

    def stated(self, kinds: Mapping[str, Kind]) -> Stated:
        """Declarations of columns; `kinds` are those that keys are read as."""
        known = self.read_columns(kinds) if kinds else {}
        spelled = {name: Kind(kind) for name, kind in self.kinds.items()}
        return Stated(known, spelled, tuple(self.confirm), reading=self.reading.read())

    def read_columns(self, kinds: Mapping[str, Kind]) -> dict[str, Bounds | Keys]:
        """Bounds and keys, read as the kinds of their columns say."""
        said = {name: one.model_dump(exclude_none=True) for name, one in self.columns.items()}
        return declarations.read_columns(said, kinds)


class ReportBody(Columns):
    """The declarations so far about an uploaded file."""

    unit: UnitBody | None = None


class UploadedTable(Columns):
    """A table that is made of an upload."""

    name: Name
    upload: str = Field(min_length=1, max_length=64)


class TableBody(UploadedTable, MayHaveBudget):
    """A private table: a dataset with a budget of its own, or one more `dataset` a dataset."""

    unit: UnitBody
    limits: LimitsBody = LimitsBody()
    required: list[Name] = Field(default=[], max_length=2000)
    dataset: Name | None = None

    def facts(self, kinds: Mapping[str, Kind]) -> dict[str, Any]:
        """The arguments of `Curator.add`."""
        return {
            "unit": self.read_unit(),
            "budget": self.read_budget(),
            "dataset": self.dataset,
            "columns": self.read_columns(kinds),
            "kinds": dict(self.kinds),
            "required": self.required,
            "limits": self.limits.read(),
        }

    def read_unit(self) -> str | Unit:
        """The privacy unit."""
        unit = self.unit if isinstance(self.unit, str) else self.unit.model_dump()
        return declarations.read_unit(unit)

    def table(self, kinds: Mapping[str, Kind], incoming: Incoming) -> Table:
        """The table that is described."""
        unit = self.read_unit()
        whose = Person(unit) if isinstance(unit, str) else unit
        known = replace(self.stated(kinds), required=self.required)
        return Table(self.name, incoming.types(known), whose, self.limits.read())


class PublicTableBody(UploadedTable):
    """A table that belongs to nobody; its key is unique."""

    key: list[Name] = Field(min_length=1, max_length=50)

    def facts(self, kinds: Mapping[str, Kind]) -> dict[str, Any]:
        """The arguments of `Curator.add_public`."""
        return {"key": self.key, "columns": self.read_columns(kinds), "kinds": dict(self.kinds)}

    def table(self, kinds: Mapping[str, Kind], incoming: Incoming) -> PublicTable:
        """The table that is described."""
        known = replace(self.stated(kinds), required=self.key)
        return PublicTable(self.name, incoming.types(known), tuple(self.key))
