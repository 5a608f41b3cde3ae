"""What a profile counts is the same on two engines, and what a few lines of Python count."""

import datetime as dt
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import postgres_tables
from discreet.answer.plan.contribution_histogram import LADDER
from discreet.curator.orders.profile_orders import count_block, count_people, count_texts
from discreet.engines.duckdb import DuckDBEngine
from discreet.plan.bounding import FULL, largest_weight
from discreet.plan.kinds import Kind, Type
from discreet.plan.schema import EachRow, Person, Schema, Table
from discreet.sql.writer.compile_profile import CompiledProfile
from discreet.workload.profile import ValueCells
from postgres_server import empty_database, start

DAY = dt.date(1931, 5, 1)
TYPES = {
    "person": Type(Kind.INTEGER),
    "whole": Type(Kind.INTEGER),
    "real": Type(Kind.REAL),
    "day": Type(Kind.DATE),
    "seen": Type(Kind.TIMESTAMP),
    "sex": Type(Kind.TEXT, keys=("f", "m", None)),
    "word": Type(Kind.TEXT),
}
ODD = [0.0, -0.0, 1e-12, -3.25, 1e200, float("nan"), float("inf"), None]
LIMIT = 3


def rows():
    """People of 1 to 5 rows and one of 5,000; NULLs, odd numbers, long texts, nobody's rows."""
    owners = [None, None, *(i for i in range(60) for _ in range(1 + i % 5)), *[99] * 5000]
    table = {
        "person": owners,
        "whole": [None if i % 7 == 0 else i * i * (-1) ** i for i in range(len(owners))],
        "real": [ODD[i % len(ODD)] for i in range(len(owners))],
        "day": [DAY + dt.timedelta(days=i % 400) for i in range(len(owners))],
        "seen": [dt.datetime(2021, 1, 1) + dt.timedelta(hours=i) for i in range(len(owners))],  # noqa: DTZ001 - no zone
        "sex": [("f", "m", "x", None)[i % 4] for i in range(len(owners))],
        "word": [(f"é{i % 9}", "x" * 70, None, "")[i % 4] for i in range(len(owners))],
    }
    kinds = {"person": pa.int64(), "whole": pa.int64(), "real": pa.float64(), "day": pa.date32()}
    kinds |= {"seen": pa.timestamp("us"), "sex": pa.string(), "word": pa.string()}
    return pa.table(table, pa.schema(kinds))


def weighed(by_row):
    """Each row that counts, with its weight, as Python counts."""
    told = rows().to_pylist()
    many = Counter(row["person"] for row in told)
    for row in told:
        n = 1 if by_row else many[row["person"]]
        if by_row or row["person"] is not None:
            yield row, FULL if n <= LIMIT else int(largest_weight(LIMIT, squared=False) / n)


@pytest.fixture(scope="module")
def engines():
    address = empty_database(start())
    return {"duckdb": in_memory, "postgres": lambda *said: postgres_tables.load(address, *said)}


def in_memory(schema, tables):
    engine = DuckDBEngine()
    engine.open(schema, tables)
    return engine


@pytest.mark.parametrize("name", ["duckdb", "postgres"])
@pytest.mark.parametrize("unit", [Person("person"), EachRow()], ids=["person", "row"])
def test_every_engine_counts_the_same(engines, name, unit):
    by_row, table = isinstance(unit, EachRow), Table("people", TYPES, unit)
    engine = engines[name](Schema({"people": table}), {"people": rows()})
    compiled = CompiledProfile(table, engine.dialect, "salt")
    names = ["whole", "real", "day", "seen", "sex"]
    with engine.snapshot() as session:
        people = None if by_row else count_people(session, compiled)
        for kept in compiled.weights(LIMIT):
            session.keep(*kept)
        total, counts = count_block(session, compiled, names)
        words = count_texts(session, compiled, "word", 2 * FULL)
    engine.close()
    known = list(weighed(by_row))

    assert total == sum(weight for _, weight in known)
    if people is not None:
        many = Counter(row["person"] for row, _ in known)
        fits = Counter(int(np.searchsorted(LADDER, n)) for n in many.values())
        assert people.tolist() == [fits[i] for i in range(len(LADDER) + 1)]
    for column, found in zip(names[:-1], counts[:-1], strict=True):
        wanted, nulls = binned(column, known)
        assert np.array_equal(found.exact, wanted), column
        assert found.nulls == nulls, column
    sexes = Counter({row["sex"]: 0 for row, _ in known})
    for row, weight in known:
        sexes[row["sex"]] += weight
    assert counts[-1].exact.tolist() == [sexes[key] for key in ("f", "m", "x", None)]
    check_words(words, known)


def binned(column, known):
    kind = TYPES[column].kind
    cells, nulls = ValueCells.of(kind), 0
    found = np.zeros(cells.size, dtype=np.int64)
    for row, weight in known:
        value = row[column]
        if value is None or (kind is Kind.REAL and not np.isfinite(value)):
            nulls += weight
        else:
            if kind is Kind.DATE:
                value = (value - dt.date(1970, 1, 1)).days
            elif kind is Kind.TIMESTAMP:
                value = (value - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)  # noqa: DTZ001 - no zone
            found[cells.place(np.array([value]))[0]] += weight
    return found, nulls


def check_words(words, known):
    values, weights, rest, number = words
    told = Counter()
    for row, weight in known:
        told[row["word"]] += weight
    nulls, long = told.pop(None), told.pop("x" * 70)
    assert rest == [long, nulls]
    assert number == sum(min(FULL, one) for one in [*told.values(), long])
    assert dict(zip(values, weights.tolist(), strict=True)) == {
        word: one for word, one in told.items() if one >= 2 * FULL
    }
