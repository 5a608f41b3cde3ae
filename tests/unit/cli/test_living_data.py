"""`discreet append`, `discreet watch` and `--as-of`."""

import datetime as dt
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import discreet as dp
from discreet.cli import main

WATCH = ("watch", "SELECT city, COUNT(*) AS n FROM visits GROUP BY city", "--every", "day")
TERMS = ("--until", "2026-01-03", "--epsilon", "1000", "--delta", "1e-7")


@pytest.fixture
def run(tmp_path):
    def rows(first, last, day):
        days = pa.array([dt.date(2026, 1, day)] * (last - first), pa.date32())
        return pa.table({"id": range(first, last), "day": days, "city": ["Oslo"] * (last - first)})

    with dp.Curator(tmp_path / "c") as curator:
        columns = {"city": dp.Keys(["Oslo"])}
        budget = dp.Budget(epsilon=10**5, delta=1e-5)
        said = {"columns": columns, "limits": dp.Limits(1, 1)}
        curator.add("visits", rows(0, 100, 1), unit="id", budget=budget, **said)
    pq.write_table(rows(100, 150, 2), tmp_path / "more.parquet")

    def command(*words):
        environment = {"DISCREET_CURATOR": str(tmp_path / "c"), "COLUMNS": "100"}
        return CliRunner().invoke(main, words, env=environment)

    return lambda *words: command(
        *(w.replace("MORE", str(tmp_path / "more.parquet")) for w in words)
    )


def test_rows_are_appended_and_earlier_versions_asked(run):
    count = ("query", "SELECT COUNT(*) AS n FROM visits", "--epsilon", "1000", "--csv")
    assert "100" in run(*count).stdout
    assert run("append", "visits", "MORE").stdout == "visits is at version 2\n"
    assert "150" in run(*count).stdout
    assert "100" in run(*count, "--as-of", "1").stdout
    assert run(*count, "--as-of", "3").exit_code == 2
    assert run("append", "visits", "MORE").exit_code == 2
    assert json.loads(run("append", "visits", "MORE", "--again", "--json").stdout)["version"] == 3
    assert run("append", "visits", "MORE", "--again", "--csv").stdout == "table,version\nvisits,4\n"


def test_a_standing_question_is_printed_as_far_as_it_is_answered(run):
    words = (*WATCH, *TERMS, "--since", "2026-01-01")
    assert run(*words, "--csv").stdout.startswith('"day","city","n"')
    assert run("append", "visits", "MORE", "--through", "2026-01-02").exit_code == 0
    assert [row.split(",")[2] for row in run(*words, "--csv").stdout.splitlines()[1:]] == [
        "100",
        "150",
    ]
    assert len(json.loads(run(*words, "--json").stdout)["rows"]) == 2
    assert "2 of 3 periods" in run(*words).stdout
    assert run(*WATCH, *TERMS).exit_code == 2  # nobody says when it begins
