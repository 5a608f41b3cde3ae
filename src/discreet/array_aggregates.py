"""Aggregates of arrays, a row a person: `dp.mean(ages, bounds=(0, 120), epsilon=1)`."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from discreet.argument_names import also_called, fix_of, misfit
from discreet.curator.budget import Budget
from discreet.curator.opening import Curator
from discreet.errors import InputError
from discreet.mechanisms import Laplace
from discreet.mechanisms.grid import as_finite, listed
from discreet.plan.schema import Bounds, EachRow
from discreet.rationals import Real

_OF_AN_ARRAY = """

    Also of a list or an array with one axis, a row a person:
    `dp.{name}(ages, bounds=(0, 120), epsilon=1)`. For its interval, and for an account of all
    that is asked, add the array to a curator.

    Guarantee: epsilon-differential privacy; `bounds` are named without looking at the data.
    Neighbours: arrays with one row more or less.
    Edge cases: values beyond the bounds are clamped; what is no finite number is missing.
    """


_OF_ROWS = """

    Also of the rows of an array, a list or a data frame, a row a person, whatever they hold:
    `dp.count(ages[ages > 40], epsilon=1)`.

    Guarantee: epsilon-differential privacy. Neighbours: one row more or less.
    """


def of_arrays(aggregate: Callable[..., Any]) -> Callable[..., Any]:
    """Let an aggregate of a column take an array too, with `epsilon=` and public `bounds=`.

    Example:
        >>> from discreet.plan.expression_builder import mean
        >>> abs(of_arrays(mean)([30, 40, 50] * 1000, bounds=(0, 120), epsilon=1) - 40) < 5
        True
    """
    name = aggregate.__name__

    @also_called(bounds="lower upper", range="lower upper")
    def call(
        *of: Any, epsilon: Real | None = None, lower: Any = None, upper: Any = None, **how: Any
    ) -> Any:
        is_array = bool(of) and hasattr(of[0], "__len__") and not isinstance(of[0], str)
        if not is_array and epsilon is None:
            return _checked(aggregate, *of, **how)
        if is_array and name == "count" and not how:
            return _count(of[0], epsilon)
        values = listed(of[0]) if of else None
        if values is None or None in (epsilon, lower, upper):
            raise InputError(
                f"{name} without a list of numbers, bounds and epsilon",
                why="noise follows from epsilon and from how far one person can move the answer",
                fix=f"{fix_of(name, None)}, or dp.{name}('age') of a curator's column",
            )
        column = _checked(aggregate, "x", *of[1:], **how)
        with Curator.in_memory() as curator:
            curator.add(
                "array",
                {"x": np.array([*map(as_finite, values)])},
                unit=EachRow(),
                budget=Budget(epsilon),
                columns={"x": Bounds(lower, upper)},
            )
            asked = curator.table("array").agg(column)
            found = asked.release(epsilon=epsilon).to_arrow()
        released = [found[one.name][0].as_py() for one in asked.plan.aggregates]
        return released if len(released) > 1 else released[0]

    call.__name__ = call.__qualname__ = name
    call.__module__ = "discreet"  # where pickle finds it
    more = _OF_ROWS if name == "count" else _OF_AN_ARRAY.format(name=name)
    call.__doc__ = f"{aggregate.__doc__}{more}"
    return call


def _checked(aggregate: Callable[..., Any], *of: Any, **how: Any) -> Any:
    if told := misfit(aggregate, of, how):
        raise TypeError(told)
    return aggregate(*of, **how)


def _count(rows: Any, epsilon: Real | None) -> int:
    is_mask = str(getattr(rows, "dtype", "")).startswith("bool")
    has_rows = hasattr(rows, "__array__") or isinstance(rows, Sequence)
    if epsilon is None or is_mask or not has_rows:
        raise InputError(
            "a count of true and false" if is_mask else "a count without rows and epsilon",
            why="rows are counted, each a person, whatever they hold",
            fix="call dp.count(ages[ages > 40], epsilon=1)",
        )
    return int(Laplace(epsilon=epsilon, sensitivity=1).release(len(rows)))
