"""A small made-up clinic that tests of questions share."""

import pyarrow as pa

from discreet.answer.measurement_plan import answer
from discreet.answer.plan.price import Price
from discreet.engines.duckdb import DuckDBEngine
from discreet.plan.kinds import Kind
from discreet.plan.schema import (
    Bounds,
    EachRow,
    Keys,
    Limits,
    Person,
    PublicTable,
    Schema,
    Table,
    column_type,
)
from discreet.sql.reader.read import read

CITIES = ["Austin", "Haifa", "Oslo"]
KINDS = {"person": pa.int64(), "city": pa.string(), "street": pa.string(), "amount": pa.float64()}


def schema(unit=None, limits=None):
    columns = {
        "person": column_type("person", Kind.INTEGER),
        "city": column_type("city", Kind.TEXT, Keys(CITIES), nullable=False),
        "street": column_type("street", Kind.TEXT),
        "amount": column_type("amount", Kind.REAL, Bounds(0, 100), nullable=False),
    }
    cities = {
        "name": column_type("name", Kind.TEXT, nullable=False),
        "country": column_type("country", Kind.TEXT, Keys(["US", "IL", "NO"]), nullable=False),
    }
    visits = Table("visits", columns, unit or Person("person"), limits or Limits(2, 4))
    return Schema({"visits": visits, "cities": PublicTable("cities", cities, ("name",))})


def clinic(people=3000, rows=2):
    """Each person visits `rows` times: two thirds of the visits are in Haifa."""
    persons = [i for i in range(people) for _ in range(rows)]
    visits = range(len(persons))
    return pa.table(
        {
            "person": pa.array(persons, pa.int64()),
            "city": pa.array([_city(i) for i in visits], pa.string()),
            "street": pa.array([f"street {i % 5}" for i in visits], pa.string()),
            "amount": pa.array([float(i % 101) for i in visits], pa.float64()),
        }
    )


def _city(visit):
    return "Haifa" if visit % 3 else CITIES[visit // 3 % 2 * 2]


def engine_of(table, about=None):
    about = about or schema()
    engine = DuckDBEngine()
    engine.store("visits", table)
    engine.store("cities", pa.table({"name": CITIES, "country": ["US", "IL", "NO"]}))
    engine.open(about)
    return engine


def ask(text, engine, about=None, epsilon=1, delta=1e-6):
    return answer(read(text, about or schema()), engine, Price(epsilon, delta))


__all__ = ["CITIES", "EachRow", "Limits", "Person", "ask", "clinic", "engine_of", "schema"]
