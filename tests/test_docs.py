"""The docs know every mechanism, command, error, noise function and guarantee there is.

Examples with prompts are run as doctests; blocks of `console` are run here, in a folder of the
page's own, with the files that its blocks with a title hold.
"""

import doctest
import inspect
import json
import re
import shlex
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from discreet import errors, mechanisms, noise, privacy
from discreet.cli import _COMMANDS, main
from discreet.curator.orders.census.census_plan import CensusPlan, releases
from discreet.mechanisms import Mechanism

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
DOCS = {path.stem: path.read_text() for path in PAGES if path.parent.name != "api"}
PARTS = ("tutorial", "how-to", "reference", "explanation")
FENCE = re.compile(r"^```(\w*)(?: title=\"([\w.-]+)\")?\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*\n)((?:[^$].*\n|\n)*)", re.MULTILINE)
NO_EXAMPLES = ("text", "bash", "yaml", "sql", "json", "http", "nginx")
"""Languages of what is shown and not run; of commands the options are compared below."""
RUN_ELSEWHERE = ("ask.py",)  # tests/server/test_documented.py

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
    for page in [*PAGES, *ROOT.glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} -> {target}"


def test_every_page_has_a_home_in_one_of_the_four_parts():
    homes = {page.relative_to(ROOT / "docs").parts[0] for page in PAGES}

    assert homes == {*PARTS, "index.md"}


@pytest.mark.parametrize("part", PARTS)
def test_every_page_is_named_in_the_index_of_its_part(part):
    index = (ROOT / "docs" / part / "index.md").read_text()
    pages = {
        str(page.relative_to(ROOT / "docs" / part)) for page in (ROOT / "docs" / part).rglob("*.md")
    }

    assert {one for one in pages if not one.startswith("api/")} - {"index.md"} <= set(
        re.findall(r"\]\(([^)]+)\)", index)
    )


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.stem)
def test_every_example_is_one_that_is_run(page):
    blocks = FENCE.findall(page.read_text())
    commands = "".join(block for language, _, block in blocks if language == "console")
    for language, title, block in blocks:
        runs = language == "console" or (language == "python" and ">>>" in block)
        named = title and (title in commands or title in RUN_ELSEWHERE)
        assert runs or named or language in NO_EXAMPLES, block
    unfenced = FENCE.sub("", page.read_text())
    assert not re.search(r"^    (import |>>> )", unfenced, re.MULTILINE)


CONSOLE = [page for page in PAGES if "```console" in page.read_text()]


@pytest.mark.parametrize("page", CONSOLE, ids=lambda page: page.stem)
def test_every_command_of_a_lesson_prints_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for language, title, block in FENCE.findall(page.read_text()):
        if title:
            (tmp_path / title).write_text(block)
        if language == "console":
            for command, wanted in COMMAND.findall(block):
                printed = output(command.replace("\\\n", " ").strip())
                assert as_told(wanted, printed), f"{command}\n{printed}"


def output(command):
    """What a command prints, both streams."""
    words = shlex.split(command)
    if words[0] == "discreet":
        return CliRunner().invoke(main, words[1:], env={"COLUMNS": "100"}).output
    if words[0] == "python":
        words[0] = sys.executable
    ran = subprocess.run(words, capture_output=True, text=True, check=True)
    return ran.stdout + ran.stderr


def as_told(wanted, printed):
    """Whether a page tells this output; dots stand for anything, spaces for spaces."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(wanted.strip(), printed.strip(), flags)


def test_the_plan_in_yaml_is_the_one_in_python():
    """What the page of releases shows twice is one plan."""
    plan = re.search(r"^```yaml\n(.*?)^```", DOCS["census-releases"], re.MULTILINE | re.DOTALL)
    shown = re.search(r"plan = dp\.(releases\(.*?\))\n>>>", DOCS["census-releases"], re.DOTALL)
    code = shown[1].replace("\n...", "\n")
    told = CensusPlan.from_yaml(plan[1]), eval(code, {"releases": releases})  # noqa: S307
    yaml, python = ({**one.spec, "delta": Fraction(one.spec["delta"])} for one in told)

    assert yaml == python


@pytest.mark.parametrize("book", sorted((ROOT / "docs").rglob("*.ipynb")), ids=lambda one: one.stem)
def test_every_notebook_runs_from_its_first_cell_to_its_last(book):
    names = {}
    for cell in json.loads(book.read_text())["cells"]:
        if cell["cell_type"] == "code":
            assert not cell["outputs"]
            exec(compile("".join(cell["source"]), f"{book.name} {cell['id']}", "exec"), names)  # noqa: S102


def test_every_command_line_of_the_docs_names_what_there_is():
    """Commands that no lesson runs: they and their options are there."""
    lines = re.findall(r"^ *(?:\$ )?discreet ([a-z].*)$", "\n".join(DOCS.values()), re.MULTILINE)
    for line in lines:
        words = shlex.split(line.rstrip("\\"), comments=True)
        command = main.get_command(None, words[0])
        if isinstance(command, click.Group) and words[1:]:
            command = command.get_command(click.Context(command), words[1])
        options = {name for one in command.params for name in one.opts}
        assert {word for word in words if word.startswith("--")} <= options | {"--help"}, line


def test_every_error_has_a_place_in_the_tree():
    kinds = [value for value in vars(errors).values() if inspect.isclass(value)]

    assert all(kind.__name__ in errors.__doc__ for kind in kinds)


COURSE = """randomized response, estimator, laplace, tails, histograms, exponential mechanism,
utility, lunch, minimum cut, post-processing, group privacy, basic, advanced, optimal,
sparse vector, smooth sensitivity, blr, multiplicative weights, local model, passwords,
exponential time, polynomial time, linkage, k-anonymity, census, holdouts"""


@pytest.mark.parametrize("fact", COURSE.replace("\n", " ").split(", "))
def test_the_tour_has_a_place_for_every_fact_of_a_first_course(fact):
    assert re.search(rf"^##.*{fact}", DOCS["tour"].lower(), re.MULTILINE)


def test_every_fact_of_the_tour_has_a_cell_and_names_its_file():
    for fact in re.findall(r"^### (.*?)(?=^##|\Z)", DOCS["tour"], re.MULTILINE | re.DOTALL):
        assert "\n>>> " in fact, fact
        assert re.search(r"`[a-z_]+/[\w/{},]+(\.py)?`", fact), fact


def test_every_file_that_the_tour_names_is_there():
    """A brace stands for several names: `budgets/{filters,odometer}.py`."""
    for named in re.findall(r"`([a-z_]+/[\w/{},]*(?:\.py)?)`", DOCS["tour"]):
        before, _, rest = named.partition("{")
        inner, _, after = rest.partition("}")
        for part in inner.split(","):
            assert (ROOT / "src/discreet" / f"{before}{part}{after}").exists(), named
