"""What a shell offers after Tab, asked as shells ask."""

import os
import shutil
import subprocess
import sys

import pytest

NAMED = "import sys; sys.argv[0] = 'discreet'; from discreet.cli import main; main()"


def tab(folder, **asked):
    """Call the command as a shell does: by its name, with the question in the environment."""
    return subprocess.run(
        [sys.executable, "-c", NAMED],
        cwd=folder,
        env={**os.environ, **asked},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def offered(folder, words, **more):
    line = " ".join(["discreet", *words])
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(words)), **more}
    told = tab(folder, _DISCREET_COMPLETE="bash_complete", **asked)
    return [line for line in told.splitlines() if line]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["led"], ["plain,ledger"]),
        (["ledger", "v"], ["plain,verify"]),
        (["query", "x", "--eps"], ["plain,--epsilon"]),
        (["budget", "grant", "alice", "v"], ["plain,visits"]),
        (["budget", "link", "people", "x"], []),
        (["ledger", "export", "--deployment", ""], ["plain,visits"]),
        (["describe", "vis"], ["plain,visits", "file,vis"]),
    ],
)
def test_commands_options_and_names_are_offered(tmp_path, clinic_folder, words, expected):
    assert offered(tmp_path, words, DISCREET_CURATOR=str(clinic_folder)) == expected


def test_where_there_is_no_curator_nothing_is_offered_and_nothing_made(tmp_path):
    assert offered(tmp_path, ["budget", "raise", "v"]) == []
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_the_script_that_the_docs_name_is_one_that_the_shell_can_read(tmp_path, name):
    told = tab(tmp_path, _DISCREET_COMPLETE=f"{name}_source")
    assert f"_DISCREET_COMPLETE={name}_complete" in told
    if shutil.which(name):
        script = tmp_path / "script"
        script.write_text(told)
        subprocess.run([name, "-n", str(script)], check=True)
