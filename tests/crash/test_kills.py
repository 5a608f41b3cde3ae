"""SIGKILL at random moments: no overspending, no answer without a charge, nothing lost."""

import json
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

FAULTS = (
    "overspent",
    "answers without a charge",
    "two answers to one charge",
    "charges without an answer",
)


def killed(place, kills, seed, tmp_path, mutant="none"):
    logs = tmp_path / "logs"
    logs.mkdir()
    driver = Path(__file__).parent / "killing.py"
    command = [sys.executable, str(driver), place, str(kills), str(seed), mutant, str(logs)]
    done = subprocess.run(command, check=True, capture_output=True, timeout=900)
    return json.loads(done.stdout)


def test_killed_workers_leave_the_books_right(place, tmp_path):
    found = killed(place, 20, 1, tmp_path)
    assert [found[fault] for fault in FAULTS] == [0, 0, 0, 0]
    assert found["problem"] is None
    assert min(found["told"], found["killed in the middle"]) > 0


@pytest.mark.audit
def test_five_hundred_kills_leave_the_books_right(place, tmp_path):
    found = killed(place, 500, secrets.randbits(64), tmp_path)
    sys.stdout.write(f"{found}\n")
    assert [found[fault] for fault in FAULTS] == [0, 0, 0, 0]
    assert found["problem"] is None
    assert found["killed in the middle"] > 100


def test_answering_before_charging_is_caught(tmp_path):
    """The planted fault: the check sees answers that nobody paid for."""
    found = killed(str(tmp_path / "ledger.sqlite"), 5, 1, tmp_path, "answer first")
    assert found["answers without a charge"] > 0


def test_answers_that_are_not_made_of_what_was_stored_are_caught(tmp_path):
    """The planted fault: whoever finishes a charge draws again."""
    found = killed(str(tmp_path / "ledger.sqlite"), 20, 1, tmp_path, "draw again")
    assert found["two answers to one charge"] > 0
