"""What a release counts is the same on two engines, and what a few lines of Python count."""

from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest

import postgres_tables
from discreet.curator.orders.census.census_plan import read_facts
from discreet.curator.orders.census.census_reading import read_geography
from discreet.engines.duckdb import DuckDBEngine
from discreet.plan.bounding import FULL, largest_weight
from discreet.plan.kinds import Kind, Range, Type
from discreet.plan.schema import EachRow, Person, PublicTable, Schema, Table
from postgres_server import empty_database, start
from small_census import BLOCKS, GEOGRAPHY, people, plan

TYPES = {
    "person": Type(Kind.INTEGER),
    "block": Type(Kind.TEXT),
    "sex": Type(Kind.TEXT, nullable=True, keys=("f", "m")),
    "age": Type(Kind.INTEGER, nullable=False, range=Range(0, 99)),
}
PLACES = PublicTable("places", {n: Type(Kind.TEXT) for n in GEOGRAPHY.column_names}, ("block",))


def rows():
    """People, two of whom have many rows; odd blocks, NULLs and values that are not listed."""
    more = [
        *({"person": 1, "block": BLOCKS[i % 30], "sex": "f", "age": i} for i in range(9)),
        *({"person": 2, "block": "Na1", "sex": "m", "age": 5} for _ in range(5000)),
        {"person": 700, "block": None, "sex": "f", "age": 1},
        {"person": 701, "block": "elsewhere", "sex": "f", "age": 1},
        {"person": 702, "block": "na1", "sex": "f", "age": 1},
        {"person": 703, "block": "Yc5", "sex": None, "age": 300},
        {"person": 704, "block": "Yc5", "sex": "x", "age": -7},
    ]
    return pa.concat_tables([people(100), pa.Table.from_pylist(more, people().schema)])


def weighed(by_row, max_rows):
    """Weights by block, sex and quarter of ages, as Python counts."""
    told = rows().to_pylist()
    many, found = Counter(row["person"] for row in told), defaultdict(int)
    for row in told:
        n = 1 if by_row else many[row["person"]]
        weight = FULL if n <= max_rows else int(largest_weight(max_rows, squared=False) / n)
        sex = {"f": 0, "m": 1}.get(row["sex"], 2)
        found[row["block"], sex, min(max(row["age"], 0), 99) // 25] += weight
    return found


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
    table = Table("people", TYPES, unit)
    schema = Schema({"people": table, "places": PLACES})
    engine = engines[name](schema, {"people": rows(), "places": GEOGRAPHY})
    facts = read_facts({**plan().spec, "max_rows": 2}, schema)
    with engine.snapshot() as session:
        tree, leaves = read_geography(session, facts, engine.dialect)
        facts.query.prepare(session, engine.dialect, leaves.column("block").combine_chunks())
        detail = list(facts.query.counts(session, engine.dialect, ["sex", "age"], [7, 30]))
        total = list(facts.query.counts(session, engine.dialect, [], [30]))
    engine.close()

    assert tree.sizes == (1, 2, 6, 30)
    assert leaves.column("block").to_pylist() == sorted(BLOCKS)
    assert [one.shape for one in detail] == [(7, 12), (23, 12)]
    counted = np.concatenate(detail)
    known = weighed(isinstance(unit, EachRow), 2)
    for i, block in enumerate(sorted(BLOCKS)):
        wanted = [known[block, sex, age] for sex in range(3) for age in range(4)]
        assert counted[i].tolist() == wanted
    assert np.array_equal(total[0][:, 0], counted.sum(axis=1))
