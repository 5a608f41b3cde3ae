"""Crash tests import the disk and the drivers that lie beside them."""

import sys
from pathlib import Path

import pytest

import postgres_server

sys.path.insert(0, str(Path(__file__).parent))

# The drivers fork, send signals and limit resources as only POSIX knows.
collect_ignore_glob = ["test_*.py"] if sys.platform == "win32" else []


@pytest.fixture(scope="session")
def server():
    return postgres_server.start()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """Where a ledger shared by processes may be."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.sqlite")
    return postgres_server.empty_database(request.getfixturevalue("server"))
