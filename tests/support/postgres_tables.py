"""Tables of Arrow in a database of the tests' Postgres, and an engine over them."""

import psycopg

from discreet.engines.engine import ARROW
from discreet.engines.postgres import PostgresEngine

SCHEMA = "warehouse"


def place(name):
    return f"{SCHEMA}.{PostgresEngine.dialect.identifier(name)}"


def copy_in(address, tables):
    """Put tables into a schema of their own, in place of what was there."""
    types = {arrow: PostgresEngine.dialect.types[kind] for kind, arrow in ARROW.items()}
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("SET client_min_messages = warning")
        connection.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
        connection.execute(f"CREATE SCHEMA {SCHEMA}")
        for name, rows in tables.items():
            columns = ", ".join(
                f"{PostgresEngine.dialect.identifier(field.name)} {types[field.type]}"
                for field in rows.schema
            )
            connection.execute(f"CREATE TABLE {place(name)} ({columns})")
            with connection.cursor().copy(f"COPY {place(name)} FROM STDIN") as copy:
                for row in rows.to_pylist():
                    copy.write_row(tuple(row.values()))


def load(address, schema, tables):
    """An engine over tables of Arrow."""
    copy_in(address, tables)
    engine = PostgresEngine(address)
    engine.open(schema, {name: place(name) for name in tables})
    return engine
