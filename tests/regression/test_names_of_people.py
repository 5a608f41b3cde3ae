"""Names of people and keys of rows are compared as they are read, in one kind.

Compared as they are stored, 64-bit names meet as doubles, where hundreds are one; a text that is no
number makes a join fail; '1' and '01' are two keys that both name row 1.
"""

import pyarrow as pa
import pytest

from discreet.answer.measurement_plan import answer
from discreet.answer.plan.price import Price
from discreet.engines.duckdb import DuckDBEngine
from discreet.errors import InputError, QueryRefused
from discreet.plan.expressions import Column
from discreet.plan.kinds import Kind
from discreet.plan.relations import JoinPerson, JoinPublic, Keep, Scan
from discreet.plan.schema import (
    Bounds,
    EachRow,
    KeyPath,
    Limits,
    Person,
    PublicTable,
    Schema,
    Table,
    column_type,
)
from discreet.sql.reader.read import read

BIG = 2**62
FEW = Limits(1, 300)


def opened(schema, **rows):
    engine = DuckDBEngine()
    for name, columns in rows.items():
        engine.store(name, pa.table(columns))
    engine.open(schema)
    return engine


def exact(text, schema, **rows):
    """The answer to a question for a price at which noise is nothing."""
    engine = opened(schema, **rows)
    release = answer(read(text, schema), engine, Price(10**7, 1e-6))
    engine.close()
    return release.table.to_pylist()[0]


def people(name, kind=Kind.INTEGER):
    return Table(name, {"id": column_type("id", kind)}, Person("id"), FEW)


# --- keys of public tables ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "spec", "nullable"),
    [
        (["1", "01", "+1"], None, True),
        ([1.0, 1.2, 0.9], None, True),
        ([1, 11, 12], Bounds(0, 10), True),
        ([0, None], None, False),
    ],
    ids=["texts of one number", "rounded to one", "held to one end", "NULL read as 0"],
)
def test_public_keys_that_are_read_as_one_are_refused(keys, spec, nullable):
    of = column_type("k", Kind.INTEGER, spec, nullable=nullable)
    schema = Schema({"p": PublicTable("p", {"k": of}, ("k",))})

    with pytest.raises(InputError, match="not unique"):
        opened(schema, p={"k": keys})


def test_public_keys_that_are_read_as_nothing_match_nothing():
    columns = {"k": column_type("k", Kind.INTEGER)}
    rows = Table("t", {"code": column_type("code", Kind.INTEGER)}, EachRow())
    schema = Schema({"t": rows, "p": PublicTable("p", columns, ("k",))})
    text = "SELECT COUNT(*) AS n FROM t JOIN p ON t.code = p.k"

    assert exact(text, schema, t={"code": [1, 2, None]}, p={"k": ["1", "x", "y"]}) == {"n": 1}


def test_a_real_that_would_meet_many_whole_keys_is_not_joined():
    """As doubles, 2^62 is equal to each of the 200 keys above it."""
    rows = Table("t", {"x": column_type("x", Kind.REAL)}, EachRow())
    public = PublicTable("p", {"k": column_type("k", Kind.INTEGER)}, ("k",))
    schema = Schema({"t": rows, "p": public})

    with pytest.raises(QueryRefused, match="compares real with integer"):
        read("SELECT COUNT(*) FROM t JOIN p ON t.x = p.k", schema)
    with pytest.raises(InputError, match="compares real with integer"):
        JoinPublic(Scan(rows), public, (Column("x"),), Keep.MATCHED, ())

    text = "SELECT COUNT(*) AS n FROM t JOIN p ON CAST(t.x AS BIGINT) = p.k"
    keys = [BIG + i for i in range(200)]
    assert exact(text, schema, t={"x": [float(BIG), 1.0]}, p={"k": keys}) == {"n": 1}


# --- names of people ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) AS n FROM a JOIN b ON a.id = b.id",
        "SELECT COUNT(*) AS n FROM (SELECT 1 AS x FROM a UNION ALL SELECT 1 AS x FROM b)",
    ],
)
def test_people_who_are_named_in_other_kinds_are_not_brought_together(text):
    schema = Schema({"a": people("a"), "b": people("b", Kind.REAL)})

    with pytest.raises(QueryRefused) as refused:
        read(text, schema)

    assert refused.value.start is not None


def test_names_that_are_stored_in_other_types_meet_exactly():
    schema = Schema({"a": people("a"), "b": people("b")})
    stored = {"a": {"id": [BIG + i for i in range(200)]}, "b": {"id": [float(BIG), 5.0]}}

    joined = exact("SELECT COUNT(*) AS n FROM a JOIN b ON a.id = b.id", schema, **stored)
    union = "SELECT COUNT(DISTINCT id) AS n FROM (SELECT id FROM a UNION ALL SELECT id FROM b)"

    assert joined == {"n": 1}
    assert exact(union, schema, **stored) == {"n": 201}


@pytest.mark.parametrize("odd", ["3", "x", "", "1e400"])
def test_a_name_that_is_none_is_nobody_and_no_error(odd):
    schema = Schema({"a": people("a"), "b": people("b")})
    text = "SELECT COUNT(*) AS n FROM a JOIN b ON a.id = b.id"

    assert exact(text, schema, a={"id": ["1", "2", odd]}, b={"id": [1, 2]}) == {"n": 2}


def test_names_are_not_held_to_bounds():
    columns = {"id": column_type("id", Kind.INTEGER, Bounds(0, 3), nullable=False)}
    schema = Schema({"a": Table("a", columns, Person("id"), FEW)})
    text = "SELECT COUNT(DISTINCT id) AS n FROM a"

    assert exact(text, schema, a={"id": [1, 50, 51, 52, None]}) == {"n": 4}


def test_people_joined_in_python_are_compared_in_one_kind():
    left = Table(
        "l", {"id": column_type("id", Kind.TEXT), "x": column_type("x", Kind.TEXT)}, Person("id")
    )
    right = Table(
        "r", {"who": column_type("who", Kind.TEXT), "y": column_type("y", Kind.REAL)}, Person("who")
    )

    with pytest.raises(InputError, match="compares text with real"):
        JoinPerson(Scan(left), Scan(right), ((Column("x"), Column("y")),), Keep.MATCHED)


# --- key paths ------------------------------------------------------------------------------------


def orders(key=Kind.INTEGER):
    """Items lead to orders, and these to customers."""
    items = {"order": column_type("order", Kind.INTEGER), "id": column_type("id", Kind.INTEGER)}
    owners = {"k": column_type("k", key), "id": column_type("id", Kind.INTEGER)}
    return Schema(
        {
            "items": Table("items", items, KeyPath("order", "orders", "k"), FEW),
            "orders": Table("orders", owners, Person("id"), FEW),
        }
    )


@pytest.mark.parametrize("odd", ["3", "x"])
def test_a_path_that_leads_nowhere_is_no_error(odd):
    """Both tables have a column `id`; each is its own."""
    items = {"order": ["1", "2", odd], "id": [7, 8, 9]}
    found = exact(
        "SELECT COUNT(*) AS n, COUNT(DISTINCT items.id) AS d FROM items",
        orders(),
        items=items,
        orders={"k": [1, 2], "id": [10, 10]},
    )

    assert found == {"n": 2, "d": 2}


def test_a_row_has_one_owner_at_most():
    items, owners = {"order": [1], "id": [1]}, {"k": ["1", "01"], "id": [1, 2]}

    with pytest.raises(InputError, match=r"orders\.k is not unique"):
        opened(orders(), items=items, orders=owners)


def test_a_path_compares_values_of_one_kind():
    with pytest.raises(InputError, match=r"order is integer and orders\.k is text"):
        orders(Kind.TEXT)
