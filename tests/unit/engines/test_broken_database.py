"""What an internal error of the database leaves behind."""

import contextlib

import pytest

import discreet as dp
from clinic_curator import COUNT, add_visits
from discreet.engines.duckdb import DuckDBEngine
from discreet.errors import EngineError


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


def test_a_database_is_asked_whether_it_answers_after_a_statement_failed():
    with contextlib.closing(DuckDBEngine()) as engine:
        with pytest.raises(EngineError), engine.snapshot() as session:
            session.keep("t", "SELECT no_such_column")
        assert engine._doubted
        assert engine.is_sound
        assert not engine._doubted
