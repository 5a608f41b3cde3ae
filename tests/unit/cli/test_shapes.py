"""Whatever prints a table prints JSON and CSV too, and one of them at a time."""

import csv
import io
import json

import click
import pyarrow.parquet as pq
import pytest

from desk import COUNT
from discreet.cli import _COMMANDS, main
from discreet.cli.rows import write_csv
from visits import clinic

SILENT = {"demo", "init", "add", "serve", "grant", "raise", "group", "link", "export", "adopt"}
"""They tell a story or a sentence, or write a format of their own."""


def every_command():
    for name in _COMMANDS:
        command = main.get_command(None, name)
        if not isinstance(command, click.Group) or command.invoke_without_command:
            yield name, command
        if isinstance(command, click.Group):
            for inner in command.list_commands(None):
                yield f"{name} {inner}", command.get_command(None, inner)


@pytest.mark.parametrize(
    ("name", "command"),
    [one for one in every_command() if one[0].split()[-1] not in SILENT],
)
def test_every_command_that_prints_a_table_takes_both_shapes(name, command):
    names = {one for option in command.params for one in option.opts}
    assert {"--json", "--csv"} <= names, name


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_tables_as_csv(discreet):
    told = rows(discreet("describe", "--csv").stdout)
    one = rows(discreet("describe", "visits", "--csv").stdout)
    facts = json.loads(discreet("describe", "--json").stdout)["visits"]

    assert told == one
    assert [row["column"] for row in told] == list(facts["columns"])
    assert {row["table"] for row in told} == {"visits"}
    city = next(row for row in told if row["column"] == "city")
    assert json.loads(city["keys"]) == facts["columns"]["city"]["keys"]
    assert city["protects"] == facts["unit"]


def test_a_file_and_an_empty_curator_as_csv(discreet, tmp_path):
    pq.write_table(clinic(3), tmp_path / "v.parquet")
    told = rows(discreet("describe", str(tmp_path / "v.parquet"), "--csv").stdout)
    assert {"column": "amount", "kind": "real"} in told

    assert discreet("init", folder=tmp_path / "empty").exit_code == 0
    empty = discreet("describe", "--csv", folder=tmp_path / "empty").stdout
    assert empty == "table,public,protects,column,kind,nullable,range,keys\n"


def test_the_ledger_as_csv(discreet):
    discreet("query", COUNT, "--epsilon", "0.1")
    told = rows(discreet("ledger", "list", "--csv").stdout)
    verified = rows(discreet("ledger", "verify", "--csv").stdout)

    assert [row["kind"] for row in told][-2:] == ["charged", "released"]
    assert [int(row["entry"]) for row in told] == [1, 2, 3, 4, 5]
    assert (verified[0]["ok"], verified[0]["entries"], verified[0]["problem"]) == ("True", "5", "")


@pytest.mark.parametrize(
    "words",
    [["budget"], ["describe"], ["ledger", "list"], ["query", COUNT, "--epsilon", "0.1"]],
)
def test_two_shapes_at_once_are_refused(discreet, words):
    for shapes in (["--json", "--csv"], ["--csv", "--json"]):
        told = discreet(*words, *shapes)
        assert (told.exit_code, told.stdout) == (2, "")
        assert "not both" in told.stderr


def test_no_rows_still_have_a_head():
    assert write_csv([], ["a"]) == "a\n"
    assert write_csv([{"a": 'x"y\n', "b": 1}]) == 'a,b\n"x""y\n",1\n'
