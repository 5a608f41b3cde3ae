"""The docs know every mechanism, command, error, noise function and guarantee there is."""

import inspect
import re
from pathlib import Path

import pytest

from discreet import errors, mechanisms, noise, privacy
from discreet.cli import _COMMANDS, main
from discreet.mechanisms import Mechanism

ROOT = Path(__file__).parents[1]
DOCS = {path.stem: path.read_text() for path in (ROOT / "docs").rglob("*.md")}

MECHANISMS = [
    name
    for name in mechanisms.__all__
    if inspect.isclass(thing := getattr(mechanisms, name))
    and issubclass(thing, Mechanism)
    and not inspect.isabstract(thing)
]
GUARANTEES = [
    name
    for name in privacy.__all__
    if inspect.isclass(thing := getattr(privacy, name))
    and issubclass(thing, privacy.Guarantee)
    and name not in {"Guarantee", "Composed"}
]


@pytest.mark.parametrize("name", noise.__all__)
def test_every_noise_function_is_documented(name):
    assert f"`{name}(" in DOCS["noise"]


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_is_documented_and_states_its_guarantee(name):
    text = getattr(mechanisms, name).__doc__

    assert f"`{name}`" in DOCS["mechanisms"]
    for section in ("Guarantee:", "Neighbours:", "Reference:"):
        assert section in text


@pytest.mark.parametrize("name", GUARANTEES)
def test_every_guarantee_is_documented(name):
    assert f"`{name}(" in DOCS["privacy"]


@pytest.mark.parametrize("name", _COMMANDS)
def test_every_command_is_documented_and_has_an_example(name):
    assert any(f"discreet {name}" in text for text in DOCS.values()) or name == "demo"
    assert f"discreet {name}" in (main.get_command(None, name).help or "")


def test_every_link_leads_somewhere():
    pages = [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} -> {target}"


def test_every_error_has_a_place_in_the_tree():
    kinds = [value for value in vars(errors).values() if inspect.isclass(value)]

    assert all(kind.__name__ in errors.__doc__ for kind in kinds)


def test_every_file_that_the_tour_names_is_there():
    """A brace stands for several names: `budgets/{filters,odometer}.py`."""
    for named in re.findall(r"`([a-z_]+/[\w/{},]*(?:\.py)?)`", DOCS["tour"]):
        before, _, rest = named.partition("{")
        inner, _, after = rest.partition("}")
        for part in inner.split(","):
            assert (ROOT / "src/discreet" / f"{before}{part}{after}").exists(), named
