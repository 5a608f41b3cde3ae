"""What an owner does for one person, from the shell."""

import json

import discreet as dp
from people import CITIES, LOUD, add

CROWD = [(i, CITIES[i % 2], i % 10) for i in range(20)]
COUNT = "SELECT COUNT(*) AS n FROM visits"


def test_one_person_is_told_limited_and_removed_from_the_shell(discreet, tmp_path):
    folder = tmp_path / "own"
    with add(dp.Curator(folder), CROWD) as curator:
        curator.sql(COUNT, **LOUD)

    def person(*words, **more):
        return discreet("person", *words, folder=folder, **more)

    told = person("statement", "3")
    assert "Your data were part of 1 answer," in told.stdout
    assert json.loads(person("statement", "-", "--json", text="3\n").stdout)["left_out"] == 0
    assert person("statement", "3", "--csv").stdout.count("\n") == 2
    assert person("limit", "4", "--epsilon", "0").exit_code == 0
    assert person("remove", "3").exit_code == 2
    assert person("remove", "3", "--yes").exit_code == 0
    assert "closed" in person("statement", "3").stdout
    wrong = person("limit", "three", "--epsilon", "0")
    assert (wrong.exit_code, "three" in wrong.stderr) == (2, False)
    with dp.Curator(folder) as curator:
        assert curator.sql(COUNT, **{**LOUD, "epsilon": 121}).table.column("n").to_pylist() == [18]
