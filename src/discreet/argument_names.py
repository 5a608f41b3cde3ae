"""Other names of arguments, as papers and other libraries write them."""

import inspect
import re
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_WORDS = (
    "sum=total avg=mean max=maximum min=minimum std=stddev var=variance corr=correlation "
    "cov=covariance nunique=count_distinct"
)
AGGREGATES = dict(pair.split("=") for pair in _WORDS.split())
"""Names that SQL, pandas and polars have for aggregates, and ours."""

_ARGUMENTS = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
"""Brackets with what they hold, up to three deep."""


def also_called(**others: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let arguments be passed under other names too: `also_called(sigma="scale")`.

    One name for two arguments takes a pair: `also_called(bounds="lower upper")`. A call that does
    not fit is told the call in the docstring's first example. Type checkers see own names alone.

    Example:
        >>> also_called(sigma="scale")(lambda scale: scale)(sigma=3)
        3
    """

    def wrap(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: Any, **named: Any) -> R:
            for other in others.keys() & named.keys():
                own = others[other].split()
                values = named.pop(other) if len(own) > 1 else [named.pop(other)]
                if named.keys() & set(own) or len(values) != len(own):
                    raise TypeError(f"pass {other}, or {' and '.join(own)}, once")
                named.update(zip(own, values, strict=True))
            try:
                return function(*args, **named)
            except TypeError as wrong:
                told = _misfit(function, args, named)
                if told is None:
                    raise
                raise TypeError(told) from wrong

        call.others = others  # type: ignore[attr-defined]  # attributes may have these names too
        return call

    return wrap


def _misfit(function: Callable[..., Any], args: Any, named: Any) -> str | None:
    """What is wrong with the arguments of a call, and one that is right; None where they fit."""
    try:
        inspect.signature(function, follow_wrapped=False).bind(*args, **named)
    except TypeError as wrong:
        made = type(args[0]) if function.__name__ == "__init__" else function
        name, doc = made.__name__, inspect.getdoc(made) or ""
        right = re.search(rf"\b{name}{_ARGUMENTS}", doc.partition("Example:")[2])
        return f"{name}() {wrong}. Fix: call {right[0] if right else f'help({name})'}"
    return None
