"""What each command takes, prints and refuses."""

import csv
import io
import json
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

import discreet as dp
from clinic_curator import BY_CITY, COUNT
from discreet.cli import _COMMANDS, main
from discreet.cli.budget import gauge
from discreet.curator.ledger.accounts import Account, dataset
from discreet.rationals import read_text
from visits import clinic


def test_an_answer_as_a_table_as_json_and_as_csv(discreet):
    table = discreet("query", BY_CITY, "--epsilon", "0.1")
    told = json.loads(discreet("query", BY_CITY, "--epsilon", "0.1", "--json").stdout)
    rows = list(
        csv.DictReader(io.StringIO(discreet("query", BY_CITY, "--epsilon", "0.1", "--csv").stdout))
    )

    assert table.exit_code == 0
    assert "±" in table.stdout
    assert "epsilon 0.1" in table.stdout
    assert [int(row["n"]) for row in rows] == [row["n"] for row in told["rows"]]
    assert set(rows[0]) == {"city", "n", "n_low", "n_high", "s", "s_low", "s_high"}
    assert told["price"]["epsilon"] == 0.1


def test_an_answer_may_carry_its_statement(discreet):
    assert "person" in discreet("query", COUNT, "--epsilon", "0.1", "--statement").stdout
    outside = discreet("query", BY_CITY, "--epsilon", "0.1", "--outside", "0.1", "--json")
    assert "outside" in json.loads(outside.stdout)["outside"]["rows"][0]


def test_an_answer_within_a_stated_error(discreet):
    told = json.loads(discreet("query", COUNT, "--within", "100", "--json").stdout)

    assert told["half_widths"][0]["n"] <= 100


def test_asking_again_merges(discreet):
    discreet("query", COUNT, "--epsilon", "0.1")
    merged = discreet("query", COUNT, "--epsilon", "0.2", "--remeasure")

    assert "merged from 2 answers" in merged.stdout


def test_explaining_is_free(discreet, clinic_folder):
    told = json.loads(discreet("explain", BY_CITY, "--epsilon", "0.1", "--json").stdout)
    text = discreet("explain", BY_CITY, "--epsilon", "0.1").stdout

    assert set(told["half_widths"]) == {"n", "s"}
    assert "no data was read" in text
    assert "left to dataset visits" in text
    assert told["charges"][0]["cost"] > 0
    with dp.Curator(clinic_folder) as curator:
        assert curator.budget("visits").spent == (0, 0)


def test_a_refusal_points_at_the_place(discreet):
    refused = discreet(
        "query", "SELECT COUNT(*) AS n\nFROM visits\nWHERE nothing > 1", "--epsilon", "0.1"
    )

    assert refused.exit_code == 2
    assert "  WHERE nothing > 1\n        ^^^^^^^" in refused.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["query", COUNT],
        ["query", COUNT, "--epsilon", "0.1", "--within", "5"],
        ["query", COUNT, "--epsilon", "many"],
        ["query", COUNT, "--epsilon", "nan"],
        ["query", COUNT, "--epsilon", "1e999999999"],
        ["query", COUNT, "--epsilon", "1/0"],
        ["query", COUNT, "--epsilon", "-1"],
        ["query", COUNT, "--epsilon", "0"],
        ["query", COUNT, "--epsilon", "0.1", "--delta", "2"],
        ["query", "", "--epsilon", "0.1"],
        ["query", "DROP TABLE visits", "--epsilon", "0.1"],
        ["query", COUNT, "--epsilon", "0.1", "--remeasure", "--request", "r"],
        ["ledger", "adopt"],
        ["query", COUNT, "--epsilon", "0.1", "--analyst", ""],
        ["explain", "SELECT 1", "--epsilon", "0.1"],
        ["describe", "nowhere"],
        ["describe", "--dummy"],
        ["add", "x", "nowhere.parquet", "--unit", "a", "--epsilon", "1"],
        ["add", "x", "nowhere.parquet"],
        ["add", "visits", "nowhere.csv", "--unit", "a", "--epsilon", "1"],
        ["budget", "grant", "alice", "nowhere", "--epsilon", "1"],
        ["budget", "grant", "alice", "visits"],
        ["budget", "raise", "visits", "--epsilon", "9"],
        ["budget", "raise", "visits", "--epsilon", "9", "--reason", "another measure"],
        ["ledger", "list", "--limit", "0"],
        ["ledger", "export", "--deployment", "nowhere"],
        ["ledger", "export", "--out", "no/such/folder/out.jsonl"],
        ["init"],
        ["nonsense"],
    ],
)
def test_wrong_use_is_a_message_and_status_2(discreet, words):
    told = discreet(*words)

    assert told.exit_code == 2
    assert "Error: " in told.stderr
    assert "Traceback" not in told.output


def test_a_budget_that_does_not_suffice_is_status_3(discreet):
    assert discreet("query", COUNT, "--epsilon", "50").exit_code == 3


def test_a_folder_of_something_else_is_refused(discreet, tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "thesis.txt").write_text("years")
    for words in (["budget"], ["init"]):
        told = discreet(*words, folder=tmp_path / "x")
        assert told.exit_code == 2
    assert [path.name for path in (tmp_path / "x").iterdir()] == ["thesis.txt"]


def test_a_folder_with_the_name_of_a_table_is_not_taken_for_the_curator(
    discreet, clinic_folder, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("visits").mkdir()
    assert "visits" in discreet("describe", "visits").stdout
    told = discreet("describe", clinic_folder.name, "--curator", str(clinic_folder))
    assert f"{clinic_folder.name} is nothing to describe" in told.stderr
    moved = clinic_folder.rename(tmp_path / "clinic")
    assert "visits" in discreet("describe", "clinic", "visits", folder="nowhere").stdout
    assert moved.is_dir()


def test_a_question_longer_than_a_file_name_is_asked(discreet):
    long = f"{COUNT} WHERE amount IN ({', '.join(map(str, range(200)))})"
    assert discreet("query", long, "--epsilon", "0.1").exit_code == 0


def test_budgets_as_a_gauge_as_json_and_as_csv(discreet):
    discreet("query", COUNT, "--epsilon", "0.5", "--analyst", "alice")
    drawn = discreet("budget").stdout
    told = json.loads(discreet("budget", "--json").stdout)
    rows = list(csv.DictReader(io.StringIO(discreet("budget", "--csv").stdout)))

    assert "█" in drawn
    assert "% left" in drawn
    assert {row["name"] for row in told} == {"visits", "alice"}
    assert [row["name"] for row in rows] == [row["name"] for row in told]
    assert next(row for row in told if row["kind"] == "dataset")["spent"] > 0


def test_an_owner_grants_and_raises(discreet):
    assert discreet("budget", "grant", "alice", "visits", "--rho", "0.0001").exit_code == 0
    assert discreet("query", COUNT, "--epsilon", "1", "--analyst", "alice").exit_code == 3
    raised = discreet(
        *("budget", "raise", "visits", "--analyst", "alice", "--rho", "0.1", "--reason", "trusted")
    )
    assert raised.exit_code == 0
    assert discreet("query", COUNT, "--epsilon", "1", "--analyst", "alice").exit_code == 0
    listed = discreet("ledger", "list").stdout
    assert "Reason: trusted" in " ".join(listed.replace("│", " ").split())
    assert "alice" in listed


def test_groups_and_links_from_the_command_line(discreet):
    assert (
        discreet("budget", "group", "lab", "visits", "alice", "bob", "--rho", "0.0001").exit_code
        == 0
    )
    assert discreet("budget", "link", "people", "visits").exit_code == 0
    assert discreet("query", COUNT, "--epsilon", "1", "--analyst", "bob").exit_code == 3
    told = {row["kind"]: row for row in json.loads(discreet("budget", "--json").stdout)}
    assert told["group"]["cap"] == 0.0001
    assert told["link"]["cap"] is None
    assert "no cap" in discreet("budget").stdout


def test_an_engine_that_cannot_be_opened_is_status_4_and_asking_again_finishes(
    discreet, clinic_folder, monkeypatch
):
    from discreet.curator.data.data_store import DataStore
    from discreet.errors import EngineError

    def fail(*_):
        raise EngineError("the data cannot be opened", why="it is gone", fix="put it back")

    with monkeypatch.context() as patch:
        patch.setattr(DataStore, "open", fail)
        assert discreet("query", COUNT, "--epsilon", "0.1").exit_code == 4
    assert json.loads(discreet("ledger", "verify", "--json").stdout)["pending"] == 1
    charged = discreet("budget", "--json").stdout
    with dp.Curator(clinic_folder, patience=0) as curator:
        curator.sql(BY_CITY, epsilon=0.01)  # the first question finishes what was left
    assert json.loads(discreet("ledger", "verify", "--json").stdout)["pending"] == 0
    kinds = [
        json.loads(line)["kind"]
        for line in discreet("ledger", "list", "--json").stdout.splitlines()
    ]
    answered = ["measured", "released"]
    assert kinds[-6:] == ["charged", *answered, "charged", *answered]
    assert json.loads(charged)[-1]["spent"] > 0


def test_an_analyst_whose_questions_failed_too_often_is_readmitted(discreet, monkeypatch):
    from discreet.engines.duckdb import DuckDBEngine
    from discreet.errors import EngineError

    def fail(*_):
        raise EngineError("the engine could not finish", why="it is broken", fix="mend it")

    with monkeypatch.context() as patch:
        patch.setattr(DuckDBEngine, "snapshot", fail)
        told = [discreet("query", COUNT, "--epsilon", f"0.0{n}") for n in range(1, 7)]
    assert [one.exit_code for one in told] == [4] * 5 + [told[5].exit_code]
    assert told[5].exit_code not in {0, 4}
    assert "discreet ledger readmit" in told[5].stderr
    assert discreet("query", COUNT, "--epsilon", "0.1").exit_code != 0
    done = discreet("ledger", "readmit", "owner", "visits", "--reason", "mended", "--json")
    assert json.loads(done.stdout) == {"analyst": "owner", "dataset": "visits", "failed": 5}
    assert discreet("query", COUNT, "--epsilon", "0.1").exit_code == 0
    assert json.loads(discreet("ledger", "verify", "--json").stdout)["ok"]


def test_the_ledger_is_listed_and_exported(discreet, tmp_path):
    discreet("query", COUNT, "--epsilon", "0.1")
    lines = discreet("ledger", "list", "--json", "--after", "0").stdout.splitlines()
    discreet("ledger", "export", "--out", str(tmp_path / "out.jsonl"))
    exported = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    record = json.loads(discreet("ledger", "export", "--deployment", "visits").stdout)

    assert [json.loads(line)["kind"] for line in lines][-3:] == ["charged", "measured", "released"]
    assert [one["entry"]["sequence"] for one in exported] == [1, 2, 3, 4, 5, 6]
    assert record["deployment"]["deployment_model"]["model_name"] == "Central"
    assert json.loads(discreet("ledger", "verify", "--json").stdout)["ok"]


def test_tables_and_files_are_described(discreet, tmp_path):
    import pyarrow.parquet as pq

    pq.write_table(clinic(3), tmp_path / "v.parquet")
    everything = discreet("describe").stdout
    file = discreet("describe", str(tmp_path / "v.parquet"), "--json").stdout
    made_up = list(csv.DictReader(io.StringIO(discreet("describe", "visits", "--dummy").stdout)))

    assert "0 .. 100" in everything
    assert "protects each person that person names" in everything
    kinds = {one["name"]: one["kind"] for one in json.loads(file)["columns"]}
    assert kinds["amount"] == "real"
    assert {row["city"] for row in made_up} == {"Austin", "Haifa", "Oslo"}


@pytest.mark.parametrize("name", ["C:\\data\\v 1", "ä[1]", "it's 100%"])
def test_odd_file_names_and_windows_paths(discreet, tmp_path, name):
    import pyarrow.csv

    file = tmp_path / f"{name}.csv"
    pyarrow.csv.write_csv(clinic(20), file)
    folder = tmp_path / name
    made = discreet(
        *("init", str(file), "--name", "v", "--unit", "person", "--epsilon", "5"),
        *("--kind", "person", "integer", "--keys", "city", "Haifa,Oslo", "--required", "city"),
        *("--kind", "amount", "real"),
        *("--max-groups", "1", "--max-rows", "2"),
        folder=folder,
    )
    assert made.exit_code == 0, made.output
    question = ["query", "SELECT COUNT(*) AS n FROM v", "--epsilon", "2", "--csv"]
    assert discreet(*question, folder=folder).stdout.startswith('"n","n_low"')


def test_a_second_table_a_key_path_and_a_public_table(discreet, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    people = pa.table({"id": range(20), "grade": [i % 3 for i in range(20)]})
    pq.write_table(people, tmp_path / "people.parquet")
    pq.write_table(pa.table({"owner": range(20)}), tmp_path / "bills.parquet")
    pq.write_table(pa.table({"name": ["Haifa"], "sea": [True]}), tmp_path / "cities.parquet")
    for words in (
        [
            "people",
            "people.parquet",
            "--dataset",
            "visits",
            "--unit",
            "id",
            "--keys",
            "grade",
            "0,1,2",
        ],
        ["bills", "bills.parquet", "--dataset", "visits", "--path", "owner", "people", "id"],
        ["cities", "cities.parquet", "--public-key", "name", "--keys", "sea", "true,false"],
        ["rows", "bills.parquet", "--each-row", "--epsilon", "1"],
    ):
        told = discreet("add", words[0], str(tmp_path / words[1]), *words[2:])
        assert told.exit_code == 0, told.output
    told = json.loads(discreet("describe", "--json").stdout)

    free = json.loads(discreet("query", "SELECT name FROM cities", "--json").stdout)
    assert (free["rows"], free["price"]["epsilon"]) == ([{"name": "Haifa"}], 0)
    unpriced = discreet("query", "SELECT COUNT(*) AS n FROM visits")
    assert (unpriced.exit_code, "--epsilon 0.1" in unpriced.stderr) == (2, True)
    assert told["people"]["columns"]["grade"]["keys"] == [0, 1, 2]
    assert told["cities"]["columns"]["sea"]["keys"] == [True, False]
    assert "bills" in told
    assert told["rows"]["unit"] == "each row by itself, and nobody whole"
    wrong = ["x", str(tmp_path / "people.parquet"), "--unit", "id", "--epsilon", "1"]
    for more in (["--keys", "grade", "one"], ["--each-row"], ["--bounds", "grade", "a", "b"]):
        assert discreet("add", *wrong, *more).exit_code == 2


@pytest.mark.parametrize("name", _COMMANDS)
def test_help_is_quick_and_has_an_example(discreet, name):
    told = discreet(name, "--help")

    assert told.exit_code == 0
    assert f"Example: discreet {name}" in told.stdout


def test_every_command_below_a_command_has_an_example():
    for name in ("budget", "ledger"):
        group = main.get_command(None, name)
        for inner, command in group.commands.items():
            assert f"Example: discreet {name} {inner}" in command.help


def test_the_list_of_commands_needs_no_heavy_room():
    import subprocess
    import sys

    script = (
        "import sys; from discreet.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "print([m for m in ('duckdb', 'pyarrow', 'sqlglot', 'pandas') if m in sys.modules])"
    )
    told = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert told.stdout.endswith("[]\n")


def test_numbers_are_read_as_they_are_typed():
    assert read_text("0.1") * 10 == 1
    assert read_text(" 1/3 ") * 3 == 1
    for text in ("", "x", "1/0", "inf", "nan", "1e400000", "1" * 500):
        assert read_text(text) is None


@pytest.mark.parametrize("disk", ["whole", "broken"])
def test_a_parquet_file_is_read_in_place_or_copied_in(
    discreet, clinic_folder, tmp_path, monkeypatch, disk
):
    import pyarrow.parquet as pq

    def fail(_):
        raise OSError(5, "a bad disk")

    file = tmp_path / "more.parquet"
    pq.write_table(clinic(50), file)
    before = sorted((clinic_folder / "data").iterdir())
    said = ["--unit", "person", "--dataset", "visits", "--copy"]
    refused = discreet("add", "visits", str(file), *said)
    assert refused.exit_code == 2
    assert sorted((clinic_folder / "data").iterdir()) == before

    with monkeypatch.context() as patch:
        if disk == "broken":  # once the table is kept
            patch.setattr("discreet.curator.data.registry.sync_folder", fail)
        assert discreet("add", "more", str(file), *said).exit_code == 4 * (disk == "broken")
    file.unlink()
    question = ["query", "SELECT COUNT(*) AS n FROM more", "--epsilon", "0.1", "--csv"]
    assert discreet(*question).exit_code == 0


def test_one_of_a_budget_and_a_dataset_is_said(discreet, tmp_path):
    import pyarrow.parquet as pq

    pq.write_table(clinic(5), tmp_path / "v.parquet")
    words = ["add", "v", str(tmp_path / "v.parquet"), "--unit", "person"]
    for more in ([], ["--epsilon", "1", "--dataset", "visits"]):
        told = discreet(*words, *more)
        assert told.exit_code == 2
        assert "--dataset DATASET; one of them" in told.stderr


def test_a_record_for_the_registry_says_what_is_still_missing(discreet, tmp_path):
    out = tmp_path / "record.yaml"
    told = discreet(
        *("ledger", "export", "--deployment", "visits", "--out", str(out), "--region", "Texas"),
        *("--organisation", "Clinic", "--author", "Ann", "--sector", "Healthcare"),
    )
    record = json.loads(out.read_text())

    assert told.exit_code == 0
    assert told.stderr == "Still to be filled in: description, intended_use.\n"
    assert record["deployment"]["administrative"]["registry_authors"] == ["Ann"]
    wrong = discreet("ledger", "export", "--deployment", "nowhere", "--out", str(tmp_path / "x"))
    assert wrong.exit_code == 2
    assert not (tmp_path / "x").exists()


def test_an_owner_adopts_a_ledger_whose_newer_copy_is_lost(discreet, clinic_folder):
    discreet("query", COUNT, "--epsilon", "0.1")
    (clinic_folder / "ledger.sqlite.head").unlink()
    refused = discreet("budget")
    assert refused.exit_code == 4
    assert "discreet ledger adopt" in refused.stderr

    assert discreet("ledger", "adopt", "--reason", "disk lost").exit_code == 0
    listed = discreet("ledger", "list").stdout.replace("│", " ")
    assert "Reason: disk lost" in " ".join(listed.split())
    assert discreet("ledger", "verify").exit_code == 0


def test_a_curator_without_its_ledger_does_not_begin_another(discreet, clinic_folder):
    for file in clinic_folder.glob("ledger.sqlite*"):
        file.unlink()
    before = sorted(path.name for path in clinic_folder.rglob("*"))
    for words in (["budget"], ["query", COUNT, "--epsilon", "0.1"]):
        told = discreet(*words)
        assert told.exit_code == 4
        assert "is gone" in told.stderr
    assert sorted(path.name for path in clinic_folder.rglob("*")) == before


def test_an_empty_question_points_nowhere(discreet):
    told = discreet("query", "-", "--epsilon", "0.1", text=" \n")
    assert "^" not in told.stderr


@pytest.mark.parametrize("option", ["--after", "--limit"])
def test_numbers_beyond_what_a_ledger_counts_are_all_there_is(discreet, option):
    told = discreet("ledger", "list", option, "9" * 40, "--json")

    assert told.exit_code == 0
    assert bool(told.stdout) is (option == "--limit")


def test_what_nobody_foresaw_is_a_sentence_that_quotes_nothing(discreet, monkeypatch):
    def stumble(*_, **__):
        raise KeyError("a value of somebody")

    monkeypatch.setattr(dp.Curator, "sql", stumble)
    told = discreet("query", COUNT, "--epsilon", "0.1", foreseen=False)

    assert told.exit_code == 4
    assert "KeyError at test_commands.py:" in told.stderr
    assert "somebody" not in told.output
    assert "Traceback" not in told.output


def test_names_of_budgets_stay_in_a_narrow_terminal(clinic_folder):
    environment = {"DISCREET_CURATOR": str(clinic_folder), "COLUMNS": "40"}
    told = CliRunner().invoke(main, ["budget"], env=environment).stdout
    names = "".join(line.split("│")[1].strip() for line in told.splitlines() if "│" in line)

    assert "dataset" in names
    assert "visits" in names


def test_a_gauge_shows_whichever_runs_out_first():
    account = Account.under(dataset("visits"), dp.Budget(epsilon=3, delta=1e-6).cap())
    almost = account.after((account.cap[0] // 10, account.cap[1] * 9 // 10))

    assert "10% left" in gauge(almost)
    assert "100% left" in gauge(account)
    assert "0% left" in gauge(replace(account, spent=account.cap))


def test_a_terminal_without_our_characters_gets_others(discreet):
    discreet("--version")  # whose beginning makes them known

    assert "5 ± 2 ─ █░… ä".encode("ascii", "plainly") == b"5 +- 2 - #... ?"


def test_standard_input_that_is_closed_is_told(tmp_path):
    python = shlex.quote(sys.executable)
    asked = f"{python} -m discreet query - --epsilon 1 <&-"
    told = subprocess.run(  # noqa: S602 - our own words
        asked, shell=True, capture_output=True, text=True, cwd=tmp_path, check=False
    )

    assert told.returncode == 2
    assert "Standard input is closed" in told.stderr


def test_an_owner_raises_the_caps_of_groups_and_links(discreet):
    cap = ("--epsilon", "1", "--delta", "1e-6")
    discreet("budget", "group", "lab", "visits", "alice", *cap)
    discreet("budget", "link", "people", "visits", *cap)
    more = ("--epsilon", "2", "--delta", "1e-6", "--reason", "board")
    of_group = discreet("budget", "raise", "visits", "--group", "lab", *more)
    of_link = discreet("budget", "raise", "people", "--link", *more)
    of_both = discreet("budget", "raise", "people", "--link", "--group", "lab", *more)

    assert "The cap of group lab within visits is changed" in of_group.stdout
    assert "The cap of link people is changed" in of_link.stdout
    assert of_both.exit_code == 2


def test_a_budget_says_what_is_added_up_and_what_each_choice_buys(discreet):
    told = discreet("budget", "compare", "--epsilon", "1", "--delta", "1e-6").stdout
    assert "mu-squared" in told
    assert 'measure="epsilon"' in told
    few = ("--epsilon", "1", "--delta", "1e-6", "--measure", "epsilon")
    assert discreet("budget", "grant", "alice", "visits", *few).exit_code == 0
    rows = {row["name"]: row for row in json.loads(discreet("budget", "--json").stdout)}
    assert rows["alice"]["measure"] == "epsilon"
    assert rows["alice"]["stated_delta"] == 1e-6
    wrong = discreet("budget", "grant", "bob", "visits", "--epsilon", "1", "--measure", "rho")
    assert wrong.exit_code == 2


def test_a_folder_that_comes_first_is_the_curator(clinic_folder):
    runner = CliRunner()
    asked = runner.invoke(main, ["query", str(clinic_folder), COUNT, "--epsilon", "0.1", "--json"])
    assert json.loads(asked.stdout)["price"]["epsilon"] == 0.1
    assert runner.invoke(main, ["budget", str(clinic_folder)]).exit_code == 0


def test_arguments_that_are_not_understood_are_told_an_example(tmp_path):
    runner = CliRunner()
    for words in (["nowhere", COUNT], ["--yes", COUNT], []):
        told = runner.invoke(main, ["query", *words, "--epsilon", "1"])
        assert 'Example: discreet query "SELECT city' in told.output
    absent = runner.invoke(main, ["query", COUNT, "--curator", str(tmp_path / "x")])
    assert "Make one with" in absent.output
    assert "Example" not in absent.output


def test_init_tells_the_next_command_with_its_folder(tmp_path):
    folder = tmp_path / "my clinic.discreet"
    told = CliRunner().invoke(main, ["init", str(folder)])
    assert told.exit_code == 0
    assert f"--epsilon 3 --curator {shlex.quote(str(folder))}" in told.output
