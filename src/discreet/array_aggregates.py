"""Aggregates of arrays, a row a person: `dp.mean(ages, bounds=(0, 120), epsilon=1)`."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from discreet.argument_names import also_called
from discreet.curator.budget import Budget
from discreet.curator.opening import Curator
from discreet.errors import InputError
from discreet.mechanisms.grid import as_numbers
from discreet.plan.schema import Bounds, EachRow
from discreet.rationals import Real


def of_arrays(aggregate: Callable[..., Any]) -> Callable[..., Any]:
    """Let an aggregate of a column take an array too, with `epsilon=` and public `bounds=`.

    Each row stands for one person, and what comes out is a number with noise. For its interval, and
    for an account of all that is asked, add the array to a curator.

    Example:
        >>> from discreet.plan.builder import mean
        >>> abs(of_arrays(mean)([30, 40, 50] * 1000, bounds=(0, 120), epsilon=1) - 40) < 5
        True
    """
    name = aggregate.__name__

    @wraps(aggregate)
    @also_called(range="bounds")
    def call(*of: Any, epsilon: Real | None = None, bounds: Any = None, **how: Any) -> Any:
        if "lower" in how and "upper" in how:
            bounds = how.pop("lower"), how.pop("upper")
        is_array = bool(of) and hasattr(of[0], "__len__") and not isinstance(of[0], str)
        if not is_array and epsilon is None:
            return aggregate(*of, **how)
        if not is_array or epsilon is None or bounds is None or name == "count":
            counted = "dp.Laplace(epsilon=1, sensitivity=1).release(sum(age > 40 for age in ages))"
            right = f"dp.{name}(ages, bounds=(0, 120), epsilon=1), or dp.{name}('age') of a column"
            raise InputError(
                f"{name} of an array is asked in another way",
                why="noise follows from epsilon and from how far one person can move the answer",
                fix=f"call {counted if name == 'count' else right}",
            )
        given = np.asarray(of[0]) * 1 if getattr(of[0], "dtype", None) == np.bool_ else of[0]
        values, (low, high) = np.asarray(as_numbers(given), dtype=float), bounds
        with Curator.in_memory() as curator:
            curator.add(
                "array",
                {"x": values},
                unit=EachRow(),
                budget=Budget(epsilon),
                columns={"x": Bounds(low, high)},
            )
            asked = curator.table("array").agg(aggregate("x", *of[1:], **how))
            found = asked.release(epsilon=epsilon).to_arrow()
        released = [found[one.name][0].as_py() for one in asked.plan.aggregates]
        return released if len(released) > 1 else released[0]

    return call
