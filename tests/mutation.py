"""Mutants of the core of the trusted base, against the own tests of each module: which survive?

    python tests/mutation.py [MODULE ...]      modules of `core` in trusted-base.toml, or these

One small change at a time: a comparison, an operator, a number, a condition, what is returned. Each
mutant stands for the module in a process of its own. The score is the share that tests notice.
Survivors that change nothing are listed, with the reason, as `equivalent` in trusted-base.toml.
"""

import argparse
import ast
import contextlib
import copy
import importlib
import importlib.abc
import importlib.util
import inspect
import io
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType

import pytest

from trusted_base import ROOT, SOURCE, core, facts, own_tests

OURS = (str(SOURCE), str(ROOT / "tests"))
LIMIT = 120
"""Seconds; a mutant that runs longer is noticed."""

PLAIN = ("-q", "-p", "no:cacheprovider", "--assert=plain", "--tb=no")

COMPARE = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.BitOr: ast.BitAnd,
}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "ceil": "floor", "floor": "ceil"}


class _Loader(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports a mutant instead of its module."""

    def __init__(self, name: str, path: Path, tree: ast.Module) -> None:
        self.name, self.path, self.code = name, path, compile(tree, str(path), "exec")

    def find_spec(self, name, path=None, target=None):  # noqa: ARG002 - Python's interface
        if name != self.name:
            return None
        return importlib.util.spec_from_loader(name, self, origin=str(self.path))

    def create_module(self, spec):  # noqa: ARG002
        return None

    def exec_module(self, module) -> None:
        exec(self.code, module.__dict__)  # noqa: S102 - it is our own source


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """What a node could be instead."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARE:
            yield ast.Compare(node.left, [COMPARE[type(op)]()], node.comparators)
        case ast.BinOp() if type(node.op) in ARITHMETIC:
            yield ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)
        case ast.BoolOp():
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield ast.BoolOp(other, node.values)
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node.operand
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int() | float()):
            yield ast.Constant(node.value + 1)
        case ast.IfExp():
            yield ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
        case ast.If():
            yield ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
        case ast.comprehension(ifs=[test]):
            negated = ast.UnaryOp(ast.Not(), test)
            yield ast.comprehension(node.target, node.iter, [negated], node.is_async)
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield ast.Return(ast.Constant(None))
        case ast.Name(id=name) if name in NAMES:
            yield ast.Name(NAMES[name], node.ctx)
        case ast.Attribute(attr=name) if name in NAMES:
            yield ast.Attribute(node.value, NAMES[name], node.ctx)


def places(node: ast.AST, path: tuple = ()) -> Iterator[tuple[ast.AST, tuple]]:
    """Every node that runs, and the way to it; no annotations and no decorators."""
    yield node, path
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list"}:
            continue
        for i, part in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(part, ast.AST):
                yield from places(part, (*path, (name, i if isinstance(value, list) else None)))


def replaced(tree: ast.Module, path: tuple, new: ast.AST) -> ast.Module:
    """A copy of a tree with another node at one place."""
    whole = copy.deepcopy(tree)
    parent = whole
    for name, i in path[:-1]:
        parent = getattr(parent, name) if i is None else getattr(parent, name)[i]
    name, i = path[-1]
    if i is None:
        setattr(parent, name, new)
    else:
        getattr(parent, name)[i] = new
    return ast.fix_missing_locations(whole)


def mutants(source: str) -> Iterator[tuple[int, str, Callable[[], ast.Module]]]:
    """Each mutant of a module: its line, what changed, and what makes its tree."""
    tree = ast.parse(source)
    for node, path in places(tree):
        for new in changes(node):
            line = getattr(node, "lineno", getattr(getattr(node, "target", None), "lineno", 0))
            yield line, f"{_told(node)} -> {_told(new)}", partial(replaced, tree, path, new)


def _told(node: ast.AST) -> str:
    """The first line of what a node says."""
    return ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))).strip().splitlines()[0]


def noticed(module: str, tests: list[str], tree: ast.Module) -> bool:
    """Whether the tests of a module fail with this mutant instead of it."""
    child = os.fork()
    if not child:
        _run(module, tests, tree)
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status != 0
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def _run(module: str, tests: list[str], tree: ast.Module) -> None:
    """Run tests in this process, and end it."""
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    status = 1
    try:
        _plant(module, tree)
        status = int(pytest.main(["-x", *PLAIN, *tests]))
    finally:
        os._exit(status)


def _plant(module: str, tree: ast.Module) -> None:
    """Swap the code of the function that changed; import all anew if it is not in a function."""
    name, path = "discreet." + module.removesuffix(".py").replace("/", "."), SOURCE / module
    before = _codes(compile(path.read_text(), str(path), "exec"))
    after = _codes(compile(tree, str(path), "exec"))
    changed = {key: code for key, code in after.items() if code != before.get(key)}
    functions = dict(_functions(vars(importlib.import_module(name)), name))
    if changed and changed.keys() <= functions.keys() and after.keys() == before.keys():
        for key, code in changed.items():
            functions[key].__code__ = code
        return
    for key, loaded in list(sys.modules.items()):
        if str(getattr(loaded, "__file__", "")).startswith(OURS) and key != "__main__":
            del sys.modules[key]
    sys.meta_path.insert(0, _Loader(name, path, tree))


def _codes(code: CodeType) -> dict[str, CodeType]:
    """The code of each function and method, by its qualified name."""
    found: dict[str, CodeType] = {}
    for part in code.co_consts:
        if isinstance(part, CodeType) and part.co_flags & inspect.CO_OPTIMIZED:
            found[part.co_qualname] = part
        elif isinstance(part, CodeType):  # the body of a class
            found |= _codes(part)
    return found


def _functions(space: Mapping[str, object], module: str) -> Iterator[tuple[str, FunctionType]]:
    for one in space.values():
        one = getattr(one, "fget", None) or getattr(one, "__func__", None) or one  # noqa: PLW2901
        one = getattr(one, "__wrapped__", one)  # noqa: PLW2901
        if getattr(one, "__module__", None) != module:
            continue
        if isinstance(one, type):
            yield from _functions(vars(one), module)
        elif isinstance(one, FunctionType):
            yield one.__qualname__, one


def is_equivalent(module: str, line: str, what: str) -> bool:
    """Whether a change is listed as one that no test can notice."""
    return any(
        (module, line.strip(), what) == (one["module"], one["line"], one["change"])
        for one in facts()["equivalent"]
    )


def main() -> int:
    """Print survivors that are not listed, and the score of each module; 1 if there are any."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("modules", nargs="*", default=core().modules)
    os.chdir(ROOT)
    unlisted = 0
    for module in reader.parse_args().modules:
        source, tests = (SOURCE / module).read_text(), [own_tests(module)]
        with contextlib.redirect_stdout(io.StringIO()):  # imports what tests need, once
            pytest.main(["--collect-only", *PLAIN, *tests])
        if noticed(module, tests, ast.parse(source)):
            print(f"{module}: its tests fail without any mutant")
            return 1
        found = list(mutants(source))
        killed = equivalent = 0
        for line, what, make in found:
            if noticed(module, tests, make()):
                killed += 1
            elif is_equivalent(module, source.splitlines()[line - 1], what):
                equivalent += 1
            else:
                unlisted += 1
                print(f"  {module}:{line}: {what}", flush=True)
        print(f"{module}: {killed} of {len(found) - equivalent} mutants noticed", flush=True)
    return int(unlisted > 0)


if __name__ == "__main__":
    sys.exit(main())
