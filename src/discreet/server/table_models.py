"""What an owner says about a table, as it comes over the wire."""

import datetime as dt
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from discreet.curator.budget import Budget
from discreet.curator.client import declarations
from discreet.engines.default import describe
from discreet.errors import InputError
from discreet.plan.kinds import Kind
from discreet.plan.schema import Bounds, Keys, Limits, Unit

Name = Annotated[str, Field(min_length=1, max_length=200)]
Number = Annotated[float | str, Field(union_mode="left_to_right")]
"""A JSON number, or a decimal or fraction as text ("0.1", "1/3")."""

KindName = Literal["boolean", "integer", "real", "text", "date", "timestamp"]
_TRUTH: Final = {"true": True, "false": False}
_READERS: Final[dict[Kind, Callable[[str], Any]]] = {
    Kind.BOOLEAN: lambda word: _TRUTH[word.strip().lower()],
    Kind.INTEGER: int,
    Kind.REAL: float,
    Kind.DATE: dt.date.fromisoformat,
    Kind.TIMESTAMP: dt.datetime.fromisoformat,
}


class StrictBody(BaseModel):
    """A body in which every name is known, and every value is of the kind that was asked for."""

    model_config = ConfigDict(extra="forbid", strict=True)


class BudgetBody(StrictBody):
    """How much may ever be given away: epsilon and delta, or rho; and what is added up."""

    epsilon: Number | None = None
    delta: Number | None = None
    rho: Number | None = None
    measure: Literal["epsilon", "rho", "mu-squared", "per-person"] | None = None

    def read(self) -> Budget:
        """The budget."""
        return declarations.read_budget(self.model_dump(exclude_none=True))


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


class ColumnBody(StrictBody):
    """Either the bounds or the keys of a column; dates are texts such as 2024-12-31."""

    bounds: list[float | str] | None = Field(None, min_length=2, max_length=2)
    keys: list[bool | int | float | str | None] | None = Field(
        None, min_length=1, max_length=20_000
    )


class Columns(StrictBody):
    """What is known of the columns of a file."""

    name: Name
    upload: str = Field(min_length=1, max_length=64)
    columns: dict[Name, ColumnBody] = Field(default={}, max_length=2000)
    kinds: dict[Name, KindName] = Field(default={}, max_length=2000)

    def read_columns(self, kinds: Mapping[str, Kind]) -> dict[str, Bounds | Keys]:
        """Bounds and keys, read as the kinds of their columns say."""
        return {name: _said(name, one, kinds.get(name)) for name, one in self.columns.items()}


class TableBody(Columns):
    """A private table: a dataset with a budget of its own, or one more `dataset` a dataset."""

    unit: Name | KeyPathBody | PersonPeriodBody | EachRowBody
    limits: LimitsBody = LimitsBody()
    required: list[Name] = Field(default=[], max_length=2000)
    budget: BudgetBody | None = None
    dataset: Name | None = None

    def facts(self, kinds: Mapping[str, Kind]) -> dict[str, Any]:
        """The arguments of `Curator.add`."""
        return {
            "unit": self.read_unit(),
            "budget": None if self.budget is None else self.budget.read(),
            "dataset": self.dataset,
            "columns": self.read_columns(kinds),
            "kinds": dict(self.kinds),
            "required": self.required,
            "limits": self.limits.read(),
        }

    def read_unit(self) -> str | Unit:
        """Who is protected."""
        unit = self.unit if isinstance(self.unit, str) else self.unit.model_dump()
        return declarations.read_unit(unit)


class PublicTableBody(Columns):
    """A table that belongs to nobody; its key is unique."""

    key: list[Name] = Field(min_length=1, max_length=50)


def kinds_of(path: Path, said: Columns) -> dict[str, Kind]:
    """The kind of each column, from the file's header and from the owner."""
    found = {name: of.kind for name, of in describe(path).types().items()}
    return found | {name: Kind(kind) for name, kind in said.kinds.items()}


def _said(name: str, one: ColumnBody, kind: Kind | None) -> Bounds | Keys:
    if (one.bounds is None) is (one.keys is None):
        raise InputError(
            f"{name} has {'neither bounds nor keys' if one.bounds is None else 'both'}",
            why="one of them says enough",
            fix="give a column bounds or keys, or leave it out",
        )
    if one.bounds is not None:
        return declarations.read_columns({name: {"bounds": one.bounds}})[name]
    return Keys([_key(name, key, kind) for key in one.keys or ()])


def _key(name: str, key: Any, kind: Kind | None) -> Any:
    """A key as its column holds it; forms have texts alone."""
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
