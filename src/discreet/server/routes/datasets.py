"""The owner's tables: tried on made-up rows, added once, grown; and what is done for one person."""

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from discreet.answer.present.release_json import plain
from discreet.curator import demo_clinic
from discreet.curator.client.wire import read_number
from discreet.curator.curator import Curator
from discreet.curator.data.intake import Incoming, take
from discreet.curator.data.load_report import PUBLIC
from discreet.curator.reports.privacy_promise import promise
from discreet.errors import InputError
from discreet.plan.dummy import dummy
from discreet.plan.kinds import Kind
from discreet.plan.schema import Schema
from discreet.server.app_state import ServerCall
from discreet.server.error_replies import missing
from discreet.server.permissions import Asker, Owner
from discreet.server.routes.public import DummyRowsReply, in_rows
from discreet.server.table_models import Name, PublicTableBody, ReadingBody, StrictBody, TableBody

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
def add(said: TableBody, call: Owner) -> Added:
    """Protect a table: a new dataset with a budget, or one more table within a dataset."""
    return _add(said, call, said.dataset or said.name)


@router.post("/public-tables", status_code=201)
def add_public(said: PublicTableBody, call: Owner) -> Added:
    """Add a table that belongs to nobody."""
    return _add(said, call, None)


def _add(said: TableBody | PublicTableBody, call: ServerCall, dataset: str | None) -> Added:
    curator, uploads = call.curator, call.app_state.uploads
    again = uploads.used(said.upload)
    with call.app_state.computing, uploads.kept(said.upload, _named(call)) as path:
        kinds = said.kinds_in(path)
        about = {**said.facts(kinds), "source_table": said.source_table}
        try:
            if isinstance(said, PublicTableBody):
                curator.add_public(said.name, path, reading=said.reading.read(), **about)
            else:
                about["confirm"] = said.confirm
                curator.add(said.name, path, reading=said.reading.read(), **about)
        except InputError:
            if again is None or not _was_added(curator, said, kinds, path):
                raise
    return Added(name=said.name, dataset=dataset)


def _named(call: ServerCall) -> Callable[[Path], bool]:
    """Whether a table is made of a file."""
    return lambda path: path.name in call.session.tables.file_names()


def _was_added(
    curator: Curator, said: TableBody | PublicTableBody, kinds: dict[str, Kind], path: Path
) -> bool:
    """Whether the table is there in just these words: then the first reply was lost."""
    unit, stated = said.unit_column(), said.stated(kinds)
    if isinstance(said, PublicTableBody):
        stated = replace(stated, confirm=PUBLIC)
    found = take(path, stated, said.source_table, name=said.name, unit=unit)
    if curator.schema.tables.get(said.name) != said.table(kinds, found):
        return False
    if isinstance(said, PublicTableBody):
        return True
    if said.name not in curator.datasets().get(said.dataset or said.name, ()):
        return False
    if (budget := said.read_budget()) is None:
        return True
    known = curator.budget(said.name)
    cap = budget.cap(curator.neighbours, *([known.limit] if known.limit else []))
    return known.is_under(cap, per_person=budget.is_per_person)


@router.post("/demo", status_code=201)
def add_demo(said: DemoBody, call: Owner) -> Added:
    """Add a clinic of made-up patients to try questions on, unless it is there."""
    del said
    curator = call.curator
    with call.app_state.computing, _demo:
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
def retire(dataset: str, said: RetireBody, call: Owner) -> Retired:
    """End a dataset for ever: its account and its answers stay, its name is never used again."""
    if dataset not in call.curator.datasets():
        raise missing("dataset of this name")
    call.curator.retire(dataset, reason=said.reason)
    return Retired(dataset=dataset)


@router.post("/preview")
def preview(said: TableBody, call: Owner) -> Preview:
    """Try a description on made-up rows before any data is added."""
    path = call.app_state.uploads.find(said.upload)
    with call.app_state.computing:
        kinds = said.kinds_in(path)
        with call.curator.dummy() as made:  # a curator over made-up rows that has the table too
            tables = {**made.schema.tables, said.name: said.table(kinds, Incoming(kinds))}
            rows = dummy(Schema(tables))[said.name]
            made.add(said.name, rows, **said.facts(kinds))
            return Preview(
                rows=in_rows(rows.slice(0, _SHOWN)),
                question=_tried(made, said),
                statement=promise(made, said.dataset or said.name),
            )


def _tried(made: Curator, said: TableBody) -> Tried:
    """Count the rows of each public key, or all of them, for a tenth of the budget."""
    table = made.schema.tables[said.name]
    group = next((name for name, of in table.columns.items() if of.keys), None)
    name, by = _quoted(said.name), None if group is None else _quoted(group)
    sql = f"SELECT COUNT(*) AS n FROM {name}"  # noqa: S608 - read by our own reader, and quoted
    if by is not None:
        sql = f"SELECT {by}, COUNT(*) AS n FROM {name} GROUP BY {by}"  # noqa: S608 - likewise
    budget = said.read_budget()
    epsilon = 1 if budget is None or budget.epsilon is None else budget.epsilon / _TENTH
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


# --- rows that are appended, and versions --------------------------------------------------------


class PartBody(StrictBody):
    """Rows for a table: an upload, and the day through which the table is complete with them."""

    table: Name
    upload: Name
    through: Annotated[dt.date, Field(strict=False)] | None = None
    again: bool = False
    reading: ReadingBody | None = None


class VersionReply(BaseModel):
    """A version of a dataset."""

    version: int


class PartReply(BaseModel):
    """Rows that were appended: the version they began, and the day through which they are whole."""

    table: str
    version: int
    time: str
    through: str | None


class PartsReply(VersionReply):
    """The newest version of a dataset, and the parts that it grew by, in order."""

    parts: list[PartReply]


parts_router = APIRouter(tags=["parts"])


@parts_router.post("/parts", status_code=201)
def append(said: PartBody, call: Owner) -> VersionReply:
    """Append rows to a private table; they begin a version of its dataset."""
    reading = None if said.reading is None else said.reading.read()
    how = said.model_dump(include={"through", "again"})
    kept = call.app_state.uploads.kept(said.upload, _named(call))
    with call.app_state.computing, kept as path:
        return VersionReply(version=call.curator.append(said.table, path, reading=reading, **how))


@parts_router.get("/parts/{dataset}")
def version(dataset: str, call: Asker) -> PartsReply:
    """The newest version of a dataset, and its parts."""
    seen, ledger = call.session.tables, call.app_state.curator.ledger
    if dataset not in seen.datasets():
        raise missing("dataset of this name")
    found = [one for table in seen.datasets()[dataset] for one in ledger.appended(table)]
    parts = [
        PartReply(
            table=one.facts["table"],
            version=one.facts["version"],
            time=one.time,
            through=one.facts.get("through"),
        )
        for one in found
    ]
    return PartsReply(
        version=seen.data_version(dataset), parts=sorted(parts, key=lambda one: one.version)
    )


# --- one person with a budget of their own; names travel in bodies alone -------------------------


class PersonBody(StrictBody):
    """A person, as the column that names people has them, and the dataset they are in."""

    name: Annotated[str, Field(min_length=1, max_length=1000)]
    dataset: Name


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
def statement(said: PersonBody, call: Owner) -> StatementReply:
    """The statement of one person: what was computed with them, and what it can have told."""
    with call.app_state.computing:
        who = call.curator.person_named(said.name, said.dataset)
        told = call.curator.statement_for(who, dataset=said.dataset)
    return StatementReply(text=str(told), facts=told.to_dict())


@router.post("/people/limit")
def limit(said: LimitBody, call: Owner) -> PersonReply:
    """Let one person lose less than the others, from the next question on."""
    who, epsilon = call.curator.person_named(said.name, said.dataset), said.epsilon
    call.curator.limit_person(who, epsilon=read_number(epsilon, "epsilon"), dataset=said.dataset)
    return PersonReply()


@router.post("/people/remove")
def remove(said: PersonBody, call: Owner) -> PersonReply:
    """Close the account of one person for ever: their rows are in no later answer."""
    who = call.curator.person_named(said.name, said.dataset)
    call.curator.remove_person(who, dataset=said.dataset)
    return PersonReply()
