"""docs/reference/server.md knows every route, role, limit and status there is."""

import dataclasses
import re
from pathlib import Path

import pytest

import discreet as dp
from discreet.server.app import build_app
from discreet.server.error_replies import FAULTS
from discreet.server.settings import Settings

PAGE = (Path(__file__).parents[2] / "docs/reference/server.md").read_text(encoding="utf-8")
TOLD = {
    "any token": "analyst, auditor, owner",
    "everybody": "",
    "who asked, owner": "analyst, owner",
}


@pytest.fixture(scope="module")
def gates():
    return build_app(dp.Curator.in_memory()).state.route_accesses


def told():
    """Every route of the page's table, and for whom it is."""
    found = {}
    for line in PAGE.splitlines():
        if line.startswith("| `") and "/" in line.split("|")[1]:
            _, routes, who, *_ = (cell.strip() for cell in line.split("|"))
            for one in re.findall(r"`([A-Z]+ /[^`]*)`", routes):
                found[one] = TOLD.get(who, ", ".join(sorted(who.split(", "))))
    return found


def test_every_route_is_documented_with_those_it_is_for(gates):
    there = {
        f"{method} {gate.template}": ", ".join(sorted(gate.guard.roles if gate.guard else ()))
        for gate in gates
        for method in gate.methods
    }

    assert told() == there


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Settings)])
def test_every_limit_is_documented(name):
    assert f"`{name}`" in PAGE


@pytest.mark.parametrize("status", [*FAULTS, 400, 405, 431, 500])
def test_every_status_is_documented(status):
    assert re.search(rf"^\| [\d, ]*{status}", PAGE, re.MULTILINE)


def test_the_program_that_asks_a_server_runs_as_it_stands(server, monkeypatch, capsys):
    page = (Path(__file__).parents[2] / "docs/how-to/remote.md").read_text(encoding="utf-8")
    monkeypatch.setenv("DISCREET_SERVER", server.url)
    monkeypatch.setenv("DISCREET_TOKEN", server.token("ann", "analyst"))

    exec(re.search(r'^```python title="ask.py"\n(.*?)^```', page, re.MULTILINE | re.DOTALL)[1], {})  # noqa: S102

    assert "±" in capsys.readouterr().out
