"""Wide tables, and questions that are asked while one is being added."""

import threading
import time

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from clinic_curator import COUNT, add_visits
from discreet.curator.data.data_store import DataStore
from discreet.engines.duckdb import DuckDBEngine
from discreet.errors import InputError


def wide(columns, rows=50):
    numbers = {f"c{n}": np.arange(rows) % 7 for n in range(columns)}
    return pa.table({"id": list(range(rows)), **numbers})


def test_a_wide_table_is_looked_through_in_a_few_statements(monkeypatch):
    looks, look = [], DuckDBEngine._is_readable
    monkeypatch.setattr(DuckDBEngine, "_is_readable", lambda *args: looks.append(1) or look(*args))
    curator = dp.Curator.in_memory()
    curator.add("wide", wide(600), unit="id", budget=dp.Budget(epsilon=1, delta=1e-6))
    assert len(looks) == 1
    curator.close()


@pytest.mark.audit
def test_five_thousand_columns_are_added_in_seconds():
    curator, begun = dp.Curator.in_memory(), time.process_time()
    curator.add("wide", wide(5000), unit="id", budget=dp.Budget(epsilon=1, delta=1e-6))
    assert time.process_time() - begun < 30
    curator.close()


def test_questions_are_answered_while_a_table_is_being_added(tmp_path, monkeypatch):
    curator = add_visits(dp.Curator(tmp_path / "c"))
    reading, go_on, check = threading.Event(), threading.Event(), DuckDBEngine.check_readable

    def slowly(*args):
        reading.set()
        go_on.wait(30)
        check(*args)

    monkeypatch.setattr(DuckDBEngine, "check_readable", slowly)
    budget = dp.Budget(epsilon=1, delta=1e-6)
    adding = threading.Thread(
        target=curator.add, args=("wide", wide(20)), kwargs={"unit": "id", "budget": budget}
    )
    adding.start()
    reading.wait(30)
    assert curator.sql(COUNT, epsilon=0.1)
    assert set(curator.datasets()) == {"visits"}
    go_on.set()
    adding.join()
    assert set(curator.datasets()) == {"visits", "wide"}
    assert curator.sql("SELECT COUNT(*) AS n FROM wide", epsilon=0.1)
    curator.check_tables()
    curator.close()


def test_of_two_who_add_one_name_at_a_time_one_is_refused(tmp_path, monkeypatch):
    curator, outcomes = dp.Curator(tmp_path / "c"), []
    together, check = threading.Barrier(2, timeout=30), DuckDBEngine.check_readable

    def at_once(*args):
        together.wait()
        check(*args)

    monkeypatch.setattr(DuckDBEngine, "check_readable", at_once)

    def add(rows):
        try:
            curator.add("wide", rows, unit="id", budget=dp.Budget(epsilon=1, delta=1e-6))
            outcomes.append("added")
        except InputError as refused:
            outcomes.append("already" if "already" in str(refused) else str(refused))

    threads = [threading.Thread(target=add, args=(wide(3, rows),)) for rows in (10, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["added", "already"]
    assert len(list((tmp_path / "c" / "data").iterdir())) == 1
    curator.check_tables()
    assert curator.sql("SELECT COUNT(*) AS n FROM wide", epsilon=0.1)
    curator.close()


@pytest.mark.parametrize("name", [".", ".."])
def test_a_table_is_not_called_like_another_place(name):
    curator = dp.Curator.in_memory()
    with pytest.raises(InputError, match="another place"):
        curator.add(name, wide(2), unit="id", budget=dp.Budget(epsilon=1, delta=1e-6))
    curator.close()


def test_data_that_a_killed_process_left_is_swept_and_lost_tables_stay(tmp_path, monkeypatch):
    with add_visits(dp.Curator(tmp_path / "c")) as curator:
        assert isinstance(curator._data_store, DataStore)
    data = tmp_path / "c" / "data"
    (kept,) = data.iterdir()
    (data / "half.parquet").write_bytes(b"PAR1 half")
    dp.Curator(tmp_path / "c").close()
    assert len(list(data.iterdir())) == 2  # somebody may be writing it
    later = time.time() + 90_000
    monkeypatch.setattr(time, "time", lambda: later)
    dp.Curator(tmp_path / "c").close()
    assert list(data.iterdir()) == [kept]
    (tmp_path / "c" / "tables.json").rename(tmp_path / "tables.json")
    dp.Curator(tmp_path / "c").close()
    assert list(data.iterdir()) == [kept]
