"""Crash tests import the disk and the drivers that lie beside them."""

import sys
from pathlib import Path

import pytest

import postgres_server

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def server():
    return postgres_server.start()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """Where a ledger shared by processes may be."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.sqlite")
    return postgres_server.empty_database(request.getfixturevalue("server"))
