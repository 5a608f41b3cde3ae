"""Other names of things and of arguments, as papers and other libraries write them."""

import ast
import builtins
import inspect
import re
from collections.abc import Callable, Collection
from difflib import get_close_matches
from enum import Enum
from functools import cache, wraps
from importlib import import_module
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_WORDS = (
    "sum=total avg=mean max=maximum min=minimum std=stddev var=variance corr=correlation "
    "cov=covariance nunique=count_distinct"
)
AGGREGATES = dict(pair.split("=") for pair in _WORDS.split())
"""Names that SQL, pandas and polars have for aggregates, and ours."""

PACKAGES: Final = ("mechanisms", "privacy", "local", "learn", "workload", "attacks", "audit", "lab")
"""Packages that are imported when first named, and whose names users type: `dp.local.Rappor`."""

_ARGUMENTS = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
"""Brackets with what they hold, up to three deep."""

_ALIKE: Final = 0.8
"""How similar a name must be to count as a misspelling (`difflib`'s ratio)."""

_LEAST: Final = 4
"""How many letters a part of a name needs to identify the whole name."""


def also_called(**others: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let arguments be passed under other names too: `also_called(sigma="scale")`.

    One name for two arguments takes a pair: `also_called(bounds="lower upper")`. `eps` is an
    `epsilon` too. The error for a call that does not fit shows the call in the docstring's first
    example. Type checkers see own names alone.

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
                told = misfit(function, args, named)
                if told is None:
                    raise
                raise TypeError(told) from wrong

        call.others = others  # type: ignore[attr-defined]  # attributes may have these names too
        return call

    return wrap


def tells_calls(made: type) -> None:
    """Make a class suggest a call that runs if its arguments do not fit or a name is missing."""
    if issubclass(made, BaseException | Enum):
        return
    if not hasattr(made.__init__, "others") and made.__init__ is not object.__init__:
        made.__init__ = also_called()(made.__init__)  # type: ignore[method-assign]
    if not hasattr(made, "__getattr__"):
        made.__getattr__ = missing_attribute  # type: ignore[attr-defined]


def missing_attribute(owner: object, name: str) -> Any:
    """What `__getattr__` does where an object has nothing of that name."""
    raise MissingNameError(name, type(owner).__name__, type(owner))


def misfit(function: Callable[..., Any], args: Any, named: Any) -> str | None:
    """What is wrong with the arguments of a call, and one that is right; None where they fit."""
    try:
        inspect.signature(function, follow_wrapped=False).bind(*args, **named)
    except TypeError as wrong:
        made = type(args[0]) if function.__name__ == "__init__" else function
        return f"{made.__name__}() {wrong}. Fix: {fix_of(made.__name__, made, named)}"
    return None


def fix_of(name: str, named: object, asked: Collection[str] = ()) -> str:
    """A call that runs: for a word of a course, or the first example of a docstring.

    Of both, the one with more of the arguments that were `asked`.
    """
    call = rf"\b{name}{_ARGUMENTS}(?:\.\w+{_ARGUMENTS})?"
    found = re.search(call, (inspect.getdoc(named) or "").partition("Example:")[2])
    whole = found[0] if found else ""
    alone = re.match(name + _ARGUMENTS, whole)
    calls = [course_calls().get(_plain(name))]
    calls += [_qualified(whole) or _qualified(alone[0] if alone else "")]
    right = max(filter(None, calls), key=lambda one: sum(f"{a}=" in one for a in asked), default="")
    return f"call {right}" if right else f"see help({_path(name)})"


def _qualified(call: str) -> str | None:
    """A call with `dp.` before public names; None if it has names that are nowhere."""
    tree = ast.walk(ast.parse(call))
    names = [node for node in tree if isinstance(node, ast.Name)]
    own = {node.arg for node in ast.walk(ast.parse(call)) if isinstance(node, ast.arg)}
    for node in sorted(names, key=lambda node: -node.col_offset):
        if node.id not in own and not hasattr(builtins, node.id):
            if (path := _path(node.id)) == node.id:
                return None
            call = call[: node.col_offset] + path + call[node.end_col_offset :]
    return call or None


def _path(name: str) -> str:
    """Where users find a public name: `dp.Laplace`; the name itself if it is not public."""
    homes = [f"dp.{home}." if home else "dp." for home in ("", *PACKAGES) if name in public(home)]
    return f"{homes[0] if homes else ''}{name}"


@cache
def homes() -> dict[str, str]:
    """The public names of `discreet` and their modules, from the stub of the package."""
    return _exported(Path(__file__).with_name("__init__.pyi").read_text("utf-8"))


@cache
def public(package: str) -> list[str]:
    """The public names of a package: read as text, since some are slow to import."""
    if not package:
        return list(homes())
    text = (Path(__file__).parent / package / "__init__.py").read_text("utf-8")
    listed = re.search(r"^__all__ = \[(.*?)\]", text, re.MULTILINE | re.DOTALL)
    return re.findall(r'"(\w+)"', listed[1]) if listed else sorted(_exported(text))


def _exported(text: str) -> dict[str, str]:
    """The names that a module imports for others, `from home import name as name`."""
    lines = re.findall(r"^from (discreet\.[\w.]+) import (\([^)]*\)|.+)$", text, re.MULTILINE)
    return {name: home for home, some in lines for name in re.findall(r"(\w+) as \1\b", some)}


def class_elsewhere(name: str) -> object:
    """The public class of that name in a package, or None: `dp.LogisticRegression`.

    Attacks are left out: `Exponential` and `Posterior` are words for other things too.
    """
    homes = [home for home in PACKAGES[:5] if name[:1].isupper() and name in public(home)]
    return getattr(import_module(f"discreet.{homes[0]}"), name) if homes else None


class MissingNameError(AttributeError):
    """A name that a package or an object has not; its text suggests the intended call, if clear.

    Words of courses have calls of their own; else it is a public name in other letters, misspelt,
    or part of what was asked. Imports try names too, so this is looked for when it is told.
    """

    def __init__(self, name: str, owner: str, made: type | None = None) -> None:
        super().__init__(name, owner, made, name=name)

    def __str__(self) -> str:
        asked, owner, made = self.args
        if made is None:
            return f"module {owner!r} has no attribute {asked!r}. Fix: {_meant(asked, owner)}"
        calls = course_calls()
        one = calls.get(_plain(f"{owner}_start"), "") if hasattr(made, "start") else ""
        more = f", or one value at a time: {one}" if one else ""
        told = calls.get(_plain(f"{owner}_{asked}"))
        return (
            f"{owner} has no {asked}. Fix: {f'call {told}' if told else fix_of(owner, made)}{more}"
        )


@cache
def course_calls() -> dict[str, str]:
    """Words of courses and the calls that do what they mean."""
    lines = Path(__file__).with_name("course_calls.txt").read_text("utf-8").splitlines()
    rows = (line.partition(": ") for line in lines if not line.startswith("#"))
    return {_plain(word): call for words, _, call in rows for word in words.split()}


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _meant(asked: str, package: str) -> str:
    """What to do instead of a name that is missing."""
    calls, own = course_calls(), package.removeprefix("discreet").removeprefix(".")
    known = {
        _plain(name): (home, name)
        for home in (*reversed(PACKAGES), "", own)
        for name in public(home)
        if not name.isupper() or name in homes()  # constants
    }
    plain = _plain(asked)
    bare = re.sub("mechanism|private|noisy|^dp", "", plain)
    close = get_close_matches(plain, {**known, **calls}, 1, _ALIKE)
    for word in (plain, bare, *close, *_parts(asked)):
        if word in calls:
            return f"call {calls[word]}"
        if word in known:
            return _fix_at(*known[word])
    return f"nothing here is called that or nearly so: see dir({package.replace('discreet', 'dp')})"


def _parts(asked: str) -> list[str]:
    """Runs of the words of a name, the longest first, later ones before earlier ones.

    Example:
        >>> _parts("laplace_histogram")
        ['histogram', 'laplace']
    """
    words = [_plain(word) for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+", asked)]
    ends = range(len(words), 0, -1)
    runs = ["".join(words[i:j]) for j in ends for i in range(j) if (i, j) != (0, len(words))]
    return sorted((run for run in runs if len(run) >= _LEAST), key=len, reverse=True)


def _fix_at(home: str, name: str) -> str:
    try:
        found = getattr(import_module(f"discreet.{home}".rstrip(".")), name)
    except (ImportError, ValueError):  # an extra that is not installed
        found = None
    return fix_of(name, found)
