"""One person with 10^5 rows: the same statements run, nothing raises, and few rows are counted."""

# ruff: noqa: S608 - the questions are made here, of fixed parts

from contextlib import contextmanager
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import discreet.sql.writer.relations as room
from discreet.answer import measurement_plan
from discreet.answer.measurement_plan import answer
from discreet.answer.plan.price import Price
from discreet.engines.duckdb import DuckDBEngine
from discreet.plan import relations
from discreet.plan.expressions import Column
from discreet.plan.kinds import Kind, Type
from discreet.plan.relations import JoinPerson, Keep, Named, Project, Scan
from discreet.plan.schema import PERSON, Bounds, Limits, Person, Schema, Table, column_type
from discreet.plan.statistics import needed
from discreet.plan.work import bound_work
from discreet.sql.reader.read import read
from discreet.sql.writer.compile import CompiledQuery
from reference.plans import rows_of

HEAVY = -1
ROWS = 100_000
COLUMNS = {
    "who": Type(Kind.INTEGER),
    "x": column_type("x", Kind.INTEGER, Bounds(0, 9)),
    "note": Type(Kind.TEXT),
}
SCHEMA = Schema({"visits": Table("visits", COLUMNS, Person("who"), Limits(3, 3))})
BOTH = "ON a.who = b.who"
QUESTIONS = {
    "join": f"SELECT COUNT(*), AVG(a.x) FROM visits a JOIN visits b {BOTH}",
    "left join": f"SELECT COUNT(b.x) FROM visits a LEFT JOIN visits b {BOTH} AND b.x > 3",
    "chain": "SELECT COUNT(*) FROM visits a "
    + " ".join(f"JOIN visits b{i} ON a.who = b{i}.who" for i in range(3)),
    "copies": "WITH c AS (SELECT * FROM visits UNION ALL SELECT * FROM visits),"
    " d AS (SELECT * FROM c UNION ALL SELECT * FROM c)"
    f" SELECT MEDIAN(a.x) FROM d a JOIN d b {BOTH} JOIN d c ON a.who = c.who",
    "one row each": "SELECT AVG(a.x) FROM visits a JOIN (SELECT who, COUNT(*) AS n FROM visits"
    f" GROUP BY who) b {BOTH} WHERE n > 2",
    "long texts": "SELECT COUNT(DISTINCT a.note || b.note || a.note) FROM visits a"
    f" JOIN visits b {BOTH}",
    "found groups": f"SELECT a.note, COUNT(*) FROM visits a JOIN visits b {BOTH} GROUP BY a.note",
}


class Recording(DuckDBEngine):
    """An engine that keeps the statements of its sessions."""

    def __init__(self):
        super().__init__()
        self.ran = []

    @contextmanager
    def snapshot(self, until=None):
        with super().snapshot(until) as session:
            keep, stream = session.keep, session.stream
            session.keep = lambda *kept: (self.ran.append(kept), keep(*kept))[1]
            session.stream = lambda text, *most: (self.ran.append(text), stream(text, *most))[1]
            yield session


@cache
def engine(heavy):
    """300 people with up to 5 rows, and perhaps one with very many rows of long texts."""
    people = np.repeat(np.arange(300), np.arange(300) % 5 + 1)
    who = np.concatenate([people, np.full(heavy, HEAVY)])
    notes = ["short"] * len(people) + [f"{i % 50} " + "long " * 40 for i in range(heavy)]
    made = Recording()
    made.store("visits", pa.table({"who": who, "x": who % 10, "note": notes}))
    made.open(SCHEMA)
    return made


def counted(query, heavy):
    """The rows of the heavy person that are counted."""
    compiled = CompiledQuery(query, needed(query), DuckDBEngine.dialect, "salt")
    statement = f"SELECT COUNT(*) FROM ({compiled.rows([])}) WHERE {PERSON} = {HEAVY}"
    with engine(heavy).snapshot() as session:
        return next(iter(session.stream(statement))).column(0)[0].as_py()


@pytest.mark.parametrize("text", QUESTIONS.values(), ids=QUESTIONS)
def test_the_same_statements_run_with_and_without_somebody_with_very_many_rows(text, monkeypatch):
    monkeypatch.setattr(measurement_plan.os, "urandom", lambda count: b"s" * count)
    query, ran = read(text, SCHEMA), []
    for heavy in (0, ROWS):
        engine(heavy).ran.clear()
        answer(query, engine(heavy), Price(1, 1e-6))
        ran.append(list(engine(heavy).ran))
    assert ran[0] == ran[1]
    assert ran[0]


@pytest.mark.parametrize("text", QUESTIONS.values(), ids=QUESTIONS)
def test_the_rows_of_one_person_after_joins_are_bounded(text):
    query = read(text, SCHEMA)
    assert 0 < counted(query, ROWS) <= bound_work(query, ROWS).rows_each <= relations.MOST_JOINED


def test_without_a_cap_the_rows_would_multiply(monkeypatch):
    monkeypatch.setattr(relations, "join_caps", lambda _join: (None, None))
    query = read(QUESTIONS["join"], SCHEMA)
    assert counted(query, 1000) > relations.MOST_JOINED


def rows_by(salt, most, monkeypatch):
    """What a join keeps of everybody, as a multiset, by the engine and by the reference."""
    monkeypatch.setattr(relations, "MOST_JOINED", most)
    right = Project(Scan(SCHEMA.tables["visits"]), (Named("y", Column("x")),))
    left = Project(Scan(SCHEMA.tables["visits"]), (Named("x", Column("x")),))
    join = JoinPerson(left, right, (), Keep.MATCHED)
    sql = room.render_relation(join, DuckDBEngine.dialect, salt)
    with engine(0).snapshot() as session:
        found = [tuple(r.values()) for b in session.stream(sql) for r in b.to_pylist()]
    return join, sorted(found)


def test_the_engine_keeps_the_rows_that_the_reference_keeps(monkeypatch):
    join, found = rows_by("<secret>", 9, monkeypatch)
    people = np.repeat(np.arange(300), np.arange(300) % 5 + 1)
    table = [{PERSON: int(p), "who": int(p), "x": int(p) % 10, "note": "short"} for p in people]
    meant = [(r[PERSON], r["x"], r["y"]) for r in rows_of(join, {"visits": table})]
    assert found == sorted(meant)
    assert max(sum(row[0] == person for row in found) for person in range(300)) == 9


def test_other_secrets_keep_other_rows_and_as_many():
    query = read("SELECT COUNT(*) FROM visits a JOIN visits b ON a.who = b.who", SCHEMA)
    kept = []
    for salt in ("one", "two", "one"):
        compiled = CompiledQuery(query, needed(query), DuckDBEngine.dialect, salt)
        rows = compiled.rows(["note"])
        statement = f"SELECT note FROM ({rows}) WHERE {PERSON} = {HEAVY}"
        with engine(ROWS).snapshot() as session:
            batches = list(session.stream(statement))
        kept.append(sorted(text for batch in batches for text in batch.column(0).to_pylist()))
    assert kept[0] == kept[2] != kept[1]
    assert len(kept[0]) == len(kept[1]) == 1 << 16


@pytest.mark.parametrize("zeros", [(0.0, -0.0), (-0.0, 0.0)], ids=["0 first", "-0 first"])
def test_which_zero_comes_first_does_not_choose_rows(zeros):
    """Grouping keeps either of them, by the order of rows, which other people's rows can change."""
    real = Table("t", {"who": Type(Kind.REAL), "z": Type(Kind.REAL)}, Person("who"), Limits(1, 1))
    made = DuckDBEngine()
    values = [*zeros, *map(float, range(1, 9))]
    made.store("t", pa.table({"who": zeros * 5, "z": values}))
    made.open(Schema({"t": real}))
    kept = {}
    kinds = {"z": Kind.REAL}
    each = f"SELECT DISTINCT {PERSON}, z FROM data.t"
    with made.snapshot() as session:
        for salt in map(str, range(20)):
            sql = room.first_rows(each, PERSON, kinds, 4, made.dialect, salt)
            (batch,) = session.stream(sql)
            kept[salt] = sorted(abs(value) for value in batch.column("z").to_pylist())
    assert all(len(values) == 4 for values in kept.values())
    assert sum(0.0 in values for values in kept.values()) == 8
