import ast
import pickle
import re
from functools import cache
from pathlib import Path

import click
import pytest

from discreet import errors
from discreet.errors import BudgetError, DiscreetError, InputError


def test_every_error_says_what_why_and_how_to_fix_it():
    error = InputError("scale is 0", why="noise has a width", fix="pass scale > 0")

    assert str(error) == "scale is 0: noise has a width. Fix: pass scale > 0."
    assert (error.what, error.why, error.fix) == (
        "scale is 0",
        "noise has a width",
        "pass scale > 0",
    )
    assert isinstance(error, ValueError)


def test_errors_cross_process_borders_whole():
    error = BudgetError("asked 2", why="1 is left", fix="ask for less", asked=2.0, left=1.0)
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes

    assert type(copy) is BudgetError
    assert str(copy) == str(error)
    assert (copy.asked, copy.left) == (2.0, 1.0)


def test_the_tree_in_the_docstring_is_the_tree():
    classes = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, DiscreetError)
    }
    drawn = {name for name in classes if name in (errors.__doc__ or "")}

    assert classes == drawn


@pytest.mark.parametrize("kind", DiscreetError.__subclasses__(), ids=lambda kind: kind.__name__)
def test_every_error_is_documented(kind):
    assert kind.__doc__


SOURCE = Path(errors.__file__).parent


@cache
def advice():
    """Every place where an error is made: where it is, the call, and its words."""
    return tuple(_advice())


def _advice():
    for path in sorted(SOURCE.rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
            if named and call.func.id in KINDS:
                words = {one.arg: one.value for one in call.keywords}
                if None in words:  # it repeats another one's words
                    continue
                yield f"{path.relative_to(SOURCE)}:{call.lineno}", call, words


KINDS = {one.__name__ for one in DiscreetError.__subclasses__()}


def texts(node):
    """The text of an expression as far as it is written down."""
    parts = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant)]
    return "".join(one for one in parts if isinstance(one, str))


def test_every_error_that_is_made_says_why_and_what_to_do():
    found = advice()
    assert len(found) > 350
    for place, call, words in found:
        assert len(call.args) == 1, place
        assert {"why", "fix"} <= words.keys(), place
        fix = words["fix"]
        if isinstance(fix, ast.Constant):
            assert len(fix.value.split()) > 1, place
            assert not re.search(r"[^.]\.$", fix.value), f"{place}: the sentence ends by itself"


def test_every_command_that_an_error_names_is_there():
    from discreet.cli import main

    named = 0
    for place, _, words in advice():
        for line in re.findall(r"`discreet ([a-z -]+)", texts(words["fix"])):
            command, context = main, click.Context(main)
            for word in line.split():
                if word.startswith("--"):
                    assert any(word in one.opts for one in command.params), f"{place}: {line}"
                elif isinstance(command, click.Group):
                    command = command.get_command(context, word)
                    assert command is not None, f"{place}: {line}"
            named += 1
    assert named > 10


def test_no_error_advises_to_forget_what_was_spent_while_there_is_another_way():
    advised = [(place, texts(words["fix"])) for place, _, words in advice()]
    adopting = [(place, text) for place, text in advised if "ledger adopt" in text]
    assert len(adopting) >= 4
    for place, text in adopting:
        assert text.startswith(("put", "restore")), place
        assert "lost for good" in text, place
