"""Postgres: the same integers as everywhere, from tables that are read where they are."""

import psycopg
import pytest

import postgres_tables
from discreet.engines import check_engine
from postgres_server import empty_database, start


@pytest.fixture(scope="module")
def address():
    return empty_database(start())


def test_postgres_passes_every_check(address):
    def change(_, name):
        with psycopg.connect(address) as other:
            other.execute(f"DELETE FROM {postgres_tables.place(name)}")

    check_engine(lambda *tables: postgres_tables.load(address, *tables), change)
