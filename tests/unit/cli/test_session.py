"""A whole session through real processes: make, add, ask, look, check."""

import contextlib
import json
import os
import signal
import subprocess
import sys

import pytest

COUNT = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"
SAID = [
    *("--unit", "person", "--epsilon", "3", "--delta", "1e-6", "--max-rows", "4"),
    *("--max-groups", "2", "--bounds", "amount", "0", "100", "--keys", "city", "Austin,Haifa,Oslo"),
]


def test_a_session_from_nothing_to_a_verified_ledger(shell, discreet, tmp_path):
    made = shell("init", "visits.parquet", *SAID)
    assert (made.returncode, made.stderr) == (0, "")

    first = shell("query", COUNT, "--epsilon", "0.1", "--json")
    folder = tmp_path / "curator.discreet"
    again = discreet("query", "-", "--epsilon", "0.1", "--json", text=COUNT, folder=folder)
    assert first.returncode == 0
    assert first.stdout == again.stdout
    told = json.loads(first.stdout)
    assert [row["city"] for row in told["rows"]] == ["Austin", "Haifa", "Oslo"]
    assert all(width["n"] > 0 for width in told["half_widths"])

    poor = shell("query", COUNT, "--epsilon", "100")
    assert poor.returncode == 3
    assert "left to dataset visits" in poor.stderr
    assert "Traceback" not in poor.stderr

    assert discreet("ledger", "verify", folder=folder).exit_code == 0
    _tamper(folder / "ledger.sqlite")
    wrong = shell("ledger", "verify")
    assert wrong.returncode == 1
    assert "NOT whole" in wrong.stderr


def _tamper(ledger):
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(ledger)) as connection:
        names = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        for (trigger,) in connection.execute(names).fetchall():
            connection.execute(f"DROP TRIGGER {trigger}")
        connection.execute(
            "UPDATE entries SET body = replace(body, 'owner', 'nobody') WHERE sequence = 2"
        )
        connection.commit()


def test_the_demo_runs_in_seconds_and_shows_what_it_promises(shell):
    shown = shell("demo")

    assert shown.returncode == 0
    for words in ("± ", "refused", "for free", "83% left", "guessed right", "whole"):
        assert words in shown.stdout


def test_a_terminal_that_knows_no_blocks_gets_no_error(shell, clinic_folder):
    drawn = shell("budget", PYTHONIOENCODING="ascii", DISCREET_CURATOR=str(clinic_folder))

    assert drawn.returncode == 0
    assert "100% left" in drawn.stdout
    assert "█" not in drawn.stdout


@pytest.mark.usefixtures("shell")  # which puts the file there
@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
def test_init_asks_the_few_questions_that_matter_in_a_terminal(discreet, tmp_path):
    changes = ["max_rows 4", "max_groups 2", "city keys Austin,Haifa,Oslo", "street nothing"]
    answers = ["visits.parquet", *changes, "amount bounds 0 100", "epsilon 2", "", "y"]
    asked = answered(["init"], answers, tmp_path)

    assert asked.returncode == 0, asked.stderr
    for words in ("protects the person that person names", "epsilon 2", "public knowledge?"):
        assert words in asked.stdout + asked.stderr
    shown = discreet("describe", "visits", "--json", folder=tmp_path / "curator.discreet")
    told = json.loads(shown.stdout)["visits"]
    assert told["unit"] == "each person that person names, with all their rows"
    assert told["limits"] == {"max_groups": 2, "max_rows": 4}
    assert told["columns"]["amount"]["range"] == "0 .. 100"
    assert told["columns"]["city"]["keys"] == ["Austin", "Haifa", "Oslo"]


def test_a_reader_that_goes_away_is_no_error(clinic_folder):
    export = "from discreet.cli import main; main(['ledger', 'export', '--curator', '.'])"
    piped = subprocess.run(  # noqa: S602 - a pipe is what is tested
        f'{sys.executable} -c "{export}" | head -c 9',
        shell=True,
        cwd=clinic_folder,
        capture_output=True,
        check=False,
    )

    assert piped.stdout == b'{"hash":"'
    assert b"Traceback" not in piped.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
def test_what_cannot_be_read_is_asked_again(discreet, tmp_path):
    (tmp_path / "v.csv").write_text("who,age,city\n1,30,Oslo\n2,40,Haifa\n")
    wrong = ["nowhere", "unit nobody", "age kind number", "max_rows many", "max_rows 0"]
    wrong += ["age bounds 120 0", "age bounds 0 1 2", "epsilon much", "delta 1", "nonsense"]
    right = [
        "unit who",
        "age bounds 0 120",
        "3 keys Oslo,Haifa",
        "max_rows 4",
        "max_rows 9",
        "back",
    ]
    told = answered(
        ["init"], ["v.txt", "v.csv", *wrong, "help", *right, "", "n", "", "y"], tmp_path
    )

    assert told.returncode == 0, told.stderr
    assert told.stdout.count("Error: ") + told.stderr.count("Error: ") == 11
    assert "answer the first question" in told.stdout
    shown = discreet("describe", "v", "--json", folder=tmp_path / "curator.discreet")
    facts = json.loads(shown.stdout)["v"]
    assert facts["limits"] == {"max_groups": None, "max_rows": 4}
    assert facts["columns"]["age"]["range"] == "0 .. 120"
    assert facts["columns"]["age"]["kind"] == "integer"
    assert facts["columns"]["city"]["keys"] == ["Oslo", "Haifa"]
    assert facts["unit"] == "each person that who names, with all their rows"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
def test_a_folder_of_other_things_is_refused_before_anything_is_asked(tmp_path):
    (tmp_path / "curator.discreet").mkdir()
    (tmp_path / "curator.discreet" / "thesis.txt").write_text("years")
    told = answered(["init"], [], tmp_path)

    assert told.returncode == 2
    assert "full of other things" in told.stderr
    assert "Which file" not in told.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_an_interruption_has_a_status_of_its_own(tmp_path):
    """Otherwise it would look like a ledger that is not whole."""
    script = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    script += "from discreet.cli import main; main()"
    import pty

    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", script, "init"],
        cwd=tmp_path,
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as asked:
        while (shown := asked.stdout.read(1)) != b":":
            assert shown, asked.stderr.read()  # it ended before it asked anything
        # One that comes just before it begins to wait is noticed by nobody; a second one would
        # kill a process that is about to end, so it comes later each time.
        for patience in (3, 15, 60, 60):
            asked.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                asked.wait(patience)
                break
        told = asked.stderr.read()
    os.close(ours)
    os.close(theirs)

    assert asked.returncode == 130
    assert b"Interrupted" in told
    assert not (tmp_path / "curator.discreet").exists()


def answered(words, answers, folder):
    """Run a command in a terminal in which somebody types."""
    import pty

    ours, theirs = pty.openpty()
    os.write(ours, "".join(f"{answer}\n" for answer in answers).encode())
    try:
        return subprocess.run(
            [sys.executable, "-c", "from discreet.cli import main; main()", *words],
            cwd=folder,
            stdin=theirs,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    finally:
        os.close(ours)
        os.close(theirs)
