"""Messy files and declarations on the command line: refused whole, or loaded as was said."""

import json
import sys

import pytest
import yaml

import discreet as dp
from messy_files import DAYS, MESSY, lines

SAID = ("--epsilon", "1", "--delta", "1e-6")


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "new"


@pytest.mark.parametrize("messy", MESSY, ids=lambda one: one.name)
def test_init_keeps_nothing_of_a_messy_file_before_its_owner_has_spoken(
    discreet, tmp_path, folder, messy
):
    file = tmp_path / messy.name
    file.write_bytes(messy.content)
    if messy.asks or messy.kind != "text":
        refused = discreet("init", str(file), "--unit", messy.unit, *SAID, folder=folder)
        assert refused.exit_code == 2
        assert f"{messy.name}: " in refused.stderr  # the report
        assert not folder.exists()
    words = ("--unit", "patient", *messy.flags, "--confirm", "kinds")
    made = discreet("init", str(file), "--name", "v", *words, *SAID, folder=folder)
    assert made.exit_code == 0, made.output
    with dp.Curator(folder) as curator:
        assert curator.schema.tables["v"].columns[messy.column].kind.value == messy.kind


def test_a_column_that_is_not_there_is_told_before_anything_that_is_missing(
    discreet, tmp_path, folder
):
    (tmp_path / "v.csv").write_text("patient,age\n1,30\n")
    for said in (("--unit", "nope"), ("--unit", "patient", "--keys", "nope", "a")):
        for price in ((), SAID):
            told = discreet("init", str(tmp_path / "v.csv"), *said, *price, folder=folder)
            assert "there is no column nope: known are: patient, age" in told.stderr
    told = discreet("init", str(tmp_path / "v.csv"), "--unit", "patient", folder=folder)
    assert "--epsilon 3" in told.stderr


def test_a_first_record_is_not_printed_as_names_of_columns(discreet, tmp_path, folder):
    (tmp_path / "v.csv").write_text("7,Zoe,2024-03-01\n8,Ann,2024-03-02\n")
    told = discreet("init", str(tmp_path / "v.csv"), "--unit", "id", *SAID, folder=folder)
    assert "--no-header with --names id,age,city" in told.stderr
    assert "Zoe" not in told.output


def test_a_file_of_declarations_is_written_reviewed_and_read(discreet, tmp_path, folder):
    rows = lines("day", [f"{day:%d/%m/%Y}" for day in DAYS])
    (tmp_path / "visits.csv").write_text(rows, encoding="utf-8")
    told = discreet("describe", str(tmp_path / "visits.csv"), "--unit", "patient", "--yaml")
    assert "from the data" in told.stdout
    declared = tmp_path / "clinic.yaml"
    declared.write_text(told.stdout, encoding="utf-8")
    assert discreet("init", "--from", str(declared), folder=folder).exit_code == 2
    assert not folder.exists()

    declared.write_text(told.stdout.replace("confirmed: false", "confirmed: true"))
    said = yaml.safe_load(declared.read_text())["tables"]["visits"]
    assert said["reading"]["dates"] == {"day": "%d/%m/%Y"}
    assert discreet("init", "--from", str(declared), folder=folder).exit_code == 0
    shown = json.loads(discreet("describe", "visits", "--json", folder=folder).stdout)["visits"]
    assert shown["columns"]["day"] == {
        "kind": "date",
        "nullable": True,
        "keys": None,
        "range": "2024-01-01 .. 2024-12-31",
    }


def test_tables_of_a_file_are_added_to_a_curator(discreet, tmp_path):
    (tmp_path / "p.csv").write_text("city,country\nOslo,NO\nHaifa,IL\n")
    (tmp_path / "v.csv").write_text("who,city,n\n1,Oslo,3\n2,Haifa,4\n")
    columns = {"city": {"keys": ["Oslo", "Haifa"]}, "n": {"kind": "integer", "bounds": [0, 9]}}
    visits = {"source": "v.csv", "unit": "who", "budget": {"epsilon": 1, "delta": "1e-6"}}
    tables = {
        "places": {"source": "p.csv", "key": "city"},
        "stays": {**visits, "columns": {**columns, "who": {"kind": "text", "required": True}}},
    }
    file = tmp_path / "more.yaml"
    file.write_text(yaml.safe_dump({"confirmed": True, "tables": tables}, sort_keys=False))
    told = discreet("add", "--from", str(file), "--json")
    assert json.loads(told.stdout)["tables"] == ["places", "stays"]
    shown = json.loads(discreet("describe", "--json").stdout)
    assert shown["stays"]["columns"]["n"]["range"] == "0 .. 9"
    assert shown["stays"]["columns"]["who"]["nullable"] is False
    assert shown["places"]["public"] is True


@pytest.mark.parametrize(
    "said",
    [
        "tables: {}",
        "- 1",
        "confirmed: true\ntables: {v: {unit: a}}",
        "confirmed: true\ntables: {v: {source: v.csv, colour: red}}",
        "confirmed: true\ntables: {v: {source: v.csv, unit: a, columns: {a: {boundz: [0, 1]}}}}",
        "confirmed: true\ntables: {v: {source: v.csv, unit: a, budget: 3}}",
        "confirmed: true\ntables: {v: {source: v.csv, unit: [a], budget: {epsilon: 1}}}",
        "{",
    ],
)
def test_declarations_that_are_not_understood_are_refused(discreet, tmp_path, folder, said):
    (tmp_path / "d.yaml").write_text(said)
    (tmp_path / "v.csv").write_text("a,b\n1,x\n")
    told = discreet("init", "--from", str(tmp_path / "d.yaml"), folder=folder)
    assert (told.exit_code, folder.exists()) == (2, False)


def test_a_dataset_is_retired_from_the_shell(discreet):
    assert discreet("retire", "visits", "--reason", "over").exit_code == 2
    told = discreet("retire", "visits", "--reason", "over", "--yes", "--json")
    assert json.loads(told.stdout)["retired"] is True
    again = discreet("retire", "visits", "--reason", "over", "--yes", "--json")
    assert (again.exit_code, again.stdout) == (0, told.stdout)
    other = discreet("retire", "visits", "--reason", "another", "--yes")
    assert (other.exit_code, "for another reason" in other.stderr) == (2, True)
    asked = discreet("query", "SELECT COUNT(*) FROM visits", "--epsilon", "0.1")
    assert (asked.exit_code, "visits is retired" in asked.stderr) == (2, True)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
def test_an_error_ends_in_a_line_and_no_complaints_of_libraries(shell, tmp_path):
    (tmp_path / "b.csv").write_text("who,smokes\n1,yes\n2,maybe\n")
    words = ("init", "b.csv", "--unit", "who", *SAID, "--kind", "smokes", "boolean")
    told = shell(*words)
    assert told.returncode == 2
    assert "nanobind" not in told.stderr
    assert told.stderr.rstrip().split("\n")[-1].startswith("Error: b.csv leaves a question open")
