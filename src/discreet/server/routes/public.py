"""Declared tables and columns, and made-up rows."""

from typing import Annotated, Any, Literal

import pyarrow as pa
from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel

from discreet.curator.client import declarations
from discreet.curator.reports.privacy_promise import promise
from discreet.plan.dummy import dummy
from discreet.server.app_state import ServerCall
from discreet.server.error_replies import missing
from discreet.server.permissions import Member

router = APIRouter(tags=["data"])

ARROW = "application/vnd.apache.arrow.stream"
Name = Annotated[str, Path(min_length=1, max_length=200)]


class SchemaReply(BaseModel):
    """All tables that the caller may ask about, as the owner described them."""

    neighbours: Literal["add-remove", "change-one"]
    datasets: dict[str, list[str]]
    retired: list[str]
    tables: dict[str, dict[str, Any]]


class Dataset(BaseModel):
    """One dataset: its tables, and what is promised to the people in it."""

    name: str
    tables: dict[str, dict[str, Any]]
    statement: str


class Datasets(BaseModel):
    """All datasets that the caller may ask about."""

    datasets: list[Dataset]


class DummyRowsReply(BaseModel):
    """Made-up rows."""

    columns: list[str]
    rows: list[list[Any]]


@router.get("/schema")
def schema(call: Member) -> SchemaReply:
    """Describe every table for programs."""
    with call.planning():
        return SchemaReply(**_described(call))


@router.get("/datasets")
def datasets(call: Member) -> Datasets:
    """Describe every dataset for people."""
    with call.planning():
        said = _described(call)
        return Datasets(datasets=[_dataset(call, said, name) for name in said["datasets"]])


@router.get("/datasets/{name:path}")
def dataset(name: Name, call: Member) -> Dataset:
    """Describe one dataset for people."""
    with call.planning():
        said = _described(call)
        if name not in said["datasets"]:
            raise missing("dataset of this name")
        return _dataset(call, said, name)


@router.get(
    "/tables/{table:path}/dummy",
    response_model=DummyRowsReply,
    responses={200: {"content": {ARROW: {"schema": {"type": "string", "format": "binary"}}}}},
)
def made_up(table: Name, call: Member, rows: Annotated[int, Query(ge=0, le=10_000)] = 100) -> Any:
    """Make up rows from the description of a table alone, to try questions on."""
    with call.planning(rows):
        if table not in _described(call)["tables"]:
            raise missing("table of this name")
        made = dummy(call.app_state.curator.schema, rows, only=[table])[table]
        if ARROW not in call.accept:
            return in_rows(made)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, made.schema) as writer:
            writer.write_table(made)
        return Response(sink.getvalue().to_pybytes(), media_type=ARROW)


def in_rows(table: pa.Table) -> DummyRowsReply:
    """A table as JSON has it; dates are texts."""
    plain = (str, bool, int, float, type(None))
    columns = [
        [one if isinstance(one, plain) else one.isoformat() for one in column.to_pylist()]
        for column in table.columns
    ]
    return DummyRowsReply(
        columns=table.column_names, rows=list(map(list, zip(*columns, strict=True)))
    )


def _described(call: ServerCall) -> dict[str, Any]:
    caller = call.caller
    view = call.app_state.curator.as_analyst(caller.name, datasets=caller.datasets)
    return declarations.write_schema(view)


def _dataset(call: ServerCall, said: dict[str, Any], name: str) -> Dataset:
    tables = {one: said["tables"][one] for one in said["datasets"][name]}
    return Dataset(name=name, tables=tables, statement=promise(call.app_state.curator, name))
