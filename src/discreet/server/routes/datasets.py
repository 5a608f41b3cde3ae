"""The owner's tables, tried on made-up rows and added once; and what is done for one person."""

from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from discreet.answer.present.release_json import plain
from discreet.curator import demo_clinic
from discreet.curator.client.wire import read_number
from discreet.curator.curator import Curator
from discreet.curator.data.intake import ColumnDeclarations, Incoming, take
from discreet.curator.data.load_report import PUBLIC
from discreet.curator.reports.privacy_promise import promise
from discreet.errors import InputError
from discreet.plan.dummy import dummy
from discreet.plan.kinds import Kind
from discreet.plan.schema import Limits, Person, PublicTable, Schema, Table
from discreet.server.app_state import app_state_of
from discreet.server.error_replies import missing
from discreet.server.permissions import Caller, Owner
from discreet.server.routes.public import DummyRowsReply, in_rows
from discreet.server.table_models import (
    Name,
    PublicTableBody,
    StrictBody,
    TableBody,
    UploadedTable,
    kinds_of,
)

router = APIRouter(tags=["owner"])

_SHOWN = 20
_demo = Lock()
_TENTH = 10


class Added(BaseModel):
    """A table that can be asked about now."""

    name: str
    dataset: str | None


class DemoBody(StrictBody):
    """The demo to add; there is one."""

    name: Literal["clinic"]


class Tried(BaseModel):
    """A question on made-up rows: what it would cost, and what came out for them.

    `half_widths` say how far noise has moved each number of a column, 95 times in 100.
    """

    sql: str
    epsilon: str
    text: str
    answer: DummyRowsReply
    half_widths: dict[str, list[float | None]]


class Preview(BaseModel):
    """How a table would look to analysts; nothing of the file but its header was read."""

    rows: DummyRowsReply
    question: Tried
    statement: str


@router.post("/datasets", status_code=201)
def add(said: TableBody, request: Request, caller: Owner) -> Added:
    """Protect a table: a new dataset with a budget, or one more table within a dataset."""
    app_state = app_state_of(request)
    curator, again = app_state.curator.as_owner(caller.name), app_state.uploads.used(said.upload)
    with app_state.computing, app_state.uploads.kept(said.upload) as path:
        try:
            curator.add(said.name, path, **said.facts(kinds_of(path, said)), **_read_as(said))
        except InputError:
            if again is None or not _was_added(curator, said, path):
                raise
    return Added(name=said.name, dataset=said.dataset or said.name)


def _read_as(said: UploadedTable) -> dict[str, Any]:
    """How a file is read, and what its owner confirms of it."""
    confirm = {"confirm": said.confirm} if isinstance(said, TableBody) else {}
    return {"reading": said.read_reading(), "source_table": said.source_table, **confirm}


def _taken(said: UploadedTable, kinds: dict[str, Kind], path: Path) -> Incoming:
    """The file as it is taken in."""
    unit, stated = said.unit_column(), said.stated(kinds)
    if isinstance(said, PublicTableBody):
        stated = replace(stated, confirm=PUBLIC)
    return take(path, stated, said.read_reading(), said.source_table, name=said.name, unit=unit)


def _was_added(curator: Curator, said: TableBody, path: Path) -> bool:
    """Whether the table is there in just these words: then the first reply was lost."""
    if said.name not in curator.datasets().get(said.dataset or said.name, ()):
        return False
    kinds = kinds_of(path, said)
    same = curator.schema.tables[said.name] == _table(said, kinds, _taken(said, kinds, path))
    if said.budget is None or not same:
        return same
    known, budget = curator.budget(said.name), said.budget.read()
    cap = budget.cap(curator.neighbours, *([known.limit] if known.limit else []))
    return known.is_under(cap, per_person=budget.is_per_person)


@router.post("/demo", status_code=201)
def add_demo(said: DemoBody, request: Request, caller: Owner) -> Added:
    """Add a clinic of made-up patients to try questions on, unless it is there."""
    del said
    app_state = app_state_of(request)
    curator = app_state.curator.as_owner(caller.name)
    with app_state.computing, _demo:
        if demo_clinic.NAME not in curator.datasets():
            demo_clinic.add_clinic(curator, demo_clinic.make_patients(), demo_clinic.NAME)
    return Added(name=demo_clinic.NAME, dataset=demo_clinic.NAME)


class RetireBody(StrictBody):
    """Why a dataset ends."""

    reason: Name


class Retired(BaseModel):
    """A dataset of which nothing new is asked."""

    dataset: str
    retired: Literal[True] = True


@router.post("/datasets/{dataset:path}/retire")
def retire(dataset: str, said: RetireBody, request: Request, caller: Owner) -> Retired:
    """End a dataset for ever: its account and its answers stay, its name is never used again."""
    curator = app_state_of(request).curator.as_owner(caller.name)
    if dataset not in curator.datasets():
        raise missing("dataset of this name")
    curator.retire(dataset, reason=said.reason)
    return Retired(dataset=dataset)


@router.post("/public-tables", status_code=201)
def add_public(said: PublicTableBody, request: Request, caller: Owner) -> Added:
    """Add a table that belongs to nobody."""
    app_state = app_state_of(request)
    curator, again = app_state.curator.as_owner(caller.name), app_state.uploads.used(said.upload)
    with app_state.computing, app_state.uploads.kept(said.upload) as path:
        kinds = kinds_of(path, said)
        columns, spelled = said.read_columns(kinds), dict(said.kinds)
        try:
            about = {"columns": columns, "kinds": spelled, **_read_as(said)}
            curator.add_public(said.name, path, key=said.key, **about)
        except InputError:
            if again is None:
                raise
            known = ColumnDeclarations(columns, spelled, frozenset(said.key))
            types = known.types(_taken(said, kinds, path))
            made = PublicTable(said.name, types, tuple(said.key))
            if curator.schema.tables.get(said.name) != made:
                raise
    return Added(name=said.name, dataset=None)


@router.post("/preview")
def preview(said: TableBody, request: Request, caller: Owner) -> Preview:
    """Try a description on made-up rows before any data is added."""
    del caller
    app_state = app_state_of(request)
    path = app_state.uploads.find(said.upload)
    with app_state.computing:
        kinds = kinds_of(path, said)
        made = app_state.curator.dummy()
        with made:  # a curator over made-up rows that has the table too
            table = _table(said, kinds, Incoming(kinds))
            rows = dummy(Schema({**made.schema.tables, said.name: table}))[said.name]
            made.add(said.name, rows, **said.facts(kinds))
            return Preview(
                rows=in_rows(rows.slice(0, _SHOWN)),
                question=_tried(made, said),
                statement=promise(made, said.dataset or said.name),
            )


def _table(said: TableBody, kinds: dict[str, Kind], incoming: Incoming) -> Table:
    """The table that is described."""
    columns = ColumnDeclarations(said.read_columns(kinds), said.kinds, frozenset(said.required))
    unit = said.read_unit()
    whose = Person(unit) if isinstance(unit, str) else unit
    return Table(said.name, columns.types(incoming), whose, said.limits.read() or Limits())


def _tried(made: Curator, said: TableBody) -> Tried:
    """Count the rows of each public key, or all of them, for a tenth of the budget."""
    table = made.schema.tables[said.name]
    group = next((name for name, of in table.columns.items() if of.keys), None)
    name, by = _quoted(said.name), None if group is None else _quoted(group)
    sql = f"SELECT COUNT(*) AS n FROM {name}"  # noqa: S608 - read by our own reader, and quoted
    if by is not None:
        sql = f"SELECT {by}, COUNT(*) AS n FROM {name} GROUP BY {by}"  # noqa: S608 - likewise
    budget = None if said.budget is None else said.budget.read().epsilon
    epsilon = 1 if budget is None else budget / _TENTH
    release = made.sql(sql, epsilon=epsilon)
    explained = made.explain(sql, epsilon=epsilon)
    widths = {
        name: [plain(width) for width in column.to_pylist()]
        for name, column in release.half_widths.items()
    }
    told: dict[str, Any] = {"answer": in_rows(release.table), "half_widths": widths}
    return Tried(sql=sql, epsilon=str(epsilon), text=str(explained), **told)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


# --- one person with a budget of their own; names travel in bodies alone -------------------------


class PersonBody(StrictBody):
    """A person, as the column that names people has them, and the dataset they are in."""

    name: Annotated[str, Field(min_length=1, max_length=1000)]
    dataset: Name

    def find(self, request: Request, caller: Caller) -> tuple[Curator, Any]:
        """The curator in the hands of who calls, and the name in its kind."""
        curator = app_state_of(request).curator.as_owner(caller.name)
        return curator, curator.person_named(self.name, self.dataset)


class LimitBody(PersonBody):
    """The limit of one person from now on; 0 is to opt out."""

    epsilon: Annotated[str, Field(max_length=100)]


class PersonReply(BaseModel):
    """That it was done; whether there is such a person is not looked at."""

    done: bool = True


class StatementReply(BaseModel):
    """A statement for the person it is about, and for nobody else."""

    text: str
    facts: dict[str, Any]


@router.post("/people/statement")
def statement(said: PersonBody, request: Request, caller: Owner) -> StatementReply:
    """The statement of one person: what was computed with them, and what it can have told."""
    app_state = app_state_of(request)
    with app_state.work.taken(patience=app_state.settings.patience):
        curator, who = said.find(request, caller)
        told = curator.statement_for(who, dataset=said.dataset)
    return StatementReply(text=str(told), facts=told.to_dict())


@router.post("/people/limit")
def limit(said: LimitBody, request: Request, caller: Owner) -> PersonReply:
    """Let one person lose less than the others, from the next question on."""
    curator, who = said.find(request, caller)
    curator.limit_person(who, epsilon=read_number(said.epsilon, "epsilon"), dataset=said.dataset)
    return PersonReply()


@router.post("/people/remove")
def remove(said: PersonBody, request: Request, caller: Owner) -> PersonReply:
    """Close the account of one person for ever: their rows are in no later answer."""
    curator, who = said.find(request, caller)
    curator.remove_person(who, dataset=said.dataset)
    return PersonReply()
