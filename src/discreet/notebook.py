"""Cells of SQL in notebooks: `%load_ext discreet`, then `%%discreet`.

    %%discreet curator --epsilon 0.1 --into answer
    SELECT city, COUNT(*) AS n FROM visits GROUP BY city

The first word names the variable that holds the curator; where there is one, it can be left out.
"""

import argparse
import shlex
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from discreet.curator.curator import AnalystView, Curator
from discreet.errors import DiscreetError, InputError


class _Options(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InputError(
            f"%%discreet: {message}",
            why="its first line names the curator and the price",
            fix="write %%discreet curator --epsilon 0.1, or --within 50; --explain charges nothing",
        )


def _options() -> argparse.ArgumentParser:
    read = _Options(prog="%%discreet", add_help=False)
    read.add_argument("curator", nargs="?")
    for name in ("epsilon", "delta", "within", "into"):
        read.add_argument(f"--{name}")
    for name in ("explain", "remeasure", "no-intervals"):
        read.add_argument(f"--{name}", action="store_true")
    return read


_LINE: Final = _options()


def ask_cell(line: str, sql: str, names: Mapping[str, Any]) -> tuple[Any, str | None]:
    """The answer to a cell, and the variable to keep it in."""
    from discreet.answer.plan.accuracy import Accuracy  # noqa: PLC0415 - heavy room

    try:
        words = shlex.split(line)
    except ValueError:
        _LINE.error("a quote is not closed")
    said = _LINE.parse_args(words)
    curator = _curator(said.curator, names)
    price = {
        "epsilon": said.epsilon,
        "delta": said.delta,
        "accuracy": None if said.within is None else Accuracy(_number(said.within)),
        "intervals": not said.no_intervals,
    }
    price |= {name: _number(price[name]) for name in ("epsilon", "delta") if price[name]}
    way = "explain" if said.explain else "remeasure" if said.remeasure else "sql"
    return getattr(curator, way)(sql, **price), said.into


def _number(text: str) -> Any:
    from discreet.curator.client.wire import read_number  # noqa: PLC0415 - heavy room

    return read_number(text, "a price")


def _curator(name: str | None, names: Mapping[str, Any]) -> Curator | AnalystView:
    """The curator of a name, or the only one there is."""
    known = {
        key: one
        for key, one in names.items()
        if isinstance(one, Curator | AnalystView) and not key.startswith("_")
    }
    if name in known:
        return known[name]
    different = {id(one): one for one in known.values()}
    if name is None and len(different) == 1:
        return next(iter(different.values()))
    raise InputError(
        f"no variable {name} holds a curator" if name else "the cell names no curator",
        why=f"those that do are: {', '.join(known) or 'none yet'}",
        fix="name one on the first line: %%discreet curator --epsilon 0.1",
    )


def load(shell: Any) -> None:
    """Give a shell the magic of cells."""
    from IPython.core.error import UsageError  # noqa: PLC0415 - only where it is running

    def discreet(line: str, cell: str) -> Any:
        """Ask a question in SQL of a curator."""
        try:
            answer, into = ask_cell(line, cell, shell.user_ns)
        except DiscreetError as refused:
            raise UsageError(str(refused)) from None
        if into is not None:
            shell.user_ns[into] = answer
        return answer

    shell.register_magic_function(discreet, magic_kind="cell", magic_name="discreet")
