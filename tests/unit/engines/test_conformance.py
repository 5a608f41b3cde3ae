"""`check_engine`: DuckDB passes it, every planted bug fails it, its answers are the reference's,
and nothing of the plan is left out. Postgres, Spark and Ibis pass it in the files beside this one.
"""

# ruff: noqa: ARG002, S608 - planted dialects have the methods of others; statements are our own

import ast
import dataclasses
import enum
from pathlib import Path

import pytest

import discreet
from discreet.engines import check_engine, conformance
from discreet.engines.conformance import SCHEMA, stored
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.duckdb_dialect import DuckDBDialect
from discreet.engines.stored_types import DUCKDB
from discreet.errors import InvariantBroken
from discreet.plan.expressions import Case, Cast, Function, IsIn, Like, Truncate, Unit
from discreet.plan.kinds import Kind
from discreet.plan.relations import (
    FilterRows,
    JoinPerson,
    JoinPublic,
    Keep,
    PerPerson,
    Project,
    Scan,
    Union,
)
from discreet.plan.statistics import Distinct, People, Ranks, Rows, Total, needed
from discreet.plan.summaries import Summary
from discreet.sql.reader.read import read
from reference.engine_cases import answered


def load(schema, tables, engine=DuckDBEngine):
    made = engine()
    made.open(schema, tables)
    return made


def forget(engine, name):
    engine._database.execute(f"DELETE FROM stored.{name}")


def test_duckdb_passes_every_check():
    """The page about engines asks all questions over shuffled and missing rows; here are some."""
    check_engine(load, forget, thinned=16)


def test_the_stored_answers_are_those_of_the_reference():
    found = answered(stored())
    assert found["values"] == stored()["values"]
    assert found["questions"] == stored()["questions"]


def test_nobody_but_the_default_engine_names_its_database():
    source = Path(discreet.__file__).parent
    naming = {
        str(path.relative_to(source))
        for path in source.rglob("*.py")
        if "duckdb" in (text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom) and "duckdb" in ast.unparse(node)
    }
    # the SQL that analysts write is read with the grammar of DuckDB
    grammar = {"sql/reader/parse.py", "sql/reader/spellings.py"}
    assert {name for name in naming if not name.startswith("engines/duckdb")} == {
        "engines/default.py",
        "engines/ibis.py",  # it carries the SQL of DuckDB
        "server/postgres/catalogue.py",  # a closed database of names, without any data
        *grammar,
    }


# --- nothing is left out --------------------------------------------------------------------------


def parts(value):
    """All nodes and members of enumerations inside a plan."""
    if isinstance(value, enum.Enum):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from parts(part)
    elif dataclasses.is_dataclass(value):
        yield type(value)
        for field in dataclasses.fields(value):
            yield from parts(getattr(value, field.name))


def test_every_part_of_the_plan_is_asked():
    texts = [
        f"SELECT COUNT(*) FROM (SELECT id, {text} AS v FROM cells)" for text in stored()["values"]
    ]
    queries = [read(text, SCHEMA) for text in texts]
    asked = [read(case["sql"], SCHEMA) for case in stored()["questions"]]
    found = set(parts((*queries, *asked)))
    found |= {type(statistic) for query in asked for statistic in needed(query)}
    found |= {query.has_known_keys for query in asked}
    assert found >= {*Function, *Unit, *Summary, *Keep, *Kind, True, False}
    assert found >= {Case, Cast, IsIn, Like, Truncate, Rows, Total, People, Ranks, Distinct}
    assert found >= {Scan, FilterRows, Project, JoinPublic, JoinPerson, PerPerson, Union}


# --- planted bugs ---------------------------------------------------------------------------------


class Unsalted(DuckDBDialect):
    def encoded(self, text, kind):  # as the engine likes to write it
        return f"CAST({text} AS VARCHAR)"


class Equal(DuckDBDialect):
    def same(self, x, y):  # NULL meets nothing
        return f"{x} = {y}"


class Unmatched(DuckDBDialect):
    def matching(self, rows, others, condition, *, some=True):
        return rows


class Anyone(DuckDBDialect):
    def first(self, each, columns, of, order, most):  # whichever come first
        return super().first(each, columns, of, "1", most)


class Saturating(DuckDBDialect):
    def wide(self, text, kind=Kind.INTEGER):  # of the double's rounded digits
        return f"CAST(CAST({text} AS DOUBLE) AS HUGEINT)"


class HalfEven(DuckDBDialect):
    def whole(self, function, text):
        return (
            f"round_even({text}, 0)"
            if function is Function.ROUND
            else super().whole(function, text)
        )


class Unicode(DuckDBDialect):
    def recase(self, function, text):
        return f"{function.value}({text})"


class Blank(DuckDBDialect):
    def trim(self, function, text):
        return f"{function.value}({text})"


class Unescaped(DuckDBDialect):
    def text(self, value):
        return super().text(value.replace("\\", "\\\\"))


class Bytes(DuckDBDialect):
    def length(self, text):
        return f"strlen({text})"


class Raising(DuckDBDialect):
    def to_integer(self, text):
        return f"CAST({text} AS BIGINT)"


class Infinite(DuckDBDialect):
    def is_finite(self, text):  # as if nothing strayed
        return f"({text} IS NOT NULL)"


class Lenient(DuckDBDialect):
    def parse(self, text, kind):
        return f"TRY_CAST({text} AS {self.types[kind]})"


class Collated(DuckDBDialect):
    def stored(self, text, physical, wanted):
        sql, kind, strays = DUCKDB.read(text, physical, wanted)
        return (f"({text} COLLATE NOCASE)" if kind is Kind.TEXT else sql), kind, strays


VALUES = [Saturating, HalfEven, Unicode, Blank, Unescaped, Bytes, Raising, Infinite, Lenient]
QUESTIONS = [Unsalted, Equal, Unmatched, Anyone, Collated]


def planted(dialect):
    class Planted(DuckDBEngine):
        pass

    Planted.dialect = dialect()
    return lambda schema, tables: load(schema, tables, Planted)


@pytest.mark.parametrize("dialect", VALUES)
def test_a_dialect_that_gets_a_value_wrong_is_caught(dialect):
    with conformance.opened(planted(dialect)) as engine, pytest.raises(InvariantBroken):
        conformance.check_values(engine)


@pytest.mark.parametrize("dialect", QUESTIONS)
def test_a_dialect_that_gets_rows_wrong_is_caught(dialect):
    with conformance.opened(planted(dialect)) as engine, pytest.raises(InvariantBroken):
        conformance.check_questions(engine)


def broken(change):
    """An engine whose sessions are changed."""

    class Broken(DuckDBEngine):
        def snapshot(self, until=None):
            return change(super().snapshot, until)

    return lambda schema, tables: load(schema, tables, Broken)


def test_a_session_that_runs_on_after_its_time_is_caught():
    with (
        conformance.opened(broken(lambda snapshot, _: snapshot(None))) as engine,
        pytest.raises(InvariantBroken, match="after its time"),
    ):
        conformance.check_failures(engine)


def test_sessions_that_share_what_they_keep_are_caught():
    class Shared:
        """One session for everybody."""

        def __init__(self, session):
            self.session = session

        def __enter__(self):
            return self.session

        def __exit__(self, *_):
            pass

    opened = []

    def change(snapshot, until):
        if not opened:
            opened.append(snapshot(until))
            opened.append(opened[0].__enter__())
        return Shared(opened[1])

    with conformance.opened(broken(change)) as engine, pytest.raises(InvariantBroken):
        conformance.check_sessions(engine)


def test_an_engine_that_loses_duplicates_is_caught():
    def lossy(schema, tables):
        less = {
            name: table.group_by(table.column_names).aggregate([]) for name, table in tables.items()
        }
        return load(schema, less)

    with conformance.opened(lossy) as engine, pytest.raises(InvariantBroken):
        conformance.check_owner(engine)
