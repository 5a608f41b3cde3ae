import json
from fractions import Fraction

import pytest
from click.testing import CliRunner

from discreet.attacks import Outcome
from discreet.cli.attack import attack
from discreet.errors import InputError
from discreet.lab import AGAINST, PLAYS, Setting, picture, play

QUICK = ["differencing", "--effort", "1"]


def run(*words):
    return CliRunner().invoke(attack, words)


def test_the_list_names_every_attack():
    table, facts = run("list"), json.loads(run("list", "--json").stdout)

    assert [one["name"] for one in facts] == list(PLAYS)
    assert {"summary", "success", "effort", "unit", "rounded", "private"} <= set(facts[0])
    assert all(name in table.stdout for name in PLAYS)


@pytest.mark.parametrize("name", PLAYS)
def test_every_attack_has_help_with_an_example(name):
    said = run(name, "--help")

    assert said.exit_code == 0
    assert f"discreet attack {name}" in said.stdout


@pytest.mark.parametrize("against", AGAINST)
def test_a_run_gives_facts(against):
    said = run(*QUICK, "--against", against, "--epsilon", "1/2", "--json")
    facts = json.loads(said.stdout)

    assert {"success", "baseline", "bound", "n"} <= set(facts)
    assert facts["epsilon"] == 0.5
    assert facts["bound"] == pytest.approx(0.622, abs=1e-3)
    assert facts["refutes"] is (against in {"raw", "rounded"} and facts["success"] > 0.7)


def test_facts_come_as_csv_too():
    listed = run("list", "--csv").stdout.splitlines()
    one = run(*QUICK, "--against", "raw", "--csv").stdout.splitlines()

    assert len(listed) == 1 + len(PLAYS)
    assert listed[0].startswith("name,summary")
    assert one == [
        "attack,against,epsilon,success,baseline,bound,n,refutes",
        "differencing,raw,1.0,1.0,0.5,0.7310585786300049,400,True",
    ]
    assert run("list", "--csv", "--json").exit_code == 2


def test_a_run_says_whether_the_promise_is_refuted():
    assert "above the bound" in run(*QUICK, "--against", "raw").stdout
    assert "within the bound" in run(*QUICK, "--against", "private").stdout


@pytest.mark.parametrize(("name", "start"), [("out.svg", b"<svg"), ("out.png", b"\x89PNG")])
def test_a_run_can_be_drawn(tmp_path, name, start):
    said = run(*QUICK, "--against", "raw", "--plot", str(tmp_path / name))

    assert said.exit_code == 0, said.output
    assert (tmp_path / name).read_bytes().startswith(start)


def test_a_picture_of_another_kind_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"\.svg or \.png"):
        picture.save("<svg/>", tmp_path / "out.gif")


def test_a_picture_shows_success_chance_and_bound():
    svg = picture.draw("a < b", {"raw": Outcome(0.9, 0.5, 0.75, 10)})

    assert "a &lt; b" in svg
    assert "0.900 (0.596 to 0.982)" in svg
    assert "baseline 0.500, bound 0.750" in svg
    assert svg.count("<path") == 2


@pytest.mark.parametrize("epsilon", ["zero", "1/0", "nan", "1e999999999"])
def test_an_epsilon_that_is_no_number_is_refused(epsilon):
    said = run(*QUICK, "--epsilon", epsilon)

    assert said.exit_code == 2
    assert "is not a number" in said.output


@pytest.mark.parametrize("epsilon", ["0", "-1", "1e13", "1e400"])
def test_an_epsilon_that_is_out_of_reach_is_refused(epsilon):
    said = run(*QUICK, "--epsilon", epsilon)

    assert isinstance(said.exception, InputError)


def test_an_effort_that_does_not_fit_into_memory_is_told():
    # A petabyte of questions, more than a process can address: nothing is allocated.
    said = run("reconstruct", "--against", "raw", "--effort", "1000000000000")

    assert isinstance(said.exception, InputError)
    assert "memory" in str(said.exception)
    assert run("reconstruct", "--effort", "1000000000001").exit_code == 2


def test_unknown_attacks_and_answers_are_refused():
    assert run("rumours").exit_code == 2
    assert run(*QUICK, "--against", "everybody").exit_code == 2
    with pytest.raises(InputError, match="no attack"):
        play("rumours", "raw")
    with pytest.raises(InputError, match="against"):
        Setting("everybody", 1)
    with pytest.raises(InputError, match="effort"):
        Setting("raw", 0)
    with pytest.raises(InputError, match="epsilon"):
        Setting("raw", 1, Fraction(0))


def test_other_seeds_are_other_people():
    rates = {play("differencing", "rounded", seed=seed).success for seed in range(4)}

    assert len(rates) > 1
