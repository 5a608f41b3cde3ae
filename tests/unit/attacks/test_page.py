"""The page tells of every attack, with figures that its script wrote."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

import discreet.attacks
from discreet.lab import PLAYS, Outcome

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/explanation/attacks.md").read_text(encoding="utf-8")


def script():
    spec = importlib.util.spec_from_file_location("figures", ROOT / "docs/figures/attacks.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows():
    figures = script()
    table = PAGE.split(figures.BEGIN)[1].split(figures.END)[0]
    return {
        name: [float(cell) for cell in cells.strip(" |").split("|")]
        for name, cells in re.findall(r"^\| `([\w-]+)` \|(.*)$", table, flags=re.MULTILINE)
    }


def test_the_markers_stand_once_and_in_order():
    figures = script()

    assert PAGE.count(figures.BEGIN) == PAGE.count(figures.END) == 1
    assert PAGE.index(figures.BEGIN) < PAGE.index(figures.END)


@pytest.mark.parametrize("name", PLAYS)
def test_every_attack_is_told_and_measured(name):
    assert PAGE.count(f"`{name}`") >= 2
    chance, raw, _, private, bound, n = rows()[name]
    assert raw > bound > chance - 0.001
    assert private <= bound + 3 * Outcome(private, chance, bound, int(n)).standard_error


def test_the_table_has_nothing_else():
    assert set(rows()) == set(PLAYS)


def test_rewriting_keeps_what_is_around_the_table():
    figures = script()
    page = f"a\n{figures.BEGIN}\nold\n{figures.END}\nb\n"

    assert figures.replaced(page, "new") == f"a\n{figures.BEGIN}\nnew\n{figures.END}\nb\n"
    assert figures.row("x", dict.fromkeys(("raw", "rounded", "private"), Outcome(1, 0.5, 0.7, 9)))


def test_every_class_of_the_room_can_be_imported_from_it_and_its_target_is_told():
    for name in discreet.attacks.__all__:
        one = getattr(discreet.attacks, name)
        assert not hasattr(one, "run") or f"`{name}`" in PAGE.split("## Your own system")[1]


def test_every_figure_is_on_the_page():
    figures = script()
    table = PAGE.split(figures.FIGURES_BEGIN)[1].split(figures.FIGURES_END)[0]

    assert re.findall(r"^\| `([\w-]+)` \|", table, flags=re.MULTILINE) == list(figures.FIGURES)
