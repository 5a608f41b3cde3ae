"""Whole questions, without noise: DuckDB's answer to a text, and the answer of its plan.

Joins, groups per person, unions, grouping sets, HAVING and values over aggregates are compared on
data where every row has an owner and no value leaves its bounds.
"""

# ruff: noqa: S608 - the questions are made here, of fixed parts

import math
import random

import duckdb
import pyarrow as pa

from clinic import CLINIC
from discreet.answer.estimate.answer_tables import compute_table, placed_rows
from discreet.answer.estimate.released_sql import DRAWS, answer_name, own_name, public_name
from discreet.engines.duckdb_dialect import DuckDBDialect
from discreet.engines.engine import ARROW
from discreet.plan.kinds import Kind
from discreet.plan.query import AggregateFunction, questions_in
from discreet.plan.relations import columns_of
from discreet.plan.released_tables import public_tables
from discreet.sql.writer.relations import render_relation

DIALECT = DuckDBDialect()
OWNERS = {
    "visits": "patient_id",
    "patients": "id",
    "tests": "patient",
    "families": "household",
    "purchases": "(SELECT household FROM plain.families WHERE member = buyer)",
}
NAMES = {Kind.INTEGER: "BIGINT", Kind.REAL: "DOUBLE", Kind.TEXT: "VARCHAR", Kind.DATE: "DATE"}
NAMES |= {Kind.TIMESTAMP: "TIMESTAMP", Kind.BOOLEAN: "BOOLEAN"}


def value(rng, table, name, of):
    """A value that fits; keys meet, others are often NULL."""
    if (table, name) in {("families", "member"), ("patients", "id")}:
        return None
    if name in {"patient_id", "patient", "buyer", "household"}:
        return rng.randint(1, 8)
    if of.nullable and rng.random() < 0.15 and name not in {"year", "month"}:
        return None
    match of.kind:
        case Kind.BOOLEAN:
            return rng.random() < 0.5
        case Kind.INTEGER:
            return rng.randint(1, 9)
        case Kind.REAL:
            return rng.randint(0, 80) / 8
        case Kind.TEXT:
            return rng.choice(["Haifa", "Austin", "haifa", "f", "m"])
        case Kind.DATE:
            return f"202{rng.randint(0, 5)}-0{rng.randint(1, 9)}-1{rng.randint(0, 9)}"
        case Kind.TIMESTAMP:
            return f"2024-0{rng.randint(1, 9)}-11 10:3{rng.randint(0, 9)}:00"


def rows_of(rng, table):
    match table.name:
        case "cities":
            return [("Haifa", "north", 9), ("Austin", "south", 5), ("haifa", None, 1)]
        case "rates":
            return [(y, m, m / 8) for y in range(2020, 2026) for m in range(1, 13)]
    rows = [
        [value(rng, table.name, name, of) for name, of in table.columns.items()]
        for _ in range(8 if table.name in {"patients", "families"} else 60)
    ]
    if table.name in {"patients", "families"}:
        rows = [[number, *row[1:]] for number, row in enumerate(rows, start=1)]
    return rows


def clinic_tables():
    """Schema `plain` holds the tables as they are, `data` the same with the owner of each row."""
    rng = random.Random(7)  # noqa: S311 - a fixed choice of rows
    connection = duckdb.connect()
    connection.execute("CREATE SCHEMA plain; CREATE SCHEMA data")
    for table in CLINIC.tables.values():
        columns = ", ".join(f'"{n}" {NAMES[of.kind]}' for n, of in table.columns.items())
        connection.execute(f"CREATE TABLE plain.{table.name} ({columns})")
        marks = ", ".join("?" * len(table.columns))
        connection.executemany(
            f"INSERT INTO plain.{table.name} VALUES ({marks})", rows_of(rng, table)
        )
    for table in CLINIC.tables:
        owner = f", {OWNERS[table]} AS _person" if table in OWNERS else ""
        connection.execute(f"CREATE TABLE data.{table} AS SELECT *{owner} FROM plain.{table}")
    return connection


def aggregate_sql(aggregate, scope):
    arguments = [DIALECT.render(argument, scope) for argument in aggregate.arguments]
    first = arguments[0] if arguments else "*"
    kind = "_samp" if aggregate.sample else "_pop"
    text = {
        AggregateFunction.COUNT: f"count({first})",
        AggregateFunction.COUNT_PEOPLE: "count(DISTINCT _person)",
        AggregateFunction.COUNT_DISTINCT: f"count(DISTINCT {first})",
        AggregateFunction.SUM: f"sum({first})",
        AggregateFunction.MEAN: f"avg({first})",
        AggregateFunction.MIN: f"min({first})",
        AggregateFunction.MAX: f"max({first})",
        AggregateFunction.QUANTILE: f"quantile_cont({first}, {float(aggregate.level or 0)})",
        AggregateFunction.VARIANCE: f"var{kind}({first})",
        AggregateFunction.STDDEV: f"stddev{kind}({first})",
        AggregateFunction.COVARIANCE: f"covar{kind}({', '.join(arguments)})",
        AggregateFunction.CORRELATION: f"corr({', '.join(arguments)})",
        AggregateFunction.MODE: f"mode({first})",
        AggregateFunction.SUM_DISTINCT: f"sum(DISTINCT {first})",
    }[aggregate.measure]
    where = aggregate.where
    text += "" if where is None else f" FILTER (WHERE {DIALECT.render(where, scope)})"
    return f"CAST({text} AS DOUBLE) AS {DIALECT.identifier(aggregate.name)}"


def plan_sql(query, *, grouped=False):
    """The plan without noise and bounds, as one statement: all of it, or its groups alone."""
    scope = columns_of(query.relation)
    renamed = [f"k{at} AS {DIALECT.identifier(key.name)}" for at, key in enumerate(query.keys)]
    renamed += [f'grouping(k{at}) AS "{name}"' for at, name in enumerate(query.groupings)]
    keys = [f"{DIALECT.render(k.expression, scope)} AS k{at}" for at, k in enumerate(query.keys)]
    inner = ", ".join(["*", *keys])
    parts = [*renamed, *(aggregate_sql(a, scope) for a in query.aggregates)]
    sets = ", ".join("(" + ", ".join(f"k{at}" for at in chosen) + ")" for chosen in query.sets)
    groups = (
        f"SELECT {', '.join(parts)} FROM (SELECT {inner} FROM "
        f"({render_relation(query.relation, DIALECT, 'salt')})) GROUP BY GROUPING SETS ({sets})"
    )
    if grouped:
        return groups
    released = query.released_columns
    outputs = [DIALECT.render(output.expression, released) for output in query.outputs]
    having = "" if query.having is None else f" WHERE {DIALECT.render(query.having, released)}"
    return f"SELECT {', '.join(outputs)} FROM ({groups}){having}"


def answered(engine, query):
    """The rows that a plan answers with, without noise."""
    if query.then is None:
        return engine.execute(plan_sql(query)).fetchall()
    tables = {DRAWS: pa.table({"_draw": [0]})}
    for place, one in enumerate(questions_in(query)):
        rows = engine.sql(plan_sql(one, grouped=True)).to_arrow_table()
        kinds = [pa.field(name, ARROW[of.kind]) for name, of in one.released_columns.items()]
        rows = rows.select([kind.name for kind in kinds]).cast(pa.schema(kinds))
        rows = rows.rename_columns([own_name(name) for name in rows.column_names])
        rows = rows.append_column("_draw", pa.array([0] * len(rows), pa.int64()))
        tables[answer_name(place)] = rows.append_column(
            "_at", pa.array(range(len(rows)), pa.int64())
        )
    for one in public_tables(query.then):
        names = ", ".join(f'"{name}"' for name in one.columns)
        found = engine.sql(f"SELECT {names} FROM {one.name}").to_arrow_table()
        kinds = pa.schema([(name, ARROW[of.kind]) for name, of in one.columns.items()])
        tables[public_name(one.name)] = placed_rows(found.cast(kinds))
    return [tuple(row.values()) for row in compute_table(query.then, tables).to_pylist()]


def tidy(rows):
    return sorted(([tidied(cell) for cell in row] for row in rows), key=repr)


def tidied(cell):
    if cell is None or isinstance(cell, str | bool):
        return cell
    if hasattr(cell, "isoformat"):
        return cell.isoformat()[:10]
    # Halves of the last digit are common, and which way they go is decided by the order of sums.
    return (
        round(float(cell) + 1.7e-7, 6) if math.isfinite(cell) else None
    )  # NULL, as the plan has it
