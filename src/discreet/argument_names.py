"""Other names of things and of arguments, as papers and other libraries write them."""

import inspect
import re
from collections.abc import Callable
from difflib import get_close_matches
from functools import wraps
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_WORDS = (
    "sum=total avg=mean max=maximum min=minimum std=stddev var=variance corr=correlation "
    "cov=covariance nunique=count_distinct"
)
AGGREGATES = dict(pair.split("=") for pair in _WORDS.split())
"""Names that SQL, pandas and polars have for aggregates, and ours."""

_ELSEWHERE = {
    "when": "dp.case",
    "group_privacy": "dp.Pure",
    "RDP": "dp.ZCDP",
    "DPSGD": "dp.calibrate",
    "k_anonymity": "dp.attacks.Intersection",
    "Exponential": "dp.ExponentialMechanism",
    "BinaryMechanism": "dp.TreeCount",
}
"""Names that share no telling word with what is meant."""

_ARGUMENTS = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
"""Brackets with what they hold, up to three deep."""


def also_called(**others: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let arguments be passed under other names too: `also_called(sigma="scale")`.

    One name for two arguments takes a pair: `also_called(bounds="lower upper")`. `eps` is an
    `epsilon` too. A call that does not fit is told the call in the docstring's first example. Type
    checkers see own names alone.

    Example:
        >>> also_called(sigma="scale")(lambda scale: scale)(sigma=3)
        3
    """

    def wrap(function: Callable[P, R]) -> Callable[P, R]:
        if "epsilon" in inspect.signature(function).parameters:
            others.setdefault("eps", "epsilon")

        @wraps(function)
        def call(*args: Any, **named: Any) -> R:
            for other in others.keys() & named.keys():
                own = others[other].split()
                values = named.pop(other) if len(own) > 1 else [named.pop(other)]
                if named.keys() & set(own) or getattr(values, "__len__", int)() != len(own):
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
        return f"{made.__name__}() {wrong}. Fix: {_fix(made.__name__, made)}"
    return None


def _fix(name: str, named: object) -> str:
    """The call in the first example of a docstring."""
    path, _, own = name.rpartition(".")
    call = rf"\b{own}{_ARGUMENTS}(?:\.\w+{_ARGUMENTS})?"
    right = re.search(call, (inspect.getdoc(named) or "").partition("Example:")[2])
    return f"call {path}{'.' if path else ''}{right[0]}" if right else f"see help({name})"


class MissingNameError(AttributeError):
    """A name that a package has not; its text tells what is nearest, and how to call that.

    Nearest is what shares most words, rare ones above all, with its name or with what its
    docstring and its file say. Imports try names too, so this is looked for when it is told.
    """

    def __init__(self, name: str, *packages: str) -> None:
        super().__init__(name, *packages, name=name)

    def __str__(self) -> str:
        asked, *packages = self.args
        known = {
            f"dp.{one}.{public}".replace(".discreet", ""): getattr(import_module(one), public)
            for one in packages
            for public in import_module(one).__all__
        }
        found = _ELSEWHERE.get(asked) or _nearest(asked, known)
        fix = _fix(found, known[found]) if found in known else "see help(discreet) and dir()"
        return f"module {packages[0]!r} has no attribute {asked!r}. Fix: {fix}"


def _nearest(name: str, known: dict[str, object]) -> str:
    """The path of what is most like a name, or nothing."""
    texts = {path: (path.rpartition(".")[2].lower(), _about(one)) for path, one in known.items()}
    words = {word[:6].lower() for word in re.findall(r"[A-Z]*[a-z]{3,}|[A-Z]{3,}", name)}
    words -= {"mechan", "privac", "privat"}
    rare = {word: 1 / sum([1, *(word in about for _, about in texts.values())]) for word in words}

    def shared(path: str) -> float:
        own, about = texts[path]
        first = about.partition("\n")[0]
        found = (
            part * (4 * (word in own) + 2 * (word in first) + (word in about))
            for word, part in rare.items()
        )
        return sum(found) + (own == name.lower())

    best = max(known, key=lambda path: (shared(path), ">>>" in texts[path][1]))
    return best if shared(best) else "".join(get_close_matches(f"dp.{name}", known, 1))


def _about(named: object) -> str:
    home = inspect.getmodule(named)
    return f"{inspect.getdoc(named)} {home and home.__doc__}".lower()
