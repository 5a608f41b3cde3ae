"""What an internal error of the database leaves behind."""

import discreet as dp
from clinic_curator import COUNT, add_visits
from discreet.engines.duckdb import DuckDBEngine


def test_a_database_that_has_ended_is_opened_again(monkeypatch):
    with add_visits(dp.Curator.in_memory()) as curator:
        curator.sql(COUNT, epsilon=0.1)
        first = curator._data_store.open(())
        assert first.is_sound
        assert curator._data_store.open(()) is first
        with monkeypatch.context() as patch:
            patch.setattr(DuckDBEngine, "is_sound", property(lambda engine: engine is not first))
            again = curator._data_store.open(())
        assert again is not first
        assert curator.sql(f"{COUNT} WHERE amount < 3", epsilon=0.1).table.num_rows == 1
