"""Constants and names from closed lists, checked when they are passed from Python."""

from enum import Enum
from typing import TypeVar

import numpy as np

from discreet.errors import InputError
from discreet.plan.expressions import Literal
from discreet.plan.kinds import PYTHON_KINDS, Kind
from discreet.rationals import Real, rational

_Name = TypeVar("_Name", bound=Enum)


def literal(constant: object) -> Literal:
    """A constant of Python or numpy; np.float32(0.1) is 0.1."""
    value = constant.item() if isinstance(constant, np.generic) else constant
    if isinstance(constant, np.floating):
        value = float(rational(constant, "a constant"))
    kind = PYTHON_KINDS.get(type(value))
    if kind is None:
        raise InputError(
            f"a constant is of type {type(value).__name__}",
            why="rows hold truth values, numbers, texts, dates and timestamps",
            fix="pass one of these; for NULL use is_null()",
        )
    return Literal(value, kind)  # type: ignore[arg-type]


def number(value: Real) -> Literal:
    """A bound: INTEGER where it is whole, so that whole numbers stay whole."""
    exact = rational(value, "a bound")
    if exact.denominator == 1:
        return Literal(int(exact), Kind.INTEGER)
    return Literal(float(exact), Kind.REAL)


def member(names: type[_Name], name: object) -> _Name:
    """One of a closed list of names."""
    try:
        return names(name)
    except ValueError:
        raise InputError(
            f"there is no {names.__name__.lower()} {name!r}",
            why=f"there are {', '.join(str(one.value) for one in names)}",
            fix="name one of them",
        ) from None


def odd(what: str, value: object, fix: str) -> InputError:
    """The error for a value of another type."""
    why = f"a {type(value).__name__} cannot be read as one"
    return InputError(f"{what} is of another kind", why=why, fix=f"pass {fix}")
