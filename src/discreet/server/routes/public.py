"""Declared tables and columns, and made-up rows."""

from typing import Annotated, Any, Literal

import pyarrow as pa
from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel

from discreet.curator.client import declarations
from discreet.curator.reports.privacy_promise import promise
from discreet.plan.dummy import dummy
from discreet.server.app_state import AppState, app_state_of
from discreet.server.error_replies import missing
from discreet.server.permissions import Caller, Member
from discreet.server.questions import asking_of

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
def schema(request: Request, caller: Member) -> SchemaReply:
    """Describe every table for programs."""
    with asking_of(request, caller).planning(0):
        return SchemaReply(**_described(app_state_of(request), caller))


@router.get("/datasets")
def datasets(request: Request, caller: Member) -> Datasets:
    """Describe every dataset for people."""
    app_state = app_state_of(request)
    with asking_of(request, caller).planning(0):
        said = _described(app_state, caller)
        return Datasets(datasets=[_dataset(app_state, said, name) for name in said["datasets"]])


@router.get("/datasets/{name:path}")
def dataset(name: Name, request: Request, caller: Member) -> Dataset:
    """Describe one dataset for people."""
    app_state = app_state_of(request)
    with asking_of(request, caller).planning(0):
        said = _described(app_state, caller)
        if name not in said["datasets"]:
            raise missing("dataset of this name")
        return _dataset(app_state, said, name)


@router.get(
    "/tables/{table:path}/dummy",
    response_model=DummyRowsReply,
    responses={200: {"content": {ARROW: {"schema": {"type": "string", "format": "binary"}}}}},
)
def made_up(
    table: Name,
    request: Request,
    caller: Member,
    rows: Annotated[int, Query(ge=0, le=10_000)] = 100,
) -> Any:
    """Make up rows from the description of a table alone, to try questions on."""
    app_state = app_state_of(request)
    with asking_of(request, caller).planning(rows):
        if table not in _described(app_state, caller)["tables"]:
            raise missing("table of this name")
        made = dummy(app_state.curator.schema, rows, only=[table])[table]
        return _written(made, request)


def _written(made: pa.Table, request: Request) -> Response | DummyRowsReply:
    """Made-up rows in the form that was asked for."""
    if ARROW in request.headers.get("accept", ""):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, made.schema) as writer:
            writer.write_table(made)
        return Response(sink.getvalue().to_pybytes(), media_type=ARROW)
    return in_rows(made)


def in_rows(table: pa.Table) -> DummyRowsReply:
    """A table as JSON has it; dates are texts."""
    columns = [
        [one if one is None or isinstance(one, plain) else one.isoformat() for one in column]
        for column in (table.column(name).to_pylist() for name in table.column_names)
    ]
    return DummyRowsReply(
        columns=table.column_names, rows=[list(row) for row in zip(*columns, strict=True)]
    )


plain = (str, bool, int, float)


def _described(app_state: AppState, caller: Caller) -> dict[str, Any]:
    view = app_state.curator.as_analyst(caller.name, datasets=caller.datasets)
    return declarations.write_schema(view)


def _dataset(app_state: AppState, said: dict[str, Any], name: str) -> Dataset:
    tables = {one: said["tables"][one] for one in said["datasets"][name]}
    return Dataset(name=name, tables=tables, statement=promise(app_state.curator, name))
