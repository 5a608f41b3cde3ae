"""A shell for tests: real processes, or the same command line within this one."""

import os
import shutil
import subprocess
import sys

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import discreet as dp
from clinic_curator import add_visits
from discreet.cli import main
from visits import clinic


@pytest.fixture
def shell(tmp_path):
    """Run `discreet` as a process of its own in an empty folder."""
    pq.write_table(clinic(300), tmp_path / "visits.parquet")

    def run(*words, text="", **environment):
        return subprocess.run(
            [sys.executable, "-c", "from discreet.cli import main; main()", *words],
            cwd=tmp_path,
            input=text,
            capture_output=True,
            text=True,
            encoding="utf-8",
            env={**os.environ, "COLUMNS": "100", "PYTHONIOENCODING": "utf-8", **environment},
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def furnished(tmp_path_factory):
    """A curator's folder with the clinic's visits, which nobody touches."""
    folder = tmp_path_factory.mktemp("clinic") / "c"
    with add_visits(dp.Curator(folder)):
        pass
    return folder


@pytest.fixture
def clinic_folder(furnished, tmp_path):
    """A copy of that folder; its rows are read from the original."""
    shutil.copytree(furnished, tmp_path / "c")
    return tmp_path / "c"


@pytest.fixture
def discreet(clinic_folder):
    """Run a command on the clinic's curator, within this process."""

    def run(*words, text=None, folder=clinic_folder, foreseen=True):
        environment = {"DISCREET_CURATOR": str(folder), "COLUMNS": "100"}
        told = CliRunner().invoke(main, words, input=text, env=environment)
        # A fault ends with status 4 too, as do the engine and the ledger.
        assert not foreseen or "is not made for" not in told.output, told.output
        return told

    return run
