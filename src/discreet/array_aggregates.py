"""Aggregates of arrays, a row a person: `dp.mean(ages, bounds=(0, 120), epsilon=1)`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.argument_names import also_called
from discreet.curator.budget import Budget
from discreet.curator.opening import Curator
from discreet.errors import InputError
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
            return aggregate(*of, **how)
        values = listed(of[0]) if of else None
        if values is None or None in (epsilon, lower, upper) or name == "count":
            counted = "dp.Laplace(epsilon=1, sensitivity=1).release(sum(age > 40 for age in ages))"
            right = f"dp.{name}(ages, bounds=(0, 120), epsilon=1), or dp.{name}('age') of a column"
            raise InputError(
                f"{name} of an array with one axis is asked in another way",
                why="noise follows from epsilon and from how far one person can move the answer",
                fix=f"call {counted if name == 'count' else right}",
            )
        with Curator.in_memory() as curator:
            curator.add(
                "array",
                {"x": np.array([*map(as_finite, values)])},
                unit=EachRow(),
                budget=Budget(epsilon),
                columns={"x": Bounds(lower, upper)},
            )
            asked = curator.table("array").agg(aggregate("x", *of[1:], **how))
            found = asked.release(epsilon=epsilon).to_arrow()
        released = [found[one.name][0].as_py() for one in asked.plan.aggregates]
        return released if len(released) > 1 else released[0]

    call.__name__ = call.__qualname__ = name
    call.__module__ = "discreet"  # where pickle finds it
    call.__doc__ = f"{aggregate.__doc__}{'' if name == 'count' else _OF_AN_ARRAY.format(name=name)}"
    return call
