"""A bar in a terminal, silence everywhere else."""

import gzip
import os
import subprocess
import sys
import threading

import pyarrow.csv
import pytest

import discreet as dp
from clinic_curator import BUDGET, add_visits
from discreet.curator.data.intake import take
from discreet.curator.data.load_report import Stated
from discreet.curator.data.registry import fingerprint
from discreet.curator.ledger import verify as verifying
from discreet.curator.progress import open_watched, watched
from visits import clinic


def in_a_terminal(*words, folder):
    """Run a command whose standard error is a terminal; what was shown there, and its status."""
    import pty

    ours, theirs = pty.openpty()
    shown = []

    def read():
        try:
            while block := os.read(ours, 65536):
                shown.append(block)
        except OSError:  # Linux says so when the other end is closed
            pass

    reader = threading.Thread(target=read)
    reader.start()
    done = subprocess.run(
        [sys.executable, "-c", "from discreet.cli import main; main()", *words],
        env={**os.environ, "DISCREET_CURATOR": str(folder), "TERM": "xterm", "COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        check=False,
        timeout=120,
    )
    os.close(theirs)
    reader.join()
    os.close(ours)
    return b"".join(shown).decode(errors="replace"), done


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
def test_adding_shows_a_bar_in_a_terminal_and_nothing_in_a_pipe(clinic_folder, shell, tmp_path):
    pyarrow.csv.write_csv(clinic(2000), tmp_path / "more.csv")
    said = ["--unit", "person", "--dataset", "visits", "--confirm", "kinds"]
    words = ["add", "more", str(tmp_path / "more.csv"), *said]
    bar, done = in_a_terminal(*words, folder=clinic_folder)
    assert done.returncode == 0, bar
    assert "reading more.csv" in bar
    assert "100%" in bar
    assert done.stdout.decode() == f"more is in {clinic_folder}.\n"

    words[1] = "still_more"
    silent = shell(*words, DISCREET_CURATOR=str(clinic_folder))
    assert (silent.returncode, silent.stderr) == (0, "")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
def test_verifying_shows_a_bar_in_a_terminal(clinic_folder):
    bar, done = in_a_terminal("ledger", "verify", "--json", folder=clinic_folder)
    assert done.returncode == 0
    assert "checking entries" in bar
    assert b"checking" not in done.stdout


def test_bytes_are_told_up_to_the_last(tmp_path):
    path = tmp_path / "v.csv"
    pyarrow.csv.write_csv(clinic(500), path)
    packed = tmp_path / "v.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    for file in (path, packed):
        told = []
        with watched(lambda *one, told=told: told.append(one)):
            rows = take(file, Stated(confirm=("kinds",)), name="v").rows
        assert rows.num_rows == clinic(500).num_rows
        assert told[-1] == (f"reading {file.name}", file.stat().st_size, file.stat().st_size)
        passes = [at for at, (_, done, _) in enumerate(told) if done < told[at - 1][1]]
        assert len(passes) <= 3  # looked at twice, then read; in each it only grows


def test_watching_changes_no_result(tmp_path):
    path = tmp_path / "bytes"
    path.write_bytes(os.urandom(3_000_000))
    alone, told = fingerprint(path), []
    with watched(lambda *one: told.append(one)):
        assert fingerprint(path) == alone
    assert told[-1][1:] == (3_000_000, 3_000_000)
    with open_watched(path, "x") as file:
        assert file.read() == path.read_bytes()


def test_entries_are_told_page_by_page(monkeypatch):
    monkeypatch.setattr(verifying, "PAGE", 2)
    with add_visits(dp.Curator.in_memory(), budget=BUDGET) as curator:
        curator.sql("SELECT COUNT(*) AS n FROM visits", epsilon=0.1)
        told = []
        with watched(lambda *one: told.append(one)):
            assert curator.ledger.verify().ok
    assert told == [("checking entries", done, 6) for done in (2, 4, 6)]
