"""The trusted base is said once, exists, is documented as it should be, and its core is guarded."""

import ast
import subprocess
import sys

import pytest

from mutation import mutants
from trusted_base import ROOT, SOURCE, core, facts, own_tests, parts

SECTIONS = ("Guarantee:", "Neighbours:", "Why:", "Edge cases:", "Example:", "Reference:")


def test_every_module_and_every_test_of_the_trusted_base_is_there():
    for part in parts():
        for name in part.modules:
            assert list(SOURCE.glob(name)), name
        for name in part.tests:
            assert (ROOT / name).exists(), name
        assert part.branches in {None, 100}


def test_the_core_is_of_the_trusted_base_and_each_module_has_tests_of_its_own():
    base = {name for part in parts() for name in part.files}
    assert set(core().files) <= base
    assert all((ROOT / own_tests(name)).exists() for name in core().modules)


def test_no_module_is_in_two_parts():
    files = [name for part in parts() for name in part.files]
    assert len(files) == len(set(files))


def test_the_own_tests_of_the_core_reach_every_branch():
    command = [sys.executable, "tests/trusted_base.py", "--core"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("module", ["plan/bounding.py", "plan/sensitivity.py"])
def test_theorems_say_what_they_promise_to_whom_and_why(module):
    tree = ast.parse((SOURCE / module).read_text())
    told = [
        ast.get_docstring(node) or ""
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
    ]
    theorems = [text for text in told if "Guarantee:" in text]
    assert theorems
    for text in theorems:
        assert [one for one in SECTIONS if one not in text] == [], text.splitlines()[0]


def test_pages_point_to_the_one_list():
    for page in ("CONTRIBUTING.md", "SECURITY.md"):
        assert "trusted-base.toml" in (ROOT / page).read_text()


def test_mutants_differ_from_the_source_and_what_is_called_equivalent_is_one_of_them():
    changes = {}
    for module in core().modules:
        source = (SOURCE / module).read_text()
        found = list(mutants(source))
        assert all(len(set(what.split(" -> "))) == 2 for _, what, _ in found)
        lines = source.splitlines()
        changes[module] = {(lines[line - 1].strip(), what) for line, what, _ in found}
    for one in facts()["equivalent"]:
        assert (one["line"], one["change"]) in changes[one["module"]]
        assert one["reason"]
