"""Every command prints JSON and CSV too, and one of them at a time."""

import csv
import io
import json

import click
import pyarrow.parquet as pq
import pytest

from clinic_curator import COUNT
from discreet.cli import _COMMANDS, main
from discreet.cli.rows import write_csv
from visits import clinic


def every_command():
    for name in _COMMANDS:
        command = main.get_command(None, name)
        if not isinstance(command, click.Group) or command.invoke_without_command:
            yield name, command
        if isinstance(command, click.Group):
            for inner in command.list_commands(None):
                yield f"{name} {inner}", command.get_command(None, inner)


@pytest.mark.parametrize(("name", "command"), list(every_command()))
def test_every_command_takes_both_shapes(name, command):
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
    assert [one["kind"] for one in told if one["column"] == "amount"] == ["real"]

    assert discreet("init", folder=tmp_path / "empty").exit_code == 0
    empty = discreet("describe", "--csv", folder=tmp_path / "empty").stdout
    assert empty == "table,public,protects,column,kind,nullable,range,keys\n"


def test_the_ledger_as_csv(discreet):
    discreet("query", COUNT, "--epsilon", "0.1")
    told = rows(discreet("ledger", "list", "--csv").stdout)
    verified = rows(discreet("ledger", "verify", "--csv").stdout)

    assert [row["kind"] for row in told][-3:] == ["charged", "measured", "released"]
    assert [int(row["entry"]) for row in told] == [1, 2, 3, 4, 5, 6]
    assert (verified[0]["ok"], verified[0]["entries"], verified[0]["problem"]) == ("True", "6", "")


@pytest.mark.parametrize(
    "words",
    [["budget"], ["describe"], ["ledger", "list"], ["query", COUNT, "--epsilon", "0.1"]],
)
def test_two_shapes_at_once_are_refused(discreet, words):
    for shapes in (["--json", "--csv"], ["--csv", "--json"]):
        told = discreet(*words, *shapes)
        assert (told.exit_code, told.stdout) == (2, "")
        assert "not both" in told.stderr


@pytest.mark.parametrize("shape", ["json", "csv"])
def test_what_is_done_is_told_in_both_shapes(discreet, tmp_path, shape):
    """Sentences for people are facts for programs."""
    pq.write_table(clinic(30), tmp_path / "more.parquet")

    def told(*words):
        shown = discreet(*words, f"--{shape}")
        assert shown.exit_code == 0, shown.output
        [row] = [json.loads(shown.stdout)] if shape == "json" else rows(shown.stdout)
        return {name: str(value) for name, value in row.items()}

    cap = ("--epsilon", "1", "--delta", "1e-7")
    more = ("add", "more", str(tmp_path / "more.parquet"), "--unit", "person", *cap)
    made = told("init", "--curator", str(tmp_path / "new"))

    assert made["curator"] == str(tmp_path / "new")
    assert made["table"] in ("None", "")
    assert told(*more)["dataset"] == "more"
    assert told("budget", "grant", "ann", "visits", *cap)["name"] == "ann"
    assert told("budget", "group", "lab", "visits", "ann", "bo", *cap)["kind"] == "group"
    assert told("budget", "link", "all", "visits", "more")["kind"] == "link"
    raised = told("budget", "raise", "visits", "--epsilon", "9", "--delta", "1e-6", "--reason", "r")
    assert raised["measure"] == "mu-squared"
    assert float(raised["stated_epsilon"]) == 9
    assert told("serve", "--init")["token"].startswith("dpt_")
    assert told("ledger", "adopt", "--reason", "a test")["entries"].isdigit()


def test_the_export_in_both_shapes(discreet):
    plain = discreet("ledger", "export").stdout
    assert discreet("ledger", "export", "--json").stdout == plain
    entries = [json.loads(line)["entry"] for line in plain.splitlines()]
    told = rows(discreet("ledger", "export", "--csv").stdout)

    assert [row["kind"] for row in told] == [one["kind"] for one in entries]
    assert [row["previous"] for row in told] == [one["previous"] for one in entries]
    record = json.loads(discreet("ledger", "export", "--deployment", "visits", "--json").stdout)
    fields = rows(discreet("ledger", "export", "--deployment", "visits", "--csv").stdout)
    known = {row["field"]: row["value"] for row in fields}
    model = record["deployment"]["deployment_model"]["model_name"]
    assert known["deployment.deployment_model.model_name"] == model


def test_the_demo_in_both_shapes(discreet):
    told = json.loads(discreet("demo", "--json").stdout)
    wards = rows(discreet("demo", "--csv").stdout)

    assert [row["ward"] for row in wards] == [row["ward"] for row in told["answers"]]
    assert told["attack"]["private"] < 1


def test_a_statement_does_not_spoil_a_table(discreet):
    ask = ("query", COUNT, "--epsilon", "0.1", "--statement")
    told = discreet(*ask, "--csv")

    assert len(rows(told.stdout)) == 1
    assert "protect" in told.stderr
    assert "protect" in json.loads(discreet(*ask, "--json").stdout)["statement"]


def test_weights_are_read_and_refused(discreet):
    ask = ("explain", "SELECT COUNT(*) AS n, AVG(amount) AS m FROM visits", "--epsilon", "0.1")
    plain, weighed = (discreet(*ask, *more) for more in ((), ("--weight", "m=9")))

    assert plain.exit_code == weighed.exit_code == 0
    assert plain.stdout != weighed.stdout
    for wrong, words in (
        (["x=4"], "they are n, m"),
        (["m"], "not a column and a number"),
        (["=4"], "not a column and a number"),
        (["m=much"], "not a column and a number"),
        (["m=2", "m=3"], "one --weight"),
        (["m=0"], "weight"),
    ):
        told = discreet(*ask, *(word for one in wrong for word in ("--weight", one)))
        assert told.exit_code == 2
        assert words in told.stderr


def test_no_rows_still_have_a_head():
    assert write_csv([], ["a"]) == "a\n"
    assert write_csv([{"a": 'x"y\n', "b": 1}]) == 'a,b\n"x""y\n",1\n'
