"""Commands that ask a server, tokens made in the folder, and a shell in a real terminal."""

import csv
import io
import json
import os
import pty
import re
import select
import signal
import sys
import time

import pytest
from click.testing import CliRunner

import discreet as dp
from clinic_curator import COUNT
from discreet.cli import main
from running_server import served


@pytest.fixture
def far(clinic_folder):
    """Run a command against a server of the clinic's curator, within this process."""
    with dp.Curator(clinic_folder) as curator, served(curator) as server:
        own = server.token()

        def run(*words, token=own, address=server.url, text=None):
            said = {"DISCREET_TOKEN": token, "DISCREET_SERVER": address, "COLUMNS": "100"}
            return CliRunner().invoke(main, words, input=text, env=said)

        yield run


def test_a_server_answers_the_commands_that_a_folder_answers(far):
    counted = far("query", COUNT, "--epsilon", "0.1", "--json")
    assert counted.exit_code == 0, counted.output
    assert json.loads(counted.stdout)["rows"]
    assert "Charged, unless" in far("explain", COUNT, "--epsilon", "0.1").stdout
    assert "visits" in far("describe").stdout
    assert "amount" in far("describe", "visits", "--csv").stdout
    spent = json.loads(far("budget", "--json").stdout)
    assert {one["name"] for one in spent} >= {"visits"}
    told = far("profile", "visits", "--epsilon", "1", "--csv")
    assert {row["column"] for row in csv.DictReader(io.StringIO(told.stdout))} >= {"city"}
    assert far("profile", "visits", "--epsilon", "1", "--explain").exit_code == 0
    shown = far("shell", "--epsilon", "0.1", text=f"\\budget\n{COUNT};\n")
    assert "dataset visits: " in shown.stdout
    assert "price: epsilon 0.1" in shown.stdout


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ({"token": ""}, "DISCREET_TOKEN is not set"),
        ({"token": "dpt_0000000000000000_x"}, "token"),
        ({"address": "clinic"}, "--server clinic is no address"),
        ({"address": "http://example.com"}, "unencrypted"),
    ],
)
def test_a_server_that_cannot_be_asked_is_told_with_what_to_do(far, said, wrong):
    told = far("query", COUNT, "--epsilon", "0.1", **said)
    assert told.exit_code in (2, 4)
    assert wrong in told.stderr


def test_a_folder_and_a_server_at_once_are_refused(far, tmp_path):
    told = far("query", COUNT, "--epsilon", "0.1", "--curator", str(tmp_path))
    assert (told.exit_code, "not both" in told.stderr) == (2, True)
    named = far("query", COUNT, "--epsilon", "0.1", "--analyst", "somebody")
    assert named.exit_code == 2
    assert "somebody" in named.stderr


# --- tokens -------------------------------------------------------------------------------------


def test_a_token_is_made_listed_used_and_revoked(discreet, clinic_folder):
    assert "Nobody yet" in discreet("token").stdout
    made = json.loads(discreet("token", "make", "ann", "--dataset", "visits", "--json").stdout)
    assert made["token"].startswith("dpt_")
    assert (made["role"], made["datasets"], made["state"]) == ("analyst", ["visits"], "in force")
    assert "ann: analyst of visits; in force" in discreet("token").stdout
    assert made["token"] not in discreet("token", "--json").stdout
    with dp.Curator(clinic_folder) as curator, served(curator, folder=clinic_folder) as server:
        far = {"DISCREET_TOKEN": made["token"], "DISCREET_SERVER": server.url}
        ask = ["query", COUNT, "--epsilon", "0.1"]
        assert CliRunner().invoke(main, ask, env=far).exit_code == 0
        left = CliRunner().invoke(main, ["budget", "--json"], env=far)
        assert {one["name"] for one in json.loads(left.stdout)} >= {"visits"}
        assert "lets nobody in" in discreet("token", "revoke", made["id"]).stdout
        assert CliRunner().invoke(main, ask, env=far).exit_code != 0
    assert "revoked" in discreet("token", "--csv").stdout


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (("make", "ann", "--dataset", "nothing"), "Datasets are: visits"),
        (("make", "owner"), "use another name"),
        (("make", "ann", "--days", "0"), "a token for 0.0 days"),
        (("make", "ann", "--role", "king"), "king"),
        (("revoke", "0123"), "See their ids with: discreet token"),
    ],
)
def test_a_token_that_cannot_be_made_or_ended_says_why(discreet, words, wrong):
    told = discreet("token", *words)
    assert told.exit_code == 2
    assert wrong in told.stderr


# --- the shell ----------------------------------------------------------------------------------


def test_lines_of_a_file_are_questions_and_commands(discreet):
    lines = [
        "SELECT 1;",
        "\\epsilon much",
        "\\epsilon 0.1",
        "\\tables",
        "",
        f"\\explain {COUNT};",
        *COUNT.split(" FROM ")[:1],
        f"FROM {COUNT.split(' FROM ')[1]};",
        "\\budget",
        "\\help",
        "\\nothing",
        ";",
        "SELECT unfinished",
    ]
    told = discreet("shell", text="\n".join(lines))
    assert told.exit_code == 0, told.output
    for words in ("visits: ", "price: epsilon 0.1", "dataset visits: ", "Ctrl-D"):
        assert words in told.stdout
    for words in ("\\epsilon 0.1", "much is no epsilon", "no command \\nothing", "not asked"):
        assert words in told.stderr


@pytest.mark.parametrize(("shape", "begins"), [("--json", '{"rows"'), ("--csv", '"n","n_low"')])
def test_answers_of_a_shell_have_both_shapes(discreet, shape, begins):
    told = discreet("shell", "--epsilon", "0.1", shape, text=f"{COUNT};\n\\quit\nnever")
    assert told.stdout.startswith(begins)


@pytest.mark.timed
def test_a_terminal_completes_names_keeps_history_and_outlives_mistakes(clinic_folder, tmp_path):
    said = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "TERM": "xterm"}
    command = "from discreet.cli import main; main()"
    words = [sys.executable, "-c", command, "shell", "--curator", str(clinic_folder)]
    process, terminal = pty.fork()
    if process == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # jobs in the background ignore it
        os.execve(sys.executable, words, said)  # noqa: S606 - our own program
    read_until(terminal, "discreet> ")
    os.write(terminal, b"\\epsilon 0.1\n")
    read_until(terminal, "discreet> ")
    os.write(terminal, b"SELECT COUNT(*) AS n FROM vis\t")
    read_until(terminal, "FROM visits")
    os.write(terminal, b";\n")
    assert "price: epsilon 0.1" in read_until(terminal, "discreet> ")
    os.write(terminal, b"SELECT secret FROM visits;\n")
    assert "Error: " in read_until(terminal, "discreet> ")
    os.write(terminal, b"half a question\x03")
    read_until(terminal, "discreet> ")
    os.write(terminal, b"\x1b[A\x1b[A")
    read_until(terminal, "FROM visits;")
    os.write(terminal, b"\n")
    assert "price: epsilon 0.1" in read_until(terminal, "discreet> ")
    os.write(terminal, b"\x04")
    assert os.waitpid(process, 0)[1] == 0
    os.close(terminal)
    history = (tmp_path / "discreet" / "history").read_text()
    assert "FROM visits;" in history
    assert (tmp_path / "discreet" / "history").stat().st_mode & 0o77 == 0


def read_until(terminal, words, patience=60):
    """What a terminal shows until these words are on it."""
    shown, end = "", time.monotonic() + patience
    while words not in shown and time.monotonic() < end:
        if select.select([terminal], [], [], 1)[0]:
            part = os.read(terminal, 65536).decode(errors="replace")
            shown += re.sub(r"\x1b\[[?0-9;]*[a-zA-Z]", "", part)
    assert words in shown, shown
    return shown
