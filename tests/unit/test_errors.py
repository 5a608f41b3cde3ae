import pickle

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
