"""A server over a folder with one dataset, for the tests that do not need one of their own."""

import pytest

import discreet as dp
from running_server import served
from visits_folder import make


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="module")
def curator(folder):
    with dp.Curator(folder) as curator:
        yield curator


@pytest.fixture(scope="module")
def server(curator, folder):
    with served(curator, folder=folder) as server:
        yield server


@pytest.fixture(scope="module")
def owner(server):
    return server.token()
