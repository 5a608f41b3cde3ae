"""What may be asked about: tables and columns as their owner described them, and made-up rows."""

from typing import Annotated, Any, Literal

import pyarrow as pa
from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel

from discreet.curator import declarations
from discreet.plan.dummy import dummy
from discreet.server.guard import Caller, Member
from discreet.server.house import House, house_of
from discreet.server.promise import promise
from discreet.server.replies import missing

router = APIRouter(tags=["data"])

ARROW = "application/vnd.apache.arrow.stream"
Name = Annotated[str, Path(min_length=1, max_length=200)]


class Described(BaseModel):
    """All tables that the caller may ask about, as the owner described them."""

    neighbours: Literal["add-remove", "change-one"]
    datasets: dict[str, list[str]]
    tables: dict[str, dict[str, Any]]


class Dataset(BaseModel):
    """One dataset: its tables, and what is promised to the people in it."""

    name: str
    tables: dict[str, dict[str, Any]]
    statement: str


class Datasets(BaseModel):
    """All datasets that the caller may ask about."""

    datasets: list[Dataset]


class Rows(BaseModel):
    """Made-up rows."""

    columns: list[str]
    rows: list[list[Any]]


@router.get("/schema")
def schema(request: Request, caller: Member) -> Described:
    """Describe every table for programs."""
    return Described(**_described(house_of(request), caller))


@router.get("/datasets")
def datasets(request: Request, caller: Member) -> Datasets:
    """Describe every dataset for people."""
    house = house_of(request)
    said = _described(house, caller)
    return Datasets(datasets=[_dataset(house, said, name) for name in said["datasets"]])


@router.get("/datasets/{name:path}")
def dataset(name: Name, request: Request, caller: Member) -> Dataset:
    """Describe one dataset for people."""
    house = house_of(request)
    said = _described(house, caller)
    if name not in said["datasets"]:
        raise missing("dataset of this name")
    return _dataset(house, said, name)


@router.get(
    "/tables/{table:path}/dummy",
    response_model=Rows,
    responses={200: {"content": {ARROW: {"schema": {"type": "string", "format": "binary"}}}}},
)
def made_up(
    table: Name,
    request: Request,
    caller: Member,
    rows: Annotated[int, Query(ge=0, le=10_000)] = 100,
) -> Any:
    """Make up rows from the description of a table alone, to try questions on."""
    house = house_of(request)
    if table not in _described(house, caller)["tables"]:
        raise missing("table of this name")
    made = dummy(house.curator.schema, rows)[table]
    if ARROW in request.headers.get("accept", ""):
        return Response(_stream(made), media_type=ARROW)
    return in_rows(made)


def in_rows(table: pa.Table) -> Rows:
    """A table as JSON has it; dates are texts."""
    columns = [
        [one if one is None or isinstance(one, plain) else one.isoformat() for one in column]
        for column in (table.column(name).to_pylist() for name in table.column_names)
    ]
    return Rows(columns=table.column_names, rows=[list(row) for row in zip(*columns, strict=True)])


plain = (str, bool, int, float)


def _described(house: House, caller: Caller) -> dict[str, Any]:
    desk = house.curator.as_analyst(caller.name, datasets=caller.datasets)
    return declarations.write_schema(desk)


def _dataset(house: House, said: dict[str, Any], name: str) -> Dataset:
    tables = {one: said["tables"][one] for one in said["datasets"][name]}
    return Dataset(name=name, tables=tables, statement=promise(house.curator, name))


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    found: bytes = sink.getvalue().to_pybytes()
    return found
