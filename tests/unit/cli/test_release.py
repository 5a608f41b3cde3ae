"""`discreet release`: a plan in a file, tables in a folder."""

import csv
import io
import json

import pyarrow.parquet as pq
import pytest

import discreet as dp
from small_census import census

PLAN = """
table: people
geography: places
levels: [state, county, block]
tables: {total: [], by_age: [age]}
bins: {age: 4}
epsilon: 1
delta: 1e-6
"""


@pytest.fixture
def place(tmp_path):
    with census(dp.Curator(tmp_path / "c")):
        pass
    (tmp_path / "plan.yaml").write_text(PLAN)
    return tmp_path


def test_a_plan_is_explained_released_and_released_again(discreet, place):
    words = ("release", str(place / "plan.yaml"), "--to", str(place / "out"))
    told = discreet(*words, "--explain", "--json", folder=place / "c")
    noise = json.loads(told.stdout)["noise"]
    assert list(noise) == ["nation", "state", "county", "block"]
    assert not (place / "out").exists()

    made = json.loads(discreet(*words, "--json", "--statement", folder=place / "c").stdout)
    assert made["cells"] == 5 * 39
    assert made["random_bytes"] > 0
    assert "differential privacy" in made["statement"]
    assert pq.read_table(made["files"][0]["file"]).num_rows == 1

    again = discreet(*words, "--statement", folder=place / "c")
    assert "0 random bytes were drawn; 8 files" in again.stdout
    rows = list(csv.DictReader(io.StringIO(discreet(*words, "--csv", folder=place / "c").stdout)))
    assert [row["level"] for row in rows] == [*noise] * 2


@pytest.mark.parametrize("content", [b"tables: [", b"PAR1\xff\xfe\x00"])
def test_a_file_that_is_no_plan_is_wrong_input(discreet, place, content):
    (place / "plan.yaml").write_bytes(content)
    told = discreet("release", str(place / "plan.yaml"), folder=place / "c")
    assert told.exit_code == 2
    assert "cannot be read" in told.stderr
