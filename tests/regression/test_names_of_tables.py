"""What a question makes for itself never meets a table; no stored value is an error."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.answer.measurement_plan import answer
from discreet.answer.plan.price import Price
from discreet.engines.duckdb import DuckDBEngine
from discreet.errors import InputError
from discreet.plan.kinds import Kind
from discreet.plan.schema import (
    Bounds,
    Keys,
    Limits,
    Person,
    PublicTable,
    Schema,
    Table,
    column_type,
)
from discreet.sql.reader.read import read

COLUMNS = {
    "id": column_type("id", Kind.INTEGER),
    "c": column_type("c", Kind.TEXT, Keys(["a", "b"])),
    "l1": column_type("l1", Kind.REAL, Bounds(0, 9), nullable=False),
}
ROWS = pa.table({"id": [1, 1, 2], "c": ["a", "b", "a"], "l1": [1.0, 2.0, 3.0]})


@pytest.mark.parametrize(
    "name", ["pairs", "norms", "heavy", "roaming", "kept", "groups", "d0", "stored", "data", "temp"]
)
def test_a_table_may_be_called_what_it_likes(name):
    public = {"k": column_type("k", Kind.TEXT), "place": column_type("place", Kind.INTEGER)}
    schema = Schema(
        {
            name: Table(name, COLUMNS, Person("id"), Limits(2, 2)),
            f"{name} too": PublicTable(f"{name} too", public, ("k",)),
        }
    )
    engine = DuckDBEngine()
    engine.store(name, ROWS)
    engine.store(f"{name} too", pa.table({"k": ["a", "b"], "place": [7, 8]}))
    engine.open(schema)
    text = (
        f'SELECT c, COUNT(*) AS n, COUNT(DISTINCT l1) AS d, MEDIAN(l1) AS m FROM "{name}" '  # noqa: S608 - ours
        f'JOIN "{name} too" AS p ON c = p.k GROUP BY c'
    )
    release = answer(read(text, schema), engine, Price(10**6, 1e-6))
    engine.close()

    assert release.table.select(["c", "n", "d"]).to_pylist() == [
        {"c": "a", "n": 2, "d": 2},
        {"c": "b", "n": 1, "d": 1},
    ]


def no_text():
    ends = pa.py_buffer(np.array([0, 1, 3], dtype=np.int32).tobytes())
    return pa.Array.from_buffers(pa.string(), 2, [None, ends, pa.py_buffer(b"a\xff\xfe")])


def no_time():
    far = pa.py_buffer(np.array([0, 10**14], dtype=np.int64).tobytes())
    return pa.Array.from_buffers(pa.timestamp("s", "UTC"), 2, [None, far])


@pytest.mark.parametrize(
    ("made", "kind"), [(no_text, Kind.TEXT), (no_time, Kind.TIMESTAMP)], ids=["text", "time"]
)
def test_a_file_with_a_value_that_cannot_be_read_is_refused_before_anybody_asks(
    tmp_path, made, kind
):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"id": [1, 2], "x": made()}), path)
    columns = {"id": column_type("id", Kind.INTEGER), "x": column_type("x", kind)}
    table = Table("v", columns, Person("id"))
    engine = DuckDBEngine()
    engine.store("v", path)
    engine.open(Schema({"v": table}))

    with pytest.raises(InputError, match=r"v holds a value that cannot be read \(.*x\)"):
        engine.check_readable(table)
    engine.close()


def test_a_file_that_can_be_read_is_not_refused():
    table = Table("v", COLUMNS, Person("id"))
    engine = DuckDBEngine()
    engine.store("v", ROWS)
    engine.open(Schema({"v": table}))

    engine.check_readable(table)
    engine.close()
